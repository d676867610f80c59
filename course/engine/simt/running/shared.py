"""Shared memory: one array for all blocks of a batch; accesses checked, bank conflicts counted."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from course.engine.equal_stores import hearing
from course.engine.faults import KernelFault, Outcome, not_measured
from course.engine.simt.lowering.types import ArrayType, Scalar, numpy_dtype
from course.engine.simt.running.bounds import Access, check_bounds
from course.engine.simt.running.lanes import Lanes, Mask
from course.engine.simt.running.meter import conflicts_of
from course.engine.simt.running.races import History
from course.engine.simt.running.views import Packed
from course.plain.sectors import WARP_LANES

PLANS_KEPT = 256  # of 10 to 30 KB each
MOST_HELD = 32  # of up to 1 MB each


@dataclass
class Plan:
    """What one access asks of a shared array, where every block asks for the same cells."""

    cell: np.ndarray
    #: one entry an active lane: the cells, and the threads of the batch's first block
    cells: np.ndarray
    threads: np.ndarray
    extra_wavefronts: int
    #: warps that ask, of all blocks
    requests: int
    #: every cell has been written
    written: bool = False


class SharedArray(Packed):
    """One shared array of every block of a batch: cells first, blocks last.

    Who touched a cell is kept once for all blocks as long as all blocks do the same.
    """

    def __init__(
        self, name: str, shape: tuple[int, ...], type_: Scalar, lanes: Lanes, base_bytes: int
    ) -> None:
        self.name = name
        self.shape = shape
        self.dtype = numpy_dtype(type_)
        self.type = ArrayType(type_, len(shape), "shared")
        self.cells = math.prod(shape)
        self.base_bytes = base_bytes
        self.data = np.zeros((self.cells, lanes.blocks), self.dtype)
        self.alike = True
        self.written = np.zeros((self.cells, 1), np.bool_)
        self.complete = False
        self.history = self._new_history(1)
        self._plans: dict[Any, Plan] = {}
        #: the accesses whose values registers hold, and since when
        self._in_registers: set[int] = set()
        self._held_since = (-1, -1)
        #: the same as indices and mask, which each block compares for itself where they differ
        self._held: deque[tuple[np.ndarray, ...]] = deque(maxlen=MOST_HELD)

    def _new_history(self, blocks: int) -> History:
        history = History(self.name, self.cells * blocks, shared=True)
        history.index_of = lambda cell: self.index_of(cell // blocks)
        return history

    def part_ways(self, lanes: Lanes) -> None:
        """From now on every block's accesses are remembered apart."""
        if not self.alike:
            return
        self.alike = False
        self._plans.clear()
        self._in_registers.clear()
        self.written = np.repeat(self.written, lanes.blocks, axis=1)
        old = self.history
        old.settle(lanes)
        self.history = new = self._new_history(lanes.blocks)
        new.moments, new.lines = old.moments, old.lines
        for kind in sorted(old.since_barrier):
            past, fresh = old.pasts[kind], new._past(kind)
            numbers = np.arange(lanes.blocks)[None, :]
            who = past.who[:, None].astype(np.int64)
            scope = (-who - 2) % 3
            step = np.where(who >= 0, lanes.threads, np.where(scope == 0, -3 * lanes.warps, -3))
            fresh.who[:] = np.where(who == -1, -1, who + step * numbers).ravel()
            fresh.event[:] = np.repeat(past.event[:, None], lanes.blocks, axis=1).ravel()

    def _cells(self, lanes: Lanes, cell: np.ndarray, mask: Mask) -> tuple[np.ndarray, np.ndarray]:
        """(cells of the history, threads) of the active lanes."""
        if self.alike and (cell.shape[1] > 1 or (mask is not None and mask.shape[1] > 1)):
            if lanes.blocks > 1:
                self.part_ways(lanes)
        if self.alike:
            threads = lanes.thread_numbers[:, 0]
            if mask is not None and mask.shape[0] > 1:
                threads = threads[mask[:, 0]]
            cells = cell[:, 0]
            cells = cells.repeat(len(threads)) if len(cells) == 1 else cells[threads]
            return cells, threads + lanes.first * lanes.threads
        blocks = np.arange(lanes.blocks)[None, :]
        active = lanes.active(mask)
        return active.of(cell * lanes.blocks + blocks), active.threads

    def _plan(self, lanes: Lanes, access: Access) -> Plan:
        """Checks an access; loops repeat it with the same indices, so it is kept for a while."""
        index, mask = access.indices, access.mask
        key = _values_of(index if mask is None else (*index, mask)) if self.alike else None
        plan = self._plans.get(key)
        if plan is None:
            clean = check_bounds(lanes, self.name, self.shape, access)
            cell = self.cell(index)
            if not clean:
                cell = np.where(lanes.full(mask), cell, 0)
            itemsize = self.dtype.itemsize
            addresses = self.base_bytes + cell * itemsize
            plan = Plan(
                cell,
                *self._cells(lanes, cell, mask),
                conflicts_of(lanes, addresses, mask, itemsize),
                lanes.count_warps(lanes.warps_with(lanes.full(mask))),
            )
            if key is not None:
                if len(self._plans) == PLANS_KEPT:
                    self._plans.clear()
                    self._in_registers.clear()
                self._plans[key] = plan
        return plan

    def load(self, lanes: Lanes, access: Access) -> np.ndarray:
        plan, line = self._plan(lanes, access), access.line
        self._count_load(lanes, plan, access)
        if not (self.complete or plan.written):
            self._check_written(lanes, plan.cells, plan.threads, line)
            plan.written = True
        if self.alike:
            self.history.read_later(lanes, plan.cells, plan.threads, line)
        else:
            self.history.read(lanes, plan.cells, plan.threads, line)
        cell = plan.cell
        if cell.shape[1] == 1:
            return self.data.take(cell[:, 0], axis=0)
        blocks = np.arange(lanes.blocks)[None, :]
        return self.data.ravel().take(cell * lanes.blocks + blocks)

    def _count_load(self, lanes: Lanes, plan: Plan, access: Access) -> None:
        """Counts the requests of a load, where no register holds what it asks for.

        The compiler loads the same cells once, as long as no barrier, no store to the array and no
        turn of a loop lies between.
        """
        if self._held_since != (lanes.now, lanes.turn):
            self._forget()
            self._held_since = (lanes.now, lanes.turn)
        if not self.alike:
            counted = self._of_blocks_that_ask(lanes, plan, access)
            if counted is None:
                return
            plan, access = counted
        elif id(plan) in self._in_registers:
            return
        else:
            self._in_registers.add(id(plan))
            self._held.append((*access.indices, lanes.full(access.mask)))
        self._count(lanes, plan, access)
        lanes.launch.meter.shared_loads[access.line] += plan.requests

    def _of_blocks_that_ask(
        self, lanes: Lanes, plan: Plan, access: Access
    ) -> tuple[Plan, Access] | None:
        """A load as the blocks make it that do not hold it; None where all do."""
        mask = lanes.full(access.mask)
        asked = (*access.indices, mask)
        holds = np.zeros((1, lanes.blocks), np.bool_)
        for held in self._held:
            pairs = zip(held, asked, strict=True)
            same = [(one == other).all(axis=0, keepdims=True) for one, other in pairs]
            holds |= np.logical_and.reduce(np.broadcast_arrays(*same))
        self._held.append(asked)
        if holds.all():
            return None
        if holds.any():
            mask = mask & ~holds
            addresses = self.base_bytes + plan.cell * self.dtype.itemsize
            conflicts = conflicts_of(lanes, addresses, mask, self.dtype.itemsize)
            requests = lanes.count_warps(lanes.warps_with(mask))
            plan = replace(plan, extra_wavefronts=conflicts, requests=requests)
            access = access._replace(mask=mask)
        return plan, access

    def _forget(self) -> None:
        """Registers hold nothing of this array any more."""
        self._in_registers.clear()
        self._held.clear()

    def _count(self, lanes: Lanes, plan: Plan, access: Access) -> None:
        meter = lanes.launch.meter
        meter.bank_conflicts(self.name, access.line, plan.extra_wavefronts)
        meter.shared_access(lanes, self, access, plan.cell)

    def store(self, lanes: Lanes, access: Access, values: np.ndarray) -> None:
        self._forget()
        plan = self._plan(lanes, access)
        self._count(lanes, plan, access)
        cells, threads = plan.cells, plan.threads
        self._require_own_bytes(lanes, cells, access.line)
        if self.alike:
            rows = lanes.spread(values)
            if access.mask is not None:
                rows = rows[threads - lanes.first * lanes.threads]
            one_value = rows[:, 0] if values.shape[1] == 1 else None
            over = None if hearing() is None else (self.data[cells] != rows).any(axis=1)
            self.history.write(lanes, cells, threads, access.line, one_value, over)
            self.data[cells] = rows
            self.written[cells] = True
        else:
            flat_values, flat = lanes.active(access.mask).of(values), self.data.reshape(-1)
            over = None if hearing() is None else flat[cells] != flat_values
            self.history.write(lanes, cells, threads, access.line, flat_values, over)
            flat[cells] = flat_values
            self.written.reshape(-1)[cells] = True
        if not self.complete:
            self.complete = bool(self.written.all())

    def update(self, lanes: Lanes, access: Access) -> tuple[np.ndarray, np.ndarray]:
        check_bounds(lanes, self.name, self.shape, access)
        self._forget()
        self.part_ways(lanes)
        cells, threads = self._cells(lanes, self.cell(access.indices), access.mask)
        self._check_written(lanes, cells, threads, access.line)
        self.history.atomic(lanes, cells, threads, access.line)
        lanes.take_turns(access.line, *_turns(lanes, cells, threads, self.data.size))
        return self.data.reshape(-1), cells

    def _check_written(
        self, lanes: Lanes, cells: np.ndarray, threads: np.ndarray, line: int
    ) -> None:
        missing = ~self.written.reshape(-1)[cells]
        if not missing.any():
            return
        self._require_own_bytes(lanes, cells[missing], line)
        where = np.nonzero(missing)[0]
        at = int(where[np.argmin(threads[where])])
        cell = int(cells[at]) if self.alike else int(cells[at]) // lanes.blocks
        thread = int(threads[at])
        raise KernelFault(
            Outcome.UNINITIALISED,
            "uninitialised_shared",
            line,
            array=self.name,
            index=self.index_of(cell),
            **lanes.place(thread % lanes.threads, thread // lanes.threads),
        )

    def _require_own_bytes(self, lanes: Lanes, cells: np.ndarray, line: int) -> None:
        """Dynamic arrays of all types begin at one address: of each byte one may be the owner."""
        for other in lanes.shared.values():
            if other is self or other.base_bytes != self.base_bytes:
                continue
            owned = other.written.any(axis=1).repeat(other.dtype.itemsize)
            size = self.dtype.itemsize
            touched = (cells // self.written.shape[1])[:, None] * size + np.arange(size)
            if owned[touched[touched < owned.size]].any():
                raise not_measured(
                    line, "dynamic_shared_types", array=self.name, dtype=str(self.type.dtype),
                    other=str(other.type.dtype),
                )  # fmt: skip


def _turns(
    lanes: Lanes, cells: np.ndarray, threads: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """(turns beyond the first, lanes) of each warp of an atomic: who meet in a cell take turns."""
    warps = threads // WARP_LANES - lanes.first * lanes.warps
    met, counts = np.unique(warps * size + cells, return_counts=True)
    most = np.zeros(lanes.warps * lanes.blocks, np.int64)
    np.maximum.at(most, met // size, counts - 1)
    shape = lanes.blocks, lanes.warps
    return most.reshape(shape).T, np.bincount(warps, minlength=most.size).reshape(shape).T


def _values_of(arrays: tuple[np.ndarray, ...]) -> tuple[bytes, ...] | None:
    """What tells two accesses apart; None where it differs from block to block."""
    if any(array.shape[1] > 1 for array in arrays):
        return None
    return tuple([array.tobytes() for array in arrays])
