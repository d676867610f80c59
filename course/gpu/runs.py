"""A process of its own that runs cells on this machine's GPU: a line asks, a line answers.

A request is JSON, an exercise's name and a cell's text. The cell is executed here: it is the
learner's own, on the learner's machine. A grader never starts this. A kernel that breaks the GPU's
context breaks this process, and `course.gpu.own` starts another.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from course import exercises
from course.check.cases import VISIBLE_SEED, drawn_case, ordered_cases
from course.gpu import timing, troubles
from course.gpu.devices import OfNumba, OfTorch
from course.gpu.full_size import is_right, largest_cases, work_of
from course.spec.exercise import Array, Case, KernelExercise, Role
from course.spec.launching import Launch, Launcher

#: What Triton compiles for begins here, 75 for 7.5; Numba's compiler says itself what it takes.
OLDEST = 75


@cache
def _gpu(dialect: str) -> Any:
    return OfTorch() if dialect == "triton" else OfNumba()


def imported(source: str, name: str, folder: Path) -> ModuleType:
    """A cell as a module: Triton reads a kernel's text from its file."""
    path = folder / f"cell_{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


class Launched:
    """One case on the GPU: its arguments, a call that launches, and what it leaves.

    Inputs are a check's, or drawn from another `seed`.
    """

    def __init__(
        self,
        exercise: KernelExercise,
        module: ModuleType,
        case: Case,
        seed: int = VISIBLE_SEED,
    ) -> None:
        self.exercise, self.case, self.gpu = exercise, case, _gpu(exercise.dialect)
        chosen = {n: int(getattr(module, n, c.default)) for n, c in exercise.constants.items()}
        self.constants = chosen
        self.before = drawn_case(exercise, case, chosen, seed)
        self.given = {name: self._put(value) for name, value in self.before.items()}
        function, launch = getattr(module, exercise.name), exercise.launch
        grid, block, shared = launch.values(exercise.names(case, chosen))
        self.call: Callable[[], Any]
        if isinstance(launch, Launcher):
            self.call = lambda: function(*self.given.values())
        elif isinstance(launch, Launch):
            self.call = lambda: function[grid, block, 0, shared](*self.given.values())
        else:
            self.call = lambda: function[grid](*self.given.values())

    def _put(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.gpu.put(value)
        triton = self.exercise.dialect == "triton" and isinstance(value, np.generic)
        return value.item() if triton else value

    def right(self) -> bool:
        """Launches once: whether every output is what the reference says."""
        return is_right(self.exercise, self.case, self.constants, self.before, self.left())

    def left(self) -> dict[str, np.ndarray]:
        """Launches once; the outputs by name."""
        result = self.call()
        self.gpu.wait()
        left = {
            a.name: self.given[a.name]
            for a in self.exercise.passed
            if isinstance(a, Array) and a.role is not Role.IN
        }
        if self.exercise.returned:
            outputs = result if isinstance(result, tuple) else (result,)
            left = {a.name: r for a, r in zip(self.exercise.returned, outputs, strict=True)}
        return {name: self.gpu.fetched(array) for name, array in left.items()}


def answered(
    request: Mapping[str, str], folder: Path, say: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """What came of a cell: `wrong`, the label of a case, or how many `cases` are right.

    Then the time of the full-size case, or `full_wrong`, or `untimed` and why. Or at first
    `other`, the compute capability of the one GPU for which it is written, or `old`, the GPU's own.

    Args:
        say: is told what is known before the full-size case, which may never end.
    """
    exercise = exercises.all_exercises()[request["exercise"]]
    assert isinstance(exercise, KernelExercise)
    gpu = _gpu(exercise.dialect)
    answer: dict[str, Any] = {"gpu": gpu.name, "count": gpu.count}
    if exercise.dialect == "triton" and gpu.capability < OLDEST:
        return answer | {"old": gpu.capability / 10}
    if exercise.target and exercise.target != gpu.capability:
        return answer | {"other": exercise.target / 10}
    module = imported(request["source"], exercise.name, folder)
    cases = ordered_cases(exercise, exercise.cases)
    for case in cases:
        if not Launched(exercise, module, case).right():
            return answer | {"wrong": case.told}
    sizes = largest_cases(exercise)
    answer |= {"cases": len(cases), "full": sizes[0].told}
    say(answer | {"going_on": True})
    answer |= _largest(exercise, module, sizes)
    if "untimed" not in answer:
        gpu.released()
    return answer


def _largest(exercise: KernelExercise, module: ModuleType, sizes: list[Case]) -> dict[str, Any]:
    """What came of the first of these cases that there is memory for."""
    answer: dict[str, Any] = {}
    for case in sizes:
        try:
            return answer | _timed(exercise, module, case)
        except Exception as problem:
            answer["untimed"] = troubles.text(problem)
            if not troubles.of_memory(problem):
                break
    return answer


def _timed(exercise: KernelExercise, module: ModuleType, case: Case) -> dict[str, Any]:
    """The time of a case and what it is measured against, or `full_wrong`."""
    launched = Launched(exercise, module, case)
    if not launched.right():
        return {"full_wrong": case.told}
    gpu = launched.gpu
    answer = {"case": case.told} | asdict(timing.timed(gpu, launched.call))
    work = work_of(exercise, case)
    if "bytes" in work:
        return answer | work | {"copy": timing.copy_gb_s(gpu)}
    return answer | work | {"product": timing.product_tflop_s(gpu, work["dtype"])}


def main() -> None:
    """Answers requests until there are no more. What a cell prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(answer: dict[str, Any]) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            try:
                answer = answered(json.loads(line), Path(folder), say)
            except BaseException as problem:  # whatever a cell, a compiler or a GPU raises
                answer = {"fault": troubles.text(problem)}
            say(answer)
            if {"fault", "untimed"} & answer.keys():
                return  # the context may be gone: the next cell gets a new process


def profiled(request: str) -> None:
    """Launches a cell at full size, once to compile and once for a profiler to see."""
    asked = json.loads(Path(request).read_text(encoding="utf-8"))
    exercise = exercises.all_exercises()[asked["exercise"]]
    assert isinstance(exercise, KernelExercise)
    module = imported(asked["source"], exercise.name, Path(request).parent)
    launched = Launched(exercise, module, largest_cases(exercise)[0])
    launched.call()
    launched.gpu.wait()
    launched.gpu.profiled(launched.call)
