"""Held-out ranges of the lesson "Serving and training"."""

from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, leaving, multiples
from autograder.hidden.attention import (
    COARSE_FAR,
    COARSE_NEAR,
    COARSE_QUERY,
    LARGE_HALF_KEYS,
    LARGE_HALF_QUERIES,
    SOME_ZERO,
    coarse_values,
)
from course.exercises import attention
from course.exercises.attention import FAR_APART, HUGE, ONE_SIGN
from course.exercises.serving import FAR_BELOW, LARGE
from course.spec.draws import FAINT_HALF, described, half_zeros, integers, spread, uniform

#: Products far above 65,504, the most that float16 holds.
_HUGE = {"x": spread(2000.0), "w": spread(100.0)}
#: Products of -4e9: below any number that might stand for the lowest one.
_HIGH, _LOW = uniform(6e4, 6e4), uniform(-6e4, -6e4)


@described("of each page's scores the first is 0, the others are -9.76")
def _first_of_a_page(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """For queries of ones. A page of 64 adds 1.0036 to the sum of weights.

    In float16 the sum keeps nothing of what is beyond the 1, in tiles of 32 to 256 tokens, while it
    passes some part of the way to 90.
    """
    keys = np.full(shape, -9.76 * shape[-1] ** -0.5)
    keys[:, 0] = 0.0
    return keys.astype(dtype)


@described("by heads: the greatest score in the first page or in the second, of three or of all")
def _coarse_keys(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """As lesson 10's `_coarse_keys`, in two pages: which is first in the sequence, nobody knows."""
    keys = np.full(shape, -15.0)
    keys[1, :2, 0] = keys[0, :2, 1] = keys[:, :, 2:] = 0.0
    keys[0, 0, 0] = keys[1, 0, 1] = COARSE_NEAR
    keys[0, 0, 2] = keys[1, 0, 3] = COARSE_FAR
    return keys.astype(dtype)


_COARSE_PAGES = {
    "q": COARSE_QUERY,
    "k": _coarse_keys,
    "v": coarse_values(np.s_[0, 0, ::2], np.s_[1, 0, 1::2]),
}
_MANY_PAGES = ONE_SIGN | {"q": uniform(1.0, 1.0), "k": _first_of_a_page}


HIDDEN = {
    "paged_decode": (
        Draws(
            S=2,
            P=1,
            PAGE=choice(16, 32),
            G=between(1, 3),
            R=1,
            D=16,
            draws={"v": uniform(-2e-3, 2e-3)},
        ),
        Draws(S=1, P=1, PAGE=16, G=1, R=1, D=16, draws={"q": _HIGH, "k": _LOW}),
        Draws(
            S=5,
            P=between(3, 7),
            PAGE=16,
            G=2,
            R=between(2, 7),
            D=choice(16, 32),
            draws=SOME_ZERO,
        ),
        Draws(
            S=3,
            P=between(2, 4),
            PAGE=choice(32, 64),
            G=between(9, 12),
            R=3,
            D=32,
            draws=LARGE_HALF_QUERIES,
        ),
        Draws(S=2, P=between(3, 6), PAGE=64, G=1, R=choice(12, 16), D=128, draws=LARGE_HALF_KEYS),
        # more pages than eight bits number, and more programs than a B200 has SMs, 148
        Draws(
            S=between(50, 52), P=between(6, 7), PAGE=16, G=3, R=3, D=32, draws=attention.FAR_BELOW
        ),
        Draws(S=4, P=between(3, 6), PAGE=32, G=2, R=3, D=32, draws=FAR_APART),
        Draws(S=2, P=4, PAGE=32, G=2, R=3, D=64, draws=HUGE),
        Draws(S=1, P=2, PAGE=64, G=4, R=1, D=16, draws=_COARSE_PAGES),
        # one sequence has all that its pages hold
        Draws(S=1, P=between(90, 100), PAGE=64, G=1, R=3, D=16, draws=_MANY_PAGES),
        Draws(traffic=True, S=4, P=between(17, 24), PAGE=16, G=2, R=choice(4, 8), D=64),
        Draws(traffic=True, S=2, P=between(13, 16), PAGE=64, G=2, R=choice(4, 8), D=64),
    ),
    "int4_matvec": (
        # more programs of 64 rows than a B200 has SMs; x is 0 and 1
        Draws(N=between(9500, 9540), K=64, GROUP=32, draws={"x": integers(0, 2)}),
        Draws(N=1, K=multiples(64, 64, 512), GROUP=choice(32, 64), draws={"x": FAINT_HALF}),
        # a row more, and one less, than whole programs have
        Draws(N=leaving(1, 64, 65, 193), K=leaving(128, 2048, 128, 4300), GROUP=128),
        Draws(N=leaving(63, 64, 63, 191), K=leaving(64, 1024, 64, 2200), GROUP=64),
        Draws(N=between(40, 60), K=multiples(32, 544, 1000), GROUP=32, draws={"scale": FAINT_HALF}),
        # only the lowest numbers, only the highest, x of one sign
        Draws(N=33, K=1152, GROUP=64, draws={"w": integers(0, 2), "x": uniform(0.5, 1.0)}),
        Draws(N=33, K=1152, GROUP=64, draws={"w": integers(254, 256), "x": uniform(0.5, 1.0)}),
        # scales far apart, of both signs, from group to group, and sums that float16 does not hold
        Draws(
            N=70,
            K=2304,
            GROUP=128,
            draws={"x": spread(1000.0), "scale": uniform(-10.0, 10.0)},
        ),
        Draws(traffic=True, N=multiples(64, 320, 448), K=multiples(1024, 4096, 6144), GROUP=64),
        Draws(traffic=True, N=multiples(64, 192, 320), K=5120, GROUP=32),
    ),
    "grouped_gemm": (
        Draws(
            M=between(2, 15),
            N=between(2, 15),
            K=between(2, 15),
            E=1,
            draws={"x": FAINT_HALF, "w": FAINT_HALF},
        ),
        Draws(M=between(20, 60), N=between(65, 90), K=between(33, 90), E=between(5, 8)),
        Draws(M=between(130, 190), N=between(2, 60), K=leaving(1, 64, 65, 129), E=between(17, 40)),
        # several tiles an expert, the last one ragged
        Draws(M=between(641, 900), N=leaving(1, 64, 65, 129), K=between(17, 60), E=3),
        Draws(M=between(300, 400), N=between(130, 180), K=between(17, 60), E=2),
        # more tiles than a B200 has SMs, of 128 columns, too: some experts have no row
        Draws(M=between(128, 150), N=448, K=32, E=64),
        Draws(M=60, N=70, K=between(1100, 1500), E=3, draws={"w": half_zeros}),
        Draws(M=between(20, 60), N=between(2, 60), K=between(17, 60), E=3, draws=_HUGE),
        Draws(traffic=True, M=64, N=choice(384, 448), K=multiples(64, 192, 256), E=between(12, 16)),
        Draws(traffic=True, M=multiples(64, 704, 896), N=128, K=128, E=4),
    ),
    "linear_cross_entropy": (
        Draws(M=1, V=1, D=64, draws={"x": _HIGH, "w": _LOW}),
        # every logit is 0, and a token's all the same; more tiles than a B200 has SMs
        Draws(M=between(9540, 9600), V=between(2, 60), D=64, draws={"w": integers(0, 1)}),
        # large numbers beside small ones, each way round
        Draws(
            M=leaving(1, 64, 65, 129),
            V=leaving(1, 1024, 1025, 2049),
            D=64,
            draws={"x": spread(600.0), "w": FAINT_HALF},
        ),
        Draws(
            M=leaving(63, 64, 63, 127),
            V=leaving(127, 128, 500, 1300),
            D=128,
            draws={"x": FAINT_HALF, "w": spread(600.0)},
        ),
        # the greatest logits anywhere, also in the last part
        Draws(M=between(30, 60), V=between(2100, 2500), D=64, draws=LARGE),
        Draws(M=between(30, 60), V=between(65, 300), D=64, draws=_HUGE),
        Draws(M=between(30, 60), V=leaving(33, 64, 1057, 1500), D=64, draws=FAR_BELOW),
        Draws(M=between(70, 100), V=between(600, 900), D=320),
        # of so few exponentials each one's last digits count
        Draws(M=between(9, 20), V=between(2, 9), D=64),
        # tokens that 16 bits do not count
        Draws(M=between(3, 5), V=between(65600, 66000), D=64),
        Draws(traffic=True, M=128, V=multiples(1024, 6144, 8192), D=64),
        Draws(traffic=True, M=multiples(64, 576, 704), V=1024, D=64),
    ),
    "loss_gradient": (
        Draws(M=between(3, 9), V=between(2, 200)),
        # a loss that is subtracted
        Draws(M=between(4, 9), V=leaving(1, 2048, 2049, 8193), scalars={"scale": choice(-2.5, -3)}),
        # tokens that 16 bits do not count
        Draws(M=between(3, 5), V=between(65600, 66000)),
        Draws(M=between(4, 9), V=leaving(2047, 2048, 6143, 8191), dtypes={"logits": "float16"}),
        Draws(M=between(4, 9), V=between(5100, 6000), draws={"logits": uniform(200.0, 300.0)}),
        Draws(M=between(4, 9), V=between(5100, 6000), draws={"logits": uniform(-300.0, -200.0)}),
        # in float16 the lse of such a row is off by up to 1/8
        Draws(
            M=between(4, 9),
            V=between(130, 200),
            dtypes={"logits": "float16"},
            draws={"logits": uniform(200.0, 300.0)},
        ),
        Draws(traffic=True, M=between(17, 24), V=multiples(2048, 6144, 10240)),
        Draws(traffic=True, M=between(17, 24), V=12288, dtypes={"logits": "float16"}),
    ),
}

#: Sizes that the visible cases take as far as the task does, and why.
NOT_BEYOND = {
    "paged_decode": {"PAGE": "the task stops at 64"},
    "int4_matvec": {"GROUP": "the task stops at 128"},
}
