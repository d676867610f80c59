"""The line that follows whoever has written the first wrong element, for a learner to run."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from course.check.cases import VISIBLE_SEED, case_seed, on_the_case, ordered_cases, run_of
from course.check.reading import chosen, read_solution
from course.engine.faults import KernelFault
from course.engine.requests import Writers
from course.engine.runner import Engine
from course.spec.exercise import KernelExercise
from course.spec.inputs import drawn
from course.words.verdict import Verdict


def with_trace(exercise: KernelExercise, verdict: Verdict) -> Verdict:
    """The verdict on visible cases, with this line in the place of the one that shows the case."""
    if verdict.wrong_at is None or exercise.gluon:
        return verdict
    array, index = verdict.wrong_at
    case = ordered_cases(exercise, exercise.cases)[verdict.case_number - 1]
    constants = chosen(read_solution(verdict.source, exercise), exercise)
    rng = np.random.default_rng(case_seed(exercise, case, VISIBLE_SEED))
    arguments = drawn(exercise, case, rng, constants)
    writers = Writers()
    engine = Engine(compiles=False, requests=writers)
    left: dict[str, np.ndarray] = {}
    with contextlib.suppress(KernelFault):  # the check's own run of this case ended
        left = dict(engine(run_of(exercise, case, constants, verdict.source, arguments)).arrays)
    found = writers.of(_address(left[array], index)) if array in left else None
    if found is None:
        return verdict
    place, thread = found
    fields = {"block": _short(place), "thread": _short(thread), "program": _short(place)}
    line = on_the_case(exercise, case, verdict.case_number, constants, fields)
    return replace(verdict, commands=(*verdict.commands[:-1], line))


def _address(array: np.ndarray, index: Sequence[int]) -> int:
    """Where an element lies in this process."""
    start: int = array.__array_interface__["data"][0]
    return start + sum(at * step for at, step in zip(index, array.strides, strict=True))


def _short(place: tuple[int, ...]) -> int | tuple[int, ...]:
    """`3`, or `(3, 1)`: without the axes at the end that have one place."""
    while len(place) > 1 and place[-1] == 0:
        place = place[:-1]
    return place if len(place) > 1 else sum(place)
