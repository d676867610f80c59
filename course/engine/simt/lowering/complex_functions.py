"""The functions of `cmath` that are run: what Numba computes of the two parts of a number.

Each text has Numba's own steps in Numba's order, so that types and rounding are its own. Of a
number that is not complex Numba's typing says which complex number it is taken for.
"""

from __future__ import annotations

import ast
import cmath
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from course.engine.simt.lowering.complex_numbers import as_complex, is_complex, made, operate
from course.engine.simt.lowering.expr import Expr, describe
from course.engine.simt.lowering.iteration import as_written_in_python, unpacked, written
from course.engine.simt.lowering.types import ComplexType, complex_type, resolve
from course.plain.evaluator import Ref

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

#: Of a + bi; `most` is the largest number of its type, over 1 + sqrt(2), and so are the others of
#: float32, whatever the type.
_TEXTS = {
    "isnan": "def isnan(a, b):\n    return math.isnan(a) | math.isnan(b)",
    "isinf": "def isinf(a, b):\n    return math.isinf(a) | math.isinf(b)",
    "isfinite": "def isfinite(a, b):\n    return math.isfinite(a) & math.isfinite(b)",
    "phase": "def phase(a, b):\n    return math.atan2(b, a)",
    "polar": "def polar(a, b):\n    return math.hypot(a, b), math.atan2(b, a)",
    "log": "def log(a, b):\n    return math.log(math.hypot(a, b)), math.atan2(b, a)",
    "log10": """
def log10(a, b):
    a, b = log(a, b)
    return a / 2.302585092994045684, b / 2.302585092994045684
""",
    "exp": """
def exp(a, b):
    if math.isnan(a):
        return a, a if b else b
    if math.isfinite(b):
        c, s, r = math.cos(b), math.sin(b), math.exp(a)
        if a == math.inf:
            return r * c if c else c, r * s if s else s
        return r * c, r * s
    if a == math.inf:
        return a, math.nan
    if a == -math.inf:
        return 0, 0
    return math.nan, math.nan
""",
    "sqrt": """
def sqrt(x, y):
    a, b = x, y
    if a == 0.0 and b == 0.0 or math.isinf(b):
        return abs(b), b
    if math.isnan(a):
        return a, a
    if math.isinf(a):
        if a < 0.0:
            return abs(b - b), math.copysign(a, b)
        return a, math.copysign(b - b, b)
    large = abs(a) >= most or abs(b) >= most
    if large:
        a *= 0.25
        b *= 0.25
    if a >= 0:
        t = math.sqrt((a + math.hypot(a, b)) * 0.5)
        real, imag = t, b / (2 * t)
    else:
        t = math.sqrt((-a + math.hypot(a, b)) * 0.5)
        real, imag = abs(b) / (2 * t), math.copysign(t, b)
    if large:
        return real * 2, imag
    return real, imag
""",
    "cosh": """
def cosh(a, b):
    if math.isinf(a):
        if math.isnan(b) or b == 0.0:
            real, imag = abs(a), b
        else:
            real, imag = math.copysign(a, math.cos(b)), math.copysign(a, math.sin(b))
        if a < 0.0:
            imag = -imag
        return real, imag
    return math.cos(b) * math.cosh(a), math.sin(b) * math.sinh(a)
""",
    "sinh": """
def sinh(a, b):
    if math.isinf(a):
        if math.isnan(b):
            return a, b
        c, s = math.cos(b), math.sin(b)
        return c * a if c else c, s * abs(a) if s else s
    return math.cos(b) * math.sinh(a), math.sin(b) * math.cosh(a)
""",
    "tanh": """
def tanh(a, b):
    if math.isinf(a):
        if math.isinf(b):
            return math.copysign(1.0, a), 0.0
        return math.copysign(1.0, a), math.copysign(0.0, math.sin(2.0 * b))
    flat, steep, falling = math.tanh(a), math.tan(b), 1.0 / math.cosh(a)
    both = flat * steep
    below = 1.0 + both * both
    return flat * (1.0 + steep * steep) / below, ((steep / below) * falling) * falling
""",
    "cos": "def cos(a, b):\n    return cosh(-b, a)",
    "sin": "def sin(a, b):\n    c, d = sinh(-b, a)\n    return d, -c",
    "tan": "def tan(a, b):\n    c, d = tanh(-b, a)\n    return d, -c",
    "acos": """
def acos(a, b):
    if abs(a) > huge or abs(b) > huge:
        real = math.atan2(abs(b), a)
        return real, math.copysign(math.log(math.hypot(a * 0.5, b * 0.5)) + log_4, -b)
    c, d = sqrt(1.0 - a, -b)
    e, f = sqrt(1.0 + a, b)
    return 2.0 * math.atan2(c, e), math.asinh(e * d - f * c)
""",
    "acosh": """
def acosh(a, b):
    if abs(a) > huge or abs(b) > huge:
        return math.log(math.hypot(a * 0.5, b * 0.5)) + log_4, math.atan2(b, a)
    c, d = sqrt(a - 1.0, b)
    e, f = sqrt(a + 1.0, b)
    return math.asinh(c * e + d * f), 2.0 * math.atan2(d, e)
""",
    "asinh": """
def asinh(a, b):
    if abs(a) > huge or abs(b) > huge:
        real = math.copysign(math.log(math.hypot(a * 0.5, b * 0.5)) + log_4, a)
        return real, math.atan2(b, abs(a))
    c, d = sqrt(1.0 + b, -a)
    e, f = sqrt(1.0 - b, a)
    return math.asinh(c * f - e * d), math.atan2(b, c * e - d * f)
""",
    "asin": "def asin(a, b):\n    c, d = asinh(-b, a)\n    return d, -c",
    "atanh": """
def atanh(a, b):
    negate = a < 0.0
    if negate:
        a, b = -a, -b
    side = abs(b)
    if math.isnan(a) or a > steep or side > steep:
        if math.isinf(b):
            real = math.copysign(0.0, a)
        elif math.isinf(a):
            real = 0.0
        else:
            h = math.hypot(a * 0.5, b * 0.5)
            real = a / 4.0 / h / h
        imag = -math.copysign(half_pi, -b)
    elif a == 1.0 and side < flat:
        if side == 0.0:
            real, imag = math.inf, b
        else:
            real = -math.log(math.sqrt(side) / math.sqrt(math.hypot(side, 2.0)))
            imag = math.copysign(math.atan2(2.0, -side) / 2, b)
    else:
        square, left = side * side, 1 - a
        real = math.log1p(4.0 * a / (left * left + square)) * 0.25
        imag = -math.atan2(-2.0 * b, left * (1 + a) - square) * 0.5
    if math.isnan(b):
        imag = math.nan
    if negate:
        return -real, -imag
    return real, imag
""",
    "atan": """
def atan(a, b):
    c, d = atanh(-b, a)
    if math.isinf(a) and math.isnan(b):
        return d, c
    return d, -c
""",
    "rect": """
def rect(r, phi):
    if not math.isfinite(phi):
        if not r:
            return abs(r), 0 * abs(r)
        if math.isinf(r):
            return r, phi
    c, s = math.cos(phi), math.sin(phi)
    odd = math.isinf(r)
    return c / r if c == 0.0 and odd else c * r, s / r if s == 0.0 and odd else s * r
""",
}
#: Numba has these for a type of their own, has Python compiled for them, and keeps its result.
_AS_COMPILED = frozenset({"acosh", "cosh", "sinh", "tanh", "log10", "phase", "polar", "rect"})
_SINGLE = np.finfo(np.float32)
_CONSTANTS = {
    "huge": float(_SINGLE.max) / 4,
    "log_4": math.log(4),
    "steep": math.sqrt(float(_SINGLE.max) / 4),
    "flat": math.sqrt(float(_SINGLE.tiny)),
    "half_pi": math.pi / 2,
}
_NO_COMPLEX = frozenset({"isnan", "isinf", "isfinite", "phase", "polar"})


def _function(name: str) -> Callable[[Lowering, ast.Call], Expr]:
    def lower(low: Lowering, node: ast.Call) -> Expr:
        if node.keywords:
            raise low.untyped(node, f"cmath.{name} takes its arguments by position")
        operands = [low.operand(argument) for argument in node.args]
        if name == "rect":
            floats = all(isinstance(one.type, types.Float) for one in operands)
            if len(operands) != 2 or not floats:
                raise low.untyped(node, "cmath.rect takes two floats")
            return made(low, unpacked(low, _computed(low, node, name, operands)))
        result = _typed(low, node, name, operands)
        found = [_of(low, node, name, as_complex(low, one, result)) for one in operands]
        if len(found) == 1:
            return found[0]
        return operate(low, node, operator.truediv, found)  # a logarithm to a base

    return lower


def _typed(low: Lowering, node: ast.Call, name: str, operands: list[Expr]) -> ComplexType:
    """What Numba takes the operands for."""
    if name in _AS_COMPILED:
        if len(operands) != 1 or not is_complex(operands[0]):
            got = ", ".join(map(describe, operands))
            raise low.untyped(node, f"cmath.{name} takes one complex number, and gets {got}")
        found: ComplexType = operands[0].type
        return found
    given = [one.type.number if is_complex(one) else one.type for one in operands]
    _, wanted = resolve(getattr(cmath, name), *given)
    return complex_type(wanted[0])


def _of(low: Lowering, node: ast.Call, name: str, value: Expr) -> Expr:
    """The function of one complex number."""
    type_: ComplexType = value.type
    found = _computed(low, node, name, unpacked(low, value), type_.items[0])
    if name in _NO_COMPLEX:
        return found
    whole = made(low, unpacked(low, found))
    return whole if name in _AS_COMPILED else as_complex(low, whole, type_)


def _computed(
    low: Lowering, node: ast.Call, name: str, parts: list[Expr], part: Any = types.float64
) -> Expr:
    largest = float(np.finfo(str(part)).max)

    def lookup(called: str) -> Any:
        if called == "math":
            return Ref("math")
        if called == "most":
            return largest / (1 + 2**0.5)
        if called in _CONSTANTS:
            return _CONSTANTS[called]
        return written(low, node, _TEXTS[called], lookup)

    return as_written_in_python(low, node, _TEXTS[name], parts, lookup)


#: by path
FUNCTIONS = {f"cmath.{name}": _function(name) for name in _TEXTS}
