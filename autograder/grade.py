"""`python -m autograder grade PATH...`: verdicts for a notebook, a folder, or a whole class.

PATH is a notebook, a folder of notebooks, or a folder that nbgrader collected. Whose a notebook
is: below a folder `submitted`, the next folder's name; in a sub-folder of PATH, that folder's;
otherwise what the file's name says beside the lesson's (`vega_01_threads.ipynb`). No notebook
is executed: the solution cells are taken out by their grade ids, and judged on the visible
cases and on cases drawn from the seed. The same command again goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder import overlay, private
from autograder.judge import CHECK, Graded, seed_id, verdict_key
from autograder.lessons import lesson_exercises, lesson_name, stem_of_notebook
from autograder.overlay import OverlayError
from autograder.pool import JudgeError, Limits, Pool, Task, not_judged
from autograder.private import PrivateError
from autograder.sentences import JUDGED_AGAIN, Fault
from autograder.store import Store, StoreError, as_csv, as_json, as_json_lines, order
from autograder.submissions import Submission, find, read_bytes, without_collisions

DEFAULT_OUT = Path("grades")
DONE, NOT_ALL, CANNOT = 0, 1, 2
INTERRUPTED = 130
#: Verdicts that a sentence names.
_NAMED = 5
#: What stands before a seed that is given as it is: a misspelt file is no seed.
SEED_ITSELF = "value:"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.description = __doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="what was handed in")
    parser.add_argument(
        "--out", type=Path, default=DEFAULT_OUT, metavar="DIR", help=f"default: {DEFAULT_OUT}"
    )
    parser.add_argument(
        "--gradebook", metavar="URL", help="write the scores there too: sqlite:///gradebook.db"
    )
    parser.add_argument(
        "--seed",
        metavar="DIR|FILE|value:TEXT",
        help="a folder that `init` made (its settings hold too), a file with a seed, or value: and "
        "the seed itself; without it the folder that `init` makes by default, or else the first "
        "run makes DIR/.seed",
    )
    parser.add_argument(
        "--unit",
        choices=tuple(overlay.UNITS),
        help="what counts: course (all), two-week (the core); default: your settings.toml, or all",
    )
    parser.add_argument(
        "--jobs",
        type=_count,
        default=os.cpu_count() or 1,
        metavar="N",
        help="notebooks to judge at once, default: one a core",
    )
    parser.add_argument("--lesson", metavar="NAME", help="what all the notebooks are: 01_threads")
    parser.add_argument("--regrade", action="store_true", help="judge again what is done already")
    parser.add_argument(
        "--time-limit",
        type=_amount,
        default=Limits.seconds,
        metavar="SECONDS",
        help="for one exercise, default: 60",
    )
    parser.add_argument(
        "--memory-limit",
        type=_amount,
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
    parser.set_defaults(check=CHECK)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to 1024, got {text!r}")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < 1e9:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return amount


@dataclass
class Run:
    """What a run did: its verdicts, new and known, and what it could not do."""

    rows: list[Graded] = field(default_factory=list)
    judged: int = 0
    known: int = 0
    expected: int = 0
    problems: list[str] = field(default_factory=list)


def main(args: argparse.Namespace) -> int:
    """Grades, and returns 0 (done), 1 (not everything could be), 2 (nothing could) or 130."""
    from autograder.table import show

    run = Run()
    try:
        stem = _stem(args.lesson)
        store = Store(args.out)
        seed = chosen_seed(args.seed, store)
        overlay.use(chosen_folder(args.seed), args.unit or "")
        limits = Limits(args.time_limit, int(args.memory_limit * 2**20))
        stopped = False
        try:
            with Pool(seed, args.jobs, limits, args.check, trust=args.trust) as pool:
                for _ in grade(args.paths, store, pool, run, stem, args.regrade):
                    _progress(run)
        except KeyboardInterrupt:
            stopped = True
        finally:
            _progress(None)
        rows = summarise(store, seed_id(seed))
    except (StoreError, JudgeError, UsageError, PrivateError, OverlayError) as error:
        print(error, file=sys.stderr)
        return CANNOT
    if stopped:
        left = f"{len(run.rows)} of {run.expected} verdicts are" if run.expected else "All is"
        print(f"Stopped. {left} kept in {args.out}. The same command goes on from there.")
        return INTERRUPTED
    if not run.rows:
        print("\n".join(run.problems) or "There is nothing to grade.", file=sys.stderr)
        return CANNOT
    show(sorted(run.rows, key=order))
    run.problems += judges_failures(run.rows)
    if args.gradebook:
        run.problems += _to_gradebook(args.gradebook, run.rows)
    _say(run, args.out, len(rows))
    return NOT_ALL if run.problems else DONE


class UsageError(Exception):
    """Arguments that cannot be used, in a sentence."""


def _stem(lesson: str | None) -> str | None:
    if lesson is None:
        return None
    stem = stem_of_notebook(lesson)
    if stem is None:
        from course import exercises

        names = ", ".join(lesson_name(stem) for stem in exercises.stems())
        raise UsageError(f"There is no lesson {lesson!r}. There are: {names}.")
    return stem


def chosen_seed(text: str | None, store: Store) -> bytes:
    """What --seed names; else what these grades began with; else the private folder's; else new.

    Raises:
        UsageError, PrivateError: where a seed is there that cannot be used.
    """
    if text is not None:
        return read_seed(text)
    folder = None if store.has_seed() else private.found(None)
    if folder is not None and (folder / private.SEED_NAME).exists():
        return private.read(folder)
    return store.seed()


def chosen_folder(text: str | None) -> Path | None:
    """The private folder that --seed names, or else the one that `init` makes by default.

    Raises:
        PrivateError: where it cannot be read.
    """
    if text is None:
        return private.found(None)
    if text.startswith(SEED_ITSELF):
        return None
    place = private.expanded(Path(text))
    return place if private.is_folder(place) else None


def read_seed(text: str) -> bytes:
    """The seed of a folder that `init` made, or of a file; after `value:`, the text itself.

    Raises:
        UsageError: where there is no seed, or others may read it.
    """
    if text.startswith(SEED_ITSELF):
        seed = os.fsencode(text.removeprefix(SEED_ITSELF)).strip()
        if not seed:
            raise UsageError(f"The seed {text!r} is empty: no text stands behind the colon.")
        return seed
    try:
        place = private.expanded(Path(text))
        if text and private.mode(place):
            return private.read(place)
    except PrivateError as error:
        raise UsageError(f"The seed {text!r}: {error}") from error
    raise UsageError(
        f"The seed {text!r}: there is no such file or folder. Name the folder that `init` made or "
        f"a file that holds a seed; for the text itself, write {SEED_ITSELF}{text or 'TEXT'}."
    )


def grade(
    paths: Iterable[Path],
    store: Store,
    pool: Pool,
    run: Run,
    stem: str | None = None,
    regrade: bool = False,
) -> Iterator[Graded]:
    """Judges what stands below `paths`, keeps each verdict at once, and gives it."""
    found = find(paths, stem)
    run.problems += found.problems
    submissions = without_collisions(_with_lessons(found.submissions, pool))
    for student in {submission.student for submission in submissions}:
        store.forget_unnamed(student)
    yield from judge_all(submissions, store, pool, run, regrade)


def judge_all(
    submissions: Sequence[Submission], store: Store, pool: Pool, run: Run, regrade: bool = False
) -> Iterator[Graded]:
    """A verdict on every exercise of these submissions, kept in `store` as it comes."""
    run.expected += sum(len(_exercises(submission)) or 1 for submission in submissions)
    ready: list[Graded] = []
    for answer in pool.run(_tasks(submissions, store, pool, regrade, ready)):
        yield from _kept(ready, store, run)
        if answer.graded is not None:
            yield from _kept([answer.graded], store, run, new=True)
    yield from _kept(ready, store, run)


def _kept(ready: list[Graded], store: Store, run: Run, new: bool = False) -> Iterator[Graded]:
    while ready:
        graded = ready.pop(0)
        whose = graded.student, graded.notebook, graded.exercise
        if new or store.known(*whose, graded.key) != graded:
            store.keep(graded)
            run.judged += 1
        else:
            run.known += 1
        run.rows.append(graded)
        yield graded


def _exercises(submission: Submission) -> list[str]:
    if submission.stem is None:
        return []
    return [exercise.name for exercise in lesson_exercises(submission.stem)]


def _with_lessons(submissions: Iterable[Submission], pool: Pool) -> Iterator[Submission]:
    """The submissions, with the lesson of those whose names do not tell, read from their cells."""
    unreadable: list[Submission] = []
    unknown: list[Submission] = []
    for submission in submissions:
        if submission.stem is not None or submission.fault is not None:
            yield submission
        else:
            unknown.append(submission)

    def tasks() -> Iterator[Task]:
        for submission in unknown:
            try:
                yield Task(submission, read_bytes(submission.path), None)
            except Fault as fault:
                unreadable.append(replace(submission, fault=fault))

    for answer in pool.run(tasks()):
        submission = answer.task.submission
        if answer.stem is not None:
            yield replace(submission, stem=answer.stem, notebook=lesson_name(answer.stem))
        else:
            yield replace(submission, fault=answer.fault or Fault("no_graded_cells"))
    yield from unreadable


def _tasks(
    submissions: Iterable[Submission],
    store: Store,
    pool: Pool,
    regrade: bool,
    ready: list[Graded],
) -> Iterator[Task]:
    """What is left to judge; verdicts that need no judging, or are there already, to `ready`."""
    for submission in submissions:
        names = _exercises(submission)
        try:
            if submission.fault is not None:
                raise submission.fault
            if not names:
                raise Fault("no_such_exercises", notebook=submission.notebook)
            data = read_bytes(submission.path)
        except Fault as fault:
            ready += not_judged(submission, names, fault, pool)
            continue
        left = []
        for name in names:
            key = verdict_key(data, name, pool.seed, pool.check)
            known = (
                None if regrade else store.known(submission.student, submission.notebook, name, key)
            )
            if known is None:
                left.append(name)
            else:
                ready.append(known)
        if left:
            yield Task(submission, data, left)


def summarise(store: Store, shown_seed: str) -> list[Graded]:
    """Writes what sums up the whole folder, and gives its verdicts."""
    from autograder.report import report_html

    with store.summarising():
        rows = store.all()
        store.write("verdicts.json", as_json(rows))
        store.write("verdicts.jsonl", as_json_lines(rows))
        store.write("verdicts.csv", as_csv(rows))
        store.write("report.html", report_html(rows, shown_seed))
    return rows


def judges_failures(rows: Iterable[Graded]) -> list[str]:
    """A sentence where the judge or the machine failed on some: their zeros are no grades."""
    from autograder.table import plain

    failed = [row for row in rows if row.message_id in JUDGED_AGAIN]
    if not failed:
        return []
    names = ", ".join(f"{row.student} {row.exercise}" for row in failed[:_NAMED])
    more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    count = "1 answer" if len(failed) == 1 else f"{len(failed)} answers"
    return [
        plain(
            f"The judge failed on {count}: {names}{more}. What it said of the first: "
            f"{failed[0].message} The zeros say nothing about the answers, and the same command "
            "judges them again."
        )
    ]


def _to_gradebook(url: str, rows: Iterable[Graded]) -> list[str]:
    from autograder.gradebook import write_scores

    return write_scores(url, rows)


def _progress(run: Run | None) -> None:
    """One line on a terminal that says how far the run is; nothing in a file."""
    if not sys.stderr.isatty():
        return
    text = "" if run is None else f"{len(run.rows)} of {run.expected} verdicts"
    print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


def _say(run: Run, out: Path, total: int) -> None:
    counts = f"{run.judged} judged" + (f", {run.known} known from before" if run.known else "")
    print(f"{len(run.rows)} verdicts ({counts}). {out} holds {total}:")
    print(f"  {out / 'report.html'}   the class, with every verdict: open it in a browser")
    print(f"  {out / 'verdicts.csv'}  a row a verdict; verdicts.json and verdicts.jsonl as well")
    for problem in run.problems:
        print(problem, file=sys.stderr)
