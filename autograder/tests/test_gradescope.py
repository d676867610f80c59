"""The autograder for Gradescope, run as Gradescope runs it: its folders, its results."""

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from autograder import __main__ as command_line
from autograder.grading import gradescope_run
from autograder.judge import overlay, private
from autograder.lessons.catalogue import lesson_exercises
from autograder.proof.witness import solutions_of
from autograder.tests import fakes
from autograder.tests.notebooks import EXERCISES, LESSON, cell, notebook, put, solved

#: A held-out case's sizes, as no visible case has them.
_RANGES = """
from course.spec.draws import uniform as _uniform
HIDDEN = HIDDEN | {"vector_add": (Draws(N=7919, draws={"a": _uniform(7.1, 7.2)}),)}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An instructor's private folder."""
    private.make(tmp_path / "private")
    return tmp_path / "private"


def image(tmp_path: Path, folder: Path, *words: str) -> Path:
    """What Gradescope makes of the zip: unpacked, with a Python in the place of setup.sh's."""
    out = tmp_path / "autograder.zip"
    made = ["gradescope", str(out), "--lesson", LESSON, "--private", str(folder), *words]
    assert command_line.main(made) == 0
    overlay.use(None)
    root = tmp_path / "autograder"
    with zipfile.ZipFile(out) as packed:
        packed.extractall(root / "source")  # loses the files' modes, as some tools do
    (root / "venv" / "bin").mkdir(parents=True)
    python = put(root / "venv/bin/python", f'#!/bin/sh\nexec {sys.executable} "$@"\n'.encode())
    python.chmod(0o755)
    (root / "submission").mkdir()
    (root / "results").mkdir()
    return root


def ran(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(root / "source" / "run_autograder")],
        env={**os.environ, "AUTOGRADER_ROOT": str(root)},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


def results(root: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((root / "results" / "results.json").read_text())
    return told


@pytest.mark.slow
def test_a_notebook_is_judged_as_gradescope_runs_it_and_nothing_held_out_is_told(
    tmp_path: Path, folder: Path
) -> None:
    ranges = Path(command_line.__file__).parent / "hidden" / "threads.py"
    put(folder / "hidden" / "threads.py", (ranges.read_text() + _RANGES).encode())
    (folder / overlay.SETTINGS).write_text(f"[points]\n{EXERCISES[0]} = 8\n")
    root = image(tmp_path, folder, "--visibility", "visible")
    own = solutions_of("threads")
    # right on each visible case, and wrong on the one of 7,919
    wrong = own["vector_add"].replace("c.size", "min(c.size, 7900)")
    assert wrong != own["vector_add"]
    cells = [cell({**own, "vector_add": wrong}[name], name) for name in EXERCISES[:2]]
    put(root / "submission" / "my work.ipynb", notebook(cells))
    done = ran(root)
    assert done.returncode == 0, done.stderr
    told = results(root)
    by_name = {test["name"]: test for test in told["tests"]}
    assert list(by_name) == EXERCISES
    first = by_name["vector_add"]
    assert (first["score"], first["max_score"], first["visibility"]) == (0.0, 8.0, "visible")
    assert "held-out" in first["output"]
    assert not re.search(r"7,?919|7[.][12]", json.dumps(told))
    assert by_name[EXERCISES[1]]["status"] == "passed"
    assert by_name[EXERCISES[1]]["score"] == by_name[EXERCISES[1]]["max_score"]
    assert by_name[EXERCISES[2]]["score"] == 0
    assert told["stdout_visibility"] == "hidden"


def test_the_zip_holds_the_seed_for_its_owner_and_no_solution(tmp_path: Path, folder: Path) -> None:
    root = image(tmp_path, folder)
    out = tmp_path / "autograder.zip"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    names = [str(path.relative_to(root)) for path in (root / "source").rglob("*")]
    assert "source/private/seed" in names
    parts = {part for name in names for part in Path(name).parts}
    assert not parts & {"solutions", "tests", "proof", "witnesses", "exploits", ".git"}
    setup = (root / "source" / "setup.sh").read_text()
    assert re.search(r"pip install --quiet torch==\d", setup)
    assert subprocess.run(["bash", "-n", root / "source" / "setup.sh"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds no notebook"),
        ({"solution.pdf": b"%PDF"}, "holds no notebook"),
        ({"a.ipynb": solved(), "b.ipynb": solved("RACE")}, "Hand in one notebook"),
        ({"a.ipynb": notebook([cell("PASS", "transpose")])}, "is that of 03_shared_memory."),
        ({"a.ipynb": solved()}, "a.ipynb was read, and 5 exercises judged."),
        (
            {f"{LESSON}.ipynb": solved(), "final.ipynb": solved("RACE")},
            f"{LESSON}.ipynb was read, and 5 exercises judged.",
        ),
    ],
)
def test_what_everybody_sees_at_once_is_whether_there_was_a_notebook(
    tmp_path: Path, folder: Path, files: dict[str, Any], said: str
) -> None:
    root = tmp_path / "autograder"
    (root / "source").mkdir(parents=True)
    folder.rename(root / "source" / "private")
    (root / "submission").mkdir()
    for name, content in files.items():
        put(root / "submission" / name, content)
    assert gradescope_run.main([str(root), "--lesson", LESSON], fakes.CHECK) == 0
    overlay.use(None)
    told = results(root)
    assert said in told["output"]
    assert [test["name"] for test in told["tests"]] == EXERCISES
    whole = sum(e.points for e in lesson_exercises("threads"))
    assert sum(test["max_score"] for test in told["tests"]) == whole
    assert sum(test["score"] for test in told["tests"]) == (whole if "was read" in said else 0)
    assert {test["visibility"] for test in told["tests"]} == {"after_due_date"}


def test_where_the_judge_failed_there_is_no_zero(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "autograder"
    (root / "source").mkdir(parents=True)
    folder.rename(root / "source" / "private")
    put(root / "submission" / "a.ipynb", solved({EXERCISES[0]: "die"}))
    assert gradescope_run.main([str(root), "--lesson", LESSON], fakes.CHECK) == 1
    overlay.use(None)
    assert "The judge failed on 1 answer" in capsys.readouterr().err
    assert not (root / "results").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["out.zip", "--lesson", "01_thread"], "There is no lesson '01_thread'. There are: 00_"),
        (["out", "--lesson", LESSON], "Gradescope takes a zip. Call it"),
        (["out.zip", "--lesson", LESSON, "--private", "nowhere"], "There is no folder nowhere"),
    ],
)
def test_what_cannot_be_made_is_a_sentence(
    tmp_path: Path,
    folder: Path,
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    known = [] if "--private" in words else ["--private", str(folder)]
    assert command_line.main(["gradescope", *words, *known]) == 2
    overlay.use(None)
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.zip").exists()
