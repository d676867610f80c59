# mypy: disable-error-code="misc, assignment"
"""Kernels that load or accumulate one address in every round of a loop."""

from numba import cuda, float32

from .cases import blank, ints, zeros
from .merge import ROUNDS, N, book, loads_and_out, one, rounds_out, rounds_zero

# ---- loops ----------------------------------------------------------------------------


def product():
    return ints(4, 32, 24), ints(5, 24, 32), zeros(32, 32)


def rounds_rows():
    return one(1), one(2), blank(ROUNDS, N), ROUNDS


@book.case(loads_and_out, 2, (20, 1))
def merge_invariant_constant_trips(x, y, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(ROUNDS):
        total += x[i] * y[k]
    out[i] = total


@book.case(lambda: (one(1), one(2), blank(N), 1), 2, (2, 1), tag="one_trip")
@book.case(lambda: (one(1), one(2), blank(N), 0), 2, (0, 1), tag="no_trips")
@book.case(rounds_out, 2, (20, 1))
def merge_invariant(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        total += x[i] * y[k]
    out[i] = total


@book.case(rounds_out, 2, (20, 1))
def merge_invariant_while(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    k = 0
    while k < rounds:
        total += x[i] * y[k]
        k += 1
    out[i] = total


@book.case(rounds_out, 2)
def merge_invariant_under_if(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        if y[k] > 0:
            total += x[i] * k
    out[i] = total


@book.case(rounds_out, 2)
def merge_invariant_under_lane_if(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        if (i + k) % 3 == 0:
            total += x[i] * k
    out[i] = total


@book.case(rounds_rows, 2, (20, 10))
def merge_invariant_with_store(x, y, out, rounds):
    i = cuda.grid(1)
    for k in range(rounds):
        out[k, i] = x[i] * y[k]


@book.case(rounds_out, 2, (20, 1))
def merge_invariant_with_shared(x, y, out, rounds):
    cache = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        cache[t] = x[i] * y[k]
        total += cache[t] + 1
    out[i] = total


@book.case(rounds_out, 2, (20, 1))
def merge_invariant_with_barrier(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        total += x[i] * y[k]
        cuda.syncthreads()
    out[i] = total


@book.case(lambda: (one(1), one(2), blank(N), zeros(N), ROUNDS), (2, 3), (20, 1))
def merge_invariant_with_atomic(x, y, out, other, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        total += x[i]
        cuda.atomic.add(other, i, x[i])
    out[i] = total


@book.case(rounds_zero, 2, (30, 10))
def merge_accumulate(x, y, out, rounds):
    i = cuda.grid(1)
    for k in range(rounds):
        out[i] += x[i] * y[k]


@book.case(lambda: (one(1), one(2), zeros(N)), 2, (30, 10))
def merge_accumulate_constant_trips(x, y, out):
    i = cuda.grid(1)
    for k in range(ROUNDS):
        out[i] += x[i] * y[k]


@book.case(rounds_out, 2, (20, 11))
def merge_accumulate_zeroed(x, y, out, rounds):
    i = cuda.grid(1)
    out[i] = 0
    for k in range(rounds):
        out[i] += y[k]


@book.case(rounds_zero, 2, (10, 10))
def merge_accumulate_constant(x, y, out, rounds):
    i = cuda.grid(1)
    for k in range(rounds):
        out[i] += 2


@book.case(product, 2, (72, 24), launch=((2, 4), (16, 8)))
def merge_accumulate_2d(a, b, c):
    column, row = cuda.grid(2)
    for k in range(a.shape[1]):
        c[row, column] += a[row, k] * b[k, column]


@book.case(rounds_out, 2, (20, 1))
def merge_accumulate_shared(x, y, out, rounds):
    cache = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cache[t] = 0
    for k in range(rounds):
        cache[t] += x[i] * y[k]
    out[i] = cache[t]


@book.case(rounds_out, 2, (40, 1))
def merge_consecutive_loops(x, y, out, rounds):
    i = cuda.grid(1)
    first = float32(0)
    for k in range(rounds):
        first += x[i] * y[k]
    second = float32(0)
    for k in range(rounds):
        second += x[i] - y[k]
    out[i] = first * second


@book.case(rounds_out, 2, (22, 1))
def merge_before_and_in_loop(x, y, out, rounds):
    i = cuda.grid(1)
    total = x[i]
    for k in range(rounds):
        total += x[i] * y[k]
    out[i] = total + x[i]


@book.case(rounds_out, 2, (80, 1))
def merge_nested_invariant(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        for m in range(4):
            total += x[(i + k) % N] * y[m]
    out[i] = total


@book.case(rounds_out, 2, (200, 1))
def merge_nested_invariant_runtime(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        for m in range(rounds):
            total += x[(i + k) % N] * y[m]
    out[i] = total


@book.case(loads_and_out, 2, (8, 1))
def merge_unrolled_overlap(x, y, out):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(4):
        total += x[(i + k) % N] * x[(i + k + 1) % N]
    out[i] = total


@book.case(lambda: (ints(1, N + 11), one(2), blank(N), ROUNDS), 2, (20, 1))
def merge_sliding_pair(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        total += x[i + k] * x[i + k + 1]
    out[i] = total


@book.case(rounds_rows, 2, (19, 10))
def merge_recurrence(x, y, out, rounds):
    i = cuda.grid(1)
    out[0, i] = x[i]
    for k in range(1, rounds):
        out[k, i] = out[k - 1, i] + y[k]


@book.case(rounds_rows, 2, (20, 11))
def merge_written_then_read(x, y, out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(rounds):
        out[k, i] = x[i] + k
        total += out[k, i]
    out[0, i] = total


@book.case(
    lambda: (one(1), one(2), blank(N), ints(3, 1, dtype="int64", low=10, high=11)), 2, (21, 1)
)
def merge_loop_bound(x, y, out, bound):
    i = cuda.grid(1)
    k = 0
    total = float32(0)
    while k < bound[0]:
        total += y[k]
        k += 1
    out[i] = total


@book.case(
    lambda: (one(1), one(2), blank(10, N), ints(3, 1, dtype="int64", low=10, high=11)), 2, (21, 10)
)
def merge_loop_bound_store(x, y, out, bound):
    i = cuda.grid(1)
    k = 0
    while k < bound[0]:
        out[k, i] = y[k]
        k += 1


@book.case(rounds_out, 2, (20, 1))
def merge_while_condition(x, y, out, rounds):
    i = cuda.grid(1)
    k = 0
    total = float32(0)
    while k < rounds and y[k] > -100:
        total += y[k]
        k += 1
    out[i] = total


@book.case(loads_and_out, 2)
def merge_while_shrink(x, y, out):
    i = cuda.grid(1)
    total = float32(0)
    j = i
    while x[j] > 2:
        total += x[j]
        j = (j + 32) % N
    out[i] = total


@book.case(product, 2, (72, 25), launch=((2, 4), (16, 8)))
def merge_matmul_row_in_out(a, b, c):
    column, row = cuda.grid(2)
    c[row, column] = 0
    for k in range(a.shape[1]):
        c[row, column] = c[row, column] + a[row, k] * b[k, column]
