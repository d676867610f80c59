"""Virtual addresses: what a pointer is.

The upper bits of a number name the tensor that was passed (view 0, 1, ...), its lower 40 bits the
byte in that tensor's allocation, with 2^39 added so that a stray to either side stays recognisable
as one from that tensor. An allocation starts at a multiple of 256 bytes, as on a GPU; views of it
keep their offsets.
"""

from __future__ import annotations

import numpy as np

from course.engine.triton.running.tensors import View

REGION_BITS = 40
MIDDLE = 1 << (REGION_BITS - 1)
BYTE = (1 << REGION_BITS) - 1
_NOWHERE = -(1 << 62)


def address_of(view: View) -> int:
    """The virtual address of a view's first element."""
    return ((view.number + 1) << REGION_BITS) + MIDDLE + view.offset_bytes


def view_at(address: int, views: list[View]) -> View | None:
    """The view that an address was made from, wherever it has strayed."""
    number = (address >> REGION_BITS) - 1
    return views[number] if 0 <= number < len(views) else None


def of_one_tensor(base: np.ndarray, addresses: np.ndarray) -> np.ndarray:
    """Addresses made from `base`; one that came to another tensor's memory is no address at all."""
    strayed = (addresses ^ base) >> REGION_BITS != 0
    return np.where(strayed, _NOWHERE, addresses) if strayed.any() else addresses
