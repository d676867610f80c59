"""What the autograder's image runs for each submission: verdicts, as Gradescope reads them.

    ROOT/submission/            what the student handed in
    ROOT/source/private/        the instructor's folder, with the seed
    ROOT/results/results.json   a test an exercise, each with the words that feedback has

Where the judge itself failed nothing is written: Gradescope then says that the autograder failed,
and shows no zero.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading.grade import Asked, grade
from autograder.grading.gradescope import PRIVATE, VISIBILITIES
from autograder.grading.judging import Run, judges_failures
from autograder.grading.names import clean, few
from autograder.grading.store import Store, ordered
from autograder.judge import overlay, private
from autograder.judge.judge import CHECK, RIGHT, Graded
from autograder.judge.pool import Limits, Pool
from autograder.judge.sentences import HELD, UNREADABLE, WITHOUT_CELL
from autograder.lessons.catalogue import lesson_exercises, stem_of_notebook

#: Whose it is, Gradescope knows.
_STUDENT = "student"
_ONE = "Hand in one notebook of the lesson, and nothing else."
#: As a verdict's row has them.
_RIGHT = frozenset(outcome.value for outcome in RIGHT)


def main(words: list[str] | None = None, check: str = CHECK) -> int:
    """Judges what was handed in, and returns 0; 1 where there is no result."""
    parser = argparse.ArgumentParser(prog="run_autograder")
    parser.add_argument("root", type=Path)
    parser.add_argument("--lesson", required=True)
    parser.add_argument("--visibility", choices=VISIBILITIES, default=VISIBILITIES[0])
    parser.add_argument("--trust", action="store_true")
    args = parser.parse_args(words)
    stem = stem_of_notebook(args.lesson)
    try:
        folder = args.root / "source" / PRIVATE
        overlay.use(folder)
        run = Run()
        with tempfile.TemporaryDirectory() as scratch:
            store = Store(Path(scratch))
            asked = Asked(stem, _STUDENT)
            limits, jobs = Limits(), min(2, os.cpu_count() or 1)
            with Pool(private.read(folder), jobs, limits, check, trust=args.trust) as pool:
                found = [*grade([args.root / "submission"], store, pool, run, asked)]
    except Refused as error:
        print(error, file=sys.stderr)
        return 1
    failed = judges_failures(run.failed)
    if failed:
        print(*failed, sep="\n", file=sys.stderr)
        return 1
    results = args.root / "results" / "results.json"
    results.parent.mkdir(exist_ok=True)
    names = [clean(one.path.name) for one in run.submissions]
    told = as_results(ordered(found), stem or "", args.visibility, few(names, 1))
    results.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


def as_results(rows: Iterable[Graded], stem: str, visibility: str, name: str) -> dict[str, Any]:
    """Gradescope's form of a notebook's verdicts: an exercise without one has no points."""
    by_exercise = {row.exercise: row for row in rows}
    whole = next((row for row in by_exercise.values() if row.message_id in UNREADABLE), None)
    tests = []
    for exercise in lesson_exercises(stem):
        row = by_exercise.get(exercise.name, whole)
        tests.append(
            {
                "name": exercise.name,
                "score": row.points if row is not None else 0.0,
                "max_score": float(exercise.points),
                "status": "passed" if row is not None and row.outcome in _RIGHT else "failed",
                "output": (row.text or row.message) if row is not None else "",
                "output_format": "text",
                "visibility": visibility,
            }
        )
    several = not by_exercise or any(row.message_id in HELD for row in by_exercise.values())
    return {
        "output": _ONE if several else _received(by_exercise.values(), whole, name),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def _received(rows: Collection[Graded], whole: Graded | None, name: str) -> str:
    """What every student is told at once: nothing of a held-out case is in it."""
    if whole is None and all(row.message_id in WITHOUT_CELL for row in rows):
        whole = next(iter(rows))  # another lesson's notebook, or one without its cells' names
    if whole is not None:
        return whole.message
    return f"{name} was read, and {len(rows)} exercises judged."


if __name__ == "__main__":
    raise SystemExit(main())
