"""Who touched each cell last: races are found by order, not by luck.

Two accesses of one cell by different threads conflict where one of them writes and neither a
barrier of their block or of the grid, nor a `syncwarp` of their warp, stands between, nor what
fences and atomics tell (`fences.py`). Lockstep would hide that, so each cell remembers its last
writer and its readers since.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from course.engine.equal_stores import hearing
from course.engine.faults import KernelFault, Outcome
from course.engine.simt.running.lanes import Lanes
from course.plain.sectors import WARP_LANES

NOBODY = -1
MOST_UNASKED = 1024  # postponed accesses of a block, of up to 16 KB each
#: Reads that a fault names its reader from, and how many cells each of these may have.
MOST_RECENT, MOST_NAMED = 64, 1 << 14
# Several threads are remembered by what they have in common: their warp, their block, nothing:
# as -(2 + 3 x the number of that warp or block + which of the three it is).
_WARP, _BLOCK, _GRID = 0, 1, 2


class Past:
    """One kind of access (writes, reads or atomics): for each cell who, and in which event."""

    def __init__(self, cells: int) -> None:
        self.who = np.full(cells, NOBODY, np.int64 if cells < 1 << 22 else np.int32)
        self.event = np.zeros(cells, np.int32)


class History:
    """The accesses of one array's cells, in one launch (global) or one batch (shared).

    Threads are numbered through the launch: block x threads + thread, so that a number
    divided by 32 is a warp and divided by the block's threads a block.
    """

    def __init__(self, name: str, cells: int, shared: bool) -> None:
        self.name = name
        self.cells = cells
        self.shared = shared
        self.pasts: dict[str, Past] = {}
        #: the kinds of access since the last barrier that every block passed
        self.since_barrier: set[str] = set()
        #: (moment, line) of each event
        self.moments: list[int] = []
        self.lines: list[int] = []
        self.index_of: Any = None
        #: reads and atomics since that barrier that nobody asked about yet
        self.unasked: list[tuple[str, np.ndarray, np.ndarray, int, int]] = []
        #: the last reads that were entered
        self.recent: deque[tuple[np.ndarray, np.ndarray, int, int]] = deque(maxlen=MOST_RECENT)

    def _past(self, kind: str) -> Past:
        self.since_barrier.add(kind)
        past = self.pasts.get(kind)
        if past is None:
            past = self.pasts[kind] = Past(self.cells)
        return past

    def _event(self, moment: int, line: int) -> int:
        if self.moments and self.moments[-1] == moment and self.lines[-1] == line:
            return len(self.moments) - 1
        self.moments.append(moment)
        self.lines.append(line)
        return len(self.moments) - 1

    # ------------------------------------------------------------ accesses

    def read(self, lanes: Lanes, cells: np.ndarray, threads: np.ndarray, line: int) -> None:
        """A load by `threads` of `cells` (one-dimensional, same length)."""
        self.settle(lanes)
        self._check(lanes, cells, threads, line, write="write/read", atomic="atomic/plain")
        self._remember(lanes, "read", cells, threads, self._event(lanes.now, line))
        if len(cells) <= MOST_NAMED:
            self.recent.append((cells, threads, line, lanes.now))

    def read_later(self, lanes: Lanes, cells: np.ndarray, threads: np.ndarray, line: int) -> None:
        """A load of shared cells, looked at only if a write follows before the next barrier."""
        if not self.since_barrier <= {"read"}:
            self._check(lanes, cells, threads, line, write="write/read", atomic="atomic/plain")
        self._postpone(lanes, "read", cells, threads, line)

    def _postpone(
        self, lanes: Lanes, kind: str, cells: np.ndarray, threads: np.ndarray, line: int
    ) -> None:
        self.unasked.append((kind, cells, threads, line, lanes.now))
        if len(self.unasked) > MOST_UNASKED:
            self.settle(lanes)

    def settle(self, lanes: Lanes) -> None:
        """Enters the postponed accesses."""
        pending, self.unasked = self.unasked, []
        for kind, cells, threads, line, moment in pending:
            self._remember(lanes, kind, cells, threads, self._event(moment, line))
            if kind == "read" and len(cells) <= MOST_NAMED:
                self.recent.append((cells, threads, line, moment))

    def passed_barrier(self) -> None:
        """Every thread of every block passed a barrier: what it did to shared cells is done."""
        self.unasked.clear()
        self.recent.clear()
        self.since_barrier.clear()

    def write(
        self,
        lanes: Lanes,
        cells: np.ndarray,
        threads: np.ndarray,
        line: int,
        values: np.ndarray | None,
        over: np.ndarray | None = None,
    ) -> None:
        """A store by `threads` to `cells`.

        Args:
            values: they tell whether colliding stores agree.
            over: where they overwrite another value; None where that makes no difference (see
                `course.engine.equal_stores`).
        """
        self.settle(lanes)
        kinds = {"write": "write/write", "read": "read/write", "atomic": "atomic/plain"}
        self._check(lanes, cells, threads, line, over, **kinds)
        past = self._past("write")
        past.who[cells] = threads
        winners = past.who[cells]
        clash = winners != threads
        if np.count_nonzero(clash):
            lost = clash if values is None else _outvoted(cells, values)
            hears = hearing()
            at = self._first(lanes, clash if hears is None or not lost.any() else lost, threads)
            kind = "write/write" if lost[at] else "same_value"
            fault = self._fault(lanes, cells[at], threads[at], int(winners[at]), line, line, kind)
            if hears is None or lost[at]:
                raise fault
            hears(fault)
        past.event[cells] = self._event(lanes.now, line)
        for kind in ("read", "atomic"):
            if kind in self.pasts:
                self.pasts[kind].who[cells] = NOBODY

    def atomic(
        self, lanes: Lanes, cells: np.ndarray, threads: np.ndarray, line: int, taken: bool = False
    ) -> None:
        """An atomic by `threads` on `cells`: conflicts only with plain accesses.

        Args:
            taken: whether the source looks at what it finds.
        """
        if self.shared and self.since_barrier <= {"atomic"}:
            self._postpone(lanes, "atomic", cells, threads, line)
            return
        self.settle(lanes)
        self._check(lanes, cells, threads, line, write="atomic/plain", read="atomic/plain")
        self._remember(lanes, "atomic", cells, threads, self._event(lanes.now, line))
        if not self.shared and lanes.launch.fences is not None:
            lanes.launch.fences.atomic(lanes, self, cells, threads, taken)

    # ------------------------------------------------------------ order

    def _check(
        self,
        lanes: Lanes,
        cells: np.ndarray,
        threads: np.ndarray,
        line: int,
        over: np.ndarray | None = None,
        **kinds: str,
    ) -> None:
        """Holds an access against earlier ones, by kind of these: what a conflict is called.

        Args:
            over: as for `write`.
        """
        for earlier, kind in kinds.items():
            if earlier not in self.since_barrier:
                continue
            past = self.pasts[earlier]
            who = past.who[cells]
            suspect = (who != NOBODY) & (who != threads)
            if not np.count_nonzero(suspect):
                continue
            where = np.nonzero(suspect)[0]
            who, mine = who[where].astype(np.int64), threads[where]
            unordered = ~self._ordered(lanes, who, self._moments(past, cells[where]), mine)
            if earlier == "atomic" and lanes.launch.fences is not None:
                unordered &= ~lanes.launch.fences.made_last(self, cells[where], mine)
            if not unordered.any():
                continue
            clash = np.zeros(len(cells), np.bool_)
            clash[where[unordered]] = True
            unequal = clash if over is None or earlier != "write" else clash & over
            at = self._first(lanes, unequal if unequal.any() else clash, threads)
            other = int(past.who[cells[at]])
            other_line = self.lines[int(past.event[cells[at]])]
            if earlier == "read" and other < NOBODY:
                reader = self._reader(lanes, cells[at], threads[at])
                other, other_line = reader or (other, other_line)
            kind = kind if unequal.any() else "same_value"
            fault = self._fault(lanes, cells[at], threads[at], other, line, other_line, kind)
            if unequal.any() or (hears := hearing()) is None:
                raise fault
            hears(fault)

    def _reader(self, lanes: Lanes, cell: int, mine: int) -> tuple[int, int] | None:
        """(thread, line) of one of several who read a cell that `mine` writes now."""
        for cells, threads, line, moment in reversed(self.recent):
            others = np.unique(threads[(cells == cell) & (threads != mine)])
            before = self._ordered(lanes, others, np.full(len(others), moment), mine + 0 * others)
            if not before.all():
                return int(others[~before][0]), line
        return None

    def _moments(self, past: Past, cells: np.ndarray) -> np.ndarray:
        """When cells were last accessed in a way."""
        return np.asarray(self.moments)[past.event[cells]]

    def _ordered(
        self, lanes: Lanes, who: np.ndarray, moments: np.ndarray, mine: np.ndarray
    ) -> np.ndarray:
        """Whether an earlier access by `who`, at a moment each, is before one by `mine` now."""
        my_warp, my_block = mine // WARP_LANES, mine // lanes.threads
        same_warp, same_block = _shared_with(lanes, who, my_warp, my_block)
        ordered: np.ndarray = (
            (moments < lanes.grid_barrier_at)
            | (same_block & (moments < _at(lanes.barrier_at, my_block - lanes.first)))
            | (
                same_warp
                & (
                    (moments < _at(lanes.warp_barrier_at, my_warp - lanes.first * lanes.warps))
                    | (moments < _at_group(lanes, who, mine))
                )
            )
        )
        if lanes.launch.fences is not None:
            ordered |= lanes.launch.fences.knows(lanes, who, moments, mine)
        return ordered

    def _remember(
        self, lanes: Lanes, kind: str, cells: np.ndarray, threads: np.ndarray, event: int
    ) -> None:
        past = self._past(kind)
        before = past.who[cells].astype(np.int64)
        known = before != NOBODY
        if np.count_nonzero(known):
            known &= ~self._ordered(lanes, before, self._moments(past, cells), threads)
        past.who[cells] = threads
        past.event[cells] = event
        self._widen(lanes, past, cells, threads, past.who[cells].astype(np.int64))
        if np.count_nonzero(known):
            self._widen(lanes, past, cells[known], threads[known], before[known])

    def _widen(
        self, lanes: Lanes, past: Past, cells: np.ndarray, threads: np.ndarray, other: np.ndarray
    ) -> None:
        """Where another thread is there too, remembers both by what they have in common."""
        differ = other != threads
        if not np.count_nonzero(differ):
            return
        cells, threads, other = cells[differ], threads[differ], other[differ]
        current = past.who[cells].astype(np.int64)
        warp, block = threads // WARP_LANES, threads // lanes.threads
        scope = np.full(len(cells), _WARP)
        for who in (other, current):
            same_warp, same_block = _shared_with(lanes, who, warp, block)
            scope = np.maximum(
                scope, np.where(same_warp, _WARP, np.where(same_block, _BLOCK, _GRID))
            )
        # A cell may stand here several times: the widest scope is written last.
        for width, group in ((_WARP, warp), (_BLOCK, block), (_GRID, 0 * block)):
            chosen = scope == width
            past.who[cells[chosen]] = -(2 + 3 * group[chosen] + width)

    # ------------------------------------------------------------ words

    def _first(self, lanes: Lanes, clash: np.ndarray, threads: np.ndarray) -> int:
        """The clash of the lowest thread: messages do not depend on chance."""
        where = np.nonzero(clash)[0]
        return int(where[np.argmin(threads[where])])

    def _fault(
        self,
        lanes: Lanes,
        cell: int,
        thread: int,
        other: int,
        line: int,
        other_line: int,
        kind: str,
    ) -> KernelFault:
        memory = "shared" if self.shared else "global"
        suffix = "_same_value" if kind == "same_value" else ""
        mine = lanes.place(int(thread) % lanes.threads, int(thread) // lanes.threads)
        fields: dict[str, object] = {
            "array": self.name,
            "index": self.index_of(int(cell)),
            "kind": kind,
            "other_line": other_line,
            **mine,
        }
        if other >= 0:
            theirs = lanes.place(other % lanes.threads, other // lanes.threads)
            fields["other_thread"], fields["other_block"] = theirs["thread"], theirs["block"]
        else:
            scope = (-other - 2) % 3
            fields["other_thread"] = "several"
            number = (-other - 2) // 3
            block = number // lanes.warps if scope == _WARP else number
            fields["other_block"] = "several" if scope == _GRID else lanes.place(0, block)["block"]
        return KernelFault(Outcome.RACE, f"race_{memory}{suffix}", line, **fields)


def _outvoted(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where several store to one cell and not all of them the same value."""
    found, number = np.unique(cells, return_inverse=True)
    last = np.empty(len(found), values.dtype)
    last[number] = values
    alone = np.ones(len(found), np.bool_)
    np.logical_and.at(alone, number, last[number] == values)
    outvoted: np.ndarray = ~alone[number]
    return outvoted


def _shared_with(
    lanes: Lanes, who: np.ndarray, warp: np.ndarray, block: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether those remembered are all of a warp, and whether all of a block."""
    single = who >= 0
    kind = np.where(single, _WARP, (-who - 2) % 3)
    number = np.where(single, who // WARP_LANES, (-who - 2) // 3)
    of_block = np.where(kind == _WARP, number // lanes.warps, number)
    return (kind == _WARP) & (number == warp), (kind != _GRID) & (of_block == block)


def _at_group(lanes: Lanes, who: np.ndarray, mine: np.ndarray) -> Any:
    """When lanes last waited for one of their warp, or for all, where they wait in groups."""
    if lanes.group_barrier_at is None:
        return 0
    waited = lanes.group_barrier_at[mine - lanes.first * lanes.threads]
    lane = (who % WARP_LANES)[:, None]
    return np.where(who >= 0, np.take_along_axis(waited, lane, axis=1)[:, 0], waited.min(axis=1))


def _at(moments: int | np.ndarray, number: np.ndarray) -> Any:
    """The last barrier of each numbered block or warp of this batch.

    Numbers from another batch are of other blocks, for which order is never asked.
    """
    if isinstance(moments, int):
        return moments
    return moments[np.clip(number, 0, len(moments) - 1)]
