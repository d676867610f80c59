"""A few blocks of a launch for all of them: what a launch of full size asks, without running it.

Inside `sampled()` a launch runs only blocks that lie spread over its grid, each for itself, with
its sizes as they are: a loop that a size makes long is as long here as on a GPU. Counts grow with
the grid; results are those of the few, and no race, and no read of what others write, is looked
for. Blocks whose work differs (under a causal mask) are met in every part of the grid.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course.engine.traffic import Pair, Touched, Traffic, footprint_of, together

#: Blocks that stand for a launch, and the statements after which no other one begins.
BLOCKS, STATEMENTS = 16, 6000
#: A point of the unit cube for each number, none near another (Kronecker's sequence).
_STEPS = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)
#: Accesses, each with the sectors that it touched.
Sites = Sequence[tuple[Pair, Touched]]


@dataclass
class Launched:
    """One launch of which some blocks ran.

    Attributes:
        grid, ran: blocks along x, y and z, and how many of them ran.
        warps: of a block.
        distinct: sectors x 32 that a block touches, of all that ran together, by array.
        by_site: the same, where what two lines touch counts for each of them.
        union: the same of what any block touches.
        array_bytes: of each array that was passed.
        detail: what the dialect's engine tells of instructions.
    """

    name: str
    grid: tuple[int, int, int]
    warps: int
    ran: int = 0
    distinct: dict[Pair, int] = field(default_factory=dict)
    by_site: dict[Pair, int] = field(default_factory=dict)
    union: dict[Pair, int] = field(default_factory=dict)
    array_bytes: dict[str, int] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    detail: dict[str, Any] = field(default_factory=dict)
    _marks: dict[Pair, Touched] = field(default_factory=dict, repr=False)
    _statements: list[int] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """Statements of the block that has most, over the average."""
        most = max(self._statements, default=0)
        return most * self.ran / sum(self._statements) if most else 1.0

    @property
    def blocks(self) -> int:
        """Of the whole grid."""
        return math.prod(self.grid)

    def wanted(self) -> Iterator[int]:
        """The numbers of the blocks that are to run, one after the other, until they are enough."""
        for block in chosen(self.grid):
            if sum(self._statements) < STATEMENTS:
                yield block

    def saw(self, sites: Sites, statements: int) -> None:
        """A block has run and has touched these sectors: their marks are taken away."""
        for pair, touched in together(sites).items():
            self.distinct[pair] = self.distinct.get(pair, 0) + footprint_of(touched)
            copies = {address: marks.copy() for address, marks in touched.items()}
            self._marks = together([*self._marks.items(), (pair, copies)])
        for pair, touched in sites:
            self.by_site[pair] = self.by_site.get(pair, 0) + footprint_of(touched)
            for marks in touched.values():
                marks[:] = False
        self.ran += 1
        self._statements.append(statements)

    def end(self, traffic: Traffic, arrays: Mapping[str, int]) -> None:
        """The blocks have run."""
        self.traffic, self.array_bytes = traffic, dict(arrays)
        self.union = {pair: footprint_of(touched) for pair, touched in self._marks.items()}
        self._marks = traffic.touched = {}


@dataclass
class Sampling:
    """The launches made inside `sampled()`."""

    launches: list[Launched] = field(default_factory=list)

    def begin(self, name: str, grid: tuple[int, int, int], warps: int) -> Launched:
        """A launch begins."""
        made = Launched(name, grid, warps)
        self.launches.append(made)
        return made


_current: Sampling | None = None


def current() -> Sampling | None:
    """What launches are to tell of their few blocks; None: all blocks run."""
    return _current


@contextlib.contextmanager
def sampled() -> Iterator[Sampling]:
    """Inside, launches run a few blocks."""
    global _current
    before, _current = _current, Sampling()
    try:
        yield _current
    finally:
        _current = before


def chosen(grid: tuple[int, int, int]) -> list[int]:
    """Numbers of blocks that lie spread over a grid, each once; x runs fastest."""
    x, y, z = grid
    if x * y * z <= BLOCKS:
        return list(range(x * y * z))
    points = (0.5 + np.outer(np.arange(BLOCKS), _STEPS)) % 1
    at = (points * grid).astype(np.int64)
    return list(dict.fromkeys((at[:, 0] + x * (at[:, 1] + y * at[:, 2])).tolist()))


class Unwatched:
    """In the place of an array's history: what other blocks would do to it is not known."""

    def __getattr__(self, name: str) -> Any:
        return self._nothing

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Neither kept nor compared."""
