"""The GPU that a program finds: torch.cuda, Triton's driver and its benchmarks, Numba's.

`install` changes these modules for the rest of the process.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numba
import numba.cuda
import numpy as np
import torch
import torch.distributed
import triton
import triton.profiler
import triton.testing
from numba.core import sigutils
from numba.cuda.cudadrv import devices, driver
from numba.cuda.dispatcher import CUDADispatcher
from torch.autograd.function import BackwardCFunction
from triton._C import libtriton
from triton.backends.compiler import GPUTarget

from course.engine import stated_gpu
from course.engine.cell.numba import live_function
from course.engine.simt.launch import MAX_GRID, most_together
from course.engine.simt.lowering import signatures
from course.engine.simt.lowering.lower import Lowering
from course.engine.simt.running.memory import initialised
from course.notebook import numba_launches
from course.run import autocast, generators, gpus
from course.run.tensors import CUDA, OnCuda, loading

#: The version of CUDA that torch is said to be made for.
_CUDA = "12.8"


class NotHereError(Exception):
    """What a program asks for and one GPU's stand-in has not; the sentence says what."""


class Stream(numba_launches.Stream):
    """A stream with nothing to wait for, also as ``with torch.cuda.stream(stream):``."""

    cuda_stream = 0
    device = CUDA

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def query(self) -> bool:
        """Everything is done."""
        return True

    def is_capturing(self) -> bool:
        """Whether a CUDA graph is being made of it: none is. Adam asks before each step."""
        return False

    def wait_stream(self, other: Any) -> None:
        """Everything is done."""

    wait_event = wait_stream

    def record_event(self, event: Any = None) -> Event:
        """An event, now."""
        event = event or Event()
        event.record()
        return event


class Event(numba_launches.Event):
    """A moment on the host's clock, as torch makes it."""

    def __init__(self, enable_timing: bool = False, **options: Any) -> None:
        super().__init__()


def _driver(target: int) -> Any:
    """`triton.runtime.driver.active`."""
    return SimpleNamespace(
        utils=SimpleNamespace(get_device_properties=lambda device=0: gpus.of_triton(target)),
        get_current_target=lambda: GPUTarget("cuda", target, stated_gpu.WARP_LANES),
        get_device_capability=lambda device=0: divmod(target, 10),
        get_active_torch_device=lambda: CUDA,
        get_current_device=lambda: 0,
        set_current_device=lambda device: None,
        get_current_stream=lambda device=0: 0,
        get_device_interface=lambda: torch.cuda,
        get_benchmarker=lambda: _do_bench,
        get_empty_cache_for_benchmark=lambda: torch.zeros(1),
        clear_cache=lambda cache: None,
    )


def _do_bench(
    fn: Callable[[], Any],
    *args: Any,
    quantiles: Any = None,
    return_mode: str = "mean",
    **options: Any,
) -> Any:
    """Calls `fn` once; gives the milliseconds that this took here, which are no GPU's."""
    began = time.perf_counter()
    fn()
    took_ms = max((time.perf_counter() - began) * 1e3, 1e-6)
    if quantiles is not None:
        return took_ms if len(quantiles) == 1 else [took_ms] * len(quantiles)
    return [took_ms] if return_mode == "all" else took_ms


def _first_of_each_line(self: Any, *args: Any, **options: Any) -> None:
    """`perf_report(...).run()`: each line of a benchmark at its first size, and no plot."""
    marks = self.benchmarks
    for bench in marks if isinstance(marks, list | tuple) else [marks]:
        first = bench.x_vals[0]
        sizes = first if isinstance(first, list | tuple) else [first] * len(bench.x_names)
        named = dict(zip(bench.x_names, sizes, strict=True))
        told = ", ".join(f"{name}={size}" for name, size in named.items())
        print(f"{bench.plot_name}: run once for each line, at its first size ({told}); not timed")
        for line in bench.line_vals:
            self.fn(**named, **{bench.line_arg: line}, **bench.args)


def _as_written(function: Any = None, *args: Any, **options: Any) -> Any:
    """`torch.compile` and what switches it off: the function as it is written."""
    return function if function is not None else (lambda function: function)


def _empty_strided(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
    """As the code that `torch.compile` writes asks for memory."""
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


class _CublasLt:
    """cuBLAS as Triton brings it for its tutorials: torch's product."""

    def __init__(self, workspace: torch.Tensor) -> None:
        pass

    def matmul(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        """c (M, N) = a (M, K) times b (N, K), turned."""
        c.copy_(a.float() @ b.float().T)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(_no_cublas, name)


def _no_cublas(name: str, *args: Any) -> None:
    raise NotHereError(
        f"The program asks cuBLAS for `{name}`, and here it has its plain product alone, `matmul`. "
        f"Compare with torch's own instead."
    )


def _no_profile(*args: Any, **options: Any) -> None:
    raise NotHereError(
        "The program takes times on a GPU (Proton), and there is none here. Run the part of it "
        "that checks its results."
    )


def _no_group(backend: Any = None, *args: Any, **options: Any) -> None:
    raise NotHereError(
        f"The program wants a group of processes (torch.distributed, {backend or 'NCCL'}): there "
        f"is one GPU here, in one process. Run a part of it that needs no other GPU."
    )


class _Graph:
    """`torch.cuda.CUDAGraph`: nothing here keeps what is launched, to launch it again."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotHereError(
            "The program captures a CUDA graph (torch.cuda.CUDAGraph), and none is kept here. Call "
            "what it captures, each time that it would replay the graph."
        )


def _of_no_compiler(name: str) -> Callable[..., None]:
    """A function that asks for what Numba's compiler makes."""

    def asked(*args: Any, **options: Any) -> None:
        raise NotHereError(
            f"The program asks for what Numba's compiler makes of a kernel, {name}: that takes the "
            f"CUDA toolkit and a driver, and here the kernel's source is run. Leave this out here."
        )

    return asked


class _Compiled:
    """One of `kernel.overloads`: a kernel for arguments of these types."""

    def __init__(self, dispatcher: Any, arguments: tuple[Any, ...]) -> None:
        self._dispatcher, self.argument_types = dispatcher, arguments

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """How many blocks of a launch may wait for each other, by threads and shared memory.

        On a GPU a thread's registers limit them, too: how many it takes `ptxas` alone knows, of
        the PTX that Numba's compiler makes, and neither is here.
        """
        taken = tuple(map(signatures.engine_type, self.argument_types))
        program = Lowering(live_function(self._dispatcher)).kernel(taken)
        threads = math.prod(blockdim) if isinstance(blockdim, tuple) else blockdim
        return most_together(threads, program.shared_bytes + dynsmemsize)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _of_no_compiler(f"`kernel.overloads[...].{name}`")()


def _compile(dispatcher: Any, arguments: Any, result: Any = None) -> _Compiled:
    """As a kernel is compiled for types that its decorator declares, or a launch has."""
    signatures.note(dispatcher, arguments, result)
    return _noted(dispatcher, sigutils.normalize_signature(arguments)[0])


def _noted(dispatcher: Any, types: tuple[Any, ...]) -> _Compiled:
    made: _Compiled = dispatcher.overloads.setdefault(types, _Compiled(dispatcher, types))
    return made


def launched(dispatcher: Any, args: Sequence[Any]) -> None:
    """From now on a kernel is compiled for these arguments, unless its decorator declares types."""
    if not signatures.declared(dispatcher):
        local = [numba_launches.STAND_INS["as_cuda_array"](a) if _is_array(a) else a for a in args]
        plain = [np.asarray(one) if isinstance(one, np.ndarray) else one for one in local]
        _noted(dispatcher, tuple(map(numba.typeof, plain)))


def _is_array(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or numba_launches.tells_its_place(value)


#: Of a kernel, and of `numba.cuda`: what tells of the code that Numba's compiler makes.
_OF_KERNELS = (
    *("inspect_asm", "inspect_llvm", "inspect_sass", "inspect_sass_cfg", "inspect_types"),
    *("get_regs_per_thread", "get_const_mem_size", "get_shared_mem_per_block"),
    *("get_max_threads_per_block", "get_local_mem_per_thread"),
)
_COMPILING = (
    "compile", "compile_ptx", "compile_for_current_device", "compile_ptx_for_current_device",
)  # fmt: skip


#: Of torch.cuda: what a call makes here, by the functions that make it.
_MADE: tuple[tuple[Callable[[], Any], str], ...] = (
    (
        lambda: None,
        "init synchronize empty_cache ipc_collect set_device set_stream "
        "reset_peak_memory_stats reset_max_memory_allocated",
    ),
    (lambda: True, "is_available is_initialized"),
    (Counter, "memory_stats"),
    (str, "memory_summary"),
    (bool, "is_current_stream_capturing"),
    (
        int,
        "_exchange_device _maybe_exchange_device "
        "current_device memory_allocated max_memory_allocated memory_reserved max_memory_reserved",
    ),
    (contextlib.nullcontext, "stream _DeviceGuard"),
    (Stream, "current_stream default_stream"),
)


def _calling(make: Callable[[], Any]) -> Callable[..., Any]:
    """A function of its own for each name: torch tells its functions apart by what they are."""
    return lambda *args, **options: make()


def install(target: int) -> OnCuda:
    """A GPU of this compute capability (90 for 9.0) for the rest of the process.

    Returns:
        the mode that all of torch passes through from here on.
    """
    known, of_generators = gpus.of_torch(target), generators.of_torch_cuda()
    mode, (of_autocast, told_of_it) = OnCuda(), autocast.stand_ins()
    warnings.filterwarnings("ignore", "Warning only once for all operators", UserWarning)
    for module, stand_ins in (
        (torch.cuda, _of_torch_cuda(known)),
        *((module, of_generators) for module in (torch.cuda, torch.cuda.random)),
        (torch, _of_torch(mode)),
        (torch.Tensor, {"record_stream": lambda self, stream: None}),
        (torch.UntypedStorage, {"data_ptr": _placed(mode, torch.UntypedStorage.data_ptr)}),
        (torch.compiler, {"disable": _as_written}),
        (torch.version, {"cuda": _CUDA}),
        (torch._C, {"_cuda_getCurrentRawStream": lambda device: 0}),
        (torch._C._dynamo.guards, {"_empty_strided_cuda": _empty_strided}),
        (torch.autocast, of_autocast),
        (torch, told_of_it),
        (torch._C, _of_accelerators()),
        (
            torch.cuda.nvtx,
            {name: _calling(lambda: 0) for name in ("range_push", "range_pop", "mark")},
        ),
        (torch.library, _of_libraries(mode)),
        (torch.library.Library, {"impl": _implementing(mode, torch.library.Library.impl)}),
        (torch.distributed, {"init_process_group": _no_group}),
        (libtriton.nvidia.cublas, {"CublasLt": _CublasLt}),
        (triton.profiler, {"start": _no_profile}),
        (triton.testing, {"do_bench": _do_bench, "do_bench_cudagraph": _do_bench}),
        (triton.testing.Mark, {"run": _first_of_each_line}),
        (BackwardCFunction, {"apply": _in(mode, BackwardCFunction.apply)}),
        (threading.Thread, {"start": _starting(mode, threading.Thread.start)}),
        (numba.cuda, numbas := _of_numba(known)),
        (CUDADispatcher, {"compile": _compile, "specialize": lambda kernel, *args: kernel}),
        (CUDADispatcher, {name: _of_no_compiler(f"`kernel.{name}`") for name in _OF_KERNELS}),
        (numba.cuda, {name: _of_no_compiler(f"`cuda.{name}`") for name in _COMPILING}),
        (numba_launches.DeviceArray, {"__cuda_array_interface__": property(_interface)}),
        (driver.driver, {"get_version": lambda: tuple(map(int, _CUDA.split(".")))}),
        (driver.driver, {"get_device_count": lambda: 1}),
        (devices, {"get_context": numbas["current_context"], "gpus": numbas["gpus"]}),
    ):
        for name, stand_in in stand_ins.items():
            setattr(module, name, stand_in)
    triton.runtime.driver.set_active(_driver(target))
    mode.__enter__()
    require_stand_ins()
    return mode


def _placed(mode: OnCuda, on_host: Callable[[Any], int]) -> Callable[[Any], int]:
    """Where a storage lies, as its tensors' `data_ptr` tells."""
    return lambda storage: (
        on_host(storage) if mode.passes(storage) else mode.space.place_of(storage)
    )


class _Doubled(torch.autograd.Function):
    """A function whose backward makes a tensor on the GPU."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * torch.full_like(gradient, 2, device="cuda")


def require_stand_ins() -> None:
    """Tries what hangs on torch's insides.

    Raises:
        NotHereError: where this version of torch has others.
    """
    try:
        x = torch.ones(2, device="cuda", requires_grad=True)
        _Doubled.apply(x).sum().backward()
        right = x.device == CUDA and x.cpu().device.type == "cpu" == torch.ones(1).device.type
        right = right and x.grad is not None and x.grad.tolist() == [2, 2]
    except Exception:
        right = False
    if not right:
        raise NotHereError(
            f"The stand-ins for a GPU do not work with torch {torch.__version__}: install a "
            f"version that the course names (requirements.txt)."
        )


def _of_torch(mode: OnCuda) -> dict[str, Any]:
    def set_default_device(device: Any = None) -> None:
        mode.default = torch.device(device or "cpu")

    return {
        "compile": _as_written,
        "load": loading(torch.load),
        "Generator": generators.Generator,
        "set_default_device": set_default_device,
        "get_default_device": lambda: mode.default,
    }


def _of_accelerators() -> dict[str, Any]:
    """What `torch.accelerator` asks of torch: there is no allocator, and no statistics of one."""
    return {
        "_get_accelerator": lambda check=None: torch.device("cuda"),
        "_accelerator_getAccelerator": lambda: torch.device("cuda"),
        "_accelerator_getDeviceIndex": lambda: 0,
        "_accelerator_setDeviceIndex": lambda index: None,
        "_accelerator_exchangeDevice": lambda index: 0,
        "_accelerator_maybeExchangeDevice": lambda index: 0,
        "_accelerator_getStream": lambda index: Stream(),
        "_accelerator_setStream": lambda stream: None,
        "_accelerator_synchronizeDevice": lambda index: None,
        "_accelerator_isAllocatorInitialized": lambda: False,
        "_accelerator_emptyHostCache": lambda: None,
        "_accelerator_getMemoryInfo": lambda index: torch.cuda.mem_get_info(),
        "_accelerator_getDeviceStats": lambda index: {},
        "_accelerator_resetPeakStats": lambda index: None,
        "_accelerator_resetAccumulatedStats": lambda index: None,
    }


#: Of an operator of the program's: what is there for a GPU, by the names that torch has for that.
_ELSEWHERE = {"cuda": "cpu", "CUDA": "CPU"}


def _of_libraries(mode: OnCuda) -> dict[str, Any]:
    """Operators that a program registers: what it has for the GPU is for its tensors here, and
    runs as a program does, which torch's dispatcher has left.
    """
    names = ("custom_op", "triton_op", "register_kernel", "impl")
    return {name: _implementing(mode, getattr(torch.library, name)) for name in names}


def _implementing(mode: OnCuda, register: Callable[..., Any]) -> Callable[..., Any]:
    def registers(*given: Any, **named: Any) -> Any:
        made = register(*map(told, given), **{name: told(value) for name, value in named.items()})
        return (lambda function: made(told(function))) if inspect.isfunction(made) else made

    def told(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(map(told, value))
        if inspect.isfunction(value):
            return _in(mode, value)
        return _ELSEWHERE.get(value, value) if isinstance(value, str) else value

    return registers


def _in(mode: OnCuda, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, as a program calls it."""

    @functools.wraps(function)
    def run(*given: Any, **named: Any) -> Any:
        with mode.resumed():
            return function(*given, **named)

    return run


def _starting(mode: OnCuda, start: Callable[[Any], None]) -> Callable[[Any], None]:
    """Threads of the program's pass through the mode, too; the engine's own do not."""

    def starts(thread: Any) -> None:
        if not mode.is_paused:
            thread.run = _in(mode, thread.run)
        start(thread)

    return starts


def _of_torch_cuda(known: Any) -> dict[str, Any]:
    return {
        **{name: _calling(make) for make, names in _MADE for name in names.split()},
        "device_count": lambda: 1,
        "is_bf16_supported": lambda *args, **options: known.major >= 8,
        "get_device_properties": lambda device=None: known,
        "get_device_capability": lambda device=None: (known.major, known.minor),
        "get_device_name": lambda device=None: known.name,
        "mem_get_info": lambda device=None: (known.total_memory, known.total_memory),
        "Stream": Stream,
        "Event": Event,
        "CUDAGraph": _Graph,
    }


def _interface(array: np.ndarray) -> dict[str, Any]:
    """How a device array tells other libraries where it lies (CUDA Array Interface, version 3)."""
    initialised(array)
    return {
        "shape": array.shape,
        "strides": None if array.flags.c_contiguous else array.strides,
        "data": (array.ctypes.data, not array.flags.writeable),
        "typestr": array.dtype.str,
        "stream": None,
        "version": 3,
    }


#: What each of these GPUs can.
_OF_EVERY_GPU = (
    *("UNIFIED_ADDRESSING", "CAN_MAP_HOST_MEMORY", "MANAGED_MEMORY", "CONCURRENT_KERNELS"),
    "COOPERATIVE_LAUNCH",
)


class _Entered(SimpleNamespace):
    """What stands in a `with` and has nothing to do there."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class _Device(_Entered):
    """One of `cuda.gpus`, also as ``with cuda.gpus[0]:``."""

    def __getattr__(self, name: str) -> Any:
        if name.isupper():
            raise NotHereError(
                f"The program asks for {name} of its GPU, which is not known of the one that "
                f"stands here. Leave this out here, or write the number that the program needs."
            )
        raise AttributeError(f"a GPU has no `{name}`")


class _Devices(tuple[_Device, ...]):
    """`cuda.gpus`."""

    @property
    def current(self) -> _Device:
        return self[0]

    lst = property(list)


def _of_numba(known: Any) -> dict[str, Any]:
    device = _Device(
        id=0,
        uuid="GPU-00000000-0000-0000-0000-000000000000",
        name=known.name.encode(),
        compute_capability=(known.major, known.minor),
        WARP_SIZE=known.warp_size,
        MULTIPROCESSOR_COUNT=known.multi_processor_count,
        MAX_THREADS_PER_BLOCK=1024,
        MAX_SHARED_MEMORY_PER_BLOCK=known.shared_memory_per_block,
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=known.shared_memory_per_block_optin,
        MAX_SHARED_MEMORY_PER_MULTIPROCESSOR=known.shared_memory_per_multiprocessor,
        MAX_THREADS_PER_MULTI_PROCESSOR=known.max_threads_per_multi_processor,
        MAX_REGISTERS_PER_BLOCK=known.regs_per_multiprocessor,
        MAX_REGISTERS_PER_MULTIPROCESSOR=known.regs_per_multiprocessor,
        TOTAL_CONSTANT_MEMORY=64 << 10,
        L2_CACHE_SIZE=known.L2_cache_size,
        COMPUTE_CAPABILITY_MAJOR=known.major,
        COMPUTE_CAPABILITY_MINOR=known.minor,
        INTEGRATED=0,
        **dict.fromkeys(_OF_EVERY_GPU, 1),
        **{f"MAX_BLOCK_DIM_{axis}": n for axis, n in zip("XYZ", (1024, 1024, 64), strict=True)},
        **{f"MAX_GRID_DIM_{axis}": n for axis, n in zip("XYZ", MAX_GRID, strict=True)},
        synchronize=lambda: None,
        reset=lambda: None,
    )
    gpus = _Devices([device])
    memory = numba.cuda.MemoryInfo(known.total_memory, known.total_memory)
    context = _Entered(
        device=device, get_memory_info=lambda: memory, synchronize=lambda: None,
        reset=lambda: None, deallocations=SimpleNamespace(clear=lambda: None),
    )  # fmt: skip
    return {
        "is_available": lambda: True,
        "detect": lambda: True,
        "get_current_device": lambda: device,
        "select_device": lambda number=0: device,
        "close": lambda: None,
        "list_devices": lambda: gpus,
        "gpus": gpus,
        "current_context": lambda devnum=None: context,
        "profile_start": lambda: None,
        "profile_stop": lambda: None,
        "profiling": contextlib.nullcontext,
        "external_stream": Stream,
    }
