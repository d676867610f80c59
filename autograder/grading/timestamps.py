"""When a submission was handed in, by a file that a stranger may have written.

nbgrader opens `timestamp.txt` whatever it is: a pipe there stops the formgrader, and a text that is
no time takes the class's page away. Here it is read like everything else that was handed in.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from autograder.grading.submissions import read_bytes
from autograder.judge.sentences import Fault

_LARGEST_BYTES = 1000


def timestamp(folder: Path, log: logging.Logger) -> datetime | None:
    """The time in a folder's `timestamp.txt`, or None where none can be read."""
    try:
        text = read_bytes(folder / "timestamp.txt", limit=_LARGEST_BYTES).decode().strip()
        found: datetime | None = parse_utc(text) if text else None
        return found
    except Fault as fault:
        if fault.message_id != "unreadable":
            log.warning("%s", fault)
    except Exception:  # a parser of dates that is given anything may raise anything
        log.warning("%r: timestamp.txt holds no time, so none is known", str(folder))
    return None


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
