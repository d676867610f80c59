# mypy: disable-error-code="misc, assignment"
"""Kernels that write down what expressions are worth: types, wraparound, corners.

Row ``r`` of the outputs holds one expression for every lane's pair of operands, once as an
int64 and once as a float64. ``put(ints, floats, r, i, expression)`` writes both, so that the
type of the expression shows: what an int64 keeps and a float64 rounds, and the reverse.
"""

import numpy as np
from numba import boolean, cuda, float32, float64, int8, int16, int32, int64, uint8, uint32, uint64

from .cases import Book

book = Book(None)
BIG = 3000000000
HUGE = 2**63 - 1


@cuda.jit(device=True)
def put(ints, floats, row, i, value):
    ints[row, i] = value
    floats[row, i] = value


def corners(dtype):
    """Operands of a type that are likely to go wrong, at most 14 of them."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        values = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.1, 7.0, -3.0, 1e10, -1e5, np.inf, -np.inf]
        with np.errstate(over="ignore"):
            return np.array([*values, np.nan]).astype(kind)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    values = [0, 1, 2, 3, 7, 100, high, high - 1, high // 2 + 1]
    if kind.kind == "i":
        values += [-1, -2, -7, low, low + 1]
    return np.array(values, dtype=kind)


def pairs(first, second):
    """All pairs of the corners of two types, as two arrays."""
    a, b = corners(first), corners(second)
    return np.repeat(a, b.size), np.tile(b, a.size)


def rows_pair(count, n):
    return np.full((count, n), -77, np.int64), np.full((count, n), np.nan)


def edges(dtype):
    """Floats at and beyond the ends of the integer types, and halves to round."""
    values = []
    for power in (7, 8, 15, 31, 32, 63, 64):
        values += [2.0**power, -(2.0**power), 2.0**power - 1, 2.0**power + 2.0**power / 64]
    values += [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 3.7, -3.7, 1e20, -1e20, 1e-30, 300.7]
    values += [255.9, -1.0, -129.4, np.nan, np.inf, -np.inf]
    return np.array(values).astype(dtype)


def on_pairs(count):
    """What makes (a, b, ints, floats) on all pairs of the corners of two types."""

    def make(first, second):
        a, b = pairs(first, second)
        return a, b, *rows_pair(count, a.size)

    return make


def on_corners(count):
    """What makes (a, ints, floats) on the corners of a type."""
    return lambda dtype: (corners(dtype), *rows_pair(count, corners(dtype).size))


def of_shifts(dtype):
    a = corners(dtype)
    shifts = (SHIFTS[:14] if dtype.startswith("u") else SHIFTS).astype(dtype)
    n = a.size * shifts.size
    return np.repeat(a, shifts.size), np.tile(shifts, a.size), *rows_pair(4, n)


def of_small_powers(first, second):
    a = np.array([0, 1, 2, 3, 5, 7, 10], first)
    b = np.array([0, 1, 2, 3, 5, 8], second)
    if np.dtype(first).kind != "u":
        a = np.concatenate([a, np.array([-1, -2, -3], first)])
    if np.dtype(second).kind != "u":
        b = np.concatenate([b, np.array([-1, -2], second)])
    return np.repeat(a, b.size), np.tile(b, a.size), *rows_pair(7, a.size * b.size)


def of_stores(dtype):
    a = edges(dtype) if dtype.startswith("f") else corners(dtype)
    return a, *(np.full(a.size, 99).astype(kind) for kind in STORE_TYPES)


def alike(*dtypes):
    return tuple((dtype, dtype) for dtype in dtypes)


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
MIXED = (
    ("int32", "uint32"),
    ("uint32", "int32"),
    ("uint64", "int64"),
    ("int64", "uint64"),
    ("uint8", "int8"),
    ("uint8", "uint32"),
    ("int32", "int64"),
    ("int8", "uint64"),
)
WITH_FLOATS = (
    ("float32", "float32"),
    ("float64", "float64"),
    ("int32", "float32"),
    ("float32", "int64"),
    ("uint8", "float32"),
    ("float32", "float64"),
    ("uint64", "float32"),
    ("int16", "float64"),
)
SOME = alike("int8", "int32", "uint32", "int64", "uint64")
SHIFTS = np.array([0, 1, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 70, -1, -3], np.int64)
STORE_TYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "bool"),
)


@book.each(
    (
        *(*alike(*INTEGERS), *MIXED, *WITH_FLOATS, *alike("bool", "float16")),
        *(("bool", "int32"), ("bool", "float32"), ("float16", "float32"), ("float16", "int32")),
    ),
    on_pairs(10),
    (2, 3),
)
def value_arithmetic(a, b, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] + b[i])
    put(ints, floats, 1, i, a[i] - b[i])
    put(ints, floats, 2, i, a[i] * b[i])
    put(ints, floats, 3, i, -a[i])
    put(ints, floats, 4, i, +a[i])
    put(ints, floats, 5, i, abs(a[i]))
    put(ints, floats, 6, i, a[i] + 1)
    put(ints, floats, 7, i, a[i] * 2 - b[i])
    put(ints, floats, 8, i, a[i] + 0.5)
    put(ints, floats, 9, i, 1 - a[i])


@book.each((*alike(*INTEGERS, "float16"), *MIXED, *WITH_FLOATS), on_pairs(10), (2, 3))
def value_division(a, b, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] / b[i])
    put(ints, floats, 1, i, a[i] // b[i])
    put(ints, floats, 2, i, a[i] % b[i])
    put(ints, floats, 3, i, a[i] / 3)
    put(ints, floats, 4, i, a[i] // 3)
    put(ints, floats, 5, i, a[i] % 3)
    put(ints, floats, 6, i, a[i] // -3)
    put(ints, floats, 7, i, a[i] % -3)
    put(ints, floats, 8, i, 7 // b[i])
    put(ints, floats, 9, i, 7 % b[i])


@book.each((*SOME, *MIXED, *WITH_FLOATS, *alike("bool", "float16")), on_pairs(12), (2, 3))
def value_compare(a, b, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] < b[i])
    put(ints, floats, 1, i, a[i] <= b[i])
    put(ints, floats, 2, i, a[i] > b[i])
    put(ints, floats, 3, i, a[i] >= b[i])
    put(ints, floats, 4, i, a[i] == b[i])
    put(ints, floats, 5, i, a[i] != b[i])
    put(ints, floats, 6, i, min(a[i], b[i]))
    put(ints, floats, 7, i, max(a[i], b[i]))
    put(ints, floats, 8, i, not a[i])
    put(ints, floats, 9, i, a[i] if b[i] > 0 else b[i])
    put(ints, floats, 10, i, -1 < a[i] < b[i])
    put(ints, floats, 11, i, a[i] < 0 or b[i] < 0)


@book.each((*SOME, *MIXED, *WITH_FLOATS), on_pairs(6), (2, 3))
def value_choose(a, b, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] and b[i])
    put(ints, floats, 1, i, a[i] or b[i])
    put(ints, floats, 2, i, max(a[i], 1))
    put(ints, floats, 3, i, min(a[i], 2.5))
    put(ints, floats, 4, i, min(a[i], b[i], 3))
    put(ints, floats, 5, i, max(a[i], b[i], 0.5))


@book.each((*alike(*INTEGERS, "bool"), *MIXED), on_pairs(10), (2, 3))
def value_bits(a, b, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] & b[i])
    put(ints, floats, 1, i, a[i] | b[i])
    put(ints, floats, 2, i, a[i] ^ b[i])
    put(ints, floats, 3, i, ~a[i])
    put(ints, floats, 4, i, a[i] & 15)
    put(ints, floats, 5, i, a[i] | 256)
    put(ints, floats, 6, i, a[i] ^ -1)
    put(ints, floats, 7, i, a[i] << 3)
    put(ints, floats, 8, i, a[i] >> 1)
    put(ints, floats, 9, i, 1 << (a[i] & 31))


@book.each(INTEGERS, of_shifts, (2, 3))
def value_shift(a, b, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] << b[i])
    put(ints, floats, 1, i, a[i] >> b[i])
    put(ints, floats, 2, i, 1 << b[i])
    put(ints, floats, 3, i, -5 >> b[i])


@book.each(
    (
        *alike("int8", "int32", "int64", "uint32", "float32", "float64"),
        *(("float32", "int32"), ("float64", "int64"), ("int32", "float32"), ("uint64", "int64")),
    ),
    of_small_powers,
    (2, 3),
)
def value_power(a, b, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] ** 2)
    put(ints, floats, 1, i, a[i] ** 3)
    put(ints, floats, 2, i, a[i] ** b[i])
    put(ints, floats, 3, i, pow(a[i], b[i]))
    put(ints, floats, 4, i, a[i] ** 0)
    put(ints, floats, 5, i, a[i] ** 0.5)
    put(ints, floats, 6, i, 2 ** b[i])


@book.each(("float32", "float64", "int32", "uint8", "int64", "uint64"), on_corners(20), (1, 2))
def value_cast(a, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, int8(a[i]))
    put(ints, floats, 1, i, uint8(a[i]))
    put(ints, floats, 2, i, int16(a[i]))
    put(ints, floats, 3, i, int32(a[i]))
    put(ints, floats, 4, i, uint32(a[i]))
    put(ints, floats, 5, i, int64(a[i]))
    put(ints, floats, 6, i, uint64(a[i]))
    put(ints, floats, 7, i, float32(a[i]))
    put(ints, floats, 8, i, float64(a[i]))
    put(ints, floats, 9, i, int(a[i]))
    put(ints, floats, 10, i, float(a[i]))
    put(ints, floats, 11, i, bool(a[i]))
    put(ints, floats, 12, i, boolean(a[i]))
    put(ints, floats, 13, i, np.float32(a[i]))
    put(ints, floats, 14, i, np.int32(a[i]))
    put(ints, floats, 15, i, np.uint8(a[i]))
    put(ints, floats, 16, i, float32(a[i]) / float32(3))
    put(ints, floats, 17, i, float32(a[i]) * 0.1)
    put(ints, floats, 18, i, int32(a[i]) + int32(2147483647))
    put(ints, floats, 19, i, uint32(a[i]) - uint32(1))


@book.each(("bool",), on_corners(5), (1, 2))
def value_cast_bool(a, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, int8(a[i]))
    put(ints, floats, 1, i, float32(a[i]))
    put(ints, floats, 2, i, int(a[i]))
    put(ints, floats, 3, i, bool(a[i]))
    put(ints, floats, 4, i, a[i] + 1)


@book.each(("float32", "float64", "int64", "uint64", "int16"), of_stores, tuple(range(1, 11)))
def value_narrow_store(a, out8, out16, out32, out64, outu8, outu16, outu32, outu64, outf32, outb):
    i = cuda.grid(1)
    out8[i] = a[i]
    out16[i] = a[i]
    out32[i] = a[i]
    out64[i] = a[i]
    outu8[i] = a[i]
    outu16[i] = a[i]
    outu32[i] = a[i]
    outu64[i] = a[i]
    outf32[i] = a[i]
    outb[i] = a[i]


@book.each(
    ("float32", "float64"), lambda dtype: (edges(dtype), *rows_pair(10, edges(dtype).size)), (1, 2)
)
def value_round(a, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, round(a[i]))
    put(ints, floats, 1, i, int(a[i]))
    put(ints, floats, 2, i, int32(a[i]))
    put(ints, floats, 3, i, uint8(a[i]))
    put(ints, floats, 4, i, int8(a[i]))
    put(ints, floats, 5, i, uint32(a[i]))
    put(ints, floats, 6, i, a[i] // 1)
    put(ints, floats, 7, i, a[i] % 1)
    put(ints, floats, 8, i, a[i] % -2)
    put(ints, floats, 9, i, round(a[i], 1))


@book.each(("int32", "uint32", "int64", "float32"), on_corners(10), (1, 2))
def value_literals(a, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, a[i] + 2147483647)
    put(ints, floats, 1, i, a[i] + 2147483648)
    put(ints, floats, 2, i, a[i] + BIG)
    put(ints, floats, 3, i, a[i] + HUGE)
    put(ints, floats, 4, i, a[i] * 4294967296)
    put(ints, floats, 5, i, a[i] + 9223372036854775808)
    put(ints, floats, 6, i, a[i] * 1e10)
    put(ints, floats, 7, i, a[i] + 0xFFFFFFFF)
    put(ints, floats, 8, i, -9223372036854775807 - a[i])
    put(ints, floats, 9, i, a[i] * a[i] * a[i])
