# %% [markdown]
# # 08 Norms and losses
#
# Between any two matrix products of a language model stands a **norm**: it divides each row of
# numbers by the row's own size. At the end of the model stands a **loss**, one number from each row
# of scores. Both do a handful of operations with each number that they read. By lesson 05 they
# should take as long as their bytes take, and no longer. Here is what one H200 delivered in one
# run, in bytes that *have to* move over the time that they took:

# %%
from course.figures import norms as pictures

pictures.norm_speeds()

# %% [markdown]
# A copy of a large array moves 4,192 GB/s. PyTorch's RMSNorm of 32768 x 8192 numbers comes to
# 2,707: 0.40 ms for bytes that a copy moves in 0.26. The compiled version is at the speed of a
# copy. With the cross entropy both are at little over a third. **Where do the bytes go? And what
# does a sum along a row cost, when everything is on the chip?**
#
# In lesson 07 you have computed a softmax three ways. This lesson uses what you learned there, the
# running maximum and the row that is held on chip, and looks at the sum itself. About two and a
# half hours, and the bonus:
#
# | exercise | time |
# |---|---|
# | `rmsnorm` (★ core) | 35 min |
# | `layernorm` | 50 min |
# | `cross_entropy` | 65 min |
# | `rmsnorm_backward` (bonus) | 70 min |

# %%
import course

course.require_triton()  # where this lesson cannot run, a sentence says where it can

# %%
import numpy as np
import torch
import triton
import triton.language as tl

import course
from course import exercises as ex
from course.notebook.predict import compare
from course.engine.triton.compiling.compiler import to_ptx
from course.engine.triton.compiling.gate import compile_for, source_of

rng = np.random.default_rng(0)
generator = torch.Generator().manual_seed(0)


def show(traffic):
    """Prints what a launch asked for, array by array."""
    for array, direction in traffic.arrays():
        sectors = traffic.sectors(array, direction)
        print(f"{direction:6} {array:8}: {sectors:8,} sectors  {sectors * 32:10,} bytes")


# %% [markdown]
# ## 1. RMSNorm
#
# For a row x of D numbers and D weights w:
#
# > y[d] = x[d] / sqrt(mean(x²) + eps) * w[d]
#
# The root of the mean square, in short **RMS**, is the row's size; after the division every row has
# size 1, and the weights, which are learned, give each column a size of its own. (LayerNorm, the
# older of the two, subtracts the row's mean first. That is section 4.) `eps`, here 1e-5, keeps a
# row of zeros from being divided by zero. It stands *under the root*, where it is compared with x².
# Outside, next to the root, it would be compared with x, and rows with small numbers would come out
# differently.
#
# The formula has the shape of lesson 07's softmax: **no output can be written before the whole row
# has been read.** So either the row is read twice, or it stays on the chip in between. Here it can:
# rows of a norm are as long as a model is wide, a few thousand numbers. 8,192 float32 are 32 KB,
# and the registers of one SM hold 256 KB.
#
# What the other way costs, you can predict. The kernel below has two loops, as in lesson 07: one
# for the sum, one for the output.
#
# *Predict:* x has 32 rows of 1,024 float32, and w 1,024. A program takes one row. How many sectors
# do the loads of x and w touch together?

# %% predict_two_loops
prediction = ...


# %%
@triton.jit
def norm_in_two_loops(x_ptr, w_ptr, y_ptr, D, eps, STEP: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((STEP,), tl.float32)
    for start in range(0, D, STEP):
        columns = start + tl.arange(0, STEP)
        x = tl.load(x_ptr + row * D + columns, mask=columns < D, other=0.0)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / D + eps)  # 1 / root
    for start in range(0, D, STEP):
        columns = start + tl.arange(0, STEP)
        x = tl.load(x_ptr + row * D + columns, mask=columns < D, other=0.0)
        w = tl.load(w_ptr + columns, mask=columns < D, other=0.0)
        tl.store(y_ptr + row * D + columns, x * scale * w, mask=columns < D)


x = torch.randn(32, 1024, generator=generator)
w = torch.ones(1024)
y = torch.empty_like(x)

with course.measure() as traffic:
    norm_in_two_loops[(32,)](x, w, y, 1024, 1e-5, STEP=256)

compare(prediction, traffic.loads.sectors, "load sectors")

# %%
show(traffic)

# %% [markdown]
# x twice, and w as often as x once: each program needs all D weights. In your version the second
# read of x goes. What about w? 32 programs read the same 4 KB, so that nearly all of them find it
# in a cache; but they do ask for it, and the meter counts that. Section 4 asks what it costs.
#
# ### Exercise: `rmsnorm` (35 minutes, ★ core)
#
# One program, one row, one load of it. The exercise also comes with float16 arrays: read section 3
# if you want to know in advance why the line `.to(tl.float32)` matters.

# %%
ex.rmsnorm

# %% rmsnorm
import triton
import triton.language as tl


@triton.jit
def rmsnorm(x_ptr, w_ptr, y_ptr, D, eps, BLOCK: tl.constexpr):  # x, y: (M, D), w: (D,)
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    ### BEGIN SOLUTION
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)  # read MD
    w = tl.load(w_ptr + columns, mask=inside).to(tl.float32)  # read D a program: MD
    mean_square = tl.sum(x * x, axis=0) / D
    y = x * tl.rsqrt(mean_square + eps) * w
    tl.store(y_ptr + row * D + columns, y, mask=inside)  # write MD
    ### END SOLUTION


# %% rmsnorm_check
ex.rmsnorm.check(rmsnorm)

# %% [markdown]
# <details><summary>What if D is no power of two?</summary>
# <p>A block in Triton is always a power of two long, so a row of 1,000 sits in a block of 1,024.
# The elements past D load <code>other=0.0</code>, which adds nothing to a sum of squares; and the
# mean is divided by D, not by BLOCK. A row of 1,025 would take a block of 2,048, half of it empty:
# it costs registers, and no bytes.</p>
# </details>
#
# ## 2. What `tl.sum` does
#
# You wrote `tl.sum(x * x, axis=0)`, and a thousand numbers became one. A thread alone would add
# them one after the other, and each addition has to wait for the one before. In lesson 00 a
# multiply-add took 2.1 ns on an H200: a chain of 1,023 of them takes 2.1 microseconds, more than
# five times as long as one number takes from device memory. The way out is that the *order* of
# additions is free. Add in pairs, then pairs of pairs:

# %%
pictures.chain_and_tree()

# %% [markdown]
# Both do the same number of additions. But those of one round do not wait for each other, so with
# enough hands the time goes with the number of rounds: **log2 of the number of values**. 3 rounds
# for 8, 10 for 1,024, 20 for a million. This is called a **tree reduction**, and you have built one
# in lesson 03. Any operation can take the place of the + if its order does not matter: max, min,
# and also "combine two pairs (maximum, rescaled sum)", which is what lesson 07's online softmax
# does.
#
# On a GPU the rounds are not all alike. The next partner of a value may sit in the same thread, in
# another lane, in another warp, or on another SM, and each step further away costs more:

# %%
pictures.levels_of_a_reduction()

# %% [markdown]
# - **Thread.** Each thread first adds what it holds itself. Registers, 2.1 ns an addition, and
#   since all threads do it at the same time, this is where most of the additions happen: with 128
#   threads, 7 of every 8.
# - **Warp.** Lanes exchange registers with **shuffles** (lesson 03): no memory, no barrier. 32
#   lanes are 5 rounds.
# - **Block.** Warps cannot shuffle with each other. Each stores its sum to shared memory, all wait
#   at a barrier, and the few sums are added by one more short tree. A read from shared memory is 21
#   ns (lesson 00), and a barrier is as slow as the slowest warp.
# - **Cluster.** Hopper (H100, H200) can start a group of blocks on neighbouring SMs that may read
#   each other's shared memory. Section 6 says when that is needed.
# - **Grid.** Blocks that know nothing of each other meet in global memory: by atomics, or in a
#   second kernel. A round trip to the L2 cache is 152 ns, and a second kernel is a launch of its
#   own, 9 microseconds (lesson 01). This level is used once, at the very end.
#
# So: *finish as much as possible on the lowest level.* Triton arranges this by itself. You can look
# at what it has arranged, without a GPU: the cell below compiles a kernel for an A100 to **PTX**,
# the assembly language of NVIDIA's GPUs, and counts instructions in it. Lesson 09 will read more of
# it; here it is enough that `shfl.sync` is a shuffle round, `bar.sync` a barrier and `fma` a
# multiply-add.
#
# *Predict:* a program of 4 warps sums the squares of 1,024 float32. How many rounds of shuffles are
# in its code?

# %% predict_shuffles
prediction = ...


# %%
@triton.jit
def mean_square(x_ptr, out_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + columns, mask=columns < D, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(x * x, axis=0) / D)


def assembly(D, dtype=torch.float32, warps=4):
    """The PTX of mean_square for rows of D numbers."""
    x, out = torch.empty(4, D, dtype=dtype), torch.empty(4)
    options = {"BLOCK": triton.next_power_of_2(D), "num_warps": warps}
    return to_ptx(source_of(mean_square, (x, out, D), options), 80).ptx


compare(prediction, assembly(1024).count("shfl.sync"), "rounds of shuffles")

# %%
print("warps   multiply-adds a thread   shuffles   barriers")
for warps in (1, 4, 8):
    ptx = assembly(1024, warps=warps)
    counts = [ptx.count(name) for name in ("fma.rn.f32", "shfl.sync", "bar.sync")]
    print(f"{warps:5} {counts[0]:20} {counts[1]:14} {counts[2]:10}")

# %% [markdown]
# One warp: each lane has 32 values of its own (a product and 31 multiply-adds), then 5 rounds, and
# no barrier at all. Four warps: 8 values a thread, 5 rounds within each warp, two barriers around
# the exchange in shared memory, and 2 rounds for the 4 sums. Eight warps: 3 rounds for 8 sums.
#
# More warps make the thread's part shorter and the block's part longer. They also bring more loads
# on their way at once, which is what a memory-bound kernel lives on (lesson 05). For short rows few
# warps are best, for long rows many: `num_warps` is a number to *try*.
#
# ### Wide loads
#
# The other half of a fast row is how it comes in. A thread can load 4, 8 or 16 bytes with one
# instruction. If it takes 16, a warp's request is for 512 bytes at once: fewer instructions, and
# more bytes on their way for each of them. The compiler may do that only if it *knows* that the
# address is a multiple of 16 bytes.
#
# *Predict:* a program of 4 warps (128 threads) loads a row of 1,024 float32. How many load
# instructions does each thread need, if each loads as much as it can?

# %% predict_loads
prediction = ...

# %%
compare(prediction, assembly(1024).count("ld.global"), "load instructions")

# %%
for D, dtype in ((1024, torch.float32), (1024, torch.float16), (1000, torch.float32)):
    ptx = assembly(D, dtype)
    wide = ptx.count("ld.global.v4")
    print(f"rows of {D} {dtype}: {ptx.count('ld.global')} loads, {wide} of them of 16 bytes")

# %%
pictures.vector_loads()

# %% [markdown]
# Rows of 1,000 float32 *do* begin at multiples of 16 bytes: 4,000 is one. But D is a number that
# the kernel gets when it is launched, and there Triton looks at one thing: is it a multiple of 16?
# 1,000 is not, so it must assume the worst, and loads 4 bytes at a time. Which lane loads which 4
# is its choice. In `mean_square` neighbouring lanes take neighbours: the same sectors, in four
# times as many requests. In the plainest `rmsnorm` (Triton 3.7) each lane takes four neighbours,
# one after the other, and each of the four loads touches all the sectors again: over 4 rows of
# 1,000 L1 counts 2,000 sectors of x, where each once they are 500. (The checks grade the 500:
# lesson 06.) That is one more reason why models are wide by multiples of 64 or 128.
#
# ## 3. Sums need room
#
# Weights and activations are often float16: half the bytes. float16 ends at 65,504, and has 11
# binary digits. A number of 16 is nothing special in a network. Its square is 256, and the sum of
# 1,024 such squares is 262,144.


# %%
@triton.jit
def sum_of_squares(x_ptr, out_ptr, WIDE: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 1024))
    if WIDE:
        x = x.to(tl.float32)
    tl.store(out_ptr, tl.sum(x * x, axis=0))


sixteens = torch.full((1024,), 16.0, dtype=torch.float16)
out = torch.empty(1)
for wide in (False, True):
    sum_of_squares[(1,)](sixteens, out, WIDE=wide)
    print("in float32:" if wide else "in float16:", out.item())

# %% [markdown]
# `tl.sum` adds in the type of what it is given. The mean would be 256, which float16 holds; the sum
# on the way to it does not fit. An infinite mean square gives y = 0, with no error and no warning.
# And where nothing overflows, digits are lost: at 2,048 float16 counts in steps of 2, so that 2,048
# plus 1 is 2,048. **Store in 16 bits, compute in 32** (lesson 05) is needed most of all for sums.
# It costs nothing here: the conversion happens in registers, after the load.
#
# A tree helps too. In a chain the sum grows large early, and every later addition rounds at that
# size: the error can grow with the number of terms. In a tree it grows with the number of rounds.

# %%
ones = np.full(2**24, 0.1, np.float32)
print("as a chain:", np.cumsum(ones)[-1])
print("as a tree: ", ones.sum())  # NumPy adds in blocks and pairs
print("exactly:   ", float(np.float32(0.1)) * 2**24)

# %% [markdown]
# ## 4. LayerNorm
#
# > y[d] = (x[d] - mean) / sqrt(variance + eps) * w[d] + b[d]
#
# Two statistics instead of one: the row's mean, and its **variance**, the mean of (x - mean)². That
# looks like two sweeps over the row, one after the other. Everybody who sees it finds the shortcut:
#
# > variance = mean(x²) - mean²
#
# Both sums in one sweep! On paper it is exact. Take a row with values around 1,000 that vary by
# about 1.
#
# *Predict:* mean(x²) is then about a million. How far apart are neighbouring float32 numbers there?
# (A float32 has 24 binary digits, and a million has 20 before the point.)

# %% predict_spacing
prediction = ...

# %%
compare(prediction, float(np.spacing(np.float32(1e6))), "apart")

# %%
for centre in (0, 100, 1000, 10000):
    row = rng.normal(centre, 1, 512).astype(np.float32)
    mean = row.mean()
    shortcut = (row * row).mean() - mean * mean
    centred = ((row - mean) ** 2).mean()
    exact = row.astype(np.float64).var()
    print(f"around {centre:5}: shortcut {shortcut:9.5f}, centred {centred:.5f}, exact {exact:.5f}")

# %% [markdown]
# Two numbers of a million are known to 1/16 or so, and the difference wanted is 1. That is called
# **cancellation**: the leading digits, which were right, vanish, and what was rounded off comes to
# the front. Around 10,000 the shortcut says nothing at all; it can even be negative, and then the
# root is NaN.
#
# And the second sweep is free here. *The row is in registers.* Subtracting first costs one more
# reduction, a few shuffles, and not one byte.
#
# <details><summary>And if the row did not fit?</summary>
# <p>Then sums can be combined as well, with care. Keep three numbers for each part of the row: the
# count n, the mean, and S, the sum of squared distances from that mean. Two parts a and b, with the
# distance t = mean_b - mean_a, make n = n_a + n_b, mean = mean_a + t n_b / n and S = S_a + S_b + t²
# n_a n_b / n. Nothing large is subtracted from anything large. This is Welford's method in the form
# for trees, and like the pair of the online softmax it may be combined in any order, lane by lane,
# warp by warp, block by block.</p>
# </details>
#
# One trap is left. The elements past D hold 0, which is right for the mean. But after the
# subtraction they hold *-mean*, and their squares would be added to the variance.
#
# ### What weights cost, and what spills cost
#
# w and b are the same for all rows, and with a program a row every program loads them. A program
# that takes several rows, side by side in a tile, needs them once:

# %%
pictures.rows_of_a_program()

# %% [markdown]
# *Predict:* x has 32 rows of 1,024 float32, and a program takes 4 of them. How many sectors do all
# loads of w touch?

# %% predict_weights
prediction = ...


# %%
@triton.jit
def weigh(x_ptr, w_ptr, y_ptr, D, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    tile = rows[:, None] * D + columns[None, :]  # (ROWS, BLOCK)
    w = tl.load(w_ptr + columns)  # (BLOCK,)
    tl.store(y_ptr + tile, tl.load(x_ptr + tile) * w[None, :])


sectors = {}
for ROWS in (1, 2, 4, 8):
    with course.measure() as traffic:
        weigh[(32 // ROWS,)](x, w, y, 1024, ROWS=ROWS, BLOCK=1024)
    sectors[ROWS] = traffic.sectors("w_ptr", "load")

compare(prediction, sectors[4], "load sectors")

# %%
for ROWS, count in sectors.items():
    print(f"{ROWS} rows a program, {32 // ROWS:2} programs: {count:5,} sectors of w")

# %% [markdown]
# So more rows ask for less. Are they faster? LayerNorm of 32,768 float16 rows on an H200, with
# tiles of 1, 2, 4 and 8 rows, in GB/s of what has to move (`python -m tools.full_size`):
#
# | rows of a tile | D = 1,024 | D = 4,096 | D = 8,192 |
# |---|---|---|---|
# | 1 | 3,413 | 3,976 | 4,114 |
# | 2 | 3,722 | 4,032 | 4,085 |
# | 4 | 3,582 | 3,935 | **198** |
# | 8 | 3,485 | **214** | **198** |
#
# **Weights cost little**: all programs load the same few kilobytes, so nearly every one of these
# loads is served by a cache, and what a program waits for is its row of x, from device memory.
# **Spills cost a lot.** A program has 4 warps, 128 threads. A tile of 4 x 8,192 is 256 numbers for
# each of them, and a thread has 255 registers at most. What does not fit is spilled (lesson 07),
# kilobytes for each thread. Twenty times slower, for fewer bytes of w: no request of the kernel's
# own says so. The check looks at what the compiler reports.
#
# ### Exercise: `layernorm` (50 minutes)
#
# A row a program is the plain way, and gets full points. ROWS may be more, as a tile or as a loop
# over the rows, as long as nothing is spilled in rows of 8,192.

# %%
ex.layernorm

# %% layernorm
import triton
import triton.language as tl

ROWS = 1  # rows of a program: 1, 2, 4 or 8


@triton.jit
def layernorm(x_ptr, w_ptr, b_ptr, y_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    ### BEGIN SOLUTION
    row = tl.program_id(0)  # ROWS is 1
    inside = columns < D
    x = tl.load(x_ptr + row * D + columns, mask=inside, other=0.0).to(tl.float32)  # read MD
    mean = tl.sum(x, axis=0) / D
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / D
    w = tl.load(w_ptr + columns, mask=inside).to(tl.float32)  # read D a program: MD
    b = tl.load(b_ptr + columns, mask=inside).to(tl.float32)  # read D a program: MD
    y = centred * tl.rsqrt(variance + eps) * w + b
    tl.store(y_ptr + row * D + columns, y, mask=inside)  # write MD
    ### END SOLUTION


# %% layernorm_check
ex.layernorm.check(layernorm)

# %% [markdown]
# ## 5. Cross entropy
#
# A language model ends in **logits**: for each position one score for each of V tokens of its
# vocabulary. Softmax makes probabilities of them, and the loss is how surprised the model is by the
# token that really came, its **target** t:
#
# > loss = -log(softmax(z)[t]) = log(sum of exp(z)) - z[t]
#
# The log of the sum of exponentials is the **log-sum-exp**, in short lse. So the loss needs two
# numbers of a row: its lse, and one logit. No probability appears.
#
# V is large. GPT-2 has 50,257 tokens; for 8,192 positions in float16 the logits are 823 MB, often
# the largest array of a training step. If one writes the loss as in the textbook, softmax, log,
# pick, an array of that size is written to pick one number of each row. Count in units of it:

# %%
pictures.ways_to_the_loss()

# %% [markdown]
# In the measurement at the top PyTorch took 0.36 ms for logits of 537 MB, the time in which a copy
# moves them 2.8 times. Now the rows are too long to be held. But nothing has to be held: after the
# first loop of lesson 07's `softmax_online`, the maximum m and the rescaled sum s are known, and
# lse = m + log(s). One pass, and it is over.
#
# *Predict:* 16 rows of 4,096 float32 logits. Each program also loads one target (an int64) and, by
# itself, the one logit that it names. How many load sectors in all, as the checks count?

# %% predict_loss
prediction = ...

# %%
compare(prediction, 16 * 4096 * 4 // 32 + 16 + 16, "load sectors")

# %% [markdown]
# A lone number costs a whole sector. The same goes for the two results of each row.
#
# Four things deserve care:
#
# - **The ragged end.** An element past V must add nothing: exp of what is 0?
# - **-inf.** A token that is not allowed gets the logit -inf, and exp(-inf) = 0 is right. But while
#   *all* logits so far are -inf, so is the maximum, and -inf - (-inf) is NaN.
# - **Padding.** Vocabularies are padded, so that rows begin at a sector and loads can be wide:
#   50,257 becomes 50,304. So rows begin `stride` elements apart, and what lies between V and the
#   stride is nobody's logit.
# - **Wrong targets.** A target of -1, or of V, is a mistake in the data. A kernel that trusts it
#   reads somewhere else and returns a number that looks like a loss. Here the rule is: such a row
#   has the loss **inf**. The probability of a token that does not exist is 0, and -log(0) is inf;
#   it will not go unnoticed in a mean. (Libraries choose differently. PyTorch stops with an error,
#   except for one value, -100 unless told otherwise, which means "no target here" and counts as 0.)
#
# ### Exercise: `cross_entropy` (65 minutes)

# %%
ex.cross_entropy

# %% cross_entropy
import triton
import triton.language as tl

BLOCK = 1024  # 256, 512, 1024 or 2048


@triton.jit
def cross_entropy(logits_ptr, targets_ptr, loss_ptr, lse_ptr, V, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    ### BEGIN SOLUTION
    logits_ptr += row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + columns, mask=columns < V, other=-float("inf"))  # read MV
        z = z.to(tl.float32)
        new_top = tl.maximum(top, tl.max(z, axis=0))
        finite = tl.where(new_top == -float("inf"), 0.0, new_top)  # -inf - (-inf) is NaN
        total = total * tl.exp(top - finite) + tl.sum(tl.exp(z - finite), axis=0)
        top = new_top
    lse = top + tl.log(total)
    target = tl.load(targets_ptr + row)  # read M
    known = (target >= 0) & (target < V)
    own = tl.load(logits_ptr + target, mask=known, other=-float("inf"))  # read M
    tl.store(loss_ptr + row, lse - own.to(tl.float32))  # write M
    tl.store(lse_ptr + row, lse)  # write M
    ### END SOLUTION


# %% cross_entropy_check
ex.cross_entropy.check(cross_entropy)

# %% [markdown]
# <details><summary>Why is the lse stored?</summary>
# <p>For the backward pass. The gradient of the loss by logit v is exp(z[v] - lse), less 1 where v
# is the target. With the lse at hand that is one read and one write of the logits, with no
# reduction at all. FlashAttention (lessons 10 and 11) stores the lse of each row of its scores for
# the same reason.</p>
# </details>
#
# <details><summary>Is a reduction in every step of the loop not slow?</summary>
# <p>It is a few shuffles and two barriers for each BLOCK of logits, twice, and the loads of the
# next step can be on their way meanwhile. One can do without: let each element of the block keep a
# maximum and a sum of its own, and combine them once, after the loop, in a tree. A pair is more
# work to combine than a number, so it is worth it for small blocks. Both ways pass.</p>
# </details>
#
# ## 6. A row that does not fit
#
# The norms hold a row in registers. How long may it be? An SM has 65,536 registers of 4 bytes, 256
# KB, and a thread at most 255; the rest is spilled, which the compiler's report tells and the meter
# does not. The cell below compiles a norm for an H200 with longer and longer rows (this takes some
# seconds).
#
# *Predict:* a program of 4 warps holds a row of 32,768 float32. How many registers would each
# thread need for the row alone?

# %% predict_registers
prediction = ...

# %%
compare(prediction, 32768 // 128, "registers a thread")


# %%
@triton.jit
def normalise(x_ptr, y_ptr, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * D + columns, mask=columns < D, other=0.0)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / D)
    tl.store(y_ptr + row * D + columns, y, mask=columns < D)


print("     row   warps   registers a thread   spilled bytes a thread")
for D, warps in ((4096, 4), (8192, 4), (32768, 4), (32768, 16), (65536, 32)):
    row = torch.empty(1, D)
    made = compile_for(normalise, (row, row, D), {"BLOCK": D, "num_warps": warps}, target=90)
    print(f"{D:8,} {warps:7} {made.registers:14} {made.spill_bytes:20}")

# %% [markdown]
# 256 registers for the row, and 255 is the most. More warps share a row among more threads: with 16
# warps a row of 32,768 fits. At 65,536 the row alone is 256 KB, all registers that there are, and
# it cannot fit, with any number of warps.
#
# So for very long rows there are two ways. Read twice, as in lesson 07. Or, on Hopper, a
# **cluster**: up to 8 blocks (16 if the kernel asks for it) that run at the same time on
# neighbouring SMs, with a barrier of their own, and that may read and write *each other's* shared
# memory. Each holds a piece of the row. It adds up its piece, thread, warp, block; then the blocks
# exchange one number each, and every block finishes its own piece:

# %%
pictures.row_in_a_cluster()

# %% [markdown]
# CUDA C++ has words for this level, and so has NVIDIA's CuTe DSL for Python. In Triton a launch may
# spread one program over a cluster (`num_ctas`), which few kernels do. QuACK, a library of norms,
# softmax and cross entropy in the CuTe DSL, uses clusters for long rows.
#
# ## Bonus: RMSNorm, backward
#
# Training needs the gradient: given dy, how the loss changes with y, find dx and dw. With s = 1 /
# sqrt(mean(x²) + eps) and n = x s, so that y = n w:
#
# - **dw.** Each row contributes dy[m, d] n[m, d] to weight d. So dw[d] is the sum of that down the
#   column, over all rows.
# - **dn** = dy w, element by element.
# - **dx.** x[d] acts in two ways. Directly, through n[d] = x[d] s: that gives s dn[d]. And through
#   s, which all elements of the row share: the derivative of s by x[d] is -s³ x[d] / D, and s
#   changes the loss by the sum of dn[j] x[j]. Together, with n for x s:
#
# > dx[d] = s (dn[d] - n[d] mean(dn n))
#
# It is worth checking a derivation before it becomes a kernel. PyTorch can differentiate by itself:

# %%
x64 = torch.randn(5, 12, dtype=torch.float64, generator=generator, requires_grad=True)
w64 = torch.randn(12, dtype=torch.float64, generator=generator, requires_grad=True)
dy = torch.randn(5, 12, dtype=torch.float64, generator=generator)
s = torch.rsqrt((x64 * x64).mean(dim=1, keepdim=True) + 1e-5)
(x64 * s * w64).backward(dy)

with torch.no_grad():
    n, dn = x64 * s, dy * w64
    dx = s * (dn - n * (dn * n).mean(dim=1, keepdim=True))
    print("dx, largest difference:", float((dx - x64.grad).abs().max()))
    print("dw, largest difference:", float(((dy * n).sum(dim=0) - w64.grad).abs().max()))

# %% [markdown]
# dx needs a sum *along* a row, which a program has whole. dw needs a sum *down* a column, and its
# rows are shared out to all programs: the grid, the top of the hierarchy. As always, add up as much
# as possible further down first:

# %%
pictures.two_directions()

# %% [markdown]
# A program takes ROWS rows, one after the other, and keeps its part of dw in registers. It stores
# the part once. Then M / ROWS rows of parts are left to add, which the host does here, and a
# second, small kernel in a library.
#
# *Predict:* x is 64 x 1,024 float16, and a program takes 8 rows. The parts are float32. How many
# sectors do all stores of parts touch?

# %% predict_parts
prediction = ...

# %%
compare(prediction, 64 // 8 * 1024 * 4 // 32, "store sectors")

# %% [markdown]
# ### Exercise: `rmsnorm_backward` (bonus, 70 minutes)

# %%
ex.rmsnorm_backward

# %% rmsnorm_backward
import triton
import triton.language as tl

ROWS = 8  # rows of a program: 8 or 16


@triton.jit
def rmsnorm_backward(
    x_ptr, w_ptr, dy_ptr, dx_ptr, parts_ptr, M, D, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    program = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    ### BEGIN SOLUTION
    inside = columns < D
    w = tl.load(w_ptr + columns, mask=inside, other=0.0).to(tl.float32)  # read D a program
    dw = tl.zeros((BLOCK,), tl.float32)
    for row in range(program * ROWS, min(program * ROWS + ROWS, M)):
        at = row * D + columns
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)  # read MD
        dy = tl.load(dy_ptr + at, mask=inside, other=0.0).to(tl.float32)  # read MD
        scale = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        n = x * scale
        dn = dy * w
        dx = scale * (dn - n * (tl.sum(dn * n, axis=0) / D))
        tl.store(dx_ptr + at, dx, mask=inside)  # write MD
        dw += dy * n
    tl.store(parts_ptr + program * D + columns, dw, mask=inside)  # write D a program
    ### END SOLUTION


# %% rmsnorm_backward_check
ex.rmsnorm_backward.check(rmsnorm_backward)

# %% [markdown]
# (Frameworks often store s in the forward pass, one number a row, and read it here. That saves a
# reduction and no traffic worth naming: the row has to be read anyway.)
#
# ## Explain
#
# A friend's LayerNorm works on 16,384 rows of 4,096 float16 numbers, and is slow. The friend has
# four ideas:
#
# 1. "Compute mean(x²) - mean² in one sweep. That saves a pass."
# 2. "Add in float16. That saves the conversion, and additions are twice as fast."
# 3. "Read x again for the output, and free the registers. The second read comes from the cache."
# 4. "At the moment a program takes one row and loads w and b for it. Let it take four."
#
# For each: what becomes of the bytes that are asked for, what of the answer, and would you do it?

# %% [markdown] explain_layernorm
# ### BEGIN SOLUTION
# 1. It saves no bytes: the row is loaded once and lies in registers, so the second sweep is a
#    second reduction, some shuffles and a barrier. The answer gets worse, because mean(x²) and
#    mean² are nearly equal where the mean is large against the spread: their leading digits cancel,
#    and the variance may come out far off or negative. No.
# 2. No bytes either, since the conversion happens in registers. The answer breaks: 4,096 squares
#    add up to more than 65,504 as soon as they are 16 on average, that is for values of size 4, and
#    well below that digits are lost. The kernel waits for memory and not for additions, so faster
#    additions would not be seen. No.
# 3. x is asked for twice: 3 times the array moves (two reads, a write) in place of 2. The second
#    read may come from L1 or L2, but it has to be asked for and waited for, and with many rows
#    under way at once not all of it is still there. A row of 4,096 takes 32 registers a thread with
#    4 warps, which is no shortage. No.
# 4. In float16 a row is 8 KB, and so are w and b: at a row a program the kernel asks for 8 KB each
#    of x, y, w and b, 32 KB a row. With four rows a program w and b are 2 KB a row each, 20 KB in
#    all, and the answer stays the same. But caches serve those reads, so little is won: an H200 had
#    3,935 GB/s with four rows and 3,976 with one. And four rows take four times the registers: with
#    eight, or with four of 8,192, they spill, and it is about 200. No.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - Why a norm needs each row whole, and how it comes to **one read and one write**.
# - A **tree reduction**: log2 rounds, and its **levels**: thread, warp, block, cluster, grid; what
#   each costs, and why one finishes as much as possible on the lowest.
# - **Wide loads**: what the compiler must know, and why the checks do not see them.
# - Why sums are taken in float32, why eps stands under the root, and what **cancellation** does to
#   mean(x²) - mean².
# - **Cross entropy** as log-sum-exp less one logit, in one pass, without a single probability.
# - A reduction in **two directions**: along rows within a program, down columns over parts.
# - **Spills**: how long a row may be, and what a **cluster** adds.
#
# ## Where this stands in real code
#
# - **Liger Kernel**, a library of Triton kernels for training, has RMSNorm, LayerNorm and cross
#   entropy built like yours. Its cross entropy goes one step further and writes the gradient over
#   the logits in the same kernel, so that no second array of that size exists.
# - **vLLM** and other servers fuse the addition that stands before a norm in a transformer (the
#   residual) with the norm: one kernel reads both, writes the sum and its norm.
# - **QuACK** has these kernels in the CuTe DSL, with reductions up to the cluster.
# - **Triton's tutorials** have a LayerNorm whose backward pass collects dw in groups of rows, as
#   you did.
# - Some losses never see their logits: the last matrix product and the cross entropy are done tile
#   by tile in one kernel ("cut cross entropy"), with the online maximum and sum between tiles.
#   After lesson 10 you will be able to read it.
#
# Next: **09 matmul in Triton, and fusion**, where a tile is multiplied in one line, and what
# follows the product happens before it is stored.
