"""Bands of speed in an instructor's settings: what a kernel has to reach on a GPU for its points.

    [bands.H100]                                        of GPUs whose name holds "H100"
    triton_matmul = [[0.6, 100], [0.4, 80], [0.1, 50]]  all points from 0.6 of the GPU's rate on

The fractions are of this GPU's own measured rate: of PyTorch's product, for an exercise that is
rated by operations, else of a copy. Below the last one no points are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from course.spec.exercise import Exercise, KernelExercise

TABLE = "bands"
Steps = tuple[tuple[float, float], ...]
#: by the GPU's name, or a part of it, and by exercise
Bands = Mapping[str, Mapping[str, Steps]]


@dataclass(frozen=True)
class Band:
    """What one exercise is asked for on one GPU: fractions of its rate and percent, falling."""

    gpu: str
    steps: Steps

    def percent(self, fraction: float) -> float:
        """Of the points, what a kernel of this rate keeps at most."""
        return next((percent for least, percent in self.steps if fraction >= least), 0.0)

    def __str__(self) -> str:
        return ", ".join(f"{least:g} for {percent:g} %" for least, percent in self.steps)


def bands(settings: Mapping[str, object]) -> Bands:
    """What the settings say.

    Raises:
        ValueError: in a sentence, where they cannot mean that.
    """
    found = settings.get(TABLE, {})
    tables: Mapping[str, Any] = found if isinstance(found, Mapping) else {TABLE: found}
    for gpu, own in tables.items():
        if not isinstance(own, Mapping):
            raise ValueError(
                f"expected tables [{TABLE}.GPU] with a line `EXERCISE = [[0.6, 100], [0.4, 80]]` "
                f"each, got {gpu} = {own!r}"
            )
    return {
        gpu: {name: _steps(name, steps) for name, steps in own.items()}
        for gpu, own in tables.items()
    }


def _steps(name: str, value: object) -> Steps:
    steps = value if isinstance(value, list) else []
    pairs = [tuple(step) for step in steps if isinstance(step, list) and len(step) == 2]
    good = [pair for pair in pairs if _is_number(pair[0], 10) and _is_number(pair[1], 100)]
    falling = all(a[0] > b[0] and a[1] > b[1] for a, b in pairwise(good))
    if not steps or len(good) < len(steps) or not falling:
        raise ValueError(
            f"expected for {name} pairs of a fraction of the GPU's rate and the percent of the "
            f"points, both falling, such as [[0.6, 100], [0.4, 80]], got {value!r}"
        )
    return tuple((float(least), float(percent)) for least, percent in good)


def _is_number(value: object, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def without_band(exercises: Mapping[str, Exercise], found: Bands) -> str:
    """Why an exercise that is named can have no band, in a sentence; "" where all can."""
    for name in (name for own in found.values() for name in own):
        exercise = exercises.get(name)
        if not isinstance(exercise, KernelExercise):
            return f"[{TABLE}] names {name!r}, which is no exercise with a kernel."
    return ""


def band_of(found: Bands, exercise: str, gpu: str = "") -> Band | None:
    """What an exercise is asked for on a GPU of this name; without one, on the first that asks.

    Of several names that fit, the longest counts.
    """
    asked = [name for name, own in found.items() if exercise in own]
    fitting = [name for name in asked if name.lower() in gpu.lower()] if gpu else asked[:1]
    name = max(fitting, key=len, default=None)
    return None if name is None else Band(name, found[name][exercise])
