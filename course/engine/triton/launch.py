"""A launch on what Triton's compiler made of the kernel, counted as a named GPU counts it.

The compiler moves loads: it may ask for a tile one turn early, and leaves out what nothing uses.
So the kernel as compiled decides the counts and the results, and where it comes to a fault, the
kernel as it is written runs again and decides which fault is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from course.engine import stated_gpu
from course.engine.faults import KernelFault, Outcome
from course.engine.tile.arguments import Passed
from course.engine.tile.launch import Grid, begun
from course.engine.tile.memory import Memory
from course.engine.tile.programs import BATCH_ELEMENTS, in_batches, in_turns, takes_turns
from course.engine.tile.run import Run
from course.engine.tile.sites import Listener, Uncounted
from course.engine.tile.values import Unsupported
from course.engine.traffic import Traffic
from course.engine.triton.arguments import arguments_of
from course.engine.triton.counts import CompiledMeter
from course.engine.triton.functions import code_of, own_files
from course.engine.triton.gate import source_of
from course.engine.triton.ir import Block, Module, Operation
from course.engine.triton.lowering import ACCESSES, Form, Lowered, lower
from course.engine.triton.machine import Machine


def launch(
    kernel: Any,
    args: Sequence[Any],
    grid: Grid,
    named: dict[str, Any] | None,
    target: int,
    *,
    step_limit: int | None = None,
    together: int | None = None,
    printing: bool = True,
    listener: Listener | None = None,
) -> Traffic:
    """Runs a kernel on every program of a grid; tensors are changed in place.

    Args:
        kernel: a `@triton.jit` function.
        args: CPU tensors and numbers; `named` those by name, with launch options.
        target: the compute capability that it is compiled for, 90 for 9.0.
        step_limit, together, printing, listener: as `course.engine.tile.launch.launch` has them.

    Returns:
        what the launch asks of global memory: requests and sectors as this GPU's L1 counts them.

    Raises:
        KernelFault: what the launch or the kernel did wrong; NOT_MEASURED names what this engine
            does not run. Its `traffic` holds the counts.
    """
    named = dict(named or {})
    function, passed, run = begun(kernel, args, grid, named, step_limit)
    code = code_of(function)
    run.filename, run.line = code.filename, code.first_line
    once_more = run.anew()
    source = source_of(kernel, args, named)
    source = replace(source, options={**source.options, "debug": run.debug})
    made = _Launch(run, function, passed, lower(source, target, Form.COMPILED), listener)
    kept = {one: one.kept() for one in passed.allocations if one.tracked}
    try:
        made.all_programs(together)
    except KernelFault as fault:
        first = fault
        if fault.outcome is not Outcome.NOT_MEASURED:
            for allocation, content in kept.items():
                allocation.put_back(content)
            written = _Launch(once_more, function, passed, lower(source, target, Form.WRITTEN))
            first = _fault_of(written, together) or fault
        first.traffic = made.traffic()
        raise first from None
    finally:
        if printing and run.printed:
            print("\n".join(run.printed))
    return made.traffic()


#: As checks launch: for the GPU that they stand for.
checked: Callable[..., Traffic] = partial(launch, target=stated_gpu.TARGET)


def _fault_of(launch: _Launch, together: int | None) -> KernelFault | None:
    """What a launch comes to, where this engine runs all of it."""
    try:
        launch.all_programs(together)
    except KernelFault as fault:
        return None if fault.outcome is Outcome.NOT_MEASURED else fault
    return None


class _Launch:
    """One form of a kernel on the programs of a launch."""

    def __init__(
        self,
        run: Run,
        function: Any,
        passed: Passed,
        lowered: Lowered,
        listener: Listener | None = None,
    ) -> None:
        self.run, self._function, self._passed = run, function, passed
        self._module = module = Module(lowered.text)
        operations = list(_operations(module))
        self._largest = max((_size(operation) for operation in operations), default=1)
        self._meter: CompiledMeter | None = None
        if lowered.form is Form.COMPILED:
            accesses = [one.number for one in operations if one.name in ACCESSES]
            layouts = dict(zip(accesses, lowered.layouts, strict=True))
            self._meter = CompiledMeter(module, layouts, lowered.target, listener)
        run.memory = Memory(run, passed.views, self._meter or Uncounted())

    def all_programs(self, together: int | None) -> None:
        """Runs all programs, as many at once as memory allows unless told.

        Raises:
            KernelFault: what the kernel did wrong, or that this engine does not run it.
        """
        run, module, files = self.run, self._module, own_files(self._function)
        try:
            arguments = arguments_of(module, self._passed)

            def begin(one: Run) -> Callable[[], None]:
                return partial(Machine(module, one, files).start, arguments)

            if takes_turns(self._function, run.size):
                in_turns(run, begin, self._passed)
            else:
                several = together or max(1, BATCH_ELEMENTS // self._largest)
                in_batches(run, begin, several, self._largest)
        except Unsupported as what:
            raise run.fault(Outcome.NOT_MEASURED, "tile_unsupported", detail=str(what)) from None
        run.end()

    def traffic(self) -> Traffic:
        """The counts so far; none of the written form."""
        return self.run.noted(Traffic() if self._meter is None else self._meter.traffic())


def _operations(module: Module) -> Iterator[Operation]:
    def inside(blocks: Sequence[Block]) -> Iterator[Operation]:
        for block in blocks:
            for operation in block.operations:
                yield operation
                for region in operation.regions:
                    yield from inside(region)

    for function in module.functions.values():
        yield from inside(function.regions[0])


def _size(operation: Operation) -> int:
    """Elements of the largest block that an operation makes."""
    return max(
        (int(np.prod(type_.shape, dtype=np.int64)) for type_ in operation.result_types), default=1
    )
