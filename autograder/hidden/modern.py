"""Held-out ranges of lesson 13. TMA takes rows whose bytes are a multiple of 16."""

from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, multiples
from course.spec.draws import FAINT_HALF, LARGE_HALF, described, half_zeros, integers, uniform

#: more steps of K than any ring has buffers, not a multiple of them; the last one ragged
_LONG = multiples(8, 2056, 2104)
_PRODUCTS = (
    Draws(
        M=between(1, 30),
        N=multiples(8, 8, 56),
        K=multiples(8, 8, 56),
        draws={"A": FAINT_HALF, "B": FAINT_HALF},
    ),
    # rows and columns of tiles of their own, ragged along each axis; sums beyond float16
    Draws(
        M=between(129, 190),
        N=multiples(8, 136, 184),
        K=multiples(8, 72, 120),
        draws={"A": LARGE_HALF, "B": LARGE_HALF},
    ),
    Draws(
        M=between(257, 300),
        N=multiples(8, 8, 56),
        K=multiples(8, 136, 184),
        draws={"B": half_zeros},
    ),
    Draws(M=between(1, 60), N=multiples(8, 264, 312), K=multiples(8, 136, 184)),
    Draws(M=between(1, 60), N=multiples(8, 8, 56), K=_LONG),
    Draws(traffic=True, M=choice(256, 384), N=choice(256, 320), K=choice(320, 384)),
)


@described("groups near the largest float32, near the smallest that have a scale, and between")
def _ends_of_float32(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Each 32 neighbours times a power of two, from 2**-115 to 2**122, both ends among them.

    Below 2**-118 no byte holds the scale's exponent.
    """
    groups = rng.standard_normal((shape[0] // 32, 32))
    powers = np.linspace(-115, 122, len(groups)).round()
    return (groups * np.exp2(powers)[:, None]).reshape(shape).astype(dtype)


HIDDEN = {
    "what_dot_became": (
        Draws(BM=256, BN=choice(64, 128), BK=choice(32, 128), WARPS=4),
        Draws(BM=choice(128, 256), BN=256, BK=choice(16, 64, 128), WARPS=8),
        Draws(BM=128, BN=choice(32, 64), BK=choice(32, 64), WARPS=choice(4, 8)),
    ),
    "tma_scale": (
        Draws(
            M=between(2, 60),
            N=multiples(8, 16, 56),
            FACTOR=between(2, 9),
            draws={"X": FAINT_HALF},
        ),
        Draws(
            M=between(65, 120),
            N=multiples(8, 200, 312),
            FACTOR=between(-9, -2),
            draws={"X": uniform(-7000.0, 7000.0)},
        ),
        # a factor that is no whole number of thousandths, and one that float16 does not hold
        Draws(M=between(2, 60), N=64, FACTOR=1, scalars={"factor": choice(-0.70345, 0.30345)}),
        Draws(
            M=between(257, 300),
            N=multiples(8, 520, 600),
            FACTOR=between(2, 9),
            scalars={"factor": choice(1e5, -9e4)},
            draws={"X": uniform(-0.5, 0.5)},
        ),
        Draws(
            traffic=True,
            M=choice(320, 384),
            N=choice(384, 576),
            FACTOR=between(2, 9),
            draws={"X": half_zeros},
        ),
    ),
    "hopper_matmul": _PRODUCTS,
    "specialised_matmul": _PRODUCTS,
    "blackwell_matmul": _PRODUCTS,
    "mx_quantise": (
        Draws(N=multiples(32, 64, 480)),
        # quotients that lie half-way between two float8
        Draws(N=multiples(32, 2080, 4064), draws={"x": integers(-40, 41)}),
        Draws(N=multiples(32, 512, 1024), draws={"x": _ends_of_float32}),
        Draws(N=multiples(32, 5024, 8160)),
        # more programs of 2048 than a B200 has SMs, 148
        Draws(traffic=True, N=multiples(1024, 305152, 317440)),
    ),
    "persistent": (
        Draws(
            TILES=between(600, 900), SMS=choice(108, 132, 148), FILL=between(700, 1500),
            MAIN=between(9000, 30000), STORE=between(1000, 4000),
        ),
        Draws(
            TILES=between(20, 100), SMS=choice(108, 132), FILL=between(700, 1500),
            MAIN=between(9000, 30000), STORE=between(1000, 4000),
        ),
    ),
    "flash_clocks": (
        # the tensor cores are slower
        Draws(MMA=4096, EXP=16, BM=choice(64, 128, 192), BN=choice(64, 176), D=256),
        # the exponentials are, forward and backward
        Draws(MMA=8192, EXP=16, BM=choice(64, 128), BN=choice(96, 176), D=choice(32, 40)),
        # forward alone
        Draws(MMA=8192, EXP=choice(16, 17), BM=choice(64, 192), BN=choice(96, 176), D=64),
        Draws(MMA=8192, EXP=choice(32, 31), BM=choice(64, 192), BN=choice(96, 176), D=128),
    ),
}  # fmt: skip
