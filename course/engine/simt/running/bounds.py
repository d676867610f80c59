"""Whether an access lies inside of its array.

An index has shape (threads or 1, blocks or 1) and dtype int64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.simt.running.lanes import Lanes, Mask

Place = tuple[int, int]
Index = tuple[np.ndarray, ...]
#: the same in every thread, or one number a lane: of shape (threads or 1, blocks or 1)
Extent = int | np.ndarray
VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


class Access(NamedTuple):
    """One access in the source, as the lanes of `mask` make it now.

    `direction` is one of `course.engine.traffic.DIRECTIONS`, `indices` has one for each axis, and
    `place` is its line and column. `asking` says whether memory is asked for it now, or which lanes
    ask. `aggregated` says that the compiler makes one update of a whole warp's atomics on one
    address: 'reduction' always, 'atomic' where the warp is full. `taken` says that the source looks
    at what an atomic finds.
    """

    direction: str
    indices: Index
    mask: Mask
    place: Place
    asking: bool | np.ndarray = True
    aggregated: str = ""
    taken: bool = False

    @property
    def line(self) -> int:
        return self.place[0]


def check_bounds(
    lanes: Lanes, name: str, shape: tuple[Extent, ...], access: Access, fields: int = 0
) -> bool:
    """True where even the inactive lanes' indices lie inside `shape`.

    Args:
        fields: of records: the last axis, which no index of the source is of.

    Raises:
        KernelFault: OUT_OF_BOUNDS for the first active lane outside.
    """
    clean, index = True, access.indices
    for axis, (numbers, extent) in enumerate(zip(index, shape, strict=True)):
        if numbers.size == 1:
            low = high = int(numbers[0, 0])
        else:
            low, high = int(numbers.min()), int(numbers.max())
        least = extent if isinstance(extent, int) else int(extent.min())
        if low >= 0 and high < least:
            continue
        clean = False
        outside = lanes.both(access.mask, (numbers < 0) | (numbers >= extent))
        if not np.count_nonzero(outside):
            continue
        thread, block = lanes.first_lane(outside)
        lane = thread, block - lanes.first
        where = tuple(int(lanes.spread(n)[lane]) for n in index)
        there = tuple(int(lanes.spread(np.atleast_2d(n))[lane]) for n in shape)
        negative, axes = where[axis] < 0, len(where) - bool(fields)
        lanes.launch.meter.outside(lanes, name, shape, access)
        raise KernelFault(
            Outcome.OUT_OF_BOUNDS,
            "negative_index" if negative else "out_of_bounds",
            access.line,
            access=VERBS[access.direction],
            array=name,
            index=written_index(where[:axes]),
            shape=written_index(there[:axes]),
            axis=axis,
            size=there[axis],
            **lanes.place(thread, block),
        )
    return clean


def written_index(index: tuple[int, ...]) -> str:
    """How an index stands in the source: ``3`` or ``2, 5``."""
    return ", ".join(map(str, index))
