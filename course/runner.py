"""One launch of a checked kernel: what goes in, what comes out, and the engine's runner.

A check asks a runner for each case. This one runs in the same process; a grader's runs the
same `Run` elsewhere and answers with the same `Ran`, or raises the same `KernelFault`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from course.faults import KernelFault
from course.traffic import Traffic

if TYPE_CHECKING:
    from course.simt.cell import Function


@dataclass(frozen=True)
class Output:
    """What a launcher has to return."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Run:
    """One launch to make: the cell's text, the kernel's name, and fresh arguments in order.

    With `outputs`, `kernel` names a launcher of the cell: it is called with the arguments, and
    returns the outputs.
    """

    source: str
    kernel: str
    arguments: Mapping[str, Any]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    #: statements that one batch of blocks may execute before the kernel counts as endless
    step_limit: int
    #: `numba` or `triton`; what follows is Triton's
    dialect: str = "numba"
    #: warps of a program, where the launch does not say
    warps: int = 0
    outputs: tuple[Output, ...] = ()
    #: arguments that nothing has initialised: a kernel has to write before it reads
    unwritten: tuple[str, ...] = ()
    #: whether the L2 cache's model is asked what DRAM delivers
    cache: bool = False
    #: whether the cost of this run is graded
    graded: bool = False
    #: whether registers and spills are asked for: they cost a run of the assembler
    binary: bool = False


@dataclass(frozen=True)
class Ran:
    """What a launch left: every array by parameter name, and what it asked of memory.

    A launcher's outputs are among the arrays.
    """

    arrays: Mapping[str, np.ndarray]
    traffic: Traffic
    #: what the compiler says against it for a GPU that it did not run on, where a grader asks
    elsewhere: KernelFault | None = None


Runner = Callable[[Run], Ran]


class Engine:
    """Runs launches on the engine, in this process; compiles a cell once for all its cases.

    One instance serves one check. `printing` lets the kernel's `print` through; `compiles` sends
    Triton's kernels through Triton's compiler, too (see `course.tile.engine`).
    """

    def __init__(self, printing: bool = False, compiles: bool = True) -> None:
        self.printing = printing
        self.compiles = compiles
        self._source: str | None = None
        self._kernels: Mapping[str, Function] = {}
        self._triton: Runner | None = None

    def __call__(self, run: Run) -> Ran:
        """Makes one launch.

        Raises:
            KernelFault: whatever is wrong with the cell or happens in the launch.
        """
        if run.dialect == "triton":
            return self._on_tiles(run)
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

    def _on_tiles(self, run: Run) -> Ran:
        if self._triton is None:
            from course.tile.engine import TileEngine

            self._triton = TileEngine(self.printing, self.compiles)
        return self._triton(run)


def run_case(run: Run) -> Ran:
    """Runs a single launch on the engine, in this process, silently.

    Raises:
        KernelFault: whatever is wrong with the cell or happens in the launch.
    """
    return Engine()(run)
