"""Programs for a GPU in the manner of Triton's tutorials: nothing here knows of the course."""

import contextlib
import sys

import numpy as np
import torch
import triton
import triton.language as tl
from numba import cuda

DEVICE = triton.runtime.driver.active.get_active_torch_device()
assert torch.cuda.is_available()
assert torch.cuda.get_device_capability() == (9, 0)
with contextlib.suppress(ImportError):  # numba-cuda's wants what its own tests do
    from numba.cuda.testing import cc_X_or_above

    assert cc_X_or_above(9, 0)
    assert not cc_X_or_above(10, 0)
assert sys.argv[1:] == ["--size", "1000"]


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def added(x, y):
    out = torch.empty_like(x)
    assert x.device == y.device == out.device == DEVICE
    add[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=256)
    return out


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"], x_vals=[64, 1 << 40], line_arg="by", line_vals=["a", "b"],
        line_names=["A", "B"], ylabel="ms", plot_name="adding", args={},
    )
)  # fmt: skip
def adding(size, by):
    x = torch.rand(size, device=DEVICE)
    low, mean, high = triton.testing.do_bench(lambda: added(x, x), quantiles=[0.2, 0.5, 0.8])
    assert 0 < low <= mean <= high
    return mean


@triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 64})], key=["cols"])
@triton.jit
def column_sums(x_ptr, sums_ptr, lock_ptr, cols, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.load(x_ptr + tl.program_id(0) * cols + offsets, mask=offsets < cols)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    before = tl.load(sums_ptr + offsets, mask=offsets < cols)
    tl.store(sums_ptr + offsets, before + row, mask=offsets < cols)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x)
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        sums = torch.zeros(x.shape[1], device="cuda")
        lock = torch.zeros(1, dtype=torch.int32, device=x.device)
        column_sums[(x.shape[0],)](x, sums, lock, x.shape[1])
        return None, sums


@cuda.jit
def doubled(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


x = torch.rand(1000, device=DEVICE)
assert torch.equal(added(x, x), 2 * x)
adding.run(print_data=True, show_plots=True)

handle = add.warmup(x, x, x, 1000, BLOCK=256, grid=(1,), num_warps=8)
handle._init_handles()
sizes = triton.runtime.driver.active.utils.get_device_properties(DEVICE.index)
assert 0 < handle.n_regs <= sizes["max_num_regs"]
assert handle.n_spills == 0
assert handle.metadata.num_warps == 8
assert ".target sm_90" in handle.asm["ptx"]
out = torch.empty_like(x)
handle[(4, 1, 1)](x, x, out, 1000, 256)
assert torch.equal(out, 2 * x)

start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
with torch.cuda.stream(torch.cuda.Stream()):
    start.record()
    x.record_stream(torch.cuda.current_stream())
    end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) >= 0

torch.set_default_device("cuda")
assert torch.ones(2).is_cuda
assert torch.get_default_device() == torch.device("cuda")
torch.set_default_device(None)
rows = torch.rand(5, 100).pin_memory().to("cuda", non_blocking=True)
assert rows.is_cuda
weight = torch.ones(100, device="cuda", requires_grad=True)
Scaled.apply(rows, weight).sum().backward()
torch.testing.assert_close(weight.grad, rows.sum(0))
torch.optim.AdamW([weight], lr=0.5, weight_decay=0).step()
torch.testing.assert_close(weight.detach(), torch.full_like(weight, 0.5))

host = np.arange(100, dtype=np.float32)
there = cuda.to_device(host)
here = cuda.device_array_like(there)
doubled[1, 128](there, here)
assert (here.copy_to_host() == 2 * host).all()
print("all right")
