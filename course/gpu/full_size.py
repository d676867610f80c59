"""The case on which a kernel is timed: what it has to move or to work out, and what is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from course.check.outputs import compared
from course.engine.job import Ran
from course.engine.traffic import Traffic
from course.plain.sectors import SECTOR_BYTES
from course.spec.exercise import Case, KernelExercise, Role
from course.spec.formula import evaluate


def largest_cases(exercise: KernelExercise) -> list[Case]:
    """The full-size case, where there is one, and the largest of those that are checked."""
    largest = max(exercise.cases, key=lambda case: _least_bytes(exercise, case))
    return [largest] if exercise.full is None else [exercise.full, largest]


def work_of(exercise: KernelExercise, case: Case) -> dict[str, Any]:
    """By what a time is rated: `bytes` that have to move, or `operations` and their `dtype`."""
    if not exercise.operations:
        return {"bytes": _least_bytes(exercise, case)}
    inputs = {exercise.dtype(a, case).name for a in exercise.arrays if a.role is Role.IN}
    return {
        "operations": evaluate(exercise.operations, exercise.names(case)),
        "dtype": "float16" if "float16" in inputs else "float32",
    }


def is_right(
    exercise: KernelExercise,
    case: Case,
    constants: Mapping[str, int],
    before: Mapping[str, Any],
    left: Mapping[str, np.ndarray],
) -> bool:
    """Whether every output is what the reference says.

    Args:
        before: the arguments as they were drawn.
        left: the outputs by name.
    """
    found = compared(exercise, case, 1, constants, constants, before, Ran(left, Traffic()))
    return not any(one.wrong.any() for one in found)


def _least_bytes(exercise: KernelExercise, case: Case) -> int:
    return sum(exercise.least_sectors(case).values()) * SECTOR_BYTES
