# mypy: disable-error-code="misc, assignment"
"""Kernels with atomics, shuffles, votes and barriers."""

from numba import cuda, float32, int32

from .cases import Book, blank, fill, ints, order, zeros

book = Book()
N = 500


@cuda.jit
def atomic_add_one(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])


@cuda.jit
def atomic_add_each(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, i, x[i])


@book.each((2, 3, 8, 33), lambda step: (ints(2, N), zeros(N * step), step), 1)
def atomic_add_stride(x, out, step):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, i * step, x[i])


@book.case(lambda: (ints(3, N), zeros(N), 4), 1, tag="float32_4")
@book.each((2, 5, 32), lambda group: (ints(3, N, dtype="int32"), zeros(N, dtype="int32"), group), 1)
def atomic_add_groups(x, out, group):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, i // group, x[i])


@book.case(lambda: (ints(4, N), order(6, N), zeros(N)), 2, tag="permuted")
@book.case(lambda: (ints(4, N), ints(5, N, dtype="int64", low=0, high=64), zeros(64)), 2)
def atomic_add_scatter(x, index, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, index[i], x[i])


@book.case(lambda: (ints(7, N), zeros(7), 5), 1)
def atomic_add_loop(x, out, rounds):
    i = cuda.grid(1)
    if i < x.size:
        for k in range(rounds):
            cuda.atomic.add(out, (i + k) % 7, x[i])


@book.each(
    ("int32", "float32", "float64", "int64"),
    lambda dtype: (ints(8, N, dtype=dtype), zeros(1, dtype=dtype), blank(N, dtype="int32")),
    (1, 2),
)
def atomic_add_used(x, out, seen):
    i = cuda.grid(1)
    if i < x.size:
        old = cuda.atomic.add(out, 0, x[i])
        seen[i] = 1 if old > -1000000 else 0


@book.each(
    ("int32", "float32", "float64", "int64"),
    lambda dtype: (ints(8, N, dtype=dtype), ints(9, N, dtype=dtype), blank(N, dtype=dtype)),
    (1, 2),
)
def atomic_add_used_each(x, out, seen):
    i = cuda.grid(1)
    if i < x.size:
        seen[i] = cuda.atomic.add(out, i, x[i])


@book.case(lambda: (ints(10, 15, 40), zeros(15, 5)), 1, launch=((2, 2), (32, 8)))
def atomic_add_2d(x, out):
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        cuda.atomic.add(out, (row, column % 5), x[row, column])


@book.case(lambda: (ints(11, N), zeros(2, dtype="int32")), 1)
def atomic_add_const(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 1, 1)


for kernel, cells in ((atomic_add_one, 1), (atomic_add_each, N)):
    book.each(
        ("float32", "float64", "int32", "int64", "uint32", "uint64"),
        lambda dtype, cells=cells: (ints(1, N, dtype=dtype), zeros(cells, dtype=dtype)),
        1,
    )(kernel)


@book.each(
    ("int32", "float32", "float64", "uint64"),
    lambda dtype: (ints(13, N, dtype=dtype), fill(2, 3, dtype=dtype)),
    1,
)
def atomic_sub(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.sub(out, i % 3, x[i])


@book.each(
    ("int32", "int64", "uint32", "float32", "float64"),
    lambda dtype: (ints(12, N, dtype=dtype), fill(2, 3, dtype=dtype)),
    1,
)
def atomic_max(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, i % 3, x[i])


@book.each(
    ("int32", "int64", "uint32", "float32", "float64"),
    lambda dtype: (ints(12, N, dtype=dtype), fill(2, 3, dtype=dtype)),
    1,
)
def atomic_min(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.min(out, i % 3, x[i])


@book.each(
    ("int32", "uint64"),
    lambda dtype: (ints(14, N, dtype=dtype, low=0, high=256), fill(170, 3, dtype=dtype)),
    1,
)
def atomic_and(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.and_(out, i % 3, x[i])


@book.each(
    ("int32", "uint64"),
    lambda dtype: (ints(14, N, dtype=dtype, low=0, high=256), fill(170, 3, dtype=dtype)),
    1,
)
def atomic_or(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.or_(out, i % 3, x[i])


@book.each(
    ("int32", "uint64"),
    lambda dtype: (ints(14, N, dtype=dtype, low=0, high=256), fill(170, 3, dtype=dtype)),
    1,
)
def atomic_xor(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.xor(out, i % 3, x[i])


@book.each(("int32", "int64"), lambda dtype: (ints(15, N, dtype=dtype), zeros(N, dtype=dtype)), 1)
def atomic_exch(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.exch(out, i, x[i])


@book.each(
    ("int32", "int64"),
    lambda dtype: (ints(15, N, dtype=dtype), ints(16, N, dtype=dtype), blank(N, dtype=dtype)),
    (1, 2),
)
def atomic_exch_used(x, out, old):
    i = cuda.grid(1)
    if i < x.size:
        old[i] = cuda.atomic.exch(out, i, x[i])


@book.each(
    ("int32", "int64"),
    lambda dtype: (
        ints(17, N, dtype=dtype),
        ints(18, N, dtype=dtype, low=2, high=5),
        blank(N, dtype=dtype),
    ),
    (1, 2),
)
def atomic_cas(x, out, old):
    i = cuda.grid(1)
    if i < x.size:
        old[i] = cuda.atomic.cas(out, i, 3, x[i])


@book.case(lambda: (ints(17, N, dtype="int32"), ints(18, N, dtype="int32", low=2, high=5)), 1)
def atomic_cas_unused(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.cas(out, i, 3, x[i])


@book.case(lambda: (ints(19, N, dtype="uint32"), fill(2, 1, dtype="uint32")), 1)
def atomic_inc(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.inc(out, 0, 6)


@book.case(lambda: (ints(19, N, dtype="uint32"), fill(2, 1, dtype="uint32")), 1)
def atomic_dec(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.dec(out, 0, 6)


@book.case(lambda: (ints(20, 512), blank(4, 8)), 1)
def atomic_shared(x, out):
    sums = cuda.shared.array(8, float32)
    t = cuda.threadIdx.x
    if t < 8:
        sums[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(sums, t % 8, x[cuda.grid(1)])
    cuda.syncthreads()
    if t < 8:
        out[cuda.blockIdx.x, t] = sums[t]


@book.case(lambda: (ints(21, 512, dtype="int32"), blank(4, 8, dtype="int32")), 1)
def atomic_shared_int(x, out):
    sums = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    if t < 8:
        sums[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(sums, 0, x[cuda.grid(1)])
    cuda.atomic.max(sums, 1, x[cuda.grid(1)])
    cuda.syncthreads()
    if t < 8:
        out[cuda.blockIdx.x, t] = sums[t]
