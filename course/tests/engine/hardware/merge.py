# mypy: disable-error-code="misc, assignment"
"""Kernels that ask for one address more than once: what does the compiler merge?

``source`` of a case says how many loads and stores each thread's source text asks for; the
recorded requests, divided by the number of warps, say how many were left.
"""

from numba import cuda, float32

from .cases import Book, blank, ints, zeros

book = Book((8, 128))
N = 1024
ROUNDS = 10


def one(seed=1):
    return ints(seed, N)


def loads_and_out():
    return one(1), one(2), blank(N)


def with_other():
    return one(1), one(2), blank(N), blank(N)


def rounds_out():
    return one(1), one(2), blank(N), ROUNDS


def rounds_zero():
    return one(1), one(2), zeros(N), ROUNDS


# ---- the same load twice, with something between -------------------------------------


@book.case(loads_and_out, 2, (3, 1))
def merge_same_expression(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] * x[i] + y[i]


@book.case(loads_and_out, 2, (3, 1))
def merge_across_statements(x, y, out):
    i = cuda.grid(1)
    first = x[i]
    middle = first * y[i]
    second = x[i]
    out[i] = middle + second


@book.case(loads_and_out, 2, (3, 1))
def merge_load_between(x, y, out):
    i = cuda.grid(1)
    first = x[i]
    middle = y[i % 7]
    out[i] = first + middle + x[i]


@book.case(loads_and_out, 2, (3, 1))
def merge_other_index_form(x, y, out):
    i = cuda.grid(1)
    j = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    out[i] = x[i] * x[j] + x[i + 1 - 1]


@book.case(with_other, (2, 3), (2, 2))
def merge_store_other_between(x, y, out, other):
    i = cuda.grid(1)
    first = x[i]
    other[i] = first + 1
    out[i] = first + x[i]


@book.case(with_other, (2, 3), (3, 2))
def merge_store_same_between(x, y, out, other):
    i = cuda.grid(1)
    first = x[i]
    out[i] = first + 1
    other[i] = out[i] + x[i]


@book.case(lambda: (one(1), ints(2, 2 * N), blank(N)), (1, 2), (2, 2))
def merge_store_same_array(x, y, out):
    i = cuda.grid(1)
    first = y[i]
    y[(i + 1) % N + N] = first + 1
    out[i] = first + y[i]


@book.case(lambda: (one(1), ints(2, 2 * N), blank(N)), (1, 2), (2, 2))
def merge_store_same_array_constant(x, y, out):
    i = cuda.grid(1)
    first = y[i]
    y[i + N] = first + 1
    out[i] = first + y[i]


@book.case(lambda: (one(1), one(2), blank(N), blank(N, dtype="int32")), (2, 3), (2, 2))
def merge_store_other_type(x, y, out, other):
    i = cuda.grid(1)
    first = x[i]
    other[i] = i
    out[i] = first + x[i]


@book.case(loads_and_out, 2, (2, 1))
def merge_store_shared_between(x, y, out):
    cache = cuda.shared.array(128, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    first = x[i]
    cache[t] = first + 1
    out[i] = first * x[i] + cache[t]


@book.case(loads_and_out, 2, (3, 1))
def merge_store_local_between(x, y, out):
    cells = cuda.local.array(4, float32)
    i = cuda.grid(1)
    first = x[i]
    cells[0] = first + 1
    cells[1] = y[i]
    out[i] = first * x[i] + cells[0] * cells[1]


@book.case(loads_and_out, 2, (2, 1))
def merge_store_local_dynamic(x, y, out):
    cells = cuda.local.array(4, float32)
    i = cuda.grid(1)
    for k in range(4):
        cells[k] = k
    first = x[i]
    cells[i % 4] = first + 1
    out[i] = first * x[i] + cells[(i + 1) % 4]


@book.case(loads_and_out, 2, (3, 1))
def merge_syncthreads_between(x, y, out):
    i = cuda.grid(1)
    first = x[i]
    cuda.syncthreads()
    out[i] = first * y[i] + x[i]


@book.case(loads_and_out, 2, (3, 1))
def merge_syncwarp_between(x, y, out):
    i = cuda.grid(1)
    first = x[i]
    cuda.syncwarp()
    out[i] = first * y[i] + x[i]


@book.case(loads_and_out, 2, (3, 1))
def merge_threadfence_between(x, y, out):
    i = cuda.grid(1)
    first = x[i]
    cuda.threadfence()
    out[i] = first * y[i] + x[i]


@book.case(lambda: (one(1), one(2), blank(N), zeros(N)), (2, 3), (2, 1))
def merge_atomic_between(x, y, out, other):
    i = cuda.grid(1)
    first = x[i]
    cuda.atomic.add(other, i, first)
    out[i] = first + x[i]


@book.case(loads_and_out, 2, (2, 1))
def merge_atomic_shared_between(x, y, out):
    cache = cuda.shared.array(128, float32)
    i = cuda.grid(1)
    cache[cuda.threadIdx.x] = 0
    first = x[i]
    cuda.atomic.add(cache, cuda.threadIdx.x, first)
    out[i] = first + x[i]


@book.case(loads_and_out, 2, (2, 1))
def merge_shuffle_between(x, y, out):
    i = cuda.grid(1)
    first = x[i]
    moved = cuda.shfl_down_sync(0xFFFFFFFF, first, 1)
    out[i] = moved + x[i]


@book.case(loads_and_out, 2, (2, 1))
def merge_ballot_between(x, y, out):
    i = cuda.grid(1)
    first = x[i]
    mask = cuda.ballot_sync(0xFFFFFFFF, first > 0)
    out[i] = (mask & 1) + x[i]
