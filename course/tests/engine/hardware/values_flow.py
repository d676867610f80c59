# mypy: disable-error-code="misc, assignment"
"""Kernels whose results hang on how Numba types variables: branches, loops, narrow stores."""

import numpy as np
from numba import cuda, float32, int32, uint8

from .cases import Book, blank, ints
from .values import alike, put, rows_pair

book = Book(None)


def lanes(count):
    """What makes (a, b, ints, floats) of small whole numbers of two types."""
    return lambda first, second: (
        ints(1, 64, dtype=first),
        ints(2, 64, dtype=second),
        *rows_pair(count, 64),
    )


TYPES = alike("int8", "int32", "int64", "float32", "float64", "uint8", "uint64")


def reals(seed, n, dtype):
    """Normal random numbers, not whole, so that rounding shows."""
    return np.random.default_rng(seed).normal(0, 3, n).astype(dtype)


@book.each(
    (
        *(*TYPES, ("float32", "float64"), ("int32", "uint32")),
        *(("int64", "float32"), ("int64", "uint64")),
    ),
    lanes(7),
    (2, 3),
)
def value_unify_branch(a, b, ints, floats):
    i = cuda.grid(1)
    if a[i] > 0:
        value = 1
    else:
        value = 2.5
    put(ints, floats, 0, i, value)
    if a[i] > 1:
        other = a[i]
    else:
        other = b[i]
    put(ints, floats, 1, i, other)
    if a[i] > 2:
        flag = True
    else:
        flag = 3
    put(ints, floats, 2, i, flag)
    choice = a[i] if b[i] > 0 else 1.5
    put(ints, floats, 3, i, choice)
    whole = a[i] if b[i] > 0 else 7
    put(ints, floats, 4, i, whole + 300)
    put(ints, floats, 5, i, value + 1)
    third = a[i]
    if b[i] > 3:
        third = 1000
    put(ints, floats, 6, i, third)


@book.each(TYPES, lanes(8), (2, 3))
def value_unify_loop(a, b, ints, floats):
    i = cuda.grid(1)
    total = 0
    for k in range(5):
        total += a[k] * b[i]
    put(ints, floats, 0, i, total)
    product = 1
    for k in range(30):
        product *= 3
    put(ints, floats, 1, i, product)
    mean = 0
    for k in range(3):
        mean = mean + a[k] / 2
    put(ints, floats, 2, i, mean)
    small = uint8(200)
    for k in range(3):
        small += uint8(50)
    put(ints, floats, 3, i, small)
    narrow = int32(2000000000)
    for k in range(2):
        narrow = narrow + int32(2000000000)
    put(ints, floats, 4, i, narrow)
    single = float32(0.1)
    for k in range(10):
        single += float32(0.1)
    put(ints, floats, 5, i, single)
    double = 0.1
    for k in range(10):
        double += float32(0.1)
    put(ints, floats, 6, i, double)
    mixed = float32(0)
    for k in range(10):
        mixed += 0.1
    put(ints, floats, 7, i, mixed)


@book.each((*TYPES, ("int32", "float32")), lanes(7), (2, 3))
def value_swap(a, b, ints, floats):
    i = cuda.grid(1)
    left, right = a[i], b[i]
    left, right = right, left
    put(ints, floats, 0, i, left)
    put(ints, floats, 1, i, right)
    left, right = right, left + right
    put(ints, floats, 2, i, right)
    (p, q), r = (1, left), 3.5
    put(ints, floats, 3, i, p + q + r)
    pair = (left, right)
    put(ints, floats, 4, i, pair[0] - pair[1])
    put(ints, floats, 5, i, len(pair))
    x = y = left
    x += 1
    put(ints, floats, 6, i, x * y)


@book.each(TYPES, lanes(17), (2, 3))
def value_logic(a, b, ints, floats):
    i = cuda.grid(1)
    yes = a[i] > 0
    no = b[i] > 0
    put(ints, floats, 0, i, yes + no)
    put(ints, floats, 1, i, yes * 5)
    put(ints, floats, 2, i, yes - no)
    put(ints, floats, 3, i, yes & no)
    put(ints, floats, 4, i, yes | no)
    put(ints, floats, 5, i, yes ^ no)
    put(ints, floats, 6, i, not yes)
    put(ints, floats, 7, i, yes and no)
    put(ints, floats, 8, i, yes or no)
    put(ints, floats, 9, i, yes == no)
    put(ints, floats, 10, i, True + True)
    put(ints, floats, 11, i, yes / 2)
    put(ints, floats, 12, i, (a[i] > 0) * a[i])
    put(ints, floats, 13, i, 0 < a[i] <= b[i] < 100)
    put(ints, floats, 14, i, a[i] < b[i] != no)
    put(ints, floats, 15, i, ~yes)
    put(ints, floats, 16, i, -yes)


@book.each(alike("int64", "int32", "int8", "uint8"), lanes(11), (2, 3))
def value_range(a, b, ints, floats):
    i = cuda.grid(1)
    count = 0
    last = -99
    for k in range(a[i], b[i]):
        count += 1
        last = k
    put(ints, floats, 0, i, count)
    put(ints, floats, 1, i, last)
    count = 0
    last = -99
    for k in range(a[i], b[i], -1):
        count += 1
        last = k
    put(ints, floats, 2, i, count)
    put(ints, floats, 3, i, last)
    count = 0
    last = -99
    step = 2 if i % 2 == 0 else -2
    for k in range(a[i], b[i], step):
        count += k
        last = k
    put(ints, floats, 4, i, count)
    put(ints, floats, 5, i, last)
    last = -99
    for last in range(4):
        pass
    put(ints, floats, 6, i, last)
    k = 50
    for k in range(b[i]):
        if k == 3:
            break
    put(ints, floats, 7, i, k)
    for m in range(10, 0, -3):
        count = m
        m = 100
    put(ints, floats, 8, i, count)
    put(ints, floats, 9, i, m)
    total = 0
    for p in range(3):
        for q in range(p, 3):
            total = total * 10 + q
    put(ints, floats, 10, i, total)


@book.each(alike("int64"), lanes(1), (2, 3))
def value_range_zero_step(a, b, ints, floats):
    i = cuda.grid(1)
    count = 0
    for _ in range(0, 10, b[i] - b[i]):
        count += 1
        if count > 20:
            break
    put(ints, floats, 0, i, count)


@book.each(
    ("int64", "uint8", "int32"),
    lambda dtype: (
        ints(1, 64, dtype=dtype),
        ints(2, 64, dtype=dtype),
        ints(3, 64, dtype="uint8", high=256),
        ints(4, 64, dtype="int8", low=-128, high=128),
        ints(5, 64),
        ints(6, 64, dtype="int64", low=-100, high=100),
    ),
    (2, 3, 4, 5),
)
def value_augment(a, b, small, tiny, single, whole):
    i = cuda.grid(1)
    small[i] += 300
    tiny[i] -= 10
    single[i] += 0.1
    single[i] *= 3
    whole[i] += 2.7
    small[i] *= a[i]
    whole[i] //= 2
    tiny[i] >>= 1
    tiny[i] |= 3
    whole[i] -= b[i]


@book.each(alike("float32"), lanes(10), (2, 3))
def value_index_types(a, b, ints, floats):
    i = cuda.threadIdx.x
    put(ints, floats, 0, i, cuda.threadIdx.x - 100)
    put(ints, floats, 1, i, cuda.threadIdx.x * 100000000)
    put(ints, floats, 2, i, cuda.grid(1) * 100000000)
    put(ints, floats, 3, i, cuda.blockDim.x * cuda.threadIdx.x * 100000000)
    put(ints, floats, 4, i, (cuda.threadIdx.x - 5) // 2)
    put(ints, floats, 5, i, (cuda.threadIdx.x - 5) % 4)
    put(ints, floats, 6, i, a.size * 100000000)
    put(ints, floats, 7, i, a.shape[0] - 1000)
    put(ints, floats, 8, i, len(a) * 1.5)
    put(ints, floats, 9, i, (cuda.blockDim.x - 128) // 3)


@book.each(
    ("float32", "float64"),
    lambda dtype: (reals(1, 128, dtype), reals(2, 128, dtype), blank(8, 128, dtype=dtype)),
    2,
    launch=(2, 64),
)
def value_fused(a, b, out):
    i = cuda.grid(1)
    out[0, i] = a[i] * b[i] + a[i]
    out[1, i] = a[i] * b[i] - b[i] * a[i]
    product = a[i] * b[i]
    out[2, i] = product - a[i]
    out[3, i] = a[i] / b[i]
    out[4, i] = 1 / a[i]
    total = a[i]
    for k in range(8):
        total = total * b[i] + a[k]
    out[5, i] = total
    out[6, i] = a[i] * a[i] + b[i] * b[i]
    out[7, i] = a[i] ** 2 + b[i]


@book.case(
    lambda: (
        *(reals(seed, 64, "float16") for seed in (3, 4)),
        blank(6, 64, dtype="float16"),
        blank(3, 64),
    ),
    (2, 3),
)
def value_half(a, b, out, wide):
    i = cuda.grid(1)
    out[0, i] = a[i] + b[i]
    out[1, i] = a[i] * b[i]
    out[2, i] = a[i] - 1
    out[3, i] = float32(a[i]) * float32(b[i])
    out[4, i] = 70000.0
    out[5, i] = i
    wide[0, i] = a[i] * b[i]
    wide[1, i] = float32(a[i]) + 1
    wide[2, i] = a[i]
