"""What the runner does for Triton: imports it where a cell asks for it, and assembles PTX.

A launch compiles in place up to PTX, which needs neither a process nor a file. Where registers
are graded it asks this process, the trusted side of the runner, for `ptxas`: that is started
apart, with the PTX alone, a filter of its own and no more time than the launch has left.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from autograder.sandbox import seccomp
from autograder.sandbox.limits import limit, limit_launch
from autograder.sandbox.walls import Kind
from autograder.sandbox.wire import encoded_fault
from course.engine.faults import KernelFault
from course.engine.job import Run
from course.engine.runner import run_case

#: In a launch: where it asks, where it hears the answer, what was assembled last.
ASKING, HEARING, ASSEMBLED = 4, 5, 6
_QUESTION = struct.Struct(">II")  # target, bytes of PTX
_LENGTH = struct.Struct(">H")
MOST_PTX_BYTES = 8 * 2**20
MOST_QUESTIONS = 64
_LONGEST_ANSWER = 4096
_CHUNK_BYTES = 1 << 20
_LOOK_SECONDS = 0.001
_HIGH = 64
#: In a process of the assembler's own: its input, its output.
_SOURCE, _BINARY = 4, 5
_WARM_UP = """\
import triton
import triton.language as tl

@triton.jit
def warm_up(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    total = tl.sum(tl.exp(x - tl.max(x, axis=0)), axis=0)
    for i in range(2):
        total += i
    tl.store(out_ptr + offsets, x / total, mask=offsets < n)
"""


def prepare() -> None:
    """Imports torch, Triton and the engine, and runs what is slow the first time.

    Forks of this process then compile in place, and for all targets.
    """
    if prepared():
        return
    import torch

    torch.set_num_threads(1)  # a fork has no thread but one
    from course.engine.triton.compiling import compiler, workplace

    import_module("course.engine.triton.planned")
    compiler.warm_up()
    workplace.work_in_place(_ask, others=True)
    x = np.ones(100, np.float32)
    arguments = {"x": x, "out": np.zeros_like(x), "n": np.int32(100), "BLOCK": np.int64(64)}
    run_case(Run(_WARM_UP, "warm_up", arguments, (2,), (), 0, 5000, dialect="triton"))
    gc.collect()
    gc.freeze()


def prepared() -> bool:
    """Whether that was done."""
    return "course.engine.triton.compiling.gate" in sys.modules


def begin(will: Will) -> None:
    """In a fork: what the compiler writes to stderr is kept in memory, for launches to read."""
    from course.engine.triton.compiling import compiler, workplace

    compiler.hear_itself()
    workplace.work_in_place(_ask, others=True, will=will.while_compiling)


class Will:
    """What a fork would have answered, had its compiler not ended it: memory that both see."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, mmap.PAGESIZE)

    @contextlib.contextmanager
    def while_compiling(self, fault: KernelFault) -> Iterator[None]:
        """In the fork: inside, a death leaves that fault."""
        answer = encoded_fault(fault)
        if len(answer) > len(self._shared) - _LENGTH.size:
            yield
            return
        self._shared[: _LENGTH.size + len(answer)] = _LENGTH.pack(len(answer)) + answer
        try:
            yield
        finally:
            self._shared[: _LENGTH.size] = _LENGTH.pack(0)

    def read(self) -> bytes:
        """In the runner, of a fork that has ended: that answer, or nothing."""
        (length,) = _LENGTH.unpack_from(self._shared)
        return self._shared[_LENGTH.size :][:length]


# ------------------------------------------------------------ the assembler


def _ask(ptx: str, target: int) -> Any:
    """In a launch: what `ptxas` says of some PTX."""
    from course.engine.triton.compiling.compiler import AssemblerError, Usage, whole

    data = memoryview(_QUESTION.pack(target, len(ptx.encode())) + ptx.encode())
    try:
        while data:
            data = data[os.write(ASKING, data) :]
    except BrokenPipeError:
        raise AssemblerError("it takes no more") from None
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(HEARING, _LONGEST_ANSWER)
        if not part:
            raise AssemblerError("it gave no answer in time")
        line += part
    answer = json.loads(line)
    if "error" in answer:
        raise AssemblerError(answer["error"])
    return Usage(answer["registers"], answer["spill_bytes"], whole(ASSEMBLED))


class Desk:
    """In the runner: where one launch's questions come in. `handle` is readable then."""

    def __init__(self, own_bytes: int, memory_bytes: int, kind: Kind) -> None:
        self.own_bytes = own_bytes
        self.memory_bytes = memory_bytes
        self.kind = kind
        self.questions = 0
        self.will = Will()
        self._buffer = b""
        self.handle, self.asking = os.pipe()
        self.hearing, self._answering = os.pipe()
        self.assembled = os.memfd_create("assembled")
        self._ends: tuple[int, ...] = (self.handle, self._answering, self.assembled)

    @property
    def is_open(self) -> bool:
        """Whether a question still has an answer."""
        return bool(self._ends)

    def launched(self) -> None:
        """Lets go of the launch's ends, once it has them."""
        os.close(self.asking)
        os.close(self.hearing)

    def close(self) -> None:
        """Lets go of its own ends: the launch then neither asks nor hears any more."""
        for handle in self._ends:
            os.close(handle)
        self._ends = ()

    def serve(self, deadline: float) -> bool:
        """Takes in what has come and answers a question that is whole; False at the end.

        A launch that asks for more than it may gets no answer any more.
        """
        part = os.read(self.handle, _CHUNK_BYTES)
        self._buffer += part
        if not part:
            return False
        while len(self._buffer) >= _QUESTION.size:
            target, count = _QUESTION.unpack_from(self._buffer)
            if count > MOST_PTX_BYTES or self.questions >= MOST_QUESTIONS:
                self.close()
                return False
            if len(self._buffer) < _QUESTION.size + count:
                return True
            ptx = self._buffer[_QUESTION.size : _QUESTION.size + count]
            self._buffer = self._buffer[_QUESTION.size + count :]
            self.questions += 1
            answer = json.dumps(self._answer(target, ptx, deadline)).encode() + b"\n"
            with contextlib.suppress(BrokenPipeError):
                os.write(self._answering, answer)
        return True

    def _answer(self, target: int, ptx: bytes, deadline: float) -> dict[str, Any]:
        from course.engine.triton.compiling.compiler import AssemblerError, usage

        if not 70 <= target < 130:
            return {"error": "no such target"}
        said, status = self._assembled(target, ptx, deadline)
        try:
            made = usage(said, status)
        except AssemblerError as error:
            return {"error": str(error)[: _LONGEST_ANSWER // 8]}
        return {"registers": made.registers, "spill_bytes": made.spill_bytes}

    def _assembled(self, target: int, ptx: bytes, deadline: float) -> tuple[str, int]:
        """What `ptxas` said, and its exit status."""
        from course.engine.triton.compiling.compiler import ptxas_command

        # By handle: Landlock lets a process open what it holds already, and write nowhere else.
        ends = "/proc/self/fd/"
        command = ptxas_command(target, f"{ends}{_SOURCE}", f"{ends}{_BINARY}")
        source, said = (os.memfd_create(name) for name in ("ptx", "said"))
        os.ftruncate(self.assembled, 0)
        try:
            view = memoryview(ptx)
            while view:
                view = view[os.write(source, view) :]
            seconds = max(0.0, deadline - time.monotonic())
            child = os.fork()
            if child == 0:
                self._execute(command, (source, self.assembled, said), seconds)
            status = _waited(child, deadline)
            return os.pread(said, 1 << 16, 0).decode(errors="replace"), status
        finally:
            for handle in (source, said):
                os.close(handle)

    def _execute(self, command: list[str], handles: tuple[int, int, int], seconds: float) -> None:
        """A child's life until it is `ptxas`."""
        try:
            seccomp.dies_with_parent()
            source, binary, said = (_high(handle) for handle in handles)
            os.dup2(said, 2)
            os.dup2(source, _SOURCE)
            os.dup2(binary, _BINARY)
            os.closerange(3, _SOURCE)
            os.closerange(_BINARY + 1, 1 << 16)
            limit(self.own_bytes, self.memory_bytes, seconds)
            limit_launch()
            if self.kind is not Kind.NONE:
                seccomp.restrict(executing=True)
            os.execve(command[0], command, {})
        finally:
            os._exit(127)


def _waited(child: int, deadline: float) -> int:
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGKILL
        time.sleep(_LOOK_SECONDS)


def _high(handle: int) -> int:
    """The same file under a number that nothing else is about to get."""
    return fcntl.fcntl(handle, fcntl.F_DUPFD, _HIGH)


def handed_down(handles: Sequence[int]) -> None:
    """Leaves a fork these files alone, as 3, 4 and so on, beside the standard ones."""
    high = [_high(handle) for handle in handles]
    for number, handle in enumerate(high, start=3):
        os.dup2(handle, number)
    os.closerange(3 + len(handles), 1 << 16)
