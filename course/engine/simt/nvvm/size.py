"""How large a loop's body is to NVVM, in its instructions, read off the syntax.

The numbers are those that PTX of NVVM 12.9 shows: of loops that grow by a statement at a time until
they are unrolled by two, and then not at all. Of 1,400 loops drawn at random, a third of which are
not unrolled by four, they tell seven of eight.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from course.engine.simt.lowering.signatures import Function, Namespace
from course.engine.simt.running.turns import length
from course.plain.arithmetic import NoValue
from course.plain.evaluator import Evaluator, is_name
from course.plain.trees import nodes, stored_names, walk

#: A loop is unrolled by four, or by two, up to this size, and else not at all.
MOST_BY_FOUR, MOST_BY_TWO = 45, 88
#: A loop of a known number of turns is written out up to this size of all of them.
MOST_WRITTEN_OUT, MOST_LOOKED_AT = 420, 10
#: A pointer and what lies there; a further dimension of it; whether a computed index is negative.
_ELEMENT, _DIMENSION, _SIGN = 2, 2, 3
#: By a number that the compiler knows: by another, it asks whether that is 0.
_DIVISION, _BY_A_VARIABLE = 7, 12
_CALLS = {
    **dict.fromkeys(("min", "max"), 2),
    "exp": 12,
    "tanh": 18,
    **dict.fromkeys(("atan", "erf", "hypot"), 22),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "expm1", "asin", "acos"), 34),
    # these have loops of their own
    **dict.fromkeys(("sin", "cos", "tan", "pow", "fmod"), math.inf),
}


def written_out(loop: ast.For, turns: int, function: Function) -> bool:
    """Whether NVVM writes all turns of a loop out, whose number it knows.

    Of a few it looks at what becomes a constant then, and takes up to four times as much.
    """
    changed = stored_names([loop])
    size = max(_Body(loop.body, changed, function).size, 1)
    if turns <= MOST_LOOKED_AT:
        left = max(_Body(loop.body, changed - stored_names([loop.target]), function).size, 1)
        return turns * left <= MOST_WRITTEN_OUT * min(size / left, 4)
    return turns * size <= MOST_WRITTEN_OUT


def unrolled_by(loop: ast.For | ast.While, function: Function) -> int:
    """How many turns of an innermost loop NVVM writes as one: four, two or one."""
    size = _Body(loop.body, stored_names([loop]), function).size
    return 4 if size <= MOST_BY_FOUR else 2 if size <= MOST_BY_TWO else 1


class _Body:
    """Statements, and the size of what is another in each turn and does not stand there before."""

    def __init__(self, body: Sequence[ast.stmt], changed: set[str], function: Function) -> None:
        self.changed = changed
        self.function = function
        self.stores = any(isinstance(n.ctx, ast.Store) for n in nodes(body, ast.Subscript))
        self.assigned = stored_names(body)
        self.size = self._block(body, {})

    def _block(self, body: Sequence[ast.stmt], known: dict[str, set[str]]) -> float:
        """`known` are the expressions that stand before, and the names in them."""
        found = 0.0
        for statement in body:
            if isinstance(statement, ast.If):
                found += self._part(statement.test, known)
                found += self._block(statement.body, dict(known))
                found += self._block(statement.orelse, dict(known))
            elif isinstance(statement, ast.For):  # a short one is written out before
                inner = _Body(statement.body, stored_names([statement]), self.function)
                found += (known_turns(statement, self.function) or 1) * inner.size
            else:
                found += self._part(statement, known)
            here = stored_names([statement])
            for text in [text for text, names in known.items() if not names.isdisjoint(here)]:
                del known[text]
        return found

    def _part(self, part: ast.AST, known: dict[str, set[str]]) -> float:
        found = 0.0
        for node in walk(part):
            if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
                text, names = ast.unparse(node), {name.id for name in nodes(node, ast.Name)}
                fixed = self.changed.isdisjoint(names)
                if (fixed and not (self.stores and nodes(node, ast.Subscript))) or text in known:
                    continue
                known[text] = names
            found += _own(node)
            if isinstance(node, ast.Subscript):
                found += _SIGN * sum(self._asks(index, known) for index in _indices(node))
            if (callee := callee_of(node, self.function)) is not None:
                changed = {*callee.parameters, *self.changed}
                found += _Body(callee.body, changed, callee).size
        return found

    def _asks(self, index: ast.expr, known: dict[str, set[str]]) -> bool:
        """Whether it is asked here if an index is negative."""
        names = {name.id for name in nodes(index, ast.Name)}
        text = f"{ast.unparse(index)} < 0"
        plain = isinstance(index, ast.Name) and index.id not in self.assigned
        if plain or isinstance(index, ast.Constant) or text in known:
            return False
        known[text] = names
        return True


def _own(node: ast.AST) -> float:
    """A node's, without what is below it."""
    match node:
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
            return _BY_A_VARIABLE if nodes(node.right, ast.Name) else _DIVISION
        case ast.BinOp() | ast.AugAssign():
            return {ast.Div: 4, ast.Pow: 3}.get(type(node.op), 1)
        case ast.Compare():
            return len(node.ops) + 1  # and what chooses by it
        case ast.UnaryOp():
            return 1
        case ast.Subscript():
            return _ELEMENT + _DIMENSION * (len(_indices(node)) - 1)
        case ast.Call():
            return _CALLS.get(ast.unparse(node.func).rpartition(".")[2], 1)
    return 0


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def known_turns(loop: ast.For, function: Function) -> int | None:
    """Of a loop over a tuple, or a range of constants; 1 over another iterator of these."""
    if isinstance(loop.iter, ast.Tuple):
        return len(loop.iter.elts)
    if not isinstance(loop.iter, ast.Call):
        return None
    try:
        names = {n.id: function.lookup(n.id) for a in loop.iter.args for n in nodes(a, ast.Name)}
        bounds = [Evaluator(names).value(argument) for argument in loop.iter.args]
        return length(range(*bounds)) if is_name(loop.iter.func, "range") else 1
    except (KeyError, NoValue, TypeError, ValueError):
        return None


def callee_of(node: ast.AST, function: Function) -> Function | None:
    """The device function that a call calls."""
    try:
        found = _outside(node.func, function) if isinstance(node, ast.Call) else None
    except KeyError:
        return None
    return found if isinstance(found, Function) else None


def _outside(node: ast.expr, function: Function) -> Any:
    """What a name from outside of a function means, also one of a module: ``helpers.twice``."""
    if isinstance(node, ast.Name):
        return function.lookup(node.id)
    if isinstance(node, ast.Attribute):
        owner = _outside(node.value, function)
        return owner.lookup(node.attr) if isinstance(owner, Namespace) else None
    return None
