"""Statements of a kernel: assignments, and control flow on which programs may disagree.

A branch on a value that differs between programs is taken by groups: each group runs its side
with its own rows of every variable, and the groups meet behind the branch. A loop goes on with
the programs that still have an iteration; the others wait at its end. Each effect happens
exactly once.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from contextlib import nullcontext
from typing import Any

import numpy as np
import triton.language as tl

from course.engine.faults import KernelFault, Outcome
from course.engine.tile.builder import Builder
from course.engine.tile.contraction import read_so_often
from course.engine.tile.expressions import Frame, plain
from course.engine.tile.groups import (
    Disagreement,
    joined,
    places,
    renumbered,
    taken,
    with_fields_of,
)
from course.engine.tile.loops import Loops, known_at_run_time
from course.engine.tile.merging import Merging, Region
from course.engine.tile.run import Run
from course.engine.tile.semantic import Semantic
from course.engine.tile.values import Value
from course.engine.triton.functions import code_of, stays_a_call

MOST_CALLS = 60
_NOBODY = np.zeros(0, np.int64)


class Walker(Loops):
    """Runs a kernel's body for the run's current group of programs."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.semantic = Semantic(Builder(run))
        self.depth = 0
        self._signatures = {}
        self.frame: Frame

    # ------------------------------------------------------------ functions

    def kernel(self, function: Any, arguments: dict[str, Any]) -> None:
        """Runs a kernel with its arguments bound."""
        self.frame = Frame(code_of(function), dict(arguments))
        self.run.merging = Merging()
        self.statements(self.frame.code.body)

    def call_JitFunction(
        self, fn: Any, args: Any, kwargs: dict[str, Any], caller_context: Any = None
    ) -> Any:
        """Runs a jitted function and gives what it returns."""
        try:
            bound = fn.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self.refuse(f"{fn.__name__}: {error}") from None
        bound.apply_defaults()
        variables = {
            name: value if isinstance(value, tl.core.base_value) else tl.constexpr(plain(value))
            for name, value in bound.arguments.items()
        }
        if self.depth >= MOST_CALLS:
            self.run.fail(Outcome.DOES_NOT_COMPILE, "tile_recursion", name=fn.__name__)
        caller, programs, place = self.frame, self.run.programs, self.run.place
        self.frame = Frame(code_of(fn), variables)
        self.depth += 1
        constants = {n for n, value in variables.items() if isinstance(value, tl.constexpr)}
        apart = stays_a_call(fn, constants)
        try:
            with self.run.merging.apart() if apart else nullcontext():
                self.statements(self.frame.code.body)
            if self.run.count:
                self.frame.returns.append((self.run.programs, tl.constexpr(None)))
            result = self._returned(self.frame.returns, len(programs))
            return renumbered(result) if apart else result
        except KernelFault as fault:
            if self.frame.code.own:
                fault.happened_in(fn.__name__, self.frame.code.filename)
            raise
        finally:
            self.depth -= 1
            self.frame, self.run.programs = caller, programs
            self.run.place = place

    def _returned(self, returns: list[tuple[Any, Any]], count: int) -> Any:
        if len(returns) == 1:
            return returns[0][1]
        _, rows = places([programs for programs, _ in returns])
        return self._joined_values([value for _, value in returns], rows, count, "the return value")

    def _joined_values(self, values: list[Any], rows: Any, count: int, what: str) -> Any:
        try:
            return joined(self._of_one_type(values), rows, count)
        except Disagreement as error:
            raise self.refuse(f"{what} has two types, {error}") from None

    def _of_one_type(self, values: list[Any]) -> list[Any]:
        """Constants that differ become tensors, those in tuples too."""
        if all(isinstance(v, tl.tuple) for v in values):
            if len({len(v.values) for v in values}) > 1 or not values[0].values:
                return values
            places = zip(*(v.values for v in values), strict=True)
            items = zip(*map(self._of_one_type, map(list, places)), strict=True)
            pairs = zip(values, items, strict=True)
            return [with_fields_of(value, own) for value, own in pairs]
        kinds = {isinstance(v, tl.constexpr) for v in values}
        constants = [v for v in values if isinstance(v, tl.constexpr)]
        if len(kinds) > 1 or len({repr(plain(v)) for v in constants}) > 1:
            return [self.semantic.to_tensor(v, check_type=False) for v in values]
        return values

    # ------------------------------------------------------------ statements

    def block(self, statements: list[ast.stmt], region: Region | None = None) -> None:
        """Runs a block of code of its own; `region` holds what was loaded in it before."""
        with self.run.merging.within(region):
            self.statements(statements)

    def statements(self, statements: list[ast.stmt]) -> None:
        """Runs statements until all programs of the group have returned."""
        run = self.run
        for statement in statements:
            self.at(statement)
            run.step()
            method = _STATEMENTS.get(type(statement))
            if method is None:
                what = _NAMED.get(type(statement), type(statement).__name__)
                raise self.refuse(f"{what} is not part of Triton's language", statement)
            method(self, statement)
            if not len(run.programs):
                return

    def _expression(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.refuse("an assignment to several names at once", node)
        self._store(node.targets[0], self._assigned(self.value(node.value), node))

    def _annotated(self, node: ast.AnnAssign) -> None:
        annotation = plain(self.value(node.annotation))
        value = self.value(node.value)
        if annotation is tl.constexpr:
            if not isinstance(node.target, ast.Name):
                raise self.refuse("a constexpr that is not a plain name", node)
            # Triton takes a value of the run as it is, for all that the annotation says.
            known = value if isinstance(value, tl.tensor | tl.tuple) else tl.constexpr(plain(value))
            self.frame.vars[node.target.id] = known
            return
        self._store(node.target, self._assigned(value, node))

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.refuse("an element of a tensor cannot be assigned: use tl.store", node)
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        whole = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        self._store(node.target, self._assigned(self.value(whole), node))

    def _assigned(self, value: Any, node: ast.AST) -> Any:
        """What a plain assignment keeps: numbers become tensors, as the compiler does."""
        if isinstance(value, tl.tuple):
            return with_fields_of(value, [self._assigned(item, node) for item in value.values])
        value = plain(value)
        if value is None or isinstance(value, tl.core.base_value | tl.dtype):
            return value
        try:
            return self.semantic.to_tensor(value)
        except (TypeError, ValueError) as error:
            raise self.refuse(str(error), node) from None

    def _store(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            read_so_often(value, self.frame.code.reads[target.id])
            self.frame.vars[target.id] = value
        elif isinstance(target, ast.Tuple):
            items = getattr(value, "values", None)
            if items is None or len(items) != len(target.elts):
                raise self.refuse("the two sides of this assignment differ in length", target)
            for part, item in zip(target.elts, items, strict=True):
                self._store(part, item)
        elif isinstance(target, ast.Subscript):
            raise self.refuse("an element of a tensor cannot be assigned: use tl.store", target)
        else:
            raise self.refuse(f"`{ast.unparse(target)}` cannot be assigned", target)

    def _pass(self, node: ast.stmt) -> None:
        pass

    def _return(self, node: ast.Return) -> None:
        value = self.value(node.value)
        if not self.depth and isinstance(value, tl.tensor | tl.tuple):
            self.run.fail(Outcome.DOES_NOT_COMPILE, "tile_kernel_returns")
        self.frame.returns.append(
            (self.run.programs, tl.constexpr(None) if value is None else value)
        )
        self.run.programs = _NOBODY

    def _assert(self, node: ast.Assert) -> None:
        test = self.value(node.test)
        message = plain(self.value(node.msg)) if node.msg is not None else ""
        self.at(node)
        tl.device_assert(test, message, _semantic=self.semantic)

    def _with(self, node: ast.With) -> None:
        managers = []
        for item in node.items:
            call = item.context_expr
            if not isinstance(call, ast.Call):
                raise self.refuse("`with` takes one of Triton's contexts", node)
            manager = plain(self.value(call.func))
            if not str(getattr(manager, "__module__", "")).startswith("triton."):
                raise self.refuse("`with` takes one of Triton's contexts", node)
            managers.append(manager)
        self.statements(node.body)

    # ------------------------------------------------------------ branches

    def condition(self, value: Any, node: ast.AST) -> bool | np.ndarray:
        """True or False where all programs agree, else a boolean for each."""
        if isinstance(value, tl.condition if hasattr(tl, "condition") else ()):
            value = value.condition
        if not isinstance(value, tl.tensor):
            return bool(plain(value))
        if value.type.is_block() and value.numel.value != 1:
            raise self.refuse(
                "the condition is a block of several elements; reduce it first, or use tl.where",
                node,
            )
        handle: Value = value.handle
        self.run.look(handle)
        flags = handle.data.reshape(-1) != 0
        if flags.all():
            return True
        return flags if flags.any() else False

    def _if(self, node: ast.If) -> None:
        value = self.value(node.test)
        test = self.condition(value, node)
        if not known_at_run_time(value):  # the compiler sees one side, and no branch
            self.statements(node.body if test else node.orelse)
            return
        if isinstance(test, bool):
            self.block(node.body if test else node.orelse)
        else:
            self._split(
                [
                    (np.flatnonzero(test), lambda: self.block(node.body)),
                    (np.flatnonzero(~test), lambda: self.block(node.orelse)),
                ]
            )
        if node in self.frame.code.returning:  # what follows is a block of code of its own
            self.run.merging.region.forget()
        self.passed(node)

    def passed(self, node: ast.stmt) -> None:
        """Control flow meets again: what it assigned equals nothing, what it wrote is unknown."""
        merging = self.run.merging
        if not merging.quiet(node, self.frame.code.scope):
            merging.region.forget()
        self.renumber(node)

    def renumber(self, node: ast.stmt) -> None:
        """What a branch or a turn assigns depends on which of them were taken."""
        variables = self.frame.vars
        for name in self.frame.code.assigned(node):
            if name in variables:
                variables[name] = renumbered(variables[name])

    def _split(self, parts: list[tuple[np.ndarray, Callable[[], None]]]) -> None:
        """Runs each part with its rows of the group, then puts the groups together."""
        frame, programs, before = self.frame, self.run.programs, self.frame.vars
        meeting: list[tuple[np.ndarray, dict[str, Any]]] = []
        started: list[dict[str, Any]] = []
        for rows, body in parts:
            self.run.programs = programs[rows]
            frame.vars = {name: taken(value, rows) for name, value in before.items()}
            start = dict(frame.vars)
            body()
            if self.run.count:
                meeting.append((self.run.programs, frame.vars))
                started.append(start)
        everyone = sum(len(group) for group, _ in meeting) == len(programs)
        untouched = {
            name
            for name in before
            if everyone
            and all(
                variables.get(name, started) is start[name]
                for (_, variables), start in zip(meeting, started, strict=True)
            )
        }
        several = {
            name
            for name in frame.vars
            if sum(
                variables.get(name) is not start.get(name)
                for (_, variables), start in zip(meeting, started, strict=True)
            )
            > 1
        }
        self._meet(meeting, {name: before[name] for name in untouched}, several)

    def _meet(
        self,
        groups: list[tuple[np.ndarray, dict[str, Any]]],
        kept: dict[str, Any] | None = None,
        several: Collection[str] = (),
    ) -> None:
        """Groups that arrive at one place go on together.

        A name that has one type in one group and another in the next is of the blocks of code that
        assign it, and means nothing behind them; unless `several` groups have assigned it here,
        which the compiler would not take.
        """
        if len(groups) <= 1:
            self.run.programs, self.frame.vars = groups[0] if groups else (_NOBODY, {})
            return
        programs, rows = places([group for group, _ in groups])
        variables = dict(kept or {})
        names = set.intersection(*(set(own) for _, own in groups))
        for name in names - variables.keys():
            values = self._of_one_type([own[name] for _, own in groups])
            try:
                variables[name] = joined(values, rows, len(programs))
            except Disagreement as error:
                if name in several:
                    raise self.refuse(f"`{name}` has two types, {error}") from None
        self.run.programs, self.frame.vars = programs, variables

    def _choice(self, node: ast.IfExp) -> Any:
        value = self.value(node.test)
        test = self.condition(value, node)
        if not known_at_run_time(value):
            return self.value(node.body if test else node.orelse)
        return renumbered(self._chosen(node, test))

    def _chosen(self, node: ast.IfExp, test: bool | np.ndarray) -> Any:
        if isinstance(test, bool):
            return self._side(node.body if test else node.orelse)
        sides: list[Any] = []
        parts = [np.flatnonzero(test), np.flatnonzero(~test)]
        self._split(
            [
                (parts[0], lambda: sides.append(self._side(node.body))),
                (parts[1], lambda: sides.append(self._side(node.orelse))),
            ]
        )
        return self._joined_values(sides, parts, self.run.count, "the conditional expression")

    def _side(self, node: ast.expr) -> Any:
        """One side of a conditional expression: a block of code of its own."""
        with self.run.merging.within():
            return self.semantic.to_tensor(self.value(node))


_NAMED = {
    ast.Break: "`break`",
    ast.Continue: "`continue`",
    ast.FunctionDef: "a function inside a kernel",
    ast.Try: "`try`",
    ast.Raise: "`raise`",
    ast.Import: "`import`",
    ast.ImportFrom: "`import`",
    ast.Global: "`global`",
    ast.Delete: "`del`",
}

_STATEMENTS: dict[type, Callable[[Any, Any], None]] = {
    ast.Expr: Walker._expression,
    ast.Assign: Walker._assign,
    ast.AnnAssign: Walker._annotated,
    ast.AugAssign: Walker._augmented,
    ast.Pass: Walker._pass,
    ast.Return: Walker._return,
    ast.Assert: Walker._assert,
    ast.With: Walker._with,
    ast.If: Walker._if,
    ast.While: Walker._while,
    ast.For: Walker._for,
}
