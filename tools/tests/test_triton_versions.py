"""`make triton-versions`: the right Triton in each environment, all lessons tried, all recorded."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("triton_versions", ROOT / "tools/triton_versions.py")
tool = importlib.util.module_from_spec(_spec)
sys.modules["triton_versions"] = tool
_spec.loader.exec_module(tool)


def test_the_ends_of_the_range_and_the_pinned_version_are_tried():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [declared] = [r for r in map(Requirement, project["dependencies"]) if r.name == "triton"]
    assert all(declared.specifier.contains(version) for version in tool.versions())
    assert tool.pinned_version() in tool.versions()
    assert tool.versions()[0].startswith("3.6.")
    assert tool.versions()[-1].startswith("3.9.")
    assert not declared.specifier.contains("3.10.0"), "3.9 is no longer the last: try that too"


def test_the_pinned_version_is_the_checkouts_own():
    assert tool.folder_of(tool.pinned_version()) is None
    assert tool.environment(tool.pinned_version())["PYTHONPATH"] == str(ROOT)


def test_another_version_comes_before_the_checkouts_own():
    first, second = tool.environment("3.9.0")["PYTHONPATH"].split(os.pathsep)
    assert first.endswith("/.build/triton/3.9.0/site-packages")
    assert second == str(ROOT)


def test_every_triton_lesson_is_checked(tmp_path):
    for name in ("05_roofline", "06_hello", "11_backward", "14_serving", "90_primer"):
        (tmp_path / "solutions").mkdir(exist_ok=True)
        (tmp_path / "solutions" / f"{name}.py").touch()
    assert tool.lessons(tmp_path) == ["hello", "backward"]
    names = [step.name for step in tool.steps("3.9.0")]
    assert names == ["canary", "tests", *tool.lessons()]


def test_a_lesson_is_checked_in_the_names_that_a_version_has(tmp_path):
    for name in tool.SOURCES[:-1]:
        (tmp_path / name / "proof").mkdir(parents=True)
    (tmp_path / tool.SOURCES[-1]).touch()
    names = ("solutions/13_modern.py", "autograder/proof/modern.cells", "notebooks/13_modern.ipynb")
    for name in names:
        (tmp_path / name).write_text("tma.async_copy_global_to_shared(a)")
    (tmp_path / "solutions/12_old.py").write_text("tl.load(a)")
    assert (tool.renamed("3.9.0", tmp_path), tool.renamed("3.6.0", tmp_path)) == (["modern"], [])
    anew = tool.root_of("3.9.0", tmp_path)
    said = [(anew / name).read_text() for name in names]
    assert said == ["tma.async_load(a)"] * 2 + ["tma.async_copy_global_to_shared(a)"]  # to be built
    assert [(tmp_path / name).read_text() for name in names] == [said[-1]] * 3
    assert tool.root_of("3.6.0", tmp_path) == tmp_path
    assert f"--root={tool.root_of('3.9.0')}" in tool.steps("3.9.0")[-1].command


PYTEST = """<testsuites><testsuite name="pytest" tests="4">
<testcase classname="t.gate" name="one"/>
<testcase classname="t.gate" name="two"><failure message="no">1 != 2</failure></testcase>
<testcase classname="t.gate" name="three"><error message="no">none</error></testcase>
<testcase classname="t.gate" name="four"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""
LESSON = {
    "exercises": [{"name": "a", "wrong": 4, "honest": 2}, {"name": "b", "wrong": 5, "honest": 3}],
    "notebooks": [{"name": "07_softmax", "version": "student"}],
    "failures": [],
}


def test_tests_are_counted_and_those_that_failed_are_named():
    figures, failures = tool.of_tests(PYTEST)
    assert figures == {"tests passed": 1, "skipped": 1}
    assert failures == ["t.gate: two failed", "t.gate: three failed"]
    assert tool.of_tests("<testsuites/>")[1] == ["no test was found"]


def test_a_lessons_witnesses_are_counted_and_its_failures_kept():
    figures, failures = tool.of_lesson(json.dumps(LESSON))
    assert figures == {"exercises": 2, "wrong kernels": 9, "right ones": 5, "notebook runs": 1}
    assert failures == []
    assert tool.of_lesson(json.dumps(LESSON | {"failures": ["a: no."]}))[1] == ["a: no."]
    assert tool.of_lesson(json.dumps(LESSON | {"exercises": []}))[1] == ["no exercise was found"]


def step(code, found=""):
    return tool.Step("softmax", (sys.executable, "-c", code), found)


def writing(path, text, status=0):
    return step(f"open({str(path)!r}, 'w').write({text!r}); raise SystemExit({status})", str(path))


def test_a_step_without_an_answer_or_with_a_status_failed(tmp_path):
    found = tmp_path / "found"
    assert tool.run(step("pass"), "3.7.1").failures == []
    assert tool.run(step("raise SystemExit(3)"), "3.7.1").failures == ["it ended with status 3"]
    silent = tool.run(step("pass", str(found)), "3.7.1")
    assert silent.failures == ["it found nothing, and ended with status 0"]
    assert tool.run(writing(found, json.dumps(LESSON)), "3.7.1").failures == []
    assert tool.run(writing(found, json.dumps(LESSON), 1), "3.7.1").failures
    [unread] = tool.run(writing(found, "{"), "3.7.1").failures
    assert unread.startswith("what it found cannot be read: ")


@pytest.fixture
def two_steps(monkeypatch, tmp_path):
    """Two versions of two quick steps; the second fails on 3.9.0. Gives the record's file."""
    failing = json.dumps(LESSON | {"failures": ["a: no."]})

    def steps(version, found="", workers=None):
        text = failing if version == "3.9.0" else json.dumps(LESSON)
        bad = version == "3.9.0"
        return [tool.Step("canary", (sys.executable, "-c", "")), writing(found, text, int(bad))]

    monkeypatch.setattr(tool, "steps", steps)
    monkeypatch.setattr(tool, "install", lambda version: None)
    monkeypatch.setattr(tool, "lessons", lambda root=None: ["softmax"])
    return tmp_path / "record.json"


@pytest.mark.slow
def test_what_came_of_each_step_is_recorded_and_told_at_the_end(two_steps, capsys):
    assert tool.main(["3.6.0", "3.9.0", "--out", str(two_steps)]) == 1
    kept = json.loads(two_steps.read_text())["versions"]
    assert list(kept) == ["3.6.0", "3.9.0"]
    assert list(kept["3.6.0"]) == ["canary", "softmax"]
    assert kept["3.6.0"]["softmax"]["failures"] == []
    assert kept["3.9.0"]["softmax"]["failures"] == ["a: no."]
    assert set(kept["3.9.0"]["softmax"]) >= {"date", "commit", "numpy", "python", "seconds"}
    *_, canary, softmax, why, _, heads, _, old, new, _, end = capsys.readouterr().out.splitlines()
    assert canary.split()[:2] == ["3.9.0", "canary"]
    assert softmax.split()[:2] == ["3.9.0", "softmax"]
    assert "FAILED 2 exercises, 9 wrong kernels, 5 right ones, 1 notebook runs" in softmax
    assert why.strip() == "✗ a: no."
    assert heads.startswith("| Triton | NumPy |")
    assert "| 1 of 1 | 2 | 9 | 5 | 1 | all as they must be |" in old
    assert "| failed: softmax |" in new
    assert end == f"1 of 4 steps failed. The record: {two_steps}"


@pytest.mark.slow
def test_a_later_run_takes_the_place_of_what_it_ran_again(two_steps, monkeypatch):
    assert tool.main(["3.9.0", "--out", str(two_steps)]) == 1
    assert tool.main(["3.6.0", "--out", str(two_steps)]) == 0
    assert tool.main(["3.9.0", "--only", "canary", "--out", str(two_steps)]) == 0
    kept = json.loads(two_steps.read_text())["versions"]
    assert kept["3.9.0"]["softmax"]["failures"] == ["a: no."]
    monkeypatch.setattr(tool, "run", lambda step, version: tool.Result(step.name, 1, {}, []))
    assert tool.main(["3.9.0", "--only", "softmax", "--out", str(two_steps)]) == 0
    kept = json.loads(two_steps.read_text())["versions"]
    assert {name: entry["failures"] for name, entry in kept["3.9.0"].items()} == {
        "canary": [],
        "softmax": [],
    }


def test_a_stopped_run_tells_and_keeps_what_it_has(two_steps, monkeypatch, capsys):
    def run(step, version):
        if step.name == "softmax":
            raise KeyboardInterrupt
        return tool.Result(step.name, 1, {}, [])

    monkeypatch.setattr(tool, "run", run)
    assert tool.main(["3.6.0", "--out", str(two_steps)]) == 130
    assert list(json.loads(two_steps.read_text())["versions"]["3.6.0"]) == ["canary"]
    assert "1 steps, all ok, then stopped." in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"versions": 3}'])
def test_another_file_is_not_overwritten(two_steps, text):
    two_steps.write_text(text)
    with pytest.raises(SystemExit, match="is no record of this command"):
        tool.main(["3.6.0", "--out", str(two_steps)])
    assert two_steps.read_text() == text


def test_the_quoted_table_gives_way_to_the_new_one():
    def record(passed):
        about = {"date": "2026-11-22", "numpy": "2.1.3", "failures": []}
        return {"versions": {"3.6.0": {"tests": {"figures": {"tests passed": passed}, **about}}}}

    text = f"Before.\n\n{tool.summary(record(5))}\n\nAfter | that.\n"
    assert f"| 3.6.0 | 2.1.3 | 5 | 0 of {len(tool.lessons())} |" in text
    assert (
        tool.requoted(text, record(7)) == f"Before.\n\n{tool.summary(record(7))}\n\nAfter | that.\n"
    )
    assert tool.requoted("No table.\n", record(7)) == "No table.\n"


# ---------------------------------------------------------------- the record of this checkout


def test_the_record_holds_every_step_of_every_version_and_none_failed():
    kept = tool.read_record(tool.RECORD)["versions"]
    steps = {version: {step.name for step in tool.steps(version)} for version in tool.versions()}
    assert {version: set(found) for version, found in kept.items()} == steps
    for version, found in kept.items():
        assert {name: e["failures"] for name, e in found.items() if e["failures"]} == {}, version


def test_the_record_is_what_contributing_quotes():
    assert tool.summary(tool.read_record(tool.RECORD)) in tool.QUOTED_IN.read_text()
