"""Calls in a launcher: listed functions, the learner's own, and launches."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import Any

import torch

from course.engine.faults import KernelFault, rejected
from course.engine.launcher import gpu, tensors
from course.engine.launcher.admission import locals_of
from course.engine.launcher.expressions import Expressions
from course.engine.launcher.frames import (
    Break,
    Closure,
    Config,
    Configured,
    Continue,
    Frame,
    Meta,
    Partial,
    Return,
    passable,
    shown,
)
from course.engine.launcher.names import (
    ALLOCATIONS,
    ALLOCATOR,
    CONFIG,
    CONSTEXPR,
    CONVERSIONS,
    FILLINGS,
    FINFO,
    IINFO,
    MISSING,
    NEW_TENSORS,
    PARTIAL,
    QUESTIONS,
    SHARED_LAYOUT,
    VIEWS,
    Own,
    Ref,
    is_kernel,
    listed,
    refused_attribute,
    text,
)
from course.engine.triton.passed import option_names
from course.plain.arithmetic import (
    FUNCTIONS,
    MOST_ITEMS,
    NotHere,
    NoValue,
    bounded,
    compare,
    dict_of,
    is_whole,
    items_of,
    kind,
    limits,
    tried,
)
from course.plain.evaluator import OfNumber

#: What a launch counts as: a launcher of this course makes one to three.
LAUNCH_STEPS = 300
MOST_CALLS = 20
#: What a launch may set beside the kernel's parameters.
OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})

MakeLaunch = Callable[[Any, tuple[Any, ...], Any, dict[str, Any]], None]


class Calls(Expressions):
    """The walker's part that calls."""

    launch: MakeLaunch
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
        if parameters.posonlyargs:
            raise rejected(at, "launcher_syntax", construct="`/` among the parameters")
        by_place = [a.arg for a in parameters.args]
        every = [*by_place, *(a.arg for a in parameters.kwonlyargs)]
        values = dict(zip(by_place, arguments, strict=False))
        more = {key: value for key, value in named.items() if key not in every}
        wrong = [key for key in named if key in values] or (more and not parameters.kwarg)
        values.update({key: value for key, value in named.items() if key in every})
        defaults = dict(
            zip(by_place[len(by_place) - len(parameters.defaults) :], parameters.defaults,
                strict=True)
        )  # fmt: skip
        for argument, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = default
        for parameter, default in defaults.items():
            if parameter not in values:
                values[parameter] = self._default(default)
        missing = [p for p in every if p not in values]
        too_many = len(arguments) > len(by_place) and not parameters.vararg
        if wrong or missing or too_many:
            raise self.stopped(
                at, "launcher_arguments", name=name, names=", ".join(every) or None,
                expected=len(every), got=len(arguments) + len(named),
                missing=", ".join(missing) or None,
            )  # fmt: skip
        if parameters.vararg:
            values[parameters.vararg.arg] = tuple(arguments[len(by_place) :])
        if parameters.kwarg:
            values[parameters.kwarg.arg] = more
        return values

    def _default(self, node: ast.expr) -> Any:
        """A default: of the names around a call it knows none."""
        before, self.frame = self.frame, Frame(frozenset(), {})
        try:
            return self.value(node)
        finally:
            self.frame = before

    def visit_Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if isinstance(function, Configured):
            return self._launch(node, function)
        if isinstance(function, Ref) and function.path == "print":
            for argument in node.args:
                self.message(argument)
            return None  # a check runs many cases: only a direct call prints
        arguments = [value for _, value in self.spread(node.args)]
        named = self.keywords(node)
        if isinstance(function, Ref):
            return self._of_path(node, function.path, arguments, named)
        if isinstance(function, tensors.Method):
            return self._method(node, function, arguments, named)
        if isinstance(function, OfNumber):
            return self.of_number(node, function, arguments, named)
        if isinstance(function, Own | ast.FunctionDef):
            return self._applied(node, function, arguments, named)
        if is_kernel(function):
            raise rejected(node, "launcher_no_grid", name=text(node.func))
        raise self.broken(node, f"{kind(function)} cannot be called")

    def _applied(
        self, node: ast.AST, function: Any, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        """Calls a function of the learner's."""
        if isinstance(function, Closure):
            return self.apply(node, function.node, arguments, named, function.frame)
        if isinstance(function, Partial):
            given = [*function.arguments, *arguments]
            return self._applied(node, function.function, given, function.named | named)
        if isinstance(function, Ref) and function.path in FUNCTIONS and isinstance(node, ast.Call):
            return self.listed(node, function.path, arguments, named)
        written = getattr(function, "node", function)  # of `@triton.constexpr_function`
        if isinstance(written, ast.FunctionDef):
            return self.apply(node, written, arguments, named, None)
        raise self.broken(node, f"{kind(function)} cannot be called")

    def _of_path(
        self, node: ast.Call, path: str, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        """Calls a function of the positive list."""
        if path in ALLOCATIONS:
            name = path.rpartition(".")[2]
            return self.tried(node, self.allocator.make, name, arguments, named)
        described = path.removesuffix(".from_tensor")
        if made := tensors.DESCRIPTORS.get(described):
            whole = path == described
            return self.tried(node, tensors.descriptor, made, whole, arguments, named)
        if path == f"{SHARED_LAYOUT}.get_default_for":
            return self.tried(node, tensors.shared_layout, arguments, named)
        if path in gpu.ANSWERS:
            return self.tried(node, gpu.answer, path, arguments, named)
        if path == ALLOCATOR:
            return self._set_allocator(node, arguments)
        if path == CONFIG:
            return self.tried(node, Config.of, arguments, named)
        if path == PARTIAL and arguments:
            function, *given = arguments
            is_own = isinstance(function, Own | ast.FunctionDef)
            if is_own or (isinstance(function, Ref) and function.path in FUNCTIONS):
                return Partial(function, tuple(given), named)
            raise self.beyond(node, f"`{text(node.func)}` takes a function of the cell here")
        if path == "dict":
            return self.tried(node, _dict, arguments, named)
        if path in ("filter", "map"):
            return self._on_each(node, path, arguments)
        if path in ("max", "min", "sorted") and "key" in named:
            return self._by_key(node, path, arguments, named)
        if path == "next" and isinstance(node.args[0], ast.GeneratorExp) and not named:
            return self._first(node, arguments)
        if path == "bool" and len(arguments) == 1:
            return self.true(node.args[0], arguments[0])
        if path in FUNCTIONS and not any(isinstance(a, torch.Tensor) for a in arguments):
            return self.listed(node, path, arguments, named)
        function = _FUNCTIONS.get(path)
        if function is None or named:
            if path in FUNCTIONS and path != "len":  # it has a tensor among its arguments
                raise rejected(node, "launcher_computes", construct=text(node))
            refused = self.beyond if named else self.broken
            raise refused(node, f"`{text(node.func)}` cannot be called so")
        return self.tried(node, function, arguments)

    def _on_each(self, node: ast.Call, path: str, arguments: list[Any]) -> list[Any]:
        """`filter` and `map` with a function of the learner's."""
        if len(arguments) != 2:
            raise self.beyond(node, f"`{path}` takes a function and a tuple here")
        items = self.tried(node, items_of, arguments[1])
        results = [self._applied(node, arguments[0], [item], {}) for item in items]
        if path == "map":
            return list(self.tried(node, bounded, results))
        kept = zip(items, results, strict=True)
        return [item for item, result in kept if self.true(node, result)]

    def _by_key(
        self, node: ast.Call, path: str, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        """`min`, `max` and `sorted` of what the learner's function makes of each item."""
        several = len(arguments) > 1 and path != "sorted"
        items = self.tried(node, items_of, tuple(arguments) if several else arguments[0])
        keys = [self._applied(node, named["key"], [item], {}) for item in items]
        if len(named) > 1 or not items:
            raise self.beyond(node, f"`{path}` takes some items and a key here")
        order = sorted(range(len(items)), key=cmp_to_key(self._ordered(node, keys)))
        if path == "sorted":
            return [items[place] for place in order]
        best = keys[order[0 if path == "min" else -1]]
        return next(item for item, key in zip(items, keys, strict=True) if key == best)

    def _ordered(self, node: ast.Call, keys: list[Any]) -> Callable[[int, int], int]:
        """Which of two places has the smaller key: -1, 0 or 1."""

        def order(one: int, other: int) -> int:
            less = self.tried(node, compare, ast.Lt(), keys[one], keys[other])
            return -1 if less else int(self.tried(node, compare, ast.Gt(), keys[one], keys[other]))

        return order

    def _first(self, node: ast.Call, arguments: list[Any]) -> Any:
        """``next((n for n in (16, 32) if n >= N), 64)``"""
        if len(arguments) > 2 or not [*arguments[0], *arguments[1:]]:
            raise self.broken(node, "nothing is left, and no default stands behind it")
        return [*arguments[0], *arguments[1:]][0]

    def _set_allocator(self, node: ast.Call, arguments: list[Any]) -> None:
        """Takes the function, and never calls it: the engine's kernels need no such memory."""
        functions = [a for a in arguments if isinstance(a, Closure | ast.FunctionDef)]
        if len(arguments) != 1 or not functions:
            raise self.broken(node, "it takes one function, of size, alignment and stream")

    def _method(
        self, node: ast.Call, method: tensors.Method, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        if isinstance(method.tensor, list) and method.name == "sort" and not arguments:
            method.tensor[:] = self._of_path(node, "sorted", [method.tensor], named)
            return None
        if not isinstance(method.tensor, torch.Tensor):
            return self.tried(node, _of_items, method.tensor, method.name, arguments, named)
        if method.name in FILLINGS:
            return self._fill(node, method, [*arguments, *named.values()])
        if method.name in CONVERSIONS:
            if not tensors.is_converted(method.tensor, method.name, arguments, named):
                raise refused_attribute(node.func, method.name)
            return method.tensor
        if method.name in NEW_TENSORS:
            return self.tried(
                node, self.allocator.new, method.tensor, method.name, arguments, named
            )
        in_order = method.name in ("contiguous", "is_contiguous")
        if in_order and named == {"memory_format": torch.contiguous_format}:
            named = {}
        if list(named) == ["dim"] and method.name in QUESTIONS | VIEWS and not arguments:
            arguments, named = [named["dim"]], {}
        if named:
            raise self.beyond(node, f"`.{method.name}` takes its arguments by position here")
        function = tensors.question if method.name in QUESTIONS else tensors.view
        return self.tried(node, function, method.tensor, method.name, arguments)

    def _fill(self, node: ast.Call, method: tensors.Method, values: list[Any]) -> torch.Tensor:
        """``x.zero_()``, ``x.fill_(1)``"""
        values = [0, *values] if method.name == "zero_" else values
        if len(values) != 1:
            raise self.broken(node, f"`.{method.name}` cannot be called so")
        try:
            return self.tried(node, self.allocator.fill, method.tensor, values[0])
        except tensors.NotItsOwn:
            raise refused_attribute(node.func, method.name) from None

    # ------------------------------------------------------------ launches

    def grid(self, node: ast.expr, grid: Any) -> Any:
        """A grid as `launch` takes it: numbers, or a function of the arguments."""
        if isinstance(grid, Own | ast.FunctionDef):
            return lambda given: self._sized(
                node, self._applied(node, grid, [meta(given, "tile_grid_name")], {})
            )
        return self._sized(node, grid)

    def _sized(self, node: ast.expr, grid: Any) -> Any:
        if is_whole(grid):  # Triton takes its length
            raise rejected(node, "tile_grid_number", grid=shown(grid))
        whole = isinstance(grid, tuple | list) and all(is_whole(axis) for axis in grid)
        if not whole or not 1 <= len(grid) <= 3:
            raise rejected(node, "tile_grid", grid=shown(grid))
        return tuple(grid)

    def _launch(self, node: ast.Call, configured: Configured) -> None:
        self.step(node, LAUNCH_STEPS)
        placed = self.spread(node.args)
        arguments, named = [value for _, value in placed], self.keywords(node)
        for given, value in [*placed, *_named(node, named)]:
            grid = configured.grid is None and value is named.get("grid")
            if not passable(value) and not grid:
                raise self.broken(given, f"{kind(value)} cannot be passed to a kernel")
        grid = configured.grid
        if grid is None:  # `kernel.run(..., grid=grid, warmup=False)`
            if "grid" in named and "warmup" not in named:
                raise self.broken(node, "`.run` needs `warmup=False`, too: it has no default")
            if "grid" not in named or named.pop("warmup"):
                raise rejected(node, "launcher_no_grid", name=text(node.func).removesuffix(".run"))
            grid = self.grid(node, named.pop("grid"))
        self._check_options(node, configured.kernel, named)
        try:
            self.launch(configured.kernel, tuple(arguments), grid, named)
        except KernelFault as fault:
            if fault.line is None:
                fault.line = node.lineno
            raise

    def _check_options(self, node: ast.Call, kernel: Any, named: Mapping[str, Any]) -> None:
        """Of what a launch may set beside the parameters, a check lets a few through."""
        parameters = getattr(kernel, "arg_names", ())
        for name in named:
            if name not in parameters and name in option_names() - OPTIONS:
                at = next((k.value for k in node.keywords if k.arg == name), node)
                raise rejected(at, "launcher_option", name=name)


def meta(given: Mapping[str, Any], lacking: str) -> Meta:
    """A launch's arguments; `lacking` is the message where one is asked for that is not there."""
    values = {name: v if isinstance(v, torch.Tensor) else listed(v) for name, v in given.items()}
    return Meta({name: v for name, v in values.items() if v is not MISSING}, lacking)


def _named(node: ast.Call, named: dict[str, Any]) -> list[tuple[ast.expr, Any]]:
    """Arguments by name, each with its place; those of a `**` stand at the call."""
    places = {keyword.arg: keyword.value for keyword in node.keywords}
    return [(places.get(name, node), value) for name, value in named.items()]


def _dict(arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[Any, Any]:
    if len(arguments) > 1:
        raise NoValue("`dict` takes a dict or pairs, and values by name")
    before = arguments[0] if arguments else {}
    if not isinstance(before, dict):
        pairs = [items_of(pair) for pair in items_of(before)]
        if any(len(pair) != 2 for pair in pairs):
            raise NoValue("`dict` takes pairs, of a key and a value")
        before = dict_of([key for key, _ in pairs], [value for _, value in pairs])
    return dict(bounded(before | dict(named)))


def _of_items(owner: Any, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """A method of a list or a dict."""
    if named:
        raise NotHere(f"`.{name}` takes its arguments by position here")
    if isinstance(owner, list) and name in ("append", "extend") and len(args) == 1:
        items = items_of(args[0]) if name == "extend" else [args[0]]
        if any(isinstance(item, tuple | list | dict) and _holds_lists(item) for item in items):
            raise NotHere("a list gains numbers, texts, tuples and configurations here")
        if len(owner) + len(items) > MOST_ITEMS:
            raise NotHere(f"the list would have more than {MOST_ITEMS} items")
        owner.extend(items)
        bounded(owner)
        return None
    if isinstance(owner, tuple | list) and name in ("count", "index") and len(args) == 1:
        return tried(getattr(type(owner), name), bounded(owner), bounded(args[0]))
    if isinstance(owner, tuple) and name == "numel" and not args and all(map(is_whole, owner)):
        return bounded(math.prod(owner))
    if isinstance(owner, dict) and name == "get" and 1 <= len(args) <= 2:
        return owner.get(bounded(args[0]), *args[1:])
    if isinstance(owner, dict) and name in ("items", "keys", "values") and not args:
        return {"items": list(owner.items()), "keys": list(owner), "values": list(owner.values())}[
            name
        ]
    raise NoValue(f"{kind(owner)} has no such `.{name}`")


def _holds_lists(value: Any) -> bool:
    """Whether a list or dict is in it: such a one could still grow."""
    return not isinstance(value, tuple) or any(
        isinstance(item, tuple | list | dict) and _holds_lists(item) for item in value
    )


def _length(arguments: Sequence[Any]) -> int:
    tensor = arguments[0]
    if len(arguments) != 1 or not tensor.ndim:
        raise NoValue("`len` takes a tensor of one axis or more")
    return int(tensor.shape[0])


def _type_limits(arguments: Sequence[Any]) -> Any:
    (dtype,) = arguments if len(arguments) == 1 else (torch.float32,)
    if not isinstance(dtype, torch.dtype):
        raise NoValue(f"it takes a dtype, not {kind(dtype)}")
    ask = torch.finfo if dtype.is_floating_point else torch.iinfo
    return limits(ask(dtype))


_TYPES: dict[Any, Any] = {
    "int": int, "float": float, "bool": bool, "str": str, "tuple": tuple, "list": list,
    "dict": dict, "torch.Tensor": torch.Tensor, "torch.dtype": torch.dtype,
    "torch.device": torch.device,
}  # fmt: skip


def _is_instance(arguments: Sequence[Any]) -> bool:
    if len(arguments) != 2:
        raise NoValue(f"`isinstance` takes 2 arguments, and gets {len(arguments)}")
    asked = arguments[1] if isinstance(arguments[1], tuple) else (arguments[1],)
    if not all(isinstance(one, Ref) and one.path in _TYPES for one in asked):
        raise NotHere("`isinstance` asks here for numbers, texts, tuples, tensors and dtypes")
    return isinstance(arguments[0], tuple(_TYPES[one.path] for one in asked))


_FUNCTIONS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "len": _length,
    "isinstance": _is_instance,
    "str": lambda arguments: shown(arguments[0]) if len(arguments) == 1 else "",
    "torch.device": gpu.device,
    CONSTEXPR: lambda arguments: arguments[0] if len(arguments) == 1 else None,
    FINFO: _type_limits,
    IINFO: _type_limits,
}
