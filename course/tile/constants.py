"""Arithmetic on a kernel's constants, held to a size: it happens while the kernel is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import triton.language as tl

from course.formula import MOST_BITS

MOST_ITEMS = 1024  # of a tuple


def require_few(values: Sequence[Any]) -> None:
    """Holds a tuple to a size as it is made, with the tuples in it.

    Raises:
        ValueError: more items than a tuple of a kernel may have.
    """
    if sum(map(_items, values)) > MOST_ITEMS:
        raise ValueError(f"the tuple would have more than {MOST_ITEMS} items")


def _items(value: Any) -> int:
    return 1 + sum(map(_items, value.values)) if isinstance(value, tl.tuple) else 1


def require_small(operation: str, left: Any, right: Any) -> None:
    """Holds ``left operation right`` to a size before it is worked out.

    Raises:
        ValueError: for a result of thousands of digits or items, and for arithmetic on text.
    """
    if isinstance(left, str) or isinstance(right, str):
        if operation not in ("__eq__", "__ne__"):
            raise ValueError("text can be passed on and compared, nothing else")
    sizes = [len(v) for v in (left, right) if hasattr(v, "__len__") and not isinstance(v, str)]
    if sizes and operation in ("__mul__", "__add__"):
        times = [v for v in (left, right) if isinstance(v, int)] if operation == "__mul__" else [1]
        if sum(sizes) * max(times, default=1) > MOST_ITEMS:
            raise ValueError(f"the tuple would have more than {MOST_ITEMS} items")
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = {
        "__pow__": left.bit_length() * right,
        "__lshift__": left.bit_length() + right,
        "__mul__": left.bit_length() + right.bit_length(),
    }.get(operation, 0)
    if bits > MOST_BITS:
        raise ValueError("the number would be too large")
