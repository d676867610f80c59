"""What lateness costs, of the gradebook as it is: a mark given by hand changes the points it is of.

So it is worked out where work is graded, and again before grades or feedback leave the gradebook.
What a day costs, the settings of the last grading say; they are kept in the gradebook, since the
commands that come later have no private folder.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import sqlalchemy as sql
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import GenerateFeedback
from nbgrader.plugins import BasePlugin, LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import Type

from autograder.judge import overlay

_DAY_SECONDS = 24 * 3600
#: Beside nbgrader's tables. NULL: what its own plugin says.
POLICY = sql.Table(
    "course_late_policy",
    sql.MetaData(),
    sql.Column("assignment", sql.String, primary_key=True),
    sql.Column("percent_a_day", sql.Float, nullable=True),
)
_FEEDBACK = GenerateFeedback.convert_notebooks


class LatePolicy(LateSubmissionPlugin):
    """A share of the points for each day begun; where the settings name none, nbgrader's."""

    percent: float | None = None

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        if self.percent is None:
            found: float | None = super().late_submission_penalty(
                student_id, score, total_seconds_late
            )
            return found
        days = math.ceil(total_seconds_late / _DAY_SECONDS)
        return round(min(score, score * days * self.percent / 100), 2)


class LatePenalties(AssignLatePenalties):
    """nbgrader's step, with our policy in it unless its settings name another."""

    plugin_class = Type(LatePolicy, klass=BasePlugin).tag(config=True)

    def work_out(self, assignment: Any, percent: float | None) -> None:
        """Of each late submission of an assignment, as nbgrader does it of one."""
        self.init_plugin()
        if isinstance(self.plugin_inst, LatePolicy):
            self.plugin_inst.percent = percent
        for submission in assignment.submissions:
            late = submission.total_seconds_late
            if late <= 0 and not submission.late_submission_penalty:
                continue
            for notebook in submission.notebooks:
                cost = None
                if late > 0:
                    plugin, student = self.plugin_inst, submission.student_id
                    cost = plugin.late_submission_penalty(student, notebook.score, late)
                if cost is not None:
                    cost = self._check_late_penalty(notebook, cost)
                if cost != notebook.late_submission_penalty:
                    notebook.late_submission_penalty = cost


def settle(parent: Any, url: str, name: str, lessons: Collection[str]) -> None:
    """Enters the settings' deadlines of an assignment, and what lateness costs by them.

    Args:
        parent: what has nbgrader's settings.
        lessons: the notebooks of the assignment that are being graded.
    """
    until = overlay.active().deadlines
    lesson = next((one for one in sorted(lessons) if one in until.due), None)
    with Gradebook(url) as book:
        POLICY.create(book.engine, checkfirst=True)
        entry = book.find_assignment(name)
        if lesson is not None:
            entry.duedate = until.due[lesson].replace(tzinfo=None)
            for one in entry.submissions:
                own = until.extensions.get((one.student_id, lesson), until.due[lesson])
                one.extension = (own - until.due[lesson]) or None
        book.db.execute(sql.delete(POLICY).where(POLICY.c.assignment == name))
        told = {"assignment": name, "percent_a_day": until.percent_a_day}
        book.db.execute(sql.insert(POLICY).values(told))
        book.db.commit()
        LatePenalties(parent=parent).work_out(entry, until.percent_a_day)
        book.db.commit()


def has_policy(book: Any) -> bool:
    """Whether a grading has left in the gradebook what lateness costs."""
    return bool(sql.inspect(book.engine).has_table(POLICY.name))


def work_out_again(parent: Any, book: Any, name: str) -> None:
    """What lateness costs by now, by the policy of the last grading; nothing before the first."""
    if not has_policy(book):
        return
    told = book.db.execute(sql.select(POLICY).where(POLICY.c.assignment == name)).first()
    if told is not None:
        LatePenalties(parent=parent).work_out(book.find_assignment(name), told.percent_a_day)
        book.db.commit()


def install() -> None:
    """Has nbgrader's feedback tell what lateness costs by now."""
    GenerateFeedback.convert_notebooks = _feedback


def _feedback(self: Any) -> None:
    directory = self.coursedir
    with Gradebook(directory.db_url, directory.course_id) as book:
        try:
            work_out_again(self, book, directory.assignment_id)
        except MissingEntry:  # nbgrader says so itself
            book.db.rollback()
    _FEEDBACK(self)
