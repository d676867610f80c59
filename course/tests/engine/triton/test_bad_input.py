"""The list of bad inputs, each with its own verdict and sentence: launched directly and checked.

In a launch they end in a `KernelFault` that shows as a panel, with `course.measure()` and without;
in a check, at home as in class, in a verdict. Nothing else is raised.
"""

import contextlib
import importlib
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import course
from course.check.check import check_function, check_source
from course.engine.faults import KernelFault, Outcome
from course.notebook.triton_launches import has_gpu
from course.spec.case_size import step_limit
from course.spec.exercise import case
from course.tests.engine.faults import raised
from course.tests.engine.triton.running import without_block_pointers
from course.tests.engine.triton.test_check import ADD, ADD_CELL, SCALE, SCALE_CELL
from course.tests.families import family
from course.tests.pace import within
from course.words import fault_panel

REJECTED, DOES_NOT_COMPILE = Outcome.REJECTED, Outcome.DOES_NOT_COMPILE
OUT_OF_BOUNDS, TIMED_OUT, WRONG = Outcome.OUT_OF_BOUNDS, Outcome.TIMED_OUT, Outcome.WRONG_ANSWER


@triton.jit
def asserts_nothing(x_ptr):
    tl.static_assert()


@triton.jit
def spreads_a_block(x_ptr):
    i = tl.arange(0, 16)
    tl.store(*i)


@triton.jit
def advances_a_pointer(x_ptr):
    tl.advance(x_ptr, (1,))


@triton.jit
def both_ways(a, b):
    return a, b


@triton.jit
def combines_into_two(x_ptr):
    tl.store(x_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, 16)), 0, both_ways))


@triton.jit
def looks_up(a, b):
    return a + tl.load(b.to(tl.pointer_type(tl.float32))).to(tl.int64)


@triton.jit
def loads_in_a_combination(x_ptr):
    places = (x_ptr + tl.arange(0, 16)).to(tl.int64)
    tl.store(x_ptr, tl.reduce(places, 0, looks_up).to(tl.float32))


@triton.jit
def looks_nothing_up(a, b):
    return a + tl.load(b.to(tl.pointer_type(tl.float32)), mask=b < 0, other=0.0).to(tl.int64)


@triton.jit
def loads_nothing_in_a_combination(x_ptr):
    places = (x_ptr + tl.arange(0, 16)).to(tl.int64)
    tl.store(x_ptr, tl.reduce(places, 0, looks_nothing_up).to(tl.float32))


@triton.jit
def positive(x):
    return tl.sum(x) > 0


@triton.jit
def two_types_one_by_a_call(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    if tl.program_id(0) > 0:
        y = x
    else:
        y = positive(x)
    tl.store(x_ptr, y)


@triton.autotune([triton.Config({"N": 16})], key=[])
@triton.jit
def tuned(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 1.0)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, x + y, mask=mask)


@triton.jit
def for_ever(x_ptr, bound_ptr):
    for i in range(tl.load(bound_ptr)):
        tl.store(x_ptr, i)


@triton.jit
def never_moves(x_ptr):
    i = 0
    while i < 10:
        tl.store(x_ptr + i, 1.0)


@triton.jit
def while_true(x_ptr):
    while True:
        tl.store(x_ptr, 1.0)


@triton.jit
def itself(x_ptr):
    itself(x_ptr)


@triton.jit
def gives(x_ptr):
    return tl.load(x_ptr)


@triton.jit
def beyond(x_ptr):
    return tl.load(x_ptr + 10)


@triton.jit
def asks_beyond(x_ptr):
    tl.store(x_ptr, beyond(x_ptr))


@triton.jit
def steps_of(x_ptr, step):
    for i in range(0, 4, step):
        tl.store(x_ptr + i, 1.0)


@triton.jit
def steps_by_name(x_ptr, step):
    for i in tl.range(0, 4, step=step):
        tl.store(x_ptr + i, 1.0)


def x():
    return torch.arange(100.0)


def zero_of(dtype):
    return torch.zeros(100, dtype=dtype)


LAUNCHES = {
    # what lies in the tensors
    "complex numbers": (
        lambda: add[(1,)](zero_of(torch.complex64), x(), x(), 100, BLOCK=128),
        DOES_NOT_COMPILE,
        "x_ptr` cannot be passed: a tensor of torch.complex64, which Triton does not take",
    ),
    "numbers of 8 bits with a point": (
        lambda: add[(1,)](zero_of(torch.float8_e4m3fnuz), x(), x(), 100, BLOCK=128),
        Outcome.NOT_MEASURED, "does not run a tensor of torch.float8_e4m3fnuz",
    ),
    "a NumPy array": (
        lambda: add[(1,)](np.zeros(100), x(), x(), 100, BLOCK=128),
        DOES_NOT_COMPILE, "torch.from_numpy(x)",
    ),
    "too short an output": (
        lambda: add[(1,)](x(), x(), torch.zeros(50), 100, BLOCK=128),
        OUT_OF_BOUNDS, "stores to out_ptr[50], which does not exist: out_ptr has 50 elements",
    ),
    "a single number as a tensor": (
        lambda: add[(1,)](torch.tensor(1.0), x(), x(), 100, BLOCK=128),
        OUT_OF_BOUNDS, "x_ptr has 1 element, shape ()",
    ),
    "every second element": (
        lambda: add[(1,)](torch.arange(200.0)[::2], x(), x(), 100, BLOCK=128),
        OUT_OF_BOUNDS, "no element of x_ptr lies there: its shape is (100,), its strides are (2,)",
    ),
    "one element many times": (
        lambda: add[(1,)](torch.ones(1).expand(100), x(), x(), 100, BLOCK=128),
        OUT_OF_BOUNDS, "its shape is (100,), its strides are (0,)",
    ),
    "one element three billion times": (
        lambda: add[(1,)](torch.ones(1).expand(3 << 30), x(), x(), 100, BLOCK=128),
        OUT_OF_BOUNDS, "its strides are (0,)",
    ),
    "an empty tensor": (
        lambda: add[(1,)](torch.zeros(0), x(), x(), 100, BLOCK=128),
        OUT_OF_BOUNDS, "x_ptr[0], which does not exist: x_ptr has 0 elements",
    ),
    "a tensor for a number": (
        lambda: add[(1,)](x(), x(), x(), torch.tensor(100), BLOCK=128),
        DOES_NOT_COMPILE, "with a pointer as with a number",
    ),
    "a number for a tensor": (
        lambda: add[(1,)](1.0, x(), x(), 100, BLOCK=128),
        DOES_NOT_COMPILE, "`tl.load` takes a pointer, and gets a number or a block of type fp32",
    ),
    "None for a tensor": (
        lambda: add[(1,)](None, x(), x(), 100, BLOCK=128),
        DOES_NOT_COMPILE, "This line gets None",
    ),
    "text for a number": (
        lambda: add[(1,)](x(), x(), x(), "100", BLOCK=128), DOES_NOT_COMPILE,
        "`n` cannot be passed: an object of type str",
    ),
    # the grid
    "no elements, so no programs": (
        lambda: add[(triton.cdiv(0, 128),)](x(), x(), x(), 0, BLOCK=128),
        REJECTED, "The grid (0,) has no programs",
    ),
    "fewer than no programs": (
        lambda: add[(-1,)](x(), x(), x(), 100, BLOCK=128), REJECTED, "The grid (-1,) has no",
    ),
    "a number as a grid": (
        lambda: add[1](x(), x(), x(), 100, BLOCK=128),
        REJECTED, "The grid is the number 1, and Triton takes a tuple",
    ),
    "a function that gives a number": (
        lambda: add[lambda meta: 1](x(), x(), x(), 100, BLOCK=128), REJECTED, "the number 1",
    ),
    "no grid": (
        lambda: add[None](x(), x(), x(), 100, BLOCK=128), REJECTED, "None is not the shape",
    ),
    "no programs at all": (
        lambda: add[()](x(), x(), x(), 100, BLOCK=128), REJECTED, "() is not the shape",
    ),
    "half a program": (
        lambda: add[(0.5,)](x(), x(), x(), 100, BLOCK=128), REJECTED, "(0.5,) is not the shape",
    ),
    "a grid that fails": (
        lambda: add[lambda meta: (1 // 0,)](x(), x(), x(), 100, BLOCK=128),
        REJECTED, "The function that gives the grid fails: ZeroDivisionError",
    ),
    "a grid that takes nothing": (
        lambda: add[lambda: (1,)](x(), x(), x(), 100, BLOCK=128), REJECTED, "takes 0 positional",
    ),
    "called without a grid": (
        lambda: add(x(), x(), x(), 100, BLOCK=128),
        REJECTED, "`add` is called like a function, without a grid",
    ),
    # the constants
    "a missing constant": (
        lambda: add[(1,)](x(), x(), x(), 100), DOES_NOT_COMPILE, "needs the constant `BLOCK`",
    ),
    "a block of 100": (
        lambda: add[(1,)](x(), x(), x(), 100, BLOCK=100),
        DOES_NOT_COMPILE, "a power of two, and a block of this line has another: 100.",
    ),
    "a block of 0": (
        lambda: add[(1,)](x(), x(), x(), 100, BLOCK=0), DOES_NOT_COMPILE, "has no elements",
    ),
    "a block of 128.0": (
        lambda: add[(1,)](x(), x(), x(), 100, BLOCK=128.0),
        DOES_NOT_COMPILE, "`tl.arange` takes whole numbers that are known",
    ),
    "NumPy's 128": (
        lambda: add[(1,)](x(), x(), x(), 100, BLOCK=np.int64(128)),
        DOES_NOT_COMPILE, "gets 128, a numpy.int64",
    ),
    "a block too large": (
        lambda: add[(1,)](x(), x(), x(), 100, BLOCK=2**21),
        DOES_NOT_COMPILE, "2,097,152 elements is more than a program can have: the most is 1,048",
    ),
    # what does not end, and what comes of nothing
    "a bound read from memory": (
        lambda: for_ever[(1,)](x(), torch.tensor([2**62])), TIMED_OUT, "stopped after 20,0",
    ),
    "a condition that stays": (lambda: never_moves[(1,)](x()), TIMED_OUT, "stopped after 20,0"),
    "while True": (
        lambda: while_true[(1,)](x()),
        DOES_NOT_COMPILE, "`while True` has a condition that is a constant",
    ),
    "a step of 0": (
        lambda: steps_of[(1,)](x(), 0), TIMED_OUT, "The step of this `range` is 0",
    ),
    "a step of 0 by its name": (
        lambda: steps_by_name[(1,)](x(), 0), TIMED_OUT, "The step of this `range` is 0",
    ),
    "a kernel that calls itself": (
        lambda: itself[(1,)](x()), DOES_NOT_COMPILE, "`itself` calls itself",
    ),
    "a kernel that returns": (
        lambda: gives[(1,)](x()), DOES_NOT_COMPILE, "A kernel returns nothing",
    ),
    "an assertion of nothing": (
        lambda: asserts_nothing[(1,)](x()), DOES_NOT_COMPILE, "takes a condition and, behind it",
    ),
    "a block spread out": (
        lambda: spreads_a_block[(1,)](x()), DOES_NOT_COMPILE, "`*i` is not a tuple",
    ),
    "a plain pointer advanced": (
        lambda: advances_a_pointer[(1,)](x()), DOES_NOT_COMPILE,
        "tl.advance" if hasattr(tl, "advance") else "no attribute 'advance'",
    ),
    "two results for one": (
        lambda: combines_into_two[(1,)](x()), DOES_NOT_COMPILE, "has to give as many values",
    ),
    "a load in a combining function": (
        lambda: loads_in_a_combination[(1,)](x()),
        Outcome.NOT_MEASURED, "an access to memory in a combining function",
    ),
    "a load of nothing in a combining function": (
        lambda: loads_nothing_in_a_combination[(1,)](x()),
        Outcome.NOT_MEASURED, "an access to memory in a combining function",
    ),
    "a call's value of another type": (
        lambda: two_types_one_by_a_call[(2,)](x()),
        DOES_NOT_COMPILE, "`y` is a block (16) of fp32 after one side",
    ),
    "a tuned number of warps given": (
        lambda: tuned[(1,)](x(), num_warps=8),
        DOES_NOT_COMPILE, "`num_warps` of `tuned` comes from `@triton.autotune`",
    ),
}  # fmt: skip


@pytest.mark.family
@pytest.mark.skipif(has_gpu(), reason="outside measure() a launch runs on the GPU that is here")
@pytest.mark.parametrize("what", LAUNCHES)
def test_a_bad_launch_is_a_panel_and_no_traceback(what):
    launch, outcome, words = LAUNCHES[what]
    fault = raised(launch)
    assert fault.outcome is outcome
    assert words in str(fault)
    panel = "\n".join(fault._render_traceback_())
    assert "(not known)" not in panel
    assert "cuda." not in panel


@pytest.mark.parametrize("what", family(LAUNCHES, lambda what: LAUNCHES[what][1]))
def test_a_bad_launch_inside_measure_gets_the_same_sentence(what):
    launch, outcome, words = LAUNCHES[what]
    with pytest.raises(KernelFault) as caught, course.measure():
        launch()
    assert (caught.value.outcome, words in str(caught.value)) == (outcome, True)


def test_the_panel_of_a_launch_shows_the_kernel_and_the_line():
    with course.measure(), pytest.raises(KernelFault) as caught:
        add[(1,)](x(), x(), torch.zeros(50), 100, BLOCK=128)
    panel = str(fault_panel.verdict(caught.value)).splitlines()
    assert panel[0] == "✗ add: out of bounds"
    assert any(line.strip().endswith("tl.store(out_ptr + i, x + y, mask=mask)") for line in panel)


def test_a_fault_in_a_function_that_a_kernel_calls_shows_its_line_and_name():
    with course.measure(), pytest.raises(KernelFault) as caught:
        asks_beyond[(1,)](torch.zeros(4))
    assert " of beyond: " in str(caught.value)
    assert "return tl.load(x_ptr + 10)" in str(fault_panel.verdict(caught.value))


def test_where_a_launch_is_wrong_the_kernel_is_not_blamed():
    with course.measure(), pytest.raises(KernelFault) as caught:
        add[(0,)](x(), x(), x(), 100, BLOCK=128)
    assert "add: nothing was launched" in str(fault_panel.verdict(caught.value))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32, torch.bool])
def test_what_a_gpu_casts_on_the_way_is_cast_here(dtype):
    out = torch.zeros(100)
    with course.measure():
        add[(1,)](x().to(dtype), x(), out, 100, BLOCK=128)
    assert torch.equal(out, x().to(dtype) + x())


def test_nothing_is_touched_where_every_lane_is_masked_off():
    empty = torch.zeros(0)
    with course.measure() as traffic:
        add[(1,)](empty, empty, empty, 0, BLOCK=128)
    assert traffic.loads.sectors == traffic.stores.sectors == 0


# ---------------------------------------------------------------- in a check

MASK = "    mask = i < n\n"
CELLS = {
    "not jitted": ("@triton.jit\n", "", REJECTED, "`add` is not a Triton kernel"),
    "no constant": (
        "BLOCK: tl.constexpr", "BLOCK", DOES_NOT_COMPILE, "known when the kernel is compiled",
    ),
    "a block of 100": (
        "tl.arange(0, BLOCK)", "tl.arange(0, 100)", DOES_NOT_COMPILE,
        "has another: 100. line 11 i = tl.program_id(0) * BLOCK + tl.arange(0, 100) "
        "Take the next power of two, 128,",
    ),
    "a block of zeros of 48": (
        MASK, f"{MASK}    z = tl.zeros((48, 2), tl.float32)\n",
        DOES_NOT_COMPILE, "a block of this line has another: 48.",
    ),
    "a step of 0": (
        MASK, f"{MASK}    for k in range(0, n, 0):\n        i += 0\n",
        TIMED_OUT, "Write the step that each turn makes in the place of 0: a block's length",
    ),
    "a step of 0 from a name": (
        MASK, f"{MASK}    for k in range(0, n, n // 9999):\n        i += 0\n",
        TIMED_OUT, "Which argument of the launch makes `n // 9999`? A block's length",
    ),
    "a block with a point": (
        "BLOCK = 512", "BLOCK = 512.0", REJECTED,
        "`BLOCK` is 512.0, and has to be a whole number. line 6 BLOCK = 512.0",
    ),
    "a quotient for a block": (
        "BLOCK = 512", "BLOCK = 1024 / 2", REJECTED, "worked out with `//`, not `/`",
    ),
    "True for a block": (
        "BLOCK = 512", "BLOCK = True", REJECTED, "`BLOCK` is True, and has to be a whole number",
    ),
    "text for a block": (
        "BLOCK = 512", "BLOCK = '512'", REJECTED, "`BLOCK` is no number, and has to be a whole",
    ),
    "no parameter for a constant": (
        ", BLOCK: tl.constexpr", "", DOES_NOT_COMPILE,
        "Write `def add(x, y, out, n, BLOCK: tl.constexpr):`.",
    ),
    "a block of N": (
        "tl.arange(0, BLOCK)", "tl.arange(0, n)", DOES_NOT_COMPILE, "known when the kernel is",
    ),
    "an empty block": (
        "tl.arange(0, BLOCK)", "tl.arange(0, 0)", DOES_NOT_COMPILE, "has no elements",
    ),
    "brackets": ("tl.load(x_ptr + i, mask=mask)", "x_ptr[i]", DOES_NOT_COMPILE, "Brackets do not"),
    "a gather past its block": (
        "tl.load(x_ptr + i, mask=mask)", "tl.gather(tl.load(x_ptr + i, mask=mask), i + 512, 0)",
        Outcome.NOT_MEASURED, "a gather of element 512 of 512, which does not exist",
    ),
    "an assigned element": (
        "tl.store(out_ptr + i, x + y, mask=mask)", "out_ptr[i] = x + y",
        DOES_NOT_COMPILE, "An element of a block or of a tensor cannot be assigned",
    ),
    "a descriptor's last stride from the launch": (
        "tl.load(x_ptr + i, mask=mask)",
        "tl.make_tensor_descriptor(x_ptr, [n], [n], [BLOCK]).load([0])",
        DOES_NOT_COMPILE, "The last stride of a tensor descriptor is the constant 1",
    ),
    "a descriptor's last stride of 2": (
        "tl.load(x_ptr + i, mask=mask)",
        "tl.make_tensor_descriptor(x_ptr, [n], [2], [BLOCK]).load([0])",
        DOES_NOT_COMPILE, "The last stride of a tensor descriptor is the constant 1",
    ),
    "an offset that is a float": (
        "x_ptr + i", "x_ptr + i / 1", DOES_NOT_COMPILE, "computes with a pointer and a float",
    ),
    "a pointer times a float": (
        "x + y", "2.5 * x_ptr + y", DOES_NOT_COMPILE, "computes with a pointer and a float",
    ),
    "two pointers": (
        "x + y", "tl.load(x_ptr + y_ptr)", DOES_NOT_COMPILE, "adds two pointers",
    ),
    "a returned number": (MASK, f"{MASK}    return n\n", DOES_NOT_COMPILE, "returns nothing"),
    "a returned block": (MASK, f"{MASK}    return mask\n", DOES_NOT_COMPILE, "returns nothing"),
    "a kernel that calls itself": (
        MASK, f"{MASK}    add(x_ptr, y_ptr, out_ptr, n, BLOCK)\n",
        DOES_NOT_COMPILE, "`add` calls itself",
    ),
    "break": (
        MASK, f"{MASK}    for k in range(n):\n        break\n",
        DOES_NOT_COMPILE, "`break` is not part of Triton's language",
    ),
    "while True": (
        MASK, f"{MASK}    while True:\n        mask = i < n\n",
        DOES_NOT_COMPILE, "`while True` has a condition that is a constant",
    ),
    "a condition that stays": (
        MASK, f"{MASK}    k = 0\n    while k < n:\n        k = k * 2\n", TIMED_OUT, "was stopped",
    ),
    "a loop far too long": (
        MASK, f"{MASK}    for k in range(2000000000):\n        mask = i < n\n",
        TIMED_OUT, "was stopped",
    ),
    "a bound read from memory": (
        MASK,
        f"{MASK}    k = tl.load(x_ptr).to(tl.int32, bitcast=True)\n"
        "    for j in range(k | (1 << 30)):\n        mask = i < n\n",
        TIMED_OUT, "was stopped",
    ),
}  # fmt: skip


@pytest.mark.family
@pytest.mark.parametrize("what", CELLS)
def test_a_bad_kernel_gets_its_verdict_in_a_check(what):
    old, new, outcome, words = CELLS[what]
    assert old in ADD_CELL
    found = check_source(ADD, ADD_CELL.replace(old, new))
    assert found.outcome is outcome, str(found)
    assert words in " ".join(str(found).split())
    assert "cuda." not in str(found)
    assert not found.internal_error


def test_the_advice_for_a_missing_constant_is_right_as_it_stands():
    cell = ADD_CELL.replace("x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr", "x, y, out, n")
    for name in ("x", "y", "out"):
        cell = cell.replace(f"{name}_ptr", name)
    cell = cell.replace("    x = ", "    a = ").replace("    y = ", "    b = ")
    told = check_source(ADD, cell.replace("x + y", "a + b")).next_steps[0]
    written = told.partition("`")[2].partition("`")[0]
    found = check_source(
        ADD, cell.replace("x + y", "a + b").replace("def add(x, y, out, n):", written)
    )
    assert found.outcome is Outcome.PASS, str(found)


RETURN = "    return out\n"
SIZES = "    M, N = x.shape\n"
LAUNCHERS = {
    "nothing": ("", WRONG, "returns nothing (None). line 18 def scale(x):"),
    "a number": ("    return 3\n", WRONG, "returns the number 3. line 22 return 3"),
    "text": ("    return 'out'\n", WRONG, "returns the text out"),
    "the kernel": ("    return kernel\n", WRONG, "returns a kernel"),
    "one too many": (
        "    return out, out\n",
        WRONG,
        "returns a tuple of 2. line 22 return out, out",
    ),
    "one too many, by a helper": (
        "    return twice(out)\n\n\ndef twice(out):\n    return out, out\n",
        WRONG,
        "returns a tuple of 2. line 22 return twice(out)",
    ),
    "a tuple of one": ("    return (out,)\n", WRONG, "returns a tuple of 1"),
    "an input": ("    return x\n", WRONG, "returns one of its inputs, or a view of one, as out"),
    "a view of an input": ("    return x[:, :]\n", WRONG, "one of its inputs, or a view of one"),
    "a flat view": ("    return out.view(-1)\n", WRONG, "as (1,) float32; expected: (1, 1)"),
    "one row": (
        "    return out[:1]\n",
        WRONG,
        "as (1, 3) float32; expected: (4, 3) float32. line 22 return out[:1]",
    ),
    "another type": (
        "    return torch.empty_like(out, dtype=torch.float16)\n",
        WRONG,
        "as (1, 1) float16; expected: (1, 1) float32. line 22",
    ),
}


@pytest.mark.family
@pytest.mark.parametrize("what", LAUNCHERS)
def test_what_a_launcher_returns_is_named_where_it_is_not_the_output(what):
    new, outcome, words = LAUNCHERS[what]
    found = check_source(SCALE, SCALE_CELL.replace(RETURN, new))
    assert (found.outcome, found.internal_error) == (outcome, ""), str(found)
    assert words in " ".join(str(found).split())


LAUNCHER_CELLS = {
    "the wrong type": ("dtype=x.dtype", "dtype=torch.int32", WRONG, "as (1, 1) int32; expected"),
    "no programs": ("kernel[(M,)]", "kernel[(0,)]", REJECTED, "The grid (0,) has no programs"),
    "a number as a grid": ("kernel[(M,)]", "kernel[M]", REJECTED, "The grid is the number 1"),
    "half a program": ("kernel[(M,)]", "kernel[(M / 2,)]", REJECTED, "(0.5,) is not the shape"),
    "no grid": ("kernel[(M,)](", "kernel(", REJECTED, "without a grid"),
    "a missing constant": (
        ", BLOCK=BLOCK)", ")", DOES_NOT_COMPILE,
        "needs the constant `BLOCK`, and the launch does not give it. line 21 kernel[(M,)](",
    ),
    "a constant of another name": (
        ", BLOCK=BLOCK)", ", BLOCK=BLOCK, BK=1)", DOES_NOT_COMPILE,
        "has no parameter `BK`: its parameters are x, out, stride_m, stride_n, N, BLOCK. line 21",
    ),
    "an argument twice": (
        ", BLOCK=BLOCK)", ", BLOCK=BLOCK, N=N)", DOES_NOT_COMPILE,
        "by position and by name. line 21",
    ),
    "an argument too few": (
        ", x.stride(1), N,", ", N,", DOES_NOT_COMPILE, "the launch passes nothing for it. line 21",
    ),
    "three warps": (
        ", BLOCK=BLOCK)", ", BLOCK=BLOCK, num_warps=3)", DOES_NOT_COMPILE,
        "cannot have 3 warps: it has 1, 2, 4, 8, 16, 32. line 21",
    ),
    "endlessly many stages": (
        ", BLOCK=BLOCK)", ", BLOCK=BLOCK, num_stages=10**30)", DOES_NOT_COMPILE,
        "`num_stages` of a launch cannot be 1000000000000000000000000000000: it is a whole number",
    ),
    "stages in words": (
        ", BLOCK=BLOCK)", ", BLOCK=BLOCK, num_stages='two')", DOES_NOT_COMPILE,
        "`num_stages` of a launch cannot be 'two'",
    ),
    "nothing launched": (
        "    kernel[", "    return out\n    kernel[", WRONG, "starts no kernel. line 18 def scale(",
    ),
    "a view as the output": (
        "torch.empty((M, N), dtype=x.dtype, device=x.device)",
        "torch.empty((N, M), dtype=x.dtype, device=x.device).T",
        WRONG, "In memory out is right, row after row; but the tensor that the launcher returns",
    ),
    "input and output swapped": (
        "(x, out, x.stride(0)", "(out, x, x.stride(0)", Outcome.UNINITIALISED,
        "In this launch `x` of the kernel is a tensor that the launcher made.",
    ),
    "steps past the end": (
        "row * stride_m + j", "(row + 1) * stride_m + j", OUT_OF_BOUNDS,
        "x has 1 element, shape (1, 1).",
    ),
    "a kernel without jit": (
        "@triton.jit\n", "", REJECTED, "`kernel` is not a Triton kernel. line 9",
    ),
    "while True": (
        SIZES, f"{SIZES}    while True:\n        M = M\n",
        TIMED_OUT, "300,000 steps. line 20 while True:",
    ),
    "launches for ever": (
        "    kernel[", "    while M > 0:\n        kernel[",
        TIMED_OUT, "after 300,000 steps. line 21 while M > 0:",
    ),
    "a loop in an endless one": (
        SIZES,
        f"{SIZES}    while M > 0:\n        for k in range(9):\n            M += k\n",
        TIMED_OUT, "after 300,000 steps. line 20 while M > 0:",
    ),
    "a kernel that never ends": (
        "    row = tl", "    k = 0\n    while k < N:\n        k = k * 2\n    row = tl",
        TIMED_OUT, "The kernel was stopped after 2016 statements",
    ),
}  # fmt: skip


@pytest.mark.family
@pytest.mark.parametrize("what", LAUNCHER_CELLS)
def test_a_bad_launcher_gets_its_verdict_in_a_check(what):
    old, new, outcome, words = LAUNCHER_CELLS[what]
    assert old in SCALE_CELL
    found = check_source(SCALE, SCALE_CELL.replace(old, new, 1))
    assert (found.outcome, found.internal_error) == (outcome, ""), str(found)
    assert words in " ".join(str(found).split())


class Hostile:
    """An object whose every attribute raises."""

    def __getattribute__(self, name):
        raise RuntimeError("no")


def test_a_function_of_the_wrong_kind_is_shown_with_its_line(tmp_path, monkeypatch):
    (tmp_path / "of_a_learner.py").write_text(
        "import triton\n\n\ndef add(x):\n    pass\n\n\n@triton.jit\ndef scale(x):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("of_a_learner")
    for exercise, function, line in ((ADD, module.add, 4), (SCALE, module.scale, 9)):
        found = check_function(exercise, function)
        at_source = check_source(exercise, found.source)
        assert (found.outcome, found.line) == (REJECTED, line), str(found)
        assert str(found) == str(at_source)


def test_whatever_is_passed_to_a_check_gets_a_verdict():
    things = [None, ..., 3, "add", [], x(), add.fn, add[(1,)], lambda: None, triton, Hostile()]
    for exercise in (ADD, SCALE):
        for thing in things:
            found = check_function(exercise, thing)
            assert found.outcome in (REJECTED, Outcome.NOT_MEASURED)
            assert "Traceback" not in str(found)


# ---------------------------------------------------------------- how long it takes


def test_the_steps_before_a_kernel_counts_as_endless_follow_the_case():
    assert step_limit(ADD, case(N=1), {}) == 2_000 + 8 * 3
    assert step_limit(ADD, case(N=1 << 16), {}) == 10_000 + 3 * (1 << 16) // 16
    assert step_limit(ADD, case(N=1 << 24), {}) == 40_000


def test_an_endless_loop_in_a_check_is_stopped_within_a_second():
    old, new, *_ = CELLS["a condition that stays"]
    check_source(ADD, ADD_CELL)  # what is imported and compiled once
    with within(1.0), contextlib.suppress(KernelFault):
        found = check_source(ADD, ADD_CELL.replace(old, new))
    assert found.outcome is TIMED_OUT


LIBRARY = {
    "sin": math.sin, "cos": math.cos, "asinh": math.asinh, "acosh": math.acosh,
    "atanh": lambda x: math.atanh(1 / x), "exp10": lambda x: 10**x, "erfc": math.erfc,
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARY)
def test_a_function_of_libdevice_gives_what_it_is_called_for(name):
    at = 1 / 1.5 if name == "atanh" else 1.5
    cell = ADD_CELL.replace(
        "import triton\n", "import triton\nfrom triton.language.extra import libdevice\n", 1
    ).replace("x + y", f"x + y + libdevice.{name}(x * 0 + {at}) - {LIBRARY[name](1.5)!r}")
    found = check_source(replace(ADD, tolerance={"float32": (0.0, 2e-5)}), cell)
    assert found.outcome is Outcome.PASS, str(found)


def test_functions_that_call_themselves_with_ever_other_constants_are_told_as_that():
    again = """
@triton.jit
def again(start, n):
    if start < n:
        again(start + 1, n)

"""
    cell = ADD_CELL.replace("\n@triton.jit", f"{again}@triton.jit", 1)
    found = check_source(ADD, cell.replace(MASK, f"{MASK}    again(0, n)\n"))
    assert (found.outcome, found.message_id) == (DOES_NOT_COMPILE, "tile_calls_too_deep")


@without_block_pointers
@pytest.mark.parametrize(
    ("checks", "told"), [("", "names are checked."), (", boundary_check=()", "here `()`.")]
)
def test_a_block_pointer_past_the_end_is_told_of_its_axes_and_not_of_a_mask(checks, told):
    block = "tl.make_block_ptr(x_ptr, (n,), (1,), (i0,), (BLOCK,), (0,))"
    cell = ADD_CELL.replace("tl.load(x_ptr + i, mask=mask)", f"tl.load({block}{checks})")
    found = check_source(ADD, cell.replace(MASK, f"{MASK}    i0 = tl.program_id(0) * BLOCK\n"))
    assert found.outcome is Outcome.OUT_OF_BOUNDS, str(found)
    assert told in " ".join(str(found).split())
    assert "mask=" not in " ".join(found.next_steps)


@pytest.mark.parametrize(
    "head",
    [
        "from triton.language.extra import libdevice",
        "import triton.language.extra.cuda.libdevice as libdevice",
    ],
)
def test_tritons_usual_imports_of_libdevice_are_taken_in_a_cell(head):
    cell = ADD_CELL.replace("import triton\n", f"import triton\n{head}\n", 1)
    found = check_source(ADD, cell.replace("x + y", "libdevice.rint(x - x) + x + y"))
    assert found.outcome is Outcome.PASS, str(found)
    found = check_source(ADD, cell.replace("x + y", "libdevice.clz(x) + y"))
    assert (found.outcome, found.line is not None) == (REJECTED, True), str(found)
    found = check_source(ADD, cell.replace(head, "from triton.language.extra import cuda"))
    assert found.outcome is REJECTED, str(found)
    one = "from triton.language.extra.cuda.libdevice import fma"
    found = check_source(ADD, cell.replace(head, one))
    assert "Instead: `tl.fma`" in found.next_steps[0]
