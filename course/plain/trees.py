"""Syntax trees, walked."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)


def walk(tree: ast.AST) -> list[ast.AST]:
    """A node and all below it, level by level: what `ast.walk` gives, in half of its time.

    A check walks a cell's tree dozens of times, which was a tenth of it.
    """
    found = [tree]
    for node in found:  # grows as it is read
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif type(value) is list:
                for one in value:
                    if isinstance(one, ast.AST):
                        found.append(one)
    return found


def nodes(trees: ast.AST | Iterable[ast.AST], *kinds: type[Node]) -> list[Node]:
    """The nodes of some kinds, in a tree or in several."""
    several = [trees] if isinstance(trees, ast.AST) else trees
    return [node for tree in several for node in walk(tree) if isinstance(node, kinds)]


def stored_names(trees: ast.AST | Iterable[ast.AST]) -> set[str]:
    """Names that are assigned anywhere in a tree or in several."""
    return {name.id for name in nodes(trees, ast.Name) if isinstance(name.ctx, ast.Store)}


def covers(node: ast.stmt | ast.expr, line: int) -> bool:
    """Whether a line is one of those that a node stands on."""
    return node.lineno <= line <= (node.end_lineno or 0)
