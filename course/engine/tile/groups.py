"""Programs that disagree: values split by group, and put together again.

A value carries a row a program, or one row for all. Where control flow divides the programs,
each group works on its own rows; when the groups meet, the rows are interleaved again in the
order of the programs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import triton.language as tl

from course.engine.tile.transfers import BlockPointer
from course.engine.tile.values import Value, tuple_of


def with_fields_of(like: Any, items: Sequence[Any]) -> Any:
    """A tuple of other values, with the names of its places."""
    return tuple_of(items, like.type.fields)


class Disagreement(Exception):
    """Two groups leave different kinds of thing in one variable."""


def _handle(handle: Any, change: Callable[[Value], Value]) -> Any:
    if isinstance(handle, Value):
        return change(handle)
    if isinstance(handle, BlockPointer):
        moved = copy.copy(handle)
        moved.base = change(handle.base)
        for name in ("extent", "strides", "offsets"):
            setattr(moved, name, [change(value) for value in getattr(handle, name)])
        return moved
    return handle


def _changed(value: Any, change: Callable[[Value], Value]) -> Any:
    if isinstance(value, tl.tensor):
        handle = _handle(value.handle, change)
        return value if handle is value.handle else tl.tensor(handle, value.type)
    if isinstance(value, tl.tuple):
        return tl.tuple([_changed(item, change) for item in value.values], value.type)
    if isinstance(value, tl.core.tensor_descriptor_base):
        moved = copy.copy(value)
        moved.handle = _handle(value.handle, change)
        return moved
    if is_aggregate(value):
        moved = type(value)._get_instance()
        for name, _ in value.type.fields:
            setattr(moved, name, _changed(getattr(value, name), change))
        return moved
    return value


def is_aggregate(value: Any) -> bool:
    """Whether it is one of Triton's classes with fields."""
    return isinstance(value, tl.core.base_value) and hasattr(value, "__triton_aggregate__")


def taken(value: Any, rows: np.ndarray) -> Any:
    """The rows of some of the programs."""

    def some(data: np.ndarray) -> np.ndarray:
        return data if data.shape[0] == 1 else data[rows]

    def change(part: Value) -> Value:
        if part.data.shape[0] == 1:
            return part
        fewer = part.with_data(part.data[rows])
        fewer.product = None if part.product is None else part.product.reshaped(some)
        return fewer

    return _changed(value, change)


def renumbered(value: Any) -> Any:
    """The same value as one that equals no other: where control flow meets, nobody knows which."""
    return _changed(value, Value.renumbered)


def _parts(value: Any) -> list[Value]:
    found: list[Value] = []

    def note(part: Value) -> Value:
        found.append(part)
        return part

    _changed(value, note)
    return found


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Zeros have signs."""
    return a is b or (a.shape == b.shape and a.tobytes() == b.tobytes())


def joined(values: Sequence[Any], rows: Sequence[np.ndarray], count: int) -> Any:
    """One value from several groups': `rows` say which programs each holds.

    Raises:
        Disagreement: where the groups hold different types.
    """
    first = values[0]
    if all(value is first for value in values) and _uniform(first):
        return first
    several = isinstance(first, tl.tensor | tl.tuple | tl.core.tensor_descriptor_base)
    if not several and not is_aggregate(first):
        if all(type(v) is type(first) and _plain(v) == _plain(first) for v in values):
            return first
        raise Disagreement("a constant that is not the same on both sides")
    if any(type(v) is not type(first) or v.type != first.type for v in values):
        types = sorted({str(getattr(v, "type", type(v).__name__)) for v in values})
        raise Disagreement(" and ".join(types))
    pieces = [iter(_parts(value)) for value in values]

    def change(_: Value) -> Value:
        parts = [next(piece) for piece in pieces]
        same = all(p.number == parts[0].number for p in parts)
        if all(p.data.shape[0] == 1 for p in parts) and all(
            _same_bits(p.data, parts[0].data) for p in parts
        ):
            return parts[0] if same else parts[0].renumbered()
        block = np.broadcast_shapes(*(p.data.shape[1:] for p in parts))
        data = np.empty((count, *block), parts[0].data.dtype)
        for part, where in zip(parts, rows, strict=True):
            data[where] = part.data
        whole = parts[0].with_data(data)
        return whole if same else whole.renumbered()

    return _changed(first, change)


def _uniform(value: Any) -> bool:
    return all(part.data.shape[0] == 1 for part in _parts(value))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def places(groups: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """(all programs, ascending, where each group's programs stand among them)."""
    together = np.concatenate(groups)
    order = np.argsort(together, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    ends = np.cumsum([len(group) for group in groups])
    return together[order], np.split(position, ends[:-1])
