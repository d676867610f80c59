# mypy: disable-error-code="misc, no-untyped-def"
"""Measure the lessons' recorded profiles: ``python -m tools.record_profiles --out FILE.json``.

Counts come from Nsight Compute, times from CUDA events (median of several launches, in
microseconds). Rates count the bytes that an algorithm must move and the operations it must
do: a fused multiply-add is two.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda, float32

from course.gpu import counters
from course.gpu.recording import commanded, provenance
from course.tests.engine.hardware.matmul import matmul_naive, matmul_swapped

MODULE = "tools.record_profiles"
T = 16
POINTS = 1 << 22
SIDE = 1024


@cuda.jit
def points_direct(points, x, y, z):
    """A thread a point: three loads, 12 bytes apart."""
    i = cuda.grid(1)
    if i < points.shape[0]:
        x[i] = points[i, 0]
        y[i] = points[i, 1]
        z[i] = points[i, 2]


@cuda.jit
def points_staged(flat, x, y, z):
    """The same through shared memory: neighbours load neighbours."""
    cache = cuda.shared.array(768, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 256
    for k in range(3):
        cache[t + k * 256] = flat[start * 3 + k * 256 + t]
    cuda.syncthreads()
    x[start + t] = cache[3 * t]
    y[start + t] = cache[3 * t + 1]
    z[start + t] = cache[3 * t + 2]


@cuda.jit
def points_sum_direct(points, out):
    """A thread sums its point's three numbers where they lie."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = points[i, 0] + points[i, 1] + points[i, 2]


@cuda.jit
def points_sum_staged(flat, out):
    """The same from shared memory."""
    cache = cuda.shared.array(768, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 256
    for k in range(3):
        cache[t + k * 256] = flat[start * 3 + k * 256 + t]
    cuda.syncthreads()
    out[start + t] = cache[3 * t] + cache[3 * t + 1] + cache[3 * t + 2]


@cuda.jit
def row_sum_thread(x, out):
    """A thread a row."""
    row = cuda.grid(1)
    if row < x.shape[0]:
        total = float32(0)
        for column in range(x.shape[1]):
            total += x[row, column]
        out[row] = total


@cuda.jit
def row_sum_warp(x, out):
    """A warp a row."""
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    total = float32(0)
    if row < x.shape[0]:
        for column in range(lane, x.shape[1], 32):
            total += x[row, column]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
    if lane == 0 and row < x.shape[0]:
        out[row] = total


@cuda.jit
def matmul_tiled(a, b, c):
    """Square tiles of T through shared memory."""
    left = cuda.shared.array((T, T), float32)
    right = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], T):
        left[ty, tx] = a[row, start + tx]
        right[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(T):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def tile_rows(x, out):
    """Rows of 32 floats, a warp each."""
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = x[row, column]


@cuda.jit
def copy(x, out):
    """A load and a store a thread."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cuda.jit
def copy_strided(x, out, step):
    """Loads ``step`` elements apart."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * step]


@cuda.jit
def repeat_multiply(x, out, a, b, rounds):
    """``rounds`` fused multiply-adds between a load and a store."""
    i = cuda.grid(1)
    if i < out.size:
        value = x[i]
        for _ in range(rounds):
            value = value * a + b
        out[i] = value


@cuda.jit
def repeat_multiply_unrolled(x, out, a, b, rounds):
    """The same, sixteen rounds between two tests of the loop's end."""
    i = cuda.grid(1)
    if i < out.size:
        value = x[i]
        for _ in range(rounds // 16):
            for _ in range(16):
                value = value * a + b
        out[i] = value


@cuda.jit
def copy_four(x, out):
    """Four loads in flight a thread before the first store."""
    i = cuda.blockIdx.x * 1024 + cuda.threadIdx.x
    if i + 768 < out.size:
        first = x[i]
        second = x[i + 256]
        third = x[i + 512]
        fourth = x[i + 768]
        out[i] = first
        out[i + 256] = second
        out[i + 512] = third
        out[i + 768] = fourth


def random(*shape: int) -> Any:
    """Standard normal float32 numbers on the GPU."""
    rng = np.random.default_rng(1)
    return cuda.to_device(rng.standard_normal(shape, dtype=np.float32))


def blank(*shape: int) -> Any:
    """Room for float32 numbers on the GPU."""
    return cuda.device_array(shape, np.float32)


def counted_launches() -> dict[str, Callable[[], None]]:
    """The launches whose counters are recorded, by name; each draws its own data."""
    xyz = (POINTS // 256, 256)
    matmul = ((SIDE // T, SIDE // T), (T, T))
    tiles = ((128, 512), (32, 8))

    def matrices() -> tuple[Any, Any, Any]:
        return random(SIDE, SIDE), random(SIDE, SIDE), blank(SIDE, SIDE)

    return {
        "points_direct": lambda: points_direct[xyz](
            random(POINTS, 3), blank(POINTS), blank(POINTS), blank(POINTS)
        ),
        "points_staged": lambda: points_staged[xyz](
            random(POINTS * 3), blank(POINTS), blank(POINTS), blank(POINTS)
        ),
        "points_sum_direct": lambda: points_sum_direct[xyz](random(POINTS, 3), blank(POINTS)),
        "points_sum_staged": lambda: points_sum_staged[xyz](random(POINTS * 3), blank(POINTS)),
        "row_sum_thread": lambda: row_sum_thread[2, 128](random(256, 200), blank(256)),
        "row_sum_warp": lambda: row_sum_warp[64, 128](random(256, 200), blank(256)),
        "row_sum_thread_large": lambda: row_sum_thread[128, 128](random(16384, 4096), blank(16384)),
        "row_sum_warp_large": lambda: row_sum_warp[4096, 128](random(16384, 4096), blank(16384)),
        "matmul_naive": lambda: matmul_naive[matmul](*matrices()),
        "matmul_swapped": lambda: matmul_swapped[matmul](*matrices()),
        "matmul_tiled": lambda: matmul_tiled[matmul](*matrices()),
        "tile_rows_aligned": lambda: tile_rows[tiles](random(4096, 4096), blank(4096, 4096)),
        "tile_rows_pitch_4097": lambda: tile_rows[tiles](
            random(4096, 4097)[:, :4096], blank(4096, 4096)
        ),
        "tile_rows_offset_1": lambda: tile_rows[tiles](
            random(4096, 4104)[:, 1:4097], blank(4096, 4096)
        ),
        "copy": lambda: copy[1 << 17, 256](random(1 << 25), blank(1 << 25)),
        "copy_stride_8": lambda: copy_strided[1 << 14, 256](random(1 << 25), blank(1 << 22), 8),
        "copy_stride_32": lambda: copy_strided[1 << 12, 256](random(1 << 25), blank(1 << 20), 32),
    }


def microseconds(launch: Callable[[], None], repeats: int = 20) -> float:
    """The median time of a launch in microseconds, by CUDA events, after three warm-ups.

    Ten launches are queued behind a long kernel and timed together, so that the GPU does not
    wait for the host between them.
    """
    for _ in range(3):
        launch()
    cover, burst = blank(1 << 22), 10
    cover.copy_to_device(np.zeros(cover.size, np.float32))
    one = np.float32(1)
    times = []
    for _ in range(repeats):
        begin, end = cuda.event(), cuda.event()
        repeat_multiply[cover.size // 256, 256](cover, cover, one, one, 4096)
        begin.record()
        for _ in range(burst):
            launch()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(begin, end) * 1000 / burst)
    return round(statistics.median(times), 3)


def at_rate(us: float, done: int, unit: str = "gb_s") -> dict[str, float]:
    """A time, and the rate of the bytes or the operations that were done in it."""
    return {"us": us, unit: round(done / us / 1e3, 1)}


def timings() -> dict[str, Any]:
    """Times in microseconds and rates in GB/s (1e9 bytes) and GFLOP/s of plain runs."""
    answer: dict[str, Any] = {}
    n = 1 << 28
    x, out = random(n), blank(n)
    copies: dict[str, Callable[[], Any]] = {
        "copy_kernel": lambda: copy[n // 256, 256](x, out),
        "copy_four": lambda: copy_four[n // 1024, 256](x, out),
        "copy_device": lambda: out.copy_to_device(x),
    }
    for name, work in copies.items():
        answer[name] = {"elements": n, **at_rate(microseconds(work), 8 * n)}
    n = 1 << 26
    x, out = random(n), blank(n)
    a, b = np.float32(0.999), np.float32(0.001)
    for kernel, first in ((repeat_multiply, 0), (repeat_multiply_unrolled, 4)):
        sweep = []
        for power in range(first, 11):
            k = 1 << power
            spent = microseconds(
                lambda f=kernel, k=k: f[n // 256, 256](x, out, a, b, k), 5 if power > 7 else 15
            )
            row = {"rounds": k, **at_rate(spent, 8 * n), **at_rate(spent, 2 * k * n, "gflop_s")}
            sweep.append(row | {"flop_per_byte": k / 4})
        answer[kernel.py_func.__name__] = {"elements": n, "sweep": sweep}
    answer["strided_copy"] = [
        {
            "step": step,
            "elements": n // step,
            "us": (
                us := microseconds(
                    lambda s=step: copy_strided[n // s // 256, 256](x, out[: n // s], s)
                )
            ),
            "gb_s_useful": round(8 * n / step / us / 1e3, 1),
        }
        for step in (1, 2, 4, 8, 16, 32)
    ]
    left, right, product = random(SIDE, SIDE), random(SIDE, SIDE), blank(SIDE, SIDE)
    for kernel in (matmul_naive, matmul_swapped, matmul_tiled):
        spent = microseconds(
            lambda k=kernel: k[(SIDE // T, SIDE // T), (T, T)](left, right, product)
        )
        counted = at_rate(spent, 2 * SIDE**3, "gflop_s")
        answer[kernel.py_func.__name__] = {"side": SIDE, **counted}
    points, flat = random(POINTS, 3), random(POINTS * 3)
    total = blank(POINTS)
    grid = (POINTS // 256, 256)
    for kernel, given in ((points_sum_direct, points), (points_sum_staged, flat)):
        spent = microseconds(lambda k=kernel, g=given: k[grid](g, total))
        answer[kernel.py_func.__name__] = at_rate(spent, 16 * POINTS)
    rows, sums = random(16384, 4096), blank(16384)
    for kernel, blocks in ((row_sum_thread, 128), (row_sum_warp, 4096)):
        spent = microseconds(lambda k=kernel, g=blocks: k[g, 128](rows, sums))
        answer[f"{kernel.py_func.__name__}_large"] = at_rate(spent, 4 * rows.size)
    small, result = random(1000), blank(1000)
    cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(2000):
        copy[4, 256](small, result)
    cuda.synchronize()
    spent = (time.perf_counter() - begin) * 1e6 / 2000
    answer["tiny_launch"] = {"elements": 1000, "us_per_launch_wall": round(spent, 2)}
    host = np.ones(1 << 26, np.float32)
    pinned = cuda.pinned_array(1 << 26, np.float32)
    pinned[:] = 1
    for name, source in (("to_device_pageable", host), ("to_device_pinned", pinned)):
        spent = microseconds(lambda s=source: x.copy_to_device(s), 5)
        answer[name] = {"bytes": host.nbytes, **at_rate(spent, host.nbytes)}
    return answer


def record(out: Path) -> None:
    """Count, time, and write the JSON file; a part that fails leaves its error."""
    answer: dict[str, Any] = {
        "about": "counters of one launch each (sectors of 32 bytes, caches flushed before), "
        "and medians of timed launches",
        "provenance": provenance(f"python -m {MODULE} --out {out.name}"),
    }
    try:
        ncu = counters.find_ncu()
        metrics = counters.available({**counters.METRICS, **counters.MORE_METRICS}, ncu)
        launches = counters.count_command(
            [sys.executable, "-m", MODULE, "--worker"], metrics, timeout_s=240
        )
        counts = {}
        for name, launch in zip(counted_launches(), launches, strict=True):
            whole = {key: round(value) for key, value in launch.counts.items()}
            counts[name] = {"grid": launch.grid, "block": launch.block, "counts": whole}
        answer["metrics"] = metrics
        answer["counted"] = counts
    except (counters.CountersUnavailable, ValueError, subprocess.TimeoutExpired) as problem:
        answer["counted_error"] = str(problem)
    out.write_text(json.dumps(answer, indent=1) + "\n")
    answer["timed"] = timings()
    out.write_text(json.dumps(answer, indent=1) + "\n")


def counted() -> None:
    """What Nsight Compute sees: each launch, once."""
    for launch in counted_launches().values():
        launch()
        cuda.synchronize()


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record, counted))
