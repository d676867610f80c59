"""Launching without a GPU: `kernel[grid, block](...)` as Numba spells it, on the engine.

Importing `course` installs this. Nothing is faked in Numba's modules: only the launch of a
kernel is taken over, and on a machine without a GPU those host functions that would raise
for want of a driver (`to_device`, `device_array`, streams, events, pinned arrays).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba import cuda
from numba.cuda import args as passing
from numba.cuda.cudadrv import devicearray
from numba.cuda.dispatcher import CUDADispatcher
from numpy.lib.stride_tricks import as_strided

from course.engine.cell.numba import live_function
from course.engine.faults import KernelFault
from course.engine.simt.configuration import (
    Configuration,
    configuration,
    for_all,
    refused,
    shared_bytes,
)
from course.engine.simt.launch import STEP_LIMIT, launch
from course.engine.simt.lowering import signatures
from course.engine.simt.running.memory import initialised, uninitialised
from course.engine.traffic import Traffic
from course.gpu.present import switched_off
from course.notebook import numba_ufuncs
from course.notebook.measure import measuring, note
from course.words import waiting

#: Whether a kernel is told of that loads what nothing has written (`course.run --unwritten`).
marks_unwritten = True
#: Statements that a batch of blocks may execute before its kernel counts as endless.
step_limit = STEP_LIMIT


def has_gpu() -> bool:
    """Whether launches go to a GPU: Numba finds one and its driver, and none is switched off."""
    return not switched_off() and _found()


@cache
def _found() -> bool:
    with contextlib.suppress(Exception):
        return bool(cuda.is_available())
    return False


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
    function = live_function(dispatcher)
    if function.device:
        raise refused("device_function", function.name)
    local = [
        a.copy_to_host() if hasattr(a, "copy_to_host") and not isinstance(a, np.ndarray) else a
        for a in args
    ]
    try:
        shared = shared_bytes(function.name, dynamic_bytes)
        with waiting.on_a_launch("numba"):
            traffic = launch(function, local, grid, block, shared, **options)
    except KernelFault as fault:
        fault.happened_in(function.name, function.filename, kernel=function.name)
        note(fault.traffic, function.name, function.filename)
        raise
    finally:
        for given, here in zip(args, local, strict=True):
            if given is not here:
                given.copy_to_device(here)
    note(traffic, function.name, function.filename)
    return traffic


# ---------------------------------------------------------------- stand-ins for the host side


class DeviceArray(np.ndarray):
    """A device array on a machine without a device: host memory with Numba's methods."""

    __cuda_ndarray__ = True  # how Numba knows one

    @property
    def alloc_size(self) -> int:
        """Its bytes."""
        return int(self.nbytes)

    def is_c_contiguous(self) -> bool:
        """Whether it lies row after row."""
        return bool(self.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether it lies column after column."""
        return bool(self.flags.f_contiguous)

    def split(self, section: int, stream: Any = 0) -> list[DeviceArray]:
        """Parts of so many elements; the last may have fewer."""
        starts = range(0, self.size, section)
        return [self[start : start + section].view(DeviceArray) for start in starts]

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """A host copy, or the values copied into `ary`.

        Raises:
            TypeError, ValueError: where `ary` has another dtype or another shape, as Numba says it.
        """
        if ary is None:
            return np.array(self, copy=True, subok=False)
        devicearray.check_array_compatibility(self, ary)
        ary[...] = self
        return ary

    def __setitem__(self, index: Any, values: Any) -> None:
        super().__setitem__(index, values)
        initialised(self)

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Takes the values of `ary`: bytes, which nothing converts, into one piece of memory.

        Raises:
            TypeError, ValueError: where `ary` has another dtype or another shape, as Numba says it.
        """
        if ary.size:
            devicearray.sentry_contiguous(self)
            core, given = devicearray.array_core(self), devicearray.array_core(ary)
            if isinstance(ary, DeviceArray):
                devicearray.sentry_contiguous(ary)
            else:
                given = np.asarray(given, order="C" if core.flags.c_contiguous else "F")
            devicearray.check_array_compatibility(core, given)
            self[...] = ary

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        """``array[index]`` in a stream."""
        return self[index]

    def setitem(self, index: Any, values: Any, stream: Any = 0) -> None:
        """``array[index] = values`` in a stream."""
        self[index] = values

    def bind(self, stream: Any = 0) -> DeviceArray:
        """The same memory, copied in this stream."""
        return self


class Stream:
    """A stream that has nothing to wait for: launches here end before they return."""

    def synchronize(self) -> None:
        """Everything is done."""

    def __bool__(self) -> bool:
        return True

    def add_callback(self, callback: Callable[[Any, int, Any], Any], arg: Any = None) -> None:
        """Calls it, with the stream, the status 0 and `arg`."""
        callback(self, 0, arg)

    async def async_done(self) -> None:
        """``await stream.async_done()``: everything is done."""

    def auto_synchronize(self) -> contextlib.AbstractContextManager[Stream]:
        """``with stream.auto_synchronize():``"""
        return contextlib.nullcontext(self)


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
        to.copy_to_device(obj)
        return to
    if isinstance(obj, DeviceArray):
        return obj
    if tells_its_place(obj):
        return _as_device_array(obj)
    given = np.asarray(obj)
    devicearray.sentry_contiguous(given)
    array = np.array(devicearray.array_core(given))
    if array.shape != given.shape:  # what a broadcast repeats is one element there, too
        steps = iter(array.strides)
        array = as_strided(array, given.shape, [step and next(steps) for step in given.strides])
    return array.view(DeviceArray)


def _device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceArray:
    array = np.empty(shape, dtype, order)  # type: ignore[call-overload]  # as Numba's signature
    if array.dtype.kind == "f":
        array.fill(np.nan)  # nobody has written it yet
    if marks_unwritten and array.dtype.kind in "biuf":
        uninitialised(array)
    return array.view(DeviceArray)


def _device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    order = "F" if ary.flags.f_contiguous and not ary.flags.c_contiguous else "C"
    return _device_array(ary.shape, ary.dtype, order=order)


def _pinned_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", **_: Any
) -> np.ndarray:
    return np.empty(shape, dtype, order)  # type: ignore[call-overload]  # as Numba's signature


def _as_device_array(obj: Any, sync: bool = True) -> DeviceArray:
    """What another library has on a GPU: the same memory."""
    if hasattr(obj, "detach"):
        obj = obj.detach().numpy()
    elif isinstance(obj, DeviceArray):
        initialised(obj)  # another library may write it, unseen
    elif tells_its_place(obj):  # of memory here: there is no GPU
        told = SimpleNamespace(__array_interface__=dict(obj.__cuda_array_interface__), owner=obj)
        told.__array_interface__.pop("stream", None)
        obj = told
    return np.asarray(obj).view(DeviceArray)


def tells_its_place(obj: Any) -> bool:
    """Whether it is no array itself, and tells where one lies on a GPU."""
    known = isinstance(obj, np.ndarray) or hasattr(obj, "detach")
    return not known and hasattr(obj, "__cuda_array_interface__")


def _mapped(*arrays: np.ndarray, stream: Any = 0) -> contextlib.AbstractContextManager[Any]:
    """``with cuda.mapped(array) as seen:``: the host's memory, as a kernel sees it."""
    seen = [array.view(DeviceArray) for array in arrays]
    return contextlib.nullcontext(seen[0] if len(seen) == 1 else seen)


STAND_INS: dict[str, Any] = {
    "is_cuda_array": lambda obj: isinstance(obj, DeviceArray) or tells_its_place(obj),
    "as_cuda_array": _as_device_array,
    "to_device": _to_device,
    "device_array": _device_array,
    "device_array_like": _device_array_like,
    "pinned_array": _pinned_array,
    "pinned_array_like": lambda ary: _pinned_array(ary.shape, ary.dtype),
    "mapped": _mapped,
    "mapped_array": _pinned_array,
    "mapped_array_like": lambda ary: _pinned_array(ary.shape, ary.dtype),
    "managed_array": _pinned_array,
    "pinned": lambda *arrays: contextlib.nullcontext(),
    "stream": Stream,
    **dict.fromkeys(
        ("default_stream", "legacy_default_stream", "per_thread_default_stream"), Stream
    ),
    "event": Event,
    "event_elapsed_time": lambda first, second: first.elapsed_time(second),
    "synchronize": lambda: None,
    "defer_cleanup": contextlib.nullcontext,
}


def _passed(argument: Any) -> Any:
    """What a kernel gets: of `cuda.In(array)` a copy, of `cuda.Out` and `cuda.InOut` the array."""
    if isinstance(argument, passing.ArgHint):
        given = argument.value
        return np.array(given) if isinstance(argument, passing.In) else given
    return _as_device_array(argument) if tells_its_place(argument) else argument


class Configured:
    """A kernel with its grid and block, ready to be launched."""

    def __init__(self, dispatcher: Any, chosen: Configuration | None) -> None:
        self.dispatcher = dispatcher
        self.chosen = chosen

    def __call__(self, *args: Any, **named: Any) -> None:
        if named:
            raise refused(
                "launch_keyword", kernel_name(self.dispatcher), argument=next(iter(named))
            )
        if self.chosen is not None:
            chosen = self.chosen
            run_on_engine(
                self.dispatcher,
                [*map(_passed, args)],
                chosen.grid,
                chosen.block,
                chosen.shared_bytes,
                step_limit=step_limit,
            )


def kernel_name(dispatcher: Any) -> str:
    """What the learner called it."""
    return str(getattr(getattr(dispatcher, "py_func", None), "__name__", "kernel"))


def _unconfigured(self: Any, *args: Any, **named: Any) -> None:
    raise refused("launch_configuration", kernel_name(self))


def _forall(self: Any, ntasks: Any, tpb: Any = 0, stream: Any = 0, sharedmem: Any = 0) -> Any:
    return Configured(self, for_all(kernel_name(self), ntasks, tpb, sharedmem))


#: methods of a kernel that ask a driver, or answer a mistake with a traceback
WITHOUT_DRIVER: dict[str, Any] = {
    "__getitem__": lambda self, given: Configured(self, configuration(kernel_name(self), given)),
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
        if measuring() or not has_gpu():
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
    numba_ufuncs.install(DeviceArray)
