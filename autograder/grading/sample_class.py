"""A class that was never taught: submissions made of solutions, witnesses and accidents.

Each is the released notebook with its cells filled in. Who hands in what follows from the
lists below and from nothing else, so that the class is the same each time. Every verdict that
a witness names is among them, and every accident that a file can have.
"""

from __future__ import annotations

import copy
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.lessons.catalogue import lesson_exercises, lesson_name
from autograder.proof.exploit import grade_id
from autograder.proof.witness import Witness, solutions_of, starters_of, witnesses_of
from course.engine.faults import Outcome
from course.spec.exercise import KernelExercise

#: Two lessons in which a kernel can go wrong in nearly every way.
STEMS = ("threads", "shared_memory")
#: Bright stars; a class has no other names here.
LEARNERS = (
    "achernar", "aldebaran", "altair", "antares", "arcturus", "bellatrix", "capella", "deneb",
)  # fmt: skip
RIGHT, VARIED, UNTOUCHED = "vega", "sirius", "polaris"
#: Of a hundred cells of a learner: so many solved as the lesson does, in another honest way,
#: wrong in the way of a witness. The others are left as they came.
_SOLVED, _VARIED, _WRONG = 48, 16, 28
_ANSWER = "I counted it by hand first, then measured it, and the two numbers agree."


@dataclass(frozen=True)
class HandedIn:
    """One file of the class. `expected` is what each exercise must come to; empty: no file."""

    student: str
    lesson: str
    content: bytes | None
    expected: Mapping[str, Outcome]
    why: str = ""


@dataclass
class _Lesson:
    """What a lesson's submissions are made of."""

    stem: str
    released: dict[str, Any]
    solutions: Mapping[str, str]
    starters: Mapping[str, str]
    honest: dict[str, list[Witness]] = field(default_factory=dict)
    wrong: dict[str, list[Witness]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return [exercise.name for exercise in lesson_exercises(self.stem)]


@dataclass(frozen=True)
class _Choice:
    """What stands in one cell, and what it must come to."""

    source: str
    outcome: Outcome


def sample_class(root: Path, stems: Sequence[str] = STEMS) -> list[HandedIn]:
    """The class, by student and lesson.

    Args:
        root: the repository, its lessons built.

    Raises:
        FileNotFoundError: where a lesson has not been built.
    """
    lessons = [_lesson(root, stem) for stem in stems]
    handed_in: list[HandedIn] = []
    for lesson in lessons:
        right = {name: _Choice(lesson.solutions[name], Outcome.PASS) for name in lesson.names}
        varied = {n: _nth(lesson.honest.get(n), 0) or right[n] for n in lesson.names}
        starter = {n: _Choice(lesson.starters[n], Outcome.NOT_ATTEMPTED) for n in lesson.names}
        handed_in.append(_filled(RIGHT, lesson, right, "every solution"))
        handed_in.append(_filled(VARIED, lesson, varied, "honest variants"))
        handed_in.append(_filled(UNTOUCHED, lesson, starter, "as it was released"))
        handed_in += _accidents(lesson, right)
    chosen = {(s, lesson.stem): _mixed(s, lesson) for s in LEARNERS for lesson in lessons}
    _cover(chosen, lessons)
    for (student, stem), choices in chosen.items():
        lesson = next(one for one in lessons if one.stem == stem)
        handed_in.append(_filled(student, lesson, choices, "a learner's mixture"))
    return sorted(handed_in, key=lambda one: (one.student, one.lesson))


def write(handed_in: Sequence[HandedIn], folder: Path) -> None:
    """Puts the class where nbgrader collects: FOLDER/STUDENT/LESSON/LESSON.ipynb."""
    for one in handed_in:
        home = folder / one.student / one.lesson
        home.mkdir(parents=True, exist_ok=True)
        if one.content is not None:
            (home / f"{one.lesson}.ipynb").write_bytes(one.content)


def _lesson(root: Path, stem: str) -> _Lesson:
    name = lesson_name(stem)
    path = root / ".build" / "nbgrader" / "release" / name / f"{name}.ipynb"
    released = json.loads(path.read_text(encoding="utf-8"))
    lesson = _Lesson(stem, released, solutions_of(stem, root), starters_of(stem, root))
    for witness in witnesses_of(stem, root):
        kind = lesson.honest if witness.is_honest else lesson.wrong
        kind.setdefault(witness.exercise, []).append(witness)
    return lesson


def _nth(witnesses: Sequence[Witness] | None, number: int) -> _Choice | None:
    if not witnesses:
        return None
    witness = witnesses[number % len(witnesses)]
    return _Choice(witness.source, witness.outcome)


def _mixed(student: str, lesson: _Lesson) -> dict[str, _Choice]:
    """What a learner has in each cell: the same each time, another for each learner."""
    choices = {}
    for name in lesson.names:
        draw = zlib.crc32(f"{student} {name}".encode())
        percent, number = draw % 100, draw // 100
        choice: _Choice | None = None
        if percent >= _SOLVED + _VARIED + _WRONG:
            choice = _Choice(lesson.starters[name], Outcome.NOT_ATTEMPTED)
        elif percent >= _SOLVED + _VARIED:
            choice = _nth(lesson.wrong.get(name), number)
        elif percent >= _SOLVED:
            choice = _nth(lesson.honest.get(name), number)
        choices[name] = choice or _Choice(lesson.solutions[name], Outcome.PASS)
    return choices


def _cover(chosen: dict[tuple[str, str], dict[str, _Choice]], lessons: Sequence[_Lesson]) -> None:
    """Puts a witness of each verdict that is not among the class into a cell that was solved."""
    there = {choice.outcome for choices in chosen.values() for choice in choices.values()}
    rare = [w for one in lessons for group in one.wrong.values() for w in group]
    extra = [choice for one in lessons for choice in _derived(one)]
    missing = [(w.exercise, _Choice(w.source, w.outcome)) for w in rare] + extra
    for exercise, choice in missing:
        if choice.outcome in there:
            continue
        for choices in chosen.values():
            if exercise in choices and choices[exercise].outcome is Outcome.PASS:
                choices[exercise] = choice
                there.add(choice.outcome)
                break


def _derived(lesson: _Lesson) -> Iterator[tuple[str, _Choice]]:
    """Solutions that ask for more shared memory than a block may have."""
    for exercise in lesson_exercises(lesson.stem):
        if not isinstance(exercise, KernelExercise):
            continue
        source = lesson.solutions[exercise.name]
        larger = re.sub(r"shared\.array\((\([^)]*\)|[^,]+),", "shared.array(65536,", source)
        if larger != source:
            yield exercise.name, _Choice(larger, Outcome.TOO_MANY_RESOURCES)


def _filled(student: str, lesson: _Lesson, choices: Mapping[str, _Choice], why: str) -> HandedIn:
    notebook = copy.deepcopy(lesson.released)
    for cell in notebook["cells"]:
        name = grade_id(cell)
        if name in choices:
            cell["source"] = choices[name].source
        elif name.startswith("explain_") and student != UNTOUCHED:
            cell["source"] = _ANSWER
    expected = {name: choice.outcome for name, choice in choices.items()}
    content = json.dumps(notebook, indent=1).encode()
    return HandedIn(student, lesson_name(lesson.stem), content, expected, why)


def _accidents(lesson: _Lesson, right: Mapping[str, _Choice]) -> Iterator[HandedIn]:
    """Right answers that something happened to."""
    whole = _filled("x", lesson, right, "").content
    assert whole is not None
    first = lesson.names[-1]

    def every(outcome: Outcome) -> dict[str, Outcome]:
        return dict.fromkeys(lesson.names, outcome)

    def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
        notebook = json.loads(whole)
        change(notebook)
        return json.dumps(notebook, indent=1).encode()

    def deleted(notebook: dict[str, Any]) -> None:
        notebook["cells"] = [cell for cell in notebook["cells"] if grade_id(cell) != first]

    def copied(notebook: dict[str, Any]) -> None:
        cells = notebook["cells"]
        place = next(n for n, cell in enumerate(cells) if grade_id(cell) == first)
        cells.insert(place, cells[place] | {"source": "# an earlier attempt"})

    def old(notebook: dict[str, Any]) -> None:
        notebook["worksheets"] = [{"cells": notebook.pop("cells")}]
        notebook["nbformat"] = 3

    rest = every(Outcome.PASS)
    rejected = every(Outcome.REJECTED)
    name = lesson_name(lesson.stem)
    yield HandedIn("castor", name, whole[: len(whole) // 2], rejected, "a download cut short")
    yield HandedIn("pollux", name, b"PK\x03\x04\xff\xfe" + whole[:99], rejected, "a packed file")
    yield HandedIn(
        "mira", name, changed(deleted), {**rest, first: Outcome.NOT_ATTEMPTED}, "a deleted cell"
    )
    yield HandedIn(
        "procyon", name, changed(copied), {**rest, first: Outcome.REJECTED}, "a changed copy"
    )
    yield HandedIn("regulus", name, changed(old), rejected, "an old format")
    yield HandedIn("rigel", name, b"", rejected, "an empty file")
    yield HandedIn("spica", name, None, every(Outcome.NOT_ATTEMPTED), "no file at all")
