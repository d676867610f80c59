"""`make colab`: versions that the course admits, and a record of every notebook on them."""

import json
import tomllib
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from tools import colab


def run(name, version, *failures):
    return SimpleNamespace(name=name, version=version, seconds=9.6, failures=list(failures))


def test_the_course_admits_what_colab_has():
    project = tomllib.loads((colab.ROOT / "pyproject.toml").read_text())["project"]
    ranges = [*project["dependencies"], *project["optional-dependencies"]["gpu"]]
    admitted = {r.name: r.specifier for r in map(Requirement, ranges) if r.name in colab.VERSIONS}
    assert {*admitted} == {*colab.VERSIONS} - {"ipykernel"}
    for name, specifier in admitted.items():
        assert specifier.contains(colab.VERSIONS[name]), name


def test_a_later_run_takes_the_place_of_what_it_ran_again():
    first = colab.kept_with(
        {}, [run("00_start", "student"), run("01_threads", "student", "no."), run("02_gone", "x")]
    )
    assert list(first["notebooks"]) == ["00_start student", "01_threads student"]
    entry = first["notebooks"]["01_threads student"]
    assert (entry["seconds"], entry["failures"]) == (10, ["no."])
    assert {"date", "commit", "python"} <= entry.keys()
    assert colab.summary(first).startswith(
        "`docs/colab.json`: 2 notebook runs, failed: 01_threads student, the last on 20"
    )
    second = colab.kept_with(first, [run("01_threads", "student")])
    assert list(second["notebooks"]) == list(first["notebooks"])
    assert "2 notebook runs, all as they must be, the last on" in colab.summary(second)
    other = {**first, "versions": {"numba": "0.60"}}
    assert list(colab.kept_with(other, [run("00_start", "solution")])["notebooks"]) == [
        "00_start solution"
    ]


@pytest.mark.parametrize(("failures", "status"), [([], 0), (["it raises."], 1)])
def test_what_came_of_it_is_recorded_quoted_and_the_exit_status(
    monkeypatch, tmp_path, failures, status
):
    monkeypatch.setenv(colab.INSIDE, "1")
    monkeypatch.setattr(colab, "RECORD", tmp_path / "colab.json")
    monkeypatch.setattr(colab, "QUOTED_IN", tmp_path / "page.md")
    monkeypatch.setattr(colab, "run_all", lambda stems: [run(f"00_{stems[0]}", "x", *failures)])
    colab.QUOTED_IN.write_text("Before:\n`docs/colab.json`: none.\nAfter.\n")
    assert colab.main(["start"]) == status
    kept = json.loads(colab.RECORD.read_text())
    assert kept["notebooks"]["00_start x"]["failures"] == failures
    assert colab.QUOTED_IN.read_text() == f"Before:\n{colab.summary(kept)}\nAfter.\n"


# ---------------------------------------------------------------- the record of this checkout


def test_the_record_holds_every_notebook_on_these_versions_and_none_failed():
    kept = json.loads(colab.RECORD.read_text())
    lessons = [path.stem for path in (colab.ROOT / "solutions").glob("*.py")]
    wanted = {f"{lesson} {version}" for lesson in lessons for version in ("student", "solution")}
    assert {*kept["notebooks"]} == wanted
    assert kept["versions"] == colab.VERSIONS
    assert {name: r["failures"] for name, r in kept["notebooks"].items() if r["failures"]} == {}


def test_the_record_is_what_contributing_quotes():
    kept = json.loads(colab.RECORD.read_text())
    assert colab.summary(kept) in colab.QUOTED_IN.read_text(encoding="utf-8")
