"""`python -m autograder.sandbox.cost`: what isolation costs a launch, in milliseconds.

The same small launch is made in this process and behind each wall that this machine has, of a
Numba kernel and of a Triton kernel. What a wall costs is the difference: sending the arrays there
and back. The fork, of which a notebook has one, and compiling come before the clock starts. Beside
the time that passes stands what the processors have worked, on both sides of the wall: other work
on the machine disturbs it less.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from autograder.judge.pool import ENGINE, parts_of_a_runner
from autograder.sandbox import walls
from autograder.sandbox.limits import processor_seconds
from autograder.sandbox.remote import Connection, Remote
from autograder.sandbox.walls import Kind, Wall
from course.engine.job import Ran, Run
from course.engine.runner import Engine
from course.engine.triton.compiling.available import has_triton

LAUNCHES = 100
_WARM_UPS = 3  # what is imported and compiled at the first launch
_ELEMENTS = 4096
_BLOCK = 128
_NUMBA = """\
from numba import cuda

@cuda.jit
def add_one(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1
"""
_TRITON = """\
import triton
import triton.language as tl

@triton.jit
def add_one(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) + 1)
"""


@dataclass(frozen=True)
class Cost:
    """What one launch of a dialect takes behind a wall, and in this process."""

    dialect: str
    wall: str
    here_ms: float
    here_processor_ms: float
    there_ms: float
    there_processor_ms: float

    @property
    def more_ms(self) -> float:
        return self.there_ms - self.here_ms

    @property
    def more_processor_ms(self) -> float:
        return self.there_processor_ms - self.here_processor_ms


def main() -> None:
    """Prints a line for each dialect and wall."""
    for cost in costs():
        print(line(cost), flush=True)


def line(cost: Cost) -> str:
    """One cost, as it is shown."""
    return (
        f"{cost.dialect:7} {cost.wall:11} {cost.there_ms:5.1f} ms, {cost.here_ms:4.1f} without: "
        f"{cost.more_ms:5.1f} ms more, {cost.more_processor_ms:5.1f} ms of processor time"
    )


def costs(launches: int = LAUNCHES) -> Iterator[Cost]:
    """What each wall of this machine costs: medians of the time, means of the processors'."""
    works = {
        Kind.LANDLOCK: walls.landlock_works().works and walls.seccomp_works().works,
        Kind.BUBBLEWRAP: walls.bubblewrap_works().works,
    }
    for dialect in ("numba", "triton") if has_triton() else ("numba",):
        here = times_ms(Engine(), launches, dialect)
        for kind in (kind for kind, there in works.items() if there):
            process, connection = started(kind)
            try:
                there = times_ms(Remote(connection, "add_one", 60.0, 2 * 2**30), launches, dialect)
            finally:
                walls.end(process)
            yield Cost(dialect, kind.value, *here, *there)


def started(kind: Kind, engine: str = ENGINE) -> tuple[subprocess.Popen[bytes], Connection]:
    """A runner behind a wall, and the judge's end of the talk with it."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = Wall(kind).start(
            "autograder.sandbox.runner",
            [engine],
            parts_of_a_runner(engine),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
        )
    connection = Connection(ours.detach())
    connection.wait()
    return process, connection


def times_ms(
    launch: Callable[[Run], Ran], count: int, dialect: str = "numba"
) -> tuple[float, float]:
    """(time, processor time) of a launch: of `count`, after some that do not count."""
    times: list[float] = []
    worked = 0.0
    for number in range(_WARM_UPS + count):
        if number == _WARM_UPS:
            times, worked = [], worked_seconds()
        run = small_run(dialect)
        begun = time.perf_counter()
        launch(run)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times), (worked_seconds() - worked) / count * 1000


def worked_seconds() -> float:
    """Processor time of this process and of all that it has started."""
    return time.process_time() + processor_seconds(os.getpid())


def small_run(dialect: str) -> Run:
    """A launch of a kernel that adds one to each element."""
    x = np.ones(_ELEMENTS, np.float32)
    arguments = {"x": x, "y": np.zeros_like(x)}
    blocks = (_ELEMENTS // _BLOCK,)
    if dialect == "numba":
        return Run(_NUMBA, "add_one", arguments, blocks, (_BLOCK,), 0, 5000)
    passed = {**arguments, "BLOCK": np.int64(_BLOCK)}
    return Run(_TRITON, "add_one", passed, blocks, (), 0, 5000, dialect="triton")


if __name__ == "__main__":
    main()
