"""The engines behind one call: makes the launches of a check in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from course.engine.job import Ran, Run
from course.engine.printed import Printed
from course.engine.requests import Requests

if TYPE_CHECKING:
    from course.engine.simt.lowering.signatures import Function
    from course.engine.triton.engine import TritonEngine


@dataclass(eq=False)
class Engine:
    """Runs launches on the engine, in this process; compiles a cell once for all its cases.

    One instance serves one cell. `printing` lets the kernel's `print` through, or keeps it;
    `compiles` takes Triton's kernels through the rest of its compiler, for their resources (see
    `course.engine.triton.engine`). `requests` keeps the first requests of each access; `watch` sees
    each step, as the dialect's engine has it.
    """

    printing: bool | Printed = False
    compiles: bool = True
    requests: Requests | None = None
    watch: Callable[..., None] | None = None
    _source: str | None = field(default=None, init=False)
    _kernels: Mapping[str, Function] = field(default_factory=dict, init=False)
    _triton: TritonEngine | None = field(default=None, init=False)

    def __call__(self, run: Run) -> Ran:
        """Makes one launch.

        Raises:
            KernelFault: whatever is wrong with the cell or happens in the launch.
        """
        if run.dialect == "triton":
            return self._tiles()(run)
        from course.engine.cell.numba import read_cell
        from course.engine.simt.launch import launch

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
            watch=self.watch,
            requests=self.requests,
        )
        arrays = {n: v for n, v in arguments.items() if isinstance(v, np.ndarray)}
        return Ran(arrays, traffic)

    def ahead(self, source: str, runs: Iterable[Run]) -> AbstractContextManager[None]:
        """Inside, what Triton runs of a cell will launch is compiled meanwhile."""
        return self._tiles().ahead(source, runs)

    def _tiles(self) -> TritonEngine:
        if self._triton is None:
            from course.engine.triton.engine import TritonEngine

            self._triton = TritonEngine(
                self.printing, self.compiles, requests=self.requests, watch=self.watch
            )
        return self._triton


def run_case(run: Run) -> Ran:
    """Runs a single launch on the engine, in this process, silently.

    Raises:
        KernelFault: whatever is wrong with the cell or happens in the launch.
    """
    return Engine()(run)
