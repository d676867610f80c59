"""Work in a child of this process, with limits: what it eats or breaks is not its parent's.

A fork has the parent's values as they are and its modules imported already, so it costs
milliseconds. It answers in lines of JSON, and has no file of its parent's open.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from course.plain.collecting import collect_seldom

Say = Callable[[Any], None]

#: Beyond what the parent has: the compiler needs some hundreds of megabytes for large blocks.
MEMORY_BYTES = 4 << 30
#: Wall-clock seconds for each second of processor time, on a machine that is busy elsewhere.
_PATIENCE = 6
_CHUNK_BYTES = 1 << 16
#: What a child may say at once.
LARGEST_LINE_BYTES = 64 * 2**20
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class LateError(Exception):
    """The work took more processor time than it may."""


class DiedError(Exception):
    """The work ended without an answer. The text says how."""


class Child:
    """Work under way in a fork. `lines` are what it has said; `close` ends it."""

    def __init__(
        self,
        work: Callable[[Say], None],
        seconds: float,
        niceness: int = 0,
        memory_bytes: int = MEMORY_BYTES,
        stdin: int | None = None,
    ) -> None:
        """`stdin` is an open file that the work may read as its own; nothing unless told."""
        self.seconds = seconds
        self.waits_anew()
        self._buffer = b""
        #: lines that came with others, of which the last one asked for was enough
        self._unheard: deque[bytes] = deque()
        self._status: int | None = None
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of a fork beside threads: a notebook has some, and this child
            # takes none of their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                self._process = os.fork()
            except OSError:
                os.close(reading)
                os.close(writing)
                raise
        if self._process == 0:
            _live(work, writing, seconds, niceness, memory_bytes, stdin)
        os.close(writing)
        self._reading = reading
        self._poll = select.poll()
        self._poll.register(reading, select.POLLIN)

    def waits_anew(self) -> None:
        """From here on it has all its time once more: its work begins (`more_seconds`)."""
        self._deadline = time.monotonic() + _PATIENCE * self.seconds

    def lines(self, wait: bool) -> Iterator[Any]:
        """What it has said since, and, with `wait`, what it says until it ends.

        Raises:
            LateError: where it took too long.
            DiedError: where it ended by a fault.
        """
        while self._unheard or self._status is None:
            if self._unheard:
                yield json.loads(self._unheard.popleft())
                continue
            left = max(0.0, self._deadline - time.monotonic()) if wait else 0.0
            if not self._poll.poll(1000 * left):
                if time.monotonic() < self._deadline:
                    return
                self.close()
                raise LateError
            part = os.read(self._reading, _CHUNK_BYTES)
            *whole, self._buffer = (self._buffer + part).split(b"\n")
            self._unheard.extend(whole)
            if len(self._buffer) > LARGEST_LINE_BYTES:
                self.close()
                raise DiedError("it says too much")
            if not part:
                self.close(kill=False)
        if self._status == -signal.SIGXCPU:
            raise LateError
        if self._status < 0:
            raise DiedError(signal.Signals(-self._status).name)
        if self._status > 0:
            raise DiedError(f"status {self._status}")

    def fileno(self) -> int:
        """Readable where it has said something, or has ended."""
        return self._reading

    @property
    def running(self) -> bool:
        return self._status is None

    def close(self, kill: bool = True) -> None:
        """Ends it, if it has not ended."""
        if self._status is not None:
            return
        if kill:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
        try:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        except ChildProcessError:
            self._status = 0  # somebody else has waited for it
        os.close(self._reading)


def _live(
    work: Callable[[Say], None],
    writing: int,
    seconds: float,
    niceness: int,
    memory_bytes: int,
    stdin: int | None,
) -> NoReturn:
    """A child's whole life."""
    status = 1
    try:
        parent = os.getppid()
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(status)
        signal.signal(signal.SIGINT, signal.SIG_IGN if niceness else signal.SIG_DFL)
        gc.freeze()  # nothing of the parent's is collected, and so closed, here
        collect_seldom()
        sys.stdout = sys.stderr = None  # what a kernel prints while it is compiled goes nowhere
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing if stdin is None else stdin, 0)
        os.dup2(nothing, 1)
        os.closerange(3, writing)
        os.closerange(writing + 1, 1 << 16)
        os.dup2(os.memfd_create("stderr"), 2)  # for the work to read what a compiler says there
        _limit(resource.RLIMIT_CPU, int(seconds) + 1)
        _limit(resource.RLIMIT_DATA, _own_bytes() + memory_bytes)
        _limit(resource.RLIMIT_CORE, 0)
        os.nice(niceness)

        def say(value: Any) -> None:
            data = memoryview(json.dumps(value).encode() + b"\n")
            while data:
                data = data[os.write(writing, data) :]

        work(say)
        status = 0
    finally:
        os._exit(status)


def more_seconds(seconds: float) -> None:
    """From here on this child may take so many seconds of the processor, whatever it has taken."""
    _limit(resource.RLIMIT_CPU, int(time.process_time() + seconds) + 1)


def _limit(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, hard))


def _own_bytes() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123  no path is needed
        return int(file.read().split()[5]) * resource.getpagesize()
