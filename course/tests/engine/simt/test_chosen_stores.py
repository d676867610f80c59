"""Branches that do nothing but store, behind a store to the same element.

The numbers are those of the machine code that ptxas makes for sm_80 and sm_90, executed.
"""

import textwrap

import numpy as np
import pytest

import course
from course.engine.faults import KernelFault
from course.tests.written import module_of

HEAD = """from numba import cuda

@cuda.jit
def kernel(x, q, out, n):
    i = cuda.grid(1)
"""
GUARDED = HEAD + "    if i >= n:\n        return\n    v = x[i]\n    c = q[i]\n"
#: Each with its stores, as (requests, sectors): one for all lanes are 2 and 7.
KERNELS = (
    # made by all lanes: what it overwrites is not made
    ("out[i] = 0\nif i % 2 == 0:\n    out[i] = 1", (2, 7)),
    ("out[i] = v\nif c < 9:\n    out[i] = 0", (2, 7)),
    ("out[i] = 0\nif c > 9:\n    pass\nelse:\n    out[i] = 1", (2, 7)),
    ("out[i] = v\nif i == 0 or i == n - 1:\n    out[i] = 0", (2, 7)),
    ("out[i] = 0\nif 9 < v < 12:\n    out[i] = 1", (2, 7)),
    # ... but for a load between the two
    ("out[i] = 0\nif q[i] > 18:\n    out[i] = 1", (4, 14)),
    # floats are compared, or more is done, or the first store is too far away
    ("out[i] = v\nif v > 17:\n    out[i] = 17", (4, 9)),
    ("out[i] = v\nif i % 9 == 0:\n    out[i] = v * v", (4, 13)),
    ("out[i] = v\nif q[i + 1] + q[i + 2] == 20:\n    out[i] = 0", (4, 10)),
    ("out[i] = v\nif i > 40:\n    out[i] = 0", (3, 9)),
    ("out[i] = 0\nif c == 3 or c == 6:\n    out[i] = 1", (3, 8)),
    ("out[i] = 0\nif i > 3 and i < n - 1:\n    out[i] = 1", (4, 14)),
    ("out[i] = 0\nif 3 < i < n - 1:\n    out[i] = 1", (4, 14)),
    # two that are left are one
    ("out[i] = v\nif v < 2:\n    out[i] = 2\nif v > 17:\n    out[i] = 17", (4, 13)),
    ("if v < 2:\n    x[i] = 2\nif v > 17:\n    x[i] = 17", (2, 6)),
    ("if v < 2:\n    x[i] = v * v\nif v > 17:\n    x[i] = v - 17", (2, 6)),
    ("if v < 2:\n    out[i] = 2\nif v > 17:\n    out[i] = 17", (4, 7)),
    ("if v < 2:\n    x[i] = 2\nif q[i] > 17:\n    x[i] = 17", (4, 8)),
    # ... but where one loads what is loaded again behind a store
    ("out[i] = 7\nif x[i] > 9:\n    out[i] = 3\nif i < n - 1:\n    out[i] += x[i]", (6, 21)),
    # of three, the first is made by all
    ("out[i] = 0\nif c < 9:\n    out[i] = 1\nif c > 12:\n    out[i] = 2", (2, 7)),
    (
        "out[i] = 0\nif i % 3 == 0:\n    out[i] = 1\nif i % 5 == 0:\n    out[i] = 2\n"
        "if i % 15 == 0:\n    out[i] = 3",
        (4, 13),
    ),
    # where the block goes on, whatever is compared and worked out
    ("out[i] = v\nif v > 17:\n    out[i] = v * v - 17 * v\nx[i] = 0", (4, 14)),
    ("for k in range(i, n, 64):\n    out[k] = 2\n    if v > 17:\n        out[k] = 3", (2, 7)),
    ("for k in range(n):\n    out[i] = v\n    if v > k:\n        out[i] = k", (2, 7)),
    ("for k in range(n):\n    out[i] = k\n    if k % 3 == 0:\n        out[i] = 1", (2, 7)),
)


def test_a_turn_begins_behind_no_branch_of_the_one_before():
    body = "z = x[i]\nfor k in range(n):\n    if c > k:\n        x[i] = z"
    arguments = _arguments()
    _kernel(body)[1, 64](*arguments)
    assert (arguments[0] == _arguments()[0]).all()


def test_a_store_in_an_arm_of_an_expression_may_not_be_made():
    head = """from numba import cuda

@cuda.jit(device=True)
def marked(out, i, holds):
    if holds:
        out[i] = 1
    return 1

@cuda.jit
def kernel(x, q, out, n):
    i = cuda.grid(1)
    if i < n:
        v = out[i] + x[i]
        c = q[i]
        mark = marked(out, i, v > 3) if n < 9 else 0
        if c > mark:
            out[i] = 2
"""
    arguments = _arguments()
    module_of("written", head).kernel[1, 64](*arguments)
    assert (arguments[2][:50] == 2 * (arguments[1][:50] > 0)).all()


def _kernel(body: str, head: str = GUARDED):
    return module_of("written", head + textwrap.indent(body, "    ") + "\n").kernel


def _arguments() -> list:
    random = np.random.default_rng(3)
    x = random.integers(0, 20, 64).astype(np.float32)
    return [x, random.integers(0, 20, 80).astype(np.int32), np.zeros(64, np.float32), 50]


@pytest.mark.parametrize(("body", "counts"), KERNELS)
def test_a_branch_that_only_stores_is_one_store_with_the_one_in_front(body, counts):
    with course.measure() as traffic:
        _kernel(body)[1, 64](*_arguments())
    assert (traffic.stores.requests, traffic.stores.sectors) == counts


def test_both_stores_are_checked_where_one_is_made():
    for place, message in (("0", "RACE"), ("i + n", "OUT_OF_BOUNDS")):
        body = f"j = {place}\nout[j] = 0\nif i % 2 == 0:\n    out[j] = i"
        with pytest.raises(KernelFault, match=message):
            _kernel(body)[1, 64](*_arguments())


def test_branches_of_several_calls_are_one_store():
    """What a function does for each of its calls is known behind them all."""
    head = """from numba import cuda

@cuda.jit(device=True)
def marked(out, i, holds, mark):
    if holds:
        out[i] = mark

@cuda.jit
def kernel(x, q, out, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        marked(x, i, v < 2, 2)
        marked(x, i, v > 17, 17)
"""
    arguments = _arguments()
    wanted = np.where(np.arange(64) < 50, np.clip(arguments[0], 2, 17), arguments[0])
    module_of("written", head).kernel[1, 64](*arguments)
    assert (arguments[0] == wanted).all()
