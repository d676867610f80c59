"""A direct launch that fails shows a verdict in a notebook, and no traceback."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

import course
from course.words import fault_panel


@pytest.fixture(scope="module")
def shell():
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


SETUP = """
import course
import numpy as np
from numba import cuda
"""
KERNEL = """
@cuda.jit
def shift(a):
    i = cuda.grid(1)
    a[i + 1] = 7 * i
"""
HELPER = """
# A comment moves the function
# down in its cell.
@cuda.jit(device=True)
def peek(a, i):
    return a[i + 4]
"""
CALLER = """
@cuda.jit
def copy(a):
    i = cuda.grid(1)
    a[i] = peek(a, i)
"""


def shown(shell, capsys, cell):
    capsys.readouterr()
    shell.run_cell(cell)
    return capsys.readouterr().out


def test_the_panel_names_line_sentence_and_next_step_without_a_traceback(shell, capsys):
    shown(shell, capsys, SETUP)
    shown(shell, capsys, KERNEL)
    out = shown(shell, capsys, "shift[1, 32](np.zeros(32))")
    assert out.startswith("✗ shift: out of bounds\n")
    assert "a[32] does not exist: a has shape (32,)" in out
    assert "line 4   a[i + 1] = 7 * i" in out
    assert "Which threads have an element to work on?" in out
    assert "Traceback" not in out
    assert "KernelFault" not in out


def test_a_line_of_another_cell_is_shown_with_its_function(shell, capsys):
    for cell in (SETUP, HELPER, CALLER):
        shown(shell, capsys, cell)
    out = shown(shell, capsys, "copy[1, 8](np.zeros(8))")
    assert out.startswith("✗ peek: out of bounds\n")
    assert "line 5   return a[i + 4]" in out
    result = shell.run_cell("copy[1, 8](np.zeros(8))")
    assert "line 5 of peek: a[8] does not exist" in str(result.error_in_exec)


def test_an_argument_of_a_call_is_of_the_caller(shell, capsys):
    for cell in (SETUP, HELPER, CALLER.replace("peek(a, i)", "peek(a, a[i + 5])")):
        shown(shell, capsys, cell)
    out = shown(shell, capsys, "copy[1, 8](np.zeros(8, int))")
    assert out.startswith("✗ copy: out of bounds\n")
    assert "line 4   a[i] = peek(a, a[i + 5])" in out


def test_a_launch_that_never_began_shows_its_sentence(shell, capsys):
    for cell in (SETUP, KERNEL):
        shown(shell, capsys, cell)
    out = shown(shell, capsys, "shift(np.zeros(3))")
    assert out.startswith("✗ shift: nothing was launched\n")
    assert "Write `shift[blocks, threads](...)`" in out


def test_a_fault_is_a_verdict_too():
    fault = course.KernelFault(course.Outcome.TIMED_OUT, "timed_out", 3, steps=10)
    verdict = fault_panel.verdict(fault)
    assert not verdict
    assert (verdict.outcome, verdict.line, verdict.exercise) == (
        course.Outcome.TIMED_OUT,
        3,
        "kernel",
    )
