"""Runs a lesson's notebook to its end in a kernel, as a learner would with "Run All".

Only the course's own notebooks are run, unfilled and solved; a submission never is.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from course.engine.faults import Outcome
from course.words.verdict import HEADLINES

#: A cell that runs this long has hung: a lesson's checks take a second each.
CELL_TIMEOUT_S = 120
SLOW_CHECK_S = 1.0


@dataclass
class NotebookRun:
    """What came of running one notebook. `version` is "student" or "solution"."""

    name: str
    version: str
    seconds: float = 0.0
    #: seconds of each check cell, by exercise
    checks_s: dict[str, float] = field(default_factory=dict)
    #: what each check says, by exercise
    said: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """A line on it, and one for each failure."""
        head = f"{self.name:24} {self.version:9} {self.seconds:6.1f} s"
        return "\n    ".join([head, *self.failures])


def run_notebook(
    name: str,
    version: str,
    content: bytes,
    exercises: Sequence[str],
    expected: Outcome,
    root: Path,
) -> NotebookRun:
    """Runs a notebook and looks at what each check says.

    Args:
        name: `01_threads`.
        version: what the sentences call it.
        content: the notebook.
        exercises: those whose checks it must hold.
        expected: what every check must say.
        root: the repository, for the kernel to import the course from.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    run = NotebookRun(name, version)
    notebook = nbformat.reads(content.decode(), as_version=4)
    subject = f"notebooks/{name}.ipynb ({version})"
    started = time.perf_counter()
    try:
        # an empty folder: a lesson leans on no file beside it, as on Colab
        with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
            client = NotebookClient(
                notebook,
                timeout=CELL_TIMEOUT_S,
                kernel_name="python3",
                record_timing=True,
                # through files: two kernels that begin at once may choose one port
                config=Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"}),
            )
            client.execute(env=_environment(root), cwd=folder)
    except CellExecutionError as error:
        cell = _failing(notebook)
        run.failures.append(f"{subject}: {cell} raises {error.ename}: {_first(error.evalue)}")
    except CellTimeoutError:
        run.failures.append(f"{subject}: a cell runs longer than {CELL_TIMEOUT_S} s.")
    except DeadKernelError:
        run.failures.append(f"{subject}: its kernel died.")
    run.seconds = time.perf_counter() - started
    if not run.failures:
        run.failures += _verdicts(subject, notebook, exercises, expected, run)
        run.notes += _warnings(subject, notebook)
    return run


def _environment(root: Path) -> dict[str, str]:
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    # numba's simulator would stand in for the engine
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "COURSE_PROGRESS": "off"}


def _verdicts(
    subject: str,
    notebook: Any,
    exercises: Sequence[str],
    expected: Outcome,
    run: NotebookRun,
) -> Iterator[str]:
    cells = {
        cell.metadata.nbgrader.grade_id: cell
        for cell in notebook.cells
        if "nbgrader" in cell.metadata
    }
    for exercise in exercises:
        cell = cells.get(f"{exercise}_check")
        if cell is None:
            yield f"{subject}: it has no check of {exercise!r}."
            continue
        symbol, words = HEADLINES[expected]
        said = next((o.data["text/plain"] for o in cell.outputs if "data" in o), "nothing")
        run.said[exercise] = said
        if not said.startswith(f"{symbol} {exercise}: {words}"):
            yield (
                f"{subject}: the check of {exercise!r} should say {expected.value}, "
                f"it says: {_first(said)}"
            )
        run.checks_s[exercise] = seconds = _seconds(cell)
        if seconds > SLOW_CHECK_S:
            run.notes.append(f"{subject}: the check of {exercise!r} took {seconds:.1f} s.")


def _warnings(subject: str, notebook: Any) -> Iterator[str]:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.output_type == "stream" and output.name == "stderr":
                yield f"{subject}: {_title(cell)} writes to stderr: {_first(output.text)}"


def _seconds(cell: Any) -> float:
    times = cell.metadata.get("execution", {})
    try:
        start, end = (
            datetime.fromisoformat(times[key].replace("Z", "+00:00"))
            for key in ("iopub.execute_input", "iopub.status.idle")
        )
    except KeyError:  # a kernel that reports no times
        return 0.0
    return (end - start).total_seconds()


def _failing(notebook: Any) -> str:
    for cell in notebook.cells:
        if any(output.output_type == "error" for output in cell.get("outputs", ())):
            return _title(cell)
    return "a cell"


def _title(cell: Any) -> str:
    name = cell.metadata.get("nbgrader", {}).get("grade_id")
    return f"the cell {name!r}" if name else f"the cell that begins {_first(cell.source)!r}"


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
