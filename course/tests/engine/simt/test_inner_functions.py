"""`match` and functions inside a kernel: as Python runs them, where Numba compiles them."""

import math
import textwrap

import numpy as np
import pytest
from numba import typeof
from numba.core import types
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.cuda import errors as of_cuda
from numba.cuda.target import CUDATypingContext

from course.engine.cell.numba import read_cell
from course.engine.faults import Outcome
from course.engine.simt import numbas_word
from course.engine.simt.launch import launch
from course.tests.engine.faults import raised

TAKEN = {
    "a lambda": """
        double = lambda x: 2 * x
        for i in range(n):
            out[i] = double(a[i]) + double(1)
    """,
    "a variable that is read when it is called": """
        s = n
        times = lambda x: x * s
        s = 5
        out[0] = times(a[0])
    """,
    "a function that returns early": """
        def part(x, most=2.5):
            if x > most:
                return most
            return x / n
        for i in range(n):
            out[i] = part(a[i]) + part(a[i], 1.5)
    """,
    "a function that stores, and one in a loop": """
        def put(i, x):
            out[i] += x
        for i in range(n):
            more = lambda x: x + i
            put(i, more(a[i]))
    """,
    "a function in a function": """
        def outer(x):
            y = x + n
            inner = lambda z: y * z
            return inner(x) + inner(1)
        out[0] = outer(a[0])
    """,
    "a function that calls one above it": """
        f = lambda x: x + n
        g = lambda x: f(x) * 2
        out[0] = g(a[0])
    """,
    "lambdas that are called where they stand": """
        s = n
        for i in range(n):
            out[i] = (lambda x, y: x * s + (lambda z: z + y)(i))(a[i], 2)
            if i < 3 or (lambda: out[i])() > 12:
                out[i] += (lambda x: (lambda x: x - 1)(x) * 2)(i)
    """,
    "a match": """
        for i in range(n):
            match i:
                case 0:
                    out[i] = 1
                case 1 | 2 if a[i] < 1:
                    out[i] = 2
                case 3 as three:
                    out[three] = 3
                case other if other > 5:
                    out[i] = other
                case _:
                    out[i] += 4
    """,
    "a match of what is worked out once": """
        for i in range(n):
            match i % 3 + 1:
                case 1:
                    out[i] = 1
                case -1 | 2:
                    out[i] = 2
    """,
}
NOT_TAKEN = {
    "a name for several": ("f = lambda x: x\n    g = f\n    out[0] = g(1)", "a lambda", True),
    "a function that calls itself": (
        "def f(x):\n        return f(x - 1)\n    out[0] = f(1)",
        *("a function inside a kernel", False),
    ),
    "arguments by name": ("f = lambda x: x\n    out[0] = f(x=1)", "a lambda", False),
    "tuples behind a case": (
        "match (n, 1):\n        case (2, 1):\n            out[0] = 1",
        "`match` with such a `case`", False,
    ),
    "a deletion": ("del a\n    out[0] = n", "`del`", False),
}  # fmt: skip
#: numba-cuda has one of its own
_UNSUPPORTED = getattr(of_cuda, "UnsupportedBytecodeError", UnsupportedBytecodeError)
_REFUSES = (NumbaError, _UNSUPPORTED, AssertionError, NotImplementedError)
ARRAY = types.Array(types.float64, 1, "C")


def cell(body):
    return f"from numba import cuda\n\n@cuda.jit\ndef kernel(out, a, n):\n{body}\n"


def plain(body):
    """The function itself, as Python has it."""
    names = {}
    exec(cell(body).replace("from numba import cuda\n\n@cuda.jit", ""), names)
    return names["kernel"]


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN.keys())
def test_a_kernel_is_what_python_and_numba_make_of_it(body):
    body = textwrap.indent(textwrap.dedent(body), "    ")
    a, wanted, out = np.array([0.5, 1, 2, 3, 4, 5, 6, 7]), np.zeros(8), np.zeros(8)
    plain(body)(wanted, a, 8)
    kernel = read_cell(cell(body)).kernels["kernel"]
    launch(kernel, [out, a, 8], 1, 1)
    np.testing.assert_array_equal(out, wanted)
    numbas_word._compile(plain(body), (ARRAY, ARRAY, types.int64))
    assert numbas_word.takes(kernel, (ARRAY, ARRAY, types.int64)) is not False


@pytest.mark.parametrize(("body", "construct", "numba_has"), NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_what_numba_refuses_or_few_write_is_refused_in_words(body, construct, numba_has):
    kernel = read_cell(cell(f"    {body}")).kernels["kernel"]
    fault = raised(launch, kernel, [np.zeros(8), np.zeros(8), 8], 1, 1)
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "rejected_syntax")
    assert fault.fields["construct"] == construct
    assert fault.fields["instead"]
    asked = plain(f"    {body}"), (ARRAY, ARRAY, types.int64)
    if numba_has:
        numbas_word._compile(*asked)
    else:
        with pytest.raises(_REFUSES):
            numbas_word._compile(*asked)


def test_many_functions_in_a_kernel_are_refused_soon():
    body = "".join(f"    f{i} = lambda x: x\n" for i in range(2000)) + "    out[0] = f3(1)"
    kernel = read_cell(cell(body)).kernels["kernel"]
    fault = raised(launch, kernel, [np.zeros(8), np.zeros(8), 8], 1, 1)
    assert fault.fields["construct"] == "a lambda"


# ---------------------------------------------------------------- declared types


@pytest.mark.parametrize(
    "declares",
    [
        '"void(float64[:], float32)"', '"(f8[::1], f4)"', "void(float64[:], float32)",
        "(float64[:], float32)", '["void(float32[:], int8)", "void(float64[:], float32)"]',
        '"none(float64[:], float32)", lineinfo=True',
    ],
)  # fmt: skip
def test_a_cells_kernel_may_declare_its_types(declares):
    source = (
        f"from numba import cuda, float32, float64, void\n\n"
        f"@cuda.jit({declares})\ndef kernel(out, x):\n    out[0] = x\n"
    )
    out = np.zeros(1)
    launch(read_cell(source).kernels["kernel"], [out, math.pi], 1, 1)
    assert out[0] == np.float32(math.pi)


@pytest.mark.parametrize(
    ("declares", "axes", "taken"),
    [
        ("f8[:]", [slice(None)], (True, True, True)),
        ("f8[::1]", [slice(None, None, 1)], (True, False, True)),
        ("f8[:, ::1]", [slice(None), slice(None, None, 1)], (True, False, False)),
        ("f8[::1, :]", [slice(None, None, 1), slice(None)], (False, False, True)),
        ("f8[:, :]", [slice(None), slice(None)], (True, True, True)),
    ],
)
def test_an_array_must_lie_as_its_kernel_declares(declares, axes, taken):
    wanted = types.float64[tuple(axes) if len(axes) > 1 else axes[0]]
    source = f"from numba import cuda\n\n@cuda.jit('({declares},)')\ndef kernel(x):\n    pass\n"
    kernel = read_cell(source).kernels["kernel"]
    array = np.zeros((4, 4)[: len(axes)])
    for given, fits in zip((array, array[::2], array.T), taken, strict=True):
        assert (CUDATypingContext().can_convert(typeof(given), wanted) is not None) == fits
        if fits:
            launch(kernel, (given,), 1, 1)
        else:
            fault = raised(launch, kernel, (given,), 1, 1)
            assert (fault.outcome, fault.message_id) == (
                Outcome.DOES_NOT_COMPILE, "launch_signature",
            )  # fmt: skip
            assert declares.replace("f8", "float64") in fault.fields["detail"]


def test_a_device_function_of_a_cell_gives_what_it_declares():
    source = (
        'from numba import cuda\n\n@cuda.jit("int32(float64)", device=True)\ndef cut(x):\n'
        "    return x\n\n@cuda.jit\ndef kernel(out, x):\n    out[0] = cut(x)\n"
    )
    out = np.zeros(1)
    launch(read_cell(source).kernels["kernel"], [out, 2.75], 1, 1)
    assert out[0] == 2


@pytest.mark.parametrize(
    "declares",
    [
        '"float32(float64[:])"', '"void(float64[0])"', '"void(x[:])"', '"float64[:]"', '"void("',
        '"__import__(\'os\')"', "3", "[]", '"void(float64[:])", "void(float32[:])"',
        f'"void({"float64, " * 99})"',
    ],
)  # fmt: skip
def test_a_signature_that_declares_nothing_here_is_refused_in_words(declares):
    source = f"from numba import cuda\n\n@cuda.jit({declares})\ndef kernel(out):\n    out[0] = 1\n"
    fault = raised(read_cell, source)
    assert (fault.outcome, fault.message_id) == (Outcome.REJECTED, "rejected_signature")
    assert "declares types that no kernel has here" in str(fault)
