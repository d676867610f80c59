"""Shuffles, votes and matches: what the lanes of a warp tell each other."""

from __future__ import annotations

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.simt.running.barriers import bits_of, together
from course.engine.simt.running.lanes import Lanes
from course.plain.sectors import WARP_LANES

SHUFFLES = {
    "cuda.shfl_sync": ("mask", "value", "src_lane"),
    "cuda.shfl_up_sync": ("mask", "value", "delta"),
    "cuda.shfl_down_sync": ("mask", "value", "delta"),
    "cuda.shfl_xor_sync": ("mask", "value", "lane_mask"),
}
VOTES = ("cuda.ballot_sync", "cuda.all_sync", "cuda.any_sync", "cuda.eq_sync")


def shuffle(
    lanes: Lanes, path: str, member: np.ndarray, value: np.ndarray, other: np.ndarray, line: int
) -> np.ndarray:
    """Each lane's value of another lane of its warp; past the warp's ends its own.

    Raises:
        KernelFault: UNINITIALISED where that lane does not take part.
    """
    groups = together(lanes, f"{path}()", member, line)
    lane = lanes.thread_numbers % WARP_LANES
    if path == "cuda.shfl_sync":
        source = other % WARP_LANES
    elif path == "cuda.shfl_up_sync":
        source = np.where(lane - other >= 0, lane - other, lane)
    elif path == "cuda.shfl_down_sync":
        source = np.where(lane + other < WARP_LANES, lane + other, lane)
    else:
        source = (lane ^ other) % WARP_LANES
    blocks = max(source.shape[1], value.shape[1], groups.shape[1])
    shape = (lanes.threads, blocks)
    sources = lanes.in_warps(np.broadcast_to(source, shape)).astype(np.int64)
    values = lanes.in_warps(np.broadcast_to(value, shape))
    groups = np.broadcast_to(groups, shape)
    undefined = (groups != 0) & ((groups >> sources.reshape(shape)) & 1 == 0)
    if undefined.any():
        thread, block = lanes.first_lane(undefined)
        asked = int(sources.reshape(shape)[thread, (block - lanes.first) % blocks])
        raise KernelFault(
            Outcome.UNINITIALISED,
            "bad_shuffle",
            line,
            call=f"{path}()",
            lane=asked,
            **lanes.place(thread, block),
        )
    return np.take_along_axis(values, sources, axis=1).reshape(shape)


def vote(lanes: Lanes, path: str, member: np.ndarray, holds: np.ndarray, line: int) -> np.ndarray:
    """What the lanes of each group say together."""
    groups = lanes.spread(together(lanes, f"{path}()", member, line))
    yes = groups & _for_all(lanes, bits_of(lanes.in_warps(lanes.spread(holds))))
    if path == "cuda.ballot_sync":
        return yes.astype(np.uint32).view(np.int32)
    if path == "cuda.any_sync":
        return np.asarray(yes != 0)
    return np.asarray((yes == groups) | ((path == "cuda.eq_sync") & (yes == 0)))


def match(lanes: Lanes, member: np.ndarray, value: np.ndarray, line: int) -> np.ndarray:
    """A bit for each lane of the group that has a lane's own value, to the bit."""
    groups = lanes.spread(together(lanes, "cuda.match_any_sync()", member, line))
    values = lanes.in_warps(lanes.spread(value.view(f"i{value.itemsize}")))
    bits = np.zeros(values.shape, np.int64)
    for lane in range(WARP_LANES):
        one = slice(lane, lane + 1)
        bits |= (values == values[:, one]).astype(np.int64) << lane
    shared = bits.reshape(lanes.threads, -1) & groups
    return shared.astype(np.uint32).view(np.int32)


def active_mask(lanes: Lanes) -> np.ndarray:
    """A bit for each active lane of the warp."""
    active = lanes.in_warps(lanes.spread(lanes.full(lanes.mask)))
    return _for_all(lanes, bits_of(active).astype(np.uint32))


def _for_all(lanes: Lanes, per_warp: np.ndarray) -> np.ndarray:
    """(threads, blocks) from one value a warp, (warps, 1, blocks)."""
    return np.repeat(per_warp[:, 0, :], WARP_LANES, axis=0)
