"""Statements of a launcher, walked over their tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import torch

from course.faults import KernelFault, Outcome
from course.tile.launcher import tensors
from course.tile.launcher.calls import Calls, Launch, meta
from course.tile.launcher.frames import Break, Closure, Continue, Frame, Return
from course.tile.launcher.names import EXCEPTIONS, Scope, broken, rejected, text
from course.tile.launcher.numbers import kind

#: Steps, an expression or a statement each, after which a launcher counts as endless.
STEP_LIMIT = 300_000


def call(
    function: ast.FunctionDef,
    scope: Callable[[str], Any] | Mapping[str, Any],
    arguments: Sequence[torch.Tensor | int | float | bool],
    launch: Launch,
    step_limit: int = STEP_LIMIT,
    taking: Callable[[Any], Any] = lambda result: result,
) -> Any:
    """Walks a launcher and gives what it returns.

    Args:
        function: its tree; line numbers are those of the cell.
        scope: the cell's module-level names (KeyError for another): numbers, modules, dtypes,
            kernels, the trees of helper functions; live values or `Ref` and `Kernel`.
        arguments: by position. Tensors are the very ones that the kernels get.
        launch: called with (kernel, arguments, grid, arguments by name) for each launch.
        step_limit: expressions and statements before it counts as endless.
        taking: makes something of what the launcher returns; what is wrong with that is told
            of the `return`, else of the `def`.

    Raises:
        KernelFault: what the launcher did wrong, or what `launch` raised.
    """
    walker = _Launcher(Scope(scope), launch, step_limit)
    try:
        result = walker.run(function, list(arguments))
    except RecursionError:
        raise rejected(function, "launcher_recursion", name=function.name) from None
    try:
        return taking(result)
    except KernelFault as fault:
        fault.line = fault.line or walker.left_at
        raise


def value_of(
    function: ast.Lambda,
    scope: Callable[[str], Any] | Mapping[str, Any],
    given: Mapping[str, Any],
) -> Any:
    """Walks an expression over a launch's arguments: ``lambda args: args["N"] > 0``.

    Args:
        given: the arguments by name.

    Raises:
        KernelFault: where it has no value, or asks for what is not given.
    """

    def refused(*launch: Any) -> NoReturn:
        raise rejected(function, "tile_heuristics", construct=text(function))

    walker = _Launcher(Scope(scope), refused, STEP_LIMIT)
    arguments = [meta(given, "tile_heuristics_name")]
    try:
        return walker.apply(function, function, arguments, {}, None)
    except RecursionError:
        raise rejected(function, "launcher_recursion", name="lambda") from None


class _Launcher(Calls):
    """Walks one call of a launcher."""

    def __init__(self, scope: Scope, launch: Launch, step_limit: int) -> None:
        self.scope = scope
        self.launch = launch
        self.steps = 0
        self.step_limit = step_limit
        self.depth = 0
        self.left_at = 0
        self.loops = []
        self.allocator = tensors.Allocator()
        self.frame = Frame(frozenset(), {})

    def run(self, node: ast.FunctionDef, arguments: list[Any]) -> Any:
        """Calls the launcher itself."""
        return self.apply(node, node, arguments, {}, None)

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.step(statement)
            method = _STATEMENTS.get(type(statement))
            if method is None:
                raise rejected(statement, "launcher_syntax", construct=f"`{text(statement)}`")
            method(self, statement)

    def _expression(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.store(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value))

    def _augmented(self, node: ast.AugAssign) -> None:
        if not isinstance(node.target, ast.Name):
            self.store(node.target, None)
        assert isinstance(node.target, ast.Name)
        before = self._name(node.target)
        self.store(node.target, self._operated(node, node.op, before, self.value(node.value)))

    def store(self, target: ast.expr, value: Any) -> None:
        """Binds names; nothing else is assigned to."""
        if isinstance(target, ast.Name):
            self.frame.variables[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            if not isinstance(value, tuple | list):
                raise broken(target, "launcher_value", construct=text(target),
                             detail=f"{kind(value)} cannot be unpacked")  # fmt: skip
            if len(value) != len(target.elts):
                raise broken(target, "launcher_unpack", got=len(value), expected=len(target.elts))
            for part, item in zip(target.elts, value, strict=True):
                self.store(part, item)
        elif isinstance(target, ast.Subscript):
            raise rejected(
                target, "launcher_computes", construct=f"{text(target)} = ...",
                instead="a store in the kernel",
            )  # fmt: skip
        else:
            raise rejected(target, "launcher_syntax", construct=f"`{text(target)} = ...`")

    def _if(self, node: ast.If) -> None:
        self.block(node.body if self.truth(node.test) else node.orelse)

    def _for(self, node: ast.For) -> None:
        items = self.value(node.iter)
        if not isinstance(items, range | tuple | list):
            detail = f"a loop goes over a range or a tuple, not {kind(items)}"
            raise broken(node.iter, "launcher_value", construct=text(node.iter), detail=detail)
        with self.loop(node) as loop:
            for item in items:
                loop.turn += 1
                self.step(node)
                self.store(node.target, item)
                if not self._turn(node.body):
                    break

    def _while(self, node: ast.While) -> None:
        with self.loop(node) as loop:
            while self.truth(node.test):
                loop.turn += 1
                self.step(node)
                if not self._turn(node.body):
                    break

    def _turn(self, body: list[ast.stmt]) -> bool:
        """One turn of a loop; False after a `break`."""
        try:
            self.block(body)
        except Continue:
            return True
        except Break:
            return False
        return True

    def _leave(self, node: ast.Break | ast.Continue) -> NoReturn:
        raise Break if isinstance(node, ast.Break) else Continue

    def _return(self, node: ast.Return) -> NoReturn:
        raise Return(None if node.value is None else self.value(node.value), node.lineno)

    def _assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test):
            message = None if node.msg is None else self.message(node.msg)
            raise KernelFault(
                Outcome.WRONG_ANSWER, "launcher_assert", node.lineno, construct=text(node.test),
                message=message or None,
            )  # fmt: skip

    def _raise(self, node: ast.Raise) -> NoReturn:
        called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if not isinstance(called, ast.Name) or called.id not in EXCEPTIONS:
            raise rejected(node, "launcher_syntax", construct=f"`{text(node)}`")
        parts = node.exc.args if isinstance(node.exc, ast.Call) else []
        message = self.message(parts[0]) if parts else None
        raise KernelFault(
            Outcome.WRONG_ANSWER, "launcher_raises", node.lineno, name=called.id, message=message
        )

    def _define(self, node: ast.FunctionDef) -> None:
        self.frame.variables[node.name] = Closure(node, self.frame)

    def _pass(self, node: ast.stmt) -> None:
        pass


_STATEMENTS: dict[type, Callable[[Any, Any], None]] = {
    ast.Expr: _Launcher._expression,
    ast.Assign: _Launcher._assign,
    ast.AnnAssign: _Launcher._annotated,
    ast.AugAssign: _Launcher._augmented,
    ast.If: _Launcher._if,
    ast.For: _Launcher._for,
    ast.While: _Launcher._while,
    ast.Break: _Launcher._leave,
    ast.Continue: _Launcher._leave,
    ast.Return: _Launcher._return,
    ast.Assert: _Launcher._assert,
    ast.Raise: _Launcher._raise,
    ast.FunctionDef: _Launcher._define,
    ast.Pass: _Launcher._pass,
}
