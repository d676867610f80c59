"""`course.trace` of a Triton kernel: one program's lines, and what each assigns."""

import pytest
import torch
import triton
import triton.language as tl

import course
from course.engine.faults import KernelFault, Outcome
from course.tests.engine.triton.running import without_block_pointers


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


ADDED_UP = "total += tl.sum(squared(tl.load(start_ptr + at, mask=at < n, other=0.0)))"


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
        f"{ADDED_UP}   -> total = 64.0",
        "return values * values",
        "for start in range(0, n, BLOCK):   -> start = 64",
        "at = start + tl.arange(0, BLOCK)   -> at = [64 65 ... 126 127]",
        f"{ADDED_UP}   -> total = 100.0",
        "return values * values",
        "if row > 1:",
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


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit(noinline=True)
def stored(out_ptr, value):
    doubled = value * 2
    tl.store(out_ptr, doubled)
    _last = doubled + 1


@triton.jit
def of_every_kind(x_ptr, out_ptr, n, HALF: tl.constexpr):
    """A docstring is no step."""
    BLOCK: tl.constexpr = HALF * 2
    pair = (n, BLOCK)
    bits = tl.arange(0, BLOCK).to(tl.uint8) - 1
    again = bits
    for part in tl.static_range(2):
        again += part
    most = 100 * tl.reduce(again.to(tl.int32), 0, larger)
    while most > 100:
        most = most // 4
    for start in range(1, n):
        if start == 1:
            found = tl.load(x_ptr + start)
            tl.store(out_ptr + 1, found)
    if pair[0] > 100:
        return
    stored(out_ptr, most)
    _left = most - n


def test_constants_tuples_loops_and_what_is_called_are_followed(capsys):
    x, out = torch.arange(4, dtype=torch.float32), torch.zeros(4)
    lines = traced(capsys, of_every_kind, 0, (1,), x, out, 3, HALF=2)
    assert lines == [
        "BLOCK: tl.constexpr = HALF * 2   -> BLOCK = 4",
        "pair = (n, BLOCK)   -> pair = (3, 4)",
        "bits = tl.arange(0, BLOCK).to(tl.uint8) - 1   -> bits = [255 0 1 2]",
        "again = bits   -> again = [255 0 1 2]",
        "for part in tl.static_range(2):   -> part = 0",
        "again += part",
        "for part in tl.static_range(2):   -> part = 1",
        "again += part   -> again = [0 1 2 3]",
        "most = 100 * tl.reduce(again.to(tl.int32), 0, larger)   -> most = 300",
        "while most > 100:",
        "most = most // 4   -> most = 75",
        "while most > 100:",
        "for start in range(1, n):   -> start = 1",
        "if start == 1:",
        "found = tl.load(x_ptr + start)   -> found = 1.0",
        "tl.store(out_ptr + 1, found)",
        "for start in range(1, n):   -> start = 2",
        "if start == 1:",
        "if pair[0] > 100:",
        "stored(out_ptr, most)",
        "doubled = value * 2   -> doubled = 150",
        "tl.store(out_ptr, doubled)",
        "_last = doubled + 1   -> _last = 151",
        "_left = most - n   -> _left = 72",
    ]


@triton.jit
def early(out_ptr, n):
    total = n
    if n > 2:
        total += 1
        return
    tl.store(out_ptr, total)


def test_what_an_early_return_leaves_is_shown(capsys):
    lines = traced(capsys, early, 0, (1,), torch.zeros(1, dtype=torch.int32), 3)
    assert lines == ["total = n   -> total = 3", "if n > 2:", "total += 1   -> total = 4", "return"]


@triton.jit
def one_by_one(lock_ptr, out_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    before = tl.load(out_ptr)
    tl.store(out_ptr, before + 1)
    tl.atomic_xchg(lock_ptr, 0)


def test_a_program_that_waits_for_a_lock_is_followed(capsys):
    lock, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    lines = traced(capsys, one_by_one, 2, (4,), lock, out)
    assert [line.split("   ->")[0] for line in lines] == [
        "while tl.atomic_cas(lock_ptr, 0, 1) == 1:",
        "pass",
        "while tl.atomic_cas(lock_ptr, 0, 1) == 1:",
        "before = tl.load(out_ptr)",
        "tl.store(out_ptr, before + 1)",
        "tl.atomic_xchg(lock_ptr, 0)",
    ]
    assert out.item() == 4


@without_block_pointers
def test_a_block_pointer_has_no_value_of_its_own(capsys):
    lines = traced(capsys, through_a_block, 0, (1,), torch.ones(8))
    assert lines[0].endswith("-> block = a block pointer")
    assert lines[1].endswith("-> values = [1. 1. 1. 1.]")


@triton.jit
def through_a_block(x_ptr):
    block = tl.make_block_ptr(x_ptr, (8,), (1,), (0,), (4,), (0,))
    values = tl.load(block)
    tl.store(block, values + 1)


def test_a_traced_launch_is_measured_as_any_other(capsys):
    with course.measure() as traffic:
        traced(capsys, tuned, 1, (2,), torch.zeros(8, dtype=torch.int32))
    assert (traffic.launches, traffic.stores.sectors) == (1, 2)


@triton.jit
def said(out_ptr):
    tl.device_print("place", tl.program_id(0))
    tl.store(out_ptr, 1)


def test_what_a_traced_kernel_prints_is_printed_once(capsys):
    course.trace(said)[(1,)](torch.zeros(1))
    out = capsys.readouterr().out
    assert out.count("program 0: place: 0") == 1
    assert "course.step" not in out
