"""Races are found exactly where two accesses are unordered: held to a check of every pair."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import cuda, int32

import course
import course.engine.simt.launch

CELLS = 12
NOTHING, READ, WRITE, ATOMIC = range(4)
NO_BARRIER, BLOCK, WARP = range(3)


@cuda.jit
def on_shared(cells, kinds, barriers, out):
    s = cuda.shared.array(CELLS, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t < CELLS:
        s[t] = 0
    cuda.syncthreads()
    total = 0
    for step in range(kinds.shape[0]):
        if kinds[step, i] == READ:
            total += s[cells[step, i]]
        elif kinds[step, i] == WRITE:
            s[cells[step, i]] = 1000 * step + i
        elif kinds[step, i] == ATOMIC:
            cuda.atomic.add(s, cells[step, i], 1)
        if barriers[step] == BLOCK:
            cuda.syncthreads()
        elif barriers[step] == WARP:
            cuda.syncwarp()
    out[i] = total


@cuda.jit
def on_global(cells, kinds, barriers, out, s):
    i = cuda.grid(1)
    total = 0
    for step in range(kinds.shape[0]):
        if kinds[step, i] == READ:
            total += s[cells[step, i]]
        elif kinds[step, i] == WRITE:
            s[cells[step, i]] = 1000 * step + i
        elif kinds[step, i] == ATOMIC:
            cuda.atomic.add(s, cells[step, i], 1)
        if barriers[step] == BLOCK:
            cuda.syncthreads()
        elif barriers[step] == WARP:
            cuda.syncwarp()
    out[i] = total


def conflicts(cells, kinds, barriers, threads, shared):
    """Every unordered pair of accesses, as {(thread, other)} with both ways round."""
    accesses = [
        (step, i, int(cells[step, i]), int(kinds[step, i]))
        for step in range(kinds.shape[0])
        for i in range(kinds.shape[1])
        if kinds[step, i]
    ]
    found = set()
    for n, (step, i, cell, kind) in enumerate(accesses):
        for later, j, other_cell, other_kind in accesses[n + 1 :]:
            same_block = i // threads == j // threads
            if cell != other_cell or i == j or (shared and not same_block):
                continue
            if kind == other_kind == READ or kind == other_kind == ATOMIC:
                continue
            between = set(barriers[step:later].tolist())
            same_warp = same_block and (i % threads) // 32 == (j % threads) // 32
            if not ((same_block and BLOCK in between) or (same_warp and WARP in between)):
                found |= {(i, j), (j, i)}
    return found


@st.composite
def programs(draw):
    """(cells, kinds, barriers, threads): what each thread touches, step by step."""
    threads = draw(st.sampled_from([40, 64]))
    blocks = draw(st.integers(1, 3))
    steps = draw(st.integers(1, 5))
    random = draw(st.randoms(use_true_random=False))
    cells = np.zeros((steps, threads * blocks), np.int64)
    kinds = np.zeros_like(cells)
    for step in range(steps):
        for _ in range(draw(st.integers(0, 4))):
            i = random.randrange(threads * blocks)
            cells[step, i] = random.randrange(CELLS)
            kinds[step, i] = random.choice([READ, READ, WRITE, ATOMIC])
    barriers = np.array(
        [draw(st.sampled_from([NO_BARRIER, BLOCK, BLOCK, WARP])) for _ in range(steps)]
    )
    return cells, kinds, barriers, threads


def check(program, shared, batch_lanes, monkeypatch):
    cells, kinds, barriers, threads = program
    monkeypatch.setattr(course.engine.simt.launch, "BATCH_LANES", batch_lanes)
    total = kinds.shape[1]
    args = [cells, kinds, barriers, np.zeros(total, np.int64)]
    kernel = on_shared if shared else on_global
    if not shared:
        args.append(np.zeros(CELLS, np.int32))
    wanted = conflicts(cells, kinds, barriers, threads, shared)
    fault = None
    try:
        kernel[total // threads, threads](*args)
    except course.KernelFault as caught:
        fault = caught
    assert (fault is not None) == bool(wanted), str(fault)
    if fault is not None:
        assert fault.outcome is course.Outcome.RACE
        check_words(fault, wanted, threads)


def check_words(fault, wanted, threads):
    """The two threads that are named do conflict."""
    thread, block = int(fault.fields["thread"]), int(fault.fields["block"])
    others = {j for i, j in wanted if i == block * threads + thread}
    assert others, str(fault)
    other, other_block = fault.fields["other_thread"], fault.fields["other_block"]
    if other != "several":
        assert int(other_block) * threads + int(other) in others, str(fault)
    elif other_block != "several":
        assert any(j // threads == int(other_block) for j in others), str(fault)


QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=3000)


@QUICK
@given(programs(), st.booleans(), st.sampled_from([1, 128, 1 << 17]))
def test_a_race_is_found_exactly_where_two_accesses_are_unordered(
    monkeypatch, program, shared, batch_lanes
):
    check(program, shared, batch_lanes, monkeypatch)


def test_a_read_by_another_warp_is_remembered_beside_ones_own(monkeypatch):
    """Found at random: thread 32 reads a cell, thread 0 reads it too, passes a syncwarp, writes."""
    cells, kinds = np.zeros((3, 40), np.int64), np.zeros((3, 40), np.int64)
    cells[0, 32] = cells[1, 0] = cells[2, 0] = 1
    kinds[0, 32] = kinds[1, 0] = READ
    kinds[2, 0] = WRITE
    program = (cells, kinds, np.array([NO_BARRIER, WARP, NO_BARRIER]), 40)
    check(program, shared=False, batch_lanes=1, monkeypatch=monkeypatch)


@pytest.mark.slow
@LONG
@given(programs(), st.booleans(), st.sampled_from([1, 128, 1 << 17]))
def test_a_race_is_found_in_thousands_of_programs(monkeypatch, program, shared, batch_lanes):
    check(program, shared, batch_lanes, monkeypatch)
