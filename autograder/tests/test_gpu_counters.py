"""The engine's counts of the course's own Triton solutions are those of an H200's counters."""

import json
from typing import Any

import pytest
import triton

from autograder.proof.gpu_counters import BY_WARPS, RECORD
from autograder.proof.on_gpu import digest, triton_solutions
from course.check.cases import VISIBLE_SEED
from course.check.stages import Stages
from course.engine.triton.engine import TritonEngine
from course.tests.families import family

SOLUTIONS = {exercise.name: (exercise, source) for exercise, source in triton_solutions(BY_WARPS)}
#: its compute capability
H200 = 90
RECORDED = json.loads(RECORD.read_text())
LAUNCHES = RECORDED["launches"]
#: Of these other Tritons than the record's make other loads; `test_gpu_shared` holds theirs.
OTHER_CODE = ("paged_decode",)

CASES = family(
    LAUNCHES, lambda row: row["exercise"], lambda row: f"{row['exercise']} {row['case']}"
)


@pytest.mark.parametrize("row", CASES)
def test_sectors_are_those_of_the_counters(row: dict[str, Any]) -> None:
    exercise, source = SOLUTIONS[row["exercise"]]
    if exercise.name in OTHER_CODE and triton.__version__ != RECORDED["triton"]:
        pytest.skip(f"counted of what Triton {RECORDED['triton']} makes")
    assert row["solution"] == digest(source), "`python -m autograder.proof.gpu_counters` on a GPU"
    case = next(case for case in exercise.cases if case.label == row["case"])
    stages = Stages(exercise, source, detailed=False)
    stages._admitted()
    engine = TritonEngine(compiles=False, target=H200)
    traffic = stages._launched(case, VISIBLE_SEED, engine)[1].traffic
    counted = row["sectors"]
    assert traffic.loads.sectors == counted["load"]
    assert traffic.stores.sectors == counted["store"]
    assert traffic.atomics.sectors == counted["atomic"] + counted["reduction"]
    assert row["l2_read_sectors"] <= traffic.loads.sectors


def test_every_graded_case_was_counted() -> None:
    graded = {
        (e.name, case.label) for e, _ in SOLUTIONS.values() for case in e.cases if case.traffic
    }
    assert {(row["exercise"], row["case"]) for row in LAUNCHES} == graded
