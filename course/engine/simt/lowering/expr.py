"""Typed closures over the lanes: what every expression of a kernel becomes.

Beside its type, an expression carries a *key*: two expressions with one key have one value in
a thread. A load whose key is already held, with no store, atomic or barrier between, is the
load that the compiler merges, so it is not counted again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from course.engine.conversion import float_to_integer
from course.engine.faults import KernelFault, Outcome
from course.engine.simt.lowering.signatures import Function, Namespace
from course.engine.simt.lowering.types import (
    BOOL,
    FLOAT,
    INT,
    ArrayType,
    ComplexType,
    Several,
    TupleType,
    Type,
    TypingError,
    is_integer,
    is_scalar,
    numba_type,
    resolve,
)
from course.engine.simt.nvvm.ranges import linear
from course.engine.simt.running import arith
from course.engine.simt.running.lanes import Lanes
from course.plain.evaluator import Ref

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

Run = Callable[[Lanes], Any]


class _Unknown:
    """No value is known before the launch."""


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True)
class Expr:
    """A lowered expression.

    `since` is the newest variable version that the key depends on; `const` the value, where
    it is known before the launch (a number, a Ref, a type, a Function, a string); `masked`
    says that lanes outside the active mask must not evaluate it; `items` are the parts of a
    tuple written out; `origin` names the array parameters that an array may come from.
    """

    type: Any  # a Type, or None for what exists only before the launch
    run: Run
    key: Hashable = None
    since: int = 0
    const: Any = UNKNOWN
    masked: bool = False
    items: tuple[Expr, ...] | None = None
    origin: tuple[str, ...] = ()
    #: written as a number, or the name of one: what Numba takes for the shape of an array
    literal: bool = False
    #: a variable that some lanes may not have assigned
    partly: bool = False
    #: what is said where it is read: its paths leave values that no type holds
    conflict: KernelFault | None = None
    #: its factors, where it is a product (`course.engine.simt.nvvm.contraction`)
    product: Any = None
    #: what a variable was given, and the variables that this is made of, where it has a key
    given: tuple[Run, Names] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The variables at one place of a function, as it is lowered: `frame` is the call's number."""

    env: dict[str, Expr]
    frame: int


_SUMS = (operator.add, operator.sub, operator.mul)


def nothing(lanes: Lanes) -> None:
    """The run of an expression that is known before the launch and has no lanes."""


def number(value: Any) -> Expr:
    """A literal or a constant: its type as Numba gives it."""
    if isinstance(value, np.generic):
        type_: Any = numba_type(value.dtype)
        plain = value.item()
    else:
        plain = value
        if isinstance(value, bool):
            type_ = BOOL
        elif isinstance(value, int):
            if -(2**63) <= value < 2**63:
                type_ = INT
            elif value < 2**64:
                type_ = types.uint64
            else:
                raise TypingError(f"the number {value} does not fit in 64 bits")
        else:
            type_ = FLOAT
    lanes_value = arith.constant(plain, type_)
    lanes_value.flags.writeable = False
    key = ("number", str(type_), repr(plain))
    return Expr(type_, lambda lanes: lanes_value, key, const=plain, literal=True)


def known(value: Any) -> Expr:
    """A module, function, type or string: it exists only before the launch."""
    return Expr(None, nothing, ("known", repr(value)), const=value)


#: A key holds those of its parts. One that is larger names a value that nobody writes twice,
#: and keys of keys would grow without end.
LARGEST_KEY = 300


def joined(kind: Hashable, parts: list[Expr]) -> tuple[Hashable, int]:
    """(key, since) of a value computed from `parts` alone."""
    keys = tuple(part.key for part in parts)
    if None in keys or _is_large(keys):
        return None, 0
    return (kind, *keys), max((p.since for p in parts), default=0)


def combined(
    kind: Hashable, type_: Any, run: Run, parts: list[Expr], masked: bool = False, **more: Any
) -> Expr:
    """A value of `type_` computed from `parts` alone, which is masked where one of them is."""
    key, since = joined(kind, parts)
    return Expr(type_, run, key, since, masked=masked or any(p.masked for p in parts), **more)


def _is_large(key: Hashable) -> bool:
    size, stack = 0, [key]
    while stack:
        part = stack.pop()
        size += 1
        if size > LARGEST_KEY:
            return True
        if isinstance(part, tuple):
            stack.extend(part)
    return False


def converted(expression: Expr, target: Type) -> Expr:
    """`expression` as a value of type `target`."""
    source = expression.type
    if source == target:
        return expression
    run, masked = expression.run, expression.masked
    if isinstance(target, ComplexType) or (
        isinstance(source, Several) and isinstance(target, Several)
    ):
        return Expr(target, lambda lanes: cast_value(run(lanes), source, target), masked=masked)
    assert is_scalar(source)
    assert isinstance(target, types.Number | types.Boolean)
    asked = (str(source),) if target == BOOL else ()
    key, since = joined(("as", str(target), *asked), [expression])
    change = arith.casting(source, target)
    return _worked_out(target, lambda lanes: change(run(lanes)), key, since, [expression])


def _worked_out(type_: Any, run: Run, key: Hashable, since: int, parts: list[Expr]) -> Expr:
    """What is computed from `parts` alone: before the launch, where all of them are known."""
    masked = any(part.masked for part in parts)
    if masked or any(part.const is UNKNOWN for part in parts):
        return Expr(type_, run, key, since, masked=masked)
    with np.errstate(all="ignore"):
        value = run(None)  # type: ignore[arg-type]  # constants need no lanes
    value.flags.writeable = False
    return Expr(type_, lambda lanes: value, key, since, const=value[0, 0].item())


def cast_value(value: Any, source: Type, target: Type) -> Any:
    """A run-time value (lanes or a tuple of them) as another type."""
    if source == target:
        return value
    if isinstance(target, ComplexType) and is_scalar(source):
        part = target.items[0]
        return arith.cast(value, source, part), arith.constant(0, part)  # type: ignore[arg-type]
    if isinstance(source, Several) and isinstance(target, Several):
        pairs = zip(value, source.items, target.items, strict=True)
        return tuple(cast_value(v, s, t) for v, s, t in pairs)
    return arith.cast(value, source, target)  # type: ignore[arg-type]  # unify made them scalars


def _linear(part: Expr) -> tuple[dict[Hashable, int], int]:
    """An integer's key as (coefficient of each term, constant)."""
    if isinstance(part.const, int):
        return {}, int(part.const)
    terms, constant = linear(part.key)
    return dict(terms), constant


def _sum_key(function: Any, left: Expr, right: Expr) -> Hashable:
    """One key for all ways to write a sum: ``i + 1 - 1`` is ``i``, ``a + b`` is ``b + a``."""
    terms, constant = _linear(left)
    others, other = _linear(right)
    if function is operator.mul:
        if not terms or not others:
            scale = constant if not terms else other
            terms = {term: count * scale for term, count in (terms or others).items()}
            constant *= other
        else:
            pair = sorted((left.key, right.key), key=repr)
            terms, constant = {("product", *pair): 1}, 0
    else:
        sign = -1 if function is operator.sub else 1
        for term, count in others.items():
            terms[term] = terms.get(term, 0) + sign * count
        constant += sign * other
    wrapped = {term: _wrapped(count) for term, count in terms.items()}
    constant = _wrapped(constant)
    kept = tuple(sorted(((t, c) for t, c in wrapped.items() if c), key=repr))
    if constant == 0 and len(kept) == 1 and kept[0][1] == 1:
        return kept[0][0]
    return ("linear", kept, constant)


def _wrapped(number: int) -> int:
    """As int64 holds it."""
    return (number + 2**63) % 2**64 - 2**63


def apply(function: Any, compute: Callable[..., Any], operands: list[Expr], kind: Any) -> Expr:
    """A pure function of scalars: Numba's overload gives the types, `compute` the lanes."""
    for operand in operands:
        if not is_scalar(operand.type):
            raise TypingError(f"{describe(operand)} is not a number")
    result, wanted = resolve(function, *[operand.type for operand in operands])
    if function in arith.IN_RESULT_TYPE or (
        function is operator.pow and all(is_integer(w) or w == BOOL for w in wanted)
    ):
        wanted = (result,) * len(wanted)
    elif function is operator.truediv and all(is_integer(w) for w in wanted):
        wanted = (FLOAT,) * len(wanted)
    parts = [converted(o, w) for o, w in zip(operands, wanted, strict=True)]
    compared = () if result != BOOL else (str(parts[0].type),)
    key, since = joined((kind, str(result), *compared), parts)
    if key is not None and result == INT and function in _SUMS:
        key = _sum_key(function, *parts)
    runs = [part.run for part in parts]
    dtype = arith.numpy_dtype(result)

    def as_dtype(values: np.ndarray) -> np.ndarray:
        if values.dtype == dtype:
            return values
        if values.dtype.kind == "f" and dtype.kind in "iu":
            return float_to_integer(values, dtype)
        return values.astype(dtype)

    run: Run
    if len(runs) == 2:
        left, right = runs

        def run(lanes: Lanes) -> Any:
            return as_dtype(compute(left(lanes), right(lanes)))

    else:

        def run(lanes: Lanes) -> Any:
            return as_dtype(compute(*[part(lanes) for part in runs]))

    return _worked_out(result, run, key, since, parts)


def truth(value: Expr) -> Expr:
    """What a condition asks of a value: a tuple is true where it has items."""
    if isinstance(value.type, ComplexType):
        either = value.run

        def not_zero(lanes: Lanes) -> Any:
            real, imag = either(lanes)
            return (real != 0) | (imag != 0)

        return combined("truth", BOOL, not_zero, [value])
    if not isinstance(value.type, TupleType):
        return value
    holds, run = number(bool(value.type.items)).run, value.run

    def asked(lanes: Lanes) -> Any:
        run(lanes)
        return holds(lanes)

    return combined("truth", BOOL, asked, [value])


def describe(expression: Expr) -> str:
    """What an expression is, for a sentence about types."""
    if expression.type is not None:
        return str(expression.type)
    if isinstance(expression.const, Ref):
        return expression.const.path
    if isinstance(expression.const, Function):
        return f"the function {expression.const.name}"
    if isinstance(expression.const, Namespace):
        return f"all of {expression.const.name}"
    if expression.items is not None:
        return "a tuple of things that are no numbers"
    return repr(expression.const)


def no_value(expression: Expr) -> str:
    """Why a module, a function or an axis triple cannot stand where a number is needed."""
    words = f"{describe(expression)} is not a value"
    if not isinstance(expression.const, Ref):
        return words
    path = expression.const.path
    if path.rpartition(".")[2] in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
        return f"{words}: write {path}.x, {path}.y or {path}.z"
    if path in ("cuda.grid", "cuda.gridsize"):
        return f"{words}: write {path}(1), or {path}(2) for two axes"
    return words


def no_number(text: str, type_: Type | None) -> str:
    """Why an array or a tuple cannot stand where a number is needed, and what can."""
    instead = ""
    if isinstance(type_, TupleType):
        instead = f": take one of its numbers, such as {text}[0]"
    elif isinstance(type_, ArrayType):
        instead = f": take an element, such as {text}[{', '.join('ijk'[: type_.ndim])}]"
    return f"`{text}` is a {type_}, not a number{instead}"


def variable(name: str) -> Callable[[Lanes], Any]:
    """Reads a variable; one that no lane has assigned is UNINITIALISED."""

    def read(lanes: Lanes) -> Any:
        try:
            return lanes.vars[name]
        except KeyError:
            raise _unassigned(lanes, name, None, lanes.full(lanes.mask)) from None

    return read


def partly_assigned(name: str, line: int) -> Callable[[Lanes], Any]:
    """Reads a variable that some lanes may not have assigned: one of those is UNINITIALISED."""

    def read(lanes: Lanes) -> Any:
        missing = lanes.unassigned(name)
        if missing is not None:
            raise _unassigned(lanes, name, line, missing)
        return lanes.vars[name]

    return read


def _unassigned(lanes: Lanes, name: str, line: int | None, missing: np.ndarray) -> KernelFault:
    return lanes.fault(Outcome.UNINITIALISED, "uninitialised_variable", line, missing, name=name)


# ---------------------------------------------------------------- tuples, whose items stand apart


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
    """The parts of a tuple, or of a range, that is held in a variable."""
    assert isinstance(part.type, Several)

    def item(number: int, type_: Type) -> Expr:
        key = None if part.key is None else ("item", number, part.key)
        return Expr(
            type_,
            lambda lanes: part.run(lanes)[number],
            key,
            part.since,
            masked=part.masked,
            origin=_origin(low, key) if isinstance(type_, ArrayType | Several) else (),
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
