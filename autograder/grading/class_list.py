"""What a gradebook knows of a class: who is in it, who has an extension, what lateness has cost."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Set
from typing import Any

from autograder import Refused
from autograder.grading.names import few
from autograder.grading.opened import explained, open_gradebook, require_gradebook
from autograder.judge import overlay
from course.plain.text import counted


def enter_students(book: Any, names: Iterable[str]) -> None:
    """Who has handed in nothing is in the class all the same."""
    there = {student.id for student in book.students}
    for name in sorted({*names} - there):
        book.add_student(name)


def said_of_class(url: str, notebooks: Set[str], others: Iterable[str]) -> list[str]:
    """Sentences on extensions of nobody, and on the penalties of these notebooks.

    Args:
        others: whom the command knows beside the gradebook's students.
    """
    try:
        require_gradebook(url)  # nbgrader would make one where it is gone
        with explained(url, "read"), open_gradebook(url) as book:
            known = {student.id for student in book.students} | {*others}
            return [*extensions_of_nobody(known), *_late(book, notebooks)]
    except Refused:  # said already, where it was to be written
        return []


def extensions_of_nobody(known: Set[str]) -> Iterator[str]:
    """A sentence on each name in [extensions] that nobody has: it would be without effect."""
    strangers = {student for student, _ in overlay.active().deadlines.extensions} - known
    for name in sorted(strangers):
        near = difflib.get_close_matches(name, known, 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        yield (
            f"{overlay.SETTINGS} has [extensions.{name}], and nobody called {name!r} is on a "
            f"roster, in the gradebook or among those who handed in: it helps nobody.{meant}"
        )


def _late(book: Any, notebooks: Set[str]) -> Iterator[str]:
    """One sentence on what was taken for lateness."""
    taken = [
        (one.student.id, notebook.name, notebook.late_submission_penalty)
        for assignment in book.assignments
        for one in assignment.submissions
        if one.late_submission_penalty
        for notebook in one.notebooks
        if notebook.name in notebooks and notebook.late_submission_penalty
    ]
    if taken:
        listed = [f"{student} {lesson} {cost:g}" for student, lesson, cost in sorted(taken)]
        yield (
            f"Late, and points taken for it in the gradebook: {counted(len(taken), 'notebook')} "
            f"({few(listed)})."
        )
