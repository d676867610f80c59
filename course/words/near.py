"""What is said of a wrong number that is a slip away from the right one, whatever was asked."""

from __future__ import annotations

import math

from course.spec.exercise import Question
from course.spec.formula import Number

#: Prefixes from one unit to another, and what K, M and G stand for where 1,024 is taken for 1,000.
_PREFIXES = (3, 6, 9, 12)
#: Units in which 1,024 is taken for 1,000, and how near to that a number has to lie: others miss
#: by 2.4 % as well.
_OF_BYTES = ("B", "KB", "MB", "GB", "TB", "byte", "bytes")
_BINARY = 2e-3


def near(question: Question, got: Number, expected: Number, rounding: float) -> str:
    """The slip that lies between the two numbers, in words, or nothing."""

    def same(number: float, other: float) -> bool:
        return math.isclose(number, other, rel_tol=max(question.rtol, rounding))

    if question.unit.startswith("a share"):
        if same(got, 100 * expected):
            return "That is in percent: a share lies between 0 and 1."
        if same(got, 1 - expected):
            return "That is all but the share that is asked for."
        if not 0 <= got <= 1:
            return "A share lies between 0 and 1."
    if not expected or not got:
        return ""
    if not same(1.0, expected) and same(1 / got, expected):
        return "Turn it over: what is divided by what?"
    if any(same(got, expected * 10**n) or same(got * 10**n, expected) for n in _PREFIXES):
        return f"The digits are right: {question.unit or 'which unit'} is asked for."
    binary = (got * 1024 ** (n // 3) / 10**n for n in _PREFIXES)
    if question.unit.partition("/")[0] in _OF_BYTES and any(
        math.isclose(one, expected, rel_tol=_BINARY) for one in binary
    ):
        return "That counts 1,024 where the unit counts 1,000: a GB is 10**9 bytes here."
    if not question.rtol and expected == int(expected) and abs(got - expected) < 1:
        return f"Only whole ones count: round {'down' if got > expected else 'up'}."
    return ""
