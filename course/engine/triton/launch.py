"""A launch on what Triton's compiler made of the kernel, counted as a named GPU counts it.

The compiler moves loads: it may ask for a tile one turn early, and leaves out what nothing uses.
So the kernel as compiled decides the counts and the results, and the kernel as it is written the
faults: it runs where the other comes to one, for which is the first, and where the compiler has
left a load or a loop out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from course.engine import sampling, stated_gpu
from course.engine.equal_stores import hearing
from course.engine.faults import KernelFault, Outcome
from course.engine.lines import file_of
from course.engine.printed import Printed
from course.engine.requests import Requests
from course.engine.traffic import Traffic
from course.engine.triton.arguments import arguments_of
from course.engine.triton.compiling.functions import called_at, code_of, loads_and_loops, own_files
from course.engine.triton.compiling.gate import begin, lower, reached
from course.engine.triton.compiling.lowering import ACCESSES, Form, Lowered
from course.engine.triton.compiling.specialisation import Source, source_of
from course.engine.triton.entry import Grid, begun
from course.engine.triton.ir import Operation, UnreadableError
from course.engine.triton.passed import Passed
from course.engine.triton.running.accesses import CONVERSIONS
from course.engine.triton.running.banks import count, reaches
from course.engine.triton.running.counts import CompiledMeter, Shown
from course.engine.triton.running.machine import Machine
from course.engine.triton.running.memory import Memory
from course.engine.triton.running.mix import mix
from course.engine.triton.running.programs import (
    BATCH_ELEMENTS,
    a_few,
    in_batches,
    in_turns,
    takes_turns,
)
from course.engine.triton.running.run import Run
from course.engine.triton.running.sites import Listener, Uncounted
from course.engine.triton.running.space import Space
from course.engine.triton.running.values import Unsupported, Value, item_bytes
from course.engine.triton.running.warp_races import Warps, goes_back


def launch(
    kernel: Any,
    args: Sequence[Any],
    grid: Grid,
    named: dict[str, Any] | None = None,
    *,
    target: int = stated_gpu.TARGET,
    step_limit: int | None = None,
    together: int | None = None,
    printing: bool | Printed = True,
    listener: Listener | None = None,
    whole: bool = False,
    requests: Requests | None = None,
    banks: bool = False,
    space: Space | None = None,
) -> Traffic:
    """Runs a kernel on every program of a grid; tensors are changed in place.

    Args:
        kernel: a `@triton.jit` function.
        args: CPU tensors, numbers, host tensor descriptors.
        grid: programs along x, y, z, or a function of the arguments that gives them.
        named: arguments by name, constants and launch options among them.
        target: the compute capability that it is compiled for, 90 for 9.0: unless told, the one
            that checks stand for.
        step_limit: statements that one batch of programs may execute; by the tensors' size
            unless told.
        together: how many programs run at once; 1 is the slow path that the fast one is
            held to. By default as many as memory allows.
        printing: whether what the kernel prints is printed here when it ends, or where it is kept.
        listener: hears of every access, in order (see `course.engine.triton.running.cache`).
        whole: whether a kernel may reach all of an allocation of which it is passed a view.
        requests: keeps the first requests of each access.
        banks: whether bank conflicts of shared memory are counted, too, and whether it suffices:
            that takes the rest of a compile, a few tenths of a second.
        space: of a program that may know addresses, and keep them in tensors. Of such a program a
            load or a loop that the compiler leaves out is no fault: it is no lesson's.

    Returns:
        what the launch asks of global memory: requests and sectors as this GPU's L1 counts them.

    Raises:
        KernelFault: what the launch or the kernel did wrong; NOT_MEASURED names what this engine
            does not run. Its `traffic` holds the counts.
    """
    named = dict(named or {})
    function, passed, run = begun(kernel, args, grid, named, step_limit, whole, space)
    code = code_of(function)
    run.filename, run.line = code.filename, code.first_line
    once_more = run.anew()
    source = source_of(kernel, args, named)
    compiled = lower(source, target)
    if banks and _asks_for_much(compiled):
        begin(source, target, binary=False)()
    made = _Launch(run, function, passed, compiled, listener, requests)
    if (among := sampling.current()) is not None:
        return made.of_a_few(among, source)
    put_back = passed.keep()

    def as_written() -> KernelFault | None:
        fault = _fault_of(_Launch(once_more, function, passed, _written(source, target)), together)
        if fault is None:
            put_back()
        return fault

    if isinstance(printing, Printed):
        run.printed = printing
    if printing:
        print(compiled.printed, end="")
    try:
        strict = space is None and _leaves_out(compiled, function, source)
        if strict and (fault := as_written()) is not None:
            raise fault
        made.all_programs(together)
    except KernelFault as fault:
        first = fault
        told = fault.outcome is Outcome.NOT_MEASURED or function.is_gluon()
        if once_more.memory is None and not told:
            put_back()
            first = as_written() or fault
        first.traffic = made.traffic()
        raise first from None
    finally:
        if printing is True:
            run.printed.show()
    traffic = made.traffic()
    if banks:
        made.count_banks(traffic, source, target)
    return traffic


def _written(source: Source, target: int) -> Lowered:
    """A kernel as it is written: in that form nothing hangs on how its arguments are aligned."""
    return lower(replace(source, attributes={}), target, Form.WRITTEN)


def _asks_for_much(compiled: Lowered) -> bool:
    """Whether a program's shared memory may be more than the GPU has; the compiler knows."""
    operations = [*compiled.module.operations()]
    kept = sum(_bytes(one) for one in operations if one.name == "ttg.local_alloc")
    passing = max((_bytes(one) for one in operations if one.name == _TURNS), default=0)
    return kept + passing > stated_gpu.shared_limit(compiled.target) // 2


#: What may need shared memory while it lasts: a block that goes to other threads.
_TURNS = "ttg.convert_layout"


def _leaves_out(compiled: Lowered, function: Any, source: Source) -> bool:
    """Whether the compiler has left out a load or a loop, whose faults are faults all the same."""
    if function.is_gluon():  # it is compiled as it is written
        return False
    if loads_and_loops(function) <= {place.files[0][:2] for _, place in compiled.places}:
        return False
    return bool(_written(source, compiled.target).places - compiled.places)


#: Of a program, and of a pipelined loop, unless a launch says otherwise.
WARPS, _STAGES = 4, 3
#: Sees each step of a run, with the values that it shows (`course.engine.triton.compiling.steps`).
Watch = Callable[[Run, Operation, list[Value]], None]


def follow(
    kernel: Any,
    args: Sequence[Any],
    grid: Grid,
    named: dict[str, Any],
    watch: Watch,
    step_limit: int | None = None,
    requests: Requests | None = None,
) -> Callable[[], None]:
    """Has `watch` see each step of a launch as it is written, and `requests` each access.

    Returns:
        what undoes the launch in its tensors.

    Raises:
        KernelFault: what is wrong with the launch or the kernel.
    """
    function, passed, run = begun(kernel, args, grid, named, step_limit)
    run.watch = partial(watch, run)
    source = replace(source_of(kernel, args, named), attributes={})
    lowered = lower(source, stated_gpu.TARGET, Form.FOLLOWED)
    warps = int(source.options.get("num_warps", WARPS))
    launch = _Launch(run, function, passed, lowered, requests=requests, warps=warps)
    undo = passed.keep()
    try:
        launch.all_programs(None)
    except KernelFault:
        undo()
        raise
    return undo


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
        requests: Requests | None = None,
        warps: int = 0,
    ) -> None:
        self.run, self._function, self._passed = run, function, passed
        self._few: sampling.Launched | None = None
        self._module = module = lowered.module
        operations = list(module.operations())
        #: whether the kernel itself orders the warps of a program
        self._ordered_within = function.is_gluon() or any(
            one.name == "ttg.warp_specialize" for one in operations
        )
        self._target, self._unused = lowered.target, lowered.unused
        self._largest = max((_size(operation) for operation in operations), default=1)
        self._meter: CompiledMeter | None = None
        if lowered.form is Form.COMPILED:
            accesses = [one.number for one in operations if one.name in ACCESSES]
            layouts = dict(zip(accesses, lowered.layouts, strict=True))
            self._meter = CompiledMeter(module, layouts, lowered.target, listener, requests)
        meter: Uncounted = self._meter or Uncounted()
        if self._meter is None and requests is not None:
            meter = Shown(requests, warps)
        if any(one.name in CONVERSIONS for one in operations):
            passed.by_numbers()
        watched = sampling.current() is None
        run.memory = Memory(run, passed.views, meter, watched, passed.numbers)
        # where equal stores are no fault, programs meet in elements as well
        held = self._meter is not None and watched and hearing() is None
        if held and not self._ordered_within and module.warps > 1:
            run.memory.warps = Warps(run, goes_back(module))

    def all_programs(self, together: int | None) -> None:
        """Runs all programs, as many at once as memory allows unless told.

        Raises:
            KernelFault: what the kernel did wrong, or that this engine does not run it.
        """
        run, module, files = self.run, self._module, own_files(self._function)
        try:
            arguments = arguments_of(module, self._passed)

            def begin(one: Run) -> Callable[[], None]:
                machine = Machine(module, one, files, self._ordered_within, self._unused)
                return partial(machine.start, arguments)

            if self._few is not None and self._meter is not None:
                a_few(run, begin, self._few, self._meter.touched)
            elif takes_turns(self._function, run.size):
                in_turns(run, begin, self._passed)
            else:
                several = together or max(1, BATCH_ELEMENTS // self._largest)
                several = 1 if self._ordered_within else several
                in_batches(run, begin, several)
        except (Unsupported, UnreadableError, KernelFault) as what:
            fault = (
                what if isinstance(what, KernelFault)
                else run.fault(Outcome.NOT_MEASURED, "tile_unsupported", detail=str(what))
            )  # fmt: skip
            file = file_of(fault.line, run.filename)
            if name := called_at(self._function, file, fault.line or 0):
                fault.happened_in(name, file)
            raise fault from None
        run.end()

    def of_a_few(self, among: sampling.Sampling, source: Source) -> Traffic:
        """Runs the programs that stand for all; `among` hears of their counts.

        Raises:
            KernelFault: as `all_programs`.
        """
        module, target = self._module, self._target
        warps = module.warps + module.other_warps
        few = self._few = among.begin(self._function.__name__, self.run.grid, warps)
        self.all_programs(None)
        assert self._meter is not None
        traffic = self.traffic()
        self.count_banks(traffic, source, target)
        views = self._passed.views
        few.end(traffic, {view.name: len(view.allocation.bytes) for view in views})
        if (made := reached(source, target)) is not None:
            few.detail = mix(module, made.issued, self._meter.runs)
            few.detail["stages"] = int(source.options.get("num_stages", _STAGES))
        return traffic

    def traffic(self) -> Traffic:
        """The counts so far; none of the written form."""
        return self.run.noted(Traffic() if self._meter is None else self._meter.traffic())

    def count_banks(self, traffic: Traffic, source: Source, target: int) -> None:
        """Enters the bank conflicts of shared memory."""
        if self._meter is None or not reaches(self._module):
            return
        made = reached(source, target)
        if made is None:
            traffic.shared_uncounted.append(code_of(self._function).first_line)
        else:
            count(traffic, self._module, made.shared, self._meter.runs, own_files(self._function))


def _bytes(operation: Operation) -> int:
    """Of what an operation makes."""
    return sum(
        math.prod(type_.shape) * (8 if type_.pointers else item_bytes(type_.scalar))
        for type_ in operation.result_types
    )


def _size(operation: Operation) -> int:
    """Elements of the largest block that an operation makes."""
    return max((math.prod(type_.shape) for type_ in operation.result_types), default=1)
