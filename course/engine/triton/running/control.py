"""Structured control flow: where programs part, each side runs with its own, and values join."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import Outcome
from course.engine.triton.ir import Block, Operation
from course.engine.triton.running.frames import Array, Frame, joined, taken

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

Sides = list[tuple[Array, list[Any]]]


def _together(frame: Frame, operation: Operation, sides: Sides) -> Any:
    values = [
        joined(frame.count, [(rows, side[n]) for rows, side in sides])
        for n in range(len(operation.results))
    ]
    return values[0] if len(values) == 1 else values


def if_(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`scf.if`."""
    condition = frame[operation.operands[0]]
    machine.look(condition)
    chosen = np.broadcast_to(condition, (frame.count,))
    regions = [region[0] if region else None for region in (*operation.regions, ())[:2]]
    sides: Sides = []
    for block, rows in zip(regions, (np.flatnonzero(chosen), np.flatnonzero(~chosen)), strict=True):
        if not len(rows) or block is None or not block.operations:
            continue
        if len(rows) == frame.count:
            sides.append((rows, machine.yielded(frame, block)))
        else:
            sides.append((rows, machine.apart(frame, partial(machine.yielded, block=block), rows)))
    return _together(frame, operation, sides)


class _Loop:
    """The programs that are still in a loop; who left it waits behind it with its values."""

    def __init__(self, machine: Machine, frame: Frame) -> None:
        self.frame = self._whole = frame
        self.rows = np.arange(frame.count)
        self.sides: Sides = []
        self._machine, self._before = machine, machine.run.programs

    def keep(self, going: Array, carried: list[Any]) -> list[Any]:
        """What those that go on carry; `going` tells of each program whether it does."""
        if going.all():
            return carried
        gone, stay = np.flatnonzero(~going), np.flatnonzero(going)
        self.sides.append((self.rows[gone], [taken(value, gone) for value in carried]))
        self.rows = self.rows[stay]
        if len(stay):
            self.frame = self._whole.part(self.rows)
            self._machine.run.programs = self._before[self.rows]
        return [taken(value, stay) for value in carried]

    def end(self, operation: Operation) -> Any:
        """The values behind the loop."""
        return _together(self._whole, operation, self.sides)


def for_(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`scf.for`."""
    low, high, step = bounds = [frame[name] for name in operation.operands[:3]]
    machine.look(*bounds)
    body = operation.regions[0][0]
    turns = turns_of(machine, low, high, step)
    carried = [frame[name] for name in operation.operands[3:]]
    most = int(turns.max())
    with machine.run.loop(most) as place:
        if turns.shape[0] == 1 or bool((turns == most).all()):
            for turn in range(most):
                place.turn += 1
                at = (low + step * turn).astype(low.dtype)
                carried = _turn(machine, frame, body, [at, *carried])
            return carried[0] if len(carried) == 1 else carried
        loop = _Loop(machine, frame)
        with machine.as_now():
            for turn in range(most + 1):
                carried = loop.keep(turns[loop.rows] > turn, carried)
                if not len(loop.rows):
                    break
                place.turn += 1
                at = (taken(low, loop.rows) + taken(step, loop.rows) * turn).astype(low.dtype)
                carried = _turn(machine, loop.frame, body, [at, *carried])
        return loop.end(operation)


def turns_of(machine: Machine, low: Array, high: Array, step: Array) -> Array:
    """How many turns a loop makes, of each program.

    Raises:
        KernelFault: TIMED_OUT, where its step is 0.
    """
    if not step.all():
        machine.run.fail(Outcome.TIMED_OUT, "zero_step", **_step_of(machine.run.code))
    turns: Array = np.maximum(-(-(high.astype(np.int64) - low) // step.astype(np.int64)), 0)
    return turns


def _step_of(line: str) -> dict[str, object]:
    """How a loop's step is written, where its head is all on this line."""
    with contextlib.suppress(SyntaxError):
        (loop,) = ast.parse(f"{line.strip()}\n pass").body
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
            named = [keyword.value for keyword in loop.iter.keywords if keyword.arg == "step"]
            for step in (*loop.iter.args[2:], *named):
                written = "written" if isinstance(step, ast.Constant) else "step"
                return {written: ast.unparse(step)[:60]}
    return {}


def _turn(machine: Machine, frame: Frame, body: Block, given: Sequence[Any]) -> list[Any]:
    frame.update(zip(body.arguments, given, strict=True))
    with machine.run.a_turn():
        return machine.yielded(frame, body)


def while_(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`scf.while`: a test, and a body where it holds."""
    test, body = operation.regions[0][0], operation.regions[1][0]
    carried = [frame[name] for name in operation.operands]
    loop = _Loop(machine, frame)
    with machine.run.loop(None) as place, machine.as_now():
        while True:
            loop.frame.update(zip(test.arguments, carried, strict=True))
            condition, *carried = machine.yielded(loop.frame, test)
            machine.look(condition)
            carried = loop.keep(np.broadcast_to(condition, (len(loop.rows),)), carried)
            if not len(loop.rows):
                return loop.end(operation)
            place.turn += 1
            carried = _turn(machine, loop.frame, body, carried)


def call(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`tt.call`: a function that stays one."""
    function = machine.module.functions[operation.string("callee")]
    given = [frame[name] for name in operation.operands]
    values = machine.function(frame.part(np.arange(frame.count)), function, given)
    return values[0] if len(values) == 1 else values


OPERATIONS = {"scf.if": if_, "scf.for": for_, "scf.while": while_, "tt.call": call}
