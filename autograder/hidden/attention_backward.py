"""Held-out ranges of lesson 11."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, multiples
from autograder.hidden.attention import COARSE_WEIGHTS, LARGE_KEYS, LARGE_QUERIES, SOME_ZERO
from course.exercises.attention import ABYSS
from course.exercises.attention_backward import (
    CLIMBING,
    FAR_ABOVE,
    FAR_APART,
    FAR_BELOW,
    HALF,
    HALF_KV,
    HALF_Q,
    HALF_ROWS,
    ONE_SIGN,
    OPPOSED,
    TURNING_KEYS,
    TURNING_QUERIES,
    first_key,
    spread,
)
from course.spec.draws import FAINT, LARGE, Draw, described, half_zeros, integers, uniform


@described("rows of one sum, below zero in even heads and above in odd ones")
def _of_one_sum(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Every row has the same numbers in another order: keys that differ, and scores that do not."""
    values = np.empty(shape)
    values[:] = 18.0 + 4.0 * np.arange(shape[-1])
    values = rng.permuted(values, axis=-1)
    values[::2] *= -1
    return values.astype(dtype)


#: With D = 16 every score is -3,072 or 3,072: beyond any number that might stand for the lowest
#: one, or for those that have no weight.
_DEEP = {"q": uniform(16.0, 16.0), "k": _of_one_sum}


#: bfloat16 rounds each of these to 1, by nearly 0.4 %, and all terms of a gradient alike. As much
#: it rounds a weight of 1 / 255, the first key's dp, 1024 times one of these, and its ds: all
#: weights are equal, and no other key has a dp, but for the third's, which makes of delta a number
#: that is rounded by as much.
_BETWEEN = (1.0033, 1.0038)
_NEAR_0 = uniform(-1e-4, 1e-4)


@described("16 in the first row of a head, 0.0605 in the third, 0 in the others")
def _few_values(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    values = np.zeros(shape)
    values[..., 0, :], values[..., 2, :] = 16.0, 0.0605
    return values.astype(dtype)


@described("by columns: near 1 in the first row of a head, 1 there, 64 in the second row; else 0")
def _few_keys(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Where the first key is 1, ds alone makes dq; where the second is 64, whose dp is 0, delta."""
    keys = np.zeros(shape)
    keys[..., 0, ::3] = rng.uniform(*_BETWEEN, keys[..., 0, ::3].shape)
    keys[..., 0, 1::3], keys[..., 1, 2::3] = 1.0, 64.0
    return keys.astype(dtype)


_COARSE_QUERIES: dict[str, Draw] = {
    "q": uniform(*_BETWEEN), "k": _NEAR_0, "v": _few_values, "dout": uniform(*_BETWEEN)
}  # fmt: skip
_COARSE_KEYS: dict[str, Draw] = _COARSE_QUERIES | {"q": _NEAR_0, "k": _few_keys}

#: As the visible ones, but each query's delta is beyond what float16 holds, and no sum of dk is.
_TURNING_QUERIES = TURNING_QUERIES | {"v": first_key(1.0, 0.55, "half as large, but the first")}


@described("64 to 72 in the first half of the rows, -8 to 0 in the second")
def _mostly_above(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    values = rng.uniform(64.0, 72.0, shape)
    values[..., shape[-2] // 2 :, :] -= 72.0
    return values.astype(dtype)


_TURNING_KEYS = TURNING_KEYS | {"v": _mostly_above}


def _tiled(
    half: Mapping[str, str],
    beyond: Mapping[str, Draw],
    coarse: Mapping[str, Draw] = FAR_ABOVE,
    outer: tuple[str, ...] = ("v", "dout"),
) -> tuple[Draws, ...]:
    """Ranges of an exercise whose float16 arrays are `half`.

    `beyond` draws sums that float16 cannot hold, `coarse` scores that it rounds too much. `outer`
    names the arrays beside q and k.
    """
    return (
        # a score of 0, and the logarithm of 1
        Draws(H=3, N=1, D=16, causal=0, dtypes=half, draws={"q": integers(0, 1)}),
        Draws(
            H=2,
            N=between(33, 47),
            D=choice(16, 32),
            causal=0,
            draws={**FAR_BELOW, outer[-1]: LARGE},
        ),
        *(
            Draws(
                H=1,
                N=between(20, 31),
                D=choice(16, 32),
                causal=causal,
                draws=dict.fromkeys(outer, size) | uneven,
            )
            for causal, uneven, size in ((0, LARGE_QUERIES, FAINT), (1, LARGE_KEYS, LARGE))
        ),
        # a last tile of one row: a loop that ends one row early leaves it out
        Draws(H=1, N=choice(65, 129), D=16, causal=0, draws=FAR_ABOVE),
        # products of the causal way, too, are float32 and not TF32
        Draws(H=1, N=between(130, 150), D=choice(16, 32), causal=1, draws=FAR_APART),
        # float16 rounds such a score by up to 1 / 32, and its weight by 3 %
        Draws(H=1, N=between(20, 31), D=32, causal=1, dtypes=half, draws=coarse),
        Draws(H=1, N=choice(65, 129), D=64, causal=1, dtypes=half),
        Draws(
            H=2,
            N=between(129, 190),
            D=choice(16, 32, 64),
            causal=choice(0, 1),
            dtypes=half,
            draws=SOME_ZERO | {outer[-1]: half_zeros},
        ),
        Draws(H=1, N=between(65, 120), D=64, causal=1, dtypes=half, draws=FAR_APART),
        Draws(H=1, N=choice(128, 144), D=64, causal=0, dtypes=half, draws=beyond),
        # more tiles than a B200 has SMs, 148: a program for each SM has several
        Draws(
            H=between(150, 155),
            N=between(20, 66),
            D=16,
            causal=choice(0, 1),
            dtypes=half,
            draws=_DEEP,
        ),
        Draws(
            traffic=True, H=between(9, 10), N=multiples(64, 128, 192), D=64, causal=0, dtypes=half
        ),
        Draws(traffic=True, H=2, N=multiples(64, 320, 384), D=64, causal=1, dtypes=half),
    )


HIDDEN = {
    "flash_lse": (
        *_tiled(HALF, ONE_SIGN, outer=("v",)),
        Draws(H=2, N=1, D=16, causal=1, draws=ABYSS),
        Draws(H=2, N=1, D=16, causal=0, draws={**ABYSS, "k": ABYSS["q"]}),
        # a number a row is a twentieth of all where rows are short: stored twice, or by each turn,
        # it costs in every draw
        Draws(H=2, N=between(58, 63), D=16, causal=0, dtypes=HALF),
        Draws(H=2, N=between(150, 190), D=16, causal=0, dtypes=HALF),
        Draws(H=1, N=between(28, 31), D=16, causal=0, dtypes=HALF, draws=COARSE_WEIGHTS),
    ),
    "flash_delta": (
        Draws(H=between(1, 3), N=1, D=choice(16, 32), draws={"out": FAINT, "dout": FAINT}),
        Draws(H=4, N=between(17, 90), D=choice(16, 32, 64), draws={"dout": LARGE}),
        # more tiles than a B200 has SMs, of 128 rows, too
        Draws(
            H=between(150, 155),
            N=between(129, 150),
            D=choice(16, 32),
            dtypes=HALF_ROWS,
            draws=dict.fromkeys(("out", "dout"), integers(-1, 2)),
        ),
        Draws(
            H=1,
            N=between(30, 90),
            D=64,
            dtypes=HALF_ROWS,
            draws={"out": spread(60.0), "dout": spread(60.0)},
        ),
        Draws(traffic=True, H=between(9, 12), N=multiples(64, 64, 192), D=32),
        Draws(traffic=True, H=2, N=multiples(64, 576, 640), D=64, dtypes=HALF_ROWS),
    ),
    "flash_dkdv": (
        *_tiled(HALF_KV, TURNING_QUERIES),
        Draws(H=1, N=choice(128, 144), D=64, causal=0, dtypes=HALF_KV, draws=_TURNING_QUERIES),
        Draws(H=1, N=between(65, 120), D=64, causal=1, dtypes=HALF_KV, draws=CLIMBING),
        Draws(H=1, N=255, D=64, causal=0, dtypes=HALF_KV, draws=_COARSE_QUERIES),
    ),
    "flash_dq": (
        *_tiled(HALF_Q, _TURNING_KEYS, OPPOSED),
        Draws(H=1, N=255, D=64, causal=0, dtypes=HALF_Q, draws=_COARSE_KEYS),
    ),
}

_D = "the task names its values, and 64 is the largest"
_CAUSAL = "it is yes or no"
#: Sizes of which no held-out case has more than the visible ones, and why.
NOT_BEYOND = {
    "flash_lse": {"D": _D, "causal": _CAUSAL},
    "flash_delta": {"D": _D},
    "flash_dkdv": {"D": _D, "causal": _CAUSAL},
    "flash_dq": {"D": _D, "causal": _CAUSAL},
}
