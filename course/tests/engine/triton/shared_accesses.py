"""Launches that go through shared memory: what turns, converts, reduces, scans, sorts, multiplies.

A table of small kernels and sizes, as `accesses.py` has one of global memory.
`python -m course.tests.engine.triton.shared_accesses FOLDER` compiles each for sm_90 and leaves
the machine code with what a launch needs in FOLDER; `record.py` there runs it under Nsight
Compute on a GPU machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

from course.tests.engine.triton import accesses
from course.tests.engine.triton.accesses import Access, compile_all, cube, product, tile, turned


@triton.jit
def plus_turned(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    block = tl.load(x + i[:, None] * N + i[None, :])
    tl.store(out + i[:, None] * N + i[None, :], block + tl.trans(block))


@triton.jit
def sums(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    total = tl.sum(tl.load(x + i[:, None] * N + j[None, :]), AXIS)
    if AXIS == 0:
        tl.store(out + j, total)
    else:
        tl.store(out + i, total)


@triton.jit
def where_largest(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    place = tl.argmax(tl.load(x + i[:, None] * N + j[None, :]), AXIS)
    if AXIS == 0:
        tl.store(out + j, place)
    else:
        tl.store(out + i, place)


@triton.jit
def shares(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    places = i[:, None] * N + j[None, :]
    block = tl.load(x + places).to(tl.float32)
    high = tl.exp(block - tl.max(block, AXIS, keep_dims=True))
    tl.store(out + places, high / tl.sum(high, AXIS, keep_dims=True))


@triton.jit
def running(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    places = i[:, None] * N + j[None, :]
    tl.store(out + places, tl.cumsum(tl.load(x + places), AXIS))


@triton.jit
def sorted_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + places, tl.sort(tl.load(x + places)))


@triton.jit
def picked(x, at, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    places = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    index = tl.load(at + places)
    tl.store(out + places, tl.gather(tl.load(x + places), index, AXIS))


@triton.jit
def counted(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + i), BINS))


@triton.jit
def zipped(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    both = tl.interleave(tl.load(x + i), tl.load(x + BLOCK + i))
    tl.store(out + tl.arange(0, 2 * BLOCK), both)


@triton.jit
def reshaped(x, out, M: tl.constexpr, N: tl.constexpr):
    flat = tl.load(x + tl.arange(0, M * N))
    block = tl.trans(tl.reshape(flat, (M, N)))
    tl.store(out + tl.arange(0, M * N), tl.reshape(block, (M * N,)))


@triton.jit
def rounds(x, out, turns, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    places = i[:, None] * N + tl.arange(0, N)[None, :]
    total = tl.zeros((M,), tl.float32)
    for turn in range(turns):
        total += tl.sum(tl.load(x + turn * M * N + places), 1)
        if turn % 2 == 0:
            total += tl.max(tl.load(x + turn * M * N + places), 1)
    tl.store(out + tl.program_id(0) * M + i, total)


@triton.jit
def one_product(
    a, b, out,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    TURNED_A: tl.constexpr, TURNED_B: tl.constexpr, EXACT: tl.constexpr,
):  # fmt: skip
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if TURNED_A:
        left = tl.trans(tl.load(a + k[:, None] * M + i[None, :]))
    else:
        left = tl.load(a + i[:, None] * K + k[None, :])
    if TURNED_B:
        right = tl.trans(tl.load(b + j[:, None] * K + k[None, :]))
    else:
        right = tl.load(b + k[:, None] * N + j[None, :])
    if EXACT:
        total = tl.dot(left, right, input_precision="ieee")
    else:
        total = tl.dot(left, right)
    tl.store(out + i[:, None] * N + j[None, :], total.to(out.dtype.element_ty))


@triton.jit
def chained(q, k, v, out, n, M: tl.constexpr, B: tl.constexpr, D: tl.constexpr):
    i, j, d = tl.arange(0, M), tl.arange(0, B), tl.arange(0, D)
    left = tl.load(q + i[:, None] * D + d[None, :])
    total = tl.zeros((M, D), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    for start in range(0, n, B):
        rows = (start + j)[:, None] * D + d[None, :]
        score = tl.dot(left, tl.trans(tl.load(k + rows)))
        high = tl.exp(score * 0.01)
        weight += tl.sum(high, 1)
        right = tl.load(v + rows)
        total = tl.dot(high.to(right.dtype), right, total)
    tl.store(out + i[:, None] * D + d[None, :], total / weight[:, None])


def _table() -> Iterator[Access]:
    def one(
        kernel: Any,
        arrays: Any,
        constants: dict[str, int],
        grid: int = 1,
        numbers: Any = (),
        **of: int,
    ) -> Access:
        given = [*numbers, *constants.values()]
        label = ", ".join(
            [" ".join(map(str, given)), arrays[0][0], *(f"{key} {n}" for key, n in of.items())]
        )
        name = kernel.__name__
        held = tuple((dtype, size, 0) for dtype, size in arrays)
        return Access(f"{name}: {label}", name, held, tuple(numbers), constants, (grid,), of)

    for dtype in ("int8", "float16", "float32", "float64"):
        for side, warps in ((16, 1), (32, 4), (64, 4), (64, 8)):
            pair = ((dtype, side * side), (dtype, side * side))
            yield one(plus_turned, pair, {"N": side}, num_warps=warps)
        for rows, columns, warps in ((16, 128, 4), (128, 16, 4), (32, 64, 2)):
            pair = ((dtype, rows * columns),) * 2
            yield one(
                turned, pair, {"BM": rows, "BN": columns}, 1, (rows, columns), num_warps=warps
            )
    for dtype in ("float16", "float32"):
        pair = ((dtype, 64 * 64),) * 2
        yield one(tile, pair, {"BM": 64, "BN": 64}, 1, (64, 64, 1, 64))
    yield one(cube, (("float32", 4096),) * 2, {"A": 16, "B": 8, "C": 32})
    yield one(cube, (("float16", 8192),) * 2, {"A": 32, "B": 4, "C": 64}, num_warps=8)
    for dtype in ("int8", "float16", "float32", "int64"):
        for rows, columns, warps in ((64, 64, 4), (4, 1024, 8), (1024, 4, 4), (2, 64, 2)):
            for axis in (0, 1):
                pair = ((dtype, rows * columns), (dtype, max(rows, columns)))
                of = {"M": rows, "N": columns, "AXIS": axis}
                yield one(sums, pair, of, num_warps=warps)
    for axis in (0, 1):
        of = {"M": 64, "N": 64, "AXIS": axis}
        for dtype in ("float16", "float32", "float64"):
            yield one(where_largest, ((dtype, 4096), ("int32", 64)), of)
            yield one(running, ((dtype, 4096),) * 2, of)
        yield one(running, (("float32", 4096),) * 2, of, num_warps=8)
        yield one(shares, (("float32", 4096),) * 2, of)
        yield one(shares, (("float16", 4096),) * 2, of, num_warps=8)
        yield one(picked, (("float32", 1024), ("int32", 1024), ("float32", 1024)),
                  {"M": 32, "N": 32, "AXIS": axis})  # fmt: skip
    for rows, columns in ((1, 1024), (16, 64)):
        yield one(sorted_rows, (("float32", 1024),) * 2, {"M": rows, "N": columns})
    yield one(counted, (("int32", 1024), ("int32", 32)), {"BLOCK": 1024, "BINS": 32})
    for dtype in ("int8", "float32"):
        yield one(zipped, ((dtype, 2048),) * 2, {"BLOCK": 1024})
        yield one(reshaped, ((dtype, 2048),) * 2, {"M": 32, "N": 64})
        yield one(reshaped, ((dtype, 2048),) * 2, {"M": 512, "N": 4})
    yield one(rounds, (("float32", 7 * 2048), ("float32", 96)), {"M": 32, "N": 64}, 3, (7,))
    for dtype, warps in (("float16", 4), ("float16", 8), ("float32", 4)):
        for m, n, k in ((16, 16, 32), (32, 64, 64), (64, 64, 64)):
            for turned_a, turned_b in ((0, 0), (1, 1)):
                turned_of = {"TURNED_A": turned_a, "TURNED_B": turned_b}
                of = {"M": m, "N": n, "K": k, **turned_of, "EXACT": 0}
                yield one(one_product, ((dtype, m * k), (dtype, k * n), (dtype, m * n)), of,
                          num_warps=warps)  # fmt: skip
    for dtype, out in (("float32", "float32"), ("float64", "float64"), ("int8", "int32")):
        of = {"M": 32, "N": 32, "K": 32, "TURNED_A": 0, "TURNED_B": 0, "EXACT": 1}
        yield one(one_product, ((dtype, 1024), (dtype, 1024), (out, 1024)), of)
        of = {"M": 16, "N": 32, "K": 64, "TURNED_A": 1, "TURNED_B": 1, "EXACT": 1}
        yield one(one_product, ((dtype, 1024), (dtype, 2048), (out, 512)), of, num_warps=2)
    for dtype in ("float16", "float32"):
        for stages in (1, 3):
            held = ((dtype, 64 * 256), (dtype, 256 * 32), ("float32", 64 * 32))
            of = {"N": 32, "BM": 32, "BK": 32}
            yield one(product, held, of, 2, (256,), num_stages=stages)
    queries = (("float16", 64, 4), ("float16", 32, 4), ("float32", 32, 4), ("float16", 16, 1))
    for dtype, m, warps in queries:
        held = ((dtype, m * 64), (dtype, 128 * 64), (dtype, 128 * 64), ("float32", m * 64))
        yield one(chained, held, {"M": m, "B": 32, "D": 64}, 1, (128,), num_warps=warps)


SHARED = {access.name: access for access in _table()}


if __name__ == "__main__":
    (target := Path(sys.argv[1])).mkdir(parents=True, exist_ok=True)
    kernels = vars(accesses) | globals()
    compile_all(target, SHARED, kernels, "course.tests.engine.triton.shared_accesses")
