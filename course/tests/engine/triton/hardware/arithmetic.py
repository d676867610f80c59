"""Arithmetic whose corners the compiler and the GPU decide: what comes out, value by value.

Floats that become integers too narrow for them, operators on single bits, sums of 16 bits. On a
machine with an NVIDIA GPU, torch and Triton, at the repository's root:
``python -m course.tests.engine.triton.hardware.arithmetic --out arithmetic.json``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
import triton
import triton.language as tl

from course.gpu.recording import commanded, in_lines, provenance

RECORD = Path(__file__).with_name("arithmetic.json")
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
)
#: Around the limits of each width, and what is no number.
CORNERS = (
    *(0.0, 0.5, 1.0, 1.5, 3.0, 127.0, 128.0, 200.0, 255.0, 256.0, 300.0, 32767.0, 32768.0),
    *(40000.0, 65535.0, 65536.0, 70000.0, 2.0**31, 2.0**31 + 4096, 2.0**32, 4e9, 1e10, 2.0**63),
    *(2.0**64, 1e20, math.inf),
)
VALUES = (*CORNERS, *(-value for value in CORNERS), math.nan)
LENGTH = 64
OPERATORS = ("a + b", "a - b", "a * b", "-a", "~a", "a < b", "a >= b", "a << b", "a >> b")
SUMMED = 1024


@triton.jit
def converted(x_ptr, out_ptr, LENGTH: tl.constexpr):
    """Whatever floats as whatever integers."""
    at = tl.arange(0, LENGTH)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(out_ptr.dtype.element_ty))


@triton.jit
def of_bits(out_ptr):
    """Each operator on both bits of 0, 1, 2 and 3, in the order of OPERATORS."""
    number = tl.arange(0, 4)
    a, b = number % 2 == 1, number // 2 == 1
    tl.store(out_ptr + number, (a + b).to(tl.int32))
    tl.store(out_ptr + 4 + number, (a - b).to(tl.int32))
    tl.store(out_ptr + 8 + number, (a * b).to(tl.int32))
    tl.store(out_ptr + 12 + number, (-a).to(tl.int32))
    tl.store(out_ptr + 16 + number, (~a).to(tl.int32))
    tl.store(out_ptr + 20 + number, (a < b).to(tl.int32))
    tl.store(out_ptr + 24 + number, (a >= b).to(tl.int32))
    tl.store(out_ptr + 28 + number, (a << b).to(tl.int32))
    tl.store(out_ptr + 32 + number, (a >> b).to(tl.int32))


@triton.jit
def summed(x_ptr, out_ptr, LENGTH: tl.constexpr):
    """A sum in the elements' own type."""
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, LENGTH)), axis=0))


def results(device: str) -> Iterator[tuple[str, list[str]]]:
    """(name, values as Python prints them) of every case."""
    padded = [*VALUES, *(0.0 for _ in range(LENGTH - len(VALUES)))]
    for source in FLOATS:
        x = torch.tensor(padded, dtype=torch.float64).to(source).to(device)
        for target in INTEGERS:
            out = torch.zeros(LENGTH, dtype=target, device=device)
            converted[(1,)](x, out, LENGTH)
            yield f"{source} as {target}", _shown(out[: len(VALUES)])
    bits = torch.zeros(4 * len(OPERATORS), dtype=torch.int32, device=device)
    of_bits[(1,)](bits)
    for at, operator in enumerate(OPERATORS):
        yield operator, _shown(bits[4 * at : 4 * at + 4])
    for dtype in FLOATS[:2]:
        for name, x in sums(dtype).items():
            out = torch.zeros(1, dtype=dtype, device=device)
            summed[(1,)](x.to(device), out, SUMMED)
            yield f"sum of {dtype}, {name}", _shown(out)


def sums(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """What is summed: the first is exact, the second overflows, the others round on the way."""
    peaks = torch.tensor([40000.0, 40000.0, -40000.0, -40000.0]).repeat(SUMMED // 4)
    drawn = {
        f"drawn with seed {seed}": torch.rand(
            SUMMED, generator=torch.Generator().manual_seed(seed)
        ).to(dtype)
        for seed in range(20)
    }
    return {"ones": torch.ones(SUMMED, dtype=dtype), "peaks": peaks.to(dtype), **drawn}


def _shown(values: torch.Tensor) -> list[str]:
    wide = values.float() if values.dtype in FLOATS else values
    return [str(value) for value in wide.cpu().numpy().tolist()]


def record(out: Path) -> None:
    """Runs every case on the GPU and writes one JSON file."""
    command = f"python -m course.tests.engine.triton.hardware.arithmetic --out {out.name}"
    answer = {
        "about": "what course/tests/engine/triton/hardware/arithmetic.py computes on a GPU",
        "provenance": provenance(command),
        "values": [str(value) for value in VALUES],
        "results": dict(results("cuda")),
    }
    out.write_text(in_lines(answer) + "\n")


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record))
