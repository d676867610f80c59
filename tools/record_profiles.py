# mypy: disable-error-code="misc, no-untyped-def"
"""Measure the lessons' recorded profiles: ``python -m tools.record_profiles --out FILE.json``.

Counts and durations come from Nsight Compute, of one launch each, with caches flushed before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda, float32

from course.gpu import counters
from course.gpu.recording import commanded, provenance

MODULE = "tools.record_profiles"
POINTS = 1 << 22
_METRICS = counters.METRICS | {"duration_ns": counters.MORE_METRICS["duration_ns"]}


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
    tiles = ((128, 512), (32, 8))
    return {
        "points_direct": lambda: points_direct[xyz](
            random(POINTS, 3), blank(POINTS), blank(POINTS), blank(POINTS)
        ),
        "points_staged": lambda: points_staged[xyz](
            random(POINTS * 3), blank(POINTS), blank(POINTS), blank(POINTS)
        ),
        "row_sum_thread": lambda: row_sum_thread[2, 128](random(256, 200), blank(256)),
        "row_sum_warp": lambda: row_sum_warp[64, 128](random(256, 200), blank(256)),
        "row_sum_thread_large": lambda: row_sum_thread[128, 128](random(16384, 4096), blank(16384)),
        "row_sum_warp_large": lambda: row_sum_warp[4096, 128](random(16384, 4096), blank(16384)),
        "tile_rows_aligned": lambda: tile_rows[tiles](random(4096, 4096), blank(4096, 4096)),
        "tile_rows_pitch_4097": lambda: tile_rows[tiles](
            random(4096, 4097)[:, :4096], blank(4096, 4096)
        ),
        "copy": lambda: copy[1 << 17, 256](random(1 << 25), blank(1 << 25)),
        "copy_stride_8": lambda: copy_strided[1 << 14, 256](random(1 << 25), blank(1 << 22), 8),
        "copy_stride_32": lambda: copy_strided[1 << 12, 256](random(1 << 25), blank(1 << 20), 32),
    }


def record(out: Path) -> None:
    """Counts, and writes the JSON file."""
    command = [sys.executable, "-m", MODULE, "--worker"]
    launches = counters.count_command(command, _METRICS, timeout_s=240)
    answer = {
        "about": "counters of one launch each (sectors of 32 bytes, caches flushed before)",
        "provenance": provenance(f"python -m {MODULE} --out {out.name}"),
        "metrics": _METRICS,
        "counted": {
            name: {
                "grid": launch.grid,
                "block": launch.block,
                "counts": {key: round(value) for key, value in launch.counts.items()},
            }
            for name, launch in zip(counted_launches(), launches, strict=True)
        },
    }
    out.write_text(json.dumps(answer, indent=1) + "\n")


def counted() -> None:
    """What Nsight Compute sees: each launch, once."""
    for launch in counted_launches().values():
        launch()
        cuda.synchronize()


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record, counted))
