"""What the hardware computes of elements and NumPy has no function for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from course.engine.functions import FUNCTIONS
from course.engine.rounding import multiply_add, multiply_add_to_odd
from course.engine.triton.running.values import Unsupported, round_bf16


def fused(x: np.ndarray, y: np.ndarray, z: np.ndarray, bf16: bool) -> np.ndarray:
    """``x * y + z``, rounded once to the element's type."""
    return round_bf16(multiply_add_to_odd(x, y, z)) if bf16 else multiply_add(x, y, z)


def truncated_division(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounds towards zero, as the compiled division does; by 0 it is -1, as on the hardware."""
    zero = b == 0
    safe = np.where(zero, 1, b) if zero.any() else b
    quotient = (a - np.fmod(a, safe)) // safe
    return np.where(zero, -1, quotient) if zero.any() else quotient


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sign of the dividend, as in C; by 0 it is the dividend."""
    zero = b == 0
    return np.where(zero, a, np.fmod(a, np.where(zero, 1, b))) if zero.any() else np.fmod(a, b)


def high_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper half of the product of unsigned integers."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"u{a.dtype.itemsize * 2}")
        return (a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    carry = a1 * b0 + (a0 * b0 >> half)
    return a1 * b1 + (carry >> half) + ((carry & low) + a0 * b1 >> half)


def erf(values: np.ndarray) -> np.ndarray:
    """The error function."""
    return torch.from_numpy(np.ascontiguousarray(values)).erf().numpy()


def erfc(values: np.ndarray) -> np.ndarray:
    """1 minus the error function, without what the subtraction would lose."""
    return torch.from_numpy(np.ascontiguousarray(values)).erfc().numpy()


def library_function(symbol: str) -> Callable[..., np.ndarray]:
    """A function of NVIDIA's libdevice, where NumPy has one too."""
    name = symbol.removeprefix("__nv_")
    found = _LIBDEVICE.get(name.removesuffix("f")) or _LIBDEVICE.get(name)
    if found is None:
        raise Unsupported(f"the library function {symbol}")
    return found


_LIBDEVICE: dict[str, Callable[..., np.ndarray]] = {
    **FUNCTIONS,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "erf": erf,
    "erfc": erfc,
    "rint": np.rint,
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "isnan": lambda x: np.isnan(x).astype(np.int32),
    "isinf": lambda x: np.isinf(x).astype(np.int32),
}
