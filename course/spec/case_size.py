"""How large a case is: which is tried first, and how long a kernel may take for it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from course.spec.exercise import Case, KernelExercise
from course.spec.once import of_case
from course.spec.shares import enough_work


@of_case
def case_size(exercise: KernelExercise, case: Case, constants: Mapping[str, int] | None) -> int:
    """Elements of all arrays together: the smallest case is tried first."""
    names = exercise.names(case, constants)
    return sum(int(np.prod(exercise.shape(array, names))) for array in exercise.arrays)


#: Statements after which a kernel counts as endless: a few for each element, so that one
#: thread, or one program, that does the work of all is measured and not stopped, in a vector of
#: 40,000 too.
FEWEST_STEPS = 5_000
STEPS_AN_ELEMENT = 8
MOST_STEPS = 160_000
#: A statement of Triton's is slower, since it works on a block, and a kernel needs fewer of them:
#: the solutions and their variants a fifth of this at most, wrong ones that do all the work in
#: one program a half. An endless loop in the first case is stopped after half a second.
FEWEST_TILE_STEPS = 2_000
TILE_STEPS = 10_000
ELEMENTS_A_TILE_STEP = 16
MOST_TILE_STEPS = 40_000
#: Too much work in one warp is measured, and not stopped, up to this many times what is allowed.
SERIAL_SLACK = 10


@of_case
def step_limit(exercise: KernelExercise, case: Case, constants: Mapping[str, int]) -> int:
    """Statements that one batch of blocks, or of programs, may execute in this case."""
    size = case_size(exercise, case)
    tiles = exercise.dialect == "triton"
    fewest = FEWEST_TILE_STEPS if tiles else FEWEST_STEPS
    of_tiles = min(MOST_TILE_STEPS, TILE_STEPS + size // ELEMENTS_A_TILE_STEP)
    steps = min(of_tiles if tiles else MOST_STEPS, fewest + STEPS_AN_ELEMENT * size)
    enough = enough_work(exercise, case, constants)
    return steps if enough is None else max(steps, SERIAL_SLACK * int(enough))
