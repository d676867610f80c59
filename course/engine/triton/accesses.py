"""Global memory through pointers: each access goes to `Memory`, which checks and counts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import triton.language as tl

from course.engine.tile.transfers import item_bytes, of_one_tensor
from course.engine.tile.values import Unsupported, Value
from course.engine.triton.counts import mask_of
from course.engine.triton.frames import Array, Frame
from course.engine.triton.ir import Operation, Type

if TYPE_CHECKING:
    from course.engine.triton.machine import Machine

_TYPES = {
    "i1": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32, "i64": tl.int64,
    "f16": tl.float16, "bf16": tl.bfloat16, "f32": tl.float32, "f64": tl.float64,
}  # fmt: skip
#: `atomic_rmw_op`
_UPDATES = (
    "", "AND", "OR", "XOR", "ADD", "FADD", "MAX", "MIN", "UMAX", "UMIN", "XCHG",
)  # fmt: skip
#: `sem` and `scope` of an atomic
_ORDERS = ("", "RELAXED", "ACQUIRE", "RELEASE", "ACQUIRE_RELEASE")
_SCOPES = ("", "GPU", "CTA", "SYSTEM")


def pointer(machine: Machine, data: Array, type_: Type, shape: tuple[int, ...]) -> Value:
    """Addresses of elements; `type_` is a pointer's, or that of a block of pointers."""
    element = type_.element if type_.kind == "tensor" else type_
    pointee = None if element is None else element.element
    scalar = None if pointee is None else _TYPES.get(pointee.text)
    if scalar is None:
        raise Unsupported(f"memory of type {type_.text}")
    found = Value(data, tl.pointer_type(scalar), shape)
    found.heard = machine.heard_of(data)
    return found


def _operand(machine: Machine, frame: Frame, operation: Operation, at: int = 0) -> Value:
    type_ = operation.operand_types[at]
    return pointer(machine, frame[operation.operands[at]], type_, type_.shape)


def _mask(machine: Machine, frame: Frame, operation: Operation) -> Value | None:
    name = mask_of(operation)
    if name is None:
        return None
    found = Value(frame[name], tl.int1, operation.operand_types[0].shape)
    found.heard = machine.heard_of(found.data)
    return found


def _element(frame: Frame, operation: Operation, at: int, like: Value) -> Value | None:
    """The values of an operand that has the type of the elements at `like`."""
    if len(operation.operands) <= at:
        return None
    return Value(frame[operation.operands[at]], like.type.element_ty, like.shape)


def add(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.addptr`: offsets are signed."""
    base, steps = (frame[name] for name in operation.operands)
    type_ = operation.operand_types[0]
    size = item_bytes(pointer(machine, base, type_, type_.shape).type)
    moved: Array = base + steps.astype(np.int64) * size
    # no other offset is long enough to come to another tensor's memory
    return of_one_tensor(base, moved) if steps.dtype.itemsize > 4 else moved


def load(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.load`."""
    machine.meter.operation = operation
    there = _operand(machine, frame, operation)
    other = _element(frame, operation, 2, there)
    found: Array = machine.memory.load(there, _mask(machine, frame, operation), other).data
    return found


def store(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`tt.store`."""
    machine.meter.operation = operation
    there = _operand(machine, frame, operation)
    value = _element(frame, operation, 1, there)
    assert value is not None
    machine.memory.store(there, value, _mask(machine, frame, operation))


def _policy(operation: Operation) -> tuple[str, str]:
    return _ORDERS[operation.integer("sem")], _SCOPES[operation.integer("scope")]


def update(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.atomic_rmw`: gives what was there."""
    machine.meter.operation = operation
    there = _operand(machine, frame, operation)
    value = _element(frame, operation, 1, there)
    assert value is not None
    kind = _UPDATES[operation.integer("atomic_rmw_op")]
    mask = _mask(machine, frame, operation)
    return machine.told(machine.memory.atomic(kind, there, value, mask, policy=_policy(operation)))


def exchange(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.atomic_cas`: gives what was there."""
    machine.meter.operation = operation
    there = _operand(machine, frame, operation)
    expected = _element(frame, operation, 1, there)
    value = _element(frame, operation, 2, there)
    assert value is not None
    return machine.told(
        machine.memory.atomic("CAS", there, value, None, expected, policy=_policy(operation))
    )


def copy(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttg.async_copy_global_to_local`: what it copies is there at once."""
    machine.meter.operation = operation
    there = _operand(machine, frame, operation)
    other = _element(frame, operation, 3, there)
    with machine.run.ahead() as moved:
        found = machine.memory.load(there, _mask(machine, frame, operation), other)
    frame[operation.operands[1]].put(machine.rows, found.data, moved)


OPERATIONS = {
    "tt.addptr": add, "tt.load": load, "tt.store": store, "tt.atomic_rmw": update,
    "tt.atomic_cas": exchange, "ttg.async_copy_global_to_local": copy,
}  # fmt: skip
