# %% [markdown]
# # 00 Start: why bytes are graded
#
# A GPU can add two numbers in two billionths of a second. Fetching them from its memory takes
# almost two hundred times as long. **So what should you look at when you want to know whether a GPU
# program is good: how much it computes, or how much it fetches?**
#
# This lesson takes about twenty minutes: ten on your first kernel, ten on that question. You
# need Python and a little NumPy. You need no GPU: on a computer without one, the course runs
# GPU programs itself and counts what they would ask of a GPU's memory.

# %% [markdown]
# Run each cell in order, with Shift and Enter. This one loads the course:

# %%
import numpy as np
from numba import cuda

import course
from course import exercises as ex
from course.figures import start as pictures
from course.notebook.predict import compare

# %% [markdown]
# ## Your first kernel
#
# A function that runs on a GPU is called a **kernel**. Many **threads** run it at the same time.
# Each goes through the same lines, with a number of its own. In the cell below, `i` is that number.
#
# Your kernel doubles a row of numbers. Of `x = [1, 2, 3, 4]` it makes `y = [2, 4, 6, 8]`, and
# thread `i` makes `y[i]`.
#
# Replace the three dots with one line. (There are a few more threads than numbers, and the `if`
# sends the spare ones home. Lesson 01 says why there are spare ones.)

# %% double
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        ### BEGIN SOLUTION
        y[i] = 2 * x[i]  # read N, write N
        ### END SOLUTION


# %% [markdown]
# Run the cell above, then the check. Change the kernel and check it again as often as you like:
# nothing is counted against you.

# %% double_check
ex.double.check(double)

# %% [markdown]
# Stuck? Ask for a hint. Each call gives the next one; there are up to three, and the last leaves
# one step to do. `ex.double` alone shows the whole task: an example, what goes in, what comes out,
# and folded away below it the contract: how the kernel is started, and what it may cost.

# %%
ex.double.hint()

# %% [markdown]
# The check's answer speaks of bytes: how many your kernel asked for, and how many it may. The rest
# of this lesson says why, and how to read it.

# %% [markdown]
# ## Near and far
#
# A value that a GPU works on lies in one of several places. The nearest are the **registers**,
# small storage right beside the arithmetic units. The farthest, on the same board, is **device
# memory**: the large memory whose size is printed on the box, 16 GB or 141 GB.
#
# Between the two lie smaller and faster memories, which later lessons use one after another. A GPU
# is made of processors called **SMs** (streaming multiprocessors); an H200 has 132. A **cache**
# keeps what was fetched last, in case somebody wants it again: L1 is the one in each SM, L2 the one
# that all SMs share. *Shared memory* is filled by the program itself (lesson 03).
#
# Two numbers describe each of these memories. The time from asking for a value until it is there is
# called **latency**. How many bytes come in a second, while the whole chip asks, is its
# **bandwidth**.

# %%
pictures.memory_levels()

# %% [markdown]
# All of this was measured on one NVIDIA H200 (`tools/measure_levels.py`; the sizes are from
# NVIDIA's documents). For the bars, one thread followed a chain of addresses, so that each fetch
# had to wait for the one before. The first bar is a *multiply-add*, `a * b + c` in one step, and
# the bandwidth beside it is what multiply-adds at full speed read from registers. On another GPU
# the numbers differ, and the order does not.
#
# Latency is not the whole story. A GPU runs many thousands of threads, and while some of them
# wait for memory others compute. With enough threads at work, what counts is the bandwidth. An
# H200's data sheet promises 4.8 TB a second from device memory, and a kernel that only reads got
# 4.2. On the same chip, the arithmetic units do up to 67 trillion float32 operations a second (67
# TFLOP/s; a multiply-add counts as two).
#
# One `float32` number has 4 bytes, so the memory delivers 4.8 / 4 = 1.2 trillion of them a
# second.
#
# *Predict:* while the memory delivers **one** float32, how many float32 operations can the H200
# do? Write your number in place of the dots and run the cell. An estimate is fine: the next cell
# forgives a fifth.

# %% predict_operations
prediction = ...

# %%
operations = 67e12 / (4.8e12 / 4)
compare(prediction, operations, "operations", tolerance=0.2)

# %% [markdown]
# Other GPUs stand in the same relation. The rates are peaks from data sheets:

# %%
pictures.operations_a_number()

# %% [markdown]
# Now take the addition of two long vectors, `c = a + b`. For each element it fetches two numbers
# and stores one: three trips to memory, **one** operation. The arithmetic units could have done
# well over a hundred in that time. They wait.
#
# Most of what a neural network does besides matrix multiplication looks like that: additions,
# activations, normalisation, softmax, the loss. Such programs are called **memory-bound**: their
# time is the time of their bytes. Halve the operations, and nothing changes. Halve the bytes, and
# they take half as long. (Matrix multiplication can be different, and lesson 04 is about making
# it so. Again by moving fewer bytes.)
#
# That is why this course counts bytes, and grades them. Bytes have a second advantage: they are
# a property of your program. The clock is a property of your program, of the GPU, and of
# whatever else runs on it at that moment. A count is the same on a laptop and in a data centre.

# %% [markdown]
# ## What the meter counts
#
# The GPU runs its threads in groups of 32. Such a group is a **warp**, and the 32 places in it are
# its **lanes**. All lanes of a warp do the same step at the same time.
#
# A read from memory is called a **load**, a write a **store**. When that step is "load `x[i]`", 32
# lanes ask for 32 addresses together. That is one **request**. The memory does not answer in single
# numbers but in **sectors**: pieces of 32 bytes that begin at multiples of 32. Every sector in
# which at least one lane wants something is moved whole.
#
# Eight neighbouring `float32` values fill one sector. When lane *i* reads `x[i]`, the warp needs
# 32 x 4 = 128 bytes, and they are four whole sectors:

# %%
pictures.neighbours()

# %% [markdown]
# *Predict:* now lane *i* reads `x[8 * i]`. How many sectors does one request touch?

# %% predict_every_eighth
prediction = ...

# %% [markdown]
# To measure it, here is a kernel whose threads read every `step`-th element. Note three things.
# `@cuda.jit` turns a Python function into a kernel; it comes from **Numba**, a package that
# compiles Python, and **CUDA** is NVIDIA's name for programming its GPUs.
# `kernel[grid, block](...)` **launches** the kernel: here as 1 block (lesson 01) of 32 threads, one
# warp. And inside `with course.measure() as traffic:` a **meter** counts every request of a launch.


# %%
@cuda.jit
def every_nth(x, y, step):
    i = cuda.grid(1)  # the number of this thread
    y[i] = x[step * i]


x = np.arange(256, dtype=np.float32)
y = np.zeros(32, dtype=np.float32)

with course.measure() as traffic:
    every_nth[1, 32](x, y, 8)

compare(prediction, traffic.loads.sectors, "sectors")

# %% [markdown]
# Run the next cell once you have your answer. It prints what the meter saw for three steps.
# **Lane bytes** are what the lanes wanted; **requested bytes** are sectors times 32, what the
# warp asked the memory for.

# %%
print("step  requests  sectors  lane bytes  requested bytes")
for step in (1, 2, 8):
    with course.measure() as traffic:
        every_nth[1, 32](x, y, step)
    loads = traffic.loads
    print(
        f"{step:4}  {loads.requests:8}  {loads.sectors:7}  {loads.lane_bytes:10}"
        f"  {loads.sectors * 32:15}"
    )

# %%
pictures.every_eighth()

# %% [markdown]
# The same 32 numbers cost 128 bytes in one arrangement and 1,024 in another. Nothing about the
# arithmetic has changed. You will meet this factor of eight again and again.
#
# **What the meter does not say.** Requested bytes are what warps ask of the nearest cache. If a
# sector was fetched a moment ago, a cache may answer and the far memory is spared. Caches are small
# and shared by thousands of threads, so good programs do not count on luck; but they do forgive,
# and lesson 02 measures what. Beside the request the course therefore always shows the **least**:
# every byte that must be moved, once. The numbers themselves are those of the hardware: up to
# lesson 05 they equal, for all but a few odd kernels, what Nsight Compute, NVIDIA's **profiler**,
# reads from a real GPU's counters. From lesson 06 on a compiler chooses which lane loads what: the
# meter counts what it chose, and a check each sector once for a program.

# %% [markdown]
# *Predict:* a kernel writes the square of each of 4,096 elements. How many sectors do its warps
# ask for in all, loads and stores together?

# %% predict_double
prediction = ...


# %%
@cuda.jit
def square(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * x[i]


x = np.arange(4096, dtype=np.float32)
y = np.zeros_like(x)

with course.measure() as traffic:
    square[16, 256](x, y)

compare(prediction, traffic.loads.sectors + traffic.stores.sectors, "sectors")

# %% [markdown]
# `square` has `x[i]` in it two times and still fetches it once: with nothing between the two, the
# compiler keeps the first value in a register, and the meter knows that.

# %% [markdown]
# ## How a verdict reads
#
# A **check** runs your kernel on several small cases, compares the results with a reference, and
# then looks at what it cost. Its answer is a **verdict**. Yours was short. Here is a kernel with
# more to say about it: it doubles every element of `x` in a roundabout way. It copies `x[i]` to
# `y[i]`, and then adds `x[i]` once more. (It is called `double`, too: run your own cell again
# before you check it again.)

# %%
from numba import cuda


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
        y[i] = y[i] + x[i]


# %%
ex.double.check(double)

# %% [markdown]
# From top to bottom:
#
# - **The first line** is the verdict: what became of the kernel, and on which case. This one
#   computes the right numbers and moves too many bytes for them.
# - **The table** has a row for each array and direction. *Requested* is what your warps asked
#   for. *Budget* is what an honest kernel needs, with a tenth to spare; the number shown is the
#   number enforced. *Least* is what cannot be avoided.
# - **The lines of your code**, with the bytes that each one asks for. *Sectors a request* is 4
#   where 32 lanes read 32 neighbouring `float32`, and 32 at worst. *Reuse* is the bytes that the
#   lanes wanted over the bytes that were requested: 1 is a sector used whole, 0.125 is 4 bytes of
#   32. Here each line is fine by itself, and there is one line too many. A load that was done
#   before counts again when a store lies between: for all that the compiler knows, the store has
#   changed the value.
# - **The last lines** say what to think about and what to do next. `ex.double.show(double)`, for
#   example, shows every line of a kernel with its bytes, and draws the lanes and sectors of each
#   access. A term that you forgot: `course.glossary("sector")`.
#
# A check stops at the first thing that is wrong, in this order: the cell was filled in; it is
# kernel code; it compiles; it does nothing forbidden, such as reading past the end of an array; the
# numbers are right; the cost is within the budget. So a verdict about bytes tells you that
# everything before is in order. A right answer earns 60 % of the points whatever it costs, and the
# rest as its cost comes near the budget. (*Also measured* are things that later lessons are about.
# They count only where an exercise says "at most".)

# %% [markdown]
# ## The cell of an exercise
#
# Some things to know about the cell that you filled in; they hold for every exercise:
#
# - **It stands alone.** Imports, constants and helper functions that the kernel uses have to be
#   in the same cell, because the check, and later the grader, read this one cell and nothing
#   else.
# - **A kernel returns nothing.** It writes into arrays that it is given.
# - **An output starts as garbage**, here as NaN ("not a number"). Whatever your kernel does not
#   write stays that way, and the check tells you where.
# - **You may launch it yourself** in a new cell, on arrays of your own: `double[1, 256](x, y)`.
#   What the check would refuse is refused there too, in the same words.
# - **Kernels are a small part of Python**: numbers, arrays, loops, branches. Lists, strings and
#   NumPy functions on whole arrays have no place on a GPU thread, and the check names what it
#   cannot take. `print(course.allowed())` lists what it can.

# %% [markdown]
# ## Explain
#
# A friend shows you a kernel that adds two vectors of 100 million `float32` numbers. On an H200
# it takes 0.3 milliseconds. The friend has found a way to compute each sum with half as many
# instructions and expects 0.15 milliseconds. What do you answer? Use the bytes that the kernel
# has to move and the 4.8 TB/s of the data sheet. Three or four sentences are enough.

# %% [markdown] explain_bytes
# ### BEGIN SOLUTION
# Each element needs two loads and a store of 4 bytes, 12 bytes, so 100 million elements are 1.2
# GB. At 4.8 TB/s that takes 0.25 ms, whatever is computed on the way. The kernel is already at
# more than 80 % of what the memory can deliver, so its time is the time of its bytes; fewer
# instructions leave it where it is. Only moving fewer bytes would help: 16-bit numbers, or
# joining this addition with the kernel before or after it, so that a vector is not stored and
# fetched again.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - Why a GPU waits for memory most of the time, and what **latency** and **bandwidth** are.
# - What **memory-bound** means, and why such a kernel is judged by its bytes.
# - What a **request** and a **sector** are, and why the same 32 numbers can cost 128 bytes or
#   1,024.
# - How a verdict reads: **requested**, **budget** and **least**.
#
# ## Where this stands in real code
#
# - PyTorch runs `y = 2 * x` on a GPU with a kernel much like yours. Its elementwise kernels take
#   care to let each thread fetch several neighbours at once (`vectorized_elementwise_kernel` in
#   `aten/src/ATen/native/cuda`), for one reason: bytes a second.
# - `torch.compile` exists to a large part to save trips to memory: it joins several elementwise
#   steps into one kernel, so that values in between never leave the registers. Lesson 06 does
#   that by hand.
# - In Nsight Compute the counters behind this course's table are called
#   `l1tex__t_requests_pipe_lsu_mem_global_op_ld` and `l1tex__t_sectors_pipe_lsu_mem_global_op_ld`
#   (`_st` for stores).
#
# Next: **01 threads**, where you decide which thread does what. If the words "row-major" and
# "stride" are new to you, the one-page primer `90_primer_strides` comes first.
