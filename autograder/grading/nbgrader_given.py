"""What `grade --gradebook` leaves in a course directory beside the points: as `nbgrader autograde`.

The course directory is the one whose gradebook it is: that of the settings (nbgrader_config.py
where the command runs), or else the folder of the gradebook.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.apps import AutogradeApp
from nbgrader.converters.base import NbGraderException
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from traitlets import TraitError

from autograder import Refused
from autograder.grading.collect import SUBMITTED
from autograder.grading.database import said_by
from autograder.grading.folders import SUFFIX
from autograder.grading.lateness import has_policy, work_out_again
from autograder.grading.names import few
from autograder.grading.nbgrader_writer import NOT_ATTEMPTED, Writer, digest
from autograder.grading.submissions import Submission
from autograder.grading.timestamps import UnknownZoneError, moment, told, zone_of
from autograder.judge.judge import Graded

#: How a traceback names its error, and SQLAlchemy in a line of its own the database's; it puts its
#: statement and a link behind that.
_NAMES_ERROR = re.compile(r"[\w.]+: |\(\w+\.\w+\) ")
Whose = tuple[str, str]


class Given(Writer):
    """Writes submissions that lie anywhere, under the names that `grade` knows them by."""

    def give(
        self,
        work: Mapping[Whose, Sequence[Submission]],
        verdicts: Mapping[Whose, dict[str, Graded]],
        fresh: Set[Whose],
    ) -> None:
        """Says what there is to write.

        Args:
            work: by assignment and student.
            verdicts: by student and notebook.
            fresh: those of them that were judged just now.
        """
        self._work, self._verdicts, self._fresh = work, verdicts, fresh
        #: Of times that are none.
        self.said: dict[str, None] = {}
        self._given: dict[str, set[str]] = {}
        for (assignment, _), own in work.items():
            self._given.setdefault(assignment, set()).update(one.notebook for one in own)

    def init_notebooks(self) -> None:
        """No glob finds them: nbgrader is told the folders in which it would look."""
        no_names: list[str] = []
        self.notebooks = no_names
        self.assignments = {self._format_source(*whose): no_names for whose in self._work}

    def convert_notebooks(self) -> None:
        """Writes what is due."""
        self._judged.update(self._verdicts)
        self._due = {whose for whose in self._work if self._is_due(*whose)}
        super().convert_notebooks()

    def _names(self, assignment: str) -> list[str]:
        given = self._given.get(assignment, ())
        return [name for name in super()._names(assignment) if name in given]

    def _handed_in(self, assignment: str, student: str) -> list[Submission]:
        return list(self._work[assignment, student])

    def _is_due(self, assignment: str, student: str) -> bool:
        silent = self._lacking(assignment)[2]
        for one in self._work[assignment, student]:
            whose = student, one.notebook
            own = self._verdicts[whose].values()
            empty = (graded.exercise for graded in own if graded.outcome == NOT_ATTEMPTED)
            if whose in self._fresh or any((student, cell) in silent for cell in empty):
                return True
            shown = Path(self._format_dest(assignment, student), one.notebook + SUFFIX)
            if shown.exists() and digest(self._verdicts[whose]).encode() not in shown.read_bytes():
                return True  # a grader was killed in between
        return super()._is_due(assignment, student)

    def _when(self, assignment: str, student: str) -> datetime | None:
        """As the LMS tells it, or nbgrader beside the notebook."""
        beside = self._beside(assignment, student)
        if beside is not None:
            when, said = told(beside, zone_of(self.config))
            self.said |= dict.fromkeys([said] if said else [])
            return when
        by_lms = next((s.account.when for s in self._work[assignment, student] if s.account), "")
        try:
            return moment(by_lms, zone_of(self.config)) if by_lms else None
        except UnknownZoneError as error:
            self.said[f"{student} ({assignment}): {by_lms} {error.sentence}"] = None
            return None
        except (ValueError, OverflowError):  # in words that are no time
            return None

    def _beside(self, assignment: str, student: str) -> Path | None:
        """Only nbgrader's own folders are one student's and one lesson's: below a login, which a
        roster may call otherwise. The outermost counts, for a student may have made others.
        """
        path = self._work[assignment, student][0].path
        folders = (path, *path.parents)
        if path.is_dir():  # a student's, in which the lesson's holds no notebook
            folders = (path / assignment, *folders)
        above = (f for f in reversed(folders) if f.name == assignment)
        own = (f for f in above if f.parent.name == student or f.parent.parent.name == SUBMITTED)
        return next(own, None)


def write_notebooks(
    url: str,
    rows: Sequence[Graded],
    submissions: Sequence[Submission],
    fresh: Set[Whose],
    assignments: Mapping[str, str | None],
) -> list[str]:
    """Writes the rest of these verdicts' submissions; says in sentences what could not be.

    Args:
        assignments: by notebook, the gradebook's.
    """
    verdicts: dict[Whose, dict[str, Graded]] = {}
    for row in rows:
        if row.exercise:
            verdicts.setdefault((row.student, row.notebook), {})[row.exercise] = row
    work: dict[Whose, list[Submission]] = {}
    unnamed = []
    for one in submissions:
        assignment = assignments.get(one.notebook)
        if assignment is None or (one.student, one.notebook) not in verdicts:
            continue
        if one.student in (".", "..") or "/" in one.student:
            unnamed.append(one.student)
            continue
        here = replace(one, path=one.path.absolute(), root=one.root and one.root.absolute())
        work.setdefault((assignment, one.student), []).append(here)
    said = []
    if unnamed:
        said.append(
            f"No folder can have the name of {few(unnamed)}: the points are in the "
            "gradebook, and no autograded notebook is made."
        )
    if work:
        said += _write(url, work, verdicts, fresh)
    return said


def _write(
    url: str,
    work: Mapping[Whose, Sequence[Submission]],
    verdicts: Mapping[Whose, dict[str, Graded]],
    fresh: Set[Whose],
) -> list[str]:
    heard = _Heard(logging.ERROR)
    try:
        app = _application(url, heard)
        writer = Given(coursedir=app.coursedir, parent=app)
        writer.give(work, verdicts, fresh)
        writer.start()
        return [*writer.said]
    except (NbGraderException, TraitError, OSError, SQLAlchemyError) as error:
        why = heard.last or said_by(error)
        raise Refused(
            f"Not all autograded notebooks could be written: {why[:300].rstrip('.')}."
        ) from error


def late_by_now(url: str, book: Any, assignments: Set[str]) -> None:
    """Has the gradebook's penalties be those of its points as they are: marks may be new.

    Raises:
        Refused: where nbgrader's settings cannot be read.
    """
    if not has_policy(book):
        return
    heard = _Heard(logging.ERROR)
    try:
        app = _application(url, heard)
        for assignment in sorted(assignments):
            work_out_again(app, book, assignment)
    except TraitError as error:
        raise Refused(f"nbgrader's settings cannot be used: {error}") from error


class _Heard(logging.Handler):
    """What nbgrader logs of an error: of a traceback the line that names it, else the last."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        lines = record.getMessage().strip().splitlines()
        if lines and not lines[0].startswith(("There was an error", "Please see")):
            named = (line for line in reversed(lines) if _NAMES_ERROR.match(line))
            self.last = next(named, lines[-1])


def _application(url: str, heard: _Heard) -> AutogradeApp:
    """nbgrader's settings as its own command reads them here, for this gradebook.

    Raises:
        Refused: where they cannot be read. nbgrader would end, or go on without them.
    """
    app = AutogradeApp()
    app.log.handlers, app.log.propagate = [heard], False
    app.raise_config_file_errors = True
    try:
        app.initialize([])
    except (Exception, SystemExit) as error:  # whatever a person wrote into nbgrader_config.py
        why = heard.last or f"{type(error).__name__}: {error}"
        raise Refused(f"nbgrader's settings cannot be read: {why[:300]}.") from error
    app.log.handlers = [heard]
    address = make_url(url)
    file = (address.get_backend_name() == "sqlite" and address.database) or ""
    if file and not file.startswith("file:"):
        place = Path(file).absolute()
        url = f"sqlite:///{place}"
        if make_url(app.coursedir.db_url).database != str(place):
            app.coursedir.root = str(place.parent)
    app.coursedir.db_url = url
    return app
