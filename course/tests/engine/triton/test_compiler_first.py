"""What Triton's compiler takes, the engine runs, or says that it does not: never a refusal."""

import textwrap

import pytest
import torch

from course.engine.cell.triton import read_cell
from course.engine.faults import Outcome
from course.engine.triton.compiling import gate
from course.engine.triton.launch import launch
from course.engine.triton.running import operations
from course.tests.engine.faults import raised
from course.tests.engine.triton.versions import RETURNS_CONSTANTS

HEAD = (
    "import math\nimport numpy as np\nimport torch\nimport triton\nimport triton.language as tl\n"
)

#: (cell, what out[:8] holds): x is 0, 1, 2, ..., y is -x; two programs, B = 4.
TAKEN = {
    "a name with another length in a later block": (
        """
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            p = tl.program_id(0)
            if n > 3:
                t = tl.arange(0, B)
                tl.store(out + p * B + t, tl.load(x + t))
            if p > 0:
                t = tl.arange(0, 2)
                tl.store(out + 6 + t, tl.load(y + t) + 9)
        """,
        [0, 1, 2, 3, 0, 1, 9, 8],
    ),
    "a name with another type in a later loop": (
        """
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            p = tl.program_id(0)
            if n > 3:
                v = tl.load(x + p)
                tl.store(out + p, v)
            for i in range(p):
                v = tl.arange(0, 2)
                tl.store(out + 2 + v, v + 1)
        """,
        [0, 1, 1, 2, 0, 0, 0, 0],
    ),
    "a function that gives a constant": (
        """
        @triton.jit
        def half(B: tl.constexpr):
            return B // 2
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            C: tl.constexpr = half(B)
            t = tl.arange(0, C)
            tl.store(out + tl.program_id(0) * C + t, tl.load(x + t))
        """,
        [0, 1, 0, 1, 0, 0, 0, 0],
    ),
    "a function of constants": (
        """
        WIDTHS = (2, 4)
        @triton.constexpr_function
        def width(B, dtype, least=2):
            found = least
            for w in WIDTHS:
                found = max(found, w) if w <= B and dtype == tl.float32 else found
            return found
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            t = tl.arange(0, width(B, x.dtype.element_ty))
            tl.store(out + tl.program_id(0) * 4 + t, tl.load(x + t))
        """,
        [0, 1, 2, 3, 0, 1, 2, 3],
    ),
    "a value of the run that is called a constant": (
        """
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            start: tl.constexpr = tl.program_id(0) * B
            scale: tl.constexpr = n * B
            t = start + tl.arange(0, B)
            tl.store(out + t, tl.load(x + t) + scale - 32)
        """,
        [0, 1, 2, 3, 4, 5, 6, 7],
    ),
    "what is None, and what is not": (
        """
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr, bias=None):
            t = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.load(x + t)
            if bias is not None:
                v += tl.load(bias + t)
            if y is not None and n is not None:
                v += tl.load(y + t)
            if not (bias is None) or y is None:
                v += 1
            tl.store(out + t, v)
        """,
        [0] * 8,
    ),
    "an array that a condition chooses": (
        """
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            p = tl.program_id(0)
            source = x if p == 0 else y
            t = tl.arange(0, B)
            tl.store(out + p * B + t, tl.load(source + t))
        """,
        [0, 1, 2, 3, 0, -1, -2, -3],
    ),
    "a return of a constant": (
        """
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            tl.store(out + tl.program_id(0), 1.0)
            return 0
        """,
        [1, 1, 0, 0, 0, 0, 0, 0],
    ),
    "constants worked out": (
        """
        SIZE = tl.constexpr(1 << 1)
        DOUBLE = SIZE * 2
        LEAST: tl.constexpr = -math.inf
        root = tl.sqrt
        @triton.jit
        def k(x, y, out, n, B: tl.constexpr):
            t = tl.arange(0, DOUBLE)
            v = tl.load(x + t, mask=t < SIZE, other=LEAST)
            w = tl.load(x + t, mask=t < SIZE, other=-np.inf)
            best = tl.maximum(tl.max(v, 0), tl.max(w, 0))
            tl.store(out + tl.program_id(0), root(best) + max(B, 2) - triton.cdiv(7, 2))
        """,
        [1, 1, 0, 0, 0, 0, 0, 0],
    ),
}


def arguments():
    x = torch.arange(8.0)
    return x, -x, torch.zeros(8), 8


CONSTANTS_RETURNED = ("a function that gives a constant", "a return of a constant")


def kernel(source):
    cell = read_cell(HEAD + textwrap.dedent(source))
    return cell.kernels["k"]


@pytest.mark.parametrize("name", TAKEN)
def test_what_the_compiler_takes_runs(name):
    source, expected = TAKEN[name]
    passed = arguments()
    found = kernel(source)
    if name in CONSTANTS_RETURNED and not RETURNS_CONSTANTS:
        fault = raised(gate.compile_for, found, passed, {"B": 4})
        assert fault.outcome is Outcome.DOES_NOT_COMPILE
        return
    gate.compile_for(found, passed, {"B": 4}, binary=False)
    launch(found, passed, (2,), {"B": 4})
    assert passed[2].tolist() == expected


STORE = """
@triton.jit
def k(x, y, out, n, B: tl.constexpr):
    tl.store(out + tl.program_id(0), {value})
"""


def test_an_operation_that_the_engine_lacks_is_not_measured(monkeypatch):
    monkeypatch.delitem(operations.RULES, "math.sqrt")
    fault = raised(
        launch, kernel(STORE.format(value="tl.sqrt(n * 1.0)")), arguments(), (2,), {"B": 4}
    )
    assert fault.outcome is Outcome.NOT_MEASURED


@pytest.mark.parametrize("value", ["x + y", "tl.arange(0, 3)", "tl.load(3)", "unknown_later"])
def test_a_refusal_of_both_does_not_compile(value):
    source = STORE.format(value=value) + "    unknown_later = 1\n"
    fault = raised(launch, kernel(source), arguments(), (2,), {"B": 4})
    assert fault.outcome is Outcome.DOES_NOT_COMPILE


def test_several_names_of_one_value_are_refused_on_their_line():
    source = STORE.format(value="1.0") + "    if B == 3:\n        a = b = 0\n"
    fault = raised(gate.compile_for, kernel(source), arguments(), {"B": 4})
    assert (fault.outcome, fault.message_id, fault.line) == (
        Outcome.DOES_NOT_COMPILE,
        "tile_several_names",
        HEAD.count("\n") + 6,
    )


@pytest.mark.parametrize(
    ("body", "message_id"),
    [
        ("return open('x')", "launcher_name"),
        ("return torch.empty(3)", "launcher_device"),
        ("return B.__class__", "launcher_attribute"),
        ("import os", "launcher_syntax"),
        ("while True:\n        pass", "launcher_timed_out"),
        ("return k[(1,)](B)", "launcher_syntax"),
        ("return f(B)", "launcher_recursion"),
    ],
)
def test_a_function_of_constants_is_walked_and_never_executed(body, message_id):
    source = f"@triton.constexpr_function\ndef f(B):\n    {body}\n" + STORE.format(value="f(B)")
    fault = raised(lambda: launch(kernel(source), arguments(), (2,), {"B": 4}))
    assert fault.message_id == message_id, str(fault)
