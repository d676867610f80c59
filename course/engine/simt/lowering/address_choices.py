"""A choice between two elements is a choice between two addresses, and one load.

LLVM moves what both ways of a branch do alike down behind it (SinkCommonCodeFromPredecessors), and
does so first of all: of ``v = x[i] if t else y[i]``, and of an ``if`` that says the same, the
address is chosen, and all lanes load. So nothing that is held already helps, but where both are.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.simt.lowering.elsewhere import counted
from course.engine.simt.lowering.expr import Expr
from course.engine.simt.lowering.types import ArrayType
from course.engine.simt.nvvm.work import is_choice
from course.engine.simt.running.bounds import Access
from course.engine.simt.running.lanes import Lanes, select

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


def as_assignment(low: Lowering, node: ast.If) -> ast.Assign | None:
    """``v = x[i] if t else y[i]``, where an `if` says that."""
    if not is_choice(node):
        return None
    then, other = node.body[0], node.orelse[0]
    assert isinstance(then, ast.Assign)
    assert isinstance(other, ast.Assign)
    if low.frame.flow.dead & {id(then), id(other)}:
        return None
    if not _alike(low, then.value, other.value):
        return None
    value = ast.copy_location(ast.IfExp(node.test, then.value, other.value), node)
    return ast.copy_location(ast.Assign(then.targets, value), node)


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
