"""`course.trace` of a Triton kernel: the lines that one program runs, and what they assign."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl

from course.engine.faults import KernelFault, Outcome
from course.engine.tile.expressions import Frame
from course.engine.tile.memory import address_of, view_at
from course.engine.tile.run import Run
from course.engine.tile.values import Value
from course.engine.triton.functions import base_function
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
        self._before: dict[tuple[int, str], str] = {}
        self._last: Frame | None = None

    def __getitem__(self, grid: Any) -> Any:
        def run(*args: Any, **named: Any) -> None:
            self.lines, self._before, self._last = [], {}, None
            try:
                with host.watched_by(self):
                    self.kernel[grid](*args, **named)
            finally:
                if self.lines:
                    print("\n".join(self.lines))
            if not self.lines:
                place = ", ".join(map(str, self.place))
                print(f"program ({place}) ran nothing: no such place is in the grid")

        return run

    # ------------------------------------------------------------ what the engine calls

    def step(self, run: Run, frame: Frame) -> None:
        """Before each statement of a group of programs."""
        row = self._row(run)
        if row is None or not frame.code.own:
            return
        self._assigned(run, row)
        if len(self.lines) >= self.most_steps:
            self.end()
            return
        if self._last is not frame:
            for name, value in frame.vars.items():
                self._before.setdefault((id(frame), name), _shown(value, row, run))
        line = f"line {run.line:>3}  {run.code.rstrip()}"
        if self._last is not frame or self.lines[-1] != line:  # a loop comes twice to its line
            self.lines.append(line)
        self._last = frame

    def end(self, run: Run | None = None) -> None:
        """The kernel has ended, or enough is shown."""
        row = None if run is None else self._row(run)
        if run is not None and row is not None:
            self._assigned(run, row)
        elif len(self.lines) == self.most_steps:
            self.lines.append(f"... (the first {self.most_steps} steps)")
        self._last = None

    def _assigned(self, run: Run, row: int) -> None:
        """What the line before has changed stands behind it."""
        if self._last is None:
            return
        news = []
        for name, value in self._last.vars.items():
            text = _shown(value, row, run)
            if self._before.get((id(self._last), name)) != text:
                self._before[id(self._last), name] = text
                news.append(f"{name} = {text}")
        if news:
            self.lines[-1] += "   -> " + ", ".join(news)

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
        fault = KernelFault(Outcome.REJECTED, "tile_trace_thread", None)
        fault.happened_in(base_function(kernel).__name__, "", base_function(kernel).__name__)
        fault.dialect = "triton"
        raise fault
    return ProgramTrace(kernel, program, most_steps)


# ---------------------------------------------------------------- values in short


def _shown(value: Any, row: int, run: Run) -> str:
    """What a variable holds for one program, on one line."""
    if isinstance(value, tl.constexpr):
        return str(value.value)[:_LONGEST]
    if isinstance(value, tl.tuple):
        return f"({', '.join(_shown(item, row, run) for item in value.values)})"[:_LONGEST]
    handle = getattr(value, "handle", None)
    if not isinstance(handle, Value):
        return f"a {type(value).__name__}"
    whole = handle.whole()
    data = whole[row if whole.shape[0] > 1 else 0]
    if not handle.type.scalar.is_ptr():
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
