"""Small arithmetic on names, evaluated from its syntax tree and never executed.

Budgets, shapes and launches are written as formulas, so that the text a learner reads is the
number that is enforced. Answers of numeric exercises are evaluated by the same function.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

Number = int | float | bool

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
LARGEST_RESULT = 2.0**1000  # an answer that is larger than this is a slip, not a number
LARGEST_POWER = 1100
#: What a whole number on the way to a result may have: no sum of an exercise needs more, and
#: arithmetic on numbers of millions of digits takes hours.
MOST_BITS = 4096
MOST_DIGITS = 300  # that `round` may round to


def cdiv(a: int, b: int) -> int:
    """a / b rounded up, for whole numbers: `cdiv(20000, 256)` is 79."""
    return -(-a // b)


def next_power_of_2(a: int) -> int:
    """The least power of two that is not below a: `next_power_of_2(1000)` is 1024."""
    return 1 << max(0, int(a) - 1).bit_length()


def _rounded(value: Number, digits: int | None = None) -> Number:
    if digits is not None and abs(digits) > MOST_DIGITS:
        raise FormulaError(f"it rounds to {digits} digits")
    return round(value, digits)


FUNCTIONS: dict[str, Callable[..., Number]] = {
    "cdiv": cdiv,
    "next_power_of_2": next_power_of_2,
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "abs": abs,
    "round": _rounded,
}


class FormulaError(ValueError):
    """A formula that is no arithmetic: the sentence names the construct."""


def evaluate(
    text: str | ast.expr,
    names: Mapping[str, Number] | None = None,
    functions: Mapping[str, Callable[..., Number]] | None = None,
) -> Number:
    """The value of an arithmetic expression over numbers, `names` and `functions`.

    Raises:
        FormulaError: for anything but numbers, + - * / // % **, comparisons' absence, a listed
            name or function, or for a result that is not finite.
    """
    known = FUNCTIONS if functions is None else {**FUNCTIONS, **functions}
    values = names or {}

    def walk(node: ast.expr) -> Number:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return _bounded(node.value)
        if isinstance(node, ast.Name):
            if node.id in values:
                return values[node.id]
            raise FormulaError(f"the name {node.id!r} has no value here")
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            left, right = walk(node.left), walk(node.right)
            if isinstance(node.op, ast.Pow):
                bits = left.bit_length() if isinstance(left, int) else 1
                if abs(right) > LARGEST_POWER or bits * right > MOST_BITS:
                    raise FormulaError(f"the power {right} is too large")
            return _bounded(_BINARY[type(node.op)](left, right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            return _UNARY[type(node.op)](walk(node.operand))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            function = known.get(node.func.id)
            if function is None:
                raise FormulaError(f"the function {node.func.id!r} is not one of {sorted(known)}")
            return function(*[walk(argument) for argument in node.args])
        raise FormulaError(f"{ast.unparse(node)!r} is not arithmetic")

    try:
        tree = ast.parse(text.strip(), mode="eval").body if isinstance(text, str) else text
        result = walk(tree)
    except SyntaxError as error:
        raise FormulaError(f"{text!r} is not an expression") from error
    except ZeroDivisionError as error:
        raise FormulaError("it divides by zero") from error
    except (OverflowError, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError(f"it has no value: {error}") from error
    if isinstance(result, complex) or abs(result) > LARGEST_RESULT or result != result:
        raise FormulaError("its value is not a finite number")
    return result


def _bounded(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise FormulaError("a number on the way is too large")
    return value
