# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
"""Kernels that `tools.record_speed` times: a matmul in forty configurations, and an add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl

#: Rows of tiles whose programs run side by side, so that L2 keeps what they share.
GROUP = 8

#: (BM, BN, BK, warps, stages): square and long tiles, few and many warps, and some beyond an SM.
_CONFIGURATIONS = (
    *((32, 32, 32, 4, 2), (32, 32, 64, 4, 3), (32, 64, 32, 4, 2), (32, 64, 64, 4, 3)),
    *((64, 32, 64, 4, 4), (64, 64, 32, 4, 2), (64, 64, 32, 8, 2), (64, 64, 64, 2, 3)),
    *((64, 64, 64, 4, 2), (64, 64, 64, 4, 4), (64, 64, 128, 4, 3), (64, 128, 32, 4, 3)),
    *((64, 128, 64, 4, 3), (64, 128, 64, 8, 4), (64, 256, 32, 4, 3), (64, 256, 64, 4, 3)),
    *((64, 256, 64, 8, 4), (128, 32, 64, 4, 4), (128, 64, 32, 4, 4), (128, 64, 64, 4, 3)),
    *((128, 64, 128, 4, 3), (128, 128, 32, 4, 3), (128, 128, 32, 8, 4), (128, 128, 64, 2, 3)),
    *((128, 128, 64, 4, 2), (128, 128, 64, 4, 4), (128, 128, 64, 8, 3), (128, 128, 128, 8, 2)),
    *((128, 128, 128, 4, 4), (128, 256, 32, 8, 4), (128, 256, 64, 4, 3), (128, 256, 64, 8, 2)),
    *((128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 256, 128, 8, 3), (256, 64, 64, 4, 3)),
    *((256, 128, 32, 8, 3), (256, 128, 64, 8, 3), (256, 128, 64, 4, 3), (256, 256, 64, 8, 3)),
)
CONFIGURATIONS: tuple[dict[str, int], ...] = tuple(
    dict(zip(("BM", "BN", "BK", "warps", "stages"), row, strict=True)) for row in _CONFIGURATIONS
)

#: (M, N, K): one square, one large, one with few tiles, one flat, one with a short sum, one thin.
SHAPES: dict[str, tuple[int, int, int]] = {
    "square": (4096, 4096, 4096),
    "large": (8192, 8192, 8192),
    "small": (1024, 1024, 1024),
    "flat": (256, 8192, 4096),
    "long": (16384, 1024, 512),
    "medium": (2048, 2048, 2048),
    "deep": (512, 512, 16384),
    "wide": (1024, 16384, 1024),
}
#: Shapes whose times go to the graders' record and not to the learners'.
HELD_OUT = ("large", "long", "medium", "deep", "wide")


@triton.jit
def product_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    """C = A @ B, float16, sums in float32; M, N and K are multiples of the tile's sides."""
    pid = tl.program_id(0)
    tiles_n = tl.cdiv(N, BN)
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tl.cdiv(M, BM) - first, GROUP)
    rows = (first + pid % in_a_group % height) * BM + tl.arange(0, BM)
    columns = pid % in_a_group // height * BN + tl.arange(0, BN)
    steps = tl.arange(0, BK)
    a_places = A + rows[:, None] * K + steps[None, :]
    b_places = B + steps[:, None] * N + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(a_places), tl.load(b_places), total)
        a_places += BK
        b_places += BK * N
    tl.store(C + rows[:, None] * N + columns[None, :], total.to(tl.float16))


def product(a: Any, b: Any, configuration: dict[str, int]) -> Callable[[], tuple[Any, Any]]:
    """A call that multiplies a (M, K) by b (K, N), and returns (product, compiled kernel)."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    bm, bn, bk = (configuration[name] for name in ("BM", "BN", "BK"))
    grid = (m // bm * (n // bn),)
    warps, stages = configuration["warps"], configuration["stages"]

    def call() -> tuple[Any, Any]:
        compiled = product_kernel[grid](
            a, b, c, m, n, k, bm, bn, bk, GROUP, num_warps=warps, num_stages=stages
        )
        return c, compiled

    return call


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    """out = x + y, n elements."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i, i < n) + tl.load(y + i, i < n)
    tl.store(out + i, total, i < n)


def add(x: Any, y: Any, out: Any = None) -> Any:
    """x + y, of one length; `out` is made where none is given."""
    out = torch.empty_like(x) if out is None else out
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), 1024)
    return out
