"""The course's own solution of an exercise, for whoever has solved it.

It stands in the lesson's source in ``solutions/``, which a checkout has and what students of a
class get has not: there an instructor shows it, or does not.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from course import exercises
from course.notebook.progress import kept
from course.spec.exercise import Exercise

_FOLDER = Path(__file__).resolve().parents[2] / "solutions"
_MARK = "### "


class Solution:
    """A cell's text, or why it is not shown."""

    def __init__(self, text: str, is_code: bool) -> None:
        self.text, self.is_code = text, is_code

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        if not self.is_code:
            return f"<p>{escape(self.text)}</p>"
        return (
            "<details open><summary>The course's own solution; comments say what it asks of memory"
            f'</summary><pre style="overflow-x:auto">{escape(self.text)}</pre></details>'
        )


def available(exercise: Exercise) -> bool:
    """Whether there is one to show."""
    return _cell(exercise) is not None


def solution_of(exercise: Exercise) -> Solution:
    """The course's own, once a check of the exercise has passed; else what to do instead."""
    cell = _cell(exercise)
    if cell is None:
        return Solution("The course's own solution is not here: your instructor has it.", False)
    if kept().get(exercise.name, {}).get("credit", 0.0) < 1.0:
        hint = f"ex.{exercise.name}.hint()"
        return Solution(f"It is shown once a check has passed. Until then: {hint}.", False)
    return Solution(cell, True)


def _cell(exercise: Exercise) -> str | None:
    """The lesson's cell of that name, without the marks that cut it out of notebooks."""
    stem = next((one for one in exercises.stems() if exercise.name in exercises.lesson(one)), "")
    for path in _FOLDER.glob(f"[0-9][0-9]_{stem}.py"):
        cells = path.read_text(encoding="utf-8").split("\n# %% ")
        for name, _, text in (cell.partition("\n") for cell in cells):
            if name.strip() == exercise.name:
                lines = [one for one in text.splitlines() if not one.strip().startswith(_MARK)]
                return "\n".join(lines).strip()
    return None
