"""What a learner has solved: kept in a file of theirs, shown lesson by lesson.

The file is ``gpu-kernel-course/progress.json`` among the user's own data (`XDG_DATA_HOME`, else
``~/.local/share``); `COURSE_PROGRESS` names another, and ``COURSE_PROGRESS=off`` keeps nothing.
Where it cannot be written, this process remembers, and nothing is said: a check has other things
to tell.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from html import escape
from pathlib import Path
from typing import Any

from course import exercises
from course.spec.exercise import Exercise
from course.words.panel import table_html
from course.words.verdict import Verdict

#: Best share of the points by exercise, and when that was reached.
Kept = dict[str, dict[str, Any]]
#: What no file holds: until the process ends, it counts as well.
_unwritten: Kept = {}


def file() -> Path | None:
    """Where progress is kept; None where it is not."""
    named = os.environ.get("COURSE_PROGRESS", "")
    if named == "off":
        return None
    if named:
        return Path(named)
    try:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:  # a user without a home
        return None
    return Path(data) / "gpu-kernel-course" / "progress.json"


def kept() -> Kept:
    """What is there; a file that cannot be read holds nothing."""
    return _written() | _unwritten


def _written() -> Kept:
    path = file()
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(name): {"credit": float(entry["credit"]), "on": str(entry["on"])}
            for name, entry in found.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def noted(exercise: Exercise, verdict: Verdict) -> Verdict:
    """The verdict, its points kept where they are the best so far; a pass says what is next."""
    found = kept()
    best = found.get(exercise.name, {}).get("credit", 0.0)
    if verdict.credit > best:
        day = datetime.now(UTC).date().isoformat()
        _keep(exercise.name, {"credit": verdict.credit, "on": day})
    if not verdict:
        return verdict
    if exercise.name not in exercises.all_exercises():  # an instructor's, tried before it is one
        return verdict
    return replace(verdict, next_steps=(*verdict.next_steps, _what_is_next(exercise)))


def _keep(name: str, entry: dict[str, Any]) -> None:
    path = file()
    try:
        if path is None:
            raise OSError
        part = path.with_name(f"{path.name}.{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = _written() | {name: entry}
        part.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError:
        _unwritten[name] = entry


def _what_is_next(exercise: Exercise) -> str:
    """The exercise behind this one, in its lesson or in the next."""
    order = [(stem, one) for stem in exercises.stems() for one in exercises.lesson(stem).values()]
    at = [one.name for _, one in order].index(exercise.name)
    if at + 1 == len(order):
        return "That was the last exercise. `course.progress()` shows what is still open."
    stem, following = order[at + 1]
    if stem == order[at][0]:
        return f"Next in this lesson: `ex.{following.name}` ({following.title})."
    first = f"It begins with `ex.{following.name}` ({following.title})."
    page = f"{exercises.notebook(stem)}.ipynb"
    return f"That was the lesson's last exercise. The next lesson: {page}. {first}"


class Progress:
    """Lessons, or the exercises of one: what is solved and what is next; as text or as a table."""

    def __init__(
        self,
        title: str,
        head: tuple[str, ...],
        rows: list[tuple[str, ...]],
        total: str,
        looks: dict[str, tuple[int, ...]],
    ) -> None:
        self.title, self.head, self.rows, self.total = title, head, rows, total
        self._looks = looks

    def __repr__(self) -> str:
        rows = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, self.total])

    def _repr_html_(self) -> str:
        table = table_html(self.title, self.head, self.rows, **self._looks)
        return f"{table}<p>{escape(self.total)}</p>"


def progress(lesson: str = "") -> Progress:
    """What you have solved so far, by lesson, and what is next.

    Args:
        lesson: its name, such as "threads" or "01_threads": its exercises, one by one.
    """
    entries = kept()
    return _of_lesson(stem_named(lesson), entries) if lesson else _of_all(entries)


def stem_named(lesson: str) -> str:
    """A lesson's stem, however it is written: `01_threads`, `Threads`.

    Raises:
        ValueError: where there is no such lesson.
    """
    stem = str(lesson).strip().lower().lstrip("0123456789_ ").replace(" ", "_")
    if stem not in exercises.stems():
        near = get_close_matches(stem, exercises.stems(), 1, 0.75)
        meant = f"Did you mean {near[0]!r}? " if near else ""
        there = ", ".join(exercises.stems())
        raise ValueError(f"There is no lesson named {str(lesson)!r}. {meant}There are: {there}.")
    return stem


def _credit(exercise: Exercise, entries: Kept) -> float:
    credit: float = entries.get(exercise.name, {}).get("credit", 0.0)
    return credit


def _of_all(entries: Kept) -> Progress:
    rows: list[tuple[str, ...]] = []
    points = of = 0.0
    for stem in exercises.stems():
        own = exercises.lesson(stem).values()
        solved = [one for one in own if _credit(one, entries) >= 1.0]
        still = [one for one in own if one not in solved and not one.bonus]
        got = sum(_credit(one, entries) * one.points for one in own)
        whole = sum(one.points for one in own if not one.bonus)
        points, of = points + got, of + whole
        following = f"ex.{still[0].name}, {still[0].minutes} min" if still else "done"
        counts = f"{len(solved)} of {len(own)}", f"{got:g} of {whole:g}"
        rows.append((exercises.notebook(stem), *counts, following))
    head = ("lesson", "exercises", "points", "next")
    looks = {"right": (1, 2), "code": (3,)}
    return Progress("Your progress", head, rows, f"{points:g} of {of:g} points", looks)


def _of_lesson(stem: str, entries: Kept) -> Progress:
    own = exercises.lesson(stem).values()
    rows: list[tuple[str, ...]] = []
    for one in own:
        credit = _credit(one, entries)
        kind = "bonus" if one.bonus else "★ core" if one.core else ""
        got = f"{credit * one.points:g} of {one.points}"
        mark = "✓" if credit >= 1.0 else "○"
        rows.append((f"{mark} {one.name}", one.title, f"{one.minutes} min", got, kind))
    still = [one for one in own if _credit(one, entries) < 1.0 and not one.bonus]
    following = f"Next: ex.{still[0].name}" if still else "All that count are solved."
    head = ("exercise", "title", "time", "points", "")
    return Progress(exercises.notebook(stem), head, rows, following, {"right": (2, 3)})
