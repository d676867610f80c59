"""The edits that make a wrong kernel of a right one: those of statements and of whole bodies.

A rule yields what to put in place of a statement, or of a function's body. Some edits leave a
kernel that is still right; `autograder/proof/equivalent_mutants.toml` lists those, each with its
reason.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator, Sequence

from autograder.proof.mutant_scope import (
    Scope,
    is_array,
    is_call,
    named,
    numpy_type,
    pairs,
    parsed,
    parsed_expression,
    renamed,
)
from course.plain.trees import nodes

#: Elements that a store may leave out: the first, one in the middle, the last (None).
LEFT_OUT = (0, 5, None)


StatementRule = Callable[[ast.stmt, Scope], Iterator[list[ast.stmt]]]
Body = Sequence[ast.stmt]
BodyRule = Callable[[Body, Scope], Iterator[list[ast.stmt]]]


def _around(body: list[ast.stmt], of: ast.If | ast.For | ast.While) -> ast.stmt:
    """A loop, or a branch, with another body."""
    changed = copy.copy(of)
    changed.body = body
    return changed


def drop_guard(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """An `if` gives way to its body, and to its `else`."""
    if isinstance(node, ast.If):
        yield node.body
        if node.orelse:
            yield node.orelse


def drop_statement(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """A barrier, an update, a store, a loop or a branch is missing."""
    if isinstance(node, ast.AugAssign | ast.Expr | ast.If | ast.For | ast.While):
        yield []
    if isinstance(node, ast.Assign) and not is_array(node.value):
        yield []


def update_to_assignment(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """`total += x` becomes `total = x`."""
    if isinstance(node, ast.AugAssign):
        yield [ast.Assign([node.target], node.value)]


def half_accumulator(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """An update is rounded to float16."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        old = copy.deepcopy(node.target)
        old.ctx = ast.Load()
        rounded = ast.Call(numpy_type("float16"), [ast.BinOp(old, node.op, node.value)], [])
        yield [ast.Assign([node.target], rounded)]


def plain_atomic(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """An atomic addition becomes `+=`, or a plain store."""
    if isinstance(node, ast.Expr) and is_call(node.value, "add"):
        array, index, value = node.value.args
        target = ast.Subscript(array, index, ast.Store())
        yield [ast.AugAssign(target, ast.Add(), value)]
        yield [ast.Assign([target], value)]


def leave_one_out(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """One element is not written."""
    target = scope.global_store(node)
    array: ast.expr
    index: ast.expr
    if target is not None:
        array, index = target.value, target.slice
    elif isinstance(node, ast.Expr) and is_call(node.value, "add"):
        array, index = node.value.args[:2]
        if ast.unparse(array) not in scope.parameters:
            return
    else:
        return
    axes = index.elts if isinstance(index, ast.Tuple) else [index]
    for axis, place in enumerate(axes):
        for element in LEFT_OUT:
            last = f"{ast.unparse(array)}.shape[{axis}] - 1"
            other = last if element is None else str(element)
            test = parsed_expression(f"{ast.unparse(place)} != {other}")
            yield [ast.If(test, [node], [])]


def store_twice(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """Inputs are read again after a store, which the compiler cannot merge."""
    if scope.global_store(node) is not None and scope.global_load(node):
        yield [node, node]


def load_twice(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """Inputs are read again after a barrier, which the compiler cannot merge."""
    if isinstance(node, ast.Assign) and scope.global_load(node.value):
        yield [node, *parsed("cuda.syncthreads()"), node]


def one_turn(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """A loop ends after its first turn."""
    if isinstance(node, ast.For | ast.While):
        yield [_around([*node.body, ast.Break()], node)]


def swap_names(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """Two names of one statement change places."""
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) or is_array(node):
        return
    for first, second in pairs(node, scope):
        yield [renamed(node, {first: second, second: first})]


def swap_targets(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """`column, row = cuda.grid(2)` becomes `row, column = cuda.grid(2)`."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        names = node.targets[0].elts
        yield [ast.Assign([ast.Tuple(names[::-1], ast.Store())], node.value)]


# ------------------------------------------------------------------ whole bodies


def second_pass(body: Body, scope: Scope) -> Iterator[list[ast.stmt]]:
    """Everything is done twice over, with and without a barrier between."""
    if not scope.kernel:
        return
    arrays = [s for s in body if isinstance(s, ast.Assign) and is_array(s.value)]
    others = [s for s in body if s not in arrays]
    for end in ([], parsed("cuda.syncthreads()")):
        loop = parsed("for again in range(2):\n    pass")[0]
        assert isinstance(loop, ast.For)
        loop.body = [*others, *end]
        yield [*arrays, loop]


def return_early(body: Body, scope: Scope) -> Iterator[list[ast.stmt]]:
    """All threads return before the last statement; one thread, or most of them, at once."""
    if scope.kernel:
        if len(body) > 1:
            yield [*body[:-1], ast.Return(), body[-1]]
        for test in ("cuda.threadIdx.x == 0", "cuda.threadIdx.x >= 4", "cuda.blockIdx.x > 0"):
            yield [*parsed(f"if {test}:\n    return"), *body]


def store_every_turn(body: Body, scope: Scope) -> Iterator[list[ast.stmt]]:
    """What belongs behind a loop stands at the end of its every turn."""
    for number, loop in enumerate(body):
        if isinstance(loop, ast.For | ast.While):
            for last in body[number + 1 :]:
                if any(scope.global_store(s) is not None for s in nodes(last, ast.stmt)):
                    every = _around([*loop.body, last], loop)
                    yield [*body[:number], every, *body[number + 1 :]]
        elif isinstance(loop, ast.If):
            for inside in store_every_turn(loop.body, scope):
                yield [*body[:number], _around(inside, loop), *body[number + 1 :]]


def total_in_memory(body: Body, scope: Scope) -> Iterator[list[ast.stmt]]:
    """A running value lives in the output's element, not in a register."""
    for last in nodes(body, ast.Assign):
        if not isinstance(last.value, ast.Name):
            continue
        target = scope.global_store(last)
        if target is None:
            continue
        changed = [copy.deepcopy(statement) for statement in body]
        for statement in changed:
            _Elsewhere(last.value.id, target).visit(statement)
        yield changed


class _Elsewhere(ast.NodeTransformer):
    """Puts an element in place of a name."""

    def __init__(self, name: str, element: ast.Subscript) -> None:
        self._name = name
        self._element = element

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self._name:
            return node
        element = copy.deepcopy(self._element)
        element.ctx = node.ctx
        return element

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        self.generic_visit(node)
        alike = ast.unparse(node.targets[0]) == ast.unparse(node.value)
        return ast.Pass() if alike else node  # the value is there already


def barrier_inside(body: Body, scope: Scope) -> Iterator[list[ast.stmt]]:
    """A barrier behind an `if` moves into it."""
    for number, (first, second) in enumerate(itertools.pairwise(body)):
        barrier = isinstance(second, ast.Expr) and is_call(second.value, "syncthreads", "syncwarp")
        if isinstance(first, ast.If) and barrier:
            yield [*body[:number], _around([*first.body, second], first), *body[number + 2 :]]
    for number, loop in enumerate(body):
        if isinstance(loop, ast.While):
            for inside in barrier_inside(loop.body, scope):
                yield [*body[:number], _around(inside, loop), *body[number + 1 :]]


STATEMENT_RULES: dict[str, StatementRule] = named(
    *(drop_guard, drop_statement, update_to_assignment, half_accumulator, plain_atomic),
    *(leave_one_out, store_twice, load_twice, one_turn, swap_names, swap_targets),
)
BODY_RULES: dict[str, BodyRule] = named(
    *(second_pass, return_early, store_every_turn, total_in_memory, barrier_inside)
)
