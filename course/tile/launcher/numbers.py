"""Arithmetic of a launcher: numbers and tuples of them, bounded, without tensors."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from course.formula import MOST_BITS, MOST_DIGITS
from course.tile.launcher.names import MATH_FUNCTIONS, is_kernel

MOST_ITEMS = 1024  # of a tuple; a grid has three, a shape five
MOST_DEPTH = 16  # of tuples in tuples
_INFINITIES = ("inf", "+inf", "-inf", "nan")


class NoValue(Exception):
    """An expression without a value; the text ends a sentence."""


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def is_number(value: Any) -> bool:
    """Whether a value is a number; `True` is one, as in Python."""
    return isinstance(value, int | float)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def kind(value: Any) -> str:
    """What a value is, for a sentence."""
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if is_kernel(value):
        return "a kernel"
    if isinstance(value, bool) or value is None:
        return str(value)
    if is_number(value):
        return f"the number {value}" if abs(value) < 1e12 else "a number"
    names = {"str": "a text", "tuple": "a tuple", "list": "a list", "Ref": "a function or module"}
    return names.get(type(value).__name__, type(value).__name__)


def _extent(value: Any) -> tuple[int, int]:
    """How many items a value holds, those of tuples in it too, and how deep they lie."""
    if not isinstance(value, tuple | list):
        return 1, 0
    parts = [_extent(item) for item in value]
    return 1 + sum(items for items, _ in parts), 1 + max((depth for _, depth in parts), default=0)


def bounded(value: Any) -> Any:
    """The value, where it is no giant.

    Tuples are held to a size as they are made, so that looking through one ends soon.

    Raises:
        NoValue: a number of too many bits, a tuple of too many items, a complex number.
    """
    if isinstance(value, tuple | list):
        items, depth = _extent(value)
        if items > MOST_ITEMS or depth > MOST_DEPTH:
            raise NoValue(f"a tuple here has at most {MOST_ITEMS} items, {MOST_DEPTH} deep")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise NoValue("the number is too large")
    if isinstance(value, complex):
        raise NoValue("the result is no real number")
    return value


def binary(operation: ast.operator, left: Any, right: Any) -> Any:
    """``left operation right``."""
    function = _BINARY.get(type(operation))
    if function is not None and is_number(left) and is_number(right):
        if isinstance(operation, ast.Pow) and isinstance(left, int) and isinstance(right, int):
            if right > MOST_BITS or left.bit_length() * right > MOST_BITS:
                raise NoValue("the power is too large")
        if isinstance(operation, ast.LShift) and isinstance(right, int) and right > MOST_BITS:
            raise NoValue("the shift is too large")
        return bounded(_tried(function, left, right))
    if isinstance(operation, ast.Add) and type(left) is type(right) and type(left) in (tuple, list):
        if len(left) + len(right) > MOST_ITEMS:
            raise NoValue(f"the tuple has more than {MOST_ITEMS} items")
        return bounded(left + right)
    if isinstance(operation, ast.Mult) and type(left) in (tuple, list) and is_whole(right):
        if len(left) * right > MOST_ITEMS:
            raise NoValue(f"the tuple has more than {MOST_ITEMS} items")
        return bounded(left * right)
    raise NoValue(f"{kind(left)} and {kind(right)} do not go together")


def unary(operation: ast.unaryop, value: Any) -> Any:
    """``-value`` and the like; `not` is the walker's."""
    function = _UNARY.get(type(operation))
    if function is None or not is_number(value):
        raise NoValue(f"this takes a number, not {kind(value)}")
    return _tried(function, value)


def equal(left: Any, right: Any) -> bool:
    """``left == right`` for numbers, text, dtypes, devices and tuples of them."""
    if type(left) is type(right) and type(left) in (tuple, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        raise NoValue("comparing tensors is a computation")
    if is_number(left) and is_number(right):
        return bool(left == right)
    if type(left) is not type(right):
        return False
    return bool(left == right) if _plain(left) else left is right


def _plain(value: Any) -> bool:
    return isinstance(value, str | torch.dtype | torch.device)


def compare(operation: ast.cmpop, left: Any, right: Any) -> bool:
    """One comparison."""
    if isinstance(operation, ast.Is | ast.IsNot):
        return (left is right) == isinstance(operation, ast.Is)
    if isinstance(operation, ast.Eq | ast.NotEq):
        return equal(left, right) == isinstance(operation, ast.Eq)
    if isinstance(operation, ast.In | ast.NotIn):
        if not isinstance(right, tuple | list):
            raise NoValue(f"`in` looks into a tuple, not into {kind(right)}")
        return any(equal(left, item) for item in right) == isinstance(operation, ast.In)
    function = _ORDER[type(operation)]
    if is_number(left) and is_number(right):
        return bool(function(left, right))
    raise NoValue(f"{kind(left)} and {kind(right)} have no order")


# ---------------------------------------------------------------- functions


def _tried(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except ZeroDivisionError:
        raise NoValue("it divides by zero") from None
    except (OverflowError, ValueError, TypeError) as error:
        raise NoValue(str(error).partition("\n")[0][:120]) from None


def _numbers(name: str, arguments: Sequence[Any], least: int, most: int) -> list[Any]:
    if not least <= len(arguments) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise NoValue(f"`{name}` takes {wanted} arguments, and gets {len(arguments)}")
    for argument in arguments:
        if not is_number(argument):
            raise NoValue(f"`{name}` takes numbers, and gets {kind(argument)}")
    return list(arguments)


def cdiv(arguments: Sequence[Any]) -> int:
    """`triton.cdiv`: the quotient, rounded up."""
    a, b = _numbers("triton.cdiv", arguments, 2, 2)
    if not (isinstance(a, int) and isinstance(b, int)):
        raise NoValue("`triton.cdiv` takes whole numbers")
    return int(_tried(lambda: (a + b - 1) // b))


def next_power_of_2(arguments: Sequence[Any]) -> int:
    """`triton.next_power_of_2`: the least power of two that is not smaller."""
    (n,) = _numbers("triton.next_power_of_2", arguments, 1, 1)
    if not isinstance(n, int) or n < 0:
        raise NoValue("`triton.next_power_of_2` takes a whole number, 0 or more")
    return int(bounded(1 << (n - 1).bit_length() if n else 0))


def _extreme(name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    if len(arguments) == 1 and isinstance(arguments[0], tuple | list):
        arguments = arguments[0]
    values = _numbers(name, arguments, 1, MOST_ITEMS)
    return function(values)


def _rounded(arguments: Sequence[Any]) -> Any:
    value, *digits = _numbers("round", arguments, 1, 2)
    if digits and abs(digits[0]) > MOST_DIGITS:
        raise NoValue(f"`round` to {digits[0]} digits")
    return _tried(round, value, *digits)


def _float(arguments: Sequence[Any]) -> float:
    if len(arguments) == 1 and arguments[0] in _INFINITIES and isinstance(arguments[0], str):
        return float(arguments[0])
    return float(_tried(float, *_numbers("float", arguments, 1, 1)))


def _range(arguments: Sequence[Any]) -> range:
    values = _numbers("range", arguments, 1, 3)
    found = _tried(range, *values)
    assert isinstance(found, range)
    return found


def sequence(arguments: Sequence[Any]) -> list[Any]:
    """The items of what `tuple(...)` and `list(...)` get."""
    if not arguments:
        return []
    (value, *more) = arguments
    if more or not isinstance(value, tuple | list | range):
        raise NoValue(f"it takes a tuple, and gets {kind(value)}")
    if _length(value) > MOST_ITEMS:
        raise NoValue(f"the tuple has more than {MOST_ITEMS} items")
    return list(value)


def _length(value: Any) -> int:
    return int(_tried(len, value))


def _len(arguments: Sequence[Any]) -> int:
    if len(arguments) != 1:
        raise NoValue(f"`len` takes 1 argument, and gets {len(arguments)}")
    value = arguments[0]
    if isinstance(value, torch.Tensor) and value.ndim:
        return int(value.shape[0])
    if isinstance(value, tuple | list | range):
        return _length(value)
    raise NoValue(f"`len` takes a tuple, and gets {kind(value)}")


def _called(name: str, function: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    def call(arguments: Sequence[Any]) -> Any:
        return bounded(_tried(function, *_numbers(name, arguments, 1, 2)))

    return call


FUNCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "triton.cdiv": cdiv,
    "triton.next_power_of_2": next_power_of_2,
    "abs": _called("abs", abs),
    "int": lambda arguments: bounded(_tried(int, *_numbers("int", arguments, 1, 1))),
    "float": _float,
    "round": _rounded,
    "min": lambda arguments: _extreme("min", min, arguments),
    "max": lambda arguments: _extreme("max", max, arguments),
    "range": _range,
    "len": _len,
    "tuple": lambda arguments: tuple(sequence(arguments)),
    "list": sequence,
    "print": lambda arguments: None,  # a check runs many cases: only a direct call prints
    **{path: _called(path, function) for path, function in MATH_FUNCTIONS.items()},
}
