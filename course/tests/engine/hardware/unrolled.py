# mypy: disable-error-code="misc, assignment"
"""Loops whose trip counts differ between the lanes of a warp, in the shapes compilers unroll."""

from numba import cuda, float32

from .cases import Book, blank, ints, zeros

book = Book()
N = 500
LIMIT = 20


def trips(seed, high):
    return ints(seed, N, dtype="int64", low=0, high=high)


def with_trips():
    return ints(1, FLAT), trips(2, LIMIT), blank(N)


@book.case(lambda: (ints(1, FLAT), ints(3, 24, N), trips(2, LIMIT), blank(N)), 3)
def unroll_two_loads(x, y, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            total += x[k * 32 + i % 32] * y[k, i]
        out[i] = total


@book.case(with_trips, 2)
def unroll_if_inside(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            if (i + k) % 3 == 0:
                total += x[k * 32 + i % 32]
        out[i] = total


@book.case(lambda: (ints(1, FLAT), ints(3, 24, N), trips(2, LIMIT), blank(N)), 3)
def unroll_if_on_load(x, y, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            if x[k * 32 + i % 32] > 0:
                total += y[k, i]
        out[i] = total


@book.case(with_trips, 2)
def unroll_inner_constant(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            for m in range(3):
                total += x[k * 32 + (i + m) % 32]
        out[i] = total


@book.case(lambda: (*with_trips(), 5), 2)
def unroll_inner_runtime(x, trips, out, rounds):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            for m in range(rounds):
                total += x[k * 32 + (i + m) % 32]
        out[i] = total


@book.case(lambda: (ints(4, 10, N), blank(N), 10), 1)
def unroll_break_runtime(x, out, rounds):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(rounds):
            value = x[k, i]
            if value > 6:
                break
            total += value
        out[i] = total


@book.case(lambda: (ints(5, 2100, dtype="int32"), blank(512, dtype="int64")), 1)
def unroll_whole_total(x, out):
    i = cuda.grid(1)
    total = 0
    for k in range(i, x.size, cuda.gridsize(1)):
        total += x[k]
    out[i] = total


@book.case(with_trips, 2)
def unroll_count_from_one(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(1, trips[i]):
            total += x[k * 32 + i % 32]
        out[i] = total


@book.case(with_trips, 2)
def unroll_count_down(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i] - 1, -1, -1):
            total += x[k * 32 + i % 32]
        out[i] = total


@book.case(with_trips, 2)
def unroll_step_two(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(0, trips[i], 2):
            total += x[k * 32 + i % 32]
        out[i] = total


@book.case(with_trips, 2)
def unroll_between(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i] // 2, trips[i] + 3):
            total += x[k * 32 + i % 32]
        out[i] = total


@book.case(lambda: (ints(6, 2100), blank(N)), 1)
def unroll_while_lane_start(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        k = i
        while k < x.size:
            total += x[k]
            k += 300
        out[i] = total


@book.case(with_trips, 2)
def unroll_while_down(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        k = trips[i]
        while k > 0:
            k -= 1
            total += x[k * 32 + i % 32]
        out[i] = total


@book.case(lambda: (ints(7, N), blank(N)), 1)
def unroll_while_halving(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        k = i
        while k > 0:
            total += x[k]
            k //= 2
        out[i] = total


@book.case(lambda: (trips(2, 7), ints(1, FLAT), zeros(7, N)), 2)
def unroll_store(trips, x, out):
    i = cuda.grid(1)
    if i < trips.size:
        for k in range(trips[i]):
            out[k, i] = x[k * 32 + i % 32] + 1


@book.case(lambda: (trips(2, 7), zeros(FLAT)), 1)
def unroll_atomic(trips, out):
    i = cuda.grid(1)
    if i < trips.size:
        for k in range(trips[i]):
            cuda.atomic.add(out, k * 32 + i % 32, 1.0)


@book.case(lambda: (ints(8, LIMIT, 5, N), trips(2, LIMIT), blank(N)), 2)
def unroll_five_loads(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            total += x[k, 0, i] * x[k, 1, i] + x[k, 2, i] * x[k, 3, i] - x[k, 4, i]
        out[i] = total


@book.case(with_trips, 2)
def unroll_capped(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(min(trips[i], LIMIT)):
            total += x[k * 32 + i % 32]
        out[i] = total


@book.case(with_trips, 2)
def unroll_device_loop(x, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = lane_sum(x, trips[i], i % 32)


@cuda.jit(device=True)
def lane_sum(x, count, lane):
    total = float32(0)
    for k in range(count):
        total += x[k * 32 + lane]
    return total


FLAT = 32 * 24
