"""Loops that a turn's last branch leaves, indices named elsewhere, elements and stores chosen."""

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

choice_if:
    if i % 2 == 0:
        v = x[i]
    else:
        v = y[i]
    out[i] = v

choice_if_held:
    if y[i] < 50:
        v = x[i]
    else:
        v = y[i]
    out[i] = v + x[i]

choice_if_neighbour:
    if i == 0:
        v = x[n - 1]
    else:
        v = x[i - 1]
    out[i] = v

choice_if_and:
    if x[i] > 9 and y[i] > 9:
        v = x[i + 1]
    else:
        v = y[i + 1]
    out[i] = v

choice_of_products:
    if i % 2 == 0:
        v = 2 * x[i]
    else:
        v = 3 * y[i]
    out[i] = v

choice_same_work:
    if i % 2 == 0:
        s += 2 * x[i]
    else:
        s += 2 * y[i]
    out[i] = s

choice_same_work_each_turn:
    for k in range(n):
        if i % 2 == 0:
            s += x[k]
        else:
            s += y[k]
    out[i] = s

choice_of_differences:
    s = x[i + 1] - x[i] if i % 2 == 0 else x[i + 2] - x[i + 1]
    out[i] = s

choice_of_differences_of_two:
    s = x[i + 1] - x[i] if i % 2 == 0 else y[i + 1] - y[i]
    out[i] = s

choice_each_turn:
    for k in range(n):
        if k < i:
            v = x[k]
        else:
            v = y[k]
        s += v
    out[i] = s

array_chosen:
    t = x if i % 2 == 0 else y
    out[i] = t[i]

array_chosen_stored:
    t = x if i % 2 == 0 else out
    t[i] += 1

store_chosen:
    out[i] = 0
    if i % 3 == 0:
        out[i] = 1

store_chosen_inside:
    out[i] = 0
    if i > 3 and i < 40:
        out[i] = 1

store_chosen_float:
    v = x[i]
    out[i] = v
    if v > 40:
        out[i] = 40

store_chosen_far:
    out[i] = x[i]
    if (i + j) * 7 % 5 + i % 3 == 2:
        out[i] = 0

store_clamped:
    v = x[i]
    out[i] = v
    if v < 9:
        out[i] = 9
    if v > 40:
        out[i] = 40

store_clamped_in_place:
    v = x[i]
    if v < 9:
        x[i] = 9
    if v > 40:
        x[i] = 40

store_clamped_goes_on:
    v = x[i]
    out[i] = v
    if v < 9:
        out[i] = 9
    if v > 40:
        out[i] = v - 40
    y[i] = v

store_three_chosen:
    out[i] = 0
    if i % 3 == 0:
        out[i] = 1
    if i % 5 == 0:
        out[i] = 2
    if i % 15 == 0:
        out[i] = 3

store_chosen_each_turn:
    for k in range(i, n, 64):
        v = x[k]
        out[k] = v
        if v > 40:
            out[k] = v * v
"""


def four():
    x, y = (order(seed, 65).astype(np.float32) for seed in (1, 2))
    return x, y * 2, np.zeros(64, np.float32), 50


for text in TEXTS.strip().split("\n\n"):
    name, body = text.split(":\n", 1)
    kernels = vars(module_of(f"way out {name}", HEAD.format(name) + body + "\n"))
    book.add(kernels[f"way_out_{name}"], four, 2)
