"""A process that runs compiled kernels on this machine's GPU, once: started by `judge.own_gpu`.

It holds nothing of a student's but a kernel's code, and none of the seed. `python -m
autograder.sandbox.gpu KIND` reads a request (MessagePack) from its standard input: `plan`, what an
engine planned (`course.engine.triton.planned`); `sets`, of each argument that is an array its
bytes by name; `wanted`, names of outputs; `library`, the driver's file, and `environment`, what
that reads. It says `BEGUN` on its standard error before a kernel runs, and ends with an answer on
its standard output: for each set `us`, the time of all launches and fills, and `outputs`; or a
`fault`.

Each set of inputs is launched once, but the first, on which launches that have several forms are
tuned: its time does not count. What a kernel has kept of an earlier one in memory that is not
its own is of no use to it: no launch here has inputs that one before had.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from autograder.sandbox.cuda import CudaError, Driver
from autograder.sandbox.seccomp import dies_with_parent, not_traceable
from autograder.sandbox.walls import Kind, close_in

BEGUN = b"A kernel begins.\n"
#: More than an L2 holds; written so often, the GPU is at work while the launches are handed over.
CLEARED_BYTES, CLEARED_TIMES = 1 << 28, 8
#: How often each form of a launch is timed before one is chosen.
TRIES = 2
#: What no honest kernel leaves: NaN in each float's type.
_POISON = 0x7FE17FE1.to_bytes(4, "little")


def devices() -> list[Path]:
    """What a process has to open to reach the GPU."""
    return [*sorted(Path("/dev").glob("nvidia*")), *Path("/dev").glob("dxg")]


class _Launches:
    """A plan on a GPU: its buffers are there, its kernels loaded, its parameters laid out."""

    def __init__(self, driver: Driver, plan: dict[str, Any]) -> None:
        self._driver, self._plan = driver, plan
        self.sizes = [size for size, _ in plan["buffers"]]
        self.buffers = [driver.room(size) for size in self.sizes]
        self._codes = [
            (driver.function(code["binary"], code["name"], code["shared"]), code)
            for code in plan["codes"]
        ]
        self._steps = [
            [(one, self._laid_out(one)) for one in (step[1] if step[0] == "tuned" else [step])]
            for step in plan["steps"]
        ]
        self._chosen = [0] * len(self._steps)

    def tune(self, given: dict[str, bytes], timed: Callable[[], float]) -> None:
        """Chooses the fastest launch of each step that has several, as `timed` makes them."""
        for number, step in enumerate(self._steps):
            if len(step) == 1:
                continue
            best: dict[int, float] = {}
            for form in [*range(len(step))] * TRIES:
                self._chosen[number] = form
                self.begin(given)
                best[form] = min(timed(), best.get(form, math.inf))
            self._chosen[number] = min(best, key=best.__getitem__)

    def _laid_out(self, step: list[Any]) -> tuple[Any, list[Any]] | None:
        """The addresses of what a kernel is given, and that, which has to stay."""
        if step[0] == "fill":
            return None
        _, code, grid, parameters = step
        held = [self._parameter(*parameter) for parameter in parameters]
        for each in self._plan["codes"][code]["scratch"]:
            count = each * grid[0] * grid[1] * grid[2]
            held.append(ctypes.c_uint64(self._driver.room(count) if count else 0))
        return (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held)), held

    def _parameter(self, kind: str, *of: Any) -> Any:
        if kind == "value":
            return ctypes.create_string_buffer(of[0], len(of[0]))
        address = self.buffers[of[0]] + of[1]
        if kind == "pointer":
            return ctypes.c_uint64(address)
        return self._driver.tensor_map(address, *of[2:])

    def begin(self, given: dict[str, bytes]) -> None:
        """What a launch finds: its arguments, and poison in all that its launcher makes."""
        for address, (size, name) in zip(self.buffers, self._plan["buffers"], strict=True):
            if name:
                self._driver.put(address, given[name])
            else:
                self._driver.fill(address, size, _POISON if size % 4 == 0 else _POISON[:1])

    def make(self) -> None:
        for chosen, forms in zip(self._chosen, self._steps, strict=True):
            step, parameters = forms[chosen]
            if parameters is None:
                _, number, element = step
                self._driver.fill(self.buffers[number], self.sizes[number], element)
                continue
            function, code = self._codes[step[1]]
            self._driver.launch(function, step[2], code["block"], code["shared"], parameters[0])

    def outputs(self, wanted: list[str]) -> dict[str, bytes]:
        """The elements of outputs, in order."""
        found = {}
        for name, number, start, shape, strides, dtype in self._plan["arrays"]:
            if name in wanted:
                data = self._driver.fetched(self.buffers[number], self.sizes[number])
                found[name] = np.ndarray(shape, dtype, data, start, strides).tobytes()
        return found


def answered(request: dict[str, Any], driver: Driver) -> dict[str, Any]:
    """The times and the outputs of each set.

    Raises:
        CudaError: what the driver says.
    """
    launches = _Launches(driver, request["plan"])
    cleared = driver.room(CLEARED_BYTES)
    begin, end = driver.event(), driver.event()
    answer: dict[str, Any] = {"us": [], "outputs": []}

    def timed() -> float:
        driver.wait()
        for _ in range(CLEARED_TIMES):
            driver.fill(cleared, CLEARED_BYTES, b"\0\0\0\0")
        driver.record(begin)
        launches.make()
        driver.record(end)
        return driver.us(begin, end)

    os.write(2, BEGUN)
    launches.tune(request["sets"][0], timed)
    for given in request["sets"]:
        launches.begin(given)
        answer["us"].append(timed())
        answer["outputs"].append(launches.outputs(request["wanted"]))
    return answer


def main() -> None:
    """One request, one answer. What a kernel prints goes nowhere."""
    answers, nothing = os.fdopen(os.dup(1), "wb"), os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    dies_with_parent()
    close_in(Kind(sys.argv[1]))
    not_traceable()
    request = msgspec.msgpack.decode(sys.stdin.buffer.read())
    os.environ.update(request["environment"])
    try:
        answer = answered(request, Driver(request["library"]))
    except CudaError as error:
        answer = {"fault": str(error)}
    with answers:
        answers.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
