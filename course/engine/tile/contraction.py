"""Sums that take a product in: the compiler makes one fused multiply-add of the two.

With Triton's default (`enable_fp_fusion=True`), LLVM contracts `x * y + z`, `x * y - z` and
`z - x * y` of one type wherever the product and the sum stand in one straight block of code,
however often the product is used besides; between them it looks through broadcasts alone. A
product that is read once moves to where it is read, behind a loop or under an `if`, and a value
times one number moves into a loop, too (`tests/tile/hardware/contraction.json`, from an H200).
"""

from __future__ import annotations

from typing import Any

import triton.language as tl

from course.engine.tile.elements import fused
from course.engine.tile.values import Product, Value, is_bf16, larger, rounded


def multiply(self: Any, lhs: Value, rhs: Value) -> Value:
    """A product of floats, which remembers its factors."""
    result = Value(rounded(lhs.data * rhs.data, lhs.type), lhs.type, larger(lhs, rhs))
    run = self.run
    result.product = Product(lhs.data, rhs.data, run.merging.block, len(run.loops))
    return result


def add(self: Any, lhs: Value, rhs: Value) -> Value:
    """A sum of floats."""
    left, right = _taken_in(self.run, lhs, rhs)
    if left is not None:
        data = fused(left.x, left.y, rhs.data, is_bf16(lhs.type))
    elif right is not None:
        data = fused(right.x, right.y, lhs.data, is_bf16(lhs.type))
    else:
        data = rounded(lhs.data + rhs.data, lhs.type)
    return Value(data, lhs.type, larger(lhs, rhs))


def subtract(self: Any, lhs: Value, rhs: Value) -> Value:
    """A difference of floats."""
    left, right = _taken_in(self.run, lhs, rhs)
    if left is not None:
        data = fused(left.x, left.y, -rhs.data, is_bf16(lhs.type))
    elif right is not None:
        data = fused(-right.x, right.y, lhs.data, is_bf16(lhs.type))
    else:
        data = rounded(lhs.data - rhs.data, lhs.type)
    return Value(data, lhs.type, larger(lhs, rhs))


def _taken_in(run: Any, lhs: Value, rhs: Value) -> tuple[Product | None, Product | None]:
    """(left, right): the one of two operands whose factors the sum takes in, or none.

    Of two products that is the one with fewer uses, and else the left one.
    """
    if lhs.product is None and rhs.product is None:
        return None, None
    if lhs.starts_empty or rhs.starts_empty:  # the compiler lets `tl.dot` begin with the other
        return None, None
    left, right = _at_hand(run, lhs), _at_hand(run, rhs)
    if left is not None and right is not None and left.uses > right.uses:
        return (left, None) if lhs.number == rhs.number else (None, right)
    return left, right


def _at_hand(run: Any, operand: Value) -> Product | None:
    """The factors of an operand whose product stands where it can be taken in."""
    product = operand.product
    if product is None or product.block is run.merging.block:
        return product
    if product.uses > 1:
        return None
    if len(run.loops) == product.depth:
        return product
    one_number = min(product.x.size // len(product.x), product.y.size // len(product.y)) == 1
    return product if one_number else None


def read_so_often(value: Any, uses: int) -> None:
    """Notes how often the source reads a product: the name that it has, or its expression."""
    # Of a tuple Triton 3.6 takes no question for an attribute that it lacks.
    product = getattr(value.handle, "product", None) if isinstance(value, tl.tensor) else None
    if product is not None:
        product.uses = uses
