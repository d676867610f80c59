"""`@vectorize(target="cuda")`, `@guvectorize` and `@cuda.reduce` without a GPU.

What Numba does of them on the host stays Numba's; the kernels that it writes run on the engine.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda import deviceufunc
from numba.cuda.kernels import reduction
from numba.cuda.vectorizers import (
    CUDAGeneralizedUFunc,
    CUDAGUFuncVectorize,
    CUDAUFuncMechanism,
    CUDAVectorize,
)

from course.engine.faults import not_measured


def _core(self: Any, sig: Any) -> tuple[Any, Any]:
    """The function of one element, and the type that it is declared to give."""
    if sig.return_type is None:
        raise not_measured(None, "host_vectorised", name=self.pyfunc.__name__)
    return cuda.jit(device=True)(self.pyfunc), sig.return_type


def _globals_of(self: Any, sig: Any) -> dict[str, Any]:
    own = {"__cuda__": cuda, "__core__": cuda.jit(device=True)(self.py_func)}
    return self.py_func.__globals__ | own


_written: list[str] = []  # the kernel that Numba has written last


def _noting(write: Callable[..., str]) -> Callable[..., str]:
    def noted(*given: Any) -> str:
        _written[:] = [write(*given)]
        return _written[0]

    return noted


def _kernel(self: Any, function: Any, sig: Any) -> Any:
    """The kernel, where its text can be read."""
    name, (text,) = function.__name__, _written
    code = self.py_func.__code__
    file = f"{name} of {code.co_filename}:{code.co_firstlineno}, as Numba writes it"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = function.__globals__
    exec(compile(text, file, "exec"), names)
    return cuda.jit(names[name])


#: Threads of a block, of all of which one has the sum.
_MOST_THREADS = 128


def _folding(combine: Callable[..., Any], kind: Any) -> Any:
    """The kernel of `@cuda.reduce`. In Numba's a warp's barrier names threads that pass it by."""
    both = cuda.jit(device=True)(combine)

    @cuda.jit
    def fold(values: Any, partials: Any, init: Any, use_init: Any) -> None:
        found = cuda.shared.array(_MOST_THREADS, kind)
        thread = cuda.threadIdx.x
        found[thread] = values[cuda.grid(1)]
        for i in range(cuda.grid(1) + cuda.gridsize(1), values.size, cuda.gridsize(1)):
            found[thread] = both(found[thread], values[i])
        cuda.syncthreads()
        width = cuda.blockDim.x
        while width > 1:
            half = (width + 1) // 2
            if thread < width - half:
                found[thread] = both(found[thread], found[thread + half])
            cuda.syncthreads()
            width = half
        if thread == 0:
            partials[cuda.blockIdx.x] = found[0]
            if use_init and cuda.blockIdx.x == 0:
                partials[0] = both(found[0], init)

    return fold


def install(kind: type[np.ndarray]) -> None:
    """`kind`: of what stands for a device's array."""

    def spread(self: Any, array: Any, shape: Any) -> Any:
        return np.broadcast_to(array, shape).view(kind)

    reduction._gpu_reduce_factory = _folding
    deviceufunc.expand_gufunc_template = _noting(deviceufunc.expand_gufunc_template)
    CUDAVectorize._get_kernel_source = _noting(CUDAVectorize._get_kernel_source)
    CUDAVectorize._compile_core = _core
    CUDAGUFuncVectorize._get_globals = _globals_of
    CUDAVectorize._compile_kernel = CUDAGUFuncVectorize._compile_kernel = _kernel
    CUDAUFuncMechanism.broadcast_device = spread
    CUDAGeneralizedUFunc._broadcast_scalar_input = spread
    CUDAGeneralizedUFunc._broadcast_add_axis = spread
