"""Conflicts between programs: nothing in one launch orders one program before another.

Two programs that store to one element, or one that loads what another stored or will store,
race, unless both use atomics. Running programs together would hide that, so each element of
a tensor that the kernel stores to remembers who stored to it, who loaded it, and who updated
it atomically. Where programs look at what atomics find, it remembers when, too: an atomic may have
ordered the two (`course.engine.triton.running.locks`).

A read of what nothing has written is told when the launch ends. Until then another program may
store there, and the two race, whichever of them ran first here.
"""

from __future__ import annotations

import numpy as np

from course.engine.equal_stores import hearing
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.running.locks import Order
from course.engine.triton.running.run import Run
from course.engine.triton.running.sites import Access
from course.engine.triton.running.tensors import Allocation, View

NOBODY, SEVERAL = -1, -2


class Past:
    """Who did one kind of thing to each cell last: a program, or SEVERAL that nothing orders.

    Where atomics may order programs, `when` counts accesses: see `locks.py`. The line of
    each cell is kept from the second line on that does such a thing; before, one stands for all.
    """

    def __init__(self, cells: int, timed: bool) -> None:
        self.who = np.full(cells, NOBODY, np.int32)
        self.when = np.zeros(cells, np.int64) if timed else None
        self._line = 0
        self._lines: np.ndarray | None = None

    def others(
        self,
        cells: np.ndarray,
        who: np.ndarray,
        order: Order | None,
        chain: np.ndarray | None = None,
    ) -> np.ndarray:
        """Where somebody else was whom nothing orders before `who`."""
        there = self.who[cells]
        others = (there != NOBODY) & (there != who)
        if order is not None and self.when is not None and others.any():
            when = self.when[cells]
            unknown = order.unknown(np.maximum(there, 0), when, chain)
            several = there == SEVERAL
            if several.any():
                unknown = np.where(several, when > order.horizon(), unknown)
            others &= unknown
        return others

    def divide(self, parts: int) -> None:
        """Makes `parts` cells of each."""
        self.who = self.who.repeat(parts)
        if self.when is not None:
            self.when = self.when.repeat(parts)
        if self._lines is not None:
            self._lines = self._lines.repeat(parts)

    def remember(
        self,
        cells: np.ndarray,
        who: np.ndarray,
        line: int,
        several: bool,
        order: Order | None,
        chain: np.ndarray | None = None,
    ) -> None:
        """Notes who was there: one program, or SEVERAL. `chain` is known with the last of them."""
        mixed = self.others(cells, who, order, chain)
        self.note(cells, who, line, order)
        if several:
            mixed |= self.who[cells] != who
        if mixed.any():
            self.who[cells[mixed]] = SEVERAL

    def note(self, cells: np.ndarray, who: np.ndarray, line: int, order: Order | None) -> None:
        """Notes who was there last, whoever was there before."""
        self.who[cells] = who
        if order is not None and self.when is not None:
            self.when[cells] = order.now
        if self._lines is None and line != self._line:
            if self._line:
                self._lines = np.full(len(self.who), self._line, np.int32)
            self._line = line
        if self._lines is not None:
            self._lines[cells] = line

    def line(self, cell: int) -> int:
        """Of the source, where a cell was touched last."""
        return self._line if self._lines is None else int(self._lines[cell])


class TooEarly:
    """The first read of memory that nothing had written, by the first program that has one."""

    def __init__(self) -> None:
        self.fault: KernelFault | None = None
        self._program = 0

    def note(self, run: Run, view: View, offset: int, program: int, verb: str) -> None:
        """A program reads the byte at `offset`."""
        if self.fault is not None and program >= self._program:
            return
        self._program = program
        self.fault = run.fault(
            Outcome.UNINITIALISED,
            "tile_uninitialised",
            array=view.name,
            index=view.index_of(view.element_at(offset)),
            program=run.shown_program(program),
            doing=verb,
        )


class History:
    """Who touched each cell of one allocation in this launch.

    A cell is as long as the smallest element of any view of the allocation, or as the smallest
    access through a pointer that was cast.
    """

    def __init__(self, allocation: Allocation, ordered: bool, too_early: TooEarly) -> None:
        self.allocation = allocation
        self.cell = allocation.cell
        self.ordered = ordered
        self.too_early = too_early
        self.writer = self._new()
        self.reader: Past | None = None
        self.updater: Past | None = None

    def _new(self) -> Past:
        return Past(len(self.allocation.bytes) // self.cell + 8, self.ordered)

    def _cells(self, places: np.ndarray, size: int) -> list[np.ndarray]:
        if size < self.cell:
            self._refine(size)
        parts = size // self.cell
        return [places] if parts == 1 else [places * parts + n for n in range(parts)]

    def _refine(self, cell: int) -> None:
        """From now on each cell stands for `cell` bytes, and for what its larger one knew."""
        for past in (self.writer, self.reader, self.updater):
            if past is not None:
                past.divide(self.cell // cell)
        self.cell = cell

    def settle(self) -> None:
        """The launch has ended: what it stored is written for the next one."""
        marks = self._unwritten()
        if marks is not None:
            marks[self.writer.who[: len(marks)] != NOBODY] = 0

    def _unwritten(self) -> np.ndarray | None:
        """Cell by cell, 0 where the launch found all bytes written."""
        marks = self.allocation.unwritten
        return None if marks is None else marks.view(f"u{self.cell}")

    def _read(self, run: Run, view: View, cells: np.ndarray, who: np.ndarray, verb: str) -> None:
        """Notes who reads what neither this launch nor anything before has written."""
        marks = self._unwritten()
        if marks is None:
            return
        early = (marks[cells] != 0) & (self.writer.who[cells] == NOBODY)
        if early.any():
            lanes = np.flatnonzero(early)
            at = int(lanes[who[lanes].argmin()])
            self.too_early.note(run, view, int(cells[at]) * self.cell, int(who[at]), verb)

    def _order(self, run: Run) -> Order | None:
        """What orders this access of the program that runs, where atomics may."""
        if run.order is not None:
            run.order.access()
        return run.order

    def load(self, access: Access, places: np.ndarray, size: int) -> None:
        """A load by every program of the group; `places` count elements of `size` bytes."""
        run, view, active = access.run, access.view, access.active
        programs = run.programs.astype(np.int32).reshape(-1, *(1,) * len(access.shape))
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
        order = self._order(run)
        if self.reader is None:
            self.reader = self._new()
        for cells in self._cells(places, size):
            self._conflict(run, view, cells, who, "loads", ("stores to", "updates"), order)
            self._read(run, view, cells, who, "loads")
            self.reader.remember(cells, who, run.line, run.count > 1, order)

    def store(
        self,
        run: Run,
        view: View,
        places: np.ndarray,
        who: np.ndarray,
        size: int,
        lost: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
        boxed: bool = False,
    ) -> None:
        """A store by `who` (a program a lane).

        Args:
            boxed: by a descriptor, which leaves out what lies past a row's end by itself.
            lost: where it overwrites another value, and where another one is there then; None
                where that makes no difference (see `course.engine.equal_stores`).
        """
        over, under = (None if one is None else one.reshape(-1) for one in lost)
        order = self._order(run)
        places, who = places.reshape(-1), who.reshape(-1)
        for cells in self._cells(places, size):
            others: tuple[str, ...] = ("stores to", "loads", "updates")
            self._conflict(run, view, cells, who, "stores to", others, order, over, boxed)
            self.writer.note(cells, who, run.line, order)
            if run.count > 1:
                others = ("stores to",)
                self._conflict(run, view, cells, who, "stores to", others, order, under, boxed)

    def atomic(
        self, run: Run, view: View, places: np.ndarray, who: np.ndarray, size: int, unread: bool
    ) -> None:
        """An atomic update by `who`; `unread`: a store, for memory that nothing has written."""
        order = self._order(run)
        if self.updater is None:
            self.updater = self._new()
        for cells in self._cells(places, size):
            self._conflict(run, view, cells, who, "updates", ("stores to", "loads"), order)
            marks = self._unwritten() if unread else None
            if marks is None:
                self._read(run, view, cells, who, "updates")
            else:
                marks[cells] = 0
            if order is not None and not order.arrivals:
                order.arrivals = bool(self.updater.others(cells, who, None).any())
            chain = None if order is None else order.chain
            self.updater.remember(cells, who, run.line, run.count > 1, order, chain)

    def _conflict(
        self,
        run: Run,
        view: View,
        cells: np.ndarray,
        who: np.ndarray,
        verb: str,
        others: tuple[str, ...],
        order: Order | None,
        lost: np.ndarray | None = None,
        boxed: bool = False,
    ) -> None:
        """Holds an access against what programs have done before, by these verbs in turn."""
        pasts = {"stores to": self.writer, "loads": self.reader, "updates": self.updater}
        for other_verb in others:
            past = pasts[other_verb]
            if past is None:
                continue
            clash = past.others(cells, who, order)
            if order is not None and not order.relied:
                order.relied = bool((past.others(cells, who, None) & ~clash).any())
            if not np.count_nonzero(clash):
                continue
            unequal = clash if lost is None or other_verb != "stores to" else clash & lost
            at = int((unequal if unequal.any() else clash).argmax())
            program = int(past.who[cells[at]])
            several = program == SEVERAL
            other = f"program {run.shown_program(program)}"
            fault = run.fault(
                Outcome.RACE,
                "tile_race",
                array=view.name,
                index=view.index_of(view.element_at(int(cells[at]) * self.cell)),
                shape=view.shape,
                program=run.shown_program(who[at]),
                grid=run.grid,
                doing=verb,
                other="several other programs" if several else other,
                other_doing=_PLURAL[other_verb] if several else other_verb,
                other_line=past.line(int(cells[at])) or None,
                columns=None if boxed else _left_by_rows(view, self.cell * cells[who == who[at]]),
            )
            if unequal.any() or (hears := hearing()) is None:
                raise fault
            hears(fault)


def _left_by_rows(view: View, offsets: np.ndarray) -> int | None:
    """A matrix's columns, where a program's rows reach past them, into the next rows."""
    if len(view.shape) != 2 or not view.contiguous:
        return None
    columns = view.shape[1]
    elements = (offsets - view.offset_bytes) // view.itemsize
    own = np.unique(elements)
    last_row = own[own // columns == own[-1] // columns]
    begun = own[-1] // columns > own[0] // columns and last_row[0] % columns == 0
    return columns if len(own) < len(elements) or (begun and len(last_row) < columns) else None


_PLURAL = {"loads": "load", "stores to": "store to", "updates": "update"}
