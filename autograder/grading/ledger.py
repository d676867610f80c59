"""Every verdict that was ever given, in one table that only grows: who, when, where, on what.

It lies in `OUT/ledger.db`, or on a PostgreSQL server (`database`); each verdict is a transaction of
its own that is on the disk before it counts. A verdict that takes an earlier one's place names it;
the database itself refuses to change or remove a row. Beside the verdicts stand claims: which run
is at work on whose notebook.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import ProgrammingError

from autograder import Refused
from autograder.grading.database import database, has_ledger, must_not_begin, said_by, whose
from autograder.judge.judge import Graded
from course.engine.faults import Outcome

#: Of the tables below. A ledger of a later one is not touched.
VERSION = 1
_GRADED_FIELDS = {field.name for field in fields(Graded)}

_METADATA = sql.MetaData()
_VERDICTS = sql.Table(
    "verdicts",
    _METADATA,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("time", sql.String, nullable=False),
    sql.Column("host", sql.String, nullable=False),
    sql.Column("course", sql.String, nullable=False),
    sql.Column("lesson", sql.String, nullable=False),
    sql.Column("submission", sql.String, nullable=False),
    sql.Column("student", sql.String, nullable=False),
    sql.Column("notebook", sql.String, nullable=False),
    sql.Column("exercise", sql.String, nullable=False),
    sql.Column("replaces", sql.Integer, nullable=True),
    # what `Graded` holds, as JSON; nothing where an earlier verdict was withdrawn
    sql.Column("verdict", sql.String, nullable=False),
    # nearly all of its bytes: behind all else, so that a class's list is read without them
    sql.Column("panel", sql.String, nullable=False),
    sql.Column("text", sql.String, nullable=False),
    sql.Index("verdicts_of", "student", "notebook", "exercise", "id"),
    sqlite_autoincrement=True,
)
_CLAIMS = sql.Table(
    "claims",
    _METADATA,
    sql.Column("student", sql.String, primary_key=True),
    sql.Column("notebook", sql.String, primary_key=True),
    sql.Column("run", sql.String, nullable=False),
)
#: What is left of a student who was to be forgotten: when, and how many verdicts went.
_FORGOTTEN = sql.Table(
    "forgotten",
    sql.MetaData(),
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("time", sql.String, nullable=False),
    sql.Column("verdicts", sql.Integer, nullable=False),
)
_WHOSE = (_VERDICTS.c.student, _VERDICTS.c.notebook, _VERDICTS.c.exercise)
#: A row in the place of the newest on the same exercise.
_OF: list[sql.BindParameter[str]] = [sql.bindparam(f"of_{column.name}") for column in _WHOSE]
_INSERTED = sql.insert(_VERDICTS).values(
    replaces=sql.select(sql.func.max(_VERDICTS.c.id))
    .where(*(column == of for column, of in zip(_WHOSE, _OF, strict=True)))
    .scalar_subquery()
)
_WITHDRAWN = ""
_LONG = ("panel", "text")
_SHORT_FIELDS = [field.name for field in fields(Graded) if field.name not in _LONG]
_SHORT_COLUMNS = [column for column in _VERDICTS.c if column.name not in _LONG]


@dataclass(frozen=True)
class Entry:
    """One row: a verdict, or that an earlier one was withdrawn (`graded` is None).

    Attributes:
        course, lesson: the versions of what decided it, "" where that is not known.
        submission: SHA-256 of the notebook.
        replaces: the row in whose place this one is.
    """

    id: int
    time: str
    host: str
    course: str
    lesson: str
    submission: str
    replaces: int | None
    graded: Graded | None


class Ledger:
    """The ledger of one folder. Several runs may write to it side by side.

    Every method raises SQLAlchemyError where the database cannot be read or written, and
    Refused where it is not what it was.
    """

    def __init__(self, folder: Path, url: str | None = None, may_write: bool = True) -> None:
        """Opens it, and makes it where there is none.

        Args:
            url: of a server, for a folder whose ledger is to be there.

        Raises:
            Refused: where it was made by a later version, or is none.
        """
        self._run = ""
        #: the last run that had a notebook which was asked for in vain
        self.held_by = ""
        if not url and not has_ledger(folder) and (lost := must_not_begin(folder)):
            raise Refused(lost)  # before SQLite makes a file
        self._database = database(folder, url, may_write)
        self.name = self._database.name
        self._engine = self._database.engine
        self._reading = self._engine.execution_options(reading=True)
        with (self._engine if may_write else self._reading).begin() as connection:
            found = self._database.version(connection)
            if found > VERSION:
                raise Refused(
                    f"{self.name} is a ledger of version {found}, and this grader knows "
                    f"{VERSION}. Grade with the version that made it, or into another folder."
                )
            lost = must_not_begin(folder) if not found else ""
            if not (found or lost or may_write):
                lost = f"{self.name} holds no verdict yet. Run `grade` first."
            if lost:
                raise Refused(lost)
            if sql.inspect(connection).has_table(_VERDICTS.name) != bool(found):
                raise Refused(
                    f"{self.name} is the database of something else, and no ledger. Nothing is "
                    "entered in it: grade into another folder, or move it away."
                )
            if found < VERSION:
                _METADATA.create_all(connection)
                self._database.made(connection, VERSION)
            newest = connection.execute(sql.select(sql.func.max(_VERDICTS.c.id))).scalar()
        self._database.opened()
        #: The newest row as this was opened: those after it are of this run and its companions.
        self.begun: int = newest or 0

    def append(self, graded: Graded, course: str, lesson: str) -> None:
        """Adds a verdict: after this returns, no crash loses it."""
        when, verdict = _now(), _written(graded)
        place = _is(graded.student, graded.notebook, graded.exercise)
        same = _VERDICTS.c.verdict == verdict, _VERDICTS.c.time == when
        query = sql.select(_VERDICTS.c.id).where(*place, *same)

        def work(again: bool) -> None:
            with self._engine.begin() as connection:
                if again and connection.execute(query).first():
                    return  # only the answer to the commit was lost
                self._insert(connection, graded, verdict, when, course, lesson, graded.content)

        self._database.during(work)

    def _insert(
        self,
        connection: sql.Connection,
        whose: Graded,
        verdict: str,
        when: str,
        course: str = "",
        lesson: str = "",
        submission: str = "",
    ) -> None:
        row = {
            "time": when,
            "host": socket.gethostname(),
            "course": course,
            "lesson": lesson,
            "submission": submission,
            "verdict": verdict,
            "panel": _kept(whose.panel) if verdict else "",
            "text": _kept(whose.text) if verdict else "",
        }
        for column, of in zip(_WHOSE, _OF, strict=True):
            row[column.name] = row[of.key] = getattr(whose, column.name)
        connection.execute(_INSERTED, row)

    def withdraw(self, student: str, keep: Iterable[str] = ()) -> None:
        """From here on a student's notebooks of no lesson have no verdict, but those to keep."""
        unnamed = {e.graded.notebook for e in self.latest(student=student, exercise="") if e.graded}
        self.withdraw_each((student, notebook, "") for notebook in unnamed - {*keep})

    def withdraw_each(self, whose: Iterable[tuple[str, str, str]]) -> None:
        """From here on none of these (student, notebook, exercise) has a verdict."""
        for one in whose:
            entry = self.last(*one)
            if entry is not None and entry.graded is not None:
                with self._engine.begin() as connection:
                    self._insert(connection, entry.graded, _WITHDRAWN, _now())

    def works(self) -> list[tuple[str, str, str]]:
        """Every (student, notebook, exercise) that has a verdict, or had one."""
        return [(*row,) for row in self._read(sql.select(*_WHOSE).distinct())]

    def count(self, student: str) -> int:
        """How many rows there are of a student."""
        query = sql.select(sql.func.count()).where(_VERDICTS.c.student == student)
        return int(self._read(query)[0][0])

    def forget(self, student: str) -> int:
        """Removes every verdict of a student and leaves a line without the name; their number.

        Raises:
            Refused: on a server, where the tables are not this role's own.
        """
        with self._engine.begin() as connection:
            try:
                self._database.opens(connection, True)
            except ProgrammingError as error:
                raise Refused(
                    f"{self.name} lets only the owner of its tables remove a verdict, and says: "
                    f"{said_by(error)}. Run this as that role, from a folder whose ledger is named "
                    "with it: `grade --ledger URL --out ANOTHER`."
                ) from error
            _FORGOTTEN.create(connection, checkfirst=True)
            gone = connection.execute(sql.delete(_VERDICTS).where(_VERDICTS.c.student == student))
            self._database.opens(connection, False)
            connection.execute(sql.delete(_CLAIMS).where(_CLAIMS.c.student == student))
            count = int(gone.rowcount)
            if count:
                told = {"time": _now(), "verdicts": count}
                connection.execute(sql.insert(_FORGOTTEN).values(told))
        self._database.swept()
        return count

    def last(self, student: str, notebook: str, exercise: str) -> Entry | None:
        """The newest row on an exercise, or None."""
        query = sql.select(_VERDICTS).where(*_is(student, notebook, exercise))
        newest = self._listed(query.order_by(_VERDICTS.c.id.desc()).limit(1))
        return newest[0] if newest else None

    def latest(self, panels: bool = True, **whose: str) -> Iterator[Entry]:
        """The verdicts that hold, of this student, notebook, exercise where these are given.

        Args:
            panels: whether to read these, too: they are nearly all of a ledger's bytes.
        """
        columns = _VERDICTS.c if panels else _SHORT_COLUMNS
        query = sql.select(*columns).where(_VERDICTS.c.id.in_(_newest(whose)))
        found = self._listed(query) if whose else self._entries(query)  # a class is too many
        return (entry for entry in found if entry.graded is not None)

    def verdict(self, number: int) -> Graded:
        """The verdict of this number, without its panel.

        Raises:
            Refused: where there is none of it, or it was withdrawn.
        """
        query = sql.select(*_SHORT_COLUMNS).where(_VERDICTS.c.id == number)
        for entry in self._listed(query):
            if entry.graded is not None:
                return entry.graded
        raise Refused(f"{self.name} has no verdict of the number {number}.")

    def attempts(self) -> dict[tuple[str, str], int]:
        """By notebook and exercise, how many different submissions have had a verdict on it."""
        each = sql.select(*_WHOSE, _VERDICTS.c.submission).distinct().subquery()
        place = each.c.notebook, each.c.exercise
        found = self._read(sql.select(*place, sql.func.count()).group_by(*place))
        return {(notebook, exercise): count for notebook, exercise, count in found}

    def panel_characters(self) -> int:
        """What the panels of all verdicts that hold have together."""
        lengths = sql.func.sum(sql.func.length(_VERDICTS.c.panel))
        query = sql.select(lengths).where(_VERDICTS.c.id.in_(_newest({})))
        return int(self._read(query)[0][0] or 0)

    def history(self, student: str, exercise: str) -> list[Entry]:
        """Every verdict on a student's exercise, the earliest first."""
        query = sql.select(_VERDICTS).where(
            _VERDICTS.c.student == student, _VERDICTS.c.exercise == exercise
        )
        return self._listed(query.order_by(_VERDICTS.c.id))

    def students(self) -> list[str]:
        """Whoever has a verdict, or had one."""
        return [name for (name,) in self._read(sql.select(_VERDICTS.c.student).distinct())]

    def _read(self, query: sql.Select[Any]) -> Sequence[Any]:
        """Its rows, at once."""

        def work(_: bool) -> Sequence[Any]:
            with self._reading.begin() as connection:
                return connection.execute(query).all()

        return self._database.during(work)

    def _listed(self, query: sql.Select[Any]) -> list[Entry]:
        return self._database.during(lambda _: list(self._entries(query)))

    def _entries(self, query: sql.Select[Any]) -> Iterator[Entry]:
        with self._reading.begin() as connection:
            for row in connection.execute(query).yield_per(100):
                yield Entry(
                    row.id,
                    row.time,
                    row.host,
                    row.course,
                    row.lesson,
                    row.submission,
                    row.replaces,
                    _graded(row._mapping),
                )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every row as it is, the earliest first."""
        query = sql.select(_VERDICTS).order_by(_VERDICTS.c.id)
        with self._reading.begin() as connection:
            for row in connection.execute(query).yield_per(100):
                yield dict(row._mapping)

    def forgotten(self) -> list[dict[str, Any]]:
        """When somebody was forgotten, and how many verdicts went."""
        with self._reading.begin() as connection:
            if not sql.inspect(connection).has_table(_FORGOTTEN.name):
                return []
            rows = connection.execute(sql.select(_FORGOTTEN).order_by(_FORGOTTEN.c.id))
            return [dict(row._mapping) for row in rows]

    def take(
        self, rows: Iterable[dict[str, Any]], forgotten: Sequence[dict[str, Any]] = ()
    ) -> tuple[int, int]:
        """Makes this a copy of another ledger, whose rows these are, all or none.

        What is there already has to be how those begin. Gives how many came, of how many.

        Args:
            forgotten: its lines on who was forgotten.

        Raises:
            Refused: where it holds other verdicts.
        """
        with self._engine.begin() as connection:
            mine = connection.execute(sql.select(_VERDICTS).order_by(_VERDICTS.c.id))
            own = iter(mine.yield_per(100))
            came = count = 0
            for row in rows:
                count += 1
                there = next(own, None)
                if there is None:
                    connection.execute(sql.insert(_VERDICTS).values(row))
                    came += 1
                elif dict(there._mapping) != row:
                    raise self._other()
            if next(own, None) is not None:
                raise self._other()
            self._database.numbered(connection, _VERDICTS.name)
            if forgotten:
                _FORGOTTEN.create(connection, checkfirst=True)
                connection.execute(sql.delete(_FORGOTTEN))
                connection.execute(sql.insert(_FORGOTTEN), forgotten)
                self._database.numbered(connection, _FORGOTTEN.name)
        return came, count

    def _other(self) -> Refused:
        return Refused(
            f"{self.name} holds verdicts that are not these, of another course or graded there "
            "since. Nothing is changed in it: take an empty database, one for each class."
        )

    def at_work(self) -> list[str]:
        """The runs that live and have claimed something."""
        with self._engine.begin() as connection:
            runs = connection.execute(sql.select(_CLAIMS.c.run).distinct()).scalars().all()
            return [whose(run) for run in runs if self._database.lives(connection, run)]

    def close(self) -> None:
        """Lets the database go: SQLite then has all of it in one file."""
        self._database.close()

    def claim(self, student: str, notebook: str) -> bool:
        """Takes a notebook for this run; False while another run that is alive has it."""
        where = _CLAIMS.c.student == student, _CLAIMS.c.notebook == notebook

        def work(_: bool) -> bool:
            self._run = self._database.be_run(self._run)
            mine = {"student": student, "notebook": notebook, "run": self._run}
            with self._engine.begin() as connection:
                held = connection.execute(sql.select(_CLAIMS.c.run).where(*where)).scalar()
                other = held is not None and held != self._run
                if other and self._database.lives(connection, str(held)):
                    self.held_by = whose(str(held))
                    return False
                connection.execute(sql.delete(_CLAIMS).where(*where))
                connection.execute(sql.insert(_CLAIMS).values(**mine))
            return True

        return self._database.during(work)

    def release(self) -> None:
        """Gives back what this run has claimed."""
        if not self._run:
            return

        def work(_: bool) -> None:
            with self._engine.begin() as connection:
                connection.execute(sql.delete(_CLAIMS).where(_CLAIMS.c.run == self._run))

        self._database.during(work)
        self._database.end_run(self._run)
        self._run = ""


def _is(*whose: str) -> list[sql.ColumnElement[bool]]:
    return [column == value for column, value in zip(_WHOSE, whose, strict=True)]


def _newest(whose: Mapping[str, str]) -> Any:
    """The numbers of the last rows on each exercise."""
    these = [_VERDICTS.c[name] == value for name, value in whose.items()]
    newest = sql.select(sql.func.max(_VERDICTS.c.id)).where(*these).group_by(*_WHOSE)
    return newest.scalar_subquery()


def _written(graded: Graded) -> str:
    """What a row holds of a verdict, beside its panel and its text."""
    return json.dumps({name: getattr(graded, name) for name in _SHORT_FIELDS})


def _graded(row: Mapping[Any, Any]) -> Graded | None:
    """A row's verdict; fields that came later have their defaults."""
    if row["verdict"] == _WITHDRAWN:
        return None
    try:
        content = json.loads(row["verdict"])
        known = {name: _once(content[name]) for name in _GRADED_FIELDS & content.keys()}
        graded = Graded(**known, **{name: row[name] for name in _LONG if name in row})
        Outcome(graded.outcome)  # a later version may have others
        return graded
    except (ValueError, TypeError, AttributeError) as error:
        raise Refused(
            f"Row {row['id']} of the ledger holds no verdict that this version knows: another one "
            "has written it, or something else. Grade with that version, or put your copy of the "
            "ledger back."
        ) from error


def _once(value: Any) -> Any:
    """A value, and of a text that many verdicts have the one object for all of them."""
    return sys.intern(value) if isinstance(value, str) else value


def _kept(text: str) -> str:
    """A student's text as every database takes it: PostgreSQL refuses the character 0."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
