"""`kernel[grid, block, stream, shared](...)` without a GPU: every spelling works or is told."""

import math
import threading
import types
from enum import IntEnum
from pathlib import Path

import numba
import numpy as np
import pytest
import torch
from numba import cuda, float32, int32, void

import course
from course import KernelFault
from course.engine.faults import Outcome
from course.tests.engine.faults import raised

from .faults import fault_of


@cuda.jit
def double(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def number_places(a):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        a[i, j] = 10 * i + j


def ten():
    return np.arange(10.0)


@pytest.mark.parametrize(
    "configuration",
    [
        (1, 32),
        ((1,), (32,)),
        ((2, 1, 1), (16, 1, 1)),
        (np.int64(1), np.int32(32)),
        ((np.int64(1), 1), (np.int32(32), 1)),
        (math.ceil(10 / 32), 32),
        (1, 32, 0),
        (1, 32, 0, 256),
        (1, 32, cuda.stream(), np.int64(0)),
        ((), 32),
    ],
)
def test_spellings_of_grid_and_block(configuration):
    a = ten()
    double[configuration](a)
    np.testing.assert_array_equal(a, 2 * np.arange(10))


@pytest.mark.parametrize(
    ("configuration", "message", "words"),
    [
        ((10 / 32, 32), "grid_shape", "0.3125 is not the shape of a grid"),
        (([1], 32), "grid_shape", "the list [1] is not the shape of a grid"),
        ((None, 32), "grid_shape", "None is not"),
        ((1, "32"), "block_shape", "'32' is not the shape of a block"),
        (((1, 1, 1, 1), 32), "grid_shape", "one to three whole numbers"),
        ((0, 32), "zero_grid", "The grid 0 has no blocks"),
        ((1, 0), "block_shape", "0 is not the shape of a block"),
        ((1, -32), "block_shape", "-32 is not"),
        ((1, 1025), "too_many_threads", "A block of 1025 threads"),
        ((1, (32, 33)), "too_many_threads", "A block of 1056 threads"),
        ((1, (1, 1, 65)), "block_shape", "the last at most 64"),
        (((1, 65536), 32), "grid_shape", "(1, 65536) is not"),
        ((2**31, 32), "grid_shape", "2147483648 is not"),
        ((2**31 - 1, 1024), "too_large_to_run", "2,199,023,254,528 threads"),
        ((1, 32, 0, 49153), "too_much_shared", "49,153 bytes of shared memory"),
        ((1, 32, 0, 128.0), "launch_shared_bytes", "128.0 is not an amount"),
        ((1, 32, 0, -4), "launch_shared_bytes", "-4 is not"),
        (1, "launch_configuration", "and got 1"),
        ((1,), "launch_configuration", "and got (1,)"),
        ((1, 2, 3, 4, 5), "launch_configuration", "needs a grid and a block"),
    ],
)
def test_a_wrong_configuration_is_named(configuration, message, words):
    a = ten()
    with pytest.raises(KernelFault) as caught:
        double[configuration](a)
    assert (caught.value.message_id, caught.value.kernel) == (message, "double")
    assert words in str(caught.value)
    np.testing.assert_array_equal(a, np.arange(10))


def test_a_launch_without_brackets_is_named():
    with pytest.raises(KernelFault, match="needs a grid and a block in square brackets"):
        double(ten())


def test_arguments_by_name_are_refused():
    with pytest.raises(KernelFault, match="passes `a` by name"):
        double[1, 32](a=ten())


@pytest.mark.parametrize("block", [0, 4])
def test_forall_covers_every_task(block):
    a = ten()
    double.forall(a.size, block)(a)
    np.testing.assert_array_equal(a, 2 * np.arange(10))


def test_forall_of_nothing_runs_nothing():
    double.forall(0)(ten())


@pytest.mark.parametrize("tasks", [-1, 2.5, "10", None])
def test_forall_of_no_number_is_named(tasks):
    with pytest.raises(KernelFault, match="takes the number of tasks"):
        double.forall(tasks)(ten())


def test_a_wrong_number_of_arguments_is_named():
    assert "takes 3 arguments, a, b, c, and the launch passes 1" in str(fault_of(add, 1, 32, ten()))


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ([1, 2, 3], "a list: make it a NumPy array"),
        (None, "this is None"),
        ("abc", "an object of type str"),
        (double, "an object of type CUDADispatcher"),
        (range(4), "an object of type range"),
        (np.array([1, None]), "elements of type object"),
        (np.array(["a"]), "elements of type <U1"),
        (np.arange(4, dtype=">f4"), "elements of type >f4"),
        (np.arange(4, dtype=np.longdouble), "elements of type float128"),
        (2**64, "does not fit in 64 bits"),
        (torch.zeros(3, dtype=torch.bfloat16), "Numba has no bfloat16"),
        (torch.zeros(3, device="meta"), "the tensor lies on meta"),
        (torch.eye(3).to_sparse(), "the tensor is sparse"),
        (torch._neg_view(torch.arange(3.0)), "the tensor is a lazy view"),
    ],
)
def test_an_argument_that_no_kernel_takes_is_named(argument, words):
    fault = fault_of(double, 1, 32, argument)
    assert fault.message_id == "launch_argument"
    assert words in str(fault)
    assert "`a`" in str(fault)


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (np.zeros(2, [("x", "f4"), ("y", "f8")]), "elements of type"),
        (np.zeros(2, "datetime64[D]"), "elements of type datetime64[D]"),
        (np.array(3.0), "an array without axes"),
        (torch.tensor(3.0), "an array without axes"),
    ],
)
def test_an_argument_that_numba_compiles_and_the_engine_lacks_is_not_measured(argument, words):
    fault = fault_of(double, 1, 32, argument)
    assert fault.outcome is Outcome.NOT_MEASURED
    assert fault.message_id == "launch_element"
    assert words in str(fault)


def _added(a, b):
    return a + b


def _scaled(a, b, out):
    for i in range(a.shape[0]):
        out[i] = a[i] * b


def test_ufuncs_for_the_gpu_broadcast_choose_an_overload_and_are_measured():
    types = ["float32(float32, float32)", "int64(int64, int64)"]
    add = numba.vectorize(types, target="cuda")(_added)
    rows, column = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 1), np.float32)
    with course.measure() as traffic:
        assert (add(rows, column) == rows + 1).all()
    assert (traffic.launches, traffic.stores.lane_bytes) == (1, 24)
    ((_, file),) = traffic.by_kernel()
    assert Path(file).name.startswith("test_launching.py:")
    assert file.endswith(", as Numba writes it")
    assert add(np.arange(3), 4).tolist() == [4, 5, 6]
    there = cuda.to_device(rows)
    assert add(there, column[0, 0], out=there) is not None
    assert (there.copy_to_host() == rows + 1).all()
    assert add.reduce(np.arange(7)) == 21


def test_generalised_ufuncs_for_the_gpu_get_rows():
    scale = numba.guvectorize(["(float32[:], float32, float32[:])"], "(n),()->(n)", target="cuda")(
        _scaled
    )
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (scale(rows, np.float32([2, 3])) == rows * [[2], [3]]).all()
    assert (scale(rows, np.float32(2)) == rows * 2).all()


def test_a_generalised_ufunc_of_one_row_gives_one_number():
    @numba.guvectorize(["(float32[:], float32[:])"], "(n)->()", target="cuda")
    def total(row, out):
        out[0] = 0
        for i in range(row.size):
            out[0] += row[i]

    assert total(np.arange(7, dtype=np.float32)) == 21


def test_a_view_of_an_array_without_axes_is_stored_to():
    one = np.zeros(())
    double[1, 32](one.reshape(1))
    assert one == 0
    one[()] = 4
    double[1, 32](one.reshape(1))
    assert one == 8


@pytest.mark.parametrize("size", [1, 5, 128, 300, 20_000])
def test_a_reduction_on_the_gpu_is_of_all_elements(size):
    total = cuda.reduce(_added)
    values = np.arange(size)[::-1] % 1000
    assert total(values, init=3) == values.sum() + 3
    assert total(cuda.to_device(values), size=1) == values[0]


def test_a_ufunc_that_does_not_say_what_it_returns_is_named():
    fault = raised(numba.vectorize([(float32, float32)], target="cuda"), _added)
    assert fault.outcome is Outcome.NOT_MEASURED
    assert "`_added` does not say what it returns" in str(fault)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (np.ones(10), "incompatible dtype: float32 vs. float64"),
        (np.ones(5, np.float32), "incompatible shape: (10,) vs. (5,)"),
        (np.ones(1, np.float32), "incompatible shape: (10,) vs. (1,)"),
    ],
)
def test_a_copy_between_host_and_device_converts_nothing_as_on_a_gpu(given, why):
    there = cuda.to_device(np.zeros(10, np.float32))
    for copy in (there.copy_to_device, there.copy_to_host, lambda a: cuda.to_device(a, to=there)):
        with pytest.raises((TypeError, ValueError)) as told:
            copy(given)
        assert why in str(told.value)


def test_only_what_lies_in_one_piece_is_copied_to_the_device_as_on_a_gpu():
    places = np.arange(12.0).reshape(3, 4)
    there = cuda.to_device(places)
    for copy in (
        lambda: cuda.to_device(places[:, 0]),
        lambda: there[:, 1].copy_to_device(places[0, :3]),
        lambda: cuda.to_device(places[0, :3].copy()).copy_to_device(there[:, 2]),
    ):
        with pytest.raises(ValueError, match="non-contiguous buffer"):
            copy()
    there[0, :3].copy_to_device(places[2, 1:])
    assert there[0].tolist() == [9, 10, 11, 3]
    there.copy_to_device(np.asfortranarray(places) + 1)
    assert (there.copy_to_host() == places + 1).all()
    assert cuda.to_device(there) is there
    repeated = np.broadcast_to(np.arange(3.0), (2, 3))
    there = cuda.to_device(repeated)
    assert (there.copy_to_host() == repeated).all()
    assert there.strides == repeated.strides
    there.copy_to_device(repeated)
    there.bind(cuda.stream()).setitem((0, 0), 7)
    assert there.getitem((0, 0)) == 7


def test_an_array_like_one_in_fortran_order_has_its_strides():
    given = np.asfortranarray(np.zeros((3, 4), np.float32))
    assert cuda.device_array_like(given).strides == given.strides
    assert cuda.device_array_like(given.T).strides == given.T.strides


def test_a_number_in_the_place_of_an_array_is_named():
    assert "`a` is float64 and has no `.size`" in str(fault_of(double, 1, 32, 3.0))


@pytest.mark.parametrize(
    "dtype",
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split(),
)
def test_arrays_of_every_number_type(dtype):
    a = np.arange(10).astype(dtype)
    double[1, 32](a)
    np.testing.assert_array_equal(a, 2 * np.arange(10))


def test_arrays_of_booleans():
    a = np.array([True, False, True])
    double[1, 32](a)
    np.testing.assert_array_equal(a, [True, False, True])


def test_arrays_without_elements():
    double[1, 32](np.zeros(0))
    number_places[1, (8, 8)](np.zeros((0, 3)))


def test_views_with_offset_strides_and_order():
    a = np.arange(20.0)
    double[1, 32](a[3:17:2])
    wanted = np.arange(20.0)
    wanted[3:17:2] *= 2
    np.testing.assert_array_equal(a, wanted)

    a = np.arange(10.0)
    c = np.zeros(10)
    add[1, 32](a, a[::-1], c)
    np.testing.assert_array_equal(c, np.full(10, 9.0))

    for out in (np.zeros((3, 4), order="F"), np.zeros((4, 3)).T, np.zeros((6, 8))[::-2, ::2]):
        number_places[1, (8, 8)](out)
        np.testing.assert_array_equal(out, 10 * np.arange(3)[:, None] + np.arange(4))


def test_broadcast_and_sliding_windows_are_read_as_they_lie():
    @cuda.jit
    def copy(a, b):
        i, j = cuda.grid(2)
        if i < b.shape[0] and j < b.shape[1]:
            b[i, j] = a[i, j]

    for source in (
        np.broadcast_to(np.arange(3.0), (4, 3)),
        np.lib.stride_tricks.sliding_window_view(ten(), 3),
    ):
        out = np.zeros(source.shape)
        copy[1, (8, 8)](source, out)
        np.testing.assert_array_equal(out, source)


def test_one_array_passed_twice_is_one_allocation():
    a = ten()
    add[1, 32](a, a, a)
    np.testing.assert_array_equal(a, 2 * np.arange(10))


def test_overlapping_views_race_and_disjoint_ones_do_not():
    a = np.arange(12.0)
    add[1, 32](a[:6], a[:6], a[6:])
    np.testing.assert_array_equal(a[6:], 2 * np.arange(6))
    assert fault_of(add, 1, 32, a[:10], a[:10], a[2:]).message_id == "race_global"


def test_a_read_only_array_can_be_read_and_not_written():
    a, c = ten(), np.zeros(10)
    a.flags.writeable = False
    add[1, 32](a, a, c)
    np.testing.assert_array_equal(c, 2 * np.arange(10))
    assert "it is read-only, and the kernel writes it" in str(fault_of(double, 1, 32, a))


def test_tensors_are_changed_in_place():
    a = torch.arange(10.0)
    double[1, 32](a)
    assert a.tolist() == [2.0 * n for n in range(10)]
    b = torch.zeros(4, 3)
    number_places[1, (8, 8)](b.t())
    assert b.tolist() == [[10.0 * i + j for i in range(3)] for j in range(4)]
    c = torch.nn.Parameter(torch.ones(3))
    double[1, 32](c)
    assert c.tolist() == [2.0, 2.0, 2.0]


def test_device_arrays_streams_events_and_pinned_arrays_stand_in():
    stream = cuda.stream()
    start, stop = cuda.event(), cuda.event(timing=True)
    start.record(stream)
    with stream.auto_synchronize(), cuda.pinned(ten()), cuda.defer_cleanup():
        given = cuda.to_device(ten(), stream=stream)
        out = cuda.device_array_like(given)
        add[1, 32, stream](given, given, out)
    stop.record(stream)
    stop.synchronize()
    assert cuda.event_elapsed_time(start, stop) >= 0
    host = np.empty(10)
    out.copy_to_host(host, stream=stream)
    cuda.synchronize()
    np.testing.assert_array_equal(host, 2 * np.arange(10))
    np.testing.assert_array_equal(given.copy_to_host(), np.arange(10))
    assert type(given.copy_to_host()) is np.ndarray
    whole = cuda.device_array((3, 4), np.int32)
    number_places[1, (8, 8)](whole)
    assert whole[1:, 2].copy_to_host().tolist() == [12, 22]
    mapped = cuda.mapped_array(4, stream=stream, wc=True)
    for array in (cuda.pinned_array(4), mapped, cuda.managed_array(4)):
        array[:] = 1
        double[1, 32](array)
        assert list(array) == [2, 2, 2, 2]


def test_a_device_array_that_nobody_wrote_is_not_zero():
    assert np.isnan(cuda.device_array(3).copy_to_host()).all()


def test_a_device_function_cannot_be_launched():
    @cuda.jit(device=True)
    def half(x):
        return x / 2

    with pytest.raises(KernelFault, match="`half` is a device function"):
        half[1, 1](1.0)


def test_a_declared_signature_converts_the_numbers():
    @cuda.jit("void(float32[:], float32, int32)")
    def thirds(out, x, n):
        out[0] = x / 3
        out[1] = n

    @cuda.jit(void(float32[:]))
    def ones(out):
        out[0] = 1

    out = np.zeros(2, np.float32)
    thirds[1, 1](out, 1.0, 2**32 + 5)
    assert out.tolist() == [np.float32(1) / np.float32(3), 5]
    ones[1, 1](out)
    assert out[0] == 1
    with pytest.raises(KernelFault, match=r"declares \(float32\[:\]\), and it gets \(float64\[:\]"):
        ones[1, 1](np.zeros(1))
    with pytest.raises(KernelFault, match="it gets"):
        thirds[1, 1](out, 1.0, 2.5)


def test_several_signatures_the_fitting_one_is_taken():
    @cuda.jit(["void(float32[:], float32)", "void(float64[:], float64)"])
    def fill(out, x):
        out[0] = x

    for dtype in (np.float32, np.float64):
        out = np.zeros(1, dtype)
        fill[1, 1](out, 0.1)
        assert out[0] == dtype(0.1)
    with pytest.raises(KernelFault, match=r"\(float32\[:\], float32\) or \(float64\[:\]"):
        fill[1, 1](np.zeros(1, np.int32), 0.1)


def test_a_device_function_with_a_signature_rounds_as_declared():
    @cuda.jit(float32(float32, float32), device=True)
    def ratio(a, b):
        return a / b

    @cuda.jit("int32(int32)", device=True)
    def cut(x):
        return x

    @cuda.jit
    def kernel(out):
        out[0] = ratio(1.0, 3.0)
        out[1] = cut(7.9)

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [float(np.float32(1) / np.float32(3)), 7.0]


def test_options_of_the_decorator():
    @cuda.jit()
    def plain(a):
        a[0] = 1

    @cuda.jit(fastmath=True, lineinfo=True, max_registers=32)
    def tuned(a):
        a[0] = 2

    a = np.zeros(1)
    plain[1, 1](a)
    tuned[1, 1](a)
    assert a[0] == 2


def test_a_kernel_sees_the_closure_it_was_made_with():
    def power_kernel(n):
        factors = (1, n)

        @cuda.jit
        def kernel(out):
            out[0] = n**3 + factors[1]

        return kernel

    out = np.zeros(1, np.int64)
    for n in (2, 3):
        power_kernel(n)[1, 1](out)
        assert out[0] == n**3 + n


def test_a_kernel_that_is_defined_again_is_the_new_one():
    @cuda.jit
    def kernel(out):
        out[0] = 1

    first = kernel

    @cuda.jit  # type: ignore[no-redef]
    def kernel(out):
        out[0] = 2

    out = np.zeros(2)
    first[1, 1](out[:1])
    kernel[1, 1](out[1:])
    assert out.tolist() == [1, 2]


helpers = types.ModuleType("helpers")
helpers.SCALE, helpers.TABLE, helpers.LIMITS = 3.0, np.array([1.0, 2.0]), (2, 4)
helpers.twice = cuda.jit(device=True)(lambda x: 2 * x)
helpers.math, helpers.inner, helpers.kind = math, types.ModuleType("inner"), object()
helpers.inner.OFFSET = 5


class Step(IntEnum):
    ADD = 1
    SCALE = 2


def test_a_kernel_has_what_a_module_of_the_programs_own_has():
    @cuda.jit
    def kernel(a):
        for i in range(helpers.LIMITS[0]):
            a[i] = helpers.math.sqrt(helpers.twice(a[i])) * helpers.SCALE + helpers.TABLE[i]
        a[3] = helpers.inner.OFFSET

    a = np.array([8.0, 18.0, 0, 0])
    kernel[1, 1](a)
    assert a.tolist() == [13, 20, 0, 5]


def test_what_a_module_has_not_or_a_kernel_cannot_have_is_told_by_its_whole_name():
    @cuda.jit
    def misspelled(a):
        a[0] = helpers.twise(a[0])

    @cuda.jit
    def an_object(a):
        a[0] = helpers.kind

    assert "`helpers.twise` is not defined" in str(fault_of(misspelled, 1, 1, ten()))
    assert "`helpers.kind` cannot be used in a kernel" in str(fault_of(an_object, 1, 1, ten()))


def test_a_whole_enumeration_names_numbers():
    @cuda.jit
    def kernel(a, step):
        a[0] = a[0] * 10 if step == Step.SCALE else a[0] + Step.ADD

    a = np.ones(1)
    kernel[1, 1](a, Step.ADD)
    assert a[0] == 2
    kernel[1, 1](a, Step.SCALE)
    assert a[0] == 20


def test_a_kernel_without_source_is_told():
    names = {"cuda": cuda}
    exec("@cuda.jit\ndef made(a):\n    a[0] = 1\n", names)
    with pytest.raises(KernelFault, match="The source of `made` cannot be found"):
        names["made"][1, 1](np.zeros(1))


def test_a_lambda_runs_as_a_device_function_and_folds():
    product, other = cuda.jit(device=True)(lambda a, b: a * b), lambda c: c

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = product(x[cuda.grid(1)], 3)

    x = np.arange(4.0)
    kernel[1, 4](x)
    assert x.tolist() == [0, 3, 6, 9]
    assert other(cuda.Reduce(lambda a, b: max(a, b))(np.arange(300.0))) == 299


def test_of_two_lambdas_of_one_line_none_is_chosen():
    first, _ = cuda.jit(lambda a: None), cuda.jit(lambda a: a)
    assert "A lambda cannot stand in a kernel" in str(fault_of(first, 1, 1, np.zeros(1)))


def test_kernels_run_from_several_threads_at_once():
    results = [np.zeros(1000) for _ in range(4)]

    def work(a):
        for _ in range(5):
            add[8, 128](a, np.ones(1000), a)

    threads = [threading.Thread(target=work, args=(a,)) for a in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((a == 5).all() for a in results)


def test_scalars_keep_their_type():
    @cuda.jit
    def types(out, x):
        out[0] = x + x

    out = np.zeros(1, np.int64)
    types[1, 1](out, np.int8(100))
    assert out[0] == 200  # Numba adds two int8 as int64
    types[1, 1](out, True)
    assert out[0] == 2
    wide = np.zeros(1)
    types[1, 1](wide, np.float32(0.1))
    assert wide[0] == np.float32(0.1) + np.float32(0.1)
    types[1, 1](wide, np.float16(0.5))
    assert wide[0] == 1


def test_int32_declared_scalars_wrap():
    @cuda.jit((int32, int32[:]))
    def keep(n, out):
        out[0] = n

    out = np.zeros(1, np.int32)
    keep[1, 1](2**31, out)
    assert out[0] == -(2**31)


def test_course_exports_what_the_lessons_use():
    assert {"measure", "trace", "KernelFault", "Outcome", "has_gpu"} <= set(course.__all__)


@cuda.jit
def floats_and_numbers(out, first):
    i = cuda.threadIdx.x
    floats = cuda.shared.array(0, float32)
    numbers = cuda.shared.array(0, int32)[first:]
    floats[i] = i + 0.5
    numbers[i] = 10 * i
    cuda.syncthreads()
    out[i] = floats[31 - i] + numbers[31 - i]


@cuda.jit
def bits_of_floats(out):
    i = cuda.threadIdx.x
    floats = cuda.shared.array(0, float32)
    floats[i] = i
    out[i] = cuda.shared.array(0, int32)[i]


def test_dynamic_shared_arrays_of_two_types_have_each_its_part():
    out = np.zeros(32)
    floats_and_numbers[1, 32, 0, 256](out, 32)
    np.testing.assert_array_equal(out, 11 * np.arange(32.0)[::-1] + 0.5)


@pytest.mark.parametrize(
    ("kernel", "passed", "line"), [(floats_and_numbers, (31,), 6), (bits_of_floats, (), 5)]
)
def test_a_byte_of_dynamic_shared_memory_of_two_types_is_not_measured(kernel, passed, line):
    fault = raised(kernel[2, 32, 0, 256], np.zeros(64), *passed)
    assert (fault.outcome, fault.message_id) == (Outcome.NOT_MEASURED, "dynamic_shared_types")
    assert fault.line == kernel.py_func.__code__.co_firstlineno + line
