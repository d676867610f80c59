"""Locks: what a program that waited for one knows of those that held it before.

A kernel that names `tl.atomic_cas` or `tl.atomic_xchg` runs one program after the other. What a
program did before it let a lock go is known to each that then waited for this lock, and so is
whatever that one knew. An access behind one that its program knows of is ordered; any other two
race, lock or no lock.

Whether a program waits shows where the lock is not free. So one that asks for a lock which
another held and let go meets it still held, once: a schedule that a GPU may well have. One that
waits asks again, and one that goes on is not ordered behind anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_NOTHING = -1


@dataclass
class _Lock:
    """One address that programs exchange.

    Attributes:
        held: what the last one that took it put there.
        holder: who has it now, or `_NOTHING`.
        last: who took it last.
        put_off: who has met it held, and may have it next.
        known: up to which access of each program its next holder knows; None before the first.
    """

    held: Any
    holder: int
    last: int
    put_off: int = _NOTHING
    known: np.ndarray | None = None


class Order:
    """What orders the accesses of programs that run one after the other."""

    def __init__(self, programs: int) -> None:
        self._locks: dict[int, _Lock] = {}
        self._program = _NOTHING
        #: accesses so far
        self.now = 0
        #: by program: up to which access the running one knows what that one did
        self._known = np.full(programs, _NOTHING, np.int64)

    def access(self, program: int) -> int:
        """The number of an access that a program makes now."""
        if program != self._program:
            self._program = program
            self._known.fill(_NOTHING)
        self.now += 1
        return self.now

    def unknown(self, others: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Where the running program does not know what `others` (0 and more) did at `times`."""
        return times > self._known[others]

    def put_off(self, program: int, address: int) -> Any:
        """What a program finds that asks for a lock and has to wait; None where it has not."""
        lock = self._locks.get(address)
        if lock is None or lock.holder != _NOTHING or program in (lock.last, lock.put_off):
            return None
        lock.put_off = program
        return lock.held

    def exchanged(self, program: int, address: int, value: Any) -> None:
        """A program has put `value` there: its holder lets go, any other one takes it."""
        if self.released(program, address):
            return
        lock = self._locks.setdefault(address, _Lock(value, program, program))
        if lock.put_off == program and lock.known is not None:
            np.maximum(self._known, lock.known, out=self._known)
        lock.held, lock.holder, lock.last, lock.put_off = value, program, program, _NOTHING

    def released(self, program: int, address: int) -> bool:
        """Whether this was a lock that the program had, and lets go by any atomic on it."""
        lock = self._locks.get(address)
        if lock is None or lock.holder != program:
            return False
        mine = self._known.copy() if lock.known is None else np.maximum(self._known, lock.known)
        mine[program] = self.now
        lock.known, lock.holder = mine, _NOTHING
        return True
