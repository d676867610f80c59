"""The engine's counts of the course's own Triton solutions are those of a Hopper GPU's counters."""

import json
from typing import Any

import pytest
import triton

from autograder.proof.gpu_counters import RECORD, TARGETS, counted
from autograder.proof.on_gpu import digest, triton_solutions
from course.check.cases import VISIBLE_SEED
from course.check.stages import Stages
from course.engine.triton.engine import TritonEngine
from course.tests.families import family

SOLUTIONS = {exercise.name: (exercise, source) for exercise, source in triton_solutions(TARGETS)}
#: its compute capability
HOPPER = 90
RECORDED = json.loads(RECORD.read_text())
LAUNCHES = RECORDED["launches"]
#: Of these other Tritons than the record's make other loads; `test_gpu_shared` holds theirs.
OTHER_CODE = ("paged_decode",)

CASES = family(
    LAUNCHES, lambda row: row["exercise"], lambda row: f"{row['exercise']} {row['case']}"
)


@pytest.mark.parametrize("row", CASES)
@pytest.mark.family
def test_sectors_are_those_of_the_counters(row: dict[str, Any]) -> None:
    exercise, source = SOLUTIONS[row["exercise"]]
    if exercise.name in OTHER_CODE and triton.__version__ != RECORDED["triton"]:
        pytest.skip(f"counted of what Triton {RECORDED['triton']} makes")
    assert row["solution"] == digest(source), "`python -m autograder.proof.gpu_counters` on a GPU"
    case = next(case for case in exercise.cases if case.label == row["case"])
    stages = Stages(exercise, source, detailed=False)
    stages._admitted()
    engine = TritonEngine(compiles=False, target=HOPPER)
    traffic = stages._launched(case, VISIBLE_SEED, engine)[1].traffic
    sectors = row["sectors"]
    loads = sectors["load"] + sectors["tma_load"]
    if case.traffic:
        assert traffic.loads.sectors == loads
    else:  # a box may lie over an edge, and what is filled there is counted (`test_boxes.py`)
        assert 0 < traffic.loads.sectors <= loads
    assert traffic.stores.sectors == sectors["store"] + sectors["tma_store"]
    assert traffic.atomics.sectors == sectors["atomic"] + sectors["reduction"]
    assert row["l2_read_sectors"] <= loads
    assert row["boxes"] == sum(site.requests or 0 for site in traffic.sites if site.descriptor)


def test_every_graded_case_was_counted() -> None:
    wanted = {(e.name, case.label) for e, _ in SOLUTIONS.values() for case in counted(e)}
    assert {(row["exercise"], row["case"]) for row in LAUNCHES} == wanted
