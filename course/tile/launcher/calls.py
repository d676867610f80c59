"""Calls in a launcher: listed functions, the learner's own, and launches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from course.faults import KernelFault
from course.tile.arguments import option_names
from course.tile.launcher import tensors
from course.tile.launcher.admission import is_literal, locals_of
from course.tile.launcher.expressions import Expressions
from course.tile.launcher.frames import (
    Break,
    Closure,
    Configured,
    Continue,
    Frame,
    Meta,
    Return,
    passable,
    shown,
)
from course.tile.launcher.names import (
    ALLOCATOR,
    DESCRIPTOR,
    MISSING,
    NEW_TENSORS,
    QUESTIONS,
    VIEWS,
    Ref,
    broken,
    is_kernel,
    listed,
    rejected,
    text,
)
from course.tile.launcher.numbers import FUNCTIONS, is_whole, kind

#: What a launch counts as: a launcher of this course makes one to three.
LAUNCH_STEPS = 300
MOST_CALLS = 20
#: What a launch may set beside the kernel's parameters.
OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})

Launch = Callable[[Any, tuple[Any, ...], Any, dict[str, Any]], None]


class Calls(Expressions):
    """The walker's part that calls."""

    launch: Launch
    depth: int
    block: Callable[[list[ast.stmt]], None]
    #: where the function that ended last was left: at its `return`, else its `def`
    left_at: int

    def apply(
        self,
        at: ast.AST,
        node: ast.FunctionDef | ast.Lambda,
        arguments: list[Any],
        named: dict[str, Any],
        outer: Frame | None,
    ) -> Any:
        """Calls a function of the learner's."""
        name = "lambda" if isinstance(node, ast.Lambda) else node.name
        if self.depth >= MOST_CALLS:
            raise rejected(at, "launcher_recursion", name=name)
        variables = self._bound(at, name, node.args, arguments, named)
        names = frozenset(variables) if isinstance(node, ast.Lambda) else locals_of(node)
        before, self.frame = self.frame, Frame(names, variables, outer)
        self.depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body)
            self.block(node.body)
        except Return as done:
            self.left_at = done.line
            return done.value
        except (Break, Continue):
            raise rejected(node, "launcher_syntax", construct="`break` outside a loop") from None
        finally:
            self.depth -= 1
            self.frame = before
        self.left_at = node.lineno
        return None

    def _bound(
        self,
        at: ast.AST,
        name: str,
        parameters: ast.arguments,
        arguments: list[Any],
        named: dict[str, Any],
    ) -> dict[str, Any]:
        if parameters.vararg or parameters.kwarg or parameters.posonlyargs:
            raise rejected(at, "launcher_syntax", construct="`*`, `**` or `/` among the parameters")
        by_place = [a.arg for a in parameters.args]
        every = [*by_place, *(a.arg for a in parameters.kwonlyargs)]
        values = dict(zip(by_place, arguments, strict=False))
        wrong = [key for key in named if key not in every or key in values]
        values.update(named)
        defaults = dict(
            zip(by_place[len(by_place) - len(parameters.defaults) :], parameters.defaults,
                strict=True)
        )  # fmt: skip
        for argument, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = default
        for parameter, default in defaults.items():
            if parameter not in values and is_literal(default):
                values[parameter] = self.value(default)
        missing = [p for p in every if p not in values]
        if wrong or missing or len(arguments) > len(by_place):
            raise broken(
                at, "launcher_arguments", name=name, names=", ".join(every) or None,
                expected=len(every), got=len(arguments) + len(named),
                missing=", ".join(missing) or None,
            )  # fmt: skip
        return values

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if isinstance(function, Configured):
            return self._launch(node, function)
        prints = isinstance(function, Ref) and function.path == "print"
        arguments = [self.message(a) if prints else self.value(a) for a in node.args]
        named = self._keywords(node)
        if isinstance(function, Ref):
            return self._listed(node, function.path, arguments, named)
        if isinstance(function, tensors.Method):
            return self._method(node, function, arguments, named)
        if isinstance(function, Closure):
            return self.apply(node, function.node, arguments, named, function.frame)
        if isinstance(function, ast.FunctionDef):
            return self.apply(node, function, arguments, named, None)
        if is_kernel(function):
            raise rejected(node, "launcher_no_grid", name=text(node.func))
        raise broken(node, "launcher_value", construct=text(node),
                     detail=f"{kind(function)} cannot be called")  # fmt: skip

    def _keywords(self, node: ast.Call) -> dict[str, Any]:
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise rejected(node, "launcher_syntax", construct="`**` in a call")
            named[keyword.arg] = self.value(keyword.value)
        return named

    def _listed(
        self, node: ast.Call, path: str, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        """Calls a function of the positive list."""
        module, _, name = path.rpartition(".")
        if module == "torch":
            return self.tried(node, self.allocator.make, name, arguments, named)
        if path in (DESCRIPTOR, f"{DESCRIPTOR}.from_tensor"):
            return self.tried(node, tensors.descriptor, path == DESCRIPTOR, arguments, named)
        if path == ALLOCATOR:
            return self._set_allocator(node, arguments)
        if path == "bool" and len(arguments) == 1:
            return self._true(node.args[0], arguments[0])
        function = FUNCTIONS.get(path)
        if function is None:
            raise broken(node, "launcher_value", construct=text(node),
                         detail=f"`{text(node.func)}` cannot be called so")  # fmt: skip
        if named and path != "print":
            raise broken(node, "launcher_value", construct=text(node),
                         detail=f"`{path}` takes its arguments by position here")  # fmt: skip
        return self.tried(node, function, arguments)

    def _set_allocator(self, node: ast.Call, arguments: list[Any]) -> None:
        """Takes the function, and never calls it: the engine's kernels need no such memory."""
        functions = [a for a in arguments if isinstance(a, Closure | ast.FunctionDef)]
        if len(arguments) != 1 or not functions:
            raise broken(node, "launcher_value", construct=text(node),
                         detail="it takes one function, of size, alignment and stream")  # fmt: skip

    def _method(
        self, node: ast.Call, method: tensors.Method, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        if method.name in NEW_TENSORS:
            return self.tried(
                node, self.allocator.new, method.tensor, method.name, arguments, named
            )
        if list(named) == ["dim"] and method.name in QUESTIONS | VIEWS and not arguments:
            arguments, named = [named["dim"]], {}
        if named:
            detail = f"`.{method.name}` takes its arguments by position here"
            raise broken(node, "launcher_value", construct=text(node), detail=detail)
        function = tensors.question if method.name in QUESTIONS else tensors.view
        return self.tried(node, function, method.tensor, method.name, arguments)

    # ------------------------------------------------------------ launches

    def grid(self, node: ast.Subscript, grid: Any) -> Any:
        """A grid as `launch` takes it: numbers, or a function of the arguments."""
        if isinstance(grid, Closure):
            return lambda given: self._sized(
                node, self.apply(node, grid.node, [meta(given, "tile_grid_name")], {}, grid.frame)
            )
        return self._sized(node, grid)

    def _sized(self, node: ast.Subscript, grid: Any) -> Any:
        if is_whole(grid):  # Triton takes its length
            raise rejected(node, "tile_grid_number", grid=shown(grid))
        whole = isinstance(grid, tuple | list) and all(is_whole(axis) for axis in grid)
        if not whole or not 1 <= len(grid) <= 3:
            raise rejected(node, "tile_grid", grid=shown(grid))
        return tuple(grid)

    def _spread(self, parts: Sequence[ast.expr]) -> list[tuple[ast.expr, Any]]:
        """A launch's arguments, each with its place: `*x.stride()` is one for each number."""
        found: list[tuple[ast.expr, Any]] = []
        for part in parts:
            if not isinstance(part, ast.Starred):
                found.append((part, self.value(part)))
                continue
            values = self.value(part.value)
            if not isinstance(values, tuple | list):
                raise broken(part, "launcher_value", construct=text(part),
                             detail=f"{kind(values)} cannot be written out by `*`")  # fmt: skip
            found += [(part, value) for value in values]
        return found

    def _launch(self, node: ast.Call, configured: Configured) -> None:
        self.step(node, LAUNCH_STEPS)
        placed = self._spread(node.args)
        arguments, named = [value for _, value in placed], self._keywords(node)
        for given, value in [*placed, *_named(node, named)]:
            if not passable(value):
                raise broken(given, "launcher_value", construct=text(given),
                             detail=f"{kind(value)} cannot be passed to a kernel")  # fmt: skip
        self._check_options(node, configured.kernel)
        try:
            self.launch(configured.kernel, tuple(arguments), configured.grid, named)
        except KernelFault as fault:
            if fault.line is None:
                fault.line = node.lineno
            raise

    def _check_options(self, node: ast.Call, kernel: Any) -> None:
        """Of what a launch may set beside the parameters, a check lets a few through."""
        parameters = getattr(kernel, "arg_names", ())
        for keyword in node.keywords:
            name = str(keyword.arg)
            if name not in parameters and name in option_names() - OPTIONS:
                raise rejected(keyword.value, "launcher_option", name=name)


def meta(given: Mapping[str, Any], lacking: str) -> Meta:
    """A launch's arguments; `lacking` is the message where one is asked for that is not there."""
    values = {name: v if isinstance(v, torch.Tensor) else listed(v) for name, v in given.items()}
    return Meta({name: v for name, v in values.items() if v is not MISSING}, lacking)


def _named(node: ast.Call, named: dict[str, Any]) -> list[tuple[ast.expr, Any]]:
    return [(k.value, named[k.arg]) for k in node.keywords if k.arg is not None]
