"""How large a loop's body is to NVVM, in its instructions, read off the syntax.

The numbers are those that PTX of NVVM 12.9 shows: of loops that grow by a statement at a time until
they are unrolled by two, and then not at all. Of 1,400 loops drawn at random, a third of which are
not unrolled by four, they tell seven of eight.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from course.engine.simt.lowering.signatures import Function
from course.engine.simt.running.turns import length
from course.plain.arithmetic import NoValue
from course.plain.evaluator import Evaluator, is_name
from course.plain.trees import nodes, walk

#: A loop is unrolled by four, or by two, up to this size, and else not at all.
MOST_BY_FOUR, MOST_BY_TWO = 46, 88
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
    changed = _stored([loop])
    size = max(_size(loop.body, changed, function), 1)
    if turns <= MOST_LOOKED_AT:
        left = max(_size(loop.body, changed - _stored([loop.target]), function), 1)
        return turns * left <= MOST_WRITTEN_OUT * min(size / left, 4)
    return turns * size <= MOST_WRITTEN_OUT


def unrolled_by(loop: ast.For | ast.While, function: Function) -> int:
    """How many turns of an innermost loop NVVM writes as one: four, two or one."""
    size = _size(loop.body, _stored([loop]), function)
    return 4 if size <= MOST_BY_FOUR else 2 if size <= MOST_BY_TWO else 1


def _size(body: Sequence[ast.stmt], changed: set[str], function: Function) -> float:
    """Of what is another in each turn, and does not stand there before."""
    found, known = 0.0, dict[str, set[str]]()
    stores = any(isinstance(n.ctx, ast.Store) for n in nodes(body, ast.Subscript))
    for part in _in_order(body):
        if isinstance(part, ast.For):  # a short one is written out before
            inner = _size(part.body, _stored([part]), function)
            found += _turns(part, function) * inner
            continue
        for node in walk(part):
            if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
                text, names = ast.unparse(node), {name.id for name in nodes(node, ast.Name)}
                fixed = changed.isdisjoint(names) and not (stores and nodes(node, ast.Subscript))
                if fixed or text in known:
                    continue
                known[text] = names
            found += _own(node)
            if (callee := _callee(node, function)) is not None:
                found += _size(callee.node.body, {*callee.parameters, *changed}, callee)
        here = _stored([part])
        known = {text: names for text, names in known.items() if names.isdisjoint(here)}
    return found


def _in_order(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Statements, and the conditions of branches before what stands under them."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield statement.test
            yield from _in_order(statement.body)
            yield from _in_order(statement.orelse)
        else:
            yield statement


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
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            computed = sum(isinstance(index, ast.BinOp) for index in indices)
            return _ELEMENT + _DIMENSION * (len(indices) - 1) + _SIGN * computed
        case ast.Call():
            return _CALLS.get(ast.unparse(node.func).rpartition(".")[2], 1)
    return 0


def _stored(body: Sequence[ast.AST]) -> set[str]:
    return {n.id for n in nodes(body, ast.Name) if isinstance(n.ctx, ast.Store)}


def _turns(loop: ast.For, function: Function) -> int:
    """Of a loop over a tuple or a range of constants; 1 of another, which stands there once."""
    if isinstance(loop.iter, ast.Tuple):
        return len(loop.iter.elts)
    if not (isinstance(loop.iter, ast.Call) and is_name(loop.iter.func, "range")):
        return 1
    try:
        names = {n.id: function.lookup(n.id) for a in loop.iter.args for n in nodes(a, ast.Name)}
        return length(range(*map(Evaluator(names).value, loop.iter.args)))
    except (KeyError, NoValue, TypeError, ValueError):
        return 1


def _callee(node: ast.AST, function: Function) -> Function | None:
    """The device function that a call calls."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return None
    try:
        found = function.lookup(node.func.id)
    except KeyError:
        return None
    return found if isinstance(found, Function) else None
