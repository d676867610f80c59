"""Triton's solutions and witnesses, all programs at once and one by one: the same.

One program at a time is the engine's slow path, and the oracle of the fast one. Faults, counts and
results agree to the bit, but for kernels with a `tl.dot`: NumPy's product of many matrices adds in
another order than that of one, so there a result may differ by the reordering of a sum.
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
#: What another order of a sum may change, relative to the largest result: its last bits, after an
#: exponential and, in some kernels, a rounding of the weights to float16 on the way.
REORDERED = {"float32": 1e-4, "float16": 4e-3}


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


@pytest.mark.parametrize(("exercise", "source"), cells())
def test_both_paths_agree(exercise: KernelExercise, source: str) -> None:
    cases = sorted(exercise.cases, key=lambda case: case_size(exercise, case))
    small = [case for case in cases if case_size(exercise, case) <= MOST_ELEMENTS]
    for case in small or cases[:1]:
        fast = outcome(exercise, source, case, None)
        slow = outcome(exercise, source, case, 1)
        # a kernel with two faults shows the one that its order of programs meets first
        assert (fast[0] is None) == (slow[0] is None), (case.label, fast[0], slow[0])
        assert fast[2] == slow[2], case.label
        for name, values in fast[1].items():
            other = slow[1][name]
            if "tl.dot" in source and values.dtype.name in REORDERED:
                largest = np.nanmax(np.abs(values), initial=0.0)
                limit = REORDERED[values.dtype.name] * float(largest)
                np.testing.assert_allclose(values, other, 0, limit, err_msg=f"{case.label} {name}")
            else:
                assert values.tobytes() == other.tobytes(), (case.label, name)
