"""Arithmetic of lanes: what each operator and function computes, with the GPU's corners."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba.core import types

from course.engine.conversion import float_to_integer
from course.engine.functions import FUNCTIONS
from course.engine.simt.lowering.types import BOOL, Scalar, numpy_dtype

Lanes = np.ndarray  # shape (threads or 1, blocks or 1)


def cast(values: Lanes, source: Scalar, target: Scalar) -> Lanes:
    """`values` as `target`, as the GPU converts them."""
    return casting(source, target)(values)


@lru_cache(1 << 10)
def casting(source: Scalar, target: Scalar) -> Callable[[Lanes], Lanes]:
    """What makes values of one type those of another, as the GPU converts them."""
    if source == target:
        return lambda values: values
    if target == BOOL:
        return lambda values: values != 0
    dtype = numpy_dtype(target)
    to_integer = dtype.kind in "iu"

    def converted(values: Lanes) -> Lanes:
        if to_integer and values.dtype.kind == "f":
            return float_to_integer(values, dtype)
        return values.astype(dtype)

    return converted


def integer_power(base: Lanes, exponent: Lanes) -> Lanes:
    """Repeated squaring with wraparound.

    A negative exponent gives 0, but for a base of 1 or -1; a base of 0 gives the smallest
    integer, as Numba's `int_power` does under NumPy's rules for errors.
    """
    base, exponent = np.broadcast_arrays(base, exponent)
    negative = exponent < 0
    remaining = np.where(negative, 0 * exponent, exponent).astype(np.uint64)
    result, square = np.ones_like(base), base.copy()
    while remaining.any():
        odd = (remaining & np.uint64(1)).astype(bool)
        result = np.where(odd, result * square, result)
        square = square * square
        remaining = remaining >> np.uint64(1)
    if negative.any():
        bits = 8 * base.dtype.itemsize
        lowest = np.array(1 << (bits - 1), np.uint64).astype(base.dtype)
        inverse = np.where(base == 0, lowest, np.where(base == 1, base, 0 * base))
        if base.dtype.kind == "i":
            minus = np.where(exponent % 2 == 0, -base, base)
            inverse = np.where(base == -1, minus, inverse)
        result = np.where(negative, inverse, result)
    return result


def _float_divmod(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """(a // b, a % b) of floats, step by step as Numba's `real_divmod` computes them.

    The GPU's remainder is a - trunc(a / b) * b with one rounding, so by an infinity it is NaN.
    """
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    rest = (a.astype(wide) - np.trunc(a / b).astype(wide) * b.astype(wide)).astype(a.dtype)
    quotient = (a - rest) / b
    wrong_sign = (rest != 0) & ((b < 0) != (rest < 0))
    rest = np.where(wrong_sign, rest + b, np.where(rest == 0, np.copysign(0 * b, b), rest))
    quotient = np.where(wrong_sign, quotient - 1, quotient)
    whole = np.floor(quotient)
    whole = np.where(quotient - whole > 0.5, whole + 1, whole)
    whole = np.where(quotient != 0, whole, quotient * quotient * a / b)
    return whole.astype(a.dtype), rest.astype(a.dtype)


def floor_divide(a: Lanes, b: Lanes) -> Lanes:
    """`//`: an integer by 0 is 0, the smallest by -1 too; a float by 0 is infinite or NaN."""
    if a.dtype.kind == "u":
        return np.floor_divide(a, b)
    if a.dtype.kind == "i":
        overflow = (b == -1) & (a == np.iinfo(a.dtype).min)
        return np.where(overflow, 0 * a, np.floor_divide(a, b))
    return np.where(b == 0, a / b, _float_divmod(a, b)[0])


def modulo(a: Lanes, b: Lanes) -> Lanes:
    """`%`: has the divisor's sign; by 0 it is 0 for integers, NaN for floats."""
    if a.dtype.kind in "iu":
        return np.remainder(a, b)
    return np.where(b == 0, a.dtype.type(np.nan), _float_divmod(a, b)[1])


def round_digits(x: Lanes, digits: Lanes) -> Lanes:
    """``round(x, n)`` as Numba computes it: in float64, through an int64 that holds what it can."""
    ten = np.float64(10)
    places = digits.astype(np.int64)
    first = ten ** np.where(places > 22, places - 22, np.abs(places))
    second = np.where(places > 22, 1e22, 1.0)
    wide = x.astype(np.float64)
    scaled = np.where(places < 0, wide / first, wide * first * second)
    whole = float_to_integer(np.rint(scaled), np.dtype(np.int64)).astype(np.float64)
    half = float_to_integer(np.rint(scaled / 2), np.dtype(np.int64)).astype(np.float64)
    whole = np.where(np.abs(scaled - whole) == 0.5, 2 * half, whole)
    found = np.where(places < 0, whole * first, whole / second / first)
    same = ~np.isfinite(wide) | (np.isinf(scaled) & (places >= 0))
    return np.where(same, wide, found).astype(x.dtype)


def power(base: Lanes, exponent: Lanes) -> Lanes:
    """`**` with operands of one kind, or a float base with an integer exponent."""
    if base.dtype.kind in "iu":
        return integer_power(base, exponent)
    return np.power(base, exponent.astype(base.dtype))


def _on_integers(function: Callable[[Lanes, Lanes], Lanes]) -> Callable[[Lanes, Lanes], Lanes]:
    """For a name that is an integer here, though lanes that have returned left a float in it."""

    def whole(values: Lanes) -> Lanes:
        if values.dtype.kind != "f":
            return values
        with np.errstate(invalid="ignore"):
            return values.astype(np.int64)

    def run(left: Lanes, right: Lanes) -> Lanes:
        return function(whole(left), whole(right))

    return run


#: operators by `operator` function; operands come cast to the overload's types
BINARY: dict[Callable[..., Any], Callable[[Lanes, Lanes], Lanes]] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: floor_divide,
    operator.mod: modulo,
    operator.pow: power,
    # NumPy and the GPU agree that a shift by all bits or more leaves 0, or the sign.
    operator.lshift: _on_integers(np.left_shift),
    operator.rshift: _on_integers(np.right_shift),
    operator.and_: _on_integers(np.bitwise_and),
    operator.or_: _on_integers(np.bitwise_or),
    operator.xor: _on_integers(np.bitwise_xor),
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
}
#: operators whose operands Numba converts to the type of the result before it computes
IN_RESULT_TYPE = {
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    operator.lshift,
    operator.rshift,
    operator.and_,
    operator.or_,
    operator.xor,
}
UNARY: dict[Callable[..., Any], Callable[[Lanes], Lanes]] = {
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.invert: np.invert,
}


def _elementwise(function: Callable[[float], float]) -> Callable[[Lanes], Lanes]:
    """A function of Python's `math` on lanes; at a pole it is infinite, as in libdevice."""

    def one(value: float) -> float:
        try:
            return function(value)
        except ValueError:
            if function is math.lgamma:
                return math.inf
            return math.copysign(math.inf, value) if value == 0 else math.nan
        except OverflowError:
            return math.inf

    def apply(values: Lanes) -> Lanes:
        dtype = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        return np.vectorize(one, otypes=[np.float64])(values.astype(np.float64)).astype(dtype)

    return apply


#: `math` functions by name
MATH: dict[str, Callable[..., Lanes]] = {
    **FUNCTIONS,
    **{name: getattr(np, name) for name in ("degrees", "radians", "isnan", "isinf", "isfinite")},
    "pow": power,
    "remainder": lambda a, b: a - b * np.rint(a / b),
    "erf": _elementwise(math.erf),
    "erfc": _elementwise(math.erfc),
    "gamma": _elementwise(math.gamma),
    "lgamma": _elementwise(math.lgamma),
    "ldexp": lambda values, exponents: np.ldexp(values, exponents.astype(np.int32)),
}
MATH_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}


def truth(values: Lanes) -> Lanes:
    """The lanes that count as true."""
    return values if values.dtype == np.bool_ else values != 0


def constant(value: Any, type_: Scalar) -> Lanes:
    """A uniform value: shape (1, 1)."""
    if isinstance(type_, types.Integer):
        bits = numpy_dtype(type_).itemsize * 8
        value = int(value) & ((1 << bits) - 1)
        if numpy_dtype(type_).kind == "i" and value >= 1 << (bits - 1):
            value -= 1 << bits
    lanes = np.empty((1, 1), numpy_dtype(type_))
    lanes[0, 0] = value
    return lanes
