"""On a machine with a GPU: every solution there, a kernel that breaks its process, a profile.

``python -m pytest -m gpu -rA course/tests/gpu/test_on_a_gpu.py`` shows what each is told.
"""

import shutil

import pytest

from course import exercises
from course.gpu import own, profile
from course.gpu.present import SWITCH, present
from course.notebook.solution import _cell
from course.spec.exercise import KernelExercise

pytestmark = [pytest.mark.gpu, pytest.mark.slow]
KERNELS = {n: e for n, e in exercises.all_exercises().items() if isinstance(e, KernelExercise)}
STRAYS = {
    "double": """
from numba import cuda
@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    y[i + 1000000000] = 2 * x[i]
""",
    "triton_add": """
import triton
import triton.language as tl
BLOCK = 1024
@triton.jit
def triton_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at + 1000000000, tl.load(x_ptr + at) + tl.load(y_ptr + at))
""",
}


@pytest.fixture(autouse=True)
def _gpu_is_used(monkeypatch):
    """Every other test leaves the GPU alone (`conftest.py`)."""
    monkeypatch.delenv(SWITCH, raising=False)
    if not present():
        pytest.skip("there is no GPU here")


def told(name, source):
    said = own.told(name, KERNELS[name].dialect, source)
    print(f"{name}: {said}")
    return said


@pytest.mark.parametrize("name", KERNELS)
def test_the_courses_own_solution_is_right_there_and_timed_at_full_size(name):
    source = _cell(KERNELS[name])
    assert source is not None
    said = told(name, source)
    if "for compute capability" in said:
        pytest.skip(said)
    assert "right on all" in said
    assert f"{KERNELS[name].full.told} takes" in said
    assert "not timed" not in said


def test_a_kernel_that_tunes_its_warps_is_launched_with_them():
    source = _cell(KERNELS["triton_add"])
    tuned = "@triton.autotune(configs=[triton.Config({}, num_warps=8)], key=[])\n@triton.jit"
    said = told("triton_add", source.replace("@triton.jit", tuned))
    assert "right on all" in said
    assert "not timed" not in said


@pytest.mark.parametrize("name", STRAYS)
def test_a_kernel_that_leaves_its_memory_breaks_its_own_process_alone(name):
    assert "GPU stopped it" in told(name, STRAYS[name])
    assert "right on all" in told(name, _cell(KERNELS[name]))


@pytest.mark.skipif(shutil.which("ncu") is None, reason="Nsight Compute is not here")
@pytest.mark.parametrize("name", ["double", "matmul_tiled", "triton_add", "triton_matmul", "dot"])
def test_a_profile_names_what_limits_a_kernel(name):
    said = repr(profile.profile(KERNELS[name], _cell(KERNELS[name])))
    print(said)
    if not said.startswith("Counters refused"):
        assert "What limits it: " in said
        assert "(not known)" not in said


def test_tensors_of_the_cpu_run_on_the_engine_and_those_of_the_gpu_there():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    from course.tests.engine.triton import cases

    case = cases.add(1000)
    case.kernel[case.grid](*case.args, **case.constants)
    assert torch.equal(case.args[2], case.expected[2])
    x, y, _, n = case.args
    there = [x.cuda(), y.cuda(), torch.zeros(n, device="cuda"), n]
    case.kernel[case.grid](*there, **case.constants)
    assert torch.equal(there[2].cpu(), case.expected[2])
