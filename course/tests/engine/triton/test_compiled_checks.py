"""Checks on the engine that runs what the compiler made: the first fault, and the counts."""

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised


@triton.jit
def both_astray(x, y, out, K, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(x + i[:, None] * BLOCK + i[None, :] + k * BLOCK)
        tl.store(out + k * BLOCK * BLOCK + i, 1.0)
        b = tl.load(y + i[:, None] * BLOCK + i[None, :] + k * BLOCK)
        total = tl.dot(a, b, total)
    tl.store(out + i[:, None] * BLOCK + i[None, :], total)


def test_of_a_pipelined_loop_the_first_fault_is_the_one_that_is_written_first():
    # The compiler asks for x and y two turns early: there x ends before the store goes astray.
    x, y, out = torch.randn(32 * 16), torch.randn(64 * 16), torch.zeros(16 * 16)
    with pytest.raises(KernelFault, match=r"stores to out\[4096\]") as astray:
        launch(both_astray, (x, y, out, 64), (1,), {"BLOCK": 16})
    assert astray.value.outcome is Outcome.OUT_OF_BOUNDS
    assert astray.value.line == both_astray.fn.__code__.co_firstlineno + 6


@triton.jit
def unused(x, out, FAR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.load(x + FAR + i)
    tl.store(out + i, tl.load(x + i))


def test_a_load_that_nothing_uses_costs_nothing_and_may_go_astray():
    x, out = torch.randn(256), torch.zeros(128)
    traffic = launch(unused, (x, out), (1,), {"FAR": 128, "BLOCK": 128})
    assert torch.equal(out, x[:128])
    first = unused.fn.__code__.co_firstlineno
    assert [site.line for site in traffic.sites] == [first + 4] * 2
    with pytest.raises(KernelFault, match=r"loads from x\[1000000\]") as astray:
        launch(unused, (x, out), (1,), {"FAR": 1_000_000, "BLOCK": 128})
    assert astray.value.line == first + 3


@triton.jit
def shifted(p, i):
    return tl.load(p + i + 1)


@triton.jit
def by_a_helper(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, shifted(x, i))


def test_a_fault_in_a_function_that_the_kernel_calls_has_that_functions_line():
    x, out = torch.randn(128), torch.zeros(128)
    with pytest.raises(KernelFault, match=r"loads from x\[128\]") as astray:
        launch(by_a_helper, (x, out), (1,), {"BLOCK": 128})
    assert astray.value.line == shifted.fn.__code__.co_firstlineno + 2


@triton.jit
def nothing_but_sums(out, N, BLOCK: tl.constexpr):
    total = 0
    for k in range(N):
        total = total * 3 + k
        total = total % 1001
    tl.store(out + tl.arange(0, BLOCK), total)


def test_a_program_goes_through_the_lines_of_a_loop_in_each_turn():
    out = torch.zeros(128, dtype=torch.int32)
    few = launch(nothing_but_sums, (out, 10), (1,), {"BLOCK": 128}).longest_program
    many = launch(nothing_but_sums, (out, 20), (1,), {"BLOCK": 128}).longest_program
    assert many - few == 20


@triton.jit
def sums_of_sines(x, out, TIMES: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.load(x + i)
    for k in tl.static_range(TIMES):
        total += tl.sin(total + k)
    tl.store(out + i, total)


@pytest.mark.parametrize(("block", "each"), [(1024, 10), (2048, 20), (512, 5)])
def test_a_function_counts_for_statements_by_its_elements_however_few_lines_it_takes(block, each):
    x, out = torch.rand(block), torch.zeros(block)
    few = launch(sums_of_sines, (x, out), (1,), {"TIMES": 2, "BLOCK": block}).longest_program
    many = launch(sums_of_sines, (x, out), (1,), {"TIMES": 8, "BLOCK": block}).longest_program
    assert many - few == 6 * each


def test_a_loop_that_only_computes_is_stopped():
    out = torch.zeros(128, dtype=torch.int32)
    fault = raised(launch, nothing_but_sums, (out, 2**30), (1,), {"BLOCK": 128}, step_limit=1000)
    assert fault.outcome is Outcome.TIMED_OUT
    assert fault.fields["turns"] == 2**30
    assert fault.line == nothing_but_sums.fn.__code__.co_firstlineno + 3


def test_a_fault_of_a_launch_leaves_the_counts_so_far():
    x, out = torch.randn(100), torch.zeros(128)
    fault = raised(launch, unused, (x, out), (1,), {"FAR": 0, "BLOCK": 128})
    assert fault.traffic is not None
    assert fault.traffic.loads.sectors == 0


@triton.jit
def added_up(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(out + i) + tl.load(x + i))


def test_what_a_second_look_stored_does_not_add_to_the_first():
    x, out = torch.ones(200), torch.zeros(256)
    raised(launch, added_up, (x, out), (2,), {"BLOCK": 128}, together=1)
    assert torch.equal(out, torch.cat([torch.ones(128), torch.zeros(128)]))
