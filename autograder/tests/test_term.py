"""A term of a made-up class of forty: `grade --gradebook` and `nbgrader autograde` end alike."""

import functools
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.grading import grade, nbgrader_glue
from autograder.grading.opened import prepare
from autograder.judge import overlay, private
from autograder.judge.pool import Pool
from autograder.lessons.build import instructor_notebook
from autograder.lessons.catalogue import lesson_exercises
from autograder.lessons.source import lesson_files, read_lesson
from autograder.tests import fakes
from autograder.tests.notebooks import put
from autograder.tests.test_grade import run, steady_course  # noqa: F401

pytestmark = pytest.mark.slow
ROOT = Path(nbgrader_glue.__file__).parents[2]
WEEKS = {"00_start": "2026-10-05", "01_threads": "2026-10-12", "02_coalescing": "2026-10-19"}
CLASS = [f"s{number:02d}" for number in range(40)]
SETTINGS = """
[points]
explain_bytes = 2
explain_blocks = 3
[late]
percent_a_day = 10
[due]
""" + "\n".join(f"{lesson} = {day}T12:00:00Z" for lesson, day in WEEKS.items())
EXTENSION = "\n[extensions.{}]\n01_threads = 2026-10-20T12:00:00Z\n"
QUERIES = (
    "select name, duedate from assignment order by name",
    "select l.name, a.student_id, a.timestamp, a.extension, n.late_submission_penalty, b.name, "
    "g.auto_score, g.manual_score, g.needs_manual_grade, g.extra_credit from grade g "
    "join base_cell b on b.id = g.cell_id join submitted_notebook n on g.notebook_id = n.id "
    "join submitted_assignment a on n.assignment_id = a.id "
    "join assignment l on a.assignment_id = l.id order by 1, 2, 6",
    "select l.name, a.student_id, b.name, c.auto_comment, c.manual_comment from comment c "
    "join base_cell b on b.id = c.cell_id join submitted_notebook n on c.notebook_id = n.id "
    "join submitted_assignment a on n.assignment_id = a.id "
    "join assignment l on a.assignment_id = l.id order by 1, 2, 3",
)


class School:
    """A course directory; nbgrader's steps in this process, where they take no seconds to start."""

    def __init__(self, root: Path, seed: Path) -> None:
        self.root, self.seed = root, seed

    @property
    def url(self) -> str:
        return f"sqlite:///{self.root / 'gradebook.db'}"

    def step(self, converter: Any, lesson: str, student: str = "*", force: bool = False) -> None:
        config = Config()
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.db_url = self.url
        config.CourseDirectory.assignment_id = lesson
        config.CourseDirectory.student_id = student
        config.JudgedAutograde.seed = str(self.seed)
        directory = CourseDirectory(config=config)
        converter(coursedir=directory, config=config, force=force).start()

    def hand_in(self, student: str, lesson: str, when: str, content: Any) -> None:
        folder = self.root / "submitted" / student / lesson
        put(folder / f"{lesson}.ipynb", content)
        put(folder / "timestamp.txt", f"{when} UTC".encode())

    def dump(self) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.root / "gradebook.db")) as book:
            return [row for query in QUERIES for row in book.execute(query)]

    def files(self) -> dict[str, bytes]:
        root = self.root / "autograded"
        return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}


@pytest.fixture
def schools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[School, School]]:
    """Two of one class, the lessons released in each."""
    monkeypatch.setattr(nbgrader_glue, "Pool", functools.partial(Pool, check=fakes.CHECK))
    prepare()
    private.make(tmp_path / "private")
    (tmp_path / "private" / overlay.SETTINGS).write_text(SETTINGS)
    overlay.use(tmp_path / "private")
    one = School(tmp_path / "one", tmp_path / "private")
    for path in lesson_files(ROOT):
        if path.stem in WEEKS:
            lesson = read_lesson(path, lesson_exercises(path.stem.partition("_")[2]))
            source = one.root / "source" / path.stem / path.name
            source.parent.mkdir(parents=True)
            nbformat.write(instructor_notebook(lesson), source.with_suffix(".ipynb"))
            one.step(GenerateAssignment, path.stem)
    shutil.copytree(one.root, tmp_path / "other")
    yield one, School(tmp_path / "other", tmp_path / "private")
    overlay.use(None)


def test_a_term_of_forty_ends_with_equal_gradebooks(
    schools: tuple[School, School], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = schools
    released = {
        name: json.loads((one.root / "release" / name / f"{name}.ipynb").read_text())
        for name in WEEKS
    }
    engine = one.seed / overlay.HIDDEN / "engine"  # where the walls let a judge read
    engine.write_text("RACE")

    def answered(lesson: str, number: int, again: bool = False) -> Any:
        """What a student makes of a lesson: right, wrong, half; some write something, some not."""
        content = json.loads(json.dumps(released[lesson]))
        cells = "PASS", "WRONG_ANSWER", "credit 0.6", f"file {engine}", None
        for place, cell in enumerate(content["cells"]):
            marks = cell["metadata"].get("nbgrader", {})
            text = "PASS" if again else cells[(number + place) % len(cells)]
            if marks.get("solution") and cell["cell_type"] == "code" and text:
                cell["source"] = f"{text}\n# {number}"
            elif marks.get("solution") and cell["cell_type"] == "markdown" and number % 3:
                cell["source"] = f"Because of the bytes, says {number}."
        if number == 7:
            content["cells"] = [c for c in content["cells"] if "explain" not in str(c["metadata"])]
        return b"{ broken" if number == 11 and not again else content

    def hand_in(student: str, lesson: str, when: str, again: bool = False) -> None:
        for school in schools:
            content = answered(lesson, int(student[1:]), again)
            school.hand_in(student, lesson, when, content)

    def graded(*lessons: str, force: bool = False) -> None:
        """... once a week, in each school its own way."""
        monkeypatch.chdir(one.root)
        words = "--out", one.root / "grades", "--seed", one.seed, "--gradebook", one.url
        assert run(one.root / "submitted", *words) == grade.DONE
        monkeypatch.chdir(other.root)
        for lesson in lessons:
            other.step(nbgrader_glue.JudgedAutograde, lesson, force=force)
        assert one.dump() == other.dump()
        assert one.files() == other.files()

    def penalty(student: str, lesson: str) -> float:
        with Gradebook(one.url) as book:
            return float(book.find_submission(lesson, student).late_submission_penalty)

    def score(student: str, lesson: str) -> float:
        with Gradebook(one.url) as book:
            return float(book.find_submission(lesson, student).score)

    # the first week: most in time, some a day and a half late, and s39 drops out
    for number, student in enumerate(CLASS[:-1]):
        day = "2026-10-06 23:00:00" if number % 5 == 2 else "2026-10-05 11:59:00"
        hand_in(student, "00_start", day)
    graded("00_start")
    assert penalty("s02", "00_start") == pytest.approx(0.2 * score("s02", "00_start"))
    assert penalty("s01", "00_start") == 0

    # the second: more points by hand, and somebody hands the first one in again, too late
    with_marks = [s for s in CLASS[:-1] if int(s[1:]) % 3][:12]
    for school in schools:
        with Gradebook(school.url) as book:
            for student in with_marks:
                mark = book.find_grade("explain_bytes", "00_start", "00_start", student)
                mark.manual_score, mark.needs_manual_grade = 1.5, False
                comment = book.find_comment("explain_bytes", "00_start", "00_start", student)
                comment.manual_comment = f"Which bytes, {student}?"
            book.db.commit()
    before = score("s02", "00_start")
    for student in CLASS[:30]:
        hand_in(student, "01_threads", "2026-10-12 12:00:00")
    hand_in("s11", "00_start", "2026-10-12 08:00:00", again=True)
    graded("00_start", "01_threads")
    assert score("s02", "00_start") == before
    assert penalty("s02", "00_start") == pytest.approx(0.2 * before)
    assert score("s11", "00_start") > 0

    # the third: the rest of lesson 01 late, of whom one has an extension, told afterwards
    for student in CLASS[30:-1]:
        hand_in(student, "01_threads", "2026-10-19 18:00:00")
    for student in CLASS[:8]:
        hand_in(student, "02_coalescing", "2026-10-19 11:00:00")
    graded(*WEEKS)
    assert penalty("s31", "01_threads") > 0
    (one.seed / overlay.SETTINGS).write_text(SETTINGS + EXTENSION.format("s31"))
    graded(*WEEKS)
    assert penalty("s31", "01_threads") == 0
    assert penalty("s32", "01_threads") > 0

    # an edit of the course: lesson 01 is judged anew, and whoever had a RACE there has none now;
    # nbgrader wants to be told
    engine.write_text("PASS")
    versions = lambda stem: "edited" if stem == "threads" else "steady"  # noqa: E731
    monkeypatch.setattr("autograder.judge.judge.lesson_version", versions)
    raced = [score(student, "01_threads") for student in CLASS[:-1]]
    graded("01_threads", force=True)
    now = [score(student, "01_threads") for student in CLASS[:-1]]
    assert sum(now) > sum(raced)
    assert all(after >= had for after, had in zip(now, raced, strict=True))

    # and what students get is the same, whichever way
    for school in schools:
        school.step(GenerateFeedback, "01_threads", "s02")
    page = Path("feedback/s02/01_threads/01_threads.html")
    assert (one.root / page).read_bytes() == (other.root / page).read_bytes()
