"""Choices between two elements: one load, from the one address or the other.

The numbers are those of the machine code that ptxas makes for sm_80 and sm_90, executed.
"""

import textwrap

import numpy as np
import pytest

import course
from course.tests.written import module_of

HEAD = """from numba import cuda

@cuda.jit
def kernel(x, y, q, out, n):
    i = cuda.grid(1)
    if i >= n:
        return
"""
IF = "if {}:\n    v = {}\nelse:\n    v = {}\nout[i] = {}"
#: Each with its loads, as (requests, sectors).
KERNELS = (
    ("out[i] = x[i] if i % 2 == 0 else y[i]", (2, 14)),
    (IF.format("i % 2 == 0", "x[i]", "y[i]", "v"), (2, 14)),
    (IF.format("i % 2 == 0", "x[i]", "x[i + 1]", "v"), (2, 8)),
    (IF.format("i == 0", "x[n - 1]", "x[i - 1]", "v"), (2, 9)),
    # what is held helps where both are
    ("out[i] = x[i] if x[i] > 9 else y[i]", (4, 21)),
    ("out[i] = x[i] if x[i] > y[i] else y[i]", (4, 14)),
    (IF.format("y[i] < 9", "x[i]", "y[i]", "v + x[i]"), (6, 27)),
    (IF.format("x[i] > 9 and y[i] > 9", "x[i]", "y[i]", "v"), (4, 14)),
    (IF.format("x[i] > 9 and y[i] > 9", "x[i + 1]", "y[i + 1]", "v"), (6, 29)),
    ("out[i] = x[i - 1] if i > 0 and x[i] > 9 else x[i]", (4, 15)),
    # two types, or more than a load
    ("out[i] = x[i] if i % 2 == 0 else q[i]", (4, 14)),
    (IF.format("i % 2 == 0", "2 * x[i]", "3 * y[i]", "v"), (4, 14)),
    (IF.format("i % 2 == 0", "abs(x[i])", "abs(y[i])", "v"), (4, 14)),
    ("if i % 2 == 0:\n    out[i] = x[i]\nelse:\n    out[i] = y[i]", (4, 14)),
    # the same is done with both
    (IF.format("i % 2 == 0", "2 * x[i]", "2 * y[i]", "v"), (2, 14)),
    (IF.format("i % 2 == 0", "x[i + 1] - x[i]", "x[i + 2] - x[i + 1]", "v"), (4, 16)),
    (IF.format("i % 2 == 0", "x[i] / 3; k = 1", "y[i] / 3; k = 2", "v * k"), (2, 14)),
    ("v = x[n]\nif i % 2 == 0:\n    v += x[i]\nelse:\n    v += y[i]\nout[i] = v", (4, 16)),
    ("v = x[n]\nif i % 2 == 0:\n    v += x[i]\nelse:\n    v -= y[i]\nout[i] = v", (6, 16)),
    ("out[i] = x[i] - x[i + 1] if i % 2 == 0 else x[i + 2] - x[i]", (4, 15)),
    (IF.format("i % 2 == 0", "x[i] - y[i]", "x[i + 1] - y[i + 1]", "v"), (4, 16)),
    (IF.format("i % 2 == 0", "x[i] * x[i]", "x[i + 1] * x[i + 1]", "v"), (2, 8)),
    # ... but not with two elements of other arrays
    ("out[i] = x[i] - x[i + 1] if i % 2 == 0 else y[i] - y[i + 1]", (8, 29)),
    # an index that is loaded is loaded in front
    ("j = q[i]\n" + IF.format("i % 2 == 0", "x[i]", "y[j]", "v"), (4, 26)),
    # in a loop
    ("v = 0.0\nfor k in range(n):\n    v += x[k] if k < i else y[k]\nout[i] = v", (100, 148)),
    # of lanes, too, that have no turn yet where it is loaded
    (
        "v = 0.0\nfor k in range(n % 7 + i % 5):\n"
        "    v += k * (x[i] if i % 3 == 0 else x[i + 1])\nout[i] = v",
        (2, 8),
    ),
)


def _kernel(body: str):
    return module_of("written", HEAD + textwrap.indent(body, "    ") + "\n").kernel


def _arguments() -> list:
    random = np.random.default_rng(3)
    x, y = (random.integers(0, 20, 64).astype(np.float32) for _ in range(2))
    return [x, y, random.permutation(64).astype(np.int32), np.zeros(64, np.float32), 50]


@pytest.mark.parametrize(("body", "counts"), KERNELS)
def test_a_choice_between_two_elements_is_one_load(body, counts):
    with course.measure() as traffic:
        _kernel(body)[1, 64](*_arguments())
    assert (traffic.loads.requests, traffic.loads.sectors) == counts


def test_a_name_for_either_array_asks_for_lanes_that_have_no_turn_yet():
    body = """s = x if i % 2 == 0 else y
v = 0.0
for k in range((i * 7) % 13):
    v += k * s[i]
out[i] = v"""
    with course.measure() as traffic:
        _kernel(body)[1, 64](*_arguments())
    assert traffic.loads.sectors == 14


#: Each with its loads and stores, as (requests, sectors).
OF_ARRAYS = (
    ("s = x if i % 2 == 0 else y\nout[i] = s[i]", (2, 14), (2, 7)),
    ("s = x if i < 40 else y\ns[i] = 1", (0, 0), (2, 7)),
    ("s = x if i % 3 == 0 else y if i < 40 else out\nout[i] = s[i]", (2, 14), (2, 7)),
    ("s = x if i < 40 else y\nfor k in range(i % 3):\n    out[i] += s[i + k]", (6, 21), (4, 13)),
)


@pytest.mark.parametrize(("body", "loads", "stores"), OF_ARRAYS)
def test_an_element_of_a_chosen_array_is_one_access(body, loads, stores):
    with course.measure() as traffic:
        _kernel(body)[1, 64](*_arguments())
    assert (traffic.loads.requests, traffic.loads.sectors) == loads
    assert (traffic.stores.requests, traffic.stores.sectors) == stores
