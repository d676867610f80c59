"""Loads that the compiler makes elsewhere than they stand, where their variables are others.

The numbers are those of the machine code that ptxas makes for sm_80 and sm_90, executed.
"""

import textwrap

import numpy as np
import pytest

import course
from course.tests.written import module_of

HEAD = """from numba import cuda

@cuda.jit(device=True)
def at(a, i):
    return a[i]

@cuda.jit(device=True)
def beside(a, k):
    i = k + 1
    return a[i]

@cuda.jit
def kernel(x, y, out):
    i = cuda.grid(1)
    j = 0
"""


def _loads_of_y(body: str) -> tuple[int, int]:
    kernel = module_of("written", HEAD + textwrap.indent(body, "    ") + "\n").kernel
    random = np.random.default_rng(3)
    x, y = (random.permutation(256).astype(np.float32) for _ in range(2))
    with course.measure() as traffic:
        kernel[1, 64](x, y, np.zeros(256, np.float32))
    loads = [s for s in traffic.sites if (s.array, s.direction) == ("y", "load")]
    return sum(s.requests for s in loads), sum(s.sectors for s in loads)


@pytest.mark.parametrize(
    "body",
    [
        # both ways load it
        "if x[i] > 99:\n    j = i + 1\n    v = y[j]\nelse:\n    v = y[i + 1] * 2\nout[i] = v",
        "k = i\nif x[i] > 9:\n    k = i + 1\n    v = y[k]\nelse:\n    v = -y[i + 1]\nout[i] = v",
        "if x[i] > 99:\n    v = beside(y, i)\nelse:\n    v = beside(y, i) * 2\nout[i] = v",
        "out[i] = beside(y, i) if x[i] > 99 else beside(y, i) * 2",
        "if x[i] > 99:\n    v = y[i + 1]\nelse:\n    v = -beside(y, i)\nout[i] = v",
        # one way and what stands behind
        "v = 0.0\nif x[i] > 99:\n    j = i + 1\n    v = y[j]\nk = i + 1\nout[i] = v + y[k]",
        "v = 0.0\nif x[i] > 99:\n    v = beside(y, i)\nout[i] = v + beside(y, i)",
        "v = 0.0\nif x[i] > 99:\n    v = y[i + 1]\nk = i + 1\nout[i] = v + at(y, k)",
    ],
)
def test_a_load_that_is_made_once_has_the_index_of_its_own_place(body):
    assert _loads_of_y(body) == (2, 9 + 1)


def test_a_call_in_both_ways_has_its_own_arguments():
    body = "if x[i] > 99:\n    out[i] = at(y, i)\nelse:\n    out[i] = at(y, i) * 2"
    assert _loads_of_y(body) == (2, 8)
