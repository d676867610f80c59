"""Wrong kernels that a lucky seed could let pass: the held-out cases of each seed see them.

None of them needs the visible cases to be seen, and the held-out ones are drawn anew from each
owner's seed: a property that only some draws have would make the grade a matter of luck.
"""

from collections.abc import Iterator

import pytest

from autograder.hidden import HiddenCasesError, derived, hidden_cases, leaving
from autograder.proof.witness import Witness, witnesses_of
from course import exercises
from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.runner import Engine
from course.spec.exercise import KernelExercise

STEMS = (
    *("threads", "shared_memory", "matmul", "softmax"),
    *("norms", "fusion", "attention", "attention_backward"),
)
NAMES = (
    *("whole_groups_of_eight", "rest_of_a_whole_warp", "last_of_whole_blocks_left_out"),
    *("one_step_left_out", "padded_with_minus_65504", "padded_with_minus_30000"),
    "maximum_starts_at_minus_65504",
    "maximum_starts_at_minus_a_million",
    "maximum_starts_at_minus_a_billion",
    *("eight_steps_at_most", "64_rows_at_most"),
    *("far_scores_have_no_weight", "large_ones_left_out", "cut_at_a_billion"),
)


def lucky() -> Iterator[tuple[str, Witness]]:
    """The wrong kernels, each with its lesson."""
    for stem in STEMS:
        for witness in witnesses_of(stem):
            if witness.name in NAMES:
                yield stem, witness


LUCKY = list(lucky())
#: Those that take a tenth of a second.
QUICK = [
    (stem, witness)
    for stem, witness in LUCKY
    if witness.exercise in ("vector_add", "five_mistakes", "matmul_tiled", "softmax_one_pass")
]


def ids(found: list[tuple[str, Witness]]) -> list[str]:
    return [f"{witness.exercise}-{witness.name}" for _, witness in found]


def outcome(stem: str, witness: Witness, seed: str) -> Outcome:
    exercise = exercises.lesson(stem)[witness.exercise]
    assert isinstance(exercise, KernelExercise)
    cases = hidden_cases(exercise.name, seed)
    inputs = derived(seed, exercise.name, "inputs")
    engine = Engine(compiles=False)  # what the compiler says of them is seen by `check`
    return check_source(exercise, witness.source, cases, inputs, engine).outcome


@pytest.mark.parametrize(("stem", "witness"), QUICK, ids=ids(QUICK))
@pytest.mark.family
def test_no_seed_is_lucky(stem: str, witness: Witness) -> None:
    assert outcome(stem, witness, "one seed") is Outcome.WRONG_ANSWER


@pytest.mark.slow
@pytest.mark.family
@pytest.mark.parametrize(("stem", "witness"), LUCKY, ids=ids(LUCKY))
def test_none_of_fifty_seeds_is_lucky(stem: str, witness: Witness) -> None:
    found = {seed: outcome(stem, witness, f"seed {seed}") for seed in range(50)}
    passed = [seed for seed, one in found.items() if one is not Outcome.WRONG_ANSWER]
    assert not passed, f"seeds {passed} let it pass"


def test_every_name_stands_for_a_witness() -> None:
    assert {witness.name for _, witness in LUCKY} == set(NAMES)


def test_a_rest_is_in_every_draw() -> None:
    assert leaving(1, 256, 257, 2500).values == range(257, 2306, 256)
    assert leaving(0, 8, 1, 20).values == range(8, 17, 8)
    assert leaving(255, 256, 255, 255).values == range(255, 256, 256)
    for wrong in ((1, 256, 258, 500), (8, 8, 1, 20), (0, 0, 1, 2)):
        with pytest.raises(HiddenCasesError, match=r"expected a rest|no such number"):
            leaving(*wrong)
