"""A Triton exercise's check, from a cell's text to its verdict."""

from dataclasses import replace

import numpy as np
import pytest

from course.check.check import check_function, check_source
from course.engine.faults import Outcome
from course.engine.runner import Engine
from course.spec.exercise import Array, Budget, Constant, KernelExercise, Meta, Role, Scalar, case
from course.spec.launching import Launcher, Programs

ADD = KernelExercise(
    name="add",
    title="Add",
    task="out = x + y",
    points=10,
    minutes=1,
    difficulty=1,
    hints=("h",),
    parameters=(
        Array("x", "N"),
        Array("y", "N"),
        Array("out", "N", Role.OUT),
        Scalar("n", "N", "int32"),
        Meta("BLOCK", "BLOCK"),
    ),
    reference=lambda x, y, n: {"out": x + y},
    cases=(case(N=1), case(N=1000), case(True, N=4096)),
    launch=Programs("cdiv(N, BLOCK)"),
    constants={"BLOCK": Constant(256, (128, 256, 512))},
    budget=Budget({"load x": "sectors(N)", "load y": "sectors(N)", "store out": "sectors(N)"}),
)
HEAD = """
import torch
import triton
import triton.language as tl

BLOCK = 512

"""
ADD_CELL = (
    HEAD
    + """
@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, x + y, mask=mask)
"""
)


def verdict(cell, exercise=ADD):
    found = check_source(exercise, cell)
    assert not found.internal_error, found.internal_error
    return found


def test_registers_are_asked_for_where_they_are_graded():
    asked = {}

    def runner(run):
        asked[run.arguments["x"].size] = run.binary
        return engine(run)

    engine = Engine()
    exercise = replace(ADD, spill_bytes="512")
    found = check_source(exercise, ADD_CELL, runner=runner)
    assert found.outcome is Outcome.PASS, str(found)
    assert asked == {1: False, 1000: False, 4096: True}
    assert "bytes of spilled registers a thread" in [extra.label for extra in found.extras]
    wrong = ADD_CELL.replace("x + y", "x - y")
    told = check_source(exercise, wrong, detailed=True)
    assert told.outcome is Outcome.WRONG_ANSWER, str(told)


def test_a_right_kernel_passes_with_every_array_named_as_in_the_exercise():
    found = verdict(ADD_CELL)
    assert found.outcome is Outcome.PASS
    rows = {(row.array, row.direction): row.requested_bytes for row in found.rows}
    assert rows == {
        ("x", "load"): 16384,
        ("y", "load"): 16384,
        ("out", "store"): 16384,
        ("", "total"): 49152,
    }


@pytest.mark.parametrize(
    ("decorator", "more"),
    [
        ("", "EVEN: tl.constexpr = False"),
        ('@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})', "EVEN"),
    ],
)
def test_parameters_with_values_of_their_own_may_follow_what_the_check_passes(decorator, more):
    cell = ADD_CELL.replace("BLOCK: tl.constexpr)", f"BLOCK: tl.constexpr, {more})")
    cell = cell.replace("@triton.jit", f"{decorator}\n@triton.jit")
    found = verdict(cell.replace("i < n", "EVEN | (i < n)"))
    assert found.outcome is Outcome.PASS, str(found)
    found = verdict(cell.replace(f", {more})", f", m, {more})"))
    assert (found.outcome, found.message_id) == (Outcome.DOES_NOT_COMPILE, "parameter_count")


@pytest.mark.parametrize(
    ("old", "new", "outcome", "message_id", "line"),
    [
        (", mask=mask)\n    y", ")\n    y", Outcome.OUT_OF_BOUNDS, "tile_out_of_bounds", 13),
        ("x + y,", "x + x,", Outcome.WRONG_ANSWER, "wrong_value", None),
        ("@triton.jit\n", "", Outcome.REJECTED, "tile_not_jitted", 9),
        ("def add(", "def other(", Outcome.REJECTED, "no_such_kernel", None),
        ("BLOCK = 512", "BLOCK = 64", Outcome.REJECTED, "constant_choice", 6),
        ("BLOCK = 512", "import os", Outcome.REJECTED, "rejected_import", 6),
        ("BLOCK = 512", "BLOCK = open('x')", Outcome.REJECTED, "rejected_constant", 6),
        ("BLOCK = 512", "print(1)", Outcome.REJECTED, "rejected_top_level", 6),
        ("@triton.jit", "@staticmethod", Outcome.REJECTED, "tile_decorator", 9),
        ("import triton.language as tl", "", Outcome.REJECTED, "missing_import", 10),
        ("triton.language as tl", "triton.language", Outcome.REJECTED, "missing_import", 10),
        (", n, BLOCK", ", n, m, BLOCK", Outcome.DOES_NOT_COMPILE, "parameter_count", 10),
        ("    mask = i < n", "    mask = i <", Outcome.DOES_NOT_COMPILE, "syntax_error", 12),
        ("x + y,", "tl.dot(x, y),", Outcome.DOES_NOT_COMPILE, None, 15),
    ],
)
def test_each_mistake_has_its_verdict_message_and_line(old, new, outcome, message_id, line):
    assert old in ADD_CELL
    found = verdict(ADD_CELL.replace(old, new))
    assert found.outcome is outcome, str(found)
    if message_id is not None:
        assert found.message_id == message_id, str(found)
    assert found.line == line, str(found)


def test_lost_digits_are_put_down_to_a_dot_only_where_the_cell_has_one():
    half = ADD_CELL.replace("x + y", "(x + y).to(tl.float16)")
    told = " ".join(verdict(half).next_steps)
    assert "fewer bits than float32" in told
    assert "tl.dot" not in told
    idle = "\n@triton.jit\ndef idle(a, b):\n    return tl.dot(a, b)\n"
    assert "tl.dot takes float32 inputs as TF32" in " ".join(verdict(half + idle).next_steps)


def test_too_much_traffic_names_the_array_and_keeps_sixty_percent():
    again = ADD_CELL.replace("x + y,", "x + y + 0 * tl.load(x_ptr + (i + 1024) % n),")
    found = verdict(again)
    assert (found.outcome, found.credit) == (Outcome.TOO_MUCH_TRAFFIC, 0.7)
    assert "x" in found.message
    assert "programs ask" in found.message


def test_the_starter_is_not_attempted():
    head = ADD_CELL.partition("    i = ")[0]
    assert verdict(head + "    ...\n").outcome is Outcome.NOT_ATTEMPTED


def test_something_else_than_a_kernel_gets_a_sentence():
    for thing in (None, 3, add_in_python, np.ones(3)):
        found = check_function(ADD, thing)
        assert found.outcome is Outcome.REJECTED
        assert found.message


def add_in_python(x, y, out, n, BLOCK):
    out[:] = x + y


SCALE = KernelExercise(
    name="scale",
    title="Scale",
    task="out = 2 x",
    points=10,
    minutes=1,
    difficulty=1,
    hints=("h",),
    parameters=(
        Array("x", "M, N", within="M, N + PAD"),
        Array("out", "M, N", Role.OUT),
    ),
    reference=lambda x: {"out": 2 * x},
    cases=(
        case(M=1, N=1, PAD=0),
        case(M=3, N=100, PAD=4),
        case(M=4, N=3, PAD=0, transposed=("x",)),
        case(True, M=4, N=512, PAD=0),
    ),
    launch=Launcher(),
    budget=Budget({"load x": "rows(M, N, N + PAD)", "store out": "rows(M, N)"}),
)
SCALE_CELL = (
    HEAD
    + """
@triton.jit
def kernel(x, out, stride_m, stride_n, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        values = tl.load(x + row * stride_m + j * stride_n, mask=j < N)
        tl.store(out + row * N + j, 2 * values, mask=j < N)


def scale(x):
    M, N = x.shape
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    kernel[(M,)](x, out, x.stride(0), x.stride(1), N, BLOCK=BLOCK)
    return out
"""
)


def test_a_launcher_is_called_and_its_result_compared():
    found = verdict(SCALE_CELL, SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    rows = {(row.array, row.direction): row.requested_bytes for row in found.rows}
    assert rows["x", "load"] == rows["out", "store"] == 4 * 512 * 4


@pytest.mark.parametrize("decorator", ["@torch.no_grad()", "@torch.inference_mode()"])
def test_a_launcher_may_say_that_it_keeps_no_gradients(decorator):
    cell = SCALE_CELL.replace("def scale(", f"{decorator}\ndef scale(")
    assert verdict(cell, SCALE).outcome is Outcome.PASS
    found = verdict(cell.replace("import torch\n", ""), SCALE)
    assert found.message_id == "missing_import", str(found)


@pytest.mark.parametrize(
    ("old", "new", "outcome", "message_id"),
    [
        ("    return out\n", "", Outcome.WRONG_ANSWER, "launcher_result"),
        ("return out", "return out, out", Outcome.WRONG_ANSWER, "launcher_result"),
        ("return out", "return x", Outcome.WRONG_ANSWER, "launcher_returns_input"),
        ("return out", "return out.view(-1)", Outcome.WRONG_ANSWER, "launcher_shape"),
        ("dtype=x.dtype", "dtype=torch.float16", Outcome.WRONG_ANSWER, "launcher_shape"),
        ("return out", "return torch.softmax(x)", Outcome.REJECTED, None),
        ("return out", "return x @ x", Outcome.REJECTED, None),
        ("    kernel[(M,)]", "    return out\n    kernel[(M,)]", Outcome.WRONG_ANSWER, None),
        ("2 * values", "3 * values", Outcome.WRONG_ANSWER, "wrong_value"),
        ("x.stride(0), x.stride(1)", "N, 1", None, None),
    ],
)
def test_each_mistake_of_a_launcher_has_its_verdict(old, new, outcome, message_id):
    assert old in SCALE_CELL
    found = verdict(SCALE_CELL.replace(old, new), SCALE)
    if outcome is None:
        assert found.outcome in (Outcome.WRONG_ANSWER, Outcome.OUT_OF_BOUNDS)
    else:
        assert found.outcome is outcome, str(found)
    if message_id is not None:
        assert found.message_id == message_id, str(found)


def test_an_output_that_has_to_be_contiguous_is_no_view():
    x, out = SCALE.parameters
    exercise = replace(SCALE, parameters=(x, replace(out, contiguous=True)))
    assert verdict(SCALE_CELL, exercise).outcome is Outcome.PASS
    found = verdict(SCALE_CELL.replace("return out", "return out.view(N, M).T"), exercise)
    assert (found.outcome, found.message_id) == (Outcome.WRONG_ANSWER, "launcher_strides")


def test_a_temporary_of_the_launcher_is_traffic_without_a_budget():
    cell = SCALE_CELL.replace(
        "    return out", "    kernel[(M,)](out, torch.empty_like(out), N, 1, N, BLOCK=BLOCK)\n"
        "    return out",
    )  # fmt: skip
    found = verdict(cell, SCALE)
    assert found.outcome is Outcome.TOO_MUCH_TRAFFIC, str(found)


def test_a_launch_that_swaps_its_tensors_is_told_with_both_names():
    two = replace(
        SCALE,
        parameters=(Array("A", "M, N"), Array("B", "N, M"), Array("out", "M, N", Role.OUT)),
        reference=lambda A, B: {"out": 2 * (A + B.T)},
        cases=(case(M=3, N=100),),
        budget=None,
    )
    cell = SCALE_CELL.replace("def kernel(x, out", "def kernel(a_ptr, b_ptr, out")
    cell = cell.replace("tl.load(x + row", "tl.load(a_ptr + row").replace("scale(x)", "scale(x, y)")
    cell = cell.replace("2 * values", "2 * (values + tl.load(b_ptr + j * 3 + row, mask=j < N))")
    right = cell.replace("(x, out, x.stride(0)", "(x, y, out, x.stride(0)")
    assert verdict(right, two).outcome is Outcome.PASS
    load = "tl.load(b_ptr + row * stride_m + j * stride_n + 1"
    found = verdict(right.replace("tl.load(a_ptr + row * stride_m + j * stride_n", load), two)
    assert found.outcome is Outcome.OUT_OF_BOUNDS
    assert "In this launch" not in str(found)  # the kernel's b_ptr is the exercise's B
    swapped = right.replace("(x, y, out", "(y, x, out").replace("row * stride_m", "row * 9999")
    told = " ".join(str(verdict(swapped, two)).split())
    assert "a_ptr has 300 elements, shape (100, 3)" in told
    assert "In this launch `a_ptr` of the kernel is the exercise's B." in told


def test_values_may_be_written_out_by_a_star():
    starred = SCALE_CELL.replace("x.stride(0), x.stride(1)", "*x.stride()")
    assert verdict(starred, SCALE).outcome is Outcome.PASS
    number = SCALE_CELL.replace("x.stride(0), x.stride(1)", "*M")
    assert verdict(number, SCALE).message_id == "launcher_value"
    elsewhere = SCALE_CELL.replace("torch.empty((M, N)", "torch.empty(*x.shape")
    assert verdict(elsewhere, SCALE).outcome is Outcome.PASS


def test_a_launchers_own_error_is_no_word_of_the_compilers():
    unpacked = SCALE_CELL.replace("M, N = x.shape", "M, N, K = x.shape")
    told = verdict(unpacked, SCALE)
    assert (told.outcome, told.line) == (Outcome.WRONG_ANSWER, 19), str(told)
    assert str(told).startswith("✗ scale: the launcher stops with an error"), str(told)
    assert told.case_text.startswith("case 1 of"), str(told)
    text = SCALE_CELL.replace("torch.empty((M, N)", "torch.empty('a' + 'b'")
    told = verdict(text, SCALE)
    assert (told.outcome, told.message_id) == (Outcome.REJECTED, "launcher_value"), str(told)
