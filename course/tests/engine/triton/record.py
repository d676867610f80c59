"""On a GPU machine, in the folder that `accesses.py` filled: what the hardware counts.

``python record.py COUNTERS.py OUT.json [EVERY]``, where COUNTERS.py is `course/gpu/counters.py`. It
needs CuPy and Nsight Compute, and neither Triton nor the course. Every launch is made and its
result kept; each takes Nsight a fifth of a second, so that of many, every so many are counted.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

#: Nsight Compute's name for wavefronts beyond the fewest
_EXTRA = "L1 Wavefronts Shared Excessive"
HERE = Path(__file__).resolve().parent


def digest(arrays: Iterable[np.ndarray]) -> str:
    """Of what a launch left in its outputs; NaN is NaN whatever its bits, and zero has no sign."""
    found = hashlib.sha256()
    for array in arrays:
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array + 0)
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def launched(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Makes these launches: by name a digest of what each left in its outputs."""
    import cupy

    digests = {}
    for row in rows:
        code = (HERE / row["contents"]).with_suffix(".cubin")
        kernel = cupy.RawModule(path=str(code)).get_function(row["entry"])
        if row["shared"] > 48 << 10:
            kernel.max_dynamic_shared_size_bytes = row["shared"]
        held = list(np.load(HERE / row["contents"]).values())
        there = [cupy.asarray(content) for content in held]  # a copy: no kernel runs for it
        pointers = [
            np.uint64(array.data.ptr + front * array.itemsize)
            for array, front in zip(there, row["fronts"], strict=True)
        ]
        given: list[Any] = [
            pointers[value] if kind == "array" else np.dtype(kind).type(value)
            for kind, value in row["passed"]
        ]
        given += [np.uint64(0)] * row["scratch"]
        grid = (*row["grid"], 1, 1)[:3]
        kernel(grid, (32 * row["warps"], 1, 1), tuple(given), shared_mem=row["shared"])
        cupy.cuda.runtime.deviceSynchronize()
        digests[row["name"]] = digest(there[at].get() for at in row["outputs"])
    return digests


def of_instructions(page: str) -> list[tuple[str, dict[str, int]]]:
    """(kernel, extra wavefronts of its loads and stores of shared memory) of Nsight's source pages.

    They are counted instruction by instruction; the counters of all L1 take in whom else a bank
    keeps waiting, copies that arrive from global memory among them.
    """
    found = []
    for part in page.split('"Kernel Name",')[1:]:
        head, _, table = part.partition("\n")
        extra = {"shared_load_extra_wavefronts": 0, "shared_store_extra_wavefronts": 0}
        for row in csv.DictReader(table.splitlines()):
            if (kind := re.match(r"\s*(?:@!?\w+\s+)?(LD|ST)SM?\b", row["Source"])) is not None:
                name = "load" if kind[1] == "LD" else "store"
                extra[f"shared_{name}_extra_wavefronts"] += int(row[_EXTRA])
        found.append((head.split('"')[1].split("(")[0], extra))
    return found


def by_instruction(ncu: str, worker: list[str]) -> list[tuple[str, dict[str, int]]]:
    """What `of_instructions` reads, of every launch that `worker` makes."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.csv"
        command = [ncu, "--clock-control", "none", "--section", "SourceCounters"]
        command += ["--page", "source", "--csv", "--print-source", "sass", "--log-file", str(page)]
        subprocess.run([*command, *worker], check=True, capture_output=True, timeout=400)
        return of_instructions(page.read_text())


def main(counters_file: str, out: str, every: str = "1") -> None:
    """Makes every launch, and counts every so many under Nsight Compute."""
    spec = importlib.util.spec_from_file_location("counters", counters_file)
    assert spec is not None
    assert spec.loader is not None
    counters = importlib.util.module_from_spec(spec)
    sys.modules["counters"] = counters
    spec.loader.exec_module(counters)
    manifest = json.loads((HERE / "manifest.json").read_text())
    rows = manifest["launches"]
    worker = [sys.executable, __file__, "--worker", every]
    entries = {row["entry"] for row in rows}
    chosen = rows[:: int(every)]
    more: list[dict[str, int]] = [{} for _ in chosen]
    if manifest["shared_memory"]:
        shared = ("shared", "sass")
        wanted = counters.METRICS | {
            name: metric
            for name, metric in counters.MORE_METRICS.items()
            if name.startswith(shared)
        }
        more = [
            counts
            for name, counts in by_instruction(counters.find_ncu(), worker)
            if name in entries
        ]
    else:
        wanted = {n: m for n, m in counters.METRICS.items() if "_mem_global_" in m}
    metrics = counters.available(wanted, counters.find_ncu())
    counted = counters.count_command(worker, metrics, timeout_s=500)
    counted = [launch for launch in counted if launch.name.split("(")[0] in entries]
    found = {
        row["name"]: {key: round(value) for key, value in launch.counts.items()} | instructions
        for row, launch, instructions in zip(chosen, counted, more, strict=True)
    }
    gpu = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    head = {
        "about": "one launch each of code that Triton made for sm_90, caches flushed before",
        "provenance": {
            "gpu": gpu,
            "triton": manifest["triton"],
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "command": f"python -m {manifest['made_by']} F; in F: python record.py",
        },
    }
    results = launched(rows)
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps({'result': result} | found.get(name, {}))}"
        for name, result in results.items()
    )
    Path(out).write_text(f'{json.dumps(head)[:-1]},\n"counted": {{\n{lines}\n}}}}\n')
    print(len(results), "launches made,", len(counted), "counted on", gpu)


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        launches = json.loads((HERE / "manifest.json").read_text())["launches"]
        launched(launches[:: int(sys.argv[2])])
    else:
        main(*sys.argv[1:])
