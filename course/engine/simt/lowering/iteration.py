"""Loops and questions over tuples and arrays, written as the loops over numbers that they are."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING, TypeVar

from course.engine.simt.lowering.types import ArrayType

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

Node = TypeVar("Node", ast.Assign, ast.For, ast.If)


def counted(low: Lowering, node: ast.For) -> tuple[list[ast.stmt], ast.For] | None:
    """What ``for x in enumerate(...)``, ``zip(...)`` or an array does: (before it, a counted loop).

    None for a loop that is counted already, or over something else.
    """
    call = node.iter
    name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
    if name in low.frame.assigned or name not in ("", "enumerate", "zip"):
        return None
    if name and (call.keywords or not call.args):  # type: ignore[attr-defined]  # a call
        return None
    given = call.args if name else [call]  # type: ignore[attr-defined]  # a call
    if not name and not _is_array(low, call):
        return None
    low.instances += 1
    hidden = f"%each.{low.instances}"
    start = given[1] if name == "enumerate" and len(given) == 2 else None
    sources = given[:1] if name == "enumerate" else given
    if name == "enumerate" and len(given) > 2:
        return None
    before: list[ast.stmt] = []
    names = []
    for place, source in enumerate(sources):
        names.append(f"{hidden}.{place}")
        before.append(_at(node, ast.Assign([ast.Name(names[-1], ast.Store())], source)))
    turn = f"{hidden}.turn"
    low.frame.assigned.update([*names, turn])
    lengths: list[ast.expr] = [_call("len", ast.Name(one, ast.Load())) for one in names]
    length = lengths[0] if len(lengths) == 1 else _call("min", *lengths)
    items: list[ast.expr] = [
        ast.Subscript(ast.Name(one, ast.Load()), ast.Name(turn, ast.Load()), ast.Load())
        for one in names
    ]
    if name == "enumerate":
        here: ast.expr = ast.Name(turn, ast.Load())
        items.insert(0, here if start is None else ast.BinOp(here, ast.Add(), start))
    value = ast.Tuple(items, ast.Load()) if name else items[0]
    body = [_at(node, ast.Assign([node.target], value)), *node.body]
    loop = ast.For(ast.Name(turn, ast.Store()), _call("range", length), body, node.orelse)
    return before, _at(node, loop)


def _is_array(low: Lowering, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name | ast.Subscript):
        return False
    return isinstance(low.expression(node).type, ArrayType)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _at(place: ast.stmt, node: Node) -> Node:
    """A node that stands where another does."""
    ast.copy_location(node, place)
    return ast.fix_missing_locations(node)


def with_else(low: Lowering, node: ast.For | ast.While) -> list[ast.stmt]:
    """``for ... else`` and ``while ... else``: the loop, and what follows where none broke out."""
    low.instances += 1
    flag = f"%ran.{low.instances}"
    low.frame.assigned.add(flag)

    def note(value: bool) -> ast.Assign:
        return ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value))

    class Breaks(ast.NodeTransformer):
        """Notes a `break` out of this loop."""

        def visit_For(self, inner: ast.For) -> ast.For:
            return inner

        def visit_While(self, inner: ast.While) -> ast.While:
            return inner

        def visit_Break(self, leaving: ast.Break) -> list[ast.stmt]:
            return [_at(leaving, note(False)), leaving]

    plain = copy.deepcopy(node)
    plain.orelse = []
    plain.body = [part for s in plain.body for part in _listed(Breaks().visit(s))]
    last = ast.If(ast.Name(flag, ast.Load()), node.orelse, [])
    return [_at(node, note(True)), plain, _at(node, last)]


def _listed(statements: ast.stmt | list[ast.stmt]) -> list[ast.stmt]:
    return statements if isinstance(statements, list) else [statements]
