"""Every exercise by its name: ``from course import exercises as ex``, then ``ex.vector_add``.

One module a lesson; a module is imported when a name is first looked for, so that the import
costs nothing. Order: by lesson, then as they are defined.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from course.spec.exercise import Exercise

#: Lessons in order, by stem. A module that is not listed here comes last.
STEMS = (
    "start",
    "threads",
    "coalescing",
    "shared_memory",
    "matmul",
    "roofline",
    "hello_triton",
    "softmax",
    "norms",
    "fusion",
    "attention",
    "attention_backward",
    "speed_of_light",
    "modern",
    "serving",
)


def _spec(exercise: Exercise) -> Exercise:
    return exercise


#: What `ex.NAME` is of a spec. A learner's import of `course` gives it a check and hints.
_handed_out: Callable[[Exercise], Exercise] = _spec


def hand_out(face: Callable[[Exercise], Exercise]) -> None:
    """Has `ex.NAME` be what `face` makes of the spec; `lesson` and `all_exercises` stay specs."""
    global _handed_out
    _handed_out = face


def stems() -> list[str]:
    """Stems of the lessons that have exercises, in order."""
    folders = [Path(path) for path in __path__]
    found = _modules(tuple((str(one), one.stat().st_mtime_ns) for one in folders if one.is_dir()))
    known = [stem for stem in STEMS if stem in found]
    return known + sorted(found.difference(STEMS))


def notebook(stem: str) -> str:
    """What a lesson's notebook is called: ``03_shared_memory``; one not listed has no number."""
    return f"{STEMS.index(stem):02}_{stem}" if stem in STEMS else stem


def stem_of(name: str) -> str:
    """The lesson of an exercise; empty for one that no lesson has."""
    return next((stem for stem in stems() if name in lesson(stem)), "")


@cache
def _modules(folders: tuple[tuple[str, int], ...]) -> frozenset[str]:
    """What is in the folders, as they were changed last: asked for each name of a class's files."""
    return frozenset(module.name for module in pkgutil.iter_modules([path for path, _ in folders]))


def lesson(stem: str) -> dict[str, Exercise]:
    """The exercises of one lesson by name, in order of definition."""
    module = importlib.import_module(f"{__name__}.{stem}")
    exercises = [value for value in vars(module).values() if isinstance(value, Exercise)]
    return {exercise.name: exercise for exercise in exercises}


def all_exercises() -> dict[str, Exercise]:
    """Every exercise by name, by lesson and in order of definition."""
    return {name: exercise for stem in stems() for name, exercise in lesson(stem).items()}


def __getattr__(name: str) -> Any:  # each kind of exercise has a check of its own
    if not name.startswith("_"):
        for stem in stems():
            exercise = lesson(stem).get(name)
            if exercise is not None:
                return _handed_out(exercise)
        names = list(all_exercises())
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(names)}."
        raise AttributeError(f"There is no exercise named {name!r}. {hint}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*all_exercises(), "all_exercises", "lesson", "stems"]
