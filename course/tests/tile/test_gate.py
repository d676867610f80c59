"""What Triton's compiler refuses is refused here, with its message and the line."""

import pytest

pytest.importorskip("triton", reason="Triton has no wheel for this system")

import torch
import triton
import triton.language as tl

from course.faults import KernelFault, Outcome
from course.tests.tile import cases
from course.tile.functions import code_of
from course.tile.gate import compile_for
from course.tile.launch import launch


@triton.jit
def small_dot(a_ptr, out_ptr, M: tl.constexpr, K: tl.constexpr):
    a = tl.load(a_ptr + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    product = tl.dot(a, tl.trans(a))
    tl.store(out_ptr + tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :], product)


@triton.jit
def changes_type(x_ptr, n):
    total = 0
    for i in range(n):
        total = total + tl.load(x_ptr + i)
    tl.store(x_ptr, total)


@triton.jit
def only_one_side(x_ptr):
    if tl.load(x_ptr) > 0:
        y = 1.0
    tl.store(x_ptr, y)


@triton.jit
def in_a_helper(x_ptr):
    tl.store(x_ptr, mixed(tl.load(x_ptr)))


@triton.jit
def mixed(x):
    return tl.arange(0, 4) + tl.arange(0, 8)


WRONG = [
    (small_dot, (torch.zeros(16, 8).half(), torch.zeros(16, 16)), {"M": 16, "K": 8}, 2, "K >= 16"),
    (changes_type, (torch.zeros(4), 4), {}, 2, "type"),
    (only_one_side, (torch.zeros(4),), {}, 3, "y is not defined"),
]


@pytest.mark.parametrize(("kernel", "args", "constants", "line", "words"), WRONG)
def test_the_compilers_refusal_names_the_line(kernel, args, constants, line, words):
    with pytest.raises(KernelFault) as caught:
        compile_for(kernel, args, constants)
    assert caught.value.outcome is Outcome.DOES_NOT_COMPILE
    assert caught.value.line == code_of(kernel).first_line + line
    assert words in str(caught.value)


def test_a_refusal_inside_a_helper_function_names_the_helpers_line():
    with pytest.raises(KernelFault) as caught:
        compile_for(in_a_helper, (torch.zeros(4),))
    assert caught.value.line == code_of(mixed).first_line + 1
    assert "shape" in str(caught.value)


def test_the_engine_alone_would_run_a_dot_that_is_too_small():
    a, out = torch.randn(16, 8).half(), torch.zeros(16, 16)
    launch(small_dot, (a, out), (1,), {"M": 16, "K": 8})
    assert torch.allclose(out, a.float() @ a.float().T, atol=1e-3)


def test_resources_of_a_kernel():
    case = cases.matmul(64)
    found = compile_for(case.kernel, case.args, case.constants)
    assert found.target == 80
    assert found.warps == 4
    assert 32 <= found.registers <= 255
    assert found.shared_bytes == 2 * (64 * 32 + 32 * 64) * 2
    assert found.spill_bytes == 0


def test_tiles_that_do_not_fit_in_shared_memory_are_too_many_resources():
    case = cases.matmul(64, "float32", (64, 64, 64))
    with pytest.raises(KernelFault) as caught:
        compile_for(case.kernel, case.args, case.constants | {"num_stages": 7})
    assert caught.value.outcome is Outcome.TOO_MANY_RESOURCES


@pytest.mark.parametrize("target", [75, 80, 90])
def test_a_kernel_compiles_for_each_target(target):
    case = cases.add(1000)
    assert compile_for(case.kernel, case.args, case.constants, target).target == target
