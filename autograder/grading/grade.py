"""`python -m autograder grade PATH...`: verdicts for a notebook, a folder, or a whole class.

PATH is a notebook, a folder of notebooks, a folder that nbgrader collected, or what an LMS gave:
a zip of Canvas, Moodle or Gradescope, GitHub Classroom's folder, an nbgrader exchange. These say
whose what is, what came late and what came last (docs/instructors.md). Else whose a notebook
is: below a folder `submitted`, the next folder's name; in a sub-folder of PATH, that folder's;
otherwise what the file's name says beside the lesson's (`vega_01_threads.ipynb`). What several
files claim to be is held for you, and --student settles it. No notebook
is executed: the solution cells are taken out by their grade ids, and judged on the visible
cases and on cases drawn from the seed. The same command again goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from autograder.grading.anonymous import pseudonyms, without_name
from autograder.grading.claims import without_collisions
from autograder.grading.class_list import said_of_class
from autograder.grading.collect import find
from autograder.grading.dry_run import DryStore, changes, told
from autograder.grading.files import write
from autograder.grading.judging import (
    Run,
    exercises_of,
    judge_all,
    judges_failures,
    summarise,
    with_lessons,
    without_gpu,
)
from autograder.grading.lms import latest
from autograder.grading.names import FEW, clean, few
from autograder.grading.opened import require_gradebook
from autograder.grading.roster import Roster, class_roster
from autograder.grading.seeds import UsageError, chosen_folder, chosen_seed, guessable
from autograder.grading.store import Store, is_graded
from autograder.grading.submissions import Submission
from autograder.judge import overlay, private
from autograder.judge.judge import CHECK, Graded, seed_id
from autograder.judge.pool import Judges, Limits, Pool
from autograder.judge.sentences import HELD, JUDGED_AGAIN, UNREADABLE, WITHOUT_CELL
from autograder.lessons.catalogue import named_stem
from course.plain.text import counted

if TYPE_CHECKING:
    from autograder.grading.cluster import Cluster

DEFAULT_OUT = Path("grades")
#: Below the folder of the grades: what zips held.
UNPACKED = "handed_in"
#: What was said of a run that showed no names.
NOTES = "notes.txt"
DONE, NOT_ALL, CANNOT = 0, 1, 2
INTERRUPTED = 130
#: A job's end, a terminal's.
_STOPS = signal.SIGTERM, signal.SIGHUP
#: Megabytes that a judge needs before it reads a notebook; the most of any amount.
_LEAST_MB, _MOST = 128, 10**9
#: Options of which another command for the same class needs the same.
_OF_A_CLASS = ("gradebook", "seed", "unit", "roster", "groups")


def add_from(parser: argparse.ArgumentParser) -> None:
    """The argument of commands that read what this one wrote: `grades`."""
    parser.add_argument(
        "--from",
        dest="grades",
        type=Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"the folder that `grade --out` wrote, default: {DEFAULT_OUT}",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="what was handed in")
    parser.add_argument(
        "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help=f"default: {DEFAULT_OUT}"
    )
    parser.add_argument(
        "--ledger",
        metavar="URL",
        help="postgresql://USER@HOST/NAME, the first time: keep the verdicts there, and not in DIR",
    )
    parser.add_argument(
        "--gradebook",
        metavar="URL",
        help="do there as `nbgrader autograde` does: sqlite:///gradebook.db",
    )
    parser.add_argument(
        "--seed",
        metavar="DIR|FILE|value:TEXT",
        help="a folder that `init` made (its settings hold too), a file with a seed, or value: and "
        "the seed itself; without it the folder that `init` makes by default, or else the first "
        "run makes DIR/.seed",
    )
    private.add_unit(parser)
    parser.add_argument(
        "--jobs",
        type=_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="notebooks to judge at once, default: one a core",
    )
    parser.add_argument("--lesson", metavar="NAME", help="what all the notebooks are: 01_threads")
    parser.add_argument(
        "--student", metavar="NAME", help="whose the notebooks are, whatever names say"
    )
    parser.add_argument(
        "--roster",
        type=Path,
        metavar="FILE",
        help="a CSV with a column `student`: work under another name is held, and who handed in "
        "nothing is named; default: your settings.toml's",
    )
    parser.add_argument(
        "--groups",
        action="store_true",
        help="with a roster that has a column `group`: what has a group's name is each member's",
    )
    parser.add_argument("--regrade", action="store_true", help="judge again what is done already")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="with --regrade: keep nothing, and list who would gain and who would lose",
    )
    parser.add_argument(
        "--time-limit",
        type=partial(_amount, 0.01),
        default=Limits.seconds,
        metavar="SECONDS",
        help="for one exercise, default: 60",
    )
    parser.add_argument(
        "--memory-limit",
        type=partial(_amount, _LEAST_MB),
        default=Limits.memory_bytes / 2**20,
        metavar="MB",
        help="for one notebook, default: 2048",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="grade although this machine can put no wall around the files (see `doctor`): you "
        "trust them as you trust your own",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="judge on the workers of a Dask scheduler: tls://HOST:8786 (see `cluster --help`)",
    )
    where.add_argument(
        "--slurm",
        type=Path,
        metavar="FILE",
        help="judge in jobs of Slurm, with the settings in this file (see docs/instructors.md)",
    )
    parser.add_argument(
        "--tls", type=Path, metavar="DIR", help="what `cluster certificates DIR` has made"
    )
    parser.add_argument(
        "--anonymous",
        action="store_true",
        help="show pseudonyms, and write to DIR/notes.txt what has to name students",
    )
    parser.set_defaults(check=CHECK)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 1024, got {text!r}")
    return int(text)


def _amount(least: float, text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not least <= amount < _MOST:
        expected = f"a number from {least:g} to {_MOST:,}"
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}")
    return amount


def main(args: argparse.Namespace) -> int:
    """Grades, and returns 0 (done), 1 (not everything could be), 2 (nothing could) or 130."""
    from autograder.grading.progress import Progress
    from autograder.grading.table import plain, show

    run = Run()
    if args.tls and not (args.scheduler or args.slurm):
        raise UsageError("--tls DIR goes with --scheduler ADDRESS or --slurm FILE: give one, too.")
    if args.gradebook:
        # before an hour's judging, not after it
        require_gradebook(args.gradebook, writes=not args.dry_run)
    if not any(map(os.path.lexists, args.paths)):
        raise UsageError(
            f"{few(list(map(str, args.paths)))} does not exist. Check the path, then grade again."
        )
    overlay.use(chosen_folder(args.seed), args.unit or "")
    roster = class_roster(args.roster)
    stem = None if args.lesson is None else named_stem(args.lesson)
    if args.groups and not any(ids.get("group") for ids in (roster.ids if roster else ())):
        raise UsageError(
            "--groups goes with a --roster FILE that has a column `group`: who is in which one. "
            "Moodle's grading worksheet of a group assignment has it, or write it into your roster."
        )
    asked = Asked(stem, args.student or "", roster, _options(args), args.groups)
    store = _store(args)
    seed = chosen_seed(args.seed, store)
    run.notes += guessable(seed)
    limits = Limits(args.time_limit, int(args.memory_limit * 2**20))
    with store.explained():
        called = pseudonyms(store.out) if args.anonymous else None
    judged, stopped = list[Graded](), False
    before = {one: signal.getsignal(one) for one in _STOPS}
    for one, handler in before.items():
        if handler != signal.SIG_IGN:  # as `nohup` has it
            signal.signal(one, _interrupted)
    try:
        with _judges(args, seed, limits) as pool, Progress() as progress:
            for graded in grade(args.paths, store, pool, run, asked, args.regrade):
                progress.tell(run, without_name(graded, called) if called else graded)
                if args.dry_run:
                    judged.append(replace(graded, panel="", text=""))
    except KeyboardInterrupt:
        stopped = True
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    rows = [] if args.dry_run else summarise(store, seed_id(seed))
    if stopped:
        asked_for = {(one.student, one.notebook) for one in run.submissions}
        there = sum((row.student, row.notebook) in asked_for for row in rows)
        left = f"{there} of {run.expected} verdicts are" if run.expected else "All is"
        print(f"Stopped. {left} kept in {args.out}. The same command goes on from there.")
        return INTERRUPTED
    if not run.done:
        if not (run.problems or run.notes):
            print("There is nothing to grade.", file=sys.stderr)
        say_sentences(run, args.out, args.anonymous)
        return CANNOT
    if isinstance(store, DryStore):
        compared = changes(judged, store)
        if called:
            compared = [replace(c, after=without_name(c.after, called)) for c in compared]
        for line in told(compared, map(called or str, store.students())):
            print(plain(line))
        run.problems += judges_failures(run.failed)
        say_sentences(run, args.out, args.anonymous)
        return NOT_ALL if run.problems else DONE
    own = run.among(rows)
    show([without_name(row, called) for row in own] if called else own)
    run.problems += judges_failures(run.failed)
    run.notes += [*_without_notebook(own), *_without_cells(own), *without_gpu(own)]
    if args.gradebook:
        with store.summarising():
            run.problems += _to_gradebook(args.gradebook, run, own, store, asked.roster)
        everybody = {*store.students(), *(one.student for one in run.submissions)}
        lessons = {row.notebook for row in own}
        run.notes += said_of_class(args.gradebook, lessons, everybody)
    _say(run, args.out, len(rows))
    say_sentences(run, args.out, args.anonymous)
    return NOT_ALL if run.problems else DONE


def _interrupted(*_: object) -> NoReturn:
    """Told to end, a grader does so as with Ctrl-C: jobs and notebooks are let go."""
    raise KeyboardInterrupt


def _judges(args: argparse.Namespace, seed: bytes, limits: Limits) -> Pool | Cluster:
    """Processes here, or workers elsewhere."""
    asked = seed, limits, args.check
    if args.slurm:
        from autograder.grading.slurm import Slurm, read_settings

        settings, logs = read_settings(args.slurm), args.out / "slurm"
        return Slurm(*asked, "", args.tls, trust=args.trust, settings=settings, logs=logs)
    if args.scheduler:
        from autograder.grading.cluster import Cluster

        return Cluster(*asked, args.scheduler, args.tls, trust=args.trust)
    return Pool(seed, args.jobs, limits, args.check, trust=args.trust)


def _store(args: argparse.Namespace) -> Store:
    """The folder that the command names; without --dry-run it is made."""
    if not args.dry_run:
        return Store(args.out, args.ledger)
    if not args.regrade:
        raise UsageError("--dry-run says what --regrade would change: give both.")
    if not is_graded(args.out):
        raise UsageError(
            f"There is no ledger in {args.out}, and so no verdict to compare with. --out names the "
            "folder of the grades."
        )
    return DryStore(args.out)


@dataclass(frozen=True)
class Asked:
    """What a command says of the files: their lesson, their student, who is in the class.

    `options` are those by which another command grades into the same class, for a sentence.
    """

    stem: str | None = None
    student: str = ""
    roster: Roster | None = None
    options: str = ""
    of_groups: bool = False


def grade(
    paths: Iterable[Path],
    store: Store,
    pool: Judges,
    run: Run,
    asked: Asked | None = None,
    regrade: bool = False,
) -> Iterator[Graded]:
    """Judges what stands below `paths`, keeps each verdict at once, and gives it."""
    asked = asked or Asked()
    submissions = collected(paths, store.out, run, asked, lambda k: with_lessons(k, pool))
    submissions = _without_older(submissions, store, run)
    run.problems += _held(submissions, asked.options)
    unnamed: dict[str, list[str]] = {one.student: [] for one in submissions}
    for one in submissions:
        unnamed[one.student] += [] if exercises_of(one) else [one.notebook]
    for name, notebooks in unnamed.items():
        store.forget_unnamed(name, but=notebooks)
    yield from judge_all(submissions, store, pool, run, regrade)


def _without_older(submissions: Sequence[Submission], store: Store, run: Run) -> list[Submission]:
    """Without what was handed in again since, where that is graded: a download from before it."""
    kept, older = list[Submission](), list[Submission]()
    for one in submissions:
        (older if store.has_later(one) else kept).append(one)
    if older:
        named = few([f"{one.student} ({one.notebook})" for one in older])
        run.notes.append(
            f"Graded already as handed in later than this: {named}. Those verdicts stay. Where the "
            "earlier notebook is to count, `grade` that file with --student NAME."
        )
    return kept


def collected(
    paths: Iterable[Path],
    out: Path,
    run: Run,
    asked: Asked,
    with_lessons: Callable[[Iterable[Submission]], Iterable[Submission]],
) -> list[Submission]:
    """What counts of what stands below `paths`: one submission a student and lesson.

    Args:
        out: the folder of the grades, below which zips are unpacked.
        with_lessons: reads from its cells which lesson a notebook is of.
    """
    student = clean(asked.student) if asked.student else ""
    found = find(paths, asked.stem, student, out / UNPACKED)
    run.problems += found.problems
    known = found.submissions
    if asked.roster is not None:
        known, unknown = asked.roster.sorted_out(known, asked.of_groups)
        said = asked.roster.said(known, unknown, asked.of_groups)
        (run.problems if unknown else run.notes).extend(said[:1])
        run.notes += said[1:]
    current, said = latest(with_lessons(known))
    run.notes += said
    return without_collisions(current)


def _options(args: argparse.Namespace) -> str:
    """The --out of a command, and which others go with it; not their values: one may be secret."""
    others = [f"--{name}" for name in _OF_A_CLASS if getattr(args, name)]
    same = f", with the same {', '.join(others)}" if others else ""
    return f"--out {shlex.quote(str(args.out))}{same}"


def _held(submissions: Sequence[Submission], options: str) -> Iterator[str]:
    """What a person has to settle, and how: what a zip does not hold whole, what several claim."""
    faults = [one.fault for one in submissions if one.fault and one.fault.message_id in HELD]
    torn = [fault.sentence for fault in faults if "archive" in fault.fields]
    if torn:
        yield (
            f"Held, for a zip does not give them as they were: {few(torn)} Nothing of "
            "these is graded, and a grade from before stays. Download the zip again, and grade "
            "that; where it is the same, ask the students for the notebooks."
        )
    for one in submissions:
        if one.rivals and one.fault is not None:
            first, *others = (shlex.quote(str(path)) for path in one.rivals[:FEW])
            lesson = f" --lesson {one.notebook}" if one.stem else ""
            apart = " Two students of one name are told apart by a --roster with the LMS's numbers."
            yield (
                f"Held: {one.fault.sentence} Look at them, and grade the one that is theirs: "
                f"python -m autograder grade {first} --student {shlex.quote(one.student)}{lesson} "
                f"{options} (or {', '.join(others)} in its place).{apart if one.account else ''}"
            )


def _without_notebook(rows: Iterable[Graded]) -> list[str]:
    """A sentence on who handed in something else than a notebook that can be read."""
    whose = {
        row.student: row.message
        for row in rows
        if row.message_id in UNREADABLE - JUDGED_AGAIN - HELD
    }
    if not whose:
        return []
    named = few([f"{student} ({message})" for student, message in whose.items()])
    return [f"Handed in what cannot be read as a notebook, and so without points: {named}"]


def _without_cells(rows: Iterable[Graded]) -> list[str]:
    """A sentence on notebooks with no cell of their lesson: work that nobody looked at."""
    by_notebook: dict[tuple[str, str], list[Graded]] = {}
    for row in rows:
        by_notebook.setdefault((row.student, row.notebook), []).append(row)
    named = [
        f"{own[0].student} ({own[0].message})"
        for own in by_notebook.values()
        if all(row.message_id in WITHOUT_CELL for row in own)
    ]
    if not named:
        return []
    return [
        "Handed in with no cell of the lesson's exercises, and so without points; an editor may "
        f"have lost what names the cells, so look into them: {few(named)}"
    ]


def _to_gradebook(
    url: str, run: Run, own: Iterable[Graded], store: Store, roster: Roster | None
) -> list[str]:
    from autograder.grading.gradebook import write_scores

    named = ((row.student, row.notebook, row.exercise) for row in own if row.message_id not in HELD)
    rows = [kept for whose in named if (kept := store.last(*whose)) is not None]
    students = roster.students if roster else ()
    return write_scores(url, rows, run.submissions, run.fresh, students)


def _say(run: Run, out: Path, total: int) -> None:
    counts = f"{run.judged} judged" + (f", {run.known} known from before" if run.known else "")
    print(f"{run.done} verdicts ({counts}). {out} holds {total}:")
    print(f"  {out / 'report.html'}   the class, with every verdict: open it in a browser")
    print(f"  {out / 'verdicts.csv'}  a row a verdict; verdicts.json and verdicts.jsonl as well")


def say_sentences(run: Run, out: Path, anonymous: bool) -> None:
    """Problems and notes; without names they go to a file, for they say whom they are about."""
    from autograder.grading.table import plain

    said = [plain(sentence) for sentence in (*run.problems, *run.notes)]
    if anonymous and said:
        notes = out / NOTES
        try:
            write(notes, (f"{one}\n".encode("utf-8", "backslashreplace") for one in said))
            said = [f"{counted(len(said), 'sentence')} that may name students: {notes}."]
        except OSError as error:
            said = [f"Cannot write {notes}: {error.strerror}."]
    for sentence in said:
        print(sentence, file=sys.stderr)
