"""What a Triton tensor is here: one NumPy array for all programs that run together.

Axis 0 of the data counts programs; the others are the block's. Each axis is either whole or
of size 1, where the value is the same all along it: work is done on the smallest shape, and
NumPy broadcasts. Integers carry no sign, as in the compiler's own representation: they are
stored as signed, and each operation says how it reads them. bfloat16 is kept in float32 arrays
whose values are all bfloat16, rounded after each operation as the hardware does; so are 8-bit
floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

_NUMPY: dict[str, np.dtype] = {
    "int1": np.dtype(np.bool_),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "uint8": np.dtype(np.int8),
    "uint16": np.dtype(np.int16),
    "uint32": np.dtype(np.int32),
    "uint64": np.dtype(np.int64),
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(np.float32),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "fp8e4nv": np.dtype(np.float32),
    "fp8e5": np.dtype(np.float32),
}


class Unsupported(Exception):
    """Something that this engine does not run; the text says what, as the end of a sentence."""


class Value:
    """A tensor of Triton's, of all programs of a group.

    Attributes:
        data: (programs or 1, *block axes or 1).
        type: the element's type without a sign, or a pointer type.
        shape: the block's shape, () for a scalar.
        heard: what a program knows that looks at it (see `course.engine.triton.running.locks`).
    """

    __slots__ = ("data", "heard", "shape", "type")

    def __init__(self, data: np.ndarray, type_: Any, shape: tuple[int, ...] = ()) -> None:
        self.data = data
        self.type = type_
        self.shape = shape
        self.heard: np.ndarray | None = None

    def whole(self) -> np.ndarray:
        """The data with every block axis at its full length (a view)."""
        return np.broadcast_to(self.data, (self.data.shape[0], *self.shape))


def numpy_type(type_: Any) -> np.dtype:
    """The NumPy type that holds elements of a Triton type; a pointer is a 64-bit address."""
    scalar = type_.scalar
    if scalar.is_ptr():
        return _NUMPY["int64"]
    found = _NUMPY.get(scalar.name)
    if found is None:
        raise Unsupported(f"values of type {scalar.name}")
    return found


def is_bf16(type_: Any) -> bool:
    """Whether the element type is bfloat16."""
    return type_.scalar is tl.bfloat16 or getattr(type_.scalar, "name", "") == "bf16"


def round_bf16(values: np.ndarray) -> np.ndarray:
    """float32 values rounded to the nearest bfloat16, ties to even, kept as float32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) & np.uint32(
        0xFFFF0000
    )
    nan = np.isnan(values)
    if nan.any():
        rounded = np.where(nan, np.uint32(0x7FC00000), rounded)
    return rounded.view(np.float32)


def rounded(data: np.ndarray, type_: Any) -> np.ndarray:
    """A result brought to the element's own precision."""
    return round_bf16(data) if is_bf16(type_) else data.astype(numpy_type(type_), copy=False)


def bf16_from_bits(bits: np.ndarray) -> np.ndarray:
    """float32 values of 16-bit patterns."""
    wide = bits.view(np.uint16).astype(np.uint32)
    return (wide << np.uint32(16)).view(np.float32)


def bf16_to_bits(values: np.ndarray) -> np.ndarray:
    """16-bit patterns (as int16) of float32 values that are all bfloat16."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits >> np.uint32(16)).astype(np.uint16).view(np.int16)


def unsigned(data: np.ndarray) -> np.ndarray:
    """The same bits, read as unsigned."""
    return data.view(f"u{data.dtype.itemsize}") if data.dtype.kind == "i" else data


def signed(data: np.ndarray) -> np.ndarray:
    """The same bits, as they are stored."""
    return data.view(f"i{data.dtype.itemsize}") if data.dtype.kind == "u" else data
