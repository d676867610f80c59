"""A choice between two elements is a choice between two addresses, and one load.

LLVM moves what both ways of a branch do alike down behind it (SinkCommonCodeFromPredecessors), and
does so first of all: of ``v = x[i] if t else y[i]``, and of an ``if`` that says the same, the
address is chosen, and all lanes load. So nothing that is held already helps, but where both are.
Ways that do the same with their elements (``2 * x[i]`` and ``2 * y[i]``) go down as a whole.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.simt.lowering.elsewhere import counted
from course.engine.simt.lowering.expr import Expr
from course.engine.simt.lowering.types import ArrayType
from course.engine.simt.nvvm.work import are_chosen, as_choices, choice_of_elements
from course.engine.simt.running.bounds import Access
from course.engine.simt.running.lanes import Lanes, select
from course.plain.trees import nodes

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


def as_assignments(low: Lowering, node: ast.If) -> list[ast.stmt]:
    """``v = x[i] if t else y[i]``, where an `if` says that, or several such."""
    ways = {id(one) for one in (*node.body, *node.orelse)}
    if not node.orelse or not ways.isdisjoint(low.frame.flow.dead):
        return []
    made = as_choices(node)
    return [*made] if all(_is_of_elements(low, one) for one in nodes(made, ast.IfExp)) else []


def as_one_value(low: Lowering, node: ast.IfExp) -> ast.expr | None:
    """``2 * (x[i] if t else y[i])`` for ``2 * x[i] if t else 2 * y[i]``."""
    if isinstance(node.body, ast.Subscript) or nodes([node.test], ast.Call):
        return None
    made = choice_of_elements(node.test, node.body, node.orelse)
    if made is None or not are_chosen([made]):
        return None
    return made if all(_is_of_elements(low, one) for one in nodes(made, ast.IfExp)) else None


def _is_of_elements(low: Lowering, node: ast.IfExp) -> bool:
    return isinstance(node.body, ast.Constant) or _alike(low, node.body, node.orelse)


def one_load(low: Lowering, node: ast.IfExp, condition: Expr) -> Expr | None:
    """The load of a choice between two elements; none where it is no such choice."""
    registers = low.registers
    if registers.unused or registers.later is not None:
        return None
    if not _alike(low, node.body, node.orelse):
        return None
    holding = [low.held_where.get(holds, registers.held) for holds in (True, False)]
    low.places, loads, sides = [], [], []
    for side in (node.body, node.orelse):
        registers.later = []
        sides.append(low.value(side))
        loads.append(registers.later)
    registers.later, places, low.places = None, low.places, None
    if [len(own) for own in loads] != [1, 1]:  # an index is loaded, too
        return None
    keys = [own[0][0] for own in loads]
    if all(key in held for key, held in zip(keys, holding, strict=True)):
        return None
    test, runs = condition.run, [side.run for side in sides]
    first, second = ((side.lineno, side.col_offset) for side in (node.body, node.orelse))

    def ask(lanes: Lanes, chosen: np.ndarray, asking: bool | np.ndarray) -> None:
        outer = lanes.mask
        # lanes that make their first turn later ask now, too
        asked = outer if isinstance(asking, bool) else asking
        arrays, accesses = [view(lanes) for view, _ in places], []
        for array, (_, made), where in zip(arrays, places, (chosen, ~chosen), strict=True):
            lanes.mask = lanes.both(asked, np.broadcast_to(where, (lanes.threads, lanes.blocks)))
            if lanes.mask.any():
                accesses.append((array, made(lanes)))
        lanes.mask = asked
        if arrays[0] is arrays[1]:
            each = zip(*[access.indices for _, access in accesses], strict=True)
            indices = tuple(one[0] if len(one) == 1 else select(chosen, *one) for one in each)
            arrays[0].count(lanes, Access("load", indices, asked, first))
        else:
            for array, access in accesses:
                array.count(lanes, access)
            if len(accesses) == 2:
                lanes.launch.meter.one_request(lanes, ("load", second), asked, chosen)
        lanes.mask = outer

    count = counted(lambda lanes, asking: ask(lanes, test(lanes), asking), low.names())
    key: Any = None
    if None not in (*keys, condition.key):
        key = ("element", ("either", condition.key), *keys)
    since = max(condition.since, *(own[0][1] for own in loads))
    site, kept = registers.load(key, since, count)

    def run(lanes: Lanes) -> Any:
        chosen, outer = test(lanes), lanes.mask
        found: Any = None
        for side, where in zip(runs, (chosen, ~chosen), strict=True):
            mine = lanes.both(outer, where)
            if mine.any():
                lanes.mask = outer if where.size == 1 else mine
                value = side(lanes)
                found = value if found is None else select(chosen, found, value)
        lanes.mask = outer
        asking = site.counts(lanes)
        if asking is not False:
            ask(lanes, chosen, asking)
        return found

    if kept is None:
        return Expr(sides[0].type, run, masked=True)
    return Expr(sides[0].type, run, ("value", kept.token), kept.since, masked=True)


def _alike(low: Lowering, *sides: ast.expr) -> bool:
    """Whether these are elements of global arrays of one type."""
    found = set()
    for side in sides:
        name = side.value if isinstance(side, ast.Subscript) else None
        binding = low.frame.env.get(name.id) if isinstance(name, ast.Name) else None
        array = binding.type if binding is not None else None
        if not isinstance(array, ArrayType) or array.memory != "global" or array.fields:
            return False
        assert isinstance(side, ast.Subscript)
        index = side.slice.elts if isinstance(side.slice, ast.Tuple) else [side.slice]
        if len(index) != array.ndim or any(isinstance(part, ast.Slice) for part in index):
            return False
        found.add(array.dtype)
    return len(found) == 1
