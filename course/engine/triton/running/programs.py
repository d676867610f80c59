"""All programs of a launch: as many at once as memory allows, or one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.sampling import Launched, Sites
from course.engine.triton.compiling.functions import looks_at_atomics, names_used
from course.engine.triton.passed import Passed
from course.engine.triton.running.locks import Order
from course.engine.triton.running.memory import Memory
from course.engine.triton.running.run import Run
from course.engine.triton.running.sites import Uncounted
from course.plain import patience

#: What the values of all programs that run together may take, beside the tensors and what is
#: remembered of each of their elements (see `course.engine.triton.running.races`).
BATCH_BYTES = 256 << 20
#: A kernel's blocks that are alive at once, with the copies that the checks of an access make.
LIVE_BLOCKS = 64
#: Of an element; addresses are as wide.
WIDEST_BYTES = 8
#: Elements of one value of all programs that run together: long rows for NumPy.
BATCH_ELEMENTS = BATCH_BYTES // (LIVE_BLOCKS * WIDEST_BYTES)
#: Programs of the second run that are under way at once.
UNDER_WAY = 8
#: Whoever names one of these may take a lock, looking or not.
EXCHANGES = {"atomic_cas", "atomic_xchg"}
#: More programs than this are not run one after the other: it would take minutes.
MOST_IN_TURNS = 1 << 13

#: gives what executes the kernel for the programs that a run has now
Begin = Callable[[Run], Callable[[], None]]


def takes_turns(function: Any, programs: int) -> bool:
    """Whether atomics may order the programs, so that they run one after the other.

    Raises:
        KernelFault: TIMED_OUT, where a lock would have too many programs wait for each other.
    """
    few = programs <= MOST_IN_TURNS
    if names_used(function) & EXCHANGES:
        if not few:
            raise KernelFault(
                Outcome.TIMED_OUT, "tile_too_many_turns", None,
                programs=programs, limit=MOST_IN_TURNS,
            )  # fmt: skip
        return True
    return few and looks_at_atomics(function)


def in_batches(run: Run, begin: Begin, together: int) -> None:
    """Runs all programs, so many at once."""
    with np.errstate(all="ignore"), run.memory.settled():
        execute = begin(run)
        for first in patience.each(range(0, run.size, together), run.size):
            run.start(np.arange(first, min(run.size, first + together)))
            execute()


def a_few(run: Run, begin: Begin, few: Launched, touched: Callable[[], Sites]) -> None:
    """Runs the programs that stand for all, each for itself; `touched` tells of their sectors."""
    with np.errstate(all="ignore"):
        execute = begin(run)
        for program in few.wanted():
            run.start(np.array([program]))
            execute()
            few.saw(touched(), run.steps)


def in_turns(run: Run, begin: Begin, passed: Passed) -> None:
    """Runs one program after the other, as atomics order them.

    An order may hide a race. So where one has made a difference, the last programs come first in
    a second run, a few of them at once: what is right is so in both. Where it was no more than
    which program comes as which, that run's results are the launch's: a place that goes by
    arrival may be another one, and a number that was its program's by luck is wrong.

    Raises:
        KernelFault: what either run found; RACE, too, where they store different results.
    """
    before = {allocation: allocation.kept() for allocation in passed.allocations}
    order = _one_by_one(run, begin, patience.each(range(run.size), run.size), 1)
    if not order.relied and not order.arrivals:
        return
    after = {allocation: allocation.kept() for allocation in passed.allocations}
    again = run.anew()
    again.memory = Memory(again, passed.views, Uncounted(), numbers=passed.numbers)
    try:
        for allocation, content in before.items():
            allocation.put_back(content)
        _one_by_one(again, begin, reversed(range(run.size)), UNDER_WAY)
        if order.relied:
            for view in passed.views:
                for memory in (run.memory, again.memory):
                    memory.same(view, after[view.allocation])
        else:
            after.clear()
    finally:
        for allocation, content in after.items():
            allocation.put_back(content)


def _one_by_one(run: Run, begin: Begin, programs: Iterable[int], together: int) -> Order:
    turns = run.in_turns(together)
    with np.errstate(all="ignore"), run.memory.settled():
        turns.all(programs, begin(run))
    return turns.order
