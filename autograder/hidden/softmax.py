"""Held-out ranges of lesson 07."""

from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, multiples
from course.exercises.softmax import (
    HALF,
    NEARLY_LEVEL,
    empty_rows,
    in_order,
    masked_runs,
    near_1000,
)


def _peaks(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """One element of each row is 200 above the others: in every part of a row, some row's is."""
    values = rng.normal(size=shape)
    rows = np.arange(shape[0])
    values[rows, (rows * shape[1] + int(rng.integers(shape[1]))) // shape[0]] += 200.0
    return values.astype(dtype)


def _far_below(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Logits near -30,000: below any number that might stand for the lowest one."""
    return (rng.standard_normal(shape) - 3e4).astype(dtype)


_TILES = (
    Draws(M=between(2, 4), N=between(300, 1500), draws={"x": _far_below}),
    Draws(M=1, N=1),
    Draws(M=between(2, 6), N=between(2, 40)),
    Draws(M=between(2, 6), N=between(1100, 3000)),
    # a last tile of one element, for every BLOCK: a loop that ends one element early misses it
    Draws(M=between(2, 6), N=choice(1025, 2049, 3073)),
    Draws(M=between(2, 5), N=between(200, 1500), draws={"x": empty_rows}),
    Draws(M=between(2, 5), N=between(1100, 3000), dtypes=HALF, draws={"x": near_1000}),
    Draws(M=between(2, 5), N=between(1100, 3000), draws={"x": near_1000}),
    Draws(M=between(2, 5), N=between(1700, 4000), draws={"x": masked_runs}),
    Draws(M=between(2, 5), N=between(2100, 4000), draws={"x": in_order}),
    Draws(M=between(2, 5), N=between(2100, 4000), dtypes=HALF, draws={"x": in_order}),
    Draws(M=8, N=between(2100, 4000), draws={"x": _peaks}),
    Draws(M=1, N=between(68000, 72000), dtypes=HALF, draws={"x": NEARLY_LEVEL}),
    Draws(traffic=True, M=between(8, 48), N=multiples(64, 2112, 3200), dtypes=HALF),
    Draws(traffic=True, M=between(8, 48), N=multiples(32, 2080, 3200)),
)

HIDDEN = {
    "softmax_three_pass": _TILES,
    "softmax_online": _TILES,
    "softmax_one_pass": (
        Draws(M=1, N=1),
        Draws(M=between(2, 20), N=between(2, 40)),
        Draws(M=multiples(2, 3, 21), N=between(1100, 2000)),
        Draws(M=between(3, 5), N=between(200, 1500), draws={"x": empty_rows}),
        Draws(M=7, N=between(500, 1000), dtypes=HALF, draws={"x": near_1000}),
        Draws(M=between(4, 8), N=between(500, 1000), draws={"x": near_1000}),
        Draws(M=5, N=between(1100, 2000), draws={"x": in_order}),
        Draws(M=between(2, 4), N=between(300, 900), draws={"x": _far_below}),
        Draws(M=5, N=between(1700, 4000), draws={"x": masked_runs}),
        Draws(traffic=True, M=between(16, 28), N=multiples(64, 2560, 4096), dtypes=HALF),
        Draws(traffic=True, M=between(16, 28), N=multiples(32, 2560, 4096)),
    ),
}
