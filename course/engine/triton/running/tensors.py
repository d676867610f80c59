"""The tensors of a launch: allocations, and views of them.

Memory that nothing has initialised is marked byte by byte at its storage, so that every view of
it and every later launch knows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.lib.stride_tricks import as_strided

from course.plain.sectors import SECTOR_BYTES

#: Bytes of the largest element.
_WIDEST = 8


def uninitialised(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, in whose storage nothing is written yet."""
    storage = tensor.untyped_storage()
    storage._course_unwritten = np.ones(-(-storage.nbytes() // _WIDEST) * _WIDEST, np.bool_)
    return tensor


def initialised(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, in whose storage all is written now."""
    marks = unwritten(tensor.untyped_storage())
    if marks is not None:
        marks[:] = False
    return tensor


def unwritten(storage: torch.UntypedStorage) -> np.ndarray | None:
    """Which bytes of a storage nothing has written, in whole elements; None where all are."""
    marks: np.ndarray | None = getattr(storage, "_course_unwritten", None)
    return marks if marks is not None and marks.any() else None


@dataclass(frozen=True)
class Kept:
    """What an allocation held at some time, and what in it was unwritten."""

    bytes: np.ndarray
    unwritten: np.ndarray | None


class Allocation:
    """One piece of memory; several tensors may be views of it.

    Attributes:
        bytes: its content, uint8.
        unwritten: see the function of this name.
        tracked: whether something in it is stored, so that loads must be remembered.
        unseen: whether something in it was loaded and not remembered.
        cell: bytes of the smallest element that any view has.
        placed: the address of its first byte, where a program may know it.
    """

    def __init__(
        self, number: int, content: np.ndarray, unwritten: np.ndarray | None = None
    ) -> None:
        self.number = number
        #: where it lies in this process: launches that share it are told by that
        self.address = int(content.__array_interface__["data"][0])
        self.bytes = content
        self.unwritten = unwritten
        self.tracked = unwritten is not None
        self.unseen = False
        self.cell = _WIDEST
        self.placed = 0
        self._typed: dict[np.dtype, np.ndarray] = {}

    @property
    def sectors(self) -> int:
        """How many sectors it spans."""
        return len(self.bytes) // SECTOR_BYTES + 1

    def kept(self) -> Kept:
        """A copy of what it holds."""
        marks = self.unwritten
        return Kept(self.bytes.copy(), None if marks is None else marks.copy())

    def put_back(self, kept: Kept) -> None:
        """Makes it what it was when the copy was taken."""
        self.bytes[:] = kept.bytes
        if self.unwritten is not None:
            self.unwritten[:] = kept.unwritten

    def as_type(self, dtype: np.dtype) -> np.ndarray:
        """The content as elements of another type; a tail that is no whole element is left out."""
        found = self._typed.get(dtype)
        if found is None:
            whole = len(self.bytes) // dtype.itemsize * dtype.itemsize
            found = self._typed[dtype] = self.bytes[:whole].view(dtype)
        return found


@dataclass(eq=False)
class View:
    """A tensor that was passed: where its elements lie in its allocation.

    Args:
        scalar: MLIR's name of an element's type.
        offset: elements before the first one.
        strides: in elements.
    """

    name: str
    number: int
    allocation: Allocation
    scalar: str
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    def __post_init__(self) -> None:
        self.elements = math.prod(self.shape)
        self.offset_bytes = self.offset * self.itemsize
        axes = zip(self.shape, self.strides, strict=True)
        spans = [(n - 1) * s for n, s in axes if self.elements]
        first = self.offset + sum(min(0, span) for span in spans)
        last = self.offset + sum(max(0, span) for span in spans)
        self.first_byte = first * self.itemsize
        self.end_byte = (last + 1) * self.itemsize if self.elements else self.first_byte
        #: whether every element between the first and the last belongs to the view
        self.dense = self.end_byte - self.first_byte == self.elements * self.itemsize
        self.allocation.cell = min(self.allocation.cell, self.itemsize)
        self._map: np.ndarray | None = None
        self.whole = False

    def reach_all(self) -> None:
        """Whatever lies in the allocation counts as the view's."""
        self.whole = True
        self.first_byte, self.end_byte, self.dense = 0, len(self.allocation.bytes), True

    @property
    def held(self) -> str:
        """What a message says that it has: its elements, or all that a kernel may reach."""
        if not self.whole:
            return _elements(self.elements)
        behind = (self.end_byte - self.offset_bytes) // self.itemsize
        before = (self.offset_bytes - self.first_byte) // self.itemsize
        return f"{_elements(behind)} from its address on" + f" and {before} before it" * (
            before > 0
        )

    def _elements_map(self) -> np.ndarray:
        if self._map is None:
            span = (self.end_byte - self.first_byte) // self.itemsize
            self._map = np.zeros(span, np.bool_)
            low = (self.offset_bytes - self.first_byte) // self.itemsize
            # along an axis without a stride lies one and the same element
            axes = [axis for axis in zip(self.shape, self.strides, strict=True) if axis[1]]
            lengths, strides = [length for length, _ in axes], [stride for _, stride in axes]
            as_strided(self._map[low:], lengths, strides)[...] = True
        return self._map

    def not_elements(self, offsets: np.ndarray, size: int) -> np.ndarray | None:
        """Where byte offsets (inside the view's span) are no element of it, or None."""
        relative = offsets - self.first_byte
        bad = (offsets % size != 0) | (relative % min(size, self.itemsize) != 0)
        if size > self.itemsize and not self.dense:
            bad = bad | True
        elif not self.dense:
            bad = bad | ~self._elements_map()[relative // self.itemsize]
        return bad if bad.any() else None

    def element_at(self, offset: int) -> int:
        """The byte offset of the element that a byte of the allocation belongs to."""
        return offset - (offset - self.offset_bytes) % self.itemsize

    def index_of(self, offset: int) -> Any:
        """How a message names a byte offset of the allocation: an index, or a flat one."""
        flat, rest = divmod(offset - self.offset_bytes, self.itemsize)
        inside = self.first_byte <= offset < self.end_byte and 0 <= flat < self.elements
        if not rest and inside and self.contiguous and len(self.shape) > 1:
            return tuple(int(i) for i in np.unravel_index(flat, self.shape))
        return flat

    @property
    def contiguous(self) -> bool:
        """Whether it lies row after row, without gaps."""
        neighbours = zip(self.strides[:-1], self.strides[1:], self.shape[1:], strict=False)
        return (
            self.dense
            and all(far == near * length for far, near, length in neighbours)
            and (not self.strides or self.strides[-1] == 1)
        )

    def overlooks_strides(self, offset: int) -> bool:
        """Whether a byte offset would be an element's if the view had no gaps."""
        flat, rest = divmod(offset - self.offset_bytes, self.itemsize)
        inside = 0 <= flat < self.elements or self.first_byte <= offset < self.end_byte
        return not rest and inside and not self.contiguous


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"
