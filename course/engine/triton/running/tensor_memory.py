"""Tensor memory of sm_100 and its products (`tcgen05`): what one brings is there at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from course.engine.triton.ir import Operation
from course.engine.triton.running import shared
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.operations import rounded
from course.engine.triton.running.shared import Buffer, read
from course.engine.triton.running.tensor_cores import product_of
from course.engine.triton.running.values import Unsupported

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine


def _kept(machine: Machine, buffer: Buffer, allowed: Array, value: Array) -> None:
    """Stores what the programs give that their predicate allows."""
    before = buffer.at(machine.rows)
    buffer.put(machine.rows, np.where(allowed.reshape(-1, *[1] * (before.ndim - 1)), value, before))


def store(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.tmem_store`: a buffer, a value and a predicate."""
    names = operation.operands
    _kept(machine, frame[names[0]], frame[names[-1]], frame[names[-2]])


def multiply(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.tc_gen5_mma`: a, b, d, a token or none, whether d is added to, and a predicate."""
    a, b = operation.operands[:2]
    tokens = operation.integers("operandSegmentSizes")[3]
    factors = [read(machine, frame[name]).astype(np.float32, copy=False) for name in (a, b)]
    precision = "TF32" if operation.operand_types[0].scalar == "f32" else "IEEE"
    add_up(machine, frame, operation, product_of(factors[0], factors[1], precision), 3 + tokens)


def add_up(machine: Machine, frame: Frame, operation: Operation, product: Array, at: int) -> None:
    """Stores a product in operand 2: added to it if operand `at` says, at all if the next does."""
    d, goes_on, allowed = (frame[operation.operands[n]] for n in (2, at, at + 1))
    total = d.at(machine.rows)
    total = np.where(goes_on.reshape(-1, 1, 1), total, np.zeros((), total.dtype))
    _kept(machine, d, allowed, rounded(product + total, operation.operand_types[2]))


def columns(machine: Machine, frame: Frame, operation: Operation) -> shared.Buffer:
    """`ttng.tmem_subslice`: the columns from `N` on."""
    return shared.part_from((0, operation.integer("N")), frame, operation)


def copy(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.tmem_copy`: from shared memory, element by element."""
    if operation.operand_types[0].shape != _shape(operation):
        raise Unsupported(f"the operation {operation.name} here")
    source, target = (frame[name] for name in operation.operands[:2])
    target.put(machine.rows, read(machine, source))


def _shape(operation: Operation) -> tuple[int, ...]:
    return operation.operand_types[1].shape


OPERATIONS = {
    "ttng.tmem_copy": copy,
    "ttng.tmem_alloc": shared.alloc, "ttng.tmem_subslice": columns,
    "ttng.tmem_store": store, "ttng.tmem_load": shared.load, "ttng.tc_gen5_mma": multiply,
}  # fmt: skip
