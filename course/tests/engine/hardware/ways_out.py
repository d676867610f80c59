"""Loops whose turns end in a branch that leaves, and loads with an index named elsewhere."""

import numpy as np

from course.tests.written import module_of

from .cases import Book, order

book = Book((1, 64))
HEAD = """from numba import cuda, float32

@cuda.jit(device=True)
def beside(a, k):
    i = k + 1
    return a[i]

@cuda.jit
def way_out_{}(x, y, out, n):
    i = cuda.grid(1)
    if i >= n:
        return
    s = float32(0)
    j = 0
"""
#: By name: what is behind that. A blank line ends a kernel.
TEXTS = """
sum_break:
    for j in range(n):
        s += x[j]
        if s > y[i]:
            break
    out[i] = s

sum_break_known:
    for j in range(16):
        s += x[j]
        if s > y[i]:
            break
    out[i] = s

sum_break_and:
    for j in range(n):
        s += x[j]
        if s > y[i] and j > 3:
            break
    out[i] = s

sum_break_else:
    for j in range(n):
        s += x[j]
        if s < y[i]:
            pass
        else:
            break
    out[i] = s

find_break:
    for j in range(n):
        if x[j] == y[i]:
            out[i] = j
            break

find_return:
    for j in range(n):
        if x[j] == y[i]:
            out[i] = j
            return

find_return_or:
    for j in range(n):
        if x[j] == y[i]:
            out[i] = j
            return
    out[i] = -1

find_break_known:
    for j in range(16):
        if x[j] == y[i]:
            out[i] = j
            break

find_return_or_known:
    for j in range(16):
        if x[j] == y[i]:
            out[i] = j
            return
    out[i] = -1

stores_break:
    for j in range(n):
        out[i] += x[j] * y[i]
        if j > 20:
            break

break_in_the_middle:
    for j in range(n):
        s += x[j]
        if s > y[i]:
            break
        s += 1
    out[i] = s

break_behind_continue:
    for j in range(n):
        s += x[j]
        if x[j] < 9:
            continue
        if s > y[i]:
            break
    out[i] = s

break_within:
    for j in range(n):
        s += x[j]
        if x[j] > 9:
            if s > y[i]:
                break
    out[i] = s

while_break:
    while j < n:
        s += x[j]
        j += 1
        if s > y[i]:
            break
    out[i] = s

while_and:
    while j < n and x[j] != y[i]:
        j += 1
    out[i] = j

while_and_and:
    j = i
    while j > 0 and x[j] > 9 and s < y[i]:
        s += x[j]
        j -= 1
    out[i] = s

while_and_load:
    while j < n and y[i] > j:
        j += 1
    out[i] = j + y[i]

named_in_a_way:
    if x[i] > 30:
        j = i + 1
        s = y[j]
    else:
        s = y[i + 1] * 2
    out[i] = s

named_in_a_function:
    if x[i] > 30:
        s = beside(y, i)
    else:
        s = beside(y, i) * 2
    out[i] = s

named_twice:
    k = i
    if x[i] > 9:
        k = i + 1
        s = y[k]
    else:
        s = -y[i + 1]
    out[i] = s

named_behind:
    if x[i] > 30:
        j = i + 1
        s = y[j]
    k = i + 1
    out[i] = s + y[k]
"""


def four():
    x, y = (order(seed, 65).astype(np.float32) for seed in (1, 2))
    return x, y * 2, np.zeros(64, np.float32), 50


for text in TEXTS.strip().split("\n\n"):
    name, body = text.split(":\n", 1)
    kernels = vars(module_of(f"way out {name}", HEAD.format(name) + body + "\n"))
    book.add(kernels[f"way_out_{name}"], four, 2)
