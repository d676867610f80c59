"""The distinct 32-byte sectors that each program's access touches."""

from __future__ import annotations

import numpy as np

from course.engine.triton.running.sites import Access
from course.plain.sectors import SECTOR_SHIFT as _SHIFT


def distinct_sectors(access: Access, touched: np.ndarray) -> np.ndarray:
    """Those of each program's block, each once; marks them."""
    offsets, active = access.spread
    return _whole(offsets, touched) if active is None else _masked(offsets, active, touched)


def _by_step(offsets: np.ndarray) -> list[int]:
    """Block axes, largest step first: in that order neighbours in memory are neighbours here."""
    first = (0,) * offsets.ndim
    steps = {}
    for axis in range(1, offsets.ndim):
        if offsets.shape[axis] > 1:
            second = first[:axis] + (1,) + first[axis + 1 :]
            steps[axis] = abs(int(offsets[second]) - int(offsets[first]))
    return sorted(steps, key=lambda axis: -steps[axis])


def _arranged(array: np.ndarray, axes: list[int]) -> np.ndarray:
    """(rows, lanes) with the axes in a given order; axes of size 1 fall away."""
    rest = [axis for axis in range(1, array.ndim) if axis not in axes]
    return array.transpose(0, *rest, *axes).reshape(array.shape[0], -1)


def _whole(offsets: np.ndarray, touched: np.ndarray) -> np.ndarray:
    """Distinct sectors of each row, where every lane is active; marks them."""
    rows = offsets.shape[0]
    if offsets.size == rows:
        touched[offsets.reshape(-1) >> _SHIFT] = True
        return np.ones(rows, np.int64)
    sectors = _arranged(offsets, _by_step(offsets)) >> _SHIFT
    fresh = sectors[:, 1:] != sectors[:, :-1]
    touched[sectors[:, 0]] = True
    seen = sectors[:, 1:][fresh]
    touched[seen] = True
    if bool((sectors[:, 1:] >= sectors[:, :-1]).all()):
        return 1 + np.count_nonzero(fresh, axis=1)
    owners = np.repeat(np.arange(rows), np.count_nonzero(fresh, axis=1))
    return _distinct(
        np.concatenate([sectors[:, 0], seen]), np.concatenate([np.arange(rows), owners]), rows
    )


def _masked(offsets: np.ndarray, active: np.ndarray, touched: np.ndarray) -> np.ndarray:
    """As `_whole`, for the active lanes."""
    axes = _by_step(offsets)
    lanes = _arranged(active, axes) if len(axes) else active.reshape(active.shape[0], -1)
    sectors = _arranged(offsets, axes)[lanes] >> _SHIFT
    owners = np.repeat(np.arange(len(lanes)), np.count_nonzero(lanes, axis=1))
    other = owners[1:] != owners[:-1]
    fresh = np.r_[True, (sectors[1:] != sectors[:-1]) | other]
    touched[sectors[fresh]] = True
    if bool((other | (sectors[1:] >= sectors[:-1])).all()):
        return np.bincount(owners[fresh], minlength=len(lanes))
    return _distinct(sectors[fresh], owners[fresh], len(lanes))


def _distinct(sectors: np.ndarray, owners: np.ndarray, rows: int) -> np.ndarray:
    """Distinct sectors of each of the rows that touch them."""
    if not len(sectors):
        return np.zeros(rows, np.int64)
    low = int(sectors.min())
    extent = int(sectors.max()) - low + 1
    keys = owners * extent + (sectors - low)
    keys.sort()
    fresh = np.r_[True, keys[1:] != keys[:-1]]
    return np.bincount(keys[fresh] // extent, minlength=rows)
