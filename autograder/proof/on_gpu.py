"""`python -m autograder.proof.on_gpu --out FILE`: every Triton solution on a real GPU.

Each solution is imported, compiled by Triton and launched on the visible cases and on held-out
ones, and its results are compared with the float64 reference, within the exercise's tolerance.
What came of it is kept with machine, versions and date, and a test holds it to the solutions that
stand in the course today.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograder.hidden import derived, hidden_cases
from autograder.lessons.catalogue import ROOT, lessons
from autograder.lessons.source import lesson_files, solved_cells
from course.check import compare
from course.check.cases import VISIBLE_SEED
from course.gpu.recording import provenance
from course.gpu.runs import Launched, imported
from course.spec.exercise import Case, KernelExercise, Role
from course.spec.inputs import answer, given_to_reference

SEED = "on a GPU"
RECORD = Path(__file__).parents[1] / "tests" / "on_gpu.json"
#: What the records' GPU runs: what is written for any, and for its own compute capability. Of
#: others there was none at hand.
AT_HAND = (0, 90)


def digest(source: str) -> str:
    """Tells whether a solution is the one that was run."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def triton_solutions(targets: Sequence[int] = AT_HAND) -> list[tuple[KernelExercise, str]]:
    """Each Triton exercise with the text of its solution cell.

    Args:
        targets: of the exercises; (0,) leaves those in which the hardware copies (TMA), which a
            GPU's counters of what warps load and store do not see.
    """
    found = []
    for path in lesson_files(ROOT):
        stem = path.stem.partition("_")[2]
        own = lessons().get(stem, ())
        kernels = [e for e in own if isinstance(e, KernelExercise) and e.target in targets]
        triton = [exercise for exercise in kernels if exercise.dialect == "triton"]
        if triton:
            solutions = solved_cells(ROOT, stem)
            found += [(exercise, solutions[exercise.name]) for exercise in triton]
    return found


def cases_of(exercise: KernelExercise) -> list[tuple[Case, int]]:
    """Visible and held-out cases, each with the seed of its inputs."""
    hidden = derived(SEED, exercise.name, "inputs")
    pairs = [(case, VISIBLE_SEED) for case in exercise.cases]
    return pairs + [(case, hidden) for case in hidden_cases(exercise.name, SEED)]


def worst_error(exercise: KernelExercise, module: ModuleType, case: Case, seed: int) -> float:
    """The largest error of any output, in units of what the tolerance allows."""
    launched = Launched(exercise, module, case, seed)
    given = given_to_reference(exercise, launched.before)
    arrays = launched.left()
    expected, sizes = answer(exercise, given)
    with np.errstate(all="ignore"):
        found = arrays if exercise.finish is None else exercise.finish(arrays)
    return max(
        _error(exercise, case, name, np.asarray(found[name]), want, sizes[name])
        for name, want in expected.items()
    )


def _error(
    exercise: KernelExercise, case: Case, name: str, got: np.ndarray, want: Any, size: Any
) -> float:
    array = next((a for a in exercise.arrays if a.name == name), None)
    outputs = [a for a in exercise.arrays if a.role is not Role.IN]
    dtype = exercise.dtype(array or outputs[0], case)
    rtol, atol = compare.tolerance(dtype, exercise.tolerance)
    want, size = (np.broadcast_to(np.asarray(v, np.float64), got.shape) for v in (want, size))
    wide = got.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (wide == want) | (np.isnan(wide) & np.isnan(want))
        error = np.abs(wide - want) / (rtol * np.abs(size) + atol)
    error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
    return float(error.max(initial=0.0))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all of them; 0 where every result is within its tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--all", action="store_true", help="also what the record holds already")
    args = parser.parse_args(argv)
    known = {} if args.all or not RECORD.exists() else json.loads(RECORD.read_text())["exercises"]
    rows, right = {}, True
    with tempfile.TemporaryDirectory() as scratch:
        for exercise, source in triton_solutions():
            old = known.get(exercise.name, {})
            labels = {case.label for case, _ in cases_of(exercise)}
            if old.get("solution") == digest(source) and labels == old["error_of_tolerance"].keys():
                rows[exercise.name] = old
                continue
            errors: dict[str, float | str] = {}
            for case, seed in cases_of(exercise):
                try:
                    module = imported(source, exercise.name, Path(scratch))
                    errors[case.label] = round(worst_error(exercise, module, case, seed), 4)
                except Exception as error:  # whatever a GPU or its compiler says
                    errors[case.label] = f"{type(error).__name__}: {error}"[:300]
            bad = {k: e for k, e in errors.items() if isinstance(e, str) or e > 1}
            right = right and not bad
            rows[exercise.name] = {"solution": digest(source), "error_of_tolerance": errors}
            said = f"{exercise.name:28} {len(errors)} cases {bad or 'right'}"
            print(said, flush=True)
    record = provenance("python -m autograder.proof.on_gpu") | {"exercises": rows}
    args.out.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
