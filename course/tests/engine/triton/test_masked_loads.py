"""A load's lanes that are masked off, without `other`: 0, as Triton's compiler has it.

Triton leaves open what they hold. The engine does what the compiler does, as long as it does it.
"""

import re

import pytest
import torch
import triton
import triton.language as tl

from course.engine.triton.compiling.compiler import to_ptx
from course.engine.triton.compiling.specialisation import source_of
from course.tests.engine.triton.running import both


@triton.jit
def padded(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n))


DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masked_off_lanes_hold_0_in_the_engine(dtype):
    x, out = torch.ones(5, dtype=dtype), torch.full((8,), 7, dtype=dtype)
    (_, got, _), _ = both(padded, (x, out, 5), BLOCK=8)
    assert got.tolist() == [1] * 5 + [0] * 3


@pytest.mark.parametrize("target", [75, 80, 90])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masked_off_lanes_hold_0_in_what_the_compiler_makes(dtype, target):
    """Each register that a load may leave alone is set to 0 right before it."""
    x = torch.ones(5, dtype=dtype)
    lines = to_ptx(source_of(padded, (x, x, 5), {"BLOCK": 128}), target).ptx.splitlines()
    loads = [number for number, line in enumerate(lines) if re.search(r"@%p\d+ ld\.global", line)]
    assert loads
    for number in loads:
        registers = re.findall(r"%r\w*\d+", lines[number].partition("}")[0])
        above = "\n".join(lines[number - len(registers) : number])
        for register in registers:
            assert re.search(rf"mov\.[a-z]\d+ {register}, 0x0;", above), above
