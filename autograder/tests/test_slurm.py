"""`grade --slurm` with stand-ins for Slurm's commands, for which a job is a process here."""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import __main__ as command_line
from autograder.grading import grade
from autograder.tests.graders import a_class, finished, lives, start
from autograder.tests.notebooks import put, solved
from autograder.tests.test_grade import one_each, wait_for

pytest.importorskip("dask_jobqueue", reason="no dask-jobqueue here: pip install '.[slurm]'")
SETTINGS = """
jobs = 2
cores = 1
memory = "2 GB"
time = "00:10:00"
queue = "short"
account = "course"
directives = ["--qos=low"]
"""
COMMANDS = {
    "sbatch": """
        if [ -e refuse ]; then echo 'sbatch: error: invalid partition: short' >&2; exit 1; fi
        number=1; until mkdir $number 2>/dev/null; do number=$((number + 1)); done
        cp "$1" $number/script
        if [ ! -e full ]; then
            setsid bash $number/script >$number/said 2>&1 </dev/null & echo $! >$number/process
        fi
        echo Submitted batch job $number
    """,
    "squeue": """
        for number in $(echo "$3" | tr , ' '); do
            if [ ! -e $number/process ]; then echo $number PENDING Resources
            elif grep -qs '^State:.[^Z]' /proc/$(cat $number/process)/status; then
                echo $number RUNNING None
            fi
        done
    """,
    "scancel": "kill -- -$(cat $1/process); echo $1 >>cancelled",
}


class Slurm:
    """What the stand-ins keep: a folder a job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def running(self) -> list[int]:
        found = [int(path.read_text()) for path in self.folder.glob("*/process")]
        return [process for process in found if lives(process)]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    found = Slurm(tmp_path / "slurm")
    (tmp_path / "bin").mkdir()
    found.folder.mkdir()
    for name, text in COMMANDS.items():
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/bash\ncd {found.folder}\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "slurm.toml").write_text(SETTINGS)
    assert command_line.main(["cluster", "certificates", str(tmp_path / "tls")]) == 0
    yield found
    for process in found.running():
        os.killpg(process, signal.SIGKILL)


def words(tmp_path: Path) -> list[object]:
    where = "--slurm", tmp_path / "slurm.toml", "--tls", tmp_path / "tls"
    return [tmp_path / "in", "--out", tmp_path / "out", "--seed", "value:x", *where]


def gone(slurm: Slurm) -> bool:
    deadline = time.monotonic() + 20
    while slurm.running() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not slurm.running()


@pytest.mark.slow
def test_a_class_is_judged_in_jobs_of_which_one_dies_and_none_is_left(
    slurm: Slurm, tmp_path: Path
) -> None:
    count = a_class(tmp_path / "in", 12, "slow 0.3")
    grader = start(*words(tmp_path))
    wait_for(6, tmp_path / "out")
    os.killpg(slurm.running()[0], signal.SIGKILL)
    finished(grader)
    assert one_each(tmp_path / "out", count) == {"PASS": count}
    assert gone(slurm)
    script = (slurm.folder / "1" / "script").read_text()
    for line in ("-p short", "-A course", "-t 00:10:00", "--cpus-per-task=1", "--qos=low"):
        assert f"#SBATCH {line}" in script
    assert "tls://" in script


@pytest.mark.slow
def test_jobs_that_have_all_ended_are_a_sentence_and_the_same_command_goes_on(
    slurm: Slurm, tmp_path: Path
) -> None:
    count = a_class(tmp_path / "in", 6, "slow 0.5")
    grader = start(*words(tmp_path))
    wait_for(2, tmp_path / "out")
    for process in slurm.running():
        os.killpg(process, signal.SIGKILL)
    said = finished(grader, grade.CANNOT)
    assert re.search(r"All Slurm jobs \(\d, \d\) have ended", said)
    assert "the same command goes on" in said
    finished(start(*words(tmp_path)))
    assert one_each(tmp_path / "out", count) == {"PASS": count}


@pytest.mark.slow
def test_jobs_that_never_start_are_a_sentence_with_squeues_word(
    slurm: Slurm, tmp_path: Path
) -> None:
    a_class(tmp_path / "in", 2)
    (slurm.folder / "full").touch()
    (tmp_path / "slurm.toml").write_text(f"{SETTINGS}wait_minutes = 0.05")
    said = finished(start(*words(tmp_path)), grade.CANNOT)
    assert "No Slurm job has run for 0.05 minutes (wait_minutes). squeue says: " in said
    assert "1 PENDING Resources" in said


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_jobs_that_wait_are_cancelled_where_the_grader_or_its_terminal_ends(
    slurm: Slurm, tmp_path: Path, how: signal.Signals
) -> None:
    a_class(tmp_path / "in", 2)
    (slurm.folder / "full").touch()
    grader = start(*words(tmp_path))
    deadline = time.monotonic() + 60
    while len(list(slurm.folder.glob("*/script"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    os.kill(grader.pid, how)
    assert "Stopped. All is kept" in finished(grader, grade.INTERRUPTED)
    assert set((slurm.folder / "cancelled").read_text().split()) == {"1", "2"}


def test_what_sbatch_refuses_is_a_sentence_with_its_reason(slurm: Slurm, tmp_path: Path) -> None:
    a_class(tmp_path / "in", 2)
    (slurm.folder / "refuse").touch()
    said = finished(start(*words(tmp_path)), grade.CANNOT)
    assert "sbatch took no job: sbatch: error: invalid partition: short." in said


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("dask_jobqueue", "--slurm needs dask_jobqueue: .venv/bin/python -m pip install"),
        ("sbatch", "There is no sbatch here"),
        ("--tls", "--slurm needs --tls DIR"),
    ],
)
def test_what_is_missing_is_a_sentence(
    what: str,
    said: str,
    slurm: Slurm,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    if what == "dask_jobqueue":
        monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    if what == "sbatch":
        (tmp_path / "bin/sbatch").unlink()
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # this machine may have one
    command = words(tmp_path)[: -2 if what == "--tls" else None]
    assert command_line.main(["grade", *map(str, command)]) == grade.CANNOT
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read: No such file"),
        ("jobs = ", "cannot be read"),
        ("jobs = 1\ncores = 2", "there is no memory and no time"),
        (f"{SETTINGS}partition = 'x'", "there is no setting 'partition'. There are: jobs, cores"),
        (SETTINGS.replace("jobs = 2", "jobs = 0"), "a whole number above 0 for jobs, got 0"),
        (SETTINGS.replace("jobs = 2", "jobs = true"), "a whole number above 0 for jobs"),
        (SETTINGS.replace('"00:10:00"', "10:00:00"), "a text for time, got"),
        (SETTINGS.replace("2 GB", "much"), "cannot start here"),
        (f"{SETTINGS}interface = 'no0'", "cannot start here"),
    ],
)
def test_settings_that_cannot_be_are_sentences(
    text: str | None,
    said: str,
    slurm: Slurm,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    file = tmp_path / "slurm.toml"
    file.unlink() if text is None else file.write_text(text)
    assert command_line.main(["grade", *map(str, words(tmp_path))]) == grade.CANNOT
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
