"""Loads that the compiler makes later: in the one way through a branch that uses their values.

``v = x[i]; w = y[i]`` and ``if v > limit: out[i] = w`` load `y` behind the branch, in the lanes
that take it. A value goes down past what neither stores to global memory nor waits, into no loop,
and from branch to branch as far as it is used in one way alone. What the text does in front of the
branch it does there still (its index is checked, its element may be a race); it is counted later.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from course.engine.simt.lowering.signatures import Function
from course.engine.simt.nvvm.liveness import Liveness, loaded_names, lone_target, used_names
from course.engine.simt.nvvm.work import acts, as_choices, branches, is_dear
from course.plain.evaluator import is_name
from course.plain.trees import nodes, stored_names

#: A branch, by identity, and whether its condition holds.
Way = tuple[int, bool]
_LEAVES = (ast.Return, ast.Break, ast.Continue)
#: What makes memory that is not global: ``cuda.shared.array``, ``cuda.local.array``.
_OWN_MEMORY = ("shared.array", "local.array")


@dataclass
class _Value:
    """What a statement works out, on its way down."""

    node: ast.stmt
    name: str
    #: elements that it loads, as they are written, and the names in them
    elements: Counter[str]
    inputs: frozenset[str]
    #: statements behind it, by identity, that read it
    users: set[int] = field(default_factory=set)
    #: whether its name has another value since
    is_over: bool = False


class Sinking:
    """Where the loads of a function's statements are made, these by identity.

    Attributes:
        function: whose statements they are.
        dead: statements whose loads are not made at all.
        later: the ways at whose start a statement's loads are made.
    """

    def __init__(self, function: Function) -> None:
        self.later: dict[int, Way] = {}
        body = function.body
        self.function, self._live = function, Liveness(body)
        self.dead = self._live.dead
        self._elements = _elements(body)
        self._own = {
            name
            for node in nodes(body, ast.Assign)
            if isinstance(node.value, ast.Call) and _is_declared(node.value)
            for name in stored_names(node)
        }
        self._block(body, [])

    def _block(self, body: list[ast.stmt], values: list[_Value]) -> None:
        """Takes `values`, which are worked out at its start, and its own as far as they go."""
        for at, node in enumerate(body):
            if id(node) in self.dead:
                continue
            if isinstance(node, ast.If) and _is_branch(node):
                then, other = [*node.body], [*node.orelse]
                leaving = [bool(way) and isinstance(way[-1], _LEAVES) for way in (then, other)]
                if any(leaving):  # what stands behind belongs to the way that goes on
                    (other if leaving[0] else then).extend(body[at + 1 :])
                for holds, way in ((True, then), (False, other)):
                    self._block(way, self._taken(node, holds, way, values))
                if any(leaving):
                    return
                values = []
            elif isinstance(node, ast.For | ast.While):
                self._block(node.body, [])
                self._block(node.orelse, [])
                values = []
            elif self._stores(node):
                values = []
            else:
                values = _behind(values, node)

    def _taken(
        self, branch: ast.If, holds: bool, way: list[ast.stmt], values: Sequence[_Value]
    ) -> list[_Value]:
        """The values that are used in this way through a branch alone, in order."""
        into, other = (self._live.at_way[id(branch), one] for one in (holds, not holds))
        taken: list[_Value] = []
        if edges_of(branch.test)[not holds] > 1:
            return taken
        needed = loaded_names(branch.test) | other
        elsewhere = self._elements - _elements(way)
        for value in reversed(values):
            users = {id(one.node) for one in taken}
            is_read = not value.is_over and value.name in into
            stays = not value.is_over and value.name in needed
            again = any(elsewhere[one] > count for one, count in value.elements.items())
            alone = not stays and not again and value.users <= users
            if alone and (is_read or value.users):
                taken.append(value)
                self.later[id(value.node)] = id(branch), holds
        return taken[::-1]

    def _stores(self, node: ast.stmt) -> bool:
        """Whether a statement may change global memory, or is of a kind that is not looked at."""
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.If | ast.Pass):
            return not isinstance(node, ast.Expr) or bool(nodes(node, ast.Call))
        if any(acts(call) and not _is_declared(call) for call in nodes(node, ast.Call)):
            return True
        changed = [n for n in nodes(node, ast.Subscript) if isinstance(n.ctx, ast.Store)]
        return not all(any(is_name(n.value, own) for own in self._own) for n in changed)


def _behind(values: list[_Value], node: ast.stmt) -> list[_Value]:
    """The values that can still go down behind a statement, its own among them."""
    used, changed = used_names(node), stored_names(node)
    kept = []
    for value in values:
        if not value.is_over and value.name in used:
            value.users.add(id(node))
        if value.name in changed:
            value.is_over = True
        if not value.inputs & changed:
            kept.append(value)
    name = lone_target(node)
    chooses = nodes(node, ast.IfExp, ast.BoolOp)
    if name is not None and not any(map(is_dear, nodes(chooses, ast.AST))):
        elements = nodes(node, ast.Subscript)
        kept.append(_Value(node, name, _elements([node]), loaded_names([*elements])))
    return kept


def _is_declared(call: ast.Call) -> bool:
    """Whether a call makes memory that is not global, which takes no time."""
    return ast.unparse(call.func).endswith(_OWN_MEMORY)


def _elements(trees: Sequence[ast.AST]) -> Counter[str]:
    """How often each element is read, as it is written."""
    return Counter(
        ast.unparse(one)
        for one in nodes(trees, ast.Subscript)
        if not isinstance(one.ctx, ast.Store)
    )


def _is_branch(node: ast.If) -> bool:
    """Whether the compiler makes a branch of an `if`, and no choice between values."""
    if as_choices(node):
        return False
    ways = [*node.body, *node.orelse]
    return bool(nodes(ways, ast.For, ast.While, *_LEAVES)) or branches(node.body, node.orelse)


def edges_of(test: ast.expr) -> tuple[int, int]:
    """By how many ways a condition comes to its true and to its false side."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        true, false = edges_of(test.operand)
        return false, true
    if not isinstance(test, ast.BoolOp):
        return 1, 1
    rest = nodes(test.values[1:], ast.AST)
    if not any(map(is_dear, rest)):  # all are worked out
        return 1, 1
    sides = [edges_of(value) for value in test.values]
    met, failed = [side[0] for side in sides], [side[1] for side in sides]
    return (met[-1], sum(failed)) if isinstance(test.op, ast.And) else (sum(met), failed[-1])
