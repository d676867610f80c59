"""Which mistakes are recognised, and that nothing else is ever claimed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.check.compare import Compared, close, mistake_in, tolerance
from course.spec.inputs import poison, poisoned

LIMITS = (1e-5, 1e-5)


def mistake(name, got, expected, magnitude, limits, grid, block, loaded=False):
    return mistake_in(
        Compared(1, name, {}, {}, {}, got, expected, magnitude, limits, grid, block, loaded)
    )


def look(got, expected, block=(32,), grid=None, loaded=False, limits=LIMITS):
    expected = np.asarray(expected)
    grid = grid or (-(-expected.size // block[0]),)
    return mistake("c", got, expected, np.abs(expected), limits, grid, block, loaded)


def values(*shape):
    return np.random.default_rng(7).standard_normal(shape)


def as_float32(wanted):
    return wanted.astype(np.float32)


def unwritten(*shape):
    return np.full(shape, poison(np.dtype("float32")), np.float32)


def test_a_right_output_is_no_mistake():
    wanted = values(100)
    assert look(as_float32(wanted), wanted) is None


def test_the_first_wrong_element_and_the_count_are_named():
    wanted = values(6, 10)
    got = as_float32(wanted)
    got[2, 3] = got[4, 0] = 99
    found = look(got, wanted, block=(16, 16), grid=(1, 1))
    assert (found.message_id, found.pattern_id) == ("wrong_value", "")
    assert found.fields["index"] == (2, 3)
    assert (found.fields["wrong"], found.fields["total"], found.fields["got"]) == (2, 60, 99.0)


@pytest.mark.parametrize(("made", "turn"), [((70, 5), (1, 0)), ((4, 2, 9), (1, 0, 2))])
def test_a_launchers_output_with_other_strides_is_told_by_what_lies_in_memory(made, turn):
    memory = as_float32(values(*made))
    turned = memory.transpose(turn)
    wanted = memory.reshape(turned.shape).astype(float)
    found = mistake("c", turned, wanted, np.abs(wanted), LIMITS, (), ())
    assert found.pattern_id == "other_strides"
    assert look(turned, wanted, block=(16, 16), grid=(1, 1)).pattern_id == ""
    turned[1, 1] += 1
    assert mistake("c", turned, wanted, np.abs(wanted), LIMITS, (), ()).pattern_id == ""


def test_elements_never_written_are_told_from_a_nan_that_was_computed():
    wanted = values(10)
    left = look(unwritten(10), wanted)
    assert (left.message_id, left.fields["others"]) == ("never_written", 9)
    computed = as_float32(wanted)
    with np.errstate(invalid="ignore"):
        computed[:] = np.float32("inf") - np.float32("inf")
    assert look(computed, wanted).message_id == "wrong_value"


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float16", "float64"])
def test_never_written_is_known_for_every_dtype(dtype):
    got = np.full(20, poison(np.dtype(dtype)), dtype)
    found = look(got, np.arange(20), limits=(0, 0))
    assert found.message_id == "never_written"


def test_an_output_that_is_added_to_before_it_is_written_says_that_it_is_read():
    wanted = values(40)
    got = unwritten(40) + as_float32(wanted)
    assert look(got, wanted, loaded=True).message_id == "output_read"
    whole = np.full(40, poison(np.dtype("int32")), np.int32) + np.arange(40, dtype=np.int32)
    assert look(whole, np.arange(40), loaded=True, limits=(0, 0)).message_id == "output_read"


def test_a_ragged_tail_is_the_whole_of_the_last_partly_filled_block():
    wanted = values(100)
    got = as_float32(wanted)
    got[96:] = 7
    found = look(got, wanted)
    assert found.pattern_id == "ragged_tail"
    assert (found.pattern_fields["start"], found.pattern_fields["count"]) == (96, 4)
    got[97] = wanted[97]
    assert look(got, wanted).pattern_id == ""


def test_a_tail_that_was_never_written_is_a_ragged_tail_too():
    wanted = values(100)
    got = as_float32(wanted)
    got[96:] = unwritten(4)
    found = look(got, wanted)
    assert (found.message_id, found.pattern_id) == ("never_written", "ragged_tail")


def test_the_first_block_alone_being_right_is_named():
    wanted = values(100)
    got = as_float32(wanted)
    got[32:] = 5
    assert look(got, wanted).pattern_id == "first_block_only"


def test_one_round_of_the_grid_alone_being_right_is_named():
    wanted = values(1000)
    got = as_float32(wanted)
    got[64:] = 5
    found = look(got, wanted, grid=(2,))
    assert (found.pattern_id, found.pattern_fields["count"]) == ("one_round_only", 64)
    got[32:64] = 5
    assert look(got, wanted, grid=(2,)).pattern_id == "first_block_only"
    assert look(got, wanted, grid=(1,)).pattern_id == "one_round_only"


@pytest.mark.parametrize("shape", [(8, 8), (6, 10)])
def test_a_transposed_result_is_named(shape):
    wanted = values(*shape)
    got = as_float32(wanted.T.copy()).reshape(shape)
    assert look(got, wanted, block=(16, 16), grid=(1, 1)).pattern_id == "transposed"


@pytest.mark.parametrize("shift", [1, -1])
def test_a_result_shifted_by_one_is_named_whatever_stands_at_the_end(shift):
    wanted = values(50)
    got = np.roll(as_float32(wanted), shift)
    assert look(got, wanted).pattern_id == "off_by_one"
    got[0 if shift == 1 else -1] = poison(np.dtype("float32"))
    assert look(got, wanted).pattern_id in ("off_by_one", "")


def test_a_shift_by_two_is_not_called_a_pattern():
    wanted = values(50)
    assert look(np.roll(as_float32(wanted), 2), wanted).pattern_id == ""


def test_a_reversed_result_is_named():
    wanted = values(50)
    assert look(as_float32(wanted[::-1].copy()), wanted).pattern_id == "reversed"


@pytest.mark.parametrize(("factor", "shown"), [(2, 2), (-1, -1), (0.5, 0.5), (32, 32), (1.5, 1.5)])
def test_a_result_that_is_a_multiple_is_named(factor, shown):
    wanted = values(50)
    found = look(as_float32(wanted * factor), wanted)
    assert (found.pattern_id, found.pattern_fields["factor"]) == ("scaled", shown)


@pytest.mark.parametrize(("by", "than"), [(1, "more"), (-3, "less")])
def test_one_number_too_much_everywhere_is_told(by, than):
    wanted = 1e4 * values(200)  # beside the largest it looks like a rounding
    found = look(as_float32(wanted + by), wanted, limits=(1e-6, 1e-6))
    assert (found.pattern_id, found.pattern_fields) == ("offset", {"by": abs(by), "than": than})
    half = look(as_float32(wanted + by * (np.arange(200) % 2)), wanted, limits=(1e-6, 1e-6))
    assert half.pattern_id != "offset"


def test_an_all_zero_result_is_named():
    assert look(np.zeros(50, np.float32), values(50)).pattern_id == "all_zero"


def test_one_zero_is_no_pattern():
    assert look(np.zeros(1, np.float32), values(1)).pattern_id == ""


def test_half_precision_on_the_way_is_named():
    wanted = values(500)
    got = wanted.astype(np.float16).astype(np.float32)
    found = look(got, wanted)
    assert found.pattern_id == "low_precision"
    assert found.pattern_fields["digits"] == 3


def test_bfloat16_is_named_after_two_roundings_to_it():
    def rounded(floats):
        return (as_float32(floats).view(np.uint32) + 0x8000 & 0xFFFF0000).view(np.float32)

    found = look(rounded(1.3 * rounded(values(500))), 1.3 * values(500))
    assert (found.pattern_id, found.pattern_fields["digits"]) == ("low_precision", 2)


def test_a_result_that_is_rounded_to_float16_twice_is_named():
    wanted = values(500)
    got = (wanted.astype(np.float16) * np.float16(1.3)).astype(np.float16)
    limits = (6e-4, 0.0)
    assert look(got, 1.3 * wanted, limits=limits).pattern_id == "rounded_on_the_way"
    of_a_slip = (1.302 * wanted).astype(np.float16)  # all to one side
    assert look(of_a_slip, 1.3 * wanted, limits=limits).pattern_id == ""


def test_rounding_is_named_where_most_of_what_it_moved_is_still_within_the_tolerance():
    wanted, errors = values(2, 500)
    got = as_float32(wanted * (1 + 2e-5 * errors))
    found = look(got, wanted, limits=(3e-5, 0.0))
    assert (found.pattern_id, found.pattern_fields["digits"]) == ("low_precision", 4)
    assert "part" in found.pattern_fields
    got[7] *= 1.01  # what is wrong by more is no rounding
    assert look(got, wanted, limits=(3e-5, 0.0)).pattern_id == ""


def test_a_factor_near_one_is_no_rounding():
    wanted = values(500)
    assert (wanted < 0).any()
    assert (wanted > 0).any()
    assert look(as_float32(0.995 * wanted), wanted).pattern_id == ""


def test_single_precision_is_too_little_for_a_float64_output():
    wanted = values(500)
    got = wanted.astype(np.float32).astype(np.float64)
    assert look(got, wanted, limits=(1e-12, 1e-12)).pattern_id == "low_precision"


@given(st.integers(0, 2**32 - 1), st.integers(9, 200), st.integers(2, 8))
def test_a_random_wrong_result_has_no_pattern(seed, size, wrong):
    rng = np.random.default_rng(seed)
    wanted = rng.standard_normal(size)
    got = as_float32(wanted)
    places = rng.choice(size, min(wrong, size), replace=False)
    got[places] += rng.uniform(1, 2, places.size)
    found = look(got, wanted)
    tail = np.arange(size // 32 * 32, size)
    if not (size > 32 and tail.size and np.array_equal(np.sort(places), tail)):
        assert found.pattern_id == ""


def test_whole_numbers_are_compared_exactly():
    assert tolerance(np.dtype("int32"), {}) == (0.0, 0.0)
    got = np.array([1, 2, 3], np.int32)
    assert close(got, np.array([1, 2, 4]), np.ones(3), 0, 0).tolist() == [True, True, False]


def test_a_stated_tolerance_replaces_the_default():
    assert tolerance(np.dtype("float32"), {"float32": (0.5, 0.25)}) == (0.5, 0.25)
    assert tolerance(np.dtype("float16"), {"float32": (0.5, 0.25)}) == (1e-2, 1e-2)


def test_nan_and_infinity_are_right_where_they_are_expected_and_only_there():
    special = np.array([np.nan, np.inf, -np.inf, np.inf], np.float32)
    wanted = np.array([np.nan, np.inf, np.inf, 1.0])
    assert close(special, wanted, wanted, 1e-5, 1e-5).tolist() == [True, True, False, False]


def test_magnitude_widens_the_relative_tolerance():
    got, wanted = np.array([1e-3]), np.array([0.0])
    assert not close(got, wanted, wanted, 1e-5, 1e-5).any()
    assert close(got, wanted, np.array([1000.0]), 1e-5, 1e-5).all()


def test_poison_survives_a_copy_and_no_arithmetic_makes_it():
    held = unwritten(3).copy()
    assert poisoned(held).all()
    with np.errstate(invalid="ignore"):
        assert not poisoned(np.zeros(3, np.float32) / np.zeros(3, np.float32)).any()
    assert not poisoned(np.full(3, np.nan, np.float32)).any()


def test_the_poison_is_not_taken_for_a_right_nan():
    expected = np.array([np.nan, np.nan])
    got = np.array([np.nan, poison(np.dtype("float32"))], np.float32)
    assert close(got, expected, expected, 1e-5, 1e-5).tolist() == [True, False]


def test_nan_that_a_kernel_stored_has_a_sentence_of_its_own():
    expected = np.linspace(1.0, 2.0, 16)
    got = expected.astype(np.float32)
    got[3:7] = np.nan
    limits = (1e-5, 0.0)
    found = mistake("out", got, expected, expected, limits, (4,), (4,))
    assert found is not None
    assert (found.message_id, found.pattern_id) == ("wrong_value", "not_a_number")
    got[9] = 0.0
    found = mistake("out", got, expected, expected, limits, (4,), (4,))
    assert found is not None
    assert found.pattern_id == ""
    expected[2], got[2], got[9] = np.inf, np.nan, expected[9]
    found = mistake("out", got, expected, expected, limits, (4,), (4,))
    assert found is not None
    assert found.pattern_id == "not_a_number"
    unwritten = np.full(16, poison(np.dtype(np.float32)), np.float32)
    found = mistake("out", unwritten, expected, expected, limits, (4,), (4,))
    assert found is not None
    assert (found.message_id, found.pattern_id) == ("never_written", "")
