"""What a student may read of a verdict on a held-out case: what went wrong, and in which line.

No value, size or traffic of such a case stands in it. A kernel chooses what it stores and where
it reads, so that a message with live values would carry a held-out input to its author.
"""

from __future__ import annotations

from dataclasses import replace

from course.verdict import Verdict

_MESSAGE = "Right on every visible case, but not on a held-out one: {headline}."
_NEXT = (
    "Held-out cases have other sizes and other values. Which sizes are not among the visible "
    "cases: one that no block divides, one below a warp, one above the grid?"
)


def veiled(verdict: Verdict) -> Verdict:
    """The verdict without anything that was measured or computed on its case."""
    return replace(
        verdict,
        message=_MESSAGE.format(headline=verdict.headline),
        rows=(),
        lines=tuple(replace(line, accesses=()) for line in verdict.lines if line.marked),
        extras=(),
        next_steps=(_NEXT,),
        internal_error="",
    )
