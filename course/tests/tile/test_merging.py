"""Loads that Triton's compiler merges are counted once, and no others."""

import pytest
import torch
import triton
import triton.language as tl

from course.tests.tile.running import both

N = 2048
SECTORS = N * 4 // 32


def load_sectors(kernel, *numbers: int) -> int:
    x, out = torch.randn(N), torch.empty(N)
    _, counts = both(kernel, (x, out, *numbers), grid=(4,), BLOCK=512)
    return counts.loads.sectors


def loads_compiled(kernel, numbers: int) -> int:
    """Loads in the compiler's own intermediate code."""
    names = ("x_ptr", "out_ptr", "n")[: 2 + numbers]
    types = dict(zip(names, ("*fp32", "*fp32", "i32"), strict=False)) | {"BLOCK": "constexpr"}
    source = triton.compiler.ASTSource(kernel, types, {"BLOCK": 512})
    target = triton.backends.compiler.GPUTarget("cuda", 80, 32)
    return triton.compile(source, target=target).asm["ttgir"].count("tt.load")


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
def same_name_other_offsets(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    j = i
    i = BLOCK * tl.num_programs(0) - 1 - i
    tl.store(out_ptr + j, s + tl.load(x_ptr + i))


@triton.jit
def other_values_past_the_mask(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, mask=i < 9999, other=1.0)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i, mask=i < 9999, other=2.0))


@triton.jit
def rounds_apart(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for k in range(n):
        s += tl.load(x_ptr + (i + k) % 2048)
    tl.store(out_ptr + i, s)


@triton.jit
def volatile(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i, volatile=True)
    tl.store(out_ptr + i, s + tl.load(x_ptr + i, volatile=True))


@triton.jit
def branch_between(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + i)
    if tl.program_id(0) > 1:
        s = s + 1
    tl.store(out_ptr + i, s + tl.load(x_ptr + i))


@pytest.mark.parametrize(
    ("kernel", "numbers", "loads"),
    [
        (twice, (), 1),
        (twice_with_a_call_between, (), 1),
        (store_between, (), 2),
        (same_name_other_offsets, (), 2),
        (other_values_past_the_mask, (), 2),
        (volatile, (), 2),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_count_is_that_of_the_compiled_code(
    kernel, numbers: tuple[int, ...], loads: int
) -> None:
    assert loads_compiled(kernel, len(numbers)) == loads
    assert load_sectors(kernel, *numbers) == loads * SECTORS


def test_rounds_of_a_loop_load_each_their_own() -> None:
    assert load_sectors(rounds_apart, 8) == pytest.approx(8 * SECTORS, rel=0.02)


def test_programs_that_part_at_a_branch_count_the_same_together_and_alone() -> None:
    assert load_sectors(branch_between) >= SECTORS  # `both` compares the two ways
