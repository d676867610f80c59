"""Held-out ranges of lesson 03."""

from autograder.hidden import Draws, between, choice, multiples
from course.draws import integers, uniform

_TRANSPOSES = (
    Draws(M=between(2, 31), N=between(2, 31)),
    Draws(M=1, N=between(33, 200)),
    Draws(M=between(33, 160), N=between(33, 160)),
    Draws(traffic=True, M=multiples(32, 32, 192), N=multiples(32, 32, 192)),
)

#: Products above 65,504, the largest float16: no rounding is right by chance.
_TOO_LARGE_FOR_HALF = {"a": uniform(300.0, 400.0), "b": uniform(300.0, 400.0)}

HIDDEN = {
    "shared_reverse": (
        Draws(B=between(2, 9)),
        Draws(traffic=True, B=between(10, 60)),
    ),
    "transpose": _TRANSPOSES,
    "transpose_padded": _TRANSPOSES,
    "stencil_halo": (
        Draws(N=between(2, 9)),
        Draws(N=between(120, 140)),
        Draws(N=between(1025, 4000)),
        Draws(traffic=True, N=multiples(1024, 2048, 12288)),
    ),
    "block_sum": (
        Draws(N=between(2, 255)),
        Draws(N=between(257, 3000)),
        Draws(traffic=True, N=multiples(256, 2048, 16384)),
    ),
    "row_sum": (
        Draws(M=between(1, 9), N=between(1, 31)),
        Draws(M=between(10, 70), N=between(33, 300)),
        Draws(M=between(1, 4), N=between(900, 1300)),
        Draws(traffic=True, M=between(20, 80), N=multiples(256, 256, 768)),
    ),
    "dot": (
        Draws(N=between(2, 60)),
        # more elements than any launch has threads: one product a thread is not enough
        Draws(N=between(33_000, 50_000), draws=_TOO_LARGE_FOR_HALF),
        Draws(traffic=True, N=multiples(1024, 32_768, 40_960)),
    ),
    "dot_any_block": (
        Draws(N=between(2, 400), THREADS=choice(32, 64, 160, 224)),
        Draws(N=between(401, 5000), THREADS=choice(96, 192), draws=_TOO_LARGE_FOR_HALF),
        Draws(N=between(401, 5000), THREADS=choice(128, 160, 224)),
        Draws(N=between(2048, 5000), THREADS=256),
        Draws(traffic=True, N=multiples(1024, 8192, 20480), THREADS=choice(96, 160)),
        Draws(traffic=True, N=multiples(1024, 8192, 20480), THREADS=choice(192, 224)),
    ),
    "warp_sum": (
        Draws(N=between(2, 31)),
        Draws(N=between(33, 3000)),
        # whole warps and no whole blocks: the first lane of a warp is the first behind the end
        Draws(N=choice(96, 160, 352, 736, 1120, 2080)),
        Draws(traffic=True, N=multiples(1024, 4096, 16384)),
    ),
    "prefix_sum": (
        Draws(N=between(2, 255)),
        Draws(N=between(257, 2000)),
        Draws(traffic=True, N=multiples(256, 2048, 8192)),
    ),
    "histogram": (
        Draws(N=between(2, 300)),
        Draws(N=between(3000, 9000), draws={"data": integers(60, 64)}),
        Draws(traffic=True, N=multiples(2048, 16384, 32768)),
    ),
    "five_mistakes": (
        Draws(M=between(2, 5), N=between(2, 127)),
        Draws(M=between(2, 5), N=between(129, 700), draws={"a": uniform(-9e4, -8e4)}),
        Draws(M=2, N=between(2100, 3000)),
        Draws(traffic=True, M=between(3, 12), N=multiples(128, 1024, 2048)),
    ),
}
