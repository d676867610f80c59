"""Elements of arrays: ``A[i, j]`` as a load, and as the target of a store."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from course.faults import KernelFault, Outcome
from course.simt.cell import rejected
from course.simt.expr import (
    Expr,
    converted,
    describe,
    joined,
)
from course.simt.lanes import Lanes, Statement
from course.simt.types import (
    BOOL,
    INT,
    ArrayType,
    TupleType,
    Type,
    is_integer,
    is_scalar,
)

if TYPE_CHECKING:
    from course.simt.lower import Lowering


def indices(low: Lowering, node: ast.expr) -> list[Expr]:
    """The indices of a subscript, as int64."""
    elements = node.elts if isinstance(node, ast.Tuple) else [node]
    result: list[Expr] = []
    for element in elements:
        if isinstance(element, ast.Slice | ast.Starred):
            raise rejected(
                element,
                "rejected_syntax",
                construct=f"the slice `{ast.unparse(element)}`",
                instead="a thread works on single elements: index them one at a time",
            )
        part = low.value(element)
        for item in part.items or ([part] if is_scalar(part.type) else []):
            if not is_integer(item.type) and item.type != BOOL:
                raise low.untyped(
                    element,
                    f"the index `{ast.unparse(element)}` is {item.type}, not a whole number",
                )
            result.append(converted(item, INT))
        if isinstance(part.type, TupleType) and part.items is None:
            result.extend(tuple_items(low, part))
        elif isinstance(part.type, ArrayType):
            raise low.untyped(element, f"`{ast.unparse(element)}` is an array, not an index")
    return result


def tuple_items(low: Lowering, part: Expr) -> list[Expr]:
    """The parts of a tuple that is held in a variable."""
    assert isinstance(part.type, TupleType)

    def item(number: int, type_: Type) -> Expr:
        key = None if part.key is None else ("item", number, part.key)
        return Expr(
            type_, lambda lanes: part.run(lanes)[number], key, part.since, masked=part.masked
        )

    return [item(number, type_) for number, type_ in enumerate(part.type.items)]


def subscript(low: Lowering, node: ast.Subscript) -> Expr:
    """``base[index]``: an item of a tuple, an element or a narrower view of an array."""
    base = low.value(node.value)
    if isinstance(base.type, TupleType):
        return _item(low, base, node)
    if not isinstance(base.type, ArrayType):
        raise low.untyped(node, f"`{ast.unparse(node.value)}` is {base.type}, not an array")
    return element(low, node, base, indices(low, node.slice))


def _item(low: Lowering, base: Expr, node: ast.Subscript) -> Expr:
    place = low.value(node.slice)
    assert isinstance(base.type, TupleType)
    count = len(base.type.items)
    if not isinstance(place.const, int) or not -count <= place.const < count:
        raise low.untyped(node, f"the index of a tuple of {count} must be a constant below {count}")
    items = base.items or tuple_items(low, base)
    return items[place.const]


def element(low: Lowering, node: ast.Subscript, base: Expr, index: list[Expr]) -> Expr:
    """``A[i, j]``: a load, or the narrower view where fewer indices than axes are given."""
    array = base.type
    assert isinstance(array, ArrayType)
    if len(index) > array.ndim:
        raise low.untyped(
            node,
            f"`{ast.unparse(node.value)}` {array.has_axes(len(index))}",
        )
    runs, view = [part.run for part in index], base.run
    key, since = joined("element", [base, *index])
    if len(index) < array.ndim:
        return Expr(
            ArrayType(array.dtype, array.ndim - len(index), array.memory),
            lambda lanes: view(lanes).narrowed(tuple(run(lanes) for run in runs)),
            key,
            since,
            masked=base.masked,
            origin=base.origin,
        )
    place = (node.lineno, node.col_offset)
    if array.memory != "global":

        def read(lanes: Lanes) -> np.ndarray:
            return view(lanes).load(lanes, tuple([part(lanes) for part in runs]), lanes.mask, place)

        return Expr(array.dtype, read, masked=True)

    def count(lanes: Lanes) -> None:
        view(lanes).count_load(lanes, tuple([part(lanes) for part in runs]), place)

    site, held = low.registers.load(key, since, count)

    def run(lanes: Lanes) -> np.ndarray:
        return view(lanes).load(
            lanes,
            tuple([part(lanes) for part in runs]),
            lanes.mask,
            place,
            site.counts(lanes),
        )

    if held is None:
        return Expr(array.dtype, run, masked=True)
    return Expr(array.dtype, run, ("value", held.token), held.since, masked=True)


def element_key(low: Lowering, base: Expr, index: list[Expr]) -> tuple[Any, int]:
    """(key, since) of one element of a global array."""
    parts = [base, *index]
    if any(part.key is None for part in parts):
        return None, 0
    return ("element", *(part.key for part in parts)), max(part.since for part in parts)


def store(low: Lowering, target: ast.Subscript, value: Expr) -> Statement:
    """``A[i, j] = value``."""
    base = low.value(target.value)
    array = base.type
    if not isinstance(array, ArrayType):
        raise low.untyped(
            target, f"`{ast.unparse(target.value)}` is {describe(base)}: it cannot be changed"
        )
    if array.memory == "constant":
        raise KernelFault(
            Outcome.DOES_NOT_COMPILE,
            "store_to_constant",
            target.lineno,
            array=ast.unparse(target.value),
        )
    if not is_scalar(value.type):
        raise low.untyped(target, f"an element cannot hold {describe(value)}")
    index = indices(low, target.slice)
    if len(index) != array.ndim:
        raise low.untyped(
            target,
            f"`{ast.unparse(target.value)}` {array.has_axes(len(index))}: a store needs one for "
            "each",
        )
    stored = converted(value, array.dtype)
    low.stores_to(base)
    runs, view, run = [part.run for part in index], base.run, stored.run
    place = (target.lineno, target.col_offset)
    if array.memory != "global":

        def keep(lanes: Lanes) -> None:
            values = run(lanes)
            view(lanes).store(
                lanes, tuple([part(lanes) for part in runs]), values, lanes.mask, place
            )

        return keep
    key, since = element_key(low, base, index)
    site = low.registers.store(key, since)

    def execute(lanes: Lanes) -> None:
        values = run(lanes)
        view(lanes).store(
            lanes,
            tuple([part(lanes) for part in runs]),
            values,
            lanes.mask,
            place,
            site.counts(lanes),
        )

    return execute
