"""One context of MLIR's for many compiles, and what comes of them is the same."""

import threading

import pytest
import torch
import triton
import triton.language as tl

from course.engine.faults import KernelFault
from course.engine.triton.compiling import compiler, contexts
from course.engine.triton.compiling.lowering import Form, in_form
from course.engine.triton.compiling.specialisation import source_of


@pytest.fixture(autouse=True)
def none_before(monkeypatch):
    monkeypatch.setattr(contexts, "_kept", contexts._Kept())


@triton.jit
def scaled(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x / tl.sum(x, axis=0), mask=at < n)


@triton.jit
def refused(x_ptr):
    tl.store(x_ptr, tl.arange(0, 3))


def source(size, block=64):
    return source_of(scaled, (torch.zeros(size), size), {"BLOCK": block})


def compiled_in():
    return compiler.compiled(source(100), 80, ()).context


def test_compiles_share_a_context_and_each_is_as_in_one_of_its_own(monkeypatch):
    asked = [(size, block) for size in (100, 128) for block in (32, 64)]
    shared = [in_form(source(*one), 80, Form.COMPILED) for one in asked]
    assert compiled_in() is compiled_in()
    monkeypatch.setattr(contexts, "_MOST_COMPILES", 1)
    assert compiled_in() is not compiled_in()
    assert shared == [in_form(source(*one), 80, Form.COMPILED) for one in asked]


def test_after_so_many_compiles_comes_another_context(monkeypatch):
    monkeypatch.setattr(contexts, "_MOST_COMPILES", 2)
    first, second, third = compiled_in(), compiled_in(), compiled_in()
    assert first is second is not third


def test_behind_a_refusal_no_other_kernel_is_compiled_in_its_context():
    before = compiled_in()
    with pytest.raises(KernelFault):
        compiler.compiled(source_of(refused, (torch.zeros(4),), {}), 80, ())
    assert compiled_in() is not before


def test_threads_share_none():
    others = []
    thread = threading.Thread(target=lambda: others.append(compiled_in()))
    thread.start()
    thread.join()
    assert others[0] is not compiled_in()
