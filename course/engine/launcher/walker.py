"""Statements of a launcher, walked over their tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import torch

from course.engine.faults import KernelFault, Outcome, rejected
from course.engine.launcher import gpu, tensors
from course.engine.launcher.admission import admit_expression
from course.engine.launcher.calls import Calls, MakeLaunch, meta
from course.engine.launcher.frames import Break, Closure, Continue, Return
from course.engine.launcher.names import EXCEPTIONS, Ref, text
from course.plain.arithmetic import binary, bounded, dict_of

#: Steps, an expression or a statement each, after which a launcher counts as endless.
STEP_LIMIT = 300_000
#: All expressions at a cell's top level together; configurations by comprehension take some 2,000.
CONSTANTS_STEP_LIMIT = 50_000


def call(
    function: ast.FunctionDef,
    scope: Mapping[str, Any],
    arguments: Sequence[torch.Tensor | int | float | bool],
    launch: MakeLaunch,
    step_limit: int = STEP_LIMIT,
    taking: Callable[[Any], Any] = lambda result: result,
    allocator: tensors.Allocator | None = None,
) -> Any:
    """Walks a launcher and gives what it returns.

    Args:
        function: its tree; line numbers are those of the cell.
        scope: the cell's module-level names: numbers, dtypes, kernels, modules as `Ref`, the
            trees of helper functions.
        arguments: by position. Tensors are the very ones that the kernels get.
        launch: called with (kernel, arguments, grid, arguments by name) for each launch.
        step_limit: expressions and statements before it counts as endless.
        taking: makes something of what the launcher returns; what is wrong with that is told
            of the `return`, else of the `def`.
        allocator: makes the launcher's tensors; one of its own unless told.

    Raises:
        KernelFault: what the launcher did wrong, or what `launch` raised.
    """
    walker = _Launcher(scope, launch, step_limit, Outcome.WRONG_ANSWER, allocator)
    try:
        result = walker.apply(function, function, list(arguments), {}, None)
    except RecursionError:
        raise rejected(function, "launcher_recursion", name=function.name) from None
    try:
        return taking(result)
    except KernelFault as fault:
        fault.line = fault.line or walker.left_at
        raise


def value_of(
    function: ast.Lambda | ast.FunctionDef,
    scope: Mapping[str, Any],
    given: Mapping[str, Any],
) -> Any:
    """What a heuristic makes of a launch's arguments: ``lambda args: args["N"] > 0``.

    Args:
        given: the arguments by name.

    Raises:
        KernelFault: where it has no value, or asks for what is not given.
    """
    return applied(function, scope, [meta(given, "tile_heuristics_name")], {})


def applied(
    function: ast.Lambda | ast.FunctionDef,
    scope: Mapping[str, Any],
    arguments: list[Any],
    named: dict[str, Any],
    stops: Outcome = Outcome.WRONG_ANSWER,
) -> Any:
    """What a function of the cell gives that launches nothing.

    Args:
        stops: how it ends where Python raises an error.

    Raises:
        KernelFault: where it has no value, or launches.
    """

    def refused(*launch: Any) -> NoReturn:
        raise rejected(function, "launcher_syntax", construct="a launch in such a function")

    walker = _Launcher(scope, refused, STEP_LIMIT, stops)
    try:
        return walker.apply(function, function, arguments, named, None)
    except RecursionError:
        raise rejected(
            function, "launcher_recursion", name=getattr(function, "name", "lambda")
        ) from None


class Constants:
    """Values of expressions at a cell's top level, all of them within one limit of steps."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._walker = _Launcher(names, self._refused, CONSTANTS_STEP_LIMIT, Outcome.REJECTED)

    def _refused(self, kernel: Any, *launch: Any) -> NoReturn:
        raise rejected(None, "launcher_no_launch")

    def value(self, node: ast.expr) -> Any:
        """What an expression gives.

        Raises:
            KernelFault: where it is not admitted, or has no value.
        """
        try:
            admit_expression(node, self._names)
            return self._walker.value(node)
        except RecursionError:
            raise rejected(node, "launcher_recursion", name=text(node)) from None
        except KernelFault as fault:
            if fault.message_id == "launcher_timed_out":
                raise rejected(node, "constants_too_long", steps=CONSTANTS_STEP_LIMIT) from None
            raise


class _Launcher(Calls):
    """Walks one call of a launcher."""

    def __init__(
        self,
        names: Mapping[str, Any],
        launch: MakeLaunch,
        step_limit: int,
        stops: Outcome,
        allocator: tensors.Allocator | None = None,
    ) -> None:
        super().__init__(names, step_limit)
        self.launch = launch
        self.stops = stops
        self.depth = 0
        self.left_at = 0
        self.loops = []
        self.allocator = allocator or tensors.Allocator()

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.value(statement)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.store(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name | ast.Subscript):
            raise rejected(node, "launcher_syntax", construct=f"`{text(node)}`")
        before = self.value(node.target)
        value = self.tried(node, binary, node.op, before, self.value(node.value))
        self.store(node.target, value)

    def store(self, target: ast.expr, value: Any) -> None:
        """Binds names; beside them, items of dicts and lists are assigned to."""
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, torch.Tensor):
            value = self.tried(target, tensors.unpacked, value)
        if isinstance(target, ast.Subscript):
            owner = self.value(target.value)
            if not isinstance(owner, dict):
                raise rejected(
                    target, "launcher_computes", construct=f"{text(target)} = ...",
                    instead="a store in the kernel",
                )  # fmt: skip
            if isinstance(value, list | dict):
                raise self.beyond(target, "a dict gains numbers, texts and tuples here")
            owner |= self.tried(target, dict_of, [self.value(target.slice)], [value])
            self.tried(target, bounded, owner)
            return
        super().store(target, value)

    def visit_If(self, node: ast.If) -> None:
        self.block(node.body if self.truth(node.test) else node.orelse)

    def visit_Match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        for case in node.cases:
            if self._matches(case.pattern, subject):
                if case.guard is None or self.truth(case.guard):
                    self.block(case.body)
                    return

    def _matches(self, pattern: ast.pattern, value: Any) -> bool:
        """Whether a value is what stands behind a `case`, whose names are bound."""
        self.step(pattern)
        if isinstance(pattern, ast.MatchValue):
            return self.compared(pattern, ast.Eq(), value, self.value(pattern.value))
        if isinstance(pattern, ast.MatchSingleton):
            return value is pattern.value
        if isinstance(pattern, ast.MatchOr):
            return any(self._matches(one, value) for one in pattern.patterns)
        if isinstance(pattern, ast.MatchSequence):
            several = isinstance(value, tuple | list) and len(value) == len(pattern.patterns)
            return several and all(map(self._matches, pattern.patterns, value))
        if not isinstance(pattern, ast.MatchAs):
            raise rejected(pattern, "launcher_syntax", construct=f"`case {text(pattern)}`")
        if pattern.pattern is not None and not self._matches(pattern.pattern, value):
            return False
        if pattern.name is not None:
            self.frame.variables[pattern.name] = value
        return True

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                raise rejected(node, "launcher_syntax", construct=f"`{text(node)}`")
            if target.id not in self.frame.variables:
                raise self.unassigned(target)
            del self.frame.variables[target.id]

    def visit_For(self, node: ast.For) -> None:
        items = self.iterated(node.iter, self.value(node.iter))
        with self.loop(node) as loop:
            for item in items:
                loop.turn += 1
                self.step(node)
                self.store(node.target, item)
                if not self._turn(node.body):
                    return
        self.block(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        with self.loop(node) as loop:
            while self.truth(node.test):
                loop.turn += 1
                self.step(node)
                if not self._turn(node.body):
                    return
        self.block(node.orelse)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            context = self.value(call.func) if isinstance(call, ast.Call) else None
            listed = isinstance(context, Ref) and context.path in gpu.CONTEXTS
            if not listed or item.optional_vars is not None or not isinstance(call, ast.Call):
                raise rejected(node, "launcher_syntax", construct=f"`with {text(call)}`")
            for argument in call.args:
                self.value(argument)
        self.block(node.body)

    def _turn(self, body: list[ast.stmt]) -> bool:
        """One turn of a loop; False after a `break`."""
        try:
            self.block(body)
        except Continue:
            return True
        except Break:
            return False
        return True

    def visit_Break(self, node: ast.Break) -> NoReturn:
        raise Break

    def visit_Continue(self, node: ast.Continue) -> NoReturn:
        raise Continue

    def visit_Return(self, node: ast.Return) -> NoReturn:
        raise Return(None if node.value is None else self.value(node.value), node.lineno)

    def visit_Assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test):
            message = None if node.msg is None else self.message(node.msg)
            raise KernelFault(
                Outcome.WRONG_ANSWER, "launcher_assert", node.lineno, construct=text(node.test),
                message=message or None,
            )  # fmt: skip

    def visit_Raise(self, node: ast.Raise) -> NoReturn:
        called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if not isinstance(called, ast.Name) or called.id not in EXCEPTIONS:
            raise rejected(node, "launcher_syntax", construct=f"`{text(node)}`")
        parts = node.exc.args if isinstance(node.exc, ast.Call) else []
        message = self.message(parts[0]) if parts else None
        raise KernelFault(
            Outcome.WRONG_ANSWER, "launcher_raises", node.lineno, name=called.id, message=message
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.frame.variables[node.name] = Closure(node, self.frame)

    def visit_Pass(self, node: ast.stmt) -> None:
        pass
