"""What tensor cores make of their inputs, and one product for many programs.

From compute capability 8.0 on, tensor cores take float32 inputs as TF32: of the fraction's 23
bits they read the upper 10. That is Triton's default there, and so it is here: a product that has
to be float32 says `input_precision="ieee"` (or "tf32x3", three products of pieces). On older chips
the same `tl.dot` is plain float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.engine.triton.running.values import round_bf16

#: The bits of a float32 that TF32 keeps: sign, exponent, and 10 bits of the fraction.
_TF32_BITS = np.uint32(0xFFFFE000)


def cut_to_tf32(values: np.ndarray) -> np.ndarray:
    """float32 values as a tensor core reads them: the lower 13 bits of the fraction are dropped."""
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) & _TF32_BITS).view(np.float32)


#: How a float32 input is taken, by `input_precision`: the narrower format, and in how many
#: pieces. Two pieces hold twice the bits; products of two small pieces are left out.
_PIECES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "TF32": (cut_to_tf32, 1),
    "TF32x3": (cut_to_tf32, 2),
    "BF16x3": (round_bf16, 2),
    "BF16x6": (round_bf16, 3),
}


def _pieces(
    values: np.ndarray, narrow: Callable[[np.ndarray], np.ndarray], count: int
) -> list[np.ndarray]:
    """Narrow values that add up to `values`, but for what the last one cannot hold."""
    found = []
    with np.errstate(invalid="ignore"):  # the rest of an infinity is NaN
        for _ in range(count):
            piece = narrow(values)
            found.append(piece)
            values = np.where(np.isfinite(piece), values - piece, np.float32(0))
    return found


def product_of(a: np.ndarray, b: np.ndarray, precision: str) -> np.ndarray:
    """Batched product (programs or 1, ..., M, K) by (programs or 1, ..., K, N) of one dtype.

    Args:
        a, b: float32, float64 or int32.
        precision: `input_precision` as Triton names it; it matters to float32 alone.
    """
    if a.dtype.kind == "i":
        return _matmul(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    if a.dtype != np.float32 or precision not in _PIECES:
        return _matmul(a, b)
    narrow, count = _PIECES[precision]
    left, right = _pieces(a, narrow, count), _pieces(b, narrow, count)
    small = [(i, j) for i in range(count) for j in range(count - i) if i or j]
    rest: Any = 0
    for i, j in sorted(small, key=sum, reverse=True):  # the smallest products first
        rest = rest + _matmul(left[i], right[j])
    # an infinity times a piece of 0 is no number; the compiled code makes a 0 of it, too
    return np.nan_to_num(rest, nan=0.0, posinf=np.inf, neginf=-np.inf) + _matmul(left[0], right[0])


def _matmul(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where one side is the same for all programs, one large product."""
    if left.shape[0] == 1 and right.shape[0] == 1:
        return np.matmul(left, right)
    if right.shape[0] == 1 and left.ndim == 3:
        rows = left.reshape(-1, left.shape[-1])
        return (rows @ right[0]).reshape(*left.shape[:-1], right.shape[-1])
    return np.matmul(left, right)
