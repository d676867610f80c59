"""A model of the L2 cache: which of a launch's sectors have to come from DRAM.

What a program asks of L1 does not depend on the order of programs; what DRAM delivers does,
since L2 keeps what was used last. The model is small and says what it assumes: programs start
in launch order, one on each of a stated number of multiprocessors, and those of one wave go
through the kernel in step; the cache holds whole sectors of 32 bytes and drops the one that
was not used for longest; L1 keeps nothing from one access to the next. A store needs no read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.engine.traffic import Traffic
from course.engine.triton.entry import Grid
from course.engine.triton.launch import launch
from course.plain.sectors import SECTOR_BYTES

#: An NVIDIA T4: 40 multiprocessors, 4 MB of L2.
T4_MULTIPROCESSORS, T4_L2_BYTES = 40, 4 << 20
#: The small GPU of a check: what its L2 cannot hold, a laptop still multiplies within a second.
CHECK_MULTIPROCESSORS, CHECK_L2_BYTES = 16, 256 << 10


class Cache:
    """Sectors in the order of their last use. `multiprocessors` programs run at once."""

    def __init__(
        self, capacity_bytes: int = T4_L2_BYTES, multiprocessors: int = T4_MULTIPROCESSORS
    ) -> None:
        self.multiprocessors = multiprocessors
        self.capacity = max(1, capacity_bytes // SECTOR_BYTES)
        # a plain dict would search for its oldest key through all that were dropped before
        self.kept: OrderedDict[int, None] = OrderedDict()
        self.read = 0

    def access(self, sectors: np.ndarray, stored: bool) -> None:
        """Sectors that are used one after the other."""
        kept, capacity = self.kept, self.capacity
        for sector in sectors.tolist():
            if sector in kept:
                kept.move_to_end(sector)
                continue
            if len(kept) >= capacity:
                kept.popitem(last=False)
            self.read += not stored
            kept[sector] = None

    @property
    def read_bytes(self) -> int:
        """What DRAM has delivered so far."""
        return self.read * SECTOR_BYTES


@dataclass(frozen=True)
class CacheTraffic:
    """What came from DRAM, beside what the programs asked for."""

    traffic: Traffic
    dram_read_bytes: int


def through_l2(
    kernel: Any,
    args: Sequence[Any],
    grid: Grid,
    named: dict[str, Any] | None = None,
    *,
    capacity_bytes: int = T4_L2_BYTES,
    multiprocessors: int = T4_MULTIPROCESSORS,
) -> CacheTraffic:
    """Runs a launch as `course.engine.triton.entry.launch` does, with an L2 cache of a stated size.

    Raises:
        KernelFault: what the launch or the kernel did wrong.
    """
    cache = Cache(capacity_bytes, multiprocessors)
    traffic = launch(
        kernel, args, grid, named, together=multiprocessors, printing=False, listener=cache.access
    )
    return CacheTraffic(traffic, cache.read_bytes)
