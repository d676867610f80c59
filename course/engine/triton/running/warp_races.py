"""Conflicts between the warps of one program: of them nothing but a barrier orders two.

What one warp stores and another loads, or stores to, with no barrier between is a race; which warp
has an element of a block, its layout says. The compiler puts barriers where blocks go through
shared memory, and tells of none. So everything that may send a block there ends an epoch here,
whether or not there is a barrier, and what lies in two epochs is in order.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from course.engine.faults import Outcome
from course.engine.triton.compiling.lowering import MOST_KEPT, Layout
from course.engine.triton.ir import Module, Operation
from course.engine.triton.running.run import Run
from course.engine.triton.running.tensors import View

#: What a thread does by itself: no block goes through shared memory for it.
_OF_A_THREAD = frozenset(
    {
        *("tt.addptr", "tt.bitcast", "tt.broadcast", "tt.clampf", "tt.expand_dims", "tt.fp_to_fp"),
        *("tt.get_num_programs", "tt.get_program_id", "tt.int_to_ptr", "tt.load", "tt.make_range"),
        *("tt.mulhiui", "tt.precise_sqrt", "tt.ptr_to_int", "tt.splat", "tt.store", "tt.return"),
        *("scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition", "cf.br", "cf.cond_br"),
    }
)
_DIALECTS = ("arith.", "math.")
_LOOPS = ("scf.for", "scf.while", "cf.br", "cf.cond_br")
#: A stamp is an epoch and, in its lowest bits, a warp; of several it is all of them.
_BITS = 6
_SEVERAL = (1 << _BITS) - 1
#: Of a lone number: every warp loads it, and what comes of it the first one stores.
FIRST_WARP = np.zeros((), np.int32)


def parts_threads(operation: Operation) -> bool:
    """Whether a block may go from thread to thread for it."""
    return operation.name not in _OF_A_THREAD and not operation.name.startswith(_DIALECTS)


@lru_cache(MOST_KEPT)
def goes_back(module: Module) -> bool:
    """Whether something may be loaded or stored behind a store."""
    names = [one.name for one in module.operations()]
    if "tt.store" not in names:
        return False
    behind = names[names.index("tt.store") + 1 :]
    return bool({"tt.load", "tt.store"} & {*behind} or {*_LOOPS} & {*names})


@lru_cache(MOST_KEPT)
def owners_of(layout: Layout) -> np.ndarray:
    """By element of a block, of the layout's shape: the warp that has it, the first of several."""
    strides = np.cumprod([1, *layout.shape[::-1]])[:-1][::-1]
    places, owners = np.zeros(1, np.int64), np.zeros(1, np.int32)
    for bases, step in ((layout.register, 0), (layout.lane, 0), (layout.warp, 1)):
        for bit, basis in enumerate(bases):
            if any(basis):
                places = np.concatenate([places, places ^ int(np.dot(basis, strides))])
                owners = np.concatenate([owners, owners | step << bit])
    found = np.zeros(math.prod(layout.shape), np.int32)
    found[places] = owners
    return found.reshape(layout.shape)


class Warps:
    """Which warp was at each element last, and in which epoch.

    Args:
        goes_back: whether anything is loaded or stored behind a store.
    """

    def __init__(self, run: Run, goes_back: bool) -> None:
        self._run, self._goes_back = run, goes_back
        #: the first stamp of this epoch
        self._now = 1 << _BITS
        #: by what was done, the allocation and the elements' size: a stamp an element
        self._stamps: dict[tuple[str, int, int], np.ndarray] = {}
        self._lines: dict[str, int | None] = {}
        #: the allocations that are stored to and that something was loaded from
        self._mixed: set[int] = set()

    def part(self) -> None:
        """Something may have put a barrier here."""
        self._now += 1 << _BITS

    def minds(self, view: View) -> bool:
        """Whether a store to the view can matter."""
        return self._goes_back or view.allocation.number in self._mixed

    def load(
        self,
        view: View,
        places: np.ndarray,
        owners: np.ndarray,
        programs: np.ndarray,
        size: int,
        lone: bool = False,
    ) -> None:
        """Elements of `size` bytes, by number, are loaded by these warps of these programs.

        A lone number's load is not held against a store behind it: honest kernels begin with one.
        """
        stamps = self._now + owners
        self._require("loads", "stores to", view, places, stamps, programs, size)
        self._mixed.add(view.allocation.number)
        if lone:
            return
        loaded = self._of("loads", view, size)
        before = loaded[places]
        again = places[(before >= self._now) & (before != stamps)]
        loaded[places] = stamps
        loaded[again] |= _SEVERAL
        # an element that several of the block's are
        loaded[places[loaded[places] != stamps]] |= _SEVERAL

    def store(
        self, view: View, places: np.ndarray, owners: np.ndarray, programs: np.ndarray, size: int
    ) -> None:
        """Elements of `size` bytes, by number, are stored by these warps of these programs."""
        stamps = self._now + owners
        self._require("stores to", "loads", view, places, stamps, programs, size)
        self._require("stores to", "stores to", view, places, stamps, programs, size)
        if self._goes_back:
            self._of("stores to", view, size)[places] = stamps

    def _of(self, doing: str, view: View, size: int) -> np.ndarray:
        self._lines[doing] = self._run.line
        key = doing, view.allocation.number, size
        if key not in self._stamps:
            self._stamps[key] = np.zeros(len(view.allocation.bytes) // size + 8, np.int32)
        return self._stamps[key]

    def _require(
        self,
        doing: str,
        before: str,
        view: View,
        places: np.ndarray,
        stamps: np.ndarray,
        programs: np.ndarray,
        size: int,
    ) -> None:
        known = self._stamps.get((before, view.allocation.number, size))
        if known is None:
            return
        there = known[places]
        clash = (there >= self._now) & (there != stamps)
        if not clash.any():
            return
        at = int(clash.argmax())
        other = int(there[at]) & _SEVERAL
        self._run.fail(
            Outcome.RACE,
            "tile_race_warps",
            array=view.name,
            index=view.index_of(view.element_at(int(places[at]) * size)),
            program=self._run.shown_program(programs[at]),
            warp=int(stamps[at]) & _SEVERAL,
            doing=doing,
            other="several others" if other == _SEVERAL else f"warp {other}",
            other_doing=before.replace("loads", "load") if other == _SEVERAL else before,
            other_line=self._lines[before],
        )
