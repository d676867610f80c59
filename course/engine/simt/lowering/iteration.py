"""What stands for several values: taken apart, gone through in loops over numbers.

Also what Numba itself has in Python, lowered where it is called.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from course.engine.faults import not_measured
from course.engine.simt.lowering.expr import UNKNOWN, Expr, known, tuple_items, tuple_of
from course.engine.simt.lowering.signatures import Function
from course.engine.simt.lowering.types import EnumerateType, IteratorType, RangeType, ZipType
from course.engine.simt.running.lanes import Lanes
from course.plain.evaluator import Ref
from course.plain.trees import walk

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

Node = TypeVar("Node", ast.Assign, ast.For, ast.If)


def iterator(
    low: Lowering, node: ast.AST, type_: type[IteratorType], parts: Sequence[Expr]
) -> Expr:
    """What goes through several things; its key says which it is, and in which loop it was made."""
    for part in parts:
        if isinstance(part.type, IteratorType):
            _begin(low, node, part)
    low.instances += 1
    made = tuple_of(low, list(parts))
    key = ("iterator", low.instances, len(low.loop_nodes))
    return replace(made, type=type_(made.type.items), key=key, const=UNKNOWN)


def _begin(low: Lowering, node: ast.AST, value: Expr) -> None:
    """An iterator gives its values once: to the loop that follows it."""
    key: Any = value.key
    made = isinstance(key, tuple) and key[0] == "iterator"
    if not made or key in low.begun or key[2] != len(low.loop_nodes):
        raise not_measured(node, "iterator")
    low.begun.add(key)


def counted(low: Lowering, node: ast.For, over: Expr) -> list[ast.stmt]:
    """What a loop over an array or an iterator does, as one over a range."""
    if isinstance(over.type, IteratorType):
        _begin(low, node, over)
    low.instances += 1
    walking = _Walk(low, node, f"%each.{low.instances}")
    value = walking.item(over)
    lengths = walking.lengths
    length = lengths[0] if len(lengths) == 1 else call_of(low, "min", *lengths)
    body = [_at(node, ast.Assign([node.target], value)), *node.body]
    loop = ast.For(
        ast.Name(walking.turn, ast.Store()), call_of(low, "range", length), body, node.orelse
    )
    return [*walking.before, _at(node, loop)]


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

    def item(self, source: Expr) -> ast.expr:
        """What one turn gets of a source."""
        here = ast.Name(self.turn, ast.Load())
        if isinstance(source.type, IteratorType):
            parts = unpacked(self.low, source)
            if isinstance(source.type, ZipType):
                return ast.Tuple([self.item(part) for part in parts], ast.Load())
            item = self.item(parts[0])
            if not isinstance(source.type, EnumerateType):
                return item
            counts_from_0 = parts[1].const == 0
            number = here if counts_from_0 else ast.BinOp(here, ast.Add(), self._kept(parts[1]))
            return ast.Tuple([number, item], ast.Load())
        kept = self._kept(source)
        self.lengths.append(call_of(self.low, "len", kept))
        if isinstance(source.type, RangeType):
            return _of_range(source, kept, here)
        return ast.Subscript(kept, here, ast.Load())

    def _kept(self, source: Expr) -> ast.Name:
        name = f"{self.hidden}.{len(self.before)}"
        self.low.frame.assigned.add(name)
        held = ast.Assign([ast.Name(name, ast.Store())], holder(self.low, source))
        self.before.append(_at(self.node, held))
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


def once(low: Lowering, value: Expr) -> tuple[Expr, Expr]:
    """(`value` computed, `value` read again), for an operand that is used twice."""
    if not value.masked:
        return value, value
    low.instances += 1
    holder, run = f"%once.{low.instances}", value.run

    def compute(lanes: Lanes) -> Any:
        lanes.vars[holder] = result = run(lanes)
        return result

    return replace(value, run=compute, items=None), replace(
        value, run=lambda lanes: lanes.vars[holder], masked=False, items=None
    )


def unpacked(low: Lowering, several: Expr) -> list[Expr]:
    """The items of a tuple, or of a range; what computes all of them is run for the first."""
    if several.items is not None:
        return list(several.items)
    first, again = once(low, several)
    return [*tuple_items(low, first)[:1], *tuple_items(low, again)[1:]]


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


def _no_name(name: str) -> Any:
    raise KeyError(name)


def written(low: Lowering, node: ast.expr, text: str, lookup: Callable[[str], Any]) -> Function:
    """A device function of this text, all of it on this line."""
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    for part in walk(definition):
        ast.copy_location(part, node)
    return Function(definition.name, definition, lookup, True, low.frame.function.filename)


def as_written_in_python(
    low: Lowering,
    node: ast.expr,
    text: str,
    arguments: Sequence[Expr],
    lookup: Callable[[str], Any] = _no_name,
) -> Expr:
    """A call of a function that Numba's library has in Python, all of it on this line."""
    function = written(low, node, text, lookup)
    given: list[ast.expr] = [holder(low, argument) for argument in arguments]
    call = ast.Call(holder(low, known(function)), given, [])
    return low.expression(ast.fix_missing_locations(ast.copy_location(call, node)))


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
    Breaks().generic_visit(plain)
    last = ast.If(ast.Name(flag, ast.Load()), node.orelse, [])
    return [_at(node, note(True)), plain, _at(node, last)]
