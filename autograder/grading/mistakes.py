"""What went wrong in a class, alike mistakes together: an exercise, a kind, a statement.

Two mistakes are one where verdicts say the same of the same statement, spelling aside
(`kernel_shape`); where a verdict names no line, the same sentence but for its numbers. Of each
the commonest wrong cell is shown, as text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autograder.judge.judge import NO_MISTAKE, Graded
from course.check.annotated import LONGEST_LINE, MOST_LINES
from course.engine.faults import Outcome
from course.plain.text import lines_of, unstacked
from course.words.verdict import headline_of

#: A page of them is read to its end.
MOST_SHOWN = 40
_NUMBER = re.compile(r"-?\d[\d,.]*(?:e[-+]?\d+)?")
_LONGEST_SENTENCE = 160
#: Students that one mistake names.
_NAMED = 12


@dataclass(frozen=True)
class Shown:
    """One mistake as a page shows it.

    Attributes:
        verdict: one on the commonest wrong cell, which `alike` of the `count` have.
        code: of that cell (number, text, whether the verdict names the line).
        more: students beyond those that are named.
    """

    verdict: Graded
    headline: str
    line: str
    count: int
    students: Sequence[str]
    more: int
    alike: int
    code: Sequence[tuple[int, str, bool]]


@dataclass
class Mistake:
    """One mistake over a class.

    Attributes:
        students: whoever made it.
        shapes: by shape of the cell, how many have it and the first one's number in the ledger.
    """

    students: list[str] = field(default_factory=list)
    shapes: Counter[str] = field(default_factory=Counter)
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """The ledger's number of a verdict on the commonest wrong cell."""
        [(shape, _)] = self.shapes.most_common(1)
        return self.numbers[shape]

    @property
    def alike(self) -> int:
        """How many have it, spelling aside; of a cell without a statement nothing is known."""
        [(shape, count)] = self.shapes.most_common(1)
        return count if shape else 1

    def add(self, number: int, graded: Graded) -> None:
        self.students.append(graded.student)
        self.shapes[graded.shape] += 1
        self.numbers.setdefault(graded.shape, number)


class Mistakes:
    """Collects them, a verdict after the other."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], Mistake] = {}

    def add(self, number: int, graded: Graded) -> None:
        """Takes a verdict, whose number in the ledger this is."""
        if Outcome(graded.outcome) in NO_MISTAKE or not graded.exercise:
            return
        said = graded.mark or _NUMBER.sub("#", graded.message)[:_LONGEST_SENTENCE]
        place = graded.notebook, graded.exercise
        key = (*place, graded.outcome, graded.message_id, said)
        self._found.setdefault(key, Mistake()).add(number, graded)

    def shown(self, verdict_of: Callable[[int], Graded]) -> list[Shown]:
        """Those that several made, the commonest first.

        Args:
            verdict_of: the verdict with this number in the ledger, its cell included.
        """
        several = [one for one in self._found.values() if len(one.students) > 1]
        ranked = sorted(several, key=lambda one: -len(one.students))[:MOST_SHOWN]
        return [_shown(one, verdict_of(one.number)) for one in ranked]


def _shown(one: Mistake, verdict: Graded) -> Shown:
    lines = lines_of(verdict.cell)[:MOST_LINES] if verdict.cell else []
    code = [
        (number, unstacked(text[:LONGEST_LINE]), number == verdict.line)
        for number, text in enumerate(lines, start=1)
    ]
    return Shown(
        verdict,
        headline_of(Outcome(verdict.outcome), verdict.message_id),
        next((text.strip() for _, text, here in code if here), ""),
        len(one.students),
        sorted(one.students, key=str.casefold)[:_NAMED],
        max(len(one.students) - _NAMED, 0),
        one.alike,
        code,
    )
