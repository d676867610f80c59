"""NumPy's products of matrices on one thread.

Those of a check are small, and the compiler's process has the other cores: threads that wait for
each other by spinning took five times as long as one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Inside, BLAS uses one thread; behind it as many as before."""
    return _pools().limit(limits=1, user_api="blas")


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()
