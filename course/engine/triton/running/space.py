"""The memory of a GPU as a program knows it by numbers: where its tensors lie."""

from __future__ import annotations

import weakref
from typing import Any

import torch

#: Beyond what a process of the host has, so that no address of the host is taken for one of these.
_FIRST = 1 << 48
#: What memory is given away in, as CUDA does.
_PAGE_BYTES = 2 << 20
#: Where nothing lies, on either side of every storage.
GAP_BYTES = _PAGE_BYTES // 2


class Space:
    """Gives each storage its place, and keeps of which tensors a program has asked the address."""

    def __init__(self) -> None:
        self._next = _FIRST
        self._asked: dict[int, weakref.ref[Any]] = {}

    def place_of(self, storage: Any) -> int:
        """The address of a storage's first byte."""
        place, size = getattr(storage, "_course_place", (0, -1))
        if size < storage.nbytes():  # it is new, or has grown
            place, size = self._next, storage.nbytes()
            storage._course_place = place, size
            self._next += (2 + size // _PAGE_BYTES) * _PAGE_BYTES
        return int(place)

    def address_of(self, tensor: torch.Tensor) -> int:
        """What `tensor.data_ptr()` tells; from now on the program may keep it in a table."""
        storage, offset = tensor.untyped_storage(), tensor.storage_offset()
        place = self.place_of(storage)
        if place not in self._asked:
            storage._course_asked = {}
            self._asked[place] = weakref.ref(storage, lambda _: self._asked.pop(place, None))
        start = offset * tensor.element_size()
        known, whole = storage._course_asked, (offset, tensor.shape, tensor.stride())
        if start not in known or known[start][1][1].numel() < tensor.numel():
            known[start] = tensor.dtype, whole
        return place + start

    def tensor_at(self, address: int, dtype: torch.dtype) -> torch.Tensor | None:
        """All that lies from an address to the end of its storage; None where nobody has asked for
        an address of that storage, or no element of this type can begin there.
        """
        for place, one in [*self._asked.items()]:
            storage = one()
            if storage is not None and 0 <= address - place <= storage.nbytes():
                first, over = divmod(address - place, dtype.itemsize)
                count = storage.nbytes() // dtype.itemsize - first
                return None if over else torch.empty(0, dtype=dtype).set_(storage, first, (count,))
        return None

    def asked(self) -> list[torch.Tensor]:
        """Those of them that are there still."""
        storages = [storage for one in [*self._asked.values()] if (storage := one()) is not None]
        return [
            torch.empty(0, dtype=dtype).set_(storage, *whole)
            for storage in storages
            for dtype, whole in storage._course_asked.values()
        ]
