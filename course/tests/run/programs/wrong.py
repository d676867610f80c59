"""Three mistakes of kernels, and one that is none where an allocation is the bound."""

import torch
import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets + 1, mask=offsets < n), mask=offsets < n)


@triton.jit
def total(x_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(sum_ptr, tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)))


x, y, sums = torch.ones(101, device="cuda"), torch.zeros(100, device="cuda"), None
shift[(1,)](x[:100], y, 100, BLOCK=128)
sums = torch.zeros(1, device="cuda")
total[(1,)](torch.empty(100, device="cuda"), sums, 100, BLOCK=128)
total[(2,)](x, sums, 100, BLOCK=128)
total[(2,)](torch.empty(100, device="cuda").fill_(1), sums, 100, BLOCK=64)
print("to the end")
