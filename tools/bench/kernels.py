# mypy: disable-error-code="misc, no-untyped-def"
# (a kernel's parameters have the types that Numba finds, and its decorator has none)
"""The kernels of the race, and a program that launches one of them.

`python -m tools.bench.kernels NAME TIMES` launches on the engine. Run as a file with
NUMBA_ENABLE_CUDASIM=1, so that `course` is not imported, it launches on Numba's simulator.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numba import cuda, float32

T = 16
THREADS = 256
DOT_BLOCKS = 16
KIB = 1024


@cuda.jit
def matmul(A, B, C):
    """C = A @ B in tiles of T x T; A: (M, K), B: (K, N), C: (M, N)."""
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, A.shape[1], T):
        tile_a[ty, tx] = 0
        tile_b[ty, tx] = 0
        if row < A.shape[0] and start + tx < A.shape[1]:
            tile_a[ty, tx] = A[row, start + tx]
        if start + ty < B.shape[0] and column < B.shape[1]:
            tile_b[ty, tx] = B[start + ty, column]
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < C.shape[0] and column < C.shape[1]:
        C[row, column] = total


@cuda.jit
def vector_add(a, b, c):
    """c = a + b, a thread an element."""
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def dot(a, b, out):
    """Adds the dot product of a and b to out[0]: strides of the grid, then a tree in each block."""
    sums = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    sums[t] = total
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, sums[0])


@dataclass(frozen=True)
class Workload:
    """One launch. The last argument that `make` draws is the output."""

    kernel: Any
    grid: int | tuple[int, int]
    block: int | tuple[int, int]
    make: Callable[[np.random.Generator], list[np.ndarray]]
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray]
    multiply_adds: int = 0


def _matmul(n: int) -> Workload:
    def make(rng: np.random.Generator) -> list[np.ndarray]:
        a, b = (rng.random((n, n), np.float32) for _ in range(2))
        return [a, b, np.zeros((n, n), np.float32)]

    return Workload(matmul, (n // T, n // T), (T, T), make, np.matmul, n**3)


def _vectors(n: int, outputs: int) -> Callable[[np.random.Generator], list[np.ndarray]]:
    return lambda rng: [
        rng.random(n, np.float32),
        rng.random(n, np.float32),
        np.zeros(outputs, np.float32),
    ]


def _vector_add(n: int) -> Workload:
    return Workload(vector_add, -(-n // THREADS), THREADS, _vectors(n, n), np.add)


def _dot(n: int) -> Workload:
    return Workload(dot, DOT_BLOCKS, THREADS, _vectors(n, 1), np.dot)


WORKLOADS: dict[str, Workload] = {
    "matmul 64 x 64": _matmul(64),
    "matmul 128 x 128": _matmul(128),
    "vector add of 16,384": _vector_add(16_384),
    "dot of 16,384 in 16 blocks": _dot(16_384),
    "matmul 512 x 512": _matmul(512),
    "matmul 1024 x 1024": _matmul(1024),
    "vector add of 2^24": _vector_add(2**24),
}


@dataclass(frozen=True)
class Timed:
    """Seconds of each launch, and the most memory that the process used for them.

    `processor_seconds` are those that all threads of the process computed: on a machine that
    does other work too they are the steadier ones.
    """

    seconds: list[float]
    processor_seconds: list[float]
    peak_bytes: int


def timed(
    workload: Workload, times: int, context: Callable[[], AbstractContextManager[object]]
) -> Timed:
    """Launches `times` times; the results are checked when the last launch has ended.

    (NumPy's own matmul leaves threads behind that would compete with the next launch.)

    Raises:
        ArithmeticError: where a result is wrong.
    """
    rng = np.random.default_rng(0)
    seconds: list[float] = []
    processor: list[float] = []
    launched: list[list[np.ndarray]] = []
    for _ in range(times):
        launched.append(arrays := workload.make(rng))
        with context():
            start, start_processor = time.perf_counter(), time.process_time()
            workload.kernel[workload.grid, workload.block](*arrays)
            cuda.synchronize()
            seconds.append(time.perf_counter() - start)
            processor.append(time.process_time() - start_processor)
    peak = _peak_bytes()
    for a, b, out in launched:
        if not np.allclose(out, workload.expected(a, b), rtol=1e-3):
            raise ArithmeticError("the launch gave a wrong result")
    return Timed(seconds, processor, peak)


def _peak_bytes() -> int:
    """The most memory that this process has had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KIB  # Linux counts in KiB


def main(name: str, times: int) -> None:
    """Prints the figures of one workload as a line of JSON."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        result = timed(WORKLOADS[name], times, nullcontext)
    else:
        import course

        result = timed(WORKLOADS[name], times, course.measure)
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
