"""Verdicts on disk: one small file each, written whole or not at all, as they come.

    OUT/verdicts/STUDENT/NOTEBOOK/EXERCISE.json   a verdict with its panel
    OUT/verdicts.json, .jsonl, .csv               all of them, a row each
    OUT/.seed                                     where no other seed was given

A run that was stopped leaves every verdict it had come to; the next one goes on from there.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import hashlib
import io
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from pathlib import Path

from autograder.judge import Graded
from autograder.lessons import lesson_exercises, stem_of_notebook
from autograder.sentences import JUDGED_AGAIN

_NAMES = {field.name for field in fields(Graded)}
_ROW_NAMES = list(Graded("", "", "", "", 0, 0).row())
#: A spreadsheet takes a text that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
SEED_BYTES = 32
SEED_FILE = ".seed"


class StoreError(Exception):
    """A folder that cannot be written, in a sentence."""


class Store:
    """The verdicts below one folder. Several runs may write to it side by side."""

    def __init__(self, out: Path) -> None:
        self.out = out
        with self._explained():
            (out / "verdicts").mkdir(parents=True, exist_ok=True)
            with _temporary(out / "probe") as (handle, name):
                os.write(handle, b"?")
                name.unlink()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"Cannot write to {self.out}: {error.strerror}. What was written before is kept. "
                "Make room or choose another --out, and run the same command again."
            ) from error

    def has_seed(self) -> bool:
        """Whether a run of this folder has made a seed of its own."""
        return (self.out / SEED_FILE).exists()

    def seed(self) -> bytes:
        """The secret of this folder's runs: made by the first of them, readable by its owner."""
        path = self.out / SEED_FILE
        with self._explained():
            if not path.exists():
                with _temporary(path, mode=0o600) as (handle, name):
                    os.write(handle, secrets.token_hex(SEED_BYTES).encode())
                    with contextlib.suppress(FileExistsError):
                        os.link(name, path)  # the first of two runs wins, whole
                    name.unlink()
            return path.read_bytes().strip()

    def path(self, student: str, notebook: str, exercise: str) -> Path:
        """Where one verdict stands."""
        return self._folder(student) / slug(notebook or "none") / f"{exercise or 'none'}.json"

    def _folder(self, student: str) -> Path:
        return self.out / "verdicts" / slug(student)

    def keep(self, graded: Graded) -> None:
        """Writes a verdict, durably: after this returns, no crash loses it."""
        data = json.dumps(asdict(graded), indent=1).encode()
        with self._explained():
            write(self.path(graded.student, graded.notebook, graded.exercise), data)

    def known(self, student: str, notebook: str, exercise: str, key: str) -> Graded | None:
        """The verdict that is already there for just this work, or None."""
        graded = _read(self.path(student, notebook, exercise))
        if graded is None or graded.key != key or graded.message_id in JUDGED_AGAIN:
            return None
        if (graded.student, graded.notebook, graded.exercise) != (student, notebook, exercise):
            return None
        return graded

    def failed(self, student: str, notebook: str) -> bool:
        """Whether a verdict on this notebook says something of the judge and not of an answer."""
        found = self.path(student, notebook, "").parent.glob("*.json")
        return any(row.message_id in JUDGED_AGAIN for row in filter(None, map(_read, found)))

    def forget_unnamed(self, student: str) -> None:
        """Removes verdicts on a student's notebooks whose lesson was not known."""
        for path in self._folder(student).glob("*/none.json"):
            path.unlink(missing_ok=True)

    def all(self) -> list[Graded]:
        """Every verdict, by student, lesson and place in the lesson."""
        paths = sorted(self.out.glob("verdicts/*/*/*.json"))
        return sorted(filter(None, map(_read, paths)), key=order)

    @contextlib.contextmanager
    def summarising(self) -> Iterator[None]:
        """While two runs end at once, they write what sums up the folder one after the other."""
        with self._explained():
            handle = os.open(self.out / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                yield
            finally:
                os.close(handle)

    def write(self, name: str, data: str) -> Path:
        """Writes a report of the whole folder."""
        with self._explained():
            write(self.out / name, data.encode("utf-8", "backslashreplace"))
        return self.out / name


def slug(name: str) -> str:
    """A file name that is different for each name, and can be read."""
    readable = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("._")[:40]
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return name if readable == name and name.islower() else f"{readable or 'name'}-{digest}"


def write(path: Path, data: bytes) -> None:
    """Puts `data` at `path`, whole or not at all, even if the machine stops meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with _temporary(path) as (handle, name):
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
        name.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def _temporary(path: Path, mode: int = 0o666) -> Iterator[tuple[int, Path]]:
    name = path.parent / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        yield handle, name
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def _read(path: Path) -> Graded | None:
    try:
        content = json.loads(path.read_bytes())
        return Graded(**{name: content[name] for name in _NAMES})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none, or none that this version wrote: judged again


def order(graded: Graded) -> tuple[str, str, int, str]:
    """A key to sort by: student, lesson, place in the lesson."""
    stem = stem_of_notebook(graded.notebook)
    names = [exercise.name for exercise in lesson_exercises(stem)] if stem else []
    place = names.index(graded.exercise) if graded.exercise in names else len(names)
    return graded.student.casefold(), graded.notebook, place, graded.exercise


def as_json(rows: Iterable[Graded]) -> str:
    """One list of rows."""
    return json.dumps([graded.row() for graded in rows], indent=1) + "\n"


def as_json_lines(rows: Iterable[Graded]) -> str:
    """A row a line."""
    return "".join(json.dumps(graded.row()) + "\n" for graded in rows)


def as_csv(rows: Iterable[Graded]) -> str:
    """A table for a spreadsheet, in which no text is taken for a formula."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _ROW_NAMES, lineterminator="\r\n")
    writer.writeheader()
    for graded in rows:
        row = graded.row()
        for name, value in row.items():
            if isinstance(value, str) and value.startswith(_FORMULA):
                row[name] = "'" + value
        writer.writerow(row)
    return text.getvalue()
