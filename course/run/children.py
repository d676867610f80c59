"""Processes that a program starts: what is lacking there is told, once."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from multiprocessing import context
from typing import Any

_FINDS_NO_GPU = (
    "The program starts a Python process anew (multiprocessing, `{method}`), and that finds no "
    "GPU: the stand-ins are in this process alone. Call what launches kernels here, or start the "
    "process by `fork`."
)
_NOT_COUNTED = (
    "A kernel runs in a process that the program has started: what it does wrong is told, and "
    "neither its traffic nor the exit status counts it. Call what launches it in the first process."
)


def watch() -> Callable[[], None]:
    """Tells of processes that this one starts anew.

    Returns:
        what tells, at a launch, that it is in a process that this one has forked.
    """
    first = os.getpid()

    @functools.cache
    def tell(said: str) -> None:
        print(said, file=sys.stderr, flush=True)

    def starting(method: str, start: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def starts(process: Any) -> Any:
            tell(_FINDS_NO_GPU.format(method=method))
            return start(process)

        return starts

    for kind in (context.SpawnProcess, context.ForkServerProcess):
        begun: Any = staticmethod(starting(kind._start_method, kind._Popen))
        kind._Popen = begun  # type: ignore[method-assign]
    return lambda: tell(_NOT_COUNTED) if os.getpid() != first else None
