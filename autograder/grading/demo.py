"""`python -m autograder demo`: notebooks built, a sample class graded, a report on disk."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from autograder import Refused
from autograder.grading.sample_class import STEMS, HandedIn, sample_class, write
from autograder.grading.store import Store
from autograder.grading.table import show
from autograder.lessons.build import build, register
from autograder.lessons.catalogue import lesson_name

ROOT = Path(__file__).resolve().parents[2]
#: The same verdicts each time; a class of yours has a seed of its own.
SEED = "value:the sample class is graded on the same cases each time"
MARKER = ".demo"
_LAST_LINES = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / ".build" / "demo",
        metavar="DIR",
        help="where the sample class goes; an older demo there is removed",
    )


def main(args: argparse.Namespace) -> int:
    """Shows the whole product once. 0 if every verdict was the one it should be."""
    started = time.monotonic()
    try:
        wrong = demo(args.out.resolve())
    except (Refused, OSError) as error:
        print(f"\nThe demo stopped: {error}", file=sys.stderr)
        return 1
    print(f"\nDone in {time.monotonic() - started:.0f} seconds.")
    return 1 if wrong else 0


def demo(out: Path) -> int:
    """Builds, grades and shows; gives the number of verdicts that are not what they should be."""
    _say(1, "Building the student notebooks from solutions/ (python -m autograder build)")
    report = build(ROOT)
    built = [*report.written, *report.unchanged, *report.kept]
    print(f"    {len(built)} notebooks: {', '.join(sorted(built))}")

    _say(2, "Making a class out of solutions, witnesses and accidents")
    _make_room(out)
    handed_in = sample_class(ROOT)
    write(handed_in, out / "submitted")
    database = f"sqlite:///{out / 'gradebook.db'}"
    lessons = [lesson_name(stem) for stem in STEMS]
    for lesson in lessons:
        register(ROOT, lesson, database)
    students = len({one.student for one in handed_in})
    print(f"    {students} students, {len(handed_in)} submissions below {_shown(out)}/submitted")

    _say(3, "Grading it through nbgrader, on visible cases and on held-out ones")
    common = "--course-dir", str(out), "--db", database, "--log-level", "WARN"
    for lesson in lessons:
        _finish([_nbgrader("autograde", lesson, *common, f"--JudgedAutograde.seed={SEED}")])
    _say(4, "Writing each student's feedback")
    _finish([_nbgrader("generate_feedback", lesson, *common) for lesson in lessons])

    _say(5, "The class")
    rows = Store(out / "grades").all()
    show(rows)
    wrong = _compared(handed_in, {(r.student, r.notebook, r.exercise): r.outcome for r in rows})
    counts = Counter(row.outcome for row in rows)
    print(f"{len(rows)} verdicts: " + ", ".join(f"{n} {o}" for o, n in counts.most_common()) + ".")
    _what_next(out, lessons)
    return wrong


def _make_room(out: Path) -> None:
    """Empties the demo's own folder, and no other."""
    marker = out / MARKER
    if out.exists() and any(out.iterdir()) and not marker.exists():
        raise Refused(f"{out} holds files that no demo made. Choose another --out.")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    marker.write_text("Made by `python -m autograder demo`, which empties this folder.\n")


def _say(number: int, text: str) -> None:
    print(f"\n[{number}/5] {text}", flush=True)


def _shown(path: Path) -> str:
    return os.path.relpath(path)


def _nbgrader(*words: str) -> subprocess.Popen[str]:
    print(f"    nbgrader {words[0]} {words[1]}", flush=True)
    return subprocess.Popen(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _finish(commands: Sequence[subprocess.Popen[str]]) -> None:
    """Waits for commands that run side by side; the first that failed is an error."""
    said = [command.communicate()[0] for command in commands]
    for command, text in zip(commands, said, strict=True):
        if command.returncode != 0:
            last = "\n".join(text.strip().splitlines()[-_LAST_LINES:])
            raise Refused(f"{shlex.join(map(str, command.args))} failed:\n{last}")  # type: ignore[arg-type]


def _compared(handed_in: Sequence[HandedIn], got: dict[tuple[str, str, str], str]) -> int:
    """Says which verdicts are not those that the class was made for."""
    wrong = 0
    for one in handed_in:
        for exercise, expected in one.expected.items():
            outcome = got.get((one.student, one.lesson, exercise), "no verdict")
            if outcome != expected.value:
                wrong += 1
                where = f"{one.student}, {one.lesson}, {exercise}"
                print(f"{where}: expected {expected.value}, got {outcome}", file=sys.stderr)
    return wrong


def _what_next(out: Path, lessons: Sequence[str]) -> None:
    lesson = lessons[-1]
    print(
        f"""
What to look at:
  {_shown(out / "grades" / "report.html")}
      the class report: open it in a browser
  {_shown(out / "feedback" / "deneb" / lesson / f"{lesson}.html")}
      what one student gets back
  {_shown(out / "grades" / "verdicts.csv")}
      a row a verdict, for a spreadsheet
  notebooks/{lessons[0]}.ipynb
      what a student works in: `make lab` opens it

Your own class: put notebooks below submitted/STUDENT/LESSON/ and run
  nbgrader autograde {lessons[0]}, or without nbgrader: python -m autograder grade FOLDER"""
    )
