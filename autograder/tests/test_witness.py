"""Witness files are text: what is read from them, and what is said about wrong ones."""

from __future__ import annotations

import pytest

from autograder.lessons import lessons
from autograder.percent import SourceError
from autograder.witness import read_witnesses, witnesses_of
from course.faults import Outcome

WITNESSES = '''\
"""Wrong kernels of lesson 01."""

# %% vector_add no_guard -> OUT_OF_BOUNDS
# The last block has more threads than elements are left;
# every one of them writes.
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    c[i] = a[i] + b[i]

# %% vector_add one_thread -> TOO_MUCH_TRAFFIC 0.6
# A loop, as on a CPU.
x = 1  # not executed

# %% vector_add early_return -> PASS
# The guard turned round.
y = 2
'''


def read(tmp_path, text):
    path = tmp_path / "witnesses.py"
    path.write_text(text)
    return read_witnesses(path)


def test_a_witness_is_read_with_its_verdict_and_its_reason(tmp_path):
    first, second, third = read(tmp_path, WITNESSES)
    assert (first.exercise, first.name, first.outcome) == (
        "vector_add",
        "no_guard",
        Outcome.OUT_OF_BOUNDS,
    )
    assert first.why == (
        "The last block has more threads than elements are left; every one of them writes."
    )
    assert first.source == (
        "from numba import cuda\n\n\n@cuda.jit\ndef vector_add(a, b, c):\n"
        "    i = cuda.grid(1)\n    c[i] = a[i] + b[i]"
    )
    assert first.line == 3
    assert (first.credit, second.credit, third.credit) == (None, 0.6, None)
    assert [w.is_honest for w in (first, second, third)] == [False, False, True]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("no_guard ->", "no_guard", 3, "expected `# %% EXERCISE NAME -> VERDICT`"),
        ("OUT_OF_BOUNDS", "OUT_OF_BOUND", 3, "'OUT_OF_BOUND' is no verdict. There are: PASS"),
        ("TRAFFIC 0.6", "TRAFFIC 60%", 14, "expected a share of the points from 0 to 1"),
        ("TRAFFIC 0.6", "TRAFFIC 1.5", 14, "got '1.5'"),
        ("-> PASS", "-> PASS 0.9", 18, "an honest variant gets full points"),
        ("# A loop, as on a CPU.\n", "", 14, "why does a learner write this?"),
        ("y = 2\n", "", 18, "expected a whole solution cell"),
        ("y = 2\n", "y = 2\n### BEGIN SOLUTION\n", 18, "remove the markers"),
        ("one_thread", "no_guard", 14, "vector_add no_guard stands on line 3 already"),
        ('"""Wrong kernels of lesson 01."""', "import os", 1, "only a docstring and comments"),
    ],
)
def test_a_wrong_witness_file_is_a_sentence_with_its_line(tmp_path, old, new, line, words):
    with pytest.raises(SourceError) as caught:
        read(tmp_path, WITNESSES.replace(old, new))
    (problem,) = caught.value.problems
    assert problem.line == line
    assert words in problem.sentence


def test_a_lesson_without_a_witness_file_has_none(tmp_path):
    assert witnesses_of("threads", tmp_path) == ()


def test_the_course_has_honest_variants_enough_to_hold_its_graders_to():
    honest = [w for stem in lessons() for w in witnesses_of(stem) if w.outcome is Outcome.PASS]
    assert len(honest) >= 120
