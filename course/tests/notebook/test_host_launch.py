"""Every way in which Numba and numba-cuda start a kernel reaches the engine without a GPU."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda, float32

import course

pytestmark = pytest.mark.skipif(course.has_gpu(), reason="launches go to the GPU here")


@cuda.jit
def add_one(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1


@cuda.jit
def fill_from_a_tuple(x, y):
    i = cuda.grid(1)
    for v in (x[i], float32(2)):
        x[i] = 0
        y[i] += v


def test_a_loop_over_a_tuple_evaluates_its_elements_once_before_the_first_turn() -> None:
    x, y = np.full(32, 5, np.float32), np.zeros(32, np.float32)
    fill_from_a_tuple[1, 32](x, y)
    assert (y == 7).all()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"thread": 300}, "`thread=300` is not in this launch: its block is (32, 1, 1)"),
        ({"thread": -1}, "`thread=-1` is not in this launch"),
        ({"thread": 1.5}, "`thread=1.5` is not in this launch"),
        ({"thread": (0, 1)}, "`thread=(0, 1)` is not in this launch"),
        ({"block": 4}, "`block=4` is not in this launch: its grid is (4, 1, 1)"),
    ],
)
def test_a_trace_of_a_thread_that_is_not_there_says_so(place, said, capsys):
    x = np.zeros(100, np.float32)
    with pytest.raises(course.KernelFault) as caught:
        course.trace(add_one, **place)[4, 32](x, x.copy())
    assert said in str(caught.value)
    assert capsys.readouterr().out == ""


def test_a_trace_prints_one_threads_steps_and_returns_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, y = np.zeros(100, np.float32), np.zeros(100, np.float32)
    assert course.trace(add_one, block=1, thread=3)[4, 32](x, y) is None
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.endswith("-> i = 35")
    assert last.endswith("y[i] = x[i] + 1   -> y[35] = 1.0")


def test_mapped_arrays_and_streams_are_the_hosts() -> None:
    x, called = np.zeros(32, np.float32), []
    with cuda.mapped(x) as seen:
        add_one[1, 32, cuda.per_thread_default_stream()](seen, seen)
    cuda.stream().add_callback(lambda stream, status, arg: called.append((status, arg)), 5)
    assert (x == 1).all()
    assert called == [(0, 5)]
    assert cuda.mapped_array_like(x).shape == x.shape


def test_forall_launches_enough_threads_for_its_tasks() -> None:
    x, y = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    with course.measure() as traffic:
        add_one.forall(1000)(x, y)
    assert (y == 1).all()
    assert traffic.sectors("x", "load") == 125


def test_a_launch_as_numba_cuda_hands_it_over_runs_on_the_engine() -> None:
    x, y = np.zeros(100, np.float32), np.zeros(100, np.float32)
    settings = SimpleNamespace(griddim=(4, 1, 1), blockdim=(32, 1, 1), stream=0, sharedmem=0)
    with course.measure() as traffic:
        add_one.call((x, y), settings)
    assert (y == 1).all()
    assert traffic.launches == 1


def test_what_was_measured_is_shown_as_a_table() -> None:
    x, y = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    with course.measure() as traffic:
        add_one[4, 256](x, y)
    assert repr(traffic).splitlines() == [
        "access            requests   sectors  requested bytes",
        "load   x                32       125            4,000",
        "store  y                32       125            4,000",
    ]
    with course.measure() as nothing:
        pass
    assert str(nothing) == "0 launches, which asked nothing of global memory"


def test_a_direction_that_there_is_not_has_no_sectors() -> None:
    with course.measure() as traffic:
        add_one[1, 32](np.zeros(32, np.float32), np.zeros(32, np.float32))
    with pytest.raises(ValueError, match="'loads'"):
        traffic.sectors("x", "loads")


def test_arguments_that_say_which_way_they_go():
    @cuda.jit
    def added(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]
            a[i] = b[i] = 0

    a, b, out = np.full(8, 1.0), np.full(8, 2.0), np.zeros(8)
    added[1, 8](cuda.In(a), cuda.InOut(b), cuda.Out(out))
    assert [one.sum() for one in (a, b, out)] == [8, 0, 24]
