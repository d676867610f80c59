"""Checks on compiled counts: a block's sectors are graded, and what warps ask for is told."""

import torch
import triton
import triton.language as tl

from course.check.annotated import source_lines
from course.engine.triton.launch import launch


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def few(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


def counted(kernel, n, block, programs):
    x = torch.randn(n)
    return launch(kernel, (x, torch.zeros(n), n), (programs,), {"BLOCK": block})


def test_graded_as_by_program_a_ragged_copy_asks_for_each_sector_once():
    found = counted(copy, 6001, 1024, 6)
    assert found.loads.sectors == 3001
    assert [site.sectors for site in found.graded().sites] == [751, 751]
    assert found.program_bytes == 8192


def test_a_line_tells_what_its_warps_ask_for_and_why():
    for kernel, n, block, programs, told in (
        (copy, 6001, 1024, 6,
         "as compiled 93.8 KB, 4 times that: a lane takes 4 bytes at a time of 16 side by side"),
        (few, 32, 32, 1, "as compiled 512 B, 4 times that: 4 warps make the same load"),
        (copy, 6016, 1024, 6, "16-byte loads"),
        (copy, 128, 128, 1, "4-byte loads: a thread has no more side by side"),
    ):  # fmt: skip
        compiled = counted(kernel, n, block, programs)
        first = kernel.fn.__code__.co_firstlineno
        source = "\n" * 200
        lines = source_lines(source, first, first + 5, compiled, ())
        load = next(a for line in lines for a in line.accesses if a.direction == "load")
        assert load.compiled == told
        assert load.requested_bytes == compiled.graded().loads.sectors * 32
