"""What a learner's loop carries from turn to turn: the running maximum, the running sum."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from course.check.bindings import loops_of
from course.check.reading import read_solution
from course.check.traced import short_place
from course.figures.running import running_picture
from course.figures.steps import Steps
from course.notebook.film import LONGEST_CODE
from course.notebook.launched import Launched, Numbers
from course.plain.text import code_at
from course.spec.exercise import KernelExercise
from course.words.verdict import Verdict

#: What one picture has room for.
MOST_VARIABLES, MOST_TURNS = 4, 12
#: Below so many turns there is nothing to run.
_FEWEST_TURNS = 2

Loop = ast.For | ast.While


def running(
    exercise: KernelExercise, verdict: Verdict, launches: Iterable[Launched]
) -> list[Steps]:
    """The numbers that a loop carries, on the first of some launches where it has several turns."""
    tree = read_solution(verdict.source, exercise).tree
    loops = loops_of(tree)
    for seen in launches if loops else ():
        if (found := _carried(seen.steps, loops)) is None:
            continue
        line, values = found
        shown = {name: row[: MOST_TURNS + 1] for name, row in [*values.items()][:MOST_VARIABLES]}
        code = code_at(verdict.source, line, LONGEST_CODE)
        block, thread = map(short_place, (seen.maker.block, seen.maker.thread))
        triton = exercise.dialect == "triton"
        whose = f"program {block}" if triton else f"thread {thread} of block {block}"
        picture = running_picture(f"line {line}  {code}", shown, whose)
        return [Steps(f"What the loop carries, on {seen.case.told}", [picture], "loop")]
    return []


def _carried(steps: Numbers, loops: Sequence[Loop]) -> tuple[int, dict[str, list[float]]] | None:
    """(line, variables before the first turn and after each) of the loop with most turns.

    A variable counts that is there before the loop, and differs from turn to turn.
    """
    visits = Counter(line for line, _ in steps)
    for line, count in visits.most_common():
        loop = min(
            (loop for loop in loops if loop.lineno <= line <= (loop.end_lineno or line)),
            key=lambda loop: (loop.end_lineno or 0) - loop.lineno,
            default=None,
        )
        if loop is None or count < _FEWEST_TURNS:
            continue
        rows = _rows(steps, line, loop)
        known = [name for name in rows[0] if all(name in row for row in rows)]
        moving = {name: [row[name] for row in rows] for name in known}
        kept = {name: row for name, row in moving.items() if len(set(map(str, row))) > 1}
        return (loop.lineno, kept) if kept else None
    return None


def _rows(steps: Numbers, line: int, loop: Loop) -> list[Mapping[str, float]]:
    at = [number for number, (where, _) in enumerate(steps) if where == line]
    rows = [steps[number][1] for number in at]
    if line == loop.lineno and isinstance(loop, ast.While):
        return rows  # its test is looked at once more when the last turn is over
    inside = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    behind = [values for where, values in steps[at[-1] :] if where not in inside]
    rows.append(behind[0] if behind else steps[-1][1])
    # Triton's front end comes to a `for` before the loop, and then before each turn
    return rows[1:] if line == loop.lineno else rows
