"""Global memory through pointers: each access goes to `Memory`, which checks and counts it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from course.engine.triton.compiling.lowering import MOST_KEPT
from course.engine.triton.ir import Module, Operation, Type
from course.engine.triton.running.addresses import of_one_tensor
from course.engine.triton.running.counts import mask_of
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.hints import as_taken
from course.engine.triton.running.values import NUMPY, Unsupported, Value, item_bytes

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

#: `atomic_rmw_op`
_UPDATES = (
    "", "AND", "OR", "XOR", "ADD", "FADD", "MAX", "MIN", "UMAX", "UMIN", "XCHG",
)  # fmt: skip
#: `sem` and `scope` of an atomic
_ORDERS = ("", "RELAXED", "ACQUIRE", "RELEASE", "ACQUIRE_RELEASE")
_SCOPES = ("", "GPU", "CTA", "SYSTEM")


def pointer(machine: Machine, data: Array, type_: Type, shape: tuple[int, ...]) -> Value:
    """Addresses of elements; `type_` is a pointer's, or that of a block of pointers."""
    found = Value(data, _pointee(type_), shape)
    found.heard = machine.heard_of(data)
    return found


@lru_cache(1 << 10)
def _pointee(type_: Type) -> str:
    """The type of what lies where a pointer, or a block of pointers, points."""
    element = type_.element if type_.kind == "tensor" else type_
    pointee = None if element is None else element.element
    if pointee is None or pointee.text not in NUMPY:
        raise Unsupported(f"memory of type {type_.text}")
    return pointee.text


def _asked(machine: Machine, frame: Frame, operation: Operation) -> tuple[Value, Value | None]:
    """(addresses, mask) of an access, which from now on is the one that is being made."""
    machine.meter.operation = operation
    type_ = operation.operand_types[0]
    there, mask = pointer(machine, frame[operation.operands[0]], type_, type_.shape), None
    if (name := mask_of(operation)) is not None:
        mask = Value(frame[name], "i1", type_.shape)
        mask.heard = machine.heard_of(mask.data)
    if (told := machine.meter.at_once(operation)) is not None:
        there = as_taken(there, *told, item_bytes(there.scalar))
        mask = None if mask is None else as_taken(mask, *told, 0)
    return there, mask


def _element(frame: Frame, operation: Operation, at: int, like: Value) -> Value | None:
    """The values of an operand that has the type of the elements at `like`."""
    if len(operation.operands) <= at:
        return None
    return Value(frame[operation.operands[at]], like.scalar, like.shape)


def add(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.addptr`: offsets are signed."""
    base, steps = (frame[name] for name in operation.operands)
    size = item_bytes(_pointee(operation.operand_types[0]))
    moved: Array = base + steps.astype(np.int64) * size
    # no other offset is long enough to come to another tensor's memory
    return of_one_tensor(base, moved) if steps.dtype.itemsize > 4 else moved


def load(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.load`."""
    there, mask = _asked(machine, frame, operation)
    other = _element(frame, operation, 2, there)
    owners = machine.meter.owners(operation)
    found: Array = machine.memory.load(there, mask, other, owners=owners).data
    return found


def store(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`tt.store`."""
    there, mask = _asked(machine, frame, operation)
    value = _element(frame, operation, 1, there)
    assert value is not None
    machine.memory.store(there, value, mask, owners=machine.meter.owners(operation))


def _policy(operation: Operation) -> tuple[str, str]:
    return _ORDERS[operation.integer("sem")], _SCOPES[operation.integer("scope")]


@lru_cache(MOST_KEPT)
def _read(module: Module) -> frozenset[str]:
    """The names of all results that an operation of a module takes."""
    return frozenset(name for one in module.operations() for name in one.operands)


def update(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.atomic_rmw`: gives what was there."""
    there, mask = _asked(machine, frame, operation)
    value = _element(frame, operation, 1, there)
    assert value is not None
    kind = _UPDATES[operation.integer("atomic_rmw_op")]
    unread = kind == "XCHG" and operation.results[0] not in _read(machine.module)
    policy = _policy(operation)
    return machine.told(
        machine.memory.atomic(kind, there, value, mask, policy=policy, unread=unread)
    )


def exchange(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.atomic_cas`: gives what was there."""
    there, _ = _asked(machine, frame, operation)
    expected = _element(frame, operation, 1, there)
    value = _element(frame, operation, 2, there)
    assert value is not None
    return machine.told(
        machine.memory.atomic("CAS", there, value, None, expected, policy=_policy(operation))
    )


def copy(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttg.async_copy_global_to_local`: what it copies is there at once."""
    there, mask = _asked(machine, frame, operation)
    other = _element(frame, operation, 3, there)
    with machine.run.ahead() as copied:
        found = machine.memory.load(there, mask, other)
    frame[operation.operands[1]].put(machine.rows, found.data, copied)


def from_number(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.int_to_ptr`."""
    data, numbers = frame[operation.operands[0]], machine.memory.numbers
    if numbers is None:
        return data
    size = item_bytes(_pointee(operation.result_types[0]))
    return numbers.to(data, size, operation.place.name)


def to_number(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.ptr_to_int`."""
    data, numbers = frame[operation.operands[0]], machine.memory.numbers
    return data if numbers is None else numbers.of(data)


CONVERSIONS = {"tt.int_to_ptr": from_number, "tt.ptr_to_int": to_number}
OPERATIONS = CONVERSIONS | {
    "tt.addptr": add, "tt.load": load, "tt.store": store, "tt.atomic_rmw": update,
    "tt.atomic_cas": exchange, "ttg.async_copy_global_to_local": copy,
}  # fmt: skip
