# %% [markdown]
# # 01 Threads: who works on what
#
# Two vectors of 20,000 numbers are to be added. A CPU would run a loop, 20,000 times round. A
# GPU starts a thread for each number, all of them running the same few lines. **How does a
# thread find out which number is its own, and what do the threads do for which no number is
# left?**
#
# Plan for about two and a half hours. You will write four kernels and work out one table of
# numbers. At the end you can cut a problem of any size into blocks, threads and warps, and you know
# which cuts are cheap.

# %%
import numpy as np
from numba import cuda, float32

import course
from course import exercises as ex
from course.figures import threads as pictures
from course.notebook.predict import compare

# %% [markdown]
# ## 1. A thread for each sum
#
# In lesson 00 two lines stood there already: `i = cuda.grid(1)`, which gives a thread its number,
# and the `if` that sends the spare threads home. Now you write all of it. Of `a = [1, 2, 3, 4]` and
# `b = [10, 20, 30, 40]` the kernel makes `c = [11, 22, 33, 44]`. Threads are started in blocks,
# here of 256, so the last ones may have no element. The sections after it take the three lines
# apart.
#
# ### Exercise: `vector_add` (★ core)
#
# (The star marks the exercises of the short course: whoever has two weeks does these. What the
# contract allows *at most* keeps one thread from doing the work of all; section 5 and lesson 03
# say how that is counted.)

# %%
ex.vector_add

# %% vector_add
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]  # read 2N, write N
    ### END SOLUTION


# %% vector_add_check
ex.vector_add.check(vector_add)

# %% [markdown]
# ## 2. Two memories
#
# A computer with a GPU has two processors, each with a memory of its own. The CPU and its memory
# are called the **host**; the GPU and its memory are the **device**. Your Python program runs on
# the host, and launches kernels, which run on the device. Each side reaches only its own memory, so
# data is copied over and back.

# %%
pictures.two_memories()

# %% [markdown]
# In Numba the three arrows are three lines. Read the cell, then run it. (Without a GPU, the
# course plays the device, and the "copy" goes from one array to another. The program is the
# same.)


# %%
@cuda.jit
def add_one(a, out):
    i = cuda.grid(1)  # the number of this thread: section 4 explains it
    if i < out.size:
        out[i] = a[i] + 1


a = np.arange(8, dtype=np.float32)

d_a = cuda.to_device(a)  # 1. host memory to device memory
d_out = cuda.device_array(8, np.float32)  # room on the device; nothing is copied

add_one[1, 8](d_a, d_out)  # 2. launch: 1 block of 8 threads

out = d_out.copy_to_host()  # 3. device memory to host memory
print(out)

# %% [markdown]
# What does each line cost? On one H200 (`tools/measure_levels.py`, 2026-11):
#
# | what | how much |
# |---|---|
# | `to_device`, ordinary host memory | 12 GB/s |
# | `copy_to_host`, ordinary host memory | 19 GB/s |
# | either, from **pinned** host memory (see below) | 55 GB/s |
# | a launch, from Python, while others are under way | 9 microseconds |
# | a launch, and waiting until the kernel is done | 14 microseconds |
# | device memory, read by a kernel | 4,200 GB/s |
#
# (Memory is *pinned* when the operating system promises not to move it, so that the device can
# fetch it by itself: `cuda.pinned_array`.)
#
# *Predict:* two vectors of 16.8 million `float32` numbers (2**24; 67 MB each) are copied to the
# device, added by a kernel that takes 0.062 ms, and the sum is copied back, all in ordinary
# memory. What share of the whole time does the kernel take, in percent? A rough number is fine.

# %% predict_share
prediction = ...

# %%
to_device_ms = 2 * 67.1e6 / 12.3e9 * 1e3
kernel_ms = 0.062
to_host_ms = 67.1e6 / 18.8e9 * 1e3
share = 100 * kernel_ms / (to_device_ms + 0.009 + kernel_ms + to_host_ms)
compare(prediction, share, "percent", tolerance=0.5)

# %%
pictures.what_a_launch_costs()

# %% [markdown]
# Two rules follow, and every GPU program obeys them:
#
# - **Data stays on the device.** A training program copies its weights over once and runs
#   millions of kernels on them.
# - **A launch has to be worth it.** Nine microseconds is the time in which that kernel would add
#   2.4 million numbers. A launch for eight numbers, as above, is almost all overhead.
#
# A launch does not wait: the line returns as soon as the kernel is in the queue, and the host
# goes on. Kernels in a queue run one after another. `copy_to_host` waits for the kernels before
# it, and `cuda.synchronize()` waits for all of them. If you ever time a kernel and it seems to
# take no time at all, the clock was stopped before the kernel was.
#
# You may also pass NumPy arrays to a kernel directly. Numba then copies each of them to the
# device and back, at every launch. In this course's exercises the check does the copying, and
# you write the kernel.

# %% [markdown]
# ## 3. Why so many threads
#
# A CPU and a GPU are built from the same transistors, for different goals. A CPU is built so that
# **one thread is done soon**: it guesses which way an `if` will go, runs instructions out of order,
# and keeps a large cache near each core. That is a design for **latency**. A GPU is built so that
# **all threads together are done soon**: it spends its area on arithmetic units and on room for
# very many threads, and lets a single thread be slow. That is a design for **throughput**.

# %%
pictures.cpu_and_gpu()

# %% [markdown]
# The processors of a GPU are its SMs (lesson 00); an H200 has 132. Each can hold 2,048 threads at a
# time, all with their values in registers: 270,336 threads on the chip. When a warp (32 threads)
# has to wait for memory, its SM goes on with another warp at the next tick of its clock. Nothing
# has to be saved or restored, since every warp keeps its registers. So the waits of many warps
# overlap:

# %%
pictures.waiting_together()

# %% [markdown]
# This is why a GPU needs so much more work at a time than it has arithmetic units, and why one
# GPU thread alone is a poor worker. On an H200, one thread takes about 865 ms to add 16.8
# million numbers (measured on a part of them). A thread for each takes 0.062 ms.
#
# *Predict:* that add reads two arrays of 67.1 MB and writes a third, and the memory gives a kernel
# 4,200 GB a second at most. How many milliseconds does it take at least, however many threads
# there are?

# %% predict_floor
prediction = ...

# %%
compare(prediction, 3 * 67.1e6 / 4200e9 * 1e3, "milliseconds", tolerance=0.1)

# %% [markdown]
# More threads do not make memory faster. Latency is hidden; **bandwidth is not**. Once enough
# warps wait, the memory delivers all it can, and more warps change nothing. The vector add moves
# 201 MB in its 0.062 ms, 3,200 GB/s: three quarters of the most that this memory gave any kernel.
# From there on, what decides is how many bytes a kernel asks for.

# %% [markdown]
# ## 4. Threads, blocks and the grid
#
# A launch `kernel[grid, block](...)` has two numbers in square brackets:
#
# - `block`: how many **threads** form a **block**. At most 1,024; 128 and 256 are usual.
# - `grid`: how many blocks there are. All of them together are the **grid**.
#
# Why two levels? A block runs on one SM, where its threads can work together (lesson 03). Blocks
# are independent: they run in any order, some at the same time, some later, on however many SMs
# the GPU has. That is how one program fits a small GPU and a large one.
#
# Every thread runs the same function. What differs are a few numbers that it can ask for:
#
# | in a kernel | meaning |
# |---|---|
# | `cuda.threadIdx.x` | the number of this thread in its block, from 0 |
# | `cuda.blockIdx.x` | the number of this block in the grid, from 0 |
# | `cuda.blockDim.x` | how many threads a block has |
# | `cuda.gridDim.x` | how many blocks the grid has |
# | `cuda.grid(1)` | this thread's number in the grid: `blockIdx.x * blockDim.x + threadIdx.x` |
# | `cuda.gridsize(1)` | how many threads the grid has: `gridDim.x * blockDim.x` |
#
# So a thread finds its number like this: thread `t` of block `b` takes element `b * blockDim + t`.
# Here are ten elements and blocks of four:

# %%
pictures.grid_1d()

# %% [markdown]
# And the threads without a number? Blocks come whole. Three blocks of four are twelve threads, two
# more than there are elements. They run like all others, and must be told to do nothing. That line
# is called the **guard**: `if i < c.size:`.
#
# *Predict:* below, 4 blocks of 3 threads sign 12 places, each with its number in its block. What
# does `who[7]` hold: which thread *of its block* wrote it?

# %% predict_who
prediction = ...


# %%
@cuda.jit
def sign_in(who, where):
    i = cuda.grid(1)
    if i < who.size:
        who[i] = cuda.threadIdx.x
        where[i] = cuda.blockIdx.x


who = np.zeros(12, dtype=np.int32)
where = np.zeros(12, dtype=np.int32)
sign_in[4, 3](who, where)

compare(prediction, who[7])

# %% [markdown]
# Run the next cell to see them all. Change the launch, `sign_in[4, 3]`, to `[3, 4]` and to
# `[2, 4]`, and see what the places hold that no thread signs.

# %%
print("thread", who)
print("block ", where)

# %% [markdown]
# ### Warps
#
# The hardware cuts each block into **warps** of 32 threads, in the order of their numbers:
# threads 0 to 31 are warp 0, threads 32 to 63 are warp 1. A thread's place in its warp is its
# **lane**: its number modulo 32. The lanes of a warp go through the program together, one
# instruction for all 32 at a time. This is why block sizes are multiples of 32: a block of 100
# threads takes four warps, and the last has 28 lanes without a thread.
#
# Blocks may have two or three axes, x, y and z, and so may grids: `kernel[(3, 3), (16, 4)]` has 16
# threads along x and 4 along y in each block. Threads are then numbered along x first: thread
# (x, y) has the number `x + y * 16`.

# %%
pictures.warps_of_a_block()

# %% [markdown]
# ### Exercise: `grid_math`
#
# The arithmetic of a launch, on paper or in the cell. `-(-a // b)` is a / b rounded up. A number
# that the cell names above the dict, such as `T = 256`, may be used in it. Of the picture, x counts
# the columns and y the rows.

# %%
ex.grid_math

# %% grid_math
grid_math = {
    "blocks": ...,
    "threads": ...,
    "idle_threads": ...,
    "warps_a_block": ...,
    "busy_warps_of_last_block": ...,
    "element": ...,
    "block_of_10000": ...,
    "thread_of_10000": ...,
    "blocks_x": ...,
    "blocks_y": ...,
    "idle_2d": ...,
    "warp": ...,
    "lane": ...,
}
### BEGIN SOLUTION
grid_math = {
    "blocks": -(-20000 // 256),  # 79
    "threads": 79 * 256,
    "idle_threads": 79 * 256 - 20000,
    "warps_a_block": 256 // 32,
    "busy_warps_of_last_block": 1,  # 20000 - 78 * 256 = 32 elements are left for it
    "element": 12 * 256 + 37,
    "block_of_10000": 10000 // 256,
    "thread_of_10000": 10000 % 256,
    "blocks_x": -(-700 // 32),  # columns
    "blocks_y": -(-1000 // 8),  # rows
    "idle_2d": 22 * 125 * 256 - 1000 * 700,
    "warp": (5 + 3 * 16) // 32,
    "lane": (5 + 3 * 16) % 32,
}
### END SOLUTION

# %% grid_math_check
ex.grid_math.check(grid_math)

# %% [markdown]
# ## 5. Without the guard
#
# What happens without a guard? A GPU does not look whether an address belongs to your array. It
# reads what lies there, or overwrites it, or, if you are lucky, stops with an error that names
# no line. The course looks, and does name the line:


# %%
@cuda.jit
def no_guard(a, out):
    i = cuda.grid(1)
    out[i] = a[i] + 1


a = np.zeros(10, dtype=np.float32)
out = np.zeros(10, dtype=np.float32)

try:
    with course.measure():
        no_guard[3, 4](a, out)
except course.KernelFault as fault:
    print(fault)

# %% [markdown]
# An index that comes out negative is a fault too. NumPy counts it from the end, and so does Numba,
# without a word; in C++ it would be an address before the array. In a kernel it is nearly always a
# slip, so the course stops there. Only a constant, as in `a[-1]`, is the last element on purpose.

# %% [markdown]
# If you like, break your `vector_add` on purpose, and read the verdicts: leave out the guard; write
# `<=` for `<`; use `cuda.threadIdx.x` alone as the index; let each thread run over all elements
# with `for i in range(c.size)`.
#
# (A **race**, which you will have met, is two threads that touch one element, at least one of them
# writing, with nothing that says who comes first.)
#
# When a kernel is wrong and you cannot see why, follow one thread. Here is thread 2 of block 2 of
# `no_guard`, line by line, with the values of its variables. It stops where the fault is. Your own
# kernels can be followed in the same way, on arrays of your own.

# %%
try:
    course.trace(no_guard, block=2, thread=2)[3, 4](a, out)
except course.KernelFault as fault:
    print(fault)

# %% [markdown]
# Now look at the cost of a way that gives the *right* answer: a single thread does everything.
# Copying a vector is enough to see it.
#
# *Predict:* one thread reads `a[0]`, then `a[1]`, and so on up to 1,000 elements. The memory
# answers in sectors of 32 bytes. How many sectors does it ask for on `a`? (A warp with one
# active lane makes requests as any other.)

# %% predict_one_thread
prediction = ...


# %%
@cuda.jit
def one_thread(a, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = a[i]


@cuda.jit
def one_each(a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]


a, out = np.ones(1000, dtype=np.float32), np.zeros(1000, dtype=np.float32)

with course.measure() as alone:
    one_thread[4, 256](a, out)
with course.measure() as together:
    one_each[4, 256](a, out)

compare(prediction, alone.sectors("a", "load"), "sectors of a")

# %%
print("             requests  sectors  requested bytes  longest warp")
for name, traffic in (("one thread", alone), ("one each", together)):
    requests = traffic.loads.requests + traffic.stores.requests
    sectors = traffic.loads.sectors + traffic.stores.sectors
    print(
        f"{name:12} {requests:8}  {sectors:7}  {traffic.requested_bytes:15}"
        f"  {traffic.longest_warp:12}"
    )

# %% [markdown]
# Each of the lone thread's requests has one active lane: it wants 4 bytes and pays for 32. And its
# requests come one after another, while 1,023 threads look on; *longest warp* is the number of
# operations of the busiest warp (lesson 03 says what is counted), and it is what makes the
# difference between the 865 ms and the 0.062 ms of section 3. Eight times the bytes hurt a little,
# the missing company hurts more.

# %% [markdown]
# ## 6. Two axes
#
# Pictures and matrices have rows and columns. For them a grid may have two axes: `grid` and
# `block` become pairs, `(x, y)`, and `cuda.grid(2)` gives two numbers, **x first**. That is the
# one thing to be careful with, since arrays are indexed the other way round: `image[row, col]`,
# row first.
#
# x should be the column. Here are blocks of (4, 2) threads, 4 along x and 2 along y, over a
# picture of 5 rows and 10 columns:

# %%
pictures.grid_2d()

# %% [markdown]
# Why should x be the column? Both ways give the right answer. Memory decides. A matrix lies in
# memory row after row (**row-major** order): `image[row, col + 1]` is the next address after
# `image[row, col]`, and `image[row + 1, col]` is a whole row further on. (The primer
# `90_primer_strides` has a page on this.) The lanes of a warp are neighbours along x. So with x
# as the column, a warp reads one stretch of a row:

# %%
pictures.along_a_row()

# %% [markdown]
# *Predict:* and with x as the **row**? 32 lanes read `image[i, col]` for 32 different rows, each
# 128 numbers long. How many sectors does one request touch?

# %% predict_down
prediction = ...


# %%
@cuda.jit
def row_from_x(image, out):
    row, col = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col]


image = np.ones((128, 128), dtype=np.float32)
out = np.zeros_like(image)

with course.measure() as down:
    row_from_x[(4, 16), (32, 8)](image, out)

compare(prediction, down.loads.sectors / down.loads.requests, "sectors a request")

# %%
print(f"requested: {down.requested_bytes:9,} bytes, x is the row")
print(f"least:     {image.nbytes + out.nbytes:9,} bytes")
pictures.down_a_column()

# %% [markdown]
# Requests whose lanes lie side by side are called **coalesced**: joined into few sectors. The
# whole of lesson 02 is about them. For now one rule is enough: **the last index of an
# array, the one that steps by one address, belongs to x.**
#
# ### Exercise: `index_2d`

# %%
ex.index_2d

# %% index_2d
from numba import cuda


@cuda.jit
def index_2d(image, out):
    ### BEGIN SOLUTION
    col, row = cuda.grid(2)  # x runs along a row of memory
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + 2 * row + col  # read MN, write MN
    ### END SOLUTION


# %% index_2d_check
ex.index_2d.check(index_2d)

# %% [markdown]
# ## 7. A grid for any size
#
# One thread an element ties the grid to the data: another size, another grid. Often it is better
# to choose the grid for the *GPU*, a few blocks for each SM, and let each thread do several
# elements. A thread then needs a rule for what comes after its first element.
#
# Two rules come to mind. The one from the CPU world: cut the vector into chunks, one for each
# thread.

# %%
pictures.chunk_a_thread()

# %% [markdown]
# The other: all threads take the first elements, side by side, then all move on together, by as
# many elements as the grid has threads. That is a **grid-stride loop**, and the distance is the
# **stride**.

# %%
pictures.grid_stride()

# %% [markdown]
# Look at one *round* in each picture: the elements that the threads touch at the same time. In
# the second they are neighbours, in the first they stand apart.
#
# *Predict:* 8,192 float32, 4 blocks of 128 threads, so 16 numbers a thread. With a chunk a thread,
# how many sectors does one load request of a warp touch?

# %% predict_chunk
prediction = ...


# %%
@cuda.jit
def copy_chunks(x, y):
    chunk = x.size // cuda.gridsize(1)
    first = cuda.grid(1) * chunk
    for i in range(first, first + chunk):
        y[i] = x[i]


x = np.ones(8192, dtype=np.float32)
y = np.zeros_like(x)

with course.measure() as traffic:
    copy_chunks[4, 128](x, y)

compare(prediction, traffic.loads.sectors / traffic.loads.requests, "sectors a request")

# %% [markdown]
# On an H200, with 16.8 million numbers, the grid-stride loop of the next exercise takes 0.060 ms
# and the version with chunks 1.17 ms: 19 times as long. Caches soften it, since a thread comes
# back for the other seven numbers of each sector; they can't make it good.
#
# The loop has a second use. Where `cuda.grid(1)` lies past the vector's end, it runs no round at
# all: the guard is in the loop already.
#
# ### Exercise: `saxpy_grid_stride`
#
# The check launches your kernel with grids of several sizes, smaller and larger than the data.

# %%
ex.saxpy_grid_stride

# %% saxpy_grid_stride
from numba import cuda


@cuda.jit
def saxpy_grid_stride(alpha, x, y):
    ### BEGIN SOLUTION
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = alpha * x[i] + y[i]  # read 2N, write N
    ### END SOLUTION


# %% saxpy_grid_stride_check
ex.saxpy_grid_stride.check(saxpy_grid_stride)

# %% [markdown]
# ## 8. One program counter for 32 lanes
#
# The lanes of a warp go through the program together: a warp has one **program counter**, the place
# in the program where it stands. What if they disagree, because an `if` is true for some and false
# for others? Then the warp walks **both** sides, one after the other,
# and on each side the lanes that do not belong there are switched off. The warp is said to
# **diverge**. Different warps may take different sides freely; that costs nothing.

# %%
pictures.torn_warp()

# %% [markdown]
# (Since 2017 each lane does have a program counter of its own, and lanes of both sides may take
# turns. They still never run two instructions at the same time, so the sum stays the same.)
#
# How much it costs depends on what stands in the branches. A guard costs next to nothing: the
# other side is empty, and at most one warp of a vector's grid is torn. Two long branches cost the
# time of both. On an H200, with 2 x 16.8 million roots by Newton's method:
#
# | Newton steps | even and odd lanes differ | warps agree |
# |---|---|---|
# | 1 | 0.27 ms | 0.19 ms |
# | 8 | 0.59 ms | 0.35 ms |
# | 32 | 1.81 ms | 0.96 ms |
#
# With one step the kernel mostly waits for memory, and the torn warps lose less. The more there
# is to compute, the nearer the factor comes to two.
#
# The meter counts **divergent branches**: how often a warp met an `if`, a `while` or the end of
# a loop and its lanes disagreed. A conditional expression, `a if condition else b`, is a branch as
# well, and so are `and` and `or`, once a side holds a load, a division, a call, or more than a few
# operators. Where both sides are shorter than that, the compiler computes both and chooses.
#
# *Predict:* 8 blocks of 128 threads run the kernel below, on 1,024 numbers. How many divergent
# branches are counted?

# %% predict_divergent
prediction = ...


# %%
@cuda.jit
def odd_and_even(x, y):
    i = cuda.grid(1)
    if i < x.size:
        if i % 2 == 0:
            y[i] = x[i] + 1
        else:
            y[i] = x[i] - 1


x = np.ones(1024, dtype=np.float32)
y = np.zeros_like(x)

with course.measure() as traffic:
    odd_and_even[8, 128](x, y)

compare(prediction, traffic.divergent_branches, "divergent branches")

# %% [markdown]
# The next cell launches the same kernel on 1,000 numbers and on two others. First say to
# yourself what will change, and why: how many warps meet the guard, and how many of them
# disagree about it?

# %%
for n in (1024, 1000, 992):
    with course.measure() as traffic:
        odd_and_even[8, 128](x[:n], y[:n])
    print(n, "numbers:", traffic.divergent_branches, "divergent branches", traffic.divergent_sites)

# %% [markdown]
# `divergent_sites` says on which line. With 1,000 numbers the last warp has 8 numbers left: it
# disagrees at the guard, and its 8 lanes inside disagree once more. With 992 the last warp has
# none, and goes home as one.
#
# ### Exercise: `divergence`
#
# Square roots of one row, cube roots of the other. The functions are given; you decide which
# thread takes which number, so that no warp has to walk both. `@cuda.jit(device=True)` marks a
# function that kernels call.

# %%
ex.divergence

# %% divergence
from numba import cuda, float32


@cuda.jit(device=True)
def square_root(v):
    r = v
    for _ in range(8):  # Newton's method: each step doubles the right digits
        r = float32(0.5) * (r + v / r)
    return r


@cuda.jit(device=True)
def cube_root(v):
    r = v
    for _ in range(8):
        r = (r + r + v / (r * r)) / float32(3)
    return r


@cuda.jit
def divergence(x, y):
    ### BEGIN SOLUTION
    row = cuda.blockIdx.x % 2  # whole blocks, hence whole warps, share a row
    k = (cuda.blockIdx.x // 2) * cuda.blockDim.x + cuda.threadIdx.x
    if k < x.shape[1]:
        if row == 0:
            y[row, k] = square_root(x[row, k])  # read 2N, write 2N, both rows together
        else:
            y[row, k] = cube_root(x[row, k])
    ### END SOLUTION


# %% divergence_check
ex.divergence.check(divergence)

# %% [markdown]
# There is a way round every branch: compute both roots in each thread and keep one. The meter then
# counts no divergent branch, and nothing is won, since each warp still does the work of both
# sides. Divergence is counted because it is easy to count. What costs is the work.
#
# Why `float32(0.5)` and not `0.5`? In Numba a number with a decimal point is a `float64`, and a
# `float64` times a `float32` is a `float64`. On most GPUs 64-bit arithmetic is slow: on a T4 at a
# 32nd of the rate. Write the type where it matters.

# %% [markdown]
# ## Explain
#
# A kernel works on a vector of 1,000,000 numbers with blocks of 256 threads. A colleague
# proposes blocks of 250 instead: "Then a million divides evenly, there are no idle threads, and
# I can drop the guard." What is right in this, what is overlooked, and what would you do? Think
# of warps, of lanes, and of where the requests of the second block begin. Five sentences or so.

# %% [markdown] explain_blocks
# ### BEGIN SOLUTION
# 4,000 blocks of 250 threads are exactly a million threads, so the guard would indeed always be
# true. But a block is cut into warps of 32: 250 threads take 8 warps, and the last has 26 lanes;
# 6 lanes of every block are idle, 24,000 in all, against 192 with blocks of 256. The blocks also
# begin at multiples of 250 elements, 1,000 bytes, which is no multiple of 32. In three blocks of
# four a full warp therefore touches 5 sectors where 4 would do, about a fifth more requested
# bytes in all. And without the guard the kernel is right for this size alone. I would keep 256
# and the guard, which costs one comparison a thread.
# ### END SOLUTION

# %% [markdown]
# You can measure it. The next cell copies a vector with both block sizes:


# %%
@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


x = np.ones(100_000, dtype=np.float32)
y = np.zeros_like(x)

for threads in (256, 250):
    with course.measure() as traffic:
        copy[-(-x.size // threads), threads](x, y)
    each = traffic.loads.sectors / traffic.loads.requests
    print(f"blocks of {threads}: {traffic.requested_bytes:,} bytes, {each:.2f} sectors a request")

# %% [markdown]
# ## What you can explain now
#
# - What **host** and **device** are, what the three steps of every GPU program cost, and why data
#   stays on the device.
# - Why a GPU wants hundreds of thousands of threads: **throughput** instead of **latency**; waits
#   that overlap.
# - How a **thread** finds its element from **block** and **grid**, and why it needs a **guard**.
# - What a **warp** and a **lane** are, and that threads are numbered along x first.
# - Why **x is the column**, and why a **grid-stride loop** is cheaper than a chunk a thread.
# - What **divergence** costs, and when it costs nothing.
#
# ## Where this stands in real code
#
# - **PyTorch**: an elementwise operation on a GPU is a kernel with an index, a guard and blocks
#   of 128 threads. `CUDA_KERNEL_LOOP`, a macro used all over its CUDA sources, is the
#   grid-stride loop of `saxpy_grid_stride`.
# - **llm.c**: GPT-2 in plain CUDA. The optimiser's update in `llmc/adamw.cuh` begins with an index
#   from `blockIdx.x * blockDim.x + threadIdx.x` and a guard that returns early.
# - **Triton** (from lesson 06 on): a program works on a block of elements at once. Its guard is a
#   *mask*, its index a range of offsets; warps and lanes are dealt out by the compiler. What you
#   know about sectors stays true.
# - **Mixture-of-experts layers** send each token to one of several small networks. Before they
#   compute, they sort the tokens by network, so that whole blocks do the same thing, as in
#   `divergence`.
#
# Next: **02 coalescing**, about the lanes of a warp and the sectors they share.
