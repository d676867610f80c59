"""Held-out ranges of lesson 04."""

from autograder.hidden import Draws, between, multiples

_SMALL = Draws(M=between(2, 15), N=between(2, 15), K=between(2, 15))
_RAGGED = Draws(M=between(17, 90), N=between(17, 90), K=between(17, 70))
_VECTORS = Draws(M=1, N=between(2, 90), K=between(33, 70))

HIDDEN = {
    "matmul_naive": (
        _SMALL,
        _RAGGED,
        Draws(
            traffic=True, M=multiples(32, 32, 96), N=multiples(64, 64, 128), K=multiples(32, 32, 96)
        ),
    ),
    "matmul_tiled": (
        _SMALL,
        _VECTORS,
        _RAGGED,
        Draws(
            traffic=True,
            M=multiples(32, 32, 96),
            N=multiples(32, 64, 128),
            K=multiples(32, 64, 128),
        ),
    ),
    "matmul_coarse_1d": (
        _SMALL,
        _VECTORS,
        _RAGGED,
        Draws(
            traffic=True,
            M=multiples(64, 64, 192),
            N=multiples(32, 32, 96),
            K=multiples(32, 64, 128),
        ),
    ),
    "matmul_coarse": (
        _SMALL,
        _VECTORS,
        Draws(M=between(17, 80), N=between(17, 80), K=between(17, 40)),
        Draws(traffic=True, M=multiples(64, 64, 128), N=multiples(64, 64, 128), K=64),
    ),
    "matmul_a_stationary": (
        _SMALL,
        _VECTORS,
        _RAGGED,
        Draws(
            traffic=True,
            M=multiples(32, 32, 96),
            N=multiples(32, 64, 128),
            K=multiples(32, 64, 128),
        ),
    ),
}
