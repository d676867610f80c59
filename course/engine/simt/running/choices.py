"""One name for several arrays: ``s = a if n > 0 else b``, or ``a, b = b, a`` in a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import not_measured

if TYPE_CHECKING:
    from course.engine.simt.running.bounds import Access, Extent
    from course.engine.simt.running.lanes import Lanes
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

    def _parts(self, lanes: Lanes, access: Access) -> list[tuple[Any, Access]]:
        """The arrays that active lanes have, each with the access that those lanes make."""
        parts = []
        for array, side in ((self.first, self.mask), (self.second, ~self.mask)):
            where, asking = lanes.both(access.mask, side), access.asking
            if where.any():
                if isinstance(asking, np.ndarray):  # of lanes, too, that are not active yet
                    asking = asking & side
                parts.append((array, access._replace(mask=where, asking=asking)))
        return parts

    def _are_one(self, lanes: Lanes, access: Access) -> None:
        """What both arrays were asked for is one access, of an address that was chosen before."""
        if access.asking is not False:
            asking = access.mask if access.asking is True else access.asking
            kind = access.direction, access.place
            lanes.launch.meter.one_request(lanes, kind, asking, self.mask)

    def part(self, parts: tuple[np.ndarray | Span, ...]) -> Choice:
        """The same choice between parts."""
        return Choice(self.mask, self.first.part(parts), self.second.part(parts))

    def load(self, lanes: Lanes, access: Access) -> np.ndarray:
        """Each lane's element of the array that it has."""
        found: np.ndarray | None = None
        for array, part in self._parts(lanes, access):
            values = array.load(lanes, part)
            found = values if found is None else np.where(lanes.full(part.mask), values, found)
        self._are_one(lanes, access)
        assert found is not None  # an access has an active lane
        return found

    def store(self, lanes: Lanes, access: Access, values: np.ndarray) -> None:
        """Each lane stores to the array that it has."""
        for array, part in self._parts(lanes, access):
            array.store(lanes, part, values)
        self._are_one(lanes, access)

    def count(self, lanes: Lanes, access: Access) -> None:
        """Counts a load that the compiler makes here."""
        for array, part in self._parts(lanes, access):
            array.count(lanes, part)
        self._are_one(lanes, access)

    def update(self, lanes: Lanes, access: Access) -> Any:
        """An atomic on the one array that all active lanes have."""
        parts = self._parts(lanes, access)
        if len(parts) > 1:
            raise not_measured(access.line, "array_choice", what="an atomic meets both")
        array, part = parts[0]
        return array.update(lanes, part)


def _one_number(a: Extent, b: Extent) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a == b


def either(mask: np.ndarray, new: Any, old: Any) -> Any:
    """`new` in the lanes of `mask`, `old` in the others; of what are no arrays, `new`."""
    if not hasattr(new, "load") or not hasattr(old, "load"):
        return new
    if mask.size == 1:
        return new if mask[0, 0] else old
    return Choice(mask, new, old)
