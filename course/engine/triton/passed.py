"""The arguments of a launch: bound to parameters, made into what a kernel reads."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
import triton.language as tl

from course.engine.faults import KernelFault, does_not_compile, not_measured, too_many_resources
from course.engine.triton.compiling.functions import written_parameters
from course.engine.triton.running.addresses import Numbers
from course.engine.triton.running.space import Space
from course.engine.triton.running.tensors import Allocation, View, unwritten

#: Triton's short name of each type that a tensor may hold, and MLIR's, which has no sign.
_ELEMENTS = {
    torch.float16: ("fp16", "f16"), torch.bfloat16: ("bf16", "bf16"),
    torch.float32: ("fp32", "f32"), torch.float64: ("fp64", "f64"),
    torch.int8: ("i8", "i8"), torch.int16: ("i16", "i16"),
    torch.int32: ("i32", "i32"), torch.int64: ("i64", "i64"),
    torch.uint8: ("u8", "i8"), torch.uint16: ("u16", "i16"),
    torch.uint32: ("u32", "i32"), torch.uint64: ("u64", "i64"), torch.bool: ("i1", "i1"),
    torch.float8_e4m3fn: ("fp8e4nv", "f8E4M3FN"), torch.float8_e5m2: ("fp8e5", "f8E5M2"),
}  # fmt: skip
#: What Triton's kernels take on a GPU and this engine does not.
_ELSEWHERE = "torch.float8_"
#: how many warps a program may have: a block of a GPU has at most 1024 threads
WARPS = (1, 2, 4, 8, 16, 32)


def refused(name: str, detail: str) -> KernelFault:
    """An argument that cannot be passed."""
    return does_not_compile(None, "tile_argument", name=name, detail=detail)


#: A tensor's type by Triton's name of it: `triton.reinterpret` takes that, too.
_BY_NAME = {
    re.sub(r"^(u?)i?(?=\d)", r"\1int", short): torch_type
    for torch_type, (short, _) in _ELEMENTS.items()
}


def as_tensor(name: str, given: Any) -> Any:
    """What `triton.reinterpret` made, as a tensor of that type; all else as it is.

    Raises:
        KernelFault: where torch has no such tensor.
    """
    if type(given).__name__ != "TensorWrapper":
        return given
    found = given.dtype if isinstance(given.dtype, torch.dtype) else _BY_NAME.get(str(given.dtype))
    if found is None:
        what = f"a tensor reinterpreted as {given.dtype}, which the launch passes as `{name}`"
        raise not_measured(None, "tile_unsupported", detail=what)
    try:
        return given.base.view(found)
    except RuntimeError as error:  # elements of another size, that do not lie side by side
        detail = f"its {given.base.dtype} cannot be read as {given.dtype}: {error}"
        raise refused(name, detail[:200].rstrip(".")) from None


def element_of(name: str, tensor: torch.Tensor) -> tuple[str, str]:
    """The type of a tensor's elements as Triton calls it, and as MLIR does.

    Raises:
        KernelFault: where Triton has none, or this engine does not run it.
    """
    found = _ELEMENTS.get(tensor.dtype)
    if found is not None:
        return found
    if str(tensor.dtype).startswith(_ELSEWHERE):
        what = f"a tensor of {tensor.dtype}, which the launch passes as `{name}`"
        raise not_measured(None, "tile_unsupported", detail=what)
    raise refused(name, f"a tensor of {tensor.dtype}, which Triton does not take")


#: Options of a launch that are whole numbers, where they are given; the compiler's are C's.
_WHOLE = {"num_stages", "num_ctas", "maxnreg"}
_LARGEST_OPTION = 1 << 31


@cache
def option_names() -> frozenset[str]:
    """What a launch may set beside the parameters: ``num_warps`` and the like."""
    try:
        from triton.backends.nvidia.compiler import CUDAOptions

        own = {field.name for field in dataclasses.fields(CUDAOptions)}
    except ImportError:
        own = set()
    return frozenset(own) | {"num_warps", "num_stages", "num_ctas", "maxnreg", "warmup", "debug"}


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
            raise does_not_compile(
                None, "tile_no_parameter", kernel=function.__name__,
                name=name, names=", ".join(parameters),
            )  # fmt: skip
    warps = named.get("num_warps", 4)
    if "num_warps" not in parameters and not (isinstance(warps, int) and warps in WARPS):
        power = isinstance(warps, int) and warps > WARPS[-1] and warps.bit_count() == 1
        # the compiler takes 64, a launch does not
        refused = too_many_resources if power else does_not_compile
        raise refused(None, "tile_warps", got=str(warps), choices=WARPS)
    for name in _WHOLE - {*parameters}:
        got = named.get(name)
        whole = int(got) if isinstance(got, int | np.integer) else _LARGEST_OPTION
        if got is not None and abs(whole) >= _LARGEST_OPTION:
            raise does_not_compile(None, "tile_option", name=name, got=repr(got)[:60])
    if len(args) > len(parameters):
        raise does_not_compile(
            None, "argument_count", got=len(parameters),
            expected=len(args) + len(own), names=", ".join(parameters),
        )  # fmt: skip
    twice = [name for name in parameters[: len(args)] if name in own]
    if twice:
        raise does_not_compile(None, "tile_twice", kernel=function.__name__, name=twice[0])
    values = dict(zip(parameters, args, strict=False)) | own
    for parameter in function.params:
        if parameter.name in values:
            continue
        if parameter._param.default is inspect.Parameter.empty:
            message = "tile_missing_constexpr" if parameter.is_constexpr else "tile_missing"
            raise does_not_compile(None, message, kernel=function.__name__, name=parameter.name)
        values[parameter.name] = parameter._param.default
    return {name: as_tensor(name, values[name]) for name in parameters}


class Reachable(torch.Tensor):
    """A tensor that stands for an address: a kernel may reach all of the allocation from there."""


class Passed:
    """The tensors and values of one launch.

    Attributes:
        views: the tensors, in order.
        values: what the kernel gets while it runs, in order, of a tuple what it holds: each a
            view, a number, or (view, descriptor of it).
        numbers: what addresses are as numbers; None where nobody may know them.
    """

    def __init__(
        self, function: Any, given: dict[str, Any], space: Space | None = None, whole: bool = False
    ) -> None:
        self.views: list[View] = []
        self.values: list[Any] = []
        self.numbers: Numbers | None = None
        self._space, self._whole = space, whole
        self._tensors: list[torch.Tensor] = []
        self._allocations: dict[int, Allocation] = {}
        for parameter in function.params:
            name, value = parameter.name, given[parameter.name]
            if not parameter.is_constexpr:
                self._pass(name, value, bool(parameter.do_not_specialize))
            elif isinstance(getattr(value, "value", value), torch.Tensor):
                raise refused(name, "it is declared tl.constexpr, and a tensor is passed")
        written = written_parameters(function)
        for view in self.views:
            root = view.name.split(".")[0]
            if root in written:
                view.allocation.tracked = True

    def _pass(self, name: str, value: Any, fixed: bool) -> None:
        """Adds a value, unless the kernel is compiled for it; `fixed`: that it never is."""
        if isinstance(value, np.generic):
            value = value.item()
        kind = type(value).__name__
        if isinstance(value, torch.Tensor):
            self.values.append(self._view(name, value))
        elif kind == "TensorDescriptor":
            self.values.append((self._view(name, as_tensor(name, value.base)), value))
        elif isinstance(value, np.ndarray):
            raise refused(name, "a NumPy array: Triton takes torch tensors (torch.from_numpy(x))")
        elif isinstance(value, tuple):
            for at, item in enumerate(value):
                self._pass(f"{name}.{at}", item, fixed)
        elif isinstance(value, bool | int | float):
            if isinstance(value, int) and not -(2**63) <= value < 2**64:
                raise refused(name, f"{value} does not fit in 64 bits")
            if fixed or value != 1 or isinstance(value, bool | float):
                self.values.append(value)
        elif callable(getattr(value, "data_ptr", None)):
            what = f"an object of type {kind} with an address of its own, passed as `{name}`"
            raise not_measured(None, "tile_unsupported", detail=what)
        elif not _is_constant(value):
            raise refused(name, f"an object of type {kind}")

    def by_numbers(self) -> None:
        """The kernel makes pointers of numbers, or numbers of pointers."""
        if self._space is None or self.numbers is not None:
            return
        for tensor in self._tensors:  # its address may be kept for a later launch
            self._space.address_of(tensor)
        reachable = [
            self._made("", tensor if tensor.dtype in _ELEMENTS else _bytes_of(tensor))
            for tensor in self._space.asked()
        ]
        for number, view in enumerate(reachable):
            view.number = number
        for allocation in self.allocations:
            allocation.tracked = True
        self.numbers = Numbers(self.views, reachable)

    def _view(self, name: str, tensor: torch.Tensor) -> View:
        view = self._made(name, tensor)
        self.views.append(view)
        self._tensors.append(tensor)
        return view

    def _made(self, name: str, tensor: torch.Tensor) -> View:
        if tensor.device.type != "cpu":
            raise refused(name, f"the tensor lies on {tensor.device}: here it must be on the CPU")
        if tensor.layout != torch.strided:
            raise refused(name, "the tensor is sparse: pass tensor.to_dense()")
        _, scalar = element_of(name, tensor)
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        allocation = self._allocations.get(key)
        if allocation is None or len(allocation.bytes) != storage.nbytes():
            content = _bytes_of(tensor).numpy()
            allocation = Allocation(len(self._allocations), content, unwritten(storage))
            if self._space is not None:
                allocation.placed = self._space.place_of(storage)
            self._allocations[key] = allocation
        view = View(
            name,
            len(self.views),
            allocation,
            scalar,
            tensor.element_size(),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            int(tensor.storage_offset()),
        )
        if self._whole or isinstance(tensor, Reachable):
            view.reach_all()
        return view

    @property
    def allocations(self) -> list[Allocation]:
        """The memory of all tensors."""
        return [*self._allocations.values()]

    def keep(self) -> Callable[[], None]:
        """Keeps the content of all tensors that the kernel stores to; gives what puts it back."""
        kept = {one: one.kept() for one in self.allocations if one.tracked}

        def put_back() -> None:
            for allocation, content in kept.items():
                allocation.put_back(content)

        return put_back


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """All that a tensor's storage holds, byte by byte."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _is_constant(value: Any) -> bool:
    """Whether a kernel may be compiled for a value that is no number."""
    is_function = hasattr(value, "parse") and hasattr(value, "params")
    return value is None or is_function or isinstance(value, tl.constexpr)
