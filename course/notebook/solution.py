"""The course's own solution of an exercise, and its answer to a lesson's written question.

They are for whoever has solved the exercise, or all of the lesson's. They stand in the lesson's
source in ``solutions/``, which a checkout has and what students of a class get has not: there an
instructor shows them, or does not.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

from course import exercises
from course.notebook.progress import kept, stem_named
from course.spec.exercise import Exercise, KernelExercise
from course.words.panel import code_html

_FOLDER = Path(__file__).resolve().parents[2] / "solutions"
_MARK = "### "


class Solution:
    """A cell's text, or why it is not shown; `why` says in a sentence or two why it is so."""

    def __init__(self, text: str, is_code: bool, why: str = "") -> None:
        self.text, self.is_code, self.why = text, is_code, why

    def __repr__(self) -> str:
        return f"{self.why}\n\n{self.text}" if self.why else self.text

    def _repr_html_(self) -> str:
        if not self.is_code:
            return f"<p>{code_html(self.text)}</p>"
        why = f"<p>{code_html(self.why)}</p>" if self.why else ""
        return (
            "<details><summary>The course's own solution; comments say what it asks of memory"
            f'</summary>{why}<pre style="overflow-x:auto">{escape(self.text)}</pre></details>'
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
    return Solution(cell, True, _why(exercise))


def _why(exercise: Exercise) -> str:
    """Why it asks for no more: its budget's reason, as sentences."""
    budget = exercise.budget if isinstance(exercise, KernelExercise) else None
    if budget is None or not budget.why:
        return ""
    return f"{budget.why[0].upper()}{budget.why[1:].rstrip('.')}."


def answer(lesson: str) -> Solution:
    """The course's own answer to the question at a lesson's end, once its exercises have passed.

    Args:
        lesson: its name, such as "threads" or "01_threads".
    """
    try:
        stem = stem_named(lesson)
    except ValueError as error:
        return Solution(str(error), False)
    text = answer_of(stem)
    if text is None:
        return Solution("The course's own answer is not here: your instructor has it.", False)
    solved = {name for name, entry in kept().items() if entry["credit"] >= 1.0}
    for exercise in exercises.lesson(stem).values():
        if exercise.name not in solved and not exercise.bonus:
            until = f"Still open: ex.{exercise.name}."
            return Solution(f"It is shown once the lesson's exercises have passed. {until}", False)
    return Solution(text, False)


def answer_of(stem: str) -> str | None:
    """The written answer of a lesson, where it is here."""
    return _text(stem, lambda name: name.startswith("[markdown] explain_"))


def _cell(exercise: Exercise) -> str | None:
    return _text(exercises.stem_of(exercise.name), lambda name: name == exercise.name)


def _text(stem: str, is_it: Callable[[str], bool]) -> str | None:
    """The lesson's cell of such a name, without the marks that cut it out of notebooks."""
    for path in _FOLDER.glob(f"[0-9][0-9]_{stem}.py"):
        cells = path.read_text(encoding="utf-8").split("\n# %% ")
        for name, _, text in (cell.partition("\n") for cell in cells):
            if is_it(name.strip()):
                prose = name.startswith("[markdown]")
                lines = [one.removeprefix("# ") if prose else one for one in text.splitlines()]
                return "\n".join(one for one in lines if not one.strip().startswith(_MARK)).strip()
    return None
