"""Mistakes that are recognised: the sentence that each must get, of what its cases and text show.

`recognised_mistakes.toml` names witnesses and of each a part of its message and its next steps, or
of what is said to its entries.
"""

import tomllib
from pathlib import Path

import pytest

from autograder.proof.witness import Witness, witnesses_of
from course.check.answers import check_number_source
from course.check.check import check_source
from course.exercises import lesson
from course.spec.exercise import KernelExercise, NumberExercise, case
from course.tests.families import family

TABLE = Path(__file__).parent / "recognised_mistakes.toml"
#: lesson: exercise and witness: a part of the sentence, of the next step, or of both
ROWS: dict[str, dict[str, str]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
FEWEST = 300


#: Lessons in Numba, whose kernels take milliseconds: `make test` draws from all of their rows.
QUICK = ("start", "threads", "coalescing", "shared_memory", "matmul", "roofline")
_EVERY = [(stem, name, said) for stem, named in ROWS.items() for name, said in named.items()]
MEMBERS = [
    *(row for row in _EVERY if row[0] in QUICK),
    *family([row for row in _EVERY if row[0] not in QUICK], lambda row: row[0], lambda row: row[1]),
]


@pytest.fixture(scope="module")
def witnesses() -> dict[tuple[str, str], Witness]:
    """By lesson, and exercise and name."""
    return {(stem, f"{w.exercise} {w.name}"): w for stem in ROWS for w in witnesses_of(stem)}


@pytest.mark.parametrize(("stem", "name", "said"), MEMBERS)
@pytest.mark.family
def test_a_mistake_gets_the_sentence_that_is_true_of_it(
    stem: str, name: str, said: str, witnesses: dict[tuple[str, str], Witness]
) -> None:
    witness = witnesses[stem, name]
    exercise = lesson(stem)[witness.exercise]
    check = check_number_source if isinstance(exercise, NumberExercise) else check_source
    verdict = check(exercise, witness.source)
    assert verdict.outcome is witness.outcome
    remarks = [entry.remark for entry in verdict.entries]
    assert said in " ".join((verdict.message, *verdict.next_steps, *remarks))


def test_the_table_names_witnesses_of_every_lesson(
    witnesses: dict[tuple[str, str], Witness],
) -> None:
    named = [(stem, name) for stem, names in ROWS.items() for name in names]
    assert set(named) <= set(witnesses)
    assert len(ROWS) == 15
    assert len(named) >= FEWEST


def test_nan_that_a_root_makes_is_not_said_to_come_of_infinities_alone(
    witnesses: dict[tuple[str, str], Witness],
) -> None:
    root = witnesses["roofline", "half_the_bytes root_of_the_scale"]
    below_zero = (case(N=40, scalars={"scale": -0.03}),)
    exercise = lesson("roofline")[root.exercise]
    assert isinstance(exercise, KernelExercise)
    verdict = check_source(exercise, root.source, below_zero)
    assert "a root or logarithm of a number below 0" in " ".join(verdict.next_steps)
