"""`course.trace` of a Triton kernel: one program's lines, and what each assigns."""

import pytest

pytest.importorskip("triton", reason="Triton has no wheel for this system")

import torch
import triton
import triton.language as tl

import course
from course.engine.faults import KernelFault, Outcome


@triton.jit
def squared(values):
    return values * values


@triton.jit
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start_ptr = x_ptr + row * n
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(squared(tl.load(start_ptr + at, mask=at < n, other=0.0)))
    if row > 1:
        total = -total
    both = total + tl.zeros((2, 8), tl.float32)
    tl.store(out_ptr + row, tl.max(both))


@triton.autotune([triton.Config({"BLOCK": 4})], key=[])
@triton.jit
def tuned(out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, at)


def traced(capsys, kernel, place, grid, *args, most_steps=60, **named):
    assert course.trace(kernel, block=place, most_steps=most_steps)[grid](*args, **named) is None
    return [line[8:].strip() for line in capsys.readouterr().out.splitlines()]  # after `line 31`


def test_a_programs_lines_are_shown_with_what_they_assign(capsys):
    x, out = torch.ones(4, 100), torch.zeros(4)
    lines = traced(capsys, row_sum, 2, (4,), x, out, 100, BLOCK=64)
    assert lines == [
        "row = tl.program_id(0)   -> row = 2",
        "start_ptr = x_ptr + row * n   -> start_ptr = x_ptr + 200",
        "total = 0.0   -> total = 0.0",
        "for start in range(0, n, BLOCK):   -> start = 0",
        "at = start + tl.arange(0, BLOCK)   -> at = [0 1 ... 62 63]",
        "total += tl.sum(squared(tl.load(start_ptr + at, mask=at < n, other=0.0)))",
        "return values * values",
        "for start in range(0, n, BLOCK):   -> total = 64.0, start = 64",
        "at = start + tl.arange(0, BLOCK)   -> at = [64 65 ... 126 127]",
        "total += tl.sum(squared(tl.load(start_ptr + at, mask=at < n, other=0.0)))",
        "return values * values",
        "if row > 1:   -> total = 100.0",
        "total = -total   -> total = -100.0",
        "both = total + tl.zeros((2, 8), tl.float32)"
        "   -> both = [[-100. -100. ... -100. -100.] [-100. -100. ... -100. -100.]]",
        "tl.store(out_ptr + row, tl.max(both))",
    ]
    assert out.tolist() == [100, 100, -100, -100]  # the others ran, too


def test_a_program_that_goes_another_way_is_followed_there(capsys):
    lines = traced(capsys, row_sum, 0, (4,), torch.ones(4, 9), torch.zeros(4), 9, BLOCK=16)
    assert "total = -total" not in " ".join(lines)
    assert lines[-1] == "tl.store(out_ptr + row, tl.max(both))"


def test_a_place_in_a_grid_of_two_axes_and_a_wrapper(capsys):
    out = torch.zeros(8, dtype=torch.int32)
    lines = traced(capsys, tuned, (1,), (2, 1), out)
    assert lines[0].endswith("-> at = [4 5 6 7]")


def test_only_the_first_steps_are_shown(capsys):
    lines = traced(
        capsys, row_sum, 0, (1,), torch.ones(1, 99), torch.zeros(1), 99, BLOCK=2, most_steps=3
    )
    assert len(lines) == 4
    assert lines[2] == "total = 0.0   -> total = 0.0"


def test_a_place_that_is_not_in_the_grid_is_said(capsys):
    course.trace(tuned, block=7)[(2,)](torch.zeros(8, dtype=torch.int32))
    assert (
        capsys.readouterr().out == "program (7, 0, 0) ran nothing: no such place is in the grid\n"
    )


def test_a_fault_comes_behind_the_lines_that_led_to_it(capsys):
    with pytest.raises(KernelFault) as caught:
        course.trace(row_sum, block=3)[(4,)](torch.ones(4, 9), torch.zeros(3), 9, BLOCK=16)
    assert caught.value.outcome is Outcome.OUT_OF_BOUNDS
    assert capsys.readouterr().out.rstrip().endswith("tl.store(out_ptr + row, tl.max(both))")


def test_there_is_no_thread_to_follow_and_a_plain_function_is_no_kernel():
    with pytest.raises(KernelFault, match="a program works on whole blocks"):
        course.trace(row_sum, thread=3)
    with pytest.raises(KernelFault, match="plain Python function"):
        course.trace(len)
