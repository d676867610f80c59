"""Scores to nbgrader's gradebook, through nbgrader's own interface.

A score is a verdict's points: finite, and never outside what the gradebook's cell allows.
"""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from autograder.grading.database import said_by
from autograder.grading.submissions import Submission
from autograder.judge.judge import Graded

CHECK_SUFFIX = "_check"
#: Tables that a sentence names.
_NAMED = 5


class GradebookError(Exception):
    """A gradebook that cannot be written, in a sentence."""


def prepare() -> None:
    """What nbgrader needs of this process before it opens a gradebook."""
    from sqlalchemy.exc import SAWarning

    # it starts `alembic`, which stands beside this Python, by its bare name
    folder, paths = str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)
    if folder not in paths.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([folder, paths])
    # under SQLAlchemy 2.1 nbgrader 0.9 warns for pages a student, without effect
    warnings.filterwarnings("ignore", category=SAWarning, module=r"nbgrader\.api")


def score(points: float, max_score: float) -> float:
    """Points as the gradebook keeps them: a finite number from 0 to the cell's maximum."""
    if not math.isfinite(points):
        return 0.0
    return float(min(max(points, 0.0), max_score))


def write_scores(
    url: str,
    rows: Iterable[Graded],
    submissions: Sequence[Submission] = (),
    fresh: Set[tuple[str, str]] = frozenset(),
) -> list[str]:
    """Writes the scores of `rows`, and says in sentences what could not be written.

    Nothing of the verdicts is lost by that: they stand on disk, and the next run writes them.

    Args:
        submissions: what they are on, for whatever else `nbgrader autograde` leaves.
        fresh: (student, notebook) of those judged just now.
    """
    try:
        listed = sorted(rows, key=lambda row: (row.notebook, row.student))
        said = list(_written(url, listed, fresh))
        if submissions:
            from autograder.grading.nbgrader_given import write_notebooks

            with _open(url) as book:
                names = {row.notebook for row in listed}
                assignments = {name: _assignment(book, name) for name in names}
            said += write_notebooks(url, listed, submissions, fresh, assignments)
        return said
    except GradebookError as error:
        return [f"{error} The verdicts are on disk: the same command writes the scores later."]


def require_gradebook(url: str) -> None:
    """Holds an address to be a gradebook's, or that of a server.

    Raises:
        GradebookError: it is none, or nothing is there.
    """
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        address = make_url(url)
    except ArgumentError as error:
        raise GradebookError(
            f"--gradebook {url!r} is no address of a gradebook: expected sqlite:///gradebook.db "
            "or postgresql://USER@HOST/NAME."
        ) from error
    database = address.database or ""
    is_path = address.get_backend_name() == "sqlite" and not database.startswith("file:")
    if not is_path:
        return
    path = Path(database)
    if not path.absolute().parent.is_dir():
        raise GradebookError(f"There is no folder {path.absolute().parent} for a gradebook.")
    if not path.is_file():
        raise GradebookError(f"There is no gradebook {database}. {_makes(url, 'LESSON')} makes it.")
    with _explained(url, "written"):
        tables = inspect(create_engine(address)).get_table_names()
    if tables and "assignment" not in tables:  # nbgrader would make its own in it
        raise GradebookError(
            f"{database} is a database of something else: expected nbgrader's tables, got "
            f"{', '.join(tables[:_NAMED])}. Nothing is written to it."
        )


@contextlib.contextmanager
def _explained(url: str, wanted: str) -> Iterator[None]:
    """What a database or nbgrader refuses is a GradebookError: it cannot be "written", "read"."""
    from nbgrader.api import InvalidEntry
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, InvalidEntry) as error:
        said = said_by(error)
        raise GradebookError(f"The gradebook {url} cannot be {wanted}: {said}.") from error


def _makes(url: str, lesson: str) -> str:
    """The command that enters a lesson in a gradebook."""
    from sqlalchemy.engine import make_url

    shown = make_url(url).render_as_string(hide_password=True)
    return f"`nbgrader generate_assignment {lesson} --force --db {shlex.quote(shown)}`"


@dataclass(frozen=True)
class Marked:
    """What the gradebook gives a student's notebook, penalties taken off, and what it is worth.

    `points` is None while a written answer that has points waits for its mark.
    """

    points: float | None
    worth: float


def marked(url: str, works: Collection[tuple[str, str]]) -> dict[tuple[str, str], Marked]:
    """What the gradebook holds of (student, notebook): marks given by hand are in it.

    Raises:
        GradebookError: it cannot be read.
    """
    from nbgrader.api import MissingEntry

    require_gradebook(url)
    found = {}
    with _explained(url, "read"), _open(url) as book:
        assignments = {notebook: _assignment(book, notebook) for _, notebook in works}
        for student, notebook in works:
            try:
                whole = book.find_submission(assignments[notebook], student)
                own = book.find_submission_notebook(notebook, assignments[notebook], student)
            except MissingEntry:
                continue
            waiting = any(grade.needs_manual_grade and grade.max_score for grade in own.grades)
            late = whole.late_submission_penalty or 0.0
            points = None if waiting else round(max(0.0, own.score - late), 2)
            found[student, notebook] = Marked(points, float(own.max_score))
    return found


def _written(url: str, rows: Sequence[Graded], fresh: Set[tuple[str, str]]) -> Iterable[str]:
    require_gradebook(url)
    with _explained(url, "written"), _open(url) as book:
        for notebook, of_notebook in groupby(rows, key=lambda row: row.notebook):
            lesson = [row for row in of_notebook if row.exercise]
            if not lesson:
                yield f"The gradebook has no score for {notebook or 'a folder'}: no lesson."
                continue
            yield from _lesson(book, notebook, lesson, fresh, _makes(url, notebook))


def _open(url: str) -> Any:
    from nbgrader.api import Gradebook

    prepare()
    try:
        return Gradebook(url)
    except (ImportError, FileNotFoundError) as error:  # no driver; no alembic on the path
        raise GradebookError(f"The gradebook {url} cannot be opened: {error}.") from error


def _lesson(
    book: Any, notebook: str, rows: Sequence[Graded], fresh: Set[tuple[str, str]], makes: str
) -> Iterable[str]:
    assignment = _assignment(book, notebook)
    if assignment is None:
        students = len({row.student for row in rows})
        yield (
            f"The gradebook has no assignment with {notebook}, so {students} students' scores are "
            f"not in it. Run {makes}, then this again."
        )
        return
    unknown: dict[str, None] = {}
    for student, own in groupby(rows, key=lambda row: row.student):
        book.update_or_create_student(student)
        book.update_or_create_submission(assignment, student)
        points = {row.exercise: row.points for row in own}
        judged = (student, notebook) in fresh
        missing = save_points(book, assignment, notebook, student, points, judged)
        unknown |= dict.fromkeys(missing)
    if unknown:
        yield (
            f"The gradebook's {notebook} does not have the cells {', '.join(unknown)}: it was made "
            f"from another version. Run {makes}."
        )


def _assignment(book: Any, notebook: str) -> str | None:
    """The assignment that has this notebook: the one of its own name where there are several."""
    holding = [a.name for a in book.assignments if any(n.name == notebook for n in a.notebooks)]
    if notebook in holding:
        return notebook
    return holding[0] if len(holding) == 1 else None


def save_points(
    book: Any,
    assignment: str,
    notebook: str,
    student: str,
    points: Mapping[str, float],
    judged: bool = True,
) -> list[str]:
    """Writes points by exercise for a submission that is there; gives the cells that are not.

    Args:
        judged: just now, and not known from before.
    """
    from nbgrader.api import MissingEntry

    unknown = []
    for exercise, earned in points.items():
        name = exercise + CHECK_SUFFIX
        try:
            grade = book.find_grade(name, notebook, assignment, student)
        except MissingEntry:
            unknown.append(name)
            continue
        earned_here = score(earned, float(grade.max_score or 0))
        # as nbgrader does: a score given by hand stays, and is to be looked at again
        look = judged or grade.needs_manual_grade or grade.auto_score != earned_here
        grade.needs_manual_grade = look and grade.manual_score is not None
        grade.auto_score = earned_here
    book.db.commit()
    return unknown
