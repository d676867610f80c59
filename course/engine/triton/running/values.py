"""What a Triton tensor is here: one NumPy array for all programs that run together.

Axis 0 of the data counts programs; the others are the block's. Each axis is either whole or
of size 1, where the value is the same all along it: work is done on the smallest shape, and
NumPy broadcasts. Integers carry no sign, as in the compiler's own representation: they are
stored as signed, and each operation says how it reads them. bfloat16 is kept in float32 arrays
whose values are all bfloat16, rounded after each operation as the hardware does; so are 8-bit
floats.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np

#: How the elements of MLIR's types are held here.
NUMPY: dict[str, np.dtype] = {
    "i1": np.dtype(np.bool_), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32), "i64": np.dtype(np.int64), "index": np.dtype(np.int64),
    "f16": np.dtype(np.float16), "bf16": np.dtype(np.float32),
    "f32": np.dtype(np.float32), "f64": np.dtype(np.float64),
    "f8E4M3FN": np.dtype(np.float32), "f8E5M2": np.dtype(np.float32),
}  # fmt: skip


class Unsupported(Exception):
    """Something that this engine does not run; the text says what, as the end of a sentence."""


class Value:
    """A tensor of Triton's, of all programs of a group.

    Attributes:
        data: (programs or 1, *block axes or 1).
        scalar: MLIR's name of an element's type; of addresses, that of what lies there.
        shape: the block's shape, () for a scalar.
        heard: what a program knows that looks at it (see `course.engine.triton.running.locks`).
    """

    __slots__ = ("data", "heard", "scalar", "shape")

    def __init__(self, data: np.ndarray, scalar: str, shape: tuple[int, ...] = ()) -> None:
        self.data = data
        self.scalar = scalar
        self.shape = shape
        self.heard: np.ndarray | None = None

    def whole(self) -> np.ndarray:
        """The data with every block axis at its full length (a view)."""
        return np.broadcast_to(self.data, (self.data.shape[0], *self.shape))


def broadcast(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An array in a shape: NumPy takes microseconds over one that has it."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def numpy_type(scalar: str) -> np.dtype:
    """How elements of a type are held."""
    found = NUMPY.get(scalar)
    if found is None:
        raise Unsupported(f"values of type {scalar}")
    return found


@cache
def item_bytes(scalar: str) -> int:
    """What an element of a type takes in memory (a boolean one byte)."""
    return max(1, int(re.sub(r"\D", "", scalar.split("E")[0])) // 8)


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
