"""A line of another file than the kernel's: a number, as any line, that knows its file."""

from __future__ import annotations

import ast
import copy
from pathlib import Path

from course.plain.trees import walk


class Elsewhere(int):
    """A line (1-based) of `file`. It equals the same line of the same file, and no plain number.

    Lines of a kernel's own file are plain numbers. So whatever is kept or added up by line keeps
    files apart, and what is shown as text says the file.
    """

    file: str

    def __new__(cls, line: int, file: str) -> Elsewhere:
        made = super().__new__(cls, line)
        made.file = file
        return made

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]  # of `__new__` here
        return int(self), self.file

    def __eq__(self, other: object) -> bool:
        return file_of(other) == self.file and int(self) == other.__int__()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((int(self), self.file))

    def __str__(self) -> str:
        """`12 of norms`; a cell has a name that says nothing."""
        path = Path(self.file)
        return f"{int(self)} of {path.stem if path.is_file() else 'another cell'}"


def file_of(line: object, own: str = "") -> str:
    """The file of a line; `own`, the kernel's, unless the line knows another."""
    return line.file if isinstance(line, Elsewhere) else own


def line_in(file: str, line: int, own: str) -> int:
    """A line of a file, as a kernel in the file `own` has it."""
    return line if file == own else Elsewhere(line, file)


def all_elsewhere(tree: ast.FunctionDef, file: str) -> ast.FunctionDef:
    """A copy of a tree whose lines are those of another file."""
    tree = copy.deepcopy(tree)
    for node in walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = Elsewhere(node.lineno, file)
    return tree
