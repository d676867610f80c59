# mypy: disable-error-code="misc, assignment"
"""Kernels with control flow that lanes of a warp disagree about, local and constant arrays."""

import numpy as np
from numba import cuda, float32

from .cases import Book, blank, ints, zeros

book = Book()
N = 500
#: turns that all lanes of a warp make
UNIFORM = np.arange(N) // 32 % 12


@book.case(lambda: (ints(1, N), zeros(N)), 1)
def parity_branch(x, out):
    i = cuda.grid(1)
    if i < out.size:
        if i % 2 == 0:
            out[i] = x[i] * 2
        else:
            out[i] = x[i] - 1


@book.case(lambda: (ints(3, N), ints(4, N), blank(N)), 2)
def parity_branch_far(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        if i % 2 == 0:
            out[i] = x[i] * 2
        else:
            out[i] = y[i] - 1


@book.case(lambda: (ints(3, N), ints(4, N), blank(N)), 2)
def warp_branch(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        if (i // 32) % 2 == 0:
            out[i] = x[i] * 2
        else:
            out[i] = y[i] - 1


@book.case(lambda: (ints(1, N), zeros(N)), 1)
def even_lanes(x, out):
    i = cuda.grid(1)
    if i < out.size and i % 2 == 0:
        out[i] = x[i]


@book.case(lambda: (ints(2, N), zeros(16)), 1)
def first_lane(x, out):
    i = cuda.grid(1)
    if cuda.laneid == 0 and i < x.size:
        out[i // 32] = x[i]


@book.case(lambda: (ints(5, N), ints(6, N), ints(7, N), blank(N)), 3)
def branch_on_data(x, a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        if x[i] > 3:
            out[i] = a[i]
        elif x[i] > -3:
            out[i] = b[i]
        else:
            out[i] = a[i] + b[i]


@cuda.jit
def trips_range(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            total += x[k * 32 + i % 32]
        out[i] = total


@cuda.jit
def trips_while(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        k = 0
        count = trips[i]
        while k < count:
            total += x[k * 32 + i % 32]
            k += 1
        out[i] = total


@book.case(lambda: (ints(10, 100), blank(100)), 1, launch=(2, 64))
def trips_triangle(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(i + 1):
            total += x[k]
        out[i] = total


@book.case(lambda: (ints(11, 200), trips(12, 12), blank(N)), 2)
def trips_nested(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i] % 3 + 1):
            for m in range(trips[(i + k) % N] % 4):
                total += x[m * 32 + (i + k) % 32]
        out[i] = total


@book.case(lambda: (trips(13, 7), zeros(7, N, dtype="int32")), 1)
def trips_store(trips, out):
    i = cuda.grid(1)
    if i < trips.size:
        for k in range(trips[i]):
            out[k, i] = k + i


@book.case(lambda: (ints(14, 10, N), blank(N)), 1)
def loop_break(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(10):
            value = x[k, i]
            if value > 6:
                break
            total += value
        out[i] = total


@book.case(lambda: (ints(15, 10, N), ints(16, 10, N), blank(N)), 2)
def loop_continue(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(10):
            if x[k, i] < 0:
                continue
            total += y[k, i]
        out[i] = total


@book.case(lambda: (ints(14, 10, N), blank(N)), 1)
def loop_return(x, out):
    i = cuda.grid(1)
    if i >= out.size:
        return
    for k in range(10):
        if x[k, i] > 5:
            out[i] = k
            return
    out[i] = -1


@book.case(lambda: (ints(14, 10, N), blank(N)), 1)
def loop_else(x, out):
    i = cuda.grid(1)
    if i < out.size:
        found = -1
        for k in range(10):
            if x[k, i] == 4:
                found = k
                break
        else:
            found = 100
        out[i] = found


@book.case(lambda: (ints(17, 10, N), blank(N), 4.0), 1)
def while_search(x, out, wanted):
    i = cuda.grid(1)
    if i < out.size:
        k = 0
        while k < x.shape[0] and x[k, i] != wanted:
            k += 1
        out[i] = k


@book.case(
    lambda: (ints(18, 50, dtype="int64", high=60), blank(50, dtype="int64")), 1, launch=(1, 64)
)
def while_true(x, out):
    i = cuda.grid(1)
    if i < out.size:
        steps = 0
        value = abs(x[i]) + 1
        while True:
            if value == 1:
                break
            if value % 2 == 0:
                value //= 2
            else:
                value = 3 * value + 1
            steps += 1
        out[i] = steps


@book.case(
    lambda: (np.arange(0, 512, 2), ints(19, N, dtype="int64", high=600), blank(N, dtype="int64")), 2
)
def binary_search(keys, x, out):
    i = cuda.grid(1)
    if i < x.size:
        low = 0
        high = keys.size
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < x[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


@book.case(
    lambda: (
        np.concatenate([[0], np.cumsum(ints(20, 200, dtype="int64", low=0, high=9))]),
        ints(21, 1600, dtype="int64", low=0, high=200),
        ints(22, 1600),
        ints(23, 200),
        blank(200),
    ),
    4,
    launch=(2, 128),
)
def sparse_rows(starts, columns, values, x, out):
    row = cuda.grid(1)
    if row < out.size:
        total = float32(0)
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        out[row] = total


def trips(seed, high):
    return ints(seed, N, dtype="int64", low=0, high=high)


for kernel in (trips_range, trips_while):
    book.add(kernel, lambda: (ints(8, 32 * 12), trips(9, 12), blank(N)), 2)
    book.add(kernel, lambda: (ints(8, 32 * 40), trips(9, 40), blank(N)), 2, tag="long")
    book.add(kernel, lambda: (ints(8, 32 * 12), UNIFORM, blank(N)), 2, tag="uniform")
