"""Cases of a numeric exercise whose answers are formulas: what each name is."""

from __future__ import annotations

from collections.abc import Mapping

from course.spec.exercise import Case, NumberExercise
from course.spec.formula import Number

Row = Mapping[str, Number]


def rows_of(exercise: NumberExercise, case: Case) -> list[dict[str, Number]]:
    """The names of a case: one dict for each row of the table that agrees with it.

    The table is the case's own, or else the exercise's; without one there is one row, the case.

    Raises:
        ValueError: where no row of the table agrees with the case.
    """
    chosen = {**case.sizes, **case.scalars}
    rows = [
        row
        for row in case.rows or exercise.table or ({},)
        if all(row[name] == value for name, value in chosen.items() if name in row)
    ]
    if not rows:
        raise ValueError(f"no row of {exercise.name}'s table has {case.told}")
    return [{**exercise.given, **row, **chosen} for row in rows]


def seen_by_learner(exercise: NumberExercise, row: Row) -> dict[str, Number]:
    """What the check puts in the place of the cell's own values."""
    return {name: row[name] for name in exercise.columns}


def told(exercise: NumberExercise, case: Case, row: Row) -> str:
    """Which row of a case it is, and what the names are there: `REPORT=3, WAVES=0.5, L2=12`.

    What the answers alone know is left out.
    """
    names = {*exercise.columns, *(exercise.table[0] if exercise.table else ())}
    chosen = {**case.sizes, **case.scalars}
    here = {name: value for name, value in chosen.items() if name in names}
    here |= seen_by_learner(exercise, row)
    return ", ".join(f"{name}={value}" for name, value in here.items())
