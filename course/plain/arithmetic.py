"""Arithmetic on plain values: numbers, text, tuples, lists, dicts and ranges, held to a size.

The operations and the closed table of functions behind every constant, formula, launcher and
configuration of a cell, in either dialect. Nothing of the learner's is executed, and no function
is looked up on a module by a learner's name.
"""

from __future__ import annotations

import ast
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: What a whole number on the way to a result may have: no sum of an exercise needs more, and
#: arithmetic on numbers of millions of digits takes hours.
MOST_BITS = 4096
MOST_DIGITS = 300  # that `round` may round to
MOST_ITEMS = 1024  # of a tuple; a grid has three, a shape five
MOST_DEPTH = 16  # of tuples in tuples
#: Of a text that a number is read from, and of what `pow` takes with a modulus.
MOST_CHARACTERS, MODULUS_BITS = 40, 64

Same = Callable[[Any, Any], bool]


class NoValue(Exception):
    """An expression without a value; the text ends a sentence."""


class NotHere(NoValue):
    """What Python may well work out, and the course does not."""


#: Python's operators by the node of the tree that stands for them.
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
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
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_KINDS = {
    "str": "a text",
    "tuple": "a tuple",
    "list": "a list",
    "dict": "a dict",
    "range": "a range",
    "slice": "a slice",
    "Ref": "a function or module",
    "Tensor": "a tensor",
    "Closure": "a function",
    "Function": "a kernel",
    "FunctionDef": "a function",
    **dict.fromkeys(("JITFunction", "Autotuner", "Heuristics", "Kernel"), "a kernel"),
}


# ---------------------------------------------------------------- kinds and sizes


def is_number(value: Any) -> bool:
    """Whether a value is a number, Python's or NumPy's; `True` is one, as in Python."""
    return isinstance(value, int | float | np.number | np.bool_)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def kind(value: Any) -> str:
    """What a value is, for a sentence."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if is_number(value):
        return f"the number {value}" if abs(value) < 1e12 else "a number"
    if isinstance(value, Facts):
        return value.what
    return _KINDS.get(type(value).__name__, type(value).__name__)


def bounded(value: Any, inside: Callable[[Any], Any] | None = None) -> Any:
    """The value, where it is no giant: looking through one ends soon.

    Args:
        inside: what stands in a value that wraps another; of any other, the value itself.

    Raises:
        NoValue: a number of too many bits, a tuple of too many items, a complex number.
    """
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise NotHere("the number is too large")
    if isinstance(value, complex):
        raise NotHere("the result is no real number")
    items, waiting = 0, [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        one = one if inside is None else inside(one)
        items += 1
        if isinstance(one, dict):
            one = tuple(itertools.chain(one.keys(), one.values()))
        if isinstance(one, tuple | list):
            if items + len(waiting) + len(one) > MOST_ITEMS or depth >= MOST_DEPTH:
                raise NotHere(f"a tuple here has at most {MOST_ITEMS} items, {MOST_DEPTH} deep")
            waiting += [(item, depth + 1) for item in one]
    return value


def size_of(values: Sequence[Any]) -> int:
    """How many items values hold, with those in them: `MOST_ITEMS` where there are more."""
    items, waiting = 0, list(values)
    while waiting and items < MOST_ITEMS:
        one = waiting.pop()
        if isinstance(one, dict):
            one = (*one, *one.values())
        if isinstance(one, tuple | list | range):
            few = one[:MOST_ITEMS]
            items += len(few)
            waiting += few if not isinstance(one, range) else ()
    return min(items, MOST_ITEMS)


def tried(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of Python's gives.

    Raises:
        NoValue: where it raises.
    """
    try:
        with np.errstate(all="ignore"):
            found = function(*arguments)
    except ZeroDivisionError:
        raise NoValue("it divides by zero") from None
    except (OverflowError, ValueError, TypeError, IndexError, KeyError) as error:
        raise NoValue(str(error).partition("\n")[0][:120].rstrip(".")) from None
    # NumPy's own widest are what Python's numbers are; the others keep their type.
    return found.item() if isinstance(found, np.int64 | np.float64 | np.bool_) else found


def plain(value: Any) -> Any:
    """A number of NumPy's as Python has it; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def truth(value: Any) -> bool:
    """Whether a condition holds.

    Raises:
        NoValue: for what is neither true nor false.
    """
    if value is None or is_number(value) or isinstance(value, str | tuple | list | dict | range):
        return bool(value)
    raise NotHere(f"{kind(value)} is neither true nor false")


# ---------------------------------------------------------------- operators


def binary(operation: ast.operator, left: Any, right: Any) -> Any:
    """``left operation right``.

    Raises:
        NoValue: where there is none, or none of a bearable size.
    """
    function = BINARY.get(type(operation))
    if function is not None and is_number(left) and is_number(right):
        whole = isinstance(left, int) and isinstance(right, int)
        if isinstance(operation, ast.Pow) and whole and left.bit_length() * abs(right) > MOST_BITS:
            raise NotHere("the power is too large")
        if isinstance(operation, ast.LShift) and isinstance(right, int) and right > MOST_BITS:
            raise NotHere("the shift is too large")
        return bounded(tried(function, left, right))
    if isinstance(operation, ast.Add) and type(left) is type(right) and type(left) in (tuple, list):
        _few(len(left) + len(right))
        return bounded(left + right)
    if isinstance(operation, ast.BitOr) and type(left) is type(right) is dict:
        return bounded(left | right)
    if isinstance(operation, ast.Mult) and is_whole(left) and type(right) in (tuple, list):
        left, right = right, left
    if isinstance(operation, ast.Mult) and type(left) in (tuple, list) and is_whole(right):
        _few(len(left) * right)
        return bounded(left * right)
    why = NotHere if isinstance(left, str) else NoValue
    raise why(f"{kind(left)} and {kind(right)} do not go together")


def unary(operation: ast.unaryop, value: Any) -> Any:
    """``-value``, ``+value`` and ``~value``.

    Raises:
        NoValue: for what is no number.
    """
    function = UNARY.get(type(operation))
    if function is None or not is_number(value):
        raise NoValue(f"this takes a number, not {kind(value)}")
    return tried(function, value)


def equal(left: Any, right: Any, same: Same = operator.is_) -> bool:
    """``left == right`` for plain values; `same` compares what is none."""
    bounded(left)
    bounded(right)
    if is_number(left) and is_number(right):
        return bool(left == right)
    if type(left) is type(right) and isinstance(left, tuple | list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(equal(a, b, same) for a, b in pairs)
    if _plain(left) and _plain(right):
        return type(left) is type(right) and bool(left == right)
    return same(left, right)


def _plain(value: Any) -> bool:
    return is_number(value) or value is None or isinstance(value, str | tuple | list | range)


def compare(operation: ast.cmpop, left: Any, right: Any, same: Same = operator.is_) -> bool:
    """One comparison.

    Raises:
        NoValue: between what has no order, or `in` what holds nothing.
    """
    if isinstance(operation, ast.Is | ast.IsNot):
        return (left is right) == isinstance(operation, ast.Is)
    if isinstance(operation, ast.Eq | ast.NotEq):
        return equal(left, right, same) == isinstance(operation, ast.Eq)
    if isinstance(operation, ast.In | ast.NotIn):
        return _within(left, right, same) == isinstance(operation, ast.In)
    function = ORDER[type(operation)]
    numbers = is_number(left) and is_number(right)
    if numbers or (type(left) is type(right) and isinstance(left, tuple | list)):
        if not numbers and not all(map(is_number, (*left, *right))):
            raise NotHere("tuples have an order where they hold numbers")
        return bool(tried(function, left, right))
    why = NotHere if isinstance(left, str) and isinstance(right, str) else NoValue
    raise why(f"{kind(left)} and {kind(right)} have no order")


def _within(item: Any, holder: Any, same: Same) -> bool:
    if isinstance(holder, range):
        # Python looks for a number with a fraction in each place of the range.
        return is_number(item) and item == item // 1 and int(item) in holder
    if isinstance(holder, str) and isinstance(item, str):
        return item in holder
    if not isinstance(holder, tuple | list | dict):
        raise NoValue(f"`in` looks into a tuple, not into {kind(holder)}")
    return any(equal(item, one, same) for one in holder)


def item_of(owner: Any, index: Any) -> Any:
    """``owner[index]`` of a tuple, a list, a dict or a range.

    Raises:
        NoValue: where there is no such item.
    """
    if isinstance(owner, dict):
        tried(hash, bounded(index))
        if index not in owner:
            raise NoValue(f"the dict has no key {index!r}")
        return owner[index]
    if not isinstance(owner, tuple | list | range):
        raise NoValue(f"{kind(owner)} has no items")
    if isinstance(index, slice):
        ends = (index.start, index.stop, index.step)
        if not all(end is None or is_whole(end) for end in ends) or index.step == 0:
            raise NoValue("a slice takes whole numbers, and no step of 0")
        return owner[index]
    if not is_whole(index):
        raise NoValue(f"{kind(owner)} has no item {index if is_number(index) else kind(index)}")
    return tried(operator.getitem, owner, int(index))


def dict_of(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """A dict of plain keys.

    Raises:
        NoValue: for too many, or for a key that cannot be one.
    """
    for key in keys:
        tried(hash, bounded(key))
        if kind(key) == "a tensor":
            raise NotHere("a tensor is no key")
    found = dict(zip(keys, values, strict=True))
    return dict(bounded(found))


def _few(items: int) -> None:
    if items > MOST_ITEMS:
        raise NotHere(f"the tuple has more than {MOST_ITEMS} items")


# ---------------------------------------------------------------- functions


def items_of(value: Any) -> list[Any]:
    """What a loop goes over, few enough to be written down.

    Raises:
        NoValue: for what holds no items, or too many.
    """
    if isinstance(value, dict):
        value = tuple(value)
    if not isinstance(value, tuple | list | range):
        raise NoValue(f"it takes a tuple, and gets {kind(value)}")
    _few(tried(len, value))
    return list(value)


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
        raise NotHere("`triton.cdiv` takes whole numbers")
    return int(tried(lambda: (a + b - 1) // b))


def next_power_of_2(arguments: Sequence[Any]) -> int:
    """`triton.next_power_of_2`: the least power of two that is not smaller."""
    (n,) = _numbers("triton.next_power_of_2", arguments, 1, 1)
    if not isinstance(n, int) or n < 0:
        raise NotHere("`triton.next_power_of_2` takes a whole number, 0 or more")
    return int(bounded(1 << (n - 1).bit_length() if n else 0))


def _counted(name: str, function: Callable[..., int]) -> Callable[[Sequence[Any]], int]:
    """`math.comb` and its kin, of numbers whose result is no giant: n to the k holds it."""

    def call(arguments: Sequence[Any]) -> int:
        n, k = (*_numbers(name, arguments, 1, 2), arguments[0])[:2]
        if is_whole(n) and is_whole(k) and int(n).bit_length() * min(n, k) > MOST_BITS:
            raise NotHere("the number is too large")
        return int(bounded(tried(function, *arguments)))

    return call


def _on_numbers(
    name: str, function: Callable[..., Any], least: int = 1, most: int = 2
) -> Callable[[Sequence[Any]], Any]:
    """A function of numbers, by position."""
    return lambda arguments: bounded(tried(function, *_numbers(name, arguments, least, most)))


def _on_items(name: str, function: Callable[[list[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """A function of the items of one tuple."""

    def call(arguments: Sequence[Any]) -> Any:
        if len(arguments) != 1:
            raise NoValue(f"`{name}` takes 1 argument, and gets {len(arguments)}")
        return bounded(function(items_of(arguments[0])))

    return call


def _extreme(name: str, function: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    def call(arguments: Sequence[Any]) -> Any:
        if len(arguments) == 1:
            arguments = items_of(arguments[0])
        return function(_numbers(name, arguments, 1, MOST_ITEMS))

    return call


def _power(arguments: Sequence[Any]) -> Any:
    base, exponent, *modulus = _numbers("pow", arguments, 2, 3)
    if not modulus:
        return binary(ast.Pow(), base, exponent)
    if any(not isinstance(n, int) or n.bit_length() > MODULUS_BITS for n in arguments):
        raise NotHere("`pow` with a modulus takes whole numbers of 64 bits here")
    return tried(pow, base, exponent, *modulus)


def _rounded(arguments: Sequence[Any]) -> Any:
    value, *digits = arguments[:1] if arguments[1:] == (None,) else arguments
    _numbers("round", [value, *digits], 1, 2)
    if digits and not (is_whole(digits[0]) and abs(digits[0]) <= MOST_DIGITS):
        raise NoValue(f"it rounds to {digits[0]} digits")
    return bounded(tried(round, value, *digits))


def _total(name: str, function: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    def call(arguments: Sequence[Any]) -> Any:
        if not 1 <= len(arguments) <= 2:
            raise NoValue(f"`{name}` takes 1 to 2 arguments, and gets {len(arguments)}")
        values = [*arguments[1:], *items_of(arguments[0])]
        total: Any = 1 if function is operator.mul else 0
        for value in _numbers(name, values, 0, MOST_ITEMS + 1):
            total = bounded(tried(function, total, value))
        return total

    return call


def _read(name: str, read: Callable[[Any], Any]) -> Callable[[Sequence[Any]], Any]:
    """`int` and `float`, which read a number or a short text."""

    def call(arguments: Sequence[Any]) -> Any:
        if not arguments:
            return read(0)
        text = arguments[0]
        if len(arguments) == 1 and isinstance(text, str) and len(text) <= MOST_CHARACTERS:
            return tried(read, text)
        return bounded(tried(read, *_numbers(name, arguments, 1, 1)))

    return call


def _sorted(arguments: Sequence[Any]) -> list[Any]:
    values, backwards = (*arguments, False)[:2] if arguments else (None, False)
    if len(arguments) > 2:
        raise NoValue(f"`sorted` takes a tuple, and gets {len(arguments)} arguments")
    numbers = _numbers("sorted", items_of(values), 0, MOST_ITEMS)
    return sorted(numbers, reverse=truth(backwards))


def _length(arguments: Sequence[Any]) -> int:
    if len(arguments) != 1:
        raise NoValue(f"`len` takes 1 argument, and gets {len(arguments)}")
    if not isinstance(arguments[0], str | tuple | list | dict | range):
        raise NoValue(f"`len` takes a tuple, and gets {kind(arguments[0])}")
    return int(tried(len, arguments[0]))


def sequence(arguments: Sequence[Any]) -> list[Any]:
    """The items of what `tuple(...)` and `list(...)` get."""
    if len(arguments) > 1:
        raise NoValue(f"it takes 1 argument, and gets {len(arguments)}")
    return items_of(arguments[0]) if arguments else []


def _enumerated(arguments: Sequence[Any]) -> list[Any]:
    values, start = (*arguments, 0)[:2] if arguments else (None, 0)
    if len(arguments) > 2 or not is_whole(start):
        raise NoValue("`enumerate` takes a tuple, and the number that it begins with")
    return list(enumerate(items_of(values), start))


def _zipped(arguments: Sequence[Any]) -> list[Any]:
    parts = [items_of(part) for part in arguments]
    return list(bounded(list(zip(*parts, strict=False))))


def product(arguments: Sequence[Any]) -> list[Any]:
    """`itertools.product`."""
    parts = [items_of(part) for part in arguments]
    _few(math.prod(len(part) for part in parts) * max(1, len(parts)))
    return list(itertools.product(*parts))


_OF_ONE = (
    *("sqrt", "exp", "exp2", "log2", "log10", "log1p", "expm1", "ceil", "floor", "trunc", "fabs"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc", "cbrt"),
    *("isfinite", "isinf", "isnan", "isqrt", "degrees", "radians"),
)
_OF_TWO = ("atan2", "copysign", "fmod", "gcd", "hypot", "lcm", "ldexp", "log", "pow", "remainder")
_OF_CHOICES = ("comb", "factorial", "perm")
_NUMPY = (
    *("sqrt", "exp", "exp2", "log", "log2", "log10", "ceil", "floor", "abs", "maximum", "minimum"),
    *("sin", "cos", "tan", "tanh"),
)
NUMPY_SCALARS: dict[str, Callable[..., Any]] = {
    "bool_": np.bool_, "float16": np.float16, "float32": np.float32, "float64": np.float64,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "intp": np.intp, "uintp": np.uintp,
}  # fmt: skip

#: Every function of a constant, by its path; what a dialect adds is its own.
FUNCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "triton.cdiv": cdiv,
    "triton.next_power_of_2": next_power_of_2,
    "itertools.product": product,
    "abs": _on_numbers("abs", abs, 1, 1),
    "pow": _power,
    "divmod": _on_numbers("divmod", divmod, 2, 2),
    "int": _read("int", int),
    "float": _read("float", float),
    "bool": lambda arguments: truth(arguments[0]) if len(arguments) == 1 else bool(arguments),
    "round": _rounded,
    "min": _extreme("min", min),
    "max": _extreme("max", max),
    "sum": _total("sum", operator.add),
    "math.prod": _total("math.prod", operator.mul),
    "any": _on_items("any", lambda items: any(map(truth, items))),
    "all": _on_items("all", lambda items: all(map(truth, items))),
    "sorted": _sorted,
    "reversed": _on_items("reversed", lambda items: items[::-1]),
    "range": lambda arguments: tried(range, *_numbers("range", arguments, 1, 3)),
    "len": _length,
    "enumerate": _enumerated,
    "zip": _zipped,
    "tuple": lambda arguments: tuple(sequence(arguments)),
    "list": sequence,
    **{f"math.{n}": _on_numbers(f"math.{n}", getattr(math, n), 1, 1) for n in _OF_ONE},
    **{f"math.{n}": _on_numbers(f"math.{n}", getattr(math, n), 1, 2) for n in _OF_TWO},
    **{f"math.{n}": _counted(f"math.{n}", getattr(math, n)) for n in _OF_CHOICES},
    **{f"np.{n}": _on_numbers(f"np.{n}", getattr(np, n)) for n in _NUMPY},
    **{f"np.{n}": _on_numbers(f"np.{n}", t, 1, 1) for n, t in NUMPY_SCALARS.items()},
}
#: Methods of numbers, by name, which take nothing more.
METHODS: dict[str, Callable[[Any], Any]] = {
    "bit_length": int.bit_length,
    "bit_count": int.bit_count,
    "is_integer": float.is_integer,
}
CONSTANTS: dict[str, float] = {
    f"{module}.{name}": getattr(math, name)
    for module in ("math", "np")
    for name in ("pi", "e", "inf", "nan", "tau")
    if module == "math" or name != "tau"
}
#: What some functions call their arguments, for those who give them by name.
_PARAMETERS = {
    "round": ("number", "ndigits"),
    "sum": ("iterable", "start"),
    "enumerate": ("iterable", "start"),
    "pow": ("base", "exp", "mod"),
    "sorted": ("iterable", "reverse"),
    "math.prod": ("iterable", "start"),
    "triton.cdiv": ("x", "y"),
    "triton.next_power_of_2": ("n",),
}


def by_position(path: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """A function's arguments in their order.

    Raises:
        NoValue: for a name that it does not have, or one given twice.
    """
    if path == "zip" and set(named) == {"strict"}:
        lengths = {len(items_of(part)) for part in arguments}
        if truth(named["strict"]) and len(lengths) > 1:
            raise NoValue("the tuples of `zip` differ in length")
        return tuple(arguments)
    waiting = dict(named)
    placed = list(arguments)
    for name in _PARAMETERS.get(path, ())[len(placed) :]:
        if name not in waiting:
            break
        placed.append(waiting.pop(name))
    if waiting:
        raise NotHere(f"`{path}` takes its arguments by position here")
    return tuple(placed)


# ---------------------------------------------------------------- named values

#: What `np.finfo` tells of a type, `np.iinfo`, and torch's.
TOLD_OF_TYPES = ("bits", "eps", "max", "min", "resolution", "smallest_normal", "tiny")


@dataclass(frozen=True, eq=False)
class Facts:
    """Something that has nothing but named values: what a type can hold, what a GPU is."""

    what: str
    values: Mapping[str, Any]


def limits(of: Any) -> Facts:
    """`np.finfo(...)`, `np.iinfo(...)` and torch's: what numbers of a type can be."""
    told = {name: tried(getattr, of, name) for name in TOLD_OF_TYPES if hasattr(of, name)}
    return Facts("what a type can hold", told)
