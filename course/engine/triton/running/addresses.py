"""Virtual addresses: what a pointer is.

The upper bits of a number name the tensor that was passed (view 0, 1, ...), its lower 40 bits the
byte in that tensor's allocation, with 2^39 added so that a stray to either side stays recognisable
as one from that tensor. An allocation starts at a multiple of 256 bytes, as on a GPU; views of it
keep their offsets. Where a program may know addresses as numbers (see `space.py`), a pointer that
a kernel makes of one names the tensor there, and is negative where nothing lies.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from course.engine.triton.running.space import GAP_BYTES
from course.engine.triton.running.tensors import View

REGION_BITS = 40
MIDDLE = 1 << (REGION_BITS - 1)
BYTE = (1 << REGION_BITS) - 1
_NOWHERE = -(1 << 62)
#: Of an address that has left its tensor: above these bits the tensor's number, one of so many,
#: and in them the bytes from the start of its region, fewer than `_FAR` to either side.
_AWAY_BITS, _HOMES = 52, 1023
_FAR = 1 << (_AWAY_BITS - 1)
#: What a number has as an address where nothing lies.
_LOST = np.int64(-(1 << 63))


def address_of(view: View) -> int:
    """The virtual address of a view's first element."""
    return _start_of(view) + view.offset_bytes


def _start_of(view: View) -> int:
    """The virtual address of the first byte of a view's allocation."""
    return ((view.number + 1) << REGION_BITS) + MIDDLE


def view_at(address: int, views: list[View]) -> View | None:
    """The view that an address was made from, wherever it has strayed."""
    number = (address >> REGION_BITS) - 1
    return views[number] if 0 <= number < len(views) else None


def of_one_tensor(base: np.ndarray, addresses: np.ndarray) -> np.ndarray:
    """Addresses made from `base`; one that came to another tensor's memory is no address at all.

    It keeps in mind which tensor it is from and how far it is away: a later step may bring it back.
    """
    strayed = (addresses ^ base) >> REGION_BITS != 0
    if not strayed.any():
        return addresses
    away = base >> 62 == -1
    home = np.where(away, base >> _AWAY_BITS & _HOMES, base >> REGION_BITS)
    start = np.where(away, _NOWHERE | home << _AWAY_BITS, home << REGION_BITS)
    far = addresses - start
    far -= np.where(away & (base - start >= _FAR), 2 * _FAR, 0)  # it was behind its tensor
    known = (home >= 0) & (home < _HOMES) & (abs(far) < _FAR)
    kept = np.where(known, _NOWHERE | home << _AWAY_BITS | far & (2 * _FAR - 1), _NOWHERE)
    back = known & (far >> REGION_BITS == 0)
    return np.where(strayed, np.where(back, (home << REGION_BITS) + far, kept), addresses)


class Numbers:
    """Addresses as a program knows them: whole numbers, of which it may keep a table.

    Args:
        views: the tensors that were passed; what a kernel reaches by a number is added to them.
        reachable: those whose address the program may know.
    """

    def __init__(self, views: list[View], reachable: list[View]) -> None:
        self._views, self._reachable = views, reachable
        self._named: dict[tuple[int, str], View] = {}
        ends = [
            (
                one.placed,
                one.placed + len(one.bytes),
                view.offset_bytes,
                view.first_byte,
                view.end_byte,
            )
            for view in reachable
            for one in [view.allocation]
        ]
        self._low, self._high, start, first, end = np.array(ends, np.int64).reshape(-1, 5).T
        self._start, self._first, self._end = (self._low + one for one in (start, first, end))

    def of(self, addresses: np.ndarray) -> np.ndarray:
        """`tt.ptr_to_int`."""
        steps = [view.allocation.placed - _start_of(view) for view in self._views]
        regions = (addresses >> REGION_BITS) - 1
        known = (regions >= 0) & (regions < len(steps))
        moved = addresses + np.array([*steps, 0], np.int64)[np.where(known, regions, -1)]
        return np.where(known, moved, addresses & ~_LOST)

    def to(self, numbers: np.ndarray, size: int, name: str) -> np.ndarray:
        """`tt.int_to_ptr`, to elements of `size` bytes; `name` is what the kernel calls it."""
        distinct, like = np.unique(numbers, return_inverse=True)
        found = [self._address(number, size, name) for number in distinct]
        return np.array(found, np.int64)[like].reshape(numbers.shape)

    def _address(self, number: np.int64, size: int, name: str) -> int:
        near = (self._low - GAP_BYTES <= number) & (number < self._high + GAP_BYTES)
        if number % size or not near.any():
            return int(number | _LOST)
        inside = (self._first <= number) & (number < self._end)
        # the tensor that begins there, or else one that it lies in, and of several the longest
        best = np.lexsort((self._end - self._first, inside, number == self._start, near))[-1]
        view = self._view(self._reachable[best], name)
        return _start_of(view) + int(number - self._low[best])

    def _view(self, view: View, name: str) -> View:
        """What a number led to, among the tensors of the launch."""
        found = self._named.get((view.number, name))
        if found is None:
            found = self._named[view.number, name] = copy(view)
            found.name, found.number = name or "memory", len(self._views)
            self._views.append(found)
        return found
