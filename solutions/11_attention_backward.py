# %% [markdown]
# # 11 FlashAttention, backward
#
# In lesson 10 the weights of attention never reached memory: each tile of them was made, used and
# dropped. Training has to go back through the same layer, and the chain rule asks for the weights
# again. For 32 heads and 32,768 positions they are 32 matrices of 32768 x 32768, 69 GB in float16,
# for *one* layer. **How does the way back do without what the forward pass has thrown away?**
#
# It keeps one number a query, 4 MB in place of 69 GB, and computes the weights again, tile by tile.
# This lesson derives each step of that and makes four kernels of them. What comes out are the
# gradients that PyTorch's autograd computes, and nothing of size N x N is stored anywhere.
#
# You need lesson 10. If gradients of matrix products are new to you, read the primer *The chain
# rule for kernels* first (`93_primer_chain_rule`), one page. Two sittings, about four hours:
#
# | exercise | time |
# |---|---|
# | `flash_lse` | 40 min |
# | `flash_delta` | 25 min |
# | `flash_dkdv` | 100 min |
# | `flash_dq` | 60 min |

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
from course.figures import attention_backward as pictures
from course.notebook.predict import compare

rng = np.random.default_rng(0)


def show(traffic):
    """Prints what a launch asked for, array by array."""
    for array, direction in traffic.arrays():
        sectors = traffic.sectors(array, direction)
        print(f"{direction:6} {array:10} {sectors:8,} sectors  {sectors * 32:10,} bytes")


# %% [markdown]
# ## What is wanted
#
# One head. q, k, v and out have shape (N, D). Somewhere behind this layer a loss L is computed, and
# whoever called us hands over **dout**, the gradient of L by out. Everywhere in this lesson `dx`
# stands for the gradient of L by x, and it has the shape of x. Wanted are dq, dk and dv.
#
# Forward, in three steps, with `scale` = 1 / sqrt(D):
#
# | step | shapes |
# |---|---|
# | `s = scale * q kᵀ` | (N, N) = (N, D) (D, N) |
# | `p = softmax of each row of s` | (N, N) |
# | `out = p v` | (N, D) = (N, N) (N, D) |

# %%
pictures.there_and_back()

# %% [markdown]
# ## The way back, step by step
#
# **Back through `out = p v`.** A product of matrices. Its two gradients are products, too, and the
# shapes leave only one way to write each:
#
# - `dv = pᵀ dout`: (N, D) = (N, N) (N, D). Key j's value went into *every* query's output, with the
#   weight p[i, j]. So its gradient gathers from every query: dv[j] = sum over i of p[i, j] dout[i].
# - `dp = dout vᵀ`: (N, N) = (N, D) (D, N). The weight p[i, j] multiplied v[j] on its way into
#   out[i]: dp[i, j] = dout[i] · v[j].
#
# **Back through the softmax.** Row i of p depends on row i of s alone, so take one row and leave
# out the i: p[j] = exp(s[j]) / (sum over k of exp(s[k])). Raise s[j] a little. Two things happen:
# p[j] grows by p[j] times that much, because exp(s[j]) does; and the sum grows, which makes *every*
# p[k] smaller by p[k] * p[j] times that much. Each change of a p[k] counts dp[k] in the loss:
#
# - `ds[j] = p[j] dp[j] - p[j] * (sum over k of p[k] dp[k])`.
#
# The sum is one number for the row, the same for all j. It is called **delta**:
#
# - `delta = sum over k of p[k] dp[k]`, and **`ds = p * (dp - delta)`**, element by element.
#
# *Predict:* a row has three weights, 0.5, 0.25 and 0.25, and dp is 3 for each of them. What is the
# largest ds of that row?

# %% predict_equal_dp
prediction = ...

# %%
p, dp = np.array([0.5, 0.25, 0.25]), np.array([3.0, 3.0, 3.0])
compare(prediction, (p * (dp - (p * dp).sum())).max())

# %% [markdown]
# delta is the average of dp with the weights p. Only a dp that differs from the average moves
# anything: weights add up to 1, so raising all scores together changes nothing.
#
# **Back through `s = scale * q kᵀ`.** A product again, with a factor:
#
# - `dq = scale * ds k`: (N, D) = (N, N) (N, D).
# - `dk = scale * dsᵀ q`: (N, D) = (N, N) (N, D).
#
# That is all. In NumPy, beside PyTorch's autograd:

# %%
N, D = 128, 64
q, k, v, dout = rng.standard_normal((4, N, D))
scale = 1 / np.sqrt(D)

s = scale * q @ k.T  # (N, N)
p = np.exp(s - s.max(axis=1, keepdims=True))
p /= p.sum(axis=1, keepdims=True)  # (N, N)
out = p @ v  # (N, D)

dv = p.T @ dout  # (N, D)
dp = dout @ v.T  # (N, N)
delta = (p * dp).sum(axis=1, keepdims=True)  # (N, 1)
ds = p * (dp - delta)  # (N, N)
dq = scale * ds @ k  # (N, D)
dk = scale * ds.T @ q  # (N, D)

leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v)]
weights = (leaves[0] @ leaves[1].T * scale).softmax(dim=1)
expected = torch.autograd.grad(weights @ leaves[2], leaves, torch.tensor(dout))
for name, ours, theirs in zip(("dq", "dk", "dv"), (dq, dk, dv), expected, strict=True):
    print(f"{name}: largest difference to autograd {np.abs(ours - theirs.numpy()).max():.1e}")

# %% [markdown]
# Right, and four matrices of N x N. Now they go, one by one.
#
# ## One number for p
#
# p is needed twice, for dv and for ds. The forward pass knew for each row the greatest score m and
# Z, the sum of exp(s - m) (`total` in lesson 10), and p[j] = exp(s[j] - m) / Z. Two numbers a row
# would bring p back. One is enough:
#
# `exp(s - m) / Z = exp(s - m) * exp(-log Z) = exp(s - (m + log Z))`
#
# The number `m + log Z` is called the **log-sum-exp** of the row, lse: it is the logarithm of the
# sum of exp(s). (Written like that it would overflow; written as m + log Z it does not.) So
#
# **`p = exp(s - lse)`**, and no maximum, no sum and no second pass are needed on the way back.

# %%
m = s.max(axis=1, keepdims=True)
lse = m + np.log(np.exp(s - m).sum(axis=1, keepdims=True))
print("largest difference to p:", np.abs(np.exp(s - lse) - p).max())

# %% [markdown]
# *Predict:* p in float16 takes 2 bytes an element, lse in float32 takes 4 a row. N = 32,768: how
# many times more bytes does p have?

# %% predict_kept
prediction = ...

# %%
N = 32768
compare(prediction, (2 * N * N) / (4 * N), "times")

# %%
pictures.kept_for_later()

# %% [markdown]
# s itself is computed again from q and k: a product of tiles. That costs arithmetic, and does it
# cost bytes? Two small programs, each with one tile of 64 x 64 weights. The first loads a stored
# tile. The second loads 64 queries, 64 keys and their lse, and computes it.
#
# *Predict:* the way back has the tiles of q and k at hand anyway, since dk is made of q and dq of
# k. So what does computing p again *add* to the loads? How many sectors are 64 numbers of lse, in
# float32?

# %% predict_lse_sectors
prediction = ...


# %%
@triton.jit
def stored_tile(p_ptr, sums_ptr, T: tl.constexpr):
    rows = tl.arange(0, T)
    weights = tl.load(p_ptr + rows[:, None] * T + rows[None, :])
    tl.store(sums_ptr + rows, tl.sum(weights.to(tl.float32), 1))


@triton.jit
def tile_computed_again(q_ptr, k_ptr, lse_ptr, sums_ptr, scale, T: tl.constexpr):
    rows = tl.arange(0, T)
    places = rows[:, None] * T + rows[None, :]  # D = T here
    scores = tl.dot(tl.load(q_ptr + places), tl.trans(tl.load(k_ptr + places))) * scale
    weights = tl.exp(scores - tl.load(lse_ptr + rows)[:, None])
    tl.store(sums_ptr + rows, tl.sum(weights, 1))


T = 64
device = "cuda" if torch.cuda.is_available() else "cpu"
q_tile, k_tile = torch.randn((2, T, T), device=device).half()
s_tile = q_tile.float() @ k_tile.float().T / 8
p_tile = s_tile.softmax(dim=1).half()
lse_tile = s_tile.logsumexp(dim=1)
sums = torch.empty(T, device=device)
with course.measure() as stored:
    stored_tile[(1,)](p_tile, sums, T=T)
with course.measure() as again:
    tile_computed_again[(1,)](q_tile, k_tile, lse_tile, sums, 1 / 8, T=T)

compare(prediction, again.graded().sectors("lse_ptr", "load"), "sectors")  # each once

# %%
print("stored:")
show(stored)
print("computed again:")
show(again)
print("each row of weights adds up to", sums.min().item(), "to", sums.max().item())

# %% [markdown]
# 8 sectors in place of 256 of p, and p would have to be written first. (The meter says 16: two
# warps make the same load.) The price is a product of matrices, and lesson 05 has shown how much
# arithmetic fits into the time of a few bytes. Throwing a result away and making it again has a
# name, **recomputation**.
#
# ### Exercise: `flash_lse` (40 minutes)
#
# Take your kernels of lesson 10, `flash_forward` and `flash_causal`, into one, with `causal` as an
# argument of the launcher and a `tl.constexpr` of the kernel. Then add what is new: a second output
# with one number a query. If you have computed with exp2, mind the base: everybody who reads lse
# takes it for natural logarithms. Heads lie one after the other in memory, as in lesson 10, and
# rows have no gaps here.

# %%
ex.flash_lse

# %% flash_lse
import torch
import triton
import triton.language as tl

BR = 64  # queries a program
BC = 32  # keys a step


@triton.jit
def forward(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    ### BEGIN SOLUTION
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)  # (BR, D), read ND
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)  # read N/BR * ND
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)  # read N/BR * ND
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BR, BC)
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        rescale = tl.exp(m - m_new)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)  # write ND
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)  # write N
    ### END SOLUTION


def flash_lse(q, k, v, causal):  # (H, N, D) each -> out (H, N, D), lse (H, N)
    ### BEGIN SOLUTION
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse
    ### END SOLUTION


# %% flash_lse_check
ex.flash_lse.check(flash_lse)

# %% [markdown]
# <details><summary>Why one number and not two, m and Z?</summary>
# <p>Two numbers would do as well, and the first FlashAttention paper stored both. One saves half of
# these bytes, and on the way back <code>exp(s - lse)</code> needs no division and cannot overflow:
# lse is at least as great as every score of its row, so that the exponent is never above 0.</p>
# </details>
#
# ## One number for the sum in the softmax
#
# Next is delta = sum over k of p[k] dp[k]. The sum runs along the whole row. But a program that
# owns a tile of keys sees only a part of the row, and it needs delta before it can go on. A pass
# over all keys for delta, and another one for the rest? Look at what dp is: dp[k] = dout · v[k].
# Then
#
# `delta = sum over k of p[k] (dout · v[k]) = dout · (sum over k of p[k] v[k]) = dout · out`

# %%
pictures.delta_two_ways()

# %%
print("largest difference:", np.abs((dout * out).sum(axis=1) - delta[:, 0]).max())

# %% [markdown]
# delta is the product of a row of dout with the same row of out. The forward pass has stored out,
# the caller has given us dout, and no N x N appears.
#
# *Predict:* N = 4096, D = 64. From rows of p and dp all deltas take 2N² numbers; from rows of out
# and dout they take 2ND. How many times fewer?

# %% predict_delta
prediction = ...

# %%
N, D = 4096, 64
compare(prediction, (2 * N * N) / (2 * N * D), "times")

# %% [markdown]
# ### Exercise: `flash_delta` (25 minutes)
#
# A small kernel after a large one: two loads, a sum along D, one store. It should cost its bytes
# and nothing else. Inputs in float16 are multiplied and added in float32. And take several rows a
# program: a program that stores one lone number pays a whole sector for it.

# %%
ex.flash_delta

# %% flash_delta
import torch
import triton
import triton.language as tl

ROWS = 64  # rows a program


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)  # read ND
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)  # read ND
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1), mask=rows < count)  # write N
    ### END SOLUTION


def flash_delta(out, dout):  # (H, N, D) each -> delta (H, N)
    ### BEGIN SOLUTION
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta
    ### END SOLUTION


# %% flash_delta_check
ex.flash_delta.check(flash_delta)

# %% [markdown]
# ## Who owns what
#
# What is left are five products of matrices, and two element-by-element lines between them. Think
# of the square of scores in tiles, queries down, keys across. Every tile can be made where it is
# needed, from q, k, v, dout, lse and delta. The question is which program adds up what:
#
# - `dv = pᵀ dout` and `dk = scale * dsᵀ q` are sums over **queries**: a column of tiles.
# - `dq = scale * ds k` is a sum over **keys**: a row of tiles.

# %%
pictures.owners()

# %% [markdown]
# A program keeps its own sums in registers only if it walks along the axis that is summed. One walk
# cannot serve both. There are three roads, here with the products that each kernel computes:

# %%
pictures.three_roads()

# %% [markdown]
# We take the first: two kernels, and s and dp are computed in both. The forward pass has two
# products, s and out, of 2N²D operations each.
#
# *Predict:* how many times the forward pass's operations do our two kernels have?

# %% predict_operations
prediction = ...

# %%
forward_products = 2  # s, out
backward_products = 4 + 3  # s, dp, dv, dk and s, dp, dq
compare(prediction, backward_products / forward_products, "times")

# %% [markdown]
# The clock comes near: with 16 heads, N = 4096 and D = 64 the two take 3.2 times as long as the
# forward pass on an H200. (With atomics it is 5 / 2. That is what FlashAttention's own CUDA kernels
# do on most GPUs, and the count by which speeds are stated. The atomics make the last digits of dq
# change from run to run.)
#
# ## A tile of keys
#
# `flash_dkdv` turns lesson 10 around. There a program held queries and keys passed by. Here it
# holds 64 keys and their values, and queries pass by, each with its row of dout, its lse and its
# delta. Say every line with its shapes before you write it:

# %%
pictures.one_step()

# %% [markdown]
# Where kernels of this kind go wrong:
#
# - **The axis.** lse and delta belong to queries, and queries are rows: `lse[:, None]`. With square
#   tiles `lse[None, :]` compiles as well and is wrong; so is a p that should have been turned.
#   Take BR different from BC while you write, and the compiler sees it for you.
# - **The scale.** s needs it, because the forward pass had it when it took lse. dk needs it once,
#   at the end or in ds, not in both. dv does not: v comes after the softmax.
# - **The dtype.** p and ds are float32, and `tl.dot` wants two tiles of one dtype: convert them
#   to the inputs' dtype. The sums stay float32.
# - **What does not exist.** A key past N is loaded as zeros, and a score of 0 is a score like any
#   other. Its weight would be exp(0 - lse): small if lse is large, *infinite* if every score of the
#   row lies far below zero. Infinity times zero is NaN. Put 0 into p, with `tl.where`, after the
#   exp.
#
# With the causal rule, query i has seen keys 0 to i. Seen from the keys: key j was seen by
# queries j to N - 1. So the walk down begins at the diagonal, where the walk of the forward pass
# ends:

# %%
pictures.owners(causal=True)

# %% [markdown]
# *Predict:* one head, N = 256, D = 64, float16, 64 keys a program, not causal. q has 256 * 64 * 2
# bytes = 1,024 sectors. How many sectors of q do all programs load together?

# %% predict_queries
prediction = ...

# %%
programs = 256 // 64
compare(prediction, programs * 1024, "sectors of q")

# %% [markdown]
# ### Exercise: `flash_dkdv` (100 minutes)
#
# Begin without the causal rule, get the small cases right, then add it.

# %%
ex.flash_dkdv

# %% flash_dkdv
import torch
import triton
import triton.language as tl

BC = 64  # keys a program
BR = 32  # queries a step


@triton.jit
def backward_keys(
    q_ptr,
    k_ptr,
    v_ptr,
    dout_ptr,
    lse_ptr,
    delta_ptr,
    dk_ptr,
    dv_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    ### BEGIN SOLUTION
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)  # (BC, D), read ND
    v = tl.load(v_ptr + own, mask=inside, other=0.0)  # (BC, D), read ND
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)  # read N/BC * ND
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)  # read N/BC * ND
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)  # read N/BC * N
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)  # read N/BC * N
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BR, BC)
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)  # (BR, BC)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")  # (BR, BC)
        ds = p * (dp - delta[:, None])  # (BR, BC)
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)  # write ND
    tl.store(dv_ptr + own, dv, mask=inside)  # write ND
    ### END SOLUTION


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    ### BEGIN SOLUTION
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv
    ### END SOLUTION


# %% flash_dkdv_check
ex.flash_dkdv.check(flash_dkdv)

# %% [markdown]
# <details><summary>Would it be better to hold (BC, BR) tiles, keys down?</summary>
# <p>Then <code>p</code> and <code>ds</code> come out turned already, and no <code>tl.trans</code>
# of a float32 tile is needed: <code>tl.dot(k, tl.trans(q))</code>, and <code>lse[None, :]</code>.
# The bytes are the same. A tile that was loaded can be read turned; one that was computed lies
# spread over the registers of many threads, and turning it means moving it between them. Triton's
# tutorial holds keys down. The meter does not see the difference; a clock might.</p>
# </details>
#
# ## A tile of queries
#
# `flash_dq` has the walk of the forward pass and the inside of the one that you have just written.
# One product less (dv and dk go, dq comes), and no computed tile is turned.
#
# ### Exercise: `flash_dq` (60 minutes)

# %%
ex.flash_dq

# %% flash_dq
import torch
import triton
import triton.language as tl

BR = 64  # queries a program
BC = 32  # keys a step


@triton.jit
def backward_queries(
    q_ptr,
    k_ptr,
    v_ptr,
    dout_ptr,
    lse_ptr,
    delta_ptr,
    dq_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    ### BEGIN SOLUTION
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)  # (BR, D), read ND
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)  # (BR, D), read ND
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)  # read N
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)  # read N
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)  # read N/BR * ND
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)  # read N/BR * ND
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale  # (BR, BC)
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)  # (BR, BC)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")  # (BR, BC)
        ds = p * (dp - delta[:, None])  # (BR, BC)
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)  # write ND
    ### END SOLUTION


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    ### BEGIN SOLUTION
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq
    ### END SOLUTION


# %% flash_dq_check
ex.flash_dq.check(flash_dq)

# %% [markdown]
# ## All of it
#
# When all four pass, this runs them one after the other, as a training step would, and compares
# with autograd, which stores p:

# %%
H, N, D = 2, 512, 32  # float32: all four fit into 64 KB of shared memory
q, k, v, dout = torch.randn((4, H, N, D), device=device)
with course.measure() as traffic:  # a starter returns None, and what needs its result waits
    forward = flash_lse(q, k, v, True)
    delta = None if forward is None else flash_delta(forward[0], dout)
    pair = None if delta is None else flash_dkdv(q, k, v, dout, forward[1], delta, True)
    dq = None if pair is None else flash_dq(q, k, v, dout, forward[1], delta, True)
if dq is None:
    print("Write the four exercises first, then run this cell again.")
else:
    lse, (dk, dv) = forward[1], pair
    leaves = [x.double().requires_grad_() for x in (q, k, v)]
    scores = leaves[0] @ leaves[1].transpose(1, 2) / D**0.5
    future = torch.ones((N, N), dtype=torch.bool, device=device).triu(1)
    weights = scores.masked_fill(future, -float("inf")).softmax(dim=2)
    expected = torch.autograd.grad(weights @ leaves[2], leaves, dout.double())
    for name, ours, theirs in zip(("dq", "dk", "dv"), (dq, dk, dv), expected, strict=True):
        print(f"{name}: largest difference to autograd {(ours - theirs).abs().max().item():.1e}")
    print(f"\nrequested in all: {traffic.requested_bytes / 1e6:.1f} MB")
    print(f"kept from the forward pass: lse, {lse.nbytes:,} bytes")
    print(f"p in float32 would be {4 * H * N * N:,} bytes")

# %% [markdown]
# ## Explain
#
# A friend has N = 2048 and D = 64 and says: "p is only 8 MB a head in float16. I store it in the
# forward pass, then the way back has fewer products, and no exp." What does the friend save, and
# what does it cost, in bytes and in memory? Say also why the friend cannot drop delta, and why, p
# stored or not, one kernel cannot sum dk and dq both in registers.

# %% [markdown] explain_backward
# ### BEGIN SOLUTION
# p is 2048 * 2048 * 2 bytes = 8.4 MB a head, written once and read by both kernels: 25 MB.
# Nothing else becomes cheaper by it. dk still needs the tiles of q to pass by, dq those of k, dp
# those of dout and v: with 64 rows a tile 2 * 32 * 0.26 MB a kernel, 34 MB in two, with p or
# without; only lse is saved. And p has to be *kept*, from the forward pass of a layer to its
# backward pass: 32 heads and 32 layers are 8.6 GB, which grow with the square of N and stay in no
# cache. What the friend saves is arithmetic, the products s (one in each kernel) and the exp.
# With tensor cores that is the cheaper side. (The seven products become five, or four in one
# kernel with atomics.) delta stays, because it comes from the derivative of the softmax and not
# from how p was obtained: ds = p * (dp - delta). And dk is a sum over queries, dq a sum over
# keys. A program that walks down a column of tiles has all terms of its dk, but of each dq only
# one; the others are in other programs, so it would have to add them in memory, with atomics.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - The five products of attention's way back, each with its shapes.
# - Why a softmax sends back p * (dp - delta), and what delta means.
# - **log-sum-exp**: how one number a query brings the weights back, and why it must be m + log Z.
# - delta = dout · out: how a sum over N keys became a sum over D columns.
# - **Recomputation**: more arithmetic, fewer bytes, and the memory that it frees.
# - Who owns which sum, why that makes two walks, and what the causal rule does to each.
#
# ## Where this stands in real code
#
# - `torch.nn.functional.scaled_dot_product_attention` keeps q, k, v, out and lse for the way
#   back; its backward begins with a kernel for delta, named *preprocess* in many implementations.
# - FlashAttention-2's CUDA kernels walk down columns and add dq with atomics; Triton's tutorial
#   has two loops like yours, in one kernel. Where dq is added with atomics there is often a
#   *deterministic* option, which is slower.
# - How fast is fast? On an H200, for 32 heads of 128, 8,192 positions, in float16: forward 360
#   TFLOP/s with PyTorch's FlashAttention-2 and 660 with cuDNN, all gradients 234 with the former.
#   The way back has more products, more shared memory and more registers to fit into. Your two
#   walks with tiles of 64 x 64 and 128 x 64, `exp2`, and no mask for whole tiles take 3.4 ms for
#   heads of 64; FlashAttention-2's backward takes 5.1 (all of it in `docs/full_size.json`).
# - Recomputation on a larger scale is called *activation checkpointing*: whole layers are dropped
#   and computed again.
#
# Next: **12 speed of light**, where you read why a kernel is slow, and choose tiles by arithmetic.
