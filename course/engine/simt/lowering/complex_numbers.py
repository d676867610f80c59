"""Complex numbers: two floats, with which Numba computes one by one.

An array of them is one of records with a real and an imaginary field: a kernel that reads one of
the two loads nothing else.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.simt.lowering.expr import UNKNOWN, Expr, converted, known, number, tuple_of
from course.engine.simt.lowering.iteration import as_written_in_python, unpacked
from course.engine.simt.lowering.types import (
    ComplexType,
    TypingError,
    complex_type,
    is_scalar,
    resolve,
)
from course.plain.evaluator import Ref

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

#: What Numba computes of a + bi and c + di. Of sums of two products the first is fused, as an H200
#: was seen to do.
_TEXTS = {
    operator.add: "def add(a, b, c, d):\n    return a + c, b + d",
    operator.sub: "def sub(a, b, c, d):\n    return a - c, b - d",
    operator.mul: "def mul(a, b, c, d):\n    return a * c - b * d, b * c + a * d",
    operator.eq: "def eq(a, b, c, d):\n    return (a == c) & (b == d)",
    operator.ne: "def ne(a, b, c, d):\n    return (a != c) | (b != d)",
    operator.pos: "def pos(a, b):\n    return a, b",
    operator.neg: "def neg(a, b):\n    return -a, -b",
    operator.truediv: """
def truediv(a, b, c, d):
    if not c and not d:
        raise ZeroDivisionError
    if abs(c) >= abs(d):
        ratio = d / c
        below = c + d * ratio
        return (a + b * ratio) / below, (b - a * ratio) / below
    ratio = c / d
    below = c * ratio + d
    return (a * ratio + b) / below, (b * ratio - a) / below
""",
    operator.pow: """
def power(a, b, c, d, one, hypot, pow, atan2, exp, log, cos, sin):
    if c == 0 and d == 0:
        return one, 0 * one
    if a == 0 and c == 0:
        return 0 * one, 0 * one
    length = pow(hypot(a, b), c)
    angle = atan2(b, a)
    phase = angle * c
    if d != 0:
        length = length / exp(angle * d)
        phase = phase + d * log(hypot(a, b))
    return length * cos(phase), length * sin(phase)
""",
}
_OF_POWERS = ("hypot", "pow", "atan2", "exp", "log", "cos", "sin")


def is_complex(value: Expr) -> bool:
    """Whether it is a complex number in each thread."""
    return isinstance(value.type, ComplexType)


def of_parts(low: Lowering, parts: Sequence[Expr]) -> Expr:
    """The complex number of a real and an imaginary part, which have one type."""
    pair = tuple_of(low, list(parts))
    return replace(pair, type=ComplexType(pair.type.items), const=UNKNOWN)


def literal(low: Lowering, value: complex | np.complex64) -> Expr:
    """``2j``, or what a name outside of the kernel holds."""
    return of_parts(low, [number(value.real), number(value.imag)])


def as_complex(low: Lowering, value: Expr, wanted: ComplexType) -> Expr:
    """A number as a complex one."""
    if not is_complex(value):
        return of_parts(low, [converted(part, wanted.items[0]) for part in (value, number(0))])
    return of_parts(low, [converted(part, wanted.items[0]) for part in unpacked(low, value)])


def cast(low: Lowering, value: Expr, wanted: Any) -> Expr:
    """``complex64(value)``."""
    if not (is_complex(value) or is_scalar(value.type)):
        raise TypingError(f"{wanted} is made of a number")
    return as_complex(low, value, complex_type(wanted))


def made(low: Lowering, values: Sequence[Expr]) -> Expr:
    """``complex(real, imag)``."""
    result, _ = resolve(complex, *[value.type for value in values])
    (part, _) = complex_type(result).items
    return of_parts(low, [converted(value, part) for value in [*values, number(0.0)][:2]])


def operate(low: Lowering, node: ast.expr, function: Any, operands: Sequence[Expr]) -> Expr:
    """An operator of which an operand is complex, as Numba computes it of the parts.

    Raises:
        TypingError: for an operator that Numba has not for them, and for what is no number.
    """
    types = [one.type.number if is_complex(one) else one.type for one in operands]
    if not all(is_complex(one) or is_scalar(one.type) for one in operands):
        raise TypingError("a complex number has arithmetic with numbers alone")
    result, wanted = resolve(function, *types)
    parts = [
        part
        for one, type_ in zip(operands, wanted, strict=True)
        for part in unpacked(low, as_complex(low, one, complex_type(type_)))
    ]
    if function is operator.pow:
        one = converted(number(1.0), complex_type(result).items[0])
        parts += [one, *(known(Ref(f"math.{name}")) for name in _OF_POWERS)]
    value = as_written_in_python(low, node, _TEXTS[function], parts)
    if function in (operator.eq, operator.ne):
        return value
    part = complex_type(result).items[0]
    return of_parts(low, [converted(one, part) for one in unpacked(low, value)])


def absolute(low: Lowering, node: ast.expr, value: Expr) -> Expr:
    """``abs(z)``."""
    text = "def absolute(a, b, hypot):\n    return hypot(a, b)"
    parts = [*unpacked(low, value), known(Ref("math.hypot"))]
    return as_written_in_python(low, node, text, parts)


def conjugate(low: Lowering, node: ast.expr, value: Expr) -> Expr:
    """``z.conjugate()``; a number that is not complex is its own."""
    if not is_complex(value):
        return value
    text = "def conjugate(a, b):\n    return a, -b"
    return of_parts(low, unpacked(low, as_written_in_python(low, node, text, unpacked(low, value))))
