"""A branch that does nothing but store: ``out[i] = 0`` and then ``if x[i] > 0: out[i] = 1``.

LLVM makes three things of it, first of all the first:

- SimplifyCFG makes no branch: all lanes store, one value or the other. The store in front of it
  has to be of the same element, a few instructions away, and the question no comparison of floats,
  and no `i > 0 and i < n - 1`, which stays two: an order, and one of what is worked out for it.
- Of two such branches, one behind the other and nothing between them that touches memory, it makes
  one, under either condition. A branch that is none any more only behind another one like it is
  first looked at as one of two.
- InstCombine moves both stores, the branch's and the one in front, down to where the ways meet, if
  nothing else leads there and nothing reads between them.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from typing import Any

from course.engine.simt.lowering.signatures import Function
from course.engine.simt.nvvm.merging import (
    Arm,
    Registers,
    Stored,
    Straight,
    Under,
    is_operator,
    is_worked_out,
    old_enough,
)
from course.engine.simt.nvvm.ranges import compares_floats, renames
from course.plain.trees import nodes

#: Instructions among which the store in front is looked for, the branch itself among them.
MOST_LOOKED_AT = 9
#: Operators beside the store, in a branch that is made one with another.
MOST_BESIDE = 3
_ORDERS = ("lt", "le", "gt", "ge")


def lone_store(way: Arm, inside: Straight, other: Arm) -> Stored | None:
    """The store that one way through a branch makes, behind operators, while the other is empty."""
    *before, last = way.steps or [None]
    alone = isinstance(last, Stored) and len(way.closed) == 1 and not inside.elsewhere
    if not alone or other.steps or other.closed or not all(map(is_worked_out, before)):
        return None
    assert isinstance(last, Stored)
    return last if last.key is not None and old_enough(last.key, way.version) else None


def is_worth_it(stored: Stored, beside: Sequence[Hashable]) -> bool:
    """Whether a branch is small enough to become one with another."""
    return len(beside) <= (1 if stored.rounded else MOST_BESIDE) and all(map(is_operator, beside))


def joins(under: Under, stored: Stored, beside: Sequence[Hashable], registers: Registers) -> bool:
    """Whether a branch's store becomes one with that of the branch in front."""
    if not is_worth_it(stored, beside) or under.stored.key != stored.key:
        return False
    return any(stored.key in arm.steps or stored.key in arm.places for arm in registers.arms)


def sinks(way: list[ast.stmt], function: Function) -> bool:
    """Whether what a branch stores is worked out for it alone, and so in it."""
    value = way[0].value if isinstance(way[0], ast.Assign) else None
    if not isinstance(value, ast.Name) or value.id in function.parameters:
        return False
    used = sum(one.id == value.id for one in nodes(function.body, ast.Name))
    return used == 2  # it is given there, and read


def _stays_two(condition: Any) -> bool:
    """Whether it is an order, and one of what is worked out for it."""
    if not isinstance(condition, tuple) or condition[0] != "and":
        return False
    (first, *sides), (_, *others) = condition[-2:]
    return first[0] in _ORDERS and any(map(is_operator, {*others} - {*sides}))


def is_made_by_all(
    before: Straight, stored: Stored, beside: Sequence[Hashable], condition: Hashable, holds: bool
) -> bool:
    """Whether all lanes make the store of a branch, behind this piece of code."""
    if beside or before.last is None or before.last.key != stored.key:
        return False
    # its address may be another one there
    if renames(condition, holds, stored.key) or _stays_two(condition):
        return False
    return before.behind < MOST_LOOKED_AT and not compares_floats(condition)
