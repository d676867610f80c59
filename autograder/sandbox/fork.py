"""One process for the launches of one notebook.

It gets a launch once it has answered the one before, and it ends with the notebook: no other
student's cell is run there. Its parent, the runner, bounds what it
answers and how long it takes over each launch, and reads nothing of it but how long it is. On the
socket between them stand messages behind their lengths (`_REQUEST`, `ANSWER`).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO

from autograder.sandbox import seccomp, tiles
from autograder.sandbox.limits import SLACK_BYTES, Slack, limit, limit_launch
from autograder.sandbox.walls import Kind
from autograder.sandbox.wire import (
    decoded_run,
    encoded_failure,
    encoded_fault,
    encoded_plan,
    encoded_ran,
)
from course.engine.faults import KernelFault
from course.engine.job import Runner

#: Who plans a run for a GPU elsewhere, by dialect.
_PLANNERS = {"numba": "course.engine.simt.planned", "triton": "course.engine.triton.planned"}
#: What a socket holds at once.
_CHUNK_BYTES = 1 << 18
_REQUEST = struct.Struct(">Q")
#: How long the answer is, and whether another launch may follow: see `limits.Slack`.
ANSWER = struct.Struct(">Q?")
#: In the fork: where launches come in and answers go out.
SOCKET = 3


class Fork:
    """The runner's side of such a process."""

    def __init__(
        self,
        engine: Callable[[], Runner],
        own_bytes: int,
        memory_bytes: int,
        seconds: float,
        kind: Kind,
    ) -> None:
        self._socket, theirs = socket.socketpair()
        self._desk = tiles.Desk(own_bytes, memory_bytes, kind) if tiles.prepared() else None
        self._ended: int | None = None
        self._process = os.fork()
        if self._process == 0:
            _live(theirs, engine, own_bytes, memory_bytes, seconds, kind, self._desk)
        theirs.close()
        #: made for this fork alone: one for each part would cost the system more than the copying
        self._chunk = memoryview(bytearray(_CHUNK_BYTES))
        self._socket.setblocking(False)
        if self._desk is not None:
            self._desk.launched()

    def launch(
        self, data: bytes, most_bytes: int, seconds: float, judge: socket.socket
    ) -> tuple[bytes, str | int, bool]:
        """(its answer, how that ended, whether it takes another launch).

        It ended with 0, or as the runner's docstring says.
        """
        unsent = memoryview(b"".join((_REQUEST.pack(len(data)), data)))
        answer, whole = bytearray(), ANSWER.size
        deadline = time.monotonic() + seconds
        watched: list[int | socket.socket] = [self._socket, judge]
        if self._desk is not None:
            self._desk.questions = 0
            watched.append(self._desk.handle)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return b"", "late", False
            waiting = [self._socket] if unsent else []
            ready, writable, _ = select.select(watched, waiting, [], left)
            if judge in ready:
                if not judge.recv(1, socket.MSG_PEEK):
                    return b"", "late", False  # nobody waits for the answer
                watched.remove(judge)  # the next request: another judge's, after one was killed
            if self._desk is not None and self._desk.handle in ready:
                if not self._desk.serve(deadline):
                    watched.remove(self._desk.handle)
            if writable:
                with contextlib.suppress(BrokenPipeError):
                    unsent = unsent[self._socket.send(unsent) :]
            if self._socket not in ready:
                continue
            part = self._received(whole - len(answer))
            if not part:
                status = self._status()
                will = b"" if self._desk is None else self._desk.will.read()
                # killed from outside, it is no fault of the kernel's
                if will and status != -signal.SIGKILL:
                    return will, 0, False
                return b"", status, False
            answer += part
            if len(answer) == ANSWER.size:
                length, more = ANSWER.unpack(answer)
                if length > most_bytes:
                    return b"", "over", False
                whole += length
            if len(answer) == whole > ANSWER.size:
                more = more and (self._desk is None or self._desk.is_open)
                return bytes(memoryview(answer)[ANSWER.size :]), 0, more

    def _received(self, most: int) -> memoryview:
        part = self._chunk[: min(most, _CHUNK_BYTES)]
        try:
            return part[: self._socket.recv_into(part)]
        except ConnectionResetError:  # it ended before it had read all
            return part[:0]

    def _status(self) -> int:
        """Its exit status, once it has closed its socket, which it does as it ends."""
        for _ in range(200):
            process, status = os.waitpid(self._process, os.WNOHANG)
            if process:
                self._ended = status
                break
            time.sleep(0.0005)
        return self.end()

    def end(self) -> int:
        """Ends it, wherever it is, and gives its exit status."""
        self._socket.close()
        if self._desk is not None:
            self._desk.close()
        if self._ended is None:
            os.kill(self._process, signal.SIGKILL)
            self._ended = os.waitpid(self._process, 0)[1]
        return os.waitstatus_to_exitcode(self._ended)


# ------------------------------------------------------------ in the fork


def _live(
    theirs: socket.socket,
    engine: Callable[[], Runner],
    own_bytes: int,
    memory_bytes: int,
    seconds: float,
    kind: Kind,
    desk: tiles.Desk | None,
) -> None:
    """A fork's whole life."""
    status = 1
    try:
        seccomp.dies_with_parent()
        os.dup2(0, 2)  # what it says besides its answers goes nowhere
        ends = [] if desk is None else [desk.asking, desk.hearing, desk.assembled]
        tiles.handed_down([theirs.fileno(), *ends])
        if desk is not None:
            tiles.begin(desk.will)
        launches = os.fdopen(SOCKET, "rb")
        slack = Slack()
        limit(own_bytes + SLACK_BYTES, memory_bytes, seconds)
        limit_launch()
        if kind is not Kind.NONE:
            seccomp.restrict()
        _serve(launches, engine, slack)
        status = 0
    finally:
        os._exit(status)


def _serve(launches: BinaryIO, engine: Callable[[], Runner], slack: Slack) -> None:
    more, runners = True, dict[str, Runner]()
    while more and (head := launches.read(_REQUEST.size)):
        answer = _answer(launches.read(*_REQUEST.unpack(head)), engine, runners)
        more = slack.left()
        view = memoryview(ANSWER.pack(len(answer), more) + answer)
        while view:
            view = view[os.write(SOCKET, view) :]


def _answer(data: bytes, engine: Callable[[], Runner], runners: dict[str, Runner]) -> bytes:
    """What comes of one launch. Its arrays are gone when this returns.

    Args:
        runners: the engine that runs the present cell, by the cell's text: each cell has another.
    """
    try:
        run = decoded_run(data)
        if run.planned_for:
            planner = import_module(_PLANNERS[run.dialect])  # Triton's: by `tiles.prepare`
            return encoded_plan(planner.planned(run))
        if run.source not in runners:
            runners.clear()
            runners[run.source] = engine()
        return encoded_ran(runners[run.source](run))
    except KernelFault as fault:
        return encoded_fault(fault)
    except BaseException as error:
        return encoded_failure(error)
