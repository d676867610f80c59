"""Products of narrow numbers in blocks with a scale each: MXFP8, MXFP4 and NVFP4.

A block lies along K and its scale is a power of two (E8M0, whose 255 is NaN: OCP Microscaling
Formats 1.0, 5.4.1) or, in NVFP4, an 8-bit float. Every scaled element is exact in float64; so is
here the sum of their products, which is rounded to the result's type once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from course.engine.triton.ir import Operation, Type
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.narrow import EIGHT_BITS
from course.engine.triton.running.operations import rounded, whole
from course.engine.triton.running.products import operand
from course.engine.triton.running.tensor_memory import add_up
from course.engine.triton.running.values import Unsupported

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

#: `a_elem_type`: E2M1 has two elements in a byte
_E2M1, _SIX_BITS = 4, (2, 3)
#: E2M1 by its four bits (OCP Microscaling Formats 1.0, 5.3.3).
_FOUR_BITS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
_BIAS, _NO_NUMBER = 127, 255


def four_bits(data: Array, axis: int) -> Array:
    """The elements of bytes that hold two each, the lower half first, along a block's axis."""
    bits = data.view(np.uint8)
    both = np.stack((bits & 15, bits >> 4), axis=axis + 2)
    shape = list(data.shape)
    shape[axis + 1] *= 2
    return _FOUR_BITS[both.reshape(shape)]


def _scales(data: Array, type_: Type) -> Array:
    if type_.scalar in EIGHT_BITS:
        return data.astype(np.float64)
    if type_.scalar != "i8":
        raise Unsupported(f"scales of type {type_.scalar}")
    bits = data.view(np.uint8).astype(np.int64)
    return np.where(bits == _NO_NUMBER, np.nan, np.ldexp(1.0, bits - _BIAS))


def _factor(
    machine: Machine, frame: Frame, operation: Operation, at: int, scale_at: int | None
) -> Array:
    """Operand 0 or 1 in float64, each element times its block's scale."""
    side = "ab"[at]
    kind = next(operation.integer(f"{side}_{n}type") for n in ("elem_", "")
                if f"{side}_{n}type" in operation.attributes)  # fmt: skip
    if kind in _SIX_BITS:
        raise Unsupported("products of 6-bit floats")
    data = operand(machine, frame, operation, at)
    along = data.ndim - 2 - at  # K, of the block's axes
    if kind == _E2M1:
        packed = operation.attributes.get(("lhs_k_pack", "rhs_k_pack")[at], "true")
        data = four_bits(data, along if packed.startswith("true") else data.ndim - 3 + at)
    data = data.astype(np.float64)
    if scale_at is None:
        return data
    scales = _scales(
        operand(machine, frame, operation, scale_at), operation.operand_types[scale_at]
    )
    if at == 1:
        scales = scales.swapaxes(-1, -2)  # they come as (N, blocks)
    length, blocks = data.shape[along + 1], scales.shape[along + 1]
    if scales.ndim != data.ndim or length % blocks:
        raise Unsupported("scales in another shape than a row's blocks")
    return data * scales.repeat(length // blocks, axis=along + 1)


def dot(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`tt.dot_scaled`: a, b, what is added to, and the scales that there are."""
    counts = operation.integers("operandSegmentSizes")
    first = 3 if counts[3] else None
    second = 3 + counts[3] if counts[4] else None
    a = _factor(machine, frame, operation, 0, first)
    b = _factor(machine, frame, operation, 1, second)
    total = operand(machine, frame, operation, 2)
    return rounded(np.matmul(a, b) + total, operation.result_types[0])


def multiply(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.tc_gen5_mma_scaled`: a, b, d, a token or none, two scales, then as for a plain one."""
    scales = 3 + operation.integers("operandSegmentSizes")[3]
    a = _factor(machine, frame, operation, 0, scales)
    b = _factor(machine, frame, operation, 1, scales + 1)
    add_up(machine, frame, operation, np.matmul(a, b), scales + 2)


def unpacked(machine: Machine, frame: Frame, operation: Operation) -> Array:
    """`ttg.fp4_to_fp`: E2M1 in a wider type, in which it is exact."""
    data = whole(frame[operation.operands[0]], operation.operand_types[0].shape)
    return rounded(
        four_bits(data, operation.integer("axis")).astype(np.float32), operation.result_types[0]
    )


OPERATIONS = {
    "tt.dot_scaled": dot, "ttng.tc_gen5_mma_scaled": multiply, "ttg.fp4_to_fp": unpacked,
}  # fmt: skip
