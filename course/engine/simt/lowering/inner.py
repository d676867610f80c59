"""What a kernel's text writes out of itself: `match`, and functions that stand inside it.

Numba inlines a lambda and a function inside a kernel where it is called, and Python's own
compiler makes comparisons of a `match` on numbers. So both are written out here, as a reader would:
a `match` as `if` and `else`, an inner function as a device function that is passed the kernel's
variables which it reads. What cannot be written out so stays, and lowering refuses it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from course.engine.simt.lowering.signatures import Function
from course.plain.evaluator import is_name
from course.plain.trees import nodes, stored_names

_WRITTEN = (ast.Match, ast.Lambda, ast.FunctionDef)
#: Functions inside one kernel, and variables that one of them reads: with more, a reader of the
#: tree would take long.
_MOST_INNER, _MOST_READ = 16, 32
#: What an inner function does not hold, where it is to stand beside its kernel.
_NOT_BESIDE = (ast.Nonlocal, ast.Global, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)


def written_out(function: Function) -> Function:
    """The function without `match` and inner functions, as far as these can be written out."""
    inside = [type(part) for part in nodes(function.node.body, ast.AST)]
    if not any(kind in _WRITTEN for kind in inside):
        return function
    node = copy.deepcopy(function.node)
    _Matches().generic_visit(node)
    inner: dict[str, Function] = {}

    def lookup(name: str) -> Any:
        return inner[name] if name in inner else function.lookup(name)

    outer = replace(function, node=node, lookup=lookup)

    def beside(found: ast.FunctionDef) -> bool:
        """Lets it stand beside its kernel, where it can."""
        if not _is_plain(found) or not _set_beside(found, outer):
            return False
        made = Function(found.name, found, lookup, True, function.filename, inner=True)
        inner[found.name] = written_out(made)
        return True

    if inside.count(ast.Lambda) + inside.count(ast.FunctionDef) > _MOST_INNER:
        return outer
    for block in _blocks(node):
        for place in range(len(block)):
            found = _definition(block[place])
            if found and _is_inner(found, node, block[place + 1 :]) and beside(found):
                block[place] = ast.copy_location(ast.Pass(), block[place])
    for call in _calls_of_lambdas(node):
        value, name = call.func, f"lambda_{call.lineno}_{call.col_offset}"
        assert isinstance(value, ast.Lambda)
        call.func = ast.copy_location(ast.Name(name, ast.Load()), value)
        if not beside(_function(name, value)):
            call.func = value
    return outer


# ---------------------------------------------------------------- functions


def _blocks(node: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a function, its inner functions' own left out."""
    waiting = [node.body]
    while waiting:
        block = waiting.pop(0)
        yield block
        for statement in block:
            if not isinstance(statement, ast.FunctionDef):
                waiting += [getattr(statement, name, []) for name in ("body", "orelse")]


def _definition(statement: ast.stmt) -> ast.FunctionDef | None:
    """What ``f = lambda x: ...`` and ``def f(x): ...`` define."""
    if isinstance(statement, ast.FunctionDef):
        return statement
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Lambda):
        return None
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return None
    return _function(target.id, statement.value)


def _function(name: str, value: ast.Lambda) -> ast.FunctionDef:
    """``def name(x): return ...`` of ``lambda x: ...``."""
    result = ast.copy_location(ast.Return(value.body), value.body)
    return ast.copy_location(ast.FunctionDef(name, value.args, [result], []), value)


def _calls_of_lambdas(node: ast.AST) -> list[ast.Call]:
    """``(lambda x: x + 1)(a[i])``, but those in functions inside this one."""
    found, waiting = [], list(ast.iter_child_nodes(node))
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Lambda) and not part.keywords:
            found.append(part)
        if not isinstance(part, ast.Lambda | ast.FunctionDef):
            waiting += ast.iter_child_nodes(part)
    return found


def _is_plain(found: ast.FunctionDef) -> bool:
    """Whether a function can stand beside its kernel."""
    return not nodes(found.body, *_NOT_BESIDE)


def _is_inner(found: ast.FunctionDef, outer: ast.FunctionDef, behind: list[ast.stmt]) -> bool:
    """Whether all that is done with a function is to call it, behind its definition."""
    again = [n for n in nodes(outer, ast.FunctionDef) if n.name == found.name]
    bound = [n for n in nodes(outer, ast.arg) if n.arg == found.name]
    uses = [n for n in nodes(outer, ast.Name) if n.id == found.name]
    stored = sum(isinstance(n.ctx, ast.Store) for n in uses)
    calls = [
        part
        for part in nodes(behind, ast.Call)
        if is_name(part.func, found.name) and not part.keywords
    ]
    once = len(again) + stored == 1 and not bound and len(uses) - stored == len(calls)
    return bool(calls) and once and not found.decorator_list


def _set_beside(found: ast.FunctionDef, outer: Function) -> bool:
    """Gives the function the kernel's variables that it reads, and each call of it, too; whether
    they are few.
    """
    own = {a.arg for a in found.args.args} | stored_names(found.body)
    read = {n.id for n in nodes(found.body, ast.Name)} - own
    passed = sorted(read & (set(outer.parameters) | stored_names(outer.node.body)))
    if len(passed) > _MOST_READ:
        return False
    found.args.args[:0] = [ast.copy_location(ast.arg(name), found) for name in passed]
    for part in nodes(outer.node, ast.Call):
        if is_name(part.func, found.name):
            part.args[:0] = [ast.copy_location(ast.Name(n, ast.Load()), part) for n in passed]
    return True


# ---------------------------------------------------------------- match


class _Unlike(Exception):
    """A pattern that compares more than numbers."""


class _Matches(ast.NodeTransformer):
    """Each `match` as `if` and `else`."""

    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        subject: ast.expr = node.subject
        head: list[ast.stmt] = []
        if not isinstance(subject, ast.Name):
            name = f"match_{node.lineno}_{node.col_offset}"
            head = [_assignment(name, subject, subject)]
            subject = ast.copy_location(ast.Name(name, ast.Load()), subject)
        try:
            rest: list[ast.stmt] = []
            for case in reversed(node.cases):
                rest = _either(case, subject, rest)
        except _Unlike:
            return node
        return head + rest or [ast.copy_location(ast.Pass(), node)]


def _either(case: ast.match_case, subject: ast.expr, rest: list[ast.stmt]) -> list[ast.stmt]:
    """A case and, where it does not hold, the rest."""
    as_name = case.pattern if isinstance(case.pattern, ast.MatchAs) else None
    pattern = case.pattern if as_name is None else as_name.pattern
    name = None if as_name is None else as_name.name
    kept = [_assignment(name, subject, case.pattern)] if name is not None else []
    if pattern is None:
        if case.guard is None:
            return kept + case.body
        return [*kept, ast.copy_location(ast.If(case.guard, case.body, rest), case.pattern)]
    test = _equal(pattern, subject)
    if case.guard is not None:
        if kept:  # the guard may read the name, which the cases behind it do not change
            raise _Unlike
        test = ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), case.guard)
    return [ast.copy_location(ast.If(test, kept + case.body, rest), case.pattern)]


def _equal(pattern: ast.pattern, subject: ast.expr) -> ast.expr:
    """``subject == 1 or subject == 2`` of ``1 | 2``."""
    if isinstance(pattern, ast.MatchOr):
        each = [_equal(one, subject) for one in pattern.patterns]
        return ast.copy_location(ast.BoolOp(ast.Or(), each), pattern)
    if isinstance(pattern, ast.MatchValue):
        made = ast.Compare(subject, [ast.Eq()], [pattern.value])
        return ast.copy_location(made, pattern)
    raise _Unlike


def _assignment(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))
