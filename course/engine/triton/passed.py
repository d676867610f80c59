"""The arguments of a launch: bound to parameters, made into what a kernel reads."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
import triton.language as tl

from course.engine.faults import KernelFault, Outcome
from course.engine.triton.compiling.functions import written_parameters
from course.engine.triton.running.addresses import address_of
from course.engine.triton.running.tensors import Allocation, View, unwritten
from course.engine.triton.running.values import Value, numpy_type, round_bf16

ELEMENTS: dict[torch.dtype, Any] = {
    torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16,
    torch.float32: tl.float32,
    torch.float64: tl.float64,
    torch.int8: tl.int8,
    torch.int16: tl.int16,
    torch.int32: tl.int32,
    torch.int64: tl.int64,
    torch.uint8: tl.uint8,
    torch.uint16: tl.uint16,
    torch.uint32: tl.uint32,
    torch.uint64: tl.uint64,
    torch.bool: tl.int1,
    torch.float8_e4m3fn: tl.float8e4nv,
    torch.float8_e5m2: tl.float8e5,
}
#: What Triton's kernels take on a GPU and this engine does not.
_ELSEWHERE = "torch.float8_"
_NAMED_TYPES: dict[str, Any] = {
    "i1": tl.int1, "u1": tl.int1, "i8": tl.int8, "i16": tl.int16, "i32": tl.int32,
    "i64": tl.int64, "u8": tl.uint8, "u16": tl.uint16, "u32": tl.uint32, "u64": tl.uint64,
    "fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64,
}  # fmt: skip
#: how many warps a program may have: a block of a GPU has at most 1024 threads
WARPS = (1, 2, 4, 8, 16, 32)


def refused(name: str, detail: str) -> KernelFault:
    """An argument that cannot be passed."""
    return KernelFault(Outcome.DOES_NOT_COMPILE, "tile_argument", None, name=name, detail=detail)


def element_of(name: str, tensor: torch.Tensor) -> Any:
    """Triton's type of a tensor's elements.

    Raises:
        KernelFault: where Triton has none, or this engine does not run it.
    """
    found = ELEMENTS.get(tensor.dtype)
    if found is not None:
        return found
    if str(tensor.dtype).startswith(_ELSEWHERE):
        what = f"a tensor of {tensor.dtype}, which the launch passes as `{name}`"
        raise KernelFault(Outcome.NOT_MEASURED, "tile_unsupported", None, detail=what)
    raise refused(name, f"a tensor of {tensor.dtype}, which Triton does not take")


#: Options of a launch that are whole numbers, where they are given; the compiler's are C's.
_WHOLE = {"num_stages", "num_ctas", "maxnreg"}
_LARGEST_OPTION = 1 << 31


def option_names() -> set[str]:
    """What a launch may set beside the parameters: ``num_warps`` and the like."""
    try:
        from triton.backends.nvidia.compiler import CUDAOptions

        own = {field.name for field in dataclasses.fields(CUDAOptions)}
    except ImportError:
        own = set()
    return own | {"num_warps", "num_stages", "num_ctas", "maxnreg", "warmup", "stream", "debug"}


def bound(function: Any, args: tuple, named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by parameter, with defaults; launch options are dropped.

    Raises:
        KernelFault: a parameter without an argument, or the reverse; the line is the launch's,
            which whoever launches knows.
    """
    parameters = [p.name for p in function.params]
    options = option_names()
    own = {name: value for name, value in named.items() if name in parameters}
    for name in named:
        if name not in parameters and name not in options:
            raise KernelFault(
                Outcome.DOES_NOT_COMPILE, "tile_no_parameter", None, kernel=function.__name__,
                name=name, names=", ".join(parameters),
            )  # fmt: skip
    warps = named.get("num_warps", 4)
    if "num_warps" not in parameters and not (isinstance(warps, int) and warps in WARPS):
        raise KernelFault(
            Outcome.DOES_NOT_COMPILE, "tile_warps", None, got=str(warps), choices=WARPS
        )
    for name in _WHOLE - {*parameters}:
        got = named.get(name)
        whole = int(got) if isinstance(got, int | np.integer) else _LARGEST_OPTION
        if got is not None and abs(whole) >= _LARGEST_OPTION:
            raise KernelFault(
                Outcome.DOES_NOT_COMPILE, "tile_option", None, name=name, got=repr(got)[:60]
            )
    if len(args) > len(parameters):
        raise KernelFault(
            Outcome.DOES_NOT_COMPILE, "argument_count", None, got=len(parameters),
            expected=len(args) + len(own), names=", ".join(parameters),
        )  # fmt: skip
    twice = [name for name in parameters[: len(args)] if name in own]
    if twice:
        raise KernelFault(
            Outcome.DOES_NOT_COMPILE, "tile_twice", None, kernel=function.__name__, name=twice[0]
        )
    values = dict(zip(parameters, args, strict=False)) | own
    for parameter in function.params:
        if parameter.name in values:
            continue
        if parameter._param.default is inspect.Parameter.empty:
            message = "tile_missing_constexpr" if parameter.is_constexpr else "tile_missing"
            raise KernelFault(
                Outcome.DOES_NOT_COMPILE, message, None, kernel=function.__name__,
                name=parameter.name,
            )  # fmt: skip
        values[parameter.name] = parameter._param.default
    return {name: values[name] for name in parameters}


class Passed:
    """The tensors and values of one launch.

    Attributes:
        values: what each parameter holds in the kernel.
        views: the tensors, in order.
        constants: the constexpr parameters' Python values.
    """

    def __init__(self, function: Any, given: dict[str, Any]) -> None:
        self.views: list[View] = []
        self.values: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self._allocations: dict[int, Allocation] = {}
        for parameter in function.params:
            name, value = parameter.name, given[parameter.name]
            if parameter.is_constexpr:
                value = value.value if isinstance(value, tl.constexpr) else value
                if isinstance(value, torch.Tensor):
                    raise refused(name, "it is declared tl.constexpr, and a tensor is passed")
                self.constants[name] = value
                self.values[name] = tl.constexpr(value)
            else:
                self.values[name] = self._runtime(name, value, parameter)
        written = written_parameters(function)
        for view in self.views:
            root = view.name.split(".")[0]
            if root in written:
                view.allocation.tracked = True

    def _runtime(self, name: str, value: Any, parameter: Any = None) -> Any:
        if isinstance(value, torch.Tensor):
            return self._pointer(self._view(name, value))
        if type(value).__name__ == "TensorWrapper":
            raise refused(name, "a reinterpreted tensor is not supported here")
        if type(value).__name__ == "TensorDescriptor":
            self._view(name, value.base)
            return value
        if isinstance(value, np.ndarray):
            raise refused(name, "a NumPy array: Triton takes torch tensors (torch.from_numpy(x))")
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, tl.constexpr):
            return value
        if isinstance(value, tuple):
            items = [self._runtime(f"{name}.{n}", v) for n, v in enumerate(value)]
            return _tuple_of(items, getattr(value, "_fields", None))
        if value is None or isinstance(value, str | tl.dtype):
            return tl.constexpr(value)
        if hasattr(value, "parse") and hasattr(value, "params"):
            return tl.constexpr(value)
        if isinstance(value, bool | int | float):
            return _number(name, value, parameter)
        raise refused(name, f"an object of type {type(value).__name__}")

    def _view(self, name: str, tensor: torch.Tensor) -> View:
        if tensor.device.type != "cpu":
            raise refused(name, f"the tensor lies on {tensor.device}: here it must be on the CPU")
        if tensor.layout != torch.strided:
            raise refused(name, "the tensor is sparse: pass tensor.to_dense()")
        element = element_of(name, tensor)
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        allocation = self._allocations.get(key)
        if allocation is None or len(allocation.bytes) != storage.nbytes():
            content = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
            allocation = Allocation(len(self._allocations), content, unwritten(storage))
            self._allocations[key] = allocation
        view = View(
            name,
            len(self.views),
            allocation,
            element,
            tensor.element_size(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            int(tensor.storage_offset()),
        )
        self.views.append(view)
        return view

    def _pointer(self, view: View) -> Any:
        type_ = tl.pointer_type(view.element)
        return tl.tensor(Value(np.array([address_of(view)], np.int64), type_), type_)

    @property
    def allocations(self) -> list[Allocation]:
        """The memory of all tensors."""
        return list({view.allocation.number: view.allocation for view in self.views}.values())


def _number(name: str, value: Any, parameter: Any) -> Any:
    declared = "" if parameter is None else parameter.annotation_type
    fixed = parameter is not None and parameter.do_not_specialize
    if declared in _NAMED_TYPES:
        type_ = _NAMED_TYPES[declared]
    elif isinstance(value, bool):
        type_ = tl.int1
    elif isinstance(value, float):
        type_ = tl.float32
    elif value == 1 and not fixed:
        return tl.constexpr(1)  # Triton compiles a kernel of its own for an argument of 1
    elif -(2**31) <= value < 2**31:
        type_ = tl.int32
    elif -(2**63) <= value < 2**63:
        type_ = tl.int64
    elif value < 2**64:
        type_ = tl.uint64
    else:
        raise refused(name, f"{value} does not fit in 64 bits")
    dtype = numpy_type(type_)
    if dtype.kind == "i":
        bits = dtype.itemsize * 8
        value = (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    data = np.array([value], dtype)
    if type_ is tl.bfloat16:
        data = round_bf16(data)
    return tl.tensor(Value(data, type_), type_)


def _tuple_of(items: Iterable[Any], fields: Sequence[str] | None = None) -> Any:
    """A `tl.tuple`, whose type is that of its items; `fields` are the names of its places."""
    values = [v if isinstance(v, tl.core.base_value) else tl.constexpr(v) for v in items]
    return tl.tuple(values, tl.tuple_type([v.type for v in values], list(fields or ()) or None))
