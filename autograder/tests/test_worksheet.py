"""Moodle's grading worksheet: two columns are filled, and every other byte is as it was."""

import csv
import io
from pathlib import Path

import pytest

from autograder import __main__ as command_line
from autograder.grading.store import Store
from autograder.judge.judge import Graded
from autograder.tests.notebooks import EXERCISES, LESSON, put

FIRST, SECOND = EXERCISES[:2]
HEADER = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"'
)
JANE = (
    'Participant 4711,"Doe, Jane",jane@uni.edu,"Submitted for grading - ",,8.00,Yes,'
    '"Monday, 2 November 2026, 10:00 AM",-,'
)
MAX = 'Participant 12,"Max  ""M."" Ito",max@uni.edu,No submission,3.00,8.00,Yes,-,-,'
SHEET = f"{HEADER}\n{JANE}\n{MAX}\n"


@pytest.fixture
def grades(tmp_path: Path) -> Path:
    kept = Store(tmp_path / "grades")
    kept.keep(Graded("Doe, Jane", LESSON, FIRST, "PASS", 4, 4, message="All right."))
    message = "`a[i]` < 0;\n=1+1"
    kept.keep(Graded("Doe, Jane", LESSON, SECOND, "RACE", 1.25, 4, message=message))
    return tmp_path / "grades"


def filled(grades: Path, sheet: bytes | str, *words: object) -> tuple[int, bytes]:
    data = sheet if isinstance(sheet, bytes) else sheet.encode()
    given = put(grades.parent / "worksheet.csv", data)
    to = grades.parent / "filled.csv"
    command = ["grades", "moodle", "--from", grades, "--fill", given, "--to", to, *words]
    status = command_line.main(list(map(str, command)))
    assert given.read_bytes() == data
    return status, to.read_bytes() if to.exists() else b""


def rows(data: bytes, encoding: str = "utf-8", separator: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(encoding), newline=""), delimiter=separator))


def test_grade_and_feedback_are_filled_and_nothing_else_changes(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, data = filled(grades, SHEET)
    assert status == 0
    before, after = JANE.split(",,8.00,")
    begin, end = f"{HEADER}\n{before},5.25,8.00,{after}", f"\n{MAX}\n"
    assert data.decode().startswith(begin)
    assert data.decode().endswith(end)
    feedback = rows(data)[1][-1]
    assert feedback.startswith(f"{LESSON}: 5.25 of 8 points<br>{FIRST}: PASS, 4 of 4. All right.")
    assert "&lt; 0;\n'=1+1" in feedback
    said = capsys.readouterr()
    assert "2 rows. In Moodle: Upload grading worksheet." in said.out
    assert 'left as they were: Max "M." Ito.' in said.err.replace("  ", " ")


@pytest.mark.parametrize(
    ("encoding", "separator", "end"),
    [
        ("utf-8-sig", ",", "\r\n"),
        ("utf-16", ";", "\n"),
        ("cp1252", ";", "\r\n"),
        ("utf-8", "\t", "\n"),
    ],
)
def test_encoding_separator_and_decimal_comma_stay(
    grades: Path, encoding: str, separator: str, end: str
) -> None:
    head = ["Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments", "Größe"]
    jane = ["Participant 1", '"Doe, Jane"', "", '"8,00"', "", "größer"]
    text = separator.join(head) + end + separator.join(jane) + end * 2
    data = text.encode(encoding)
    status, made = filled(grades, data)
    assert status == 0
    found = rows(made, encoding, separator)
    assert found[1][2] == "5,25"
    told = '"' + found[1][4].replace('"', '""') + '"'
    grade = '"5,25"' if separator == "," else "5,25"
    filled_in = separator.join([*jane[:2], grade, jane[3], told, jane[5]])
    assert made == (separator.join(head) + end + filled_in + end * 2).encode(encoding)


def test_a_byte_that_no_encoding_has_stays(grades: Path) -> None:
    data = b'Identifier,Full name,Grade,Note\r\nParticipant 1,"Doe, Jane",,\x81\xff\r\n'
    assert filled(grades, data)[1] == data.replace(b",,\x81", b",5.25,\x81")


def test_another_maximum_is_a_share_and_said(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, data = filled(grades, SHEET.replace("8.00", "100.00"))
    assert status == 0
    assert rows(data)[1][4] == "65.62"
    assert "Moodle's maximum is 100 and the lesson is worth 8 points" in capsys.readouterr().err


def test_feedback_of_a_person_stays_and_ours_is_replaced(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, data = filled(grades, SHEET.replace(JANE, JANE + "Come and see me."))
    assert (status, rows(data)[1][-1], rows(data)[1][4]) == (1, "Come and see me.", "5.25")
    assert "somebody has written, which stays: Doe, Jane." in capsys.readouterr().err
    ours = f'{JANE}"<p>{LESSON}: 0 of 8 points</p>"'
    status, data = filled(grades, SHEET.replace(JANE, ours))
    assert status == 0
    assert rows(data)[1][-1].startswith(f"{LESSON}: 5.25 of 8 points")


def test_who_is_not_on_it_or_not_judged_is_named(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Store(grades)
    for exercise in (FIRST, SECOND):
        kept.keep(Graded("Vega", LESSON, exercise, "PASS", 4, 4))
    kept.keep(Graded("Max  M. Ito", LESSON, FIRST, "NOT_MEASURED", 0, 4, message_id="judge_died"))
    status, data = filled(grades, SHEET)
    said = capsys.readouterr().err
    assert status == 1
    assert "no one row of the worksheet has the name: Vega." in said
    assert "since not all is judged or it is held: Max" in said
    assert rows(data)[2][4] == "3.00"


def test_a_class_graded_with_a_worksheet_as_its_roster_is_found_in_it(grades: Path) -> None:
    twin = JANE.replace("4711", "4712").replace("jane@", "jane2@")
    for exercise in (FIRST, SECOND):
        Store(grades).keep(Graded("Doe, Jane (jane2@uni.edu)", LESSON, exercise, "PASS", 2, 4))
    _, data = filled(grades, f"{HEADER}\n{twin}\n{JANE}\n")
    assert [row[4] for row in rows(data)] == ["Grade", "4.00", ""]


def test_a_sheet_without_names_goes_by_the_identifier(
    grades: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store(grades).keep(Graded("Participant 7", LESSON, FIRST, "PASS", 4, 4))
    Store(grades).keep(Graded("Participant 7", LESSON, SECOND, "PASS", 4, 4))
    sheet = "Identifier,Status,Grade\nParticipant 7,Submitted,\nParticipant 8,Draft,\n"
    _, data = filled(grades, sheet)
    assert rows(data)[1] == ["Participant 7", "Submitted", "8.00"]
    assert "left as they were: Participant 8 Draft." in capsys.readouterr().err
    for name in (FIRST, SECOND):
        Store(grades).keep(Graded("Teilnehmerin 7", LESSON, name, "PASS", 4, 4))
    sheet = "ID,Status,Bewertung\nTeilnehmer/in 7,Abgegeben,\nTeilnehmer/in 8,Entwurf,\n"
    _, data = filled(grades, sheet, "--grade-column", "Bewertung")
    assert [row[2] for row in rows(data)] == ["Bewertung", "8.00", ""]


def test_two_of_one_name_are_told_apart_by_a_roster_alone(grades: Path) -> None:
    twin = JANE.replace("4711", "4712").replace("jane@", "jane2@")
    sheet = f"{HEADER}\n{twin}\n{JANE}\n"
    status, data = filled(grades, sheet)
    assert status == 1
    assert data == sheet.encode()
    roster = put(grades.parent / "r.csv", b'student,participant\n"Doe, Jane",4711\nrigel,4712\n')
    status, data = filled(grades, sheet, "--roster", roster)
    assert [row[4] for row in rows(data)] == ["Grade", "", "5.25"]


@pytest.mark.parametrize(
    ("sheet", "words", "said"),
    [
        ("", (), "got 1 rows of 0 columns"),
        ("Identifier,Full name,Grade\n", (), "got 1 rows of 3 columns"),
        (f"{HEADER}\n1,2\n", (), "row 2 has 2 fields and the header 10"),
        (
            SHEET.replace("Grade,", "Bewertung,"),
            (),
            "no one column `Grade`: it has `Identifier`, `Full name`",
        ),
        (SHEET, ("--feedback-column", "Words"), "no one column `Words`"),
        (SHEET, ("--lesson", "02_coalescing"), "--lesson NAME says which"),
    ],
)
def test_what_is_no_worksheet_is_a_sentence(
    grades: Path, capsys: pytest.CaptureFixture[str], sheet: str, words: tuple[str, ...], said: str
) -> None:
    assert filled(grades, sheet, *words) == (2, b"")
    assert said in capsys.readouterr().err


def test_columns_of_another_language_are_named(grades: Path) -> None:
    german = "Kennung,Vollständiger Name,Bewertung,Höchste,Feedback als Kommentar\n"
    sheet = f'{german}Teilnehmer/in 3,"Doe, Jane",,"8,00",\n'
    words = "--grade-column", "Bewertung", "--feedback-column", "Feedback als Kommentar"
    status, data = filled(grades, sheet, *words)
    assert (status, rows(data)[1][2]) == (0, "5,25")
    assert rows(data)[1][-1].startswith(LESSON)


def test_several_lessons_ask_for_one(grades: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store(grades).keep(Graded("Doe, Jane", "02_coalescing", "x", "PASS", 1, 2))
    assert filled(grades, SHEET)[0] == 2
    assert "holds 01_threads, 02_coalescing: --lesson NAME" in capsys.readouterr().err
    assert rows(filled(grades, SHEET, "--lesson", "threads")[1])[1][4] == "5.25"
