"""Requests and sectors of an access, warp by warp, as its layout and its width say.

One warp instruction with an active lane is a request, and its sectors are the distinct ones of
its active lanes (the counters that `course.engine.traffic` names). Loads are made by every warp
and lane
that a layout names, copies too; stores, atomics and asynchronous copies by one of each set of
copies alone. A scalar is loaded by every warp and stored by one. What a descriptor copies is no
warp's: there a box of the tensor is a request, and its sectors are those of each of its lines that
lie inside the tensor. (The counter `l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld` has one
more for each 32 bytes of a line that lie outside and are filled.)
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from course.engine.requests import MOST_MAKERS, OFF, Moment, OfAll, Requests
from course.engine.triton.compiling.lowering import MOST_KEPT, Layout
from course.engine.triton.ir import Block, Module, Operation
from course.engine.triton.running.axes import analysis_of, order_of, width_of
from course.engine.triton.running.distinct import distinct_sectors
from course.engine.triton.running.hints import require_aligned
from course.engine.triton.running.sites import Access, Asked, Listener, SiteMeter, Uncounted
from course.engine.triton.running.values import broadcast, item_bytes
from course.engine.triton.running.warp_races import FIRST_WARP, owners_of
from course.plain.sectors import SECTOR_BYTES, SECTOR_SHIFT

#: Above the number of a sector.
_ROUND_BITS = 48
#: Of an address, where in its word of 4 bytes it lies.
_WORD_BITS = 2
#: Elements along one axis of a box (CUDA driver API, "cuTensorMapEncodeTiled").
_LONGEST_BOX = 256
#: What the hardware copies of a box at once: so much of a row (an H200's counters).
_LINE_BYTES = 128
#: Rows that one box takes where they are picked by number (PTX ISA, "tile::gather4").
_PICKED_ROWS = 4
_PICKING = frozenset({"ttng.async_tma_gather", "ttng.async_tma_scatter"})
#: `atomic_rmw_op` of a sum of floats.
FLOAT_SUM = 5
#: From this compute capability on `red` and `atom` take vectors of floats (PTX ISA, "red").
VECTOR_ATOMICS = 90
_COPY = "ttg.async_copy_global_to_local"
#: Which operand of an access is its mask.
_MASKS = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2, "ttg.async_copy_global_to_local": 2}


def mask_of(operation: Operation) -> str | None:
    """The name of an access's mask, if it has one."""
    at = _MASKS.get(operation.name)
    if at is None or len(operation.operands) <= at:
        return None
    return operation.operands[at]


@dataclass(frozen=True)
class Instructions:
    """How an access is made: an instruction of a warp in each row, a lane in each column.

    `elements` (instructions, lanes) numbers the first element of each lane in the block, row after
    row; `made` tells the lanes that take part, None where all do. A lane takes `width` elements at
    once and holds so many `side_by_side`; so many warps make `copies` of one instruction. The rows
    of a program's `warps` take turns. A descriptor copies `boxes`: a row is a line of one.
    """

    elements: np.ndarray
    made: np.ndarray | None
    width: int
    side_by_side: int = 1
    copies: int = 1
    warps: int = 1
    boxes: int = 0


@lru_cache(MOST_KEPT)
def instructions_of(
    layout: Layout, width: int, copies: bool, equal: tuple[int, ...] = ()
) -> Instructions:
    """The instructions of an access of `width` elements a lane.

    Args:
        copies: whether lanes and warps that hold what others hold take part, too.
        equal: along each axis how many neighbours have the same address: the assembler makes one
            load of those that one lane holds, where no mask decides on each.
    """
    strides = np.cumprod([1, *layout.shape[::-1]])[:-1][::-1]

    def places(bases: tuple[tuple[int, ...], ...]) -> np.ndarray:
        found = np.zeros(1, np.int64)
        for basis in bases:  # sizes are powers of two: a bitwise sum of places is one of numbers
            found = np.concatenate([found, found ^ int(np.dot(basis, strides))])
        return found

    def originals(bases: tuple[tuple[int, ...], ...]) -> np.ndarray:
        copied = sum(1 << bit for bit, basis in enumerate(bases) if not any(basis))
        return np.arange(1 << len(bases)) & copied == 0

    equal = equal or (1,) * len(layout.shape)
    apart = tuple(
        basis
        for basis in layout.register
        if any(step >= run for step, run in zip(basis, equal, strict=True) if step)
    )
    registers = places(apart)[::width]
    lanes, warps = places(layout.lane), places(layout.warp)
    elements = registers[:, None, None] ^ warps[:, None] ^ lanes
    beside, inner = 1, order_of(layout)[0]
    while any(basis[inner] == beside == sum(basis) for basis in layout.register):
        beside *= 2
    again = 1 << sum(not any(basis) for basis in layout.warp) if copies else 1
    made = originals(layout.warp)[:, None] & originals(layout.lane)
    if copies or made.all():
        every = elements.reshape(-1, len(lanes))
        return Instructions(every, None, width, beside, again, len(warps))
    made = np.broadcast_to(made, elements.shape)
    made = made.reshape(-1, len(lanes))
    every = elements.reshape(-1, len(lanes))
    return Instructions(every, made, width, beside, warps=len(warps))


def boxes_of(shape: tuple[int, ...], rows: int, layout: str, itemsize: int) -> Instructions:
    """The lines of a block that a descriptor copies, each in the place of an instruction.

    Args:
        rows: the most that one box has.
        layout: of the shared memory; a box is as wide as that is swizzled, and no axis of it longer
            than the hardware takes.
    """
    swizzle, bits = (
        int(found[1]) if (found := re.search(rf"{name} = (\d+)", layout)) else 0
        for name in ("swizzlingByteWidth", "elementBitWidth")
    )
    box = [min(length, _LONGEST_BOX) for length in shape]
    box[0] = min(box[0], rows)
    if swizzle and bits:
        box[-1] = min(box[-1], 8 * swizzle // bits)
    line = min(box[-1], _LINE_BYTES // itemsize)
    every = np.arange(math.prod(shape)).reshape(-1, line)
    return Instructions(every, None, 1, boxes=len(every) * line // math.prod(box))


class _Before:
    """What an operation asked for the last time that it began so far behind a sector's start."""

    def __init__(self, access: Access, asked: Asked) -> None:
        self.asked = asked
        self._view = access.view
        self._offsets, self._active = access.spread

    def moved_to(self, access: Access) -> int | None:
        """By how many sectors an access is this one moved, if that is all: it asks the same."""
        offsets, active = access.spread
        if access.view is not self._view or offsets.shape != self._offsets.shape:
            return None
        if (active is None) is not (self._active is None):
            return None
        steps = offsets - self._offsets
        by = int(steps.flat[0])
        if not (steps == by).all():
            return None
        if active is not None and not np.array_equal(active, self._active):  # type: ignore[arg-type]  # neither is None
            return None
        return by // SECTOR_BYTES

    @cached_property
    def sectors(self) -> np.ndarray:
        """Those that it touched, without those that repeat the one before."""
        lanes = self._offsets if self._active is None else self._offsets[self._active]
        sectors = (lanes >> SECTOR_SHIFT).reshape(-1)
        return sectors[np.diff(sectors, prepend=-1) != 0]


class CompiledMeter(SiteMeter):
    """Counts the accesses of one launch; `operation` is the one that is being made."""

    def __init__(
        self,
        module: Module,
        layouts: dict[int, Layout | None],
        target: int,
        listener: Listener | None,
        requests: Requests | None = None,
    ) -> None:
        super().__init__(listener)
        self._requests = requests
        self.operation: Operation | None = None
        self._analysis, self._layouts = analysis_of(module), layouts
        self._aliases, self._warps, self._target = module.aliases, module.warps, target
        self._specialised = module.specialised_warps()
        self._plans: dict[int, Instructions | None] = {}
        #: by the operation, and where in its sector the first element lies
        self._before: dict[tuple[int, str, int], _Before] = {}
        #: how many programs have run a block, each time that it was run
        self.runs: dict[Block, int] = {}

    def ran(self, block: Block, programs: int) -> None:
        """So many programs run a block."""
        self.runs[block] = self.runs.get(block, 0) + programs

    def access(self, access: Access) -> None:
        """Counts it. A sum of 16 bits alone is a loop: the word about it is loaded, and exchanged
        until no other lane has come between.
        """
        if self._exchanges(access):
            super().access(replace(access, direction="load"))
        super().access(access)

    def _exchanges(self, access: Access) -> bool:
        operation = self.operation
        if access.direction != "atomic" or access.descriptor or access.view.itemsize != 2:
            return False
        assert operation is not None
        plan = self._plan(operation)
        return _is_sum(operation) and (plan is None or plan.width == 1)

    def asked(self, access: Access, touched: np.ndarray) -> Asked:
        operation = self.operation
        assert operation is not None
        if self._requests is not None and self._requests.of_all:
            self._requests.by_all(_of_all(access))
        if self._requests is not None and access.run.programs[0] == 0:
            self._show(operation, access, self._requests)
            self._requests.made(_moment(access, self._warps))
        place = operation.number, access.direction, int(access.offsets.flat[0]) % SECTOR_BYTES
        before = None if access.earlier is not None else self._before.get(place)
        if before is not None and (by := before.moved_to(access)) is not None:
            touched[before.sectors + by] = True
            return before.asked
        asked = self._asked(operation, access, touched)
        if access.earlier is None:
            self._before[place] = _Before(access, asked)
        return asked

    def outside(self, access: Access) -> None:
        if self._requests is not None and access.run.programs[0] == 0:
            self._requests.made(_moment(access, self._warps))

    def _asked(self, operation: Operation, access: Access, touched: np.ndarray) -> Asked:
        direction, descriptor = access.direction, access.descriptor
        offsets, active = access.spread
        distinct = distinct_sectors(access, touched)
        if descriptor:
            plan: Instructions | None = self._boxes(operation, access.shape, access.view.itemsize)
        else:
            plan = self._plan(operation)
        if plan is None:
            live = np.ones(len(offsets), np.int64) if active is None else active.reshape(-1)
            warps = self._specialised.get(operation.number, self._warps)
            copies = warps if direction == "load" and not _is_sum(operation) else 1
            each = live * np.int64(copies)
            return Asked(distinct, each, each, copies=copies)
        if self._analysis.told and not descriptor:
            bytes_ = plan.width * item_bytes(operation.operand_types[0].scalar)
            require_aligned(access, plan.elements, bytes_)
        meeting = direction == "atomic" and not descriptor
        bits = _WORD_BITS if self._exchanges(access) else 0
        requests, sectors = _of_instructions(plan, offsets, active, access.shape, meeting, bits)
        if (earlier := access.earlier) is not None and active is not None:
            # an instruction that goes to several tensors is one request
            masks = np.broadcast_arrays(offsets, earlier, earlier | active)
            asked = [
                _of_instructions(plan, masks[0], one, access.shape, False) for one in masks[1:]
            ]
            requests = asked[1][0] - asked[0][0]
        if plan.boxes:  # those outside the tensor are made, too
            requests = plan.boxes * (requests > 0)
        size = access.view.itemsize
        sizes = () if descriptor else (plan.width * size, plan.side_by_side * size, plan.copies)
        return Asked(distinct, requests, sectors, *sizes)

    def _show(self, operation: Operation, access: Access, requests: Requests) -> None:
        """What the warps of program 0 ask for; a descriptor's copy is no warp's request."""
        plan = None if access.descriptor else self._plan(operation)
        if plan is None:
            return
        offsets, active = access.spread

        def by_warp(array: np.ndarray) -> np.ndarray:
            block = np.broadcast_to(array[:1], (1, *access.shape)).reshape(-1)
            return block[plan.elements].reshape(-1, plan.warps, plan.elements.shape[1])

        live = None if active is None else by_warp(active)
        if plan.made is not None:
            made = plan.made.reshape(-1, plan.warps, plan.made.shape[1])
            live = made if live is None else live & made
        bytes_ = plan.width * access.view.itemsize
        requests.saw(access.site[:4], by_warp(offsets), live, bytes_)

    def owners(self, operation: Operation) -> np.ndarray | None:
        layout = self._layouts[operation.number]
        if operation.operand_types[0].kind != "tensor":
            return FIRST_WARP
        return None if layout is None else owners_of(layout)

    def at_once(self, operation: Operation) -> tuple[int, int] | None:
        """Along which axis a lane takes how many elements, where the kernel has told of that."""
        if not self._analysis.told:
            return None
        plan, layout = self._plan(operation), self._layouts[operation.number]
        return None if plan is None or layout is None else (order_of(layout)[0], plan.width)

    def _plan(self, operation: Operation) -> Instructions | None:
        if operation.number not in self._plans:
            layout = self._layouts[operation.number]
            plan = None
            if layout is not None:
                pointers = self._analysis.of_operand(operation, 0)
                masked = None
                if (mask := mask_of(operation)) is not None:
                    masked = self._analysis.of_operand(operation, operation.operands.index(mask))
                size = item_bytes(operation.operand_types[0].scalar)
                width = width_of(layout, pointers, masked, size)
                if operation.name.startswith("tt.atomic"):
                    width = min(width, self._together(operation))
                equal: tuple[int, ...] = ()
                if operation.name == "tt.load":
                    equal = pointers.constancy if masked is None else ()
                elif operation.name == _COPY and not self._side_by_side(operation, layout):
                    width = 1
                plan = instructions_of(layout, width, operation.name == "tt.load", equal)
            self._plans[operation.number] = plan
        return self._plans[operation.number]

    def _boxes(self, operation: Operation, shape: tuple[int, ...], itemsize: int) -> Instructions:
        """The boxes that the hardware copies one by one: as wide as shared memory is swizzled."""
        if operation.number not in self._plans:
            inner = next(t.layout for t in operation.operand_types[::-1] if t.kind == "memdesc")
            rows = _PICKED_ROWS if operation.name in _PICKING else _LONGEST_BOX
            layout = self._aliases.get(inner, inner)
            self._plans[operation.number] = boxes_of(shape, rows, layout, itemsize)
        plan = self._plans[operation.number]
        assert plan is not None
        return plan

    def _side_by_side(self, operation: Operation, layout: Layout) -> bool:
        """Whether neighbours in a lane are neighbours in the shared memory that they go to."""
        rank = len(layout.shape)
        shared = self._aliases.get(operation.operand_types[1].layout, "")
        if order := re.search(r"order = \[(\d+)", shared):
            return int(order[1]) == order_of(layout)[0]
        return order_of(layout)[0] == (rank - 2 if "transposed = true" in shared else rank - 1)

    def _together(self, operation: Operation) -> int:
        """Elements that one atomic instruction updates: sums of floats may be of vectors."""
        scalar = operation.operand_types[0].scalar
        if not _is_sum(operation):
            return 1
        if self._target >= VECTOR_ATOMICS:
            return 16
        return 2 if scalar == "f16" else 1


class Shown(Uncounted):
    """Has the first programs' accesses kept, of a kernel as it is written."""

    def __init__(self, requests: Requests, warps: int) -> None:
        self._requests, self._warps = requests, warps

    def access(self, access: Access) -> None:
        if access.run.at_first:
            self._requests.made(_moment(access, self._warps))

    outside = access


def _is_sum(operation: Operation) -> bool:
    """Whether an atomic adds floats."""
    return operation.name == "tt.atomic_rmw" and operation.integer("atomic_rmw_op") == FLOAT_SUM


def _of_all(access: Access) -> OfAll:
    """An access by all programs that run."""
    offsets, active = access.spread
    whole = access.run.count, *access.shape
    makers = np.broadcast_to(access.run.programs.reshape(-1, *(1,) * len(access.shape)), whole)
    live = np.broadcast_to(True if active is None else active, whole)
    memory = access.view.allocation.bytes
    return OfAll(
        access.direction,
        memory.__array_interface__["data"][0],
        len(memory),
        access.view.itemsize,
        np.broadcast_to(offsets, whole)[live],
        makers[live],
        access.run.grid,
    )


def _moment(access: Access, warps: int) -> Moment:
    """An access as the first programs make it."""
    view, count = access.view, min(access.run.count, MOST_MAKERS)
    offsets, active = access.spread

    def spread(one: np.ndarray) -> np.ndarray:
        return np.broadcast_to(one, (access.run.count, *access.shape))[:count].reshape(count, -1)

    cells = (spread(offsets) - view.offset_bytes) // view.itemsize
    return Moment(
        *access.site[:4],
        cells=cells if active is None else np.where(spread(active), cells, OFF),
        tile=access.shape,
        shape=view.shape,
        strides=view.strides,
        grid=access.run.grid,
        warps=warps,
        itemsize=view.itemsize,
        programs=tuple(access.run.programs[:count].tolist()),
        descriptor=access.descriptor,
    )


def _of_instructions(
    plan: Instructions,
    offsets: np.ndarray,
    active: np.ndarray | None,
    shape: tuple[int, ...],
    meeting: bool,
    word_bits: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """(requests, sectors) of each program in `offsets`: two arrays of that length.

    Args:
        meeting: whether lanes that meet at one address are served one after the other, each with
            a sector of its own, as atomics are.
        word_bits: of the address in a word, where lanes that meet in one exchange it: all but the
            first one ask again, and so on.
    """
    (offsets, active), like = _unlike(offsets, active)
    rows = offsets.shape[0]

    def by_instruction(array: np.ndarray) -> np.ndarray:
        blocks = broadcast(array, (rows, *shape)).reshape(rows, -1)
        return blocks[:, plan.elements]

    addresses = by_instruction(offsets)
    live = None if active is None else by_instruction(active)
    if plan.made is not None:
        live = np.broadcast_to(plan.made, addresses.shape) if live is None else live & plan.made
    asked: np.ndarray = np.ones(addresses.shape[:2], np.bool_)
    if live is not None:
        asked = np.asarray(live.any(axis=2))
    if meeting:
        rounds = _round_of_each(addresses >> word_bits, live) << _ROUND_BITS
        sectors = rounds + (addresses >> SECTOR_SHIFT)
    else:
        sectors = addresses >> SECTOR_SHIFT
    if live is not None:
        # a lane that is off asks for what the first one that is on asks for
        first = np.take_along_axis(sectors, live.argmax(axis=2)[..., None], axis=2)
        sectors = np.where(live, sectors, first)
    if word_bits:
        sectors = np.sort(sectors, axis=2)
        rounds = 1 + (sectors >> _ROUND_BITS)
        distinct = rounds[..., 0] + (rounds[..., 1:] * (np.diff(sectors, axis=2) > 0)).sum(axis=2)
        requests = rounds.max(axis=2) * asked
        return requests.sum(axis=1)[like], (distinct * asked).sum(axis=1)[like]
    steps = np.diff(sectors, axis=2)
    if (steps < 0).any():
        steps = np.diff(np.sort(sectors, axis=2), axis=2)
    distinct = 1 + np.count_nonzero(steps, axis=2)
    return asked.sum(axis=1)[like], (distinct * asked).sum(axis=1)[like]


def _unlike(
    offsets: np.ndarray, active: np.ndarray | None
) -> tuple[tuple[np.ndarray, np.ndarray | None], np.ndarray]:
    """(offsets and active lanes) of the programs that differ, and which of them each one is like.

    Where the lanes of all lie alike, only how far behind a sector's start the first one is does.
    """
    if len(offsets) == 1:
        return (offsets, active), np.zeros(1, np.intp)
    rows = offsets.reshape(len(offsets), -1)
    alike = True
    if active is not None:
        lanes = active.reshape(len(active), -1)
        alike = bool(lanes[0].any() and (lanes == lanes[0]).all())
        rows = rows[:, lanes[0]]
    if not alike or (rows - rows[:, :1] != rows[0] - rows[0, 0]).any():
        return (offsets, active), np.arange(len(rows))
    _, first, like = np.unique(rows[:, 0] % SECTOR_BYTES, return_index=True, return_inverse=True)
    return (offsets[first], None if active is None else active[first]), like


def _round_of_each(addresses: np.ndarray, live: np.ndarray | None) -> np.ndarray:
    """How many lanes of the same instruction, before each lane, have its address."""
    lanes = addresses.shape[2]
    same = addresses[..., :, None] == addresses[..., None, :]
    if live is not None:
        same &= live[..., None, :]
    return np.asarray((same & np.tri(lanes, k=-1, dtype=np.bool_)).sum(axis=3))
