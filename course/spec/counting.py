"""What a budget's formulas count: the sectors of an array's rows and tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from course.plain.sectors import WARP_LANES, sectors_of, sectors_of_rows, sectors_of_runs
from course.spec.formula import Number, evaluate

Functions = Mapping[str, Callable[..., Number]]


@dataclass(frozen=True)
class Laid:
    """What counting an array's sectors depends on, beside the formula's names."""

    itemsize: int
    shape: tuple[int, ...]
    transposed: bool
    dialect: str


@lru_cache(1 << 12)
def counted(
    formula: str,
    names: tuple[tuple[str, type, Number], ...],
    laid: Laid,
    functions: Callable[[Laid], Functions],
) -> Number:
    """A check asks for a budget of the same sizes three times."""
    return evaluate(formula, {name: value for name, _, value in names}, functions(laid))


def once(laid: Laid) -> Functions:
    """What a formula may count sectors of an array with: each touched once."""
    size = laid.itemsize
    return {
        "sectors": lambda n: sectors_of(int(n), size),
        "rows": lambda m, n, pitch=None: sectors_of_rows(
            int(m), int(n), size, None if pitch is None else int(pitch)
        ),
    }


def asked(laid: Laid) -> Functions:
    """The same as warps and tiles ask for them: what straddles counts in both."""
    size = laid.itemsize

    def runs(m: Number, n: Number, pitch: Number | None = None) -> int:
        step = None if pitch is None else int(pitch)
        return sectors_of_runs(int(m), int(n), size, WARP_LANES, step)

    def tiles(m: Number, n: Number, i: Number, j: Number) -> int:
        height, *_, width = laid.shape
        if laid.transposed:
            return sectors_of_runs(int(n), int(m), size, int(i), height)
        return sectors_of_runs(int(m), int(n), size, int(j), width)

    if laid.dialect == "triton":
        return {**once(laid), "tiles": tiles}
    return {"sectors": lambda n: runs(1, n), "rows": runs, "tiles": tiles}
