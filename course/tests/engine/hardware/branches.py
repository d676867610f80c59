"""Loads in branches and loops and behind them: which are made once, and by whom."""

import numpy as np

from course.tests.written import module_of

from .cases import Book, order

book = Book((4, 128))
HEAD = """import math
from numba import cuda, float32

@cuda.jit(device=True)
def load_at(a, i, n):
    if i < n:
        return a[i]
    return float32(0)

@cuda.jit(device=True)
def chosen(a, b, i):
    if a[i] < 100:
        return b[i]
    return b[i] * a[i]

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

held_on_both_ways:
    if out[i] <= x[i]:
        out[i] += y[i]
    elif x[i] > 0:
        v += 1
    out[i] += v

stored_on_one_way:
    if y[i] > 0:
        out[i] += x[i]
    out[i] += y[i]

stored_behind_a_load:
    if y[i] > 0:
        v = x[i]
        out[i] += v
    out[i] += y[i]

stored_on_one_way_guarded:
    if i < out.size:
        if y[i] > 0:
            out[i] += x[i]
        out[i] += y[i]

or_inside:
    if x[i] > 300 or y[i] > 0:
        v = x[i] * y[i]
    out[i] = v

or_behind:
    if x[i] > 300 or y[i] > 0:
        v = x[i]
    out[i] = v * y[i]

and_behind:
    if x[i] > 100 and y[i] > 0:
        v = x[i]
    out[i] = v * y[i]

and_else:
    if x[i] > 100 and y[i] > 0:
        v = x[i]
    else:
        v = y[i]
    out[i] = v

or_of_and_stores:
    if x[i] > 300 or (y[i] > 0 and x[i] > 60):
        out[i] = 1

or_of_and_stores_else:
    if x[i] > 300 or (y[i] > 0 and x[i] > 60):
        out[i] = 1
    else:
        out[i] = 2

or_of_loads_stores_else:
    if x[i] > 300 or (x[i] > 60 and y[i] > 0):
        out[i] = 1
    else:
        out[i] = 2

and_of_or_stores_else:
    if x[i] > 60 and (x[i] > 300 or y[i] > 0):
        out[i] = 1
    else:
        out[i] = 2

or_of_loads_stores:
    if x[i] > 300 or (x[i] > 60 and y[i] > 0):
        out[i] = 1

or_of_loads_loads:
    if x[i] > 300 or (x[i] > 60 and y[i] > 0):
        v = y[511 - i]
    out[i] = v

or_of_loads_in_a_guard:
    if i < out.size:
        if x[i] > 300 or (x[i] > 60 and y[i] > 0):
            out[i] = 1
        else:
            out[i] = 2

or_of_loads_returns:
    if x[i] > 300 or (x[i] > 60 and y[i] > 0):
        return
    out[i] = 1

or_of_loads_in_a_loop:
    for k in range(x.size // 130):
        if x[i] > 300 or (x[i] > 60 * k and y[i] > k):
            out[i] = k
        else:
            out[i] = 2

and_of_loads_stores_else:
    if x[i] > 100 and y[i] > 0:
        out[i] = 1
    else:
        out[i] = 2

and_of_three_stores_else:
    if x[i] > 100 and y[i] > 0 and out[i] < 5:
        out[i] = 1
    else:
        out[i] = 2

or_of_two_stores_else:
    if x[i] > 300 or y[i] > 0:
        out[i] = 1
    else:
        out[i] = 2

and_of_loads_loads_else:
    if x[i] > 100 and y[i] > 0:
        out[i] = x[i + 1]
    else:
        out[i] = x[i + 2] * y[i + 1]

nested_else:
    if x[i] > 100:
        if y[i] > 0:
            out[i] = 1
        else:
            out[i] = 2
    else:
        out[i] = 2

elif_of_loads:
    if x[i] > 300:
        out[i] = 1
    elif y[i] > 0:
        out[i] = 2
    else:
        out[i] = 3

and_of_loads_two_else:
    if x[i] > 100 and y[i] > 0:
        out[i] = 1
        x[i] = 3
    else:
        out[i] = 2
        x[i] = 4

or_of_loads_more_behind:
    if x[i] > 300 or (x[i] > 60 and y[i] > 0):
        out[i] = 1
    else:
        out[i] = 2
    y[i] = 3

returned_or_not:
    if x[i] < 100:
        out[i] = y[i]
        return
    if y[i] < 0:
        out[i] = x[i]
        return
    out[i] = x[i] * y[i]

returned_or_not_in_a_guard:
    if i < 500:
        if y[i] > 0:
            out[i] = x[i] + 1
            return
        out[i] = x[i] * 2
    out[i] += 3

returned_or_not_by_a_helper:
    v = chosen(x, y, i)
    out[i] = v

continued_or_not:
    for k in range(i, out.size, 512):
        if y[k] > 0:
            out[k] = x[k]
            continue
        out[k] = x[k] * y[k]

continued_or_not_written_out:
    for k in range(8):
        if y[i + k] > 0:
            v += x[i + k]
            continue
        v += x[i + k] * y[i + k]
    out[i] = v

continued_or_not_in_a_guard:
    for k in range(i, out.size, 512):
        if k % 3 == 0:
            if y[k] > 0:
                out[k] = x[k]
                continue
            out[k] = x[k] * y[k]
        out[k] += 1

stored_by_both_in_each_turn:
    if i < 64:
        for k in range(8):
            if k == x[i] % 4:
                out[8 * i + k] = 1
            else:
                out[8 * i + k] = 0

known_to_a_helper:
    n = out.size
    if i < n:
        v = load_at(x, i, n)
        out[i] = v * load_at(x, i, n) * x[i]

known_behind_a_return:
    n = out.size
    if i >= n:
        return
    v = load_at(x, i, n)
    out[i] = v + x[i]

known_inside:
    if i > 300:
        if i > 300:
            v += x[i]
        v += x[i] * 2
    out[i] = v

known_opposite:
    if i > 300:
        if i <= 300:
            v += y[i]
        else:
            v += x[i] * 3
        v += x[i] * 2
    out[i] = v

known_to_a_choice_in_a_loop:
    n = out.size
    if i < n:
        for k in range(n // 128):
            v += (x[i] if i < n else float32(0)) * y[k]
        out[i] = v

known_to_a_helper_in_a_loop:
    n = out.size
    if i < n:
        for k in range(n // 128):
            v += load_at(x, i, n) * load_at(y, k, n)
        out[i] = v

unknown_inside:
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[i]
    cuda.syncthreads()
    if s[t] > 200:
        if s[127 - t] > 200:
            v += y[i]
        v += y[i] * 2
    out[i] = v

unchanged_by_two_loops:
    for k in range(x.size // 130):
        for q in range(y.size // 170):
            v += y[q] * x[i]
    out[i] = v

unchanged_by_three_loops:
    for k in range(x.size // 130):
        for q in range(y.size // 170):
            for p in range(y.size // 200):
                v += y[p] * x[i]
    out[i] = v

unchanged_up_to_k:
    for k in range(x.size // 130):
        for q in range(k + 1):
            v += y[q] * x[i]
    out[i] = v

unchanged_by_a_thread_s_turns:
    n = i % 3
    for k in range(x.size // 130):
        for q in range(n):
            v += y[q] * x[i]
    out[i] = v

unchanged_in_a_branch:
    for k in range(x.size // 130):
        if k > 1:
            for q in range(y.size // 170):
                v += y[q] * x[i]
    out[i] = v

unchanged_and_stored:
    for k in range(x.size // 130):
        for q in range(y.size // 170):
            v += y[q] * x[i]
        out[i] = v

loop_begins_with_it:
    for k in range(x.size // 130):
        v += x[i] * y[k]
    out[i] = v + x[i]

loop_goes_on_with_it:
    for k in range(x.size // 130):
        v += y[k] * x[i]
    out[i] = v + x[i]

loop_begins_and_breaks:
    for k in range(x.size // 130):
        v += x[i] * y[k]
        if v > 3000:
            break
    out[i] = v + x[i]

gathered_in_a_loop:
    for k in range(x.size // 130):
        v += x[k] * y[int(x[i])]
    out[i] = v

remainder_twice:
    out[i] = x[i % y.size] * x[i % y.size]

quotient_twice:
    out[i] = x[i // y.size] * x[i // y.size]

remainder_with_a_name:
    j = i % y.size
    out[i] = x[j] * x[j]

remainder_of_a_constant:
    out[i] = x[i % 500] * x[i % 500]

remainder_in_two_loops:
    for k in range(1, 5):
        v += x[(i + k) % y.size]
    for k in range(1, 5):
        v += x[(i + k) % y.size] * 2
    out[i] = v

remainder_in_a_turn:
    for k in range(1, 5):
        if x[(i + k) % y.size] > v:
            v = x[(i + k) % y.size]
    out[i] = v

else_behind_other_work:
    d = y[i]
    if d > 0:
        v += d * d * x[i + 2]
    else:
        v -= d * x[i + 2]
    out[i] = v

else_behind_like_work:
    d = y[i]
    if d > 0:
        v += d * d + x[i + 2]
    else:
        v -= d * d * x[i + 2]
    out[i] = v

else_behind_a_quotient:
    d = y[i]
    if d > 0:
        v += d * d / (1 + x[i + 2])
    else:
        v -= d * x[i + 2]
    out[i] = v

else_behind_a_root:
    d = y[i]
    if d > 0:
        v += math.sqrt(d) * x[i + 2]
    else:
        v -= d * x[i + 2]
    out[i] = v

else_behind_an_exponential:
    d = y[i]
    if d > 0:
        v += math.exp(-d) * x[i + 2]
    else:
        v -= d * x[i + 2]
    out[i] = v

else_behind_ten_products:
    d = y[i]
    if d > 0:
        v += d * d * d * d * d * d * d * d * d * d * d + x[i + 2]
    else:
        v -= d * x[i + 2]
    out[i] = v

else_behind_products_in_a_loop:
    for k in range(i % 7, 8):
        d = y[i + k]
        if d > 0:
            v += d * d * x[i + k]
        else:
            v -= d * x[i + k]
    out[i] = v

else_behind_a_quotient_in_a_loop:
    for k in range(i % 7, 8):
        d = y[i + k]
        if d > 0:
            v += d * d / (1 + x[i + k])
        else:
            v -= d * x[i + k]
    out[i] = v

else_begins_alike:
    d = y[i]
    if d > 0:
        v += x[i + 2] * d
    else:
        v -= x[i + 2] * v
    out[i] = v

else_stops_alike:
    d = y[i]
    if d > 0:
        v += x[i + 1] * d + x[i + 2]
    else:
        v -= x[i + 1] - x[i + 2]
    out[i] = v

else_ends_alike:
    d = y[i]
    if d > 0:
        v = -d * x[i + 2]
    else:
        v = d * x[i + 2]
    out[i] = v

stored_by_both_in_a_loop:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = d * d
        else:
            out[k] = d + float32(2)

relu_in_a_loop:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = d
        else:
            out[k] = 0

square_or_zero_in_a_loop:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = d * d
        else:
            out[k] = 0

rounded_or_zero_in_a_loop:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = d * 0.5
        else:
            out[k] = 0

zero_or_square_in_a_loop:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = 0
        else:
            out[k] = d * d

added_by_both_in_a_loop:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] += d * d
        else:
            out[k] -= d

two_stored_by_both:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = d * d
            x[k] = 1
        else:
            out[k] = d - 3
            x[k] = 2

two_stored_in_turn:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = d * d
            x[k] = 1
        else:
            x[k] = 2
            out[k] = d - 3

one_of_three_stores:
    for k in range(i, out.size, 512):
        d = y[k]
        if d > 0:
            out[k] = d * d
        elif d < -100:
            out[k] = d - 3
        else:
            out[k] = d + 5

stored_by_both_at_the_end:
    if y[i] > 0:
        out[i] = y[i] * y[i]
    else:
        out[i] = y[i] + 2

stored_by_both_in_a_guard:
    if i < 500:
        if y[i] > 0:
            out[i] = y[i] * y[i]
        else:
            out[i] = y[i] + 2
    x[i] = 1

stored_by_both_inside:
    if i < 500:
        if y[i] > 0:
            out[i] = y[i] * y[i]
        else:
            out[i] = y[i] + 2
        x[i] = 1

later_stored:
    a = x[i]
    b = y[i]
    if a > 450:
        out[i] = b

later_in_the_other_way:
    a = x[i]
    b = y[i]
    if a <= 450:
        v += a
    else:
        out[i] = b
    x[i] = v

later_behind_a_return:
    a = x[i]
    b = y[i] * 2
    if a < 450:
        return
    out[i] = b

later_behind_a_continue:
    for k in range(i, out.size, 512):
        b = y[k]
        if x[k] < 450:
            continue
        out[k] = b

later_behind_two_branches:
    a = x[i]
    b = y[i]
    if a > 300:
        if a < 330:
            out[i] = b

later_behind_an_and:
    a = x[i]
    b = y[i]
    if a > 300 and x[i + 1] > 300:
        out[i] = b

later_not_behind_an_or:
    a = x[i]
    b = y[i]
    if a > 450 or x[i + 1] > 450:
        out[i] = b

later_two_values:
    a = x[i]
    b = y[i]
    c = y[i + 1]
    if a > 450:
        out[i] = b * c

later_a_product:
    b = x[i] * y[i]
    if y[i + 2] > 200:
        out[i] = b

later_a_product_of_threads:
    t = cuda.threadIdx.x
    b = x[i] * y[i]
    if t < 3:
        out[i] = b

later_gathered:
    j = int(x[i])
    b = y[j]
    if i % 32 == 5:
        out[i] = b

later_stored_twice:
    b = y[i]
    if x[i] > 450:
        out[i] = b
        x[i] = b

later_into_no_loop:
    b = y[i]
    for k in range(i, 300, 512):
        v += b * x[k]
    out[i] = v

later_in_front_of_a_loop:
    b = y[i]
    if x[i] > 450:
        for k in range(3):
            v += b * x[i + k]
        out[i] = v

later_not_past_a_store:
    b = y[i]
    out[i] = 3
    if x[i] > 450:
        out[i] = b

later_past_shared_memory:
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    b = y[i]
    s[t] = x[i]
    if t < 3:
        out[i] = b + s[t]

later_not_where_both_use_it:
    b = y[i]
    if x[i] > 450:
        out[i] = b
    else:
        x[i] = b + 1

later_for_two_blocks:
    b = y[i]
    if x[i] > 450:
        if x[i + 1] > b:
            out[i] = b
        else:
            out[i] = 1

later_not_where_it_is_a_choice:
    a = x[i]
    b = y[i]
    if a > 450:
        v = b
    out[i] = v

later_for_an_exponential:
    a = x[i]
    b = y[i]
    if a > 450:
        v = math.exp(b / 100)
    out[i] = v

later_for_a_sum_of_loads:
    b = y[i]
    if x[i] > 450:
        v += b * y[i + 2]
    out[i] = v

later_in_turns:
    for k in range(8):
        b = y[i + k]
        c = x[i + k]
        if c > 450:
            out[i] = b

later_behind_a_break:
    for k in range(8):
        b = y[i + k]
        c = x[i + k]
        if c > 450:
            break
        v += b
    out[i] = v

later_each_turn:
    for k in range(out.size // 64):
        b = y[i]
        if x[k + i // 512] > 450:
            v += math.exp(b / 1000)
    out[i] = v

later_by_elif:
    b = y[i]
    c = y[i + 1]
    if x[i] > 450:
        out[i] = b
    elif x[i] < 50:
        out[i] = c

overwritten_by_a_number:
    v = x[i]
    b = y[i]
    v = float32(3)
    out[i] = v + b

overwritten_in_one_way:
    v = x[i]
    if y[i] > 200:
        v = float32(3)
    out[i] = v
"""


def three():
    x, y = order(1, 520).astype(np.float32), (order(2, 520) - 260).astype(np.float32)
    return x, y, np.zeros(512, np.float32)


for text in TEXTS.strip().split("\n\n"):
    name, body = text.split(":\n", 1)
    kernels = vars(module_of(f"branch {name}", HEAD.format(name) + body + "\n"))
    book.add(kernels[f"branch_{name}"], three, (0, 2) if "x[k] = " in body else 2)
