"""`python -m autograder forget STUDENT`: removes what is kept of a student.

Verdicts with their history, the gradebook's rows, what was handed in, autograded notebooks and
feedback, what zips were unpacked to, reports and tables. In the ledger a line stays: when, and how
many verdicts went, with no name. It asks first. Backups, the zips that you downloaded and the LMS
are yours to clear; what it knows of these it names.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder import Refused
from autograder.grading.collect import find
from autograder.grading.database import NAME, SUMMARY
from autograder.grading.grade import NOTES, UNPACKED, add_from
from autograder.grading.judging import summarise
from autograder.grading.names import clean, few, look_alike
from autograder.grading.opened import explained, open_gradebook, require_gradebook
from autograder.grading.report_pages import ANONYMOUS, SIMILAR
from autograder.grading.report_pages import FOLDER as PAGES
from autograder.grading.roster import Roster, class_roster
from autograder.grading.seeds import UsageError, chosen_folder, chosen_seed
from autograder.grading.store import Store, store_of
from autograder.judge import overlay
from autograder.judge.judge import seed_id
from course.plain.text import counted

#: Of a course directory, those of nbgrader's folders that hold a folder a student.
_BY_STUDENT = ("submitted", "autograded", "feedback")
_NAMED = 10
_AT_ONCE = "made anew of the rest at once"
#: What a class's folder has beside its ledger, and what makes it without a student.
_MADE = {
    **dict.fromkeys((SUMMARY, "verdicts.jsonl", "verdicts.csv", "report.html", PAGES), _AT_ONCE),
    ANONYMOUS: "`report --anonymous` makes it anew",
    SIMILAR: "`similar` makes it anew",
    NOTES: "`grade` and `similar` with --anonymous write it",
}


@dataclass
class Kept:
    """What there is of a student: to be removed, to be made anew without them, out of reach.

    `made_anew` has to each file what makes it of the rest.
    """

    verdicts: int = 0
    in_gradebook: int = 0
    folders: list[Path] = field(default_factory=list)
    made_anew: dict[Path, str] = field(default_factory=dict)
    beyond: list[str] = field(default_factory=list)

    def lines(self, student: str) -> Iterator[str]:
        """What goes, a line each."""
        if self.verdicts:
            yield f"{counted(self.verdicts, 'verdict')} in the ledger"
        if self.in_gradebook:
            yield f"the gradebook's student {student}, {counted(self.in_gradebook, 'submission')}"
        yield from map(str, self.folders)
        yield from (f"{path} (all of it: {how})" for path, how in self.made_anew.items())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("student", metavar="STUDENT", help="as the report calls them")
    add_from(parser)
    parser.add_argument("--gradebook", metavar="URL", help="nbgrader's: sqlite:///gradebook.db")
    parser.add_argument(
        "--course-dir",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where submitted/, autograded/ and feedback/ are, default: here",
    )
    parser.add_argument("--roster", type=Path, metavar="FILE", help="the class, as for `grade`")
    parser.add_argument("--seed", metavar="DIR|FILE|value:TEXT", help="as for `grade`")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def main(args: argparse.Namespace) -> int:
    """Removes it, and returns 0; 1 where the answer was no."""
    student, folder = args.student, args.grades
    try:
        store = store_of(folder)
        if args.gradebook:
            require_gradebook(args.gradebook, writes=True)
        shown = seed_id(chosen_seed(args.seed, store))
        overlay.use(chosen_folder(args.seed))
        roster = class_roster(args.roster)
        kept = _kept(student, store, args, roster)
        there = bool(kept.verdicts or kept.in_gradebook or kept.folders)
        if not there and (store.out / SUMMARY).exists():  # else it was stopped before its end
            raise UsageError(_nobody(student, store))
        running = store.ledger.at_work()
        if running:
            raise UsageError(
                f"A grader is at work ({', '.join(running)}). Wait until it has ended."
            )
        for line in kept.lines(student):
            print(line)
        if there and not args.yes and not _agreed(student):
            print("Nothing was removed.")
            return 1
        _remove(student, store, args, kept)
        summarise(store, shown)
    except OSError as error:
        where = error.filename or folder
        said = f"{where} cannot be removed: {error.strerror}. Then the same again."
        raise Refused(said) from error
    print(f"Removed. The ledger of {folder} has a line that somebody was forgotten, and no name.")
    for sentence in kept.beyond:
        print(f"Out of reach: {sentence}", file=sys.stderr)
    return 0


def _kept(student: str, store: Store, args: argparse.Namespace, roster: Roster | None) -> Kept:
    with store.explained():
        kept = Kept(verdicts=store.ledger.count(student))
    if args.gradebook:
        kept.in_gradebook = _in_gradebook(args.gradebook, student, remove=False)
    for place in _BY_STUDENT:
        root = args.course_dir / place
        kept.folders += [one for one in _folders(root) if _is(one.name, student, roster)]
    unpacked = [inner for digest in _folders(store.out / UNPACKED) for inner in _folders(digest)]
    theirs = [path for path in unpacked if _holds(path, student, roster)]
    kept.folders += theirs
    there = {store.out / name: how for name, how in _MADE.items()}
    there |= dict.fromkeys(sorted(store.out.glob("grades-*.csv")), "`grades` makes it anew")
    kept.made_anew = {path: how for path, how in there.items() if path.exists()}
    kept.beyond = list(_beyond(student, store, args))
    others = [path for path in unpacked if path not in theirs]
    others = [path for path in others if roster is None or not find([path]).submissions]
    if others:
        kept.beyond.append(
            f"what zips were unpacked to and nobody in it is called {student} by its own name: "
            f"{few([str(path) for path in others], _NAMED)}. The same command with the --roster of "
            "their grading finds the work there, but where nothing says whose a folder is."
        )
    return kept


def _folders(root: Path) -> list[Path]:
    return sorted(p for p in root.iterdir() if p.is_dir()) if root.is_dir() else []


def _is(name: str, student: str, roster: Roster | None) -> bool:
    """Whether a folder is this student's."""
    return clean(name) == student or bool(roster and roster.called(clean(name)) == student)


def _holds(folder: Path, student: str, roster: Roster | None) -> bool:
    """Whether a zip that was unpacked there has work of theirs: it is unpacked whole again."""
    found = find([folder]).submissions
    if roster is not None:
        found, _ = roster.sorted_out(found, of_groups=True)
    return any(one.student == student for one in found)


def _beyond(student: str, store: Store, args: argparse.Namespace) -> Iterator[str]:
    """Sentences on what is not this command's."""
    copies = [*store.out.glob(f"{NAME}.moved*"), *args.course_dir.glob("gradebook.db.*")]
    if copies:
        yield f"copies of databases: {few([str(path) for path in sorted(copies)], _NAMED)}."
    yield (
        "backups, the zips and rosters that you downloaded (the next `grade` of one brings them "
        "back), tables that you exported elsewhere (`nbgrader export`, `grades --to`), the LMS and "
        "nbgrader's exchange, and a server's own backups and logs."
    )
    if any(name == student for name, _ in overlay.active().deadlines.extensions):
        yield f"[extensions.{student}] in {overlay.SETTINGS} of your private folder."
    if not args.gradebook:
        yield "a gradebook: --gradebook names it."


def _nobody(student: str, store: Store) -> str:
    named = {look_alike(name): name for name in store.students()}
    near = difflib.get_close_matches(look_alike(student), named, 3)
    meant = f" Did you mean {', '.join(named[name] for name in near)}?" if near else ""
    return f"{store.out} and the folders here have no student {student}.{meant}"


def _agreed(student: str) -> bool:
    print(f"Remove all of this of {student}, for good? yes/no: ", end="", flush=True)
    return sys.stdin.readline().strip().casefold() == "yes"


def _remove(student: str, store: Store, args: argparse.Namespace, kept: Kept) -> None:
    """The ledger last: as long as it has them, the same command goes on."""
    for path in (*kept.folders, *kept.made_anew):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    if args.gradebook:
        _in_gradebook(args.gradebook, student, remove=True)
    with store.explained():
        store.ledger.forget(student)


def _in_gradebook(url: str, student: str, remove: bool) -> int:
    """How many submissions the gradebook has of a student, and one for the name itself."""
    from nbgrader.api import MissingEntry

    with explained(url, "written" if remove else "read"), open_gradebook(url) as book:
        count = 0
        with contextlib.suppress(MissingEntry):
            count = max(len(book.find_student(student).submissions), 1)
        if remove:
            if count:
                book.remove_student(student)
            if book.engine.name == "sqlite":  # what a stopped run removed may stand in free pages
                own = book.engine.execution_options(isolation_level="AUTOCOMMIT")
                with own.connect() as connection:
                    connection.exec_driver_sql("VACUUM")
        return count
