"""Loops and questions over tuples and arrays, written as the loops over numbers that they are."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from course.engine.simt.lowering.types import ArrayType

if TYPE_CHECKING:
    from course.engine.simt.lowering.expr import Expr
    from course.engine.simt.lowering.lower import Lowering

Node = TypeVar("Node", ast.Assign, ast.For, ast.If)


def counted(low: Lowering, node: ast.For) -> tuple[list[ast.stmt], ast.For] | None:
    """What ``for x in enumerate(...)``, ``zip(...)`` or an array does: (before it, a counted loop).

    None for a loop that is counted already, or over something else.
    """
    if not _is_call(low, node.iter, _WALKS) and not _is_array(low, node.iter):
        return None
    low.instances += 1
    walk = _Walk(low, node, f"%each.{low.instances}")
    value = walk.item(node.iter)
    lengths = walk.lengths
    length = lengths[0] if len(lengths) == 1 else _call("min", *lengths)
    body = [_at(node, ast.Assign([node.target], value)), *node.body]
    loop = ast.For(ast.Name(walk.turn, ast.Store()), _call("range", length), body, node.orelse)
    return walk.before, _at(node, loop)


class _Walk:
    """One loop over several things at once, in one another as they may be.

    Attributes:
        before: keeps in variables what is gone through.
        lengths: of all that, and it ends with the shortest.
    """

    def __init__(self, low: Lowering, node: ast.For, hidden: str) -> None:
        self.low = low
        self.node = node
        self.hidden = hidden
        self.turn = f"{hidden}.turn"
        low.frame.assigned.add(self.turn)
        self.before: list[ast.stmt] = []
        self.lengths: list[ast.expr] = []

    def item(self, source: ast.expr) -> ast.expr:
        """What one turn gets of a source."""
        here = ast.Name(self.turn, ast.Load())
        if _is_call(self.low, source, _WALKS):
            name, given = source.func.id, source.args  # type: ignore[attr-defined]  # a call
            if name == "zip":
                return ast.Tuple([self.item(part) for part in given], ast.Load())
            number = here if len(given) == 1 else ast.BinOp(here, ast.Add(), self._kept(given[1]))
            return ast.Tuple([number, self.item(given[0])], ast.Load())
        if _is_call(self.low, source, {"range": 2}):
            ends = [self._kept(end) for end in source.args]  # type: ignore[attr-defined]  # a call
            if len(ends) == 1:
                self.lengths.append(ends[0])
                return here
            self.lengths.append(ast.BinOp(ends[1], ast.Sub(), ends[0]))
            return ast.BinOp(ends[0], ast.Add(), here)
        kept = self._kept(source)
        self.lengths.append(_call("len", kept))
        return ast.Subscript(kept, here, ast.Load())

    def _kept(self, source: ast.expr) -> ast.Name:
        name = f"{self.hidden}.{len(self.before)}"
        self.low.frame.assigned.add(name)
        self.before.append(_at(self.node, ast.Assign([ast.Name(name, ast.Store())], source)))
        return ast.Name(name, ast.Load())


#: the most arguments that they have here
_WALKS = {"enumerate": 2, "zip": 1024}


def _is_call(low: Lowering, node: ast.expr, most: Mapping[str, int]) -> bool:
    """Whether it is a call of one of these builtins, with no more arguments."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return False
    name = node.func.id
    return 1 <= len(node.args) <= most.get(name, 0) and name not in low.frame.assigned


def by_name(low: Lowering, node: ast.For) -> ast.For:
    """``for a, b in pairs`` as a loop over the pairs, each of which is taken apart."""
    low.instances += 1
    pair = f"%pair.{low.instances}"
    low.frame.assigned.add(pair)
    apart = _at(node, ast.Assign([node.target], ast.Name(pair, ast.Load())))
    body = [apart, *node.body]
    return _at(node, ast.For(ast.Name(pair, ast.Store()), node.iter, body, node.orelse))


def looked_at_once(low: Lowering, node: ast.For) -> ast.For:
    """``for x in m[j[0]]`` with a name for what it goes over: what finds it is lowered once.

    A load that is lowered twice is one that the compiler merges with itself: nobody counts it.
    """
    turned = isinstance(node.iter, ast.Attribute) and node.iter.attr == "T"
    if not turned and not isinstance(node.iter, ast.Subscript):
        return node
    over = holder(low, low.expression(node.iter))
    return _at(node, ast.For(node.target, over, node.body, node.orelse))


def holder(low: Lowering, value: Expr) -> ast.Name:
    """A name that no cell can have, bound to what is lowered already."""
    low.instances += 1
    name = f"%held.{low.instances}"
    low.frame.env[name] = value
    low.frame.assigned.add(name)
    return ast.Name(name, ast.Load())


def _is_array(low: Lowering, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and isinstance(low.expression(node).type, ArrayType)


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
