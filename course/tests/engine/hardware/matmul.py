# mypy: disable-error-code="misc, assignment"
"""Kernels that multiply matrices: naive, tiled, coarsened."""

from numba import cuda, float32

from .cases import Book, blank, ints

book = Book(((4, 4), (16, 16)))
T = 16


def product(seed, m, k, n):
    return lambda: (ints(seed, m, k), ints(seed + 1, k, n), blank(m, n))


@book.case(product(20, 128, 128, 128), 2, launch=((8, 8), (16, 16)), tag="128")
@book.case(product(22, 60, 45, 50), 2, launch=((2, 8), (32, 8)), tag="ragged_32x8")
@book.case(product(20, 64, 64, 64), 2)
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@book.case(product(20, 128, 128, 128), 2, launch=((8, 8), (16, 16)), tag="128")
@book.case(product(24, 64, 64, 64), 2)
def matmul_swapped(a, b, c):
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@book.case(product(28, 50, 37, 60), 2, tag="ragged")
@book.case(product(20, 128, 128, 128), 2, launch=((8, 8), (16, 16)), tag="128")
@book.case(product(26, 64, 64, 64), 2)
def matmul_tiled(a, b, c):
    left = cuda.shared.array((T, T), float32)
    right = cuda.shared.array((T, T), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for start in range(0, a.shape[1], T):
        if row < a.shape[0] and start + tx < a.shape[1]:
            left[ty, tx] = a[row, start + tx]
        else:
            left[ty, tx] = 0
        if start + ty < b.shape[0] and column < b.shape[1]:
            right[ty, tx] = b[start + ty, column]
        else:
            right[ty, tx] = 0
        cuda.syncthreads()
        for k in range(T):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@book.case(product(30, 64, 96, 64), 2, launch=((2, 2), (32, 32)))
def matmul_tiled_32(a, b, c):
    left = cuda.shared.array((32, 32), float32)
    right = cuda.shared.array((32, 32), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for step in range(a.shape[1] // 32):
        left[ty, tx] = a[row, step * 32 + tx]
        right[ty, tx] = b[step * 32 + ty, column]
        cuda.syncthreads()
        for k in range(32):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[row, column] = total


@book.case(product(32, 64, 64, 128), 2, launch=((2, 1), (64, 8)))
def matmul_coarse_1d(a, b, c):
    left = cuda.shared.array((64, 8), float32)
    right = cuda.shared.array((8, 64), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = cuda.blockIdx.y * 64 + ty * 8
    column = cuda.blockIdx.x * 64 + tx
    sums = cuda.local.array(8, float32)
    for r in range(8):
        sums[r] = 0
    flat = ty * 64 + tx
    for start in range(0, a.shape[1], 8):
        left[flat // 8, flat % 8] = a[cuda.blockIdx.y * 64 + flat // 8, start + flat % 8]
        right[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(8):
            value = right[k, tx]
            for r in range(8):
                sums[r] += left[ty * 8 + r, k] * value
        cuda.syncthreads()
    for r in range(8):
        c[row + r, column] = sums[r]


@book.case(product(34, 64, 64, 128), 2, launch=((2, 1), (16, 16)))
def matmul_coarse(a, b, c):
    left = cuda.shared.array((64, 16), float32)
    right = cuda.shared.array((16, 64), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    flat = ty * 16 + tx
    top = cuda.blockIdx.y * 64
    side = cuda.blockIdx.x * 64
    sums = cuda.local.array((4, 4), float32)
    column = cuda.local.array(4, float32)
    for r in range(4):
        for s in range(4):
            sums[r, s] = 0
    for start in range(0, a.shape[1], 16):
        for p in range(4):
            cell = flat + p * 256
            left[cell // 16, cell % 16] = a[top + cell // 16, start + cell % 16]
            right[cell // 64, cell % 64] = b[start + cell // 64, side + cell % 64]
        cuda.syncthreads()
        for k in range(16):
            for s in range(4):
                column[s] = right[k, tx + 16 * s]
            for r in range(4):
                value = left[ty * 4 + r, k]
                for s in range(4):
                    sums[r, s] += value * column[s]
        cuda.syncthreads()
    for r in range(4):
        for s in range(4):
            c[top + ty * 4 + r, side + tx + 16 * s] = sums[r, s]
