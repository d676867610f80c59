"""Bank conflicts of the course's own Triton solutions are those that an H200 counted."""

import json
from pathlib import Path

import pytest
import triton

from autograder.proof.gpu_counters import BY_WARPS
from autograder.proof.on_gpu import triton_solutions
from autograder.tests.shared_solutions import label, launched

RECORD = json.loads(Path(__file__).with_name("gpu_shared.json").read_text(encoding="utf-8"))
SOLUTIONS = {exercise.name: (exercise, source) for exercise, source in triton_solutions(BY_WARPS)}
#: By these the counters of the whole L1 have more than instructions made: a request waits where
#: copies from global memory arrive, too.
COLLISIONS = {"attend_one_query": 4, "flash_gqa": 295, "flash_dkdv": 1225}

pytestmark = pytest.mark.skipif(
    triton.__version__ != RECORD["provenance"]["triton"],
    reason="another Triton makes other code: the record is of the pinned one",
)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_bank_conflicts_of_a_solution_are_those_of_the_counters(name: str) -> None:
    exercise, source = SOLUTIONS[name]
    by_l1 = 0
    for number, traffic in enumerate(launched(exercise, source)):
        row = RECORD["counted"].get(label(exercise, source, number))
        assert row is not None, "`python -m autograder.tests.shared_solutions F`, then a GPU"
        assert traffic.shared_uncounted == []
        extra = row["shared_load_extra_wavefronts"] + row["shared_store_extra_wavefronts"]
        assert traffic.bank_conflicts == extra
        by_l1 += row["shared_load_conflicts"] + row["shared_store_conflicts"] - extra
    assert by_l1 == COLLISIONS.get(name, 0)


def test_every_launch_of_a_solution_was_counted_and_no_other() -> None:
    names = {label(exercise, source, n) for exercise, source in SOLUTIONS.values() for n in (0, 1)}
    assert set(RECORD["counted"]) <= names
    assert len(RECORD["counted"]) >= len(SOLUTIONS)
