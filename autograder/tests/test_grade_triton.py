"""A class in a Triton lesson whose grading is killed half-way, and goes on."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from autograder.grading import grade
from autograder.grading.ledger import Entry, Ledger
from autograder.lessons.catalogue import lesson_exercises
from autograder.proof.exploit import FOLDER, exploits
from autograder.proof.witness import witnesses_of
from autograder.tests.graders import start
from autograder.tests.notebooks import cell, notebook, put

STEM = "hello_triton"
NAMES = [exercise.name for exercise in lesson_exercises(STEM)]
HONEST = {w.exercise: w.source for w in reversed(witnesses_of(STEM)) if w.is_honest}
WRONG = next(o.cell for o in exploits(FOLDER / "triton") if o.name == "control_wrong.wrong") or ""
STUDENTS = ("adhara", "bellatrix", "capella")
#: The right solution of all exercises, but for one student's `triton_add`.
EXPECTED = {(who, name): "PASS" for who in STUDENTS for name in NAMES} | {
    ("capella", "triton_add"): "WRONG_ANSWER"
}
#: Compiling each cell for three GPUs on a machine that does much else.
LONGEST_SECONDS = 400.0


def handed_in(folder: Path) -> None:
    for who in STUDENTS:
        sources = HONEST | ({"triton_add": WRONG} if who == "capella" else {})
        cells = [cell(sources[name], name) for name in NAMES]
        put(folder / f"{who}_06_hello_triton.ipynb", notebook(cells))


def verdicts(out: Path) -> dict[int, Entry]:
    return {e.id: e for e in Ledger(out).latest()} if (out / "ledger.db").exists() else {}


@pytest.mark.slow
def test_a_killed_run_of_a_triton_lesson_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    handed_in(tmp_path / "in")
    command = tmp_path / "in", "--out", tmp_path / "out", "--jobs", 2, "--seed", "value:s"
    killed = start(*command, check=grade.CHECK, steady=True)
    deadline = time.monotonic() + LONGEST_SECONDS
    while len(verdicts(tmp_path / "out")) < 4:
        assert killed.poll() is None, killed.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    half = verdicts(tmp_path / "out")
    assert 4 <= len(half) < len(EXPECTED), "killed in the middle"
    said, _ = start(*command, check=grade.CHECK, steady=True).communicate(timeout=LONGEST_SECONDS)
    judged = len(EXPECTED) - len(half)
    assert f"{len(EXPECTED)} verdicts ({judged} judged, {len(half)} known from before)" in said
    rows = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    found = {(row["student"], row["exercise"]): row["outcome"] for row in rows}
    assert len(found) == len(rows), "one verdict each"
    assert found == EXPECTED
    after = verdicts(tmp_path / "out")
    assert len(after) == len(EXPECTED)
    assert {number: after[number] for number in half} == half, "none was judged twice"
