"""Launches of the shared kernels with their references: (name, size) to tensors, grid, result."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

try:
    from course.tests.engine.triton import kernels as k
except ImportError:  # on the GPU's machine the two files lie side by side
    import kernels as k  # type: ignore[import-not-found, no-redef]


@dataclass
class Case:
    """One launch: what is passed, and what each output must hold afterwards."""

    name: str
    kernel: Any
    args: tuple
    grid: tuple
    constants: dict
    expected: dict[int, torch.Tensor]
    tolerance: float = 1e-4


def _normal(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    """Numbers of each shape, the same in every process: among a quarter of a million sums in
    TF32, some draws have one that is off by more than the tolerance.
    """
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def add(n: int, block: int = 256) -> Case:
    x, y = _normal((n,), (n,))
    out = torch.full((n,), math.nan)
    return Case(
        "add", k.add, (x, y, out, n), (triton.cdiv(n, block),), {"BLOCK": block}, {2: x + y}
    )


def _softmax(name: str, kernel: Any, rows: int, columns: int, block: int) -> Case:
    [x] = _normal((rows, columns))
    out = torch.full((rows, columns), math.nan)
    args = (x, out, columns, columns)
    return Case(name, kernel, args, (rows,), {"BLOCK": block}, {1: x.softmax(1)})


def softmax_three_pass(rows: int, columns: int, block: int = 256) -> Case:
    return _softmax("softmax_three_pass", k.softmax_three_pass, rows, columns, block)


def softmax_online(rows: int, columns: int, block: int = 256) -> Case:
    return _softmax("softmax_online", k.softmax_online, rows, columns, block)


def softmax_one_pass(rows: int, columns: int) -> Case:
    block = triton.next_power_of_2(columns)
    return _softmax("softmax_one_pass", k.softmax_one_pass, rows, columns, block)


def rms_norm(rows: int, columns: int, block: int = 256) -> Case:
    x, weight = _normal((rows, columns), (columns,))
    out = torch.full((rows, columns), math.nan)
    expected = x / (x.square().mean(1, keepdim=True) + 1e-5).sqrt() * weight
    args = (x, weight, out, columns, columns, 1e-5)
    return Case("rms_norm", k.rms_norm, args, (rows,), {"BLOCK": block}, {2: expected})


def matmul(
    n: int, dtype: str = "float16", tile: tuple[int, int, int] = (64, 64, 32), ragged: int = 0
) -> Case:
    kind = getattr(torch, dtype)
    m = n - ragged
    a, b = (drawn.to(kind) for drawn in _normal((m, n), (n, n)))
    out = torch.full((m, n), math.nan, dtype=kind)
    names = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile, strict=True))
    grid = (triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1]))
    expected = (a.double() @ b.double()).to(kind)
    # TF32 rounds every factor, and such errors add up like a walk: 0.028 at 512 on an H200.
    tolerance = 2e-2 if dtype != "float32" else 3e-2 * max(1, n / 512) ** 0.5
    return Case(
        f"matmul_{dtype}", k.matmul, (a, b, out, m, n, n), grid, names, {2: expected}, tolerance
    )


def gated_linear(m: int, n: int, depth: int) -> Case:
    x, gate, up = (drawn.half() * 0.3 for drawn in _normal((m, depth), (depth, n), (depth, n)))
    out = torch.full((m, n), math.nan, dtype=torch.float16)
    left = x.double() @ gate.double()
    expected = (torch.nn.functional.silu(left) * (x.double() @ up.double())).half()
    constants = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
    args = (x, gate, up, out, m, n, depth)
    return Case(
        "gated_linear", k.gated_linear, args, (m // 64, n // 64), constants, {3: expected}, 2e-2
    )


def _attention(n: int, heads: int, d: int, causal: bool, dtype: torch.dtype) -> dict:
    q, key, v, grad = (drawn.to(dtype) for drawn in _normal(*4 * [(heads, n, d)]))
    wide = [t.double().requires_grad_() for t in (q, key, v)]
    scores = wide[0] @ wide[1].transpose(1, 2) / math.sqrt(d)
    if causal:
        scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)
    out = scores.softmax(-1) @ wide[2]
    out.backward(grad.double())
    lse = scores.logsumexp(-1).detach()
    delta = (out * grad.double()).sum(-1).detach()
    return {
        "q": q, "k": key, "v": v, "grad": grad, "out": out.detach().to(dtype),
        "lse": lse.float(), "delta": delta.float(),
        "dq": wide[0].grad, "dk": wide[1].grad, "dv": wide[2].grad,
    }  # fmt: skip


def _named(name: str, causal: bool) -> str:
    return f"{name}_causal" if causal else name


def flash_forward(
    n: int, heads: int = 4, d: int = 64, causal: bool = False, dtype: str = "float16",
    tile: tuple[int, int] = (64, 64),
) -> Case:  # fmt: skip
    t = _attention(n, heads, d, causal, getattr(torch, dtype))
    out = torch.full_like(t["q"], math.nan)
    lse = torch.full((heads, n), math.nan)
    constants = {"BLOCK_M": tile[0], "BLOCK_N": tile[1], "D": d, "CAUSAL": causal}
    args = (t["q"], t["k"], t["v"], out, lse, 1 / math.sqrt(d), n)
    return Case(
        _named("flash_forward", causal), k.flash_forward, args, (n // tile[0], heads), constants,
        {3: t["out"], 4: t["lse"]}, 1e-2,
    )  # fmt: skip


def flash_delta(n: int, heads: int = 4, d: int = 64) -> Case:
    t = _attention(n, heads, d, False, torch.float16)
    delta = torch.full((heads, n), math.nan)
    args = (t["out"], t["grad"], delta, n)
    return Case(
        "flash_delta", k.flash_delta, args, (n // 64, heads), {"BLOCK": 64, "D": d},
        {2: t["delta"]}, 2e-2,
    )  # fmt: skip


def flash_backward_kv(
    n: int, heads: int = 4, d: int = 64, causal: bool = False, dtype: str = "float16"
) -> Case:
    t = _attention(n, heads, d, causal, getattr(torch, dtype))
    dk, dv = torch.full_like(t["q"], math.nan), torch.full_like(t["q"], math.nan)
    constants = {"BLOCK_M": 32, "BLOCK_N": 64, "D": d, "CAUSAL": causal}
    args = (
        t["q"], t["k"], t["v"], t["grad"], t["lse"], t["delta"], dk, dv, 1 / math.sqrt(d), n,
    )  # fmt: skip
    return Case(
        _named("flash_backward_kv", causal), k.flash_backward_kv, args, (n // 64, heads),
        constants, {6: t["dk"].to(dk.dtype), 7: t["dv"].to(dv.dtype)}, 3e-2,
    )  # fmt: skip


def flash_backward_q(
    n: int, heads: int = 4, d: int = 64, causal: bool = False, dtype: str = "float16"
) -> Case:
    t = _attention(n, heads, d, causal, getattr(torch, dtype))
    dq = torch.full_like(t["q"], math.nan)
    constants = {"BLOCK_M": 64, "BLOCK_N": 32, "D": d, "CAUSAL": causal}
    args = (t["q"], t["k"], t["v"], t["grad"], t["lse"], t["delta"], dq, 1 / math.sqrt(d), n)
    return Case(
        _named("flash_backward_q", causal), k.flash_backward_q, args, (n // 64, heads), constants,
        {6: t["dq"].to(dq.dtype)}, 3e-2,
    )  # fmt: skip


def cross_entropy(rows: int, columns: int, block: int = 1024) -> Case:
    [x], target = _normal((rows, columns)), torch.arange(rows) * 7919 % columns
    loss = torch.full((rows,), math.nan)
    expected = torch.nn.functional.cross_entropy(x, target, reduction="none")
    args = (x, target, loss, columns, columns)
    return Case("cross_entropy", k.cross_entropy, args, (rows,), {"BLOCK": block}, {2: expected})


def tile_sums(rows: int, columns: int) -> Case:
    [x] = _normal((rows, columns))
    out = torch.full((rows,), math.nan)
    constants = {"BLOCK_M": 64, "BLOCK_N": 64}
    args = (TensorDescriptor.from_tensor(x, [64, 64]), out, columns)
    return Case("tile_sums", k.tile_sums, args, (rows // 64,), constants, {1: x.sum(1)}, 1e-3)


def read_again(kernel: Any, n: int, block: int = 256) -> Case:
    [x] = _normal((n,))
    out = torch.full((2 * n if kernel is k.read_after_a_store else n,), math.nan)
    expected = {
        "read_twice": lambda: (x.view(-1, block) * x.view(-1, block).sum(1, keepdim=True)).ravel(),
        "read_after_a_store": lambda: torch.cat([x, x + 1]),
        "read_three_turns": lambda: 3 * x,
    }[kernel.__name__]()
    return Case(
        kernel.__name__, kernel, (x, out, n), (n // block,), {"BLOCK": block}, {1: expected}, 1e-3
    )


def read_each_turn(kernel: Any, rows: int, columns: int, block: int = 256) -> Case:
    x, y = _normal((rows, block), (rows, columns))
    products = x.unsqueeze(1) * y.view(rows, -1, block)
    summed = kernel is k.read_each_turn
    expected = products.sum(1) if summed else products.reshape(rows, columns)
    args = (x, y, torch.full_like(expected, math.nan), columns)
    return Case(kernel.__name__, kernel, args, (rows,), {"BLOCK": block}, {2: expected}, 1e-3)


def read_each_turn_for_a_dot(programs: int, steps: int, n: int = 64) -> Case:
    a, b = (drawn.half() for drawn in _normal((programs, n, n), (steps, n, n)))
    out = torch.full((programs, n, n), math.nan)
    expected = (a.double() @ b.double().sum(0)).float()
    args = (a, b, out, steps)
    kernel = k.read_each_turn_for_a_dot
    return Case(kernel.__name__, kernel, args, (programs,), {"N": n}, {2: expected}, 2e-2)


def ordered_matmul(m: int, n: int, depth: int, group: int) -> Case:
    """Products so wide that an H200's L2 (50 MB) cannot keep one matrix."""
    # small whole numbers: the sums are exact, whatever their order
    a, b = (torch.randint(-1, 2, s).half() for s in ((m, depth), (depth, n)))
    out = torch.full((m, n), math.nan, dtype=torch.float16)
    constants = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP": group}
    grid = ((m // 128) * (n // 128),)
    expected = (a.float() @ b.float()).half()
    args = (a, b, out, m, n, depth)
    return Case("ordered_matmul", k.ordered_matmul, args, grid, constants, {2: expected}, 0.0)


#: aligned launches whose L1 counters were recorded: name to (maker, sizes)
RECORDED: dict[str, Callable[[], Case]] = {
    "add 16384": lambda: add(16384),
    "add 65536": lambda: add(65536, 1024),
    "softmax_three_pass 128x1024": lambda: softmax_three_pass(128, 1024),
    "softmax_three_pass 64x4096": lambda: softmax_three_pass(64, 4096, 512),
    "softmax_online 128x1024": lambda: softmax_online(128, 1024),
    "softmax_online 128x1000": lambda: softmax_online(128, 1000),
    "softmax_one_pass 128x1024": lambda: softmax_one_pass(128, 1024),
    "softmax_one_pass 64x2048": lambda: softmax_one_pass(64, 2048),
    "rms_norm 128x1024": lambda: rms_norm(128, 1024),
    "rms_norm 64x2048": lambda: rms_norm(64, 2048, 512),
    "matmul_float16 256": lambda: matmul(256),
    "matmul_float16 512": lambda: matmul(512),
    "matmul_float32 256": lambda: matmul(256, "float32", (32, 32, 32)),
    "matmul_float32 512": lambda: matmul(512, "float32", (32, 32, 32)),
    "gated_linear 256": lambda: gated_linear(256, 256, 256),
    "gated_linear 512x256x128": lambda: gated_linear(512, 256, 128),
    "flash_forward 256": lambda: flash_forward(256),
    "flash_forward 512": lambda: flash_forward(512),
    "flash_forward_causal 256": lambda: flash_forward(256, causal=True),
    "flash_forward_causal 512": lambda: flash_forward(512, causal=True),
    "flash_delta 256": lambda: flash_delta(256),
    "flash_delta 512": lambda: flash_delta(512),
    "flash_backward_kv 256": lambda: flash_backward_kv(256),
    "flash_backward_kv 512": lambda: flash_backward_kv(512),
    "flash_backward_kv_causal 256": lambda: flash_backward_kv(256, causal=True),
    "flash_backward_kv_causal 512": lambda: flash_backward_kv(512, causal=True),
    "flash_backward_q 256": lambda: flash_backward_q(256),
    "flash_backward_q 512": lambda: flash_backward_q(512),
    "flash_backward_q_causal 256": lambda: flash_backward_q(256, causal=True),
    "flash_backward_q_causal 512": lambda: flash_backward_q(512, causal=True),
    "cross_entropy 64x4096": lambda: cross_entropy(64, 4096),
    "cross_entropy 32x8192": lambda: cross_entropy(32, 8192),
    "tile_sums 256x256": lambda: tile_sums(256, 256),
    "tile_sums 512x1024": lambda: tile_sums(512, 1024),
    # what is read more than once
    "read_twice 4096": lambda: read_again(k.read_twice, 4096),
    "read_twice 16384": lambda: read_again(k.read_twice, 16384, 512),
    "read_after_a_store 4096": lambda: read_again(k.read_after_a_store, 4096),
    "read_after_a_store 16384": lambda: read_again(k.read_after_a_store, 16384, 512),
    "read_three_turns 4096": lambda: read_again(k.read_three_turns, 4096),
    "read_three_turns 16384": lambda: read_again(k.read_three_turns, 16384, 512),
    "read_each_turn 64x1024": lambda: read_each_turn(k.read_each_turn, 64, 1024),
    "read_each_turn 32x4096": lambda: read_each_turn(k.read_each_turn, 32, 4096, 512),
    "read_each_turn_beside_a_store 64x1024": lambda: read_each_turn(
        k.read_each_turn_beside_a_store, 64, 1024
    ),
    "read_each_turn_beside_a_store 32x4096": lambda: read_each_turn(
        k.read_each_turn_beside_a_store, 32, 4096, 512
    ),
    "read_each_turn_for_a_dot 16x4": lambda: read_each_turn_for_a_dot(16, 4),
    "read_each_turn_for_a_dot 8x9": lambda: read_each_turn_for_a_dot(8, 9),
    # sizes that defeat the vectorising of loads
    "unaligned add 16421": lambda: add(16421),
    "unaligned softmax_online 128x1001": lambda: softmax_online(128, 1001),
    "unaligned rms_norm 128x1021": lambda: rms_norm(128, 1021),
    "matmul_float16 249x256": lambda: matmul(256, ragged=7),
}

#: products in three orders of programs, whose DRAM counters were recorded
ORDERED: dict[str, Callable[[], Case]] = {
    "ordered_matmul group 1": lambda: ordered_matmul(512, 49152, 1024, 1),
    "ordered_matmul group 2": lambda: ordered_matmul(512, 49152, 1024, 2),
    "ordered_matmul group 4": lambda: ordered_matmul(512, 49152, 1024, 4),
}
