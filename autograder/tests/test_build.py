"""What a build makes of a lesson, and what it never does."""

from __future__ import annotations

import nbformat
import pytest

from autograder import Refused
from autograder.lessons import build as building
from autograder.lessons import colab
from autograder.lessons.build import build, is_as_built, make, read_lessons
from autograder.lessons.percent import SourceError
from autograder.lessons.release import register, settings
from autograder.lessons.source import regions, without_spare_stub
from autograder.tests.small_course import EXERCISES, LESSON, REPOSITORY, small_course
from course.spec.exercise import NumberExercise


@pytest.fixture
def root(tmp_path):
    return small_course(tmp_path)


def built(root, **options):
    return build(root, exercises=EXERCISES, **options)


def student(root):
    return root / "notebooks" / "01_small.ipynb"


def cells(root):
    return nbformat.read(student(root), as_version=4).cells


def marked(root):
    """The cells that nbgrader knows, by grade id."""
    return {c.metadata.nbgrader.grade_id: c for c in cells(root) if "nbgrader" in c.metadata}


def files(root):
    return {
        path.relative_to(root): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.suffix == ".ipynb"
    }


def test_a_second_build_gives_the_same_bytes(root, tmp_path_factory):
    built(root)
    other = small_course(tmp_path_factory.mktemp("elsewhere") / "course")
    built(other)
    assert files(root) == files(other)
    assert len(files(root)) == 3
    before = files(root)
    assert built(root).unchanged == ["01_small"]
    assert files(root) == before


def test_inserting_a_cell_moves_no_other_id(root):
    built(root)
    before = [cell.id for cell in cells(root)]
    more = LESSON.replace("# %% predict\n", "# %% [markdown]\n# New.\n\n# %% predict\n")
    built(small_course(root, more))
    after = [cell.id for cell in cells(root)]
    assert len(after) == len(before) + 1
    assert [i for i in after if i in before] == before


def test_two_cells_with_the_same_text_have_ids_of_their_own(root):
    text = LESSON + "\n# %%\nprint(1)\n\n# %%\nprint(1)\n"
    built(small_course(root, text))
    ids = [cell.id for cell in cells(root)]
    assert len(set(ids)) == len(ids)


def test_metadata_say_what_is_graded_and_for_how_many_points(root):
    built(root)
    marks = {
        c.metadata.nbgrader.grade_id: c.metadata for c in cells(root) if "nbgrader" in c.metadata
    }
    assert list(marks) == [
        "add_one",
        "add_one_check",
        "count_blocks",
        "count_blocks_check",
        "explain_guard",
    ]
    solution, check, explain = (marks[n] for n in ("add_one", "add_one_check", "explain_guard"))
    assert (solution.nbgrader.solution, solution.nbgrader.grade) == (True, False)
    assert (check.nbgrader.solution, check.nbgrader.grade, check.nbgrader.points) == (
        False,
        True,
        3,
    )
    assert check.nbgrader.locked is True
    assert (check.editable, check.deletable) == (False, False)
    assert (explain.nbgrader.solution, explain.nbgrader.grade) == (True, True)
    assert explain.nbgrader.points == 0
    assert {mark.nbgrader.schema_version for mark in marks.values()} == {3}


def test_students_get_the_starter_and_the_source_keeps_the_solution(root):
    built(root)
    (lesson,) = read_lessons(root, exercises=EXERCISES)
    sources = {
        c.metadata.nbgrader.grade_id: c.source for c in cells(root) if "nbgrader" in c.metadata
    }
    for name, text in lesson.starters.items():
        assert sources[name] == text
    assert sources["explain_guard"] == (
        "Why does a thread look at `x.size` first?\n\nWrite your answer here."
    )
    instructor = (root / ".build/nbgrader/source/01_small/01_small.ipynb").read_text()
    assert "y[i] = x[i] + 1" in instructor
    assert "y[i] = x[i] + 1" not in student(root).read_text()


def test_a_table_of_answers_ends_without_a_line_that_would_show_ellipsis(root):
    built(root)
    sources = {name: cell.source for name, cell in marked(root).items()}
    assert sources["count_blocks"] == 'count_blocks = {"blocks": ...}'
    assert "    ..." in sources["add_one"]  # a kernel's stub is its only mark


@pytest.mark.parametrize(
    "starter",
    [
        "x = 1\n...",
        "def f():\n    ...",
        "sizes = {'N': 3}\n...",
        "answers = {'a': ...}\n...\nprint(answers)",
    ],
)
def test_a_stub_that_is_the_only_mark_of_its_cell_stays(starter):
    assert without_spare_stub(starter) == starter


def test_the_set_up_cell_stands_below_the_title_folded_and_nobody_s_to_change(root):
    built(root)
    title, set_up = cells(root)[:2]
    assert title.source.startswith("# A small lesson")
    assert set_up.source == colab.set_up()
    assert set_up.source.startswith("#@title Set up")
    assert (set_up.metadata.cellView, set_up.metadata.jupyter.source_hidden) == ("form", True)
    assert (set_up.metadata.editable, set_up.metadata.deletable) == (False, False)


def test_nothing_lies_beside_the_notebook_that_nbgrader_would_copy(root):
    built(root)
    folder = root / ".build/nbgrader/source/01_small"
    assert [path.name for path in folder.iterdir()] == ["01_small.ipynb"]
    assert [path.name for path in (root / "notebooks").iterdir()] == ["01_small.ipynb"]


def test_a_notebook_that_somebody_worked_in_is_kept(root):
    built(root)
    notebook = nbformat.read(student(root), as_version=4)
    notebook.cells[3].source = "prediction = 7"
    nbformat.write(notebook, student(root))
    worked_in = student(root).read_bytes()
    assert built(root).kept == ["01_small"]
    assert student(root).read_bytes() == worked_in
    assert built(root, force=True).written == ["01_small"]
    assert is_as_built(student(root))


def test_a_notebook_that_was_only_run_is_built_anew(root):
    built(root)
    fresh = student(root).read_bytes()
    notebook = nbformat.read(student(root), as_version=4)
    notebook.cells[2].outputs = [nbformat.v4.new_output("stream", text="hello")]
    nbformat.write(notebook, student(root))
    assert built(root).written == ["01_small"]
    assert student(root).read_bytes() == fresh


def test_a_file_that_no_build_wrote_is_kept(root):
    student(root).parent.mkdir()
    student(root).write_text("mine")
    assert built(root).kept == ["01_small"]
    assert student(root).read_text() == "mine"


def test_a_build_that_fails_changes_no_file(root):
    built(root)
    before = files(root)
    small_course(root, LESSON.replace("prediction = ...", "prediction = 0"))
    (root / "solutions" / "02_other.py").write_text("# %%\n### BEGIN SOLUTION\n")
    with pytest.raises(SourceError):
        built(root)
    assert files(root) == before


def test_a_build_stopped_while_writing_leaves_the_old_file(root, monkeypatch):
    built(root)
    before = files(root)
    small_course(root, LESSON.replace("prediction = ...", "prediction = 0"))

    def stop(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(building.Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        built(root)
    assert files(root) == before
    assert sorted(path.name for path in student(root).parent.iterdir()) == ["01_small.ipynb"]


def test_a_renamed_lesson_leaves_nothing_in_the_build_and_students_files_alone(root):
    built(root)
    (root / "solutions" / "01_small.py").rename(root / "solutions" / "02_small.py")
    built(root)
    assert [p.name for p in (root / ".build/nbgrader/source").iterdir()] == ["02_small"]
    assert [p.name for p in (root / ".build/nbgrader/release").iterdir()] == ["02_small"]
    assert student(root).exists()


def test_a_solution_that_stands_in_an_ordinary_cell_too_stops_the_build(root):
    region = regions(read_lessons(root, exercises=EXERCISES)[0].cells[3].source)[0]
    copied = "\n".join(line.removeprefix("    ") for line in region)
    text = LESSON.replace("prediction = ...", f"def given():\n{copied}".replace("\n", "\n    "))
    small_course(root, text)
    with pytest.raises(Refused, match=r"01_small.py:\d+: the student notebook would hold"):
        built(root)
    assert not student(root).exists()


def test_specs_that_no_lesson_uses_are_named(root):
    with pytest.raises(SourceError, match=r"no lesson solutions/NN_other.py uses .*: add_one"):
        read_lessons(root, exercises={**EXERCISES, "other": EXERCISES["small"][:1]})


def test_two_lessons_of_one_stem_are_refused(root):
    (root / "solutions" / "02_small.py").write_text(LESSON)
    with pytest.raises(SourceError, match=r"01_small\.py is a lesson with the stem 'small'"):
        read_lessons(root, exercises=EXERCISES)


def test_an_unknown_stem_is_a_sentence(root):
    with pytest.raises(Refused, match=r"no lesson 'smal' in solutions/\. There are: small"):
        read_lessons(root, ["smal"], EXERCISES)


def test_a_gradebook_learns_the_cells_and_their_points(root):
    from nbgrader.api import Gradebook

    built(root)
    url = f"sqlite:///{root / 'class.db'}"
    register(root, "01_small", url)
    with Gradebook(url) as gradebook:
        notebook = gradebook.find_notebook("01_small", "01_small")
        points = {cell.name: cell.max_score for cell in notebook.grade_cells}
        assert points == {"add_one_check": 3, "count_blocks_check": 1, "explain_guard": 0}
        source = gradebook.find_source_cell("add_one_check", "01_small", "01_small").source
        assert source == "ex.add_one.check(add_one)"


def test_a_gradebook_of_an_unbuilt_lesson_is_a_sentence(root):
    with pytest.raises(Refused, match="Run `make build` first"):
        register(root, "01_small", f"sqlite:///{root / 'class.db'}")


# --- the course's own lessons ---

LESSONS = sorted(path.stem for path in (REPOSITORY / "solutions").glob("*.py"))


@pytest.fixture(scope="module")
def course_built(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("course")
    made = make(read_lessons(REPOSITORY), settings(REPOSITORY), scratch)
    return {item.lesson.name: item for item in made}


@pytest.mark.parametrize("name", LESSONS)
def test_the_release_holds_no_line_of_a_solution(course_built, name):
    item = course_built[name]
    released = nbformat.reads(item.released.decode(), as_version=4)
    assert "BEGIN SOLUTION" not in item.student.decode()
    assert "END SOLUTION" not in item.student.decode()
    inside: set[str] = set()
    outside: set[str] = set()
    for cell in item.lesson.cells:
        solving = False
        for line in cell.source.split("\n"):
            if "SOLUTION" in line:
                solving = "BEGIN" in line
            else:
                (inside if solving else outside).add(line.strip())
    secret = inside - outside - {""}
    assert secret or not item.lesson.exercises
    for cell in released.cells:
        assert not secret.intersection(line.strip() for line in cell.source.split("\n"))


@pytest.mark.parametrize("name", LESSONS)
def test_the_committed_notebook_is_what_the_source_gives(course_built, name):
    committed = REPOSITORY / "notebooks" / f"{name}.ipynb"
    assert committed.read_bytes() == course_built[name].student, "run `make build`"


@pytest.mark.parametrize("name", LESSONS)
def test_starters_are_python_with_a_marker_a_region_and_none_below_a_table(course_built, name):
    import ast

    lesson = course_built[name].lesson
    tables = {e.name for e in lesson.exercises if isinstance(e, NumberExercise)}
    for cell in lesson.cells:
        if cell.name in lesson.starters:
            tree = ast.parse(lesson.starters[cell.name])
            markers = [n for n in ast.walk(tree) if isinstance(n, ast.Expr)]
            stubs = [n for n in markers if ast.unparse(n) == "..."]
            marked = 0 if cell.name in tables else len(regions(cell.source))
            assert len(stubs) == marked, cell.name
