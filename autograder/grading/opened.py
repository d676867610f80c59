"""A gradebook before anything is read of it or written to it: is it one, of this course, of now?"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import sqlite3
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading.database import INSTALL, NO_ADDRESS, said_by
from autograder.grading.names import clean, few
from autograder.lessons.catalogue import stem_of_notebook

#: What to do next, by SQLite's code.
_STEPS = {
    sqlite3.SQLITE_BUSY: " Another program is at work in it: wait for it, then the same again.",
    sqlite3.SQLITE_FULL: " Make room on its disk, then the same again.",
    sqlite3.SQLITE_READONLY: " Make the file and its folder writable, then the same again.",
}


def prepare() -> None:
    """What nbgrader needs of this process before it opens a gradebook."""
    from sqlalchemy.exc import SAWarning
    from tornado.log import app_log

    # it starts `alembic`, which stands beside this Python, by its bare name
    folder, paths = str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)
    if folder not in paths.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([folder, paths])
    # under SQLAlchemy 2.1 nbgrader 0.9 warns for pages a student, without effect
    warnings.filterwarnings("ignore", category=SAWarning, module=r"nbgrader\.api")
    app_log.addFilter(_is_not_told_again)


def _is_not_told_again(record: logging.LogRecord) -> bool:
    """nbgrader logs a traceback of what a database refuses, and raises it, too."""
    return not record.getMessage().startswith("Rolling back session")


def require_gradebook(url: str, lesson: str = "LESSON", writes: bool = False) -> None:
    """Holds an address to be that of a gradebook which can be used here.

    Args:
        lesson: which one a command that makes a gradebook is to enter.
        writes: whether something is to be written to it.

    Raises:
        Refused: it is none; nothing is there; nbgrader has to bring it to its version
            first; it is another course's; it is a file that cannot be written.
    """
    from sqlalchemy import inspect

    address = address_of(url)
    shown = address.render_as_string(hide_password=True)
    database = address.database or ""
    if address.get_backend_name() == "sqlite" and not database.startswith("file:"):
        path = Path(database)
        if not path.absolute().parent.is_dir():
            raise Refused(f"There is no folder {path.absolute().parent} for a gradebook.")
        if path.is_dir():
            raise Refused(f"{database} is a folder: expected a gradebook's file in it.")
        if not path.is_file():
            there = sorted(one.name for one in path.absolute().parent.iterdir())
            if moved := [name for name in there if name.startswith(f"{path.name}.moved")]:
                raise Refused(
                    f"There is no gradebook {database} any more: it was taken to another address, "
                    f"and {few(moved)} is what it was before. Name the new address: "
                    "--gradebook, and c.CourseDirectory.db_url in nbgrader_config.py."
                )
            raise Refused(f"There is no gradebook {database}. {_makes(url, lesson)}")
        shown = database
    with _inspected(url) as engine:
        tables = inspect(engine).get_table_names()
        if "assignment" in tables:
            _must_be_of_now(shown, inspect(engine), url)
            _must_be_ours(shown, engine)
            if writes and address.get_backend_name() == "sqlite":
                _must_take_a_write(url, engine)
            return
        _must_be_nothing_else(shown, tables)
        if address.get_backend_name() != "sqlite":
            raise Refused(f"There is no gradebook in {shown}. {_makes(url, lesson)}")


def require_room(url: str) -> None:
    """Holds a database to have nothing that is not this course's.

    Raises:
        Refused: where it is one of something else, or cannot be opened.
    """
    from sqlalchemy import inspect

    with _inspected(url) as engine:
        tables = inspect(engine).get_table_names()
        if "assignment" not in tables:
            _must_be_nothing_else(without_password(url), tables)


@contextlib.contextmanager
def _inspected(url: str) -> Iterator[Any]:
    """A handle to a database, without nbgrader, which would make its tables in it."""
    from sqlalchemy import create_engine

    try:
        engine = create_engine(address_of(url))
    except ModuleNotFoundError as error:
        raise Refused(f"A gradebook on a server needs {error.name}: {INSTALL}") from error
    try:
        with explained(url, "opened"):
            yield engine
    finally:
        engine.dispose()


def address_of(url: str) -> Any:
    """The parts of a gradebook's address.

    Raises:
        Refused: it is none.
    """
    from sqlalchemy.engine import make_url

    with contextlib.suppress(*NO_ADDRESS):
        address = make_url(url)
        kind = address.get_backend_name()
        if kind == "postgresql" or (kind == "sqlite" and address.database):
            return address
    raise Refused(
        f"{url!r} is no address of a gradebook: expected sqlite:///gradebook.db (with three "
        "slashes) or postgresql://USER@HOST/NAME."
    )


def _must_be_nothing_else(shown: str, tables: list[str]) -> None:
    """Among tables of another kind nbgrader would make its own."""
    ours = {"verdicts", "claims", "ledger_version", "forgotten"}  # the ledger's, on a server
    others = [name for name in tables if name not in ours]
    if others:
        raise Refused(
            f"{shown} is a database of something else: expected nbgrader's tables, got "
            f"{few(others)}. Nothing is written to it."
        )


def _must_be_of_now(shown: str, there: Any, url: str) -> None:
    """A gradebook of an older nbgrader lacks columns, and not one query on them works."""
    from nbgrader.api import Base

    tables = there.get_table_names()
    lacking = []
    for table in Base.metadata.sorted_tables:
        if table.name not in tables:
            lacking.append(table.name)
            continue
        columns = {column["name"] for column in there.get_columns(table.name)}
        lacking += [f"{table.name}.{c.name}" for c in table.columns if c.name not in columns]
    if lacking:
        raise Refused(
            f"{shown} is of an older version of nbgrader: it lacks {few(lacking)}. "
            f"`nbgrader db upgrade --db {_quoted(url)}` brings it up (a copy of a file it makes "
            "itself), then the same command again; where that changes nothing, put your copy of it "
            "back. Nothing is written to it."
        )


def _must_be_ours(shown: str, engine: Any) -> None:
    """A gradebook with assignments, none of which has a lesson of this course."""
    with engine.connect() as connection:
        found = connection.exec_driver_sql(
            "SELECT a.name, n.name FROM assignment a LEFT JOIN notebook n ON n.assignment_id = a.id"
        ).all()
    if found and not any(notebook and stem_of_notebook(notebook) for _, notebook in found):
        names = sorted({clean(name) for name, _ in found})
        raise Refused(
            f"{shown} is another course's gradebook: it has {few(names)}, and no lesson of "
            "this course. Nothing is written to it. `make build` enters this course's lessons in "
            "the gradebook that nbgrader_config.py names: gradebook.db, unless you changed that."
        )


def _must_take_a_write(url: str, engine: Any) -> None:
    """A change of the file's first page, and back: a full disk has no room for that one either."""
    with explained(url, "written"), engine.connect() as connection:
        version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.exec_driver_sql(f"PRAGMA user_version = {version + 1}")
        connection.rollback()


@contextlib.contextmanager
def explained(url: str, wanted: str) -> Iterator[None]:
    """What a database or nbgrader refuses is a Refused: it cannot be `wanted`."""
    from nbgrader.api import InvalidEntry
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, InvalidEntry) as error:
        # nbgrader's InvalidEntry is raised where it has caught what the database said
        told = error.__context__ if isinstance(error, InvalidEntry) else error
        said = said_by(told or error)
        code = getattr(getattr(told, "orig", None), "sqlite_errorcode", 0)
        step = _STEPS.get(code & 0xFF, "")
        raise Refused(
            f"The gradebook {without_password(url)} cannot be {wanted}: {said}.{step}"
        ) from error


def open_gradebook(url: str) -> Any:
    """nbgrader's own handle to it.

    Raises:
        Refused: without a driver, or without alembic on the path.
    """
    from nbgrader.api import Gradebook

    prepare()
    try:
        return Gradebook(url)
    except (ImportError, FileNotFoundError) as error:
        raise Refused(
            f"The gradebook {without_password(url)} cannot be opened: {error}."
        ) from error


def enters(url: str, lesson: str) -> str:
    """The command that enters a lesson in a gradebook."""
    return f"`nbgrader generate_assignment {lesson} --force --db {_quoted(url)}`"


def _makes(url: str, lesson: str) -> str:
    return f"{enters(url, lesson)} makes it."


def _quoted(url: str) -> str:
    return shlex.quote(without_password(url))


def without_password(url: str) -> str:
    """An address as it can be shown."""
    return str(address_of(url).render_as_string(hide_password=True))
