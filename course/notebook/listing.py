"""A kernel's lines with the numbers that `course.trace` and a fault give them."""

from __future__ import annotations

import inspect
from typing import Any


def listing(kernel: Any) -> None:
    """Prints a kernel's source, each line behind its number. A decorator is a line, too."""
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", kernel)
    lines, first = inspect.getsourcelines(function)
    for number, line in enumerate(lines, first):
        print(f"{number:>3}  {line}".rstrip())
