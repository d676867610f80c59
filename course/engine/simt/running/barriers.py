"""Barriers: who must arrive, and what an arrival orders."""

from __future__ import annotations

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.simt.running.lanes import Lanes
from course.plain.sectors import WARP_LANES

ALL_LANES = np.int64(0xFFFFFFFF)
LANES = np.arange(WARP_LANES, dtype=np.int64)[None, :, None]


def syncthreads(lanes: Lanes, barrier: str, line: int) -> np.ndarray:
    """Every thread of each block that is here has arrived; returns the lanes that live.

    A thread that returned before counts as arrived, as on the hardware.

    Raises:
        KernelFault: BARRIER_DIVERGENCE where a live thread of such a block is elsewhere.
    """
    alive = lanes.alive()
    here = None if lanes.mask is None else _blocks_here(lanes, alive, barrier, line)
    lanes.now += 1
    if here is None or here.all():
        lanes.barrier_at = lanes.now
        for array in lanes.shared.values():
            array.history.passed_barrier()
    else:
        for array in lanes.shared.values():
            array.part_ways(lanes)
        moments = np.broadcast_to(np.asarray(lanes.barrier_at), (lanes.blocks,)).copy()
        moments[here] = lanes.now
        lanes.barrier_at = moments
    return alive


def _blocks_here(lanes: Lanes, alive: np.ndarray, barrier: str, line: int) -> np.ndarray:
    """(blocks,): which of them has a lane at this barrier, and so every lane that lives."""
    active = lanes.full(lanes.mask)
    absent = alive & ~active
    here = np.broadcast_to(active.any(axis=0, keepdims=True), (1, lanes.blocks))
    missing = absent & here
    if np.count_nonzero(missing):
        thread, block = lanes.first_lane(missing)
        there = lanes.spread(active)[:, block - lanes.first]
        waits = lanes.place(int(np.argmax(there)), block)
        raise KernelFault(
            Outcome.BARRIER_DIVERGENCE,
            "barrier_divergence",
            line,
            barrier=barrier,
            missing_thread=lanes.place(thread, block)["thread"],
            **waits,
        )
    return here[0]


def sync_grid(lanes: Lanes, barrier: str, line: int) -> None:
    """Every thread of the launch has arrived, and what all of them did is done.

    Raises:
        KernelFault: BARRIER_DIVERGENCE where one is elsewhere; one that has returned never comes.
    """
    active = lanes.full(lanes.mask)
    absent = lanes.full(lanes.exist) & ~active
    if np.count_nonzero(absent):
        missing = lanes.place(*lanes.first_lane(absent))
        raise lanes.fault(
            Outcome.BARRIER_DIVERGENCE,
            "grid_divergence",
            line,
            active,
            barrier=barrier,
            missing_thread=missing["thread"],
            missing_block=missing["block"],
        )
    syncthreads(lanes, barrier, line)
    lanes.grid_barrier_at = lanes.now


def together(lanes: Lanes, call: str, member: np.ndarray, line: int) -> np.ndarray:
    """With which lanes of its warp each lane makes a call, as bits: (threads, blocks or 1).

    Every lane that its mask names must be here, pass the same mask, and so be named itself: a
    warp may do this in groups, each with a mask of its own.

    Raises:
        KernelFault: BARRIER_DIVERGENCE otherwise.
    """
    active = lanes.full(lanes.mask)
    if lanes.mask is None and (member & ALL_LANES == ALL_LANES).all():
        return np.full((lanes.threads, 1), ALL_LANES)
    whole = (lanes.threads, max(member.shape[1], active.shape[1]))
    active = lanes.in_warps(np.broadcast_to(active, whole))
    alive = lanes.in_warps(np.broadcast_to(lanes.alive(), whole))
    mask = lanes.in_warps(np.broadcast_to(member, whole)) & ALL_LANES
    here = bits_of(active)
    asked = np.where(active, mask & bits_of(alive), 0)
    missing = np.bitwise_or.reduce(asked & ~here, axis=1, keepdims=True)
    absent = (missing >> LANES) & 1 == 1
    unnamed = active & ((mask >> LANES) & 1 == 0)
    unlike = np.zeros_like(active)
    for lane in range(WARP_LANES if member.shape[0] > 1 else 0):
        unlike |= ((asked >> lane) & 1 == 1) & (mask != mask[:, lane : lane + 1])
    for wrong, problem in ((absent, "absent"), (unnamed, "unnamed"), (unlike, "unlike")):
        if wrong.any():
            lanes_wrong = wrong.reshape(whole)
            raise lanes.fault(
                Outcome.BARRIER_DIVERGENCE,
                "bad_mask",
                line,
                lanes_wrong,
                call=call,
                lane=lanes.first_lane(lanes_wrong)[0] % WARP_LANES,
                mask_fault=problem,
            )
    return asked.reshape(whole)


def bits_of(lanes_of_warps: np.ndarray) -> np.ndarray:
    """(warps, 1, blocks): a bit for each lane of a warp for which it holds."""
    bits = (lanes_of_warps.astype(np.int64) << LANES).sum(axis=1, keepdims=True)
    return np.asarray(bits)


def syncwarp(lanes: Lanes, line: int, member: np.ndarray | None) -> None:
    """The lanes of each warp that is here wait for each other, group by group."""
    if member is None:
        member = np.full((1, 1), ALL_LANES)
    groups = together(lanes, "cuda.syncwarp()", member, line)
    lanes.now += 1
    groups = lanes.in_warps(groups)
    alive = bits_of(lanes.in_warps(lanes.alive()))
    here = (groups & alive == alive).any(axis=1)  # (warps, blocks or 1): all that live, in one
    if here.all():
        lanes.warp_barrier_at = lanes.now
        return
    if here.shape[1] > 1:
        for array in lanes.shared.values():
            array.part_ways(lanes)
    count = lanes.warps * lanes.blocks
    moments = np.broadcast_to(np.asarray(lanes.warp_barrier_at), (count,)).copy()
    moments[np.broadcast_to(here, (lanes.warps, lanes.blocks)).T.ravel()] = lanes.now
    lanes.warp_barrier_at = moments
    of_a_part = np.where(here[:, None], 0, groups).reshape(lanes.threads, -1)
    if of_a_part.any():
        lanes.group_barrier(of_a_part)
