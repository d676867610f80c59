"""`grade --slurm FILE --tls DIR`: a Dask cluster of Slurm jobs, for as long as the grading takes.

FILE is a plain one (TOML):

    jobs = 4              how many jobs, and for each of them:
    cores = 8             notebooks at once
    memory = "16 GB"      2 GB a core, as a notebook may take
    time = "02:00:00"     Slurm's limit
    queue = "short"       these where your cluster wants them: sbatch -p
    account = "course"    sbatch -A
    interface = "ib0"     the network that nodes reach this machine by
    directives = ["--qos=normal"]
    wait_minutes = 60     for the first job to start

The scheduler is the grader's own process, its workers are the jobs. All else is `cluster`'s.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading.cluster import SCHEDULER, Cluster, security
from autograder.judge.pool import ROOT

INSTALL = ".venv/bin/python -m pip install -c requirements.txt '.[slurm]'"
_MUST: dict[str, type] = {"jobs": int, "cores": int, "memory": str, "time": str}
_MAY: dict[str, type] = {
    "queue": str,
    "account": str,
    "interface": str,
    "directives": list,
    "wait_minutes": float,
}
_KINDS = {
    int: "a whole number above 0",
    float: "a number above 0",
    str: "a text",
    list: 'a list of texts, such as ["--qos=normal"]',
}
_WAIT_MINUTES = 60
#: sbatch answers at once, unless Slurm's own daemon is away.
_SUBMIT_SECONDS = 60.0
_ASK_SECONDS = 20.0
#: Between looks at squeue.
_LOOK_SECONDS = 10.0


def read_settings(path: Path) -> dict[str, Any]:
    """What a file says of the jobs.

    Raises:
        Refused: where it cannot be read, or holds something else.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Refused(f"--slurm {path} cannot be read: {why}.") from error
    kinds = {**_MUST, **_MAY}
    for name, value in found.items():
        if name not in kinds:
            raise Refused(f"{path}: there is no setting {name!r}. There are: {', '.join(kinds)}.")
        kind = kinds[name]
        number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        fits = number if kind is float else isinstance(value, kind) and (kind is not int or number)
        if not fits:
            raise Refused(f"{path}: expected {_KINDS[kind]} for {name}, got {value!r}.")
    missing = [name for name in _MUST if name not in found]
    if missing:
        raise Refused(f"{path}: there is no {' and no '.join(missing)}.")
    return found


@dataclass
class Slurm(Cluster):
    """Slurm's jobs as workers. A context manager: leaving it cancels them.

    Attributes:
        settings: as `read_settings` gives them.
        logs: the folder in which the jobs write what they say.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    logs: Path = Path("slurm")
    _ids: list[str] = field(default_factory=list)
    _refusals: list[str] = field(default_factory=list)
    _asked: float = 0.0

    def __enter__(self) -> Slurm:
        try:
            from dask_jobqueue import SLURMCluster
        except ModuleNotFoundError as error:
            raise Refused(f"--slurm needs {error.name}: {INSTALL}") from error
        if shutil.which("sbatch") is None:
            raise Refused(
                "There is no sbatch here. Type `grade --slurm` where jobs are handed in: on a "
                "login node of the cluster."
            )
        if self.tls is None:
            raise Refused(
                "--slurm needs --tls DIR, in a folder that the nodes share: the seed goes over the "
                "network. `python -m autograder cluster certificates DIR` makes what it needs."
            )
        self._jobs = self._started(SLURMCluster)
        try:
            self._submitted()
            self.address = self._jobs.scheduler_address
            super().__enter__()
        except BaseException:
            self._cancelled()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._cancelled()

    def _cancelled(self) -> None:
        with contextlib.suppress(Exception):  # Slurm may be away; the workers end without us
            self._jobs.close(timeout=_ASK_SECONDS)

    def _started(self, kind: Any) -> Any:
        import dask

        one = self.settings
        job = _recording(kind.job_cls, self._ids, self._refusals)
        environment = {
            "PYTHONPATH": str(ROOT),
            "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
        }
        dask.config.set({**SCHEDULER, "distributed.comm.require-encryption": True})
        try:
            return kind(
                job_cls=job,
                queue=one.get("queue"),
                account=one.get("account"),
                walltime=one["time"],
                cores=one["cores"],
                processes=one["cores"],
                memory=one["memory"],
                interface=one.get("interface"),
                job_extra_directives=list(one.get("directives", ())),
                job_script_prologue=[
                    f"export {k}={shlex.quote(v)}" for k, v in environment.items()
                ],
                # the pool watches what a notebook takes
                worker_extra_args=["--memory-limit", "0", "--no-dashboard"],
                log_directory=str(self.logs.absolute()),
                job_name="grade",
                python=shlex.quote(sys.executable),
                security=security(self.tls),
                protocol="tls://",
                scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                silence_logs="critical",
            )
        except (ValueError, OSError, RuntimeError) as error:  # a memory, an interface that is none
            raise Refused(f"The scheduler cannot start here: {error}.") from error

    def _submitted(self) -> None:
        """Waits for sbatch's answers."""
        count = self.settings["jobs"]
        self._jobs.scale(jobs=count)
        end = time.monotonic() + _SUBMIT_SECONDS
        while len(self._ids) + len(self._refusals) < count and time.monotonic() < end:
            time.sleep(0.05)
        if not self._ids:
            said = self._refusals[0] if self._refusals else f"no word in {_SUBMIT_SECONDS:g} s"
            raise Refused(f"sbatch took no job: {said}. Nothing is judged yet.")
        if self._refusals:
            print(
                f"sbatch took {len(self._ids)} of {count} jobs: {self._refusals[0]}. Grading goes "
                "on with these.",
                file=sys.stderr,
            )

    def _without_workers(self, seconds: float) -> str | None:
        """Jobs wait in a queue: as long as one of ours is there, so does the grader."""
        now = time.monotonic()
        wait = 60 * self.settings.get("wait_minutes", _WAIT_MINUTES)
        if now - self._asked < _LOOK_SECONDS and seconds < wait:
            return None
        self._asked = now
        queued = self._queued()
        goes_on = "What was judged is kept, and the same command goes on from there."
        if queued == "" and seconds > _LOOK_SECONDS:
            return (
                f"All Slurm jobs ({', '.join(self._ids)}) have ended: in {self.logs} stands what "
                f"they said. Is `time` long enough? {goes_on}"
            )
        if seconds > wait:
            return (
                f"No Slurm job has run for {wait / 60:g} minutes (wait_minutes). squeue says: "
                f"{queued or 'nothing'}. Another queue, or fewer cores? {goes_on}"
            )
        return None

    def _queued(self) -> str | None:
        """What squeue says of our jobs: "" where there is none of them, None for no answer."""
        words = ["squeue", "--noheader", "--jobs", ",".join(self._ids), "--format", "%i %T %r"]
        try:
            told = subprocess.run(words, capture_output=True, text=True, timeout=_ASK_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if told.returncode and "Invalid job id" not in told.stderr:  # all are long gone
            return None
        return "; ".join(told.stdout.strip().splitlines())


def _recording(kind: Any, ids: list[str], refusals: list[str]) -> Any:
    """Dask's job, which notes what sbatch answers: Dask itself would only log it."""
    from distributed.core import Status

    class Job(kind):
        async def start(self) -> None:
            try:
                await super().start()
            except Exception as error:
                lines = [line for line in str(error).splitlines() if line.strip()]
                self.status = Status.failed  # else the cluster never closes
                refusals.append(" ".join(lines[-1].split())[:300] if lines else "no reason")
                raise
            ids.append(str(self.job_id))

    return Job
