"""Where a ledger's rows lie: SQLite in its own folder, or on a PostgreSQL server by URL.

What differs between the two is here: how a transaction begins, how the table is kept from
changing, what tells a run that lives from one that died, and when to try again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError

from autograder import Refused
from autograder.grading.waiting import Waiting

NAME = "ledger.db"
#: In a folder whose ledger is elsewhere: the server's URL, for every later command.
URL_FILE = "ledger.url"
INSTALL = ".venv/bin/python -m pip install -c requirements.txt '.[postgresql]'"
#: Another run's transaction is one verdict, and writes some KB.
_PATIENCE_SECONDS = 60
#: For a server that is stopped and started in mid-run.
_SERVER_SECONDS = 300.0
#: What a run leaves at its end: a folder with it has had a ledger.
SUMMARY = "verdicts.json"
_LOOK_SECONDS = 0.05
_RETRY_SECONDS = 0.5
#: A server that was started knows of no run. A run is heard of at each verdict: an exercise's
#: default limit is a minute.
_HEARD_OF_SECONDS = 120
#: So that within a minute a server notices that a grader's machine is gone, and its run with it,
#: and a grader that the server's is.
_IDLE_SECONDS, _BETWEEN_SECONDS, _UNANSWERED = 30, 10, 3
#: For a transaction of somebody else, and for the lock of a run whose machine is gone.
_LOCK_SECONDS = 90
_OF_SERVER = {
    "tcp_keepalives_idle": _IDLE_SECONDS,
    "tcp_keepalives_interval": _BETWEEN_SECONDS,
    "tcp_keepalives_count": _UNANSWERED,
    "lock_timeout": f"{_LOCK_SECONDS}s",
}
#: Whatever a database has its texts in, the ledger's and nbgrader's drivers get Unicode.
os.environ["PGCLIENTENCODING"] = "utf8"
_CONNECTION = {
    "options": " ".join(f"-c {name}={value}" for name, value in _OF_SERVER.items()),
    "connect_timeout": 20,
    "keepalives_idle": _IDLE_SECONDS,
    "keepalives_interval": _BETWEEN_SECONDS,
    "keepalives_count": _UNANSWERED,
    "tcp_user_timeout": 1000 * (_IDLE_SECONDS + _BETWEEN_SECONDS * _UNANSWERED),
}
_RUNS = ".runs"
#: SQLite's trigger for each change.
_REFUSES = (
    "CREATE TRIGGER no_{name} BEFORE {change} ON verdicts "
    "BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END"
)
#: PostgreSQL's numbers for locks of ours: the ledger's writers, and each run.
_WRITERS = 0x6C6564676572
#: What SQLAlchemy raises for a text that is no address: the second for a port that is no number.
NO_ADDRESS = ArgumentError, ValueError
_T = TypeVar("_T")


def said_by(error: Exception) -> str:
    """What a database says, on one line."""
    return " ".join(str(getattr(error, "orig", None) or error).split())[:200]


def database(folder: Path, url: str | None, may_write: bool = True) -> _Sqlite | _Postgresql:
    """The one of this folder.

    Args:
        url: of a server; None is as the folder has it from before.

    Raises:
        Refused: for another URL, without a driver, or beside a ledger that is there.
    """
    known = url_of(folder)
    if not url and not known:
        return _Sqlite(folder, may_write)
    if known and url and known != url:
        raise Refused(
            f"The verdicts of {folder} are in {_shown(known)}, and not in {_shown(url)}. Leave "
            "--ledger away, or grade into another folder."
        )
    if not known and (folder / NAME).exists():
        raise Refused(
            f"{folder} has verdicts in {folder / NAME}, and --ledger would begin anew elsewhere. "
            f"`python -m autograder ledger URL --from {folder}` takes them there."
        )
    return _Postgresql(folder, url or known)


def url_of(folder: Path) -> str:
    """Of the server that has the folder's ledger; "" where none has."""
    file = folder / URL_FILE
    return file.read_text(encoding="utf-8", errors="replace").strip() if file.exists() else ""


def has_ledger(folder: Path) -> bool:
    """Whether a run has graded into this folder."""
    return any((folder / name).exists() for name in (NAME, URL_FILE))


def must_not_begin(folder: Path) -> str:
    """Why an empty ledger is none for this folder, in a sentence; "" where it may begin."""
    if not (folder / SUMMARY).exists():
        return ""
    return (
        f"{folder} has verdicts ({SUMMARY}), and its ledger is gone: there is none in {NAME}. Put "
        "your copy of it back; where it was on a server, name that: --ledger URL. If there is no "
        f"copy, move {SUMMARY} away: the same command then judges everything again, with the same "
        "seed to the same verdicts, and only their history is lost."
    )


def _shown(url: str) -> str:
    try:
        return sql.make_url(url).render_as_string(hide_password=True)
    except NO_ADDRESS:
        return repr(url)


class _Sqlite:
    """A file, transactions of which wait for one another; a run is a file that it locks."""

    def __init__(self, folder: Path, may_write: bool) -> None:
        self._folder = folder
        self._lock = -1
        #: the database, what was committed and is not in it yet, and who looks at that
        self._files: dict[str, tuple[int, int] | None] = {}
        self._held: sql.PoolProxiedConnection | None = None
        self.name = str(folder / NAME)
        url = sql.URL.create("sqlite", database=self.name)
        if not may_write:
            query = {"uri": "true", "mode": "ro"}
            if not _there(f"{self.name}-wal"):  # nobody writes, and SQLite makes none to read with
                query["immutable"] = "1"
            elif not _there(f"{self.name}-shm"):  # a copy in part: SQLite makes it
                query.pop("mode")
            url = url.set(database=f"file:{quote(str(folder.absolute() / NAME))}", query=query)
        self.engine = sql.create_engine(url, connect_args={"timeout": _PATIENCE_SECONDS})
        event.listen(self.engine, "connect", _prepared if may_write else _in_transactions_of_ours)
        event.listen(self.engine, "begin", _immediately)

    def version(self, connection: sql.Connection) -> int:
        """Of the tables there; 0 for none."""
        return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())

    def made(self, connection: sql.Connection, version: int) -> None:
        """The tables are made: from here on the database itself keeps verdicts from changing."""
        for change in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(_REFUSES.format(name=change.lower(), change=change))
        connection.exec_driver_sql(f"PRAGMA user_version = {version}")

    def opens(self, connection: sql.Connection, opened: bool) -> None:
        """Whether rows may go: of a student who is to be forgotten, within one transaction."""
        if opened:
            connection.exec_driver_sql("DROP TRIGGER no_delete")
        else:
            connection.exec_driver_sql(_REFUSES.format(name="delete", change="DELETE"))

    def swept(self) -> None:
        """What a removed row held stands in no page of the file any more."""
        connection = self.engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:  # it wants as much room as the file has
            raise Refused(
                f"What was removed from {self.name} may still stand in free pages of the file: "
                f"{error}. Make room and end what else has it open, and run the same command again."
            ) from error
        finally:
            connection.close()

    def opened(self) -> None:
        """The files are found by their names; from here on they have to stay those files.

        SQLite removes its log with the last connection, and Ctrl-C costs the one in which it comes:
        another one stays.
        """
        self._held = self.engine.raw_connection()
        names = (self.name, f"{self.name}-wal", f"{self.name}-shm")
        self._files = {name: _there(name) for name in names}

    def numbered(self, connection: sql.Connection, table: str) -> None:
        """SQLite sees to that."""

    def during(self, work: Callable[[bool], _T]) -> _T:
        """Nothing counts as kept that went to a file which nobody finds any more."""
        self._has_to_stay()
        done = work(False)
        self._has_to_stay()
        return done

    def _has_to_stay(self) -> None:
        for name, file in self._files.items():
            if _there(name) == file:
                continue
            again = "Put the right one back, and run"
            if name != self.name:
                again = "Run"
                self.close()  # what SQLite still has open of it goes to the database
            raise Refused(
                f"{name} was removed or replaced while this grader was at work. Nothing more is "
                f"entered. {again} the same command again: it judges what is missing there."
            )

    def close(self) -> None:
        """All of it is in one file then."""
        if self._held is not None:
            self._held.close()
            self._held = None
        self.engine.dispose()

    def be_run(self, run: str) -> str:
        """A file that is locked as long as this process lives: the system sees to that."""
        if not run:
            place = self._folder / _RUNS
            place.mkdir(exist_ok=True)
            run = _new_run()
            self._lock = os.open(place / run, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        return run

    def lives(self, connection: sql.Connection, run: str) -> bool:
        """Whether a run's sign is there."""
        try:
            handle = os.open(self._folder / _RUNS / run, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            (self._folder / _RUNS / run).unlink(missing_ok=True)
            return False
        finally:
            os.close(handle)

    def end_run(self, run: str) -> None:
        """Takes the sign away."""
        os.close(self._lock)
        (self._folder / _RUNS / run).unlink(missing_ok=True)


class _Postgresql:
    """A server, which may be stopped and started; a run is a lock that its connection holds."""

    def __init__(self, folder: Path, url: str) -> None:
        self._file, self._url = folder / URL_FILE, url
        try:
            address = sql.make_url(url)
        except NO_ADDRESS:
            address = sql.URL.create("none")
        if address.get_backend_name() != "postgresql" or not address.database:
            raise Refused(
                f"--ledger {url!r}: expected postgresql://USER:PASSWORD@HOST/NAME. Without it the "
                f"ledger is {NAME} in the folder of the grades."
            )
        self.name = address.render_as_string(hide_password=True)
        if address.drivername == "postgresql":  # SQLAlchemy's own choice differs by its version
            address = address.set(drivername="postgresql+psycopg")
        try:
            self.engine = sql.create_engine(address, pool_pre_ping=True, connect_args=_CONNECTION)
        except ModuleNotFoundError as error:
            raise Refused(f"A ledger on a server needs {error.name}: {INSTALL}") from error
        event.listen(self.engine, "begin", _one_writer)
        self._sign: sql.Connection | None = None
        self._run = ""

    def version(self, connection: sql.Connection) -> int:
        if not sql.inspect(connection).has_table("ledger_version"):
            return 0
        return int(connection.exec_driver_sql("SELECT version FROM ledger_version").scalar_one())

    def made(self, connection: sql.Connection, version: int) -> None:
        for statement in (
            "CREATE FUNCTION ledger_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the ledger only grows'; END $$",
            "CREATE TRIGGER only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON verdicts "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_only_grows()",
            f"CREATE TABLE ledger_version AS SELECT {version} AS version",
        ):
            connection.exec_driver_sql(statement)

    def opens(self, connection: sql.Connection, opened: bool) -> None:
        """... which the table's owner alone can let them."""
        how = "DISABLE" if opened else "ENABLE"
        connection.exec_driver_sql(f"ALTER TABLE verdicts {how} TRIGGER only_grows")

    def swept(self) -> None:
        with self.engine.connect().execution_options(
            reading=True, isolation_level="AUTOCOMMIT"
        ) as connection:
            connection.exec_driver_sql("VACUUM verdicts")

    def opened(self) -> None:
        if not self._file.exists():
            self._file.touch(mode=0o600)  # a password may be in it
            self._file.write_text(f"{self._url}\n", encoding="utf-8")

    def numbered(self, connection: sql.Connection, table: str) -> None:
        newest = f"SELECT coalesce(max(id), 0) + 1 FROM {table}"
        sequence = f"pg_get_serial_sequence('{table}', 'id')"
        connection.exec_driver_sql(f"SELECT setval({sequence}, ({newest}), false)")

    def during(self, work: Callable[[bool], _T]) -> _T:
        """Waits for a server that is stopped. A commit whose answer was lost may have been made."""
        deadline = time.monotonic() + _SERVER_SECONDS
        again = False
        waiting = Waiting()
        while True:
            try:
                if self._run:
                    self.be_run(self._run)
                done = work(again)
                waiting.over()
                return done
            except DBAPIError as error:
                if not _is_away(error) or time.monotonic() > deadline:
                    raise
            again = True
            most = f", {_SERVER_SECONDS / 60:g} minutes at most"
            waiting.on(f"the database server {self.name}, which does not answer", most)
            time.sleep(_RETRY_SECONDS)

    def close(self) -> None:
        self.engine.dispose()

    def be_run(self, run: str) -> str:
        """The lock is gone where the server was stopped, and taken again."""
        if self._sign is not None:
            try:
                self._sign.exec_driver_sql("SELECT 1")
                return run
            except DBAPIError:
                self._forget()
        run = run or _new_run()
        own = self.engine.execution_options(reading=True, isolation_level="AUTOCOMMIT")
        sign = own.connect()
        sign.execute(sql.select(sql.func.pg_advisory_lock(_number(run))))
        self._sign, self._run = sign, run
        return run

    def lives(self, connection: sql.Connection, run: str) -> bool:
        free = sql.select(sql.func.pg_try_advisory_xact_lock(_number(run)))
        if not connection.execute(free).scalar_one():
            return True
        up = sql.text("SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())")
        return float(connection.execute(up).scalar_one()) < _HEARD_OF_SECONDS

    def end_run(self, run: str) -> None:
        self._run = ""
        self._forget()

    def _forget(self) -> None:
        sign, self._sign = self._sign, None
        if sign is not None:
            with contextlib.suppress(DBAPIError):
                sign.invalidate()  # closed, and not kept for another use: the lock goes with it
            with contextlib.suppress(DBAPIError):
                sign.close()


def _new_run() -> str:
    """A name that no other run has, and that says where it is."""
    host = "".join(c for c in socket.gethostname() if c.isalnum() or c in "-.")
    return f"{secrets.token_hex(8)}@{host}:{os.getpid()}"


def whose(run: str) -> str:
    """What a run's name says to a person."""
    host, _, process = run.partition("@")[2].rpartition(":")
    return f"process {process} on {host}" if host else "of an earlier version"


def _number(run: str) -> int:
    """A run's lock, as PostgreSQL numbers them: 63 bits."""
    return int(run.partition("@")[0], 16) >> 1


def _is_away(error: DBAPIError) -> bool:
    """Whether the server is not to be reached, or stops or starts (SQLSTATE 08... and 57P...)."""
    state = getattr(error.orig, "sqlstate", None) or ""
    gone = error.connection_invalidated or state.startswith(("08", "57P"))
    return gone or (isinstance(error, sql.exc.OperationalError) and not state)


def _one_writer(connection: sql.Connection) -> None:
    """Writers take turns, as SQLite's do: what a row replaces is the newest until it is in."""
    if not connection.get_execution_options().get("reading", False):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS})")


def _there(name: str) -> tuple[int, int] | None:
    """Which file has this name."""
    with contextlib.suppress(OSError):
        status = Path(name).stat()
        return status.st_dev, status.st_ino
    return None


def _in_transactions_of_ours(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _prepared(connection: Any, _: object) -> None:
    """SQLite as this ledger needs it: transactions of ours, durable at each commit."""
    _in_transactions_of_ours(connection, _)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # two runs make the file: SQLite does not wait
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_SECONDS)
    connection.execute("PRAGMA synchronous = FULL")


def _immediately(connection: sql.Connection) -> None:
    """A transaction that writes waits for its turn at once: it cannot fail in the middle."""
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
