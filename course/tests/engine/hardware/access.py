# mypy: disable-error-code="misc, assignment"
"""Kernels that move data: strides, offsets, types, block shapes, ragged edges."""

from numba import cuda

from .cases import Book, blank, fill, ints, order

book = Book()
TYPES = (
    "float32",
    "float64",
    "float16",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "bool",
)


@book.case(lambda: (ints(1, 1024), blank(1024)), 1, (1, 1), launch=(8, 128))
def copy_exact(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


@book.each(
    TYPES, lambda dtype: (ints(2, 1003, dtype=dtype), blank(1003, dtype=dtype)), 1, launch=(8, 128)
)
def copy_guarded(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


for threads in (1, 7, 31, 32, 33, 48, 65, 100, 257, 1024):
    launch, tag = (-(-1003 // threads), threads), f"block{threads}"
    book.add(copy_guarded, lambda: (ints(3, 1003), blank(1003)), 1, launch=launch, tag=tag)


@book.case(lambda: (ints(4, 16421), ints(5, 16421), blank(16421)), 2, launch=(65, 256))
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@book.each(
    (
        ("float32", "float64"),
        ("float64", "float32"),
        ("int8", "float32"),
        ("int64", "uint8"),
        ("float32", "float16"),
        ("float16", "float64"),
    ),
    lambda source, target: (ints(6, 1000, dtype=source), blank(1000, dtype=target)),
    1,
    launch=(8, 128),
)
def convert(x, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i]


@book.each(
    (("float64", 1), ("float64", 3), ("int8", 1), ("int8", 31)),
    lambda dtype, shift: (ints(9, 600, dtype=dtype), blank(500, dtype=dtype), shift),
    1,
)
@book.each((1, 2, 3, 4, 5, 6, 7, 8, 31), lambda shift: (ints(7, 600), blank(500), shift), 1)
def offset_load(x, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i + shift]


@book.each((1, 4, 7, 8), lambda shift: (ints(8, 500), fill(3, 600), shift), 1)
def offset_store(x, out, shift):
    i = cuda.grid(1)
    if i < x.size:
        out[i + shift] = x[i]


@book.each(
    (("float64", 2), ("float64", 3), ("int8", 3), ("int8", 33), ("int16", 5)),
    lambda dtype, step: (ints(12, 512 * step, dtype=dtype), blank(512, dtype=dtype), step),
    1,
)
@book.each((2, 3, 4, 7, 8, 9, 16, 32, 33), lambda step: (ints(10, 512 * step), blank(512), step), 1)
def stride_load(x, out, step):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * step]


@book.each(
    (2, 3, 8, 33), lambda step: (ints(11, 200), fill(3, 200 * step), step), 1, launch=(2, 128)
)
def stride_store(x, out, step):
    i = cuda.grid(1)
    if i < x.size:
        out[i * step] = x[i]


@book.case(lambda: (ints(13, 501), blank(501)), 1)
def reversed_load(x, out):
    i = cuda.grid(1)
    n = x.size
    if i < n:
        out[i] = x[n - 1 - i]


@book.case(lambda: (ints(14, 8), blank(500)), 1)
def broadcast_load(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[3] + 1


@book.case(lambda: (ints(15, 8), blank(500)), 1)
def broadcast_block(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[cuda.blockIdx.x]


@book.each((2, 5, 32, 33), lambda group: (ints(16, 300), blank(500), group), 1)
def broadcast_groups(x, out, group):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i // group]


@book.case(lambda: (ints(17, 500), blank(4)), 1)
def one_address_store(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[cuda.blockIdx.x] = 5


@book.case(lambda: (ints(18, 5000), order(21, 5000)[:500].copy(), blank(500)), 2, tag="wide")
@book.case(
    lambda: (
        ints(18, 500, dtype="float64"),
        ints(20, 500, dtype="int32", low=0, high=40),
        blank(500, dtype="float64"),
    ),
    2,
    tag="repeats",
)
@book.case(lambda: (ints(18, 500), order(19, 500), blank(500)), 2)
def gather(x, index, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[index[i]]


@book.case(lambda: (ints(18, 500), order(22, 500), blank(500)), 2)
def scatter(x, index, out):
    i = cuda.grid(1)
    if i < x.size:
        out[index[i]] = x[i]


@book.case(lambda: (ints(23, 1000, 3), blank(1000)), 1, launch=(8, 128))
def points_sum(points, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = points[i, 0] + points[i, 1] + points[i, 2]


@book.case(
    lambda: (ints(24, 1000, 3), blank(1000), blank(1000), blank(1000)), (1, 2, 3), launch=(8, 128)
)
def points_split(points, x, y, z):
    i = cuda.grid(1)
    if i < points.shape[0]:
        x[i] = points[i, 0]
        y[i] = points[i, 1]
        z[i] = points[i, 2]
