"""Conflicts between programs: nothing in one launch orders one program before another.

Two programs that store to one element, or one that loads what another stored or will store,
race, unless both use atomics. Running programs together would hide that, so each element of
a tensor that the kernel stores to remembers who stored to it, who loaded it, and who updated
it atomically.
"""

from __future__ import annotations

import numpy as np

from course.faults import Outcome
from course.tile.run import Run
from course.tile.tensors import Allocation, View

NOBODY, SEVERAL = -1, -2


class History:
    """Who touched each cell of one allocation in this launch.

    A cell is as long as the smallest element of any view of the allocation.
    """

    def __init__(self, allocation: Allocation, ordered_by_locks: bool) -> None:
        self.allocation = allocation
        self.cell = allocation.cell
        #: with locks the order of programs is the kernel's own affair
        self.silent = ordered_by_locks
        cells = len(allocation.bytes) // self.cell + 8
        self.writer = np.full(cells, NOBODY, np.int32)
        self.reader: np.ndarray | None = None
        self.updater: np.ndarray | None = None
        self.lines: dict[str, int] = {}

    def _new(self) -> np.ndarray:
        return np.full(len(self.writer), NOBODY, np.int32)

    def _cells(self, places: np.ndarray, size: int) -> list[np.ndarray]:
        parts = max(1, size // self.cell)
        return [places] if parts == 1 else [places * parts + n for n in range(parts)]

    def load(
        self,
        run: Run,
        view: View,
        places: np.ndarray,
        active: np.ndarray | None,
        shape: tuple[int, ...],
        size: int,
    ) -> None:
        """A load by every program of the group; `places` count elements of `size` bytes."""
        if self.silent:
            return
        rows = run.count
        programs = run.programs.astype(np.int32).reshape(-1, *(1,) * len(shape))
        full = np.broadcast_shapes(places.shape, programs.shape)
        if active is not None:
            full = np.broadcast_shapes(full, active.shape)
        places = np.broadcast_to(places, full)
        who = np.broadcast_to(programs, full)
        if active is not None:
            keep = np.broadcast_to(active, full)
            places, who = places[keep], who[keep]
        else:
            places, who = places.reshape(-1), who.reshape(-1)
        self.lines["loads"] = run.line
        if self.reader is None:
            self.reader = self._new()
        for cells in self._cells(places, size):
            self._conflict(run, view, cells, who, self.writer, "loads", "stores to")
            if self.updater is not None:
                self._conflict(run, view, cells, who, self.updater, "loads", "updates")
            _remember(self.reader, cells, who, rows > 1)

    def store(self, run: Run, view: View, places: np.ndarray, who: np.ndarray, size: int) -> None:
        """A store by `who` (a program a lane)."""
        self.lines["stores to"] = run.line
        if self.silent:
            return
        places, who = places.reshape(-1), who.reshape(-1)
        for cells in self._cells(places, size):
            self._conflict(run, view, cells, who, self.writer, "stores to", "stores to")
            if self.reader is not None:
                self._conflict(run, view, cells, who, self.reader, "stores to", "loads")
            if self.updater is not None:
                self._conflict(run, view, cells, who, self.updater, "stores to", "updates")
            self.writer[cells] = who
            if run.count > 1:
                self._conflict(run, view, cells, who, self.writer, "stores to", "stores to")

    def atomic(self, run: Run, view: View, places: np.ndarray, who: np.ndarray, size: int) -> None:
        """An atomic update by `who`."""
        self.lines["updates"] = run.line
        if self.silent:
            return
        if self.updater is None:
            self.updater = self._new()
        for cells in self._cells(places, size):
            self._conflict(run, view, cells, who, self.writer, "updates", "stores to")
            if self.reader is not None:
                self._conflict(run, view, cells, who, self.reader, "updates", "loads")
            _remember(self.updater, cells, who, run.count > 1)

    def _conflict(
        self,
        run: Run,
        view: View,
        cells: np.ndarray,
        who: np.ndarray,
        past: np.ndarray,
        verb: str,
        other_verb: str,
    ) -> None:
        there = past[cells]
        clash = (there != NOBODY) & (there != who)
        if not clash.any():
            return
        at = int(clash.argmax())
        other = int(there[at])
        offset = int(cells[at]) * self.cell
        run.fail(
            Outcome.RACE,
            "tile_race",
            array=view.name,
            index=view.index_of(offset - (offset - view.offset_bytes) % view.itemsize),
            program=run.shown_program(int(who[at])),
            doing=verb,
            other=(
                "several other programs"
                if other == SEVERAL
                else f"program {run.shown_program(other)}"
            ),
            other_doing=other_verb if other != SEVERAL else _PLURAL[other_verb],
            other_line=self.lines.get(other_verb),
        )


_PLURAL = {"loads": "load", "stores to": "store to", "updates": "update"}


def _remember(past: np.ndarray, cells: np.ndarray, who: np.ndarray, several: bool) -> None:
    """Notes who was there: one program, or SEVERAL."""
    before = past[cells]
    mixed = (before != NOBODY) & (before != who)
    past[cells] = who
    if several:
        mixed |= past[cells] != who
    if mixed.any():
        past[cells[mixed]] = SEVERAL
