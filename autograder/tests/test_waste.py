"""Waste is billed wherever an answer is judged: on every case, of every seed."""

from dataclasses import replace

import pytest

from autograder.hidden import hidden_cases
from autograder.judge.judge import course_check, judge_cell
from autograder.proof.exploit import FOLDER, Exploit, exploits
from autograder.proof.trial import hidden_inputs
from autograder.proof.witness import solutions_of
from course import exercises
from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.job import Ran, Run
from course.engine.runner import Engine
from course.engine.traffic import Site
from course.spec.case_size import case_size
from course.spec.exercise import Case, KernelExercise

WASTERS = [
    one
    for folder in (FOLDER, FOLDER / "triton")
    for one in exploits(folder)
    if one.name.startswith("waste_off_the_sizes")
]
FEW_SEEDS, ALL_SEEDS = range(2), range(50)
QUICK = ("threads", "hello_triton")  # of each dialect one: the others are slow, below
#: So many times what the solution asks for, and so many sectors more, on one case alone.
TIMES, MORE = 4, 32
#: Where a tile's places past the end may be wrapped round, a whole tile is no waste; nor is what a
#: program on each SM reads of where its experts' rows begin.
MORE_THAN_A_TILE = {"fusion": 256, "serving": 1024}


def judged_by(one: Exploit, seeds: range) -> set[tuple[Outcome, float]]:
    [name] = one.expect
    known = {n: e for stem in exercises.stems() for n, e in exercises.lesson(stem).items()}
    verdicts = (judge_cell(known[name], one.cell or "", f"seed {s}", course_check) for s in seeds)
    return {(verdict.outcome, verdict.credit) for verdict in verdicts}


@pytest.mark.parametrize("one", WASTERS, ids=lambda one: one.name)
@pytest.mark.family
def test_waste_off_the_graded_sizes_is_billed(one: Exploit) -> None:
    [name] = one.expect
    assert judged_by(one, FEW_SEEDS) == {(one.expected(name), 0.6)}


@pytest.mark.slow
@pytest.mark.family
@pytest.mark.parametrize("one", WASTERS, ids=lambda one: one.name)
def test_waste_off_the_graded_sizes_is_billed_whatever_the_seed(one: Exploit) -> None:
    [name] = one.expect
    assert judged_by(one, ALL_SEEDS) == {(one.expected(name), 0.6)}


def kernels_of(stem: str) -> list[KernelExercise]:
    return [e for e in exercises.lesson(stem).values() if isinstance(e, KernelExercise)]


class Wasteful:
    """What the engine answered, with waste in the launch of one case."""

    def __init__(self, answers: list[Ran], wasted: int, more: int) -> None:
        self._answers = iter(enumerate(answers))
        self._wasted, self._more = wasted, more

    def __call__(self, run: Run) -> Ran:
        number, ran = next(self._answers)
        if number != self._wasted:
            return ran
        sites = ran.traffic.sites
        extra = sum(site.sectors for site in sites) * (TIMES - 1) + self._more
        ideal = sites[0].ideal_sectors
        more: Site = replace(
            sites[0],
            sectors=sites[0].sectors + extra,
            ideal_sectors=None if ideal is None else ideal + extra,
        )
        return replace(ran, traffic=replace(ran.traffic, sites=[more, *sites[1:]]))


def wasted_everywhere(
    exercise: KernelExercise, source: str, cases: list[Case], seed: int, more: int
) -> None:
    engine, answers = Engine(compiles=False), []

    def kept(run: Run) -> Ran:
        answers.append(engine(run))
        return answers[-1]

    assert check_source(exercise, source, cases, seed, kept).outcome is Outcome.PASS
    ordered = sorted(cases, key=lambda case: case_size(exercise, case))
    for number, case in enumerate(ordered):
        verdict = check_source(exercise, source, cases, seed, Wasteful(answers, number, more))
        assert verdict.outcome is Outcome.TOO_MUCH_TRAFFIC, (exercise.name, case.told)
        assert verdict.case_number == number + 1


def each_case_is_billed(stem: str, seeds: range) -> None:
    solutions = solutions_of(stem)
    for exercise in kernels_of(stem):
        if exercise.budget is None:
            continue
        for seed in seeds:
            cases = [*exercise.cases, *hidden_cases(exercise.name, f"seed {seed}")]
            inputs = hidden_inputs(exercise.name, f"seed {seed}")
            more = MORE_THAN_A_TILE.get(stem, MORE)
            wasted_everywhere(exercise, solutions[exercise.name], cases, inputs, more)


@pytest.mark.parametrize("stem", QUICK)
def test_waste_on_any_one_case_is_billed(stem: str) -> None:
    each_case_is_billed(stem, range(1))


@pytest.mark.slow
@pytest.mark.family
@pytest.mark.parametrize("stem", exercises.stems())
def test_waste_on_any_one_case_of_any_lesson_is_billed(stem: str) -> None:
    each_case_is_billed(stem, FEW_SEEDS)
