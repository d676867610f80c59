"""Every Triton solution asks of memory, and leaves in it, what the PTX made of it does."""

from typing import Any

import pytest
import torch

from autograder.lessons.catalogue import ROOT, lessons
from autograder.lessons.source import solved_cells
from course.check.cases import drawn_case, run_of
from course.engine.runner import run_case
from course.engine.triton import engine
from course.spec.exercise import KernelExercise
from course.tests.engine.simt.ptx import NotRun
from course.tests.engine.triton.ptx_run import TritonLaunch, differences, run_as_ptx

#: Those of one GPU's own instructions, which are not executed here, stay out.
SOLUTIONS = {
    exercise.name: (stem, exercise)
    for stem, exercises in lessons().items()
    for exercise in exercises
    if isinstance(exercise, KernelExercise) and exercise.dialect == "triton" and not exercise.target
}
NOT_RUN: dict[str, set[str]] = {}


@pytest.mark.slow
@pytest.mark.family
@pytest.mark.parametrize("name", SOLUTIONS)
def test_accesses_and_results_are_those_of_the_code_that_triton_makes(name, monkeypatch):
    stem, exercise = SOLUTIONS[name]
    monkeypatch.setattr(TritonLaunch, "most_steps", 60_000)
    monkeypatch.setattr(TritonLaunch, "lanes_may_part", True)
    real, compared, problems = engine.launch, [], []

    def launch(kernel: Any, args: Any, grid: Any, named: Any = None, **others: Any) -> Any:
        own = {key: _copied(value) for key, value in (named or {}).items()}
        copies = [_copied(value) for value in args]
        traffic = real(kernel, args, grid, named, **others)
        given = dict(zip(kernel.arg_names, args, strict=False)) | dict(named or {})
        sides = grid(given) if callable(grid) else grid
        try:
            asked = run_as_ptx(kernel, copies, [int(side) for side in sides], own)
        except NotRun as problem:
            problems.append(str(problem))
            return traffic
        compared.append(differences(traffic, *asked))
        after = dict(zip(kernel.arg_names, copies, strict=False)) | own
        for parameter, value in after.items():
            if isinstance(value, torch.Tensor):
                pair = (value.double(), given[parameter].double())
                torch.testing.assert_close(*pair, rtol=2e-2, atol=2e-2, equal_nan=True)
        return traffic

    monkeypatch.setattr(engine, "launch", launch)
    case = next(case for case in exercise.cases if case.traffic)
    source = solved_cells(ROOT, stem)[name]
    run_case(run_of(exercise, case, {}, source, drawn_case(exercise, case)))
    assert {problem.split(".")[0] for problem in problems} == NOT_RUN.get(name, set())
    assert compared or problems
    assert not any(compared), compared


def _copied(value: Any) -> Any:
    """A tensor with the memory of its own that it had, gaps too."""
    if not isinstance(value, torch.Tensor):
        return value
    memory = torch.empty(0, dtype=value.dtype).set_(value.untyped_storage().clone())
    return memory.as_strided(value.shape, value.stride(), value.storage_offset())
