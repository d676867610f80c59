"""Requests of one warp, lane by lane: what pictures of a kernel are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Of each access in the source the first requests are kept.
MOST_KEPT = 3


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


class Requests:
    """Keeps the first requests of each access: of the first block or program, and of one warp.

    Attributes:
        shared: whether those to shared memory are kept, and not those to global memory.
    """

    def __init__(self, shared: bool = False) -> None:
        self.shared = shared
        self._kept: dict[tuple[str, str, int, int], list[Request]] = {}

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

    def by_access(self) -> list[list[Request]]:
        """What was kept of each access: line by line, and of a line as the work goes."""
        return sorted(filter(None, self._kept.values()), key=lambda kept: kept[0].line)
