"""Which loads that no turn changes are made in front of a loop, and where its ways out store.

The numbers are those of the machine code that ptxas makes for sm_80 and sm_90, executed.
"""

import textwrap

import numpy as np
import pytest

import course
from course.tests.written import module_of

HEAD = """from numba import cuda, float32

@cuda.jit
def kernel(x, y, out, n):
    i = cuda.grid(1)
    if i >= n:
        return
    s = float32(0)
    j = 0
"""
ADD = "for j in range({}):\n    s += x[j]\n    {}\nout[i] = s"
FIND = "for j in range({}):\n    if x[j] == y[i]:\n        out[i] = j\n        {}\n{}"
#: Each with its loads of y and its stores, as (requests, sectors).
KERNELS = (
    # a branch that leaves is a turn's last: what a turn loads is loaded in each
    (ADD.format("n", "if s > y[i]:\n        break"), ((16, 52), (2, 7))),
    (ADD.format("16", "if s > y[i]:\n        break"), ((16, 52), (2, 7))),
    (ADD.format("n", "if s > y[i] and j > 3:\n        break"), ((16, 52), (2, 7))),
    (ADD.format("n", "if s < y[i]:\n        pass\n    else:\n        break"), ((16, 52), (2, 7))),
    (FIND.format("n", "break", ""), ((100, 350), (2, 6))),
    (FIND.format("n", "return", ""), ((100, 350), (2, 6))),
    (FIND.format("n", "return", "out[i] = -1"), ((100, 350), (21, 26))),
    (
        "for j in range(n):\n    out[i] += x[j] * y[i]\n    if j > 20:\n        break",
        ((44, 154), (44, 154)),
    ),
    # where it goes to a place of its own, and there is a first turn, it is loaded once
    (FIND.format("16", "break", ""), ((2, 7), (2, 4))),
    (FIND.format("16", "return", "out[i] = -1"), ((2, 7), (9, 14))),
    # there is more behind it, another way back or no question in front
    (ADD.format("n", "if s > y[i]:\n        break\n    s += 1"), ((2, 7), (2, 7))),
    (
        ADD.format("n", "if x[j] < 9:\n        continue\n    if s > y[i]:\n        break"),
        ((8, 24), (2, 7)),
    ),
    (ADD.format("n", "if x[j] > 9:\n        if s > y[i]:\n            break"), ((8, 24), (2, 7))),
    (
        "while j < n:\n    s += x[j]\n    j += 1\n    if s > y[i]:\n        break\nout[i] = s",
        ((2, 7), (2, 7)),
    ),
    # all that an `and` in front of a turn loads
    ("while j < n and x[j] != y[i]:\n    j += 1\nout[i] = j", ((2, 7), (2, 7))),
    (
        "j = i\nwhile j > 0 and x[j] > 9 and s < y[i]:\n    s += x[j]\n    j -= 1\nout[i] = s",
        ((2, 6), (2, 7)),
    ),
    ("while j < n and y[i] > j:\n    j += 1\nout[i] = j + y[i]", ((4, 14), (2, 7))),
)


def _kernel(body: str):
    return module_of("written", HEAD + textwrap.indent(body, "    ") + "\n").kernel


def _arguments() -> list:
    random = np.random.default_rng(3)
    x, y = (random.permutation(64).astype(np.float32) for _ in range(2))
    return [x, y * 2, np.zeros(64, np.float32), 50]


@pytest.mark.parametrize(("body", "counts"), KERNELS)
def test_what_no_turn_changes_is_loaded_as_often_as_in_the_machine_code(body, counts):
    with course.measure() as traffic:
        _kernel(body)[1, 64](*_arguments())
    own = [
        [s for s in traffic.sites if (s.array, s.direction) == one]
        for one in (("y", "load"), ("out", "store"))
    ]
    assert tuple((sum(s.requests for s in o), sum(s.sectors for s in o)) for o in own) == counts
