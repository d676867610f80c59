"""The gradebook on a PostgreSQL server: taken there and back, made anew, a student forgotten."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sql
from nbgrader.api import Base, Gradebook

from autograder import __main__ as command_line
from autograder.grading import grade, lateness
from autograder.grading.gradebook import marked
from autograder.grading.store import Store
from autograder.tests.notebooks import LESSON
from autograder.tests.test_grade import run, steady_course  # noqa: F401
from autograder.tests.test_gradebook import WRITTEN, Desk, desk, entered  # noqa: F401
from autograder.tests.test_ledger_postgresql import Server, running, server  # noqa: F401

TABLES = [*Base.metadata.sorted_tables, lateness.POLICY]


def content(url: str) -> dict[str, list[str]]:
    """Every row of a gradebook."""
    with sql.create_engine(url).connect() as connection:
        found = {table.name: connection.execute(sql.select(table)).all() for table in TABLES}
    return {name: sorted(str(tuple(row)) for row in rows) for name, rows in found.items()}


def graded_on(desk: Desk, url: str) -> int:  # noqa: F811
    words = "--out", desk.root / "grades", "--seed", desk.seed, "--gradebook", url
    return run(desk.root / "submitted", *words)


@pytest.mark.slow
def test_marks_and_comments_go_to_a_server_and_back(
    desk: Desk,  # noqa: F811
    server: Server,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk.hand_in("deneb")
    desk.hand_in("vega", when="")
    assert desk.grade() == grade.DONE
    desk.mark("deneb", 1.5)
    with Gradebook(desk.url) as book:
        comment = book.find_comment(WRITTEN, LESSON, LESSON, "deneb")
        comment.manual_comment = "Which blocks? \N{SNOWMAN}"
        book.db.commit()
    before = content(desk.url)
    assert command_line.main(["gradebook", desk.url, server.url]) == 0
    assert "2 students, 2 submissions" in capsys.readouterr().out
    # a lesson that was entered without nbgrader's settings names a course that SQLite does not have
    assert content(server.url) == {**before, "course": ["('',)", *before["course"]]}
    assert not (desk.root / "gradebook.db").exists()

    # what a class does goes on there
    assert marked(server.url, [("deneb", LESSON)])["deneb", LESSON].points == 4.4
    before = content(server.url)
    assert graded_on(desk, server.url) == grade.DONE
    assert content(server.url) == before

    # another time it refuses, and takes nothing
    copy = f"sqlite:///{desk.root / 'gradebook.db.moved1'}"
    assert command_line.main(["gradebook", copy, server.url]) == 2
    assert "holds a gradebook already" in capsys.readouterr().err
    assert content(server.url) == before

    assert command_line.main(["gradebook", server.url, desk.url]) == 0
    assert content(desk.url) == before
    assert desk.grade() == grade.DONE


@pytest.mark.slow
def test_a_gradebook_that_is_made_anew_on_a_server_gets_all(
    desk: Desk,  # noqa: F811
    server: Server,  # noqa: F811
    entered: Path,  # noqa: F811
) -> None:
    desk.hand_in("deneb")
    assert desk.grade() == grade.DONE
    whole = content(desk.url)
    shutil.copy(entered / "course" / "gradebook.db", desk.root)
    assert command_line.main(["gradebook", desk.url, server.url]) == 0
    assert graded_on(desk, server.url) == grade.DONE
    there = content(server.url)
    assert {n: len(rows) for n, rows in there.items() if n != "course"} == {
        n: len(rows) for n, rows in whole.items() if n != "course"
    }
    with Gradebook(server.url) as book:
        found = book.find_submission(LESSON, "deneb")
        assert found.late_submission_penalty == 0.8
        assert found.needs_manual_grade


@pytest.mark.slow
def test_a_server_of_something_else_and_an_empty_one_are_told_apart(
    desk: Desk,  # noqa: F811
    server: Server,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    desk.hand_in("deneb")
    assert graded_on(desk, server.url) == grade.CANNOT
    said = capsys.readouterr().err
    assert "There is no gradebook in postgresql://ada:***@" in said
    with sql.create_engine(server.url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE films (title text)")
    assert command_line.main(["gradebook", desk.url, server.url]) == 2
    assert "is a database of something else" in capsys.readouterr().err
    assert (desk.root / "gradebook.db").exists()


@pytest.mark.slow
def test_a_student_is_forgotten_on_a_server_by_the_tables_owner_alone(
    desk: Desk,  # noqa: F811
    server: Server,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    for student in ("deneb", "vega"):
        desk.hand_in(student)
    assert command_line.main(["gradebook", desk.url, server.url]) == 0
    words = "--out", desk.root / "grades", "--seed", desk.seed, "--gradebook", server.url
    assert run(desk.root / "submitted", "--ledger", server.url, *words) == grade.DONE
    known = ["--from", str(desk.root / "grades"), "--seed", str(desk.seed), "--yes"]
    with sql.create_engine(server.url).begin() as connection:
        for statement in (
            "CREATE ROLE bob LOGIN",
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO bob",
            "GRANT USAGE, CREATE ON SCHEMA public TO bob",
        ):
            connection.exec_driver_sql(statement)
    try:
        bobs = desk.root / "bob"
        Store(bobs, server.url.replace("ada:secret", "bob"))
        of_bob = ["--from", str(bobs), *known[2:], "--course-dir", str(bobs)]
        assert command_line.main(["forget", "vega", *of_bob]) == 2
        assert "only the owner of its tables remove a verdict" in capsys.readouterr().err
    finally:
        with sql.create_engine(server.url).begin() as connection:
            connection.exec_driver_sql("DROP OWNED BY bob; DROP ROLE bob")
    words_ = [*known, "--gradebook", server.url, "--course-dir", str(desk.root)]
    assert command_line.main(["forget", "vega", *words_]) == 0
    with sql.create_engine(server.url).connect() as connection:
        found = connection.exec_driver_sql("SELECT DISTINCT student FROM verdicts").scalars()
        assert [*found] == ["deneb"]
        assert connection.exec_driver_sql("SELECT count(*) FROM forgotten").scalar() == 1
    with Gradebook(server.url) as book:
        assert [student.id for student in book.students] == ["deneb"]
