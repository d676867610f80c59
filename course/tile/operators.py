"""Operators of a kernel: they go to Triton's own methods, on tensors and on constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import triton.language as tl

from course.faults import KernelFault
from course.tile.constants import require_small
from course.tile.semantic import Semantic
from course.tile.values import Unsupported

_BINARY = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__",
    ast.Pow: "__pow__",
    ast.LShift: "__lshift__",
    ast.RShift: "__rshift__",
    ast.BitAnd: "__and__",
    ast.BitOr: "__or__",
    ast.BitXor: "__xor__",
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}
_UNARY = {
    ast.USub: "__neg__",
    ast.UAdd: "__pos__",
    ast.Not: "__not__",
    ast.Invert: "__invert__",
}


def plain(value: Any) -> Any:
    """The Python value of a `constexpr`; anything else as it is."""
    return value.value if isinstance(value, tl.constexpr) else value


def said(error: BaseException) -> str:
    """What an exception of Triton's says, as the end of a sentence."""
    cause = error.__cause__
    text = str(error) or (str(cause) if cause else "") or type(error).__name__
    return " ".join(text.split()).rstrip(".")


class Operators:
    """The walker's part that carries out arithmetic, comparisons and logic."""

    semantic: Semantic
    refuse: Callable[..., KernelFault]
    at: Callable[[ast.AST], None]
    value: Callable[[ast.expr | None], Any]
    call: Callable[..., Any]

    def _binary(self, node: ast.BinOp) -> Any:
        name = _BINARY.get(type(node.op))
        if name is None:
            raise self.refuse(f"Triton has no operator for `{ast.unparse(node)}`", node)
        return self._operator(node, name, self.value(node.left), self.value(node.right))

    def _operator(self, node: ast.expr, name: str, left: Any, right: Any) -> Any:
        self.at(node)
        try:
            if isinstance(left, tl.tensor):
                return getattr(left, name)(right, _semantic=self.semantic)
            if isinstance(right, tl.tensor):
                reverse = re.sub(r"__(.*)__", r"__r\1__", name)
                return getattr(right, reverse)(left, _semantic=self.semantic)
            if not isinstance(left, tl.constexpr | tl.tuple) and isinstance(right, tl.constexpr):
                left = tl.constexpr(left)
            require_small(name, plain(left), plain(right))
            method = getattr(left, name)
        except (KernelFault, Unsupported):
            raise
        except Exception as error:
            raise self.refuse(said(error), node) from None
        return self.call(node, method, [right], {})

    def _compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            raise self.refuse("a chain of comparisons; write two, joined by `&`", node)
        left, right = self.value(node.left), self.value(node.comparators[0])
        if isinstance(node.ops[0], ast.Is):
            return tl.constexpr(plain(left) is plain(right))
        if isinstance(node.ops[0], ast.IsNot):
            return tl.constexpr(plain(left) is not plain(right))
        name = _BINARY.get(type(node.ops[0]))
        if name is None:
            raise self.refuse(f"Triton has no comparison `{ast.unparse(node)}`", node)
        return self._operator(node, name, left, right)

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        name = _UNARY[type(node.op)]
        self.at(node)
        try:
            if isinstance(operand, tl.tensor):
                return getattr(operand, name)(_semantic=self.semantic)
            if name == "__not__" and not hasattr(operand, name):
                return tl.constexpr(not operand)
            return getattr(operand, name)()
        except (KernelFault, Unsupported):
            raise
        except Exception as error:
            raise self.refuse(said(error), node) from None

    def _boolean(self, node: ast.BoolOp) -> Any:
        name = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        tensors: list[Any] = []
        value: Any = None
        for item in node.values:
            value = self.value(item)
            if isinstance(value, tl.tensor):
                tensors.append(value)
            elif bool(value) == (name == "logical_or"):
                return value
        if not tensors:
            return value
        while len(tensors) > 1:
            right = tensors.pop()
            tensors.append(self._operator(node, name, tensors.pop(), right))
        return tensors[0]
