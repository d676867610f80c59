"""A load that Triton's compiler merges with another, or moves out of a loop, is counted so."""

import pytest
import torch
import triton
import triton.language as tl

from course.tests.engine.triton.running import both
from course.tests.engine.triton.versions import HEARS_DISABLE_LICM, VOLATILE_LOADS_WRITE

N = 2048
SECTORS = N * 4 // 32


def load_sectors(kernel, *numbers: int) -> int:
    x, out = torch.randn(N), torch.empty(N)
    _, counts = both(kernel, (x, out, *numbers), grid=(4,), BLOCK=512)
    return counts.graded().loads.sectors


@triton.jit
def twice(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.sin(tl.load(x_ptr + i)) + tl.cos(tl.load(x_ptr + i)))


@triton.jit
def twice_with_a_call_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.sigmoid(tl.load(x_ptr + i))
    tl.store(out_ptr + i, s * tl.load(x_ptr + i))


@triton.jit
def store_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    tl.store(out_ptr + i, s)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def volatile(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, volatile=True)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i, volatile=True))


@triton.jit
def barrier_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    tl.debug_barrier()
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def volatile_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    s += tl.load(x_ptr + i, volatile=True)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit(noinline=True)
def early(i):
    if i > 99:
        return 99
    return i


@triton.jit
def call_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i) + early(tl.program_id(0))
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@pytest.mark.parametrize(
    ("kernel", "loads"),
    [
        (twice, 1),
        (twice_with_a_call_between, 1),
        (store_between, 2),
        (barrier_between, 2),
        (volatile, 2),
        (volatile_between, 3 if VOLATILE_LOADS_WRITE else 2),
        (call_between, 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_count_is_that_of_the_compiled_code(kernel, loads: int) -> None:
    assert load_sectors(kernel) == loads * SECTORS


@triton.jit(noinline=True)
def loaded_by_a_call(x_ptr, start, BLOCK: tl.constexpr):
    return tl.sum(tl.load(x_ptr + start + tl.arange(0, BLOCK)))


@triton.jit
def calls(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.program_id(0) * BLOCK
    s = loaded_by_a_call(x_ptr, start, BLOCK) + loaded_by_a_call(x_ptr, start, BLOCK)
    for _ in range(n):
        s += loaded_by_a_call(x_ptr, start, BLOCK)
    tl.store(out_ptr + i, s)


def test_calls_that_the_compiler_leaves_in_the_code_load_each_for_itself() -> None:
    assert load_sectors(calls, 5) == 7 * SECTORS


# ------------------------------------------------------------ loops


@triton.jit
def the_same_each_turn(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, BLOCK):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


@triton.jit
def beside_a_store(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in range(0, n, BLOCK):
        tl.store(out_ptr + k + i, tl.load(x_ptr + i) * tl.load(y_ptr + k + i))


@triton.jit
def in_a_while(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    k = 0
    while k < n:
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
        k += BLOCK
    tl.store(out_ptr + i, s)


@triton.jit
def two_loops_deep(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, n, BLOCK):
        for k in range(0, n, BLOCK):
            s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


@triton.jit
def before_in_and_after(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    for k in range(0, n, BLOCK):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def places_that_are_loaded(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, n, BLOCK):
        place = i ^ (tl.load(x_ptr + i).to(tl.int32) & 1)
        s += tl.load(y_ptr + place)
    tl.store(out_ptr + i, s)


@triton.jit
def around_a_branch(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    if n > 3:
        s += tl.load(y_ptr + i)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@triton.jit
def asked_to_stay(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in tl.range(0, n, BLOCK, disable_licm=True):
        s += tl.load(x_ptr + i) * tl.load(y_ptr + k + i)
    tl.store(out_ptr + i, s)


#: turns of a loop
TURNS = N // 512


@pytest.mark.parametrize(
    ("kernel", "loads"),
    [
        (the_same_each_turn, 1 + TURNS),
        (beside_a_store, 2 * TURNS),
        (in_a_while, 2 * TURNS),
        (asked_to_stay, 2 * TURNS if HEARS_DISABLE_LICM else 1 + TURNS),
        (two_loops_deep, 1 + TURNS * TURNS),
        (before_in_and_after, 2 + TURNS),
        (places_that_are_loaded, 2),
        (around_a_branch, 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_load_leaves_a_loop_where_the_compiler_moves_it(kernel, loads: int) -> None:
    x, y, out = torch.randn(N), torch.randn(N), torch.empty(2 * N)
    _, counts = both(kernel, (x, y, out, N), BLOCK=512)
    assert counts.graded().loads.sectors == loads * 512 * 4 // 32
