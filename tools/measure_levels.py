"""Measures what lessons 00 and 01 quote: each memory level, the host link, a launch, divergence.

Needs an NVIDIA GPU and nothing else that runs on it. Prints one JSON object; its numbers stand,
with their provenance, in course/figures/measured.py.

    python tools/measure_levels.py
"""

# Kernels carry no annotations, and Numba's decorators and events have no types.
# mypy: disable-error-code="no-untyped-def,misc"
from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from numba import cuda, float32, int32, uint64

LINE_INTS = 32  # one 128-byte line, in int32 values
SHARED_INTS = 8192
THREADS = 1024


@cuda.jit
def chase(chain, start, steps, out):
    """One thread follows a chain of positions: each load waits for the one before."""
    p = start
    for _ in range(steps):
        p = chain[p]
    out[0] = p


@cuda.jit
def chase_shared(chain, steps, out):
    """The same in shared memory."""
    local = cuda.shared.array(SHARED_INTS, int32)
    for k in range(SHARED_INTS):
        local[k] = chain[k]
    p = 0
    for _ in range(steps):
        p = local[p]
    out[0] = p


@cuda.jit
def dependent_arithmetic(steps, a, b, out):
    """One thread: each multiply-add waits for the one before; eight a round, to hide the loop."""
    x = a
    for _ in range(steps // 8):
        x = x * a + b
        x = x * b + a
        x = x * a + b
        x = x * b + a
        x = x * a + b
        x = x * b + a
        x = x * a + b
        x = x * b + a
    out[0] = x


@cuda.jit
def sum_shared(rounds, out):
    """Every thread reads its block's shared array again and again, four loads in flight.

    The index has no sign, so that Numba adds no test for a negative one.
    """
    local = cuda.shared.array(SHARED_INTS, float32)
    for k in range(cuda.threadIdx.x, SHARED_INTS, cuda.blockDim.x):
        local[k] = float32(k)
    cuda.syncthreads()
    p, q = float32(0), float32(0)
    k = uint64(cuda.threadIdx.x)
    for _ in range(rounds):
        p += local[k] + local[k + uint64(1024)]
        q += local[k + uint64(2048)] + local[k + uint64(3072)]
        k = (k + uint64(32)) & uint64(SHARED_INTS // 2 - 1)
    out[cuda.grid(1)] = p + q


@cuda.jit
def sum_cached(a, rounds, out):
    """The same from a global array that is small enough to stay in every L1."""
    p, q = float32(0), float32(0)
    k = uint64(cuda.threadIdx.x)
    for _ in range(rounds):
        p += a[k] + a[k + uint64(1024)]
        q += a[k + uint64(2048)] + a[k + uint64(3072)]
        k = (k + uint64(32)) & uint64(SHARED_INTS // 2 - 1)
    out[cuda.grid(1)] = p + q


@cuda.jit
def multiply_adds(rounds, a, b, out):
    """Four chains of multiply-adds a thread: as fast as registers feed the arithmetic."""
    p, q, r, s = a, b, a + b, a - b
    for _ in range(rounds):
        for _ in range(32):  # written out by the compiler, so that the loop costs little
            p = p * a + b
            q = q * a + b
            r = r * a + b
            s = s * a + b
    out[cuda.grid(1)] = p + q + r + s


@cuda.jit
def sum_whole(a, rounds, out):
    """The grid sums all of a together, again and again, four loads in flight a thread."""
    p, q, r, s = float32(0), float32(0), float32(0), float32(0)
    step = cuda.gridsize(1)
    for _ in range(rounds):
        for k in range(cuda.grid(1), a.size - 3 * step, 4 * step):
            p += a[k]
            q += a[k + step]
            r += a[k + 2 * step]
            s += a[k + 3 * step]
    out[cuda.grid(1)] = p + q + r + s


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def add_one_thread(a, b, c):
    if cuda.grid(1) == 0:
        for i in range(c.size):
            c[i] = a[i] + b[i]


@cuda.jit
def saxpy_stride(alpha, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = alpha * x[i] + y[i]


@cuda.jit
def saxpy_chunk(alpha, x, y):
    chunk = (x.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * chunk
    for i in range(first, min(first + chunk, x.size)):
        y[i] = alpha * x[i] + y[i]


@cuda.jit(device=True)
def square_root(v, steps):
    r = v
    for _ in range(steps):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v, steps):
    r = v
    for _ in range(steps):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def roots_by_parity(x, y, steps):
    i = cuda.grid(1)
    row, k = i % 2, i // 2
    if k < x.shape[1]:
        if row == 0:
            y[row, k] = square_root(x[row, k], steps)
        else:
            y[row, k] = cube_root(x[row, k], steps)


@cuda.jit
def roots_by_row(x, y, steps):
    i = cuda.grid(1)
    row, k = i // x.shape[1], i % x.shape[1]
    if row < 2:
        if row == 0:
            y[row, k] = square_root(x[row, k], steps)
        else:
            y[row, k] = cube_root(x[row, k], steps)


@cuda.jit
def nothing():
    pass


def median_ms(work: Callable[[], object], repeats: int = 7) -> float:
    """Median time on the GPU of what `work` launches, after one run that is not counted."""
    work()
    cuda.synchronize()
    times = []
    for _ in range(repeats):
        start, end = cuda.event(), cuda.event()
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return statistics.median(times)


def burst_ms(work: Callable[[], object], launches: int = 50) -> float:
    """Median time of one of many launches that wait in the queue for each other."""

    def burst() -> None:
        for _ in range(launches):
            work()

    return median_ms(burst) / launches


def step_ns(launch: Callable[[int], object], steps: int) -> float:
    """Nanoseconds a step: the time of twice as many, less that of so many."""
    few, many = (median_ms(lambda n=n: launch(n), 3) for n in (steps, 2 * steps))
    return (many - few) * 1e6 / steps


def latency_ns(working_set_bytes: int, steps: int) -> float:
    """Nanoseconds a dependent load, over lines of a working set in random order."""
    lines = max(2, working_set_bytes // 4 // LINE_INTS)
    order = np.random.default_rng(0).permutation(lines).astype(np.int64)
    chain = np.zeros(lines * LINE_INTS, np.int32)
    chain[order * LINE_INTS] = np.roll(order, -1) * LINE_INTS
    on_device, out = cuda.to_device(chain), cuda.device_array(1, np.int32)
    chase[1, 1](on_device, 0, min(steps, 4 * lines), out)  # brings what fits into the caches
    return step_ns(lambda n: chase[1, 1](on_device, 0, n, out), steps)


def shared_latency_ns(steps: int) -> float:
    """Nanoseconds a dependent load from shared memory."""
    order = np.random.default_rng(0).permutation(SHARED_INTS)
    chain = np.zeros(SHARED_INTS, np.int32)
    chain[order] = np.roll(order, -1)
    on_device, out = cuda.to_device(chain), cuda.device_array(1, np.int32)
    return step_ns(lambda n: chase_shared[1, 1](on_device, n, out), steps)


def arithmetic_latency_ns(steps: int) -> float:
    """Nanoseconds a dependent float32 multiply-add."""
    out = cuda.device_array(1, np.float32)
    a, b = np.float32(0.5), np.float32(1.0)
    return step_ns(lambda n: dependent_arithmetic[1, 1](n, a, b, out), steps)


def bandwidths(multiprocessors: int) -> dict[str, float]:
    """GB/s that loads get from each level; registers: 12 bytes read a multiply-add."""
    grid = 2 * multiprocessors
    threads = grid * THREADS
    out = cuda.device_array(threads, np.float32)
    rounds = 20_000
    ms = median_ms(lambda: sum_shared[grid, THREADS](rounds, out))
    shared = threads * 16 * rounds / ms / 1e6
    turns = 10_000
    ms = median_ms(lambda: multiply_adds[grid, THREADS](turns, np.float32(0.5), np.float32(1), out))
    small = cuda.to_device(np.ones(SHARED_INTS, np.float32))  # 32 KB
    cached_ms = median_ms(lambda: sum_cached[grid, THREADS](small, rounds, out))
    rates = {
        "registers": threads * 128 * 12 * turns / ms / 1e6,
        "shared": shared,
        "l1": threads * 16 * rounds / cached_ms / 1e6,
    }
    for name, times, repeats in (("l2", 4, 400), ("device", 1024, 2)):  # 17 MB, 4.4 GB
        array = cuda.to_device(np.ones(4 * threads * times, np.float32))
        ms = median_ms(lambda a=array, r=repeats: sum_whole[grid, THREADS](a, r, out))
        rates[name] = array.nbytes * repeats / ms / 1e6
    return rates


def host_link() -> dict[str, float]:
    """GB/s of copies over the link from host memory, and back; ordinary and pinned pages."""
    n = 64 << 20  # 256 MiB
    ordinary, device = np.ones(n, np.float32), cuda.device_array(n, np.float32)
    pinned = cuda.pinned_array(n, np.float32)
    pinned[:] = 1
    rates = {}
    for name, host in (("ordinary", ordinary), ("pinned", pinned)):
        rates[f"to_device_{name}"] = 4 * n / seconds(lambda h=host: device.copy_to_device(h)) / 1e9
        rates[f"to_host_{name}"] = 4 * n / seconds(lambda h=host: device.copy_to_host(h)) / 1e9
    small, tiny = cuda.device_array(1, np.float32), np.ones(1, np.float32)
    rates["one_number_us"] = seconds(lambda: small.copy_to_device(tiny), 200) * 1e6
    return rates


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Median wall time of `work` and the synchronisation after it."""
    work()
    cuda.synchronize()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        cuda.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def kernels(n: int) -> dict[str, float]:
    """Milliseconds of lesson 01's kernels, right and wrong ways."""
    a, b = (cuda.to_device(np.random.default_rng(k).random(n, np.float32)) for k in (1, 2))
    c = cuda.device_array(n, np.float32)
    grid = math.ceil(n / 256)
    x, y = cuda.to_device(np.full((2, n), 3, np.float32)), cuda.device_array((2, n), np.float32)
    both = 2 * grid
    few = n // 64  # one thread: so much less work, scaled up
    times = {
        "add": burst_ms(lambda: add[grid, 256](a, b, c)),
        "add_alone": median_ms(lambda: add[grid, 256](a, b, c)),
        "add_one_thread_scaled": 64
        * median_ms(lambda: add_one_thread[1, 32](a[:few], b[:few], c[:few]), 3),
        "saxpy_stride": burst_ms(lambda: saxpy_stride[1056, 256](np.float32(2), a, c)),
        "saxpy_chunk": burst_ms(lambda: saxpy_chunk[1056, 256](np.float32(2), a, c)),
    }
    for steps in (1, 8, 32):
        times[f"roots_by_parity_{steps}"] = burst_ms(
            lambda s=steps: roots_by_parity[both, 256](x, y, s)
        )
        times[f"roots_by_row_{steps}"] = burst_ms(lambda s=steps: roots_by_row[both, 256](x, y, s))
    return times


def main() -> None:
    """Measures everything and prints it."""
    device = cuda.get_current_device()
    nothing[1, 1]()
    cuda.synchronize()
    start = time.perf_counter()
    for _ in range(2000):
        nothing[1, 1]()
    cuda.synchronize()
    queued = (time.perf_counter() - start) / 2000
    sizes = {
        "16KiB": 16 << 10,
        "128KiB": 128 << 10,
        "4MiB": 4 << 20,
        "16MiB": 16 << 20,
        "32MiB": 32 << 20,
        "256MiB": 256 << 20,
        "1GiB": 1 << 30,
    }
    result = {
        "device": device.name.decode() if isinstance(device.name, bytes) else device.name,
        "multiprocessors": device.MULTIPROCESSOR_COUNT,
        "clock_khz": device.CLOCK_RATE,
        "latency_ns": {name: latency_ns(size, 200_000) for name, size in sizes.items()},
        "shared_latency_ns": shared_latency_ns(1_000_000),
        "multiply_add_latency_ns": arithmetic_latency_ns(4_000_000),
        "bandwidth_gb_s": bandwidths(device.MULTIPROCESSOR_COUNT),
        "host_link_gb_s": host_link(),
        "launch_queued_us": queued * 1e6,
        "launch_and_wait_us": seconds(lambda: nothing[1, 1](), 500) * 1e6,
        "kernels_ms_16M": kernels(1 << 24),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
