"""What pictures of a kernel are made of: a warp's requests, lane by lane, and whole accesses."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

#: Of each access in the source the first requests are kept.
MOST_KEPT = 3
#: Of a launch so many accesses are kept: the first ones, and the last.
MOST_MOMENTS = 12
#: So many blocks or programs are kept of each.
MOST_MAKERS = 8
MOST_OUTSIDE = 4
#: A lane that is switched off has no cell.
OFF = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Request:
    """What one request of a warp asks for.

    Attributes:
        array, direction, line, column: the access in the source, as a `Site` has them.
        warp: its number in its block or program.
        lanes: of each lane the first byte that it asks for, counted from the start of the
            allocation, or of the block's shared memory; None where the lane is switched off.
        lane_bytes: how many each lane asks for.
    """

    array: str
    direction: str
    line: int
    column: int
    warp: int
    lanes: tuple[int | None, ...]
    lane_bytes: int


@dataclass(frozen=True)
class Moment:
    """One access, as the first blocks or programs make it.

    Attributes:
        array, direction, line, column: the access in the source, as a `Site` has them.
        cells: (blocks or programs, lanes): the element that each lane touches, counted through the
            array's memory; `OFF` where it is switched off.
        tile: how the lanes lie: threads of a block (z, y, x), or the shape of a program's block.
        shape, strides: of the array, in elements of `itemsize` bytes.
        grid, warps: of the launch: blocks or programs, and warps in each.
        since: when the block last passed a barrier.
        outside: threads whose index lies outside of the array: (block, thread, index). Cells of
            programs may lie outside, too.
        programs: whose the rows of `cells` are; none where blocks of threads make it.
        descriptor: whether a descriptor says what of the tile the array has, and no mask.
    """

    array: str
    direction: str
    line: int
    column: int
    cells: np.ndarray = field(repr=False)
    tile: tuple[int, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    grid: tuple[int, int, int]
    warps: int
    itemsize: int
    since: int = 0
    shared: bool = False
    outside: tuple[tuple[int, int, str], ...] = ()
    others_outside: int = 0
    programs: tuple[int, ...] = ()
    descriptor: bool = False


@dataclass(frozen=True)
class OfAll:
    """One access by all that run at once.

    Attributes:
        address, size_bytes: of the allocation, in this process.
        places: the bytes from its start at which lanes that take part begin.
        makers: whose each is: the thread's number in the launch, or the program's.
        grid, block: of the launch, x first; no block where programs run.
    """

    direction: str
    address: int
    size_bytes: int
    itemsize: int
    places: np.ndarray
    makers: np.ndarray
    grid: tuple[int, ...]
    block: tuple[int, ...] = ()


class Requests:
    """Keeps the first requests of each access: of the first block or program, and of one warp.

    Attributes:
        shared: whether those to shared memory are kept, and not those to global memory.
        of_all: whether `by_all` is to hear of everybody's accesses.
    """

    of_all = False

    def __init__(self, shared: bool = False) -> None:
        self.shared = shared
        self._kept: dict[tuple[str, str, int, int], list[Request]] = {}
        #: the last access as a whole: it knows the launch
        self.last: Moment | None = None

    def saw(
        self,
        site: tuple[str, str, int, int],
        addresses: np.ndarray,
        active: np.ndarray | None,
        lane_bytes: int,
        shared: bool = False,
    ) -> None:
        """The first block has made an access.

        Args:
            addresses: bytes from the start of the allocation, (requests a warp, warps, lanes).
            active: which lanes take part, in the same shape; None where all do.
            shared: whether it is one to shared memory.
        """
        if shared is not self.shared:
            return
        if active is None:
            active = np.ones(addresses.shape, np.bool_)
        kept = self._kept.setdefault(site, [])
        at_work = active.any(axis=(0, 2))
        if not at_work.any():
            return
        warp = kept[0].warp if kept else int(at_work.argmax())
        for places, taking_part in zip(addresses[:, warp], active[:, warp], strict=True):
            if taking_part.any() and len(kept) < MOST_KEPT:
                lanes = zip(places.tolist(), taking_part.tolist(), strict=True)
                taken = tuple(place if on else None for place, on in lanes)
                kept.append(Request(*site, warp, taken, lane_bytes))

    def made(self, moment: Moment) -> None:
        """The first blocks or programs have made an access."""
        self.last = moment

    def by_all(self, access: OfAll) -> None:
        """All threads or programs of a batch have made an access to global memory."""

    def by_access(self) -> list[list[Request]]:
        """What was kept of each access: line by line, and of a line as the work goes."""
        return sorted(filter(None, self._kept.values()), key=lambda kept: kept[0].line)


class Writers(Requests):
    """Knows who has written each element last."""

    of_all = True

    def __init__(self) -> None:
        super().__init__()
        self._by: dict[int, tuple[OfAll, np.ndarray]] = {}

    def saw(self, *_: object, **__: object) -> None:
        """Single requests are not kept."""

    def by_all(self, access: OfAll) -> None:
        if access.direction == "load":
            return
        if access.address not in self._by:
            elements = access.size_bytes // access.itemsize
            self._by[access.address] = access, np.full(elements, -1, np.int64)
        first, who = self._by[access.address]
        who[access.places // first.itemsize] = access.makers

    def of(self, address: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """(block or program, thread) that has written what lies at an address, x first."""
        for start, (access, who) in self._by.items():
            if start <= address < start + access.size_bytes:
                number = int(who[(address - start) // access.itemsize])
                if number < 0:
                    return None
                threads = math.prod(access.block)
                place = _place(number // threads, access.grid)
                return place, _place(number % threads, access.block)
        return None


def _place(number: int, sides: tuple[int, ...]) -> tuple[int, ...]:
    found = []
    for side in sides:
        found.append(number % side)
        number //= side
    return tuple(found)


class Moments(Requests):
    """Keeps whole accesses, in the order in which they are made: the first ones and the last.

    Attributes:
        left_out: how many came between.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first: list[Moment] = []
        self._last: deque[Moment] = deque(maxlen=2)
        self.left_out = 0

    def saw(self, *_: object, **__: object) -> None:
        """Single requests are not kept."""

    def made(self, moment: Moment) -> None:
        if len(self._first) < MOST_MOMENTS - 2:
            self._first.append(moment)
            return
        self.left_out += len(self._last) == self._last.maxlen
        self._last.append(moment)

    def in_order(self) -> list[Moment]:
        """What was kept."""
        return [*self._first, *self._last]
