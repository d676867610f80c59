"""Control flow at run time: branches, loops and calls under masks.

A branch works on its own copy of the variables; where paths meet, `select` joins the copies.
Lanes that leave a loop early are put aside with the variables they leave with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course.engine.simt.lowering.expr import cast_value
from course.engine.simt.lowering.types import Type
from course.engine.simt.running.lanes import PARTLY, Lanes, Statement, select

Run = Callable[[Lanes], Any]
_MISSING: Any = object()


@dataclass
class Casts:
    """Variables that change their type where paths meet."""

    casts: dict[str, tuple[Type, Type]] = field(default_factory=dict)

    def add(self, name: str, source: Type, target: Type) -> None:
        """Notes a change; several notes of one name end at the last target."""
        first = self.casts.get(name, (source, target))[0]
        if first != target:
            self.casts[name] = (first, target)
        else:
            self.casts.pop(name, None)

    def apply(self, lanes: Lanes) -> None:
        for name, (source, target) in self.casts.items():
            if name in lanes.vars:
                lanes.vars[name] = cast_value(lanes.vars[name], source, target)

    def value(self, value: Any) -> Any:
        """A returned value as the function's return type."""
        change = self.casts.get("return")
        return value if change is None else cast_value(value, *change)


@dataclass
class LoopCasts:
    """Type changes before a loop, at the end of a turn, and where the loop ends."""

    entry: Casts
    end: Casts
    exit: Casts


@dataclass
class Loop:
    """Lanes that left the body early, with the variables they left with."""

    breaks: list[tuple[np.ndarray, dict[str, Any]]] = field(default_factory=list)
    continues: list[tuple[np.ndarray, dict[str, Any]]] = field(default_factory=list)
    #: branches out of the loop, by number: their statements, and the lanes that took them
    late: dict[int, tuple[list[Statement], list[tuple[np.ndarray, dict[str, Any]]]]] = field(
        default_factory=dict
    )


def merge(into: dict[str, Any], mask: np.ndarray, new: dict[str, Any], names: list[str]) -> None:
    """`into` takes `new`'s values in the lanes of `mask`.

    A variable that only one of the two has is from then on assigned in a part of the lanes.
    """
    partly = PARTLY in into or PARTLY in new
    for name in names:
        value, old = new.get(name, _MISSING), into.get(name, _MISSING)
        if value is old and not partly:
            continue
        if value is _MISSING or old is _MISSING or partly:
            _note_assigned(into, mask, new, name)
        if old is _MISSING and value is not _MISSING:
            into[name] = value
        elif value is not old and value is not _MISSING:
            into[name] = select(mask, value, old)


def _note_assigned(into: dict[str, Any], mask: np.ndarray, new: dict[str, Any], name: str) -> None:
    """Which lanes have assigned `name` once the lanes of `mask` come from `new`."""
    if name not in into and name not in new:
        return
    there, here = _assigned(new, name), _assigned(into, name)
    if there is None and here is None:
        return
    lanes = (mask if there is None else mask & there) | (~mask if here is None else ~mask & here)
    into[PARTLY] = {**into.get(PARTLY, {}), name: lanes}


def _assigned(variables: dict[str, Any], name: str) -> np.ndarray | None:
    """The lanes that have assigned a variable, None for all."""
    if name not in variables:
        return np.zeros((1, 1), np.bool_)
    found: np.ndarray | None = variables.get(PARTLY, {}).get(name)
    return found


def if_statement(
    line: int,
    condition: Run,
    then: list[Statement],
    other: list[Statement],
    names: list[str],
    then_casts: Casts,
    other_casts: Casts,
    head: list[Run],
) -> Statement:
    """``if``: lanes that agree go on as one; where they do not, one side after the other."""

    def one_side(lanes: Lanes, body: list[Statement], casts: Casts) -> None:
        lanes.run(body)
        if not lanes.dead:
            casts.apply(lanes)

    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        chosen = condition(lanes)
        for count in head:
            count(lanes)
        if chosen.size == 1:
            if chosen[0, 0]:
                one_side(lanes, then, then_casts)
            else:
                one_side(lanes, other, other_casts)
            return
        outer = lanes.mask
        taken, passed = lanes.both(outer, chosen), lanes.both(outer, ~chosen)
        if not np.count_nonzero(passed):
            one_side(lanes, then, then_casts)
            return
        if not np.count_nonzero(taken):
            one_side(lanes, other, other_casts)
            return
        lanes.launch.meter.branch(lanes, line, taken, passed)
        before = lanes.vars
        lanes.vars, lanes.mask = dict(before), taken
        one_side(lanes, then, then_casts)
        then_vars, then_mask, then_dead = lanes.vars, lanes.mask, lanes.dead
        lanes.vars, lanes.mask, lanes.dead = dict(before), passed, False
        one_side(lanes, other, other_casts)
        if then_dead:
            return
        if lanes.dead:
            lanes.vars, lanes.mask, lanes.dead = then_vars, then_mask, False
            return
        merge(lanes.vars, taken, then_vars, names)
        if then_mask is taken and lanes.mask is passed:
            lanes.mask = outer
        else:
            lanes.mask = lanes.full(then_mask) | lanes.full(lanes.mask)

    return execute


def leave_late(number: int, body: list[Statement]) -> Statement:
    """A branch out of the loop: its lanes wait, and run it together when the loop is over."""

    def execute(lanes: Lanes) -> None:
        _, waiting = lanes.loops[-1].late.setdefault(number, (body, []))
        waiting.append((lanes.full(lanes.mask), dict(lanes.vars)))
        lanes.dead = True

    return execute


def run_late(lanes: Lanes, loop: Loop) -> None:
    """Runs the branches that lanes took out of the loop, each once for all its lanes.

    In one of them lanes may take another.
    """
    here = lanes.vars, lanes.mask, lanes.dead
    while loop.late:
        body, waiting = loop.late.pop(next(iter(loop.late)))
        mask, variables = waiting[0]
        for other, theirs in waiting[1:]:
            merge(variables, other, theirs, [name for name in theirs if name != PARTLY])
            mask = mask | other
        lanes.vars, lanes.mask, lanes.dead = variables, mask, False
        lanes.run(body)
    lanes.vars, lanes.mask, lanes.dead = here


def leave_turn(line: int, casts: Casts, waiting: str) -> Statement:
    """``break`` or ``continue``: the active lanes wait among the loop's `breaks` or `continues`."""

    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        casts.apply(lanes)
        getattr(lanes.loops[-1], waiting).append((lanes.full(lanes.mask), dict(lanes.vars)))
        lanes.dead = True

    return execute


def return_statement(line: int) -> Statement:
    """``return`` in a kernel: the active lanes are done."""

    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        leaving = lanes.full(lanes.mask)
        lanes.returned = leaving if lanes.returned is None else lanes.returned | leaving
        lanes.left = lanes.returned
        lanes.dead = True

    return execute


def return_value(line: int, run: Run | None, casts: Casts) -> Statement:
    """``return value`` in a device function."""

    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        leaving = lanes.full(lanes.mask)
        if run is not None:
            lanes.returns.append((leaving, casts.value(run(lanes))))
        lanes.left = leaving if lanes.left is None else lanes.left | leaving
        lanes.dead = True

    return execute


def device_call(
    frame: int, arguments: dict[str, Run], body: list[Statement], handed: Sequence[str] = ()
) -> Run:
    """A call of a device function: its variables are its own, but for what it hands back."""

    def execute(lanes: Lanes) -> Any:
        values = {name: run(lanes) for name, run in arguments.items()}
        outer = (lanes.vars, lanes.mask, lanes.loops, lanes.left, lanes.returns)
        lanes.callers.append((lanes.frame, lanes.vars))
        lanes.frame = frame
        lanes.vars, lanes.loops, lanes.left, lanes.returns = values, [], None, []
        lanes.run(body)
        returns = lanes.returns
        back = {name: lanes.vars[name] for name in handed if name in lanes.vars}
        lanes.vars, lanes.mask, lanes.loops, lanes.left, lanes.returns = outer
        lanes.frame, _ = lanes.callers.pop()
        lanes.vars.update(back)
        lanes.dead = False
        result: Any = None
        for number, (mask, value) in enumerate(returns):
            result = value if number == 0 else select(mask, value, result)
        return result

    return execute
