"""The arguments of a case, as a notebook shows them: a line each, and not all their elements."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from course.check.cases import arguments_of
from course.spec.exercise import KernelExercise, Role

#: Elements from the start of an array that are shown.
FIRST = 4
#: An output, and the first index at which it is wrong.
WrongAt = tuple[str, tuple[int, ...]]


def arguments_shown(
    exercise: KernelExercise, number: int, wrong_at: WrongAt | None = None
) -> tuple[Any, ...]:
    """A named tuple of a visible case's arguments that shows itself in a few lines.

    Args:
        wrong_at: what the last check found in this case.

    Raises:
        ValueError: where there is no such case.
    """
    case, values = arguments_of(exercise, number)
    unset = {array.name for array in exercise.arrays if array.role is Role.OUT}
    lines = [f"ex.{exercise.name}.case({number}): {case.told}", *_lines(values, unset)]
    if wrong_at is not None:
        lines.append(_where(values, wrong_at))
    text = "\n".join(lines)
    plain = (namedtuple(exercise.name, values),)
    kind = type(exercise.name, plain, {"__slots__": (), "__repr__": lambda self: text})
    found: tuple[Any, ...] = kind(**values)
    return found


def _lines(values: Mapping[str, Any], unset: set[str]) -> list[str]:
    """`a  (1000,) float32: 0.1 0.2 0.3 0.4 ...`"""
    width = max(map(len, values))
    return [
        f"    {name:{width}}  {_described(value, name in unset)}" for name, value in values.items()
    ]


def _described(value: Any, unset: bool) -> str:
    shape = getattr(value, "shape", ())
    if not shape:
        return _number(value)
    dtype = str(value.dtype).removeprefix("torch.")
    if unset:
        return f"{tuple(shape)} {dtype}, to be written"
    first = value.reshape(-1)[:FIRST].tolist()
    rest = " ..." if math.prod(shape) > len(first) else ""
    return f"{tuple(shape)} {dtype}: {' '.join(map(_number, first))}{rest}"


def _where(values: Mapping[str, Any], wrong_at: WrongAt) -> str:
    """What stands in the inputs where the output is wrong."""
    output, index = wrong_at
    at = ", ".join(map(str, index))
    there = [
        f"; {name}[{at}] = {_number(value[index])}"
        for name, value in values.items()
        if name != output and _inside(value, index)
    ]
    return f"    {output}[{at}] is the first that is wrong{''.join(there)}"


def _inside(value: Any, index: tuple[int, ...]) -> bool:
    shape = getattr(value, "shape", ())
    return len(shape) == len(index) > 0 and all(
        at < length for at, length in zip(index, shape, strict=True)
    )


def _number(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    return f"{value:.6g}" if isinstance(value, float) else str(value)
