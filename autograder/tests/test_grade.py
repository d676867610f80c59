"""Grading a class: one durable verdict each, whatever was handed in and whatever happens."""

import argparse
import csv
import errno
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder import Refused
from autograder import __main__ as command_line
from autograder.__main__ import status_of
from autograder.grading import grade, judging, seeds, store, submissions
from autograder.grading.grades import totals
from autograder.grading.ledger import Entry as LedgerEntry
from autograder.grading.ledger import Ledger
from autograder.grading.names import slug
from autograder.grading.store import Store, as_csv
from autograder.grading.submissions import Submission
from autograder.judge import overlay, pool
from autograder.judge.judge import (
    LARGEST_PANEL,
    Graded,
    credited,
    faulted,
    judge_cell,
    result,
    seed_id,
    verdict_key,
)
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import lesson_exercises
from autograder.sandbox import walls
from autograder.tests import fakes
from autograder.tests.graders import start
from autograder.tests.notebooks import EXERCISES, LESSON, cell, notebook, put, solved
from autograder.tests.test_submissions import deep
from course.engine.faults import Outcome
from course.spec.exercise import case
from course.words.verdict import Entry, Row, SourceLine, Verdict

FIRST, SECOND, THIRD = EXERCISES[:3]


@pytest.fixture(autouse=True)
def steady_course(monkeypatch: pytest.MonkeyPatch) -> None:
    """The course's files may change while the tests run; a key must not."""
    monkeypatch.setattr("autograder.judge.judge.course_version", lambda: "steady")
    monkeypatch.setattr("autograder.judge.judge.lesson_version", lambda stem: "steady")


def arguments(*words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    grade.add_arguments(parser)
    args = parser.parse_args([str(word) for word in words])
    args.check = fakes.CHECK
    return args


def run(*words: object) -> int:
    return status_of(grade.main, arguments("--jobs", 2, *words))


def rows(out: Path) -> dict[tuple[str, str], dict[str, object]]:
    """{(student, exercise): row}, each there once."""
    listed = json.loads((out / "verdicts.json").read_text())
    found = {(row["student"], row["exercise"]): row for row in listed}
    assert len(found) == len(listed)
    return found


def outcomes(out: Path, student: str) -> list[object]:
    return [rows(out)[student, exercise]["outcome"] for exercise in EXERCISES]


def test_a_row_says_who_what_and_what_came_of_it(tmp_path: Path) -> None:
    put(tmp_path / "class/vega_01_threads.ipynb", solved({FIRST: "WRONG_ANSWER"}))
    assert run(tmp_path / "class", "--out", tmp_path / "out", "--seed", "value:s") == grade.DONE
    row = rows(tmp_path / "out")["vega", FIRST]
    points = lesson_exercises("threads")[0].points
    assert row == {
        "student": "vega",
        "notebook": LESSON,
        "exercise": FIRST,
        "outcome": "WRONG_ANSWER",
        "points": 0.0,
        "max_points": points,
        "requested_bytes": 320,
        "budget_bytes": 352.0,
        "least_bytes": 320,
        "message": "The fake says WRONG_ANSWER.",
        "message_id": "fake",
        "line": None,
        "case": "",
        "late": False,
        "handed_in": "",
    }
    assert rows(tmp_path / "out")["vega", SECOND]["points"] > 0  # type: ignore[operator]
    lines = (tmp_path / "out/verdicts.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == list(rows(tmp_path / "out").values())
    table = list(csv.DictReader((tmp_path / "out/verdicts.csv").read_text().splitlines()))
    assert [line["exercise"] for line in table] == EXERCISES


def test_bad_input_gets_a_verdict_each_and_the_class_is_graded(tmp_path: Path) -> None:
    bad = {
        "not_json": b"{oops",
        "empty": b"",
        "no_utf8": b"\xff\xfe",
        "a_list": b"[1, 2]",
        "nan": b'{"nbformat": 4, "cells": [NaN]}',
        "deep": b"[" * 100_000,
        "old": json.dumps({"nbformat": 3, "worksheets": []}).encode(),
        "no_cells": notebook([]),
        "twice": notebook([cell(text, name) for text in ("PASS", "x = 1") for name in EXERCISES]),
        "numbers": notebook([cell(3, name) for name in EXERCISES]),
        "metadata": notebook([{**cell("PASS", n), "metadata": "x"} for n in EXERCISES]),
        "huge": b" " * (20 * 2**20 + 1),
    }
    for name, content in bad.items():
        put(tmp_path / f"submitted/{name}/{LESSON}/{LESSON}.ipynb", content)
    put(tmp_path / f"submitted/good/{LESSON}/{LESSON}.ipynb", solved())
    (tmp_path / f"submitted/absent/{LESSON}").mkdir(parents=True)
    (tmp_path / f"submitted/linked/{LESSON}").mkdir(parents=True)
    link = tmp_path / f"submitted/linked/{LESSON}/{LESSON}.ipynb"
    link.symlink_to(tmp_path / f"submitted/good/{LESSON}/{LESSON}.ipynb")
    out = tmp_path / "out"
    assert run(tmp_path, "--out", out) == grade.DONE
    found = rows(out)
    assert len(found) == (len(bad) + 3) * len(EXERCISES)
    for (student, _), row in found.items():
        if student == "good":
            assert row["outcome"] == "PASS"
        else:
            assert row["points"] == 0
            assert row["outcome"] in ("REJECTED", "NOT_ATTEMPTED")
            assert str(row["message"]).endswith(".")
    missing = ("no_cells", "metadata", "absent")
    assert {s for (s, _), r in found.items() if r["outcome"] == "NOT_ATTEMPTED"} == set(missing)


def test_notebooks_that_no_lesson_can_be_told_of_get_one_verdict_each(tmp_path: Path) -> None:
    put(tmp_path / "in/vega.ipynb", notebook([cell("x = 1")]))
    put(tmp_path / "in/rigel.ipynb", b"not JSON")
    put(tmp_path / "in/deneb.ipynb", solved())
    out = tmp_path / "out"
    assert run(tmp_path / "in", "--out", out) == grade.DONE
    assert "names no lesson" in str(rows(out)["vega", ""]["message"])
    assert "expected JSON" in str(rows(out)["rigel", ""]["message"])
    assert outcomes(out, "deneb") == ["PASS"] * len(EXERCISES)
    assert run(tmp_path / "in", "--out", out, "--lesson", LESSON) == grade.DONE
    assert outcomes(out, "vega") == ["NOT_ATTEMPTED"] * len(EXERCISES)
    assert ("vega", "") not in rows(out)


def test_one_bad_cell_costs_that_exercise_only(tmp_path: Path) -> None:
    cells = [cell("PASS", name) for name in EXERCISES]
    cells[0] = cell("PASS", "renamed")
    cells.append(cell("another", SECOND))
    put(tmp_path / "in/vega_01_threads.ipynb", notebook(cells))
    assert run(tmp_path / "in", "--out", tmp_path / "out") == grade.DONE
    rest = ["PASS"] * (len(EXERCISES) - 2)
    assert outcomes(tmp_path / "out", "vega") == ["NOT_ATTEMPTED", "REJECTED", *rest]


def test_points_in_the_notebook_count_for_nothing(tmp_path: Path) -> None:
    content = solved()
    for one in content["cells"]:
        one["metadata"]["nbgrader"] |= {"points": 1e9, "grade": True}
    put(tmp_path / "in/vega_01_threads.ipynb", content)
    run(tmp_path / "in", "--out", tmp_path / "out")
    for exercise in lesson_exercises("threads"):
        assert rows(tmp_path / "out")["vega", exercise.name]["points"] == exercise.points


@pytest.mark.parametrize(
    ("credit", "points"),
    [(99.0, 4), (-1.0, 0), (float("nan"), 0), (float("inf"), 0), (0.7, 2.8), (1 / 3, 1.33)],
)
def test_points_are_finite_and_within_the_spec(credit: float, points: float) -> None:
    assert credited(credit, 4) == points


def test_nothing_in_a_notebook_is_executed(tmp_path: Path) -> None:
    trap = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    trapped = [cell(trap, name) for name in EXERCISES]
    put(tmp_path / "in/vega_01_threads.ipynb", notebook([cell(trap), *trapped, cell(trap)]))
    args = arguments(tmp_path / "in", "--out", tmp_path / "out")
    args.check = "autograder.judge.judge:course_check"
    assert grade.main(args) == grade.DONE
    assert not (tmp_path / "ran").exists()
    assert {row["points"] for row in rows(tmp_path / "out").values()} == {0}


@pytest.mark.slow
def test_a_judge_that_hangs_dies_or_eats_memory_costs_one_exercise(tmp_path: Path) -> None:
    sources = {FIRST: "hang", SECOND: "die", THIRD: "eat"}
    put(tmp_path / "in/vega_01_threads.ipynb", solved(sources))
    put(tmp_path / "in/rigel_01_threads.ipynb", solved({FIRST: "raise on purpose"}))
    out = tmp_path / "out"
    limits = "--time-limit", 1.5, "--memory-limit", 300
    assert run(tmp_path / "in", "--out", out, *limits) == grade.NOT_ALL
    rest = ["PASS"] * (len(EXERCISES) - 3)
    assert outcomes(out, "vega") == ["TIMED_OUT", "NOT_MEASURED", "NOT_MEASURED", *rest]
    assert "after 1.5 seconds" in str(rows(out)["vega", FIRST]["message"])
    assert "signal 11" in str(rows(out)["vega", SECOND]["message"])
    assert "300.0 MB of memory" in str(rows(out)["vega", THIRD]["message"])
    assert "on purpose" in str(rows(out)["rigel", FIRST]["message"])


@pytest.mark.slow
def test_a_second_run_judges_only_what_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    put(tmp_path / "in/rigel.ipynb", solved())
    put(tmp_path / "in/deneb_01_threads.ipynb", b"broken")
    put(tmp_path / "in/mira_01_threads.ipynb", b"")
    command = tmp_path / "in", "--out", tmp_path / "out"
    count = 4 * len(EXERCISES)
    run(*command)
    assert f"{count} judged)" in capsys.readouterr().out
    before = rows(tmp_path / "out")
    run(*command)
    assert f"0 judged, {count} known" in capsys.readouterr().out
    assert rows(tmp_path / "out") == before
    put(tmp_path / "in/rigel.ipynb", solved("WRONG_ANSWER"))
    run(*command)
    assert f"{len(EXERCISES)} judged" in capsys.readouterr().out
    run(*command, "--seed", "value:another")
    assert f"{count} judged)" in capsys.readouterr().out
    run(*command, "--seed", "value:another", "--regrade")
    assert f"{count} judged)" in capsys.readouterr().out


@pytest.mark.parametrize("message_id", ["judge_died", "no_triton", "tile_canary"])
def test_what_could_not_be_measured_is_judged_again(tmp_path: Path, message_id: str) -> None:
    graded = Graded("vega", LESSON, FIRST, "NOT_MEASURED", 0, 4, key="k", message_id=message_id)
    Store(tmp_path).keep(graded)
    kept = Store(tmp_path)
    assert kept.known("vega", LESSON, FIRST, "k") is None
    kept.keep(replace(graded, message_id="out_of_memory"))
    assert kept.known("vega", LESSON, FIRST, "k") is not None


def test_where_the_judge_failed_is_named_and_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved({FIRST: "raise on\x1bpurpose"}))
    put(tmp_path / "in/rigel_01_threads.ipynb", solved("raise on purpose"))
    put(tmp_path / "in/deneb_01_threads.ipynb", solved("WRONG_ANSWER"))
    command = tmp_path / "in", "--out", tmp_path / "out"
    assert run(*command) == grade.NOT_ALL
    said = capsys.readouterr().err
    assert f"The judge failed on {len(EXERCISES) + 1} answers: " in said
    assert f"rigel {FIRST}, " in said
    assert " and 1 more. What it said of the first: The judge itself failed on " in said
    assert "deneb" not in said
    assert "\x1b" not in said
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    put(tmp_path / "in/rigel_01_threads.ipynb", solved())
    assert run(*command) == grade.DONE
    assert not capsys.readouterr().err


def test_what_a_disk_does_not_give_is_no_grade_and_takes_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was there when the folder was looked through. It was REJECTED, in each exercise."""
    for student in ("vega", "rigel"):
        put(tmp_path / f"in/{student}/01_threads.ipynb", solved())
    command = tmp_path / "in", "--out", tmp_path / "out"
    opened, failing = submissions._opened, {"vega"}

    def failing_disk(path: Path, root: Path) -> int:
        if path.parent.name in failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return opened(path, root)

    monkeypatch.setattr(submissions, "_opened", failing_disk)
    assert run(*command) == grade.NOT_ALL
    said = capsys.readouterr().err
    assert f"The judge failed on {len(EXERCISES)} answers: vega " in said
    assert "01_threads.ipynb cannot be read: Input/output error." in said
    assert "without points" not in said
    failing.clear()
    assert run(*command) == grade.DONE
    failing.add("rigel")
    assert run(*command) == grade.DONE
    for student in ("vega", "rigel"):
        assert outcomes(tmp_path / "out", student) == ["PASS"] * len(EXERCISES)


def test_what_a_zip_does_not_give_whole_is_no_grade_and_takes_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A download that went wrong was a zero, and the student's fault."""
    whole, torn, out = tmp_path / "a.zip", tmp_path / "b.zip", tmp_path / "out"
    for archive in (whole, torn):
        with zipfile.ZipFile(archive, "w") as packed:
            for student in ("vega_11", "rigel_12"):
                content = json.dumps(solved()) + " " * (archive is torn)
                packed.writestr(f"{student}_1234_01_threads.ipynb", content)
    torn.write_bytes(torn.read_bytes().replace(b"PASS", b"PASt", 1))
    assert run(torn, "--out", out) == grade.NOT_ALL
    said = capsys.readouterr().err
    assert "Held, for a zip does not give them as they were: vega_11_1234" in said
    assert "without points" not in said
    assert totals(Store(out).all()).of("vega-11", LESSON) is None
    assert run(whole, "--out", out) == grade.DONE
    assert run(torn, "--out", out) == grade.NOT_ALL
    for student in ("vega-11", "rigel-12"):
        assert outcomes(out, student) == ["PASS"] * len(EXERCISES)


def slow_class(root: Path, students: int = 6) -> int:
    for number in range(students):
        put(root / f"s{number}_01_threads.ipynb", solved("slow 0.15"))
    return students * len(EXERCISES)


def entered(out: Path) -> dict[int, LedgerEntry]:
    """{number: row} of the ledger, as another process finds it while runs write to it."""
    return {e.id: e for e in Ledger(out).latest()} if (out / "ledger.db").exists() else {}


def one_each(out: Path, count: int) -> Counter[str]:
    """No exercise has two verdicts; how often there is which outcome."""
    rows = [entry.graded for entry in entered(out).values() if entry.graded]
    assert len({(row.student, row.exercise) for row in rows}) == len(rows) == count
    with sqlite3.connect(out / "ledger.db") as ledger:
        assert ledger.execute("SELECT count(*) FROM verdicts").fetchone() == (count,)
    return Counter(row.outcome for row in rows)


def wait_for(count: int, out: Path) -> None:
    deadline = time.monotonic() + 60
    while len(entered(out)) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_a_claim(out: Path) -> None:
    runs, deadline = out / ".runs", time.monotonic() + 60
    while not (runs.is_dir() and any(runs.iterdir())):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def workers() -> set[int]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
            if b"autograder.judge.worker\0" in command and fakes.CHECK.encode() in command:
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    count = slow_class(tmp_path / "in")
    command = tmp_path / "in", "--out", tmp_path / "out", "--jobs", 2
    killed = start(*command, steady=True)
    wait_for(5, tmp_path / "out")
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    half = entered(tmp_path / "out")
    assert 5 <= len(half) < count
    assert all(entry.graded.outcome == "PASS" for entry in half.values() if entry.graded)
    said, _ = start(*command, steady=True).communicate(timeout=120)
    judged = count - len(half)
    assert f"{count} verdicts ({judged} judged, {len(half)} known from before)" in said
    assert len(rows(tmp_path / "out")) == count
    whole = entered(tmp_path / "out")
    assert len(whole) == count
    assert {number: whole[number] for number in half} == half
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_no_judge_outlives_a_killed_run(tmp_path: Path) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved({SECOND: "hang"}))
    others = workers()
    killed = start(tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1, steady=True)
    wait_for(1, tmp_path / "out")
    assert workers() - others
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    deadline = time.monotonic() + 20
    while workers() - others and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not workers() - others


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_control_c_keeps_what_is_done_and_says_how_to_go_on(
    tmp_path: Path, how: signal.Signals
) -> None:
    count = slow_class(tmp_path / "in")
    stopped = start(tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1, steady=True)
    wait_for(3, tmp_path / "out")
    os.kill(stopped.pid, how)
    said, _ = stopped.communicate(timeout=60)
    assert stopped.returncode == grade.INTERRUPTED
    assert f"of {count} verdicts are kept in" in said
    assert "The same command goes on from there." in said
    assert "Traceback" not in said
    kept = len(rows(tmp_path / "out"))
    assert 3 <= kept < count
    put(tmp_path / "in/s0_01_threads.ipynb", solved({FIRST: "hang"}))  # and once more, before any
    again = start(tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1, steady=True)
    wait_for_a_claim(tmp_path / "out")
    time.sleep(1)
    os.kill(again.pid, how)
    assert f"Stopped. {kept} of {count} verdicts" in again.communicate(timeout=60)[0]


@pytest.mark.slow
def test_two_runs_side_by_side_leave_one_verdict_each(tmp_path: Path) -> None:
    count = slow_class(tmp_path / "in", students=3)
    command = tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1
    runs = [start(*command, steady=True), start(*command, steady=True)]
    said = [one.communicate(timeout=120)[0] for one in runs]
    assert [one.returncode for one in runs] == [grade.DONE, grade.DONE], said
    found = rows(tmp_path / "out")
    assert len(found) == count
    assert {row["outcome"] for row in found.values()} == {"PASS"}
    assert len(entered(tmp_path / "out")) == count
    judged = [int(re.search(r"(\d+) judged", one)[1]) for one in said]  # type: ignore[index]
    assert sum(judged) == count, "nothing is judged twice"
    assert not list((tmp_path / "out").rglob("*.tmp"))


@pytest.mark.parametrize("cell", ["slow 0.15", "raise on purpose"])
@pytest.mark.slow
def test_two_runs_judge_again_once_and_end(tmp_path: Path, cell: str) -> None:
    """Each waited for the other's failures to be judged again, without end."""
    for number in range(4):
        put(tmp_path / f"in/s{number}_01_threads.ipynb", solved({FIRST: cell}))
    command = tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1
    finished = start(*command, steady=True)
    finished.communicate(timeout=60)
    runs = [start(*command, "--regrade", steady=True) for _ in range(2)]
    said = [one.communicate(timeout=60)[0] for one in runs]
    judged = [int(re.search(r"(\d+) judged", one)[1]) for one in said]  # type: ignore[index]
    assert min(judged) > 0
    assert sum(judged) < 6 * len(EXERCISES), "what one has judged again, the other does not"


def test_a_run_that_waits_for_another_one_holds_nothing_that_this_one_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two with different limits, each of which had judged what the other one was to judge again."""
    paths = [put(tmp_path / f"{name}_01_threads.ipynb", solved()) for name in ("rigel", "vega")]
    names = (path.name.split("_")[0] for path in paths)
    rigel, vega = (
        Submission(n, "01_threads", "threads", p) for n, p in zip(names, paths, strict=True)
    )
    own, other = (Store(tmp_path / "out") for _ in range(2))
    assert other.claim(rigel)
    looks = []

    def looked(_: float) -> None:
        looks.append(other.claim(vega))
        other.release()

    monkeypatch.setattr(judging.time, "sleep", looked)
    with pool.Pool(b"seed", check=fakes.CHECK, trust=True) as workers:
        found = list(judging.judge_all([rigel, vega], own, workers, judging.Run()))
    assert looks == [True]
    assert Counter(row.student for row in found) == {s: len(EXERCISES) for s in ("rigel", "vega")}


def test_a_class_that_is_known_is_gone_through_and_not_gathered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand panels are no list, also where some answers are left to judge."""
    monkeypatch.setattr(judging, "_MOST_READY", len(EXERCISES))
    submissions = [
        Submission(
            f"s{n}", "01_threads", "threads", put(tmp_path / f"s{n}_01_threads.ipynb", solved())
        )
        for n in range(12)
    ]
    kept, looked_up = Store(tmp_path / "out"), set[str]()
    all_known = kept.all_known

    def noted(student: str, *asked: Any) -> dict[str, Graded]:
        looked_up.add(student)
        return all_known(student, *asked)

    with pool.Pool(b"seed", check=fakes.CHECK, jobs=1, trust=True) as workers:
        list(judging.judge_all(submissions[1:], kept, workers, judging.Run()))
        monkeypatch.setattr(kept, "all_known", noted)
        count = 0
        for count, _ in enumerate(judging.judge_all(submissions, kept, workers, judging.Run()), 1):
            assert len(looked_up) <= count // len(EXERCISES) + 3
    assert count == len(submissions) * len(EXERCISES)


def test_an_output_folder_that_cannot_be_written_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    taken = put(tmp_path / "taken", b"a file")
    assert run(tmp_path / "in", "--out", taken) == grade.CANNOT
    said = capsys.readouterr().err
    assert f"Cannot write to {taken}" in said
    assert "another --out" in said


def test_who_may_not_write_is_told_to_take_another_folder_and_not_to_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    assert run(tmp_path / "in", "--out", tmp_path / "out") == grade.DONE

    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("autograder.grading.store.temporary", refused)
    assert run(tmp_path / "in", "--out", tmp_path / "out") == grade.CANNOT
    said = capsys.readouterr().err
    assert "Read-only file system" in said
    assert "Take another folder: a copy of this one" in said
    assert "Make room" not in said


def test_a_full_disk_is_a_sentence_and_what_was_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    before = Ledger.append
    written: list[str] = []

    def full(ledger: Ledger, graded: Graded, *versions: str) -> None:
        if len(written) == 2:  # a page more than there are: what SQLite does on a full disk
            with ledger._engine.begin() as connection:
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
                connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            graded = replace(graded, panel="x" * 10**6)
        before(ledger, graded, *versions)
        written.append(graded.exercise)

    monkeypatch.setattr(Ledger, "append", full)
    assert run(tmp_path / "in", "--out", tmp_path / "out") == grade.CANNOT
    said = capsys.readouterr().err
    assert "database or disk is full" in said
    assert "Make room" in said
    kept = [e.graded.exercise for e in entered(tmp_path / "out").values() if e.graded]
    assert sorted(kept) == sorted(written)


def test_a_folder_of_another_user_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Store(tmp_path / "grades")
    monkeypatch.setattr(os, "getuid", lambda: one.out.stat().st_uid + 1)
    said = rf"belongs to {one.out.owner()}, .* Grade as "
    with pytest.raises(Refused, match=said), one.explained():
        raise PermissionError(13, "Permission denied")


def test_nothing_to_grade_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "nowhere", "--out", tmp_path / "out") == grade.CANNOT
    assert "nowhere does not exist" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty", "--out", tmp_path / "out") == grade.CANNOT
    assert "empty holds no notebook" in capsys.readouterr().err


def test_a_path_that_leads_nowhere_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    assert run(tmp_path / "no", tmp_path / "in", "--out", tmp_path / "out") == grade.NOT_ALL
    assert len(rows(tmp_path / "out")) == len(EXERCISES)
    assert "no does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "no/such/file", "seed.txt", "prive", "a" * 300, "~nobody-of-this-name/seed"]
)
def test_a_seed_that_is_not_there_is_no_seed(text: str) -> None:
    with pytest.raises(seeds.UsageError, match=re.escape(repr(text))):
        seeds.read_seed(text)


def test_a_misspelt_seed_grades_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    words = tmp_path / "in", "--out", tmp_path / "out", "--seed", tmp_path / "prive"
    assert run(*words) == grade.CANNOT
    assert "there is no such file or folder. Name the folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_seed_is_what_a_file_holds_or_what_stands_behind_the_word(tmp_path: Path) -> None:
    file = put(tmp_path / "mine.txt", b"secret\n")
    file.chmod(0o600)
    assert seeds.read_seed(str(file)) == seeds.read_seed("value:secret") == b"secret"
    assert seeds.chosen_folder(str(file)) is None
    assert seeds.chosen_folder("value:" + "a" * 300) is None


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        (b"secret", 0o644, "chmod 600"),
        (b" \n", 0o600, "is empty"),
        (bytes(range(256)), 0o600, "expected one line of text"),
        (b"a\x00b", 0o600, "expected one line of text"),
        (b"{\n}", 0o644, "expected one line of text"),
        (b"a" * 10**6, 0o600, "at most 1000 bytes"),
    ],
)
def test_a_file_that_holds_no_secret_is_no_seed(
    tmp_path: Path, content: bytes, mode: int, words: str
) -> None:
    file = put(tmp_path / "mine", content)
    file.chmod(mode)
    with pytest.raises(seeds.UsageError, match=words):
        seeds.read_seed(str(file))


def test_nobody_is_told_to_change_a_device() -> None:
    with pytest.raises(seeds.UsageError) as error:
        seeds.read_seed(os.devnull)
    assert "holds no seed" in str(error.value)
    assert "chmod" not in str(error.value)


@pytest.mark.parametrize("drawn", [False, True])
def test_a_seed_that_can_be_found_by_trying_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], drawn: bool
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    seed = [] if drawn else ["--seed", "value:fall2026"]
    assert run(tmp_path / "in", "--out", tmp_path / "out", *seed) == grade.DONE
    assert ("find such a seed by trying" in capsys.readouterr().err) is not drawn


@pytest.mark.parametrize("text", ["value:", "value: "])
def test_an_empty_value_is_no_seed(text: str) -> None:
    with pytest.raises(seeds.UsageError, match="no text stands behind the colon"):
        seeds.read_seed(text)


def test_a_folder_makes_its_own_seed_once_for_its_owner_only(tmp_path: Path) -> None:
    first = Store(tmp_path).seed()
    assert Store(tmp_path).seed() == first
    assert len(first) >= 32
    assert (tmp_path / ".seed").stat().st_mode & 0o077 == 0
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    run(tmp_path / "in", "--out", tmp_path)
    reports = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != ".seed"]
    assert not any(first in path.read_bytes() for path in reports)


def test_verdicts_of_a_seed_that_was_named_are_not_judged_again_with_a_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    command = tmp_path / "in", "--out", tmp_path / "out"
    assert run(*command, "--seed", "value:s") == grade.DONE
    before = rows(tmp_path / "out")
    assert run(*command) == grade.CANNOT
    assert "Name it as before, --seed DIR" in capsys.readouterr().err
    assert not (tmp_path / "out/.seed").exists()
    assert rows(tmp_path / "out") == before
    assert run(*command, "--seed", "value:s") == grade.DONE


def test_a_seed_is_shown_by_an_id_that_does_not_hold_it() -> None:
    assert seed_id(b"secret") != seed_id(b"secreu")
    assert "secret" not in seed_id(b"secret")


def test_the_key_changes_with_the_notebook_the_exercise_and_the_seed() -> None:
    base = verdict_key(b"n", "e", b"s")
    assert base == verdict_key(b"n", "e", b"s")
    others = {verdict_key(b"m", "e", b"s"), verdict_key(b"n", "f", b"s")}
    others |= {verdict_key(b"n", "e", b"t"), verdict_key(b"n", "e", b"s", "another:check")}
    assert base not in others
    assert len(others) == 4


def test_an_unknown_lesson_lists_those_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--lesson", "knitting", "--out", tmp_path / "out") == grade.CANNOT
    assert LESSON in capsys.readouterr().err


def test_hidden_cases_count_only_where_the_visible_ones_are_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exercise = lesson_exercises("threads")[1]
    monkeypatch.setattr("autograder.judge.judge.hidden_cases", lambda *_: (case(True, N=128),))
    said = {
        source: judge_cell(exercise, source, b"s", fakes.check).outcome
        for source in ("PASS", "RACE", "hidden")
    }
    assert said == {"PASS": Outcome.PASS, "RACE": Outcome.RACE, "hidden": Outcome.WRONG_ANSWER}


def test_hidden_sizes_stay_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = lesson_exercises("threads")[1]
    monkeypatch.setattr("autograder.judge.judge.hidden_cases", lambda *_: (case(True, N=128),))
    assert judge_cell(exercise, "hidden", b"s", fakes.check).case_label == "held out"


def test_a_spreadsheet_takes_no_text_for_a_formula() -> None:
    row = Graded("=1+1", LESSON, FIRST, "PASS", 1, 1, message="@SUM(A1)")
    [line] = csv.DictReader("".join(as_csv([row])).splitlines())
    assert line["student"] == "'=1+1"
    assert line["message"] == "'@SUM(A1)"


def test_different_names_are_different_files() -> None:
    names = ["vega", "Vega", "VEGA", "vega!", "vega?", "../vega", "véga", ".", "", "a" * 300]
    slugs = [slug(name) for name in names]
    assert len({s.casefold() for s in slugs}) == len(names)
    assert not any("/" in s or s.startswith(".") or len(s) > 60 for s in slugs)


def test_a_report_escapes_what_students_wrote(tmp_path: Path) -> None:
    name = "<script>alert(1)<"
    put(tmp_path / f"in/{name}/01_threads.ipynb", solved("WRONG_ANSWER\n<img src=x onerror=y>"))
    put(tmp_path / "in/vega/01_threads.ipynb", b"{<b>")
    run(tmp_path / "in", "--out", tmp_path / "out")
    html = (tmp_path / "out/report.html").read_text()
    assert html.count("<script") == 1, "its own"
    assert "<img" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_faulted_exercise_has_no_points_and_its_own_words() -> None:
    exercise = lesson_exercises("threads")[0]
    verdict = faulted(exercise, Fault("missing_cell", exercise=exercise.name, unreadable=""))
    assert verdict.points == 0
    assert verdict.max_points == exercise.points
    assert f"`{exercise.name}`" in verdict.message


def test_a_judge_that_cannot_start_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    args = arguments(tmp_path / "in", "--out", tmp_path / "out")
    args.check = "autograder.no_such:check"
    assert status_of(grade.main, args) == grade.CANNOT
    said = capsys.readouterr().err
    assert "The judge cannot start: ModuleNotFoundError" in said
    assert "Times tried: 3; `python -m autograder doctor` says what it needs." in said


@pytest.mark.parametrize("killed", [2, 3])
def test_a_judge_that_is_killed_at_its_start_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    """As the kernel does where memory is short: one such end stopped the class."""
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    start_one, starts = pool.Worker._start, list[int]()

    def killed_at_once(worker: pool.Worker) -> None:
        start_one(worker)
        starts.append(1)
        if len(starts) <= killed:
            assert worker._process is not None
            walls.end(worker._process)

    monkeypatch.setattr(pool.Worker, "_start", killed_at_once)
    words = tmp_path / "in", "--out", tmp_path / "out", "--jobs", 1
    status = status_of(grade.main, arguments(*words))
    assert status == (grade.DONE if killed < 3 else grade.CANNOT)
    assert len(starts) == 3
    if killed < 3:
        assert outcomes(tmp_path / "out", "vega") == ["PASS"] * len(EXERCISES)


def test_many_verdicts_are_a_row_a_student(capsys: pytest.CaptureFixture[str]) -> None:
    from autograder.grading.table import MOST_ROWS, show

    names = [f"s{number:03}" for number in range(MOST_ROWS)]
    passed = [Graded(name, LESSON, FIRST, "PASS", 1, 1) for name in names]
    failed = [Graded(name, LESSON, SECOND, "RACE", 0, 1) for name in names]
    show(store.ordered(passed + failed))
    said = capsys.readouterr().out
    assert "1 ✓ PASS" in said
    assert f"✗ RACE {SECOND}" in said
    assert Counter(said)["\n"] < MOST_ROWS + 12


def test_a_few_verdicts_are_a_row_each_with_traffic_and_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from autograder.grading.table import show

    show([Graded("vega", LESSON, FIRST, "RACE", 0, 4, 3200, 1600, 800, "Two \x1b[31mthreads.")])
    said = capsys.readouterr().out
    for words in ("vega", FIRST, "✗ RACE", "0 / 4", "3.1 KB", "2.0", "Two \ufffd[31mthreads."):
        assert words in said


def test_a_narrow_terminal_loses_columns_from_the_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from rich.console import Console

    from autograder.grading.table import show

    show([Graded("vega", LESSON, FIRST, "RACE", 0, 4, 3200, 1600, 800)], Console(width=50))
    said = capsys.readouterr().out
    assert "✗ RACE" in said
    assert "0 / 4" in said
    assert "what happened" not in said


def test_the_limits_have_the_stated_defaults() -> None:
    assert pool.Limits() == pool.Limits(60.0, 2 * 2**30)


# ------------------------------------------------------------------ whose it is


def claimed_twice(folder: Path, first: str = "WRONG_ANSWER", second: str = "PASS") -> None:
    put(folder / "vega_01_threads.ipynb", solved(first))
    put(folder / "01_threads_Vega (1).ipynb", solved(second))
    put(folder / "rigel_01_threads.ipynb", solved())


def test_what_several_files_claim_is_held_with_the_command_that_settles_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claimed_twice(tmp_path / "in")
    out = tmp_path / "out"
    assert run(tmp_path / "in", "--out", out) == grade.NOT_ALL
    said = capsys.readouterr().err
    assert outcomes(out, "rigel") == ["PASS"] * len(EXERCISES)
    for name in ("vega", "Vega"):
        assert {rows(out)[name, e]["message_id"] for e in EXERCISES} == {"same_name"}
        assert {rows(out)[name, e]["points"] for e in EXERCISES} == {0}
    [line] = [line for line in said.splitlines() if "to be vega's 01_threads" in line]
    assert "vega_01_threads.ipynb" in line
    assert "01_threads_Vega (1).ipynb" in line
    words = shlex.split(line.partition("python -m autograder grade ")[2].partition(" (or ")[0])
    run(*words)
    assert set(outcomes(out, "vega")) in ({"WRONG_ANSWER"}, {"PASS"})
    again = outcomes(out, "vega")
    run(tmp_path / "in", "--out", out)
    assert outcomes(out, "vega") == again, "what a person settled stays"


def test_no_earlier_grade_is_lost_to_a_file_of_anothers(tmp_path: Path) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    out = tmp_path / "out"
    run(tmp_path / "in", "--out", out)
    put(tmp_path / "in/vega-01_threads.ipynb", solved("WRONG_ANSWER"))
    for more in ([], ["--regrade"]):
        assert run(tmp_path / "in", "--out", out, *more) == grade.NOT_ALL
        assert outcomes(out, "vega") == ["PASS"] * len(EXERCISES)


def test_no_gradebook_has_what_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Graded] = []
    monkeypatch.setattr(
        "autograder.grading.gradebook.write_scores",
        lambda _, rows, *more: written.extend(rows) or [],
    )
    monkeypatch.setattr(grade, "require_gradebook", lambda *_, **__: None)
    claimed_twice(tmp_path / "in")
    run(tmp_path / "in", "--out", tmp_path / "out", "--gradebook", "sqlite:///x.db")
    assert {row.student for row in written} == {"rigel"}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("foo", "is no address of a gradebook"),
        ("sqlite://x.db", "expected sqlite:///gradebook.db (with three slashes)"),
        ("mysql://ada@x/class", "'mysql://ada@x/class' is no address of a gradebook"),
        ("postgresql://ada@x:a/class", "is no address of a gradebook"),
        ("sqlite:////tmp", "/tmp is a folder: expected a gradebook's file"),
        ("sqlite:///nowhere/x.db", "There is no folder"),
        ("sqlite:///x.db", "`nbgrader generate_assignment LESSON --force --db sqlite:///x.db`"),
    ],
)
def test_a_gradebook_that_is_none_is_told_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str, said: str
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    out = tmp_path / "out"
    assert run(tmp_path / "in", "--out", out, "--gradebook", url) == grade.CANNOT
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_ledger_that_fails_after_the_judging_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise Refused("The ledger is gone.")

    monkeypatch.setattr(grade, "require_gradebook", lambda *_, **__: None)
    monkeypatch.setattr(Store, "last", lost)
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    words = "--out", tmp_path / "out", "--gradebook", "sqlite:///x.db"
    assert run(tmp_path / "in", *words) == grade.CANNOT
    assert capsys.readouterr().err == "The ledger is gone.\n"


def test_with_other_limits_all_is_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    said = []
    for limit in (30, 60, 60):
        run(tmp_path / "in", "--out", tmp_path / "out", "--time-limit", limit)
        said.append(re.findall(r"\(\d+ judged.*?\)", capsys.readouterr().out))
    assert said == [["(5 judged)"], ["(5 judged)"], ["(0 judged, 5 known from before)"]]


def test_certificates_without_a_cluster_are_not_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    assert run(tmp_path / "in", "--tls", tmp_path) == grade.CANNOT
    assert "goes with --scheduler ADDRESS or --slurm FILE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--memory-limit", 10, "expected a number from 128 to 1,000,000,000, got '10'"),
        ("--time-limit", "inf", "expected a number from 0.01 to 1,000,000,000, got 'inf'"),
    ],
)
def test_a_limit_that_no_judge_can_keep_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: object, said: str
) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path / "in", "--out", tmp_path / "out", option, value)
    assert said in capsys.readouterr().err


def test_with_a_roster_others_are_held_and_who_is_missing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster = put(tmp_path / "roster.csv", b"student\nvega\ndeneb\n")
    put(tmp_path / "in/Vega_01_threads.ipynb", solved())
    put(tmp_path / "in/mallory_01_threads.ipynb", solved())
    out = tmp_path / "out"
    assert run(tmp_path / "in", "--out", out, "--roster", roster) == grade.NOT_ALL
    assert {student for student, _ in rows(out)} == {"vega"}
    said = capsys.readouterr().err
    assert "none or several of that name: mallory" in said
    assert "without a submission here: deneb" in said


def test_a_zip_of_an_lms_is_graded_with_its_late_marks_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as packed:
        for name, says in (
            ("doejane_LATE_12345_67890_01_threads-1.ipynb", "PASS"),
            ("doejane_12345_66000_01_threads.ipynb", "WRONG_ANSWER"),
            ("roejohn_222_67891_01_threads.ipynb", "RACE"),
        ):
            packed.writestr(name, json.dumps(solved(says)))
        packed.writestr("itomax_333_67892_notes.txt", "no notebook")
    out = tmp_path / "out"
    assert run(tmp_path / "all.zip", "--out", out) == grade.DONE
    assert "the last one counts: doejane-12345 (01_threads)." in capsys.readouterr().err
    assert outcomes(out, "doejane-12345") == ["PASS"] * len(EXERCISES)
    assert outcomes(out, "roejohn-222") == ["RACE"] * len(EXERCISES)
    assert rows(out)["itomax-333", ""]["message_id"] == "other_file"
    assert {student for (student, _), row in rows(out).items() if row["late"]} == {"doejane-12345"}
    assert run(tmp_path / "all.zip", "--out", out) == grade.DONE
    assert "(0 judged, " in capsys.readouterr().out


def test_a_zip_that_is_none_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    broken = put(tmp_path / "all.zip", b"no zip")
    assert run(broken, tmp_path / "in", "--out", tmp_path / "out") == grade.NOT_ALL
    assert "is no zip that can be read" in capsys.readouterr().err
    assert outcomes(tmp_path / "out", "vega") == ["PASS"] * len(EXERCISES)


def test_a_bad_roster_grades_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    roster = put(tmp_path / "roster.csv", b"id;name\nvega;Vega\n")
    said = run(tmp_path / "in", "--out", tmp_path / "out", "--roster", roster)
    assert said == grade.CANNOT
    assert "has no such header" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_without_end_is_its_students_verdict_once_and_for_all(tmp_path: Path) -> None:
    put(tmp_path / "in/vega/01_threads.ipynb", solved())
    put(tmp_path / "in/mallory/01_threads.ipynb", solved())
    deep(tmp_path / "in/mallory/d", 1200)
    try:
        for judged in (2 * len(EXERCISES), 0):
            begun = judging.Run()
            with pool.Pool(b"seed", check=fakes.CHECK, trust=True) as workers:
                kept = Store(tmp_path / "out")
                list(grade.grade([tmp_path / "in"], kept, workers, begun))
            assert begun.judged == judged
            judging.summarise(kept, "shown")
            assert outcomes(tmp_path / "out", "vega") == ["PASS"] * len(EXERCISES)
            assert outcomes(tmp_path / "out", "mallory") == ["REJECTED"] * len(EXERCISES)
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "in/mallory"], check=True)


# ------------------------------------------------------------------ how large a verdict can be


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(Outcome.REJECTED, FIRST, "x" * 10**6, "no_such_name"),
        Verdict(Outcome.PASS, FIRST, "x", "x", next_steps=("y" * 10**6,)),
        Verdict(Outcome.PASS, FIRST, "x", "x", rows=(Row("a", "load", 1, 1.0, 1),) * 10**4),
        Verdict(
            Outcome.WRONG_ANSWER,
            FIRST,
            "x",
            "x",
            entries=tuple(Entry(str(n), "q", "<" * 1000, False, "<" * 1000) for n in range(1000)),
        ),
        Verdict(
            Outcome.WRONG_ANSWER,
            FIRST,
            "x",
            "x",
            lines=tuple(SourceLine(n, "<" * 200, (), True) for n in range(10_000)),
        ),
    ],
)
def test_a_verdict_has_a_size_whatever_a_cell_is_made_of(verdict: Verdict) -> None:
    row = result(lesson_exercises("threads")[0], verdict)
    assert len(json.dumps(row)) < 4 * LARGEST_PANEL < pool.LARGEST_FRAME_BYTES
    assert row["outcome"] == verdict.outcome.value
    assert "<script" not in row["panel"]
    assert row["panel"].count("<div") == row["panel"].count("</div>")


def test_a_judge_that_says_too_much_is_a_verdict_that_stays(tmp_path: Path) -> None:
    file = put(tmp_path / "in/vega/01_threads.ipynb", solved({FIRST: f"chatter {10**7}"}))
    put(tmp_path / "in/rigel/01_threads.ipynb", solved())
    for judged in (2 * len(EXERCISES), 0):
        begun = judging.Run()
        with pool.Pool(b"seed", check=fakes.CHECK, trust=True) as workers:
            kept = Store(tmp_path / "out")
            list(grade.grade([file.parents[1]], kept, workers, begun))
        assert begun.judged == judged
    judging.summarise(kept, "shown")
    assert rows(tmp_path / "out")["vega", FIRST]["message_id"] == "verdict_too_large"
    assert outcomes(tmp_path / "out", "vega")[1:] == ["PASS"] * (len(EXERCISES) - 1)
    assert outcomes(tmp_path / "out", "rigel") == ["PASS"] * len(EXERCISES)


def test_what_judges_say_while_nobody_listens_is_not_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-Z and `fg`, or a ledger that another program held, all at work were TIMED_OUT."""
    away, clock = [0.0], time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: clock() + away[0])
    found = Counter[str]()
    with pool.Pool(b"seed", check=fakes.CHECK, jobs=2, trust=True) as workers:
        tasks = [
            pool.Task(
                Submission(f"s{number}", "01_threads", "threads", tmp_path, None),
                json.dumps(solved(dict.fromkeys(EXERCISES, "slow 0.1"))).encode(),
                [*EXERCISES],
            )
            for number in range(2)
        ]
        for answer in workers.run(tasks):
            assert answer.graded is not None
            found[answer.graded.outcome] += 1
            away[0] += 1000
    assert found == {"PASS": 2 * len(EXERCISES)}


def test_a_judge_that_does_not_read_what_it_is_given_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook of more bytes than a pipe holds; the grader waited inside of a write."""
    whose = Submission("vega", "01_threads", "threads", tmp_path, None)
    task = pool.Task(whose, json.dumps(solved()).encode() + b" " * 2**22, [*EXERCISES])
    monkeypatch.setattr(pool, "_START_SECONDS", 1)
    with pool.Pool(b"seed", check=fakes.CHECK, trust=True) as judges:
        [judge] = judges._workers

        def stopped() -> None:
            type(judge)._start(judge)
            assert judge._process is not None
            os.killpg(judge._process.pid, signal.SIGSTOP)
            goes_on.args = judge._process.pid, signal.SIGCONT
            goes_on.start()

        goes_on = threading.Timer(10, os.killpg)
        monkeypatch.setattr(judge, "_start", stopped)
        with pytest.raises(Refused, match="it took too long to start"):
            list(judges.run([task]))
        goes_on.cancel()


def test_a_notebook_of_many_parts_of_a_pipe_is_judged(tmp_path: Path) -> None:
    whose = Submission("vega", "01_threads", "threads", tmp_path, None)
    task = pool.Task(whose, json.dumps(solved()).encode() + b" " * 2**22, [*EXERCISES])
    with pool.Pool(b"seed", check=fakes.CHECK, trust=True) as judges:
        found = [answer.graded for answer in judges.run([task])]
    assert [row and row.outcome for row in found] == ["PASS"] * len(EXERCISES)


def test_a_judge_that_is_killed_as_it_reads_says_nothing_of_the_notebook(tmp_path: Path) -> None:
    whose = Submission("vega", "01_threads", "threads", tmp_path, None)
    judges = pool.Pool(b"seed", check=fakes.CHECK, trust=True)
    task = pool.Task(whose, b"{}", [*EXERCISES])
    [answer] = judges._taken(task, {"end": -signal.SIGKILL})
    assert answer.graded is not None
    assert (answer.graded.exercise, answer.graded.message_id) == (FIRST, "judge_died")
    assert task.exercises == EXERCISES[1:]
    assert not task.done
    unknown = pool.Task(whose, b"{}", None)
    [answer] = judges._taken(unknown, {"end": -signal.SIGKILL})
    assert answer.fault is not None
    assert answer.fault.message_id == "judge_died"
    assert unknown.done


def test_what_is_known_of_a_notebook_is_looked_up_once_and_not_by_exercise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    words = tmp_path / "in", "--out", tmp_path / "out", "--seed", "value:s"
    assert run(*words) == grade.DONE
    monkeypatch.delattr(Store, "known")
    assert run(*words) == grade.DONE


def test_a_judge_has_its_next_notebook_before_the_verdicts_of_the_last_are_kept(
    tmp_path: Path,
) -> None:
    students, asked, seen = ["mira", "rigel", "vega"], list[str](), dict[str, int]()

    def tasks() -> Iterator[pool.Task]:
        for student in students:
            asked.append(student)
            whose = Submission(student, "01_threads", "threads", tmp_path / student, None)
            yield pool.Task(whose, json.dumps(solved()).encode(), [*EXERCISES])

    with pool.Pool(b"seed", check=fakes.CHECK, jobs=1, trust=True) as workers:
        for answer in workers.run(tasks()):
            assert answer.graded is not None
            seen[answer.graded.student] = len(asked)
    assert seen == {"mira": 2, "rigel": 3, "vega": 3}


def test_the_command_for_held_work_names_what_it_needs_and_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / f"in/vega_{LESSON}.ipynb", solved())
    put(tmp_path / "in/vega.ipynb", solved())
    out, secret = tmp_path / "out", "value:a seed of a test"
    assert run(tmp_path / "in", "--out", out, "--seed", secret) != grade.DONE
    told = " ".join("".join(capsys.readouterr()).split())
    assert f"--student vega --lesson {LESSON} --out {out}, with the same --seed (or " in told
    assert secret not in told
    assert "two students of one name" not in told.lower()
    for n in (1, 2):
        put(tmp_path / f"twins/Jane Doe_{n}_assignsubmission_file_/{LESSON}.ipynb", solved())
    assert run(tmp_path / "twins", "--out", out, "--seed", secret) != grade.DONE
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith(
        "Two students of one name are told apart by a --roster with the LMS's numbers."
    )


def test_what_does_not_count_any_more_is_in_no_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for student in ("vega", "deneb"):
        put(tmp_path / f"in/{student}_{LESSON}.ipynb", solved())
    out = tmp_path / "out"
    words = tmp_path / "in", "--out", out, "--seed", "value:a seed of a test"
    assert run(*words) == grade.DONE
    assert len(rows(out)) == 2 * len(EXERCISES)
    try:
        capsys.readouterr()
        assert run(*words, "--unit", "two-week", "--regrade", "--dry-run") == grade.DONE
        said = capsys.readouterr().out
        assert len(Store(out).all()) == 2 * len(EXERCISES)
        before = {one.exercise: one for one in Store(out).all() if one.student == "vega"}
        assert run(*words, "--unit", "two-week") == grade.DONE
        core = {exercise.name for exercise in lesson_exercises("threads")}
        assert f"{2 * len(core)} verdicts judged again" in said
        for name in {*EXERCISES} - core:
            old = before[name]
            assert f"{name}: {old.outcome} {old.points:g} -> does not count" in said
        assert {exercise for _, exercise in rows(out)} == core < {*EXERCISES}
        # ... and all of it again, of which the history tells
        assert run(*words, "--unit", "course") == grade.DONE
        assert len(rows(out)) == 2 * len(EXERCISES)
    finally:
        overlay.use(None)
    [gone] = {*EXERCISES[1:2]} - core
    capsys.readouterr()
    assert command_line.main(["history", "vega", gone, "--from", str(out)]) == 0
    assert "withdrawn: it does not count any more" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["canvas", "moodle"])
def test_what_was_handed_in_later_holds_whichever_download_is_graded_last(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    archives = []
    for day, text in ((1, "WRONG_ANSWER"), (2, "PASS")):
        name = {
            "canvas": f"itomax_7_{day * 999}_{LESSON}.ipynb",
            "moodle": f"Max Ito_7_assignsubmission_file/{LESSON}.ipynb",
        }[form]
        archives.append(tmp_path / f"{day}.zip")
        with zipfile.ZipFile(archives[-1], "w") as packed:
            packed.writestr(
                zipfile.ZipInfo(name, (2026, 10, day, 0, 0, 0)), json.dumps(solved(text))
            )
    student = {"canvas": "itomax-7", "moodle": "Max Ito"}[form]
    first, second = archives
    out = "--out", tmp_path / "out", "--seed", "value:s"
    assert run(first, *out) == grade.DONE
    assert outcomes(tmp_path / "out", student)[0] == "WRONG_ANSWER"
    assert run(second, *out) == grade.DONE
    capsys.readouterr()
    run(first, *out)
    assert outcomes(tmp_path / "out", student)[0] == "PASS"
    assert f"handed in later than this: {student} ({LESSON})" in capsys.readouterr().err
    [file] = (tmp_path / "out" / "handed_in").glob(f"*/{first.stem}*/**/*{LESSON}.ipynb")
    assert run(file, "--student", student, *out) == grade.DONE
    assert outcomes(tmp_path / "out", student)[0] == "WRONG_ANSWER"


def test_the_grade_of_a_group_reaches_each_of_its_members(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster = put(tmp_path / "roster.csv", b"student,group\nvega,Group A\ndeneb,Group A\n")
    put(tmp_path / "class" / "Group A" / f"{LESSON}.ipynb", solved())
    words = tmp_path / "class", "--out", tmp_path / "out", "--seed", "value:s", "--groups"
    assert run(*words) == grade.CANNOT
    assert "--groups goes with a --roster FILE" in capsys.readouterr().err
    assert run(*words[:-1], "--roster", roster) == grade.CANNOT
    assert "Under the name of a group on the roster: Group A." in capsys.readouterr().err
    assert run(*words, "--roster", roster) == grade.DONE
    assert "--groups" not in capsys.readouterr().err
    for student in ("vega", "deneb"):
        assert outcomes(tmp_path / "out", student) == ["PASS"] * len(EXERCISES)
