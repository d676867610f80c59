"""`python -m autograder gradebook FROM TO`: takes nbgrader's gradebook to a server, or back.

    gradebook sqlite:///gradebook.db postgresql://USER@HOST/NAME
    gradebook postgresql://USER@HOST/NAME sqlite:///gradebook.db

All of it goes, in one transaction: cells, times, extensions, penalties, marks and comments that
were given by hand. TO has to hold no gradebook yet; the ledger may be in the same database. A file
that it came from is renamed, so that nothing is marked there by mistake; a server's stays as it is.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import sqlalchemy as sql

from autograder import Refused
from autograder.grading.move import set_aside
from autograder.grading.opened import (
    address_of,
    explained,
    open_gradebook,
    require_gradebook,
    require_room,
    without_password,
)
from course.plain.text import counted

_BATCH = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    for name in ("source", "goal"):
        words = {"source": "FROM", "goal": "TO"}[name]
        parser.add_argument(name, metavar=words, help="a gradebook's URL, as `grade` takes it")


def main(args: argparse.Namespace) -> int:
    """Takes it there, and returns 0."""
    print(moved(args.source, args.goal))
    return 0


def moved(source: str, goal: str) -> str:
    """Copies the gradebook `source` to `goal`, and says what was done.

    Raises:
        Refused: where it could not be; both are then as they were.
    """
    from nbgrader.api import Base

    from autograder.grading.lateness import POLICY

    require_gradebook(source)
    file = _file(goal)
    if file is not None and not file.absolute().parent.is_dir():
        raise Refused(f"There is no folder {file.absolute().parent} for a gradebook.")
    new = file is not None and not file.exists()
    if not new:
        require_room(goal)
    try:
        with (
            explained(source, "read"),
            open_gradebook(source) as old,
            old.engine.connect() as reading,
        ):
            tables = [*Base.metadata.sorted_tables]
            if sql.inspect(reading).has_table(POLICY.name):
                tables.append(POLICY)
            count = _copied(reading, goal, tables)
    except Refused:
        if new and file is not None:
            file.unlink(missing_ok=True)
        raise
    left = _file(source)
    kept = f"{without_password(source)} is left as it is, as a copy"
    if left is not None:
        kept = f"{set_aside(left)} is a copy"
    return (
        f"{without_password(goal)} holds the gradebook: {counted(count['student'], 'student')}, "
        f"{counted(count['submitted_assignment'], 'submission')}, "
        f"{counted(count['grade'], 'grade')} and {counted(count['comment'], 'comment')}. "
        f"{kept}: mark nothing there from here on. "
        "Name the new one in nbgrader_config.py (c.CourseDirectory.db_url) and as --gradebook."
    )


def _copied(reading: sql.Connection, goal: str, tables: list[sql.Table]) -> dict[str, int]:
    """Every row, in one transaction; their number by table."""
    count: dict[str, int] = {}
    with explained(goal, "written"), open_gradebook(goal) as book, book.engine.begin() as writing:
        for table in tables:
            table.create(writing, checkfirst=True)
        own = [table for table in tables if table.name != "course"]
        if any(writing.execute(sql.select(table).limit(1)).first() for table in own):
            raise Refused(
                f"{without_password(goal)} holds a gradebook already. Nothing is changed in it: "
                "name an empty database."
            )
        for table in reversed(tables):  # the course that nbgrader enters in a new one
            writing.execute(sql.delete(table))
        for table in tables:
            count[table.name] = 0
            rows = reading.execute(sql.select(table)).yield_per(_BATCH).partitions(_BATCH)
            for some in rows:
                writing.execute(sql.insert(table), [dict(row._mapping) for row in some])
                count[table.name] += len(some)
            if table.name == "course":
                _complete(reading, writing)
    return count


def _complete(reading: sql.Connection, writing: sql.Connection) -> None:
    """SQLite lets an assignment name a course that is not there, and PostgreSQL does not."""
    from nbgrader.api import Assignment, Course

    named = {*reading.execute(sql.select(Assignment.course_id).distinct()).scalars()}
    there = {*reading.execute(sql.select(Course.id)).scalars()}
    for course in sorted(named - there):
        writing.execute(sql.insert(Course).values(id=course))


def _file(url: str) -> Path | None:
    """The file of a gradebook that is one."""
    address = address_of(url)
    is_file = address.get_backend_name() == "sqlite" and address.database
    return Path(address.database) if is_file else None
