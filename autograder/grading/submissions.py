"""One notebook that was handed in: its bytes, and the cells in them.

Nothing here executes anything: a notebook is bytes, then JSON, then the text of its cells.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from autograder.grading.names import clean
from autograder.judge.sentences import Fault, size_text
from autograder.lessons.catalogue import lesson_name, lessons
from course.plain.text import counted

#: A notebook with its outputs cleared has some 100 KB; pictures in outputs make it a few MB.
LARGEST_NOTEBOOK_BYTES = 20 * 2**20
#: The longest lesson has about a hundred cells.
MOST_CELLS = 5000
#: What is handed in for a notebook, and how it begins: no JSON does.
_KINDS = {
    b"%PDF": "a PDF",
    b"PK\x03\x04": "a zip archive or an office document",
    b"\x1f\x8b": "a gzip archive",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"<": "a web page, or XML",
}
#: No line of JSON begins so.
_UNMERGED = "\n<<<<<<< "
#: The longest solution of the course has some 4 KB.
LARGEST_CELL_BYTES = 256 * 2**10


@dataclass(frozen=True)
class Account:
    """What an LMS says of what it gave out: whose it is, and when it came.

    Attributes:
        ids: (kind, value), as `autograder.grading.roster.COLUMNS` names the kinds.
        when: the time at which it was handed in, in the LMS's words; "" where it tells none.
        turn: sorts behind those of all that this account handed in before.
    """

    ids: tuple[tuple[str, str], ...]
    late: bool = False
    when: str = ""
    turn: str = ""


@dataclass(frozen=True)
class Submission:
    """One notebook file of one student, or a folder that should have held one.

    `stem` is None until the lesson is known. `fault` is what keeps it from being read, and
    `rivals` are the files of which a person has to choose one. `account` is what an LMS says of
    it: a name that no student chose. `root` is the folder that a person named, below which no
    link is followed.
    """

    student: str
    notebook: str
    stem: str | None
    path: Path
    fault: Fault | None = None
    rivals: tuple[Path, ...] = ()
    account: Account | None = None
    root: Path | None = None

    def data(self) -> bytes:
        """Its bytes as they are now: a student may have changed them, or a folder, since.

        Raises:
            Fault: as `read_bytes`.
        """
        return read_bytes(self.path, root=self.root)

    def marks(self) -> dict[str, Any]:
        """What a verdict on it keeps of what the LMS says."""
        account = self.account or Account(())
        turn = f"{account.ids[0][0]} {account.turn}" if account.turn else ""
        return {"late": account.late, "handed_in": account.when, "turn": turn}


@dataclass(frozen=True)
class Cell:
    """A cell's text, None where it holds none, and what stands there instead."""

    kind: str
    source: str | None
    grade_id: str | None
    got: str = ""


@dataclass(frozen=True)
class Notebook:
    """The cells of a notebook in order. `unreadable` counts those that are no cells."""

    cells: tuple[Cell, ...]
    unreadable: int = 0

    def stem(self) -> str | None:
        """The lesson that has the most of the exercises named in these cells, or None."""
        ids = {cell.grade_id for cell in self.cells}
        held = {stem: sum(e.name in ids for e in known) for stem, known in lessons().items()}
        best = max(held, key=lambda stem: held[stem], default=None)
        return best if best is not None and held[best] else None

    def solution(self, exercise: str) -> str:
        """The text of the cell that has this exercise's grade id, or of its copies.

        Raises:
            Fault: if there is none, or several that differ, or if it holds no text.
        """
        found = [cell for cell in self.cells if cell.grade_id == exercise]
        if not found:
            other = self.stem()
            if other is not None and exercise not in {e.name for e in lessons()[other]}:
                raise Fault("other_lesson", exercise=exercise, lesson=lesson_name(other))
            bad = counted(self.unreadable, "cell")
            unreadable = f" (and {bad} cannot be read)" if self.unreadable else ""
            raise Fault("missing_cell", exercise=exercise, unreadable=unreadable)
        if any(other.source != found[0].source for other in found):
            raise Fault("duplicated_cell", exercise=exercise, count=len(found))
        source = found[0].source
        if source is None:
            raise Fault("cell_not_text", exercise=exercise, got=found[0].got)
        if len(source) > LARGEST_CELL_BYTES:
            sizes = {"size": size_text(len(source)), "limit": size_text(LARGEST_CELL_BYTES)}
            raise Fault("cell_too_large", exercise=exercise, **sizes)
        try:
            source.encode()
        except UnicodeEncodeError as error:
            line = source.count("\n", 0, error.start) + 1
            raise Fault("cell_not_unicode", exercise=exercise, line=line) from error
        return source


def read_bytes(path: Path, limit: int = LARGEST_NOTEBOOK_BYTES, root: Path | None = None) -> bytes:
    """A regular file's bytes; a link is not followed, a pipe or device not opened for good.

    Args:
        root: a folder above it: no folder between the two may be a link either.

    Raises:
        Fault: if it is no regular file, cannot be read, or has more than `limit` bytes.
    """
    name = clean(path.name)
    try:
        handle = _opened(path, path.parent if root is None else root)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Fault("link", file=name) from error
        raise Fault("unreadable", file=name, detail=error.strerror) from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            kind = "folder" if stat.S_ISDIR(status.st_mode) else "pipe or a device"
            raise Fault("not_a_file", file=name, kind=kind)
        data = b""
        if status.st_size <= limit:
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(limit + 1)
    except OSError as error:
        raise Fault("unreadable", file=name, detail=error.strerror) from error
    finally:
        os.close(handle)
    size = max(status.st_size, len(data))
    if size > limit:
        raise Fault("too_large", file=name, size=size_text(size), limit=size_text(limit))
    return data


def _opened(path: Path, root: Path) -> int:
    """A handle to a file, each name below `root` looked up in the folder that was there before."""
    into = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
    place = os.open(root, into)
    try:
        for name in path.relative_to(root).parts[:-1]:
            inner = os.open(name, into | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        return os.open(path.name, flags, dir_fd=place)
    finally:
        os.close(place)


def parse(data: bytes) -> Notebook:
    """The cells of a notebook in format 4.

    Raises:
        Fault: if it is none, in a sentence for each way not to be one.
    """
    if not data.strip():
        raise Fault("empty_file")
    kind = next((kind for begin, kind in _KINDS.items() if data.lstrip().startswith(begin)), None)
    if kind is not None:
        raise Fault("another_kind", kind=kind)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Fault("not_utf8", offset=error.start) from error
    content = _json(text)
    if not isinstance(content, dict):
        raise Fault("not_a_notebook", expected="an object", got=_kind(content))
    version = content.get("nbformat")
    if isinstance(version, bool) or not isinstance(version, int):
        raise Fault("not_a_notebook", expected="a whole number `nbformat`", got=_kind(version))
    if version != 4:
        raise Fault("old_format", version=version if abs(version) < 1000 else "unknown")
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise Fault("not_a_notebook", expected="a list `cells`", got=_kind(cells))
    if len(cells) > MOST_CELLS:
        raise Fault("too_many_cells", count=len(cells), limit=MOST_CELLS)
    read = [_cell(cell) for cell in cells]
    known = tuple(cell for cell in read if cell is not None)
    return Notebook(known, unreadable=len(read) - len(known))


def _json(text: str) -> Any:
    def constant(name: str) -> NoReturn:
        raise Fault("not_finite", constant=name)

    try:
        return json.loads(text, parse_constant=constant)
    except json.JSONDecodeError as error:
        if _UNMERGED in text:
            raise Fault("another_kind", kind="two versions that git could not merge") from error
        raise Fault("not_json", line=error.lineno, detail=error.msg) from error
    except RecursionError as error:
        raise Fault("too_deep") from error
    except ValueError as error:  # a number of thousands of digits
        raise Fault("not_json", line="unknown", detail="a number is too long") from error


def _cell(content: object) -> Cell | None:
    """The cell, or None where there is no telling what it is."""
    if not isinstance(content, dict) or not isinstance(content.get("cell_type"), str):
        return None
    metadata = content.get("metadata", {})
    nbgrader = metadata.get("nbgrader", {}) if isinstance(metadata, dict) else None
    if not isinstance(nbgrader, dict):
        return None
    grade_id = nbgrader.get("grade_id")
    source = content.get("source")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    return Cell(
        content["cell_type"],
        source if isinstance(source, str) else None,
        grade_id if isinstance(grade_id, str) else None,
        "" if isinstance(source, str) else _kind(source),
    )


def _kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    kinds = ((str, "a text"), (list, "a list"), (dict, "an object"))
    return next((words for kind, words in kinds if isinstance(value, kind)), "something else")
