"""Python that Numba compiles and students write: loops over tuples, `in`, records, overloads."""

import math
from collections import namedtuple
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest
import torch
from numba import cuda, float32, float64, int32, jit, uint64
from numba.cuda import random
from numba.cuda.random import (
    create_xoroshiro128p_states,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
from numba.cuda.ufuncs import ufunc_db

import course  # kernels run on the engine
from course.engine.cell.numba import read_cell
from course.engine.faults import KernelFault, Outcome
from course.engine.simt.launch import launch
from course.engine.simt.lowering.intrinsics import NUMPY_CHOICES
from course.tests.engine.simt.faults import fault_of


@cuda.jit
def over_tuples(out, a):
    i = cuda.threadIdx.x
    for k, value in enumerate((5, 6, 7)):
        out[i, k] = value
    for k, value in enumerate((0.5, 1.5), 1):
        if k == i:
            continue
        out[i, k] += value
    for x, y in zip((0, 1), (10, 20)):  # noqa: B905  # Numba's has no `strict`
        out[i, x] += y
    for k, value in enumerate(a):
        out[i, k] += value
    total = 0.0
    for value in a:
        total += value
    out[i, 3] = total


def test_loops_over_tuples_and_arrays():
    out = np.zeros((4, 4))
    over_tuples[1, 4](out, np.array([100.0, 200.0, 300.0]))
    wanted = np.array([[115.0, 226.0, 307.0, 600.0]] * 4)
    for i in range(4):
        wanted[i, 1] += 0.5 * (i != 1)
        wanted[i, 2] += 1.5 * (i != 2)
    np.testing.assert_array_equal(out, wanted)


@cuda.jit(device=True)
def from_its_place(i, n):
    return range(n - 1, i, -2)


@cuda.jit
def held_ranges(out, n):
    i = cuda.threadIdx.x
    mine = range(i)
    if i % 2:
        mine = range(i, 3 * i, 2)
    for j in mine:
        out[i, 0] += j
    out[i, 1] = 10 * len(mine) + mine.step
    out[i, 2] = sum(mine) + 100 * max(range(1, n))
    for j in from_its_place(i, n):
        out[i, 3] = 10 * out[i, 3] + j
    for j, k in zip(mine, range(5, n, 3)):  # noqa: B905
        out[i, 4] += 10 * j + k
    for j in range(3) if n > 100 else range(2, 4):
        out[i, 5] += j
    out[i, 6] = (4 in mine) + 10 * (2.5 not in mine)


def test_a_range_is_a_value():
    out, n = np.zeros((8, 7)), 8
    held_ranges[1, 8](out, n)
    for i in range(8):
        mine = range(i, 3 * i, 2) if i % 2 else range(i)
        assert out[i].tolist() == [
            sum(mine),
            10 * len(mine) + mine.step,
            sum(mine) + 700,
            int("0" + "".join(map(str, range(n - 1, i, -2)))),
            sum(10 * j + k for j, k in zip(mine, range(5, n, 3))),  # noqa: B905
            5,
            (4 in mine) + 10,
        ]


OWN_NAMES = """
from numba import cuda


@cuda.jit(device=True)
def zip(n):
    return (0, n - 1)


@cuda.jit(device=True)
def min(a, b):
    return a + b


@cuda.jit
def kernel(out):
    for i in zip(4):
        out[i] += min(i, 9)
    for i, j in enumerate(range(5, 7)):
        out[4 + i] = j
"""


def test_a_name_of_pythons_is_the_cells_own_function_where_it_has_one():
    out = np.zeros(6)
    launch(read_cell(OWN_NAMES).kernels["kernel"], [out], 1, 1)
    assert out.tolist() == [9, 0, 0, 12, 5, 6]


@pytest.mark.parametrize("name", ["range", "len"])
def test_numba_takes_no_function_by_the_name_of(name):
    source = OWN_NAMES.replace("zip", name)
    with pytest.raises(KernelFault) as raised:
        launch(read_cell(source).kernels["kernel"], [np.zeros(6)], 1, 1)
    assert raised.value.message_id == "name_of_pythons"
    assert f"is called `{name}`" in str(raised.value)


@cuda.jit
def lanes_alike(out, whole, real):
    i = cuda.grid(1)
    if i % 3:
        out[0, i] = cuda.match_any_sync(cuda.activemask(), whole[i])
    out[1, i] = cuda.match_any_sync(0xFFFFFFFF, real[i])


def test_lanes_find_those_of_their_warp_that_have_their_value():
    whole = np.random.default_rng(0).integers(0, 5, 64)
    real = np.where(whole == 2, np.nan, whole)
    out = np.zeros((2, 64), np.int64)
    lanes_alike[1, 64](out, whole, real)
    for i in range(64):
        alike = [j for j in range(i // 32 * 32, i // 32 * 32 + 32) if whole[j] == whole[i]]
        bits = [1 << j % 32 for j in alike if j % 3 and i % 3], [1 << j % 32 for j in alike]
        assert (out[:, i] & 0xFFFFFFFF).tolist() == [sum(bits[0]), sum(bits[1])]


@cuda.jit
def asked_of_tuples(out, t):
    out[0] = not t
    if not ():
        out[1] = 1
    while (0, 0):
        out[2] += 1
        if out[2] > 2:
            break
    out[3] = bool(t)


def test_a_tuple_is_true_where_it_has_items():
    out = np.zeros(4)
    asked_of_tuples[1, 1](out, (0, 0))
    assert out.tolist() == [0, 1, 3, 1]


@cuda.jit
def of_floats_and_text(out, x):
    for k in range(math.ceil(x.size / 2)):
        out[k] += 1
    for k in range(x[0], 2 * x[0]):
        out[k] = k // 2
    out[5] = float("-inf")


def test_a_range_cuts_floats_and_a_text_is_a_number():
    out = np.zeros(6)
    of_floats_and_text[1, 1](out, np.array([2.9, 0.0, 0.0]))
    np.testing.assert_array_equal(out, [1, 1, 1, 1, 2, -np.inf])


@cuda.jit
def made_wider(out, x):
    i = cuda.grid(1)
    out[i] = float(x[i])


def test_what_a_conversion_takes_is_loaded_once():
    out, x = np.zeros(64), np.arange(64, dtype=np.float32)
    with course.measure() as traffic:
        made_wider[1, 64](out, x)
    assert (out == x).all()
    assert traffic.sectors("x", "load") == 8


@cuda.jit
def among(out):
    i = cuda.threadIdx.x
    out[0, i] = i in (1, 3)
    out[1, i] = i not in (1, 3)
    numbers = (4, 5, 6, 7)
    out[2, i] = numbers[i]


def test_in_looks_into_a_tuple_and_an_index_may_be_known_at_run_time():
    out = np.zeros((3, 4))
    among[1, 4](out)
    np.testing.assert_array_equal(out, [[0, 1, 0, 1], [1, 0, 1, 0], [4, 5, 6, 7]])


@cuda.jit
def in_a_range(out):
    i = cuda.threadIdx.x
    out[0, i] = i in range(3)
    out[1, i] = i - 1 not in range(1, out.shape[0])


def test_in_asks_whether_a_number_is_of_a_range():
    out = np.zeros((2, 4))
    in_a_range[1, 4](out)
    np.testing.assert_array_equal(out, [[1, 1, 1, 0], [1, 1, 0, 1]])


@cuda.jit
def past_a_tuple(out):
    numbers = (4, 5, 6)
    out[0] = numbers[cuda.threadIdx.x]


def test_an_index_past_a_tuple_is_out_of_bounds():
    assert fault_of(past_a_tuple, 1, 4, np.zeros(1)).outcome is Outcome.OUT_OF_BOUNDS


@cuda.jit
def searches(a, out):
    i = cuda.threadIdx.x
    for k in range(a.shape[0]):
        if a[k] == i:
            out[0, i] = k
            break
    else:
        out[0, i] = -1
    k = 0
    while k < a.shape[0]:
        for inner in range(2):
            if inner == 1:
                break
        if a[k] > i:
            break
        k += 1
    else:
        k = 100
    out[1, i] = k


def test_what_follows_a_loop_that_nothing_broke_out_of():
    out = np.zeros((2, 8))
    searches[1, 8](np.array([3, 1, 5]), out)
    np.testing.assert_array_equal(out[0], [-1, 1, -1, 0, -1, 2, -1, -1])
    np.testing.assert_array_equal(out[1], [0, 0, 0, 2, 2, 100, 100, 100])


@cuda.jit
def indexed_by_a_tuple(out, i, j):
    place = (uint64(i), j)
    out[place] = 7


def test_a_tuple_with_an_unsigned_number_is_an_index():
    out = np.zeros((2, 3))
    indexed_by_a_tuple[1, 1](out, 1, 2)
    assert out[1, 2] == 7 == out.sum()


@cuda.jit(["int64(float64)", "int64(float32)", "int64(int64)"], device=True)
def cut(x):
    return x * 3


@cuda.jit
def calls_the_nearest(out):
    out[0] = cut(int32(5))


@pytest.mark.parametrize(
    ("declared", "given", "wanted"),
    [
        (["float64", "int64"], int32, "int64"),
        (["float64", "float32"], int32, "float64"),
        (["float32", "float64", "int64"], float32, "float32"),
        (["int64", "float64"], float32, "float64"),
    ],
)
def test_of_several_declared_types_the_nearest_is_chosen(declared, given, wanted):
    from numba.core import types

    from course.engine.simt.lowering.signatures import Signature, chosen

    signatures = [Signature((getattr(types, name),)) for name in declared]
    found = chosen(signatures, [given], calling=True)
    assert found.arguments == (getattr(types, wanted),)
    out = np.zeros(1, np.int64)
    calls_the_nearest[1, 1](out)
    assert out[0] == 15


@cuda.jit
def rounded(x, digits, out):
    i = cuda.threadIdx.x
    out[i] = round(x[i], digits)


def test_round_to_digits_is_numbas():
    x = np.array([2.675, 0.125, 0.375, -2.5, 1e17, np.inf, 0.5], np.float64)
    out = np.zeros_like(x)
    rounded[1, 7](x, 2, out)
    assert out.tolist() == [2.68, 0.12, 0.38, -2.5, 9.223372036854775807e16, np.inf, 0.5]
    rounded[1, 7](x * 10, -1, out)
    assert out.tolist()[:5] == [30.0, 0.0, 0.0, -20.0, 1e18]
    narrow = np.array([0.285, 1.005, 2.5], np.float32)
    out = np.zeros_like(narrow)
    rounded[1, 3](narrow, 2, out)
    # in float64, as Numba computes it: float32(1.005) lies below the half
    assert out.tolist() == np.array([0.28, 1.0, 2.5], np.float32).tolist()


@cuda.jit
def chosen_array(a, b, out, n):
    i = cuda.threadIdx.x
    source = a if n > 0 else b
    out[0, i] = source[i]
    mine = a if i % 2 else b
    out[1, i] = mine[i]
    if i < 2:
        last = a
    else:
        last = b
    out[2, i] = last[i]
    last[i] = -1


def test_one_name_for_several_arrays():
    a, b, out = np.arange(4.0), np.arange(4.0) * 10, np.zeros((3, 4))
    chosen_array[1, 4](a, b, out, 0)
    np.testing.assert_array_equal(out, [[0, 10, 20, 30], [0, 1, 20, 3], [0, 1, 20, 30]])
    np.testing.assert_array_equal(a, [-1, -1, 2, 3])
    np.testing.assert_array_equal(b, [0, 10, -1, -1])


@cuda.jit
def swapped(a, b, turns):
    i = cuda.threadIdx.x
    for _ in range(turns):
        b[i] = a[i] + 1
        a, b = b, a


def test_two_buffers_change_places():
    a, b = np.arange(4.0), np.zeros(4)
    swapped[1, 4](a, b, 3)
    np.testing.assert_array_equal(b, np.arange(4.0) + 3)
    np.testing.assert_array_equal(a, np.arange(4.0) + 2)


@cuda.jit
def two_memories(a, out):
    tile = cuda.shared.array(4, float64)
    i = cuda.threadIdx.x
    tile[i] = i
    source = a if i > 1 else tile
    out[i] = source[i]


def test_arrays_of_two_memories_in_one_name_are_not_measured():
    assert fault_of(two_memories, 1, 4, np.zeros(4), np.zeros(4)).outcome is Outcome.NOT_MEASURED


@jit
def doubled(x):
    return 2 * x


@cuda.jit
def with_records(points, out):
    i = cuda.grid(1)
    if i < points.shape[0]:
        points[i].x += 1
        points[i]["y"] = doubled(points[i].x)
        out[i] = points[i].y + points[i]["z"] + points.size


def test_records_of_one_type():
    points = np.zeros(4, [("x", "f4"), ("y", "f4"), ("z", "f4")])
    points["z"] = np.arange(4)
    out = np.zeros(4)
    with_records[1, 32](points, out)
    np.testing.assert_array_equal(points["x"], 1)
    np.testing.assert_array_equal(points["y"], 2)
    np.testing.assert_array_equal(out, 6 + np.arange(4))


@cuda.jit
def monte_carlo(states, turns, out):
    i = cuda.grid(1)
    inside = 0
    for _ in range(turns):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float64(states, i)
        if x * x + y * y <= 1:
            inside += 1
    out[i] = inside


def test_random_numbers_are_those_of_numba():
    states = create_xoroshiro128p_states(64, seed=7)
    host, out, wanted = np.array(states), np.zeros(64), np.zeros(64)
    monte_carlo[2, 32](states, 50, out)
    for i in range(64):
        for _ in range(50):
            x = random.xoroshiro128p_uniform_float32(host, i)
            y = random.xoroshiro128p_uniform_float64(host, i)
            wanted[i] += float(x) ** 2 + y**2 <= 1
    assert (np.array(states) == host).all()
    np.testing.assert_array_equal(out, wanted)
    assert abs(4 * out.sum() / 3200 - np.pi) < 0.1


@cuda.jit
def a_shape_for_each_branch(out, n):
    i = cuda.threadIdx.x
    if i < n:
        mine = cuda.local.array(4, float32)
        mine[3] = 1
        out[i] = mine[3]
    else:
        mine = cuda.local.array((2, 2), float32)
        mine[1, 1] = 2
        out[i] = mine[1, 1]


@cuda.jit
def a_shape_read_behind(out, n):
    i = cuda.threadIdx.x
    if i < n:
        mine = cuda.local.array(4, float32)
    else:
        mine = cuda.local.array((2, 2), float32)
    out[i] = mine[0]


def test_a_name_may_have_another_shape_in_another_branch():
    out = np.zeros(4)
    a_shape_for_each_branch[1, 4](out, 2)
    np.testing.assert_array_equal(out, [1, 1, 2, 2])


def test_a_name_of_two_shapes_does_not_compile_where_it_is_read_behind_them():
    fault = fault_of(a_shape_read_behind, 1, 4, np.zeros(4), 2)
    assert fault.outcome is Outcome.DOES_NOT_COMPILE
    assert fault.message_id == "type_unification"


@cuda.jit
def by_rows(a, out):
    i = cuda.threadIdx.x
    row = a[i, :]
    out[i] = row[0] + row[1] + a[i][2]
    row[0] = 9
    tile = cuda.shared.array((4, 3), float64)
    mine = tile[i, :]
    for k in range(3):
        mine[k] = a[i][k]
    cuda.syncthreads()
    out[i] += tile[3 - i][0]


def test_a_row_is_a_view():
    a, out = np.arange(12.0).reshape(4, 3), np.zeros(4)
    by_rows[1, 4](a, out)
    np.testing.assert_array_equal(out, np.arange(4) * 9 + 3 + 9)
    np.testing.assert_array_equal(a[:, 0], 9)


@cuda.jit
def in_a_long_tuple(out):
    i = cuda.threadIdx.x
    numbers = (
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
        20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
    )  # fmt: skip
    out[i] = numbers[i]


def test_a_long_tuple_takes_any_index():
    out = np.zeros(40)
    in_a_long_tuple[1, 40](out)
    np.testing.assert_array_equal(out, np.arange(40))


PAIRS = ((0, 1), (2, 3), (5, 7))


@cuda.jit
def over_pairs(out, x):
    i = cuda.threadIdx.x
    for a, b in PAIRS:
        out[0, i] += 10 * a + b
    for a, (b, c) in ((1, (2, 3)), (4, (5, 6))):
        if a == i:
            continue
        out[1, i] += a + b * x[i] + c
    for k, ((a, b), value) in enumerate(zip(PAIRS, x), 2):  # noqa: B905  # Numba's has no `strict`
        out[2, i] += 100 * a + 10 * b + k * value
    for (j, value), k in zip(enumerate(x), range(1, 3)):  # noqa: B905
        out[3, i] += j * value + k
    a, b = PAIRS[i % 3]
    out[4, i] = 10 * a + b
    for a, b in PAIRS:
        if a == i:
            break
        out[5, i] += b
    else:
        out[5, i] = -1


def in_python(kernel, *arrays, threads=4):
    """What plain Python makes of a kernel, one thread after the other."""
    place = SimpleNamespace(threadIdx=SimpleNamespace(x=0))
    alone = FunctionType(kernel.py_func.__code__, {**kernel.py_func.__globals__, "cuda": place})
    for thread in range(threads):
        place.threadIdx.x = thread
        alone(*arrays)


def same_as_python(kernel, shape, *arrays):
    out, wanted = np.zeros(shape), np.zeros(shape)
    kernel[1, 4](out, *[array.copy() for array in arrays])
    in_python(kernel, wanted, *arrays)
    np.testing.assert_array_equal(out, wanted)


def test_loops_over_pairs_and_over_what_is_counted_and_zipped():
    same_as_python(over_pairs, (6, 4), np.array([1.5, -2.0, 0.5, 4.0]))


@cuda.jit(device=True)
def weighed(pairs):
    total = 0.0
    for weight, value in pairs:
        total += weight * value
    return total


@cuda.jit
def kept_iterators(out, x):
    i = cuda.threadIdx.x
    pairs = zip(PAIRS, x)  # noqa: B905  # Numba's has no `strict`
    last = x[3]
    numbered = enumerate((x[i], last), i)
    last = -1.0
    for (a, b), value in pairs:
        out[0, i] += 10 * a + b * value
    for k, value in numbered:
        out[1, i] += k * value + last
    turns = iter(range(i, 9, 2))
    for k in turns:
        out[2, i] += k
    for k, (a, b) in enumerate(iter(PAIRS)):
        inner = zip((a, b), x)  # noqa: B905
        for c, value in inner:
            out[3, i] += k * c * value


def test_iterators_are_kept_in_names():
    same_as_python(kept_iterators, (4, 4), np.array([1.5, -2.0, 0.5, 4.0]))


@cuda.jit
def hands_iterators_on(out, x):
    out[0] = weighed(zip(x, (1, 2, 3)))  # noqa: B905
    out[1] = weighed(enumerate(x))


def test_iterators_are_handed_on():
    out = np.zeros(2)
    hands_iterators_on[1, 1](out, np.array([1.5, -2.0, 0.5, 4.0]))
    assert out.tolist() == [1.5 - 4 + 1.5, -2 + 1 + 12]


@cuda.jit
def goes_through_twice(out, x):
    pairs = enumerate(x)
    for k, value in pairs:
        out[k] = value
    for k, value in pairs:
        out[k] += value


@cuda.jit
def goes_through_in_a_loop(out, x):
    values = iter(x)
    for k in range(2):
        for value in values:
            out[k] += value


@pytest.mark.parametrize("kernel", [goes_through_twice, goes_through_in_a_loop])
def test_an_iterator_gives_its_values_once(kernel):
    fault = fault_of(kernel, 1, 1, np.zeros(4), np.ones(4))
    assert (fault.outcome, fault.message_id) == (Outcome.NOT_MEASURED, "iterator")


@cuda.jit
def no_numbers(out):
    for k, value in enumerate(out[0]):
        out[k] = value


def test_what_no_iterator_goes_through_does_not_compile():
    assert fault_of(no_numbers, 1, 1, np.zeros(4)).outcome is Outcome.DOES_NOT_COMPILE


@cuda.jit
def ends_where_it_is_wrong(out, x):
    i = cuda.grid(1)
    assert i < out.size, "one thread an element"
    for k in range(i):
        assert x[k] >= 0
    if x[i] > 9:
        raise ValueError("too large")
    out[i] = x[i]


def test_an_exception_ends_its_thread_as_numba_compiles_it():
    out = np.zeros(6)
    ends_where_it_is_wrong[1, 8](out, np.array([1.0, 2, 10, 4, -5, 6]))
    assert out.tolist() == [1, 2, 0, 4, -5, 0]


@cuda.jit(device=True)
def root(x):
    assert x >= 0
    return math.sqrt(x)


@cuda.jit
def roots(out, x):
    i = cuda.grid(1)
    out[i] = root(x[i])


def test_an_exception_in_a_device_function_is_told_where_it_happens():
    out = np.zeros(4)
    roots[1, 4](out, np.arange(4.0) ** 2)
    assert out.tolist() == [0, 1, 2, 3]
    fault = fault_of(roots, 1, 4, out, np.array([0.0, 1, -1, 0]))
    assert fault.outcome is Outcome.NOT_MEASURED
    assert "Thread 2 of block 0 raises an exception in `root`" in str(fault)


@cuda.jit
def says_which(out):
    i = cuda.grid(1)
    assert i < 4, f"thread {i}"
    out[i] = 1


@cuda.jit
def raises_a_number(out):
    if out.size < cuda.grid(1):
        raise out[0]


@pytest.mark.parametrize(
    ("kernel", "said"),
    [(says_which, "message in a kernel is plain text"), (raises_a_number, "`out[0]` is no exc")],
)
def test_what_is_no_exception_for_numba(kernel, said):
    fault = fault_of(kernel, 1, 4, np.zeros(4))
    assert fault.outcome in (Outcome.DOES_NOT_COMPILE, Outcome.NOT_MEASURED)
    assert said in str(fault)


@cuda.jit
def folds(out, x):
    i = cuda.threadIdx.x
    t = (x[i], x[0], x[1])
    out[0, i] = sum(t) + sum((1, 2, 3)) + sum(x, 0.5)
    out[1, i] = max(t) + 2 * min(t) + min((3, x[i]))
    out[2, i] = max(x) - min(x)
    out[3, i] = divmod(i + 7, 3)[1] + divmod(7.5, 2.0)[0]


def test_a_fold_of_a_tuple_or_an_array_is_pythons():
    same_as_python(folds, (4, 4), np.array([1.5, -2.0, 0.5, 4.0]))


@cuda.jit
def sums_of_ranges(out, x):
    i = cuda.threadIdx.x
    out[0, i] = sum(range(i)) + sum(range(2, 9 * i)) + sum(range(5))
    out[1, i] = sum(range(x.size, -i, -2), 0.5)


def test_a_sum_of_a_range_is_pythons():
    same_as_python(sums_of_ranges, (2, 4), np.array([1.5, -2.0, 0.5, 4.0]))


@cuda.jit
def compared_tuples(out, x):
    i = cuda.threadIdx.x
    own, other = (i % 2, x[i]), (1, x[0])
    for k, answer in enumerate(
        (own == other, own != other, own < other, own <= other, own > other, own >= other)
    ):
        out[k, i] = answer
    out[6, i] = (i, 2) < (1,)
    out[7, i] = (1,) <= (i, 2) < (2, 2, i)
    out[8, i] = (i, (2, x[i])) == (3, (2, 4.0)) or (i,) == (i, i)
    out[9, i] = (i, 1) in ((0, 1), (2, 1), (3, 3))
    out[10, i] = out.shape == (11, 4) and x.shape > (i + 2,)
    out[11, i] = divmod(i + 4, 3) >= divmod(x.size + 1, 3)


def test_tuples_are_compared_as_in_python():
    same_as_python(compared_tuples, (12, 4), np.array([1.5, -2.0, np.nan, 4.0]))


@cuda.jit
def loads_in_compared_tuples(out, x):
    i = cuda.grid(1)
    out[i] = (x[i], x[i + 32]) < (x[i + 64], x[i + 96]) <= (1, 1)


def test_what_stands_in_compared_tuples_is_loaded_once():
    x, out = np.ones(128, np.float32), np.zeros(32)
    x[:32] = 0
    with course.measure() as traffic:
        loads_in_compared_tuples[1, 32](out, x)
    assert (out == 1).all()
    assert traffic.sectors("x", "load") == 4 * 4


@cuda.jit
def adds_up(out, x):
    out[cuda.grid(1)] = sum(x[cuda.grid(1)])


def test_a_sum_of_a_row_loads_each_element_once():
    x, out = np.ones((32, 8), np.float32), np.zeros(32)
    with course.measure() as traffic:
        adds_up[1, 32](out, x)
    assert (out == 8).all()
    assert traffic.sectors("x", "load") == 8 * 32


@cuda.jit
def loads_in_folds(out, x):
    i = cuda.grid(1)
    out[i] = max((x[i], 0.0)) + sum((x[i + 32], x[i + 64])) + divmod(x[i + 96], 2)[1]


def test_what_a_fold_takes_is_loaded_once():
    x, out = np.ones(128, np.float32), np.zeros(32)
    with course.measure() as traffic:
        loads_in_folds[1, 32](out, x)
    assert (out == 4).all()
    assert traffic.sectors("x", "load") == 4 * 4


@cuda.jit
def over_a_row(m, rows, out):
    i = cuda.grid(1)
    for value in m[rows[i]]:
        out[i] += value


def test_what_finds_a_row_is_loaded_once():
    m, rows, out = np.ones((32, 8), np.float32), np.arange(32, dtype=np.int32), np.zeros(32)
    with course.measure() as traffic:
        over_a_row[1, 32](m, rows, out)
    assert (out == 8).all()
    assert traffic.sectors("rows", "load") == 4


@cuda.jit
def numpys(out, x):
    i = cuda.threadIdx.x
    v = x[i]
    out[0, i] = np.maximum(v, 0) - np.minimum(v, i)
    out[1, i] = np.fmax(math.nan, v) + np.fmin(v, math.nan)
    out[2, i] = np.maximum(math.nan, v)
    out[3, i] = np.greater(v, 1) + 2 * np.less_equal(v, 0) + 4 * np.equal(i, 3)
    out[4, i] = np.logical_and(v > 0, i) + 2 * np.logical_not(i) + 4 * np.logical_xor(i, v > 1)
    out[5, i] = np.bitwise_and(i, 3) + np.left_shift(i, 2) + np.right_shift(i, 1) + np.invert(i)
    out[6, i] = np.bitwise_or(i, 9) + np.bitwise_xor(i, 5) + np.greater_equal(v, 1) * 32
    out[7, i] = np.less(v, 1) + 2 * np.not_equal(i, 3) + 4 * np.logical_or(i > 2, v < 0)


def test_numpys_functions_that_numba_has_in_kernels():
    same_as_python(numpys, (8, 4), np.array([1.5, -2.0, 0.5, 4.0]))


@pytest.mark.parametrize("name", NUMPY_CHOICES)
def test_each_of_them_is_in_numbas_table_for_kernels(name):
    assert getattr(np, name) in ufunc_db()


@cuda.jit
def turned(out, m):
    i = cuda.threadIdx.x
    t = m.T
    out[0, i] = t[i, 1] + t[i][2] + t.shape[0] + t.T[0, i]
    column = t[:, 2]
    out[1, i] = column[i]
    for row in m.T:
        out[2, i] += row[1]
    t[i, 0] = 100 + i
    out[3, i] = m[0, i] + m.nbytes + m[1].nbytes + m.itemsize


def test_an_array_turned_is_the_same_memory():
    same_as_python(turned, (4, 4), np.arange(12.0).reshape(3, 4))


@cuda.jit
def turned_too_far(out, m):
    out[0] = m.T[0, 3]


def test_an_index_past_an_array_turned_is_out_of_bounds():
    fault = fault_of(turned_too_far, 1, 1, np.zeros(1), np.zeros((3, 4)))
    assert fault.outcome is Outcome.OUT_OF_BOUNDS


@cuda.jit(device=True)
def scaled(value, factor=2, shift=-0.5):
    return value * factor + shift


@cuda.jit
def leaves_out(out, x):
    i = cuda.threadIdx.x
    out[i] = scaled(x[i]) + scaled(x[i], 3) + scaled(x[i], shift=1)


def test_a_device_function_has_defaults():
    x, out = np.array([1.5, -2.0, 0.5, 4.0]), np.zeros(4)
    leaves_out[1, 4](out, x)
    np.testing.assert_array_equal(out, 2 * x - 0.5 + 3 * x - 0.5 + 2 * x + 1)


@cuda.jit
def several_types(out):
    for value in (1, 2.5):
        out[0] += value


def test_a_loop_over_several_types_does_not_compile():
    assert fault_of(several_types, 1, 1, np.zeros(1)).outcome is Outcome.DOES_NOT_COMPILE


Line = namedtuple("Line", "slope points at")
Both = namedtuple("Both", "line count")


@cuda.jit(device=True)
def on_line(line, x):
    return line.slope * x + line.at


@cuda.jit
def lines(both, out, times=2):
    i = cuda.grid(1)
    line = both.line
    if i < both.count:
        slope, _, at = line
        out[i] = times * on_line(line, line.points[i]) + slope - line[0] + at - line.at + len(line)


@cuda.jit
def no_such_name(line, out):
    out[0] = line.steep


def test_a_named_tuple_is_passed_and_a_default_of_a_kernel_is_a_number_that_is_passed():
    points, out = np.arange(4.0), np.zeros(4)
    with course.measure() as traffic:
        lines[1, 32](Both(Line(np.float32(3), points, 1), 4), out, 2)
    assert out.tolist() == [2 * (3 * x + 1) + 3 for x in points]
    assert traffic.sectors("both[0][1]", "load") == 1
    fault = fault_of(lines, 1, 32, Both(Line(3.0, points, 1), 4), out)
    assert (fault.outcome, fault.message_id) == (Outcome.DOES_NOT_COMPILE, "argument_count")
    fault = fault_of(lines, 1, 32, Both(Line(3.0, torch.ones(4), 1), 4), out, 2)
    assert "item 1 of it is a tensor, and in a tuple Numba takes none" in str(fault)
    fault = fault_of(no_such_name, 1, 1, Line(3.0, points, 1), out)
    assert "`line` is tuple of 3 and has no `.steep`" in str(fault)


Point = cuda.float32x3


@cuda.jit(device=True)
def moved(point, by):
    return Point(point.x + by, point.y + by, point.z + by)


@cuda.jit
def of_vectors(points, out):
    i = cuda.grid(1)
    point = Point(points[i, 0], points[i, 1], points[i, 2])
    for step in range(3):
        point = moved(point, step)
    if i % 2 == 0:
        point = Point(cuda.float2(point.x, 0), 1.5)
    whole = cuda.int4(cuda.int32x2(point.x, 2.9), cuda.int2(i, -1))
    both = cuda.float32x4(point, whole.y)
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = both.x, both.y, both.z, both.w
    out[i, 4] = whole.x + whole.z + whole.w


def test_vectors_are_made_of_numbers_and_of_shorter_vectors():
    points, out = np.arange(6, dtype=np.float32).reshape(2, 3) + 0.5, np.zeros((2, 5))
    with course.measure() as traffic:
        of_vectors[1, 2](points, out)
    assert out.tolist() == [[3.5, 0, 1.5, 2, 3 + 0 - 1], [6.5, 7.5, 8.5, 2, 6 + 1 - 1]]
    assert traffic.loads.requests == 3


@cuda.jit
def of_too_few(out):
    out[0] = cuda.float32x3(1, 2).x


@cuda.jit
def without_such_a_part(out):
    out[0] = cuda.float32x2(1, 2).z


@cuda.jit
def as_a_number(out):
    out[0] = cuda.float32x2(1, 2)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (of_too_few, "`cuda.float32x3` is made of 3 numbers"),
        (without_such_a_part, "is float32x2 and has no `.z`"),
        (as_a_number, "float32x2"),
    ],
)
def test_what_is_no_vector_or_no_part_of_one_is_told(kernel, why):
    fault = fault_of(kernel, 1, 1, np.zeros(1, np.float32))
    assert fault.outcome in (Outcome.DOES_NOT_COMPILE, Outcome.NOT_MEASURED)
    assert why in str(fault)


@cuda.jit
def parts_of_numbers(x, fractions, exponents, parts, wholes):
    i = cuda.grid(1)
    fractions[i], exponents[i] = math.frexp(x[i])
    parts[i], wholes[i] = math.modf(x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_numbers_are_taken_apart_as_python_does(dtype):
    x = np.array([0, -0.0, 1, -3.75, 1e30, np.inf, -np.inf, np.nan])
    x = (x[:4] if dtype == np.int64 else x).astype(dtype)
    found = [np.zeros(x.size, dtype if dtype != np.int64 else float) for _ in range(4)]
    parts_of_numbers[1, x.size](x, *found)
    for got, wanted in zip(found, [*np.frexp(x), *np.modf(x)], strict=True):
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


@cuda.jit
def agreed(x, masks, verdicts):
    i = cuda.grid(1)
    masks[i], verdicts[i] = cuda.match_all_sync(0xFFFFFFFF, x[i])


def test_a_warp_is_told_whether_all_its_lanes_have_one_value():
    x, masks, verdicts = np.zeros(64), np.ones(64, np.int64), np.zeros(64, np.bool_)
    x[40] = 2
    agreed[1, 64](x, masks, verdicts)
    assert masks.tolist() == [-1] * 32 + [0] * 32
    assert verdicts.tolist() == [True] * 32 + [False] * 32
