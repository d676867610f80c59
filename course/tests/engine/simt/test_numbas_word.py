"""A kernel does not compile where Numba's own compiler says so, and nowhere else."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from numba import cuda, float32
from numba.cuda import libdevice

import course  # noqa: F401  # kernels run without a GPU
from course import exercises as ex
from course.check.check import check_source
from course.engine.cell.numba import live_function
from course.engine.faults import Outcome
from course.engine.simt import numbas_word
from course.engine.simt.launch import _arguments
from course.engine.simt.lowering import intrinsics
from course.tests.engine.simt.faults import fault_of

from . import students_views

V = np.ones(8, np.float32)
M = np.ones((4, 4), np.float32)


@cuda.jit
def whole_arrays(x, out):
    out[0] = x + 1


@cuda.jit
def float_index(x, out):
    out[1.5] = 1


@cuda.jit
def read_before_it_is_assigned(x, out):
    out[0] = later  # noqa: F821  # what the test is about
    later = 1


@cuda.jit
def two_types(x, out):
    if x[0, 0] > 0:
        t = (1, 2)
    else:
        t = 1.0
    out[0] = t


@cuda.jit
def shape_from_the_launch(x, out):
    tile = cuda.shared.array(x.shape[0], float32)
    tile[0] = max(1, 2)
    out[0] = tile[0]


@cuda.jit
def array_into_a_slice(x, out):
    out[:4] = x[0]


@cuda.jit
def several_kinds_of_arrays(x, out):
    for a in (x, out):
        a[0] = 1


REFUSED = [
    whole_arrays,
    float_index,
    read_before_it_is_assigned,
    two_types,
    shape_from_the_launch,
    array_into_a_slice,
    several_kinds_of_arrays,
]


@cuda.jit
def asks_for_a_part(x, out):
    if x[0, 0].real > 0:
        out[0] = max(1, 2)


@cuda.jit
def asks_for_none(x, out):
    if x is not None:
        out[0] = 1


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_what_numba_refuses_does_not_compile(kernel):
    assert fault_of(kernel, 1, 1, M, V).outcome == Outcome.DOES_NOT_COMPILE


@pytest.mark.parametrize("kernel", [asks_for_a_part, asks_for_none])
def test_what_numba_compiles_and_nobody_runs_here_is_not_measured(kernel):
    first = inspect.getsourcelines(kernel.py_func)[1]
    fault = fault_of(kernel, 1, 1, M, V)
    assert fault.outcome == Outcome.NOT_MEASURED
    assert fault.line == first + 2
    assert "Numba compiles this kernel" in str(fault)


@cuda.jit
def a_choice_as_a_shape(x, out):
    tile = cuda.shared.array(32 if True else 64, float32)
    out[0] = x[0, 0]


def test_of_what_is_not_run_its_own_message_tells_what_it_is():
    fault = fault_of(a_choice_as_a_shape, 1, 1, M, V)
    assert fault.message_id == "numba_compiles"
    assert "not run here: The shape of the shared array tile is `32 if True" in str(fault)


@cuda.jit
def a_power_as_a_shape(x, out):
    tile = cuda.shared.array((2**3, 2**2 * 8), float32)
    tile[7, 31] = x[0, 0]
    out[0] = tile[2**3 - 1, 31] + 3.0**2


def test_a_power_of_numbers_is_a_number_before_the_launch():
    out = np.zeros_like(V)
    a_power_as_a_shape[1, 1](M, out)
    assert out[0] == M[0, 0] + 9


@cuda.jit
def numbers_of_python(out):
    out[0] = 2**63
    out[1] = -(2**63)
    out[2] = 2**64 - 1
    out[3] = not None


def test_literals_are_worked_out_as_python_does_before_numba_types_them():
    out = np.zeros(4)
    numbers_of_python[1, 1](out)
    assert out.tolist() == [2.0**63, -(2.0**63), 2.0**64, 1.0]


@cuda.jit
def a_number_beyond_64_bits(x, out):
    out[0] = x[0, 0] + 2**64


@cuda.jit
def an_attribute_that_nothing_has(x, out):
    out[0] = x[0, 0].nope


@cuda.jit
def an_attribute_of_pythons_own(x, out):
    out[0] = x[0, 0].__class__


@pytest.mark.parametrize(
    "kernel",
    [a_number_beyond_64_bits, an_attribute_that_nothing_has, an_attribute_of_pythons_own],
)
def test_what_numba_has_no_such_thing_of_does_not_compile(kernel):
    fault = fault_of(kernel, 1, 1, M, V)
    assert fault.outcome == Outcome.DOES_NOT_COMPILE
    assert str(fault).startswith("DOES_NOT_COMPILE: line")


@cuda.jit
def a_comprehension_behind_a_mistake(x, out):
    out[0] = x[0, 0].real
    out[1] = [v + 1 for v in (1, 2)][1]


def test_of_a_kernel_that_numba_is_not_asked_about_nothing_is_claimed():
    fault = fault_of(a_comprehension_behind_a_mistake, 1, 1, M, V)
    assert (fault.outcome, fault.message_id) == (
        Outcome.NOT_MEASURED,
        "numba_not_asked",
    )


def test_names_outside_of_the_closed_tables_do_not_reach_numba():
    source = (
        "from numba import cuda\nimport numpy as np\n\n\n@cuda.jit\n"
        "def vector_add(a, b, c):\n    c[0] = a[0].real\n    np.os.system('touch /tmp/x')\n"
    )
    verdict = check_source(ex.vector_add, source)
    assert verdict.outcome == Outcome.NOT_MEASURED
    assert verdict.message_id == "numba_not_asked"


@pytest.mark.parametrize(
    "line",
    [
        "cuda.atomic.add(i, c[a], 1)",
        "cuda.atomic.add(c, (i, i), 1)",
        "cuda.atomic.add(c, a, 1)",
        "cuda.atomic.cas(c, 0)",
        "c[cuda.grid()] = a[i]",
    ],
)
def test_what_breaks_numbas_compiler_does_not_compile(line):
    source = (
        f"from numba import cuda\n\n\n@cuda.jit\ndef vector_add(a, b, c):\n"
        f"    i = cuda.grid(1)\n    {line}\n"
    )
    verdict = check_source(ex.vector_add, source)
    assert (verdict.outcome, verdict.line) == (Outcome.DOES_NOT_COMPILE, 7)


ENDLESS = """
import course
from course import exercises as ex
from course.check.check import check_source

verdict = check_source(ex.vector_add, '''
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    y = 9**9**9
    if y:
        c[0] = 1
    c[:4] = a[0].real
''')
print(verdict.outcome.name)
"""


def test_a_condition_that_would_never_be_worked_out_has_a_verdict():
    program = [sys.executable, "-c", ENDLESS]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() in ("DOES_NOT_COMPILE", "NOT_MEASURED")


@cuda.jit
def counts_by_sixteen(x, flat, rows):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(flat, x[i] / 16, 1)
        cuda.atomic.add(rows, (0, x[i] / float32(16)), 1)


def test_an_atomic_cuts_a_float_to_an_index():
    """Numba casts an atomic's index, and no other one."""
    flat, rows = np.zeros(16, np.int32), np.zeros((1, 16), np.int32)
    counts_by_sixteen[8, 32](np.arange(256, dtype=np.int32), flat, rows)
    assert flat.tolist() == rows[0].tolist() == [16] * 16


ROWS = {"rows_by_device_function": (M, V), "stencil_by_window": (V, V), "shared_halo": (V, V)}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_numba_compiles_views(name):
    function = live_function(getattr(students_views, name))
    assert numbas_word.takes(function, _arguments(function, ROWS[name])[2]) is True


@cuda.jit
def one_of_two_turns(x, out):
    pair = (x, x.T)
    for i in range(2):
        out[i] = pair[i][0, 1]


@pytest.mark.parametrize(
    ("lie", "taken"),
    [(np.ascontiguousarray, False), (np.asfortranarray, False), (lambda x: x[::2, ::2], True)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_numba_is_asked_of_arrays_as_they_lie(lie, taken, dtype):
    x = lie(np.ones((4, 4), dtype))
    function = live_function(one_of_two_turns)
    assert numbas_word.takes(function, _arguments(function, (x, x[0]))[2]) is taken


@cuda.jit
def first_of_two(x, out):
    out[0] = next(iter((x[0, 0], 2.0)))


def test_what_numba_has_and_the_engine_lacks_is_not_measured_by_name():
    fault = fault_of(first_of_two, 1, 1, M, V)
    assert fault.outcome == Outcome.NOT_MEASURED
    assert "`next`" in str(fault)


@cuda.jit
def functions_of_libdevice(x, out):
    i = cuda.grid(1)
    out[i] = libdevice.expf(x[i]) * libdevice.rsqrtf(x[i]) + np.sin(x[i])


@cuda.jit
def sums_of_halves(x, out):
    i = cuda.grid(1)
    out[i] = cuda.fp16.hadd(x[i], cuda.fp16.hmul(x[i], x[i]))


@cuda.jit
def more_of_halves(x, y, out):
    i = cuda.grid(1)
    if cuda.fp16.hne(x[i], y[i]) and not cuda.fp16.hge(x[i], y[i]):
        out[i] = cuda.fp16.hfma(x[i], y[i], cuda.fp16.hsqrt(x[i]))
    else:
        out[i] = cuda.fp16.hdiv(cuda.fp16.hfloor(x[i]), y[i])


def test_every_function_of_halves_is_run():
    one = np.array([1.5, 3.25, 7.0, 2.75, 1.0], np.float16)
    two = np.array([2.5, 3.25, 0.3, np.nan, np.inf], np.float16)
    out = np.zeros_like(one)
    more_of_halves[1, 5](one, two, out)
    wide = one.astype(np.float64) * two.astype(np.float64) + np.sqrt(one)
    expected = np.where([1, 0, 0, 0, 1], wide, np.floor(one) / two).astype(np.float16)
    np.testing.assert_array_equal(out, expected)
    there = {name for name in dir(cuda.fp16) if name.startswith("h")}
    assert there - {"htanh", "htanh_approx"} == set(intrinsics.HALVES)  # numba-cuda's alone


def test_functions_of_libdevice_numpy_and_halves():
    x = np.linspace(0.5, 3, 32).astype(np.float32)
    out = np.zeros_like(x)
    functions_of_libdevice[1, 32](x, out)
    np.testing.assert_allclose(out, np.exp(x) / np.sqrt(x) + np.sin(x), rtol=1e-6)
    halves, sums = x.astype(np.float16), np.zeros(32, np.float16)
    sums_of_halves[1, 32](halves, sums)
    np.testing.assert_array_equal(sums, halves + halves * halves)
