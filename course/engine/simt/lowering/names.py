"""Names, literals and attributes: what stands in an expression without an operator."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.cell.numba import IMPORTS, attribute, known_path, missing_prefix, unlisted
from course.engine.faults import does_not_compile, rejected, rejected_syntax
from course.engine.simt.lowering.builtin_calls import BUILTINS
from course.engine.simt.lowering.complex_numbers import is_complex, literal
from course.engine.simt.lowering.elements import array_attribute, read, subscript
from course.engine.simt.lowering.expr import (
    Expr,
    known,
    number,
    partly_assigned,
    tuple_items,
    tuple_of,
)
from course.engine.simt.lowering.intrinsics import VALUES
from course.engine.simt.lowering.iteration import unpacked
from course.engine.simt.lowering.signatures import Namespace
from course.engine.simt.lowering.types import (
    COMPLEX_FIELDS,
    ArrayType,
    NamedTupleType,
    RangeType,
    RecordsType,
    VectorType,
)
from course.engine.simt.nvvm import contraction
from course.engine.simt.running.memory import ConstantArray
from course.plain.evaluator import Ref

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


RANGE_ATTRIBUTES = ("start", "stop", "step")
_OF_RECORDS = ("shape", "size", "ndim")
ARRAY_ATTRIBUTES = ("shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides", "T")


#: Of Python's own what a kernel calls, and what is told apart from a name that nobody knows.
_BUILTINS = {*BUILTINS, "list", "sorted"}


_NUMBERS = bool | int | float | complex | np.generic
#: Numba refuses a global that has one of these names and is something else.
_ONLY_PYTHONS = ("len", "range", "slice")


def named(low: Lowering, node: ast.Name) -> Expr:
    """A name: a variable, or something from outside the function."""
    name = node.id
    if name in low.frame.assigned:
        binding = low.frame.env.get(name)
        if binding is None:
            raise does_not_compile(node, "unassigned_name", name=name)
        if binding.conflict is not None:
            raise binding.conflict
        if binding.partly:
            return replace(binding, run=partly_assigned(name, node.lineno), masked=True)
        return contraction.read(low, node, binding)
    return outside(low, node, name)


def outside(low: Lowering, node: ast.AST, name: str) -> Expr:
    """A name from outside the function: a constant, a type, a function, or one of Python's own."""
    try:
        value = low.frame.function.lookup(name)
    except KeyError as error:
        text = str(error.args[0]) if error.args else name
        if text == name and name in _BUILTINS:
            return known(Ref(name))
        if text == name and name in IMPORTS:
            raise rejected(node, "missing_import", name=name, imported=IMPORTS[name]) from None
        path = missing_prefix(name)
        if text == name and path is not None:
            raise rejected(node, "missing_prefix", name=name, path=path) from None
        if text == name and hasattr(builtins, name):
            raise unlisted(node, name) from None
        message = "undefined_name" if text == name else "rejected_name"
        raise rejected(node, message, name=name, got=text) from None
    if name in _ONLY_PYTHONS and value != Ref(name):
        raise does_not_compile(node, "name_of_pythons", name=name)
    return _found(low, name, value)


def _of_namespace(low: Lowering, node: ast.Attribute, owner: Namespace) -> Expr:
    """``module.name``, ``Colour.RED``."""
    try:
        value = owner.lookup(node.attr)
    except KeyError as error:
        got = str(error.args[0])
        message = "undefined_name" if got == node.attr else "rejected_name"
        raise rejected(node, message, name=ast.unparse(node), got=got) from None
    return _found(low, node.attr, value)


def _found(low: Lowering, name: str, value: Any) -> Expr:
    """What a name from outside the function means."""
    if isinstance(value, _NUMBERS):
        return _number(low, value)
    if isinstance(value, np.ndarray):
        # by identity: a device function of another module may have an array of the same name
        array = low.constants.setdefault(id(value), ConstantArray(name, value))
        return Expr(array.type, lambda lanes: array, ("constant", name, id(value)))
    if isinstance(value, tuple):
        return tuple_of(low, [_constant_item(low, item) for item in value])
    return known(value)


def _constant_item(low: Lowering, item: Any) -> Expr:
    if isinstance(item, tuple):
        return tuple_of(low, [_constant_item(low, part) for part in item])
    return _number(low, item) if isinstance(item, _NUMBERS) else known(item)


def _number(low: Lowering, value: Any) -> Expr:
    return literal(low, value) if isinstance(value, complex | np.complex64) else number(value)


def constant(low: Lowering, node: ast.Constant) -> Expr:
    """A literal number, boolean or string."""
    value = node.value
    if isinstance(value, _NUMBERS):
        return _number(low, value)
    if isinstance(value, str) or value is None:
        return known(value)
    raise rejected_syntax(node, f"the literal {value!r}", "use whole numbers, floats or booleans")


def tuple_literal(low: Lowering, node: ast.Tuple) -> Expr:
    """``(a, b)``."""
    return tuple_of(low, [read(low, item, low.expression(item)) for item in node.elts])


def member(low: Lowering, node: ast.Attribute) -> Expr:
    """``base.attribute``: of a listed module or of an array."""
    if isinstance(node.value, ast.Subscript) and node.attr in _fields_of(low, node.value.value):
        return subscript(low, field_of(node))
    base = low.expression(node.value)
    if isinstance(base.const, Namespace):
        return _of_namespace(low, node, base.const)
    if isinstance(base.const, Ref):
        value = attribute(base.const.path, node.attr)
        if isinstance(value, Ref):
            if value.path in VALUES:
                return VALUES[value.path](low, node)
            if not known_path(value.path):
                raise unlisted(node, value.path)
            return known(value)
        return number(value) if isinstance(value, float) else known(value)
    if is_complex(base) and node.attr in COMPLEX_FIELDS:
        return unpacked(low, base)[COMPLEX_FIELDS.index(node.attr)]
    if isinstance(base.type, RangeType) and node.attr in RANGE_ATTRIBUTES:
        return unpacked(low, base)[RANGE_ATTRIBUTES.index(node.attr)]
    if isinstance(base.type, VectorType) and node.attr in base.type.names:
        return unpacked(low, base)[base.type.names.index(node.attr)]
    if isinstance(base.type, NamedTupleType) and node.attr in base.type.names:
        return (base.items or tuple_items(low, base))[base.type.names.index(node.attr)]
    if isinstance(base.type, ArrayType) and node.attr in base.type.fields:
        return subscript(low, field_of(node))
    if isinstance(base.type, RecordsType):
        if node.attr in base.type.names:
            return subscript(low, field_of(node))
        if node.attr in _OF_RECORDS:
            return array_attribute(low, unpacked(low, base)[0], node.attr)
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


def _fields_of(low: Lowering, node: ast.expr) -> tuple[str, ...]:
    """The names of the fields of a variable that holds records."""
    name = node.id if isinstance(node, ast.Name) else ""
    binding = low.frame.env.get(name) if name in low.frame.assigned else None
    type_ = None if binding is None else binding.type
    if isinstance(type_, ArrayType):
        return type_.fields
    return type_.names if isinstance(type_, RecordsType) else ()


def field_of(node: ast.Attribute) -> ast.Subscript:
    """``a[i].x`` as ``a[i]["x"]``."""
    place = ast.Subscript(node.value, ast.Constant(node.attr), node.ctx)
    return ast.fix_missing_locations(ast.copy_location(place, node))
