# %% [markdown]
# # 14 Serving and training
#
# While a model answers one question, the GPU's tensor cores sleep: each new word asks for **all
# weights, and all that was said so far**, and does hardly anything with them. So whoever serves a
# model answers many questions together. Then the keys of all of them no longer fit side by side,
# and weights are cut to four bits. Whoever trains a model meets a result that is larger than any
# matrix of the model. **What do the five kernels of this lesson have in common?**
#
# That their arithmetic is old. You wrote it in lessons 08 to 10. What is new is where the bytes
# lie, and which of them must not be moved. Plan three sittings:
#
# | exercise | time |
# |---|---|
# | `serving_bytes` | 35 min |
# | `paged_decode` | 60 min |
# | `int4_matvec` | 50 min |
# | `grouped_gemm` | 75 min |
# | `linear_cross_entropy` | 90 min |
# | `loss_gradient` | 35 min |

# %%
import course

course.require_triton()  # where this lesson cannot run, a sentence says where it can

# %%
import numpy as np

from course import exercises as ex
from course.figures import serving as pictures
from course.notebook.predict import compare

# %% [markdown]
# ## 1. What a token costs
#
# A **token** is a word or a piece of one, a *sequence* the tokens of one conversation. Sequences
# that are worked on together are a **batch**.
#
# Serving has two parts. **Prefill** reads the question: thousands of tokens at once, matrix
# products, lesson 09. **Decoding** writes the answer: a step for each token, and in each step one
# new token for each sequence of the batch. A step reads every weight once, whatever the batch. And
# it reads the **KV cache** of every sequence (lesson 10), K and V of all its tokens so far, which
# no other sequence needs.
#
# Take a model like Llama 3 8B: 32 layers, 8 billion weights, and in each layer 32 query heads of
# D = 128, four of which share a head of K and V.
#
# *Predict:* how many bytes does the cache grow by with each token, in float16?

# %% predict_token
prediction = ...

# %%
compare(prediction, 2 * 32 * 8 * 128 * 2, "bytes")

# %% [markdown]
# K and V, 32 layers, 8 heads, 128 numbers, 2 bytes. That is one token of one sequence.
#
# ### Exercise: `serving_bytes` (35 minutes)
#
# GB is 10^9 bytes. The least time of a step is its bytes over bytes a second.

# %%
ex.serving_bytes

# %% serving_bytes
serving_bytes = {
    "kv_bytes_token": ...,
    "kv_gb_sequence": ...,
    "kv_gb_without_groups": ...,
    "weights_gb_float16": ...,
    "weights_gb_int4": ...,
    "step_ms_float16": ...,
    "step_ms_int4": ...,
    "sequences_that_fit": ...,
    "flop_per_byte_batch": ...,
    "batch_at_the_knee": ...,
    "flop_per_byte_cache": ...,
}
### BEGIN SOLUTION
layers = heads = 32
kv_heads = 8
D = 128
weights = 8 * 10**9
cache = 2 * layers * kv_heads * D * 2
int4 = weights * (1 / 2 + 2 / 128)
serving_bytes = {
    "kv_bytes_token": cache,
    "kv_gb_sequence": 8192 * cache / 1e9,
    "kv_gb_without_groups": 8192 * cache * heads / kv_heads / 1e9,
    "weights_gb_float16": 2 * weights / 1e9,
    "weights_gb_int4": int4 / 1e9,
    "step_ms_float16": (2 * weights + 8192 * cache) / 4200e9 * 1e3,
    "step_ms_int4": (int4 + 8192 * cache) / 4200e9 * 1e3,
    "sequences_that_fit": (141e9 - 2 * weights) // (8192 * cache),
    "flop_per_byte_batch": 2 * 64 / 2,
    "batch_at_the_knee": 700e12 / 4200e9,  # 2 * b FLOP for 2 bytes: b FLOP a byte
    "flop_per_byte_cache": 2 * (heads / kv_heads) / 2,
}
### END SOLUTION

# %% serving_bytes_check
ex.serving_bytes.check(serving_bytes)

# %% [markdown]
# Three things follow, and each is a kernel below.
#
# - A batch helps the weights and never the cache: its 4 FLOP a byte stay 4. So every byte of K and
#   V should be read **once**, and none should lie in memory unused: *pages*.
# - For a small batch the weights are nearly all of the bytes: fewer bits a weight.
# - From about 170 sequences on (your `batch_at_the_knee`), the products of weights are bound by
#   arithmetic. A model with experts (section 4) sends each token through a few of its matrices, and
#   makes the batch small again.
#
# ## 2. A cache in pages
#
# Nobody knows how long an answer gets. Whoever keeps room for the longest, wastes most of it; and
# that room is what limits the batch. So the cache is cut into **pages** of a fixed number of
# tokens. A sequence takes a page when its last one is full and gives all of them back at its end,
# as an operating system does with memory. Which pages a sequence has, and in which order, stands in
# its row of the **block table**:

# %%
pictures.pages()

# %% [markdown]
# *Predict:* in which page of the pool, and in which place of it, is token 6 of sequence 1? Write
# 10 * page + place.

# %% predict_place
prediction = ...

# %%
table = np.array(pictures.TABLE)
token = 6
compare(prediction, 10 * table[1, token // 4] + token % 4)

# %% [markdown]
# That is the whole address: `table[s, token // PAGE]` and `token % PAGE`. In NumPy, all tokens of
# sequence 0 of a pool that holds a single number a token:

# %%
pool = np.arange(100, 124).reshape(6, 4)  # page p, place i: 100 + 4 * p + i
tokens = np.arange(7)
print(pool[table[0, tokens // 4], tokens % 4])

# %% [markdown]
# For a kernel this is a **gather**: addresses that were loaded themselves. Does that cost sectors?
# A row of K has D numbers, 256 bytes for D = 128, and they lie together in a page as anywhere. A
# gather of whole sectors asks for no sector more. What comes on top is the table: 4 bytes a page.
#
# A row of a page holds all G heads, (PAGE, G, D), since a token's keys are written together. A
# program of one sequence and one head of K steps over the others.
#
# ### Exercise: `paged_decode` (60 minutes)
#
# `flash_gqa` of lesson 10, through a table. Sequences have lengths of their own, and the last page
# is partly filled. What it holds beyond the end is left from another sequence: finite numbers,
# which look like keys. Entries of the table past the last page are -1, and an address made of one
# lies before the pool.

# %%
ex.paged_decode

# %% paged_decode
import torch
import triton
import triton.language as tl

BC = 64  # tokens at a time


@triton.jit
def attend_pages(
    q,
    k,
    v,
    lengths,
    table,
    out,
    P,  # entries of a row of the table
    G,
    R,
    PAGE: tl.constexpr,
    D: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    ### BEGIN SOLUTION
    sequence = tl.program_id(0)
    group = tl.program_id(1)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    place = ((sequence * G + group) * R + row) * D + d  # R rows of q and out
    queries = tl.load(q + place, mask=row < R, other=0.0)  # read SGRD
    length = tl.load(lengths + sequence)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, length, BC):
        tokens = start + tl.arange(0, BC)
        there = tokens < length
        pages = tl.load(table + sequence * P + tokens // PAGE, mask=there, other=0)
        rows = (pages.to(tl.int64) * PAGE + tokens % PAGE) * G + group  # a pool has more than 2**31
        of_tokens = rows[:, None] * D + d
        keys = tl.load(k + of_tokens, mask=there[:, None], other=0.0)  # read GD a token
        values = tl.load(v + of_tokens, mask=there[:, None], other=0.0)  # read GD a token
        scores = tl.dot(queries, tl.trans(keys)) * D**-0.5
        scores = tl.where(there, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        acc = acc * rescale[:, None] + tl.dot(weights.to(values.dtype), values)
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=row < R)  # write SGRD
    ### END SOLUTION


def paged_decode(q, k, v, lengths, table):  # q: (S, H, D), k and v: (pages, PAGE, G, D)
    S, H, D = q.shape
    PAGE, G = k.shape[1], k.shape[2]
    ### BEGIN SOLUTION
    R = H // G
    out = torch.empty((S, H, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_pages[(S, G)](
        q, k, v, lengths, table, out, table.shape[1], G, R, PAGE=PAGE, D=D, BR=rows, BC=BC
    )
    return out  # (S, H, D) float16
    ### END SOLUTION


# %% paged_decode_check
ex.paged_decode.check(paged_decode)

# %% [markdown]
# <details><summary>Why is the page's number made int64?</summary>
# <p>A pool for 100 GB has more than 2**31 numbers, and int32 is what a kernel gets from an int32
# table. page * PAGE * G * D would wrap round, into addresses that are somebody else's. The cases
# here are too small to show it: on a GPU it shows in production.</p>
# </details>
#
# <details><summary>And if there are few sequences?</summary>
# <p>Then S * G programs do not fill the GPU, and the tokens of a sequence are split as in
# <code>flash_decode</code>: chunks of pages, a second kernel to combine them. Sequences differ in
# length, so servers deal chunks, and not sequences, to programs.</p>
# </details>
#
# ## 3. Two weights in a byte
#
# Decoding one sequence multiplies every matrix by one vector: 2 FLOP for each weight, whatever its
# size. Half the bytes are half the time, as long as unpacking keeps up.
#
# Four bits hold 16 values. One scale for a whole row would have to fit its largest weight, and most
# others would be rounded to 0 or to a single step. So a row is cut into **groups** of 32 to 128
# weights with a scale each. The weight is (number - 8) * scale, with numbers from 0 to 15.
#
# *Predict:* groups of 64, a float16 scale each. How many bits does a weight take in all?

# %% predict_bits
prediction = ...

# %%
compare(prediction, 4 + 16 / 64, "bits")

# %% [markdown]
# Which weight lies in which half of which byte is the format's affair. Neighbours in one byte would
# be natural, and awkward: a lane that unpacks a byte holds weights 2j and 2j + 1 and needs two
# elements of x side by side. Here the group's first half lies in the low bits, in order, and its
# second half in the high bits. (Files of the GGUF family, type Q4_0, do it so.)

# %%
pictures.nibbles()

# %% [markdown]
# With four weights, 1, -8, 7 and 0, and an x of four numbers:

# %%
numbers = np.array([1, -8, 7, 0]) + 8  # as they are stored: 9, 0, 15, 8
packed = (numbers[:2] | numbers[2:] << 4).astype(np.uint8)
low, high = (packed & 15).astype(int) - 8, (packed >> 4).astype(int) - 8
x = np.array([1.0, 0.5, 2.0, 4.0])
print("bytes  ", [f"{byte:08b}" for byte in packed])
print("product", low @ x[:2] + high @ x[2:], "and", np.array([1, -8, 7, 0]) @ x)

# %% [markdown]
# Unpacked weights exist in registers alone. A kernel that first writes them to memory in float16
# reads half a byte, writes 2 and reads 2: the very bytes that four bits were to save.
#
# The scales are few, and can cost as much as the weights all the same. A group of 64 weights is one
# sector. Whoever goes through a row group by group loads one scale in each turn: 2 bytes, and a
# sector for them.
#
# ### Exercise: `int4_matvec` (50 minutes)

# %%
ex.int4_matvec

# %% int4_matvec
import torch
import triton
import triton.language as tl

ROWS = 16  # rows of W that a program takes
GROUPS = 16  # groups of a row at a time: their scales fill a sector


@triton.jit
def int4_kernel(
    x,
    w,
    scale,
    out,
    N,
    groups,  # of a row
    HALF: tl.constexpr,  # bytes of a group
    ROWS: tl.constexpr,
    GROUPS: tl.constexpr,
):
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    byte = tl.arange(0, HALF)
    total = tl.zeros((ROWS, GROUPS), tl.float32)
    for start in range(0, groups, GROUPS):
        group = start + tl.arange(0, GROUPS)
        there = (rows[:, None] < N) & (group[None, :] < groups)
        of_group = rows[:, None] * groups + group[None, :]  # (ROWS, GROUPS)
        place = of_group[:, :, None] * HALF + byte[None, None, :]
        packed = tl.load(w + place, mask=there[:, :, None], other=0)  # read NK/2 bytes
        low = (packed & 15).to(tl.float32) - 8.0
        high = (packed >> 4).to(tl.float32) - 8.0
        of_x = group[:, None] * (2 * HALF) + byte[None, :]  # (GROUPS, HALF)
        inside = group[:, None] < groups
        x_low = tl.load(x + of_x, mask=inside, other=0.0).to(tl.float32)  # read K a program
        x_high = tl.load(x + of_x + HALF, mask=inside, other=0.0).to(tl.float32)
        sums = tl.sum(low * x_low[None, :, :] + high * x_high[None, :, :], 2)
        factor = tl.load(scale + of_group, mask=there, other=0.0)  # read NK/GROUP
        total += sums * factor.to(tl.float32)
    tl.store(out + rows, tl.sum(total, 1), mask=rows < N)  # write N
    ### END SOLUTION


def int4_matvec(x, w, scale):  # x: (K,) float16, w: (N, K // 2) uint8, scale: (N, groups) float16
    N, groups = scale.shape
    ### BEGIN SOLUTION
    out = torch.empty((N,), device=x.device, dtype=torch.float32)
    half = w.shape[1] // groups
    int4_kernel[(triton.cdiv(N, ROWS),)](x, w, scale, out, N, groups, half, ROWS, GROUPS)
    return out  # (N,) float32
    ### END SOLUTION


# %% int4_matvec_check
ex.int4_matvec.check(int4_matvec)

# %% [markdown]
# *Predict:* by how much would the bytes requested grow if a turn took one group of 64 in place of
# sixteen? Write a ratio, and leave x out.

# %% predict_scales
prediction = ...

# %%
compare(prediction, (16 * 32 + 16 * 32) / (16 * 32 + 32), "times", tolerance=0.02)

# %% [markdown]
# ## 4. A product for each expert
#
# A layer of **experts** has E matrices where others have one. A *router*, a small layer before it,
# sends each token to a few of them. The rows of x are sorted by expert, so that each expert's rows
# lie together, and `offsets` says where: expert e has rows `offsets[e]` to `offsets[e + 1] - 1`.
# Some experts get hundreds, some get none.
#
# A launch for each expert: E launches, most of them too small to fill a GPU. One batched product
# wants the same number of rows for each: padding, which is loaded, multiplied and dropped. A
# **grouped GEMM** is one launch of tiles, and each tile finds out whose it is:

# %%
pictures.tiles_of_experts()

# %% [markdown]
# The launcher cannot look into `offsets`: that array is the router's output, on the GPU, and to
# read it the host would have to wait. So the grid has as many programs as there can be tiles at
# most, and some find nothing to do.
#
# *Predict:* 1024 rows, 8 experts, tiles of 64 rows. How many tiles of rows can there be at most?
# (Each expert may have one tile that is not full.)

# %% predict_tiles
prediction = ...

# %%
rows = [1] * 7 + [1024 - 7]  # seven experts with a single row, and one with all the others
compare(prediction, sum(-(-count // 64) for count in rows), "tiles")

# %% [markdown]
# M // 64 + E is never too few, and costs the programs that return at once a few loads.
#
# Where bytes are lost: a tile's 64 rows may reach beyond its expert's. Those rows exist. They are
# the next expert's, no load of them is out of bounds, and dropping them at the store gives a right
# answer. But with five rows an expert the kernel loads thirteen times the rows that it needs. Masks
# end where the expert ends.
#
# ### Exercise: `grouped_gemm` (75 minutes)

# %%
ex.grouped_gemm

# %% grouped_gemm
import torch
import triton
import triton.language as tl

BM = 64  # rows of a tile
BN = 64  # columns of a tile
BK = 64  # the step along K


@triton.jit
def grouped_kernel(
    x,
    w,
    offsets,
    out,
    N,
    K,
    E,
    EXPERTS: tl.constexpr,  # the power of two that holds E
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    ### BEGIN SOLUTION
    tile = tl.program_id(0)
    experts = tl.arange(0, EXPERTS)
    begins = tl.load(offsets + experts, mask=experts < E, other=0)  # read E a program
    ends = tl.load(offsets + experts + 1, mask=experts < E, other=0)
    tiles = (ends - begins + BM - 1) // BM
    so_far = tl.cumsum(tiles)  # tiles of the experts up to this one
    expert = tl.sum((so_far <= tile).to(tl.int32))
    if expert >= E:  # more programs than tiles
        return
    own = experts == expert
    before = tl.sum(tl.where(own, so_far - tiles, 0))
    first = tl.sum(tl.where(own, begins, 0)) + (tile - before) * BM
    end = tl.sum(tl.where(own, ends, 0))
    rows = first + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    w += expert.to(tl.int64) * K * N  # all experts together may have more than 2**31 weights
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        steps = start + tl.arange(0, BK)
        inside = (rows[:, None] < end) & (steps[None, :] < K)
        a = tl.load(x + rows[:, None] * K + steps[None, :], inside, 0.0)  # read MNK/BN
        inside = (steps[:, None] < K) & (columns[None, :] < N)
        b = tl.load(
            w + steps[:, None] * N + columns[None, :], inside, 0.0
        )  # read KN a row of tiles
        total = tl.dot(a, b, total)
    inside = (rows[:, None] < end) & (columns[None, :] < N)
    tl.store(out + rows[:, None] * N + columns[None, :], total, inside)  # write MN
    ### END SOLUTION


def grouped_gemm(x, w, offsets):  # x: (M, K), w: (E, K, N), offsets: (E + 1,)
    M, K = x.shape
    E, _, N = w.shape
    ### BEGIN SOLUTION
    out = torch.empty((M, N), dtype=torch.float32, device=x.device)
    # each expert may begin a tile that it does not fill
    grid = (M // BM + E, triton.cdiv(N, BN))
    experts = triton.next_power_of_2(E)
    grouped_kernel[grid](x, w, offsets, out, N, K, E, experts, BM, BN, BK)
    return out  # (M, N) float32
    ### END SOLUTION


# %% grouped_gemm_check
ex.grouped_gemm.check(grouped_gemm)

# %% [markdown]
# With few rows an expert, this product is decoding again: its bytes are the weights of all experts
# that got a row, read once. With many rows it is lesson 09's matmul, and the tile decides.
#
# ## 5. A loss without its logits
#
# Now training. The *vocabulary* is the list of all V tokens that a model knows. Its last layer
# multiplies M rows of D numbers by a matrix of V rows, one for each of them. The result, the
# **logits**, is M x V. From each row of it the loss makes one number.
#
# *Predict:* M = 16,384 tokens, V = 128,256, logits in float32. How many GB?

# %% predict_logits
prediction = ...

# %%
compare(prediction, 16_384 * 128_256 * 4 / 1e9, "GB", tolerance=0.01)

# %% [markdown]
# The layer's weights, at D = 4096 in float16, are 1.05 GB. The logits are the largest array of the
# whole training step, its gradient is as large again, and both are gone a moment later.
#
# They need not be there. A row's loss wants the log of a sum of exp, which is a running maximum and
# a running sum (`cross_entropy`, lesson 08), and one logit, the target's. Both can be taken from a
# tile of logits while it lies in registers, behind the loop over D. It is FlashAttention's idea
# with another product.
#
# For rows of four logits, in two tiles of two:

# %%
logits = np.array([2.0, 0.0, 3.0, 1.0])
target = 2
m, total = -np.inf, 0.0
for tile in (logits[:2], logits[2:]):
    m_new = max(m, *tile)
    total = total * np.exp(m - m_new) + np.exp(tile - m_new).sum()
    m = m_new
print("tile by tile:", m + np.log(total) - logits[target])
print("all at once: ", np.log(np.exp(logits).sum()) - logits[target])

# %% [markdown]
# Programs: with 64 rows each there would be few of them, so the vocabulary is split, too. Each part
# leaves a maximum and a sum for each row, and a second kernel puts them together as
# `flash_decode` did.
#
# What is saved? Memory, first of all. Time: the product takes what it takes, and at a large D it is
# nearly all of the time. Where D is small beside the tile, stored logits are most of the traffic.
#
# ### Exercise: `linear_cross_entropy` (90 minutes)
#
# A target of -100 marks a position that does not count: padding, or a question that the model is
# not to learn. In PyTorch the number is called `ignore_index`.

# %%
ex.linear_cross_entropy

# %% linear_cross_entropy
import torch
import triton
import triton.language as tl

BM = 64  # rows of a program
BV = 64  # tokens of a tile
BK = 64  # the step along D
PART = 512  # tokens of a program


@triton.jit
def part_of_loss(
    x,
    w,
    targets,
    greatest,  # (parts, M): greatest logits
    totals,  # (parts, M): sums of exp
    own,  # (M,): the target's logit
    M,
    V,
    D,
    PART: tl.constexpr,
    BM: tl.constexpr,
    BV: tl.constexpr,
    BK: tl.constexpr,
):
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    part = tl.program_id(1)
    there = rows < M
    target = tl.load(targets + rows, mask=there, other=-100)  # read M a part
    m = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    picked = tl.zeros((BM,), tl.float32)
    first = part * PART
    end = tl.minimum(first + PART, V)
    for left in range(first, end, BV):
        columns = left + tl.arange(0, BV)
        logits = tl.zeros((BM, BV), tl.float32)
        for start in range(0, D, BK):
            steps = start + tl.arange(0, BK)
            a = tl.load(x + rows[:, None] * D + steps, there[:, None], 0.0)  # read MVD/BV
            place = columns[:, None].to(tl.int64) * D + steps
            b = tl.load(w + place, columns[:, None] < end, 0.0)  # read MVD/BM
            logits = tl.dot(a, tl.trans(b), logits)
        picked += tl.sum(tl.where(columns == target[:, None], logits, 0.0), 1)
        logits = tl.where(columns < end, logits, float("-inf"))
        m_new = tl.maximum(m, tl.max(logits, 1))
        total = total * tl.exp(m - m_new) + tl.sum(tl.exp(logits - m_new[:, None]), 1)
        m = m_new
    tl.store(greatest + part * M + rows, m, mask=there)  # write M a part
    tl.store(totals + part * M + rows, total, mask=there)  # write M a part
    tl.store(own + rows, picked, mask=there & (target >= first) & (target < end))  # write M
    ### END SOLUTION


@triton.jit
def whole_loss(
    targets, greatest, totals, own, loss, M, parts, BM: tl.constexpr, PARTS: tl.constexpr
):
    ### BEGIN SOLUTION
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    there = rows < M
    part = tl.arange(0, PARTS)
    place = part[:, None] * M + rows
    inside = (part[:, None] < parts) & there
    of_parts = tl.load(greatest + place, inside, float("-inf"))  # read M a part
    m = tl.max(of_parts, 0)
    rescale = tl.exp(of_parts - m)
    total = tl.sum(rescale * tl.load(totals + place, inside, 0.0), 0)  # read M a part
    counts = there & (tl.load(targets + rows, mask=there, other=-100) >= 0)
    picked = tl.load(own + rows, mask=counts, other=0.0)
    tl.store(loss + rows, tl.where(counts, m + tl.log(total) - picked, 0.0), mask=there)  # write M
    ### END SOLUTION


def linear_cross_entropy(x, w, targets):  # x: (M, D), w: (V, D), targets: (M,)
    M, D = x.shape
    V = w.shape[0]
    ### BEGIN SOLUTION
    parts = triton.cdiv(V, PART)
    greatest = torch.empty((parts, M), device=x.device, dtype=torch.float32)
    totals = torch.empty((parts, M), device=x.device, dtype=torch.float32)
    own = torch.empty((M,), device=x.device, dtype=torch.float32)
    loss = torch.empty((M,), device=x.device, dtype=torch.float32)
    grid = (triton.cdiv(M, BM), parts)
    part_of_loss[grid](x, w, targets, greatest, totals, own, M, V, D, PART, BM, BV, BK)
    most = triton.next_power_of_2(parts)
    whole_loss[(triton.cdiv(M, 32),)](targets, greatest, totals, own, loss, M, parts, 32, most)
    return loss  # (M,) float32
    ### END SOLUTION


# %% linear_cross_entropy_check
ex.linear_cross_entropy.check(linear_cross_entropy)

# %% [markdown]
# ## 6. The gradient in the logits' place
#
# The backward pass needs the logits again. A fused kernel computes them a second time, as
# FlashAttention's backward pass does with its scores. Another way is common because it leaves the
# products to cuBLAS: go through the rows in **chunks** of a few hundred, one chunk's logits at a
# time. For a chunk: a product gives logits, a kernel turns logits into their gradient **in place**,
# and two more products take that to the gradients of x and w. One chunk's memory is used again and
# again, and a second array for the gradient never exists.
#
# The gradient of log(sum of exp) is the softmax; that of the target's logit is 1:
#
# > d loss[m] / d logits[m, v] = exp(logits[m, v] - lse[m]) - (1 if v is the target)
#
# lse[m] is the log of the sum of exp of row m, which the forward pass can store (lesson 08's does).
# With it nothing has to be summed up: each logit by itself, read once, written once.

# %%
lse = np.log(np.exp(logits).sum())
gradient = np.exp(logits - lse) - (np.arange(4) == target)
print(gradient.round(3), "adds up to", abs(gradient.sum().round(9)))

# %% [markdown]
# In place means that a mistake is final: what has been overwritten cannot be read again.
#
# ### Exercise: `loss_gradient` (35 minutes)

# %%
ex.loss_gradient

# %% loss_gradient
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def loss_gradient(logits, targets, lse, V, scale, BLOCK: tl.constexpr):
    ### BEGIN SOLUTION
    row = tl.program_id(0)
    logits += row * V
    target = tl.load(targets + row)
    of_row = tl.load(lse + row)
    factor = tl.where(target < 0, 0.0, scale)
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < V
        block = tl.load(logits + columns, mask=inside, other=0.0).to(tl.float32)  # read MV
        gradient = tl.exp(block - of_row) - tl.where(columns == target, 1.0, 0.0)
        tl.store(logits + columns, gradient * factor, mask=inside)  # write MV
    ### END SOLUTION


# %% loss_gradient_check
ex.loss_gradient.check(loss_gradient)

# %% [markdown]
# ## Explain
#
# A colleague plans a server and asks four questions. Answer in a few sentences each.
#
# 1. "We double the batch. Which part of a decoding step gets cheaper for each token, and which does
#    not?"
# 2. "Isn't a gather slow? Why do pages cost next to nothing?"
# 3. "int4 is a quarter of float16. Why is one sequence's step less than four times faster?"
# 4. "Your fused loss computes the same product as before. What did we gain?"

# %% [markdown] explain_serving
# ### BEGIN SOLUTION
# 1. The weights: a step reads them once, and twice as many tokens share that. Each sequence's KV
#    cache is read by that sequence alone, so its bytes for each token stay, and at long contexts
#    and large batches they are most of the step.
# 2. A gather is slow where each lane fetches a few bytes of a sector. Here a page's row of a head
#    is 128 bytes or more, whole sectors, as in a plain array. What is added is 4 bytes of the
#    table for each page.
# 3. Scales add bits (a quarter of a bit at groups of 64), and the step still reads the KV cache,
#    which has not shrunk. Unpacking is arithmetic for each weight, too, and may become the limit.
# 4. Memory: M x V numbers and their gradient, the largest arrays of the step, are never there, so
#    batches or contexts can be larger. And traffic: the logits would be written once and read at
#    least once.
# ### END SOLUTION

# %% [markdown]
# ## What you can explain now
#
# - What a decoding step must read, what a batch shares, and from which batch on it is no longer
#   **memory-bound**.
# - How a **block table** turns a token's number into an address, and why that costs no sectors.
# - How int4 weights are unpacked in registers, and what makes scales expensive.
# - How a program of a **grouped GEMM** finds its expert, and what padding costs.
# - Why the **logits** of a training step need not exist, and how a gradient takes their place.
#
# ## Where this stands in real code
#
# - Pages are vLLM's *PagedAttention* (Kwon and others, 2023). FlashInfer and FlashAttention take
#   block tables, too; pages of 16 to 256 tokens are usual.
# - int4 weights by group: AWQ and GPTQ choose the numbers so that the error is small, GGUF's types
#   pack them, Marlin is a kernel that keeps up with tensor cores at larger batches.
# - Grouped GEMM: MegaBlocks (Gale and others, 2022), CUTLASS's grouped kernels, PyTorch's
#   `torch._grouped_mm`, and a tutorial of Triton's.
# - Losses without logits: Liger Kernel's fused linear cross entropy goes chunk by chunk, as in
#   section 6; Apple's *Cut Cross-Entropy* (2024) fuses as in section 5, and computes tiles again on
#   the way back.
#
# This was the last lesson. Your own kernels run under the same meter: `python -m course.run FILE`.
