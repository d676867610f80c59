"""Triton's solutions and witnesses, all programs at once and one by one: the same to the bit.

One program at a time is the engine's slow path, and the oracle of the fast one. NumPy adds up a
product of many matrices in another order than that of one, so here each product is made by itself,
on both paths; nothing else may differ.
"""

from typing import Any

import numpy as np
import pytest

from autograder.lessons import lessons
from autograder.witness import solutions_of, witnesses_of
from course.check import VISIBLE_SEED
from course.exercise import KernelExercise
from course.faults import KernelFault
from course.stages import Stages, case_size
from course.tile.engine import TileEngine

pytestmark = pytest.mark.slow
#: Cases of up to this many elements: one program at a time, a large one takes minutes.
MOST_ELEMENTS = 70_000


def cells() -> list[Any]:
    found = []
    for stem, own in lessons().items():
        triton = {e.name: e for e in own if isinstance(e, KernelExercise) and e.dialect == "triton"}
        if not triton:
            continue
        for name, source in solutions_of(stem).items():
            if name in triton:
                found.append(pytest.param(triton[name], source, id=f"{name} solution"))
        for witness in witnesses_of(stem):
            if witness.exercise in triton:
                label = f"{witness.exercise} {witness.name}"
                found.append(pytest.param(triton[witness.exercise], witness.source, id=label))
    return found


def outcome(
    exercise: KernelExercise, source: str, case: Any, together: int | None
) -> tuple[Any, dict[str, np.ndarray], Any]:
    """(fault or None, arrays, counts by site) of one case."""
    stages = Stages(exercise, source, detailed=False)
    engine = TileEngine(compiles=False, together=together)
    try:
        stages._admitted()
        _, ran = stages._launched(case, VISIBLE_SEED, engine)
    except KernelFault as fault:
        return (fault.outcome, fault.message_id, fault.line), {}, None
    counts = sorted(
        (s.array, s.direction, s.line, s.column, s.sectors, s.lane_bytes, s.footprint_bytes)
        for s in ran.traffic.sites
    )
    return None, dict(ran.arrays), counts


def one_by_one(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A batched product, each matrix by itself and laid out alike."""
    count = max(len(left), len(right))
    lefts, rights = (np.broadcast_to(m, (count, *m.shape[1:])) for m in (left, right))
    pairs = zip(lefts, rights, strict=True)
    return np.stack([np.ascontiguousarray(a) @ np.ascontiguousarray(b) for a, b in pairs])


@pytest.mark.parametrize(("exercise", "source"), cells())
def test_both_paths_agree(
    exercise: KernelExercise, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course.tile.products._matmul", one_by_one)
    cases = sorted(exercise.cases, key=lambda case: case_size(exercise, case))
    small = [case for case in cases if case_size(exercise, case) <= MOST_ELEMENTS]
    for case in small or cases[:1]:
        fast = outcome(exercise, source, case, None)
        slow = outcome(exercise, source, case, 1)
        # a kernel with two faults shows the one that its order of programs meets first
        assert (fast[0] is None) == (slow[0] is None), (case.label, fast[0], slow[0])
        assert fast[2] == slow[2], case.label
        for name, values in fast[1].items():
            assert values.tobytes() == slow[1][name].tobytes(), (case.label, name)
