"""Held-out ranges of lesson 10."""

from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.exercises.attention import (
    ABYSS,
    ABYSS_IN_HALF,
    FAR_APART,
    FAR_BELOW,
    HALF,
    HUGE,
    ONE_SIGN,
    UNEVEN,
)
from course.spec.draws import FAINT, LARGE, Draw, described, half_zeros, integers, spread, uniform

#: With D = 16 every score is near -3,000: below any number that might stand for the lowest one.
_DEEP = {"q": integers(15, 18), "k": integers(-49, -46)}
#: Twice as large as the visible ones, and a score of -2e13.
_DEEPER = ABYSS | {"q": uniform(2.0**21, 2.0**21), "k": uniform(-(2.0**21), -(2.0**21))}
#: Scores that are 0, among others, whose keys are there all the same, and results that are 0.
SOME_ZERO = {"q": integers(-1, 2), "k": integers(-1, 2), "v": half_zeros}

#: Large numbers beside small ones, each way round; the scores are those of other cases.
LARGE_QUERIES = {"q": spread(3e4), "k": spread(3e-5), "v": FAINT}
LARGE_KEYS = {"q": spread(3e-5), "k": spread(3e4), "v": LARGE}
LARGE_HALF_QUERIES = {"q": spread(1e3), "k": spread(1e-3)}
LARGE_HALF_KEYS = {"q": spread(1e-3), "k": spread(1e3)}


@described("every score but the first key's, of a head or of a page, 0.69 below that one's")
def _first_above(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """For queries of ones. bfloat16 rounds each weight but the first, 0.5017, to 0.5."""
    keys = np.zeros(shape)
    keys[:, 0] = 0.6897 * shape[-1] ** -0.5
    return keys.astype(dtype)


COARSE_WEIGHTS = {"q": uniform(1.0, 1.0), "k": _first_above, "v": uniform(0.5, 1.0)}


#: Keys whose scores, for `COARSE_QUERY` and D = 16, are 0.68942 and 5.015.
COARSE_NEAR, COARSE_FAR = 0.16162109375, 1.17578125


@described("by heads: the greatest score first or last, of three or of all")
def _coarse_keys(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """For `COARSE_QUERY` and D = 16. Keys of -15 have no weight."""
    keys = np.full(shape, -15.0)
    keys[::4, 1:3] = keys[1::4, :2] = keys[2::4] = keys[3::4] = 0.0
    keys[::4, 0] = keys[1::4, -1] = COARSE_NEAR
    keys[2::4, 0] = keys[3::4, -1] = COARSE_FAR
    return keys.astype(dtype)


def coarse_values(*greatest: Any) -> Draw:
    """Values for keys of which those at `greatest`, indices with a column's or not, score most."""

    @described("1, and in every second column -1 for all keys but the one of the greatest score")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        values = np.ones(shape)
        values[..., ::2] = -1.0
        for index in greatest:
            values[index] = 1.0
        return values.astype(dtype)

    return draw


#: bfloat16 rounds the query, the greatest key of the third and the fourth head, their products and
#: their score, 5.015, down by 0.3 to 0.4 % each. Of the first two heads it rounds the weights of
#: two keys, 0.50187 each beside one of 1, to 0.5, and the sum to 2: where the greatest score is the
#: last, as the factor by which what was summed is rescaled.
COARSE_QUERY = uniform(1.06640625, 1.06640625)
_COARSE = {
    "q": COARSE_QUERY,
    "k": _coarse_keys,
    "v": coarse_values(np.s_[::2, 0], np.s_[1::2, -1]),
}


def _in_vain(apart: float) -> dict[str, Draw]:
    """Every second row of q meets one key of weight 1, and others too light for float16.

    A tile of them adds less than 2**-11 to the sum of weights: in float16 it stays 1. For the other
    rows all keys are alike, and weighted sums pass 65,504 as those of `ONE_SIGN` do.

    Args:
        apart: how far below the first score the others lie.
    """

    @described("every second row of zeros")
    def rows(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        values = np.ones(shape)
        values[..., ::2, :] = 0.0
        return values.astype(dtype)

    @described(f"every score but the first {apart:g} below it, or all of them 0")
    def keys(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        values = np.full(shape, -apart * shape[-1] ** -0.5)
        values[..., 0, :] = 0.0
        return values.astype(dtype)

    return {"q": rows, "k": keys, "v": ONE_SIGN["v"]}


#: For tiles of up to 256 keys, and of up to 128.
_IN_VAIN_256, _IN_VAIN_128 = _in_vain(13.2), _in_vain(12.5)

_ONE_QUERY = (
    Draws(H=2, N=1, D=16, GAP=0, draws=_DEEPER),
    Draws(H=2, N=1, D=16, GAP=0, dtypes=HALF, draws=ABYSS_IN_HALF),
    # a last chunk of one key, of one too few, and none that is not full; the largest D in float32
    Draws(H=2, N=leaving(1, 512, 513, 1025), D=128, GAP=4, draws=LARGE_QUERIES),
    Draws(H=2, N=leaving(511, 512, 511, 1023), D=32, GAP=0, draws=FAR_BELOW),
    Draws(H=2, N=512, D=16, GAP=0, dtypes=HALF, draws=SOME_ZERO),
    Draws(H=2, N=between(20, 150), D=16, GAP=0, dtypes=HALF, draws=_DEEP),
    Draws(H=between(1, 3), N=1, D=choice(16, 32), GAP=0),
    # more heads than a B200 has SMs, 148: a program for each SM has several
    Draws(
        H=between(150, 155),
        N=between(2, 70),
        D=choice(16, 32, 64),
        GAP=between(1, 9),
        draws=LARGE_KEYS,
    ),
    Draws(H=2, N=between(270, 700), D=128, GAP=16, dtypes=HALF, draws=LARGE_HALF_QUERIES),
    Draws(H=2, N=between(500, 900), D=choice(32, 64), GAP=0, draws=FAR_APART),
    Draws(H=2, N=between(20, 150), D=32, GAP=0, draws=FAR_BELOW),
    Draws(H=2, N=between(1501, 1800), D=32, GAP=0, dtypes=HALF, draws=_IN_VAIN_256),
    Draws(H=4, N=between(260, 300), D=16, GAP=0, dtypes=HALF, draws=_COARSE),
)

_TILED = (
    Draws(H=2, N=1, D=16, GAP=0, draws=_DEEPER),
    Draws(H=2, N=1, D=16, GAP=0, dtypes=HALF, draws=ABYSS_IN_HALF),
    # a last tile of one row, of one too few, and none that is not full
    Draws(H=2, N=leaving(1, 128, 129, 129), D=32, GAP=4, dtypes=HALF),
    # the largest D in float32
    Draws(H=2, N=127, D=64, GAP=0, draws=LARGE_QUERIES),
    Draws(H=2, N=128, D=16, GAP=0, dtypes=HALF, draws=SOME_ZERO),
    Draws(H=1, N=between(20, 150), D=16, GAP=0, dtypes=HALF, draws=_DEEP),
    Draws(H=between(1, 3), N=1, D=choice(16, 32), GAP=0),
    # more tiles than a B200 has SMs
    Draws(
        H=between(150, 155),
        N=between(17, 66),
        D=choice(16, 32),
        GAP=between(1, 9),
        draws=LARGE_KEYS,
    ),
    Draws(H=2, N=between(129, 190), D=128, GAP=16, dtypes=HALF, draws=LARGE_HALF_KEYS),
    Draws(H=1, N=between(200, 300), D=32, GAP=0, draws=FAR_APART),
    Draws(H=1, N=between(20, 150), D=32, GAP=0, draws=FAR_BELOW),
    Draws(H=1, N=leaving(1, 128, 1025, 1153), D=16, GAP=0, dtypes=HALF, draws=_IN_VAIN_128),
    Draws(H=4, N=between(140, 190), D=16, GAP=0, dtypes=HALF, draws=_COARSE),
)

HIDDEN = {
    "attend_one_query": (
        *_ONE_QUERY,
        Draws(H=1, N=between(100, 200), D=64, GAP=0, dtypes=HALF, draws=HUGE),
        # where there is one key, a query or an output that is asked for twice costs in every draw
        Draws(H=between(3, 6), N=1, D=32, GAP=0),
        Draws(
            traffic=True,
            H=between(2, 3),
            N=multiples(128, 640, 1024),
            D=64,
            GAP=0,
            dtypes=HALF,
        ),
        Draws(traffic=True, H=2, N=multiples(128, 640, 1024), D=64, GAP=0),
    ),
    "flash_forward": (
        *_TILED,
        Draws(H=1, N=between(100, 200), D=64, GAP=0, dtypes=HALF, draws=HUGE),
        Draws(traffic=True, H=2, N=multiples(128, 256, 384), D=64, GAP=0, dtypes=HALF),
        Draws(traffic=True, H=between(6, 8), N=multiples(64, 192, 320), D=32, GAP=0),
    ),
    "flash_causal": (
        *_TILED,
        Draws(H=1, N=between(100, 200), D=64, GAP=8, dtypes=HALF, draws=HUGE),
        # some query's weight is all on one of the first keys, a thousand before it
        Draws(H=1, N=between(1131, 1160), D=16, GAP=0, draws=FAR_APART),
        Draws(traffic=True, H=1, N=multiples(128, 384, 640), D=64, GAP=0, dtypes=HALF),
        Draws(traffic=True, H=between(6, 8), N=multiples(64, 192, 320), D=32, GAP=0),
    ),
    "flash_decode": (
        *_ONE_QUERY,
        # no power of two of chunks: the greatest score of one that does not exist is not 0
        Draws(H=1, N=between(1290, 1500), D=32, GAP=0, draws=FAR_BELOW),
        Draws(H=1, N=between(100, 200), D=64, GAP=8, dtypes=HALF, draws=HUGE),
        Draws(
            traffic=True, H=between(9, 12), N=multiples(512, 1024, 1536), D=64, GAP=0, dtypes=HALF
        ),
        Draws(traffic=True, H=1, N=multiples(512, 18432, 20480), D=64, GAP=0, dtypes=HALF),
    ),
    "flash_gqa": (
        Draws(G=3, R=between(1, 4), N=1, D=choice(16, 32), GAP=0),
        Draws(G=2, R=3, N=1, D=16, GAP=0, draws=_DEEPER),
        Draws(G=2, R=3, N=1, D=16, GAP=0, dtypes=HALF, draws=ABYSS_IN_HALF),
        Draws(G=2, R=choice(2, 3), N=129, D=64, GAP=0, dtypes=HALF),
        Draws(G=2, R=1, N=256, D=16, GAP=0, draws=SOME_ZERO),
        # more groups than a B200 has SMs
        Draws(
            G=between(149, 152),
            R=choice(2, 3),
            N=between(17, 45),
            D=32,
            GAP=between(1, 9),
            draws=LARGE_KEYS,
        ),
        # the largest D in float32
        Draws(G=2, R=3, N=between(17, 70), D=64, GAP=0, draws=LARGE_QUERIES),
        Draws(
            G=2,
            R=choice(1, 4, 12),
            N=between(129, 300),
            D=128,
            GAP=16,
            dtypes=HALF,
        ),
        Draws(G=2, R=between(2, 7), N=between(300, 500), D=32, GAP=0, draws=UNEVEN),
        Draws(G=1, R=between(2, 7), N=between(20, 150), D=32, GAP=0, draws=FAR_BELOW),
        Draws(G=1, R=between(2, 7), N=between(20, 150), D=16, GAP=0, dtypes=HALF, draws=_DEEP),
        Draws(G=1, R=between(2, 7), N=between(100, 200), D=64, GAP=8, dtypes=HALF, draws=HUGE),
        Draws(
            # the last tile of the longest case has one key, too; as many heads as the task names
            G=1,
            R=32,
            N=leaving(1, 128, 1153, 1409),
            D=16,
            GAP=0,
            dtypes=HALF,
            draws=_IN_VAIN_256,
        ),
        Draws(G=4, R=between(2, 3), N=between(260, 300), D=16, GAP=0, dtypes=HALF, draws=_COARSE),
        Draws(
            traffic=True,
            G=4,
            R=choice(4, 8, 16),
            N=multiples(128, 256, 384),
            D=64,
            GAP=0,
            dtypes=HALF,
        ),
    ),
    "debug_attention": (
        # fewer keys than a float16 counts, and more
        Draws(
            STRIDE=between(3000, 200_000),
            N=multiples(16, 16, 4096),
            BC=choice(2, 4, 8, 16),
            H=24,
            G=choice(2, 3, 4, 6),
            HEAD=between(12, 23),
        ),
        Draws(
            STRIDE=choice(4096, 16_384, 131_072),
            N=multiples(16, 33_000, 60_000),
            BC=choice(2, 4, 8, 16),
            H=choice(12, 24),
            G=choice(2, 3, 4, 6),
            HEAD=between(1, 11),
        ),
    ),
}
