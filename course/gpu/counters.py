"""Hardware counters of every kernel that a Python program launches, read with Nsight Compute.

``python -m course.gpu.counters FILE [ARGUMENT ...]`` prints a table. It needs an NVIDIA GPU,
the ``ncu`` program and leave to read the counters; where one is missing it says which. The
GPU's clocks are left alone, so the counts are to be trusted and the durations are not.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_L1 = "l1tex__t_{what}_pipe_lsu_mem_{space}_op_{op}.sum"
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_OPERATIONS = {"load": "ld", "store": "st", "atomic": "atom", "reduction": "red"}

#: Our names for the counters, and Nsight Compute's. Requests are one per warp and instruction,
#: sectors are of 32 bytes, ``dram`` counts are bytes.
METRICS: dict[str, str] = {
    **{
        f"{direction}_{what}": _L1.format(what=what, space="global", op=op)
        for what in ("requests", "sectors")
        for direction, op in _OPERATIONS.items()
    },
    "l2_read_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
}

#: What the hardware copies by descriptors, from compute capability 9.0 on: a request is a box.
TMA_METRICS: dict[str, str] = {
    "tma_load_requests": "sm__sass_inst_executed_op_tma_ld.sum",
    "tma_load_sectors": "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "tma_store_requests": "sm__sass_inst_executed_op_tma_st.sum",
    "tma_store_sectors": "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
}

#: Counters of shared and local memory and of control flow, beside ``METRICS``.
MORE_METRICS: dict[str, str] = {
    "l2_atomic_sectors": "lts__t_sectors_srcunit_tex_op_atom.sum",
    "l2_reduction_sectors": "lts__t_sectors_srcunit_tex_op_red.sum",
    **{
        f"local_{direction}_{what}": _L1.format(what=what, space="local", op=_OPERATIONS[direction])
        for what in ("requests", "sectors")
        for direction in ("load", "store")
    },
    **{
        f"global_{direction}_instructions": f"smsp__inst_executed_op_global_{op}.sum"
        for direction, op in _OPERATIONS.items()
    },
    "shared_load_instructions": "smsp__inst_executed_op_shared_ld.sum",
    "shared_store_instructions": "smsp__inst_executed_op_shared_st.sum",
    "shared_atomic_instructions": "smsp__inst_executed_op_shared_atom.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_atomic_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "shared_atomic_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "sass_shared_wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
    "sass_shared_wavefronts_ideal": (
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_ideal.sum"
    ),
    "branches": "smsp__sass_branch_targets.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
    "uniform_branches": "smsp__sass_branch_targets_threads_uniform.sum",
    "branch_instructions": "smsp__inst_executed_op_branch.sum",
    "instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed.sum",
    "registers": "launch__registers_per_thread",
    "duration_ns": "gpu__time_duration.sum",
}


#: What tells why a launch took its time. Percent are of the GPU's own peak.
REPORT: dict[str, str] = {
    "ncu_us": "gpu__time_duration.sum",
    "dram_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1_percent": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "sm_percent": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm_active_percent": "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "tensor_percent": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_op_percent": "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    "tensor_inst_percent": "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "fma_percent": "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "alu_percent": "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active",
    "xu_percent": "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
    "lsu_percent": "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "possible_occupancy_percent": "sm__maximum_warps_per_active_cycle_pct",
    "registers": "launch__registers_per_thread",
    "shared_bytes": "launch__shared_mem_per_block",
    "blocks": "launch__grid_size",
    "threads": "launch__block_size",
    "waves": "launch__waves_per_multiprocessor",
    **{
        name: (METRICS | MORE_METRICS)[name]
        for name in (
            *("dram_read_bytes", "dram_write_bytes", "load_requests", "store_requests"),
            *("load_sectors", "store_sectors", "local_load_sectors", "local_store_sectors"),
        )
    },
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "instructions": "smsp__inst_executed.sum",
    **{
        f"stall_{name}": _STALL.format(name)
        for name in (
            *("long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle"),
            *("mio_throttle", "lg_throttle", "wait", "not_selected", "no_instruction", "gmma"),
            *("membar", "branch_resolve", "dispatch_stall", "drain", "imc_miss", "sleeping"),
        )
    },
}


class CountersUnavailable(RuntimeError):
    """The counters cannot be read here; the message says why and what would help."""


@dataclass(frozen=True)
class KernelCounts:
    """What one launch did: ``grid`` in blocks, ``block`` in threads, ``counts`` by our names."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    counts: Mapping[str, float]


def find_ncu() -> str:
    """The path of ``ncu``; CountersUnavailable where there is none or no GPU."""
    path = shutil.which("ncu")
    if path is None:
        raise CountersUnavailable(
            "Nsight Compute's ncu is not on the PATH. It comes with the CUDA toolkit "
            "(often /usr/local/cuda/bin); without it use course.measure(), which needs no GPU."
        )
    smi = shutil.which("nvidia-smi")
    listed = subprocess.run([smi, "-L"], capture_output=True, text=True) if smi else None
    if listed is None or listed.returncode != 0 or "GPU" not in listed.stdout:
        raise CountersUnavailable(
            "This machine shows no NVIDIA GPU (nvidia-smi -L lists none), and hardware "
            "counters need one; course.measure() counts the same bytes without."
        )
    return path


def known_metrics(ncu: str) -> set[str] | None:
    """Base names of the counters that the GPU has, or None where ncu does not list them."""
    asked = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True)
    names = {line.split()[0] for line in asked.stdout.splitlines() if "__" in line}
    return names or None


def available(metrics: Mapping[str, str], ncu: str) -> dict[str, str]:
    """Those of ``metrics`` that this GPU has."""
    known = known_metrics(ncu)
    if known is None:
        return dict(metrics)
    return {
        short: full
        for short, full in metrics.items()
        if full.startswith(("launch__", "smsp__sass_")) or full.split(".")[0] in known
    }


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.strip("() ").replace(",", " ").split())


def parse_raw_csv(text: str, metrics: Mapping[str, str]) -> list[KernelCounts]:
    """Launches in a raw-page CSV of ncu, in launch order; a counter it lacks is left out."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    launches = []
    for row in rows:
        if not (row.get("ID") or "").strip():
            continue  # the row of units
        counts = {}
        for short, full in metrics.items():
            value = (row.get(full) or "").replace(",", "").strip()
            try:
                counts[short] = float(value)
            except ValueError:
                continue
        launches.append(
            KernelCounts(
                name=row.get("Kernel Name") or "",
                grid=_numbers(row.get("Grid Size") or ""),
                block=_numbers(row.get("Block Size") or ""),
                counts=counts,
            )
        )
    return launches


def count_command(
    command: Sequence[str],
    metrics: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    options: Sequence[str] = (),
) -> list[KernelCounts]:
    """Counters of every kernel that ``command`` launches, in launch order.

    ``options`` are more of ncu's own, such as ``--profile-from-start off``. A command that fails
    after some launches still gives their counts; one that launches nothing gives an empty list.
    """
    ncu = find_ncu()
    wanted = METRICS if metrics is None else metrics
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "counters.csv"
        asked = subprocess.run(
            [
                ncu,
                *("--clock-control", "none"),
                *("--csv", "--page", "raw", "--print-units", "base"),
                *("--metrics", ",".join(wanted.values())),
                *options,
                *("--log-file", str(log)),
                *command,
            ],
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
        text = log.read_text() if log.exists() else ""
    launches = parse_raw_csv(text, wanted)
    if launches or asked.returncode == 0:
        return launches
    said = (text + asked.stdout + asked.stderr).strip()
    if "ERR_NVGPUCTRPERM" in said:
        raise CountersUnavailable(
            "The driver keeps the counters from this user (ERR_NVGPUCTRPERM). An administrator "
            "can allow them: https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        )
    raise CountersUnavailable(f"ncu ended with code {asked.returncode}:\n{said[-2000:]}")


def count_file(
    path: str | Path,
    arguments: Sequence[str] = (),
    metrics: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> list[KernelCounts]:
    """Counters of every kernel that a Python file launches, in launch order."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    return count_command([sys.executable, str(path), *arguments], metrics, timeout_s)


def main(arguments: Sequence[str]) -> int:
    """Print a table of counts for a Python file; 2 where the counters cannot be read."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    try:
        launches = count_file(arguments[0], arguments[1:])
    except (CountersUnavailable, FileNotFoundError) as problem:
        print(problem, file=sys.stderr)
        return 2
    for launch in launches:
        print(f"{launch.name}  grid {launch.grid}  block {launch.block}")
        for name, value in launch.counts.items():
            print(f"    {name:20} {value:>16,.0f}")
    if not launches:
        print("The program launched no kernel.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
