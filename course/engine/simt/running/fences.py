"""What one block knows of another: the order that fences and atomics make.

A thread that has fenced (`cuda.threadfence`) publishes with each atomic what it did before the
fence, and what its block did before its last barrier. A later atomic on the same cell hears that,
where the source looks at what it finds: an order that nobody looked at is a coincidence. Its thread
has all of it behind it then, and the rest of its block from the next barrier on. (Whether what it
does then hangs on what it found, a second run in another order tells: `simt.launch`.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from course.engine.simt.running.lanes import Lanes

if TYPE_CHECKING:
    from course.engine.simt.running.races import History

#: A clock has 8 bytes a block of the launch, and each block of a batch may have one or two: beyond
#: this fences order nothing.
MOST_BLOCKS = 1 << 13


@dataclass(frozen=True)
class _Known:
    """What a block knows, and what one of its threads heard since the block's last barrier.

    A clock has two moments of each block: before the first its threads are done, before the second
    one of them is, which stands there as well: as moment x threads + thread.
    """

    block: np.ndarray
    thread: int
    clock: np.ndarray
    moment: int


class Fences:
    """What the blocks of one launch know of each other.

    Args:
        blocks: of the launch.
        threads: of a block's warps.
    """

    def __init__(self, blocks: int, threads: int) -> None:
        self._threads = threads
        self._nothing = np.zeros((2, blocks), np.int32)
        self._fenced = np.zeros(blocks, np.int64)
        self._published: dict[tuple[History, int], np.ndarray] = {}
        self._last: dict[tuple[History, int], int] = {}
        self._known: dict[int, _Known] = {}
        self._first = 0

    def fence(self, lanes: Lanes) -> None:
        """The active lanes fence."""
        lanes.now += 1
        here = lanes.spread(lanes.full(lanes.mask)).any(axis=0)
        self._fenced[lanes.first + np.flatnonzero(here)] = lanes.now

    def atomic(
        self, lanes: Lanes, history: History, cells: np.ndarray, threads: np.ndarray, taken: bool
    ) -> None:
        """Atomics by `threads` on `cells`, one after the other.

        Args:
            taken: whether the source looks at what they find.
        """
        if lanes.first != self._first:  # blocks of the batches before have ended
            self._known.clear()
            self._first = lanes.first
        for cell, thread in zip(cells.tolist(), threads.tolist(), strict=True):
            at, block = (history, cell), thread // self._threads
            there = self._published.get(at)
            if taken and there is not None:
                self._hear(lanes, thread, there)
            if taken:
                self._last[at] = thread
            else:
                self._last.pop(at, None)
            if fenced := int(self._fenced[block]):
                mine = np.maximum(
                    self._clock(lanes, thread), self._nothing if there is None else there
                )
                mine[0, block] = min(fenced, _barrier(lanes, block))
                mine[1, block] = fenced * self._threads + thread % self._threads
                self._published[at] = mine

    def _hear(self, lanes: Lanes, thread: int, clock: np.ndarray) -> None:
        block = thread // self._threads
        known = self._known.get(block)
        before = self._nothing if known is None else known.block
        if known is not None and known.moment < _barrier(lanes, block):
            before = np.maximum(before, known.clock)
        both = np.maximum(self._clock(lanes, thread), clock)
        self._known[block] = _Known(before, thread, both, lanes.now)

    def _clock(self, lanes: Lanes, thread: int) -> np.ndarray:
        """What a thread knows."""
        known = self._known.get(thread // self._threads)
        if known is None:
            return self._nothing
        if thread != known.thread and known.moment >= _barrier(lanes, thread // self._threads):
            return known.block
        return np.maximum(known.block, known.clock)

    def knows(
        self, lanes: Lanes, who: np.ndarray, moments: np.ndarray, mine: np.ndarray
    ) -> np.ndarray:
        """Whether each of `mine` has behind it what `who` did at a moment.

        Args:
            who: numbers of threads; negative is nobody that is known.
        """
        found = np.zeros(len(who), np.bool_)
        block, thread = np.divmod(np.maximum(who, 0), self._threads)
        for one in np.unique(mine):
            clock = self._clock(lanes, int(one))
            done, alone = np.divmod(clock[1, block], self._threads)
            known = (moments < clock[0, block]) | ((thread == alone) & (moments < done))
            found |= (mine == one) & known
        return found & (who >= 0)

    def made_last(self, history: History, cells: np.ndarray, mine: np.ndarray) -> np.ndarray:
        """Whether each of `mine` made the last atomic on a cell, and looked at what it found."""
        pairs = zip(cells.tolist(), mine.tolist(), strict=True)
        return np.array([self._last.get((history, cell)) == one for cell, one in pairs], np.bool_)


def fence(lanes: Lanes) -> None:
    """`cuda.threadfence()` of the active lanes."""
    launch, blocks = lanes.launch, lanes.geometry.blocks
    whole = launch.program.whole_grid  # its blocks meet at barriers of the grid
    if launch.fences is None and blocks <= MOST_BLOCKS and not whole:
        launch.fences = Fences(blocks, lanes.threads)
    if launch.fences is not None:
        launch.fences.fence(lanes)


def _barrier(lanes: Lanes, block: int) -> int:
    """The last barrier of a block of this batch."""
    moments = lanes.barrier_at
    return moments if isinstance(moments, int) else int(moments[block - lanes.first])
