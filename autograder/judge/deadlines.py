"""Until when a lesson may be handed in, who may do so later, and what lateness costs.

    [due]                                      in settings.toml, a lesson a line
    01_threads = 2026-10-05T23:59:00+02:00
    [extensions.vega]                          ... and what vega has instead, or "Doe, Jane"
    01_threads = 2026-10-12T23:59:00+02:00
    [late]
    percent_a_day = 10                         of the points, for each day begun; never below 0

A time without an offset from UTC is this machine's; where its clock is put back and shows it twice,
the later one. nbgrader's gradebook gets all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

#: The tables of settings.toml that are told here.
TABLES = ("due", "extensions", "late")
_PERCENT = "percent_a_day"


@dataclass(frozen=True)
class Deadlines:
    """What the settings say, in UTC. `percent_a_day` is None where they leave it to nbgrader."""

    due: Mapping[str, datetime] = field(default_factory=dict)
    extensions: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    percent_a_day: float | None = None


def deadlines(settings: Mapping[str, object], lessons: Iterator[str]) -> Deadlines:
    """What these settings say.

    Raises:
        ValueError: where that cannot be used, in a sentence without the file's name.
    """
    known = list(lessons)
    due = _times("[due]", settings.get("due", {}), known)
    extensions = {}
    for student, own in _table("[extensions]", settings.get("extensions", {})).items():
        for rest, value in own.items() if isinstance(own, Mapping) else ():
            if isinstance(value, Mapping):
                raise ValueError(
                    f"[extensions.{student}.{rest}]: a dot parts two names here; expected one name "
                    f'in quotation marks, [extensions."{student}.{rest}"]'
                )
        for lesson, until in _times(f"[extensions.{student}]", own, known).items():
            if lesson not in due:
                raise ValueError(
                    f"[extensions.{student}] has {lesson}, which [due] does not have: expected a "
                    "line there, too"
                )
            if until < due[lesson]:
                raise ValueError(
                    f"[extensions.{student}] ends {lesson} on {until:%Y-%m-%d %H:%M} UTC, and "
                    f"[due] on {due[lesson]:%Y-%m-%d %H:%M} UTC: an extension cannot be earlier"
                )
            extensions[student, lesson] = until
    late = _table("[late]", settings.get("late", {}))
    percent = late.get(_PERCENT)
    number = isinstance(percent, int | float) and not isinstance(percent, bool)
    if late.keys() - {_PERCENT} or (late and not (number and 0 <= float(str(percent)) <= 100)):
        raise ValueError(f"[late] should hold {_PERCENT} = a number from 0 to 100, got {late!r}")
    return Deadlines(due, extensions, float(str(percent)) if late else None)


def _table(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} should be a table, got {value!r}")
    return value


def _times(name: str, value: object, lessons: list[str]) -> dict[str, datetime]:
    found = {}
    for lesson, until in _table(name, value).items():
        if lesson not in lessons:
            known = ", ".join(lessons)
            raise ValueError(f"{name} names {lesson!r}, which is no lesson. There are: {known}")
        if not isinstance(until, datetime):
            raise ValueError(
                f"{name}: expected a day and a time for {lesson}, such as "
                f"2026-10-05T23:59:00+02:00 without quotation marks, got {until!r}"
            )
        try:
            found[lesson] = max(until.replace(fold=turn).astimezone(UTC) for turn in (0, 1))
        except (OverflowError, ValueError) as error:
            raise ValueError(
                f"{name}: expected a time in the years 1 to 9999 of UTC for {lesson}, got {until}"
            ) from error
    return found
