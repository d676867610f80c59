"""Parts of arrays: rows, columns, slices and `A.T`, in any memory, as accesses of the whole array.

A view keeps the array and where in it each of its axes lies. Every access goes to the array, with
the array's own index: bounds, races, what was never written and traffic are the array's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.engine.simt.running.bounds import Access, Extent, Index, check_bounds, written_index
from course.engine.simt.running.lanes import Lanes


@dataclass(frozen=True)
class Span:
    """One axis of a view: `count` indices of the array's axis, from `start` on, `step` apart."""

    start: Extent
    count: Extent
    step: Extent
    #: all of the array's axis
    whole: bool = False


class Sliceable:
    """An array or a part of one: parts of it can be taken."""

    shape: tuple[Any, ...]

    def part(self, parts: tuple[np.ndarray | Span, ...]) -> View:
        """What `parts` leave, an index or a span for each of the first axes: ``A[i, 2:5]``."""
        rest = self.shape[len(parts) :]
        return View(self, (*parts, *(Span(0, extent, 1, whole=True) for extent in rest)))


class Packed(Sliceable):
    """An array without gaps, its last axis together."""

    @property
    def strides(self) -> tuple[Any, ...]:
        """Elements from one index to the next, along each axis."""
        return tuple(math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def cell(self, index: Index) -> Any:
        """The number of an element, row after row."""
        cell: Any = 0
        for numbers, extent in zip(index, self.shape, strict=True):
            cell = numbers if isinstance(cell, int) else cell * extent + numbers
        return cell

    def index_of(self, cell: int) -> str:
        """The index of an element by its number, as the kernel would write it."""
        return written_index(tuple(map(int, np.unravel_index(cell, self.shape))))


class View(Sliceable):
    """A part of an array, or of another view."""

    def __init__(self, array: Any, parts: tuple[np.ndarray | Span, ...]) -> None:
        self.array = array
        self.parts = parts
        self.name: str = array.name
        spans = [part for part in parts if isinstance(part, Span)]
        self.shape = tuple(part.count for part in spans)
        self._whole = all(part.whole for part in spans)

    @property
    def strides(self) -> tuple[Any, ...]:
        pairs = zip(self.parts, self.array.strides, strict=True)
        return tuple(stride * part.step for part, stride in pairs if isinstance(part, Span))

    def _inside(self, lanes: Lanes, access: Access) -> Access:
        """The array's own access; what lies outside of a span is out of bounds, as of an axis."""
        if not self._whole:  # else the array's own check says the same
            check_bounds(lanes, self.name, self.shape, access)
        return self._of_array(access)

    def _of_array(self, access: Access) -> Access:
        here = iter(access.indices)
        index = tuple(
            part.start + part.step * next(here) if isinstance(part, Span) else part
            for part in self.parts
        )
        return access._replace(indices=index)

    def load(self, lanes: Lanes, access: Access) -> np.ndarray:
        """An element of the array."""
        loaded: np.ndarray = self.array.load(lanes, self._inside(lanes, access))
        return loaded

    def count(self, lanes: Lanes, access: Access) -> None:
        """Counts a load that the compiler makes here, by every active lane."""
        self.array.count(lanes, self._of_array(access))

    def store(self, lanes: Lanes, access: Access, values: np.ndarray) -> None:
        """Stores to an element of the array."""
        self.array.store(lanes, self._inside(lanes, access), values)

    def update(self, lanes: Lanes, access: Access) -> Any:
        """An atomic on an element of the array."""
        return self.array.update(lanes, self._inside(lanes, access))


class Turned(View):
    """``A.T``: an array, or a part of one, with its axes in reverse order."""

    def __init__(self, array: Any) -> None:
        super().__init__(array, tuple(Span(0, extent, 1, whole=True) for extent in array.shape))
        self.shape = array.shape[::-1]

    @property
    def strides(self) -> tuple[Any, ...]:
        return tuple(self.array.strides[::-1])

    def _of_array(self, access: Access) -> Access:
        return access._replace(indices=access.indices[::-1])


def span(
    extent: Extent, start: np.ndarray | None, stop: np.ndarray | None, step: np.ndarray | None
) -> Span:
    """``start:stop:step`` of an axis, as Python and Numba cut what lies outside; a step is not 0.

    All have shape (threads or 1, blocks or 1); None is what is left out.
    """
    bounds = (start, stop, step)
    if isinstance(extent, int) and all(bound is None or bound.size == 1 for bound in bounds):
        numbers = [None if bound is None else int(bound[0, 0]) for bound in bounds]
        inside = range(*slice(*numbers).indices(extent))
        whole = inside == range(extent) and inside.step == 1
        return Span(inside.start, len(inside), inside.step, whole)
    by = np.ones((1, 1), np.int64) if step is None else step
    back = by < 0
    least, most = np.where(back, -1, 0), np.where(back, extent - 1, extent)

    def cut(bound: np.ndarray | None, missing: np.ndarray) -> np.ndarray:
        if bound is None:
            return missing
        return np.clip(np.where(bound < 0, bound + extent, bound), least, most)

    first, last = cut(start, np.where(back, most, least)), cut(stop, np.where(back, least, most))
    distance = np.where(back, first - last, last - first)
    return Span(first, np.maximum(-(-distance // np.abs(by)), 0), by)
