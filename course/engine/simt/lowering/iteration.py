"""Loops over tuples and arrays, and what Numba has in Python, written as loops over numbers."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from course.engine.simt.lowering.expr import Expr, known
from course.engine.simt.lowering.signatures import Function
from course.engine.simt.lowering.types import RangeType
from course.plain.evaluator import Ref

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

Node = TypeVar("Node", ast.Assign, ast.For, ast.If)


def walks(low: Lowering, node: ast.expr) -> bool:
    """Whether it is a call of `enumerate` or `zip`, with arguments that can be gone through."""
    name = _called(low, node)
    most = _WALKS.get(name, 0)
    return isinstance(node, ast.Call) and not node.keywords and 1 <= len(node.args) <= most


#: the most arguments that they have here
_WALKS = {"enumerate": 2, "zip": 1024}


def _called(low: Lowering, node: ast.expr) -> str:
    """The builtin that a call is of, or ''."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return ""
    function = low.expression(node.func).const
    return function.path if isinstance(function, Ref) else ""


def counted(low: Lowering, node: ast.For, over: ast.expr) -> list[ast.stmt]:
    """What a loop over an array, ``enumerate(...)`` or ``zip(...)`` does, as one over a range."""
    low.instances += 1
    walk = _Walk(low, node, f"%each.{low.instances}")
    value = walk.item(over)
    lengths = walk.lengths
    length = lengths[0] if len(lengths) == 1 else call_of(low, "min", *lengths)
    body = [_at(node, ast.Assign([node.target], value)), *node.body]
    loop = ast.For(
        ast.Name(walk.turn, ast.Store()), call_of(low, "range", length), body, node.orelse
    )
    return [*walk.before, _at(node, loop)]


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
        if walks(self.low, source):
            given = source.args  # type: ignore[attr-defined]  # a call
            if _called(self.low, source) == "zip":
                return ast.Tuple([self.item(part) for part in given], ast.Load())
            number = here if len(given) == 1 else ast.BinOp(here, ast.Add(), self._kept(given[1]))
            return ast.Tuple([number, self.item(given[0])], ast.Load())
        value = self.low.value(source)
        kept = self._kept(holder(self.low, value))
        self.lengths.append(call_of(self.low, "len", kept))
        if isinstance(value.type, RangeType):
            return _of_range(value, kept, here)
        return ast.Subscript(kept, here, ast.Load())

    def _kept(self, source: ast.expr) -> ast.Name:
        name = f"{self.hidden}.{len(self.before)}"
        self.low.frame.assigned.add(name)
        self.before.append(_at(self.node, ast.Assign([ast.Name(name, ast.Store())], source)))
        return ast.Name(name, ast.Load())


def _of_range(value: Expr, kept: ast.Name, turn: ast.expr) -> ast.expr:
    """``start + turn * step``, without the 0 and the 1 that most ranges have."""
    start, _, step = value.items or (None, None, None)
    item = turn
    if step is None or step.const != 1:
        item = ast.BinOp(item, ast.Mult(), ast.Attribute(kept, "step", ast.Load()))
    if start is None or start.const != 0:
        item = ast.BinOp(ast.Attribute(kept, "start", ast.Load()), ast.Add(), item)
    return item


def by_name(low: Lowering, node: ast.For) -> ast.For:
    """``for a, b in pairs`` as a loop over the pairs, each of which is taken apart."""
    low.instances += 1
    pair = f"%pair.{low.instances}"
    low.frame.assigned.add(pair)
    apart = _at(node, ast.Assign([node.target], ast.Name(pair, ast.Load())))
    body = [apart, *node.body]
    return _at(node, ast.For(ast.Name(pair, ast.Store()), node.iter, body, node.orelse))


def holder(low: Lowering, value: Expr) -> ast.Name:
    """A name that no cell can have, bound to what is lowered already."""
    low.instances += 1
    name = f"%held.{low.instances}"
    low.frame.env[name] = value
    low.frame.assigned.add(name)
    return ast.Name(name, ast.Load())


def call_of(low: Lowering, name: str, *arguments: ast.expr) -> ast.Call:
    """A call of a builtin, whatever the cell calls so."""
    return ast.Call(holder(low, known(Ref(name))), list(arguments), [])


def as_written_in_python(
    low: Lowering, node: ast.expr, text: str, arguments: Sequence[Expr]
) -> Expr:
    """A call of a function that Numba's library has in Python, all of it on this line."""
    written = ast.parse(text).body[0]
    assert isinstance(written, ast.FunctionDef)
    for part in ast.walk(written):
        ast.copy_location(part, node)
    function = Function(written.name, written, _no_name, True, low.frame.function.filename)
    given: list[ast.expr] = [holder(low, argument) for argument in arguments]
    call = ast.Call(holder(low, known(function)), given, [])
    return low.expression(ast.fix_missing_locations(ast.copy_location(call, node)))


def _no_name(name: str) -> Any:
    raise KeyError(name)


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
