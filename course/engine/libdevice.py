"""NVIDIA's libdevice by its functions' names (CUDA libdevice User's Guide), in NumPy and torch.

Arithmetic that is rounded otherwise than to the nearest is not here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from course.engine import bits
from course.engine.conversion import float_to_integer
from course.engine.functions import FUNCTIONS
from course.engine.rounding import multiply_add

Array = np.ndarray[Any, Any]
Function = Callable[..., Array]


@lru_cache(1 << 10)
def function(name: str) -> Function | None:
    """What a function computes, by its name without `__nv_`; None where it is not known here."""
    found = _CONVERTS.fullmatch(name)
    if found is not None:
        return _conversion(*found.groups())
    found = _TO_NEAREST.fullmatch(name)
    if found is not None:
        return _ARITHMETIC[found[1]]
    plain = name.removeprefix("fast_")
    return FUNCTIONS_HERE.get(plain) or FUNCTIONS_HERE.get(_SUFFIX.sub("", plain))


#: of the same function in another type
_SUFFIX = re.compile(r"(?:ll|f|d)$")


# ---------------------------------------------------------------- conversions and roundings

_CONVERTS = re.compile(r"(float|double|int|uint|ll|ull)2(float|double|int|uint|ll|ull)_(r[nzud])")
_TYPES = {
    name: np.dtype(code)
    for name, code in zip(
        ("float", "double", "int", "uint", "ll", "ull"),
        ("f4", "f8", "i4", "u4", "i8", "u8"),
        strict=True,
    )
}
_ROUNDED = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}


def _conversion(source: str, target: str, rounding: str) -> Function | None:
    before, after = _TYPES[source], _TYPES[target]
    if before.kind == "f" and after.kind != "f":
        return lambda x: float_to_integer(_ROUNDED[rounding](x), after)
    if rounding != "rn":
        return None
    return lambda x: _as(x, before).astype(after)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x)."""
    return np.reciprocal(np.sqrt(x))


_ARITHMETIC: dict[str, Function] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rcp": np.reciprocal, "rsqrt": rsqrt, "ma": multiply_add, "maf": multiply_add,
}  # fmt: skip
_TO_NEAREST = re.compile(rf"[fd]({'|'.join(_ARITHMETIC)})_rn")


# ---------------------------------------------------------------- bits and integers


def _as(values: Array, dtype: Any) -> Array:
    """The same bits, as another type of the same size."""
    return np.ascontiguousarray(values).view(dtype)


def _unsigned(values: Array) -> Array:
    return _as(values, f"u{values.dtype.itemsize}")


def _of_unsigned(compute: Function) -> Function:
    return lambda *given: compute(*map(_unsigned, given))


def high_product(a: Array, b: Array) -> Array:
    """The upper half of the product of integers of one type."""
    size = a.dtype.itemsize * 8
    if size < 64:
        wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(size)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    x, y = _unsigned(a), _unsigned(b)
    a1, a0, b1, b0 = x >> half, x & low, y >> half, y & low
    carry = a1 * b0 + (a0 * b0 >> half)
    high = a1 * b1 + (carry >> half) + ((carry & low) + a0 * b1 >> half)
    if a.dtype.kind == "i":
        zero = np.uint64(0)
        high = high - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return _as(high, a.dtype)


def permuted_bytes(low: Array, high: Array, picks: Array) -> Array:
    """Four of eight bytes, by the lower bits of four nibbles; bit 3 spreads the byte's sign."""
    x, y, which = (_unsigned(part).astype(np.uint64) for part in (low, high, picks))
    both = x | y << np.uint64(32)
    made = np.zeros(np.broadcast_shapes(both.shape, which.shape), np.uint64)
    for place in range(4):
        nibble = which >> np.uint64(4 * place)
        byte = both >> (nibble & np.uint64(7)) * np.uint64(8) & np.uint64(0xFF)
        sign = (byte >> np.uint64(7)) * np.uint64(0xFF)
        byte = np.where(nibble & np.uint64(8) != 0, sign, byte)
        made |= byte << np.uint64(8 * place)
    return made.astype(np.uint32).view(low.dtype)


def _low_24(values: Array) -> Array:
    """The value of the lower 24 bits."""
    return values << 8 >> 8


def _mean(up: int, a: Array, b: Array) -> Array:
    return ((a.astype(np.int64) + b.astype(np.int64) + up) >> 1).astype(a.dtype)


def _distance(a: Array, b: Array, more: Array) -> Array:
    return (np.abs(a.astype(np.int64) - b.astype(np.int64)) + more).astype(a.dtype)


_INTEGERS: dict[str, Function] = {
    "abs": np.abs, "llabs": np.abs, "max": np.maximum, "min": np.minimum,
    "llmax": np.maximum, "llmin": np.minimum,
    **{f"{u}{name}": _of_unsigned(rule)
       for u in ("u", "ull") for name, rule in (("max", np.maximum), ("min", np.minimum))},
    "popc": bits.popc, "clz": bits.clz, "ffs": bits.ffs, "brev": bits.brev,
    "byte_perm": permuted_bytes,
    "mulhi": high_product, "mul64hi": high_product,
    "umulhi": _of_unsigned(high_product), "umul64hi": _of_unsigned(high_product),
    "mul24": lambda a, b: _low_24(a) * _low_24(b),
    "umul24": _of_unsigned(lambda a, b: _low_24(a) * _low_24(b)),
    "sad": _distance, "usad": _of_unsigned(_distance),
    "hadd": partial(_mean, 0), "rhadd": partial(_mean, 1),
    "uhadd": _of_unsigned(partial(_mean, 0)), "urhadd": _of_unsigned(partial(_mean, 1)),
    "float_as_int": lambda x: _as(x, np.int32), "int_as_float": lambda x: _as(x, np.float32),
    "float_as_uint": lambda x: _as(x, np.uint32), "uint_as_float": lambda x: _as(x, np.float32),
    "double_as_longlong": lambda x: _as(x, np.int64),
    "longlong_as_double": lambda x: _as(x, np.float64),
    "double2loint": lambda x: _as(x, np.int64).astype(np.int32),
    "double2hiint": lambda x: (_as(x, np.int64) >> 32).astype(np.int32),
    "hiloint2double": lambda high, low: _as(
        high.astype(np.int64) << 32 | _unsigned(low).astype(np.int64), np.float64
    ),
}  # fmt: skip


# ---------------------------------------------------------------- floats


def _of_torch(name: str) -> Function:
    def compute(values: Array) -> Array:
        import torch

        made: Array = getattr(torch.special, name)(torch.from_numpy(np.array(values))).numpy()
        return made

    return compute


def _one_by_one(compute: Callable[..., float]) -> Function:
    def guarded(*given: float) -> float:
        try:
            return compute(*given)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    each = np.vectorize(guarded, otypes=[np.float64])
    return lambda *given: each(*given).astype(given[0].dtype)


def _nearest_integer(x: Array) -> Array:
    """Halves away from zero."""
    size, whole = np.abs(x), 1 / np.finfo(x.dtype).eps
    near = np.trunc(x + np.copysign(x.dtype.type(0.5), x))
    return np.where(size < 0.5, np.copysign(x.dtype.type(0), x), np.where(size > whole, x, near))


def _of_half_turns(compute: Function) -> Function:
    return lambda x: compute(np.pi * np.remainder(x.astype(np.float64), 2)).astype(x.dtype)


def _length(*sides: Array) -> Array:
    squares = sum(side.astype(np.float64) ** 2 for side in sides)
    return np.asarray(np.sqrt(squares)).astype(sides[0].dtype)


def _says(test: Function) -> Function:
    return lambda x: test(x).astype(np.int32)


def _exponent(x: Array) -> Array:
    """Of 2, in front of a number from 1 to 2."""
    odd = np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, x))
    return np.where((x == 0) | ~np.isfinite(x), odd, np.frexp(x)[1] - 1).astype(x.dtype)


def _whole_exponent(x: Array) -> Array:
    limits = np.iinfo(np.int32)
    odd = np.where(np.isinf(x), limits.max, limits.min)
    return np.where((x == 0) | ~np.isfinite(x), odd, np.frexp(x)[1] - 1).astype(np.int32)


_FLOATS: dict[str, Function] = {
    **FUNCTIONS,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "pow": np.power, "powi": lambda x, n: np.power(x, n.astype(x.dtype)),
    "rsqrt": rsqrt,
    "cbrt": np.cbrt, "rcbrt": lambda x: np.reciprocal(np.cbrt(x)),
    "erf": _of_torch("erf"), "erfc": _of_torch("erfc"), "erfinv": _of_torch("erfinv"),
    "erfcx": _of_torch("erfcx"), "normcdf": _of_torch("ndtr"), "normcdfinv": _of_torch("ndtri"),
    "erfcinv": lambda x: -_of_torch("ndtri")(x / 2) / x.dtype.type(math.sqrt(2)),
    "lgamma": _of_torch("gammaln"), "tgamma": _one_by_one(math.gamma),
    "j0": _of_torch("bessel_j0"), "j1": _of_torch("bessel_j1"),
    "y0": _of_torch("bessel_y0"), "y1": _of_torch("bessel_y1"),
    "cyl_bessel_i0": _of_torch("i0"), "cyl_bessel_i1": _of_torch("i1"),
    "rint": np.rint, "nearbyint": np.rint, "round": _nearest_integer,
    "llrint": lambda x: float_to_integer(np.rint(x), np.dtype(np.int64)),
    "llround": lambda x: float_to_integer(_nearest_integer(x), np.dtype(np.int64)),
    "fmin": np.fmin, "fmax": np.fmax, "fma": multiply_add, "fdivide": np.divide,
    "fdim": lambda x, y: np.where(x <= y, x.dtype.type(0), x - y),
    "saturate": lambda x: np.fmin(np.fmax(x, x.dtype.type(0)), x.dtype.type(1)),
    "remainder": _one_by_one(math.remainder),
    "nextafter": np.nextafter, "ldexp": np.ldexp, "scalbn": np.ldexp,
    "logb": _exponent, "ilogb": _whole_exponent,
    "sinpi": _of_half_turns(np.sin), "cospi": _of_half_turns(np.cos),
    **dict.fromkeys(("norm3d", "norm4d"), _length),
    **dict.fromkeys(("rhypot", "rnorm3d", "rnorm4d"), lambda *x: np.reciprocal(_length(*x))),
    "isnan": _says(np.isnan), "isinf": _says(np.isinf), "isfinite": _says(np.isfinite),
    "finite": _says(np.isfinite), "signbit": _says(np.signbit),
}  # fmt: skip
FUNCTIONS_HERE: dict[str, Function] = {**_FLOATS, **_INTEGERS}
