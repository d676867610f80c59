"""How long a learner waits for a check, and a grader for the hidden cases.

`python -m tools.bench.checks` prints a line of JSON for each exercise that has a lesson
solution; with an exercise's name it times the first check of a fresh process, on the solution
that it is given as standard input.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from course import exercises
from course.check.answers import check_number_source
from course.check.cases import VISIBLE_SEED
from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.triton.compiling.available import has_triton
from course.spec.exercise import Case, Exercise, KernelExercise

ROOT = Path(__file__).resolve().parents[2]
HIDDEN_SEED = "bench"  # no owner's


@dataclass(frozen=True)
class CheckTimes:
    """One exercise's solution: seconds of the visible cases, and of all hidden ones.

    The processor's seconds are what it would take on a machine without other work. Of a Triton
    exercise, what the first check takes more than the second is told apart: `compile_s` is the
    compiler's, of the visible cases and of the hidden ones together.
    """

    lesson: str
    exercise: str
    check_s: float
    check_processor_s: float
    hidden_s: float | None
    hidden_processor_s: float | None
    compile_s: float | None = None


def seconds_of(
    exercise: Exercise,
    source: str,
    cases: Sequence[Case] | None = None,
    clocks: tuple[Callable[[], float], ...] = (time.perf_counter, time.process_time),
) -> tuple[float, ...]:
    """Seconds of one check of a solution, by each clock: that on the wall, and the processor's.

    Raises:
        ArithmeticError: where the solution does not pass.
    """
    start = [clock() for clock in clocks]
    if isinstance(exercise, KernelExercise):
        verdict = check_source(exercise, source, cases, VISIBLE_SEED)
    else:
        verdict = check_number_source(exercise, source)  # type: ignore[arg-type]  # the other kind
    seconds = tuple(clock() - then for clock, then in zip(clocks, start, strict=True))
    if verdict.outcome is not Outcome.PASS:
        raise ArithmeticError(f"the solution of {exercise.name} got {verdict.outcome.name}")
    return seconds


def every_check(root: Path = ROOT) -> Iterator[CheckTimes]:
    """Times each exercise's solution, lesson by lesson."""
    from autograder.hidden import hidden_cases
    from autograder.lessons.build import read_lessons

    for lesson in read_lessons(root):
        for exercise in lesson.exercises:
            source = lesson.solutions[exercise.name]
            cases = hidden_cases(exercise.name, HIDDEN_SEED)
            triton = isinstance(exercise, KernelExercise) and exercise.dialect == "triton"
            if triton and not has_triton():
                continue
            first = 0.0
            if triton:
                first = seconds_of(exercise, source)[0]
                first += seconds_of(exercise, source, cases)[0] if cases else 0.0
            check = seconds_of(exercise, source)
            hidden_s, hidden_cpu = seconds_of(exercise, source, cases) if cases else (None, None)
            compiling = max(0.0, first - check[0] - (hidden_s or 0.0)) if triton else None
            yield CheckTimes(
                lesson.name, exercise.name, check[0], check[1], hidden_s, hidden_cpu, compiling
            )


def solution_of(name: str, root: Path = ROOT) -> str:
    """The solution cell of an exercise."""
    from autograder.lessons.build import read_lessons

    return next(
        lesson.solutions[name]
        for lesson in read_lessons(root)
        if any(exercise.name == name for exercise in lesson.exercises)
    )


def main(names: Sequence[str]) -> None:
    """Prints what was timed, a line of JSON each."""
    if names:
        seconds, _ = seconds_of(exercises.all_exercises()[names[0]], sys.stdin.read())
        print(json.dumps({"seconds": seconds}))
        return
    for times in every_check():
        print(json.dumps(asdict(times)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
