"""`cuda.cg.this_grid().sync()`: all threads of a launch wait for each other."""

import numpy as np
import pytest
from numba import cuda

import course
from course.engine.faults import Outcome
from course.tests.engine.simt.faults import fault_of

N = 4 * 64


@cuda.jit
def smoothed(x, y, steps):
    i = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for step in range(steps):
        if 0 < i < x.size - 1:
            if step % 2 == 0:
                y[i] = (x[i - 1] + x[i + 1]) / 2
            else:
                x[i] = (y[i - 1] + y[i + 1]) / 2
        grid.sync()


@cuda.jit
def turned(x, y, together):
    i = cuda.grid(1)
    y[i] = x[i]
    if together:
        cuda.cg.this_grid().sync()
    x[i] = y[x.size - 1 - i]


@cuda.jit(device=True)
def meet(grid):
    grid.sync()


@cuda.jit
def by_a_function(x, y):
    i = cuda.grid(1)
    tile = cuda.shared.array(64, np.float32)
    tile[cuda.threadIdx.x] = x[i]
    meet(cuda.cg.this_grid())
    y[N - 1 - i] = tile[63 - cuda.threadIdx.x]


@cuda.jit
def some_return(x):
    i = cuda.grid(1)
    if i >= x.size:
        return
    cuda.cg.this_grid().sync()
    x[i] = 1


@cuda.jit
def some_blocks(x):
    if cuda.blockIdx.x < 2:
        cuda.cg.this_grid().sync()


def numbers(count=N):
    return np.arange(count, dtype=np.float32) ** 2


def test_what_one_block_stored_before_another_loads_behind():
    x, y = numbers(), numbers()
    u, v = x.copy(), y.copy()
    with course.measure() as traffic:
        smoothed[4, 64](x, y, 3)
    for one, other in ((u, v), (v, u), (u, v)):
        other[1:-1] = (one[:-2] + one[2:]) / 2
    np.testing.assert_allclose((x, y), (u, v))
    # two steps of 8 warps; of those of 32 floats the first and the last have 31
    stores = [site for site in traffic.sites if site.direction == "store" and site.array == "y"]
    assert [(site.requests, site.sectors) for site in stores] == [(16, 64)]


def test_without_it_blocks_race():
    turned[4, 64](numbers(), x := numbers(), True)
    np.testing.assert_array_equal(x, numbers())
    fault = fault_of(turned, 4, 64, numbers(), numbers(), False)
    assert (fault.outcome, fault.fields["array"]) == (Outcome.RACE, "y")


def test_it_orders_the_threads_of_a_block_too_and_is_passed_to_a_function():
    x, y = numbers(), np.zeros(N, np.float32)
    by_a_function[4, 64](x, y)
    np.testing.assert_array_equal(y.reshape(4, 64)[::-1], x.reshape(4, 64))


@pytest.mark.parametrize(("kernel", "there", "missing"), [(some_return, 0, 3), (some_blocks, 0, 2)])
def test_who_does_not_come_is_named(kernel, there, missing):
    fault = fault_of(kernel, 4, 64, numbers(N - 1))
    assert (fault.outcome, fault.message_id) == (Outcome.BARRIER_DIVERGENCE, "grid_divergence")
    assert (fault.fields["block"], fault.fields["missing_block"]) == (str(there), str(missing))


def test_as_many_blocks_may_wait_as_run_at_once():
    # an A100 has 108 multiprocessors of 2,048 threads, and this many in one lockstep
    x, y = numbers(108 * 2048), numbers(108 * 2048)
    turned[108 * 8, 256](x, y, True)
    np.testing.assert_array_equal(x, y[::-1])
    fault = fault_of(turned, 108 * 8 + 1, 256, x, y, True)
    assert (fault.outcome, fault.fields["limit"]) == (Outcome.TOO_MANY_RESOURCES, 108 * 8)
