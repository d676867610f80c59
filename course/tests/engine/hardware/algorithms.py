"""Block-wide and irregular algorithms as one writes them: scans, sorts, searches, stencils."""

import numpy as np

from course.tests.written import module_of

from .cases import Book, ints, zeros

book = Book((4, 64))
HEAD = """import math
from numba import cuda, float32, int32

T = 64
TILE = 8
N = 16

@cuda.jit(device=True)
def swap(s, i, j):
    t = s[i]
    s[i] = s[j]
    s[j] = t

@cuda.jit(device=True)
def warp_sum(v):
    for o in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xffffffff, v, o)
    return v

@cuda.jit
def algorithm_{}(x, y, k, a, b, z, out, o2, oi, hist, n, h, c):
"""
#: By name: what is behind that. A blank line ends a kernel.
TEXTS = """
reduce_warp:
    s = cuda.shared.array(2, float32)
    t = cuda.threadIdx.x
    v = float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i] * y[i]
    v = warp_sum(v)
    if t % 32 == 0:
        s[t // 32] = v
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = s[0] + s[1]

scan_hillis:
    s = cuda.shared.array((2, T), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    p = 0
    if i < n:
        s[p, t] = x[i]
    else:
        s[p, t] = 0
    cuda.syncthreads()
    d = 1
    while d < T:
        q = 1 - p
        if t >= d:
            s[q, t] = s[p, t] + s[p, t - d]
        else:
            s[q, t] = s[p, t]
        p = q
        cuda.syncthreads()
        d *= 2
    if i < n:
        out[i] = s[p, t]

scan_blelloch:
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    base = cuda.blockIdx.x * 128
    s[2 * t] = x[base + 2 * t] if base + 2 * t < n else 0
    s[2 * t + 1] = x[base + 2 * t + 1] if base + 2 * t + 1 < n else 0
    o = 1
    d = 64
    while d > 0:
        cuda.syncthreads()
        if t < d:
            p = o * (2 * t + 1) - 1
            q = o * (2 * t + 2) - 1
            s[q] += s[p]
        o *= 2
        d //= 2
    if t == 0:
        s[127] = 0
    d = 1
    while d < 128:
        o //= 2
        cuda.syncthreads()
        if t < d:
            p = o * (2 * t + 1) - 1
            q = o * (2 * t + 2) - 1
            u = s[p]
            s[p] = s[q]
            s[q] += u
        d *= 2
    cuda.syncthreads()
    if base + 2 * t < n:
        out[base + 2 * t] = s[2 * t]
    if base + 2 * t + 1 < n:
        out[base + 2 * t + 1] = s[2 * t + 1]

bitonic:
    s = cuda.shared.array(T, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else 1e30
    cuda.syncthreads()
    size = 2
    while size <= T:
        stride = size // 2
        while stride > 0:
            p = t ^ stride
            if p > t:
                up = (t & size) == 0
                if (s[t] > s[p]) == up:
                    swap(s, t, p)
            cuda.syncthreads()
            stride //= 2
        size *= 2
    if i < n:
        out[i] = s[t]

odd_even_sort:
    s = cuda.shared.array(T, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        s[t] = k[i]
    else:
        s[t] = 1 << 20
    cuda.syncthreads()
    for r in range(T):
        j = 2 * t + r % 2
        if j + 1 < T:
            if s[j] > s[j + 1]:
                u = s[j]
                s[j] = s[j + 1]
                s[j + 1] = u
        cuda.syncthreads()
    if i < n:
        oi[i] = s[t]

hist_private:
    l = cuda.local.array(N, int32)
    for q in range(N):
        l[q] = 0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        l[k[i] & 15] += 1
    for q in range(N):
        if l[q] > 0:
            cuda.atomic.add(hist, q, l[q])

matmul_tile_ranged:
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    q, r = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    acc = float32(0)
    for m in range(0, a.shape[1], TILE):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if r < a.shape[0] and m + tx < a.shape[1]:
            sa[ty, tx] = a[r, m + tx]
        if m + ty < b.shape[0] and q < b.shape[1]:
            sb[ty, tx] = b[m + ty, q]
        cuda.syncthreads()
        for e in range(TILE):
            acc += sa[ty, e] * sb[e, tx]
        cuda.syncthreads()
    if r < a.shape[0] and q < b.shape[1]:
        o2[r, q] = acc

stencil_halo:
    s = cuda.shared.array(66, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        s[t + 1] = x[i]
        if t == 0 and i > 0:
            s[0] = x[i - 1]
        if (t == cuda.blockDim.x - 1 or i == n - 1) and i + 1 < n:
            s[t + 2] = x[i + 1]
    cuda.syncthreads()
    if 0 < i < n - 1:
        out[i] = (s[t] + s[t + 1] + s[t + 2]) * 0.25

conv_halo_2d:
    s = cuda.shared.array((10, 10), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    q, r = cuda.grid(2)
    for e in range(ty * 8 + tx, 100, 64):
        u = cuda.blockIdx.y * 8 + e // 10 - 1
        v = cuda.blockIdx.x * 8 + e % 10 - 1
        if 0 <= u < h and 0 <= v < c:
            s[e // 10, e % 10] = a[u, v]
        else:
            s[e // 10, e % 10] = 0
    cuda.syncthreads()
    if r < h and q < c:
        acc = float32(0)
        for i in range(3):
            for j in range(3):
                acc += s[ty + i, tx + j] * y[i * 3 + j]
        o2[r, q] = acc

causal_softmax:
    i = cuda.grid(1)
    if i < n:
        m = float32(-1e30)
        l = float32(0)
        acc = float32(0)
        for j in range(i % 19 + 1):
            p = x[i] * x[j]
            mn = max(m, p)
            u = math.exp(m - mn)
            e = math.exp(p - mn)
            l = l * u + e
            acc = acc * u + e * y[j]
            m = mn
        out[i] = acc / l

mandelbrot:
    q, r = cuda.grid(2)
    if r < h and q < c:
        u = -2 + 3 * q / c
        v = -1 + 2 * r / h
        zr = 0.0
        zi = 0.0
        it = 0
        while it < 30 and zr * zr + zi * zi < 4:
            w = zr * zr - zi * zi + u
            zi = 2 * zr * zi + v
            zr = w
            it += 1
        o2[r, q] = it

nbody_shared:
    s = cuda.shared.array((T, 2), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    px = x[i] if i < n else float32(0)
    py = y[i] if i < n else float32(0)
    f = float32(0)
    for m in range(0, n, T):
        if m + t < n:
            s[t, 0] = x[m + t]
            s[t, 1] = y[m + t]
        cuda.syncthreads()
        for e in range(min(T, n - m)):
            f += abs(s[e, 0] - px) + abs(s[e, 1] - py)
        cuda.syncthreads()
    if i < n:
        out[i] = f

floyd_step:
    q, r = cuda.grid(2)
    if r < h and q < h:
        for m in range(h):
            d = a[r, m] + a[m, q]
            if d < o2[r, q]:
                o2[r, q] = d

edit_row:
    i = cuda.grid(1)
    if i < h:
        prev = cuda.local.array(20, int32)
        for j in range(c + 1):
            prev[j] = j
        for e in range(1, 5):
            left = e
            diag = e - 1
            for j in range(1, c + 1):
                up = prev[j]
                cost = 0 if k[i * c + j - 1] % 4 == k[e] % 4 else 1
                left = min(min(left + 1, up + 1), diag + cost)
                diag = up
                prev[j] = left
        oi[i] = prev[c]

game_of_life_flat:
    i = cuda.grid(1)
    if i < n:
        r = i // c
        q = i % c
        s = 0
        for u in range(max(r - 1, 0), min(r + 2, h)):
            for v in range(max(q - 1, 0), min(q + 2, c)):
                if u != r or v != q:
                    s += k[u * c + v] & 1
        alive = k[i] & 1
        oi[i] = 1 if s == 3 or (alive and s == 2) else 0

bilateral:
    q, r = cuda.grid(2)
    if r >= h or q >= c:
        return
    p = a[r, q]
    s = float32(0)
    w = float32(0)
    for u in range(-1, 2):
        for v in range(-1, 2):
            rr = min(max(r + u, 0), h - 1)
            qq = min(max(q + v, 0), c - 1)
            g = a[rr, qq]
            e = 1.0 / (1 + (g - p) * (g - p))
            s += g * e
            w += e
    o2[r, q] = s / w

unrolled_tail:
    i = cuda.grid(1) * 4
    if i + 3 < n:
        out[i] = x[i] * 2
        out[i + 1] = x[i + 1] * 2
        out[i + 2] = x[i + 2] * 2
        out[i + 3] = x[i + 3] * 2
    else:
        for j in range(i, n):
            out[j] = x[j] * 2

merge_path:
    i = cuda.grid(1)
    if i < 100:
        lo = max(0, i - 50)
        hi = min(i, 50)
        while lo < hi:
            m = (lo + hi) // 2
            if z[m] <= z[50 + i - m - 1]:
                lo = m + 1
            else:
                hi = m
        oi[i] = lo

argmin_pairs:
    s = cuda.shared.array(T, float32)
    w = cuda.shared.array(T, int32)
    t = cuda.threadIdx.x
    best = float32(1e30)
    who = -1
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] < best:
            best = x[i]
            who = i
    s[t] = best
    w[t] = who
    cuda.syncthreads()
    d = 32
    while d >= 1:
        if t < d:
            if s[t + d] < s[t] or (s[t + d] == s[t] and w[t + d] < w[t]):
                s[t] = s[t + d]
                w[t] = w[t + d]
        cuda.syncthreads()
        d >>= 1
    if t == 0:
        oi[cuda.blockIdx.x] = w[0]

small_3x3:
    i = cuda.grid(1)
    if i < 13:
        m = cuda.local.array((3, 3), float32)
        for p in range(3):
            for q in range(3):
                m[p, q] = a[i, p * 3 + q]
        for p in range(3):
            for q in range(3):
                s = float32(0)
                for e in range(3):
                    s += m[p, e] * m[e, q]
                o2[i, p * 3 + q] = s

quantise:
    i = cuda.grid(1)
    if i < n:
        g = i // 16
        m = float32(0)
        for e in range(16):
            if g * 16 + e < n:
                m = max(m, abs(x[g * 16 + e]))
        s = m / 7 if m > 0 else 1
        oi[i] = int(math.floor(x[i] / s + 0.5))

ring_buffer:
    i = cuda.grid(1)
    if i < n:
        s = float32(0)
        w = cuda.local.array(4, float32)
        for e in range(4):
            w[e] = 0
        for e in range(8):
            w[e % 4] = x[(i + e) % n]
            s += w[0] + w[1] + w[2] + w[3]
        out[i] = s

for_else:
    i = cuda.grid(1)
    if i < h:
        for j in range(c):
            if a[i, j] > 5:
                oi[i] = j
                break
        else:
            oi[i] = -1

tuple_swap_in_place:
    i = cuda.grid(1)
    if i < n // 2:
        out[i], out[n - 1 - i] = out[n - 1 - i], out[i]

double_buffer:
    s = cuda.shared.array((2, T), float32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    acc = float32(0)
    for m in range(3):
        cuda.syncthreads()
        if m + 1 < 3:
            s[(m + 1) % 2, t] = x[(m + 1) * T + t]
        acc += s[m % 2, T - 1 - t]
    if cuda.blockIdx.x == 0:
        out[t] = acc
"""


def given():
    """Vectors, matrices, sorted numbers, places for results, and how large all that is."""
    rows, columns = 13, 18
    n = rows * columns
    return (
        *(ints(2, n) / 4, ints(3, n) / 4, ints(4, n, dtype="int32", low=0, high=220)),
        *(ints(5, rows, columns) / 4, ints(6, columns, rows) / 4),
        np.sort(ints(7, 100, dtype="int32", low=0, high=200)),
        *(ints(8, n) / 4, ints(9, rows, columns) / 4),
        *(ints(10, n, dtype="int32", low=0, high=50), zeros(16, dtype="int32")),
        *(n, rows, columns),
    )


#: Arguments that a kernel may write.
OUTPUTS = {"out": 6, "o2": 7, "oi": 8, "hist": 9}
for text in TEXTS.strip().split("\n\n"):
    name, body = text.split(":\n", 1)
    kernels = vars(module_of(f"algorithm {name}", HEAD.format(name) + body + "\n"))
    launch = ((3, 2), (8, 8)) if "grid(2)" in body else None
    written = tuple(at for output, at in OUTPUTS.items() if output in body)
    book.add(kernels[f"algorithm_{name}"], given, written, launch=launch)
