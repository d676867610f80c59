"""Counting: the distinct 32-byte sectors that each program's access touches.

One load or store of a program moves each sector that holds one of its active elements once;
the compiler's layout then splits it over warps so that no sector is asked for twice. That is
what the hardware's L1 counters show on aligned kernels (`course/tests/engine/tile/hardware`), with
two exceptions. A load of fewer elements than a warp has lanes is made by each warp, and is counted
once here. And tiles of two widths in one loop share a layout, so that the counters see each
sector of the wider one in parts (`autograder/tests/test_gpu_counters.py` has the figures).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from course.engine.tile.run import Run
from course.engine.tile.tensors import View
from course.engine.traffic import Site, Touched, Traffic, footprint_of, footprints_of, together
from course.plain.sectors import SECTOR_BYTES

_SHIFT = SECTOR_BYTES.bit_length() - 1


class SiteCounter:
    """One access in the source, while the launch runs."""

    def __init__(self) -> None:
        self.sectors = 0
        self.lane_bytes = 0
        self.touched: Touched = {}


#: what hears of every access: distinct sectors a program, numbered through all allocations,
#: and whether they are stored
Listener = Callable[[np.ndarray, bool], None]
_ALLOCATION = 1 << 40  # sectors of one allocation are numbered from a multiple of this


class Meter:
    """Everything that is counted in one launch."""

    def __init__(self, listener: Listener | None = None) -> None:
        self.listener = listener
        self.sites: dict[tuple[str, str, int, int, bool], SiteCounter] = {}

    def access(
        self,
        run: Run,
        view: View,
        direction: str,
        offsets: np.ndarray,
        active: np.ndarray | None,
        shape: tuple[int, ...],
        descriptor: bool,
    ) -> None:
        """Counts one access of every program of the group.

        Args:
            offsets: byte offsets in the view's allocation, (programs or 1, *block axes or 1).
            active: the mask, or None where every lane is active.
            shape: the block's shape.
        """
        key = (view.name, direction, run.line, run.column, descriptor)
        site = self.sites.get(key)
        if site is None:
            site = self.sites[key] = SiteCounter()
        allocation = view.allocation
        touched = site.touched.get(allocation.address)
        if touched is None:
            touched = site.touched[allocation.address] = np.zeros(allocation.sectors, np.bool_)
        whole = run.count
        for size in shape:
            whole *= size
        if active is None:
            lanes = whole
            sectors = _whole(offsets, touched)
        else:
            lanes = int(np.count_nonzero(active)) * (whole // active.size)
            both = np.broadcast_shapes(offsets.shape, active.shape)
            sectors = _masked(
                np.broadcast_to(offsets, both), np.broadcast_to(active, both), touched
            )
        site.sectors += int(sectors.sum()) * (run.count // len(sectors))
        run.asks(sectors, shape, view.itemsize)
        if self.listener is not None:
            self.listener(listed(run, view, offsets, active), direction != "load")
        site.lane_bytes += lanes * view.itemsize

    def traffic(self) -> Traffic:
        """The counts so far, as the learner sees them."""
        sites = []
        for key, site in sorted(self.sites.items(), key=lambda item: item[0][2:4]):
            array, direction, line, column, descriptor = key
            footprint = footprint_of(site.touched)
            sites.append(
                Site(
                    array,
                    direction,
                    line,
                    column,
                    None,
                    site.sectors,
                    site.lane_bytes,
                    footprint,
                    descriptor,
                )
            )
        touched = together((key[:2], site.touched) for key, site in self.sites.items())
        busiest = max(sites, key=lambda site: site.sectors, default=None)
        return Traffic(
            sites=sites,
            busiest_line=0 if busiest is None else busiest.line,
            footprints=footprints_of(touched),
            touched=touched,
            launches=1,
        )


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


def listed(run: Run, view: View, offsets: np.ndarray, active: np.ndarray | None) -> np.ndarray:
    """The sectors of each program in turn, each once, numbered through all allocations."""
    shape = np.broadcast_shapes(offsets.shape, () if active is None else active.shape)
    shape = (run.count, *shape[1:])
    sectors = np.broadcast_to(offsets, shape) >> _SHIFT
    lanes = np.broadcast_to(True if active is None else active, shape)
    rows = zip(sectors.reshape(run.count, -1), lanes.reshape(run.count, -1), strict=True)
    base = view.allocation.number * _ALLOCATION
    return np.concatenate([np.unique(row[keep]) for row, keep in rows]) + base


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
