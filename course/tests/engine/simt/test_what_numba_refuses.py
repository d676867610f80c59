"""Small kernels that Numba refuses, and others beside them that it takes."""

import textwrap

import numpy as np
import pytest
from numba import cuda

from course.engine.cell.numba import read_cell
from course.engine.faults import Outcome
from course.engine.simt.launch import launch
from course.tests.engine.faults import raised

HEAD = """
import numpy as np
from numba import cuda, float32

@cuda.jit(device=True)
def own(x):
    return x

@cuda.jit(device=True)
def both(x, y):
    return x, y

@cuda.jit(device=True)
def named(x):
    y = x
    return y

@cuda.jit(device=True)
def cut(x):
    return x[1:]

@cuda.jit(device=True)
def its(n):
    part = cuda.local.array(4, float32)
    return part

@cuda.jit
def kernel(out, a, n, h):
"""
REFUSED = {
    "a boolean as an index": "out[n > 3] = 1",
    "a boolean as one of several": "out[0] = a[1, n > 3]",
    "a boolean as a tuple's index": "t = (1, 2)\nout[0] = t[True]",
    "all of an array": "out[0] = a[...][0, 1]",
    "a shared array of nothing": "s = cuda.shared.array((4, 0), float32)\nout[0] = 1",
    "a local array of nothing": "s = cuda.local.array(0, float32)\nout[0] = 1",
    "a length as a shape": "s = cuda.shared.array(len((1, 2)), float32)\nout[0] = 1",
    "a conversion as a shape": "s = cuda.shared.array(int(4), float32)\nout[0] = 1",
    "an array under another name": "out[0] = named(a)[1, 1]",
    "a part of a parameter": "out[0] = cut(a)[1, 1]",
    "an array of a function's own": "out[0] = its(n)[1]",
    "an array or its transpose, by number": "t = (a, a.T)\nout[0] = t[n % 2][0, 1]",
    "a row or a column, by number": "t = (a[0], a[:, 0])\nout[0] = t[n % 2][1]",
    "arrays of two types, by number": "t = (out, h)\nout[0] = t[n % 2][0]",
    "two layouts by a loop's number": "t = (a, a.T)\nfor k in range(2):\n    out[0] += t[k][0, 1]",
    "a loop over two layouts": "for x in (a, a.T):\n    out[0] += x[0, 1]",
    "two types by a loop's number": "t = (1, 2.5)\nfor k in range(2):\n    out[0] += t[k]",
}
TAKEN = {
    "a boolean as an atomic's index": "cuda.atomic.add(out, n > 3, 7)",
    "a boolean in arithmetic": "out[0 + (n > 3)] = 7",
    "an ellipsis beside an index": "out[1] = a[..., 1][0] + 6",
    "an ellipsis that is assigned to": "out[...] = 7",
    "dynamic shared memory": "s = cuda.shared.array(0, float32)\nout[1] = 7",
    "a parameter that comes back": "out[1] = own(a)[1, 1] + 6",
    "two that come back": "x, y = both(a, out)\nout[1] = x[1, 1] + 6",
    "an inner function's part": "f = lambda x: x[1:]\nout[1] = f(a)[0, 1] + 6",
    "two layouts by constants": "t = (a, a.T, out)\nk = 1\nout[1] = t[k][1, 0] + 6 + t[-1][0]",
    "two rows, by number": "t = (a[0], a[1])\nout[1] = t[n % 2][1] + 6",
    "a whole number of a float16": "out[1] = int(h[0]) + 6",
}


def launched(body, run):
    function = read_cell(HEAD + textwrap.indent(body, "    ")).kernels["kernel"]
    out = np.zeros(4, np.float32)
    given = (out, np.ones((4, 4), np.float32), 7, np.full(1, 1.5, np.float16))
    return run(launch, function, given, 1, 1), out


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
def test_what_numba_refuses_does_not_compile(body):
    fault, _ = launched(body, raised)
    assert fault.outcome is Outcome.DOES_NOT_COMPILE, str(fault)  # as Numba itself has said


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN.keys())
def test_what_numba_takes_runs(body):
    _, out = launched(body, lambda run, *given: run(*given))
    assert out[1] == 7


def test_a_tuple_of_arrays_in_two_layouts_has_a_sentence():
    fault, _ = launched(REFUSED["an array or its transpose, by number"], raised)
    assert str(fault).endswith(
        "the index of a tuple of 2 must be a constant below 2, as its arrays lie in memory in "
        "several ways."
    )


@pytest.mark.skipif("numba_cuda" in cuda.__file__, reason="numba-cuda has np.exp in kernels")
def test_numpys_function_that_numba_has_not_is_told_with_the_one_of_math():
    fault, _ = launched("out[0] = np.exp(a[0, 0])", raised)
    assert str(fault).endswith("np.exp has no implementation for (float32): use math.exp.")
