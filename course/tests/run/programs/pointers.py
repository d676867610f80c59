"""A kernel's pointers are objects that say where a tensor begins, as libraries make them."""

import torch
import triton
import triton.language as tl


class Buffer:
    def __init__(self, base, offset=0):
        self.base, self.dtype, self.offset = base, base.dtype, offset

    def data_ptr(self):
        return self.base.data_ptr() + self.offset * self.dtype.itemsize


@triton.jit
def backwards(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mask = at < n
    # from the last element on, with a stride of -1
    x = tl.load(x_ptr - at, mask=mask)
    tl.store(y_ptr + at, x, mask=mask)


x = torch.rand(100, device="cuda")
y = torch.empty_like(x)
backwards[(1,)](Buffer(x, 99), Buffer(y), 100, BLOCK=128)
assert torch.equal(y, x.flip(0))
print("all right", flush=True)
backwards[(1,)](Buffer(x, 98), Buffer(y), 100, BLOCK=128)
