"""`python -m course`."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest

from course import exercises
from course.__main__ import main
from course.tests.notebook.test_progress import RIGHT

WRONG = RIGHT.replace("+ b[i]", "- b[i]")


def written(path, **cells: str):
    """A notebook with solution cells."""
    notebook = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# A lesson"]},
            *(
                {
                    "cell_type": "code",
                    "metadata": {"nbgrader": {"grade_id": name}},
                    "source": source.splitlines(keepends=True),
                }
                for name, source in cells.items()
            ),
        ]
    }
    path.write_text(json.dumps(notebook))
    return path


def test_a_notebook_is_checked_and_not_run(tmp_path, capsys):
    stamp = tmp_path / "ran"
    path = written(
        tmp_path / "a.ipynb",
        vector_add=RIGHT,
        grid_math="grid_math = ...",
        unknown=f"open({str(stamp)!r}, 'w')",
    )
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "✓ vector_add: right"
    assert len(out) == 3
    assert out[1].startswith("○ grid_math")
    assert out[2].startswith("Next in this lesson: `ex.grid_math` (")
    assert not stamp.exists()
    assert main(["check", str(path), "vector_add"]) == 0


def test_a_mistake_is_told_whole(tmp_path, capsys):
    path = written(tmp_path / "a.ipynb", vector_add=WRONG)
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "wrong" in out
    assert "ex.vector_add.hint()" in out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("no json", "is no notebook"),
        ("[]", "is no notebook"),
        ('{"cells": [{}]}', "is no notebook"),
        ('{"cells": []}', "has no exercise of the course"),
        ("[" * 100_000, "is no notebook"),
    ],
)
def test_what_is_no_notebook_of_the_course_is_said(tmp_path, capsys, content, said):
    path = tmp_path / "a.ipynb"
    if content is not None:
        path.write_text(content)
    assert main(["check", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_a_pipe_is_no_notebook(tmp_path, capsys):
    path = tmp_path / "a.ipynb"
    os.mkfifo(path)
    assert main(["check", str(path)]) == 2
    assert "is a pipe or a device" in capsys.readouterr().err


@pytest.mark.parametrize("character", ["\x1b", "\x9b", "\ud800", "\u202e"])
def test_no_character_of_a_cell_is_for_the_terminal(tmp_path, capsys, character):
    path = written(tmp_path / "a.ipynb", vector_add=RIGHT + f"# {character}[2J\n")
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert character not in out
    assert "# \N{REPLACEMENT CHARACTER}[2J" in out


def test_an_exercise_that_is_not_there_is_said(tmp_path, capsys):
    path = written(tmp_path / "a.ipynb", vector_add=RIGHT)
    assert main(["check", str(path), "vectoradd"]) == 2
    assert "It has: vector_add." in capsys.readouterr().err


def test_watching_checks_what_was_saved(tmp_path, capsys, monkeypatch):
    path = written(tmp_path / "a.ipynb", vector_add=WRONG, grid_math="grid_math = ...")
    saved = threading.Event()

    def pause(seconds: float) -> None:
        if saved.is_set():
            raise KeyboardInterrupt
        if path.exists():  # an editor takes it away before it puts another in its place
            path.unlink()
            return
        written(path, vector_add=RIGHT, grid_math="grid_math = ...")
        saved.set()

    monkeypatch.setattr(time, "sleep", pause)
    assert main(["check", str(path), "--watch"]) == 130
    out = capsys.readouterr().out
    assert out.count("grid_math:") == 1
    watching = f"Watching {path}: what changes in it is checked when it is saved. Ctrl-C ends it."
    assert out.count(watching) == 1
    assert out.index(watching) < out.index(
        "✓ vector_add: right\nNext in this lesson: `ex.grid_math`"
    )


def test_watching_goes_on_where_half_a_notebook_is_saved(tmp_path, capsys, monkeypatch):
    path = written(tmp_path / "a.ipynb", vector_add=WRONG)
    saved = iter([lambda: path.write_text('{"cells": ['), lambda: written(path, vector_add=RIGHT)])

    def pause(seconds: float) -> None:
        try:
            next(saved)()
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(time, "sleep", pause)
    assert main(["check", str(path), "--watch"]) == 130
    said = capsys.readouterr()
    assert "✓ vector_add: right\nNext in this lesson:" in said.out
    assert "is no notebook" in said.err


def test_progress_is_what_there_is_to_see(capsys):
    assert main([]) == 0
    assert "lesson" in capsys.readouterr().out


def test_a_lessons_exercises_are_listed_with_what_is_solved(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    path = written(tmp_path / "a.ipynb", vector_add=RIGHT)
    assert main(["check", str(path)]) == 0
    capsys.readouterr()
    assert main(["progress", "01_threads"]) == 0
    head, *rows, following = capsys.readouterr().out.splitlines()
    assert head.split() == ["exercise", "title", "time", "points"]
    assert [row.split()[:2] for row in rows] == [
        ["✓" if name == "vector_add" else "○", name] for name in exercises.lesson("threads")
    ]
    assert "4 of 4  ★ core" in rows[0]
    assert following == "Next: ex.grid_math"


def test_a_lesson_that_is_not_there_is_said(capsys):
    assert main(["progress", "bread"]) == 2
    assert "There is no lesson named 'bread'. There are: start, threads" in capsys.readouterr().err


def test_a_notebook_alone_is_required_of_a_check(capsys):
    with pytest.raises(SystemExit):
        main(["check"])
    assert capsys.readouterr().err.rstrip().endswith("are required: NOTEBOOK")


def test_a_program_is_run(tmp_path, capsys):
    assert main(["run", str(tmp_path / "none.py")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error():
    told = subprocess.Popen(
        [sys.executable, "-m", "course"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert told.stdout is not None
    told.stdout.close()
    _, said = told.communicate()
    assert said == ""
