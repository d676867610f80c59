"""One output of one case beside what was expected of it, and with what it was launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from course.check import compare
from course.plain.sectors import WARP_LANES


@dataclass(frozen=True)
class Compared:
    """One output of one case.

    Attributes:
        number: the case's, from 1, the smallest first.
        sizes: of the case, by name.
        lengths: how far tiles, blocks and grids of this launch reach, by what they are called.
        given: what the reference took: arrays in float64, numbers.
        loaded: whether the kernel read this output.
    """

    number: int
    name: str
    sizes: Mapping[str, int]
    lengths: Mapping[str, int]
    given: Mapping[str, Any]
    got: np.ndarray
    expected: np.ndarray
    magnitude: np.ndarray
    limits: tuple[float, float]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    loaded: bool = False

    @cached_property
    def wrong(self) -> np.ndarray:
        """Element by element."""
        return ~compare.close(self.got, self.expected, self.magnitude, *self.limits)

    def gave(self, values: Any, sizes: Any = None) -> np.ndarray:
        """Element by element: whether the kernel gave these values.

        `sizes` is what the tolerance is relative to, where the values do not say it.
        """
        candidate = np.broadcast_to(np.asarray(values), self.got.shape)
        about = self.magnitude if sizes is None else np.broadcast_to(sizes, self.got.shape)
        size = np.maximum(np.abs(candidate), about)
        return compare.close(self.got, candidate, size, *self.limits)

    def mistake(self) -> compare.Mistake | None:
        """What is wrong with it, by this case alone."""
        return compare.mistake(
            self.name,
            self.got,
            self.expected,
            self.magnitude,
            self.limits,
            self.grid,
            self.block,
            self.loaded,
        )


#: Lengths of a cell that are looked at: no honest one names more.
MOST_LENGTHS = 8
#: A number of a cell from this on may be a tile's length.
SHORTEST, LONGEST = 8, 8192


def lengths_of(
    grid: tuple[int, ...], block: tuple[int, ...], named: Mapping[str, int]
) -> dict[str, int]:
    """How far the tiles, blocks and the grid of a launch reach, by what they are called."""
    found: dict[str, int] = {}
    if len(block) == 1:
        everyone = block[0] * grid[0]
        found |= {"the whole grid": everyone, "one block": block[0]}
        found["two rounds of the grid"] = 2 * everyone
    for axis, threads in zip("xyz", block if len(block) > 1 else (), strict=False):
        found[f"one block along {axis}"] = threads
    if block:
        found["one warp"] = WARP_LANES
    for name, length in list(named.items())[:MOST_LENGTHS]:
        if length <= LONGEST:
            found[name] = length
    return found
