"""Shared memory: buffers that every program of a batch has its own content of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from course.engine.tile.values import Unsupported
from course.engine.triton.frames import Array, Frame
from course.engine.triton.ir import Operation
from course.engine.triton.operations import dtype_of

if TYPE_CHECKING:
    from course.engine.triton.machine import Machine


@dataclass(frozen=True)
class Buffer:
    """Shared memory of all programs of a batch, or a part of it.

    Attributes:
        content: (programs, *shape), or (programs, stages, *shape) where `stages` is told.
        moved: (programs, stages or 1) where a copy from a tensor has moved something that nobody
            has read so far.
        stages: (programs,) which of several buffers each program means, where they differ.
    """

    content: Array
    moved: Array
    stages: Array | None = None

    def at(self, rows: Array) -> Array:
        """What the programs of `rows` have, (rows, *shape)."""
        if self.stages is not None:
            return self.content[rows, self.stages[rows]]
        return self.content if len(rows) == len(self.content) else self.content[rows]

    def put(self, rows: Array, value: Array, moved: Array | bool = False) -> None:
        """Stores what the programs of `rows` give, (rows or 1, *shape)."""
        if self.stages is not None:
            self.content[rows, self.stages[rows]] = value
            self.moved[rows, self.stages[rows]] = moved
        else:
            self.content[rows] = value
            self.moved[rows] = np.reshape(moved, (-1, 1))

    def arrived(self, rows: Array) -> Array:
        """(rows,) whether a copy from a tensor has moved what is read now for the first time."""
        at = rows if self.stages is None else (rows, self.stages[rows])
        found = np.any(self.moved[at].reshape(len(rows), -1), axis=1)
        self.moved[at] = False
        return found

    def same(self) -> Array:
        """The content, of which a part is taken that is the same for all programs."""
        if self.stages is not None:
            raise Unsupported("a part of a buffer that differs between programs")
        return self.content


def alloc(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.local_alloc`, with its first content or without."""
    type_ = operation.result_types[0]
    content = np.zeros((machine.batch, *type_.shape), dtype_of(type_))
    buffer = Buffer(content, np.zeros(content.shape[:2], np.bool_))
    if operation.operands:
        buffer.put(machine.rows, frame[operation.operands[0]])
    return buffer


def index(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_index`: one of several buffers."""
    buffer, at = (frame[name] for name in operation.operands)
    if at.shape[0] == 1 or bool((at == at[0]).all()):
        stage = int(at[0])
        return Buffer(buffer.same()[:, stage], buffer.moved[:, stage : stage + 1])
    stages = np.zeros(machine.batch, np.int64)
    stages[machine.rows] = at
    return Buffer(buffer.same(), buffer.moved, stages)


def part(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_subslice`."""
    buffer = frame[operation.operands[0]]
    shape = operation.result_types[0].shape
    starts = operation.integers("offsets")
    inside = tuple(slice(o, o + n) for o, n in zip(starts, shape, strict=True))
    return Buffer(buffer.same()[(slice(None), *inside)], buffer.moved)


def turned(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_trans`."""
    order = (0, *(axis + 1 for axis in operation.integers("order")))
    buffer = frame[operation.operands[0]]
    if buffer.stages is None:
        return Buffer(buffer.content.transpose(order), buffer.moved)
    order = (0, 1, *(axis + 1 for axis in order[1:]))
    return Buffer(buffer.content.transpose(order), buffer.moved, buffer.stages)


def reshaped(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_reshape`."""
    buffer = frame[operation.operands[0]]
    made = buffer.same().view()
    try:
        made.shape = (len(made), *operation.result_types[0].shape)
    except AttributeError:
        raise Unsupported("a turned buffer in another shape") from None
    return Buffer(made, buffer.moved)


def read(machine: Machine, buffer: Buffer) -> Array:
    """What the group's programs have in a buffer; a turn that reads what was copied is busy."""
    machine.run.moves(buffer.arrived(machine.rows))
    return buffer.at(machine.rows)


def load(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`ttg.local_load`."""
    return np.array(read(machine, frame[operation.operands[0]]))


def store(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttg.local_store`."""
    value, buffer = (frame[name] for name in operation.operands[:2])
    buffer.put(machine.rows, value)


OPERATIONS = {
    "ttg.local_alloc": alloc, "ttg.memdesc_index": index, "ttg.memdesc_subslice": part,
    "ttg.memdesc_trans": turned, "ttg.memdesc_reshape": reshaped,
    "ttg.local_load": load, "ttg.local_store": store,
}  # fmt: skip
