"""Loads in branches and behind them: which are made once, and by whom."""

import numpy as np

from course.tests.written import module_of

from .cases import Book, order

book = Book((4, 128))
HEAD = """from numba import cuda, float32

@cuda.jit
def branch_{}(x, y, out):
    i = cuda.grid(1)
    v = float32(0)
"""
#: By name: what is behind that. A blank line ends a kernel.
TEXTS = """
y:
    if y[i] > 0:
        v = x[i] * 2
    out[i] = v + x[i]

i:
    if i > 300:
        v = x[i] * 2
    out[i] = v + x[i]

i_added:
    if i > 300:
        v += x[i]
    out[i] = v + x[i]

other_before:
    b = y[i]
    if i > 300:
        v += x[i]
    out[i] = v + x[i] + b

two_ifs:
    if i < 150:
        v += 1
    if i > 300:
        v += x[i]
    out[i] = v + x[i]

two_ifs_load:
    if i < 150:
        v += x[i]
    if i > 300:
        v += x[i]
    out[i] = v

two_ifs_load_behind:
    if i < 150:
        v += x[i]
    if i > 300:
        v += x[i]
    out[i] = v + x[i]

y_between:
    if i > 300:
        v += x[i]
    b = y[i]
    out[i] = v + x[i] + b

y_behind:
    if i > 300:
        v += x[i]
    a = x[i]
    out[i] = v + a + y[i]

stored_before:
    out[i] = 1
    if i > 300:
        v += x[i]
    out[i] = v + x[i]

else_other:
    if i > 300:
        v += x[i]
    else:
        v += y[i]
    out[i] = v + x[i]

else_number:
    if i > 300:
        v += x[i]
    else:
        v += 1
    out[i] = v + x[i]

even:
    if i % 2 == 0:
        v = x[i] * 2
    out[i] = v + x[i]

bit:
    if i & 1:
        v = x[i] * 2
    out[i] = v + x[i]

size:
    if i < x.size - 100:
        v = x[i] * 2
    out[i] = v + x[i]

thread:
    if cuda.threadIdx.x > 40:
        v = x[i] * 2
    out[i] = v + x[i]

y_first:
    if y[0] > -40:
        v = x[i] * 2
    out[i] = v + x[i]

both:
    if i > 300:
        v = x[i] * 2
    else:
        v = x[i] + 3
    out[i] = v

both_uneven:
    if i > 300:
        v = x[i] * 2
    else:
        v = x[i] * y[i]
    out[i] = v

both_uneven_y:
    if y[i] > 0:
        v = x[i] * 2
    else:
        v = x[i] * y[i + 1]
    out[i] = v

two_in_arm:
    if i > 300:
        v = x[i] * 2
        v += y[i]
    out[i] = v + x[i]

two_in_arm_y:
    if y[i] > 0:
        v = x[i] * 2
        v += y[i + 1]
    out[i] = v + x[i]

next:
    if y[i] > 0:
        v = x[i + 1] * 2
    out[i] = v + x[i + 1]

store_in_arm:
    a = x[i]
    if i > 300:
        out[i] = 1
    v = x[i]
    out[i] = v + a

store_in_arm_y:
    a = x[i]
    if y[i] > 0:
        out[i] = 1
    v = x[i]
    out[i] = v + a

stores_in_both:
    a = x[i]
    if i > 300:
        out[i] = 1
    else:
        out[i] = a
    v = x[i]
    out[i] = v + a

store_in_else:
    a = x[i]
    if i > 300:
        v = a + 1
    else:
        out[i] = a
    v += x[i]
    out[i] = v + a

store_in_inner:
    a = x[i]
    if i > 100:
        if i > 300:
            out[i] = 1
        v = a + 1
    v += x[i]
    out[i] = v + a

load_in_arm_store_in_other:
    if i > 300:
        v = x[i] + 1
    else:
        out[i] = 1
    v += x[i]
    out[i] = v

elif_stores:
    a = x[i]
    if i > 300:
        out[i] = 1
    elif i > 100:
        v = a + 1
    else:
        v = a + 2
    v += x[i]
    out[i] = v + a

in_a_loop:
    for k in range(3):
        a = x[i + k]
        if i > 300:
            out[i] = a
        v += x[i + k] + a
    out[i] = v

guarded:
    if i < 500:
        a = x[i]
        if a > 3:
            out[i] = a
        v = x[i] * 2
        out[i] = v
"""


def three():
    x, y = order(1, 520).astype(np.float32), (order(2, 520) - 260).astype(np.float32)
    return x, y, np.zeros(512, np.float32)


for text in TEXTS.strip().split("\n\n"):
    name, body = text.split(":\n", 1)
    kernels = vars(module_of(f"branch {name}", HEAD.format(name) + body + "\n"))
    book.add(kernels[f"branch_{name}"], three, 2)
