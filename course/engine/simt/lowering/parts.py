"""What stands in the brackets of a subscript: indices, slices, and the views that they cut."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import does_not_compile, rejected, rejected_syntax
from course.engine.simt.lowering.expr import (
    UNKNOWN,
    Expr,
    Run,
    combined,
    converted,
    number,
    tuple_items,
)
from course.engine.simt.lowering.types import INT, ArrayType, TupleType, is_integer, is_scalar
from course.engine.simt.running.lanes import Lanes
from course.engine.simt.running.views import Extent, Span, span
from course.plain.trees import nodes

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


@dataclass(frozen=True)
class Slice:
    """``start:stop:step`` as int64, None where one is left out."""

    bounds: tuple[Expr | None, Expr | None, Expr | None]
    line: int

    @property
    def whole(self) -> bool:
        """``:``"""
        return self.bounds == (None, None, None)

    def cut(self, lanes: Lanes, extent: Extent) -> Span:
        """Where it lies on an axis.

        Raises:
            KernelFault: REJECTED where the step is 0.
        """
        start, stop, step = (None if part is None else part.run(lanes) for part in self.bounds)
        if step is not None and (zero := lanes.both(lanes.mask, step == 0)).any():
            raise rejected(self.line, "zero_step", **lanes.place(*lanes.first_lane(zero)))
        if step is not None:
            step = np.where(step == 0, 1, step)  # of lanes that are not there
        return span(extent, start, stop, step)


Part = Expr | Slice


def indices(low: Lowering, base: Expr, node: ast.expr) -> list[Expr]:
    """The indices of an atomic, as int64: there alone Numba casts what is no whole number."""
    result: list[Expr] = []
    for element in node.elts if isinstance(node, ast.Tuple) else [node]:
        if isinstance(element, ast.Slice | ast.Starred):
            raise rejected_syntax(
                element, f"`{ast.unparse(element)}` as an index", "index one element here"
            )
        result += _index(low, element, casts=True)
    return [_counted(base, axis, index) for axis, index in enumerate(result)]


def _counted(base: Expr, axis: int, index: Expr) -> Expr:
    """A constant below 0 counts from the end of its axis; what is computed does not."""
    if index.const is UNKNOWN or index.const >= 0:
        return index
    array, constant = base.run, index.run

    def run(lanes: Lanes) -> np.ndarray:
        from_start = np.atleast_2d(array(lanes).shape[axis]) + index.const
        return np.where(from_start < 0, constant(lanes), from_start)

    return replace(index, run=run, masked=base.masked)


def _index(low: Lowering, node: ast.expr, casts: bool = False) -> list[Expr]:
    """One index, or those that a tuple holds."""
    part = low.value(node)
    if isinstance(part.type, ArrayType):
        raise low.untyped(node, f"`{ast.unparse(node)}` is an array, not an index")
    several = isinstance(part.type, TupleType)
    items = (part.items or tuple_items(low, part)) if several else [part]
    for item in items:
        if not is_scalar(item.type) or not (casts or is_integer(item.type)):
            if not several and (division := _division_of(low.frame.function.node, node)):
                raise does_not_compile(node, "float_index", type=item.type, **division)
            wrong = f"has {item.type} in it" if several else f"is {item.type}, not a whole number"
            raise low.untyped(node, f"the index `{ast.unparse(node)}` {wrong}")
    return [converted(item, INT) for item in items]


def _division_of(function: ast.FunctionDef, index: ast.expr) -> dict[str, object] | None:
    """Which name in an index is a quotient by `/`, and on which line it is made."""
    made: list[tuple[ast.expr, ast.operator, int]] = [
        (one.target, one.op, one.lineno) for one in nodes(function, ast.AugAssign)
    ]
    for one in nodes(function, ast.Assign):
        if isinstance(one.value, ast.BinOp):
            made += [(target, one.value.op, one.lineno) for target in one.targets]
    names = {one.id for one in nodes(index, ast.Name)}
    for target, op, line in made:
        if isinstance(op, ast.Div) and isinstance(target, ast.Name) and target.id in names:
            return {"index": ast.unparse(index), "name": target.id, "made": line}
    return None


def parts_of(low: Lowering, base: Expr, node: ast.expr) -> list[Part]:
    """The parts of an array's subscript; a field of a record is an index by its name."""
    array: ArrayType = base.type
    if isinstance(node, ast.Constant) and node.value in array.fields and array.ndim == 1:
        return [number(array.fields.index(node.value))]
    before: list[Part] = []
    after: list[Part] | None = None
    for element in node.elts if isinstance(node, ast.Tuple) else [node]:
        found = before if after is None else after
        if isinstance(element, ast.Slice):
            bounds = [_bound(low, b) for b in (element.lower, element.upper, element.step)]
            found.append(Slice((bounds[0], bounds[1], bounds[2]), element.lineno))
        elif isinstance(element, ast.Constant) and element.value is Ellipsis and after is None:
            after = []
        else:
            found += _index(low, element)
    if after is not None:
        missing = array.ndim - len(before) - len(after)
        before += [Slice((None, None, None), node.lineno)] * missing + after
    if len(before) <= array.ndim:
        while len(before) and isinstance(before[-1], Slice) and before[-1].whole:
            before.pop()  # `A[i, :]` is the row `A[i]`
        before = [
            _counted(base, axis, part) if isinstance(part, Expr) else part
            for axis, part in enumerate(before)
        ]
    return before


def _bound(low: Lowering, node: ast.expr | None) -> Expr | None:
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    bound = low.scalar(node)
    if not is_integer(bound.type):
        raise low.untyped(
            node, f"`{ast.unparse(node)}` in a slice is {bound.type}, not a whole number"
        )
    return converted(bound, INT)


def view_of(base: Expr, parts: list[Part]) -> Expr:
    """The part of an array that a subscript with a slice, or with fewer indices than axes, is."""
    if not parts:
        return base
    array: ArrayType = base.type
    indexed = sum(isinstance(part, Expr) for part in parts)
    given = [part for part in parts if isinstance(part, Expr)]
    for part in parts:
        if isinstance(part, Slice):
            given += [bound for bound in part.bounds if bound is not None]
    pattern: Hashable = "element"
    if indexed < len(parts):
        pattern = (
            "part",
            *(
                tuple(bound is not None for bound in part.bounds) if isinstance(part, Slice) else 1
                for part in parts
            ),
        )
    whole = base.run
    cuts: list[Run | Slice] = [part.run if isinstance(part, Expr) else part for part in parts]

    def run(lanes: Lanes) -> Any:
        found = whole(lanes)
        pairs = zip(cuts, found.shape, strict=False)
        return found.part(
            tuple(
                part.cut(lanes, extent) if isinstance(part, Slice) else part(lanes)
                for part, extent in pairs
            )
        )

    type_ = replace(array, ndim=array.ndim - indexed)
    return combined(pattern, type_, run, [base, *given], origin=base.origin)
