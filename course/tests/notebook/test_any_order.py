"""A launch whose threads run in an order of luck, and a kernel's lines with their numbers."""

import inspect

import numpy as np
import pytest
from numba import cuda, float32, int32

from course.notebook.any_order import in_any_order
from course.notebook.listing import listing


@cuda.jit
def neighbour(a, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[(t + 1) % 32]


@cuda.jit
def neighbour_too_early(a, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = a[cuda.grid(1)]
    out[cuda.grid(1)] = tile[(t + 1) % 32]


@cuda.jit
def two_tiles(out):
    first, second = cuda.shared.array((4, 4), float32), cuda.shared.array((4, 4), int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if x < 4:
        first[y, x] = 0.5
        second[y, x] = 2
    cuda.syncthreads()
    column, row = cuda.grid(2)
    if x >= 4:
        return
    out[row, column] = first[x, y] + second[x, y] + 10 * cuda.blockIdx.y


@cuda.jit
def counted(total):
    for _ in range(cuda.grid(1), 100, cuda.gridsize(1)):
        cuda.atomic.add(total, 0, 1)


def rotated(a: np.ndarray) -> np.ndarray:
    return np.roll(a.reshape(-1, 32), -1, axis=1).ravel()


def test_a_barrier_is_waited_for_in_every_order():
    a = np.arange(64, dtype=np.float32)
    for seed in range(20):
        out = np.zeros_like(a)
        in_any_order(neighbour, seed)[2, 32](a, out)
        np.testing.assert_array_equal(out, rotated(a))


def test_without_it_seeds_differ_and_nothing_is_raised():
    a = np.arange(1, 65, dtype=np.float32)
    results = set()
    for seed in range(10):
        out = np.zeros_like(a)
        in_any_order(neighbour_too_early, seed)[2, 32](a, out)
        results.add(out.tobytes())
    assert len(results) > 5
    assert rotated(a).tobytes() not in results


def test_the_same_seed_is_the_same_order():
    a = np.arange(1, 65, dtype=np.float32)
    first, second = np.zeros_like(a), np.zeros_like(a)
    in_any_order(neighbour_too_early, 3)[2, 32](a, first)
    in_any_order(neighbour_too_early, 3)[2, 32](a, second)
    np.testing.assert_array_equal(first, second)


def test_each_block_has_arrays_of_its_own_and_axes_are_x_first():
    out = np.zeros((8, 4), np.float32)
    in_any_order(two_tiles, 0)[(1, 2), (5, 4)](out)
    np.testing.assert_array_equal(out, np.repeat([2.5, 12.5], 4)[:, None] + np.zeros((1, 4)))


def test_an_atomic_loses_no_number():
    total = np.zeros(1, np.int64)
    in_any_order(counted, 0)[2, 16](total)
    assert total[0] == 100


def test_lines_of_the_threads_asked_for_are_shown_in_their_order(
    capsys: pytest.CaptureFixture[str],
):
    a = np.zeros(64, np.float32)
    in_any_order(neighbour, 0, show=(3, 4))[2, 32](a, a.copy())
    shown = capsys.readouterr().out.splitlines()
    first = inspect.getsourcelines(neighbour.py_func)[1]
    numbers = [int(line.split()[3]) for line in shown if line.startswith("thread   3 ")]
    assert numbers == [first + n for n in (2, 3, 4, 5, 6)]
    assert len(shown) == 10
    assert [line.split()[1] for line in shown].count("4") == 5
    assert shown[-1].endswith("out[cuda.grid(1)] = tile[(t + 1) % 32]")


def test_a_listing_numbers_lines_as_a_fault_does(capsys: pytest.CaptureFixture[str]):
    listing(counted)
    first = inspect.getsourcelines(counted.py_func)[1]
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"{first:>3}  @cuda.jit"
    assert shown[3] == f"{first + 3:>3}          cuda.atomic.add(total, 0, 1)"
