"""Workers: processes that judge, behind a wall, watched from outside for time and memory.

A worker is two processes: one judges, and has every launch made by the other one, which holds
nothing but that launch (`autograder.sandbox`). A notebook's verdicts come one by one. Where a
worker dies, the exercise it was at gets a verdict that says so, and the rest of the notebook
goes to a fresh worker.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import selectors
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from autograder import Refused
from autograder.grading.submissions import Submission
from autograder.judge import overlay
from autograder.judge.judge import CHECK, Graded, faulted, result, verdict_key
from autograder.judge.sentences import Fault, size_text
from autograder.lessons.catalogue import lesson_exercises
from autograder.sandbox import walls
from autograder.sandbox.limits import resident_bytes
from autograder.sandbox.walls import Wall

if TYPE_CHECKING:
    from autograder.judge.own_gpu import OwnGpu

ROOT = Path(__file__).resolve().parents[2]
ENGINE = "course.engine.runner:Engine"
#: A frame holds a verdict with its panel; a line of a panel has some hundred bytes.
LARGEST_FRAME_BYTES = 8 * 2**20
_LOOK_SECONDS = 0.1
#: What Linux lets everybody have: more than a notebook has, as a rule.
_PIPE_BYTES = 2**20
_START_SECONDS = 120.0
#: How often a judge is started that ends before its first word.
_MOST_STARTS = 3
#: A look counts for no more: where the next one comes later, the grader itself was kept from it, by
#: Ctrl-Z or by a ledger that another program holds, and what its workers have said is still unread.
_LONGEST_LOOK_SECONDS = 1.0
#: The runner ends a launch that takes too long; the worker as a whole is ended this much later.
_GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class Limits:
    """What judging one exercise may take: wall-clock seconds, and memory."""

    seconds: float = 60.0
    memory_bytes: int = 2 * 2**30

    @property
    def unusual(self) -> str:
        """What they are, where that is not the usual."""
        usual = self == Limits()
        return "" if usual else f"{self.seconds:g} s, {self.memory_bytes} bytes"


@dataclass
class Task:
    """One notebook to judge. `exercises` are still to do; None asks for the lesson only."""

    submission: Submission
    data: bytes
    exercises: list[str] | None
    done: bool = False
    read: bool = False  # the worker has read the notebook
    memory: bool = False  # the worker ran out of memory
    detail: str = ""  # what the worker said of its own failure


@dataclass(frozen=True)
class Answer:
    """What came of a task, or of a part of it: a verdict, or the lesson that was asked for."""

    task: Task
    graded: Graded | None = None
    stem: str | None = None
    fault: Fault | None = None


class Judges(Protocol):
    """Who answers tasks: a `Pool` here, or a cluster's workers."""

    seed: bytes
    check: str
    limits: Limits

    def run(self, tasks: Iterable[Task]) -> Iterator[Answer]: ...

    def times(self, exercise: str) -> bool:
        """Whether it has the GPU on which the class has a band for this exercise."""


class Worker:
    """One judge with its runner, started when first needed, and again after each death."""

    def __init__(self, limits: Limits, check: str, wall: Wall, engine: str = ENGINE) -> None:
        self.limits = limits
        self.check = check
        self.wall = wall
        self.engine = engine
        self.task: Task | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._runner: subprocess.Popen[bytes] | None = None
        #: what the runner and the judge have said on their way out
        self._errors: tuple[IO[bytes], ...] = ()
        self._buffer = self._unsaid = b""
        #: what is left of its patience, and when that was looked at last
        self._left = self._looked = 0.0
        #: when its memory was looked at last: that takes a walk through /proc
        self._weighed = 0.0
        self._ready = False
        #: in a row, without a word of a judge
        self._false_starts = 0

    def give(self, task: Task, seed: bytes, gpu: Mapping[str, int | str]) -> None:
        """Starts on a task; `gpu` as for `judge.banded`."""
        if self._process is None:
            self._start()
        self.task = task
        count = len(task.exercises or ()) or 1
        request = {
            "bytes": len(task.data),
            "stem": task.submission.stem,
            "exercises": task.exercises,
            "seed": base64.b64encode(seed).decode(),
            "memory_bytes": self.limits.memory_bytes,
            "seconds": self.limits.seconds * count,
            "seconds_each": self.limits.seconds,
            "gpu": dict(gpu),
        }
        self._waits_anew()
        self._say(json.dumps(request).encode() + b"\n" + task.data)

    def tell(self, reply: Mapping[str, Any]) -> None:
        """Answers what it has asked about a GPU; meanwhile its time stood still."""
        self._waits_anew()
        self._say(json.dumps(reply).encode() + b"\n")

    def _say(self, data: bytes = b"") -> None:
        """As much as its pipe takes now, and the rest at the next looks: it may be at its start."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._unsaid = b"".join((self._unsaid, data))
        with contextlib.suppress(BrokenPipeError, BlockingIOError):  # an end is noticed on reading
            self._unsaid = self._unsaid[os.write(self._process.stdin.fileno(), self._unsaid) :]

    def _waits_anew(self, imports: bool = False) -> None:
        """From here on it has all its time once more."""
        at_work = self._ready and not imports
        self._left = self.limits.seconds + _GRACE_SECONDS if at_work else _START_SECONDS
        self._looked = time.monotonic()

    def _start(self) -> None:
        self._errors = tuple(tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115  (closed where read)
        self._buffer = self._unsaid = b""
        self._ready = False
        of_runner, of_judge = (file.fileno() for file in self._errors)
        judges_end, runners_end = socket.socketpair()
        with judges_end, runners_end:
            if self.check == CHECK:
                self._runner = self.wall.start(
                    "autograder.sandbox.runner",
                    [self.engine],
                    parts_of_a_runner(self.engine),
                    stdin=runners_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=of_runner,
                    memory_bytes=self.limits.memory_bytes,
                )
            handle = judges_end.fileno()
            self._process = self.wall.start(
                "autograder.judge.worker",
                [self.check, str(handle), *overlay.active().arguments()],
                [ROOT / "course", ROOT / "autograder", *overlay.active().readable()],
                keep=[handle],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=of_judge,
                memory_bytes=self.limits.memory_bytes,
            )
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
            with contextlib.suppress(OSError):  # a user may have only so much
                fcntl.fcntl(self._process.stdin, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def fileno(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def frames(self) -> list[dict[str, Any]]:
        """What it has said since; {"end": ...} closes a task, however it went."""
        chunk = os.read(self.fileno(), 1 << 16)
        self._buffer += chunk
        *lines, self._buffer = self._buffer.split(b"\n")
        frames: list[dict[str, Any]] = []
        for line in lines:
            try:
                frame = json.loads(line)
            except ValueError:
                frame = None
            if not isinstance(frame, dict):
                return [*frames, self.end("it said what is no verdict")]
            frames.append(frame)
        if not chunk:
            frames.append(self.end("it ended by itself", again=True))
        elif len(self._buffer) > LARGEST_FRAME_BYTES:
            frames.append({**self.end("it said too much"), "endless": True})
        if frames and "unbegun" not in frames[-1]:
            self._ready, self._false_starts = True, 0
            self._waits_anew(imports="preparing" in frames[-1])
        return frames

    def overdue(self) -> dict[str, Any] | None:
        """Ends the work and says why, if it takes too much time or memory."""
        if self._unsaid:
            self._say()
        before, self._looked = self._looked, time.monotonic()
        self._left -= min(self._looked - before, _LONGEST_LOOK_SECONDS)
        if self._left < 0:
            frame = {"late": True} if self._ready else {}
            return {**self.end("it took too long to start"), **frame}
        if self._looked - self._weighed < _LOOK_SECONDS:
            return None
        self._weighed = self._looked
        for process in (self._process, self._runner):
            if process is None:
                continue
            used = resident_bytes(process.pid, self.wall.generations)
            if used > self.limits.memory_bytes:
                return {**self.end("memory"), "memory": True}
        return None

    def end(self, why: str, again: bool = False) -> dict[str, Any]:
        """Ends both processes and their children. The next task starts others.

        Args:
            again: whether a judge that has not begun is to be started again.

        Raises:
            Refused: where it has not begun, and is not, or was several times in a row.
        """
        if self._runner is not None:
            walls.end(self._runner)
            self._runner = None
        if self._process is not None:
            walls.end(self._process)
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        said = [_last_line(file) for file in self._errors]
        had_begun = self._ready or self._process is None
        self._process, self._errors = None, ()
        if not had_begun:
            self._false_starts += 1
            if again and self._false_starts < _MOST_STARTS:
                return {"end": -1, "unbegun": True}  # a machine short of memory kills what starts
            reason = next(filter(None, said), why)  # the judge's may be that it has no runner
            raise Refused(
                f"The judge cannot start: {reason.rstrip('.')}. Times tried: {self._false_starts}; "
                "`python -m autograder doctor` says what it needs."
            )
        return {"end": -1, "why": why}


def _last_line(file: IO[bytes]) -> str:
    """The last line of what was written to a file, which is closed."""
    with file:
        file.seek(0)
        lines = file.read()[-4000:].decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def parts_of_a_runner(engine: str) -> list[Path]:
    """What a runner reads of the checkout: no hidden range, no solution, no witness."""
    *packages, module = engine.partition(":")[0].split(".")
    folders = [ROOT.joinpath(*packages[: k + 1]) for k in range(len(packages))]
    files = [*(folder / "__init__.py" for folder in folders), folders[-1] / f"{module}.py"]
    ours = ROOT / "autograder"
    return [ROOT / "course", ours / "__init__.py", ours / "sandbox", *files]


@dataclass
class Pool:
    """Some workers side by side. A context manager: leaving it ends them."""

    seed: bytes
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)
    check: str = CHECK
    #: the best of this machine unless told
    wall: Wall | None = None
    engine: str = ENGINE
    #: whether to go on where this machine can put up no wall
    trust: bool = False

    def __post_init__(self) -> None:
        self.wall = wall = self.wall or walls.choose(self.trust)
        self._workers = [
            Worker(self.limits, self.check, wall, self.engine) for _ in range(max(self.jobs, 1))
        ]

    @cached_property
    def _own_gpu(self) -> OwnGpu | None:
        """None where the class has no bands: then nothing of a GPU is looked for."""
        if not overlay.active().bands:
            return None
        from autograder.judge.own_gpu import OwnGpu

        assert self.wall is not None
        return OwnGpu(self.wall, overlay.active().bands)

    def times(self, exercise: str) -> bool:
        """Whether this machine has the GPU on which the class has a band for this exercise."""
        return self._own_gpu is not None and self._own_gpu.band(exercise) is not None

    def _gpu_for(self, task: Task) -> Mapping[str, int | str]:
        """The properties of this machine's GPU, where one of a task's exercises is timed there."""
        if self._own_gpu is None or not any(map(self.times, task.exercises or ())):
            return {}
        assert self._own_gpu.found is not None
        return self._own_gpu.found.properties

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._workers:
            with contextlib.suppress(Refused):
                worker.end("done")

    def run(self, tasks: Iterable[Task]) -> Iterator[Answer]:
        """The answers to `tasks`, as they come.

        Raises:
            Refused: if no judging process can be started.
        """
        seed = self.seed
        source = iter(tasks)
        again: deque[Task] = deque()
        ahead: deque[Task] = deque()  # looked up while all workers are busy
        with selectors.DefaultSelector() as selector:
            busy: set[int] = set()

            def feed(index: int) -> None:
                worker = self._workers[index]
                waiting = again or ahead
                task = waiting.popleft() if waiting else next(source, None)
                if task is not None:
                    worker.give(task, seed, self._gpu_for(task))
                    selector.register(worker.fileno(), selectors.EVENT_READ, index)
                    busy.add(index)

            for index in range(len(self._workers)):
                feed(index)
            while busy:
                ready = {key.data for key, _ in selector.select(_LOOK_SECONDS)}
                for index in sorted(busy):
                    worker = self._workers[index]
                    handle = worker.fileno()
                    frames = worker.frames() if index in ready else []
                    late = None if any("end" in frame for frame in frames) else worker.overdue()
                    if late is not None:
                        frames.append(late)
                    task = worker.task
                    assert task is not None
                    for frame in frames:
                        if "of_a_gpu" in frame and self._own_gpu is not None:
                            worker.tell(self._own_gpu.reply(frame["of_a_gpu"]))
                    answers = [one for frame in frames for one in self._taken(task, frame)]
                    if any("end" in frame for frame in frames):
                        selector.unregister(handle)
                        if any(frame.get("end") for frame in frames):
                            worker.end("its judge died")  # its talk with the runner may be cut
                        busy.remove(index)
                        if not task.done:
                            again.append(replace(task, read=False))
                        feed(index)
                    yield from answers
                if busy and not ahead:
                    ahead.extend(islice(source, 1))

    def _taken(self, task: Task, frame: dict[str, Any]) -> list[Answer]:
        """What a frame says about a task; the task then knows what is left of it."""
        if "lesson" in frame:
            task.done = True
            return [Answer(task, stem=frame["lesson"])]
        if "fault" in frame:
            task.done = True
            message_id, fields = frame["fault"]
            return self._all(task, Fault(message_id, **fields))
        if "exercise" in frame and task.exercises and frame["exercise"] == task.exercises[0]:
            task.exercises = task.exercises[1:]
            task.done = not task.exercises
            return [Answer(task, graded(task.submission, task.data, frame, self))]
        if "end" in frame and not task.done:
            return [] if "unbegun" in frame else self._death(task, frame)
        task.read = task.read or "read" in frame
        task.memory = task.memory or "memory" in frame
        task.detail = frame.get("failed", task.detail)
        return []

    def _death(self, task: Task, frame: dict[str, Any]) -> list[Answer]:
        """A worker ended in the middle: the exercise it was at has its verdict by that."""
        memory, late = task.memory or "memory" in frame, "late" in frame
        memory_text = size_text(self.limits.memory_bytes)
        seconds_text = f"{self.limits.seconds:g} seconds"
        if not task.read and (memory or late):
            task.done = True
            limit = memory_text + " of memory" if memory else seconds_text
            return self._all(task, Fault("too_heavy_to_read", limit=limit))
        name = task.exercises[0] if task.exercises else "the notebook"
        if memory:
            fault = Fault("out_of_memory", exercise=name, limit=memory_text)
        elif "endless" in frame:
            limit = size_text(LARGEST_FRAME_BYTES)
            fault = Fault("verdict_too_large", exercise=name, limit=limit)
        elif late:
            fault = Fault("out_of_time", exercise=name, limit=seconds_text)
        else:
            status = frame["end"]
            killed = f"signal {-status}" if status < 0 else f"status {status}"
            detail = task.detail or frame.get("why", killed)
            fault = Fault("judge_died", exercise=name, detail=detail)
        of_this = replace(task, exercises=task.exercises and [name])
        task.exercises, task.memory, task.detail = (task.exercises or [])[1:], False, ""
        task.done = not task.exercises
        return self._all(of_this, fault)

    def _all(self, task: Task, fault: Fault) -> list[Answer]:
        """The same verdict on every exercise of the task, or the fault where none is known."""
        if task.exercises is None:
            return [Answer(task, fault=fault)]
        rows = not_judged(task.submission, task.exercises, fault, self, task.data)
        return [Answer(task, row) for row in rows]


def not_judged(
    submission: Submission,
    names: Sequence[str],
    fault: Fault,
    pool: Judges,
    data: bytes | None = None,
) -> list[Graded]:
    """A verdict without points on each of a notebook's exercises, for one reason.

    Where no exercise is known, one verdict on the notebook, with no name of an exercise.
    """
    content = str(fault).encode() if data is None else data
    if submission.stem is None or not names:
        rows = [result(None, faulted(None, fault))]
    else:
        known = {exercise.name: exercise for exercise in lesson_exercises(submission.stem)}
        rows = [result(known[name], faulted(known[name], fault)) for name in names]
    verdicts = [graded(submission, content, row, pool) for row in rows]
    return [replace(one, content="") for one in verdicts] if data is None else verdicts


def key_of(data: bytes, exercise: str, pool: Judges) -> str:
    """What a verdict of these judges hangs on: see `verdict_key`."""
    return verdict_key(data, exercise, pool.seed, pool.check, pool.limits.unusual)


def graded(submission: Submission, data: bytes, verdict: Mapping[str, Any], pool: Judges) -> Graded:
    """A worker's verdict as one of the class's."""
    key = key_of(data, verdict["exercise"], pool)
    content = hashlib.sha256(data).hexdigest()
    known = {**verdict, **submission.marks(), "key": key, "content": content}
    return Graded(submission.student, submission.notebook, **known)
