# %% [markdown]
# # 06 Hello, Triton
#
# The matrix product with a 4 x 4 patch a thread, in lesson 04, has more than forty lines. Few of
# them say what to compute. The others say which thread loads which element, where it is put down,
# and when everybody has to wait. **What is left of a kernel if a compiler decides all that?**
#
# **Triton** is a language for kernels, written as Python, with a compiler that takes these
# decisions. What it does not decide is what you have learned to count: which bytes are asked for,
# and how often. PyTorch's own compiler writes Triton. By the end of this lesson you can read it.
#
# You need lessons 00 to 04 and a little PyTorch: if tensors are new to you, the one-page primer
# `91_primer_torch` comes first. Triton can be installed on Linux (also in WSL and in containers)
# and is there on Colab. As before no GPU is needed; where there is none, the course runs the
# kernels.
#
# | exercise | time |
# |---|---|
# | `triton_add` (★ core) | 30 min |
# | `wave_energy` | 25 min |
# | `row_scale` | 45 min |
# | `triple_sigmoid_backward` | 40 min |
# | `dequantize` | 40 min |

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
from course.figures import hello_triton as pictures
from course.notebook.inductor import kernels_of
from course.notebook.predict import compare

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)


def show(traffic):
    """Prints what the launches asked for, array by array."""
    for array, direction in traffic.arrays():
        sectors = traffic.sectors(array, direction)
        print(f"{direction:5} {array:8} {sectors:7,} sectors  {sectors * 32:10,} bytes")


# %% [markdown]
# ## From a thread to a program
#
# A Numba kernel is written for **one thread**. Each name in it stands for one number: `i` is this
# thread's index, `x[i]` its element. Thousands of threads run the function, each with other
# numbers.
#
# A Triton kernel is written for **one program**. A name in it may stand for a whole **block of
# values**: 1,024 offsets, 1,024 elements. An operation on a block is done for each of its values,
# as in NumPy. A launch runs the function once for each program of the *grid*.

# %%
pictures.threads_and_programs()

# %% [markdown]
# Two words change their meaning here, so take them apart once. In CUDA a *block* is a group of
# threads. Triton has such groups too, and they are the programs: one program runs on one SM, as a
# block of threads did, with 4 warps unless the launch says otherwise. But you never see these
# threads. In Triton, *block* means a block of values, and the compiler shares it out among the
# program's threads.
#
# What a program does see: `tl.program_id(0)` is its own number, from 0. `tl.arange(0, BLOCK)` is a
# block of whole numbers, 0 to BLOCK - 1. Here are three programs that print the offsets they work
# on. (`tl` is the usual short name of `triton.language`, which holds what a kernel may call.)


# %%
@triton.jit
def hello(BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_print("offsets", offsets)


with course.measure():  # inside `measure`, launches run on the course's engine, on any machine
    hello[(3,)](8)

# %% [markdown]
# Look at the three new things:
#
# - **`@triton.jit`** makes a kernel of the function. Nothing is compiled yet. That happens at the
#   first launch, for the types of the arguments that come with it ("just in time").
# - **`hello[(3,)](8)`** launches 3 programs. The grid is a tuple of one, two or three numbers.
#   There is no second number in the brackets, no threads a block.
# - **`BLOCK: tl.constexpr`** is a *constant expression*: a number that is known when the kernel is
#   compiled, and is written into it. Every other value of BLOCK is another compiled kernel. A
#   block's size has to be such a constant, because the compiler deals its values out to the
#   threads' registers, and a power of two, so that they come out even.
#
# ## Pointers, loads and stores
#
# A tensor that you pass arrives as a **pointer**: the address of its first element, and nothing
# else. No shape, no strides. `x_ptr + offsets` is a block of addresses, counted in elements.
# `tl.load` fetches what lies there, as a block; `tl.store` puts a block there.
#
# This kernel doubles exactly 1,024 elements with one program:


# %%
@triton.jit
def double_block(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)  # (BLOCK,) int32
    x = tl.load(x_ptr + offsets)  # (BLOCK,) float32
    tl.store(out_ptr + offsets, 2 * x)


x = torch.randn(1024, device=device)
out = torch.empty_like(x)
double_block[(1,)](x, out, 1024)
print("right:", torch.equal(out, 2 * x))

# %% [markdown]
# *Predict:* how many sectors does the load ask for? (A sector has 32 bytes, a float32 has 4.)

# %% predict_block
prediction = ...

# %%
with course.measure() as traffic:
    double_block[(1,)](x, out, 1024)

compare(prediction, traffic.loads.sectors, "load sectors")

# %%
print(traffic)

# %% [markdown]
# Which thread fetches which element is for the compiler to choose, and the launch runs what
# Triton's compiler made of the kernel: for an A100, unless you name another GPU by its **compute
# capability**, as in `course.measure(target="sm_90")` (9.0: an H100 or H200; 7.5 is a T4, 8.0 an
# A100). Requests and sectors are what this GPU's L1 counts. The compiler has chosen well:
# neighbouring lanes got neighbouring addresses, and each takes four numbers at once. You no longer
# arrange the lanes. You still choose the addresses, and with them the sectors.
#
# The compiler also sees what you load twice. Of equal loads with no store between it keeps one, and
# a load that is the same in each turn of a `for` loop it makes once, before the loop, if nothing in
# the loop stores. The meter counts what is left.
#
# The column *each once* has the different sectors of each program's load or store: what L2 is asked
# for at most. **The checks grade this number**, their *requested*, which is the same for every GPU.
# L1 counts more in four cases, and the meter with it (*sectors*):
#
# - A load of fewer elements than the program has threads, such as one number for a row, is made by
#   more than one warp.
# - A lane that has several neighbours loads them at once where it can. It cannot where a size or a
#   stride is no multiple of 16: then it loads one after the other, and every one of these loads
#   touches all the sectors. A vector add of 16,421 numbers in blocks of 256, two numbers a lane,
#   made an H200's L1 count 8,212 load sectors, as the meter does. L2 counted 4,106.
# - The same happens where neighbours in the block are not neighbours in memory, as in `x[2 * i]`.
# - One number that several warps of a block want, as in `x[i // 64]`, is asked for by each of them.
#
# Where L1 counts more, `ex.NAME.show` says so beside the line, as in *4 times that*.
#
# ## Past the end
#
# A vector is seldom a whole number of blocks long.
#
# *Predict:* N = 20,000 elements, BLOCK = 1,024. How many programs does it take, and how many
# offsets of the last one have no element?

# %% predict_programs
prediction_programs = ...
prediction_spare = ...

# %%
programs = triton.cdiv(20_000, 1024)  # division rounded up, as in lesson 01
compare(prediction_programs, programs, "programs")
compare(prediction_spare, programs * 1024 - 20_000, "offsets")

# %% [markdown]
# In Numba a thread past the end was sent home by `if i < x.size`. A program cannot go home: half
# of its block may exist. So a load or a store takes a **mask**, a block of yes and no, and touches
# memory only where it says yes.

# %%
pictures.a_masked_load()

# %% [markdown]
# `offsets < N` is such a block. (That is also why `if offsets < N:` does not compile: a block of
# yes and no is neither.) Where the mask says no, Triton promises nothing about what a load gives,
# unless you choose: `tl.load(pointers, mask=inside, other=0.0)`. Today's compiler for NVIDIA's GPUs
# puts 0 there, and the course's engine does as it does; a kernel that counts on it is right by
# luck. For a sum of two vectors it does not matter what stands there, since the store leaves it out
# too. In lesson 07 it will.
#
# What a program does by itself now, beside what you used to write:
#
# | | Numba, a thread | Triton, a program |
# |---|---|---|
# | launch | `kernel[grid, block](...)` | `kernel[(programs,)](...)` |
# | where am I | `cuda.grid(1)`, one number | `tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)` |
# | past the end | `if i < x.size:` | `mask=offsets < N` |
# | size and strides | `x.shape` | passed as numbers |
# | who loads what | you choose each lane's index | the compiler |
# | shared memory, barriers | you write them | the compiler places them |
# | sums across threads | a tree in shared memory | `tl.sum(block)`, lesson 07 |
#
# ### Exercise: `triton_add` (30 minutes, ★ core)
#
# The vector add of lesson 01. The constant BLOCK of the cell is what the check passes for the
# parameter of that name.

# %%
ex.triton_add

# %% triton_add
import triton
import triton.language as tl

BLOCK = 1024  # values of a block: 256, 512, 1024 or 2048


@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):  # x, y, out: (N,)
    ### BEGIN SOLUTION
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)  # read N
    y = tl.load(y_ptr + offsets, mask=inside)  # read N
    tl.store(out_ptr + offsets, x + y, mask=inside)  # write N
    ### END SOLUTION


# %% triton_add_check
ex.triton_add.check(triton_add)

# %% [markdown]
# <details><summary>What does the check say to other blocks?</summary>
# <p>Try them: the bytes are the same. Small blocks make more programs, large blocks give each
# thread more values to keep in registers. For a kernel like this one anything from 256 to 2,048 is
# a fair choice. What the check does refuse is one program that loops over everything: the bytes
# are right, and an H200 would have 131 of its 132 SMs idle.</p>
# </details>
#
# <details><summary>Can N change without a new compilation?</summary>
# <p>Yes. N is an ordinary number, known when the kernel runs. With two exceptions: Triton makes an
# extra version for numbers that are multiples of 16, because it can then load several values with
# one instruction, and one for numbers that are 1.</p>
# </details>
#
# When a kernel is wrong and you cannot see why, follow one program, line by line, with what each
# line assigns. Here is the last of three programs that double 20 elements, 8 a program. (`block=2`
# is program 2: the tracer says block as CUDA does.)


# %%
@triton.jit
def double_masked(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, 2 * x, mask=inside)


x, out = torch.randn(20, device=device), torch.empty(20, device=device)
course.trace(double_masked, block=2)[(3,)](x, out, 20, 8)

# %% [markdown]
# ## Fewer trips
#
# How does PyTorch compute `x.sin() ** 2 + x.cos() ** 2 / 2`? One operation after the other, each
# with a kernel of its own. That is called **eager** execution: every step loads its input from
# device memory and stores its result there, and the next one loads it again.
#
# *Predict:* the steps are sin, square, cos, square, half, add. With vectors of N elements, how many
# times N elements do the six kernels load and store in all?

# %% predict_eager
prediction = ...


# %%
@triton.jit
def one_step(a_ptr, b_ptr, out_ptr, N, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    a = tl.load(a_ptr + offsets, mask=inside)
    if STEP == "sin":  # STEP is a constant: the compiler keeps one branch
        result = tl.sin(a)
    elif STEP == "cos":
        result = tl.cos(a)
    elif STEP == "square":
        result = a * a
    elif STEP == "half":
        result = a / 2
    else:
        result = a + tl.load(b_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, result, mask=inside)


N = 8192
x = torch.randn(N, device=device)
s, c, out = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
steps = [
    ("sin", x, x, s),
    ("square", s, s, s),
    ("cos", x, x, c),
    ("square", c, c, c),
    ("half", c, c, c),
    ("add", s, c, out),
]
with course.measure() as traffic:
    for step, a, b, result in steps:
        one_step[(triton.cdiv(N, 1024),)](a, b, result, N, step, 1024)

compare(prediction, traffic.requested_bytes / x.nbytes, "times N elements")

# %%
print("right:", torch.allclose(out, x.sin() ** 2 + x.cos() ** 2 / 2))
pictures.trips()

# %% [markdown]
# Two trips would do: x in, the result out. To join several steps into one kernel, so that what
# lies between them stays in registers, is called **fusion**. The arithmetic is the same. For a
# kernel that waits for memory, the time goes with the bytes.
#
# Can a compiler do that for you? `torch.compile` takes a Python function, records the operations
# that it calls as a **graph**, and hands the graph to a code generator called Inductor, which
# writes Triton for GPUs. Take two functions that do the same. One has the operations in one
# expression; the other gives what lies between a name:


# %%
def one_line(x):
    return x.cos().cos()


def two_lines(x):
    y = x.cos()
    return y.cos()


# %% [markdown]
# Eager, each of them is two kernels: two loads and two stores of N elements.
#
# *Predict:* how many kernels does torch.compile make of `one_line`, and how many of `two_lines`?

# %% predict_kernels
prediction_one_line = ...
prediction_two_lines = ...

# %% [markdown]
# The next cell asks Inductor what it writes for a vector of 5,000 elements, and stops it before it
# compiles anything. That works without a GPU. The first time takes some ten seconds, most of them
# for loading the compiler. Where Inductor does not run, a sentence says why, and the comparison
# uses what torch 2.13 wrote.

# %%
ragged = torch.randn(5000, device=device)
written = {function.__name__: kernels_of(function, ragged) for function in (one_line, two_lines)}
compare(prediction_one_line, len(written["one_line"].kernels) or 1, "kernels for one_line")
compare(prediction_two_lines, len(written["two_lines"].kernels) or 1, "kernels for two_lines")

# %%
print(written["two_lines"])
print("both the same:", written["one_line"].kernels == written["two_lines"].kernels)

# %% [markdown]
# One kernel for each, and the same one. The graph records operations and what flows between them;
# whether a value had a name in your Python leaves no trace. `y` is needed by nobody else, so it
# never becomes a tensor.
#
# And you can read it. `xnumel` is N and `XBLOCK` is BLOCK; `xindex` are the offsets and `xmask` the
# mask. `tmp0` is loaded, `tmp1` and `tmp2` are computed, `tmp2` is stored. It is your `triton_add`
# with one input, other names and another line of arithmetic.
#
# ### Exercise: `wave_energy` (25 minutes)
#
# Now fuse by hand what took six kernels above. (PyTorch users know sin² + cos² as the standard
# example. It is 1 for every x, so that it forgives nearly every mistake. With the half it does
# not.)

# %%
ex.wave_energy

# %% wave_energy
import triton
import triton.language as tl

BLOCK = 1024  # values of a block: 256, 512, 1024 or 2048


@triton.jit
def wave_energy(x_ptr, out_ptr, N, BLOCK: tl.constexpr):  # x, out: (N,)
    ### BEGIN SOLUTION
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)  # read N
    s = tl.sin(x)
    c = tl.cos(x)
    tl.store(out_ptr + offsets, s * s + c * c / 2, mask=inside)  # write N
    ### END SOLUTION


# %% wave_energy_check
ex.wave_energy.check(wave_energy)

# %% [markdown]
# <details><summary>May the same <code>tl.load</code> stand there twice?</summary>
# <p>Yes. As in Numba, the compiler loads once what is written twice, as long as nothing is stored
# in between, and the meter counts it once. After a store it cannot know that the value is still the
# same: <code>out</code> might be the same memory as <code>x</code>.</p>
# </details>
#
# Compare your kernel with what torch.compile makes of the PyTorch expression:


# %%
def wave(x):
    return x.sin() ** 2 + x.cos() ** 2 / 2


print(kernels_of(wave, ragged))

# %% [markdown]
# If the compiler can do this, why write kernels? Element by element it fuses well. It fuses what
# you *wrote*, though. In lesson 07 a softmax needs three passes over its input as long as one
# computes the maximum, then the sum, then the quotient; two passes take a different algorithm, and
# somebody must have that idea. FlashAttention, in lesson 10, is another. (These two are so well
# known that torch.compile has them as patterns to look for. It will not have yours.)
#
# ## Tiles and strides
#
# A matrix lies in memory as one long line. How far apart its neighbours are is what two **strides**
# say: `stride_m` elements from one row to the next, `stride_n` from one column to the next. A
# transposed matrix is the same memory with its strides exchanged; nothing is moved.

# %%
pictures.two_orders()

# %% [markdown]
# *Predict:* `w` has 96 rows and 40 columns and is stored by rows. `x = w.T` has 40 rows and 96
# columns. What are its two strides?

# %% predict_strides
prediction_stride_m = ...
prediction_stride_n = ...

# %%
w = torch.randn(96, 40)
compare(prediction_stride_m, w.T.stride(0), "elements from row to row")
compare(prediction_stride_n, w.T.stride(1), "elements from column to column")

# %% [markdown]
# A tensor whose elements lie row after row with nothing in between is called **contiguous**. Many
# kernels quietly assume it. On a tensor like `w.T` such a kernel reads existing elements, the wrong
# ones, and nobody complains.
#
# A program can work on a **tile**, a block of values with two axes. Its offsets come from
# **broadcasting**, as in NumPy: `rows[:, None]` turns BM numbers into a column of shape (BM, 1),
# `columns[None, :]` turns BN numbers into a row of shape (1, BN), and their sum has shape (BM, BN).

# %%
pictures.a_tile_of_offsets()

# %% [markdown]
# A mask is a block like any other: `(rows < M)[:, None] & (columns < N)[None, :]` has the shape of
# the tile. The grid may have two axes, too: `tl.program_id(0)` and `tl.program_id(1)`.
#
# ### Exercise: `row_scale` (45 minutes)
#
# Multiply each row of a matrix by a number of its own. `x` may be stored by rows or by columns.

# %%
ex.row_scale

# %% row_scale
import triton
import triton.language as tl

BM = 32  # rows of a tile: 8, 16, 32 or 64
BN = 64  # columns of a tile: 32, 64, 128 or 256


@triton.jit
def row_scale(
    x_ptr, scale_ptr, out_ptr, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr
):  # x: (M, N) with strides, scale: (M,), out: (M, N) by rows
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x_places = rows[:, None] * stride_m + columns[None, :] * stride_n
    x = tl.load(x_ptr + x_places, mask=inside)  # read MN
    scale = tl.load(scale_ptr + rows, mask=rows < M)  # read M for each column of tiles
    out_places = rows[:, None] * N + columns[None, :]
    tl.store(out_ptr + out_places, x * scale[:, None], mask=inside)  # write MN
    ### END SOLUTION


# %% row_scale_check
ex.row_scale.check(row_scale)

# %% [markdown]
# In lesson 03 you turned a matrix through a tile in shared memory, with a barrier, because lanes
# that load along columns cannot store along rows. Here `x` stored by columns is loaded along
# columns, `out` is stored along rows, and you wrote nothing about it. Who turned the tile? Ask the
# compiler how much shared memory it takes. (`compile_for` runs Triton's compiler for an A100, which
# needs no GPU.)
#
# *Predict:* a tile of 32 x 64 float32 is copied from a matrix stored by columns to one stored by
# rows. How many bytes of shared memory does the program use?

# %% predict_turn
prediction = ...

# %%
from course.engine.triton.compiling.gate import compile_for


@triton.jit
def copy_tile(x_ptr, out_ptr, stride_m, stride_n):
    rows = tl.arange(0, 32)[:, None]
    columns = tl.arange(0, 64)[None, :]
    x = tl.load(x_ptr + rows * stride_m + columns * stride_n)
    tl.store(out_ptr + rows * 64 + columns, x)


by_rows = torch.randn(32, 64)
by_columns = by_rows.T.contiguous().T  # the same matrix in the other order
taken = {}
for name, x_tile in (("by rows", by_rows), ("by columns", by_columns)):
    arguments = (x_tile, torch.empty(32, 64), *x_tile.stride())
    taken[name] = compile_for(copy_tile, arguments).shared_bytes

compare(prediction, taken["by columns"], "bytes")

# %%
print("bytes of shared memory:", taken)

# %% [markdown]
# The whole tile, 32 * 64 * 4 bytes, when its order changes, and none when it does not. The compiler
# sees that a stride is 1 (that is the extra version for the number 1), lets the lanes follow that
# axis, and turns the tile in shared memory before the store. This is your `transpose`, with its
# barrier, written by the compiler.
#
# ## Store it, or compute it again
#
# Training runs every function twice: forward, and then backward for the gradients. Take
#
# `s1 = sigmoid(x)`, `s2 = sigmoid(s1)`, `out = s3 = sigmoid(s2)`, where
# sigmoid(z) = 1 / (1 + exp(-z)).
#
# Backward, each element of `dout` says how much the loss changes with that element of `out`, and
# we want the same for x. By the chain rule the slopes of the three stages are multiplied. The slope
# of s = sigmoid(z) is `s * (1 - s)`: it is computed from the stage's *output*.
#
# So the backward kernel needs s1, s2 and s3. The usual design stores s1 and s2 on the way forward
# (s3 is one more sigmoid away) and loads them on the way back.
#
# *Predict:* the forward kernel loads x and stores s1, s2 and out. The backward kernel loads s1, s2
# and dout and stores dx. How many times N elements is that? And how many if the backward kernel
# loads x in place of s1 and s2, and computes them again?

# %% predict_recompute
prediction_storing = ...
prediction_again = ...

# %%
storing, again = (1 + 3) + (3 + 1), (1 + 1) + (2 + 1)
compare(prediction_storing, storing, "times N elements")
compare(prediction_again, again, "times N elements")

# %%
pictures.store_or_recompute()

# %% [markdown]
# Eight become five. The price is two more sigmoids an element, each an exponential, an addition and
# a division. Lesson 00 had the exchange rate: while the memory of an H200 delivers one float32, its
# arithmetic units do 56 operations. To compute something twice in order not to move it is called
# **recomputation**. It saves memory as well: s1 and s2 need not be kept from the forward pass to
# the backward pass.
#
# ### Exercise: `triple_sigmoid_backward` (40 minutes)
#
# The kernel gets x and dout, and nothing else.

# %%
ex.triple_sigmoid_backward

# %% triple_sigmoid_backward
import triton
import triton.language as tl

BLOCK = 1024  # values of a block: 256, 512, 1024 or 2048


@triton.jit
def triple_sigmoid_backward(x_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):  # all: (N,)
    ### BEGIN SOLUTION
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)  # read N
    dout = tl.load(dout_ptr + offsets, mask=inside)  # read N
    s1 = tl.sigmoid(x)
    s2 = tl.sigmoid(s1)
    s3 = tl.sigmoid(s2)
    dx = dout * (s3 * (1 - s3)) * (s2 * (1 - s2)) * (s1 * (1 - s1))
    tl.store(dx_ptr + offsets, dx, mask=inside)  # write N
    ### END SOLUTION


# %% triple_sigmoid_backward_check
ex.triple_sigmoid_backward.check(triple_sigmoid_backward)

# %% [markdown]
# Beside it, the version that stores, measured. Its two kernels, and the forward kernel that goes
# with yours:


# %%
@triton.jit
def forward_storing(x_ptr, s1_ptr, s2_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    s1 = tl.sigmoid(tl.load(x_ptr + offsets, mask=inside))  # read N
    s2 = tl.sigmoid(s1)
    tl.store(s1_ptr + offsets, s1, mask=inside)  # write N
    tl.store(s2_ptr + offsets, s2, mask=inside)  # write N
    tl.store(out_ptr + offsets, tl.sigmoid(s2), mask=inside)  # write N


@triton.jit
def backward_from_stored(s1_ptr, s2_ptr, dout_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    s1 = tl.load(s1_ptr + offsets, mask=inside)  # read N
    s2 = tl.load(s2_ptr + offsets, mask=inside)  # read N
    s3 = tl.sigmoid(s2)
    dout = tl.load(dout_ptr + offsets, mask=inside)  # read N
    dx = dout * (s3 - s3 * s3) * (s2 - s2 * s2) * (s1 - s1 * s1)
    tl.store(dx_ptr + offsets, dx, mask=inside)  # write N


@triton.jit
def forward_only(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < N
    x = tl.load(x_ptr + offsets, mask=inside)  # read N
    tl.store(out_ptr + offsets, tl.sigmoid(tl.sigmoid(tl.sigmoid(x))), mask=inside)  # write N


s1, s2, out, dx = (torch.empty_like(x) for _ in range(4))
dout = torch.randn(N, device=device)
grid = (triton.cdiv(N, 1024),)
with course.measure() as stored:
    forward_storing[grid](x, s1, s2, out, N, 1024)
    backward_from_stored[grid](s1, s2, dout, dx, N, 1024)
with course.measure() as forward:
    forward_only[grid](x, out, N, 1024)

print("storing, forward and backward:")
show(stored)
print(f"  {stored.requested_bytes:,} bytes, {stored.requested_bytes // x.nbytes} vectors")
print("computing again, forward:")
show(forward)
backward = 3 * x.nbytes  # what triple_sigmoid_backward moves: x, dout and dx
total = forward.requested_bytes + backward
print(f"  with your backward kernel {total:,} bytes, {total // x.nbytes} vectors")

# %% [markdown]
# ## Smaller numbers
#
# The third way to move fewer bytes is to make each number smaller. Weights of a trained network
# are often stored as **int8**: whole numbers from -128 to 127, one byte each, with one float32
# **scale** for each row. To **quantise** a row, divide it by its scale, the largest magnitude over
# 127, and round. To **dequantise**, multiply by the scale again.

# %%
w = 0.00025 * torch.randn(4, 1000)
scale = w.abs().amax(dim=1) / 127
q = torch.round(w / scale[:, None]).to(torch.int8)
error = (q * scale[:, None] - w).abs().amax(dim=1)
print("scales            ", [f"{value:.2g}" for value in scale.tolist()])
print("largest error/scale", [f"{value:.2f}" for value in (error / scale).tolist()])

# %% [markdown]
# Rounding costs at most half a scale. Why is the scale a float32, when the weights come out as
# float16? Below 0.00006, float16 numbers stop getting finer: they are all multiples of 0.00000006
# (2 to the power of -24).
#
# *Predict:* how many float16 numbers are there above 0 and up to 0.000006, the size of the scales
# here?

# %% predict_float16
prediction = ...

# %%
compare(prediction, np.floor(6e-6 / 2.0**-24), "numbers", tolerance=0.05)
pictures.float16_steps()

# %% [markdown]
# A hundred numbers are two digits. The products, up to 127 times larger, can have the three digits
# of a float16. So multiply in float32 and round once, at the end: `tl.store` converts a block to
# the type of the tensor that it is stored to. (int8 times float32 is float32, as in PyTorch.)
#
# For a row that is longer than a block, a program walks along it. An ordinary loop does that, with
# start = 0, BLOCK, 2 * BLOCK, ...; lesson 07 is built on such loops.

# %%
pictures.a_row_in_rounds()

# %% [markdown]
# *Predict:* a program has a row of K = 8,192 with BLOCK = 1,024. The scale of a row is one number:
# 4 bytes that cost a sector. If the kernel loads it inside the loop, after the store of the round
# before, how many sectors of scales does a program ask for? (Each load once, as the checks count.
# L1 counts four times as many, since each of the 4 warps makes the load.)

# %% predict_scale
prediction = ...

# %%
compare(prediction, triton.cdiv(8192, 1024), "sectors")

# %% [markdown]
# ### Exercise: `dequantize` (40 minutes)

# %%
ex.dequantize

# %% dequantize
import triton
import triton.language as tl

BLOCK = 1024  # values of a block: 256, 512, 1024 or 2048


@triton.jit
def dequantize(q_ptr, scale_ptr, out_ptr, K, BLOCK: tl.constexpr):
    # q: (M, K) int8, scale: (M,) float32, out: (M, K) float16
    ### BEGIN SOLUTION
    row = tl.program_id(0)
    scale = tl.load(scale_ptr + row)  # read M, a sector each
    for start in range(0, K, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < K
        q = tl.load(q_ptr + row * K + columns, mask=inside)  # read MK, one byte each
        tl.store(out_ptr + row * K + columns, q * scale, mask=inside)  # write MK, two bytes each
    ### END SOLUTION


# %% dequantize_check
ex.dequantize.check(dequantize)

# %% [markdown]
# Count what it is good for. A float16 weight that lies in memory costs 2 bytes to load. This
# kernel loads 1 and stores 2, and whoever uses the weight loads these 2 again: 5 in place of 2. As
# a kernel of its own, dequantising saves room and wastes trips. It pays when it is fused into the
# kernel that uses the weights. Then a weight costs 1 byte, and the float16 exists in registers
# only. Lesson 09 does that in a matrix product (`quantised_matmul`).

# %% [markdown]
# ## Explain
#
# A friend knows CUDA and writes a first Triton kernel: `BLOCK = 1`, a program for each element,
# `tl.program_id(0)` as its index. For N = 8,192 the sum of two vectors is right. Each once, the
# meter shows 16,384 load sectors and 8,192 store sectors, and yours shows 2,048 and 1,024; L1
# counts 65,536 for the friend's loads. Explain to your friend where both factors come from, what
# the hardware does with a program of one value, and what the number of a program stands for.

# %% [markdown] explain_program
# ### BEGIN SOLUTION
# A program is not a thread. It corresponds to a block of threads: it gets 4 warps, 128 threads, of
# one SM, whatever the size of its block of values. With one value, 127 of them have nothing to do.
# Loads are not joined across programs: each program asks for the sector in which its element lies,
# 32 bytes, and uses 4 of them, so eight programs ask for the same sector one after the other. That
# is the factor of 8: 8,192 sectors for each vector, and not 1,024. L1 counts four times that, since
# each of the 4 warps makes the load. With BLOCK = 1024 one load asks for 1,024 neighbours, 128
# sectors, each used whole, and 8 programs do it. The number of a program says which *block* is
# meant: its offsets begin at program_id * BLOCK.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - What a Triton **program** is, how it differs from a CUDA thread, and what `tl.program_id`
#   counts.
# - A **block of values**, its **offsets** and its **mask**; why its size is a **constexpr**.
# - What the compiler decides (lanes, shared memory, barriers) and what it leaves to you: which
#   sectors are asked for, and how often.
# - **Fusion**: thirteen vectors became two; what torch.compile does, and what it cannot.
# - **Strides** and **broadcasting**: a tile of offsets for a matrix in any order.
# - **Recomputation**: eight vectors became five. Smaller numbers, and why a scale is a float32.
#
# ## Where this stands in real code
#
# - `TORCH_LOGS="output_code"` before any PyTorch program prints the Triton that torch.compile
#   writes for it.
# - `torch.utils.checkpoint` is recomputation for whole layers: activations are dropped in the
#   forward pass and computed again in the backward pass.
# - Liger-Kernel and FlagGems are collections of Triton kernels for neural networks; nearly every
#   kernel begins with the program id, offsets and a mask.
# - Marlin, a matrix product for weights of 4 bits that vLLM uses, dequantises in registers.
#
# Next: **07 softmax**, where a program reduces a row that does not fit into its block.
