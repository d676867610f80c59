"""Whether Triton runs on this machine. Imports nothing of it."""

from __future__ import annotations

import importlib.util
from functools import cache

from course.engine.faults import not_measured


@cache
def has_triton() -> bool:
    """Whether Triton and torch are installed: there are wheels of Triton for Linux alone."""
    return all(importlib.util.find_spec(name) is not None for name in ("triton", "torch"))


def require_triton() -> None:
    """Refuses a Triton lesson or cell where it cannot run.

    Raises:
        KernelFault: NOT_MEASURED, saying where it can.
    """
    if not has_triton():
        fault = not_measured(None, "no_triton")
        fault.kernel = "this lesson"
        raise fault
