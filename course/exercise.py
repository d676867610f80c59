"""What an exercise is: its task, its cases, its reference, its budget, its hints.

A spec is one declaration in `course/exercises/`. Shapes, launches and budgets are formulas
(`course.formula`): the text a learner reads is the number that is enforced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from course.formula import Number, evaluate
from course.traffic import sectors_of, sectors_of_rows

if TYPE_CHECKING:
    from course.verdict import Verdict

Draw = Callable[[np.random.Generator, tuple[int, ...], np.dtype[Any]], np.ndarray]

#: Full credit up to this many times the budget formula, which is the worst honest design.
BUDGET_SLACK = 1.1
#: A right answer earns this share; the rest is for its cost.
RIGHT_SHARE = 0.6
#: (times the budget, share of the points) for a right answer with too much traffic.
TRAFFIC_BANDS = ((1.0, 1.0), (1.25, 0.85), (2.0, 0.7))


class Role(Enum):
    """What a kernel may do with an array, and what it holds before the launch."""

    IN = "in"  # drawn; must stay untouched
    OUT = "out"  # poisoned: NaN, or a sentinel for integers
    INOUT = "inout"  # drawn; the kernel changes it
    ACCUMULATE = "accumulate"  # filled with `start`; the kernel adds to it


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Standard normal values, all different; whole numbers for an integer dtype."""
    if dtype.kind in "iu":
        return integers(0, 1000)(rng, shape, dtype)
    return rng.standard_normal(shape).astype(dtype)


def uniform(low: float, high: float) -> Draw:
    """Values between `low` and `high`."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return rng.uniform(low, high, shape).astype(dtype)

    return draw


def integers(low: int, high: int) -> Draw:
    """Whole numbers from `low` to `high` - 1."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return rng.integers(low, high, shape).astype(dtype)

    return draw


def permutation(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """The whole numbers from 0 up, each once, in random order."""
    return rng.permutation(int(np.prod(shape))).reshape(shape).astype(dtype)


@dataclass(frozen=True)
class Array:
    """An array parameter. `shape` is a formula an axis: ``Array("a", "M, N")``.

    `pitch` (a formula) makes rows that many elements apart, so that the array that the kernel
    gets is a view with gaps. `draw` says how inputs are drawn; `start` fills an accumulator.
    """

    name: str
    shape: str
    role: Role = Role.IN
    dtype: str = "float32"
    draw: Draw = normal
    start: float = 0.0
    pitch: str = ""

    @property
    def axes(self) -> tuple[str, ...]:
        """The formula of each axis; a comma inside a call separates arguments, not axes."""
        tree = ast.parse(self.shape, mode="eval").body
        parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        return tuple(ast.unparse(part) for part in parts)


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter: a formula in the case's sizes, passed with `dtype`."""

    name: str
    value: str
    dtype: str = "int64"


@dataclass(frozen=True)
class Case:
    """One set of sizes. `traffic` says that the cost is graded on it (rows of 128 bytes)."""

    sizes: Mapping[str, int]
    traffic: bool = False
    dtypes: Mapping[str, str] = field(default_factory=dict)
    draws: Mapping[str, Draw] = field(default_factory=dict)

    @property
    def label(self) -> str:
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        dtypes = ", ".join(f"{name} {dtype}" for name, dtype in self.dtypes.items())
        return "; ".join(part for part in (sizes, dtypes) if part)


def case(
    traffic: bool = False,
    dtypes: Mapping[str, str] | None = None,
    draws: Mapping[str, Draw] | None = None,
    **sizes: int,
) -> Case:
    """A case by its sizes: ``case(N=1000)``, ``case(True, M=64, N=128)``."""
    return Case(sizes, traffic, dtypes or {}, draws or {})


@dataclass(frozen=True)
class Launch:
    """How the check launches the kernel: formulas in sizes and constants, x first."""

    grid: str | tuple[str, ...]
    block: str | tuple[str, ...]
    shared_bytes: str = "0"

    def values(self, names: Mapping[str, Number]) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """(grid, block, dynamic shared bytes) as numbers."""

        def numbers(formulas: str | tuple[str, ...]) -> tuple[int, ...]:
            axes = (formulas,) if isinstance(formulas, str) else formulas
            return tuple(int(evaluate(axis, names)) for axis in axes)

        return numbers(self.grid), numbers(self.block), int(evaluate(self.shared_bytes, names))

    def __str__(self) -> str:
        def words(axes: str | tuple[str, ...]) -> str:
            return axes if isinstance(axes, str) else f"({', '.join(axes)})"

        shared = "" if self.shared_bytes == "0" else f", 0, {self.shared_bytes}"
        return f"[{words(self.grid)}, {words(self.block)}{shared}]"


@dataclass(frozen=True)
class Constant:
    """A constant that the learner may choose in the cell, from `choices`."""

    default: int
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Budget:
    """What an honest kernel asks for, per row: ``{"load a": "sectors(N)"}``, in sectors.

    In a row's formula `sectors(n)` is what n neighbouring elements of that row's array touch,
    and `rows(m, n)` or `rows(m, n, pitch)` what m rows of n elements touch, each by itself.
    The number enforced is 1.1 times each row, and 1.1 times their sum. `least` overrides the
    compulsory footprint, which is otherwise every array once.
    """

    rows: Mapping[str, str]
    least: Mapping[str, str] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Exercise:
    """What both kinds of exercise have. `points` are the check cell's."""

    name: str
    title: str
    task: str
    points: int
    minutes: int
    difficulty: int  # 1 (a line) to 5 (an evening)
    hints: tuple[str, ...]
    core: bool = False
    bonus: bool = False

    def hint(self) -> Any:
        """Shows the next hint; the last one leaves one step to do."""
        from course.statement import next_hint

        return next_hint(self)

    def __repr__(self) -> str:
        from course.statement import statement_text

        return statement_text(self)

    def _repr_html_(self) -> str:
        from course.statement import statement_html

        return statement_html(self)


@dataclass(frozen=True, repr=False)
class KernelExercise(Exercise):
    """A kernel to write.

    `reference` takes the `in`, `inout` and `accumulate` arrays in float64 (whole numbers stay
    int64) and the scalars, by name, and returns the expected arrays by name. `finish`, where
    given, turns the outputs into what is compared (a sum on the host), by the reference's
    names. `magnitude` returns, like `reference`, the size that `rtol` is relative to, where
    that is not the expected value itself (sums that cancel).
    """

    parameters: tuple[Array | Scalar, ...] = ()
    reference: Callable[..., dict[str, Any]] = dict
    cases: tuple[Case, ...] = ()
    launch: Launch = Launch("1", "1")
    budget: Budget | None = None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # dtype: rtol, atol
    magnitude: Callable[..., dict[str, Any]] | None = None
    finish: Callable[[Mapping[str, np.ndarray]], dict[str, Any]] | None = None
    #: how `finish` reads in words, shown to the learner
    finish_words: str = ""
    #: formulas for the most that is allowed, each None where it is not graded
    divergent_branches: str | None = None
    bank_conflicts: str | None = None
    longest_warp: str | None = None
    #: shared memory of a block, static and dynamic
    shared_bytes: str | None = None

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(p for p in self.parameters if isinstance(p, Array))

    def check(self, kernel: object = None) -> Verdict:
        """Runs the visible cases and says what came of them. Never raises for a mistake."""
        from course.check import check_function

        return check_function(self, kernel)

    def show(self, kernel: object = None) -> Verdict:
        """Checks too, and shows the kernel's every line with the traffic it makes."""
        from course.check import check_function

        return check_function(self, kernel, detailed=True)

    def names(self, case: Case, constants: Mapping[str, int] | None = None) -> dict[str, Number]:
        """Every name that a formula of this exercise may use, with its value in `case`."""
        defaults = {name: constant.default for name, constant in self.constants.items()}
        return {**defaults, **(constants or {}), **case.sizes}

    def dtype(self, parameter: Array | Scalar, case: Case) -> np.dtype[Any]:
        return np.dtype(case.dtypes.get(parameter.name, parameter.dtype))

    def shape(self, array: Array, names: Mapping[str, Number]) -> tuple[int, ...]:
        return tuple(int(evaluate(axis, names)) for axis in array.axes)

    def budget_sectors(
        self, case: Case, constants: Mapping[str, int] | None = None
    ) -> dict[tuple[str, str], float]:
        """(array, direction): sectors allowed, slack included."""
        assert self.budget is not None
        names = self.names(case, constants)
        return {
            key: BUDGET_SLACK * value
            for key, value in self._rows(self.budget.rows, names, case).items()
        }

    def least_sectors(
        self, case: Case, constants: Mapping[str, int] | None = None
    ) -> dict[tuple[str, str], int]:
        """(array, direction): the compulsory footprint in sectors."""
        names = self.names(case, constants)
        least: dict[tuple[str, str], int] = {}
        for array in self.arrays:
            elements = int(np.prod(self.shape(array, names)))
            sectors = sectors_of(elements, self.dtype(array, case).itemsize)
            if array.role in (Role.IN, Role.INOUT):
                least[array.name, "load"] = sectors
            if array.role is not Role.IN:
                direction = "atomic" if array.role is Role.ACCUMULATE else "store"
                least[array.name, direction] = sectors
        if self.budget is not None:
            least.update({k: int(v) for k, v in self._rows(self.budget.least, names, case).items()})
        return least

    def _rows(
        self, rows: Mapping[str, str], names: Mapping[str, Number], case: Case
    ) -> dict[tuple[str, str], Number]:
        sizes = {a.name: self.dtype(a, case).itemsize for a in self.arrays}
        values: dict[tuple[str, str], Number] = {}
        for row, formula in rows.items():
            direction, array = row.split()
            itemsize = sizes[array]

            def sectors(count: Number, size: int = itemsize) -> int:
                return sectors_of(int(count), size)

            def of_rows(m: Number, n: Number, pitch: Number | None = None, size: int = itemsize):  # type: ignore[no-untyped-def]  # a formula's function
                return sectors_of_rows(int(m), int(n), size, None if pitch is None else int(pitch))

            values[array, direction] = evaluate(
                formula, names, {"sectors": sectors, "rows": of_rows}
            )
        return values


@dataclass(frozen=True)
class Question:
    """One entry of a numeric exercise: a formula for the answer, and known slips."""

    text: str
    answer: str
    unit: str = ""
    rtol: float = 0.0
    #: formula of a wrong answer that a learner is known to give: what to say to it
    slips: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class NumberExercise(Exercise):
    """Numbers to work out: the cell assigns one dict, named like the exercise."""

    questions: Mapping[str, Question] = field(default_factory=dict)
    #: drawn for the hidden case too: names that the answers' formulas use
    given: Mapping[str, Number] = field(default_factory=dict)

    def check(self, answers: object = None) -> Verdict:
        """Compares every entry and names the wrong ones."""
        from course.answers import check_numbers

        return check_numbers(self, answers)


def drawn(
    exercise: KernelExercise,
    case: Case,
    rng: np.random.Generator,
    constants: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The kernel's arguments by parameter name, in order: fresh inputs, poisoned outputs."""
    names = exercise.names(case, constants)
    arguments: dict[str, Any] = {}
    for parameter in exercise.parameters:
        dtype = exercise.dtype(parameter, case)
        if isinstance(parameter, Scalar):
            arguments[parameter.name] = dtype.type(evaluate(parameter.value, names))
            continue
        shape = exercise.shape(parameter, names)
        if parameter.role is Role.OUT:
            values = np.full(shape, poison(dtype), dtype)
        elif parameter.role is Role.ACCUMULATE:
            values = np.full(shape, parameter.start, dtype)
        else:
            draw = case.draws.get(parameter.name, parameter.draw)
            values = draw(rng, shape, dtype)
        arguments[parameter.name] = _pitched(parameter, values, names)
    return arguments


def _pitched(array: Array, values: np.ndarray, names: Mapping[str, Number]) -> np.ndarray:
    if not array.pitch:
        return values
    pitch = int(evaluate(array.pitch, names))
    holder = np.full((*values.shape[:-1], pitch), poison(values.dtype), values.dtype)
    view = holder[..., : values.shape[-1]]
    view[...] = values
    return view


#: NaNs that no arithmetic makes: the payload tells an element that was never written.
_POISON_BITS = {"float16": 0x7E15, "float32": 0x7FC0_0D1E, "float64": 0x7FF8_0D1E_0D1E_0D1E}


def poison(dtype: np.dtype[Any]) -> Any:
    """What an output holds before it is written: NaN, or a sentinel for whole numbers."""
    if dtype.kind == "f":
        bits = np.array(_POISON_BITS[dtype.name], f"uint{8 * dtype.itemsize}")
        return bits.view(dtype)[()]
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).max - 41)
    return dtype.type(False)


def poisoned(values: np.ndarray) -> np.ndarray:
    """Element by element: still what `poison` left there. Never so for a bool."""
    if values.dtype.kind == "f":
        bits = np.ascontiguousarray(values).view(f"uint{8 * values.dtype.itemsize}")
        return (bits == _POISON_BITS[values.dtype.name]).reshape(values.shape)
    if values.dtype.kind in "iu":
        return values == poison(values.dtype)
    return np.zeros(values.shape, bool)


def kernel_exercises(exercises: Sequence[Exercise]) -> list[KernelExercise]:
    """Those of `exercises` that ask for a kernel."""
    return [e for e in exercises if isinstance(e, KernelExercise)]
