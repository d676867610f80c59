"""Launching without a GPU: `kernel[grid, block](...)` as Numba spells it, on the engine.

Importing `course` installs this. Nothing is faked in Numba's modules: only the launch of a
kernel is taken over, and on a machine without a GPU those host functions that would raise
for want of a driver (`to_device`, `device_array`, streams, events, pinned arrays).
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import cuda
from numba.cuda.dispatcher import CUDADispatcher

from course.faults import KernelFault
from course.simt import signatures
from course.simt.cell import Function, live_function
from course.simt.configuration import (
    Configuration,
    configuration,
    for_all,
    refused,
    shared_bytes,
)
from course.simt.launch import launch
from course.traffic import Traffic, merged

_functions: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
_measuring: list[list[Traffic]] = []


def function_of(dispatcher: Any) -> Function:
    """The Function of a live `@cuda.jit` object, read once."""
    found = _functions.get(dispatcher)
    if found is None:
        found = _functions[dispatcher] = live_function(dispatcher)
    return found


@cache
def has_gpu() -> bool:
    """Whether Numba finds a GPU and its driver here."""
    with contextlib.suppress(Exception):
        return bool(cuda.is_available())
    return False


class Measured(Traffic):
    """The traffic of everything launched inside `with course.measure()`."""

    def _take(self, parts: list[Traffic]) -> None:
        self.__dict__.update(merged(parts).__dict__)


@contextlib.contextmanager
def measure() -> Iterator[Traffic]:
    """Runs every launch inside on the engine, metered, and adds up what it asks of memory.

    ``with course.measure() as traffic: kernel[grid, block](a, b)`` then `traffic.loads.sectors`
    and the rest. Measures nest; a kernel that fails leaves the counts so far.
    """
    parts: list[Traffic] = []
    result = Measured()
    _measuring.append(parts)
    try:
        yield result
    finally:
        # by identity: nested measures of the same launches are equal lists
        del _measuring[next(n for n, other in enumerate(_measuring) if other is parts)]
        result._take(parts)


def run_on_engine(
    dispatcher: Any,
    args: Sequence[Any],
    grid: Any,
    block: Any,
    dynamic_bytes: Any = 0,
    **options: Any,
) -> Traffic:
    """Launches a live kernel on the engine; arrays that lie on a GPU come and go.

    Raises:
        KernelFault: what the launch or the kernel did wrong.
    """
    function = function_of(dispatcher)
    if function.device:
        raise refused("device_function", function.name)
    local = [
        a.copy_to_host() if hasattr(a, "copy_to_host") and not isinstance(a, np.ndarray) else a
        for a in args
    ]
    try:
        traffic = launch(function, local, grid, block, shared_bytes(dynamic_bytes), **options)
    except KernelFault as fault:
        fault.happened_in(function.name, function.filename, kernel=function.name)
        if fault.traffic is not None:
            for parts in _measuring:
                parts.append(fault.traffic)
        raise
    finally:
        for given, here in zip(args, local, strict=True):
            if given is not here:
                given.copy_to_device(here)
    for parts in _measuring:
        parts.append(traffic)
    return traffic


class Trace:
    """A kernel that, when launched, prints the steps of one thread."""

    def __init__(self, kernel: Any, block: Any, thread: Any, most_steps: int) -> None:
        self.kernel, self.block, self.thread, self.most_steps = kernel, block, thread, most_steps
        self.lines: list[str] = []

    def __getitem__(self, given: Any) -> Any:
        chosen = configuration(_name(self.kernel), given)

        def run(*args: Any) -> None:
            self.lines = []
            try:
                run_on_engine(
                    self.kernel,
                    args,
                    chosen.grid,
                    chosen.block,
                    chosen.shared_bytes,
                    watch=self._watcher(),
                )
            finally:
                print("\n".join(self.lines) or "that thread executed nothing")

        return run

    def _watcher(self) -> Any:
        import inspect

        source, start = inspect.getsourcelines(self.kernel.py_func)
        before: dict[str, str] = {}

        def watch(lanes: Any, line: int) -> None:
            here = _lane(lanes, self.block, self.thread)
            if here is None or len(self.lines) > self.most_steps:
                return
            thread, block = here
            if not np.broadcast_to(lanes.full(lanes.mask), (lanes.threads, lanes.blocks))[here]:
                return
            if len(self.lines) == self.most_steps:
                self.lines.append(f"... (the first {self.most_steps} steps)")
                return
            news = []
            for name, value in lanes.vars.items():
                if isinstance(value, np.ndarray) and not name.startswith("%"):
                    text = str(lanes.spread(value)[thread, block])
                    if before.get(name) != text:
                        before[name] = text
                        news.append(f"{name} = {text}")
            if self.lines and news:
                self.lines[-1] += "   -> " + ", ".join(news)
            number = line - start
            code = source[number].rstrip() if 0 <= number < len(source) else ""
            self.lines.append(f"line {line:>3}  {code}")

        return watch


def _lane(lanes: Any, block: Any, thread: Any) -> tuple[int, int] | None:
    """(thread, block) in the batch of a traced thread, or None in another batch."""

    def flat(index: Any, extent: tuple[int, int, int]) -> int:
        x, y, z = (*(index if isinstance(index, tuple) else (index,)), 0, 0)[:3]
        return int(x + extent[0] * (y + extent[1] * z))

    number = flat(block, lanes.geometry.grid) - lanes.first
    return (flat(thread, lanes.geometry.block), number) if 0 <= number < lanes.blocks else None


def trace(kernel: Any, block: Any = 0, thread: Any = 0, most_steps: int = 60) -> Any:
    """One thread's steps: ``course.trace(kernel, block=0, thread=3)[grid, threads](a, b)``.

    Prints each line that the thread executes and the variables that changed. Of a Triton kernel
    it follows one program: ``course.trace(kernel, block=2)[grid](x, n, BLOCK=64)``.
    """
    if type(kernel).__module__.startswith("triton."):
        from course.tile import trace as tiles

        return tiles.trace(kernel, block, thread, most_steps)
    if not isinstance(kernel, CUDADispatcher):
        raise refused("not_jitted", str(getattr(kernel, "__name__", kernel))[:40])
    return Trace(kernel, block, thread, most_steps)


# ---------------------------------------------------------------- stand-ins for the host side


class DeviceArray(np.ndarray):
    """A device array on a machine without a device: host memory with Numba's methods."""

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """A host copy, or the values copied into `ary`."""
        if ary is None:
            return np.array(self, copy=True, subok=False)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Takes the values of `ary`."""
        self[...] = ary


class Stream:
    """A stream that has nothing to wait for: launches here end before they return."""

    def synchronize(self) -> None:
        """Everything is done."""

    def __bool__(self) -> bool:
        return True

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """``with stream.auto_synchronize():``"""
        yield self


class Event:
    """A moment on the host's clock."""

    def __init__(self, timing: bool = True) -> None:
        self.seconds = 0.0

    def record(self, stream: Any = 0) -> None:
        """Remembers now."""
        self.seconds = time.perf_counter()

    def synchronize(self) -> None:
        """Everything is done."""

    def wait(self, stream: Any = 0) -> None:
        """Everything is done."""

    def query(self) -> bool:
        """Everything is done."""
        return True

    def elapsed_time(self, later: Event) -> float:
        """Milliseconds from this event to a later one: the engine's time, not a GPU's."""
        return (later.seconds - self.seconds) * 1e3


def _to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> DeviceArray:
    if to is not None:
        to[...] = obj
        return to
    return np.array(obj, copy=True).view(DeviceArray)


def _device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceArray:
    array = np.empty(shape, dtype, order)  # type: ignore[call-overload]  # as Numba's signature
    if array.dtype.kind == "f":
        array.fill(np.nan)  # nobody has written it yet
    return array.view(DeviceArray)


def _device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    return _device_array(ary.shape, ary.dtype)


def _pinned_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C"
) -> np.ndarray:
    return np.empty(shape, dtype, order)  # type: ignore[call-overload]  # as Numba's signature


@contextlib.contextmanager
def _pinned(*arrays: Any) -> Iterator[None]:
    yield


STAND_INS: dict[str, Any] = {
    "to_device": _to_device,
    "device_array": _device_array,
    "device_array_like": _device_array_like,
    "pinned_array": _pinned_array,
    "pinned_array_like": lambda ary: _pinned_array(ary.shape, ary.dtype),
    "mapped_array": _pinned_array,
    "managed_array": _pinned_array,
    "pinned": _pinned,
    "stream": Stream,
    "default_stream": Stream,
    "event": Event,
    "event_elapsed_time": lambda first, second: first.elapsed_time(second),
    "synchronize": lambda: None,
    "defer_cleanup": contextlib.nullcontext,
}


class Configured:
    """A kernel with its grid and block, ready to be launched."""

    def __init__(self, dispatcher: Any, chosen: Configuration | None) -> None:
        self.dispatcher = dispatcher
        self.chosen = chosen

    def __call__(self, *args: Any, **named: Any) -> None:
        if named:
            raise refused("launch_keyword", _name(self.dispatcher), argument=next(iter(named)))
        if self.chosen is not None:
            chosen = self.chosen
            run_on_engine(self.dispatcher, args, chosen.grid, chosen.block, chosen.shared_bytes)


def _name(dispatcher: Any) -> str:
    return str(getattr(getattr(dispatcher, "py_func", None), "__name__", "kernel"))


def _unconfigured(self: Any, *args: Any, **named: Any) -> None:
    raise refused("launch_configuration", _name(self))


def _forall(self: Any, ntasks: Any, tpb: Any = 0, stream: Any = 0, sharedmem: Any = 0) -> Any:
    return Configured(self, for_all(_name(self), ntasks, tpb, sharedmem))


#: methods of a kernel that ask a driver, or answer a mistake with a traceback
WITHOUT_DRIVER: dict[str, Any] = {
    "__getitem__": lambda self, given: Configured(self, configuration(_name(self), given)),
    "__call__": _unconfigured,
    "forall": _forall,
    "compile": signatures.note,
    "compile_device": signatures.note,
    "disable_compile": lambda self, val=True: None,
}


def install() -> None:
    """Takes over the launch of kernels, once."""
    if getattr(CUDADispatcher, "_course_installed", False):
        return
    numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small grids are what a lesson is made of
    on_gpu = CUDADispatcher.call

    def call(self: Any, args: Any, *launched: Any) -> Any:
        # Numba passes grid, block, stream and shared bytes; numba-cuda one object that has them
        if _measuring or not has_gpu():
            if len(launched) == 1:
                settings = launched[0]
                grid, block, dynamic = settings.griddim, settings.blockdim, settings.sharedmem
            else:
                grid, block, _, dynamic = launched
            run_on_engine(self, args, grid, block, dynamic)
            return None
        return on_gpu(self, args, *launched)

    CUDADispatcher.call = call
    CUDADispatcher._course_installed = True
    if has_gpu():
        return
    for name, stand_in in STAND_INS.items():
        setattr(cuda, name, stand_in)
    for name, method in WITHOUT_DRIVER.items():
        setattr(CUDADispatcher, name, method)
