"""Kernels that tests, hardware records and the bench share: plain Triton, no course in them."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


@triton.jit
def softmax_three_pass(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride
    highest = tl.full((BLOCK,), -float("inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + offsets, mask=offsets < columns, other=-float("inf"))
        highest = tl.maximum(highest, x)
    top = tl.max(highest, axis=0)
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + offsets, mask=offsets < columns, other=-float("inf"))
        sums += tl.exp(x - top)
    total = tl.sum(sums, axis=0)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + offsets, mask=offsets < columns, other=-float("inf"))
        tl.store(out_ptr + row * stride + offsets, tl.exp(x - top) / total, mask=offsets < columns)


@triton.jit
def softmax_online(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_row = x_ptr + row * stride
    top = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + offsets, mask=offsets < columns, other=-float("inf"))
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + offsets, mask=offsets < columns, other=-float("inf"))
        tl.store(out_ptr + row * stride + offsets, tl.exp(x - top) / total, mask=offsets < columns)


@triton.jit
def softmax_one_pass(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    x = tl.load(x_ptr + row * stride + offsets, mask=inside, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + offsets, x / tl.sum(x, axis=0), mask=inside)


@triton.jit
def rms_norm(x_ptr, weight_ptr, out_ptr, columns, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + offsets, mask=offsets < columns, other=0.0)
        squares += x.to(tl.float32) * x.to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        x = tl.load(x_ptr + row * stride + offsets, mask=inside, other=0.0)
        weight = tl.load(weight_ptr + offsets, mask=inside, other=0.0)
        tl.store(out_ptr + row * stride + offsets, x * scale * weight, mask=inside)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * K + steps[None, :]
    b_tile = b_ptr + steps[:, None] * N + columns[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_tile, mask=(rows[:, None] < M) & (k + steps[None, :] < K), other=0.0)
        b = tl.load(b_tile, mask=(k + steps[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * N
    c_tile = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(
        c_tile, acc.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N)
    )


@triton.jit
def gated_linear(
    x_ptr, gate_ptr, up_ptr, out_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    gates = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    ups = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        steps = k + tl.arange(0, BLOCK_K)
        x = tl.load(x_ptr + rows[:, None] * K + steps[None, :])
        gates = tl.dot(x, tl.load(gate_ptr + steps[:, None] * N + columns[None, :]), gates)
        ups = tl.dot(x, tl.load(up_ptr + steps[:, None] * N + columns[None, :]), ups)
    out = gates * tl.sigmoid(gates) * ups
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], out.to(out_ptr.dtype.element_ty))


@triton.jit
def flash_forward(
    q_ptr, k_ptr, v_ptr, out_ptr, lse_ptr, scale, N,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    base = tl.program_id(1) * N * D
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    depth = tl.arange(0, D)
    q = tl.load(q_ptr + base + rows[:, None] * D + depth[None, :])
    top = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    end = N
    if CAUSAL:
        end = (block + 1) * BLOCK_M
    for start in range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + keys[None, :] * D + depth[:, None])
        scores = tl.dot(q, k) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, -float("inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        weights = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        total = total * shrink + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + base + keys[:, None] * D + depth[None, :])
        acc = acc * shrink[:, None] + tl.dot(weights.to(v.dtype), v)
        top = new_top
    acc = acc / total[:, None]
    out = out_ptr + base + rows[:, None] * D + depth[None, :]
    tl.store(out, acc.to(out_ptr.dtype.element_ty))
    tl.store(lse_ptr + tl.program_id(1) * N + rows, top + tl.log(total))


@triton.jit
def flash_delta(out_ptr, grad_ptr, delta_ptr, N, BLOCK: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = tl.program_id(1) * N * D + rows[:, None] * D + tl.arange(0, D)[None, :]
    out = tl.load(out_ptr + places).to(tl.float32)
    grad = tl.load(grad_ptr + places).to(tl.float32)
    tl.store(delta_ptr + tl.program_id(1) * N + rows, tl.sum(out * grad, axis=1))


@triton.jit
def flash_backward_kv(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, scale, N,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    base = tl.program_id(1) * N * D
    line = tl.program_id(1) * N
    keys = block * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, D)
    here = keys[:, None] * D + depth[None, :]
    k = tl.load(k_ptr + base + here)
    v = tl.load(v_ptr + base + here)
    dk = tl.zeros((BLOCK_N, D), tl.float32)
    dv = tl.zeros((BLOCK_N, D), tl.float32)
    first = 0
    if CAUSAL:
        first = block * BLOCK_N // BLOCK_M * BLOCK_M
    for start in range(first, N, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        q = tl.load(q_ptr + base + rows[:, None] * D + depth[None, :])
        grad = tl.load(grad_ptr + base + rows[:, None] * D + depth[None, :])
        lse = tl.load(lse_ptr + line + rows)
        delta = tl.load(delta_ptr + line + rows)
        weights = tl.exp(tl.dot(k, tl.trans(q)) * scale - lse[None, :])
        if CAUSAL:
            weights = tl.where(rows[None, :] >= keys[:, None], weights, 0.0)
        dv = tl.dot(weights.to(grad.dtype), grad, dv)
        dscores = weights * (tl.dot(v, tl.trans(grad)) - delta[None, :])
        dk = tl.dot(dscores.to(q.dtype), q, dk)
    tl.store(dk_ptr + base + here, (dk * scale).to(dk_ptr.dtype.element_ty))
    tl.store(dv_ptr + base + here, dv.to(dv_ptr.dtype.element_ty))


@triton.jit
def flash_backward_q(
    q_ptr, k_ptr, v_ptr, grad_ptr, lse_ptr, delta_ptr, dq_ptr, scale, N,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    base = tl.program_id(1) * N * D
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    depth = tl.arange(0, D)
    here = rows[:, None] * D + depth[None, :]
    q = tl.load(q_ptr + base + here)
    grad = tl.load(grad_ptr + base + here)
    lse = tl.load(lse_ptr + tl.program_id(1) * N + rows)
    delta = tl.load(delta_ptr + tl.program_id(1) * N + rows)
    dq = tl.zeros((BLOCK_M, D), tl.float32)
    end = N
    if CAUSAL:
        end = (block + 1) * BLOCK_M
    for start in range(0, end, BLOCK_N):
        keys = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + base + keys[:, None] * D + depth[None, :])
        v = tl.load(v_ptr + base + keys[:, None] * D + depth[None, :])
        weights = tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        if CAUSAL:
            weights = tl.where(rows[:, None] >= keys[None, :], weights, 0.0)
        dscores = weights * (tl.dot(grad, tl.trans(v)) - delta[:, None])
        dq = tl.dot(dscores.to(k.dtype), k, dq)
    tl.store(dq_ptr + base + here, (dq * scale).to(dq_ptr.dtype.element_ty))


@triton.jit
def cross_entropy(x_ptr, target_ptr, loss_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + offsets, mask=offsets < columns, other=-float("inf"))
        new_top = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new_top) + tl.sum(tl.exp(x - new_top), axis=0)
        top = new_top
    target = tl.load(target_ptr + row)
    chosen = tl.load(x_ptr + row * stride + target)
    tl.store(loss_ptr + row, tl.log(total) + top - chosen)


@triton.jit
def tile_sums(source, out_ptr, columns, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.program_id(0)
    total = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, columns, BLOCK_N):
        total += tl.sum(source.load([block * BLOCK_M, start]), axis=1)
    tl.store(out_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M), total)


@triton.jit
def read_twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.sum(tl.load(x_ptr + offsets, mask=inside, other=0.0), axis=0)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, x * total, mask=inside)


@triton.jit
def read_after_a_store(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, x, mask=inside)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + n + offsets, x + 1, mask=inside)


@triton.jit
def read_each_turn(x_ptr, y_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * BLOCK + offsets)  # the same in each turn
        total += x * tl.load(y_ptr + row * columns + start + offsets)
    tl.store(out_ptr + row * BLOCK + offsets, total)


@triton.jit
def read_each_turn_beside_a_store(x_ptr, y_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * BLOCK + offsets)  # the same in each turn
        y = tl.load(y_ptr + row * columns + start + offsets)
        tl.store(out_ptr + row * columns + start + offsets, x * y)


@triton.jit
def read_each_turn_for_a_dot(a_ptr, b_ptr, out_ptr, steps, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tile = i * N + j
    program = tl.program_id(0)
    total = tl.zeros((N, N), tl.float32)
    for step in range(steps):
        a = tl.load(a_ptr + program * N * N + tile)  # the same in each turn
        b = tl.load(b_ptr + step * N * N + tile)
        total = tl.dot(a, b, total)
    tl.store(out_ptr + program * N * N + tile, total)


@triton.jit
def read_three_turns(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(3):
        total += tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, total, mask=offsets < n)


@triton.jit
def ordered_matmul(
    a_ptr, b_ptr, out_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tiles_n = N // BLOCK_N
    first = tl.program_id(0) // (GROUP * tiles_n) * GROUP
    within = tl.program_id(0) % (GROUP * tiles_n)
    rows = (first + within % GROUP) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = within // GROUP * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        steps = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + steps[None, :])
        b = tl.load(b_ptr + steps[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(out_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))
