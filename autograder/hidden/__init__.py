"""Held-out cases: ranges that stand in `STEM.py` beside this file, drawn from the owner's seed.

A lesson's file declares, for each exercise, which shapes, dtypes and distributions the grader
may try. It holds no case: the cases come from the ranges and the owner's seed together, so
that publishing the ranges tells nobody what will be graded.

    HIDDEN = {
        "vector_add": (
            Draws(N=between(1, 64)),
            Draws(N=between(1000, 5000)),
            Draws(traffic=True, N=multiples(128, 2048, 8192)),
        ),
    }
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from course import exercises
from course.spec.draws import Draw
from course.spec.exercise import Case, Exercise, KernelExercise, NumberExercise
from course.spec.formula import evaluate
from course.spec.inputs import drawn
from course.spec.rows import Row, rows_of, seen_by_learner

T = TypeVar("T")
#: What the arrays of a case may take: a launch has 2 GB for them, for copies, and for itself.
MOST_BYTES = 128 << 20

#: The owner's secret: text, bytes or a whole number. Equal text and number are different seeds.
Seed = str | bytes | int


class HiddenCasesError(ValueError):
    """A hidden file that cannot be used. The text says which one, and what it should hold."""


@dataclass(frozen=True)
class Choice(Generic[T]):
    """One of `values`, each as likely as the others."""

    values: Sequence[T]

    def draw(self, rng: np.random.Generator) -> T:
        return self.values[int(rng.integers(len(self.values)))]


def between(low: int, high: int) -> Choice[int]:
    """A whole number from `low` to `high`, both included."""
    if low > high:
        raise HiddenCasesError(f"between({low}, {high}): the first number is the smaller one.")
    return Choice(range(low, high + 1))


def multiples(of: int, low: int, high: int) -> Choice[int]:
    """A multiple of `of` from `low` to `high`, both included."""
    if of < 1:
        raise HiddenCasesError(f"multiples({of}, {low}, {high}): expected a step of 1 or more.")
    first, last = -(-low // of) * of, high // of * of
    if first > last:
        raise HiddenCasesError(
            f"multiples({of}, {low}, {high}): no multiple of {of} lies from {low} to {high}."
        )
    return Choice(range(first, last + 1, of))


def leaving(rest: int, of: int, low: int, high: int) -> Choice[int]:
    """A number from `low` to `high` that leaves `rest` when it is divided by `of`.

    What a last block of one element, or of one too few, shows is in every draw of such a range.
    """
    if of < 1 or not 0 <= rest < of:
        raise HiddenCasesError(f"leaving({rest}, {of}): expected a rest from 0 to {of - 1}.")
    first = low + (rest - low) % of
    last = high - (high - rest) % of
    if first > last:
        raise HiddenCasesError(
            f"leaving({rest}, {of}, {low}, {high}): no such number lies from {low} to {high}."
        )
    return Choice(range(first, last + 1, of))


def choice(*values: T) -> Choice[T]:
    """One of `values`."""
    if not values:
        raise HiddenCasesError("choice(): expected at least one value.")
    return Choice(values)


class Draws:
    """A range of cases: each size a number, `between`, `multiples` or `choice`.

    Args:
        traffic: whether it is one whose table is shown (whole sectors, see
        `course.spec.exercise.Case`).
        dtypes: dtypes by parameter name, each a dtype's name or a `choice` of names.
        draws: how inputs are drawn, by parameter name: `uniform(0, 1)`, say.
        transposed: arrays (M, N) that are stored column after column.
        scalars: what scalar parameters are, by name, each a number or a `choice` of numbers.
        rows: the table that a `NumberExercise` has here, in the place of its own.
        sizes: the names that the exercise's shapes use.
    """

    def __init__(
        self,
        traffic: bool = False,
        dtypes: Mapping[str, str | Choice[str]] | None = None,
        draws: Mapping[str, Draw] | None = None,
        transposed: tuple[str, ...] = (),
        scalars: Mapping[str, float | Choice[float]] | None = None,
        rows: tuple[Row, ...] = (),
        **sizes: int | Choice[int],
    ) -> None:
        if not sizes:
            raise HiddenCasesError("Draws(): expected at least one size, such as N=between(1, 64).")
        for name, size in sizes.items():
            if not isinstance(size, int | Choice) or isinstance(size, bool):
                raise HiddenCasesError(
                    f"Draws({name}={size!r}): expected a whole number, between(...), "
                    "multiples(...) or choice(...)."
                )
        self.traffic = traffic
        self.dtypes = dict(dtypes or {})
        self.draws = dict(draws or {})
        self.transposed = transposed
        self.scalars = dict(scalars or {})
        self.rows = rows
        self.sizes = sizes

    def case(self, rng: np.random.Generator) -> Case:
        """One case from these ranges."""
        return self._case(rng, lambda size: size.draw(rng))

    def extremes(self) -> tuple[Case, Case]:
        """The cases with the smallest and with the largest sizes."""
        rng = np.random.default_rng(0)
        return (
            self._case(rng, lambda size: min(_ends(size.values))),
            self._case(rng, lambda size: max(_ends(size.values))),
        )

    def _case(self, rng: np.random.Generator, pick: Callable[[Choice[int]], int]) -> Case:
        sizes = {
            name: size if isinstance(size, int) else int(pick(size))
            for name, size in self.sizes.items()
        }
        dtypes = {
            name: dtype if isinstance(dtype, str) else dtype.draw(rng)
            for name, dtype in self.dtypes.items()
        }
        scalars = {
            name: float(value.draw(rng) if isinstance(value, Choice) else value)
            for name, value in self.scalars.items()
        }
        return Case(
            sizes,
            self.traffic,
            dtypes,
            self.draws,
            self.transposed,
            scalars,
            self.rows,
        )


def derived(seed: Seed, *parts: str | int) -> int:
    """A number of 256 bits from the owner's seed and `parts`; nothing leads back to the seed."""
    digest = hashlib.sha256()
    for part in (seed, *parts):
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(f"{type(part).__name__}:{len(data)}:".encode() + data)
    return int.from_bytes(digest.digest(), "big")


def _ends(sizes: Sequence[int]) -> Sequence[int]:
    """Sizes with the smallest and the largest among them: a range ascends, and may be long."""
    return (sizes[0], sizes[-1]) if isinstance(sizes, range) else sizes


def hidden_ranges(stem: str) -> Mapping[str, tuple[Draws, ...]]:
    """What a lesson's hidden file declares, by exercise; empty where there is no such file.

    Raises:
        HiddenCasesError: where the file cannot be imported, does not hold `HIDDEN`, or names an
            unknown exercise.
    """
    where = _where(stem)
    if not where:
        return {}
    try:
        module = importlib.import_module(f"{__name__}.{stem}")
    except (Exception, SystemExit) as error:  # whatever a file of ranges raises
        raise HiddenCasesError(f"{where}: {_said(error)}") from error
    ranges = getattr(module, "HIDDEN", None)
    if not isinstance(ranges, Mapping):
        raise HiddenCasesError(
            f"{where}: expected HIDDEN, a dict of exercise names to tuples of Draws(...)."
        )
    known = exercises.lesson(stem)  # all of them: a class may count fewer
    for name, draws in ranges.items():
        if name not in known:
            raise HiddenCasesError(
                f"{where}: {name!r} is no exercise of this lesson, which has {sorted(known)}."
            )
        if not isinstance(draws, tuple) or not all(isinstance(d, Draws) for d in draws):
            raise HiddenCasesError(f"{where}: HIDDEN[{name!r}] should be a tuple of Draws(...).")
    return ranges


def _where(stem: str) -> str:
    """The hidden file of a lesson: the course's, or a private folder's; '' where there is none."""
    spec = importlib.util.find_spec(f"{__name__}.{stem}")
    if spec is None:
        return ""
    ours = Path(__file__).with_name(f"{stem}.py")
    file = Path(spec.origin or ours)
    return f"autograder/hidden/{stem}.py" if file == ours else str(file)


def _said(error: BaseException) -> str:
    return str(error) if isinstance(error, HiddenCasesError) else f"{type(error).__name__}: {error}"


def try_ranges(stem: str) -> None:
    """Draws a case of each range of a lesson, with its inputs, and holds it to its exercise.

    So are the smallest and the largest case that the range may give.

    Raises:
        HiddenCasesError: for the first range that cannot be drawn or does not fit.
    """
    own = exercises.lesson(stem)
    for name, ranges in hidden_ranges(stem).items():
        exercise = own[name]
        for number, draws in enumerate(ranges, 1):
            try:
                rng = np.random.default_rng(0)
                case = draws.case(rng)
                for one in (case, *draws.extremes()):
                    _fit(exercise, one)
                if isinstance(exercise, KernelExercise):
                    drawn(exercise, case, rng)
            except Exception as error:  # whatever a range or a formula raises
                raise HiddenCasesError(
                    f"{_where(stem)}: HIDDEN[{name!r}], range {number}: {_said(error)}"
                ) from error


def _fit(exercise: Exercise, case: Case) -> None:
    """Raises where an exercise's formulas, arrays and dtypes have no use for a case."""
    if isinstance(exercise, NumberExercise):
        for row in rows_of(exercise, case):
            seen_by_learner(exercise, row)
            for question in exercise.questions.values():
                evaluate(question.answer, row)
    if not isinstance(exercise, KernelExercise):
        return
    known = [parameter.name for parameter in exercise.parameters]
    for name in (*case.dtypes, *case.draws, *case.transposed, *case.scalars):
        if name not in known:
            raise HiddenCasesError(f"{exercise.name} has no parameter {name!r}, only {known}.")
    names = exercise.names(case)
    total = 0
    for array in exercise.arrays:
        shape = exercise.shape(array, names)
        if min(shape) < 1:
            raise HiddenCasesError(f"with {case.label}, {array.name} has the shape {shape}.")
        total += math.prod(shape) * exercise.dtype(array, case).itemsize
    if total > MOST_BYTES:
        raise HiddenCasesError(
            f"with {case.label} the arrays take {total:,} bytes, and the most is {MOST_BYTES:,}."
        )
    exercise.least_sectors(case)
    if exercise.budget is not None:
        exercise.budget_sectors(case)


def hidden_cases(exercise_name: str, seed: Seed) -> tuple[Case, ...]:
    """The held-out cases of an exercise for this seed, in the order of its ranges.

    The same seed gives the same cases; a range's case depends on the seed, the exercise's name
    and the range's position, and on nothing else.

    Raises:
        HiddenCasesError: for an unknown exercise or a hidden file that cannot be used.
    """
    stem = next((s for s in exercises.stems() if exercise_name in exercises.lesson(s)), None)
    if stem is None:
        raise HiddenCasesError(
            f"No lesson has an exercise named {exercise_name!r}. They stand in course/exercises/."
        )
    return _drawn_of(tuple(hidden_ranges(stem).get(exercise_name, ())), exercise_name, seed)


def seed_of_inputs(exercise_name: str, seed: Seed) -> int:
    """What the inputs of its held-out cases are drawn from."""
    return derived(seed, exercise_name, "inputs")


@lru_cache(1 << 9)
def _drawn_of(ranges: tuple[Draws, ...], exercise_name: str, seed: Seed) -> tuple[Case, ...]:
    return tuple(
        draws.case(np.random.default_rng(derived(seed, exercise_name, position)))
        for position, draws in enumerate(ranges)
    )
