"""Shared memory: buffers that every program of a batch has its own content of."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from course.engine.triton.compiling.lowering import MOST_KEPT
from course.engine.triton.ir import Module, Operation, Type
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.memory import decoded, encoded, stored_type
from course.engine.triton.running.operations import dtype_of
from course.engine.triton.running.run import COPY
from course.engine.triton.running.values import Unsupported, item_bytes

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

_NOTHING = np.zeros((), COPY)
#: What a turn of a loop ends with, and what a loop begins with.
_HANDS_ON = frozenset({"scf.yield", "scf.for"})
_PRODUCTS = frozenset({"tt.dot", "tt.dot_scaled"})
#: What names a part of a buffer, and what brings or takes what one holds.
_PARTS = frozenset({"ttg.memdesc_index", "ttg.memdesc_subslice"})
_OF_NUMBERS = frozenset({"ttg.local_load", "ttg.local_store", "ttg.async_copy_global_to_local"})


@dataclass(frozen=True)
class Buffer:
    """Shared memory of all programs of a batch, or a part of it.

    Attributes:
        content: (programs, *shape), or (programs, stages, *shape) where `stages` is told.
        copied: (programs, stages or 1) `COPY`: what came from a tensor and nobody has read so far.
        stages: (programs,) which of several buffers each program means, where they differ.
    """

    content: Array
    copied: Array
    stages: Array | None = None

    def at(self, rows: Array) -> Array:
        """What the programs of `rows` have, (rows, *shape)."""
        if self.stages is not None:
            return self.content[rows, self.stages[rows]]
        return self.content if len(rows) == len(self.content) else self.content[rows]

    def put(self, rows: Array, value: Array, copied: Array = _NOTHING) -> None:
        """Stores what the programs of `rows` give, (rows or 1, *shape)."""
        if self.stages is not None:
            self.content[rows, self.stages[rows]] = value
            self.copied[rows, self.stages[rows]] = copied
        else:
            self.content[rows] = value
            self.copied[rows] = _NOTHING
            self.copied[rows, 0] = copied

    def arrived(self, rows: Array) -> Array:
        """(rows, stages) `COPY`: what a copy has brought of what is read now for the first time."""
        at = rows if self.stages is None else (rows, self.stages[rows])
        found: Array = self.copied[at].reshape(len(rows), -1)
        self.copied[at] = _NOTHING
        return found

    def same(self) -> Array:
        """The content, of which a part is taken that is the same for all programs."""
        if self.stages is not None:
            raise Unsupported("a part of a buffer that differs between programs")
        return self.content


@dataclass(frozen=True)
class Folded(Buffer):
    """A turned buffer in another shape, which is read as it is then, and in no other way."""

    shape: tuple[int, ...] = ()

    def at(self, rows: Array) -> Array:
        """What the programs of `rows` have, in this shape."""
        return super().at(rows).reshape(len(rows), *self.shape)

    def put(self, rows: Array, value: Array, copied: Array = _NOTHING) -> None:
        """Nobody was seen to do so."""
        raise Unsupported("a store to a turned buffer in another shape")

    def same(self) -> Array:
        """It is no array of its own."""
        raise Unsupported("a part of a turned buffer in another shape")


@dataclass(frozen=True)
class Coded(Buffer):
    """A buffer in another type's memory: it holds the bits of its own type's numbers."""

    scalar: str = ""

    def at(self, rows: Array) -> Array:
        """The numbers that the programs of `rows` have."""
        return decoded(super().at(rows), self.scalar)

    def put(self, rows: Array, value: Array, copied: Array = _NOTHING) -> None:
        """Stores numbers."""
        super().put(rows, encoded(value, self.scalar), copied)


@dataclass(frozen=True)
class Missing(Buffer):
    """One of several that is not there, which is a fault of who looks into it: to name is none."""

    looked_into: Callable[[], None] = lambda: None

    def same(self) -> Array:
        """Told.

        Raises:
            KernelFault: OUT_OF_BOUNDS.
        """
        self.looked_into()
        return self.content


def alloc(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.local_alloc`, with its first content or without."""
    type_ = operation.result_types[0]
    content = np.zeros((machine.batch, *type_.shape), dtype_of(type_))
    buffer = Buffer(content, np.zeros(content.shape[:2], COPY))
    if operation.operands:
        buffer.put(machine.rows, frame[operation.operands[0]])
    elif machine.agents is not None:
        machine.agents.empty(content)
    return buffer


def index(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_index`: one of several buffers."""
    buffer, at = (frame[name] for name in operation.operands)
    if machine.agents is not None:
        one, count = int(at.flat[0]), operation.operand_types[0].shape[0]
        if not 0 <= one < count:
            told = partial(machine.agents.is_missing, one, count)
            return Missing(buffer.content, buffer.copied, looked_into=told)
    if at.shape[0] == 1 or bool((at == at[0]).all()):
        stage = int(at[0])
        copied = buffer.copied[:, stage : stage + 1]
        return replace(buffer, content=buffer.same()[:, stage], copied=copied)
    stages = np.zeros(machine.batch, np.int64)
    stages[machine.rows] = at
    return replace(buffer, content=buffer.same(), stages=stages)


def part(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_subslice`."""
    return part_from(operation.integers("offsets"), frame, operation)


def part_from(starts: Sequence[int], frame: Frame, operation: Operation) -> Buffer:
    """The part of a buffer that begins at these places, one an axis."""
    buffer = frame[operation.operands[0]]
    shape = operation.result_types[0].shape
    inside = tuple(slice(o, o + n) for o, n in zip(starts, shape, strict=True))
    return replace(buffer, content=buffer.same()[(slice(None), *inside)])


def turned(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_trans`."""
    order = (0, *(axis + 1 for axis in operation.integers("order")))
    buffer = frame[operation.operands[0]]
    if buffer.stages is None:
        return replace(buffer, content=buffer.same().transpose(order))
    order = (0, 1, *(axis + 1 for axis in order[1:]))
    return replace(buffer, content=buffer.content.transpose(order))


def reshaped(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_reshape`."""
    buffer = frame[operation.operands[0]]
    made, shape = buffer.same().view(), operation.result_types[0].shape
    try:
        made.shape = (len(made), *shape)
    except AttributeError:
        if isinstance(buffer, Coded):
            raise Unsupported("a turned buffer of another type in another shape") from None
        return Folded(made, buffer.copied, shape=shape)
    return replace(buffer, content=made)


def reinterpreted(machine: Machine, frame: Frame, operation: Operation) -> Buffer:
    """`ttg.memdesc_reinterpret`: the bytes as elements of another type, in another shape; from the
    first of them on, and in tensor memory from the first of each row.
    """
    buffer, made = frame[operation.operands[0]], operation.result_types[0]
    source, dtype = operation.operand_types[0], stored_type(made.scalar)
    rows = made.shape[0] if _in_tensor_memory(machine, made) else 1
    size = math.prod(made.shape) // rows * dtype.itemsize
    cells = buffer.same().view()
    try:
        if cells.itemsize != item_bytes(source.scalar):
            raise ValueError
        cells.shape = (rows, -1)
        elements = cells.view(np.uint8)[:, :size].view(dtype)
        elements.shape = (1, *made.shape)
    except (AttributeError, ValueError):  # held wider, of several programs, or turned
        plain = False
    else:
        plain = _in_rows(machine, source) and _in_rows(machine, made)
    if not plain:
        raise Unsupported("shared or tensor memory as another type, if it is swizzled or turned")
    return Coded(elements, np.zeros((1, 1), COPY), scalar=made.scalar)


def _in_rows(machine: Machine, type_: Type) -> bool:
    """Whether a buffer lies in memory row after row."""
    layout = machine.module.aliases.get(type_.layout, type_.layout)
    if _in_tensor_memory(machine, type_):
        return type_.shape[0] == 128 and "blockM = 128" in layout and "colStride = 1" in layout
    order = f"order = {[*range(len(type_.shape))][::-1]}"
    return "swizzled_shared" in layout and "maxPhase = 1" in layout and order in layout


def _in_tensor_memory(machine: Machine, type_: Type) -> bool:
    return "tensor_memory" in machine.module.aliases.get(type_.layout, type_.layout)


def read(machine: Machine, buffer: Buffer) -> Array:
    """What the group's programs have in a buffer; a turn that reads what was copied is busy."""
    for copied in buffer.arrived(machine.rows).T:
        machine.run.arrives(copied)
    return buffer.at(machine.rows)


def load(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`ttg.local_load`, `ttng.tmem_load`."""
    buffer = frame[operation.operands[0]]
    if operation.number not in machine.early:
        return np.array(read(machine, buffer))
    for copied in buffer.arrived(machine.rows).T:
        machine.run.arrives_next(copied)
    return np.array(buffer.at(machine.rows))


@lru_cache(MOST_KEPT)
def early(module: Module) -> frozenset[int]:
    """The numbers of the loads whose values the next turn of a loop multiplies.

    From Triton 3.8 on the compiler reads the first part of a product's tiles a turn before.
    """
    found: set[int] = set()
    for one, users in _with_users(module, "ttg.memdesc_subslice"):
        loads = (user for user in users[one.results[0]] if user.name == "ttg.local_load")
        found.update(user.number for user in loads if _is_handed_on(user, users))
    return frozenset(found)


def of_numbers(module: Module) -> frozenset[int]:
    """The numbers of what makes a buffer that is stored to, or loaded from: one of no barriers."""
    makers = _with_users(module, "ttg.local_alloc")
    return frozenset(one.number for one, users in makers if _holds_numbers(one, users))


def _holds_numbers(one: Operation, users: Mapping[str, list[Operation]]) -> bool:
    return any(
        user.name in _OF_NUMBERS or (user.name in _PARTS and _holds_numbers(user, users))
        for user in users[one.results[0]]
    )


def _with_users(
    module: Module, name: str
) -> Iterator[tuple[Operation, Mapping[str, list[Operation]]]]:
    """Each operation of that name, and who takes each value of its function."""
    for function in module.functions.values():
        users: dict[str, list[Operation]] = defaultdict(list)
        for one in function.inside():
            for operand in one.operands:
                users[operand].append(one)
        for one in function.inside():
            if one.name == name:
                yield one, users


def _is_handed_on(one: Operation, users: Mapping[str, list[Operation]]) -> bool:
    """Whether only the next turn, or the first, multiplies a value; before, its type may change."""
    return all(
        user.name in _HANDS_ON
        or (user.name not in _PRODUCTS and bool(user.results) and _is_handed_on(user, users))
        for user in users[one.results[0]]
    )


def store(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttg.local_store`."""
    value, buffer = (frame[name] for name in operation.operands[:2])
    buffer.put(machine.rows, value)


OPERATIONS = {
    "ttg.local_alloc": alloc, "ttg.memdesc_index": index, "ttg.memdesc_subslice": part,
    "ttg.memdesc_trans": turned, "ttg.memdesc_reshape": reshaped,
    "ttg.memdesc_reinterpret": reinterpreted,
    "ttg.local_load": load, "ttg.local_store": store,
}  # fmt: skip
