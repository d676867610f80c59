# mypy: disable-error-code="misc, assignment"
"""Kernels that ask for one address on several sides of a branch."""

from numba import cuda, float32

from .cases import blank, ints, zeros
from .merge import N, book, loads_and_out, one, with_other

# ---- branches -------------------------------------------------------------------------


@book.case(loads_and_out, 2, (2, 1))
def merge_both_branches(x, y, out):
    i = cuda.grid(1)
    if i % 2 == 0:
        value = x[i] * 2
    else:
        value = x[i] - 3
    out[i] = value


@book.case(lambda: (one(1), ints(2, N, dtype="int64"), blank(N)), 2)
def merge_both_branches_long(x, y, out):
    i = cuda.grid(1)
    value = float32(0)
    if y[i] > 0:
        for k in range(y[i]):
            value += x[i] * k
    else:
        value = x[i] - 3
    out[i] = value


@book.case(with_other, (2, 3))
def merge_both_branches_stores(x, y, out, other):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = x[i] * 2
        other[i] = 1
    else:
        other[i] = x[i] - 3
        out[i] = 2


@book.case(loads_and_out, 2)
def merge_before_and_inside(x, y, out):
    i = cuda.grid(1)
    value = x[i]
    if y[i] > 0:
        value += x[i] * 2
    out[i] = value


@book.case(loads_and_out, 2)
def merge_inside_and_after(x, y, out):
    i = cuda.grid(1)
    value = float32(0)
    if y[i] > 0:
        value = x[i] * 2
    out[i] = value + x[i]


@book.case(lambda: (one(1), ints(2, N, dtype="int64"), blank(N)), 2)
def merge_inside_and_after_far(x, y, out):
    i = cuda.grid(1)
    value = float32(1)
    if y[i] > 0:
        for k in range(y[i]):
            value = value * x[i] + k
    out[i] = value + x[i]


@book.case(loads_and_out, 2)
def merge_two_ifs(x, y, out):
    i = cuda.grid(1)
    value = float32(0)
    if y[i] > 0:
        value += x[i]
    if y[i] < 3:
        value -= x[i] * 2
    out[i] = value


@book.case(loads_and_out, 2)
def merge_guard_and_body(x, y, out):
    i = cuda.grid(1)
    if x[i] > 0:
        out[i] = x[i]
    else:
        out[i] = 0


@book.case(loads_and_out, 2, (2, 1))
def merge_relu_ternary(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] if x[i] > 0 else 0


@book.case(loads_and_out, 2)
def merge_ternary_two(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] if i % 2 == 0 else y[i]


@book.case(loads_and_out, 2, (2, 1))
def merge_ternary_same(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] + 1 if i % 2 == 0 else x[i] * 2


@book.case(loads_and_out, 2)
def merge_ternary_guarded(x, y, out):
    i = cuda.grid(1)
    left = x[i - 1] if i > 0 else 0
    right = x[i + 1] if i < N - 1 else 0
    out[i] = left + right


@book.case(loads_and_out, 2, (4, 1))
def merge_min(x, y, out):
    i = cuda.grid(1)
    out[i] = min(x[i], y[i]) + max(x[i], y[i])


@book.case(loads_and_out, 2, (1, 1))
def merge_clip(x, y, out):
    i = cuda.grid(1)
    out[i] = max(-3, min(x[i], 3))


@book.case(loads_and_out, 2)
def merge_short_circuit_and(x, y, out):
    i = cuda.grid(1)
    if x[i] > 0 and y[i] > 0:
        out[i] = 1
    else:
        out[i] = 0


@book.case(loads_and_out, 2)
def merge_short_circuit_or(x, y, out):
    i = cuda.grid(1)
    if x[i] > 0 or y[i] > 0:
        out[i] = 1
    else:
        out[i] = 0


@book.case(loads_and_out, 2)
def merge_short_circuit_value(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] > 0 and y[i] > 0


@book.case(loads_and_out, 2)
def merge_short_circuit_and_same(x, y, out):
    i = cuda.grid(1)
    if i % 4 != 0 and x[i] > -5 and x[i] < 5:
        out[i] = x[i]
    else:
        out[i] = 9


@book.case(loads_and_out, 2)
def merge_chained_comparison(x, y, out):
    i = cuda.grid(1)
    out[i] = 1 if -4 < x[i] < y[i] else 0


@book.case(loads_and_out, 2)
def merge_elif_chain(x, y, out):
    i = cuda.grid(1)
    if x[i] < -4:
        out[i] = 1
    elif x[i] < 0:
        out[i] = 2
    elif x[i] < 4:
        out[i] = 3
    else:
        out[i] = 4


@book.case(lambda: (one(1), one(2), zeros(N)), 2)
def merge_after_return(x, y, out):
    i = cuda.grid(1)
    if x[i] < 0:
        return
    out[i] = x[i] + y[i]


@book.case(lambda: (one(1), one(2), zeros(N), zeros(N)), (2, 3))
def merge_same_conditions(x, y, out, other):
    i = cuda.grid(1)
    if x[i] > 0:
        out[i] = y[i]
    if x[i] > 0:
        other[i] = y[i]
