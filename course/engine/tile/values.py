"""What a Triton tensor is here: one NumPy array for all programs that run together.

Axis 0 of the data counts programs; the others are the block's. Each axis is either whole or
of size 1, where the value is the same all along it: work is done on the smallest shape, and
NumPy broadcasts. Integers carry no sign, as in the compiler's own representation: they are
stored as signed, and each operation says how it reads them. bfloat16 is kept in float32 arrays
whose values are all bfloat16, rounded after each operation as the hardware does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
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
}


_NUMBERS = itertools.count(1)


class Unsupported(Exception):
    """Something that this engine does not run; the text says what, as the end of a sentence."""


class Product:
    """What a product was made of: a sum that takes it in rounds once
    (`course.engine.tile.contraction`).

    Attributes:
        x, y: its factors' data, shaped as the value that it stands beside.
        block: the straight block of code in which it was made.
        depth: how many loops stood around it.
        uses: how often the source reads it.
    """

    __slots__ = ("block", "depth", "uses", "x", "y")

    def __init__(
        self, x: np.ndarray, y: np.ndarray, block: object, depth: int, uses: int = 1
    ) -> None:
        self.x, self.y = x, y
        self.block, self.depth = block, depth
        self.uses = uses

    def reshaped(self, change: Callable[[np.ndarray], np.ndarray]) -> Product:
        """The same product in another shape."""
        return Product(change(self.x), change(self.y), self.block, self.depth, self.uses)


class Value:
    """The handle under a `tl.tensor`.

    Attributes:
        data: (programs or 1, *block axes or 1).
        type: the element's type without a sign, or a pointer type.
        shape: the block's shape, () for a scalar.
        number: equal for values that are the same expression (see `course.engine.tile.numbering`).
        heard: what a program knows that looks at it (see `course.engine.tile.locks`).
        product: its factors, where it is a product that a sum may still take in.
        starts_empty: it is a `tl.dot` that adds to nothing so far.
    """

    __slots__ = ("data", "heard", "number", "product", "shape", "starts_empty", "type")

    def __init__(
        self, data: np.ndarray, type_: Any, shape: tuple[int, ...] = (), number: int | None = None
    ) -> None:
        self.data = data
        self.type = type_
        self.shape = shape
        self.number = next(_NUMBERS) if number is None else number
        self.heard: np.ndarray | None = None
        self.product: Product | None = None
        self.starts_empty = False

    def set_loc(self, *_: Any) -> None:
        """Triton names values for its debugger: nothing to do here."""

    set_attr = set_loc

    def whole(self) -> np.ndarray:
        """The data with every block axis at its full length (a view)."""
        return np.broadcast_to(self.data, (self.data.shape[0], *self.shape))

    def with_data(self, data: np.ndarray) -> Value:
        """The same expression for other programs."""
        same = Value(data, self.type, self.shape, self.number)
        same.heard = self.heard
        return same

    def renumbered(self) -> Value:
        """The same data as a value that equals no other."""
        same = Value(self.data, self.type, self.shape)
        same.heard = self.heard
        return same


def larger(a: Value, b: Value) -> tuple[int, ...]:
    """The shape of the block that two make: a scalar goes with all of the other's elements."""
    return a.shape if len(a.shape) >= len(b.shape) else b.shape


def tuple_of(items: Iterable[Any], fields: Sequence[str] | None = None) -> Any:
    """A `tl.tuple`, whose type is that of its items; `fields` are the names of its places."""
    values = [v if isinstance(v, tl.core.base_value) else tl.constexpr(v) for v in items]
    return tl.tuple(values, tl.tuple_type([v.type for v in values], list(fields or ()) or None))


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
