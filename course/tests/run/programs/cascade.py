"""A kernel that is wrong, and others that load what it should have written."""

import torch
import triton
import triton.language as tl
from numba import cuda
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def added(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + tl.load(y_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def tiles(x, out, BLOCK: tl.constexpr):
    out.store([0, 0], x.load([0, 0]) + 1)


@triton.jit
def through_a_table(x_ptr, table_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    out_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@cuda.jit
def doubled(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


def empty(*shape):
    return torch.empty(shape, device="cuda")


def of_tiles(x):
    return TensorDescriptor.from_tensor(x, [16, 16])


nothing, x, out = empty(64), torch.ones(64, device="cuda"), empty(64)
added[(1,)](nothing, x, out, 64, BLOCK=64)  # told: nothing has written the first
added[(1,)](out, x, empty(64), 64, BLOCK=64)

image = empty(16, 16)
tiles[(1,)](of_tiles(empty(16, 16)), of_tiles(image), BLOCK=16)  # told
tiles[(1,)](of_tiles(image), of_tiles(empty(16, 16)), BLOCK=16)

result = empty(64)
table = torch.tensor([result.data_ptr()], device="cuda")
through_a_table[(1,)](empty(64), table, 64, BLOCK=64)  # told
added[(1,)](result, x, empty(64), 64, BLOCK=64)

added[(1,)](x, empty(64), empty(64), 64, BLOCK=64)  # told: another mistake

left = cuda.device_array(8)
doubled[1, 8](cuda.device_array(8), left)  # told
doubled[1, 8](left, cuda.device_array(8))
print("to the end")
