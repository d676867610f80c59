"""What a GPU leaves of the visible cases of every Numba solution and honest variant, to the bit.

`python -m autograder.tests.numba_solutions` on a GPU machine writes `numba_solutions.json`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from autograder.lessons.catalogue import ROOT, lessons
from autograder.lessons.source import lesson_files, solved_cells
from autograder.proof.on_gpu import digest
from autograder.proof.witness import witnesses_of
from course.check.cases import drawn_case, run_of
from course.engine.job import Run
from course.gpu.recording import provenance
from course.gpu.runs import imported
from course.spec.exercise import KernelExercise
from course.tests.engine.triton.record import digest as digest_of_arrays

RECORD = Path(__file__).with_name("numba_solutions.json")
#: Float sums by atomics, of which a GPU says not which one is first, and a power: libdevice's
#: differs from NumPy's in the last bits.
LEFT_OUT = re.compile(
    r"matmul_a_stationary.*|(block_sum|dot.*)/.*(atomic|add_to_one).*|repeat_multiply/closed_form"
)


def numba_kernels() -> Iterator[tuple[str, KernelExercise, str]]:
    """(name, exercise, cell) of each Numba solution and honest variant with one result alone."""
    for path in lesson_files(ROOT):
        stem = path.stem.partition("_")[2]
        own = {
            exercise.name: exercise
            for exercise in lessons().get(stem, ())
            if isinstance(exercise, KernelExercise) and exercise.dialect == "numba"
        }
        cells = {name: source for name, source in solved_cells(ROOT, stem).items() if name in own}
        for one in witnesses_of(stem) if own else ():
            if one.exercise in own and one.is_honest:
                cells[f"{one.exercise}/{one.name}"] = one.source
        for name, source in cells.items():
            if not LEFT_OUT.fullmatch(name):
                yield name, own[name.partition("/")[0]], source


def runs(
    exercise: KernelExercise, source: str, constants: dict[str, int]
) -> Iterator[tuple[str, Run]]:
    """Every visible case's launch, by its label."""
    for case in exercise.cases:
        given = drawn_case(exercise, case, constants)
        yield case.label, run_of(exercise, case, constants, source, given)


def left(arrays: dict[str, np.ndarray]) -> str:
    """A digest of what a launch left in all its arrays."""
    return digest_of_arrays(arrays[name] for name in sorted(arrays))


def record() -> None:
    """Launches all of them and writes the record."""
    rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, exercise, source in numba_kernels():
            module = imported(source, name.replace("/", "_"), Path(scratch))
            constants = {one: int(getattr(module, one)) for one in exercise.constants}
            found = {}
            for label, run in runs(exercise, source, constants):
                kernel = getattr(module, exercise.name)
                kernel[run.grid, run.block, 0, run.shared_bytes](*run.arguments.values())
                arrays = {n: v for n, v in run.arguments.items() if isinstance(v, np.ndarray)}
                found[label] = left(arrays)
            rows[name] = {"cell": digest(source), "left": found}
    answer = provenance("python -m autograder.tests.numba_solutions") | {"kernels": rows}
    RECORD.write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    record()
