"""Reductions and scans: elements along an axis combined by a function of the module's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.tile.regions import running, tree
from course.engine.triton.frames import Array, Frame
from course.engine.triton.ir import Operation
from course.engine.triton.operations import rounded, whole

if TYPE_CHECKING:
    from course.engine.triton.machine import Machine


def reduce(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`tt.reduce`."""
    axis, values = operation.integer("axis") + 1, _given(frame, operation)
    fast = _ufunc(operation)
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


def _given(frame: Frame, operation: Operation) -> list[Array]:
    """The operands of one length, which is that of all programs where they may differ."""
    values = [frame[name] for name in operation.operands]
    count = max(value.shape[0] for value in values)
    (body,) = operation.regions[0]
    inside = {*body.arguments, *(name for one in body.operations for name in one.results)}
    read = {name for one in body.operations for name in one.operands}
    if any(frame[name].shape[0] > 1 for name in read - inside if name in frame):
        count = frame.count
    shapes = [type_.shape for type_ in operation.operand_types]
    return [
        np.broadcast_to(whole(value, shape), (count, *shape))
        for value, shape in zip(values, shapes, strict=True)
    ]


def _made(machine: Machine, outer: Frame, operation: Operation, *given: list[Array]) -> list[Array]:
    """What the function makes of elements; to it each place is what a program is to a kernel."""
    (body,) = operation.regions[0]
    shape, count = given[0][0].shape, given[0][0].size
    flat = [value.reshape(-1) for values in given for value in values]
    frame = Frame(count, outer, np.repeat(np.arange(shape[0]), count // shape[0]))
    frame.values.update(zip(body.arguments, flat, strict=True))
    with machine.run.each_as_a_program(count):
        results = machine.yielded(frame, body)
    return [np.broadcast_to(value, (count,)).reshape(shape) for value in results]


_UFUNCS = {
    "arith.addf": np.add, "arith.addi": np.add, "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.xori": np.bitwise_xor, "arith.ori": np.bitwise_or, "arith.andi": np.bitwise_and,
}  # fmt: skip


def _ufunc(operation: Operation) -> np.ufunc | None:
    """NumPy's own reduction, where one operation combines float32, float64 or integers."""
    (body,) = operation.regions[0]
    if len(body.operations) != 2 or len(operation.operands) != 1:
        return None
    made, returned = body.operations
    if operation.operand_types[0].scalar in ("f16", "bf16", "i1"):
        return None
    if returned.operands != made.results or sorted(made.operands) != sorted(body.arguments):
        return None
    return _UFUNCS.get(made.name)


OPERATIONS = {"tt.reduce": reduce, "tt.scan": scan, "tt.map_elementwise": each}
