"""Kernels of applications as one writes them: images, graphs, physics, finance, networks."""

import re

import numpy as np

from course.tests.written import module_of

from .cases import Book, ints, zeros

book = Book((4, 64))
HEAD = """import math
import numpy as np
from numba import cuda, float32, float64, int32, uint32

T = 64
TILE = 8
R = 2

@cuda.jit(device=True)
def clamp(v, lo, hi):
    return max(lo, min(v, hi))

@cuda.jit(device=True)
def lcg(s):
    return uint32(s * uint32(1664525) + uint32(1013904223))

@cuda.jit(device=True)
def cnd(v):
    return 0.5 * (1 + math.erf(v * 0.70710678))

@cuda.jit
def application_{}(x, y, k, a, b, img, d, u, ptr, out, o2, oi, hist, n, h, c, dt):
"""
#: By name: what is behind that. A blank line ends a kernel.
TEXTS = """
heat:
    j, i = cuda.grid(2)
    if i < h and j < c:
        if 0 < i < h - 1 and 0 < j < c - 1:
            beside = a[i, j - 1] + a[i, j + 1]
            o2[i, j] = a[i, j] + dt * (a[i - 1, j] + a[i + 1, j] + beside - 4 * a[i, j])
        else:
            o2[i, j] = a[i, j]

wave:
    j, i = cuda.grid(2)
    if 1 <= i < h - 1 and 1 <= j < c - 1:
        lap = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4 * a[i, j]
        o2[i, j] = 2 * a[i, j] - o2[i, j] + dt * dt * lap

sobel:
    j, i = cuda.grid(2)
    if i > 0 and j > 0 and i < h - 1 and j < c - 1:
        gx = a[i - 1, j + 1] + 2 * a[i, j + 1] + a[i + 1, j + 1]
        gx -= a[i - 1, j - 1] + 2 * a[i, j - 1] + a[i + 1, j - 1]
        gy = a[i + 1, j - 1] + 2 * a[i + 1, j] + a[i + 1, j + 1]
        gy -= a[i - 1, j - 1] + 2 * a[i - 1, j] + a[i - 1, j + 1]
        o2[i, j] = math.sqrt(gx * gx + gy * gy)

blur_clamped:
    j, i = cuda.grid(2)
    if i < h and j < c:
        s = float32(0)
        for r in range(-R, R + 1):
            s += a[i, clamp(j + r, 0, c - 1)]
        o2[i, j] = s / (2 * R + 1)

blur_box:
    j, i = cuda.grid(2)
    if i < h and j < c:
        s = float32(0)
        m = 0
        for di in range(-1, 2):
            for dj in range(-1, 2):
                p = i + di
                q = j + dj
                if p >= 0 and p < h and q >= 0 and q < c:
                    s += a[p, q]
                    m += 1
        o2[i, j] = s / m

median_of_three:
    i = cuda.grid(1)
    if 0 < i < n - 1:
        p = x[i - 1]
        q = x[i]
        r = x[i + 1]
        out[i] = max(min(p, q), min(max(p, q), r))

gray:
    j, i = cuda.grid(2)
    if i < h and j < c:
        o2[i, j] = 0.25 * img[i, j, 0] + 0.5 * img[i, j, 1] + 0.25 * img[i, j, 2]

invert_in_place:
    j, i = cuda.grid(2)
    if i < h and j < c:
        for ch in range(3):
            img[i, j, ch] = 255 - img[i, j, ch]
        o2[i, j] = img[i, j, 0]

bilinear_half:
    j, i = cuda.grid(2)
    if i < h // 2 and j < c // 2:
        top = a[2 * i, 2 * j] + a[2 * i, 2 * j + 1]
        o2[i, j] = 0.25 * (top + a[2 * i + 1, 2 * j] + a[2 * i + 1, 2 * j + 1])

bilinear_up:
    j, i = cuda.grid(2)
    if i < h and j < c:
        fi = i * 0.5
        fj = j * 0.5
        p = int(fi)
        q = int(fj)
        ti = float32(fi - p)
        tj = float32(fj - q)
        top = a[p, q] * (1 - tj) + a[p, q + 1] * tj
        low = a[p + 1, q] * (1 - tj) + a[p + 1, q + 1] * tj
        o2[i, j] = top * (1 - ti) + low * ti

im2col:
    j, i = cuda.grid(2)
    if i < 9 and j < c - 2:
        o2[i, j] = a[i // 3, j + i % 3]

conv_rows_local_weights:
    w = cuda.local.array(5, float32)
    for q in range(5):
        w[q] = y[q]
    i = cuda.grid(1)
    if i < n - 4:
        s = float32(0)
        for q in range(5):
            s += w[q] * x[i + q]
        out[i] = s

conv_shared_weights:
    w = cuda.shared.array(9, float32)
    t = cuda.threadIdx.x
    if t < 9:
        w[t] = y[t]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i >= 4 and i < n - 4:
        s = float32(0)
        for q in range(9):
            s += w[q] * x[i + q - 4]
        out[i] = s

transpose_padded:
    s = cuda.shared.array((8, 9), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    j, i = cuda.grid(2)
    if i < h and j < c:
        s[ty, tx] = a[i, j]
    cuda.syncthreads()
    p = cuda.blockIdx.x * TILE + ty
    q = cuda.blockIdx.y * TILE + tx
    if p < c and q < h:
        b[p, q] = s[tx, ty]
    if i < h and j < c:
        o2[i, j] = 1

spmv_warp_a_row:
    t = cuda.grid(1)
    row = t // 32
    lane = t % 32
    if row < h - 1:
        s = float32(0)
        for q in range(ptr[row] + lane, ptr[row + 1], 32):
            s += x[q] * y[k[q]]
        for o in (16, 8, 4, 2, 1):
            s += cuda.shfl_down_sync(0xffffffff, s, o)
        if lane == 0:
            out[row] = s

spmv_thread_a_row:
    row = cuda.grid(1)
    if row < h - 1:
        s = float32(0)
        for q in range(ptr[row], ptr[row + 1]):
            s += x[q] * y[k[q]]
        out[row] = s

spmv_ell:
    row = cuda.grid(1)
    if row < h:
        s = float32(0)
        for q in range(6):
            col = k[q * h + row]
            if col >= 0:
                s += x[q * h + row] * y[col]
        out[row] = s

bfs_level:
    v = cuda.grid(1)
    if v < h - 1 and oi[v] < 25:
        for e in range(ptr[v], ptr[v + 1]):
            w = k[e]
            if oi[w] >= 25:
                cuda.atomic.min(hist, w % 16, v)

relax:
    e = cuda.grid(1)
    if e < n - 1:
        cand = oi[e] + k[e]
        if cand < oi[e + 1]:
            cuda.atomic.min(hist, e % 16, cand)

degrees:
    e = cuda.grid(1)
    if e < n:
        cuda.atomic.add(hist, k[e] % 16, 1)
        cuda.atomic.max(hist, (k[e] + 7) % 16, 2)

monte_carlo:
    i = cuda.grid(1)
    s = uint32(i + 1)
    inside = 0
    for q in range(50):
        s = lcg(s)
        p = (s >> uint32(8)) / 16777216.0
        s = lcg(s)
        r = (s >> uint32(8)) / 16777216.0
        if p * p + r * r < 1.0:
            inside += 1
    if i < n:
        oi[i] = inside

black_scholes:
    i = cuda.grid(1)
    if i < n:
        s = abs(x[i]) + 1
        q = abs(y[i]) + 1
        v = float32(0.3)
        d1 = (math.log(s / q) + (0.02 + 0.5 * v * v) * dt) / (v * math.sqrt(dt))
        d2 = d1 - v * math.sqrt(dt)
        out[i] = s * cnd(d1) - q * math.exp(-0.02 * dt) * cnd(d2)

rk4:
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        for step in range(10):
            k1 = -v * y[i]
            k2 = -(v + 0.5 * dt * k1) * y[i]
            k3 = -(v + 0.5 * dt * k2) * y[i]
            k4 = -(v + dt * k3) * y[i]
            v += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[i] = v

lennard_jones:
    i = cuda.grid(1)
    if i < n:
        f = float32(0)
        for e in range(6):
            j = k[(i + e) % n]
            if j != i:
                r2 = (x[i] - x[j]) * (x[i] - x[j]) + float32(0.5)
                inv = 1 / (r2 * r2 * r2)
                f += inv * (inv - 1) * (x[i] - x[j])
        out[i] = f

fft_stage:
    i = cuda.grid(1)
    if i < 64:
        half = 8
        p = i // half * (2 * half) + i % half
        ang = -3.14159265 * (i % half) / half
        wr = math.cos(ang)
        wi = math.sin(ang)
        q = p + half
        tr = x[q] * wr - y[q] * wi
        ti = x[q] * wi + y[q] * wr
        out[p] = x[p] + tr
        out[q] = x[p] - tr
        x[p] = y[p] + ti
        x[q] = y[p] - ti

hadamard_shared:
    s = cuda.shared.array(T, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else float32(0)
    cuda.syncthreads()
    half = 1
    while half < T:
        other = t ^ half
        v = s[t]
        w = s[other]
        cuda.syncthreads()
        s[t] = v + w if t & half == 0 else w - v
        cuda.syncthreads()
        half <<= 1
    if i < n:
        out[i] = s[t]

dct_rows:
    s = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    j, i = cuda.grid(2)
    if i < h and j < c:
        s[ty, tx] = a[i, j]
    else:
        s[ty, tx] = 0
    cuda.syncthreads()
    v = float32(0)
    for q in range(TILE):
        v += s[ty, q] * math.cos((2 * q + 1) * tx * 0.19634954)
    if i < h and j < c:
        o2[i, j] = v

popcounts:
    i = cuda.grid(1)
    if i < n:
        v = u[i]
        oi[i] = cuda.popc(v) + cuda.clz(v) - cuda.ffs(v)

gray_code:
    i = cuda.grid(1)
    if i < n:
        v = k[i]
        w = v ^ (v >> 1)
        g = 0
        while w:
            g ^= w
            w >>= 1
        oi[i] = g

xorshift:
    i = cuda.grid(1)
    if i < n:
        v = u[i]
        for q in range(4):
            v ^= v << uint32(13)
            v ^= v >> uint32(17)
            v ^= v << uint32(5)
        u[i] = v
        oi[i] = v & uint32(1023)

compact_ballot:
    t = cuda.grid(1)
    lane = t % 32
    keep = t < n and x[min(t, n - 1)] > 0
    votes = cuda.ballot_sync(0xffffffff, keep)
    before = cuda.popc(votes & ((1 << lane) - 1))
    if keep:
        oi[t // 32 * 32 + before] = t
    if lane == 0:
        cuda.atomic.add(hist, 0, cuda.popc(votes))

scan_warp:
    t = cuda.grid(1)
    lane = t % 32
    v = x[t] if t < n else float32(0)
    o = 1
    while o < 32:
        w = cuda.shfl_up_sync(0xffffffff, v, o)
        if lane >= o:
            v += w
        o *= 2
    if t < n:
        out[t] = v

softmax_warp:
    t = cuda.grid(1)
    row = t // 32
    lane = t % 32
    if row < h:
        m = float32(-1e30)
        for j in range(lane, c, 32):
            m = max(m, a[row, j])
        for o in (16, 8, 4, 2, 1):
            m = max(m, cuda.shfl_xor_sync(0xffffffff, m, o))
        s = float32(0)
        for j in range(lane, c, 32):
            s += math.exp(a[row, j] - m)
        for o in (16, 8, 4, 2, 1):
            s += cuda.shfl_xor_sync(0xffffffff, s, o)
        for j in range(lane, c, 32):
            o2[row, j] = math.exp(a[row, j] - m) / s

batch_statistics:
    j = cuda.grid(1)
    if j < c:
        s = float32(0)
        q = float32(0)
        for i in range(h):
            s += a[i, j]
            q += a[i, j] * a[i, j]
        m = s / h
        out[j] = m
        out[c + j] = q / h - m * m

batch_norm:
    j, i = cuda.grid(2)
    if i < h and j < c:
        o2[i, j] = (a[i, j] - x[j]) / math.sqrt(abs(y[j]) + 1e-5) * x[c + j] + y[c + j]

welford_double:
    i = cuda.grid(1)
    if i < h:
        m = 0.0
        s = 0.0
        for j in range(c):
            v = d[i * c + j]
            delta = v - m
            m += delta / (j + 1)
            s += delta * (v - m)
        out[i] = s / c

embedding:
    j, i = cuda.grid(2)
    if i < h and j < c:
        o2[i, j] = a[k[i] % h, j]

embedding_grad:
    j, i = cuda.grid(2)
    if i < h and j < c:
        cuda.atomic.add(o2, (k[i] % h, j), a[i, j])

one_hot:
    j, i = cuda.grid(2)
    if i < h and j < c:
        o2[i, j] = 1.0 if k[i] % c == j else 0.0

dropout:
    i = cuda.grid(1)
    if i < n:
        s = lcg(lcg(uint32(i)))
        if s < uint32(2147483648):
            out[i] = x[i] * 2
        else:
            out[i] = 0

gelu:
    i = cuda.grid(1)
    if i < n:
        out[i] = 0.5 * x[i] * (1 + math.erf(x[i] / math.sqrt(2.0)))

swish_gate:
    j, i = cuda.grid(2)
    if i < h and j < c // 2:
        g = a[i, j]
        o2[i, j] = g / (1 + math.exp(-g)) * a[i, j + c // 2]

matmul_two_by_two:
    q, p = cuda.grid(2)
    i = 2 * p
    j = 2 * q
    if i + 1 < h and j + 1 < h:
        s00 = float32(0)
        s01 = float32(0)
        s10 = float32(0)
        s11 = float32(0)
        for m in range(c):
            a0 = a[i, m]
            a1 = a[i + 1, m]
            b0 = b[m, j]
            b1 = b[m, j + 1]
            s00 += a0 * b0
            s01 += a0 * b1
            s10 += a1 * b0
            s11 += a1 * b1
        o2[i, j] = s00
        o2[i, j + 1] = s01
        o2[i + 1, j] = s10
        o2[i + 1, j + 1] = s11

matmul_local_tile:
    q, p = cuda.grid(2)
    acc = cuda.local.array((2, 2), float32)
    for r in range(2):
        for s in range(2):
            acc[r, s] = 0
    if 2 * p + 1 < h and 2 * q + 1 < h:
        for m in range(c):
            for r in range(2):
                for s in range(2):
                    acc[r, s] += a[2 * p + r, m] * b[m, 2 * q + s]
        for r in range(2):
            for s in range(2):
                o2[2 * p + r, 2 * q + s] = acc[r, s]

eliminate_row:
    j, i = cuda.grid(2)
    if 3 < i < h and 3 <= j < c:
        f = a[i, 3] / (a[3, 3] + 10)
        o2[i, j] = a[i, j] - f * a[3, j]

cholesky_column:
    i = cuda.grid(1)
    if 5 <= i < h:
        s = a[i, 5]
        for q in range(5):
            s -= o2[i, q] * o2[5, q]
        out[i] = s

trapezoids:
    s = float32(0)
    for i in range(cuda.grid(1), n - 1, cuda.gridsize(1)):
        s += (x[i] + x[i + 1]) * (y[i + 1] - y[i]) / 2
    cuda.atomic.add(out, cuda.grid(1) % n, s)

rolling_mean:
    i = cuda.grid(1)
    if i < n:
        w = h // 2
        s = float32(0)
        lo = max(0, i - w + 1)
        for q in range(lo, i + 1):
            s += x[q]
        out[i] = s / (i + 1 - lo)

unpack_nibbles:
    i = cuda.grid(1)
    if i < n // 8:
        v = u[i]
        for q in range(8):
            out[i * 8 + q] = float32((v >> uint32(4 * q)) & uint32(15)) - 8

lower_bound:
    i = cuda.grid(1)
    if i < n:
        lo = 0
        hi = h
        while lo < hi:
            mid = (lo + hi) // 2
            if ptr[mid] < k[i]:
                lo = mid + 1
            else:
                hi = mid
        oi[i] = lo

lattice_gas:
    i = cuda.grid(1)
    if i < n:
        left = x[(i + 1) % n]
        right = y[(i - 1 + n) % n]
        rho = left + right
        eq = rho * float32(0.5)
        out[i] = left + dt * (eq - left)
        d[i] = right

life_wrapped:
    j, i = cuda.grid(2)
    if i < h and j < c:
        s = 0
        for p in (-1, 0, 1):
            for q in (-1, 0, 1):
                if p != 0 or q != 0:
                    s += 1 if a[(i + p) % h, (j + q) % c] > 3 else 0
        o2[i, j] = 1 if s == 3 or (s == 2 and a[i, j] > 3) else 0

attention_row:
    i = cuda.grid(1)
    if i < h:
        m = float32(-1e30)
        l = float32(0)
        acc = cuda.local.array(4, float32)
        for f in range(4):
            acc[f] = 0
        for j in range(h):
            s = float32(0)
            for f in range(4):
                s += a[i, f] * a[j, 4 + f]
            new = max(m, s)
            old = math.exp(m - new)
            p = math.exp(s - new)
            l = l * old + p
            for f in range(4):
                acc[f] = acc[f] * old + p * a[j, 8 + f]
            m = new
        for f in range(4):
            o2[i, f] = acc[f] / l

adamw:
    i = cuda.grid(1)
    if i < n:
        g = x[i]
        m = 0.9 * y[i] + 0.1 * g
        v = 0.999 * abs(out[i]) + 0.001 * g * g
        y[i] = m
        out[i] = v
        x[i] = x[i] * (1 - 0.01 * dt) - dt * (m / 0.1) / (math.sqrt(v / 0.001) + 1e-8)

clip_gradient:
    i = cuda.grid(1)
    if i < n:
        g = x[i]
        if g > 1.0:
            g = 1.0
        elif g < -1.0:
            g = -1.0
        out[i] += g

huber:
    i = cuda.grid(1)
    if i < n:
        e = abs(x[i] - y[i])
        if e < 1:
            out[i] = 0.5 * e * e
        else:
            out[i] = e - 0.5

angles_double:
    i = cuda.grid(1)
    if i < n:
        out[i] = math.sin(d[i]) + math.cos(d[i])

angles_twice:
    i = cuda.grid(1)
    if i < n:
        out[i] = math.sin(d[i]) * math.sin(d[i])

angles_on_one_way:
    i = cuda.grid(1)
    if i < n:
        if x[i] > 0:
            out[i] = np.cos(d[i])
        else:
            out[i] = math.tan(d[i])

angles_half_turns:
    i = cuda.grid(1)
    if i < n:
        out[i] = cuda.libdevice.cospi(d[i] / 2) + cuda.libdevice.sinpi(d[i])

angles_large:
    i = cuda.grid(1)
    if i < n:
        out[i] = math.sin(float32(k[i]) * float32(1000))

angles_large_tangent:
    i = cuda.grid(1)
    if i < n:
        out[i] = math.tan(float32(k[i]) * float32(1000)) + math.cos(float32(x[i]))

angles_of_all:
    i = cuda.grid(1)
    if i < n:
        out[i] = math.cos(dt * 3.0) * x[i] + math.cos(0.5)

angles_that_no_turn_changes:
    i = cuda.grid(1)
    if i < n:
        s = 0.0
        for j in range(h):
            s += math.cos(d[i]) * x[j]
        out[i] = s

rotated:
    i = cuda.grid(1)
    if i < n:
        turn = k[i] * 0.1
        out[i] = x[i] * math.cos(turn) - y[i] * math.sin(turn)

block_maximum:
    s = cuda.shared.array(T, float32)
    w = cuda.shared.array(T, int32)
    t = cuda.threadIdx.x
    best = float32(-1e30)
    at = -1
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] > best:
            best = x[i]
            at = i
    s[t] = best
    w[t] = at
    cuda.syncthreads()
    o = T // 2
    while o > 0:
        if t < o and s[t + o] > s[t]:
            s[t] = s[t + o]
            w[t] = w[t + o]
        cuda.syncthreads()
        o //= 2
    if t == 0:
        oi[cuda.blockIdx.x] = w[0]
"""


def given():
    """Vectors, matrices, an image, pointers of rows, places for results, and how large all is."""
    rows, columns = 13, 18
    n = rows * columns
    return (
        *(ints(2, n) / 4, ints(3, n) / 4, ints(4, n, dtype="int32", low=0, high=n)),
        *(ints(5, rows, columns) / 4, ints(6, columns, rows) / 4),
        ints(7, rows, columns, 3, dtype="uint8", low=0, high=256),
        *(ints(8, n, dtype="float64") / 4, ints(9, n, dtype="uint32", low=0, high=2**20)),
        np.sort(ints(10, rows, dtype="int32", low=0, high=n)),
        *(ints(11, n) / 4, ints(12, rows, columns) / 4),
        *(ints(13, n, dtype="int32", low=0, high=50), zeros(16, dtype="int32")),
        *(n, rows, columns, np.float32(0.125)),
    )


#: Arguments that a kernel may write.
OUTPUTS = {
    "x": 0,
    "y": 1,
    "b": 4,
    "img": 5,
    "d": 6,
    "u": 7,
    "out": 9,
    "o2": 10,
    "oi": 11,
    "hist": 12,
}
for text in TEXTS.strip().split("\n\n"):
    name, body = text.split(":\n", 1)
    kernels = vars(module_of(f"application {name}", HEAD.format(name) + body + "\n"))
    launch = ((3, 2), (8, 8)) if "grid(2)" in body else None
    written = tuple(
        at
        for array, at in OUTPUTS.items()
        if re.search(rf"^ *{array}\[.*\] \S*= |atomic\.\w+\({array},", body, re.MULTILINE)
    )
    book.add(kernels[f"application_{name}"], given, written, launch=launch)
