"""Values by name for a group of programs: what they have while they run together, and apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from course.engine.triton.running.values import Unsupported

Array = np.ndarray[Any, Any]


@runtime_checkable
class Parted(Protocol):
    """A value that is no array and that programs have one by one."""

    def taken(self, rows: Array) -> Parted:
        """As some of the programs have it."""


class Frame(dict[str, Any]):
    """Values by name for one group of programs; what was made before it parted is taken over."""

    def __init__(self, count: int, parent: Frame | None = None, rows: Array | None = None) -> None:
        self.count, self.parent, self.rows = count, parent, rows

    def __missing__(self, name: str) -> Any:
        assert self.parent is not None, name
        value = self[name] = taken(self.parent[name], self.rows)
        return value

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (self.parent is not None and name in self.parent)

    def part(self, rows: Array) -> Frame:
        """A frame for some of the programs."""
        return Frame(len(rows), self, rows)


def taken(value: Any, rows: Array | None) -> Any:
    """A value as some of its programs have it."""
    if rows is None:
        return value
    if isinstance(value, np.ndarray):
        return value[rows] if value.shape[0] > 1 else value
    return value.taken(rows) if isinstance(value, Parted) else value


class Differing:
    """Buffers or descriptors that differ between programs: whoever looks at one is not measured.

    The compiler names buffers that are only waited for, and nobody looks at those.
    """

    def taken(self, rows: Array) -> Differing:
        """As some of the programs have it."""
        return self

    def __getattr__(self, name: str) -> Any:
        raise Unsupported("programs that go on with different buffers or descriptors")


def joined(count: int, sides: Sequence[tuple[Array, Any]]) -> Any:
    """One value of what the sides made of it, each for its rows."""
    first = sides[0][1]
    if len(sides) == 1 or all(value is first for _, value in sides):
        return first
    if not isinstance(first, np.ndarray):
        return Differing()
    shape = np.broadcast_shapes(*(value.shape[1:] for _, value in sides))
    result = np.empty((count, *shape), first.dtype)
    for rows, value in sides:
        result[rows] = value
    return result


class Heard:
    """What a program knows that looks at a value (see `course.engine.triton.running.locks`).

    A value is known by itself, not by its name: it keeps what it tells wherever it is passed on.
    """

    def __init__(self) -> None:
        #: by the value's identity; the value itself keeps it from being given away
        self._heard: dict[int, tuple[Any, Array]] = {}

    def of(self, value: Any) -> Array | None:
        """What looking at a value tells; None where nothing."""
        found = self._heard.get(id(value))
        return None if found is None else found[1]

    def note(self, value: Any, heard: Array | None) -> None:
        """A value tells this, too."""
        if heard is not None and value is not None:
            before = self.of(value)
            both = heard if before is None else np.maximum(before, heard)
            self._heard[id(value)] = (value, both)

    def pass_on(self, operands: Sequence[Any], results: Sequence[Any]) -> None:
        """What is made of values tells what they tell."""
        for operand in operands:
            if (heard := self.of(operand)) is not None:
                for result in results:
                    self.note(result, heard)
