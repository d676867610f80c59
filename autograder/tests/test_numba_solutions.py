"""What every Numba solution and honest variant leaves here is what an H200 left, to the bit."""

import json

import pytest

from autograder.proof.on_gpu import digest
from autograder.tests.numba_solutions import RECORD, left, numba_kernels, runs
from course.check.reading import chosen, read_solution
from course.engine.runner import Engine
from course.tests.families import family

KERNELS = {name: (exercise, source) for name, exercise, source in numba_kernels()}
RECORDED = json.loads(RECORD.read_text())["kernels"]


def test_all_of_them_were_run() -> None:
    assert KERNELS.keys() == RECORDED.keys()


@pytest.mark.parametrize("name", family(KERNELS, lambda name: name.partition("/")[0], str))
def test_results_are_those_of_a_gpu(name: str) -> None:
    exercise, source = KERNELS[name]
    assert RECORDED[name]["cell"] == digest(source), "record it anew on a GPU"
    constants = chosen(read_solution(source, exercise), exercise)
    engine, found = Engine(), {}
    for label, run in runs(exercise, source, constants):
        found[label] = left(dict(engine(run).arrays))
    assert found == RECORDED[name]["left"]
