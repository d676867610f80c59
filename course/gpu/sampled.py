"""A kernel's full-size case on the engine: a few blocks of each launch, counted for a named GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from course.check.cases import VISIBLE_SEED, case_seed, run_of
from course.engine.runner import Engine
from course.engine.sampling import Launched, sampled
from course.spec.exercise import Array, Case, KernelExercise, Role
from course.spec.formula import Number
from course.spec.inputs import corner, in_order

#: The compute capability of an H200, for which Triton compiles.
TARGET = 90
#: What a block of PyTorch's kernel fills, four elements of four bytes a thread.
_FILLING_WARPS, _FILLED_BYTES = 4, 2048
#: No loop of a few blocks is endless before this.
STEP_LIMIT = 4_000_000


def launches_of(
    exercise: KernelExercise,
    source: str,
    case: Case,
    constants: Mapping[str, int],
    grid: tuple[int, ...] = (),
    block: tuple[int, ...] = (),
) -> list[Launched]:
    """The launches of a cell on a case, of each the few blocks that stand for it.

    Args:
        grid: instead of the one that the check launches.
        block: threads along x and y, instead of those that the check launches.

    Raises:
        KernelFault: what is wrong with the cell or happens in a launch.
    """
    names = exercise.names(case, constants)
    run = run_of(exercise, case, constants, source, imagined(exercise, case, names))
    run = replace(run, step_limit=STEP_LIMIT, target=run.target or TARGET, binary=True)
    run = replace(run, grid=grid or run.grid, block=block or run.block)
    run = replace(run, unwritten=(), cache=False, elsewhere=False)
    if exercise.dialect == "triton":
        from course.engine.triton.canary import require_right_counts  # Triton is not everywhere

        require_right_counts()
    with sampled() as made:
        ran = Engine()(run)
    filled = ran.traffic.filled_bytes
    return [filling(filled), *made.launches] if filled else made.launches


def filling(filled_bytes: int) -> Launched:
    """The kernel by which a launcher's `torch.zeros` fills its tensors."""
    place = "filled", "store"
    each = min(filled_bytes, _FILLED_BYTES)
    made = Launched("torch.zeros", (-(-filled_bytes // each), 1, 1), _FILLING_WARPS, ran=1)
    made.distinct = made.by_site = made.union = {place: each}
    made.array_bytes = {place[0]: filled_bytes}
    made.detail = {"waiting": 0.0, "ahead": 0.0, "stages": 1}
    return made


def imagined(exercise: KernelExercise, case: Case, names: Mapping[str, Number]) -> dict[str, Any]:
    """The kernel's arguments by name, in order: arrays that take memory only where they are used.

    Whole numbers, which may be places in other arrays, are drawn; floats are 0.
    """
    rng = np.random.default_rng(case_seed(exercise, case, VISIBLE_SEED))
    return in_order(
        exercise,
        case,
        names,
        lambda array, given: _array(exercise, array, case, names, given, rng),
    )


def _array(
    exercise: KernelExercise,
    array: Array,
    case: Case,
    names: Mapping[str, Number],
    given: Mapping[str, Any],
    rng: np.random.Generator,
) -> np.ndarray:
    dtype, shape = exercise.dtype(array, case), exercise.shape(array, names)
    if dtype.kind == "f" or array.role in (Role.OUT, Role.ACCUMULATE):
        order = "F" if array.name in case.transposed else "C"
        stored = exercise.stored_shape(array, names)
        zeros: np.ndarray = np.zeros(stored, dtype, order=order)  # type: ignore[call-overload]  # a letter
        return corner(zeros, shape)
    if array.computed is not None:
        known = {n: v for n, v in given.items() if isinstance(v, np.ndarray)}
        scalars = {n: v.item() for n, v in given.items() if isinstance(v, np.generic)}
        return array.computed(**known, **scalars).astype(dtype)
    return case.draws.get(array.name, array.draw)(rng, shape, dtype)
