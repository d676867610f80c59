"""Held-out ranges of lesson 03.

A guard can be right for whole blocks alone, or hide behind a rest: whole blocks, one element more
and one less have a range of their own, so that every seed has them.
"""

from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.spec.draws import FAINT, LARGE, any_size, described, integers, uniform

_TRANSPOSES = (
    Draws(M=between(2, 31), N=between(2, 31)),
    Draws(M=1, N=between(161, 200), draws={"A": integers(-1, 2)}),
    Draws(M=between(161, 200), N=1),
    Draws(M=leaving(1, 32, 33, 160), N=leaving(31, 32, 33, 160)),
    Draws(M=leaving(31, 32, 33, 160), N=leaving(1, 32, 33, 160), draws={"A": any_size}),
    # blocks enough to tell a few that do the work of all
    Draws(traffic=True, M=multiples(32, 288, 384), N=multiples(32, 288, 384)),
)

#: Nothing but zeros: what is not stored since it is 0 was never written.
_NOTHING = {"a": integers(0, 1)}
#: Products above 65,504, the largest float16: no rounding is right by chance.
_TOO_LARGE_FOR_HALF = {"a": uniform(300.0, 400.0), "b": uniform(300.0, 400.0)}
_TOO_FAR_DOWN = {**_TOO_LARGE_FOR_HALF, "b": uniform(-400.0, -300.0)}
#: Either factor small, and either beyond all that is visible, on both sides.
_FAINT_LARGE, _LARGE_FAINT = {"a": FAINT, "b": LARGE}, {"a": LARGE, "b": FAINT}


@described("the largest element of the first row is its first, of the last row its last")
def _peaks(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Negative numbers of which one a row is 0 or -1: first, last, and somewhere between."""
    values = rng.uniform(-9e4, -8e4, shape)
    rows = np.arange(shape[0])
    values[rows, rows * (shape[1] - 1) // max(1, shape[0] - 1)] = -(rows % 2)
    return values.astype(dtype)


@described("of every size from 1e-6 to 1e6")
def _far_apart(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Sums of neighbours that are small beside what stands before them."""
    return (rng.choice((-1.0, 1.0), shape) * np.exp2(rng.uniform(-20, 20, shape))).astype(dtype)


HIDDEN = {
    "shared_reverse": (
        Draws(B=between(2, 9), draws={"a": any_size}),
        Draws(traffic=True, B=between(33, 60), draws={"a": integers(-1, 2)}),
    ),
    "transpose": _TRANSPOSES,
    "transpose_padded": _TRANSPOSES,
    "stencil_halo": (
        Draws(N=between(2, 3)),
        Draws(N=between(4, 9), draws={"a": FAINT}),
        # what a difference of running sums keeps of small sums is little
        Draws(N=choice(128, 256), draws={"a": _far_apart}),
        # for every TPB a last block of one element, of 3, of one too few, and of all
        Draws(N=leaving(1, 1024, 1025, 4000)),
        Draws(N=leaving(3, 1024, 1025, 4000), draws={"a": LARGE}),
        Draws(N=leaving(1023, 1024, 1025, 4000), draws={"a": integers(-1, 2)}),
        # more than an int16 counts
        Draws(traffic=True, N=multiples(1024, 33792, 40960)),
    ),
    "block_sum": (
        Draws(N=between(2, 31), draws={"a": FAINT}),
        Draws(N=between(32, 600), draws=_NOTHING),
        Draws(N=between(33, 255)),
        Draws(N=leaving(1, 256, 257, 3000)),
        Draws(N=leaving(255, 256, 257, 3000)),
        # more than an int16 counts
        Draws(traffic=True, N=multiples(256, 33024, 40960), draws={"a": LARGE}),
    ),
    "row_sum": (
        # fewer rows than a block has warps, one more, and one less
        Draws(M=between(2, 9), N=between(1, 31), draws={"a": FAINT}),
        Draws(M=leaving(1, 32, 33, 70), N=leaving(1, 32, 33, 300), draws={"a": LARGE}),
        # one less than whole steps of two elements a lane, too
        Draws(M=leaving(31, 32, 31, 63), N=leaving(63, 64, 33, 300)),
        Draws(M=1, N=between(4100, 5000)),
        # more rows than columns
        Draws(M=between(33, 40), N=between(1, 31), draws=_NOTHING),
        # several blocks of 1,024 threads, a warp a row
        Draws(traffic=True, M=between(257, 300), N=multiples(256, 256, 512)),
    ),
    "dot": (
        Draws(N=between(2, 60), draws=_FAINT_LARGE),
        # fewer elements than any launch has threads
        Draws(N=leaving(1, 256, 257, 2000), draws=_LARGE_FAINT),
        # more elements than any launch has threads: one product a thread is not enough
        Draws(N=leaving(1, 1024, 40_002, 45_000), draws=_TOO_LARGE_FOR_HALF),
        Draws(N=leaving(1023, 1024, 33_000, 38_000), draws=_TOO_FAR_DOWN),
        # long enough for a quarter of the blocks to be seen doing the work of all
        Draws(traffic=True, N=multiples(1024, 163_840, 172_032)),
    ),
    "dot_any_block": (
        Draws(N=between(2, 400), THREADS=choice(32, 64)),
        Draws(N=leaving(1, 32, 401, 5000), THREADS=96, draws=_TOO_LARGE_FOR_HALF),
        Draws(N=leaving(31, 32, 401, 5000), THREADS=192, draws=_TOO_FAR_DOWN),
        Draws(N=between(401, 5000), THREADS=choice(160, 224), draws=_FAINT_LARGE),
        Draws(N=between(401, 5000), THREADS=128, draws=_LARGE_FAINT),
        Draws(N=between(2048, 5000), THREADS=256),
        # more than an int16 counts
        Draws(traffic=True, N=multiples(1024, 33792, 40960), THREADS=choice(96, 160)),
        Draws(traffic=True, N=multiples(1024, 8192, 20480), THREADS=choice(192, 224)),
    ),
    "warp_sum": (
        Draws(N=between(2, 31), draws={"a": FAINT}),
        Draws(N=between(32, 600), draws=_NOTHING),
        Draws(N=leaving(1, 32, 33, 3000)),
        Draws(N=leaving(31, 32, 33, 3000)),
        # whole warps and no whole blocks: the first lane of a warp is the first behind the end
        Draws(N=choice(96, 160, 352, 736, 1120, 2080)),
        # more than an int16 counts
        Draws(traffic=True, N=multiples(1024, 33792, 40960), draws={"a": LARGE}),
    ),
    "prefix_sum": (
        Draws(N=between(2, 31), draws={"a": integers(0, 2)}),
        Draws(N=between(32, 600), draws=_NOTHING),
        Draws(N=between(33, 255), draws={"a": FAINT}),
        Draws(N=leaving(1, 256, 257, 2000)),
        Draws(N=leaving(255, 256, 257, 2000), draws={"a": LARGE}),
        # more than an int16 counts
        Draws(traffic=True, N=multiples(256, 33024, 40960)),
    ),
    "histogram": (
        Draws(N=between(2, 63)),
        Draws(N=between(65, 300)),
        # over a thousand of one value for each block
        Draws(N=leaving(1, 512, 10_241, 15_000), draws={"data": integers(0, 1)}),
        Draws(N=leaving(511, 512, 1025, 5000), draws={"data": integers(63, 64)}),
        Draws(N=between(3000, 9000), draws={"data": integers(60, 64)}),
        # long enough for half of the 8 blocks to be seen doing the work of all
        Draws(traffic=True, N=multiples(2048, 229_376, 262_144)),
    ),
    "five_mistakes": (
        Draws(M=between(2, 5), N=between(2, 127), draws={"a": FAINT}),
        # below zero, far below, and fewer than a block has threads; more rows than columns
        Draws(M=between(65, 70), N=between(2, 60), draws={"a": uniform(-9e4, -8e4)}),
        Draws(M=between(2, 5), N=between(2, 127), draws={"a": uniform(-3.4e38, -3.3e38)}),
        Draws(M=between(2, 5), N=leaving(1, 128, 129, 700), draws={"a": uniform(-3.4e38, -3.3e38)}),
        Draws(M=5, N=leaving(127, 128, 129, 700), draws={"a": _peaks}),
        Draws(M=2, N=between(4100, 5000), draws={"a": uniform(2e38, 3e38)}),
        Draws(traffic=True, M=between(33, 40), N=multiples(128, 1152, 1536)),
    ),
    "debug_threads": (
        Draws(
            SLICE=multiples(32, 32, 512),
            THREADS=multiples(32, 256, 8192),
            M=between(2, 40),
            N=between(41, 200),
        ),
    ),
}
