# mypy: disable-error-code="misc, assignment"
"""Kernels over 2-D and 3-D blocks, grid strides, rows and columns, and views of arrays."""

from numba import cuda

from .access import vector_add
from .cases import Book, View, blank, fill, ints

book = Book()


@book.case(lambda: (ints(26, 32, 96), blank(32, 96)), 1, launch=((3, 4), (32, 8)), tag="exact")
def rows_by_x(x, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = x[row, column] * 2


@cuda.jit
def rows_by_y(x, out):
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = x[row, column] * 2


for x, y in ((16, 16), (32, 8), (8, 32), (5, 7), (64, 2), (1, 64), (33, 3), (40, 1)):
    for kernel, wide, high in ((rows_by_x, 70, 50), (rows_by_y, 50, 70)):
        at = (-(-wide // x), -(-high // y)), (x, y)
        book.add(kernel, lambda: (ints(25, 50, 70), blank(50, 70)), 1, launch=at, tag=f"{x}x{y}")


@book.case(lambda: (ints(27, 50, 70), blank(50, 70)), 1, launch=((5, 7), (16, 8)))
def manual_2d(x, out):
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row >= out.shape[0] or column >= out.shape[1]:
        return
    out[row, column] = x[row, column] - row + column


@cuda.jit
def cube(x, out):
    i, j, k = cuda.grid(3)
    if i < out.shape[2] and j < out.shape[1] and k < out.shape[0]:
        out[k, j, i] = x[k, j, i] + 1


@book.case(lambda: (ints(29, 7, 11, 15), blank(7, 11, 15)), 1, launch=((2, 3, 4), (4, 4, 4)))
def cube_swapped(x, out):
    i, j, k = cuda.grid(3)
    if i < out.shape[0] and j < out.shape[1] and k < out.shape[2]:
        out[i, j, k] = x[i, j, k] + 1


for shape in ((4, 4, 4), (5, 3, 3), (32, 2, 2), (8, 8, 1)):
    grid = tuple((-(-n // b) for n, b in zip((15, 11, 7), shape, strict=True)))
    book.add(
        cube,
        lambda: (ints(28, 7, 11, 15), blank(7, 11, 15)),
        1,
        launch=(grid, shape),
        tag="x".join(map(str, shape)),
    )


@cuda.jit
def saxpy_grid_stride(a, x, y, out):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, out.size, stride):
        out[i] = a * x[i] + y[i]


@book.each((7, 8), lambda chunk: (2.0, ints(32, 3500), ints(33, 3500), blank(3500), chunk), 3)
def saxpy_chunks(a, x, y, out, chunk):
    start = cuda.grid(1) * chunk
    for i in range(start, min(start + chunk, out.size)):
        out[i] = a * x[i] + y[i]


for n, tag in ((4096, "exact"), (4001, "ragged"), (300, "short")):
    book.add(saxpy_grid_stride, lambda n=n: (3.0, ints(30, n), ints(31, n), blank(n)), 3, tag=tag)


@book.case(lambda: (ints(34, 40, 150), blank(150)), 1, launch=(3, 64))
def column_sums(x, out):
    column = cuda.grid(1)
    if column < x.shape[1]:
        total = 0.0
        for row in range(x.shape[0]):
            total += x[row, column]
        out[column] = total


@book.case(lambda: (ints(36, 64, 37), blank(64)), 1, launch=(1, 64), tag="odd")
@book.case(lambda: (ints(35, 150, 40), blank(150)), 1, launch=(3, 64))
def row_sums(x, out):
    row = cuda.grid(1)
    if row < x.shape[0]:
        total = 0.0
        for column in range(x.shape[1]):
            total += x[row, column]
        out[row] = total


@book.case(
    lambda: (ints(40, 500), View(fill(3, 1000), lambda d: d[1::2])), 1, tag="into_every_second"
)
@book.case(lambda: (View(ints(39, 500, 4), lambda d: d[:, 2]), blank(500)), 1, tag="column")
@book.case(lambda: (View(ints(38, 600), lambda d: d[5:505]), blank(500)), 1, tag="from_5")
@book.case(lambda: (View(ints(37, 1000), lambda d: d[::2]), blank(500)), 1, tag="every_second")
def view_copy(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + 1


@book.case(lambda: (ints(42, 58, 30).T, blank(30, 58)), 1, launch=((2, 4), (32, 8)), tag="fortran")
@book.case(
    lambda: (View(ints(41, 40, 70), lambda d: d[3:33, 5:63]), blank(30, 58)),
    1,
    launch=((2, 4), (32, 8)),
    tag="window",
)
def view_copy_2d(x, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = x[row, column] + 1


book.add(vector_add, lambda: (lambda x: (x, x, blank(500)))(ints(43, 500)), 2, tag="same_twice")
book.add(vector_add, lambda: (lambda x: (x, ints(45, 500), x))(ints(44, 500)), 2, tag="in_place")
book.add(
    vector_add, lambda: (ints(46, 1003), ints(47, 1003), blank(1003)), 2, tag="forall", forall=1003
)
