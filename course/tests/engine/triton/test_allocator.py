"""`triton.set_allocator`: what kernels that make descriptors need on a GPU, and nobody here."""

import importlib

import pytest
import torch
import triton
import triton.language as tl

import course
from course.check.check import check_function
from course.engine.faults import Outcome
from course.tests.engine.triton.test_check import ADD, ADD_CELL, SCALE, SCALE_CELL, verdict

DESCRIPTORS = (
    ADD_CELL.partition("    i = tl")[0]
    + """\
    start = tl.program_id(0) * BLOCK
    x = tl.make_tensor_descriptor(x_ptr, [n], [1], [BLOCK])
    y = tl.make_tensor_descriptor(y_ptr, [n], [1], [BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])
    out.store([start], x.load([start]) + y.load([start]))
"""
)
ALLOCATE = "torch.empty(size, dtype=torch.int8, device='cuda')"
LAMBDA = f"triton.set_allocator(lambda size, alignment, stream: {ALLOCATE})\n"
FUNCTION = f"def get(size: int, alignment: int, stream: int | None):\n    return {ALLOCATE}\n"


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [n], [1], [BLOCK])
    out = tl.make_tensor_descriptor(out_ptr, [n], [1], [BLOCK])
    out.store([0], x.load([0]))


@pytest.mark.parametrize("said", ["", LAMBDA, f"{FUNCTION}\n\ntriton.set_allocator(get)\n"])
def test_a_check_tells_of_the_allocator_where_the_cell_is_silent(said, tmp_path, monkeypatch):
    name = f"with_{len(said)}_characters"
    (tmp_path / f"{name}.py").write_text(DESCRIPTORS + "\n\n" + said)
    monkeypatch.syspath_prepend(str(tmp_path))
    source = f"{DESCRIPTORS}\n\n{said}"
    assert verdict(source).outcome is Outcome.PASS, str(verdict(source))
    monkeypatch.setattr("course.check.check.function_source", lambda function: source)
    found = check_function(ADD, importlib.import_module(name).add)
    assert found.outcome is Outcome.PASS, str(found)
    told = [step for step in found.next_steps if "triton.set_allocator(lambda" in step]
    assert len(told) == (said == "")
    assert all("compute capability 9.0" in step and "`add`" in step for step in told)


def test_a_kernel_without_descriptors_hears_nothing_of_it(tmp_path, monkeypatch):
    (tmp_path / "without_descriptors.py").write_text(ADD_CELL)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = check_function(ADD, importlib.import_module("without_descriptors").add)
    assert found.outcome is Outcome.PASS
    assert "set_allocator" not in str(found)


def test_a_launcher_may_set_it_and_nobody_calls_it():
    inner = "".join(f"    {line}\n" for line in FUNCTION.splitlines())
    sets = f"{inner}    triton.set_allocator(get)\n    M, N = x.shape\n"
    found = verdict(SCALE_CELL.replace("    M, N = x.shape\n", sets), SCALE)
    assert found.outcome is Outcome.PASS, str(found)
    found = verdict(SCALE_CELL.replace("    M, N", f"    {LAMBDA}    M, N", 1), SCALE)
    assert found.outcome is Outcome.PASS, str(found)


@pytest.mark.parametrize(
    ("call", "message_id"),
    [
        ("triton.set_allocator(3)", "rejected_top_level"),
        ("triton.set_allocator(open('x'))", "rejected_top_level"),
        ("triton.set_allocator()", "rejected_top_level"),
        ("triton.set_allocator(get)", "undefined_name"),
        ("triton.set_allocator(lambda s, a, t: open('x'))", "launcher_name"),
        ("triton.set_allocator(lambda s, a, t=open('x'): s)", "launcher_syntax"),
        ("triton.set_profile_allocator(lambda s, a, t: s)", "rejected_top_level"),
    ],
)
def test_nothing_else_slips_in_with_it(call, message_id):
    found = verdict(f"{ADD_CELL}\n\n{call}\n")
    assert (found.outcome, found.message_id) == (Outcome.REJECTED, message_id), str(found)
    assert found.line == len(ADD_CELL.splitlines()) + 3


def test_in_a_launcher_it_takes_a_function():
    cell = SCALE_CELL.replace("    M, N", "    triton.set_allocator(3)\n    M, N", 1)
    found = verdict(cell, SCALE)
    assert found.message_id == "launcher_value"
    assert "it takes one function, of size, alignment and stream" in " ".join(str(found).split())


def test_a_direct_launch_runs_with_an_allocator_and_without():
    x = torch.arange(64.0)
    for allocator in (None, lambda size, alignment, stream: torch.empty(size, dtype=torch.int8)):
        if allocator is not None:
            triton.set_allocator(allocator)
        out = torch.zeros(64)
        with course.measure():
            copy[(1,)](x, out, 64, BLOCK=64)
        assert torch.equal(x, out)
