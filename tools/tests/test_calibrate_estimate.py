"""The estimate held to the recorded runs: as good as the record says, which is good enough."""

import json

import pytest

from course.gpu.estimate import FITTED
from tools import calibrate_estimate as calibrate

RECORD = json.loads(calibrate.STORED.read_text(encoding="utf-8"))
ROWS = calibrate.stored()


def test_the_stored_estimates_are_the_ones_that_the_model_makes_of_the_stored_counts() -> None:
    for row, told in zip(ROWS, RECORD["runs"], strict=True):
        us, limit = calibrate.estimates(row, FITTED)
        assert us == pytest.approx(told["estimated_us"], rel=2e-3, abs=0.06), row.kernel
        assert limit == told["estimated_limit"], row.kernel


def test_both_halves_are_as_good_as_is_told_and_no_exercise_is_in_both() -> None:
    fits, tests = calibrate.halves(ROWS)
    assert not {row.exercise for row in fits} & {row.exercise for row in tests}
    assert calibrate.shares(fits, FITTED) == RECORD["fitted"]
    assert calibrate.shares(tests, FITTED) == RECORD["held_out"]


def test_enough_of_the_runs_that_nothing_was_fitted_to_are_right() -> None:
    told = RECORD["held_out"]
    assert RECORD["all"]["runs"] >= 60
    assert told["time"] >= TIME
    assert told["limit"] >= LIMIT


#: What was reached.
TIME, LIMIT = 0.8, 0.8


def test_every_kernel_that_it_gets_wrong_is_told_with_a_cause() -> None:
    failing = {row.kernel for row in ROWS if calibrate.wrong(row, FITTED)}
    assert failing == set(RECORD["fails"]) == set(calibrate.CAUSES)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["row_sum", "triton_add", "triton_matmul", "specialised_matmul"])
def test_the_stored_counts_are_the_engines(kernel: str) -> None:
    known = calibrate.solutions()
    run = next(run for run in calibrate.RUNS if run.kernel == kernel)
    stored = next(row for row in ROWS if (row.kernel, row.case) == (kernel, run.label))
    counted = calibrate._works(run, known[kernel])
    assert calibrate._short(calibrate.asdict(counted[0])) == calibrate.asdict(stored.works[0])
