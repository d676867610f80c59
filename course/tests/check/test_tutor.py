"""What all cases of a wrong answer say together, and that nothing is said where they disagree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from course.check.compare import Compared
from course.check.misplaced import misplaced
from course.check.tutor import Told, told

LIMITS = (1e-5, 1e-6)
SIZES = (1, 100, 256, 700)


def doubled(x: np.ndarray) -> dict[str, np.ndarray]:
    return {"y": 2 * x}


def case(number: int, shape: tuple[int, ...], spoil: Callable[[np.ndarray], None]) -> Compared:
    """A case of y = 2 * x whose right result `spoil` has changed, in blocks of 256."""
    x = np.random.default_rng(number).standard_normal(shape)
    right = 2 * x
    got = right.astype(np.float32)
    spoil(got)
    grid = (-(-shape[0] // 256),)
    lengths = {"the whole grid": 256 * grid[0], "one block": 256}
    sizes = {"N": shape[-1]}
    return Compared(
        number, "y", sizes, lengths, {"x": x}, got, right, np.abs(right), LIMITS, grid, (256,)
    )


def of(spoil: Callable[[np.ndarray], None], sizes: tuple[int, ...] = SIZES) -> Told:
    cases = [case(number, (size,), spoil) for number, size in enumerate(sizes, start=1)]
    return told(cases, ["element"], doubled, {})


def test_the_last_element_of_every_size_is_a_place():
    def spoil(y: np.ndarray) -> None:
        y[-1] += 1

    found = of(spoil)
    assert found.message_id == "place_last"
    assert found.fields["what"] == "element"
    assert found.shown.number == 2  # N = 1 would hide that the others are right


@pytest.mark.parametrize(("off", "told_as"), [(3.0, ""), (0.02, "low_precision")])
def test_rounding_is_not_asked_about_where_another_case_is_far_off_in_a_few_places(off, told_as):
    def spoil(y: np.ndarray) -> None:
        if y.size == 700:
            y *= 1 + 1e-3 * np.resize([1, -1, 0.5], y.size)
        else:
            y[[3, 14, 15, 35, 58, 60, 71, 77]] += off

    assert (of(spoil, (100, 700)).message_id == "low_precision") == (told_as != "")


def test_the_first_element_of_each_block_but_the_first_is_a_place():
    def spoil(y: np.ndarray) -> None:
        y[256::256] += 1

    assert of(spoil).message_id == "place_tile_starts"


def test_sizes_that_no_block_divides_are_told_where_the_elements_have_no_place():
    def spoil(y: np.ndarray) -> None:
        if y.size % 256:
            y[:] = np.random.default_rng(1).standard_normal(y.size)

    found = of(spoil, (1, 100, 256, 512, 700))
    assert found.message_id == "sizes_whole"
    assert found.fields["right"] == (256, 512)
    assert found.fields["wrong"] == (1, 100, 700)


def test_a_head_that_is_wrong_beside_one_that_is_right_is_named():
    def spoil(y: np.ndarray) -> None:
        y[1] += np.random.default_rng(2).standard_normal(y[1].shape)

    cases = [case(1, (2, 30, 8), spoil), case(2, (2, 45, 8), spoil)]
    found = told(cases, ["head", "row", "column"], doubled, {})
    assert (found.message_id, found.fields["what"]) == ("place_last", "head")

    def middle(y: np.ndarray) -> None:
        y[1:3] += np.random.default_rng(2).standard_normal(y[1:3].shape)

    found = told([case(1, (4, 30, 8), middle)], ["head", "row", "column"], doubled, {})
    assert found.message_id == "place_slices"
    assert (found.fields["bad"], found.fields["good"]) == ((1, 2), (0, 3))


def test_only_the_diagonal_is_a_place():
    def spoil(y: np.ndarray) -> None:
        y[np.arange(20), np.arange(20)] += 1

    found = told([case(1, (20, 40), spoil)], ["row", "column"], doubled, {})
    assert found.message_id == "place_diagonal"


def test_what_a_launch_leaves_out_whose_x_counts_rows_is_a_place():
    def launched(number: int, rows: int, columns: int) -> Compared:
        along_x, along_y = -(-columns // 16), -(-rows // 16)

        def spoil(y: np.ndarray) -> None:
            y[16 * along_x :] += 1
            y[:, 16 * along_y :] += 1

        one = case(number, (rows, columns), spoil)
        return replace(one, grid=(along_x, along_y), block=(16, 16))

    cases = [launched(1, 1, 1), launched(2, 5, 70), launched(3, 40, 40), launched(4, 96, 64)]
    assert told(cases, ["row", "column"], doubled, {}).message_id == "place_axes_swapped"
    one = cases[1]
    one.got[0, 0] += 1
    cases[1] = replace(one)
    assert told(cases, ["row", "column"], doubled, {}).message_id != "place_axes_swapped"


def test_a_slip_has_to_give_every_case():
    def always(y: np.ndarray) -> None:
        y[:] = np.trunc(y)

    def once(y: np.ndarray) -> None:
        if y.size == 700:
            y[:] = np.trunc(y)
        elif y.size == 100:
            y[:] += 1

    assert of(always).message_id == "slip_truncated"
    assert of(once).message_id == ""


def test_a_slip_is_held_to_a_small_case_that_is_right_before_a_large_one_that_is_wrong():
    """A large case takes an exercise's reference a second, and there are hundreds of slips."""

    def none(y: np.ndarray) -> None:
        """Leaves it as it is."""

    def spoil(y: np.ndarray) -> None:
        y[3] += 1

    asked = []

    def square(x: np.ndarray) -> dict[str, np.ndarray]:
        asked.append(x.size)
        return {"y": x * x}

    told([case(1, (7,), none), case(2, (700,), spoil)], ["element"], doubled, {"x * x": square})
    assert set(asked) == {7}


def test_a_slip_that_an_exercise_knows_is_named_by_what_it_gives():
    def spoil(y: np.ndarray) -> None:
        y[:] = y * y / 4

    cases = [case(number, (size,), spoil) for number, size in enumerate(SIZES, start=1)]
    found = told(cases, ["element"], doubled, {"x * x": lambda x: {"y": x * x}})
    assert (found.message_id, found.fields["said"]) == ("slip_known", "x * x")


def test_one_element_that_agrees_by_chance_is_no_slip():
    def spoil(y: np.ndarray) -> None:
        y[:] = np.trunc(y)

    assert of(spoil, (1,)).message_id == ""


@pytest.mark.parametrize("seed", range(12))
def test_random_mistakes_have_no_reason(seed: int):
    rng = np.random.default_rng(seed)

    def spoil(y: np.ndarray) -> None:
        there = rng.random(y.shape) < (0.3, 0.8, 1.0)[seed % 3]
        y[there] = rng.standard_normal(int(there.sum()))

    assert of(spoil, (100, 256, 700, 1024)).message_id == ""


def test_a_result_that_has_nothing_of_the_right_one_was_not_rounded():
    def spoil(y: np.ndarray) -> None:
        y[:] = 1e-9

    cases = [case(number, (size,), spoil) for number, size in enumerate(SIZES, start=1)]
    wide = [
        Compared(**{**vars(one), "magnitude": 1e4 * np.ones(one.got.shape), "limits": (1e-9, 0.0)})
        for one in cases
    ]
    assert told(wide, ["element"], doubled, {}).message_id != "low_precision"


def test_rounding_is_not_suspected_where_most_elements_of_another_case_are_plainly_wrong():
    def spoil(y: np.ndarray) -> None:
        if y.size == 300:
            noise = np.random.default_rng(30).uniform(-1, 1, y.size)
            y *= (1 + 1e-3 * noise).astype(np.float32)
        elif y.size % 256:
            y[:] = np.random.default_rng(10).standard_normal(y.size)

    assert of(spoil, (100, 256, 300, 512, 700)).message_id == "sizes_whole"
    assert of(spoil, (256, 300, 512)).message_id == "low_precision"


# ---------------------------------------------------------------- seams, steps, values, grids


@pytest.mark.parametrize(
    ("near", "said"),
    [
        (lambda i, n: (i % 256 < 3) & (i >= 256), "place_tile_heads"),
        (lambda i, n: (i % 256 >= 253) & (i // 256 < (n - 1) // 256), "place_tile_tails"),
        (lambda i, n: i % 256 >= 253, "place_whole_tile_tails"),
    ],
)
def test_what_is_wrong_on_one_side_of_the_seams_is_told_which(near, said):
    def spoil(got: np.ndarray) -> None:
        got[near(np.arange(len(got)), len(got))] += 1

    assert of(spoil, (1, 100, 512, 700)).message_id == said


@pytest.mark.parametrize("step", [1, 4, 256])
def test_a_step_that_is_too_short_counts_what_several_threads_come_to(step):
    def added(x: np.ndarray) -> dict[str, np.ndarray]:
        return {"y": x.sum(keepdims=True)}

    cases = []
    for number, size in enumerate((1, 100, 1500, 3000), start=1):
        x = np.random.default_rng(number).standard_normal(size)
        got = sum(x[thread::step].sum() for thread in range(min(size, 1024)))
        lengths = {"the whole grid": 1024, "one block": 256}
        one = case(number, (1,), lambda got: None)
        right = added(x)["y"]
        given = {"lengths": lengths, "given": {"x": x}, "expected": right, "sizes": {"N": size}}
        cases.append(replace(one, got=np.array([got]), magnitude=np.abs(x).sum(), **given))
    found = told(cases, ["element"], added, {})
    assert found.message_id == "slip_stride"
    said = {1: "1", 4: "the number of blocks", 256: "the threads of one block"}[step]
    assert found.fields["step"] == said


def test_one_value_of_an_input_is_told_where_it_alone_is_wrong():
    cases = []
    for number, size in enumerate((5, 300, 400), start=1):
        one = case(number, (size,), lambda got: None)
        q = np.arange(size) % 100 - 50
        wrong = np.where(q == -7, one.got + 1, one.got)
        cases.append(replace(one, given={**one.given, "q": q}, got=wrong))
    found = told(cases, ["element"], lambda x, q: doubled(x), {})
    assert found.message_id == "place_value"
    assert (found.fields["name"], found.fields["value"]) == ("q", -7)
    also = replace(cases[-1], got=cases[-1].got + (np.arange(400) == 3))
    again = told([*cases[:-1], also], ["element"], lambda x, q: doubled(x), {})
    assert again.message_id != "place_value"


def test_tiles_that_a_turned_grid_leaves_out():
    cases = []
    for number, (rows, columns) in enumerate(((33, 150), (64, 64), (200, 100)), start=1):
        one = case(number, (rows, columns), lambda got: None)
        i, j = np.indices((rows, columns))
        left = (i >= -(columns // -64) * 64) | (j >= -(rows // -64) * 64)
        got = one.got + left * np.random.default_rng(number).uniform(1, 9, left.shape)
        lengths = {"BM": 64, "BN": 64, "BK": 32}
        cases.append(replace(one, got=got, grid=(), block=(), lengths=lengths))
    assert told(cases, ["row", "column"], doubled, {}).message_id == "place_grid_turned"


def test_right_elements_beside_nearly_right_ones_choose_no_case():
    def far_off(y: np.ndarray) -> None:
        y *= np.linspace(3.0, 9.0, y.size)

    def some_nearly_right(y: np.ndarray) -> None:
        y[1::4] *= 1.001

    cases = [case(1, (70,), far_off), case(2, (90,), some_nearly_right)]
    assert told(cases, ["element"], doubled, {}).shown.number == 1


def test_right_values_in_wrong_places_are_told_by_one_pair():
    def turn(y: np.ndarray) -> None:
        y[:] = y[::-1].copy()

    found = misplaced([case(1, (20, 7), turn)])
    assert found is not None
    assert (found["index"], found["other"]) == ((0, 0), (19, 0))


def _scale(y: np.ndarray, by: float) -> None:
    y *= by


def test_values_of_their_own_are_in_no_other_place():
    for factor in (0.0, 1.5):
        assert misplaced([case(1, (20, 7), partial(_scale, by=factor))]) is None
