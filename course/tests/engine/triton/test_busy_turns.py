"""Turns of loops in which a program moves something, and nothing: the same on both engines."""

import pytest
import torch
import triton
import triton.language as tl

from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.runner import Engine
from course.engine.triton.launch import launch
from course.exercises.hello_triton import triton_add


@triton.jit
def one_tile_each(x_ptr, out_ptr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for turn in range(4):
        i = turn * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + i, mask=turn == program, other=0.0)
    tl.store(out_ptr + program, tl.sum(total, axis=0))


@triton.jit
def every_other(x_ptr, out_ptr, n):
    at, total = tl.program_id(0), 0.0
    while at < n:
        if at % 2 == 0:
            total += tl.load(x_ptr + at)
        at += 3
    tl.store(out_ptr + tl.program_id(0), total)


@triton.jit
def dark_half(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    i, program = tl.arange(0, BLOCK), tl.program_id(0)
    for half in range(2):
        total = tl.zeros((BLOCK, BLOCK), tl.float32)
        for k in range(0, K, BLOCK):  # the compiler asks for its tiles some turns before
            lit = (k <= program * BLOCK) & (i[:, None] < BLOCK) & (i[None, :] < BLOCK)
            a = tl.load(a_ptr + i[:, None] * K + k + i[None, :], mask=lit, other=0.0)
            b = tl.load(b_ptr + (k + i[:, None]) * BLOCK + i[None, :], mask=lit, other=0.0)
            total = tl.dot(a, b, total)
        place = (program * 2 + half) * BLOCK * BLOCK
        tl.store(c_ptr + place + i[:, None] * BLOCK + i[None, :], total)


@triton.jit
def boxes(a_ptr, c_ptr, K, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [BLOCK, K], [K, 1], [BLOCK, BLOCK])
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, 2 * K, BLOCK):  # of the second half nothing is there
        tile = a.load([0, k])
        total = tl.dot(tile, tile, total)
    i = tl.arange(0, BLOCK)
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], total)


@pytest.mark.parametrize("target", [80, 90])
@pytest.mark.parametrize(
    ("kernel", "args", "programs", "block", "busy", "idle"),
    [
        (one_tile_each, (torch.ones(1024), torch.empty(4)), 4, 256, 4, 12),
        (every_other, (torch.ones(100), torch.empty(3), 100), 3, None, 50, 50),
        # of 5 tiles the first program multiplies one, the second two, each twice
        (dark_half, (torch.ones(32, 160), torch.ones(160, 32), torch.empty(4, 32, 32), 160),
         2, 32, 2 + 4 + 2 * 2, 8 + 6),
        (boxes, (torch.ones(32, 160), torch.empty(32, 32), 160), 1, 32, 5, 5),
    ],
)  # fmt: skip
def test_turns_that_move_nothing_are_those_of_the_kernel_as_written(
    kernel, args, programs, block, busy, idle, target
):
    named = {} if block is None else {"BLOCK": block}
    found = launch(kernel, args, (programs,), named, target=target)
    assert (found.busy_turns, found.idle_turns) == (busy, idle)


WALKS_IN_VAIN = """import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):
    for block in range(tl.num_programs(0)):
        if block == tl.program_id(0):
            i = block * BLOCK + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + i, mask=i < N)
            tl.store(out_ptr + i, x + tl.load(y_ptr + i, mask=i < N), mask=i < N)
"""


def test_a_program_that_walks_in_vain_is_too_serial():
    runner = Engine(compiles=False)
    found = check_source(triton_add, WALKS_IN_VAIN, triton_add.cases[-1:], runner=runner)
    assert (found.outcome, found.message_id) == (Outcome.TOO_SERIAL, "turns_in_vain")
    line = WALKS_IN_VAIN[: WALKS_IN_VAIN.index("for block")].count("\n") + 1
    assert [one.number for one in found.lines if one.marked] == [line]


@triton.jit
def half_of_them(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def a_ticket_each(counter_ptr, out_ptr, n):
    if tl.program_id(0) < n:
        while tl.atomic_add(counter_ptr + 1, 0) < tl.program_id(0):
            pass
        tl.store(out_ptr + tl.program_id(0), tl.atomic_add(counter_ptr, 1))
        tl.atomic_add(counter_ptr + 1, 1)


@pytest.mark.parametrize(
    ("kernel", "args", "named", "idle"),
    [
        (half_of_them, (torch.ones(64), torch.empty(64), 50), {"BLOCK": 8}, 13),
        (a_ticket_each, (torch.zeros(2, dtype=torch.int32), torch.empty(5), 5), {}, 15),
    ],
)
def test_programs_that_move_nothing_are_counted(kernel, args, named, idle):
    assert launch(kernel, args, (20,), named).idle_programs == idle
