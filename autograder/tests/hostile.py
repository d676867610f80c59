"""An engine that does what the text of a cell says, in place of the course's own.

It stands for a kernel's Python that got past admission: what it does, it does behind the wall.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import inspect
import json
import linecache
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from autograder.sandbox import fork
from course.engine.cell.numba import live_function
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Ran, Run
from course.engine.runner import Engine
from course.engine.simt.launch import launch
from course.engine.traffic import Traffic

NAME = "autograder.tests.hostile:Hostile"


class Hostile:
    """Runs `WORD ARGUMENT`, the first line of the cell after its `# `, and reports by a fault."""

    def __call__(self, run: Run) -> Ran:
        """Does it, and says what came of it as the `detail` of a fault."""
        word, _, rest = run.source.partition("\n")[0].removeprefix("# ").partition(" ")
        if word == "honest":
            return Ran(_arrays(run), Traffic(launches=1))
        if word == "leave":
            return _leave(run, *map(float, rest.split()))
        try:
            said = str(_DEEDS[word](rest))
        except OSError as error:
            said = f"refused: {error.strerror}"
        detail = json.dumps(said)
        raise KernelFault(Outcome.DOES_NOT_COMPILE, "syntax_error", 1, detail=detail)


#: What launches have left to later ones in their process.
_LEFT: list[bytearray] = []


def _count(rest: str) -> int:
    _LEFT.append(bytearray())
    return len(_LEFT)


def _leave(run: Run, megabytes: float, seconds: float) -> Ran:
    """Takes so long, leaves so much, and tells in `x` how many launches have been here."""
    time.sleep(seconds)
    _LEFT.append(bytearray(b"x") * int(megabytes * 2**20))
    arrays = _arrays(run)
    arrays["x"][:] = len(_LEFT)
    return Ran(arrays, Traffic(launches=1))


EXECUTING = "autograder.tests.hostile:Executing"
UNADMITTED = "autograder.tests.hostile:Unadmitted"


class Executing:
    """Admission switched off: executes a cell as a notebook would, then hands back its arrays.

    A statement that fails does not end it. Then it calls the functions: kernels as plain Python,
    and launchers.
    """

    def __call__(self, run: Run) -> Ran:
        names = _executed(run.source)
        arrays = _arrays(run)
        _call_all(names, run.dialect, *arrays.values())
        return Ran(arrays, Traffic(launches=1))


class Unadmitted:
    """Admission switched off: the course's own engine and compiler on whatever a cell holds.

    Triton's kernels are compiled and run unread; each `@cuda.jit` function that stands there
    when the cell has been executed is walked.
    """

    def __call__(self, run: Run) -> Ran:
        arrays = _arrays(run)
        if run.dialect == "numba":
            _walk_all(_executed(run.source), run, *arrays.values())
        elif run.source:
            from course.engine.cell import triton as cell

            vars(cell)["_admit"] = lambda _: None
            return Engine()(run)
        return Ran(arrays, Traffic(launches=1))


def _arrays(run: Run) -> dict[str, np.ndarray]:
    return {n: v for n, v in run.arguments.items() if isinstance(v, np.ndarray)}


def _executed(source: str) -> dict[str, Any]:
    """The names of a cell after all its statements."""
    names: dict[str, Any] = {"__name__": "__main__"}
    lines = source.splitlines(keepends=True)
    linecache.cache["<cell>"] = (len(source), None, lines, "<cell>")  # both dialects read it
    for statement in ast.parse(source).body:
        with contextlib.suppress(Exception):
            exec(compile(ast.Module([statement], []), "<cell>", "exec"), names)
    return names


def _call_all(names: dict[str, Any], dialect: str, array: np.ndarray, *_: np.ndarray) -> None:
    argument: Any = array
    if dialect == "triton":
        import torch

        argument = torch.from_numpy(array).reshape(1, 1, -1)
    else:
        vars(cuda)["grid"] = lambda _: 0  # which without a GPU would end most bodies at once
    for value in list(names.values()):
        function = getattr(value, "py_func", getattr(value, "fn", value))
        if inspect.isfunction(function) and function.__module__ == "__main__":
            with contextlib.suppress(Exception):
                function(*[argument] * len(inspect.signature(function).parameters))


def _walk_all(names: dict[str, Any], run: Run, array: np.ndarray, *_: np.ndarray) -> None:
    for value in list(names.values()):
        if isinstance(value, CUDADispatcher):
            with contextlib.suppress(KernelFault):
                function = live_function(value)
                given = [array] * len(function.parameters)
                launch(function, given, run.grid, run.block, run.shared_bytes, run.step_limit)


def _connect(rest: str) -> str:
    with socket.create_connection(("127.0.0.1", int(rest)), timeout=2):
        return "connected"


def _write(rest: str) -> str:
    Path(rest).write_text("mine")
    return "written"


def _fill(rest: str) -> str:
    with Path(rest).open("wb") as file:
        while True:
            file.write(b"x" * (1 << 20))


def _fork(_: str) -> str:
    return f"forked {os.fork()}"


def _bomb(_: str) -> str:
    while True:
        os.fork()


def _eat(_: str) -> str:
    held = []
    while True:
        held.append(bytearray(b"x") * (32 << 20))


def _shared(_: str) -> str:
    """Memory that no limit of this process counts: the watcher has to see it."""
    import mmap

    held = []
    while True:
        block = mmap.mmap(-1, 32 << 20)
        block.write(b"x" * (32 << 20))
        held.append(block)


def _spin(_: str) -> str:
    while True:
        pass


def _babble(rest: str) -> str:
    handle = int(rest)
    while True:
        os.write(handle, b"x" * 65536)


def _answer(rest: str) -> str:
    answer = json.loads(rest).encode("latin-1")
    os.write(fork.SOCKET, fork.ANSWER.pack(len(answer), True) + answer)
    os._exit(0)


def _unframed(rest: str) -> str:
    os.write(fork.SOCKET, json.loads(rest).encode("latin-1"))
    os._exit(0)


def _trace(_: str) -> str:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), None, None) != 0:  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "traced"


def _environment(_: str) -> str:
    return " ".join(sorted(os.environ))


def _kill(_: str) -> str:
    os.kill(os.getppid(), 9)
    return "killed"


def _processes(_: str) -> str:
    return str(sum(path.name.isdecimal() for path in Path("/proc").iterdir()))


def _handles(_: str) -> str:
    return " ".join(str(n) for n in range(200) if _is_open(n))


def _is_open(handle: int) -> bool:
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


def _sleep(rest: str) -> str:
    time.sleep(float(rest))
    return "slept"


def _exit(rest: str) -> str:
    os._exit(int(rest))


def _assemble(rest: str) -> str:
    """Hands PTX to the runner's assembler, as a Triton launch does."""
    from autograder.sandbox import tiles
    from course.engine.triton.compiling.compiler import AssemblerError

    count, target, text = json.loads(rest)
    said = "nothing"
    for _ in range(count):
        try:
            said = str(tiles._ask(text, target))
        except AssemblerError as error:
            said = f"error: {error}"
    return said


def _crash(rest: str) -> str:
    """A Triton launch whose compiler ends its process, as `rest` says; or none, behind it."""
    from autograder.sandbox.tiles import _WARM_UP
    from course.engine.runner import run_case
    from course.engine.triton.compiling import compiler

    deed, _, when = rest.partition(" ")
    end = {"abort": os.abort, "exit": lambda: os._exit(127)}[deed]
    x = np.ones(100, np.float32)
    arguments = {"x": x, "out": np.zeros_like(x), "n": np.int32(100), "BLOCK": np.int64(128)}
    if when == "compiling":
        vars(compiler)["_through"] = lambda *_: end()
    run_case(Run(_WARM_UP, "warm_up", arguments, (2,), (), 0, 5000, dialect="triton"))
    end()
    return "unreached"


def _loaded(rest: str) -> str:
    return str(rest in sys.modules)


_DEEDS: dict[str, Callable[[str], Any]] = {
    "connect": _connect,
    "count": _count,
    "read": lambda rest: Path(rest).read_text(),
    "write": _write,
    "list": lambda rest: " ".join(sorted(path.name for path in Path(rest).iterdir())),
    "fill": _fill,
    "fork": _fork,
    "bomb": _bomb,
    "run": lambda rest: os.execv(rest, [rest]),
    "eat": _eat,
    "shared": _shared,
    "spin": _spin,
    "babble": _babble,
    "answer": _answer,
    "unframed": _unframed,
    "trace": _trace,
    "environment": _environment,
    "kill": _kill,
    "processes": _processes,
    "handles": _handles,
    "sleep": _sleep,
    "assemble": _assemble,
    "crash": _crash,
    "loaded": _loaded,
    "exit": _exit,
}
