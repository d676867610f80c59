"""The command line: what it runs, and what it says to wrong arguments."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from autograder import __main__ as command_line
from autograder.tests.small_course import LESSON, small_course


def test_an_unknown_command_is_answered_with_the_nearest(capsys):
    assert command_line.main(["biuld"]) == 2
    assert capsys.readouterr().err == (
        "There is no command 'biuld'. Did you mean 'build'? "
        f"There are: {', '.join(command_line.COMMANDS)}.\n"
    )


def test_a_wrong_argument_is_a_sentence(capsys):
    with pytest.raises(SystemExit) as caught:
        command_line.main(["build", "--forse"])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("Unrecognized arguments: --forse. `python -m autograder")
    assert error.count("\n") == 1


def test_no_command_lists_them(capsys):
    assert command_line.main([]) == 2
    assert "make the notebooks" in capsys.readouterr().out


def test_help_imports_no_command(capsys, monkeypatch):
    monkeypatch.setitem(command_line.COMMANDS, "grade", ("no.such.module", "grade notebooks"))
    with pytest.raises(SystemExit):
        command_line.main(["--help"])
    assert "grade notebooks" in capsys.readouterr().out


def test_a_missing_package_is_a_sentence(capsys, monkeypatch):
    monkeypatch.setitem(command_line.COMMANDS, "grade", ("missing_package.grade", "grade"))
    assert command_line.main(["grade"]) == 1
    assert capsys.readouterr().err == (
        f"The package 'missing_package' is not installed in this Python ({sys.executable}). "
        "Run `make venv` in the repository, then use .venv/bin/python.\n"
    )


def test_a_build_of_a_wrong_source_fails_with_its_sentence(tmp_path, capsys):
    root = small_course(tmp_path, LESSON.replace("# %% [markdown]", "# %% predict", 1))
    assert command_line.main(["build", "small", "--root", str(root)]) == 1
    assert "01_small.py:" in capsys.readouterr().err


def test_whoever_reads_only_the_beginning_gets_no_traceback() -> None:
    """As in `python -m autograder doctor | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "doctor"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (">&-", ""),
        (
            ">/dev/full",
            "No space is left in what this command prints to. Make room: then the same command "
            "goes on or begins again.\n",
        ),
    ],
)
def test_where_nothing_can_be_printed_there_is_no_traceback(how: str, said: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m autograder doctor {how}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert done.stderr == said


def test_a_terminal_without_a_character_gets_its_number() -> None:
    program = "from autograder.__main__ import main; main([]); print('\u2717')"
    known = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=known)
    assert done.stdout.endswith(b"\\u2717\n")
