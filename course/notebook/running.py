"""What a learner's loop carries from turn to turn: the running maximum, the running sum."""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from course.check.cases import VISIBLE_SEED, case_seed, run_of
from course.check.reading import chosen, read_solution
from course.engine.faults import KernelFault
from course.engine.job import Run
from course.figures.running import running_picture
from course.figures.steps import Steps
from course.notebook.film import LONGEST_CODE
from course.plain.text import lines_of
from course.spec.exercise import Case, KernelExercise
from course.spec.inputs import drawn
from course.words.verdict import Verdict

#: What one picture has room for.
MOST_VARIABLES, MOST_TURNS = 4, 12
#: Below so many turns there is nothing to run.
_FEWEST_TURNS = 2

Loop = ast.For | ast.While


class _Followed:
    """The numbers of one thread, or of one program, at each statement."""

    def __init__(self) -> None:
        #: (line, variables), in order
        self.steps: list[tuple[int, dict[str, float]]] = []

    def thread(self, lanes: Any, line: int) -> None:
        """Thread 0 of block 0 comes to a line."""
        if lanes.first or not lanes.spread(lanes.full(lanes.mask))[0, 0]:
            return
        values = {}
        for name, value in lanes.vars.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and "%" not in name:
                values[name] = float(lanes.spread(value)[0, 0])
        self.steps.append((line, values))

    def program(self, run: Any, operation: Any, values: list[Any]) -> None:
        """Program 0 comes to a line; of a block its first number counts."""
        from course.engine.triton.compiling.steps import step_of

        if run.programs[0]:
            return
        step, found = step_of(operation), {}
        if len(step.frame) > 1:  # a function that the kernel calls
            return
        for name, shape in step.variables.items():
            if not isinstance(shape, int):
                continue
            type_ = operation.operand_types[shape]
            whole = values[shape].whole()
            if whole.dtype.kind == "f" and not type_.pointers and len(values[shape].shape) < 2:
                found[name] = float(whole.reshape(len(whole), -1)[0, 0])
        self.steps.append((run.line, found))

    def carried(self, loops: Sequence[Loop]) -> tuple[int, dict[str, list[float]]] | None:
        """(line, variables before the first turn and after each) of the loop with most turns.

        A variable counts that is there before the loop, and differs from turn to turn.
        """
        visits = Counter(line for line, _ in self.steps)
        for line, count in visits.most_common():
            loop = min(
                (loop for loop in loops if loop.lineno <= line <= (loop.end_lineno or line)),
                key=lambda loop: (loop.end_lineno or 0) - loop.lineno,
                default=None,
            )
            if loop is None or count < _FEWEST_TURNS:
                continue
            rows = self._rows(line, loop)
            known = [name for name in rows[0] if all(name in row for row in rows)]
            moving = {name: [row[name] for row in rows] for name in known}
            kept = {name: row for name, row in moving.items() if len(set(map(str, row))) > 1}
            return (loop.lineno, kept) if kept else None
        return None

    def _rows(self, line: int, loop: Loop) -> list[dict[str, float]]:
        at = [number for number, (where, _) in enumerate(self.steps) if where == line]
        rows = [self.steps[number][1] for number in at]
        if line == loop.lineno and isinstance(loop, ast.While):
            return rows  # its test is looked at once more when the last turn is over
        inside = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
        behind = [values for where, values in self.steps[at[-1] :] if where not in inside]
        rows.append(behind[0] if behind else self.steps[-1][1])
        # Triton's front end comes to a `for` before the loop, and then before each turn
        return rows[1:] if line == loop.lineno else rows


def running(exercise: KernelExercise, verdict: Verdict, cases: Sequence[Case]) -> list[Steps]:
    """The numbers that a loop carries, on the first of some cases on which it has several turns."""
    cell = read_solution(verdict.source, exercise)
    loops = [node for node in ast.walk(cell.tree) if isinstance(node, ast.For | ast.While)]
    for case in cases if loops else ():
        constants = chosen(cell, exercise)
        rng = np.random.default_rng(case_seed(exercise, case, VISIBLE_SEED))
        arguments = drawn(exercise, case, rng, constants)
        followed = _Followed()
        with contextlib.suppress(KernelFault):  # the verdict tells of it
            _follow(run_of(exercise, case, constants, verdict.source, arguments), followed)
        if (found := followed.carried(loops)) is None:
            continue
        line, values = found
        shown = {name: row[: MOST_TURNS + 1] for name, row in [*values.items()][:MOST_VARIABLES]}
        code = lines_of(verdict.source)[line - 1].partition("#")[0].strip()[:LONGEST_CODE]
        whose = "program 0" if exercise.dialect == "triton" else "thread 0 of block 0"
        picture = running_picture(f"line {line}  {code}", shown, whose)
        return [Steps(f"What the loop carries, on {case.told}", [picture], "loop")]
    return []


def _follow(run: Run, followed: _Followed) -> None:
    if run.dialect == "triton":
        from course.engine.triton.engine import TritonEngine

        TritonEngine(compiles=False, watch=followed.program)(run)
        return
    from course.engine.cell.numba import read_cell
    from course.engine.simt.launch import launch

    launch(
        read_cell(run.source).kernels[run.kernel],
        list(run.arguments.values()),
        run.grid,
        run.block,
        run.shared_bytes,
        run.step_limit,
        printing=False,
        watch=followed.thread,
    )
