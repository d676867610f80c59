"""The ledger: it only grows, loses nothing, and says who judged what, when and instead of what."""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql

from autograder import Refused
from autograder import __main__ as command_line
from autograder.grading import database, grade, judging, store, waiting
from autograder.grading.database import NAME
from autograder.grading.ledger import Ledger
from autograder.grading.store import Store
from autograder.grading.submissions import Submission
from autograder.judge import judge, overlay
from autograder.judge.judge import Graded
from autograder.tests.graders import finished, start
from autograder.tests.notebooks import EXERCISES, LESSON, put, solved
from autograder.tests.small_course import REPOSITORY
from autograder.tests.test_grade import run, wait_for_a_claim

FIRST, SECOND = EXERCISES[:2]
BASE = Graded("vega", LESSON, FIRST, "RACE", 0, 4, message="Two threads.", content="ab12")


def test_a_row_says_when_where_on_what_and_what_it_replaces(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.keep(BASE)
    kept.keep(replace(BASE, exercise=SECOND))
    kept.keep(replace(BASE, outcome="PASS", points=4, content="cd34"))
    first, second = Ledger(tmp_path).history("vega", FIRST)
    assert (first.replaces, second.replaces) == (None, first.id)
    assert (first.submission, second.submission) == ("ab12", "cd34")
    assert first.lesson == judge.lesson_version("threads")
    assert first.course == judge.course_version()
    assert first.host
    assert first.time <= second.time
    assert first.graded == BASE
    assert [row.outcome for row in kept.all()] == ["PASS", "RACE"]


@pytest.mark.parametrize("change", ["DELETE FROM verdicts", "UPDATE verdicts SET time = 'x'"])
def test_the_database_itself_refuses_to_change_a_row(tmp_path: Path, change: str) -> None:
    Store(tmp_path).keep(BASE)
    with sqlite3.connect(tmp_path / NAME) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute(change)
    assert Store(tmp_path).all() == [BASE]


def test_each_verdict_is_on_the_disk_before_it_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with ledger._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"


def test_what_is_withdrawn_stays_in_the_history(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.keep(replace(BASE, notebook="homework", exercise=""))
    kept.keep(replace(BASE, notebook="other", exercise=""))
    kept.forget_unnamed("vega", but=["other"])
    assert [row.notebook for row in kept.all()] == ["other"]
    told = Ledger(tmp_path).history("vega", "")
    assert [entry.graded and entry.graded.notebook for entry in told] == ["homework", "other", None]
    kept.forget_unnamed("vega", but=["other"])
    assert len(Ledger(tmp_path).history("vega", "")) == 3


def later(ledger: bytes) -> bytes:
    """Of version 2: a header's number."""
    return ledger[:60] + (2).to_bytes(4, "big") + ledger[64:]


def changed(ledger: bytes, statement: str) -> bytes:
    """As SQLite leaves it after a statement of something else."""
    with closing(sqlite3.connect(":memory:")) as database:
        if ledger:
            database.deserialize(ledger[:18] + b"\1\1" + ledger[20:])  # in memory there is no log
        database.execute(statement)
        database.commit()
        made = database.serialize()
        return made[:18] + b"\2\2" + made[20:]


@pytest.mark.parametrize("command", ["grade", "grades", "history", "ledger"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda ledger: b"no database " * 1000,
            "is damaged: file is not a database. Put your copy",
        ),
        (lambda ledger: ledger[: len(ledger) // 2], "is damaged: database disk image is malformed"),
        (lambda ledger: ledger[:4096] + b"?" * 4096 + ledger[8192:], "is damaged: database disk"),
        (later, "a ledger of version 2, and this grader knows 1. Grade with the version that"),
        (lambda ledger: b"", "its ledger is gone: there is none in ledger.db. Put your copy of it"),
        (None, "its ledger is gone: there is none in ledger.db. Put your copy of it back"),
        (
            lambda ledger: changed(b"", "CREATE TABLE verdicts (a)"),
            "its ledger is gone: there is none in ledger.db. Put your copy of it back",
        ),
        (
            lambda ledger: changed(changed(b"", "CREATE TABLE t (a)"), "PRAGMA user_version = 1"),
            "is the database of something else, and no ledger",
        ),
    ],
    ids=[
        *("garbage", "half", "a page of garbage", "later", "empty", "deleted", "foreign"),
        "foreign of version 1",
    ],
)
def test_a_ledger_that_cannot_be_used_is_a_sentence_and_left_as_it_is(
    command: str,
    change: Callable[[bytes], bytes] | None,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    kept = Store(tmp_path / "out")
    kept.seed()
    kept.keep(BASE)
    judging.summarise(kept, "seed")
    kept.ledger.close()
    file, summary = tmp_path / "out" / NAME, tmp_path / "out/verdicts.json"
    before = summary.read_bytes()
    data = None if change is None else change(file.read_bytes())
    file.unlink() if data is None else file.write_bytes(data)
    capsys.readouterr()
    lines = {
        "grade": ["grade", tmp_path / "in", "--out", tmp_path / "out"],
        "grades": ["grades", "students", "--from", tmp_path / "out"],
        "history": ["history", "vega", FIRST, "--from", tmp_path / "out"],
        "ledger": ["ledger", "folder", "--from", tmp_path / "out"],
    }
    assert command_line.main([str(word) for word in lines[command]]) == 2
    said = capsys.readouterr().err
    if not (command == "ledger" and data is None):
        assert words in said
    assert "Traceback" not in said
    assert summary.read_bytes() == before
    assert file.exists() == (data is not None)
    if data:
        assert file.read_bytes() == data


@pytest.mark.parametrize("later", [False, True], ids=["of something else", "of a later version"])
def test_a_row_that_something_else_wrote_is_a_sentence(tmp_path: Path, later: bool) -> None:
    kept = Store(tmp_path)
    kept.keep(BASE)
    kept.ledger.close()
    with closing(sqlite3.connect(tmp_path / NAME)) as database:
        columns = "time, host, course, lesson, submission, student, notebook, exercise, replaces"
        written = f"INSERT INTO verdicts SELECT 9, {columns}, ?, '', '' FROM verdicts"
        [[known]] = database.execute("SELECT verdict FROM verdicts")
        database.execute(written, [known.replace("RACE", "RARE") if later else "{}"])
        database.commit()
    with pytest.raises(Refused, match="Row 9 of the ledger holds no verdict"):
        Store(tmp_path).all()


@pytest.mark.parametrize("other", [False, True], ids=["removed", "replaced"])
def test_what_goes_to_a_ledger_that_nobody_finds_is_not_said_to_be_kept(
    tmp_path: Path, other: bool
) -> None:
    kept = Store(tmp_path / "out")
    kept.keep(BASE)
    (tmp_path / "out" / NAME).unlink()
    if other:
        Store(tmp_path / "other").ledger.close()
        (tmp_path / "other" / NAME).rename(tmp_path / "out" / NAME)
    for _ in range(2):
        with pytest.raises(Refused, match="was removed or replaced while this grader was at"):
            kept.keep(replace(BASE, exercise=SECOND))


@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_log_that_is_removed_while_a_grader_is_at_work_is_told_and_nothing_is_lost(
    tmp_path: Path, end: str
) -> None:
    kept = Store(tmp_path)
    kept.keep(BASE)
    (tmp_path / f"{NAME}{end}").unlink()
    for told in (f"{NAME}{end} was removed .* Run the same command", "Nothing more is entered"):
        with pytest.raises(Refused, match=told):
            kept.keep(replace(BASE, exercise=SECOND))
    # from the file alone, as whoever comes after a crash finds it
    copied = tmp_path / "copy"
    copied.mkdir()
    (copied / NAME).write_bytes((tmp_path / NAME).read_bytes())
    assert list(Store(copied).all()) == [BASE]


def test_ctrl_c_in_the_middle_of_an_entry_is_no_log_that_was_removed(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    kept.keep(BASE)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    sql.event.listen(kept.ledger._engine, "do_execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept.keep(replace(BASE, exercise=SECOND))
    sql.event.remove(kept.ledger._engine, "do_execute", interrupted)
    kept.keep(replace(BASE, outcome="PASS", points=4))
    assert [row.outcome for row in kept.all()] == ["PASS"]
    kept.ledger.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME]


def test_a_seed_that_a_stopped_machine_left_empty_is_no_seed(tmp_path: Path) -> None:
    (tmp_path / ".seed").write_bytes(b"\n")
    with pytest.raises(Refused, match=r"\.seed is empty"):
        Store(tmp_path).seed()


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from autograder.grading.store import Store
from autograder.grading.submissions import Submission
from autograder.tests.test_ledger import BASE
kept = Store(Path(sys.argv[1]))
kept.claim(Submission("vega", "01_threads", "threads", Path("x")))
for number in range(10**6):
    kept.keep(replace(BASE, student=f"{sys.argv[2]}{number}", panel="x" * 5000))
    print(number, flush=True)
"""


def writer(out: Path, name: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(out), name],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_kill_9_at_random_loses_nothing_that_two_runs_were_told_is_kept(tmp_path: Path) -> None:
    draws = random.Random(7)
    for turn in range(5):
        writers = [writer(tmp_path, f"{turn}{name}") for name in "ab"]
        for one in writers:
            assert one.stdout is not None
            one.stdout.readline()
        time.sleep(draws.uniform(0.0, 0.4))
        for one in writers:
            os.kill(one.pid, signal.SIGKILL)
        told = [0 + len(one.communicate()[0].splitlines()) for one in writers]
        held = {row.student for row in Store(tmp_path).all()}
        for name, count in zip("ab", told, strict=True):
            assert {f"{turn}{name}{number}" for number in range(count)} <= held
    with sqlite3.connect(tmp_path / NAME) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_what_a_run_has_claimed_is_free_when_it_is_killed_or_done(tmp_path: Path) -> None:
    one = Submission("vega", LESSON, "threads", Path("x"))
    alive = writer(tmp_path, "a")
    try:
        assert alive.stdout is not None
        alive.stdout.readline()
        mine = Store(tmp_path)
        assert not mine.claim(one)
        assert mine.claim(replace(one, student="rigel"))
    finally:
        os.kill(alive.pid, signal.SIGKILL)
        alive.wait()
    assert mine.claim(one)
    assert mine.claim(one)
    other = Store(tmp_path)
    assert not other.claim(one)
    mine.release()
    assert other.claim(one)
    other.release()
    assert not list((tmp_path / ".runs").iterdir())


@pytest.mark.slow
def test_who_waits_for_another_grader_says_for_whom_and_how_long(tmp_path: Path) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved({FIRST: "slow 8"}))
    words = tmp_path / "in", "--out", tmp_path / "out", "--seed", "value:x"
    first = start(*words)
    wait_for_a_claim(tmp_path / "out")
    said = finished(start(*words))
    assert f"1 notebook that another grader is at work on (process {first.pid} on " in said
    assert re.search(r"Waiting for .*: 5 s so far\.\nWaited \d+ s; going on\.", said)
    finished(first)


def test_a_ledger_that_another_program_holds_is_a_sentence_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PATIENCE_SECONDS", 0)
    kept = Store(tmp_path)
    with closing(sqlite3.connect(tmp_path / NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Refused, match=r"database is locked.* Another program has ledger.db"):
            kept.keep(BASE)
    kept.keep(BASE)
    assert kept.all() == [BASE]


def test_who_waits_for_anothers_reports_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "_FIRST_SECONDS", 0)
    first, second = Store(tmp_path), Store(tmp_path)
    with ExitStack() as until:
        until.enter_context(first.summarising())
        monkeypatch.setattr(store.time, "sleep", lambda _: until.close())
        with second.summarising():
            pass
    assert "Waiting for another grader, which writes what comes of" in capsys.readouterr().err


# ------------------------------------------------------------------ what a lesson's verdict needs


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Writes a file of a small course whose versions are asked for, in the place of this one's."""
    for name in ("course/exercises/threads.py", "course/exercises/matmul.py", "course/engine/x.py"):
        put(tmp_path / name, b"")
    for name in ("hidden/threads.py", "hidden/matmul.py", "judge/judge.py"):
        put(tmp_path / "autograder" / name, b"")
    put(tmp_path / "autograder/grading/submissions.py", b"")
    monkeypatch.setattr(judge.course, "__file__", str(tmp_path / "course/__init__.py"))
    monkeypatch.setattr(judge.hidden, "__file__", str(tmp_path / "autograder/hidden/__init__.py"))
    monkeypatch.setattr(judge, "__file__", str(tmp_path / "autograder/judge/judge.py"))

    def write(name: str, text: str) -> None:
        (tmp_path / name).write_text(text)
        judge.lesson_version.cache_clear()

    judge.lesson_version.cache_clear()
    yield write  # type: ignore[misc]
    judge.lesson_version.cache_clear()


@pytest.mark.parametrize(
    ("name", "threads", "matmul"),
    [
        ("course/exercises/matmul.py", False, True),
        ("autograder/hidden/matmul.py", False, True),
        ("course/exercises/threads.py", True, False),
        ("course/engine/x.py", True, True),
        ("autograder/judge/judge.py", True, True),
        ("autograder/grading/submissions.py", True, True),
    ],
)
def test_an_edit_of_one_lesson_leaves_the_others_verdicts_valid(
    files: Callable[[str, str], None], name: str, threads: bool, matmul: bool
) -> None:
    before = judge.lesson_version("threads"), judge.lesson_version("matmul")
    files(name, "# edited")
    after = judge.lesson_version("threads"), judge.lesson_version("matmul")
    assert (before[0] != after[0], before[1] != after[1]) == (threads, matmul)


@pytest.mark.parametrize(
    "text",
    [
        "from course.exercises.threads import SIZE",
        "from course.exercises import threads",
        "from course import exercises\nx = exercises.threads.SIZE",
        "from autograder.hidden.threads import RANGES",
    ],
)
def test_a_lesson_that_uses_another_goes_with_it(
    files: Callable[[str, str], None], text: str
) -> None:
    files("course/exercises/matmul.py", text)
    before = judge.lesson_version("matmul")
    files("course/exercises/threads.py", "SIZE = 4")
    assert judge.lesson_version("matmul") != before


def test_a_private_folder_changes_the_lesson_that_it_names_alone(tmp_path: Path) -> None:
    put(tmp_path / "settings.toml", b"[points]\nvector_add = 7\n")
    plain = {stem: overlay.Overlay().digest(stem) for stem in ("threads", "matmul")}
    changed = overlay.Overlay(tmp_path, points={"vector_add": 7.0})
    assert changed.digest("threads") != plain["threads"]
    assert changed.digest("matmul") == plain["matmul"]


# ---------------------------------------------------------------- what an appeal and a regrade ask


def test_history_tells_each_verdict_and_what_it_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Store(tmp_path)
    kept.keep(replace(BASE, late=True, handed_in="2026-11-02 10:00"))
    kept.keep(replace(BASE, content="cd34"))
    kept.keep(replace(BASE, content="cd34", outcome="PASS", points=4, text="Right.\x1b[31m\n9 KB"))
    assert command_line.main(["history", "VEGA", FIRST, "--from", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"vega, {FIRST}: 3 verdicts, the last one holds" in said
    for words in ("RACE  0 of 4 points", "Two threads.", ", late, handed in 2026-11-02 10:00;"):
        assert words in said
    assert "SHA-256 ab12" in said
    assert "no. 2 " in said
    assert "in the place of no. 1: another notebook\n" in said
    assert "in the place of no. 2: the same notebook, graded with --regrade" in said
    assert "  | Right.\N{REPLACEMENT CHARACTER}[31m\n  | 9 KB\n" in said
    assert "`sha256sum FILE`" in said


def test_history_of_a_student_is_what_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Store(tmp_path)
    kept.keep(replace(BASE, exercise=SECOND))
    kept.keep(replace(BASE, outcome="PASS", points=4))
    assert command_line.main(["history", "vega", "--from", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "vega: 2 verdicts hold",
        f"  {LESSON}  {FIRST}: PASS, 4 of 4 points",
        f"  {LESSON}  {SECOND}: RACE, 0 of 4 points",
    ]


@pytest.mark.parametrize("killed", [False, True])
def test_history_and_grades_read_a_folder_in_which_nothing_may_be_written(
    tmp_path: Path, killed: bool
) -> None:
    kept = Store(tmp_path / "class")
    kept.keep(BASE)
    if not killed:
        kept.ledger.close()
    folder = shutil.copytree(tmp_path / "class", tmp_path / "copy #1?")
    assert (folder / f"{NAME}-wal").exists() is killed
    folder.chmod(0o555)
    before = folder.stat().st_mtime_ns, sorted(folder.iterdir())
    assert command_line.main(["history", "vega", "--from", str(folder)]) == 0
    to = tmp_path / "grades.csv"
    words = ["grades", "students", "--from", str(folder), "--to", str(to)]
    assert command_line.main(words) == 0
    assert '"vega"' in to.read_text()
    assert (folder.stat().st_mtime_ns, sorted(folder.iterdir())) == before
    folder.chmod(0o755)
    kept.ledger.close()


def test_history_reads_a_copy_without_what_sqlite_makes_anew_and_says_where_there_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Store(tmp_path / "class")
    kept.keep(BASE)
    for name in (NAME, f"{NAME}-wal"):
        (tmp_path / "copy").mkdir(exist_ok=True)
        shutil.copy(tmp_path / "class" / name, tmp_path / "copy" / name)
    kept.ledger.close()
    assert command_line.main(["history", "vega", "--from", str(tmp_path / "copy")]) == 0
    assert "1 verdict holds" in capsys.readouterr().out
    put(tmp_path / "begun" / NAME, b"")
    assert command_line.main(["history", "vega", "--from", str(tmp_path / "begun")]) == 2
    assert f"{NAME} holds no verdict yet. Run `grade` first." in capsys.readouterr().err


def test_history_of_who_has_no_exercise_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Store(tmp_path).keep(replace(BASE, notebook="", exercise=""))
    assert command_line.main(["history", "vega", FIRST, "--from", str(tmp_path)]) == 2
    assert f"no verdict on {FIRST!r}. Leave it away: see what" in capsys.readouterr().err
    assert command_line.main(["history", "vega", "--from", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("vega: 1 verdict holds\n")


def test_history_of_two_who_look_alike_is_that_of_the_one_who_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Store(tmp_path)
    for name in ("vega", "v\u0435ga"):  # the second with a Cyrillic e
        kept.keep(replace(BASE, student=name, content=name))
    assert command_line.main(["history", "vega", FIRST, "--from", str(tmp_path)]) == 0
    assert "SHA-256 vega" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("vegaa", FIRST), "has no student vegaa. Did you mean vega?"),
        (("vega", "no_such"), f"vega has no verdict on 'no_such'. There are: {FIRST}."),
        (("vega", FIRST[:-1]), f"Did you mean {FIRST}?"),
    ],
)
def test_history_of_nobody_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, str], said: str
) -> None:
    Store(tmp_path).keep(BASE)
    assert command_line.main(["history", *words, "--from", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_a_dry_run_lists_who_gains_and_who_loses_and_keeps_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved({FIRST: "RACE"}))
    put(tmp_path / "in/rigel_01_threads.ipynb", solved())
    command = tmp_path / "in", "--out", tmp_path / "out"
    run(*command)
    wrong = {FIRST: "PASS", SECOND: "WRONG_ANSWER", EXERCISES[2]: "WRONG_ANSWER"}
    put(tmp_path / "in/vega_01_threads.ipynb", solved(wrong))
    put(tmp_path / "in/deneb_01_threads.ipynb", solved())
    (tmp_path / "in/rigel_01_threads.ipynb").unlink()
    before = {e.id for e in Ledger(tmp_path / "out").latest()}
    report = (tmp_path / "out/report.html").read_bytes()
    capsys.readouterr()
    assert run(*command, "--regrade", "--dry-run") == grade.DONE
    first, loses, *others, left = capsys.readouterr().out.splitlines()
    assert first == (
        f"{2 * len(EXERCISES)} verdicts judged again, none kept. Of 2 notebooks 0 would gain "
        "points, 1 would lose some, 1 would be graded for the first time."
    )
    assert loses == f"-4  vega  {LESSON}: 18 -> 14 of 22 (handed in again since)"
    assert others[:2] == [
        f"      {FIRST}: RACE 0 -> PASS 4",
        f"      {SECOND}: PASS 4 -> WRONG_ANSWER 0",
    ]
    assert others[3] == f"+22  deneb  {LESSON}: 22 of 22 (not graded so far)"
    assert left == "With verdicts, and without work here to compare: rigel."
    assert {e.id for e in Ledger(tmp_path / "out").latest()} == before
    assert (tmp_path / "out/report.html").read_bytes() == report


def test_a_dry_run_of_nothing_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    command = tmp_path / "in", "--out", tmp_path / "out", "--dry-run"
    assert run(*command) == grade.CANNOT
    assert "give both" in capsys.readouterr().err
    assert run(*command, "--regrade") == grade.CANNOT
    (tmp_path / "out").mkdir()
    assert run(*command, "--regrade") == grade.CANNOT
    assert capsys.readouterr().err.count("no verdict to compare with") == 2
    assert not any((tmp_path / "out").iterdir())


def test_every_row_of_the_ledger_is_readable_by_any_tool(tmp_path: Path) -> None:
    Store(tmp_path).keep(BASE)
    engine = sql.create_engine(f"sqlite:///{tmp_path / NAME}")
    with engine.connect() as connection:
        [row] = connection.exec_driver_sql("SELECT student, exercise, verdict FROM verdicts")
    assert tuple(row)[:2] == ("vega", FIRST)
    assert json.loads(row[2])["outcome"] == "RACE"
