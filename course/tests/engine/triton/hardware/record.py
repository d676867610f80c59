"""Records what a GPU's counters say of the kernels in `course.tests.engine.triton.cases`.

On a machine with an NVIDIA GPU, torch, Triton and Nsight Compute, at the repository's root:
``python -m course.tests.engine.triton.hardware.record --out h200.json``. Each case is launched once
under ``ncu``; its results are compared with the reference, and the largest difference is recorded
beside the counts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from course.gpu import counters
from course.gpu.recording import in_lines, provenance
from course.tests.engine.triton import cases

MODULE = "course.tests.engine.triton.hardware.record"
#: bytes that tensor descriptors (TMA) bring to L1, beside the usual counters
TMA = {"tma_load_bytes": "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"}


def on_gpu(value: Any) -> Any:
    """A tensor or descriptor brought to the GPU."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.cuda()
    if type(value).__name__ == "TensorDescriptor":
        return type(value).from_tensor(value.base.cuda(), list(value.block_shape))
    return value


def launch_all(out: Path) -> None:
    """Launches every case once, in order, and writes how each ended."""
    import torch

    ended: list[dict[str, Any]] = []
    for name, make in {**cases.RECORDED, **cases.ORDERED}.items():
        try:
            case = make()
            args = [on_gpu(a) for a in case.args]
            compiled = case.kernel[case.grid](*args, **case.constants)
            torch.cuda.synchronize()
            worst = max(
                float(((args[at].cpu().double() - e.double()).abs() / (1 + e.double().abs())).max())
                for at, e in case.expected.items()
            )
            kept = {
                "registers": getattr(compiled, "n_regs", None),
                "spills": getattr(compiled, "n_spills", None),
                "shared_bytes": getattr(compiled.metadata, "shared", None),
                "warps": getattr(compiled.metadata, "num_warps", None),
            }
            ended.append(
                {"name": name, "kernel": case.kernel.__name__, "difference": worst, **kept}
            )
        except Exception:
            ended.append({"name": name, "error": traceback.format_exc()[-1500:]})
        out.write_text(json.dumps(ended))


def record(out: Path) -> None:
    """Counts every case and writes one JSON file."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ended.json"
        command = [sys.executable, "-m", MODULE, "--launch", str(log)]
        launches = counters.count_command(command, {**counters.METRICS, **TMA})
        ended = json.loads(log.read_text())
    kernels = {e["kernel"] for e in ended if "kernel" in e}
    launches = [found for found in launches if found.name.split("(")[0] in kernels]
    rows: dict[str, Any] = {}
    waiting = iter(launches)
    for entry in ended:
        name = entry.pop("name")
        if "error" not in entry:
            found = next(waiting)
            if found.name.split("(")[0] != entry["kernel"]:
                raise RuntimeError(f"{name}: the counters are of {found.name}")
            entry["grid"] = list(found.grid)
            entry["counts"] = {key: round(v) for key, v in found.counts.items() if v}
        rows[name] = entry
    answer = {
        "about": "counters and results of tests/engine/triton/cases.py on a GPU; a count that is "
        "left out is 0; difference is |result - reference| / (1 + |reference|), the largest",
        "provenance": provenance(f"python -m {MODULE} --out {out.name}"),
        "cases": rows,
    }
    out.write_text(in_lines(answer) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("gpu.json"))
    parser.add_argument("--launch", type=Path)
    chosen = parser.parse_args()
    if chosen.launch:
        launch_all(chosen.launch)
    else:
        record(chosen.out)
