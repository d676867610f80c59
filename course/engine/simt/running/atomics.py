"""Atomics: every active lane's update happens, in an order that nobody promised."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from course.engine.rounds import rounds
from course.engine.simt.lowering.elements import access_of
from course.engine.simt.lowering.expr import Expr, converted
from course.engine.simt.lowering.parts import indices
from course.engine.simt.lowering.types import ArrayType, is_scalar
from course.engine.simt.running.lanes import Lanes

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

_WORDS = (types.int32, types.int64, types.uint32, types.uint64)
_NUMBERS = (*_WORDS, types.float32, types.float64)


def _increment(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def _decrement(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


#: path: (what a cell becomes from its old value and the operand, element types)
ATOMICS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cuda.atomic.add": (np.add, _NUMBERS),
    "cuda.atomic.sub": (np.subtract, _NUMBERS),
    "cuda.atomic.max": (np.maximum, _NUMBERS),
    "cuda.atomic.min": (np.minimum, _NUMBERS),
    "cuda.atomic.nanmax": (np.fmax, _NUMBERS),
    "cuda.atomic.nanmin": (np.fmin, _NUMBERS),
    "cuda.atomic.and_": (np.bitwise_and, _WORDS),
    "cuda.atomic.or_": (np.bitwise_or, _WORDS),
    "cuda.atomic.xor": (np.bitwise_xor, _WORDS),
    "cuda.atomic.inc": (_increment, (types.uint32, types.uint64)),
    "cuda.atomic.dec": (_decrement, (types.uint32, types.uint64)),
    "cuda.atomic.exch": (lambda old, new: new, _WORDS),
    "cuda.atomic.cas": (np.copyto, _WORDS),
    "cuda.atomic.compare_and_swap": (np.copyto, _WORDS),
}
#: Of a float no GPU has these: what is there is loaded, and exchanged until nobody came between.
_EXCHANGED, _FLOATS = ("sub", "max", "min", "nanmax", "nanmin"), (types.float32, types.float64)
_COMPARING = ("cuda.atomic.cas", "cuda.atomic.compare_and_swap")


def atomic(path: str) -> Callable[[Lowering, ast.Call], Expr]:
    """The lowering of one atomic: ``cuda.atomic.add(array, index, value)`` gives the old value."""
    compute, allowed = ATOMICS[path]
    name = path.rsplit(".", 1)[1]

    def lower(low: Lowering, node: ast.Call) -> Expr:
        unused = low.unused is node
        nodes = list(node.args)
        if path == "cuda.atomic.compare_and_swap" and len(nodes) == 3:
            nodes.insert(1, ast.copy_location(ast.Constant(0), node))
        wanted = 4 if path in _COMPARING else 3
        if len(nodes) != wanted or node.keywords:
            raise low.untyped(node, f"`{ast.unparse(node)}` takes {wanted} arguments by position")
        base = low.value(nodes[0])
        array = base.type
        if not isinstance(array, ArrayType) or array.memory not in ("global", "shared"):
            raise low.untyped(node, f"`{ast.unparse(nodes[0])}` is no global or shared array")
        index = indices(low, base, nodes[1])
        if len(index) != array.ndim:
            raise low.untyped(
                node,
                f"`{ast.unparse(nodes[0])}` {array.has_axes(len(index))}: give several as a tuple",
            )
        if array.dtype not in allowed:
            listed = ", ".join(str(type_) for type_ in allowed)
            raise low.untyped(
                node, f"cuda.atomic.{name} works on {listed}, and this array is {array.dtype}"
            )
        operands = []
        for operand in nodes[2:]:
            value = low.scalar(operand)
            assert is_scalar(value.type)
            operands.append(converted(value, array.dtype))
        low.stores_to(base)
        if array.memory == "global":
            low.registers.clobber()
        aggregated = ""
        if name == "add" and array.dtype in (types.int32, types.uint32):
            aggregated = "reduction" if unused else "atomic"
        made = access_of("atomic", index, node, aggregated)
        exchanged = array.memory == "global" and array.dtype in _FLOATS and name in _EXCHANGED

        def run(lanes: Lanes) -> Any:
            view = base.run(lanes)
            active = lanes.active(lanes.mask)
            values = [active.of(operand.run(lanes)) for operand in operands]
            access = made(lanes)
            memory, cells = view.update(lanes, access._replace(taken=not unused))
            if exchanged:
                view.count(lanes, access._replace(direction="load"))
            if unused and isinstance(compute, np.ufunc):
                compute.at(memory, cells, values[0])
                return None
            old = _in_turn(memory, cells, values, None if path in _COMPARING else compute)
            return _spread_back(lanes, old)

        return Expr(array.dtype, run, masked=True)

    return lower


def _in_turn(
    memory: np.ndarray,
    cells: np.ndarray,
    values: list[np.ndarray],
    compute: Callable[..., Any] | None,
) -> np.ndarray:
    """Lane after lane on each cell; returns what each lane found there."""
    old = np.empty(len(cells), memory.dtype)
    for turn in rounds(cells):
        cell = cells[turn]
        found = memory[cell]
        old[turn] = found
        if compute is None:
            memory[cell] = np.where(found == values[0][turn], values[1][turn], found)
        else:
            memory[cell] = compute(found, values[0][turn])
    return old


def _spread_back(lanes: Lanes, active: np.ndarray) -> np.ndarray:
    """(threads, blocks) from the active lanes' values."""
    if lanes.mask is None:
        return active.reshape(lanes.threads, lanes.blocks)
    whole = np.zeros((lanes.threads, lanes.blocks), active.dtype)
    whole[lanes.spread(lanes.mask)] = active
    return whole
