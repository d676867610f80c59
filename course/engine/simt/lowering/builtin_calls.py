"""Python's own functions in a kernel: `min` and `max`, `len`, `range`, `print` and their like."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from course.engine.simt.lowering.arguments import arguments, numbers, only_numbers
from course.engine.simt.lowering.complex_numbers import absolute, is_complex, made, operate
from course.engine.simt.lowering.elements import array_attribute, read
from course.engine.simt.lowering.expr import (
    UNKNOWN,
    Expr,
    Run,
    apply,
    combined,
    converted,
    describe,
    number,
    truth,
    tuple_of,
)
from course.engine.simt.lowering.iteration import as_written_in_python, iterator, once, unpacked
from course.engine.simt.lowering.operators import binary
from course.engine.simt.lowering.types import (
    BOOL,
    FLOAT,
    INT,
    INT32,
    NONE,
    ArrayType,
    EnumerateType,
    IteratorType,
    RangeType,
    RecordsType,
    Scalar,
    Several,
    TupleType,
    ZipType,
    is_float,
    is_integer,
    is_scalar,
    resolve,
    unify,
)
from course.engine.simt.running import arith, turns
from course.engine.simt.running.lanes import Lanes

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

Lower = Callable[["Lowering", ast.Call], Expr]


def _extremum(smaller: bool) -> Lower:
    """min and max: of two float32 or float64 a NaN loses; otherwise the first of equals stays."""
    name = "min" if smaller else "max"
    of_floats = np.fmin if smaller else np.fmax
    beats = np.less if smaller else np.greater

    def pick(best: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.where(beats(other, best), other, best)

    def of_both(compute: Callable[..., np.ndarray], a: Run, b: Run) -> Run:
        return lambda lanes: compute(a(lanes), b(lanes))

    def lower(low: Lowering, node: ast.Call) -> Expr:
        if node.keywords or not node.args:
            raise low.untyped(node, f"{name} takes two or more numbers")
        if len(node.args) > 1:
            parts = [low.scalar(argument) for argument in node.args]
        else:
            several = low.value(node.args[0])
            if isinstance(several.type, ArrayType | RangeType):
                first = "items[0]" if isinstance(several.type, ArrayType) else "items.start"
                text = _BEST.format(first=first, beats="<" if smaller else ">")
                return as_written_in_python(low, node, text, [several])
            parts = _numbers_of(low, node, several)
        if all(part.type == INT and isinstance(part.const, int) for part in parts):
            known = [part.const for part in parts]
            return replace(number(min(known) if smaller else max(known)), literal=False)
        floats = (types.float32, types.float64)
        plain = len(parts) == 2 and all(part.type in floats for part in parts)
        compute = of_floats if plain else pick
        result = parts[0]
        for part in parts[1:]:
            type_ = unify(result.type, part.type)
            left, right = converted(result, type_), converted(part, type_)
            result = combined(name, type_, of_both(compute, left.run, right.run), [left, right])
        return result

    return lower


def _numbers_of(low: Lowering, node: ast.Call, several: Expr) -> list[Expr]:
    """The numbers of the tuple that `min` or `max` is given."""
    parts = unpacked(low, several) if isinstance(several.type, TupleType) else []
    if not parts or not all(is_scalar(part.type) for part in parts):
        words = f"`{ast.unparse(node)}` takes numbers, or a tuple of them"
        raise low.untyped(node, words)
    return parts


def _abs(low: Lowering, node: ast.Call) -> Expr:
    (value,) = arguments(low, node, ("x",), 1)
    if is_complex(value := read(low, node, value)):
        return absolute(low, node, value)
    only_numbers(low, node, ("x",), [value])
    return apply(abs, np.abs, [value], "abs")


def _complex(low: Lowering, node: ast.Call) -> Expr:
    values = [read(low, node, one) for one in arguments(low, node, ("real", "imag"), 1)]
    if len(values) == 1 and is_complex(values[0]):
        return values[0]
    only_numbers(low, node, ("real", "imag")[: len(values)], values)
    return made(low, values)


def _pow(low: Lowering, node: ast.Call) -> Expr:
    base, exponent = (read(low, node, one) for one in arguments(low, node, ("base", "exp"), 2))
    if is_complex(base) or is_complex(exponent):
        return operate(low, node, operator.pow, [base, exponent])
    only_numbers(low, node, ("base", "exp"), [base, exponent])
    return binary(low, node, ast.Pow(), base, exponent)


def _round(low: Lowering, node: ast.Call) -> Expr:
    values = arguments(low, node, ("number", "ndigits"), 1)
    if len(values) == 1:
        if is_integer(values[0].type):
            return values[0]
        return apply(round, np.rint, values, "round")

    return apply(round, arith.round_digits, values, "round digits")


def _cast(function: type, kind: Callable[[object], bool], default: Scalar) -> Lower:
    def lower(low: Lowering, node: ast.Call) -> Expr:
        (value,) = arguments(low, node, ("x",), 1)
        if function is float and isinstance(value.const, str):
            value = _read(value)
        if function is bool:
            value = truth(value)
        only_numbers(low, node, ("x",), [value])
        if kind(value.type):
            return replace(value, literal=False)
        if is_float(value.type):  # Numba compiles a function for it, which asks for a GPU
            return converted(value, default)
        assert value.type is not None
        result, _ = resolve(function, value.type)
        return converted(value, result if is_scalar(result) else default)

    return lower


def _read(text: Expr) -> Expr:
    """The number that a text says, as in `float("-inf")`; the text where it says none."""
    try:
        return number(float(text.const))
    except ValueError:
        return text


def _len(low: Lowering, node: ast.Call) -> Expr:
    (value,) = arguments(low, node, ("obj",), 1)
    if isinstance(value.type, TupleType):
        return replace(number(len(value.type.items)), literal=False)
    if isinstance(value.type, RangeType):
        return _length(unpacked(low, value))
    if isinstance(value.type, RecordsType):
        value = unpacked(low, value)[0]
    if not isinstance(value.type, ArrayType):
        raise low.untyped(node, f"len() takes an array, not {describe(value)}")
    shape = array_attribute(low, value, "shape")
    assert shape.items is not None
    return shape.items[0]


def _divmod(low: Lowering, node: ast.Call) -> Expr:
    (a, a_again), (b, b_again) = (once(low, part) for part in numbers(low, node, ("a", "b")))
    both = tuple_of(
        low,
        [binary(low, node, ast.FloorDiv(), a, b), binary(low, node, ast.Mod(), a_again, b_again)],
    )
    return replace(both, items=None)  # one alone would lack what the other has computed


def _sum(low: Lowering, node: ast.Call) -> Expr:
    if node.keywords or not 1 <= len(node.args) <= 2:
        raise low.untyped(node, "sum takes several numbers, and what it starts from")
    start = low.scalar(node.args[1]) if len(node.args) == 2 else number(0)
    items = low.value(node.args[0])
    if isinstance(items.type, TupleType) and len(set(items.type.items)) > 1:
        raise low.untyped(node, "sum takes a tuple whose items have one type")
    return as_written_in_python(low, node, _SUM, [items, start])


#: What Numba makes of these, given several numbers in one thing.
_SUM = """
def sum(items, total):
    for item in items:
        total = total + item
    return total
"""
_BEST = """
def best_of(items):
    best = {first}
    for item in items:
        best = item if item {beats} best else best
    return best
"""


def _range(low: Lowering, node: ast.Call) -> Expr:
    if not 1 <= len(node.args) <= 3 or node.keywords:
        raise low.untyped(node, "range takes one to three whole numbers")
    bounds = [low.scalar(argument) for argument in node.args]
    for bound, argument in zip(bounds, node.args, strict=True):
        if not (is_integer(bound.type) or is_float(bound.type)):
            raise low.untyped(
                argument,
                f"range needs whole numbers, and `{ast.unparse(argument)}` is {bound.type}",
            )
    type_: Scalar = INT
    # of the overloads with int32, int64 and uint64 the one that cuts least: the first cuts floats
    if all(is_float(b.type) or b.type in (INT32, types.int16, types.int8) for b in bounds):
        type_ = INT32
    elif any(b.type == types.uint64 for b in bounds):
        type_ = types.uint64
    if len(bounds) == 1:
        bounds.insert(0, number(0))
    parts = [converted(bound, type_) for bound in [*bounds, number(1)][:3]]
    return replace(tuple_of(low, parts), type=RangeType((type_,) * 3), const=UNKNOWN)


def _length(bounds: list[Expr]) -> Expr:
    """The length of a range, whose start, stop and step these are."""
    known = [bound.const for bound in bounds]
    if all(isinstance(one, int) for one in known) and known[2]:
        return number(len(range(*known)))
    runs = [bound.run for bound in bounds]

    def run(lanes: Lanes) -> np.ndarray:
        return turns.counted([bound(lanes) for bound in runs])[2]

    return combined("length", INT, run, bounds)


def _iter(low: Lowering, node: ast.Call) -> Expr:
    return iterator(low, node, IteratorType, _iterated(low, node, 1, 1))


def _zip(low: Lowering, node: ast.Call) -> Expr:
    return iterator(low, node, ZipType, _iterated(low, node, len(node.args), len(node.args)))


def _enumerate(low: Lowering, node: ast.Call) -> Expr:
    items = _iterated(low, node, 1, 2)
    start = low.scalar(node.args[1]) if len(node.args) == 2 else number(0)
    if not is_integer(start.type):
        raise low.untyped(node, f"`enumerate` counts from a whole number, not from {start.type}")
    return iterator(low, node, EnumerateType, [*items, start])


def _iterated(low: Lowering, node: ast.Call, several: int, most: int) -> list[Expr]:
    """The first arguments of a call that has at most so many: what an iterator goes through."""
    if node.keywords or not 1 <= len(node.args) <= most:
        raise low.untyped(node, f"`{ast.unparse(node)[:60]}` has other arguments than Numba takes")
    values = [low.value(one) for one in node.args[:several]]
    for value in values:
        if not isinstance(value.type, ArrayType | Several):
            raise low.untyped(node, f"`{ast.unparse(node)[:60]}` goes through {describe(value)}")
    return values


def _print(low: Lowering, node: ast.Call) -> Expr:
    if node.keywords:
        raise low.untyped(node, "print in a kernel takes numbers and text by position only")
    parts: list[Any] = []
    for argument in node.args:
        part = low.expression(argument)
        if isinstance(part.const, str):
            parts.append(part.const)
        elif is_scalar(part.type):
            parts.append(part.run)
        else:
            raise low.untyped(argument, "print in a kernel takes numbers and text")

    def run(lanes: Lanes) -> None:
        values = [p if isinstance(p, str) else lanes.spread(p(lanes)) for p in parts]
        printed = lanes.launch.printed
        there = np.argwhere(lanes.spread(lanes.full(lanes.mask)).T)

        def line(block: int, thread: int) -> str:
            said = " ".join(v if isinstance(v, str) else str(v[thread, block]) for v in values)
            if not printed.labelled:
                return said
            at = lanes.place(thread, lanes.first + block)
            return f"thread {at['thread']} of block {at['block']}: {said}"

        printed.add(len(there), (line(block, thread) for block, thread in there.tolist()))

    return Expr(NONE, run, masked=True)


BUILTINS: dict[str, Lower] = {
    "abs": _abs,
    "min": _extremum(True),
    "max": _extremum(False),
    "pow": _pow,
    "complex": _complex,
    "round": _round,
    "divmod": _divmod,
    "int": _cast(int, is_integer, INT),
    "float": _cast(float, is_float, FLOAT),
    "bool": _cast(bool, lambda type_: type_ == BOOL, BOOL),
    "len": _len,
    "sum": _sum,
    "print": _print,
    "range": _range,
    "iter": _iter,
    "zip": _zip,
    "enumerate": _enumerate,
}
