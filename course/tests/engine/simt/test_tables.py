"""What functions of angles read from tables, beside what an H200 counts of them (`hardware`)."""

import math

import numpy as np
from numba import cuda, float32

import course
from course import exercises as ex
from course.check.check import check_source

X = np.linspace(0, 200_000, 64, dtype=np.float32)


def tables_of(kernel, x):
    with course.measure() as found:
        kernel[1, 64](x, np.zeros(64, x.dtype))
    return {s.array: (s.requests, s.sectors) for s in found.sites if "table" in s.array}


@cuda.jit
def sines(x, out):
    i = cuda.grid(1)
    out[i] = math.sin(x[i])


@cuda.jit(fastmath=True)
def fast_sines(x, out):
    i = cuda.grid(1)
    out[i] = math.sin(x[i])


@cuda.jit
def half_angles(x, out):
    i = cuda.grid(1)
    unused = math.cos(x[i])  # what the test is about
    out[i] = math.tan(x[i] * float32(0.5))


def test_a_large_angle_in_float32_takes_six_words():
    assert tables_of(sines, X) == {"sin's table": (6, 6)}  # lanes of the second warp alone
    assert tables_of(sines, X / 2) == {}
    assert tables_of(half_angles, X) == {}
    assert tables_of(half_angles, X * 2) == {"tan's table": (6, 6)}


def test_a_fast_sine_reads_none_in_float32():
    assert tables_of(fast_sines, X) == {}
    assert tables_of(fast_sines, X.astype(np.float64)) == {"sin's table": (6, 12)}


def test_a_verdict_says_whose_table_it_is():
    source = (
        "from numba import cuda\nimport math\n\n\n@cuda.jit\ndef vector_add(a, b, c):\n"
        "    i = cuda.grid(1)\n    if i < c.size:\n        c[i] = a[i] + b[i] + 0 * math.cos(i)\n"
    )
    verdict = str(check_source(ex.vector_add, source))
    assert "load  cos's table" in verdict
    assert "`cos` reads a table of its own" in verdict
