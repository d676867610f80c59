"""Global and constant memory, every access checked."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
from numba.np.numpy_support import map_layout
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from course.engine.equal_stores import hearing
from course.engine.faults import KernelFault, Outcome
from course.engine.rounds import rounds
from course.engine.simt.lowering.types import COMPLEX_FIELDS, ArrayType, TypingError, numba_type
from course.engine.simt.running.bounds import VERBS, Access, Index, check_bounds, written_index
from course.engine.simt.running.lanes import Lanes
from course.engine.simt.running.races import History
from course.engine.simt.running.views import Packed, Sliceable
from course.engine.traffic import ALLOCATION_ALIGNMENT_BYTES
from course.plain.sectors import SECTOR_BYTES

# ---------------------------------------------------------------- global memory

#: Two runs' results that differ by more than this part of the largest are not the same.
ORDER_MATTERS = 0.02
#: By the array that has the memory: which of its bytes nothing has written yet.
_UNWRITTEN: dict[int, np.ndarray] = {}


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that has the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def uninitialised(array: np.ndarray) -> np.ndarray:
    """The array, in whose memory nothing is written yet."""
    owner = owner_of(array)
    _UNWRITTEN[id(owner)] = np.ones(owner.nbytes, np.bool_)
    weakref.finalize(owner, _UNWRITTEN.pop, id(owner), None)
    return array


def initialised(array: np.ndarray) -> np.ndarray:
    """The array, in whose memory all may be written now."""
    _UNWRITTEN.pop(id(owner_of(array)), None)
    return array


class Allocation:
    """One piece of global memory, at a virtual 256-byte boundary."""

    def __init__(self, number: int, owner: np.ndarray) -> None:
        self.number = number
        self.owner = owner
        #: where it lies in this process: launches that share it are told by that
        self.address = int(owner.__array_interface__["data"][0])
        self.low, self.high = byte_bounds(owner) if owner.size else (0, 0)
        size = self.high - self.low
        self.size_bytes = -(-size // ALLOCATION_ALIGNMENT_BYTES) * ALLOCATION_ALIGNMENT_BYTES
        self.sectors = max(1, self.size_bytes // SECTOR_BYTES)
        self.history: History | None = None
        #: the kernel may write it, so its accesses are remembered
        self.written = False
        #: which bytes nothing has written
        self.unwritten = _UNWRITTEN.get(id(owner))
        #: bytes of a cell of the history: no element of a view has a part of one
        self.cell_bytes = 0
        self._flat: dict[tuple[np.dtype[Any], int], np.ndarray] = {}

    def flat(self, dtype: np.dtype[Any], start_bytes: int) -> np.ndarray:
        """The memory from `start_bytes` on as one row of `dtype`."""
        key = np.dtype(dtype)
        found = self._flat.get((key, start_bytes))
        if found is None:
            whole = np.atleast_1d(self.owner)  # an index of no axes would copy
            corner = whole[
                tuple(slice(None, None, -1) if step < 0 else slice(None) for step in whole.strides)
            ]
            corner = corner[(slice(0, 1),) * corner.ndim].reshape(1)
            raw = as_strided(
                corner.view(np.uint8)[start_bytes:], (self.high - self.low - start_bytes,), (1,)
            )
            raw = raw[: len(raw) // key.itemsize * key.itemsize]
            found = self._flat[key, start_bytes] = raw.view(key)
        return found


class GlobalView(Sliceable):
    """An array argument: where it lies in its allocation, its shape and its strides.

    `offset` and `strides` are in elements; `misalignment_bytes` is what remains of the view's
    start when the allocation is cut into elements.
    """

    def __init__(
        self, name: str, array: np.ndarray, allocation: Allocation, fields: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.fields = fields
        self.allocation = allocation
        self.dtype = array.dtype
        self.itemsize = array.dtype.itemsize
        if any(stride % self.itemsize for stride in array.strides):
            raise TypingError(
                f"the strides of {name}, {array.strides} bytes, are not whole elements of "
                f"{self.itemsize} bytes"
            )
        self.shape = array.shape
        self.strides = tuple(stride // self.itemsize for stride in array.strides)
        start = array.__array_interface__["data"][0] - allocation.low if array.size else 0
        self.misalignment_bytes = start % self.itemsize
        self.offset: Any = start // self.itemsize
        parts = (allocation.cell_bytes, self.itemsize, self.misalignment_bytes)
        allocation.cell_bytes = math.gcd(*parts)
        self.flat = (
            allocation.flat(array.dtype, self.misalignment_bytes)
            if array.size
            else np.zeros(1, array.dtype)
        )
        self.tracked = False
        #: whether Numba has it loaded and stored byte by byte: records that are not aligned
        self.by_bytes = False
        self.writeable = bool(array.flags.writeable)
        self.layout = map_layout(array)

    @property
    def type(self) -> ArrayType:
        return ArrayType(
            numba_type(self.dtype), len(self.shape), "global", self.fields, self.layout
        )

    def _inside(self, lanes: Lanes, access: Access) -> bool:
        return check_bounds(lanes, self.name, self.shape, access, len(self.fields))

    def elements(self, index: Index) -> np.ndarray:
        """Element numbers in the allocation."""
        total: Any = self.offset
        for numbers, stride in zip(index, self.strides, strict=True):
            part = numbers if stride == 1 else numbers * stride
            total = part if isinstance(total, int) and total == 0 else total + part
        return total if isinstance(total, np.ndarray) else np.full((1, 1), total)

    def load(self, lanes: Lanes, access: Access) -> np.ndarray:
        clean = self._inside(lanes, access)
        elements = self.elements(access.indices)
        inside = elements if clean else np.where(lanes.full(access.mask), elements, 0)
        self._count(lanes, access, inside)
        active = lanes.active(access.mask)
        if self.allocation.unwritten is not None:
            self._require_written(lanes, access, active.of(inside), active.threads)
        if self.tracked:
            cells, threads = self._cells(active.of(inside)), self._by_cell(active.threads)
            self._history().read(lanes, cells, threads, access.line)
        return self.flat.take(inside, mode="clip")

    def _count(self, lanes: Lanes, access: Access, elements: np.ndarray) -> None:
        """Counts an access where memory is asked for it now."""
        if isinstance(access.asking, np.ndarray):
            self.count(lanes, access)
        elif access.asking:
            lanes.launch.meter.access(lanes, self, access, elements)

    def count(self, lanes: Lanes, access: Access) -> None:
        """Counts an access that the compiler makes here, whose index may not be known yet."""
        if isinstance(access.asking, np.ndarray):  # lanes that make their first turn later, too
            access = access._replace(mask=access.asking)
        elements = np.clip(self.elements(access.indices), 0, max(0, len(self.flat) - 1))
        lanes.launch.meter.access(lanes, self, access, elements)

    def store(self, lanes: Lanes, access: Access, values: np.ndarray) -> None:
        self._inside(lanes, access)
        elements = self.elements(access.indices)
        self._count(lanes, access, elements)
        active = lanes.active(access.mask)
        cells, values = active.of(elements), active.of(values)
        over = None if hearing() is None else self._by_cell(self.flat[cells] != values)
        threads, stored = self._by_cell(active.threads), self._by_cell(values)
        self._history().write(lanes, self._cells(cells), threads, access.line, stored, over)
        self.flat[cells] = values
        if self.allocation.unwritten is not None:
            self.allocation.unwritten[self._bytes(cells)] = False

    def update(self, lanes: Lanes, access: Access) -> tuple[np.ndarray, np.ndarray]:
        """An atomic's (flat memory, cells of the active lanes), after every check."""
        self._inside(lanes, access)
        elements = self.elements(access.indices)
        lanes.launch.meter.access(lanes, self, access, elements)
        active = lanes.active(access.mask)
        cells = active.of(elements)
        if self.allocation.unwritten is not None:
            self._require_written(lanes, access, cells, active.threads)
        coming = slice(None) if lanes.launch.fences is None else np.concatenate(rounds(cells))
        met, threads = self._cells(cells[coming]), self._by_cell(active.threads[coming])
        self._history().atomic(lanes, met, threads, access.line, access.taken)
        return self.flat, cells

    def require_alike(self, other: np.ndarray) -> None:
        """Holds its memory to what blocks in another order left, but for the order of sums.

        Raises:
            KernelFault: RACE, where it is not that.
        """
        if self.dtype.kind in "fc":
            size = np.abs(other[np.isfinite(other)]).max(initial=0)
            alike = np.isclose(self.flat, other, 0, ORDER_MATTERS * size, equal_nan=True)
        else:
            alike = self.flat == other
        if not alike.all():
            byte = int(np.argmin(alike)) * self.itemsize + self.misalignment_bytes
            index = self._index_of(byte // max(1, self.allocation.cell_bytes))
            raise KernelFault(Outcome.RACE, "by_order", None, array=self.name, index=index)

    def _bytes(self, elements: np.ndarray) -> np.ndarray:
        """The bytes of each of some elements, in a row of their own."""
        first = elements * self.itemsize + self.misalignment_bytes
        return first[:, None] + np.arange(self.itemsize)

    def _require_written(
        self, lanes: Lanes, access: Access, elements: np.ndarray, threads: np.ndarray
    ) -> None:
        marks = self.allocation.unwritten
        missing = np.zeros(0) if marks is None else marks[self._bytes(elements)].any(axis=1)
        if not missing.any():
            return
        where = np.flatnonzero(missing)
        at = where[np.argmin(threads[where])]
        byte = int(elements[at]) * self.itemsize + self.misalignment_bytes
        raise KernelFault(
            Outcome.UNINITIALISED,
            "uninitialised_global",
            access.line,
            access=VERBS[access.direction],
            array=self.name,
            index=self._index_of(byte // max(1, self.allocation.cell_bytes)),
            **lanes.place(int(threads[at]) % lanes.threads, int(threads[at]) // lanes.threads),
        )

    def _history(self) -> History:
        """The allocation's, which names its cells as this view does."""
        allocation = self.allocation
        if allocation.history is None:
            cells = -(-(allocation.high - allocation.low) // max(1, allocation.cell_bytes))
            allocation.history = History(self.name, max(1, cells), shared=False)
        allocation.history.name, allocation.history.index_of = self.name, self._index_of
        return allocation.history

    @property
    def _parts(self) -> int:
        """Cells of an element."""
        return self.itemsize // max(1, self.allocation.cell_bytes)

    def _cells(self, elements: np.ndarray) -> np.ndarray:
        """Elements as cells of the history, which views of other elements share."""
        if self._parts == 1:
            return elements
        first = elements * self._parts + self.misalignment_bytes // self.allocation.cell_bytes
        return (first[:, None] + np.arange(self._parts)).ravel()

    def _by_cell(self, values: np.ndarray) -> np.ndarray:
        """What belongs to each of some elements, for each of their cells."""
        return values if self._parts == 1 else np.repeat(values, self._parts)

    def _index_of(self, cell: int) -> str:
        """The index of the element with a cell, as the kernel would write it."""
        at_byte = cell * max(1, self.allocation.cell_bytes) - self.misalignment_bytes
        rest = at_byte // self.itemsize - int(np.min(self.offset))
        index = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda a: -abs(self.strides[a])):
            if self.strides[axis] and self.shape[axis] > 1:
                index[axis], rest = divmod(rest, self.strides[axis])
        return written_index(tuple(index[: len(index) - bool(self.fields)]))


# ---------------------------------------------------------------- constant memory


class ConstantArray(Packed):
    """A small read-only array that the compiler keeps in constant memory: no global traffic."""

    def __init__(self, name: str, values: np.ndarray) -> None:
        self.name = name
        values, self.fields = without_fields(values)
        self.shape = values.shape
        self.values = np.ascontiguousarray(values)
        self.type = ArrayType(numba_type(values.dtype), values.ndim, "constant", self.fields)

    def load(self, lanes: Lanes, access: Access) -> np.ndarray:
        clean = check_bounds(lanes, self.name, self.shape, access, len(self.fields))
        cell = self.cell(access.indices)
        if not clean:
            cell = np.where(lanes.full(access.mask), cell, 0)
        return self.values.ravel().take(cell, mode="clip")


def by_field(array: np.ndarray) -> dict[str, np.ndarray]:
    """Of records whose fields are numbers of several types, each field, with a last axis of 1.

    None where a field lies at no multiple of its size: that takes records that are aligned.
    """
    fields: dict[str, Any] = dict(array.dtype.fields or {})
    if array.ndim == 0 or not array.size or without_fields(array)[1]:
        return {}
    plain = all(kind.kind in "biuf" and kind.isnative for kind, *_ in fields.values())
    sizes = {kind.itemsize for kind, *_ in fields.values()}
    if not plain or any(step % size for step in array.strides for size in sizes):
        return {}
    return {
        name: np.lib.stride_tricks.as_strided(
            array[name], (*array.shape, 1), (*array.strides, kind.itemsize)
        )
        for name, (kind, *_) in fields.items()
    }


def without_fields(array: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """(elements, names of fields): records whose fields have one type get them as a last axis."""
    if array.dtype.kind == "c" and array.dtype.itemsize <= np.dtype(complex).itemsize:
        real = array.real
        pairs = np.lib.stride_tricks.as_strided(
            real, (*array.shape, 2), (*array.strides, real.itemsize)
        )
        return pairs, COMPLEX_FIELDS
    names = array.dtype.names
    if not names:
        return array, ()
    parts = [array.dtype.fields[name] for name in names]  # type: ignore[index]  # it has names
    kind = parts[0][0]
    packed = all(part[:2] == (kind, at * kind.itemsize) for at, part in enumerate(parts))
    if not packed or kind.kind not in "biuf" or array.dtype.itemsize != len(names) * kind.itemsize:
        return array, ()
    fields = np.lib.stride_tricks.as_strided(
        array[names[0]], (*array.shape, len(names)), (*array.strides, kind.itemsize)
    )
    return fields, tuple(names)
