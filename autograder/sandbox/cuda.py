"""CUDA's driver by ctypes: what it takes to load machine code, to launch it and to time that."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

#: <cuda.h>: the limit on a function's dynamic shared memory; a float array's fill by TMA.
_MOST_SHARED, _FILLED_WITH_NAN = 8, 1
_PROMOTION_128B = 2
_MAP_BYTES, _MAP_ALIGNMENT = 128, 64
#: As Triton's launcher has them: TMA's own numbers of types on the device, and the host's.
_HOST_TYPES = {8: 10, 9: 8, 10: 9}
_UNITS = {1: "8", 2: "16", 4: "32"}


class CudaError(Exception):
    """What the driver says, by its name: CUDA_ERROR_ILLEGAL_ADDRESS."""


class Driver:
    """The first visible GPU, for this process."""

    def __init__(self, library: str) -> None:
        try:
            self._cuda = ctypes.CDLL(library)
        except OSError as error:
            raise CudaError(f"CUDA driver library cannot be found ({error})") from error
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *args: Any) -> None:
        """Raises CudaError unless the driver says that all is well."""
        code = getattr(self._cuda, name)(*args)
        if code:
            said = ctypes.c_char_p()
            self._cuda.cuGetErrorName(code, ctypes.byref(said))
            raise CudaError(f"{(said.value or b'an unknown error').decode()} of {name}")

    def room(self, count_bytes: int) -> int:
        """The address of so many bytes on the GPU."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(count_bytes, 1)))
        return address.value

    def put(self, address: int, data: bytes) -> None:
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

    def fetched(self, address: int, count_bytes: int) -> bytearray:
        data = bytearray(count_bytes)
        there = (ctypes.c_char * count_bytes).from_buffer(data)
        self.call("cuMemcpyDtoH_v2", there, ctypes.c_uint64(address), ctypes.c_size_t(count_bytes))
        return data

    def fill(self, address: int, count_bytes: int, element: bytes) -> None:
        """Begins to fill memory with an element; of 8 bytes, one whose halves are equal."""
        if len(element) == 8 and element[:4] == element[4:]:
            element = element[:4]
        if len(element) not in _UNITS:
            raise CudaError("no fill of 8 bytes whose halves differ")
        unit = ctypes.c_uint(int.from_bytes(element, "little"))
        count = ctypes.c_size_t(count_bytes // len(element))
        name = f"cuMemsetD{_UNITS[len(element)]}Async"
        self.call(name, ctypes.c_uint64(address), unit, count, None)

    def function(self, binary: bytes, name: str, shared_bytes: int) -> ctypes.c_void_p:
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), binary)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        self.call("cuFuncSetAttribute", function, _MOST_SHARED, shared_bytes)
        return function

    def launch(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        parameters: Any,
    ) -> None:
        sides = [ctypes.c_uint(n) for n in (*grid, *block, shared_bytes)]
        self.call("cuLaunchKernel", function, *sides, None, parameters, None)

    def event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def record(self, event: ctypes.c_void_p) -> None:
        self.call("cuEventRecord", event, None)

    def us(self, begin: ctypes.c_void_p, end: ctypes.c_void_p) -> float:
        """Microseconds between two events, once the later one is over."""
        ms = ctypes.c_float()
        self.call("cuEventSynchronize", end)
        self.call("cuEventElapsedTime", ctypes.byref(ms), begin, end)
        return 1000 * ms.value

    def wait(self) -> None:
        self.call("cuCtxSynchronize")

    def tensor_map(
        self, address: int, about: dict[str, Any], shape: list[int], strides: list[int], nan: bool
    ) -> Any:
        """A descriptor as TMA reads it; shape and strides in elements, the last axis fastest."""
        buffer = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGNMENT)
        start = -ctypes.addressof(buffer) % _MAP_ALIGNMENT
        made = (ctypes.c_char * _MAP_BYTES).from_buffer(buffer, start)
        rank, size, kind = len(shape), about["elem_size"], about["elem_type"]
        self.call(
            "cuTensorMapEncodeTiled",
            made,
            _HOST_TYPES.get(kind, kind),
            rank,
            ctypes.c_uint64(address),
            _numbers(ctypes.c_uint64, reversed(shape)),
            _numbers(ctypes.c_uint64, (size * n for n in reversed(strides[:-1]))),
            _numbers(ctypes.c_uint32, reversed(about["block_size"])),
            _numbers(ctypes.c_uint32, [1] * rank),
            0,
            about["swizzle"],
            _PROMOTION_128B,
            _FILLED_WITH_NAN if nan else 0,
        )
        return made


def _numbers(kind: Any, values: Iterable[int]) -> Any:
    listed = list(values)
    return (kind * max(len(listed), 1))(*listed)
