"""One exercise on trial: its spec, its starter, its solution and each of its witnesses.

The starter must be NOT_ATTEMPTED, the solution and every honest variant must pass with full
points, each wrong kernel must get exactly its verdict: on the visible cases, and on hidden
cases alone, of several seeds. The budget must fit the worst honest design.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.hidden import HiddenCasesError, Seed, derived, hidden_cases, hidden_ranges
from autograder.proof.witness import Witness
from course import exercises
from course.check.cases import VISIBLE_SEED
from course.check.cost import DRAM_BYTES, SHARED_LOADS
from course.engine.faults import Outcome
from course.spec.exercise import (
    BUDGET_SLACK,
    SMALL_ROW,
    Case,
    Exercise,
    KernelExercise,
    NumberExercise,
)
from course.spec.launching import Launcher
from course.words.verdict import Verdict

if TYPE_CHECKING:
    from autograder.judge.judge import Check

#: Hidden cases are drawn from these; none is an owner's seed. Wrong kernels meet the first ones.
SEEDS: tuple[Seed, ...] = ("trial 1", "trial 2", "trial 3")
SEEDS_FOR_WRONG = 2
FEWEST_HINTS, MOST_HINTS = 1, 3
FEWEST_WRONG_KERNELS, FEWEST_HONEST_KERNELS = 4, 2
FEWEST_WRONG_ANSWERS = 2
#: The cheapest witness of too much traffic asks for at least this many times the worst honest
#: design, on some row or in total.
WASTE_MARGIN = 1.4
#: A budget formula that is further than this above the worst honest design lets waste pass.
LOOSEST_BUDGET = 1.25
SLOW_CHECK_S = 1.0
SLOW_HIDDEN_S = 3.0
_ROUNDING = 1e-6


NO_SEED = -1


@dataclass(frozen=True)
class Entrant:
    """One cell to be checked, and what must come of it."""

    name: str
    source: str
    outcome: Outcome
    credit: float | None
    where: str
    #: it passes the visible cases, and hidden ones alone give it away
    held_out: bool = False
    #: a sample of the wrong kernels has it: one without is counted, and not tried
    drawn: bool = True
    #: in a sample: the one seed whose hidden cases it meets, counted from 0, or `NO_SEED`
    only_seed: int | None = None

    @property
    def is_honest(self) -> bool:
        return self.outcome is Outcome.PASS


@dataclass
class Trial:
    """What came of one exercise."""

    stem: str
    exercise: str
    wrong_count: int = 0
    honest_count: int = 0
    #: processor seconds of each cell's visible cases, and of one seed's hidden ones (the slowest):
    #: what a check takes on a machine that has nothing else to do
    check_seconds: dict[str, float] = field(default_factory=dict)
    hidden_seconds: dict[str, float] = field(default_factory=dict)
    #: how many times the budget's formula the worst honest design asks for, on its highest row
    honest: float | None = None
    #: how many times the worst honest design the cheapest witness of too much traffic asks for
    waste: float | None = None
    failures: list[str] = field(default_factory=list)
    #: of the wrong kernels: what a sample left out
    left_out: int = 0

    @property
    def wrong_tried(self) -> int:
        """Wrong kernels that were tried."""
        return self.wrong_count - self.left_out

    @property
    def check_s(self) -> float:
        """Seconds of the slowest cell's visible cases."""
        return max(self.check_seconds.values(), default=0.0)

    @property
    def hidden_s(self) -> float:
        """Seconds of the slowest cell's hidden cases of one seed."""
        return max(self.hidden_seconds.values(), default=0.0)

    @property
    def notes(self) -> list[str]:
        """Sentences about slow cells: they fail nothing, since times are a machine's."""
        slow = {
            "the visible cases": (self.check_seconds, SLOW_CHECK_S),
            "the hidden cases": (self.hidden_seconds, SLOW_HIDDEN_S),
        }
        return [
            f"{self.exercise}: {what} took longer than {limit:g} s: {listed}."
            for what, (seconds, limit) in slow.items()
            if (listed := ", ".join(f"{n} {s:.1f} s" for n, s in seconds.items() if s > limit))
        ]


def entrants(
    exercise: str, solution: str, starter: str, witnesses: Iterable[Witness], root: Path
) -> list[Entrant]:
    """The starter, the solution and the witnesses of the exercise named."""
    lesson = "its lesson's source"
    return [
        Entrant("starter", starter, Outcome.NOT_ATTEMPTED, 0.0, lesson),
        Entrant("solution", solution, Outcome.PASS, 1.0, lesson),
        *(
            Entrant(
                witness.name,
                witness.source,
                witness.outcome,
                1.0 if witness.is_honest else witness.credit,
                f"{witness.path.relative_to(root)}:{witness.line}",
                witness.held_out,
            )
            for witness in witnesses
            if witness.exercise == exercise
        ),
    ]


@dataclass(frozen=True)
class Sample:
    """What a check takes of each exercise's witnesses: one in so many, as a text draws them.

    Of the wrong ones the others are not tried; of the honest ones, whose costs a budget must fit,
    the visible cases are. The text also draws the one seed whose hidden cases are met.
    """

    one_in: int = 1
    seed: str = ""

    def marked(self, exercise: str, cells: Sequence[Entrant]) -> list[Entrant]:
        """All of an exercise's cells, starter and solution first: how each is tried."""
        if self.one_in == 1:
            return list(cells)
        draw = random.Random(f"{self.seed} {exercise}")
        only_seed = draw.randrange(SEEDS_FOR_WRONG)
        drawn = set[str]()
        for honest in (False, True):
            names = [cell.name for cell in cells[2:] if cell.is_honest is honest]
            drawn.update(draw.sample(names, math.ceil(len(names) / self.one_in)))
        return [
            *cells[:2],
            *(
                replace(cell, only_seed=only_seed)
                if cell.name in drawn
                else replace(cell, drawn=cell.is_honest, only_seed=NO_SEED)
                for cell in cells[2:]
            ),
        ]


WHOLE = Sample()


def try_exercise(
    stem: str,
    exercise: Exercise,
    cells: Sequence[Entrant],
    check: Check,
    seeds: Sequence[Seed] = SEEDS,
) -> Trial:
    """Checks every cell that is drawn, and the spec itself.

    Args:
        stem: the lesson's.
        exercise: what the cells are to solve.
        cells: starter and solution first, then the witnesses.
        check: `course.check.check.check_source`, or what stands for it.
        seeds: of the hidden cases.
    """
    trial = Trial(
        stem,
        exercise.name,
        wrong_count=sum(not cell.is_honest for cell in cells[2:]),
        honest_count=sum(cell.is_honest for cell in cells[2:]),
        left_out=sum(not cell.drawn for cell in cells),
    )
    trial.failures += [*_of_spec(exercise), *_of_counts(exercise, trial)]
    hidden = _hidden(stem, exercise, seeds, trial)
    costs: dict[str, dict[str, float]] = {}
    for cell in (cell for cell in cells if cell.drawn):
        verdict = _checked(exercise, cell, check, trial)
        if verdict.rows:
            costs[cell.name] = _ratios(verdict)
        at_home = replace(cell, outcome=Outcome.PASS, credit=1.0) if cell.held_out else cell
        wrong = mismatch(exercise, at_home, verdict, "on the visible cases")
        for number, (seed, cases) in enumerate(hidden.items()):
            enough = number >= SEEDS_FOR_WRONG and not cell.is_honest
            if wrong or enough or trial.hidden_seconds.get(cell.name, 0.0) > SLOW_HIDDEN_S:
                break  # one sentence a cell is enough, and so is one slow try
            if cell.only_seed not in (None, number):
                continue
            verdict = _checked(exercise, cell, check, trial, cases, seed)
            wrong = mismatch(exercise, cell, verdict, f"on the hidden cases of {seed!r}")
        trial.failures += wrong
    if isinstance(exercise, KernelExercise) and exercise.budget is not None:
        trial.failures += _margins(exercise, cells, costs, trial)
    return trial


def hidden_inputs(exercise: str, seed: Seed) -> int:
    """What the inputs of hidden cases of `seed` are drawn from, for the exercise named."""
    return derived(seed, exercise, "hidden inputs")


def _checked(
    exercise: Exercise,
    cell: Entrant,
    check: Check,
    trial: Trial,
    cases: Sequence[Case] | None = None,
    seed: Seed = "",
) -> Verdict:
    """The verdict on the visible cases, or on `cases` of `seed`; the time goes into `trial`."""
    inputs = VISIBLE_SEED if cases is None else hidden_inputs(exercise.name, seed)
    started = time.process_time()
    verdict = check(exercise, cell.source, cases, inputs)
    seconds = time.process_time() - started
    times = trial.check_seconds if cases is None else trial.hidden_seconds
    times[cell.name] = max(seconds, times.get(cell.name, 0.0))
    return verdict


def mismatch(exercise: Exercise, cell: Entrant, verdict: Verdict, on: str) -> list[str]:
    """A sentence if the verdict is not the one that the cell must get."""
    subject = f"{exercise.name}: {cell.name} ({cell.where})"
    if verdict.outcome is not cell.outcome:
        said = verdict.internal_error.strip().splitlines()[-1:] or [verdict.message]
        at = f" in line {verdict.line}" if verdict.line is not None else ""
        return [
            f"{subject} should get {cell.outcome.value} {on}, got {verdict.outcome.value}{at}: "
            f"{said[0]}"
        ]
    if cell.credit is not None and abs(verdict.credit - cell.credit) > _ROUNDING:
        return [
            f"{subject} should earn {cell.credit:g} of the points {on}, earned {verdict.credit:g}."
        ]
    return []


def _of_spec(exercise: Exercise) -> Iterator[str]:
    name = exercise.name
    if name in exercises.stems():
        yield f"{name}: a lesson has this name, so `ex.{name}` would mean the lesson's module."
    if not FEWEST_HINTS <= len(exercise.hints) <= MOST_HINTS:
        yield (f"{name}: expected {FEWEST_HINTS} to {MOST_HINTS} hints, got {len(exercise.hints)}.")
    for field_name in ("title", "task"):
        if not getattr(exercise, field_name).strip():
            yield f"{name}: its {field_name} is empty."
    if any(not hint.strip() for hint in exercise.hints):
        yield f"{name}: a hint is empty."
    if exercise.points < 0:
        yield f"{name}: expected 0 points or more, got {exercise.points}."
    if isinstance(exercise, KernelExercise):
        if not exercise.cases:
            yield f"{name}: it has no cases."
        elif exercise.budget is not None and not any(case.traffic for case in exercise.cases):
            yield f"{name}: it has a budget, and no visible case is marked traffic=True."
        if isinstance(exercise.launch, Launcher) and exercise.budget and not exercise.shares:
            yield f"{name}: its cells launch: `shares` says among how many programs, at least."
    elif isinstance(exercise, NumberExercise) and not exercise.questions:
        yield f"{name}: it asks no questions."


def _of_counts(exercise: Exercise, trial: Trial) -> Iterator[str]:
    kernels = isinstance(exercise, KernelExercise)
    wrong = FEWEST_WRONG_KERNELS if kernels else FEWEST_WRONG_ANSWERS
    honest = FEWEST_HONEST_KERNELS if kernels else 0
    where = f"autograder/proof/witnesses/{trial.stem}.cells"
    if trial.wrong_count < wrong:
        yield (
            f"{trial.exercise}: {where} has {trial.wrong_count} of at least {wrong} wrong "
            "witnesses."
        )
    if trial.honest_count < honest:
        yield (
            f"{trial.exercise}: {where} has {trial.honest_count} of at least {honest} honest "
            "variants (-> PASS)."
        )


def _hidden(
    stem: str, exercise: Exercise, seeds: Sequence[Seed], trial: Trial
) -> dict[Seed, tuple[Case, ...]]:
    """The hidden cases of each seed, where the exercise has some."""
    where = f"autograder/hidden/{stem}.py"
    try:
        ranges = hidden_ranges(stem).get(exercise.name, ())
        cases = {seed: hidden_cases(exercise.name, seed) for seed in seeds if ranges}
    except Exception as error:  # whatever a half-written file raises
        said = str(error) if isinstance(error, HiddenCasesError) else f"{where}: {error!r}"
        trial.failures.append(f"{exercise.name}: {said}")
        return {}
    if isinstance(exercise, KernelExercise):
        if not ranges:
            trial.failures.append(f"{exercise.name}: {where} declares no ranges for it.")
        elif exercise.budget is not None and not any(draws.traffic for draws in ranges):
            sentence = f"{where} has no ranges with traffic=True, so cheap waste would pass there."
            trial.failures.append(f"{exercise.name}: {sentence}")
    return cases


def _margins(
    exercise: KernelExercise,
    cells: Sequence[Entrant],
    costs: dict[str, dict[str, float]],
    trial: Trial,
) -> Iterator[str]:
    """Sentences about a budget that is too tight or too loose, or waste that costs too little."""
    name = exercise.name
    worst: dict[str, tuple[float, str]] = {}
    for cell in cells:
        if cell.is_honest:
            for row, ratio in costs.get(cell.name, {}).items():
                worst[row] = max(worst.get(row, (0.0, "")), (ratio, cell.name))
    if not worst:
        return
    graded = {row: found for row, found in worst.items() if found[0] < math.inf}
    trial.honest = max(ratio for ratio, _ in graded.values())
    for row, (ratio, cell_name) in graded.items():
        small = SMALL_ROW if row == "total" else 0.0  # rows that matter in the total alone
        if ratio > 1 + small + _ROUNDING:
            yield (
                f"{name}: the honest {cell_name} asks for {ratio:.3g} times the formula of "
                f"{row!r}. The formula should be the worst listed honest design."
            )
        elif ratio * LOOSEST_BUDGET < 1 - _ROUNDING:
            yield (
                f"{name}: the formula of {row!r} is {_times(1, ratio)} what the worst honest "
                f"design ({cell_name}) asks for, and at most {LOOSEST_BUDGET:g} times is fair."
            )
    for cell in cells:
        if cell.outcome is Outcome.TOO_MUCH_TRAFFIC and cell.name in costs:
            margin, row = max(
                (_over(ratio, worst.get(row, (0.0, ""))[0]), row)
                for row, ratio in costs[cell.name].items()
                if worst.get(row, (0.0, ""))[0] < math.inf
            )
            trial.waste = min(margin, trial.waste or math.inf)
            if margin < WASTE_MARGIN - _ROUNDING:
                yield (
                    f"{name}: {cell.name} ({cell.where}) asks for {margin:.3g} times the worst "
                    f"honest design, on {row!r}. Expected at least {WASTE_MARGIN:g} times."
                )


def _ratios(verdict: Verdict) -> dict[str, float]:
    """Requested bytes over the budget's formula (without the slack), by row.

    Infinite for an array without a formula, a temporary, say: it counts in the total alone, and
    so does a row that is too small to matter, which is left out.
    What DRAM delivers in the cache model and loads from shared memory stand there, too, where they
    are graded.
    """
    ratios = {}
    for row in verdict.rows:
        formula = (row.budget_bytes or 0.0) / BUDGET_SLACK
        if (formula or row.requested_bytes) and not row.small:
            ratios[f"{row.direction} {row.array}".strip()] = _over(row.requested_bytes, formula)
    for extra in verdict.extras:
        if extra.label in (DRAM_BYTES, SHARED_LOADS) and extra.limit is not None:
            ratios[extra.label] = _over(extra.value, extra.limit)
    return ratios


def _over(a: float, b: float) -> float:
    return a / b if b else (math.inf if a else 0.0)


def _times(a: float, b: float) -> str:
    return f"{a / b:.3g} times" if b else "above"
