"""What a regrade would change: everything is judged again, nothing is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from autograder.grading.names import few
from autograder.grading.store import Store
from autograder.grading.submissions import Submission
from autograder.judge.judge import Graded

#: Points are rounded to hundredths.
_SAME = 0.005
_NAMED = 8
#: What stands in the place of a verdict on an exercise that does not count any more.
_GONE = "does not count"


class DryStore(Store):
    """A folder's verdicts, to compare with: nothing is entered.

    Attributes:
        going: those that a regrade would withdraw, for their exercises do not count any more.
    """

    going: Sequence[Graded] = ()

    def keep(self, graded: Graded) -> None:
        """Forgets it."""

    def forget_unnamed(self, student: str, but: Iterable[str] = ()) -> None:
        """Leaves them."""

    def forget_uncounted(self, works: Mapping[tuple[str, str], Collection[str]]) -> None:
        """Leaves them, and says which in `going`."""
        going = (self.last(*whose) for whose in self.uncounted(works))
        self.going = [graded for graded in going if graded is not None]

    def claim(self, submission: Submission) -> bool:
        """Two runs may look at one notebook."""
        return True


@dataclass(frozen=True)
class Change:
    """One student's exercise, before and after. `before` is None where there was no verdict."""

    before: Graded | None
    after: Graded

    @property
    def is_one(self) -> bool:
        """Whether anything would be otherwise."""
        same = self.before is not None and self.before.outcome == self.after.outcome
        return not same or abs(self.points) > _SAME

    @property
    def points(self) -> float:
        """What the student gains, or loses below 0."""
        return self.after.points - (self.before.points if self.before else 0.0)


def changes(rows: Iterable[Graded], store: DryStore) -> list[Change]:
    """What each verdict would be in the place of, and the verdicts that would be gone."""
    judged = [Change(store.last(row.student, row.notebook, row.exercise), row) for row in rows]
    return judged + [
        Change(old, replace(old, outcome=_GONE, points=0.0, max_points=0.0)) for old in store.going
    ]


def told(compared: Sequence[Change], students: Iterable[str]) -> Iterator[str]:
    """What would be otherwise, a notebook after the other: who loses most comes first.

    Args:
        students: whoever has a verdict; those without work here are named.
    """
    works: dict[tuple[str, str], list[Change]] = {}
    for change in compared:
        works.setdefault((change.after.student, change.after.notebook), []).append(change)
    first = [own for own in works.values() if all(change.before is None for change in own)]
    others = sorted((own for own in works.values() if own not in first), key=_gain)
    gain = sum(_gain(own) > _SAME for own in others)
    lose = sum(_gain(own) < -_SAME for own in others)
    judged = sum(change.after.outcome != _GONE for change in compared)
    yield (
        f"{judged} verdicts judged again, none kept. Of {len(works)} notebooks {gain} would "
        f"gain points, {lose} would lose some, {len(first)} would be graded for the first time."
    )
    for own in (*others, *first):
        yield from _work(own)
    missing = sorted(set(students) - {student for student, _ in works})
    if missing:
        yield f"With verdicts, and without work here to compare: {few(missing, _NAMED)}."


def _gain(own: Iterable[Change]) -> float:
    return sum(change.points for change in own)


def _work(own: Sequence[Change]) -> Iterator[str]:
    """A notebook's points, and below them the verdicts that would be others."""
    different = [change for change in own if change.is_one]
    if not different:
        return
    before = sum(change.before.points for change in own if change.before)
    after, most = sum(c.after.points for c in own), sum(c.after.max_points for c in own)
    if all(change.before is None for change in own):
        why, was = "not graded so far", ""
    else:
        same = all(c.before is None or c.before.content == c.after.content for c in different)
        why = "the same notebook" if same else "handed in again since"
        was = f"{before:g} -> "
    one = own[0].after
    yield f"{_gain(own):+g}  {one.student}  {one.notebook}: {was}{after:g} of {most:g} ({why})"
    for change in different:
        old = f"{change.before.outcome} {change.before.points:g}" if change.before else "no verdict"
        new = f"{change.after.outcome} {change.after.points:g}"
        yield f"      {change.after.exercise or '(the notebook)'}: {old} -> {new}"
