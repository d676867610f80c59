"""The autograded notebook: made anew from our cells and the text of the student's.

Nothing but text is taken over from a submission: no output, no metadata, no attachment. And it
stays text: what a student wrote as markdown is shown letter by letter, so that no renderer of
markdown, HTML or TeX ever has it to read, in nbgrader's process or in a grader's browser.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbformat.notebooknode import NotebookNode, from_dict

from autograder.grading.submissions import Cell, Notebook
from autograder.judge.judge import Graded
from course.engine.faults import Outcome
from course.plain.text import unstacked

_SCHEMA_VERSION = 3
#: What is shown of one cell: the course's longest has some 4 KB. Pages are made in nbgrader's own
#: process, whose highlighter may take time by the square of a cell's length.
LONGEST_SHOWN = 20_000
MOST_LINES_SHOWN = 1_000
#: What is shown of a line of code outside of exercises: a notebook may carry the course in one.
LONGEST_LINE_SHOWN = 1_000
#: What is shown of all cells that belong to no exercise, and how many of them: a lesson's notebook
#: has about a hundred cells and 40 KB of text.
MOST_SHOWN = 400_000
#: As many characters as these does a line take of a page, and what is not ASCII of a browser's
#: time: a letter of another script than the one before it is looked up in every font.
_LINE, _NOT_ASCII = 40, 4
MOST_CELLS_SHOWN = 400
_CUT = "\n\n[cut here: the rest is in the submission]"
_LEFT_OUT = "{count} more cells are in the submission and not shown here."
_MISSING = "This cell ({name}) was missing from the submission."
_FAULT = "**This notebook could not be graded.**\n\n"
#: Ignored by MathJax, whichever version a page loads.
_NO_TEX = "tex2jax_ignore mathjax_ignore"
_TEXT = f'<pre class="{_NO_TEX}" style="white-space:pre-wrap">{{}}</pre>'
#: What has a meaning in HTML, markdown or TeX; control characters, which have none in a text.
_ENTITIES = {ord(c): f"&#{ord(c)};" for c in "&<>\"'`$\\*_[]~|"}
_CONTROL = {*range(32), *range(127, 160)} - {ord("\t"), ord("\n")}
_ENTITIES |= dict.fromkeys(_CONTROL, "\N{REPLACEMENT CHARACTER}")


#: A cell or an output under way. nbformat's own makers validate each one, which takes longer
#: than all the rest; the whole notebook is validated once, when it is written.
_Node = dict[str, Any]


@dataclass(frozen=True)
class KnownCell:
    """A cell that the gradebook knows, as it was released."""

    name: str
    kind: str
    source: str
    locked: bool
    grade: bool
    solution: bool
    points: float | None = None
    checksum: str | None = None

    @property
    def written_answer(self) -> bool:
        """Whether a person grades it."""
        return self.grade and self.solution


def as_text(text: str) -> str:
    """A student's text as markdown that shows it as it was written, whatever renders it.

    One element of HTML, which markdown leaves alone up to its end, and no end stands in it.
    """
    return _TEXT.format(_cut(text).translate(_ENTITIES))


def _cut(text: str) -> str:
    """What is shown of a cell, as text that a file can hold: half a character is a `?`."""
    shown = text[:LONGEST_SHOWN].replace("\r\n", "\n").replace("\r", "\n")
    lines = shown.split("\n")
    if len(text) > LONGEST_SHOWN or len(lines) > MOST_LINES_SHOWN:
        shown = "\n".join(lines[:MOST_LINES_SHOWN]) + _CUT
    return unstacked(shown).encode("utf-8", "replace").decode()


def unanswered(known: KnownCell, submitted: Notebook | None) -> bool:
    """Whether a written answer is as it was released, or is not there."""
    text = _text_of(known.name, submitted)
    return text is None or text.strip() in ("", known.source.strip())


def _text_of(name: str, submitted: Notebook | None) -> str | None:
    found = [c for c in submitted.cells if c.grade_id == name] if submitted is not None else []
    return found[-1].source if found else None


def autograded(
    submitted: Notebook | None,
    known: Sequence[KnownCell],
    verdicts: Mapping[str, Graded],
    released: Iterable[str] = (),
    note: str = "",
) -> NotebookNode:
    """A notebook with the student's text in our cells, and each verdict under its check cell.

    Args:
        submitted: None where the file could not be read.
        known: the gradebook's cells, in order.
        verdicts: by exercise.
        released: markdown of ours, which may hold HTML; each text counts as ours once.
        note: why it could not be read.
    """
    ours = set(released)
    left = _Left()
    by_name = {cell.name: cell for cell in known}
    cells = submitted.cells if submitted is not None else ()
    last = {cell.grade_id: number for number, cell in enumerate(cells)}
    made: list[_Node] = []
    place: dict[str, int] = {}
    for number, cell in enumerate(cells):
        name = cell.grade_id
        if name in by_name and last[name] == number:
            place[name] = len(made)
            made.append(_graded_cell(by_name[name], cell.source, verdicts))
        elif left.take(cell):
            made.append(_other(cell, ours))
    if left.out:
        made.append(_markdown(_LEFT_OUT.format(count=left.out)))
    made = _with_missing(made, place, known, verdicts)
    if note:
        made.insert(0, _markdown(_FAULT + as_text(note)))
    for number, new in enumerate(made):
        new["id"] = hashlib.sha256(f"{number}".encode()).hexdigest()[:16]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    content = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return from_dict(content)


@dataclass
class _Left:
    """What may still be shown of cells that belong to no exercise."""

    cells: int = MOST_CELLS_SHOWN
    characters: int = MOST_SHOWN
    out: int = 0

    def take(self, cell: Cell) -> bool:
        """Whether this one is shown; counts it either way."""
        self.cells -= 1
        if self.cells >= 0 and self.characters >= 0:
            text = _cut(cell.source or "")
            others = len(text) - len(text.encode("ascii", "ignore"))
            self.characters -= len(text) + _LINE * text.count("\n") + _NOT_ASCII * others
        shown = self.cells >= 0 and self.characters >= 0
        self.out += not shown
        return shown


def _with_missing(
    made: list[_Node],
    place: Mapping[str, int],
    known: Sequence[KnownCell],
    verdicts: Mapping[str, Graded],
) -> list[_Node]:
    """The cells with those that a student removed put back, each below its predecessor."""
    after: dict[int, list[_Node]] = {}
    at = -1
    for cell in known:
        if cell.name in place:
            at = place[cell.name]
        else:
            after.setdefault(at, []).append(_graded_cell(cell, None, verdicts))
    rest = [new for number, old in enumerate(made) for new in (old, *after.get(number, ()))]
    return [*after.get(-1, ()), *rest]


def _graded_cell(known: KnownCell, text: str | None, verdicts: Mapping[str, Graded]) -> _Node:
    source = known.source if known.locked or text is None else _cut(text)
    if text is None and not known.locked:
        note = _MISSING.format(name=known.name)
        source = f"# {note}" if known.kind == "code" else note
    nbgrader: dict[str, Any] = {
        "grade": known.grade,
        "grade_id": known.name,
        "locked": known.locked,
        "schema_version": _SCHEMA_VERSION,
        "solution": known.solution,
        "task": False,
        "cell_type": known.kind,
    }
    if known.points is not None:
        nbgrader["points"] = known.points
    if known.checksum is not None:
        nbgrader["checksum"] = known.checksum
    if known.kind == "markdown":
        shown = source if known.locked or text is None else as_text(text)
        return _markdown(shown, metadata={"nbgrader": nbgrader})
    verdict = verdicts.get(known.name.removesuffix("_check")) if known.grade else None
    outputs = [] if verdict is None else [_panel(verdict)]
    return _code(source, metadata={"nbgrader": nbgrader}, outputs=outputs)


def _panel(verdict: Graded) -> _Node:
    html = f'<div class="{_NO_TEX}">{verdict.panel}</div>'
    data = {"text/html": html, "text/plain": verdict.text or verdict.message}
    told = {"verdict": Outcome(verdict.outcome).label}
    return {"output_type": "display_data", "data": data, "metadata": told}


def _other(cell: Cell, ours: set[str]) -> _Node:
    source = cell.source or ""
    if cell.kind == "code":
        lines = _cut(source).split("\n")
        return _code("\n".join(map(_line_shown, lines)))
    if source in ours:
        ours.discard(source)
        return _markdown(source)
    return _markdown(as_text(source))


def _line_shown(line: str) -> str:
    longer = len(line) > LONGEST_LINE_SHOWN
    return line[:LONGEST_LINE_SHOWN] + " [this line is cut here]" if longer else line


def _markdown(source: str, metadata: Mapping[str, Any] | None = None) -> _Node:
    return {"cell_type": "markdown", "source": source, "metadata": dict(metadata or {})}


def _code(
    source: str, metadata: Mapping[str, Any] | None = None, outputs: Sequence[_Node] = ()
) -> _Node:
    return {
        **_markdown(source, metadata),
        "cell_type": "code",
        "execution_count": None,
        "outputs": list(outputs),
    }
