"""What stands in a student's folder, looked at within bounds: a stranger made it.

No link is followed. Depth and number of entries are bounded before anything is sorted or opened,
and a folder that goes beyond them is told so, whatever else it holds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.judge.sentences import Fault

SUFFIX = ".ipynb"
#: Browsers take a notebook for JSON or a text, and say so; before that stands which copy it is.
_NOTEBOOK = re.compile(
    r"(?P<bare>.*)\.ipynb((-\d{1,3}| ?\(\d+\))?\.(json|txt))?", re.DOTALL | re.IGNORECASE
)
#: Folders within folders: nbgrader keeps a lesson's notebook one below a student's.
DEEPEST = 12
#: A class's own data beside a notebook are a few files; an environment or a clone are thousands.
MOST_ENTRIES = 5000
#: The course has 12 lessons.
MOST_NOTEBOOKS = 100
#: What nbgrader keeps beside what was handed in, and this course's own notebooks.
_OF_A_COURSE = ("source", "release", "autograded", "feedback", "outbound", "grades", "notebooks")
IGNORED = ("__pycache__", "node_modules", "__MACOSX", "Icon\r")


@dataclass
class Tree:
    """What a folder holds, as paths below it: notebooks by name, other files, folders.

    Attributes:
        fault: why the folder as a whole is not graded.
        unread: what the system said of folders in it that cannot be read.
    """

    notebooks: list[Path] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    fault: Fault | None = None
    unread: list[OSError] = field(default_factory=list)


def tree(folder: Path, name: str) -> Tree:
    """What stands below `folder`, level by level; `name` is how a sentence calls it."""
    found = Tree()
    left = MOST_ENTRIES
    level = [Path()]
    for _ in range(DEEPEST):
        below: list[Path] = []
        for place in level:
            for entry in _entries(folder / place, found.unread):
                left -= 1
                if left < 0:
                    found.fault = Fault("too_many_files", folder=name, limit=MOST_ENTRIES)
                    return found
                _take(entry, place / entry.name, found, below)
        if len(found.notebooks) > MOST_NOTEBOOKS:
            found.fault = Fault("too_many_notebooks", folder=name, limit=MOST_NOTEBOOKS)
            return found
        level = sorted(below)
    if level:
        found.fault = Fault("folders_too_deep", folder=name, limit=DEEPEST)
    elif found.unread and not found.notebooks:  # who knows what it holds?
        found.fault = Fault("unreadable", file=name, detail=found.unread[0].strerror)
    for paths in (found.notebooks, found.files, found.folders):
        paths.sort()
    return found


def beside(folder: Path) -> list[str]:
    """Other folders of its place that hold notebooks, and are not nbgrader's own."""
    with os.scandir(folder.parent) as entries:
        names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
    others = (n for n in sorted(names) if n not in _OF_A_COURSE and not is_hidden(n))
    return [n for n in others if n != folder.name and tree(folder.parent / n, n).notebooks]


def is_hidden(name: str) -> bool:
    """Whether an editor or a system made it, and nobody hands it in."""
    return name.startswith(".") or name in IGNORED


def is_notebook(name: str) -> bool:
    """Whether it is named like a notebook; a folder or a link may be, too."""
    return bool(_NOTEBOOK.fullmatch(name))


def bare(name: str) -> str:
    """A file's name without its suffix."""
    found = _NOTEBOOK.fullmatch(name)
    return found["bare"] if found else Path(name).stem


def _entries(folder: Path, unread: list[OSError]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError as error:
        unread.append(error)


def _take(entry: os.DirEntry[str], path: Path, found: Tree, below: list[Path]) -> None:
    if is_hidden(entry.name):
        return
    if is_notebook(entry.name):
        found.notebooks.append(path)
    elif entry.is_dir(follow_symlinks=False):
        found.folders.append(path)
        below.append(path)
    elif entry.is_file(follow_symlinks=False):
        found.files.append(path)
