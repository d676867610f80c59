# mypy: disable-error-code="misc"
"""Products and sums of which the compiler makes one operation, with one rounding, or does not.

Inputs are drawn so that a sum cancels its product, all but the rounding: each element says which
of the two was computed. On a machine with an NVIDIA GPU and Numba, at the repository's root:
``python -m course.tests.engine.hardware.contraction --out contraction.json``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda, float32, float64

from course.gpu.recording import commanded, in_lines, provenance

RECORD = Path(__file__).with_name("contraction.json")
#: elements a turn of a loop reads, turns, rows of the output
WIDTH, TURNS, OUTPUTS = 64, 3, 4
KERNELS: dict[str, Any] = {}
#: kernels that are tried with float64, too
OF_EACH_TYPE = ("plus", "two_products", "two_uses", "product_stored", "in_a_loop", "literals")


def _case(function: Callable[..., None]) -> Any:
    kernel = KERNELS[function.__name__] = cuda.jit(function)
    return kernel


@_case
def plus(x, y, z, out, n):
    i = cuda.grid(1)
    if i < n:
        out[0, i] = x[i] * y[i] + z[i]
        out[1, i] = x[i] * y[i] - z[i]
        out[2, i] = z[i] - x[i] * y[i]


@_case
def plus_alone(x, y, z, out, n):
    i = cuda.grid(1)
    if i < n:
        out[0, i] = x[i] * y[i] + z[i]


@_case
def from_alone(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = z[i] - x[i] * y[i]


@_case
def negated(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = -(x[i] * y[i]) + z[i]
    out[1, i] = -z[i] * y[i] + x[i]


@_case
def two_products(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = x[i] * y[i] + z[i] * z[i]


@_case
def difference_of_products(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = x[i] * y[i] - z[i] * z[i]


@_case
def equal_products(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = x[i] * y[i] - x[i] * y[i]
    out[1, i] = z[i] * x[i] - x[i] * z[i]


@_case
def one_of_two_is_used_again(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    out[0, i] = product - z[i] * z[i]
    out[1, i] = product


@_case
def two_uses(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    out[0, i] = product + z[i]
    out[1, i] = product - x[i]


@_case
def product_stored(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    out[0, i] = product + z[i]
    out[1, i] = product


@_case
def product_compared(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    out[0, i] = product + z[i]
    out[1, i] = product > float32(1)


@_case
def product_in_two_branches(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    if z[i] > 0:
        out[0, i] = product + z[i]
    else:
        out[1, i] = z[i] - product


@_case
def under_an_if(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    if z[i] > 0:
        out[0, i] = product - z[i]


@_case
def behind_a_return(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    if i >= n:
        return
    out[0, i] = product + z[i]


@_case
def in_a_loop(x, y, z, out, n):
    i = cuda.grid(1)
    total = z[i]
    for turn in range(n // 64):
        total += x[i + turn * 64] * y[i + turn * 64]
        out[turn, i] = total


@_case
def before_a_loop(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    for turn in range(n // 64):
        out[turn, i] = product + z[i + turn * 64]


@_case
def scaled_before_a_loop(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * float32(1.4426950408889634)
    for turn in range(n // 64):
        out[turn, i] = product - z[i + turn * 64]


@_case
def before_known_turns(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    for turn in range(3):
        out[turn, i] = product + z[i + turn * 64]


@_case
def behind_a_loop(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    total = float32(0)
    for turn in range(n // 64):
        total += z[i + turn * 64]
    out[0, i] = total + product


@_case
def from_the_last_turn(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i]
    for turn in range(n // 64):
        out[turn, i] = product + z[i + turn * 64]
        product = product * y[i]


@_case
def chosen(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i] if i < 50 else float32(0)
    out[0, i] = product + z[i]
    out[1, i] = (x[i] * y[i] if z[i] > 0 else x[i] * z[i]) + z[i]
    out[2, i] = max(x[i] * y[i], float32(-10)) + z[i]


@_case
def assigned_under_an_if(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i]
    if z[i] > 0:
        product = x[i] * y[i]
    out[0, i] = product - z[i]


@_case
def across_a_barrier(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    cuda.syncthreads()
    out[0, i] = product + z[i]


@_case
def through_shared_memory(x, y, z, out, n):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = x[i] * y[i]
    cuda.syncthreads()
    out[0, i] = tile[i] + z[i]


@cuda.jit(device=True)
def _product(a, b):
    return a * b


@cuda.jit(device=True)
def _difference(a, b):
    return a - b


@_case
def called(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = _product(x[i], y[i]) + z[i]
    out[1, i] = _difference(z[i] * x[i], y[i])


@_case
def powers(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = x[i] ** 2 - y[i]
    out[1, i] = y[i] ** 2 - z[i] ** 2
    out[2, i] = x[i] ** 3 - z[i]


@_case
def literals(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = x[i] * 2.5 - z[i]
    out[1, i] = x[i] * i + z[i]
    out[2, i] = float64(x[i] * y[i]) + z[i]


@_case
def updated(x, y, z, out, n):
    i = cuda.grid(1)
    out[0, i] = z[i]
    out[0, i] += x[i] * y[i]
    out[1, i] = z[i]
    out[1, i] -= x[i] * y[i]


@_case
def equal_expressions(x, y, z, out, n):
    i = cuda.grid(1)
    a, b = x[i], y[i]
    out[0, i] = a * b + z[i]
    out[1, i] = a * b


@_case
def mandelbrot(x, y, z, out, n):
    i = cuda.grid(1)
    real = imaginary = float32(0)
    count = 0
    for turn in range(20):
        if real * real + imaginary * imaginary > 4:
            break
        real, imaginary = (
            real * real - imaginary * imaginary + x[i] - float32(1),
            float32(2) * real * imaginary + y[i] - float32(1),
        )
        count += 1
    out[0, i] = real
    out[1, i] = imaginary
    out[2, i] = count


@_case
def polynomial(x, y, z, out, n):
    i = cuda.grid(1)
    c = float32(0.7)
    out[0, i] = ((x[i] * c + c) * x[i] - c) * x[i] + c
    d = x[i] - y[i]
    out[1, i] = d * d + z[i] * z[i]
    out[2, i] = z[i] + y[i] + x[i] * x[i]
    out[3, i] = c * (x[i] + y[i] + x[i]) - c * y[i]


@_case
def second_difference(x, y, z, out, n):
    i = cuda.grid(1)
    if 0 < i < 63:
        out[0, i] = x[i] + y[i] * (x[i - 1] - float32(2) * x[i] + x[i + 1])


@_case
def summed_and_condition(x, y, z, out, n):
    i = cuda.grid(1)
    product = x[i] * y[i]
    if i < n and product + z[i] > 0:
        out[0, i] = float32(1)
    if i < n and product - z[i] > 0:
        out[1, i] = float32(1)


@_case
def above_its_maximum(x, y, z, out, n):
    i = cuda.grid(1)
    k = float32(1.4426950408889634)
    top = float32(0)
    for turn in range(64):
        top = max(top, x[turn] * k)
    out[0, i] = x[i] * k - top
    v = y[i] * k
    lower = min(v, z[i])
    out[1, i] = v - lower


def inputs(dtype: type[np.floating[Any]]) -> list[np.ndarray]:
    """x, y and z of TURNS rows: most of z is x * y or its negative, rounded."""
    generator = np.random.default_rng(12)
    x, y = (generator.uniform(0.5, 2.0, TURNS * WIDTH).astype(dtype) for _ in range(2))
    sign = generator.choice([-1.0, 1.0], TURNS * WIDTH).astype(dtype)
    drawn = generator.normal(size=TURNS * WIDTH).astype(dtype)
    return [x, y, np.where(generator.random(TURNS * WIDTH) < 0.8, sign * x * y, drawn)]


def results() -> Iterator[tuple[str, str]]:
    """(name, bytes of the output in hexadecimal) of every case."""
    for name, kernel in KERNELS.items():
        for dtype in (np.float32, np.float64) if name in OF_EACH_TYPE else (np.float32,):
            arrays = [cuda.to_device(part) for part in inputs(dtype)]
            out = cuda.to_device(np.zeros((OUTPUTS, WIDTH), dtype))
            kernel[1, WIDTH](*arrays, out, TURNS * WIDTH)
            yield f"{name}, {dtype.__name__}", out.copy_to_host().tobytes().hex()


def record(out: Path) -> None:
    """Runs every case on the GPU and writes one JSON file."""
    where = provenance(f"python -m course.tests.engine.hardware.contraction --out {out.name}")
    answer = {
        "about": "what course/tests/engine/hardware/contraction.py computes on a GPU",
        "provenance": where,
        "results": dict(results()),
    }
    out.write_text(in_lines(answer) + "\n")


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record))
