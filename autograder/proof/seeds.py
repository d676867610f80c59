"""`python -m autograder seeds`: whether a grade hangs on luck.

Every class draws held-out cases from a seed of its own. Under each of many seeds, on these cases
alone, a solution and every honest variant must earn all points, and every wrong kernel the verdict
that it was written for. `autograder check` asks the same of a few seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed

from autograder import Refused
from autograder.hidden import hidden_cases
from autograder.judge.judge import course_check
from autograder.lessons.catalogue import ROOT, lessons
from autograder.proof.processes import processes
from autograder.proof.trial import Entrant, entrants, hidden_inputs, mismatch
from autograder.proof.witness import solutions_of, witnesses_of
from course import exercises
from course.engine.faults import Outcome
from course.engine.runner import Engine
from course.spec.exercise import KernelExercise

SEEDS = 50
#: Seeds for which one process judges a cell, so that long exercises keep many processes busy.
_TOGETHER = 5
_COMPILED = (Outcome.TOO_MANY_RESOURCES, Outcome.DOES_NOT_COMPILE)


def cells_of(stem: str, name: str) -> list[Entrant]:
    """The solution and the witnesses of an exercise."""
    solution = solutions_of(stem)[name]
    return entrants(name, solution, "", witnesses_of(stem), ROOT)[1:]


def unlucky(stem: str, name: str, cell: Entrant, seeds: Sequence[str]) -> list[str]:
    """A sentence for each seed under which a cell gets another verdict than it should.

    Where the compiler alone gives it away (registers, shared memory, what does not assemble), it
    is asked, too.
    """
    exercise = exercises.lesson(stem)[name]
    found = []
    for seed in seeds:
        cases = hidden_cases(name, seed)
        inputs = hidden_inputs(name, seed)
        engine = Engine(compiles=cell.outcome in _COMPILED)
        verdict = course_check(exercise, cell.source, cases, inputs, engine)
        found += mismatch(exercise, cell, verdict, f"on the hidden cases of {seed!r}")
    return found


def every_seed(
    stems: Sequence[str], seeds: int, jobs: int | None, honest: bool
) -> Iterator[list[str]]:
    """What `unlucky` finds of each cell and some seeds, as they are done."""
    known = lessons()
    drawn = [f"seed {number}" for number in range(seeds)]
    with processes(jobs) as pool:
        yield from (
            future.result()
            for future in as_completed(
                pool.submit(unlucky, stem, exercise.name, cell, drawn[at : at + _TOGETHER])
                for stem in stems or known
                for exercise in known[stem]
                if isinstance(exercise, KernelExercise)
                for cell in cells_of(stem, exercise.name)
                if cell.is_honest or not honest
                for at in range(0, seeds, _TOGETHER)
            )
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what `python -m autograder seeds` understands."""
    parser.add_argument("lessons", nargs="*", metavar="STEM", help="lessons (default all)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many (default {SEEDS})")
    parser.add_argument("--jobs", type=int, help="processes (default one a core)")
    parser.add_argument(
        "--honest", action="store_true", help="solutions and honest variants, no wrong kernels"
    )


def main(args: argparse.Namespace) -> int:
    """Prints every sentence; 1 if there is one."""
    if unknown := [stem for stem in args.lessons if stem not in lessons()]:
        known = ", ".join(lessons())
        raise Refused(f"There is no lesson {unknown[0]!r}. There are: {known}.")
    tried = failed = 0
    for sentences in every_seed(args.lessons, args.seeds, args.jobs, args.honest):
        tried += 1
        failed += len(sentences)
        for sentence in sentences:
            print(f"✗ {sentence}", flush=True)
    print(f"{args.seeds} seeds, {tried} parts of {_TOGETHER}: {failed} unlike what they should be.")
    return int(failed > 0)
