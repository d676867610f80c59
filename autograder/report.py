"""The class on one page: who has what, what stopped whom, and where the traffic went.

One file, without scripts and without anything fetched. Whatever a student wrote is escaped: by
the template here, by `course.panel` in the verdicts.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.judge import RIGHT, Graded, course_version
from autograder.lessons import lesson_exercises, stem_of_notebook
from autograder.store import slug
from course.faults import Outcome
from course.verdict import HEADLINES, ratio_text

#: Above this many verdicts, those of passed exercises stand without their panel.
MOST_PANELS = 1500
#: The picture's axis, in times the budget. What lies beyond stands at its end.
_LOWEST, _HIGHEST = 0.25, 32.0
_TICKS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
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
class StudentView:
    """One student's row and section. `cells` has an entry an exercise, None where no verdict."""

    name: str
    anchor: str
    cells: list[Cell | None]
    points: float
    max_points: float


@dataclass(frozen=True)
class LessonView:
    """One lesson's table, pictures and sections."""

    name: str
    exercises: list[str]
    students: list[StudentView]
    views: list[ExerciseView]


def report_html(rows: Sequence[Graded], shown_seed: str) -> str:
    """The whole report."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["points"] = lambda value: f"{value:g}"
    environment.filters["count"] = lambda n, word: f"{n} {word}" if n == 1 else f"{n} {word}s"
    notebooks = sorted({row.notebook for row in rows})
    lessons = [_lesson(n, [r for r in rows if r.notebook == n], len(rows)) for n in notebooks]
    ticks = [(_x(tick), ratio_text(tick)) for tick in _TICKS]
    return environment.get_template("report.html").render(
        lessons=lessons,
        students=len({row.student for row in rows}),
        verdicts=len(rows),
        version=course_version()[:12],
        seed=shown_seed,
        ticks=ticks,
        budget_x=_x(1.0),
        width=_WIDTH,
        axis=_AXIS,
    )


def _lesson(notebook: str, rows: Sequence[Graded], verdicts: int) -> LessonView:
    stem = stem_of_notebook(notebook)
    exercises = [exercise.name for exercise in lesson_exercises(stem)] if stem else []
    exercises += sorted({row.exercise for row in rows} - set(exercises))
    students = []
    for name in sorted({row.student for row in rows}, key=str.casefold):
        own = {row.exercise: row for row in rows if row.student == name}
        students.append(
            StudentView(
                name,
                _anchor(notebook, name),
                [_cell(own[e], verdicts) if e in own else None for e in exercises],
                math.fsum(row.points for row in own.values()),
                math.fsum(row.max_points for row in own.values()),
            )
        )
    views = [_exercise(e, [row for row in rows if row.exercise == e]) for e in exercises]
    return LessonView(notebook or "No lesson", exercises, students, views)


def _anchor(*parts: str) -> str:
    return "-".join(slug(part or "none") for part in parts)


def _cell(graded: Graded, verdicts: int) -> Cell:
    outcome = Outcome(graded.outcome)
    kind = "pass" if outcome is Outcome.PASS else "cost" if outcome in RIGHT else "wrong"
    if outcome in (Outcome.NOT_ATTEMPTED, Outcome.NOT_MEASURED):
        kind = "none"
    shown = verdicts <= MOST_PANELS or outcome is not Outcome.PASS
    anchor = _anchor(graded.notebook, graded.student, graded.exercise)
    # `course.panel` escapes what a learner wrote; nothing else reaches a panel
    panel = Markup(graded.panel) if shown and graded.panel else None
    return Cell(graded, HEADLINES[outcome][0], outcome.label, kind, anchor, panel)


def _exercise(name: str, rows: Sequence[Graded]) -> ExerciseView:
    counted = Counter(row.outcome for row in rows)
    counts = [(HEADLINES[o][0], o.label, counted[o.value]) for o in Outcome if counted[o.value]]
    measured = sorted(_measured(rows))
    dots: list[Dot] = []
    stacks: Counter[int] = Counter()
    for ratio, student in measured:
        x = _x(ratio)
        stacks[round(x / _STEP)] += 1
        dots.append(Dot(student, ratio, round(x / _STEP) * _STEP, stacks[round(x / _STEP)] * _STEP))
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
