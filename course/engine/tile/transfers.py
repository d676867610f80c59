"""The builder's loads, stores and atomics: addresses are made here and go to `Memory`.

A pointer is a virtual address: 64 bits that name the tensor it came from and the byte in its
allocation (see `course.engine.tile.memory`). Block pointers and descriptors become such addresses
with a mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from course.engine.faults import Outcome
from course.engine.tile.memory import REGION_BITS
from course.engine.tile.numbering import expression, number_of
from course.engine.tile.run import Run
from course.engine.tile.values import Unsupported, Value, numpy_type
from course.engine.triton.versions import VOLATILE_LOADS_WRITE

DESCRIPTOR_ALIGNMENT = 16
_NOWHERE = -(1 << 62)


@dataclass
class BlockPointer:
    """`tl.make_block_ptr`: a window into a strided array."""

    base: Value
    extent: list[Value]
    strides: list[Value]
    offsets: list[Value]
    block: list[int]

    @property
    def number(self) -> tuple[Any, ...]:
        """Equal for windows that are the same expression."""
        return number_of([self.base, self.extent, self.strides, self.offsets, self.block])

    @property
    def data(self) -> np.ndarray:
        """The base's data, where only the number of programs is asked."""
        return self.base.data

    def addresses(self, checked: Any) -> tuple[Value, Value | None]:
        """(addresses, mask) of the window; the mask covers the axes in `checked`."""
        rank = len(self.block)
        size = item_bytes(self.base.type)
        address: Any = self.base.data.reshape(-1, *(1,) * rank)
        mask: Any = None
        for axis, length in enumerate(self.block):
            shape = [1] * (rank + 1)
            shape[axis + 1] = length
            steps = np.arange(length, dtype=np.int64).reshape(shape)
            place = self.offsets[axis].data.astype(np.int64).reshape(-1, *(1,) * rank) + steps
            stride = self.strides[axis].data.astype(np.int64).reshape(-1, *(1,) * rank)
            address = address + place * (stride * size)
            if axis in checked:
                end = self.extent[axis].data.astype(np.int64).reshape(-1, *(1,) * rank)
                inside = (place >= 0) & (place < end)
                mask = inside if mask is None else mask & inside
        shape_ = tuple(self.block)
        address = of_one_tensor(self.base.data.reshape(-1, *(1,) * rank), address)
        pointer = Value(address, self.base.type, shape_)
        return pointer, None if mask is None else Value(mask, None, shape_)


@dataclass
class Descriptor(BlockPointer):
    """`tl.make_tensor_descriptor`: as above, always checked against its extent."""

    padding: Any = None

    def at(self, offsets: list[Value]) -> tuple[Value, Value | None]:
        """(addresses, mask) of the block at `offsets`."""
        window = BlockPointer(self.base, self.extent, self.strides, offsets, self.block)
        return window.addresses(range(len(self.block)))


def item_bytes(pointer_type: Any) -> int:
    """Bytes of the element that a pointer points to (a boolean takes one)."""
    element = pointer_type.scalar.element_ty
    return max(1, int(element.primitive_bitwidth) // 8)


def of_one_tensor(base: np.ndarray, addresses: np.ndarray) -> np.ndarray:
    """Addresses made from `base`; one that came to another tensor's memory is no address at all."""
    strayed = (addresses ^ base) >> REGION_BITS != 0
    return np.where(strayed, _NOWHERE, addresses) if strayed.any() else addresses


class Transfers:
    """The builder's part that reaches memory."""

    run: Run

    def create_addptr(self, pointer: Value, offset: Value) -> Value:
        """A pointer moved by elements; offsets are signed."""
        size = item_bytes(pointer.type)
        steps = offset.data.astype(np.int64)
        shape = pointer.shape if len(pointer.shape) >= len(offset.shape) else offset.shape
        data = pointer.data + (steps if size == 1 else steps * size)
        if offset.data.dtype.itemsize > 4:  # no other offset is long enough
            data = of_one_tensor(pointer.data, data)
        return Value(data, pointer.type, shape)

    # ------------------------------------------------------------ loads and stores

    def create_load(self, pointer: Value, *policy: Any) -> Value:
        """A load without a mask."""
        return self._loaded(pointer, None, None, policy)

    def create_masked_load(
        self, pointer: Value, mask: Value, other: Value | None, *policy: Any
    ) -> Value:
        """A load where the mask is true; elsewhere `other`, or 0."""
        _require_comparison(mask)
        return self._loaded(pointer, mask, other, policy)

    def _loaded(
        self, pointer: Value, mask: Value | None, other: Value | None, policy: tuple[Any, ...]
    ) -> Value:
        """A load, counted unless the compiler makes one of it and an equal one.

        Args:
            policy: the rest of the operands; the last says whether the load is volatile.
        """
        memory, made = self.run.memory, self.run.merging
        number = expression("load", pointer, mask, other, policy)
        volatile = policy[-1:] == (True,)
        if volatile and VOLATILE_LOADS_WRITE:
            memory.writes += 1
        known = None if volatile else made.known(number, memory.writes)
        found: Value = memory.load(pointer, mask, other, counted=known is None)
        if known is None:
            made.made(number, memory.writes, found.number)
        else:
            found.number = known
        return found

    def create_store(self, pointer: Value, value: Value, *_: Any) -> None:
        """A store without a mask."""
        self.run.memory.store(pointer, value, None)

    def create_masked_store(self, pointer: Value, value: Value, mask: Value, *_: Any) -> None:
        """A store where the mask is true."""
        _require_comparison(mask)
        self.run.memory.store(pointer, value, mask)

    def create_atomic_rmw(
        self, operation: Any, pointer: Value, value: Value, mask: Value, *policy: Any
    ) -> Value:
        """One atomic update an element; gives the values before."""
        name = str(operation).rsplit(".", 1)[-1].upper()
        _require_comparison(mask)
        found: Value = self.run.memory.atomic(name, pointer, value, mask, policy=policy)
        return found

    def create_atomic_cas(
        self, pointer: Value, expected: Value, value: Value, *policy: Any
    ) -> Value:
        """Compare and swap; gives the values before."""
        found: Value = self.run.memory.atomic("CAS", pointer, value, None, expected, policy=policy)
        return found

    # ------------------------------------------------------------ block pointers

    def create_make_block_ptr(
        self,
        base: Value,
        extent: list[Value],
        strides: list[Value],
        offsets: list[Value],
        block: list[int],
        order: Any,
    ) -> BlockPointer:
        """A window that `tl.advance` moves."""
        self.run.note_size(int(np.prod(block)))
        return BlockPointer(base, list(extent), list(strides), list(offsets), list(block))

    def create_advance(self, pointer: BlockPointer, offsets: list[Value]) -> BlockPointer:
        """The window moved."""
        if not isinstance(pointer, BlockPointer):
            raise ValueError("tl.advance takes a block pointer, which tl.make_block_ptr makes")
        if len(offsets) != len(pointer.offsets):
            raise ValueError(
                f"tl.advance by {len(offsets)} offsets, of a block with {len(pointer.offsets)}"
            )
        moved = [
            Value(
                old.data + by.data.astype(old.data.dtype),
                old.type,
                number=expression("advance", old, by),
            )
            for old, by in zip(pointer.offsets, offsets, strict=True)
        ]
        return BlockPointer(pointer.base, pointer.extent, pointer.strides, moved, pointer.block)

    def create_tensor_pointer_load(
        self, pointer: BlockPointer, checked: Any, padding: Any, *policy: Any
    ) -> Value:
        """A load of the window; outside the checked axes 0, or NaN where asked."""
        addresses, mask = pointer.addresses(tuple(checked or ()))
        addresses.number = expression("window", pointer)
        if mask is not None:
            mask.number = expression("inside", pointer, tuple(checked))
        other = _padding(padding, addresses)
        if other is not None:
            other.number = expression("padding", str(padding))
        return self._loaded(addresses, mask, other, policy)

    def create_tensor_pointer_store(
        self, pointer: BlockPointer, value: Value, checked: Any, *_: Any
    ) -> None:
        """A store to the window."""
        addresses, mask = pointer.addresses(tuple(checked or ()))
        self.run.memory.store(addresses, value, mask)

    # ------------------------------------------------------------ descriptors

    def create_make_tensor_descriptor(
        self,
        base: Value,
        extent: list[Value],
        strides: list[Value],
        block: list[int],
        is_signed: bool,
        padding: Any = None,
    ) -> Descriptor:
        """A descriptor; the hardware wants its start and rows at multiples of 16 bytes."""
        size = item_bytes(base.type)
        for stride in strides[:-1]:
            if (stride.data.astype(np.int64) * size % DESCRIPTOR_ALIGNMENT).any():
                self._misaligned(f"a row stride of {int(stride.data.flat[0])} elements")
        if (base.data % DESCRIPTOR_ALIGNMENT).any():
            self._misaligned("a base that is no multiple of 16 bytes")
        self.run.note_size(int(np.prod(block)))
        return Descriptor(base, list(extent), list(strides), [], list(block), padding)

    def _misaligned(self, what: str) -> None:
        self.run.fail(Outcome.OUT_OF_BOUNDS, "tile_descriptor", detail=what)

    def create_descriptor_load(
        self, descriptor: Descriptor, offsets: list[Value], *_: Any
    ) -> Value:
        """A block of the tensor; outside its extent 0, or NaN where asked."""
        addresses, mask = descriptor.at(offsets)
        other = _padding(descriptor.padding, addresses)
        return self.run.memory.load(addresses, mask, other, descriptor=True)

    def create_descriptor_store(
        self, descriptor: Descriptor, value: Value, offsets: list[Value]
    ) -> None:
        """Stores a block; what lies outside the extent is dropped."""
        addresses, mask = descriptor.at(offsets)
        self.run.memory.store(addresses, value, mask, descriptor=True)

    def create_descriptor_reduce(
        self, kind: Any, descriptor: Descriptor, value: Value, offsets: list[Value]
    ) -> None:
        """Atomic updates of a block."""
        addresses, mask = descriptor.at(offsets)
        name = str(kind).rsplit(".", 1)[-1].upper()
        if name == "ADD" and numpy_type(value.type).kind == "f":
            name = "FADD"
        self.run.memory.atomic(name, addresses, value, mask, descriptor=True)

    def create_descriptor_gather(
        self, descriptor: Descriptor, rows: Value, column: Value, type_: Any
    ) -> Value:
        """Rows of a tensor, picked by number."""
        addresses, mask = _picked(descriptor, rows, column)
        other = _padding(descriptor.padding, addresses)
        return self.run.memory.load(addresses, mask, other, descriptor=True)

    def create_descriptor_scatter(
        self, descriptor: Descriptor, value: Value, rows: Value, column: Value
    ) -> None:
        """Stores to rows picked by number."""
        addresses, mask = _picked(descriptor, rows, column)
        self.run.memory.store(addresses, value, mask, descriptor=True)


def _require_comparison(mask: Value | None) -> None:
    """A mask is a bit an element, where it comes from the kernel."""
    if mask is not None and mask.type is not None and not mask.type.scalar.is_int1():
        raise TypeError("the mask is no comparison")


def _picked(descriptor: Descriptor, rows: Value, column: Value) -> tuple[Value, Value]:
    if len(descriptor.block) != 2:
        raise Unsupported("gather and scatter by a descriptor that is not two-dimensional")
    size = item_bytes(descriptor.base.type)
    width = descriptor.block[1]
    row = rows.data.astype(np.int64)[..., None]
    place = column.data.astype(np.int64).reshape(-1, 1, 1) + np.arange(width, dtype=np.int64)
    step_row, step = (s.data.astype(np.int64).reshape(-1, 1, 1) for s in descriptor.strides)
    height, end = (e.data.astype(np.int64).reshape(-1, 1, 1) for e in descriptor.extent)
    base = descriptor.base.data.reshape(-1, 1, 1)
    mask = (row >= 0) & (row < height) & (place >= 0) & (place < end)
    shape = (rows.shape[0], width)
    address = of_one_tensor(base, base + (row * step_row + place * step) * size)
    return Value(address, descriptor.base.type, shape), Value(mask, None, shape)


def _padding(padding: Any, addresses: Value) -> Value | None:
    if padding is None or not str(padding).upper().endswith("NAN"):
        return None
    element = addresses.type.scalar.element_ty
    data = np.full((1,) * addresses.data.ndim, np.nan, numpy_type(element))
    return Value(data, element, addresses.shape)
