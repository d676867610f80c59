"""Behind the wall: what a launch reaches when it gets past admission, and what that comes to.

The launches here are `hostile.Hostile`'s, which does what the first line of the cell says. Each
test of a deed runs behind bubblewrap and behind Landlock, where the machine has them.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import msgspec
import numpy as np
import pytest

import course
from autograder import Refused
from autograder.__main__ import status_of
from autograder.grading import grade, seeds
from autograder.grading.store import Store
from autograder.grading.submissions import Submission
from autograder.hidden import hidden_cases
from autograder.judge import private
from autograder.judge.judge import course_check
from autograder.judge.pool import ENGINE, Limits, Pool, Task
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import lesson_exercises
from autograder.proof.witness import witnesses_of
from autograder.sandbox import doctor, walls, wire
from autograder.sandbox.cost import started
from autograder.sandbox.limits import LARGEST_FILE_BYTES, TMP_BYTES, resident_bytes
from autograder.sandbox.remote import Remote, sandboxed
from autograder.sandbox.walls import Finding, Kind, Wall
from autograder.sandbox.wire import (
    EngineFailed,
    WireError,
    decoded_result,
    decoded_run,
    encoded_ran,
    encoded_run,
)
from autograder.tests import hostile
from autograder.tests.graders import lives
from autograder.tests.notebooks import EXERCISES, cell, notebook
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Ran, Run
from course.engine.runner import run_case
from course.engine.traffic import Site, Traffic
from course.spec.exercise import KernelExercise

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20.0
MEMORY_BYTES = 300 * 2**20


class Runner:
    """A runner of its own, and the judge's end of the talk with it."""

    def __init__(self, kind: Kind, engine: str) -> None:
        self.kind = kind
        self.process, self.connection = started(kind, engine)

    def launch(self, deed: str, seconds: float = SECONDS) -> Ran:
        remote = Remote(self.connection, "deed", seconds, MEMORY_BYTES)
        try:
            return remote(self.run(deed))
        finally:
            self.connection.done()

    @staticmethod
    def run(deed: str) -> Run:
        arguments = {"x": np.arange(6, dtype=np.float32), "n": np.int32(3)}
        return Run(f"# {deed}\n", "k", arguments, (1,), (32,), 0, 100)

    def says(self, deed: str) -> str:
        """What the launch reports of a deed that it lived through."""
        with pytest.raises(KernelFault) as caught:
            self.launch(deed)
        said: str = json.loads(str(caught.value.fields["detail"]))
        return said

    def fault(self, deed: str, seconds: float = SECONDS) -> Fault:
        """What became of a launch that left no result."""
        with pytest.raises(Fault) as caught:
            self.launch(deed, seconds)
        return caught.value


def _kinds() -> list[Kind]:
    landlock = walls.landlock_works().works and walls.seccomp_works().works
    works = {Kind.BUBBLEWRAP: walls.bubblewrap_works().works, Kind.LANDLOCK: landlock}
    return [kind for kind, there in works.items() if there]


@pytest.fixture(scope="module", params=_kinds(), ids=lambda kind: kind.value)
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    started = Runner(request.param, hostile.NAME)
    yield started
    walls.end(started.process)


@pytest.fixture(scope="module")
def engine() -> Iterator[Runner]:
    """The course's own engine, behind the best wall there is."""
    started = Runner(walls.choose(trust=True).kind, ENGINE)
    yield started
    walls.end(started.process)


def test_this_machine_has_a_wall() -> None:
    assert _kinds(), "install bubblewrap: see `python -m autograder doctor`"


def test_an_honest_launch_answers_behind_the_wall(runner: Runner) -> None:
    ran = runner.launch("honest")
    assert ran.arrays["x"].tolist() == [0, 1, 2, 3, 4, 5]
    assert ran.traffic.launches == 1


# ------------------------------------------------------------ what it reaches


def test_no_network(runner: Runner) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert "refused: " in runner.says(f"connect {server.getsockname()[1]}")


def test_no_file_of_another_folder(runner: Runner, tmp_path: Path) -> None:
    sentinel = tmp_path / "another_student.ipynb"
    sentinel.write_text("an answer")
    assert "an answer" not in runner.says(f"read {sentinel}")
    assert "refused: " in runner.says(f"list {tmp_path}")


@pytest.mark.parametrize(
    "path",
    [
        "autograder/hidden/threads.py",
        "autograder/proof/witnesses/threads.cells",
        "solutions/01_threads.py",
    ],
)
def test_no_solution_and_no_hidden_range(runner: Runner, path: str) -> None:
    assert "refused: " in runner.says(f"read {ROOT / path}")


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/hostname", "/proc/1/environ"])
def test_nothing_of_the_machine_but_its_programs(runner: Runner, path: str) -> None:
    assert "refused: " in runner.says(f"read {path}")


def test_no_home(runner: Runner) -> None:
    file = Path("~").expanduser() / ".profile"
    assert "refused: " in runner.says(f"read {file}")


def test_the_course_is_there_to_read(runner: Runner) -> None:
    assert "Outcome" in runner.says(f"read {ROOT / 'course/engine/faults.py'}")


def test_nothing_is_written_but_to_an_own_tmp(runner: Runner, tmp_path: Path) -> None:
    for folder in (tmp_path, ROOT / "course", ROOT, Path("/usr"), Path("/dev/shm"), Path("/")):
        said = runner.says(f"write {folder / 'written_by_a_launch'}")
        # A checkout below /tmp stands in the launch's own /tmp, whose files nobody else sees.
        assert "refused: " in said or folder.is_relative_to("/tmp")
        assert not (folder / "written_by_a_launch").exists()
        assert not (folder / "written_by_a_launch").exists()
    said = runner.says("write /tmp/written_by_a_launch")
    assert said == "written" if runner.kind is Kind.BUBBLEWRAP else "refused: " in said
    assert not Path("/tmp/written_by_a_launch").exists()
    assert "refused: " in runner.says("read /tmp/written_by_a_launch"), "the next launch sees it"


def test_no_environment(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_SECRET", "1")
    other = Runner(runner.kind, hostile.NAME)
    try:
        known = set(other.says("environment").split())
    finally:
        walls.end(other.process)
    assert known <= {
        *("PATH", "PYTHONPATH", "PYTHONSAFEPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE"),
        *("HOME", "LC_ALL", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PWD"),
        *("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"),
    }


@pytest.mark.parametrize("deed", ["fork", "bomb", "run /bin/true", "kill", "trace"])
def test_no_process_is_made_killed_or_traced(runner: Runner, deed: str) -> None:
    assert runner.says(deed) == "refused: Operation not permitted"


def test_a_launch_holds_its_answer_and_nothing_else_open(runner: Runner) -> None:
    assert runner.says("handles") == "0 1 2 3"


def test_no_process_but_its_own_is_seen(runner: Runner) -> None:
    said = runner.says("processes")
    assert said == "2" if runner.kind is Kind.BUBBLEWRAP else "refused: " in said


# ------------------------------------------------------------ what it comes to


def test_a_launch_without_end_is_a_verdict(runner: Runner) -> None:
    fault = runner.fault("spin", seconds=0.3)
    assert fault.message_id == "out_of_time"
    assert "0.3 seconds" in str(fault)


@pytest.mark.parametrize("handle", [1, 2])
def test_words_without_end_go_nowhere(runner: Runner, handle: int) -> None:
    assert runner.fault(f"babble {handle}", seconds=0.3).message_id == "out_of_time"


def test_an_answer_without_end_is_a_verdict(runner: Runner) -> None:
    fault = runner.fault("babble 3")
    assert fault.message_id == "runner_garbage"
    assert "more than 4.0 MB" in str(fault)


def test_a_memory_bomb_is_a_verdict(runner: Runner) -> None:
    assert runner.fault("eat").message_id == "out_of_memory"


def test_an_exit_is_a_verdict_and_no_pass(runner: Runner) -> None:
    assert runner.fault("exit 0").message_id == "runner_garbage"
    assert "status 7" in str(runner.fault("exit 7"))


def test_a_file_without_end_is_cut_off(runner: Runner) -> None:
    said = runner.says("fill /tmp/large")
    refused = "File too large" if runner.kind is Kind.BUBBLEWRAP else "Permission denied"
    assert said == f"refused: {refused}"
    assert LARGEST_FILE_BYTES < TMP_BYTES


def test_the_watcher_counts_memory_that_no_limit_does(runner: Runner) -> None:
    def watched() -> int:
        return resident_bytes(runner.process.pid, Wall(runner.kind).generations)

    _soon(lambda: watched() == 0)
    import threading

    most = [0]
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            most[0] = max(most[0], watched())
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    runner.fault("spin", seconds=0.4)
    done.set()
    watcher.join()
    assert most[0] > 10 * 2**20
    _soon(lambda: watched() == 0)


def _soon(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert holds()


RACE: dict[str, object] = {"outcome": "RACE", "message_id": "tile_race", "line": 1, "fields": {}}
PASSED = {**RACE, "outcome": "PASS", "message_id": "passed"}


def framed(head: object) -> bytes:
    text = msgspec.msgpack.encode(head)
    return len(text).to_bytes(4, "big") + text


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00",
        b"\xff\xff\xff\xff" + b"x" * 50,
        b"\x00\x00\x00\x02{}",
        *(
            framed(head)
            for head in (
                {},
                [],
                {"type": "ran"},
                {"type": "failed", "text": [1]},
                {"type": "fault", "fault": PASSED},
                {"type": "fault", "fault": {**RACE, "line": -1}},
                {"type": "fault", "fault": {**RACE, "line": 1.0}},
                {"type": "fault", "fault": {**RACE, "line": 2**63}},
                {"type": "fault", "fault": {**RACE, "more": 1}},
                {"type": "fault", "fault": {**RACE, "fields": {"array": b"x"}}},
                {"type": "fault", "fault": {**RACE, "fields": {"line": 1}}},
                {
                    "type": "fault",
                    "fault": {**RACE, "fields": {"array": "x" * 20_001}},
                },
            )
        ),
        # lists and objects that say to have four billion entries, and one nested without end
        b"\x00\x00\x00\x05\xdd\xff\xff\xff\xff",
        b"\x00\x00\x00\x05\xdf\xff\xff\xff\xff",
        b"\x00\x01\x00\x00" + b"\x91" * 2**16,
    ],
)
def test_garbage_is_a_verdict(runner: Runner, answer: bytes) -> None:
    fault = runner.fault(f"answer {json.dumps(answer.decode('latin-1'))}")
    assert fault.message_id == "runner_garbage"
    assert str(fault).startswith("A launch of deed answered with what is no result")


@pytest.mark.parametrize("answer", ["", "x", "x" * 100_000, "\x00" * 7 + "\x05\x01half"])
def test_an_answer_in_no_frame_is_a_verdict(runner: Runner, answer: str) -> None:
    assert runner.fault(f"unframed {json.dumps(answer)}").message_id == "runner_garbage"


def test_after_all_that_the_runner_still_serves(runner: Runner) -> None:
    assert runner.launch("honest").traffic.launches == 1


def test_a_runner_dies_with_what_started_it(runner: Runner) -> None:
    program = (
        "import sys, time\n"
        "from autograder.tests.test_sandbox import Runner, Kind, hostile\n"
        f"started = Runner(Kind({runner.kind.value!r}), hostile.NAME)\n"
        "print(started.process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    started = int(parent.stdout.readline())
    family = _family(started)
    assert len(family) >= Wall(runner.kind).generations
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    _soon(lambda: not any(map(lives, family)))


def _family(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    below = [int(word) for word in path.read_text().split()]
    return [process, *(one for child in below for one in _family(child))]


# ------------------------------------------------------------ through the whole grader


KERNELS = [e for e in lesson_exercises("threads") if isinstance(e, KernelExercise)]


def _doing(student: str, deeds: Sequence[str]) -> Task:
    """A notebook of lesson 01 whose kernels do these."""
    honest = "\nfrom numba import cuda\n@cuda.jit\ndef {name}({names}):\n    a = cuda.grid(1)\n"
    cells = []
    for exercise, deed in zip(KERNELS, deeds, strict=True):
        names = ", ".join(parameter.name for parameter in exercise.parameters)
        text = honest.format(name=exercise.name, names=names)
        first = exercise.parameters[-1].name
        out = next(p.name for p in exercise.parameters if getattr(p, "role", None)) or first
        cells.append(cell(f"# {deed}{text}    {out}[0] = 0\n", exercise.name))
    data = json.dumps(notebook(cells)).encode()
    submission = Submission(student, "01_threads", "threads", Path(f"{student}.ipynb"), None)
    return Task(submission, data, [*EXERCISES])


def test_a_notebook_has_one_process_and_the_next_notebook_another() -> None:
    tasks = [_doing(student, ["count"] * len(KERNELS)) for student in ("vega", "mira")]
    with Pool(b"seed", engine=hostile.NAME) as pool:
        answers = [answer.graded for answer in pool.run(tasks)]
    kernels = {exercise.name for exercise in KERNELS}
    said = [row.message for row in answers if row is not None and row.exercise in kernels]
    launches = [f'Python cannot read this line: "{n}".' for n in range(1, len(KERNELS) + 1)]
    assert said == launches * 2


def test_what_keeps_the_runner_from_starting_is_told() -> None:
    with (
        Pool(b"seed", engine="autograder.tests.no_such:Engine") as pool,
        pytest.raises(Refused, match=r"cannot start: ModuleNotFoundError: .*no_such"),
    ):
        list(pool.run([_doing("vega", ["count"] * len(KERNELS))]))


@pytest.mark.slow
def test_every_bomb_ends_in_one_verdict_each() -> None:
    task = _doing("vega", ["spin", "shared", "exit 0", "eat"])
    expected = ["TIMED_OUT", "NOT_MEASURED", "NOT_MEASURED", "NOT_MEASURED"]
    limits = Limits(seconds=3.0, memory_bytes=MEMORY_BYTES)
    with Pool(b"seed", limits=limits, engine=hostile.NAME) as pool:
        answers = [answer.graded for answer in pool.run([task])]
    got = {row.exercise: row for row in answers if row is not None}
    assert len(answers) == len(EXERCISES)
    assert [got[exercise.name].outcome for exercise in KERNELS] == expected
    assert "memory" in got[KERNELS[1].name].message
    assert {row.points for row in got.values()} == {0.0}


@pytest.mark.slow
def test_a_check_behind_the_wall_says_what_the_check_at_home_says(engine: Runner) -> None:
    check = sandboxed(engine.connection, 20.0, 2 * 2**30)
    exercise = lesson_exercises("threads")[0]
    cases = hidden_cases(exercise.name, b"seed")
    outcomes = set()
    for witness in witnesses_of("threads"):
        if witness.exercise == exercise.name and witness.outcome is not Outcome.TIMED_OUT:
            at_home = course_check(exercise, witness.source, cases, 3)
            assert check(exercise, witness.source, cases, 3) == at_home
            outcomes.add(at_home.outcome)
    assert len(outcomes) >= 3


# ------------------------------------------------------------ the wire


def _pitched() -> Run:
    holder = np.arange(24, dtype=np.int16).reshape(4, 6)
    arguments = {"x": holder[:, 1:4], "alpha": np.float32(0.1), "y": np.ones((2, 3), np.float64)}
    return Run("x = 1", "k", arguments, (2, 3), (32,), 16, 99)


def test_arguments_keep_their_place_in_their_allocation() -> None:
    sent = _pitched()
    got = decoded_run(encoded_run(sent))
    x, there = sent.arguments["x"], got.arguments["x"]
    assert there.tolist() == x.tolist()
    assert (there.dtype, there.strides) == (x.dtype, x.strides)
    assert there.ctypes.data - there.base.ctypes.data == 2
    assert got.arguments["alpha"] == np.float32(0.1)
    assert type(got.arguments["alpha"]) is np.float32
    assert (got.grid, got.block, got.shared_bytes, got.step_limit) == ((2, 3), (32,), 16, 99)


def _result() -> bytes:
    run = _pitched()
    traffic = Traffic(
        [Site("x", "load", 3, 4, None, 5, 6, 7, True)],
        {("x", "load"): 64},
        bank_conflicts=2,
        bank_conflict_sites={("tile", 5): 2},
        shared_loads=4,
        shared_uncounted=[7],
        shared_load_sites={6: 4},
        divergent_branches=3,
        divergent_sites={8: 3},
        longest_warp=11,
        lane_work=300,
        busiest_lines={"longest_warp": 8},
        shared_bytes=128,
        launches=1,
    )
    arrays = {n: v for n, v in run.arguments.items() if isinstance(v, np.ndarray)}
    return encoded_ran(Ran(arrays, traffic))


def test_a_result_comes_back_as_it_was() -> None:
    ran = decoded_result(_result(), _pitched())
    assert ran.traffic.sites == [Site("x", "load", 3, 4, None, 5, 6, 7, True)]
    assert ran.traffic.bank_conflict_sites == {("tile", 5): 2}
    assert ran.traffic.divergent_sites == {8: 3}
    assert ran.traffic.longest_warp == 11
    assert ran.arrays["x"].tolist() == _pitched().arguments["x"].tolist()


def test_all_that_is_counted_comes_over_the_wire() -> None:
    counted = {field.name for field in fields(Traffic)} - {"touched"}
    assert set(wire._Traffic.__struct_fields__) == counted
    assert wire._Site.__struct_fields__ == tuple(field.name for field in fields(Site))


def test_more_covered_than_was_asked_for_is_no_result() -> None:
    ran = decoded_result(_result(), _pitched())
    ran.traffic.footprints["x", "load"] = 5 * 32 + 1
    with pytest.raises(WireError, match="more of x is covered than was asked for"):
        decoded_result(encoded_ran(ran), _pitched())


def test_a_result_with_any_byte_changed_is_a_result_or_no_result() -> None:
    whole, run = _result(), _pitched()
    rng = np.random.default_rng(1)
    for _ in range(2000):
        data = bytearray(whole)
        for place in rng.integers(len(data), size=rng.integers(1, 4)):
            data[place] = rng.integers(256)
        cut = data[: rng.integers(len(data) + 1)] if rng.random() < 0.3 else data
        try:
            ran = decoded_result(bytes(cut), run)
        except (WireError, EngineFailed, MemoryError):
            continue
        for site in ran.traffic.sites:
            assert site.sectors >= 0
            assert site.direction in ("load", "store", "atomic")


def test_no_launch_can_say_that_it_passed() -> None:
    for outcome in ("PASS", "TOO_MUCH_TRAFFIC", "NOT_MEASURED"):
        fault = {**PASSED, "outcome": outcome}
        with pytest.raises(WireError, match=f"no launch comes to {outcome}"):
            decoded_result(framed({"type": "fault", "fault": fault}), _pitched())
    with pytest.raises(KernelFault):
        decoded_result(framed({"type": "fault", "fault": RACE}), _pitched())


def test_a_fault_keeps_its_words_over_the_wire(engine: Runner) -> None:
    source = "from numba import cuda\n@cuda.jit\ndef k(x, n):\n    i = cuda.grid(1)\n    x[i] = n\n"
    run = Run(source, "k", {"x": np.zeros(6, np.float32), "n": np.int32(3)}, (1,), (32,), 0, 99)
    with pytest.raises(KernelFault) as here:
        run_case(run)
    with pytest.raises(KernelFault) as there:
        Remote(engine.connection, "k", 10.0, 2 * 2**30)(run)
    assert str(there.value) == str(here.value)
    assert there.value.line == 5


_NOT_RUN = re.compile(
    r'not_measured\(\s*(?:getattr\([^)]*\)|[^,(]+),\s*"(\w+)"(?: if \w+ else "(\w+)")?'
)


def test_what_numbas_engine_does_not_run_is_said_over_the_wire() -> None:
    engine = Path(course.__file__).parent / "engine"
    files = [*(engine / "simt").rglob("*.py"), engine / "cell" / "numba.py"]
    said = {
        name
        for file in files
        for found in _NOT_RUN.findall(file.read_text())
        for name in filter(None, found)
    }
    assert {"numba_has", "numba_compiles", "numba_not_asked", "lock"} <= said
    for name in said:
        fault = {**RACE, "outcome": "NOT_MEASURED", "message_id": name}
        with pytest.raises(KernelFault) as caught:
            decoded_result(framed({"type": "fault", "fault": fault}), _pitched())
        assert caught.value.message_id == name


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cuda.nanosleep(9)", "Numba compiles `cuda.nanosleep`, and it is not run here"),
        ("x[0] = (1, 2) and 3; x.nbytes", "Whether Numba compiles it was not found out"),
    ],
)
def test_a_cell_that_the_engine_does_not_run_is_told_so_behind_the_wall(
    engine: Runner, line: str, said: str
) -> None:
    source = f"from numba import cuda\n@cuda.jit\ndef k(x, n):\n    i = cuda.grid(1)\n    {line}\n"
    run = Run(source, "k", {"x": np.zeros(6, np.float32), "n": np.int32(3)}, (1,), (1,), 0, 99)
    with pytest.raises(KernelFault) as caught:
        Remote(engine.connection, "k", 10.0, 2 * 2**30)(run)
    assert caught.value.outcome is Outcome.NOT_MEASURED
    assert said in str(caught.value)


# ------------------------------------------------------------ choosing, doctor, init


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Finding(False, "it was taken away by a test")
    monkeypatch.setattr(walls, "bubblewrap_works", lambda: missing)
    monkeypatch.setattr(walls, "landlock_works", lambda: missing)


@pytest.mark.usefixtures("bare_machine")
def test_without_a_wall_grade_refuses_and_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    grade.add_arguments(parser)
    words = [str(tmp_path), "--out", str(tmp_path / "out")]
    assert status_of(grade.main, parser.parse_args(words)) == grade.CANNOT
    said = capsys.readouterr().err
    assert "autograder doctor" in said
    assert "--trust" in said
    assert walls.choose(trust=True).kind is Kind.NONE
    with pytest.raises(Refused):
        walls.choose()


def test_without_bubblewrap_landlock_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls, "bubblewrap_works", lambda: Finding(False, "gone"))
    monkeypatch.setattr(walls, "landlock_works", lambda: Finding(True))
    monkeypatch.setattr(walls, "seccomp_works", lambda: Finding(True))
    assert walls.choose().kind is Kind.LANDLOCK


@pytest.mark.usefixtures("bare_machine")
def test_the_doctor_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(argparse.Namespace()) == 1
    said = capsys.readouterr().out
    assert "no  bubblewrap: it was taken away by a test" in said
    assert "`grade` will refuse to run" in said


def test_the_doctor_says_what_grade_will_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(argparse.Namespace()) == 0
    assert "`grade` and `nbgrader autograde` will use" in capsys.readouterr().out


def test_the_doctor_says_where_tritons_counts_are_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    canary = pytest.importorskip("course.engine.triton.canary")
    assert doctor.main(argparse.Namespace()) == 0
    assert "ok  Triton lessons: can be judged" in capsys.readouterr().out
    monkeypatch.setattr(canary, "counts_are_right", lambda: False)
    assert doctor.main(argparse.Namespace()) == 0
    said = capsys.readouterr().out
    assert "no  Triton lessons: their exercises get NOT_MEASURED. A kernel whose counts" in said
    assert "Install a version that the course names" in said


def test_a_process_that_is_not_behind_bubblewrap_does_not_act_as_if() -> None:
    with pytest.raises(Refused):
        walls.close_in(Kind.BUBBLEWRAP)


def test_init_makes_a_seed_for_its_owner_that_grade_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    before = Store(tmp_path / "begun").seed()
    assert private.main(argparse.Namespace(folder=None)) == 0
    folder = private.default_folder()
    assert stat.S_IMODE((folder / "seed").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    seed = private.read(folder)
    assert len(seed) == 64
    assert private.main(argparse.Namespace(folder=None)) == 0
    assert private.read(folder) == seed
    assert seeds.chosen_seed(None, Store(tmp_path / "out")) == seed
    assert seeds.chosen_seed(str(folder), Store(tmp_path / "out")) == seed
    assert seeds.chosen_seed(None, Store(tmp_path / "begun")) == before


def test_a_seed_that_others_can_read_is_refused(tmp_path: Path) -> None:
    private.make(tmp_path / "mine")
    (tmp_path / "mine/seed").chmod(0o644)
    for place in ("mine", "mine/seed"):
        with pytest.raises(seeds.UsageError, match="chmod 600"):
            seeds.read_seed(str(tmp_path / place))


@pytest.mark.parametrize(
    ("folder", "words"),
    [("file", "file is a file. Choose another"), ("file/mine", "Cannot write to .*Not a dir")],
)
def test_init_does_not_send_in_a_circle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str, words: str
) -> None:
    (tmp_path / "file").touch()
    assert status_of(private.main, argparse.Namespace(folder=tmp_path / folder)) == 2
    assert re.search(words, capsys.readouterr().err)


def test_init_that_was_stopped_goes_on_where_it_is_called_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    whole = {"README.md", "settings.toml", "hidden", "exercises", "seed"}
    for step in ("write", "fsync", "mkdir"):
        place = tmp_path / step
        with monkeypatch.context() as patch:
            place.mkdir()
            patch.setattr(os, step, full)
            with pytest.raises(Refused, match="No space left"):
                private.make(place)
        assert private.make(place)
        assert {path.name for path in place.iterdir()} == whole
        assert all(path.is_dir() or path.stat().st_size for path in place.iterdir())


def test_init_in_a_home_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = argparse.Namespace(folder=Path("~nobody-of-this-name/mine"))
    assert status_of(private.main, nowhere) == 2
    assert "there is no such home folder" in capsys.readouterr().err


def test_no_seed_in_the_repository() -> None:
    with pytest.raises(Refused, match="published"):
        private.make(ROOT / "private")
