"""What libdevice's functions give, by the C library's and by hand."""

import math

import numpy as np
import pytest

from course.engine import libdevice

INT, LONG, HALF, NAN = np.int32, np.int64, 0.49999997, math.nan


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("roundf", np.float32([HALF, 2.5, -2.5, 2**23 + 1, NAN]), [0, 3, -3, 2**23 + 1, NAN]),
        ("rint", np.float64([2.5, -3.5]), [2, -4]),
        ("isinfd", np.float64([math.inf, 1, NAN]), [1, 0, 0]),
        ("finitef", np.float32([math.inf, 1, NAN]), [0, 1, 0]),
        ("signbitf", np.float32([-0.0, 0.0]), [1, 0]),
        ("saturatef", np.float32([-1, 0.25, 2, NAN]), [0, 0.25, 1, 0]),
        ("fast_expf", np.float32([0, -math.inf]), [1, 0]),
        ("tgamma", np.float64([5, -1, 200]), [24, NAN, math.inf]),
        ("logbf", np.float32([8.5, 0, -math.inf]), [3, -math.inf, math.inf]),
        ("ilogb", np.float64([8.5, 0]), [3, -(2**31)]),
        ("float2int_rn", np.float32([2.5, -2.5, 3e9]), [2, -2, 2**31 - 1]),
        ("double2uint_ru", np.float64([2.1, -5]), [3, 0]),
        ("uint2float_rn", INT([-1]), [np.float32(2**32 - 1)]),
        ("float_as_int", np.float32([1]), [0x3F800000]),
        ("double2hiint", np.float64([1]), [0x3FF00000]),
        ("popcll", LONG([-1]), [64]),
        ("ffs", INT([0, 8]), [0, 4]),
    ],
)
def test_a_function_of_one_number(name, given, found) -> None:
    np.testing.assert_array_equal(libdevice.function(name)(given), found)


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("mulhi", (INT([-5]), INT([2**30])), (-5 * 2**30) >> 32),
        ("umulhi", (INT([-1]), INT([-1])), 2**32 - 2),
        ("mul64hi", (LONG([-5]), LONG([2**62])), (-5 * 2**62) >> 64),
        ("umul64hi", (LONG([-1]), LONG([-1])), 2**64 - 2),
        ("byte_perm", (INT([0x33221100]), INT([0x77665544]), INT([0x5410])), 0x55441100),
        ("byte_perm", (INT([0x00008000]), INT([0]), INT([0x0009])), 0xFF),
        ("hadd", (INT([2**31 - 1]), INT([2**31 - 3])), 2**31 - 2),
        ("usad", (INT([-1]), INT([1]), INT([2])), 2**32),
        ("fdim", (np.float32([3]), np.float32([1])), 2),
        ("remainder", (np.float64([5]), np.float64([3])), -1),
        ("powi", (np.float32([2]), INT([-2])), 0.25),
        ("hiloint2double", (INT([0x3FF00000]), INT([0])), 1),
        ("fdiv_rn", (np.float32([1]), np.float32([3])), np.float32(1) / np.float32(3)),
        ("norm3d", (np.float64([2]), np.float64([3]), np.float64([6])), 7),
    ],
)
def test_a_function_of_several_numbers(name, given, found) -> None:
    made = libdevice.function(name)(*given)
    assert made[0] == np.array(found).astype(made.dtype)


@pytest.mark.parametrize("name", ["fadd_rz", "int2float_ru", "jn", "sincos", "nothing"])
def test_what_is_not_here_is_said(name) -> None:
    assert libdevice.function(name) is None
