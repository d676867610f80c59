"""A kernel whose counts are known: where they are off, nothing here is to be trusted.

The engine asks Triton's compiler for its IR, whose insides change with its version. Before
anything is graded, one small kernel goes through masks, a reduction, a branch that programs
take differently, an atomic and a loop, and its results and counts are compared with numbers
worked out by hand.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl

from course.engine.faults import not_measured
from course.engine.triton.launch import launch

#: 3 programs, 40 floats in rows of 16: sectors of 8 floats, the last row has one of them
LOADED, STORED, UPDATED = 2 + 2 + 1, 3 + 1, 2
#: each of a program's warps loads the whole block, which is smaller than a warp
WARPS = 4
TOTAL, COUNT = 40 * 39 / 2, 2


@triton.jit
def canary(x_ptr, total_ptr, sums_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Row sums; programs with an even number count themselves."""
    program = tl.program_id(0)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    total = 0.0
    for _ in range(program + 1):
        total += tl.sum(x, axis=0) / (program + 1)
    if program % 2 == 0:
        tl.atomic_add(total_ptr, 1.0)
    else:
        tl.store(total_ptr + 8, total)
    tl.store(sums_ptr + program, total)


@cache
def counts_are_right() -> bool:
    """Whether the kernel gives its results and counts, together and one by one."""
    for together in (None, 1):
        x, total, sums = torch.arange(40.0), torch.zeros(16), torch.zeros(3)
        try:
            traffic = launch(canary, (x, total, sums, 40), (3,), {"BLOCK": 16}, together=together)
        except Exception:
            return False
        counts = traffic.loads.sectors, traffic.stores.sectors, traffic.atomics.sectors
        results = abs(float(sums.sum()) - TOTAL) < 1e-3 and float(total[0]) == COUNT
        if counts != (WARPS * LOADED, STORED, UPDATED) or not results:
            return False
        if traffic.graded().loads.sectors != LOADED:
            return False
    return True


def require_right_counts() -> None:
    """Refuses to measure with a Triton on which the counts are off.

    Raises:
        KernelFault: NOT_MEASURED, with the version.
    """
    if not counts_are_right():
        raise not_measured(None, "tile_canary", version=triton.__version__)
