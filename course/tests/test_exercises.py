"""The registry of exercises, and what every spec must hold."""

import importlib

import numpy as np
import pytest

import course.exercises
from course import exercises as ex
from course.check.as_if import SIZE_OF
from course.notebook.exercises import shown
from course.spec.exercise import Exercise, KernelExercise, NumberExercise
from course.spec.formula import evaluate
from course.spec.inputs import drawn, given_to_reference
from course.words.statement import statement_html, statement_text

KERNELS = [name for name, one in ex.all_exercises().items() if isinstance(one, KernelExercise)]


def test_an_exercise_is_found_by_its_name():
    assert ex.vector_add.name == "vector_add"
    assert ex.vector_add == shown(ex.lesson("threads")["vector_add"])


def test_a_spec_is_data_and_a_learner_gets_its_check_and_hints_by_name():
    spec = ex.lesson("threads")["vector_add"]
    for learners in ("check", "show", "hint", "_repr_html_"):
        assert not hasattr(spec, learners)
        assert hasattr(ex.vector_add, learners)
    assert repr(ex.vector_add) == statement_text(spec)


def test_an_unknown_name_is_an_error_that_names_near_ones():
    with pytest.raises(AttributeError, match=r"no exercise named 'vectr_add'.*vector_add"):
        ex.vectr_add  # noqa: B018  # the access itself is tested


def test_names_of_the_language_are_not_looked_up_among_exercises():
    assert not hasattr(ex, "__wrapped__")


def test_dir_lists_every_exercise():
    assert set(ex.all_exercises()) <= set(dir(ex))


def test_no_two_exercises_share_a_name_and_none_has_the_name_of_a_lesson():
    names = []
    for stem in ex.stems():
        module = importlib.import_module(f"{course.exercises.__name__}.{stem}")
        names += [value.name for value in vars(module).values() if isinstance(value, Exercise)]
    assert sorted(names) == sorted(set(names))
    assert not set(names) & set(ex.stems())


@pytest.mark.parametrize("stem", ex.stems())
def test_an_exercise_is_bound_to_its_own_name(stem):
    module = importlib.import_module(f"{course.exercises.__name__}.{stem}")
    for key, value in vars(module).items():
        if isinstance(value, Exercise):
            assert key == value.name


def test_lessons_come_in_order():
    stems = ex.stems()
    assert stems.index("start") < stems.index("threads")


@pytest.mark.parametrize("name", sorted(ex.all_exercises()))
def test_every_statement_can_be_read(name):
    exercise = ex.all_exercises()[name]
    text, html = statement_text(exercise), statement_html(exercise)
    assert exercise.title in text
    assert f"ex.{name}.check({name})" in text
    assert html.count("<table") == html.count("<caption")
    if isinstance(exercise, KernelExercise) and exercise.budget is not None:
        assert "1.1 x" in text or ex.stem_of(name) == "start"
    if isinstance(exercise, NumberExercise):
        assert all(question in text for question in exercise.questions)


@pytest.mark.parametrize("name", sorted(ex.all_exercises()))
def test_every_exercise_has_one_to_three_hints_and_points(name):
    exercise = ex.all_exercises()[name]
    assert 1 <= len(exercise.hints) <= 3
    assert all(exercise.hints)
    assert exercise.points > 0


@pytest.mark.parametrize(
    "name", [n for n, one in ex.all_exercises().items() if isinstance(one, KernelExercise)]
)
def test_a_slip_takes_what_the_reference_takes_and_gives_some_of_what_it_gives(name):
    """Advice leaves a slip aside that raises: one that always does would never be told."""
    exercise = ex.all_exercises()[name]
    case = exercise.cases[min(1, len(exercise.cases) - 1)]
    given = given_to_reference(exercise, drawn(exercise, case, np.random.default_rng(0)))
    with np.errstate(all="ignore"):
        expected = exercise.reference(**given)
        for said, slip in exercise.slips.items():
            told = {name.removeprefix(SIZE_OF) for name in slip(**given)}
            assert told <= expected.keys(), said


#: What has to move at full size, or to be multiplied and added, for a GPU's time to mean something.
FULL_BYTES, FULL_OPERATIONS = 60e6, 2e9


@pytest.mark.parametrize("name", KERNELS)
def test_the_full_size_of_an_exercise_fills_a_gpu(name):
    exercise = ex.all_exercises()[name]
    assert exercise.full is not None
    if exercise.operations:
        assert evaluate(exercise.operations, exercise.names(exercise.full)) > FULL_OPERATIONS
    elif name != "split_k":  # a long K and a small C
        assert 32 * sum(exercise.least_sectors(exercise.full).values()) > FULL_BYTES
