"""Witnesses: kernels that a learner might hand in, each with the verdict it must get.

`autograder/witnesses/STEM.py` is percent format, read as text and never imported:

    # %% vector_add no_guard -> OUT_OF_BOUNDS
    # The last block has more threads than elements are left; every one of them writes.
    from numba import cuda
    ...

`-> PASS` marks an honest variant, which must get full points; `-> TOO_MUCH_TRAFFIC 0.7` names
the share of the points, too. The comment says why a learner writes this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from autograder.percent import Block, Problem, SourceError, blocks
from autograder.source import BEGIN, END, Lesson, lesson_files, read_lesson
from course import exercises
from course.faults import Outcome

ROOT = Path(__file__).resolve().parent.parent

_TITLE = re.compile(
    r"(?P<exercise>\w+)\s+(?P<name>\w+)\s*->\s*(?P<outcome>\w+)(?:\s+(?P<credit>\S+))?"
)
_FORM = "`# %% EXERCISE NAME -> VERDICT`, with the share of the points after it where that matters"


@dataclass(frozen=True)
class Witness:
    """One solution cell with the verdict that it must get.

    Attributes:
        credit: the share of the points that it must get, or None where the outcome says all.
        why: why a learner writes this.
        source: the whole solution cell.
        line: of its `# %%` in the file, from 1.
    """

    exercise: str
    name: str
    outcome: Outcome
    credit: float | None
    why: str
    source: str
    path: Path
    line: int

    @property
    def is_honest(self) -> bool:
        """Whether it is a fair design, which must pass with full points."""
        return self.outcome is Outcome.PASS


def witness_file(stem: str, root: Path = ROOT) -> Path:
    """Where a lesson's witnesses stand."""
    return root / "autograder" / "witnesses" / f"{stem}.py"


def witnesses_of(stem: str, root: Path = ROOT) -> tuple[Witness, ...]:
    """A lesson's witnesses in the order of its file; none where there is no file.

    Raises:
        SourceError: with a sentence and a line for everything that is wrong in the file.
    """
    path = witness_file(stem, root)
    return read_witnesses(path) if path.exists() else ()


def read_witnesses(path: Path) -> tuple[Witness, ...]:
    """Reads one file of witnesses.

    Raises:
        SourceError: with a sentence and a line for everything that is wrong in the file.
    """
    before, cells = blocks(path.read_text(encoding="utf-8"))
    problems = []
    if _code_in(before):
        sentence = "only a docstring and comments may stand above the first `# %%` cell."
        problems.append(Problem(path, 1, sentence))
    read: list[Witness] = []
    first: dict[tuple[str, str], int] = {}
    for cell in cells:
        witness = _witness(path, cell)
        if isinstance(witness, Problem):
            problems.append(witness)
            continue
        key = witness.exercise, witness.name
        if key in first:
            sentence = f"{' '.join(key)} stands on line {first[key]} already: give it another name."
            problems.append(Problem(path, cell.line, sentence))
        first.setdefault(key, cell.line)
        read.append(witness)
    if problems:
        raise SourceError(problems)
    return tuple(read)


def _witness(path: Path, cell: Block) -> Witness | Problem:
    match = _TITLE.fullmatch(cell.title)
    if match is None:
        return Problem(path, cell.line, f"expected {_FORM}, got: # %% {cell.title}")
    if match["outcome"] not in Outcome.__members__:
        known = ", ".join(Outcome.__members__)
        sentence = f"{match['outcome']!r} is no verdict. There are: {known}."
        return Problem(path, cell.line, sentence)
    outcome = Outcome[match["outcome"]]
    credit = _credit(match["credit"])
    if isinstance(credit, str):
        return Problem(path, cell.line, credit)
    if outcome is Outcome.PASS and credit not in (None, 1.0):
        return Problem(path, cell.line, "an honest variant gets full points: leave the share out.")
    why, source = _split(cell.body)
    if not why:
        sentence = "expected a comment below the `# %%` line: why does a learner write this?"
        return Problem(path, cell.line, sentence)
    if not source:
        return Problem(path, cell.line, "expected a whole solution cell below the comment.")
    if BEGIN in source or END in source:
        return Problem(path, cell.line, "a witness is what a learner hands in: remove the markers.")
    return Witness(match["exercise"], match["name"], outcome, credit, why, source, path, cell.line)


def _credit(text: str | None) -> float | str | None:
    """The share of the points, or a sentence about it."""
    if text is None:
        return None
    try:
        credit = float(text)
    except ValueError:
        credit = -1.0
    if not 0 <= credit <= 1:
        return f"expected a share of the points from 0 to 1 after the verdict, got {text!r}."
    return credit


def _split(body: str) -> tuple[str, str]:
    """(the comment that opens a cell, joined; the code below it)."""
    lines = body.split("\n")
    end = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    why = " ".join(line.lstrip("#").strip() for line in lines[:end])
    return why, "\n".join(lines[end:]).strip("\n")


def _code_in(text: str) -> bool:
    """Whether there is more than comments and one docstring."""
    import ast

    try:
        body = ast.parse(text).body
    except SyntaxError:
        return True
    return (
        not all(
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for node in body[:1]
        )
        or len(body) > 1
    )


def lesson_of(stem: str, root: Path = ROOT) -> Lesson:
    """The lesson of this stem, read and checked.

    Raises:
        SourceError: where its source is wrong.
        LookupError: where there is none.
    """
    for path in lesson_files(root):
        if path.stem.partition("_")[2] == stem:
            return read_lesson(path, tuple(exercises.lesson(stem).values()))
    raise LookupError(f"There is no lesson solutions/NN_{stem}.py.")


def solutions_of(stem: str, root: Path = ROOT) -> dict[str, str]:
    """The whole solution cell of each exercise of a lesson, solved, without markers."""
    return lesson_of(stem, root).solutions


def starters_of(stem: str, root: Path = ROOT) -> dict[str, str]:
    """The whole solution cell of each exercise of a lesson, as a learner first sees it."""
    return lesson_of(stem, root).starters
