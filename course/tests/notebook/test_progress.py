"""What a learner has solved is kept, and a pass says what is next."""

import json
from pathlib import Path

import pytest

import course
from course import exercises as ex
from course.check.check import check_source
from course.notebook import progress
from course.words.verdict import Verdict

RIGHT = """from numba import cuda

@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]
"""
WASTEFUL = RIGHT.replace("a[i] + b[i]", "a[i] * 0 + a[i] + b[i]").replace(
    "    if", "    s = cuda.gridsize(1)\n    if"
)


def verdict(credit: float, outcome=course.Outcome.PASS) -> Verdict:
    return Verdict(outcome, "vector_add", "", "passed", credit=credit, max_points=4)


def test_a_pass_is_kept_and_says_what_is_next(progress_file):
    found = progress.noted(ex.vector_add, check_source(ex.vector_add, RIGHT))
    assert found
    following = list(ex.lesson("threads").values())[1]
    assert (
        found.next_steps[-1] == f"Next in this lesson: `ex.{following.name}` ({following.title})."
    )
    assert json.loads(progress_file.read_text())["vector_add"]["credit"] == 1.0
    row = next(row for row in course.progress().rows if row[0] == "01_threads")
    assert row[1].startswith("1 of")
    assert row[3].startswith(f"ex.{following.name},")


def test_exercises_are_defined_in_the_order_of_their_lesson():
    for path in (Path(course.__file__).parent.parent / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in cells]
        stem = path.stem.partition("_")[2]
        if stem in ex.stems():
            assert [name for name in ids if name in ex.lesson(stem)] == list(ex.lesson(stem))


def test_the_last_of_a_lesson_leads_to_the_next_lesson(progress_file):
    *_, last = ex.lesson("threads")
    steps = progress.noted(getattr(ex, last), verdict(1.0)).next_steps
    assert steps == (
        "That was the lesson's last exercise. The next lesson: 02_coalescing.ipynb. It begins with "
        "`ex.predict_sectors` (Predict the sectors of a request).",
    )
    html = progress.noted(getattr(ex, last), verdict(1.0))._repr_html_()
    assert '<a href="02_coalescing.ipynb">02_coalescing.ipynb</a>' in html
    assert "<code>ex.predict_sectors</code>" in html
    *_, very_last = ex.all_exercises()
    assert (
        "the last exercise." in progress.noted(getattr(ex, very_last), verdict(1.0)).next_steps[0]
    )


def test_the_best_share_of_the_points_stays(progress_file):
    for credit in (0.6, 1.0, 0.6, 0.0):
        progress.noted(ex.vector_add, verdict(credit))
    assert progress.kept()["vector_add"]["credit"] == 1.0


def test_a_mistake_is_told_as_ever(progress_file):
    wrong = verdict(0.0, course.Outcome.WRONG_ANSWER)
    assert progress.noted(ex.vector_add, wrong) is wrong
    assert not progress_file.exists()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"vector_add": 1}', '{"a": {"credit": "x"}}'])
def test_a_broken_file_is_as_none_and_is_mended(progress_file, content):
    progress_file.parent.mkdir()
    progress_file.write_text(content)
    assert progress.kept() == {}
    progress.noted(ex.vector_add, verdict(1.0))
    assert set(progress.kept()) == {"vector_add"}


def test_where_nothing_can_be_kept_a_check_goes_on(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for place in (str(tmp_path / "file" / "progress.json"), "off"):
        monkeypatch.setenv("COURSE_PROGRESS", place)
        assert progress.noted(ex.vector_add, verdict(1.0))
        assert progress.file() is None or not progress.file().exists()


def test_what_no_file_keeps_counts_until_the_process_ends(progress_file, monkeypatch):
    progress.noted(ex.vector_add, verdict(1.0))
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    assert progress.kept() == {}
    progress.noted(ex.grid_math, verdict(1.0))
    assert set(progress.kept()) == {"grid_math"}
    assert "grid_math" not in progress_file.read_text()


def test_a_user_without_a_home_is_checked_all_the_same(monkeypatch):
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", none)
    assert progress.noted(ex.vector_add, verdict(1.0))
    assert progress.file() is None


def test_it_lies_among_the_users_data(tmp_path, monkeypatch):
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert progress.file() == tmp_path / "gpu-kernel-course" / "progress.json"


def test_it_is_shown_as_text_and_as_a_table(progress_file):
    shown = course.progress()
    assert repr(shown).splitlines()[0].split() == ["lesson", "exercises", "points", "next"]
    assert len(repr(shown).splitlines()) == len(ex.stems()) + 2
    assert shown._repr_html_().count("<tr>") == len(ex.stems()) + 1
