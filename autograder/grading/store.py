"""Verdicts on disk, entered as they come, each whole or not at all.

    OUT/ledger.db                     every verdict with its panel, and those before it; with
                                      --ledger they are on a server, and OUT/ledger.url names it
    OUT/verdicts.json, .jsonl, .csv   those that hold, a row each
    OUT/.seed                         where no other seed was given

A run that was stopped leaves every verdict it had come to; the next one goes on from there.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from autograder import Refused
from autograder.grading import spreadsheet
from autograder.grading.database import NAME, SUMMARY, URL_FILE, said_by
from autograder.grading.files import secret, temporary, write
from autograder.grading.ledger import Entry, Ledger
from autograder.grading.submissions import Submission
from autograder.grading.waiting import Waiting
from autograder.judge import judge
from autograder.judge.judge import Graded
from autograder.judge.sentences import HELD, JUDGED_AGAIN
from autograder.lessons.catalogue import lesson_exercises, stem_of_notebook

_ROW_NAMES = list(Graded("", "", "", "", 0, 0).row())
_LINE = "\n"
#: Between looks at whether another run has written the reports.
_LOOK_SECONDS = 0.1
_FORBIDDEN = errno.EROFS, errno.EACCES, errno.EPERM
#: PostgreSQL's codes for what a role may not do, or not see.
_NOT_GRANTED = "42501", "3F000"
SEED_FILE = ".seed"


def store_of(folder: Path, may_write: bool = True) -> Store:
    """The store of a folder that a run has graded into, for what makes none.

    Raises:
        Refused: there is none, or it cannot be opened.
    """
    if not is_graded(folder):
        raise Refused(f"There is no ledger in {folder}. --from names the right one.")
    return Store(folder, may_write=may_write)


def is_graded(folder: Path) -> bool:
    """Whether a run has left verdicts there."""
    return any((folder / name).exists() for name in (NAME, URL_FILE, SUMMARY))


class Store:
    """The verdicts below one folder. Several runs may write to it side by side."""

    def __init__(self, out: Path, ledger: str | None = None, may_write: bool = True) -> None:
        """Opens the folder, and makes it; `ledger` is a server's URL, where that is to hold it."""
        self.out = out
        self._does = "write to" if may_write else "read"
        self._on_server = bool(ledger) or (out / URL_FILE).exists()
        with self.explained():
            if may_write:
                out.mkdir(parents=True, exist_ok=True)
                with temporary(out / "probe") as (handle, name):
                    os.write(handle, b"?")
                    name.unlink()
            self.ledger = Ledger(out, ledger, may_write)

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """What goes wrong with files or the database is a Refused, with what to do next."""
        try:
            yield
        except (OSError, SQLAlchemyError) as error:
            detail = error.strerror if isinstance(error, OSError) else said_by(error)
            if _sqlites_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise Refused(
                    f"{self.out / NAME} is damaged: {detail}. Put your copy of it back. If there "
                    f"is none, move it and {SUMMARY} away: the same command then judges everything "
                    "again, with the same seed to the same verdicts, and only their history is "
                    "lost."
                ) from error
            if self._on_server and isinstance(error, SQLAlchemyError):
                step = "Is the server there, and its address right?"
                if getattr(getattr(error, "orig", None), "sqlstate", "") in _NOT_GRANTED:
                    step = "Whoever owns the database makes the ledger, by grading once, and grants"
                    step += " this role what docs/instructors.md lists (On a database server)."
                raise Refused(
                    f"The ledger of {self.out} is on a database server, which says: {detail}. "
                    f"What was written before is kept. {step} Then run the same command again."
                ) from error
            if isinstance(error, PermissionError) and (whose := self._others()):
                raise Refused(
                    f"{self.out} belongs to {whose}, and nobody else may read the seed in it. "
                    f"Grade as {whose}, or with an --out of your own."
                ) from error
            step = "Make room or choose another --out, and run the same command again."
            if _sqlites_code(error) == sqlite3.SQLITE_BUSY:
                step = f"Another program has {NAME} open and holds it: end that, and run the same "
                step += "command again."
            forbidden = isinstance(error, OSError) and error.errno in _FORBIDDEN
            if forbidden or self._does == "read":
                step = "Take another folder: a copy of this one holds all that it did."
            raise Refused(
                f"Cannot {self._does} {self.out}: {detail}. What was written before is kept. {step}"
            ) from error

    def _others(self) -> str:
        """Whose the folder is, if not ours."""
        with contextlib.suppress(OSError, KeyError):  # it is not there, its user has no name
            if self.out.stat().st_uid != os.getuid():
                return self.out.owner()
        return ""

    def has_seed(self) -> bool:
        """Whether a run of this folder has made a seed of its own."""
        return (self.out / SEED_FILE).exists()

    def seed(self) -> bytes:
        """The secret of this folder's runs: made by the first of them, readable by its owner."""
        path = self.out / SEED_FILE
        with self.explained():
            seed = secret(path)
        if not seed:
            raise Refused(
                f"{path} is empty, and everybody knows the cases of an empty seed. Put your copy "
                "of it back; without one, remove it: the whole class is then judged again, on "
                "other cases."
            )
        return seed

    def keep(self, graded: Graded) -> None:
        """Enters a verdict, durably: after this returns, no crash loses it."""
        stem = stem_of_notebook(graded.notebook) or ""
        with self.explained():
            self.ledger.append(graded, judge.course_version(), judge.lesson_version(stem))

    def known(
        self, student: str, notebook: str, exercise: str, key: str, regrade: bool = False
    ) -> Graded | None:
        """The verdict that is already there for just this work, or None.

        Args:
            regrade: whether only those count that came since this folder was opened. These count
                always, also where the judge failed: two runs would ask each other without end.
        """
        with self.explained():
            entry = self.ledger.last(student, notebook, exercise)
        return None if entry is None else self._counting(entry, key, regrade)

    def all_known(
        self, student: str, notebook: str, keys: Mapping[str, str], regrade: bool = False
    ) -> dict[str, Graded]:
        """The same of a notebook's exercises, whose keys these are, looked up once."""
        with self.explained():
            found = list(self.ledger.latest(student=student, notebook=notebook))
        known = {}
        for entry in found:
            name = entry.graded.exercise if entry.graded else ""
            graded = self._counting(entry, keys[name], regrade) if name in keys else None
            if graded is not None:
                known[name] = graded
        return known

    def _counting(self, entry: Entry, key: str, regrade: bool) -> Graded | None:
        """A row's verdict, where it is on just the work that has this key."""
        if entry.graded is None or entry.graded.key != key:
            return None
        again = regrade or entry.graded.message_id in JUDGED_AGAIN
        return None if again and entry.id <= self.ledger.begun else entry.graded

    def last(self, student: str, notebook: str, exercise: str) -> Graded | None:
        """The verdict that is there, on whatever work of this student's, or None."""
        with self.explained():
            entry = self.ledger.last(student, notebook, exercise)
        return None if entry is None else entry.graded

    def has_later(self, submission: Submission) -> bool:
        """Whether a verdict is there on what the same account handed in later than this."""
        turn = submission.marks()["turn"]
        if not turn:
            return False
        of_kind = turn.partition(" ")[0] + " "
        whose = {"student": submission.student, "notebook": submission.notebook}
        with self.explained():
            found = [entry.graded for entry in self.ledger.latest(panels=False, **whose)]
        return any(
            one.turn.startswith(of_kind) and one.turn > turn
            for one in found
            if one is not None and one.message_id not in HELD
        )

    def failed(self, student: str, notebook: str) -> bool:
        """Whether a verdict on this notebook says something of the judge and not of an answer."""
        with self.explained():
            found = self.ledger.latest(student=student, notebook=notebook)
            return any(one.graded and one.graded.message_id in JUDGED_AGAIN for one in found)

    def forget_unnamed(self, student: str, but: Iterable[str] = ()) -> None:
        """Withdraws verdicts on a student's notebooks whose lesson was not known.

        Args:
            but: notebooks that are there, and their lesson still not known.
        """
        with self.explained():
            self.ledger.withdraw(student, keep=but)

    def forget_uncounted(self, works: Mapping[tuple[str, str], Collection[str]]) -> None:
        """Withdraws verdicts on exercises that do not count in the class any more.

        Args:
            works: by (student, notebook) the exercises that do.
        """
        going = self.uncounted(works)
        with self.explained():
            self.ledger.withdraw_each(going)

    def uncounted(
        self, works: Mapping[tuple[str, str], Collection[str]]
    ) -> list[tuple[str, str, str]]:
        """(student, notebook, exercise) of the verdicts that `forget_uncounted` would withdraw."""
        with self.explained():
            found = self.ledger.works()
        return [w for w in found if w[2] and w[2] not in works.get(w[:2], w)]

    def claim(self, submission: Submission) -> bool:
        """Takes a notebook for this run; False while another run is at work on it."""
        with self.explained():
            return self.ledger.claim(submission.student, submission.notebook)

    def held_by(self) -> str:
        """Which grader had what this one last asked for in vain."""
        return self.ledger.held_by

    def release(self) -> None:
        """Gives back what this run has claimed and not judged."""
        with self.explained():
            self.ledger.release()

    def students(self) -> list[str]:
        """Whoever has a verdict, or had one."""
        with self.explained():
            return self.ledger.students()

    def all(self) -> list[Graded]:
        """Every verdict that holds, by student, lesson and place in the lesson."""
        with self.explained():
            found = [entry.graded for entry in self.ledger.latest()]
        return ordered(filter(None, found))

    @contextlib.contextmanager
    def summarising(self) -> Iterator[None]:
        """While two runs end at once, they write reports and gradebook one after the other."""
        with self.explained():
            handle = os.open(self.out / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                waiting = Waiting()
                while not _is_locked(handle):
                    waiting.on(f"another grader, which writes what comes of {self.out}")
                    time.sleep(_LOOK_SECONDS)
                waiting.over()
                yield
            finally:
                os.close(handle)

    def write(self, name: str, data: str | Iterable[str], durable: bool = True) -> Path:
        """Writes a report of the whole folder, or of a part of it: a text, or parts of one."""
        parts = (data,) if isinstance(data, str) else data
        with self.explained():
            encoded = (part.encode("utf-8", "backslashreplace") for part in parts)
            write(self.out / name, encoded, durable)
        return self.out / name


def _is_locked(handle: int) -> bool:
    """Whether a file is this process's now."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _sqlites_code(error: OSError | SQLAlchemyError) -> int:
    """What SQLite calls it; 0 where it is another's."""
    return getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF


def ordered(rows: Iterable[Graded]) -> list[Graded]:
    """By student, lesson and place in the lesson."""
    listed = list(rows)
    places: dict[str, dict[str, int]] = {}
    for notebook in {row.notebook for row in listed}:
        stem = stem_of_notebook(notebook)
        known = lesson_exercises(stem) if stem else ()
        places[notebook] = {exercise.name: place for place, exercise in enumerate(known)}

    def key(row: Graded) -> tuple[str, str, str, int, str]:
        place = places[row.notebook].get(row.exercise, len(places[row.notebook]))
        return row.student.casefold(), row.student, row.notebook, place, row.exercise

    return sorted(listed, key=key)


def as_json(rows: Iterable[Graded]) -> Iterator[str]:
    """One list of rows, in parts."""
    between = "[\n"
    for graded in rows:
        yield f"{between} {json.dumps(graded.row(), indent=1).replace(_LINE, _LINE + ' ')}"
        between = ",\n"
    yield "[]\n" if between.startswith("[") else "\n]\n"


def as_json_lines(rows: Iterable[Graded]) -> Iterator[str]:
    """A row a line."""
    return (json.dumps(graded.row()) + "\n" for graded in rows)


def as_csv(rows: Iterable[Graded]) -> Iterator[str]:
    """A table for a spreadsheet, in which no text is taken for a formula, in parts."""
    return spreadsheet.lines(_ROW_NAMES, (graded.row() for graded in rows))
