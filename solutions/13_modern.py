# %% [markdown]
# # 13 This decade's GPUs
#
# Lesson 12 left you with a matmul of 734 TFLOP/s and one line of Triton in its loop: `tl.dot`. An
# A100's tensor cores are fed by 128 threads that load, compute addresses, wait and multiply. A
# Hopper's would starve on that diet, and a Blackwell's twice as soon. **So who feeds them now, and
# how does anybody know when the food has arrived?**
#
# The answer is in one word: **asynchronous**. On today's GPUs a copy is ordered and not made, a
# product is ordered and not made, and the threads that ordered them go on. Every order has to be
# waited for, somewhere, by somebody. This lesson is about the waiting: too little of it is a race,
# too much is the slow kernel that you had before, and a wait for what never comes is a
# **deadlock**.
#
# Triton's compiler does all this for you. In **Gluon**, its second language, it does not: layouts,
# buffers, barriers and waits are yours. You write here what the machine does, and the engine runs
# it for a Hopper and a Blackwell on your laptop. It tells of the wait that you forgot, which a GPU
# would not: there a race mostly goes well, and fails later, at another size or load.
#
# Three sittings, about six hours:
#
# | exercise | time |
# |---|---|
# | `what_dot_became` | 30 min |
# | `tma_scale` | 45 min |
# | `hopper_matmul` | 75 min |
# | `specialised_matmul` | 60 min |
# | `blackwell_matmul` | 50 min |
# | `persistent` | 30 min |
# | `mx_quantise` | 40 min |
# | `flash_clocks` | 40 min |
#
# (Gluon is marked *experimental*: its names change with Triton's versions. This lesson is written
# for those of Triton 3.7. Its kernels for a Blackwell have run on the engine alone: no such GPU was
# at hand.)

# %%
import course

course.require_triton()  # where this lesson cannot run, a sentence says where it can

# %%
import re
from collections import Counter

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from course import exercises as ex
from course.figures import modern as pictures
from course.notebook.predict import compare

# %% [markdown]
# ## 1. What `tl.dot` became
#
# The same trick as in lesson 09: Triton compiles for GPUs that you do not have. `sm_80` is an A100
# (2020), `sm_90` an H100 or H200 (2022), `sm_100` a B200 (2024).


# %%
@triton.jit
def one_dot(A, B, C, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, columns, steps = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    a = tl.load(A + rows[:, None] * BK + steps[None, :])
    b = tl.load(B + steps[:, None] * BN + columns[None, :])
    tl.store(C + rows[:, None] * BN + columns[None, :], tl.dot(a, b))


def ptx(capability, BM=128, BN=128, BK=64, warps=4):
    """What Triton's compiler writes for one thread."""
    signature = {"A": "*fp16", "B": "*fp16", "C": "*fp32"}
    constants = {"BM": BM, "BN": BN, "BK": BK}
    source = ASTSource(
        one_dot,
        signature | dict.fromkeys(constants, "constexpr"),
        {(3 + n,): value for n, value in enumerate(constants.values())},
    )
    target = GPUTarget("cuda", capability, 32)
    return triton.compile(source, target=target, options={"num_warps": warps}).asm["ptx"]


products = r"\b(?:mma\.sync|wgmma\.mma_async|tcgen05\.(?:mma|alloc))[\w.:]*"
for capability in (80, 90, 100):
    print(f"sm_{capability}:", dict(Counter(re.findall(products, ptx(capability)))))

# %% [markdown]
# Three generations, and each moved one thing further away from the thread:
#
# | | who executes it | A and B are in | the sums are in | when is it done |
# |---|---|---|---|---|
# | `mma.sync` (Ampere) | a warp | registers | registers | at once |
# | `wgmma` (Hopper) | four warps together | shared memory | registers | by a wait |
# | `tcgen05.mma` (Blackwell) | a thread orders it | shared memory | tensor memory | by a barrier |
#
# An A100's warp loads 16 x 16 and 16 x 8 numbers into its registers for every 2,048 multiply-adds.
# A Hopper's warps name two places in shared memory and get up to 64 x 256 x 16 = 262,144 of them. A
# Blackwell's thread names two places, and a third for the result: **tensor memory**, 128 rows of
# 512 columns of 32 bits in each SM, which only the tensor cores and special loads and stores reach.
# (Sizes and names are from NVIDIA's PTX documentation.)
#
# ### Exercise: `what_dot_became`

# %%
ex.what_dot_became

# %% what_dot_became
BM = 128
BN = 128
BK = 64
WARPS = 4

what_dot_became = {
    "mma_a_warp": ...,
    "wgmma_a_group": ...,
    "tcgen05": ...,
    "sums_on_hopper": ...,
    "sums_on_blackwell": ...,
    "columns": ...,
}
### BEGIN SOLUTION
what_dot_became = {
    "mma_a_warp": BM * BN * BK / (16 * 8 * 16) / WARPS,
    "wgmma_a_group": (BM / 64) * (BK / 16) / (WARPS / 4),
    "tcgen05": (BM / 128) * (BK / 16),
    "sums_on_hopper": BM * BN / (32 * WARPS),
    "sums_on_blackwell": 0,
    "columns": (BM / 128) * BN,
}
### END SOLUTION

# %% what_dot_became_check
ex.what_dot_became.check(what_dot_became)

# %% [markdown]
# Check a few with the compiler: `Counter(re.findall(products, ptx(90, 256, 128, 64, warps=8)))`.
#
# Look at the third row of your answer again. 128 x 128 x 64 is a million multiply-adds, and a whole
# program needs **four** instructions for it. No thread is busy any more. All that is left for
# threads to do is to order, to wait, and to do what is no product.
#
# ## 2. A copy that nobody waits for
#
# The **TMA**, tensor memory accelerator, is a unit of the SM that copies tiles between global and
# shared memory. It is told *once* where a matrix lies and how large its tiles are: that is a
# **descriptor**, made by the host. After that a thread orders a tile by its coordinates. No thread
# computes an address, none holds the data in a register, and what lies outside of the matrix comes
# as zeros, so that there is no mask.
#
# And then? The order is given, and the thread goes on at once. When has the tile arrived?
#
# An **mbarrier** is a counter in shared memory that knows. It goes through phases. A phase ends
# when so many threads have *arrived* (you say how many: `init`) **and** so many bytes have been
# copied (you say how many: `expect`, which arrives, too). `wait(bar, parity)` comes back when the
# phase of that **parity** has ended: 0 for phases 0, 2, 4, ... and 1 for the others.

# %%
pictures.phases()

# %% [markdown]
# *Predict:* a tile of 64 x 64 in float16. How many bytes does the barrier have to expect?

# %% predict_expect
prediction = ...

# %%
compare(prediction, 64 * 64 * 2, "bytes")

# %% [markdown]
# The bytes are those of the whole tile, also where a part of it lies outside of the matrix and is
# filled with zeros. (Our sectors are those that lie inside. Nsight Compute's counter of TMA's loads
# has one more for every 32 bytes that were filled.)
#
# A tile may not begin anywhere. Along a row it begins at a multiple of 16 bytes, and one that is
# *stored* does not begin before the matrix: an H200 ends such a kernel with "an illegal instruction
# was encountered", the engine with the tile's coordinates.
#
# One thing more. The TMA reads and writes shared memory by another path than threads do, another
# **proxy**. What a thread has stored, the TMA sees only behind a **fence**: `fence_async_shared()`.
# (Triton 3.7's compiler puts one in where it sees that it is missing. CUDA's does not, nor does
# Triton 3.6: an H200's results of `hopper_matmul` were wrong without the line.)
#
# The first Gluon kernel uses all of this. `@gluon.jit` stands where `@triton.jit` stood, and
# `gl` where `tl` did. What is new to you in the cell below:
#
# - `gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])` is a **layout**: which thread holds what.
#   Each thread has 1 x 8 neighbours, a warp is 4 x 8 threads, a program 4 x 1 warps; the last axis
#   is the fast one.
# - `gl.allocate_shared_memory` makes a buffer; `buffer.load(layout)` and `buffer.store(x)` go
#   between it and registers.
# - `source.block_shape`, `source.block_type.nbytes`: what the descriptor knows of its tiles.
# - `tma.async_copy_global_to_shared` and `tma.async_copy_shared_to_global` order the copies. Triton
#   3.8 calls them `tma.async_load` and `tma.async_store`, too, and 3.9 knows these names alone.
# - `NVMMASharedLayout` says how a tile lies in shared memory: rows of up to 128 bytes, whose pieces
#   of 16 bytes change places from row to row (*swizzled*), so that columns have no bank conflicts
#   either. TMA writes a tile like that, and the tensor cores read it.
#
# ### Exercise: `tma_scale`

# %%
ex.tma_scale

# %% tma_scale
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def scale_rows(source, target, factor, tiles):
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    buffer = gl.allocate_shared_memory(source.dtype, source.block_shape, source.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    row = gl.program_id(0) * 64
    for i in range(tiles):
        ### BEGIN SOLUTION
        mbarrier.expect(bar, source.block_type.nbytes)
        tma.async_copy_global_to_shared(source, [row, i * 64], bar, buffer)  # read MN
        mbarrier.wait(bar, i & 1)
        scaled = buffer.load(layout).to(gl.float32) * factor
        buffer.store(scaled.to(gl.float16))
        fence_async_shared()
        tma.async_copy_shared_to_global(target, [row, i * 64], buffer)  # write MN
        tma.store_wait(0)  # the next copy writes over what this one reads
        ### END SOLUTION


def tma_scale(X, factor):  # X: (M, N) float16
    M, N = X.shape
    Y = torch.empty_like(X)
    layout = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    source = TensorDescriptor.from_tensor(X, [64, 64], layout)
    target = TensorDescriptor.from_tensor(Y, [64, 64], layout)
    scale_rows[(triton.cdiv(M, 64),)](source, target, factor, triton.cdiv(N, 64))
    return Y


# %% tma_scale_check
ex.tma_scale.check(tma_scale)

# %% [markdown]
# <details><summary>Is that a good kernel?</summary>
# <p>No. It never does two things at once: while the tile comes, nobody computes, and while it goes,
# nothing comes. It has every part, in the order in which they are safe. The next one lets go of the
# order. (The programs of an SM make up for much of it: 3,328 GB/s on an H200 for 65,536 x 2,048,
# where PyTorch's `factor * X` has 4,152.)</p>
# </details>
#
# <details><summary>What does a race look like on a GPU?</summary>
# <p>Take the `wait` out on a GPU, and the result is often right: the copy was fast enough. The
# engine does not measure luck. It asks for each access what the threads that make it *know* to have
# ended, from their own waits and from the barriers that they have passed. It makes each copy where
# it is ordered, so a wait for the wrong parity never ends there: a deadlock. On a GPU it may also
# go through too early.</p>
# </details>
#
# ## 3. A ring of buffers
#
# Now the matmul. A program has a tile of C, and its loop goes through K in steps of 64. With one
# pair of buffers it would copy, wait, multiply, wait. With several there is **pipelining**: while
# the tensor cores work on step k, the tiles of steps k + 1 and k + 2 are on their way. (Triton's
# `num_stages` is this number.) The buffers form a ring: step k lies in buffer `k % STAGES`, and
# each buffer has a barrier.

# %%
pictures.ring()

# %% [markdown]
# How many buffers does it take? Little's law, as in lesson 05: what is under way is rate times
# latency.
#
# *Predict:* an SM's tensor cores do 4,096 float16 operations a clock (an H100, NVIDIA's white
# paper). A step multiplies 128 x 64 by 64 x 128. A tile takes some 1,000 clocks to come from
# memory. How many steps have to be under way?

# %% predict_stages
prediction = ...

# %%
clocks = 2 * 128 * 128 * 64 / 4096
compare(prediction, 1000 / clocks, "steps", tolerance=0.3)

# %% [markdown]
# So two under way and one at work: three or four stages, of 32 KB each, of the 227 KB that a block
# has.
#
# The instruction is Hopper's `wgmma`. It is asynchronous, too, and has a wait of its own:
# `warpgroup_mma_wait(n, deps=(total,))` comes back when at most n products are under way, and only
# what it returns may be read. So there are two questions in each turn, and each has its own wait.
# *Have the tiles of step k come?* The barrier knows. *Has the product that reads the buffer which I
# am about to fill been made?* `warpgroup_mma_wait` knows.
#
# Two things in the cell below are new, and you need not write them. `bars.index(s)` is one of
# several barriers, or of several buffers. `NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])` is
# the layout that the sums of wgmma have: generation 3, four warps one below the other, and of each
# instruction a warp holds 16 x 64 sums, for 16 steps of K.
#
# ### Exercise: `hopper_matmul`

# %%
ex.hopper_matmul

# %% hopper_matmul
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

STAGES = 3


@gluon.jit
def fetch(k, steps, a, b, row, column, bars, sa, sb, STAGES: gl.constexpr):
    """Orders the tiles of step k, where there is one."""
    if k < steps:
        bar = bars.index(k % STAGES)
        mbarrier.expect(bar, a.block_type.nbytes + b.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [row, k * 64], bar, sa.index(k % STAGES))  # read MNK/BN
        tma.async_copy_global_to_shared(b, [k * 64, column], bar, sb.index(k % STAGES))  # MNK/BM


@gluon.jit
def multiply(a, b, c, steps, STAGES: gl.constexpr):
    row, column = gl.program_id(0) * 64, gl.program_id(1) * 64
    sa = gl.allocate_shared_memory(a.dtype, [STAGES, 64, 64], a.layout)
    sb = gl.allocate_shared_memory(b.dtype, [STAGES, 64, 64], b.layout)
    bars = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(bars.index(stage), count=1)
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    total = warpgroup_mma_init(gl.zeros([64, 64], gl.float32, mma))
    for k in range(STAGES - 1):
        fetch(k, steps, a, b, row, column, bars, sa, sb, STAGES)
    for k in range(steps):
        ### BEGIN SOLUTION
        mbarrier.wait(bars.index(k % STAGES), (k // STAGES) & 1)
        total = warpgroup_mma_wait(0, deps=(total,))  # step k - 1 has been multiplied
        total = warpgroup_mma(sa.index(k % STAGES), sb.index(k % STAGES), total, is_async=True)
        fetch(k - 1 + STAGES, steps, a, b, row, column, bars, sa, sb, STAGES)
        ### END SOLUTION
    total = warpgroup_mma_wait(0, deps=(total,))
    sc = gl.allocate_shared_memory(c.dtype, [64, 64], c.layout)
    sc.store(total)
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [row, column], sc)  # write MN
    tma.store_wait(0)


def hopper_matmul(A, B):  # A: (M, K), B: (K, N), float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    half = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    single = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float32)
    a = TensorDescriptor.from_tensor(A, [64, 64], half)
    b = TensorDescriptor.from_tensor(B, [64, 64], half)
    c = TensorDescriptor.from_tensor(C, [64, 64], single)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    multiply[grid](a, b, c, triton.cdiv(K, 64), STAGES)
    return C


# %% hopper_matmul_check
ex.hopper_matmul.check(hopper_matmul)

# %% [markdown]
# The check tells a wait too few, and waits so many that no copy is under way beside a product. One
# too many it may not see: whoever waits for product k in turn k, right behind its order, has the
# tiles of step k + 1 on their way all the same, and the tensor cores stand still while the next
# copies are ordered. Only a clock tells.
#
# Tiles of 64 x 64 are small for a Hopper, too. They are what one group of four warps multiplies in
# one instruction, and the engine runs them quickly. Lesson 12's arithmetic says what to take
# instead. On an H200, with M, N and K of 4,096 and a cold cache:
#
# | | TFLOP/s |
# |---|---|
# | one buffer in use | 289 |
# | the ring | 381 |
# | the ring, tiles of 128 x 128 | 671 |
# | cuBLAS | 763 |
#
# ## 4. Warps with one job each
#
# In your loop the same four warps order copies, wait for them, order products and wait for those.
# While they wait for a copy, they order no product. **Warp specialisation** gives each job to its
# own warps: a **producer** that only copies, **consumers** that only multiply. A producer needs
# hardly any registers (it holds no tile), so that the consumers get its share, and more stages can
# be under way however long a product takes.
#
# Two parties that hand things over need two signs. For each buffer: `ready`, the tiles have come;
# and `empty`, they have been read. The producer waits for `empty` and its copies end `ready`; the
# consumer waits for `ready` and arrives at `empty`.
#
# At the beginning every buffer is free and nobody has arrived at `empty`. A new barrier is in phase
# 0, and `wait(bar, 1)` on it comes back at once: the phase *before* the first counts as ended. So
# the producer begins with the other parity.
#
# *Predict:* three stages, six steps. For which steps does the producer's wait come back at once,
# however slow the consumers are? How many are that?

# %% predict_free
prediction = ...

# %%
compare(prediction, 3, "steps")

# %% [markdown]
# ### Exercise: `specialised_matmul`

# %%
ex.specialised_matmul

# %% specialised_matmul
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

STAGES = 3


@gluon.jit
def producer(a, b, row, column, steps, ready, empty, sa, sb, STAGES: gl.constexpr):
    for k in range(steps):
        s = k % STAGES
        ### BEGIN SOLUTION
        mbarrier.wait(empty.index(s), (k // STAGES) & 1 ^ 1)
        mbarrier.expect(ready.index(s), a.block_type.nbytes + b.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [row, k * 64], ready.index(s), sa.index(s))  # MNK/BN
        tma.async_copy_global_to_shared(b, [k * 64, column], ready.index(s), sb.index(s))  # MNK/BM
        ### END SOLUTION


@gluon.jit
def consumer(c, row, column, steps, ready, empty, sa, sb, STAGES: gl.constexpr):
    mma: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16])
    total = gl.zeros([64, 64], gl.float32, mma)
    for k in range(steps):
        s = k % STAGES
        ### BEGIN SOLUTION
        mbarrier.wait(ready.index(s), (k // STAGES) & 1)
        total = warpgroup_mma(sa.index(s), sb.index(s), total)
        mbarrier.arrive(empty.index(s), count=1)
        ### END SOLUTION
    sc = gl.allocate_shared_memory(c.dtype, [64, 64], c.layout)
    sc.store(total)
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [row, column], sc)  # write MN
    tma.store_wait(0)


@gluon.jit
def multiply(a, b, c, steps, STAGES: gl.constexpr):
    row, column = gl.program_id(0) * 64, gl.program_id(1) * 64
    sa = gl.allocate_shared_memory(a.dtype, [STAGES, 64, 64], a.layout)
    sb = gl.allocate_shared_memory(b.dtype, [STAGES, 64, 64], b.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(ready.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    consumes = (c, row, column, steps, ready, empty, sa, sb, STAGES)
    produces = (a, b, row, column, steps, ready, empty, sa, sb, STAGES)
    # the first function runs on the four warps of the launch, the other on one more warp, whose
    # threads have 24 registers
    gl.warp_specialize([(consumer, consumes), (producer, produces)], [1], [24])


def specialised_matmul(A, B):  # A: (M, K), B: (K, N), float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    half = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float16)
    single = gl.NVMMASharedLayout.get_default_for([64, 64], gl.float32)
    a = TensorDescriptor.from_tensor(A, [64, 64], half)
    b = TensorDescriptor.from_tensor(B, [64, 64], half)
    c = TensorDescriptor.from_tensor(C, [64, 64], single)
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    multiply[grid](a, b, c, triton.cdiv(K, 64), STAGES)
    return C


# %% specialised_matmul_check
ex.specialised_matmul.check(specialised_matmul)

# %% [markdown]
# Two loops without a line in common, and no order between them but the barriers. That is the form
# of every fast Hopper kernel: CUTLASS's, FlashAttention 3's, and what Triton makes of
# `tl.range(..., warp_specialize=True)`.
#
# This one is not fast yet. On the same H200 it makes 233 TFLOP/s, and the ring made 381. A buffer
# goes back only when the product that read it has been made, and each way takes a barrier, so
# three buffers are few: with six it makes 317, with tiles of 128 x 128 and three of them 523. And
# it has one group of consumers. The form pays when there are two: while one group stores its tile,
# or in attention takes exponentials, the other one's products keep the tensor cores busy.
#
# ## 5. Sums that are in no register
#
# On a Blackwell the consumers are gone, too. Its instruction, **tcgen05**, is one thread's order,
# `tcgen05_mma(sa, sb, total)`: sa and sb are in shared memory, and `total` is in tensor memory, of
# which `TensorMemoryLayout([128, 64], col_stride=1)` takes 64 columns. What is left of the four
# warps? They fetch the sums at the end, `total.load(registers)`, and store them.
#
# The order comes back at once. `tcgen05_commit(bar)` has a barrier arrive when all products so far
# have been made. That one wait answers both questions of the ring: the buffers have been read, and
# the sums are there. And nobody has set them to 0: tensor memory holds at first whatever the last
# program left.
#
# ### Exercise: `blackwell_matmul`

# %%
ex.blackwell_matmul

# %% blackwell_matmul
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    fence_async_shared,
    mbarrier,
    tcgen05_commit,
    tcgen05_mma,
    tma,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def multiply(a, b, c, steps):
    row, column = gl.program_id(0) * 128, gl.program_id(1) * 64
    sa = gl.allocate_shared_memory(a.dtype, [128, 64], a.layout)
    sb = gl.allocate_shared_memory(b.dtype, [64, 64], b.layout)
    sc = gl.allocate_shared_memory(c.dtype, [128, 64], c.layout)
    bars = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    ready, done = bars.index(0), bars.index(1)
    mbarrier.init(ready, count=1)
    mbarrier.init(done, count=1)
    places: gl.constexpr = TensorMemoryLayout([128, 64], col_stride=1)
    total = allocate_tensor_memory(gl.float32, [128, 64], places)
    registers: gl.constexpr = gl.BlockedLayout([1, 64], [32, 1], [4, 1], [0, 1])  # a thread a row
    ### BEGIN SOLUTION
    for k in range(steps):
        mbarrier.expect(ready, a.block_type.nbytes + b.block_type.nbytes)
        tma.async_copy_global_to_shared(a, [row, k * 64], ready, sa)  # read MNK/BN
        tma.async_copy_global_to_shared(b, [k * 64, column], ready, sb)  # read MNK/BM
        mbarrier.wait(ready, k & 1)
        tcgen05_mma(sa, sb, total, use_acc=(k > 0))
        tcgen05_commit(done)
        mbarrier.wait(done, k & 1)
    sc.store(total.load(registers))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [row, column], sc)  # write MN
    tma.store_wait(0)
    ### END SOLUTION


def blackwell_matmul(A, B):  # A: (M, K), B: (K, N), float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    tall, wide = [128, 64], [64, 64]
    layout = gl.NVMMASharedLayout.get_default_for
    a = TensorDescriptor.from_tensor(A, tall, layout(tall, gl.float16))
    b = TensorDescriptor.from_tensor(B, wide, layout(wide, gl.float16))
    c = TensorDescriptor.from_tensor(C, tall, layout(tall, gl.float32))
    multiply[(triton.cdiv(M, 128), triton.cdiv(N, 64))](a, b, c, triton.cdiv(K, 64))
    return C


# %% blackwell_matmul_check
ex.blackwell_matmul.check(blackwell_matmul)

# %% [markdown]
# One pair of buffers is the least that works. With a ring of them, `done` is for Blackwell what
# `empty` was for Hopper, and the producer waits for it: your two last solutions, put together.
#
# Both generations let up to 8 blocks (16 where a kernel asks for it) of one launch form a
# **cluster**, which runs on SMs that are neighbours. Its blocks read each other's shared memory,
# arrive at each other's barriers, and one TMA copy can go to all of them (**multicast**): two
# blocks of one row of C fetch A's tile once. On Blackwell two of them can even order one tcgen05
# product together, each with half of B. It is lesson 04's reuse once more, one level further up. No
# exercise here asks for it.
#
# ## 6. Programs that stay
#
# Your kernels begin with an empty ring and end with a store. While a program fills its ring and
# while it stores C, its tensor cores do nothing, and the next program begins with an empty ring
# again. A **persistent** kernel launches as many programs as there are SMs, each of which goes from
# tile to tile, `for tile in range(pid, tiles, programs)`. Its producer never stops: while the
# consumers finish one tile, the next one's copies are under way.
#
# What that brings is arithmetic.
#
# ### Exercise: `persistent`

# %%
ex.persistent

# %% persistent
TILES = 512
SMS = 132
FILL = 1200
MAIN = 16384
STORE = 2500

persistent = {
    "most_tiles": ...,
    "one_each": ...,
    "prefetching": ...,
    "specialised": ...,
    "idle": ...,
}
### BEGIN SOLUTION
most = -(-TILES // SMS)
last = FILL + most * MAIN + STORE
persistent = {
    "most_tiles": most,
    "one_each": most * (FILL + MAIN + STORE),
    "prefetching": FILL + most * (MAIN + STORE),
    "specialised": last,
    "idle": 1 - TILES / SMS * MAIN / last,
}
### END SOLUTION

# %% persistent_check
ex.persistent.check(persistent)

# %% [markdown]
# Persistence hides fills and stores. It does not hide waves: 133 tiles on 132 SMs take as long as
# 264 (lesson 05). Against that there are smaller tiles, or tiles whose K several programs share, as
# in `split_k` of lesson 09. There every tile is cut into as many parts. **Stream-K** cuts the whole
# work: write the K steps of all tiles into one long list, and give each program an even piece of
# it. A piece begins in the middle of one tile and ends in the middle of another. Whoever does not
# end a tile stores its sums so far, and who ends it adds them.
#
# *Predict:* C is 1536 x 1536, so it has 144 tiles of 128 x 128. K is 4096 and a step 64 of it: 64
# steps a tile. 132 programs share the tiles, or they share the steps. How many times fewer steps
# has the busiest program then?

# %% predict_stream
prediction = ...

# %%
tiles, steps, programs = 144, 64, 132
busiest_by_tiles = -(-tiles // programs) * steps
busiest_by_steps = -(-tiles * steps // programs)
compare(prediction, busiest_by_tiles / busiest_by_steps, "times", tolerance=0.02)

# %% [markdown]
# 128 steps against 70. The price: up to 131 tiles are cut, and 64 KB of float32 sums of each are
# written and read again, 17 MB in all. A copy's 4,242 GB/s on an H200 move them in 4 us, where the
# product itself takes 25 us at the 777 TFLOP/s that cuBLAS reaches there (both rates as in lesson
# 12). So it pays here. With the 512 tiles of the exercise the busiest program has 256 steps or 249,
# 1.03 times fewer, and that does not pay. Libraries share the last one or two waves and leave the
# tiles before them whole.
#
# ## 7. Fewer bits, and scales for them
#
# A tensor core multiplies twice as many numbers of 8 bits as of 16, and a Blackwell's twice as many
# of 4 again. Four bits are hardly a number: one sign, two bits of exponent, one of fraction, which
# is 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. So neighbours share a **scale**. OCP's MX
# formats give one power of two (8 bits) to each 32 of them; NVIDIA's NVFP4 gives a float of 8 bits
# to each 16.
#
# *Predict:* how many bits does a number of NVFP4 take, its part of the scale included?

# %% predict_bits
prediction = ...

# %%
compare(prediction, 4 + 8 / 16, "bits")

# %% [markdown]
# What do the scales buy? Take a matrix in which a few columns are a hundred times as large as the
# others, as those of language models are.

# %%
grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
grid = np.concatenate([-grid[:0:-1], grid])


def rounded(x, block):
    """Four bits a number, and a scale for each `block` neighbours: the largest becomes 6."""
    groups = x.reshape(-1, block)
    scale = np.abs(groups).max(axis=1, keepdims=True) / 6
    nearest = np.abs((groups / scale)[..., None] - grid).argmin(axis=-1)
    return (grid[nearest] * scale).reshape(x.shape)


rng = np.random.default_rng(0)
weights = rng.standard_normal((128, 256))
weights[:, ::64] *= 100
small = np.abs(weights) < 10
for block in (weights.size, 256, 32, 16):
    error = np.abs(rounded(weights, block) - weights)[small].mean() / np.abs(weights[small]).mean()
    print(f"a scale for each {block:6,} numbers: the small ones are off by {error:4.0%}")

# %% [markdown]
# With one scale for all, whatever is small is 0. With a scale for each 16, one in four groups still
# suffers, and the others do not know of it.
#
# Somebody has to make these numbers, often the kernel that computed them. In **MXFP8** a number has
# 8 bits: a sign, 4 of exponent, 3 of fraction (`e4m3`; Triton says `tl.float8e4nv`). Its largest is
# 448. Each 32 share a power of two, kept as its exponent alone in one byte (`e8m0`). It is chosen
# so that the largest of the 32 comes to lie between 256 and 512; what is beyond 448 becomes 448.
#
# ### Exercise: `mx_quantise`

# %%
ex.mx_quantise

# %% mx_quantise
import torch
import triton
import triton.language as tl


### BEGIN SOLUTION
@triton.jit
def quantise(x_ptr, q_ptr, scale_ptr, N, GROUPS: tl.constexpr):
    group = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    at = group[:, None] * 32 + tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + at, mask=at < N, other=0.0)  # read N
    largest = tl.max(tl.abs(x), axis=1)
    byte = tl.maximum((largest.to(tl.int32, bitcast=True) >> 23) - 8, 0)
    factor = ((254 - byte) << 23).to(tl.float32, bitcast=True)  # 2**-e, exactly
    q = (x * factor[:, None]).to(tl.float8e4nv)  # the conversion stops at 448 by itself
    tl.store(q_ptr + at, q.to(tl.uint8, bitcast=True), mask=at < N)  # write N
    tl.store(scale_ptr + group, byte.to(tl.uint8), mask=group < N // 32)  # write N / 32


### END SOLUTION
def mx_quantise(x):  # x: (N,) float32
    N = x.shape[0]
    q = torch.empty((N,), device=x.device, dtype=torch.uint8)
    scale = torch.empty((N // 32,), device=x.device, dtype=torch.uint8)
    ### BEGIN SOLUTION
    GROUPS = 32
    quantise[(triton.cdiv(N, GROUPS * 32),)](x, q, scale, N, GROUPS)
    ### END SOLUTION
    return q, scale


# %% mx_quantise_check
ex.mx_quantise.check(mx_quantise)

# %% [markdown]
# 5.03 bytes of traffic a number, and whoever reads it afterwards moves 1.03 instead of 4. The scale
# costs a 32nd, and no multiplication: a power of two only moves exponents, so that nothing is
# rounded twice. And the exponent is read from the bits, because `tl.log2` rounds: of a number just
# below 2^30 it is 30, on the GPU as here, and that group's scale is twice what it should be.
#
# On an H200, with 2^26 numbers, the kernel moves 4,025 GB/s, and PyTorch, an operation after the
# other, gets through the same numbers at 311. With 8 groups a program instead of 32 it is 2,078:
# a program has too few bytes under way.
#
# Triton has `tl.dot_scaled(a, a_scale, "e2m1", b, b_scale, "e2m1")`; on sm_100 it becomes
# `tcgen05.mma` of kind `mxf4`, whose scales lie in tensor memory, and on older GPUs numbers are
# widened first. In Gluon the same is `tcgen05_mma_scaled`. The engine runs both.
#
# ## 8. FlashAttention 3 and 4
#
# Two things happen to a tile of scores: products, and exponentials. Each generation doubles the
# first. The special function units, which take exponentials, stay as they were: 16 a clock in each
# SM, on a Hopper as on a Blackwell (CUDA programming guide, table of arithmetic throughput). In
# float16 an H100's SM multiplies at 4,096 operations a clock, a B200's at 8,192 (the papers of
# FlashAttention 3 and 4).
#
# *Predict:* at D = 128, which takes longer on a B200, the products of a tile or its exponentials?
# Write products / exponentials.

# %% predict_ratio
prediction = ...

# %%
compare(prediction, (4 * 128 * 128 * 128 / 8192) / (128 * 128 / 16), "times")

# %% [markdown]
# ### Exercise: `flash_clocks`

# %%
ex.flash_clocks

# %% flash_clocks
MMA = 4096  # an H100
EXP = 16
BM = 128
BN = 128
D = 128

flash_clocks = {
    "mma": ...,
    "exp": ...,
    "in_turn": ...,
    "at_once": ...,
    "polynomials": ...,
    "backward": ...,
}
### BEGIN SOLUTION
mma = 4 * BM * BN * D / MMA
exp = BM * BN / EXP
flash_clocks = {
    "mma": mma,
    "exp": exp,
    "in_turn": mma / (mma + exp),
    "at_once": mma / max(mma, exp),
    "polynomials": max(0, 1 - mma / exp),
    "backward": 2.5 * mma / max(2.5 * mma, exp),
}
### END SOLUTION

# %% flash_clocks_check
ex.flash_clocks.check(flash_clocks)

# %% [markdown]
# On an H100 with D = 128 a kernel that takes turns leaves its tensor cores idle for a third of the
# time. **FlashAttention 3** has two groups of consumer warps, each with its own queries: one takes
# exponentials while the other multiplies, and barriers between them keep them out of step
# (*ping-pong*); within a group the next tile's Q K^T is ordered before this tile's exponentials. On
# a B200 the two take equally long, so that perfect overlap is just enough, and D = 64 is bound by
# exponentials. **FlashAttention 4** therefore computes a part of them as polynomials on the
# ordinary multiply-add units, and leaves out rescalings that would change nothing. Both begin with
# the numbers that you have just worked out.
#
# ## 9. The same loop in CUDA C++ and in CuTe
#
# You can read these now. First the turn of your `hopper_matmul` in CUDA C++, with the functions
# that stand for single PTX instructions:
#
# ```cpp
# namespace ptx = cuda::ptx;
# while (!ptx::mbarrier_try_wait_parity(&bars[s], (k / STAGES) & 1)) {}  // mbarrier.wait
# asm volatile("wgmma.wait_group.sync.aligned 0;");                 // warpgroup_mma_wait(0)
# asm volatile("wgmma.fence.sync.aligned;");
# for (int i = 0; i < 64; i += 16)                                  // warpgroup_mma
#     wgmma_m64n64k16(total, matrix_descriptor(sa[s], i), matrix_descriptor(sb[s], i));
# asm volatile("wgmma.commit_group.sync.aligned;");
# if (threadIdx.x == 0 && next < steps) {                           // fetch
#     ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared,
#                                    &bars[n], 2 * 64 * 64 * sizeof(half));
#     ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global,
#                               &sa[n], &map_a, {next * 64, row}, &bars[n]);
#     ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global,
#                               &sb[n], &map_b, {column, next * 64}, &bars[n]);
# }
# ```
#
# `wait` is a loop that tries. Gluon's one product is four instructions here, of 16 steps each.
# `matrix_descriptor` packs an address in shared memory and how it is swizzled into 64 bits: that is
# what Gluon reads off the buffer's `NVMMASharedLayout`. One thread orders the copies, which Gluon
# sees to. And coordinates stand with the fastest axis first.
#
# **CuTe**, the C++ library under CUTLASS, has a word for each of your lines:
#
# ```cpp
# pipeline.consumer_wait(read);                                     // mbarrier.wait(ready)
# warpgroup_arrive();
# cute::gemm(tiled_mma, tCrA(_, _, _, read.index()), tCrB(_, _, _, read.index()), total);
# warpgroup_commit_batch();
# warpgroup_wait<1>();                                              // the product before this one
# pipeline.consumer_release(release);                               // mbarrier.arrive(empty)
# ++read; ++release;                                                // stage and parity
# ```
#
# and in the producer's warp
#
# ```cpp
# pipeline.producer_acquire(write);                                 // wait(empty), expect
# auto* bar = pipeline.producer_get_barrier(write);
# cute::copy(tma_a.with(*bar), tAgA(_, _, _, k), tAsA(_, _, _, write.index()));
# cute::copy(tma_b.with(*bar), tBgB(_, _, _, k), tBsB(_, _, _, write.index()));
# ++write;
# ```
#
# `read`, `release` and `write` are places in the ring, an index with its parity: your `k % STAGES`
# and `(k // STAGES) & 1`. `producer_acquire` has no special first round: `write` begins with parity
# 1. What the library adds is *layouts*: `tCrA(_, _, _, s)` is the part of buffer s that this
# instruction wants, computed when the program is compiled.
#
# ## Explain
#
# A colleague's specialised matmul for Hopper is right on an H100 in ten thousand runs. The engine
# calls it a race: the consumer arrives at `empty` directly behind an asynchronous product. Your
# colleague says that the engine is wrong, since "the product always wins". What has to happen on
# the GPU for the result to be wrong, why is that rare, and what would you change?

# %% [markdown] explain_modern
# ### BEGIN SOLUTION
# The consumer only ordered the product, which reads the two buffers for some hundred clocks more.
# At once it arrives at `empty`, and the producer, if it waits there, orders the next tiles into the
# same buffers. If their first bytes arrive before the product has read its last ones, it multiplies
# a mixture. That is rare because a tile takes some thousand clocks to come from memory, longer than
# the product takes. It needs a tile that comes from a near L2, a product that is held up (another
# group of warps has the tensor cores), or larger tiles whose products take longer: so it shows on
# another GPU, at another size, under load. I would arrive one turn later: order product k, wait
# until at most one is under way, and arrive for the buffer of step k - 1. That keeps two products
# overlapping and gives a buffer back only when it has been read.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - What **asynchronous** means for a copy and for a product, and who knows that it has ended.
# - An **mbarrier**: arrivals, bytes, phases, and why `wait` takes a parity.
# - Why a ring of **stages** has as many as it has, and the two waits of each turn.
# - **Warp specialisation**: producer and consumer, `ready` and `empty`, and the first round.
# - Where the sums are on an Ampere, a Hopper and a Blackwell; what **tensor memory** is.
# - What **persistence** hides and what it does not.
# - Why FlashAttention 3 overlaps exponentials with products, and why FlashAttention 4 computes some
#   of them by polynomials.
#
# ## Where this stands in real code
#
# - Triton's Gluon tutorials go on where this ends: larger tiles, persistent kernels, multicast,
#   block scales, FlashAttention for Blackwell.
# - CUTLASS 3 and 4 build every Hopper and Blackwell kernel of a mainloop like yours
#   (`sm90_mma_tma_gmma_ss_warpspecialized`) and an epilogue; CuTe DSL is the same in Python.
# - FlashAttention 3 is CuTe C++, FlashAttention 4 is CuTe DSL.
# - QuACK reduces rows over clusters: lesson 08's norms, whose row lies in the shared memory of
#   several SMs.
#
# Next: **14 serving and training**, five kernels in which the bytes that do not move decide.
