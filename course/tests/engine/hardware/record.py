"""Record what a GPU answers: ``python -m course.tests.engine.hardware.record --out FILE.json``.

Every case of ``kernels.py`` runs twice, each time in processes of its own: once as it is, its
outputs kept in ``FILE.npz``, and once under Nsight Compute, its counts kept in ``FILE.json``.
A case that fails has its error recorded and the others go on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np

from course.gpu import counters
from course.gpu.recording import in_lines, provenance

from .cases import Case, View
from .kernels import BY_NAME, CASES

MODULE = "course.tests.engine.hardware.record"
PTX = re.compile(r"^\s*(?:@!?%\w+ )?((?:ld|st|atom|red)\.(?:\w+\.)*\w+)", re.MULTILINE)
SASS = re.compile(
    r"\b((?:LDG|STG|ATOMG|ATOM|REDG|RED|LDS|STS|ATOMS|LDL|STL|LDC|LD|ST)(?:\.\w+)*)\s"
)


def device_arguments(case: Case) -> list[Any]:
    """The case's arguments on the GPU; an array that stands twice is copied once."""
    from numba import cuda

    copies: dict[int, Any] = {}

    def copy(array: np.ndarray) -> Any:
        if id(array) not in copies:
            copies[id(array)] = cuda.to_device(array)
        return copies[id(array)]

    host = case.make()
    device = []
    for value in host:
        if isinstance(value, View):
            device.append(value.pick(copy(value.base)))
        elif isinstance(value, np.ndarray):
            device.append(copy(value))
        else:
            device.append(value)
    return device


def whole_output(case: Case, position: int, device: list[Any]) -> np.ndarray:
    """An output's values; of a view, the values of the view."""
    value = case.make()[position]
    if isinstance(value, View):
        flat = np.empty(device[position].shape, device[position].dtype)
        for index in np.ndindex(flat.shape):
            flat[index] = device[position][index]
        return flat
    return device[position].copy_to_host()


def static_counts(case: Case, device: list[Any]) -> dict[str, dict[str, int]]:
    """Memory instructions in the compiled kernel by opcode, of PTX and of machine code."""
    found: dict[str, dict[str, int]] = {}
    types = tuple(case.kernel.typeof_pyval(value) for value in device)
    for level, inspect, pattern in (
        ("ptx", case.kernel.inspect_asm, PTX),
        ("sass", case.kernel.inspect_sass, SASS),
    ):
        try:
            names = Counter(pattern.findall(inspect(types)))
            found[level] = {
                name: count for name, count in sorted(names.items()) if "param" not in name
            }
        except Exception as problem:  # a tool is missing: the counts stand without
            found[level] = {}
            found.setdefault("errors", {})[f"{level}: {problem}"[:300]] = 1
    return found


def work(folder: Path, names: list[str], keep: bool) -> int:
    """Run cases in this process, a line of JSON each; 3 when the GPU's context is lost."""
    from numba import cuda

    journal = (folder / "journal.jsonl").open("a")

    def note(**entry: Any) -> None:
        journal.write(json.dumps(entry) + "\n")
        journal.flush()

    for name in names:
        case = BY_NAME[name]
        note(start=name)
        try:
            device = device_arguments(case)
            if case.forall:
                case.kernel.forall(case.forall)(*device)
            else:
                case.kernel[case.grid, case.block, 0, case.shared](*device)
            cuda.synchronize()
            if keep:
                arrays = {
                    f"{name}.{position}": whole_output(case, position, device)
                    for position in case.outputs
                }
                if arrays:
                    np.savez(folder / f"{name}.npz", **cast(Any, arrays))
                note(done=name, static=static_counts(case, device))
            else:
                note(done=name)
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"
            note(failed=name, error=text[:600])
            try:
                cuda.synchronize()
            except Exception:
                return 3
    return 0


def journal_of(folder: Path) -> list[dict[str, Any]]:
    """The lines that a worker left."""
    path = folder / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def remaining(names: list[str], folder: Path) -> list[str]:
    """The names that a worker has not begun."""
    begun = {line["start"] for line in journal_of(folder) if "start" in line}
    return [name for name in names if name not in begun]


def worker_command(folder: Path, names: list[str], keep: bool) -> list[str]:
    """The command line of a worker for these cases."""
    listed = folder / "cases.txt"
    listed.write_text("\n".join(names))
    command = [sys.executable, "-m", MODULE, "--worker", str(folder)]
    return [*command, "--keep"] if keep else command


def run_plain(names: list[str], folder: Path) -> dict[str, Any]:
    """Outputs and static counts of cases, whatever some of them do to their process."""
    folder.mkdir(parents=True)
    left = names
    while left:
        command = worker_command(folder, left, keep=True)
        try:
            subprocess.run(command, capture_output=True, timeout=200)
        except subprocess.TimeoutExpired:
            pass  # the case that hangs has begun, so it is not tried again
        after = remaining(left, folder)
        if len(after) == len(left):
            break
        left = after
    answer: dict[str, Any] = {}
    for line in journal_of(folder):
        if "done" in line:
            answer[line["done"]] = {"static": line["static"]}
        elif "failed" in line:
            answer[line["failed"]] = {"error": line["error"]}
    return answer


def run_counted(
    names: list[str], folder: Path, metrics: dict[str, str]
) -> dict[str, counters.KernelCounts]:
    """Counts of cases by name: the n-th launch that ncu saw is the n-th one that succeeded."""
    folder.mkdir(parents=True)
    left = names
    answer: dict[str, counters.KernelCounts] = {}
    round_number = 0
    while left:
        part = folder / str(round_number)
        part.mkdir()
        launches = counters.count_command(
            worker_command(part, left, keep=False), metrics, timeout_s=500
        )
        done = [line["done"] for line in journal_of(part) if "done" in line]
        at = 0
        for name in done:
            wanted = BY_NAME[name].kernel.py_func.__name__
            named = re.compile(rf"(?:::|\b|\d){wanted}(?:\[|B\d|\(|\b)")
            while at < len(launches) and not named.search(launches[at].name):
                at += 1  # a launch whose case failed afterwards
            if at < len(launches):
                answer[name] = launches[at]
                at += 1
        after = remaining(left, part)
        if len(after) == len(left):
            break
        left = after
        round_number += 1
    return answer


def working_metrics(folder: Path) -> dict[str, str]:
    """The largest set of counters that this GPU's ncu reads, found with one case."""
    everything = {**counters.METRICS, **counters.MORE_METRICS}
    sets = (counters.available(everything, counters.find_ncu()), everything, counters.METRICS)
    for number, metrics in enumerate(sets):
        try:
            tried = run_counted(["copy_exact"], folder / f"probe{number}", metrics)
        except counters.CountersUnavailable as problem:
            print(f"{len(metrics)} counters: {problem}", flush=True)
            continue
        if "copy_exact" in tried and tried["copy_exact"].counts.get("load_requests"):
            return metrics
        print(f"{len(metrics)} counters: {tried}", flush=True)
    raise counters.CountersUnavailable("ncu counted nothing for the first case")


def compact(counts: counters.KernelCounts | None) -> dict[str, int]:
    """Counts that are not zero, as whole numbers."""
    if counts is None:
        return {}
    return {name: round(value) for name, value in counts.counts.items() if value}


def record(out: Path, pattern: str, processes: int) -> int:
    """Record the cases whose names match ``pattern``; the number of cases with an error."""
    names = [case.name for case in CASES if re.search(pattern, case.name)]
    head: dict[str, Any] = {
        "about": "counts and results of course/tests/engine/hardware/kernels.py on a GPU; "
        "a count that is left out is 0; outputs are in the .npz beside, as CASE.POSITION",
        "provenance": provenance(f"python -m {MODULE} --out {out.name}"),
    }
    cases: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    if pattern and out.exists():
        cases = json.loads(out.read_text())["cases"]
        with np.load(out.with_suffix(".npz")) as stored:
            arrays.update(stored)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shares = [names[start::processes] for start in range(processes)]
        with ThreadPoolExecutor(processes) as pool:
            jobs = [
                pool.submit(run_plain, share, folder / f"plain{k}")
                for k, share in enumerate(shares)
                if share
            ]
            plain = {name: value for job in jobs for name, value in job.result().items()}
        for path in sorted(folder.glob("plain*/*.npz")):
            with np.load(path) as stored:
                arrays.update(stored)
        np.savez_compressed(out.with_suffix(".npz"), **cast(Any, arrays))
        print(f"outputs of {len(plain)} cases, {len(arrays)} arrays", flush=True)
        for name in names:
            case = BY_NAME[name]
            cases[name] = {
                "kernel": case.kernel.py_func.__name__,
                "grid": list(case.grid),
                "block": list(case.block),
                **({"shared": case.shared} if case.shared else {}),
                **({"source": case.source} if case.source else {}),
                **plain.get(name, {"error": "no answer from its process"}),
            }
        metrics = working_metrics(folder)
        head["metrics"] = metrics
        out.write_text(in_lines(head | {"cases": cases}) + "\n")
        for start in range(0, len(names), 60):
            part = names[start : start + 60]
            try:
                counted = run_counted(part, folder / f"counted{start}", metrics)
            except Exception as problem:
                print(f"counting {part[0]} and on: {problem}", flush=True)
                continue
            for name in part:
                if name not in counted:
                    cases[name].setdefault("error", "not counted")
                    continue
                cases[name]["counts"] = compact(counted[name])
                if BY_NAME[name].forall:
                    cases[name]["grid"] = list(counted[name].grid)
                    cases[name]["block"] = list(counted[name].block)
            out.write_text(in_lines(head | {"cases": cases}) + "\n")
            print(f"counted {start + len(part)} of {len(names)}", flush=True)
    errors = {name: value["error"] for name, value in cases.items() if "error" in value}
    for name, error in errors.items():
        print(f"{name}: {error[:200]}")
    return len(errors)


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the JSON file to write, its .npz beside it")
    parser.add_argument(
        "--only", default="", help="a regular expression of case names; adds them to the file"
    )
    parser.add_argument("--processes", type=int, default=min(12, os.cpu_count() or 1))
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        names = (options.worker / "cases.txt").read_text().split()
        return work(options.worker, names, options.keep)
    if not options.out:
        parser.error("--out FILE is missing")
    return 1 if record(options.out, options.only, options.processes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
