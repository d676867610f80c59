"""`python -m autograder.proof.bench [LESSON...]`: what grading costs on this machine.

Each lesson's notebook is judged with its solutions in it, hidden cases included, as `grade` does
it with one job on one core, behind the best wall there is. `first` is the first notebook of a
process, with what is imported once; `another` is what each further one takes. nbgrader as it comes
executes the kernels of two lessons beside that, on Numba's simulator and on Triton's interpreter.
Then what a wall adds to a launch, and, where no lesson is named, classes on all cores.
`--into FILE` writes the figures into a file of `python -m tools.bench`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import nbformat

from autograder.grading.submissions import Submission
from autograder.judge.pool import Pool, Task
from autograder.lessons.build import instructor_notebook, read_lessons
from autograder.lessons.catalogue import ROOT
from autograder.lessons.source import Lesson
from autograder.proof import peer
from autograder.proof.class_sizes import Taken, grade
from autograder.sandbox import cost

SEED = b"bench"  # no owner's
#: The first lesson in Triton, whose kernels are compiled for three GPUs.
FIRST_TRITON = 6
MOST_NUMBA_S, MOST_TRITON_S = 10.0, 30.0
#: Lessons that nbgrader executes, too, and how many times faster than that judging shall be.
BESIDE_NBGRADER = {"01_threads": 50, "07_softmax": 5}
#: Lessons of a class of `STUDENTS`, and how many of its notebooks a minute are wanted of two cores.
CLASSES = {("01_threads", "03_shared_memory"): 250, ("06_hello_triton", "07_softmax"): 100}
STUDENTS = 30


@dataclass(frozen=True)
class Judging:
    """Seconds of judging one lesson's notebook, on the wall and of the processor."""

    lesson: str
    exercises: int
    first_s: float
    first_processor_s: float
    another_s: float
    another_processor_s: float
    target_s: float
    nbgrader_s: float | None = None

    @property
    def met(self) -> bool:
        return self.first_processor_s < self.target_s and self.is_faster

    @property
    def ratio(self) -> float | None:
        """How many times as long nbgrader takes for a notebook."""
        return None if self.nbgrader_s is None else self.nbgrader_s / self.another_s

    @property
    def is_faster(self) -> bool:
        """Whether that is as often as it shall be."""
        return self.ratio is None or self.ratio >= BESIDE_NBGRADER[self.lesson]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each lesson, then for each wall; 1 where a lesson is over its target."""
    parser = argparse.ArgumentParser(
        prog="python -m autograder.proof.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="01_threads; all unless told")
    parser.add_argument("--into", type=Path, metavar="FILE", help="docs/bench.json")
    args = parser.parse_args(arguments)
    lessons = [lesson for lesson in read_lessons(ROOT) if lesson.exercises]
    unknown = set(args.lessons) - {lesson.name for lesson in lessons}
    if unknown:
        names = ", ".join(lesson.name for lesson in lessons)
        parser.error(f"there is no lesson {sorted(unknown)[0]}; there are {names}")
    if args.into is not None and not args.into.is_file():
        parser.error(f"--into {args.into}: no such file; `python -m tools.bench --out` makes it")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    judged = []
    print("lesson                  exercises   first (processor)   another (processor)   target")
    for found in judging(
        [lesson for lesson in lessons if not args.lessons or lesson.name in args.lessons]
    ):
        judged.append(found)
        print(_line(found), flush=True)
    costs = []
    for one in cost.costs():
        costs.append(one)
        print(cost.line(one), flush=True)
    os.sched_setaffinity(0, cores)
    classes: list[tuple[Taken, int]] = []
    for wanted, target in [] if args.lessons else [*CLASSES.items()]:
        classes.append((grade([one for one in lessons if one.name in wanted], STUDENTS), target))
        print(_line_of_class(*classes[-1]), flush=True)
    if args.into is not None:
        figures = json.loads(args.into.read_text(encoding="utf-8"))
        figures["judging"] = [{**asdict(one), "ratio": one.ratio, "met": one.met} for one in judged]
        figures["classes"] = [
            {**asdict(one), "a_minute": one.a_minute, "target": target, "met": _met(one, target)}
            for one, target in classes
        ]
        figures["isolation"] = [{**asdict(one), "more_ms": one.more_ms} for one in costs]
        args.into.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if all(one.met for one in judged) and all(_met(*one) for one in classes) else 1


def _line(one: Judging) -> str:
    over = "" if one.first_processor_s < one.target_s else "  OVER"
    beside = ""
    if one.ratio is not None:
        wanted = BESIDE_NBGRADER[one.lesson]
        beside = f"   nbgrader {one.nbgrader_s:.1f} s: {one.ratio:.0f} times (wanted: {wanted})"
    return (
        f"{one.lesson:26} {one.exercises:6} {one.first_s:7.1f} s ({one.first_processor_s:5.1f} s)"
        f"   {one.another_s:7.1f} s ({one.another_processor_s:5.1f} s)   {one.target_s:4.0f} s"
        f"{over}{beside}"
    )


def _line_of_class(one: Taken, target: int) -> str:
    return (
        f"a class, {' and '.join(one.lessons)}: {one.notebooks} notebooks in {one.seconds:.1f} s on"
        f" {one.cores} cores, {one.a_minute:.0f} a minute (wanted on two: {target})"
    )


def _met(one: Taken, target: int) -> bool:
    return one.a_minute >= target


def judging(lessons: Sequence[Lesson]) -> Iterator[Judging]:
    """Judges each lesson's solutions, each lesson in processes of its own.

    Raises:
        ArithmeticError: where a solution does not pass.
    """
    for lesson in lessons:
        data = nbformat.writes(instructor_notebook(lesson)).encode()
        target = MOST_TRITON_S if int(lesson.name[:2]) >= FIRST_TRITON else MOST_NUMBA_S
        with Pool(SEED) as pool:
            first = _seconds(pool, lesson, data)
            another = _seconds(pool, lesson, data)
        beside = None
        if lesson.name in BESIDE_NBGRADER:
            beside = peer.seconds(lesson, SEED, 1)
        yield Judging(lesson.name, len(lesson.exercises), *first, *another, target, beside)


def _seconds(pool: Pool, lesson: Lesson, data: bytes) -> tuple[float, float]:
    """(seconds, seconds of the processor) for one notebook."""
    submission = Submission("bench", lesson.name, lesson.stem, Path(f"{lesson.name}.ipynb"), None)
    begun, worked = time.perf_counter(), cost.worked_seconds()
    task = Task(submission, data, [exercise.name for exercise in lesson.exercises])
    for answer in pool.run([task]):
        if answer.graded is None or answer.graded.points != answer.graded.max_points:
            raise ArithmeticError(
                f"a solution of {lesson.name} got {answer.graded or answer.fault}"
            )
    return time.perf_counter() - begun, cost.worked_seconds() - worked


if __name__ == "__main__":
    sys.exit(main())
