"""The untrusted side: `python -m autograder.sandbox.runner`, started and watched by the pool.

It imports the engine once, goes behind its wall, and forks for each notebook (`fork`). The fork
holds one launch at a time: a cell's text, its inputs, the grid. Its answer goes over a socket to
this process, which bounds it and passes it on unread. When the notebook is over, this process ends
the fork and whatever the fork started.

In, on the socket that is its standard input: a line of JSON (`id`, `bytes`, `most_bytes`,
`seconds`, `memory_bytes`), then that many bytes (`wire.encoded_run`); or `{"done": true}`, where a
notebook is over; or `{"prepare": "triton"}` before the first Triton launch, and `"nvvm"` before a
Numba kernel is planned for a GPU, which are answered with `{"ready": true}`. Out: a line of JSON
(`id`, `bytes`, `end`), then the bytes that the fork wrote. `end` is "late", "over" (it wrote more
than `most_bytes`), or 0, or the exit status of a fork that did not answer.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np

from autograder.sandbox import scratch, seccomp, tiles
from autograder.sandbox.fork import Fork
from autograder.sandbox.limits import OwnData
from autograder.sandbox.walls import Kind, close_in
from autograder.sandbox.wire import encoded_ran
from course.engine.job import Run, Runner
from course.engine.runner import run_case
from course.engine.simt.compiled import has_nvvm
from course.plain.collecting import collect_seldom

#: The engine imports what a kernel uses when one uses it, and Python adapts its code to what passes
#: through it: a fork should have to do neither.
_WARM_UP = """\
import math
from numba import cuda, float32

TPB = 64

@cuda.jit
def warm_up(x, y, z):
    tile = cuda.shared.array(TPB, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    total = float32(0.0)
    for k in range(i, x.size, cuda.gridsize(1)):
        total += x[k] * 2.0
    tile[t] = math.sqrt(abs(total))
    cuda.syncthreads()
    s = TPB // 2
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if i < x.size:
        y[i] = max(tile[0], -x[i]) / 3
    if t == 0:
        cuda.atomic.add(z, 0, tile[0])
"""
#: What is looked for and imported once, when it is first asked for.
_PREPARED: dict[str, Callable[[], object]] = {"triton": tiles.prepare, "nvvm": has_nvvm}
#: Python adapts what has run so often.
_WARM_UPS = 8


def main() -> None:
    """Serves launches until its input ends. Arguments: the wall's kind, the engine's name."""
    collect_seldom()
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
    # A library that looks for another asks the C compiler, in a file that it cannot make here
    # (`ctypes.util.find_library`, which PyTorch's build with CUDA comes to): there is none.
    os.environ["PATH"] = ""
    kept = scratch.mounted() if kind is Kind.BUBBLEWRAP else None
    seccomp.not_traceable()
    if kind is not Kind.NONE:
        seccomp.program()  # so that no fork has to make it
    gc.collect()
    gc.freeze()  # so that a fork's collector leaves the pages that it shares alone
    judge.sendall(b'{"ready": true}\n')
    fork: Fork | None = None
    with judge.makefile("rb") as requests:
        while line := requests.readline():
            request = json.loads(line)
            if fork is not None and "bytes" not in request:
                _end(fork, kept)
                fork = None
            if "done" in request:
                continue
            if "prepare" in request:
                _PREPARED[request["prepare"]]()
                own_bytes = own.bytes()
                judge.sendall(b'{"ready": true}\n')
                continue
            data = requests.read(request["bytes"])
            seconds = request["seconds"]
            if fork is None:
                fork = Fork(engine, own_bytes, request["memory_bytes"], seconds, kind)
            answer, end, more = fork.launch(data, request["most_bytes"], seconds, judge)
            if not more:
                _end(fork, kept)
                fork = None
            head = {"id": request["id"], "bytes": len(answer), "end": end}
            judge.sendall(json.dumps(head).encode() + b"\n")
            judge.sendall(answer)


def _loaded(name: str) -> Callable[[], Runner]:
    """What makes an engine for a launch, with all that it imports later imported now."""
    module, _, attribute = name.partition(":")
    engine: Callable[[], Runner] = getattr(import_module(module), attribute)
    floats = np.ones(100, np.float32)
    for _ in range(_WARM_UPS):
        arguments = {"x": floats, "y": floats.copy(), "z": floats.copy()}
        encoded_ran(run_case(Run(_WARM_UP, "warm_up", arguments, (2,), (64,), 0, 1000)))
    return engine


def _end(fork: Fork, kept: frozenset[Path] | None) -> None:
    """Leaves nothing of a notebook to the next one: no process, no file.

    Behind bubblewrap this process is the first of its namespace: no other one is left there but a
    launch's.
    """
    fork.end()
    if kept is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass
    scratch.empty(kept)


if __name__ == "__main__":
    main()
