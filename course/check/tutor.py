"""Why an answer is wrong, of all its cases together, and which of them to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from course.check.as_if import Reference, first_slip
from course.check.compare import SMALLEST_PATTERN, Compared, Mistake, gross, mistake_in
from course.check.places import place_of, sizes_of, slices_of, value_of

#: The share of right elements from which on they tell where a kernel goes wrong.
MIXED = 0.01
#: What too few bits on the way make: digits that are missing, and numbers that do not fit.
OF_PRECISION = {"low_precision", "not_a_number", "infinite"}
#: A kernel's output that was not written has no values to compare.
UNWRITTEN = "never_written"


@dataclass(frozen=True)
class Told:
    """Which case is shown, and what all of them say."""

    shown: Compared
    mistake: Mistake
    message_id: str = ""
    fields: Mapping[str, object] = field(default_factory=dict)


def told(
    cases: Sequence[Compared],
    axes: Sequence[str],
    reference: Reference,
    known: Mapping[str, Reference],
    magnitude: Reference | None = None,
    outputs: Sequence[str] = (),
) -> Told:
    """What the cases say of one output, which is wrong in at least one of them.

    Args:
        cases: the smallest first.
        axes: what the places along the output's axes are called, in the singular.
        reference, magnitude: the exercise's.
        known: its slips.
        outputs: all of the exercise's, by name.
    """
    shared = set.intersection(*(set(one.lengths) for one in cases))
    cases = [
        replace(one, lengths={k: n for k, n in one.lengths.items() if k in shared}) for one in cases
    ]
    wrong = [one for one in cases if one.wrong.any()]
    mistakes = {one.number: mistake_in(one) for one in wrong}
    telling = max(wrong, key=_telling)
    mistake = mistakes[telling.number]
    assert mistake is not None
    if mistake.message_id == "output_read":
        return Told(telling, mistake)
    written = any(m is not None and m.message_id != UNWRITTEN for m in mistakes.values())
    slip = first_slip(cases, reference, known, magnitude, outputs) if written else None
    if slip is not None:
        return Told(telling, mistake, slip.message_id, slip.fields)
    pattern = _pattern(wrong, mistakes)
    elsewhere = _another_mistakes(wrong, mistakes)
    if pattern is not None and not elsewhere:
        return pattern
    place = place_of(cases, axes) or value_of(cases)
    place = place or slices_of([telling], axes) or sizes_of(cases)
    if place is not None:
        fields = {**place.fields, "needed": "" if written else None}
        return Told(telling, mistake, place.message_id, fields)
    if pattern is not None and not any(map(_is_gross, elsewhere)):
        return pattern
    if all(one.gave(one.given.get(one.name, np.nan))[one.wrong].all() for one in wrong):
        return Told(telling, mistake, "left_as_it_was", mistake.fields)
    return Told(telling, mistake)


def _another_mistakes(
    wrong: Sequence[Compared], mistakes: Mapping[int, Mistake | None]
) -> list[Compared]:
    """The cases that show no pattern, where most is wrong or what is wrong is far off."""
    plain = [one for one in wrong if not (m := mistakes[one.number]) or not m.pattern_id]
    return [one for one in plain if one.wrong.size < 2 * one.wrong.sum() or _is_gross(one)]


def _is_gross(one: Compared) -> bool:
    return one.wrong.size >= SMALLEST_PATTERN and gross(one)


def _telling(one: Compared) -> tuple[bool, bool, bool, int]:
    """How much a case tells: right elements beside wrong ones that are far off, and few of them.

    Beside wrong ones that are nearly right, others are right by chance.
    """
    right = one.wrong.size - int(one.wrong.sum())
    far = not np.isfinite(one.got[one.wrong]).all() or gross(one)
    return far and right >= MIXED * one.wrong.size, one.wrong.size > 1, far, -one.number


def _pattern(wrong: Sequence[Compared], mistakes: Mapping[int, Mistake | None]) -> Told | None:
    """A pattern of single cases, where all cases that are large enough for one agree on it.

    Rounding need not show in each of them.
    """
    large = [one for one in wrong if one.wrong.size >= SMALLEST_PATTERN] or list(wrong)
    found = [(one, m) for one in large if (m := mistakes[one.number]) is not None and m.pattern_id]
    ids = {m.pattern_id for _, m in found}
    if "low_precision" in ids and ids <= OF_PRECISION:
        found = [(one, m) for one, m in found if m.pattern_id == "low_precision"]
        found.sort(key=lambda told: told[0].mostly_right)  # where most is wrong, it is rounding
    elif len(ids) != 1 or len(found) < len(large):
        return None
    one, first = found[0]
    return Told(one, first, first.pattern_id, {**first.fields, **first.pattern_fields})
