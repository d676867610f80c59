"""`python -m autograder report`: the class report, made anew of the ledger; also without names.

`grade` writes `report.html` by itself. With --anonymous it comes to a folder of its own,
`anonymous/`, to be shown or given away whole: students have pseudonyms, the same each time, and
neither panels nor comments of theirs are in it.
"""

from __future__ import annotations

import argparse

from autograder.grading.anonymous import pseudonyms
from autograder.grading.grade import add_from
from autograder.grading.report_pages import Class, write_report
from autograder.grading.seeds import UsageError, chosen_seed
from autograder.grading.store import Store, store_of
from autograder.judge.judge import seed_id
from course.plain.text import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_from(parser)
    parser.add_argument("--anonymous", action="store_true", help="with pseudonyms for names")
    parser.add_argument("--seed", metavar="DIR|FILE|value:TEXT", help="as for `grade`, to name it")


def main(args: argparse.Namespace) -> int:
    """Writes the report, and returns 0."""
    store = store_of(args.grades)
    with store.explained():
        called = pseudonyms(store.out) if args.anonymous else None
    with store.summarising():
        known = Class(store, called)
        place = write_report(known, _shown_seed(args.seed, store))
    print(f"{place}: {counted(len(known.whose), 'student')}, {len(known.rows)} verdicts.")
    return 0


def _shown_seed(named: str | None, store: Store) -> str:
    """What may be shown of the seed; "" where it has to be named and is not."""
    try:
        return seed_id(chosen_seed(named, store))
    except UsageError:
        if named is not None:
            raise
        return ""
