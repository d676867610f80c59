"""How long a learner waits for a panel with its pictures, and how large it is.

`python -m tools.bench.pictures` prints a line of JSON for each exercise: of its solution, what
`ex.NAME.show` takes; of the first of its wrong kernels that is drawn, what `ex.NAME.check` takes.
`first_s` is for a kernel that Triton's compiler sees for the first time in this process.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from course import exercises
from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.triton.compiling.available import has_triton
from course.notebook.film import FAULTS
from course.notebook.seen import with_all, with_worst
from course.spec.exercise import KernelExercise
from course.words.verdict import Verdict
from tools.bench.checks import ROOT

DRAWN = (*FAULTS, Outcome.WRONG_ANSWER, Outcome.TOO_MUCH_TRAFFIC, Outcome.BANK_CONFLICTS)
Drawn = Callable[[KernelExercise, Verdict], Verdict]


def timed(exercise: KernelExercise, source: str, drawn: Drawn) -> tuple[float, float, int]:
    """(seconds from the cell to its panel, the first time and once more, its characters)."""

    def panel() -> tuple[float, int]:
        start = time.perf_counter()
        page = drawn(exercise, check_source(exercise, source))._repr_html_()
        return round(time.perf_counter() - start, 3), len(page)

    first, _ = panel()
    return first, *panel()


def main() -> None:
    """Prints what was timed."""
    # behind the course: a grader that comes first leaves a learner's notebook out
    from autograder.lessons.build import read_lessons
    from autograder.proof.witness import witnesses_of

    for lesson in read_lessons(ROOT):
        wrong = {}
        for stem in exercises.stems():
            if stem == lesson.name.partition("_")[2]:
                wrong = {w.exercise: w for w in witnesses_of(stem)[::-1] if w.outcome in DRAWN}
        for exercise in lesson.exercises:
            if not isinstance(exercise, KernelExercise):
                continue
            if exercise.dialect == "triton" and not has_triton():
                continue
            shown = timed(exercise, lesson.solutions[exercise.name], with_all)
            told = {"exercise": exercise.name, "show_s": shown[1], "show_characters": shown[2]}
            if (witness := wrong.get(exercise.name)) is not None:
                check = timed(exercise, witness.source, with_worst)
                first, again, characters = check
                told |= {"mistake": witness.name, "first_s": first, "check_s": again}
                told |= {"characters": characters}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
