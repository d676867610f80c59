"""Inputs that a grader draws once for a whole class."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from course.check import cases
from course.check.cases import VISIBLE_SEED, draw_ahead, drawn_case, known_answer
from course.exercises import lesson, stem_of
from course.spec.draws import normal
from course.spec.exercise import Case
from course.spec.inputs import answer, given_to_reference


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "_AHEAD", {})


def arrays(arguments: Mapping[str, Any]) -> list[np.ndarray]:
    return [value for value in arguments.values() if isinstance(value, np.ndarray)]


#: With inputs that are changed, stored by columns, within larger arrays, computed of others.
@pytest.mark.parametrize(
    "name", ["padded_rows", "row_scale", "flash_decode", "flash_dkdv", "loss_gradient"]
)
def test_they_are_those_that_each_check_draws_and_lie_alike(name: str) -> None:
    exercise = lesson(stem_of(name))[name]
    for case in exercise.cases:
        plain = drawn_case(exercise, case)
        draw_ahead(exercise, case, {})
        for kept in (drawn_case(exercise, case), drawn_case(exercise, case)):
            assert list(plain) == list(kept)
            for one, other in zip(arrays(plain), arrays(kept), strict=True):
                assert one.tobytes() == other.tobytes()
                assert (one.dtype, one.strides) == (other.dtype, other.strides)
                other[...] = 0  # a launch's own
        right = answer(exercise, given_to_reference(exercise, plain))
        known = known_answer(exercise, case, {}, VISIBLE_SEED)
        assert known is not None
        for part, other_part in zip(right, known, strict=True):
            assert list(part) == list(other_part)
            for name, values in part.items():
                np.testing.assert_array_equal(other_part[name], values)
    assert known_answer(exercise, exercise.cases[0], {}, 1) is None


class Counted:
    """A draw that counts how often it is made."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(
        self, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[np.float32]
    ) -> np.ndarray:
        self.made += 1
        return normal(rng, shape, dtype)


def test_they_are_drawn_once_for_each_seed_as_far_as_memory_reaches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exercise, draw = lesson("threads")["vector_add"], Counted()
    case = Case({"N": 1000}, draws={"a": draw})
    draw_ahead(exercise, case, {}, 7)
    for seed, made in ((7, 1), (7, 1), (8, 2), (8, 3)):
        drawn_case(exercise, case, {}, seed)
        assert draw.made == made
    monkeypatch.setattr(cases, "MOST_AHEAD_BYTES", 31_999)
    draw_ahead(exercise, case, {}, 8)
    drawn_case(exercise, case, {}, 8)
    assert draw.made == 5
