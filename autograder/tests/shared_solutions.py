"""Every Triton solution's launches, for a GPU to count what they ask of shared memory.

`python -m autograder.tests.shared_solutions FOLDER` compiles those of the first graded case for
sm_90 into FOLDER; `record.py` there runs them under Nsight Compute on a GPU machine.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from autograder.proof.on_gpu import digest, triton_solutions
from course.check.cases import VISIBLE_SEED
from course.check.stages import Stages
from course.engine.traffic import Traffic
from course.engine.triton import engine
from course.spec.exercise import KernelExercise
from course.tests.engine.triton.accesses import packed, write_manifest

#: the compute capability of an H200
TARGET = 90
#: before a launch: kernel, arguments, grid, options
Before = Callable[[Any, Any, Any, dict[str, Any]], None]


@contextlib.contextmanager
def _noted(before: Before, found: list[Traffic]) -> Iterator[None]:
    launch = engine.launch

    def noting(kernel: Any, args: Any, grid: Any, named: Any, **options: Any) -> Traffic:
        before(kernel, args, grid, named)
        found.append(launch(kernel, args, grid, named, **options, banks=True))
        return found[-1]

    with patch.object(engine, "launch", noting):
        yield


def launched(
    exercise: KernelExercise, source: str, before: Before = lambda *_: None
) -> list[Traffic]:
    """The traffic of each launch that a solution makes on its first graded case, banks counted."""
    found: list[Traffic] = []
    stages = Stages(exercise, source, detailed=False)
    stages._admitted()
    case = next(case for case in exercise.cases if case.traffic)
    with _noted(before, found):
        stages._launched(case, VISIBLE_SEED, engine.TritonEngine(compiles=False, target=TARGET))
    return found


def label(exercise: KernelExercise, source: str, number: int) -> str:
    """What a launch is called: another solution's has another name."""
    return f"{exercise.name} {digest(source)}, launch {number}"


def pack_all(folder: Path) -> None:
    """Every solution's launches, as `record.py` makes them."""
    rows: list[dict[str, Any]] = []
    for exercise, source in triton_solutions((0,)):
        labels = map(partial(label, exercise, source), itertools.count())

        def before(kernel: Any, args: Any, grid: Any, named: Any, labels: Any = labels) -> None:
            name = next(labels)
            rows.append(packed(folder, len(rows), name, kernel, args, grid, dict(named)))

        launched(exercise, source, before)
    write_manifest(folder, rows, "autograder.tests.shared_solutions")


if __name__ == "__main__":
    (target := Path(sys.argv[1])).mkdir(parents=True, exist_ok=True)
    pack_all(target)
