# Lesson 10: wrong kernels with the verdict that each must get, and honest ones that must pass.

# %% attention_bytes elements_for_bytes -> WRONG_ANSWER
# Elements of float16 were counted, not their bytes.
attention_bytes = {
    "scores_bytes": 4096**2,
    "least_unfused": 4 * 4096**2 + 4 * 4096 * 64,
    "least_fused": 4 * 4096 * 64,
    "least_ratio": 65,
    "requested_unfused": 4096**2 * 7 + 4096 * 64,
    "requested_fused": 2 * 4096 * 64 + 2 * 64 * 4096 * 64,
    "requested_ratio": 3.454,
    "requested_fused_128": 2 * 4096 * 64 + 2 * 32 * 4096 * 64,
    "pays_ten_times": 576,
    "scores_of_a_layer": 68.7,
    "causal_tiles": 36,
    "causal_share": 65 / 128,
}


# %% attention_bytes least_for_requested -> WRONG_ANSWER
# What programs ask for again was left out, and so were the tiles on the diagonal.
attention_bytes = {
    "scores_bytes": 2 * 4096**2,
    "least_unfused": 2 * (4 * 4096**2 + 4 * 4096 * 64),
    "least_fused": 2 * 4 * 4096 * 64,
    "least_ratio": 65,
    "requested_unfused": 2 * (4 * 4096**2 + 4 * 4096 * 64),
    "requested_fused": 2 * 4 * 4096 * 64,
    "requested_ratio": 65,
    "requested_fused_128": 2 * 4 * 4096 * 64,
    "pays_ten_times": 576,
    "scores_of_a_layer": 68.7,
    "causal_tiles": 28,
    "causal_share": 0.5,
}


# %% attention_bytes scores_moved_once -> WRONG_ANSWER
# S and P were each counted once: written, and not read again.
attention_bytes = {
    "scores_bytes": 2 * 4096**2,
    "least_unfused": 2 * (2 * 4096**2 + 4 * 4096 * 64),
    "least_fused": 2 * 4 * 4096 * 64,
    "least_ratio": 33,
    "requested_unfused": 2 * (4096**2 * 7 + 4096 * 64),
    "requested_fused": 2 * (2 * 4096 * 64 + 2 * 64 * 4096 * 64),
    "requested_ratio": 3.454,
    "requested_fused_128": 2 * (2 * 4096 * 64 + 2 * 32 * 4096 * 64),
    "pays_ten_times": 576,
    "scores_of_a_layer": 68.7,
    "causal_tiles": 36,
    "causal_share": 65 / 128,
}


# %% attend_one_query accumulator_not_rescaled -> WRONG_ANSWER
# The sum of weights is repaired when the maximum grows, the sum of values is not.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query sum_not_rescaled -> WRONG_ANSWER
# The other way round: weights of old tiles stay measured against the old maximum.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query scale_forgotten -> WRONG_ANSWER
# The scores are not divided by sqrt(D).
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1)
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query divided_by_d -> WRONG_ANSWER
# Divided by D where sqrt(D) was asked for.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) / D
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query no_maximum -> WRONG_ANSWER
# The textbook's formula: exp of a score of 100 is more than float32 holds.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        weights = tl.exp(scores)
        total = total + tl.sum(weights, 0)
        acc = acc + tl.sum(weights[:, None] * values, 0)
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query keys_past_the_end_score_zero -> WRONG_ANSWER
# Rows that do not exist are loaded as zeros, and a score of 0 is a weight.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query no_mask -> OUT_OF_BOUNDS
# The last tile reads past the last key.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place).to(tl.float32)
        values = tl.load(v + place).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query assumes_contiguous -> OUT_OF_BOUNDS
# Rows of k are taken to be D elements apart.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * N * D + rows[:, None] * D + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query query_never_read -> WRONG_ANSWER
# All keys get the same weight: the mean of v.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(keys * 0.0, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query float16_sums -> WRONG_ANSWER
# The accumulator has the inputs' type: 1,500 values near 100 are more than float16 holds.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), out.dtype.element_ty)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = (acc * rescale + tl.sum(weights[:, None] * values, 0)).to(acc.dtype)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query float16_products -> WRONG_ANSWER
# Query and keys are multiplied as they came: a product of two hundreds overflows float16.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1).to(tl.float32) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query keys_read_twice -> TOO_MUCH_TRAFFIC
# A first pass for the maximum and the sum, a second one for the values: the keys come twice.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        total = total * tl.exp(m - m_new) + tl.sum(tl.exp(scores - m_new), 0)
        m = m_new
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
        acc += tl.sum(tl.exp(scores - m)[:, None] * values, 0)
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query all_keys_at_once -> TOO_MANY_RESOURCES
# No loop: a tile that holds every key does not fit into the registers.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, KEYS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    rows = tl.arange(0, KEYS)
    inside = rows < N
    place = head * head_stride + rows[:, None] * row_stride + d
    keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
    values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
    scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(out + head * D + d, tl.sum(weights[:, None] * values, 0) / tl.sum(weights, 0))


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    keys = triton.next_power_of_2(N)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, KEYS=keys)
    return out


# %% attend_one_query a_program_an_element -> TOO_MUCH_TRAFFIC
# A program for each element of the output: each of them needs all scores.
import torch
import triton
import triton.language as tl


@triton.jit
def one_element(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    column = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = 0.0
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows * row_stride
        keys = tl.load(k + place[:, None] + d, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place + column, mask=inside, other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights * values, 0)
        m = m_new
    tl.store(out + head * D + column, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_element[(H, D)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query torch_does_the_work -> REJECTED
# PyTorch's own functions: nothing of it is a kernel.
import torch


def attend_one_query(q, k, v):
    scores = (k @ q[:, :, None])[:, :, 0] / k.shape[2] ** 0.5
    return (torch.softmax(scores, 1)[:, None] @ v)[:, 0]


# %% attend_one_query keys_down_the_columns -> PASS
# The tile turned: a key is a column, and the sums go along the other axis.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[None, :] * row_stride + d[:, None]
        keys = tl.load(k + place, mask=inside[None, :], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[None, :], other=0.0).to(tl.float32)
        scores = tl.sum(query[:, None] * keys, 0) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[None, :] * values, 1)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):  # q: (H, D), k and v: (H, N, D)
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query keys_128_at_a_time -> PASS
# A larger tile, eight warps, and the scale folded into the query.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32) * (D**-0.5)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1)
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=128, num_warps=8)
    return out


# %% attend_one_query powers_of_two -> PASS
# exp2 of scores times log2(e), keys 32 at a time, values loaded where they are used.
import torch
import triton
import triton.language as tl

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def decode(Q, K, V, O, n, sh, sr, scale, D: tl.constexpr, B: tl.constexpr):
    h = tl.program_id(0)
    cols = tl.arange(0, D)
    offs = tl.arange(0, B)
    x = tl.load(Q + h * D + cols).to(tl.float32) * (scale * LOG2_E)
    k_ptrs = K + h * sh + offs[:, None] * sr + cols[None, :]
    v_ptrs = V + h * sh + offs[:, None] * sr + cols[None, :]
    best = tl.full((), float("-inf"), tl.float32)
    norm = tl.zeros((), tl.float32)
    o = tl.zeros((D,), tl.float32)
    for i in range(0, tl.cdiv(n, B)):
        ok = offs < n - i * B
        s = tl.sum(x[None, :] * tl.load(k_ptrs, mask=ok[:, None], other=0.0).to(tl.float32), axis=1)
        s = tl.where(ok, s, -float("inf"))
        new = tl.maximum(best, tl.max(s, axis=0))
        p = tl.exp2(s - new)
        fix = tl.exp2(best - new)
        norm = norm * fix + tl.sum(p, axis=0)
        o = o * fix + tl.sum(p[:, None] * tl.load(v_ptrs, mask=ok[:, None], other=0.0), axis=0)
        best = new
        k_ptrs += B * sr
        v_ptrs += B * sr
    tl.store(O + h * D + cols, (o / norm).to(O.dtype.element_ty))


def attend_one_query(q, k, v):
    heads, n, dim = k.shape
    out = torch.empty_like(q)
    decode[(heads,)](q, k, v, out, n, k.stride(0), k.stride(1), 1.0 / dim**0.5, dim, 32)
    return out


# %% attend_one_query divides_as_it_goes -> PASS
# The output is kept normalised: each tile is mixed in by its share of the weights.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    mean = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        weights = tl.exp(scores - m_new)
        before = total * tl.exp(m - m_new)
        total = before + tl.sum(weights, 0)
        mean = mean * (before / total) + tl.sum((weights / total)[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, mean)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% attend_one_query one_program_for_all_heads -> TOO_SERIAL
# The heads are turns of a loop, although no head needs another.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, H, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    d = tl.arange(0, D)
    for head in range(H):
        query = tl.load(q + head * D + d).to(tl.float32)
        m = float("-inf")
        total = 0.0
        acc = tl.zeros((D,), tl.float32)
        for start in range(0, N, BC):
            rows = start + tl.arange(0, BC)
            inside = rows < N
            place = head * head_stride + rows[:, None] * row_stride + d
            keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
            values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
            scores = tl.sum(query * keys, 1) * D**-0.5
            scores = tl.where(inside, scores, float("-inf"))
            m_new = tl.maximum(m, tl.max(scores, 0))
            rescale = tl.exp(m - m_new)
            weights = tl.exp(scores - m_new)
            total = total * rescale + tl.sum(weights, 0)
            acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
            m = m_new
        tl.store(out + head * D + d, acc / total)


def attend_one_query(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(1,)](q, k, v, out, H, N, k.stride(0), k.stride(1), D=D, BC=32)
    return out


# %% flash_forward accumulator_not_rescaled -> WRONG_ANSWER
# The sum of weights is repaired when the maximum grows, the accumulator is not.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward sum_not_rescaled -> WRONG_ANSWER
# The accumulator is repaired, the sum of weights is not.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward maximum_replaced_too_early -> WRONG_ANSWER
# m is overwritten before the factor is computed, which is then always 1.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        m = m_new
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward scale_forgotten -> WRONG_ANSWER
# The scores are not divided by sqrt(D).
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee")
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward keys_never_read -> WRONG_ANSWER
# All scores are 0 and every query gets the mean of v.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.zeros((BR, BC), tl.float32)
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward queries_never_read -> WRONG_ANSWER
# The keys attend to the keys: k was passed where q belongs.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(k + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward keys_past_the_end_score_zero -> WRONG_ANSWER
# Keys that do not exist are loaded as zeros, and a score of 0 is a weight.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward no_masks -> OUT_OF_BOUNDS
# N is taken to be a multiple of the tiles.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place)
        values = tl.load(v + place)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None])


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward store_without_mask -> OUT_OF_BOUNDS
# The last tile of queries has rows that out does not have.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None])


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward no_maximum -> WRONG_ANSWER
# The textbook's formula: exp of a score of 100 is more than float32 holds.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        weights = tl.exp(scores)
        total = total + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc + products
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward divided_in_every_step -> WRONG_ANSWER
# The accumulator is divided by the sum so far in each step, and again in the next.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = (acc * rescale[:, None] + products) / total[:, None]
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc, mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward first_head_only -> WRONG_ANSWER
# A grid of one axis: the other heads are never computed.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR),)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward float16_accumulator -> WRONG_ANSWER
# The accumulator has the inputs' type: sixteen values near 6,000 are more than float16 holds.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), out.dtype.element_ty)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = (acc * rescale[:, None] + products).to(acc.dtype)
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward float16_scores -> WRONG_ANSWER
# tl.dot is asked for float16: scores of a hundred thousand overflow.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries.to(tl.float16), tl.trans(keys).to(tl.float16), out_dtype=tl.float16)
        scores = scores.to(tl.float32) * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward float16_operands -> WRONG_ANSWER
# Everything is rounded to float16 for tl.dot, also where the inputs are float32.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries.to(tl.float16), tl.trans(keys).to(tl.float16)) * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(tl.float16), values.to(tl.float16))
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward assumes_contiguous -> OUT_OF_BOUNDS
# Rows are taken to be D elements apart.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, N * D, D, D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward tiles_of_16_queries -> TOO_MUCH_TRAFFIC
# All of k and v for every 16 queries: four times what tiles of 64 ask for.
import torch
import triton
import triton.language as tl

BR = 16
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=4)
    return out


# %% flash_forward tiles_of_32_queries -> TOO_MUCH_TRAFFIC
# The mildest form: half the tile, twice the passes over k and v.
import torch
import triton
import triton.language as tl

BR = 32
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=4)
    return out


# %% flash_forward a_program_a_query -> TOO_MUCH_TRAFFIC
# attend_one_query for each query: each passes over all of k and v.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * head_stride + row * row_stride + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + (head * N + row) * D + d, acc / total)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    one_query[(N, H)](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BC=128)
    return out


# %% flash_forward scores_written_out -> TOO_MUCH_TRAFFIC
# Three kernels with the N x N matrix in memory between them: right, and what the lesson is about.
import torch
import triton
import triton.language as tl

B = 64


@triton.jit
def scores_of(q, k, s, N, head_stride, row_stride, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(2)
    d = tl.arange(0, D)
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    place = head * head_stride + rows[:, None] * row_stride + d
    queries = tl.load(q + place, mask=rows[:, None] < N, other=0.0)
    place = head * head_stride + columns[:, None] * row_stride + d
    keys = tl.load(k + place, mask=columns[:, None] < N, other=0.0)
    scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
    place = (head * N + rows[:, None]) * N + columns
    tl.store(s + place, scores, mask=(rows[:, None] < N) & (columns < N))


@triton.jit
def softmax_of(s, N, ROW: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, ROW)
    scores = tl.load(s + row * N + columns, mask=columns < N, other=float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(s + row * N + columns, weights / tl.sum(weights, 0), mask=columns < N)


@triton.jit
def weighted_sum(s, v, out, N, head_stride, row_stride, D: tl.constexpr, B: tl.constexpr):
    head = tl.program_id(1)
    d = tl.arange(0, D)
    rows = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, N, B):
        columns = start + tl.arange(0, B)
        place = (head * N + rows[:, None]) * N + columns
        weights = tl.load(s + place, mask=(rows[:, None] < N) & (columns < N), other=0.0)
        place = head * head_stride + columns[:, None] * row_stride + d
        values = tl.load(v + place, mask=columns[:, None] < N, other=0.0)
        acc += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc, mask=rows[:, None] < N)


def flash_forward(q, k, v):
    H, N, D = q.shape
    tiles = triton.cdiv(N, B)
    s = torch.empty((H, N, N), device=q.device, dtype=torch.float32)
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    scores_of[(tiles, tiles, H)](q, k, s, N, q.stride(0), q.stride(1), D=D, B=B, num_warps=8)
    softmax_of[(H * N,)](s, N, ROW=triton.next_power_of_2(N))
    weighted_sum[(tiles, H)](s, v, out, N, q.stride(0), q.stride(1), D=D, B=B, num_warps=8)
    return out


# %% flash_forward two_passes_over_keys -> TOO_MUCH_TRAFFIC
# The maximum and the sum first, the values in a second pass: the keys come twice.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        keys = tl.load(k + columns[:, None] * row_stride + d, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        total = total * tl.exp(m - m_new) + tl.sum(tl.exp(scores - m_new[:, None]), 1)
        m = m_new
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        keys = tl.load(k + columns[:, None] * row_stride + d, mask=there, other=0.0)
        values = tl.load(v + columns[:, None] * row_stride + d, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        weights = tl.exp(scores - m[:, None]) / total[:, None]
        acc += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
    tl.store(out + (head * N + rows[:, None]) * D + d, acc, mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](
        q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8
    )
    return out


# %% flash_forward torch_does_the_work -> REJECTED
# One line of PyTorch: nothing of it is a kernel.
import torch


def flash_forward(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v).contiguous()


# %% flash_forward float32_by_float16 -> DOES_NOT_COMPILE
# The weights are float32 and the values float16: tl.dot takes two of a kind.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights, values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward products_summed_by_hand -> PASS
# The second product without tl.dot: a block of three axes, summed over the keys.
import torch
import triton
import triton.language as tl

BR = 64  # queries of a program
BC = 16  # keys at a time


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride  # from here on pointers to this head
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.sum(weights[:, :, None] * values.to(tl.float32)[None, :, :], 1)
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):  # each (H, N, D)
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward keys_from_the_last -> PASS
# The tiles of keys in reverse order: what is known of a part can be merged in any order.
import torch
import triton
import triton.language as tl

BR = 64  # queries of a program
BC = 32  # keys at a time


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride  # from here on pointers to this head
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    last = tl.cdiv(N, BC) - 1
    for t in range(last + 1):
        columns = (last - t) * BC + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):  # each (H, N, D)
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward tiles_of_128_queries -> PASS
# Half the passes over k and v.
import torch
import triton
import triton.language as tl

BR = 128
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward keys_16_at_a_time -> PASS
# A narrow tile of keys: more steps, the same loads.
import torch
import triton
import triton.language as tl

BR = 64
BC = 16


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=4)
    return out


# %% flash_forward keys_64_at_a_time -> PASS
# A wide tile of keys: fewer steps, the same loads.
import torch
import triton
import triton.language as tl

BR = 64
BC = 64


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_tile[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward powers_of_two -> PASS
# exp2, the scale folded into the queries, keys loaded already turned, heads and tiles on one axis.
import torch
import triton
import triton.language as tl


@triton.jit
def _fwd(Q, K, V, Out, n_ctx, qk_scale, sz, sm, n_tiles, HEAD_DIM: tl.constexpr,
         BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid = tl.program_id(0)
    z = pid // n_tiles
    t = pid % n_tiles
    offs_m = t * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q_ptrs = Q + z * sz + offs_m[:, None] * sm + offs_d[None, :]
    k_ptrs = K + z * sz + offs_d[:, None] + offs_n[None, :] * sm
    v_ptrs = V + z * sz + offs_n[:, None] * sm + offs_d[None, :]
    m_i = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l_i = tl.full([BLOCK_M], 0.0, dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    q = tl.load(q_ptrs, mask=offs_m[:, None] < n_ctx, other=0.0)
    for start_n in range(0, n_ctx, BLOCK_N):
        ok = start_n + offs_n < n_ctx
        k = tl.load(k_ptrs, mask=ok[None, :], other=0.0)
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        qk = tl.where(ok[None, :], qk, -float("inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptrs, mask=ok[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_N * sm
        v_ptrs += BLOCK_N * sm
    o_ptrs = Out + (z * n_ctx + offs_m[:, None]) * HEAD_DIM + offs_d[None, :]
    acc = acc / l_i[:, None]
    tl.store(o_ptrs, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < n_ctx)


def flash_forward(q, k, v):
    heads, n, dim = q.shape
    out = torch.empty(q.shape, device=q.device, dtype=q.dtype)
    tiles = triton.cdiv(n, 64)
    scale = dim**-0.5 * 1.4426950408889634
    _fwd[(tiles * heads,)](q, k, v, out, n, scale, q.stride(0), q.stride(1), tiles,
                           HEAD_DIM=dim, BLOCK_M=64, BLOCK_N=32, num_warps=8)
    return out


# %% flash_forward last_tile_apart -> PASS
# Full tiles of keys without masks, then the ragged one; a helper does a step.
import torch
import triton
import triton.language as tl


@triton.jit
def step(queries, keys, values, m, total, acc, inside, D: tl.constexpr):
    scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
    scores = tl.where(inside, scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    rescale = tl.exp(m - m_new)
    weights = tl.exp(scores - m_new[:, None])
    total = total * rescale + tl.sum(weights, 1)
    acc *= rescale[:, None]
    acc += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
    return m_new, total, acc


@triton.jit
def attend(q, k, v, out, N, of_head, of_row, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    rows = tl.program_id(1) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + head * of_head + rows[:, None] * of_row + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    full = N // BC * BC
    for start in range(0, full, BC):
        columns = start + tl.arange(0, BC)
        place = head * of_head + columns[:, None] * of_row + d
        keys = tl.load(k + place)
        values = tl.load(v + place)
        m, total, acc = step(queries, keys, values, m, total, acc, columns < N, D)
    if full < N:
        columns = full + tl.arange(0, BC)
        place = head * of_head + columns[:, None] * of_row + d
        keys = tl.load(k + place, mask=columns[:, None] < N, other=0.0)
        values = tl.load(v + place, mask=columns[:, None] < N, other=0.0)
        m, total, acc = step(queries, keys, values, m, total, acc, columns < N, D)
    tl.store(out + (head * N + rows[:, None]) * D + d, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.zeros((H, N, D), device=q.device, dtype=q.dtype)
    attend[(H, triton.cdiv(N, 64))](
        q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=64, BC=32, num_warps=8
    )
    return out


# %% flash_forward one_program_a_head -> TOO_SERIAL
# The tiles of queries are turns of a loop: each multiprocessor but two has nothing to do.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_tile(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    d = tl.arange(0, D)
    head = tl.program_id(0)
    for first in range(0, N, BR):
        rows = first + tl.arange(0, BR)
        asked = rows[:, None] < N
        of_head = head * head_stride + d
        queries = tl.load(q + of_head + rows[:, None] * row_stride, mask=asked, other=0.0)
        m = tl.full((BR,), float("-inf"), tl.float32)
        total = tl.zeros((BR,), tl.float32)
        acc = tl.zeros((BR, D), tl.float32)
        for start in range(0, N, BC):
            columns = start + tl.arange(0, BC)
            place = of_head + columns[:, None] * row_stride
            there = columns[:, None] < N
            keys = tl.load(k + place, mask=there, other=0.0)
            values = tl.load(v + place, mask=there, other=0.0)
            scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
            scores = tl.where(columns < N, scores, float("-inf"))
            m_new = tl.maximum(m, tl.max(scores, 1))
            rescale = tl.exp(m - m_new)
            weights = tl.exp(scores - m_new[:, None])
            total = total * rescale + tl.sum(weights, 1)
            products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            acc = acc * rescale[:, None] + products
            m = m_new
        place = (head * N + rows[:, None]) * D + d
        tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (H,)
    strides = q.stride(0), q.stride(1)
    attend_tile[grid](q, k, v, out, N, *strides, D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_forward persistent_programs -> PASS
# As many programs as a small GPU has multiprocessors. Each takes tile after tile: one or two.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32
PROGRAMS = 6  # multiprocessors


@triton.jit
def attend_tile(
    q, k, v, out, H, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    d = tl.arange(0, D)
    tiles = tl.cdiv(N, BR)
    for number in range(tl.program_id(0), H * tiles, tl.num_programs(0)):
        head = number // tiles
        first = number % tiles * BR
        rows = first + tl.arange(0, BR)
        asked = rows[:, None] < N
        of_head = head * head_stride + d
        queries = tl.load(q + of_head + rows[:, None] * row_stride, mask=asked, other=0.0)
        m = tl.full((BR,), float("-inf"), tl.float32)
        total = tl.zeros((BR,), tl.float32)
        acc = tl.zeros((BR, D), tl.float32)
        for start in range(0, N, BC):
            columns = start + tl.arange(0, BC)
            place = of_head + columns[:, None] * row_stride
            there = columns[:, None] < N
            keys = tl.load(k + place, mask=there, other=0.0)
            values = tl.load(v + place, mask=there, other=0.0)
            scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
            scores = tl.where(columns < N, scores, float("-inf"))
            m_new = tl.maximum(m, tl.max(scores, 1))
            rescale = tl.exp(m - m_new)
            weights = tl.exp(scores - m_new[:, None])
            total = total * rescale + tl.sum(weights, 1)
            products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            acc = acc * rescale[:, None] + products
            m = m_new
        place = (head * N + rows[:, None]) * D + d
        tl.store(out + place, acc / total[:, None], mask=asked)


def flash_forward(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (min(PROGRAMS, H * triton.cdiv(N, BR)),)
    strides = q.stride(0), q.stride(1)
    attend_tile[grid](q, k, v, out, H, N, *strides, D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal masked_and_still_loaded -> TOO_MUCH_TRAFFIC
# The future gets the score -inf, and its keys and values are loaded all the same.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal own_key_left_out -> WRONG_ANSWER
# Strictly smaller: the first query has nothing to attend to.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal one_key_too_many -> WRONG_ANSWER
# The diagonal is off by one: each query sees the next key.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None] + 1, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal places_within_the_tile -> WRONG_ANSWER
# Row and column are counted from the start of their tiles, not from the start of the sequence.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(tl.arange(0, BC) <= tl.arange(0, BR)[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal diagonal_tile_not_masked -> WRONG_ANSWER
# Whole tiles of the future are skipped, and the tile on the diagonal is used whole.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal future_scores_zero -> WRONG_ANSWER
# Scores of the future are multiplied by 0, and exp(0) is a weight.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = scores * (columns <= rows[:, None])
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal diagonal_tile_skipped -> WRONG_ANSWER
# The loop ends before the tile on the diagonal.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal past_for_future -> WRONG_ANSWER
# The comparison is turned round: a query sees the keys after it.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns >= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal no_masks_at_the_end -> OUT_OF_BOUNDS
# The causal mask hides what is past the end from the scores, not from the loads.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place)
        values = tl.load(v + place)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal accumulator_not_rescaled -> WRONG_ANSWER
# What was summed against the old maximum stays as it is.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal scale_forgotten -> WRONG_ANSWER
# The scores are not divided by sqrt(D).
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee")
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal float16_accumulator -> WRONG_ANSWER
# The accumulator has the inputs' type: sixteen values near 6,000 are more than float16 holds.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), v.dtype.element_ty)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = (acc * rescale[:, None] + products).to(acc.dtype)
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal float16_scores -> WRONG_ANSWER
# The products of queries and keys in the inputs' type: a hundred thousand overflows.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee").to(v.dtype.element_ty)
        scores = scores.to(tl.float32) * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal tiles_of_16_queries -> TOO_MUCH_TRAFFIC
# Nothing of the future is loaded, and the past is loaded for every 16 queries.
import torch
import triton
import triton.language as tl

BR = 16
BC = 16


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=4)
    return out


# %% flash_causal skips_by_an_if -> PASS
# The loop runs to the end, and an if leaves out what lies in the future.
import torch
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, out, N, of_head, of_row, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(1)
    d = tl.arange(0, D)
    last = tl.program_id(0) * BR + BR - 1
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + head * of_head + rows[:, None] * of_row + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        if start <= last:
            columns = start + tl.arange(0, BC)
            place = head * of_head + columns[:, None] * of_row + d
            there = columns[:, None] < N
            keys = tl.load(k + place, mask=there, other=0.0)
            values = tl.load(v + place, mask=there, other=0.0)
            scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
            scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
            m_new = tl.maximum(m, tl.max(scores, 1))
            rescale = tl.exp(m - m_new)
            weights = tl.exp(scores - m_new[:, None])
            total = total * rescale + tl.sum(weights, 1)
            acc = acc * rescale[:, None]
            acc += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            m = m_new
    tl.store(out + (head * N + rows[:, None]) * D + d, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    attend[(triton.cdiv(N, 64), H)](
        q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=64, BC=32, num_warps=8
    )
    return out


# %% flash_causal tiles_of_128_queries -> PASS
# Fewer passes, a little more of the diagonal: less traffic in all.
import torch
import triton
import triton.language as tl

BR = 128
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal keys_64_at_a_time -> PASS
# Square tiles.
import torch
import triton
import triton.language as tl

BR = 64
BC = 64


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(1)
    q += head * head_stride
    k += head * head_stride
    v += head * head_stride
    d = tl.arange(0, D)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    asked = rows[:, None] < N
    queries = tl.load(q + rows[:, None] * row_stride + d, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, min(first + BR, N), BC):
        columns = start + tl.arange(0, BC)
        place = columns[:, None] * row_stride + d
        there = columns[:, None] < N
        keys = tl.load(k + place, mask=there, other=0.0)
        values = tl.load(v + place, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, BR), H)
    attend_causal[grid](q, k, v, out, N, q.stride(0), q.stride(1), D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal diagonal_apart -> PASS
# First the tiles before the diagonal, without a comparison, then the one on it.
import torch
import triton
import triton.language as tl

T = 64


@triton.jit
def step(queries, k, v, columns, rows, there, of_row, m, total, acc,
         D: tl.constexpr, DIAGONAL: tl.constexpr):
    d = tl.arange(0, D)
    keys = tl.load(k + columns[:, None] * of_row + d, mask=there[:, None], other=0.0)
    values = tl.load(v + columns[:, None] * of_row + d, mask=there[:, None], other=0.0)
    scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
    if DIAGONAL:
        scores = tl.where(rows[:, None] >= columns, scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, 1))
    rescale = tl.exp(m - m_new)
    weights = tl.exp(scores - m_new[:, None])
    total = total * rescale + tl.sum(weights, 1)
    acc = acc * rescale[:, None]
    acc += tl.dot(weights.to(values.dtype), values, input_precision="ieee")
    return m_new, total, acc


@triton.jit
def attend(q, k, v, out, N, of_head, of_row, D: tl.constexpr, T: tl.constexpr):
    tile = tl.program_id(0)
    head = tl.program_id(1)
    k += head * of_head
    v += head * of_head
    d = tl.arange(0, D)
    rows = tile * T + tl.arange(0, T)
    inside = rows < N
    place = head * of_head + rows[:, None] * of_row + d
    queries = tl.load(q + place, mask=inside[:, None], other=0.0)
    m = tl.full((T,), float("-inf"), tl.float32)
    total = tl.zeros((T,), tl.float32)
    acc = tl.zeros((T, D), tl.float32)
    for t in range(0, tile):
        columns = t * T + tl.arange(0, T)
        m, total, acc = step(queries, k, v, columns, rows, columns < N, of_row,
                             m, total, acc, D, False)
    m, total, acc = step(queries, k, v, rows, rows, inside, of_row, m, total, acc, D, True)
    place = (head * N + rows[:, None]) * D + d
    tl.store(out + place, acc / total[:, None], mask=inside[:, None])


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    attend[(triton.cdiv(N, T), H)](
        q, k, v, out, N, q.stride(0), q.stride(1), D=D, T=T, num_warps=8
    )
    return out


# %% flash_causal one_program_a_head -> TOO_SERIAL
# A tile of queries after the other, with more and more keys for each.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    d = tl.arange(0, D)
    head = tl.program_id(0)
    for first in range(0, N, BR):
        rows = first + tl.arange(0, BR)
        asked = rows[:, None] < N
        of_head = head * head_stride + d
        queries = tl.load(q + of_head + rows[:, None] * row_stride, mask=asked, other=0.0)
        m = tl.full((BR,), float("-inf"), tl.float32)
        total = tl.zeros((BR,), tl.float32)
        acc = tl.zeros((BR, D), tl.float32)
        for start in range(0, min(first + BR, N), BC):
            columns = start + tl.arange(0, BC)
            place = of_head + columns[:, None] * row_stride
            there = columns[:, None] < N
            keys = tl.load(k + place, mask=there, other=0.0)
            values = tl.load(v + place, mask=there, other=0.0)
            scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
            scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
            m_new = tl.maximum(m, tl.max(scores, 1))
            rescale = tl.exp(m - m_new)
            weights = tl.exp(scores - m_new[:, None])
            total = total * rescale + tl.sum(weights, 1)
            products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            acc = acc * rescale[:, None] + products
            m = m_new
        place = (head * N + rows[:, None]) * D + d
        tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (H,)
    strides = q.stride(0), q.stride(1)
    attend_causal[grid](q, k, v, out, N, *strides, D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_causal two_tiles_a_program -> PASS
# The tile with the fewest keys goes with the one with the most: all programs have the same work.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def attend_causal(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    d = tl.arange(0, D)
    head = tl.program_id(1)
    tiles = tl.cdiv(N, BR)
    for turn in range(0, 2):
        first = tl.where(turn == 0, tl.program_id(0), tiles - 1 - tl.program_id(0)) * BR
        rows = first + tl.arange(0, BR)
        asked = rows[:, None] < N
        of_head = head * head_stride + d
        queries = tl.load(q + of_head + rows[:, None] * row_stride, mask=asked, other=0.0)
        m = tl.full((BR,), float("-inf"), tl.float32)
        total = tl.zeros((BR,), tl.float32)
        acc = tl.zeros((BR, D), tl.float32)
        for start in range(0, min(first + BR, N), BC):
            columns = start + tl.arange(0, BC)
            place = of_head + columns[:, None] * row_stride
            there = columns[:, None] < N
            keys = tl.load(k + place, mask=there, other=0.0)
            values = tl.load(v + place, mask=there, other=0.0)
            scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
            scores = tl.where(columns <= rows[:, None], scores, float("-inf"))
            m_new = tl.maximum(m, tl.max(scores, 1))
            rescale = tl.exp(m - m_new)
            weights = tl.exp(scores - m_new[:, None])
            total = total * rescale + tl.sum(weights, 1)
            products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            acc = acc * rescale[:, None] + products
            m = m_new
        place = (head * N + rows[:, None]) * D + d
        tl.store(out + place, acc / total[:, None], mask=asked)


def flash_causal(q, k, v):
    H, N, D = q.shape
    out = torch.empty((H, N, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(triton.cdiv(N, BR), 2), H)
    strides = q.stride(0), q.stride(1)
    attend_causal[grid](q, k, v, out, N, *strides, D=D, BR=BR, BC=BC, num_warps=8)
    return out


# %% flash_decode one_program_a_head -> TOO_SERIAL
# attend_one_query as it was: one program passes over all keys while the rest of the GPU waits.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=128)
    return out


# %% flash_decode one_program_a_head_in_long_blocks -> TOO_SERIAL
# Blocks of 1,024 keys make few statements, but one program still loads all keys of a head.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, k.stride(0), k.stride(1), D=D, BC=1024, num_warps=32)
    return out


# %% flash_decode chunks_not_rescaled -> WRONG_ANSWER
# Each chunk has its own maximum, and the sums are added as if they shared one.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.where(inside, 1.0, 0.0)
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode mean_of_the_chunks -> WRONG_ANSWER
# Each chunk divides by its own sum, and the results are averaged.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc / total)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(acc, 0) / chunks)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode last_chunk_lost -> WRONG_ANSWER
# The number of chunks is rounded down; with fewer keys than a chunk nothing is computed.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = max(1, N // CHUNK)
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


# %% flash_decode chunk_past_the_end -> OUT_OF_BOUNDS
# The last chunk is taken to be full.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, first + CHUNK, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place).to(tl.float32)
        values = tl.load(v + place).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode missing_chunks_not_masked -> OUT_OF_BOUNDS
# tl.arange makes a power of two of chunks, and there are fewer.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part)
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part), 0)
    acc = tl.load(parts + part[:, None] * D + d)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode parts_in_float16 -> WRONG_ANSWER
# The parts are rounded to float16, also where the inputs are float32.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
    parts = torch.empty((H, chunks, D), device=q.device, dtype=torch.float16)
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


# %% flash_decode float16_accumulator -> WRONG_ANSWER
# A chunk's accumulator has the inputs' type: sixteen values near 6,000 are more than it holds.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), v.dtype.element_ty)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = (acc * rescale + tl.sum(weights[:, None] * values, 0)).to(acc.dtype)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode float16_scores -> WRONG_ANSWER
# Queries and keys are multiplied in the inputs' type: a hundred thousand overflows.
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum((query * keys).to(v.dtype.element_ty), 1).to(tl.float32) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode added_with_atomics -> WRONG_ANSWER
# Chunks add to an output of zeros, each divided by its own sum.
import torch
import triton
import triton.language as tl


@triton.jit
def attend_chunk(
    q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, CHUNK: tl.constexpr, BC: tl.constexpr
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.atomic_add(out + head * D + d, (acc / total).to(out.dtype.element_ty))


def flash_decode(q, k, v):
    H, N, D = k.shape
    out = torch.zeros((H, D), device=q.device, dtype=q.dtype)
    attend_chunk[(triton.cdiv(N, 256), H)](
        q, k, v, out, N, k.stride(0), k.stride(1), D=D, CHUNK=256, BC=64
    )
    return out


# %% flash_decode combined_in_the_same_launch -> RACE
# The first program of a head combines the parts of programs that may not have run yet.
import torch
import triton
import triton.language as tl


@triton.jit
def attend_chunk(
    q, k, v, out, parts, greatest, totals, N, head_stride, row_stride,
    D: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr, BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    chunks = tl.num_programs(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(chunk * CHUNK, min(chunk * CHUNK + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.where(inside, tl.sum(query * keys, 1) * D**-0.5, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * chunks + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)
    if chunk == chunks - 1:
        all_chunks = tl.arange(0, CHUNKS)
        there = all_chunks < chunks
        places = head * chunks + all_chunks
        ms = tl.load(greatest + places, mask=there, other=float("-inf"))
        factor = tl.exp(ms - tl.max(ms, 0))
        whole = tl.sum(factor * tl.load(totals + places, mask=there, other=0.0), 0)
        sums = tl.load(parts + places[:, None] * D + d, mask=there[:, None], other=0.0)
        tl.store(out + head * D + d, tl.sum(factor[:, None] * sums, 0) / whole)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, 256)
    parts = torch.empty((H, chunks, D), device=q.device, dtype=torch.float32)
    greatest = torch.empty((H, chunks), device=q.device, dtype=torch.float32)
    totals = torch.empty((H, chunks), device=q.device, dtype=torch.float32)
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    attend_chunk[(chunks, H)](
        q, k, v, out, parts, greatest, totals, N, k.stride(0), k.stride(1),
        D=D, CHUNK=256, CHUNKS=triton.next_power_of_2(chunks), BC=64,
    )
    return out


# %% flash_decode scale_forgotten -> WRONG_ANSWER
# The scores are not divided by sqrt(D).
import torch
import triton
import triton.language as tl

CHUNK = 256
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1)
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode chunks_of_16 -> TOO_MUCH_TRAFFIC
# A part for every 16 keys: the query is loaded for each, and the parts are no longer small.
import torch
import triton
import triton.language as tl

CHUNK = 16
BC = 16


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode chunks_of_128 -> PASS
# Twice as many programs.
import torch
import triton
import triton.language as tl

CHUNK = 128
BC = 64


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode chunks_of_512 -> PASS
# Half as many programs, 128 keys at a time.
import torch
import triton
import triton.language as tl

CHUNK = 512
BC = 128


@triton.jit
def attend_chunk(
    q,
    k,
    v,
    parts,
    greatest,
    totals,
    N,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CHUNK: tl.constexpr,
    BC: tl.constexpr,
):
    chunk = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    first = chunk * CHUNK
    for start in range(first, min(first + CHUNK, N), BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    part = head * tl.num_programs(0) + chunk
    tl.store(parts + part * D + d, acc)
    tl.store(greatest + part, m)
    tl.store(totals + part, total)


@triton.jit
def combine(parts, greatest, totals, out, chunks, D: tl.constexpr, CHUNKS: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    chunk = tl.arange(0, CHUNKS)
    inside = chunk < chunks
    part = head * chunks + chunk
    m = tl.load(greatest + part, mask=inside, other=float("-inf"))
    rescale = tl.exp(m - tl.max(m, 0))
    total = tl.sum(rescale * tl.load(totals + part, mask=inside, other=0.0), 0)
    acc = tl.load(parts + part[:, None] * D + d, mask=inside[:, None], other=0.0)
    tl.store(out + head * D + d, tl.sum(rescale[:, None] * acc, 0) / total)


def flash_decode(q, k, v):
    H, N, D = k.shape
    chunks = triton.cdiv(N, CHUNK)
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


# %% flash_decode combined_one_by_one -> PASS
# The second kernel walks over the chunks with the same online rule; parts are divided already.
import torch
import triton
import triton.language as tl


@triton.jit
def partial(q, k, v, o, lse, N, sh, sr, D: tl.constexpr, CHUNK: tl.constexpr, B: tl.constexpr):
    h = tl.program_id(0)
    c = tl.program_id(1)
    n_chunks = tl.num_programs(1)
    d = tl.arange(0, D)
    x = tl.load(q + h * D + d).to(tl.float32) * (D**-0.5)
    m = tl.full((), float("-inf"), tl.float32)
    s = tl.zeros((), tl.float32)
    acc = tl.zeros((D,), tl.float32)
    for i in range(0, CHUNK, B):
        rows = c * CHUNK + i + tl.arange(0, B)
        ok = rows < N
        if c * CHUNK + i < N:
            at = h * sh + rows[:, None] * sr + d
            kk = tl.load(k + at, mask=ok[:, None], other=0.0).to(tl.float32)
            vv = tl.load(v + at, mask=ok[:, None], other=0.0).to(tl.float32)
            y = tl.where(ok, tl.sum(x * kk, 1), float("-inf"))
            new = tl.maximum(m, tl.max(y, 0))
            p = tl.exp(y - new)
            fix = tl.exp(m - new)
            s = s * fix + tl.sum(p, 0)
            acc = acc * fix + tl.sum(p[:, None] * vv, 0)
            m = new
    tl.store(o + (h * n_chunks + c) * D + d, acc / s)
    tl.store(lse + h * n_chunks + c, m + tl.log(s))


@triton.jit
def merge(o, lse, out, n_chunks, D: tl.constexpr):
    h = tl.program_id(0)
    d = tl.arange(0, D)
    m = tl.full((), float("-inf"), tl.float32)
    s = tl.zeros((), tl.float32)
    acc = tl.zeros((D,), tl.float32)
    for c in range(0, n_chunks):
        here = tl.load(lse + h * n_chunks + c)
        part = tl.load(o + (h * n_chunks + c) * D + d)
        new = tl.maximum(m, here)
        fix = tl.exp(m - new)
        w = tl.exp(here - new)
        s = s * fix + w
        acc = acc * fix + w * part
        m = new
    tl.store(out + h * D + d, acc / s)


def flash_decode(q, k, v):
    H, N, D = k.shape
    n = triton.cdiv(N, 512)
    o = torch.empty((H, n, D), device=q.device, dtype=torch.float32)
    lse = torch.empty((H, n), device=q.device, dtype=torch.float32)
    out = torch.empty_like(q)
    partial[(H, n)](q, k, v, o, lse, N, k.stride(0), k.stride(1), D=D, CHUNK=512, B=64)
    merge[(H,)](o, lse, out, n, D=D, num_warps=1)
    return out


# %% flash_gqa a_program_a_head -> TOO_MUCH_TRAFFIC
# Each query head passes over its keys by itself: they are loaded R times.
import torch
import triton
import triton.language as tl


@triton.jit
def one_query(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr
):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head // R * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    H = q.shape[0]
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    one_query[(H,)](q, k, v, out, N, H // G, k.stride(0), k.stride(1), D=D, BC=64)
    return out


# %% flash_gqa heads_dealt_in_turn -> WRONG_ANSWER
# Query head h goes to group h % G: neighbours should share keys.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (row * tl.num_programs(0) + group) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa rows_not_masked -> OUT_OF_BOUNDS
# A tile has 16 rows, and the last group has fewer queries.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa store_not_masked -> OUT_OF_BOUNDS
# Rows that no query stands behind are stored too.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None])


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa keys_8_at_a_time -> DOES_NOT_COMPILE
# A tile of 8 keys: tl.dot adds up at least 16 products at a time.
import torch
import triton
import triton.language as tl

BC = 8


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa accumulator_not_rescaled -> WRONG_ANSWER
# What was summed against the old maximum stays as it is.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa scale_forgotten -> WRONG_ANSWER
# The scores are not divided by sqrt(D).
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee")
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa float16_accumulator -> WRONG_ANSWER
# The accumulator has the inputs' type: sixteen values near 6,000 are more than float16 holds.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), v.dtype.element_ty)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = (acc * rescale[:, None] + products).to(acc.dtype)
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa float16_scores -> WRONG_ANSWER
# The products of queries and keys in the inputs' type: a hundred thousand overflows.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee").to(v.dtype.element_ty)
        scores = scores.to(tl.float32) * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa keys_past_the_end_score_zero -> WRONG_ANSWER
# Keys that do not exist are loaded as zeros, and a score of 0 is a weight.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa one_maximum_for_all -> WRONG_ANSWER
# One maximum for the whole tile: a query whose scores are far below it loses all its weights.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(tl.max(scores, 1), 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa keys_repeated_in_memory -> TOO_MUCH_TRAFFIC
# k and v are first copied once for each query head, as repeat_interleave would.
import torch
import triton
import triton.language as tl


@triton.jit
def repeat(x, y, N, R, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(1)
    rows = (tl.program_id(0) * BC + tl.arange(0, BC))[:, None]
    d = tl.arange(0, D)
    tile = tl.load(x + head // R * head_stride + rows * row_stride + d, mask=rows < N, other=0.0)
    tl.store(y + (head * N + rows) * D + d, tile, mask=rows < N)


@triton.jit
def one_query(q, k, v, out, N, head_stride, row_stride, D: tl.constexpr, BC: tl.constexpr):
    head = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + head * D + d).to(tl.float32)
    m = float("-inf")
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, N, BC):
        rows = start + tl.arange(0, BC)
        inside = rows < N
        place = head * head_stride + rows[:, None] * row_stride + d
        keys = tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32)
        values = tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32)
        scores = tl.sum(query * keys, 1) * D**-0.5
        scores = tl.where(inside, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 0))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new)
        total = total * rescale + tl.sum(weights, 0)
        acc = acc * rescale + tl.sum(weights[:, None] * values, 0)
        m = m_new
    tl.store(out + head * D + d, acc / total)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    H = q.shape[0]
    keys = torch.empty((H, N, D), device=k.device, dtype=k.dtype)
    values = torch.empty((H, N, D), device=v.device, dtype=v.dtype)
    out = torch.empty((H, D), device=q.device, dtype=q.dtype)
    grid = (triton.cdiv(N, 64), H)
    repeat[grid](k, keys, N, H // G, k.stride(0), k.stride(1), D=D, BC=64)
    repeat[grid](v, values, N, H // G, k.stride(0), k.stride(1), D=D, BC=64)
    one_query[(H,)](q, keys, values, out, N, N * D, D, D=D, BC=64)
    return out


# %% flash_gqa a_row_a_query -> PASS
# A tile of no more rows than there are queries.
import torch
import triton
import triton.language as tl

BC = 32


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = triton.next_power_of_2(R)
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa rows_of_32 -> PASS
# Always a tile of 32 rows, keys 16 at a time.
import torch
import triton
import triton.language as tl

BC = 16


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = 32
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa keys_64_at_a_time -> PASS
# A wider tile of keys.
import torch
import triton
import triton.language as tl

BC = 64


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=asked, other=0.0)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0)
        values = tl.load(v + of_keys, mask=there, other=0.0)
        scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
        acc = acc * rescale[:, None] + products
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(G,)](q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out


# %% flash_gqa without_dot -> PASS
# Products and sums in three dimensions: one row a query, no minimum of 16.
import torch
import triton
import triton.language as tl


@triton.jit
def attend_group(
    q, k, v, out, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr
):
    group = tl.program_id(0)
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    place = (group * R + row) * D + d
    queries = tl.load(q + place, mask=row < R, other=0.0).to(tl.float32)
    m = tl.full((BR,), float("-inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        columns = start + tl.arange(0, BC)
        there = columns[:, None] < N
        of_keys = group * head_stride + columns[:, None] * row_stride + d
        keys = tl.load(k + of_keys, mask=there, other=0.0).to(tl.float32)
        values = tl.load(v + of_keys, mask=there, other=0.0).to(tl.float32)
        scores = tl.sum(queries[:, None, :] * keys[None, :, :], 2) * D**-0.5
        scores = tl.where(columns < N, scores, float("-inf"))
        m_new = tl.maximum(m, tl.max(scores, 1))
        rescale = tl.exp(m - m_new)
        weights = tl.exp(scores - m_new[:, None])
        total = total * rescale + tl.sum(weights, 1)
        acc = acc * rescale[:, None] + tl.sum(weights[:, :, None] * values[None, :, :], 1)
        m = m_new
    tl.store(out + place, acc / total[:, None], mask=row < R)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = triton.next_power_of_2(R)
    attend_group[(G,)](
        q, k, v, out, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=16, num_warps=8
    )
    return out


# %% flash_gqa one_program_for_all_groups -> TOO_SERIAL
# The groups are turns of a loop, 16 keys at a time.
import torch
import triton
import triton.language as tl

BC = 16


@triton.jit
def attend_group(
    q, k, v, out, G, N, R, head_stride, row_stride, D: tl.constexpr, BR: tl.constexpr,
    BC: tl.constexpr,
):
    d = tl.arange(0, D)
    row = tl.arange(0, BR)[:, None]
    asked = row < R
    for group in range(G):
        place = (group * R + row) * D + d
        queries = tl.load(q + place, mask=asked, other=0.0)
        m = tl.full((BR,), float("-inf"), tl.float32)
        total = tl.zeros((BR,), tl.float32)
        acc = tl.zeros((BR, D), tl.float32)
        for start in range(0, N, BC):
            columns = start + tl.arange(0, BC)
            there = columns[:, None] < N
            of_keys = group * head_stride + columns[:, None] * row_stride + d
            keys = tl.load(k + of_keys, mask=there, other=0.0)
            values = tl.load(v + of_keys, mask=there, other=0.0)
            scores = tl.dot(queries, tl.trans(keys), input_precision="ieee") * D**-0.5
            scores = tl.where(columns < N, scores, float("-inf"))
            m_new = tl.maximum(m, tl.max(scores, 1))
            rescale = tl.exp(m - m_new)
            weights = tl.exp(scores - m_new[:, None])
            total = total * rescale + tl.sum(weights, 1)
            products = tl.dot(weights.to(values.dtype), values, input_precision="ieee")
            acc = acc * rescale[:, None] + products
            m = m_new
        tl.store(out + place, acc / total[:, None], mask=asked)


def flash_gqa(q, k, v):
    G, N, D = k.shape
    R = q.shape[0] // G
    out = torch.empty((G * R, D), device=q.device, dtype=q.dtype)
    rows = max(16, triton.next_power_of_2(R))
    attend_group[(1,)](q, k, v, out, G, N, R, k.stride(0), k.stride(1), D=D, BR=rows, BC=BC)
    return out
