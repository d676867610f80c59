"""Kernels seeded as libraries do it: from the seed and the offset of the GPU's own generator."""

import torch
import triton
import triton.language as tl
from torch.utils.checkpoint import checkpoint


@triton.jit
def dropped(x_ptr, y_ptr, n, seed, offset, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    keep = tl.rand(seed, offset + at) > 0.5
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(keep, 2 * x, 0.0), mask=at < n)


def of_philox(increment):
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    state = generator.get_state()
    seed, offset = state.view(torch.int64).tolist()
    state.view(torch.int64)[1] += (increment + 3) // 4 * 4
    generator.set_state(state)
    return seed, offset


def dropout(x):
    y = torch.empty_like(x)
    dropped[(1,)](x, y, x.numel(), *of_philox(x.numel()), BLOCK=128)
    return y


def drawn():
    return torch.rand(3, device="cuda").tolist()


torch.manual_seed(7)
x = torch.ones(100, device="cuda")
assert torch.cuda.initial_seed() == 7
first, second = dropout(x), dropout(x)
assert not torch.equal(first, second)
torch.manual_seed(7)
assert torch.equal(dropout(x), first)
assert torch.equal(dropout(x), second)

torch.cuda.manual_seed(3)
a, state, b = drawn(), torch.cuda.get_rng_state(), drawn()
assert state.numel() == 16
assert state.device.type == "cpu"
assert a != b
torch.cuda.set_rng_state(state)
assert drawn() == b
torch.cuda.manual_seed(3)
assert drawn() == a

own = torch.Generator(device="cuda").manual_seed(5)
assert own.device.type == "cuda"
c = torch.rand(3, device="cuda", generator=own)
d = torch.rand(3, device="cuda", generator=own.manual_seed(5))
assert torch.equal(c, d)
assert c.is_cuda
assert own.get_offset() > 0

w = torch.ones(64, device="cuda", requires_grad=True)
masked = checkpoint(lambda w: torch.nn.functional.dropout(w) * w, w, use_reentrant=False)
masked.sum().backward()
assert torch.equal(w.grad, 2 * masked.detach())
print("all right")
