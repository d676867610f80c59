"""A scaffold: what it writes, what it refuses, and that it works as it stands."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys

import pytest

from autograder import __main__ as command_line
from autograder.lessons.new import NameRefused, scaffold, with_entry, with_import
from autograder.lessons.percent import blocks
from autograder.proof.verify import gaps
from autograder.proof.witness import witnesses_of
from autograder.tests.small_course import REPOSITORY, small_course

SPEC = '''"""Lesson 01."""

from course.spec.exercise import Array, integers

add_one = Array("a", "N", draw=integers(0, 9))
'''
HIDDEN = '''"""Ranges."""

from autograder.hidden import Draws, choice

HIDDEN = {
    "add_one": (Draws(N=choice(1, 2)),),
}
'''

WITNESSES = '''"""Wrong kernels."""

# %% add_one no_guard -> OUT_OF_BOUNDS
# A reason.
from numba import cuda


@cuda.jit
def add_one(x, y):
    y[cuda.grid(1)] = 1
'''


@pytest.fixture
def root(tmp_path):
    small_course(tmp_path)
    for path, text in (
        ("course/exercises/small.py", SPEC),
        ("autograder/hidden/small.py", HIDDEN),
        ("autograder/proof/witnesses/small.cells", WITNESSES),
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def declared(path):
    """The exercises of a spec module, by name."""
    namespace: dict = {}
    exec(compile(path.read_text(), path, "exec"), namespace)
    return {k: v for k, v in namespace.items() if hasattr(v, "hints")}


def test_an_exercise_in_a_new_lesson_has_four_files(root):
    written = scaffold(root, "row_max", "06_norms")
    assert [str(path.relative_to(root)) for path in written] == [
        "course/exercises/norms.py",
        "solutions/06_norms.py",
        "autograder/proof/witnesses/norms.cells",
        "autograder/hidden/norms.py",
    ]
    assert list(declared(written[0])) == ["row_max"]


def test_an_exercise_without_a_lesson_joins_the_last_one_that_is_no_primer(root):
    (root / "solutions" / "90_primer.py").write_text("# %% [markdown]\n# # A primer\n")
    assert scaffold(root, "row_max")[1].name == "01_small.py"


def test_a_scaffold_is_a_lesson_that_reads_and_witnesses_that_read(root):
    from autograder.lessons.source import read_lesson

    spec, lesson, *_ = scaffold(root, "row_max", "06_norms")
    read = read_lesson(lesson, tuple(declared(spec).values()))
    assert list(read.starters) == ["row_max"]
    assert [(w.name, w.outcome.value) for w in witnesses_of("norms", root)] == [
        ("no_guard", "OUT_OF_BOUNDS"),
        ("early_return", "PASS"),
    ]


def test_in_a_lesson_of_triton_kernels_the_scaffold_is_one(root):
    lesson = scaffold(root, "first", "06_norms")[1]
    lesson.write_text(lesson.read_text() + "\n# %%\nimport triton\n")
    spec, *_ = scaffold(root, "row_max", "norms")
    found = declared(spec)
    assert [found[name].dialect for name in ("first", "row_max")] == ["numba", "triton"]
    own = [w for w in witnesses_of("norms", root) if w.exercise == "row_max"]
    assert [(w.name, w.outcome.value) for w in own] == [
        ("no_mask", "OUT_OF_BOUNDS"),
        ("other_given", "PASS"),
    ]
    assert all("import triton.language as tl" in w.source for w in own)
    assert "TO WRITE: the solution" in lesson.read_text()


def test_every_gap_of_a_scaffold_is_named(root):
    from autograder.lessons.source import read_lesson

    spec, path, *_ = scaffold(root, "row_max", "06_norms")
    lesson = read_lesson(path, tuple(declared(spec).values()))
    sentences = list(gaps(root, lesson))
    text = "".join(file.read_text() for file in (root).rglob("*norms.*"))
    assert len(sentences) == text.count("TO WRITE")
    assert "course/exercises/norms.py:8: still to be written: the title." in sentences
    assert any(s.startswith("autograder/hidden/norms.py:") for s in sentences)


def test_an_exercise_is_added_to_the_lesson_named(root):
    scaffold(root, "row_max", "small")
    witnesses = witnesses_of("small", root)
    assert [w.exercise for w in witnesses] == ["add_one", "row_max", "row_max"]
    spec = (root / "course/exercises/small.py").read_text()
    assert spec.startswith(SPEC.replace("Array, integers", "(").partition("(")[0])
    assert "row_max = KernelExercise(" in spec
    lesson = (root / "solutions/01_small.py").read_text()
    titles = [block.title for block in blocks(lesson)[1]]
    assert titles[-2:] == ["row_max", "row_max_check"]
    assert "add_one" in titles
    hidden = ast.parse((root / "autograder/hidden/small.py").read_text()).body[-1]
    assert isinstance(hidden, ast.Assign)
    assert isinstance(hidden.value, ast.Dict)
    keys = [key.value for key in hidden.value.keys if isinstance(key, ast.Constant)]
    assert keys == ["add_one", "row_max"]


def test_a_first_exercise_needs_the_name_of_its_lesson(tmp_path):
    with pytest.raises(NameRefused, match="There is no lesson yet"):
        scaffold(tmp_path, "row_max")


@pytest.mark.parametrize(
    ("name", "lesson", "words"),
    [
        ("2fast", "", "'2fast' cannot name an exercise. Expected small letters"),
        ("RowMax", "", "cannot name an exercise"),
        ("row-max", "", "cannot name an exercise"),
        ("lambda", "", "cannot name an exercise"),
        ("", "", "cannot name an exercise"),
        ("row_check", "", "NAME_check and explain_NAME are names of cells"),
        ("explain_row", "", "NAME_check and explain_NAME are names of cells"),
        ("add_one", "", "course/exercises/small.py has a 'add_one' already"),
        ("stems", "", "`ex.stems` means something else already"),
        ("ex", "", "'ex' is a name that the cells of lessons use"),
        ("cuda", "", "'cuda' is a name that the cells of lessons use"),
        ("small", "", "'small' is a lesson: `ex.small` means its module."),
        ("sums", "06_sums", "A lesson and its exercise cannot share the name 'sums'."),
        ("row_max", "smal", "no lesson 'smal'. Did you mean 'small'? There are: small."),
        ("row_max", "01_norms", "The number 01 is that of 01_small.py."),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_written(root, name, lesson, words):
    before = {path: path.read_bytes() for path in root.rglob("*.*")}
    with pytest.raises(NameRefused) as caught:
        scaffold(root, name, lesson)
    assert words in str(caught.value)
    assert {path: path.read_bytes() for path in root.rglob("*.*")} == before


def test_a_second_scaffold_of_one_name_is_refused(root, capsys):
    assert command_line.main(["new", "row_max", "--root", str(root)]) == 0
    assert command_line.main(["new", "row_max", "--root", str(root)]) == 2
    assert capsys.readouterr().err == (
        "course/exercises/small.py has a 'row_max' already. Nothing was written.\n"
    )


def test_an_import_is_added_where_there_is_none_and_merged_where_there_is():
    assert with_import('"""Doc."""\n\nx = 1\n', "m", ["b", "A"]) == (
        '"""Doc."""\n\nfrom m import A, b\n\nx = 1\n'
    )
    assert with_import("from m import b\n", "m", ["A"]) == "from m import A, b\n"


def test_a_hidden_file_of_another_form_is_refused():
    with pytest.raises(NameRefused, match="no dict HIDDEN"):
        with_entry("HIDDEN = dict()\n", "entry")


def test_a_scaffold_passes_the_lint(root):
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    scaffold(root, "row_max", "06_norms")
    scaffold(root, "column_max", "small")
    scaffold(root, "row_sum", "norms")
    lesson = root / "solutions" / "06_norms.py"
    lesson.write_text(lesson.read_text() + "\n\n# %%\nimport triton\n")
    scaffold(root, "row_mean", "norms")
    for command in (["check"], ["format", "--check"]):
        files = ["course", "autograder", "solutions/06_norms.py"]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *files],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
