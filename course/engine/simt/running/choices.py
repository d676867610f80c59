"""One name for several arrays: ``s = a if n > 0 else b``, or ``a, b = b, a`` in a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import KernelFault, Outcome

if TYPE_CHECKING:
    from course.engine.simt.running.bounds import Extent, Index, Place
    from course.engine.simt.running.lanes import Lanes, Mask
    from course.engine.simt.running.views import Span


class Choice:
    """Two arrays of one type: in the lanes of `mask` the first, in all others the second."""

    def __init__(self, mask: np.ndarray, first: Any, second: Any) -> None:
        self.mask = mask
        self.first = first
        self.second = second

    @property
    def shape(self) -> tuple[Extent, ...]:
        return self._either("shape")

    @property
    def strides(self) -> tuple[Extent, ...]:
        return self._either("strides")

    def _either(self, what: str) -> tuple[Extent, ...]:
        pairs = zip(getattr(self.first, what), getattr(self.second, what), strict=True)
        return tuple(a if _one_number(a, b) else np.where(self.mask, a, b) for a, b in pairs)

    def _parts(self, lanes: Lanes, mask: Mask) -> list[tuple[Any, np.ndarray]]:
        """The arrays that active lanes have, each with those lanes."""
        sides = ((self.first, self.mask), (self.second, ~self.mask))
        parts = [(array, lanes.both(mask, where)) for array, where in sides]
        return [(array, where) for array, where in parts if where.any()]

    def part(self, parts: tuple[np.ndarray | Span, ...]) -> Choice:
        """The same choice between parts."""
        return Choice(self.mask, self.first.part(parts), self.second.part(parts))

    def load(
        self, lanes: Lanes, index: Index, mask: Mask, place: Place, *counted: Any
    ) -> np.ndarray:
        """Each lane's element of the array that it has."""
        found: np.ndarray | None = None
        for array, where in self._parts(lanes, mask):
            values = array.load(lanes, index, where, place, *_of(counted, where))
            found = values if found is None else np.where(where, values, found)
        assert found is not None  # an access has an active lane
        return found

    def store(
        self,
        lanes: Lanes,
        index: Index,
        values: np.ndarray,
        mask: Mask,
        place: Place,
        *counted: Any,
    ) -> None:
        """Each lane stores to the array that it has."""
        for array, where in self._parts(lanes, mask):
            array.store(lanes, index, values, where, place, *_of(counted, where))

    def count_load(self, lanes: Lanes, index: Index, place: Place) -> None:
        """Counts a load that the compiler makes here."""
        outer = lanes.mask
        for array, where in self._parts(lanes, outer):
            lanes.mask = where
            array.count_load(lanes, index, place)
        lanes.mask = outer

    def update(
        self, lanes: Lanes, index: Index, mask: Mask, place: Place, aggregated: str = ""
    ) -> Any:
        """An atomic on the one array that all active lanes have."""
        parts = self._parts(lanes, mask)
        if len(parts) > 1:
            raise KernelFault(
                Outcome.NOT_MEASURED, "array_choice", place[0], what="an atomic meets both"
            )
        return parts[0][0].update(lanes, index, mask, place, aggregated)


def _one_number(a: Extent, b: Extent) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a == b


def _of(counted: tuple[Any, ...], where: np.ndarray) -> tuple[Any, ...]:
    """Which lanes ask memory, of those that have one of the arrays."""
    return tuple(c & where if isinstance(c, np.ndarray) else c for c in counted)


def either(mask: np.ndarray, new: Any, old: Any) -> Any:
    """`new` in the lanes of `mask`, `old` in the others; of what are no arrays, `new`."""
    if not hasattr(new, "load") or not hasattr(old, "load"):
        return new
    if mask.size == 1:
        return new if mask[0, 0] else old
    return Choice(mask, new, old)
