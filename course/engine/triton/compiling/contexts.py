"""MLIR's contexts, each for many compiles: a new one takes a millisecond to learn its dialects.

What a process has made is there in its forks: so no launch behind a grader's wall has to make one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from triton._C.libtriton import ir

#: Compiles in one context, which keeps every type and every place that it has met.
_MOST_COMPILES = 64


class _Kept(threading.local):
    """One a thread, since a context is not for two at once."""

    context: Any = None
    compiles = 0


_kept = _Kept()


def context_for(backend: Any) -> Any:
    """A context that knows Triton's dialects and the backend's."""
    if _kept.context is None or _kept.compiles >= _MOST_COMPILES:
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        _kept.context, _kept.compiles = context, 0
    _kept.compiles += 1
    return _kept.context


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """A compile inside: what a context comes to in one that fails, nobody knows, and it is left."""
    try:
        yield
    except BaseException:
        _kept.context = None
        raise
