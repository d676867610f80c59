# %% [markdown]
# # 07 Softmax
#
# Two kernels compute the same softmax. The first reads its input three times, the second twice.
# Over 128 rows of 1,000 numbers an H200 took 4.2 us for the first and 4.1 us for the second. Over
# 1,056 rows of 131,072 numbers the first read 1,661 MB from device memory, and the second 1,107.
# **When is a third reading free, and how do you get rid of it when it is not?**
#
# Fusing does not lead from three readings to two: that takes another algorithm, with one small idea
# in it. (torch.compile uses it where it recognises a softmax, because people wrote it in.) The same
# idea makes FlashAttention possible, so take your time for it. This lesson is two sittings, about
# five hours in all.
#
# | exercise | time |
# |---|---|
# | `softmax_three_pass` | 50 min |
# | `softmax_online` (★ core) | 70 min |
# | `softmax_one_pass` | 50 min |
# | `debug_softmax` | 45 min |

# %%
import course

course.require_triton()  # where this lesson cannot run, a sentence says where it can

# %%
import math

import numpy as np
import torch
import triton
import triton.language as tl

import course
from course import exercises as ex
from course.figures import softmax as pictures
from course.notebook.listing import listing
from course.notebook.predict import compare
from course.engine.triton.compiling.gate import compile_for

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

# %% [markdown]
# ## 1. Shares of one
#
# A network that chooses among N things gives each of them a number, a **logit**, of any size and
# sign. **Softmax** makes shares of one out of them: positive numbers that add up to 1, the larger
# the logit the larger the share.
#
# `out[c] = exp(x[c]) / (exp(x[0]) + exp(x[1]) + ... + exp(x[N - 1]))`
#
# As it stands, the formula fails on a computer. float32 ends at 3.4e38.
#
# *Predict:* from which x on is exp(x) too large for float32?

# %% predict_overflow
prediction = ...

# %%
compare(prediction, np.log(float(np.finfo(np.float32).max)), tolerance=0.02)

# %%
with np.errstate(over="ignore", invalid="ignore"):
    for logits in ([1.0, 2.0, 3.0], [101.0, 102.0, 103.0]):
        weights = np.exp(np.array(logits, dtype=np.float32))
        print(logits, "->", weights / weights.sum())

# %% [markdown]
# inf divided by inf is nan. Yet both rows should give the same shares, since only the differences
# of the logits count: exp(x - m) is exp(x) / exp(m), and a factor that all terms have in common
# drops out of the quotient. So subtract the row's largest element m. No exponent is above 0 then,
# no term above 1, and one term *is* 1, so that the sum can neither overflow nor vanish.

# %%
pictures.weights_of_a_row()

# %% [markdown]
# The last element of that row is -inf. That is how one says "not this one": exp(-inf) is 0, so its
# share is 0. Attention rules out tokens this way (lesson 10). It leaves one question open. What is
# the softmax of a row in which *everything* is ruled out? m is -inf, and -inf - -inf is nan; torch
# returns nan for such a row. In this course it is **zeros**: nothing was chosen, so nothing gets a
# share. The check tries such rows.
#
# ## 2. Three passes
#
# In Triton a **reduction** is one call. `tl.max(block, axis=0)` and `tl.sum(block, axis=0)` turn a
# block of values into one number. The tree, the shuffles and the barriers of lesson 03 are what the
# compiler makes of it.
#
# Our rows are longer than a block, though. One program takes one row and walks along it, a tile of
# BLOCK elements at a time, as `dequantize` did. Here is such a walk. It finds the largest element
# of each row:


# %%
@triton.jit
def row_max(x_ptr, out_ptr, N, BLOCK: tl.constexpr):  # x: (M, N), out: (M,)
    row = tl.program_id(0)
    top = -float("inf")
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + columns, mask=columns < N, other=-float("inf"))
        top = tl.maximum(top, tl.max(x, axis=0))
    tl.store(out_ptr + row, top)


x = torch.randn(4, 2000, device=device)
out = torch.empty(4, device=device)
with course.measure() as row_max_traffic:
    row_max[(4,)](x, out, 2000, 512)
print("right:", torch.equal(out, x.max(dim=1).values))

# %% [markdown]
# Three things to notice.
#
# - **`other=-float("inf")`**. The last tile sticks out of the row: 2,000 is 3 tiles of 512 and 464
#   more. A masked element gets `other`, and takes part in the reduction. So `other` has to be a
#   value that changes nothing: -inf for a maximum, 0 for a sum. A 0 in a maximum is wrong as soon
#   as all logits are negative.
# - **`top` is one number** and `x` a block of 512. `tl.maximum` takes two values and gives the
#   larger; `tl.max` takes one block and gives its largest element.
# - **`top` keeps its type** through the loop. It begins as a float, and a float comes back. A sum
#   that begins as `0` is a whole number, and the compiler refuses the loop that makes a float of
#   it: write `0.0`.
#
# *Predict:* how many sectors do the loads of the four programs ask for? (Rows of 2,000 float32, 4
# tiles each, the last one ragged.)

# %% predict_row_max
prediction = ...

# %%
compare(prediction, row_max_traffic.loads.sectors, "load sectors")

# %% [markdown]
# 8,000 bytes a row are 250 sectors. Masked elements ask for nothing: a **pass** over the row costs
# its bytes, whatever BLOCK is.
#
# Softmax by its formula takes three passes. The sum needs m, so it cannot begin before the whole
# row has been seen. The quotient needs s, with the same consequence:

# %%
pictures.three_passes()

# %% [markdown]
# From pass to pass only m and s are kept. The row itself does not fit into the program, or so we
# say in this section and the next; in section 5 it may.
#
# *Predict:* 64 rows of 2,048 float32. How many sectors do three passes load, and how many do they
# store?

# %% predict_three_loads
prediction_loads = ...
prediction_stores = ...

# %%
compare(prediction_loads, 3 * 64 * 2048 * 4 // 32, "load sectors")
compare(prediction_stores, 64 * 2048 * 4 // 32, "store sectors")

# %% [markdown]
# ### Exercise: `softmax_three_pass` (50 minutes)
#
# x is float32 or float16. A float16 has three digits and ends at 65,504, so convert what you load,
# `x.to(tl.float32)`, and compute with that. `tl.store` rounds to the type of `out`. For the row of
# -inf there is `tl.where(condition, a, b)`, as in NumPy.

# %%
ex.softmax_three_pass

# %% softmax_three_pass
import triton
import triton.language as tl

BLOCK = 512  # 256, 512 or 1024


@triton.jit
def softmax_three_pass(x_ptr, out_ptr, N, BLOCK: tl.constexpr):  # x, out: (M, N)
    row = tl.program_id(0) * N
    ### BEGIN SOLUTION
    top = -float("inf")
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        top = tl.maximum(top, tl.max(x.to(tl.float32), axis=0))
    top = tl.where(top == -float("inf"), 0.0, top)
    total = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        total += tl.sum(tl.exp(x.to(tl.float32) - top), axis=0)
    total = tl.maximum(total, 1.0)  # the largest element's weight is 1; only empty rows have 0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        weights = tl.exp(x.to(tl.float32) - top)
        tl.store(out_ptr + row + columns, weights / total, mask=columns < N)  # write MN
    ### END SOLUTION


# %% softmax_three_pass_check
ex.softmax_three_pass.check(softmax_three_pass)

# %% [markdown]
# <details><summary>Two values for an empty row</summary>
# <p>In a row of -inf alone m is -inf, and x - m would be nan. With 0 in place of m the exponents
# stay -inf, the weights 0 and the sum 0. Then 0 / 0 would be nan once more. In every other row the
# largest element adds exp(0) = 1 to the sum, so <code>tl.maximum(total, 1.0)</code> changes nothing
# there, and turns 0 / 0 into 0 / 1.</p>
# </details>
#
# ## 3. Maximum and sum in one pass
#
# Can the sum begin before the maximum is known? Try it, with tiles of two elements. The row is
# (2, 1, 4, 2, 3, 6). After its first tile the largest element *so far* is 2, and relative to it
#
# `total = exp(2 - 2) + exp(1 - 2) = 1.368`
#
# Then comes the tile (4, 2). The largest element so far is 4 now, and the first two terms should
# have been taken relative to 4: exp(2 - 4) and exp(1 - 4). Have we lost them? Look at what became
# of each:
#
# `exp(1 - 4) = exp(1 - 2) * exp(2 - 4)`
#
# The old term, times a factor that does not depend on the term. *All* old terms need the same
# factor, exp(old top - new top), so multiply their sum by it, once. The terms are not needed again:
#
# > total = total * exp(top - new_top) + the sum of exp(x - new_top) over the tile
#
# This is called **rescaling**, and a softmax that works so is an **online softmax**: it has a
# right answer for what it has seen so far, at every moment.
#
# *Predict:* after (4, 2) the third tile is (3, 6). By what number is the total multiplied then?

# %% predict_factor
prediction = ...

# %%
row = [2.0, 1.0, 4.0, 2.0, 3.0, 6.0]
top, total = -math.inf, 0.0
for start in range(0, 6, 2):
    tile = row[start : start + 2]
    new_top = max(top, *tile)
    factor = math.exp(top - new_top)
    added = sum(math.exp(x - new_top) for x in tile)
    total = total * factor + added
    top = new_top

compare(prediction, factor, tolerance=0.02)

# %%
print("after the last tile: top", top, " total", round(total, 6))
print("in two passes:       top", max(row), " total", round(sum(math.exp(x - 6) for x in row), 6))

# %% [markdown]
# The same total, and each element was looked at once. Step by step:

# %%
pictures.running_pair()

# %% [markdown]
# Three questions that one should ask about such a trick:
#
# **Does it lose digits?** The factor is exp of something that is 0 or negative: at most 1. So
# rescaling never makes the total larger, and costs one rounding each time. Nothing can overflow.
#
# **How does it begin?** With top = -inf and total = 0. The first factor is exp(-inf - 2) = 0, and 0
# times 0 is 0. The trap is a first tile that is -inf throughout. Then new_top is -inf as well:

# %%
inf = torch.inf
tile = torch.tensor([-inf, -inf])
top, new_top = torch.tensor(-inf), torch.maximum(torch.tensor(-inf), tile.max())
print("factor:", torch.exp(top - new_top), "  terms:", torch.exp(tile - new_top))

# %% [markdown]
# nan, and a nan stays in the total for ever, even if thousands of good logits follow. With a mask,
# rows that begin with -inf are an everyday thing. There are two ways out. Subtract 0 where new_top
# is -inf, since then every term is exp(-inf) = 0, as it should be. Or let top begin at the lowest
# *finite* float32, -3.4028234e38, so that no -inf is ever subtracted.
#
# **Does the order matter?** No. What is known of some part of the row is a pair (top, total), and
# any two pairs can be merged into the pair of both parts:


# %%
def merge(a, b):
    """The pair (top, total) of two parts of a row together."""
    top = max(a[0], b[0])
    return top, a[1] * math.exp(a[0] - top) + b[1] * math.exp(b[0] - top)


pairs = [(2.0, 1 + math.exp(-1)), (4.0, 1 + math.exp(-2)), (6.0, 1 + math.exp(-3))]
print("left to right:", merge(merge(pairs[0], pairs[1]), pairs[2]))
print("right to left:", merge(pairs[0], merge(pairs[1], pairs[2])))
print("another order:", merge(merge(pairs[2], pairs[0]), pairs[1]))

# %% [markdown]
# So each element of a block may keep a pair of its own, with one merge at the end, or several
# programs may share a row. An element of the row is such a pair, too: (x, 1).
#
# With m and s from one pass, a second pass stores the result. Two loads of each element, not three:

# %%
pictures.two_passes()

# %% [markdown]
# ### Exercise: `softmax_online` (70 minutes, ★ core)

# %%
ex.softmax_online

# %% softmax_online
import triton
import triton.language as tl

BLOCK = 512  # 256, 512 or 1024


@triton.jit
def softmax_online(x_ptr, out_ptr, N, BLOCK: tl.constexpr):  # x, out: (M, N)
    row = tl.program_id(0) * N
    ### BEGIN SOLUTION
    top = -float("inf")
    total = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        x = x.to(tl.float32)
        new_top = tl.maximum(top, tl.max(x, axis=0))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)  # only -inf so far
        total = total * tl.exp(top - shift) + tl.sum(tl.exp(x - shift), axis=0)
        top = new_top
    shift = tl.where(top == -float("inf"), 0.0, top)
    total = tl.maximum(total, 1.0)  # 0 in an empty row, 1 or more in every other
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))  # read MN
        weights = tl.exp(x.to(tl.float32) - shift)
        tl.store(out_ptr + row + columns, weights / total, mask=columns < N)  # write MN
    ### END SOLUTION


# %% softmax_online_check
ex.softmax_online.check(softmax_online)

# %% [markdown]
# <details><summary>Is it more arithmetic?</summary>
# <p>Hardly. Three passes take exp of each element twice, once for the sum and once for the result.
# So do these two passes, and they take one more exp a tile, for the factor.</p>
# </details>
#
# <details><summary>The reduction in the loop</summary>
# <p>Your loop probably has two reductions a turn, and each makes the warps of the program wait for
# one another. If top and total are blocks of BLOCK values, one pair for each element of the tile,
# the loop has none, and the pairs are merged once after it. The price is an exp of each element for
# the factors. Both ways are within the budget.</p>
# </details>
#
# ## 4. When a pass is bytes
#
# The meter counts what programs ask for, and by that count you have saved a quarter: 4 transfers
# of the row became 3. Does the hardware agree? Here is what an H200's counters saw. (*Requested*
# and *L2 reads* are sectors of loads, *DRAM* is what device memory delivered, of a matrix of so
# many bytes.)

# %%
print(f"{'kernel':14} {'matrix':>16} {'requested':>11} {'L2 reads':>11} {'DRAM':>10}   of")
for c in pictures.COUNTED:
    print(
        f"{c.kernel:14} {c.rows:>6,} x {c.columns:>7,} {c.requested:>11,.0f} {c.l2_reads:>11,.0f}"
        f" {c.dram_mb:>7,.4g} MB   {c.matrix_mb:,.4g} MB"
    )
print("128 x 1,000:", ", ".join(f"{c.us:.1f} us in {c.kernel}" for c in pictures.SMALL))
print("recorded on one NVIDIA H200 (`python -m tools.record_rows`): float32, caches emptied before")

# %%
pictures.passes_counted()

# %% [markdown]
# Over short rows all kernels look alike from L2 on: each sector is fetched once. Over rows of
# 131,072 every pass goes all the way to DRAM. The rule is that of lesson 02. A cache answers a
# request if somebody asked for the sector before, and if it has not been pushed out since. A
# program asks for its row again as soon as it has come to the row's end. So what must stay in the
# cache is **a row, for each program that runs**:
#
# - 1,024 float32 are 4 KB, and 4,096 are 16. An SM has up to 256 KB of L1. The rows stay there,
#   and the second and the third pass never leave the SM.
# - 131,072 float32 are 512 KB, twice an L1, before a second program has come. Is it in L2? On 132
#   SMs a row each makes 69 MB, more than L2 keeps. So DRAM delivers the matrix, 554 MB, again for
#   each pass: three times, 1,661 MB, or twice, 1,107. A third of the reads is gone.
#
# *Predict:* an SM holds 64 warps (lesson 05), so it may run 16 programs of 4 warps, each with a row
# of its own. How many bfloat16 may a row have, if 16 rows are to stay in 256 KB of L1?

# %% predict_row_in_l1
prediction = ...

# %%
compare(prediction, 256 * 1024 // 16 // 2, "elements")

# %% [markdown]
# Between the two extremes lies the practice. These are speeds on the same GPU, over 16,384 rows of
# float16. They count the input and the output once, whatever the kernel asked for, so that higher
# is faster:

# %%
pictures.speeds()

# %% [markdown]
# Rows of 8,192 float16 are those 16 KB. Two passes are 1.17 times as fast as three: caches serve
# much of the third. Rows of 32,768 are 64 KB; four fill an L1. Now it is 1.24 times. If every
# transfer were paid in full, 4 against 3, it would be 1.33.
#
# So "three passes are as fast as two" and "two passes are 24 % faster" are both true measurements
# of the same two kernels. Whoever reports one has to say how long the rows were. And the kernel
# that asks for less depends less on what else is in the cache.
#
# (torch.softmax on the short rows, at a quarter of a copy's speed, is not the limit of what can be
# done. Measure before you believe that a library cannot be beaten, and measure your own shapes.)
#
# ## 5. One pass
#
# In that chart the best kernel, at 97 % of a copy, loads each row once. It works where a row fits
# into one tile. Then there is no loop at all: the tile *stays*, and maximum, sum and quotient are
# taken from what the program holds. 2 transfers, not 3 or 4, and no cache is needed. Over the
# longer rows the same kernel comes to 1,743 GB/s and is behind: they do not fit.
#
# Where does a tile stay? In the **registers** of the program's threads. A program has 4 warps,
# 128 threads, unless the launch says otherwise, and an SM has 65,536 registers of 4 bytes for all
# the programs that it runs. One thread can have 255 at most.
#
# *Predict:* a tile of 4,096 float32 in a program of 128 threads. How many registers does each
# thread need for its part of the tile?

# %% predict_registers
prediction = ...

# %%
compare(prediction, 4096 // 128, "registers")

# %% [markdown]
# And a program might take several rows at once, a tile of ROWS x BLOCK. That gives its threads more
# loads to wait for at the same time, and needs more room:

# %%
pictures.row_in_registers()

# %% [markdown]
# These are the tile's elements alone. The kernel needs registers for other things, too. Ask the
# compiler. The kernel below divides each row by its largest element, so it has to hold the tile
# from the load to the store, as softmax has to. With `axis=1`, `tl.max` gives one number for each
# row of the tile.
#
# *Predict:* with ROWS = 4, for how many programs does an SM have registers?

# %% predict_rows
prediction = ...


# %%
@triton.jit
def by_maximum(x_ptr, out_ptr, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = rows[:, None] * N + tl.arange(0, BLOCK)[None, :]  # (ROWS, BLOCK)
    x = tl.load(x_ptr + at)
    top = tl.max(x, axis=1)  # (ROWS,)
    tl.store(out_ptr + at, x / top[:, None])


x = torch.ones(8, 4096)
taken = {rows: compile_for(by_maximum, (x, x.clone(), 4096, rows, 4096)) for rows in (1, 2, 4, 8)}
programs = {rows: 65_536 // (128 * made.registers) for rows, made in taken.items()}
compare(prediction, programs[4], "programs")

# %%
print("ROWS  elements a thread  registers  programs on an SM  spilled bytes a thread")
for rows, made in taken.items():
    print(
        f"{rows:4} {rows * 4096 // 128:18} {made.registers:10} {programs[rows]:18}"
        f" {made.spill_bytes:23}"
    )

# %% [markdown]
# What does not fit is **spilled**: stored to memory and loaded again when it is needed. The memory
# is called *local* memory (lesson 04), and it is device memory like any other, behind the same
# caches. So a spill is traffic, and it is traffic that our meter does not see, because no line of
# the kernel asks for it. A kernel can be perfect by the meter and move its data three times.
#
# Registers that are not spilled have a price as well. The fourth column is the number of programs
# for which an SM has registers. With three of them, 12 warps, there is little to do while a load is
# under way (lesson 05: an SM holds up to 64 warps). So the next exercise is graded on three things:
# traffic, registers, and spills, as compiled for an A100.
#
# ### Exercise: `softmax_one_pass` (50 minutes)
#
# ROWS = 1 is a fair choice, and then the kernel has no loop and no second axis. If you want more
# rows a program, they can lie side by side in the tile, or come one after the other.

# %%
ex.softmax_one_pass

# %% softmax_one_pass
import triton
import triton.language as tl

ROWS = 1  # rows of a program: 1, 2, 4 or 8


@triton.jit
def softmax_one_pass(x_ptr, out_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    ### BEGIN SOLUTION
    columns = tl.arange(0, BLOCK)
    at = tl.program_id(0) * N + columns  # ROWS is 1: program r has row r
    x = tl.load(x_ptr + at, mask=columns < N, other=-float("inf"))  # read MN
    x = x.to(tl.float32)
    top = tl.max(x, axis=0)
    top = tl.where(top == -float("inf"), 0.0, top)
    weights = tl.exp(x - top)
    total = tl.maximum(tl.sum(weights, axis=0), 1.0)
    tl.store(out_ptr + at, weights / total, mask=columns < N)  # write MN
    ### END SOLUTION


# %% softmax_one_pass_check
ex.softmax_one_pass.check(softmax_one_pass)

# %% [markdown]
# How long may a row be? More warps have more registers: 16 warps have 512 threads, and 65,536
# registers divided among them are 128 each. Half of them for the tile makes rows of 32,768 elements
# with one program an SM. Rows of 32,768 numbers on 32 warps move 4,154 GB/s on an H200 in float32,
# and 3,260 in float16; PyTorch's softmax moves 2,699 and 2,434. (While the SM's one program waits
# for its sum, nothing loads. A float16 row loads half as long before that.) Beyond that a row has
# to be cut: among passes, as in `softmax_online`, or among programs, each with a pair (top, total)
# that is merged at the end.
#
# So the three kernels are not three steps to the best one. Which is best depends on the row:
#
# | row | kernel | transfers |
# |---|---|---|
# | fits into a program's registers | `softmax_one_pass` | 2 |
# | is longer | `softmax_online` | 3 |
# | a reason for `softmax_three_pass` | there is none | 4 |

# %% [markdown]
# ## 6. A symptom, not a verdict
#
# Lesson 03 went from a symptom to a line and its kind: when is it wrong, and when not; the smallest
# such case; the *first* line with a value that nobody expects. Two kinds come with softmax.
#
# | | kind | what it is |
# |---|---|---|
# | 1 to 6 | race, index, mask, start, overflow, rounding | as in lesson 03 |
# | 7 | nan | inf - inf or 0 / 0: from there on no number at all |
# | 8 | rescale | sums that were taken against different maxima are added |
#
# A masked element that gets a value by `other` which is not neutral is kind 3: a place that does
# not exist takes part. And a nan need not arrive at the output: `tl.maximum(nan, 1.0)` is 1.0, on a
# GPU as here.
#
# Three kernels, as their users report them:
#
# - **P**: "*Some rows begin with padding, logits of -inf. In some of these the shares add up to far
#   more than 1. Rows without padding are right, and so are rows of padding alone.*"
# - **Q**: "*The shares of a row add up to less than 1, except where N is 512 or 1,024.*"
# - **R**: "*Rows of 512 are right. Of rows with 569 logits one in ten is wrong, another one for
#   each seed.*"


# %%
@triton.jit
def softmax_p(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) * N
    top = -float("inf")
    total = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))
        new_top = tl.maximum(top, tl.max(x, axis=0))
        shift = tl.where(new_top == -float("inf"), 0.0, new_top)
        terms = tl.exp(x - shift)
        total = total * tl.exp(top - new_top) + tl.sum(terms, axis=0)
        top = new_top
    shift = tl.where(top == -float("inf"), 0.0, top)
    total = tl.maximum(total, 1.0)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))
        share = tl.exp(x - shift) / total
        tl.store(out_ptr + row + columns, share, mask=columns < N)


# %%
@triton.jit
def softmax_q(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) * N
    top = -float("inf")
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))
        top = tl.maximum(top, tl.max(x, axis=0))
    total = 0.0
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=0.0)
        total += tl.sum(tl.exp(x - top), axis=0)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=0.0)
        tl.store(out_ptr + row + columns, tl.exp(x - top) / total, mask=columns < N)


# %%
@triton.jit
def softmax_r(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) * N
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))
    top = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - top), axis=0)
    for start in range(BLOCK, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=-float("inf"))
        tl.store(out_ptr + row + columns, tl.exp(x - top) / total, mask=columns < N)


# %% [markdown]
# First see it yourself. `shares(kernel, x, BLOCK)` launches a kernel on the rows of x. Change
# sizes, BLOCK and rows until you can say when a row is wrong.


# %%
def shares(kernel, x, BLOCK):
    """What a softmax kernel makes of the rows of x."""
    out = torch.empty_like(x)
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK)
    return out


padded = torch.randn(4, 1000, device=device)
for row, masked in enumerate((0, 300, 600, 1000)):
    padded[row, :masked] = -torch.inf
print("P: rows add up to", shares(softmax_p, padded, 512).sum(dim=1).tolist())

for N in (512, 600, 1000, 1024):
    print(f"Q: N = {N}:", shares(softmax_q, torch.randn(1, N, device=device), 512).sum().item())

for seed in range(3):
    x = torch.randn(40, 569, generator=torch.Generator().manual_seed(seed)).to(device)
    right = torch.isclose(shares(softmax_r, x, 512), torch.softmax(x, dim=1), rtol=1e-4)
    print(f"R: seed {seed}: wrong rows", torch.nonzero(~right.all(dim=1)).ravel().tolist())

# %% [markdown]
# A BLOCK of 4 makes every case small enough to be followed. `block=0` is program 0, and so row 0.
# This is P on a row that is right. Then take one that is wrong, and the two other kernels.

# %%
listing(softmax_p)

# %%
small = torch.tensor([[-torch.inf, 1.0, 2.0, 3.0, 4.0, 0.0]], device=device)
course.trace(softmax_p, block=0)[(1,)](small, torch.empty_like(small), 6, 4)

# %% [markdown]
# ### Exercise: `debug_softmax` (45 minutes)

# %%
ex.debug_softmax

# %% debug_softmax
N = 569
BLOCK = 512
MASKED = 512

debug_softmax = {
    "P_line": ...,
    "P_kind": ...,
    "P_sum": ...,
    "Q_line": ...,
    "Q_kind": ...,
    "Q_sum": ...,
    "R_line": ...,
    "R_kind": ...,
    "R_share": ...,
}
### BEGIN SOLUTION
tiles = -(-N // BLOCK)
debug_softmax = {
    "P_line": 12,  # exp(-inf - -inf), which line 15 makes a 1 of
    "P_kind": 7,
    "P_sum": N - MASKED if MASKED >= BLOCK else 1,  # each weight over 1
    "Q_line": 12,  # a 0 past the end adds exp(0 - top)
    "Q_kind": 3,
    "Q_sum": N / (tiles * BLOCK),
    "R_line": 12,  # the old total is relative to the old maximum
    "R_kind": 8,
    "R_share": 1 - BLOCK / N,  # right where the first tile has the maximum
}
### END SOLUTION

# %% debug_softmax_check
ex.debug_softmax.check(debug_softmax)

# %% [markdown]
# All three pass a test of one tile, a test of rows in descending order, and most tests with a
# tolerance "for exp". A test of such a kernel wants rows that ascend, lengths that are no multiple
# of anything, and rows that begin with -inf.

# %% [markdown]
# ## Explain
#
# A colleague has replaced a three-pass softmax by an online one, measured it on 128 rows of 1,000
# float32, and found no difference in time. The colleague concludes that the meter of this course
# counts something irrelevant. Another colleague runs the same two kernels over rows of 131,072
# float32 and finds a large difference. Explain both measurements, with bytes. Would either of them
# gain from a one-pass kernel, and what would you look at before you recommend it?

# %% [markdown] explain_passes
# ### BEGIN SOLUTION
# Rows of 1,000 float32 are 4 KB. After the first pass a program's row still lies in its SM's L1,
# so that the second and the third pass are answered there: L2 and DRAM deliver each sector once
# for both kernels. Rows of 131,072 float32 are 512 KB, more than an L1, and a row on each of 132
# SMs is more than L2 keeps. There each pass comes from DRAM: 1,661 MB of reads for three and
# 1,107 MB for two. The meter counts requests; what becomes of them depends on the length of the
# rows and on what else is in the cache. For the short rows a one-pass kernel requests a third and
# needs no cache, but DRAM would deliver no less. For the long ones a single program cannot hold
# 131,072 elements: it would spill, which is traffic that the meter does not see. Before I
# recommend one, I look at the registers and the spilled bytes that the compiler reports for this
# row length.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - Why softmax subtracts the row's maximum, and what -inf means as a logit and in a whole row.
# - **Reductions** along a row that is longer than a block: what `other` has to be, and why a
#   masked element costs no bytes.
# - **Online softmax**: the pair (top, total), the factor exp(top - new_top), why it is safe, and
#   why pairs can be merged in any order.
# - When a pass over the data is bytes from DRAM, and when a cache makes it free.
# - Why a tile lives in **registers**, how many there are, and why a **spill** is hidden traffic.
# - Where a nan comes from and where it can vanish, and which rows a test of a softmax needs.
#
# ## Where this stands in real code
#
# - The rescaled sum is due to Milakov and Gimelshein ("Online normalizer calculation for softmax",
#   2018). FlashAttention (lesson 10) rescales a sum *of vectors* in the same way, and so it never
#   stores the scores.
# - PyTorch has several softmax kernels and chooses by the row's length: short rows in the registers
#   of a warp, longer ones in passes with a block for each row.
# - GPUs compute powers of two. Kernels written for speed multiply the logits by 1.4427 (the
#   logarithm of e to base 2) and call `tl.exp2`.
# - Cross entropy (lesson 08) needs m and s of a row and not its shares, so one online pass is all
#   that it takes.
# - On Hopper GPUs a row can lie in the registers and shared memory of several SMs at once, a
#   *cluster*, so that one pass reaches further. Lesson 08 has a section about it.
#
# Next: **08 norms and losses**, which are reductions too, and ask what happens to their digits.
