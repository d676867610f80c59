# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
"""What lesson 12 reads, from one GPU: `python -m tools.record_speed --out FILE.json`.

Times of shapes that a learner is not to see go to FILE_held_out.json.

Five parts. `ceilings`: this GPU's own copy and products. `kernels`: solutions of the course at full
size, timed beside PyTorch, with Nsight Compute's report of one launch of each. `tiles`: a matmul in
forty configurations at several shapes, with what the compiler says of each. `benchmarks`: one
number measured rightly, and wrongly in five ways. `provenance`: machine, versions, date, command.

Times are medians in microseconds by CUDA events with the L2 cleared before each run
(`tools.full_size.median_us`), unless a benchmark is wrong on purpose.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # Numba looks for the name that NumPy 2.5 took away
    np.row_stack = np.vstack  # noqa: NPY201

import torch

from course.gpu import counters
from course.gpu.recording import commanded, in_lines, provenance
from course.spec.exercise import Case
from course.spec.formula import evaluate
from tools import full_size
from tools.full_size_runs import RUNS, Run
from tools.speed_kernels import CONFIGURATIONS, HELD_OUT, SHAPES, product

MODULE = "tools.record_speed"

#: The kernel of `torch.cuda._sleep`.
MARKER = "spin"

#: Solutions and witnesses whose report is kept, by a name of their own.
REPORTS: dict[str, tuple[str, str]] = {
    "triton_add": ("triton_add", "N=67108864"),
    "vector_add": ("vector_add", "N=67108864"),
    "wave_energy": ("wave_energy", "N=67108864"),
    "row_sum": ("row_sum", "M=65536"),
    "half_the_bytes": ("half_the_bytes", "N=67108864"),
    "transpose": ("transpose", "M=8192"),
    "transpose_padded": ("transpose_padded", "M=8192"),
    "stencil_halo": ("stencil_halo", "N=67108864"),
    "dot": ("dot", "N=67108864"),
    "dot_more_blocks": ("dot", "N=67108864, BLOCKS=1056"),
    "dot_any_block": ("dot_any_block", "N=67108864"),
    "histogram": ("histogram", "N=67108864"),
    "histogram_more_blocks": ("histogram", "N=67108864; grid 1056"),
    "matmul_naive": ("matmul_naive", "M=2048"),
    "matmul_tiled": ("matmul_tiled", "M=2048"),
    "matmul_coarse_1d_local": ("matmul_coarse_1d/local_array", "M=2048"),
    "matmul_coarse_1d": ("matmul_coarse_1d", "M=2048"),
    "matmul_coarse": ("matmul_coarse", "M=2048"),
    "repeat_multiply": ("repeat_multiply", "N=67108864, k=16"),
    "softmax_three_pass": ("softmax_three_pass", "M=16384"),
    "softmax_one_pass": ("softmax_one_pass", "M=32768"),
    "rmsnorm": ("rmsnorm", "M=32768"),
    "layernorm_tile": ("layernorm/tile_of_four_rows", "M=32768, D=8192;"),
    "layernorm_eight_rows": ("layernorm/tile_of_four_rows", "M=32768, D=8192, ROWS=8"),
    "layernorm_eight_short": ("layernorm/tile_of_four_rows", "M=32768, D=4096, ROWS=8"),
    "layernorm": ("layernorm", "M=32768, D=8192;"),
    "cross_entropy": ("cross_entropy", "M=8192"),
    "triton_matmul": ("triton_matmul", "M=4096"),
    "triton_matmul_long": ("triton_matmul", "M=64, N=64, K=65536"),
    "split_k": ("split_k", "M=64, N=64, K=65536"),
    "gated_linear": ("gated_linear", "M=65536"),
    "attend_one_query": ("attend_one_query", "H=8"),
    "flash_decode": ("flash_decode", "H=8"),
    "flash_forward": ("flash_forward", "H=16, N=4096, D=64, GAP=0; q"),
    "flash_forward_narrow": ("flash_forward/keys_64_on_four_warps", "H=16"),
}


def chosen(kernel: str, case: str) -> Run:
    """The run of `tools.full_size_runs` whose sizes begin so."""
    return next(r for r in RUNS if r.kernel == kernel and r.label.startswith(case))


def reported() -> None:
    """What Nsight Compute sees: a marker, then one warm launch, of each report."""
    known = full_size.solutions()
    with tempfile.TemporaryDirectory() as scratch:
        for kernel, case in REPORTS.values():
            call = full_size.prepared(chosen(kernel, case), known[kernel], Path(scratch)).call
            call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            torch.cuda._sleep(1)  # whose kernel, MARKER, says that the next report begins
            call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
            del call
            torch.cuda.empty_cache()


def kernels(say: Callable[[str], None]) -> dict[str, Any]:
    """Each report's run: its time, PyTorch's, the bytes and operations that it owes."""
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        known = full_size.solutions()
        for name, (kernel, case) in REPORTS.items():
            run = chosen(kernel, case)
            row = full_size.measured(full_size.prepared(run, known[kernel], Path(scratch)))
            exercise = known[kernel].exercise
            sized = Case(run.sizes, dtypes=run.dtypes)
            row["least_bytes"] = sum(exercise.least_sectors(sized).values()) * 32
            if run.operations:
                row["flop"] = evaluate(run.operations, {"causal": 0, **run.sizes})
            rows[name] = row
            torch.cuda.empty_cache()
        say(f"kernels: {len(rows)} timed")
    return rows


def reports(say: Callable[[str], None]) -> dict[str, Any]:
    """Nsight Compute's counters of each report's launch; several kernels of one are several."""
    ncu = counters.find_ncu()
    known = counters.known_metrics(ncu)
    exempt = ("launch__", "sm__maximum_warps")
    wanted = {
        short: full
        for short, full in counters.REPORT.items()
        if known is None or full.startswith(exempt) or full.split(".")[0] in known
    }
    say(f"reports: not on this GPU: {sorted(set(counters.REPORT) - set(wanted))}")
    launches = counters.count_command(
        [sys.executable, "-m", MODULE, "--worker"],
        wanted,
        timeout_s=300,
        options=("--profile-from-start", "off"),
    )
    answer: list[list[Any]] = []
    for launch in launches:
        if MARKER in launch.name:
            answer.append([])
        else:
            counts = {name: round(value, 3) for name, value in launch.counts.items()}
            answer[-1].append({"name": launch.name[:80], "grid": launch.grid, "counts": counts})
    return {"metrics": wanted, "launches": dict(zip(REPORTS, answer, strict=False))}


def tiles(say: Callable[[str], None]) -> dict[str, Any]:
    """Every configuration at every shape: microseconds, or why it does not run."""
    answer: dict[str, Any] = {"configurations": [], "us": {}}
    for shape_name, (m, n, k) in SHAPES.items():
        torch.manual_seed(0)
        a, b = (torch.randn(s, device="cuda", dtype=torch.float16) for s in ((m, k), (k, n)))
        want = a @ b
        column: list[float | None] = []
        for number, configuration in enumerate(CONFIGURATIONS):
            try:
                call = product(a, b, configuration)
                out, compiled = call()
                error = float((out.float() - want.float()).abs().max() / want.float().abs().max())
                if not error < full_size.AGREES:
                    raise ValueError(f"differs from cuBLAS by {error}")
                column.append(round(full_size.median_us(torch, call), 1))
                said = {"registers": compiled.n_regs, "spills": compiled.n_spills}
                said["shared_bytes"] = compiled.metadata.shared
            except Exception as fault:  # whatever a GPU or its compiler says
                column.append(None)
                said = {"fault": f"{type(fault).__name__}: {fault}"[:160]}
            if len(answer["configurations"]) == number:
                answer["configurations"].append(configuration | said)
        answer["us"][shape_name] = {"M": m, "N": n, "K": k, "configurations": column}
        answer["us"][shape_name]["cublas"] = round(
            full_size.median_us(torch, lambda a=a, b=b: a @ b), 1
        )
        best = min(us for us in column if us is not None)
        say(f"tiles {shape_name}: best {best}, cuBLAS {answer['us'][shape_name]['cublas']}")
        torch.cuda.empty_cache()
    return answer


def wall_us(call: Callable[[], Any], repeats: int, waits: bool = True) -> float:
    """Microseconds a call by the host's clock, which is read when the GPU is done, or before."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    if waits:
        torch.cuda.synchronize()
    spent = (time.perf_counter() - begin) * 1e6 / repeats
    torch.cuda.synchronize()
    return spent


def back_to_back_us(call: Callable[[], Any], repeats: int = 50) -> float:
    """Microseconds a call by events around many, behind a long copy: nothing is cleared."""
    cover = torch.empty(1 << 30, dtype=torch.int8, device="cuda")
    call()
    times = []
    for _ in range(9):
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        cover.zero_()
        call()
        ends[0].record()
        for _ in range(repeats):
            call()
        ends[1].record()
        ends[1].synchronize()
        times.append(1e3 * ends[0].elapsed_time(ends[1]) / repeats)
    return statistics.median(times)


def benchmarks(say: Callable[[str], None]) -> dict[str, Any]:
    """The same work measured rightly and in five wrong ways, microseconds a call."""
    answer: dict[str, Any] = {}
    size = 1 << 26
    x = torch.randn(size, device="cuda")
    from tools.speed_kernels import add

    cold = wall_us(lambda: add(x, x), 1)
    answer["cold"] = {"elements": size, "bytes": 12 * size, "wrong_us": cold}
    y, out = torch.randn_like(x), torch.empty_like(x)
    right = full_size.median_us(torch, lambda: add(x, y, out))
    answer["cold"]["right_us"] = right
    never = wall_us(lambda: add(x, y, out), 100, waits=False)
    answer["asynchronous"] = {"elements": size, "bytes": 12 * size}
    answer["asynchronous"] |= {"right_us": right, "wrong_us": never}
    few = 1 << 20  # three arrays of 4 MB: they stay in the L2
    small = [t[:few].clone() for t in (x, y, out)]

    def cached() -> Any:
        return torch.add(small[0], small[1], out=small[2])

    answer["cached"] = {"elements": few, "bytes": 12 * few}
    answer["cached"]["right_us"] = full_size.median_us(torch, cached)
    answer["cached"]["wrong_us"] = back_to_back_us(cached)
    tiny = [t[:4096].clone() for t in (x, y, out)]
    answer["launches"] = {
        "elements": 4096,
        "bytes": 12 * 4096,
        "right_us": full_size.median_us(torch, lambda: add(*tiny)),
        "wrong_us": wall_us(lambda: add(*tiny), 2000),
    }
    n = 8192
    zeros = [torch.zeros((n, n), device="cuda", dtype=torch.float16) for _ in range(2)]
    random = [torch.randn((n, n), device="cuda", dtype=torch.float16) for _ in range(2)]
    times = [full_size.median_us(torch, lambda g=g: g[0] @ g[1]) for g in (random, zeros)]
    answer["zeros"] = {"n": n, "flop": 2 * n**3, "right_us": times[0], "wrong_us": times[1]}
    say(f"benchmarks: {answer}")
    return {
        name: {k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}
        for name, row in answer.items()
    }


def ceilings() -> dict[str, float]:
    """What this GPU itself reaches: GB/s of a copy of 4 GB, TFLOP/s of cuBLAS's products."""
    pair = torch.randn((2, 1 << 30), device="cuda")
    copied = full_size.median_us(torch, lambda: pair[0].copy_(pair[1]))
    answer = {"copy_gb_s": round(8 * (1 << 30) / copied / 1e3, 1)}
    for dtype, n in ((torch.float16, 8192), (torch.float32, 4096)):
        a, b = (torch.randn((n, n), device="cuda", dtype=dtype) for _ in range(2))
        spent = full_size.median_us(torch, lambda a=a, b=b: a @ b)
        name = str(dtype).removeprefix("torch.")
        answer[f"{name}_tflop_s"] = round(2 * n**3 / spent / 1e6, 1)
    return answer


def record(out: Path) -> None:
    """Records all parts; a part that fails leaves its error in the file."""
    answer: dict[str, Any] = {"provenance": provenance(f"python -m {MODULE} --out {out.name}")}
    parts: Mapping[str, Callable[[], Any]] = {
        "benchmarks": lambda: benchmarks(say),
        "ceilings": ceilings,
        "tiles": lambda: tiles(say),
        "kernels": lambda: kernels(say),
        "reports": lambda: reports(say),
    }

    def say(words: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {words}", flush=True)

    began = time.perf_counter()
    for name, part in parts.items():
        try:
            answer[name] = part()
        except (Exception, subprocess.TimeoutExpired) as problem:
            answer[name] = {"error": f"{type(problem).__name__}: {problem}"[:2000]}
            say(f"{name}: {answer[name]['error']}")
        if name == "tiles" and "us" in answer[name]:
            us = {shape: answer[name]["us"].pop(shape) for shape in HELD_OUT}
            apart = {"provenance": answer["provenance"], "us": us}
            held_out = out.with_stem(f"{out.stem}_held_out")
            held_out.write_text(in_lines(apart) + "\n")
        out.write_text(in_lines(answer, 3) + "\n")
        say(name)


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record, reported))
