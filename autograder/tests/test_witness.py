"""Witness files are text: what is read from them, and what is said about wrong ones."""

from __future__ import annotations

import pytest

from autograder.lessons.catalogue import lessons
from autograder.lessons.percent import SourceError
from autograder.proof.witness import read_witnesses, witness_file, witnesses_of
from course.engine.faults import Outcome

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

SOLUTIONS = {
    "vector_add": """\
from numba import cuda


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]  # read 2 N, write N
"""
}


def read(tmp_path, text):
    path = tmp_path / "witnesses.py"
    path.write_text(text)
    return read_witnesses(path, SOLUTIONS)


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


def test_a_witness_may_be_held_out(tmp_path):
    first, *others = read(tmp_path, WITNESSES.replace("OUT_OF_BOUNDS", "OUT_OF_BOUNDS held out"))
    assert (first.outcome, first.credit, first.held_out) == (Outcome.OUT_OF_BOUNDS, None, True)
    assert not any(other.held_out for other in others)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("no_guard ->", "no_guard", 3, "expected `# %% EXERCISE NAME -> VERDICT`"),
        ("OUT_OF_BOUNDS", "OUT_OF_BOUND", 3, "'OUT_OF_BOUND' is no verdict. There are: PASS"),
        ("TRAFFIC 0.6", "TRAFFIC 60%", 14, "expected a share of the points from 0 to 1"),
        ("TRAFFIC 0.6", "TRAFFIC 1.5", 14, "got '1.5'"),
        ("-> PASS", "-> PASS 0.9", 18, "an honest variant gets full points"),
        ("-> PASS", "-> PASS held out", 18, "an honest variant passes everywhere"),
        ("# A loop, as on a CPU.\n", "", 14, "why does a learner write this?"),
        ("y = 2\n", "", 18, "expected a solution cell, or edits, below the comment"),
        ("y = 2\n", "- i = 1\n", 20, "vector_add early_return: expected this once in the base"),
        ("early_return", "early_return from no_guard", 18, "a whole cell has no base"),
        ("y = 2\n", "- i = cuda.grid(1)\n+ ### BEGIN SOLUTION\n", 18, "remove the markers"),
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


def test_a_witness_that_changes_another_is_read_as_a_whole_cell(tmp_path):
    edits = """
# %% vector_add one_block from guarded -> TOO_SERIAL 0.5
# One block alone.
- i = cuda.grid(1)
+ i = cuda.threadIdx.x

# %% vector_add guarded -> PASS
# The guard turned round.
- if i < c.size:
-     c[i] = a[i] + b[i]
+ if i >= c.size:
+     return
+ c[i] = a[i] + b[i]
"""
    one_block, guarded = read(tmp_path, WITNESSES + edits)[3:]
    body = "    if i >= c.size:\n        return\n    c[i] = a[i] + b[i]"
    assert guarded.source.endswith(f"    i = cuda.grid(1)\n{body}")
    assert one_block.source.endswith(f"    i = cuda.threadIdx.x\n{body}")
    assert (one_block.outcome, one_block.credit) == (Outcome.TOO_SERIAL, 0.5)
    assert (one_block.why, one_block.line) == ("One block alone.", 22)


def test_a_base_that_rotted_is_told_once_however_many_are_made_of_it(tmp_path):
    rotted = "# %% vector_add {} -> PASS\n# Why.\n- {}\n+ i = 0\n\n"
    text = rotted.format("a", "i = 1") + rotted.format("b from a", "i = 0")
    with pytest.raises(SourceError) as caught:
        read(tmp_path, text + rotted.format("c from b", "i = 0"))
    (problem,) = caught.value.problems
    assert str(problem).endswith(
        "witnesses.py:3: vector_add a: expected this once in the base, found it 0 times: `i = 1`. "
        "The nearest line to `i = 1` is `i = cuda.grid(1)`."
    )


def test_a_lesson_without_a_witness_file_has_none(tmp_path):
    assert witnesses_of("threads", tmp_path) == ()


def test_every_file_of_witnesses_is_read():
    known = [witness_file(stem) for stem in lessons()]
    assert sorted(known[0].parent.iterdir()) == sorted(path for path in known if path.exists())


def test_the_course_has_honest_variants_enough_to_hold_its_graders_to():
    honest = [w for stem in lessons() for w in witnesses_of(stem) if w.outcome is Outcome.PASS]
    assert len(honest) >= 120
