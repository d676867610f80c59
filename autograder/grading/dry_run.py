"""What a regrade would change: everything is judged again, nothing is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autograder.grading.store import Store
from autograder.grading.submissions import Submission
from autograder.judge.judge import Graded

#: Points are rounded to hundredths.
_SAME = 0.005


class DryStore(Store):
    """A folder's verdicts, to compare with: nothing is entered."""

    def keep(self, graded: Graded) -> None:
        """Forgets it."""

    def forget_unnamed(self, student: str, but: Iterable[str] = ()) -> None:
        """Leaves them."""

    def claim(self, submission: Submission) -> bool:
        """Two runs may look at one notebook."""
        return True


@dataclass(frozen=True)
class Change:
    """One student's exercise, before and after. `before` is None where there was no verdict."""

    before: Graded | None
    after: Graded

    @property
    def points(self) -> float:
        """What the student gains, or loses below 0."""
        return self.after.points - (self.before.points if self.before else 0.0)


def changes(rows: Iterable[Graded], store: Store) -> list[Change]:
    """What would be otherwise: who loses most comes first."""
    found = []
    for row in rows:
        before = store.last(row.student, row.notebook, row.exercise)
        change = Change(before, row)
        if before is None or before.outcome != row.outcome or abs(change.points) > _SAME:
            found.append(change)
    return sorted(found, key=lambda change: change.points)


def told(changed: Sequence[Change], count: int) -> Iterator[str]:
    """The changes in lines; `count` is how many verdicts were compared."""
    gain = sum(change.points > _SAME for change in changed)
    lose = sum(change.points < -_SAME for change in changed)
    yield (
        f"{count} verdicts judged again, none kept: {gain} would gain, {lose} would lose, "
        f"{len(changed) - gain - lose} would have another verdict for the same points."
    )
    for change in changed:
        before, after = change.before, change.after
        was = f"{before.outcome} {before.points:g}" if before else "no verdict"
        yield (
            f"  {change.points:+g}  {after.student}  {after.notebook}  "
            f"{after.exercise or '(the notebook)'}: {was} -> {after.outcome} {after.points:g}"
        )
