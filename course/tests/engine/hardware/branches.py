"""Loads in branches and behind them: which are made once, and by whom."""

import numpy as np
from numba import cuda, float32

from .cases import Book, order

book = Book((4, 128))


def three():
    x, y = order(1, 520).astype(np.float32), (order(2, 520) - 260).astype(np.float32)
    return x, y, np.zeros(512, np.float32)


@book.case(three, 2)
@cuda.jit
def branch_y(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if y[i] > 0:
        v = x[i] * 2
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_i(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v = x[i] * 2
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_i_added(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v += x[i]
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_other_before(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    b = y[i]
    if i > 300:
        v += x[i]
    out[i] = v + x[i] + b


@book.case(three, 2)
@cuda.jit
def branch_two_ifs(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i < 150:
        v += 1
    if i > 300:
        v += x[i]
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_two_ifs_load(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i < 150:
        v += x[i]
    if i > 300:
        v += x[i]
    out[i] = v


@book.case(three, 2)
@cuda.jit
def branch_two_ifs_load_behind(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i < 150:
        v += x[i]
    if i > 300:
        v += x[i]
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_y_between(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v += x[i]
    b = y[i]
    out[i] = v + x[i] + b


@book.case(three, 2)
@cuda.jit
def branch_y_behind(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v += x[i]
    a = x[i]
    out[i] = v + a + y[i]


@book.case(three, 2)
@cuda.jit
def branch_stored_before(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    out[i] = 1
    if i > 300:
        v += x[i]
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_else_other(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v += x[i]
    else:
        v += y[i]
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_else_number(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v += x[i]
    else:
        v += 1
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_even(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i % 2 == 0:
        v = x[i] * 2
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_bit(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i & 1:
        v = x[i] * 2
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_size(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i < x.size - 100:
        v = x[i] * 2
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_thread(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if cuda.threadIdx.x > 40:
        v = x[i] * 2
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_y_first(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if y[0] > -40:
        v = x[i] * 2
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_both(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v = x[i] * 2
    else:
        v = x[i] + 3
    out[i] = v


@book.case(three, 2)
@cuda.jit
def branch_both_uneven(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v = x[i] * 2
    else:
        v = x[i] * y[i]
    out[i] = v


@book.case(three, 2)
@cuda.jit
def branch_both_uneven_y(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if y[i] > 0:
        v = x[i] * 2
    else:
        v = x[i] * y[i + 1]
    out[i] = v


@book.case(three, 2)
@cuda.jit
def branch_two_in_arm(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v = x[i] * 2
        v += y[i]
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_two_in_arm_y(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if y[i] > 0:
        v = x[i] * 2
        v += y[i + 1]
    out[i] = v + x[i]


@book.case(three, 2)
@cuda.jit
def branch_next(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if y[i] > 0:
        v = x[i + 1] * 2
    out[i] = v + x[i + 1]


@book.case(three, 2)
@cuda.jit
def branch_store_in_arm(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    a = x[i]
    if i > 300:
        out[i] = 1
    v = x[i]
    out[i] = v + a


@book.case(three, 2)
@cuda.jit
def branch_store_in_arm_y(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    a = x[i]
    if y[i] > 0:
        out[i] = 1
    v = x[i]
    out[i] = v + a


@book.case(three, 2)
@cuda.jit
def branch_stores_in_both(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    a = x[i]
    if i > 300:
        out[i] = 1
    else:
        out[i] = a
    v = x[i]
    out[i] = v + a


@book.case(three, 2)
@cuda.jit
def branch_store_in_else(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    a = x[i]
    if i > 300:
        v = a + 1
    else:
        out[i] = a
    v += x[i]
    out[i] = v + a


@book.case(three, 2)
@cuda.jit
def branch_store_in_inner(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    a = x[i]
    if i > 100:
        if i > 300:
            out[i] = 1
        v = a + 1
    v += x[i]
    out[i] = v + a


@book.case(three, 2)
@cuda.jit
def branch_load_in_arm_store_in_other(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i > 300:
        v = x[i] + 1
    else:
        out[i] = 1
    v += x[i]
    out[i] = v


@book.case(three, 2)
@cuda.jit
def branch_elif_stores(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    a = x[i]
    if i > 300:
        out[i] = 1
    elif i > 100:
        v = a + 1
    else:
        v = a + 2
    v += x[i]
    out[i] = v + a


@book.case(three, 2)
@cuda.jit
def branch_in_a_loop(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    for k in range(3):
        a = x[i + k]
        if i > 300:
            out[i] = a
        v += x[i + k] + a
    out[i] = v


@book.case(three, 2)
@cuda.jit
def branch_guarded(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
    if i < 500:
        a = x[i]
        if a > 3:
            out[i] = a
        v = x[i] * 2
        out[i] = v
