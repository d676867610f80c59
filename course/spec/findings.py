"""What is found of a mistake, as questions: the line where it is made, and its kind."""

from __future__ import annotations

from collections.abc import Mapping

from course.spec.exercise import Question

#: The kinds of mistakes by their words, in the order of their numbers, from 1.
KINDS: Mapping[str, str] = {
    "race": "two threads touch one cell, one of them writes, and nothing says who comes first",
    "index": "a right value, but from a wrong place, or to one",
    "mask": "a place that does not exist takes part, or one that exists does not",
    "start": "a maximum, a sum or a cell begins with a wrong value",
    "overflow": "a number beyond the largest of its type",
    "rounding": "digits that its type has no room for",
    "nan": "inf - inf or 0 / 0: from there on no number at all",
    "rescale": "sums that were taken against different maxima are added",
}


def kinds_in_words(count: int) -> str:
    """The first `count` kinds with their numbers: `1 race, 2 index`."""
    return ", ".join(f"{number} {kind}" for number, kind in enumerate([*KINDS][:count], 1))


def line_question(text: str, answer: int, slips: Mapping[int, str]) -> Question:
    """Which line of a kernel it is, counted from the decorator; `slips` by a wrong line."""
    told = {str(line): words for line, words in slips.items()}
    return Question(text, str(answer), "a line's number", slips=told)


def kind_question(letter: str, answer: str, count: int, slips: Mapping[str, str]) -> Question:
    """Which of the first `count` kinds a mistake is; `slips` by a wrong kind's word."""
    numbers = {kind: str(number) for number, kind in enumerate(KINDS, 1)}
    told = {numbers[kind]: words for kind, words in slips.items()}
    return Question(f"{letter}: what kind is it?", numbers[answer], f"1 to {count}", slips=told)
