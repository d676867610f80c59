"""Held-out ranges of lesson 09."""

from collections.abc import Mapping

from autograder.hidden import Draws, between, choice, leaving, multiples
from course.spec.draws import FAINT_HALF, LARGE_HALF, Draw, half_zeros, integers, uniform


def _small(*operands: str, **draws: Draw) -> Draws:
    """Few of each, and small numbers: these, and what is added to their products."""
    faint = {**dict.fromkeys(operands, FAINT_HALF), **draws}
    return Draws(M=between(2, 15), N=between(2, 15), K=between(2, 15), draws=faint)


def _step(*of_columns: str) -> Draws:
    """A single step of K, and results that are 0: these are 0 in every second column."""
    zeros = dict.fromkeys(of_columns, half_zeros)
    return Draws(M=between(2, 60), N=between(70, 100), K=1, draws=zeros)


#: one row, column and step more than whole tiles, whatever the tile; a column of long rows
_ONE_MORE = Draws(M=leaving(1, 128, 129, 129), N=leaving(1, 64, 65, 129), K=leaving(1, 64, 65, 129))
_COLUMN = Draws(M=between(70, 120), N=1, K=leaving(63, 64, 2111, 2175))
_EVERY = (_ONE_MORE, _COLUMN)
_ADDED = uniform(-1e-8, 1e-8)
_HALVES, _WIDER = {"A": LARGE_HALF, "B": LARGE_HALF}, uniform(-60.0, 60.0)
_GATES = {"b1": uniform(-90.0, 90.0), "w1": uniform(-3.0, 3.0)}
#: one row of tiles, and more of them than a B200 has SMs, 148: a program for each SM has several
_WIDE = Draws(M=leaving(15, 16, 15, 63), N=leaving(63, 64, 19071, 19711), K=between(17, 31))
#: tiles enough to tell one program that has all of them from one that has a few
_TRAFFIC = Draws(traffic=True, M=choice(576, 640), N=choice(512, 576), K=multiples(64, 64, 192))


def _ragged(draws: Mapping[str, Draw]) -> Draws:
    """Tiles that are not full, along each axis."""
    return Draws(M=between(65, 120), N=between(65, 120), K=between(33, 90), draws=draws)


HIDDEN = {
    "triton_matmul": (
        _small("A", "B"),
        *_EVERY,
        _step("B"),
        Draws(transposed=("A", "B"), M=between(65, 90), N=between(2, 60), K=between(33, 90)),
        _WIDE,
        _ragged(_HALVES),
        Draws(transposed=("A",), M=between(2, 90), N=between(2, 90), K=between(33, 90)),
        Draws(transposed=("B",), M=between(2, 90), N=between(2, 90), K=between(33, 90)),
        _TRAFFIC,
    ),
    "grouped_order": (
        _small("A", "B"),
        # a last group of rows, or of columns, that has fewer than 4 tiles, and than 8
        Draws(M=between(330, 440), N=between(330, 440), K=between(2, 40), draws=_HALVES),
        # beyond all that is visible, along each axis
        Draws(M=between(2, 60), N=between(1025, 1100), K=between(129, 160)),
        Draws(M=between(1025, 1100), N=between(2, 60), K=between(2, 40), draws={"B": half_zeros}),
        Draws(traffic=True, M=choice(1024, 1152), N=choice(1024, 1152), K=128),
    ),
    "matmul_epilogue": (
        _small("x", "w", bias=_ADDED),
        _small("x", "bias"),
        *_EVERY,
        _step("w", "bias"),
        # where gelu is 0, and where it is its input
        Draws(M=between(2, 60), N=between(65, 90), K=17, draws={"bias": uniform(-9.0, 9.0)}),
        _WIDE,
        _ragged({"x": LARGE_HALF, "w": _WIDER}),
        Draws(traffic=True, M=choice(576, 640), N=choice(512, 576), K=choice(64, 128)),
    ),
    "gated_linear": (
        _small("x", "w2", b2=_ADDED),
        _small("x", "b2"),
        *_EVERY,
        _step("w2", "b2"),
        # gates that are shut, and open, by weights as well
        Draws(M=between(2, 60), N=between(65, 90), K=17, draws=_GATES),
        _WIDE,
        _ragged({"x": LARGE_HALF, "w1": uniform(-3e-4, 3e-4), "w2": _WIDER}),
        Draws(traffic=True, M=choice(576, 640), N=choice(512, 576), K=choice(64, 128)),
    ),
    "quantised_matmul": (
        _small("x", scale=_ADDED),
        # as _WIDE
        Draws(M=1, N=leaving(1, 64, 13953, 14081), K=between(65, 80), draws={"scale": half_zeros}),
        Draws(M=between(17, 31), N=1, K=leaving(1, 512, 513, 1025)),
        # both ends of int8: no bit and no sign may be lost
        Draws(M=16, N=64, K=leaving(511, 512, 511, 1023), draws={"w": integers(-127, -125)}),
        Draws(M=16, N=64, K=512, draws={"w": integers(126, 128), "scale": uniform(0.002, 0.3)}),
        # parts of any length, the last one shorter, and rows that are no power of two
        Draws(
            M=between(33, 63),
            N=between(65, 150),
            K=between(1100, 1500),
            # scales of both signs
            draws={"x": LARGE_HALF, "scale": uniform(-0.002, 0.002)},
        ),
        Draws(traffic=True, M=16, N=multiples(128, 128, 384), K=multiples(512, 4608, 5120)),
        Draws(traffic=True, M=64, N=128, K=multiples(512, 2048, 3072)),
    ),
    "split_k": (
        _small("A", "B"),
        Draws(M=leaving(1, 64, 65, 65), N=1, K=leaving(1, 64, 129, 449)),
        # more than one row of tiles
        Draws(M=between(130, 190), N=between(71, 120), K=between(300, 700), draws=_HALVES),
        # no part is as long as the others, whatever their number
        Draws(
            M=between(33, 60),
            N=between(33, 60),
            K=choice(8209, 8231, 8243),
            draws={"B": half_zeros},
        ),
        Draws(traffic=True, M=64, N=choice(64, 128), K=multiples(2048, 34816, 36864)),
    ),
}

#: Sizes that the visible cases take as far as the task does, and why.
NOT_BEYOND = {"quantised_matmul": {"M": "the task stops at 64"}}
