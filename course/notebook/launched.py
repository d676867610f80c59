"""A learner's kernel, launched once more for its pictures: each access, and what a loop carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from course.check.cases import drawn_case, ordered_cases, run_of
from course.check.reading import chosen, read_solution
from course.check.traced import Maker
from course.engine.faults import KernelFault, Outcome
from course.engine.requests import Moments
from course.engine.runner import Engine
from course.spec.case_size import case_size
from course.spec.exercise import Case, KernelExercise

_FEWEST_ELEMENTS = 4
#: Statements of a launch, and no more: a picture has the first accesses, and an endless loop is
#: known by then. A small case takes some hundreds.
MOST_STEPS = 2_000
FIRST = Maker((0,), (0,))


#: (line, variables) of one thread or program, in order.
Numbers = Sequence[tuple[int, Mapping[str, float]]]


@dataclass(frozen=True)
class Launched:
    """One case, launched on the engine, and what was seen of it."""

    case: Case
    moments: Moments
    steps: Numbers
    fault: KernelFault | None
    #: whose steps these are
    maker: Maker = FIRST


class _Watched:
    """What a launch shows as it goes."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.moments = Moments()
        self.steps: list[tuple[int, dict[str, float]]] = []

    def thread(self, lanes: Any, line: int) -> None:
        """The thread comes to a line."""
        geometry = lanes.geometry
        block = _number(self.maker.block, geometry.grid) - lanes.first
        here = _number(self.maker.thread, geometry.block), block
        if not 0 <= block < lanes.blocks or not lanes.spread(lanes.full(lanes.mask))[here]:
            return
        values = {}
        for name, value in lanes.vars.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and "%" not in name:
                values[name] = float(lanes.spread(value)[here])
        self.steps.append((line, values))

    def program(self, run: Any, operation: Any, values: list[Any]) -> None:
        """The program comes to a line; of a block its first number counts."""
        from course.engine.triton.compiling.steps import step_of

        there = np.flatnonzero(run.programs == _number(self.maker.block, run.grid))
        if not len(there):
            return
        step, found = step_of(operation), {}
        if len(step.frame) > 1:  # a function that the kernel calls
            return
        for name, shape in step.variables.items():
            if not isinstance(shape, int):
                continue
            type_ = operation.operand_types[shape]
            whole = values[shape].whole()
            if whole.dtype.kind == "f" and not type_.pointers and len(values[shape].shape) < 2:
                row = there[0] if len(whole) > 1 else 0
                found[name] = float(whole.reshape(len(whole), -1)[row, 0])
        self.steps.append((run.line, found))


def _number(place: tuple[int, ...], sides: tuple[int, ...]) -> int:
    """Of a place in a grid or a block, x first."""
    number = 0
    for at, side in reversed([*zip(place, sides, strict=False)]):
        number = number * side + at
    return number


def on_small_case(exercise: KernelExercise, source: str) -> Launched:
    """A cell on the case that pictures are made on.

    A tile that is too small for Triton there has the smallest of the check's own cases.
    """
    cases = ordered_cases(exercise, exercise.cases)
    large = (case for case in cases if case_size(exercise, case) >= _FEWEST_ELEMENTS)
    own = next(large, cases[-1])
    seen = launched(exercise, exercise.small or own, source)
    if seen.fault is not None and seen.fault.outcome is Outcome.DOES_NOT_COMPILE:
        seen = launched(exercise, own, source)
    return seen


def launched(
    exercise: KernelExercise,
    case: Case,
    source: str,
    most_steps: int | None = MOST_STEPS,
    maker: Maker = FIRST,
) -> Launched:
    """Launches a cell on a case, as it is written: no compiler has moved or left out an access.

    Args:
        maker: the thread or program whose steps are kept.
        most_steps: statements until it ends; as many as a check allows where None.
    """
    constants = chosen(read_solution(source, exercise), exercise)
    arguments = drawn_case(exercise, case, constants)
    seen, fault = _Watched(maker), None
    try:
        run = run_of(exercise, case, constants, source, arguments)
        watch = seen.program if run.dialect == "triton" else seen.thread
        run = replace(run, step_limit=most_steps or run.step_limit)
        Engine(compiles=False, requests=seen.moments, watch=watch)(run)
    except KernelFault as found:
        fault = found
    return Launched(case, seen.moments, seen.steps, fault, maker)
