"""Graders as processes of their own, and a class for them to grade with the fake check."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.grading import grade
from autograder.grading.ledger import Ledger, _written
from autograder.judge.judge import Graded
from autograder.lessons.catalogue import ROOT
from autograder.tests import fakes
from autograder.tests.notebooks import EXERCISES, put, solved

FIRST = EXERCISES[0]


#: What these tests are started by may ignore the end of its terminal, as `nohup` does.
_AS_IN_A_TERMINAL = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
#: The course's files count as unchanged; and what a shell starts in its background ignores Ctrl-C.
_STEADY = """\
import autograder.judge.judge as judge
signal.signal(signal.SIGINT, signal.default_int_handler)
judge.course_version = lambda: 'steady'
judge.lesson_version = lambda stem: 'steady'
"""


def enter(ledger: Ledger, rows: Iterable[Graded]) -> None:
    """Many verdicts at once."""
    with ledger._engine.begin() as connection:
        for graded in rows:
            ledger._insert(connection, graded, _written(graded), "now")


def start(
    *words: object, check: str = fakes.CHECK, steady: bool = False
) -> "subprocess.Popen[str]":
    """A grader in a process of its own; a steady one can be stopped, and knows what it had done."""
    program = (
        f"{_AS_IN_A_TERMINAL}{_STEADY if steady else ''}"
        "import argparse, sys\nfrom autograder.__main__ import status_of\n"
        "from autograder.grading import grade\n"
        "parser = argparse.ArgumentParser(); grade.add_arguments(parser)\n"
        f"args = parser.parse_args(sys.argv[1:]); args.check = {check!r}\n"
        "sys.exit(status_of(grade.main, args))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=steady,
    )


def a_class(root: Path, students: int, cell: str = "slow 0.05") -> int:
    for number in range(students):
        put(root / f"s{number}_01_threads.ipynb", solved({FIRST: f"{cell}\n# {number}"}))
    return students * len(EXERCISES)


def cells(first: str) -> dict[str, str]:
    return {FIRST: first}


def finished(one: "subprocess.Popen[str]", status: int = grade.DONE) -> str:
    said, _ = one.communicate(timeout=90)
    assert one.returncode == status, said
    assert "Traceback" not in said
    return said


def lives(process: int) -> bool:
    """Whether a process is there, and not only to be waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
