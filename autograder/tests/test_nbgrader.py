"""nbgrader's own commands on a class of strangers, with our judge in them."""

import copy
import csv
import json
import logging
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default.collect import ExchangeCollect
from nbgrader.utils import find_all_files
from traitlets.config import Config

from autograder.__main__ import main as command
from autograder.grading import judging, timestamps
from autograder.grading.autograded import (
    LONGEST_SHOWN,
    MOST_CELLS_SHOWN,
    MOST_SHOWN,
    KnownCell,
    as_text,
    autograded,
    unanswered,
)
from autograder.grading.export import Export
from autograder.grading.gradebook import marked, score, write_scores
from autograder.grading.nbgrader_glue import JudgedAutograde, configure
from autograder.grading.nbgrader_writer import _plain_files
from autograder.grading.store import Store
from autograder.grading.submissions import Cell, Notebook, parse
from autograder.judge import overlay, private
from autograder.judge.judge import Graded
from autograder.lessons.build import instructor_notebook
from autograder.lessons.catalogue import lesson_exercises
from autograder.lessons.source import lesson_files, read_lesson
from autograder.tests.test_grade import run
from autograder.tests.test_gradebook import machine_in  # noqa: F401
from autograder.tests.test_submissions import deep
from course.tests.pace import within

#: Behind each stands nbgrader, a class or a wheel: seconds.
pytestmark = pytest.mark.slow

ROOT = Path(judging.__file__).parents[2]
LESSON = "01_threads"
EXERCISES = lesson_exercises("threads")
POINTS = {exercise.name: float(exercise.points) for exercise in EXERCISES}
SEED = "value:a test"
SCRIPT = "<script>alert('reached')</script>"
ANSWER = f"Because $a<b$ and {SCRIPT} [here](javascript:alert('reached'))"


@dataclass(frozen=True)
class Course:
    """A course directory, and nbgrader's commands in it."""

    root: Path

    @property
    def db_url(self) -> str:
        return f"sqlite:///{self.root / 'gradebook.db'}"

    def nbgrader(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        folder = str(Path(sys.executable).parent)
        return subprocess.run(
            [
                *(sys.executable, "-m", "nbgrader", command, LESSON),
                *("--course-dir", str(self.root), "--db", self.db_url),
                f"--CourseDirectory.source_directory={self.root / 'source'}",
                f"--CourseDirectory.release_directory={self.root / 'release'}",
                f"--JudgedAutograde.seed={SEED}",
                *words,
            ],
            cwd=ROOT,
            env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )

    def config(self, student: str = "*", db_url: str = "") -> Config:
        """nbgrader's settings for one student, for a converter in this process."""
        config = Config()
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.db_url = db_url or self.db_url
        config.CourseDirectory.assignment_id = LESSON
        config.CourseDirectory.student_id = student
        config.JudgedAutograde.seed = SEED
        config.JudgedAutograde.jobs = 1
        return config

    def autograde(
        self, student: str = "*", force: bool = False, db_url: str = "", seed: str = SEED
    ) -> None:
        """What `nbgrader autograde` does, without the seconds that its start takes."""
        config = self.config(student, db_url)
        config.JudgedAutograde.seed = seed
        directory = CourseDirectory(config=config)
        JudgedAutograde(coursedir=directory, config=config, force=force).start()

    def released(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(
            (self.root / "release" / LESSON / f"{LESSON}.ipynb").read_text()
        )
        return content

    def put(self, student: str, content: dict[str, Any] | bytes | None) -> Path:
        folder = self.root / "submitted" / student / LESSON
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{LESSON}.ipynb"
        if content is not None:
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            path.write_bytes(data)
        return path

    def scores(self, student: str) -> dict[str, float | None]:
        with Gradebook(self.db_url) as book:
            [notebook] = book.find_submission(LESSON, student).notebooks
            return {g.name.removesuffix("_check"): g.auto_score for g in notebook.grades}

    def autograded(self, student: str) -> Any:
        path = self.root / "autograded" / student / LESSON / f"{LESSON}.ipynb"
        return nbformat.read(path, as_version=4)

    def feedback(self, student: str) -> str:
        return (self.root / "feedback" / student / LESSON / f"{LESSON}.html").read_text()


def filled(notebook: dict[str, Any], sources: dict[str, str], answer: str = "") -> dict[str, Any]:
    """The released notebook with these cells, and this text for every written answer."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name in sources:
            cell["source"] = sources[name]
        elif name.startswith("explain_") and answer:
            cell["source"] = answer
    return notebook


def hostile(notebook: dict[str, Any], solutions: dict[str, str], trap: str) -> dict[str, Any]:
    """Right answers in a notebook that tries to run, to show script, and to raise its points."""
    content = filled(notebook, solutions, ANSWER)
    for cell in content["cells"]:
        nbgrader = cell["metadata"].get("nbgrader", {})
        if "points" in nbgrader:
            nbgrader["points"] = 1000
        if cell["cell_type"] == "code":
            html = {"text/html": SCRIPT, "text/plain": "1000"}
            cell["outputs"] = [
                {
                    "output_type": "execute_result",
                    "data": html,
                    "metadata": {},
                    "execution_count": 1,
                },
                {"output_type": "error", "ename": "E", "evalue": "e", "traceback": []},
                {"output_type": "stream", "name": "stderr", "text": "x"},
            ]
    code: dict[str, Any] = {"outputs": [], "execution_count": None}
    for kind, more in (("code", code), ("markdown", {})):
        source = trap if kind == "code" else f"{SCRIPT} ![x](attachment:a.svg)"
        cell = {"cell_type": kind, "metadata": {}, "source": source, "id": f"x{kind}", **more}
        content["cells"].append(cell)
        content["cells"].insert(0, {**cell, "id": f"y{kind}"})
    raw = {"cell_type": "raw", "metadata": {"raw_mimetype": "text/html"}, "source": SCRIPT}
    content["cells"].append({**raw, "id": "raw"})
    content["metadata"]["language_info"] = {"name": "python", "pygments_lexer": f'">{SCRIPT}'}
    content["metadata"]["title"] = SCRIPT
    return content


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A class of seven, generated, autograded and given feedback by nbgrader's own commands."""
    course = Course(tmp_path_factory.mktemp("course"))
    [path] = [p for p in lesson_files(ROOT) if p.stem == LESSON]
    lesson = read_lesson(path, EXERCISES)
    source = course.root / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(instructor_notebook(lesson), source)
    assert course.nbgrader("generate_assignment").returncode == 0
    released = course.released()
    ran = course.root / "ran"
    trap = f"open({str(ran)!r}, 'w').close()"

    course.put("vega", filled(released, lesson.solutions))
    wrong = {
        **lesson.solutions,
        "vector_add": lesson.solutions["vector_add"] + f"\n# {SCRIPT}\n1/0",
    }
    course.put("altair", filled(released, wrong))
    course.put("mallory", hostile(released, lesson.solutions, trap))
    course.put("deneb", released)
    course.put("castor", b"{ broken")
    course.put("spica", None)
    linked = course.put("rigel", None)
    secret = course.root / "secret.txt"
    secret.write_text("SECRET")
    linked.symlink_to(course.put("vega", None))
    (linked.parent / "notes.txt").symlink_to(secret)
    (linked.parent / "timestamp.txt").write_text("the day before yesterday")
    (course.put("vega", None).parent / "data.txt").write_text("mine")
    less = filled(released, lesson.solutions)
    names = "index_2d", "vector_add_check"
    less["cells"] = [c for c in less["cells"] if grade_id(c) not in names]
    course.put("mira", less)

    done = course.nbgrader("autograde")
    assert done.returncode == 0, done.stderr
    assert course.nbgrader("generate_feedback").returncode == 0
    assert not ran.exists()
    return course


def grade_id(cell: Any) -> str:
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def judged(scores: dict[str, float | None]) -> dict[str, float | None]:
    return {name: value for name, value in scores.items() if name in POINTS}


def test_scores_in_the_gradebook_are_the_verdicts_points(course: Course) -> None:
    assert judged(course.scores("vega")) == POINTS
    assert judged(course.scores("altair")) == {**POINTS, "vector_add": 0.0}
    assert judged(course.scores("deneb")) == dict.fromkeys(POINTS, 0.0)


def test_a_hostile_notebook_gets_its_points_and_not_one_more(course: Course) -> None:
    assert judged(course.scores("mallory")) == POINTS


@pytest.mark.parametrize("student", ["castor", "spica", "rigel"])
def test_damaged_input_is_zero_with_a_reason_and_stops_nobody(course: Course, student: str) -> None:
    assert judged(course.scores(student)) == dict.fromkeys(POINTS, 0.0)
    assert "could not be graded" in course.autograded(student).cells[0].source
    assert "could not be graded" in course.feedback(student)


def test_removed_cells_come_back_in_their_place_with_the_verdict(course: Course) -> None:
    assert judged(course.scores("mira")) == {**POINTS, "index_2d": 0.0}
    names = [grade_id(cell) for cell in course.autograded("mira").cells if grade_id(cell)]
    assert names == [grade_id(c) for c in course.autograded("vega").cells if grade_id(c)]
    assert "was missing from the submission" in course.feedback("mira")


def test_each_check_cell_shows_its_verdict_as_panel_and_as_text(course: Course) -> None:
    panels = {
        grade_id(cell): cell.outputs
        for cell in course.autograded("altair").cells
        if grade_id(cell).endswith("_check")
    }
    assert set(panels) == {f"{name}_check" for name in POINTS}
    for name, [output] in panels.items():
        word = "REJECTED" if name == "vector_add_check" else "PASS"
        assert word in output["data"]["text/html"]
        assert "points" in output["data"]["text/plain"]
    assert "REJECTED" in course.feedback("altair")


def test_feedback_opens_with_the_verdicts_by_exercise(course: Course) -> None:
    for student, outcome, points in (("altair", "REJECTED", 0), ("vega", "PASS", None)):
        page = course.feedback(student)
        summary = page.partition('<div id="toc">')[2].partition("</div>")[0]
        assert "Test cell" not in page
        got = re.findall(
            r'<a href="#(\w+)">(\w+)</a></td>\s*<td>([^<]*).*?</td>\s*<td>(.*?)</td>', summary
        )
        verdicts = {name: (word.strip(), said) for _, name, word, said in got}
        most = POINTS["vector_add"]
        won = most if points is None else points
        assert verdicts["vector_add"] == (outcome, f"{won:g} of {most:g}")
        assert verdicts["index_2d"][0] == "PASS"
        assert POINTS.keys() < verdicts.keys(), "with written answers"
        for anchor, *_ in got:
            assert f'<a name="{anchor}">' in page


def test_no_output_of_a_student_is_kept(course: Course) -> None:
    for cell in course.autograded("mallory").cells:
        if cell.cell_type == "code" and not grade_id(cell).endswith("_check"):
            assert cell.outputs == []
        assert set(cell.metadata) <= {"nbgrader"}


@pytest.mark.parametrize("student", ["mallory", "altair"])
def test_no_script_reaches_a_graders_browser(course: Course, student: str) -> None:
    for cell in course.autograded(student).cells:
        assert cell.cell_type in ("code", "markdown")
        if cell.cell_type == "markdown":
            assert SCRIPT not in cell.source
        for output in cell.get("outputs", ()):
            assert "<script" not in output["data"]["text/html"]
    page = course.feedback(student)
    assert "alert(" in page
    assert SCRIPT not in page
    assert not re.search(r"(href|src|action)=.javascript", page)
    assert "default-src 'none'" in page.partition("<meta ")[2].partition(">")[0]
    assert "<script" not in page


def test_written_answers_wait_for_a_person_and_empty_ones_do_not(course: Course) -> None:
    with Gradebook(course.db_url) as book:
        waiting = {s.student.id: s.needs_manual_grade for s in book.assignment_submissions(LESSON)}
    assert waiting["mallory"]
    assert not any(waiting[student] for student in ("vega", "deneb", "castor", "spica"))


def test_files_of_a_student_are_copied_and_links_are_not(course: Course) -> None:
    assert (course.root / "autograded/vega" / LESSON / "data.txt").read_text() == "mine"
    everything = [p for p in (course.root / "autograded").rglob("*") if p.is_file()]
    assert not any("SECRET" in path.read_text() for path in everything)
    assert not (course.root / "autograded/rigel" / LESSON / "notes.txt").exists()


def test_the_class_report_stands_beside_the_gradebook(course: Course) -> None:
    rows = json.loads((course.root / "grades/verdicts.json").read_text())
    assert len(rows) == 8 * len(POINTS)
    assert (course.root / "grades/report.html").exists()


def test_grading_again_skips_what_is_graded_and_force_does_not(course: Course) -> None:
    with Gradebook(course.db_url) as book:
        grade_ = book.find_grade("vector_add_check", LESSON, LESSON, "vega")
        grade_.manual_score = 1.5
        book.db.commit()
    course.autograde("vega")
    assert not needs_a_look(course, "vega")
    course.autograde("vega", force=True)
    assert not needs_a_look(course, "vega"), "the cell is the same"
    with Gradebook(course.db_url) as book:
        grade_ = book.find_grade("vector_add_check", LESSON, LESSON, "vega")
        assert grade_.manual_score == 1.5
        assert grade_.auto_score == POINTS["vector_add"]
        grade_.manual_score = None
        book.db.commit()


def test_points_by_hand_are_in_the_file_for_an_lms(course: Course, tmp_path: Path) -> None:
    def row(status: int) -> dict[str, str]:
        words = ["grades", "students", "--from", str(course.root / "grades"), "--to", str(to)]
        assert command([*words, "--gradebook", course.db_url]) == status
        with to.open(newline="") as file:
            return next(one for one in csv.DictReader(file) if one["student"] == "vega")

    to, whole = tmp_path / "grades.csv", sum(POINTS.values())
    with Gradebook(course.db_url) as book:
        mark = book.find_grade("vector_add_check", LESSON, LESSON, "vega")
        mark.manual_score, mark.needs_manual_grade = 1.5, False
        book.db.commit()
        told = row(0)
        assert float(told[LESSON]) == whole - POINTS["vector_add"] + 1.5
        assert float(told["of"]) == whole
        mark.needs_manual_grade = True
        book.db.commit()
        assert row(1)[LESSON] == ""
        mark.manual_score, mark.needs_manual_grade = None, False
        book.db.commit()
    assert marked(course.db_url, [("nobody", LESSON)]) == {}


def needs_a_look(course: Course, student: str) -> bool:
    with Gradebook(course.db_url) as book:
        return bool(book.find_submission(LESSON, student).needs_manual_grade)


def test_what_is_handed_in_again_is_graded_again(course: Course) -> None:
    path = course.put("altair", None)
    before = path.read_bytes()
    autograded_ = course.root / "autograded/altair" / LESSON
    (autograded_ / "timestamp.txt").write_text("2026-01-01 10:00:00 UTC")
    path.with_name("timestamp.txt").write_text("2026-01-02 10:00:00 UTC")
    path.write_bytes(course.put("vega", None).read_bytes())
    try:
        course.autograde("altair")
        assert judged(course.scores("altair")) == POINTS
    finally:
        path.write_bytes(before)
        course.autograde("altair", force=True)


def test_no_page_shows_another_text_than_the_one_that_was_judged(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = course.put("canis", course.released())
    judge_all = judging.judge_all

    def then_replaced(*args: Any, **more: Any) -> Iterator[Graded]:
        yield from judge_all(*args, **more)
        course.put("canis", filled(course.released(), {"vector_add": "# handed in meanwhile"}))

    monkeypatch.setattr(judging, "judge_all", then_replaced)
    course.autograde("canis")
    shown = course.autograded("canis")
    assert f"{path.name} is another file now" in shown.cells[0].source.replace("&#95;", "_")
    assert "meanwhile" not in json.dumps(shown)
    course.autograde("canis", force=True)
    assert "another file now" not in json.dumps(course.autograded("canis"))
    assert "meanwhile" in json.dumps(course.autograded("canis"))


def test_where_the_judge_failed_is_graded_again_without_being_told_to(course: Course) -> None:
    grades = Store(course.root / "grades")
    [row] = [r for r in grades.all() if (r.student, r.exercise) == ("vega", "index_2d")]
    grades.keep(replace(row, outcome="NOT_MEASURED", points=0, message_id="judge_failed"))
    with Gradebook(course.db_url) as book:
        book.find_grade("index_2d_check", LESSON, LESSON, "vega").auto_score = 0.0
        book.db.commit()
    course.autograde("vega")
    assert judged(course.scores("vega")) == POINTS
    assert not grades.failed("vega", LESSON)


def test_where_the_judge_fails_an_error_is_logged(
    course: Course, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(judging, "JUDGED_AGAIN", frozenset({"not_attempted"}))
    monkeypatch.setattr("traitlets.log.get_logger", lambda: logging.getLogger())
    course.autograde("deneb", force=True)
    assert f"The judge failed on {len(POINTS) - 1} answers: deneb vector_add, " in caplog.text


def test_a_unit_is_graded_with_full_points(course: Course, tmp_path: Path) -> None:
    private.make(tmp_path / "mine")
    (tmp_path / "mine" / overlay.SETTINGS).write_text('unit = "two-week"')
    core = {exercise.name for exercise in EXERCISES if exercise.core}
    try:
        course.autograde("vega", force=True, seed=str(tmp_path / "mine"))
        scores = judged(course.scores("vega"))
        assert {name: scores[name] for name in core} == {name: POINTS[name] for name in core}
    finally:
        overlay.use(None)
        course.autograde("vega", force=True)


def test_an_assignment_that_is_not_in_the_gradebook_is_said(course: Course) -> None:
    url = f"sqlite:///{course.root / 'other.db'}"
    said = f"nbgrader generate_assignment {LESSON} --force --db {url}"
    with pytest.raises(NbGraderException, match=f"There is no gradebook .*{re.escape(said)}"):
        course.autograde(db_url=url)
    with Gradebook(url):
        pass
    with pytest.raises(NbGraderException, match=f"No assignment .*{re.escape(said)}"):
        course.autograde(db_url=url)


def test_the_formgrader_grades_with_our_converter(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbgrader.apps.api
    import nbgrader.apps.autogradeapp
    import nbgrader.converters
    from nbgrader.apps.api import NbGraderAPI

    for module in (nbgrader.apps.api, nbgrader.apps.autogradeapp, nbgrader.converters):
        monkeypatch.setattr(module, "Autograde", module.Autograde)
    config = course.config()
    configure(config)
    assert nbgrader.apps.api.Autograde is JudgedAutograde
    api = NbGraderAPI(CourseDirectory(config=config), config=config)
    assert api.autograde(LESSON, "vega")["success"]
    assert judged(course.scores("vega")) == POINTS


# ------------------------------------------------------------------ grade --gradebook


@pytest.fixture
def rows() -> list[Graded]:
    return [Graded("procyon", LESSON, e.name, "PASS", e.points, e.points) for e in EXERCISES]


def test_grade_writes_the_same_scores(course: Course, rows: list[Graded]) -> None:
    assert write_scores(course.db_url, rows) == []
    assert judged(course.scores("procyon")) == POINTS
    worse = [Graded("procyon", LESSON, rows[0].exercise, "RACE", 0, 4)]
    assert write_scores(course.db_url, worse) == []
    assert judged(course.scores("procyon")) == {**POINTS, rows[0].exercise: 0.0}


def test_the_grade_command_takes_a_gradebook(course: Course, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "autograder", "grade", str(course.root / "submitted/vega")),
            *("--out", str(tmp_path), "--gradebook", course.db_url, "--seed", SEED),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert judged(course.scores("vega")) == POINTS


def test_what_an_lms_gave_has_its_time_in_the_gradebook_and_nobody_elses_files(
    course: Course, tmp_path: Path
) -> None:
    """How everything else is as `nbgrader autograde` leaves it: test_term.py."""
    handed = tmp_path / "inbound" / f"canopus+{LESSON}+2026-11-02 10:00:00.000000 UTC"
    handed.mkdir(parents=True)
    (handed / f"{LESSON}.ipynb").write_text(json.dumps(course.released()))
    (handed / "of_another.txt").write_text("x")
    words = tmp_path / "inbound", "--out", tmp_path / "out", "--gradebook", course.db_url
    assert run(*words, "--seed", SEED) == 0
    with Gradebook(course.db_url) as book:
        found = book.find_submission(LESSON, "canopus")
        assert str(found.timestamp) == "2026-11-02 10:00:00"
        assert not found.needs_manual_grade
    folder = course.root / "autograded" / "canopus" / LESSON
    assert {path.name for path in folder.iterdir()} == {f"{LESSON}.ipynb", "timestamp.txt"}
    assert course.autograded("canopus")["cells"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("c.CourseDirectory.root = 5", "settings cannot be read: Bad config"),
        ("this is no python", "settings cannot be read: SyntaxError"),
        ("c.AssignLatePenalties.plugin_class = 'no.Plugin'", "'no.Plugin' could not be imported"),
    ],
)
def test_settings_of_nbgrader_that_cannot_be_are_said(
    course: Course,
    line: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "nbgrader_config.py").write_text(f"c = get_config()\n{line}\n")
    monkeypatch.chdir(tmp_path)
    with Gradebook(course.db_url) as book:
        book.update_or_create_assignment(LESSON, duedate="2026-01-01 00:00:00 UTC")
        book.update_or_create_submission(LESSON, "vega", timestamp="2026-02-01 00:00:00 UTC")
    words = course.root / "submitted/vega", "--out", tmp_path, "--gradebook", course.db_url
    try:
        assert run(*words, "--seed", SEED) == 1
    finally:
        with Gradebook(course.db_url) as book:
            book.update_or_create_assignment(LESSON, duedate=None)
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told


def test_no_score_leaves_the_range_of_its_cell(course: Course, rows: list[Graded]) -> None:
    values = [1e9, -5.0, float("nan"), float("inf"), 2.0]
    bad = [
        Graded("arcturus", LESSON, e.name, "PASS", value, e.points)
        for e, value in zip(EXERCISES, values, strict=True)
    ]
    assert write_scores(course.db_url, bad) == []
    kept = [POINTS[EXERCISES[0].name], 0.0, 0.0, 0.0, 2.0]
    expected = dict(zip(POINTS, kept, strict=True))
    assert judged(course.scores("arcturus")) == expected
    assert score(float("inf"), 4.0) == 0.0
    assert score(3, 4.0) == 3.0


def test_a_gradebook_that_is_not_there_is_not_made(tmp_path: Path, rows: list[Graded]) -> None:
    path = tmp_path / "typo.db"
    [said] = write_scores(f"sqlite:///{path}", rows)
    assert "There is no gradebook" in said
    assert "The verdicts are on disk" in said
    assert not path.exists()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("gradebook.db", "is no address of a gradebook"),
        ("", "is no address of a gradebook"),
        ("postgresql://localhost:1/class", "cannot be|on a server needs psycopg: "),
    ],
)
def test_an_address_that_leads_nowhere_is_said(url: str, words: str, rows: list[Graded]) -> None:
    [said] = write_scores(url, rows)
    assert re.search(words, said)
    assert "The verdicts are on disk" in said


def test_a_file_that_is_no_gradebook_is_said(tmp_path: Path, rows: list[Graded]) -> None:
    path = tmp_path / "gradebook.db"
    path.write_bytes(b"this is no database, only some text\n" * 50)
    [said] = write_scores(f"sqlite:///{path}", rows)
    assert "cannot be opened: file is not a database" in said


def test_a_database_of_something_else_is_left_as_it_is(tmp_path: Path, rows: list[Graded]) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE films (title)")
    before = path.read_bytes()
    [said] = write_scores(f"sqlite:///{path}", rows)
    assert "is a database of something else: expected nbgrader's tables, got films." in said
    assert path.read_bytes() == before


def test_a_locked_gradebook_is_said(course: Course, rows: list[Graded]) -> None:
    import sqlite3

    with closing(sqlite3.connect(course.root / "gradebook.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        [said] = write_scores(f"{course.db_url}?timeout=0.1", rows)
    assert "database is locked. Another program is at work in it: wait for it" in said


def test_a_read_only_gradebook_is_said(course: Course, rows: list[Graded]) -> None:
    path = course.root / "gradebook.db"
    [said] = write_scores(f"sqlite:///file:{path}?mode=ro&uri=true", rows)
    assert "readonly database" in said


def test_a_gradebook_without_the_lesson_is_said(course: Course, rows: list[Graded]) -> None:
    other = [Graded("procyon", "02_coalescing", "column_or_row", "PASS", 1, 1)]
    [said] = write_scores(course.db_url, other)
    assert "nbgrader generate_assignment 02_coalescing" in said
    [said] = write_scores(course.db_url, [Graded("x", LESSON, "no_such", "PASS", 1, 1)])
    assert "does not have the cells no_such_check" in said


# ------------------------------------------------------------------ the notebook made anew


class Shown(HTMLParser):
    """The tags of rendered markdown, the addresses in it, and its text."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(markdown2html_mistune(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert {name for name, _ in attrs} <= {"class", "style"}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "text",
    [
        "a < b and $a<b$",
        SCRIPT,
        "<!-- x -->",
        r"$\\href{javascript:x}{y}$",
        "[x](&#106;avascript:y) <https://x.y> https://x.y",
        "</pre>\n\n# `i<n` **bold**\n\n    code\n\n- [ ] list\n\n| a |\n|---|\n| b |",
        "![x](attachment:a.svg)\n\n[x]: javascript:y",
        "\n\n\ttab\n\n",
    ],
)
def test_markdown_of_a_student_is_rendered_as_the_text_that_it_is(text: str) -> None:
    shown = Shown(as_text(text))
    assert shown.tags == ["pre"]
    assert shown.text.rstrip("\n") == text.rstrip("\n")


@given(st.text(alphabet="ab<>/!?&#;$\\`*_[]()~|:=-'\" \n\t\r\x00\x0b\x85\u2028", max_size=60))
def test_any_text_is_rendered_as_one_element(text: str) -> None:
    shown = Shown(as_text(text))
    assert shown.tags == ["pre"]
    assert shown.text.split() == _without_control(text).split()


def _without_control(text: str) -> str:
    text = text.replace("\r", "\n")
    return "".join("\ufffd" if c in "\x00\x0b\x85" else c for c in text)


def test_endless_markdown_is_cut() -> None:
    assert len(as_text("x" * 10**6)) < LONGEST_SHOWN + 1000
    assert Shown(as_text("x" * 10**6)).text.rstrip().endswith("in the submission]")


@pytest.mark.parametrize(
    ("text", "letter", "most"), [("\n" * 20_000, "\n", 11_000), ("ঌ😀" * 10_000, "😀", 41_000)]
)
def test_no_page_is_all_lines_or_all_letters_that_browsers_look_up(
    text: str, letter: str, most: int
) -> None:
    submitted = Notebook(tuple(Cell(kind, text, None) for kind in ("code", "markdown") * 20))
    shown = autograded(submitted, [], {})["cells"]
    assert 0 < sum(cell["source"].count(letter) for cell in shown) < most


@pytest.mark.parametrize("kind", ["code", "markdown"])
@pytest.mark.parametrize("text", ["> " * 10_000, "x" * 200_000, "", "# ours"])
@pytest.mark.family
def test_a_thousand_cells_are_as_many_as_a_page_takes(kind: str, text: str) -> None:
    cells = [{"cell_type": kind, "metadata": {}, "source": text}] * 3000
    cells += [{"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "a"}}, "source": "mine"}]
    content = parse(json.dumps({"nbformat": 4, "cells": cells}).encode())
    with within(2):
        node = autograded(content, [known("a", kind="code")], {}, released=["# ours"])
    *others, own, note = node.cells
    assert own.source == "mine"
    assert f"{3000 - len(others)} more cells" in note.source
    assert len(others) <= MOST_CELLS_SHOWN
    assert sum(len(unescape(cell.source)) for cell in others) < MOST_SHOWN + 400 * len(others)
    assert sum(cell.source == "# ours" for cell in others if kind == "markdown") <= 1


def test_of_a_course_that_a_notebook_carries_a_line_s_beginning_is_shown() -> None:
    carried = '#@title Set up\nwheel = "' + "QUJD" * 150_000 + '"\nunpack(wheel)'
    cells = [{"cell_type": "code", "metadata": {}, "source": carried}]
    content = parse(json.dumps({"nbformat": 4, "cells": cells}).encode())
    [cell] = autograded(content, [], {}).cells
    assert cell.source.startswith('#@title Set up\nwheel = "QUJDQUJD')
    assert "[this line is cut here]" in cell.source
    assert len(cell.source) < 1_200


def known(name: str, **more: Any) -> KnownCell:
    base = {"kind": "markdown", "source": "Write here.", "locked": False, "grade": True}
    return KnownCell(name, **{**base, "solution": True, **more})


def submitted(*cells: tuple[str, str]) -> Notebook:
    content = {
        "nbformat": 4,
        "cells": [
            {"cell_type": "code", "source": text, "metadata": {"nbgrader": {"grade_id": name}}}
            for name, text in cells
        ],
    }
    return parse(json.dumps(content).encode())


def test_an_answer_counts_as_one_when_it_is_not_the_released_text() -> None:
    cell = known("explain_x")
    assert unanswered(cell, None)
    assert unanswered(cell, submitted())
    assert unanswered(cell, submitted(("explain_x", " Write here.\n")))
    assert unanswered(cell, submitted(("explain_x", "")))
    assert not unanswered(cell, submitted(("explain_x", "Because.")))


def test_a_copied_cell_is_one_cell_of_the_gradebook_in_the_autograded_notebook() -> None:
    node = autograded(submitted(("a", "one"), ("a", "two")), [known("a", kind="code")], {})
    assert [(grade_id(cell), cell.source) for cell in node.cells] == [("", "one"), ("a", "two")]


def test_locked_cells_are_ours_again() -> None:
    cells = [known("a_check", kind="code", locked=True, solution=False, source="ex.a.check(a)")]
    node = autograded(submitted(("a_check", "cheat()")), cells, {})
    assert node.cells[0].source == "ex.a.check(a)"


def test_our_own_markdown_keeps_its_html() -> None:
    content = notebook_of("<details>ours</details>", "<details>theirs</details>")
    node = autograded(content, [], {}, released=["<details>ours</details>"])
    assert [c.source for c in node.cells] == [
        "<details>ours</details>",
        as_text("<details>theirs</details>"),
    ]


def notebook_of(*texts: str) -> Notebook:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text} for text in texts]
    return parse(json.dumps({"nbformat": 4, "cells": cells}).encode())


def test_every_autograded_notebook_is_valid() -> None:
    makers: list[Callable[[], Iterator[Notebook | None]]] = [
        lambda: iter([None]),
        lambda: iter([submitted(("a", "x\x00y"), ("b", ""))]),
        lambda: iter([notebook_of("", "\u2028", "x" * 10)]),
    ]
    for make in makers:
        for content in make():
            nbformat.validate(autograded(content, [known("a"), known("b", kind="code")], {}))


def test_folders_without_end_cost_their_student_alone(course: Course) -> None:
    before = course.scores("vega")
    path = course.put("abyss", course.released())
    deep(path.parent / "d", 1200)
    try:
        course.autograde()
        assert set(course.scores("abyss").values()) <= {0.0, None}
        assert "folders within folders" in course.autograded("abyss").cells[0].source
        assert not (course.root / "autograded/abyss" / LESSON / "d").exists()
        destination = course.root / "autograded/abyss" / LESSON / f"{LESSON}.ipynb"
        when = destination.stat().st_mtime_ns
        course.autograde()
        assert destination.stat().st_mtime_ns == when, "not judged again"
    finally:
        subprocess.run(["rm", "-rf", course.root / "submitted/abyss"], check=True)
    assert course.scores("vega") == before


def test_with_a_roster_nobody_else_is_graded_and_nobody_under_a_second_name(
    course: Course, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    course.put("nobody", course.released())
    course.put("jd", course.released())
    roster = tmp_path / "roster.csv"
    roster.write_text('student,login\nvega,v\n"Doe, Jane",jd\n')
    config = course.config()
    config.JudgedAutograde.roster = str(roster)
    JudgedAutograde(coursedir=CourseDirectory(config=config), config=config).start()
    assert "'nobody' is not on the roster" in caplog.text
    assert not (course.root / "autograded/nobody").exists()
    assert "'jd' is 'Doe, Jane' on the roster, and nbgrader goes by its folder's" in caplog.text
    assert not (course.root / "autograded/jd").exists()
    roster.write_text("name\nvega\n")
    with pytest.raises(NbGraderException, match="no such header"):
        JudgedAutograde(coursedir=CourseDirectory(config=config), config=config).start()


def test_names_that_are_no_text_cost_their_student_alone(course: Course) -> None:
    folder = os.fsdecode(os.fsencode(course.root / "submitted") + b"/\xff\xfe") + f"/{LESSON}"
    Path(folder).mkdir(parents=True)
    course.autograde()


def test_an_export_is_quoted(course: Course, tmp_path: Path) -> None:
    with Gradebook(course.db_url) as book:
        book.update_or_create_student("=1+1;=2")
        Export(to=str(tmp_path / "grades.csv")).export(book)
    text = (tmp_path / "grades.csv").read_text()
    assert "\"'=1+1;'=2\"" in text
    with (tmp_path / "grades.csv").open(newline="") as file:
        scores = {row["student_id"]: row["score"] for row in csv.DictReader(file)}
    assert float(scores["vega"]) == sum(POINTS.values())


@pytest.mark.parametrize("kind", ["no time", "1" * 900, "x" * 10**6, "pipe", "link", "folder"])
def test_a_timestamp_of_a_stranger_stops_nobody(course: Course, kind: str, tmp_path: Path) -> None:
    timestamps.install()
    folder = tmp_path / "submitted/vega" / LESSON
    folder.mkdir(parents=True)
    place = folder / "timestamp.txt"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to("/dev/zero")
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_text(kind)
    config = Config()
    config.CourseDirectory.root = str(tmp_path)
    directory = CourseDirectory(config=config)
    assert directory.get_existing_timestamp(str(folder)) is None
    assert NbGraderAPI(directory).get_submitted_timestamp(LESSON, "vega") is None
    if kind not in ("pipe", "link", "folder"):
        place.write_text("2026-01-02 10:00:00 UTC")
        assert NbGraderAPI(directory).get_submitted_timestamp(LESSON, "vega").year == 2026


@pytest.mark.parametrize(
    ("told", "zone", "hour"),
    [
        ("2026-10-05 22:30:00.000000 CEST", "Europe/Berlin", 20),
        ("2026-10-25 02:30:00.000000 CEST", "Europe/Berlin", 0),
        ("2026-10-25 02:30:00.000000 CET", "Europe/Berlin", 1),
        ("2026-10-05 09:30:00.000000 EDT", "America/New_York", 13),
        ("2026-10-05 09:30:00.000000 EST", "", 14),
        ("2026-10-05 09:30:00.000000 UTC", "Europe/Berlin", 9),
        ("2026-10-05 09:30:00.123456789 Z", "Europe/Berlin", 9),
        ("2026-10-05 09:30:00 -03", "", 12),
        ("2026-10-05 09:30:00 -0300", "", 12),
        ("2026-10-05 09:30:00 IST", "Europe/Berlin", None),
        ("2026-10-05 09:30:00 CEST", "", None),
    ],
)
def test_a_time_is_that_of_its_zone(
    told: str,
    zone: str,
    hour: int | None,
    machine_in: Callable[[str], None],  # noqa: F811
) -> None:
    machine_in("UTC")
    if hour is None:
        with pytest.raises(timestamps.UnknownZoneError):
            timestamps.moment(told, zone)
        return
    assert timestamps.moment(told, zone).hour == hour
    machine_in(zone or "UTC")
    assert timestamps.moment(told).hour == hour
    timestamps.install()
    config = Config()
    config.Exchange.timezone = zone or "UTC"
    collect = ExchangeCollect(coursedir=CourseDirectory(config=config), config=config)
    assert collect._path_to_record(f"/in/vega+{LESSON}+{told}+abc")["timestamp"].hour == hour


def test_folders_named_as_patterns_take_no_time(tmp_path: Path) -> None:
    configure(Config())
    for number in range(1200):
        (tmp_path / f"d{number}").mkdir()
    for name in ("d*/kept.txt", "d*/left.pyc", "feedback/left.txt", "d1/feedback/left.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    for number in range(600):
        (tmp_path / "d*" / f"{number}.txt").write_text("x")
    ignored = CourseDirectory().ignore
    begun = time.process_time()
    copied = {str(path) for path in _plain_files(tmp_path, ignored)}
    by_nbgrader = {os.path.relpath(path, tmp_path) for path in find_all_files(tmp_path, ignored)}
    assert time.process_time() - begun < 10
    assert copied == by_nbgrader
    assert len(copied) == 601
    assert "d*/kept.txt" in copied


def test_pages_of_a_student_are_not_copied_to_where_the_formgrader_serves_them(
    tmp_path: Path,
) -> None:
    names = [
        "a.html",
        "a.HTM",
        "data:,.html",
        "a.svg",
        "a.xhtml",
        "a.xml",
        "a.js",
        "a.mjs",
        "a.svgz",
        "a.xht",
    ]
    for name in (*names, "data.txt", "plot.png", "table.csv", "kernel.cu"):
        (tmp_path / name).write_text("x")
    copied = {str(path) for path in _plain_files(tmp_path, [])}
    assert copied == {"data.txt", "plot.png", "table.csv", "kernel.cu"}
