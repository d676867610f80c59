# mypy: disable-error-code="misc, assignment"
"""Kernels with local and constant arrays, device functions, indexing."""

import math

import numpy as np
from numba import cuda, float32, int32

from .cases import Book, blank, ints, zeros

book = Book()
N = 500
WEIGHTS = np.array([1.0, 2.0, 4.0, 8.0, 16.0], dtype=np.float32)
TABLE = np.arange(12, dtype=np.int32).reshape(3, 4)
SCALE = 3


@book.case(lambda: (ints(24, N + 3), blank(N)), 1)
def local_constant(x, out):
    i = cuda.grid(1)
    window = cuda.local.array(4, float32)
    if i < out.size:
        for k in range(4):
            window[k] = x[i + k]
        out[i] = window[0] - window[1] + window[2] * window[3]


@book.case(lambda: (ints(25, 8), ints(26, N, dtype="int64", low=0, high=8), blank(N)), 2)
def local_dynamic(x, index, out):
    i = cuda.grid(1)
    window = cuda.local.array(8, float32)
    if i < out.size:
        for k in range(8):
            window[k] = x[k] + i
        out[i] = window[index[i]]


@book.case(
    lambda: (ints(27, 100, 8, dtype="int32"), blank(100, 8, dtype="int32")), 1, launch=(2, 64)
)
def local_sort(x, out):
    i = cuda.grid(1)
    cells = cuda.local.array(8, int32)
    if i < x.shape[0]:
        for k in range(8):
            cells[k] = x[i, k]
        for k in range(1, 8):
            value = cells[k]
            m = k - 1
            while m >= 0 and cells[m] > value:
                cells[m + 1] = cells[m]
                m -= 1
            cells[m + 1] = value
        for k in range(8):
            out[i, k] = cells[k]


@book.case(lambda: (ints(28, N + 4), blank(N)), 1)
def constant_uniform(x, out):
    weights = cuda.const.array_like(WEIGHTS)
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(5):
            total += weights[k] * x[i + k]
        out[i] = total


@book.case(lambda: (ints(29, N), blank(N)), 1)
def constant_lanes(x, out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[i % 3, (i // 3) % 4] * x[i] + SCALE


@book.case(lambda: (ints(30, N), blank(N)), 1)
def global_array(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = WEIGHTS[i % 5] * x[i]


@cuda.jit(device=True)
def square(value):
    return value * value


@cuda.jit(device=True)
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value


@cuda.jit(device=True)
def load_pair(x, i):
    return x[i], x[i + 1]


@cuda.jit(device=True)
def store_at(out, i, value):
    out[i] = value


@book.case(lambda: (ints(31, N), blank(N)), 1)
def device_simple(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = square(x[i]) + square(i)


@book.case(lambda: (ints(32, N), blank(N)), 1)
def device_branches(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = clamp(x[i], -3, 4)


@book.case(lambda: (ints(33, N + 1), blank(N)), 1)
def device_memory(x, out):
    i = cuda.grid(1)
    if i < out.size:
        left, right = load_pair(x, i)
        store_at(out, i, left * right)


@book.case(lambda: (ints(34, 100, 12), blank(100)), 1, launch=(2, 64))
def index_row_view(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        total = float32(0)
        row = x[i]
        for k in range(row.size):
            total += row[k]
        out[i] = total


@book.case(lambda: (ints(35, 50, 12), blank(50, 12)), 1, launch=((4, 2), (16, 8)))
def index_chained(x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i][j] = x[i][j] + x.ndim


@book.case(lambda: (ints(36, 100, 8), blank(100)), 1, launch=(2, 64))
def index_slice(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        part = x[i, 2:6]
        out[i] = part[0] + part[3] + len(part)


@book.case(lambda: (ints(37, 100), blank(100)), 1, launch=(2, 64))
def index_negative(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[-1] + x[-1 - i]


@book.case(lambda: (ints(37, 100), blank(100)), 1, launch=(2, 64))
def index_last(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[-1] + x[i] + x[-100]


@book.case(lambda: (ints(38, 100, 2), blank(100, 2)), 1, launch=(2, 64))
def index_tuple(x, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        where = (i, 1)
        out[where] = x[where] * 2
        out[i, 0] = len(x) + x.size


@book.case(lambda: (ints(39, N), blank(N)), 1)
def special_rows(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(abs(x[i])) if x[i] > 0 else math.exp(x[i])


@book.case(lambda: (blank(7, 120, dtype="int64"),), 0, launch=(3, 40))
def positions(out):
    i = cuda.grid(1)
    out[0, i] = cuda.threadIdx.x + 1000 * cuda.threadIdx.y
    out[1, i] = cuda.blockIdx.x
    out[2, i] = cuda.blockDim.x + 1000 * cuda.blockDim.y
    out[3, i] = cuda.gridDim.x
    out[4, i] = cuda.gridsize(1)
    out[5, i] = cuda.laneid
    out[6, i] = cuda.warpsize


@book.case(lambda: (ints(40, N), blank(N), 17), 1)
def repeat_multiply(x, out, rounds):
    i = cuda.grid(1)
    if i < out.size:
        value = x[i]
        for _ in range(rounds):
            value = value * float32(0.5) + float32(1.0)
        out[i] = value


@book.case(lambda: (ints(41, N, dtype="float16"), blank(N, dtype="float16")), 1)
def half_storage(x, out):
    i = cuda.grid(1)
    if i < out.size:
        value = float32(x[i])
        out[i] = value * float32(2) + float32(1)


@book.case(lambda: (ints(42, N + 2), blank(N)), 1)
def three_trips_unrolled(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(3):
            if x[i + k] > 0:
                total += x[i + k]
        out[i] = total


@book.case(lambda: (ints(43, N), ints(44, N), zeros(N)), 2)
def exit_in_middle(x, y, out):
    i = cuda.grid(1)
    if i >= out.size or x[i] < -5:
        return
    value = y[i]
    if value < 0:
        return
    out[i] = value + x[i]
