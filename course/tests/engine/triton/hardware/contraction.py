"""Products and sums of which the compiler makes one operation, with one rounding, or does not.

Inputs are drawn so that a sum cancels its product, all but the rounding: each element says which
of the two was computed. On a machine with an NVIDIA GPU, torch and Triton, at the repository's
root: ``python -m course.tests.engine.triton.hardware.contraction --out contraction.json``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from course.gpu.recording import commanded, in_lines, provenance
from course.tests.engine.triton.versions import NEGATES

RECORD = Path(__file__).with_name("contraction.json")
#: elements of a block, turns of a loop, blocks of the output
BLOCK, TURNS, OUTPUTS = 64, 3, 4
SCALE = 1.4426950408889634
DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}
#: Blocks that the record, of Triton 3.6, has elsewhere: now `-(x * y) + z` is `(-x) * y + z`.
PLACES = {("negated, float32", 0): 1} if NEGATES else {}
KERNELS: dict[str, Any] = {}
#: kernels that are tried in each type of element
OF_EACH_TYPE = ("plus", "minus", "from_", "two_uses", "product_stored", "in_a_loop")


def _case(function: Callable[..., None]) -> Any:
    kernel = KERNELS[function.__name__] = triton.jit(function)
    return kernel


@_case
def plus(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, x * y + z)
    tl.store(out_ptr + BLOCK + at, z + x * y)


@_case
def minus(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, x * y - z)


@_case
def from_(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, z - x * y)


@_case
def negated(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, -(x * y) + z)
    tl.store(out_ptr + BLOCK + at, (-x) * y + z)


@_case
def two_products(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, x * y + z * 1.25)
    tl.store(out_ptr + BLOCK + at, x * y - z * 0.75)
    tl.store(out_ptr + 2 * BLOCK + at, x * y - y * x)
    tl.store(out_ptr + 3 * BLOCK + at, x * x - y * y + z)


@_case
def one_of_two_is_used_again(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    product = x * y
    tl.store(out_ptr + at, product - z * 0.75)
    tl.store(out_ptr + BLOCK + at, product)
    other = y * z
    tl.store(out_ptr + 2 * BLOCK + at, x * 0.75 + other)
    tl.store(out_ptr + 3 * BLOCK + at, other)


@_case
def two_uses(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    product = x * y
    tl.store(out_ptr + at, product + z)
    tl.store(out_ptr + BLOCK + at, product - x)


@_case
def product_stored(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    product = x * y
    tl.store(out_ptr + at, product + z)
    tl.store(out_ptr + BLOCK + at, product)
    tl.store(out_ptr + 2 * BLOCK + at, tl.abs(product))


@_case
def above_its_maximum(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) * 1.4426950408889634
    tl.store(out_ptr + at, x - tl.max(x, axis=0))
    y = tl.load(y_ptr + at)
    top = tl.max(y, axis=0)
    tl.store(out_ptr + BLOCK + at, y * scale - top * scale)
    tl.store(out_ptr + 2 * BLOCK + at, (y - top) * scale)


@_case
def online(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    top = tl.full((), -float("inf"), tl.float32)
    for turn in range(turns):
        x = tl.load(x_ptr + turn * BLOCK + at) * 1.4426950408889634
        higher = tl.maximum(top, tl.max(x, axis=0))
        tl.store(out_ptr + turn * BLOCK + at, x - higher)
        top = higher


@_case
def chosen_product(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, tl.where(at < 50, x * y, 0.0) + z)
    tl.store(out_ptr + BLOCK + at, tl.where(at < 50, x * y + z, z))
    tl.store(out_ptr + 2 * BLOCK + at, tl.maximum(x * y, -10.0) + z)


@_case
def in_a_loop(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.load(z_ptr + at)
    for turn in range(turns):
        total += tl.load(x_ptr + turn * BLOCK + at) * tl.load(y_ptr + turn * BLOCK + at)
        tl.store(out_ptr + turn * BLOCK + at, total)


@_case
def before_a_loop(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    product = tl.load(x_ptr + at) * tl.load(y_ptr + at)
    for turn in range(turns):
        tl.store(out_ptr + turn * BLOCK + at, product + tl.load(z_ptr + turn * BLOCK + at))


@_case
def scaled_before_a_loop(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    product = tl.load(x_ptr + at) * scale
    for turn in range(turns):
        tl.store(out_ptr + turn * BLOCK + at, product - tl.load(z_ptr + turn * BLOCK + at))


@_case
def scaled_and_used_twice(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    product = tl.load(x_ptr + at) * scale
    for turn in range(turns):
        tl.store(out_ptr + turn * BLOCK + at, product - tl.load(z_ptr + turn * BLOCK + at))
    tl.store(out_ptr + 3 * BLOCK + at, product)


@_case
def behind_a_loop(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    product = tl.load(x_ptr + at) * tl.load(y_ptr + at)
    total = tl.zeros((BLOCK,), tl.float32)
    for turn in range(turns):
        total += tl.load(z_ptr + turn * BLOCK + at)
    tl.store(out_ptr + at, product + total)


@_case
def behind_a_loop_and_stored(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    product = tl.load(x_ptr + at) * tl.load(y_ptr + at)
    tl.store(out_ptr + BLOCK + at, product)
    total = tl.zeros((BLOCK,), tl.float32)
    for turn in range(turns):
        total += tl.load(z_ptr + turn * BLOCK + at)
    tl.store(out_ptr + at, product + total)


@_case
def under_an_if(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    product = x * y
    if turns > 2:
        tl.store(out_ptr + at, product + z)


@_case
def under_an_if_and_stored(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    product = x * y
    tl.store(out_ptr + BLOCK + at, product)
    if turns > 2:
        tl.store(out_ptr + at, product + z)


@_case
def on_both_sides(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    product = x * y
    if turns > 2:
        tl.store(out_ptr + at, product + z)
    else:
        tl.store(out_ptr + BLOCK + at, z - product)


@_case
def assigned_under_an_if(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    product = x
    if turns > 2:
        product = x * y
    tl.store(out_ptr + at, product + z)


@_case
def from_the_last_turn(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    product = x
    for turn in range(turns):
        tl.store(out_ptr + turn * BLOCK + at, product + tl.load(z_ptr + turn * BLOCK + at))
        product = product * y


@_case
def cast_between(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    half = x.to(tl.float16) * y.to(tl.float16)
    tl.store(out_ptr + at, half.to(tl.float32) + z)
    wide = x.to(tl.float16).to(tl.float32) * y.to(tl.float16).to(tl.float32)
    tl.store(out_ptr + BLOCK + at, wide + z)


@_case
def one_number(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, z = tl.load(x_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, z - tl.load(x_ptr) * tl.load(y_ptr))
    tl.store(out_ptr + BLOCK + at, x - tl.max(x, axis=0) * scale)
    tl.store(out_ptr + 2 * BLOCK + at, x * 1.0 + z)
    tl.store(out_ptr + 3 * BLOCK + at, x * 2.0 + z)


@_case
def rows(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    i, j = tl.arange(0, 8), tl.arange(0, BLOCK // 8)
    at = i[:, None] * (BLOCK // 8) + j[None, :]
    x = tl.load(x_ptr + at)
    top = tl.max(x, axis=1) * scale
    tl.store(out_ptr + at, x - top[:, None])
    tl.store(out_ptr + BLOCK + at, x * scale - top[:, None])
    outer = tl.load(x_ptr + i)[:, None] * tl.load(y_ptr + j)[None, :]
    tl.store(out_ptr + 2 * BLOCK + at, outer + tl.load(z_ptr + at))


@_case
def turned(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    i, j = tl.arange(0, 8), tl.arange(0, 8)
    at = i[:, None] * 8 + j[None, :]
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, tl.trans(x * y) + tl.trans(z))
    flat = tl.arange(0, BLOCK)
    tl.store(out_ptr + BLOCK + flat, tl.reshape(x * y, (BLOCK,)) + tl.load(z_ptr + flat))


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def _line(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@_case
def called(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, _product(x, y) + z)
    for turn in tl.static_range(2):
        tl.store(out_ptr + (turn + 1) * BLOCK + at, x * y - tl.load(z_ptr + turn * BLOCK + at))


@_case
def written_as_fma(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, tl.fma(x, y, z))
    tl.store(out_ptr + BLOCK + at, tl.fma(x, y, z) * y - x)


@_case
def polynomial(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    tl.store(out_ptr + at, 0.5 * x * (1 + 0.044715 * x * x))
    tl.store(out_ptr + BLOCK + at, ((x * 1.3 + 0.7) * x - 0.3) * x + 0.1)
    d = x - y
    tl.store(out_ptr + 2 * BLOCK + at, d * d + z)
    tl.store(out_ptr + 3 * BLOCK + at, z + y + x * x)


@_case
def of_a_dot(x_ptr, y_ptr, z_ptr, out_ptr, turns, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    x = tl.load(x_ptr + at % BLOCK).to(tl.float16)
    eye = (i[:, None] == i[None, :]).to(tl.float16)
    z = tl.load(z_ptr + at % BLOCK)
    first = at < BLOCK
    tl.store(out_ptr + at, tl.dot(eye, x) * scale - z, mask=first)
    tl.store(out_ptr + BLOCK + at, z * scale + tl.dot(eye, x), mask=first)
    acc = tl.dot(eye, x, z * scale)
    tl.store(out_ptr + 2 * BLOCK + at, acc - z, mask=first)


def inputs(dtype: torch.dtype) -> list[torch.Tensor]:
    """x, y and z of TURNS blocks: most of z is x * y or its negative, rounded."""
    generator = np.random.default_rng(11)
    x, y = (
        torch.from_numpy(generator.uniform(0.5, 2.0, TURNS * BLOCK)).to(dtype).double()
        for _ in range(2)
    )
    sign = torch.from_numpy(generator.choice([-1.0, 1.0], TURNS * BLOCK))
    drawn = torch.from_numpy(generator.normal(size=TURNS * BLOCK))
    near = torch.from_numpy(generator.random(TURNS * BLOCK) < 0.8)
    z = torch.where(near, sign * x * y, drawn)
    return [part.to(dtype) for part in (x, y, z)]


def results(device: str) -> Iterator[tuple[str, str]]:
    """(name, bytes of the output in hexadecimal) of every case."""
    for name, kernel in KERNELS.items():
        for kind, dtype in DTYPES.items():
            if kind != "float32" and name not in OF_EACH_TYPE:
                continue
            x, y, z = (part.to(device) for part in inputs(dtype))
            out = torch.zeros(OUTPUTS * BLOCK, dtype=dtype, device=device)
            kernel[(1,)](x, y, z, out, TURNS, SCALE, BLOCK, num_warps=1)
            yield f"{name}, {kind}", out.cpu().view(torch.uint8).numpy().tobytes().hex()


def record(out: Path) -> None:
    """Runs every case on the GPU and writes one JSON file."""
    command = f"python -m course.tests.engine.triton.hardware.contraction --out {out.name}"
    answer = {
        "about": "what course/tests/engine/triton/hardware/contraction.py computes on a GPU",
        "provenance": provenance(command),
        "results": dict(results("cuda")),
    }
    out.write_text(in_lines(answer) + "\n")


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record))
