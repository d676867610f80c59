"""Held-out ranges of lesson 09."""

from autograder.hidden import Draws, between, choice, multiples

_SMALL = Draws(M=between(2, 15), N=between(2, 15), K=between(2, 15))
_RAGGED = Draws(M=between(65, 120), N=between(65, 120), K=between(33, 90))
#: one row of tiles, and more than one column of them
_WIDE = Draws(M=between(2, 60), N=between(70, 180), K=between(17, 90))
#: tiles enough to tell one program that has all of them from one that has a few
_TRAFFIC = Draws(
    traffic=True, M=multiples(64, 128, 192), N=choice(256, 384), K=multiples(64, 64, 192)
)

HIDDEN = {
    "triton_matmul": (
        _SMALL,
        _WIDE,
        _RAGGED,
        Draws(transposed=("A",), M=between(2, 90), N=between(2, 90), K=between(33, 90)),
        Draws(transposed=("B",), M=between(2, 90), N=between(2, 90), K=between(33, 90)),
        Draws(M=between(17, 40), N=between(17, 40), K=between(1000, 1500)),
        _TRAFFIC,
    ),
    "grouped_order": (
        _SMALL,
        # a last group that is lower than 4 tiles, and than 8
        Draws(M=between(330, 440), N=between(70, 250), K=between(2, 40)),
        Draws(M=between(2, 60), N=between(300, 400), K=between(2, 40)),
        Draws(traffic=True, M=choice(1024, 1152), N=choice(1024, 1152), K=128),
    ),
    "matmul_epilogue": (
        _SMALL,
        _WIDE,
        _RAGGED,
        Draws(traffic=True, M=multiples(64, 128, 192), N=choice(256, 384), K=choice(64, 128)),
    ),
    "gated_linear": (
        _SMALL,
        _WIDE,
        _RAGGED,
        Draws(traffic=True, M=multiples(64, 128, 192), N=choice(256, 384), K=choice(64, 128)),
    ),
    "quantised_matmul": (
        Draws(M=between(2, 15), N=between(2, 15), K=between(2, 15)),
        Draws(M=1, N=between(65, 200), K=between(65, 200)),
        Draws(M=between(33, 64), N=between(65, 150), K=between(200, 400)),
        Draws(traffic=True, M=64, N=multiples(128, 512, 896), K=multiples(128, 256, 384)),
    ),
    "split_k": (
        _SMALL,
        # more than one row of tiles
        Draws(M=between(130, 190), N=between(17, 90), K=between(300, 700)),
        Draws(traffic=True, M=64, N=choice(64, 128), K=multiples(512, 3072, 4608)),
    ),
}
