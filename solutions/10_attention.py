# %% [markdown]
# # 10 FlashAttention, forward
#
# A language model looks back at everything that it has read: each position is compared with each
# other one. For 32,768 positions and 32 heads these comparisons, written down as float16 numbers,
# are **69 GB** for a single layer. What goes in and what comes out, four arrays of 32 x 32,768 x 64
# numbers, is half a gigabyte. **Does anybody need the 69?**
#
# For years everybody wrote them down. Then a kernel left them out: the same result, the same
# arithmetic, and many times faster on long texts. It is called FlashAttention. You have all of its
# parts: tiles that stay (lesson 04), a softmax that needs no second look (lesson 07), `tl.dot`
# (lesson 09). In this lesson you put them together. Plan three sittings:
#
# | exercise | time |
# |---|---|
# | `attention_bytes` | 40 min |
# | `attend_one_query` (★ core) | 60 min |
# | `flash_forward` (★ core) | 90 min |
# | `flash_causal` | 45 min |
# | `flash_decode` (bonus) | 60 min |
# | `flash_gqa` (bonus) | 45 min |
# | `debug_attention` | 45 min |
#
# New to attention? Read the primer *attention in NumPy* first (92): one page.

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
from course.figures import attention as pictures
from course.notebook.listing import listing
from course.notebook.predict import compare

generator = torch.Generator().manual_seed(0)


def heads(*shape, dtype=torch.float16):
    """Normal numbers of this shape."""
    return torch.randn(*shape, generator=generator).to(dtype)


def show(traffic):
    """Prints what a launch asked for, array by array."""
    for array, direction in traffic.arrays():
        print(f"{direction:6} {array:8}: {traffic.sectors(array, direction) * 32:12,} bytes")
    print(f"in all          : {traffic.requested_bytes:12,} bytes")


# %% [markdown]
# ## 1. What attention computes
#
# One **head** has three matrices of N rows, one row for each position, and D columns: the queries
# Q, the keys K and the values V. Position i asks with its query. How well it matches position j is
# the **score** `q[i] . k[j] / sqrt(D)`. A softmax turns each row of scores into **weights**, which
# are positive and add up to 1, and the output is the weighted mean of the rows of V:

# %%
pictures.matrices()

# %% [markdown]
# (The square root keeps scores of the same size whatever D is: a dot product of D pairs of
# independent normal numbers has a standard deviation of sqrt(D).)
#
# A layer has many heads, each by itself. In this lesson arrays are (H, N, D): heads, positions,
# columns. A batch of several texts has H times as many heads, nothing else changes.
#
# ## 2. Three kernels, and what lies between them
#
# The formula says what to do: a product, a softmax of rows, a product. That is three kernels.
# (`tl.trans` turns a tile: (T, D) becomes (D, T).)


# %%
@triton.jit
def scores_of(q, k, s, N, D: tl.constexpr, T: tl.constexpr):
    """S = Q K^T / sqrt(D), a tile of S a program."""
    head = tl.program_id(2)
    d = tl.arange(0, D)
    rows = (head * N + tl.program_id(0) * T + tl.arange(0, T))[:, None]
    columns = tl.program_id(1) * T + tl.arange(0, T)
    queries = tl.load(q + rows * D + d)
    keys = tl.load(k + (head * N + columns[:, None]) * D + d)
    tl.store(s + rows * N + columns, tl.dot(queries, tl.trans(keys)) * D**-0.5)


@triton.jit
def softmax_of(s, p, N: tl.constexpr):
    """P = softmax of S's rows, a row a program."""
    place = tl.program_id(0) * N + tl.arange(0, N)
    scores = tl.load(s + place).to(tl.float32)
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(p + place, weights / tl.sum(weights, 0))


@triton.jit
def mean_of(p, v, out, N, D: tl.constexpr, T: tl.constexpr):
    """O = P V, a tile of whole rows of O a program."""
    head = tl.program_id(1)
    d = tl.arange(0, D)
    rows = (head * N + tl.program_id(0) * T + tl.arange(0, T))[:, None]
    acc = tl.zeros((T, D), tl.float32)
    for start in range(0, N, T):
        columns = start + tl.arange(0, T)
        weights = tl.load(p + rows * N + columns)
        values = tl.load(v + (head * N + columns[:, None]) * D + d)
        acc += tl.dot(weights, values)
    tl.store(out + rows * D + d, acc)


def unfused(q, k, v, T=64):
    """Attention by three kernels, for N a multiple of T and a power of two."""
    H, N, D = q.shape
    s = torch.empty(H, N, N, dtype=q.dtype)
    p = torch.empty_like(s)
    out = torch.empty_like(q)
    scores_of[(N // T, N // T, H)](q, k, s, N, D, T)
    softmax_of[(H * N,)](s, p, N)
    mean_of[(N // T, H)](p, v, out, N, D, T)
    return out


# %% [markdown]
# *Predict:* one head, N = 256, D = 64, float16. How many bytes do the three kernels request for S
# and P alone, loads and stores together?

# %% predict_between
prediction = ...

# %%
q, k, v = heads(1, 256, 64), heads(1, 256, 64), heads(1, 256, 64)
with course.measure() as traffic:
    expected = unfused(q, k, v)
between = [pair for pair in traffic.arrays() if pair[0] in ("s", "p")]
compare(prediction, sum(traffic.sectors(*pair) for pair in between) * 32, "bytes")

# %%
show(traffic)

# %% [markdown]
# S is written and read, and so is P: **four trips of N x N elements**. Everything else in the list
# is Q, K, V and O.

# %%
pictures.trips()

# %% [markdown]
# A little more exactly, for tiles of BR queries and BC keys, in elements:
#
# | kernel | loads | stores |
# |---|---|---|
# | S = Q K^T | N²D / BC of Q and N²D / BR of K | N² |
# | P = softmax(S) | N² | N² |
# | O = P V | N² of P and N²D / BR of V | ND |
#
# Together that is **N² (4 + 2D/BR + D/BC) + ND**. (Check it against the numbers above: N = 256, D =
# BR = BC = 64, 2 bytes.)
#
# Now suppose one kernel did all of it. A program keeps a tile of BR queries and walks along all
# keys and values; scores and weights never leave it. It loads its rows of Q once and *all* of K and
# V, and stores its rows of O. With N / BR programs that makes **2ND + 2 ceil(N/BR) ND**. The N² has
# not gone: each tile of queries reads K and V again. But it is divided by BR.
#
# ### Exercise: `attention_bytes` (40 minutes)

# %%
ex.attention_bytes

# %% attention_bytes
attention_bytes = {
    "scores_bytes": ...,
    "least_unfused": ...,
    "least_fused": ...,
    "least_ratio": ...,
    "requested_unfused": ...,
    "requested_fused": ...,
    "requested_ratio": ...,
    "requested_fused_128": ...,
    "pays_ten_times": ...,
    "scores_of_a_layer": ...,
    "causal_tiles": ...,
    "causal_share": ...,
}
### BEGIN SOLUTION
N = 4096
D = BR = BC = 64
attention_bytes = {
    "scores_bytes": 2 * N**2,
    "least_unfused": 2 * (4 * N**2 + 4 * N * D),
    "least_fused": 2 * 4 * N * D,
    "least_ratio": 1 + N / D,
    "requested_unfused": 2 * (N**2 * (4 + 2 * D / BR + D / BC) + N * D),
    "requested_fused": 2 * (2 * N * D + 2 * (N / BR) * N * D),  # BC is not in it
    "requested_ratio": (N**2 * 7 + N * D) / (2 * N * D + 2 * (N / BR) * N * D),
    "requested_fused_128": 2 * (2 * N * D + 2 * (N / 128) * N * D),
    "pays_ten_times": 9 * D,  # 1 + N / D = 10
    "scores_of_a_layer": 32 * 2 * 32768**2 / 1e9,
    "causal_tiles": 8 * 9 / 2,
    "causal_share": 65 / 128,  # (T + 1) / 2T with T = 64
}
### END SOLUTION

# %% attention_bytes_check
ex.attention_bytes.check(attention_bytes)

# %%
pictures.bytes_over_n()

# %% [markdown]
# Two gaps are in this chart, and they mean different things.
#
# - **Requested**: 3.5 times between the two versions, at every large N. The fused kernel still
#   reads K and V for each tile of queries, and larger tiles help, as in lesson 04.
# - **Least**: 65 times at N = 4096, and growing. The least is what has to come from DRAM if the
#   caches do all they can. K and V of one head at N = 4096 are a megabyte: they stay in the L2
#   cache while all tiles of queries pass, so the fused kernel comes close to its least. S is 34 MB
#   for each head, and no cache keeps it for 32 of them.
#
# So it pays as soon as N is a few times D. Section 4 asks the clock.
#
# One thing stands in the way. The softmax of a row needs the row's maximum and its sum, which are
# known at the row's end. The weighted mean wants weights at once, tile by tile.

# %% [markdown]
# ## 3. A mean whose weights are not known yet
#
# `softmax_online` of lesson 07 passed over a row tile by tile with two numbers: the greatest score
# so far, **m**, and the sum of `exp(score - m)` so far, **total**. When a tile brings a greater
# score, m_new, the old sum was measured against the wrong maximum. One factor repairs it:
#
# > exp(s - m_new) = exp(s - m) * **exp(m - m_new)**
#
# That lesson needed a second pass: to *write* each weight, one must know the final total. But
# attention does not want the weights. It wants
#
# > out = (sum over j of exp(s[j] - m) * v[j]) / (sum over j of exp(s[j] - m))
#
# Here is the whole idea. Call the upper sum **acc**: a row of D numbers, where total is one number.
# Every term of it holds the same `exp(s[j] - m)` as the lower sum. So when m changes, **the same
# factor repairs acc**, and when the keys are through, one division gives the output. No weight is
# ever looked at twice. In numbers, with values of one column:

# %%
pictures.running_sums()

# %% [markdown]
# *Predict:* a fourth tile brings the scores 5 and 5, against m = 4 so far. By which factor are
# total and acc multiplied before it is added?

# %% predict_factor
prediction = ...

# %%
compare(prediction, np.exp(4 - 5), tolerance=0.01)

# %% [markdown]
# The picture's steps in six lines of NumPy, and the softmax with everything at hand beside them:

# %%
m, total, acc = -np.inf, 0.0, 0.0
for scores, values in zip(pictures.EXAMPLE_SCORES, pictures.EXAMPLE_VALUES, strict=True):
    m_new = max(m, *scores)
    rescale = np.exp(m - m_new)  # exp(-inf) is 0: the first tile repairs nothing
    weights = np.exp(np.array(scores) - m_new)
    total = total * rescale + weights.sum()
    acc = acc * rescale + weights @ np.array(values)
    m = m_new

weights = np.exp(np.ravel(pictures.EXAMPLE_SCORES))
print("tile by tile:", acc / total)
print("all at once: ", weights @ np.ravel(pictures.EXAMPLE_VALUES) / weights.sum())

# %% [markdown]
# This is exact. FlashAttention is no approximation: it adds up the same terms in another order.
#
# ### Exercise: `attend_one_query` (60 minutes, ★ core)
#
# First for one query a head. A program has D numbers of a query, and passes over that head's K and
# V, BC keys at a time. As in lesson 09 you write the launcher, too: it makes the output,
# launches the kernel, and returns the output. K and V may be the first N rows of a larger array
# that has room for more, with gaps between rows and between heads: pass both strides. Both arrays
# have the same.
#
# Two details:
#
# - A key past the end is no key with the score 0. What weight would 0 get, and what weight should
#   it have?
# - `query * keys` with a query of shape (D,) and keys of shape (BC, D) is (BC, D): lesson 06's
#   broadcasting. One query is no matrix, so there is nothing for `tl.dot` here.

# %%
ex.attend_one_query

# %% attend_one_query
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    ### BEGIN SOLUTION
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)  # read HD
    m = float("-inf")  # the greatest score so far
    total = 0.0  # the sum of weights so far
    acc = tl.zeros((D,), tl.float32)  # the weighted sum of rows of v so far
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d  # (BC, D)
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)  # read HND
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)  # read HND
        scores = tl.sum(query * keys, 1) * D**-0.5  # (BC,)
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)  # what was summed so far counts this much
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)  # write HD
    ### END SOLUTION


def attend_one_query(q, k, v):  # q: (H, D), k and v: (H, N, D)
    H, N, D = k.shape
    ### BEGIN SOLUTION
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out
    ### END SOLUTION


# %% attend_one_query_check
ex.attend_one_query.check(attend_one_query)

# %% [markdown]
# <details><summary>Why is m a number here, and where is it kept?</summary>
# <p><code>tl.max(scores, 0)</code> of a row of scores is one number, and so is everything that is
# computed from it. All lanes of the program hold a copy. In the next exercise m becomes one number
# a query, and <code>tl.max(scores, 1)</code> gives them.</p>
# </details>
#
# <details><summary>What if all scores of the first tile are -inf?</summary>
# <p>Then m_new is -inf, and -inf - (-inf) is not a number. It cannot happen here: the first tile
# has at least one key, and its score is finite. With masks that can hide a whole tile (padding in a
# batch, say) one needs a guard, as in lesson 07.</p>
# </details>
#
# Everything was loaded once. How good is that? Each element of K serves one multiply-add and then
# is dropped: 2 operations for 2 bytes of float16, far to the left on lesson 05's roofline. That is
# what a language model does when it writes text: one new query, and all keys and values so far.
# Section 6 comes back to it. When it *reads*, there are N queries, and then a row of K can serve
# more than one.

# %% [markdown]
# ## 4. A tile of queries
#
# N programs with a query each would load N times all of K and V.
#
# *Predict:* one head, N = 256, D = 64, float16. How many bytes of K do 256 such programs request?
# And how many with tiles of 64 queries? Write down the *ratio*.

# %% predict_tile
prediction = ...

# %%
a_query_a_program = 256 * 256 * 64 * 2
a_tile_a_program = (256 // 64) * 256 * 64 * 2
print(f"{a_query_a_program:,} and {a_tile_a_program:,} bytes")
compare(prediction, a_query_a_program / a_tile_a_program, "times")

# %% [markdown]
# It is lesson 04's picture again. The tile of Q and the tile of O stay with the program, and tiles
# of K and V pass by: output-stationary. Only that here *two* products are chained, and the matrix
# between them, S, exists one tile at a time.

# %%
pictures.tiles_of_queries()

# %% [markdown]
# From one query to BR of them, everything gets a first axis: m and total become (BR,), acc becomes
# (BR, D), scores become (BR, BC). Both products are matrix products now, and `tl.dot` does them.

# %%
pictures.one_step()

# %% [markdown]
# **How large a tile?** Traffic asks for large BR: K and V are read N / BR times. BC does not appear
# in the traffic at all. What limits both is the chip: acc has BR x D float32 numbers, scores and
# weights BR x BC, and Q's tile and the tiles of K and V wait in shared memory. With BR = BC = D =
# 64, acc, scores and weights are 16 KB each. A thread has at most 255 registers, so the 4 warps
# that Triton takes by default hold 130 KB, and `num_warps=8` twice as much; what does not fit
# spills to memory. The check looks at both: 512 bytes of spills a thread, and 64 KB of shared
# memory, as much as a T4 gives a program, are the most.
#
# **Which precision?** The inputs are float16 or float32. Scores come out of `tl.dot` as float32,
# and m, total and acc stay float32: acc adds up N terms before it is divided. A weight is at most
# 1, and for `tl.dot` with values in float16 it may be rounded to float16: an error of 2^-11 of each
# weight, as small as the rounding of the output. For float32 inputs say `input_precision="ieee"`,
# or the tensor cores cut them to TF32 (lesson 09).
#
# ### Exercise: `flash_forward` (90 minutes, ★ core)
#
# Any N, and heads on a second axis of the grid. Start from your `attend_one_query`.

# %%
ex.flash_forward

# %% flash_forward
import torch
import triton
import triton.language as tl

BR = 64  # queries of a program
BC = 32  # keys at a time


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    ### BEGIN SOLUTION
    head = tl.program_id(1)
    q += head * head_stride  # from here on pointers to this head
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)  # read HND
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)  # read HND ceil(N/BR)
        values = tl.load(v + place, mask=there, other=0.0)  # read HND ceil(N/BR)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5  # (BR, BC)
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)  # write HND
    ### END SOLUTION


def flash_forward(q, k, v):  # each (H, N, D)
    H, N, D = q.shape
    ### BEGIN SOLUTION
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out
    ### END SOLUTION


# %% flash_forward_check
ex.flash_forward.check(flash_forward)

# %% [markdown]
# You have written FlashAttention. What does it ask for, beside the three kernels? This cell runs
# *your* kernel, once it passes.

# %%
if ex.flash_forward.check(flash_forward):
    print("    N      unfused        fused    times")
    for n in (128, 256, 512):
        q, k, v = heads(1, n, 64), heads(1, n, 64), heads(1, n, 64)
        with course.measure() as three:
            expected = unfused(q, k, v)
        with course.measure() as one:
            got = flash_forward(q, k, v)
        assert torch.allclose(got, expected, atol=5e-3)
        a, b = three.requested_bytes, one.requested_bytes
        print(f"{n:5} {a:12,} {b:12,} {a / b:8.2f}")
else:
    print("First the exercise above.")

# %% [markdown]
# The ratio creeps towards 3.5. And the clock? With a GPU the next cell runs your kernel beside
# PyTorch, unfused and fused.


# %%
def milliseconds(function, times=20):
    """Mean time of a call on the GPU."""
    function()  # compiled and warm
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        function()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / times


if course.has_gpu() and ex.flash_forward.check(flash_forward):
    q, k, v = (heads(16, 4096, 64).cuda() for _ in range(3))
    fused = torch.nn.functional.scaled_dot_product_attention
    times = {
        "PyTorch, unfused": milliseconds(lambda: torch.softmax(q @ k.mT * 64**-0.5, -1) @ v),
        "flash_forward": milliseconds(lambda: flash_forward(q, k, v)),
        "PyTorch, fused": milliseconds(lambda: fused(q[None], k[None], v[None])),
    }
    print("Measured now, on", torch.cuda.get_device_name())
else:
    times = {"PyTorch, unfused": 1.403, "flash_forward": 0.471, "PyTorch, fused": 0.152}
    print("Recorded with the lesson's solution on an H200, 2026-11-27, PyTorch 2.11, Triton 3.6")
for name, time in times.items():
    print(f"{name:16} {time:6.3f} ms  {4 * 4096**2 * 64 * 16 / time / 1e9:5.0f} TFLOP/s")

# %% [markdown]
# S of these 16 heads has 537 MB, far more than any cache holds, and the plain solution is three
# times as fast as the version that writes it down. PyTorch's fused kernel is three times faster
# still. Part of that is free for you: the solution's tiles were chosen to fit a small GPU in
# float32. With BC = 64 and `num_warps=4` the same kernel took 0.232 ms in the same run on that
# H200. `triton.autotune` is there to try such choices out. More is to be had by arithmetic: 128
# queries on eight warps, no mask for the tiles of keys that are whole, and the scale, log2(e) and
# the maximum in one multiply-add before `exp2`. On 32 heads of 8,192 positions that kernel reaches
# 441 TFLOP/s, PyTorch's FlashAttention-2 305 and cuDNN's kernel 488.
#
# And the arithmetic? The fused kernel computes every score once, as before; it adds a factor and a
# maximum for each tile. A few more operations for a fraction of the bytes: on a chip that does
# hundreds of operations in the time of one byte that is a good trade. Lesson 11 takes it further
# and computes all scores a *second* time to avoid storing them.

# %% [markdown]
# ## 5. Nothing from the future
#
# A language model predicts the next word, so position i must not see what comes after it: scores
# with j > i count as -inf. That is the **causal** mask. One can load everything and mask half of it
# away. But a tile that lies above the diagonal is masked as a whole, and what is masked as a whole
# need not be loaded.

# %%
pictures.causal_tiles()

# %% [markdown]
# With T tiles along N, the tile of queries number t, counted from 1, loads t tiles of keys. In all
# that is T (T + 1) / 2 of T².
#
# *Predict:* N = 256 and tiles of 64. What share of the full traffic of K is left?

# %% predict_causal
prediction = ...

# %%
compare(prediction, 4 * 5 / 2 / 4**2)

# %%
for n in (128, 256, 512, 4096):
    tiles = n // 64
    loaded = sum(range(1, tiles + 1))
    print(f"N = {n:5}: {loaded:5} of {tiles * tiles:5} tiles, {loaded / tiles**2:.4f}")

# %% [markdown]
# 0.75, 0.625, 0.5625, and towards one half. What is above one half is the diagonal, where half of
# each tile is loaded for nothing.
#
# ### Exercise: `flash_causal` (45 minutes)
#
# Two changes to `flash_forward`. The loop's end now differs from program to program.

# %%
ex.flash_causal

# %% flash_causal
import torch
import triton
import triton.language as tl

BR = 64  # queries of a program
BC = 32  # keys at a time


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    ### BEGIN SOLUTION
    head = tl.program_id(1)
    q += head * head_stride  # from here on pointers to this head
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)  # read HND
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):  # up to the diagonal and no further
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)  # read HND (N/BR + 1) / 2
        values = tl.load(v + place, mask=there, other=0.0)  # read HND (N/BR + 1) / 2
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5  # (BR, BC)
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)  # write HND
    ### END SOLUTION


def flash_causal(q, k, v):  # each (H, N, D)
    H, N, D = q.shape
    ### BEGIN SOLUTION
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out
    ### END SOLUTION


# %% flash_causal_check
ex.flash_causal.check(flash_causal)

# %%
if ex.flash_causal.check(flash_causal) and ex.flash_forward.check(flash_forward):
    for n in (128, 256, 512):
        q, k, v = heads(1, n, 64), heads(1, n, 64), heads(1, n, 64)
        with course.measure() as full:
            flash_forward(q, k, v)
        with course.measure() as causal:
            flash_causal(q, k, v)
        q_and_out = 2 * (n * 64 * 2)  # bytes, the same in both
        share = (causal.requested_bytes - q_and_out) / (full.requested_bytes - q_and_out)
        print(f"N = {n}: {share:.4f} of the loads of K and V")
else:
    print("First the exercises above.")

# %% [markdown]
# Now programs differ: the last tile of queries works T times as long as the first. If the long ones
# start last, the launch ends with a few lonely programs and many idle SMs, like a last wave in
# lesson 05. Real kernels start with the long ones, or give a program a long tile and a short one.

# %% [markdown]
# ## 6. Bonus: one query, many programs
#
# Back to writing text: one query a head, and N keys so far. `attend_one_query` has a program for
# each head. With 8 heads that is 8 programs, on a chip with 132 SMs. Bytes are at their least, and
# yet 124 SMs are idle: nobody can read at 4.8 TB/s with 8 of them (lesson 05, *enough on its way*).
# So split the keys:

# %%
pictures.chunks()

# %% [markdown]
# Each chunk ends with its own m, total and acc. Two chunks are put together by the very rule that
# put two tiles together: bring both to the greater maximum, add. The rule does not care about
# order, and so the chunks can be computed at the same time, by programs that do not know of each
# other. A second launch combines them: between launches everything is in memory, so nobody has to
# wait for anybody.
#
# *Predict:* 8 heads, N = 16,384, chunks of 256 keys. How many programs does the first launch have?

# %% predict_chunks
prediction = ...

# %%
compare(prediction, 8 * 16_384 // 256, "programs")

# %% [markdown]
# The price: D + 2 float32 numbers written and read for each chunk, beside 2 x 256 x D numbers of K
# and V. With float16 inputs and D = 64 that is 0.8 %. The gain, on an H200 with 8 heads of 131,072
# keys: 4,054 us become 88.
#
# ### Exercise: `flash_decode` (bonus, 60 minutes)
#
# The check counts what the longest program does, so that splitting pays.

# %%
ex.flash_decode

# %% flash_decode
import torch
import triton
import triton.language as tl

CHUNK = 256  # keys of a program
BC = 64  # keys at a time


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,  # (H, chunks, D): weighted sums of v
    greatest,  # (H, chunks): greatest scores
    totals,  # (H, chunks): sums of weights
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    ### BEGIN SOLUTION
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)  # read HD a chunk
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)  # read HND
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)  # read HND
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)  # write HD a chunk
    tl.store(greatest + part, m)
    tl.store(totals + part, total)
    ### END SOLUTION


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    ### BEGIN SOLUTION
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)  # read HD a chunk
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)  # write HD
    ### END SOLUTION


def flash_decode(q, k, v):  # q: (H, D), k and v: (H, N, D)
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
    ### BEGIN SOLUTION
    parts = torch.empty((H, chunks, D), device=q.device, dtype=torch.float32)
    greatest = torch.empty((H, chunks), device=q.device, dtype=torch.float32)
    totals = torch.empty((H, chunks), device=q.device, dtype=torch.float32)
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    head, row = k.stride(0), k.stride(1)
    attend_chunk[(chunks, H)](
        q, k, v, parts, greatest, totals, N, head, row, D=D, CHUNK=CHUNK, BC=BC
    )
    most = triton.next_power_of_2(chunks)
    combine[(H,)](parts, greatest, totals, out, chunks, D=D, CHUNKS=most)
    return out
    ### END SOLUTION


# %% flash_decode_check
ex.flash_decode.check(flash_decode)

# %% [markdown]
# ## 7. Bonus: heads that share keys
#
# When a model writes text, it keeps K and V of all positions so far: the **KV cache**. Reading it
# is most of the work for each new word. So newer models have fewer heads of K and V than of Q:
# groups of R query heads share one. That is called **grouped-query attention**, GQA.

# %%
pictures.shared_heads()

# %% [markdown]
# The cache is R times smaller. But a program for each query head would read each head of K and V R
# times all the same.
#
# *Predict:* 32 query heads, 8 heads of K and V, N = 8,192, D = 128, float16, one new word. How many
# MB (10^6 bytes) of K and V must be read at least, for one layer?

# %% predict_cache
prediction = ...

# %%
compare(prediction, 2 * 8 * 8192 * 128 * 2 / 1e6, "MB", tolerance=0.01)

# %% [markdown]
# To read each row once, one program must hold all R queries of the group. That is a tile of
# queries, as in `flash_forward`; only its rows come from different heads and not from different
# positions.
#
# ### Exercise: `flash_gqa` (bonus, 45 minutes)

# %%
ex.flash_gqa

# %% flash_gqa
import torch
import triton
import triton.language as tl

BC = 32  # keys at a time


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    ### BEGIN SOLUTION
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d  # R rows of q and out, one for each query head
    queries = tl.load(q + place, mask=asked, other=0.0)  # read GRD
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)  # read GND
        values = tl.load(v + of_keys, mask=there, other=0.0)  # read GND
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)  # write GRD
    ### END SOLUTION


def flash_gqa(q, k, v):  # q: (H, D), k and v: (G, N, D)
    G, N, D = k.shape
    R = q.shape[0] // G
    ### BEGIN SOLUTION
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out
    ### END SOLUTION


# %% flash_gqa_check
ex.flash_gqa.check(flash_gqa)

# %% [markdown]
# With a group for each program the chip is idle again: 8 programs. Real kernels do both things at
# once, groups as tiles and chunks of keys.

# %% [markdown]
# ## 8. Right in the tests
#
# Tests are small, and users are not. A third time a symptom is given and no verdict (lessons 03 and
# 07 say how to go about it). The kinds: 1 race, 2 index, 3 mask, 4 start, 5 overflow, 6 rounding, 7
# nan, 8 rescale. Three kernels with one query a head, as their users report them:
#
# - **P** makes far keys weigh less: from each score it takes 0.0001 times the square of the
#   distance, and the query stands behind the last key. "*Right up to N = 46,340. Above that the
#   output is one row of V, or nearly.*"
# - **Q** takes float16. "*I tested it with keys that are all equal and values of 1, four keys a
#   turn. The mean of ones is 1, and it was, up to N = 8,192. With 9,000 it is 0.91.*"
# - **R** has H heads of queries and G of keys: neighbours share one, as in section 7. "*Right with
#   G = 1, and with G = H. With 8 heads and 2 of keys half of the heads are wrong.*"


# %%
@triton.jit
def attend_p(q, k, v, out, N, D: tl.constexpr, BC: tl.constexpr):
    d = tl.arange(0, D)
    query = tl.load(q + d)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = rows[:, None] * D + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0)
        values = tl.load(v + place, mask=inside[:, None], other=0.0)
        gap = N - rows
        far = gap * gap
        scores = tl.sum(query * keys, 1) * D**-0.5 - far * 1e-4
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + d, acc / total)


# %%
@triton.jit
def attend_q(q, k, v, out, N, D: tl.constexpr, BC: tl.constexpr):
    d = tl.arange(0, D)
    query = tl.load(q + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float16)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = rows[:, None] * D + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0)
        values = tl.load(v + place, mask=inside[:, None], other=0.0)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        step = tl.sum(weights[:, None] * values, 0)
        acc = (acc * rescale + step).to(tl.float16)
        m = m_new
    tl.store(out + d, acc / total)


# %%
@triton.jit
def attend_r(q, k, v, out, N, G, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    group = head % G
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = (group * N + rows[:, None]) * D + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0)
        values = tl.load(v + place, mask=inside[:, None], other=0.0)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


# %% [markdown]
# See it yourself first.

# %%
device = "cuda" if torch.cuda.is_available() else "cpu"


def normal(*shape):
    """Normal numbers in float32, where kernels run."""
    return heads(*shape, dtype=torch.float32).to(device)


for n in (300, 46_340, 46_341):
    q, k, v, out = normal(16), normal(n, 16), normal(n, 16), normal(16)
    attend_p[(1,)](q, k, v, out, n, 16, 1024)
    far = torch.arange(n, 0, -1, device=device).double() ** 2 * 1e-4
    right = torch.softmax((k @ q).double() / 4 - far, 0) @ v.double()
    print(f"P, N = {n:6,}: off by {(out - right).abs().max().item():.1e}")

for n in (512, 9000):
    q, k, v = (torch.full(shape, x, dtype=torch.float16, device=device)
               for shape, x in (((16,), 0.0), ((n, 16), 0.0), ((n, 16), 1.0)))  # fmt: skip
    attend_q[(1,)](q, k, v, out, n, 16, 4)
    print(f"Q, N = {n:6,}: {out[0].item():.4f}")

for g in (1, 2, 8):
    q, k, v, out = normal(8, 16), normal(g, 50, 16), normal(g, 50, 16), normal(8, 16)
    attend_r[(8,)](q, k, v, out, 50, g, 16, 32)
    of_each = [one.repeat_interleave(8 // g, 0) for one in (k, v)]
    right = torch.softmax((of_each[0] @ q[:, :, None]).squeeze(2) / 4, 1)[:, None] @ of_each[1]
    wrong = ~torch.isclose(out, right.squeeze(1), atol=1e-5).all(1)
    print(f"R, G = {g}: wrong heads", torch.nonzero(wrong).ravel().tolist())

# %% [markdown]
# Then follow a program. This is one turn of P, with N = 10: all is well. What does the same line
# give with the smallest N that is wrong? (The trace stops after `most_steps` lines.)

# %%
listing(attend_p)

# %%
q, k, v, out = normal(16), normal(10, 16), normal(10, 16), normal(16)
course.trace(attend_p, most_steps=20)[(1,)](q, k, v, out, 10, 16, 16)

# %% [markdown]
# ### Exercise: `debug_attention` (45 minutes)

# %%
ex.debug_attention

# %% debug_attention
STRIDE = 46_341
N = 9000
BC = 4
H = 8
G = 2
HEAD = 1

debug_attention = {
    "P_line": ...,
    "P_kind": ...,
    "P_row": ...,
    "Q_line": ...,
    "Q_kind": ...,
    "Q_mean": ...,
    "R_line": ...,
    "R_kind": ...,
    "R_group": ...,
}
### BEGIN SOLUTION
debug_attention = {
    "P_line": 15,  # 46,341 squared is more than 2**31 - 1, and comes out negative
    "P_kind": 5,
    "P_row": -(-(2**31) // STRIDE),
    "Q_line": 21,  # beside 2,048 * BC a step of BC is half a space, rounded to even
    "Q_kind": 6,
    "Q_mean": min(N, 2048 * BC) / N,
    "R_line": 4,  # neighbours share a head: a quotient, no rest
    "R_kind": 2,
    "R_group": HEAD // (H // G),
}
### END SOLUTION

# %% debug_attention_check
ex.debug_attention.check(debug_attention)

# %% [markdown]
# P is the reason why real kernels turn row numbers into 64 bits before they multiply by a stride.
# Its smallest wrong case has no large array: one query and 46,341 keys of 16 numbers are 3 MB. Look
# for the *number* that is too large, and build the smallest case that has it.
#
# ## Explain
#
# A colleague reads your kernel and asks four questions. Answer in a few sentences each.
#
# 1. "You never hold a whole row of scores. How can the softmax be exact?"
# 2. "The traffic formula has BR in it but not BC. Why? And what do I lose if I make BR huge?"
# 3. "The causal version does half of the work. Why is its traffic not half?"
# 4. "For one new word at a time, will `flash_forward` be faster than three kernels? What would you
#    do there?"

# %% [markdown] explain_flash
# ### BEGIN SOLUTION
# 1. The output is a quotient of two sums over the keys, and every term of both holds exp(-m). For
#    any m the quotient is the same; m only keeps exp from overflowing. When a tile brings a greater
#    maximum, both sums are multiplied by exp(m - m_new), as if they had been measured against it
#    from the start. The division comes at the end, when all keys have been seen. Only the order of
#    additions differs.
# 2. All of K and V is loaded once for each tile of queries, so N / BR times; in how many pieces a
#    program does that, BC, changes nothing. A large BR needs registers for acc (BR x D) and the
#    scores (BR x BC): they spill, fewer programs are resident, and with a short N there are fewer
#    programs than SMs.
# 3. Traffic goes by whole tiles. The tiles on the diagonal are needed for half of their scores and
#    loaded whole: (T + 1) / 2T. Q and O are not halved at all: each position still asks and gets
#    an answer.
# 4. Hardly. With one query S is a single row of N numbers beside 2ND of K and V: there is nothing
#    to gain by leaving it out, and a tile of 64 queries would hold one. Each element of K and V is
#    used once, so the least is 2ND and memory is the limit. What helps: enough programs, by
#    splitting the keys (`flash_decode`), and reading K and V once for all heads that share them
#    (`flash_gqa`); and a smaller cache, by fewer heads of K and V or fewer bytes a number.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - What attention computes, and why its N x N matrices cost four trips to memory.
# - Why one factor, exp(m - m_new), repairs a sum of weights *and* a weighted sum, and why the
#   result is exact.
# - **Fused** attention: requested 2ND + 2 ceil(N/BR) ND, least 4ND, nothing of size N x N.
# - What BR and BC cost, and which numbers must be float32.
# - **Causal** attention: which tiles are loaded, and why the share is (T + 1) / 2T.
# - Why one query needs splitting, how parts are combined, and what sharing keys saves.
# - At which sizes int32 and float16 give out, and how to show it without large arrays.
#
# ## Where this stands in real code
#
# - The running maximum and sum for a softmax were published by Milakov and Gimelshein (2018).
#   FlashAttention (Dao and others, 2022) made the fused kernel of it, with a backward pass.
#   FlashAttention 2 put tiles of queries on the outside, as you did, and moved the division to the
#   end. FlashAttention 3 overlaps the softmax of one tile with the products of another on Hopper.
# - PyTorch's `scaled_dot_product_attention` chooses between such kernels and three plain ones.
#   `enable_gqa=True` is section 7.
# - Triton's own tutorial on fused attention (as of Triton 3.6) is `flash_forward` with `exp2` for
#   `exp`: the hardware computes powers of two, so log2(e) is multiplied into the scale once. It
#   loads its tiles through tensor descriptors, treats those below the diagonal and those on it in
#   two loops, and lets autotuning choose tiles and stages; on Blackwell its warps may share the
#   work out between them (`warp_specialize=True`).
# - Servers of language models use section 6 under the name *flash-decoding*, and vLLM's paged
#   attention finds its rows of K and V through a table, since the cache lies in pages.
#
# Next: **11 FlashAttention, backward**, where the weights that nobody stored are needed once more.
