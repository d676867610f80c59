# mypy: disable-error-code="no-untyped-call"
"""What lessons 07 and 08 show of rows on a GPU: ``python -m tools.record_rows --out FILE.json``.

`counted`: sectors and bytes of one launch of each softmax of the course, by Nsight Compute with
caches flushed before, and the time of it. `timed`: medians in microseconds by CUDA events
(`tools.full_size.median_us`) and GB/s of the bytes that have to move: of solutions, of PyTorch, and
of what torch.compile makes of PyTorch's expression.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from course.gpu import counters
from course.gpu.recording import commanded, in_lines, provenance
from tools import full_size
from tools.full_size_runs import COMPILED, RUNS, Run, peer_of

MODULE = "tools.record_rows"
_METRICS = ("load_sectors", "l2_read_sectors", "dram_read_bytes", "duration_ns")
COUNTED = tuple(
    Run(kernel, {"M": rows, "N": columns})
    for rows, columns, kernels in (
        (128, 1024, "softmax_three_pass softmax_online softmax_one_pass"),
        (64, 4096, "softmax_three_pass"),
        (1056, 131_072, "softmax_three_pass softmax_online"),
        (128, 1000, "softmax_three_pass softmax_online"),
    )
    for kernel in kernels.split()
)
TIMED = (
    *(
        Run(kernel, {"M": 16_384, "N": columns}, dtypes=dict.fromkeys(("x", "out"), "float16"))
        for columns in (8192, 32_768)
        for kernel in ("softmax_one_pass", "softmax_online", "softmax_three_pass")
    ),
    *(next(run for run in RUNS if run.kernel == name) for name in ("rmsnorm", "cross_entropy")),
)


def record(out: Path) -> None:
    """Counts, times, and writes the JSON file."""
    answer = {
        "provenance": provenance(f"python -m {MODULE} --out {out.name}"),
        "copy_gb_s": round(full_size.copied(torch), 1),
        "timed": list(timed()),
        "counted": counts(),
    }
    out.write_text(in_lines(answer) + "\n")


def timed() -> Iterator[dict[str, Any]]:
    """A row for each run: the solution's, PyTorch's and torch.compile's time and rate."""
    known = full_size.solutions()
    with tempfile.TemporaryDirectory() as scratch:
        for run in TIMED:
            ready = full_size.prepared(run, known[run.kernel], Path(scratch))
            row = full_size.measured(ready)
            peer = peer_of(torch, run.kernel, ready.given, COMPILED)
            assert peer is not None
            us = full_size.median_us(torch, peer)
            row["compiled_us"] = round(us, 1)
            row["compiled_GB/s"] = round(row["GB/s"] * row["us"] / us, 1)
            print(row, flush=True)
            yield row
            del ready, peer
            torch.cuda.empty_cache()


def counts() -> list[dict[str, Any]]:
    """A row for each launch of `counted`: what was counted of it."""
    ncu = counters.find_ncu()
    known = counters.METRICS | counters.MORE_METRICS
    wanted = counters.available({name: known[name] for name in _METRICS}, ncu)
    launches = counters.count_command(
        [sys.executable, "-m", MODULE, "--worker"],
        wanted,
        timeout_s=240,
        options=("--profile-from-start", "off"),
    )
    return [
        {"kernel": run.kernel, "rows": run.sizes["M"], "columns": run.sizes["N"]}
        | {name: round(value) for name, value in launch.counts.items()}
        for run, launch in zip(COUNTED, launches, strict=True)
    ]


def counted() -> None:
    """What Nsight Compute sees: each launch, once it is compiled."""
    known = full_size.solutions()
    with tempfile.TemporaryDirectory() as scratch:
        for run in COUNTED:
            call = full_size.prepared(run, known[run.kernel], Path(scratch)).call
            call()
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            call()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record, counted))
