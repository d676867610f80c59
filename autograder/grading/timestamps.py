"""When a submission was handed in, by a file that a stranger may have written.

nbgrader opens `timestamp.txt` whatever it is: a pipe there stops the formgrader, and a text that is
no time takes the class's page away. Here it is read like everything else that was handed in.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default.collect import ExchangeCollect
from nbgrader.exchange.default.release_feedback import ExchangeReleaseFeedback
from nbgrader.utils import parse_utc

from autograder.grading.names import clean
from autograder.grading.submissions import read_bytes
from autograder.judge.sentences import Fault

TIMESTAMP = "timestamp.txt"
_LARGEST_BYTES = 1000
#: The blank before an offset from UTC.
_OFFSET = re.compile(r"\s+(?=[+-]\d\d(:?\d\d)?$)")
#: A day, a time, and a zone by its name.
_IN_A_ZONE = re.compile(r"(?P<when>\S+ \S+) (?P<zone>[A-Za-z]\S*)")
#: What `nbgrader submit` adds to the work, and `release_feedback` finds the student's copy by.
_OF_THE_EXCHANGE = (TIMESTAMP, "submission_secret.txt")
_AGAIN = "the same command enters it, and what lateness costs."
_RELEASE = ExchangeReleaseFeedback.copy_files
_RECORD = ExchangeCollect._path_to_record
_OTHER_WAY = (
    "%s: handed in another way than by the exchange, and feedback cannot go back by it. "
    "Send the pages in %s."
)


class UnknownZoneError(ValueError):
    """A time in a zone whose name alone says nothing: CEST, EDT."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.sentence = (
            f"is in a zone, {clean(name)}, that c.Exchange.timezone of nbgrader_config.py would "
            f"tell: so nothing counts as late. Name it there: {_AGAIN}"
        )


def moment(told: str, zone: str = "") -> datetime:
    """A time in UTC, as nbgrader's gradebook keeps it.

    nbgrader takes an offset behind a blank (`15:30:00 -0700`) for seconds, or for nothing, and a
    time in CEST or EDT, as its exchange writes it in summer, for one in UTC.

    Args:
        zone: that of the exchange; beside it this machine's own is known.

    Raises:
        UnknownZoneError: where neither has a name that the time has.
        ValueError, OverflowError: where it is no time.
    """
    named = _IN_A_ZONE.fullmatch(told)
    if named:
        when: datetime = parse_utc(named["when"])
        twice = [when.replace(fold=fold) for fold in (0, 1)]
        there = _zone(zone)
        told_there = [one.replace(tzinfo=there) for one in twice if there]
        for one in (*told_there, *(one.astimezone() for one in twice)):
            if one.tzname() == named["zone"]:
                return one.astimezone(UTC).replace(tzinfo=None, fold=0)
        if named["zone"] != "Z" and _zone(named["zone"]) is None:
            raise UnknownZoneError(named["zone"])
    found: datetime = parse_utc(_OFFSET.sub("", told))
    return found


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def zone_of(config: Any) -> str:
    """The zone in which nbgrader's exchange tells times, by its settings; "" where none is set."""
    return str(config.get("Exchange", {}).get("timezone", ""))


def timestamp(folder: Path, log: logging.Logger, zone: str = "") -> datetime | None:
    """The time in a folder's `timestamp.txt`, or None where none can be read, which is logged."""
    found, said = told(folder, zone)
    if said:
        log.warning("%s", said)
    return found


def told(folder: Path, zone: str = "") -> tuple[datetime | None, str]:
    """(the time in a folder's `timestamp.txt`, a sentence where there is one that tells none)"""
    try:
        text = read_bytes(folder / TIMESTAMP, limit=_LARGEST_BYTES).decode().strip()
        return moment(text, zone), ""
    except Fault as fault:
        why = "" if fault.message_id == "unreadable" else f"{fault.sentence} "
    except UnknownZoneError as error:
        return None, f"The time in {str(folder / TIMESTAMP)!r} {error.sentence}"
    except Exception:  # a parser of dates that is given anything may raise anything
        why = "Expected a time such as 2026-10-05 21:59:00 UTC. "
    if not why:
        return None, ""
    place = str(folder / TIMESTAMP)
    return None, f"{place!r} holds no time, so nothing counts as late. {why}Put one there: {_AGAIN}"


def install() -> None:
    """Has nbgrader's commands and the formgrader read them so."""

    def existing(self: Any, dest_path: str) -> datetime | None:
        return timestamp(Path(dest_path), self.log, zone_of(self.config))

    def submitted(self: Any, assignment_id: str, student_id: str) -> datetime | None:
        directory = self.coursedir
        place = directory.format_path(directory.submitted_directory, student_id, assignment_id)
        return timestamp(Path(place), self.log, zone_of(self.config))

    def record(self: Any, path: str) -> Any:
        found = _RECORD(self, path)
        told = found["filename"].rsplit("+", 3)[2]
        with contextlib.suppress(ValueError, OverflowError):  # else as nbgrader takes it
            found["timestamp"] = moment(told, self.timezone)
        return found

    CourseDirectory.get_existing_timestamp = existing
    NbGraderAPI.get_submitted_timestamp = submitted
    ExchangeReleaseFeedback.copy_files = _released
    ExchangeCollect._path_to_record = record


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
