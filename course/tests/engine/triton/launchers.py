"""Launchers that tests walk, and call directly too: plain Python as a learner writes it."""

import math

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from course.tests.engine.triton import kernels

matmul_kernel = kernels.matmul
gated_kernel = kernels.gated_linear
flash_kernel = kernels.flash_forward
tile_sums_kernel = kernels.tile_sums
BLOCK_M, BLOCK_N, BLOCK_K = 32, 32, 16
SPLITS = 3


def matmul(a, b):
    """a (M, K) times b (K, N)."""
    M, K = a.shape
    K_too, N = b.shape
    assert K == K_too, f"{K} columns of a, {K_too} rows of b"
    assert a.is_contiguous(), "rows of a without gaps"
    assert b.is_contiguous(), "rows of b without gaps"
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    matmul_kernel[grid](
        a, b, c, M, N, K, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, num_warps=4
    )
    return c


def gated_linear(x, gate, up):
    """silu(x @ gate) * (x @ up), one launch."""
    (M, K), N = x.shape, gate.shape[1]
    out = torch.empty(M, N, device=x.device, dtype=x.dtype)
    tile = 64 if M >= 64 and M % 64 == 0 else 32

    def grid(meta):
        return triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"])

    gated_kernel[grid](x, gate, up, out, M, N, K, BLOCK_M=tile, BLOCK_N=32, BLOCK_K=32)
    return out


def flash_forward(q, k, v, causal=True):
    """Attention of (heads, N, D), and the logarithm of each row's sum."""
    heads, N, D = q.shape
    if k.shape != q.shape or v.shape != q.shape:
        raise ValueError(f"k {k.shape} and v {v.shape} have to be like q {q.shape}")
    out = torch.empty_like(q)
    lse = torch.empty((heads, N), dtype=torch.float32, device=q.device)
    flash_kernel[lambda meta: (N // meta["BLOCK_M"], heads)](
        q, k, v, out, lse, 1 / math.sqrt(D), N,
        BLOCK_M=min(64, triton.next_power_of_2(N)), BLOCK_N=32, D=D, CAUSAL=causal,
    )  # fmt: skip
    return out, lse


@triton.jit
def split_partial(
    a_ptr, b_ptr, partial_ptr, M, N, K, per_split,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    split = tl.program_id(2)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(split * per_split, min(K, (split + 1) * per_split), BLOCK_K):
        steps = start + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * K + steps[None, :],
            mask=(rows[:, None] < M) & (steps[None, :] < K), other=0.0,
        )  # fmt: skip
        b = tl.load(
            b_ptr + steps[:, None] * N + columns[None, :],
            mask=(steps[:, None] < K) & (columns[None, :] < N), other=0.0,
        )  # fmt: skip
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(
        partial_ptr + split * M * N + rows[:, None] * N + columns[None, :],
        acc, mask=(rows[:, None] < M) & (columns[None, :] < N),
    )  # fmt: skip


@triton.jit
def split_sum(partial_ptr, out_ptr, total, splits, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < total
    acc = tl.zeros((BLOCK,), tl.float32)
    for split in range(splits):
        acc += tl.load(partial_ptr + split * total + places, mask=inside, other=0.0)
    tl.store(out_ptr + places, acc, mask=inside)


def steps_of_a_split(K):
    """Columns of a that one split sums: whole tiles."""
    return triton.cdiv(triton.cdiv(K, SPLITS), BLOCK_K) * BLOCK_K


def split_k(a, b):
    """a times b, the sum cut into parts that a second launch adds."""
    (M, K), (_, N) = a.shape, b.shape
    partial = torch.empty((SPLITS, M, N), device=a.device, dtype=torch.float32)
    out = torch.empty((M, N), device=a.device)
    split_partial[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N), SPLITS)](
        a, b, partial, M, N, K, steps_of_a_split(K),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
    )  # fmt: skip
    split_sum[(triton.cdiv(M * N, 256),)](partial.view(SPLITS, -1), out, M * N, SPLITS, BLOCK=256)
    return out


def row_sums(x):
    """Sums of rows by a descriptor of the host; rows in blocks of 16, columns of 64."""
    out = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    source = TensorDescriptor.from_tensor(x, [16, 64])
    tile_sums_kernel[(x.shape[0] // 16,)](source, out, x.shape[1], BLOCK_M=16, BLOCK_N=64)
    return out
