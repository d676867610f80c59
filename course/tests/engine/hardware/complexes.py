"""Complex numbers: loads and stores of their parts, and what arithmetic leaves to the last bit."""

import numpy as np
from numba import complex64, cuda

from .cases import Book

book = Book((4, 128))
BOTH = ("complex64", "complex128")


def numbers(dtype, count=512, seed=3):
    """Numbers with parts of both signs, of which few are whole."""
    parts = np.random.default_rng(seed).normal(size=(2, count))
    return (parts[0] + 1j * parts[1]).astype(dtype)


def pair(dtype):
    return numbers(dtype), np.zeros(512, dtype)


def parts(dtype):
    return numbers(dtype), np.zeros(512, np.dtype(dtype).type(0).real.dtype)


def rows(dtype):
    return numbers(dtype), numbers(dtype, seed=4), np.zeros((6, 512), dtype)


@book.each(BOTH, pair, 1)
@cuda.jit
def complex_copy(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


@book.each(BOTH, parts, 1)
@cuda.jit
def complex_real(x, out):
    i = cuda.grid(1)
    out[i] = x[i].real


@book.each(BOTH, parts, 1)
@cuda.jit
def complex_square_of_length(x, out):
    i = cuda.grid(1)
    out[i] = x[i].real * x[i].real + x[i].imag * x[i].imag


@book.each(BOTH, lambda dtype: (numbers(dtype).reshape(16, 32), np.zeros((32, 16), dtype)), 1,
           launch=((1, 2), (16, 16)))  # fmt: skip
@cuda.jit
def complex_transpose(x, out):
    i, j = cuda.grid(2)
    out[j, i] = x[i, j]


@book.each(BOTH, rows, 2)
@cuda.jit
def complex_arithmetic(a, b, out):
    i = cuda.grid(1)
    out[0, i] = a[i] + b[i] - 2
    out[1, i] = a[i] * b[i]
    out[2, i] = a[i] * b[i] + a[i] * a[i] - 1
    out[3, i] = a[i] / b[i]
    out[4, i] = -a[i].conjugate() + 1j
    out[5, i] = complex(abs(a[i]), i) * 0.3


@book.case(lambda: (numbers("complex64"), np.zeros(16, np.complex64)), 1, launch=(16, 32))
def complex_sum_of_a_block(x, out):
    tile = cuda.shared.array(32, complex64)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 16
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


@cuda.jit(device=True)
def escapes(x, y, most):
    c = complex(x, y)
    z = 0.0j
    for i in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return most


@book.case(lambda: (np.zeros((64, 64), np.int32), 64), 0, launch=((4, 4), (16, 16)))
def complex_mandelbrot(image, most):
    row, column = cuda.grid(2)
    height, width = image.shape
    if row < height and column < width:
        image[row, column] = escapes(3 * column / width - 2, 2 * row / height - 1, most)
