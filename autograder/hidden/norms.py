"""Held-out ranges of lesson 08."""

from functools import partial
from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.exercises.norms import (
    LARGE_GRADIENTS,
    LARGE_LOGITS,
    NEAR_16,
    NEAR_300,
    SHIFTED,
    WIDE,
    WIDE_LOGITS,
    ascending,
    masked_start,
    targets_around,
)
from course.spec.draws import (
    LARGE,
    LOWEST_HALF,
    Draw,
    described,
    far_down,
    half_zeros,
    integers,
    spread,
    uniform,
)
from course.spec.exercise import halves

#: Between two powers of two, so that no row fills its block.
#: Beside them, rows that fill their block, and rows of one element more.
_FULL, _ONE_MORE = choice(128, 256, 512), choice(129, 257, 513)
_SHORT, _MIDDLE, _LONG = between(65, 127), between(130, 250), between(600, 1000)
#: A number that is 0 is no padding.
_SOME_ZERO, _NOTHING = integers(-1, 2), integers(0, 1)
_RMSNORM = halves("x", "w", "y")
#: Below every visible one: what holds eps above one of those is seen.
_EPS = {"eps": choice(2.345e-6, 3.456e-6)}
#: Above every visible one, and gradients and weights that only a threshold takes for nothing.
_LARGE_EPS, _SMALL = {"eps": 0.0345}, uniform(-1e-4, 1e-4)
_BILLIONS = uniform(-1e9, 1e9)
#: Among the smallest that float16 rounds by a tenth, beside squares as small, and weights of both
#: signs.
_HALF_EPS, _FAINT_HALF = {"eps": 2.7e-7}, {"x": uniform(-1e-3, 1e-3), "w": spread(1.0)}
_LAYERNORM = halves("x", "w", "b", "y")
#: Few steps of float16 apart: it cannot hold their mean.
_STEPS_OF_HALF = {"x": uniform(0.0, 2e-6), "b": _SMALL}
_BACKWARD = halves("x", "w", "dy", "dx")


def _far_targets(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Targets below 1,000; the last six are no tokens, near and far."""
    values = rng.integers(0, 1000, shape)
    far = [-2, -int(rng.integers(101, 900)), 1001, int(rng.integers(1002, 1900))]
    values[-6:] = rng.permutation([*far, (1 << 32) + 3, -(1 << 32) + 3])
    return values.astype(dtype)


def _ends(tokens: int) -> Draw:
    """Targets that are the first token and the last one, in turn."""

    @described(f"0 and {tokens - 1} in turn")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return np.resize([0, tokens - 1], shape).astype(dtype)

    return draw


@described("every second row of equal numbers")
def _level(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Every second row is one number: its variance is 0."""
    values = rng.normal(size=shape)
    values[::2] = rng.choice([-2.0, 0.5, 4.0], (len(values[::2]), 1))
    return values.astype(dtype)


@described("every second row of zeros")
def _empty(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Every second row, the first among them, is zero."""
    values = rng.normal(size=shape)
    values[::2] = 0.0
    return values.astype(dtype)


@described("rows whose squares are near eps, and rows a hundredth, a ten-thousandth of those")
def _faint(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Of rows far below eps the result is small, and not 0."""
    size = 4e-3 * 0.01 ** (np.arange(shape[0]) % 3)
    return (rng.uniform(-1, 1, shape) * size[:, None]).astype(dtype)


@described("the largest logit first in the first row, last in the last, and five times between")
def _peaks(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Logits below zero; one of each row, and in rows between five equal ones, 90 above them."""
    values = rng.uniform(-99.0, -95.0, shape)
    values[0, 0] = values[-1, -1] = -5.0
    values[1:-1, 3::400] = -5.0
    return values.astype(dtype)


@described("1.00195 and -1.00195 in turn in the first row, near 300 in the others")
def _first_level(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """bfloat16 rounds the first row's square, 1.00391, by 0.39 %, and so their mean."""
    values = NEAR_300(rng, shape, dtype)
    values[0] = np.resize([1.001953125, -1.001953125], shape[1])
    return values


@described("9 once and 1.00098 else in every second row, standard deviation 3 in the others")
def _steps_apart(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """float16 holds 1.00098, and not how far that is below 9."""
    values = WIDE_LOGITS(rng, shape, dtype)
    values[::2] = 1.0009765625
    values[::2, 0] = 9.0
    return values


@described("0 once and 257.25 else in the first row, 300 +- 120 in the others")
def _one_apart(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """bfloat16 rounds the first row's mean, just below 257, to 256: how far 0 is from it shows."""
    values = rng.normal(300.0, 120.0, shape)
    values[0] = 257.25
    values[0, 0] = 0.0
    return values.astype(dtype)


@described("16 in the first row, 16 +- 0.5 in the others")
def _level_16(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    values = NEAR_16(rng, shape, dtype)
    values[0] = 16.0
    return values


@described("1.00293 in the first row, standard deviation 1 in the others")
def _between_two(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    values = rng.normal(size=shape)
    values[0] = 1.0029296875
    return values.astype(dtype)


#: bfloat16 rounds each dy * w * n of the first row by 0.3 % or not at all. Where w is 0, their mean
#: alone makes dx.
_COARSE_PRODUCTS = {"x": _level_16, "w": integers(0, 2), "dy": _between_two}

#: Rows of fewer logits than a block has.
_few_logits = partial(Draws, M=between(2, 6), V=between(2, 200), PAD=0)
HIDDEN = {
    "rmsnorm": (
        # more rows than columns
        Draws(M=between(5, 7), D=between(1, 3), draws={"w": _SMALL}, scalars=_LARGE_EPS),
        Draws(M=between(2, 9), D=_SHORT, draws={"x": _SOME_ZERO, "w": LARGE}),
        Draws(M=1, D=_FULL, draws={"x": LARGE}),
        Draws(M=between(2, 9), D=_ONE_MORE, draws={"x": _empty}),
        Draws(M=between(2, 5), D=_MIDDLE, draws={"x": _faint}, scalars=_EPS),
        Draws(M=2, D=_MIDDLE, dtypes=_RMSNORM, draws=_FAINT_HALF, scalars=_HALF_EPS),
        Draws(M=between(2, 4), D=_LONG, dtypes=_RMSNORM, draws={"x": NEAR_16}),
        Draws(M=between(2, 4), D=_LONG, dtypes=_RMSNORM, draws={"x": _first_level}),
        Draws(traffic=True, M=multiples(8, 40, 48), D=multiples(256, 512, 2048)),
        Draws(traffic=True, M=multiples(8, 16, 48), D=multiples(512, 2560, 3072), dtypes=_RMSNORM),
    ),
    "layernorm": (
        Draws(M=between(17, 21), D=between(9, 15), scalars=_LARGE_EPS),
        # one row more than whole programs of 8, and one less
        Draws(M=leaving(1, 8, 33, 41), D=_SHORT, draws={"x": _SOME_ZERO, "w": LARGE, "b": LARGE}),
        Draws(
            M=leaving(7, 8, 7, 15), D=_ONE_MORE, draws={"x": _level, "w": _SMALL, "b": half_zeros}
        ),
        Draws(M=1, D=_FULL, draws={"x": LARGE}),
        Draws(M=between(2, 7), D=_FULL, draws={"x": spread(1.0, -1000.0)}),
        Draws(M=between(2, 7), D=_MIDDLE, draws={"x": _faint}, scalars=_EPS),
        Draws(M=between(8, 14), D=_LONG, draws={"x": SHIFTED}),
        Draws(M=2, D=_MIDDLE, dtypes=_LAYERNORM, draws=_FAINT_HALF, scalars=_HALF_EPS),
        Draws(M=5, D=_MIDDLE, dtypes=_LAYERNORM, draws=_STEPS_OF_HALF, scalars=_HALF_EPS),
        Draws(M=between(2, 5), D=_LONG, dtypes=_LAYERNORM, draws={"x": WIDE}),
        # a row's sum, and the squares of distances, pass what float16 holds
        Draws(M=between(2, 5), D=_LONG, dtypes=_LAYERNORM, draws={"x": _one_apart}),
        # rows that spill where a program has several of them
        Draws(traffic=True, M=choice(4, 8), D=multiples(256, 7168, 8192), dtypes=_LAYERNORM),
        Draws(traffic=True, M=multiples(8, 16, 48), D=multiples(256, 512, 1024)),
        Draws(traffic=True, M=multiples(8, 16, 48), D=multiples(256, 512, 1024), dtypes=_LAYERNORM),
    ),
    "cross_entropy": (
        Draws(M=between(1, 3), V=1, PAD=0, draws={"logits": _NOTHING, "targets": _NOTHING}),
        Draws(M=between(17, 24), V=7, PAD=73, draws={"targets": targets_around(7)}),
        Draws(
            M=between(6, 12),
            V=1000,
            PAD=24,
            draws={"logits": _SOME_ZERO, "targets": targets_around(1000)},
        ),
        Draws(
            M=between(2, 6),
            V=between(1100, 3000),
            PAD=between(1, 8),
            dtypes={"logits": choice("float16", "float32")},
            draws={"logits": LARGE_LOGITS, "targets": integers(0, 1100)},
        ),
        Draws(
            M=between(2, 6),
            V=between(100, 1000),
            PAD=between(1, 8),
            dtypes={"logits": "float16"},
            draws={"logits": _steps_apart, "targets": integers(0, 100)},
        ),
        # all below zero, far down, and fewer than a block has
        _few_logits(draws={"logits": far_down, "targets": integers(0, 2)}),
        _few_logits(
            dtypes={"logits": "float16"}, draws={"logits": LOWEST_HALF, "targets": integers(0, 2)}
        ),
        # a last block of one logit, the largest of its row, and none that is not full
        Draws(
            M=2,
            V=choice(2049, 4097),
            PAD=3,
            draws={"logits": ascending, "targets": integers(0, 2049)},
        ),
        Draws(M=6, V=2048, PAD=0, draws={"logits": _peaks, "targets": _ends(2048)}),
        _few_logits(draws={"logits": uniform(2e6, 1e7), "targets": integers(0, 2)}),
        # exp of every logit is 0, if the greatest so far begins at 0 or another finite number
        _few_logits(draws={"logits": spread(20.0, -3e4), "targets": integers(0, 2)}),
        # tokens past what 16 bits hold, and targets that no mask for -1, -100 and V leaves out
        Draws(M=1, V=between(32900, 34000), PAD=0, draws={"targets": integers(32800, 32900)}),
        Draws(M=between(8, 12), V=1000, PAD=24, draws={"targets": _far_targets}),
        Draws(
            M=between(2, 6),
            V=between(4100, 6000),
            PAD=between(1, 8),
            # the first logit is -inf, and the loss inf
            draws={"logits": masked_start, "targets": _ends(4100)},
        ),
        Draws(
            M=between(2, 6),
            V=between(1100, 3000),
            PAD=between(1, 8),
            draws={"logits": ascending, "targets": integers(0, 1100)},
        ),
        Draws(
            traffic=True,
            M=multiples(4, 8, 16),
            # a row fills a third of a block of 8,192, the largest that an honest design takes
            V=multiples(256, 3072, 6144),
            PAD=choice(0, 32, 64),
            draws={"targets": integers(0, 2048)},
        ),
        Draws(
            traffic=True,
            M=multiples(4, 8, 16),
            V=multiples(256, 4096, 8192),
            PAD=choice(0, 64),
            dtypes={"logits": "float16"},
            draws={"targets": integers(0, 4096)},
        ),
    ),
    "rmsnorm_backward": (
        # results that are 0, of rows and of columns
        Draws(
            M=between(6, 8),
            D=between(1, 3),
            draws={"x": half_zeros, "dy": _empty},
            scalars=_LARGE_EPS,
        ),
        Draws(
            M=leaving(1, 16, 65, 81),
            D=_SHORT,
            draws={"x": _SOME_ZERO, "w": spread(30.0), "dy": LARGE},
        ),
        Draws(M=leaving(15, 16, 15, 47), D=_ONE_MORE, draws={"x": _empty, "dy": _SMALL}),
        # squares, and the cube of 1 / s, are neither inf nor 0
        Draws(M=leaving(8, 16, 24, 40), D=_FULL, draws={"x": _BILLIONS, "dy": _BILLIONS}),
        Draws(M=between(2, 7), D=_MIDDLE, draws={"x": _faint, "w": _SMALL}, scalars=_EPS),
        Draws(M=2, D=_MIDDLE, dtypes=_BACKWARD, draws=_FAINT_HALF, scalars=_HALF_EPS),
        Draws(M=between(9, 14), D=between(1025, 1500), dtypes=_BACKWARD, draws=_COARSE_PRODUCTS),
        Draws(
            M=between(9, 14),
            D=_LONG,
            dtypes=_BACKWARD,
            draws={"x": NEAR_300, "dy": LARGE_GRADIENTS},
        ),
        Draws(traffic=True, M=multiples(16, 32, 64), D=multiples(256, 256, 1024)),
        # rows of a block of 1,024, of which sixteen do not fit in the registers
        Draws(traffic=True, M=multiples(16, 32, 64), D=multiples(256, 768, 1024), dtypes=_BACKWARD),
    ),
}

#: Sizes of which no held-out case has more than the visible ones, and why.
NOT_BEYOND = {"layernorm": {"D": "the bound on spills is for rows of 8,192, and BLOCK is given"}}
