"""Gluon kernels for tests: each right as it is, with a switch that leaves one of its waits out."""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    get_tmem_reg_layout,
    tcgen05_commit,
    tcgen05_copy,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


def described(tensor, block, dtype=gl.float16):
    """A host's descriptor of a tensor."""
    layout = gl.NVMMASharedLayout.get_default_for(block, dtype)
    return TensorDescriptor.from_tensor(tensor, block, layout)


def line_of(kernel, text):
    """The line of the first statement of a kernel's that has this in it."""
    lines = enumerate(kernel.raw_src, kernel.starting_line_number)
    return next(line for line, code in lines if text in code)


@gluon.jit
def copied(x, out, n, BLOCK: gl.constexpr, LEFT: gl.constexpr = 1):
    """cp.async, two blocks; LEFT of them may be on their way when the first one is read."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    smem = gl.allocate_shared_memory(gl.float32, [2, BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    for i in gl.static_range(2):
        places = i * BLOCK + gl.arange(0, BLOCK, layout=layout)
        async_copy.async_copy_global_to_shared(smem.index(i), x + places, mask=places < n)
        async_copy.commit_group()
    for i in gl.static_range(2):
        async_copy.wait_group(LEFT - i)
        places = i * BLOCK + gl.arange(0, BLOCK, layout=layout)
        gl.store(out + places, smem.index(i).load(layout), mask=places < n)


@gluon.jit
def told_of_copies(x, out, BLOCK: gl.constexpr, ARRIVES: gl.constexpr = 1):
    """cp.async, of whose end a barrier tells; a buffer that is not there is named, and left."""
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    smem = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    bars = mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(bars.index(i), count=1)
    places = gl.arange(0, BLOCK, layout=layout)
    async_copy.async_copy_global_to_shared(smem, x + places)
    if ARRIVES:
        async_copy.mbarrier_arrive(bars.index(0))
    for i in range(2):
        mbarrier.arrive(bars.index((i - 1) % 2), count=1, pred=i > 0)
    mbarrier.wait(bars.index(0), 0)
    gl.store(out + places, smem.load(layout))


@gluon.jit
def as_another_type(x, out, BLOCK: gl.constexpr, OTHER: gl.constexpr, FIRST: gl.constexpr = 1,
                    ASYNC: gl.constexpr = 0):  # fmt: skip
    """Numbers of 16 bits go through the upper half of a buffer of float32."""
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    smem = gl.allocate_shared_memory(gl.float32, [BLOCK], plain)
    other = smem.slice(BLOCK // 2, BLOCK // 2)._reinterpret(OTHER, [BLOCK], plain)
    places = gl.arange(0, BLOCK, layout=layout)
    if ASYNC:
        async_copy.async_copy_global_to_shared(smem, out + places)
    if FIRST:
        other.store(gl.load(x + places))
    value = other.load(layout)
    gl.store(out + places, value.to(gl.float32))
    async_copy.wait_group(0)


@gluon.jit
def by_tensor_memory(x, out, WAITS: gl.constexpr = 1, OTHER: gl.constexpr = 0):
    """A tile is copied from shared to tensor memory; there bfloat16 may take a half of its room."""
    ring = gl.allocate_shared_memory(gl.float32, [2, 128, 64], x.layout)
    smem = ring.index(0)
    bar = mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(bar.index(i), count=1)
    mbarrier.expect(bar.index(0), x.block_type.nbytes)
    tma.async_copy_global_to_shared(x, [0, 0], bar.index(0), smem)
    for i in range(1):  # and none from the turn before
        tma.async_copy_global_to_shared(x, [0, 0], bar.index(i - 1), ring.index(i - 1), i > 0)
    mbarrier.wait(bar.index(0), 0)
    layout: gl.constexpr = TensorMemoryLayout([128, 32], col_stride=1)
    tile = allocate_tensor_memory(gl.float32, [128, 64], layout)
    tcgen05_copy(smem, tile)
    tcgen05_commit(bar.index(1))
    if WAITS:
        mbarrier.wait(bar.index(1), 0)
    taken: gl.constexpr = get_tmem_reg_layout(gl.float32, [128, 64], layout, 4)
    value = tile.load(taken)
    if OTHER:
        narrow = tile.slice(0, 32)._reinterpret(gl.bfloat16, [128, 64], layout)
        narrow.store(value.to(gl.bfloat16))
        value = narrow.load(taken).to(gl.float32)
    rows = gl.arange(0, 128, layout=gl.SliceLayout(1, taken))[:, None]
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, taken))[None, :]
    gl.store(out + rows * 64 + columns, value)


@gluon.jit
def through(source, target, N: gl.constexpr, WAITS: gl.constexpr = 1, BYTES: gl.constexpr = 0,
            STORED: gl.constexpr = 0, LEFT: gl.constexpr = 0,
            SENDS: gl.constexpr = 1, ARRIVES: gl.constexpr = 0):  # fmt: skip
    """TMA in and out through one buffer; STORED stores are on their way at a load, LEFT later."""
    smem = gl.allocate_shared_memory(source.dtype, source.block_shape, source.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    for i in range(N):
        mbarrier.expect(bar, source.block_type.nbytes + BYTES)
        if ARRIVES:
            mbarrier.arrive(bar, count=ARRIVES)
        tma.async_copy_global_to_shared(source, [0, i * source.block_shape[1]], bar, smem)
        if WAITS:
            mbarrier.wait(bar, i & 1)
        if SENDS:
            tma.async_copy_shared_to_global(target, [0, i * source.block_shape[1]], smem)
        tma.store_wait(STORED)
    tma.store_wait(LEFT)


@gluon.jit
def hopper_product(a, b, c, K: gl.constexpr, LEFT: gl.constexpr = 0, LATE: gl.constexpr = 0,
                   RING: gl.constexpr = 2):  # fmt: skip
    """wgmma on two buffers, a ring of RING; LEFT products may be on their way at a load."""
    BK: gl.constexpr = a.block_shape[1]
    sa = gl.allocate_shared_memory(a.dtype, [2] + a.block_shape, a.layout)
    sb = gl.allocate_shared_memory(b.dtype, [2] + b.block_shape, b.layout)
    bar = mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(bar.index(i), count=1)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    acc = warpgroup_mma_init(gl.zeros([64, 64], gl.float32, mma))
    for k in range(K // BK):
        s = k % RING
        mbarrier.expect(bar.index(s), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [0, k * BK], bar.index(s), sa.index(s))
        tma.async_copy_global_to_shared(b, [k * BK, 0], bar.index(s), sb.index(s))
        mbarrier.wait(bar.index(s), (k // 2) & 1)
        acc = warpgroup_mma_wait(num_outstanding=LEFT, deps=(acc,))
        acc = warpgroup_mma(sa.index(s), sb.index(s), acc, is_async=True)
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    sc = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    sc.store(acc.to(c.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [0, 0], sc)
    if LATE:
        sc.store(gl.zeros([64, 64], gl.float16, mma))
    tma.store_wait(0)


@gluon.jit
def blackwell_product(a, b, c, WAITS: gl.constexpr = 1, FIRST: gl.constexpr = 1):
    """tcgen05 into tensor memory, in two halves along K; the product FIRST adds to it, and on."""
    SIDE: gl.constexpr = c.block_shape[0]
    bar = mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(bar.index(i), count=1)
    layout: gl.constexpr = TensorMemoryLayout([SIDE, SIDE], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [SIDE, SIDE], layout)
    sa = gl.allocate_shared_memory(a.dtype, [2] + a.block_shape, a.layout)
    sb = gl.allocate_shared_memory(b.dtype, [2] + b.block_shape, b.layout)
    for i in gl.static_range(2):
        mbarrier.expect(bar.index(0), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [0, i * SIDE], bar.index(0), sa.index(i))
        tma.async_copy_global_to_shared(b, [i * SIDE, 0], bar.index(0), sb.index(i))
        mbarrier.wait(bar.index(0), i)
        tcgen05_mma(sa.index(i), sb.index(i), acc, use_acc=(i >= FIRST))
    tcgen05_commit(bar.index(1))
    if WAITS:
        mbarrier.wait(bar.index(1), 0)
    made = acc.load(get_tmem_reg_layout(gl.float32, [SIDE, SIDE], layout, 4))
    sc = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    sc.store(made.to(c.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [0, 0], sc)
    tma.store_wait(0)


@gluon.jit
def half_written(x, out, READ: gl.constexpr = 0):
    """Of two buffers the first is stored to; READ is loaded, 2 for both of them by TMA."""
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    smem = gl.allocate_shared_memory(gl.float16, [2, 64, 64], out.layout)
    rows = gl.arange(0, 64, gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, gl.SliceLayout(0, layout))
    smem.index(0).store(gl.load(x + rows[:, None] * 64 + columns[None, :]))
    if READ < 2:
        smem.index(0).store(smem.index(READ).permute([1, 0]).load(layout))
    fence_async_shared()
    tma.async_copy_shared_to_global(out, [0, 0], smem.index(READ // 2))
    tma.store_wait(0)


@gluon.jit
def producer(source, ready, empty, smem, N: gl.constexpr, WAITS: gl.constexpr):
    """It waits before it expects bytes: with 2 for WAITS behind that, with 0 never."""
    for k in range(N):
        s = k % 2
        if WAITS == 1:
            mbarrier.wait(empty.index(s), ((k // 2) & 1) ^ 1)
        mbarrier.expect(ready.index(s), source.block_type.nbytes)
        if WAITS == 2:
            mbarrier.wait(empty.index(s), ((k // 2) & 1) ^ 1)
        tma.async_copy_global_to_shared(source, [0, k * 64], ready.index(s), smem.index(s))


@gluon.jit
def consumer(out, ready, empty, smem, N: gl.constexpr, WAITS: gl.constexpr, ARRIVES: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    total = gl.zeros([64, 64], gl.float32, layout)
    for k in range(N):
        s = k % 2
        if WAITS:
            mbarrier.wait(ready.index(s), (k // 2) & 1)
        total += smem.index(s).load(layout).to(gl.float32)
        if ARRIVES:
            mbarrier.arrive(empty.index(s), count=1)
    row = gl.arange(0, 64, gl.SliceLayout(1, layout))
    column = gl.arange(0, 64, gl.SliceLayout(0, layout))
    gl.store(out + row[:, None] * 64 + column[None, :], total)


@gluon.jit
def specialised(source, out, N: gl.constexpr, FULL: gl.constexpr = 1, FREE: gl.constexpr = 1,
                ARRIVES: gl.constexpr = 1, SWAP: gl.constexpr = 0):  # fmt: skip
    """One warp brings tiles that the others add up."""
    smem = gl.allocate_shared_memory(source.dtype, [2] + source.block_shape, source.layout)
    ready, empty = mbarrier.allocate_mbarrier(batch=2), mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        mbarrier.init(ready.index(i), count=1)
        mbarrier.init(empty.index(i), count=1)
    brings = (source, ready, empty, smem, N, FREE)
    adds = (out, ready, empty, smem, N, FULL, ARRIVES)
    if SWAP:
        gl.warp_specialize([(producer, brings), (consumer, adds)], [4], [24])
    else:
        gl.warp_specialize([(consumer, adds), (producer, brings)], [1], [24])


def halves(*shape):
    """Random float16."""
    return torch.randn(*shape).half()
