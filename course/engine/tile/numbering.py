"""Value numbers: two values with one number are the same operation on the same values.

A compiler finds equal expressions that way, whatever names they have. Each operation of the
builder numbers its result by its own name and its operands' numbers; what does not follow from
operands (an argument, a sum so far in a loop, what a load or an atomic found) has a number of
its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import triton.language as tl

from course.engine.tile.values import Value

#: operations whose result is not a function of their operands' numbers: what memory holds
_NEVER_EQUAL = (
    *("create_atomic", "create_load", "create_masked_load", "create_tensor_pointer_load"),
    *("create_descriptor", "create_poison"),
)

#: operations that the compiler finds equal whichever operand comes first
_COMMUTATIVE = frozenset(
    f"create_{name}"
    for name in (
        *("add", "mul", "fadd", "fmul", "and", "or", "xor", "minsi", "maxsi", "minui", "maxui"),
        *("minimumf", "maximumf", "minnumf", "maxnumf"),
    )
)


def number_of(operand: Any) -> Any:
    """What stands for an operand in the number of a result."""
    if isinstance(operand, list | tuple | tl.tuple):
        return tuple(map(number_of, operand))
    number = getattr(operand, "number", None)
    if number is not None:
        return number
    # Python's hash of -1 is that of -2; a text has one of its own.
    return repr(operand) if isinstance(operand, int | float | tl.dtype) else operand


def expression(name: str, *operands: Any) -> int:
    """The number of an operation on operands."""
    return hash((name, *map(number_of, operands)))


def numbered(builder: type) -> type:
    """Makes each operation of a builder number its result."""
    for name in dir(builder):
        if name.startswith("create_") and not name.startswith(_NEVER_EQUAL):
            setattr(builder, name, _numbering(name, getattr(builder, name)))
    return builder


def heard_in(operands: Iterable[Any]) -> np.ndarray | None:
    """What a program knows that looks at what was made of these operands."""
    heard = [o.heard for o in operands if isinstance(o, Value) and o.heard is not None]
    return np.maximum.reduce(heard) if heard else None


def _numbering(name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    commutes = name in _COMMUTATIVE

    @functools.wraps(operation)
    def run(self: Any, *operands: Any) -> Any:
        result = operation(self, *operands)
        if isinstance(result, Value):
            numbers = [number_of(operand) for operand in operands]
            result.number = expression(name, *(sorted(numbers) if commutes else numbers))
        elif isinstance(result, tuple):  # two halves
            for place, part in enumerate(result):
                part.number = expression(name, place, *operands)
        if self.run.order is not None and isinstance(result, Value):
            result.heard = heard_in(operands)
        return result

    return run
