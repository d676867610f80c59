"""Loops at run time: turn after turn, under the mask of the lanes that go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from course.engine.faults import rejected
from course.engine.simt.lowering.types import Scalar, numpy_dtype
from course.engine.simt.running.control import Loop, LoopCasts, Run, merge, run_late
from course.engine.simt.running.lanes import Lanes, Statement

UNROLLED_TURNS = 4  # by which NVVM unrolls an innermost loop that is small


class Unroll(NamedTuple):
    """How many turns of a loop the compiler writes as one, and whether the rest comes first."""

    by: int = 1
    rest_first: bool = False


@dataclass(frozen=True)
class LoopCode:
    """A loop as lowering leaves it.

    Attributes:
        number: under which lanes keep whether a turn is the first one.
        names: the variables that its body stores.
        unroll: how the compiler unrolls it, see `_parts`.
    """

    line: int
    number: int
    body: list[Statement]
    names: list[str]
    casts: LoopCasts
    unroll: Unroll


def _turn(lanes: Lanes, loop: Loop, code: LoopCode) -> None:
    """One turn of a loop's body; lanes that `continue`d come back."""
    before = lanes.steps
    lanes.run(code.body)
    if lanes.steps == before:
        lanes.spend(code.line)  # no statement at all: such a loop must end, too
    if not lanes.dead:
        code.casts.end.apply(lanes)
    if not loop.continues:
        return
    waiting, loop.continues = loop.continues, []
    if lanes.dead:
        mask, variables = waiting.pop()
        lanes.mask, lanes.vars, lanes.dead = mask, variables, False
    for mask, variables in waiting:
        merge(lanes.vars, mask, variables, code.names)
        lanes.mask = lanes.full(lanes.mask) | mask


def _turns(
    lanes: Lanes,
    loop: Loop,
    code: LoopCode,
    test: Callable[[int], np.ndarray],
    first: bool | np.ndarray = True,
) -> bool:
    """Turns until no lane goes on; returns whether a lane left by the head.

    `first` says that this is the loop's first part; as a mask, it names the lanes that will
    turn at all: what does not change is loaded for them together, in front of the loop.
    """
    left_by_head = False
    turn = 0
    while True:
        lanes.first_turn[code.number] = first if turn == 0 else False
        lanes.first_of_part[code.number] = turn == 0
        going = test(turn)
        if going.size == 1:
            if not going[0, 0]:
                return True
        else:
            on = lanes.both(lanes.mask, going)
            off = lanes.both(lanes.mask, ~going)
            if not np.count_nonzero(on):
                return True
            if np.count_nonzero(off):
                lanes.launch.meter.branch(lanes, code.line, on, off)
                left_by_head = True
                lanes.mask = on
        running = lanes.mask
        before = dict(lanes.vars) if left_by_head else None
        _turn(lanes, loop, code)
        if before is not None:
            # Lanes that left by the head keep what they left with.
            after, lanes.vars = lanes.vars, before
            merge(before, lanes.full(running), after, code.names)
        if lanes.dead:
            return left_by_head
        turn += 1


def _parts(count: np.ndarray, unroll: Unroll) -> list[tuple[np.ndarray, np.ndarray]]:
    """(turns, first turn) of each part of a loop, lane by lane.

    The lanes of a warp go together through the turns that are written as one, and apart through
    those that remain, before or after.
    """
    if unroll.by == 1:
        return [(count, 0 * count)]
    rest = count % unroll.by
    whole = count - rest
    if unroll.rest_first:
        return [(rest, 0 * count), (whole, rest)]
    return [(whole, 0 * count), (rest, whole)]


def _counted_turns(
    lanes: Lanes,
    loop: Loop,
    code: LoopCode,
    count: np.ndarray,
    begin: Callable[[Lanes, np.ndarray], None] | None = None,
) -> bool:
    """A loop whose turns are known, part by part; `begin` sets the turn's variable."""
    by_head = False
    entry, left_before = lanes.mask, lanes.left
    parts = _parts(count, code.unroll)
    first: bool | np.ndarray = True if len(parts) == 1 else lanes.both(entry, count > 0)
    for part, (turns, start) in enumerate(parts):
        if part and lanes.left is left_before:
            lanes.mask, lanes.dead = entry, False
        position = [0]

        def test(turn: int, turns: np.ndarray = turns, position: list[int] = position) -> Any:
            position[0] = turn
            return turn < turns

        def set_variable(
            inner: Lanes, start: np.ndarray = start, position: list[int] = position
        ) -> None:
            assert begin is not None
            begin(inner, start + position[0])

        whole = replace(code, body=[set_variable, *code.body]) if begin else code
        turned = bool(lanes.both(lanes.mask, turns > 0).any())
        left = _turns(lanes, loop, whole, test, first)
        by_head = by_head or left
        first = False if turned else first
        if lanes.dead:
            break
    return by_head


def _run(lanes: Lanes, code: LoopCode, turns: Callable[[Loop], bool]) -> None:
    """A loop from its head to what is behind it.

    `turns` makes its turns, and says whether a lane left by the head. Every lane that did not
    return goes on after the loop.
    """
    code.casts.entry.apply(lanes)
    loop, entry, left_before = Loop(), lanes.mask, lanes.left
    lanes.loops.append(loop)
    by_head = turns(loop)
    if loop.late:
        run_late(lanes, loop)
    lanes.loops.pop()
    breaks = loop.breaks
    if by_head:
        lanes.dead = False
        code.casts.exit.apply(lanes)
    elif breaks:
        _, variables = breaks.pop()
        lanes.vars, lanes.dead = dict(variables), False
    else:
        lanes.dead = True
        return
    for mask, variables in breaks:
        merge(lanes.vars, mask, variables, code.names)
    if lanes.left is left_before:
        lanes.mask = entry
    else:
        lanes.mask = lanes.both(entry, ~lanes.full(lanes.left))
        lanes.dead = not lanes.mask.any()


def for_loop(code: LoopCode, name: str, type_: Scalar, bounds: list[Run]) -> Statement:
    """``for name in range(*bounds)``, which are three."""
    dtype = numpy_dtype(type_)

    def execute(lanes: Lanes) -> None:
        lanes.step(code.line)
        values = [bound(lanes) for bound in bounds]
        if (values[2] == 0).any():
            raise rejected(code.line, "zero_step")

        def alike(loop: Loop) -> bool:
            steps = range(*[int(value[0, 0]) for value in values])
            turns = np.full((1, 1), length(steps))
            parts = [int(start[0, 0]) for _, start in _parts(turns, code.unroll)]
            for turn, value in enumerate(steps):
                lanes.first_turn[code.number] = turn == 0
                lanes.first_of_part[code.number] = turn in parts
                lanes.assign(name, np.full((1, 1), value, dtype))
                _turn(lanes, loop, code)
                if lanes.dead:
                    break
            return not lanes.dead

        def apart(loop: Loop) -> bool:
            start, step, count = counted(values)

            def begin(inner: Lanes, position: np.ndarray) -> None:
                inner.assign(name, (start + step * position).astype(dtype))

            return _counted_turns(lanes, loop, code, count, begin)

        _run(lanes, code, alike if all(value.size == 1 for value in values) else apart)

    return execute


def for_each(code: LoopCode, name: str, values: list[Run]) -> Statement:
    """``for name in (a, b, c)``."""

    def execute(lanes: Lanes) -> None:
        lanes.step(code.line)

        def one_by_one(loop: Loop) -> bool:
            for turn, value in enumerate(values):
                lanes.first_turn[code.number] = lanes.first_of_part[code.number] = turn == 0
                lanes.assign(name, value(lanes))
                _turn(lanes, loop, code)
                if lanes.dead:
                    break
            return not lanes.dead

        _run(lanes, code, one_by_one)

    return execute


def length(steps: range) -> int:
    """How many turns a range has, as an int64 holds them: of more than that, none ends."""
    turns = -((steps.start - steps.stop) // steps.step)
    return min(max(turns, 0), 2**62)


def counted(values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(start, step, how many turns) of `range(*values)`, lane by lane."""
    start, stop, step = (value.astype(np.int64) for value in values)
    up = -((start - stop) // np.where(step > 0, step, 1))
    down = -((stop - start) // np.where(step < 0, -step, 1))
    count = np.where(step > 0, up, np.where(step < 0, down, 0))
    return start, step, np.maximum(count, 0)


def while_loop(
    code: LoopCode, condition: Run, counter: Callable[[Lanes], np.ndarray | None] | None
) -> Statement:
    """``while condition``; `counter` gives the turns of a loop that counts, where they are."""

    def execute(lanes: Lanes) -> None:
        def until_it_fails(loop: Loop) -> bool:
            count = None if counter is None else counter(lanes)
            if count is not None and count.size > 1:
                lanes.step(code.line)
                return _counted_turns(lanes, loop, code, count)

            def test(turn: int) -> np.ndarray:
                lanes.step(code.line)
                return condition(lanes)

            return _turns(lanes, loop, code, test)

        _run(lanes, code, until_it_fails)

    return execute


def turns_of(left: np.ndarray, right: np.ndarray, step: np.ndarray, up: bool, equal: bool) -> Any:
    """How often ``while left < right: left += step`` turns; None where it would not end.

    `up` is False for ``>``, and `equal` True for ``<=`` and ``>=``.
    """
    if not up:
        left, right, step = -left, -right, -step
    if (step <= 0).any():
        return None
    distance = right - left + (1 if equal else 0)
    return np.maximum(-(-distance // step), 0)
