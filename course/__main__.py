"""`python -m course`: what there is and what is solved, checks of a notebook, anyone's kernels."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from course import exercises
from course.check.answers import check_number_source
from course.check.check import check_source
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling.available import require_triton
from course.notebook.progress import kept, noted, progress
from course.notebook.start_page import start_page
from course.spec.exercise import Exercise, KernelExercise, NumberExercise
from course.words.verdict import Verdict

#: Seconds between two looks at a notebook that is watched.
_PAUSE = 0.5


class NotebookError(Exception):
    """A file is no notebook of the course. The text says what is wrong."""


def main(argv: list[str] | None = None) -> int:
    """Runs one command; 0 done, 1 something is not right yet, 2 wrong arguments."""
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["run"]:
        from course.run.__main__ import main as run

        return run(given[1:])
    options = _parser().parse_args(given)
    try:
        if options.command == "check":
            return _check(options.notebook, options.exercises, options.watch)
    except NotebookError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print()
        return 130
    if page := getattr(options, "page", None):
        try:
            page.write_text(start_page(kept(), page.parent), encoding="utf-8")
        except OSError as error:
            print(f"{page} cannot be written: {error.strerror}.", file=sys.stderr)
            return 2
        return 0
    try:
        print(progress(getattr(options, "lesson", "")))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m course", description=__doc__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    shown = commands.add_parser(
        "progress", help="lessons, what is solved of each, what is next (default)"
    )
    shown.add_argument(
        "lesson", metavar="LESSON", nargs="?", default="", help="its exercises, such as threads"
    )
    shown.add_argument("--page", metavar="FILE", type=Path, help="write it as a page with links")
    check = commands.add_parser(
        "check",
        help="check a notebook's exercises, without running the notebook",
        description="Checks the solution cells of a saved notebook. Nothing of it is executed.",
    )
    check.add_argument("notebook", metavar="NOTEBOOK", type=Path)
    # argparse calls it required where it has no default
    check.add_argument("exercises", metavar="EXERCISE", nargs="*", default=[], help="these alone")
    check.add_argument("--watch", action="store_true", help="check again whenever it is saved")
    commands.add_parser(
        "run", help="run a program of Triton or Numba kernels (python -m course.run --help)"
    )
    return parser


def _check(path: Path, only: list[str], watch: bool) -> int:
    """Checks what a notebook holds; with `watch`, what changes in it, until it is interrupted."""
    before: dict[str, str] = {}
    right = True
    while True:
        try:
            cells = solutions(path)
        except NotebookError as error:
            if not before:
                raise
            print(error, file=sys.stderr)  # half of it is saved
            _wait_for_change(path)
            continue
        if missing := [name for name in only if name not in cells]:
            raise NotebookError(
                f"{path} has no exercise {missing[0]!r}. It has: {', '.join(cells)}."
            )
        verdicts = [
            checked(name, source)
            for name, source in cells.items()
            if name in (only or cells) and before.get(name) != source
        ]
        for verdict in verdicts:
            print(_told(verdict), flush=True)
        if passed := [verdict for verdict in verdicts if verdict]:
            print(passed[-1].next_steps[-1], flush=True)
        right = right and all(verdicts)
        if not watch:
            return 0 if right else 1
        if not before:
            said = "what changes in it is checked when it is saved. Ctrl-C ends it."
            print(f"Watching {path}: {said}", flush=True)
        before = cells
        _wait_for_change(path)


def _wait_for_change(path: Path) -> None:
    first = _state(path)
    while _state(path) in (None, first):
        time.sleep(_PAUSE)


def _state(path: Path) -> tuple[float, int] | None:
    """When it was saved, and its size; None while an editor puts another in its place."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime, found.st_size


def solutions(path: Path) -> dict[str, str]:
    """The text of a notebook's solution cells, by exercise, in order.

    Raises:
        NotebookError: where it is no notebook of the course.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise NotebookError(f"{path} is a pipe or a device, and no notebook.")
        notebook: Any = json.loads(path.read_text(encoding="utf-8-sig"))
        cells = notebook["cells"]
        found: dict[str, str] = {}
        for cell in cells:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id")
            if cell["cell_type"] == "code" and name in exercises.all_exercises():
                source = cell["source"]
                found[name] = source if isinstance(source, str) else "".join(source)
    except OSError as error:
        raise NotebookError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotebookError(f"{path} is no notebook: save it in Jupyter, and try again.") from None
    if not found:
        raise NotebookError(
            f"{path} has no exercise of the course. The lessons lie in notebooks/, such as "
            "notebooks/01_threads.ipynb."
        )
    return found


def checked(name: str, source: str) -> Verdict:
    """The verdict on a cell's text, kept as progress."""
    exercise: Exercise = exercises.all_exercises()[name]
    if isinstance(exercise, NumberExercise):
        return noted(exercise, check_number_source(exercise, source))
    assert isinstance(exercise, KernelExercise)
    try:
        if exercise.dialect == "triton":
            require_triton()
    except KernelFault as fault:
        return Verdict(fault.outcome, name, str(fault), fault.message_id)
    return noted(exercise, check_source(exercise, source))


def _told(verdict: Verdict) -> str:
    """All of a verdict that says what to mend; else a line."""
    if verdict or verdict.outcome is Outcome.NOT_ATTEMPTED:
        return f"{verdict.symbol} {verdict.exercise}: {verdict.headline}"
    return str(verdict)


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    raise SystemExit(status)
