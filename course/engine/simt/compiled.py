"""What NVVM makes of a kernel: its PTX. NVVM comes with NVIDIA's toolkit, or in a wheel.

No GPU and no driver is asked.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba import cuda
from numba.cuda.cudadrv import nvvm
from numba.cuda.cudadrv.error import NvvmSupportError

from course.engine.simt import numbas_word

#: The wheel that brings NVVM: `pip install nvidia-cuda-nvcc-cu12`.
_IN_THE_WHEEL = Path("cuda_nvcc", "nvvm")


@functools.cache
def has_nvvm() -> bool:
    """Whether NVVM is here: one that Numba finds by itself, or a wheel's."""
    wheels = find_spec("nvidia")
    homes = (wheels and wheels.submodule_search_locations) or ()
    return _loads() or any(_is_the_wheels(Path(home) / _IN_THE_WHEEL) for home in homes)


def _loads() -> bool:
    try:
        nvvm.NVVM()
    except NvvmSupportError:
        return False
    return nvvm.get_libdevice() is not None


def _is_the_wheels(folder: Path) -> bool:
    """Has Numba look for NVVM there, if there is one."""
    library, libdevice = folder / "lib64" / "libnvvm.so", folder / "libdevice" / "libdevice.10.bc"
    if not library.exists():
        return False
    nvvm.open_cudalib = lambda _: ctypes.CDLL(str(library))
    nvvm.get_libdevice = functools.partial(str, libdevice)
    nvvm.open_libdevice = libdevice.read_bytes
    return _loads()


def ptx_of(
    kernel: Callable[..., Any], argument_types: tuple[Any, ...], target: int, **options: Any
) -> str:
    """The PTX of a kernel, a Python function, for a compute capability (90 for 9.0).

    Args:
        options: `fastmath` and `opt`, as `cuda.jit` takes them.

    Raises:
        NumbaError: where Numba does not compile it.
    """
    with numbas_word.called_from_kernels():
        made, _ = cuda.compile_ptx(kernel, argument_types, cc=divmod(target, 10), **options)
    return str(made)
