"""Global memory: the tensors of a launch, and every access checked before it is made."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from course.engine.equal_stores import hearing
from course.engine.faults import KernelFault, Outcome
from course.engine.sampling import Unwatched
from course.engine.triton.running import narrow
from course.engine.triton.running.addresses import BYTE, MIDDLE, REGION_BITS, Numbers
from course.engine.triton.running.atomics import updated
from course.engine.triton.running.locks import sem_of
from course.engine.triton.running.races import NOBODY, History, TooEarly
from course.engine.triton.running.run import Run
from course.engine.triton.running.sites import Access, Uncounted
from course.engine.triton.running.tensors import Kept, View
from course.engine.triton.running.values import (
    Unsupported,
    Value,
    bf16_from_bits,
    bf16_to_bits,
    broadcast,
    item_bytes,
    numpy_type,
)
from course.engine.triton.running.warp_races import FIRST_WARP, Warps

#: Two runs' results that differ by more than this part of the largest are not the same.
ORDER_MATTERS = 0.02
#: By what an access does to a tensor: how it is called, and how it is written with a mask.
_NOUNS = {"loads from": "load", "stores to": "store", "updates": "atomic"}
_WITH_A_MASK = {
    "loads from": "tl.load(pointer, mask=offsets < n)",
    "stores to": "tl.store(pointer, values, mask=offsets < n)",
    "updates": "tl.atomic_add(pointer, values, mask=offsets < n)",
}
#: How far from its value a number lies that is too large for 32 bits.
_AROUND = 1 << 32


class Memory:
    """All tensors of a launch."""

    def __init__(
        self,
        run: Run,
        views: list[View],
        meter: Uncounted,
        watched: bool = True,
        numbers: Numbers | None = None,
    ) -> None:
        self.run = run
        self._watched = watched
        self.views, self.numbers = views, numbers
        self.meter = meter
        self.histories: dict[int, History] = {}
        self.too_early = TooEarly()
        #: holds a program's warps to barriers, where they may meet in an element
        self.warps: Warps | None = None

    @contextlib.contextmanager
    def settled(self) -> Iterator[None]:
        """All programs of the launch run inside.

        Raises:
            KernelFault: UNINITIALISED, where a program read what nothing had written. A race stays
                a race, but any other fault may come of what that program found there.
        """
        try:
            yield
        except KernelFault as fault:
            if self.too_early.fault is None or fault.outcome is Outcome.RACE:
                raise
        if self.too_early.fault is not None:
            raise self.too_early.fault
        for history in self.histories.values():
            history.settle()

    def place(self, address: int) -> dict[str, Any]:
        """What a message calls the element at an address."""
        view = self.views[(address >> REGION_BITS) - 1]
        offset = (address & BYTE) - MIDDLE
        return {"array": view.name, "index": view.index_of(offset)}

    def same(self, view: View, other: Kept) -> None:
        """What programs stored is what was kept of another run, but for the order of sums.

        Raises:
            KernelFault: RACE, where it is not.
        """
        history = self.histories.get(view.allocation.number)
        if history is None:
            return
        dtype = stored_type(view.scalar)
        mine = decoded(view.allocation.as_type(dtype), view.scalar).astype(np.float64)
        bytes_ = other.bytes[: len(mine) * dtype.itemsize]
        others = decoded(bytes_.view(dtype), view.scalar).astype(np.float64)
        parts = dtype.itemsize // history.cell
        stored = (history.writer.who[: len(mine) * parts] != NOBODY).reshape(-1, parts).any(axis=1)
        size = np.abs(mine[stored & np.isfinite(mine)]).max(initial=0)
        margin = ORDER_MATTERS * size if numpy_type(view.scalar).kind == "f" else 1
        differ = stored & ~np.isclose(mine, others, 0, margin, equal_nan=True)
        if differ.any():
            index = view.index_of(int(differ.argmax()) * dtype.itemsize)
            raise KernelFault(Outcome.RACE, "tile_by_order", None, array=view.name, index=index)

    # ------------------------------------------------------------ accesses

    def load(
        self,
        pointer: Value,
        mask: Value | None,
        other: Value | None,
        descriptor: bool = False,
        owners: np.ndarray | None = None,
    ) -> Value:
        """The elements at `pointer`; where the mask is false, `other` or 0.

        Args:
            owners: the warp of each, where warps are held to barriers (`self.warps`).
        """

        def make() -> Value:
            dtype = stored_type(pointer.scalar)
            fill = np.zeros((1,) * (1 + len(pointer.shape))) if other is None else other.data
            data = np.asarray(fill, numpy_type(pointer.scalar))
            for access, active in self._made(pointer, mask, "loads from", descriptor):
                view, places = access.view, _places(access.offsets, dtype.itemsize)
                if view.allocation.tracked:
                    self._history(view).load(access, places, dtype.itemsize)
                    if self.warps is not None and owners is not None:
                        lanes = self._lanes(places, owners, active)
                        self.warps.load(view, *lanes, dtype.itemsize, owners is FIRST_WARP)
                else:
                    view.allocation.unseen = True
                found = decoded(view.allocation.as_type(dtype).take(places), pointer.scalar)
                data = found if active is None else np.where(active, found, data)
            return Value(data, pointer.scalar, pointer.shape)

        found: Value = self._once(make, pointer, mask)
        return found

    def store(
        self,
        pointer: Value,
        value: Value,
        mask: Value | None,
        descriptor: bool = False,
        owners: np.ndarray | None = None,
    ) -> None:
        """Stores elements where the mask is true; `owners` as in `load`."""

        def make() -> None:
            dtype, shape = stored_type(pointer.scalar), (self.run.count, *pointer.shape)
            for access, active in self._made(pointer, mask, "stores to", descriptor):
                view = access.view
                places = broadcast(_places(access.offsets, dtype.itemsize), shape)
                values = broadcast(encoded(value.data, value.scalar), shape)
                programs = self._programs(shape)
                if active is not None:
                    keep = broadcast(active, shape)
                    places, values, programs = places[keep], values[keep], programs[keep]
                memory, history = view.allocation.as_type(dtype), self._history(view)
                if hearing() is None:
                    history.store(
                        self.run, view, places, programs, dtype.itemsize, boxed=descriptor
                    )
                    memory[places] = values
                else:
                    over = _differs(memory, places, values)
                    memory[places] = values
                    lost = over, _differs(memory, places, values)
                    history.store(
                        self.run, view, places, programs, dtype.itemsize, lost, descriptor
                    )
                self._agreed(view, memory, places, values, programs)
                if self.warps is not None and owners is not None and self.warps.minds(view):
                    at = _places(access.offsets, dtype.itemsize)
                    self.warps.store(view, *self._lanes(at, owners, active), dtype.itemsize)

        self._once(make, pointer, mask)

    def _once(self, make: Callable[[], Any], *looked_at: Value | None) -> Any:
        """What an access gives: of a program that takes turns, each access is made once."""
        if self.run.turns is None:
            return make()
        self.run.look(*looked_at)
        return self.run.turns.once(make)

    def _made(
        self, pointer: Value, mask: Value | None, verb: str, descriptor: bool
    ) -> Iterator[tuple[Access, np.ndarray | None]]:
        """(an access that may be made, and is counted; its active lanes) for each tensor."""
        size = item_bytes(pointer.scalar)
        active = self._active(mask)
        if active is not None and not np.count_nonzero(active):
            self.run.asks(0, pointer.shape, size)
            return
        parts: Sequence[Value | None] = self._several(pointer, active) or [mask]
        earlier = None
        for part in parts:
            lanes = active if part is mask else self._active(part)
            access = self._checked(pointer, mask, lanes, size, verb, descriptor)
            self.meter.access(access if earlier is None else replace(access, earlier=earlier))
            yield access, lanes
            earlier = lanes if earlier is None or lanes is None else earlier | lanes

    def atomic(
        self,
        operation: str,
        pointer: Value,
        value: Value,
        mask: Value | None,
        expected: Value | None = None,
        descriptor: bool = False,
        policy: tuple[Any, ...] = (),
        unread: bool = False,
    ) -> Value:
        """Updates elements in the order of the programs; gives what each found.

        Args:
            unread: what was there goes nowhere: neither into the new element nor to the kernel.
            policy: the rest of the operands: what the atomic orders, and for whom.
        """
        turns = self.run.turns
        scalar, dtype = pointer.scalar, stored_type(pointer.scalar)

        def make() -> Value:
            shape = (self.run.count, *pointer.shape)
            found = np.zeros(shape, numpy_type(scalar))
            for access, active in self._made(pointer, mask, "updates", descriptor):
                view = access.view
                places = np.broadcast_to(_places(access.offsets, dtype.itemsize), shape)
                keep = np.broadcast_to(True if active is None else active, shape)
                places, programs = places[keep], self._programs(shape)[keep]
                self._history(view).atomic(self.run, view, places, programs, dtype.itemsize, unread)
                memory = view.allocation.as_type(dtype)
                given = np.broadcast_to(value.data, shape)[keep]
                wanted = None if expected is None else np.broadcast_to(expected.data, shape)[keep]
                if scalar == "bf16":
                    wide = bf16_from_bits(memory)
                    found[keep] = updated(operation, wide, places, given, wanted, bf16=True)
                    memory[places] = bf16_to_bits(wide[places])
                else:
                    found[keep] = updated(operation, memory, places, given, wanted)
            return Value(found, scalar, pointer.shape)

        def make_in_turn() -> Value:
            assert turns is not None
            return turns.atomic(operation, pointer, value, expected, sem_of(policy), make)

        whole = turns is None or pointer.shape or (mask is not None and not mask.data.all())
        found: Value = self._once(make if whole else make_in_turn, pointer, mask)
        return found

    # ------------------------------------------------------------ checks

    def _agreed(
        self,
        view: View,
        memory: np.ndarray,
        places: np.ndarray,
        values: np.ndarray,
        programs: np.ndarray,
    ) -> None:
        """Two elements of one block stored to one place must be equal: nobody knows which wins."""
        lost = _differs(memory, places, values)
        if not np.count_nonzero(lost):
            return
        at = np.unravel_index(int(lost.argmax()), lost.shape)
        self.run.fail(
            Outcome.RACE,
            "tile_race_lanes",
            array=view.name,
            index=view.index_of(int(places[at]) * memory.dtype.itemsize),
            program=self.run.shown_program(programs[at]),
        )

    def _lanes(
        self, places: np.ndarray, owners: np.ndarray, active: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, warps and programs of the lanes that are active."""
        shape = (self.run.count, *owners.shape)
        places, owners = broadcast(places, shape), broadcast(owners, shape)
        if active is None:
            return places.reshape(-1), owners.reshape(-1), self._programs(shape).reshape(-1)
        keep = broadcast(active, shape)
        return places[keep], owners[keep], self._programs(shape)[keep]

    def _programs(self, shape: tuple[int, ...]) -> np.ndarray:
        rows = self.run.programs.astype(np.int32).reshape(-1, *(1,) * (len(shape) - 1))
        return np.broadcast_to(rows, shape)

    def _history(self, view: View) -> History:
        allocation = view.allocation
        found = self.histories.get(allocation.number)
        if found is None:
            if allocation.unseen:
                raise Unsupported("a store through a pointer that it cannot follow")
            found = (
                History(allocation, self.run.order is not None, self.too_early)
                if self._watched
                else cast("History", Unwatched())
            )
            self.histories[allocation.number] = found
            allocation.tracked = True
        return found

    def _active(self, mask: Value | None) -> np.ndarray | None:
        """The mask of an access that may be made here; None where every lane is active."""
        if self.run.combining:  # which pairs meet, and in which lanes, is the compiler's to say
            raise Unsupported("an access to memory in a combining function")
        if mask is None or np.count_nonzero(mask.data) == mask.data.size:
            return None
        return mask.data

    def _checked(
        self,
        pointer: Value,
        mask: Value | None,
        active: np.ndarray | None,
        size: int,
        verb: str,
        descriptor: bool,
    ) -> Access:
        """An access that may be made.

        Masked-off lanes get the offset of a lane that is active.
        """
        addresses = pointer.data
        if active is not None:
            shape = np.broadcast_shapes(addresses.shape, active.shape)
            wide, lanes = broadcast(addresses, shape), broadcast(active, shape)
            first = wide[np.unravel_index(int(lanes.argmax()), shape)]
            addresses = np.where(lanes, wide, first)
        low, high = int(addresses.min()), int(addresses.max())
        number = (low >> REGION_BITS) - 1
        if high >> REGION_BITS != low >> REGION_BITS or not 0 <= number < len(self.views):
            self._foreign(addresses, active, verb, size)
        view = self.views[number]
        base = ((number + 1) << REGION_BITS) + MIDDLE
        offsets = addresses - base
        first, last = view.first_byte, view.end_byte - size
        outside = None
        if low - base < first or high - base > last:
            outside = (offsets < first) | (offsets > last)
        if not view.dense or size != view.itemsize:
            within = offsets if outside is None else np.where(outside, first, offsets)
            gaps = view.not_elements(within, size)
            if gaps is not None:
                outside = gaps if outside is None else outside | gaps
        if outside is not None:
            self._outside(view, offsets, outside, mask, active, verb, pointer.shape)
        return Access(self.run, view, _NOUNS[verb], offsets, active, pointer.shape, descriptor)

    def _several(self, pointer: Value, active: np.ndarray | None) -> list[Value]:
        """Masks of the lanes of each tensor, where one access reaches into more than one."""
        if len(self.views) == 1:
            return []
        low, high = int(pointer.data.min()), int(pointer.data.max())
        if low >> REGION_BITS == high >> REGION_BITS:
            return []
        regions = pointer.data >> REGION_BITS
        lanes = True if active is None else active
        shape = np.broadcast_shapes(regions.shape, np.shape(lanes))
        numbers = np.unique(np.broadcast_to(regions, shape)[np.broadcast_to(lanes, shape)])
        if len(numbers) < 2 or numbers[0] < 1 or numbers[-1] > len(self.views):
            return []
        return [Value((regions == number) & lanes, "i1", pointer.shape) for number in numbers]

    def _foreign(
        self, addresses: np.ndarray, active: np.ndarray | None, verb: str, size: int
    ) -> None:
        numbers = (addresses >> REGION_BITS) - 1
        at, program = self._first(numbers != numbers.clip(0, len(self.views) - 1), active)
        address = int(addresses[at]) & (2**63 - 1)
        self.run.fail(
            Outcome.OUT_OF_BOUNDS,
            "tile_askew" if address % size else "tile_no_tensor",
            doing=verb,
            address=hex(address),
            program=program,
            size=size,
        )

    def _outside(
        self,
        view: View,
        offsets: np.ndarray,
        outside: np.ndarray,
        mask: Value | None,
        active: np.ndarray | None,
        verb: str,
        shape: tuple[int, ...],
    ) -> None:
        at, program = self._first(outside, active)
        offset = int(offsets[at])
        self.meter.outside(Access(self.run, view, _NOUNS[verb], offsets, active, shape, False))
        before = offset + view.itemsize * _AROUND
        hint: dict[str, object]
        if view.first_byte <= before < view.end_byte:
            hint = {"wrapped": before // view.itemsize}
        else:
            hint = {"unmasked": _WITH_A_MASK[verb]} if mask is None else {"masked": _NOUNS[verb]}
        self.run.fail(
            Outcome.OUT_OF_BOUNDS,
            "tile_gap" if view.overlooks_strides(offset) else "tile_out_of_bounds",
            **hint,
            array=view.name,
            index=view.index_of(offset),
            shape=None if view.whole else view.shape,
            strides=None if view.contiguous or view.whole else str(view.strides),
            held=view.held,
            program=program,
            doing=verb,
        )

    def _first(self, bad: np.ndarray, active: np.ndarray | None) -> tuple[tuple[int, ...], str]:
        lanes = bad if active is None else bad & active
        at = np.unravel_index(int(lanes.argmax()), lanes.shape)
        row = int(at[0])
        program = self.run.programs[row if lanes.shape[0] > 1 else 0]
        return tuple(map(int, at)), self.run.shown_program(program)


def stored_type(scalar: str) -> np.dtype:
    """What memory holds of a type."""
    if scalar == "bf16":
        return np.dtype(np.int16)
    one_byte = scalar == "i1" or scalar in narrow.EIGHT_BITS
    return np.dtype(np.int8) if one_byte else numpy_type(scalar)


def _differs(memory: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where what is in memory has other bits than a value."""
    bits = f"i{memory.dtype.itemsize}"
    kept = memory[places].view(bits)
    differs: np.ndarray = kept != np.ascontiguousarray(values, memory.dtype).view(bits)
    return differs


def _places(offsets: np.ndarray, size: int) -> np.ndarray:
    shift = size.bit_length() - 1
    return offsets >> shift if shift else offsets


def decoded(values: np.ndarray, scalar: str) -> np.ndarray:
    """Values of a type, of what memory holds."""
    if scalar == "bf16":
        return bf16_from_bits(values)
    if scalar in narrow.EIGHT_BITS:
        return narrow.from_bits(values, scalar)
    return values.astype(np.bool_) if scalar == "i1" else values


def encoded(values: np.ndarray, scalar: str) -> np.ndarray:
    """Values of a type as memory holds them."""
    if scalar in narrow.EIGHT_BITS:
        return narrow.to_bits(values, scalar)
    return bf16_to_bits(values) if scalar == "bf16" else values
