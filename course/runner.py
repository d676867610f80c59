"""One launch of a checked kernel: what goes in, what comes out, and the engine's runner.

A check asks a runner for each case. This one runs in the same process; a grader's runs the
same `Run` elsewhere and answers with the same `Ran`, or raises the same `KernelFault`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from course.traffic import Traffic

if TYPE_CHECKING:
    from course.simt.cell import Function


@dataclass(frozen=True)
class Run:
    """One launch to make: the cell's text, the kernel's name, and fresh arguments in order."""

    source: str
    kernel: str
    arguments: Mapping[str, Any]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    #: statements that one batch of blocks may execute before the kernel counts as endless
    step_limit: int


@dataclass(frozen=True)
class Ran:
    """What a launch left: every array by parameter name, and what it asked of memory."""

    arrays: Mapping[str, np.ndarray]
    traffic: Traffic


Runner = Callable[[Run], Ran]


class Engine:
    """Runs launches on the engine, in this process; compiles a cell once for all its cases.

    One instance serves one check. `printing` lets the kernel's `print` through.
    """

    def __init__(self, printing: bool = False) -> None:
        self.printing = printing
        self._source: str | None = None
        self._kernels: Mapping[str, Function] = {}

    def __call__(self, run: Run) -> Ran:
        """Makes one launch.

        Raises:
            KernelFault: whatever is wrong with the cell or happens in the launch.
        """
        from course.simt.cell import read_cell
        from course.simt.launch import launch

        if run.source != self._source:
            self._kernels = read_cell(run.source).kernels
            self._source = run.source
        arguments = dict(run.arguments)
        traffic = launch(
            self._kernels[run.kernel],
            list(arguments.values()),
            run.grid,
            run.block,
            run.shared_bytes,
            run.step_limit,
            printing=self.printing,
        )
        arrays = {n: v for n, v in arguments.items() if isinstance(v, np.ndarray)}
        return Ran(arrays, traffic)


def run_case(run: Run) -> Ran:
    """Runs a single launch on the engine, in this process, silently.

    Raises:
        KernelFault: whatever is wrong with the cell or happens in the launch.
    """
    return Engine()(run)
