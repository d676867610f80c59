import torch
import triton
import triton.language as tl
from triton._C.libtriton import nvidia


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


def doubled(x: torch.Tensor) -> torch.Tensor:
    out, zeros = torch.empty_like(x), torch.zeros(x.shape, device="cuda")
    assert zeros.is_cuda
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out + zeros


own = torch.library.custom_op("tried::own", doubled, mutates_args=(), device_types="cuda")
own.register_fake(torch.empty_like)
own.register_autograd(lambda context, gradient: 2 * gradient)
library = torch.library.Library("tried", "FRAGMENT")
library.define("defined(Tensor x) -> Tensor")
library.impl("defined", doubled, "CUDA")


@torch.library.custom_op("tried::added", mutates_args=())
def added(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError


added.register_kernel("cuda")(doubled)


@torch.library.triton_op("tried::traced", mutates_args={})
def traced(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(double)[(1,)](x, out, x.numel(), BLOCK=64)
    return out


x = torch.rand(10, device=0, requires_grad=True)
assert x.is_cuda
assert torch.zeros(3).to(0).device.type == torch.accelerator.current_accelerator().type
with torch.accelerator.device_index(0):
    torch.accelerator.empty_cache()
assert torch.accelerator.get_memory_info() == torch.cuda.mem_get_info()
assert torch.accelerator.max_memory_allocated() == torch.accelerator.current_device_index() == 0
assert torch.get_device_module() is torch.cuda
with torch.cuda.device(x.device) as device, torch.cuda.device_of(x):
    assert torch._C._cuda_getCurrentRawStream(torch.cuda.device(0).idx) == 0, device
with torch.cuda._DeviceGuard(0):  # as the code that torch.compile writes
    assert torch._C._dynamo.guards._empty_strided_cuda((2, 3), (3, 1), torch.float16).is_cuda
a, b, c = torch.rand(2, 8, device=0), torch.rand(3, 8, device=0), torch.zeros(2, 3, device=0)
nvidia.cublas.CublasLt(torch.empty(64, device="cuda")).matmul(a, b, c)
assert torch.equal(c, a @ b.T)
own(x).sum().backward()
assert (x.grad == 2).all()
for one in (own, torch.ops.tried.defined, added, traced):
    assert torch.equal(one(x.detach()), 2 * x), one
assert doubled(torch.zeros(0, device="cuda")).numel() == 0


@triton.autotune(
    [triton.Config({"B": 128}, num_stages=5), triton.Config({"B": 24}), triton.Config({"B": 32})],
    key=["n"],
    reset_to_zero=["launches"],
)
@triton.jit
def product(x_ptr, out_ptr, launches, n, B: tl.constexpr):
    tl.static_assert(B != 24, "a power of two")
    i = tl.arange(0, B)
    made = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        left = tl.load(x_ptr + i[:, None] * n + k + i, mask=(i[:, None] < n) & (k + i < n), other=0)
        right = tl.load(
            x_ptr + (k + i)[:, None] * n + i, mask=(i < n) & (k + i[:, None] < n), other=0
        )
        made = tl.dot(left, right, made)
    tl.store(out_ptr + i[:, None] * n + i, made, mask=(i[:, None] < n) & (i < n))
    tl.atomic_add(launches, 1)


x = torch.eye(32, device="cuda")
out, launches = torch.empty_like(x), torch.empty(1, device="cuda", dtype=torch.int32)
for _ in range(2):
    product[(1,)](x, out, launches, 32)
assert torch.equal(out, x)
assert (product.best_config.kwargs, launches.item()) == ({"B": 32}, 2), product.best_config
print("all right")
