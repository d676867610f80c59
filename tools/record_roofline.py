# mypy: disable-error-code="misc, no-untyped-def"
"""Records what lesson 05 shows: a roofline sweep, latency, waves and five profiles.

``python tools/record_roofline.py OUT.json [PART ...]`` on a machine with NVIDIA GPUs, torch
and Numba (two GPUs for the profile that waits for the network; with one it is left out). Times
are medians in microseconds from CUDA events, or by the wall clock where the host takes part.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # numba.cuda imports the name that NumPy 2.5 took away
    np.row_stack = np.vstack  # noqa: NPY201  (set, not used)

import numba
import torch
from numba import cuda

SWEEP_ELEMENTS = 2**28
SWEEP_STEPS = (1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 192, 256, 512, 1024)
CHASE_ELEMENTS = 2**26  # int64: 512 MB, far more than the L2 holds
CHASE_STEPS = 20_000
LINE_ELEMENTS = 16  # int64 in 128 bytes
FLIGHT_ELEMENTS = 2**28
FLIGHT_WARPS = (1, 2, 4, 8, 16, 32, 64)
MATMUL_OFFSETS = (0, 1, 2, 8)


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    """k multiply-adds between one load and one store."""
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]
        for _ in range(k):
            value = value * a + b
        y[i] = value


@cuda.jit
def four_at_once(x, y, a, b, k):
    """Four elements a thread and eight steps a turn: a loop's own work is shared by 32.

    The four loads are on their way together, and the four chains of arithmetic do not wait
    for each other.
    """
    i = cuda.grid(1)
    stride = cuda.gridsize(1)
    if i + 3 * stride < x.size:
        p = x[i]
        q = x[i + stride]
        r = x[i + 2 * stride]
        s = x[i + 3 * stride]
        turns = k // 8
        for _ in range(turns):
            p = (((p * a + b) * a + b) * a + b) * a + b
            q = (((q * a + b) * a + b) * a + b) * a + b
            r = (((r * a + b) * a + b) * a + b) * a + b
            s = (((s * a + b) * a + b) * a + b) * a + b
            p = (((p * a + b) * a + b) * a + b) * a + b
            q = (((q * a + b) * a + b) * a + b) * a + b
            r = (((r * a + b) * a + b) * a + b) * a + b
            s = (((s * a + b) * a + b) * a + b) * a + b
        for _ in range(k - 8 * turns):
            p = p * a + b
            q = q * a + b
            r = r * a + b
            s = s * a + b
        y[i] = p
        y[i + stride] = q
        y[i + 2 * stride] = r
        y[i + 3 * stride] = s


@cuda.jit
def four_products_at_once(x, y, a, b, k):
    """The same with multiplications alone: half the operations of a multiply-add each."""
    i = cuda.grid(1)
    stride = cuda.gridsize(1)
    if i + 3 * stride < x.size:
        p = x[i]
        q = x[i + stride]
        r = x[i + 2 * stride]
        s = x[i + 3 * stride]
        turns = k // 8
        for _ in range(turns):
            p = p * a * b * a * b * a * b * a * b
            q = q * a * b * a * b * a * b * a * b
            r = r * a * b * a * b * a * b * a * b
            s = s * a * b * a * b * a * b * a * b
        for _ in range(k - 8 * turns):
            p = p * a
            q = q * a
            r = r * a
            s = s * a
        y[i] = p
        y[i + stride] = q
        y[i + 2 * stride] = r
        y[i + 3 * stride] = s


@cuda.jit
def chase(following, start, steps, out):
    """Each load's address is the value of the load before it."""
    at = start
    for _ in range(steps):
        at = following[at]
    out[0] = at


@cuda.jit
def one_load_in_flight(x, out):
    """A thread asks for its next element only when the last one has arrived."""
    i = cuda.grid(1)
    while i < x.size:
        if x[i] == 12345.0:
            out[0] = 1.0
        i += cuda.gridsize(1)


@cuda.jit
def four_loads_in_flight(x, out):
    """A thread asks for four elements before it waits."""
    stride = cuda.gridsize(1)
    i = cuda.grid(1)
    while i + 3 * stride < x.size:
        total = x[i] + x[i + stride] + x[i + 2 * stride] + x[i + 3 * stride]
        if total == 12345.0:
            out[0] = 1.0
        i += 4 * stride


def gpu_us(
    work: Callable[[], Any], repeats: int = 20, warm_up: int = 3, launches: int = 1
) -> float:
    """Median time of `work` on the GPU, in microseconds, between CUDA events.

    With several `launches` between two events the host's part of a launch is hidden.
    """
    for _ in range(warm_up):
        work()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(launches):
            work()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / launches)
    return statistics.median(times)


def wall_us(work: Callable[[], Any], repeats: int = 20, warm_up: int = 3) -> float:
    """Median time of `work` and of waiting for it, by the host's clock, in microseconds."""
    times = []
    for turn in range(warm_up + repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if turn >= warm_up:
            times.append(1e6 * (time.perf_counter() - start))
    return statistics.median(times)


def launcher(kernel: Any, blocks: int, threads: int, *arguments: Any) -> Callable[[], None]:
    """A launch on torch's stream, so that torch's events time it."""
    stream = cuda.external_stream(torch.cuda.current_stream().cuda_stream)
    return lambda: kernel[blocks, threads, stream](*arguments)


def sweep() -> dict[str, Any]:
    """Time of k multiply-adds an element, as a learner writes it and tuned, over k."""
    x = cuda.to_device(np.random.default_rng(0).random(SWEEP_ELEMENTS, np.float32))
    y = cuda.device_array_like(x)
    blocks = SWEEP_ELEMENTS // 256
    a, b = np.float32(0.9), np.float32(0.1)
    kernels = {
        "plain_us": (repeat_multiply, blocks),
        "four_us": (four_at_once, blocks // 4),
        "four_products_us": (four_products_at_once, blocks // 4),
    }
    rows = []
    for k in SWEEP_STEPS:
        row: dict[str, float] = {"k": k}
        for name, (kernel, grid) in kernels.items():
            work = launcher(kernel, grid, 256, x, y, a, b, k)
            row[name] = gpu_us(work, repeats=5, launches=8 if k <= 128 else 2)
        rows.append(row)
    return {"elements": SWEEP_ELEMENTS, "dtype": "float32", "rows": rows}


def latency() -> dict[str, float]:
    """Nanoseconds from one dependent load to the next: from DRAM, then the same lines from L2."""
    lines = np.random.default_rng(1).permutation(CHASE_ELEMENTS // LINE_ELEMENTS)
    order = lines.astype(np.int64) * LINE_ELEMENTS
    following = np.zeros(CHASE_ELEMENTS, np.int64)
    following[order] = np.roll(order, -1)
    on_gpu, out = cuda.to_device(following), cuda.device_array(1, np.int64)
    launcher(chase, 1, 1, on_gpu, 0, 1, out)()
    first, again = [], []
    for turn in range(1, 8):
        work = launcher(chase, 1, 1, on_gpu, int(order[turn * CHASE_STEPS]), CHASE_STEPS, out)
        first.append(gpu_us(work, repeats=1, warm_up=0))
        again.append(gpu_us(work, repeats=1, warm_up=0))
    return {
        "dram_ns": 1000 * statistics.median(first) / CHASE_STEPS,
        "l2_ns": 1000 * statistics.median(again) / CHASE_STEPS,
    }


def flight() -> list[dict[str, float]]:
    """Read bandwidth by resident warps an SM, with one and with four loads in flight a thread."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    x = cuda.to_device(np.zeros(FLIGHT_ELEMENTS, np.float32))
    out = cuda.device_array(1, np.float32)
    rows = []
    for warps in FLIGHT_WARPS:
        blocks, threads = sms * max(1, warps // 32), 32 * min(warps, 32)
        row: dict[str, float] = {"warps_per_sm": warps}
        for name, kernel in (("one", one_load_in_flight), ("four", four_loads_in_flight)):
            work = launcher(kernel, blocks, threads, x, out)
            time_us = gpu_us(work, repeats=5, warm_up=1, launches=4)
            row[f"{name}_load_gb_s"] = 4e-3 * FLIGHT_ELEMENTS / time_us
        rows.append(row)
    return rows


def matmul_us(n: int, dtype: torch.dtype) -> float:
    """Median time of an n x n x n product."""
    a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
    out = torch.empty_like(a)
    return gpu_us(lambda: torch.mm(a, b, out=out), repeats=15)


def waves() -> list[dict[str, float]]:
    """Square fp16 products, n in steps of 64 and beside them; launches cost nothing here."""
    sizes = {base + offset for base in range(256, 4097, 64) for offset in MATMUL_OFFSETS}
    return [{"n": n, "us": matmul_in_a_graph_us(n)} for n in sorted(sizes)]


def matmul_in_a_graph_us(n: int, products: int = 10) -> float:
    """One of several fp16 products that a CUDA graph launches together."""
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(a)
    torch.mm(a, b, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(products):
            torch.mm(a, b, out=out)
    return gpu_us(graph.replay, repeats=9) / products


def profile_compute() -> dict[str, float]:
    """A large fp16 product."""
    n = 8192
    time_us = matmul_us(n, torch.float16)
    return {
        "step_us": time_us,
        "kernels_us": time_us,
        "launches": 1,
        "flop": 2 * n**3,
        "dram_bytes": 3 * 2 * n * n,
    }


def profile_memory() -> dict[str, float]:
    """The sum of two long float32 vectors."""
    n = 2**28
    a, b = (torch.randn(n, device="cuda") for _ in range(2))
    out = torch.empty_like(a)
    time_us = gpu_us(lambda: torch.add(a, b, out=out))
    return {
        "step_us": time_us,
        "kernels_us": time_us,
        "launches": 1,
        "flop": n,
        "dram_bytes": 12 * n,
    }


def profile_launch() -> dict[str, float]:
    """A thousand tiny kernels, and the same thousand in one CUDA graph."""
    n, launches = 16_384, 1000
    x = torch.ones(n, device="cuda")

    def work() -> None:
        for _ in range(launches):
            x.mul_(1.0)

    step_us = wall_us(work)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    kernels_us = sum(event.device_time_total for event in seen.key_averages())
    return {
        "step_us": step_us,
        "kernels_us": kernels_us,
        "launches": launches,
        "flop": n * launches,
        "dram_bytes": 8 * n * launches,
        "graph_us": wall_us(graph.replay),
    }


def profile_input() -> dict[str, float]:
    """A layer over a batch of images that comes from the host's memory in every step."""
    images, pixels, features = 256, 3 * 224 * 224, 1024
    pageable = torch.randn(images, pixels)
    pinned = pageable.pin_memory()
    weights = torch.randn(pixels, features, device="cuda", dtype=torch.float16)
    on_gpu = torch.empty(images, pixels, device="cuda")

    def step(source: torch.Tensor) -> None:
        on_gpu.copy_(source, non_blocking=True)
        on_gpu.half() @ weights

    return {
        "step_us": wall_us(lambda: step(pageable)),
        "kernels_us": gpu_us(lambda: on_gpu.half() @ weights),
        "launches": 2,
        "flop": 2 * images * pixels * features,
        "dram_bytes": images * pixels * (4 + 2 + 2) + 2 * pixels * features,
        "host_bytes": 4 * images * pixels,
        "copy_pageable_us": wall_us(lambda: on_gpu.copy_(pageable)),
        "copy_pinned_us": wall_us(lambda: on_gpu.copy_(pinned, non_blocking=True)),
    }


def _network_worker(rank: int, results: Any) -> None:
    import torch.distributed as distributed

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", rank=rank, world_size=2)
    parameters, n = 500_000_000, 4096
    gradients = torch.ones(parameters, device="cuda")
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))

    def compute() -> None:
        for _ in range(6):
            a @ b

    def exchange() -> None:
        distributed.all_reduce(gradients, op=distributed.ReduceOp.AVG)

    def step() -> None:
        compute()
        exchange()

    values = {
        "step_us": wall_us(step, repeats=10),
        "kernels_us": gpu_us(compute, repeats=10),
        "launches": 7,
        "flop": 6 * 2 * n**3,
        "dram_bytes": 6 * 3 * 2 * n * n,
        "network_bytes": 4 * parameters,
        "exchange_us": wall_us(exchange, repeats=10),
        "gpus": 2,
    }
    if rank == 0:
        results.put(values)
    distributed.barrier()
    distributed.destroy_process_group()


def profile_network() -> dict[str, float] | None:
    """Products, then the average of a gradient over two GPUs; None with one GPU."""
    if torch.cuda.device_count() < 2:
        return None
    context = torch.multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    torch.multiprocessing.spawn(_network_worker, args=(results,), nprocs=2)
    return dict(results.get())


def main(path: str, only: Sequence[str] = ()) -> None:
    """Measures everything, or the named parts, and writes it to `path`, part after part."""
    gpu = torch.cuda.get_device_properties(0)
    record: dict[str, Any] = {
        "provenance": {
            "command": "python tools/record_roofline.py OUT.json",
            "gpu": gpu.name,
            "multiprocessors": gpu.multi_processor_count,
            "date": datetime.now(UTC).date().isoformat(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "python": platform.python_version(),
            "numba": numba.__version__,
        }
    }
    parts: dict[str, Callable[[], Any]] = {
        "sweep": sweep,
        "latency": latency,
        "flight": flight,
        "compute": profile_compute,
        "memory": profile_memory,
        "launch": profile_launch,
        "input": profile_input,
        "waves": waves,
        "network": profile_network,
    }
    for name, measure in parts.items():
        if only and name not in only:
            continue
        start = time.perf_counter()
        try:
            record[name] = measure()
        except Exception as error:  # one part that fails must not lose the others
            record[name] = {"failed": f"{type(error).__name__}: {error}"[:400]}
        print(name, f"{time.perf_counter() - start:.1f} s", str(record[name])[:300], flush=True)
        Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
