"""Warps of one program that go their own ways, and what each of them knows to be done.

Copies and products are made where they are issued. That they may take longer on a GPU shows in
what is known: whoever touches shared or tensor memory must know each access before it that
conflicts with its own. An agent knows what it did itself, step by step; of what it only issued
(TMA, cp.async, wgmma, tcgen05), and of what other agents did, it knows what a barrier or a wait has
told it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.running.frames import Array
from course.engine.triton.running.run import Loop, Run
from course.engine.triton.running.values import Unsupported

#: What an agent does; it yields where it has to wait.
Work = Generator[None, None, Any]
#: Work that numpy may spend on whether two parts of a buffer meet; beyond it they count as if so.
_OVERLAP_WORK = 10_000
#: Copies, and products, that may be under way at once: no ring has more buffers.
_UNDER_WAY = 64
#: Of fewer products than these most may have no copy beside them: the last ones never do.
_FEWEST_PRODUCTS = 4
#: What warps with one job each do not do both, as messages say it.
COPIES = "a TMA load writes"
WGMMA, TCGEN05 = "a product (wgmma) reads", "a product (tcgen05) reads"
PRODUCTS = frozenset({WGMMA, TCGEN05})
#: What an arrival at a barrier is, as messages say it of others' warps.
ARRIVES = "other warps arrive"


@dataclass(eq=False, frozen=True)
class Event:
    """One access to shared or tensor memory.

    Attributes:
        doing: as a message says it: "a TMA copy writes".
        time: its agent's; 0 for what was only issued and ends some time later.
        pipe: products of one pipe take each other's results in their order.
    """

    agent: int
    time: int
    doing: str
    line: int
    pipe: bool = False


@dataclass
class Known:
    """Up to which time each agent's own accesses are known, and which others."""

    times: dict[int, int] = field(default_factory=dict)
    ended: set[Event] = field(default_factory=set)

    def learn(self, other: Known) -> None:
        """All that another one knows, too."""
        for agent, time in other.times.items():
            self.times[agent] = max(time, self.times.get(agent, 0))
        self.ended |= other.ended

    def has(self, event: Event) -> bool:
        """Whether an access is known to have been made."""
        if event.time:
            return self.times.get(event.agent, 0) >= event.time
        return event in self.ended


@dataclass(eq=False)
class Barrier:
    """An mbarrier: a phase ends when nothing is left to arrive and no byte to be copied.

    Attributes:
        told: what those who arrived knew; `known` as of the last phase that has ended.
        made: what the phase that goes on is made of, arrivals and copies; `before` the last one.
    """

    count: int = 0
    left: int = 0
    bytes: int = 0
    phase: int = 0
    line: int = 0
    told: Known = field(default_factory=Known)
    known: Known = field(default_factory=Known)
    made: list[Event] = field(default_factory=list)
    before: list[Event] = field(default_factory=list)

    def arrive(self, count: int, copied: int, known: Known, *events: Event) -> None:
        """So many arrive, and so many bytes have been copied; or are expected, below 0."""
        self.told.learn(known)
        self.told.ended.update(events)
        self.made += events
        self.left -= count
        self.bytes -= copied
        if self.count and not self.left and not self.bytes:
            self.phase += 1
            self.left = self.count
            self.known.learn(self.told)
            self.before, self.made = self.made, []

    @property
    def missing(self) -> str:
        """What the phase waits for."""
        several = "" if abs(self.left) == 1 else "s"
        arrivals = f"{self.left} more arrival{several}" if self.left else ""
        if self.left < 0:
            arrivals = f"{-self.left} fewer arrival{several} than came"
        copies = f"{self.bytes} more bytes" if self.bytes else ""
        if self.bytes < 0:
            copies = f"an expect of {-self.bytes} more bytes"
        return " and ".join(filter(None, (arrivals, copies))) or "the end of another phase"


class Agent:
    """Warps that go together.

    Attributes:
        open, groups: cp.async since the last commit, and committed together.
        stores, products, tensor: TMA stores, wgmma and tcgen05 that have been issued.
        waits: the barrier, and which parity of its phase, that it waits for.
    """

    def __init__(self, number: int, known: Known) -> None:
        self.number = number
        self.known = Known()
        self.known.learn(known)
        self.open: list[Event] = []
        self.groups: list[list[Event]] = []
        self.stores: list[Event | list[Event]] = []
        self.products: list[Event | list[Event]] = []
        self.tensor: list[Event] = []
        self.waits: tuple[Barrier, int] | None = None
        self.place = ("", 0, 0)
        self.loops: list[Loop] = []

    @property
    def ready(self) -> bool:
        """Whether it can go on."""
        return self.waits is None or self.waits[0].phase & 1 != self.waits[1]

    def wait_for(self, issued: list[Any], pending: int) -> None:
        """Of what it issued, all but the last `pending` has been done."""
        done = issued[: len(issued) - pending] if pending else issued[:]
        del issued[: len(done)]
        for one in done:
            self.known.ended.update(one if isinstance(one, list) else (one,))


@dataclass
class _Whole:
    """Shared or tensor memory as it was allocated.

    Attributes:
        written: of each byte; None where it was allocated with its content.
    """

    content: Array
    written: Array | None = None
    parts: list[_Part] = field(default_factory=list)

    def marks(self, part: Array) -> Array | None:
        """`written` of a part, however that is cut or turned."""
        if self.written is None:
            return None
        start = part.__array_interface__["data"][0] - self.content.__array_interface__["data"][0]
        shape, strides = (*part.shape, part.itemsize), (*part.strides, 1)
        return np.ndarray(shape, np.bool_, self.written, start, strides)


@dataclass
class _Part:
    """A part of a buffer, and who touched it last."""

    content: Array
    written: Event | None = None
    read: list[Event] = field(default_factory=list)


class Agents:
    """Those of the program that runs now; one of them runs at a time."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.now = Agent(0, Known())
        self._all = [self.now]
        self._count = 1
        #: by the identity of their content, which is kept with them
        self._wholes: dict[int, _Whole] = {}
        self._issued: list[Event] = []
        #: the last TMA loads, and the last products beside which none has been under way so far
        self._copies: deque[Event] = deque(maxlen=_UNDER_WAY)
        self._alone: deque[Event] = deque(maxlen=_UNDER_WAY)
        self._products = self._overlapped = 0
        #: by agent, all that it has done, as messages say it
        self._did: dict[int, set[str]] = {}

    # ------------------------------------------------------------ accesses

    def event(self, doing: str, issued: bool = False, pipe: bool = False) -> Event:
        """An access that the running agent makes, or issues."""
        me, time = self.now, 0
        self._did.setdefault(me.number, set()).add(doing)
        if not issued:
            time = me.known.times[me.number] = me.known.times.get(me.number, 0) + 1
        event = Event(me.number, time, doing, self.run.line, pipe)
        if issued:
            self._issued.append(event)
        if doing == COPIES:
            self._copies.append(event)
            known = [product for product in self._alone if me.known.has(product)]
            self._overlapped += len(self._alone) - len(known)
            self._alone = deque(known, _UNDER_WAY)
        elif doing in PRODUCTS:
            self._products += 1
            if all(me.known.has(copy) for copy in self._copies):
                self._alone.append(event)
            else:
                self._overlapped += 1
        return event

    def arrive(self, barrier: Barrier, count: int, copied: int, *events: Event) -> None:
        """The running agent arrives at a barrier, or orders what will.

        Raises:
            KernelFault: RACE, where the barrier's last phase may still go on: it would count there.
        """
        known = self.now.known
        for event in barrier.before:
            if not known.has(event):
                self._fail(
                    Outcome.RACE, "tile_barrier_early", doing=event.doing, other_line=event.line
                )
        barrier.arrive(count, copied, known, *events)

    def end(self) -> None:
        """The program has ended.

        Raises:
            KernelFault: RACE, where something that it issued may still go on.
        """
        for event in self._issued:
            if not self.now.known.has(event):
                raise KernelFault(
                    Outcome.RACE, "tile_shared_at_the_end", event.line,
                    program=self.run.shown_program(), doing=event.doing,
                )  # fmt: skip
        self.run.undivided += sum(
            COPIES in did and not did.isdisjoint(PRODUCTS) for did in self._did.values()
        )
        if self._products >= max(_FEWEST_PRODUCTS, 2 * self._overlapped + 1):
            self.run.unoverlapped += 1

    def is_missing(self, index: int, count: int) -> NoReturn:
        """One of several buffers is looked into, and there is none of this number.

        Raises:
            KernelFault: OUT_OF_BOUNDS.
        """
        self._fail(Outcome.OUT_OF_BOUNDS, "tile_shared_index", index=index, count=count)

    def empty(self, content: Array) -> None:
        """Memory is allocated, and nothing stored to it."""
        self._wholes[id(content)] = _Whole(content, np.zeros(content.nbytes, np.bool_))

    def _whole(self, content: Array) -> _Whole:
        whole = content if content.base is None else content.base
        return self._wholes.setdefault(id(whole), _Whole(whole))

    def touch(self, content: Array, event: Event, writes: bool) -> None:
        """An access to a part of a buffer.

        Raises:
            KernelFault: RACE, where one that conflicts with it may still go on; UNINITIALISED,
                where it reads what nothing has written so far.
        """
        parts = self._whole(content).parts
        mine = None
        for part in parts:
            if _same(part.content, content):
                mine = part
            elif not _meet(part.content, content):
                continue
            for other in (part.written, *(part.read if writes else ())):
                if other is not None and not self.now.known.has(other):
                    if not (other.pipe and event.pipe and other.agent == event.agent):
                        self._fail(
                            Outcome.RACE,
                            "tile_shared_race",
                            doing=event.doing,
                            other=other.doing,
                            other_line=other.line,
                        )
        if mine is None:
            parts.append(mine := _Part(content))
        if writes:
            mine.written, mine.read = event, []
            if (marks := self._whole(content).marks(content)) is not None:
                marks[...] = True
        else:
            self.reads(content, event.doing)
            # a later access of an agent's own stands for an earlier one
            mine.read = [one for one in mine.read if not one.time or one.agent != event.agent]
            mine.read.append(event)

    def reads(self, content: Array, doing: str) -> None:
        """A part of a buffer has to have been written, or to be on its way.

        Raises:
            KernelFault: UNINITIALISED.
        """
        marks = self._whole(content).marks(content)
        if marks is not None and not marks.all():
            self._fail(Outcome.UNINITIALISED, "tile_shared_unwritten", doing=doing)

    def _fail(self, outcome: Outcome, message_id: str, **fields: object) -> NoReturn:
        """Raises a fault of the program that runs."""
        self.run.fail(outcome, message_id, program=self.run.shown_program(), **fields)

    # ------------------------------------------------------------ who runs

    def until(self, barrier: Barrier, parity: int) -> None:
        """The running agent goes on, as a barrier's phase of a parity has ended.

        Raises:
            KernelFault: TIMED_OUT, where nobody is there who could end it.
        """
        for _ in self.waiting(barrier, parity):
            if len(self._all) > 1:
                raise Unsupported("a wait of specialised warps in a function that stays one")
            self._never()

    def waiting(self, barrier: Barrier, parity: int) -> Iterator[None]:
        """Yields as long as a barrier's phase of a parity has not ended."""
        me = self.now
        me.waits = barrier, parity
        while not me.ready:
            yield
        me.waits = None
        me.known.learn(barrier.known)

    def _never(self) -> None:
        """The running agent waits for ever."""
        me = self.now
        assert me.waits is not None
        barrier, parity = me.waits
        others = [one.place[1] for one in self._all if one is not me and one.waits]
        self._fail(
            Outcome.TIMED_OUT,
            "tile_barrier_waits",
            parity=parity,
            made_line=barrier.line,
            missing=barrier.missing,
            others=", ".join(map(str, others)) or None,
        )

    def specialise(self, works: Sequence[Work]) -> Any:
        """The running agent does the first work, new ones the others, each as far as it can; behind
        it all have ended.

        Returns:
            what the first work made.

        Raises:
            KernelFault: what any of them did wrong.
        """
        first, run = self.now, self.run
        first.known.times.setdefault(first.number, 0)
        team = [Agent(self._count + n, first.known) for n in range(len(works) - 1)]
        self._count += len(team)
        self._all = [first, *team]
        for one in self._all:
            one.place, one.loops = run.place, list(run.loops)
        loops, going, made = run.loops, dict(zip(self._all, works, strict=True)), None
        try:
            while going:
                able = [one for one in going if one.ready]
                for one in able or list(going)[:1]:
                    self.now, run.place, run.loops = one, one.place, one.loops
                    if not able:
                        self._never()
                    try:
                        next(going[one])
                    except StopIteration as ended:
                        del going[one]
                        made = ended.value if one is first else made
                    one.place = run.place
        finally:
            for one, work in going.items():
                run.loops = one.loops
                work.close()
            self.now, self._all, run.loops = first, [first], loops
        for one in team:
            first.known.learn(one.known)
        return made


def _same(one: Array, other: Array) -> bool:
    mine, others = one.__array_interface__, other.__array_interface__
    return one.shape == other.shape and one.strides == other.strides and (
        mine["data"] == others["data"]
    )  # fmt: skip


def _meet(one: Array, other: Array) -> bool:
    try:
        return np.shares_memory(one, other, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]  # its stubs know 0 and -1
    except np.exceptions.TooHardError:
        return True
