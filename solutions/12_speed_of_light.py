# %% [markdown]
# # 12 Speed of light
#
# Your matmul of lesson 09 passed every check. On an H200 it multiplies 4096 x 4096 matrices at 325
# TFLOP/s. cuBLAS, on the same GPU in the same minute, runs at 766. **Where is the rest, and how
# does one find out?**
#
# The **speed of light** of a kernel is the least time that a GPU needs for its work: so many bytes,
# so many operations, no waiting. No kernel is faster. This lesson is about the distance to it: how
# to measure it without fooling yourself, how to read why it is there, and how to choose tiles so
# that it shrinks. At its end you will have found the configuration that brings 325 to 734.
#
# All times are from one H200 and are stored with this course. You need no GPU. Three sittings,
# about five hours:
#
# | exercise | time |
# |---|---|
# | `own_roofline` | 30 min |
# | `broken_benchmark` | 35 min |
# | `read_profile` | 45 min |
# | `limiter` | 25 min |
# | `tile_arithmetic` | 40 min |
# | `tile_pick` | 60 min |
# | `rope_heads` | 75 min |

# %%
from course import exercises as ex
from course.exercises import speed_of_light as record
from course.figures import speed_of_light as pictures
from course.notebook.predict import compare

provenance = record.RECORD["provenance"]
print(provenance["gpu"], "| recorded", provenance["date"], "|", provenance["command"])
print(", ".join(f"{name} {provenance[name]}" for name in ("torch", "triton", "numba", "ncu")))

# %% [markdown]
# ## 1. The ceilings of *this* GPU
#
# Lesson 05 took its roof from a data sheet: 4.8 TB/s and 989 TFLOP/s. No program reaches those. A
# **measured ceiling** is what the best program at hand reaches on the GPU at hand: a large copy for
# bytes, cuBLAS for operations.

# %%
for name, value in record.CEILINGS.items():
    print(f"{name:16} {value:8,.1f}")

# %% [markdown]
# (`COPY_GB_S` counts bytes read and bytes written. The products have sides of 8192 in float16 and
# 4096 in float32; float32 runs without tensor cores.)
#
# *Predict:* an add reads two arrays of 67,108,864 float32 numbers and writes a third. How many
# microseconds does this GPU need at least?

# %% predict_add_us
prediction = ...

# %%
add_us = 3 * 4 * 67_108_864 / record.CEILINGS["COPY_GB_S"] / 1000
compare(prediction, add_us, "us", tolerance=0.02)
print(f"your triton_add took {record.RECORD['kernels']['triton_add']['us']} us")

# %% [markdown]
# So `triton_add` is done. (It is 1 % faster than the copy: a measured ceiling is no more exact than
# that.) It runs at the speed of light, and whoever works on it further wastes an evening. That is
# the first use of a ceiling: to know when to stop.
#
# ### Exercise: `own_roofline`
#
# This cell differs from those of other lessons. **Your entries are formulas.** The names above them
# hold the first case, so that the cell runs as it is. The check puts other values in their place,
# and tries your formula on four runs. The four:

# %%
print("RUN                          FLOP       BYTES      US  PEAK_TFLOP_S")
for kernel, row in zip(record.ON_ROOFLINE, record.ROOFLINE[:4], strict=False):
    work = f"{row['FLOP']:15,} {row['BYTES']:11,} {row['US']:7,.1f} {row['PEAK_TFLOP_S']:13.1f}"
    print(f"{row['RUN']}  {kernel:14}{work}")

# %%
ex.own_roofline

# %% own_roofline
RUN = 1  # triton_add
FLOP = 67_108_864
BYTES = 805_306_368
US = 188.3
PEAK_TFLOP_S = 50.8
COPY_GB_S = 4241.8

own_roofline = {
    "intensity": ...,
    "least_us": ...,
    "of_roof": ...,
    "bound": ...,
}
### BEGIN SOLUTION
compute_us = FLOP / PEAK_TFLOP_S / 10**6
memory_us = BYTES / COPY_GB_S / 10**3
own_roofline = {
    "intensity": FLOP / BYTES,
    "least_us": max(compute_us, memory_us),  # both go on at the same time
    "of_roof": max(compute_us, memory_us) / US,
    "bound": 1 if compute_us > memory_us else 2,
}
### END SOLUTION

# %% own_roofline_check
ex.own_roofline.check(own_roofline)

# %% [markdown]
# Here are sixteen kernels of this course under that roof. A filled mark is ours. A hollow one is
# PyTorch, with cuBLAS and cuDNN behind it, on the same numbers in the same run.

# %%
pictures.one_roofline()

# %% [markdown]
# Look for three kinds of distance. `triton_add` lies on the slope: finished. `dot` hangs far below
# it, though its code is right: its launch has sixteen blocks. The matmuls lie right of the knee, so
# bytes are not what they *must* wait for, and still they do not reach the flat roof. Each kind has
# another remedy. But first: can the numbers be trusted?

# %% [markdown]
# ## 2. Benchmarks that lie
#
# A GPU works by itself. The host hands over a launch and goes on at once: a launch is
# **asynchronous**. So the host's clock measures the host, unless somebody waits. An **event** is a
# mark that the GPU itself sets, with its own clock, when it gets there. **Warm-up** means the calls
# before the clock starts: the first one compiles the kernel and loads it. And the **L2** keeps what
# was used last, 60 MB on an H200: data that lies there does not come from memory.
#
# Five programs. Each was run as it stands; `add` is a Triton kernel like yours.
#
# ```python
# # P: x has 67,108,864 elements; add was never called before
# begin = perf_counter(); add(x, x); synchronize(); end = perf_counter()
#
# # Q: the same size, after some calls; microseconds a call
# begin = perf_counter()
# for _ in range(100): add(x, y, out)
# end = perf_counter()
#
# # R: arrays of 1,048,576 elements; events before and after 50 calls
# start.record()
# for _ in range(50): torch.add(a, b, out=c)
# stop.record(); stop.synchronize()
#
# # S: arrays of 4,096 elements; microseconds a call
# begin = perf_counter()
# for _ in range(2000): add(a, b, c)
# synchronize(); end = perf_counter()
#
# # T: float16, 8192 x 8192; events, warm, L2 cleared
# a, b = torch.zeros(8192, 8192), torch.zeros(8192, 8192)
# start.record(); a @ b; stop.record()
# ```

# %%
print("          wrong us     right us  work")
for letter, row in record.BENCHMARKS.items():
    work = f"{row['bytes']:12,} bytes" if "bytes" in row else f"{row['flop']:12.3g} FLOP"
    print(f"{letter}  {row['wrong_us']:15,.2f} {row['right_us']:12,.2f} {work}")

# %% [markdown]
# The right figure is a median of at least five runs, by events on a warm kernel, with a fresh
# gigabyte written before each so that the L2 holds nothing of ours, on random data.
#
# ### Exercise: `broken_benchmark`

# %%
ex.broken_benchmark

# %% broken_benchmark
broken_benchmark = {
    "P_mistake": ...,
    "P_times": ...,
    "P_repair": ...,
    "Q_mistake": ...,
    "Q_of_copy": ...,
    "Q_repair": ...,
    "R_mistake": ...,
    "R_mb": ...,
    "R_repair": ...,
    "S_mistake": ...,
    "S_idle": ...,
    "S_repair": ...,
    "T_mistake": ...,
    "T_tflop_s": ...,
    "T_repair": ...,
}
### BEGIN SOLUTION
broken_benchmark = {
    "P_mistake": 3,
    "P_times": 1_607_560 / 188.2,
    "P_repair": 2,
    "Q_mistake": 2,
    "Q_of_copy": 805_306_368 / 15.1 / 1000 / 4241.8,
    "Q_repair": 5,
    "R_mistake": 4,
    "R_mb": 3 * 4 * 1_048_576 / 1e6,
    "R_repair": 1,
    "S_mistake": 5,
    "S_idle": 1 - 3.6 / 15.6,
    "S_repair": 3,
    "T_mistake": 1,
    "T_tflop_s": 2 * 8192**3 / 1232.4 / 10**6,
    "T_repair": 4,
}
### END SOLUTION

# %% broken_benchmark_check
ex.broken_benchmark.check(broken_benchmark)

# %% [markdown]
# The usual explanation of T: multipliers whose inputs do not change draw less power, and a GPU that
# draws less power keeps a higher clock.
#
# Q is the worst of the five, because it is *good news*. **A figure well above a ceiling is a broken
# benchmark.** Whoever knows the ceiling finds the mistake in a second.

# %% [markdown]
# ## 3. Reading a report
#
# Nsight Compute, `ncu`, counts what a kernel did. It shows hundreds of numbers. Few of them decide:
#
# | column | what it is |
# |---|---|
# | `WAVES` | blocks of the launch over blocks that the GPU holds at once (lesson 05) |
# | `LOCAL_SECTORS` | sectors loaded of registers that **spilled**: did not fit, and lie in memory |
# | `DRAM`, `L2`, `L1` | percent of the peak of each level; `L1` and shared memory are one unit |
# | `SM` | percent of the peak of an SM's busiest **pipe** (see below) |
# | `TENSOR` | percent of the tensor cores' peak |
#
# A **pipe** is a unit of an SM for one kind of instruction; what issues instructions counts as one.
# A unit above about 75 percent is **full**: it is what the kernel waits for, its **limit**. A
# report in which nothing is full has a limit, too: warps wait for one answer after another, which
# is **latency**.
#
# Read in this order. It is the order of what hides what.
#
# 1. **Has every SM a block?** With `WAVES` far below 1 most of the GPU is empty, and every
#    percentage of the whole GPU is small for that reason alone.
# 2. **Do registers spill?** Then bytes move that are no data of yours, and a full DRAM is full of
#    them.
# 3. **Which unit is full?** Where DRAM and L2 both are, it is DRAM: L2 carries all that DRAM
#    delivers, but not the reverse.
# 4. Nothing full: more warps at the same time, or more loads a thread (lesson 05, section 6).

# %%
print("      WAVES   LOCAL_SECTORS   DRAM     L2     L1     SM TENSOR")
for letter, (kernel, _) in record.LETTERS.items():
    row = record.report(kernel)
    percents = "".join(f"{row[name]:7.1f}" for name in record.PERCENTS)
    print(f"{letter} {row['WAVES']:9.2f} {row['LOCAL_SECTORS']:15,.0f}{percents}")
print()
print("         us      FLOP     least bytes      DRAM bytes  load sectors   wavefronts")
for letter, (kernel, _) in record.LETTERS.items():
    row = record.report(kernel)
    flop = f"{row['FLOP']:.3g}" if row["FLOP"] else "-"
    print(
        f"{letter} {row['US']:8,.1f} {flop:>9} {row['LEAST_BYTES']:15,}"
        f" {row['DRAM_BYTES']:15,.0f} {row['LOAD_SECTORS']:13,.0f} {row['WAVEFRONTS']:12,.0f}"
    )
print()
for letter, (kernel, _) in record.LETTERS.items():
    row = record.report(kernel)
    print(
        f"{letter}: {row['BLOCKS']:,.0f} blocks, {row['INSTRUCTIONS']:,.0f} instructions of warps"
    )

# %%
pictures.six_reports()

# %% [markdown]
# You have written, or could have written, all six. A adds two vectors. B is `dot`, with the grid of
# its exercise. C normalises rows of 8,192 numbers, four rows a program. D, E and F are matmuls:
# tiles of 16 x 16 in shared memory (float32), of 64 x 64 in Triton (float16), and eight outputs a
# thread kept in an array that a loop walks (float32). A **wavefront** is a turn of shared memory:
# it serves one warp's request, or a part of it where banks collide (lesson 03).
#
# ### Exercise: `read_profile`

# %%
ex.read_profile

# %% read_profile
read_profile = {
    "A_limit": ...,
    "A_of_copy": ...,
    "A_step": ...,
    "B_limit": ...,
    "B_sms": ...,
    "B_step": ...,
    "C_limit": ...,
    "C_moved": ...,
    "C_step": ...,
    "D_limit": ...,
    "D_turns": ...,
    "D_step": ...,
    "E_limit": ...,
    "E_flop_a_byte": ...,
    "E_step": ...,
    "F_limit": ...,
    "F_instructions": ...,
    "F_step": ...,
}
### BEGIN SOLUTION
read_profile = {
    "A_limit": 1,
    "A_of_copy": 805_306_368 / 188.3 / 1000 / 4241.8,
    "A_step": 3,
    "B_limit": 5,
    "B_sms": 16 / 132,
    "B_step": 6,
    "C_limit": 6,
    "C_moved": 19_174_997_504 / 1_073_774_592,
    "C_step": 2,
    "D_limit": 3,
    "D_turns": 442_921_620 / (2 * 2048**3 / 64),
    "D_step": 5,
    "E_limit": 2,
    "E_flop_a_byte": 2 * 4096**3 / (32 * 134_217_728),
    "E_step": 4,
    "F_limit": 4,
    "F_instructions": 2_561_081_344 / (2 * 2048**3 / 64),
    "F_step": 1,
}
### END SOLUTION

# %% read_profile_check
ex.read_profile.check(read_profile)

# %% [markdown]
# Each next step was tried on the same GPU:

# %%
STEPS = {
    "A": "nothing to do here",
    "B": "1,056 blocks, eight an SM",
    "C": "one row a program",
    "D": "4 x 4 outputs a thread, from registers",
    "E": "tiles of 128 x 256",
    "F": "the same outputs, written out without an inner loop",
}
for letter, (kernel, _) in record.LETTERS.items():
    before, after = record.report(kernel)["US"], record.after_us(letter)
    brought = f"{before:8,.1f} us -> {after:8,.1f} us  {before / after:5.1f} times"
    print(letter, brought, STEPS[letter], sep="  ")

# %% [markdown]
# Read D once more. Its loop makes a turn of shared memory *and more* for every multiply-add. A
# thread that keeps a row and a column of four numbers in registers makes sixteen multiply-adds with
# eight loads. It is lesson 04's idea one level further down: a level that is full is relieved by
# the level below it.
#
# ### Exercise: `limiter`
#
# Now write the order down as *one* formula. A choice in Python is `a if condition else b`, and `b`
# may be another choice. Numbers as above: 1 DRAM, 2 L2, 3 L1 and shared memory, 4 instructions, 5
# too few blocks, 6 spilled registers, 7 none of these.

# %%
ex.limiter

# %% limiter
WAVES = 31.03  # report 1 is A
LOCAL_SECTORS = 0
DRAM = 90.5
L2 = 93.1
L1 = 23.1
SM = 5.8
TENSOR = 0.0

limiter = {
    "limit": ...,
}
### BEGIN SOLUTION
full = 75
one_unit = 1 if DRAM > full else 3 if L1 > full else 2 if L2 > full else 4 if SM > full else 7
limiter = {
    "limit": 5 if WAVES < 1 else 6 if LOCAL_SECTORS > 10**6 else one_unit,
}
### END SOLUTION

# %% limiter_check
ex.limiter.check(limiter)

# %% [markdown]
# A rule of seven lines is not all that there is to it. A kernel with 70 percent here and 65 there
# has two limits that take turns. But the rule finds the first thing to try, and it never sends
# anybody to tune the arithmetic of a kernel whose SMs are empty. On a machine with a GPU and Nsight
# Compute, `ex.dot.profile(dot)` in the notebook of your `dot` makes such a report of your own
# kernel, and reads it by this rule.
#
# **And without a GPU?** What a kernel asks for can be counted on the engine, and what an H200
# delivers is recorded. `ex.NAME.estimate(kernel)` puts the two together: each unit's work at its
# own rate, as if it were alone, and an estimate of the whole. It is a model. The last sentence of
# its table says how often it is right on runs that it was not fitted to.
#
# *Predict:* in the record `vector_add` of lesson 01 took 242 us for the bytes that `triton_add`
# moves in 188. A thread adds one number, and 256 threads make a block. Which line of its table
# (here for a quarter of these bytes) takes longer than DRAM's? Copy the cell of your `vector_add`
# to the next one, in front of its last line, and take the `#` away.

# %%
# ex.vector_add.estimate(vector_add)

# %% [markdown]
# *Waiting* does. A block lives for one load and one store, and then the next one has to begin: DRAM
# waits for blocks as much as blocks wait for DRAM. `triton_add` gives a thread eight numbers, so
# that each wait brings more. Try it on other kernels of yours.

# %% [markdown]
# ## 4. Tiles by arithmetic
#
# Report E waits for L2. Its program keeps a 64 x 64 tile of C, so each number that it loads is used
# 64 times. Larger tiles use it more often. Why not 1024 x 1024? Because a program must *fit*:
#
# - **Registers.** The tile of C stays in registers, one float32 a place, dealt out to the program's
#   threads. A thread has 255 at most. What does not fit is spilled.
# - **Shared memory.** The loop over K fetches the next tiles of A and B while the tensor cores work
#   on the last ones. Each pair of tiles that is under way is a **stage**. On an H200 the tensor
#   cores read A and B from shared memory (an instruction named **wgmma**, for tiles of at least 64
#   rows and four warps), so all stages lie there. A block has 227 KB at most.
# - **Waves.** Large tiles are few tiles. 4096 x 4096 in tiles of 128 x 256 are 512 programs; if an
#   SM holds one, that is 3.9 waves, which take as long as 4.
#
# Everything in this list is arithmetic. Nothing has to run.
#
# *Predict:* 256 x 256 tiles of C, on 8 warps. How many registers does a thread need for its part
# of C?

# %% predict_registers
prediction = ...

# %%
compare(prediction, 256 * 256 / (8 * 32), "registers")

# %% [markdown]
# That is one more than a thread may have, before it holds a single address. The record says what
# came of tiles that are too large for their warps:

# %%
for row in record.TILES[:40]:
    if row["SPILLS"]:
        print(
            {name: row[name] for name in ("BM", "BN", "BK", "WARPS", "REGISTERS", "SPILLS", "US")}
        )

# %% [markdown]
# ### Exercise: `tile_arithmetic`
#
# Formulas again. `-(-a // b)` is a / b rounded up.

# %%
ex.tile_arithmetic

# %% tile_arithmetic
M = 4096
N = 4096
K = 4096
BM = 128
BN = 256
BK = 64
WARPS = 8
STAGES = 4
REGISTERS = 200

tile_arithmetic = {
    "shared_bytes": ...,
    "accumulators": ...,
    "programs": ...,
    "programs_an_sm": ...,
    "waves": ...,
    "intensity": ...,
}
### BEGIN SOLUTION
shared = STAGES * (BM * BK + BK * BN) * 2
programs = -(-M // BM) * -(-N // BN)
registers = -(-REGISTERS // 8) * 8 * 32 * WARPS  # of a program
an_sm = min(233472 // (shared + 1024), 65536 // registers, 64 // WARPS)
tile_arithmetic = {
    "shared_bytes": shared,
    "accumulators": BM * BN / (32 * WARPS),
    "programs": programs,
    "programs_an_sm": an_sm,
    "waves": -(-programs // (132 * an_sm)),
    "intensity": 2 * BM * BN * BK / (2 * (BM * BK + BK * BN)),
}
### END SOLUTION

# %% tile_arithmetic_check
ex.tile_arithmetic.check(tile_arithmetic)

# %% [markdown]
# ### Exercise: `tile_pick`
#
# Forty configurations. **Tuning** usually means to run all of them. It takes minutes for each
# shape, and next week there is another shape. You write a formula instead, which says how long a
# configuration takes, in any unit: only the order counts.
#
# A model needs one number that the data sheet does not print: what a number from L2 costs, in
# multiply-adds. An SM's tensor cores make about 2,048 float16 multiply-adds in a cycle. If L2
# delivers some 64 bytes in that cycle, 32 numbers, then one number costs as much as 64
# multiply-adds. It is a guess. The check tells whether it is good enough.

# %%
ex.tile_pick

# %% tile_pick
M = 4096
N = 4096
K = 4096
BM = 128
BN = 256
BK = 64
WARPS = 8
STAGES = 4
REGISTERS = 200
SPILLS = 0
SHARED = 196_608

tile_pick = {
    "time": ...,
}
### BEGIN SOLUTION
never = SPILLS > 0 or SHARED > 232_448
registers = -(-max(REGISTERS, 1) // 8) * 8 * 32 * WARPS
an_sm = max(1, min(233472 // (SHARED + 1024), 65536 // registers, 64 // WARPS))
programs = -(-M // BM) * -(-N // BN)
rounds = an_sm * -(-programs // (132 * an_sm))  # tiles that an SM makes, one after the other
step = BM * BN + 64 * (BM + BN)  # multiply-adds, and numbers from L2
waits = 1 + 64 / (BK * (STAGES - 1) * an_sm)  # little under way: the SM waits
tile_pick = {
    "time": 10**12 if never else rounds * K * step * waits,
}
### END SOLUTION

# %% tile_pick_check
ex.tile_pick.check(tile_pick)

# %% [markdown]
# When it passes, look at all forty, at 4096 x 4096 x 4096. Intensity alone does not put them in
# order: four configurations have tiles too large for their warps, spill, and fall down to the
# smallest tiles.

# %%
pictures.forty_tiles()

# %% [markdown]
# ## 5. Capstone: a kernel of your own
#
# So far somebody told you the grid, the tile, or at least the idea. Now nobody does. Here is a task
# from a language model, as its owner would write it down. It comes after every product that makes
# queries and keys, in each layer, for every **token**: every word, or piece of one.
#
# 1. **Normalise** each head's row by its root mean square (lesson 08).
# 2. **Rotate** it by angles that depend on the token's place, so that attention sees how far apart
#    two tokens are. This is a *rotary embedding*, RoPE. Number r of the first half and number r of
#    the second half are a point (a, b) in the plane, turned by the token's angle r.
# 3. **Transpose** it: attention wants a head's tokens side by side (lesson 10).
#
# One head of one token in NumPy, with R = 2:

# %%
import numpy as np

row, weight, eps = np.array([3.0, 0.0, 4.0, 1.0]), np.ones(4), 1e-5
angle = np.array([np.pi / 2, 0.0])  # a quarter turn, and none
y = row / np.sqrt(np.mean(row**2) + eps) * weight
a, b = y[:2], y[2:]
turned = np.concatenate(
    [a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)]
)
print("normalised", y.round(3), " turned", turned.round(3))

# %% [markdown]
# (3, 4) made a quarter turn and became (-4, 3), over the root of 6.5. (0, 1) stayed.
#
# In PyTorch that is a dozen operations, each through memory. You write one kernel. Work as the
# lesson did, in this order:
#
# 1. **Count bytes.** Each array once: that is the least.
# 2. **State the limit.** Operations over bytes, beside the knee of section 1.
# 3. **Pick a tile.** What do all heads of a token share, and what does a program keep in registers
#    for that? How many programs are there, and what has each under way?
# 4. **Predict the time.**
# 5. **Write it, check it, measure.** Then compare with your prediction, and say what the rest is.
#
# Steps 1 and 4 first. Full size: 16,384 tokens, 32 heads, R = 64; x, w and out are float16, cos and
# sin float32.
#
# *Predict:* how many microseconds does this H200 need at least?

# %% predict_rope_us
prediction = ...

# %%
N, H, R = 16_384, 32, 64
rope_bytes = 2 * (N * H * 2 * R) * 2 + 2 * (N * R) * 4 + 2 * R * 2
rope_us = rope_bytes / record.CEILINGS["COPY_GB_S"] / 1000
compare(prediction, rope_us, "us", tolerance=0.02)

# %% [markdown]
# *Predict:* how many bytes for each head of each token would be loaded if every head loaded its
# tables by itself? (Its row of x, and its angles.)

# %% predict_tables_again
prediction = ...

# %%
compare(prediction, 2 * R * 2 + 2 * R * 4, "bytes")

# %% [markdown]
# Three times its own 256: the tables are larger than the row that they turn. Most of that would
# come from L2 and not from DRAM. But L2 has a limit as well, and what a program keeps in registers
# asks for nothing.
#
# ### Exercise: `rope_heads` (75 minutes)
#
# The cell holds a launcher's name. What else is in it, you decide.

# %%
import course

course.require_triton()  # the rest of this lesson runs without Triton, and its capstone does not
ex.rope_heads

# %% rope_heads
import torch
import triton
import triton.language as tl

### BEGIN SOLUTION
TOKENS = 8  # of a program


@triton.jit
def rope_kernel(
    x,
    w,
    cos,
    sin,
    out,
    N,
    H,
    eps,
    R: tl.constexpr,
    TOKENS: tl.constexpr,
):
    token = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)[:, None]
    r = tl.arange(0, R)[None, :]
    there = token < N
    c = tl.load(cos + token * R + r, mask=there, other=0.0)  # read NR: for all heads
    s = tl.load(sin + token * R + r, mask=there, other=0.0)  # read NR
    w_first = tl.load(w + r).to(tl.float32)  # read 2R a program
    w_second = tl.load(w + R + r).to(tl.float32)
    for head in range(H):
        row = (token * H + head) * (2 * R) + r
        first = tl.load(x + row, mask=there, other=0.0).to(tl.float32)  # read 2NHR
        second = tl.load(x + row + R, mask=there, other=0.0).to(tl.float32)
        square = tl.sum(first * first + second * second, 1) / (2 * R)
        scale = tl.rsqrt(square + eps)[:, None]
        a = first * scale * w_first
        b = second * scale * w_second
        place = (head * N + token) * (2 * R) + r
        tl.store(out + place, a * c - b * s, mask=there)  # write 2NHR
        tl.store(out + place + R, b * c + a * s, mask=there)


### END SOLUTION
def rope_heads(x, w, cos, sin, eps):  # x: (N, H, 2 * R), w: (2 * R,), cos, sin: (N, R)
    N, H, width = x.shape
    ### BEGIN SOLUTION
    out = torch.empty((H, N, width), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(N, TOKENS),)
    rope_kernel[grid](x, w, cos, sin, out, N, H, eps, width // 2, TOKENS)
    return out  # (H, N, 2 * R)
    ### END SOLUTION


# %% rope_heads_check
ex.rope_heads.check(rope_heads)

# %% [markdown]
# Now measure. With a GPU the check has told the time already. Without one, take the `#` away:

# %%
# ex.rope_heads.estimate(rope_heads)

# %% [markdown]
# Is DRAM's line the longest? Then the tile is good, and what is left is the distance to the copy.
# If *waiting* is longer, a program has too little under way: more tokens, several heads at a time,
# or fewer numbers kept. Change the tile and look again. The budget forgives any of them.

# %% [markdown]
# ## Explain
#
# A friend's kernel normalises rows of 16,384 float16 numbers. Nsight Compute shows `DRAM` 91
# percent, and the friend says: "Ninety-one percent of peak. It is done." It runs at a tenth of the
# copy rate. What do you ask for first, what do you expect to see, and what is the next step? Then
# say in two sentences why "percent of peak" is no measure of how good a kernel is.

# %% [markdown] explain_percent
# ### BEGIN SOLUTION
# Ask for the bytes that DRAM moved, beside those that have to move (each array once), and for local
# memory. At a tenth of the copy rate and 91 percent of DRAM, some nine bytes in ten are not data:
# registers that spilled, or rows that are read several times. If local sectors are many, a program
# keeps more numbers than its threads have registers: fewer rows a program, more warps, or a loop
# over parts of a row. If they are few, look for a second and third pass over the row.
# Percent of peak says how busy a unit is, and a unit can be busy with waste. What counts is the
# least time for the work over the time that it took.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - **Speed of light**: the least time for so many bytes and operations, on *measured* ceilings.
# - Five ways in which a benchmark lies, and the number that gives each away.
# - The order in which to read a report: empty SMs, spills, the unit that is full, latency.
# - Why L2 looks full when DRAM is, and what a full shared memory asks for.
# - What a configuration of tiles costs in registers, shared memory and waves, before it runs; what
#   a **stage** is, and why larger tiles are faster until they spill.
# - How a kernel begins: bytes, limit, tile and predicted time first, and code after them.
#
# ## Where this stands in real code
#
# - `triton.testing.do_bench` clears the L2, warms up, and times with events: section 2 in one call.
#   Ask it for the median (`return_mode="median"`).
# - `@triton.autotune(configs=..., prune_configs_by={"perf_model": ...})` takes a formula like
#   yours: Triton runs only the configurations that it puts first.
# - **CUTLASS** and cuBLAS choose among hundreds of kernels for each shape, by heuristics of this
#   kind and by tables of measured times.
# - Nsight Compute's *GPU Speed Of Light* section is `SM` and `DRAM` of section 3.
#   `python -m course.gpu.counters FILE` reads counters of your program.
# - vLLM and SGLang have a fused kernel like `rope_heads` for models that normalise queries and keys
#   (Qwen3); others leave the fusion to `torch.compile`.
#
# Next: **13 this decade's GPUs**: what `tl.dot` becomes on the newest GPUs, and kernels in which
# you order its copies and products yourself.
