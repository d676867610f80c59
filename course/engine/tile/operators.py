"""Operators of a kernel: they go to Triton's own methods, on tensors and on constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import triton.language as tl

from course.engine.faults import KernelFault, Outcome
from course.engine.tile.constants import TooLargeError, require_small
from course.engine.tile.contraction import read_so_often
from course.engine.tile.run import Run
from course.engine.tile.semantic import Semantic
from course.engine.tile.values import Unsupported
from course.engine.triton.complaints import in_full
from course.engine.triton.versions import TAKES_CHAINS

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
    text = in_full(error) or (str(cause) if cause else "") or type(error).__name__
    return " ".join(text.split()).rstrip(".")


class Operators:
    """The walker's part that carries out arithmetic, comparisons and logic."""

    semantic: Semantic
    frame: Any
    run: Run
    refuse: Callable[..., KernelFault]
    at: Callable[[ast.AST], None]
    value: Callable[[ast.expr | None], Any]
    call: Callable[..., Any]

    def too_large(self, error: TooLargeError) -> KernelFault:
        """A constant that is too large to work out."""
        return self.run.fault(Outcome.REJECTED, "tile_large_constant", detail=str(error))

    def _binary(self, node: ast.BinOp) -> Any:
        name = _BINARY.get(type(node.op))
        if name is None:
            raise self.refuse(f"Triton has no operator for `{ast.unparse(node)}`", node)
        result = self._operator(node, name, self.value(node.left), self.value(node.right))
        if node in self.frame.code.products:
            read_so_often(result, self.frame.code.products[node])
        return result

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
        except TooLargeError as error:
            raise self.too_large(error) from None
        except Exception as error:
            raise self.refuse(said(error), node) from None
        return self.call(node, method, [right], {})

    def _compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1:
            return next(self._comparisons(node))
        if not TAKES_CHAINS:
            raise self.refuse("a chain of comparisons; write two, joined by `&`", node)
        return self._all_or_any(node, "logical_and", self._comparisons(node))

    def _comparisons(self, node: ast.Compare) -> Iterator[Any]:
        """Each comparison of a chain, when it is asked for; what stands between two is met once."""
        left = self.value(node.left)
        for operation, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            if isinstance(operation, ast.Is | ast.IsNot):
                same = plain(left) is plain(right)
                yield tl.constexpr(same == isinstance(operation, ast.Is))
            else:
                name = _BINARY.get(type(operation))
                if name is None:
                    raise self.refuse(f"Triton has no comparison `{ast.unparse(node)}`", node)
                yield self._operator(node, name, left, right)
            left = right

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
        return self._all_or_any(node, name, map(self.value, node.values))

    def _all_or_any(self, node: ast.expr, name: str, values: Iterable[Any]) -> Any:
        """All values, or one of them, the constants taken one by one as Python does."""
        tensors: list[Any] = []
        value: Any = None
        for value in values:
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
