"""A table of addresses, from which a kernel loads where its matrices lie."""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def grouped(from_ptr, to_ptr, sizes_ptr, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    x_ptr = tl.load(from_ptr + group).to(tl.pointer_type(tl.float32))
    out_ptr = tl.load(to_ptr + group).to(tl.pointer_type(tl.float16))
    at = tl.arange(0, BLOCK)
    mask = at < tl.load(sizes_ptr + group)
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(out_ptr + at, 2 * x, mask=mask)


def addresses(tensors):
    return torch.tensor([tensor.data_ptr() for tensor in tensors], device="cuda")


sizes = [5, 40, 17]
given = [torch.rand(size, device="cuda") for size in sizes]
made = [torch.empty(size, device="cuda", dtype=torch.float16) for size in sizes]
there, back = addresses(given), addresses(made)
x = given[0]
assert (x[2:].data_ptr(), x.data_ptr()) == (x.untyped_storage().data_ptr() + 8, there[0])
here = torch.ones(2)
assert here.data_ptr() == here.untyped_storage().data_ptr()
if "outside" in sys.argv:
    sizes[1] += 1
if "gone" in sys.argv:
    del given[2]
grouped[(3,)](there, back, torch.tensor(sizes, device="cuda"), BLOCK=64)
for x, out in zip(given, made, strict=True):
    assert torch.equal(out, (2 * x).half())
print("all right")
