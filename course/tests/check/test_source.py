"""Where the source of a learner's function comes from."""

import linecache
import sys
import types
from typing import Any

import pytest
import torch
from numba import cuda

from course.check import source as sources
from course.check.source import assigning_cell, function_source, used_part

TPB = 64
UNUSED = 3


@cuda.jit(device=True)
def half(x):
    return x / 2


@cuda.jit
def halve(a, c):
    i = cuda.grid(1)
    if i < TPB:
        c[i] = half(a[i])


def test_a_function_in_a_file_comes_with_what_it_uses_on_its_own_lines():
    source = function_source(halve.py_func)
    kept = [line for line in source.splitlines() if line]
    assert kept == [
        "from numba import cuda",
        "TPB = 64",
        "@cuda.jit(device=True)",
        "def half(x):",
        "    return x / 2",
        "@cuda.jit",
        "def halve(a, c):",
        "    i = cuda.grid(1)",
        "    if i < TPB:",
        "        c[i] = half(a[i])",
    ]
    line = halve.py_func.__code__.co_firstlineno
    assert source.splitlines()[line - 1] == "@cuda.jit"


def test_a_function_under_a_decorator_of_torch_comes_with_its_own_text():
    @torch.no_grad()
    def held():
        return UNUSED

    assert "return UNUSED" in function_source(held)


def test_of_two_bindings_the_one_before_the_function_counts():
    text = "TPB = 1\n\ndef f(a):\n    a[0] = TPB\n\nTPB = 2\n\ndef g(a):\n    a[0] = TPB\n"
    assert used_part(text, "f", 3).splitlines()[0] == "TPB = 1"
    assert used_part(text, "g", 8).splitlines()[:6] == ["", "", "", "", "", "TPB = 2"]


def cell(text, name="<ipython-input-7-abc>"):
    """A function from a notebook's cell: its text stands in the line cache alone."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    return names


def test_a_function_of_a_notebook_comes_with_its_whole_cell():
    text = "from numba import cuda\nTPB = 32\n@cuda.jit\ndef k(a):\n    a[0] = TPB\nOTHER = 1\n"
    assert function_source(cell(text)["k"].py_func) == text


@pytest.fixture
def session(monkeypatch):
    """An IPython session with the cells that a test puts in."""
    cells: list[str] = []
    shell = types.SimpleNamespace(history_manager=types.SimpleNamespace(input_hist_raw=cells))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    return cells


def test_a_newer_cell_that_python_cannot_read_is_what_gets_checked(session):
    old = "from numba import cuda\n@cuda.jit\ndef k(a):\n    a[0] = 1\n"
    broken = old.replace("= 1", "= (1")
    session += [old, broken]
    assert function_source(cell(old)["k"].py_func) == broken
    session.append(old)
    assert function_source(cell(old)["k"].py_func) == old


def test_the_newest_cell_that_assigns_is_found(session):
    session += ["waves = {}", 'waves = {"a": 1}', "waves", "ex.waves.check(waves)", "waves == 3"]
    assert assigning_cell("waves") == 'waves = {"a": 1}'
    assert assigning_cell("other") == ""


def test_without_a_notebook_there_is_no_history(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    assert sources.history() == []
