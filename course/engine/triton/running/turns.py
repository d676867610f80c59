"""Programs that take turns: one runs until it ends, or waits for what another has to do.

A program cannot be stopped in the middle, but it can be run again: what it loaded and what its
atomics found is kept, and given to it again without a second effect, until it is where it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.triton.running.atomics import updated
from course.engine.triton.running.locks import Order, Sem
from course.engine.triton.running.values import Value

if TYPE_CHECKING:
    from course.engine.triton.running.run import Run

#: How often a program lets others go first before an atomic; each time it starts anew.
MOST_PAUSES = 8


class PutOff(BaseException):
    """The running program goes on later. Nothing may take it for an error."""


class _Program:
    """One that has begun.

    Attributes:
        log: what its accesses gave.
        at: how many of them it has been given in this run.
        asked: by address, an atomic that changed nothing: the question, and the address's version.
        pauses: how often it let others go first; `fresh` until it makes an atomic.
        waits: the address that it waits for, or the last one.
        is_waiting: whether it does.
        seen: how often that address had changed when it began to wait.
        seen_changes: how often any had.
        stuck: how many there were when nobody was left who could end its wait.
        took: by address, an atomic that changed something: the question. One that asks the same
            there again takes from a queue, and lets the others come as often before; `let` is
            the access at which it did so last.
        woken: how often it was started again after a wait. Of those whose address has changed, one
            that was woken less goes first, and then the one that began to wait last: where turns
            are given in the order of programs and the last of them came first, it is the next
            one's.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.log: list[Any] = []
        self.at = 0
        self.asked: dict[int, tuple[Any, int]] = {}
        self.pauses = 0
        self.fresh = True
        self.waits = 0
        self.is_waiting = False
        self.seen = 0
        self.seen_changes = 0
        self.stuck: int | None = None
        self.took: dict[int, Any] = {}
        self.let = 0
        self.lets = False
        self.woken = 0


class Turns:
    """Who runs now, and who next.

    Args:
        together: how many programs are under way at once. Where it is more than one, every other
            one lets the rest go first before an atomic.
    """

    def __init__(self, run: Run, order: Order, together: int) -> None:
        self.run = run
        self.order = order
        self.together = together
        self.program = _Program(0)
        self.changes = 0
        self._versions: dict[int, int] = {}
        self._ready: deque[_Program] = deque()
        #: those that have let all others go first
        self._later: deque[_Program] = deque()
        #: by the address that they wait for
        self._waiting: dict[int, deque[_Program]] = {}
        #: those of the addresses that have changed since
        self._moved: dict[int, None] = {}

    @property
    def repeating(self) -> bool:
        """Whether the program only comes to where it was."""
        return self.program.at < len(self.program.log)

    @property
    def stuck(self) -> bool:
        """Whether the program waits, and nobody is left who could end that."""
        return self.program.stuck == self.changes

    def all(self, programs: Iterable[int], body: Callable[[], None]) -> None:
        """Runs every program, the first ones first."""
        begin = iter(programs)
        while (program := self._next(begin)) is not None:
            self.program = program
            program.at, program.fresh = 0, True
            self.order.start(program.number)
            self.run.start(np.array([program.number]))
            try:
                body()
            except PutOff:
                self.order.stop()
                if program.is_waiting:
                    self._waiting.setdefault(program.waits, deque()).append(program)
                else:
                    (self._later if program.lets else self._ready).append(program)
                program.lets = False

    def _next(self, begin: Iterator[int]) -> _Program | None:
        """Those that have not begun go before those that wait: more may have changed by then."""
        room = max(0, self.together - len(self._ready))
        self._ready.extend(map(_Program, islice(begin, room)))
        if not self._ready and self._later:
            self._ready.append(self._later.popleft())
        if not self._ready and self._waiting:
            self._ready.append(self._woken())
        return self._ready.popleft() if self._ready else None

    def _woken(self) -> _Program:
        """One that waited; nobody else can go on."""
        while self._moved:  # the last one first: it knows most
            address, _ = self._moved.popitem()
            behind = [
                program
                for program in reversed(self._waiting.get(address, ()))
                if program.seen < self._versions[address]
            ]
            if behind:
                self._moved[address] = None
                return self._taken(min(behind, key=lambda program: program.woken))
        every = [program for group in self._waiting.values() for program in group]
        for program in every:
            if program.seen_changes < self.changes:  # it may wait for something else, too
                return self._taken(program)
        every[0].stuck = self.changes
        return self._taken(every[0])

    def _taken(self, program: _Program) -> _Program:
        group = self._waiting[program.waits]
        group.remove(program)
        if not group:
            del self._waiting[program.waits]
        program.is_waiting = False
        program.woken += 1
        return program

    def once(self, effect: Callable[[], Any]) -> Any:
        """What an access gives; it is made once, however often its program starts."""
        program = self.program
        if not self.repeating:
            program.log.append(effect())
        program.at += 1
        return program.log[program.at - 1]

    # ------------------------------------------------------------ atomics of one element

    def atomic(
        self,
        operation: str,
        pointer: Value,
        value: Value,
        expected: Value | None,
        sem: Sem,
        make: Callable[[], Value],
    ) -> Value:
        """One atomic of the running program, where it is its turn."""
        address = int(pointer.data.flat[0])
        wanted = None if expected is None else expected.data.reshape(-1)
        given = value.data.reshape(-1)
        question = (operation, given.tobytes(), None if wanted is None else wanted.tobytes())
        self._wait(address, question)
        self._let(address, question)
        self._pause()
        order = self.order
        if operation in ("CAS", "XCHG"):
            held = order.still_held(address)
            if held is not None and not _changes(operation, held[0], given, wanted):
                order.wait(address)
                return self._found(held[0], pointer, held[1] if sem.acquires else None)
        heard = order.published(address)
        order.chain = heard if sem.acquires and sem.releases else None
        try:
            found = make()
        finally:
            order.chain = None
        data = found.data.reshape(-1)
        if sem.releases:  # one that changes nothing writes, too: what was there
            order.publish(address)
        if _changes(operation, data, given, wanted):
            self._changed(address)
            self.program.took[address] = question
            order.changed(address, given, operation in ("CAS", "XCHG"))
        else:
            self.program.asked[address] = (question, self._versions.get(address, 0))
        return self._found(data, pointer, heard if sem.acquires else None)

    def _found(self, data: np.ndarray, pointer: Value, heard: np.ndarray | None) -> Value:
        found = Value(data, pointer.scalar)
        found.heard = heard
        return found

    def _pause(self) -> None:
        """Lets others go first, where programs are under way together."""
        program = self.program
        pauses = self.together > 1 and program.number % 2 == 1
        if pauses and not program.fresh and program.pauses < MOST_PAUSES:
            program.pauses += 1
            raise PutOff
        program.fresh = False

    def _let(self, address: int, question: tuple[Any, ...]) -> None:
        """Lets all others go first, where the program takes from a queue again."""
        program = self.program
        if program.took.get(address) == question and program.let != program.at:
            program.let, program.lets = program.at, True
            raise PutOff

    def _wait(self, address: int, question: tuple[Any, ...]) -> None:
        """Puts off a program that asks anew in a `while`, where nothing has changed since."""
        program = self.program
        spins = any(loop.turns is None for loop in self.run.loops)
        if not spins or program.asked.get(address) != (question, self._versions.get(address, 0)):
            return
        if not self.stuck:
            program.waits, program.is_waiting = address, True
            program.seen = self._versions.get(address, 0)
            program.seen_changes = self.changes
            raise PutOff

    def _changed(self, address: int) -> None:
        self.changes += 1
        self._versions[address] = self._versions.get(address, 0) + 1
        self._moved.pop(address, None)
        self._moved[address] = None


def _changes(
    operation: str, there: np.ndarray, given: np.ndarray, wanted: np.ndarray | None
) -> bool:
    """Whether an atomic leaves something else than what was there."""
    after = there.copy()
    updated(operation, after, np.zeros(1, np.int64), given.astype(there.dtype), wanted)
    return after.tobytes() != there.tobytes()
