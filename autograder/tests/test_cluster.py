"""A class judged by a Dask cluster: one verdict each, whoever is killed meanwhile."""

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder import Refused
from autograder import __main__ as command_line
from autograder.grading import cluster, grade
from autograder.grading.submissions import Submission
from autograder.judge.pool import Limits, Task
from autograder.sandbox.limits import children
from autograder.tests import fakes
from autograder.tests.graders import a_class, cells, finished, start
from autograder.tests.notebooks import EXERCISES, put, solved
from autograder.tests.small_course import REPOSITORY
from autograder.tests.test_grade import entered, one_each, wait_for

pytest.importorskip("distributed", reason="no Dask here: pip install '.[cluster]'")
FIRST = EXERCISES[0]
#: In a worker, from its start: what a grader of another course, or a machine that breaks, is.
OTHER_COURSE = "import autograder.grading.cluster_worker as w\nw.course_version = lambda: 'older'\n"
NO_SANDBOX = (
    "from autograder.sandbox import walls\nfrom autograder.sandbox.finding import Finding\n"
    "walls.bubblewrap_works = walls.landlock_works = lambda: Finding(False, 'none here')\n"
)
BREAKS = (
    "import os\nimport autograder.grading.cluster_worker as w\n"
    "before = w.before = getattr(w, 'before', w._pool)\n"  # Dask may load this twice
    "def _pool(work):\n"
    "    if b'poison' in work.data:\n"
    "        print('one', file=open('DEATHS', 'a'), flush=True)\n"
    "        os._exit(1)\n"
    "    return before(work)\n"
    "w._pool = _pool\n"
)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Machines:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", tls: Path | None = None) -> None:
        self.folder = folder
        self.port = free_port()
        self.host = host
        self.tls = () if tls is None else ("--tls", tls)
        self.address = f"{'tls' if tls else 'tcp'}://{host}:{self.port}"
        self._all: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    def _start(self, *words: object, prefix: tuple[str, ...] = ()) -> "subprocess.Popen[bytes]":
        log = (self.folder / f"{len(self._all)}.log").open("wb")
        command = [*prefix, sys.executable, "-m", *map(str, words)]
        one = subprocess.Popen(
            command, cwd=REPOSITORY, stdout=log, stderr=log, start_new_session=True
        )
        self._all.append(one)
        return one

    def start_scheduler(self) -> "subprocess.Popen[bytes]":
        where = "--host", self.host, "--port", self.port
        return self._start("autograder", "cluster", "scheduler", *where, *self.tls)

    def worker(
        self, jobs: int = 2, preload: str = "", prefix: tuple[str, ...] = ()
    ) -> "subprocess.Popen[bytes]":
        if not preload:
            words = "autograder", "cluster", "worker", self.address, "--jobs", jobs, *self.tls
            return self._start(*words, prefix=prefix)
        file = self.folder / f"preload{len(self._all)}.py"
        file.write_text(preload)
        words = "--nthreads", 1, "--nworkers", jobs, "--memory-limit", 0, "--preload", file
        return self._start("distributed.cli.dask_worker", self.address, *words, "--no-dashboard")

    def end(self) -> None:
        for one in self._all:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    found = Machines(tmp_path)
    yield found
    found.end()


# ------------------------------------------------------------------ said before anything starts


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.7:8786", "10.0.0.7:8786", "ucx://127.0.0.1:1", "tls://127.0.0.1:1"]
)
def test_a_seed_does_not_go_over_a_network_as_it_is(address: str) -> None:
    with pytest.raises(Refused, match="cluster certificates DIR"):
        cluster.with_protocol(address, None)


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "tcp://localhost:8786", "tcp://[::1]:8786"])
def test_on_this_machine_none_is_needed(address: str) -> None:
    assert cluster.with_protocol(address, None) == f"tcp://{address.rpartition('//')[2]}"


def test_what_is_not_installed_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    monkeypatch.setitem(sys.modules, "distributed", None)
    words = ["grade", tmp_path / "in", "--out", tmp_path / "out", "--seed", "value:x"]
    assert command_line.main([*map(str, words), "--scheduler", "127.0.0.1:1"]) == grade.CANNOT
    assert "needs distributed" in capsys.readouterr().err
    assert command_line.main(["cluster", "scheduler"]) == 2
    assert "needs the package distributed" in capsys.readouterr().err


@pytest.mark.parametrize("who", ["nobody", "somebody who says nothing"])
def test_a_scheduler_that_is_not_there_is_a_sentence(
    who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "in/vega_01_threads.ipynb", solved())
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 1)
    words = ["grade", tmp_path / "in", "--out", tmp_path / "out", "--seed", "value:x"]
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        if who != "nobody":
            listening.listen()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        assert command_line.main([*map(str, words), "--scheduler", address]) == grade.CANNOT
    assert f"No Dask scheduler answers at tcp://{address}" in capsys.readouterr().err


def test_certificates_are_made_once_and_are_their_owners(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tls"
    with pytest.raises(Refused, match=f"cluster certificates {folder}"):
        cluster.security(folder)
    assert command_line.main(["cluster", "certificates", str(folder)]) == 0
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "cert.pem": 0o600,
        "key.pem": 0o600,
    }
    key = (folder / "key.pem").read_bytes()
    assert cluster.security(folder).require_encryption
    assert command_line.main(["cluster", "certificates", str(folder)]) == 2
    assert "remove the other, make both anew" in capsys.readouterr().err
    assert (folder / "key.pem").read_bytes() == key
    nowhere = folder / "key.pem" / "tls"
    assert command_line.main(["cluster", "certificates", str(nowhere)]) == 2
    assert capsys.readouterr().err == f"{nowhere}: Not a directory. Choose another folder.\n"


def test_a_certificate_that_has_ended_or_is_none_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A course is taught again after a year, for which they are made."""
    folder = tmp_path / "tls"
    assert command_line.main(["cluster", "certificates", str(folder)]) == 0
    capsys.readouterr()

    class InTwoYears(datetime):
        @classmethod
        def now(cls, zone: tzinfo | None = None) -> datetime:
            return datetime.now(zone) + timedelta(days=730)

    words = ["cluster", "worker", "tls://127.0.0.1:1", "--tls", str(folder)]
    monkeypatch.setattr(cluster, "datetime", InTwoYears)
    assert command_line.main(words) == 2
    said = capsys.readouterr().err
    assert re.search(rf"cert\.pem ended on 20\d\d-\d\d-\d\d\. Remove {folder}, make others", said)
    (folder / "cert.pem").write_text("no certificate")
    assert command_line.main(words) == 2
    assert f"is no certificate. Remove {folder}" in capsys.readouterr().err


def test_a_scheduler_that_goes_as_it_hands_over_a_verdict_is_a_sentence() -> None:
    from distributed.comm import CommClosedError

    class Verdict:
        status = "finished"

        def result(self, timeout: float | None = None) -> None:
            raise CommClosedError("in ConnectionPool.gather")

    judges = cluster.Cluster(b"", Limits(), fakes.CHECK, "tcp://127.0.0.1:1")
    task = Task(Submission("vega", "01_threads", "threads", Path()), b"", None)
    with pytest.raises(Refused, match="is gone"):
        list(judges._taken(Verdict(), cluster._Try(task), deque()))


def test_a_worker_that_ends_with_a_verdict_is_not_waited_for() -> None:
    class Verdict:
        status = "finished"

        def result(self, timeout: float | None = None) -> None:
            if timeout is None:
                pytest.fail("Dask would wait for ever")
            raise TimeoutError

    judges = cluster.Cluster(b"", Limits(), fakes.CHECK, "tcp://127.0.0.1:1")
    task = Task(Submission("vega", "01_threads", "threads", Path()), b"", None)
    again: deque[cluster._Try] = deque()
    assert not list(judges._taken(Verdict(), cluster._Try(task), again))
    assert [one.suspect for one in again] == [True]


class Asked:
    """A Dask client whose scheduler has these workers, or says nothing."""

    scheduler = SimpleNamespace(identity=None)

    def __init__(self, *workers: str, silent: bool = False) -> None:
        self.workers, self.silent = workers, silent

    def sync(self, question: object, callback_timeout: float | None, **about: object) -> object:
        if callback_timeout is None:
            pytest.fail("Dask would wait for ever")
        if self.silent:
            raise TimeoutError
        return {"workers": {name: {"nthreads": 1} for name in self.workers}}


def test_a_scheduler_that_says_nothing_is_a_sentence() -> None:
    judges = cluster.Cluster(b"", Limits(), fakes.CHECK, "tcp://127.0.0.1:1")
    judges._client = Asked(silent=True)
    with pytest.raises(Refused, match=r"has not answered for 60 s\. What was judged is kept"):
        judges._look({})


def test_only_looks_that_found_no_worker_count_as_time_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A grader that was stopped, or that waited for another one, had not looked."""
    clock = [1000.0]
    monkeypatch.setattr(cluster.time, "monotonic", lambda: clock[0])
    judges = cluster.Cluster(b"", Limits(), fakes.CHECK, "tcp://127.0.0.1:1")
    for worker in ((), ("one",), ()):
        clock[0] += 1000
        judges._client = Asked(*worker)
        assert judges._look({}) == []
    clock[0] += cluster._PATIENCE_SECONDS
    with pytest.raises(Refused, match="has had no worker for 60 s"):
        judges._look({})


# ------------------------------------------------------------------ one verdict each


@pytest.mark.slow
def test_two_graders_share_a_class_and_students_failures_are_verdicts(
    machines: Machines, tmp_path: Path
) -> None:
    machines.worker()
    count = a_class(tmp_path / "in", 8)
    put(tmp_path / "in/hangs_01_threads.ipynb", solved(cells("hang")))
    put(tmp_path / "in/dies_01_threads.ipynb", solved(cells("die")))
    put(tmp_path / "in/broken_01_threads.ipynb", b"{")
    out = tmp_path / "out"
    words = tmp_path / "in", "--out", out, "--seed", "value:x", "--time-limit", 2
    both = [start(*words, "--scheduler", machines.address) for _ in range(2)]
    said = [one.communicate(timeout=90)[0] for one in both]
    assert {one.returncode for one in both} == {grade.NOT_ALL}, said  # the judge that died
    outcomes = one_each(out, count + 3 * len(EXERCISES))
    assert outcomes["TIMED_OUT"] == 1
    assert outcomes["NOT_MEASURED"] == 1
    assert outcomes["REJECTED"] == len(EXERCISES)
    assert outcomes["PASS"] == count + 2 * (len(EXERCISES) - 1)
    judged = [int(re.search(r"(\d+) judged", one)[1]) for one in said]  # type: ignore[index]
    assert min(judged) > 0


@pytest.mark.slow
def test_the_same_verdicts_come_of_a_cluster_and_of_this_machine(
    machines: Machines, tmp_path: Path
) -> None:
    machines.worker()
    a_class(tmp_path / "in", 2, "RACE")
    words = tmp_path / "in", "--seed", "value:x", "--out"
    finished(start(*words, tmp_path / "there", "--scheduler", machines.address))
    finished(start(*words, tmp_path / "here"))
    there, here = (
        sorted((e.graded for e in entered(tmp_path / out).values() if e.graded), key=str)
        for out in ("there", "here")
    )
    assert there == here


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_that_are_killed_at_random_cost_nothing(
    machines: Machines, tmp_path: Path, how: signal.Signals
) -> None:
    kills, nanny = 6, machines.worker()
    count = a_class(tmp_path / "in", 40, "slow 0.2")
    out = tmp_path / "out"
    words = tmp_path / "in", "--out", out, "--seed", "value:x", "--scheduler", machines.address
    grader = start(*words)
    wait_for(1, out)
    draws = random.Random(3)
    killed = 0
    while killed < kills and grader.poll() is None:
        time.sleep(draws.uniform(0.2, 1.5))
        at_work = [p for p in children(nanny.pid) if b"spawn_main" in command_of(p)]
        if at_work:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draws.choice(at_work), how)
                killed += 1
    said, _ = grader.communicate(timeout=90)
    assert grader.returncode in (grade.DONE, grade.NOT_ALL), said
    if grader.returncode == grade.NOT_ALL:  # one that had bad luck four times: the same command
        finished(start(*words))
        return
    assert killed == kills
    assert one_each(out, count) == {"PASS": count}


def command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
def test_a_scheduler_that_is_killed_is_a_sentence_and_the_same_command_goes_on(
    machines: Machines, tmp_path: Path
) -> None:
    machines.worker()
    count = a_class(tmp_path / "in", 10, "slow 0.3")
    out = tmp_path / "out"
    words = tmp_path / "in", "--out", out, "--seed", "value:x", "--scheduler", machines.address
    grader = start(*words)
    wait_for(3, out)
    os.kill(machines.scheduler.pid, signal.SIGKILL)
    assert "is gone. What was judged is kept" in finished(grader, grade.CANNOT)
    half = len(entered(out))
    assert 3 <= half < count
    machines.start_scheduler()
    machines.worker()
    said = finished(start(*words))
    assert f"{half} known from before" in said
    assert one_each(out, count) == {"PASS": count}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_grader_that_is_killed_goes_on(
    machines: Machines, tmp_path: Path, how: signal.Signals
) -> None:
    machines.worker()
    count = a_class(tmp_path / "in", 6, "slow 0.3")
    out = tmp_path / "out"
    words = tmp_path / "in", "--out", out, "--seed", "value:x", "--scheduler", machines.address
    killed = start(*words)
    wait_for(3, out)
    os.kill(killed.pid, how)
    killed.communicate(timeout=60)
    assert len(entered(out)) < count
    finished(start(*words))
    assert one_each(out, count) == {"PASS": count}


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["", OTHER_COURSE], ids=["alone", "beside one that refuses"])
def test_a_notebook_that_kills_each_worker_gets_one_verdict_and_costs_no_other_its_own(
    machines: Machines, tmp_path: Path, beside: str
) -> None:
    """Met first of all, on one worker: as many of these end as it has tries, and no more."""
    deaths = tmp_path / "deaths"
    if beside:
        machines.worker(jobs=1, preload=beside)
    machines.worker(jobs=1, preload=BREAKS.replace("DEATHS", str(deaths)))
    put(tmp_path / "in/ada_01_threads.ipynb", solved(cells("poison")))
    count = a_class(tmp_path / "in", 4)
    words = tmp_path / "in", "--out", tmp_path / "out", "--seed", "value:x"
    said = finished(start(*words, "--scheduler", machines.address), grade.NOT_ALL)
    assert re.search("each worker that had it ended|no worker that had it is there", said)
    assert len(deaths.read_text().split()) == cluster.MOST_TRIES
    outcomes = one_each(tmp_path / "out", count + len(EXERCISES))
    assert outcomes == {"PASS": count, "NOT_MEASURED": len(EXERCISES)}


# ------------------------------------------------------------------ workers that cannot judge


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preload", "words"),
    [
        (OTHER_COURSE, r"its course is another than the grader's \(older, not "),
        (NO_SANDBOX, "This machine can put no wall around submissions"),
    ],
)
def test_a_worker_that_would_judge_otherwise_refuses(
    machines: Machines, tmp_path: Path, preload: str, words: str
) -> None:
    machines.worker(preload=preload)
    count = a_class(tmp_path / "in", 3)
    out = tmp_path / "out"
    command = tmp_path / "in", "--out", out, "--seed", "value:x", "--scheduler", machines.address
    said = finished(start(*command), grade.CANNOT)
    assert re.search(f"No worker at {machines.address} can judge.*{words}", said)
    assert not entered(out)
    machines.worker()  # one that can, beside them
    finished(start(*command))
    assert one_each(out, count) == {"PASS": count}


@pytest.mark.slow
def test_a_scheduler_of_another_version_is_a_sentence(
    machines: Machines,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import distributed

    monkeypatch.setattr(distributed, "__version__", "2020.1")
    words = ["grade", put(tmp_path / "in/vega_01_threads.ipynb", solved()), "--out", tmp_path / "o"]
    words += ["--seed", "value:x", "--scheduler", machines.address]
    assert command_line.main([*map(str, words)]) == grade.CANNOT
    said = capsys.readouterr().err
    assert f"runs distributed {distributed.versions.get_versions()}"[:17] in said
    assert "and this grader 2020.1. Install the same on both" in said


# ------------------------------------------------------------------ two machines


def in_namespace(name: str) -> tuple[str, ...]:
    return "ip", "netns", "exec", name


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="makes network namespaces: root, ip"
)
def test_a_machine_that_is_cut_off_in_the_middle_costs_nothing(tmp_path: Path) -> None:
    """Two namespaces with TLS; the cable of one is pulled while it judges."""
    name = f"cut{os.getpid()}"
    here, there = f"a{os.getpid()}"[:15], f"b{os.getpid()}"[:15]
    tls = tmp_path / "tls"
    assert command_line.main(["cluster", "certificates", str(tls)]) == 0
    setup = [
        f"netns add {name}",
        f"link add {here} type veth peer name {there} netns {name}",
        f"addr add 10.213.7.1/24 dev {here}",
        f"link set {here} up",
        f"-n {name} addr add 10.213.7.2/24 dev {there}",
        f"-n {name} link set {there} up",
        f"-n {name} link set lo up",
    ]
    machines = None
    try:
        for words in setup:
            done = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"no network namespaces here: {done.stderr.strip()}")
        machines = Machines(tmp_path, "10.213.7.1", tls)
        machines.worker(jobs=1)
        machines.worker(jobs=1, prefix=in_namespace(name))
        count = a_class(tmp_path / "in", 30, "slow 0.3")
        out = tmp_path / "out"
        words = tmp_path / "in", "--out", out, "--seed", "value:x"
        grader = start(*words, "--scheduler", machines.address, "--tls", tls)
        wait_for(6, out)
        subprocess.run(["ip", "link", "set", here, "down"], check=True)
        finished(grader)
        assert one_each(out, count) == {"PASS": count}
    finally:
        if machines is not None:
            machines.end()
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        subprocess.run(["ip", "link", "del", here], capture_output=True)
