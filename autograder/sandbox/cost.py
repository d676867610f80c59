"""`python -m autograder.sandbox.cost`: what isolation costs a launch, in milliseconds.

The same small launch is made in this process and behind each wall that this machine has. What a
wall costs is the difference: sending the arrays, a fork, the filter, and cleaning up behind it.
"""

from __future__ import annotations

import socket
import statistics
import subprocess
import time
from collections.abc import Callable

import numpy as np

from autograder.pool import ENGINE, parts_of_a_runner
from autograder.sandbox import walls
from autograder.sandbox.remote import Connection, Remote
from autograder.sandbox.walls import Kind, Wall
from course.runner import Engine, Ran, Run

LAUNCHES = 100
_ELEMENTS = 4096
_KERNEL = """\
from numba import cuda

@cuda.jit
def add_one(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1
"""


def main() -> None:
    """Prints a line for each wall."""
    times_ms(lambda run: Engine()(run), 3)  # what is imported at the first launch
    here = times_ms(lambda run: Engine()(run), LAUNCHES)
    print(f"{'in this process':16} median {statistics.median(here):5.1f} ms")
    works = {
        Kind.LANDLOCK: walls.landlock_works().works and walls.seccomp_works().works,
        Kind.BUBBLEWRAP: walls.bubblewrap_works().works,
    }
    for kind in (kind for kind, there in works.items() if there):
        process, connection = started(kind)
        try:
            remote = Remote(connection, "add_one", 60.0, 2 * 2**30)
            there = times_ms(remote, LAUNCHES)
        finally:
            walls.end(process)
        more = statistics.median(there) - statistics.median(here)
        print(f"{kind.value:16} median {statistics.median(there):5.1f} ms: {more:.1f} ms more")


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


def times_ms(launch: Callable[[Run], Ran], count: int) -> list[float]:
    """How long each of `count` launches takes."""
    times = []
    for _ in range(count):
        x = np.ones(_ELEMENTS, np.float32)
        arguments = {"x": x, "y": np.zeros_like(x)}
        run = Run(_KERNEL, "add_one", arguments, (_ELEMENTS // 128,), (128,), 0, 5000)
        begun = time.perf_counter()
        launch(run)
        times.append((time.perf_counter() - begun) * 1000)
    return times


if __name__ == "__main__":
    main()
