"""How an exercise's inputs are drawn: functions of a generator, a shape and a dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator, tuple[int, ...], np.dtype[Any]], np.ndarray]


@dataclass(frozen=True)
class Described:
    """A draw and what a verdict says of it behind the array's name: ``rows that ascend``."""

    words: str
    draw: Draw

    def __call__(
        self, rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> np.ndarray:
        return self.draw(rng, shape, dtype)


def described(words: str) -> Callable[[Draw], Draw]:
    """A decorator that gives a draw its words."""
    return lambda draw: Described(words, draw)


def normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Standard normal values, all different; whole numbers for an integer dtype."""
    if dtype.kind in "iu":
        return integers(0, 1000)(rng, shape, dtype)
    return rng.standard_normal(shape).astype(dtype)


def uniform(low: float, high: float) -> Draw:
    """Values between `low` and `high`."""

    @described(f"between {low:g} and {high:g}")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return rng.uniform(low, high, shape).astype(dtype)

    return draw


def spread(width: float, centre: float = 0.0, why: str = "") -> Draw:
    """Normal values of the standard deviation `width` around `centre`; `why` says what for."""
    around = f" around {centre:g}" if centre else ""

    @described(f"standard deviation {width:g}{around}{why}")
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return rng.normal(centre, width, shape).astype(dtype)

    return draw


@described("powers of two below zero, the largest of a row -2.2e12")
def far_down(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Below numbers that might stand for the lowest one, -1e9 say.

    A power of two times log2(e) is exact: no idiom of base 2 loses a digit.
    """
    values = -(2.0 ** rng.integers(42, 60, shape))
    values[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] = -(2.0**41)
    return values.astype(dtype)


#: The lowest numbers that float16 has: -65504 itself is among them.
LOWEST_HALF = uniform(-65504.0, -65440.0)


#: Beyond what float16 and whole numbers of 64 bits hold, on both sides, and products of two of them
#: are no inf; and as far as float16 goes.
LARGE = uniform(-1e15, 1e15)
LARGE_HALF = uniform(-6e4, 6e4)
#: Small enough for any eps or threshold to show, and products of two of them are no 0; and as small
#: as float16 has some digits.
FAINT = uniform(-1e-15, 1e-15)
FAINT_HALF = uniform(-1e-4, 1e-4)


@described("of every size that float32 has, 1e-45 to 1e38")
def any_size(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers of either sign whose sizes are spread over all of float32's powers of two."""
    return (rng.choice((-1.0, 1.0), shape) * np.exp2(rng.uniform(-149, 126, shape))).astype(dtype)


@described("every second column of zeros")
def half_zeros(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """Normal values, and 0 in every second column: a result that is 0 is to be stored, too."""
    values = rng.standard_normal(shape)
    values[..., ::2] = 0.0
    return values.astype(dtype)


def integers(low: int, high: int) -> Draw:
    """Whole numbers from `low` to `high` - 1."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return rng.integers(low, high, shape).astype(dtype)

    return draw


@described("the whole numbers from 0 up, in random order")
def permutation(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    """The whole numbers from 0 up, each once, in random order."""
    return rng.permutation(int(np.prod(shape))).reshape(shape).astype(dtype)
