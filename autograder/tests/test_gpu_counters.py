"""The engine's counts of the course's own Triton solutions are those of an H200's counters."""

import json
from typing import Any

import pytest

from autograder.proof.gpu_counters import RECORD
from autograder.proof.on_gpu import digest, triton_solutions
from course.check.cases import VISIBLE_SEED
from course.check.stages import Stages
from course.engine.tile.engine import TileEngine

SOLUTIONS = {exercise.name: (exercise, source) for exercise, source in triton_solutions()}
LAUNCHES = json.loads(RECORD.read_text())["launches"]

#: Load sectors that the counters have beyond the engine's: what the compiler repeats, because a
#: program has more lanes than a load has elements.
REPEATED = {
    # fewer elements than a warp has lanes: each of the four warps loads them
    "row_scale": 3 * 32,
    "dequantize": 3 * 16,
    "cross_entropy": 3 * 32,
    # 64 elements of a bias, beside a tile: eight lanes have the same one
    "matmul_epilogue": 7 * 32,
    "gated_linear": 7 * 64,
    # a query of 64 elements, for each head or chunk; then each chunk's maximum and sum
    "attend_one_query": 3 * 8 * 3,
    "flash_decode": 3 * (4 * 64 + 2 * 8),
    # with 64 rows: 64 scales, by warp, in each of 2 x 4 programs; and x, 16 bits wide, is laid out
    # as w with its 8 bits wants it, so that each of its sectors is asked for in two halves
    "quantised_matmul M=64, N=128, K=2048": 3 * 8 * 8 + 2 * 64 * 2048 * 2 // 32,
}


@pytest.mark.parametrize("row", LAUNCHES, ids=lambda row: f"{row['exercise']} {row['case']}")
def test_sectors_are_those_of_the_counters(row: dict[str, Any]) -> None:
    exercise, source = SOLUTIONS[row["exercise"]]
    assert row["solution"] == digest(source), "`python -m autograder.proof.gpu_counters` on a GPU"
    case = next(case for case in exercise.cases if case.label == row["case"])
    stages = Stages(exercise, source, detailed=False)
    stages._admitted()
    traffic = stages._launched(case, VISIBLE_SEED, TileEngine(compiles=False))[1].traffic
    counted = row["sectors"]
    name = f"{exercise.name} {case.label}"
    repeated = REPEATED.get(name, REPEATED.get(exercise.name, 0))
    assert counted["load"] - traffic.loads.sectors == repeated
    assert traffic.stores.sectors == counted["store"]
    assert traffic.atomics.sectors == counted["atomic"] + counted["reduction"]
    assert row["l2_read_sectors"] <= traffic.loads.sectors


def test_every_graded_case_was_counted() -> None:
    graded = {
        (e.name, case.label) for e, _ in SOLUTIONS.values() for case in e.cases if case.traffic
    }
    assert {(row["exercise"], row["case"]) for row in LAUNCHES} == graded
