"""What `make check` prints, and when it fails."""

from __future__ import annotations

import contextlib
import io
import json
from concurrent.futures import Future
from pathlib import Path
from typing import ClassVar

import pytest
from rich.console import Console

from autograder import __main__ as command_line
from autograder.lessons.notebook_run import NotebookRun
from autograder.lessons.source import read_lesson
from autograder.proof import verify
from autograder.proof.trial import SEEDS, Entrant, Sample, Trial, hidden_inputs
from autograder.proof.verify import Findings, gaps, print_findings, strangers, unreadable
from autograder.proof.witness import Witness, read_witnesses, solutions_of
from autograder.tests.small_course import ADD_ONE, COUNT_BLOCKS, LESSON, small_course
from course.engine.faults import Outcome
from course.words.verdict import Verdict


@pytest.fixture
def lesson(tmp_path):
    return read_lesson(
        small_course(tmp_path) / "solutions" / "01_small.py", (ADD_ONE, COUNT_BLOCKS)
    )


def printed(findings):
    console = Console(width=110, record=True, file=io.StringIO())
    print_findings(findings, console)
    return console.export_text()


def test_findings_show_a_row_an_exercise_and_every_failure_as_a_sentence():
    good = Trial("small", "add_one", 4, 2, {"solution": 0.25}, {"solution": 0.5}, 1.0, 1.47)
    bad = Trial("small", "count_blocks", failures=["count_blocks: it asks no questions."])
    slow = NotebookRun("01_small", "student", 3.0, {"add_one": 0.1}, notes=["it took long."])
    findings = Findings(["notebooks/01_small.ipynb is missing."], [good, bad], [slow])
    text = printed(findings)
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line.split()}
    assert rows["add_one"] == ["add_one", "4", "2", "0.25", "0.50", "1.00", "1.47", "✓"]
    assert rows["count_blocks"][-3:] == ["✗", "1", "failure"]
    assert rows["01_small"] == ["01_small", "student", "3.0", "0.10", "✓"]
    assert "slow or odd: it took long." in text
    assert "✗ notebooks/01_small.ipynb is missing." in text
    assert "✗ count_blocks: it asks no questions." in text
    assert len(findings.failures) == 2
    assert findings.plain() == {
        "exercises": [
            {"name": "add_one", "wrong": 4, "honest": 2},
            {"name": "count_blocks", "wrong": 0, "honest": 0},
        ],
        "notebooks": [{"name": "01_small", "version": "student"}],
        "failures": findings.failures,
    }


def test_a_sampled_exercise_says_how_many_of_its_wrong_kernels_were_tried():
    trial = Trial("small", "add_one", 9, 2, left_out=6)
    assert "add_one 3 of 9 2" in " ".join(printed(Findings(trials=[trial])).split())
    assert Findings(trials=[trial]).plain()["exercises"][0]["wrong"] == 3


def test_a_sampled_check_says_so_first_and_how_to_try_all(monkeypatch, capsys):
    asked = []

    def verified(*args, sample, **options):
        asked.append(sample)
        return Findings()

    monkeypatch.setattr(verify, "verify", verified)
    check = ["check", "--root", str(Path.cwd())]
    assert command_line.main([*check, "--sample", "4", "--sample-seed", "a1b2"]) == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head == (
        "check: of each exercise's wrong kernels, and honest ones on hidden cases, one in 4, "
        "--sample-seed 'a1b2'; "
        "`make check-all` tries all"
    )
    assert command_line.main(check) == 0
    assert "check-all" not in capsys.readouterr().out
    assert asked == [Sample(4, "a1b2"), Sample()]
    with pytest.raises(SystemExit):
        command_line.main([*check, "--sample", "0"])
    assert "Argument --sample: expected a whole number from 1, got '0'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_rotten_edit_fails_a_sampled_check_whether_drawn_or_not(tmp_path, monkeypatch):
    file = tmp_path / "threads.cells"
    row = "# %% vector_add wrong_{} -> RACE\n# Why.\n- i = cuda.grid(1)\n+ i = {}\n\n"
    cells = "".join(row.format(n, n) for n in range(8))
    file.write_text(cells.replace("cuda.grid(1)\n+ i = 5", "cuda.gird(1)\n+ i = 5"))

    class Pool(contextlib.nullcontext):
        def submit(self, work, *job):
            tried = Future()
            tried.set_result(Trial(*job[:2]))
            return tried

    monkeypatch.setattr(verify, "processes", lambda workers: Pool(Pool()))
    monkeypatch.setattr("autograder.lessons.build.make", lambda *args: [])
    monkeypatch.setattr("autograder.lessons.build.stale", lambda *args: [])
    monkeypatch.setattr(
        verify, "witnesses_of", lambda stem, root: read_witnesses(file, solutions_of(stem))
    )
    for seed in "abc":
        found = verify.verify(verify.ROOT, ["threads"], notebooks=False, sample=Sample(8, seed))
        assert any("found it 0 times: `i = cuda.gird(1)`" in one for one in found.files)


def test_a_witness_of_another_lessons_exercise_is_a_failure(tmp_path, lesson):
    path = tmp_path / "autograder" / "proof" / "witnesses" / "small.cells"
    witness = Witness("add_two", "slow", Outcome.RACE, None, "why", "x = 1", path, 9)
    assert list(strangers(tmp_path, lesson, [witness])) == [
        "autograder/proof/witnesses/small.cells:9: the witness 'slow' is for 'add_two', and the "
        "lesson has: add_one, count_blocks."
    ]


def test_an_exploit_that_edits_what_the_solution_no_longer_has_is_a_failure(tmp_path, lesson):
    text = '"""A trick."""\n\n# %% add_one trick -> REJECTED\n- i = cuda.grid(1)\n+ i = {}\n'
    for place in (".", "triton"):
        path = tmp_path / "autograder" / "proof" / "exploits" / place / "trick.cells"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(0))
    assert list(unreadable(tmp_path)) == []
    rotten = text.replace("grid", "gird")
    path.write_text(rotten + "\n# %% add_one too from trick -> REJECTED\n- x\n+ y\n")
    (path.parent / "other.cells").write_text(rotten)
    assert list(unreadable(tmp_path)) == [
        f"{file}:4: add_one trick: expected this once in the base, found it 0 times: "
        "`i = cuda.gird(1)`. The nearest line to `i = cuda.gird(1)` is `i = cuda.grid(1)`."
        for file in (path.parent / "other.cells", path)
    ]


def test_a_lesson_without_gaps_has_none(tmp_path, lesson):
    assert list(gaps(tmp_path, lesson)) == []


def test_the_last_exercise_is_tried_first_and_told_last(tmp_path, lesson):
    class Pool:
        begun: ClassVar[list[str]] = []

        def submit(self, work, stem, name, cells):
            self.begun.append(name)
            return name

    told = verify._trials(Pool(), tmp_path, [lesson], {})
    assert told == ["add_one", "count_blocks"]
    assert Pool.begun == ["count_blocks", "add_one"]


def test_an_error_of_the_check_itself_is_a_failure_and_no_end():
    findings = Findings()
    with verify._told(findings):
        assert 1 / len(findings.trials)
    assert "the check itself failed." in findings.failures[0]
    assert "ZeroDivisionError: " in findings.failures[0]


def test_a_source_that_cannot_be_built_ends_the_check_with_its_sentence(tmp_path, capsys):
    root = small_course(tmp_path, LESSON.replace("# %% [markdown]", "# %% predict", 1))
    assert command_line.main(["check", "small", "--root", str(root)]) == 1
    error = capsys.readouterr().err
    assert "01_small.py:" in error
    assert "Nothing was checked" in error


@pytest.mark.parametrize(("findings", "status"), [(Findings(), 0), (Findings(["bad."]), 1)])
def test_the_exit_status_says_whether_anything_failed(monkeypatch, findings, status):
    monkeypatch.setattr(verify, "verify", lambda *args, **options: findings)
    assert command_line.main(["check", "--root", str(Path.cwd())]) == status


def test_what_was_found_is_written_where_one_asks(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(verify, "verify", lambda *args, **options: Findings(["bad."]))
    check = ["check", "--root", str(Path.cwd()), "--out"]
    assert command_line.main([*check, str(tmp_path / "found.json")]) == 1
    assert json.loads((tmp_path / "found.json").read_text())["failures"] == ["bad."]
    assert command_line.main([*check, str(tmp_path / "nowhere" / "found.json")]) == 2
    assert "cannot be written to" in capsys.readouterr().err


def test_the_compiler_gets_visible_cases_and_one_seeds_hidden_ones_of_the_solution(monkeypatch):
    given = []

    def check(exercise, source, cases, seed, runner=None):
        kind = "visible" if cases is None else "hidden"
        given.append((source, kind, seed, runner is None or runner.compiles))
        return Verdict(Outcome.PASS, exercise.name, "right", "passed", credit=1.0)

    monkeypatch.setattr("autograder.judge.judge.course_check", check)
    cells = [
        Entrant("starter", "of a learner", Outcome.PASS, 1.0, "here"),
        Entrant("solution", "solved", Outcome.PASS, 1.0, "here"),
        Entrant("variant", "varied", Outcome.PASS, 1.0, "here"),
    ]
    verify._try("threads", "vector_add", cells)
    hidden = [
        (source, seed) for source, kind, seed, compiles in given if compiles and kind == "hidden"
    ]
    assert hidden == [("solved", hidden_inputs("vector_add", verify.COMPILED_SEED))]
    assert all(compiles for _, kind, _, compiles in given if kind == "visible")
    assert len([one for one in given if one[1] == "hidden"]) == 3 * len(SEEDS)
