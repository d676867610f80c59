"""What the hardware computes of elements and NumPy has no function for."""

from __future__ import annotations

import numpy as np

from course.engine.rounding import multiply_add, multiply_add_to_odd
from course.engine.triton.running.values import round_bf16


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
