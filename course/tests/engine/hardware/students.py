"""Kernels as one writes them for exercises: softmax, norms, stencils, sums, searches."""

import numpy as np

from course.tests.written import module_of

from .cases import Book, ints, zeros

book = Book((8, 32))
HEAD = """import math
from numba import cuda, float32

K = 5
@cuda.jit(device=True)
def at(a, i, j, h, c):
    if 0 <= i < h and 0 <= j < c:
        return a[i, j]
    return float32(0)

@cuda.jit(device=True)
def clampi(i, lo, hi):
    return max(lo, min(i, hi))

@cuda.jit
def student_{}(a, b, w, w2, x, y, idx, ptr, col, val, out, o2, hist, n, h, c):
"""
#: By name: what is behind that. A blank line ends a kernel.
TEXTS = """
softmax_row:
    i = cuda.grid(1)
    if i < h:
        m = a[i, 0]
        for j in range(1, c):
            if a[i, j] > m:
                m = a[i, j]
        s = float32(0)
        for j in range(c):
            s += math.exp(a[i, j] - m)
        for j in range(c):
            o2[i, j] = math.exp(a[i, j] - m) / s

softmax_in_place:
    i = cuda.grid(1)
    if i < h:
        m = float32(-1e30)
        for j in range(c):
            m = max(m, a[i, j])
        s = float32(0)
        for j in range(c):
            o2[i, j] = math.exp(a[i, j] - m)
            s += o2[i, j]
        for j in range(c):
            o2[i, j] /= s

layernorm:
    i = cuda.grid(1)
    if i < h:
        s = float32(0)
        for j in range(a.shape[1]):
            s += a[i, j]
        m = s / a.shape[1]
        v = float32(0)
        for j in range(a.shape[1]):
            d = a[i, j] - m
            v += d * d
        for j in range(a.shape[1]):
            o2[i, j] = (a[i, j] - m) / math.sqrt(v / a.shape[1] + 1e-5) * x[j] + y[j]

matmul:
    i, j = cuda.grid(2)
    if i < o2.shape[0] and j < h:
        s = float32(0)
        for k in range(a.shape[1]):
            s += a[i, k] * b[k, j]
        o2[i, j] = s

matmul_aug:
    i, j = cuda.grid(2)
    if i < h and j < h:
        o2[i, j] = 0
        for k in range(c):
            o2[i, j] += a[i, k] * b[k, j]

matmul_both:
    i, j = cuda.grid(2)
    if i < h and j < h:
        s = 0.0
        for k in range(c):
            s += a[i, k] * b[k, j]
        o2[i, j] = 2 * s + 3 * o2[i, j]

conv1d_guard:
    i = cuda.grid(1)
    if i < n:
        s = float32(0)
        for k in range(-2, 3):
            if 0 <= i + k < n:
                s += x[i + k] * w[k + 2]
        out[i] = s

conv1d_K:
    i = cuda.grid(1)
    if i < n:
        s = float32(0)
        for k in range(K):
            p = i + k - K // 2
            if p >= 0 and p < n:
                s += x[p] * w[k]
        out[i] = s

conv1d_rt:
    i = cuda.grid(1)
    if i < n:
        s = float32(0)
        for k in range(w.shape[0]):
            p = i + k - w.shape[0] // 2
            if p >= 0 and p < n:
                s += x[p] * w[k]
        out[i] = s

conv1d_wrap:
    i = cuda.grid(1)
    if i < n:
        s = float32(0)
        for k in range(K):
            s += x[(i + k) % n] * w[k]
        out[i] = s

conv2d_helper:
    i, j = cuda.grid(2)
    if i < h and j < c:
        s = float32(0)
        for p in range(3):
            for q in range(3):
                s += at(a, i + p - 1, j + q - 1, h, c) * w2[p, q]
        o2[i, j] = s

conv2d_inline:
    i, j = cuda.grid(2)
    if i < h and j < c:
        s = float32(0)
        for p in range(-1, 2):
            for q in range(-1, 2):
                r, t = i + p, j + q
                if r >= 0 and r < h and t >= 0 and t < c:
                    s += a[r, t] * w2[p + 1, q + 1]
        o2[i, j] = s

conv2d_rt:
    i, j = cuda.grid(2)
    if i < h and j < c:
        s = float32(0)
        for p in range(w2.shape[0]):
            for q in range(w2.shape[1]):
                r, t = i + p - 1, j + q - 1
                if 0 <= r < h and 0 <= t < c:
                    s += a[r, t] * w2[p, q]
        o2[i, j] = s

conv2d_clamp:
    i, j = cuda.grid(2)
    if i < h and j < c:
        s = float32(0)
        for p in range(3):
            for q in range(3):
                s += a[clampi(i + p - 1, 0, h - 1), clampi(j + q - 1, 0, c - 1)] * w2[p, q]
        o2[i, j] = s

life:
    i, j = cuda.grid(2)
    if i < h and j < c:
        s = float32(0)
        for p in (-1, 0, 1):
            for q in (-1, 0, 1):
                if p != 0 or q != 0:
                    s += a[(i + p) % h, (j + q) % c]
        o2[i, j] = 1 if s == 3 or (s == 2 and a[i, j] == 1) else 0

heat:
    i, j = cuda.grid(2)
    if 0 < i < h - 1 and 0 < j < c - 1:
        v = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
        o2[i, j] = a[i, j] + 0.1 * (v - 4 * a[i, j])

heat_flat:
    i = cuda.grid(1)
    if i < n:
        r = i // c
        q = i % c
        if r > 0 and r < h - 1 and q > 0 and q < c - 1:
            out[i] = x[i] + 0.1 * (x[i - c] + x[i + c] + x[i - 1] + x[i + 1] - 4 * x[i])
        else:
            out[i] = x[i]

nbody:
    i = cuda.grid(1)
    if i < h:
        fx = float32(0)
        fy = float32(0)
        for j in range(h):
            if j != i:
                dx = x[j] - x[i]
                dy = y[j] - y[i]
                d = dx * dx + dy * dy + 0.01
                fx += dx / d
                fy += dy / d
        out[i] = fx
        out[i + h] = fy

csr:
    i = cuda.grid(1)
    if i < h:
        s = float32(0)
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[col[k]]
        out[i] = s

argmax:
    i = cuda.grid(1)
    if i < h:
        best = 0
        for j in range(1, c):
            if a[i, j] > a[i, best]:
                best = j
        out[i] = best

top2:
    i = cuda.grid(1)
    if i < h:
        m = a[i, 0]
        s = float32(-1e30)
        for j in range(1, c):
            v = a[i, j]
            if v > m:
                s = m
                m = v
            elif v > s:
                s = v
        out[i] = m + s

top2_reload:
    i = cuda.grid(1)
    if i < h:
        m = a[i, 0]
        s = float32(-1e30)
        for j in range(1, c):
            if a[i, j] > m:
                s = m
                m = a[i, j]
            elif a[i, j] > s:
                s = a[i, j]
        out[i] = m + s

horner:
    i = cuda.grid(1)
    if i < n:
        s = w[4]
        for k in range(3, -1, -1):
            s = s * x[i] + w[k]
        out[i] = s

horner_rt:
    i = cuda.grid(1)
    if i < n:
        s = float32(0)
        for k in range(w.size - 1, -1, -1):
            s = s * x[i] + w[k]
        out[i] = s

kmeans:
    i = cuda.grid(1)
    if i < h:
        best = float32(1e30)
        who = 0
        for k in range(5):
            d = float32(0)
            for j in range(3):
                t = a[i, j] - w2[j, k % 3]
                d += t * t
            if d < best:
                best = d
                who = k
        out[i] = who

pairwise:
    i, j = cuda.grid(2)
    if i < h and j < h:
        s = float32(0)
        for k in range(c):
            d = a[i, k] - a[j, k]
            s += d * d
        o2[i, j] = math.sqrt(s)

maxpool:
    i, j = cuda.grid(2)
    if i < h // 2 and j < c // 2:
        m = a[2 * i, 2 * j]
        for p in range(2):
            for q in range(2):
                if a[2 * i + p, 2 * j + q] > m:
                    m = a[2 * i + p, 2 * j + q]
        o2[i, j] = m

maxpool_max:
    i, j = cuda.grid(2)
    if i < h // 2 and j < c // 2:
        m = max(a[2 * i, 2 * j], a[2 * i + 1, 2 * j])
        o2[i, j] = max(m, max(a[2 * i, 2 * j + 1], a[2 * i + 1, 2 * j + 1]))

cumsum_row:
    i = cuda.grid(1)
    if i < h:
        o2[i, 0] = a[i, 0]
        for j in range(1, c):
            o2[i, j] = o2[i, j - 1] + a[i, j]

cumsum_row_s:
    i = cuda.grid(1)
    if i < h:
        s = float32(0)
        for j in range(c):
            s += a[i, j]
            o2[i, j] = s

dot_gs:
    s = 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        s += x[i] * y[i]
    cuda.atomic.add(out, 0, s)

hist:
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(hist, int((x[i] + 2) * 2) % 8, 1)

xent:
    i = cuda.grid(1)
    if i < h:
        m = float32(-1e30)
        for j in range(c):
            m = max(m, a[i, j])
        s = float32(0)
        for j in range(c):
            s += math.exp(a[i, j] - m)
        out[i] = math.log(s) + m - a[i, idx[i] % c]

rmsnorm:
    i = cuda.grid(1)
    if i < h:
        s = float32(0)
        for j in range(c):
            s += a[i, j] ** 2
        r = 1 / math.sqrt(s / c + 1e-6)
        for j in range(c):
            o2[i, j] = a[i, j] * r * x[j]

rope:
    i = cuda.grid(1)
    if i < n // 2:
        p = x[2 * i]
        q = x[2 * i + 1]
        out[2 * i] = p * y[i] - q * y[i + 1]
        out[2 * i + 1] = p * y[i + 1] + q * y[i]

rope_no_temp:
    i = cuda.grid(1)
    if i < n // 2:
        out[2 * i] = x[2 * i] * y[i] - x[2 * i + 1] * y[i + 1]
        out[2 * i + 1] = x[2 * i] * y[i + 1] + x[2 * i + 1] * y[i]

row_helper:
    i = cuda.grid(1)
    if i < h:
        r = a[i]
        s = float32(0)
        for v in r:
            s += v
        out[i] = s

zip:
    i = cuda.grid(1)
    if i < h:
        s = float32(0)
        for u, v in zip(a[i], x):
            s += u * v
        out[i] = s

accumulate_if:
    i = cuda.grid(1)
    if i < n:
        out[i] = 0
        if x[i] > 0:
            out[i] += x[i]
        if y[i] > 0:
            out[i] += y[i]

count:
    i = cuda.grid(1)
    if i < n:
        k = 0
        for j in range(n):
            if x[j] < x[i]:
                k += 1
        out[i] = k

rank_sort:
    i = cuda.grid(1)
    if i < n:
        k = 0
        for j in range(n):
            if x[j] < x[i] or (x[j] == x[i] and j < i):
                k += 1
        out[k] = x[i]

adam:
    i = cuda.grid(1)
    if i < n:
        y[i] = 0.9 * y[i] + 0.1 * x[i]
        out[i] = 0.99 * out[i] + 0.01 * x[i] * x[i]
        x[i] -= 0.1 * y[i] / (math.sqrt(out[i]) + 1e-8)

momentum:
    i = cuda.grid(1)
    if i < n:
        y[i] *= 0.9
        y[i] += x[i]
        out[i] -= 0.1 * y[i]

batchnorm_col:
    i = cuda.grid(1)
    if i < c:
        s = float32(0)
        q = float32(0)
        for r in range(h):
            s += a[r, i]
            q += a[r, i] * a[r, i]
        for r in range(h):
            o2[r, i] = (a[r, i] - s / h) / math.sqrt(q / h - (s / h) ** 2 + 1)

attention_row:
    i = cuda.grid(1)
    if i < h:
        m = float32(-1e30)
        l = float32(0)
        acc = float32(0)
        for j in range(h):
            s = float32(0)
            for k in range(4):
                s += a[i, k] * a[j, k]
            mn = max(m, s)
            l = l * math.exp(m - mn) + math.exp(s - mn)
            acc = acc * math.exp(m - mn) + math.exp(s - mn) * a[j, 5]
            m = mn
        out[i] = acc / l

scores_row:
    i = cuda.grid(1)
    if i < h:
        m = float32(-1e30)
        l = float32(0)
        for j in range(h):
            s = float32(0)
            for k in range(c):
                s += a[i, k] * a[j, k]
            l += math.exp(s)
        out[i] = l

matvec_helper:
    i = cuda.grid(1)
    if i < h:
        s = float32(0)
        for j in range(c):
            s += at(a, i, j, h, c) * x[j]
        out[i] = s
"""


def given():
    """Two matrices, filters, vectors, a sparse matrix, and where results go."""
    rows, columns = 13, 18
    starts = np.cumsum(np.r_[0, ints(1, rows, dtype="int32", low=0, high=5)]).astype(np.int32)
    return (
        *(
            ints(2, rows, columns) / 4,
            ints(3, columns, rows) / 4,
            ints(4, 5) / 4,
            ints(5, 3, 3) / 4,
        ),
        *(ints(6, rows * columns) / 4, ints(7, rows * columns) / 4),
        ints(8, rows * columns, dtype="int32", low=0, high=rows * columns),
        starts,
        ints(9, 64, dtype="int32", low=0, high=columns),
        ints(10, 64) / 4,
        *(ints(11, rows * columns) / 4, ints(12, rows, columns) / 4, zeros(8, dtype="int32")),
        *(rows * columns, rows, columns),
    )


for text in TEXTS.strip().split("\n\n"):
    name, body = text.split(":\n", 1)
    kernels = vars(module_of(f"student {name}", HEAD.format(name) + body + "\n"))
    launch = ((2, 2), (8, 16)) if "cuda.grid(2)" in body else None
    book.add(kernels[f"student_{name}"], given, (10, 11, 12), launch=launch)
