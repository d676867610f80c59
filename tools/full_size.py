"""`python -m tools.full_size --out FILE`: every solution at full size on a GPU, beside its peers.

A lesson's checks count on small arrays. Here each kernel that the course calls good runs on
arrays far larger than a cache, beside PyTorch where PyTorch has the operation, and beside the
kernel that its lesson calls worse. A solution that is *slower* than what it replaces is flagged:
there the exercise or the lesson's text is wrong.

Times are medians of CUDA events in microseconds, with the L2 cleared before each run; GB/s are
the bytes that have to move (each array once) over the time, TFLOP/s count a multiply-add as two.
A run that is to be as fast as a copy, nearly, is held to one measured in the same minutes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder.lessons.catalogue import ROOT, lessons
from autograder.lessons.source import lesson_files, solved_cells
from autograder.proof.on_gpu import digest
from autograder.proof.witness import witnesses_of
from course.gpu.recording import in_lines
from course.gpu.runs import imported
from course.plain.sectors import SECTOR_BYTES
from course.spec.draws import normal
from course.spec.exercise import Array, Case, KernelExercise, Meta, Role, Scalar, Stride
from course.spec.formula import Number, evaluate
from course.spec.inputs import corner
from course.spec.launching import Launcher
from tools.full_size_runs import RUNS, Run, left_by_forward, peer_of

#: A solution may be this much slower than what it replaces before it is flagged: two runs of one
#: kernel differ by as much.
WITHIN = 1.03
#: What a peer's result may differ by, relative to its largest element: it may round elsewhere.
AGREES = 2e-2
#: Far more than an L2 holds; a quarter of a millisecond on an H200.
CLEARED_BYTES = 1 << 30
#: What is copied for the rate that others are held to, in bytes.
COPIED_BYTES = 1 << 28
#: A kernel runs at least and at most so often, and until it has run for this long.
FEWEST, MOST, ENOUGH_US = 5, 50, 20_000


@dataclass(frozen=True)
class Kernel:
    """A solution or a witness: its exercise, its cell and the lesson that it stands in."""

    exercise: KernelExercise
    source: str
    stem: str


def solutions() -> dict[str, Kernel]:
    """Every exercise's solution by name, and each witness that a run names, as `NAME/WITNESS`."""
    found: dict[str, Kernel] = {}
    for path in lesson_files(ROOT):
        stem = path.stem.partition("_")[2]
        own = lessons().get(stem, ())
        cells = solved_cells(ROOT, stem)
        kernels = {e.name: e for e in own if isinstance(e, KernelExercise)}
        found |= {name: Kernel(e, cells[name], stem) for name, e in kernels.items()}
        for witness in witnesses_of(stem) if own else ():
            if witness.exercise in kernels:
                name = f"{witness.exercise}/{witness.name}"
                found[name] = Kernel(kernels[witness.exercise], witness.source, stem)
    return found


def constants_of(exercise: KernelExercise, module: ModuleType) -> dict[str, int]:
    """What the cell chose for the constants that the launch uses."""
    return {name: int(getattr(module, name)) for name in exercise.constants}


def tensors(
    torch: Any, exercise: KernelExercise, case: Case, names: Mapping[str, Number]
) -> dict[str, Any]:
    """The launch's arguments by name, arrays on the GPU; outputs are NaN or -1."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    arguments: dict[str, Any] = {}
    for parameter in exercise.passed:
        if isinstance(parameter, Meta):
            arguments[parameter.name] = int(names[parameter.name])
        elif isinstance(parameter, Stride):
            arguments[parameter.name] = arguments[parameter.array].stride(parameter.axis)
        elif isinstance(parameter, Scalar):
            arguments[parameter.name] = exercise.number(parameter, case, names).item()
        elif parameter.computed is not None and "dout" not in arguments:
            arguments[parameter.name] = _computed(torch, exercise, parameter, case, arguments)
        else:
            arguments[parameter.name] = _array(torch, exercise, parameter, case, names, rng)
    if "delta" in arguments and arguments["delta"].isnan().all():  # what a forward pass has left
        arguments |= left_by_forward(torch, arguments)
    return arguments


def _array(
    torch: Any,
    exercise: KernelExercise,
    array: Array,
    case: Case,
    names: Mapping[str, Number],
    rng: np.random.Generator,
) -> Any:
    dtype = exercise.dtype(array, case)
    kind = getattr(torch, dtype.name)
    shape = exercise.shape(array, names)
    if array.role is Role.OUT or array.computed is not None:
        return torch.full(shape, float("nan") if dtype.kind == "f" else -1, dtype=kind).cuda()
    if array.role is Role.ACCUMULATE:
        return torch.full(shape, array.start, dtype=kind, device="cuda")
    draw = case.draws.get(array.name, array.draw)
    if draw is normal and dtype.kind == "f":
        values = torch.randn(shape, device="cuda").to(kind)
    else:
        values = torch.from_numpy(draw(rng, shape, dtype)).cuda()
    stored = exercise.stored_shape(array, names)
    if stored != shape:
        values = corner(values.new_zeros(stored), shape).copy_(values)
    if array.name in case.transposed:
        values = values.t().contiguous().t()
    return values


def _computed(
    torch: Any, exercise: KernelExercise, array: Array, case: Case, given: Mapping[str, Any]
) -> Any:
    """An input that is made of those before it, as a check makes it."""
    assert array.computed is not None
    known = {n: v.float().cpu().numpy() for n, v in given.items() if torch.is_tensor(v)}
    return torch.from_numpy(array.computed(**known).astype(exercise.dtype(array, case))).cuda()


def launcher(
    run: Run,
    exercise: KernelExercise,
    module: ModuleType,
    names: Mapping[str, Number],
    given: Mapping[str, Any],
) -> Callable[[], Any]:
    """A call that launches the kernel once, and returns what a launcher returns."""
    function = getattr(module, exercise.name)
    launch = exercise.launch
    if isinstance(launch, Launcher):
        return lambda: function(*given.values())
    grid, block, shared = launch.values(names)
    grid, block = run.grid or grid, run.block or block
    if exercise.dialect == "triton":
        return lambda: function[grid](*given.values())
    from numba import cuda

    known = [e.name for e in exercise.parameters if isinstance(e, Array)]
    passed = [cuda.as_cuda_array(v) if n in known else v for n, v in given.items()]
    return lambda: function[grid, block, 0, shared](*passed)


def median_us(torch: Any, call: Callable[[], Any]) -> float:
    """The median of `call`'s times on the GPU, in microseconds, with a cold L2.

    What clears the L2 keeps the GPU busy for longer than the CPU needs to launch what follows,
    so that no launch is in the time.
    """
    clear = torch.empty(CLEARED_BYTES, dtype=torch.int8, device="cuda")
    times: list[float] = []
    while len(times) < FEWEST or (sum(times) < ENOUGH_US and len(times) < MOST):
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        clear.zero_()
        ends[0].record()
        call()
        ends[1].record()
        ends[1].synchronize()
        times.append(1e3 * ends[0].elapsed_time(ends[1]))
    return statistics.median(times)


def copied(torch: Any) -> float:
    """PyTorch's copy of one array to another, in GB/s: what is read and what is written."""
    source = torch.ones(COPIED_BYTES, dtype=torch.int8, device="cuda")
    target = torch.empty_like(source)
    return 2e-3 * COPIED_BYTES / median_us(torch, lambda: target.copy_(source))


@dataclass(frozen=True)
class Prepared:
    """A run with its arrays on the GPU; `call` launches the kernel once."""

    run: Run
    kernel: Kernel
    case: Case
    names: Mapping[str, Number]
    given: Mapping[str, Any]
    call: Callable[[], Any]


def prepared(run: Run, kernel: Kernel, folder: Path) -> Prepared:
    """The cell's kernel, imported, and the arrays of a run."""
    import torch

    exercise = kernel.exercise
    module = imported(kernel.source, run.kernel.replace("/", "_"), folder)
    case = Case(run.sizes, dtypes=run.dtypes, draws=run.draws, transposed=run.transposed)
    names = exercise.names(case, constants_of(exercise, module) | dict(run.constants))
    given = tensors(torch, exercise, case, names)
    call = launcher(run, exercise, module, names, given)
    return Prepared(run, kernel, case, names, given, call)


def measured(ready: Prepared) -> dict[str, Any]:
    """One run's row: microseconds, rate, and the same of the peer."""
    import torch

    run, exercise, given, call = ready.run, ready.kernel.exercise, ready.given, ready.call
    result = call()
    torch.cuda.synchronize()
    row: dict[str, Any] = {"kernel": run.kernel, "case": run.label}
    row["source"] = digest(ready.kernel.source)
    peer = peer_of(torch, exercise.name, given, run.beside)
    if peer is not None:
        got = result[0] if isinstance(result, tuple) else result
        if not torch.is_tensor(got):  # of a kernel that the check launches: nothing, or Triton's
            got = given[next(a.name for a in exercise.arrays if a.role is not Role.IN)]
        row["error"] = _difference(got, peer())
    row["us"] = median_us(torch, call)
    work = _work(exercise, run, ready.case, ready.names)
    row |= {unit: value / row["us"] for unit, value in work.items()}
    if peer is not None:
        row["torch_us"] = median_us(torch, peer)
        row |= {f"torch_{unit}": value / row["torch_us"] for unit, value in work.items()}
    return {k: round(v, 5 if k == "error" else 1) if isinstance(v, float) else v
            for k, v in row.items()}  # fmt: skip


def _work(
    exercise: KernelExercise, run: Run, case: Case, names: Mapping[str, Number]
) -> dict[str, float]:
    """What a microsecond is divided by: `{"GB/s": ...}` or `{"TFLOP/s": ...}`."""
    if run.operations:
        return {"TFLOP/s": float(evaluate(run.operations, names)) * 1e-6}
    moved = sum(exercise.least_sectors(case).values()) * SECTOR_BYTES
    return {"GB/s": moved * 1e-3}


def _difference(got: Any, want: Any) -> float:
    """The largest difference, relative to the largest element."""
    if got.shape != want.shape:  # parts that the host adds up
        got = got.double().sum(0) if want.ndim else got.double().sum()
    want, got = want.double(), got.double()
    return float((got - want).abs().max() / want.abs().max())


def flagged(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each run that fails, is wrong, or loses against what it replaces."""
    by_name = {(r["kernel"], r["case"]): r for r in rows}
    said = []
    for run, row in zip(RUNS, rows, strict=True):
        here = f"{row['kernel']} ({row['case']})"
        if "us" not in row:
            said.append(f"{here}: {row['failed']}")
            continue
        if row.get("error", 0.0) > AGREES or row.get("error") != row.get("error"):
            said.append(f"{here}: differs from PyTorch by {row['error']}")
        if run.kernel.partition("/")[2] not in ("", "tuned"):  # it is there to be beaten
            continue
        share = row.get("of_copy", 0.0)
        if share < run.of_copy:
            wanted = f"{run.of_copy} is wanted{run.because}"
            said.append(f"{here}: {share:.2f} of a copy's rate; {wanted}")
        if row.get("torch_us", 0.0) < run.of_torch * row["us"] / WITHIN:
            peer = run.beside or "PyTorch"
            rate = row["torch_us"] / row["us"]
            said.append(
                f"{here}: {rate:.2f} times as fast as {peer}; {run.of_torch} is wanted{run.because}"
            )
        for worse in run.replaces:
            other = by_name.get((worse, row["case"]), {})
            if "us" in other and row["us"] > WITHIN * other["us"]:
                said.append(f"{here}: {row['us']} us; {worse}, which it replaces: {other['us']}")
    return said


def kept(out: Path, machine: Mapping[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of an earlier record by kernel and case: of this very machine, else none hold."""
    if not out.exists():
        return {}
    record = json.loads(out.read_text(encoding="utf-8"))
    for name, here in machine.items():
        if record[name] != here:
            raise SystemExit(
                f"{out} was recorded with {name} {record[name]!r}; here it is {here!r}"
            )
    return {(row["kernel"], row["case"]): row for row in record["runs"]}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all of them; 0 where nothing is flagged."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--only", nargs="*", default=[], help="kernels by name; FILE keeps its other rows"
    )
    parser.add_argument("--new", action="store_true", help="what FILE has no row of")
    args = parser.parse_args(argv)
    import torch
    import triton

    if not hasattr(np, "row_stack"):  # Numba looks for the name that NumPy 2.5 took away
        np.row_stack = np.vstack  # noqa: NPY201
    import numba

    machine = {
        "command": "python -m tools.full_size --out FILE",
        "gpu": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }
    earlier = kept(args.out, machine) if args.only or args.new else {}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    copy = copied(torch)
    known = solutions()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for run in RUNS:
            row = earlier.get((run.kernel, run.label))
            unasked = bool(row) if args.new else args.only and run.kernel not in args.only
            if unasked:
                left_out = {"kernel": run.kernel, "case": run.label, "failed": "left out"}
                rows.append(row or left_out)
                continue
            try:
                row = measured(prepared(run, known[run.kernel], Path(scratch)))
                row["date"] = today
                if run.of_copy:
                    row["of_copy"] = round(row["GB/s"] / copy, 3)
            except Exception as error:  # whatever a GPU or its compiler says
                fault = f"{type(error).__name__}: {error}"[:300]
                row = {"kernel": run.kernel, "case": run.label, "failed": fault}
            torch.cuda.empty_cache()
            rows.append(row)
            print(_line(row), flush=True)
    said = flagged(rows)
    record = machine | {"date": today, "flagged": said, "runs": rows}
    args.out.write_text(in_lines(record) + "\n")
    print("\n".join(said) or "nothing is slower than what it replaces")
    return 1 if said else 0


def _line(row: Mapping[str, Any]) -> str:
    rates = ", ".join(f"{key} {row[key]}" for key in row if key.endswith("/s"))
    return f"{row['kernel']:34} {row['case']:44} {row.get('failed') or row['us']} us  {rates}"


if __name__ == "__main__":
    sys.exit(main())
