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
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from course import exercises
from course.check.cases import VISIBLE_SEED, case_seed, ordered_cases
from course.check.outputs import compared
from course.engine.job import Ran
from course.engine.traffic import Traffic
from course.plain.sectors import SECTOR_BYTES
from course.spec.exercise import Array, Case, KernelExercise, Role
from course.spec.inputs import drawn
from course.spec.launching import Launch, Launcher

#: More than an L2 holds: it is written before each timed run.
CLEARED_BYTES = 1 << 28
WARM_UP, TIMED = 3, 20
COPIED_BYTES = 1 << 29


class _Torch:
    """Tensors and events, for Triton's kernels."""

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch
        self.name = str(torch.cuda.get_device_name())
        self.wait: Callable[[], None] = torch.cuda.synchronize

    def target(self) -> int:
        major, minor = self.torch.cuda.get_device_capability()
        return 10 * int(major) + int(minor)

    def put(self, array: np.ndarray) -> Any:
        here = self.torch.from_numpy(array)
        there = self.torch.empty_strided(here.shape, here.stride(), dtype=here.dtype, device="cuda")
        return there.copy_(here)

    def fetched(self, array: Any) -> np.ndarray:
        got: np.ndarray = array.cpu().numpy()
        return got

    def event(self) -> Any:
        return self.torch.cuda.Event(enable_timing=True)

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end))

    def copy(self, target: Any, source: Any) -> None:
        target.copy_(source)


class _Numba:
    """The same by Numba alone: its lessons do without torch."""

    def __init__(self) -> None:
        from numba import cuda

        self.cuda: Any = cuda
        name = cuda.get_current_device().name
        self.name = name.decode() if isinstance(name, bytes) else str(name)
        self.wait: Callable[[], None] = cuda.synchronize

    def put(self, array: np.ndarray) -> Any:
        if array.flags.c_contiguous or array.flags.f_contiguous:
            return self.cuda.to_device(array)
        assert array.base is not None  # rows that lie farther apart than they are long
        return self.cuda.to_device(array.base)[..., : array.shape[-1]]

    def fetched(self, array: Any) -> np.ndarray:
        got: np.ndarray = array.copy_to_host()
        return got

    def event(self) -> Any:
        return self.cuda.event()

    def elapsed_ms(self, begin: Any, end: Any) -> float:
        return float(self.cuda.event_elapsed_time(begin, end))

    def copy(self, target: Any, source: Any) -> None:
        target.copy_to_device(source)


@cache
def _gpu(dialect: str) -> Any:
    return _Torch() if dialect == "triton" else _Numba()


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


class _Launched:
    """One case on the GPU: its arguments, a call that launches, and what it leaves."""

    def __init__(self, exercise: KernelExercise, module: ModuleType, case: Case) -> None:
        self.exercise, self.case, self.gpu = exercise, case, _gpu(exercise.dialect)
        chosen = {n: int(getattr(module, n, c.default)) for n, c in exercise.constants.items()}
        self.constants = chosen
        rng = np.random.default_rng(case_seed(exercise, case, VISIBLE_SEED))
        self.before = drawn(exercise, case, rng, chosen)
        self.given = {name: self._put(value) for name, value in self.before.items()}
        function, launch = getattr(module, exercise.name), exercise.launch
        grid, block, shared = launch.values(exercise.names(case, chosen))
        self.call: Callable[[], Any]
        if isinstance(launch, Launcher):
            self.call = lambda: function(*self.given.values())
        elif isinstance(launch, Launch):
            self.call = lambda: function[grid, block, 0, shared](*self.given.values())
        else:
            self.call = lambda: function[grid](*self.given.values(), num_warps=launch.num_warps)

    def _put(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.gpu.put(value)
        triton = self.exercise.dialect == "triton" and isinstance(value, np.generic)
        return value.item() if triton else value

    def right(self) -> bool:
        """Launches once: whether every output is what the reference says."""
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
        arrays = {name: self.gpu.fetched(array) for name, array in left.items()}
        ran = Ran(arrays, Traffic())
        found = compared(
            self.exercise, self.case, 1, self.constants, self.constants, self.before, ran
        )
        return not any(one.wrong.any() for one in found)

    def times_us(self) -> list[float]:
        """Microseconds of `TIMED` launches, in order, the L2 cleared before each."""
        return timed_us(self.gpu, self.call)


def timed_us(gpu: Any, call: Callable[[], Any]) -> list[float]:
    """Microseconds by events, sorted. What clears the L2 also hides how long a launch takes."""
    source, target = (gpu.put(np.zeros(CLEARED_BYTES, np.int8)) for _ in range(2))
    found = []
    for turn in range(WARM_UP + TIMED):
        begin, end = gpu.event(), gpu.event()
        gpu.copy(target, source)
        begin.record()
        call()
        end.record()
        end.synchronize()
        if turn >= WARM_UP:
            found.append(1000 * gpu.elapsed_ms(begin, end))
    return sorted(found)


@cache
def copy_gb_s(dialect: str) -> float:
    """What a large copy reaches on this GPU at its best, bytes read and bytes written."""
    gpu = _gpu(dialect)
    source, target = (gpu.put(np.ones(COPIED_BYTES // 4, np.float32)) for _ in range(2))
    return 2 * COPIED_BYTES / timed_us(gpu, lambda: gpu.copy(target, source))[0] / 1000


def answered(request: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """What came of a cell: `wrong`, the label of a case, or the time of the largest case.

    Or `other`, the compute capability of the one GPU for which it is written.
    """
    exercise = exercises.all_exercises()[request["exercise"]]
    assert isinstance(exercise, KernelExercise)
    answer: dict[str, Any] = {"gpu": _gpu(exercise.dialect).name}
    if exercise.target and exercise.target != _gpu(exercise.dialect).target():
        return answer | {"other": exercise.target / 10}
    module = imported(request["source"], exercise.name, folder)
    cases = ordered_cases(exercise, exercise.cases)
    for case in cases:
        if not _Launched(exercise, module, case).right():
            return answer | {"wrong": case.label}
    moved = {case.label: sum(exercise.least_sectors(case).values()) for case in cases}
    largest = max(cases, key=lambda case: moved[case.label])
    times = _Launched(exercise, module, largest).times_us()
    return answer | {
        "cases": len(cases),
        "case": largest.label,
        "us": times[len(times) // 2],
        "low_us": times[len(times) // 10],
        "high_us": times[-1 - len(times) // 10],
        "bytes": moved[largest.label] * SECTOR_BYTES,
        "copy_gb_s": copy_gb_s(exercise.dialect),
    }


def main() -> None:
    """Answers requests until there are no more. What a cell prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            try:
                answer = answered(json.loads(line), Path(folder))
            except BaseException as problem:  # whatever a cell, a compiler or a GPU raises
                answer = {"fault": f"{type(problem).__name__}: {problem}"[:300]}
            print(json.dumps(answer), file=answers, flush=True)
            if "fault" in answer:  # the context may be gone: the next cell gets a new process
                return
