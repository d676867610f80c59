"""Every Triton solution was run on a real GPU, and was right there."""

import json

import pytest

from autograder.proof.on_gpu import RECORD, cases_of, digest, triton_solutions

SOLUTIONS = {exercise.name: (exercise, source) for exercise, source in triton_solutions()}


@pytest.mark.parametrize("name", sorted(SOLUTIONS))
def test_the_solution_as_it_stands_was_right_on_a_gpu(name: str) -> None:
    exercise, source = SOLUTIONS[name]
    row = json.loads(RECORD.read_text())["exercises"][name]
    assert row["solution"] == digest(source), "`python -m autograder.proof.on_gpu` on a GPU"
    errors = row["error_of_tolerance"]
    assert len(errors) >= len(exercise.cases)
    assert {case.label for case in exercise.cases} <= errors.keys()
    assert all(error <= 1 for error in errors.values()), errors
    assert len(cases_of(exercise)) > len(exercise.cases)


def test_what_no_gpu_at_hand_can_run_is_known_by_name() -> None:
    others = {exercise.name for exercise, _ in triton_solutions((100,))}
    assert others == {"blackwell_matmul"}
    assert not others & SOLUTIONS.keys()
