"""Values that a runner sent, taken only where each is of the kind that it has to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.traffic import DIRECTIONS

LARGEST_NUMBER = 2**62
MOST_ENTRIES = 20_000
LONGEST_TEXT = 20_000


class WireError(ValueError):
    """Bytes that are no message of ours. The text says what was expected."""


def plainly(value: object, depth: int = 0) -> Any:
    """A fault's value in JSON. A tuple becomes a list, and a list a tuple again."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value[:LONGEST_TEXT] if isinstance(value, str) else value
    if isinstance(value, tuple | list) and depth < 4:
        return [plainly(item, depth + 1) for item in value[:MOST_ENTRIES]]
    return str(value)[:LONGEST_TEXT]


def a_value(value: object, depth: int = 0) -> Any:
    """A fault's value: lists become tuples again."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        if abs(value) > LARGEST_NUMBER:
            raise WireError("a number is too large")
        return value
    if isinstance(value, str):
        return a_text(value)
    if isinstance(value, list) and depth < 5:
        return tuple(a_value(item, depth + 1) for item in a_list(value))
    raise WireError(f"expected a plain value, got {type(value).__name__}")


def a_count(value: object) -> int:
    """A whole number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_NUMBER:
        raise WireError(f"expected a count, got {str(value)[:50]}")
    return value


def a_text(value: object) -> str:
    """A text that is not too long."""
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise WireError("expected a text")
    value.encode()  # half of a character is no text: UnicodeEncodeError
    return value


def a_direction(value: object) -> str:
    """A direction of traffic."""
    if value not in DIRECTIONS:
        raise WireError("expected load, store or atomic")
    return str(value)


def a_list(value: object) -> list[Any]:
    """A list that is not too long."""
    if not isinstance(value, list) or len(value) > MOST_ENTRIES:
        raise WireError("expected a list that is not too long")
    return value


def a_row(value: object, count: int) -> list[Any]:
    """A list with `count` entries."""
    row = a_list(value)
    if len(row) != count:
        raise WireError(f"expected {count} values in a row, got {len(row)}")
    return row
