"""Cells written as what they change in another cell: an edit, instead of the whole.

In a file of cells (`autograder.lessons.percent`) one may name its base and say what is different
there:

    # %% flash_dkdv delta_missing -> WRONG_ANSWER
    # The gradient of a softmax subtracts the row's delta.
    - ds = p * (dp - delta[:, None])
    + ds = p * dp

    # %% flash_dkdv delta_and_scale_missing from delta_missing -> WRONG_ANSWER
    ...

Cells that differ by a name or a line are a table, a template and what each puts in its place:

    # %% flash_dkdv * -> DOES_NOT_COMPILE
    # Products are summed in half precision.
    - dv = tl.zeros((BC, D), tl.float32)
    + dv = tl.zeros((BC, D), tl.@HERE@)

    = sum_in_half: float16
    = sum_in_bfloat16: bfloat16

The base is the exercise's solution, or the cell of this exercise and file that `from` names,
without its comments. A change is written as in a diff: lines that go (`-`), that come (`+`), and
that stay, behind two blanks. What goes or stays is found in the base, one line below the other,
blank lines aside, and there alone; `- ...` is all down to the next of them. A blank line ends a
change, and so does a `+` line above a `-` line. Indentation is relative: as deep as the first line
that goes or stays stands in the base, so deep is all of the change moved.

A whole cell that imports nothing begins with the imports of the solution.
"""

from __future__ import annotations

import ast
import difflib
import io
import itertools
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from autograder.lessons.percent import Block

GOES, COMES, STAYS = "-", "+", " "
#: Lines that go and are not written out.
REST = "..."
EACH, HERE = "*", "@HERE@"
#: What is said where `cells_of` finds none.
FORM = (
    "`# %% EXERCISE NAME -> VERDICT`, `from OTHER` before the arrow where it changes another cell "
    "than the solution, and for NAME `*` where rows `= NAME: TEXT` stand below"
)
_IMPORTS = ("import ", "from ")
_ROW = re.compile(r"= (?P<name>\w+): (?P<text>.+)")
_TITLE = re.compile(
    r"(?P<exercise>\w+)\s+(?P<name>\w+|\*)(?:\s+from\s+(?P<base>\w+))?\s*(?:->\s*(?P<verdict>.+))?"
)


class EditError(ValueError):
    """An edit that cannot be made. `line` counts from 1 at the first of the edit's text."""

    def __init__(self, line: int, sentence: str) -> None:
        self.line = line
        super().__init__(sentence)


@dataclass(frozen=True)
class Edit:
    """One change: lines of a cell, and what comes in their place; what stays is in both.

    Attributes:
        was: the lines that go or stay, without blank ones; indented among themselves. `REST` stands
            for as many lines as there are above the next.
        becomes: the lines that come, indented as `was` is.
        line: of the first of them in the text that they were read from, from 1.
    """

    was: tuple[str, ...]
    becomes: tuple[str, ...]
    line: int = 1


@dataclass(frozen=True)
class Cell:
    """One cell of a file, as it stands there.

    Attributes:
        base: the name of the cell that it changes, where that is not the solution.
        verdict: what stands behind the arrow.
        why: the comment that opens it, in one line.
        text: what stands below that: the whole cell, or edits.
        line: of its `# %%` in the file, from 1; of `text`, `text_line`.
    """

    exercise: str
    name: str
    base: str | None
    verdict: str
    why: str
    text: str
    line: int
    text_line: int

    @property
    def key(self) -> tuple[str, str]:
        """What names it in its file."""
        return self.exercise, self.name

    @property
    def is_change(self) -> bool:
        """Whether it is edits and no whole cell: no Python begins with such a line."""
        return _marked(self.text.partition("\n")[0])


def cells_of(block: Block) -> tuple[Cell, ...]:
    """The cells that a block stands for: one, or one a row; none where it is not written so."""
    title = _TITLE.fullmatch(block.title)
    if title is None:
        return ()
    lines = block.body.split("\n")
    above = [*itertools.takewhile(lambda line: line.startswith("#"), lines)]
    below = lines[len(above) :]
    rows = [(number, row) for number, line in enumerate(below) if (row := _ROW.fullmatch(line))]
    text = "\n".join(below[: rows[0][0]] if rows else below)
    first = block.body_line + len(above)
    cell = Cell(
        title["exercise"],
        title["name"],
        title["base"],
        title["verdict"] or "",
        " ".join(line.lstrip("#").strip() for line in above),
        text.strip("\n"),
        block.line,
        first + len(text) - len(text.lstrip("\n")),
    )
    if (title["name"] == EACH) != bool(rows):
        return ()
    return tuple(
        replace(
            cell, name=row["name"], text=cell.text.replace(HERE, row["text"]), line=first + number
        )
        for number, row in rows
    ) or (cell,)


def _marked(line: str) -> bool:
    return line[:1] in (GOES, COMES, STAYS) and line[1:2] in ("", " ")


def read_edits(text: str) -> tuple[Edit, ...]:
    """The changes of an edit's text, in its order.

    Raises:
        EditError: for a line without a mark, or a change that has no place in the base.
    """
    edits: list[Edit] = []
    above = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark, rest = line[:1] if line.strip() else "", line[2:].rstrip()
        if mark and not _marked(line):
            sentence = "expected `- `, `+ ` or two blanks before each line of an edit, got: "
            raise EditError(number, sentence + line.strip())
        if mark and (not above or (mark == GOES and above == COMES and edits[-1].was)):
            if not rest:
                sentence = "a blank line could stand anywhere: begin with one that has text."
                raise EditError(number, sentence)
            edits.append(Edit((), (), number))
        if mark in (GOES, STAYS) and rest:
            edits[-1] = replace(edits[-1], was=(*edits[-1].was, rest))
        if mark in (COMES, STAYS):
            edits[-1] = replace(edits[-1], becomes=(*edits[-1].becomes, rest))
        above = mark
    if lone := next((edit for edit in edits if not edit.was), None):
        sentence = "a line that comes needs one beside it that goes or stays."
        raise EditError(lone.line, sentence)
    return tuple(edits)


def applied(source: str, edits: Sequence[Edit]) -> str:
    """A cell with its edits made, each found in the cell as it was, without its comments.

    Raises:
        EditError: where the lines of one stand nowhere in it, in several places, or in those of
            another edit.
    """
    lines = without_comments(source).split("\n")
    places = sorted(((*_place(lines, edit), edit) for edit in edits), key=lambda found: found[0])
    made: list[str] = []
    done = 0
    for start, end, indent, edit in places:
        if start < done:
            raise EditError(edit.line, "two changes take one line: make them one.")
        made += lines[done:start]
        made += [indent + line if line else "" for line in edit.becomes]
        done = end
    return "\n".join([*made, *lines[done:]]).strip("\n")


def _place(lines: Sequence[str], edit: Edit) -> tuple[int, int, str]:
    """(first line, the line after the last, indentation) of what goes."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    texts = [lines[number].rstrip() for number in filled]
    found = []
    for at, text in enumerate(texts):
        indent = text.removesuffix(edit.was[0])
        if not indent.strip() and (end := _end(texts, at, indent, edit.was)):
            found.append((filled[at], filled[end - 1] + 1, indent))
    if len(found) != 1:
        raise EditError(edit.line, _sentence(lines, edit, len(found)))
    return found[0]


def _end(texts: Sequence[str], at: int, indent: str, was: Sequence[str]) -> int:
    """The text after the last of a run that begins at one of them; 0 where it does not stand so."""
    above = ""
    for line in was:
        if line != REST:
            there = texts[at:] if above == REST else texts[at : at + 1]
            if indent + line not in there:
                return 0
            at += there.index(indent + line) + 1
        above = line
    return 0 if above == REST else at


def _sentence(lines: Sequence[str], edit: Edit, times: int) -> str:
    sought = " / ".join(line.strip() for line in edit.was)
    sentence = f"expected this once in the base, found it {times} times: `{sought}`."
    if times:
        return f"{sentence} Write the line above or below beside it, which stays."
    texts = [line.strip() for line in lines if line]
    gone = next((line.strip() for line in edit.was if line.strip() not in (*texts, REST)), "")
    if not gone:
        return f"{sentence} Each line stands there, but not so one below the other."
    nearest = difflib.get_close_matches(gone, texts, 1, 0)
    return f"{sentence} The nearest line to `{gone}` is `{''.join(nearest)}`."


@lru_cache(maxsize=512)  # many cells change the same base
def without_comments(source: str) -> str:
    """A cell without its comments, and without the lines that held nothing else.

    A text that cannot be read as Python's tokens stays as it is.
    """
    lines: list[str | None] = list(source.split("\n"))
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source
    for token in tokens:
        if token.type == tokenize.COMMENT:
            number, column = token.start
            lines[number - 1] = (lines[number - 1] or "")[:column].rstrip() or None
    return "\n".join(line for line in lines if line is not None)


def with_imports(text: str, solution: str) -> str:
    """A whole cell; Python that imports nothing begins with the imports of the solution."""
    above = [*itertools.takewhile(lambda line: line.startswith(_IMPORTS), solution.split("\n"))]
    try:
        nodes = ast.walk(ast.parse(text))
    except SyntaxError:
        return text
    if not above or any(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes):
        return text
    rows = 2 if text.startswith(("@", "def ")) else 1
    return "\n".join([*above, *[""] * rows, text])


class Cells:
    """The cells of one file, each as a whole."""

    def __init__(self, cells: Iterable[Cell], solutions: Mapping[str, str]) -> None:
        """Takes the cells as they stand, and the solution of each exercise that has one."""
        self._cells = {cell.key: cell for cell in cells}
        self._solutions = solutions
        self._made: dict[tuple[str, str], str] = {}

    def whole(self, cell: Cell, above: tuple[str, ...] = ()) -> str:
        """The whole text of one cell.

        Args:
            cell: one of these.
            above: the names of the cells that are made of this one, the last of them directly.

        Raises:
            EditError: where it, or a base of its, cannot be made. Its line is the file's.
        """
        if cell.key not in self._made:
            self._made[cell.key] = self._make(cell, (*above, cell.name))
        return self._made[cell.key]

    def _make(self, cell: Cell, chain: tuple[str, ...]) -> str:
        if not cell.is_change:
            if cell.base is not None:
                raise _of(cell, cell.line, "a whole cell has no base: leave `from` out.")
            return with_imports(cell.text, self._solutions.get(cell.exercise, ""))
        base = self._base(cell, chain)
        try:
            return applied(base, read_edits(cell.text))
        except EditError as error:
            raise _of(cell, cell.text_line + error.line - 1, str(error)) from error

    def _base(self, cell: Cell, chain: tuple[str, ...]) -> str:
        if cell.base is None:
            if cell.exercise not in self._solutions:
                sentence = "there is no solution of this exercise to edit: write the whole cell."
                raise _of(cell, cell.line, sentence)
            return self._solutions[cell.exercise]
        if cell.base in chain:
            made_of = " from ".join([*chain, cell.base])
            raise _of(cell, cell.line, f"this is made of itself: {made_of}.")
        base = self._cells.get((cell.exercise, cell.base))
        if base is None:
            sentence = f"this file has no cell {cell.base!r} of {cell.exercise}."
            raise _of(cell, cell.line, sentence)
        return self.whole(base, chain)


def _of(cell: Cell, line: int, sentence: str) -> EditError:
    return EditError(line, f"{cell.exercise} {cell.name}: {sentence}")
