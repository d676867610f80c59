# %% [markdown]
# # 02 Coalescing: what 32 lanes ask for together
#
# One kernel copies 33.6 million numbers. An H200 takes 98 microseconds for it. Another kernel
# copies every eighth of them, 4.2 million, and takes 36 microseconds. An eighth of the work, and
# more than a third of the time. **What does the GPU do in the rest of the time?** (Both were
# timed by Nsight Compute; section 6 has the record.)
#
# Plan for about three hours. You will count what single requests touch, write two kernels, and
# find out what caches do for a kernel that asks for too much. At the end you can look at an index
# and say how many bytes it costs.

# %%
import numpy as np
from numba import cuda, float32

import course
from course import exercises as ex
from course.figures import coalescing as pictures
from course.gpu.recorded import counts, recorded
from course.notebook.predict import compare

# %% [markdown]
# ## 1. A request and its sectors
#
# You know from lesson 01 that a warp is 32 threads that run each instruction together. When that
# instruction is a load, the 32 lanes hand in 32 addresses at the same moment. The memory system
# looks at them as one **request**.
#
# An **address** is the number of a byte in memory. The memory is cut into **sectors**: bytes 0 to
# 31 are one sector, bytes 32 to 63 the next, and so on. A sector is moved whole or not at all. So
# for each request the memory system finds out *which sectors* its lanes touch, and moves each of
# them once.
#
# Here is the best case. Lane `i` reads `a[i]`, a `float32` of 4 bytes. The array begins where a
# sector begins (the course and the GPU's allocator both start every array at a multiple of 256
# bytes).

# %%
pictures.side_by_side()

# %% [markdown]
# 32 lanes times 4 bytes are 128 bytes, and they fill exactly 4 sectors. Nothing is moved that
# nobody wants. A request like this one is **coalesced**: its lanes' wishes are joined into few
# sectors.
#
# To count a request by hand takes three steps:
#
# 1. Byte address of each lane: index times bytes an element.
# 2. Number of its sector: byte address divided by 32, rounded down.
# 3. Count the *different* numbers.
#
# *Predict:* lane `i` reads `a[i + 1]`. Addresses go from byte 4 (lane 0) to byte 128 (lane 31).
# How many sectors?

# %% predict_shifted
prediction = ...

# %% [markdown]
# To measure it, here is a kernel that reads from wherever it is told: `places` says which element
# each lane picks, and a negative place switches the lane off. The meter keeps the traffic of each
# array apart, so we can look at `values` alone.


# %%
@cuda.jit
def pick(values, places, out):
    i = cuda.grid(1)
    if i < places.size:
        place = places[i]
        if place >= 0:
            out[i] = values[place]


def sectors_touched(values, places):
    """Load requests on `values`, and the sectors that they touch."""
    places = np.asarray(places)
    out = np.zeros(places.size, dtype=values.dtype)
    with course.measure() as traffic:
        pick[-(-places.size // 256), 256](values, places, out)
    wanted = [site for site in traffic.sites if site.array == "values"]
    return sum(site.requests for site in wanted), sum(site.sectors for site in wanted)


a = np.arange(2048, dtype=np.float32)
lane = np.arange(32)

requests, sectors = sectors_touched(a, lane + 1)
compare(prediction, sectors, "sectors")

# %%
pictures.shifted()

# %% [markdown]
# One element off, one sector more. The fifth sector is moved for the last lane alone: 32 bytes for
# 4. Bytes that begin where a sector begins are called **aligned**; these are **misaligned**.

# %% [markdown]
# ## 2. Steps, orders and sizes
#
# Now let the lanes stand apart. Lane `i` reads `a[2 * i]`: every second element.

# %%
pictures.strided(2)

# %% [markdown]
# Twice the sectors, and half of each is thrown away. The distance between neighbouring lanes is
# the **stride** of the access. As it grows, so does the waste, until each lane has a sector to
# itself. It cannot get worse than that: 32 lanes, at most 32 sectors (where no element lies across
# two).

# %%
pictures.cost_of_a_stride()

# %% [markdown]
# That answers the question at the top. The copy of every eighth number moves *every* sector, since
# each one holds one number that is wanted. Both kernels of the beginning read the same 134 MB. The
# second one saves on its stores only.
#
# What about the order of the lanes?

# %%
pictures.backwards()

# %% [markdown]
# It does not matter. The memory system collects sectors, and does not ask who wanted which. (The
# oldest GPUs that ran CUDA did care. Old texts still warn of it.) Nor does it matter when lanes
# want the same thing:

# %%
pictures.everyone_the_same()

# %% [markdown]
# All lanes read one address: one sector, and the value is handed to all of them. This is called a
# **broadcast**, and it is the cheapest request there is: in `y[i] = x[i] * scale[0]` the scale
# costs a sector for each warp.
#
# Lanes that are switched off, by a guard or an `if`, ask for nothing:

# %%
pictures.some_lanes()

# %% [markdown]
# Last, the size of an element. A `float64` has 8 bytes, so 32 of them side by side are 256 bytes:

# %%
pictures.doubles()

# %% [markdown]
# Eight sectors and no waste. The *count* doubled since there is twice as much to move. That is why
# half-size numbers are worth so much on a GPU (lesson 05), and why "how many sectors" says little
# until you set it beside "how many were needed".
#
# ### Exercise: `predict_sectors` (★ core)
#
# Count before you run anything; some of these have a picture above, the others are new. The first
# fifteen entries are one request of one warp each; the last two are whole launches, where you count
# each warp by itself and add.

# %%
ex.predict_sectors

# %% predict_sectors
predict_sectors = {
    "aligned": ...,
    "shifted_by_1": ...,
    "shifted_by_8": ...,
    "every_2nd": ...,
    "every_3rd": ...,
    "every_8th": ...,
    "every_32nd": ...,
    "reversed": ...,
    "broadcast": ...,
    "pairs": ...,
    "first_20_lanes": ...,
    "doubles": ...,
    "doubles_shifted": ...,
    "bytes": ...,
    "bytes_shifted": ...,
    "vector_of_1000": ...,
    "vector_of_1000_shifted": ...,
}
### BEGIN SOLUTION
predict_sectors = {
    "aligned": 32 * 4 // 32,
    "shifted_by_1": 5,  # bytes 4 to 131: sectors 0 to 4
    "shifted_by_8": 4,  # a shift by one whole sector
    "every_2nd": 32 * 8 // 32,
    "every_3rd": 32 * 12 // 32,  # lanes 12 bytes apart leave no sector out
    "every_8th": 32,
    "every_32nd": 32,  # further apart, and what lies between is not moved
    "reversed": 4,
    "broadcast": 1,
    "pairs": 2,  # 16 different elements, 64 bytes
    "first_20_lanes": 3,  # 80 bytes: two sectors and a half
    "doubles": 32 * 8 // 32,
    "doubles_shifted": 9,
    "bytes": 1,
    "bytes_shifted": 2,
    "vector_of_1000": 125,  # 4,000 bytes; warps meet where sectors meet
    "vector_of_1000_shifted": 31 * 5 + 2,  # the last warp has 8 lanes: bytes 3972 to 4003
}
### END SOLUTION

# %% predict_sectors_check
ex.predict_sectors.check(predict_sectors)

# %% [markdown]
# Now let the meter count the same accesses. It shows its count where you have written yours.

# %%
d = np.arange(2048, dtype=np.float64)
b = np.zeros(2048, dtype=np.int8)
thread = np.arange(1024)

accesses = {
    "aligned": (a, lane),
    "shifted_by_1": (a, lane + 1),
    "shifted_by_8": (a, lane + 8),
    "every_2nd": (a, 2 * lane),
    "every_3rd": (a, 3 * lane),
    "every_8th": (a, 8 * lane),
    "every_32nd": (a, 32 * lane),
    "reversed": (a, 31 - lane),
    "broadcast": (a, 0 * lane),
    "pairs": (a, lane // 2),
    "first_20_lanes": (a, np.where(lane < 20, lane, -1)),
    "doubles": (d, lane),
    "doubles_shifted": (d, lane + 1),
    "bytes": (b, lane),
    "bytes_shifted": (b, lane + 1),
    "vector_of_1000": (a, np.where(thread < 1000, thread, -1)),
    "vector_of_1000_shifted": (a, np.where(thread < 1000, thread + 1, -1)),
}

print(f"{'access':24} {'you':>5} {'meter':>6} {'requests':>9}")
for name, (values, places) in accesses.items():
    requests, sectors = sectors_touched(values, places)
    yours = predict_sectors.get(name, ...)
    if not isinstance(yours, int | float):
        yours = sectors = "?"
    print(f"{name:24} {yours:>5} {sectors:>6} {requests:>9}")

# %% [markdown]
# ### Two warps, one sector
#
# The last entry deserves a second look. The thousand elements `a[1]` to `a[1000]` lie in 126
# sectors, but 157 were asked for. Warp 0 reads bytes 4 to 131 and warp 1 reads bytes 132 to 259:
# both touch the sector of bytes 128 to 159, and **both ask for it**. A request knows nothing of
# other requests. The 126 is the **footprint**: every sector once, the least that any kernel can
# ask for. The course's verdicts show both, as *requested* and *least*.
#
# The same holds for **stores**. A warp that writes `out[i + 1]` makes a request that touches 5
# sectors. A request that writes 4 bytes of a sector counts as a sector, as one that writes all 32.

# %% [markdown]
# ## 3. Which index do neighbouring lanes share?
#
# In lesson 01 you gave x to the columns. Now take the grid's two axes away: a launch with one
# axis, threads numbered 0, 1, 2 and so on, and a matrix to work on. *You* decide which thread does
# what. This is the usual case in real kernels, and the rule stays the same:
#
# > Threads with neighbouring numbers are neighbouring lanes. Give them neighbouring addresses.
#
# For a matrix in row-major order, neighbouring addresses are neighbouring columns of one row. So
# the column must be what changes from one thread number to the next.
#
# The task: column sums of a matrix `a` with M rows and N columns. To have enough threads, cut the
# rows into strips of 16, and let each thread add up one column inside one strip. Thread `t` must
# find its strip and its column, and both of these ways work:

# %%
pictures.which_way_lanes_go()

# %% [markdown]
# (The picture has strips of 2 rows, so that it fits.) Either way each pair of strip and column has
# one thread, and the sums are right.
#
# *Predict:* M = 512 rows make 32 strips of 16 rows, and N = 128. On the right-hand side
# neighbouring threads have neighbouring strips. How many sectors does one request on `a` touch?

# %% predict_strips
prediction = ...

# %% [markdown]
# A whole kernel is not needed to find out. One warp's first turn is one request, and its places
# are quickly written down: an element of row r and column j has the place r * 128 + j.

# %%
matrix = np.zeros((512, 128), dtype=np.float32)

t = np.arange(32)  # the threads of warp 0
strip, column = t % 32, t // 32  # neighbouring threads, neighbouring strips
places = 16 * strip * 128 + column  # the first row of each strip

requests, sectors = sectors_touched(matrix.ravel(), places)
compare(prediction, sectors, "sectors a request")

# %% [markdown]
# ### Exercise: `column_or_row`
#
# The same sums with the better numbering. The last strip may be shorter, and the last block may
# have threads to spare.

# %%
ex.column_or_row

# %% column_or_row
from numba import cuda, float32


@cuda.jit
def column_or_row(a, out):
    ### BEGIN SOLUTION
    t = cuda.grid(1)
    rows, columns = a.shape
    strip = t // columns
    j = t % columns  # neighbouring threads, neighbouring columns
    if strip < out.shape[0]:
        total = float32(0)
        for i in range(16 * strip, min(16 * strip + 16, rows)):
            total += a[i, j]  # read MN, all threads together
        out[strip, j] = total  # write MN / 16
    ### END SOLUTION


# %% column_or_row_check
ex.column_or_row.check(column_or_row)

# %% [markdown]
# Each thread walks *down a column*, 4 * N bytes at a time, and that is fine. What one thread does
# from turn to turn is its own affair. What counts is what 32 lanes do **in the same turn**. A CPU
# programmer has learnt the opposite, that one thread should walk along memory, and that makes many
# a first kernel slow.
#
# To see it, give each *thread* a row of its own to add up, and compare. That is a row sum, and
# every lane walks along memory, each in another row:


# %%
@cuda.jit
def thread_a_row(m, out):
    r = cuda.grid(1)
    if r < m.shape[0]:
        total = float32(0)
        for j in range(m.shape[1]):
            total += m[r, j]
        out[r] = total


@cuda.jit
def thread_a_column(m, out):
    j = cuda.grid(1)
    if j < m.shape[1]:
        total = float32(0)
        for r in range(m.shape[0]):
            total += m[r, j]
        out[j] = total


m = np.ones((256, 256), dtype=np.float32)
sums = np.zeros(256, dtype=np.float32)

for kernel in (thread_a_row, thread_a_column):
    with course.measure() as traffic:
        kernel[2, 128](m, sums)
    each = traffic.loads.sectors / traffic.loads.requests
    print(f"{kernel.__name__:16} {traffic.loads.sectors:6} sectors, {each:g} a request")

# %% [markdown]
# Row sums can be made coalesced, too: 32 lanes share a row, and then exchange what they have. How
# lanes exchange values is what lesson 03 is for.

# %% [markdown]
# ## 4. Rows that begin where sectors begin
#
# Lanes side by side are not enough, as `a[i + 1]` showed: they should also begin at a sector. In a
# long vector only the ends are at stake. In a matrix *every row* is.
#
# A matrix is kept in one stretch of memory, and row `i` begins `i * LD` elements in. LD is the
# **leading dimension**: the distance from one row to the next, in elements. Usually it is the
# number of columns. It may be larger; then there is unused **padding** at the end of each row.
#
# Kernels that work on matrices mostly take them in **tiles**, small rectangles (lessons 03 and 04
# are full of them). Here is a tile of 8 columns, one sector wide, in a matrix with LD = 33:

# %%
pictures.tile_rows(33)

# %% [markdown]
# 33 floats are 132 bytes, 4 more than a multiple of 32. So each row begins 4 bytes later inside
# its sector than the row before, and seven rows of eight **straddle**: they lie across two sectors.
# With LD = 40, all begin well:

# %%
pictures.tile_rows(40)

# %% [markdown]
# What does that cost for wider tile rows? Take 32 float32, 128 bytes, as a whole warp reads them.
#
# *Predict:* LD = 33 again. How many sectors do 8 tile rows of 32 float32 touch together, each row
# read by its own warp? (Aligned, it would be 8 * 4 = 32.)

# %% predict_wide
prediction = ...


# %%
@cuda.jit
def copy_tile(m, out):
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = m[row, col]


def tile_sectors(ld, columns, block):
    """Load sectors when blocks of `block` threads copy 8 rows of a matrix, LD elements apart."""
    storage = np.zeros((8, ld), dtype=np.float32)
    out = np.zeros((8, columns), dtype=np.float32)
    with course.measure() as traffic:
        copy_tile[1, block](storage[:, :columns], out)
    return traffic.loads.sectors


compare(prediction, tile_sectors(33, 32, (32, 8)), "sectors")

# %%
print("LD   tile rows of 32   of 8")
for ld in (32, 33, 34, 36, 40, 48):
    print(f"{ld}   {tile_sectors(ld, 32, (32, 8)):15}   {tile_sectors(ld, 8, (8, 8)):4}")

# %% [markdown]
# 39 sectors for 32: a factor of 1.22. For tile rows of 128 bytes that is what alignment buys, with
# `float32`. (With 2-byte numbers and an odd LD only one row in sixteen is aligned, and the factor
# is 1.23.) The narrower the tile rows, the larger it gets: 15 for 8 is 1.88.
#
# An H200's counters say the same. It copied a 4096 x 4096 matrix in tile rows of 128 bytes, once
# with LD = 4096 and once with LD = 4097. (*L2 reads* are the sectors that were asked of the L2
# cache. *DRAM* is the kind of chip that device memory is made of.)

# %%
print("LD     requested sectors   L2 reads    DRAM reads   time")
for ld, kernel in ((4096, "tile_rows_aligned"), (4097, "tile_rows_pitch_4097")):
    seen = counts(kernel)
    print(
        f"{ld}   {seen['load_sectors']:17,}   {seen['l2_read_sectors']:9,}"
        f"   {seen['dram_read_bytes'] / 1e6:6.1f} MB   {seen['duration_ns'] / 1000:.1f} us"
    )
print("recorded:", recorded()["provenance"]["gpu"], recorded()["provenance"]["date"])

# %% [markdown]
# 1.22 times the sectors, up to L2. From DRAM each sector came once, since the second warp that
# wanted a straddled sector found it in a cache (section 6 is about that). The time grew by 5 %.
#
# ### Exercise: `padded_rows`
#
# Choose the leading dimension. The matrix is handed over as one long array, as libraries do it,
# so your index is `row * LD + col`. Set ALIGN, which LD is rounded up to a multiple of, and write
# the kernel.

# %%
ex.padded_rows

# %% padded_rows
from numba import cuda

ALIGN = 1  # LD is N rounded up to a multiple of this: 1, 2, 4, 8, 16, 32 or 64
### BEGIN SOLUTION
ALIGN = 8  # 8 float32 are 32 bytes, a sector: the least that keeps every row on one
### END SOLUTION


@cuda.jit
def padded_rows(x, scale, M, N, LD):
    ### BEGIN SOLUTION
    col, row = cuda.grid(2)
    if row < M and col < N:  # the padding belongs to nobody
        x[row * LD + col] *= scale  # read MN, write MN, a sector a tile row
    ### END SOLUTION


# %% padded_rows_check
ex.padded_rows.check(padded_rows)

# %% [markdown]
# Padding costs memory: rows of 121 floats became rows of 128 here, 6 % more. (ALIGN = 16, 32 or 64
# put the rows on sectors as well, and the check takes them; they only add more padding.) For rows
# of tens of thousands of floats it costs nothing worth naming.
#
# ### A famous case, told honestly
#
# GPT-2 has a vocabulary of 50,257 tokens, and for each position of a text it computes a row of
# 50,257 scores. A well-known small implementation pads the vocabulary to 50,304, a multiple of 64,
# and its author reported that training became about 25 % faster. It is tempting to explain that
# with this section. 50,257 is odd, so rows begin at every possible place in a sector, and tile rows
# of 128 bytes ask for 1.23 times the sectors.
#
# That is not the explanation, or only a small part of it. As you just saw, 1.22 times the sectors
# cost 5 % of the time in a kernel that does nothing but copy. What changed for GPT-2 is *which
# kernels can run at all*. The fast kernels for matrix multiplication (**matmul** for short) read 16
# bytes a lane at once, which needs rows that begin at multiples of 16 bytes, and feed the **tensor
# cores** with them, units that multiply small matrices (lesson 09). With rows of 50,257 numbers of
# 2 bytes a library has to fall back to kernels that move 2 bytes a lane at a time. The meter of
# this course does not see that. Lesson 05 shows a recorded measurement in which it is a factor of
# more than 5.
#
# So: padding to whole sectors, 8 elements of 4 bytes, saves sectors. Padding to multiples of 16
# bytes, and to whole tiles of the tensor cores, opens the door to other kernels. Both are reasons;
# keep them apart.

# %% [markdown]
# ## 5. Points: an array of structures
#
# N points in space have three coordinates each. Kept as an array `p` of N rows and 3 columns, the
# numbers lie in memory as x0 y0 z0 x1 y1 z1 x2 and so on: an **array of structures**. One thread
# takes one point and reads `p[i, 0]`, `p[i, 1]` and `p[i, 2]`. Here is the first of its three
# requests:

# %%
pictures.one_coordinate()

# %% [markdown]
# *Predict:* how many sectors do the three requests of a warp ask for together?

# %% predict_points
prediction = ...


# %%
@cuda.jit
def split_points(p, x, y, z):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = p[i, 0]
        y[i] = p[i, 1]
        z[i] = p[i, 2]


p = np.arange(32 * 3, dtype=np.float32).reshape(32, 3)
x, y, z = (np.zeros(32, dtype=np.float32) for _ in range(3))

with course.measure() as traffic:
    split_points[1, 32](p, x, y, z)

compare(prediction, traffic.sectors("p", "load"), "sectors")

# %% [markdown]
# Each of the three requests touches all 12 sectors of the 32 points, to take a third of them.
# There are two remedies:
#
# - **Another layout.** Keep three arrays x, y and z, a **structure of arrays**: three requests,
#   4 sectors each.
# - **Another order of reading.** Let the lanes read the 96 numbers in the order in which they lie
#   in memory, put them into shared memory, and pick their own from there. That is called
#   **staging**, and lesson 03 shows how. It also asks for 12 sectors.
#
# If your kernel needs the x alone, only the first remedy helps: in an array of structures the
# sectors with the x hold the y and z as well.

# %% [markdown]
# ## 6. What caches forgive
#
# The three requests of a warp ask for the *same* 12 sectors, one request right after the other.
# Must they come from DRAM three times?
#
# No. Between the lanes and the DRAM there are two caches (lesson 00): smaller, faster memories that
# keep the sectors that passed through them last. Each SM has an **L1** of up to 256 KB (shared
# memory is cut from the same storage). All SMs share an **L2**: 4 MB on a T4, tens of MB on an
# H200. A sector is taken from the first place that has it.

# %%
pictures.path_of_a_load()

# %% [markdown]
# The course's meter stands on the left: it counts what warps *ask for*. On a real GPU, Nsight
# Compute's counters can be read on all three stretches. The kernels below ran on an H200, with
# caches emptied before each launch:


# %%
def show_record(*kernels):
    """Prints what an H200's counters saw of these kernels."""
    print(f"{'kernel':22} {'requested':>12} {'L2 reads':>11} {'DRAM reads':>12} {'time':>9}")
    for kernel in kernels:
        seen = counts(kernel)
        print(
            f"{kernel:22} {seen['load_sectors']:12,} {seen['l2_read_sectors']:11,}"
            f" {seen['dram_read_bytes'] / 1e6:9.2f} MB {seen['duration_ns'] / 1000:6.1f} us"
        )


show_record(
    "points_direct",
    "points_staged",
    "row_sum_thread_large",
    "row_sum_warp_large",
    "copy",
    "copy_stride_8",
    "copy_stride_32",
)
print("requested, L2 reads: sectors of loads, counted on one", recorded()["provenance"]["gpu"])

# %% [markdown]
# `points`: N = 4,194,304 points to three arrays, direct and staged. `row_sum`: 16,384 x 4,096
# float32, with a thread a row and with a warp a row; the exercise asks about a smaller one. `copy`:
# 33.6 million float32, every one, every 8th, every 32nd.
#
# A rule explains the table. A cache answers a request if
#
# 1. **somebody asked for the same sector before** (for L1: somebody on the same SM), and
# 2. **it has not been pushed out since**: what passed through in between fits into the cache.
#
# ### Exercise: `cache_rescue`
#
# Work out what the kernels ask for and what would have to stay in the cache, and compare it with
# what the counters saw. For the softmax: its three-pass kernel reads each row three times, for the
# maximum, for the sum and for the result (lesson 07). On that H200 it read 1,661 MB from DRAM.

# %%
ex.cache_rescue

# %% cache_rescue
cache_rescue = {
    "x_of_32_points": ...,
    "direct_a_warp": ...,
    "staged_a_warp": ...,
    "direct_requested_bytes": ...,
    "least_bytes": ...,
    "answered_by_l1": ...,
    "thread_a_row_request": ...,
    "thread_a_row": ...,
    "warp_a_row": ...,
    "kept_by_a_warp_bytes": ...,
    "kept_by_an_sm_bytes": ...,
    "softmax_row_bytes": ...,
    "softmax_one_pass_mb": ...,
    "softmax_passes_from_dram": ...,
}
### BEGIN SOLUTION
cache_rescue = {
    "x_of_32_points": 32 * 12 // 32,  # 12 bytes apart: no sector of the 384 bytes is left out
    "direct_a_warp": 3 * 12,
    "staged_a_warp": 96 * 4 // 32,
    "direct_requested_bytes": 4_194_304 // 32 * 36 * 32,  # 151 MB
    "least_bytes": 4_194_304 * 12,  # 50.3 MB
    "answered_by_l1": 1 - 1.6e6 / (4_194_304 / 32 * 36),  # about two thirds
    "thread_a_row_request": 32,
    "thread_a_row": 8 * 200 * 32,  # 8 warps, 200 requests each
    "warp_a_row": 256 * 25,  # 800 bytes a row
    "kept_by_a_warp_bytes": 32 * 32,
    "kept_by_an_sm_bytes": 64 * 32 * 32,  # 64 KB of an L1 of 256 KB
    "softmax_row_bytes": 131_072 * 4,  # 512 KB, twice an L1
    "softmax_one_pass_mb": 1056 * 131_072 * 4 / 10**6,
    "softmax_passes_from_dram": 3,
}
### END SOLUTION

# %% cache_rescue_check
ex.cache_rescue.check(cache_rescue)

# %% [markdown]
# Now read the record with the rule in hand. Here are the row sums of the exercise, 256 x 200
# float32, and then the large kernels.

# %%
show_record("row_sum_thread", "row_sum_warp")
pictures.what_caches_forgave()

# %% [markdown]
# - **Points: forgiven.** The second and third request of a warp follow the first at once. L1 still
#   has the 12 sectors, L2 is asked for little more than the least, DRAM for the least, and the
#   two kernels take the same time. If you had staged this kernel through shared memory, you would
#   have won nothing on this GPU. It is good to know that *before* writing it.
# - **Row sums, a thread a row: the bytes are forgiven, the time is not.** Lane `i` reads row `i`, a
#   sector for each lane, and comes back for the next 7 numbers of that sector in the next 7 turns.
#   Even the 64 KB of a full SM would fit into L1, so L2 and DRAM see the least. Yet the large
#   matrix takes 380 us instead of 81. L1 has to answer eight times the sectors, and its speed is
#   limited too (a request with 32 sectors occupies it several times as long as one with 4). And a
#   thread a row makes 512 warps, 4 for each SM, too few to hide the waiting (lesson 05).
# - **Every eighth number: not forgiven.** Nobody ever asks for the other seven eighths. A cache
#   cannot help against bytes that nobody uses.
# - **Every 32nd number: worse than counted.** 1,048,576 sectors were requested, 33.6 MB, and DRAM
#   read 67.1 MB. That is a setting of L2: what it fetches from DRAM at a time, its *fetch
#   granularity*, is 64 bytes unless a program asks for another. The same reads on an H200 with 32,
#   64 and 128 bytes made DRAM deliver 33.6, 67.1 and 134.2 MB (`tools/record_l2_granularity.py`).
#   The meter counts requests and does not see it.
# - **Softmax over long rows: not forgiven.** Between two passes over a row, all of it passes
#   through: 512 KB, twice what an L1 holds. With a row on each of 132 SMs that makes 69 MB, more
#   than the L2 keeps, and each pass goes to DRAM. Rows of 1,000 numbers would be forgiven. So the
#   same kernel is good or bad *depending on its rows*, and a measurement on small rows shows
#   nothing.
#
# Why does this course count requests, then, if caches repair so many of them? Because a request is
# what you write, and it is the same on every GPU. What a cache repairs depends on its size, on
# what else runs, and on the data's size next year. And because a cache that repairs your requests
# is busy with them. Read the verdicts' *requested* as "what I ask for", *least* as "what I need";
# what lies between them is at the mercy of the caches. Where a lesson claims that DRAM traffic is
# saved, it uses rows that do not fit.

# %% [markdown]
# ## Explain
#
# A simulation keeps N particles as rows of four float32: x, y, z and mass. A kernel with one
# thread a particle reads the mass alone and adds it up; another reads all four numbers of its
# particle. For both: how many sectors does a request for one of the numbers touch, what is the
# least, what can L1 repair and what not, and which layout would you choose? Six sentences or so.

# %% [markdown] explain_particles
# ### BEGIN SOLUTION
# Particles are 16 bytes apart, so one number of each of 32 particles spans 512 bytes: 16 sectors
# a request, with 8 of 32 bytes used. The kernel that needs the masses alone uses a quarter of what
# it moves (4 sectors would do), and no cache can repair that, since nobody asks for the rest.
# The kernel that reads all four numbers makes four requests for the same 16 sectors, 64 in all,
# where the least is 16. They follow each other at once, so L1 answers three quarters of them and
# DRAM reads about the least; only L1 has more to do. For the first kernel I would keep the mass in
# an array of its own (a structure of arrays: 4 sectors a request). For the second either layout
# reads the least from DRAM; four arrays ask for 16 sectors, and rows of four could be read by one
# 16-byte load a lane, which is coalesced as well.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - What a **request** is, what a **sector** is, and how to count one from the other by hand.
# - Why the **order** of the lanes does not matter, **steps** and **alignment** do, and a
#   **broadcast** is cheap.
# - Why neighbouring threads should have neighbouring columns, and why a thread that walks along
#   memory by itself is a bad neighbour.
# - What a **leading dimension** is, what padding it buys (1.22 for tile rows of 128 bytes), and
#   why that is not why 50,257 became 50,304.
# - What an **array of structures** costs, and when.
# - When **L1** and **L2** repair a careless request, and the two cases in which they cannot: bytes
#   that nobody uses, and bytes that come back too late.
#
# ## Where this stands in real code
#
# - **PyTorch** runs most elementwise work through `vectorized_elementwise_kernel`, in which a lane
#   reads several elements at once. Whether it may do so depends on the pointers' alignment, which
#   is looked at first: a tensor that is a slice from an odd place on takes a slower way.
# - **nanoGPT** writes the padded vocabulary into its default settings, with a comment that says
#   why. **llm.c** moves data in a type named `Packed128`: 128 bits a lane.
# - **cuBLAS** takes a leading dimension for each matrix (`lda`, `ldb`, `ldc`), so that a tile of a
#   larger matrix, or a padded one, can be multiplied without a copy.
# - **Channels-last** image tensors in PyTorch are this lesson's question about layout: which index
#   of (image, channel, row, column) should neighbouring lanes share?
# - **Nsight Compute** shows this lesson's numbers under *Memory Workload Analysis*: sectors a
#   request, for loads and stores, and the *hit rates* of L1 and L2, the shares that they answer.
#
# Next: **03 shared memory**, where the lanes of a block exchange what they have read.
