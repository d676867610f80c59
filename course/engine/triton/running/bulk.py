"""Blocks that the hardware copies by a descriptor (TMA), and the barriers that tell of them.

A copy is made where it is issued. Where the compiler puts the barriers there is nothing to wait
for: it puts one before each use. Where the kernel does, `barriers.py` stands before each of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from course.engine.faults import Outcome
from course.engine.triton.ir import Operation
from course.engine.triton.running.accesses import pointer
from course.engine.triton.running.addresses import REGION_BITS, of_one_tensor
from course.engine.triton.running.frames import Array, Frame, taken
from course.engine.triton.running.values import Unsupported, Value, item_bytes, numpy_type

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

#: of a base and of rows, in bytes
DESCRIPTOR_ALIGNMENT = 16
#: `kind` of `ttng.async_tma_reduce`
_UPDATES = ("", "ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")


@dataclass(frozen=True)
class Descriptor:
    """A tensor as TMA knows it; each array is (programs or 1,), the outermost axis first.

    Attributes:
        base: the address of its first element; `scalar` the type of the elements.
        extent, strides: elements.
        nan: whether what lies outside is NaN and not 0.
    """

    base: Array
    scalar: str
    extent: tuple[Array, ...]
    strides: tuple[Array, ...]
    nan: bool = False

    def taken(self, rows: Array) -> Descriptor:
        """As some of the programs have it."""
        extent, strides = (
            tuple(taken(value, rows) for value in values) for values in (self.extent, self.strides)
        )
        return Descriptor(taken(self.base, rows), self.scalar, extent, strides, self.nan)

    def block(self, places: Sequence[Array], shape: tuple[int, ...]) -> tuple[Value, Value]:
        """(addresses, mask) of a block; `places` are those of its elements along each axis."""
        rank = len(shape)
        address: Array = self.base.reshape(-1, *(1,) * rank)
        inside: Array = np.ones((1,) * (rank + 1), np.bool_)
        base, size = address, item_bytes(self.scalar)
        for place, extent, stride in zip(places, self.extent, self.strides, strict=True):
            step = stride.astype(np.int64).reshape(-1, *(1,) * rank)
            address = address + place * (step * size)
            inside = inside & (place >= 0) & (place < extent.reshape(-1, *(1,) * rank))
        there = Value(of_one_tensor(base, address), self.scalar, shape)
        return there, Value(inside, "i1", shape)

    def at(self, corner: Sequence[Array], shape: tuple[int, ...]) -> tuple[Value, Value]:
        """(addresses, mask) of the block of a shape whose first element is at `corner`."""
        rank = len(shape)
        places = []
        for axis, (first, length) in enumerate(zip(corner, shape, strict=True)):
            steps = np.arange(length).reshape(*(1,) * (axis + 1), -1, *(1,) * (rank - axis - 1))
            places.append(first.astype(np.int64).reshape(-1, *(1,) * rank) + steps)
        return self.block(places, shape)

    def picked(self, rows: Array, column: Array, width: int) -> tuple[Value, Value]:
        """(addresses, mask) of rows by number, from `column` on."""
        first = column.astype(np.int64).reshape(-1, 1, 1)
        places = [rows.astype(np.int64)[..., None], first + np.arange(width)]
        return self.block(places, (rows.shape[1], width))

    def outside(self, there: Value) -> Value | None:
        """What a load finds outside, where that is not 0."""
        if not self.nan:
            return None
        data = np.full((1,) * (1 + len(there.shape)), np.nan, numpy_type(self.scalar))
        return Value(data, self.scalar, there.shape)


@dataclass(frozen=True)
class _Made:
    """A descriptor that a kernel has made, and for which programs of the batch."""

    descriptor: Descriptor
    rows: Array


# ---------------------------------------------------------------- descriptors


def scratch(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`ttg.global_scratch_alloc`: an address of no tensor, where a descriptor is kept."""
    return np.array([-(operation.number + 1) << REGION_BITS], np.int64)


def _address(where: Array) -> int:
    if (where != where.flat[0]).any():
        raise Unsupported("descriptors that programs keep in different places")
    return int(where.flat[0])


def create(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.tensormap_create`: operands count axes from the innermost; strides are bytes."""
    values = [frame[name] for name in operation.operands]
    counts = operation.integers("operandSegmentSizes")
    parts = np.split(np.arange(sum(counts)), np.cumsum(counts)[:-1])
    _, _, _, extent, strides = ([values[n] for n in part][::-1] for part in parts[:5])
    base, type_ = values[1], operation.operand_types[1]
    scalar = pointer(machine, base, type_, ()).scalar
    for stride in strides:
        if (stride % DESCRIPTOR_ALIGNMENT).any():
            what = f"a row stride of {int(stride.flat[0]) // item_bytes(scalar)} elements"
            machine.run.fail(Outcome.OUT_OF_BOUNDS, "tile_descriptor", detail=what)
    if (base % DESCRIPTOR_ALIGNMENT).any():
        what = "a base that is no multiple of 16 bytes"
        machine.run.fail(Outcome.OUT_OF_BOUNDS, "tile_descriptor", detail=what)
    steps = [*(stride // item_bytes(scalar) for stride in strides), np.ones(1, np.int64)]
    nan = operation.integer("fill_mode") == 1
    made = Descriptor(base, scalar, tuple(extent), tuple(steps), nan)
    machine.descriptors[_address(values[0])] = _Made(made, machine.rows)


def found(machine: Machine, frame: Frame, operation: Operation) -> Descriptor:
    """`ttng.reinterpret_tensor_descriptor`: what was made at an address."""
    made = machine.descriptors.get(_address(frame[operation.operands[0]]))
    if not isinstance(made, _Made):
        raise Unsupported("a descriptor that the kernel has not made")
    return made.descriptor.taken(np.searchsorted(made.rows, machine.rows))


# ---------------------------------------------------------------- copies


def _integers(frame: Frame, operation: Operation) -> list[Array]:
    """The operands that are numbers or blocks of numbers: where a copy begins."""
    return [
        frame[name]
        for name, type_ in zip(operation.operands, operation.operand_types, strict=True)
        if type_.kind in ("scalar", "tensor") and type_.scalar == "i32"
    ]


def _begins(
    machine: Machine, descriptor: Descriptor, corner: Sequence[Array], going: Array, stores: bool
) -> None:
    """Ends the kernel where the hardware does: an H200 calls these boxes an illegal instruction.

    Raises:
        KernelFault: OUT_OF_BOUNDS, where a box does not begin at 16 bytes, or begins before the
            tensor and is stored. (It may be loaded there.)
    """
    size, rows = item_bytes(descriptor.scalar), len(machine.rows)
    apart = corner[-1].astype(np.int64) * size % DESCRIPTOR_ALIGNMENT
    before = np.array([False])
    for place in corner if stores else ():
        before = before | (place < 0)
    for message_id, wrong in (("tile_box_apart", apart != 0), ("tile_box_before", before)):
        found = np.flatnonzero(np.broadcast_to(wrong & going, (rows,)))
        if found.size:
            at = int(found[0])
            start = (int(np.broadcast_to(place, (rows,))[at]) for place in corner)
            machine.run.fail(
                Outcome.OUT_OF_BOUNDS,
                message_id,
                program=machine.run.shown_program(machine.run.programs[at]),
                index=tuple(start),
                step=DESCRIPTOR_ALIGNMENT // size,
            )


def _going(frame: Frame, operation: Operation, inside: Value) -> Value:
    """The mask of a copy, which a program may leave out."""
    if operation.operand_types[-1].text != "i1":
        return inside
    going = frame[operation.operands[-1]].reshape(-1, *(1,) * len(inside.shape))
    return Value(inside.data & going, "i1", inside.shape)


def _box(shape: tuple[int, ...], corner: Sequence[Array]) -> tuple[int, ...]:
    """The shape of what is copied: a buffer may leave out axes of 1, or have some more."""
    rank = len(corner)
    return (1,) * (rank - len(shape)) + shape[-rank:]


def _load(machine: Machine, frame: Frame, operation: Operation, picks: bool) -> None:
    descriptor: Descriptor = frame[operation.operands[0]]
    # the last operands are a barrier, the buffer, and whether to copy at all
    shape, buffer = operation.operand_types[-2].shape, frame[operation.operands[-2]]
    places = _integers(frame, operation)
    if picks:
        there, inside = descriptor.picked(places[0], places[1], shape[-1])
    else:
        _begins(machine, descriptor, places, frame[operation.operands[-1]], stores=False)
        there, inside = descriptor.at(places, _box(shape, places))
    machine.meter.operation = operation
    mask = _going(frame, operation, inside)
    with machine.run.ahead() as copied:
        value = machine.memory.load(there, mask, descriptor.outside(there), descriptor=True).data
    rows = machine.rows
    data = np.broadcast_to(value, (len(rows), *there.shape)).reshape(len(rows), *shape)
    going = np.broadcast_to(frame[operation.operands[-1]], (len(rows),))
    buffer.put(rows[going], data[going], copied[going])


def load(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.async_tma_copy_global_to_local`."""
    _load(machine, frame, operation, picks=False)


def gather(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.async_tma_gather`."""
    _load(machine, frame, operation, picks=True)


def _given(
    machine: Machine, frame: Frame, operation: Operation, picks: bool
) -> tuple[Value, Value, Value]:
    """(addresses, mask, values) of what goes from shared memory to a tensor."""
    descriptor: Descriptor = frame[operation.operands[0]]
    data = frame[operation.operands[-1]].at(machine.rows)
    places, shape = _integers(frame, operation), data.shape[1:]
    if picks:
        there, inside = descriptor.picked(places[0], places[1], shape[-1])
    else:
        shape = _box(shape, places)
        _begins(machine, descriptor, places, np.array([True]), stores=True)
        there, inside = descriptor.at(places, shape)
    machine.meter.operation = operation
    value = Value(data.reshape(len(data), *shape), descriptor.scalar, shape)
    return there, inside, value


def store(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.async_tma_copy_local_to_global`."""
    there, inside, value = _given(machine, frame, operation, picks=False)
    machine.memory.store(there, value, inside, descriptor=True)


def scatter(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.async_tma_scatter`."""
    there, inside, value = _given(machine, frame, operation, picks=True)
    machine.memory.store(there, value, inside, descriptor=True)


def reduce(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.async_tma_reduce`: atomic updates whose results nobody gets."""
    there, inside, value = _given(machine, frame, operation, picks=False)
    kind = _UPDATES[operation.integer("kind")]
    if kind == "ADD" and value.data.dtype.kind == "f":
        kind = "FADD"
    if kind in ("INC", "DEC"):
        raise Unsupported(f"a descriptor's update by {kind}")
    machine.memory.atomic(kind, there, value, inside, descriptor=True)


OPERATIONS = {
    "ttg.global_scratch_alloc": scratch, "ttng.tensormap_create": create,
    "ttng.reinterpret_tensor_descriptor": found,
    "ttng.async_tma_copy_global_to_local": load, "ttng.async_tma_gather": gather,
    "ttng.async_tma_copy_local_to_global": store, "ttng.async_tma_scatter": scatter,
    "ttng.async_tma_reduce": reduce,
}  # fmt: skip
