"""The ledger on a PostgreSQL server that the test starts, stops and starts again."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError

from autograder import Refused
from autograder.grading import database, grade, waiting
from autograder.grading.gradebook import write_scores
from autograder.grading.ledger import Entry, Ledger
from autograder.grading.move import moved
from autograder.grading.opened import prepare
from autograder.grading.store import Store
from autograder.judge.judge import Graded
from autograder.tests.graders import a_class, finished, start
from autograder.tests.notebooks import EXERCISES, LESSON
from autograder.tests.test_ledger import BASE, FIRST, SECOND

pytest.importorskip("psycopg", reason="no psycopg here: pip install '.[postgresql]'")
_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
_INITDB = shutil.which("initdb") or (str(_BINARIES[-1]) if _BINARIES else None)
if _INITDB is None:
    pytest.skip("no PostgreSQL server here: apt-get install postgresql", allow_module_level=True)


class Server:
    """One of its own, on this machine alone."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-"))
        self.user = "postgres" if os.geteuid() == 0 else None  # it refuses to be root's
        if self.user:
            shutil.chown(self.folder, self.user)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = int(one.getsockname()[1])
        self.url = f"postgresql://ada:secret@127.0.0.1:{self.port}/postgres"
        self._do("initdb", "--username", "ada", "--auth", "trust", "--no-sync", self.data)
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def _do(self, command: str, *words: object) -> None:
        assert _INITDB is not None
        binary = Path(_INITDB).resolve().with_name(command)
        subprocess.run(
            [binary, *map(str, words)],
            user=self.user,
            cwd=self.folder,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        log = self.folder / "log"
        self._do("pg_ctl", "-D", self.data, "-l", log, "-o", options, "-w", "start")

    def stop(self, how: str = "fast") -> None:
        self._do("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def empty(self) -> None:
        with sql.create_engine(self.url).begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop("immediate")
    shutil.rmtree(server.folder)


@pytest.fixture
def server(running: Server) -> Server:
    running.empty()
    return running


def rows_of(server: Server) -> list[tuple[str, ...]]:
    with sql.create_engine(server.url).connect() as connection:
        found = connection.exec_driver_sql("SELECT student, exercise FROM verdicts")
        return [tuple(row) for row in found]


def test_later_commands_find_it_and_no_other_reads_the_password(
    server: Server, tmp_path: Path
) -> None:
    Store(tmp_path, server.url).keep(BASE)
    again = Store(tmp_path)
    again.keep(replace(BASE, exercise=SECOND))
    again.keep(replace(BASE, outcome="PASS", points=4, content="cd34"))
    first, second = Ledger(tmp_path).history("vega", FIRST)
    assert (first.replaces, second.replaces) == (None, first.id)
    assert first.graded == BASE
    assert [row.outcome for row in Store(tmp_path).all()] == ["PASS", "RACE"]
    assert (tmp_path / database.URL_FILE).stat().st_mode & 0o077 == 0
    assert not (tmp_path / database.NAME).exists()
    assert "secret" not in again.ledger.name


@pytest.mark.parametrize(
    "change", ["DELETE FROM verdicts", "UPDATE verdicts SET time = 'x'", "TRUNCATE verdicts"]
)
def test_the_database_itself_refuses_to_change_a_row(
    server: Server, tmp_path: Path, change: str
) -> None:
    kept = Store(tmp_path, server.url)
    kept.keep(BASE)
    with (
        sql.create_engine(server.url).begin() as other,
        pytest.raises(DBAPIError, match="the ledger only grows"),
    ):
        other.exec_driver_sql(change)
    assert kept.all() == [BASE]


def test_a_panel_with_the_character_0_stops_no_class(server: Server, tmp_path: Path) -> None:
    kept = Store(tmp_path, server.url)
    kept.keep(replace(BASE, panel="a\0b", message="c\0d"))
    [row] = kept.all()
    assert (row.panel, row.message) == ("a\N{REPLACEMENT CHARACTER}b", "c\0d")


def test_a_notebook_is_one_runs_as_long_as_that_lives(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Ledger(tmp_path, server.url), Ledger(tmp_path)
    with one._engine.connect() as connection:  # as seen where the machine's cable is pulled
        assert connection.exec_driver_sql("SHOW tcp_keepalives_idle").scalar_one() == "30"
    assert one.claim("vega", "01_threads")
    assert one.claim("vega", "01_threads")
    assert not other.claim("vega", "01_threads")
    server.stop()
    server.start()
    assert not other.claim("vega", "01_threads")  # its run may yet be heard of
    monkeypatch.setattr(database, "_HEARD_OF_SECONDS", 0)
    assert one.last("vega", "01_threads", FIRST) is None  # and is: by whatever it does
    assert not other.claim("vega", "01_threads")
    one._database._forget()  # type: ignore[attr-defined]  # as its connection ends with a process
    deadline = time.monotonic() + 60  # the server hears of that in its own time
    while not other.claim("vega", "01_threads"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_commit_whose_answer_is_lost_is_not_made_twice(server: Server, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, server.url)
    before = ledger._insert
    broken = []

    def made_and_lost(*words: object) -> None:
        before(*words)  # type: ignore[arg-type]
        if not broken:
            broken.append(True)
            connection = words[0]
            assert isinstance(connection, sql.Connection)
            connection.commit()
            raise DBAPIError("COMMIT", None, Exception("gone"), connection_invalidated=True)

    ledger._insert = made_and_lost  # type: ignore[method-assign]
    ledger.append(BASE, "", "")
    assert broken
    assert rows_of(server) == [("vega", FIRST)]


def test_a_grader_needs_no_right_to_change_what_is_there(server: Server, tmp_path: Path) -> None:
    Store(tmp_path, server.url)
    with sql.create_engine(server.url).begin() as owner:
        owner.exec_driver_sql("DROP ROLE IF EXISTS grader; CREATE ROLE grader LOGIN")
    url = server.url.replace("ada:secret", "grader")
    with pytest.raises(Refused, match="grants this role what"):
        Store(tmp_path / "other", url)
    with sql.create_engine(server.url).begin() as owner:
        owner.exec_driver_sql(
            "GRANT SELECT, INSERT ON verdicts TO grader; GRANT ALL ON claims TO grader;"
            "GRANT SELECT ON ledger_version TO grader;"
            "GRANT USAGE ON SEQUENCE verdicts_id_seq TO grader;"
            "GRANT USAGE ON SCHEMA public TO grader"
        )
    kept = Store(tmp_path / "other", url)
    kept.keep(BASE)
    assert kept.ledger.claim("vega", "01_threads")
    kept.release()
    with (
        sql.create_engine(url).begin() as grader,
        pytest.raises(DBAPIError, match="permission denied"),
    ):
        grader.exec_driver_sql("DELETE FROM verdicts")
    assert Store(tmp_path).all() == [BASE]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ada:secret@127.0.0.1:1/class", "Is the server there"),
        ("mysql://ada@127.0.0.1/class", "expected postgresql://"),
        ("here", "expected postgresql://"),
        ("postgresql://ada@127.0.0.1:port/class", "expected postgresql://"),
    ],
)
def test_what_is_no_server_is_a_sentence_and_not_remembered(
    tmp_path: Path, url: str, said: str
) -> None:
    with pytest.raises(Refused, match=said) as told:
        Store(tmp_path, url)
    assert "secret" not in str(told.value)
    Store(tmp_path).keep(BASE)
    with pytest.raises(Refused, match="would begin anew elsewhere"):
        Store(tmp_path, "postgresql://ada@127.0.0.1:1/class")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_without_unicode_keeps_each_sign_or_says_that_it_cannot(
    server: Server, tmp_path: Path, encoding: str
) -> None:
    with sql.create_engine(server.url, isolation_level="AUTOCOMMIT").connect() as connection:
        connection.exec_driver_sql(
            f"CREATE DATABASE {encoding} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'"
        )
    store = Store(tmp_path, f"{server.url.removesuffix('postgres')}{encoding.lower()}")
    verdict = replace(BASE, student="天狼", text="✗")
    if encoding == "LATIN1":
        with pytest.raises(Refused, match='no equivalent in encoding "LATIN1"'):
            store.keep(verdict)
    else:
        store.keep(verdict)
        assert store.all() == [verdict]


@pytest.mark.slow
def test_a_stopped_server_is_waited_for_by_name_and_with_an_end(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kept = Store(tmp_path, server.url)
    monkeypatch.setattr(waiting, "_FIRST_SECONDS", 0.5)
    server.stop()
    later = threading.Timer(2, server.start)
    later.start()
    kept.keep(BASE)
    later.join()
    said = capsys.readouterr().err
    assert "Waiting for the database server postgresql://ada:***@127.0.0.1" in said
    assert re.search(r"which does not answer: \d s so far, 5 minutes at most\.\nWaited \d", said)


def test_a_server_that_says_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database._CONNECTION, "connect_timeout", 2)  # the driver's least
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(Refused, match="connection timeout expired"):
            Store(tmp_path, f"postgresql://ada@127.0.0.1:{silent.getsockname()[1]}/class")


def test_a_transaction_of_somebody_else_is_not_waited_for_without_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = str(database._CONNECTION["options"])
    soon = options.replace(f"lock_timeout={database._LOCK_SECONDS}s", "lock_timeout=200ms")
    monkeypatch.setitem(database._CONNECTION, "options", soon)
    kept = Store(tmp_path, server.url)
    with sql.create_engine(server.url).begin() as other:
        other.exec_driver_sql(f"SELECT pg_advisory_xact_lock({database._WRITERS})")
        with pytest.raises(Refused, match="canceling statement due to lock timeout"):
            kept.keep(BASE)
    kept.keep(BASE)
    assert kept.all() == [BASE]


# ------------------------------------------------------------------ there and back


def history_of(folder: Path) -> list[Entry]:
    ledger = Ledger(folder)
    found = ledger.history("vega", FIRST)
    ledger.close()
    return found


def added(folder: Path, verdict: Graded) -> None:
    kept = Store(folder)
    kept.keep(verdict)
    kept.ledger.close()


def test_a_ledger_goes_to_a_server_and_back_with_all_of_its_history(
    server: Server, tmp_path: Path
) -> None:
    kept = Store(tmp_path)
    kept.keep(BASE)
    kept.keep(replace(BASE, outcome="PASS", points=4, content="cd34", panel="<b>"))
    before = history_of(tmp_path)
    kept.ledger.close()
    assert "/postgres holds 2 verdicts (2 of them" in moved(tmp_path, server.url)
    assert not (tmp_path / database.NAME).exists()
    assert "there already" in moved(tmp_path, server.url)
    assert history_of(tmp_path) == before
    added(tmp_path, replace(BASE, content="ef56"))
    there = history_of(tmp_path)
    assert there[:2] == before
    assert "holds 3 verdicts" in moved(tmp_path, "folder")
    assert "there already" in moved(tmp_path, "folder")
    assert history_of(tmp_path) == there
    server.stop()
    added(tmp_path, replace(BASE, content="gh78"))
    server.start()
    assert "holds 4 verdicts" in (said := moved(tmp_path, server.url))
    assert "(1 of them came now)" in said


def test_a_move_that_is_cut_off_goes_on(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added(tmp_path, BASE)
    for where in (server.url, "folder"):
        with monkeypatch.context() as cut:
            cut.setattr(Path, "replace", lambda *_: exec("raise KeyboardInterrupt"))
            with pytest.raises(KeyboardInterrupt):
                moved(tmp_path, where)
        assert [entry.graded for entry in history_of(tmp_path)] == [BASE]
        assert "holds 1 verdict " in moved(tmp_path, where)
        assert [entry.graded for entry in history_of(tmp_path)] == [BASE]


def test_a_ledger_does_not_go_over_anothers_nor_away_from_under_a_grader(
    server: Server, tmp_path: Path
) -> None:
    Store(tmp_path / "other", server.url).keep(replace(BASE, student="rigel"))
    kept = Store(tmp_path)
    kept.keep(BASE)
    with pytest.raises(Refused, match="holds verdicts that are not these"):
        moved(tmp_path, server.url)
    assert kept.ledger.claim("vega", LESSON)
    with pytest.raises(Refused, match=f"A grader is at work .*process {os.getpid()} on "):
        moved(tmp_path, "postgresql://ada@127.0.0.1:1/class")
    kept.release()
    with pytest.raises(Refused, match="Is the server there"):
        moved(tmp_path, "postgresql://ada@127.0.0.1:1/class")
    assert Store(tmp_path).all() == [BASE]
    assert len(rows_of(server)) == 1


def test_another_server_than_before_is_a_sentence(server: Server, tmp_path: Path) -> None:
    Store(tmp_path, server.url)
    with pytest.raises(Refused, match="Leave --ledger away"):
        Store(tmp_path, "postgresql://ada@127.0.0.1:1/class")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_is_stopped_and_started_in_mid_run_loses_nothing(
    server: Server, tmp_path: Path, how: str
) -> None:
    Store(tmp_path / "out", server.url)
    count = a_class(tmp_path / "in", 12, "slow 0.2")
    words = tmp_path / "in", "--out", tmp_path / "out", "--seed", "value:x"
    graders = [start(*words) for _ in range(2)]
    for most in (5, 20):
        deadline = time.monotonic() + 60
        while len(rows_of(server)) < most and time.monotonic() < deadline:
            time.sleep(0.05)
        server.stop(how)
        time.sleep(1.5)
        server.start()
    for one in graders:
        finished(one, grade.DONE)
    assert Counter(rows_of(server)) == {
        (f"s{number}", exercise): 1 for number in range(12) for exercise in EXERCISES
    }
    assert count == 12 * len(EXERCISES)


@pytest.mark.slow
def test_nbgraders_gradebook_may_be_in_the_same_database(server: Server, tmp_path: Path) -> None:
    from nbgrader.api import Gradebook

    prepare()
    with Gradebook(server.url) as book:
        book.add_assignment(LESSON)
        book.add_notebook(LESSON, LESSON)
        for name in EXERCISES:
            book.add_grade_cell(f"{name}_check", LESSON, LESSON, max_score=4, cell_type="code")
    kept = Store(tmp_path, server.url)
    kept.keep(replace(BASE, outcome="PASS", points=3))
    assert write_scores(server.url, kept.all()) == []
    with Gradebook(server.url) as book:
        assert book.find_submission(LESSON, "vega").score == 3
    assert len(Store(tmp_path).all()) == 1
