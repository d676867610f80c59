"""What an instructor looks for in a class: where it is stuck, how points lie, what is unusual.

Counts over verdicts, made in one pass and without their panels. Nothing here is a judgement of a
person: what is unusual is named so that somebody looks at it.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.judge.judge import Graded
from autograder.judge.sentences import JUDGED_AGAIN
from course.engine.faults import Outcome
from course.words.verdict import headline_of

#: Bars of a lesson's histogram: shares of its points.
BARS = 10
#: Rows of a list, and how many times the median a slow notebook takes, and the fewest seconds.
MOST_LISTED, SLOW, SLOW_SECONDS = 20, 5.0, 2.0
#: What a kernel has no use for, whoever wrote it: names that lead out of a cell.
_LEADS_OUT = re.compile(
    r"`[^`]*(?:__\w+__|\b(?:os|sys|subprocess|socket|ctypes|importlib|builtins|inspect|gc|pickle"
    r"|eval|exec|compile|open|getattr|setattr|globals|locals|vars)\b)[^`]*`"
)
#: Of a launch or a file that did what no honest one does.
_UNUSUAL = {"runner_garbage", "runner_died", "verdict_too_large", "too_heavy_to_read", "link"}


@dataclass
class Exercise:
    """One exercise over the class.

    Attributes:
        attempts: notebooks in which it was handed in, of all students together.
        short: students without its full points, of `students`.
    """

    notebook: str
    name: str
    students: int = 0
    short: int = 0
    attempts: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Of the students who have a verdict, those without full points."""
        return self.short / self.students if self.students else 0.0

    @property
    def attempts_each(self) -> float:
        return self.attempts / self.students if self.students else 0.0

    @property
    def commonest(self) -> tuple[str, int]:
        """(what most of those without full points were told, how many)"""
        if not self.outcomes:
            return "", 0
        [((outcome, message_id), count)] = self.outcomes.most_common(1)
        return headline_of(Outcome(outcome), message_id), count


@dataclass(frozen=True)
class Points:
    """How a lesson's points lie: students by tenth of what it is worth; the last has full ones."""

    notebook: str
    students: int
    bars: Sequence[int]
    median: float
    worth: float


@dataclass(frozen=True)
class Unusual:
    """A verdict or a notebook to look at, and why."""

    student: str
    notebook: str
    exercise: str
    why: str


@dataclass(frozen=True)
class Insights:
    """All of it. `slow` are the slowest notebooks, `to_look_at` what no kernel needs."""

    stuck: Sequence[Exercise]
    points: Sequence[Points]
    slow: Sequence[Unusual]
    to_look_at: Sequence[Unusual]


def insights(rows: Iterable[Graded], attempts: Mapping[tuple[str, str], int]) -> Insights:
    """What `rows`, a class's verdicts that hold, come to.

    Args:
        attempts: by notebook and exercise, how many different notebooks have had a verdict on it.
    """
    exercises: dict[tuple[str, str], Exercise] = {}
    earned: dict[str, dict[str, float]] = {}
    worth: dict[str, dict[str, float]] = {}
    seconds: dict[tuple[str, str], float] = {}
    odd: list[Unusual] = []
    for row in rows:
        if not row.exercise:
            continue
        place = row.notebook, row.exercise
        one = exercises.setdefault(place, Exercise(*place, attempts=attempts.get(place, 0)))
        one.students += 1
        if row.points < row.max_points:
            one.short += 1
            one.outcomes[row.outcome, row.message_id] += 1
        own = earned.setdefault(row.notebook, {})
        own[row.student] = own.get(row.student, 0.0) + row.points
        worth.setdefault(row.notebook, {})[row.exercise] = row.max_points
        work = row.student, row.notebook
        seconds[work] = seconds.get(work, 0.0) + row.seconds
        if row.message_id in _UNUSUAL or _leads_out(row):
            odd.append(Unusual(row.student, *place, row.message))
    sums = {notebook: math.fsum(each.values()) for notebook, each in worth.items()}
    stuck = sorted(exercises.values(), key=lambda one: (-one.share, -one.short, one.name))
    return Insights(
        [one for one in stuck if one.short],
        [_points(notebook, own, sums[notebook]) for notebook, own in sorted(earned.items())],
        _slow(seconds),
        odd,
    )


def _leads_out(row: Graded) -> bool:
    rejected = row.outcome == Outcome.REJECTED.value and row.message_id not in JUDGED_AGAIN
    return rejected and bool(_LEADS_OUT.search(row.message))


def _points(notebook: str, own: Mapping[str, float], worth: float) -> Points:
    bars = [0] * (BARS + 1)
    for points in own.values():
        share = points / worth if worth else 0.0
        bars[min(int(share * BARS + 1e-9), BARS)] += 1
    return Points(notebook, len(own), bars, statistics.median(own.values()), worth)


def _slow(seconds: Mapping[tuple[str, str], float]) -> list[Unusual]:
    """Notebooks whose judging took many times what their lesson's usually takes."""
    by_lesson: dict[str, list[float]] = {}
    for (_, notebook), taken in seconds.items():
        by_lesson.setdefault(notebook, []).append(taken)
    usual = {notebook: statistics.median(each) for notebook, each in by_lesson.items()}
    slow = [
        (taken, student, notebook)
        for (student, notebook), taken in seconds.items()
        if taken > max(SLOW * usual[notebook], SLOW_SECONDS)
    ]
    return [
        Unusual(student, notebook, "", f"{taken:.0f} s; the median is {usual[notebook]:.1f} s")
        for taken, student, notebook in sorted(slow, reverse=True)[:MOST_LISTED]
    ]
