"""The class's points in the forms that Canvas and Moodle import."""

import csv
from pathlib import Path

import pytest

from autograder import __main__ as command_line
from autograder.grading.store import Store
from autograder.judge import overlay
from autograder.judge.judge import Graded
from autograder.tests.notebooks import EXERCISES, LESSON, put

FIRST, SECOND = EXERCISES[:2]
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Threads (4711),01_threads (4712)\n"
    "    Points Possible,,,,,5,6\n"
    '"Doe, Jane",12345,u1,jdoe,A,,\n"=Roe, John",222,u2,jroe,B,,\n"Ito, Max",333,u3,mito,A,,\n'
)


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    kept = Store(tmp_path / "grades")
    for student, points in (("Doe, Jane", (4.0, 1.25)), ("=Roe, John", (0.0, 2.0))):
        for exercise, earned in zip((FIRST, SECOND), points, strict=True):
            kept.keep(
                Graded(student, LESSON, exercise, "PASS", earned, 4, late=student == "Doe, Jane")
            )
    return tmp_path / "grades"


def written(grades: Path, form: str, *words: object) -> tuple[int, list[dict[str, str]]]:
    to = grades.parent / "out.csv"
    status = command_line.main(
        ["grades", form, "--from", str(grades), "--to", str(to), *map(str, words)]
    )
    return status, list(csv.DictReader(to.read_text().splitlines())) if status < 2 else []


def test_canvas_gets_its_own_columns_its_numbers_and_its_assignments(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster = put(grades.parent / "canvas.csv", CANVAS.encode())
    status, rows = written(grades, "canvas", "--roster", roster)
    assert status == 0
    assert list(rows[0]) == [
        *("Student", "ID", "SIS User ID", "SIS Login ID", "Section"),
        "01_threads (4712)",
    ]
    # worth 8 here and 6 there
    assert [row["01_threads (4712)"] for row in rows] == ["6.0", "3.94", "1.5", ""]
    said = "01_threads is worth 8 points and 6 in Canvas: grades are written as a share of 6.\n"
    assert capsys.readouterr().err == said
    assert [row["ID"] for row in rows] == ["", "12345", "222", "333"]
    assert rows[0]["Student"].strip() == "Points Possible"
    assert rows[2]["Student"].startswith("'=")


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("Lesson 1: Threads (4711)", "Lesson 1: Threads (4711)"),
        ("Threads (4711),Late threads (4713)", LESSON),
        ("Threads", LESSON),
    ],
)
def test_an_assignment_is_a_lessons_where_no_other_is(
    grades: Path, header: str, column: str
) -> None:
    text = f'student,id,{header}\n"Doe, Jane",1{"," * (header.count(",") + 1)}\n'
    roster = put(grades.parent / "r.csv", text.encode())
    assert written(grades, "canvas", "--roster", roster)[1][1][column] == "5.25"


def test_an_assignment_that_canvas_does_not_have_gets_the_lessons_name(grades: Path) -> None:
    roster = put(grades.parent / "r.csv", b'student,id\n"Doe, Jane",1\n"=Roe, John",2\n')
    assert written(grades, "canvas", "--roster", roster)[1][1][LESSON] == "5.25"


def test_moodle_gets_what_it_knows_students_by_as_it_is_written_there(grades: Path) -> None:
    text = 'student,email,username\n"Doe, Jane",Jane@Uni.edu,jdoe\n"=Roe, John",r@uni.edu,jroe\n'
    roster = put(grades.parent / "r.csv", text.encode())
    assert written(grades, "moodle", "--roster", roster) == (
        0,
        [
            {"Email address": "Jane@Uni.edu", "Username": "jdoe", LESSON: "5.25"},
            {"Email address": "r@uni.edu", "Username": "jroe", LESSON: "2.0"},
        ],
    )


def test_a_row_a_student_with_what_came_late(grades: Path) -> None:
    _, rows = written(grades, "students")
    assert [row["student"] for row in rows] == ["'=Roe, John", "Doe, Jane"]
    assert rows[1] == {
        "student": "Doe, Jane",
        LESSON: "5.25",
        "points": "5.25",
        "of": "8.0",
        "late": LESSON,
    }


@pytest.mark.parametrize("message_id", ["judge_died", "same_name"])
def test_what_is_no_grade_stays_empty_and_is_named(
    grades: Path, capsys: pytest.CaptureFixture[str], message_id: str
) -> None:
    row = Graded("Doe, Jane", LESSON, SECOND, "NOT_MEASURED", 0, 4, message_id=message_id)
    Store(grades).keep(row)
    status, rows = written(grades, "students")
    assert status == 1
    assert rows[1][LESSON] == ""
    said = capsys.readouterr().err
    assert "No grade, since it is held or not all of it is judged: " in said
    assert f": Doe, Jane {LESSON}. `grade` again says which, and why." in said


@pytest.mark.parametrize("named", [False, True])
def test_points_that_a_person_gives_are_said_to_be_missing(
    grades: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setenv("HOME", str(grades.parent))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    own = [str(grades.parent / "round2")] if named else []
    assert command_line.main(["init", *own]) == 0
    settings = next(grades.parent.rglob("settings.toml"))
    settings.write_text("[points]\nexplain_blocks = 2\nexplain_reuse = 3\n")
    try:
        capsys.readouterr()
        assert written(grades, "students", *(("--seed", *own) if named else ()))[0] == 0
    finally:
        overlay.use(None)
    assert capsys.readouterr().err == (
        "01_threads: its written answers are worth 2 points more, which are not in the file. Where "
        "a person has marked them, name the gradebook: --gradebook URL.\n"
    )


def test_a_lesson_that_a_stopped_run_left_half_is_no_grade(grades: Path) -> None:
    Store(grades).keep(Graded("Max", LESSON, FIRST, "PASS", 4, 4))
    status, rows = written(grades, "students")
    assert status == 1
    assert {row["student"]: row[LESSON] for row in rows}["Max"] == ""


def test_a_lesson_that_several_assignments_of_canvas_name_is_said(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = "Student,ID,Lesson 1: Threads (4711),Threads again (4712)"
    roster = put(grades.parent / "r.csv", f'{header}\n"Doe, Jane",1,,\n'.encode())
    _, rows = written(grades, "canvas", "--roster", roster)
    assert LESSON in rows[0]
    assert "(Lesson 1: Threads (4711), Threads again (4712)): a new one" in capsys.readouterr().err


def test_what_fills_a_worksheet_goes_with_one(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["grades", "students", "--from", str(grades), "--lesson", LESSON]) == 2
    assert "they go with --fill FILE" in capsys.readouterr().err


def test_who_is_not_on_the_roster_is_named(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster = put(grades.parent / "r.csv", b'student,id\n"Doe, Jane",1\n')
    assert written(grades, "canvas", "--roster", roster)[0] == 1
    said = capsys.readouterr().err
    assert "Not on the roster, and so not in the file: =Roe, John." in said
    assert "`grade` them with the same --roster" in said


@pytest.mark.parametrize(
    ("form", "roster", "said"),
    [
        ("canvas", "", "--roster needs a column `ID`"),
        ("canvas", "student\nvega\n", "--roster needs a column `ID`"),
        ("moodle", "", "--roster needs a column `email`"),
        ("moodle", "student,id\nvega,1\n", "--roster needs a column `email`"),
    ],
)
def test_a_form_without_what_it_goes_by_is_a_sentence(
    grades: Path, capsys: pytest.CaptureFixture[str], form: str, roster: str, said: str
) -> None:
    words = ["--roster", put(grades.parent / "r.csv", roster.encode())] if roster else []
    assert written(grades, form, *words)[0] == 2
    assert said in capsys.readouterr().err


def test_no_grades_and_no_place_to_write_are_sentences(
    grades: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["grades", "students", "--from", str(tmp_path / "no")]) == 2
    assert f"There is no ledger in {tmp_path / 'no'}. --from names" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
    for command in (["grades", "students"], ["history", "vega"], ["report"]):
        (tmp_path / "bare").mkdir(exist_ok=True)
        assert command_line.main([*command, "--from", str(tmp_path / "bare")]) == 2
        assert f"There is no ledger in {tmp_path / 'bare'}." in capsys.readouterr().err
        assert not [*(tmp_path / "bare").iterdir()]
    assert written(grades, "students", "--to", tmp_path / "no/x.csv")[0] == 2
    assert "Cannot write" in capsys.readouterr().err
    Store(tmp_path / "empty")
    assert written(tmp_path / "empty", "students")[0] == 2
    assert "holds no verdict" in capsys.readouterr().err


def test_who_was_graded_with_other_points_is_named_and_has_no_grade(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Store(grades)
    for exercise, most in ((FIRST, 8), (SECOND, 4)):
        kept.keep(Graded("Max", LESSON, exercise, "PASS", most, most))
    status, rows = written(grades, "students")
    assert status == 1
    found = {row["student"]: (row[LESSON], row["of"]) for row in rows}
    assert found == {
        "Doe, Jane": ("5.25", "8.0"),
        "'=Roe, John": ("2.0", "8.0"),
        "Max": ("", "8.0"),
    }
    said = capsys.readouterr().err
    assert f"than for most of the class: Max {LESSON}. Settings changed" in said
    assert "not all of it is judged" not in said
