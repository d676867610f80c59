# mypy: disable-error-code="misc, assignment"
"""Loops whose trip counts differ between the lanes of a warp, in the shapes compilers unroll."""

from numba import cuda, float32

from course.tests.written import module_of

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

#: By name: a statement of a loop's, how often it stands there, and in which of them `@` is which.
GROWING = {
    "products": ("v = v * float32(1.5) + float32(@)", (5, 15, 25, 50)),
    "choices": ("v = v if v > @ else v + float32(2)", (4, 12, 18, 32)),
    "branches": ("if v > @:\n                v += y[k * 32 + @]", (2, 5, 8, 12)),
    "exponentials": ("v = math.exp(v * float32(0.1)) + float32(@)", (1, 2, 3, 6)),
    "logarithms": ("v = math.log(v + float32(20)) + float32(@)", (1, 2, 3)),
    "sines": ("v = math.sin(v) + float32(@)", (1,)),
    "quotients": ("v = v / (v + float32(99.5)) + float32(@)", (3, 8, 12, 24)),
    "places": ("v += x[(k + @) % 12 * 32]", (1, 2, 4, 8)),
    "rows": ("v += y[k * @ + i % 7]", (2, 6, 10, 16)),
    "stores": ("z[i, k % 4] = v + @", (1, 3)),
}
GROWN = """import math
from numba import cuda, float32

@cuda.jit
def unroll_{}(x, y, z, trips, out):
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(trips[i]):
            v = x[k * 32 + i % 32]
{}
            total += v
        out[i] = total
"""


def with_more():
    return ints(1, FLAT), ints(4, FLAT), blank(N, 4), trips(2, LIMIT), blank(N)


for kind, (statement, counts) in GROWING.items():
    for count in counts:
        name = f"{count}_{kind}"
        lines = [" " * 12 + statement.replace("@", str(at)) for at in range(count)]
        source = GROWN.format(name, "\n".join(lines))
        written = (2, 4) if kind == "stores" else 4
        book.add(vars(module_of(name, source))[f"unroll_{name}"], with_more, written)

#: By name: a statement in a loop of a known number of turns, and how many.
WRITTEN = {
    "quarters": ("total += x[i + k // 8] * y[k % 4]", (8, 16, 24)),
    "exponentials_of_few": ("total = total + math.exp(x[i + k // 4]) * y[k % 3]", (6, 12)),
    "halves": ("if k % 8 < 5:\n                total += x[i + k // 8]", (8, 16, 24)),
    "eighths": ("total += x[i + k // 8]", (16, 24, 32, 48)),
}
for kind, (statement, counts) in WRITTEN.items():
    for count in counts:
        name = f"{count}_{kind}"
        source = GROWN.format(name, " " * 12 + statement).replace("trips[i]", str(count))
        source = source.replace("            v = x[k * 32 + i % 32]\n", "").replace(
            " += v", " += 1"
        )
        book.add(vars(module_of(name, source))[f"unroll_{name}"], with_more, 4)
