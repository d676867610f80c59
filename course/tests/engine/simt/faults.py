"""What a launch is refused for."""

import inspect
from typing import Any

import pytest

import course


def fault_of(kernel: Any, grid: Any, block: Any, *args: Any, shared: int = 0) -> course.KernelFault:
    """The fault in which a launch ends; its sentence can be read."""
    with pytest.raises(course.KernelFault) as caught:
        kernel[grid, block, 0, shared](*args)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "{" not in sentence
    return caught.value


def line_of(kernel: Any, marker: str) -> int:
    """The line of a kernel's source that ends in a marker: ``# here``."""
    lines, start = inspect.getsourcelines(kernel.py_func)
    found = [start + n for n, line in enumerate(lines) if line.rstrip().endswith(marker)]
    assert len(found) == 1
    return found[0]
