"""Expressions of a kernel, read from its syntax tree: nothing of the learner's is executed.

The rules are those of Triton's own front end: constants stay `constexpr`, operators go to the
tensor's methods, library functions in Python (`tl.sum`, `tl.zeros`) are walked like the
learner's own. What Triton refuses is refused with its own words, and the line.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice
from triton.runtime.jit import JITFunction

from course.engine.faults import KernelFault, Outcome
from course.engine.tile.constants import TooLargeError, require_few
from course.engine.tile.operators import Operators, plain, said
from course.engine.tile.run import Run
from course.engine.tile.semantic import Semantic
from course.engine.tile.values import Unsupported, tuple_of
from course.engine.triton.complaints import refusal
from course.engine.triton.functions import (
    Code,
    allowed_global,
    is_constexpr_function,
    is_namedtuple,
)

_MISSING = object()
_BUILTINS: dict[str, Any] = {
    "len": len,
    "list": list,
    "range": range,
    "float": float,
    "int": int,
    "bool": bool,
    "isinstance": isinstance,
    "getattr": getattr,
    "hasattr": hasattr,
    "print": tl.device_print,
    "min": getattr(tl.core, "builtin_min", min),
    "max": getattr(tl.core, "builtin_max", max),
}
#: modules that stand for the target's own
_TARGET_MODULES = {"triton.language.extra.libdevice": libdevice}
#: host functions on constants that a kernel may call by name
_HOST = (triton.cdiv, triton.next_power_of_2)


#: functions of `math` that a kernel may call on constants
_MATHEMATICS = (
    *(math.sqrt, math.exp, math.log, math.log2, math.log10, math.floor, math.ceil, math.pow),
    *(math.fabs, math.sin, math.cos, math.tan, math.tanh, math.isnan, math.isinf),
)


class Frame:
    """One call: its variables, and what groups of programs have returned."""

    def __init__(self, code: Code, variables: dict[str, Any]) -> None:
        self.code = code
        self.vars = variables
        self.returns: list[tuple[Any, Any]] = []


class Bound:
    """A library function in Python that was looked up on a tensor: ``x.sum``."""

    def __init__(self, owner: Any, function: Any) -> None:
        self.owner = owner
        self.function = function


def is_value(value: Any) -> bool:
    """Whether Triton calls it a value: a tensor, a tuple, a constant, a descriptor."""
    return isinstance(value, tl.core.base_value)


class Expressions(Operators):
    """The walker's part that evaluates."""

    run: Run
    semantic: Semantic
    frame: Frame
    call_JitFunction: Callable[..., Any]
    _signatures: dict[Any, tuple[bool, bool]]

    def refuse(self, detail: str, node: ast.AST | None = None) -> KernelFault:
        """A construct that Triton's compiler refuses."""
        if node is not None:
            self.at(node)
        message_id, fields = refusal(detail, self.run.code)
        return self.run.fault(Outcome.DOES_NOT_COMPILE, message_id, **fields)

    def at(self, node: ast.AST) -> None:
        """Notes the place that is being executed, where the learner wrote it."""
        if self.frame.code.own and isinstance(node, ast.stmt | ast.expr):
            self.run.filename = self.frame.code.filename
            self.run.line = node.lineno
            self.run.column = node.col_offset

    def value(self, node: ast.expr | None) -> Any:
        """Evaluates an expression."""
        if node is None:
            return None
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            raise self.refuse(f"`{ast.unparse(node)}` is not part of Triton's language", node)
        return method(self, node)

    # ------------------------------------------------------------ names and constants

    def _constant(self, node: ast.Constant) -> Any:
        return tl.constexpr(node.value)

    def _name(self, node: ast.Name) -> Any:
        found = self.frame.vars.get(node.id, _MISSING)
        if found is not _MISSING:
            return found
        found = self.frame.code.scope.get(node.id, _MISSING)
        if found is not _MISSING:
            module = _TARGET_MODULES.get(getattr(found, "__module__", ""))
            if module is not None:
                return getattr(module, found.__name__)
            if allowed_global(found) or node.id in _BUILTINS or found in _HOST:
                return found
            self.at(node)
            if inspect.isroutine(found):
                raise self.run.fault(Outcome.DOES_NOT_COMPILE, "triton_foreign_call", name=node.id)
            raise self.run.fault(
                Outcome.DOES_NOT_COMPILE, "triton_global", name=node.id, got=type(found).__name__
            )
        if node.id in _BUILTINS:
            return _BUILTINS[node.id]
        self.at(node)
        raise self._undefined(node.id)

    def _undefined(self, name: str) -> KernelFault:
        """A name without a value."""
        if any(name in self.frame.code.assigned(node) for node in self.frame.code.body):
            message_id = "tile_no_value"
        else:
            message_id = "missing_prefix" if hasattr(tl, name) else "tile_undefined"
        return self.run.fault(Outcome.DOES_NOT_COMPILE, message_id, name=name, path=f"tl.{name}")

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, ModuleType):
            owner = _TARGET_MODULES.get(owner.__name__, owner)
        try:
            return self.attribute(owner, node.attr)
        except AttributeError as error:
            if isinstance(owner, ModuleType):
                raise self.refuse(f"`{ast.unparse(node)}` does not exist", node) from None
            raise self.refuse(str(error), node) from None

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name`` as Triton finds it."""
        if isinstance(owner, tl.tensor) and name == "T":
            return self.semantic.permute(owner, (1, 0))
        if isinstance(owner, tl.constexpr) and name not in ("value", "type"):
            owner = owner.value
        found = getattr(owner, name)
        if is_value(owner) and isinstance(found, JITFunction):
            return Bound(owner, found)
        return found

    # ------------------------------------------------------------ collections

    def _tuple(self, node: ast.Tuple | ast.List) -> Any:
        items = [self.value(item) for item in node.elts]
        try:
            require_few(items)
        except TooLargeError as error:
            self.at(node)
            raise self.too_large(error) from None
        return tl.tuple(items)

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, part = self.value(node.value), self.value(node.slice)
        if is_value(owner):
            return self.call(node, owner.__getitem__, [part], {})
        return owner[plain(part)]

    def _slice(self, node: ast.Slice) -> Any:
        return tl.slice(self.value(node.lower), self.value(node.upper), self.value(node.step))

    def _comprehension(self, node: ast.ListComp) -> Any:
        if len(node.generators) != 1 or not isinstance(node.generators[0].target, ast.Name):
            raise self.refuse("a nested comprehension", node)
        items = self.value(node.generators[0].iter)
        if not isinstance(items, tl.tuple):
            raise self.refuse("a comprehension over something that is no tuple", node)
        results = []
        for item in items:
            self.frame.vars[node.generators[0].target.id] = item
            results.append(self.value(node.elt))
        return tl.tuple(results)

    def _joined(self, node: ast.JoinedStr) -> Any:
        text = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                value = self.value(part.value)
                if is_value(value) and not isinstance(value, tl.constexpr):
                    raise self.refuse("a value of the run in an f-string", node)
                text.append(str(plain(value)))
        return "".join(text)

    # ------------------------------------------------------------ calls

    def _call(self, node: ast.Call) -> Any:
        function = plain(self.value(node.func))
        if function is tl.static_assert:
            return self._static_assert(node)
        return self._called(node, function)

    def _called(self, node: ast.Call, function: Any) -> Any:
        args: list[Any] = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                several = self.value(item.value)
                if not isinstance(several, tl.tuple):
                    raise self.refuse(f"`{ast.unparse(item)}` is not a tuple", node)
                args.extend(several.values)
            else:
                args.append(self.value(item))
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        self.at(node)
        if function is tl.static_print:
            self.run.print_statically(" ".join(str(plain(a)) for a in args))
            return tl.constexpr(None)
        if function in (int, len, bool, float):
            return self._static(node, function, args)
        return self.call(node, function, args, named)

    def _static_assert(self, node: ast.Call) -> None:
        if not 0 < len(node.args) <= 2 or node.keywords:
            raise self.refuse("`tl.static_assert` takes a condition and, behind it, a text", node)
        passed = plain(self.value(node.args[0]))
        self.at(node)
        if not isinstance(passed, bool):
            raise self.refuse("`tl.static_assert` takes a condition on constants", node)
        if not passed:
            message = plain(self.value(node.args[1])) if len(node.args) > 1 else ""
            said = f": {message}" if message else ""
            raise self.refuse(f"the static_assert does not hold{said}", node)

    def _static(self, node: ast.Call, function: Any, args: list[Any]) -> Any:
        values = [plain(a) for a in args]
        if any(isinstance(v, tl.tensor) for v in values):
            raise self.refuse(f"`{ast.unparse(node)}` needs a constant, and this is a tensor", node)
        try:
            return tl.constexpr(function(*values))
        except Exception as error:
            raise self.refuse(said(error), node) from None

    def call(self, node: ast.AST, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Calls what a kernel may call: Triton's functions, jitted ones, methods of constants."""
        if isinstance(function, Bound):
            args, function = [function.owner, *args], function.function
        elif type(function).__name__ == "BoundConstexprFunction":
            args, function = [function.__self__, *args], function.__func__
        if isinstance(function, JITFunction):
            return self.call_JitFunction(function, args, named)
        owner = getattr(function, "__self__", None)
        constant_function = is_constexpr_function(function)
        ours = (is_value(owner) and not isinstance(owner, tl.constexpr)) or tl.core.is_builtin(
            function
        )
        try:
            if ours or constant_function:
                extra: dict[str, Any] = {}
                semantic, generator = (True, False) if constant_function else self._wants(function)
                if semantic:
                    extra["_semantic"] = self.semantic
                if generator:
                    extra["_generator"] = self
                result = function(*args, **extra, **named)
                return tl.tuple(result) if isinstance(result, tuple) else result
            if isinstance(owner, tl.constexpr) or function in _BUILTINS.values():
                result = function(*[plain(a) for a in args])
            elif function in _HOST:
                result = function(*[plain(a) for a in args], **named)
            elif isinstance(function, type) and str(function.__module__).startswith("triton."):
                return function(*args, **named)
            elif str(getattr(function, "__module__", "")).startswith("triton."):
                result = function(*args, **named)
            elif isinstance(owner, str) or function in _MATHEMATICS:
                result = function(*[plain(a) for a in args])
            elif is_namedtuple(function):
                return tuple_of(function(*args, **named), function._fields)
            else:
                name = getattr(function, "__name__", type(function).__name__)
                raise self.run.fault(Outcome.DOES_NOT_COMPILE, "triton_foreign_call", name=name)
        except (KernelFault, Unsupported):
            raise
        except Exception as error:
            raise self.refuse(said(error), node) from None
        if isinstance(result, tuple):
            return tl.tuple([r if is_value(r) else tl.constexpr(r) for r in result])
        return result if is_value(result) else tl.constexpr(result)

    def _wants(self, function: Any) -> tuple[bool, bool]:
        """Whether it takes `_semantic` and `_generator`."""
        key = getattr(function, "__func__", function)
        found = self._signatures.get(key)
        if found is None:
            parameters = (getattr(key, "signature", None) or inspect.signature(key)).parameters
            found = ("_semantic" in parameters, "_generator" in parameters)
            self._signatures[key] = found
        return found

    def _choice(self, node: ast.IfExp) -> Any:
        raise NotImplementedError


_EXPRESSIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.BinOp: Expressions._binary,
    ast.Compare: Expressions._compare,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._tuple,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.ListComp: Expressions._comprehension,
    ast.JoinedStr: Expressions._joined,
    ast.Call: Expressions._call,
    ast.IfExp: lambda self, node: self._choice(node),
}
