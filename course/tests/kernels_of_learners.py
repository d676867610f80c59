"""Cells as learners write them for `vector_add` and a few others, and a runner that fakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.engine.faults import KernelFault
from course.engine.job import Ran, Run
from course.engine.traffic import Site, Traffic

Work = Callable[..., None]

IMPORT = "from numba import cuda\n"
HEAD = f"{IMPORT}\n\n@cuda.jit\ndef vector_add(a, b, c):\n"
RIGHT = f"{HEAD}    i = cuda.grid(1)\n    if i < c.size:\n        c[i] = a[i] + b[i]\n"
NO_GUARD = f"{HEAD}    i = cuda.grid(1)\n    c[i] = a[i] + b[i]\n"
STARTER = f"{HEAD}    i = cuda.grid(1)\n    ...\n"


def load(array: str, sectors: int, line: int = 8, used: int = 32, requests: int = 0) -> Site:
    """A load of `sectors` sectors that uses `used` bytes of each."""
    return site(array, "load", sectors, line, used, requests)


def store(array: str, sectors: int, line: int = 8, used: int = 32, requests: int = 0) -> Site:
    return site(array, "store", sectors, line, used, requests)


def site(array: str, direction: str, sectors: int, line: int, used: int, requests: int) -> Site:
    asked = requests or max(1, sectors // 4)
    return Site(array, direction, line, 0, asked, sectors, sectors * used, sectors * 32)


def runner(
    work: Work,
    sites: Callable[[int], list[Site]] | None = None,
    fault: KernelFault | None = None,
    **counts: Any,
) -> Faked:
    """Does `work(a, b, c)` on the arrays of each launch, and reports what it is told to."""
    return Faked(work, sites or honest, fault, counts)


class Faked:
    """A runner that remembers its launches."""

    def __init__(
        self,
        work: Work,
        sites: Callable[[int], list[Site]],
        fault: KernelFault | None,
        counts: dict[str, Any],
    ) -> None:
        self.work, self.sites, self.fault, self.counts = work, sites, fault, counts
        self.launches: list[Run] = []

    def __call__(self, run: Run) -> Ran:
        self.launches.append(run)
        arguments = list(run.arguments.values())
        if self.fault is not None:
            raise self.fault
        self.work(*arguments)
        size = max(array.size for array in arguments if isinstance(array, np.ndarray))
        found = self.sites(size)
        footprints = {(s.array, s.direction): s.footprint_bytes for s in found}
        traffic = Traffic(sites=found, footprints=footprints, launches=1, **self.counts)
        return Ran({n: v for n, v in run.arguments.items() if isinstance(v, np.ndarray)}, traffic)


def honest(size: int) -> list[Site]:
    sectors = -(-size // 8)
    return [load("a", sectors), load("b", sectors), store("c", sectors)]


def add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    c[:] = a + b
