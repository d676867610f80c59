"""What one program knows of another: the order that atomics make.

In a kernel that looks at what its atomics find (or exchanges something, as for a lock), programs
run one after the other (`turns.py`). An atomic of one element publishes what its program
did so far and what it knew, unless it is relaxed; a later one on the same address finds that. But
its program knows it only once it looks at what the atomic found: in a condition, a mask, an
address or a loop's bounds. An order that nobody looked at is a coincidence. An access behind one
that its program knows of is ordered; any other two race.

Whether a program waits for a lock shows where the lock is not free. So one that asks for a lock
which another held and let go meets it still held, once: a schedule that a GPU may well have. One
that waits asks again, and one that goes on is not ordered behind the holder.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from course.engine.triton.running.values import Value

_NOTHING = -1


@dataclass
class _Lock:
    """One address that programs exchange.

    Attributes:
        held: what the last one that took it put there.
        heard: what the address told of then.
        holder: who has it now, or `_NOTHING`.
        last: who took it last.
        met: who has met it held, and may have it next.
    """

    held: np.ndarray
    heard: np.ndarray | None
    holder: int
    last: int
    met: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Sem:
    """What an atomic orders beside its own address."""

    acquires: bool
    releases: bool


def sem_of(policy: tuple[object, ...]) -> Sem:
    """The last operands of an atomic, read: its semantics and its scope."""
    names = {str(operand).rsplit(".", 1)[-1] for operand in policy}
    if names & {"RELAXED", "CTA"}:
        return Sem(False, False)
    return Sem("RELEASE" not in names, "ACQUIRE" not in names)


class Order:
    """What orders the accesses of programs that run one after the other.

    Attributes:
        now: accesses so far.
        relied: whether two accesses were no race only because of what a program knew.
        arrivals: whether an atomic came to what another program's had changed before.
        chain: what an atomic that is being made finds published, where it publishes it, too.
    """

    def __init__(self, programs: int) -> None:
        self.now = 0
        self.relied = False
        self.arrivals = False
        self.chain: np.ndarray | None = None
        self._locks: dict[int, _Lock] = {}
        self._published: dict[int, np.ndarray] = {}
        #: by program: its last access
        self._last = np.full(programs, _NOTHING, np.int32)
        self._program = _NOTHING
        #: by program: up to which access the running one knows what that one did
        self._known = self._last
        self._put_off: dict[int, np.ndarray] = {}

    # ------------------------------------------------------------ who runs, and what it knows

    def start(self, program: int) -> None:
        """A program begins, or goes on."""
        self._program = program
        known = self._put_off.pop(program, None)
        self._known = np.full_like(self._last, _NOTHING) if known is None else known

    def stop(self) -> None:
        """The running program will go on later."""
        if (self._known != _NOTHING).any():
            self._put_off[self._program] = self._known

    def access(self) -> None:
        """The running program makes an access."""
        self.now += 1
        self._last[self._program] = self.now

    def look(self, *values: Value | None) -> None:
        """What the running program does next depends on these values."""
        for value in values:
            if value is not None and value.heard is not None:
                np.maximum(self._known, value.heard, out=self._known)

    def unknown(
        self, others: np.ndarray, times: np.ndarray, chain: np.ndarray | None = None
    ) -> np.ndarray:
        """Where neither the running program nor `chain` tells what `others` did at `times`."""
        known = self._known if chain is None else np.maximum(self._known, chain)
        return times > known[others]

    def horizon(self) -> int:
        """Up to which access the running program knows everything that any other one did."""
        behind = self._last > self._known
        behind[self._program] = False
        return int(self._known[behind].min()) if behind.any() else self.now

    # ------------------------------------------------------------ atomics

    def published(self, address: int) -> np.ndarray | None:
        """What there is to know at an address."""
        return self._published.get(address)

    def publish(self, address: int) -> None:
        """The running program has written an address, and tells all that it knows."""
        there = self._published.get(address)
        mine = self._known.copy() if there is None else np.maximum(self._known, there)
        mine[self._program] = self.now
        self._published[address] = mine

    def still_held(self, address: int) -> tuple[np.ndarray, np.ndarray | None] | None:
        """What a program finds, and hears, that asks for a lock and has to wait."""
        lock = self._locks.get(address)
        if lock is None or lock.holder != _NOTHING or self._program in (lock.last, *lock.met):
            return None
        return lock.held, lock.heard

    def wait(self, address: int) -> None:
        """The running program has met a lock held."""
        self._locks[address].met.add(self._program)

    def changed(self, address: int, value: np.ndarray, exchanged: bool) -> None:
        """The running program has put `value` there.

        A lock's holder lets it go with that; any other one takes it, if it exchanged.
        """
        lock = self._locks.get(address)
        if lock is not None and lock.holder == self._program:
            lock.holder = _NOTHING
        elif exchanged:
            heard = self._published.get(address)
            self._locks[address] = _Lock(value, heard, self._program, self._program)
