"""`cuda.threadfence()`: what one block did before it is there for who hears of it by an atomic."""

import numpy as np
import pytest
from numba import cuda, int32

from course.engine.faults import Outcome
from course.tests.engine.simt.faults import fault_of

BLOCKS, THREADS = 6, 64
X = np.arange(BLOCKS * THREADS, dtype=np.float32)


@cuda.jit
def last_block_sums(x, parts, count, out, slip):
    i, t = cuda.grid(1), cuda.threadIdx.x
    last = cuda.shared.array(1, int32)
    if slip == 3:  # others store, too, and nothing says that they have done so
        parts[i] = x[i]
    elif t == 0:
        if slip == 1:
            cuda.threadfence()
        for k in range(THREADS):
            parts[i + k] = x[i + k]
    if t == 0:
        if slip not in (1, 2):
            cuda.threadfence()
        if slip == 4:
            cuda.atomic.add(count, 0, 1)
            last[0] = cuda.blockIdx.x == BLOCKS - 1
        else:
            last[0] = cuda.atomic.add(count, 0, 1) == BLOCKS - 1
    cuda.syncthreads()
    if last[0]:
        if t == 0:
            count[0] = 0
        total = np.float32(0)
        for k in range(t, x.size, THREADS):
            total += parts[k]
        out[t] = total


def sums(slip):
    parts, count, out = np.zeros_like(X), np.zeros(1, np.int32), np.zeros(THREADS, np.float32)
    return (BLOCKS, THREADS, X, parts, count, out, slip)


def test_the_last_block_finds_what_all_others_published():
    blocks, threads, *arguments = sums(0)
    last_block_sums[blocks, threads](*arguments)
    np.testing.assert_array_equal(arguments[3], X.reshape(BLOCKS, THREADS).sum(axis=0))
    assert arguments[2][0] == 0


@pytest.mark.parametrize(
    "slip",
    [
        pytest.param(1, id="fenced before the store"),
        pytest.param(2, id="no fence"),
        pytest.param(3, id="other threads of the block stored"),
        pytest.param(4, id="what the atomic finds is not looked at"),
    ],
)
def test_without_what_a_fence_needs_blocks_race(slip):
    assert fault_of(last_block_sums, *sums(slip)).outcome == Outcome.RACE


@cuda.jit
def last_block_adds(x, parts, count, out):
    b = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        parts[b] = x[b]
        cuda.threadfence()
        if cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1:
            for k in range(0, x.size, 500):
                out[0] += parts[k]


def test_a_grid_of_many_batches_meets_in_one_counter():
    x, out = np.arange(5000, dtype=np.float32), np.zeros(1, np.float32)
    last_block_adds[5000, 64](x, np.zeros_like(x), np.zeros(1, np.int32), out)
    assert out[0] == x[::500].sum()


@cuda.jit
def handed_on(flag, x, y, fenced, waits):
    """Block 0 has a number for block 1, where thread 0 waits for it."""
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        if t == 0:
            y[0] = x[0]
            if fenced:
                cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        if waits:
            cuda.syncthreads()
        y[1 + t] = y[0]


@pytest.mark.parametrize(("fenced", "waits"), [(True, True), (False, True), (True, False)])
def test_a_flag_is_heard_by_one_thread_and_behind_a_barrier_by_its_block(fenced, waits):
    flag, y = np.zeros(1, np.int32), np.zeros(65, np.float32)
    arguments = (2, 64, flag, X + 3, y, fenced, waits)
    if fenced and waits:
        handed_on[2, 64](*arguments[2:])
        assert (y[1:] == 3).all()
    else:
        assert fault_of(handed_on, *arguments).outcome == Outcome.RACE


@cuda.jit
def by_arrival(x, parts, count, out, checked):
    """Each block takes in what those before it have published, as far as these came first."""
    b = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        parts[b] = x[b]
        cuda.threadfence()
        came = cuda.atomic.add(count, 0, 1)
        if checked:
            if came == cuda.gridDim.x - 1:
                for k in range(cuda.gridDim.x):
                    out[0] += parts[k]
        elif came >= 0 and b > 0:
            out[b] = parts[b - 1]


def test_what_only_the_order_of_blocks_makes_right_is_a_race():
    def arguments(checked):
        return X, np.zeros(6, np.float32), np.zeros(1, np.int32), np.zeros(6, np.float32), checked

    right = arguments(True)
    by_arrival[6, 32](*right)
    assert right[3][0] == X[:6].sum()
    assert right[2][0] == 6
    fault = fault_of(by_arrival, 6, 32, *arguments(False))
    assert fault.outcome == Outcome.RACE


@cuda.jit
def places_by_arrival(place, count):
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        place[cuda.blockIdx.x] = cuda.atomic.add(count, 0, 1)


def test_places_in_the_order_of_arrival_are_no_result():
    fault = fault_of(places_by_arrival, 6, 32, np.zeros(6, np.int32), np.zeros(1, np.int32))
    assert (fault.outcome, fault.message_id) == (Outcome.RACE, "by_order")


@cuda.jit
def passed_along(flags, y):
    """Each block adds one to what the block before it has."""
    b = cuda.blockIdx.x
    while cuda.atomic.add(flags, b, 0) == 0:
        pass
    y[b + 1] = y[b] + 1
    cuda.threadfence()
    cuda.atomic.exch(flags, b + 1, 1)


def test_blocks_in_step_that_wait_for_the_one_before_are_not_measured():
    flags = np.array([1, 0, 0, 0], np.int32)
    fault = fault_of(passed_along, 3, 1, flags, np.zeros(4, np.float32))
    assert (fault.outcome, fault.message_id) == (Outcome.NOT_MEASURED, "lock")


@cuda.jit
def under_a_lock(x, lock, out, fenced):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        out[0] += x[cuda.blockIdx.x]
        if fenced:
            cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def test_blocks_under_a_lock_run_one_after_the_other():
    lock, out = np.zeros(1, np.int32), np.zeros(1, np.float32)
    under_a_lock[4, 32](X + 1, lock, out, True)
    assert (out[0], lock[0]) == (1 + 2 + 3 + 4, 0)
    assert fault_of(under_a_lock, 4, 32, X, lock, out, False).outcome == Outcome.RACE
