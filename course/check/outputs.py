"""What a case left in each output beside what was expected, and what its axes are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course.check import compare
from course.check.compare import Compared
from course.engine.job import Ran
from course.plain.sectors import WARP_LANES
from course.spec.exercise import Case, KernelExercise, Meta, Role
from course.spec.inputs import Answer, answer, given_to_reference

#: What the places along an axis of this length are called.
_AXES = {"H": "head", "B": "batch entry", "S": "sequence"}

#: Lengths of a cell that are looked at: no honest one names more.
MOST_LENGTHS = 8
#: A number of a cell from this on may be a tile's length.
SHORTEST, LONGEST = 8, 8192
#: What the length of a warp is called.
OF_A_WARP = "one warp"
#: ... and those of a launch along one axis.
ONE_BLOCK, WHOLE_GRID = "one block", "the whole grid"


def lengths_of(
    grid: tuple[int, ...], block: tuple[int, ...], named: Mapping[str, int]
) -> dict[str, int]:
    """How far the tiles, blocks and the grid of a launch reach, by what they are called."""
    found: dict[str, int] = {}
    if len(block) == 1:
        everyone = block[0] * grid[0]
        found |= {WHOLE_GRID: everyone, ONE_BLOCK: block[0]}
        found["two rounds of the grid"] = 2 * everyone
    for name, length in list(named.items())[:MOST_LENGTHS]:  # say more than an axis of a block
        if length <= LONGEST:
            found[name] = length
    for axis, threads in zip("xyz", block if len(block) > 1 else (), strict=False):
        found[f"one block along {axis}"] = threads
    if block:
        found[OF_A_WARP] = WARP_LANES
    return found


def called(label: str, cases: Sequence[Compared], along: Sequence[int]) -> str:
    """A length's name; of several constants that are as long, those that may be meant.

    Args:
        along: how long the axis is that the length is along, case by case.
    """
    if not label.isidentifier():
        return label

    def alike(name: str) -> bool:
        return all(one.lengths.get(name) == one.lengths[label] for one in cases)

    def is_along(size: str) -> bool:
        return all(one.sizes[size] == long for one, long in zip(cases, along, strict=True))

    named = [name for name in cases[0].lengths if name.isidentifier() and alike(name)]
    sizes = tuple(size for size in cases[0].sizes if is_along(size))
    *most, last = [name for name in named if name.endswith(sizes)] or named
    return f"{', '.join(most)} or {last}" if most else last


def compared(
    exercise: KernelExercise,
    case: Case,
    number: int,
    constants: Mapping[str, int],
    of_cell: Mapping[str, int | float],
    before: Mapping[str, Any],
    ran: Ran,
    known: Answer | None = None,
) -> list[Compared]:
    """Every output of a case.

    Args:
        number: the case's, from 1.
        constants: those that the exercise names; `of_cell` those that the cell does.
        before: the arguments as they were drawn.
        known: what is right for them, where it has been worked out.
    """
    given = given_to_reference(exercise, before)
    expected, sizes = known or answer(exercise, given)
    with np.errstate(all="ignore"):
        got = dict(ran.arrays) if exercise.finish is None else exercise.finish(ran.arrays)
    names = exercise.names(case, constants)
    grid, block, _ = exercise.launch.values(names)
    metas = [one.name for one in exercise.parameters if isinstance(one, Meta)]
    long = {name: n for name, n in of_cell.items() if type(n) is int and n >= SHORTEST}
    lengths = lengths_of(
        grid, block, {**long, **{name: int(names[name]) for name in (*exercise.constants, *metas)}}
    )
    found = []
    for name, values in expected.items():
        left = np.asarray(got[name])
        reads = ran.traffic.sectors(name, "load") + ran.traffic.sectors(name, "atomic")
        role = next((a.role for a in exercise.arrays if a.name == name), None)
        found.append(
            Compared(
                number,
                name,
                case.sizes,
                lengths,
                given,
                left,
                np.broadcast_to(np.asarray(values), left.shape),
                np.broadcast_to(np.asarray(sizes[name]), left.shape),
                compare.tolerance(_dtype(exercise, name, case), exercise.tolerance),
                grid,
                block,
                reads > 0 and role is Role.OUT and exercise.dialect == "numba",
            )
        )
    return found


def axes_of(exercise: KernelExercise, one: Compared) -> list[str]:
    """What the places along an output's axes are called, in the singular."""
    if one.got.ndim == 1:
        return ["element"]
    array = next((a for a in exercise.arrays if a.name == one.name), None)
    outer = () if array is None else array.axes[: one.got.ndim - 2]
    words = [_AXES.get(axis, f"place along {axis}") for axis in outer]
    return [*words, "row", "column"][: one.got.ndim]


def _dtype(exercise: KernelExercise, name: str, case: Case) -> np.dtype[Any]:
    """The dtype whose tolerance counts: an output's own, or that of the last, its source."""
    outputs = [array for array in exercise.arrays if array.role is not Role.IN]
    chosen = next((array for array in outputs if array.name == name), outputs[-1])
    return exercise.dtype(chosen, case)
