"""`nbgrader export`, with every field quoted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry
from nbgrader.plugins.export import CsvExportPlugin

from autograder.grading.lateness import work_out_again
from autograder.grading.spreadsheet import table


class Export(CsvExportPlugin):
    """What `nbgrader export` writes, quoted: nbgrader's own puts names into lines as they are."""

    def export(self, gradebook: Any) -> None:
        """Writes a row an assignment and student to `to`, or to `grades.csv`."""
        for assignment in gradebook.assignments:
            work_out_again(self, gradebook, assignment.name)
        rows = [
            _score(gradebook, assignment, student)
            for assignment in gradebook.assignments
            if not self.assignment or assignment.name in map(str, self.assignment)
            for student in gradebook.students
            if not self.student or student.id in map(str, self.student)
        ]
        place = Path(self.to or "grades.csv")
        self.log.info("Exporting grades to %s", place)
        place.write_bytes(table(_NAMES, rows).encode("utf-8", "backslashreplace"))


#: nbgrader's own columns, in its order.
_NAMES = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def _score(gradebook: Any, assignment: Any, student: Any) -> dict[str, Any]:
    try:
        submission = gradebook.find_submission(assignment.name, student.id)
    except MissingEntry:
        when, score, penalty = None, 0.0, 0.0
    else:
        when, score = submission.timestamp, submission.score
        penalty = submission.late_submission_penalty or 0.0
    return {
        "assignment": assignment.name,
        "duedate": assignment.duedate,
        "timestamp": when,
        "student_id": student.id,
        "last_name": student.last_name,
        "first_name": student.first_name,
        "email": student.email,
        "raw_score": score,
        "late_submission_penalty": penalty,
        "score": max(0.0, score - penalty),
        "max_score": assignment.max_score,
    }
