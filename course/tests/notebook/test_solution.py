"""The course's own solution: after a pass, and where it is."""

import pytest

import course
from course import exercises as ex
from course.check.answers import check_number_source
from course.check.check import check_source
from course.notebook import solution
from course.notebook.exercises import _offered
from course.notebook.progress import noted
from course.tests.notebook.test_progress import RIGHT, verdict


def test_it_is_shown_after_a_pass(progress_file):
    assert repr(ex.vector_add.solution()) == (
        "It is shown once a check has passed. Until then: ex.vector_add.hint()."
    )
    noted(ex.vector_add, verdict(0.6))
    assert not ex.vector_add.solution().is_code
    noted(ex.vector_add, check_source(ex.vector_add, RIGHT))
    shown = ex.vector_add.solution()
    assert check_source(ex.vector_add, shown.text)
    assert "###" not in shown.text
    why = "Each element read once, each sum written once."
    assert repr(shown).startswith(f"{why}\n\nfrom numba")
    html = shown._repr_html_()
    assert html.startswith("<details><summary>")
    assert html.index(f"<p>{why}</p>") < html.index("<pre")


@pytest.mark.parametrize("place", ["off", "in a file"])
def test_it_is_shown_after_a_pass_that_no_file_keeps(place, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "progress.json") if place == "in a file" else place
    monkeypatch.setenv("COURSE_PROGRESS", path)
    noted(ex.vector_add, verdict(0.6))
    assert not ex.vector_add.solution().is_code
    noted(ex.vector_add, verdict(1.0))
    assert ex.vector_add.solution().is_code
    assert not ex.grid_math.solution().is_code


def test_answers_are_shown_too(progress_file):
    noted(ex.grid_math, verdict(1.0))
    shown = ex.grid_math.solution()
    assert check_number_source(ex.grid_math, shown.text)
    assert repr(shown) == shown.text  # nothing says why


def test_every_exercise_has_one():
    assert [name for name, one in ex.all_exercises().items() if not solution.available(one)] == []


def test_where_it_is_not_an_instructor_has_it(progress_file, tmp_path, monkeypatch):
    monkeypatch.setattr(solution, "_FOLDER", tmp_path)
    noted(ex.vector_add, verdict(1.0))
    assert "your instructor has it" in repr(ex.vector_add.solution())
    assert "<p>" in ex.vector_add.solution()._repr_html_()


@pytest.mark.parametrize("name", ["vector_add", "grid_math"])
def test_every_kind_of_exercise_offers_it(name):
    assert callable(getattr(ex, name).solution)


def test_a_written_answer_is_shown_when_the_lessons_exercises_have_passed(progress_file):
    assert repr(course.answer("threads")) == (
        "It is shown once the lesson's exercises have passed. Still open: ex.vector_add."
    )
    for exercise in ex.lesson("threads").values():
        noted(exercise, verdict(1.0))
    text = repr(course.answer("01_threads"))
    assert "250" in text
    assert "#" not in text


def test_every_lesson_has_a_written_answer_and_its_last_exercise_says_so(progress_file):
    assert [stem for stem in ex.stems() if not solution.answer_of(stem)] == []
    name = [*ex.lesson("threads")][-1]
    steps = _offered(getattr(ex, name), verdict(1.0)).next_steps
    assert 'course.answer("threads")' in steps[-1]
    assert "course.answer" not in " ".join(_offered(ex.vector_add, verdict(1.0)).next_steps)


def test_a_written_answer_of_no_lesson_and_one_that_is_not_here(tmp_path, monkeypatch):
    assert "'thread'. Did you mean 'threads'? There are: start" in repr(course.answer("thread"))
    assert "There is no lesson named 'bread'. There are: start, threads" in repr(
        course.answer("bread")
    )
    monkeypatch.setattr(solution, "_FOLDER", tmp_path)
    assert "your instructor has it" in repr(course.answer("threads"))
