"""`course.trace` of a Triton kernel: the lines that one program runs, and what they assign."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from course.engine.faults import KernelFault, rejected
from course.engine.triton.compiling.functions import base_function
from course.engine.triton.compiling.steps import step_of, text_of
from course.engine.triton.ir import Operation, Type
from course.engine.triton.running.addresses import address_of, view_at
from course.engine.triton.running.run import Run
from course.engine.triton.running.values import Value
from course.notebook import triton_launches as host

#: Numbers at each end of a row, and rows at each end of a tile, that are shown.
_EDGE = 2
_DIGITS = 4
_LONGEST = 100


class ProgramTrace:
    """A kernel that, when launched, prints the steps of one program.

    Args:
        program: its place in the grid, x first, as `tl.program_id` counts.
    """

    def __init__(self, kernel: Any, program: Any, most_steps: int) -> None:
        self.kernel = kernel
        self.place = (*(program if isinstance(program, tuple | list) else (program,)), 0, 0)[:3]
        self.most_steps = most_steps
        self.lines: list[str] = []
        #: of each function that runs: its variables before its last line, and where that stands
        self._known: dict[object, tuple[dict[str, str], int]] = {}

    def __getitem__(self, grid: Any) -> Any:
        if inspect.isfunction(self.kernel):
            raise _refused("tile_not_jitted", self.kernel.__name__, name=self.kernel.__name__)
        return lambda *args, **named: self._follow(self.kernel[grid], args, named)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Follows the program in each launch that a launcher makes; returns what that returns."""
        return self._follow(self.kernel, args, named)

    def _follow(self, launch: Any, args: Any, named: Any) -> Any:
        self.lines, self._known = [], {}
        try:
            with host.watched_by(self.step):
                returned = launch(*args, **named)
        except KernelFault as fault:
            fault.traced = True
            raise
        finally:
            if self.lines:
                print("\n".join(self.lines))
        if not self.lines:
            place = ", ".join(map(str, self.place))
            print(f"program ({place}) ran nothing: no such place is in the grid")
        return returned

    def step(self, run: Run, operation: Operation, values: list[Value]) -> None:
        """Before each statement of a group of programs, and behind the last one of a function."""
        row = self._row(run)
        if row is None or len(self.lines) > self.most_steps:
            return
        step = step_of(operation)
        shown = [
            _shown(value, type_, row, run)
            for value, type_ in zip(values, operation.operand_types, strict=True)
        ]
        variables = {name: text_of(shape, shown) for name, shape in step.variables.items()}
        if step.kind == "call":
            self._known.pop(step.frame, None)
        known, at = self._known.get(step.frame, (variables, -1))
        news = [f"{name} = {text}" for name, text in variables.items() if known.get(name) != text]
        if news:  # what a line has changed stands behind it
            self.lines[at] += "   -> " + ", ".join(news)
        if step.kind == "end":
            return
        if len(self.lines) == self.most_steps:
            self.lines.append(f"... (the first {self.most_steps} steps)")
            return
        line = f"line {run.line!s:>3}  {run.code.rstrip()}"
        last = len(self.lines) - 1
        if at < 0 or at != last or self.lines[last] != line:  # a loop comes twice to its line
            self.lines.append(line)
            last += 1
        self._known[step.frame] = known | variables, last

    def _row(self, run: Run) -> int | None:
        """Where the program stands among those that run now."""
        x, y, _ = run.grid
        inside = all(0 <= at < size for at, size in zip(self.place, run.grid, strict=True))
        number = self.place[0] + x * (self.place[1] + y * self.place[2])
        found = np.flatnonzero(run.programs == number)
        return int(found[0]) if inside and len(found) else None


def trace(kernel: Any, program: Any, thread: Any, most_steps: int) -> ProgramTrace:
    """See `course.trace`.

    Raises:
        KernelFault: where a thread is asked for.
    """
    if thread not in (0, (0,)):
        raise _refused("tile_trace_thread", getattr(base_function(kernel), "__name__", "kernel"))
    return ProgramTrace(kernel, program, most_steps)


def _refused(message_id: str, kernel: str, **fields: str) -> KernelFault:
    fault = rejected(None, message_id, **fields)
    fault.happened_in(kernel, "", kernel)
    fault.dialect = "triton"
    return fault


# ---------------------------------------------------------------- values in short


def _shown(value: Value, type_: Type, row: int, run: Run) -> str:
    """What a variable holds for one program, on one line."""
    whole = value.whole()
    data = whole[row if whole.shape[0] > 1 else 0]
    if not type_.pointers:
        return _numbers(data)
    view = view_at(int(data.flat[0]), run.memory.views)
    if view is None:
        return "a pointer to no tensor"
    return f"{view.name} + {_numbers((data - address_of(view)) // view.itemsize)}"


def _numbers(data: np.ndarray) -> str:
    """``[0 1 ... 126 127]``: a tile by its ends."""
    with np.printoptions(threshold=2 * _EDGE, edgeitems=_EDGE, precision=_DIGITS, linewidth=10_000):
        text = " ".join(str(data).split()).replace("[ ", "[").replace(" ]", "]")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
