"""Judging on other machines: `grade --scheduler ADDRESS`, through Dask distributed.

A Dask worker does for one notebook what `grade` does here: a pool of one, with its walls, its
limits and its watcher. It gets no student's name. The grader alone takes notebooks and enters
verdicts, so that the ledger is one whatever happens elsewhere. A verdict is an answer and is never
asked for again. A notebook whose worker was lost is a suspect: it may have brought that down. It is
asked for again, `MOST_TRIES` times in all, behind all others and alone: no other is lost with it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading.cluster_worker import Work, judged, versions
from autograder.judge import overlay
from autograder.judge.judge import Graded
from autograder.judge.pool import Answer, Limits, Task, not_judged
from autograder.judge.sentences import Fault

CERTIFICATE, KEY = "cert.pem", "key.pem"
INSTALL = ".venv/bin/python -m pip install -c requirements.txt '.[cluster]'"
_ANEW = (
    "Remove {0}, make others with `python -m autograder cluster certificates {0}`, and copy that "
    "folder to each machine."
)
#: How often a notebook is given to a worker that is then lost or fails.
MOST_TRIES = 4
#: Dask's settings of a scheduler.
SCHEDULER = {
    # a worker that does not say for so long that it lives is taken for lost
    "distributed.scheduler.worker-ttl": "60s",
    # none waits at a worker for another one, which may bring that down
    "distributed.scheduler.worker-saturation": 1.0,
    # the grader decides what is tried again, and beside what
    "distributed.scheduler.allowed-failures": 0,
}
_LOOK_SECONDS = 0.5
_CONNECT_SECONDS = 20
#: A verdict is a few kilobytes: one that takes longer is at a worker that has ended.
_FETCH_SECONDS = 10
#: Without any worker, or without an answer of the scheduler's.
_PATIENCE_SECONDS = 60.0
#: With none but such as refuse, until another one joins.
_JOINING_SECONDS = 10.0


@dataclass
class _Try:
    """A notebook on its way: how often it was sent and failed, and to which workers if not any."""

    task: Task
    number: int = 1
    failures: int = 0
    where: frozenset[str] = frozenset()

    @property
    def suspect(self) -> bool:
        return self.failures > 0

    def again(self, failures: int = 0) -> _Try:
        return _Try(self.task, self.number + 1, self.failures + failures)


@dataclass
class Cluster:
    """Workers elsewhere, asked as a `Pool` is. A context manager: leaving it lets them go.

    Attributes:
        address: of a Dask scheduler.
        tls: a folder with cert.pem and key.pem; None on this machine alone.
    """

    seed: bytes
    limits: Limits
    check: str
    address: str
    tls: Path | None = None
    trust: bool = False
    _refused: dict[str, str] = field(default_factory=dict)
    _fit: dict[str, int] = field(default_factory=dict)
    _alone_since: float | None = None
    _looked: float = 0.0

    def __enter__(self) -> Cluster:
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise Refused(f"Grading on a cluster needs {error.name}: {INSTALL}") from error
        for name in ("distributed", "distributed.client", "tornado.application", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # it is said in sentences, below
        keys = security(self.tls)
        place = with_protocol(self.address, self.tls)
        try:
            self._client = _in_time(Client)(
                place, security=keys, timeout=_CONNECT_SECONDS, set_as_default=False
            )
        except Exception as error:  # whatever answers there, or does not
            raise Refused(
                f"No Dask scheduler answers at {place} within {_CONNECT_SECONDS} s "
                f"({_last_line(error)}). Is it running, is its address right, and has it "
                f"{'the same certificate' if self.tls else 'no certificate'}?"
            ) from error
        self._same_dask()
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self._client.close(timeout=5)

    def _same_dask(self) -> None:
        from distributed import __version__ as own

        try:
            theirs = self._ask("versions", _CONNECT_SECONDS)["packages"]["distributed"]
        except Exception as error:  # another version may not even understand the question
            theirs = f"({_last_line(error)})"
        if theirs != own:
            self.__exit__()
            raise Refused(
                f"The scheduler at {self.address} runs distributed {theirs}, and this grader "
                f"{own}. Install the same on both: {INSTALL}"
            )

    def _ask(self, what: str, seconds: float, **about: Any) -> Any:
        """What the scheduler itself answers, within so many seconds."""
        question = getattr(self._client.scheduler, what)
        return self._client.sync(question, callback_timeout=seconds, **about)

    def run(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """The answers to `tasks`, as they come.

        Raises:
            Refused: where the scheduler is lost, or no worker there can judge.
        """
        source = iter(tasks)
        again: deque[_Try] = deque()
        under_way: dict[Any, _Try] = {}

        def waiting() -> _Try | None:
            """The next to send: suspects last, and one alone."""
            if again and not again[0].suspect:
                return again.popleft()
            if task := next(source, None):
                return _Try(task)
            return again.popleft() if again and not under_way else None

        try:
            while True:
                for lost in self._look(under_way):
                    yield from self._failed(lost, "no worker that had it is there", again)
                while len(under_way) < sum(self._fit.values()) and (one := waiting()):
                    under_way[self._sent(one)] = one
                if self._fit and not under_way:
                    break
                for future in self._done(under_way):
                    yield from self._taken(future, under_way.pop(future), again)
                    future.release()
        finally:
            for future in under_way:
                with contextlib.suppress(Exception):
                    future.release()

    def times(self, exercise: str) -> bool:
        """What GPUs workers have is not known here."""
        return False

    def _sent(self, one: _Try) -> Any:
        task = one.task
        private = tuple(overlay.active().arguments())
        work = Work(
            task.data,
            task.submission.notebook,
            task.submission.stem,
            task.exercises,
            self.seed,
            self.check,
            self.limits,
            self.trust,
            private,
            versions(),
        )
        if self._refused:
            one.where = frozenset(self._fit)
        workers = sorted(one.where) or None
        return self._client.submit(judged, work, key=work.key(one.number), workers=workers)

    def _look(self, under_way: dict[Any, _Try]) -> list[_Try]:
        """Sees which workers there are now, and takes back what waits for such as are gone."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return []
        self._looked = now
        try:
            found = self._ask("identity", _PATIENCE_SECONDS, n_workers=-1)["workers"]
        except TimeoutError as error:
            raise self._lost(f"has not answered for {_PATIENCE_SECONDS:g} s") from error
        except Exception as error:
            raise self._lost() from error
        self._fit = {w: told["nthreads"] for w, told in found.items() if w not in self._refused}
        gone = [f for f, one in under_way.items() if one.where and not one.where & self._fit.keys()]
        lost = [under_way.pop(future) for future in gone]
        for future in gone:
            future.release()
        if self._fit:
            self._alone_since = None
            return lost
        self._alone_since = self._alone_since or now
        alone = now - self._alone_since
        if found and alone > _JOINING_SECONDS:
            said = "; ".join(f"{w}: {self._refused[w]}" for w in sorted(found)[:3])
            raise Refused(f"No worker at {self.address} can judge. {said}.")
        if why := self._without_workers(alone):
            raise Refused(why)
        return lost

    def _without_workers(self, seconds: float) -> str | None:
        """Why not to wait any longer; None to wait on."""
        if seconds < _PATIENCE_SECONDS:
            return None
        return (
            f"The scheduler at {self.address} has had no worker for {_PATIENCE_SECONDS:g} s. "
            "Start some: python -m autograder cluster worker ADDRESS. What was judged is kept, "
            "and the same command goes on from there."
        )

    def _done(self, under_way: Mapping[Any, _Try]) -> list[Any]:
        """Those that have come to an end, or none after a while."""
        from distributed import wait

        if not under_way:
            time.sleep(_LOOK_SECONDS)
            return []
        with contextlib.suppress(Exception):  # none yet; or cancelled, which each one says itself
            wait(list(under_way), timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
        return [future for future in under_way if future.done()]

    def _taken(self, future: Any, one: _Try, again: deque[_Try]) -> Iterator[Answer]:
        from distributed import KilledWorker

        if future.status == "finished":
            try:
                told = future.result(timeout=_FETCH_SECONDS)
            except TimeoutError:  # Dask would wait for somebody else to judge it once more
                told = {"failed": "the worker that had its verdict has ended"}
            except OSError as lost:  # the scheduler is gone since
                raise self._lost() from lost
            except Exception as lost:  # who had the verdict is
                told = {"failed": _last_line(lost)}
            if "answers" in told:
                yield from _answers(one.task, told["answers"])
                return
            if "refused" in told:
                self._refused[told["worker"]] = told["refused"]
                self._looked = 0.0
                (again.append if one.suspect else again.appendleft)(one.again())
                return
            failed = told["failed"]
        elif future.status == "error":
            error = future.exception()
            if isinstance(error, ModuleNotFoundError):
                raise Refused(
                    f"A worker at {self.address} does not find the package {error.name!r}. Start "
                    "it with `python -m autograder cluster worker`, in a repository with .venv."
                )
            killed = isinstance(error, KilledWorker)
            failed = "each worker that had it ended" if killed else _last_line(error)
        else:  # cancelled, lost
            failed = future.status
            if self._client.status != "running":
                raise self._lost()
        yield from self._failed(one, failed, again)

    def _failed(self, one: _Try, why: str, again: deque[_Try]) -> Iterator[Answer]:
        """Puts a suspect behind all others; in the end, a verdict that says why there is no other.

        The next run of the same command judges it again.
        """
        self._looked = 0.0  # its worker may be gone: none is to be sent there
        if one.failures + 1 < MOST_TRIES:
            again.append(one.again(failures=1))
            return
        task = one.task
        for name in task.exercises or ["the notebook"]:
            fault = Fault("judge_died", exercise=name, detail=why)
            if task.exercises is None:
                yield Answer(task, fault=fault)
            else:
                [row] = not_judged(task.submission, [name], fault, self, task.data)
                yield Answer(task, row)

    def _lost(self, how: str = "is gone") -> Refused:
        return Refused(
            f"The scheduler at {self.address} {how}. What was judged is kept: start it again, "
            "and the same command goes on from there."
        )


def _in_time(client: Any) -> Any:
    """Dask's client, which gives up where somebody listens that says nothing at all."""

    class Client(client):
        def start(self, **how: Any) -> None:
            super().start(callback_timeout=_CONNECT_SECONDS, **how)

    return Client


def _answers(task: Task, told: Iterable[Mapping[str, Any]]) -> Iterator[Answer]:
    """A worker's answers, with the student's name put back."""
    whose = task.submission
    for one in told:
        graded = one["graded"] and replace(
            Graded(**one["graded"]),
            student=whose.student,
            notebook=whose.notebook,
            **whose.marks(),
        )
        fault = one["fault"] and Fault(one["fault"][0], **one["fault"][1])
        yield Answer(task, graded, one["stem"], fault)


# ------------------------------------------------------------------ who may listen


def with_protocol(address: str, tls: Path | None) -> str:
    """`tls://HOST:PORT`, or `tcp://` where nothing leaves this machine.

    Raises:
        Refused: for another machine without TLS: the seed would go over the wire as it is, and
            who reaches a scheduler can have it run anything.
    """
    protocol, _, place = address.rpartition("://")
    if tls is not None and protocol in ("", "tls"):
        return f"tls://{place}"
    if tls is None and protocol in ("", "tcp") and _is_here(place.rpartition(":")[0] or place):
        return f"tcp://{place}"
    raise Refused(
        f"{address}: expected tls://HOST:PORT and --tls DIR, or a scheduler on this machine "
        "(tcp://127.0.0.1:PORT). Without TLS everyone on the network could read the seed. "
        "`python -m autograder cluster certificates DIR` makes what it needs."
    )


def _is_here(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


def security(tls: Path | None) -> Any:
    """Dask's settings for a folder of certificates; None for none.

    Raises:
        Refused: where the files are not there, or are none that can be used today.
    """
    if tls is None:
        return None
    from cryptography import x509
    from distributed.security import Security

    for name in (CERTIFICATE, KEY):
        if not (tls / name).is_file():
            raise Refused(
                f"There is no {tls / name}. `python -m autograder cluster certificates {tls}` "
                "makes it; the scheduler and the workers need a copy of the same one."
            )
    try:
        until = x509.load_pem_x509_certificate((tls / CERTIFICATE).read_bytes()).not_valid_after_utc
    except ValueError as error:
        raise Refused(f"{tls / CERTIFICATE} is no certificate. {_ANEW.format(tls)}") from error
    if until < datetime.now(UTC):
        raise Refused(f"{tls / CERTIFICATE} ended on {until:%Y-%m-%d}. {_ANEW.format(tls)}")
    certificate, key = str((tls / CERTIFICATE).resolve()), str((tls / KEY).resolve())
    roles = {
        f"tls_{role}_{part}": path
        for role in ("client", "scheduler", "worker")
        for part, path in (("cert", certificate), ("key", key))
    }
    return Security(require_encryption=True, tls_ca_file=certificate, **roles)


def _last_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1][:200]}" if lines else type(error).__name__
