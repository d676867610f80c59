"""The demo's class: what it holds, and that each verdict is the one it was made for."""

import json
from pathlib import Path

import pytest

from autograder.grading import grade, sample_class
from autograder.grading.claims import without_collisions
from autograder.grading.collect import find
from autograder.grading.judging import Run, judge_all
from autograder.grading.sample_class import HandedIn
from autograder.grading.store import Store
from autograder.judge.pool import Pool
from autograder.lessons.catalogue import lesson_name
from autograder.lessons.release import release, settings
from course.engine.faults import Outcome

ROOT = Path(grade.__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with the sample's lessons released, whatever `make build` has left in the other."""
    import nbformat

    from autograder.lessons.build import instructor_notebook
    from autograder.proof.witness import lesson_of

    root = tmp_path_factory.mktemp("built")
    for stem in sample_class.STEMS:
        name = lesson_name(stem)
        source = root / "source" / name / f"{name}.ipynb"
        source.parent.mkdir(parents=True)
        nbformat.write(instructor_notebook(lesson_of(stem)), source)
        release(root / "source", root / ".build/nbgrader/release", name, settings(ROOT))
    (root / "solutions").symlink_to(ROOT / "solutions")
    (root / "autograder").symlink_to(ROOT / "autograder")
    return root


@pytest.fixture(scope="module")
def handed_in(built: Path) -> list[HandedIn]:
    return sample_class.sample_class(built)


@pytest.mark.slow
def test_the_class_is_the_same_each_time(built: Path, handed_in: list[HandedIn]) -> None:
    assert sample_class.sample_class(built) == handed_in


def test_the_class_has_a_dozen_students_and_every_verdict_a_submission_can_get(
    handed_in: list[HandedIn],
) -> None:
    assert len({one.student for one in handed_in}) >= 12
    there = {outcome for one in handed_in for outcome in one.expected.values()}
    # NOT_MEASURED is the grader's own failure: nothing that is handed in asks for it
    assert there == set(Outcome) - {Outcome.NOT_MEASURED}


def test_no_student_has_two_files_of_a_lesson(handed_in: list[HandedIn]) -> None:
    assert len({(one.student, one.lesson) for one in handed_in}) == len(handed_in)


@pytest.mark.slow
def test_every_verdict_of_the_class_is_the_one_it_was_made_for(
    handed_in: list[HandedIn], tmp_path: Path
) -> None:
    sample_class.write(handed_in, tmp_path / "submitted")
    submissions = without_collisions(find([tmp_path]).submissions)
    run = Run()
    with Pool(b"a test", jobs=2) as pool:
        rows = list(judge_all(submissions, Store(tmp_path / "out"), pool, run))
    got = {(row.student, row.notebook, row.exercise): row.outcome for row in rows}
    expected = {
        (one.student, one.lesson, exercise): outcome.value
        for one in handed_in
        for exercise, outcome in one.expected.items()
    }
    assert got == expected
    assert len(rows) == len(got)


def test_a_submission_is_the_released_notebook_with_its_cells_filled(
    built: Path, handed_in: list[HandedIn]
) -> None:
    lesson = handed_in[0].lesson
    path = built / ".build/nbgrader/release" / lesson / f"{lesson}.ipynb"
    released = json.loads(path.read_text())
    [right] = [
        one for one in handed_in if (one.student, one.lesson) == (sample_class.RIGHT, lesson)
    ]
    assert right.content is not None
    content = json.loads(right.content)
    assert [c["metadata"] for c in content["cells"]] == [c["metadata"] for c in released["cells"]]
    assert content != released
