"""Launching as Triton spells it, without a GPU, and inside `course.measure()`."""

import subprocess
import sys

import pytest
import torch
import triton
import triton.language as tl

import course
from course.engine.faults import KernelFault, Outcome
from course.notebook.triton_launches import has_gpu
from course.tests.engine.triton import cases

without_gpu = pytest.mark.skipif(has_gpu(), reason="a launch runs on the GPU that is here")


@without_gpu
def test_a_launch_runs_on_the_engine():
    case = cases.add(1000)
    case.kernel[case.grid](*case.args, **case.constants)
    assert torch.equal(case.args[2], case.expected[2])


def test_measure_counts_every_launch_inside_it():
    case = cases.add(1000)
    with course.measure() as traffic:
        case.kernel[case.grid](*case.args, **case.constants)
        with course.measure() as inner:
            case.kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](
                *case.args, BLOCK=128, num_warps=2
            )
    assert inner.launches == 1
    assert traffic.launches == 2
    assert traffic.loads.sectors == 2 * inner.loads.sectors == 2 * 500  # 1000 is no multiple of 16
    assert traffic.loads.requests == 2 * inner.loads.requests == 2 * 64


@triton.jit
def overrun(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1.0)


def test_a_fault_inside_measure_leaves_the_counts():
    x = torch.zeros(12)
    with course.measure() as traffic:
        overrun[(1,)](x, BLOCK=8)
        with pytest.raises(KernelFault) as caught:
            overrun[(2,)](x, BLOCK=8)
    assert caught.value.outcome is Outcome.OUT_OF_BOUNDS
    assert traffic.stores.sectors == 1


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=inside) + (2 if EVEN else 1), mask=inside)


def test_autotune_and_heuristics_wrappers():
    x, y = torch.zeros(100), torch.zeros(128)
    with course.measure():
        tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100)
        tuned[lambda meta: (triton.cdiv(128, meta["BLOCK"]),)](y, 128)
    assert x.sum() == 100
    assert y.sum() == 2 * 128


def test_importing_the_course_imports_neither_triton_nor_torch():
    code = "import sys, course; assert not {'triton', 'torch'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["engine", "compiling.gate", "compiling.compiler"])
def test_what_a_runner_imports_may_be_what_imports_triton_first(module):
    code = (
        f"import course.engine.triton.{module}\nfrom course.engine.triton import engine\n"
        "from course.engine.triton.compiling import gate\n"
        "from course.notebook import triton_launches"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_importing_triton_after_the_course_installs_the_engine():
    code = "import course, triton; assert triton.JITFunction._course_installed"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_asking_whether_triton_is_there_does_not_keep_the_engine_out():
    """torch asks so when it is imported, and so does the course."""
    program = """
import importlib.util
import course

assert importlib.util.find_spec("triton") is not None
import triton
from triton.runtime.jit import JITFunction

print(JITFunction._course_installed)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


@triton.jit
def largest(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.max(tl.load(x_ptr + tl.arange(0, N))).to(tl.int64))


@pytest.mark.parametrize(
    ("kind", "found"),
    [(tl.int8, 100), (tl.uint8, 255), (torch.uint8, 255), (tl.uint16, 0x64FF), (tl.float8e5, None)],
)
@without_gpu
def test_a_tensor_is_read_as_what_it_is_reinterpreted_as(kind, found):
    x, out = torch.tensor([-1, 100] * 8, dtype=torch.int8), torch.zeros(1, dtype=torch.int64)
    largest[(1,)](triton.reinterpret(x, kind), out, N=8)
    if kind == tl.float8e5:
        found = int(torch.tensor([100], dtype=torch.int8).view(torch.float8_e5m2).float())
    assert out.item() == found


@without_gpu
def test_what_torch_cannot_hold_is_not_measured():
    x = torch.zeros(16, dtype=torch.int8)
    with pytest.raises(KernelFault, match=r"NOT_MEASURED.*reinterpreted as fp8e4b15.*`x_ptr`"):
        largest[(1,)](triton.reinterpret(x, tl.float8e4b15), torch.zeros(1), N=8)


@triton.jit
def product_in_stages(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    made = tl.zeros((N, N), tl.float32)
    for k in range(0, n, N):
        left = tl.load(x_ptr + i[:, None] * n + k + i)
        made = tl.dot(left, tl.load(x_ptr + (k + i)[:, None] * N + i), made)
    tl.store(out_ptr + i[:, None] * N + i, made)


def test_a_measured_launch_that_wants_more_shared_memory_than_there_is_is_told():
    x, out = torch.zeros(128, 256), torch.zeros(128, 128)
    with course.measure(), pytest.raises(KernelFault, match=r"TOO_MANY_RESOURCES.*shared memory"):
        product_in_stages[(1,)](x, out, 256, N=128, num_stages=5)
    with course.measure() as traffic:
        product_in_stages[(1,)](x, out, 256, N=128, num_stages=1)
    assert traffic.launches == 1
