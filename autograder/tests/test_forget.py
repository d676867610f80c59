"""What is left of a student who is to be forgotten: a line with a date, and the others' work."""

import io
import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from nbgrader.api import Gradebook

from autograder import __main__ as command_line
from autograder.grading import database, grade
from autograder.grading.anonymous import pseudonyms
from autograder.grading.database import _Sqlite
from autograder.grading.ledger import Ledger
from autograder.grading.report_pages import SIMILAR
from autograder.judge.judge import Graded
from autograder.tests.notebooks import LESSON, put, solved
from autograder.tests.test_grade import run, steady_course  # noqa: F401
from autograder.tests.test_gradebook import Desk, desk, entered  # noqa: F401

#: Behind each stands nbgrader, a class or a wheel: seconds.
pytestmark = pytest.mark.slow

#: A name that stands in no other word.
GONE = "zubenelgenubi"


def where(root: Path, word: str) -> list[str]:
    """The files below a folder that have a word in them, in their bytes or in their names."""
    files = (path for path in root.rglob("*") if path.is_file())
    return [
        str(path.relative_to(root))
        for path in files
        if word in str(path) or word.encode() in path.read_bytes()
    ]


@pytest.fixture
def a_class(desk: Desk) -> Desk:  # noqa: F811
    for student in (GONE, "deneb"):
        desk.hand_in(student, f"I am {student}.")
    zipped = desk.root / "in"
    shutil.copytree(desk.root / "submitted" / GONE, zipped / GONE)
    archive = Path(shutil.make_archive(str(desk.root / "class"), "zip", zipped))
    shutil.rmtree(zipped)
    assert desk.grade() == grade.DONE
    words = "--out", desk.root / "grades", "--seed", desk.seed
    assert run(archive, *words) == grade.DONE
    desk.mark(GONE, 1.5)
    desk.exported()
    archive.unlink()
    for folder in ("autograded", "feedback"):
        (desk.root / folder / GONE).mkdir(parents=True, exist_ok=True)
    return desk


def forget(desk: Desk, *words: str) -> int:  # noqa: F811
    known = "--from", str(desk.root / "grades"), "--gradebook", desk.url, "--seed", str(desk.seed)
    return command_line.main(["forget", *words, *known, "--course-dir", str(desk.root)])


def test_nothing_of_a_student_is_left_and_all_of_the_others(
    a_class: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert where(a_class.root, GONE)
    deneb = a_class.exported()["deneb"]
    assert forget(a_class, GONE, "--yes") == 0
    said = capsys.readouterr()
    assert where(a_class.root, GONE) == []
    for words in ("verdicts in the ledger", "submitted/", "autograded/", "feedback/", "handed_in/"):
        assert words in said.out
    assert "Out of reach: backups" in said.err
    with closing(sqlite3.connect(a_class.root / "grades" / "ledger.db")) as ledger:
        [(time, count)] = ledger.execute("SELECT time, verdicts FROM forgotten").fetchall()
        assert count > 0
        assert time.startswith("20")
        with pytest.raises(sqlite3.IntegrityError, match="the ledger only grows"):
            ledger.execute("DELETE FROM verdicts")
    with Gradebook(a_class.url) as book:
        assert [student.id for student in book.students] == ["deneb"]
    assert a_class.exported() == {"deneb": deneb}
    assert a_class.grade() == grade.DONE
    assert (a_class.root / "grades" / "report.html").exists()


def test_no_pseudonym_of_theirs_is_left_and_the_others_keep_theirs(
    a_class: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    grades = a_class.root / "grades"

    def shown() -> None:
        for command in (["report"], ["grades", "students"]):
            assert command_line.main([*command, "--anonymous", "--from", str(grades)]) == 0

    shown()
    called = pseudonyms(grades)
    files = "anonymous/report.html", "grades-students-anonymous.csv"
    for student in (GONE, "deneb"):
        assert {f"grades/{file}" for file in files} <= {*where(a_class.root, called(student))}
    for name in (grade.NOTES, SIMILAR):
        (grades / name).write_text(f"{GONE}, {called(GONE)}")
    capsys.readouterr()
    assert forget(a_class, GONE, "--yes") == 0
    said = capsys.readouterr().out
    assert "report.html (all of it: made anew of the rest at once)" in said
    assert "grades-students-anonymous.csv (all of it: `grades` makes it anew)" in said
    assert "anonymous (all of it: `report --anonymous` makes it anew)" in said
    assert where(a_class.root, called(GONE)) == where(a_class.root, GONE) == []
    shown()
    assert where(a_class.root, called(GONE)) == []
    assert {f"grades/{file}" for file in files} <= {*where(a_class.root, called("deneb"))}


def test_the_line_goes_where_the_ledger_goes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    first, second = Ledger(tmp_path / "one"), Ledger(tmp_path / "other")
    first.append(Graded(GONE, LESSON, "vector_add", "PASS", 4, 4), "", "")
    assert first.forget(GONE) == 1
    assert second.take(first.rows(), first.forgotten()) == (0, 0)
    assert second.forgotten() == first.forgotten()
    assert [line["verdicts"] for line in second.forgotten()] == [1]


def test_it_asks_first(
    a_class: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = where(a_class.root, GONE)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert forget(a_class, GONE) == 1
    assert "for good? yes/no" in capsys.readouterr().out
    assert where(a_class.root, GONE) == before


@pytest.mark.parametrize(
    ("of", "method", "file"),
    [(_Sqlite, "swept", "grades/ledger.db"), (Gradebook, "remove_student", "gradebook.db")],
)
def test_where_a_file_cannot_be_swept_it_says_so_and_the_same_command_ends_it(
    a_class: Desk,
    of: type,
    method: str,
    file: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    original = getattr(of, method)
    other = sqlite3.connect(a_class.root / file, isolation_level=None)

    def between(self: Any, *words: str) -> None:  # what is removed, and the sweeping
        if of is _Sqlite:
            other.execute("BEGIN IMMEDIATE")
        original(self, *words)
        if of is Gradebook:
            other.execute("BEGIN IMMEDIATE")

    monkeypatch.setattr(database, "_PATIENCE_SECONDS", 1)
    monkeypatch.setattr(of, method, between)
    assert forget(a_class, GONE, "--yes") == 2
    assert "database is locked" in capsys.readouterr().err
    other.close()
    monkeypatch.undo()
    assert forget(a_class, GONE, "--yes") == 0
    assert where(a_class.root, GONE) == []
    assert (a_class.root / "grades" / "report.html").exists()
    assert forget(a_class, GONE, "--yes") == 2
    assert f"have no student {GONE}" in capsys.readouterr().err


def test_a_name_that_nobody_has_removes_nothing(
    a_class: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    before = where(a_class.root, GONE)
    assert forget(a_class, "denep", "--yes") == 2
    assert "have no student denep. Did you mean deneb?" in capsys.readouterr().err
    assert where(a_class.root, GONE) == before


def test_while_a_grader_is_at_work_nobody_is_forgotten(
    a_class: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Ledger(a_class.root / "grades")
    assert other.claim("deneb", LESSON)
    assert forget(a_class, GONE, "--yes") == 2
    assert "A grader is at work (process" in capsys.readouterr().err
    other.release()
    assert forget(a_class, GONE, "--yes") == 0
    engine = sql.create_engine(f"sqlite:///{a_class.root / 'grades' / 'ledger.db'}")
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT DISTINCT student FROM verdicts").scalars()
        assert [*found] == ["deneb"]


@pytest.mark.parametrize("known", ["by nothing", "by the command", "by the settings"])
def test_work_in_a_zip_is_found_by_the_roster_or_said_to_be_left(
    desk: Desk,  # noqa: F811
    known: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    roster = put(desk.root.parent / "roster.csv", f"student,id\n{GONE},4711\n".encode())
    archive = desk.root.parent / "canvas.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(f"z_4711_123_{LESSON}.ipynb", json.dumps(solved()))
    words = "--out", desk.root / "grades", "--seed", desk.seed, "--roster", roster
    assert run(archive, *words) == grade.DONE
    named = ("--roster", str(roster)) if known == "by the command" else ()
    if known == "by the settings":
        desk.settings(f'roster = "{roster}"\n')
    assert forget(desk, GONE, "--yes", *named) == 0
    left = list((desk.root / "grades" / "handed_in").rglob("*.ipynb"))
    said = capsys.readouterr().err
    assert bool(left) == ("with the --roster of their grading" in said) == (known == "by nothing")


@pytest.mark.parametrize("name", ["Group A_9_assignsubmission_file", "mine/other"])
def test_work_in_a_zip_under_a_groups_name_goes_and_under_no_name_is_said_to_be_left(
    desk: Desk,  # noqa: F811
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    roster = put(desk.root.parent / "roster.csv", f"student,group\n{GONE},Group A\n".encode())
    archive = desk.root.parent / "moodle.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for folder in (name, name.replace("other", "another").replace("A_9", "B_8")):
            packed.writestr(f"{folder}/{LESSON}.ipynb", json.dumps(solved()))
    words = "--out", desk.root / "grades", "--seed", desk.seed, "--roster", roster, "--groups"
    run(archive, *words)
    put(desk.root / "submitted" / GONE / LESSON / f"{LESSON}.ipynb", solved())
    run(desk.root / "submitted", *words)
    capsys.readouterr()
    assert forget(desk, GONE, "--yes", "--roster", str(roster)) == 0
    left = list((desk.root / "grades" / "handed_in").rglob("*.ipynb"))
    assert bool(left) == ("what zips were unpacked to" in capsys.readouterr().err)
    assert bool(left) == name.startswith("mine")
