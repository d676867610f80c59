"""Elements that lie beside each other: which loads and stores remain when one of them changes."""

from collections.abc import Callable

import numpy as np
from numba import cuda

from .cases import Book, View

book = Book((4, 128))
LAYOUTS: dict[str, Callable[[np.ndarray], object]] = {
    "rows": lambda array: array,
    "columns": np.asfortranarray,
    "strided": lambda array: View(np.repeat(array, 2, axis=1), lambda base: base[:, ::2]),
}


def rows(layout):
    array = np.arange(2048, dtype=np.float32).reshape(512, 4)
    return LAYOUTS[layout](array), np.zeros(512, np.float32)


def numbers():
    return (np.arange(512) * (1 + 2j)).astype(np.complex64), np.zeros(512, np.float32)


@book.each(LAYOUTS, rows, 1)
@cuda.jit
def apart_store_between_loads(A, out):
    i = cuda.grid(1)
    a = A[i, 0]
    A[i, 1] = a + 1
    out[i] = A[i, 0] + a


@book.each(LAYOUTS, rows, 1)
@cuda.jit
def apart_two_stores_read_back(A, out):
    i = cuda.grid(1)
    A[i, 0] = i
    A[i, 1] = 2 * i
    out[i] = A[i, 0]


@book.each(LAYOUTS, rows, 1)
@cuda.jit
def apart_overwritten(A, out):
    i = cuda.grid(1)
    A[i, 0] = 1
    A[i, 1] = 2
    A[i, 0] = 3
    out[i] = 1


@book.each(LAYOUTS, rows, 1)
@cuda.jit
def apart_in_a_loop(A, out):
    i = cuda.grid(1)
    for _ in range(5):
        A[i, 0] += 1
        A[i, 1] += A[i, 0]
    out[i] = A[i, 0]


@book.each(LAYOUTS, rows, 1)
@cuda.jit
def apart_behind_a_branch(A, out):
    i = cuda.grid(1)
    a = A[i, 0]
    if i < 300:
        A[i, 1] = 1
    out[i] = A[i, 0] + a


@book.each(LAYOUTS, rows, 1)
@cuda.jit
def apart_of_a_row(A, out):
    i = cuda.grid(1)
    row = A[i]
    row[1] = row[0] + 1
    row[0] += row[1]
    out[i] = row[2]


@book.case(numbers, 1)
@cuda.jit
def apart_parts_of_a_number(z, out):
    i = cuda.grid(1)
    z[i] = complex(2 * z[i].imag, 3 * z[i].imag)
    out[i] = z[i].real


@book.case(numbers, 1)
@cuda.jit
def apart_number_read_back(z, out):
    i = cuda.grid(1)
    w = z[i]
    z[i] = w * 2.0
    out[i] = z[i].imag + z[i].real
