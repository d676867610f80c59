"""Expressions of a launcher: arithmetic on plain values, and tensors looked at and viewed."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton.language as tl

from course.engine.faults import KernelFault, Outcome, rejected
from course.engine.launcher import tensors
from course.engine.launcher.admission import formats
from course.engine.launcher.frames import (
    MESSAGE_CHARACTERS,
    Closure,
    Config,
    Configured,
    Loop,
    Meta,
    shown,
)
from course.engine.launcher.names import (
    CONFIG_OPTIONS,
    DTYPE_ATTRIBUTES,
    ITEMS,
    METHODS,
    MISSING,
    PROPERTIES,
    Ref,
    is_kernel,
    member,
    refused_attribute,
    refused_member,
    resolve,
    text,
)
from course.plain.arithmetic import (
    TOLD_OF_TYPES,
    Facts,
    NoValue,
    binary,
    is_whole,
    kind,
    truth,
    unary,
)
from course.plain.evaluator import Evaluator


class Expressions(Evaluator):
    """The walker's part that evaluates."""

    #: how it ends where Python raises an error
    stops: Outcome
    allocator: tensors.Allocator
    #: the outermost first
    loops: list[Loop]

    # ------------------------------------------------------------ faults

    def late(self, node: ast.AST) -> KernelFault:
        busiest = max(self.loops, key=lambda loop: loop.turn, default=None)
        line = getattr(node, "lineno", None) if busiest is None else busiest.line
        return KernelFault(Outcome.TIMED_OUT, "launcher_timed_out", line, steps=self.step_limit)

    def stopped(self, node: ast.AST, message_id: str, **fields: object) -> KernelFault:
        """What Python raises an error for, and not a compiler."""
        return KernelFault(self.stops, message_id, getattr(node, "lineno", None), **fields)

    def broken(self, node: ast.AST, detail: str) -> KernelFault:
        return self.stopped(node, "launcher_value", construct=text(node), detail=detail)

    def beyond(self, node: ast.AST, detail: str) -> KernelFault:
        return rejected(node, "launcher_value", construct=text(node), detail=detail)

    def foreign(self, node: ast.AST, construct: str) -> KernelFault:
        return rejected(node, "launcher_syntax", construct=construct)

    def unassigned(self, node: ast.Name) -> KernelFault:
        return self.stopped(node, "unassigned_name", name=node.id)

    def uneven(self, target: ast.Tuple | ast.List, got: int) -> KernelFault:
        return self.stopped(target, "launcher_unpack", got=got, expected=len(target.elts))

    def tried(self, node: ast.AST, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the course; what it cannot do becomes a fault at the node."""
        if function in (binary, unary) and any(isinstance(a, torch.Tensor) for a in arguments):
            raise rejected(node, "launcher_computes", construct=text(node))
        try:
            return super().tried(node, function, *arguments)
        except tensors.TooMuchMemory as why:
            raise rejected(
                node, "launcher_memory", bytes=why.size_bytes, limit=self.allocator.limit_bytes
            ) from None
        except tensors.Copies:
            raise rejected(node, "launcher_copies", construct=text(node)) from None
        except tensors.OnTheCpu:
            raise self.stopped(node, "launcher_device", construct=text(node)) from None

    # ------------------------------------------------------------ walks

    @contextlib.contextmanager
    def loop(self, node: ast.For | ast.While) -> Iterator[Loop]:
        """A loop, from its first turn to its last."""
        self.loops.append(Loop(node.lineno))
        try:
            yield self.loops[-1]
        finally:
            self.loops.pop()

    def true(self, node: ast.expr, value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            raise rejected(node, "launcher_computes", construct=text(node),
                           instead="ask for its shape or dtype")  # fmt: skip
        return bool(self.tried(node, truth, value))

    def message(self, node: ast.expr) -> str:
        """The text of an assert or raise, with the values that it names."""
        if not isinstance(node, ast.JoinedStr):
            return shown(self.value(node))[:MESSAGE_CHARACTERS]
        return self._joined(node)[:MESSAGE_CHARACTERS]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        """An f-string without formats, as a text."""
        if formats(node):
            raise self.foreign(node, "an f-string with a format outside an `assert` or `raise`")
        text_ = self._joined(node)
        if len(text_) > MESSAGE_CHARACTERS:
            raise self.beyond(node, f"a text has at most {MESSAGE_CHARACTERS} characters here")
        return text_

    def _joined(self, node: ast.JoinedStr) -> str:
        parts = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):  # its format is left out
                parts.append(shown(self.value(part.value)))
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
        return "".join(parts)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        """``(n := value)``: a name of the function's, also where a comprehension binds it."""
        value = self.value(node.value)
        frame = self.frame
        while node.target.id not in frame.names and frame.outer is not None:
            frame = frame.outer
        frame.variables[node.target.id] = value
        return value

    def outside(self, node: ast.Name) -> Any:
        return resolve(self.names, node, node.id)

    def member(self, node: ast.Attribute, owner: Any) -> Any:
        name = node.attr
        if isinstance(owner, Ref):
            found = member(owner.path, name)
            if found is MISSING:
                raise refused_member(node, f"{owner.path}.{name}")
            return found
        if is_kernel(owner) and name == "run":
            return Configured(owner, None)
        if isinstance(owner, torch.Tensor):
            if name in PROPERTIES:
                return self.tried(node, tensors.attribute, owner, name)
            if name in METHODS:
                return tensors.Method(owner, name)
            raise refused_attribute(node, name)
        if isinstance(owner, torch.dtype) and name in DTYPE_ATTRIBUTES:
            return getattr(owner, name)
        if isinstance(owner, torch.device) and name in ("type", "index"):
            return owner.type if name == "type" else owner.index
        if isinstance(owner, Config) and name in CONFIG_OPTIONS | {"kwargs"}:
            return owner.member(name)
        if isinstance(owner, dict | list | tuple) and name in ITEMS:
            return tensors.Method(owner, name)
        if isinstance(owner, dict | list | tuple | str):
            raise rejected(node, "launcher_attribute", name=f".{name}")
        if not isinstance(owner, Facts) and name not in METHODS | PROPERTIES | {*TOLD_OF_TYPES}:
            raise refused_attribute(node, name)
        raise self.broken(node, f"{kind(owner)} has no `.{name}`")

    def item(self, node: ast.Subscript, owner: Any, index: Any) -> Any:
        if is_kernel(owner):
            return Configured(owner, self.grid(node, index))
        if isinstance(owner, torch.Tensor):
            return self.tried(node, tensors.sliced, owner, index)
        if isinstance(owner, Meta):
            if not isinstance(index, str) or index not in owner.values:
                raise rejected(node, owner.lacking, name=shown(index))
            return owner.values[index]
        if isinstance(owner, tuple | list) and is_whole(index):
            if not -len(owner) <= index < len(owner):
                raise self.stopped(
                    node, "launcher_index", construct=text(node), index=index, items=len(owner)
                )
        return super().item(node, owner, index)

    def iterated(self, node: ast.expr, items: Any) -> Any:
        if isinstance(items, torch.Tensor):
            raise rejected(node, "launcher_computes", construct=f"for ... in {text(node)}",
                           instead="a loop over `range(x.shape[0])`")  # fmt: skip
        return super().iterated(node, items)

    def compared(self, node: ast.AST, op: ast.cmpop, left: Any, right: Any) -> bool:
        asks = isinstance(op, ast.Is | ast.IsNot)
        if not asks and any(isinstance(v, torch.Tensor) for v in (left, right)):
            raise rejected(node, "launcher_computes", construct=text(node))
        return super().compared(node, op, left, right)

    def same(self, left: Any, right: Any) -> bool:
        if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            raise NoValue("comparing tensors is a computation")
        if type(left) is not type(right):
            return False
        if isinstance(left, torch.dtype | torch.device | tl.dtype):
            return bool(left == right)
        return left is right

    def right_side(self, op: ast.cmpop, node: ast.expr) -> Any:
        if isinstance(node, ast.Set) and isinstance(op, ast.In | ast.NotIn):
            return tuple(value for _, value in self.spread(node.elts))
        return super().right_side(op, node)

    def visit_Lambda(self, node: ast.Lambda) -> Closure:
        return Closure(node, self.frame)

    def grid(self, node: ast.expr, grid: Any) -> Any:
        """What stands in the brackets of `kernel[...]`, as a launch takes it."""
        raise NotImplementedError
