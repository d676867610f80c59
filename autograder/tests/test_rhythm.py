"""A lesson lets nobody read for long: words between two things to do, and before a first kernel."""

import re
from pathlib import Path

import pytest

from autograder.lessons.percent import blocks

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
LESSONS = sorted(path.stem for path in SOLUTIONS.glob("[0-9]*.py"))
MOST_WORDS = 700
MOST_WORDS_BEFORE_A_KERNEL = 300


def stretches(lesson: str) -> list[tuple[int, str]]:
    """(words of prose, the named cell after them): predictions, exercises, written answers."""
    found, words = [], 0
    for cell in blocks((SOLUTIONS / f"{lesson}.py").read_text(encoding="utf-8"))[1]:
        prose, name = re.fullmatch(r"(\[markdown\])? ?(.*)", cell.title).groups()
        if name and not name.endswith("_check"):
            found.append((words, name))
            words = 0
        elif prose:
            words += len(re.findall(r"\w[\w'.,-]*", cell.body))
    return [*found, (words, "the end")]


@pytest.mark.parametrize("lesson", LESSONS)
def test_between_two_things_to_do_there_are_700_words_at_most(lesson: str) -> None:
    assert max(stretches(lesson)) <= (MOST_WORDS, "")


@pytest.mark.parametrize(
    ("lesson", "kernel"), [("00_start", "double"), ("01_threads", "vector_add")]
)
def test_the_first_kernel_comes_within_300_words(lesson: str, kernel: str) -> None:
    first, *_ = stretches(lesson)
    assert first[1] == kernel
    assert first[0] <= MOST_WORDS_BEFORE_A_KERNEL
