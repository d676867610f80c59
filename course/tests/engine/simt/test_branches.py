"""Which choices count as branches: those of which NVVM makes a `bra`, and no `selp`."""

import math

import numpy as np
import pytest
from numba import cuda, float32

import course


@cuda.jit(device=True)
def slow(v):
    r = v
    for _ in range(8):
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit
def calls(x, y):
    i = cuda.grid(1)
    y[i] = slow(x[i]) if i % 2 == 0 else x[i]


@cuda.jit
def sines(x, y):
    i = cuda.grid(1)
    v = x[i]
    y[i] = math.sin(v) if i % 2 == 0 else v


@cuda.jit
def divisions(x, y):
    i = cuda.grid(1)
    v = x[i]
    y[i] = v / (v + 1) if i % 2 == 0 else v


@cuda.jit
def loads(x, y):
    i = cuda.grid(1)
    y[i] = x[i] if i % 2 == 0 else float32(0)


@cuda.jit
def six_operators(x, y):
    i = cuda.grid(1)
    v = x[i]
    y[i] = (((v * v + v) * v + v) * v + v) if i % 2 == 0 else v


@cuda.jit
def short_circuit(x, y):
    i = cuda.grid(1)
    v = x[i]
    y[i] = i % 2 == 0 and math.sin(v)


@cuda.jit
def few_operators(x, y):
    i = cuda.grid(1)
    v = x[i]
    y[i] = v * v + v if i % 2 == 0 else v - 1


@cuda.jit
def two_comparisons(x, y):
    i = cuda.grid(1)
    v = x[i]
    y[i] = i % 2 == 0 and v > 0


@cuda.jit
def whole_warps(x, y):
    i = cuda.grid(1)
    y[i] = slow(x[i]) if i // 32 % 2 == 0 else x[i]


def divergent(kernel):
    x = np.ones(128, np.float32)
    with course.measure() as traffic:
        kernel[2, 64](x, np.zeros_like(x))
    return traffic.divergent_branches


@pytest.mark.parametrize("kernel", [calls, sines, divisions, loads, six_operators, short_circuit])
def test_a_choice_with_a_dear_side_is_a_branch_of_each_warp_that_disagrees(kernel):
    assert divergent(kernel) == 4


@pytest.mark.parametrize("kernel", [few_operators, two_comparisons, whole_warps])
def test_a_choice_between_cheap_sides_is_none_and_neither_is_one_that_a_warp_agrees_on(kernel):
    assert divergent(kernel) == 0
