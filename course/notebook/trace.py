"""One thread's steps through a kernel, or one program's: `course.trace`."""

from __future__ import annotations

import inspect
import linecache
import sys
from typing import Any

import numpy as np
from numba.cuda.dispatcher import CUDADispatcher

from course.engine.faults import KernelFault
from course.engine.lines import file_of
from course.engine.simt.configuration import configuration, refused
from course.notebook.numba_launches import kernel_name, run_on_engine


class Trace:
    """A kernel that, when launched, prints the steps of one thread."""

    def __init__(self, kernel: Any, block: Any, thread: Any, most_steps: int) -> None:
        self.kernel, self.block, self.thread, self.most_steps = kernel, block, thread, most_steps
        self.lines: list[str] = []
        self.last = 0

    def __getitem__(self, given: Any) -> Any:
        chosen = configuration(kernel_name(self.kernel), given)

        def run(*args: Any) -> None:
            self.lines, self.last = [], 0
            try:
                run_on_engine(
                    self.kernel,
                    args,
                    chosen.grid,
                    chosen.block,
                    chosen.shared_bytes,
                    watch=self._watcher(),
                )
            except KernelFault as fault:
                fault.traced = True
                raise
            finally:
                if self.lines:
                    print("\n".join(self.lines))

        return run

    def _watcher(self) -> Any:
        own = self.kernel.py_func.__code__.co_filename
        before: dict[str, str] = {}

        def watch(lanes: Any, line: int) -> None:
            here = self._lane(lanes)
            if here is None or len(self.lines) > self.most_steps or not _takes_part(lanes, here):
                return
            if len(self.lines) == self.most_steps:
                self.lines.append(f"... (the first {self.most_steps} steps)")
                return
            news = []
            for name, value in lanes.vars.items():
                if isinstance(value, np.ndarray) and not name.startswith("%"):
                    text = str(lanes.spread(value)[here])
                    if before.get(name) != text:
                        before[name] = text
                        news.append(f"{name} = {text}")
            if self.lines and news:
                self.lines[-1] += "   -> " + ", ".join(news)
            code = linecache.getline(file_of(line, own), line).rstrip()
            self.lines.append(f"line {line!s:>3}  {code}")
            self.last = line

        def told(lanes: Any, line: int, array: str, index: Any, value: np.ndarray) -> None:
            """A store, or the outcome of a test where there is no array."""
            here = self._lane(lanes)
            if here is None or line != self.last or not _takes_part(lanes, here):
                return
            shown = str(lanes.spread(value)[here])
            if array:
                at = ", ".join(str(lanes.spread(one)[here]) for one in index)
                shown = f"{array}[{at}] = {shown}"
            if self.lines[-1].startswith(f"line {line!s:>3}  "):
                self.lines[-1] += f"   -> {shown}"

        watch.told = told  # type: ignore[attr-defined]  # as the engine looks for it
        return watch

    def _lane(self, lanes: Any) -> tuple[int, int] | None:
        """(thread, block) of the traced thread in a batch of blocks, or None in another batch."""
        block = self._number("block", self.block, "grid", lanes.geometry.grid) - lanes.first
        thread = self._number("thread", self.thread, "block", lanes.geometry.block)
        return (thread, block) if 0 <= block < lanes.blocks else None

    def _number(self, what: str, place: Any, whole: str, extent: tuple[int, int, int]) -> int:
        """The number of a place in a grid or a block, x first.

        Raises:
            KernelFault: REJECTED where there is no such place.
        """
        at = place if isinstance(place, tuple) else (place,)
        x, y, z = (*at, 0, 0)[:3]
        if len(at) > 3 or not all(
            isinstance(i, int | np.integer) and 0 <= i < size
            for i, size in zip((x, y, z), extent, strict=True)
        ):
            fields = {"what": what, "place": repr(place)[:40], "whole": whole}
            raise refused("trace_place", kernel_name(self.kernel), extent=str(extent), **fields)
        return int(x + extent[0] * (y + extent[1] * z))


def _takes_part(lanes: Any, here: tuple[int, int]) -> bool:
    """Whether the thread is among those that run the line."""
    return bool(lanes.spread(lanes.full(lanes.mask))[here])


def trace(kernel: Any, block: Any = 0, thread: Any = 0, most_steps: int = 60) -> Any:
    """One thread's steps: ``course.trace(kernel, block=0, thread=3)[grid, threads](a, b)``.

    Prints each line that the thread executes and the variables that changed. Of a Triton kernel
    it follows one program: ``course.trace(kernel, block=2)[grid](x, n, BLOCK=64)``; of a launcher
    that program in each of its launches: ``course.trace(launcher, block=2)(x)``.
    """
    launcher = inspect.isfunction(kernel) and "triton" in sys.modules
    if launcher or type(kernel).__module__.startswith("triton."):
        from course.notebook import triton_trace as tiles  # Triton may not be installed

        return tiles.trace(kernel, block, thread, most_steps)
    if not isinstance(kernel, CUDADispatcher):
        raise refused("not_jitted", str(getattr(kernel, "__name__", kernel))[:40])
    return Trace(kernel, block, thread, most_steps)
