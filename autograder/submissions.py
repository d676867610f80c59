"""What was handed in: which files there are, whose they are, and the cells in them.

Nothing here executes anything: a notebook is bytes, then JSON, then the text of its cells.

Whose notebook a file is:
1. Below a folder named `submitted`, as nbgrader keeps it (`submitted/STUDENT/ASSIGNMENT/
   NOTEBOOK.ipynb`): the student is the folder below `submitted`.
2. Otherwise in a sub-folder of the path that was given: the student is the first folder below
   that path, unless it is named after a lesson.
3. Otherwise the file's name without the lesson's name: `vega_01_threads.ipynb`,
   `01_threads-vega.ipynb` and `vega.ipynb` are all Vega's.
4. If nothing is left, the nearest folder above it that is not named after a lesson.

Which lesson it is: what the file's name says, else the folder's, else the lesson that has the
most of the exercises named in its cells.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from autograder.lessons import has_no_exercises, lesson_in, lesson_name, lessons, stem_of_notebook
from autograder.sentences import Fault, size_text

#: A notebook with its outputs cleared has some 100 KB; pictures in outputs make it a few MB.
LARGEST_NOTEBOOK_BYTES = 20 * 2**20
#: The longest lesson has about a hundred cells.
MOST_CELLS = 5000
#: The longest solution of the course has some 4 KB.
LARGEST_CELL_BYTES = 256 * 2**10
LONGEST_NAME = 80
SUFFIX = ".ipynb"
_SUBMITTED = "submitted"
_IGNORED_FOLDERS = ("__pycache__", "node_modules")


@dataclass(frozen=True)
class Submission:
    """One notebook file of one student, or a folder that should have held one.

    `stem` is None until the lesson is known. `fault` is what keeps it from being read.
    """

    student: str
    notebook: str
    stem: str | None
    path: Path
    fault: Fault | None = None


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
        """The text of the cell that has this exercise's grade id.

        Raises:
            Fault: if there is none, or more than one, or if it holds no text.
        """
        found = [cell for cell in self.cells if cell.grade_id == exercise]
        if not found:
            unreadable = f" (and {self.unreadable} cells cannot be read)" if self.unreadable else ""
            raise Fault("missing_cell", exercise=exercise, unreadable=unreadable)
        if len(found) > 1:
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


@dataclass
class Found:
    """The submissions below some paths, and sentences about what could not be taken."""

    submissions: list[Submission] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find(paths: Iterable[Path], stem: str | None = None) -> Found:
    """Every notebook below `paths`, each once, and every student's folder without one.

    Args:
        stem: the lesson that all of them are of, if it is known.
    """
    found = Found()
    seen: set[Path] = set()
    for given in paths:
        path = given / _SUBMITTED if (given / _SUBMITTED).is_dir() else given
        if not os.path.lexists(path):
            found.problems.append(f"{path} does not exist. Check the path, then grade again.")
            continue
        files = list(_walk(path, found.problems)) if path.is_dir() else [path]
        root = path if path.is_dir() else path.parent
        taken = [file for file in files if file.suffix.lower() == SUFFIX]
        if not path.is_dir() and has_no_exercises(path.stem):
            found.problems.append(f"{path} has no exercises: there is nothing to grade in it.")
            continue
        taken = [file for file in taken if not has_no_exercises(file.stem)]
        if not path.is_dir() and not taken:
            found.problems.append(f"{path} is no notebook: expected a file named *.ipynb.")
            continue
        empty = [] if not path.is_dir() else list(_without_notebooks(root, taken))
        if not taken and not empty:
            found.problems.append(f"{path} holds no notebook (*.ipynb).")
        for file in taken:
            where = _absolute(file)
            if where not in seen:
                seen.add(where)
                found.submissions.append(_submission(root, file, stem))
        found.submissions.extend(empty)
    return found


def _walk(root: Path, problems: list[str]) -> Iterator[Path]:
    """Files, and links and folders that are named like notebooks, sorted; links not followed."""

    def fail(error: OSError) -> None:
        problems.append(f"{error.filename} cannot be read: {error.strerror}.")

    for folder, folders, files in os.walk(root, onerror=fail):
        entries = [*files, *(f for f in folders if f.lower().endswith(SUFFIX))]
        links = [f for f in folders if Path(folder, f).is_symlink()]
        folders[:] = sorted(
            f
            for f in folders
            if not f.startswith(".") and f not in (*_IGNORED_FOLDERS, *links, *entries)
        )
        yield from (Path(folder, name) for name in sorted(entries) if not name.startswith("."))


def _without_notebooks(root: Path, taken: list[Path]) -> Iterator[Submission]:
    """Students' folders in which nothing can be graded, where others' folders hold notebooks."""
    first = {file.relative_to(root).parts[0] for file in taken if file.parent != root}
    if not first and root.name != _SUBMITTED:
        return
    for folder in sorted(root.iterdir()):
        named = folder.name in first or folder.name.startswith(".") or lesson_in(folder.name)
        if named or folder.name in _IGNORED_FOLDERS or folder.suffix == SUFFIX:
            continue
        if not folder.is_dir():
            continue
        name = folder.name
        if folder.is_symlink():
            fault = Fault("link", file=clean(name))
            yield Submission(clean(name), "", None, folder, fault)
            continue
        inside = [path.relative_to(folder) for path in sorted(folder.rglob("*"))]
        files = [str(path) for path in inside if (folder / path).is_file()]
        known = {stem_of_notebook(path.name) for path in inside if (folder / path).is_dir()}
        others = f", only {clean(files[0])}" if files else ""
        fault = Fault("no_notebook", folder=clean(name), found=others)
        stems = sorted(known - {None}, key=str) or [None]
        for stem in stems:
            notebook = lesson_name(stem) if stem else ""
            yield Submission(clean(name), notebook, stem, folder, fault)


def _submission(root: Path, file: Path, stem: str | None) -> Submission:
    named = lesson_in(file.stem)
    folders = _absolute(file).parent.parts
    in_folder = next(filter(None, (stem_of_notebook(f) for f in reversed(folders))), None)
    stem = stem or (named[0] if named else in_folder)
    notebook = lesson_name(stem) if stem else clean(file.stem)
    return Submission(_student(root, file, named), notebook, stem, file)


def _student(root: Path, file: Path, named: tuple[str, str] | None) -> str:
    folders = list(_absolute(file).parent.parts)
    if _SUBMITTED in folders:
        below = folders[len(folders) - folders[::-1].index(_SUBMITTED) :]
        if below:
            return clean(below[0])
    below = list(file.relative_to(root).parent.parts)
    if below and stem_of_notebook(below[0]) is None:
        return clean(below[0])
    rest = file.stem if named is None else named[1]
    if any(character.isalpha() for character in rest):
        return clean(rest)
    above = (f for f in reversed(folders) if stem_of_notebook(f) is None and f != os.sep)
    return clean(next(above, "student"))


def _absolute(path: Path) -> Path:
    """Without `..`, and with links as they are."""
    return Path(os.path.normpath(path.absolute()))


def clean(name: str) -> str:
    """A name as it can be shown and stored: Unicode text, no control characters, not endless."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    text = unicodedata.normalize("NFC", text)
    text = "".join(c if unicodedata.category(c)[0] != "C" else "\ufffd" for c in text)
    text = text.strip() or "student"
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def without_collisions(submissions: Iterable[Submission]) -> list[Submission]:
    """One submission a student and notebook: where several files claim to be it, none counts.

    A file that is named just like the lesson's notebook wins over copies beside it.
    """
    claims: dict[tuple[str, str], list[Submission]] = {}
    for submission in submissions:
        claims.setdefault((submission.student, submission.notebook), []).append(submission)
    kept = []
    for (_, notebook), claim in claims.items():
        exact = [one for one in claim if one.path.name == notebook + SUFFIX]
        if len(claim) == 1 or len(exact) == 1:
            kept.append((exact or claim)[0])
            continue
        files = ", ".join(clean(str(Path(*one.path.parts[-3:]))) for one in claim)
        fault = Fault("same_name", count=len(claim), notebook=notebook or "work", files=files)
        kept.append(replace(claim[0], fault=fault))
    return kept


def read_bytes(path: Path, limit: int = LARGEST_NOTEBOOK_BYTES) -> bytes:
    """A regular file's bytes; a link is not followed, a pipe or device not opened for good.

    Raises:
        Fault: if it is no regular file, cannot be read, or has more than `limit` bytes.
    """
    name = clean(path.name)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
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


def parse(data: bytes) -> Notebook:
    """The cells of a notebook in format 4.

    Raises:
        Fault: if it is none, in a sentence for each way not to be one.
    """
    if not data.strip():
        raise Fault("empty_file")
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
