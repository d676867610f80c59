"""The state of one batch of blocks in lockstep: variables, the active mask, counters.

A value has shape (threads or 1, blocks or 1): size 1 along an axis on which it is uniform, so
that work and checks run on the smallest shape. Threads are numbered x first and padded to
whole warps; a mask is None (every thread of every block) or a boolean array of such a shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.simt.running.choices import either
from course.plain.sectors import WARP_LANES

Mask = np.ndarray | None
#: among a batch's variables: by name, the lanes that have assigned it, where not all have
PARTLY = "?"
Statement = Callable[["Lanes"], None]
MASKS_KEPT = 8  # of up to 2 MB each


@dataclass(frozen=True)
class Geometry:
    """A launch: grid and block as (x, y, z)."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def threads(self) -> int:
        x, y, z = self.block
        return x * y * z

    @property
    def blocks(self) -> int:
        x, y, z = self.grid
        return x * y * z


def _written(number: int, extent: tuple[int, int, int]) -> str:
    """`(3, 1)`: a thread or block by its number, along as few axes as there are."""
    x, y, z = extent
    index = (number % x, number // x % y, number // (x * y))
    return str(index if z > 1 else index[:2] if y > 1 else index[0])


class Active:
    """The lanes of one mask, found once for all accesses under it."""

    def __init__(self, mask: Mask, threads: int, blocks: int, first_block: int) -> None:
        self.mask = mask
        self._shape = (threads, blocks)
        self._first_block = first_block

    @cached_property
    def _places(self) -> np.ndarray:
        """thread x blocks + block of each active lane, in order."""
        if self.mask is None:
            return np.arange(self._shape[0] * self._shape[1])
        return np.flatnonzero(np.broadcast_to(self.mask, self._shape))

    @property
    def count(self) -> int:
        """How many lanes are active."""
        return len(self._places)

    @cached_property
    def threads(self) -> np.ndarray:
        """Each active lane's thread number in the launch."""
        thread, block = np.divmod(self._places, self._shape[1])
        return thread + (block + self._first_block) * self._shape[0]

    def of(self, values: np.ndarray) -> np.ndarray:
        """The active lanes' values, one-dimensional: thread by thread, then block by block."""
        threads, blocks = values.shape
        if self.mask is None:
            return np.broadcast_to(values, self._shape).ravel()
        if values.size == 1:
            return values.ravel().repeat(self.count)
        if blocks == 1:
            return values[:, 0].take(self._places // self._shape[1])
        if threads == 1:
            return values[0].take(self._places % self._shape[1])
        return values.ravel().take(self._places)

    @cached_property
    def warps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(warp, block, lanes) of each warp with an active lane; `lanes` says which, (n, 32).

        Where all blocks are alike, only the first block's warps.
        """
        mask = np.ones((1, 1), np.bool_) if self.mask is None else self.mask
        whole = np.broadcast_to(mask, (self._shape[0], mask.shape[1]))
        whole = whole.reshape(-1, WARP_LANES, mask.shape[1])
        warp, block = np.nonzero(whole.any(axis=1))
        return warp, block, whole[warp, :, block]


class Lanes:
    """One batch: blocks `first` to `first + blocks - 1` of the launch."""

    def __init__(self, geometry: Geometry, first: int, blocks: int, launch: Any) -> None:
        self.geometry = geometry
        self.first = first
        self.blocks = blocks
        self.launch = launch
        self.block_threads = geometry.threads
        self.warps = -(-self.block_threads // WARP_LANES)
        self.threads = self.warps * WARP_LANES
        self.thread_numbers = np.arange(self.threads, dtype=np.int64)[:, None]
        self.block_numbers = np.arange(first, first + blocks, dtype=np.int64)[None, :]
        #: lanes that exist: None where the block is made of whole warps
        self.exist: Mask = (
            None if self.threads == self.block_threads else self.thread_numbers < self.block_threads
        )
        self.mask: Mask = self.exist
        #: no lane is active: the rest of this block of statements is skipped
        self.dead = False
        self.vars: dict[str, Any] = {}
        #: the call that runs now, and around it the number and the variables of each other
        self.frame = 0
        self.callers: list[tuple[int, dict[str, Any]]] = []
        self.loops: list[Any] = []
        #: lanes that returned from the kernel, and from the function that runs now
        self.returned: Mask = None
        self.left: Mask = None
        self.returns: list[tuple[Any, Any]] = []
        #: by loop: whether this is its first turn, or the lanes whose first turn is made now
        self.first_turn: dict[int, bool | np.ndarray] = {}
        #: by loop: whether this is the first turn of one of its unrolled parts
        self.first_of_part: dict[int, bool] = {}
        #: by branch: in which lanes it goes the way in which it stores
        self.storing: dict[int, np.ndarray] = {}
        self.coordinates: dict[str, np.ndarray] = {}
        #: orders accesses: a barrier starts a new moment
        self.now = 0
        self.barrier_at: int | np.ndarray = 0
        self.warp_barrier_at: int | np.ndarray = 0
        #: by thread of the batch and lane of its warp: when both last waited for each other, where
        #: a mask named a part of the warp
        self.group_barrier_at: np.ndarray | None = None
        self.grid_barrier_at = 0
        self.shared: dict[Any, Any] = {}
        #: of the loops that are not written out, counted through (see `SharedArray.load`)
        self.turn = 0
        self.local: dict[Any, Any] = {}
        self.steps = 0
        self._active: dict[int, Active] = {}
        #: by mask: the mask, and the work that its lanes did on each line
        self._work: dict[int, tuple[Mask, dict[int, int]]] = {}
        self._work_done: dict[int, np.ndarray] = {}
        #: operations of all lanes together
        self.lane_work = 0
        self.watch: Callable[[Lanes, int], None] | None = None
        #: hears what a line stores, and how a test comes out: (lanes, line, text, index, value)
        self.told: Callable[[Lanes, int, str, tuple[np.ndarray, ...], np.ndarray], None] | None
        self.told = None

    # ------------------------------------------------------------ masks

    def full(self, mask: Mask) -> np.ndarray:
        """`mask` as an array that broadcasts to (threads, blocks)."""
        return np.ones((1, 1), np.bool_) if mask is None else mask

    def both(self, mask: Mask, condition: np.ndarray) -> np.ndarray:
        """Lanes of `mask` for which `condition` holds."""
        return condition if mask is None else mask & condition

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Broadcast to (threads, blocks), read-only."""
        whole = (self.threads, self.blocks)
        return values if values.shape == whole else np.broadcast_to(values, whole)

    def active(self, mask: Mask) -> Active:
        """What accesses ask about a mask."""
        found = self._active.get(id(mask))
        if found is None:
            if len(self._active) == MASKS_KEPT:
                self._active.clear()
            found = Active(mask, self.threads, self.blocks, self.first)
            self._active[id(mask)] = found
        return found

    def in_warps(self, mask: np.ndarray) -> np.ndarray:
        """(warps or 1, lanes or 1, blocks or 1) from (threads or 1, blocks or 1)."""
        if mask.shape[0] == 1:
            return mask[None, :, :]
        return mask.reshape(self.warps, WARP_LANES, mask.shape[1])

    def warps_with(self, mask: np.ndarray) -> np.ndarray:
        """(warps or 1, blocks or 1): warps with a lane in the mask."""
        return np.logical_or.reduce(self.in_warps(mask), axis=1)

    def count_warps(self, per_warp: np.ndarray) -> int:
        """Sum over all warps of the batch of an array (warps or 1, blocks or 1)."""
        repeats = (self.warps // per_warp.shape[0]) * (self.blocks // per_warp.shape[1])
        return int(per_warp.sum()) * repeats

    def count(self, mask: Mask) -> int:
        """Lanes of the mask, in all blocks of the batch."""
        full = self.full(mask)
        repeats = (self.threads // full.shape[0]) * (self.blocks // full.shape[1])
        return int(np.count_nonzero(full)) * repeats

    def first_lane(self, mask: np.ndarray) -> tuple[int, int]:
        """(thread number, block number in the launch) of the first lane: lowest block first."""
        whole = np.broadcast_to(mask, (self.threads, self.blocks))
        if self.exist is not None:
            whole = whole & self.exist
        block = int(np.argmax(whole.any(axis=0)))
        return int(np.argmax(whole[:, block])), block + self.first

    def place(self, thread: int, block: int) -> dict[str, object]:
        """The words `block` and `thread` of a message."""
        return {
            "block": _written(block, self.geometry.grid),
            "thread": _written(thread, self.geometry.block),
        }

    def fault(
        self,
        outcome: Outcome,
        message_id: str,
        line: int | None,
        mask: np.ndarray,
        **fields: object,
    ) -> KernelFault:
        """What the first lane of a mask did wrong."""
        return KernelFault(
            outcome, message_id, line, **fields, **self.place(*self.first_lane(mask))
        )

    def group_barrier(self, groups: np.ndarray) -> None:
        """Each lane has waited for the lanes of its warp of which it has a bit."""
        if self.group_barrier_at is None:
            self.group_barrier_at = np.zeros((self.threads * self.blocks, WARP_LANES), np.int64)
        named = self.spread(groups).T.reshape(-1, 1) >> np.arange(WARP_LANES) & 1 == 1
        self.group_barrier_at[named] = self.now

    # ------------------------------------------------------------ variables

    def assign(self, name: str, value: Any) -> None:
        """The active lanes all have `value` in a variable now."""
        variables = self.vars
        variables[name] = value
        if PARTLY in variables and name in variables[PARTLY]:
            variables[PARTLY] = {n: m for n, m in variables[PARTLY].items() if n != name}

    def unassigned(self, name: str) -> Mask:
        """The active lanes that have not assigned a variable, or None where all have."""
        if name not in self.vars:
            return self.full(self.mask)
        assigned = self.vars.get(PARTLY, {}).get(name)
        if assigned is None:
            return None
        missing = self.both(self.mask, ~assigned)
        return missing if missing.any() else None

    # ------------------------------------------------------------ work

    def spend(self, line: int) -> None:
        """One step towards the limit that stops endless loops."""
        self.steps += 1
        if self.steps > self.launch.step_limit:
            limit, here = self.launch.step_limit, self.full(self.mask)
            raise self.fault(Outcome.TIMED_OUT, "timed_out", line, here, steps=limit)

    def step(self, line: int) -> None:
        """One statement under the present mask: counts work, and stops endless loops."""
        self.spend(line)
        mask, work = self.mask, self.launch.program.work_of[line]
        entry = self._work.get(id(mask))
        if entry is None:
            if len(self._work) > 64:
                self._settle_work()
            entry = self._work[id(mask)] = (mask, {})
        lines = entry[1]
        lines[line] = lines.get(line, 0) + work
        if self.watch is not None:
            self.watch(self, line)

    def take_turns(self, line: int, turns: np.ndarray, active: np.ndarray) -> None:
        """Counts turns that a warp takes for its `active` lanes, (warps, blocks) both, as work."""
        self._work_done[line] = self._work_done.get(line, 0) + turns
        self.lane_work += int((turns * active).sum())

    def _settle_work(self) -> None:
        for mask, lines in self._work.values():
            self.lane_work += sum(lines.values()) * self.count(mask)
            warps = self.warps_with(self.full(mask))
            for line, work in lines.items():
                done = self._work_done.get(line, 0)
                self._work_done[line] = done + work * warps
        self._work.clear()

    def longest_warp(self) -> tuple[int, dict[int, int]]:
        """Operations of the warp that made most of them; the same line by line, each its own."""
        self._settle_work()
        together = sum(self._work_done.values())
        by_line = {line: int(done.max()) for line, done in self._work_done.items()}
        return int(np.max(together)), by_line

    def run(self, statements: list[Statement]) -> None:
        """Runs statements until no lane is left that goes on."""
        for statement in statements:
            statement(self)
            if self.dead:
                return

    def alive(self) -> np.ndarray:
        """Lanes that exist and have not returned from the kernel."""
        alive = self.full(self.exist)
        return alive if self.returned is None else alive & ~self.returned


def select(mask: np.ndarray, new: Any, old: Any) -> Any:
    """Where `mask`, `new`, else `old`: for lane values and tuples of them.

    `new` and `old` are of one type.
    """
    if new is old:
        return new
    if isinstance(new, tuple):
        return tuple(select(mask, a, b) for a, b in zip(new, old, strict=True))
    if isinstance(new, np.ndarray):
        return np.where(mask, new, old)
    return either(mask, new, old)
