"""Held-out ranges of lesson 06."""

from autograder.hidden import Draws, between, multiples
from course.draws import uniform

_SMALL = Draws(N=between(2, 200))
_BELOW_ALL_BLOCKS = Draws(N=between(201, 255))
_RAGGED = Draws(N=between(4100, 9000))
_GRADED = Draws(traffic=True, N=multiples(128, 6144, 12288))
_WIDE = {"x": uniform(-30.0, 30.0)}
#: exp(100) is more than float32 holds.
_FAR = {"x": uniform(-100.0, 100.0)}

HIDDEN = {
    "triton_add": (
        _SMALL,
        _BELOW_ALL_BLOCKS,
        _RAGGED,
        Draws(traffic=True, N=multiples(128, 16384, 24576)),
    ),
    "wave_energy": (_SMALL, _RAGGED, Draws(N=between(4100, 9000), draws=_WIDE), _GRADED),
    "row_scale": (
        Draws(M=between(2, 7), N=between(9, 31)),
        Draws(M=1, N=between(300, 400)),
        Draws(M=between(66, 90), N=between(270, 400)),
        Draws(M=between(66, 90), N=between(270, 400), transposed=("x",)),
        Draws(traffic=True, M=multiples(32, 64, 96), N=multiples(32, 256, 384)),
        Draws(
            traffic=True,
            M=multiples(32, 64, 96),
            N=multiples(32, 256, 384),
            transposed=("x",),
        ),
    ),
    "triple_sigmoid_backward": (
        _SMALL,
        _RAGGED,
        Draws(N=between(4100, 9000), draws=_FAR),
        _GRADED,
    ),
    "dequantize": (
        Draws(M=1, K=between(2, 9)),
        Draws(M=between(2, 9), K=between(200, 255)),
        Draws(M=between(3, 9), K=between(4100, 9000)),
        Draws(traffic=True, M=between(9, 24), K=multiples(128, 6144, 8192)),
    ),
}
