"""What the counts of a right answer cannot do without.

A launch's arrays and its counts come out of one runner, so whoever judges holds them against
each other: what was written was written by counted stores and atomics, and what the result
depends on was read by counted loads. Footprints tell that, not sectors: a sector that is asked
for twice covers no more than once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from course.engine.job import Ran
from course.engine.traffic import Traffic
from course.plain.sectors import SECTOR_BYTES, sectors_of
from course.spec.exercise import Array, KernelExercise, Role
from course.spec.inputs import poisoned
from course.spec.launching import Launcher
from course.words.verdict import bytes_text

WRITING = ("store", "atomic")
READING = ("load", "atomic")


def uncounted(
    exercise: KernelExercise,
    least: Mapping[tuple[str, str], int],
    before: Mapping[str, Any],
    ran: Ran,
) -> dict[str, object] | None:
    """The first array of which fewer bytes are counted than a right result takes, or None.

    As fields of a sentence: the array, `read` or `written`, the bytes that are counted and those
    that it takes. Too little read may be right by chance, as the maximum of a part of a row is;
    too little written is nothing that a kernel can do.

    Args:
        least: the compulsory sectors of each (array, direction), by the spec: all of an input,
            unless its budget says that a result depends on less (pages of a pool, say).
        before: the arguments as they were drawn, by the exercise's names.
        ran: what the launch left, and its counts.
    """
    for array in exercise.arrays:
        written = _changed(array, before.get(array.name), ran.arrays[array.name])
        writing = sectors_of(written, ran.arrays[array.name].itemsize)
        asked = least.get((array.name, "load"), 0)
        read = {Role.IN: asked, Role.INOUT: min(writing, asked)}.get(array.role, 0)
        for done, sectors, directions in (("read", read, READING), ("written", writing, WRITING)):
            needed = sectors * SECTOR_BYTES
            counted = _counted(ran.traffic, array.name, directions)
            if counted < needed:
                return {
                    "array": array.name,
                    "done": done,
                    "counted": bytes_text(counted),
                    "needed": bytes_text(needed),
                }
    return None


def by_other_means(
    exercise: KernelExercise, traffic: Traffic
) -> tuple[str, dict[str, object], int | None]:
    """(a message's name, its fields, a line) where a right result does without what the exercise
    is about; "" where it does not.
    """
    launch, arrays = exercise.launch, {array.name for array in exercise.arrays}
    if not isinstance(launch, Launcher):
        return "", {}, None
    plain = [
        (site.line, site.direction, site.array)
        for site in traffic.sites
        if site.direction in launch.copied and site.array in arrays and not site.descriptor
    ]
    if plain:
        line, direction, array = min(plain)
        return "tile_not_copied", {"array": array, "direction": direction, "line": line}, line
    if 0 < launch.launches < traffic.launches:
        return "tile_many_launches", {"got": traffic.launches, "limit": launch.launches}, None
    return "tile_not_divided" if launch.divided and traffic.undivided else "", {}, None


def _changed(array: Array, before: np.ndarray | None, after: np.ndarray) -> int:
    """How many elements hold something else than before the launch."""
    if before is None:  # a launcher made it
        return after.size
    if array.role is Role.OUT:
        return int(np.count_nonzero(~poisoned(after)))
    return int(np.count_nonzero((before != after) & ~((before != before) & (after != after))))


def _counted(traffic: Traffic, array: str, directions: tuple[str, ...]) -> int:
    """Distinct sectors x 32, but no more than the lanes' bytes could have filled."""
    touched = sum(traffic.footprints.get((array, direction), 0) for direction in directions)
    lanes = sum(
        site.lane_bytes
        for site in traffic.sites
        if site.array == array and site.direction in directions
    )
    return min(touched, -(-lanes // SECTOR_BYTES) * SECTOR_BYTES)
