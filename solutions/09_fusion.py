# %% [markdown]
# # 09 Matrix multiplication in Triton, and fusion
#
# A gated layer, as most language models have it, is two matrix products, two biases, a sigmoid and
# a multiplication. An H200 multiplies float16 matrices of 4096 x 4096 at 764 TFLOP/s with cuBLAS.
# The gated layer, written in PyTorch and run on 65,536 rows with 512 features, reaches **186**, and
# nearly all of its arithmetic is done by that same cuBLAS. **Where does the speed of the parts go
# when they are put together?**
#
# First you write the product itself, in a dozen lines of Triton, and look at the instructions that
# the compiler makes of it. Then you add to it what a library call cannot: whatever has to happen to
# the result while it is still in registers. Plan three sittings, about six hours in all:
#
# | exercise | time |
# |---|---|
# | `triton_matmul` (★ core) | 75 min |
# | `read_the_ptx` | 40 min |
# | `grouped_order` | 45 min |
# | `matmul_epilogue` | 40 min |
# | `gated_linear` (★ core) | 60 min |
# | `quantised_matmul` (bonus) | 45 min |
# | `split_k` (bonus) | 50 min |
#
# (Speeds of the H200 in this lesson are medians of two runs on that GPU, in `docs/full_size.json`
# and `docs/gated_linear.json`, with float16 inputs, a multiply-add counted as two operations.)

# %%
import course

course.require_triton()  # where this lesson cannot run, a sentence says where it can

# %%
import re
from collections import Counter

import torch
import triton
import triton.language as tl

import course
from course import exercises as ex
from course.figures import fusion as pictures
from course.notebook.predict import compare

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

# %% [markdown]
# ## A tile of addresses
#
# Lesson 04 ended with a block of threads for each tile of C, which walks along K with a tile of A
# and a tile of B in shared memory. In Triton a program has the tile, and the threads, the shared
# memory and both barriers are the compiler's business. What stays yours is the arithmetic of
# addresses. Lesson 06 has made a two-dimensional block of offsets from a column and a row:

# %%
pictures.tile_of_offsets()

# %% [markdown]
# For the tile of A the column holds numbers of rows of C, which never change, and the row holds
# steps along K, which move on by BK in every turn of the loop. For the tile of B the column holds
# the steps, and the row holds columns of C.
#
# *Predict:* A is 128 x 128 in **float16**, stored by rows. A program loads a tile of 64 rows and
# 32 steps. How many sectors?

# %% predict_tile
prediction = ...


# %%
@triton.jit
def load_a_tile(A, out, K, BM: tl.constexpr, BK: tl.constexpr):
    rows = tl.arange(0, BM)
    steps = tl.arange(0, BK)
    a = tl.load(A + rows[:, None] * K + steps[None, :])  # (BM, BK)
    tl.store(out + rows, tl.sum(a, axis=1))


A = torch.randn(128, 128, device=device).half()
out = torch.empty(64, dtype=torch.float16, device=device)
with course.measure() as traffic:
    load_a_tile[(1,)](A, out, 128, 64, 32)

compare(prediction, traffic.loads.sectors, "load sectors")

# %% [markdown]
# 64 rows of 64 bytes, two sectors each, and every byte of them is used.
#
# **The product of two tiles is one operation.** `tl.dot(a, b, total)` takes a block of (BM, BK), a
# block of (BK, BN) and an accumulator of (BM, BN), and gives `total + a @ b`. All three sizes are
# powers of two. The step along K has a least size; the second exercise asks for it.
#
# So the whole kernel loads MNK (1/BM + 1/BN) elements and stores MN, as in lesson 04.
#
# *Predict:* M = N = K = 256 in float16, tiles of 64 x 64. How many load sectors in all?

# %% predict_product
prediction = ...

# %%
compare(prediction, 256 * 256 * 256 * (1 / 64 + 1 / 64) * 2 / 32, "load sectors")

# %% [markdown]
# The hardware counters of an H200 said 32,768 too, for such a kernel with steps of 32.
#
# ## What the sum is kept in
#
# The inputs are float16. What is the accumulator? The next cell lets you choose. All elements of A
# are 1, all of B are 1/64, and both numbers are exact in float16. With 16 steps of K in each turn
# of the loop, each turn adds exactly 0.25, and after K = 65,536 steps the sum is 1,024.
#
# *Predict:* float16 has 11 significant bits, so between 512 and 1,024 its values are 0.5 apart.
# What comes out if the sum is kept in float16?

# %% predict_half
prediction = ...


# %%
@triton.jit
def long_sum(A, B, C, K, KEPT: tl.constexpr):
    i = tl.arange(0, 16)
    total = tl.zeros((16, 16), KEPT)
    for start in range(0, K, 16):
        a = tl.load(A + i[:, None] * K + start + i[None, :])
        b = tl.load(B + (start + i[:, None]) * 16 + i[None, :])
        total = tl.dot(a, b, total, out_dtype=KEPT)
    tl.store(C + i[:, None] * 16 + i[None, :], total)


A = torch.full((16, 65536), 1.0, device=device).half()
B = torch.full((65536, 16), 1 / 64, device=device).half()
C = torch.empty(16, 16, device=device)
sums = {}
with course.measure():
    for kept in (tl.float32, tl.float16):
        long_sum[(1,)](A, B, C, 65536, kept)
        sums[str(kept)] = C[0, 0].item()

compare(prediction, sums["fp16"], "in float16")

# %%
print(sums)

# %% [markdown]
# At 512 the sum stands still: 512.25 lies half-way between 512 and 512.5, a tie goes to the
# neighbour whose last bit is 0, which is 512, and every later addition meets the same fate. (Where
# each product is rounded by itself, it stops sooner.) No error, no NaN. So the rule of mixed
# precision: **store in 16 bits, multiply in 16 bits, add in 32**. `tl.dot` of float16 gives float32
# unless it is told otherwise. In this lesson C is float32 too, so that the check can see what
# happened to the last bits.
#
# And if the *inputs* are float32? Then the answer depends on the GPU. From compute capability 8.0
# on, Triton's default for float32 inputs is `input_precision="tf32"`: the tensor cores take them,
# with a fraction cut as short as that of float16. On an H200 some results came out 2.8 % off that
# way (K = 512, relative to 1 + |expected|), and in this course's engine they are as much off: it
# cuts as that GPU did. A T4 (7.5) has no TF32: there the same `tl.dot` is float32 arithmetic. Say
# `tl.dot(a, b, total, input_precision="ieee")` for float32 everywhere, without tensor cores, or
# `"tf32x3"` for three products of pieces on them, nearly as exact. State what you mean whenever
# your inputs are float32. With float16 inputs it changes nothing.
#
# ## The launcher
#
# Up to now the check has launched your kernels. From here on you write that part too: a plain
# Python function, the **launcher**, named like the exercise. It takes tensors and returns a tensor:
#
# ```python
# def negative(x):
#     out = torch.empty_like(x)                       # allocate
#     grid = (triton.cdiv(x.numel(), 1024),)          # how many programs
#     negative_kernel[grid](x, out, x.numel(), 1024)  # launch
#     return out                                      # and hand it back
# ```
#
# This is what a library exports; a user never sees the grid. The check admits what launching needs:
# `torch.empty` and its relatives, shapes, strides and dtypes, arithmetic with numbers, `if` and
# `assert`, `triton.cdiv`, `triton.next_power_of_2`, launches. It refuses `@`, `torch.matmul` or
# `.contiguous()`, since those are kernels too, and nobody would count their bytes.
#
# Strides are the launcher's gift to the kernel. `A.stride()` gives two numbers: how many elements
# lie between one row and the next, and between one column and the next. (128, 1) is a matrix with
# 128 columns stored by rows; its transpose `A.T` is the same memory with (1, 128). A kernel that
# takes strides multiplies transposed matrices without copying them.
#
# Three things to decide about edges, where M, N and K are no multiples of the tile:
#
# - rows of A past M and columns of B past N: masked, and what stands there reaches only outputs
#   that do not exist;
# - steps past K, in A *and* in B: masked, and they must count as **0**, since they are added up;
# - the store: masked.
#
# ### Exercise: `triton_matmul` (75 minutes, ★ core)

# %%
ex.triton_matmul

# %% triton_matmul
import torch
import triton
import triton.language as tl

BM = 64  # rows of C that a program computes
BN = 64  # columns of C that a program computes
BK = 32  # the step along K


@triton.jit
def matmul_kernel(
    A, B, C, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ### BEGIN SOLUTION
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * am + steps[None, :] * ak, inside, 0.0)  # read MNK/BN
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * bk + columns[None, :] * bn, inside, 0.0)  # read MNK/BM
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)  # write MN
    ### END SOLUTION


def triton_matmul(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    ### BEGIN SOLUTION
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    am, ak = A.stride()
    bk, bn = B.stride()
    matmul_kernel[grid](A, B, C, M, N, K, am, ak, bk, bn, BM, BN, BK)
    return C  # (M, N) float32
    ### END SOLUTION


# %% triton_matmul_check
ex.triton_matmul.check(triton_matmul)

# %% [markdown]
# <details><summary>Why does the budget ask for tiles of at least 64 x 64? Would larger ones be
# better?</summary>
# <p>Try 128 x 128: half the loads. The accumulator has 16,384 values then, 128 registers for each
# of the 128 threads, out of 255 that a thread may have. How many a thread needs in all, and how
# many bytes of them spill, is in the last lines of the verdict. With <code>num_warps=8</code> in
# the launch twice the threads share the tile. What spills is traffic that no formula here
# counts.</p>
# </details>
#
# <details><summary>Which order of the grid's axes?</summary>
# <p>Any, as long as kernel and launcher agree. It does matter for what programs that run at the
# same time can share. That is the exercise after the next.</p>
# </details>
#
# ## What did `tl.dot` become?
#
# A multiply-add of floats is one instruction of a thread, `fma`. A warp does 32 of them at once.
# **Tensor cores** are units of an SM that do more: one instruction of a *whole warp* multiplies two
# small matrices and adds the product to a third. The matrices lie in the registers of all 32 lanes,
# a few elements in each, in an arrangement that the instruction prescribes.

# %%
pictures.tensor_core()

# %% [markdown]
# You can look. **PTX** is NVIDIA's assembly language, one step above what a GPU runs, and Triton's
# compiler writes it for any GPU, also for one that you do not have. `sm_75` is a T4, `sm_80` an
# A100, `sm_90` an H100 or H200. The kernel is a single product of tiles with 4 warps, which is 128
# threads. (Each compilation takes about a second.)

# %%
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def one_dot(A, B, C, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.arange(0, BM)
    columns = tl.arange(0, BN)
    steps = tl.arange(0, BK)
    a = tl.load(A + rows[:, None] * BK + steps[None, :])
    b = tl.load(B + steps[:, None] * BN + columns[None, :])
    product = tl.dot(a, b, input_precision=PRECISION)
    tl.store(C + rows[:, None] * BN + columns[None, :], product)


def ptx(capability, inputs="fp16", BM=64, BN=64, BK=32, precision="tf32"):
    """What Triton's compiler writes for one thread, for inputs of fp16, fp32 or i8."""
    types = {"A": f"*{inputs}", "B": f"*{inputs}", "C": "*i32" if inputs == "i8" else "*fp32"}
    constants = {"BM": BM, "BN": BN, "BK": BK, "PRECISION": precision}
    signature = types | dict.fromkeys(constants, "constexpr")
    values = {(3 + n,): value for n, value in enumerate(constants.values())}
    target = GPUTarget("cuda", capability, 32)
    return triton.compile(ASTSource(one_dot, signature, values), target=target).asm["ptx"]


def count(text):
    """The instructions that multiply, and how often each stands in the PTX."""
    return dict(Counter(re.findall(r"\b(?:fma|mma|wgmma\.mma_async)\.[\w.]+", text)))


for capability in (75, 80, 90):
    print(f"sm_{capability}:", count(ptx(capability)))

# %% [markdown]
# Three GPUs, three answers, from one line of Triton.
#
# - **sm_80** has `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`. Read it from the left: a
#   matrix multiply-add, synchronous for the warp, 16 x 16 times 16 x 8, the first stored by rows
#   and the second by columns, result in float32, inputs in float16, accumulator in float32.
# - **sm_90** has `wgmma.mma_async`: four warps together multiply 64 x 16 by 16 x 64, straight from
#   shared memory, and go on while it runs. (For small tiles Triton uses `mma.sync` there too.)
# - **sm_75** has none, although a T4 does have tensor cores. Their instructions have other shapes,
#   and this Triton does not write them: `tl.dot` becomes ordinary multiply-adds. Your kernels run
#   on a T4, with the same bytes, at the speed of ordinary arithmetic.
#
# Here is one of them, with its registers:

# %%
text = ptx(80)
first = text.index("mma.sync")
print(text[first : text.index(";", first) + 1])

# %% [markdown]
# Four registers for the result, four for A (two float16 each), two for B, four for C, the sum so
# far. That is why `tl.dot` refuses a short K: it would not fill the instruction, which takes 32
# bytes of each row of A. (M and N are padded, if need be.)
#
# ### Exercise: `read_the_ptx` (40 minutes)

# %%
ex.read_the_ptx

# %% read_the_ptx
# Entries may be numbers or arithmetic: 64 * 64 is as good as 4096.
read_the_ptx = {
    "multiply_adds": ...,
    "fma_a_thread": ...,
    "work_of_an_mma": ...,
    "mma_a_warp": ...,
    "wgmma_a_group": ...,
    "fma_per_mma": ...,
    "sums_a_thread": ...,
    "smallest_k": ...,
    "smallest_k_int8": ...,
    "tf32_mma": ...,
    "ieee_mma": ...,
    "bits_kept": ...,
}
### BEGIN SOLUTION
read_the_ptx = {
    "multiply_adds": 64 * 64 * 32,
    "fma_a_thread": 64 * 64 * 32 / 128,
    "work_of_an_mma": 16 * 8 * 16,
    "mma_a_warp": 64 * 64 * 32 / (16 * 8 * 16) / 4,
    "wgmma_a_group": 64 * 64 * 32 / (64 * 64 * 16),
    "fma_per_mma": 16 * 8 * 16 / 32,
    "sums_a_thread": 64 * 64 / 128,
    "smallest_k": 16,
    "smallest_k_int8": 32,
    "tf32_mma": 64 * 64 * 32 / (16 * 8 * 8) / 4,
    "ieee_mma": 0,
    "bits_kept": 10,
}
### END SOLUTION

# %% read_the_ptx_check
ex.read_the_ptx.check(read_the_ptx)

# %% [markdown]
# The last entries are worth a second look: float32 inputs, by default and with
# `input_precision="ieee"`, and int8.

# %%
print("float32 by default:", count(ptx(80, "fp32")))
print("float32 as ieee   :", count(ptx(80, "fp32", precision="ieee")))
print("int8              :", count(ptx(80, "i8")))

# %% [markdown]
# Why does hardly anybody write these instructions by hand? The arrangement of elements over lanes
# differs from one instruction to the next, and the tiles must arrive in it: from global memory in
# whole sectors, into shared memory without bank conflicts, out of it by an instruction of its own
# (`ldmatrix`), all while the tile before is being multiplied. A tensor core that waits has no
# advantage over an `fma`, and there are dozens of ways to make it wait. **cuBLAS** has these
# kernels, tuned for each GPU, for many shapes, for every transposition. A product by itself is best
# left to it. What it does not have is *your* next line.
#
# ## Who runs together
#
# A GPU runs a **wave** of programs at a time, as many as it has room for (lesson 05). Each needs a
# row of tiles of A and a column of tiles of B; call them *panels*. A panel that several programs of
# a wave need comes from device memory once, and from the L2 cache for all others. The number of
# *different* panels of a wave decides what DRAM has to deliver, and it depends on the order in
# which programs take their tiles:

# %%
pictures.order_of_programs()

# %% [markdown]
# The same programs, the same loads, the same result. Only `pid` is translated into another tile.
#
# The meter counts what programs ask for, which is the same for every order. To see the difference,
# the course has a model of the L2 cache: programs start in order, one on each SM, and go through
# the kernel in step; the cache holds sectors of 32 bytes and drops those that were not used for
# longest. For this exercise the GPU is small, so that your laptop can keep up: 16 SMs and 256 KiB
# of L2.
#
# *Predict:* M = N = 1024, K = 128, float16, tiles of 64 x 64, row after row. There are 256 tiles,
# so 16 waves. A panel has 64 * 128 elements. If nothing survives in L2 from one wave to the next,
# how many bytes come from DRAM?

# %% predict_dram
prediction = ...

# %%
from course.engine.triton.running.cache import through_l2


@triton.jit
def row_after_row(A, B, C, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) // (N // BN) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) % (N // BN) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        a = tl.load(A + rows[:, None] * K + steps[None, :])
        b = tl.load(B + steps[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(C + rows[:, None] * N + columns[None, :], total)


A = torch.randn(1024, 128).half()
B = torch.randn(128, 1024).half()
C = torch.empty(1024, 1024)
tiles = {"BM": 64, "BN": 64, "BK": 32}
seen = through_l2(
    row_after_row,
    (A, B, C, 1024, 128),
    (256,),
    tiles,
    capacity_bytes=256 << 10,
    multiprocessors=16,
)
compare(prediction, seen.dram_read_bytes, "bytes from DRAM")

# %%
print(f"asked for by programs: {seen.traffic.loads.sectors * 32:10,} bytes")
print(f"delivered by DRAM    : {seen.dram_read_bytes:10,} bytes")
print(f"the least            : {A.nbytes + B.nbytes:10,} bytes")

# %% [markdown]
# 16 waves of 17 panels of 16 KiB. L2 already halves what programs ask for, because the programs of
# a wave share. With a square of 4 x 4 tiles a wave it would be 8 panels.
#
# The usual trick is **grouped order**: take GROUP rows of tiles as a group, and walk through the
# group down its columns, GROUP tiles at a time. Then any 16 programs in a row are nearly a square.
# It costs a few divisions at the start of the kernel.
#
# ### Exercise: `grouped_order` (45 minutes)

# %%
ex.grouped_order

# %% grouped_order
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32
GROUP = 4  # rows of tiles in a group


@triton.jit
def tile_of(pid, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and the column of the tile that program pid computes."""
    ### BEGIN SOLUTION
    in_a_group = GROUP * tiles_n
    first = pid // in_a_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)  # the last group may be lower
    within = pid % in_a_group
    return first + within % height, within // height
    ### END SOLUTION


@triton.jit
def ordered_kernel(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    i, j = tile_of(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    rows = i * BM + tl.arange(0, BM)
    columns = j * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + rows[:, None] * N + columns[None, :], total, inside)


def grouped_order(A, B):  # A: (M, K) float16, B: (K, N) float16
    M, K = A.shape
    N = B.shape[1]
    C = torch.empty((M, N), dtype=torch.float32, device=A.device)
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    ordered_kernel[grid](A, B, C, M, N, K, BM, BN, BK, GROUP)
    return C  # (M, N) float32


# %% grouped_order_check
ex.grouped_order.check(grouped_order)

# %% [markdown]
# Try GROUP = 1, 2, 8 and 16 and read the line about DRAM. 2 x 8 tiles need 10 panels, 1 x 16 need
# 17, and so do 16 x 1.
#
# A real GPU is not in step, and its L2 is larger: 4 MB on a T4 with 40 SMs, tens of MB on an H200
# with 132. Whoever multiplies matrices that fit into L2 gains nothing from the order. For large
# ones the arithmetic is as above: 132 programs in a row need 133 panels, 11 rows of 12 need 23. At
# M = N = K = 8192 on an H200, `triton_matmul` runs at 231 TFLOP/s and `grouped_order` at 302.
#
# <details><summary>And the library's speed?</summary>
# <p>The same loop reaches it. Tiles of 128 x 256 and steps of 64 on eight warps load three eighths
# of what tiles of 64 x 64 load; groups of eight rows keep the panels in L2; and
# <code>num_stages=3</code> has the loads of the next two steps under way while one is multiplied.
# That product runs at 699 TFLOP/s for 4096, where cuBLAS has 766, and at 746 for 8192, where it has
# 751. On a T4 the same tile spills 31 KB a thread: what is fast on one GPU is a choice for that
# GPU. Change yours, the check takes any, and <code>ex.triton_matmul.gpus(triton_matmul)</code> says
# what it asks of seven GPUs.</p>
# </details>
#
# ## Before the store
#
# A layer of a network is not done with its product. A bias is added to each column and a bent
# function is applied, here **GELU**: h times the probability that a standard normal number is below
# h, which is h/2 * (1 + erf(h / sqrt 2)). With a product from a library, that is another kernel,
# which loads MN elements and stores MN.
#
# In your kernel the tile of `x @ w` lies in registers at the end of the loop. All that the bias and
# GELU need is there, so they cost a load of the bias, N elements for each row of tiles. Work that
# is done on a finished tile before it is stored is called an **epilogue**.
#
# *Predict:* M = N = 4096, everything between the two kernels in float32. How many MiB does the
# epilogue save, of loads and stores together?

# %% predict_epilogue
prediction = ...

# %%
compare(prediction, 2 * 4096 * 4096 * 4 / 2**20, "MiB")

# %% [markdown]
# Be careful with two things. The epilogue stands *behind* the loop: until K is done, a tile holds
# parts of sums, and GELU of a part means nothing. And types: `total` is float32, the bias float16.
# Their sum is float32 in Triton, as long as nobody rounds `total` to float16 first.
#
# ### Exercise: `matmul_epilogue` (40 minutes)

# %%
ex.matmul_epilogue

# %% matmul_epilogue
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gelu(h):
    return 0.5 * h * (1 + tl.erf(h * 0.7071067811865476))


@triton.jit
def epilogue_kernel(x, w, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ### BEGIN SOLUTION
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)  # read MNK/BN
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0.0)  # read MNK/BM
        total = tl.dot(a, b, total)
    added = tl.load(bias + columns, columns < N, 0.0)  # read N * cdiv(M, BM)
    result = gelu(total + added[None, :].to(tl.float32))
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], result, inside)  # write MN
    ### END SOLUTION


def matmul_epilogue(x, w, bias):  # x: (M, K), w: (K, N), bias: (N,), all float16
    ### BEGIN SOLUTION
    M, K = x.shape
    N = w.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    epilogue_kernel[grid](x, w, bias, out, M, N, K, BM, BN, BK)
    return out  # (M, N) float32
    ### END SOLUTION


# %% matmul_epilogue_check
ex.matmul_epilogue.check(matmul_epilogue)

# %% [markdown]
# <details><summary>Is it faster?</summary>
# <p>Not at this size, with these tiles. On an H200 with M = N = K = 4096 the solution takes 443 us,
# and eager PyTorch, cuBLAS and two small kernels, 246: cuBLAS's product is so much faster that it
# can afford the trips. The epilogue pays behind a product that is as good as the library's: with
# the tiles of the box above it takes 220 us, and eager PyTorch 246 in that run.</p>
# </details>
#
# <details><summary>Could cuBLAS not do that?</summary>
# <p>This one it can: cublasLt has a short list of epilogues, bias and GELU among them. A list is
# what a library can offer. The next exercise is on nobody's list.</p>
# </details>
#
# ## Two products, one store
#
# Now the layer of the beginning: `sigmoid(x @ w1 + b1) * (x @ w2 + b2)`. One product decides how
# much of the other is let through; it is the **gate**. Eager PyTorch makes six kernels of it.
#
# *Predict:* leave x, the weights and the biases aside. How many times MN elements do the six
# kernels read or write in all?

# %% predict_chain
prediction = ...

# %%
steps = {"x @ w1": 1, "+ b1": 2, "sigmoid": 2, "x @ w2": 1, "+ b2": 2, "multiply": 3}
compare(prediction, sum(steps.values()), "times MN")

# %%
pictures.chain_of_six()

# %% [markdown]
# One kernel with two accumulators stores MN, once. 11 become 1, and six launches become one.
#
# It is tempting to claim more: "and x is loaded once and not twice". Be honest about that. Two
# accumulators of 64 x 64 take the registers that a plain product would spend on one of 64 x 128,
# and the larger tile loads less. Compare at equal registers:

# %%
pictures.equal_registers()

# %% [markdown]
# The operand traffic is **the same**. What fusing saves here is what lay between the kernels, and
# nothing else. That has a consequence you can work out. Loads of operands grow with K, and the
# intermediates do not:

# %%
pictures.saved_by_fusing()

# %% [markdown]
# At K = 512 six kernels ask for 1.4 times the bytes of one, at K = 4096 for 1.05 times. The H200
# agrees in direction: the gated layer of the beginning (65,536 rows, K = N = 512) goes from 186
# TFLOP/s in eager PyTorch to 407 with torch.compile, which lets cuBLAS multiply and fuses the rest
# into one pass. With M = N = K = 4096 it goes from 518 to 648. (Whoever times several shapes calls
# `torch.compiler.reset()` before each: after eight it gives up, and eager code is timed.) In time
# the gain is larger than in requested bytes, because operands mostly come from L2 and intermediates
# from device memory. Your one kernel with tiles of 64 x 64 stands in between, at 319: it moves 1 MN
# where the compiled layer still moves 5, and its products are slower than cuBLAS's. With tiles of
# 128 x 128 that TMA brings it reaches 417, and a compiled layer that stores float32, as yours does,
# 372; at 4096 little of that is left, 725 to 701. So **fuse where K is small beside what happens
# around it**, and look for the fat before you write a kernel.
#
# ### Exercise: `gated_linear` (60 minutes, ★ core)

# %%
ex.gated_linear

# %% gated_linear
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 32


@triton.jit
def gated_kernel(
    x, w1, w2, b1, b2, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    gate = tl.zeros((BM, BN), tl.float32)
    value = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)  # read MNK/BN
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        at = steps[:, None] * N + columns[None, :]
        gate = tl.dot(a, tl.load(w1 + at, inside, 0.0), gate)  # read MNK/BM
        value = tl.dot(a, tl.load(w2 + at, inside, 0.0), value)  # read MNK/BM
    gate += tl.load(b1 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    value += tl.load(b2 + columns, columns < N, 0.0).to(tl.float32)[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, tl.sigmoid(gate) * value, inside)  # write MN
    ### END SOLUTION


def gated_linear(x, w1, w2, b1, b2):  # x: (M, K), w1, w2: (K, N), b1, b2: (N,), all float16
    ### BEGIN SOLUTION
    M, K = x.shape
    N = w1.shape[1]
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    gated_kernel[grid](x, w1, w2, b1, b2, out, M, N, K, BM, BN, BK)
    return out  # (M, N) float32
    ### END SOLUTION


# %% gated_linear_check
ex.gated_linear.check(gated_linear)

# %% [markdown]
# <details><summary>Why not 128 x 128 tiles here?</summary>
# <p>Two accumulators of 128 x 128 float32 are 128 KB, half of all registers of an SM, 256 for each
# thread of 4 warps where 255 are the most. With 8 warps it is 128 a thread, for
# the sums alone. 128 x 64 is a fair compromise.</p>
# </details>
#
# ## Bonus: weights of one byte
#
# When a language model writes text, M is small: a few requests, a token each. Then a product reads
# all of w, KN elements, for a handful of rows, and waits for memory. With enough programs at work
# bytes are time here, and the remedy is to store w in one byte an element: whole numbers from -127
# to 127, and for each column one float32 that says how much 1 is worth. That is **quantisation**;
# which numbers to choose is another art, and here they are given.
#
# The kernel loads int8 and turns the tile into float16 in registers, where it costs no byte. Every
# whole number up to 2,048 is exact in float16, so nothing is lost by that. Multiplied by the scale,
# it would no longer be exact.
#
# *Predict:* M = 16, N = K = 4096. The weights once in float16, or once in int8 with 4,096 scales of
# 4 bytes: how many times as many bytes are the first?

# %% predict_int8
prediction = ...

# %%
as_half, as_bytes = 4096 * 4096 * 2, 4096 * 4096 + 4096 * 4
compare(prediction, as_half / as_bytes, "times", tolerance=0.01)

# %% [markdown]
# A kernel that first writes the weights out in float16, for a product that reads them again, moves
# 1 + 2 + 2 bytes an element, more than if they had been float16 from the start.
#
# Fewer bytes take less time only if enough programs ask for them. A program for each strip of 64
# columns makes 64 programs of N = 4096, for 132 SMs, and each spends its time waiting for its next
# tile. Cut K into parts as well, 512 steps each: that is 512 programs, and each adds its share to
# out by atomics. On an H200, M = 16, in microseconds (`python -m tools.full_size`):
#
# | | N = K = 4096 | N = K = 8192 |
# |---|---|---|
# | float16 weights, cuBLAS | 17.6 | 46.8 |
# | int8, a program a strip | 41.3 | 78.5 |
# | int8, parts of 512 steps | 16.9 | 38.8 |
#
# Half the bytes are not half the time. What a weight needs on its way is more work than before: a
# tensor core wants neighbours along K, these weights have neighbours along N, and so threads fetch
# them from shared memory byte by byte. Libraries store such weights in the order that the tensor
# cores want.
#
# ### Exercise: `quantised_matmul` (bonus, 45 minutes)

# %%
ex.quantised_matmul

# %% quantised_matmul
import torch
import triton
import triton.language as tl

BN, BK = 64, 64
LENGTH = 512  # steps of K a part


@triton.jit
def quantised_kernel(
    x, w, scale, out, M, N, K, LENGTH, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    ### BEGIN SOLUTION
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    first = tl.program_id(1) * LENGTH
    end = tl.minimum(first + LENGTH, K)
    rows = tl.program_id(2) * BM + tl.arange(0, BM)  # all, where there are no more than 64
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)  # read MNK/BN
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(w + steps[:, None] * N + columns[None, :], inside, 0)  # read NK, a byte each
        total = tl.dot(a, b.to(tl.float16), total)  # exact: |b| is at most 127
    total *= tl.load(scale + columns, columns < N, 0.0)[None, :]  # read N a part
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(out + rows[:, None] * N + columns[None, :], total, inside)  # MN atomics a part
    ### END SOLUTION


def quantised_matmul(x, w, scale):  # x: (M, K) float16, w: (K, N) int8, scale: (N,) float32
    ### BEGIN SOLUTION
    M, K = x.shape
    N = w.shape[1]
    out = torch.zeros((M, N), dtype=torch.float32, device=x.device)
    rows = min(64, max(16, triton.next_power_of_2(M)))
    grid = (triton.cdiv(N, BN), triton.cdiv(K, LENGTH), triton.cdiv(M, 64))
    quantised_kernel[grid](x, w, scale, out, M, N, K, LENGTH, rows, BN, BK)
    return out  # (M, N) float32
    ### END SOLUTION


# %% quantised_matmul_check
ex.quantised_matmul.check(quantised_matmul)

# %% [markdown]
# ## Bonus: share the long axis
#
# C is 64 x 64 and K is 32,768: one tile, one program, and a GPU of which all other SMs look on.
# Where M and N are small and K is long, cut K into parts, with a program for each tile *and* part:

# %%
pictures.parts_of_k()

# %% [markdown]
# Each program has a part of the sums, so they must be added in global memory. That was the price of
# A-stationary in lesson 04: MN atomics for each part. How many parts? Enough for all SMs, an H200
# has 132 of them, and not so many that a part is only a few steps. C is 64 x 64 and K 65,536, in
# microseconds on an H200, where cuBLAS takes 14 (`python -m tools.full_size`):
#
# | parts | 1 | 16 | 64 | 128 | 200 |
# |---|---|---|---|---|---|
# | time | 730 | 59 | 25 | 19 | 22 |
#
# Atomics have one more price. Which part comes first differs from run to run, and float32 sums
# depend on their order: the last digits change. Where results have to repeat to the bit, write the
# parts to memory of their own, and let a second kernel add them in a fixed order. The budget admits
# both.
#
# *Predict:* M = N = 64, K = 32,768, 128 parts, 64 x 64 tiles. How many sectors do the atomics touch
# (C is float32)?

# %% predict_split
prediction = ...

# %%
compare(prediction, 128 * 64 * 64 * 4 / 32, "sectors of atomics")

# %% [markdown]
# The loads of A and B are 2 * 64 * 32,768 * 2 / 32 = 262,144 sectors, with and without parts: the
# atomics are a quarter of that.
#
# ### Exercise: `split_k` (bonus, 50 minutes)

# %%
ex.split_k

# %% split_k
import torch
import triton
import triton.language as tl

BM, BN, BK = 64, 64, 64
PARTS = 128  # programs that share a tile of C


@triton.jit
def part_kernel(A, B, C, M, N, K, length, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    first = tl.program_id(2) * length
    end = tl.minimum(first + length, K)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(first, end, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < M) & (steps[None, :] < end)
        a = tl.load(A + rows[:, None] * K + steps[None, :], inside, 0.0)  # read MNK/BN
        inside = (steps[:, None] < end) & (columns[None, :] < N)
        b = tl.load(B + steps[:, None] * N + columns[None, :], inside, 0.0)  # read MNK/BM
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], total, inside)  # PARTS * MN atomics
    ### END SOLUTION


def split_k(A, B):  # A: (M, K) float16, B: (K, N) float16
    ### BEGIN SOLUTION
    M, K = A.shape
    N = B.shape[1]
    C = torch.zeros((M, N), dtype=torch.float32, device=A.device)
    length = triton.cdiv(triton.cdiv(K, PARTS), BK) * BK  # of K, a part
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN), triton.cdiv(K, length))
    part_kernel[grid](A, B, C, M, N, K, length, BM, BN, BK)
    return C  # (M, N) float32
    ### END SOLUTION


# %% split_k_check
ex.split_k.check(split_k)

# %% [markdown]
# ## Explain
#
# A colleague has fused the gated layer and reports: "x is now read once and not twice, so operand
# traffic is down by a third, and my kernel will be faster for every shape." The kernel uses tiles
# of 64 x 64 with two accumulators, and it was compared with two plain matmuls that use 64 x 64
# tiles too. What is right in that, what is not, and for which shapes would you expect a gain? Use
# counts.

# %% [markdown] explain_fusion
# ### BEGIN SOLUTION
# With 64 x 64 tiles on both sides the count is right: two plain matmuls load 4 MNK/64 elements of
# operands, the fused kernel 3 MNK/64, a quarter (not a third) less. But the comparison is unfair. A
# plain matmul has one accumulator, so with the same registers it can use a tile of 64 x 128, and
# two of those load 3 MNK/64, the same as the fused kernel. What fusing does save are the
# intermediates, 11 MN elements moved in the six-kernel chain against 1 MN, and five launches. That
# does not depend on K, while the operands grow with K. So I expect a clear gain where K is small
# (at K = 512 the chain asks for (24 + 11) / (24 + 1) = 1.4 times the bytes) and next to none where
# K is in the thousands. There a library's better-tuned product may even win.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - How a column and a row of numbers make a **tile of addresses**, and what strides are for.
# - Why 16-bit products are added in 32 bits, and what **TF32** does to float32 inputs, where.
# - What a **launcher** is, and why the check lets it allocate but not compute.
# - What a **tensor core** does in one instruction, and what `mma`, `wgmma` and `fma` in PTX tell
#   about the GPU that a kernel was compiled for.
# - Why the **order of programs** changes what DRAM delivers, though nobody asks for less.
# - What an **epilogue** is; what fusing saves (what lies between kernels) and what it does not
#   (operands at equal registers); when it pays.
#
# ## Where this stands in real code
#
# - Triton's own matmul tutorial has grouped order under the name GROUP_SIZE_M, 8 rows of tiles in
#   all its configurations for NVIDIA's GPUs.
# - CUTLASS calls the parts *mainloop* and *epilogue*, and the order of programs *threadblock
#   swizzle*. An epilogue there is a tree of operations that the user composes.
# - torch.compile fuses what is element-wise into the kernel before or after it. With
#   `mode="max-autotune"` it may take a Triton template for the product and put your epilogue into
#   it.
# - SwiGLU, the layer of Llama and its kin, is your `gated_linear` with x * sigmoid(x) as its gate.
# - Weight-only int8 and int4 kernels are `quantised_matmul` with a scale for each group of 64 or
#   128 steps of K.
#
# Next: **10 attention**, two matrix products with a softmax between them, where the intermediate
# has N² elements.
