"""What one launch has while it runs: its grid, the group of programs, the place in the source."""

from __future__ import annotations

import contextlib
import linecache
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.tile.locks import Order
from course.engine.tile.turns import Turns
from course.engine.tile.values import Value
from course.engine.traffic import Traffic
from course.plain.sectors import SECTOR_BYTES

PRINTED_LINES = 200
#: Of a program, unless `num_warps` says otherwise: four warps.
THREADS = 128


@dataclass
class Loop:
    """A loop that is being executed.

    Attributes:
        turns: of the program that has the most; None where a condition decides.
        turn: the one that is being executed, from 1.
    """

    line: int
    turns: int | None
    turn: int = 0


class Run:
    """The state that builder, memory and walker share.

    Attributes:
        programs: numbers of the programs that run now, ascending, x fastest.
        filename, line, column: the place in the learner's source that is being executed.
        largest: elements of the largest block of one program so far.
        debug: whether assertions are held, as with `debug=True` in a launch; else they are
            left out, as on a GPU.
    """

    def __init__(self, grid: tuple[int, int, int], step_limit: int, debug: bool = False) -> None:
        self.grid = grid
        self.step_limit = step_limit
        self.debug = debug
        self.steps = 0
        #: statements of the longest program of all batches before this one
        self.longest = 0
        self._first = 0
        self._together = 0
        self._apart = np.zeros(1, np.int64)
        self.programs = np.zeros(1, np.int64)
        self.filename = ""
        self.line = 0
        self.column = 0
        self.largest = 1
        #: bytes that the program which asks for most has asked for, in all batches before this one
        self.most_asked = 0
        #: bytes of the blocks of the program that goes through most of them, whatever the masks
        self.most_of_blocks = 0
        self._asked = np.zeros(1, np.int64)
        self._blocks = np.zeros(1, np.int64)
        #: turns of loops in which a program moved something, and nothing, over all programs
        self.busy_turns = 0
        self.idle_turns = 0
        self._moved = np.zeros(1, np.int64)
        self.printed: list[str] = []
        self._printed_statically: set[tuple[int, int, str]] = set()
        #: in the function that a reduction or a scan combines with
        self.combining = False
        #: the outermost first
        self.loops: list[Loop] = []
        #: called before each statement (see `course.notebook.triton_trace`)
        self.watch: Callable[[], None] | None = None
        self.memory: Any = None
        #: what orders programs, and who runs next, where they run one after the other
        self.order: Order | None = None
        self.turns: Turns | None = None
        self.merging: Any = None
        self._places: dict[int, np.ndarray] = {}

    def anew(self) -> Run:
        """The same launch, to be run once more."""
        again = Run(self.grid, self.step_limit, self.debug)
        again.place = self.place
        return again

    @property
    def count(self) -> int:
        """How many programs run now."""
        return len(self.programs)

    @property
    def place(self) -> tuple[str, int, int]:
        """File, line and column; set to go back to where a call stands."""
        return self.filename, self.line, self.column

    @place.setter
    def place(self, place: tuple[str, int, int]) -> None:
        self.filename, self.line, self.column = place

    @property
    def code(self) -> str:
        """The line that is being executed; nothing before the first one."""
        return linecache.getline(self.filename, self.line)

    @property
    def size(self) -> int:
        """How many programs the launch has."""
        x, y, z = self.grid
        return x * y * z

    def in_turns(self, together: int) -> Turns:
        """From now on atomics order programs, which run one after the other."""
        self.order = Order(self.size)
        self.turns = Turns(self, self.order, together)
        return self.turns

    def look(self, *values: Value | None) -> None:
        """What the program does next depends on these values."""
        if self.order is not None:
            self.order.look(*values)

    def start(self, programs: np.ndarray) -> None:
        """The next batch of programs, numbered in sequence."""
        self.end()
        self.programs = programs
        self.steps = 0
        self._first = int(programs[0])
        self._apart = np.zeros(len(programs), np.int64)
        self._asked = np.zeros(len(programs), np.int64)
        self._blocks = np.zeros(len(programs), np.int64)
        self._moved = np.zeros(len(programs), np.int64)

    def asks(self, sectors: np.ndarray | int, shape: tuple[int, ...], itemsize: int) -> None:
        """Each program of the group has asked for a block of memory.

        Lanes that a mask has switched off count in the block all the same: an access that moves
        nothing is issued as any other. One smaller than a program's threads keeps all of them busy.

        Args:
            sectors: (programs or 1,) that its lanes touch where the mask is true.
            shape: the block's; () for one element.
            itemsize: bytes of an element.
        """
        running = self.programs - self._first
        self._asked[running] += sectors * SECTOR_BYTES
        self.moves(np.asarray(sectors) > 0)
        lanes = math.prod(shape)
        self._blocks[running] += (max(lanes, THREADS) if lanes > 1 else 1) * itemsize

    def moves(self, which: np.ndarray) -> None:
        """In the turn of a loop that is being executed some programs of the group move memory."""
        self._moved[self.programs - self._first] += which

    @contextlib.contextmanager
    def ahead(self) -> Iterator[np.ndarray]:
        """A copy for a later turn, which is the busy one; gives who moves something, at its end."""
        running = self.programs - self._first
        before = self._moved[running]
        moved = np.zeros(len(running), np.bool_)
        yield moved
        moved[:] = self._moved[running] > before
        self._moved[running] = before

    def end(self) -> None:
        """The batch has run."""
        self.most_asked = max(self.most_asked, int(self._asked.max()))
        self.most_of_blocks = max(self.most_of_blocks, int(self._blocks.max()))
        self.longest = max(self.longest, self._together + int(self._apart.max()))
        self._together = 0

    def noted(self, traffic: Traffic) -> Traffic:
        """The traffic, with what programs went through beside it."""
        traffic.longest_program = self.longest
        traffic.program_bytes = self.most_asked
        traffic.block_bytes = self.most_of_blocks
        traffic.busy_turns, traffic.idle_turns = self.busy_turns, self.idle_turns
        return traffic

    def program_id(self, axis: int) -> np.ndarray:
        """(programs,) int32: the place of each along one axis of the grid."""
        x, y, _ = self.grid
        ids = self.programs
        if self.grid[axis] == 1:
            return np.zeros(1, np.int32)
        if axis == 0:
            return (ids % x).astype(np.int32)
        return (ids // x % y if axis == 1 else ids // (x * y)).astype(np.int32)

    def shown_program(self, number: int) -> str:
        """A program's place in the grid, as `tl.program_id` counts."""
        x, y, z = self.grid
        place = (number % x, number // x % y, number // (x * y))
        if z > 1:
            return f"({place[0]}, {place[1]}, {place[2]})"
        return f"({place[0]}, {place[1]})" if y > 1 else str(place[0])

    def note_size(self, elements: int) -> None:
        """Remembers the largest block: it decides how many programs run at once."""
        if elements > self.largest:
            self.largest = elements

    def step(self, statements: int = 1) -> None:
        """One statement of one group, or several."""
        if self.watch is not None and not (self.turns is not None and self.turns.repeating):
            self.watch()
        self.steps += statements
        self._count(statements)
        if self.steps > self.step_limit:
            raise self._timed_out()

    def _count(self, statements: int = 1) -> None:
        """Each program of the group has made so many more statements."""
        if len(self.programs) == len(self._apart):
            self._together += statements
        else:
            self._apart[self.programs - self._first] += statements

    @contextlib.contextmanager
    def each_as_a_program(self, count: int) -> Iterator[None]:
        """Pairs of elements that a reduction or a scan combines, each like a program.

        Whichever way they go, a program has made one statement.
        """
        before = self.programs, self._apart, self._first, self.watch
        together = self._together
        self.programs, self._first, self.watch = np.arange(count), 0, None
        self._apart = np.zeros(count, np.int64)
        self.combining = True
        try:
            yield
        finally:
            self.programs, self._apart, self._first, self.watch = before
            self._together, self.combining = together, False
            self._count()

    @contextlib.contextmanager
    def loop(self, turns: int | None) -> Iterator[Loop]:
        """A loop on this line, from its first turn to its last."""
        self.loops.append(Loop(self.line, turns))
        try:
            yield self.loops[-1]
        finally:
            self.loops.pop()

    @contextlib.contextmanager
    def a_turn(self) -> Iterator[None]:
        """A loop's body, once: busy for the programs that load, store or add something in it."""
        if self.combining:
            yield
            return
        running = self.programs - self._first
        before = self._moved[running]
        yield
        busy = int(np.count_nonzero(self._moved[running] > before))
        self.busy_turns += busy
        self.idle_turns += len(running) - busy

    def _timed_out(self) -> KernelFault:
        """Too many statements; the loop with the most turns so far is the one to look at."""
        busiest = max(self.loops, key=lambda loop: loop.turn, default=None)
        fields: dict[str, object] = {
            "steps": self.step_limit,
            "program": self.shown_program(int(self.programs[0])),
        }
        if busiest is None:
            return self.fault(Outcome.TIMED_OUT, "tile_timed_out", **fields)
        fields["turn"] = busiest.turn
        if self.turns is not None and self.turns.stuck:
            place = self.memory.place(self.turns.program.waits)
            return KernelFault(Outcome.TIMED_OUT, "tile_waits", busiest.line, **fields, **place)
        if busiest.turns is None:
            return KernelFault(Outcome.TIMED_OUT, "tile_timed_out", busiest.line, **fields)
        fields["turns"] = busiest.turns
        return KernelFault(Outcome.TIMED_OUT, "tile_many_turns", busiest.line, **fields)

    def fault(self, outcome: Outcome, message_id: str, **fields: object) -> KernelFault:
        """A fault on the line that is being executed."""
        return KernelFault(outcome, message_id, self.line or None, **fields)

    def fail(self, outcome: Outcome, message_id: str, **fields: object) -> NoReturn:
        """Raises it."""
        raise self.fault(outcome, message_id, **fields)

    # ------------------------------------------------------------ words from the kernel

    def print_statically(self, text: str) -> None:
        """`tl.static_print`: once a call and text, as a compiler meets it once."""
        said = (self.line, self.column, text)
        if said not in self._printed_statically and len(self._printed_statically) < PRINTED_LINES:
            self._printed_statically.add(said)
            print(text)

    def print_values(self, prefix: str, hex_: bool, values: list[Value]) -> None:
        """`tl.device_print`, a line a program and value; the first few hundred lines."""
        for at, program in enumerate(self.programs):
            if len(self.printed) > PRINTED_LINES:
                return
            if len(self.printed) == PRINTED_LINES:
                self.printed.append(f"... (only the first {PRINTED_LINES} lines are shown)")
                return
            shown = []
            for value in values:
                data = value.whole()
                row = data[at if data.shape[0] > 1 else 0]
                shown.append(np.vectorize(hex)(row) if hex_ and row.dtype.kind == "i" else row)
            text = " ".join(str(item) for item in shown)
            self.printed.append(f"program {self.shown_program(int(program))}:{prefix}{text}")

    def check_assertion(self, condition: Value, message: str) -> None:
        """`tl.device_assert` and `assert`."""
        data = condition.whole()
        rows = data.reshape(data.shape[0], -1).all(axis=1)
        if not rows.all():
            at = int(np.argmin(rows))
            program = self.programs[at if data.shape[0] > 1 else 0]
            self.fail(
                Outcome.WRONG_ANSWER,
                "tile_assertion",
                program=self.shown_program(int(program)),
                message=message,
            )
