# %% [markdown]
# # 03 Shared memory and reductions
#
# A transpose computes nothing. Each number is read once and written once, somewhere else. Yet the
# obvious kernel for it asks memory to move four and a half times as many bytes as it needs to, and
# no choice of who-does-what repairs that: if neighbouring lanes read neighbours, they write far
# apart. **Where could the numbers wait while they change their order?**
#
# And a second question. A block of 256 threads holds 256 numbers, one in each thread, in registers
# of its own. **How do 256 numbers become one sum without a trip to memory, and in 8 steps, not
# 255?**
#
# One thing answers both: a small memory on the chip that the threads of a block share. The lesson
# has two halves, one for each question. Each is a lesson of its own length: do them on different
# days. You can go on to lesson 04 after the first one; its bonus alone needs the second.
#
# | half | exercises | time |
# |---|---|---|
# | 1, tiles | `shared_reverse`, `transpose` (★ core), `transpose_padded`, `stencil_halo` | 2 h |
# | 2, sums | `block_sum`, `row_sum`, `dot` (★ core), `dot_any_block`, `warp_sum` | 2 h 50 |
# | 2, repairs | `five_mistakes`, `debug_threads` | 1 h 15 |
# | bonus | `prefix_sum`, `histogram` | 1 h 25 |

# %%
import numpy as np
from numba import cuda, float32

import course
from course import exercises as ex
from course.figures import shared_memory as pictures
from course.notebook.any_order import in_any_order
from course.notebook.listing import listing
from course.notebook.predict import compare


def show(traffic):
    """Prints what a launch asked for: requests, sectors, bytes, and turns lost to banks."""
    print("          requests   sectors     bytes")
    for name in ("loads", "stores", "atomics"):
        total = getattr(traffic, name)
        if total.sectors:
            print(f"{name:8}  {total.requests:8,}  {total.sectors:8,}  {total.sectors * 32:8,}")
    print(f"extra turns for bank conflicts: {traffic.bank_conflicts:,}")


# %% [markdown]
# # First half: tiles
#
# ## A memory for each block
#
# The arrays that a kernel gets lie in device memory, and every thread of the grid can reach them.
# Seen from a kernel, that is **global memory**. **Shared memory** is a small memory on the chip,
# beside the arithmetic units of an SM. While a block runs, a piece of it belongs to that block:
# every thread of the block can read and write it, threads of other blocks cannot see it, and when
# the block ends, its contents are gone.

# %%
pictures.one_tile_a_block()

# %% [markdown]
# On the H200 of lesson 00 it answers in 21 nanoseconds, device memory in 386, and all of the
# chip's shared memories together deliver 32.5 TB a second, device memory 4.2. Its size is the
# price: an SM has 228 KB of it for all the blocks that run there at the same time (64 KB on a T4),
# and a block gets 48 KB without special measures. That is room for 12,288 float32.
#
# In Numba a block's piece is declared inside the kernel:
#
# ```python
# tile = cuda.shared.array(128, float32)        # 128 floats, one array for the whole block
# tile = cuda.shared.array((32, 33), float32)   # 32 rows of 33
# ```
#
# Each thread runs this line, and all threads of a block get the same array. Its shape must be a
# constant that is known when the kernel is compiled: a number, or a name such as `TPB` that the
# cell sets to one. (Numba does not take arithmetic with names there. Write `WIDE = TPB + 6` at the
# top of the cell, and then `WIDE`.) The array starts with garbage, whatever the last block left
# there.
#
# An array that holds a tile, a piece of a larger array (lesson 02), is itself called a **tile**,
# and its elements are *cells*. The pattern of this lesson is always the same: *load* a tile from
# global memory with neighbouring lanes on neighbouring addresses, *wait* until it is full, and then
# *use* it in any order you like. The order in which shared memory is read costs no sectors. The
# next kernel gives each thread the element of its right neighbour, and the last thread of a block
# that of the first.


# %%
@cuda.jit
def rotate(a, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    cuda.syncthreads()
    out[i] = tile[(t + 1) % 128]


a = np.arange(512, dtype=np.float32)
out = np.zeros_like(a)

# %% [markdown]
# *Predict:* 4 blocks of 128 threads, 512 floats. How many sectors do the loads of `rotate` touch?
# Write the number here before you run the cell after it.

# %% predict_rotate
prediction = ...

# %%
with course.measure() as traffic:
    rotate[4, 128](a, out)

compare(prediction, traffic.loads.sectors, "load sectors")

# %%
show(traffic)
print("out[126:130] =", out[126:130], " shared memory of a block:", traffic.shared_bytes, "bytes")

# %% [markdown]
# Each element came once and went once, by whole sectors. The accesses to `tile` are not in the
# table: they never leave the chip. (Bank conflicts come later in this lesson.)
#
# ## Waiting for each other
#
# One line of `rotate` is new: `cuda.syncthreads()`. The threads of a block do not run in step.
# The hardware runs them a warp at a time and switches between warps as it likes: warp 0 may be at
# the end of the kernel before warp 3 has begun. In `rotate`, thread 31 reads `tile[32]`, which a
# thread of another warp stores. In the picture, warp 0 needs the cells that warp 3 stores:

# %%
pictures.race_and_barrier()

# %% [markdown]
# When one thread writes a cell and another one reads or writes it, and nothing decides which comes
# first, that is a **race**. The result depends on chance: often right, sometimes wrong, wrong more
# often on another GPU or with another block size. A race is a mistake also when the result happens
# to be right.
#
# A **barrier** decides. At `cuda.syncthreads()` each thread of the block waits until all threads
# of the block have arrived, and what any of them stored before the barrier is seen by all of them
# after it. It orders the threads of one block, and of no other.
#
# Here is `rotate` without its barrier. This course runs kernels in its own order, so it does not
# wait for bad luck: it looks for two accesses to a cell with no barrier between them.


# %%
@cuda.jit
def rotate_too_early(a, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = a[i]
    out[i] = tile[(t + 1) % 128]


try:
    with course.measure():
        rotate_too_early[4, 128](a, out)
except course.KernelFault as fault:
    print(fault)

# %% [markdown]
# Two threads of one warp are named there, and that is no accident. Many texts say that the 32
# lanes of a warp run in lockstep, so that a warp needs no barrier. That was true once. Since 2017
# (Volta) each lane has its own place in the program, and CUDA does not promise that lanes stay
# together. The course holds you to the promise, not to the habit.
#
# ### Exercise: `shared_reverse` (20 minutes)
#
# Reverse each slice of 128 elements *in place*: there is one array, and every element has to be
# read before another one is stored over it.

# %%
pictures.reverse_in_a_tile()

# %%
ex.shared_reverse

# %% shared_reverse
from numba import cuda, float32

REVERSED = 128


@cuda.jit
def shared_reverse(a):  # a: (B * 128,), B blocks of 128 threads
    tile = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    ### BEGIN SOLUTION
    tile[t] = a[i]  # read N
    cuda.syncthreads()
    a[i] = tile[REVERSED - 1 - t]  # write N
    ### END SOLUTION


# %% shared_reverse_check
ex.shared_reverse.check(shared_reverse)

# %% [markdown]
# <details><summary>Is shared memory needed here at all?</summary>
# <p>No. A register and a barrier do as well: <code>x = a[mirror]</code>,
# <code>cuda.syncthreads()</code>, <code>a[i] = x</code>. A barrier orders a block's accesses to
# global memory too. And half the threads could each swap one pair. Both pass the check. Shared
# memory is needed as soon as an element is used by more than one thread, or when the order that is
# good for loading is bad for storing. The next exercise is such a case.</p>
# </details>
#
# ## Turning a matrix
#
# The transpose of an M x N matrix A is the N x M matrix B with `B[x, y] = A[y, x]`. The direct
# kernel has one line. In it neighbouring lanes differ in `column`, so they read neighbours in a
# row of A, and write to neighbouring *rows* of B.


# %%
@cuda.jit
def direct(A, B):
    column, row = cuda.grid(2)
    if row < A.shape[0] and column < A.shape[1]:
        B[column, row] = A[row, column]


A = np.arange(128 * 128, dtype=np.float32).reshape(128, 128)
B = np.zeros((128, 128), np.float32)

# %% [markdown]
# *Predict:* A is 128 x 128, blocks are 32 x 32, so that a warp is 32 lanes of one row. The loads
# touch 128 * 128 / 8 = 2,048 sectors. How many do the *stores* touch?

# %% predict_direct
prediction = ...

# %%
with course.measure() as traffic:
    direct[(4, 4), (32, 32)](A, B)

compare(prediction, traffic.stores.sectors, "store sectors")

# %%
show(traffic)

# %% [markdown]
# Each lane of a store writes 4 bytes of a sector of its own. If you swap the roles of x and y the
# stores become good and the loads bad. Through a tile both can be good:

# %%
pictures.tile_turn()

# %% [markdown]
# Read the picture from left to right. The block with indices (3, 1) *loads* its tile along rows of
# A. After the barrier, the tile is *read along its columns*, which costs no sectors. The place
# where it goes in B has the two block indices exchanged, and within that tile the lanes again walk
# along a row. Thread (tx, ty) loads one element and stores another one: the one that thread
# (ty, tx) has loaded.
#
# The edges need care. A tile at the edge of A may stick out of A, and its image sticks out of B at
# another side. So the load is guarded by the shape of A, the store by the shape of B, and a thread
# that has nothing to load may still have something to store.
#
# ### Exercise: `transpose` (45 minutes, ★ core)

# %%
ex.transpose

# %% transpose
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose(A, B):  # A: (M, N), B: (N, M)
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    ### BEGIN SOLUTION
    row = cuda.blockIdx.y * TILE + ty
    column = cuda.blockIdx.x * TILE + tx
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]  # read MN
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]  # write MN
    ### END SOLUTION


# %% transpose_check
ex.transpose.check(transpose)

# %% [markdown]
# ## Banks
#
# Shared memory delivers many words at once because it is built from 32 **banks**, one beside the
# other. A word is 4 bytes, and consecutive words lie in consecutive banks: float number w of a
# shared array lies in bank w % 32. In one turn each bank answers for *one* word. When the 32 lanes
# of a request touch words in different banks, or several lanes the same word, one turn is enough.
# When they touch different words of one bank, that bank needs a turn for each of them and the warp
# waits. That is a **bank conflict**. (NVIDIA's profiler calls a turn a *wavefront*.)
#
# In a tile of 32 x 32 floats, the cells of a row lie in 32 banks. And the cells of a column?

# %%
pictures.banks(32, told=False)

# %% [markdown]
# *Predict:* the kernel below turns one tile of 32 x 32 with 1,024 threads, 32 warps. Each warp
# reads one column. How many turns *more* than needed does that take, over all warps?

# %% predict_banks
prediction = ...


# %%
@cuda.jit
def turn_one_tile(A, B):
    tile = cuda.shared.array((32, 32), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tile[ty, tx] = A[ty, tx]
    cuda.syncthreads()
    B[ty, tx] = tile[tx, ty]


with course.measure() as traffic:
    turn_one_tile[1, (32, 32)](A[:32, :32], B[:32, :32])

compare(prediction, traffic.bank_conflicts, "extra turns")

# %%
show(traffic)

# %% [markdown]
# The sectors are in order, and still every read of the tile takes 32 turns. The remedy is an old
# trick and costs 128 bytes: declare the rows one float longer than they need to be. The cells of
# a column then lie 33 words apart, and 33 words on is one bank on:

# %%
pictures.banks(33)

# %% [markdown]
# The added cells are never used. They are called **padding**.
#
# ### Exercise: `transpose_padded` (15 minutes)
#
# Copy your transpose and make its reads of the tile conflict-free. Here the tile is always 32 wide.

# %%
ex.transpose_padded

# %% transpose_padded
from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose_padded(A, B):  # A: (M, N), B: (N, M)
    ### BEGIN SOLUTION
    tile = cuda.shared.array((TILE, 33), float32)  # cell (r, c) is in bank (33 r + c) % 32
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    column = cuda.blockIdx.x * TILE + tx
    if row < A.shape[0] and column < A.shape[1]:
        tile[ty, tx] = A[row, column]  # read MN
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    column = cuda.blockIdx.y * TILE + tx
    if row < B.shape[0] and column < B.shape[1]:
        B[row, column] = tile[tx, ty]  # write MN
    ### END SOLUTION


# %% transpose_padded_check
ex.transpose_padded.check(transpose_padded)

# %% [markdown]
# <details><summary>Without padding: the swizzle</summary>
# <p>There is a second way that needs no room: store cell (ty, tx) at column <code>tx ^ ty</code>
# (bitwise exclusive or) and read it at column <code>ty ^ tx</code> of row <code>tx</code>. Each
# row is permuted in its own way, and both rows and columns meet 32 different banks. This is called
# a <strong>swizzle</strong>; the fast matrix kernels use it because a padded row breaks the
# alignment that their wide copies want. Try it: the check passes it.</p>
# </details>
#
# ## Neighbours: a tile with a halo
#
# Filters, smoothing, finite differences and convolutions compute each output from a *window* of
# neighbouring inputs. Such an operation is called a **stencil**. Take the sum of seven:
# `out[i] = a[i-3] + ... + a[i+3]`. Written directly, each thread loads seven elements, and each
# element is loaded by seven threads.
#
# *Predict:* one warp in the middle of a long array, whose lane 0 stands at the start of a sector,
# runs these seven loads. How many sectors do they touch together? (Lesson 02: the first load
# starts 12 bytes before a sector's start.)

# %% predict_stencil
prediction = ...


# %%
@cuda.jit
def seven_loads(a, out):
    i = 64 + cuda.grid(1)
    total = float32(0)
    for k in range(-3, 4):
        total += a[i + k]
    out[i] = total


a = np.random.default_rng(0).standard_normal(512).astype(np.float32)
out = np.zeros_like(a)
with course.measure() as traffic:
    seven_loads[1, 32](a, out)

compare(prediction, traffic.loads.sectors, "load sectors")

# %%
show(traffic)

# %% [markdown]
# The 32 windows together cover 38 elements, in 6 sectors. A cache will answer most of the 34, but
# it has to be asked each time. With a tile, each element is asked for once, almost: the windows of
# the first and of the last threads reach beyond the block's own elements. That margin is called
# the **halo**.

# %%
pictures.halo()

# %% [markdown]
# A block of TPB threads needs TPB + 6 elements: every thread loads one, and some load two. At the
# two ends of the array a part of the halo does not exist. There the tile must hold 0, *stored* by
# someone: a cell that nobody wrote holds garbage, and the check calls reading it UNINITIALISED.
# An index below 0 is a fault here, as in lesson 01: `a[-1]` never means the last element.
#
# One thing about numbers, for this and all later sums: `0.0` is a float64 in Numba, and a sum that
# starts from it is computed in float64, which is 2 to 64 times slower on a GPU, depending on the
# model. Start from `float32(0)`.
#
# ### Exercise: `stencil_halo` (40 minutes)

# %%
ex.stencil_halo

# %% stencil_halo
from numba import cuda, float32

TPB = 256
RADIUS = 3
WITH_HALO = TPB + 2 * RADIUS


@cuda.jit
def stencil_halo(a, out):  # a, out: (N,)
    tile = cuda.shared.array(WITH_HALO, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    ### BEGIN SOLUTION
    tile[t + RADIUS] = a[i] if i < a.size else float32(0)  # read N
    if t < RADIUS:  # read 2 sectors a block: the halo
        tile[t] = a[i - RADIUS] if i >= RADIUS else float32(0)
        tile[t + RADIUS + TPB] = a[i + TPB] if i + TPB < a.size else float32(0)
    cuda.syncthreads()
    if i < a.size:
        total = float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k]
        out[i] = total  # write N
    ### END SOLUTION


# %% stencil_halo_check
ex.stencil_halo.check(stencil_halo)

# %% [markdown]
# That is the first half. You can explain now:
#
# - What **shared memory** is, who sees it, how large it is, and the pattern *load, wait, use*.
# - What a **race** is, and what a **barrier** orders and what it does not.
# - Why a direct transpose asks for 4.5 times its bytes, and how a **tile** repairs that.
# - What **banks** and **bank conflicts** are, and what one float of **padding** does.
# - Why a **stencil** needs a **halo**, and who fills it.
#
# This is a good place to stop for a day.

# %% [markdown]
# # Second half: sums
#
# (If you begin here with a fresh kernel, run the cell at the top of the notebook first.)
#
# ## Many numbers become one
#
# This half is about **reductions**: many values, one result. A sum, a maximum, a mean, the norm of
# a vector, the denominator of a softmax.
#
# Suppose a block has 256 numbers in a tile. If thread 0 adds them up, that takes 255 additions one
# after the other, while 255 threads wait. But the numbers may be added in another order: let 128
# threads each add *one* number of the upper half to one of the lower half, all at the same time.
# 128 numbers are left. Then 64 threads, then 32, ... After 8 steps one number is left. This is a
# **tree reduction**. It does the same 255 additions, 8 deep.

# %%
pictures.tree()

# %% [markdown]
# In every step threads read what *other* threads have written in the step before. So there is a
# barrier between the steps, and it has to stand in the right place. This is the wrong one:

# %%
pictures.barrier_inside_an_if()

# %% [markdown]
# A barrier that some threads of a block reach and others pass by is **barrier divergence**. On a
# GPU the kernel hangs, or, worse, it goes on and gives garbage. Put the *work* under the `if` and
# the *barrier* outside it. (A thread that has returned from the kernel is not waited for. But it
# does no work either: mind the cells that it should have filled.)
#
# *Predict:* the kernel below adds up 256 numbers with one thread. The meter counts the operations
# of the longest warp: each operator, call and element (`tile[k]`) of a line counts one, each time a
# warp runs the line; a `for` counts once for the whole loop. How many are they here? An estimate to
# a tenth is enough. And how many would a tree of 8 steps need?

# %% predict_serial
prediction = ...


# %%
@cuda.jit
def one_thread_adds(a, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(256):
            total += tile[k]
        out[0] = total


a, out = np.ones(256, np.float32), np.zeros(1, np.float32)
with course.measure() as traffic:
    one_thread_adds[1, 256](a, out)

compare(prediction, traffic.longest_warp, "operations", tolerance=0.1)

# %%
show(traffic)

# %% [markdown]
# The loads are those of an honest kernel. A check that looked at bytes alone would see nothing
# wrong, so every check also compares the longest warp with an **even share**, what each lane would
# do if all shared the work: TOO_SERIAL. The check of the next exercise prints the operations of
# your tree's longest warp; compare them with the number above.
#
# ### Exercise: `block_sum` (40 minutes)
#
# Each block adds up its slice of 256 elements. The last slice may be shorter.

# %%
ex.block_sum

# %% block_sum
from numba import cuda, float32

TPB = 256


@cuda.jit
def block_sum(a, out):  # a: (N,), out: one number a block
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    ### BEGIN SOLUTION
    tile[t] = a[i] if i < a.size else float32(0)  # read N
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]  # write 1 a block: a sector each
    ### END SOLUTION


# %% block_sum_check
ex.block_sum.check(block_sum)

# %% [markdown]
# <details><summary>Why do two threads that run <code>tile[t] += tile[t + s]</code> not
# race?</summary>
# <p>In one step the threads below s write the cells below s, each its own, and read the cells from
# s to 2s - 1, which nobody writes in this step. A cell is written by one thread, and read by
# another one only after the next barrier. If you halve <em>after</em> the <code>if</code> and
# before the barrier, nothing changes: <code>s</code> is a register, and every thread has its
# own.</p>
# </details>
#
# ## A warp a row
#
# Now sum each row of a matrix. One thread a row is the first idea, and lesson 02 has shown what it
# costs: in each step the lanes of a warp stand in 32 different rows.

# %%
pictures.rows_and_warps()

# %% [markdown]
# *Predict:* a matrix of 100 x 64 floats, summed once by a thread a row and once by a warp a row. A
# row has 256 bytes, 8 sectors. How many load sectors does the *thread a row* ask for, all 128
# threads of its block together?

# %% predict_rows
prediction = ...


# %%
@cuda.jit
def thread_a_row(a, out):
    row = cuda.grid(1)
    if row < a.shape[0]:
        total = float32(0)
        for j in range(a.shape[1]):
            total += a[row, j]
        out[row] = total


matrix = np.ones((100, 64), np.float32)
sums = np.zeros(100, np.float32)
with course.measure() as traffic:
    thread_a_row[1, 128](matrix, sums)

compare(prediction, traffic.loads.sectors, "load sectors")

# %%
show(traffic)

# %% [markdown]
# 100 lanes with a row, 64 steps, a sector each; the 28 lanes without a row ask for nothing. A warp
# a row asks for 100 * 8 = 800: each sector once. Lane l takes the elements l, l + 32, l + 64, ...
# of its row and keeps one sum in a register, so that in each step the warp reads 32 neighbours. At
# the end each lane has a sum, and 32 sums become one by a tree of 5 steps in a shared array, in
# which every warp uses its own 32 cells.
#
# Lanes of one warp need a barrier between the steps too (remember Volta). `cuda.syncthreads()`
# will do, as long as *every* warp of the block passes it, also a warp whose row does not exist.
# There is a smaller barrier as well: **`cuda.syncwarp()`** makes the lanes of one warp wait for
# each other, and for nobody else.
#
# ### Exercise: `row_sum` (35 minutes)

# %%
ex.row_sum

# %% row_sum
from numba import cuda, float32

TPB = 256


@cuda.jit
def row_sum(a, out):  # a: (M, N), out: (M,)
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.grid(1) // 32  # the number of this warp in the whole grid
    lane = t % 32
    ### BEGIN SOLUTION
    total = float32(0)
    if row < a.shape[0]:
        for j in range(lane, a.shape[1], 32):
            total += a[row, j]  # read MN
    cache[t] = total
    cuda.syncwarp()
    s = 16
    while s > 0:
        if lane < s:
            cache[t] += cache[t + s]
        cuda.syncwarp()
        s //= 2
    if lane == 0 and row < a.shape[0]:
        out[row] = cache[t]  # write M: a sector each
    ### END SOLUTION


# %% row_sum_check
ex.row_sum.check(row_sum)

# %% [markdown]
# ## The dot product
#
# Now everything comes together. The dot product of two vectors is the sum of `a[i] * b[i]` over
# all i, for vectors of any length, with a grid of fixed size. Three stages:

# %%
pictures.dot_in_three_stages()

# %% [markdown]
# 1. **In registers.** Each thread adds up its products in a grid-stride loop (lesson 01):
#    `for i in range(cuda.grid(1), a.size, cuda.gridsize(1))`.
# 2. **In shared memory.** Each block adds up its threads' sums with a tree.
# 3. **On the host.** `cuda.syncthreads()` does not reach across blocks, so each block leaves one
#    number in `partial`, and the host adds up those few.
#
# Why not let every thread add its sum to one place in global memory? As an ordinary `+=` that is
# a race: two threads read the old value, both add, and one of the two additions is lost. CUDA has
# an operation for it: **`cuda.atomic.add(array, index, value)`** reads, adds and writes in one
# indivisible step. An operation of that kind is called an **atomic**. Atomics are right, and they
# have a price. Each one goes all the way to the L2 cache, where additions to one address happen one
# after the other. And a sector on its way there carries at most one update of each of its elements:
# when the 32 lanes of a warp add to *one* element, they send 32 sectors.
#
# *Predict:* 16 blocks of 256 threads; each thread does one atomic addition, all threads of a block
# to the same element of `partial`. How many sectors do the atomics touch in all?

# %% predict_atomics
prediction = ...


# %%
@cuda.jit
def an_atomic_a_thread(a, b, partial):
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]
    cuda.atomic.add(partial, cuda.blockIdx.x, total)


rng = np.random.default_rng(1)
a = rng.standard_normal(20_000).astype(np.float32)
b = rng.standard_normal(20_000).astype(np.float32)
partial = np.zeros(16, np.float32)
with course.measure() as traffic:
    an_atomic_a_thread[16, 256](a, b, partial)

compare(prediction, traffic.atomics.sectors, "sectors of atomics")

# %%
show(traffic)

# %% [markdown]
# Nearly as many sectors as the loads of both vectors, for 4,096 additions that the L2 cache has to
# do in 16 queues. With a tree in shared memory first, one number a block is left. You may store
# it, or add it with one atomic a block: both are honest, and the check allows both.
#
# ### Exercise: `dot` (45 minutes, ★ core)

# %%
ex.dot

# %% dot
from numba import cuda, float32

TPB = 256  # a power of two from 256 to 1024
BLOCKS = 16  # 8, 16 or 32


@cuda.jit
def dot(a, b, partial):  # a, b: (N,), partial: (BLOCKS,), zeros at the start
    cache = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    ### BEGIN SOLUTION
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]  # read 2N
    cache[t] = total
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            cache[t] += cache[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]  # write 1 a block: a sector each
    ### END SOLUTION


# %% dot_check
ex.dot.check(dot)

# %% [markdown]
# **A float sum depends on its order.** Your sum and NumPy's differ in the last digits, since
# `(x + y) + z` and `x + (y + z)` are rounded differently. Neither is *the* right one; a tree is
# even a little more accurate than adding one by one. The check compares with a float64 reference
# and allows 1e-5 of the sum of all |a[i] * b[i]|. With atomics the order changes from run to run,
# and so may the last digits. That is one reason why some libraries avoid them.
#
# <details><summary>Is a grid of 16 blocks fast?</summary>
# <p>No: 16 blocks occupy 16 of an H200's 132 SMs. The grids of this lesson are small because its
# arrays are, so that a check does not keep you waiting. At 67 million elements the same kernel
# moves 237 GB/s with 16 blocks and 4,049 with 1,056, eight for each SM; <code>histogram</code>
# below moves 62 GB/s with its 8 blocks and 2,931 with 1,056 (<code>python -m
# tools.full_size</code>). The kernel does not change: that is what a grid-stride loop is for.</p>
# </details>
#
# ## Blocks of other sizes
#
# Halving works because 256 is a power of two. What happens in a block of 96 threads?

# %%
pictures.odd_halving(96)

# %% [markdown]
# This mistake is an unpleasant one: no fault, no warning, and a result that is nearly right. Two
# remedies are common. Round the half *up* and add only cells that exist. Or start at the next
# power of two and guard the second cell. In both, ask of every step: which cells are left, and is
# each of them added exactly once?
#
# ### Exercise: `dot_any_block` (25 minutes)
#
# The check launches your kernel with blocks of different sizes, 96 and 192 among them. Read the
# size from `cuda.blockDim.x`. A shared array's shape must be a constant, so make it large enough
# for all of them, or use **dynamic shared memory**: `cuda.shared.array(0, float32)` gets the size
# that the launch names as its fourth argument, `kernel[grid, block, stream, bytes]`. (A `stream` is
# a queue of launches; 0 is the usual one.)

# %%
ex.dot_any_block

# %% dot_any_block
from numba import cuda, float32

MOST = 256  # threads of the largest block


@cuda.jit
def dot_any_block(a, b, partial):  # a, b: (N,), partial: (8,), zeros at the start
    cache = cuda.shared.array(MOST, float32)
    t = cuda.threadIdx.x
    ### BEGIN SOLUTION
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i] * b[i]  # read 2N
    cache[t] = total
    cuda.syncthreads()
    n = cuda.blockDim.x  # cells that are left
    while n > 1:
        half = (n + 1) // 2
        if t + half < n:
            cache[t] += cache[t + half]
        cuda.syncthreads()
        n = half
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]  # write 1 a block: a sector each
    ### END SOLUTION


# %% dot_any_block_check
ex.dot_any_block.check(dot_any_block)

# %% [markdown]
# ## Lanes that talk to each other
#
# Within a warp there is a shorter way than through shared memory. A **shuffle** lets each lane
# read a *register* of another lane of its warp:
#
# ```python
# y = cuda.shfl_down_sync(0xFFFFFFFF, x, 16)   # the x of the lane 16 places on
# y = cuda.shfl_xor_sync(0xFFFFFFFF, x, 1)     # the x of the lane whose number differs in bit 0
# ```
#
# `_sync` says that the lanes wait for each other first, so no barrier is needed. The first
# argument, the **mask**, names the lanes that take part, one bit each; `0xFFFFFFFF` is all 32. A
# lane that is named in the mask must run the same line. If it is in another branch, or has
# returned, the others read garbage or wait for ever: so the *whole* warp shuffles, and only the
# load before and the store after are guarded.

# %%
pictures.shuffle_steps()

# %% [markdown]
# Five steps, no shared memory, no barrier. In each step some of the last lanes reach past lane 31.
# Their sums are wrong, and nobody reads them.
#
# *Predict:* lane l of a warp holds the number l, and each lane does one `shfl_down` by 1. What
# does lane 31 receive?

# %% predict_shuffle
prediction = ...


# %%
@cuda.jit
def from_the_right(out):
    lane = cuda.threadIdx.x
    out[lane] = cuda.shfl_down_sync(0xFFFFFFFF, lane, 1)


received = np.zeros(32, np.int64)
with course.measure() as traffic:
    from_the_right[1, 32](received)

compare(prediction, int(received[31]), "in lane 31")

# %%
print("received:", received)
print("shared memory of a block:", traffic.shared_bytes, "bytes")

# %% [markdown]
# A lane that reaches past lane 31 gets its own value back.
#
# ### Exercise: `warp_sum` (25 minutes)
#
# Each warp adds up its 32 elements. The last warp may have lanes without an element.

# %%
ex.warp_sum

# %% warp_sum
from numba import cuda, float32

TPB = 256
ALL_LANES = 0xFFFFFFFF


@cuda.jit
def warp_sum(a, out):  # a: (N,), out: one number a warp
    i = cuda.grid(1)
    ### BEGIN SOLUTION
    total = a[i] if i < a.size else float32(0)  # read N
    s = 16
    while s > 0:
        total += cuda.shfl_down_sync(ALL_LANES, total, s)
        s //= 2
    if i % 32 == 0 and i < a.size:
        out[i // 32] = total  # write N/32: a sector each
    ### END SOLUTION


# %% warp_sum_check
ex.warp_sum.check(warp_sum)

# %% [markdown]
# A block's sum in a real library is made of both: each warp sums its lanes by shuffles, lane 0 of
# each warp stores one number to shared memory, one barrier, and the first warp sums those numbers
# by shuffles again. For 256 threads that is five steps, one barrier and three steps more, in place
# of eight steps and nine barriers. If you have time, write your `block_sum` that way: its check
# accepts it.
#
# ## Bonus: running sums
#
# A **scan**, or prefix sum, keeps all the sums on the way: `out[i] = a[0] + ... + a[i]`. It looks
# like a loop that cannot be shared out, since each sum needs the one before. It can: let each cell
# add the cell one place before it, then two places, then four. After the step with distance d a
# cell holds the sum of the last 2d elements.

# %%
pictures.scan_steps()

# %% [markdown]
# Unlike in the tree, in a step here the same cell is *read* by one thread and *written* by
# another. Count the barriers that this needs. Scans give each survivor of a filter its new place,
# split work of uneven size, and sort. This one does about N log N additions where a loop does N,
# and it does them in log N steps.
#
# ### Exercise: `prefix_sum` (bonus, 45 minutes)

# %%
ex.prefix_sum

# %% prefix_sum
from numba import cuda, float32

TPB = 256


@cuda.jit
def prefix_sum(a, out):  # a, out: (N,)
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    ### BEGIN SOLUTION
    tile[t] = a[i] if i < a.size else float32(0)  # read N
    cuda.syncthreads()
    d = 1
    while d < TPB:
        before = tile[t - d] if t >= d else float32(0)
        cuda.syncthreads()  # all have read
        tile[t] += before
        cuda.syncthreads()  # all have written
        d *= 2
    if i < a.size:
        out[i] = tile[t]  # write N
    ### END SOLUTION


# %% prefix_sum_check
ex.prefix_sum.check(prefix_sum)

# %% [markdown]
# ## Bonus: counting
#
# A **histogram** counts how often each value occurs, each in a *bin* of its own. Where a thread
# writes depends on the *data*, so threads will meet at one bin, and additions must be atomic.
# 16,384 atomics in global memory are slow. The pattern is **privatisation**: each block keeps
# counts of its own in shared memory, where atomics are cheap (`cuda.atomic.add` works on shared
# arrays too), and adds its 64 counts to the global ones at the end.
#
# ### Exercise: `histogram` (bonus, 40 minutes)

# %%
ex.histogram

# %% histogram
from numba import cuda, int32

TPB = 256
BINS = 64


@cuda.jit
def histogram(data, counts):  # data: (N,) from 0 to 63, counts: (64,), zeros at the start
    private = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    ### BEGIN SOLUTION
    if t < BINS:
        private[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(private, data[i], 1)  # read N
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(counts, t, private[t])  # 64 atomics a block: 8 sectors
    ### END SOLUTION


# %% histogram_check
ex.histogram.check(histogram)

# %% [markdown]
# ## Five mistakes
#
# The kernel below should find the largest element of each row, one block of 128 threads a row. It
# has five mistakes, and you have met all of them. Copy it into the cell after it, where the dots
# are, and check. The verdict names one mistake. Repair that one and no other, and check again. In
# your work this is the usual way to a right kernel: one verdict after the other.
#
# ```python
#     tile = cuda.shared.array(TPB, float32)
#     t = cuda.threadIdx.x
#     row = cuda.blockIdx.x
#     run = (a.shape[1] + TPB - 1) // TPB
#     best = float32(0)
#     for j in range(t * run, (t + 1) * run):
#         best = max(best, a[row, j])
#     tile[t] = best
#     s = TPB // 2
#     while s > 0:
#         if t < s:
#             tile[t] = max(tile[t], tile[t + s])
#             cuda.syncthreads()
#         s //= 2
#     if t == 0:
#         out[row] = tile[0]
# ```
#
# ### Exercise: `five_mistakes` (30 minutes)

# %%
ex.five_mistakes

# %% five_mistakes
import math

from numba import cuda, float32

TPB = 128


@cuda.jit
def five_mistakes(a, out):  # a: (M, N), out: (M,)
    ### BEGIN SOLUTION
    tile = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    best = float32(-math.inf)
    for j in range(t, a.shape[1], TPB):
        best = max(best, a[row, j])  # read MN
    tile[t] = best
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
        cuda.syncthreads()
        s //= 2
    if t == 0:
        out[row] = tile[0]  # write M: a sector each
    ### END SOLUTION


# %% five_mistakes_check
ex.five_mistakes.check(five_mistakes)

# %% [markdown]
# ## Without verdicts
#
# On a GPU nobody tells you "race, line 12". Somebody tells you that a number looks odd. What you
# have then is a **symptom**, and you look for two things: the line that makes the mistake, and its
# **kind**. These are the kinds that this lesson knows:
#
# | | kind | what it is |
# |---|---|---|
# | 1 | race | two threads touch one cell, one of them writes, and nothing says who comes first |
# | 2 | index | a right value, but from a wrong place, or to one |
# | 3 | mask | a place that does not exist takes part, or one that exists does not |
# | 4 | start | a maximum, a sum or a cell begins with a wrong value |
# | 5 | overflow | a number beyond the largest of its type |
# | 6 | rounding | digits that its type has no room for |
#
# Reading the kernel from the top until something looks wrong is the slow way. This is the quick
# one:
#
# 1. **See it yourself.** What you cannot bring about you cannot mend.
# 2. **When is it wrong, and when not?** Change one thing at a time: the size, the shape, the run.
#    *Which* numbers are wrong, and by how much?
# 3. **Shrink it** to the smallest case that is still wrong. Two rows of three can be read, two
#    thousand cannot.
# 4. **Follow** a thread that goes wrong to the *first* line with a value that you did not expect.
#    The line that shows a mistake is seldom the line that makes it.
# 5. **Change that line alone.** The symptom has to go, and you should be able to say why.
#
# Three kernels, as their users report them:
#
# - **P**, `turn_slices`, turns each slice of 64 numbers around, a block a row. "*Right for rows of
#   64. From 128 on I get other numbers in each run, some of them from another slice.*"
# - **Q**, `sum_all`, adds up an array. "*Another sum in each run, with the same input.*"
# - **R**, `turn_matrix`, is a transpose of a matrix whose rows lie one behind the other in a flat
#   array. "*Right for every square matrix. A wide one comes out scrambled, and nothing complains.*"


# %%
@cuda.jit
def turn_slices(a, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    row = cuda.blockIdx.x
    for start in range(0, a.shape[1], 64):
        tile[t] = a[row, start + t]
        cuda.syncthreads()
        out[row, start + t] = tile[63 - t]


# %%
@cuda.jit
def sum_all(a, total):
    part = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        part += a[i]
    cuda.atomic.add(total, 0, part)


# %%
@cuda.jit
def turn_matrix(a, out, M, N):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * 32 + ty
    column = cuda.blockIdx.x * 32 + tx
    if row < M and column < N:
        tile[ty, tx] = a[row * M + column]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 32 + ty
    column = cuda.blockIdx.y * 32 + tx
    if row < N and column < M:
        out[row * M + column] = tile[tx, ty]


# %% [markdown]
# Lines are counted in a kernel's cell, and the decorator is line 1. `listing(turn_slices)` prints
# them with their numbers.
#
# An ordinary launch of P would be stopped here, with the answer. Keep that for the end, to see
# whether you were right. `in_any_order(kernel, seed)` launches as a GPU does: its threads run in an
# order that is drawn from the seed, line by line, and nobody says a word. With `show=(3, 5)` it
# prints the lines of threads 3 and 5 of block 0, in the order in which they came.

# %%
listing(turn_slices)
a = np.arange(2 * 128, dtype=np.float32).reshape(2, 128)
turned = a.reshape(2, 2, 64)[:, :, ::-1].reshape(2, 128)
for seed in range(4):
    out = np.zeros_like(a)
    in_any_order(turn_slices, seed)[2, 64](a, out)
    print(f"P, run {seed}: {np.count_nonzero(out != turned)} of {a.size} numbers are wrong")

# %%
listing(sum_all)
numbers = np.random.default_rng(3).random(4096, dtype=np.float32)
for seed in range(4):
    total = np.zeros(1, np.float32)
    in_any_order(sum_all, seed)[4, 256](numbers, total)
    print(f"Q, run {seed}: {total[0]:.6f}")

# %%
listing(turn_matrix)
for M, N in ((3, 3), (40, 40), (40, 64)):
    a = np.arange(M * N, dtype=np.float32)
    out = np.zeros_like(a)
    turn_matrix[(2, 2), (32, 32)](a, out, M, N)
    right = out.reshape(N, M) == a.reshape(M, N).T
    print(f"R, {M} x {N}: {np.count_nonzero(right)} of {M * N} numbers are right")

# %% [markdown]
# Now look closer. Here is thread 3 of P in a row of one slice, where all is well, and then the same
# thread in a row of two. Which thread fills the cell that thread 3 reads? Put it into `show`, too,
# and try some seeds.

# %%
a, out = np.zeros((1, 64), np.float32), np.zeros((1, 64), np.float32)
course.trace(turn_slices, thread=3)[1, 64](a, out)

# %%
a, out = np.zeros((1, 128), np.float32), np.zeros((1, 128), np.float32)
in_any_order(turn_slices, seed=0, show=(3,))[1, 64](a, out)

# %%
M, N = 2, 3
a, out = np.arange(M * N, dtype=np.float32), np.zeros(M * N, np.float32)
course.trace(turn_matrix, thread=(0, 1))[1, (32, 32)](a, out, M, N)
print("R turns", a.reshape(M, N).tolist(), "into", out.reshape(N, M).tolist())

# %% [markdown]
# ### Exercise: `debug_threads` (45 minutes)

# %%
ex.debug_threads

# %% debug_threads
SLICE = 64
THREADS = 1024
M = 2
N = 3

debug_threads = {
    "P_early": ...,
    "P_disturbed": ...,
    "P_kind": ...,
    "P_least": ...,
    "Q_line": ...,
    "Q_kind": ...,
    "Q_most": ...,
    "R_line": ...,
    "R_kind": ...,
    "R_right": ...,
}
### BEGIN SOLUTION
debug_threads = {
    "P_early": 7,  # of the next turn: a second barrier has to stand at the loop's end
    "P_disturbed": 9,
    "P_kind": 1,
    "P_least": 2 * SLICE,
    "Q_line": 6,  # no mistake: the order of the additions changes
    "Q_kind": 6,
    "Q_most": THREADS * 2**-24,
    "R_line": 8,  # a has rows of N numbers
    "R_kind": 2,
    "R_right": N,  # of row 0
}
### END SOLUTION

# %% debug_threads_check
ex.debug_threads.check(debug_threads)

# %% [markdown]
# P and Q have the same symptom. The *size* of the difference tells them apart: digits in the
# seventh place are what float32 does, and other numbers are a race. And R shows why tests should
# have no two sizes that are equal: a square hides which of them stands where.

# %% [markdown]
# ## Explain
#
# A colleague's `block_sum` leaves out the barrier once `s` is 16 or less: "then only one warp is at
# work, and a warp runs in lockstep". On the colleague's GPU from 2016 the sums have been right for
# years. Explain what can go wrong, on which GPUs, and why tests may not show it. Then name two ways
# to repair it that do not make the whole block wait. Five sentences are enough.

# %% [markdown] explain_barriers
# ### BEGIN SOLUTION
# In each step a lane reads a cell that another lane has written in the step before; without a
# barrier nothing decides whether the read comes after that write, so it is a race. GPUs before
# Volta ran the lanes of a warp in lockstep, which hid the race; since 2017 each lane has its own
# place in the program, so that a lane may run ahead, and the compiler may keep a cell's value in
# a register or reorder the accesses because nothing forbids it. Tests may pass all the same,
# since lanes often do stay together: the result depends on the GPU, the compiler and chance.
# Two repairs for one warp: `cuda.syncwarp()` after each step, executed by all its lanes, or
# `cuda.shfl_down_sync` with the full mask, which needs neither shared memory nor a barrier.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# Beside what stood at the end of the first half:
#
# - Why a barrier under an `if` is **barrier divergence**.
# - A **tree reduction**: the same additions, log2 deep; what changes when the count is odd.
# - How to go from a **symptom** to a line: when it is wrong, by how much, the smallest such case.
# - Three levels of a sum: registers, shared memory (or **shuffles**), and one number a block, by a
#   store or an **atomic**.
#
# ## Where this stands in real code
#
# - PyTorch's normalisation and softmax kernels reduce a row with shuffles first and shared memory
#   second: `WarpReduceSum` and `BlockReduceSum` in `aten/src/ATen/native/cuda/block_reduce.cuh`.
# - NVIDIA's CUB library has `BlockReduce`, `BlockScan` and `BlockHistogram`: the second half of
#   this lesson, tuned for every chip.
# - CUTLASS and FlashAttention load tiles into swizzled shared memory, for the reason that you
#   measured with `turn_one_tile`.
# - In Triton, from lesson 06 on, you declare no shared array and place no barrier for one: its
#   compiler allocates the tiles, places the barriers and picks the swizzle. (The barrier that it
#   has, `tl.debug_barrier()`, is for threads of one program that meet in *global* memory.) You now
#   know what it is doing, and why a `tl.sum` costs what it costs.
# - On Hopper GPUs the blocks of a *cluster* can read each other's shared memory. A reduction then
#   climbs one level more before it goes to global memory.
#
# Next: **04 matmul**, where tiles pay most: every element of them is used many times.
