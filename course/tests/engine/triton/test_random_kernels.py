"""Random data through kernels with divergent control flow: together is as one by one."""

import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from course.engine.triton.launch import launch
from course.tests.engine.triton.running import both

OPERATIONS = 8


@triton.jit
def machine(code_ptr, data_ptr, out_ptr, sum_ptr, steps, n, BLOCK: tl.constexpr):
    """Runs a program of its own for each Triton program: what `code` says, step by step."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x = tl.load(data_ptr + pid * BLOCK + lanes, mask=pid * BLOCK + lanes < n, other=1)
    count = 0
    at = 0
    while at < steps:
        op = tl.load(code_ptr + pid * steps + at)
        at += 1
        if op == 0:
            x += lanes
        elif op == 1:
            for i in range(pid % 3):
                x = x * 3 + i
        elif op == 2:
            if tl.sum(x) % 2 == 0:
                tl.atomic_add(sum_ptr + lanes % 4, x, mask=lanes > 1)
                count += 1
            else:
                x = x ^ at
        elif op == 3:
            x = bounded(x, pid)
        elif op == 4:
            count = count * 2 if pid % 2 == 0 else count - 1
        elif op == 5:
            at = steps
        elif op == 6:
            tl.store(out_ptr + pid * BLOCK + lanes, x, mask=x > 0)
        else:
            x = tl.load(data_ptr + tl.abs(x) % n, mask=lanes < pid + 1, other=-2)
    tl.store(out_ptr + n + pid * BLOCK + lanes, x + count)


@triton.jit
def bounded(x, limit):
    top = tl.max(x, axis=0)
    if top > 100:
        x = x // 7
    elif limit == 1:
        x = -x
    else:
        x = tl.minimum(x, limit)
    return x  # once: Triton leaves the call of a function that returns twice, and refuses it


codes = st.integers(1, 6).flatmap(
    lambda steps: st.lists(
        st.lists(st.integers(0, OPERATIONS - 1), min_size=steps, max_size=steps),
        min_size=1,
        max_size=6,
    )
)


numbers_of_a_tensor = st.lists(st.integers(-300, 300), min_size=1, max_size=48)


@settings(max_examples=40, deadline=None)
@given(codes, numbers_of_a_tensor)
def test_programs_that_disagree_at_every_step(code, numbers):
    disagreeing(code, numbers)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(codes, numbers_of_a_tensor)
def test_hundreds_of_kernels_whose_programs_disagree_at_every_step(code, numbers):
    disagreeing(code, numbers)


def disagreeing(code, numbers):
    """One random kernel, all programs at once and one by one: the same results and counts."""
    programs, block = len(code), 8
    n = max(len(numbers), programs * block)
    data = torch.tensor((numbers * n)[:n], dtype=torch.int32)
    out, sums = torch.zeros(2 * n, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    steps = torch.tensor(code, dtype=torch.int32)
    both(machine, [steps, data, out, sums, len(code[0]), n], (programs,), BLOCK=block)


@triton.jit
def strided(
    x_ptr, out_ptr, rows, columns, stride_row, stride_column,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    x = tl.load(x_ptr + i[:, None] * stride_row + j[None, :] * stride_column, mask=inside)
    tl.store(out_ptr + i[:, None] * columns + j[None, :], x, mask=inside)


def sectors_by_hand(view, block_m, block_n):
    """Distinct sectors of each tile, summed, from the addresses themselves."""
    total = 0
    for top in range(0, view.shape[0], block_m):
        for left in range(0, view.shape[1], block_n):
            places = {
                (view.storage_offset() + i * view.stride(0) + j * view.stride(1))
                * view.element_size()
                // 32
                for i in range(top, min(top + block_m, view.shape[0]))
                for j in range(left, min(left + block_n, view.shape[1]))
            }
            total += len(places)
    return total


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 20), st.integers(1, 20), st.integers(0, 3), st.booleans(),
    st.sampled_from([torch.float32, torch.float16, torch.float64, torch.int8]),
    st.sampled_from([(4, 8), (8, 4), (1, 16), (16, 1)]), st.integers(1, 3),
)  # fmt: skip
def test_sectors_of_any_strided_view_are_those_counted_by_hand(
    rows, columns, offset, turned, dtype, block, step
):
    base = torch.arange(2 * (rows * step + 4) * (columns + 4)).to(dtype)
    view = torch.as_strided(base, (rows, columns), ((columns + 3) * step, 1), offset)
    view = view.T if turned else view
    out = torch.zeros(view.shape, dtype=dtype)
    grid = (triton.cdiv(view.shape[0], block[0]), triton.cdiv(view.shape[1], block[1]))
    traffic = launch(
        strided, (view, out, *view.shape, *view.stride()), grid,
        {"BLOCK_M": block[0], "BLOCK_N": block[1]},
    )  # fmt: skip
    assert torch.equal(out, view)
    graded = traffic.graded()
    assert graded.sectors("x_ptr", "load") == sectors_by_hand(view, *block)
    assert graded.sectors("out_ptr", "store") == sectors_by_hand(out, *block)
    assert traffic.loads.lane_bytes == view.numel() * view.element_size()
