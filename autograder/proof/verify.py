"""`python -m autograder check`: holds every lesson to what it promises.

Each exercise against its starter, its solution and its witnesses, on the visible cases and on
hidden ones; its budget against the honest designs; each notebook run to its end, unfilled and
solved; generated files against their sources. A failure is a sentence that says where to look.

With `--sample N` of each exercise's wrong kernels one in N is tried, and as many honest ones on
hidden cases. Every witness is read all the same: an edit that no longer fits its base is a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import Refused
from autograder.lessons.notebook_run import NotebookRun, run_notebook
from autograder.lessons.percent import SourceError
from autograder.lessons.release import settings
from autograder.lessons.source import Lesson
from autograder.proof.exploit import read_exploits
from autograder.proof.processes import processes
from autograder.proof.trial import (
    SEEDS,
    WHOLE,
    Entrant,
    Sample,
    Trial,
    entrants,
    hidden_inputs,
    try_exercise,
)
from autograder.proof.witness import Witness, witness_file, witnesses_of
from course.engine.faults import Outcome

if TYPE_CHECKING:
    from rich.console import Console

    from autograder.lessons.build import Built
    from course.spec.exercise import Case, Exercise
    from course.words.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]

#: What `python -m autograder new` leaves where something is still to be written.
GAP = "TO WRITE"


@dataclass
class Findings:
    """What a check found: in files, on exercises, in notebooks."""

    files: list[str] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    runs: list[NotebookRun] = field(default_factory=list)

    @property
    def failures(self) -> list[str]:
        """Every failure, a sentence each."""
        parts: list[Trial | NotebookRun] = [*self.trials, *self.runs]
        return [*self.files, *(sentence for part in parts for sentence in part.failures)]

    @property
    def notes(self) -> list[str]:
        """What is worth a look and depends on the machine: it fails nothing."""
        parts: list[Trial | NotebookRun] = [*self.trials, *self.runs]
        return [sentence for part in parts for sentence in part.notes]

    def plain(self) -> dict[str, Any]:
        """What was tried and what failed, as JSON can keep it."""
        return {
            "exercises": [
                {"name": t.exercise, "wrong": t.wrong_tried, "honest": t.honest_count}
                for t in self.trials
            ],
            "notebooks": [{"name": run.name, "version": run.version} for run in self.runs],
            "failures": self.failures,
        }


def gaps(root: Path, lesson: Lesson) -> Iterator[str]:
    """Sentences about what a scaffold left to be written in a lesson's files."""
    for path in (
        root / "course" / "exercises" / f"{lesson.stem}.py",
        lesson.path,
        witness_file(lesson.stem, root),
        root / "autograder" / "hidden" / f"{lesson.stem}.py",
    ):
        if path.exists():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if GAP in line:
                    what = line.partition(GAP)[2].strip(" :\"',.)")
                    yield f"{path.relative_to(root)}:{number}: still to be written: {what}."


def unreadable(root: Path) -> Iterator[str]:
    """Sentences about exploits that cannot be read, such as edits of lines that went."""
    folder = root / "autograder" / "proof" / "exploits"
    for place in (folder, folder / "triton"):
        try:
            read_exploits(place, root)
        except (ValueError, SourceError) as error:
            yield from str(error).split("\n")


def strangers(root: Path, lesson: Lesson, witnesses: Sequence[Witness]) -> Iterator[str]:
    """Sentences about witnesses of exercises that the lesson does not have."""
    names = [exercise.name for exercise in lesson.exercises]
    for witness in witnesses:
        if witness.exercise not in names:
            yield (
                f"{witness.path.relative_to(root)}:{witness.line}: the witness {witness.name!r} is "
                f"for {witness.exercise!r}, and the lesson has: {', '.join(names)}."
            )


#: Verdicts that the compiler has a part in.
OF_THE_COMPILER = (Outcome.DOES_NOT_COMPILE, Outcome.TOO_MANY_RESOURCES, Outcome.TIMED_OUT)
#: The solution's hidden cases of this seed go through all of the compiler.
COMPILED_SEED = SEEDS[0]


def _try(stem: str, name: str, cells: Sequence[Entrant]) -> Trial:
    """One exercise's trial, in a process of the pool: specs hold functions and cannot travel."""
    from autograder.judge.judge import course_check
    from course import exercises
    from course.check import advice
    from course.engine.runner import Engine
    from course.engine.triton.compiling import workplace

    advice.FAILS_ALOUD = True

    def check(exercise: Exercise, source: str, cases: Sequence[Case] | None, seed: int) -> Verdict:
        """All of the compiler sees the visible cases of honest cells, and of the solution one
        seed's hidden ones; and whatever has a verdict of its own. Else it goes as far as the
        layouts of blocks.
        """
        if source in needing_compiler:
            return course_check(exercise, source, cases, seed)
        # what is known to compile in time does so quicker here than in a child with limits
        with workplace.in_place():
            if (source in honest and cases is None) or (source, seed) == compiled:
                return course_check(exercise, source, cases, seed)
            return course_check(exercise, source, cases, seed, Engine(compiles=False))

    needing_compiler = {cell.source for cell in cells if cell.outcome in OF_THE_COMPILER}
    honest = {cell.source for cell in cells if cell.is_honest}
    solution = next(cell.source for cell in cells if cell.name == "solution")
    compiled = solution, hidden_inputs(name, COMPILED_SEED)
    return try_exercise(stem, exercises.lesson(stem)[name], cells, check)


def verify(
    root: Path,
    stems: Sequence[str] = (),
    notebooks: bool = True,
    workers: int | None = None,
    watch: Callable[[Sequence[Future[Any]]], None] = lambda _: None,
    sample: Sample = WHOLE,
) -> Findings:
    """Checks every lesson, or those of `stems`; `watch` waits for what is under way.

    Each witness is read, and its edits made; those of the `sample` are tried.

    Raises:
        Refused: where the notebooks cannot be built.
    """
    from autograder.lessons.build import make, read_lessons, stale

    lessons = read_lessons(root, stems)
    with tempfile.TemporaryDirectory(prefix="check-") as scratch:
        built = make(lessons, settings(root), Path(scratch))
    findings = Findings(files=[*stale(root, built), *unreadable(root)])
    witnesses: dict[str, tuple[Witness, ...]] = {}
    for lesson in lessons:
        findings.files += gaps(root, lesson)
        try:
            witnesses[lesson.stem] = witnesses_of(lesson.stem, root)
        except SourceError as error:
            findings.files += [str(problem) for problem in error.problems]
            continue
        findings.files += strangers(root, lesson, witnesses[lesson.stem])
    with processes(workers) as pool:
        tried = _trials(pool, root, lessons, witnesses, sample)
        played = play(pool, root, built) if notebooks else []
        watch([*played, *tried])
        for run in played:
            with _told(findings):
                findings.runs.append(run.result())
        for trial in tried:
            with _told(findings):
                findings.trials.append(trial.result())
    return findings


@contextlib.contextmanager
def _told(findings: Findings) -> Iterator[None]:
    """Turns an error of the check itself into a failure, and lets the rest be checked."""
    try:
        yield
    except Exception as error:
        where = "".join(traceback.format_exception(error)).strip()
        findings.files.append(f"the check itself failed. {where}")


# Both begin with the last lesson: later ones take longer, and a trial takes longer than a notebook.
# So what is left for the end is short, and no core waits for another one.


def _trials(
    pool: Executor,
    root: Path,
    lessons: Iterable[Lesson],
    witnesses: Mapping[str, Sequence[Witness]],
    sample: Sample = WHOLE,
) -> list[Future[Trial]]:
    jobs = []
    for lesson in lessons:
        for name in (exercise.name for exercise in lesson.exercises):
            own = witnesses.get(lesson.stem, ())
            cells = entrants(name, lesson.solutions[name], lesson.starters[name], own, root)
            jobs.append((lesson.stem, name, sample.marked(name, cells)))
    return [pool.submit(_try, *job) for job in reversed(jobs)][::-1]


def play(pool: Executor, root: Path, built: Iterable[Built]) -> list[Future[NotebookRun]]:
    """Runs each lesson's notebook, unfilled and solved, the first one first in the list."""
    jobs = [
        (
            item.lesson.name,
            version,
            content,
            [exercise.name for exercise in item.lesson.exercises],
            expected,
            root,
        )
        for item in built
        for version, content, expected in (
            ("student", item.student, Outcome.NOT_ATTEMPTED),
            ("solution", item.source, Outcome.PASS),
        )
    ]
    return [pool.submit(run_notebook, *job) for job in reversed(jobs)][::-1]


def watch(console: Console, futures: Sequence[Future[Any]]) -> None:
    """Waits for all of them; a line on the terminal says how far the check has come."""
    with console.status("") as status:
        for done, _ in enumerate(as_completed(futures), 1):
            status.update(f"{done} of {len(futures)} exercises and notebooks")


def print_findings(findings: Findings, console: Console) -> None:
    """A table of the exercises, one of the notebooks, then notes and failures."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("exercise")
    for heading in ("wrong", "honest", "check s", "hidden s", "of formula", "waste"):
        table.add_column(heading, justify="right")
    table.add_column()
    for trial in findings.trials:
        table.add_row(
            trial.exercise,
            f"{trial.wrong_tried} of {trial.wrong_count}"
            if trial.left_out
            else str(trial.wrong_count),
            str(trial.honest_count),
            f"{trial.check_s:.2f}",
            f"{trial.hidden_s:.2f}" if trial.hidden_s else "-",
            _ratio(trial.honest),
            _ratio(trial.waste),
            _state(trial.failures),
        )
    if findings.trials:
        console.print(table)
        console.print(
            "check s, hidden s: processor seconds of the slowest cell, on the visible cases and on "
            "one seed's hidden ones. All of the compiler was given every honest cell's visible "
            f"cases, and of the solution also the hidden ones of {COMPILED_SEED!r}.\n"
            "of formula: the worst honest design's traffic over the budget's formula.\n"
            "waste: the cheapest witness of too much traffic over the worst honest design.\n",
            style="dim",
        )
    if findings.runs:
        runs = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("notebook", "version", "seconds", "slowest check s", ""):
            runs.add_column(heading, justify="right" if "s" in heading[-1:] else "left")
        for run in findings.runs:
            slowest = max(run.checks_s.values(), default=0.0)
            state = _state(run.failures)
            runs.add_row(run.name, run.version, f"{run.seconds:.1f}", f"{slowest:.2f}", state)
        console.print(runs)
        console.print()
    for sentence in findings.notes:
        console.print(f"slow or odd: {sentence}", style="yellow", markup=False)
    for sentence in findings.failures:
        console.print(f"✗ {sentence}", style="red", markup=False, soft_wrap=True)


def _ratio(value: float | None) -> str:
    if value is None:
        return "-"
    return "∞" if math.isinf(value) else f"{value:.2f}"


def _state(failures: Sequence[str]) -> str:
    if not failures:
        return "✓"
    return f"✗ {len(failures)} failure{'s' if len(failures) > 1 else ''}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what `python -m autograder check` understands."""
    parser.add_argument("lessons", nargs="*", metavar="STEM", help="lessons to check (default all)")
    parser.add_argument(
        "--no-notebooks", action="store_true", help="leave out running the notebooks"
    )
    parser.add_argument(
        "--sample",
        type=_count,
        default=WHOLE.one_in,
        metavar="N",
        help="of each exercise's wrong kernels, and honest ones on hidden cases, try one in N "
        "(default all of them)",
    )
    parser.add_argument(
        "--sample-seed", default=WHOLE.seed, metavar="TEXT", help="which ones: any text"
    )
    parser.add_argument("--workers", type=int, help="processes (default: one a core)")
    parser.add_argument("--out", type=Path, help="a file for what was found, as JSON")
    parser.add_argument(
        "--root", type=Path, default=ROOT, help="the repository (default: this one)"
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def main(args: argparse.Namespace) -> int:
    """Checks, prints what was found, and returns 1 if anything failed."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    sample = Sample(args.sample, args.sample_seed)
    if sample.one_in > 1:
        console.print(
            f"check: of each exercise's wrong kernels, and honest ones on hidden cases, one in "
            f"{sample.one_in}, "
            f"--sample-seed '{sample.seed}'; `make check-all` tries all",
            markup=False,
            soft_wrap=True,
        )
    started = time.perf_counter()
    try:
        findings = verify(
            args.root.resolve(),
            args.lessons,
            notebooks=not args.no_notebooks,
            workers=args.workers,
            watch=partial(watch, console),
            sample=sample,
        )
    except Refused as error:
        print(error, file=sys.stderr)
        print("Nothing was checked: the notebooks cannot be built from this.", file=sys.stderr)
        return 1
    print_findings(findings, console)
    if args.out is not None:
        try:
            args.out.write_text(json.dumps(findings.plain(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            said = f"What was found cannot be written to {args.out}: {error.strerror}."
            raise Refused(said) from error
    failures = len(findings.failures)
    took = f"{time.perf_counter() - started:.0f} s"
    if failures:
        console.print(f"\n{failures} failure{'s' if failures > 1 else ''}, {took}.", style="bold")
        return 1
    console.print(
        f"✓ {len(findings.trials)} exercises and {len(findings.runs)} notebook runs, {took}."
    )
    return 0
