"""What a student may read of a verdict on a held-out case: one of a stated number of things.

A kernel chooses what it stores, where it reads, which of its lines is wasteful and which one
fails. So a verdict on a held-out case is a channel from that case to the kernel's author, and
what is told of it is bounded here: the kind of mistake, at most one line of the cell, and none
where the answer was right and dear; the points in the bands of `course.spec.exercise`. Nothing else
is taken over from the verdict, so that nothing else can carry a held-out input.
"""

from __future__ import annotations

from dataclasses import replace

from autograder.judge.sentences import JUDGED_AGAIN
from course.engine.faults import Outcome
from course.spec.exercise import RIGHT_SHARE, TRAFFIC_BANDS
from course.words.sentences import ABOUT_LAUNCHES, ABOUT_LIMITS, ABOUT_PROGRAMS
from course.words.verdict import SourceLine, Verdict

HELD_OUT = "held out"
#: What a right answer can get: these say how dear it was, all others that it is not right.
COST = frozenset(
    {
        Outcome.TOO_MUCH_TRAFFIC,
        Outcome.TOO_DIVERGENT,
        Outcome.BANK_CONFLICTS,
        Outcome.TOO_SERIAL,
        Outcome.TOO_MANY_RESOURCES,
    }
)
#: A line further down a cell is not told: the line carries no more than eight bits.
LAST_LINE_TOLD = 255
#: Shares of the points, the largest first; a share between two of them is told as the lower one.
BANDS = (*(share for _, share in TRAFFIC_BANDS), RIGHT_SHARE, 0.0)
#: The kinds that one outcome's headline tells apart; a judge's failure is judged again.
_KINDS = {
    "held_out_limit": ABOUT_LIMITS,
    "held_out_program": ABOUT_PROGRAMS,
    "held_out_launch": ABOUT_LAUNCHES,
    "not_measured": JUDGED_AGAIN,
}
_OTHER = "held_out"

_MESSAGE = "Right on every visible case, but not on a held-out one: {headline}."
_DEARER = "Right on every case, and dearer on a held-out one than it may be: {headline}."
_NEXT = (
    "Held-out cases have other sizes and other values. Which sizes are not among the visible "
    "cases: one that no block divides, one below a warp, one above the grid? And which values: 0, "
    "very large ones, very small ones, one of them far from the others?"
)
#: Of entries that are formulas, where a case is a row of numbers.
_NEXT_ROW = (
    "Held-out cases are other rows of the same kind. Does each entry follow from the names alone?"
)


def veiled(verdict: Verdict) -> Verdict:
    """What may be told of a verdict on a held-out case, made from four of its fields alone.

    The outcome with its kind, the line (of a wrong kernel), the band of the points; and the
    exercise, which is no secret. Entries that are right keep their points, in bands.
    """
    kind = next((told for told, ids in _KINDS.items() if verdict.message_id in ids), _OTHER)
    dear = verdict.outcome in COST
    in_part = bool(verdict.entries) and verdict.outcome is Outcome.WRONG_ANSWER
    told = Verdict(
        outcome=verdict.outcome,
        exercise=verdict.exercise,
        message="",
        message_id=kind,
        case_label=HELD_OUT,
        credit=_band(verdict.credit) if dear or in_part else 0.0,
        max_points=verdict.max_points,
        next_steps=(_NEXT_ROW if verdict.entries else _NEXT,),
        commands=(f"ex.{verdict.exercise}.hint()",),
    )
    words = (_DEARER if dear else _MESSAGE).format(headline=told.headline)
    line = None if dear or in_part else _line(verdict)
    if line is None:
        return replace(told, message=words)
    return replace(told, message=words, line=line.number, lines=(line,))


def _band(credit: float) -> float:
    return next((band for band in BANDS if credit >= band), 0.0)


def _line(verdict: Verdict) -> SourceLine | None:
    """The line that the verdict names, without what it measured there."""
    number = verdict.line
    if number is None or not 1 <= number <= LAST_LINE_TOLD:
        return None
    code = next((line.code for line in verdict.lines if line.number == number), "")
    return SourceLine(number, code, (), True)
