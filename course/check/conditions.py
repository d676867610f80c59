"""What has to hold for a line to run, and what that says of a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from course.plain.evaluator import is_name


@dataclass(frozen=True)
class Condition:
    """A test that decides whether a line runs; `holds` says how it came out where it does."""

    test: ast.expr
    holds: bool

    def comparisons(self) -> Iterator[Comparison]:
        """The comparisons that all hold where the line runs; none of an `or`."""
        waiting = [(self.test, self.holds)]
        while waiting:
            test, holds = waiting.pop()
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                waiting.append((test.operand, not holds))
            elif isinstance(test, ast.BoolOp):
                if isinstance(test.op, ast.And) == holds:
                    waiting += [(value, holds) for value in test.values]
            elif isinstance(test, ast.Compare):
                sides = [test.left, *test.comparators]
                for left, op, right in zip(sides, test.ops, sides[1:], strict=False):
                    yield Comparison(left, op, right, holds)

    @property
    def loose(self) -> bool:
        """Whether one of several comparisons is enough for the line to run."""
        test = self.test
        return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) == self.holds


@dataclass(frozen=True)
class Comparison:
    """`left op right`, or its contrary where `holds` is false."""

    left: ast.expr
    op: ast.cmpop
    right: ast.expr
    holds: bool

    @property
    def is_equality(self) -> bool:
        """Whether the two are equal where the line runs."""
        return isinstance(self.op, ast.Eq if self.holds else ast.NotEq)

    def bounds(self, name: str) -> tuple[ast.expr, bool] | None:
        """What `name` stays below, and whether it may equal that; None where it bounds nothing."""
        below = (ast.Lt, ast.LtE) if self.holds else (ast.GtE, ast.Gt)
        above = (ast.Gt, ast.GtE) if self.holds else (ast.LtE, ast.Lt)
        if is_name(self.left, name) and isinstance(self.op, below):
            return self.right, isinstance(self.op, below[1])
        if is_name(self.right, name) and isinstance(self.op, above):
            return self.left, isinstance(self.op, above[1])
        return None
