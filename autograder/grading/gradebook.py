"""Scores to nbgrader's gradebook, through nbgrader's own interface.

A score is a verdict's points: finite, and never outside what the gradebook's cell allows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from autograder import Refused
from autograder.grading.class_list import enter_students
from autograder.grading.names import few
from autograder.grading.opened import enters, explained, open_gradebook, require_gradebook
from autograder.grading.submissions import Submission
from autograder.judge import overlay
from autograder.judge.judge import Graded
from autograder.lessons.catalogue import stem_of_notebook
from course import exercises
from course.plain.text import counted

CHECK_SUFFIX = "_check"


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
    students: Sequence[str] = (),
) -> list[str]:
    """Writes the scores of `rows`, and says in sentences what could not be written.

    Nothing of the verdicts is lost by that: they stand on disk, and the next run writes them.

    Args:
        submissions: what they are on, for whatever else `nbgrader autograde` leaves.
        fresh: (student, notebook) of those judged just now.
        students: who is in the class, work or none.
    """
    try:
        listed = sorted(rows, key=lambda row: (row.notebook, row.student))
        said = list(_written(url, listed, students))
        if submissions:
            from autograder.grading.nbgrader_given import write_notebooks

            with open_gradebook(url) as book:
                names = {row.notebook for row in listed}
                assignments = {name: _assignment(book, name) for name in names}
            said += write_notebooks(url, listed, submissions, fresh, assignments)
        return said
    except Refused as error:
        return [f"{error} The verdicts are on disk: the same command writes the scores later."]


@dataclass(frozen=True)
class Marked:
    """What the gradebook gives a student's notebook, penalties taken off, and what it is worth.

    `points` is None while a written answer that has points waits for its mark.

    Attributes:
        late: what lateness has taken.
        cells: (points, most) by exercise and written answer.
    """

    points: float | None
    worth: float
    late: float
    cells: Mapping[str, tuple[float, float]]


def marked(url: str, works: Collection[tuple[str, str]]) -> dict[tuple[str, str], Marked]:
    """What the gradebook holds of (student, notebook): marks given by hand are in it.

    Raises:
        Refused: it cannot be read.
    """
    from nbgrader.api import MissingEntry

    from autograder.grading.nbgrader_given import late_by_now

    require_gradebook(url)
    found = {}
    with explained(url, "read"), open_gradebook(url) as book:
        assignments = {notebook: _assignment(book, notebook) for _, notebook in works}
        late_by_now(url, book, {*filter(None, assignments.values())})
        for student, notebook in works:
            try:
                whole = book.find_submission(assignments[notebook], student)
                own = book.find_submission_notebook(notebook, assignments[notebook], student)
            except MissingEntry:
                continue
            waiting = any(grade.needs_manual_grade and grade.max_score for grade in own.grades)
            late = whole.late_submission_penalty or 0.0
            points = None if waiting else round(max(0.0, own.score - late), 2)
            cells = {
                grade.name.removesuffix(CHECK_SUFFIX): (grade.score, grade.max_score)
                for grade in sorted(own.grades, key=lambda grade: str(grade.name))
                if grade.score or grade.max_score
            }
            found[student, notebook] = Marked(points, float(own.max_score), late, cells)
    return found


def _written(url: str, rows: Sequence[Graded], students: Sequence[str]) -> Iterable[str]:
    require_gradebook(url, writes=True)
    with explained(url, "written"), open_gradebook(url) as book:
        enter_students(book, students)
        for notebook, of_notebook in groupby(rows, key=lambda row: row.notebook):
            whole = [*of_notebook]
            lesson = [row for row in whole if row.exercise]
            if not lesson:
                known = f" ({notebook})" if notebook else ""
                names = few([f"{row.student}{known}" for row in whole])
                yield f"Of no lesson, and so without a score in the gradebook: {names}."
                continue
            yield from _lesson(book, notebook, lesson, enters(url, notebook))


def _lesson(book: Any, notebook: str, rows: Sequence[Graded], makes: str) -> Iterable[str]:
    assignment = _assignment(book, notebook)
    if assignment is None:
        students = counted(len({row.student for row in rows}), "student")
        yield (
            f"The gradebook has no assignment with {notebook}, so scores of {students} are not in "
            f"it. Run {makes}, then this again."
        )
        return
    yield from other_points(book, assignment, notebook, rows, makes)
    unknown: dict[str, None] = {}
    for student, own in groupby(rows, key=lambda row: row.student):
        book.update_or_create_student(student)
        book.update_or_create_submission(assignment, student)
        points = {row.exercise: row.points for row in own}
        unknown |= dict.fromkeys(save_points(book, assignment, notebook, student, points))
    if unknown:
        yield (
            f"The gradebook's {notebook} does not have the cells {', '.join(unknown)}: it was made "
            f"from another version. Run {makes}."
        )


def other_points(
    book: Any, assignment: str, notebook: str, rows: Iterable[Graded], makes: str
) -> Iterable[str]:
    """A sentence where cells are worth something else than by the verdicts and the settings."""
    worth = {row.exercise + CHECK_SUFFIX: float(row.max_points) for row in rows}
    stem = stem_of_notebook(notebook)
    lesson = exercises.lesson(stem).values() if stem else ()
    outside = [one.name + CHECK_SUFFIX for one in lesson if not overlay.active().counts(one)]
    told = {**dict.fromkeys(outside, 0.0), **overlay.active().points, **worth}
    cells = book.find_notebook(notebook, assignment).grade_cells
    others = [
        f"{cell.name.removesuffix(CHECK_SUFFIX)} ({cell.max_score:g} there, {told[cell.name]:g})"
        for cell in sorted(cells, key=lambda cell: str(cell.name))
        if cell.name in told and cell.max_score != told[cell.name]
    ]
    if others:
        yield (
            f"In the gradebook cells of {notebook} are worth something else than [points] and the "
            f"lesson say, and no score is above its cell's: {few(others)}. Run "
            f"`python -m autograder build` (--private DIR: your folder) and {makes}, then this "
            "again: marks stay."
        )


def lacking(
    book: Any, assignment: str, notebooks: Collection[str]
) -> tuple[set[str], set[str], set[tuple[str, str]]]:
    """What a gradebook that was made anew does not have of work which was written before.

    Gives (students whose work is there whole, those of them without a time, (student, cell) of
    cells without a comment of ours).
    """
    from nbgrader import api
    from sqlalchemy import select

    entry = book.find_assignment(assignment)
    works = book.db.query(api.SubmittedAssignment.student_id)
    works = works.filter(api.SubmittedAssignment.assignment_id == entry.id)
    timeless = {one for (one,) in works.filter(api.SubmittedAssignment.timestamp.is_(None))}
    own = works.join(api.SubmittedNotebook).join(
        api.Notebook, api.Notebook.id == api.SubmittedNotebook.notebook_id
    )
    own = own.filter(api.Notebook.name.in_(notebooks))
    untouched = own.join(api.Grade).filter(
        api.Grade.cell_id.in_(select(api.GradeCell.id)),
        api.Grade.auto_score.is_(None),
        api.Grade.manual_score.is_(None),
        api.Grade.needs_manual_grade.is_(False),
    )
    whole = {one for (one,) in works} - {one for (one,) in untouched}
    comments = own.join(api.Comment).join(
        api.SolutionCell, api.SolutionCell.id == api.Comment.cell_id
    )
    silent = comments.filter(api.Comment.auto_comment.is_(None))
    pairs = silent.with_entities(api.SubmittedAssignment.student_id, api.SolutionCell.name)
    return whole, timeless, {(student, cell) for student, cell in pairs}


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
    others: Collection[str] = (),
) -> list[str]:
    """Writes points by exercise for a submission that is there; gives the cells that are not.

    A score given by hand stays. Where the answer is another one, it is to be looked at again.

    Args:
        others: exercises whose cell has another text than when it was written the last time.
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
        look = exercise in others or grade.needs_manual_grade
        grade.needs_manual_grade = look and grade.manual_score is not None
        grade.auto_score = score(earned, float(grade.max_score or 0))
    book.db.commit()
    return unknown
