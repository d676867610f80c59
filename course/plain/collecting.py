"""How often Python looks for circles among its objects: few of a check's or a compiler's are any.

At its usual 700 new containers that took a tenth of a Triton launch, and a sixth of an import.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

#: Containers that are made before it looks.
BEFORE_COLLECTING = 100_000


def collect_seldom() -> None:
    """From here on this process looks seldom."""
    gc.set_threshold(BEFORE_COLLECTING)


@contextlib.contextmanager
def collecting_seldom() -> Iterator[None]:
    """Inside, this process looks seldom; behind it as often as before."""
    before = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.set_threshold(*before)
