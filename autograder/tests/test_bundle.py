"""What students get holds the course, and no solution, no hidden case, no seed."""

import functools
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import nbformat
import pytest

from autograder import Refused
from autograder.__main__ import main
from autograder.judge import overlay, private
from autograder.lessons import bundle
from autograder.lessons.build import read_lessons
from autograder.lessons.source import regions
from autograder.tests.handed_in import functions
from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.runner import Engine
from course.engine.triton.compiling.available import has_triton
from course.spec.exercise import KernelExercise

#: Behind each stands nbgrader, a class or a wheel: seconds.
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("private") / "mine"
    private.make(home)
    out = tmp_path_factory.mktemp("bundle") / "students"
    assert main(["release", "--out", str(out), "--private", str(home)]) == 0
    yield out, home
    overlay.use(None)


def contents(out):
    for name, content in bundle._files(out):
        yield name, content.decode(errors="replace")


def test_it_holds_every_notebook_a_wheel_versions_and_instructions(made):
    out, _ = made
    notebooks = {path.name for path in (out / "notebooks").iterdir()}
    assert notebooks == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    for notebook in notebooks:
        committed = (ROOT / "notebooks" / notebook).read_bytes()
        assert (out / "notebooks" / notebook).read_bytes() == committed
    [wheel] = out.glob("*.whl")
    text = (out / "README.md").read_text()
    assert f"first cell takes `{wheel.name}` from" in text
    assert 0 < text.find("install torch==") < text.find("install -r requirements.txt")
    pins = (out / "requirements.txt").read_text()
    assert "numba==" in pins
    assert "jupyterlab==" in pins
    assert "nbgrader" not in pins
    assert "pytest" not in pins


def test_it_holds_no_solution_no_hidden_range_no_seed(made):
    out, home = made
    seed = (home / private.SEED_NAME).read_text().strip()
    solved = [
        "\n".join(line.strip() for line in region).strip()
        for lesson in read_lessons(ROOT)
        for cell in lesson.cells
        for region in regions(cell.source)
    ]
    assert len(solved) > 30
    for name, text in contents(out):
        parts = Path(name).parts
        assert not {"autograder", "solutions", "tests", "hidden", "witnesses"} & set(parts), name
        assert "BEGIN SOLUTION" not in text, name
        assert "HIDDEN = {" not in text, name
        assert seed not in text, name
        bare = "\n".join(line.strip() for line in text.splitlines())
        for region in solved:
            assert f"\n{region}\n" not in f"\n{bare}\n", name


def test_what_would_give_something_away_is_named(made, tmp_path):
    _, home = made
    lessons = read_lessons(ROOT)
    region = next(
        region
        for lesson in lessons
        for cell in lesson.cells
        for region in regions(cell.source)
        if len(region) > 2
    )
    (tmp_path / "notes.md").write_text("\n".join(["  x"] + list(region)))
    (tmp_path / "other.txt").write_bytes(private.read(home))
    (tmp_path / "autograder").mkdir()
    (tmp_path / "autograder" / "a.py").write_text("")
    seeds = [private.read(home)]
    sentences = " ".join(bundle.given_away(tmp_path, lessons, seeds))
    assert "notes.md would hold the solution of" in sentences
    assert "other.txt would hold your seed" in sentences
    assert "autograder/a.py is no file for students" in sentences


def test_a_solution_of_one_line_is_found_where_it_is_a_whole_line(tmp_path):
    lessons = read_lessons(ROOT)
    [[line]] = [
        region
        for lesson in lessons
        for cell in lesson.cells
        for region in regions(cell.source)
        if cell.name == "double"
    ]
    (tmp_path / "code.py").write_text(f"if True:\n  {line.strip()}\n")
    (tmp_path / "other.py").write_text(f"longer_{line.strip()}\n")
    sentences = list(bundle.given_away(tmp_path, lessons, []))
    assert sentences == ["code.py would hold the solution of 'double'."]


@functools.cache
def tasks():
    """(exercise, its starter, its solution) by name: of the kernels that can be tried here."""
    return {
        exercise.name: (exercise, lesson.starters[exercise.name], lesson.solutions[exercise.name])
        for lesson in read_lessons(ROOT)
        for exercise in lesson.exercises
        if isinstance(exercise, KernelExercise) and (exercise.dialect == "numba" or has_triton())
    }


def passes(function, exercise, starter):
    """Whether a function is right for an exercise. (Nothing is compiled: it saves minutes.)"""
    cell = function.handed_in(exercise, starter)
    return check_source(exercise, cell, runner=Engine(compiles=False)).outcome is Outcome.PASS


def test_no_kernel_of_it_passes_an_exercise_under_the_exercise_s_name(made):
    out, _ = made
    found = [
        function
        for name, text in contents(out)
        if name.endswith((".py", ".ipynb", ".md", "METADATA"))
        for function in functions(name, text)
    ]
    assert {"course/engine/triton/canary.py", "notebooks/04_matmul.ipynb"} <= {
        f.where for f in found
    }
    passed = [
        f"{function.node.name} of {function.where} passes {exercise.name}"
        for exercise, starter, _ in tasks().values()
        for function in found
        if function.fits(exercise) and passes(function, exercise, starter)
    ]
    assert not passed


@pytest.mark.parametrize("form", ["code.py", "notebook.ipynb", "prose.md"])
@pytest.mark.parametrize("name", ["vector_add", "matmul_tiled", "triton_add", "triton_matmul"])
def test_a_solution_under_another_name_would_be_found(name, form):
    if name not in tasks():
        pytest.skip("Triton has no wheel for this system")
    exercise, starter, solution = tasks()[name]
    head, mark, body = solution.replace(f"def {name}(", "def given(").partition("@")
    cells = [nbformat.v4.new_code_cell(source) for source in ("%pip list\n" + head, mark + body)]
    text = {
        "code.py": head + mark + body,
        "notebook.ipynb": nbformat.writes(nbformat.v4.new_notebook(cells=cells)),
        "prose.md": f"Look:\n\n```python\n{head}{mark}{body}\n```\n",
    }[form]
    [given] = [function for function in functions(form, text) if function.fits(exercise)]
    assert given.node.name == "given"
    assert passes(given, exercise, starter)


def test_a_folder_that_is_not_empty_is_refused(made, capsys):
    out, home = made
    assert main(["release", "--out", str(out), "--private", str(home)]) == 2
    assert "not empty" in capsys.readouterr().err


def test_of_a_bundle_that_cannot_be_written_nothing_is_left(tmp_path):
    (tmp_path / "bundle" / "notebooks").mkdir(parents=True)
    for name in ("README.md", "notebooks/01_threads.ipynb"):
        (tmp_path / "bundle" / name).write_text("text")
    (tmp_path / "bundle" / "wheel").symlink_to("gone")
    with pytest.raises(Refused, match=r"students: .*No such file.* Make room there, or"):
        bundle._put(tmp_path / "bundle", tmp_path / "students")
    assert not list((tmp_path / "students").iterdir())


def test_a_file_in_the_place_of_the_folder_is_called_one(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["release", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'file'} is a file. Choose a new folder.\n"


def test_a_private_folder_that_cannot_be_searched_for_is_refused(tmp_path, capsys):
    out = tmp_path / "students"
    command = ["release", "--out", str(out), "--private"]
    assert main([*command, str(tmp_path / "typo")]) == 2
    assert f"There is no folder {tmp_path / 'typo'}. Name" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main([*command, str(tmp_path / "empty")]) == 2
    assert "seed cannot be read: No such file or directory" in capsys.readouterr().err
    private.make(tmp_path / "open")
    (tmp_path / "open" / "seed").chmod(0o644)
    assert main([*command, str(tmp_path / "open")]) == 2
    assert "Others may read" in capsys.readouterr().err
    assert not out.exists()


def test_the_two_week_unit_names_what_counts(tmp_path, capsys, monkeypatch):
    out = tmp_path / "students"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nobody's"))
    assert main(["release", "--out", str(out), "--unit", "two-week"]) == 0
    overlay.use(None)
    assert "No seed was looked for" in capsys.readouterr().out
    text = (out / "README.md").read_text()
    assert "vector_add" in text
    assert "saxpy_grid_stride" not in text
    assert (out / "notebooks" / "00_start.ipynb").exists()


def test_the_wheel_works_alone_in_a_clean_environment(made, tmp_path):
    """An environment of its own, with this one's packages beside the wheel and no checkout."""
    out, _ = made
    venv.create(tmp_path / "clean", with_pip=False)
    python = tmp_path / "clean" / "bin" / "python"
    [wheel] = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    packages = next(p for p in sys.path if p.endswith("site-packages"))
    code = """
import numpy as np
from course import exercises as ex
from course.check.check import check_source
assert len(ex.all_exercises()) > 30
cell = "from numba import cuda\\n@cuda.jit\\ndef double(x, y):\\n    ..."
verdict = check_source(ex.double, cell)
assert verdict.outcome.value == "NOT_ATTEMPTED", verdict
for name in ("autograder", "solutions"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        pass
    else:
        raise SystemExit(name + " can be imported")
print("works")
"""
    done = subprocess.run(
        [str(python), "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), packages]), "HOME": "/tmp"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "works", done.stderr
