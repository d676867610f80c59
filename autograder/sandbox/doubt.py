"""What a value has to be that a runner sent, and the few whose kind their sender chooses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

LARGEST_NUMBER = 2**62
MOST_ENTRIES = 20_000
LONGEST_TEXT = 20_000
MOST_FIELDS = 100

Count = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
#: One of `course.engine.traffic.DIRECTIONS`.
Direction = Literal["load", "store", "atomic"]
#: Of a list or a dict.
FEW = Meta(max_length=MOST_ENTRIES)


class WireError(ValueError):
    """Bytes that are no message of ours. The text says what was expected."""


def plainly(value: object, depth: int = 0) -> Any:
    """A fault's value as it travels: a number, a text, or a list of such for a tuple."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST_NUMBER:
        return hex(value)[:LONGEST_TEXT]
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple | list) and depth < 4:
        return [plainly(item, depth + 1) for item in value[:MOST_ENTRIES]]
    return str(value)[:LONGEST_TEXT].encode(errors="replace").decode()  # half a character is none


def a_value(value: object, depth: int = 0) -> Any:
    """A fault's value that arrived: lists become tuples again."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and abs(value) <= LARGEST_NUMBER:
        return value
    if isinstance(value, str) and len(value) <= LONGEST_TEXT:
        return value
    if isinstance(value, list) and len(value) <= MOST_ENTRIES and depth < 5:
        return tuple(a_value(item, depth + 1) for item in value)
    raise WireError(f"expected a plain value that is not too long, got {type(value).__name__}")
