"""Products of matrices, from registers or shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.triton.ir import Operation
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.operations import rounded, whole
from course.engine.triton.running.shared import Buffer, read
from course.engine.triton.running.tensor_cores import product_of

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

#: `inputPrecision`
_PRECISIONS = ("TF32", "TF32x3", "IEEE", "BF16x3", "BF16x6")


def dot(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.dot` and `ttng.warp_group_dot`, whose last operand may say that the sum begins anew."""
    a, b, total = (operand(machine, frame, operation, n) for n in range(3))
    if len(operation.operands) > 3:
        goes_on = frame[operation.operands[3]].reshape(-1, *(1,) * (total.ndim - 1))
        total = np.where(goes_on, total, np.zeros((), total.dtype))
    precision = _precision(machine, operation)
    wide = np.dtype(np.float32) if total.dtype == np.float16 else total.dtype
    product = product_of(a.astype(wide, copy=False), b.astype(wide, copy=False), precision)
    return rounded(product + total, operation.result_types[0])


def _precision(machine: Machine, operation: Operation) -> str:
    """How float32 is read: tensor cores take less of it, and lanes that multiply take all."""
    layout = operation.result_types[0].layout
    by_lanes = machine.module.aliases.get(layout, layout).startswith("#ttg.blocked")
    if by_lanes or operation.operand_types[0].scalar != "f32":
        return "IEEE"
    return _PRECISIONS[operation.integer("inputPrecision")]


def operand(machine: Machine, frame: Frame, operation: Operation, n: int) -> Array:
    """The whole block that an operand is, in registers or in shared memory."""
    value, type_ = frame[operation.operands[n]], operation.operand_types[n]
    if isinstance(value, Buffer):
        return read(machine, value)
    return whole(value, type_.shape)


def wait(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`ttng.warp_group_dot_wait`: a product is there at once."""
    values = [frame[name] for name in operation.operands]
    return values[0] if len(values) == 1 else values


OPERATIONS = {"tt.dot": dot, "ttng.warp_group_dot": dot, "ttng.warp_group_dot_wait": wait}
