"""Sectors, the 32 bytes that memory moves at a time, and how many of them elements touch."""

from __future__ import annotations

import math
from functools import lru_cache

SECTOR_BYTES = 32
SECTOR_SHIFT = SECTOR_BYTES.bit_length() - 1
WARP_LANES = 32


def sectors_of(elements: int, itemsize: int, offset_bytes: int = 0) -> int:
    """Sectors that `elements` neighbouring items touch, from `offset_bytes` past a sector."""
    if elements <= 0:
        return 0
    first = offset_bytes // SECTOR_BYTES
    last = (offset_bytes + elements * itemsize - 1) // SECTOR_BYTES
    return last - first + 1


def sectors_of_rows(rows: int, columns: int, itemsize: int, pitch: int | None = None) -> int:
    """Sectors of `rows` rows, each read by itself: a straddled sector counts in both rows.

    Args:
        columns: items in a row.
        pitch: items from one row's start to the next, `columns` unless told.
    """
    step = columns if pitch is None else pitch
    period = _rows_until_aligned(step * itemsize)
    starts = [row * step * itemsize % SECTOR_BYTES for row in range(min(rows, period))]
    once = [sectors_of(columns, itemsize, start) for start in starts]
    whole, rest = divmod(rows, period)
    return whole * sum(once) + sum(once[:rest])


@lru_cache(1 << 12)  # a check asks for a case's budget three times
def sectors_of_runs(
    rows: int, columns: int, itemsize: int, run: int, pitch: int | None = None
) -> int:
    """Sectors of `rows` rows that are asked for `run` items at a time, each run by itself.

    A run that begins inside a sector touches one more than an aligned one. Runs may be counted
    from a row's start or from its end: the dearer of the two is told. Where a row and a run
    are whole sectors, this is `sectors_of_rows`.
    """
    step = (columns if pitch is None else pitch) * itemsize
    period = _rows_until_aligned(step)
    once = [
        max(_runs(columns, itemsize, run, start, first) for first in {0, columns % run})
        for start in (row * step % SECTOR_BYTES for row in range(min(rows, period)))
    ]
    whole, rest = divmod(rows, period)
    return whole * sum(once) + sum(once[:rest])


def _runs(columns: int, itemsize: int, run: int, start_bytes: int, first: int) -> int:
    """Sectors of one row in runs, the first of which has `first` items."""
    ends = [*range(first, columns, run), columns]
    begins = [0, *ends[:-1]]
    return sum(
        sectors_of(end - begin, itemsize, start_bytes + begin * itemsize)
        for begin, end in zip(begins, ends, strict=True)
    )


def _rows_until_aligned(pitch_bytes: int) -> int:
    return SECTOR_BYTES // math.gcd(SECTOR_BYTES, pitch_bytes)
