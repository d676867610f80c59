"""`python -m autograder.tests.ptx_counts LESSON`: simt beside what NVVM made of the same kernels.

For each Numba solution and witness of a lesson and each case whose traffic is graded: what
warps ask for by array and direction, in the engine and in the PTX, and whether the results are
the same to the bit. A process of its own, as in a grader: Numba's compiler as it comes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba.cuda.cudadrv.error import CudaSupportError

from autograder.lessons.catalogue import ROOT, lessons
from autograder.lessons.source import solved_cells
from autograder.proof.witness import witnesses_of
from course.check.cases import drawn_case, run_of
from course.engine.faults import KernelFault
from course.engine.job import Run
from course.engine.runner import run_case
from course.engine.simt.compiled import has_nvvm
from course.gpu.runs import imported
from course.spec.exercise import Case, KernelExercise
from course.tests.engine.simt.ptx import NotRun, compiled, parsed
from course.tests.engine.simt.ptx_run import Launch

#: Larger launches say nothing that a smaller case of the exercise does not.
MOST_THREADS = 40_000
Counts = dict[str, int]


def of_numba(stem: str) -> dict[str, KernelExercise]:
    """A lesson's Numba exercises by name."""
    own = lessons().get(stem, ())
    return {e.name: e for e in own if isinstance(e, KernelExercise) and e.dialect == "numba"}


def kernels(stem: str) -> Iterator[tuple[KernelExercise, str, str]]:
    """Solutions and witnesses of a lesson: the exercise, a name, the text."""
    solutions, exercises = solved_cells(ROOT, stem), of_numba(stem)
    for exercise in exercises.values():
        yield exercise, "solution", solutions[exercise.name]
    for witness in witnesses_of(stem):
        if witness.exercise in exercises:
            yield exercises[witness.exercise], witness.name, witness.source


def of_engine(run: Run) -> tuple[dict[str, np.ndarray], Counts]:
    """The results, and requests and sectors by array and direction.

    Sectors of atomics are left out: how lanes that meet are served is not in the PTX.
    """
    ran = run_case(run)
    counts: Counter[str] = Counter()
    for site in ran.traffic.sites:
        counts[f"{site.direction} {site.array} requests"] += site.requests or 0
        if site.direction != "atomic":
            counts[f"{site.direction} {site.array} sectors"] += site.sectors
    return dict(ran.arrays), dict(+counts)


def of_ptx(run: Run, kernel: Any, values: dict[str, Any]) -> Counts:
    """The same of the PTX, which changes the values as the kernel does."""
    arguments = list(values.values())
    parameters = kernel.py_func.__code__.co_varnames
    arrays = [parameters[i] for i, one in enumerate(arguments) if isinstance(one, np.ndarray)]
    code = parsed(compiled(kernel, arguments))
    launch = Launch(code, arguments, run.grid, run.block, run.shared_bytes)
    found = launch.run()
    launch.written_back()
    return {
        f"{direction} {arrays[array]} {what}": count
        for what, counts in (("requests", found.requests), ("sectors", found.sectors))
        for (array, direction), count in counts.items()
        if (direction, what) != ("atomic", "sectors")
    }


def compared(
    exercise: KernelExercise, case: Case, source: str, kernel: Any, constants: dict[str, int]
) -> dict[str, Any] | None:
    """One launch; none where it is a mistake, too large, or in a function of its own."""
    values = drawn_case(exercise, case)
    run = run_of(exercise, case, constants, source, values)
    if np.prod(run.grid) * np.prod(run.block) > MOST_THREADS:
        return None
    try:
        results, engine = of_engine(run)
    except KernelFault:
        return None
    try:
        ptx = of_ptx(run, kernel, values)
    except NotRun as problem:
        return {"not run": str(problem)}
    same = all(
        np.array_equal(value, results[name], equal_nan=value.dtype.kind == "f")
        for name, value in values.items()
        if isinstance(value, np.ndarray)
    )
    return {"engine": engine, "ptx": ptx, "same results": same}


def main(stem: str) -> None:
    """Prints a row a launch."""
    assert has_nvvm()
    for exercise, name, source in kernels(stem):
        with tempfile.TemporaryDirectory() as folder:
            try:
                module = imported(source, exercise.name, Path(folder))
            except CudaSupportError:  # a decorator that asks for a driver
                continue
            constants = {one: n for one, n in vars(module).items() if isinstance(n, int)}
            kernel = getattr(module, exercise.name)
            for case in exercise.cases:
                if not case.traffic:
                    continue
                row = compared(exercise, case, source, kernel, constants)
                if row is not None:
                    whose = {"kernel": f"{exercise.name} {name}", "case": case.label}
                    print(json.dumps(whose | row))


if __name__ == "__main__":
    main(sys.argv[1])
