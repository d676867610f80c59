"""A product and a sum with one rounding, as GPUs compute what the compiler contracts."""

from __future__ import annotations

import numpy as np

#: Splits a float64 into two halves of 26 bits, whose products are exact.
_SPLITTER = 2.0**27 + 1


def multiply_add(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``x * y + z``, rounded once to the type of `z`.

    The factors have the type of `z`. A product of float16 or float32 is exact in float64; the sum
    is rounded there first, so one result in about 2**29 is the neighbour of the nearest one.
    """
    if z.dtype == np.float64:
        return _of_doubles(x, y, z)
    return _wide(x, y, z).astype(z.dtype)


def multiply_add_to_odd(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``x * y + z`` of float32, ready to be rounded to fewer bits: what is cut off stays visible.

    Where float32 cannot hold the result, it is the neighbour whose last bit is set.
    """
    wide = _wide(x, y, z)
    near = wide.astype(np.float32)
    bits = near.view(np.int32)
    cut = (near != wide) & np.isfinite(near) & (bits & 1 == 0)
    if cut.any():
        away = np.abs(near) > np.abs(wide)
        bits = np.where(cut, bits + np.where(away, -1, 1).astype(np.int32), bits)
    return bits.view(np.float32)


def _wide(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``x * y + z`` in float64, in as few passes over memory as their shapes allow."""
    factor, other = (x, y) if x.size >= y.size else (y, x)
    total = factor.astype(np.float64)
    for join, operand in ((np.multiply, other), (np.add, z)):
        total = join(total, operand, out=total if _covers(total, operand) else None)
    return total


def _covers(total: np.ndarray, other: np.ndarray) -> bool:
    """Whether the other array is no longer along any axis."""
    if other.shape == total.shape:
        return True
    return other.ndim <= total.ndim and all(
        a >= b for a, b in zip(total.shape[::-1], other.shape[::-1], strict=False)
    )


def _of_doubles(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """By exact transformations (Dekker's product, Knuth's sum); past 2**996 with two roundings."""
    with np.errstate(over="ignore", invalid="ignore"):
        product = x * y
        big_x, big_y = _SPLITTER * x, _SPLITTER * y
        high_x, high_y = big_x - (big_x - x), big_y - (big_y - y)
        low_x, low_y = x - high_x, y - high_y
        error = low_x * low_y - (((product - high_x * high_y) - low_x * high_y) - high_x * low_y)
        total = product + z
        part = total - product
        rest = (product - (total - part)) + (z - part)
        fused = total + (rest + error)
    differs = np.isfinite(fused) & (fused != total)  # where not, the total's zero keeps its sign
    return np.where(differs, fused, total)
