"""`python -m autograder.proof.gpu_counters --out FILE`: hardware counters of every Triton solution.

Each solution is launched on a GPU under Nsight Compute, on the visible cases whose traffic is
graded, and where the hardware copies boxes (TMA) on all. Its sectors and boxes are kept with
machine, versions and date, and a test holds the engine's counts of the same solutions, on the same
inputs, to them.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.proof.on_gpu import digest, triton_solutions
from course.gpu import counters
from course.gpu.recording import in_lines, provenance
from course.gpu.runs import Launched, imported
from course.spec.exercise import Case, KernelExercise

RECORD = Path(__file__).parents[1] / "tests" / "gpu_counters.json"
#: exercises for every GPU, and for Hopper
TARGETS = (0, 90)
KEPT = ("load", "store", "atomic", "reduction", "tma_load", "tma_store")


def counted(exercise: KernelExercise) -> list[Case]:
    """The cases on which an exercise is counted."""
    return [case for case in exercise.cases if case.traffic or exercise.target]


def _noted(module: ModuleType, names: list[str]) -> None:
    """Writes down the name of each kernel of the module that is launched, in order."""
    import triton

    for name, kernel in vars(module).items():
        if isinstance(kernel, triton.JITFunction):
            run = kernel.run

            @functools.wraps(run)
            def noted(*args: Any, _run: Any = run, _name: str = name, **more: Any) -> Any:
                names.append(_name)
                return _run(*args, **more)

            kernel.run = noted


def launch_all(log: Path) -> None:
    """Launches each solution on each graded case, and writes down which kernels ran."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for exercise, source in triton_solutions(TARGETS):
            for case in counted(exercise):
                module = imported(source, exercise.name, Path(scratch))
                names: list[str] = []
                _noted(module, names)
                Launched(exercise, module, case).left()
                rows.append(
                    {
                        "exercise": exercise.name,
                        "case": case.label,
                        "solution": digest(source),
                        "kernels": names,
                    }
                )
    log.write_text(json.dumps(rows))


def record(out: Path) -> None:
    """Counts every launch and writes one JSON file."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "launched.json"
        command = [sys.executable, "-m", "autograder.proof.gpu_counters", "--launch", str(log)]
        found = counters.count_command(command, counters.METRICS | counters.TMA_METRICS)
        rows = json.loads(log.read_text())
    known = {name for row in rows for name in row["kernels"]}
    waiting = iter([one for one in found if one.name.split("(")[0] in known])
    for row in rows:
        launches = [next(waiting) for _ in row["kernels"]]
        if [one.name.split("(")[0] for one in launches] != row["kernels"]:
            raise RuntimeError(f"{row['exercise']}: the counters are of other kernels")
        row["sectors"] = {
            what: round(sum(one.counts.get(f"{what}_sectors", 0) for one in launches))
            for what in KEPT
        }
        row["boxes"] = round(
            sum(one.counts[f"tma_{way}_requests"] for one in launches for way in ("load", "store"))
        )
        row["l2_read_sectors"] = round(sum(one.counts["l2_read_sectors"] for one in launches))
    answer = provenance("python -m autograder.proof.gpu_counters") | {"launches": rows}
    out.write_text(in_lines(answer) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Records the counters, or (inside `ncu`) launches what is counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.launch:
        launch_all(args.launch)
    else:
        record(args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
