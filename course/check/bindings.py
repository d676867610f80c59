"""Where the names of a function come from: which statement gave them their value at a line.

The text is read and nothing of it executed. A name that more than one statement may have made, as
a count that a loop moves on, has no single origin.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeGuard

from course.check.kernel_text import DEEPEST, item_of, path_of, range_of
from course.plain.evaluator import is_name
from course.plain.trees import covers, nodes, walk

Loop = ast.For | ast.While
#: Parts of an expression with all its names written out: no honest index has more.
MOST_PARTS = 400


@dataclass(frozen=True)
class Origin:
    """What gave a name its value: None for a parameter or what stands outside the function.

    `carried`: a loop around the line may have changed it since.
    """

    statement: ast.stmt | None
    carried: bool


class TooLong(Exception):
    """An expression whose names, written out, have no end."""


class Bindings:
    """The names of one function."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        self._parents = {
            child: node for node in walk(function) for child in ast.iter_child_nodes(node)
        }
        self._of: dict[str, list[ast.stmt]] = {}
        self._origins: dict[tuple[str, ast.stmt], Origin] = {}
        #: the block that each statement stands in, and its place there
        self._places: dict[ast.stmt, tuple[int, int]] = {}
        for node in walk(function):
            for field in ("body", "orelse"):
                block = getattr(node, field, None)
                for number, one in enumerate(block if isinstance(block, list) else ()):
                    self._places[one] = (id(block), number)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._of.setdefault(node.id, []).append(self.statement_of(node))

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around a node."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def assigned(self, name: ast.Name) -> ast.expr | None:
        """What a name was assigned that is used there; None for what no one assignment gave."""
        made = self.origin(name.id, name).statement
        return None if made is None else value_of(made, name)

    def followed(self, node: ast.expr) -> ast.expr:
        """What a name was assigned, where it is one and that is known."""
        return (self.assigned(node) if isinstance(node, ast.Name) else None) or node

    def fixed(self, node: ast.expr) -> ast.expr | None:
        """What a name stands for by way of others; None where that is not known or a loop's."""
        while isinstance(node, ast.Name):
            found = self.origin(node.id, node)
            value = None if found.statement is None else value_of(found.statement, node)
            if value is None or found.carried:
                return None
            node = value
        return node

    def around(self, node: ast.AST) -> list[ast.stmt]:
        """The statements around a node, the innermost first."""
        found: list[ast.stmt] = []
        up: ast.AST | None = node
        while up is not None and up is not self.function:
            if isinstance(up, ast.stmt):
                found.append(up)
            up = self._parents.get(up)
        return found

    def loops(self, node: ast.AST) -> list[Loop]:
        """The loops around a node, the innermost first; a loop's own range is outside of it."""
        around = self.around(node)
        first = around[0] if around else None
        return [one for one in around if isinstance(one, Loop) and one is not first]

    def parting(self, one: ast.AST, other: ast.AST) -> ast.If | None:
        """The `if` of whose two ways each holds one of two nodes: no thread takes both at once."""
        ways = {around: self._places[inside][0] for inside, around in pairwise(self.around(one))}
        for inside, around in pairwise(self.around(other)):
            if isinstance(around, ast.If) and around in ways:
                return None if ways[around] == self._places[inside][0] else around
        return None

    def origin(self, name: str, node: ast.AST) -> Origin:
        """Where a name that stands in `node` got its value."""
        made = self._of.get(name, [])
        if not made:
            return Origin(None, False)
        around = self.around(node)
        here = around[0]
        if (name, here) not in self._origins:
            self._origins[name, here] = self._origin(made, around)
        return self._origins[name, here]

    def _origin(self, made: list[ast.stmt], around: list[ast.stmt]) -> Origin:
        here = around[0]
        before = [s for s in made if self._reaches(s, around)]
        last = max(before, key=lambda s: s.lineno, default=None)
        inside: set[ast.stmt] = set() if last is None else set(self.around(last))
        loops = [s for s in around if isinstance(s, Loop) and s is not last and s not in inside]
        carried = any(
            other is not last
            and (
                any(loop in self.around(other) for loop in loops)
                or (0 if last is None else last.lineno) < other.lineno < here.lineno
            )
            for other in made
        )
        return Origin(last, carried)

    def _reaches(self, made: ast.stmt, around: list[ast.stmt]) -> bool:
        """Whether a statement has run whenever the innermost of `around` is reached."""
        if isinstance(made, Loop):
            return made in around[1:]
        block, number = self._places[made]
        return any(self._places[s][0] == block and number < self._places[s][1] for s in around)

    # ------------------------------------------------------------ what an expression is made of

    def changes(self, node: ast.AST, loop: Loop) -> bool:
        """Whether an expression may be another one in the next turn of a loop around it."""
        waiting: list[ast.AST] = [node]
        seen: set[tuple[str, ast.stmt]] = set()
        while waiting:
            for one in nodes(waiting.pop(), ast.Name):
                if one.id not in self._of:
                    continue
                found = self.origin(one.id, one)
                made = found.statement
                if found.carried or made is loop:
                    return True
                if made is None or (one.id, made) in seen or loop not in self.around(made):
                    continue
                seen.add((one.id, made))
                if isinstance(made, ast.AugAssign):
                    return True
                value = made.iter if isinstance(made, ast.For) else value_of(made, one)
                if value is None:
                    return True
                waiting.append(value)
        return False

    def written_out(self, node: ast.expr, first_turn: bool = False) -> ast.expr | None:
        """With each name replaced by what it was made of; None where that cannot be told.

        A loop's count becomes its range or, with `first_turn`, where it starts.
        """
        try:
            return self._out(node, first_turn, [0], 0)
        except TooLong:
            return None

    def _out(self, node: ast.expr, first_turn: bool, parts: list[int], depth: int) -> ast.expr:
        bindings = self

        class Replace(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                parts[0] += 1
                if parts[0] > MOST_PARTS or depth > DEEPEST:
                    raise TooLong
                original = sources.get(id(name), name)
                found = bindings.origin(original.id, original)
                made = found.statement
                if made is None and not found.carried:
                    return name
                if made is None or (found.carried and not first_turn):
                    raise TooLong
                if isinstance(made, ast.For):
                    span = range_of(made)
                    if span is None:
                        raise TooLong
                    if first_turn:
                        return bindings._out(span[0], first_turn, parts, depth + 1)
                    ends = [bindings._out(end, first_turn, parts, depth + 1) for end in span]
                    bounds = map(ast.unparse, ends)
                    return ast.Name(f"each({', '.join(bounds)})", ast.Load())
                value = value_of(made, original)
                if value is None:
                    raise TooLong
                return bindings._out(value, first_turn, parts, depth + 1)

        copied = copy.deepcopy(node)
        pairs = zip(walk(copied), walk(node), strict=True)
        sources = {id(a): b for a, b in pairs if isinstance(b, ast.Name)}
        done = Replace().visit(copied)
        assert isinstance(done, ast.expr)
        return ast.fix_missing_locations(done)


def value_of(made: ast.stmt, name: ast.Name) -> ast.expr | None:
    """What a statement assigns to a name, where it is an assignment."""
    if isinstance(made, ast.AnnAssign):
        return made.value
    if isinstance(made, ast.AugAssign):
        before = made.target if isinstance(made.target, ast.Name) else None
        return None if before is None else ast.BinOp(before, made.op, made.value)
    if not isinstance(made, ast.Assign):
        return None
    for target in made.targets:
        if is_name(target, name.id):
            return made.value
        if isinstance(target, ast.Tuple):
            for number, one in enumerate(target.elts):
                if is_name(one, name.id):
                    return item_of(made.value, number)
    return None


def function_at(tree: ast.Module, line: int) -> ast.FunctionDef | None:
    """The function of a cell that holds a line."""
    functions = (one for one in tree.body if isinstance(one, ast.FunctionDef))
    return next((one for one in functions if covers(one, line)), None)


def called(node: ast.AST, *names: str) -> TypeGuard[ast.Call]:
    """Whether it calls a function of one of these names: `program_id` for `tl.program_id(0)`."""
    return isinstance(node, ast.Call) and path_of(node.func).rpartition(".")[2] in names


def program_axis(node: ast.AST) -> int | None:
    """The axis of ``tl.program_id(axis)``; None of anything else."""
    if not called(node, "program_id"):
        return None
    given = next(iter([*node.args, *(keyword.value for keyword in node.keywords)]), None)
    return given.value if isinstance(given, ast.Constant) and type(given.value) is int else None


def loops_of(tree: ast.AST) -> list[Loop]:
    """The loops of a function or a cell."""
    return [node for node in walk(tree) if isinstance(node, Loop)]
