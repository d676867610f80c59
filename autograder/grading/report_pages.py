"""The report of a class that is too large for one page, made from the ledger.

    report.html                                  the class: what is common, with links to all else
    report/exercises/01_threads-vector_add.html  who has what, and where the traffic went
    report/students/vega.html                    all verdicts of one student, with their panels

A student's page says of which verdicts it was made, and is left as it is until these are others.
Without names the same stands in `anonymous/`, to be given away as a folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from autograder.grading.anonymous import without_name
from autograder.grading.insights import insights
from autograder.grading.mistakes import Mistakes
from autograder.grading.names import slug
from autograder.grading.report import (
    Filter,
    Overview,
    Together,
    anchor,
    environment,
    exercise_view,
    exercises_of,
    picture,
    report_html,
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
#: Where a report without names is, below the folder of the grades.
ANONYMOUS = "anonymous"
#: What `autograder similar` writes.
SIMILAR = "similar.html"
#: A page's first line ends within it.
_STAMP_BYTES = 200


@dataclass
class Class:
    """The verdicts that hold, read once, as they are to be shown.

    Attributes:
        called: what a report without names calls students; None with names.
        numbers: of the verdicts in the ledger.
        rows: the verdicts in order, without their panels.
        whose: by the name that is shown the one that the ledger knows.
    """

    store: Store
    called: Callable[[str], str] | None = None
    numbers: dict[Graded, int] = field(default_factory=dict)
    mistakes: Mistakes = field(default_factory=Mistakes)
    whose: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.store.ledger.latest(panels=False):
            if entry.graded is not None:
                shown = self.shown(replace(entry.graded, cell=""))
                self.whose[shown.student] = entry.graded.student
                self.mistakes.add(entry.id, shown)
                self.numbers[shown] = entry.id
        self.rows = ordered(self.numbers)

    @property
    def place(self) -> str:
        """Where its report is, below the folder of the grades."""
        return f"{ANONYMOUS}/" if self.called else ""

    def shown(self, graded: Graded) -> Graded:
        return without_name(graded, self.called) if self.called else graded

    def fits_one_page(self) -> bool:
        if len(self.rows) > MOST_ON_ONE_PAGE:
            return False
        return self.store.ledger.panel_characters() <= MOST_OF_PANELS

    def overview(self) -> Overview:
        """What is common in it."""
        ledger = self.store.ledger
        similar = not self.called and (self.store.out / SIMILAR).exists()
        found = insights(self.rows, ledger.attempts())
        mistakes = self.mistakes.shown(lambda number: self.shown(ledger.verdict(number)))
        return Overview(found, mistakes, SIMILAR if similar else "")

    def of(self, student: str) -> list[Graded]:
        """A student's verdicts, with their panels, by the name that is shown."""
        found = self.store.ledger.latest(student=self.whose[student])
        return ordered(self.shown(one.graded) for one in found if one.graded is not None)


def write_report(known: Class, shown_seed: str) -> Path:
    """Writes a class's report, on one page where that has room for it, and gives its place."""
    if known.fits_one_page():
        rows = [row for student in known.whose for row in known.of(student)]
        page = report_html(ordered(rows), shown_seed, known.overview())
        return known.store.write(f"{known.place}report.html", page)
    return _write_pages(known, shown_seed)


def _write_pages(known: Class, shown_seed: str) -> Path:
    """Writes the pages of exercises, those of students that have new verdicts, and the index."""
    templates, choice = environment(), Filter(known.rows)
    links = {one: f"students/{slug(one)}.html" for one in known.whose}
    by_notebook: dict[str, list[Graded]] = {}
    for row in known.rows:
        by_notebook.setdefault(row.notebook, []).append(row)
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
            _put(known, place, page)
            exercises.append((replace(view, dots=[]), f"{FOLDER}/{place}", _right(own)))
        lessons.append((notebook, exercises))

    def link(student: str, notebook: str, exercise: str) -> str:
        place = f"#{anchor(notebook, student, exercise)}" if exercise else ""
        return f"{FOLDER}/{links[student]}{place}"

    index = templates.get_template("report_index.html").render(
        lessons=lessons,
        students=_write_students(known, links, templates, choice),
        verdicts=len(known.rows),
        version=course_version()[:12],
        seed=shown_seed,
        above=known.overview(),
        link=link,
        **choice.given,
    )
    return known.store.write(f"{known.place}report.html", index)


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
    known: Class, links: Mapping[str, str], templates: Any, choice: Filter
) -> list[Together]:
    """Writes the pages that are not up to date; gives what the index says of each student."""
    template = templates.get_template("report_student.html")
    made_by = _templates_digest()
    told = []
    for student, group in groupby(known.rows, key=lambda row: row.student):
        own = list(group)
        numbers = " ".join(str(known.numbers[row]) for row in own)
        stamp = hashlib.sha256(f"{made_by} {numbers}".encode()).hexdigest()
        place = links[student]
        if _stamp_of(known.store.out / known.place / FOLDER / place) != stamp:
            page = template.render(student=student, lessons=_lessons_of(known.of(student)))
            _put(known, place, f"<!-- {stamp} -->\n{page}")
        place = f"{FOLDER}/{place}"
        told.append(Together(student, own, place, verdicts=choice.verdicts(own)))
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


def _lessons_of(graded: Iterable[Graded]) -> list[Together]:
    lessons = []
    for notebook, group in groupby(graded, key=lambda row: row.notebook):
        own = list(group)
        lessons.append(Together(notebook or "No lesson", own, cells=[*map(verdict_cell, own)]))
    return lessons


def _put(known: Class, place: str, page: str) -> None:
    """Writes a page whole or not at all. It can be made again: it need not outlive a power cut."""
    known.store.write(f"{known.place}{FOLDER}/{place}", page, durable=False)
