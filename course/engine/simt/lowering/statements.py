"""Assignments, expressions on a line of their own, and `return`."""

from __future__ import annotations

import ast
import contextlib
from typing import TYPE_CHECKING, Any

from course.engine.faults import rejected, rejected_syntax
from course.engine.simt.lowering.complex_numbers import is_complex
from course.engine.simt.lowering.elements import read, store, subscript
from course.engine.simt.lowering.expr import Expr, as_written, describe, tuple_items, variable
from course.engine.simt.lowering.intrinsics import CALLS
from course.engine.simt.lowering.names import field_of, named
from course.engine.simt.lowering.operators import binary
from course.engine.simt.lowering.types import NONE, ArrayType, TupleType, is_scalar
from course.engine.simt.nvvm import contraction
from course.engine.simt.running import control
from course.engine.simt.running.control import Casts
from course.engine.simt.running.lanes import Lanes, Statement
from course.plain.evaluator import Ref
from course.plain.trees import nodes, stored_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from course.engine.simt.lowering.lower import Lowering


def expression_statement(low: Lowering, node: ast.Expr) -> Statement | None:
    """A call on a line of its own; what else stands there is not computed."""
    if isinstance(node.value, ast.Constant):
        return None  # a docstring, or the stub's marker
    low.unused = node.value
    low.registers.unused = not nodes(node.value, ast.Call)
    value = low.expression(node.value)
    low.unused, low.registers.unused = None, False
    if isinstance(value.const, Ref) and value.const.path in CALLS:
        raise rejected(node, "function_uncalled", path=value.const.path)
    if value.type is None:
        raise low.untyped(node, f"`{ast.unparse(node)}` does nothing")
    return _stepped(node.lineno, value.run)


def pass_statement(low: Lowering, node: ast.Pass) -> None:
    """``pass``."""
    return


def assign(low: Lowering, node: ast.Assign) -> Statement:
    """``a = b = value``."""
    return _assign_all(low, node, node.targets, node.value)


def annotated(low: Lowering, node: ast.AnnAssign) -> Statement | None:
    """``a: type = value``."""
    if node.value is None:
        return None
    return _assign_all(low, node, [node.target], node.value)


def _assign_all(
    low: Lowering, node: ast.stmt, targets: list[ast.expr], value_node: ast.expr
) -> Statement:
    low.target = targets[0].id if isinstance(targets[0], ast.Name) else None
    with _where_used(low, node):
        value = read(low, value_node, low.expression(value_node))
    low.target = None
    if value.type == NONE:
        raise low.untyped(node, f"`{ast.unparse(value_node)}` gives no value")
    line = node.lineno
    if len(targets) == 1 and isinstance(targets[0], ast.Name):
        value = contraction.kept(low, value)
        name = targets[0].id
        if value.type is None:
            low.frame.env[name] = value

            def count(lanes: Lanes) -> None:
                lanes.step(line)

            return count
        return _assigned(low, line, name, value)
    if value.type is None:
        what = "is no number" if isinstance(targets[0], ast.Subscript) else "cannot be taken apart"
        raise low.untyped(node, f"`{ast.unparse(value_node)}` {what}")
    holder = f"%{line}.{node.col_offset}"
    run = value.run
    parts = [
        _store_part(low, target, low.versioned(value, variable(holder)), value)
        for target in targets
    ]

    def assign_parts(lanes: Lanes) -> None:
        lanes.step(line)
        lanes.vars[holder] = run(lanes)
        for part in parts:
            part(lanes)

    return assign_parts


@contextlib.contextmanager
def _where_used(low: Lowering, node: ast.stmt) -> Iterator[None]:
    """The loads of a value that is used in one way alone are made there, of one unused nowhere."""
    registers, flow = low.registers, low.frame.flow
    way = flow.later.get(id(node))
    registers.unused = id(node) in flow.dead
    registers.later = None if way is None else []
    yield
    if way is not None:
        low.frame.later.setdefault(way, {})[id(node)] = registers.later or []
    registers.unused, registers.later = False, None


def _store_part(low: Lowering, target: ast.expr, value: Expr, written: Expr) -> Statement:
    """Stores a value that is already computed into one target."""
    if isinstance(target, ast.Name):
        name, run = target.id, value.run
        low.bind(name, value)

        def assign(lanes: Lanes) -> None:
            lanes.assign(name, run(lanes))

        return assign
    if isinstance(target, ast.Attribute):
        target = field_of(target)
    if isinstance(target, ast.Subscript):
        return store(low, target, value)
    if isinstance(target, ast.Tuple | ast.List):
        if not isinstance(value.type, TupleType):
            raise low.untyped(target, f"{describe(value)} cannot be taken apart")
        if len(target.elts) != len(value.type.items):
            raise low.untyped(
                target,
                f"{len(target.elts)} names on the left and {len(value.type.items)} values "
                "on the right",
            )
        items = tuple_items(low, value)
        if written.items is not None:
            items = [as_written(*pair) for pair in zip(items, written.items, strict=True)]
        parts = [
            _store_part(low, element, item, item)
            for element, item in zip(target.elts, items, strict=True)
        ]

        def assign_each(lanes: Lanes) -> None:
            for part in parts:
                part(lanes)

        return assign_each
    raise rejected_syntax(
        target,
        f"an assignment to `{ast.unparse(target)}`",
        "assign to a name or to one element of an array",
    )


def augmented(low: Lowering, node: ast.AugAssign) -> Statement:
    """``a += value``, also of one element."""
    line = node.lineno
    if isinstance(node.target, ast.Name):
        current = named(low, node.target)
        with _where_used(low, node):
            value = binary(low, node.target, node.op, current, low.operand(node.value))
            value = contraction.kept(low, value)
            low.registers.step(value.key)
        return _assigned(low, line, node.target.id, value)
    if isinstance(node.target, ast.Attribute):
        node.target = field_of(node.target)
    if not isinstance(node.target, ast.Subscript):
        raise rejected_syntax(
            node, f"`{ast.unparse(node)}`", "assign to a name or to one element of an array"
        )
    place = ast.copy_location(
        ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target
    )
    current = read(low, place, subscript(low, place))
    if not (is_scalar(current.type) or is_complex(current)):
        raise low.untyped(node, f"`{ast.unparse(node.target)}` is {current.type}: index it")
    value = binary(low, node.target, node.op, current, low.operand(node.value))
    low.registers.step(value.key)
    return _stepped(line, store(low, node.target, value))


def _assigned(low: Lowering, line: int, name: str, value: Expr) -> Statement:
    """A name has another value."""
    low.bind(name, value)
    run = value.run

    def assign(lanes: Lanes) -> None:
        lanes.step(line)
        lanes.assign(name, run(lanes))

    return assign


def _stepped(line: int, statement: Callable[[Lanes], Any]) -> Statement:
    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        statement(lanes)

    return execute


def _require_parameter(low: Lowering, node: ast.Return) -> None:
    """Of arrays a function that is called returns its own parameters alone, by their names."""
    function = low.frame.function
    own = set(function.parameters) - stored_names(function.body)
    if not function.inner and not (isinstance(node.value, ast.Name) and node.value.id in own):
        shown = ast.unparse(node.value) if node.value else ""
        words = f"{function.name} returns `{shown}`, an array: it can return a parameter alone"
        raise low.untyped(node, words)


def return_from(low: Lowering, node: ast.Return) -> Statement:
    """``return``, with a value in a device function."""
    low.reachable = False
    empty = node.value is None or (
        isinstance(node.value, ast.Constant) and node.value.value is None
    )
    if not low.frame.device:
        if not empty:
            raise rejected(node, "rejected_return", value=ast.unparse(node.value)[:40])  # type: ignore[arg-type]
        return control.return_statement(node.lineno)
    casts = Casts()
    value = None if empty else contraction.kept(low, low.value(node.value))  # type: ignore[arg-type]  # not empty
    if value is not None and isinstance(value.type, ArrayType):
        _require_parameter(low, node)
    low.frame.returns.append((value, casts))
    return control.return_value(node.lineno, None if value is None else value.run, casts)
