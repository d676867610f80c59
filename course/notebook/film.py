"""A learner's own kernel on a small case, access by access: who touches which element."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from course.check.cases import ordered_cases
from course.engine.faults import KernelFault, Outcome
from course.engine.requests import MOST_MAKERS, OFF, Moment
from course.engine.stated_gpu import NAME
from course.figures.cells import MOST_COLUMNS, Cells, Tile, cells_picture
from course.figures.picture import Picture
from course.figures.running import programs_picture
from course.figures.steps import Steps
from course.notebook.launched import MOST_STEPS, Launched, launched
from course.plain.text import code_at, counted
from course.spec.exercise import Case, KernelExercise
from course.words.verdict import Verdict

#: What a picture's width has room for.
LONGEST_CODE = 56
#: Programs whose tiles are drawn, and of each so many rows.
_TILES, _TILE_ROWS = 4, 8
#: Who touches what, told one by one in a text alternative.
_TOLD = 8
_KINDS = {"load": "used", "store": "store", "atomic": "third"}
_VERBS = {"load": "read", "store": "write", "atomic": "update"}
#: What ends a launch in the middle.
FAULTS = (
    Outcome.OUT_OF_BOUNDS, Outcome.RACE, Outcome.UNINITIALISED, Outcome.BARRIER_DIVERGENCE,
    Outcome.TIMED_OUT,
)  # fmt: skip
#: What ends it in an access, which is the last one drawn.
_AT_AN_ACCESS = (Outcome.OUT_OF_BOUNDS, Outcome.RACE, Outcome.UNINITIALISED)


def film(exercise: KernelExercise, verdict: Verdict, seen: Launched) -> list[Steps]:
    """Every access of a kernel on its small case, up to its fault; nothing where it makes none.

    A fault that does not come there is shown on the verdict's own case; a loop without end by its
    beginning.
    """
    if verdict.outcome in FAULTS and verdict.case_number:
        if seen.fault is None or seen.fault.outcome is not verdict.outcome:
            own = ordered_cases(exercise, exercise.cases)[verdict.case_number - 1]
            endless = verdict.outcome is Outcome.TIMED_OUT
            steps = MOST_STEPS if endless else None
            seen = launched(exercise, own, verdict.source, steps)
    moments = [m for m in seen.moments.in_order() if m.outside or (m.cells != OFF).any()]
    if not moments:
        return []
    pictures = _Pictures(verdict.source, seen.fault)
    drawn_ones = [pictures.of(moment, moments[at + 1 :]) for at, moment in enumerate(moments)]
    between = seen.moments.left_out
    title = f"Your kernel on {seen.case.told}, access by access"
    if between:
        title += f"; {between} accesses before the last two are left out"
    ends_there = seen.fault is not None and seen.fault.outcome in _AT_AN_ACCESS
    return [Steps(title, drawn_ones, "step", len(drawn_ones) if ends_there else 1)]


def dealt(moment: Moment, case: Case) -> Steps:
    """The programs or blocks of a launch, dealt to multiprocessors."""
    title = f"Who works, on an {NAME}: {case.told}"
    picture = programs_picture(math.prod(moment.grid), moment.warps, bool(moment.programs))
    return Steps(title, [picture], "launch")


class _Pictures:
    """Draws moments in their order; knows who has written shared memory."""

    def __init__(self, source: str, fault: KernelFault | None) -> None:
        self._source, self._fault = source, fault
        self._writers: dict[str, dict[int, str]] = {}
        self._since = 0

    def of(self, moment: Moment, later: Sequence[Moment]) -> Picture:
        code = code_at(self._source, moment.line, LONGEST_CODE)
        now, off = _touched(moment)
        writers = self._writers.setdefault(moment.array, {}) if moment.shared else {}
        marked = self._marked(moment, later)
        cells = Cells(
            moment.array + (", in shared memory of block 0" if moment.shared else ""),
            math.prod(moment.shape),
            _row(moment),
            now,
            _KINDS[moment.direction],
            f"{_VERBS[moment.direction]} now",
            dict(writers),
            frozenset(marked),
            0 if moment.shared else moment.itemsize,
            tuple(_outside(moment)),
            self._why(),
            "not in the array" if moment.descriptor else "masked off",
        )
        said = self._words(moment, cells, off)
        who = _one_by_one(moment, cells, writers)
        if moment.shared and moment.direction != "load":
            writers |= now
        tiles = _tiles(moment) if moment.programs and moment.tile else ()
        title = f"line {moment.line}  {code}"
        return cells_picture(title, cells, said, " ".join([f"{title}:", *said, who]), tiles)

    def _words(self, moment: Moment, cells: Cells, off: int) -> list[str]:
        who = "programs" if moment.programs else "threads"
        kept = len(moment.cells)
        makers = math.prod(moment.grid)
        touching = len(cells.now)
        if moment.programs:
            said = f"{counted(kept, 'program')} {_VERBS[moment.direction]}{'s' * (kept == 1)} "
        else:
            lanes = int(((moment.cells[:1] if moment.shared else moment.cells) != OFF).sum())
            said = f"{counted(lanes, 'thread')} {_VERBS[moment.direction]}{'s' * (lanes == 1)} "
        said += f"{counted(touching, 'element')} of {moment.array}"
        if cells.sectors:
            said += f", in {counted(cells.sectors, 'sector')}"
        words = [said + "."]
        if off and moment.descriptor:
            comes = "zeros come" if moment.direction == "load" else "nothing is written"
            words.append(f"{counted(off, 'place')} outside of {moment.array}: {comes} there.")
        elif off:
            words.append(f"{counted(off, 'lane' if moment.programs else 'thread')} switched off.")
        if makers > kept == MOST_MAKERS:  # of fewer, the others do not come here
            what = "programs" if moment.programs else "blocks"
            words.append(f"The first {kept} of {makers} {what} are shown.")
        shown = sum(map(len, cells.shown()))
        if shown < cells.count:
            words.append(f"{shown} of {cells.count} elements have room here.")
        if any(":" in label for label in cells.now.values()):
            words.append("b0 is block 0; below it stands the thread.")
        if any(label.endswith("+") for label in cells.now.values()):
            words.append("A + stands for others that touch the same element.")
        if moment.since > self._since:
            words.append("A barrier stands before this line.")
            self._since = moment.since
        if cells.outside:
            words.append(f"{', '.join(cells.outside)}: outside of {moment.array}.")
            if moment.others_outside:
                words.append(f"{moment.others_outside} more {who} outside, too.")
        elif cells.marked:
            words.append(f"{cells.why.capitalize()}: {moment.array}[{self._index()}].")
        return words

    def _index(self) -> str:
        found = self._fault.fields.get("index", "") if self._fault else ""
        return ", ".join(map(str, found)) if isinstance(found, tuple) else str(found)

    def _why(self) -> str:
        race = self._fault is not None and self._fault.outcome is Outcome.RACE
        return "two race for it" if race else "never written"

    def _marked(self, moment: Moment, later: Sequence[Moment]) -> set[int]:
        """The element that a race or an unwritten read is about, where accesses meet there."""
        fault = self._fault
        if fault is None or fault.outcome not in (Outcome.RACE, Outcome.UNINITIALISED):
            return set()
        lines = {fault.line, fault.fields.get("other_line")}
        same = (moment.array, moment.line)
        if fault.fields.get("array") != moment.array or moment.line not in lines:
            return set()
        if any((one.array, one.line) == same for one in later):
            return set()
        numbers = [int(n) for n in re.findall(r"-?\d+", self._index())]
        if len(numbers) == 1:
            return {numbers[0]}
        if len(numbers) != len(moment.strides):
            return set()
        return {sum(n * stride for n, stride in zip(numbers, moment.strides, strict=True))}


def _row(moment: Moment) -> int:
    """Elements from one row of memory to the next; 0 for a vector."""
    steps = [stride for stride in moment.strides if stride > 1]
    return min(steps) if len(moment.shape) > 1 and steps else 0


def _label(moment: Moment, maker: int, lane: int) -> str:
    """Who touches an element: a program, or a thread as the kernel counts it."""
    if moment.programs:
        return f"p{moment.programs[maker]}"
    place = ",".join(str(n) for n in _place(lane, moment.tile)[::-1])
    return place if math.prod(moment.grid) == 1 or moment.shared else f"{maker}:{place}"


def _place(lane: int, tile: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(n) for n in np.unravel_index(lane, tile)) if tile else ()


def _touched(moment: Moment) -> tuple[dict[int, str], int]:
    """(element: who touches it, lanes that are switched off)."""
    now: dict[int, str] = {}
    rows = moment.cells[:1] if moment.shared else moment.cells
    inside = (rows >= 0) & (rows < _span(moment))
    several: set[int] = set()
    for maker, lane in np.argwhere(inside).tolist():
        cell, label = int(rows[maker, lane]), _label(moment, maker, lane)
        if cell not in now:
            now[cell] = label
        elif now[cell] != label:
            several.add(cell)
    for cell in several:
        now[cell] += "+"
    beyond = len(moment.outside) + moment.others_outside
    return dict(sorted(now.items())), int((rows == OFF).sum()) - beyond


def _span(moment: Moment) -> int:
    """Elements of memory from the array's first to its last."""
    pairs = zip(moment.shape, moment.strides, strict=True)
    return 1 + sum((length - 1) * stride for length, stride in pairs)


def _outside(moment: Moment) -> list[str]:
    """Whose index lies outside."""
    if not moment.programs:
        return [
            f"{_who(moment, block, thread)}: [{index}]" for block, thread, index in moment.outside
        ]
    found = []
    for program, row in zip(moment.programs, moment.cells, strict=True):
        beyond = row[(row != OFF) & ((row < 0) | (row >= _span(moment)))]
        if len(beyond):
            more = ", ..." if len(beyond) > 1 else ""
            found.append(f"program {program}: [{int(beyond[0])}{more}]")
    return found[:_TILES]


def _who(moment: Moment, block: int, thread: int) -> str:
    place = _place(thread, moment.tile)[::-1]
    name = f"thread {place[0]}" if len(place) == 1 else f"thread {place}"
    return name if math.prod(moment.grid) == 1 else f"{name} of block {block}"


def _tiles(moment: Moment) -> tuple[Tile, ...]:
    """What lies in the lanes of each program's block, as far as there is room."""
    height, width = (1, *moment.tile)[-2:] if len(moment.tile) < 3 else moment.tile[-2:]
    tiles = []
    for program, row in zip(moment.programs, moment.cells[:_TILES], strict=False):
        lanes = row.reshape(-1, height, width)[0, :_TILE_ROWS, :MOST_COLUMNS]
        rows = tuple(tuple(None if n == OFF else str(n) for n in line) for line in lanes.tolist())
        shape = " x ".join(map(str, moment.tile))
        cut = ", a corner" if lanes.size < row.size else ""
        beyond = row[(row != OFF) & ((row < 0) | (row >= _span(moment)))]
        outside = frozenset(map(str, beyond.tolist()))
        tiles.append(Tile(f"program {program}: a tile of {shape}{cut}", rows, outside))
    return tuple(tiles)


def _one_by_one(moment: Moment, cells: Cells, writers: Mapping[int, str]) -> str:
    """Who touches what, for who sees no picture: neighbours of one program together."""
    what = "" if moment.programs else "thread "
    runs: list[tuple[str, str, list[int]]] = []
    for cell, label in cells.now.items():
        wrote = writers.get(cell, "") if moment.direction == "load" else ""
        if runs and runs[-1][:2] == (label, wrote) and runs[-1][2][-1] == cell - 1:
            runs[-1][2].append(cell)
        else:
            runs.append((label, wrote, [cell]))
    told = []
    for label, wrote, run in runs:
        those = f"element {run[0]}" if len(run) == 1 else f"elements {run[0]} to {run[-1]}"
        told.append(f"{what}{label}: {those}{f', which {what}{wrote} wrote' if wrote else ''}")
    if len(told) > _TOLD:
        told[_TOLD - 1 : -1] = ["and so on"]
    return "; ".join(told) + "." if told else ""
