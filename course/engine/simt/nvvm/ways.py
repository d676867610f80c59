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
    if any(_leaves(node, ast.Return, ast.Continue) for node in nodes(body, ast.If)):
        body = _reached(_block(body, ast.Return))
    return body


def _reached(block: list[ast.stmt], ends_turn: bool = False) -> list[ast.stmt]:
    """A block without what is never reached; where it `ends_turn` a last ``continue`` is none."""
    end = next((at for at, node in enumerate(block) if _goes_nowhere(node)), len(block) - 1)
    made: list[ast.stmt] = []
    for at, node in enumerate(block[: end + 1]):
        last = ends_turn and at == end
        if isinstance(node, ast.If | ast.For | ast.While):
            node = copy.copy(node)
            inside = last if isinstance(node, ast.If) else True
            node.body, node.orelse = _reached(node.body, inside), _reached(node.orelse, last)
        elif last and isinstance(node, ast.Continue):
            node = ast.copy_location(ast.Pass(), node)
        made.append(node)
    return made


def _goes_nowhere(node: ast.stmt) -> bool:
    if isinstance(node, ast.If) and node.orelse:
        return _goes_nowhere(node.body[-1]) and _goes_nowhere(node.orelse[-1])
    return isinstance(node, ast.Return | ast.Break | ast.Continue)


def _leaves(node: ast.If, *by: type[ast.stmt]) -> bool:
    """Whether a branch without an ``else`` reads or writes something and then leaves."""
    leaves = not node.orelse and isinstance(node.body[-1], by)
    return leaves and bool(nodes(node.body, ast.Subscript))


def _block(block: list[ast.stmt], by: type[ast.stmt]) -> list[ast.stmt]:
    """A block that `by` leaves."""
    made: list[ast.stmt] = []
    for at, node in enumerate(block):
        node = copy.copy(node)
        last = at == len(block) - 1
        if isinstance(node, ast.For | ast.While):
            node.body = _block(node.body, ast.Continue)
        elif isinstance(node, ast.If):
            if not last and _leaves(node, by):
                node.orelse, last = block[at + 1 :], True
            node.body, node.orelse = _block(node.body, by), _block(node.orelse, by)
        made.append(node)
        if last:
            break
    return made
