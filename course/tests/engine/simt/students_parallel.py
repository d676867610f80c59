"""Reductions, scans, sorts and searches, as students of CUDA courses write them."""

import math

import numpy as np
from numba import cuda, float32, int32, int64, uint32

TPB = 64
PAIRS = 2 * TPB
N_SORT = 64
BINS = 16
FULL = 0xFFFFFFFF


@cuda.jit
def reduce_interleaved(a, out):
    s = cuda.shared.array(TPB, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i] if i < len(a) else 0.0
    cuda.syncthreads()
    stride = 1
    while stride < TPB:
        if t % (2 * stride) == 0:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def reduce_halving(a, out):
    s = cuda.shared.array(shape=TPB, dtype=float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        total += a[i]
    s[t] = total
    cuda.syncthreads()
    half = cuda.blockDim.x >> 1
    while half:
        if t < half:
            s[t] += s[t + half]
        half >>= 1
        cuda.syncthreads()
    if not t:
        cuda.atomic.add(out, 0, s[0])


@cuda.jit(device=True)
def warp_sum(value):
    for k in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, k)
    return value


@cuda.jit
def reduce_shuffles(a, out):
    sums = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    lane = t % 32
    warp = t // 32
    total = float32(0.0)
    i = cuda.grid(1)
    while i < a.shape[0]:
        total += a[i]
        i += cuda.gridsize(1)
    total = warp_sum(total)
    if lane == 0:
        sums[warp] = total
    cuda.syncthreads()
    if warp == 0:
        total = sums[lane] if lane < cuda.blockDim.x // 32 else float32(0)
        total = warp_sum(total)
        if lane == 0:
            cuda.atomic.add(out, 0, total)


@cuda.jit
def argmax_blocks(a, best, where):
    vals = cuda.shared.array(TPB, float32)
    idxs = cuda.shared.array(TPB, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        vals[t], idxs[t] = a[i], i
    else:
        vals[t] = -math.inf
        idxs[t] = -1
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s and vals[t + s] > vals[t]:
            vals[t] = vals[t + s]
            idxs[t] = idxs[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        best[cuda.blockIdx.x] = vals[0]
        where[cuda.blockIdx.x] = idxs[0]


@cuda.jit
def histogram_private(data, bins):
    local = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, cuda.blockDim.x):
        local[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), data.size, cuda.gridsize(1)):
        cuda.atomic.add(local, data[i] % BINS, 1)
    cuda.syncthreads()
    for b in range(t, BINS, cuda.blockDim.x):
        cuda.atomic.add(bins, b, local[b])


@cuda.jit
def histogram_floats(x, xmin, xmax, out):
    nbins = out.shape[0]
    width = (xmax - xmin) / nbins
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        n = int32((x[i] - xmin) / width)
        if n >= 0 and n < nbins:
            cuda.atomic.add(out, n, 1)


@cuda.jit
def scan_double_buffered(a, out):
    buf = cuda.shared.array((2, TPB), float32)
    t = cuda.threadIdx.x
    n = a.size
    pout, pin = 0, 1
    buf[0, t] = a[t] if t < n else 0
    cuda.syncthreads()
    offset = 1
    while offset < TPB:
        pout = 1 - pout
        pin = 1 - pout
        if t >= offset:
            buf[pout, t] = buf[pin, t] + buf[pin, t - offset]
        else:
            buf[pout, t] = buf[pin, t]
        cuda.syncthreads()
        offset *= 2
    if t < n:
        out[t] = buf[pout, t]


@cuda.jit
def scan_blelloch(a, out):
    temp = cuda.shared.array(PAIRS, int32)
    t = cuda.threadIdx.x
    temp[2 * t] = a[2 * t]
    temp[2 * t + 1] = a[2 * t + 1]
    offset = 1
    d = TPB
    while d > 0:
        cuda.syncthreads()
        if t < d:
            ai = offset * (2 * t + 1) - 1
            bi = offset * (2 * t + 2) - 1
            temp[bi] += temp[ai]
        offset *= 2
        d >>= 1
    cuda.syncthreads()
    if t == 0:
        temp[2 * TPB - 1] = 0
    d = 1
    while d < 2 * TPB:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            ai = offset * (2 * t + 1) - 1
            bi = offset * (2 * t + 2) - 1
            x = temp[ai]
            temp[ai] = temp[bi]
            temp[bi] += x
        d *= 2
    cuda.syncthreads()
    out[2 * t] = temp[2 * t]
    out[2 * t + 1] = temp[2 * t + 1]


@cuda.jit
def scan_of_warp(a, out):
    i = cuda.grid(1)
    lane = cuda.laneid
    x = a[i]
    d = 1
    while d < 32:
        y = cuda.shfl_up_sync(FULL, x, d)
        if lane >= d:
            x += y
        d *= 2
    out[i] = x


@cuda.jit
def compact(a, out, count):
    i = cuda.grid(1)
    if i < a.size and a[i] > 0:
        at = cuda.atomic.add(count, 0, 1)
        out[at] = a[i]


@cuda.jit
def compact_by_ballot(a, out, counts):
    i = cuda.grid(1)
    lane = i & 31
    keep = a[i] > 0
    votes = cuda.ballot_sync(FULL, keep)
    before = cuda.popc(votes & ((1 << lane) - 1))
    if keep:
        out[(i // 32) * 32 + before] = a[i]
    if lane == 0:
        counts[i // 32] = cuda.popc(votes)


@cuda.jit
def bitonic_step(a, j, k):
    i = cuda.grid(1)
    ij = i ^ j
    if ij > i and ij < a.size:
        up = (i & k) == 0
        if (up and a[i] > a[ij]) or (not up and a[i] < a[ij]):
            tmp = a[i]
            a[i] = a[ij]
            a[ij] = tmp


@cuda.jit
def bitonic_shared(a):
    s = cuda.shared.array(N_SORT, int64)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    k = 2
    while k <= N_SORT:
        j = k >> 1
        while j > 0:
            partner = t ^ j
            if partner > t:
                if (t & k == 0) == (s[t] > s[partner]):
                    s[t], s[partner] = s[partner], s[t]
            cuda.syncthreads()
            j >>= 1
        k <<= 1
    a[t] = s[t]


@cuda.jit
def odd_even(a):
    t = cuda.threadIdx.x
    n = a.size
    for step in range(n):
        i = 2 * t + step % 2
        if i + 1 < n and a[i] > a[i + 1]:
            a[i], a[i + 1] = a[i + 1], a[i]
        cuda.syncthreads()


@cuda.jit
def rank_sort(a, out):
    i = cuda.grid(1)
    if i < a.size:
        rank = 0
        for j in range(a.size):
            rank += a[j] < a[i] or (a[j] == a[i] and j < i)
        out[rank] = a[i]


@cuda.jit
def binary_search(a, wanted, found):
    i = cuda.grid(1)
    if i >= wanted.size:
        return
    low, high = 0, a.size - 1
    found[i] = -1
    while low <= high:
        mid = (low + high) // 2
        if a[mid] == wanted[i]:
            found[i] = mid
            break
        elif a[mid] < wanted[i]:
            low = mid + 1
        else:
            high = mid - 1


@cuda.jit
def xorshift(states, out, steps):
    i = cuda.grid(1)
    if i < states.size:
        s = states[i]
        for _ in range(steps):
            s ^= uint32(s << uint32(13))
            s ^= s >> uint32(17)
            s ^= uint32(s << uint32(5))
        states[i] = s
        out[i] = s / 4294967296.0


@cuda.jit
def lcg(states):
    i = cuda.grid(1)
    x = uint32(states[i])
    x = uint32(1664525) * x + uint32(1013904223)
    states[i] = x


@cuda.jit
def monte_carlo_pi(seeds, hits, trials):
    i = cuda.grid(1)
    state = np.uint64(seeds[i])
    inside = 0
    for _ in range(trials):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        x = float32(state >> np.uint64(40)) / float32(16777216)
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        y = float32(state >> np.uint64(40)) / float32(16777216)
        if x * x + y * y <= 1.0:
            inside += 1
    cuda.atomic.add(hits, 0, inside)


@cuda.jit
def caesar(text, shift):
    i = cuda.grid(1)
    if i < text.size:
        c = text[i]
        if 97 <= c <= 122:
            text[i] = (c - 97 + shift) % 26 + 97
        elif c >= 65 and c <= 90:
            text[i] = (c - 65 + shift) % 26 + 65


@cuda.jit
def count_words(text, count):
    i = cuda.grid(1)
    if i < text.size:
        is_space = text[i] == 32
        if not is_space and (i == 0 or text[i - 1] == 32):
            cuda.atomic.add(count, 0, 1)


@cuda.jit
def gray_and_morton(gray, morton):
    i = cuda.grid(1)
    if i < gray.size:
        gray[i] = i ^ (i >> 1)
        x, y = i & 15, i >> 4
        code = 0
        for bit in range(4):
            code |= ((x >> bit) & 1) << (2 * bit) | ((y >> bit) & 1) << (2 * bit + 1)
        morton[i] = code


@cuda.jit
def popcounts(a, out):
    i = cuda.grid(1)
    n = a[i]
    c = 0
    while n:
        n &= n - 1
        c += 1
    out[i, 0] = c
    out[i, 1] = cuda.popc(a[i])
    out[i, 2] = cuda.clz(a[i])
    out[i, 3] = cuda.ffs(a[i])


@cuda.jit
def collatz(out):
    i = cuda.grid(1)
    if i >= 1 and i < out.size:
        n, steps = i, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        out[i] = steps


@cuda.jit
def greatest_common_divisor(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        out[i] = x


@cuda.jit
def primes(flags):
    i = cuda.grid(1)
    if i >= flags.size:
        return
    flags[i] = i > 1
    d = 2
    while d * d <= i:
        if i % d == 0:
            flags[i] = False
            return
        d += 1


@cuda.jit
def newton_roots(a, out):
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        for _ in range(100):
            new = 0.5 * (x + a[i] / x)
            if abs(new - x) < 1e-12:
                x = new
                break
            x = new
        else_value = x
        out[i] = else_value


@cuda.jit
def spin_lock_sum(lock, total, values):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(total, 0, values[i])
    if i == 0:
        old = cuda.atomic.cas(lock, 0, 0, 1)
        if old == 0:
            cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def float_max_by_cas(bits, values):
    """The old idiom: an atomic maximum by compare and swap on the bits of whole numbers."""
    i = cuda.grid(1)
    if i < values.size:
        done = False
        seen = cuda.atomic.add(bits, 0, 0)
        while not done:
            if values[i] <= seen:
                done = True
            else:
                old = cuda.atomic.cas(bits, 0, seen, values[i])
                done = old == seen
                seen = old
