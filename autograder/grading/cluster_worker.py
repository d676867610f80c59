"""What a Dask worker does for one notebook: what `grade` does for it, with a pool of one.

The pool's walls, limits and watcher stand there as here.
"""

from __future__ import annotations

import hashlib
import platform
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from autograder import Refused
from autograder.grading.submissions import Submission
from autograder.judge import overlay
from autograder.judge.judge import course_version, seed_id
from autograder.judge.pool import Answer, Limits, Pool, Task

#: What a verdict may depend on beside the course's own files.
_PACKAGES = ("numpy", "numba", "torch", "triton")
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Work:
    """A notebook as it goes to a worker, with all that decides its verdicts. No name is in it."""

    data: bytes
    notebook: str
    stem: str | None
    exercises: list[str] | None
    seed: bytes
    check: str
    limits: Limits
    trust: bool
    private: tuple[str, ...]
    versions: Mapping[str, str]

    def key(self, attempt: int) -> str:
        """The same for the same work: two graders who ask for it get one answer."""
        shown = replace(self, data=hashlib.sha256(self.data).digest(), seed=b"")
        digest = hashlib.sha256(repr((shown, seed_id(self.seed), attempt)).encode()).hexdigest()
        return f"judge-{digest}"


def versions() -> dict[str, str]:
    """What has to be the same where two machines are to come to the same verdicts."""
    found = {"course": course_version(), "private folder": overlay.active().digest()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return {**found, "Python": ".".join(platform.python_version_tuple()[:2])}


_pools: dict[object, Pool] = {}


def judged(work: Work) -> dict[str, Any]:
    """What comes of a notebook, as plain data: its answers, or why this worker gives none."""
    with _ONE_AT_A_TIME:
        try:
            pool = _pool(work)
            task = Task(Submission("", work.notebook, work.stem, Path()), work.data, work.exercises)
            return {"answers": [_plain(answer) for answer in pool.run([task])]}
        except Refused as error:
            return {"refused": str(error), "worker": _own_address()}
        except Exception as error:  # as an exception it would have to be pickled
            return {"failed": f"{type(error).__name__}: {error}"[:300]}


def _pool(work: Work) -> Pool:
    """The process's pool for this seed and these limits; its judge imports the course once."""
    if overlay.active().arguments() != list(work.private):
        folder, unit = work.private
        overlay.use(Path(folder) if folder else None, unit)
    own = versions()
    for name, wanted in work.versions.items():
        if own.get(name) != wanted:
            raise Refused(
                f"its {name} is another than the grader's ({_short(own.get(name))}, not "
                f"{_short(wanted)})"
            )
    asked = work.seed, work.check, work.limits, work.trust, work.private
    if asked not in _pools:
        while _pools:
            _pools.popitem()[1].__exit__()
        _pools[asked] = Pool(work.seed, 1, work.limits, work.check, trust=work.trust)
    return _pools[asked]


def _short(version: str | None) -> str:
    return str(version)[:12]


def _own_address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _plain(answer: Answer) -> dict[str, Any]:
    graded, fault = answer.graded, answer.fault
    return {
        "graded": graded and asdict(graded),
        "stem": answer.stem,
        "fault": fault and [fault.message_id, fault.fields],
    }
