"""Complex numbers in kernels: what Numba computes on a CPU, and the loads of their two parts."""

import cmath
import math
from cmath import phase
from typing import Any

import numpy as np
import pytest
from numba import cuda, njit

import course
from course.engine.faults import Outcome
from course.tests.engine.hardware.complexes import (
    complex_copy,
    complex_mandelbrot,
    complex_real,
    complex_sum_of_a_block,
    complex_transpose,
    escapes,
)
from course.tests.engine.simt.faults import fault_of

RNG = np.random.default_rng(11)
N = 64
ROOTS = (1, 1j, -1j)
#: as a kernel holds them in constant memory
TURNS = np.array([1, 1j, -1 + 0.5j], np.complex64)


def numbers(dtype: Any = np.complex128, count: int = N) -> np.ndarray:
    return (RNG.normal(size=count) + 1j * RNG.normal(size=count)).astype(dtype)


def plus(a, b, i):
    return a + b


def minus(a, b, i):
    return a - 2 * b


def times(a, b, i):
    return a * b - 1


def over(a, b, i):
    return a / b + 1 / a


def squared(a, b, i):
    return a**2


def to_the_power(a, b, i):
    return pow(a, b) if i % 2 else a**b


def signs(a, b, i):
    return -a + (+b)


def conjugates(a, b, i):
    return a.conjugate() * b + a.real.conjugate() * ROOTS[1]


def sizes(a, b, i):
    return abs(a) + 1j * abs(b)


def parts(a, b, i):
    return complex(a.real, b.imag) - complex(i) * (3 + 4j)


def casts(a, b, i):
    return np.complex64(a) * b + np.complex128(i)


def choices(a, b, i):
    if a == b or a != a:
        return b
    return a if abs(a) > 1 else b


def waves(a, b, i):
    return cmath.exp(a) * cmath.log(b) + cmath.sqrt(a * b) - cmath.log10(a)


def angles(a, b, i):
    length, angle = cmath.polar(a)
    return cmath.rect(length, angle) + phase(b) + cmath.rect(b.real, cmath.pi)


def rounds(a, b, i):
    return cmath.sin(a) / cmath.cos(b) + cmath.tan(a) - cmath.log(a, b)


def curves(a, b, i):
    return cmath.sinh(a) / cmath.cosh(b) + cmath.tanh(a)


def backwards(a, b, i):
    return cmath.acos(a) - cmath.asin(b) + cmath.acosh(a) * cmath.asinh(b) - cmath.atan(a) / b


def back_from_a_tangent(a, b, i):
    return cmath.atanh(a) + cmath.atanh(complex(1, 1e-30 * i)) * cmath.acosh(1j * b)


def of_a_float(a, b, i):
    return cmath.sqrt(-abs(a)) + cmath.exp(i)


def constants(a, b, i):
    return TURNS[i % 3] * a + TURNS[1].imag


def on_paths(a, b, i):
    z = 0.5
    if i % 2 == 0:
        z = a
    w, z = z, b
    z *= w
    for _ in range(3):
        z += w
    return z


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    "function",
    [plus, minus, times, over, squared, to_the_power, signs, conjugates, sizes, parts, casts,
     choices, on_paths, waves, angles, rounds, curves, backwards,
     back_from_a_tangent, of_a_float, constants],
)  # fmt: skip
def test_a_kernel_computes_what_numba_does_on_a_cpu(function, dtype):
    on_cpu, in_kernel = njit(function), cuda.jit(device=True)(function)

    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = in_kernel(a[i], b[i], i)

    a, b, out = numbers(dtype), numbers(dtype), np.zeros(N, dtype)
    kernel[2, 32](a, b, out)
    wanted = np.array([on_cpu(x, y, i) for i, (x, y) in enumerate(zip(a, b, strict=True))])
    rtol = 1e-5 if dtype is np.complex64 else 1e-13
    np.testing.assert_allclose(out, wanted, rtol=rtol, atol=rtol)


ODD = (0.0, -0.0, 1.0, -2.5, 3e38, -3e38, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    "name",
    "exp log log10 sqrt sin sinh cosh tan tanh acos acosh asin asinh atan atanh".split(),
)
def test_functions_of_zeros_infinities_and_what_is_no_number(name, dtype):
    function = getattr(cmath, name)

    @cuda.jit
    def kernel(z, out):
        i = cuda.grid(1)
        if i < z.size:
            out[i] = function(z[i])
            if cmath.isnan(z[i]) == cmath.isfinite(z[i]) and not cmath.isinf(z[i]):
                out[i] = 99

    z = np.array([complex(a, b) for a in ODD for b in ODD], dtype)
    if name == "cosh":  # the sign of a NaN's cosine is another on a GPU
        z = z[~(np.isinf(z.real) & np.isinf(z.imag))]
    if name in ("acos", "asin", "atan"):  # so is the sign of a NaN that is cast
        z = z[~(np.isinf(z.real) & np.isnan(z.imag))]
    out = np.zeros(len(z), np.complex128)
    kernel[4, 32](z, out)
    on_cpu = njit(lambda x: function(x))
    wanted = np.array([on_cpu(x) for x in z])
    for mine, theirs in ((out.real, wanted.real), (out.imag, wanted.imag)):
        np.testing.assert_allclose(mine, theirs, 1e-5 if dtype is np.complex64 else 1e-12)
        assert (np.signbit(mine) == np.signbit(theirs))[~np.isnan(theirs)].all()


def test_numbers_in_constant_memory_ask_nothing_and_have_bounds():
    @cuda.jit
    def kernel(z, out):
        turns = cuda.const.array_like(TURNS)
        i = cuda.grid(1)
        out[i] = z[i] * turns[i]

    z, out = numbers(np.complex64, 4), np.zeros(4, np.complex64)
    with course.measure() as traffic:
        kernel[1, 3](z, out)
    np.testing.assert_allclose(out[:3], z[:3] * TURNS, 1e-6)
    assert [(site.array, site.sectors) for site in traffic.sites if site.direction == "load"] == [
        ("z", 2)
    ]
    fault = fault_of(kernel, 1, 4, z, out)
    assert (fault.outcome, fault.fields["array"]) == (Outcome.OUT_OF_BOUNDS, "TURNS")
    assert (fault.fields["index"], fault.fields["shape"]) == ("3", "3")


def test_the_mandelbrot_set():
    image = np.zeros((32, 48), np.uint8)
    complex_mandelbrot[(4, 6), (8, 8)](image, 20)
    on_cpu = njit(escapes.py_func)
    wanted = [[on_cpu(3 * c / 48 - 2, 2 * r / 32 - 1, 20) for c in range(48)] for r in range(32)]
    assert image.tolist() == wanted


@cuda.jit
def fourier(x, out):
    k = cuda.grid(1)
    total = 0j
    for j in range(x.size):
        angle = -2 * math.pi * k * j / x.size
        total += x[j] * complex(math.cos(angle), math.sin(angle))
    out[k] = total


def test_a_fourier_transform():
    x, out = numbers(), np.zeros(N, np.complex128)
    fourier[2, 32](x, out)
    np.testing.assert_allclose(out, np.fft.fft(x), atol=1e-12)


@cuda.jit
def scaled(x, factor, out):
    i = cuda.grid(1)
    own = cuda.local.array(2, np.complex64)
    own[0] = x[i]
    own[1] = own[0] * factor
    out[i] = own[1]


def test_arrays_of_a_block_and_of_a_thread_and_a_number_that_is_passed():
    x, out = numbers(np.complex64), np.zeros(2, np.complex64)
    turns = np.zeros_like(x)
    scaled[2, 32](x, np.complex64(2 - 1j), turns)
    complex_sum_of_a_block[2, 32](turns, out)
    np.testing.assert_allclose(out, (2 - 1j) * x.reshape(2, 32).sum(axis=1), rtol=1e-5)


def asked(kernel, grid, block, *args):
    """(requests, sectors) of each array."""
    with course.measure() as traffic:
        kernel[grid, block](*args)
    return {site.array: (site.requests, site.sectors) for site in traffic.sites}


def test_each_part_is_a_request_of_its_own():
    x = numbers()
    assert asked(complex_copy, 2, 32, x, out := np.zeros_like(x)) == {"x": (4, 64), "out": (4, 64)}
    assert out.tolist() == x.tolist()
    single = x.astype(np.complex64)
    assert asked(complex_copy, 2, 32, single, np.zeros_like(single)) == {
        "x": (4, 32),
        "out": (4, 32),
    }
    assert asked(complex_real, 2, 32, x, np.zeros(N)) == {"x": (2, 32), "out": (2, 16)}
    every_second = np.zeros(32, np.complex128)
    assert asked(complex_copy, 1, 32, x[::2], every_second) == {"x": (2, 64), "out": (2, 32)}
    assert every_second.tolist() == x[::2].tolist()


def test_two_axes():
    x = numbers().reshape(8, 8)
    out = np.zeros_like(x)
    complex_transpose[1, (8, 8)](x, out)
    assert out.tolist() == x.T.tolist()


@cuda.jit
def described(x, out):
    out[0], out[1], out[2], out[3] = x.size, x.ndim, x.itemsize, x.nbytes
    out[4], out[5] = x.strides[0], len(x)


def test_what_an_array_says_of_itself():
    out = np.zeros(6)
    described[1, 1](numbers(), out)
    assert out.tolist() == [64, 1, 16, 1024, 16, 64]


HALF = 0.5 + 0.25j


@cuda.jit("void(complex128[:], complex128[::1], complex128)")
def declared(x, out, more):
    i = cuda.grid(1)
    z = x[i] * HALF
    if z:
        out[i] = z + more


def test_a_signature_a_global_and_a_condition():
    x, out = numbers(), np.zeros(N, np.complex128)
    x[3] = 0
    declared[2, 32](x, out, 2 + 1j)
    wanted = np.where(x != 0, x * HALF + (2 + 1j), 0)
    np.testing.assert_allclose(out, wanted, rtol=1e-14)
    fault = fault_of(declared, 2, 32, x.astype(np.complex64), out, 2j)
    assert "and it gets (complex64[::1], complex128[::1], complex128)" in str(fault)


@cuda.jit
def ordered(x, out):
    out[0] = 1 if x[0] < x[1] else 0


@cuda.jit
def into_floats(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)]


@cuda.jit
def by_nothing(x, out):
    out[cuda.grid(1)] = x[cuda.grid(1)].real / (x[0] - x[0])


@pytest.mark.parametrize(
    ("kernel", "outcome", "words"),
    [
        (
            ordered,
            Outcome.DOES_NOT_COMPILE,
            "lt has no implementation for (complex128, complex128)",
        ),
        (into_floats, Outcome.DOES_NOT_COMPILE, "an element cannot hold complex128"),
        (by_nothing, Outcome.DOES_NOT_COMPILE, "an element cannot hold complex128"),
    ],
)
def test_what_numba_has_not_for_them(kernel, outcome, words):
    fault = fault_of(kernel, 1, 32, numbers(), np.zeros(N))
    assert (fault.outcome, words in str(fault)) == (outcome, True)


def test_a_division_by_nothing_is_not_measured():
    fault = fault_of(by_nothing, 1, 32, numbers(), np.zeros(N, np.complex128))
    assert fault.outcome is Outcome.NOT_MEASURED


def test_an_index_outside_is_told_as_the_array_is_written():
    fault = fault_of(complex_copy, 3, 32, numbers(), np.zeros(96, np.complex128))
    assert fault.outcome is Outcome.OUT_OF_BOUNDS
    assert "x[64] does not exist: x has shape (64,)" in str(fault)


@cuda.jit("void(complex64[::1, :], float32[:])")
def of_columns(z, out):
    out[0] = z[1, 0].real


def test_an_array_lies_as_its_numbers_do():
    """Its parts lie side by side, whatever the order of its axes."""
    z = np.asfortranarray(np.arange(16, dtype=np.complex64).reshape(4, 4))
    of_columns[1, 1](z, out := np.zeros(1, np.float32))
    assert out[0] == 4
    assert fault_of(of_columns, 1, 1, z.T, out).outcome == Outcome.DOES_NOT_COMPILE
