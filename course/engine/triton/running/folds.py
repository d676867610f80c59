"""Reductions and scans: elements along an axis combined by a function of the module's."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.triton.compiling.lowering import MOST_KEPT
from course.engine.triton.ir import Block, Module, Operation
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.operations import rounded

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

#: Combines two lists of arrays of one shape, element by element.
Combine = Callable[[list[Array], list[Array]], list[Array]]


def reduce(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`tt.reduce`."""
    axis, values = operation.integer("axis") + 1, _given(frame, operation)
    fast = _ufunc(operation, machine.module)
    if fast is not None:
        return rounded(fast.reduce(values[0], axis=axis), operation.result_types[0])
    ends = tree(lambda *pairs: _made(machine, frame, operation, *pairs), values, axis)
    return ends[0] if len(ends) == 1 else ends


def scan(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`tt.scan`."""
    axis, values = operation.integer("axis") + 1, _given(frame, operation)
    if operation.attributes.get("reverse", "false").startswith("true"):
        flipped = [np.flip(value, axis) for value in values]
        found = running(lambda *pairs: _made(machine, frame, operation, *pairs), flipped, axis)
        found = [np.flip(value, axis) for value in found]
    else:
        found = running(lambda *pairs: _made(machine, frame, operation, *pairs), values, axis)
    return found[0] if len(found) == 1 else found


def each(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`tt.map_elementwise`: a function of scalars, of each element or of several at once."""
    values, pack = _given(frame, operation), operation.integer("pack")
    shape = values[0].shape
    packs = [np.split(value.reshape(-1, pack), pack, axis=1) for value in values]
    made = _made(machine, frame, operation, [part for parts in packs for part in parts])
    results = [
        np.concatenate(made[at : at + pack], axis=1).reshape(shape)
        for at in range(0, len(made), pack)
    ]
    return results[0] if len(results) == 1 else results


@lru_cache(MOST_KEPT)
def reordered(module: Module) -> frozenset[int]:
    """The numbers of the reshapes that give their elements in whatever order the compiler likes.

    Where reductions alone take the block the compiler says so by itself, and the order is kept:
    nobody asked for another, and the place of a largest element hangs on it.
    """
    found: set[int] = set()
    for function in module.functions.values():
        taken = {
            name
            for operation in function.inside()
            if operation.name not in ("tt.reduce", "tt.histogram")
            for name in operation.operands
        }
        found.update(
            operation.number
            for operation in function.inside()
            if operation.name == "tt.reshape"
            and "allow_reorder" in operation.attributes
            and operation.operand_types[0].shape != operation.result_types[0].shape
            and operation.results[0] in taken
        )
    return frozenset(found)


def _given(frame: Frame, operation: Operation) -> list[Array]:
    """The operands of one length, which is that of all programs where they may differ."""
    values = [frame[name] for name in operation.operands]
    count = max(value.shape[0] for value in values)
    if any(frame[name].shape[0] > 1 for name in _from_outside(operation) if name in frame):
        count = frame.count
    return [
        value
        if value.shape == (count, *type_.shape)
        else np.broadcast_to(value, (count, *type_.shape))
        for value, type_ in zip(values, operation.operand_types, strict=True)
    ]


@lru_cache(1 << 10)
def _from_outside(operation: Operation) -> frozenset[str]:
    """What the function reads that is made neither of its elements nor in it."""
    blocks, operations = operation.regions[0], list(operation.inside())
    made = {name for one in operations for name in one.results}
    arguments = {name for block in blocks for name in block.arguments}
    return frozenset(name for one in operations for name in one.operands) - made - arguments


def _made(machine: Machine, outer: Frame, operation: Operation, *given: list[Array]) -> list[Array]:
    """What the function makes of elements; to it each place is what a program is to a kernel."""
    shape, count = given[0][0].shape, given[0][0].size
    flat = [value.reshape(-1) for values in given for value in values]
    frame = Frame(count, outer, np.repeat(np.arange(shape[0]), count // shape[0]))
    with machine.run.each_as_a_program(count):
        results = machine.function(frame, operation, flat)
    return [np.broadcast_to(value, (count,)).reshape(shape) for value in results]


_UFUNCS = {
    "arith.addf": np.add, "arith.addi": np.add, "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.xori": np.bitwise_xor, "arith.ori": np.bitwise_or, "arith.andi": np.bitwise_and,
}  # fmt: skip
_RETURNS = ("tt.reduce.return", "tt.return")


@lru_cache(1 << 10)
def _ufunc(operation: Operation, module: Module) -> np.ufunc | None:
    """NumPy's own reduction, where one operation combines float32, float64 or integers."""
    if len(operation.operands) != 1 or operation.operand_types[0].scalar in ("f16", "bf16", "i1"):
        return None
    (body,) = operation.regions[0]
    made = _only(body)
    if made is not None and made.name == "tt.call":  # as it is written: the language's own function
        made = _only(module.functions[made.string("callee")].regions[0][0])
    return None if made is None else _UFUNCS.get(made.name)


def _only(body: Block) -> Operation | None:
    """The one operation that makes what a function of two values returns, of both."""
    if len(body.operations) != 2 or body.operations[1].name not in _RETURNS:
        return None
    made, returned = body.operations
    same = sorted(made.operands) == sorted(body.arguments) and returned.operands == made.results
    return made if same else None


def tree(combine: Combine, data: list[Array], axis: int) -> list[Array]:
    """Reduces arrays along one axis, each element with the one that lies half of them further.

    So do lanes and warps, whichever elements a layout gives them: a function whose two operands
    cannot change places gives what nobody meant there.
    """
    while (length := data[0].shape[axis]) > 1:
        half = length // 2  # of a power of two
        first = [_along(d, axis, slice(0, half)) for d in data]
        data = combine(first, [_along(d, axis, slice(half, length)) for d in data])
    return [_along(d, axis, 0) for d in data]


def running(combine: Combine, data: list[Array], axis: int) -> list[Array]:
    """An inclusive scan along one axis, in log2(n) rounds."""
    length, distance = data[0].shape[axis], 1
    while distance < length:
        left = [_along(d, axis, slice(0, length - distance)) for d in data]
        right = [_along(d, axis, slice(distance, length)) for d in data]
        head = [_along(d, axis, slice(0, distance)) for d in data]
        data = [
            np.concatenate(pair, axis=axis) for pair in zip(head, combine(left, right), strict=True)
        ]
        distance *= 2
    return data


def _along(data: Array, axis: int, part: Any) -> Array:
    return data[(slice(None),) * axis + (part,)]


OPERATIONS = {"tt.reduce": reduce, "tt.scan": scan, "tt.map_elementwise": each}
