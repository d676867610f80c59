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


@cuda.jit
def copy_exact(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


@cuda.jit
def copy_guarded(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


book.add(copy_exact, 8, 128, lambda: (ints(1, 1024), blank(1024)), 1, source=(1, 1))
for dtype in TYPES:
    book.add(
        copy_guarded,
        8,
        128,
        lambda dtype=dtype: (ints(2, 1003, dtype=dtype), blank(1003, dtype=dtype)),
        1,
        tag=dtype,
    )
for threads in (1, 7, 31, 32, 33, 48, 65, 100, 257, 1024):
    book.add(
        copy_guarded,
        -(-1003 // threads),
        threads,
        lambda: (ints(3, 1003), blank(1003)),
        1,
        tag=f"block{threads}",
    )


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


book.add(vector_add, 65, 256, lambda: (ints(4, 16421), ints(5, 16421), blank(16421)), 2)


@cuda.jit
def convert(x, out):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = x[i]


for source, target in (
    ("float32", "float64"),
    ("float64", "float32"),
    ("int8", "float32"),
    ("int64", "uint8"),
    ("float32", "float16"),
    ("float16", "float64"),
):
    book.add(
        convert,
        8,
        128,
        lambda source=source, target=target: (
            ints(6, 1000, dtype=source),
            blank(1000, dtype=target),
        ),
        1,
        tag=f"{source}_{target}",
    )


@cuda.jit
def offset_load(x, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i + shift]


@cuda.jit
def offset_store(x, out, shift):
    i = cuda.grid(1)
    if i < x.size:
        out[i + shift] = x[i]


for shift in (1, 2, 3, 4, 5, 6, 7, 8, 31):
    book.add(
        offset_load,
        4,
        128,
        lambda shift=shift: (ints(7, 600), blank(500), shift),
        1,
        tag=str(shift),
    )
for shift in (1, 4, 7, 8):
    book.add(
        offset_store,
        4,
        128,
        lambda shift=shift: (ints(8, 500), fill(3, 600), shift),
        1,
        tag=str(shift),
    )
for dtype, shift in (("float64", 1), ("float64", 3), ("int8", 1), ("int8", 31)):
    book.add(
        offset_load,
        4,
        128,
        lambda dtype=dtype, shift=shift: (
            ints(9, 600, dtype=dtype),
            blank(500, dtype=dtype),
            shift,
        ),
        1,
        tag=f"{dtype}_{shift}",
    )


@cuda.jit
def stride_load(x, out, step):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * step]


@cuda.jit
def stride_store(x, out, step):
    i = cuda.grid(1)
    if i < x.size:
        out[i * step] = x[i]


for step in (2, 3, 4, 7, 8, 9, 16, 32, 33):
    book.add(
        stride_load,
        4,
        128,
        lambda step=step: (ints(10, 512 * step), blank(512), step),
        1,
        tag=str(step),
    )
for step in (2, 3, 8, 33):
    book.add(
        stride_store,
        2,
        128,
        lambda step=step: (ints(11, 200), fill(3, 200 * step), step),
        1,
        tag=str(step),
    )
for dtype, step in (("float64", 2), ("float64", 3), ("int8", 3), ("int8", 33), ("int16", 5)):
    book.add(
        stride_load,
        4,
        128,
        lambda dtype=dtype, step=step: (
            ints(12, 512 * step, dtype=dtype),
            blank(512, dtype=dtype),
            step,
        ),
        1,
        tag=f"{dtype}_{step}",
    )


@cuda.jit
def reversed_load(x, out):
    i = cuda.grid(1)
    n = x.size
    if i < n:
        out[i] = x[n - 1 - i]


@cuda.jit
def broadcast_load(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[3] + 1


@cuda.jit
def broadcast_block(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[cuda.blockIdx.x]


@cuda.jit
def broadcast_groups(x, out, group):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i // group]


@cuda.jit
def one_address_store(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[cuda.blockIdx.x] = 5


book.add(reversed_load, 4, 128, lambda: (ints(13, 501), blank(501)), 1)
book.add(broadcast_load, 4, 128, lambda: (ints(14, 8), blank(500)), 1)
book.add(broadcast_block, 4, 128, lambda: (ints(15, 8), blank(500)), 1)
for group in (2, 5, 32, 33):
    book.add(
        broadcast_groups,
        4,
        128,
        lambda group=group: (ints(16, 300), blank(500), group),
        1,
        tag=str(group),
    )
book.add(one_address_store, 4, 128, lambda: (ints(17, 500), blank(4)), 1)


@cuda.jit
def gather(x, index, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[index[i]]


@cuda.jit
def scatter(x, index, out):
    i = cuda.grid(1)
    if i < x.size:
        out[index[i]] = x[i]


book.add(gather, 4, 128, lambda: (ints(18, 500), order(19, 500), blank(500)), 2)
book.add(
    gather,
    4,
    128,
    lambda: (
        ints(18, 500, dtype="float64"),
        ints(20, 500, dtype="int32", low=0, high=40),
        blank(500, dtype="float64"),
    ),
    2,
    tag="repeats",
)
book.add(
    gather,
    4,
    128,
    lambda: (ints(18, 5000), order(21, 5000)[:500].copy(), blank(500)),
    2,
    tag="wide",
)
book.add(scatter, 4, 128, lambda: (ints(18, 500), order(22, 500), blank(500)), 2)


@cuda.jit
def points_sum(points, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = points[i, 0] + points[i, 1] + points[i, 2]


@cuda.jit
def points_split(points, x, y, z):
    i = cuda.grid(1)
    if i < points.shape[0]:
        x[i] = points[i, 0]
        y[i] = points[i, 1]
        z[i] = points[i, 2]


book.add(points_sum, 8, 128, lambda: (ints(23, 1000, 3), blank(1000)), 1)
book.add(
    points_split,
    8,
    128,
    lambda: (ints(24, 1000, 3), blank(1000), blank(1000), blank(1000)),
    (1, 2, 3),
)
