"""Accesses as watchers see them, and what a launch adds up for each site in the source."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from course.engine.traffic import Site, Touched, Traffic, footprint_of, footprints_of, together
from course.engine.triton.running.run import Run
from course.engine.triton.running.tensors import View
from course.engine.triton.running.values import broadcast
from course.plain.sectors import SECTOR_SHIFT

#: The array, the direction, line and column of an access, and whether a descriptor makes it.
Place = tuple[str, str, int, int, bool]
#: what hears of every access: distinct sectors a program, numbered through all allocations,
#: and whether they are stored
Listener = Callable[[np.ndarray, bool], None]
_ALLOCATION = 1 << 40  # sectors of one allocation are numbered from a multiple of this


@dataclass(frozen=True)
class Access:
    """One access of every program of the group, which has passed all checks of its place.

    Attributes:
        direction: 'load', 'store' or 'atomic'.
        offsets: byte offsets in the view's allocation, (programs or 1, *block axes or 1).
        active: the mask, or None where every lane is active.
        shape: the block's shape.
        descriptor: whether a descriptor copies it.
        earlier: lanes of the same instructions that went to other tensors; None where none did.
    """

    run: Run
    view: View
    direction: str
    offsets: np.ndarray
    active: np.ndarray | None
    shape: tuple[int, ...]
    descriptor: bool
    earlier: np.ndarray | None = None

    @property
    def site(self) -> Place:
        """The array, the direction, the place in the source, and whether by a descriptor."""
        return self.view.name, self.direction, self.run.line, self.run.column, self.descriptor

    @property
    def lanes(self) -> int:
        """Active lanes of all programs together."""
        whole = self.run.count * math.prod(self.shape)
        if self.active is None:
            return whole
        return int(np.count_nonzero(self.active)) * (whole // self.active.size)

    @cached_property
    def spread(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Offsets and mask in one shape."""
        if self.active is None:
            return self.offsets, None
        shape = np.broadcast_shapes(self.offsets.shape, self.active.shape)
        return broadcast(self.offsets, shape), broadcast(self.active, shape)

    def listed(self) -> np.ndarray:
        """The sectors of each program in turn, each once, numbered through all allocations."""
        offsets, active = self.spread
        shape = (self.run.count, *offsets.shape[1:])
        sectors = np.broadcast_to(offsets, shape) >> SECTOR_SHIFT
        lanes = np.broadcast_to(True if active is None else active, shape)
        rows = zip(sectors.reshape(shape[0], -1), lanes.reshape(shape[0], -1), strict=True)
        base = self.view.allocation.number * _ALLOCATION
        return np.concatenate([np.unique(row[keep]) for row, keep in rows]) + base


class Uncounted:
    """The meter of a run that only decides what happens: what hears of it counts nothing."""

    #: the one that is being made (see `course.engine.triton.running.counts`)
    operation: Any = None

    def access(self, access: Access) -> None:
        """One access of every program of the group."""

    def outside(self, access: Access) -> None:
        """One that is not made: some lanes lie outside of the tensor."""

    def ran(self, block: Any, programs: int) -> None:
        """So many programs run a block."""

    def owners(self, operation: Any) -> np.ndarray | None:
        """Which warp has each element of a block; None where nothing says that."""
        return None

    def at_once(self, operation: Any) -> tuple[int, int] | None:
        """Along which axis a lane takes how many elements; None: each element by itself."""
        return None


@dataclass(frozen=True)
class Asked:
    """What programs ask for, each of them: `distinct` are the sectors of its block, each once.

    Attributes:
        requests, sectors: of its warps.
        width_bytes, side_by_side, copies: as a `Site` has them.
    """

    distinct: np.ndarray
    requests: np.ndarray
    sectors: np.ndarray
    width_bytes: int = 0
    side_by_side: int = 0
    copies: int = 1


@dataclass
class _Counter:
    """One site, while the launch runs."""

    first: Asked
    touched: Touched
    requests: int = 0
    sectors: int = 0
    distinct: int = 0
    lane_bytes: int = 0

    def at(self, place: Place) -> Site:
        """The counts so far, of an access at a place."""
        first = self.first
        return Site(
            *place[:4],
            requests=self.requests,
            sectors=self.sectors,
            lane_bytes=self.lane_bytes,
            footprint_bytes=footprint_of(self.touched),
            descriptor=place[4],
            ideal_sectors=self.distinct,
            width_bytes=first.width_bytes,
            side_by_side=first.side_by_side,
            copies=first.copies,
        )


def _sum(counts: np.ndarray) -> int:
    """Of all programs; of one, where all are alike, without a reduction."""
    return int(counts[0] if len(counts) == 1 else counts.sum())


class SiteMeter(Uncounted, ABC):
    """Adds up what programs ask for, site by site; a subclass knows what each one asks."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._sites: dict[Place, _Counter] = {}
        self._touched: dict[Place, Touched] = {}

    @abstractmethod
    def asked(self, access: Access, touched: np.ndarray) -> Asked:
        """What each program asks for, or one where all are alike.

        Args:
            touched: a bool for each sector of the allocation, to be set where the access goes.
        """

    def access(self, access: Access) -> None:
        """Counts one access of every program of the group."""
        run, allocation = access.run, access.view.allocation
        marks = self._touched.setdefault(access.site, {})
        touched = marks.get(allocation.address)
        if touched is None:
            touched = marks[allocation.address] = np.zeros(allocation.sectors, np.bool_)
        asked = self.asked(access, touched)
        site = self._sites.setdefault(access.site, _Counter(asked, marks))
        times = run.count // len(asked.distinct)
        site.distinct += _sum(asked.distinct) * times
        site.requests += _sum(asked.requests) * times
        site.sectors += _sum(asked.sectors) * times
        site.lane_bytes += access.lanes * access.view.itemsize
        run.asks(asked.distinct, access.shape, access.view.itemsize)
        if self._listener is not None:
            self._listener(access.listed(), access.direction != "load")

    def touched(self) -> list[tuple[tuple[str, str], Touched]]:
        """(array, direction) of each site, and the sectors that it has touched."""
        return [(key[:2], site.touched) for key, site in self._sites.items()]

    def traffic(self) -> Traffic:
        """The counts so far, as the learner sees them."""
        sites = [
            site.at(key) for key, site in sorted(self._sites.items(), key=lambda item: item[0][2:])
        ]
        touched = together(self.touched())
        return Traffic(
            sites=sites,
            footprints=footprints_of(touched),
            touched=touched,
            launches=1,
        )
