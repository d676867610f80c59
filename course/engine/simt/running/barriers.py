"""Barriers: who must arrive, and what an arrival orders."""

from __future__ import annotations

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.simt.running.lanes import Lanes
from course.plain.sectors import WARP_LANES


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


def check_members(lanes: Lanes, call: str, member: np.ndarray, line: int) -> None:
    """Every lane that a warp's mask names must be here, and every lane here be named.

    Raises:
        KernelFault: BARRIER_DIVERGENCE otherwise.
    """
    # each lane's own bit in the mask that it passes: (threads, blocks or 1)
    named = (member >> (lanes.thread_numbers % WARP_LANES)) & 1 == 1
    active = lanes.full(lanes.mask)
    if lanes.mask is None and named.all():
        return
    whole = (lanes.threads, max(named.shape[1], active.shape[1]))
    active = np.broadcast_to(active, whole)
    # The mask is the same in all lanes of a warp: take it from a lane that is here.
    bits = np.where(active, np.broadcast_to(member, whole), 0)
    per_warp = np.bitwise_or.reduce(lanes.in_warps(bits), axis=1, keepdims=True)
    lane = np.arange(WARP_LANES)[None, :, None]
    wanted = (per_warp >> lane) & 1 == 1
    warp_here = lanes.in_warps(active).any(axis=1, keepdims=True)
    alive = lanes.in_warps(np.broadcast_to(lanes.alive(), whole))
    absent = (wanted & alive & ~lanes.in_warps(active) & warp_here).reshape(whole)
    unnamed = active & ~named
    for wrong in (absent, unnamed):
        if wrong.any():
            raise lanes.fault(
                Outcome.BARRIER_DIVERGENCE,
                "bad_mask",
                line,
                wrong,
                call=call,
                lane=lanes.first_lane(wrong)[0] % WARP_LANES,
                named=bool(wrong is absent),
            )


def syncwarp(lanes: Lanes, line: int, member: np.ndarray | None) -> None:
    """The lanes of each warp that is here wait for each other."""
    if member is None:
        member = np.full((1, 1), 0xFFFFFFFF, np.int64)
    check_members(lanes, "cuda.syncwarp()", member, line)
    lanes.now += 1
    here = lanes.warps_with(lanes.full(lanes.mask))
    if here.all():
        lanes.warp_barrier_at = lanes.now
        return
    if here.shape[1] > 1:
        for array in lanes.shared.values():
            array.part_ways(lanes)
    count = lanes.warps * lanes.blocks
    moments = np.broadcast_to(np.asarray(lanes.warp_barrier_at), (count,)).copy()
    passed = np.broadcast_to(here, (lanes.warps, lanes.blocks)).T.ravel()
    moments[passed] = lanes.now
    lanes.warp_barrier_at = moments
