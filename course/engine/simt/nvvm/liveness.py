"""Which values are used: what is worked out for a value that nothing uses is not worked out.

A backward analysis of a function's text. A name is live at a point where some way from there reads
it before it is set again; a statement that does nothing but set a name that is not live behind it
is dead, and what it reads is not live for its sake.
"""

from __future__ import annotations

import ast

from course.engine.simt.nvvm.work import acts
from course.plain.trees import nodes, stored_names

Names = frozenset[str]
#: What is live behind a `break` and behind a `continue`; None outside of loops.
_Leaving = tuple[Names, Names] | None


class Liveness:
    """The dead statements of a body, and the names that are live where a branch's ways begin.

    Statements and branches are known by identity: by `id` of their nodes.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        self.dead: set[int] = set()
        #: by a branch and whether its condition holds
        self.at_way: dict[tuple[int, bool], Names] = {}
        self._block(body, Names(), None)

    def _block(self, body: list[ast.stmt], live: Names, leaving: _Leaving) -> Names:
        """What is live in front of statements; `leaving` is so behind a `break`, a `continue`."""
        for node in reversed(body):
            live = self._statement(node, live, leaving)
        return live

    def _statement(self, node: ast.stmt, live: Names, leaving: _Leaving) -> Names:
        if isinstance(node, ast.If):
            for holds, way in ((True, node.body), (False, node.orelse)):
                self.at_way[id(node), holds] = self._block(way, live, leaving)
            ways = self.at_way[id(node), True] | self.at_way[id(node), False]
            return ways | loaded_names(node.test)
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, live, leaving)
        if isinstance(node, ast.Break | ast.Continue) and leaving is not None:
            return leaving[isinstance(node, ast.Continue)]
        if isinstance(node, ast.Return | ast.Raise):
            live = Names()
        name = lone_target(node)
        if name is None:
            set_whole = stored_names(node) if isinstance(node, ast.Assign) else set()
            return live - set_whole | loaded_names(node)
        if name not in live:
            self.dead.add(id(node))
            return live
        self.dead.discard(id(node))
        return live - {name} | used_names(node)

    def _loop(self, node: ast.For | ast.While, behind: Names, leaving: _Leaving) -> Names:
        """To a fixed point: what is live in front of a turn is so behind the one before."""
        once, each = Names(), Names()
        own = set[str]()
        if isinstance(node, ast.For):
            once, own = loaded_names(node.iter), stored_names(node.target)
        else:
            each = loaded_names(node.test)
        live, more = None, self._block(node.orelse, behind, leaving) | each
        while more != live:
            live = more
            more = live | (self._block(node.body, live, (behind, live)) - own)
        return more | once


def lone_target(node: ast.stmt) -> str | None:
    """The variable that a statement does nothing but set, if it does nothing else."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.AST = node.targets[0]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
        target = node.target
    else:
        return None
    if not isinstance(target, ast.Name) or any(map(acts, nodes(node, ast.Call))):
        return None
    return target.id


def used_names(node: ast.stmt) -> Names:
    """Names that a statement reads, the one that `+=` adds to among them."""
    target = node.target if isinstance(node, ast.AugAssign) else None
    return loaded_names(node) | ({target.id} if isinstance(target, ast.Name) else Names())


def loaded_names(trees: ast.AST | list[ast.AST]) -> Names:
    """Names that are read anywhere in a tree or in several."""
    return Names(n.id for n in nodes(trees, ast.Name) if isinstance(n.ctx, ast.Load))
