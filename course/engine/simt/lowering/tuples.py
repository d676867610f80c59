"""Tuples, whose items an expression keeps apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from course.engine.simt.lowering.expr import UNKNOWN, Expr, combined, nothing
from course.engine.simt.lowering.types import ArrayType, TupleType, Type

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


def tuple_of(low: Lowering, items: list[Expr]) -> Expr:
    """A tuple written out. Tuples of tuples grow fast, so all their numbers count as code."""
    low.spend(sum(map(_numbers, items)))
    if any(item.type is None for item in items):
        return Expr(None, nothing, None, const=tuple(i.const for i in items), items=tuple(items))
    runs = [item.run for item in items]
    const = tuple(item.const for item in items)
    return combined(
        "tuple",
        TupleType(tuple(item.type for item in items)),
        lambda lanes: tuple(run(lanes) for run in runs),
        items,
        const=UNKNOWN if any(c is UNKNOWN for c in const) else const,
        items=tuple(items),
    )


def tuple_items(low: Lowering, part: Expr) -> list[Expr]:
    """The parts of a tuple that is held in a variable."""
    assert isinstance(part.type, TupleType)

    def item(number: int, type_: Type) -> Expr:
        key = None if part.key is None else ("item", number, part.key)
        return Expr(
            type_,
            lambda lanes: part.run(lanes)[number],
            key,
            part.since,
            masked=part.masked,
            origin=_origin(low, key) if isinstance(type_, ArrayType | TupleType) else (),
        )

    return [item(number, type_) for number, type_ in enumerate(part.type.items)]


def as_written(item: Expr, origin: Expr) -> Expr:
    """A part of a tuple that is read back, with what is known of it as it was written."""
    if origin.const is not UNKNOWN:
        return origin
    if origin.key is None:
        return replace(item, origin=origin.origin)
    return replace(item, key=origin.key, since=origin.since, origin=origin.origin)


def _origin(low: Lowering, key: Any) -> tuple[str, ...]:
    """The array parameters that an item may come from: ``t[0]`` of an argument, or else any."""
    place = ""
    while isinstance(key, tuple) and key[0] == "item":
        key, place = key[2], f"[{key[1]}]{place}"
    name = f"{key[1]}{place}" if isinstance(key, tuple) and key[0] == "argument" else ""
    return tuple(one for one in low.array_parameters if not name or one.startswith(name))


def _numbers(item: Expr) -> int:
    return 1 + sum(map(_numbers, item.items or ()))
