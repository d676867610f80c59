"""Every Triton cell judged on both engines: where verdict, line or counts differ.

The engine that walks a kernel's Python, and the one that runs what the compiler made of it, are
given each solution, honest variant, wrong kernel and exploit of the Triton lessons, on the visible
cases. What differs is printed, a line a cell, and a summary of how many agree.

    python -m tools.compare_engines [LESSON ...] [--only TEXT] [--workers N] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from autograder.proof.exploit import FOLDER, exploits
from autograder.proof.witness import solutions_of, witnesses_of
from course import exercises
from course.check.check import check_source
from course.check.cost import worst_ratio
from course.engine.faults import Outcome
from course.engine.job import Ran, Run
from course.engine.runner import Engine
from course.spec.exercise import KernelExercise

#: Verdicts that the compiler has a part in: other cells are not taken as far as PTX.
OF_THE_COMPILER = ("DOES_NOT_COMPILE", "TOO_MANY_RESOURCES", "TIMED_OUT")
#: Verdicts on answers that are right, and may cost too much.
RIGHT = {"PASS", "TOO_MUCH_TRAFFIC", "TOO_SERIAL"}
#: Lessons 06 to 11.
LESSONS = ("hello_triton", "softmax", "norms", "fusion", "attention", "attention_backward")


@dataclass(frozen=True)
class Cell:
    """A solution cell, and the verdict that it must get."""

    lesson: str
    exercise: str
    name: str
    source: str
    expected: str

    @property
    def title(self) -> str:
        return f"{self.exercise} {self.name} -> {self.expected}"


@dataclass(frozen=True)
class Judged:
    """What one engine says of a cell.

    Attributes:
        of_budget: the highest part of a budget that the verdict's case asks for, or None.
        sectors: of each case that ran, of each array and direction, as budgets take them.
        seconds: wall-clock time of the check.
    """

    outcome: str
    message_id: str
    line: int | None
    message: str
    credit: float
    of_budget: float | None
    extras: dict[str, int]
    sectors: list[dict[str, int]]
    seconds: float


@dataclass(frozen=True)
class Compared:
    """One cell on both engines."""

    lesson: str
    exercise: str
    name: str
    expected: str
    walked: Judged
    compiled: Judged

    @property
    def same_verdict(self) -> bool:
        one, other = self.walked, self.compiled
        return one.outcome == other.outcome and abs(one.credit - other.credit) < 1e-6

    @property
    def same_result(self) -> bool:
        """The verdict, or that both find the answer right and only its cost is another."""
        return self.same_verdict or {self.walked.outcome, self.compiled.outcome} <= RIGHT

    @property
    def same_place(self) -> bool:
        """The line, and what is said of it."""
        one, other = self.walked, self.compiled
        return (one.message_id, one.line) == (other.message_id, other.line)

    @property
    def same_counts(self) -> bool:
        return self.walked.sectors == self.compiled.sectors

    @property
    def differing(self) -> str:
        """A line of text; empty where verdict and place are the same."""
        if self.same_verdict and self.same_place:
            return ""
        shown = " | ".join(
            f"{one.outcome} {one.credit:g} {one.message_id} line {one.line}"
            + (f" ({one.message[:150]})" if one.outcome == "NOT_MEASURED" else "")
            for one in (self.walked, self.compiled)
        )
        right = "" if self.compiled.outcome == self.expected else f"  expected {self.expected}"
        return f"{self.exercise} {self.name}: {shown}{right}"


def cells_of(lesson: str) -> list[Cell]:
    """The cells of a lesson that are to be judged, exploits among them."""
    names = [name for name, one in exercises.lesson(lesson).items() if _in_triton(one)]
    passing = Outcome.PASS.value
    found = [
        Cell(lesson, name, "solution", source, passing)
        for name, source in solutions_of(lesson).items()
        if name in names
    ]
    found += [
        Cell(lesson, one.exercise, one.name, one.source, one.outcome.value)
        for one in witnesses_of(lesson)
        if one.exercise in names
    ]
    found += [
        Cell(lesson, name, f"exploit {one.name}", one.cell, outcome.value)
        for one in exploits(FOLDER / "triton")
        if one.cell is not None and not one.payload
        for name, outcome in one.expect.items()
        if name in names
    ]
    return found


def _in_triton(exercise: object) -> bool:
    return isinstance(exercise, KernelExercise) and exercise.dialect == "triton"


def judged(cell: Cell, compiled: bool) -> Judged:
    """One engine's verdict on a cell."""
    engine = Engine(compiles=cell.expected in OF_THE_COMPILER, compiled=compiled)
    sectors: list[dict[str, int]] = []

    def runner(run: Run) -> Ran:
        ran = engine(run)
        traffic = ran.traffic.graded()
        sectors.append({" ".join(pair): traffic.sectors(*pair) for pair in traffic.arrays()})
        return ran

    exercise = exercises.lesson(cell.lesson)[cell.exercise]
    assert isinstance(exercise, KernelExercise)
    started = time.perf_counter()
    verdict = check_source(exercise, cell.source, runner=runner)
    return Judged(
        verdict.outcome.value,
        verdict.message_id,
        verdict.line,
        verdict.message,
        verdict.credit,
        worst_ratio(verdict.rows) if verdict.rows else None,
        {extra.label: extra.value for extra in verdict.extras},
        sectors,
        round(time.perf_counter() - started, 3),
    )


def compared(cell: Cell) -> Compared:
    """A cell's verdicts on both engines."""
    both = (judged(cell, compiled) for compiled in (False, True))
    return Compared(cell.lesson, cell.exercise, cell.name, cell.expected, *both)


def summary(rows: Sequence[Compared]) -> str:
    """How many agree."""
    place = sum(row.same_verdict and row.same_place for row in rows)
    same = sum(row.same_verdict for row in rows)
    cost = sum(row.same_result for row in rows) - same
    return (
        f"{len(rows)} cells: {same} verdicts agree, {place} of them with line and message; "
        f"{cost} differ in the cost of a right answer alone, {len(rows) - same - cost} in more; "
        f"sectors are equal on {sum(row.same_counts for row in rows)}."
    )


def record(rows: Iterable[Compared], command: str) -> dict[str, object]:
    """What was found, as JSON keeps it."""
    packages = ("triton", "torch", "numpy")
    return {
        "command": command,
        "versions": {"python": sys.version.split()[0], **{p: version(p) for p in packages}},
        "cells": [asdict(row) for row in rows],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lessons", nargs="*", default=LESSONS, metavar="LESSON")
    parser.add_argument(
        "--only", action="append", metavar="TEXT", help="cells that say this in their title"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a file for all verdicts and counts, as JSON")
    given = parser.parse_args()
    cells = [
        cell
        for lesson in given.lessons
        for cell in cells_of(lesson)
        if given.only is None or any(text in cell.title for text in given.only)
    ]
    rows: list[Compared] = []
    # A forked process can neither use what the compiler nor what autograd has started.
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(compared, cell) for cell in cells]):
            rows.append(done.result())
            if text := rows[-1].differing:
                print(text, flush=True)
    order = {(cell.exercise, cell.name): n for n, cell in enumerate(cells)}
    rows.sort(key=lambda row: order[row.exercise, row.name])
    print(summary(rows))
    if given.out is not None:
        text = json.dumps(record(rows, "python -m tools.compare_engines"), indent=1)
        given.out.write_text(f"{text}\n", encoding="utf-8")
    return 0 if all(row.same_verdict for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
