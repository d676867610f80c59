"""Rows, columns, slices and tuples of arrays in kernels, as students of Numba write them."""

import math

from numba import cuda, float32, int32

TPB = 32
HALO = TPB + 2
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


@cuda.jit(device=True)
def total(values):
    s = float32(0)
    for v in values:
        s += v
    return s


@cuda.jit(device=True)
def inner(x, y):
    s = float32(0)
    for k in range(len(x)):
        s += x[k] * y[k]
    return s


@cuda.jit(device=True)
def scale(values, by):
    for k in range(values.shape[0]):
        values[k] *= by


@cuda.jit
def rows_by_device_function(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        out[i] = total(a[i, :])


@cuda.jit
def columns_by_device_function(a, out):
    j = cuda.grid(1)
    if j < a.shape[1]:
        out[j] = total(a[:, j])


@cuda.jit
def matmul_of_rows_and_columns(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = inner(a[i, :], b[:, j])


@cuda.jit
def stencil_by_window(x, y):
    i = cuda.grid(1)
    if i < x.size:
        window = x[max(i - 2, 0) : i + 3]
        s = float32(0)
        for v in window:
            s += v
        y[i] = s / len(window)


@cuda.jit
def scale_rows_in_place(a, by):
    i = cuda.grid(1)
    if i < a.shape[0]:
        scale(a[i], by[i])


@cuda.jit
def every_other_and_backwards(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = a[i, ::2]
        back = a[i, ::-1]
        out[i, : len(row)][0] = row[len(row) - 1]
        out[i, 1] = back[0]
        out[i][2] = back[1:][0]
        out[i, 3:] = 7


@cuda.jit
def shared_halo(x, y):
    tile = cuda.shared.array(HALO, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    inside = tile[1:-1]
    if i < x.size:
        inside[t] = x[i]
    else:
        inside[t] = 0
    if t == 0:
        tile[0] = x[i - 1] if i > 0 else 0
    if t == TPB - 1:
        tile[TPB + 1] = x[i + 1] if i + 1 < x.size else 0
    cuda.syncthreads()
    if i < x.size:
        y[i] = tile[:-2][t] + inside[t] + tile[2:][t]


@cuda.jit
def shared_rows(a, out):
    tile = cuda.shared.array((TPB, 4), float32)
    t = cuda.threadIdx.x
    for k in range(4):
        tile[t, k] = a[cuda.grid(1), k]
    cuda.syncthreads()
    lower = tile[1:, :]
    mine = lower[t] if t < TPB - 1 else tile[0]
    out[cuda.grid(1)] = total(mine)


@cuda.jit
def histogram_a_block(bins, x):
    mine = bins[cuda.blockIdx.x, :]
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(mine, x[i], 1)


@cuda.jit
def private_and_cleared(x, out):
    counts = cuda.local.array(6, int32)
    counts[:] = 0
    i = cuda.grid(1)
    if i < x.shape[0]:
        for v in x[i]:
            counts[2:][v] += 1
        for k in range(4):
            out[i, k] = counts[k + 2]


@cuda.jit
def slices_of_channels(image, grey):
    y, x = cuda.grid(2)
    if y < grey.shape[0] and x < grey.shape[1]:
        pixel = image[y, x, :3]
        weights = (0.299, 0.587, 0.114)
        s = float32(0)
        for c in range(len(pixel)):
            s += pixel[c] * weights[c]
        grey[y, x] = s


@cuda.jit
def last_axis_by_ellipsis(a, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = a[..., 1][i, j] - a[i, ..., 0][j]


@cuda.jit
def race_through_a_column(a):
    i = cuda.grid(1)
    column = a[:, 1]
    if i < a.shape[0]:
        column[0] = i


@cuda.jit
def read_beside_the_view(a):
    i = cuda.grid(1)
    left = a[: a.size // 2]
    right = a[a.size // 2 - 1 :]
    if i < left.size:
        left[i] = right[i]


@cuda.jit
def past_the_slice(a, out):
    i = cuda.grid(1)
    part = a[2:6]
    out[i] = part[i]


@cuda.jit
def never_written(out):
    tile = cuda.shared.array((4, 8), float32)
    t = cuda.threadIdx.x
    tile[1:3, t] = 1
    cuda.syncthreads()
    out[t] = tile[:, t][2] + tile[2:, t][1]


@cuda.jit
def sum_of_arrays(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        s = float32(0)
        for a in (x, y):
            s += a[i]
        out[i] = s


@cuda.jit
def arrays_in_a_tuple(parts, out):
    i = cuda.grid(1)
    if i < out.size:
        s = float32(0)
        for k in range(len(parts)):
            s += parts[k][i]
        out[i] = s - parts[0][i]


@cuda.jit
def structure_of_arrays(state, dt):
    i = cuda.grid(1)
    position, velocity = state
    if i < position.size:
        position[i] += velocity[i] * dt


@cuda.jit
def picked_from_a_tuple(x, y, out):
    i = cuda.grid(1)
    pair = (x, y)
    if i < out.size:
        out[i] = (x, y)[1][i] - pair[0][i] + pair[i % 2][i]


@cuda.jit
def ping_pong(a, b, turns):
    i = cuda.grid(1)
    buffers = (a, b)
    for turn in range(turns):
        source = buffers[turn % 2]
        target = buffers[(turn + 1) % 2]
        if i < a.size:
            target[i] = source[i] + source[(i + 1) % a.size]
        cuda.syncthreads()


@cuda.jit
def tuples_cut_and_joined(a, out):
    i, j = cuda.grid(2)
    h, w = a.shape[:2]
    offsets = (-1, 0) + (1,)
    if i < h and j < w:
        s = float32(0)
        for d in offsets[1:]:
            s += a[i, (j + d) % w, 0]
        out[i, j] = s


@cuda.jit(device=True)
def body_force(p, q, eps):
    dx, dy, dz = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    inv = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + eps)
    inv3 = inv * inv * inv
    return dx * inv3, dy * inv3, dz * inv3


@cuda.jit
def nbody(pos, mass, acc, eps):
    i = cuda.grid(1)
    if i < pos.shape[0]:
        ax = ay = az = 0.0
        for j in range(pos.shape[0]):
            fx, fy, fz = body_force(pos[i], pos[j], eps)
            ax += mass[j] * fx
            ay += mass[j] * fy
            az += mass[j] * fz
        acc[i, 0], acc[i, 1], acc[i, 2] = ax, ay, az


@cuda.jit
def heat(u, new, alpha):
    i, j = cuda.grid(2)
    n, m = u.shape
    if i < n and j < m:
        if i == 0 or j == 0 or i == n - 1 or j == m - 1:
            new[i, j] = u[i, j]
        else:
            s = 0.0
            for move in MOVES:
                s += u[i + move[0], j + move[1]]
            new[i, j] = u[i, j] + alpha * (s - 4 * u[i, j])


@cuda.jit
def kmeans_assign(points, centres, labels, sums, counts):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best, which = math.inf, -1
        for c in range(centres.shape[0]):
            d = 0.0
            for k in range(points.shape[1]):
                diff = points[i, k] - centres[c, k]
                d += diff * diff
            if d < best:
                best = d
                which = c
        labels[i] = which
        cuda.atomic.add(counts, which, 1)
        for k, v in enumerate(points[i]):
            cuda.atomic.add(sums, (which, k), v)


@cuda.jit
def polynomial(coefficients, x, y):
    i = cuda.grid(1)
    if i < x.size:
        value = 0.0
        for c in coefficients[::-1]:
            value = value * x[i] + c
        y[i] = value


@cuda.jit
def knn(train, labels, test, out):
    i = cuda.grid(1)
    if i < test.shape[0]:
        near = cuda.local.array(3, float32)
        which = cuda.local.array(3, int32)
        near[:] = 1e30
        which[:] = -1
        for j in range(train.shape[0]):
            d = float32(0)
            for a, b in zip(train[j], test[i]):  # noqa: B905  # Numba has no `strict`
                d += (a - b) ** 2
            if d < near[2]:
                p = 2
                while p > 0 and near[p - 1] > d:
                    near[p], which[p] = near[p - 1], which[p - 1]
                    p -= 1
                near[p], which[p] = d, labels[j]
        votes = 0
        for v in which:
            votes += v
        out[i] = votes >= 2


@cuda.jit
def rk4_oscillator(x0, v0, out, dt, n):
    i = cuda.grid(1)
    if i < x0.size:
        x, v = x0[i], v0[i]
        for _ in range(n):
            k1x, k1v = v, -x
            k2x, k2v = v + dt / 2 * k1v, -(x + dt / 2 * k1x)
            k3x, k3v = v + dt / 2 * k2v, -(x + dt / 2 * k2x)
            k4x, k4v = v + dt * k3v, -(x + dt * k3x)
            x += dt / 6 * (k1x + 2 * k2x + 2 * k3x + k4x)
            v += dt / 6 * (k1v + 2 * k2v + 2 * k3v + k4v)
        out[i, :][0] = x
        out[i, :][1] = v


@cuda.jit
def sum_under_a_lock(x, lock, out):
    t = cuda.threadIdx.x
    if t == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        out[0] += x[cuda.blockIdx.x]
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


LAST = -1


@cuda.jit
def last_ones(x, a, out, bins):
    tile = cuda.shared.array(TPB, float32)
    own = cuda.local.array(3, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = i
    own[LAST] = 5
    cuda.syncthreads()
    if i < out.size:
        out[i] = x[-1] + a[i, -1] + a[..., -2][i] + x[2:6][LAST] + tile[-TPB] + own[2]
        cuda.atomic.add(bins, -1, 1)
        if i == 0:
            bins[-3] = 7


@cuda.jit
def beyond_the_first(x, out):
    out[0] = x[-11]
