"""Loops at run time: turn after turn, under the mask of the lanes that go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.engine.faults import KernelFault, Outcome
from course.engine.simt.lowering.types import Scalar, numpy_dtype
from course.engine.simt.running.control import Casts, Loop, LoopCasts, Run, merge, run_late
from course.engine.simt.running.lanes import Lanes, Statement

UNROLLED_TURNS = 4  # by which NVVM unrolls an innermost loop


def _turn(
    lanes: Lanes, loop: Loop, line: int, body: list[Statement], names: list[str], end: Casts
) -> None:
    """One turn of a loop's body; lanes that `continue`d come back."""
    before = lanes.steps
    lanes.run(body)
    if lanes.steps == before:
        lanes.spend(line)  # no statement at all: such a loop must end, too
    if not lanes.dead:
        end.apply(lanes)
    if not loop.continues:
        return
    waiting, loop.continues = loop.continues, []
    if lanes.dead:
        mask, variables = waiting.pop()
        lanes.mask, lanes.vars, lanes.dead = mask, variables, False
    for mask, variables in waiting:
        merge(lanes.vars, mask, variables, names)
        lanes.mask = lanes.full(lanes.mask) | mask


def _turns(
    lanes: Lanes,
    loop: Loop,
    line: int,
    number: int,
    test: Callable[[int], np.ndarray],
    body: list[Statement],
    names: list[str],
    casts: LoopCasts,
    first: bool | np.ndarray = True,
) -> bool:
    """Turns until no lane goes on; returns whether a lane left by the head.

    `first` says that this is the loop's first part; as a mask, it names the lanes that will
    turn at all: what does not change is loaded for them together, in front of the loop.
    """
    left_by_head = False
    turn = 0
    while True:
        lanes.first_turn[number] = first if turn == 0 else False
        lanes.first_of_part[number] = turn == 0
        going = test(turn)
        if going.size == 1:
            if not going[0, 0]:
                return True
        else:
            on = lanes.both(lanes.mask, going)
            off = lanes.both(lanes.mask, ~going)
            if not on.any():
                return True
            if off.any():
                lanes.launch.meter.branch(lanes, line, on, off)
                left_by_head = True
                lanes.mask = on
        running = lanes.mask
        before = dict(lanes.vars) if left_by_head else None
        _turn(lanes, loop, line, body, names, casts.end)
        if before is not None:
            # Lanes that left by the head keep what they left with.
            after, lanes.vars = lanes.vars, before
            merge(before, lanes.full(running), after, names)
        if lanes.dead:
            return left_by_head
        turn += 1


def _parts(count: np.ndarray, unroll: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """(turns, first turn) of each part of a loop, lane by lane.

    The compiler unrolls an innermost loop by four: the lanes of a warp go together through
    their whole fours, and apart through the one to three turns that remain, before or after.
    """
    fours = count // UNROLLED_TURNS * UNROLLED_TURNS
    rest = count - fours
    if unroll == "remainder last":
        return [(fours, 0 * count), (rest, fours)]
    if unroll == "remainder first":
        return [(rest, 0 * count), (fours, rest)]
    return [(count, 0 * count)]


def _counted_turns(
    lanes: Lanes,
    loop: Loop,
    line: int,
    number: int,
    count: np.ndarray,
    begin: Callable[[Lanes, np.ndarray], None] | None,
    body: list[Statement],
    names: list[str],
    casts: LoopCasts,
    unroll: str,
) -> bool:
    """A loop whose turns are known, part by part; `begin` sets the turn's variable."""
    by_head = False
    entry, left_before = lanes.mask, lanes.left
    parts = _parts(count, unroll)
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

        whole = [*([set_variable] if begin else []), *body]
        turned = bool(lanes.both(lanes.mask, turns > 0).any())
        left = _turns(lanes, loop, line, number, test, whole, names, casts, first)
        by_head = by_head or left
        first = False if turned else first
        if lanes.dead:
            break
    return by_head


def _finish(
    lanes: Lanes,
    loop: Loop,
    entry: Any,
    left_before: Any,
    by_head: bool,
    names: list[str],
    casts: LoopCasts,
) -> None:
    """Every lane that did not return goes on after the loop."""
    if loop.late:
        run_late(lanes, loop)
    lanes.loops.pop()
    breaks = loop.breaks
    if by_head:
        lanes.dead = False
        casts.exit.apply(lanes)
    elif breaks:
        _, variables = breaks.pop()
        lanes.vars, lanes.dead = dict(variables), False
    else:
        lanes.dead = True
        return
    for mask, variables in breaks:
        merge(lanes.vars, mask, variables, names)
    if lanes.left is left_before:
        lanes.mask = entry
    else:
        lanes.mask = lanes.both(entry, ~lanes.full(lanes.left))
        lanes.dead = not lanes.mask.any()


def for_loop(
    line: int,
    name: str,
    type_: Scalar,
    bounds: list[Run],
    body: list[Statement],
    names: list[str],
    casts: LoopCasts,
    number: int,
    unroll: str,
) -> Statement:
    """``for name in range(...)``."""
    dtype = numpy_dtype(type_)

    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        values = [bound(lanes) for bound in bounds]
        if len(values) == 3 and (values[2] == 0).any():
            raise KernelFault(Outcome.REJECTED, "zero_step", line)
        casts.entry.apply(lanes)
        loop, entry, left_before = Loop(), lanes.mask, lanes.left
        lanes.loops.append(loop)
        if all(value.size == 1 for value in values):
            numbers = [int(value[0, 0]) for value in values]
            steps = range(*numbers)
            parts = [int(s[0, 0]) for _, s in _parts(np.full((1, 1), length(steps)), unroll)]
            for turn, value in enumerate(steps):
                lanes.first_turn[number] = turn == 0
                lanes.first_of_part[number] = turn in parts
                lanes.assign(name, np.full((1, 1), value, dtype))
                _turn(lanes, loop, line, body, names, casts.end)
                if lanes.dead:
                    break
            by_head = not lanes.dead
        else:
            start, step, count = _counted(values)

            def begin(inner: Lanes, position: np.ndarray) -> None:
                inner.assign(name, (start + step * position).astype(dtype))

            by_head = _counted_turns(
                lanes, loop, line, number, count, begin, body, names, casts, unroll
            )
        _finish(lanes, loop, entry, left_before, by_head, names, casts)

    return execute


def for_each(
    line: int,
    name: str,
    values: list[Run],
    body: list[Statement],
    names: list[str],
    casts: LoopCasts,
    number: int,
) -> Statement:
    """``for name in (a, b, c)``."""

    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        casts.entry.apply(lanes)
        loop, entry, left_before = Loop(), lanes.mask, lanes.left
        lanes.loops.append(loop)
        for turn, value in enumerate(values):
            lanes.first_turn[number] = lanes.first_of_part[number] = turn == 0
            lanes.assign(name, value(lanes))
            _turn(lanes, loop, line, body, names, casts.end)
            if lanes.dead:
                break
        _finish(lanes, loop, entry, left_before, not lanes.dead, names, casts)

    return execute


def length(steps: range) -> int:
    """How many turns a range has, as an int64 holds them: of more than that, none ends."""
    turns = -((steps.start - steps.stop) // steps.step)
    return min(max(turns, 0), 2**62)


def _counted(values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(start, step, how many turns) of `range(*values)`, lane by lane."""
    wide = [value.astype(np.int64) for value in values]
    if len(wide) == 1:
        wide.insert(0, np.zeros((1, 1), np.int64))
    start, stop = wide[:2]
    step = wide[2] if len(wide) == 3 else np.ones((1, 1), np.int64)
    up = -((start - stop) // np.where(step > 0, step, 1))
    down = -((stop - start) // np.where(step < 0, -step, 1))
    count = np.where(step > 0, up, np.where(step < 0, down, 0))
    return start, step, np.maximum(count, 0)


def while_loop(
    line: int,
    condition: Run,
    body: list[Statement],
    names: list[str],
    casts: LoopCasts,
    number: int,
    unroll: str,
    counter: Callable[[Lanes], np.ndarray | None] | None,
) -> Statement:
    """``while condition``; `counter` gives the turns of a loop that counts, where they are."""

    def execute(lanes: Lanes) -> None:
        casts.entry.apply(lanes)
        loop, entry, left_before = Loop(), lanes.mask, lanes.left
        lanes.loops.append(loop)
        count = None if counter is None else counter(lanes)
        if count is not None and count.size > 1:
            lanes.step(line)
            by_head = _counted_turns(
                lanes, loop, line, number, count, None, body, names, casts, unroll
            )
        else:

            def test(turn: int) -> np.ndarray:
                lanes.step(line)
                return condition(lanes)

            by_head = _turns(lanes, loop, line, number, test, body, names, casts)
        _finish(lanes, loop, entry, left_before, by_head, names, casts)

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
