"""Linear algebra, graphs and machine learning, as students of CUDA courses write it."""

import math

import numba
import numpy as np
from numba import cuda, float32, float64, int32, types

TPB = 16
PADDED = TPB + 1
N_FFT = 64
K = 4
AUGMENTED = K + 1


@cuda.jit
def matvec(A, x, y):
    row = cuda.grid(1)
    if row < A.shape[0]:
        acc = 0.0
        for col in range(A.shape[1]):
            acc += A[row, col] * x[col]
        y[row] = acc


@cuda.jit
def matvec_warp_a_row(A, x, y):
    row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x
    acc = float32(0)
    if row < A.shape[0]:
        j = lane
        while j < A.shape[1]:
            acc += A[row, j] * x[j]
            j += 32
    offset = 16
    while offset > 0:
        acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, offset)
        offset //= 2
    if lane == 0 and row < A.shape[0]:
        y[row] = acc


@cuda.jit
def fast_matmul(A, B, C):
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x
    tmp = float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


@cuda.jit
def matmul_flat(a, b, c, n):
    i = cuda.grid(1)
    if i < n * n:
        row = i // n
        col = i % n
        total = 0
        for k in range(n):
            total += a[row * n + k] * b[k * n + col]
        c[i] = total


@cuda.jit
def transpose_tile(a, out):
    tile = cuda.shared.array((TPB, PADDED), numba.float32)
    x = cuda.blockIdx.x * TPB + cuda.threadIdx.x
    y = cuda.blockIdx.y * TPB + cuda.threadIdx.y
    for j in range(0, TPB, 4):
        if x < a.shape[1] and y + j < a.shape[0]:
            tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = a[y + j, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TPB + cuda.threadIdx.x
    y = cuda.blockIdx.x * TPB + cuda.threadIdx.y
    for j in range(0, TPB, 4):
        if x < a.shape[0] and y + j < a.shape[1]:
            out[y + j, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + j]


@cuda.jit
def csr_matvec(data, indices, indptr, x, y):
    row = cuda.grid(1)
    if row < indptr.shape[0] - 1:
        total = data.dtype.type(0) if False else 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total


@cuda.jit
def csr_rows(data, indices, indptr, x, y):
    row = cuda.grid(1)
    if row < indptr.shape[0] - 1:
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total


@cuda.jit
def dot_atomic(a, b, out):
    cache = cuda.shared.array(64, float64)
    tid = cuda.grid(1)
    index = cuda.threadIdx.x
    temp = 0.0
    while tid < a.shape[0]:
        temp += a[tid] * b[tid]
        tid += cuda.blockDim.x * cuda.gridDim.x
    cache[index] = temp
    cuda.syncthreads()
    i = cuda.blockDim.x // 2
    while i != 0:
        if index < i:
            cache[index] += cache[index + i]
        cuda.syncthreads()
        i //= 2
    if index == 0:
        cuda.atomic.add(out, 0, cache[0])


@cuda.jit("void(float32, float32[:], float32[:])")
def saxpy(a, x, y):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        y[i] = a * x[i] + y[i]


@cuda.jit
def floyd_warshall_step(dist, k):
    i, j = cuda.grid(2)
    n = dist.shape[0]
    if i < n and j < n and i != k and j != k:
        through = dist[i, k] + dist[k, j]
        if through < dist[i, j]:
            dist[i, j] = through


@cuda.jit
def softmax_rows(x, out):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    s = cuda.shared.array(32, float32)
    best = -math.inf
    for j in range(t, x.shape[1], cuda.blockDim.x):
        best = max(best, x[row, j])
    s[t] = best
    cuda.syncthreads()
    step = 16
    while step > 0:
        if t < step:
            s[t] = max(s[t], s[t + step])
        cuda.syncthreads()
        step >>= 1
    top = s[0]
    cuda.syncthreads()
    total = 0.0
    for j in range(t, x.shape[1], cuda.blockDim.x):
        e = math.exp(x[row, j] - top)
        out[row, j] = e
        total += e
    s[t] = total
    cuda.syncthreads()
    step = 16
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step >>= 1
    for j in range(t, x.shape[1], cuda.blockDim.x):
        out[row, j] /= s[0]


@cuda.jit(device=True, inline=True)
def squared_distance(px, py, qx, qy):
    dx = px - qx
    dy = py - qy
    return dx * dx + dy * dy


@cuda.jit
def kmeans_assign(points, centres, labels):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best = -1
        best_d = 1e30
        for c in range(centres.shape[0]):
            d = squared_distance(points[i, 0], points[i, 1], centres[c, 0], centres[c, 1])
            if d < best_d:
                best_d = d
                best = c
        labels[i] = best


@cuda.jit
def kmeans_update(points, labels, sums, counts):
    i = cuda.grid(1)
    if i < points.shape[0]:
        c = labels[i]
        for d in range(points.shape[1]):
            cuda.atomic.add(sums, (c, d), points[i, d])
        cuda.atomic.add(counts, c, 1)


@cuda.jit
def nbody(pos, vel, dt, eps):
    tile = cuda.shared.array((32, 3), types.float64)
    i = cuda.grid(1)
    n = pos.shape[0]
    px = py = pz = 0.0
    if i < n:
        px, py, pz = pos[i, 0], pos[i, 1], pos[i, 2]
    ax = ay = az = 0.0
    for start in range(0, n, 32):
        j = start + cuda.threadIdx.x
        if j < n:
            for axis in range(3):
                tile[cuda.threadIdx.x, axis] = pos[j, axis]
        cuda.syncthreads()
        for k in range(min(32, n - start)):
            dx = tile[k, 0] - px
            dy = tile[k, 1] - py
            dz = tile[k, 2] - pz
            r2 = dx * dx + dy * dy + dz * dz + eps
            inv = 1.0 / math.sqrt(r2)
            inv3 = inv**3
            ax += dx * inv3
            ay += dy * inv3
            az += dz * inv3
        cuda.syncthreads()
    if i < n:
        vel[i, 0] += ax * dt
        vel[i, 1] += ay * dt
        vel[i, 2] += az * dt


@cuda.jit
def fft_stage(re, im, half):
    i = cuda.grid(1)
    if i >= re.size // 2:
        return
    group = i // half
    at = i % half
    top = group * 2 * half + at
    low = top + half
    angle = -math.pi * at / half
    wr, wi = math.cos(angle), math.sin(angle)
    tr = wr * re[low] - wi * im[low]
    ti = wr * im[low] + wi * re[low]
    ur, ui = re[top], im[top]
    re[top], im[top] = ur + tr, ui + ti
    re[low], im[low] = ur - tr, ui - ti


@cuda.jit
def bit_reverse(re, out, bits):
    i = cuda.grid(1)
    if i < re.size:
        j = 0
        rest = i
        for _ in range(bits):
            j = (j << 1) | (rest & 1)
            rest >>= 1
        out[j] = re[i]


@cuda.jit
def small_solve(A, b, x):
    """Gaussian elimination of one K x K system in each thread's local memory."""
    i = cuda.grid(1)
    if i >= A.shape[0]:
        return
    m = cuda.local.array((K, AUGMENTED), float64)
    for r in range(K):
        for c in range(K):
            m[r, c] = A[i, r, c]
        m[r, K] = b[i, r]
    for p in range(K):
        big = p
        for r in range(p + 1, K):
            if abs(m[r, p]) > abs(m[big, p]):
                big = r
        if big != p:
            for c in range(K + 1):
                m[p, c], m[big, c] = m[big, c], m[p, c]
        for r in range(p + 1, K):
            f = m[r, p] / m[p, p]
            for c in range(p, K + 1):
                m[r, c] -= f * m[p, c]
    for back in range(K):
        r = K - 1 - back
        s = m[r, K]
        for c in range(r + 1, K):
            s -= m[r, c] * x[i, c]
        x[i, r] = s / m[r, r]


@cuda.jit
def layer_norm(x, out, eps):
    row = cuda.grid(1)
    if row < x.shape[0]:
        n = x.shape[1]
        mean = 0.0
        for j in range(n):
            mean += x[row, j]
        mean /= n
        var = 0.0
        for j in range(n):
            var += (x[row, j] - mean) ** 2
        scale = 1 / math.sqrt(var / n + eps)
        for j in range(n):
            out[row, j] = (x[row, j] - mean) * scale


@cuda.jit
def max_pool(x, out, where):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        best = x[2 * i, 2 * j]
        at = 0
        for k in range(1, 4):
            v = x[2 * i + k // 2, 2 * j + k % 2]
            if v > best:
                best, at = v, k
        out[i, j] = best
        where[i, j] = int32(at)


@cuda.jit
def relu(x):
    for i in range(cuda.grid(1), len(x), cuda.gridsize(1)):
        x[i] = x[i] if x[i] > 0 else np.float32(0)
