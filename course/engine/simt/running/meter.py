"""Counting: requests and sectors of global memory, wavefronts of shared memory.

A warp's request touches the distinct 32-byte sectors of its active lanes' elements; an
element across a sector boundary touches both. The rule and its agreement with the hardware's
counters (`l1tex__t_sectors_pipe_lsu_mem_global_op_*`) are held by `course/tests/engine/hardware`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from course.engine.requests import MOST_MAKERS, MOST_OUTSIDE, OFF, Moment, OfAll, Requests
from course.engine.simt.running.bounds import Access
from course.engine.simt.running.lanes import Lanes, Mask
from course.engine.traffic import (
    Site,
    Touched,
    Traffic,
    busiest_line,
    footprint_of,
    footprints_of,
    together,
)
from course.plain.banks import BANK_BYTES, BANKS, extra_wavefronts
from course.plain.sectors import SECTOR_BYTES, SECTOR_SHIFT, WARP_LANES

_NO_SECTOR = np.iinfo(np.int64).max


@dataclass
class SiteCounter:
    """One access in the source, while the launch runs."""

    requests: int = 0
    sectors: int = 0
    lane_bytes: int = 0
    touched: Touched = field(default_factory=dict)


class Meter:
    """Everything that is counted in one launch."""

    def __init__(self, requests: Requests | None = None) -> None:
        #: keeps the first ones, where somebody wants to see them
        self._requests = requests
        self.sites: dict[tuple[str, str, int, int], SiteCounter] = {}
        self.conflicts: Counter[tuple[str, int]] = Counter()
        self.divergent: Counter[int] = Counter()
        #: requests that load from shared memory, by line
        self.shared_loads: Counter[int] = Counter()
        #: operations of the warp that makes most of them, and of all lanes together
        self.longest_warp = 0
        self.lane_work = 0
        #: of the warp that makes most of them on a line, by line
        self.work: Counter[int] = Counter()
        self.shared_bytes = 0

    def access(self, lanes: Lanes, view: Any, access: Access, elements: np.ndarray) -> None:
        """Counts one access: `elements` are element numbers in the view's allocation."""
        mask = access.mask
        key = (view.name, access.direction, *access.place)
        site = self.sites.get(key)
        if site is None:
            site = self.sites[key] = SiteCounter()
        allocation = view.allocation
        touched = site.touched.get(allocation.address)
        if touched is None:
            touched = site.touched[allocation.address] = np.zeros(allocation.sectors, np.bool_)
        itemsize = view.itemsize
        addresses = view.misalignment_bytes + elements * itemsize
        first = addresses >> SECTOR_SHIFT
        aligned = SECTOR_BYTES % itemsize == 0 and view.misalignment_bytes == 0
        last = None if aligned else (addresses + itemsize - 1) >> SECTOR_SHIFT
        if self._requests is not None and self._requests.of_all:
            self._requests.by_all(_of_all(lanes, allocation, access, addresses, itemsize))
        if self._requests is not None and lanes.first == 0:
            self._requests.saw(key, *_of_the_first_block(lanes, addresses, mask), itemsize)
            owner = allocation.owner
            strides = tuple(abs(stride) // owner.itemsize for stride in owner.strides)
            self._requests.made(_moment(lanes, key, mask, elements, owner.shape, strides, itemsize))
        requests, sectors = _sectors(lanes, first, last, mask, touched)
        if view.by_bytes and access.direction != "atomic":
            places = [(addresses + byte) >> SECTOR_SHIFT for byte in range(itemsize)]
            each = [_sectors(lanes, place, None, mask, touched) for place in places]
            requests, sectors = map(sum, zip(*each, strict=True))
        if access.direction == "atomic":
            sectors = _atomic_sectors(lanes, first, elements, mask, access.aggregated)
        site.requests += requests
        site.sectors += sectors
        site.lane_bytes += lanes.active(mask).count * itemsize

    def one_request(
        self, lanes: Lanes, kind: tuple[str, tuple[int, int]], mask: Mask, chosen: np.ndarray
    ) -> None:
        """Accesses on the two sides of a choice were one request of each warp that split.

        `kind` is their direction and place.
        """
        active = lanes.full(mask)
        split = lanes.warps_with(active & chosen) & lanes.warps_with(active & ~chosen)
        for (_, direction, *where), site in self.sites.items():
            if (direction, tuple(where)) == kind and site.requests:
                site.requests -= lanes.count_warps(split)
                return

    def bank_conflicts(self, name: str, line: int, extra: int) -> None:
        """Adds the extra wavefronts of one access to a shared array."""
        if extra:
            self.conflicts[name, line] += extra

    def shared_access(self, lanes: Lanes, array: Any, access: Access, cells: np.ndarray) -> None:
        """Keeps what a warp asks of shared memory, where somebody wants to see it."""
        if self._requests is not None and lanes.first == 0:
            size = array.dtype.itemsize
            block = _of_the_first_block(lanes, array.base_bytes + cells * size, access.mask)
            site = (array.name, access.direction, *access.place)
            self._requests.saw(site, *block, size, shared=True)
            strides = tuple(math.prod(array.shape[at + 1 :]) for at in range(len(array.shape)))
            found = _moment(lanes, site, access.mask, cells, array.shape, strides, size)
            self._requests.made(replace(found, shared=True))

    def outside(self, lanes: Lanes, name: str, shape: tuple[Any, ...], access: Access) -> None:
        """Keeps an access of which some lanes lie outside, where somebody wants to see it."""
        if self._requests is None or lanes.first or not all(isinstance(n, int) for n in shape):
            return
        strides = tuple(math.prod(shape[at + 1 :]) for at in range(len(shape)))
        inside = np.ones((1, 1), np.bool_)
        cells = np.zeros((1, 1), np.int64)
        for numbers, extent, stride in zip(access.indices, shape, strides, strict=True):
            inside = inside & (numbers >= 0) & (numbers < extent)
            cells = cells + numbers * stride
        site = (name, access.direction, *access.place)
        mask = lanes.full(access.mask) & inside
        found = _moment(lanes, site, mask, cells, shape, strides, itemsize=0)
        beyond = lanes.full(access.mask) & ~inside
        places = np.argwhere(np.broadcast_to(beyond, (lanes.threads, lanes.blocks)).T)
        told = tuple(
            (
                int(block),
                int(thread),
                ", ".join(str(int(lanes.spread(n)[thread, block])) for n in access.indices),
            )
            for block, thread in places[:MOST_OUTSIDE]
        )
        self._requests.made(replace(found, outside=told, others_outside=len(places) - len(told)))

    def branch(self, lanes: Lanes, line: int, taken: np.ndarray, passed: np.ndarray) -> None:
        """Counts warps whose active lanes disagree: some in `taken`, some in `passed`."""
        split = lanes.warps_with(taken) & lanes.warps_with(passed)
        if count := lanes.count_warps(split):
            self.divergent[line] += count

    def batch_has_run(self, longest_warp: int, by_line: dict[int, int], lane_work: int) -> None:
        """Counts the operations of a batch of blocks."""
        self.longest_warp = max(self.longest_warp, longest_warp)
        self.work |= Counter(by_line)
        self.lane_work += lane_work

    def touched(self) -> list[tuple[tuple[str, str], Touched]]:
        """(array, direction) of each site, and the sectors that it has touched."""
        return [(key[:2], site.touched) for key, site in self.sites.items()]

    def traffic(self) -> Traffic:
        """The counts so far, as the learner sees them."""
        sites = [
            Site(*key, site.requests, site.sectors, site.lane_bytes, footprint_of(site.touched))
            for key, site in self.sites.items()
        ]
        touched = together(self.touched())
        busiest = busiest_line(self.work)
        return Traffic(
            sites=sites,
            footprints=footprints_of(touched),
            touched=touched,
            bank_conflicts=sum(self.conflicts.values()),
            bank_conflict_sites=dict(self.conflicts),
            shared_loads=sum(self.shared_loads.values()),
            shared_load_sites=dict(self.shared_loads),
            divergent_branches=sum(self.divergent.values()),
            divergent_sites=dict(self.divergent),
            longest_warp=self.longest_warp,
            lane_work=self.lane_work,
            busiest_lines={} if busiest is None else {"longest_warp": busiest},
            shared_bytes=self.shared_bytes,
            launches=1,
        )


def _moment(
    lanes: Lanes,
    site: tuple[str, str, int, int],
    mask: Mask,
    cells: np.ndarray,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
) -> Moment:
    """An access as the first blocks of the batch make it."""
    blocks, barrier = min(lanes.blocks, MOST_MAKERS), lanes.barrier_at
    active = np.broadcast_to(lanes.full(mask), (lanes.threads, lanes.blocks))[:, :blocks]
    taken = np.where(active, np.broadcast_to(cells, (lanes.threads, lanes.blocks))[:, :blocks], OFF)
    x, y, z = lanes.geometry.block
    return Moment(
        *site,
        cells=taken.T[:, : x * y * z],
        tile=(z, y, x) if z > 1 else (y, x) if y > 1 else (x,),
        shape=shape,
        strides=strides,
        grid=lanes.geometry.grid,
        warps=lanes.warps,
        itemsize=itemsize,
        since=barrier if isinstance(barrier, int) else int(barrier[0]),
    )


def _of_all(
    lanes: Lanes, allocation: Any, access: Access, addresses: np.ndarray, itemsize: int
) -> OfAll:
    """An access by all blocks of the batch."""
    whole = lanes.threads, lanes.blocks
    thread, block = np.nonzero(np.broadcast_to(lanes.full(access.mask), whole))
    x, y, z = lanes.geometry.block
    return OfAll(
        access.direction,
        allocation.low,
        allocation.high - allocation.low,
        itemsize,
        np.broadcast_to(addresses, whole)[thread, block],
        (lanes.first + block) * (x * y * z) + thread,
        lanes.geometry.grid,
        lanes.geometry.block,
    )


def _of_the_first_block(
    lanes: Lanes, values: np.ndarray, mask: Mask
) -> tuple[np.ndarray, np.ndarray]:
    """Values and mask of the batch's first block, (1, warps, lanes) each."""

    def spread(one: np.ndarray) -> np.ndarray:
        block = np.broadcast_to(one[:, :1], (lanes.threads, 1))
        return block.reshape(1, -1, WARP_LANES)

    return spread(values), spread(lanes.full(mask))


def _sectors(
    lanes: Lanes, first: np.ndarray, last: np.ndarray | None, mask: Mask, touched: np.ndarray
) -> tuple[int, int]:
    """(requests, sectors) of one access; marks the sectors touched."""
    if mask is not None and mask.shape[0] == 1 and first.shape[0] > 1:
        return _sectors_of_whole_warps(lanes, first, last, mask, touched)
    if mask is None and last is None and first.shape[0] > 1:
        return _sectors_of_whole_warps(lanes, first, None, np.ones((1, 1), np.bool_), touched)
    if first.shape[0] == 1 and last is None:
        warp, block, _ = lanes.active(mask).warps
        alike = mask is None or mask.shape[1] == 1
        touched[first[0] if alike or first.shape[1] == 1 else first[0, block]] = True
        requests = len(warp) * (lanes.blocks if alike else 1)
        return requests, requests
    rows, active, repeats = _rows(lanes, first, mask)
    if last is not None:
        rows = np.concatenate([rows, _rows(lanes, last, mask)[0]], axis=1)
        active = np.concatenate([active, active], axis=1)
    touched[rows[active]] = True
    return len(rows) * repeats, int(_distinct(rows, active).sum()) * repeats


def _rows(lanes: Lanes, values: np.ndarray, mask: Mask) -> tuple[np.ndarray, np.ndarray, int]:
    """(values, active lanes, repeats) of the warps with an active lane, a row of 32 a warp.

    Where all blocks are alike there are only the first block's rows, to be counted `repeats`
    times.
    """
    warp, block, active = lanes.active(mask).warps
    alike = mask is None or mask.shape[1] == 1
    if alike and values.shape[1] > 1:
        count, blocks = len(warp), values.shape[1]
        warp, block = warp.repeat(blocks), np.tile(np.arange(blocks), count)
        active = active.repeat(blocks, axis=0)
        alike = False
    if values.shape[1] == 1:
        block = 0 * block
    if values.shape[0] == 1:
        rows = np.broadcast_to(values[0, block][:, None], active.shape)
    else:
        rows = lanes.in_warps(values)[warp, :, block]
    return rows, active, lanes.blocks if alike else 1


def _all_rows(lanes: Lanes, values: np.ndarray) -> np.ndarray:
    """(warps x blocks, 32): a row a warp."""
    return lanes.in_warps(values).transpose(0, 2, 1).reshape(-1, WARP_LANES)


def _distinct(rows: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Distinct values among the active ones of each row (each row has one)."""
    ordered = _ordered(rows, active)
    return 1 + ((ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] != _NO_SECTOR)).sum(axis=1)


def _ordered(rows: np.ndarray, active: np.ndarray) -> np.ndarray:
    """The active values of each row in order, then `_NO_SECTOR`. Most rows are in order."""
    ordered = np.where(active, rows, _NO_SECTOR)
    mixed = (ordered[:, 1:] < ordered[:, :-1]).any(axis=1)
    if np.count_nonzero(mixed):
        ordered[mixed] = np.sort(ordered[mixed], axis=1)
    return ordered


def _atomic_sectors(
    lanes: Lanes, sector: np.ndarray, elements: np.ndarray, mask: Mask, aggregated: str
) -> int:
    """Sectors of an atomic: one carries at most one update of each of its elements.

    So a sector is sent as often as the most updated of its elements has lanes in the warp.
    """
    if aggregated and elements.shape[0] == 1:
        _, active, repeats = _rows(lanes, elements[:, :1], mask)
        counts = active.sum(axis=1)
        full = counts == WARP_LANES if aggregated == "atomic" else counts > 0
        return int(np.where(full, 1, counts).sum()) * repeats
    rows, active, repeats = _rows(lanes, elements, mask)
    cells = rows[active]
    homes = _rows(lanes, sector, mask)[0][active]
    warps = np.nonzero(active)[0]
    order = np.lexsort((cells, homes, warps))
    warps, homes, cells = warps[order], homes[order], cells[order]
    new_home = np.r_[True, (warps[1:] != warps[:-1]) | (homes[1:] != homes[:-1])]
    new_cell = new_home | np.r_[True, cells[1:] != cells[:-1]]
    updates = np.diff(np.r_[np.nonzero(new_cell)[0], len(cells)])
    return int(np.maximum.reduceat(updates, np.nonzero(new_home[new_cell])[0]).sum()) * repeats


def _sectors_of_whole_warps(
    lanes: Lanes,
    first: np.ndarray,
    last: np.ndarray | None,
    blocks_active: np.ndarray,
    touched: np.ndarray,
) -> tuple[int, int]:
    """As `_sectors`, where every lane of an active block is active."""
    per_warp = first.reshape(lanes.warps, WARP_LANES, first.shape[1])
    steps = per_warp[:, 1:] != per_warp[:, :-1]
    monotone = last is None and (
        bool((per_warp[:, 1:] >= per_warp[:, :-1]).all())
        or bool((per_warp[:, 1:] <= per_warp[:, :-1]).all())
    )
    if monotone:
        counts = 1 + steps.sum(axis=1)
    else:
        rows = _all_rows(lanes, first)
        if last is not None:
            rows = np.concatenate([rows, _all_rows(lanes, last)], axis=1)
        counts = _distinct(rows, np.ones(rows.shape, np.bool_)).reshape(lanes.warps, -1)
    active = blocks_active
    if active.shape[1] < first.shape[1]:
        active = np.broadcast_to(active, (1, first.shape[1]))
    repeats = lanes.blocks // active.shape[1]
    requests = int(active.sum()) * repeats * lanes.warps
    sectors = int((counts * active).sum()) * repeats
    for numbers in (first,) if last is None else (first, last):
        if active.all():
            if monotone:
                touched[per_warp[:, 0]] = True
                touched[per_warp[:, 1:][steps]] = True
            else:
                touched[numbers] = True
        else:
            touched[np.broadcast_to(numbers, (lanes.threads, active.shape[1]))[:, active[0]]] = True
    return requests, sectors


def conflicts_of(lanes: Lanes, addresses: np.ndarray, mask: Mask, itemsize: int) -> int:
    """Wavefronts of a shared access beyond the fewest, summed over warps."""
    if addresses.shape[0] == 1:
        return 0
    if itemsize <= BANK_BYTES:
        # Words within 32 of each other lie in different banks, whichever lanes are active.
        words = addresses >> 2
        per_warp = words.reshape(lanes.warps, WARP_LANES, words.shape[1])
        if int((per_warp.max(axis=1) - per_warp.min(axis=1)).max()) < BANKS:
            return 0
    rows, active, repeats = _rows(lanes, addresses, mask)
    return extra_wavefronts(rows, active, itemsize) * repeats
