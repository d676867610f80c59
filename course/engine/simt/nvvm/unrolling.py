"""What the compiler makes of a loop, read off its syntax: how it counts, how it unrolls.

NVVM unrolls a small innermost loop by four or two, with the turns that remain before or behind;
lanes of one warp that turn differently often are then in different parts at a time. A short loop
of a known number of turns is written out. Both were read off an H200
(`course/tests/engine/hardware`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course.engine.simt.lowering.signatures import Function
from course.engine.simt.lowering.types import ArrayType, is_integer
from course.engine.simt.nvvm.sinking import edges_of
from course.engine.simt.nvvm.size import callee_of, known_turns, unrolled_by, written_out
from course.engine.simt.nvvm.work import acts
from course.engine.simt.running.turns import Unroll
from course.plain.evaluator import is_name
from course.plain.trees import nodes, stored_names, walk

#: calls that all lanes of a warp must make together: a loop with one keeps its turns whole
_TOGETHER = ("sync", "shfl", "ballot", "all_sync", "any_sync", "activemask", "match")


@dataclass(frozen=True)
class Counting:
    """``while left < right: ...; left += step``."""

    name: str
    left: ast.expr
    right: ast.expr
    step: ast.expr
    up: bool
    equal: bool
    down: bool  # the variable is decreased by `step`


def counting(node: ast.While) -> Counting | None:
    """How a `while` loop counts, or None where its number of turns is not known before."""
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    operation = test.ops[0]
    if not isinstance(test.left, ast.Name) or not isinstance(
        operation, ast.Lt | ast.LtE | ast.Gt | ast.GtE
    ):
        return None
    name = test.left.id
    if nodes(node.body, ast.Continue, ast.Break, ast.Return):
        return None
    changed = stored_names(node.body)
    steps = [s for s in node.body if isinstance(s, ast.AugAssign) and is_name(s.target, name)]
    if len(steps) != 1 or sum(_is_stored(n, name) for n in nodes(node.body, ast.AST)) != 1:
        return None
    step = steps[0]
    if not isinstance(step.op, ast.Add | ast.Sub):
        return None
    fixed = [test.comparators[0], step.value]
    if any(is_name(n, other) for e in fixed for n in walk(e) for other in changed):
        return None
    if not all(map(_is_extent, nodes(fixed[0], ast.Subscript))):
        return None
    return Counting(
        name,
        test.left,
        test.comparators[0],
        step.value,
        isinstance(operation, ast.Lt | ast.LtE),
        isinstance(operation, ast.LtE | ast.GtE),
        isinstance(step.op, ast.Sub),
    )


def unroll_mode(
    node: ast.For | ast.While, function: Function, env: Mapping[str, Any], constant_start: bool
) -> Unroll:
    """How a loop is unrolled whose number of turns is not known.

    The remainder comes last where some whole number of the loop starts from a constant.
    """
    for inner in nodes(node.body, ast.AST):
        if isinstance(inner, ast.Break | ast.Return | ast.While):
            return Unroll()
        if isinstance(inner, ast.For) and known_turns(inner, function) is None:
            return Unroll()
        if isinstance(inner, ast.Call) and _keeps_whole(inner, function):
            return Unroll()
    counts_from_constant = constant_start or any(
        name in env and isinstance(env[name].const, int) and is_integer(env[name].type)
        for name in stored_names(node.body)
    )
    return Unroll(unrolled_by(node, function), not counts_from_constant)


def is_asked_first(node: ast.For) -> bool:
    """Whether each turn begins with the question whether there is one, as the source has it.

    LLVM puts it at a turn's end, and once in front of the loop (LoopRotate), and loads there what
    no turn changes. It leaves a loop as it is whose turn ends in a branch that leaves: the block
    that goes back has two ways already; nor is such a loop written out or unrolled. CPython has
    done it to a `while`.
    """
    return _last_way_out(node) is not None


def _last_way_out(node: ast.For) -> list[ast.stmt] | None:
    """The way through a branch at a turn's end that leaves the loop; the other one goes back."""
    last = node.body[-1]
    if not isinstance(last, ast.If) or nodes(node.body, ast.Continue):
        return None
    ways, back = (last.body, last.orelse), edges_of(last.test)[::-1]
    for way, other, edges in zip(ways, ways[::-1], back, strict=True):
        if way and isinstance(way[-1], ast.Break | ast.Return) and edges == 1:
            if all(isinstance(statement, ast.Pass) for statement in other):
                return way
    return None


def has_own_exit(node: ast.For) -> bool:
    """Whether the branch with which a turn leaves the loop goes elsewhere than the last turn.

    Then LLVM knows of a first turn that is known to be made (it asks that of the one block behind
    the question, `CanProveNotTakenFirstIteration`), and loads ahead all the same.
    """
    way = _last_way_out(node)
    return way is not None and (isinstance(way[-1], ast.Return) or bool(nodes(way, ast.Subscript)))


def leaves_late(node: ast.If, loop: ast.For | ast.While | None, function: Function) -> bool:
    """Whether lanes that take a branch out of a loop run it together, behind the loop.

    A branch that ends in `break` or `return` is no part of the loop for the compiler: lanes
    that take it in different turns meet there. A loop with atomics or barriers is left alone;
    one of a known number of turns is written out, so that each turn has a branch of its own. A
    `return` that the compiler has no place behind the loop for, as other code stands there, is made
    in each turn of a loop that it does not turn round (`is_asked_first`).
    """
    if loop is None or not isinstance(node.body[-1], ast.Break | ast.Return):
        return False
    if nodes(node.body, ast.Continue):  # which does not leave it
        return False
    if isinstance(loop, ast.For):
        asked_first = is_asked_first(loop)
        if not asked_first and known_turns(loop, function) is not None:
            return False
        if asked_first and isinstance(node.body[-1], ast.Return) and not _ends(function.body, loop):
            return False
    if not nodes(node.body, ast.Subscript):
        return False
    calls = nodes(loop.body, ast.Call)
    return not any(acts(call) for call in calls if ast.unparse(call.func) != "range")


def _ends(block: list[ast.stmt], loop: ast.For) -> bool:
    """Whether nothing stands behind a loop."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return _ends(last.body, loop) or _ends(last.orelse, loop)
    return last is loop


def full_turns(node: ast.For, turns: int, function: Function, env: Mapping[str, Any]) -> bool:
    """Whether a loop of known turns is written out turn by turn.

    That matters only where the turns load the same elements of global memory.
    """
    inside = nodes(node.body, ast.AST)
    if not turns or any(
        isinstance(n, ast.Break | ast.Continue | ast.Return | ast.While) for n in inside
    ):
        return False
    if not any(isinstance(n, ast.Subscript) and _is_global(n.value, env) for n in inside):
        return False
    return written_out(node, turns, function)


def _is_extent(node: ast.Subscript) -> bool:
    """``A.shape[k]``, which no turn changes."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _is_stored(node: ast.AST, name: str) -> bool:
    return is_name(node, name) and isinstance(node.ctx, ast.Store)  # type: ignore[attr-defined]


def _is_global(node: ast.expr, env: Mapping[str, Any]) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    binding = env.get(node.id) if isinstance(node, ast.Name) else None
    return (
        binding is not None
        and isinstance(binding.type, ArrayType)
        and (binding.type.memory == "global")
    )


def _keeps_whole(call: ast.Call, function: Function) -> bool:
    """Whether a call in a loop's body keeps the compiler from unrolling the loop."""
    text = ast.unparse(call.func)
    if any(word in text for word in _TOGETHER):
        return True
    callee = callee_of(call, function)
    return callee is not None and bool(nodes(callee.body, ast.For, ast.While))
