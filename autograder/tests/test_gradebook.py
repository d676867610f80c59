"""A gradebook through a term: made anew, marked by hand, of an older version, of another course."""

import csv
import fcntl
import functools
import json
import logging
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder import Refused
from autograder import __main__ as command_line
from autograder.grading import grade, lateness, nbgrader_glue
from autograder.grading.export import Export
from autograder.grading.gradebook import write_scores
from autograder.grading.nbgrader_given import _Heard
from autograder.grading.opened import explained, open_gradebook, prepare, require_gradebook
from autograder.judge import overlay, private
from autograder.judge.judge import Graded
from autograder.judge.pool import Pool
from autograder.lessons.build import instructor_notebook
from autograder.lessons.catalogue import lesson_exercises
from autograder.lessons.source import lesson_files, read_lesson
from autograder.tests import fakes
from autograder.tests.notebooks import EXERCISES, LESSON, notebook, put
from autograder.tests.notebooks import cell as a_cell
from autograder.tests.test_grade import run, steady_course  # noqa: F401

#: Behind each stands nbgrader, a class or a wheel: seconds.
pytestmark = pytest.mark.slow

ROOT = Path(nbgrader_glue.__file__).parents[2]
WRITTEN = "explain_blocks"
SETTINGS = f"""
[points]
{WRITTEN} = 2
[due]
{LESSON} = 2026-10-05T23:59:00+02:00
[late]
percent_a_day = 10
"""
#: Two days begun of what a day costs.
LATE = "2026-10-07 10:00:00 UTC\n"


class Desk:
    """A course directory with its private folder, and the commands that a term has."""

    def __init__(self, root: Path, seed: Path) -> None:
        self.root, self.seed = root, seed

    @property
    def url(self) -> str:
        return f"sqlite:///{self.root / 'gradebook.db'}"

    def step(self, converter: Any, exchange: Any = None, **more: Any) -> None:
        config = Config()
        config.Exchange.update(exchange or {})
        config.CourseDirectory.root = str(self.root)
        config.CourseDirectory.db_url = self.url
        config.CourseDirectory.assignment_id = LESSON
        config.JudgedAutograde.seed = str(self.seed)
        converter(coursedir=CourseDirectory(config=config), config=config, **more).start()

    def settings(self, text: str) -> None:
        (self.seed / overlay.SETTINGS).write_text(text)
        overlay.use(self.seed)

    def enter(self) -> None:
        """The lesson, in the gradebook: as `build` and `generate_assignment` do."""
        lesson = read_lesson(
            next(p for p in lesson_files(ROOT) if p.stem == LESSON), lesson_exercises("threads")
        )
        source = self.root / "source" / LESSON / f"{LESSON}.ipynb"
        source.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(instructor_notebook(lesson), source)
        self.step(GenerateAssignment, force=True)

    def hand_in(
        self,
        student: str,
        written: str = "Because.",
        when: str = LATE,
        second: str = "NOT_ATTEMPTED",
    ) -> None:
        """The first exercise solved, a written answer, and nothing else."""
        content = json.loads((self.root / "release" / LESSON / f"{LESSON}.ipynb").read_text())
        for cell in content["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id")
            if name in EXERCISES:
                cell["source"] = "PASS" if name == EXERCISES[0] else "NOT_ATTEMPTED"
            if name == EXERCISES[1]:
                cell["source"] = second
            if name == WRITTEN and written:
                cell["source"] = written
        folder = self.root / "submitted" / student / LESSON
        put(folder / f"{LESSON}.ipynb", content)
        if when:
            put(folder / "timestamp.txt", when.encode())

    def grade(self, *words: object) -> int:
        out = "--out", self.root / "grades", "--seed", self.seed, "--gradebook", self.url
        return run(self.root / "submitted", *out, *words)

    def mark(self, student: str, points: float, cell: str = WRITTEN) -> None:
        with Gradebook(self.url) as book:
            mark = book.find_grade(cell, LESSON, LESSON, student)
            mark.manual_score, mark.needs_manual_grade = points, False
            book.db.commit()

    def exported(self) -> dict[str, dict[str, str]]:
        words = ["--from", str(self.root / "grades"), "--gradebook", self.url]
        command_line.main(["grades", "students", *words])
        with (self.root / "grades" / "grades-students.csv").open(newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}

    def dump(self) -> list[tuple[Any, ...]]:
        queries = (
            "select student_id, timestamp, extension from submitted_assignment order by 1",
            "select late_submission_penalty from submitted_notebook order by id",
            "select auto_score, manual_score, needs_manual_grade from grade",
            "select auto_comment from comment",
        )
        with closing(sqlite3.connect(self.root / "gradebook.db")) as book:
            return [
                tuple(map(str, row)) for q in queries for row in sorted(book.execute(q), key=str)
            ]


@pytest.fixture
def machine_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Takes this machine to a zone."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="module")
def entered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lesson released, its cells in the gradebook."""
    prepare()
    root = tmp_path_factory.mktemp("desk")
    private.make(root / "private")
    desk = Desk(root / "course", root / "private")
    desk.settings(SETTINGS)
    desk.enter()
    overlay.use(None)
    return root


@pytest.fixture
def desk(entered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    shutil.copytree(entered, tmp_path, dirs_exist_ok=True)
    lateness.install()
    monkeypatch.setattr(nbgrader_glue, "Pool", functools.partial(Pool, check=fakes.CHECK))
    desk = Desk(tmp_path / "course", tmp_path / "private")
    monkeypatch.chdir(desk.root)
    overlay.use(desk.seed)
    yield desk
    overlay.use(None)


@pytest.mark.parametrize("when", [LATE, ""], ids=["late", "no time"])
@pytest.mark.parametrize("written", ["Because.", ""], ids=["written", "not written"])
def test_a_gradebook_that_is_made_anew_gets_all_that_the_last_one_had(
    desk: Desk, entered: Path, when: str, written: str
) -> None:
    desk.hand_in("deneb", written, when)
    assert desk.grade() == grade.DONE
    before = desk.dump()
    shutil.copy(entered / "course" / "gradebook.db", desk.root)
    assert desk.dump() != before
    assert desk.grade() == grade.DONE
    assert desk.dump() == before


def test_nbgraders_command_fills_a_new_gradebook_too(desk: Desk, entered: Path) -> None:
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    before = desk.dump()
    shutil.copy(entered / "course" / "gradebook.db", desk.root)
    desk.step(nbgrader_glue.JudgedAutograde)  # of verdicts that are known
    assert desk.dump() == before


def test_our_words_are_ours_where_they_link_to_other_lessons(desk: Desk) -> None:
    name = f"{LESSON}.ipynb"  # as `release` gives it, and not nbgrader
    put(desk.root / "submitted" / "deneb" / LESSON / name, (ROOT / "notebooks" / name).read_bytes())
    assert desk.grade() == grade.DONE
    made = nbformat.read(desk.root / "autograded" / "deneb" / LESSON / name, as_version=4)
    words = [c.source for c in made.cells if c.cell_type == "markdown" and not c.metadata]
    assert any("](00_start.ipynb)" in text for text in words)
    assert not any(text.startswith("<pre") for text in words)


def test_lateness_costs_its_share_of_a_mark_given_since(desk: Desk, tmp_path: Path) -> None:
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    desk.mark("deneb", 1.5)
    assert desk.exported()["deneb"][LESSON] == "4.4"  # 20 % of 5.5, and not of 4
    desk.mark("deneb", 2)
    desk.step(GenerateFeedback)
    page = (desk.root / "feedback" / "deneb" / LESSON / f"{LESSON}.html").read_text()
    assert "Score: 4.8 / " in page
    desk.mark("deneb", 1)
    with Gradebook(desk.url) as book:
        export = Export()
        export.to = str(tmp_path / "nbgrader.csv")
        export.export(book)
    [row] = csv.DictReader((tmp_path / "nbgrader.csv").open(newline=""))
    assert (row["late_submission_penalty"], row["score"]) == ("1.0", "4.0")
    # ... as the next grading has it
    before = desk.dump()
    assert desk.grade() == grade.DONE
    assert desk.dump() == before


def test_what_a_student_reads_in_moodle_adds_up(desk: Desk) -> None:
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    desk.mark("deneb", 1.5)
    with Gradebook(desk.url) as book:
        book.find_grade(f"{EXERCISES[0]}_check", LESSON, LESSON, "deneb").manual_score = 3.0
        book.db.commit()
    assert desk.exported()["deneb"]["late"] == LESSON
    sheet = put(desk.root / "ws.csv", b"Identifier,Full name,Grade,Feedback comments\n1,deneb,,\n")
    words = ["--from", desk.root / "grades", "--gradebook", desk.url, "--to", desk.root / "to.csv"]
    command_line.main(list(map(str, ["grades", "moodle", "--fill", sheet, *words])))
    with (desk.root / "to.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    first, *lines = row["Feedback comments"].split("<br>")
    assert (row["Grade"], first) == ("3.60", f"{LESSON}: 3.6 of 24 points")
    assert lines[0].startswith(f"{EXERCISES[0]}: PASS, 3 of 4. ")
    assert lines[-2:] == [f"{WRITTEN}: 1.5 of 2", "Late submission: 0.9 points less"]


@pytest.mark.parametrize("text", ["", "yesterday evening\n"])
def test_a_time_that_is_none_is_said_each_time(
    desk: Desk, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    desk.hand_in("deneb", when="")
    put(desk.root / "submitted" / "deneb" / LESSON / "timestamp.txt", text.encode())
    for _ in range(2):
        assert desk.grade() == grade.NOT_ALL
        said = capsys.readouterr().err
        assert "timestamp.txt' holds no time, so nothing counts as late. Expected a time" in said
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    with Gradebook(desk.url) as book:
        assert book.find_submission(LESSON, "deneb").late_submission_penalty == 0.8


@pytest.mark.parametrize("by", ["grade", "nbgrader autograde"])
def test_the_exchanges_own_zone_says_what_is_late(
    desk: Desk,
    by: str,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    machine_in: Callable[[str], None],
) -> None:
    machine_in("UTC")
    monkeypatch.chdir(desk.root)

    def graded() -> tuple[str, object]:
        if by == "grade":
            desk.grade()
        else:
            desk.step(nbgrader_glue.JudgedAutograde, exchange=zone)
        with Gradebook(desk.url) as book:
            found = book.find_submission(LESSON, "deneb").late_submission_penalty
        return capsys.readouterr().err + caplog.text, found

    zone: dict[str, str] = {}
    desk.hand_in("deneb", when="2026-10-05 22:30:00.000000 CEST\n")  # an hour and a half before
    said, penalty = graded()
    assert "timestamp.txt' is in a zone, CEST, that c.Exchange.timezone of nbgrader_config" in said
    assert not penalty
    zone = {"timezone": "Europe/Berlin"}
    (desk.root / "nbgrader_config.py").write_text(
        "c = get_config()\nc.Exchange.timezone = 'Europe/Berlin'\n"
    )
    for when, late in (("22:30", False), ("23:59", False), ("23:58:59", False), ("23:59:01", True)):
        desk.hand_in("deneb", when=f"2026-10-05 {when} CEST\n")
        assert bool(graded()[1]) == late


def test_where_no_grading_said_what_lateness_costs_a_penalty_stays(desk: Desk) -> None:
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    with closing(sqlite3.connect(desk.root / "gradebook.db")) as book:
        book.execute(f"DROP TABLE {lateness.POLICY.name}")  # of the version before
        book.commit()
    desk.mark("deneb", 1.5)
    assert desk.exported()["deneb"][LESSON] == "4.7"


def test_points_that_changed_in_mid_term_are_said_with_the_commands_that_mend_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hand_in("deneb", when="")
    assert desk.grade() == grade.DONE
    desk.mark("deneb", 1.5)
    more = SETTINGS.replace("= 2\n", f"= 3\n{EXERCISES[0]} = 8\n", 1)
    desk.settings(more)
    capsys.readouterr()
    assert desk.grade() == grade.NOT_ALL
    said = capsys.readouterr().err
    assert f"{WRITTEN} (2 there, 3); {EXERCISES[0]} (4 there, 8)." in said
    assert "`python -m autograder build` (--private DIR: your folder) and `nbgrader " in said
    desk.enter()
    assert desk.grade() == grade.DONE
    desk.mark("deneb", 1.5)
    assert desk.exported()["deneb"][LESSON] == "9.5"
    desk.settings(f'unit = "two-week"\n{more}')
    capsys.readouterr()
    assert desk.grade() == grade.NOT_ALL
    assert f"{EXERCISES[1]} (4 there, 0)" in capsys.readouterr().err


def test_a_mark_that_is_missing_is_looked_for_where_it_is_given(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    capsys.readouterr()
    assert desk.exported()["deneb"][LESSON] == ""
    said = capsys.readouterr().err
    assert "looked at again after a regrade: deneb 01_threads. The formgrader" in said
    assert "`grade` again" not in said


def regraded(desk: Desk, by: str) -> dict[str, str]:
    """The lesson's points by student, after all is judged again."""
    if by == "grade":
        assert desk.grade("--regrade") == grade.DONE
    else:
        desk.step(nbgrader_glue.JudgedAutograde, force=True)
    return {student: row[LESSON] for student, row in desk.exported().items()}


@pytest.mark.parametrize("by", ["grade", "nbgrader autograde"])
def test_after_a_regrade_a_mark_holds_where_the_answer_is_the_same(desk: Desk, by: str) -> None:
    for student in ("deneb", "vega"):
        desk.hand_in(student, "Because.", when="")
    assert regraded(desk, by) == {"deneb": "", "vega": ""}
    for student in ("deneb", "vega"):
        desk.mark(student, 1.5)
    marked = desk.exported()["deneb"][LESSON]
    assert regraded(desk, by) == {"deneb": marked, "vega": marked}
    desk.hand_in("vega", "Because of the guard.", when="")
    assert regraded(desk, by) == {"deneb": marked, "vega": ""}
    desk.hand_in("vega", "Because of the guard.", when="")
    assert regraded(desk, by) == {"deneb": marked, "vega": ""}, "nobody has looked at it since"
    shutil.rmtree(desk.root / "autograded" / "deneb")
    assert regraded(desk, by) == {"deneb": "", "vega": ""}, (
        "what the mark was on, nobody knows any more"
    )


@pytest.mark.parametrize("by", ["grade", "nbgrader autograde"])
def test_points_of_ones_own_hold_after_a_regrade_where_the_cell_is_the_same(
    desk: Desk, by: str
) -> None:
    for student in ("deneb", "vega"):
        desk.hand_in(student, "", when="")
    without = regraded(desk, by)["deneb"]
    for student in ("deneb", "vega"):
        desk.mark(student, 1.5, f"{EXERCISES[1]}_check")
    marked = desk.exported()["deneb"][LESSON]
    assert float(marked) == float(without) + 1.5
    desk.hand_in("vega", "", when="", second="RACE")
    assert regraded(desk, by) == {"deneb": marked, "vega": ""}
    assert regraded(desk, by) == {"deneb": marked, "vega": ""}, "nobody has looked at it since"
    desk.hand_in("deneb", "Because.", when="")  # another notebook, the same cell
    desk.mark("vega", 1.5, f"{EXERCISES[1]}_check")
    regraded(desk, by)
    desk.mark("deneb", 0.0)
    assert desk.exported()["deneb"][LESSON] == desk.exported()["vega"][LESSON] == marked


def test_what_a_killed_grader_had_not_written_the_next_one_writes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts on what was handed in again are in the ledger, and the old text in the gradebook."""

    def shown() -> str:
        return (desk.root / "autograded" / "vega" / LESSON / f"{LESSON}.ipynb").read_text()

    desk.hand_in("vega", "Because.", when="")
    assert desk.grade() == grade.DONE
    desk.mark("vega", 1.5)
    desk.hand_in("vega", "Because of the guard.", when="", second="RACE")
    with monkeypatch.context() as killed:
        killed.setattr("autograder.grading.grade._to_gradebook", lambda *_: [])
        assert desk.grade() == grade.DONE
    assert "Because of the guard." not in shown()
    assert desk.grade() == grade.DONE
    assert "Because of the guard." in shown()
    assert "The fake says RACE." in shown()
    assert desk.exported()["vega"][LESSON] == "", "nobody has looked at the new answer"


def test_two_graders_of_one_folder_write_the_gradebook_one_after_the_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.hand_in("deneb")

    def written(*words: Any) -> list[str]:
        with (desk.root / "grades" / ".lock").open() as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return write_scores(*words)

    monkeypatch.setattr("autograder.grading.gradebook.write_scores", written)
    assert desk.grade() == grade.DONE
    assert desk.dump()


def test_who_handed_in_no_notebook_is_among_the_last_words(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hand_in("vega")
    put(desk.root / "submitted" / "spica" / LESSON / "solution.zip", b"PK")
    put(desk.root / "submitted" / "spica" / LESSON / "timestamp.txt", LATE.encode())
    assert desk.grade() == grade.DONE
    said = capsys.readouterr().err
    assert "Handed in what cannot be read as a notebook, and so without points: spica (" in said
    with Gradebook(desk.url) as book:
        assert book.find_submission(LESSON, "spica").timestamp.isoformat() == "2026-10-07T10:00:00"
    put(desk.root / "submitted" / "deneb" / "solution.zip", b"PK")
    assert desk.grade() == grade.NOT_ALL
    said = capsys.readouterr().err
    assert "Of no lesson, and so without a score in the gradebook: deneb.\n" in said


def test_a_notebook_that_lost_the_names_of_its_cells_is_among_the_last_words(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hand_in("vega")
    lost = notebook([a_cell("PASS") for _ in EXERCISES])
    put(desk.root / "submitted" / "spica" / LESSON / f"{LESSON}.ipynb", lost)
    partly = notebook([a_cell("PASS", EXERCISES[0])])
    put(desk.root / "submitted" / "deneb" / LESSON / f"{LESSON}.ipynb", partly)
    assert desk.grade() == grade.DONE
    said = capsys.readouterr().err
    assert "Handed in with no cell of the lesson's exercises, and so without points" in said
    assert f"look into them: spica (The cell of {EXERCISES[0]} is missing" in said
    assert "deneb (" not in said


def test_an_extension_of_nobody_is_said_with_who_is_meant(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hand_in("vega")
    later = "01_threads = 2026-10-12T23:59:00+02:00\n"
    desk.settings(f"{SETTINGS}[extensions.vegga]\n{later}[extensions.altair]\n{later}")
    roster = put(desk.root / "roster.csv", b"student\nvega\naltair\n")
    assert desk.grade("--roster", roster) == grade.DONE
    said = capsys.readouterr().err
    assert "[extensions.vegga], and nobody called 'vegga'" in said
    assert "Did you mean 'vega'?" in said
    assert "extensions.altair" not in said


def test_who_is_on_the_roster_is_in_the_gradebook_without_any_work(desk: Desk) -> None:
    desk.hand_in("vega")
    roster = put(desk.root / "roster.csv", b"student\nvega\naltair\n")
    assert desk.grade("--roster", roster) == grade.DONE
    with Gradebook(desk.url) as book:
        assert [student.id for student in book.students] == ["altair", "vega"]


def test_whom_the_roster_calls_otherwise_is_late_and_gets_feedback_by_the_exchange(
    desk: Desk,
) -> None:
    desk.hand_in("jd")
    put(desk.root / "submitted" / "jd" / LESSON / "submission_secret.txt", b"secret")
    # what a student put into the own folder tells no time
    put(desk.root / "submitted" / "jd" / LESSON / "x" / LESSON / "timestamp.txt", b"2026-10-01")
    roster = put(desk.root / "roster.csv", b'student,login\n"Doe, Jane",jd\n')
    assert desk.grade("--roster", roster) == grade.DONE
    with Gradebook(desk.url) as book:
        [one] = book.find_assignment(LESSON).submissions
        assert (one.student.id, one.late_submission_penalty) == ("Doe, Jane", 0.8)
    desk.step(GenerateFeedback)
    folder = desk.root / "feedback" / "Doe, Jane" / LESSON
    assert (folder / "submission_secret.txt").read_text() == "secret"


def test_the_last_word_is_what_lateness_took(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hand_in("vega", when="2026-10-01 10:00:00 UTC\n")
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("Late, and points taken for it in the gradebook: 1 notebook (deneb")
    assert last.endswith("01_threads 0.8).")


# ------------------------------------------------------------------ gradebooks that do not fit


def test_an_older_gradebook_is_told_before_anything_is_judged(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.hand_in("vega")
    with closing(sqlite3.connect(desk.root / "gradebook.db")) as book:
        book.execute("ALTER TABLE student DROP COLUMN lms_user_id")
        book.commit()
    assert desk.grade() == grade.CANNOT
    said = capsys.readouterr().err
    assert "is of an older version of nbgrader: it lacks student.lms_user_id." in said
    assert "`nbgrader db upgrade --db sqlite:///" in said
    assert not (desk.root / "grades").exists()
    with pytest.raises(nbgrader_glue.NbGraderException, match="nbgrader db upgrade"):
        desk.step(nbgrader_glue.JudgedAutograde)


def test_a_lesson_that_the_gradebook_lacks_is_said_with_the_command_that_enters_it(
    desk: Desk,
) -> None:
    [said] = write_scores(desk.url, [Graded("vega", "02_coalescing", "copy", "PASS", 1, 1)])
    assert "no assignment with 02_coalescing, so scores of 1 student are not in it. Run" in said


def test_another_courses_gradebook_is_called_so_and_left(desk: Desk) -> None:
    url = f"sqlite:///{desk.root / 'other.db'}"
    with Gradebook(url) as book:
        book.add_assignment("ps1")
        book.add_notebook("problem 1", "ps1")
    with pytest.raises(Refused, match="is another course's gradebook: it has ps1, and no"):
        require_gradebook(url)


def test_a_gradebook_that_takes_no_write_is_told_before_and_in_a_sentence(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"sqlite:///file:{desk.root / 'gradebook.db'}?mode=ro&uri=true"
    require_gradebook(url)
    told = "readonly database. Make the file and its folder writable, then the same again"
    with pytest.raises(Refused, match=told):
        require_gradebook(url, writes=True)
    before = desk.dump()
    require_gradebook(desk.url, writes=True)
    assert desk.dump() == before
    with pytest.raises(Refused, match=told), explained(url, "written"):
        open_gradebook(url).add_student("vega")
    assert not caplog.records


def test_a_gradebook_that_was_taken_elsewhere_is_said_so(desk: Desk) -> None:
    (desk.root / "gradebook.db").rename(desk.root / "gradebook.db.moved1")
    with pytest.raises(Refused, match=r"taken to another address, and gradebook.db.moved1"):
        require_gradebook(desk.url)


def test_a_server_without_its_driver_is_told_at_once_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(Refused, match=r"needs psycopg: .*pip install .*postgresql"):
        require_gradebook("postgresql://ada@127.0.0.1:1/class")


def test_a_word_about_a_gradebook_hides_its_password() -> None:
    rows = [Graded("vega", LESSON, EXERCISES[0], "PASS", 1, 1)]
    [said] = write_scores("postgresql://ada:secret@127.0.0.1:1/class", rows)
    assert "secret" not in said


def test_who_is_held_keeps_nobody_else_from_a_grade(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for student in ("deneb", "vega"):
        desk.hand_in(student, written="", when="")
    place = desk.root / "submitted" / "vega"
    shutil.copytree(place / LESSON, place / "second")
    assert desk.grade() == grade.NOT_ALL
    capsys.readouterr()
    grades = desk.exported()
    assert (grades["deneb"][LESSON], grades["vega"][LESSON]) == ("4.0", "")
    assert f"it is held or not all of it is judged: vega {LESSON}." in capsys.readouterr().err
    # ... nor a lesson of which all is held
    shutil.rmtree(desk.root / "submitted" / "deneb")
    shutil.rmtree(desk.root / "grades")
    assert desk.grade() == grade.NOT_ALL
    assert desk.exported()["vega"][LESSON] == ""


def test_a_time_is_in_the_gradebook_whatever_zone_it_was_told_in(
    desk: Desk, tmp_path: Path
) -> None:
    """As Gradescope and Ruby write them; nbgrader takes these offsets for seconds, or for none."""
    told = {
        "deneb": "2026-10-05 14:30:00.123456789 -07:00",
        "vega": "2026-10-05 23:30:00 +0200",
        "rigel": "2026-10-05 21:30:00.000000000 Z",
    }
    entries = [
        f"submission_{n}:\n  :submitters:\n  - :name: {student}\n  :created_at: {when}\n"
        for n, (student, when) in enumerate(told.items())
    ]
    export = tmp_path / "assignment_9_export"
    put(export / "submission_metadata.yml", "".join(entries).encode())
    for number in range(len(told)):
        put(export / f"submission_{number}" / f"{LESSON}.ipynb", notebook([]))
    words = "--out", desk.root / "grades", "--seed", desk.seed, "--gradebook", desk.url
    assert run(export, *words) == grade.DONE
    with Gradebook(desk.url) as book:
        times = {one.student_id: one.timestamp for one in book.assignment_submissions(LESSON)}
    assert {str(when)[:19] for when in times.values()} == {"2026-10-05 21:30:00"}
    assert {*times} == {*told}


def test_what_stops_the_writing_is_named_and_not_what_stands_behind_it() -> None:
    heard = _Heard(logging.ERROR)
    said = (
        "Traceback (most recent call last):\n  File x\n"
        "sqlalchemy.exc.OperationalError: (sqlite3.OperationalError) database or disk is full\n"
        "[SQL: UPDATE grade SET x]\n(Background on this error at: https://sqlalche.me/e/21/e3q8)"
    )
    heard.emit(logging.LogRecord("", logging.ERROR, "", 0, said, None, None))
    assert heard.last.endswith("(sqlite3.OperationalError) database or disk is full")
    flushed = said.replace("r) data", "r: (raised as a result of autoflush)\n(sqlite3.Error) data")
    heard.emit(logging.LogRecord("", logging.ERROR, "", 0, flushed, None, None))
    assert heard.last == "(sqlite3.Error) database or disk is full"
    heard.emit(logging.LogRecord("", logging.ERROR, "", 0, "No notebooks were matched", None, None))
    assert heard.last == "No notebooks were matched"
