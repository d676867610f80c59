"""Held-out ranges of lesson 07."""

from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.exercises.softmax import (
    HALF,
    NEARLY_LEVEL,
    empty_rows,
    in_order,
    masked_runs,
    near_1000,
)
from course.spec.draws import LOWEST_HALF, described, far_down, uniform


@described("one element of each row 200 above the others: the first, the last, or between")
def _peaks(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """One element of each row is 200 above the others: in every part of a row, some row's is."""
    values = rng.normal(size=shape)
    places = (np.arange(shape[0]) + rng.random(shape[0])) * shape[1] // shape[0]
    places[0], places[-1] = 0, shape[1] - 1
    values[np.arange(shape[0]), places.astype(int)] += 200.0
    return values.astype(dtype)


@described("each row of three different numbers, its largest many times")
def _ties(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    return rng.integers(-1, 2, shape).astype(dtype)


@described("near -30,000")
def _far_below(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Logits near -30,000: below some numbers that might stand for the lowest one."""
    return (rng.standard_normal(shape) - 3e4).astype(dtype)


@described("rows of two numbers, the larger once, first or last; else near 1000")
def _coarse(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """The first four rows; bfloat16 rounds an exponential of 0.50185, or a difference of 4.0117.

    Where the larger number comes last, it is the factor by which the sum so far is rescaled.
    """
    values = near_1000(rng, shape, np.dtype(np.float64))
    values[:4] = np.array([-0.689453125, -4.01171875, 0.0, 0.0])[:, None]
    values[:2, 0] = 0.0
    values[2:4, -1] = 0.689453125, 4.01171875
    return values.astype(dtype)


#: Rows without a number above zero, far down, and shorter than any BLOCK: neither what a maximum
#: starts from nor what stands for elements past the end may be above them. An odd number of three
#: or more is no power of two, so that there are such elements.
_DOWN = (
    Draws(M=between(2, 4), N=leaving(1, 2, 3, 199), draws={"x": _far_below}),
    Draws(M=between(2, 4), N=leaving(1, 2, 3, 199), draws={"x": far_down}),
    Draws(M=between(2, 4), N=leaving(1, 2, 3, 199), dtypes=HALF, draws={"x": LOWEST_HALF}),
)
#: Differences for which float16 has steps of 1/128, of weights that it still tells apart.
_WIDE = Draws(M=between(4, 6), N=between(24, 40), dtypes=HALF, draws={"x": uniform(-6.0, 6.0)})
_TILES = (
    *_DOWN,
    Draws(M=between(2, 4), N=between(1100, 1500), draws={"x": far_down}),
    Draws(M=1, N=1),
    Draws(M=between(65, 90), N=between(2, 40)),
    _WIDE,
    # whole tiles, for every BLOCK: no mask is needed
    Draws(M=between(2, 4), N=choice(1024, 2048), draws={"x": _ties}),
    Draws(M=between(2, 6), N=between(1100, 3000)),
    # a last tile of one element, for every BLOCK, the largest by far in the last row: a loop that
    # ends one element early misses it
    Draws(M=between(2, 6), N=choice(1025, 2049, 3073), draws={"x": _peaks}),
    Draws(M=between(2, 5), N=between(200, 1500), draws={"x": empty_rows}),
    Draws(M=between(6, 7), N=between(1100, 3000), dtypes=HALF, draws={"x": _coarse}),
    Draws(M=between(2, 5), N=between(1100, 3000), draws={"x": near_1000}),
    Draws(M=between(2, 5), N=between(1700, 4000), draws={"x": masked_runs}),
    Draws(M=between(2, 5), N=between(2100, 4000), draws={"x": in_order}),
    Draws(M=between(2, 5), N=between(2100, 4000), dtypes=HALF, draws={"x": in_order}),
    Draws(M=8, N=between(2100, 4000), draws={"x": _peaks}),
    # one tile too few by one element
    Draws(M=between(2, 4), N=choice(1023, 2047), draws={"x": uniform(-90.0, -80.0)}),
    Draws(M=1, N=between(70001, 73000), dtypes=HALF, draws={"x": NEARLY_LEVEL}),
    Draws(traffic=True, M=between(8, 48), N=multiples(64, 2112, 3200), dtypes=HALF),
    Draws(traffic=True, M=between(8, 48), N=multiples(32, 2080, 3200)),
)

HIDDEN = {
    "softmax_three_pass": _TILES,
    "softmax_online": _TILES,
    "softmax_one_pass": (
        Draws(M=1, N=1),
        # more rows than columns
        Draws(M=between(25, 40), N=between(2, 20)),
        Draws(M=multiples(2, 3, 21), N=between(1100, 2000)),
        Draws(M=between(3, 5), N=between(200, 1500), draws={"x": empty_rows}),
        Draws(M=7, N=between(500, 1000), dtypes=HALF, draws={"x": _coarse}),
        Draws(M=between(4, 8), N=between(500, 1000), draws={"x": near_1000}),
        Draws(M=5, N=between(1100, 2000), draws={"x": in_order}),
        *_DOWN,
        _WIDE,
        Draws(M=leaving(1, 8, 9, 17), N=choice(257, 513, 1025), draws={"x": uniform(-90.0, -80.0)}),
        Draws(M=leaving(7, 8, 7, 15), N=choice(255, 511, 1023), draws={"x": _ties}),
        Draws(M=8, N=choice(256, 512, 1024), draws={"x": _peaks}),
        Draws(M=5, N=between(1700, 4000), draws={"x": masked_runs}),
        Draws(traffic=True, M=between(16, 28), N=multiples(64, 2560, 4096), dtypes=HALF),
        Draws(traffic=True, M=between(16, 28), N=multiples(32, 2560, 4096)),
    ),
    "debug_softmax": (
        # a first tile that is masked whole, one that just is not, and more than one
        Draws(N=between(300, 900), BLOCK=64, MASKED=64),
        Draws(N=between(300, 900), BLOCK=choice(128, 256), MASKED=between(1, 127)),
        Draws(N=between(300, 900), BLOCK=choice(16, 32, 64), MASKED=between(65, 299)),
    ),
}

#: Sizes of which no held-out case has more than the visible ones, and why.
NOT_BEYOND = {"softmax_one_pass": {"N": "the task stops at 4,096: a row is one tile's"}}
