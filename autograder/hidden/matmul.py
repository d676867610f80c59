"""Held-out ranges of lesson 04."""

from autograder.hidden import Draws, between, leaving, multiples
from course.spec.draws import FAINT, LARGE, integers

_SMALL = Draws(M=between(2, 15), N=between(2, 15), K=between(2, 15), draws={"A": FAINT, "B": FAINT})
#: beyond all that is visible, along each axis, in a row or a column of tiles
_ROW = Draws(M=1, N=between(129, 170), K=between(129, 160))
_COLUMN = Draws(M=between(129, 170), N=1, K=between(17, 31))
#: One step along K, one row and one column more than whole tiles of 64, and one less.
_ONE_MORE = Draws(M=leaving(1, 64, 65, 129), N=leaving(1, 64, 65, 129), K=leaving(1, 32, 33, 65))
_ONE_LESS = Draws(M=63, N=leaving(63, 64, 63, 127), K=leaving(31, 32, 31, 63))
#: products that are 0, and others
_THIN = Draws(
    M=between(17, 40),
    N=between(17, 40),
    K=1,
    draws={"A": integers(-1, 2), "B": integers(-1, 2)},
)
_RAGGED = Draws(
    M=between(17, 90), N=between(17, 90), K=between(17, 70), draws={"A": LARGE, "B": LARGE}
)
_WHOLE_TILES = Draws(
    traffic=True, M=multiples(32, 32, 96), N=multiples(32, 64, 128), K=multiples(32, 64, 128)
)
_EVERY = (_SMALL, _ROW, _COLUMN, _ONE_MORE, _ONE_LESS, _THIN, _RAGGED)

HIDDEN = {
    "matmul_naive": (
        *_EVERY,
        Draws(
            traffic=True, M=multiples(32, 32, 96), N=multiples(64, 64, 128), K=multiples(32, 32, 96)
        ),
    ),
    "matmul_tiled": (*_EVERY, _WHOLE_TILES),
    "matmul_coarse_1d": (
        *_EVERY,
        # the last row is the first, second, third or fourth of a thread's
        *(Draws(M=leaving(rest, 64, 8, 64), N=19, K=5) for rest in (8, 24, 40, 56)),
        Draws(
            traffic=True,
            M=multiples(64, 192, 256),
            N=multiples(32, 160, 192),
            K=multiples(32, 64, 128),
        ),
    ),
    "matmul_coarse": (
        *_EVERY,
        # blocks enough to tell a few that do the work of all
        Draws(traffic=True, M=256, N=multiples(64, 256, 320), K=64),
    ),
    "matmul_a_stationary": (*_EVERY, _WHOLE_TILES),
}
