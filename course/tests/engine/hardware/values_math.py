# mypy: disable-error-code="misc, assignment"
"""Kernels that write down what the math module answers."""

import math

import numpy as np
from numba import cuda, float32

from .cases import Book, blank, ints
from .values import corners, edges, put, rows_pair

book = Book(None)


# ---- the math module ------------------------------------------------------------------


def math_inputs(dtype):
    """Ordinary and special operands; whole ones for integer types."""
    if np.dtype(dtype).kind == "f":
        tail = np.random.default_rng(9).normal(0, 2, 42)
        head = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 10.0, 100.0, 1000.0, -1000.0, 1e-8, 1e30]
        return np.concatenate([head, [np.inf, -np.inf, np.nan], tail]).astype(dtype)
    return ints(9, 58, dtype=dtype)


def make_one(dtype):
    wide = "float32" if dtype == "float32" else "float64"
    return math_inputs(dtype), blank(26, 58, dtype=wide), blank(3, 58, dtype="int32")


def make_two(first, second):
    a, b = corners(first), corners(second)
    n = a.size * b.size
    return np.repeat(a, b.size), np.tile(b, a.size), blank(5, n, dtype="float64")


NUMBERS = ("float32", "float64", "int64", "int32")


@book.each(NUMBERS, make_one, (1, 2))
def value_math_one(a, out, flags):
    i = cuda.grid(1)
    x = a[i]
    out[0, i] = math.sqrt(x)
    out[1, i] = math.exp(x)
    out[2, i] = math.log(x)
    out[3, i] = math.sin(x)
    out[4, i] = math.cos(x)
    out[5, i] = math.tan(x)
    out[6, i] = math.tanh(x)
    out[7, i] = math.sinh(x)
    out[8, i] = math.cosh(x)
    out[9, i] = math.asin(x)
    out[10, i] = math.acos(x)
    out[11, i] = math.atan(x)
    out[12, i] = math.log2(x)
    out[13, i] = math.log10(x)
    out[14, i] = math.log1p(x)
    out[15, i] = math.expm1(x)
    out[16, i] = math.erf(x)
    out[17, i] = math.erfc(x)
    out[18, i] = math.gamma(x)
    out[19, i] = math.lgamma(x)
    out[20, i] = math.fabs(x)
    out[21, i] = math.asinh(x)
    out[22, i] = math.acosh(x)
    out[23, i] = math.atanh(x)
    out[24, i] = math.radians(x)
    out[25, i] = math.degrees(x)
    flags[0, i] = math.isnan(x)
    flags[1, i] = math.isinf(x)
    flags[2, i] = math.isfinite(x)


@book.each(("int64", "uint8"), lambda dtype: (math_inputs(dtype), *rows_pair(8, 58)), (1, 2))
@book.each(
    ("float32", "float64"), lambda dtype: (edges(dtype), *rows_pair(8, edges(dtype).size)), (1, 2)
)
def value_math_whole(a, ints, floats):
    i = cuda.grid(1)
    x = a[i]
    put(ints, floats, 0, i, math.floor(x))
    put(ints, floats, 1, i, math.ceil(x))
    put(ints, floats, 2, i, math.trunc(x))
    put(ints, floats, 3, i, math.floor(x) // 2)
    put(ints, floats, 4, i, math.sqrt(x) if x > 0 else 0)
    put(ints, floats, 5, i, math.exp(x) * 0 + math.pi)
    put(ints, floats, 6, i, math.inf if x > 0 else math.nan)
    put(ints, floats, 7, i, math.e * x)


@book.each(
    (*((dtype, dtype) for dtype in ("float32", "float64", "int64")), ("float32", "float64")),
    make_two,
    2,
)
def value_math_two(a, b, out):
    i = cuda.grid(1)
    x = a[i]
    y = b[i]
    out[0, i] = math.pow(x, y)
    out[1, i] = math.fmod(x, y)
    out[2, i] = math.atan2(x, y)
    out[3, i] = math.hypot(x, y)
    out[4, i] = math.copysign(x, y)


@book.each(NUMBERS, lambda dtype: (np.abs(math_inputs(dtype)), *rows_pair(4, 58)), (1, 2))
def value_math_narrow(a, ints, floats):
    i = cuda.grid(1)
    put(ints, floats, 0, i, math.sqrt(a[i]) * 10000000000)
    put(ints, floats, 1, i, math.exp(a[i] / 100))
    put(ints, floats, 2, i, math.fabs(a[i]) / 3)
    put(ints, floats, 3, i, math.sin(a[i]))


@book.case(lambda: (math_inputs("float32"), blank(3, 58)), 1)
def value_fast_intrinsics(a, out):
    i = cuda.grid(1)
    x = a[i]
    out[0, i] = cuda.fma(x, x, float32(1))
    out[1, i] = cuda.cbrt(x)
    out[2, i] = cuda.selp(x > 0, x, -x)
