"""Records of several types, aligned and not; constant complex numbers."""

import numpy as np
from numba import cuda

from .cases import Book, order

book = Book((4, 128))
FIELDS = [("x", np.float32), ("id", np.int32), ("mass", np.float64), ("kind", np.int64)]
ALIKE = [("x", np.float32), ("y", np.float32)]
TURNS = np.array([1, 1j, -1, -1j], np.complex64)


def dtype_of(fields, aligned):
    return np.dtype(fields, align=aligned == "aligned")


def people(dtype, count=512):
    p = np.zeros(count, dtype)
    for number, field in enumerate(dtype.names):
        p[field] = np.random.default_rng(number).permutation(count)
    return p


def both(fields, out="float64"):
    return lambda aligned: (people(dtype_of(fields, aligned)), np.zeros(512, out))


BOTH = ("aligned", "loose")


@book.each(BOTH, both(FIELDS), 1)
@cuda.jit
def record_fields(p, out):
    i = cuda.grid(1)
    out[i] = p[i].x + p[i]["mass"]


@book.each(BOTH, both(FIELDS), 1)
@cuda.jit
def record_moved(p, out):
    i = cuda.grid(1)
    p[i].x += 1
    p[i].mass = p[i].id
    out[i] = p[i].x


@book.each(BOTH, both(ALIKE, "float32"), 1)
@cuda.jit
def record_of_one_type(p, out):
    i = cuda.grid(1)
    p[i].x = p[i].y
    out[i] = p[i].x


@book.each(BOTH, lambda aligned: (*both(FIELDS)(aligned), order(5, 512)), 1)
@cuda.jit
def record_in_a_variable(p, out, places):
    i = cuda.grid(1)
    one = p[places[i]]
    one.mass *= 2
    out[i] = one.mass + one.kind


@book.case(lambda: (np.arange(512, dtype=np.complex64), np.zeros(512, np.complex64)), 1)
def constant_complex(x, out):
    turns = cuda.const.array_like(TURNS)
    i = cuda.grid(1)
    out[i] = x[i] * turns[i % 4]
