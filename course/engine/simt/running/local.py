"""Local memory: arrays that every thread has for itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from course.engine.faults import Outcome
from course.engine.simt.lowering.types import ArrayType, Scalar, numpy_dtype
from course.engine.simt.running.bounds import Access, check_bounds
from course.engine.simt.running.lanes import Lanes, Mask, select
from course.engine.simt.running.views import Packed


class LocalArray(Packed):
    """A private array of every thread: a list of lane values, each as small as it can be."""

    def __init__(self, name: str, shape: tuple[int, ...], type_: Scalar) -> None:
        self.name = name
        self.shape = shape
        self.type = ArrayType(type_, len(shape), "local")
        self.dtype = numpy_dtype(type_)
        self.cells: list[np.ndarray | None] = [None] * math.prod(shape)
        #: lanes that wrote a cell: None where every lane did
        self.written: list[Mask] = [None] * len(self.cells)

    @property
    def bytes(self) -> int:
        """Of one thread."""
        return len(self.cells) * self.dtype.itemsize

    def _each(self, lanes: Lanes, access: Access) -> Iterator[tuple[int, Mask]]:
        """Each cell of an access, after every check, and the lanes whose it is."""
        check_bounds(lanes, self.name, self.shape, access)
        cell = self.cell(access.indices)
        if cell.size == 1:
            yield int(cell[0, 0]), access.mask
            return
        for number in np.unique(cell):
            here = lanes.both(access.mask, cell == number)
            if here.any():
                yield int(number), here

    def load(self, lanes: Lanes, access: Access) -> np.ndarray:
        result: np.ndarray | None = None
        for number, here in self._each(lanes, access):
            value = self._load_one(lanes, number, here, access.line)
            result = value if result is None else np.where(lanes.full(here), value, result)
        return np.zeros((1, 1), self.dtype) if result is None else result

    def _load_one(self, lanes: Lanes, number: int, mask: Mask, line: int) -> np.ndarray:
        value, written = self.cells[number], self.written[number]
        missing: np.ndarray | None = None
        if value is None:
            missing = lanes.full(mask)
        elif written is not None:
            missing = lanes.both(mask, ~written)
        if missing is not None and missing.any():
            where = {"array": self.name, "index": self.index_of(number)}
            raise lanes.fault(Outcome.UNINITIALISED, "uninitialised_local", line, missing, **where)
        return np.zeros((1, 1), self.dtype) if value is None else value

    def store(self, lanes: Lanes, access: Access, values: np.ndarray) -> None:
        for number, here in self._each(lanes, access):
            self._store_one(number, values, here)

    def _store_one(self, number: int, values: np.ndarray, mask: Mask) -> None:
        old, written = self.cells[number], self.written[number]
        if mask is None:
            self.cells[number], self.written[number] = values, None
        elif old is None:
            self.cells[number], self.written[number] = values, mask
        else:
            self.cells[number] = select(mask, values, old)
            if written is not None:
                self.written[number] = written | mask
