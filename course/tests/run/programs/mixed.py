"""Training in 16 bits: what `torch.autocast("cuda")` makes of each step, and what a kernel gets."""

import numpy as np
import torch
import triton
import triton.language as tl
from torch.nn import functional as F

HALF, SINGLE = torch.bfloat16, torch.float32


@triton.jit
def doubled(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at))


class Doubled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
    def forward(ctx, x):
        assert x.dtype == torch.float16
        out = torch.empty_like(x)
        doubled[(1,)](x, out, BLOCK=x.numel())
        return out

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        return 2 * gradient


layer, x = torch.nn.Linear(8, 8).cuda(), torch.randn(4, 8, device="cuda")
with torch.autocast("cuda", dtype=HALF):
    assert torch.is_autocast_enabled()
    assert torch.is_autocast_enabled("cuda")
    assert torch.get_autocast_dtype("cuda") == HALF
    y = layer(x)
    assert y.dtype == (x @ x.T).dtype == F.gelu(y).dtype == (y + y).dtype == HALF
    for wide in (F.softmax(y, 1), F.layer_norm(y, (8,)), y.exp(), y.sum(), y**2, y.norm(), y.log()):
        assert wide.dtype == SINGLE
    assert torch.equal(F.softmax(y, 1), F.softmax(y.float(), 1))
    with torch.autocast("cuda", enabled=False):
        assert layer(x).dtype == SINGLE
with torch.amp.autocast("cuda"):
    assert layer(x).dtype == torch.float16
assert layer(x).dtype == SINGLE
assert F.softmax(y, 1).dtype == F.layer_norm(y, (8,)).dtype == HALF
assert not torch.is_autocast_enabled()

scaler, optimizer = torch.amp.GradScaler("cuda", 8.0), torch.optim.SGD(layer.parameters(), 0.1)
before = layer.bias.detach().clone()
with torch.autocast("cuda"):
    loss = Doubled.apply(layer(x)).sum()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
np.testing.assert_allclose((before - layer.bias.detach()).cpu(), np.full(8, 0.1 * 2 * 4), rtol=1e-3)
print("all right")
