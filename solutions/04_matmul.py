# %% [markdown]
# # 04 Matrix multiplication
#
# To multiply two matrices of 4096 x 4096 floats takes 137 billion multiplications and additions.
# The three matrices together hold 192 MiB, which an H200 moves in 50 microseconds. Yet the first
# kernel that everybody writes asks for **256 GiB**, each input number two thousand times.
# **Where do the bytes go, and how few can they become?**
#
# Matrix products are where neural networks spend most of their arithmetic, and they differ from
# everything so far in one way: an input element is *used many times*. Lesson 03 has built the
# tool, a tile that stays on the chip. This lesson is about what to keep, where, and for how long.
# Plan two sittings, about five hours in all:
#
# | exercise | time |
# |---|---|
# | `matmul_naive` | 35 min |
# | `matmul_tiled` (★ core) | 80 min |
# | `matmul_coarse_1d` | 50 min |
# | `matmul_coarse` | 75 min |
# | `matmul_a_stationary` (bonus) | 50 min |

# %%
import numpy as np
from numba import cuda, float32

import course
from course import exercises as ex
from course.figures import matmul as pictures
from course.notebook.predict import compare

rng = np.random.default_rng(0)


def show(traffic):
    """Prints what a launch asked for, array by array, and the turns lost to banks."""
    for array, direction in traffic.arrays():
        sectors = traffic.sectors(array, direction)
        print(f"{direction:6} {array}: {sectors:10,} sectors  {sectors * 32:12,} bytes")
    print(f"extra turns for bank conflicts: {traffic.bank_conflicts:,}")


# %% [markdown]
# ## Who needs what
#
# For A of shape M x K and B of shape K x N, the product C has shape M x N, and
#
# `C[row, column] = A[row, 0] * B[0, column] + A[row, 1] * B[1, column] + ...`, K products in all.

# %%
pictures.row_times_column()

# %% [markdown]
# Count the work: M * N elements with K products each, so M * N * K multiply-adds, 2MNK operations.
# Count the data: MK + KN numbers to read and MN to write. For square matrices of size n that is
# 2n³ operations on 3n² numbers. Each element of A is needed by the N elements of one row of C,
# each element of B by M. Using a value again where it already is, without fetching it once more,
# is called **reuse**. Here there is reuse of order n, if only the value can stay somewhere.
#
# ## One thread an element
#
# The kernel that follows from the formula: one thread for each element of C, a loop over k, a sum
# in a register. What it asks for depends on which lane computes which element. At one step of the
# loop each lane needs one element of A and one of B:
#
# - lanes in the same row of C need the same `A[row, k]`: one sector for all of them;
# - lanes in neighbouring columns need neighbours in a row of B: 8 to a sector.
#
# In a block of 16 x 16 threads a warp is 2 rows of 16 columns. That makes 2 sectors of A and 2 of
# B a step.

# %%
pictures.warp_on_operands()

# %% [markdown]
# *Predict:* M = N = K = 128, blocks of 16 x 16. There are 128 * 128 / 32 = 512 warps. How many load
# sectors do they touch at *one* step of k? The kernel below does one step and no multiplication.

# %% predict_naive
prediction = ...


# %%
@cuda.jit
def one_step(A, B, C, k, swapped):
    x = cuda.threadIdx.x
    y = cuda.threadIdx.y
    if swapped:  # x counts rows
        row = cuda.blockIdx.y * 16 + x
        column = cuda.blockIdx.x * 16 + y
    else:  # x counts columns
        row = cuda.blockIdx.y * 16 + y
        column = cuda.blockIdx.x * 16 + x
    C[row, column] = A[row, k] + B[k, column]


A = rng.standard_normal((128, 128)).astype(np.float32)
B = rng.standard_normal((128, 128)).astype(np.float32)
C = np.zeros((128, 128), np.float32)

with course.measure() as traffic:
    one_step[(8, 8), (16, 16)](A, B, C, 0, False)

compare(prediction, traffic.loads.sectors, "load sectors")

# %%
show(traffic)
print(f"128 steps of loads: {128 * traffic.loads.sectors * 32:,} bytes")

# %% [markdown]
# 262,144 sectors in 128 steps, 8 MiB, for two matrices of 64 KiB each. Now exchange x and y: x
# counts rows, as in `C[x, y]`, which looks natural to many. The result is the same.
#
# *Predict:* a warp is now 16 rows of 2 columns. How many load sectors do all 512 warps touch at one
# step?

# %% predict_swapped
prediction = ...

# %%
with course.measure() as traffic:
    one_step[(8, 8), (16, 16)](A, B, C, 0, True)

compare(prediction, traffic.loads.sectors, "load sectors")

# %%
show(traffic)
print(f"128 steps of loads: {128 * traffic.loads.sectors:,} sectors")

# %% [markdown]
# 1,114,112 against 262,144: over four times as many, by one exchange of letters. And the stores
# of C went from 2,048 to 8,192 sectors. The rule of lesson 02 in one sentence: *x walks along the
# axis whose elements are neighbours in memory*, here the columns. Beside the others:

# %%
pictures.warp_on_operands(swapped=True)

# %% [markdown]
# ### Exercise: `matmul_naive` (35 minutes)
#
# Any M, N and K, and a block shape of your choice. The budget follows the block, 8, 16, 32 or 64
# wide; try several and compare.

# %%
ex.matmul_naive

# %% matmul_naive
from numba import cuda, float32

BX = 16  # threads along x: 8, 16, 32 or 64
BY = 16  # threads along y: 4, 8 or 16


@cuda.jit
def matmul_naive(A, B, C):  # A: (M, K), B: (K, N), C: (M, N)
    column, row = cuda.grid(2)
    ### BEGIN SOLUTION
    if row < C.shape[0] and column < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, column]  # read MNK/16 of A and of B: 2 sectors a warp each
        C[row, column] = total  # write MN
    ### END SOLUTION


# %% matmul_naive_check
ex.matmul_naive.check(matmul_naive)

# %% [markdown]
# <details><summary>Why is the sum kept in <code>total</code> and not in C?</summary>
# <p><code>C[row, column] += ...</code> in the loop stores to global memory K times. The compiler
# cannot keep C in a register for you: A, B and C might be the same memory, and then a store to C
# would change the next <code>A[row, k]</code>. It has to assume the worst, and a name of your own
# tells it better.</p>
# </details>
#
# ## What stays, and what passes by
#
# Every element of A is fetched by many warps, and each time the value is dropped after one step.
# A cache catches some of that; lesson 02 has shown how much and how little. The other way is to
# *decide* what stays on the chip. There are three things that could stay, and matmul designs are
# named after the one that does:

# %%
pictures.stationary()

# %% [markdown]
# Let each block own a tile of T x T elements, and count what moves in all, in elements:
#
# | what is held | loads of A | loads of B | C |
# |---|---|---|---|
# | C: **output-stationary** | MNK / T | MNK / T | MN, stored once |
# | A: **A-stationary** | MK, once | MNK / T | MNK / T, added by atomics |
# | B: **B-stationary** | MNK / T | KN, once | MNK / T, added by atomics |
#
# A tile of C needs all of K, so its block walks along K and the partial sums never leave the
# block. A tile of A is needed by a whole row of C tiles; its block walks along N and has only a
# part of each sum to offer. Other blocks hold the other parts, and so they must be added in global
# memory, with atomics: every element of C is added to K / T times. (An atomic reads and writes, and
# all of it happens in the L2 cache.) On a GPU output-stationary wins for nearly all shapes: what is
# held is what would be most costly to move. Other chips choose otherwise. In Google's TPU a tile
# of the weights, one of the two inputs, stands still in a grid of multipliers, and the rest flows
# past. You can measure A-stationary in the last exercise.
#
# ## Tiles
#
# So: a block for each tile of C. It walks along K in steps of T. In each step its threads load one
# tile of A and one of B into shared memory, one element of each a thread, and then every thread
# uses T elements of each. An element is fetched once and used T times.

# %%
pictures.tiles_along_k()

# %% [markdown]
# Per step the block loads 2T² elements and does T³ multiply-adds. For the whole product that
# makes **MNK (1/T + 1/T)** elements of loads: each doubling of T halves them.
#
# Two barriers stand in each step, and each has its own reason. Almost everybody forgets the second:

# %%
pictures.two_barriers()

# %% [markdown]
# *Predict:* M = N = K = 128, T = 16. How many load sectors?

# %% predict_tiled
prediction = ...

# %%
T = 16
compare(prediction, 128 * 128 * 128 * (1 / T + 1 / T) / 8, "load sectors")

# %% [markdown]
# That is an eighth of the naive kernel's. (The naive kernel is saved from the worst by its lanes:
# in a warp each sector of A and each of B already serves 16 of them.)
#
# Two things deserve care when M, N and K are not multiples of T:
#
# - **Zeros.** The last tile along K sticks out of A and B. A product with 0 adds nothing, so store
#   0 where no element exists, and the inner loop needs no guard.
# - **Nobody leaves early.** A thread whose element of C does not exist still has elements to load
#   for its neighbours. It takes part in everything and skips only the last store.
#
# ### Exercise: `matmul_tiled` (80 minutes, ★ core)

# %%
ex.matmul_tiled

# %% matmul_tiled
from numba import cuda, float32

T = 16  # 16 or 32


@cuda.jit
def matmul_tiled(A, B, C):  # A: (M, K), B: (K, N), C: (M, N)
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    ### BEGIN SOLUTION
    M, K = A.shape
    N = B.shape[1]
    total = float32(0)
    for start in range(0, K, T):
        inside = row < M and start + tx < K
        tile_a[ty, tx] = A[row, start + tx] if inside else float32(0)  # read MNK/T
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)  # read MNK/T
        cuda.syncthreads()  # both tiles are full
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()  # nobody needs them any more
    if row < M and column < N:
        C[row, column] = total  # write MN
    ### END SOLUTION


# %% matmul_tiled_check
ex.matmul_tiled.check(matmul_tiled)

# %% [markdown]
# <details><summary>Are there bank conflicts in the inner loop?</summary>
# <p>No. A warp is 2 rows of 16 columns. <code>tile_b[k, tx]</code> reads 16 neighbours, and both
# halves of the warp read the same ones: one turn. <code>tile_a[ty, k]</code> reads two different
# words for the whole warp, 16 words apart: two banks, one turn. Many lanes that read <em>one</em>
# word cost one turn; that is called a <strong>broadcast</strong>. A tile of B that is kept turned
# has its rows 16 words apart: 16 lanes meet in two banks, for eight turns. That costs points.</p>
# </details>
#
# ## What limits the tile?
#
# If doubling T halves the loads, why stop at 16? A T x T block has T * T threads, and 1,024 is the
# most: T = 32, with nothing left to gain. Shared memory would allow more: two tiles of 64 x 64
# floats are 32 KB. The limit is that each thread owns *one* output.
#
# And there is a second bottleneck. In each step of the inner loop a warp reads twice from shared
# memory, once from each tile, and shared memory answers one turn a clock: two clocks for one
# multiply-add of the warp. In two clocks the 128 arithmetic units of an H200's SM, four warps wide,
# could do multiply-adds for eight warps. Bytes from global memory are not the only bytes: the
# levels of lesson 00 go all the way down to the registers, and at each of them the remedy is the
# same. Keep what you use again.
#
# So give each thread several outputs, with their sums in registers. That is **thread coarsening**:

# %%
pictures.outputs_of_a_thread()

# %% [markdown]
# With four outputs in a column, a thread reads its element of B's tile once and uses it four
# times. The block of 256 threads now covers 64 x 16 elements of C, so that each tile of B serves 64
# rows and not 16.
#
# *Predict:* M = N = K = 128. A tile of C is 64 rows high and 16 columns wide. All of A is loaded
# once for each column of tiles, all of B once for each row of tiles. How many load sectors in all?

# %% predict_coarse_1d
prediction = ...

# %%
columns_of_tiles, rows_of_tiles = 128 // 16, 128 // 64
sectors_of_a_matrix = 128 * 128 // 8
sectors = (columns_of_tiles + rows_of_tiles) * sectors_of_a_matrix
compare(prediction, sectors, "load sectors")

# %% [markdown]
# Where do four sums live? In four names, or in a **local array**: `cuda.local.array(4, float32)`
# is an array that each thread has for itself. Its shape must be a constant, and it starts with
# garbage. The compiler keeps it in registers if it knows all its indices, as in a short loop with a
# constant number of turns, which it **unrolls**: it writes the turns out one after the other.
# Otherwise the array lies in memory, which is slow. (The meter counts no traffic for it.) Here four
# names are given. What a local array would cost is told below the exercise.
#
# Let thread (tx, ty) own the rows ty, ty + 16, ty + 32 and ty + 48 of the tile.
#
# ### Exercise: `matmul_coarse_1d` (50 minutes)

# %%
ex.matmul_coarse_1d

# %% matmul_coarse_1d
from numba import cuda, float32

T = 16  # threads along x and y, and the step along K
ROWS = 64  # rows of C a block


@cuda.jit
def matmul_coarse_1d(A, B, C):  # A: (M, K), B: (K, N), C: (M, N)
    tile_a = cuda.shared.array((ROWS, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    total_0 = total_1 = total_2 = total_3 = float32(0)
    ### BEGIN SOLUTION
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.y * ROWS
    column = cuda.blockIdx.x * T + tx
    for start in range(0, K, T):
        for i in range(4):
            r = ty + T * i
            inside = first + r < M and start + tx < K
            tile_a[r, tx] = A[first + r, start + tx] if inside else float32(0)  # read MNK/16
        inside = start + ty < K and column < N
        tile_b[ty, tx] = B[start + ty, column] if inside else float32(0)  # read MNK/64
        cuda.syncthreads()
        for k in range(T):
            b = tile_b[k, tx]
            total_0 += tile_a[ty, k] * b
            total_1 += tile_a[ty + T, k] * b
            total_2 += tile_a[ty + 2 * T, k] * b
            total_3 += tile_a[ty + 3 * T, k] * b
        cuda.syncthreads()
    row = first + ty
    if column < N:
        if row < M:
            C[row, column] = total_0  # write MN
        if row + T < M:
            C[row + T, column] = total_1
        if row + 2 * T < M:
            C[row + 2 * T, column] = total_2
        if row + 3 * T < M:
            C[row + 3 * T, column] = total_3
    ### END SOLUTION


# %% matmul_coarse_1d_check
ex.matmul_coarse_1d.check(matmul_coarse_1d)

# %% [markdown]
# <details><summary>Why four names, and not an array of four?</summary>
# <p>Because the compiler does better with them, and nothing that is counted here says so. On an
# H200, n = 2048 (<code>python -m tools.full_size</code>): <code>matmul_tiled</code> 8.0 TFLOP/s,
# four names 14.5, and with a local array and a loop over its four cells inside the loop over k 5.7,
# <em>less</em> than the kernel that asks for more bytes. Loads, shared reads and multiply-adds are
# the same. With four names the compiler unrolls the 16 steps of k and every address in the tiles is
# a constant: 64 multiply-adds in 146 instructions of PTX, NVIDIA's assembly language. With a loop
# inside the loop it stops at four steps, and computes each address anew: 16 multiply-adds in 136
# instructions, 99 of them on 64-bit integers. The loop over i that <em>loads</em> the tile is
# better a <code>range(4)</code> than a <code>range(ty, ROWS, T)</code> for the same reason: 8.9
# TFLOP/s with the second. Fewer bytes are faster only where bytes are what a kernel waits for.</p>
# </details>
#
# ## A patch a thread
#
# Coarsening along rows has repaired B. Coarsening along columns too repairs A: a 64 x 64 tile of
# C, 256 threads, a patch of 4 x 4 outputs a thread. At each k a thread reads 4 cells of A's tile
# and 4 of B's into registers and does 16 multiply-adds with them. From shared memory that is half
# a read for each multiply-add, four times less than at the start, and from global memory
# **MNK (1/64 + 1/64)**, a quarter of `matmul_tiled`.
#
# Which 16 outputs should a thread own? A patch of 4 x 4 neighbours is the first idea. Look at what
# the lanes of a warp store then:

# %%
pictures.patch_of_a_thread()

# %% [markdown]
# *Predict:* a 64 x 64 tile of C has 4,096 elements, 512 sectors. With patches of *neighbours*,
# columns 4 * tx + j, how many store sectors does the block ask for?

# %% predict_patch
prediction = ...


# %%
@cuda.jit
def store_a_tile(C, spread):
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    for i in range(4):
        for j in range(4):
            row = ty + 16 * i
            column = tx + 16 * j if spread else 4 * tx + j
            C[row, column] = float32(row + column)


with course.measure() as neighbours:
    store_a_tile[1, (16, 16)](C[:64, :64], False)
with course.measure() as spread:
    store_a_tile[1, (16, 16)](C[:64, :64], True)

compare(prediction, neighbours.stores.sectors, "store sectors")

# %%
print("columns 4 * tx + j :", neighbours.stores.sectors, "store sectors")
print("columns tx + 16 * j:", spread.stores.sectors, "store sectors")

# %% [markdown]
# So spread the patch: rows ty + 16 * i, columns tx + 16 * j. The reads of B's tile are free of bank
# conflicts for the same reason. (Libraries that do keep neighbours together store them 16 bytes
# at once, with vector instructions that Numba does not offer.)
#
# ### Exercise: `matmul_coarse` (75 minutes)
#
# The cell starts nearly empty. Build it on your `matmul_coarse_1d`, in this order: the loads of
# both tiles (each thread loads 4 elements of each), the 16 sums, the inner loop, the store.

# %%
ex.matmul_coarse

# %% matmul_coarse
from numba import cuda, float32

T = 16  # threads along x and y, and the step along K
TILE = 64  # rows and columns of C a block
EACH = 4  # outputs of a thread along each axis


@cuda.jit
def matmul_coarse(A, B, C):  # A: (M, K), B: (K, N), C: (M, N)
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((TILE, T), float32)
    tile_b = cuda.shared.array((T, TILE), float32)
    totals = cuda.local.array((EACH, EACH), float32)
    own_a = cuda.local.array(EACH, float32)
    own_b = cuda.local.array(EACH, float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    M, K = A.shape
    N = B.shape[1]
    top = cuda.blockIdx.y * TILE
    left = cuda.blockIdx.x * TILE
    for i in range(EACH):
        for j in range(EACH):
            totals[i, j] = 0
    for start in range(0, K, T):
        for i in range(EACH):
            r = ty + T * i
            inside = top + r < M and start + tx < K
            tile_a[r, tx] = A[top + r, start + tx] if inside else float32(0)  # read MNK/64
            c = tx + T * i
            inside = start + ty < K and left + c < N
            tile_b[ty, c] = B[start + ty, left + c] if inside else float32(0)  # read MNK/64
        cuda.syncthreads()
        for k in range(T):
            for i in range(EACH):
                own_a[i] = tile_a[ty + T * i, k]
                own_b[i] = tile_b[k, tx + T * i]
            for i in range(EACH):
                for j in range(EACH):
                    totals[i, j] += own_a[i] * own_b[j]
        cuda.syncthreads()
    for i in range(EACH):
        for j in range(EACH):
            row = top + ty + T * i
            column = left + tx + T * j
            if row < M and column < N:
                C[row, column] = totals[i, j]  # write MN
    ### END SOLUTION


# %% matmul_coarse_check
ex.matmul_coarse.check(matmul_coarse)

# %% [markdown]
# What the four kernels of this lesson ask for, by their formulas, for square matrices:

# %%
pictures.loads_of_each()

# %% [markdown]
# All four grow with n³, the least with n². At n = 4096 the naive kernel asks for 256 GiB, the
# last one for 8, and the least is 0.125. Fast libraries go on in the same direction: tiles of
# 128 x 256, loads that run while the tile before is multiplied, and **tensor cores**, units of an
# SM that multiply two small matrices in one instruction.
#
# How far is far enough? A step along K does T³ multiply-adds, 2T³ operations, for a tile of T x T
# outputs, and loads 2T² numbers of 4 bytes for them: **T/4 operations a byte**. The H200 can do
# 67 / 4.8, about 14 operations in the time of one byte from device memory, and a tile of 64 allows
# 16; caches help the smaller ones.
# Lesson 05 makes this comparison into a picture that fits every kernel, the roofline.

# %% [markdown]
# ## Bonus: hold A still
#
# To see what the other dataflow costs, write it. A block for each T x T tile of A, loaded once. It
# walks along N: load a tile of B, multiply, and *add* the T x T result to C with atomics. All
# K / T blocks that hold tiles of the same rows of A add to the same elements of C.
#
# *Predict:* M = N = K = 128, T = 16. How many sectors do the atomics touch?

# %% predict_stationary
prediction = ...

# %%
compare(prediction, 128 * 128 * (128 // 16) / 8, "sectors of atomics")

# %% [markdown]
# ### Exercise: `matmul_a_stationary` (bonus, 50 minutes)

# %%
ex.matmul_a_stationary

# %% matmul_a_stationary
from numba import cuda, float32

T = 16  # 16 or 32


@cuda.jit
def matmul_a_stationary(A, B, C):  # A: (M, K), B: (K, N), C: (M, N), zeros at the start
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    ### BEGIN SOLUTION
    M, K = A.shape
    N = B.shape[1]
    first = cuda.blockIdx.x * T  # this tile's place along K
    row = cuda.blockIdx.y * T + ty
    inside = row < M and first + tx < K
    tile_a[ty, tx] = A[row, first + tx] if inside else float32(0)  # read MK
    for start in range(0, N, T):
        column = start + tx
        inside = first + ty < K and column < N
        tile_b[ty, tx] = B[first + ty, column] if inside else float32(0)  # read MNK/T
        cuda.syncthreads()
        part = float32(0)
        for k in range(T):
            part += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if row < M and column < N:
            cuda.atomic.add(C, (row, column), part)  # MNK/T atomics
    ### END SOLUTION


# %% matmul_a_stationary_check
ex.matmul_a_stationary.check(matmul_a_stationary)

# %% [markdown]
# Compare with `matmul_tiled`, which asks for MNK/T + MNK/T loads and MN stores. Here A costs MK
# and not MNK/T, and in exchange MNK/T atomics took the place of MN stores. In requested bytes the
# two come out nearly even. But an atomic is the dearest of the three: it reads *and* writes in the
# L2 cache, and those of different blocks to one address wait for each other. And the sums are
# added in an order that changes from run to run, so the last digits do too.
#
# When is it worth it? When M and N are small and K is huge, there are too few tiles of C to keep
# the chip busy. Then K is cut into a few parts, each with its own blocks, and their results are
# added up: output-stationary within a part, with a few atomics at the end. That is called
# **split-K**, and lesson 09 has it as an exercise.

# %% [markdown]
# ## Explain
#
# A friend's tiled kernel uses tiles of 16 x 16 and wants to halve its loads. The friend considers
# (a) tiles of 32 x 32 with one output a thread, (b) tiles of 64 x 64 with 4 x 4 outputs a thread,
# and (c) loading B's tile transposed, "so that the inner loop walks along rows". For each, say what
# becomes of the loads from global memory, of the reads from shared memory for each multiply-add,
# and of the threads of a block. Which one would you choose?

# %% [markdown] explain_reuse
# ### BEGIN SOLUTION
# Loads from global memory are MNK(1/T + 1/T), so (a) halves them and (b) quarters them. In (a) each
# multiply-add still reads two words from shared memory, and a block has 1,024 threads, the most
# there is, so it ends there. In (b) a thread reads 4 + 4 words for 16 multiply-adds, half a word
# each, and a block has 256 threads. (c) changes neither count by itself: the same elements are
# loaded. But if lanes walk down B's columns to load it, a request touches 16 sectors, not 4, so
# the loads of B get four times as expensive, and the turned tile risks bank conflicts unless it
# is padded. I would choose (b): it saves at both levels, global and shared, and leaves room for
# more.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - What **reuse** is, why a matrix product has so much of it, and why the naive kernel drops it.
# - How the mapping of lanes to C decides between 4, 5 and 17 sectors a step.
# - **Output-stationary** and **A-stationary**: what is held, what passes by, where sums are added.
# - Why a tiled kernel loads MNK(1/T + 1/T) elements, and what each of its two barriers prevents.
# - **Thread coarsening**: several outputs a thread, what it saves in global and in shared memory,
#   and why a thread's outputs are spread out.
#
# ## Where this stands in real code
#
# - cuBLAS, NVIDIA's library of matrix products, and CUTLASS, its open kit for building them, cut
#   the work in the same three levels: a tile of C a block ("thread block tile"), a part of it a
#   warp ("warp tile"), a patch a thread or a tensor-core instruction. The loop over K with its
#   tiles is called the *mainloop*.
# - The second barrier is what *double buffering* removes: with two tiles for each operand, the
#   next one is loaded while this one is in use. `num_stages` in Triton says how many tiles.
# - `tl.dot` in Triton (lesson 09) multiplies two tiles. Which element lies in which thread's
#   registers, the padding or swizzle and the barriers are the compiler's business there.
# - FlashAttention (lesson 10) is output-stationary too: a tile of the output stays, and tiles of
#   two of its inputs pass by.
#
# Next: **05 roofline**, which tells from two numbers whether a kernel waits for bytes or for
# arithmetic.
