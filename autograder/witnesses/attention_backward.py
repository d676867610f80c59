# Lesson 11: wrong kernels with the verdict that each must get, and honest ones that must pass.

# %% flash_lse lse_to_the_base_2 -> WRONG_ANSWER
# Scores are scaled for exp2, and their log-sum-exp is left in that base.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        rescale = tl.exp2(m - m_new)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log2(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse maximum_left_out -> WRONG_ANSWER
# total was measured against m: its logarithm alone is not that of the whole sum.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse logarithm_of_the_whole_sum -> WRONG_ANSWER
# exp(m) overflows where scores are large, and is 0 where they are far below zero.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, tl.log(total * tl.exp(m)), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse no_maximum -> WRONG_ANSWER
# exp of the bare scores overflows.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        p = tl.exp(s)
        total += tl.sum(p, 1)
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse accumulator_never_rescaled -> WRONG_ANSWER
# As in lesson 10: the sum of values needs the factor, too.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        rescale = tl.exp(m - m_new)
        total = total * rescale + tl.sum(p, 1)
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse keys_past_the_end_counted -> WRONG_ANSWER
# A key that does not exist reads as zeros and gets the score 0, a weight like any other.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if CAUSAL:
            s = tl.where(keys[None, :] <= rows[:, None], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        rescale = tl.exp(m - m_new)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse lse_stored_without_mask -> OUT_OF_BOUNDS
# The last tile of queries reaches past the end, in lse as in out.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total))


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse one_lse_for_all_heads -> RACE
# lse has a row a head: without head * N all heads write to the first.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse operands_in_half_precision -> WRONG_ANSWER
# float32 inputs are rounded to float16 for the products.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0).to(tl.float16)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0).to(tl.float16)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0).to(tl.float16)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse float16_accumulator -> WRONG_ANSWER
# The accumulator has the inputs' type: sixteen values near 6,000 are more than float16 holds.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), v_ptr.dtype.element_ty)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        rescale = tl.exp(m - m_new)
        total = total * rescale + tl.sum(p, 1)
        acc = (acc * rescale[:, None]).to(acc.dtype)
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee").to(acc.dtype)
        m = m_new
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse a_second_pass_for_lse -> TOO_MUCH_TRAFFIC
# The forward pass of lesson 10, and then a kernel of its own for lse: K once more.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def forward(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)


@triton.jit
def log_sums(
    q_ptr,
    k_ptr,
    lse_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(1)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    q = tl.load(q_ptr + own, mask=rows[:, None] < N, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        total = total * tl.exp(m - m_new) + tl.sum(tl.exp(s - m_new[:, None]), 1)
        m = m_new
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    log_sums[grid](q, k, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse scores_written_out -> TOO_MUCH_TRAFFIC
# Scores go to memory, and a second kernel takes the log-sum-exp of each row.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def forward(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    scores_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        square = head * N * N + rows[:, None] * N + keys[None, :]
        tl.store(scores_ptr + square, s, mask=inside & (keys[None, :] < N))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        rescale = tl.exp(m - m_new)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)


@triton.jit
def log_sums(scores_ptr, lse_ptr, N, CAUSAL: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    end = row % N + 1 if CAUSAL else N
    columns = tl.arange(0, BLOCK)
    s = tl.load(scores_ptr + row * N + columns, mask=columns < end, other=-float("inf"))
    m = tl.max(s, 0)
    tl.store(lse_ptr + row, m + tl.log(tl.sum(tl.exp(s - m), 0)))


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    scores = torch.empty((H, N, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, scores, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    log_sums[(H * N,)](scores, lse, N, CAUSAL=causal, BLOCK=triton.next_power_of_2(N))
    return out, lse


# %% flash_lse future_masked_but_loaded -> TOO_MUCH_TRAFFIC
# Every tile of keys is loaded, and then the mask throws half of them away.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse tiles_of_32_queries -> TOO_MUCH_TRAFFIC
# Half as many queries a program: all of K and V twice as often.
import torch
import triton
import triton.language as tl

BR = 32
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse one_program_a_head -> TOO_SERIAL
# The tiles of queries one after the other, in one program.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    for first in range(0, N, BR):
        rows = first + tl.arange(0, BR)
        depth = tl.arange(0, D)
        own = head * N * D + rows[:, None] * D + depth[None, :]
        inside = rows[:, None] < N
        q = tl.load(q_ptr + own, mask=inside, other=0.0)
        m = tl.full((BR,), -float("inf"), tl.float32)
        total = tl.zeros((BR,), tl.float32)
        acc = tl.zeros((BR, D), tl.float32)
        end = tl.minimum(first + BR, N) if CAUSAL else N
        for start in range(0, end, BC):
            keys = start + tl.arange(0, BC)
            there = head * N * D + keys[:, None] * D + depth[None, :]
            k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
            v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
        tl.store(out_ptr + own, acc / total[:, None], mask=inside)
        tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (1, H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse lse_left_to_torch -> REJECTED
# The kernel has to do the work.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    lse = torch.logsumexp(q @ k.transpose(1, 2) * D**-0.5, dim=2)
    return out, lse


# %% flash_lse only_out_returned -> WRONG_ANSWER
# lse is computed, and then dropped.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out


# %% flash_lse exp2_and_one_conversion -> PASS
# Everything to the base 2 inside; lse is turned to the base e at the store.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        rescale = tl.exp2(m - m_new)
        total = total * rescale + tl.sum(p, 1)
        acc = acc * rescale[:, None]
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, (m + tl.log2(total)) * 0.6931471805599453, mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse tiles_of_128_by_32 -> PASS
# More queries a program: K and V half as often.
import torch
import triton
import triton.language as tl

BR = 128
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), H)
    forward[grid](q, k, v, out, lse, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return out, lse


# %% flash_lse heads_and_tiles_on_one_axis -> PASS
# Program numbers are taken apart into head and tile, and strides are passed.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def forward(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    lse_ptr,
    N,
    scale,
    tiles,
    head_stride,
    row_stride,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(0) // tiles
    first = tl.program_id(0) % tiles * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * head_stride + rows[:, None] * row_stride + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    m = tl.full((BR,), -float("inf"), tl.float32)
    total = tl.zeros((BR,), tl.float32)
    acc = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * head_stride + keys[:, None] * row_stride + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
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
    tl.store(out_ptr + own, acc / total[:, None], mask=inside)
    tl.store(lse_ptr + head * N + rows, m + tl.log(total), mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty_like(q)
    lse = torch.empty((H, N), device=q.device, dtype=torch.float32)
    tiles = triton.cdiv(N, BR)
    forward[(tiles * H,)](
        q, k, v, out, lse, N, D**-0.5, tiles, q.stride(0), q.stride(1), D, causal, BR, BC
    )
    return out, lse


# %% flash_lse diagonal_in_a_loop_of_its_own -> PASS
# Tiles before the diagonal need no comparison of positions.
import torch
import triton
import triton.language as tl

TILE = 64


@triton.jit
def step(
    q, k_ptr, v_ptr, rows, start, N, scale, m, total, acc, D: tl.constexpr, EDGE: tl.constexpr
):
    keys = start + tl.arange(0, 32)
    there = keys[:, None] * D + tl.arange(0, D)[None, :]
    k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    s = tl.where(keys[None, :] < N, s, -float("inf"))
    if EDGE:
        s = tl.where(keys[None, :] <= rows[:, None], s, -float("inf"))
    m_new = tl.maximum(m, tl.max(s, 1))
    p = tl.exp(s - m_new[:, None])
    rescale = tl.exp(m - m_new)
    v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
    acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
    return m_new, total * rescale + tl.sum(p, 1), acc


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, N, scale, D: tl.constexpr, CAUSAL: tl.constexpr):
    first = tl.program_id(0) * 64
    q_ptr += tl.program_id(1) * N * D
    k_ptr += tl.program_id(1) * N * D
    v_ptr += tl.program_id(1) * N * D
    out_ptr += tl.program_id(1) * N * D
    rows = first + tl.arange(0, 64)
    own = rows[:, None] * D + tl.arange(0, D)[None, :]
    q = tl.load(q_ptr + own, mask=rows[:, None] < N, other=0.0)
    m = tl.full((64,), -float("inf"), tl.float32)
    total = tl.zeros((64,), tl.float32)
    acc = tl.zeros((64, D), tl.float32)
    edge = first if CAUSAL else N
    for start in range(0, edge, 32):
        m, total, acc = step(q, k_ptr, v_ptr, rows, start, N, scale, m, total, acc, D, False)
    if CAUSAL:
        for start in range(first, min(first + 64, N), 32):
            m, total, acc = step(q, k_ptr, v_ptr, rows, start, N, scale, m, total, acc, D, True)
    tl.store(out_ptr + own, (acc / total[:, None]).to(q.dtype), mask=rows[:, None] < N)
    tl.store(lse_ptr + tl.program_id(1) * N + rows, tl.log(total) + m, mask=rows < N)


def flash_lse(q, k, v, causal):
    H, N, D = q.shape
    out = torch.empty(q.shape, device=q.device, dtype=q.dtype)
    lse = torch.zeros(H, N, device=q.device)
    scale = 1 / D**0.5
    attend[(triton.cdiv(N, TILE), H)](q, k, v, out, lse, N, scale, D=D, CAUSAL=causal)
    return out, lse


# %% flash_delta a_program_a_row -> TOO_MUCH_TRAFFIC
# A lone number costs the store a whole sector: 8 times what 8 neighbours share.
import torch
import triton
import triton.language as tl


@triton.jit
def row_dot(out_ptr, dout_ptr, delta_ptr, D: tl.constexpr):
    row = tl.program_id(0)
    depth = tl.arange(0, D)
    out = tl.load(out_ptr + row * D + depth).to(tl.float32)
    dout = tl.load(dout_ptr + row * D + depth).to(tl.float32)
    tl.store(delta_ptr + row, tl.sum(out * dout, axis=0))


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dot[(H * N,)](out, dout, delta, D=D)
    return delta


# %% flash_delta a_column_at_a_time -> TOO_MUCH_TRAFFIC
# As in CUDA, a thread a row: neighbours in the tile are a whole row apart in memory.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), tl.float32)
    for d in range(D):
        out = tl.load(out_ptr + rows * D + d, mask=rows < count, other=0.0).to(tl.float32)
        dout = tl.load(dout_ptr + rows * D + d, mask=rows < count, other=0.0).to(tl.float32)
        total += out * dout
    tl.store(delta_ptr + rows, total, mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta products_through_memory -> TOO_MUCH_TRAFFIC
# One kernel multiplies, another one adds up: the products are written and read.
import torch
import triton
import triton.language as tl

BLOCK = 1024
ROWS = 64


@triton.jit
def multiply(out_ptr, dout_ptr, product_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    out = tl.load(out_ptr + places, mask=inside).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside).to(tl.float32)
    tl.store(product_ptr + places, out * dout, mask=inside)


@triton.jit
def add_up(product_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    product = tl.load(product_ptr + places, mask=rows[:, None] < count, other=0.0)
    tl.store(delta_ptr + rows, tl.sum(product, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    product = torch.empty((H, N, D), device=out.device, dtype=torch.float32)
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    multiply[(triton.cdiv(H * N * D, BLOCK),)](out, dout, product, H * N * D, BLOCK=BLOCK)
    add_up[(triton.cdiv(H * N, ROWS),)](product, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta products_in_half_precision -> WRONG_ANSWER
# float16 times float16 is rounded to float16, before the sum begins.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0)
    tl.store(delta_ptr + rows, tl.sum((out * dout).to(tl.float32), axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta sum_in_half_precision -> WRONG_ANSWER
# Nothing is converted: products and sums are as coarse as the inputs, and overflow.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta sum_over_the_wrong_axis -> DOES_NOT_COMPILE
# axis=0 adds up the rows and leaves D numbers for ROWS places.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=0), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta rows_of_the_first_head_only -> WRONG_ANSWER
# There are H * N rows, not N.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta no_mask_on_the_store -> OUT_OF_BOUNDS
# The last program has more rows than are left.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1))


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta no_mask_on_the_loads -> OUT_OF_BOUNDS
# The last program reads past the last row.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    out = tl.load(out_ptr + places).to(tl.float32)
    dout = tl.load(dout_ptr + places).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta delta_of_the_inputs_dtype -> WRONG_ANSWER
# delta is float32, whatever the inputs are.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=out.dtype)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta norm_of_the_gradient -> WRONG_ANSWER
# dout times itself: out never enters.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(dout * dout, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta a_grid_axis_for_the_heads -> PASS
# Programs (tile, head), 16 rows each.
import torch
import triton
import triton.language as tl

ROWS = 16


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    head = tl.program_id(1)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = head * count * D + rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + head * count + rows, tl.sum(out * dout, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(N, ROWS), H)](out, dout, delta, N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta sixteen_columns_at_a_time -> PASS
# A running sum over pieces of a row: 16 neighbours fill whole sectors.
import torch
import triton
import triton.language as tl

ROWS = 64


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros((ROWS,), tl.float32)
    for start in range(0, D, 16):
        places = rows[:, None] * D + start + tl.arange(0, 16)[None, :]
        out = tl.load(out_ptr + places, mask=rows[:, None] < count, other=0.0)
        dout = tl.load(dout_ptr + places, mask=rows[:, None] < count, other=0.0)
        total += tl.sum(out.to(tl.float32) * dout.to(tl.float32), axis=1)
    tl.store(delta_ptr + rows, total, mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(triton.cdiv(H * N, ROWS),)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_delta rows_for_a_tile_of_2048 -> PASS
# As many rows as make 2,048 elements.
import torch
import triton
import triton.language as tl


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
    dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(out * dout, axis=1), mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    rows = 2048 // D
    row_dots[(triton.cdiv(H * N, rows),)](out, dout, delta, H * N, D=D, ROWS=rows)
    return delta


# %% flash_delta one_program_does_all -> TOO_SERIAL
# A loop over all rows, and a grid of one.
import torch
import triton
import triton.language as tl

ROWS = 32


@triton.jit
def row_dots(out_ptr, dout_ptr, delta_ptr, count, D: tl.constexpr, ROWS: tl.constexpr):
    for start in range(0, count, ROWS):
        rows = start + tl.arange(0, ROWS)
        places = rows[:, None] * D + tl.arange(0, D)[None, :]
        inside = rows[:, None] < count
        out = tl.load(out_ptr + places, mask=inside, other=0.0).to(tl.float32)
        dout = tl.load(dout_ptr + places, mask=inside, other=0.0).to(tl.float32)
        delta = tl.sum(out * dout, axis=1)
        tl.store(delta_ptr + rows, delta, mask=rows < count)


def flash_delta(out, dout):
    H, N, D = out.shape
    delta = torch.empty((H, N), device=out.device, dtype=torch.float32)
    row_dots[(1,)](out, dout, delta, H * N, D=D, ROWS=ROWS)
    return delta


# %% flash_dkdv stored_probabilities -> TOO_MUCH_TRAFFIC
# P is computed once, written, and read again: N * N numbers each way.
import torch
import triton
import triton.language as tl

BC = 64
BR = 64


@triton.jit
def probabilities(
    q_ptr,
    k_ptr,
    lse_ptr,
    p_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(2)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    keys = tl.program_id(1) * BC + tl.arange(0, BC)
    depth = tl.arange(0, D)
    of_q = head * N * D + rows[:, None] * D + depth[None, :]
    of_k = head * N * D + keys[:, None] * D + depth[None, :]
    q = tl.load(q_ptr + of_q, mask=rows[:, None] < N, other=0.0)
    k = tl.load(k_ptr + of_k, mask=keys[:, None] < N, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    seen = (rows[:, None] < N) & (keys[None, :] < N)
    if CAUSAL:
        seen = seen & (keys[None, :] <= rows[:, None])
    p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
    square = head * N * N + rows[:, None] * N + keys[None, :]
    tl.store(p_ptr + square, p, mask=(rows[:, None] < N) & (keys[None, :] < N))


@triton.jit
def backward_keys(
    q_ptr,
    p_ptr,
    v_ptr,
    dout_ptr,
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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        square = head * N * N + rows[:, None] * N + keys[None, :]
        p = tl.load(p_ptr + square, mask=(rows[:, None] < N) & (keys[None, :] < N), other=0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    p = torch.empty((H, N, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), triton.cdiv(N, BC), H)
    probabilities[grid](q, k, lse, p, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](q, p, v, dout, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return dk, dv


# %% flash_dkdv p_not_transposed -> WRONG_ANSWER
# With square tiles the shapes fit, and query i gives its gradient to key i.
import torch
import triton
import triton.language as tl

BC = 64
BR = 64


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(p.to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv p_not_transposed_tiles_not_square -> DOES_NOT_COMPILE
# (BR, BC) times (BR, D) is no product.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(p.to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv delta_missing -> WRONG_ANSWER
# The softmax's weights add up to 1: without delta the gradient forgets that.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * dp
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv scaled_once_too_often -> WRONG_ANSWER
# The scale goes into ds, and into dk once more.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv gradient_never_scaled -> WRONG_ANSWER
# Scores were scaled on the way in, so their gradient is on the way out.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv scores_never_scaled -> WRONG_ANSWER
# The forward pass has scaled its scores before it took lse.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv lse_taken_for_base_2 -> WRONG_ANSWER
# Scores are turned to the base 2, and lse is not.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp2(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv softmax_of_the_tile -> WRONG_ANSWER
# A softmax over the keys of this tile: the sum of the whole row is in lse, which is not read.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        s = tl.where(seen, s, -1e30)
        p = tl.exp(s - tl.max(s, 1)[:, None])
        p = tl.where(seen, p / tl.sum(p, 1)[:, None], 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv ds_for_p_in_dv -> WRONG_ANSWER
# Both products take the same tile: dv is a sum over weights, not over score gradients.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dv += tl.dot(tl.trans(ds).to(dout.dtype), dout, input_precision="ieee")
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv last_step_only -> WRONG_ANSWER
# = where += belongs: each tile of queries overwrites the sum so far.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv = tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv delta_and_lse_of_the_keys -> WRONG_ANSWER
# They belong to queries, one number a row; here they are looked up by key.
import torch
import triton
import triton.language as tl

BC = 64
BR = 64


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + keys, mask=keys < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + keys, mask=keys < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[None, :]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[None, :])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv float32_weights_by_half_gradients -> DOES_NOT_COMPILE
# tl.dot takes two tiles of one dtype.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv operands_in_half_precision -> WRONG_ANSWER
# float32 inputs are rounded to float16 for the products.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0).to(tl.float16)
    v = tl.load(v_ptr + own, mask=inside, other=0.0).to(tl.float16)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0).to(tl.float16)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0).to(tl.float16)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv float16_accumulator_of_dv -> WRONG_ANSWER
# dv is summed up in the inputs' type. On the way it is more than float16 holds, at the end not.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), v_ptr.dtype.element_ty)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee").to(dv.dtype)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv float16_accumulator_of_dk -> WRONG_ANSWER
# dk is summed up in the inputs' type, with the scale in it already.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), v_ptr.dtype.element_ty)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee").to(dk.dtype)
    tl.store(dk_ptr + own, dk, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv scores_in_float16 -> WRONG_ANSWER
# Scores in the inputs' type: near 105 float16 has steps of 1 / 16, and exp makes them 6 %.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee").to(v_ptr.dtype.element_ty)
        s = s.to(tl.float32) * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv gradient_of_p_in_float16 -> WRONG_ANSWER
# The product of dout and v in the inputs' type: it may be more than 65,504.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee").to(v_ptr.dtype.element_ty)
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv queries_loaded_without_mask -> OUT_OF_BOUNDS
# The last tile of queries reaches past the end.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv masked_by_a_product -> WRONG_ANSWER
# A score of the future may lie 200 above lse: its weight is inf, and inf times 0 is nan.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.exp(s - lse[:, None]) * seen.to(tl.float32)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv diagonal_tile_not_masked -> WRONG_ANSWER
# Earlier tiles are skipped, but the diagonal one holds a corner of the future.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv loop_ends_at_the_diagonal -> WRONG_ANSWER
# The bound of the forward pass: keys are seen by the queries after them, not before.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    end = tl.minimum(first + BC, N) if CAUSAL else N
    for start in range(0, end, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv past_masked_but_loaded -> TOO_MUCH_TRAFFIC
# Every tile of queries is loaded, and then the mask throws half of them away.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    for start in range(0, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv tiles_of_32_keys -> TOO_MUCH_TRAFFIC
# Half as many keys a program: all of Q and dout twice as often.
import torch
import triton
import triton.language as tl

BC = 32
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv grid_counts_the_other_tile -> TOO_MUCH_TRAFFIC
# Twice the programs: those past the end own no key and still read all queries.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BR), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv a_kernel_for_each_output -> TOO_MUCH_TRAFFIC
# dv in one kernel, dk in another: Q, dout, K and lse are read twice.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


@triton.jit
def one_gradient(
    q_ptr,
    k_ptr,
    v_ptr,
    dout_ptr,
    lse_ptr,
    delta_ptr,
    grad_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    OF_KEYS: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(1)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    k = tl.load(k_ptr + own, mask=keys[:, None] < N, other=0.0)
    grad = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        if OF_KEYS:
            delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
            v = tl.load(v_ptr + own, mask=keys[:, None] < N, other=0.0)
            dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
            ds = p * (dp - delta[:, None]) * scale
            grad += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
        else:
            grad += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
    tl.store(grad_ptr + own, grad, mask=keys[:, None] < N)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    one_gradient[grid](q, k, v, dout, lse, delta, dk, N, D**-0.5, D, causal, True, BR, BC)
    one_gradient[grid](q, k, v, dout, lse, delta, dv, N, D**-0.5, D, causal, False, BR, BC)
    return dk, dv


# %% flash_dkdv atomics_from_tiles_of_queries -> TOO_MUCH_TRAFFIC
# Each tile of queries adds its part to every key: N / 64 additions in memory an element.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def scatter(
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
    head = tl.program_id(1)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    q = tl.load(q_ptr + own, mask=rows[:, None] < N, other=0.0)
    dout = tl.load(dout_ptr + own, mask=rows[:, None] < N, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        here = keys[:, None] < N
        k = tl.load(k_ptr + there, mask=here, other=0.0)
        v = tl.load(v_ptr + there, mask=here, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
        dv = tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        tl.atomic_add(dk_ptr + there, dk, mask=here)
        tl.atomic_add(dv_ptr + there, dv, mask=here)


@triton.jit
def rounded(source_ptr, to_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source_ptr + places, mask=places < count)
    tl.store(to_ptr + places, values, mask=places < count)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    sum_k = torch.zeros(k.shape, device=k.device, dtype=torch.float32)
    sum_v = torch.zeros(v.shape, device=v.device, dtype=torch.float32)
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BR), H)
    scatter[grid](
        q, k, v, dout, lse, delta, sum_k, sum_v, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    blocks = (triton.cdiv(H * N * D, 1024),)
    rounded[blocks](sum_k, dk, H * N * D, BLOCK=1024)
    rounded[blocks](sum_v, dv, H * N * D, BLOCK=1024)
    return dk, dv


# %% flash_dkdv added_without_atomics -> RACE
# Programs of other queries load and store the same rows of dk at the same time.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


@triton.jit
def scatter(
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
    head = tl.program_id(1)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    q = tl.load(q_ptr + own, mask=rows[:, None] < N, other=0.0)
    dout = tl.load(dout_ptr + own, mask=rows[:, None] < N, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        here = keys[:, None] < N
        k = tl.load(k_ptr + there, mask=here, other=0.0)
        v = tl.load(v_ptr + there, mask=here, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
        dv = tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        tl.store(dk_ptr + there, tl.load(dk_ptr + there, mask=here) + dk, mask=here)
        tl.store(dv_ptr + there, tl.load(dv_ptr + there, mask=here) + dv, mask=here)


def flash_dkdv(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dk = torch.zeros_like(k)
    dv = torch.zeros_like(v)
    grid = (triton.cdiv(N, BR), H)
    scatter[grid](q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return dk, dv


# %% flash_dkdv one_program_a_head -> TOO_SERIAL
# The tiles of keys one after the other, in one program.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    for first in range(0, N, BC):
        keys = first + tl.arange(0, BC)
        depth = tl.arange(0, D)
        own = head * N * D + keys[:, None] * D + depth[None, :]
        inside = keys[:, None] < N
        k = tl.load(k_ptr + own, mask=inside, other=0.0)
        v = tl.load(v_ptr + own, mask=inside, other=0.0)
        dk = tl.zeros((BC, D), tl.float32)
        dv = tl.zeros((BC, D), tl.float32)
        begin = first // BR * BR if CAUSAL else 0
        for start in range(begin, N, BR):
            rows = start + tl.arange(0, BR)
            there = head * N * D + rows[:, None] * D + depth[None, :]
            q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
            dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
            lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
            delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
            seen = (rows[:, None] < N) & (keys[None, :] < N)
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None])
            p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
            dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
            dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
            ds = p * (dp - delta[:, None])
            dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
        tl.store(dk_ptr + own, dk * scale, mask=inside)
        tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (1, H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv left_to_autograd -> REJECTED
# The kernel has to do the work.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    p = torch.softmax(q @ k.transpose(1, 2) * D**-0.5, dim=2)
    return dk, p.transpose(1, 2) @ dout


# %% flash_dkdv outputs_in_the_wrong_order -> WRONG_ANSWER
# dv, dk where dk, dv was asked for.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dv, dk


# %% flash_dkdv tiles_of_128_keys -> PASS
# More keys a program: Q and dout half as often.
import torch
import triton
import triton.language as tl

BC = 128
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv tiles_of_64_by_64 -> PASS
# Fewer, larger steps.
import torch
import triton
import triton.language as tl

BC = 64
BR = 64


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv keys_down_queries_across -> PASS
# Everything is computed turned, (BC, BR), so that no weight has to be transposed.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(k, tl.trans(q), input_precision="ieee") * scale
        seen = (rows[None, :] < N) & (keys[:, None] < N)
        if CAUSAL:
            seen = seen & (keys[:, None] <= rows[None, :])
        p = tl.where(seen, tl.exp(s - lse[None, :]), 0.0)
        dv += tl.dot(p.to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(v, tl.trans(dout), input_precision="ieee")
        ds = p * (dp - delta[None, :])
        dk += tl.dot(ds.to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv exp2_and_scale_in_ds -> PASS
# lse is turned to the base 2 as it is read; ds is scaled, and dk is not.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp2(s - lse[:, None] * 1.4426950408889634), 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dkdv masked_by_what_was_loaded -> PASS
# Queries past the end have dout = 0 and delta = 0, so that they add nothing without a mask.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    dk = tl.zeros((BC, D), tl.float32)
    dv = tl.zeros((BC, D), tl.float32)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.exp(s - lse[:, None])
        if CAUSAL:
            p = tl.where(keys[None, :] <= rows[:, None], p, 0.0)
        dv += tl.dot(tl.trans(p).to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + own, dk * scale, mask=inside)
    tl.store(dv_ptr + own, dv, mask=inside)


def flash_dkdv(q, k, v, dout, lse, delta, causal):  # -> dk, dv: (H, N, D) each
    H, N, D = q.shape
    dk = torch.empty_like(k)
    dv = torch.empty_like(v)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, dk, dv, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dk, dv


# %% flash_dq stored_probabilities -> TOO_MUCH_TRAFFIC
# P is computed once, written, and read again: N * N numbers each way.
import torch
import triton
import triton.language as tl

BC = 64
BR = 64


@triton.jit
def probabilities(
    q_ptr,
    k_ptr,
    lse_ptr,
    p_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(2)
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    keys = tl.program_id(1) * BC + tl.arange(0, BC)
    depth = tl.arange(0, D)
    of_q = head * N * D + rows[:, None] * D + depth[None, :]
    of_k = head * N * D + keys[:, None] * D + depth[None, :]
    q = tl.load(q_ptr + of_q, mask=rows[:, None] < N, other=0.0)
    k = tl.load(k_ptr + of_k, mask=keys[:, None] < N, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    seen = (rows[:, None] < N) & (keys[None, :] < N)
    if CAUSAL:
        seen = seen & (keys[None, :] <= rows[:, None])
    p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
    square = head * N * N + rows[:, None] * N + keys[None, :]
    tl.store(p_ptr + square, p, mask=(rows[:, None] < N) & (keys[None, :] < N))


@triton.jit
def backward_queries(
    p_ptr,
    k_ptr,
    v_ptr,
    dout_ptr,
    delta_ptr,
    dq_ptr,
    N,
    scale,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
    BR: tl.constexpr,
    BC: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        square = head * N * N + rows[:, None] * N + keys[None, :]
        p = tl.load(p_ptr + square, mask=inside & (keys[None, :] < N), other=0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    p = torch.empty((H, N, N), device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(N, BR), triton.cdiv(N, BC), H)
    probabilities[grid](q, k, lse, p, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](p, k, v, dout, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return dq


# %% flash_dq delta_missing -> WRONG_ANSWER
# The softmax's weights add up to 1: without delta the gradient forgets that.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * dp
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq scaled_once_too_often -> WRONG_ANSWER
# The scale goes into ds, and into dq once more.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq gradient_never_scaled -> WRONG_ANSWER
# Scores were scaled on the way in, so their gradient is on the way out.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq lse_taken_for_base_2 -> WRONG_ANSWER
# Scores are turned to the base 2, and lse is not.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp2(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq keys_past_the_end_not_masked -> WRONG_ANSWER
# exp(0 - lse) is inf where every score lies far below zero, and inf times a key of zeros is NaN.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.exp(s - lse[:, None])
        if CAUSAL:
            p = tl.where(keys[None, :] <= rows[:, None], p, 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq future_not_masked -> WRONG_ANSWER
# Tiles of the future are skipped, but the diagonal one holds a corner of it.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq ds_transposed -> WRONG_ANSWER
# As for dk: with square tiles the shapes fit, and the gradients of keys go to queries.
import torch
import triton
import triton.language as tl

BR = 64
BC = 64


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(tl.trans(ds).to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq p_for_ds -> WRONG_ANSWER
# The weights themselves in place of the scores' gradients.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(p.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq float32_gradients_by_half_keys -> DOES_NOT_COMPILE
# tl.dot takes two tiles of one dtype.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds, k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq operands_in_half_precision -> WRONG_ANSWER
# float32 inputs are rounded to float16 for the products.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0).to(tl.float16)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0).to(tl.float16)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0).to(tl.float16)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0).to(tl.float16)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq float16_accumulator -> WRONG_ANSWER
# dq is summed up in the inputs' type. On the way it is more than float16 holds, at the end not.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), v_ptr.dtype.element_ty)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee").to(dq.dtype)
    tl.store(dq_ptr + own, dq, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq scores_in_float16 -> WRONG_ANSWER
# Scores in the inputs' type: near 105 float16 has steps of 1 / 16, and exp makes them 6 %.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee").to(v_ptr.dtype.element_ty)
        s = s.to(tl.float32) * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq gradient_of_p_in_float16 -> WRONG_ANSWER
# The product of dout and v in the inputs' type: it may be more than 65,504.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee").to(v_ptr.dtype.element_ty)
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq future_masked_but_loaded -> TOO_MUCH_TRAFFIC
# Every tile of keys is loaded, and then the mask throws half of them away.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    for start in range(0, N, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq tiles_of_32_queries -> TOO_MUCH_TRAFFIC
# Half as many queries a program: all of K and V twice as often.
import torch
import triton
import triton.language as tl

BR = 32
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq own_tile_loaded_in_every_step -> PASS
# What belongs to the queries is loaded in the loop over keys, which does not change it and stores
# nothing: the compiler moves those loads out, and a GPU's counters see them once.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        q = tl.load(q_ptr + own, mask=inside, other=0.0)
        dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq atomics_from_tiles_of_keys -> TOO_MUCH_TRAFFIC
# dq from the loop of flash_dkdv: each tile of keys adds its part, N / 64 additions an element.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


@triton.jit
def backward_keys(
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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        part = tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        tl.atomic_add(dq_ptr + there, part, mask=rows[:, None] < N)


@triton.jit
def rounded(source_ptr, to_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source_ptr + places, mask=places < count)
    tl.store(to_ptr + places, values, mask=places < count)


def flash_dq(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    sums = torch.zeros(q.shape, device=q.device, dtype=torch.float32)
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, sums, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    rounded[(triton.cdiv(H * N * D, 1024),)](sums, dq, H * N * D, BLOCK=1024)
    return dq


# %% flash_dq atomics_onto_nothing -> UNINITIALISED
# torch.empty holds no zeros: there is nothing to add to.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


@triton.jit
def backward_keys(
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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        part = tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        tl.atomic_add(dq_ptr + there, part, mask=rows[:, None] < N)


@triton.jit
def rounded(source_ptr, to_ptr, count, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source_ptr + places, mask=places < count)
    tl.store(to_ptr + places, values, mask=places < count)


def flash_dq(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    sums = torch.empty(q.shape, device=q.device, dtype=torch.float32)
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](
        q, k, v, dout, lse, delta, sums, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    rounded[(triton.cdiv(H * N * D, 1024),)](sums, dq, H * N * D, BLOCK=1024)
    return dq


# %% flash_dq added_without_atomics -> RACE
# Programs of other keys load and store the same rows of dq at the same time.
import torch
import triton
import triton.language as tl

BC = 64
BR = 32


@triton.jit
def backward_keys(
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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BC
    keys = first + tl.arange(0, BC)
    depth = tl.arange(0, D)
    own = head * N * D + keys[:, None] * D + depth[None, :]
    inside = keys[:, None] < N
    k = tl.load(k_ptr + own, mask=inside, other=0.0)
    v = tl.load(v_ptr + own, mask=inside, other=0.0)
    begin = first // BR * BR if CAUSAL else 0
    for start in range(begin, N, BR):
        rows = start + tl.arange(0, BR)
        there = head * N * D + rows[:, None] * D + depth[None, :]
        q = tl.load(q_ptr + there, mask=rows[:, None] < N, other=0.0)
        dout = tl.load(dout_ptr + there, mask=rows[:, None] < N, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = (rows[:, None] < N) & (keys[None, :] < N)
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        part = tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        before = tl.load(dq_ptr + there, mask=rows[:, None] < N)
        tl.store(dq_ptr + there, before + part, mask=rows[:, None] < N)


def flash_dq(q, k, v, dout, lse, delta, causal):
    H, N, D = q.shape
    dq = torch.zeros_like(q)
    grid = (triton.cdiv(N, BC), H)
    backward_keys[grid](q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC)
    return dq


# %% flash_dq one_program_a_head -> TOO_SERIAL
# The tiles of queries one after the other, in one program.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    for first in range(0, N, BR):
        rows = first + tl.arange(0, BR)
        depth = tl.arange(0, D)
        own = head * N * D + rows[:, None] * D + depth[None, :]
        inside = rows[:, None] < N
        q = tl.load(q_ptr + own, mask=inside, other=0.0)
        dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
        lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
        delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
        dq = tl.zeros((BR, D), tl.float32)
        end = tl.minimum(first + BR, N) if CAUSAL else N
        for start in range(0, end, BC):
            keys = start + tl.arange(0, BC)
            there = head * N * D + keys[:, None] * D + depth[None, :]
            k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
            v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
            s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
            seen = keys[None, :] < N
            if CAUSAL:
                seen = seen & (keys[None, :] <= rows[:, None])
            p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
            dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
            ds = p * (dp - delta[:, None])
            dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (1, H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq tiles_of_128_by_32 -> PASS
# More queries a program: K and V half as often.
import torch
import triton
import triton.language as tl

BR = 128
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq keys_loaded_turned -> PASS
# K as (D, BC) by its pointers, turned back for the last product.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        turned = head * N * D + keys[None, :] * D + depth[:, None]
        k = tl.load(k_ptr + turned, mask=keys[None, :] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, k, input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), tl.trans(k), input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq exp2_and_scale_in_ds -> PASS
# lse is turned to the base 2 as it is read; ds is scaled, and dq is not.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * 1.4426950408889634)
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp2(s - lse[:, None] * 1.4426950408889634), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq


# %% flash_dq gradient_starts_at_minus_delta -> PASS
# dot adds to what it is given: it starts at -delta.
import torch
import triton
import triton.language as tl

BR = 64
BC = 32


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
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * BR
    rows = first + tl.arange(0, BR)
    depth = tl.arange(0, D)
    own = head * N * D + rows[:, None] * D + depth[None, :]
    inside = rows[:, None] < N
    q = tl.load(q_ptr + own, mask=inside, other=0.0)
    dout = tl.load(dout_ptr + own, mask=inside, other=0.0)
    lse = tl.load(lse_ptr + head * N + rows, mask=rows < N, other=0.0)
    delta = tl.load(delta_ptr + head * N + rows, mask=rows < N, other=0.0)
    dq = tl.zeros((BR, D), tl.float32)
    end = tl.minimum(first + BR, N) if CAUSAL else N
    for start in range(0, end, BC):
        keys = start + tl.arange(0, BC)
        there = head * N * D + keys[:, None] * D + depth[None, :]
        k = tl.load(k_ptr + there, mask=keys[:, None] < N, other=0.0)
        v = tl.load(v_ptr + there, mask=keys[:, None] < N, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        seen = keys[None, :] < N
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)
        less = tl.broadcast_to(-delta[:, None], (BR, BC))
        ds = p * tl.dot(dout, tl.trans(v), less, input_precision="ieee")
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(dq_ptr + own, dq * scale, mask=inside)


def flash_dq(q, k, v, dout, lse, delta, causal):  # -> dq: (H, N, D)
    H, N, D = q.shape
    dq = torch.empty_like(q)
    grid = (triton.cdiv(N, BR), H)
    backward_queries[grid](
        q, k, v, dout, lse, delta, dq, N, D**-0.5, D=D, CAUSAL=causal, BR=BR, BC=BC
    )
    return dq
