"""Held-out ranges of lesson 06."""

from typing import Any

import numpy as np

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.spec.draws import FAINT, LARGE, Draw, described, integers, uniform

_SMALL = Draws(N=between(2, 200))
_BELOW_ALL_BLOCKS = Draws(N=between(201, 255))
#: A last block of one element, of one too few, and none that is not full, whatever BLOCK is.
_ONE_MORE = Draws(N=leaving(1, 2048, 4097, 9000))
_ONE_LESS = Draws(N=leaving(2047, 2048, 4097, 9000))
_WHOLE = Draws(N=choice(4096, 8192))
#: More elements than 16 bits can number.
_LONG = Draws(N=between(65600, 70000))
_RAGGED = (_SMALL, _BELOW_ALL_BLOCKS, _ONE_MORE, _ONE_LESS, _WHOLE, _LONG)
_GRADED = Draws(traffic=True, N=multiples(128, 8320, 12288))
_WIDE = {"x": uniform(-30.0, 30.0)}
#: exp(100) is more than float32 holds.
_FAR = {"x": uniform(-100.0, 100.0)}


def _of_both_signs(most: float) -> Draw:
    """Sizes from a tenth of `most` on, of one sign and of the other in turn."""

    @described(f"between {-most:g} and {most:g}, the signs in turn")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        values = rng.uniform(most / 10, most, shape)
        values[1::2] *= -1
        return values.astype(dtype)

    return draw


@described("every second one 0")
def _some_zero(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    values = rng.uniform(2e-6, 2e-5, shape)
    values[::2] = 0.0
    return values.astype(dtype)


HIDDEN = {
    "triton_add": (
        *_RAGGED,
        Draws(N=between(4100, 9000), draws={"x": LARGE, "y": LARGE}),
        Draws(N=between(200, 900), draws={"x": uniform(-1e-9, 1e-9), "y": uniform(-1e-9, 1e-9)}),
        # sums that are 0
        Draws(N=between(200, 900), draws={"x": integers(-1, 2), "y": integers(-1, 2)}),
        Draws(traffic=True, N=multiples(128, 16512, 24576)),
    ),
    "wave_energy": (*_RAGGED, Draws(N=between(4100, 9000), draws=_WIDE), _GRADED),
    "row_scale": (
        Draws(M=between(2, 7), N=between(9, 31), draws={"x": FAINT, "scale": FAINT}),
        Draws(M=1, N=leaving(1, 256, 257, 513), draws={"x": integers(-1, 2)}),
        Draws(M=leaving(1, 64, 65, 129), N=1, transposed=("x",)),
        Draws(M=leaving(1, 64, 65, 129), N=leaving(255, 256, 255, 511), draws={"x": LARGE}),
        Draws(
            M=leaving(63, 64, 63, 127),
            N=leaving(1, 256, 257, 513),
            transposed=("x",),
            draws={"scale": LARGE},
        ),
        Draws(traffic=True, M=multiples(32, 64, 96), N=multiples(32, 256, 384)),
        Draws(
            traffic=True,
            M=multiples(32, 64, 96),
            N=multiples(32, 256, 384),
            transposed=("x",),
        ),
    ),
    "triple_sigmoid_backward": (
        *_RAGGED,
        Draws(N=between(4100, 9000), draws=_FAR),
        Draws(N=between(201, 255), draws={"x": uniform(-2.0, 2.0), "dout": LARGE}),
        Draws(N=between(2, 200), draws={"x": uniform(-2.0, 2.0), "dout": uniform(-1e-4, 1e-4)}),
        _GRADED,
    ),
    "dequantize": (
        Draws(M=1, K=between(2, 9)),
        Draws(M=between(2, 9), K=between(200, 255)),
        Draws(
            M=between(5, 9),
            K=leaving(1, 2048, 8193, 11000),
            draws={"scale": _of_both_signs(2e-5)},
        ),
        # products up to the largest float16
        Draws(
            M=between(3, 5),
            K=leaving(2047, 2048, 4097, 9000),
            draws={"scale": _of_both_signs(500.0)},
        ),
        # the two ends of int8: a number without a sign, or seven bits of it, is seen
        Draws(M=between(3, 5), K=between(300, 400), draws={"q": integers(-128, -126)}),
        # and rows of which nothing is left but zeros
        Draws(
            M=between(3, 5),
            K=between(300, 400),
            draws={"q": integers(126, 128), "scale": _some_zero},
        ),
        Draws(traffic=True, M=between(17, 24), K=multiples(128, 6144, 8192)),
    ),
}
