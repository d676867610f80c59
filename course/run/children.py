"""Processes that a program starts: what is lacking there is told, once."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from multiprocessing import context, util
from typing import Any

_FOUND_NO_GPU = (
    "The program started a Python process anew (multiprocessing, `{method}`), and that found no "
    "GPU: the stand-ins are in the first process alone. Call what launches kernels there, or start "
    "the process by `fork`."
)
_NOT_COUNTED = (
    "A kernel runs in a process that the program has started: what it does wrong is told, and "
    "neither its traffic nor the exit status counts it. Call what launches it in the first process."
)
#: `multiprocessing` calls what has a lower number later, its own being -100: after all children.
_LAST = -1000


def watch() -> Callable[[], None]:
    """Tells of processes that this one starts anew, when this one ends: below their tracebacks.

    Returns:
        what tells, at a launch, that it is in a process that this one has forked.
    """
    first = os.getpid()

    @functools.cache
    def tell(said: str) -> None:
        print(said, file=sys.stderr, flush=True)

    @functools.cache
    def tell_at_the_end(said: str) -> None:
        util.Finalize(None, tell, (said,), exitpriority=_LAST)

    def starting(method: str, start: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def starts(process: Any) -> Any:
            tell_at_the_end(_FOUND_NO_GPU.format(method=method))
            return start(process)

        return starts

    for kind in (context.SpawnProcess, context.ForkServerProcess):
        begun: Any = staticmethod(starting(kind._start_method, kind._Popen))
        kind._Popen = begun  # type: ignore[method-assign]
    return lambda: tell(_NOT_COUNTED) if os.getpid() != first else None
