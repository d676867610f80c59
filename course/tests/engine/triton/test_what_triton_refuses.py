"""Launches that Triton refuses, and others beside them that it takes."""

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import Outcome
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised


@triton.jit
def filled(x, unused, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 7.0)


@triton.jit
def kept_bits(x, mask, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.atomic_and(x + at, tl.load(mask + at))


@pytest.mark.parametrize(
    ("unused", "named"),
    [("a text", {}), (tl.float32, {}), (3, {"stream": 0}), (3, {"device": 0}), (3, {"other": 1})],
)
def test_what_triton_refuses_at_a_launch_does_not_compile(unused, named):
    fault = raised(launch, filled, (torch.zeros(16), unused), (1,), {"B": 16, **named})
    assert fault.outcome is Outcome.DOES_NOT_COMPILE, str(fault)


@pytest.mark.parametrize("block", [16, tl.constexpr(16)])
@pytest.mark.parametrize("unused", [3, None, tl.constexpr("a text"), 2.5])
def test_what_triton_takes_at_a_launch_runs(unused, block):
    x = torch.zeros(16)
    launch(filled, (x, unused), (1,), {"B": block})
    assert x.tolist() == [7.0] * 16


def test_a_type_that_the_gpu_lacks_is_told_with_those_that_it_has():
    given = filled, (torch.zeros(16, dtype=torch.float8_e4m3fn), 3), (1,), {"B": 16}
    fault = raised(launch, *given)
    assert (fault.outcome, fault.message_id, fault.fields) == (
        Outcome.DOES_NOT_COMPILE, "tile_type_of_another_gpu",
        {"name": "fp8e4nv", "known": "'fp8e4b15', 'fp8e5'"},
    )  # fmt: skip
    launch(*given, target=90)


@triton.jit
def copied(source: tl.const, x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), tl.load(source + tl.arange(0, B)))


@triton.jit
def copied_back(source: tl.const, x, B: tl.constexpr):
    tl.store(source + tl.arange(0, B), tl.load(x + tl.arange(0, B)))


def test_a_parameter_that_is_const_is_only_loaded():
    given = torch.ones(16), torch.zeros(16)
    launch(copied, given, (1,), {"B": 16})
    assert torch.equal(*given)
    fault = raised(launch, copied_back, given, (1,), {"B": 16})
    assert (fault.outcome, fault.message_id) == (
        Outcome.DOES_NOT_COMPILE, "tile_stores_to_constant"
    )  # fmt: skip


@triton.jit
def counted(x, n):
    tl.store(x, n.to(tl.float32))


@triton.jit
def hinted(x, n):
    tl.store(x, tl.multiple_of(n, 16))


@triton.jit
def hinted_as_told(x, n):
    tl.store(x, tl.multiple_of(tl.to_tensor(n), 16))


@pytest.mark.parametrize("kernel", [counted, hinted])
def test_an_argument_that_is_1_is_told_to_be_a_constant(kernel):
    launch(kernel, (torch.zeros(1), 2), (1,))
    fault = raised(launch, kernel, (torch.zeros(1), 1), (1,))
    assert (fault.message_id, fault.fields["name"]) == ("tile_one_is_constant", "n")
    told = hinted_as_told, triton.jit(do_not_specialize=["n"])(kernel.fn)
    for other in told:
        launch(other, (x := torch.zeros(1), 1), (1,))
        assert x.tolist() == [1.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_atomic_of_bits_takes_floats_by_their_bits(dtype):
    x, mask = torch.full((16,), -3.0, dtype=dtype), torch.full((16,), 3.0, dtype=dtype)
    launch(kept_bits, (x, mask), (1,), {"B": 16})
    assert x.tolist() == [3.0] * 16  # both without the sign
