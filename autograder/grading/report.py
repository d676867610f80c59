"""The class on one page: who has what, what stopped whom, and where the traffic went.

One file, with nothing fetched. Whatever a student wrote is escaped: by the template here, by
`course.words.panel` in the verdicts. Above the class stands what is common in it (`Overview`). A
class that is too large for a page has several (`autograder.grading.report_pages`).

The filter of students is the one script, `report_filter.js`: no style sheet can look for a part of
a name. The Content-Security-Policy names that script by its digest and allows no other, no handler
and no `eval`: text of a student's that came through unescaped would still run nothing. The script
reads two attributes and hides rows; it makes no markup. Pages with panels of large classes, and all
of students and exercises, have none.
"""

from __future__ import annotations

import base64
import hashlib
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.grading.insights import Insights
from autograder.grading.mistakes import Shown
from autograder.grading.names import slug
from autograder.judge.judge import RIGHT, Graded, course_version
from autograder.lessons.catalogue import lesson_exercises, stem_of_notebook
from course.engine.faults import Outcome
from course.plain.text import counted
from course.words.verdict import HEADLINES, ratio_text

#: The picture's axis, in times the budget. What lies beyond stands at its end.
_LOWEST, _HIGHEST = 0.25, 32.0
_TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: Dots that stand on each other before they overlap: a picture has to fit a screen.
_TALLEST = 40
_WIDTH, _LEFT, _RIGHT_EDGE, _STEP, _AXIS = 640, 24, 616, 9, 34


@dataclass(frozen=True)
class Cell:
    """One verdict of the class table."""

    graded: Graded
    symbol: str
    label: str
    kind: str
    anchor: str
    panel: Markup | None


@dataclass(frozen=True)
class Dot:
    """One student's requested bytes over the budget, and where the dot stands."""

    student: str
    ratio: float
    x: float
    y: float


@dataclass(frozen=True)
class ExerciseView:
    """One exercise over the class."""

    name: str
    counts: list[tuple[str, str, int]]
    dots: list[Dot]
    height: float
    words: str


@dataclass(frozen=True)
class Together:
    """Verdicts under one name: a student's, in a lesson or in all, or a lesson's of a student.

    Attributes:
        place: where they stand.
        cells: as they are shown, None for an exercise without one.
        verdicts: for the filter.
    """

    name: str
    rows: Sequence[Graded]
    place: str = ""
    cells: Sequence[Cell | None] = ()
    verdicts: str = ""

    @property
    def points(self) -> float:
        return math.fsum(row.points for row in self.rows)

    @property
    def max_points(self) -> float:
        return math.fsum(row.max_points for row in self.rows)


@dataclass(frozen=True)
class LessonView:
    """One lesson's table, pictures and sections."""

    name: str
    exercises: list[str]
    students: list[Together]
    views: list[ExerciseView]


@dataclass(frozen=True)
class Overview:
    """What is common in a class. `similar` is where similar answers are, "" where nowhere."""

    found: Insights
    mistakes: Sequence[Shown] = ()
    similar: str = ""


def environment() -> Environment:
    """Where the report's templates are, and what they may use."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["points"] = lambda value: f"{value:g}"
    made.filters["count"] = counted
    return made


def picture() -> dict[str, Any]:
    """What a template needs to draw where the traffic went, for all exercises alike."""
    ticks = [(_x(tick), ratio_text(tick)) for tick in _TICKS]
    return {"ticks": ticks, "budget_x": _x(1.0), "width": _WIDTH, "axis": _AXIS}


@cache
def script() -> tuple[Markup, str]:
    """(the filter, the digest by which a page's policy allows it)"""
    text = (Path(__file__).parent / "report_filter.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"sha256-{digest}"


class Filter:
    """What a page's filter goes by: numbers for the exercises and outcomes that there are."""

    def __init__(self, rows: Iterable[Graded]) -> None:
        there = dict.fromkeys((row.exercise, row.outcome) for row in rows)
        names = dict.fromkeys(exercise for exercise, _ in there)
        outcomes = {outcome for _, outcome in there}
        self._exercises = {name: number for number, name in enumerate(names)}
        self._outcomes = {o.value: number for number, o in enumerate(Outcome)}
        text, digest = script()
        #: for the template
        self.given: dict[str, Any] = {
            "script": text,
            "script_digest": digest,
            "all_exercises": [(number, name) for name, number in self._exercises.items()],
            "all_outcomes": [
                (self._outcomes[o.value], o.label) for o in Outcome if o.value in outcomes
            ],
        }

    def verdicts(self, rows: Iterable[Graded]) -> str:
        """A student's verdicts: ` 0.1 12.4 `, exercise and outcome of each."""
        pairs = (f"{self._exercises[r.exercise]}.{self._outcomes[r.outcome]}" for r in rows)
        return f" {' '.join(pairs)} "


def report_html(rows: Sequence[Graded], shown_seed: str, above: Overview) -> str:
    """The whole report on one page."""
    notebooks = sorted({row.notebook for row in rows})
    choice = Filter(rows)
    return (
        environment()
        .get_template("report.html")
        .render(
            lessons=[
                lesson_view(n, [r for r in rows if r.notebook == n], choice) for n in notebooks
            ],
            students=len({row.student for row in rows}),
            verdicts=len(rows),
            version=course_version()[:12],
            seed=shown_seed,
            above=above,
            link=lambda *whose: f"#{anchor(whose[1], whose[0], *filter(None, whose[2:]))}",
            **choice.given,
            **picture(),
        )
    )


def exercises_of(notebook: str, rows: Iterable[Graded]) -> list[str]:
    """A lesson's exercises in their order, and behind them what else `rows` has."""
    stem = stem_of_notebook(notebook)
    exercises = [exercise.name for exercise in lesson_exercises(stem)] if stem else []
    return exercises + sorted({row.exercise for row in rows} - set(exercises))


def lesson_view(notebook: str, rows: Sequence[Graded], choice: Filter) -> LessonView:
    """One lesson's verdicts, all of them of this notebook."""
    exercises = exercises_of(notebook, rows)
    students = []
    for name in sorted({row.student for row in rows}, key=str.casefold):
        own = {row.exercise: row for row in rows if row.student == name}
        cells = [verdict_cell(own[e]) if e in own else None for e in exercises]
        told = choice.verdicts(own.values())
        students.append(Together(name, [*own.values()], anchor(notebook, name), cells, told))
    views = [exercise_view(e, [row for row in rows if row.exercise == e]) for e in exercises]
    return LessonView(notebook or "No lesson", exercises, students, views)


def anchor(*parts: str) -> str:
    """Where something stands on a page."""
    return "-".join(slug(part or "none") for part in parts)


def verdict_cell(graded: Graded) -> Cell:
    """A verdict, with what a page shows of it."""
    outcome = Outcome(graded.outcome)
    kind = "pass" if outcome is Outcome.PASS else "cost" if outcome in RIGHT else "wrong"
    if outcome in (Outcome.NOT_ATTEMPTED, Outcome.NOT_MEASURED):
        kind = "none"
    place = anchor(graded.notebook, graded.student, graded.exercise)
    # `course.words.panel` escapes what a learner wrote; nothing else reaches a panel
    panel = Markup(graded.panel) if graded.panel else None
    return Cell(graded, HEADLINES[outcome][0], outcome.label, kind, place, panel)


def exercise_view(name: str, rows: Sequence[Graded]) -> ExerciseView:
    """One exercise's verdicts, counted, and its picture."""
    counted = Counter(row.outcome for row in rows)
    counts = [(HEADLINES[o][0], o.label, counted[o.value]) for o in Outcome if counted[o.value]]
    measured = sorted(_measured(rows))
    columns = [round(_x(ratio) / _STEP) for ratio, _ in measured]
    most = max(Counter(columns).values(), default=0)
    rise = _STEP * min(1.0, _TALLEST / max(most, 1))
    dots: list[Dot] = []
    stacks: Counter[int] = Counter()
    for (ratio, student), column in zip(measured, columns, strict=True):
        stacks[column] += 1
        dots.append(Dot(student, ratio, column * _STEP, round(stacks[column] * rise, 2)))
    tallest = max((dot.y for dot in dots), default=0)
    return ExerciseView(name, counts, dots, tallest + _STEP, _words(name, measured))


def _measured(rows: Iterable[Graded]) -> Iterator[tuple[float, str]]:
    for row in rows:
        if row.of_budget is not None and Outcome(row.outcome) in RIGHT:
            yield row.of_budget, row.student


def _words(name: str, measured: Sequence[tuple[float, str]]) -> str:
    """What the picture shows, for those who do not see it."""
    if not measured:
        return f"No kernel of {name} has been measured."
    ratios = [ratio for ratio, _ in measured]
    within = sum(ratio <= 1 for ratio in ratios)
    dearest = (
        f", the dearest ({measured[-1][1]}) for {ratios[-1]:.2f} times" if ratios[-1] > 1 else ""
    )
    return (
        f"{within} of {len(ratios)} right kernels ask for no more than the budget; the median asks "
        f"for {statistics.median(ratios):.2f} times the budget{dearest}."
    )


def _x(ratio: float) -> float:
    share = math.log2(min(max(ratio, _LOWEST), _HIGHEST) / _LOWEST) / math.log2(_HIGHEST / _LOWEST)
    return _LEFT + share * (_RIGHT_EDGE - _LEFT)
