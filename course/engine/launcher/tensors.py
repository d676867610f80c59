"""Tensors of a launcher: allocated poisoned and within a limit, looked at, and viewed.

Nothing here computes on elements, and nothing copies: a view shares its tensor's storage, so
that the engine knows whose memory a kernel reads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton.language as tl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.tools.tensor_descriptor import TensorDescriptor

from course.engine.launcher import gluon, gpu
from course.engine.launcher.names import (
    CONVERSIONS,
    DESCRIPTOR,
    GLUON_DESCRIPTOR,
    MISSING,
    NAMED_DTYPES,
)
from course.engine.triton.running.tensors import initialised, uninitialised
from course.plain.arithmetic import MOST_ITEMS, NotHere, NoValue, is_number, is_whole, kind
from course.spec.inputs import poison

#: A launcher's tensors together: the largest exercise's outputs have some megabytes.
MOST_BYTES = 1 << 28
MOST_AXES = 8
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_BFLOAT16_POISON = 0x7FE1  # NumPy has no bfloat16: the upper half of a NaN with a payload


class TooMuchMemory(Exception):
    """More bytes than a launcher may allocate."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(size_bytes)
        self.size_bytes = size_bytes


class Copies(Exception):
    """What was asked for as a view can only be had as a copy."""


class OnTheCpu(Exception):
    """An allocation without the device of an argument: a kernel on a GPU could not reach it."""


class NotItsOwn(Exception):
    """To be filled is what the launcher did not make, or a part of a tensor."""


@dataclass(frozen=True)
class Method:
    """A listed method, looked up on a tensor."""

    tensor: torch.Tensor
    name: str


def poison_bits(dtype: torch.dtype) -> int:
    """The bits of what `torch.empty` leaves in every element here, as a signed number."""
    if dtype is torch.bfloat16:
        return _BFLOAT16_POISON
    value = np.asarray(poison(np.dtype(str(dtype).removeprefix("torch."))))
    return int(value.view(f"int{8 * value.dtype.itemsize}"))


class Allocator:
    """Makes tensors for one call of a launcher."""

    def __init__(self, limit_bytes: int = MOST_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.used_bytes = 0
        self.filled_bytes = 0
        #: its tensors by storage; they live as long as it does, so that no number is given twice
        self._made: dict[int, torch.Tensor] = {}

    def make(self, name: str, args: Sequence[Any], named: Mapping[str, Any]) -> torch.Tensor:
        """`torch.NAME(*args, **named)` for a listed allocation."""
        filling = name.removesuffix("_like")
        parameters = ["input"] if name.endswith("_like") else ["size"]
        if filling == "full":
            parameters.append("fill_value")
        options = ("memory_format",) if name.endswith("_like") or name == "empty" else ()
        sizes = parameters == ["size"]
        given = _bound(f"torch.{name}", args, named, parameters, options, sizes=sizes)
        model = None
        if "input" in given:
            model = given["input"]
            if not isinstance(model, torch.Tensor):
                raise NoValue(f"`torch.{name}` takes a tensor, and gets {kind(model)}")
            _check_device(given, "device" in given)
        else:
            _check_device(given, True)
        dtype = given.get("dtype", MISSING)
        if dtype is MISSING or dtype is None:
            dtype = _default_dtype(model, given.get("fill_value"))
        shape = tuple(model.shape) if model is not None else _shape(given["size"])
        in_order = _is_in_order(given, model)
        tensor = self._allocated(shape, dtype, None if in_order else model)
        return self._kept(self._filled(tensor, filling, given.get("fill_value")))

    def new(
        self, model: torch.Tensor, name: str, args: Sequence[Any], named: Mapping[str, Any]
    ) -> torch.Tensor:
        """`model.new_empty(...)` and its kin: the dtype and device are the model's."""
        filling = name.removeprefix("new_")
        parameters = ["size", "fill_value"] if filling == "full" else ["size"]
        given = _bound(f".{name}", args, named, parameters, sizes=parameters == ["size"])
        _check_device(given, "device" in given)
        dtype = given.get("dtype") or model.dtype
        tensor = self._allocated(_shape(given["size"]), dtype)
        return self._kept(self._filled(tensor, filling, given.get("fill_value")))

    def fill(self, tensor: torch.Tensor, value: Any) -> torch.Tensor:
        """`tensor.fill_(value)`, of the whole of a tensor that was made here."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._made or tensor.nbytes != storage.nbytes():
            raise NotItsOwn
        return initialised(self._filled(tensor, "full", value))

    def _kept(self, tensor: torch.Tensor) -> torch.Tensor:
        self._made[tensor.untyped_storage()._cdata] = tensor
        return tensor

    def _allocated(
        self, shape: tuple[int, ...], dtype: Any, model: torch.Tensor | None = None
    ) -> torch.Tensor:
        if not isinstance(dtype, torch.dtype):
            raise NoValue(f"`dtype` is one of torch's, such as torch.float32, not {kind(dtype)}")
        if dtype in NAMED_DTYPES.values():
            raise NotHere(f"{dtype} is had by `.view({dtype})` of a tensor of torch.uint8 here")
        size_bytes = dtype.itemsize * math.prod(shape)
        if self.used_bytes + size_bytes > self.limit_bytes:
            raise TooMuchMemory(self.used_bytes + size_bytes)
        self.used_bytes += size_bytes
        if model is not None:
            return torch.empty_like(model, dtype=dtype)
        return torch.empty(shape, dtype=dtype)

    def _filled(self, tensor: torch.Tensor, filling: str, value: Any) -> torch.Tensor:
        if filling == "empty":
            tensor.view(_BITS[tensor.element_size()]).fill_(poison_bits(tensor.dtype))
            return uninitialised(tensor)
        self.filled_bytes += tensor.nbytes
        if filling == "full":
            if not is_number(value):
                raise NoValue(f"a tensor is filled with a number, not with {kind(value)}")
            return _tried(tensor.fill_, value)
        return tensor.fill_(1 if filling == "ones" else 0)


def _bound(
    name: str,
    args: Sequence[Any],
    named: Mapping[str, Any],
    parameters: list[str],
    options: tuple[str, ...] = (),
    *,
    sizes: bool,
) -> dict[str, Any]:
    """Arguments by name; `sizes`: the shape may be given as several numbers."""
    if sizes and args and all(is_whole(a) for a in args):
        args = [tuple(args)]
    if len(args) > len(parameters):
        raise NoValue(f"`{name}` takes {' and '.join(parameters)} by position")
    given = dict(zip(parameters, args, strict=False))
    for key, value in named.items():
        if key in _ALWAYS_FALSE and value is False:
            continue
        if key not in (*parameters, *options, "dtype", "device"):
            raise NotHere(f"`{name}` has no argument `{key}` here")
        if key in given:
            raise NoValue(f"`{name}` gets `{key}` twice")
        given[key] = value
    missing = [p for p in parameters if p not in given]
    if missing:
        raise NoValue(f"`{name}` needs its {missing[0]}")
    return given


#: What a tensor here never has.
_ALWAYS_FALSE = ("requires_grad", "pin_memory")


def _is_in_order(given: Mapping[str, Any], model: torch.Tensor | None) -> bool:
    """Whether a tensor's elements lie in order, whatever the model's do."""
    wanted = given.get("memory_format")
    if wanted is None or (wanted is torch.preserve_format and model is not None):
        return False
    if wanted is not torch.contiguous_format:
        raise NoValue(f"`memory_format` is torch.contiguous_format here, not {kind(wanted)}")
    return True


def _check_device(given: Mapping[str, Any], needed: bool) -> None:
    if needed and not gpu.is_device(given.get("device")):
        raise OnTheCpu


def _default_dtype(model: torch.Tensor | None, fill: Any) -> torch.dtype:
    if model is not None:
        return model.dtype
    if isinstance(fill, bool):
        return torch.bool
    return torch.int64 if isinstance(fill, int) else torch.float32


def _shape(value: Any) -> tuple[int, ...]:
    axes = (value,) if is_whole(value) else value
    if not isinstance(axes, tuple | list) or not all(is_whole(axis) for axis in axes):
        raise NoValue(f"a shape is a tuple of whole numbers, not {kind(value)}")
    if any(axis < 0 for axis in axes):
        raise NoValue(f"a shape has no negative number: {tuple(axes)}")
    if len(axes) > MOST_AXES:
        raise NotHere(f"a tensor here has at most {MOST_AXES} axes")
    if any(axis >= 1 << 40 for axis in axes):
        raise TooMuchMemory(1 << 40)
    return tuple(axes)


def _tried(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (RuntimeError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise NoValue(str(error).partition("\n")[0][:160].rstrip(".")) from None


# ---------------------------------------------------------------- looking and viewing


def attribute(tensor: torch.Tensor, name: str) -> Any:
    """A listed property of a tensor."""
    if name == "shape":
        return tuple(tensor.shape)
    if name == "device":
        return gpu.DEVICE
    if name == "is_cuda":
        return True  # a launcher that asks wants a GPU; the engine stands for one
    if name == "mT" and tensor.ndim < 2:
        raise NoValue("`.mT` turns the last two axes, and this tensor has one or none")
    if name == "T" and tensor.ndim != 2:
        raise NoValue(f"`.T` turns a tensor of 2 axes, and this one has {tensor.ndim}")
    return getattr(tensor, name)


def question(tensor: torch.Tensor, name: str, args: Sequence[Any]) -> Any:
    """A listed method that tells about a tensor: its strides, its size."""
    if name in ("size", "stride"):
        if not args:
            return tuple(tensor.shape if name == "size" else tensor.stride())
        if len(args) != 1 or not is_whole(args[0]):
            raise NoValue(f"`.{name}` takes the number of one axis")
        axes = tensor.shape if name == "size" else tensor.stride()
        if not -tensor.ndim <= args[0] < tensor.ndim:
            raise NoValue(f"the tensor has {tensor.ndim} axes, and no axis {args[0]}")
        return int(axes[args[0]])
    if args:
        raise NotHere(f"`.{name}` takes no arguments here")
    return 0 if name == "get_device" else getattr(tensor, name)()


def is_converted(
    tensor: torch.Tensor, name: str, args: Sequence[Any], named: Mapping[str, Any]
) -> bool:
    """Whether `x.float()`, `x.to(...)` or `x.cuda()` gives the tensor itself."""
    wanted = [*args, *named.values()]
    if name != "to":
        return not wanted and CONVERSIONS[name] in (None, tensor.dtype)
    return named.keys() <= {"device", "dtype"} and all(
        gpu.is_device(one) or getattr(one, "dtype", one) is tensor.dtype for one in wanted
    )


def view(tensor: torch.Tensor, name: str, args: Sequence[Any]) -> torch.Tensor:
    """A method that gives a view: ``x.view(-1, K)``, ``x.permute(1, 0, 2)``, ``q.view(dtype)``."""
    if name == "view" and [type(one) for one in args] == [torch.dtype]:
        return _tried(tensor.view, args[0])  # the same bytes, read as another type
    if name == "contiguous":
        if args:
            raise NotHere("`.contiguous` takes no arguments here")
        if not tensor.is_contiguous():
            raise Copies
        return tensor
    if name == "view_as":
        if len(args) != 1 or not isinstance(args[0], torch.Tensor):
            raise NoValue("`.view_as` takes a tensor")
        return _reshaped(tensor, list(args[0].shape))
    whole = args[0] if len(args) == 1 and isinstance(args[0], tuple | list) else args
    axes = list(whole)
    if len(axes) > MOST_AXES or not all(is_whole(a) and abs(a) < 1 << 40 for a in axes):
        raise NotHere(f"`.{name}` takes whole numbers here, at most {MOST_AXES}")
    if name in ("view", "reshape"):
        return _reshaped(tensor, axes)
    if name == "flatten":
        return _flattened(tensor, axes)
    if name == "permute":
        return _tried(tensor.permute, axes)
    if name == "ravel" and not axes:
        return _reshaped(tensor, [-1])
    fewest, most = _AXES.get(name, (2, 2))
    if not fewest <= len(axes) <= most:
        raise NoValue(f"`.{name}` takes {most} arguments, and gets {len(axes)}")
    return _tried(getattr(tensor, name), *axes)


def unpacked(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What ``dk, dv = both`` makes of a tensor: a view for each index of its first axis."""
    if not tensor.ndim or len(tensor) > MOST_ITEMS:
        raise NotHere(f"a tensor is unpacked along its first axis, of at most {MOST_ITEMS}")
    return tensor.unbind()


#: The fewest and the most numbers that a view takes, where these are not two.
_AXES = {
    **dict.fromkeys(("detach", "ravel", "t"), (0, 0)),
    "unsqueeze": (1, 1), "squeeze": (0, 1), "narrow": (3, 3),
}  # fmt: skip


def _reshaped(tensor: torch.Tensor, shape: list[int]) -> torch.Tensor:
    known = math.prod(length for length in shape if length >= 0)
    free = shape.count(-1)
    fits = known > 0 and tensor.numel() % known == 0 if free else tensor.numel() == known
    if free > 1 or any(length < -1 for length in shape) or not fits:
        was = tuple(tensor.shape)
        raise NoValue(f"a tensor of shape {was} cannot be seen as {tuple(shape)}")
    try:
        return tensor.view(shape)
    except RuntimeError:
        raise Copies from None


def _flattened(tensor: torch.Tensor, axes: list[int]) -> torch.Tensor:
    if len(axes) > 2:
        raise NoValue("`.flatten` takes the first and the last axis")
    first, last = (*axes, -1)[:2] if axes else (0, -1)
    first, last = (axis + tensor.ndim if axis < 0 else axis for axis in (first, last))
    if not 0 <= first <= last < tensor.ndim:
        raise NoValue(f"the tensor has {tensor.ndim} axes, and not those from {first} to {last}")
    shape = tuple(tensor.shape)
    together = math.prod(shape[first : last + 1])
    return _reshaped(tensor, [*shape[:first], together, *shape[last + 1 :]])


def sliced(tensor: torch.Tensor, index: Any) -> torch.Tensor:
    """Basic indexing: whole numbers, slices, None and `...`, which give a view."""
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) > MOST_ITEMS:
        raise NotHere("the index has too many parts")
    for part in parts:
        if isinstance(part, slice):
            bounds = (part.start, part.stop, part.step)
            if not all(b is None or (is_whole(b) and abs(b) < 1 << 62) for b in bounds):
                raise NoValue("a slice takes whole numbers")
        elif part is not None and part is not Ellipsis and not is_whole(part):
            raise NotHere(f"a tensor is indexed with whole numbers and slices, not {kind(part)}")
        elif is_whole(part) and abs(part) >= 1 << 62:
            raise NotHere("the index is too large")
    return _tried(tensor.__getitem__, tuple(parts))


# ---------------------------------------------------------------- descriptors

DESCRIPTORS: Mapping[str, type] = {
    DESCRIPTOR: TensorDescriptor,
    GLUON_DESCRIPTOR: GluonDescriptor,
}


def descriptor(made: type, spelled_out: bool, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Triton's or Gluon's descriptor: `made(...)` where `spelled_out`, else `from_tensor(...)`."""
    last = "layout" if made is GluonDescriptor else "padding"
    names = ("base", "shape", "strides", "block_shape", last)
    parameters = names if spelled_out else ("tensor", "block_shape", last)
    given = _listed("descriptor", parameters, args, named, optional=("padding",))
    base = given["base" if spelled_out else "tensor"]
    if not isinstance(base, torch.Tensor):
        raise NoValue(f"a descriptor describes a tensor, not {kind(base)}")
    block = _shape(given["block_shape"])
    shape = _shape(given["shape"]) if spelled_out else tuple(base.shape)
    strides = _shape(given["strides"]) if spelled_out else tuple(base.stride())
    if not len(block) == len(shape) == len(strides):
        raise NoValue("the descriptor's shape, strides and block have different numbers of axes")
    how = given.get(last, "zero")
    if made is GluonDescriptor and not isinstance(how, gluon.LANGUAGE.NVMMASharedLayout):
        raise NoValue("the descriptor needs the layout that its tile has in shared memory")
    if made is TensorDescriptor and how not in ("zero", "nan"):
        raise NoValue("the padding is 'zero' or 'nan'")
    return _described(made, base, list(shape), list(strides), list(block), how)


def shared_layout(args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """`gl.NVMMASharedLayout.get_default_for(block, dtype)`, as a launcher calls it."""
    given = _listed("layout", ("block_shape", "dtype"), args, named)
    block, dtype = given["block_shape"], given["dtype"]
    _check_block(block)
    if not isinstance(dtype, tl.dtype):
        raise NoValue(f"the layout needs a dtype of `gl`, not {kind(dtype)}")
    return gluon.LANGUAGE.NVMMASharedLayout.get_default_for(list(block), dtype)


def _listed(
    what: str,
    parameters: tuple[str, ...],
    args: Sequence[Any],
    named: Mapping[str, Any],
    optional: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Arguments by name; no others than these parameters."""
    given = dict(zip(parameters, args, strict=False))
    if len(args) > len(parameters) or any(k not in parameters or k in given for k in named):
        raise NoValue(f"a {what} takes {', '.join(parameters)}")
    given |= named
    missing = [name for name in parameters if name not in given and name not in optional]
    if missing:
        raise NoValue(f"the {what} needs its {missing[0]}")
    return given


def _described(made: Any, *args: Any) -> Any:
    try:
        return made(*args)
    except (AssertionError, ValueError, TypeError) as error:
        raise NoValue(str(error).partition("\n")[0][:120]) from None


def _check_block(block: Any) -> None:
    if not isinstance(block, tuple | list) or not all(
        is_whole(n) and 0 < n < 1 << 20 for n in block
    ):
        raise NoValue(f"a block's shape is a list of whole numbers, not {kind(block)}")


def is_descriptor(value: Any) -> bool:
    """Whether a value is a host tensor descriptor."""
    return isinstance(value, TensorDescriptor | GluonDescriptor)
