"""Tensors of `device="cuda"` that lie on the CPU, and know where the program believes them.

Every function of torch passes through one mode. It asks for the CPU where the program asks for a
GPU, copies where a tensor would move, and answers "cuda:0" to who asks a tensor where it lies. What
`torch.empty` makes is marked as unwritten, for the engine to see who reads it.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

from course.engine.simt.running.memory import initialised
from course.engine.triton.running.space import Space
from course.engine.triton.running.tensors import uninitialised
from course.notebook import numba_launches

CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
_EMPTY = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
#: What lets others write to a tensor's memory, and is not seen again.
_LETS_OUT = frozenset({"numpy", "__array__", "__dlpack__"})
_TAKES_ARRAYS = frozenset({"as_tensor", "asarray", "tensor"})
#: What a GPU adds up in float32 for numbers of 16 bits, and torch on a CPU in these themselves;
#: autocast leaves it float32 (`course.run.autocast`).
_ADDS_UP = frozenset({"layer_norm"})
_OF_16_BITS = (torch.float16, torch.bfloat16)
#: What makes a device of a name: `torch.device("cuda")`, and `module.to("cuda")` inside.
_NAMES_A_DEVICE = frozenset({"device", "_parse_to"})
_MOVES_TO_ANOTHERS = frozenset({"to", "type_as"})
_MOVES = frozenset({"cuda", "cpu"}) | _MOVES_TO_ANOTHERS


class _Paused(threading.local):
    times = 0


class OnCuda(TorchFunctionMode):
    """Stands between a program and torch.

    Attributes:
        default: where a tensor is made whose program does not say.
        marks: whether memory that nothing has written is marked.
        space: where the tensors of the GPU lie.
    """

    def __init__(self) -> None:
        super().__init__()
        self.marks = True
        self.default = CPU
        self.space = Space()
        self._paused = _Paused()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, torch is torch: tensors lie where they lie."""
        self._paused.times += 1
        try:
            yield
        finally:
            self._paused.times -= 1

    @contextlib.contextmanager
    def resumed(self) -> Iterator[None]:
        """Inside, code of the program's runs, which torch has called: it is as it was before."""
        paused, self._paused.times = self._paused.times, 0
        try:
            with self:
                yield
        finally:
            self._paused.times = paused

    @property
    def is_paused(self) -> bool:
        """Whether torch is torch, in this thread."""
        return bool(self._paused.times)

    def passes(self, storage: torch.UntypedStorage) -> bool:
        """Whether a storage is asked by torch itself, or lies where it does."""
        return bool(self.is_paused or getattr(storage, "_course_host", not storage.nbytes()))

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """What torch gives, as a program with a GPU would see it."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if self.is_paused or name in _NAMES_A_DEVICE:
            return func(*args, **kwargs)
        if name == "__get__":
            return self._attribute(func, args)
        if name == "data_ptr" and within_reach(args[0]) and args[0].numel():
            return self.space.address_of(args[0])
        args, kwargs = _by_number(name, args, kwargs)
        if name in _TAKES_ARRAYS and args and _of_numba(args[0]):
            args = (np.asarray(numba_launches.STAND_INS["as_cuda_array"](args[0])), *args[1:])
            kwargs = {"device": CUDA, **kwargs}
        asked = [_device_of(value) for value in (*args, *kwargs.values())]
        device = next(filter(None, asked), None)
        given = list(_tensors((*args, *kwargs.values())))
        if name in _MOVES - _MOVES_TO_ANOTHERS and device is None:
            device = CUDA if name == "cuda" else CPU
        on_cuda = (device or self.default).type == "cuda"
        if device is None and given:
            asked_of = given[-1:] if name in _MOVES_TO_ANOTHERS else given
            on_cuda = any(lies_on_cuda(tensor) for tensor in asked_of)
        if name == "get_device":
            return 0 if on_cuda else -1
        if name in ("cuda", "cpu", "pin_memory"):
            found = args[0]
        else:
            named = {key: _here(v) for key, v in kwargs.items() if key != "pin_memory"}
            narrow = given[0].dtype if name in _ADDS_UP and on_cuda and given else None
            with self.paused():  # this mode may stand under itself: `resumed`
                if narrow in _OF_16_BITS and not torch.is_autocast_enabled("cpu"):
                    named = {key: _widened(value) for key, value in named.items()}
                    found = func(*map(_widened, args), **named).to(narrow)
                else:
                    found = func(*map(_here, args), **named)
        if name in _MOVES and found is args[0] and on_cuda != lies_on_cuda(found):
            found = found.clone()
        if name in _LETS_OUT or _changes_its_first(name):
            let_out(args[:1] or given)
        let_out([kwargs.get("out")])
        pinned = name == "pin_memory" or bool(kwargs.get("pin_memory"))
        for tensor in _tensors((found,)):
            _mark(tensor, on_cuda, pinned)
            if self.marks and name in _EMPTY and tensor.numel():
                uninitialised(tensor)
        return found

    def _attribute(self, func: Any, args: tuple) -> Any:
        if func == torch.Tensor.device.__get__:
            return CUDA if lies_on_cuda(args[0]) else func(*args)
        if func == torch.Tensor.is_cuda.__get__:
            return lies_on_cuda(args[0])
        if func == torch.Tensor.__cuda_array_interface__.__get__ and lies_on_cuda(args[0]):
            let_out(args)
            return numba_launches.STAND_INS["as_cuda_array"](args[0]).__cuda_array_interface__
        return func(*args)


def _of_numba(value: Any) -> bool:
    """Whether torch would find an array on the GPU that is none of its own."""
    return isinstance(value, numba_launches.DeviceArray) or numba_launches.tells_its_place(value)


def lies_on_cuda(tensor: torch.Tensor) -> bool:
    """Whether a program with a GPU would have it there: all but what was made on the CPU."""
    if tensor.device.type != "cpu":
        return tensor.device.type == "cuda"
    return not getattr(_storage(tensor), "_course_host", False)


def within_reach(tensor: torch.Tensor) -> bool:
    """Whether a kernel on a GPU could follow its address: there, or pinned memory of the host."""
    return lies_on_cuda(tensor) or getattr(_storage(tensor), "_course_pinned", False)


def _storage(tensor: torch.Tensor) -> Any:
    with contextlib.suppress(Exception):  # a sparse tensor has none, nor has one of a compiler
        return tensor.untyped_storage()
    return None


def _mark(tensor: torch.Tensor, on_cuda: bool, pinned: bool) -> None:
    storage = _storage(tensor)
    if storage is not None and not on_cuda:
        storage._course_host = True
        if pinned:
            storage._course_pinned = True


def let_out(values: Iterable[Any]) -> None:
    """What nothing had written in these tensors and arrays may be written from here on, unseen."""
    values = list(values)
    for array in (value for value in values if isinstance(value, numba_launches.DeviceArray)):
        initialised(array)
    for tensor in _tensors(values):
        storage = _storage(tensor)
        if getattr(storage, "_course_unwritten", None) is not None:
            storage._course_unwritten = None


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors(value)


def _changes_its_first(name: str) -> bool:
    """Whether torch's name says so: `add_`, `_foreach_add_`, `x += y`, `x[i] = y`."""
    return name.startswith(("__i", "__setitem")) or (name[-1:] == "_" and name[-2:] != "__")


def _by_number(name: str, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments of a call that may name a GPU by its number: ``x.to(0)``, ``device=0``."""
    if type(kwargs.get("device")) is int:
        kwargs = kwargs | {"device": torch.device("cuda", kwargs["device"])}
    if name in ("to", "cuda") and type(next(iter(args[1:]), None)) is int:
        args = (args[0], torch.device("cuda", args[1]), *args[2:])
    return args, kwargs


def _device_of(value: Any) -> torch.device | None:
    """The device that an argument names: a device, or its name.

    Raises:
        RuntimeError: for a second GPU.
    """
    if isinstance(value, str) and (value == "cpu" or value.split(":")[0] == "cuda"):
        value = torch.device(value)
    if not isinstance(value, torch.device):
        return None
    if value.type == "cuda" and value.index:
        raise RuntimeError(f"There is one GPU here, cuda:0, and no {value}.")
    return value


def loading(load: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.load`: tensors lie where they are mapped to, or else on the GPU."""

    @functools.wraps(load)
    def loads(file: Any, map_location: Any = None, *args: Any, **options: Any) -> Any:
        device = _device_of(map_location)
        found = load(file, CPU if device else map_location, *args, **options)
        for tensor in _tensors(_pytree.tree_leaves(found) if device == CPU else ()):
            _mark(tensor, on_cuda=False, pinned=False)
        return found

    return loads


def _widened(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) else value


def _here(value: Any) -> Any:
    device = _device_of(value)
    return CPU if device is not None and device.type == "cuda" else value
