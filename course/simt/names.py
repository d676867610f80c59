"""Names, literals and attributes: what stands in an expression without an operator."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course.faults import KernelFault, Outcome
from course.simt import arith
from course.simt.cell import (
    IMPORTS,
    Ref,
    attribute,
    instead_of,
    known_path,
    missing_prefix,
    rejected,
)
from course.simt.expr import (
    UNKNOWN,
    Expr,
    joined,
    known,
    nothing,
    number,
    partly_assigned,
)
from course.simt.memory import ConstantArray
from course.simt.types import (
    INT,
    ArrayType,
    TupleType,
)

if TYPE_CHECKING:
    from course.simt.lower import Lowering


ARRAY_ATTRIBUTES = ("shape", "size", "ndim", "dtype", "itemsize", "strides")


_BUILTINS = {
    "abs", "bool", "enumerate", "float", "int", "len", "list", "max", "min", "pow", "print",
    "range", "round", "sorted", "sum", "zip", "divmod",
}  # fmt: skip


def named(low: Lowering, node: ast.Name) -> Expr:
    """A name: a variable, a builtin, or something from outside the function."""
    name = node.id
    if name in low.assigned:
        binding = low.env.get(name)
        if binding is None:
            raise KernelFault(Outcome.DOES_NOT_COMPILE, "unassigned_name", node.lineno, name=name)
        if binding.partly:
            return replace(binding, run=partly_assigned(name, node.lineno), masked=True)
        return binding
    if name in _BUILTINS:
        return known(Ref(name))
    return outside(low, node, name)


def outside(low: Lowering, node: ast.AST, name: str) -> Expr:
    """A name from outside the function: a constant, a type, a module, a function."""
    try:
        value = low.function.lookup(name)
    except KeyError as error:
        text = str(error.args[0]) if error.args else name
        if text == name and name in IMPORTS:
            raise rejected(node, "missing_import", name=name, imported=IMPORTS[name]) from None
        path = missing_prefix(name)
        if text == name and path is not None:
            raise rejected(node, "missing_prefix", name=name, path=path) from None
        if text == name and hasattr(builtins, name):
            raise rejected(
                node, "rejected_attribute", name=name, instead=instead_of(name)
            ) from None
        message = "undefined_name" if text == name else "rejected_name"
        raise rejected(node, message, name=name, got=text) from None
    if isinstance(value, bool | int | float | np.generic):
        return number(value)
    if isinstance(value, np.ndarray):
        # by identity: a device function of another module may have an array of the same name
        array = low.constants.setdefault(id(value), ConstantArray(name, value))
        return Expr(array.type, lambda lanes: array, ("constant", name, id(value)))
    if isinstance(value, tuple):
        return tuple_of(low, [_constant_item(low, node, item) for item in value])
    return known(value)


def _constant_item(low: Lowering, node: ast.AST, item: Any) -> Expr:
    if isinstance(item, tuple):
        return tuple_of(low, [_constant_item(low, node, part) for part in item])
    return number(item) if isinstance(item, bool | int | float | np.generic) else known(item)


def tuple_of(low: Lowering, items: list[Expr]) -> Expr:
    """A tuple written out. Tuples of tuples grow fast, so all their numbers count as code."""
    low.spend(sum(map(_numbers, items)))
    if any(item.type is None for item in items):
        return Expr(None, nothing, None, const=tuple(i.const for i in items), items=tuple(items))
    runs = [item.run for item in items]
    key, since = joined("tuple", items)
    const = tuple(item.const for item in items)
    return Expr(
        TupleType(tuple(item.type for item in items)),
        lambda lanes: tuple(run(lanes) for run in runs),
        key,
        since,
        const=UNKNOWN if any(c is UNKNOWN for c in const) else const,
        masked=any(item.masked for item in items),
        items=tuple(items),
    )


def _numbers(item: Expr) -> int:
    return 1 + sum(map(_numbers, item.items or ()))


def constant(low: Lowering, node: ast.Constant) -> Expr:
    """A literal number, boolean or string."""
    value = node.value
    if isinstance(value, bool | int | float):
        return number(value)
    if isinstance(value, str) or value is None:
        return known(value)
    raise rejected(
        node,
        "rejected_syntax",
        construct=f"the literal {value!r}",
        instead="use whole numbers, floats or booleans",
    )


def tuple_literal(low: Lowering, node: ast.Tuple) -> Expr:
    """``(a, b)``."""
    return tuple_of(low, [low.expression(element) for element in node.elts])


def member(low: Lowering, node: ast.Attribute) -> Expr:
    """``base.attribute``: of a listed module or of an array."""
    base = low.expression(node.value)
    if isinstance(base.const, Ref):
        value = attribute(base.const.path, node.attr)
        if isinstance(value, Ref):
            from course.simt.intrinsics import VALUES

            if value.path in VALUES:
                return VALUES[value.path](low, node)
            if not known_path(value.path):
                raise rejected(
                    node,
                    "rejected_attribute",
                    name=value.path,
                    instead=instead_of(value.path),
                )
            return known(value)
        return number(value) if isinstance(value, float) else known(value)
    if isinstance(base.type, ArrayType) and node.attr in ARRAY_ATTRIBUTES:
        return array_attribute(low, base, node.attr)
    if base.type is not None and not isinstance(base.type, ArrayType):
        raise low.untyped(
            node, f"`{ast.unparse(node.value)}` is {base.type} and has no `.{node.attr}`"
        )
    raise rejected(
        node,
        "rejected_attribute",
        name=ast.unparse(node),
        instead=f"an array in a kernel has {', '.join(ARRAY_ATTRIBUTES[:4])}",
    )


def array_attribute(low: Lowering, base: Expr, name: str) -> Expr:
    """``shape``, ``size`` and the like: uniform, read from the launch's arrays."""
    assert isinstance(base.type, ArrayType)
    run, ndim = base.run, base.type.ndim
    if name == "dtype":
        return known(base.type.dtype)
    if name == "ndim":
        return number(ndim)
    if name == "itemsize":
        return number(arith.numpy_dtype(base.type.dtype).itemsize)

    def part(compute: Callable[[Any], int], what: Hashable) -> Expr:
        key, since = joined((what,), [base])
        return Expr(INT, lambda lanes: arith.constant(compute(run(lanes)), INT), key, since)

    def of_axis(axis: int, attribute: str, scale: int) -> Expr:
        return part(lambda view: getattr(view, attribute)[axis] * scale, (attribute, axis))

    if name == "size":
        return part(lambda view: int(np.prod(view.shape, dtype=np.int64)), "size")
    if name == "strides":
        itemsize = arith.numpy_dtype(base.type.dtype).itemsize
        return tuple_of(low, [of_axis(axis, "strides", itemsize) for axis in range(ndim)])
    return tuple_of(low, [of_axis(axis, "shape", 1) for axis in range(ndim)])
