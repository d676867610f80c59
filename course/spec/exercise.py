"""What an exercise is: its task, its cases, its reference, its budget, its hints.

A spec is one declaration in `course/exercises/`. Shapes, launches and budgets are formulas
(`course.spec.formula`): the text a learner reads is the number that is enforced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from course.plain.sectors import sectors_of
from course.spec.counting import Functions, Laid, asked, counted, once
from course.spec.draws import Described, Draw, normal
from course.spec.formula import Number, evaluate
from course.spec.launching import Launch, Launcher, Programs
from course.spec.once import of_case

#: Full credit up to this many times the budget formula, which is the worst honest design.
BUDGET_SLACK = 1.1
#: A row that asks for no more than this share of the total budget costs nothing by itself: it
#: counts in the total. An atomic a warp beside a thousand loads is no mistake.
SMALL_ROW = 0.05
#: So many sectors above its formula cost nothing, on a row and in total: in a tiny case one
#: number that lies alone would decide.
FEW_SECTORS = 8
#: A right answer earns this share; the rest is for its cost.
RIGHT_SHARE = 0.6
#: (times the budget, share of the points) for a right answer with too much traffic.
TRAFFIC_BANDS = ((1.0, 1.0), (1.25, 0.85), (2.0, 0.7))


#: What a thread may spill where an exercise says nothing else: the honest designs that were tried
#: spill 44 bytes at most, but for `flash_dkdv`, and a tile that does not fit about a kilobyte.
SPILLED_BYTES = "512"


class Role(Enum):
    """What a kernel may do with an array, and what it holds before the launch."""

    IN = "in"  # drawn; must stay untouched
    OUT = "out"  # poisoned: NaN, or a sentinel for integers
    INOUT = "inout"  # drawn; the kernel changes it
    ACCUMULATE = "accumulate"  # filled with `start`; the kernel adds to it


@dataclass(frozen=True)
class Array:
    """An array parameter. `shape` is a formula an axis: ``Array("a", "M, N")``.

    `within` is the shape of a larger array of which this one is the first corner: the kernel gets
    a view with gaps. In ``within="M, N + PAD"`` rows lie N + PAD elements apart.
    `draw` says how inputs are drawn; `start` fills an accumulator. `computed` makes an input of
    others: of the arrays before it, in float64, and the scalars, by name (what a forward pass left
    to a backward one). A `contiguous` output has its elements row after row.
    """

    name: str
    shape: str
    role: Role = Role.IN
    dtype: str = "float32"
    draw: Draw = normal
    start: float = 0.0
    within: str = ""
    computed: Callable[..., np.ndarray] | None = None
    contiguous: bool = False

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The formula of each axis."""
        return _axes(self.shape)

    @cached_property
    def stored_axes(self) -> tuple[str, ...]:
        """The formula of each axis of the array that it is `within`, or else of itself."""
        return _axes(self.within) if self.within else self.axes


def _axes(shape: str) -> tuple[str, ...]:
    """The formula of each axis; a comma inside a call separates arguments, not axes."""
    tree = ast.parse(shape, mode="eval").body
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    return tuple(ast.unparse(part) for part in parts)


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter: a formula in the case's sizes, passed with `dtype`."""

    name: str
    value: str
    dtype: str = "int64"


@dataclass(frozen=True)
class Meta:
    """A `tl.constexpr` parameter of a Triton kernel: a formula in sizes and constants."""

    name: str
    value: str


@dataclass(frozen=True)
class Stride:
    """A scalar parameter that says how far apart neighbours along `axis` of `array` lie.

    In elements, as `array.stride(axis)` of a torch tensor; `array` stands before it.
    """

    name: str
    array: str
    axis: int


Parameter = Array | Scalar | Meta | Stride


@dataclass(frozen=True)
class Case:
    """One set of sizes. Its cost is graded, as its answer is.

    `traffic` marks a case whose table is shown of a right kernel, and for which the compiler's
    figures are asked for and the caches modelled: its rows are whole sectors. The arrays (M, N)
    named in `transposed` are stored column after column. `scalars` holds numbers that this case
    passes in the place of the parameters' own. `rows` stand in the place of the table of a
    `NumberExercise`.
    """

    sizes: Mapping[str, int]
    traffic: bool = False
    dtypes: Mapping[str, str] = field(default_factory=dict)
    draws: Mapping[str, Draw] = field(default_factory=dict)
    transposed: tuple[str, ...] = ()
    scalars: Mapping[str, float] = field(default_factory=dict)
    rows: tuple[Mapping[str, Number], ...] = ()

    @property
    def label(self) -> str:
        """The case among those of its exercise: recorded counts and seeds are found by it."""
        sizes = ", ".join(f"{name}={value}" for name, value in self.sizes.items())
        dtypes = ", ".join(f"{name} {dtype}" for name, dtype in self.dtypes.items())
        columns = " and ".join(self.transposed)
        stored = f"{columns} stored by columns" if columns else ""
        return "; ".join(part for part in (sizes, dtypes, stored) if part)

    @property
    def told(self) -> str:
        """The case as a verdict tells it, with how inputs are drawn where that is special."""
        numbers = {**self.sizes, **self.scalars}
        sizes = ", ".join(f"{name}={value}" for name, value in numbers.items())
        words = {n: draw.words for n, draw in self.draws.items() if isinstance(draw, Described)}
        stored = dict.fromkeys(self.transposed, "stored by columns")
        return "; ".join([sizes, *_shared(self.dtypes), *_shared(stored), *_shared(words, ":")])


def _shared(words: Mapping[str, str], mark: str = "") -> list[str]:
    """``q and k float16``: names that have the same words stand together."""
    found: list[str] = []
    for word in dict.fromkeys(words.values()):
        *first, last = (name for name, one in words.items() if one == word)
        found.append(f"{', '.join(first)} and {last}" if first else last)
        found[-1] += f"{mark} {word}"
    return found


def case(
    traffic: bool = False,
    dtypes: Mapping[str, str] | None = None,
    draws: Mapping[str, Draw] | None = None,
    transposed: tuple[str, ...] = (),
    scalars: Mapping[str, float] | None = None,
    **sizes: int,
) -> Case:
    """A case by its sizes: ``case(N=1000)``, ``case(True, M=64, N=128)``."""
    return Case(sizes, traffic, dtypes or {}, draws or {}, transposed, scalars or {})


def halves(*names: str) -> dict[str, str]:
    """The arrays named, in float16."""
    return dict.fromkeys(names, "float16")


@dataclass(frozen=True)
class Constant:
    """A constant that the learner may choose in the cell, from `choices`."""

    default: int
    choices: tuple[int, ...]


@dataclass(frozen=True)
class Budget:
    """What an honest kernel asks for, per row: ``{"load a": "sectors(N)"}``, in sectors.

    In a row's formula `sectors(n)` is what n neighbouring elements of that row's array touch,
    and `rows(m, n)` or `rows(m, n, pitch)` what m rows of n elements touch, each by itself; in
    Numba a warp of 32 at a time. `tiles(m, n, i, j)` is what m rows of n elements touch in
    tiles of i by j. Sizes that are no whole sectors straddle, and are counted so.
    The number enforced is 1.1 times each row, and 1.1 times their sum; see `SMALL_ROW` and
    `FEW_SECTORS` for rows that do not matter. `least` overrides the compulsory footprint, which
    is otherwise every array once.
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


@dataclass(frozen=True)
class KernelExercise(Exercise):
    """A kernel to write, and a launcher where `launch` asks for one.

    `launch` says the dialect: `Launch` is Numba's, `Programs` and `Launcher` are Triton's. With
    a `Launcher` the cell's function, named like the exercise, takes the `in` arrays and scalars
    in their order and returns the `out` arrays in theirs.

    `reference` takes the `in`, `inout` and `accumulate` arrays in float64 (whole numbers stay
    int64) and the scalars, by name, and returns the expected arrays by name. `finish`, where
    given, turns the outputs into what is compared (a sum on the host), by the reference's
    names. `magnitude` returns, like `reference`, the size that `rtol` is relative to, where
    that is not the expected value itself (sums that cancel).
    """

    parameters: tuple[Parameter, ...] = ()
    reference: Callable[..., dict[str, Any]] = dict
    cases: tuple[Case, ...] = ()
    #: what pictures of a learner's kernel are made on: 4 to 64 elements an array, where that can
    #: be, and small tiles; the smallest case of four elements unless told
    small: Case | None = None
    #: the four elements with which its statement begins; the small case, cut, unless told
    example: Case | None = None
    #: what a GPU is timed on, where a machine has one: it fills an H200, and the reference takes
    #: seconds on a CPU; the largest case unless told
    full: Case | None = None
    #: operations of a case as a formula, where those are what its time is for and not its bytes
    operations: str = ""
    launch: Launch | Programs | Launcher = field(default=Launch("1", "1"))
    budget: Budget | None = None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    tolerance: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # dtype: rtol, atol
    magnitude: Callable[..., dict[str, Any]] | None = None
    finish: Callable[[Mapping[str, np.ndarray]], dict[str, Any]] | None = None
    #: slips that learners are known to make: what to say, and the reference of one who makes it
    slips: Mapping[str, Callable[..., dict[str, Any]]] = field(default_factory=dict)
    #: how `finish` reads in words, shown to the learner
    finish_words: str = ""
    #: formulas for the most that is allowed, each None where it is not graded
    divergent_branches: str | None = None
    bank_conflicts: str | None = None
    shared_loads: str | None = None
    #: shared memory of a block, static and dynamic; of a Triton program, compiled for sm_80
    shared_bytes: str | None = None
    #: registers of a thread, and what does not fit in them, compiled for sm_80 (Triton)
    registers: str | None = None
    spill_bytes: str | None = None
    #: operations of the longest warp, where they are not in its sectors (Numba;
    #: `course.spec.shares`)
    work: str | None = None
    #: how many even shares the longest warp may make: the honest variants make up to 2.6, and more
    #: where one lane or one warp finishes what its block has left in many cells (Numba)
    most_shares: float = 3
    #: among how many programs a launcher has to deal the work, at least (`course.spec.shares`)
    shares: str | None = None
    #: bytes that DRAM delivers in the model of an L2 cache (Triton)
    dram_bytes: str | None = None

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple(p for p in self.parameters if isinstance(p, Array))

    @property
    def dialect(self) -> str:
        """`numba` or `triton`."""
        return "numba" if isinstance(self.launch, Launch) else "triton"

    @property
    def target(self) -> int:
        """The compute capability for which it is compiled, 90 for 9.0; 0: the stated GPU's."""
        return self.launch.target if isinstance(self.launch, Launcher) else 0

    @property
    def gluon(self) -> bool:
        """Whether its kernels have to be Gluon's, which say what TMA copies."""
        return isinstance(self.launch, Launcher) and bool(self.launch.copied)

    @property
    def most_spilled(self) -> str | None:
        """The formula of `spill_bytes`; a cell that launches chooses its tiles, and has one."""
        chosen = SPILLED_BYTES if isinstance(self.launch, Launcher) else None
        return chosen if self.spill_bytes is None else self.spill_bytes

    @property
    def passed(self) -> tuple[Parameter, ...]:
        """What the learner's function takes: with a launcher, all but the outputs."""
        if not isinstance(self.launch, Launcher):
            return self.parameters
        return tuple(p for p in self.parameters if p not in self.returned)

    @property
    def returned(self) -> tuple[Array, ...]:
        """The arrays that a launcher returns."""
        if not isinstance(self.launch, Launcher):
            return ()
        return tuple(array for array in self.arrays if array.role is Role.OUT)

    @of_case
    def names(self, case: Case, constants: Mapping[str, int] | None) -> Mapping[str, Number]:
        """Every name that a formula of this exercise may use, with its value in `case`."""
        defaults = {name: constant.default for name, constant in self.constants.items()}
        names: dict[str, Number] = {**defaults, **(constants or {}), **case.sizes}
        for parameter in self.parameters:
            if isinstance(parameter, Meta):
                names[parameter.name] = int(evaluate(parameter.value, names))
        return names

    def dtype(self, parameter: Array | Scalar, case: Case) -> np.dtype[Any]:
        return np.dtype(case.dtypes.get(parameter.name, parameter.dtype))

    def number(self, scalar: Scalar, case: Case, names: Mapping[str, Number]) -> Any:
        """What a scalar parameter is in `case`, in its dtype."""
        value = case.scalars.get(scalar.name)
        value = evaluate(scalar.value, names) if value is None else value
        return self.dtype(scalar, case).type(value)

    def shape(self, array: Array, names: Mapping[str, Number]) -> tuple[int, ...]:
        return tuple(int(evaluate(axis, names)) for axis in array.axes)

    def stored_shape(self, array: Array, names: Mapping[str, Number]) -> tuple[int, ...]:
        """The shape of the array that it is `within`, or else its own."""
        return tuple(int(evaluate(axis, names)) for axis in array.stored_axes)

    @of_case
    def budget_sectors(
        self, case: Case, constants: Mapping[str, int] | None
    ) -> Mapping[tuple[str, str], float]:
        """(array, direction): sectors allowed, slack included."""
        assert self.budget is not None
        names = self.names(case, constants)
        return {
            key: BUDGET_SLACK * value
            for key, value in self._rows(self.budget.rows, names, case, asked).items()
        }

    @of_case
    def least_sectors(
        self, case: Case, constants: Mapping[str, int] | None
    ) -> Mapping[tuple[str, str], int]:
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
            rows = self._rows(self.budget.least, names, case, once)
            least.update({key: int(value) for key, value in rows.items()})
        return least

    def _rows(
        self,
        rows: Mapping[str, str],
        names: Mapping[str, Number],
        case: Case,
        functions: Callable[[Laid], Functions],
    ) -> dict[tuple[str, str], Number]:
        arrays = {array.name: array for array in self.arrays}
        values: dict[tuple[str, str], Number] = {}
        known = tuple((name, type(value), value) for name, value in names.items())
        for row, formula in rows.items():
            direction, name = row.split()
            itemsize = self.dtype(arrays[name], case).itemsize
            shape = self.shape(arrays[name], names)
            laid = Laid(itemsize, shape, name in case.transposed, self.dialect)
            values[name, direction] = counted(formula, known, laid, functions)
        return values


@dataclass(frozen=True)
class Question:
    """One entry of a numeric exercise: a formula for the answer, and known slips.

    With `ranks` the entry is a formula that orders a case's rows. The row where it is least is
    taken: right is one whose `answer`, a time, say, is at most `within` times the least of all.
    `ranks` tells which row that is, with the row's names and `times`; a slip is a formula, and
    where it holds of the row its words are told instead.
    """

    text: str
    answer: str
    unit: str = ""
    rtol: float = 0.0
    #: formula of a wrong answer that a learner is known to give: what to say to it
    slips: Mapping[str, str] = field(default_factory=dict)
    ranks: str = ""
    within: float = 1.0


@dataclass(frozen=True)
class NumberExercise(Exercise):
    """Numbers to work out: the cell assigns one dict, named like the exercise.

    Where there are `columns`, the entries are formulas in them: the check puts the values of
    each case, and the rows of `table` that agree with it, in the place of what the cell assigns
    to those names (`course.spec.rows`).
    """

    questions: Mapping[str, Question] = field(default_factory=dict)
    #: names that the answers' formulas use
    given: Mapping[str, Number] = field(default_factory=dict)
    #: names that a learner's formulas may use: what each one is
    columns: Mapping[str, str] = field(default_factory=dict)
    #: recorded rows; what is no column, a learner's formula does not see
    table: tuple[Mapping[str, Number], ...] = ()
    cases: tuple[Case, ...] = (Case({}),)
