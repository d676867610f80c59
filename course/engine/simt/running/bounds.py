"""Whether an access lies inside of its array.

An index has shape (threads or 1, blocks or 1) and dtype int64. Loads and stores take a tuple
of indices, one an axis, the active mask, and the (line, column) of the access.
"""

from __future__ import annotations

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.simt.running.lanes import Lanes, Mask

Place = tuple[int, int]
Index = tuple[np.ndarray, ...]
#: the same in every thread, or one number a lane: of shape (threads or 1, blocks or 1)
Extent = int | np.ndarray
VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


def check_bounds(
    lanes: Lanes,
    name: str,
    shape: tuple[Extent, ...],
    index: Index,
    mask: Mask,
    direction: str,
    line: int,
) -> bool:
    """True where even the inactive lanes' indices lie inside `shape`.

    Raises:
        KernelFault: OUT_OF_BOUNDS for the first active lane outside.
    """
    clean = True
    for axis, (numbers, extent) in enumerate(zip(index, shape, strict=True)):
        if numbers.size == 1:
            low = high = int(numbers[0, 0])
        else:
            low, high = int(numbers.min()), int(numbers.max())
        least = extent if isinstance(extent, int) else int(extent.min())
        if low >= 0 and high < least:
            continue
        clean = False
        outside = lanes.both(mask, (numbers < 0) | (numbers >= extent))
        if not outside.any():
            continue
        thread, block = lanes.first_lane(outside)
        lane = thread, block - lanes.first
        where = tuple(int(lanes.spread(n)[lane]) for n in index)
        there = tuple(int(lanes.spread(np.atleast_2d(n))[lane]) for n in shape)
        negative = where[axis] < 0
        raise KernelFault(
            Outcome.OUT_OF_BOUNDS,
            "negative_index" if negative else "out_of_bounds",
            line,
            access=VERBS[direction],
            array=name,
            index=written_index(where),
            shape=written_index(there),
            axis=axis,
            size=there[axis],
            **lanes.place(thread, block),
        )
    return clean


def written_index(index: tuple[int, ...]) -> str:
    """How an index stands in the source: ``3`` or ``2, 5``."""
    return ", ".join(map(str, index))
