"""Loops and calls are written out while a kernel is compiled: no giant may come of them."""

import ast

import pytest
import torch
import triton
import triton.language as tl
from triton.compiler import code_generator

from course.engine.faults import Outcome
from course.engine.triton.compiling.compiler import to_memory, to_ptx
from course.engine.triton.compiling.specialisation import source_of
from course.engine.triton.compiling.written_out import MOST_NODES, MOST_OPERATIONS
from course.engine.triton.launch import launch
from course.tests.engine.faults import raised


@triton.jit
def loads(x, N: tl.constexpr):
    s = 0.0
    for k in tl.static_range(N):
        s += tl.load(x + k % 7)
    tl.store(x, s)


@triton.jit
def nested(x, N: tl.constexpr):
    s = 0.0
    for j in tl.static_range(N):
        for k in tl.static_range(N):
            s += j * k
    tl.store(x, s)


@triton.jit
def nothing(x, N: tl.constexpr):
    for _ in tl.static_range(2**62):
        pass
    tl.store(x, 1.0)


@triton.jit
def ordered(x, N: tl.constexpr):
    s = tl.load(x + tl.arange(0, 16))
    for _ in tl.static_range(N):
        s = tl.sort(s)  # a loop of the library's
        s += 1
    tl.store(x + tl.arange(0, 16), s)


@triton.jit
def pair(x):
    s = 0.0
    for k in tl.static_range(1000):
        s += tl.load(x + k % 7)
    return s


@triton.jit
def pairs(x, N: tl.constexpr):
    for k in tl.static_range(N):
        tl.store(x + k, pair(x))


@triton.jit
def unrolled(x, N: tl.constexpr):
    s = tl.load(x)
    for k in tl.static_range(64):
        s += tl.load(x + k)
    for _ in range(3):
        for _ in range(3):
            s += pair(x)
    tl.store(x, s)


def refused(run, kernel, **constants):
    return raised(run, kernel, constants)


def launched(kernel, constants):
    launch(kernel, (torch.zeros(64),), (1,), constants)


def compiled(kernel, constants):
    to_memory(source_of(kernel, (torch.zeros(64),), constants), 80)


def read_only(kernel, constants):
    to_ptx(source_of(kernel, (torch.zeros(64),), constants), 80)


@pytest.mark.slow
@pytest.mark.parametrize("run", [launched, compiled, read_only])
@pytest.mark.parametrize(("kernel", "line"), [(loads, 2), (nested, 2), (nothing, 1), (ordered, 2)])
@pytest.mark.family
def test_a_loop_that_is_written_out_without_end_is_told_with_its_line(run, kernel, line):
    fault = refused(run, kernel, N=3_000_000)
    assert (fault.outcome, fault.message_id) == (Outcome.TIMED_OUT, "tile_loop_written_out")
    assert fault.line == kernel.starting_line_number + 1 + line
    assert int(fault.fields["limit"]) == MOST_NODES


def test_calls_that_are_written_out_are_counted():
    fault = refused(compiled, pairs, N=60)  # the body of `pair` is read once, and is there 60 times
    assert (fault.outcome, fault.message_id) == (Outcome.TIMED_OUT, "tile_calls_written_out")
    assert fault.line == pairs.starting_line_number + 1
    assert int(fault.fields["operations"]) > max(MOST_OPERATIONS, 60 * 3000)


def test_what_is_long_and_not_endless_is_compiled_and_triton_is_as_before():
    visits = dict(vars(code_generator.CodeGenerator))
    compiled(unrolled, {"N": 1})
    refused(compiled, nothing, N=1)
    assert dict(vars(code_generator.CodeGenerator)) == visits


class Tree:
    """What a traceback leaves on a node that all trees share."""

    def __deepcopy__(self, memo):
        raise AssertionError("a whole tree would be copied at each `+=`")


def test_what_a_traceback_leaves_on_a_shared_node_is_not_copied():
    target = ast.parse("x = 0").body[0].targets[0]
    target.ctx.parent = Tree()
    try:
        compiled(nested, {"N": 2})
    finally:
        vars(target.ctx).clear()
