# mypy: disable-error-code="misc, assignment"
"""Kernels that store to one address more than once, or store and then load."""

from numba import cuda

from .merge import ROUNDS, book, loads_and_out, one, rounds_out, with_other

# ---- stores ---------------------------------------------------------------------------


@book.case(with_other, (2, 3), (2, 2))
def merge_store_then_load(x, y, out, other):
    i = cuda.grid(1)
    out[i] = x[i] * 2
    other[i] = out[i] + 1


@book.case(with_other, (2, 3), (3, 2))
def merge_store_load_other_between(x, y, out, other):
    i = cuda.grid(1)
    out[i] = x[i] * 2
    middle = y[i]
    other[i] = out[i] + middle


@book.case(loads_and_out, 2, (1, 2))
def merge_two_stores(x, y, out):
    i = cuda.grid(1)
    out[i] = 1
    out[i] = x[i]


@book.case(loads_and_out, 2, (2, 2))
def merge_two_stores_load_between(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i]
    out[i] = y[i] + 1


@book.case(loads_and_out, 2, (1, 2))
def merge_two_stores_barrier(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i]
    cuda.syncthreads()
    out[i] = 1


@book.case(loads_and_out, 2, (3, 2))
def merge_store_then_augment(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i]
    out[i] += y[i]


@book.case(loads_and_out, 2, (4, 3))
def merge_zero_then_augment(x, y, out):
    i = cuda.grid(1)
    out[i] = 0
    out[i] += x[i]
    out[i] += y[i]


@book.case(lambda: (one(1), one(2), one(3)), 2, (4, 2))
def merge_augment_twice(x, y, out):
    i = cuda.grid(1)
    out[i] += x[i]
    out[i] += y[i]


@book.case(lambda: (one(1), one(2), one(3)), 2, (1, 1))
def merge_store_itself(x, y, out):
    i = cuda.grid(1)
    out[i] = out[i]


@book.case(lambda: (one(1), one(2), one(3)), 2, (2, 2))
def merge_store_back(x, y, out):
    i = cuda.grid(1)
    value = out[i]
    out[i] = value + x[i]
    out[i] = value


@book.case(lambda: (one(1), one(2), one(3)), (0, 1), (2, 2))
def merge_swap(x, y, out):
    i = cuda.grid(1)
    x[i], y[i] = y[i], x[i]


@book.case(loads_and_out, 2, (0, 2))
def merge_store_branches(x, y, out):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = 1
    else:
        out[i] = 2


@book.case(loads_and_out, 2, (2, 2))
def merge_store_branches_loads(x, y, out):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = x[i]
    else:
        out[i] = y[i]


@book.case(loads_and_out, 2, (1, 2))
def merge_store_default_then_branch(x, y, out):
    i = cuda.grid(1)
    out[i] = 0
    if i % 2 == 0:
        out[i] = x[i]


@book.case(loads_and_out, 2, (2, 2))
def merge_store_branch_then_always(x, y, out):
    i = cuda.grid(1)
    if x[i] > 0:
        out[i] = 1
    out[i] = x[i]


@book.case(loads_and_out, 2, (10, 10))
def merge_store_invariant_loop(x, y, out):
    i = cuda.grid(1)
    for k in range(ROUNDS):
        out[i] = x[i] + k


@book.case(rounds_out, 2, (10, 10))
def merge_store_flag_loop(x, y, out, rounds):
    i = cuda.grid(1)
    for k in range(rounds):
        out[i] = y[k]
