"""Square tiles of matrices."""

from __future__ import annotations

import numpy as np


def tiles_turned(values: np.ndarray, side: int) -> np.ndarray:
    """(..., M, N), each tile of so many rows and columns transposed, with zeros past the ends."""
    *stack, rows, columns = values.shape
    padded = np.pad(values, [*[(0, 0)] * len(stack), (0, -rows % side), (0, -columns % side)])
    tiles = padded.reshape(*stack, padded.shape[-2] // side, side, -1, side).swapaxes(-3, -1)
    turned: np.ndarray = tiles.reshape(padded.shape)[..., :rows, :columns]
    return turned
