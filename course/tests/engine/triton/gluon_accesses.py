"""Gluon's launches: layouts chosen by hand, shared memory, asynchronous copies, tensor cores.

A table of small kernels and sizes, as `accesses.py` has one of Triton.
`python -m course.tests.engine.triton.gluon_accesses FOLDER` compiles each for sm_90 and leaves
the machine code with what a launch needs in FOLDER; `record.py` there runs it under Nsight
Compute on a GPU machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from course.tests.engine.triton.accesses import Access, compile_all


@gluon.jit
def line(x, out, n, BLOCK: gl.constexpr, EACH: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([EACH], [32], [gl.num_warps()], [0])
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + i, gl.load(x + i, mask=i < n), mask=i < n)


@gluon.jit
def line_in_turns(x, out, n, share, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    first = gl.program_id(0) * share
    end = min(first + share, n)
    for start in range(first, end, BLOCK):
        i = start + gl.arange(0, BLOCK, layout=layout)
        gl.store(out + i, gl.load(x + i, mask=i < end), mask=i < end)


@gluon.jit
def by_bits(x, out, KIND: gl.constexpr):
    """Layouts that no block of registers, lanes and warps has; in the last two lanes share one."""
    lanes: gl.constexpr = (
        ([[1], [2]], [[4], [8], [16], [32], [64]], [[128], [256]]),
        ([[64], [128]], [[1], [2], [4], [8], [16]], [[32], [256]]),
        ([[1], [256]], [[2], [4], [8], [16], [32]], [[64], [128]]),
        ([[1], [2], [4]], [[8], [16], [32], [0], [64]], [[128], [256]]),
        ([[1], [2], [4]], [[8], [16], [32], [64], [128]], [[256], [0]]),
    )[KIND]
    layout: gl.constexpr = gl.DistributedLinearLayout(lanes[0], lanes[1], lanes[2], [], [512])
    i = gl.program_id(0) * 512 + gl.arange(0, 512, layout=layout)
    gl.store(out + i, gl.load(x + i) + 1)


@gluon.jit
def tile(x, out, M, N, layout: gl.constexpr):
    i = gl.program_id(0) * 32 + gl.arange(0, 32, layout=gl.SliceLayout(1, layout))
    j = gl.program_id(1) * 128 + gl.arange(0, 128, layout=gl.SliceLayout(0, layout))
    places = i[:, None] * N + j[None, :]
    inside = (i[:, None] < M) & (j[None, :] < N)
    gl.store(out + places, gl.load(x + places, mask=inside, other=0), mask=inside)


@gluon.jit
def turned_by_layouts(x, out, M, N):
    read: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    written: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    i = gl.program_id(0) * 64 + gl.arange(0, 64, layout=gl.SliceLayout(1, read))
    j = gl.program_id(1) * 32 + gl.arange(0, 32, layout=gl.SliceLayout(0, read))
    block = gl.convert_layout(gl.load(x + i[:, None] * N + j[None, :]), written)
    i = gl.program_id(0) * 64 + gl.arange(0, 64, layout=gl.SliceLayout(1, written))
    j = gl.program_id(1) * 32 + gl.arange(0, 32, layout=gl.SliceLayout(0, written))
    gl.store(out + j[None, :] * M + i[:, None], block)


@gluon.jit
def turned_in_shared(x, out, M, N, VEC: gl.constexpr, PHASES: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    swizzled: gl.constexpr = gl.SwizzledSharedLayout(VEC, 1, PHASES, [1, 0])
    smem = gl.allocate_shared_memory(gl.float32, [32, 32], swizzled)
    lower = gl.arange(0, 32, layout=gl.SliceLayout(1, layout))[:, None]
    upper = gl.arange(0, 32, layout=gl.SliceLayout(0, layout))[None, :]
    row, column = gl.program_id(0) * 32, gl.program_id(1) * 32
    smem.store(gl.load(x + (row + lower) * N + column + upper))
    gl.store(out + (column + lower) * M + row + upper, smem.permute((1, 0)).load(layout))


@gluon.jit
def halves_in_shared(x, out, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    smem = gl.allocate_shared_memory(
        gl.float32, [M, N], gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    )  # fmt: skip
    i = gl.arange(0, M, layout=gl.SliceLayout(1, layout))[:, None]
    j = gl.arange(0, N, layout=gl.SliceLayout(0, layout))[None, :]
    smem.store(gl.load(x + i * N + j))
    half: gl.constexpr = N // 2
    j = gl.arange(0, half, layout=gl.SliceLayout(0, layout))[None, :]
    both = smem.slice(0, half, dim=1).load(layout) + smem.slice(half, half, dim=1).load(layout)
    gl.store(out + i * half + j, both)


@gluon.jit
def row_sums(x, out, N, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [gl.num_warps()], [0])
    total = gl.zeros([BLOCK], gl.float32, layout)
    for start in range(0, N, BLOCK):
        j = start + gl.arange(0, BLOCK, layout=layout)
        total += gl.load(x + gl.program_id(0) * N + j, mask=j < N, other=0.0)
    gl.store(out + gl.program_id(0), gl.sum(total, 0))


@gluon.jit
def row_largest(x, out, M, N, DOWN: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [DOWN, 4 // DOWN], [1, 0])
    i = gl.program_id(0) * 16 + gl.arange(0, 16, layout=gl.SliceLayout(1, layout))
    j = gl.arange(0, 128, layout=gl.SliceLayout(0, layout))
    inside = (i[:, None] < M) & (j[None, :] < N)
    block = gl.load(x + i[:, None] * N + j[None, :], mask=inside, other=-100.0)
    gl.store(out + i, gl.max(block, 1), mask=i < M)


@gluon.jit
def column_sums(x, out, M, N):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [4, 8], [2, 2], [1, 0])
    j = gl.program_id(0) * 32 + gl.arange(0, 32, layout=gl.SliceLayout(0, layout))
    total = gl.zeros([32], gl.float32, gl.SliceLayout(0, layout))
    for start in range(0, M, 16):
        i = start + gl.arange(0, 16, layout=gl.SliceLayout(1, layout))
        inside = (i[:, None] < M) & (j[None, :] < N)
        total += gl.sum(gl.load(x + i[:, None] * N + j[None, :], mask=inside, other=0.0), 0)
    gl.store(out + j, total, mask=j < N)


@gluon.jit
def added_in_stages(a, b, out, N, BLOCK: gl.constexpr, STAGES: gl.constexpr, EACH: gl.constexpr):
    """Rows of two matrices by `cp.async`, some blocks ahead of the sum."""
    layout: gl.constexpr = gl.BlockedLayout([EACH], [32], [gl.num_warps()], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    a_smem = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK], plain)
    b_smem = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK], plain)
    row, lanes = gl.program_id(0) * N, gl.arange(0, BLOCK, layout=layout)
    for stage in gl.static_range(STAGES - 1):
        j = stage * BLOCK + lanes
        async_copy.async_copy_global_to_shared(a_smem.index(stage), a + row + j, mask=j < N)
        async_copy.async_copy_global_to_shared(b_smem.index(stage), b + row + j, mask=j < N)
        async_copy.commit_group()
    for turn in range(gl.cdiv(N, BLOCK)):
        ahead = turn + STAGES - 1
        j = ahead * BLOCK + lanes
        to = ahead % STAGES
        async_copy.async_copy_global_to_shared(a_smem.index(to), a + row + j, mask=j < N)
        async_copy.async_copy_global_to_shared(b_smem.index(to), b + row + j, mask=j < N)
        async_copy.commit_group()
        async_copy.wait_group(STAGES - 1)
        j = turn * BLOCK + lanes
        at = turn % STAGES
        total = a_smem.index(at).load(layout) + b_smem.index(at).load(layout)
        gl.store(out + row + j, total, mask=j < N)
    async_copy.wait_group(0)


@gluon.jit
def by_warp_groups(a, b, out, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    read: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    made: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [gl.num_warps(), 1], [16, BN, 16])
    of_a: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BM, BK], gl.float16)
    of_b: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BK, BN], gl.float16)
    a_smem = gl.allocate_shared_memory(gl.float16, [BM, BK], of_a)
    b_smem = gl.allocate_shared_memory(gl.float16, [BK, BN], of_b)
    i = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, read))
    j = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, read))
    total = gl.zeros([BM, BN], gl.float32, made)
    for start in range(0, K, BK):
        across = start + gl.arange(0, BK, layout=gl.SliceLayout(0, read))
        down = start + gl.arange(0, BK, layout=gl.SliceLayout(1, read))
        a_smem.store(gl.load(a + i[:, None] * K + across[None, :]))
        b_smem.store(gl.load(b + down[:, None] * N + j[None, :]))
        fence_async_shared()
        gl.barrier()
        total = warpgroup_mma(a_smem, b_smem, total, is_async=True)
        total = warpgroup_mma_wait(0, deps=[total])
        gl.barrier()
    i = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, made))
    j = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, made))
    gl.store(out + i[:, None] * N + j[None, :], total)


@gluon.jit
def by_warps(a, b, out, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr,
             SHARED: gl.constexpr):  # fmt: skip
    """Products by `mma`; their operands go through shared memory, or are turned by the compiler."""
    read: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    made: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    left: gl.constexpr = gl.DotOperandLayout(0, made, 2)
    right: gl.constexpr = gl.DotOperandLayout(1, made, 2)
    swizzled: gl.constexpr = gl.SwizzledSharedLayout(8, 2, 4, [1, 0])
    i = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, read))
    j = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, read))
    total = gl.zeros([BM, BN], gl.float32, made)
    for start in range(0, K, BK):
        across = start + gl.arange(0, BK, layout=gl.SliceLayout(0, read))
        down = start + gl.arange(0, BK, layout=gl.SliceLayout(1, read))
        a_block = gl.load(a + i[:, None] * K + across[None, :])
        b_block = gl.load(b + down[:, None] * N + j[None, :])
        if SHARED:
            a_smem = gl.allocate_shared_memory(gl.float16, [BM, BK], swizzled, a_block)
            b_smem = gl.allocate_shared_memory(gl.float16, [BK, BN], swizzled, b_block)
            total = mma_v2(a_smem.load(left), b_smem.load(right), total)
        else:
            a_block = gl.convert_layout(a_block, left)
            total = mma_v2(a_block, gl.convert_layout(b_block, right), total)
    i = gl.program_id(0) * BM + gl.arange(0, BM, layout=gl.SliceLayout(1, made))
    j = gl.program_id(1) * BN + gl.arange(0, BN, layout=gl.SliceLayout(0, made))
    gl.store(out + i[:, None] * N + j[None, :], total)


@gluon.jit
def _brings(smem, x, ready, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    smem.store(gl.load(x + gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)))
    mbarrier.arrive(ready, count=1)


@gluon.jit
def _takes(smem, out, ready, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    mbarrier.wait(ready, 0)
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + i, smem.load(layout) * 2)


@gluon.jit
def specialised(x, out, BLOCK: gl.constexpr):
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    smem = gl.allocate_shared_memory(gl.float32, [BLOCK], plain)
    ready = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(ready, count=1)
    gl.warp_specialize(
        [(_brings, (smem, x, ready, BLOCK)), (_takes, (smem, out, ready, BLOCK))], [4], [40]
    )


@gluon.jit
def binned(x, out, n, BINS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    of_bins: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.program_id(0) * 1024 + gl.arange(0, 1024, layout=layout)
    block = gl.load(x + i, mask=i < n, other=0) + 8
    found = gl.histogram(block, BINS, mask=i < n, layout=of_bins)
    gl.atomic_add(out + gl.arange(0, BINS, layout=of_bins), found)


@gluon.jit
def swapped(x, out):
    layout: gl.constexpr = gl.BlockedLayout([1, 2], [32, 1], [4, 1], [1, 0])
    i = gl.program_id(0) * 512 + gl.arange(0, 512, layout=gl.SliceLayout(1, layout))
    places = 2 * i[:, None] + gl.arange(0, 2, layout=gl.SliceLayout(0, layout))[None, :]
    real, imaginary = gl.split(gl.load(x + places))
    gl.store(out + places, gl.join(imaginary, real))


def _told(value: Any) -> str:
    if not isinstance(value, gl.BlockedLayout):
        return str(value)
    return f"{value.size_per_thread} of {value.threads_per_warp} of {value.warps_per_cta}"


def _table() -> Iterator[Access]:
    def one(kernel: str, dtypes: str, sizes: Any, numbers: Any, *grid: int, warps: int = 4,
            **constants: Any) -> Access:  # fmt: skip
        arrays = tuple((dtype, size, 0) for dtype, size in zip(dtypes.split(), sizes, strict=True))
        told = " ".join(map(_told, (*numbers, *constants.values())))
        name = f"{kernel}: {told}, {dtypes.split()[0]}, warps {warps}"
        return Access(name, kernel, arrays, numbers, constants, grid, {"num_warps": warps})

    for dtype in ("int8", "float16", "float32", "float64"):
        for each, n in ((1, 5000), (2, 5000), (4, 4096), (8, 4096), (16, 4096)):
            sizes, grid = (n, n), -(-n // 2048)
            yield one("line", f"{dtype} {dtype}", sizes, (n,), grid, BLOCK=2048, EACH=each)
    two = "float32 float32"
    for share, n in ((1000, 5000), (1024, 4096)):
        yield one("line_in_turns", two, (n, n), (n, share), -(-n // share), BLOCK=512)
    for kind in range(5):
        yield one("by_bits", two, (1024, 1024), (), 2, KIND=kind)
    for layout in (
        gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0]),
        gl.BlockedLayout([4, 1], [32, 1], [1, 4], [0, 1]),
        gl.BlockedLayout([1, 1], [32, 1], [1, 4], [0, 1]),
        gl.BlockedLayout([2, 2], [4, 8], [2, 2], [1, 0]),
        gl.BlockedLayout([1, 8], [8, 4], [1, 4], [1, 0]),
        gl.BlockedLayout([4, 1], [1, 32], [4, 1], [1, 0]),
    ):
        for m, n in ((64, 256), (61, 250)):
            yield one("tile", two, (m * n, m * n), (m, n), 2, 2, layout=layout)
    yield one("turned_by_layouts", two, (8192, 8192), (128, 64), 2, 2)
    for vector, phases in ((1, 1), (1, 32), (4, 8)):
        sizes = (4096, 4096)
        yield one("turned_in_shared", two, sizes, (64, 64), 2, 2, VEC=vector, PHASES=phases)
    yield one("halves_in_shared", two, (2048, 1024), (), 1, M=32, N=64)
    for n in (2048, 1500):
        for warps in (1, 4, 8):
            yield one("row_sums", two, (6 * n, 6), (n,), 6, warps=warps, BLOCK=512)
    for down in (4, 2, 1):
        yield one("row_largest", two, (6000, 50), (50, 120), 4, DOWN=down)
    yield one("column_sums", two, (6000, 120), (50, 120), 4)
    for m, n, stages, each, warps in ((5, 1000, 2, 1, 2), (8, 1024, 3, 4, 4), (3, 1021, 2, 4, 4)):
        staged = {"BLOCK": 256 if each == 1 else 512, "STAGES": stages, "EACH": each}
        sizes = (m * n,) * 3
        yield one("added_in_stages", f"{two} float32", sizes, (n,), m, warps=warps, **staged)
    halves, sizes = "float16 float16 float32", (16384, 16384, 16384)
    for bm, bn, bk, warps in ((64, 64, 64, 4), (128, 64, 32, 4), (128, 128, 64, 8)):
        tiles = {"BM": bm, "BN": bn, "BK": bk}
        grid = 128 // bm, 128 // bn
        yield one("by_warp_groups", halves, sizes, (128, 128), *grid, warps=warps, **tiles)
    for bm, bn, bk, shared in ((64, 64, 32, 0), (64, 64, 32, 1), (32, 64, 64, 0), (128, 64, 32, 1)):
        tiles = {"BM": bm, "BN": bn, "BK": bk, "SHARED": shared}
        yield one("by_warps", halves, sizes, (128, 128), 128 // bm, 128 // bn, **tiles)
    yield one("specialised", two, (2048, 2048), (), 2, BLOCK=1024)
    yield one("binned", "int32 int32", (3000, 32), (3000,), 3, BINS=32)
    yield one("swapped", two, (2048, 2048), (), 2)


GLUON = {access.name: access for access in _table()}


if __name__ == "__main__":
    (target := Path(sys.argv[1])).mkdir(parents=True, exist_ok=True)
    compile_all(target, GLUON, globals(), "course.tests.engine.triton.gluon_accesses")
