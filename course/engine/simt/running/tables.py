"""The tables that CUDA's functions of angles read: loads of global memory that no source shows.

A sine or cosine in float64 takes its polynomial from one of two rows, by the quadrant, in three
loads of two numbers. In float32 an angle beyond 105,615 takes the six words of 2 / pi. (libdevice's
`__cudart_sin_cos_coeffs` and `__cudart_i2opi_f`, as NVVM writes them out.) What float64 reads for
angles beyond 2**31 is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from course.engine.simt.running.bounds import Access, Place
from course.engine.simt.running.lanes import Lanes
from course.engine.simt.running.memory import Allocation, GlobalView
from course.engine.traffic import table_of

#: counts what a call at a place reads for these angles
Reads = Callable[[Lanes, np.ndarray, Place], None]

#: A row has four pairs; of the last none is read.
_PAIRS, _PAIRS_READ = 4, 3
_WORDS = 6
#: From here on a float32 is brought into a quadrant by all of these words.
_LARGE = 105615.0
#: By function: quadrants a unit, and the row that an even quadrant has.
_ROWS = {"sin": (2 / math.pi, 0), "cos": (2 / math.pi, 1), "sinpi": (2.0, 0), "cospi": (2.0, 1)}


def reads(function: str, dtype: np.dtype) -> Reads | None:
    """What counts the loads of a function of angles (`sin`) in a type; None where it has none."""
    if dtype == np.float64 and function in _ROWS:
        return partial(_rows, table_of(function), *_ROWS[function])
    if dtype == np.float32 and function in ("sin", "cos", "tan"):
        return partial(_words, table_of(function))
    return None


@cache
def _table(name: str, dtype: str, size: int) -> GlobalView:
    numbers = np.zeros(size, dtype)
    return GlobalView(name, numbers, Allocation(0, numbers))


def _rows(
    name: str, quadrants: float, even: int, lanes: Lanes, angles: np.ndarray, place: Place
) -> None:
    with np.errstate(all="ignore"):
        quadrant = np.rint(angles * quadrants)
        row = np.where(np.isfinite(quadrant), quadrant + even, even) % 2
    access, table = Access("load", (), lanes.mask, place), _table(name, "complex128", 2 * _PAIRS)
    for pair in range(_PAIRS_READ):
        lanes.launch.meter.access(lanes, table, access, row.astype(np.int64) * _PAIRS + pair)


def _words(name: str, lanes: Lanes, angles: np.ndarray, place: Place) -> None:
    with np.errstate(all="ignore"):
        large = lanes.both(lanes.mask, (np.abs(angles) >= _LARGE) & np.isfinite(angles))
    if np.count_nonzero(large):
        access = Access("load", (), large, place)
        for word in range(_WORDS):
            cell = np.full((1, 1), word)
            lanes.launch.meter.access(lanes, _table(name, "float32", _WORDS), access, cell)
