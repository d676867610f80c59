"""What one launch has while it runs: its grid, the group of programs, the place in the source."""

from __future__ import annotations

import contextlib
import linecache
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.printed import Printed
from course.engine.traffic import Traffic, busiest_line
from course.engine.triton.running.locks import Order
from course.engine.triton.running.turns import Turns
from course.engine.triton.running.values import Value
from course.plain.sectors import SECTOR_BYTES

#: What a program copies from a tensor for later: whether anything moves, and the block's bytes.
COPY = np.dtype([("moved", np.bool_), ("bytes", np.int64)])
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


@dataclass(frozen=True, eq=False)
class Spent:
    """What a program spends on a block of code.

    Attributes:
        functions: what the functions among its statements count for beside these.
        lines: both, line by line.
    """

    statements: int
    functions: int
    lines: Mapping[int, int]


#: The places of all programs of a batch.
_ALL = slice(None)


class _Tally:
    """How much each program of a batch has of something."""

    def __init__(self, programs: int) -> None:
        self._together = 0
        self._apart = np.zeros(programs, np.int64)

    def add(self, running: slice | np.ndarray, more: Any) -> None:
        """To the programs at these places: one number for all, or one for each."""
        if running is _ALL and isinstance(more, int):
            self._together += more
        else:
            self._apart[running] += more

    def of(self, running: slice | np.ndarray = _ALL) -> np.ndarray:
        """(programs,) what those at these places have."""
        counts: np.ndarray = self._together + self._apart[running]
        return counts

    def __getitem__(self, program: int) -> int:
        return self._together + int(self._apart[program])


def _of(by_line: Mapping[int, _Tally], program: int) -> dict[int, int]:
    """What one program has of each line."""
    return {line: tally[program] for line, tally in by_line.items()}


class Run:
    """The state that machine and memory share.

    Attributes:
        programs: numbers of the programs that run now, ascending, x fastest.
        filename, line, column: the place in the learner's source that is being executed.
        debug: whether assertions are held, as with `debug=True` in a launch; else they are
            left out, as on a GPU.
    """

    def __init__(self, grid: tuple[int, int, int], step_limit: int, debug: bool = False) -> None:
        self.grid = grid
        self.step_limit = step_limit
        self.debug = debug
        self.steps = 0
        #: by what is counted: the most that a program of a batch before this one has of it, and
        #: the line at which it has most of that
        self.most = dict.fromkeys(("program_bytes", "block_bytes", "longest_program"), 0)
        self.busiest_lines: dict[str, int] = {}
        self.programs = np.zeros(1, np.int64)
        self.filename = ""
        self.line = 0
        self.column = 0
        #: turns of loops in which a program moved something, and nothing, over all programs
        self.busy_turns = 0
        #: the latter by the line of the loop
        self.idle_turn_sites: dict[int, int] = {}
        #: how many programs have moved anything; where they take turns, which
        self._busy = 0
        self._busy_in_turns: set[int] = set()
        #: groups of warps that both copied by TMA and multiplied, of all programs together
        self.undivided = 0
        #: programs beside most of whose products no TMA load was under way
        self.unoverlapped = 0
        self.printed = Printed()
        #: in the function that a reduction or a scan combines with
        self.combining = False
        #: the outermost first
        self.loops: list[Loop] = []
        #: called at each step that was left in the code (`course.engine.triton.compiling.steps`)
        self.watch: Callable[[Any, list[Value]], None] | None = None
        self.memory: Any = None
        #: what orders programs, and who runs next, where they run one after the other
        self.order: Order | None = None
        self.turns: Turns | None = None
        self._places: dict[int, np.ndarray] = {}
        self._begin(self.programs)

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
    def at_first(self) -> bool:
        """Whether these are of the first programs that run together."""
        return self._first == 0 if self.turns is None else int(self.programs[0]) == 0

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
        self._begin(programs)

    def _begin(self, programs: np.ndarray) -> None:
        self.programs = programs
        self.steps = 0
        self._first, self._count = int(programs[0]), len(programs)
        #: statements of each program of the batch
        self._made = self._tally()
        #: bytes that it has asked for, line by line, and of blocks whatever the masks
        self._asked: dict[int, _Tally] = defaultdict(self._tally)
        self._gone_through: dict[int, _Tally] = defaultdict(self._tally)
        self._blocks, self._moved = self._tally(), self._tally()
        #: how often it has run a block
        self._ran: dict[Spent, _Tally] = defaultdict(self._tally)
        #: what it has copied, and read for the next turn of a loop, if anything
        self._next = np.zeros(len(programs), COPY)
        self._awaited = False

    def _tally(self) -> _Tally:
        return _Tally(self._count)

    def asks(self, sectors: np.ndarray | int, shape: tuple[int, ...], itemsize: int) -> None:
        """Each program of the group has asked for a block of memory.

        Lanes that a mask has switched off count in the block all the same: an access that moves
        nothing is issued as any other. One smaller than a program's threads keeps all of them busy.

        Args:
            sectors: (programs or 1,) that its lanes touch where the mask is true, or a number.
            shape: the block's; () for one element.
            itemsize: bytes of an element.
        """
        running = self._running()
        lanes = math.prod(shape)
        block_bytes = (max(lanes, THREADS) if lanes > 1 else 1) * itemsize
        alike = isinstance(sectors, int) or len(sectors) == 1
        asked = (int(np.ravel(sectors)[0]) if alike else sectors) * SECTOR_BYTES
        self._asked[self.line].add(running, asked)
        self._gone_through[self.line].add(running, block_bytes)
        self._blocks.add(running, block_bytes)
        self._moved.add(running, int(asked > 0) if alike else asked > 0)

    def moves(self, which: np.ndarray) -> None:
        """In the turn of a loop that is being executed some programs of the group move memory."""
        self._moved.add(self._running(), which)

    def _running(self) -> np.ndarray | slice:
        """The group's places among the programs of the batch."""
        return _ALL if len(self.programs) == self._count else self.programs - self._first

    @contextlib.contextmanager
    def ahead(self) -> Iterator[np.ndarray]:
        """A copy for a later turn, which is the one that counts it; gives it, a `COPY` a program.

        A pipelined loop copies behind its last turn, too, with a mask that is nowhere true.
        """
        running = self._running()
        moved, blocks = self._moved.of(running), self._blocks.of(running)
        copied = np.zeros(len(moved), COPY)
        yield copied
        moves = self._moved.of(running) - moved
        copied["moved"] = moves > 0
        copied["bytes"] = self._blocks.of(running) - blocks
        self._moved.add(running, -moves)
        self._blocks.add(running, -copied["bytes"])

    def arrives(self, copied: np.ndarray) -> None:
        """What each program of the group has copied is read for the first time."""
        running = self._running()
        self._moved.add(running, copied["moved"])
        self._blocks.add(running, copied["bytes"])

    def arrives_next(self, copied: np.ndarray) -> None:
        """As `arrives`, once the next turn of a loop begins; behind the last there is none."""
        running = self._running()
        self._next["moved"][running] |= copied["moved"]
        self._next["bytes"][running] += copied["bytes"]
        self._awaited = True

    def end(self) -> None:
        """The batch has run."""
        asked = sum((one.of() for one in self._asked.values()), np.zeros(1, np.int64))
        through = self._blocks.of()
        self._note("program_bytes", asked, lambda program: _of(self._asked, program))
        self._note("block_bytes", through, lambda program: _of(self._gone_through, program))
        self._note("longest_program", self._made.of(), self._statements)
        busy = int(np.count_nonzero(self._moved.of()))
        if self.turns is None:
            self._busy += busy
        elif busy:  # a program that waited has begun more than once
            self._busy_in_turns.add(self._first)

    def _note(self, name: str, counts: np.ndarray, of: Callable[[int], Mapping[int, int]]) -> None:
        """Of the batch's programs, the one that has most of something, and its busiest line."""
        program = int(counts.argmax())
        if counts[program] > self.most[name]:
            self.most[name] = int(counts[program])
            if (line := busiest_line(of(program))) is not None:
                self.busiest_lines[name] = line

    def _statements(self, program: int) -> dict[int, int]:
        """Statements of one program of the batch, line by line."""
        lines: Counter[int] = Counter()
        for spent, times in self._ran.items():
            for line, statements in spent.lines.items():
                lines[line] += statements * times[program]
        return lines

    def noted(self, traffic: Traffic) -> Traffic:
        """The traffic, with what programs went through beside it."""
        traffic.longest_program = self.most["longest_program"]
        traffic.program_bytes = self.most["program_bytes"]
        traffic.block_bytes = self.most["block_bytes"]
        traffic.busiest_lines = dict(self.busiest_lines)
        traffic.busy_turns, traffic.idle_turn_sites = self.busy_turns, self.idle_turn_sites
        traffic.idle_programs = self.size - self._busy - len(self._busy_in_turns)
        traffic.undivided, traffic.unoverlapped = self.undivided, self.unoverlapped
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

    def shown_program(self, number: int | None = None) -> str:
        """A program's place in the grid, as `tl.program_id` counts; of the first that runs now."""
        x, y, z = self.grid
        number = int(self.programs[0]) if number is None else int(number)
        place = (number % x, number // x % y, number // (x * y))
        if z > 1:
            return str(place)
        return str(place[:2]) if y > 1 else str(place[0])

    def step(self, spent: Spent) -> None:
        """A block of statements of one group."""
        self.steps += spent.statements
        running = self._running()
        self._made.add(running, spent.statements + spent.functions)
        if not self.combining:
            self._ran[spent].add(running, 1)
        if self.steps > self.step_limit:
            raise self._timed_out()

    @contextlib.contextmanager
    def each_as_a_program(self, count: int) -> Iterator[None]:
        """Pairs of elements that a reduction or a scan combines, each like a program.

        Whichever way they go, a program has made one statement.
        """
        before = self.programs, self._made, self._first, self._count, self.watch
        self.programs, self._first, self._count = np.arange(count), 0, count
        self._made, self.watch = self._tally(), None
        self.combining = True
        try:
            yield
        finally:
            self.programs, self._made, self._first, self._count, self.watch = before
            self.combining = False
            self._made.add(self._running(), 1)

    @contextlib.contextmanager
    def loop(self, turns: int | None) -> Iterator[Loop]:
        """A loop on this line, from its first turn to its last."""
        self.loops.append(Loop(self.line, turns))
        try:
            yield self.loops[-1]
        finally:
            self.loops.pop()
            if not self.combining:
                self._next[self._running()] = 0

    @contextlib.contextmanager
    def a_turn(self) -> Iterator[None]:
        """A loop's body, once: busy for the programs that load, store or add something in it."""
        if self.combining:
            yield
            return
        running = self._running()
        before = self._moved.of(running)
        if self._awaited:
            self.arrives(self._next[running])
            self._next[running] = 0
        yield
        busy = int(np.count_nonzero(self._moved.of(running) > before))
        self.busy_turns += busy
        if idle := len(before) - busy:
            line = self.loops[-1].line
            self.idle_turn_sites[line] = self.idle_turn_sites.get(line, 0) + idle

    def _timed_out(self) -> KernelFault:
        """Too many statements; the loop with the most turns so far is the one to look at."""
        busiest = max(self.loops, key=lambda loop: loop.turn, default=None)
        fields: dict[str, object] = {"steps": self.step_limit, "program": self.shown_program()}
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

    def print_values(self, prefix: str, hex_: bool, values: list[Value]) -> None:
        """`tl.device_print`, a line a program."""

        def line(at: int, program: int) -> str:
            shown = []
            for value in values:
                data = value.whole()
                row = data[at if data.shape[0] > 1 else 0]
                shown.append(np.vectorize(hex)(row) if hex_ and row.dtype.kind == "i" else row)
            text = " ".join(str(item) for item in shown)
            return f"program {self.shown_program(program)}:{prefix}{text}"

        lines = (line(at, int(program)) for at, program in enumerate(self.programs))
        self.printed.add(len(self.programs), lines)

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
                program=self.shown_program(program),
                message=message,
            )
