"""The untrusted side: `python -m autograder.sandbox.runner`, started and watched by the pool.

It imports the engine once, goes behind its wall, and forks for each launch. The fork holds that
launch alone: the cell's text, its inputs, the grid. Its answer goes through a pipe to this
process, which bounds it, ends the fork and whatever the fork started, and passes it on unread.

In, on the socket that is its standard input: a line of JSON (`id`, `bytes`, `most_bytes`,
`seconds`, `memory_bytes`), then that many bytes (`wire.encoded_run`); or `{"prepare": "triton"}`,
before the first Triton launch, which is answered with `{"ready": true}`. Out: a line of JSON (`id`,
`bytes`, `end`), then the bytes that the fork wrote. `end` is "late", "over" (it wrote more than
`most_bytes`), or the fork's exit status.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from autograder.sandbox import scratch, seccomp, tiles
from autograder.sandbox.limits import OwnData, limit, limit_launch
from autograder.sandbox.walls import Kind, close_in
from autograder.sandbox.wire import (
    compiled_of,
    decoded_run,
    dialect_of,
    encoded_failure,
    encoded_fault,
    encoded_ran,
)
from course.engine.faults import KernelFault
from course.engine.job import Run, Runner
from course.engine.runner import run_case

_CHUNK_BYTES = 1 << 20
#: The engine imports what a kernel uses when one uses it, which a fork should not have to.
_WARM_UP = """\
import math
from numba import cuda, float32

@cuda.jit
def warm_up(x, y):
    tile = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    tile[i] = math.sqrt(x[i])
    cuda.syncthreads()
    for k in range(2):
        if i + k < x.size:
            cuda.atomic.add(y, i, -tile[i] * 2.0 / 3)
"""


def main() -> None:
    """Serves launches until its input ends. Arguments: the wall's kind, the engine's name."""
    kind = Kind(sys.argv[1])
    judge = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seccomp.dies_with_parent()
    engine = _loaded(sys.argv[2])
    own = OwnData()
    own_bytes = own.bytes()
    close_in(kind)
    kept = scratch.mounted() if kind is Kind.BUBBLEWRAP else None
    seccomp.not_traceable()
    gc.collect()
    gc.freeze()  # so that a fork's collector leaves the pages that it shares alone
    judge.sendall(b'{"ready": true}\n')
    with judge.makefile("rb") as requests:
        while line := requests.readline():
            request = json.loads(line)
            if "prepare" in request:
                tiles.prepare()
                own_bytes = own.bytes()
                judge.sendall(b'{"ready": true}\n')
                continue
            data = requests.read(request["bytes"])
            answer, end = _run(request, data, engine, own_bytes, judge, kind, kept)
            head = {"id": request["id"], "bytes": len(answer), "end": end}
            judge.sendall(json.dumps(head).encode() + b"\n" + answer)


def _loaded(name: str) -> Callable[[], Runner]:
    """What makes an engine for a launch, with all that it imports later imported now."""
    module, _, attribute = name.partition(":")
    engine: Callable[[], Runner] = getattr(import_module(module), attribute)
    floats = np.ones(32, np.float32)
    arguments = {"x": floats, "y": floats.copy()}
    run_case(Run(_WARM_UP, "warm_up", arguments, (1,), (32,), 0, 1000))
    return engine


def _run(
    request: dict[str, Any],
    data: bytes,
    engine: Callable[[], Runner],
    own_bytes: int,
    judge: socket.socket,
    kind: Kind,
    kept: frozenset[Path] | None,
) -> tuple[bytes, str | int]:
    """What a fork answers, and how it ended."""
    reading, writing = os.pipe()
    desk = None
    if dialect_of(data) == "triton":
        desk = tiles.Desk(own_bytes, request["memory_bytes"], kind)
    child = os.fork()
    if child == 0:
        _launch(request, data, engine, own_bytes, writing, kind, desk)
    os.close(writing)
    if desk is not None:
        desk.launched()
    end: str | int | None = None
    try:
        answer, end = _answer(reading, judge, request["most_bytes"], request["seconds"], desk)
    finally:
        os.close(reading)
        if desk is not None:
            desk.close()
        status = _ended(child, kept, at_once=end is not None)
    return answer, status if end is None else end


def _answer(
    reading: int,
    judge: socket.socket,
    most_bytes: int,
    seconds: float,
    desk: tiles.Desk | None = None,
) -> tuple[bytes, str | None]:
    """What comes out of the pipe until it is closed, and "late" or "over" where it is not."""
    parts: list[bytes] = []
    count = 0
    deadline = time.monotonic() + seconds
    watched: list[int | socket.socket] = [reading, judge]
    if desk is not None:
        watched.append(desk.handle)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return b"", "late"
        ready = select.select(watched, [], [], left)[0]
        if judge in ready and not judge.recv(1, socket.MSG_PEEK):
            return b"", "late"  # nobody waits for the answer
        if judge in ready:
            watched.remove(judge)  # the next request: another judge's, after one that was killed
        if desk is not None and desk.handle in ready and not desk.serve(deadline):
            watched.remove(desk.handle)
        if reading in ready:
            part = os.read(reading, _CHUNK_BYTES)
            if not part:
                return b"".join(parts), None
            count += len(part)
            if count > most_bytes:
                return b"", "over"
            parts.append(part)


def _ended(child: int, kept: frozenset[Path] | None, at_once: bool) -> int:
    """Ends the fork and all that it left, and gives its exit status."""
    if at_once:
        os.kill(child, signal.SIGKILL)
    # It has closed its pipe, which it does as it ends; one that goes on without is ended too.
    for _ in range(200):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.0005)
    else:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if kept is not None:
        _clean(kept)
    return os.waitstatus_to_exitcode(status)


def _clean(kept: frozenset[Path]) -> None:
    """Leaves nothing of a launch to the next one: no process, no file.

    This process is the first of its namespace: no other one is left there but a launch's.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass
    scratch.empty(kept)


def _launch(
    request: dict[str, Any],
    data: bytes,
    engine: Callable[[], Runner],
    own_bytes: int,
    writing: int,
    kind: Kind,
    desk: tiles.Desk | None,
) -> None:
    """A fork's whole life."""
    status = 1
    try:
        seccomp.dies_with_parent()
        os.dup2(0, 2)  # what it says besides its answer goes nowhere
        before: dict[str, Any] = {}
        if desk is None:
            tiles.handed_down([writing])
        else:
            tiles.handed_down([writing, desk.asking, desk.hearing])
            before = tiles.begin(compiled_of(data))
        limit(own_bytes, request["memory_bytes"], request["seconds"])
        limit_launch()
        if kind is not Kind.NONE:
            seccomp.restrict()
        try:
            ran = engine()(decoded_run(data))
            answer = encoded_ran(ran, {} if desk is None else tiles.found(before))
        except KernelFault as fault:
            answer = encoded_fault(fault, {} if desk is None else tiles.found(before))
        except BaseException as error:
            answer = encoded_failure(error)
        view = memoryview(answer)
        while view:
            view = view[os.write(3, view) :]
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
