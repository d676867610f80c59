"""The report of a class that is too large for one page, made from the ledger.

    report.html                                  the class: each exercise, each student, with links
    report/exercises/01_threads-vector_add.html  who has what, and where the traffic went
    report/students/vega.html                    all verdicts of one student, with their panels

A student's page says of which verdicts it was made, and is left as it is until these are others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from autograder.grading.names import slug
from autograder.grading.report import (
    Cell,
    environment,
    exercise_view,
    exercises_of,
    picture,
    verdict_cell,
)
from autograder.grading.store import Store, ordered
from autograder.judge.judge import RIGHT, Graded, course_version
from course.engine.faults import Outcome
from course.words.verdict import HEADLINES

#: A page of this many verdicts with their panels has some 15 MB, and opens in a second.
MOST_ON_ONE_PAGE = 1500
#: What all panels of a page may have together, in characters: a browser has to open it.
MOST_OF_PANELS = 60_000_000
FOLDER = "report"
#: A page's first line ends within it.
_STAMP_BYTES = 200


@dataclass(frozen=True)
class Row:
    """A verdict without its panel, and its number in the ledger."""

    number: int
    graded: Graded


@dataclass(frozen=True)
class Lesson:
    """What one student has in one lesson, panels included."""

    name: str
    cells: list[Cell]
    points: float
    max_points: float


def rows_of(store: Store) -> tuple[list[Row], bool]:
    """(the verdicts that hold, in order, without panels; whether one page has room for all)"""
    numbers = {}
    for entry in store.ledger.latest(panels=False):
        if entry.graded is not None:
            numbers[entry.graded] = entry.id
    rows = [Row(numbers[graded], graded) for graded in ordered(numbers)]
    if len(rows) > MOST_ON_ONE_PAGE:
        return rows, False
    return rows, store.ledger.panel_characters() <= MOST_OF_PANELS


def write_pages(store: Store, rows: Sequence[Row], shown_seed: str) -> None:
    """Writes the pages of exercises, those of students that have new verdicts, and the index."""
    templates = environment()
    links = {one: f"students/{slug(one)}.html" for one in {row.graded.student for row in rows}}
    by_notebook: dict[str, list[Graded]] = {}
    for row in rows:
        by_notebook.setdefault(row.graded.notebook, []).append(row.graded)
    lessons = []
    for notebook, graded in sorted(by_notebook.items()):
        by_exercise: dict[str, list[Graded]] = {}
        for one in graded:
            by_exercise.setdefault(one.exercise, []).append(one)
        exercises = []
        for name in exercises_of(notebook, graded):
            own = by_exercise.get(name, [])
            view = exercise_view(name, own)
            place = f"exercises/{slug(notebook or 'none')}-{slug(name or 'none')}.html"
            page = templates.get_template("report_exercise.html").render(
                view=view, lesson=notebook, outcomes=_outcomes(own, links), **picture()
            )
            _put(store, place, page)
            exercises.append((replace(view, dots=[]), f"{FOLDER}/{place}", _right(own)))
        lessons.append((notebook, exercises))
    students = _write_students(store, rows, links, templates)
    index = templates.get_template("report_index.html").render(
        lessons=lessons,
        students=students,
        verdicts=len(rows),
        version=course_version()[:12],
        seed=shown_seed,
    )
    store.write("report.html", index)


def _outcomes(
    rows: Iterable[Graded], links: Mapping[str, str]
) -> list[tuple[str, str, str, list[tuple[Graded, str]]]]:
    """(label, kind, symbol, [(verdict, where its panel is)]) by outcome, the commonest first."""
    by_outcome: dict[str, list[tuple[Graded, str]]] = {}
    kinds: dict[str, str] = {}
    for graded in rows:
        cell = verdict_cell(graded)
        kinds[graded.outcome] = cell.kind
        link = f"../{links[graded.student]}#{cell.anchor}"
        by_outcome.setdefault(graded.outcome, []).append((graded, link))
    ranked = sorted(by_outcome.items(), key=lambda item: -len(item[1]))
    return [
        (Outcome(outcome).label, kinds[outcome], HEADLINES[Outcome(outcome)][0], listed)
        for outcome, listed in ranked
    ]


def _right(rows: Sequence[Graded]) -> str:
    right = sum(Outcome(row.outcome) in RIGHT for row in rows)
    return f"{right} of {len(rows)}"


def _write_students(
    store: Store, rows: Sequence[Row], links: Mapping[str, str], templates: Any
) -> list[tuple[str, str, float, float]]:
    """Writes the pages that are not up to date; gives what the index says of each student."""
    template = templates.get_template("report_student.html")
    made_by = _templates_digest()
    told = []
    for student, group in groupby(rows, key=lambda row: row.graded.student):
        own = list(group)
        numbers = " ".join(str(row.number) for row in own)
        stamp = hashlib.sha256(f"{made_by} {numbers}".encode()).hexdigest()
        place = links[student]
        if _stamp_of(store.out / FOLDER / place) != stamp:
            page = template.render(student=student, lessons=_lessons_of(store, student))
            _put(store, place, f"<!-- {stamp} -->\n{page}")
        points = math.fsum(row.graded.points for row in own)
        possible = math.fsum(row.graded.max_points for row in own)
        told.append((student, f"{FOLDER}/{place}", points, possible))
    return told


def _templates_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("report*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _stamp_of(page: Path) -> str:
    """Of which verdicts a page was made; "" where there is none that says so."""
    try:
        with page.open("rb") as file:
            first = file.read(_STAMP_BYTES).partition(b"\n")[0]
    except OSError:
        return ""
    return first.decode("ascii", "replace").removeprefix("<!-- ").removesuffix(" -->")


def _lessons_of(store: Store, student: str) -> list[Lesson]:
    found = [entry.graded for entry in store.ledger.latest(student=student)]
    graded = ordered(filter(None, found))
    lessons = []
    for notebook, group in groupby(graded, key=lambda row: row.notebook):
        own = list(group)
        cells = [verdict_cell(row) for row in own]
        points = math.fsum(row.points for row in own)
        possible = math.fsum(row.max_points for row in own)
        lessons.append(Lesson(notebook or "No lesson", cells, points, possible))
    return lessons


def _put(store: Store, place: str, page: str) -> None:
    """Writes a page whole or not at all. It can be made again: it need not outlive a power cut."""
    store.write(f"{FOLDER}/{place}", page, durable=False)
