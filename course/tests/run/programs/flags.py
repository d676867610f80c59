"""Kernels whose programs and threads store one value to one place, and one that does not."""

import sys

import numpy as np
import torch
import triton
import triton.language as tl
from numba import cuda


@triton.jit
def any_large(x_ptr, found_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(found_ptr + tl.zeros([BLOCK], tl.int32), tl.full([BLOCK], 1, tl.int32), mask=x > 2)


@triton.jit
def last_program(out_ptr):
    tl.store(out_ptr, tl.program_id(0))


@cuda.jit
def raised(x, found):
    i = cuda.grid(1)
    seen = cuda.shared.array(1, np.int32)
    if x[i] > 2:
        seen[0] = 1
        found[0] = 1


@cuda.jit
def last_thread(out):
    out[0] = cuda.grid(1)


if sys.argv[1] == "equal":
    x = torch.arange(8.0, device="cuda").repeat(64)
    found = torch.zeros(1, dtype=torch.int32, device="cuda")
    any_large[(8,)](x, found, BLOCK=64)
    flag = cuda.to_device(np.zeros(1, np.int32))
    raised[40, 256](cuda.to_device(np.full(40 * 256, 3.0)), flag)
    assert found.item() == 1
    assert flag.copy_to_host()[0] == 1
    print("all right")
elif sys.argv[1] == "triton":
    last_program[(4,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
else:
    last_thread[2, 32](cuda.to_device(np.zeros(1, np.int32)))
