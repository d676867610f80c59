"""On a machine with a GPU: which launches go there, and which run on the engine."""

import numpy as np
import pytest
from numba import cuda

pytest.importorskip("triton", reason="Triton has no wheel for this system")

import torch
import triton
import triton.language as tl

import course
from course.engine.faults import KernelFault
from course.gpu.present import SWITCH
from course.notebook import numba_launches, triton_launches


@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 1


def test_with_the_gpu_switched_off_a_numba_launch_runs_on_the_engine(monkeypatch):
    monkeypatch.setattr(numba_launches, "_found", lambda: True)
    monkeypatch.delenv(SWITCH, raising=False)
    assert course.has_gpu()
    monkeypatch.setenv(SWITCH, "off")
    assert not course.has_gpu()
    x = np.zeros(32, np.float32)
    fill[1, 32](x)
    assert x.all()


class OnGpu(torch.Tensor):
    """A tensor that says that it lies on a GPU."""

    is_cuda = True


@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at))


tuned = triton.autotune([triton.Config({"BLOCK": 16})], key=[])(copy)


@pytest.fixture(params=["run", "autotuned"])
def launched(request, monkeypatch):
    """Launches `copy`; the answer is whether that went to the GPU."""
    monkeypatch.setattr(triton_launches, "_found", lambda: True)
    monkeypatch.delenv(SWITCH, raising=False)
    gone = []

    def on_gpu(self, *args, **named):
        gone.append(args)

    def launch(x, y):
        gone.clear()
        if request.param == "run":
            triton_launches._run(on_gpu)(copy, x, y, grid=(1,), warmup=False, BLOCK=16)
        else:
            triton_launches._autotuned(on_gpu)(tuned, x, y, grid=(1,), warmup=False)
        return bool(gone)

    return launch


def test_a_triton_launch_runs_where_its_tensors_lie(launched):
    x, y = torch.ones(16), torch.zeros(16)
    assert not launched(x, y)
    assert y.all()
    assert launched(x.as_subclass(OnGpu), y.as_subclass(OnGpu))


def test_inside_measure_and_with_the_gpu_switched_off_all_run_on_the_engine(launched, monkeypatch):
    x, y = torch.ones(16), torch.zeros(16)
    with course.measure() as traffic:
        assert not launched(x.as_subclass(OnGpu), y.as_subclass(OnGpu))
    assert traffic.launches == 1
    monkeypatch.setenv(SWITCH, "off")
    assert not launched(x.as_subclass(OnGpu), y.as_subclass(OnGpu))


def test_tensors_in_two_places_are_named(launched):
    with pytest.raises(KernelFault) as caught:
        launched(torch.ones(16), torch.zeros(16).as_subclass(OnGpu))
    assert "`x_ptr` lies on the CPU and `y_ptr` on the GPU" in str(caught.value)


def test_memory_that_a_gpu_reaches_is_no_place_of_its_own(launched, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: True)
    assert launched(torch.ones(16), torch.zeros(16).as_subclass(OnGpu))
