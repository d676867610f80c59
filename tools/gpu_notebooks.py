"""`make gpu-notebooks`: every notebook to its end on a machine with a GPU.

Each runs unfilled and solved, and whether the GPU finds a solution right is kept beside what
failed; how fast it is is not, as several run side by side. The notebooks are those of notebooks/,
the solutions those of solutions/: a GPU machine needs ipykernel and nbclient for it, and no
nbgrader.

    python -m tools.gpu_notebooks --out FILE
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat

from autograder.lessons.catalogue import ROOT, lessons
from autograder.lessons.notebook_run import NotebookRun, run_notebook
from autograder.lessons.source import lesson_files, solved_cells
from course.engine.faults import Outcome
from course.gpu.present import present
from course.gpu.recording import commanded, in_lines, provenance

COMMAND = "make gpu-notebooks"
#: What a check says of this machine's GPU, below all else.
OF_THE_GPU = re.compile(r"(?:On t|T)his machine's .*?\.(?=\s|$)", re.DOTALL)
AS_EXPECTED = re.compile("right on all|did not run it: the kernel is written for")
#: How it begins to tell what holds in small cases alone.
AT_FULL_SIZE = "At full size, "


def solved(student: bytes, cells: dict[str, str]) -> bytes:
    """A learner's notebook with each exercise's cell filled in.

    Args:
        student: the notebook.
        cells: the solutions by exercise.
    """
    notebook = nbformat.reads(student.decode(), as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in cells:
            cell.source = cells[name]
    return nbformat.writes(notebook).encode()


def played() -> Iterator[NotebookRun]:
    """Runs all notebooks, some side by side: how long one takes says little."""
    jobs = []
    for path in lesson_files(ROOT):
        stem = path.stem.partition("_")[2]
        names = [exercise.name for exercise in lessons().get(stem, ())]
        student = (ROOT / "notebooks" / f"{path.stem}.ipynb").read_bytes()
        filled = solved(student, solved_cells(ROOT, stem))
        jobs.append((path.stem, "student", student, names, Outcome.NOT_ATTEMPTED, ROOT))
        jobs.append((path.stem, "solution", filled, names, Outcome.PASS, ROOT))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(run_notebook, *zip(*jobs, strict=True))


def of_the_gpu(said: str) -> str:
    """Whether a kernel was right on this machine's GPU; '' where a check says nothing of it."""
    told = OF_THE_GPU.search(said)
    return " ".join(told[0].split()) if told else ""


def failures(run: NotebookRun) -> list[str]:
    """What failed, what the GPU makes of a right kernel included."""
    wrong = [
        f"notebooks/{run.name}.ipynb ({run.version}): {name}: {told}"
        for name, said in run.said.items()
        if (told := of_the_gpu(said)) and (AT_FULL_SIZE in said or not AS_EXPECTED.search(told))
    ]
    return [*run.failures, *wrong]


def record(path: Path) -> None:
    """Runs all notebooks and writes what came of them to `path`."""
    if not present():
        sys.exit("This machine shows no NVIDIA GPU, so nothing was run. `make colab` needs none.")
    notebooks: dict[str, dict[str, Any]] = {}
    for run in played():
        gpu = {name: told for name, said in run.said.items() if (told := of_the_gpu(said))}
        run.failures = failures(run)
        notebooks[f"{run.name} {run.version}"] = {"failures": run.failures, "gpu": gpu}
        print(run, flush=True)
    made = {**provenance(COMMAND), "notebooks": notebooks}
    path.write_text(in_lines(made, 3) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(commanded(__doc__, record))
