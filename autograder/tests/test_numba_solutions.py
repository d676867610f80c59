"""What every Numba solution and honest variant leaves here is what a GPU left, to the bit."""

import json

import pytest

from autograder.proof.on_gpu import digest
from autograder.tests.numba_solutions import RECORD, left, numba_kernels, runs
from course.check.reading import chosen, read_solution
from course.engine.runner import Engine
from course.tests.families import family

KERNELS = {name: (exercise, source) for name, exercise, source in numba_kernels()}
RECORDED = json.loads(RECORD.read_text())["kernels"]


#: Written where no GPU was at hand: the record's command takes them in, and then they go from here.
TO_RUN: frozenset[str] = frozenset()


def test_all_others_were_run() -> None:
    assert KERNELS.keys() - TO_RUN == RECORDED.keys()
    assert TO_RUN <= KERNELS.keys()


@pytest.mark.parametrize("name", family(RECORDED, lambda name: name.partition("/")[0], str))
def test_results_are_those_of_a_gpu(name: str) -> None:
    exercise, source = KERNELS[name]
    assert RECORDED[name]["cell"] == digest(source), "record it anew on a GPU"
    constants = chosen(read_solution(source, exercise), exercise)
    engine, found = Engine(), {}
    for label, run in runs(exercise, source, constants):
        found[label] = left(dict(engine(run).arrays))
    assert found == RECORDED[name]["left"]
