"""Expressions of a launcher, evaluated from its tree."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from course.faults import KernelFault, Outcome
from course.tile.launcher import tensors
from course.tile.launcher.frames import (
    MESSAGE_CHARACTERS,
    Closure,
    Configured,
    Frame,
    Loop,
    Meta,
    shown,
)
from course.tile.launcher.names import (
    DTYPE_ATTRIBUTES,
    METHODS,
    MISSING,
    PROPERTIES,
    Ref,
    Scope,
    broken,
    is_kernel,
    member,
    refused_attribute,
    refused_member,
    rejected,
    text,
)
from course.tile.launcher.numbers import (
    NoValue,
    binary,
    bounded,
    compare,
    is_number,
    is_whole,
    kind,
    unary,
)


class Expressions:
    """The walker's part that evaluates."""

    scope: Scope
    frame: Frame
    allocator: tensors.Allocator
    steps: int
    step_limit: int
    #: the outermost first
    loops: list[Loop]

    def step(self, node: ast.AST, steps: int = 1) -> None:
        """Counts what is done, so that no launcher goes on for ever."""
        self.steps += steps
        if self.steps > self.step_limit:
            busiest = max(self.loops, key=lambda loop: loop.turn, default=None)
            line = getattr(node, "lineno", None) if busiest is None else busiest.line
            raise KernelFault(Outcome.TIMED_OUT, "launcher_timed_out", line, steps=self.step_limit)

    @contextlib.contextmanager
    def loop(self, node: ast.For | ast.While) -> Iterator[Loop]:
        """A loop, from its first turn to its last."""
        self.loops.append(Loop(node.lineno))
        try:
            yield self.loops[-1]
        finally:
            self.loops.pop()

    def value(self, node: ast.expr) -> Any:
        """Evaluates an expression."""
        self.step(node)
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            raise rejected(node, "launcher_syntax", construct=f"`{text(node)}`")
        return method(self, node)

    def tried(self, node: ast.AST, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the course; what it cannot do becomes a fault at the node."""
        try:
            return function(*arguments)
        except NoValue as why:
            raise broken(node, "launcher_value", construct=text(node), detail=str(why)) from None
        except tensors.TooMuchMemory as why:
            raise broken(
                node, "launcher_memory", bytes=why.size_bytes, limit=self.allocator.limit_bytes
            ) from None
        except tensors.Copies:
            raise rejected(node, "launcher_copies", construct=text(node)) from None
        except tensors.OnTheCpu:
            raise broken(node, "launcher_device", construct=text(node)) from None

    def truth(self, node: ast.expr) -> bool:
        """The truth of a condition."""
        return self._true(node, self.value(node))

    def _true(self, node: ast.expr, value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            raise rejected(node, "launcher_computes", construct=text(node),
                           instead="ask for its shape or dtype")  # fmt: skip
        if value is None or is_number(value) or isinstance(value, str | tuple | list):
            return bool(value)
        raise broken(node, "launcher_value", construct=text(node),
                     detail=f"{kind(value)} is neither true nor false")  # fmt: skip

    def message(self, node: ast.expr) -> str:
        """The text of an assert or raise, with the values that it names."""
        if not isinstance(node, ast.JoinedStr):
            return shown(self.value(node))[:MESSAGE_CHARACTERS]
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and part.format_spec is None:
                parts.append(shown(self.value(part.value)))
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
            else:
                raise rejected(node, "launcher_syntax", construct="a format in an f-string")
        return "".join(parts)[:MESSAGE_CHARACTERS]

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bytes | complex):
            raise rejected(node, "launcher_syntax", construct=f"`{text(node)}`")
        return node.value

    def _name(self, node: ast.Name) -> Any:
        frame: Frame | None = self.frame
        while frame is not None:
            if node.id in frame.variables:
                return frame.variables[node.id]
            if node.id in frame.names:
                raise broken(node, "unassigned_name", name=node.id)
            frame = frame.outer
        return self.scope.resolve(node, node.id)

    def _attribute(self, node: ast.Attribute) -> Any:
        owner, name = self.value(node.value), node.attr
        if isinstance(owner, Ref):
            found = member(owner.path, name)
            if found is MISSING:
                raise refused_member(node, f"{owner.path}.{name}")
            return found
        if isinstance(owner, torch.Tensor):
            if name in PROPERTIES:
                return self.tried(node, tensors.attribute, owner, name)
            if name in METHODS:
                return tensors.Method(owner, name)
        if isinstance(owner, torch.dtype) and name in DTYPE_ATTRIBUTES:
            return tensors.dtype_attribute(owner, name)
        if isinstance(owner, torch.Tensor) or name not in METHODS | PROPERTIES:
            raise refused_attribute(node, name)
        raise broken(node, "launcher_value", construct=text(node),
                     detail=f"{kind(owner)} has no `.{name}`")  # fmt: skip

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.value(node.value), self.value(node.slice)
        if is_kernel(owner):
            return Configured(owner, self.grid(node, index))
        if isinstance(owner, torch.Tensor):
            return self.tried(node, tensors.sliced, owner, index)
        if isinstance(owner, Meta):
            if not isinstance(index, str) or index not in owner.values:
                raise rejected(node, owner.lacking, name=shown(index))
            return owner.values[index]
        if isinstance(owner, tuple | list) and isinstance(index, slice):
            return self.tried(node, _items, owner, index)
        if not isinstance(owner, tuple | list) or not is_whole(index):
            raise broken(node, "launcher_value", construct=text(node),
                         detail=f"{kind(owner)} has no item {shown(index)}")  # fmt: skip
        if not -len(owner) <= index < len(owner):
            raise broken(
                node, "launcher_index", construct=text(node), index=index, items=len(owner)
            )
        return owner[index]

    def _slice(self, node: ast.Slice) -> slice:
        ends = (node.lower, node.upper, node.step)
        return slice(*(None if end is None else self.value(end) for end in ends))

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._list(node))

    def _list(self, node: ast.List | ast.Tuple) -> list[Any]:
        items = [self.value(item) for item in node.elts]
        self.tried(node, bounded, items)
        return items

    def _binary(self, node: ast.BinOp) -> Any:
        return self._operated(node, node.op, self.value(node.left), self.value(node.right))

    def _operated(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            raise rejected(node, "launcher_computes", construct=text(node))
        return self.tried(node, binary, op, left, right)

    def _unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return not self.truth(node.operand)
        value = self.value(node.operand)
        if isinstance(value, torch.Tensor):
            raise rejected(node, "launcher_computes", construct=text(node))
        return self.tried(node, unary, node.op, value)

    def _boolean(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for item in node.values:
            value = self.value(item)
            if self._true(item, value) == isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            asks = isinstance(op, ast.Is | ast.IsNot)
            if not asks and any(isinstance(v, torch.Tensor) for v in (left, right)):
                raise rejected(node, "launcher_computes", construct=text(node))
            if not self.tried(node, compare, op, left, right):
                return False
            left = right
        return True

    def _choice(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.truth(node.test) else node.orelse)

    def _lambda(self, node: ast.Lambda) -> Closure:
        return Closure(node, self.frame)

    def _call(self, node: ast.Call) -> Any:
        raise NotImplementedError

    def grid(self, node: ast.Subscript, grid: Any) -> Any:
        """What stands in the brackets of `kernel[...]`, as a launch takes it."""
        raise NotImplementedError


def _items(owner: Any, index: slice) -> Any:
    bounds = (index.start, index.stop, index.step)
    if not all(b is None or is_whole(b) for b in bounds) or index.step == 0:
        raise NoValue("a slice takes whole numbers, and no step of 0")
    return owner[index]


_EXPRESSIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._list,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.IfExp: Expressions._choice,
    ast.Lambda: Expressions._lambda,
    ast.Call: lambda self, node: self._call(node),
}
