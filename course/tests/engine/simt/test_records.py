"""Arrays of records: each field is loaded and stored for itself, in Numba's widths."""

import numpy as np
import pytest
from numba import cuda, from_dtype

import course
from course.engine.faults import Outcome
from course.engine.simt.compiled import has_nvvm
from course.tests.engine.simt.faults import fault_of
from course.tests.engine.simt.ptx import compiled, parsed
from course.tests.engine.simt.ptx_run import Launch

FIELDS = [("x", np.float32), ("id", np.int32), ("mass", np.float64), ("kind", np.int8)]
ALIGNED = np.dtype(FIELDS, align=True)
#: 17 bytes: no field but the last lies at multiples of its size
PACKED = np.dtype(FIELDS)
#: 12 bytes, and not said to be aligned
LOOSE = np.dtype([("x", np.float32), ("id", np.int32), ("y", np.float32)])
ALIKE = [("x", np.float32), ("y", np.float32)]
N = 64


@cuda.jit
def moved(p, dt):
    i = cuda.grid(1)
    if i < p.size:
        p[i].x += dt
        p[i]["mass"] = p[i].id


@cuda.jit(device=True)
def weighed(one, by):
    one.mass *= by
    return one.x + one.kind


@cuda.jit
def by_variable(p, order, out):
    i = cuda.grid(1)
    if i < len(p):
        one = p[order[i]]
        out[i] = weighed(one, 2)


@cuda.jit
def by_place(p, order, out):
    i = cuda.grid(1)
    out[i] = p[order[i]].id


@cuda.jit
def in_rows(p, out):
    i, j = cuda.grid(2)
    out[i, j] = p[i, j].x + p.shape[1]


@cuda.jit
def shifted(p):
    i = cuda.grid(1)
    p[i].x = p[(i + 1) % p.size].x


@cuda.jit
def weighted(p):
    p[cuda.grid(1)].x *= 2


@cuda.jit
def crossed(p):
    i = cuda.grid(1)
    p[i].x = p[(i + 1) % p.size].id


@cuda.jit
def copied(p, q):
    i = cuda.grid(1)
    q[i] = p[i]


@cuda.jit
def swapped(p):
    i = cuda.grid(1)
    p[i].x = p[i].y


def people(dtype=ALIGNED, count=N):
    p = np.zeros(count, dtype)
    for field in dtype.names:
        p[field] = np.arange(count)
    return p


def counts(traffic):
    return {(s.array, s.direction): (s.requests, s.sectors, s.lane_bytes) for s in traffic.sites}


def test_each_field_has_its_own_width():
    p = people()
    with course.measure() as traffic:
        moved[1, 64](p, np.float32(0.5))
    np.testing.assert_array_equal(p["x"], np.arange(N) + 0.5)
    np.testing.assert_array_equal(p["mass"], np.arange(N))
    # a record of 24 bytes: 32 of them lie in 24 sectors, and 32 masses at byte 8 of each as well
    assert counts(traffic) == {
        ("p.x", "load"): (2, 48, 256),
        ("p.x", "store"): (2, 48, 256),
        ("p.id", "load"): (2, 48, 256),
        ("p.mass", "store"): (2, 48, 512),
    }


def test_records_that_are_not_aligned_are_taken_byte_by_byte():
    # as in the PTX of both: `ld.global.u8` four times for a float
    with course.measure() as traffic:
        weighted[1, 32](people(LOOSE, 32))
        swapped[1, 64](people(np.dtype(ALIKE)))
        swapped[1, 64](people(np.dtype(ALIKE, align=True)))
    assert [(s.requests, s.sectors) for s in traffic.sites if s.array == "p.x"] == [(4, 48)] * 2
    assert [(s.requests, s.sectors) for s in traffic.sites if s.array == "p"] == [(10, 80)] * 2


def test_a_record_in_a_variable_is_the_arrays_own():
    p, order, out = people(), np.arange(N)[::-1].copy(), np.zeros(N)
    with course.measure() as traffic:
        by_variable[1, 64](p, order, out)
    np.testing.assert_array_equal(p["mass"], 2 * np.arange(N))
    np.testing.assert_array_equal(out, 2 * np.arange(N)[::-1])
    assert counts(traffic)["order", "load"] == (2, 16, 512)
    assert counts(traffic)["p.kind", "load"] == (2, 48, 64)
    assert ("p.id", "load") not in counts(traffic)


@pytest.mark.parametrize("dtype", [ALIGNED, np.dtype([("id", np.int32), ("of", np.int32)])])
def test_a_place_that_is_loaded_is_loaded_once(dtype):
    order, out = np.arange(N)[::-1].copy(), np.zeros(N, np.int32)
    with course.measure() as traffic:
        by_place[1, 64](people(dtype), order, out)
    np.testing.assert_array_equal(out, order)
    assert counts(traffic)["order", "load"] == (2, 16, 512)


def test_two_axes():
    p, out = people().reshape(8, 8), np.zeros((8, 8), np.float32)
    in_rows[1, (8, 8)](p, out)
    np.testing.assert_array_equal(out, p["x"] + 8)


def test_mistakes_are_told_by_the_field():
    fault = fault_of(by_place, 1, 64, people(count=60), np.arange(N), np.zeros(N, np.int32))
    assert (fault.outcome, fault.fields["array"]) == (Outcome.OUT_OF_BOUNDS, "p.id")
    assert (fault.fields["index"], fault.fields["shape"]) == ("60", "60")
    fault = fault_of(shifted, 1, 64, people())
    assert (fault.outcome, fault.fields["array"]) == (Outcome.RACE, "p.x")
    crossed[1, 64](p := people())
    np.testing.assert_array_equal(p["x"], np.roll(np.arange(N), -1))


@pytest.mark.parametrize(
    ("kernel", "args"),
    [(copied, (people(), people())), (moved, (people(PACKED), np.float32(1)))],
)
def test_what_is_not_run_is_not_measured(kernel, args):
    assert fault_of(kernel, 1, 64, *args).outcome is Outcome.NOT_MEASURED


def asked(pairs):
    """(requests, sectors) by the argument's number and the direction, all sites together."""
    found = {}
    for key, requests, sectors in pairs:
        before = found.get(key, (0, 0))
        found[key] = before[0] + requests, before[1] + sectors
    return found


@pytest.mark.slow
@pytest.mark.skipif(not has_nvvm(), reason="no NVVM here: pip install nvidia-cuda-nvcc-cu12")
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("kernel", [moved, by_variable, by_place, crossed, swapped])
def test_what_is_asked_is_what_its_ptx_asks(kernel, align):
    fields = [("x", np.float32), ("y", np.float32), ("id", np.int32), ("kind", np.int32)]
    dtype = np.dtype([*fields, ("mass", np.float64)], align=align)
    order, out = np.arange(N)[::-1].copy(), np.zeros(N)
    rest = {moved: (np.float32(1),), by_variable: (order, out), by_place: (order, out)}
    args = people(dtype), *rest.get(kernel, ())
    with course.measure() as traffic:
        kernel[1, 64](*args)
    names = list(kernel.py_func.__code__.co_varnames)
    mine = asked(
        ((names.index(site.array.split(".")[0]), site.direction), site.requests, site.sectors)
        for site in traffic.sites
    )
    arrays = [at for at, one in enumerate(args) if isinstance(one, np.ndarray)]
    run = Launch(parsed(compiled(kernel, args)), args, (1,), (64,)).run()
    theirs = asked(
        ((arrays[array], direction), requests, run.sectors[array, direction])
        for (array, direction), requests in run.requests.items()
    )
    assert mine == theirs


@cuda.jit
def fields_as_arrays(xs, masses, out):
    i = cuda.grid(1)
    out[i] = xs[i] + masses[i]
    masses[i] = 3


@cuda.jit
def records_and_a_field(p, xs):
    i = cuda.grid(1)
    p[i].id = i
    xs[(i + 1) % xs.size] = 2


@cuda.jit
def records_and_the_same_field(p, xs):
    i = cuda.grid(1)
    p[i].x = i
    xs[(i + 1) % xs.size] = 2


@cuda.jit
def numbers_and_their_halves(wide, narrow):
    i = cuda.grid(1)
    wide[i] = i
    narrow[(2 * i + 3) % narrow.size] = 1


@pytest.mark.parametrize("dtype", [ALIGNED, np.dtype([("mass", "f8"), ("x", "f4"), ("id", "i4")])])
def test_fields_of_other_widths_are_memory_of_their_own(dtype):
    p, out = np.ones(N, dtype), np.zeros(N)
    fields_as_arrays[2, 32](p["x"], p["mass"], out)
    records_and_a_field[2, 32](p, p["x"])
    assert (out.tolist(), p["mass"].tolist(), p["x"].tolist()) == ([2] * N, [3] * N, [2] * N)


def test_records_and_a_view_of_a_field_are_one_memory():
    p = np.ones(N, ALIGNED)
    fault = fault_of(records_and_the_same_field, 2, 32, p, p["x"])
    assert (fault.outcome, fault.fields["array"]) == (Outcome.RACE, "xs")
    numbers = np.ones(N)
    fault = fault_of(numbers_and_their_halves, 2, 32, numbers, numbers.view(np.float32))
    assert (fault.outcome, fault.fields["array"]) == (Outcome.RACE, "narrow")
    assert fault.fields["index"] == "3"


POINTS = np.dtype(ALIKE, align=True)
OF_POINTS, OF_FLOATS, OF_SEVERAL = from_dtype(POINTS), np.dtype(np.float32), from_dtype(ALIGNED)


@cuda.jit
def turned_in_shared_memory(p, out):
    t = cuda.threadIdx.x
    shared = cuda.shared.array(32, POINTS)
    ones = cuda.shared.array(32, OF_FLOATS)
    private = cuda.local.array(2, OF_POINTS)
    shared[t].x = p[t].x
    shared[t]["y"] = p[t].y
    ones[t] = 1
    cuda.syncthreads()
    private[1].x = shared[31 - t].x
    private[1].y = shared[31 - t].y + ones[31 - t]
    out[t].x = private[1].y
    out[t].y = private[1].x


@cuda.jit
def of_several_types(out):
    shared = cuda.shared.array(32, OF_SEVERAL)
    shared[cuda.threadIdx.x].x = 1


def test_shared_and_private_arrays_hold_records_whose_fields_are_alike():
    p, out = np.zeros(32, POINTS), np.zeros(32, POINTS)
    p["x"], p["y"] = np.arange(32), np.arange(32) * 2
    turned_in_shared_memory[1, 32](p, out)
    assert out["x"].tolist() == [2 * k + 1 for k in reversed(range(32))]
    assert out["y"].tolist() == [*reversed(range(32))]
    assert fault_of(of_several_types, 1, 32, p).outcome is Outcome.NOT_MEASURED
