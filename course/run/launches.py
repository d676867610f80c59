"""Launches of a program: on the engine, findings told; what a launch or a warm-up gives back."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
import torch
import triton
from numba.cuda.args import ArgHint
from numba.cuda.cudadrv import devicearray
from triton.backends.compiler import GPUTarget
from triton.runtime import _allocation
from triton.runtime.jit import JITFunction

from course.engine.equal_stores import heard_by
from course.engine.faults import KernelFault
from course.engine.simt.launch import STEP_LIMIT
from course.engine.triton.canary import require_right_counts
from course.engine.triton.compiling import gate
from course.engine.triton.compiling.compiler import written_for
from course.engine.triton.compiling.findings import makes_descriptors
from course.engine.triton.compiling.functions import base_function
from course.engine.triton.compiling.specialisation import source_of
from course.engine.triton.entry import extent
from course.engine.triton.passed import Reachable, bound
from course.engine.triton.running.space import Space
from course.notebook import numba_launches, triton_launches
from course.notebook.numba_launches import Configured
from course.run import children, host
from course.run.tensors import let_out, within_reach

#: A grid of nothing: a learner hears of it, and on a GPU nothing runs, without a word.
_OF_NO_PROGRAMS = "tile_zero_grid"
#: From this compute capability on a descriptor is a tensor map in memory.
_OF_TENSOR_MAPS = 90


#: Statements that a batch of a Numba kernel's blocks may execute: a program's loops are longer than
#: an exercise's, and who has started it can stop it.
_STEP_LIMIT = 10 * STEP_LIMIT

Tell = Callable[[KernelFault], None]


class Findings:
    """What the launches of a program have come to.

    Args:
        go_on: whether the program goes on behind a finding, with what the kernel left.
        tell: told of each, once.
        note: told of stores of equal values to one place, once a line, where these are no finding.
    """

    def __init__(self, go_on: bool, tell: Tell, note: Tell | None = None) -> None:
        self.faults: list[KernelFault] = []
        self.notes: dict[tuple[str, int | None], KernelFault] = {}
        self._go_on, self._tell, self._note = go_on, tell, note
        self._one_at_a_time = threading.RLock()  # the program's threads launch, too

    def add(self, fault: KernelFault) -> None:
        """Tells of a fault, if nobody has."""
        if not any(fault is known for known in self.faults):
            self.faults.append(fault)
            self._tell(fault)

    def launch(self, launch: Callable[[], Any], function: Any, passed: Iterable[Any] = ()) -> None:
        """Makes a launch of the kernel that was this Python function.

        Where the program goes on behind a fault, what the kernel has left unwritten of the tensors
        that it was passed counts as written: no later kernel is blamed for that.

        Raises:
            KernelFault: what it came to, unless the program goes on.
        """
        __tracebackhide__ = True
        heard: list[KernelFault] = []
        try:
            with self._one_at_a_time, heard_by(None if self._note is None else heard.append):
                launch()
        except KernelFault as fault:
            _place(fault, function)
            if fault.message_id == _OF_NO_PROGRAMS:
                return
            if triton_launches.passed_over(fault):
                raise
            self.add(fault)
            if not self._go_on:
                raise fault.with_traceback(None) from None
            let_out(passed)
        finally:
            self._noted(heard, function)

    def _noted(self, heard: Iterable[KernelFault], function: Any) -> None:
        for fault in heard:
            _place(fault, function)
            if self._note is not None and (fault.filename, fault.line) not in self.notes:
                self.notes[fault.filename, fault.line] = fault
                self._note(fault)


def _place(fault: KernelFault, function: Any) -> None:
    """Notes of which kernel a fault is, where nobody has."""
    name = function.__name__
    fault.happened_in(name, function.__code__.co_filename, kernel=name)


class Handle:
    """What Triton gives back for a launch: the compiled kernel, made when something is asked of it.

    It has what Triton's own has (`asm`, `metadata`, `hash` and the rest), and `handle[grid](*args)`
    launches.
    """

    def __init__(self, kernel: Any, args: tuple, named: dict[str, Any], target: int) -> None:
        self._kernel, self._args = kernel, tuple(map(_standing_for, args))
        self._named = {name: _standing_for(value) for name, value in named.items()}
        self._target = target
        self.name = base_function(kernel).__name__

    def compile(self) -> None:
        """What a warm-up is for.

        Raises:
            KernelFault: what the compiler refuses, or a GPU cannot hold.
        """
        try:
            gate.compile_for(self._kernel, self._args, self._named, self._target)
        except KernelFault as fault:
            fault.dialect = "triton"
            raise

    @cached_property
    def _compiled(self) -> Any:
        source = source_of(self._kernel, self._args, self._named)
        target = GPUTarget("cuda", self._target, 32)
        return triton.compile(written_for(source), target=target, options=source.options)

    @cached_property
    def _resources(self) -> gate.Resources:
        return gate.compile_for(self._kernel, self._args, self._named, self._target)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._compiled, name)

    @property
    def n_regs(self) -> int | None:
        """Registers of a thread."""
        return self._resources.registers

    @property
    def n_spills(self) -> int | None:
        """Bytes that a thread keeps in memory for want of registers."""
        return self._resources.spill_bytes

    def ask_for_memory(self, grid: Any) -> None:
        """As Triton's driver does before a launch that makes tensor maps: none is there but what
        the program allocates, for all its programs and the default stream. A branch that the
        compiler leaves out makes none.
        """
        if self._target >= _OF_TENSOR_MAPS and makes_descriptors(base_function(self._kernel)):
            self.compile()
            made = self.metadata
            if made.global_scratch_size:
                given = bound(base_function(self._kernel), self._args, self._named)
                size = math.prod(extent(grid, given)) * made.num_ctas * made.global_scratch_size
                _allocation._allocator.get()(size, made.global_scratch_align, 0)

    def _init_handles(self) -> None:
        """On a GPU the kernel is loaded here."""

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        options = {n: v for n, v in self._named.items() if n not in self._kernel.arg_names}
        return lambda *args, **named: self._kernel[grid](*args, **options, **named)


def _standing_for(value: Any) -> Any:
    """A dtype, which a warm-up may pass in a tensor's place."""
    dtype = value if isinstance(value, torch.dtype) else getattr(value, "dtype", None)
    if isinstance(value, torch.Tensor) or not isinstance(dtype, torch.dtype):
        return value
    return torch.empty(16, dtype=dtype)


def _pointed_at(space: Space, value: Any) -> Any:
    """What stands for an object with a dtype and an address, which Triton takes as a pointer."""
    tells, dtype = getattr(value, "data_ptr", None), getattr(value, "dtype", None)
    if isinstance(value, torch.Tensor) or not (callable(tells) and isinstance(dtype, torch.dtype)):
        return value
    tensor = space.tensor_at(tells(), dtype)
    return value if tensor is None else tensor.as_subclass(Reachable)


def _reached(values: Iterable[Any], space: Space) -> list[Any]:
    """The tensors that a kernel may write to: passed, of a descriptor, or by a kept address."""
    return [getattr(value, "base", value) for value in values] + space.asked()


def _require_within_reach(arguments: Iterable[tuple[str, Any]], by: str = "Triton") -> None:
    """As Triton and Numba do on a GPU; Triton says ValueError, too.

    Raises:
        ValueError: for a tensor that the program has left on the CPU.
    """
    for name, value in arguments:
        if isinstance(value, torch.Tensor) and not within_reach(value):
            raise ValueError(
                f"{name} is a tensor on the CPU, which no kernel can reach: {by} refuses it on a "
                f"GPU, too. Make it there, or pass {name}.cuda()."
            )


def _require_one_piece(arguments: Iterable[Any]) -> None:
    """As Numba does of the host's arrays, which it copies to the GPU and back.

    Raises:
        ValueError: for a view whose elements do not lie side by side, in Numba's words.
    """
    for value in arguments:
        given = value.value if isinstance(value, ArgHint) else value
        if isinstance(given, np.ndarray) and not isinstance(given, numba_launches.DeviceArray):
            devicearray.sentry_contiguous(given)


def started(target: int, bounds: str, unwritten: str, found: Findings) -> None:
    """From here on a program of this process finds a GPU, and `found` hears of its launches.

    Args:
        target: the GPU's compute capability, 90 for 9.0.
        bounds: "view", or "allocation": how far a kernel may reach.
        unwritten: "told", or "let" where a kernel may load what nothing has written.

    Raises:
        KernelFault: NOT_MEASURED with a Triton, NotHereError with a torch, that is too strange.
    """
    require_right_counts()
    triton_launches.whole_allocations = bounds == "allocation"
    mode = host.install(target)
    triton_launches.space = mode.space
    mode.marks = numba_launches.marks_unwritten = unwritten == "told"
    numba_launches.step_limit = _STEP_LIMIT
    on_engine, of_numba = JITFunction.run, Configured.__call__
    tell_of_a_child = children.watch()

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **named: Any) -> Handle:
        __tracebackhide__ = True
        args = tuple(_pointed_at(mode.space, value) for value in args)
        named = {name: _pointed_at(mode.space, value) for name, value in named.items()}
        tell_of_a_child()
        with mode.paused():
            handle, function = Handle(self, args, named, target), base_function(self).fn
            if warmup:
                found.launch(handle.compile, function)
                return handle
            _require_within_reach(zip(self.arg_names, args, strict=False))
            _require_within_reach(named.items())
            passed = _reached((*args, *named.values()), mode.space)

            def launch() -> None:
                with mode.resumed():
                    handle.ask_for_memory(grid)
                on_engine(self, *args, grid=grid, warmup=False, **named)

            found.launch(launch, function, passed)
            return handle

    def call(self: Any, *args: Any, **named: Any) -> None:
        tell_of_a_child()
        with mode.paused():
            names = self.dispatcher.py_func.__code__.co_varnames
            _require_within_reach(zip(names, args, strict=False), "Numba")
            _require_one_piece(args)
            # the engine of Numba's kernels marks nothing that they write of torch's
            let_out(value for value in args if isinstance(value, torch.Tensor))
            found.launch(lambda: of_numba(self, *args, **named), self.dispatcher.py_func, args)
            host.launched(self.dispatcher, args)

    JITFunction.run = run
    Configured.__call__ = call  # type: ignore[method-assign]  # as its own `install` does
