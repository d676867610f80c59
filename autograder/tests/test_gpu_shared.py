"""What the course's own Triton solutions ask for is what an H200 counted, bank conflicts too."""

import json
from pathlib import Path

import pytest
import triton

from autograder.proof.on_gpu import triton_solutions
from autograder.tests.shared_solutions import label, launched
from course.tests.engine.triton.test_recorded_accesses import KINDS

RECORD = json.loads(Path(__file__).with_name("gpu_shared.json").read_text(encoding="utf-8"))
SOLUTIONS = {exercise.name: (exercise, source) for exercise, source in triton_solutions((0,))}
#: Here the counters of the whole L1 have more than instructions made, and not always as many: a
#: request waits where copies from global memory arrive, too.
COLLISIONS = ("attend_one_query", "flash_gqa", "flash_causal", "flash_dkdv")

pytestmark = pytest.mark.skipif(
    triton.__version__ != RECORD["provenance"]["triton"],
    reason="another Triton makes other code: the record is of the pinned one",
)


@pytest.mark.parametrize("name", SOLUTIONS)
@pytest.mark.family
def test_requests_sectors_and_bank_conflicts_are_those_of_the_counters(name: str) -> None:
    exercise, source = SOLUTIONS[name]
    beyond = 0
    for number, traffic in enumerate(launched(exercise, source)):
        row = RECORD["counted"].get(label(exercise, source, number))
        assert row is not None, "`python -m autograder.tests.shared_solutions F`, then a GPU"
        assert traffic.shared_uncounted == []
        extra = row["shared_load_extra_wavefronts"] + row["shared_store_extra_wavefronts"]
        assert traffic.bank_conflicts == extra
        beyond += row["shared_load_conflicts"] + row["shared_store_conflicts"] - extra
        for direction, kinds in KINDS.items():
            totals = getattr(traffic, direction)
            assert totals.requests == sum(row[f"{kind}_requests"] for kind in kinds), direction
            assert totals.sectors == sum(row[f"{kind}_sectors"] for kind in kinds), direction
    assert beyond >= 0
    assert beyond == 0 or name in COLLISIONS


def test_every_launch_of_a_solution_was_counted_and_no_other() -> None:
    names = {label(exercise, source, n) for exercise, source in SOLUTIONS.values() for n in (0, 1)}
    assert set(RECORD["counted"]) <= names
    assert len(RECORD["counted"]) >= len(SOLUTIONS)
