"""`make gpu-notebooks`: the record of every notebook on a GPU, and what it makes of a check."""

import json

import nbformat
import pytest

from autograder.lessons.catalogue import lessons
from autograder.lessons.notebook_run import NotebookRun
from autograder.lessons.source import lesson_files, solved_cells
from course.spec.exercise import KernelExercise
from tools import gpu_notebooks

RECORD = gpu_notebooks.ROOT / "docs" / "gpu_notebooks.json"
RIGHT = "✓ double: pass\n  On this machine's H200: right on\n  all 3 cases. N=16 takes 5.0 us.\n"
WRONG = "✓ double: pass\n  On this machine's H200 this kernel gives\n  another answer for N=5.\n"
FULL = RIGHT + "  At full size, N=16, it gives another answer.\n"
OTHER = "  This machine's H200 did not run it: the kernel is written\n  for 10.0 alone.\n"


def test_the_record_has_every_notebook_and_every_solution_right_on_the_gpu():
    notebooks = json.loads(RECORD.read_text())["notebooks"]
    stems = [path.stem for path in lesson_files(gpu_notebooks.ROOT)]
    assert list(notebooks) == [f"{stem} {v}" for stem in stems for v in ("student", "solution")]
    assert not [failure for run in notebooks.values() for failure in run["failures"]]
    for stem in stems:
        own = lessons().get(stem.partition("_")[2], ())
        kernels = {e.name: e for e in own if isinstance(e, KernelExercise)}
        said = notebooks[f"{stem} solution"]["gpu"]
        assert said.keys() == kernels.keys(), stem
        for name, told in said.items():
            where = "right on all" if kernels[name].target in (0, 90) else "did not run it"
            assert where in told, name


@pytest.mark.parametrize(
    ("said", "told", "count"),
    [
        (RIGHT, "On this machine's H200: right on all 3 cases.", 0),
        (WRONG, "On this machine's H200 this kernel gives another answer for N=5.", 1),
        (FULL, "On this machine's H200: right on all 3 cases.", 1),
        (OTHER, "This machine's H200 did not run it: the kernel is written for 10.0 alone.", 0),
        ("✗ double: wrong answer\n", "", 0),
    ],
)  # fmt: skip
def test_a_kernel_that_the_gpu_calls_wrong_is_a_failure(said, told, count):
    run = NotebookRun("00_start", "solution", said={"double": said}, failures=["before"])
    assert gpu_notebooks.of_the_gpu(said) == told
    assert len(gpu_notebooks.failures(run)) == 1 + count


def test_a_learners_notebook_is_filled_with_the_solutions():
    student = (gpu_notebooks.ROOT / "notebooks" / "01_threads.ipynb").read_bytes()
    cells = solved_cells(gpu_notebooks.ROOT, "threads")
    filled = nbformat.reads(gpu_notebooks.solved(student, cells).decode(), as_version=4).cells
    before = nbformat.reads(student.decode(), as_version=4).cells
    changed = {
        old.metadata.nbgrader.grade_id: new.source
        for old, new in zip(before, filled, strict=True)
        if old.source != new.source
    }
    assert changed == {exercise.name: cells[exercise.name] for exercise in lessons()["threads"]}


def test_without_a_gpu_nothing_is_run(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_notebooks, "present", lambda: False)
    with pytest.raises(SystemExit, match="shows no NVIDIA GPU"):
        gpu_notebooks.record(tmp_path / "out.json")
