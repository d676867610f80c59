"""`python -m autograder history STUDENT EXERCISE`: every verdict on it, to answer an appeal."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from autograder.grading.grade import DEFAULT_OUT
from autograder.grading.ledger import Entry
from autograder.grading.names import look_alike
from autograder.grading.store import Store, StoreError
from autograder.grading.table import plain

_SHORT = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.description = __doc__
    parser.add_argument("student", metavar="STUDENT", help="as the report calls them")
    parser.add_argument("exercise", metavar="EXERCISE", help="such as vector_add")
    parser.add_argument(
        "--from",
        dest="grades",
        type=Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"the folder that `grade --out` wrote, default: {DEFAULT_OUT}",
    )


def main(args: argparse.Namespace) -> int:
    """Prints the verdicts, the earliest first; 2 where there is none."""
    if not args.grades.is_dir():
        print(f"There is no folder {args.grades}. --from names the right one.", file=sys.stderr)
        return 2
    try:
        ledger = Store(args.grades).ledger
        named = {look_alike(name): name for name in ledger.students()}
        student = named.get(look_alike(args.student))
        if student is None:
            near = difflib.get_close_matches(look_alike(args.student), named, 3)
            meant = f" Did you mean {', '.join(named[name] for name in near)}?" if near else ""
            print(plain(f"{args.grades} has no student {args.student}.{meant}"), file=sys.stderr)
            return 2
        entries = ledger.history(student, args.exercise)
    except (StoreError, SQLAlchemyError) as error:
        print(error, file=sys.stderr)
        return 2
    if not entries:
        print(plain(f"{student} has no verdict on {args.exercise!r}."), file=sys.stderr)
        return 2
    for line in _told(student, args.exercise, entries):
        print(plain(line))
    return 0


def _told(student: str, exercise: str, entries: list[Entry]) -> Iterator[str]:
    count = "1 verdict" if len(entries) == 1 else f"{len(entries)} verdicts"
    yield f"{student}, {exercise}: {count}, the last one holds"
    for entry in entries:
        where = f" on {entry.host}" if entry.host else ""
        instead = f", in the place of no. {entry.replaces}" if entry.replaces else ""
        yield ""
        yield f"no. {entry.id}  {entry.time}{where}{instead}"
        graded = entry.graded
        if graded is None:
            yield "  withdrawn: the notebook's lesson is known since"
            continue
        yield f"  {graded.outcome}  {graded.points:g} of {graded.max_points:g} points"
        yield f"  {graded.message}"
        late = ", late" if graded.late else ""
        came = f", handed in {graded.handed_in}" if graded.handed_in else ""
        notebook = entry.submission or "unknown"
        yield f"  notebook {graded.notebook or 'of no lesson'}{late}{came}; SHA-256 {notebook}"
        versions = entry.lesson[:_SHORT] or "unknown", entry.course[:_SHORT] or "unknown"
        yield "  lesson's version {}, course {}".format(*versions)
