"""Ways out of a loop: one inside another, and code behind them that nobody reaches."""

import numpy as np
import pytest
from numba import cuda

import course


@cuda.jit
def break_behind_continue(x, out):
    for k in range(x.size):
        if x[k] > 1:
            continue
            out[0] = -5
            break
        out[0] += x[k]


@cuda.jit
def break_behind_two_ways(x, out):
    for k in range(x.size):
        if x[k] > 1:
            if x[k] > 2:
                continue
            else:
                out[0] += 10
                continue
            break
        out[0] += x[k]


@cuda.jit
def continue_before_break(x, out):
    for k in range(x.size):
        if x[k] > 1:
            if x[k] < 3:
                continue
            break
        out[0] += x[k] + k


@cuda.jit
def store_behind_return(x, out):
    if x[0] > 2:
        return
        out[0] = 7
    out[0] = x[0]


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (break_behind_continue, 2),
        (break_behind_two_ways, 12),
        (continue_before_break, 4),
        (store_behind_return, 1),
    ],
)
def test_the_ways_out_of_a_loop_lead_where_python_says(kernel, wanted):
    out = np.zeros(1)
    kernel[1, 1](np.array([1.0, 2.0, 1.0, 3.0]), out)
    assert out == wanted


@cuda.jit
def breaks_in_a_break(x, y, out):
    i = cuda.grid(1)
    v = 0.0
    for k in range(i % 2, x.size):
        if x[k] > i % 3:
            if y[i] > 2:
                v += y[k]
                break
            v += x[k] * 2
            break
    out[i] = v


def test_a_way_out_inside_another_is_taken_by_its_own_lanes():
    x, y, out = np.array([0.0, 1.0, 5.0]), np.arange(8.0), np.zeros(8)
    with course.measure() as traffic:
        breaks_in_a_break[1, 8](x, y, out)
    firsts = [next(k for k in range(i % 2, 3) if x[k] > i % 3) for i in range(8)]
    wanted = [y[k] if y[i] > 2 else 2 * x[k] for i, k in enumerate(firsts)]
    np.testing.assert_array_equal(out, wanted)
    assert [site.requests for site in traffic.sites if site.array == "y"] == [1, 1]


@cuda.jit
def continues_at_the_end(x, y, out):
    i = cuda.grid(1)
    v = 0.0
    for k in range(4):
        v += x[i]
        if y[k] > 1:
            v += y[k]
            continue
        else:
            v -= y[k]
            continue
    out[i] = v


def test_a_continue_that_a_turn_ends_with_changes_nothing():
    x, y, out = np.arange(64.0), np.arange(4.0), np.zeros(64)
    with course.measure() as traffic:
        continues_at_the_end[1, 64](x, y, out)
    np.testing.assert_array_equal(out, 4 * x + 4)
    assert [site.requests for site in traffic.sites if site.array == "x"] == [2]
