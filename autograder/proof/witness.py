"""Witnesses: kernels that a learner might hand in, each with the verdict it must get.

`autograder/proof/witnesses/STEM.cells` is percent format, read as text and never imported:

    # %% vector_add no_guard -> OUT_OF_BOUNDS
    # The last block has more threads than elements are left; every one of them writes.
    @cuda.jit
    ...

It has the solution's imports, or its own. A cell may say instead what it changes in the solution
or in another cell (`autograder.proof.edits`).
`-> PASS` marks an honest variant, which must get full points; `-> TOO_MUCH_TRAFFIC 0.7` names
the share of the points, too; `-> WRONG_ANSWER held out` passes the visible cases, and hidden ones
of every seed give it away. The comment says why a learner writes this.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.lessons.percent import Problem, SourceError, blocks
from autograder.lessons.source import BEGIN, END, Lesson, lesson_files, read_lesson, solved_cells
from autograder.proof.edits import FORM, Cell, Cells, EditError, cells_of
from course import exercises
from course.engine.faults import Outcome

ROOT = Path(__file__).resolve().parents[2]
#: What stands behind the verdict of a witness that the visible cases do not see.
HELD_OUT = "held out"


@dataclass(frozen=True)
class Witness:
    """One solution cell with the verdict that it must get.

    Attributes:
        credit: the share of the points that it must get, or None where the outcome says all.
        held_out: whether only hidden cases give it away.
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
    held_out: bool = False

    @property
    def is_honest(self) -> bool:
        """Whether it is a fair design, which must pass with full points."""
        return self.outcome is Outcome.PASS


def witness_file(stem: str, root: Path = ROOT) -> Path:
    """Where a lesson's witnesses stand."""
    return root / "autograder" / "proof" / "witnesses" / f"{stem}.cells"


def witnesses_of(stem: str, root: Path = ROOT) -> tuple[Witness, ...]:
    """A lesson's witnesses in the order of its file; none where there is no file.

    Raises:
        SourceError: with a sentence and a line for everything that is wrong in the file.
    """
    path = witness_file(stem, root)
    return read_witnesses(path, solved_cells(root, stem)) if path.exists() else ()


def read_witnesses(path: Path, solutions: Mapping[str, str]) -> tuple[Witness, ...]:
    """Reads one file of witnesses.

    Args:
        path: the file.
        solutions: the solution cell of each exercise, of which a witness may be an edit.

    Raises:
        SourceError: with a sentence and a line for everything that is wrong in the file.
    """
    before, found = blocks(path.read_text(encoding="utf-8"))
    problems = []
    if _code_in(before):
        sentence = "only a docstring and comments may stand above the first `# %%` cell."
        problems.append(Problem(path, 1, sentence))
    cells: dict[tuple[str, str], Cell] = {}
    for block in found:
        own = [cell for cell in cells_of(block) if cell.verdict]
        if not own:
            sentence = f"expected {FORM}, got: # %% {block.title}"
            problems.append(Problem(path, block.line, sentence))
        for cell in own:
            first = cells.setdefault(cell.key, cell)
            if first is not cell:
                name, at = " ".join(cell.key), first.line
                sentence = f"{name} stands on line {at} already: give it another name."
                problems.append(Problem(path, cell.line, sentence))
    wholes = Cells(cells.values(), solutions)
    read = [_witness(path, cell, wholes) for cell in cells.values()]
    # a base that cannot be made is one problem, however many are made of it
    problems += dict.fromkeys(one for one in read if isinstance(one, Problem))
    if problems:
        raise SourceError(problems)
    return tuple(one for one in read if isinstance(one, Witness))


def _witness(path: Path, cell: Cell, wholes: Cells) -> Witness | Problem:
    name, _, share = cell.verdict.partition(" ")
    if name not in Outcome.__members__:
        known = ", ".join(Outcome.__members__)
        return Problem(path, cell.line, f"{name!r} is no verdict. There are: {known}.")
    outcome = Outcome[name]
    held_out = share.strip() == HELD_OUT
    credit = _credit("" if held_out else share.strip())
    if isinstance(credit, str):
        return Problem(path, cell.line, credit)
    if outcome is Outcome.PASS and credit not in (None, 1.0):
        return Problem(path, cell.line, "an honest variant gets full points: leave the share out.")
    if outcome is Outcome.PASS and held_out:
        return Problem(path, cell.line, "an honest variant passes everywhere: nothing is held out.")
    if not cell.why:
        sentence = "expected a comment below the `# %%` line: why does a learner write this?"
        return Problem(path, cell.line, sentence)
    if not cell.text:
        return Problem(path, cell.line, "expected a solution cell, or edits, below the comment.")
    try:
        source = wholes.whole(cell)
    except EditError as error:
        return Problem(path, error.line, str(error))
    if BEGIN in source or END in source:
        return Problem(path, cell.line, "a witness is what a learner hands in: remove the markers.")
    return Witness(*cell.key, outcome, credit, cell.why, source, path, cell.line, held_out)


def _credit(text: str) -> float | str | None:
    """The share of the points, if there is one, or a sentence about it."""
    if not text:
        return None
    try:
        credit = float(text)
    except ValueError:
        credit = -1.0
    if not 0 <= credit <= 1:
        return (
            f"expected a share of the points from 0 to 1, or {HELD_OUT!r}, after the verdict, got "
            f"{text!r}."
        )
    return credit


def _code_in(text: str) -> bool:
    """Whether there is more than comments and one docstring."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return True
    documented = ast.get_docstring(tree) is not None
    return len(tree.body) > int(documented)


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
