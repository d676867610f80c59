"""What stands behind a branch that leaves is the other way through it: so the compiler reads it.

``if x[i] < 0: out[i] = y[i]; continue`` and ``out[i] = x[i] * y[i]`` behind it are both ways of one
branch, as with an ``else``.
"""

from __future__ import annotations

import ast
import copy

from course.plain.trees import nodes


def with_other_ways(body: list[ast.stmt]) -> list[ast.stmt]:
    """A function's body in which such a way is an ``else``; a branch that only leaves has none.

    What stands behind a ``return``, ``break`` or ``continue``, never reached, is no part of it.
    """
    body = _reached(body)
    if not any(_leaves(node, ast.Return, ast.Continue) for node in nodes(body, ast.If)):
        return body
    return _block(body, ast.Return)


def _reached(block: list[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for node in block:
        if isinstance(node, ast.If | ast.For | ast.While):
            node = copy.copy(node)
            node.body, node.orelse = _reached(node.body), _reached(node.orelse)
        made.append(node)
        if _goes_nowhere(node):
            break
    return made


def _goes_nowhere(node: ast.stmt) -> bool:
    if isinstance(node, ast.If) and node.orelse:
        return _goes_nowhere(node.body[-1]) and _goes_nowhere(node.orelse[-1])
    return isinstance(node, ast.Return | ast.Break | ast.Continue)


def _leaves(node: ast.If, *by: type[ast.stmt]) -> bool:
    """Whether a branch without an ``else`` reads or writes something and then leaves."""
    leaves = not node.orelse and isinstance(node.body[-1], by)
    return leaves and bool(nodes(node.body, ast.Subscript))


def _block(block: list[ast.stmt], by: type[ast.stmt], ends_turn: bool = False) -> list[ast.stmt]:
    """A block that `by` leaves; `ends_turn`: behind it the loop's next turn comes."""
    made: list[ast.stmt] = []
    for at, node in enumerate(block):
        node = copy.copy(node)
        last = at == len(block) - 1
        if isinstance(node, ast.For | ast.While):
            node.body = _block(node.body, ast.Continue, True)
        elif isinstance(node, ast.If):
            if not last and _leaves(node, by):
                node.orelse, last = block[at + 1 :], True
            node.body = _block(node.body, by, ends_turn and last)
            node.orelse = _block(node.orelse, by, ends_turn and last)
        elif ends_turn and last and isinstance(node, ast.Continue):
            node = ast.copy_location(ast.Pass(), node)
        made.append(node)
        if last:
            break
    return made
