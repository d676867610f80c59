"""The autograded notebook: made anew from our cells and the text of the student's.

Nothing but text is taken over from a submission: no output, no metadata, no attachment, no
HTML in a written answer. So nothing that a student wrote runs in a grader's browser.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbformat.notebooknode import NotebookNode, from_dict

from autograder.judge import Graded
from autograder.submissions import Cell, Notebook

_SCHEMA_VERSION = 3
#: What is shown of a cell. Rendering markdown takes time by the square of its length.
_LONGEST_CODE = 100_000
_LONGEST_MARKDOWN = 20_000
_CUT = "\n\n[cut here: the rest is in the submission]"
_MISSING = "This cell ({name}) was missing from the submission."
#: What begins a tag, a comment or an entity of HTML, and TeX macros that reach outside TeX.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_MACRO = re.compile(r"\\(?=(href|url|require|style|class|cssId|html|data|bbox|unicode)\b)")
#: Addresses that run, or that lead to an attachment, which is not kept.
_ADDRESS = re.compile(r"(?i)(javascript|vbscript|data|attachment)(?=\s*:)")


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


def harmless(text: str) -> str:
    """A student's markdown with its HTML shown as text, and without addresses that run.

    Markdown that cannot be rendered, as in feedback it must be, is shown as it was written.
    """
    shown = text[:_LONGEST_MARKDOWN] + (_CUT if len(text) > _LONGEST_MARKDOWN else "")
    shown = _ADDRESS.sub(r"\1 ", _MACRO.sub("", _TAG.sub("< ", shown)))
    try:
        markdown2html_mistune(shown)
    except Exception:  # nested too deep, or whatever else the renderer stumbles over
        fence = "`" * (3 + max(map(len, re.findall("`+", shown)), default=0))
        return f"{fence}\n{shown}\n{fence}"
    return shown


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
        released: markdown of ours, which may hold HTML.
        note: what stands on top, in words of ours.
    """
    ours = set(released)
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
        else:
            made.append(_other(cell, ours))
    made = _with_missing(made, place, known, verdicts)
    if note:
        made.insert(0, _markdown(harmless(note)))
    for number, new in enumerate(made):
        new["id"] = hashlib.sha256(f"{number}".encode()).hexdigest()[:16]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    content = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return from_dict(content)


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
    source = known.source if known.locked or text is None else text[:_LONGEST_CODE]
    if text is None and not known.locked:
        note = _MISSING.format(name=known.name)
        source = f"# {note}" if known.kind == "code" else note
    source = source.encode("utf-8", "replace").decode()
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
        shown = source if known.locked else harmless(source)
        return _markdown(shown, metadata={"nbgrader": nbgrader})
    verdict = verdicts.get(known.name.removesuffix("_check")) if known.grade else None
    outputs = [] if verdict is None else [_panel(verdict)]
    return _code(source, metadata={"nbgrader": nbgrader}, outputs=outputs)


def _panel(verdict: Graded) -> _Node:
    data = {"text/html": verdict.panel, "text/plain": verdict.text or verdict.message}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _other(cell: Cell, ours: set[str]) -> _Node:
    source = (cell.source or "")[:_LONGEST_CODE].encode("utf-8", "replace").decode()
    if cell.kind == "code":
        return _code(source)
    return _markdown(source if source in ours else harmless(source))


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
