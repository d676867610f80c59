# %% [markdown]
# # 05 Roofline: what a kernel waits for
#
# An H200 is sold with 67 TFLOP/s: 67 trillion float32 operations a second. A library's vector add
# reaches 0.36 on it, half of one percent. **Is there anything left to win, and how would you
# know?**
#
# Plan for about four hours. You will work out where the limit of a kernel lies before it is
# written, tell from five recorded profiles what each program waits for, write two kernels, and
# explain a plot that puzzles many people when they first see it.

# %%
import numpy as np
from numba import cuda, float32

import course
from course import exercises as ex
from course.figures import roofline as pictures
from course.figures import roofline_waves as wave_pictures
from course.gpu.recorded import recorded
from course.notebook.predict import compare

# %% [markdown]
# ## 1. Five things to wait for
#
# A program that uses a GPU does one **step** after another: a batch of training, a token of text,
# a frame. At any moment something is the slowest part, and the rest waits for it. That part is the
# **bottleneck**. There are five candidates:

# %%
pictures.conveyor()

# %% [markdown]
# | it waits for | what you see | a cheap experiment |
# |---|---|---|
# | **1 compute** | kernels all the time, near peak FLOP/s | half the arithmetic: half the time |
# | **2 memory** | kernels all the time, near peak bytes/s | half the bytes: half the time |
# | **3 launches** | many short kernels, gaps between them | half the *data*: the same time |
# | **4 input** | idle while the host reads or copies | the same batch again: no gap |
# | **5 network** | idle while GPUs exchange data | one GPU alone: no gap |
#
# (Half the bytes is quickly tried with float16. "The same batch again" means data that lies on the
# GPU already.)
#
# The first question is always whether **kernels run all the time**. Only if they do is it worth
# looking at a kernel. A perfect kernel in a program that waits for its input makes nothing faster.
#
# Lessons 00 to 04 were about bytes, which is line 2. Now it is time to see when bytes are what
# matters.

# %% [markdown]
# ## 2. FLOP per byte
#
# A **FLOP** is one floating-point operation: an addition, a multiplication, a comparison. A
# multiply-add, `a * b + c`, is one instruction and counts as two. **FLOP/s** is how many are done
# in a second. (FLOPs, with a small s, is sometimes the one and sometimes the other. This course
# writes FLOP for the number and FLOP/s for the speed.)
#
# You can check the number on the box. An H200 has 132 SMs, each with 128 float32 units, at a clock
# of 1.98 GHz. Each unit finishes a multiply-add in each cycle: 132 * 128 * 1.98e9 * 2 is 66.9e12.
# Note the last factor. A kernel that multiplies and never adds does one operation an instruction,
# so it cannot pass 33.5 TFLOP/s. Nothing is wrong with such a kernel.
#
# A kernel does work and moves bytes. Their ratio is its **arithmetic intensity**:
#
# > intensity = FLOP / bytes moved
#
# Take `c[i] = a[i] + b[i]` with float32. One operation; 4 bytes of a, 4 of b, 4 of c. Intensity
# 1/12.
#
# *Predict:* memory delivers 4.8 TB a second. How many TFLOP/s can it feed with such additions, at
# most?

# %% predict_add
prediction = ...

# %%
compare(prediction, 4.8e12 / 12 / 1e12, "TFLOP/s", tolerance=0.02)

# %% [markdown]
# So the add that reaches 0.36 is at nine tenths of what is possible, and the 67 of the box was
# never within its reach. In general:
#
# > speed <= min(peak FLOP/s, intensity x bytes a second)
#
# Draw this over the intensity and you get the **roofline**. Left is a slope, where memory is the
# limit (a kernel there is **memory-bound**); right is a flat roof, where arithmetic is the limit
# (**compute-bound**). They meet at the **knee**. Here is the add on it. The dashed roof is that of
# the tensor cores (lesson 04) with float16 numbers.

# %%
pictures.roofline(kernels=1, numbers=False)

# %% [markdown]
# Both axes are logarithmic: each grid line is ten times the last. The symbol shows the *highest*
# point that a kernel can reach. Where it really stands, below its symbol or on it, is found by
# measuring. The distance to the roof is what better code could win. To get further, a kernel must
# move to the right: fewer bytes for the same operations. Tiles do that (lesson 04). So does
# **fusing**: two steps in one kernel, with nothing written to memory between them.
#
# **Which bytes?** Three answers are in use, and one must say which. The **least** bytes, every
# input and output once, give the best intensity that any kernel for the task could have.
# **Requested** bytes, which our meter counts, tell what this kernel asks of L1. **DRAM** bytes
# mostly lie in between (lesson 02). A data sheet's 4.8 TB/s is DRAM's, so the least and the DRAM
# bytes belong on this chart. With requested bytes one compares two versions of a kernel, such as
# the matmuls of lesson 04.
#
# ### Exercise: `intensity` (★ core)
#
# Two entries are about *attention*, a step of every language model (lesson 10). From Q, K and V,
# each N x d, it makes N x N scores, Q times K transposed; probabilities P, the softmax of each row
# of scores; and the output, P times V.

# %%
ex.intensity

# %% intensity
intensity = {
    "add": ...,
    "relu_float32": ...,
    "relu_float16": ...,
    "dot": ...,
    "matmul_1024": ...,
    "matmul_naive": ...,
    "matmul_tiled_16": ...,
    "matmul_tiled_64": ...,
    "attention_unfused": ...,
    "attention_fused": ...,
    "knee_float32": ...,
    "knee_tensor": ...,
    "relu_tflop_s": ...,
}
### BEGIN SOLUTION
intensity = {
    "add": 1 / 12,
    "relu_float32": 1 / 8,
    "relu_float16": 1 / 4,  # the same work on half the bytes
    "dot": 2 / 8,  # the one number of output does not count
    "matmul_1024": 2 * 1024**3 / (3 * 4 * 1024**2),  # n / 6: it grows with n
    "matmul_naive": 2 * 32 / ((1 + 4) * 32),  # A is a broadcast, one sector; B is four
    "matmul_tiled_16": 2 * 16**3 / (2 * 16**2 * 4),  # T / 4
    "matmul_tiled_64": 64 / 4,
    "attention_unfused": 4 * 4096**2 * 64 / (2 * (4 * 4096**2 + 4 * 4096 * 64)),
    "attention_fused": 4 * 4096**2 * 64 / (2 * 4 * 4096 * 64),  # N / 2
    "knee_float32": 67e12 / 4.8e12,
    "knee_tensor": 989e12 / 4.8e12,
    "relu_tflop_s": 4.8 / 8,
}
### END SOLUTION

# %% intensity_check
ex.intensity.check(intensity)

# %% [markdown]
# Here are some of them on the chart: the add and the ReLU by their least bytes, the three matmuls
# by what they request.

# %%
pictures.roofline()

# %% [markdown]
# Three things to see in these numbers.
#
# - Elementwise work lies fifty to two hundred times left of the knee. Whatever you do to its
#   arithmetic, only its bytes count. That is why operations are fused (lesson 06).
# - A matmul *could* lie far to the right, since its intensity grows with its size. Whether it does
#   is decided by tiling. 16 x 16 tiles request at 4 FLOP per byte, left of the knee: only caches
#   save them. 64 x 64 is right of it for float32, and far left for tensor cores.
# - Attention goes from 31.5 to 2,048 by *not writing something down*. Lessons 10 and 11 are about
#   that.

# %% [markdown]
# ## 3. Five profiles
#
# A **profile** is a record of what a program spent its time on. Here are five, from H200s, one
# step each. `kernels us` is the time during which a kernel ran, `DRAM` the least bytes of the
# kernels, `host` the bytes copied from host memory, `network` the bytes of the gradients that two
# GPUs averaged between them.

# %%
from course.exercises.roofline import PROFILES

print("     step us  kernels us  launches      FLOP      DRAM      host   network")
for letter, row in PROFILES.items():
    sizes = [row.get(name, 0) for name in ("flop", "dram", "host", "network")]
    print(
        f"{letter}  {row['step_us']:>9,} {row['kernels_us']:>11,} {row['launches']:>9,}"
        + "".join(f"{size:>10.2e}" if size else "         -" for size in sizes)
    )
provenance = recorded("h200_roofline")["provenance"]
print("recorded:", provenance["gpu"], provenance["date"], provenance["command"])

# %%
pictures.busy_and_idle()

# %% [markdown]
# ### Exercise: `bottleneck`
#
# Some entries ask which of the five things a program waits for: answer with its number, 1 to 5.
# The others ask what the numbers of the table come to, and what a remedy would be worth.
#
# Two terms occur in them that the text below the exercise explains. A **CUDA graph** is a sequence
# of launches that is handed over as one. The **model FLOP utilisation**, **MFU**, is the FLOP/s
# that a program's step comes to, as a share of the GPU's peak.
#
# The data sheet again: 989 TFLOP/s for float16 on tensor cores, 67 TFLOP/s float32, 4.8 TB/s. The
# products in A, D and E are float16.

# %%
ex.bottleneck

# %% bottleneck
bottleneck = {
    "A_tflop_s": ...,
    "A_waits_for": ...,
    "B_tb_s": ...,
    "B_waits_for": ...,
    "C_busy": ...,
    "C_waits_for": ...,
    "C_idle_a_launch_us": ...,
    "C_graph_speedup": ...,
    "D_gb_s": ...,
    "D_waits_for": ...,
    "D_least_us": ...,
    "E_waits_for": ...,
    "E_least_us": ...,
    "A_mfu": ...,
    "E_mfu": ...,
}
### BEGIN SOLUTION
bottleneck = {
    "A_tflop_s": 1.10e12 / 1440e-6 / 1e12,  # 764 of 989
    "A_waits_for": 1,
    "B_tb_s": 3.22e9 / 744e-6 / 1e12,  # 4.33 of 4.8
    "B_waits_for": 2,
    "C_busy": 970 / 4650,
    "C_waits_for": 3,
    "C_idle_a_launch_us": (4650 - 970) / 1000,
    "C_graph_speedup": 4650 / 1220,
    "D_gb_s": 1.54e8 / (8480e-6 - 183e-6) / 1e9,
    "D_waits_for": 4,
    "D_least_us": 2790,  # the copy is still longer than the kernels
    "E_waits_for": 5,
    "E_least_us": 5960 / 2,
    "A_mfu": 1.10e12 / 1440e-6 / 989e12,
    "E_mfu": 8.25e11 / 7050e-6 / 989e12,
}
### END SOLUTION

# %% bottleneck_check
ex.bottleneck.check(bottleneck)

# %% [markdown]
# ### Reading: CUDA graphs
#
# Program C launched a kernel of one microsecond a thousand times. Each launch cost the host 4.6
# microseconds in Python and in the driver (it used PyTorch, whose launches cost half of Numba's in
# lesson 01), and the GPU was done before the next one came. Two remedies:
#
# - **Fewer, larger kernels.** Fusing, or batching several small inputs into one.
# - **A CUDA graph.** The host records the whole sequence of launches once, with all their
#   arguments. From then on it hands over the recording as one launch, and the GPU goes from kernel
#   to kernel by itself. C's step fell from 4,650 to 1,220 microseconds: 1.2 for each of its
#   kernels.
#
# The price is in the word *recording*. The same kernels run on the same addresses with the same
# shapes, each time. New data must be copied to where the old data lay, and the host cannot look at
# a result halfway and decide something. In PyTorch it is `torch.cuda.graph(...)`, and
# `torch.compile(mode="reduce-overhead")` uses it. Programs that make one token of text at a time
# launch hundreds of tiny kernels for each token, and most of them use graphs.

# %%
pictures.what_helped()

# %% [markdown]
# Look at D. Its remedy can make it three times as fast, and it will *still* wait for its input:
# 2,790 microseconds of copying against 183 of kernels. Before, the host's ordinary memory was the
# limit. Now it is the road between host and GPU, and the remedy left is to send less: pictures as
# bytes, say, a quarter of their size in float32, turned into numbers on the GPU.
#
# ### One number for a whole program: MFU
#
# For a training run one would like a single number, and MFU is that number: the FLOP/s of the
# model's arithmetic over the peak of the GPUs. It counts the operations that the model *has to* do,
# not the ones a program happens to do (recomputing something does not raise it). For a
# transformer, the network of most language models, a good estimate is 6 FLOP for each parameter
# and token: 2 in the forward pass and 4 in the backward.
#
# *Predict:* a model with 124 million parameters is trained at 400,000 tokens a second on one GPU
# of 989 TFLOP/s. What is its MFU, in percent?

# %% predict_mfu
prediction = ...

# %%
compare(prediction, 100 * 6 * 124e6 * 400_000 / 989e12, "percent", tolerance=0.02)

# %% [markdown]
# 30 to 50 % are usual for a well-tuned training run. E above stands at 12 %. MFU says *that*
# something is lost; the five questions of section 1 say *where*.

# %% [markdown]
# ## 4. Walking along the roof
#
# Now let us move a kernel from left to right. It reads a number, replaces it by `x * a + b` k
# times, and writes it. The bytes stay the same, 8 for each number; the operations are 2k. So its
# intensity is 2k / 8, and k is a knob.
#
# *Predict:* with the data sheet's numbers, 67 TFLOP/s and 4.8 TB/s: at which k should the knee be?

# %% predict_knee
prediction = ...

# %%
compare(prediction, 67e12 / 4.8e12 * 8 / 2, "steps", tolerance=0.05)

# %% [markdown]
# ### Exercise: `repeat_multiply`
#
# (With |a| < 1 the values stay small, however large k is.)

# %%
ex.repeat_multiply

# %% repeat_multiply
from numba import cuda


@cuda.jit
def repeat_multiply(x, y, a, b, k):
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]  # read N
        for _ in range(k):
            value = value * a + b  # in a register: 2k FLOP, no traffic
        y[i] = value  # write N
    ### END SOLUTION


# %% repeat_multiply_check
ex.repeat_multiply.check(repeat_multiply)

# %% [markdown]
# If you like, keep the number in `y[i]` instead of a local variable, and look at the verdict. In
# the plainest version the compiler puts `y[i]` into a register for you, and only one store too many
# remains. Put a barrier into the loop, or read `x` there as well, and every step goes to memory:
# the compiler must assume that another thread, or the other array, looks at the same place.
#
# Does the meter agree that k is free? This cell runs *your* kernel, once it passes.

# %%
x = np.ones(4096, dtype=np.float32)
y = np.zeros_like(x)
a, b = np.float32(0.9), np.float32(0.1)

if ex.repeat_multiply.check(repeat_multiply):
    print("    k  requested bytes     FLOP  FLOP/byte  longest warp")
    for k in (1, 8, 64):
        with course.measure() as traffic:
            repeat_multiply[16, 256](x, y, a, b, k)
        flop = 2 * k * x.size
        print(
            f"{k:5}  {traffic.requested_bytes:15,} {flop:8,}"
            f" {flop / traffic.requested_bytes:10.2f} {traffic.longest_warp:13}"
        )
else:
    print("First the exercise above.")

# %% [markdown]
# The bytes do not move and the work grows. What does the clock say? If there is a GPU, the next
# cell times your kernel on it. If not, it shows what was recorded on an H200. The line above the
# picture says which.


# %%
def sweep_here(kernel, elements=2**26):
    """(k, microseconds) of a kernel like `repeat_multiply` on this machine's GPU."""
    x = cuda.to_device(np.ones(elements, dtype=np.float32))
    y = cuda.device_array_like(x)
    rows = []
    for k in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        kernel[elements // 256, 256](x, y, a, b, k)  # compiled and warm
        start, end = cuda.event(), cuda.event()
        start.record()
        for _ in range(5):
            kernel[elements // 256, 256](x, y, a, b, k)
        end.record()
        end.synchronize()
        rows.append((k, 1000 * cuda.event_elapsed_time(start, end) / 5))
    return rows


if course.has_gpu() and ex.repeat_multiply.check(repeat_multiply):
    picture = pictures.own_sweep(sweep_here(repeat_multiply))
    print("Measured now, on this machine's GPU.")
else:
    picture = pictures.sweep()
    print("Not measured here. This was recorded on an", provenance["gpu"], provenance["date"])
    print("by", provenance["command"])
picture

# %% [markdown]
# This is the recorded sweep in words, whether or not you have measured your own.
#
# - **Flat, then straight.** In the tuned kernel (dashed) 16 steps take 0.58 ms where 1 step takes
#   0.53: sixteen times the arithmetic for a tenth more time. From k = 128 on the time nearly
#   doubles when k does. On the flat part arithmetic is free, on the straight part bytes are.
# - **The knee is round.** It should be at k = 56, and the curve begins to bend at 16. Near the knee
#   memory and arithmetic take about the same time, and they do not overlap perfectly.
# - **The roof.** The tuned kernel reaches 49 TFLOP/s, 74 % of the box. With multiplications alone
#   (dash-dotted) it takes about the same time for half the operations, and reaches 27.
# - **As you write it** (solid), it is 7.7 TFLOP/s, a ninth of the peak. Why? The roof counts
#   multiply-adds, and this loop does other things too: for each multiply-add the compiled code
#   counts down a 64-bit number and compares it, some seven instructions more. The tuned kernel
#   does four elements a thread and eight steps a turn of the loop, so that the counting is shared
#   by 32 multiply-adds. It gains on the left, too: its four loads are on their way together, which
#   is what section 6 is about.
#
# So a kernel has a roofline of its own, below the one of the box. The box says how far you could
# get, a measurement says where you are, and the difference is a question worth asking.

# %% [markdown]
# ## 5. Half the bytes
#
# Left of the knee, bytes are time. The plainest way to have fewer: smaller numbers. A **float16**
# has 2 bytes, and so has a **bfloat16**; they spend their bits differently.

# %%
pictures.number_formats()

# %% [markdown]
# The exponent gives the **range**, the fraction the **precision**. NumPy knows float16. It does
# not know bfloat16, but that is easily made: a float32 whose lower 16 bits are rounded away.


# %%
def to_bfloat16(values):
    """Rounds float32 to the nearest bfloat16 (ties to even); the result is kept as float32."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)


samples = np.array([3.14159, 257.0, 2049.0, 60_000.0, 70_000.0, 1e-6, 1e-30], dtype=np.float32)
with np.errstate(over="ignore", under="ignore"):
    halves = samples.astype(np.float16)
print("     float32      float16     bfloat16")
for exact, half, brain in zip(samples, halves, to_bfloat16(samples), strict=True):
    print(f"{exact:12.6g} {half:12.6g} {brain:12.6g}")

# %% [markdown]
# float16 has 11 significant bits, a little more than three digits. Its largest number is 65,504.
# Below 6e-5 it loses digits (see 1e-6 above), and below 6e-8 there is nothing but zero. bfloat16
# has the range of float32 and 8 significant bits, between two and three digits. In float16 whole
# numbers are exact up to 2,048, in bfloat16 up to 256.
#
# *Predict:* a sum is kept in float16 and stands at 2048. Now 1 is added a hundred times. What does
# it say then?

# %% predict_stuck
prediction = ...

# %%
total = np.float16(2048)
for _ in range(100):
    total = total + np.float16(1)
compare(prediction, float(total))

# %% [markdown]
# 2049 does not exist in float16, so each time the sum is rounded back. The lesson is in the name of
# the next exercise: **store** in 16 bits, **compute** in 32. The bytes are saved in memory, where
# they cost time. A register has 32 bits. It has room for a float32, or for two float16 where the
# compiler or the programmer packs them in pairs (CUDA C's `half2`); a float16 by itself takes a
# register as a float32 does.
#
# In Numba the type of a product follows from its factors: float16 times float16 is float16, and it
# overflows where float16 does. float16 times float32 is float32. `float32(x[i])` makes a float32 of
# a float16, and storing into a float16 array rounds back.


# %%
@cuda.jit
def two_products(x, y):
    y[0] = x[0] * x[1] * float32(0.01)  # the first product is float16 already
    y[1] = float32(x[0]) * float32(x[1]) * float32(0.01)


values = np.array([300, 300], dtype=np.float16)
products = np.zeros(2, dtype=np.float16)
two_products[1, 1](values, products)
print(products)

# %% [markdown]
# ### Exercise: `half_the_bytes`
#
# The budget is in bytes here as everywhere, and that is the point: 6 bytes an element, not 12.

# %%
ex.half_the_bytes

# %% half_the_bytes
from numba import cuda, float32


@cuda.jit
def half_the_bytes(x, w, y, scale):
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < x.size:
        product = float32(x[i]) * float32(w[i])  # read 2N of 2 bytes, compute in 4
        y[i] = product * scale  # write N of 2 bytes
    ### END SOLUTION


# %% half_the_bytes_check
ex.half_the_bytes.check(half_the_bytes)

# %% [markdown]
# A warp's request for 32 float16 values is 64 bytes, 2 sectors. That is little for a request: the
# same number of requests moves half the bytes, and each lane has only 2 bytes on their way. In
# CUDA C one would let each lane load 4, 8 or 16 bytes at once. That thought leads to the next
# section.

# %% [markdown]
# ## 6. Enough on its way
#
# The slope of the roofline assumes that memory is busy all the time. What does it take? A load
# takes about 400 nanoseconds, its latency. If a GPU waited for each load before it asked for
# the next, memory would idle. So very many loads must be under way at once. How many is one
# multiplication, known as **Little's law**:
#
# > bytes in flight = latency x bandwidth
#
# Think of a motorway. If the drive takes an hour and 1,000 cars are to arrive in each hour, 1,000
# cars must be on the road.
#
# On a GPU the cars are the warps' loads. A warp that has asked for one float32 a lane has 128
# bytes in flight, and then it waits. So what counts is how many warps an SM can have *at the same
# time*. A warp that an SM holds is called **resident**. The share of the possible number, 64 on an
# H200, is the **occupancy**.
#
# What limits it? A resident warp keeps its registers and its block's shared memory until it ends,
# so that the SM can switch to it in no time. Those are limited:
#
# | an SM of an H200 holds | at most |
# |---|---|
# | threads | 2,048 (64 warps) |
# | blocks | 32 |
# | registers | 65,536 |
# | shared memory | 228 KB, and each block costs 1 KB beside its own |
#
# A block becomes resident whole or not at all. A kernel whose threads use 48 registers each, in
# blocks of 256, needs 12,288 a block:

# %%
pictures.resident_blocks()

# %% [markdown]
# (The compiler decides how many registers a kernel uses. On a GPU,
# `kernel.get_regs_per_thread()` tells. The hardware hands them out in groups of 8 a thread; the
# numbers here are multiples of 8 already.)
#
# ### Exercise: `occupancy`

# %%
ex.occupancy

# %% occupancy
occupancy = {
    "blocks_32_registers": ...,
    "occupancy_32_registers": ...,
    "blocks_40_registers": ...,
    "occupancy_40_registers": ...,
    "occupancy_128_registers": ...,
    "blocks_48_kb": ...,
    "occupancy_tiny_blocks": ...,
    "occupancy_huge_blocks": ...,
    "most_registers_for_full": ...,
}
### BEGIN SOLUTION
occupancy = {
    "blocks_32_registers": 65536 // (32 * 256),  # 8, and 8 * 256 threads are 2,048
    "occupancy_32_registers": 8 * 8 / 64,
    "blocks_40_registers": 65536 // (40 * 256),  # 6.4 rounded down
    "occupancy_40_registers": 6 * 8 / 64,
    "occupancy_128_registers": 2 * 8 / 64,
    "blocks_48_kb": 228 // 49,
    "occupancy_tiny_blocks": 32 * 1 / 64,  # 32 blocks of one warp
    "occupancy_huge_blocks": 1 * 32 / 64,  # a second block does not fit
    "most_registers_for_full": 65536 // 2048,
}
### END SOLUTION

# %% occupancy_check
ex.occupancy.check(occupancy)

# %% [markdown]
# ### Exercise: `hide_latency`
#
# Now Little's law with an H200's numbers, rounded: 400 ns and 4.8 TB/s.

# %%
ex.hide_latency

# %% hide_latency
hide_latency = {
    "in_flight_bytes": ...,
    "in_flight_an_sm_bytes": ...,
    "one_warp_gb_s": ...,
    "one_warp_share": ...,
    "full_sm_gb_s": ...,
    "loads_a_thread": ...,
    "warps_with_16_bytes": ...,
}
### BEGIN SOLUTION
hide_latency = {
    "in_flight_bytes": 4.8e12 * 400e-9,  # 1.92 MB
    "in_flight_an_sm_bytes": 4.8e12 * 400e-9 / 132,  # 14.5 KB
    "one_warp_gb_s": 132 * 128 / 400,  # bytes a nanosecond are GB a second
    "one_warp_share": 132 * 128 / 400e-9 / 4.8e12,
    "full_sm_gb_s": 132 * 64 * 128 / 400,
    "loads_a_thread": 2,  # 1.78 rounded up
    "warps_with_16_bytes": 29,  # 14,545 / 512 rounded up
}
### END SOLUTION

# %% hide_latency_check
ex.hide_latency.check(hide_latency)

# %% [markdown]
# And here is what an H200 did. A kernel that reads a large array was launched with 1, 2, 4 and up
# to 64 warps on each SM. In one version a thread asks for its next number when the last one has
# arrived; in the other it asks for four at once.

# %%
pictures.bandwidth_by_warps()

# %% [markdown]
# The dotted line is your formula, and the points lie on it. Three things follow.
#
# - **Without many warps, memory idles.** With one warp an SM this kernel reads 43 GB/s, a hundredth
#   of what the memory can give. A vector add has nothing to compute while it waits. Still, many
#   warps that wait at the same time bring it to the slope.
# - **Hiding latency ends there.** Once memory is full, more warps and more loads change nothing.
#   Program B of section 3, a vector add, is there: 4.33 of 4.8 TB/s. From then on only fewer bytes
#   help: they move a kernel along the slope.
# - **Occupancy is a means.** 16 warps with four loads each do better than 32 with one. A matmul
#   with large tiles often runs at an occupancy of 25 % or less, and is the fastest there is: its
#   registers hold the data that others would have to fetch.

# %% [markdown]
# ## 7. Waves
#
# The last of the things that make measured curves look strange is whole numbers. A matmul gives
# each tile of the output to a block (lesson 04). Blocks are handed to SMs as room comes free. If a
# launch has exactly as many tiles as there is room, all run together and all end together. One tile
# more, and nearly the whole GPU waits while it is done.
#
# A round of blocks that run at the same time is called a **wave**. An A100 has 108 SMs. (The chip
# has 128; 20 are switched off in every A100 that is sold, so that chips with a few faults can be
# sold too.) A usual tile of a float16 matmul on it is 256 x 128, of which one fits on an SM.

# %%
wave_pictures.two_waves(98)

# %% [markdown]
# These are the 7 x 14 tiles of a 1792 x 1792 output. Now make the matrix one larger.
#
# *Predict:* n = 1793. How many tiles are there now?

# %% predict_tiles
prediction = ...

# %%
compare(prediction, -(-1793 // 256) * -(-1793 // 128), "tiles")

# %%
wave_pictures.two_waves(120)

# %% [markdown]
# 22 more tiles for one more row and column, and 12 of the 120 have to wait for a second wave. This
# is called **wave quantisation**. The tiles at the edge are also nearly empty, which is called
# **tile quantisation**, and is easier to see on something small:

# %%
wave_pictures.tiles_of(256, 257)

# %% [markdown]
# ### Exercise: `waves`

# %%
ex.waves

# %% waves
waves = {
    "tiles_1792": ...,
    "waves_1792": ...,
    "utilisation_1792": ...,
    "tiles_1793": ...,
    "waves_1793": ...,
    "utilisation_1793": ...,
    "speed_ratio": ...,
    "two_blocks_an_sm": ...,
    "waves_8192": ...,
    "utilisation_8192": ...,
    "tiles_257": ...,
    "useful_257": ...,
    "h200_last_single_wave": ...,
}
### BEGIN SOLUTION
waves = {
    "tiles_1792": 7 * 14,
    "waves_1792": 1,
    "utilisation_1792": 98 / 108,
    "tiles_1793": 8 * 15,
    "waves_1793": 2,
    "utilisation_1793": 120 / 216,
    "speed_ratio": (1793 / 1792) ** 3 / 2,  # the same work in two waves' time
    "two_blocks_an_sm": 1,  # 216 places
    "waves_8192": 19,  # 2048 tiles
    "utilisation_8192": 2048 / (19 * 108),
    "tiles_257": 2 * 3,
    "useful_257": 256 * 257 / (6 * 128 * 128),
    "h200_last_single_wave": 2048,  # 8 * 16 = 128 tiles; 2304 has 162
}
### END SOLUTION

# %% waves_check
ex.waves.check(waves)

# %% [markdown]
# ### The wavy plot
#
# Multiply n x n matrices in float16, for many n, and draw the TFLOP/s. One would expect a smooth
# curve. This is what an H200 and NVIDIA's library do:

# %%
wave_pictures.wavy_record()

# %% [markdown]
# Four lines, all of them ragged. The library is cuBLAS. You can explain each line by now. Here is a
# model made of nothing but what this lesson told, for an A100:
#
# 1. a start of 4 microseconds,
# 2. waves of 256 x 128 tiles on 108 SMs, each wave as long as one tile takes at peak speed,
# 3. at least the time that memory needs for three matrices,
# 4. loads as wide as the rows allow. A row of n float16 values has 2n bytes. If n is a multiple of
#    8, every row begins at a multiple of 16 bytes and a lane may load 16 bytes at once. If n is a
#    multiple of 4 alone, 8 bytes. If n is even and no multiple of 4, 4 bytes. If n is odd, 2 bytes.
#    How much slower the loads of 4 and 2 bytes make a tile is taken from the recorded plot, which
#    has sizes of three kinds (multiples of 8, 64 m + 2, 64 m + 1): 0.3 and 0.19 of the speed.

# %%
wave_pictures.wavy_model()

# %% [markdown]
# A model with four parts does not match a library with hundreds of kernels. The library picks
# another tile shape, or splits the sum over k, when waves come out badly, and so its teeth are
# shorter and stand elsewhere. But the features are the same, and each has its reason.
#
# ## Explain: the wavy plot
#
# Write down what you see in the *recorded* plot and in the model, feature by feature, with the
# reason for each:
#
# 1. Why do all lines rise from left to right at first?
# 2. Why are there several lines? Why does the line of multiples of 8 lie so far above the even
#    numbers, and those above the odd ones? And why do the multiples of 64 mostly lie a little above
#    the 64 m + 8?
# 3. Why do lines fall suddenly, for example in the model behind 1792, and climb again?
# 4. Why do the teeth get shorter to the right?
# 5. In a network you may choose the sizes of your matrices. What do you choose, and why?

# %% [markdown] explain_waves
# ### BEGIN SOLUTION
# 1. Small products have too little work: the start of the kernel is a large part of the time, there
#    are fewer tiles than SMs, and the intensity, n / 3 in float16, is below or near the knee (206
#    for tensor cores on an H200), so memory is a limit as well. All three get better as n grows.
# 2. n decides where rows begin. With multiples of 8 each row begins at a multiple of 16 bytes, and
#    16 bytes a lane can be loaded at once, which the fast kernels need; with the plot's even n,
#    64 m + 2, it is 4 bytes, with odd n 2 bytes. Narrow loads mean more instructions for the same
#    bytes and fewer bytes in flight, and the tensor cores wait. Misaligned tile rows also touch up
#    to 1.23 times the sectors, which is the smaller part. n = 64 m + 8 may load 16 bytes at once
#    too, but its last row and column of tiles are nearly empty, and its rows begin at 16 bytes and
#    not at sectors.
# 3. Where the number of tiles passes a multiple of the places (108 on an A100), another wave is
#    needed, in which only a few SMs work. The time jumps by a whole wave, the work hardly grows:
#    98 tiles are one wave, 120 are two, and the speed is halved. Then it climbs, since more work
#    fills the same number of waves. A new row or column of tiles that are nearly empty adds to it.
# 4. One wave more is a smaller part of many: from 1 to 2 waves the time doubles, from 18 to 19 it
#    grows by 6 %.
# 5. Multiples of 64 or 128: rows on 16 bytes and on sectors, tiles that are full. For products with
#    few waves, sizes whose tiles just fill a whole number of waves. Never odd sizes: pad them.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - The **five things** a program waits for, and a cheap experiment for each.
# - **Arithmetic intensity**, the **roofline** and its **knee**; why an add at half a percent of the
#   peak may be perfect; why half of the peak is lost without additions.
# - **CUDA graphs**: what they save and what they demand. **MFU**: what it counts.
# - Why 16 steps of arithmetic cost hardly more than one, and why a plain loop has a roof of its
#   own.
# - **float16** and **bfloat16**: range against precision; store in 16 bits, compute in 32.
# - **Occupancy** and **Little's law**: how many bytes must be on their way, and what limits them.
# - **Waves** and **tiles**: why speed falls by half when a matrix grows by one.
#
# ## Where this stands in real code
#
# - **Nsight Compute** opens with this lesson: *GPU Speed Of Light Throughput* shows compute and
#   memory in percent of their peaks, with a roofline chart below. Its *Occupancy* section lists the
#   four limits of section 6 and says which one is the smallest.
# - **PyTorch's profiler** (`torch.profiler`) shows the gaps between kernels: section 1's first
#   question. `DataLoader(pin_memory=True)` and `tensor.to(device, non_blocking=True)` are what made
#   D faster; `DistributedDataParallel` exchanges gradients while the backward pass still runs, and
#   its bf16 hook (`bf16_compress_hook`) halves them, which is what E needed.
# - **vLLM** and other servers of language models record CUDA graphs for a list of batch sizes when
#   they start, and pad each batch to the next size in the list.
# - **cuBLAS** and **CUTLASS** fight waves with *split-K* and *stream-K*: tiles are cut along the
#   sum, so that the last wave is full as well.
# - **Mixed-precision training** (`torch.autocast`) is section 5 for a whole network. With float16 a
#   factor is multiplied to the loss, so that small gradients do not fall below 6e-8
#   (`torch.amp.GradScaler`); with bfloat16 that is not needed.
#
# This was the last lesson in Numba. Next: **06 hello Triton**, where a program works on a block of
# numbers at once, and the compiler deals out the lanes.
