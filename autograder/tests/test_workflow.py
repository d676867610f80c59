"""A class from release to feedback, by nbgrader's own commands and nothing else."""

import csv
import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.lessons.build import instructor_notebook
from autograder.lessons.catalogue import lesson_exercises
from autograder.lessons.source import lesson_files, read_lesson
from autograder.proof.exploit import with_sources

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LESSON = "00_start"
[EXERCISE] = lesson_exercises("start")
SEED = "CANARY-of-the-workflow-seed"
CONFIG = f"""
import sys

c = get_config()
c.CourseDirectory.course_id = "kernels"
c.Exchange.root = "EXCHANGE"
c.Exchange.assignment_dir = "HOME"
c.ClearSolutions.code_stub = {{"python": "..."}}
c.JudgedAutograde.seed = {f"value:{SEED}"!r}
c.LateSubmissionPlugin.penalty_method = "zero"
sys.path.insert(0, {str(ROOT)!r})
from autograder.grading.nbgrader_glue import configure

configure(c)
"""


@dataclass(frozen=True)
class Class:
    """An instructor's folder, an exchange, and a student's folder."""

    root: Path
    solution: str

    def nbgrader(self, *words: str, home: bool = False) -> str:
        """Runs one command as its owner would, and gives what it said."""
        folder = str(Path(sys.executable).parent)
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words],
            cwd=self.root / ("home" if home else "course"),
            env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout + done.stderr

    def submit(self, source: str, answer: str = "") -> None:
        """A student fills the notebook that was fetched, and hands it in."""
        path = self.root / "home" / LESSON / f"{LESSON}.ipynb"
        content = with_sources(json.loads(path.read_text()), {EXERCISE.name: source})
        for cell in content["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if name.startswith("explain_") and answer:
                cell["source"] = answer
        path.write_text(json.dumps(content))
        self.nbgrader("submit", LESSON, "--course", "kernels", home=True)
        self.nbgrader("collect", LESSON, "--update")

    def book(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.root / 'course' / 'gradebook.db'}")

    def score(self) -> tuple[float, float]:
        """(the score of the exercise, the whole submission's after late penalties)."""
        with self.book() as book:
            submission = book.find_submission(LESSON, self.student)
            [notebook] = submission.notebooks
            [grade] = [g for g in notebook.grades if g.name == f"{EXERCISE.name}_check"]
            return grade.score, submission.score - submission.late_submission_penalty

    @property
    def student(self) -> str:
        [folder] = (self.root / "course" / "submitted").iterdir()
        return folder.name


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Class:
    root = tmp_path_factory.mktemp("workflow")
    for name in ("course", "home", "exchange"):
        (root / name).mkdir()
    (root / "exchange").chmod(0o777)
    text = CONFIG.replace("EXCHANGE", str(root / "exchange")).replace("HOME", str(root / "home"))
    for folder in ("course", "home"):
        (root / folder / "nbgrader_config.py").write_text(text)
    [path] = [p for p in lesson_files(ROOT) if p.stem == LESSON]
    lesson = read_lesson(path, (EXERCISE,))
    source = root / "course" / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(instructor_notebook(lesson), source)
    school = Class(root, lesson.solutions[EXERCISE.name])
    school.nbgrader("generate_assignment", LESSON)
    school.nbgrader("release_assignment", LESSON)
    school.nbgrader("fetch_assignment", LESSON, "--course", "kernels", home=True)
    return school


def test_released_fetched_submitted_collected_graded_and_given_back(school: Class) -> None:
    home = school.root / "home" / LESSON / f"{LESSON}.ipynb"
    assert "BEGIN SOLUTION" not in home.read_text()
    school.submit(school.solution.replace("2", "3"), "Because bytes are slow.")
    school.nbgrader("autograde", LESSON)
    assert school.score() == (0.0, 0.0)
    school.nbgrader("generate_feedback", LESSON)
    by_mail = school.root / "course" / "feedback" / "achernar" / LESSON / f"{LESSON}.html"
    by_mail.parent.mkdir(parents=True)
    by_mail.write_text("of work that did not come through the exchange")
    assert "achernar: handed in another way" in school.nbgrader("release_feedback", LESSON)
    school.nbgrader("fetch_feedback", LESSON, "--course", "kernels", home=True)
    [page] = (school.root / "home").rglob("feedback/**/*.html")
    text = page.read_text()
    assert "wrong answer" in text
    assert SEED not in text


def test_what_is_handed_in_again_is_collected_and_graded_again(school: Class) -> None:
    school.submit(school.solution)
    school.nbgrader("autograde", LESSON)
    assert school.score()[0] == EXERCISE.points


def test_a_grade_by_hand_outlives_a_regrade(school: Class) -> None:
    with school.book() as book:
        [notebook] = book.find_submission(LESSON, school.student).notebooks
        written = next(g for g in notebook.grades if g.name.startswith("explain_"))
        name = written.name
        written.manual_score, written.needs_manual_grade = 0.5, False
        book.db.commit()
    school.nbgrader("autograde", LESSON, "--force")
    with school.book() as book:
        [notebook] = book.find_submission(LESSON, school.student).notebooks
        assert next(g for g in notebook.grades if g.name == name).manual_score == 0.5
    assert school.score()[0] == EXERCISE.points


def test_a_late_submission_is_marked_late_by_nbgraders_own_rule(school: Class) -> None:
    duedate = "--duedate=2020-01-01 00:00:00 UTC"
    school.nbgrader("db", "assignment", "add", LESSON, duedate)
    school.nbgrader("autograde", LESSON, "--force")
    exercise, whole = school.score()
    assert exercise == EXERCISE.points
    assert whole == 0.0
    school.nbgrader("db", "assignment", "add", LESSON, "--duedate=2999-01-01 00:00:00 UTC")
    school.nbgrader("autograde", LESSON, "--force")
    assert school.score()[1] >= EXERCISE.points


def test_grades_are_exported_by_nbgraders_own_command(school: Class) -> None:
    school.nbgrader("export", "--to", "grades.csv")
    with (school.root / "course" / "grades.csv").open() as file:
        [row] = [row for row in csv.DictReader(file) if row["assignment"] == LESSON]
    assert float(row["score"]) >= EXERCISE.points
    assert school.student in school.nbgrader("db", "student", "list")


def test_a_course_that_a_group_shares_stays_writable_for_the_group(school: Class) -> None:
    school.nbgrader("autograde", LESSON, "--force", "--CourseDirectory.groupshared=True")
    folder = school.root / "course" / "autograded" / school.student / LESSON
    for path in (folder, folder / f"{LESSON}.ipynb"):
        assert path.stat().st_mode & stat.S_IWGRP, path
