"""Counting and turning bits, on lanes."""

from __future__ import annotations

import numpy as np


def _patterns(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values' bit patterns as uint64, and how many bits they have."""
    size = values.dtype.itemsize
    return values.view(np.dtype(f"u{size}")).astype(np.uint64), 8 * size


def popc(values: np.ndarray) -> np.ndarray:
    """How many bits are set."""
    return np.bitwise_count(_patterns(values)[0]).astype(values.dtype)


def clz(values: np.ndarray) -> np.ndarray:
    """How many leading bits are 0."""
    bits, width = _patterns(values)
    for step in (1, 2, 4, 8, 16, 32):  # every bit below the highest is set, too
        bits = bits | bits >> np.uint64(step)
    return (width - np.bitwise_count(bits).astype(np.int64)).astype(values.dtype)


def ffs(values: np.ndarray) -> np.ndarray:
    """The place of the lowest set bit, from 1; 0 where none is."""
    bits, _ = _patterns(values)
    below = np.bitwise_count(~bits & (bits - np.uint64(1)))
    return np.where(bits == 0, 0, below + 1).astype(np.uint32)


def brev(values: np.ndarray) -> np.ndarray:
    """The bits in reverse order."""
    bits, width = _patterns(values)
    result = np.zeros_like(bits)
    for step in range(width):
        bit = (bits >> np.uint64(step)) & np.uint64(1)
        result |= bit << np.uint64(width - 1 - step)
    return result.astype(values.dtype)
