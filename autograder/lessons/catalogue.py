"""Which exercises a lesson has, from the course itself and never from a submitted notebook."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from autograder import Refused
from autograder.judge import overlay
from autograder.lessons.source import lesson_files
from course import exercises
from course.spec.exercise import Exercise

ROOT = Path(__file__).resolve().parents[2]


def lessons() -> dict[str, tuple[Exercise, ...]]:
    """Exercises by lesson stem, in the order in which the lesson's module declares them."""
    return {stem: lesson_exercises(stem) for stem in exercises.stems()}


def lesson_exercises(stem: str) -> tuple[Exercise, ...]:
    """The exercises of one lesson that count in this class, in the order of their definition."""
    return overlay.active().graded(exercises.lesson(stem))


def lesson_name(stem: str) -> str:
    """The name of a lesson's notebook without its suffix: `01_threads` for `threads`."""
    return exercises.notebook(stem)


def lesson_in(text: str) -> tuple[str, str] | None:
    """The lesson that a file's or folder's name speaks of, and what else stands in it.

    `vega_01_threads` gives ("threads", "vega"), `01_threads` and `threads` give
    ("threads", ""), `vega` gives None. A lesson's name counts where it stands as a word; with its
    number it goes before a bare one, in capitals, too: `matmul_00_Start` is of `start`.
    """
    for stem, word in _words(tuple(exercises.stems())):
        if match := word.search(text):
            rest = text[: match.start()] + " " + text[match.end() :]
            return stem, rest.strip(" _-.+@,")
    return None


@lru_cache(4)
def _words(stems: tuple[str, ...]) -> list[tuple[str, re.Pattern[str]]]:
    """Each stem as a word, those with a number first, of these the longest."""
    return [
        (stem, re.compile(rf"(?<![^\W_]){form.format(re.escape(stem))}(?![^\W_])"))
        for form in (r"(?i:\d\d[_\- ]{})", "{}")
        for stem in sorted(stems, key=len, reverse=True)
    ]


def has_no_exercises(notebook_name: str) -> bool:
    """Whether this is a notebook of the course with nothing to grade.

    A primer, or a lesson that has no exercise of the class's unit.
    """
    stem = stem_of_notebook(notebook_name)
    return notebook_name in _ours() and (stem is None or not lesson_exercises(stem))


@cache
def _ours() -> frozenset[str]:
    """The names of the course's notebooks: asked for each of a class's files."""
    return frozenset(path.stem for path in lesson_files(ROOT))


def stem_of_notebook(notebook_name: str) -> str | None:
    """The stem of the lesson whose notebook this is: `threads` for `01_threads`, or None."""
    found = lesson_in(notebook_name)
    return found[0] if found is not None and not found[1] else None


def named_stem(notebook_name: str) -> str:
    """The same, for a lesson that a command names.

    Raises:
        Refused: where there is none of that name.
    """
    stem = stem_of_notebook(notebook_name)
    if stem is None:
        names = ", ".join(map(lesson_name, exercises.stems()))
        raise Refused(f"There is no lesson {notebook_name!r}. There are: {names}.")
    return stem
