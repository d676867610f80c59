"""nbgrader as it comes, beside `grade`: the same kernels on the same cases, which it executes.

The test cells of its notebooks launch a solution on every visible and held-out case, on Numba's
simulator or on Triton's interpreter, and compare what it leaves with what our engine's launch left:
no wall, no counts, nothing else looked at.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat

from autograder.hidden import hidden_cases
from autograder.lessons.build import instructor_notebook
from autograder.lessons.source import Lesson
from autograder.proof.exploit import grade_id
from course.check.cases import copied, drawn_case, run_of
from course.engine.runner import Engine
from course.spec.exercise import KernelExercise, Role

#: As an instructor would write it: no word of ours is imported, whose engine wants the real Numba.
_TEST = """\
import pickle
import numpy as np

with open("{cases}", "rb") as file:
    cases = pickle.load(file)
for launched, given, expected in cases:
    left = [given[one] for one in expected if one in given]
    if isinstance(launched, tuple):
        {name}[launched](*given.values())
    else:
        import torch
        numbers = [v.item() if isinstance(v, np.generic) else v for v in given.values()]
        tensors = [torch.from_numpy(v) if isinstance(v, np.ndarray) else v for v in numbers]
        if launched is None:
            left = {name}(*tensors)
            left = [one.numpy() for one in (left if isinstance(left, tuple) else (left,))]
        else:
            {name}[launched["grid"]](*tensors)
    for got, wanted in zip(left, expected.values()):
        np.testing.assert_allclose(got, wanted, rtol=2e-2, atol=1e-2)
"""
_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "peer"
c.ExecutePreprocessor.timeout = 3600
"""
#: What makes Numba and Triton execute kernels as Python.
_AS_PYTHON = {"NUMBA_ENABLE_CUDASIM": "1", "TRITON_INTERPRET": "1"}


def seconds(lesson: Lesson, seed: bytes, students: int) -> float:
    """Seconds of `nbgrader autograde` for a lesson of so many students, its solutions handed in.

    Raises:
        subprocess.CalledProcessError: where it fails.
        ArithmeticError: where a solution does not get all its points.
    """
    with tempfile.TemporaryDirectory() as folder:
        course = Path(folder)
        (course / "nbgrader_config.py").write_text(_CONFIG)
        notebook = _with_tests(lesson, seed, course)
        name = f"{lesson.name}.ipynb"
        for place in ("source", *(f"submitted/s{n}" for n in range(students))):
            (course / place / lesson.name).mkdir(parents=True)
            nbformat.write(notebook, course / place / lesson.name / name)
        _nbgrader(course, "generate_assignment", lesson.name)
        begun = time.perf_counter()
        _nbgrader(course, "autograde", lesson.name)
        took = time.perf_counter() - begun
        _all_right(course, lesson.name)
    return took


def _with_tests(lesson: Lesson, seed: bytes, folder: Path) -> Any:
    """A notebook of a lesson's kernels and of test cells, whose cases lie apart."""
    kernels = {e.name: e for e in lesson.exercises if isinstance(e, KernelExercise)}
    notebook = instructor_notebook(lesson)
    kept = []
    for cell in notebook.cells:
        name = grade_id(cell)
        exercise = kernels.get(name.removesuffix("_check"))
        if exercise is None:
            continue
        kept.append(cell)
        if name.endswith("_check"):
            cases = folder / f"{exercise.name}.cases"
            cases.write_bytes(pickle.dumps(_cases(exercise, lesson.solutions[exercise.name], seed)))
            cell.source = _TEST.format(name=exercise.name, cases=cases)
    notebook.cells = kept
    return notebook


def _cases(exercise: KernelExercise, source: str, seed: bytes) -> list[tuple[Any, Any, Any]]:
    """(a launch's shape, or None of a launcher; arguments; expected outputs) of each case."""
    constants = {name: one.default for name, one in exercise.constants.items()}
    engine, found = Engine(compiles=False), []
    outputs = [array.name for array in exercise.arrays if array.role is not Role.IN]
    for case in [*exercise.cases, *hidden_cases(exercise.name, seed)]:
        given = drawn_case(exercise, case, constants, seed=0)
        run = run_of(exercise, case, constants, source, copied(given))
        ran = engine(run)
        launched: Any = None if run.outputs else (run.grid, run.block, 0, run.shared_bytes)
        if run.dialect == "triton" and not run.outputs:
            launched = {"grid": run.grid}
        found.append((launched, given, {name: ran.arrays[name] for name in outputs}))
    return found


def _nbgrader(course: Path, *command: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # it calls alembic
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command],
            cwd=course,
            env=os.environ | _AS_PYTHON | {"PATH": path},
            stdout=said,
            stderr=said,
            check=False,
        )
        if done.returncode:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace"))
            done.check_returncode()


def _all_right(course: Path, lesson: str) -> None:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        for one in book.assignment_submissions(lesson):
            if one.score != one.max_score:
                raise ArithmeticError(f"nbgrader gave {one.score} of {one.max_score} to a solution")
