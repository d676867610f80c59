"""The class on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.judge.judge import Graded
from course.engine.faults import Outcome
from course.words.verdict import HEADLINES, bytes_text, of_budget_text

#: More verdicts than this are a row a student; the report has a place for each.
MOST_ROWS = 60
#: Exercises that a row names of one outcome.
_NAMES = 4
_COLUMNS = ("student", "exercise", "verdict", "points", "requested", "of budget", "what happened")
_FIRST_NUMBER = 3
_FIRST_TO_SPARE = 4  # on a narrow terminal, from the right
_FILE_WIDTH = 140  # where nobody knows how wide it will be shown
_COLUMN_GAP = 3  # a line and a blank on either side
_SHORTEST_MESSAGE = 16
_COLORS = {"✓": "green", "✗": "red", "○": "dim", "!": "yellow"}


def show(rows: Sequence[Graded], console: Console | None = None) -> None:
    """A table a lesson: a row an exercise of each student, or a row a student if there are many."""
    if console is None:
        console = Console() if sys.stdout.isatty() else Console(width=_FILE_WIDTH)
    ordered = sorted(rows, key=lambda row: (row.notebook, row.student.casefold()))
    for notebook, group in groupby(ordered, key=lambda row: row.notebook):
        lesson = list(group)
        table = _exercises(lesson, console.width) if len(rows) <= MOST_ROWS else _students(lesson)
        table.title = plain(notebook or "no lesson")
        table.title_justify = "left"
        console.print(table)


def plain(text: str) -> str:
    """Text that cannot steer a terminal."""
    return "".join(c if c.isprintable() or c == " " else "\N{REPLACEMENT CHARACTER}" for c in text)


def outcome_text(outcome: str) -> Text:
    """The verdict's symbol and name; the colour repeats what they say."""
    symbol = HEADLINES[Outcome(outcome)][0]
    return Text(f"{symbol} {outcome}", style=_COLORS[symbol])


def _exercises(rows: Sequence[Graded], width: int) -> Table:
    cells: list[list[Text]] = []
    starts: list[bool] = []
    for student, group in groupby(rows, key=lambda row: row.student):
        for number, row in enumerate(group):
            requested = "" if row.requested_bytes is None else bytes_text(row.requested_bytes)
            starts.append(number == 0)
            cells.append(
                [
                    Text(plain(student) if number == 0 else ""),
                    Text(row.exercise or "(the notebook)"),
                    outcome_text(row.outcome),
                    Text(f"{row.points:g} / {row.max_points:g}"),
                    Text(requested),
                    Text("" if row.of_budget is None else of_budget_text(row.of_budget)),
                    Text("" if row.outcome == Outcome.PASS.value else plain(row.message)),
                ]
            )
    table = Table(pad_edge=False)
    for column, name in enumerate(_COLUMNS[:-1]):
        longest = max(len(name), *(line[column].cell_len for line in cells))
        if width < longest and column >= _FIRST_TO_SPARE:
            break
        width -= longest + _COLUMN_GAP
        justify: Literal["left", "right"] = "left" if column < _FIRST_NUMBER else "right"
        table.add_column(name, justify=justify, no_wrap=True, min_width=longest)
    room = width - _COLUMN_GAP
    if room >= _SHORTEST_MESSAGE:
        table.add_column(_COLUMNS[-1], no_wrap=True, overflow="ellipsis", max_width=room)
    for start, line in zip(starts, cells, strict=True):
        if start:
            table.add_section()
        table.add_row(*line[: len(table.columns)])
    return table


def _students(rows: Sequence[Graded]) -> Table:
    table = Table(pad_edge=False)
    table.add_column("student", no_wrap=True)
    table.add_column("points", justify="right", no_wrap=True)
    table.add_column("verdicts")
    for student, group in groupby(rows, key=lambda row: row.student):
        own = list(group)
        points = f"{sum(r.points for r in own):g} / {sum(r.max_points for r in own):g}"
        table.add_row(Text(plain(student)), points, _summary(own))
    return table


def _summary(rows: Sequence[Graded]) -> Text:
    """`9 ✓ PASS   ✗ RACE dot, block_sum`; where one thing happened to all, what it was."""
    if len({row.message for row in rows}) == 1 and rows[0].outcome != Outcome.PASS.value:
        return Text.assemble(outcome_text(rows[0].outcome), " ", plain(rows[0].message))
    by_outcome: dict[str, list[str]] = {}
    for row in rows:
        by_outcome.setdefault(row.outcome, []).append(row.exercise)
    passed = by_outcome.pop(Outcome.PASS.value, [])
    parts = [Text.assemble(f"{len(passed)} ", outcome_text(Outcome.PASS.value))] if passed else []
    for outcome in sorted(by_outcome, key=lambda name: -len(by_outcome[name])):
        names = by_outcome[outcome]
        more = f" and {len(names) - _NAMES}" if len(names) > _NAMES else ""
        listed = ", ".join(names[:_NAMES])
        parts.append(Text.assemble(outcome_text(outcome), f" {listed}{more}"))
    return Text("   ").join(parts)
