"""`python -m autograder mutate`: whether the graders see a small mistake in a right answer.

From every solution wrong kernels and answers are made (`autograder.proof.mutants`), and each is
judged
as a submission is: on the visible cases, then on hidden ones of several owners' seeds. One that
earns full points under any of them survives. Survivors that do no wrong stand in
autograder/proof/equivalent_mutants.toml with the reason; any other one is a hole in an exercise's
cases, ranges or budget. So is a reason that no survivor needs any more. What came of the whole
course stands in docs/mutation.json, which `make mutate` writes.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.hidden import Seed
from autograder.judge.judge import course_check, judge_cell
from autograder.judge.veil import HELD_OUT
from autograder.lessons.catalogue import lessons
from autograder.proof.mutants import Mutant, mutants_of
from autograder.proof.processes import processes
from autograder.proof.witness import solutions_of
from course.engine.faults import Outcome
from course.engine.runner import Engine
from course.spec.exercise import Case, Exercise, KernelExercise
from course.words.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console

#: Owners' seeds that a mutant meets; it must earn less than full points under each.
SEEDS: tuple[Seed, ...] = ("mutate 1", "mutate 2", "mutate 3")
EQUIVALENT = Path(__file__).parent / "equivalent_mutants.toml"
JOBS = 2
_CHUNK = 6
#: Nobody hands in what does not compile as an answer that might pass: no mutant at all.
_STILLBORN = frozenset({Outcome.REJECTED, Outcome.DOES_NOT_COMPILE, Outcome.NOT_ATTEMPTED})
Key = tuple[str, str, str, int]
FORM = "{:<22}{:>9}{:>9}{:>9}{:>12}{:>11}{:>9}"
HEAD = FORM.format("exercise", "mutants", "visible", "hidden", "equivalent", "survivors", "s")


class ListError(ValueError):
    """A list of equivalent mutants that cannot be used; the text says where and why."""


@dataclass(frozen=True)
class Fate:
    """What came of one mutant."""

    mutant: Mutant
    outcome: Outcome
    survived: bool
    by_hidden: bool
    seconds: float

    @property
    def stillborn(self) -> bool:
        return self.outcome in _STILLBORN


@dataclass
class Tally:
    """One exercise's mutants, and what is wrong."""

    stem: str
    exercise: str
    fates: list[Fate]
    reasons: dict[Key, str] = field(default_factory=dict)

    @property
    def born(self) -> list[Fate]:
        return [fate for fate in self.fates if not fate.stillborn]

    @property
    def equivalent(self) -> list[Fate]:
        return [f for f in self.born if f.survived and f.mutant.key in self.reasons]

    @property
    def survivors(self) -> list[Fate]:
        """Those that no reason explains."""
        return [f for f in self.born if f.survived and f.mutant.key not in self.reasons]

    @property
    def killed(self) -> list[Fate]:
        return [fate for fate in self.born if not fate.survived]

    def plain(self) -> dict[str, int]:
        """How its mutants fared, as JSON can keep it."""
        hidden = sum(fate.by_hidden for fate in self.killed)
        return {
            "mutants": len(self.born),
            "visible": len(self.killed) - hidden,
            "hidden": hidden,
            "equivalent": len(self.equivalent),
            "survivors": len(self.survivors),
        }

    @property
    def failures(self) -> Iterator[str]:
        """A sentence each: survivors, reasons without a survivor, checks that broke."""
        for fate in self.survivors:
            mutant = fate.mutant
            nth = f", occurrence {mutant.occurrence}" if mutant.occurrence > 1 else ""
            yield f"{self.exercise}: this survives ({mutant.rule}, line {mutant.line}{nth}):\n" + (
                mutant.diff
            )
        survived = {fate.mutant.key for fate in self.born if fate.survived}
        for key in self.reasons:
            if key not in survived:
                yield (
                    f"{self.exercise}: {EQUIVALENT.name} lists a mutant that does not survive, or "
                    f"that is not made any more:\n    - {key[1]}\n    + {key[2]}"
                )
        for fate in self.fates:
            if fate.outcome is Outcome.NOT_MEASURED:
                yield f"{self.exercise}: the check itself failed on this:\n{fate.mutant.diff}"


def judged(
    exercise: Exercise, mutants: Iterable[Mutant], seeds: Sequence[Seed] = SEEDS
) -> Iterator[Fate]:
    """Judges each mutant as a submission is, once for each seed until one lets it pass.

    Triton's compiler takes longer than all the rest and refuses few of them: only what passes
    without it is judged again with it.
    """
    for mutant in mutants:
        if isinstance(exercise, KernelExercise) and exercise.dialect == "triton":
            quick = _fate(exercise, mutant, seeds, compiles=False)
            if not quick.survived:
                yield quick
                continue
        yield _fate(exercise, mutant, seeds)


def _fate(exercise: Exercise, mutant: Mutant, seeds: Sequence[Seed], compiles: bool = True) -> Fate:
    visible: list[Verdict] = []  # the same for every seed

    def check(of: Exercise, source: str, cases: Sequence[Case] | None, seed: int) -> Verdict:
        if cases is not None:
            return course_check(of, source, cases, seed, Engine(compiles=compiles))
        if not visible:
            visible.append(course_check(of, source, None, seed, Engine(compiles=compiles)))
        return visible[0]

    started = time.process_time()
    survived = False
    verdicts = []
    for seed in seeds:
        verdicts.append(judge_cell(exercise, mutant.source, seed, check))
        survived = verdicts[-1].outcome is Outcome.PASS and verdicts[-1].credit >= 1.0
        if survived or verdicts[-1].case_label != HELD_OUT:
            break
    by_hidden = visible[0].outcome is Outcome.PASS and not survived
    seconds = time.process_time() - started
    return Fate(mutant, verdicts[-1].outcome, survived, by_hidden, seconds)


def _judge_some(stem: str, name: str, mutants: Sequence[Mutant]) -> list[Fate]:
    """For a process of the pool: specs hold functions and cannot travel."""
    from course import exercises

    return list(judged(exercises.lesson(stem)[name], mutants))


def read_reasons(path: Path = EQUIVALENT) -> dict[Key, str]:
    """The reasons why some mutants may survive, by mutant.

    An entry has `exercise`, the lines that went (`was`), a list of what may stand there instead
    (`becomes`), the `reason`, and where the same edit is possible in several places which of
    them it means (`occurrences`, from 1; the first unless told).

    Raises:
        ListError: for an entry without one of its texts, or one that stands there twice.
    """
    reasons: dict[Key, str] = {}
    if not path.exists():
        return reasons
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    for number, entry in enumerate(entries, 1):
        missing = {"exercise", "was", "becomes", "reason"} - entry.keys()
        if missing or not entry["reason"].strip():
            lacking = ", ".join(sorted(missing)) or "a reason"
            raise ListError(f"{path.name}: entry {number} lacks {lacking}.")
        for becomes in entry["becomes"]:
            for occurrence in entry.get("occurrences", [1]):
                key = (entry["exercise"], entry["was"], becomes, occurrence)
                if key in reasons:
                    raise ListError(f"{path.name}: entry {number} lists {becomes!r} once more.")
                reasons[key] = entry["reason"]
    return reasons


def tallies(
    stems: Sequence[str], only: str | None, jobs: int, tick: Callable[[Tally], None]
) -> list[Tally]:
    """Judges the mutants of every exercise of `stems`, or of one exercise.

    Raises:
        LookupError: for a lesson or an exercise that does not exist.
        SourceError, ListError: where a lesson or the list of reasons cannot be read.
    """
    reasons = read_reasons()
    known = lessons()
    unknown = [stem for stem in stems if stem not in known]
    if unknown:
        raise LookupError(f"There is no lesson {unknown[0]!r}. There are: {', '.join(known)}.")
    names = {exercise.name for exercises in known.values() for exercise in exercises}
    gone = [key[0] for key in reasons if key[0] not in names]
    if gone:
        raise ListError(
            f"{EQUIVALENT.name} lists {gone[0]!r}: there is no such exercise. Give the entry the "
            "exercise's new name, or take it out."
        )
    work: list[tuple[str, Exercise, tuple[Mutant, ...]]] = []
    for stem in stems or known:
        solutions = solutions_of(stem)
        for exercise in known[stem]:
            if only in (None, exercise.name):
                work.append((stem, exercise, mutants_of(exercise, solutions[exercise.name])))
    if not work:
        raise LookupError(f"There is no exercise {only!r} in {', '.join(stems or known)}.")
    with processes(jobs) as pool:
        pending = [
            (
                stem,
                exercise,
                [
                    pool.submit(_judge_some, stem, exercise.name, mutants[start : start + _CHUNK])
                    for start in range(0, len(mutants), _CHUNK)
                ],
            )
            for stem, exercise, mutants in work
        ]
        done = []
        for stem, exercise, futures in pending:
            fates = [fate for future in futures for fate in future.result()]
            own = {key: why for key, why in reasons.items() if key[0] == exercise.name}
            done.append(Tally(stem, exercise.name, fates, own))
            tick(done[-1])
    return done


def line_of(tally: Tally) -> str:
    """A line for an exercise that is done, below `HEAD`."""
    seconds = f"{sum(fate.seconds for fate in tally.fates):.1f}"
    return FORM.format(tally.exercise, *tally.plain().values(), seconds)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what `python -m autograder mutate` understands."""
    parser.add_argument("lessons", nargs="*", metavar="STEM", help="lessons (default all)")
    parser.add_argument("--exercise", metavar="NAME", help="one exercise alone")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"processes (default {JOBS})")
    parser.add_argument("--out", type=Path, metavar="FILE", help="keep the figures in FILE (JSON)")


def main(args: argparse.Namespace) -> int:
    """Judges, prints a table and every failure, and returns 1 if there is one."""
    from rich.console import Console

    from autograder.lessons.percent import SourceError

    console = Console(highlight=False, markup=False, soft_wrap=True)
    started = time.perf_counter()
    try:
        console.print(HEAD, style="bold")
        done = tallies(
            args.lessons, args.exercise, max(1, args.jobs), lambda t: console.print(line_of(t))
        )
    except (LookupError, SourceError, ListError) as error:
        print(error, file=sys.stderr)
        return 1
    print_end(done, console, time.perf_counter() - started)
    if args.out is not None:
        args.out.write_text(json.dumps(record(done), indent=1) + "\n", encoding="utf-8")
    return int(any(True for tally in done for _ in tally.failures))


def record(done: Sequence[Tally]) -> dict[str, Any]:
    """How every exercise's mutants fared, on which day and with which versions."""
    return {
        "command": "make mutate",
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("numpy", "triton")},
        "exercises": {tally.exercise: tally.plain() for tally in done},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def print_end(done: Sequence[Tally], console: Console, seconds: float) -> None:
    """The failures, then what was judged and how it fared."""
    fates = [fate for tally in done for fate in tally.born]
    outcomes = Counter(fate.outcome.value for tally in done for fate in tally.killed)
    stillborn = sum(len(tally.fates) for tally in done) - len(fates)
    equivalent = sum(len(tally.equivalent) for tally in done)
    survivors = sum(len(tally.survivors) for tally in done)
    console.print()
    console.print("Killed: " + ", ".join(f"{o} {n}" for o, n in outcomes.most_common()) + ".")
    console.print(f"Left aside: {stillborn} edits that do not compile.")
    for tally in done:
        for failure in tally.failures:
            console.print(f"✗ {failure}", style="red")
    console.print(
        f"{len(fates)} mutants: {len(fates) - equivalent - survivors} killed, {equivalent} "
        f"equivalent, {survivors} survive. {seconds:.0f} s.",
        style="bold",
    )
