"""Who has written the first wrong element, and the line that follows them, for a learner to run."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from course.check.cases import copied, drawn_case, on_the_case, ordered_cases, run_of
from course.check.outputs import compared
from course.check.reading import chosen, read_solution
from course.engine.faults import KernelFault
from course.engine.requests import Writers
from course.engine.runner import Engine
from course.spec.exercise import Case, KernelExercise
from course.words.verdict import Verdict


@dataclass(frozen=True)
class Maker:
    """A thread of a block, or a program, which stands in the place of the block; x first."""

    block: tuple[int, ...]
    thread: tuple[int, ...]


def with_trace(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    """The verdict on visible cases, with this line in the place of the one that shows the case."""
    if verdict.wrong_at is None or exercise.gluon or exercise.target:
        return verdict
    case = ordered_cases(exercise, exercise.cases)[verdict.case_number - 1]
    maker = maker_of(exercise, case, verdict.source, verdict.wrong_at)
    if maker is None:
        return verdict
    block = short_place(maker.block)
    fields = {"block": block, "thread": short_place(maker.thread), "program": block}
    constants = chosen(read_solution(verdict.source, exercise), exercise)
    line = on_the_case(exercise, case, verdict.case_number, constants, fields)
    return replace(verdict, commands=(*verdict.commands[:-1], line))


def maker_of(
    exercise: KernelExercise,
    case: Case,
    source: str,
    wrong_at: tuple[str, tuple[int, ...]] | None = None,
) -> Maker | None:
    """Who has written an element of an output last, in a case that a learner sees.

    Args:
        wrong_at: the output and the index; the first that is wrong unless told.
    """
    cell = read_solution(source, exercise)
    constants = chosen(cell, exercise)
    before = drawn_case(exercise, case, constants)
    writers = Writers()
    engine = Engine(compiles=False, requests=writers)
    with contextlib.suppress(KernelFault):
        ran = engine(run_of(exercise, case, constants, source, copied(before)))
        if wrong_at is None:
            outputs = compared(exercise, case, 1, constants, cell.constants, before, ran)
            wrong = next((one for one in outputs if one.wrong.any()), None)
            if wrong is None:
                return None
            first = np.unravel_index(int(np.argmax(wrong.wrong)), wrong.wrong.shape)
            wrong_at = wrong.name, tuple(map(int, first))
        array, index = wrong_at
        if array in ran.arrays:
            found = writers.of(_address(ran.arrays[array], index))
            return None if found is None else Maker(*found)
    return None


def _address(array: np.ndarray, index: Sequence[int]) -> int:
    """Where an element lies in this process."""
    start: int = array.__array_interface__["data"][0]
    return start + sum(at * step for at, step in zip(index, array.strides, strict=True))


def short_place(place: tuple[int, ...]) -> int | tuple[int, ...]:
    """`3`, or `(3, 1)`: without the axes at the end that have one place."""
    while len(place) > 1 and place[-1] == 0:
        place = place[:-1]
    return place if len(place) > 1 else sum(place)
