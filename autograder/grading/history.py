"""`python -m autograder history STUDENT EXERCISE`: every verdict on it, to answer an appeal.

Each says what it is in the place of, and what had changed; the last one, which holds, is shown as
the student sees it. Without EXERCISE: what the student has in each. STUDENT may be the pseudonym
that a report without names has; with --anonymous no name is shown.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from autograder import Refused
from autograder.grading.anonymous import behind, has_pseudonyms, pseudonyms, without_name
from autograder.grading.grade import add_from
from autograder.grading.ledger import Entry
from autograder.grading.names import look_alike
from autograder.grading.store import ordered, store_of
from autograder.grading.table import plain
from autograder.judge.judge import Graded
from autograder.judge.sentences import JUDGED_AGAIN
from course.plain.text import counted

_SHORT = 12
#: A verdict of the longest kernel has some 40.
_MOST_LINES = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("student", metavar="STUDENT", help="as the report calls them")
    parser.add_argument("exercise", metavar="EXERCISE", nargs="?", help="such as vector_add")
    add_from(parser)
    parser.add_argument(
        "--anonymous", action="store_true", help="with a pseudonym, and no text of the student's"
    )


def main(args: argparse.Namespace) -> int:
    """Prints the verdicts, the earliest first, and returns 0."""
    store = store_of(args.grades, may_write=False)
    with store.explained():
        called: Callable[[str], str] | None = None
        if args.anonymous or has_pseudonyms(args.grades):
            called = pseudonyms(args.grades)
        names = store.students()
        named = {look_alike(name): name for name in names}
        asked = behind(args.student, names, called) if called else args.student
        student = asked if asked in names else named.get(look_alike(asked))
        found, entries = list[Entry](), list[Entry]()
        if student is not None:
            found = list(store.ledger.latest(student=student))
            if args.exercise is not None:
                entries = store.ledger.history(student, args.exercise)
    if student is None:
        known = [] if args.anonymous else named
        near = difflib.get_close_matches(look_alike(args.student), known, 3)
        meant = f" Did you mean {', '.join(named[name] for name in near)}?" if near else ""
        raise Refused(plain(f"{args.grades} has no student {args.student}.{meant}"))
    if args.anonymous and called:
        found, entries = _without_names(found, called), _without_names(entries, called)
        student = called(student)
    own = ordered(filter(None, (entry.graded for entry in found)))
    if args.exercise is not None and not entries:
        names = [row.exercise for row in own if row.exercise]
        near = difflib.get_close_matches(args.exercise, names, 1)
        there = f"There are: {', '.join(names)}." if names else "Leave it away: see what there is."
        meant = f"Did you mean {near[0]}?" if near else there
        raise Refused(plain(f"{student} has no verdict on {args.exercise!r}. {meant}"))
    told = _told(student, args.exercise, entries) if entries else _overview(student, own)
    for line in told:
        print(plain(line))
    return 0


def _without_names(entries: Iterable[Entry], called: Callable[[str], str]) -> list[Entry]:
    return [
        replace(entry, graded=entry.graded and without_name(entry.graded, called))
        for entry in entries
    ]


def _overview(student: str, rows: Sequence[Graded]) -> Iterator[str]:
    yield f"{student}: {counted(len(rows), 'verdict')} hold{'s' if len(rows) == 1 else ''}"
    for row in rows:
        exercise = row.exercise or "(the notebook)"
        points = f"{row.points:g} of {row.max_points:g}"
        yield f"  {row.notebook}  {exercise}: {row.outcome}, {points} points"


def _told(student: str, exercise: str, entries: Sequence[Entry]) -> Iterator[str]:
    count = "1 verdict" if len(entries) == 1 else f"{len(entries)} verdicts, the last one holds"
    yield f"{student}, {exercise}: {count}"
    by_number = {entry.id: entry for entry in entries}
    for entry in entries:
        where = f" on {entry.host}" if entry.host else ""
        yield ""
        yield f"no. {entry.id}  {entry.time}{where}"
        before = by_number.get(entry.replaces or 0)
        if before is not None:
            yield f"  in the place of no. {before.id}: {_why(before, entry)}"
        graded = entry.graded
        if graded is None:
            known = "the notebook's lesson is known since"
            yield f"  withdrawn: {'it does not count any more' if exercise else known}"
            continue
        yield f"  {graded.outcome}  {graded.points:g} of {graded.max_points:g} points"
        if entry is entries[-1] and graded.text:
            yield from (f"  | {line}" for line in graded.text.splitlines()[:_MOST_LINES])
        else:
            yield f"  {graded.message}"
        late = ", late" if graded.late else ""
        came = f", handed in {graded.handed_in}" if graded.handed_in else ""
        notebook = entry.submission or "unknown"
        yield f"  notebook {graded.notebook or 'of no lesson'}{late}{came}; SHA-256 {notebook}"
        versions = entry.lesson[:_SHORT] or "unknown", entry.course[:_SHORT] or "unknown"
        yield "  lesson's version {}, course {}".format(*versions)
    yield ""
    yield "`sha256sum FILE` tells which file a verdict is on."


def _why(before: Entry, after: Entry) -> str:
    """What is known of the reason why a verdict was given anew."""
    pairs = {
        "another notebook": (before.submission, after.submission),
        "another version of the lesson": (before.lesson, after.lesson),
    }
    others = [what for what, (old, new) in pairs.items() if old and new and old != new]
    if before.graded is not None and before.graded.message_id in JUDGED_AGAIN:
        others.append("the judge had failed")
    if others:
        return ", ".join(others)
    return "the same notebook, graded with --regrade, another seed or other settings"
