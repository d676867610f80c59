"""Loads of values that one way through a branch alone uses, or none, held to NVVM's PTX."""

import textwrap

import numpy as np
import pytest

import course
from course.engine.faults import KernelFault, Outcome
from course.engine.simt.compiled import has_nvvm
from course.tests.engine.simt.ptx import compiled, parsed
from course.tests.engine.simt.ptx_run import Launch
from course.tests.written import module_of

HEAD = """import math
import numpy as np
from numba import cuda, float32

@cuda.jit
def kernel(x, y, out):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    v = float32(0)
"""
SIZE, THREADS = 96, 64
VALUES = ("b = y[i]", "b = y[2 * i % 80] * 2", "d = y[i]\nb = d + y[i + 1]", "b = x[i] - y[i]")
#: Each with whether the loads of `VALUES` are made in fewer lanes.
WAYS = (
    ("if x[i + 9] > 80:\n    out[i] = b", True),
    ("if t < 3:\n    out[i] = b", True),
    ("if x[i + 9] <= 80:\n    return\nout[i] = b", True),
    ("if x[i + 9] <= 80:\n    v += 1\nelse:\n    out[i] = b\nout[i + 128] = v", True),
    ("if not x[i + 9] <= 80:\n    out[i] = b", True),
    ("if x[i + 9] > 80 and x[i + 5] > 3:\n    out[i] = b", True),
    ("if x[i + 9] > 20:\n    if x[i + 5] > 80:\n        out[i] = b", True),
    ("if x[i + 9] > 80:\n    v = math.exp(b)\nout[i] = v", True),
    ("b = b + 1\nif x[i + 9] > 80:\n    out[i] = b", True),
    ("s = cuda.shared.array(64, float32)\ns[t] = v\nif t < 3:\n    out[i] = b + s[t]", True),
    ("if x[i + 9] > 80 or x[i + 5] > 90:\n    out[i] = b", False),
    ("if x[i + 9] > 80:\n    v = b\nout[i] = v", False),
    ("if b > 80:\n    out[i] = b", False),
    ("if x[i + 9] > 80:\n    out[i] = 1\nout[i + 128] = b", False),
    ("if x[i + 9] > 80:\n    out[i] = b\nelse:\n    out[i + 128] = b + 1", False),
    ("out[i] = 3\nif x[i + 9] > 80:\n    out[i] = b", False),
    ("cuda.syncthreads()\nif x[i + 9] > 80:\n    out[i] = b", False),
    ("cuda.atomic.max(out, 0, v)\nif x[i + 9] > 80:\n    out[i] = b", False),
)


def _arguments() -> list[np.ndarray]:
    random = np.random.default_rng(3)
    x, y = (random.permutation(SIZE).astype(np.float32) for _ in range(2))
    return [x, y, np.zeros(256, np.float32)]


def _kernel(body: str):
    return module_of("written", HEAD + textwrap.indent(body, "    ") + "\n").kernel


def _engine(kernel) -> list[tuple[int, int]]:
    """(requests, sectors) of the loads of x and of y."""
    with course.measure() as traffic:
        kernel[1, THREADS](*_arguments())
    loads = [[s for s in traffic.sites if (s.array, s.direction) == (a, "load")] for a in "xy"]
    return [(sum(s.requests for s in own), sum(s.sectors for s in own)) for own in loads]


def _ptx(kernel) -> list[tuple[int, int]]:
    own = _arguments()
    found = Launch(parsed(compiled(kernel, own)), own, (1,), (THREADS,)).run()
    return [(found.requests[one, "load"], found.sectors[one, "load"]) for one in (0, 1)]


@pytest.mark.slow
@pytest.mark.skipif(not has_nvvm(), reason="no NVVM here: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize(("way", "is_later"), WAYS)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_loaded_in_the_way_that_uses_it_as_in_ptx(value, way, is_later):
    kernel = _kernel(f"{value}\n{way}")
    assert _engine(kernel) == _ptx(kernel)
    first = _kernel(f"{value}\nout[i + 64] = b\n{way}")
    assert (_engine(kernel)[1] < _engine(first)[1]) == is_later


@pytest.mark.parametrize("way", [way for way, is_later in WAYS if is_later])
def test_a_value_that_one_way_uses_is_loaded_in_fewer_lanes(way):
    assert _engine(_kernel(f"b = y[i]\n{way}"))[1] < (2, 8)


@pytest.mark.parametrize(
    "body",
    [
        "v = y[i]\nv = float32(2)\nout[i] = v",
        "for k in range(3):\n    v += y[i]\nv = float32(2)\nout[i] = v",
        "if x[i] > 3:\n    v = y[i]\nv = float32(2)\nout[i] = v",
        "v = y[i]\nout[i] = 2\nv += 1",
    ],
)
def test_what_is_overwritten_or_left_is_not_loaded(body):
    assert _engine(_kernel(body))[1] == (0, 0)


def test_a_value_that_the_next_turn_uses_is_loaded():
    body = "w = v\nfor k in range(3):\n    v += w\n    w = y[i + k]\nout[i] = v"
    assert _engine(_kernel(body))[1] == (6, 28)


@pytest.mark.parametrize("index", ["i + 90", "i - 1"])
def test_a_load_that_is_made_later_is_out_of_bounds_where_it_stands(index):
    with pytest.raises(KernelFault) as caught:
        _engine(_kernel(f"b = y[{index}]\nif i == 4:\n    out[i] = b"))
    assert caught.value.outcome is Outcome.OUT_OF_BOUNDS
    assert caught.value.line == 10
