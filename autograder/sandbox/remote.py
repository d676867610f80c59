"""The judge's side of the wall: each launch goes to the runner, and what comes back is doubted."""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from autograder.judge.judge import Check, course_check
from autograder.judge.sentences import Fault, RunnerLostError, size_text
from autograder.sandbox.doubt import WireError
from autograder.sandbox.wire import EngineFailed, decoded_result, encoded_run, largest_result
from course.engine.job import Ran, Run
from course.spec.exercise import Case, Exercise
from course.words.verdict import Verdict

_GRACE_SECONDS = 5.0
#: torch and Triton, from a slow disk.
_PREPARE_SECONDS = 120.0
_LONGEST_LINE_BYTES = 1000
_T = TypeVar("_T")


class Connection:
    """The judge's end of the socket to a runner."""

    def __init__(self, handle: int) -> None:
        self._socket = socket.socket(fileno=handle)
        self._file = self._socket.makefile("rb")
        self._prepared: set[str] = set()

    def wait(self) -> None:
        """Until the runner has imported what it needs.

        Raises:
            RunnerLostError: where it cannot start.
        """
        try:
            self._line()
        except (OSError, EOFError, ValueError) as error:
            raise RunnerLostError(f"the runner does not start: {error}") from error

    def prepare(self, what: str) -> None:
        """Has the runner look for what it needs beyond Numba's engine, once: `triton`, `nvvm`.

        Raises:
            RunnerLostError: where it cannot.
        """
        if what == "numba" or what in self._prepared:
            return
        try:
            self._socket.settimeout(_PREPARE_SECONDS)
            self._socket.sendall(json.dumps({"prepare": what}).encode() + b"\n")
            self._line()
        except (OSError, EOFError, ValueError) as error:
            raise RunnerLostError(f"the runner cannot import {what}: {error}") from error
        self._prepared.add(what)

    def ask(self, data: bytes, most_bytes: int, seconds: float, memory_bytes: int) -> Any:
        """(what the fork wrote, how that ended), see `runner`.

        Raises:
            RunnerLostError: where no such answer comes.
        """
        try:
            self._socket.settimeout(seconds + _GRACE_SECONDS)
            number = secrets.randbits(32)
            request = {
                "id": number,
                "bytes": len(data),
                "most_bytes": most_bytes,
                "seconds": seconds,
                "memory_bytes": memory_bytes,
            }
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            self._socket.sendall(data)
            head = self._line()
            if head["id"] != number or not 0 <= head["bytes"] <= most_bytes:
                raise ValueError("another answer")
            answer = self._file.read(head["bytes"])
            if len(answer) != head["bytes"]:
                raise EOFError("half an answer")
            return answer, head["end"]
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            raise RunnerLostError(f"the runner is lost: {error}") from error

    def done(self) -> None:
        """Has the runner end the process that makes the launches: what is over, or has failed."""
        with contextlib.suppress(OSError):
            self._socket.sendall(b'{"done": true}\n')

    def _line(self) -> Any:
        line = self._file.readline(_LONGEST_LINE_BYTES)
        if not line.endswith(b"\n"):
            raise EOFError("it ended")
        return json.loads(line)


@dataclass
class Remote:
    """A `course.engine.job.Runner` whose launches are made behind the wall. One for each check.

    One process there makes the launches of a notebook, until one of them leaves no result.
    A launch that leaves no result leaves `fault`, which is the verdict, whatever the check
    makes of the exception.
    """

    connection: Connection
    exercise: str
    seconds: float
    memory_bytes: int
    fault: Exception | None = None

    def __call__(self, run: Run) -> Ran:
        """Makes one launch.

        Raises: as for `asked`.
        """
        return self.asked(run, decoded_result)

    def asked(self, run: Run, decoded: Callable[[bytes, Run], _T]) -> _T:
        """What comes of a run there, as `decoded` reads it.

        Raises:
            KernelFault: whatever is wrong with the cell or happens in the launch.
            Fault: where there is no result: too late, too much memory, garbage, or a death.
            EngineFailed: where the engine itself fails.
        """
        most_bytes = largest_result(run)
        try:
            planned = run.planned_for and run.dialect == "numba"
            self.connection.prepare("nvvm" if planned else run.dialect)
            limits = most_bytes, self.seconds, self.memory_bytes
            answer, end = self.connection.ask(encoded_run(run), *limits)
        except RunnerLostError as error:
            self.fault = error
            raise
        if end == 0:
            try:
                return decoded(answer, run)
            except MemoryError:
                limit = size_text(self.memory_bytes)
                raise self._failed("out_of_memory", limit=limit) from None
            except WireError as error:
                raise self._failed("runner_garbage", detail=str(error)) from error
            except EngineFailed:
                self.connection.done()
                raise
        if end == -signal.SIGKILL:  # the kernel's: memory had run out
            raise self._failed("out_of_memory", limit=size_text(self.memory_bytes))
        if end == "late":
            raise self._failed("out_of_time", limit=f"{self.seconds:g} seconds")
        if end == "over":
            raise self._failed("runner_garbage", detail=f"more than {size_text(most_bytes)}")
        status = end if isinstance(end, int) else 1
        detail = f"signal {-status}" if status < 0 else f"status {status}"
        raise self._failed("runner_died", detail=detail)

    def _failed(self, message_id: str, **fields: object) -> Fault:
        self.connection.done()  # where that process still is: it makes no other launch
        fault = Fault(message_id, exercise=self.exercise, **fields)
        self.fault = fault
        return fault


def sandboxed(connection: Connection, seconds: float, memory_bytes: int) -> Check:
    """The course's own check, with every launch behind the wall.

    Args:
        seconds: that one launch may take.
        memory_bytes: that one launch may take.
    """

    def check(exercise: Exercise, source: str, cases: Sequence[Case] | None, seed: int) -> Verdict:
        runner = Remote(connection, exercise.name, seconds, memory_bytes)
        verdict = course_check(exercise, source, cases, seed, runner)
        if runner.fault is not None:
            raise runner.fault
        return verdict

    return check
