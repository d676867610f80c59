"""NumPy's products of matrices on one thread.

Those of a check are small, and the compiler's process has the other cores: threads that wait for
each other by spinning took five times as long as one.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from functools import cache
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Inside, BLAS uses one thread; behind it as many as before."""
    pools = _pools()
    return contextlib.nullcontext() if pools is None else pools.limit(limits=1, user_api="blas")


@cache
def _pools() -> Any:
    """None where the course was laid over another machine's packages, and this is not among them:
    a hosted notebook installs the course alone.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
