"""When a submission was handed in, by a file that a stranger may have written.

nbgrader opens `timestamp.txt` whatever it is: a pipe there stops the formgrader, and a text that is
no time takes the class's page away. Here it is read like everything else that was handed in.
"""

from __future__ import annotations

import glob
import logging
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default.release_feedback import ExchangeReleaseFeedback
from nbgrader.utils import parse_utc

from autograder.grading.submissions import read_bytes
from autograder.judge.sentences import Fault

TIMESTAMP = "timestamp.txt"
_LARGEST_BYTES = 1000
#: The blank before an offset from UTC.
_OFFSET = re.compile(r"\s+(?=[+-]\d\d:?\d\d$)")
#: What `nbgrader submit` adds to the work, and `release_feedback` finds the student's copy by.
_OF_THE_EXCHANGE = (TIMESTAMP, "submission_secret.txt")
_AGAIN = "the same command enters it, and what lateness costs."
_RELEASE = ExchangeReleaseFeedback.copy_files
_OTHER_WAY = (
    "%s: handed in another way than by the exchange, and feedback cannot go back by it. "
    "Send the pages in %s."
)


def moment(told: str) -> datetime:
    """A time in UTC, as nbgrader's gradebook keeps it.

    nbgrader takes an offset behind a blank (`15:30:00 -0700`) for seconds, or for nothing.

    Raises:
        ValueError, OverflowError: where it is no time.
    """
    found: datetime = parse_utc(_OFFSET.sub("", told))
    return found


def timestamp(folder: Path, log: logging.Logger) -> datetime | None:
    """The time in a folder's `timestamp.txt`, or None where none can be read, which is logged."""
    found, said = told(folder)
    if said:
        log.warning("%s", said)
    return found


def told(folder: Path) -> tuple[datetime | None, str]:
    """(the time in a folder's `timestamp.txt`, a sentence where there is one that tells none)"""
    try:
        return moment(read_bytes(folder / TIMESTAMP, limit=_LARGEST_BYTES).decode().strip()), ""
    except Fault as fault:
        why = "" if fault.message_id == "unreadable" else f"{fault.sentence} "
    except Exception:  # a parser of dates that is given anything may raise anything
        why = "Expected a time such as 2026-10-05 21:59:00 UTC. "
    if not why:
        return None, ""
    place = str(folder / TIMESTAMP)
    return None, f"{place!r} holds no time, so nothing counts as late. {why}Put one there: {_AGAIN}"


def install() -> None:
    """Has nbgrader's commands and the formgrader read them so."""

    def existing(self: Any, dest_path: str) -> datetime | None:
        return timestamp(Path(dest_path), self.log)

    def submitted(self: Any, assignment_id: str, student_id: str) -> datetime | None:
        directory = self.coursedir
        place = directory.format_path(directory.submitted_directory, student_id, assignment_id)
        return timestamp(Path(place), self.log)

    CourseDirectory.get_existing_timestamp = existing
    NbGraderAPI.get_submitted_timestamp = submitted
    ExchangeReleaseFeedback.copy_files = _released


def _released(self: Any) -> None:
    """Gives back what came through the exchange, and names the students whose work did not."""
    directory, excluded = self.coursedir, self.coursedir.student_id_exclude
    others = _handed_in_another_way(directory)
    for student, folder in others.items():
        self.log.warning(_OTHER_WAY, student, folder)
    directory.student_id_exclude = ",".join([*filter(None, [excluded]), *others])
    try:
        _RELEASE(self)
    finally:
        directory.student_id_exclude = excluded


def _handed_in_another_way(directory: CourseDirectory) -> dict[str, Path]:
    """Students whose feedback the exchange cannot give them, each with its folder."""
    place, assignment = directory.feedback_directory, directory.assignment_id
    named = re.compile(directory.format_path(place, "(?P<student>.*)", assignment, escape=True))
    pattern = directory.format_path(place, directory.student_id or "*", assignment)
    folders = glob.glob(pattern)  # noqa: PTH207 - from the root on, as nbgrader does
    return {
        match["student"]: Path(folder)
        for folder in sorted(folders)
        if (match := named.fullmatch(folder))
        and not all(Path(folder, name).is_file() for name in _OF_THE_EXCHANGE)
    }
