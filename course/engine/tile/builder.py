"""What Triton's semantic layer builds on: instead of compiler code, NumPy arrays.

Triton's own front end decides types, promotion and broadcasting and then asks a builder for
operations. This builder carries each one out at once, for every program of the current group.
An operation that it does not have is refused in words, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import triton.language as tl

from course.engine.tile.arithmetic import Arithmetic
from course.engine.tile.numbering import expression, numbered
from course.engine.tile.products import dot
from course.engine.tile.regions import Regions
from course.engine.tile.run import Run
from course.engine.tile.transfers import Transfers
from course.engine.tile.values import Unsupported, Value, is_bf16, numpy_type, round_bf16

#: What the front end asks of the target: an NVIDIA GPU of compute capability 8.0.
OPTIONS = SimpleNamespace(
    extern_libs=None,
    debug=False,
    sanitize_overflow=False,
    arch="sm80",
    supported_fp8_dtypes=("fp8e5", "fp8e4b15"),
    deprecated_fp8_dot_operand_dtypes=(),
    default_dot_input_precision="tf32",
    allowed_dot_input_precisions=("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
    max_num_imprecise_acc_default=0,
    backend_name="cuda",
    num_warps=4,
    num_ctas=1,
    enable_fp_fusion=True,
    launch_pdl=False,
)
#: With `debug=True`: assertions are held, Triton's own on integers that overflow among them.
_DEBUGGING = SimpleNamespace(**{**vars(OPTIONS), "debug": True, "sanitize_overflow": True})

_TYPES = {
    "get_void_ty": tl.void,
    "get_int1_ty": tl.int1,
    "get_int8_ty": tl.int8,
    "get_uint8_ty": tl.int8,
    "get_int16_ty": tl.int16,
    "get_uint16_ty": tl.int16,
    "get_int32_ty": tl.int32,
    "get_uint32_ty": tl.int32,
    "get_int64_ty": tl.int64,
    "get_uint64_ty": tl.int64,
    "get_half_ty": tl.float16,
    "get_bf16_ty": tl.bfloat16,
    "get_float_ty": tl.float32,
    "get_double_ty": tl.float64,
}

_CONSTANTS = {
    "get_int1": tl.int1,
    "get_int8": tl.int8,
    "get_uint8": tl.int8,
    "get_int16": tl.int16,
    "get_uint16": tl.int16,
    "get_int32": tl.int32,
    "get_uint32": tl.int32,
    "get_int64": tl.int64,
    "get_uint64": tl.int64,
    "get_fp16": tl.float16,
    "get_bf16": tl.bfloat16,
    "get_fp32": tl.float32,
    "get_fp64": tl.float64,
}


def _in_shape(
    arg: Value, shape: Sequence[int], change: Callable[[np.ndarray], np.ndarray]
) -> Value:
    """The same elements in another shape; a product stays one that a sum may take in."""
    result = Value(change(arg.data), arg.type, tuple(shape))
    if arg.product is not None:
        result.product = arg.product.reshaped(change)
    return result


@numbered
class Builder(Arithmetic, Regions, Transfers):
    """Carries operations out for all programs of the run's current group."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.options = OPTIONS if not run.debug else _DEBUGGING
        self.codegen_fns = {"min_dot_size": lambda lhs, rhs: (1, 1, 1)}
        self.module_map: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name in _TYPES:
            return lambda: _TYPES[name]
        if name in _CONSTANTS:
            return lambda value: self._constant(value, _CONSTANTS[name])
        if name == "new_block":
            raise Unsupported("`tl.map_elementwise`")
        if name.startswith("get_fp8"):
            raise Unsupported("8-bit floats")
        if name.startswith(("create_", "get_")):
            raise Unsupported(f"the operation {name.removeprefix('create_')}")
        raise AttributeError(name)

    # ------------------------------------------------------------ types and constants

    def get_ptr_ty(self, element: Any, address_space: Any) -> Any:
        """A pointer's type."""
        return tl.pointer_type(element, address_space)

    def get_block_ty(self, element: Any, shape: list[int]) -> Any:
        """A block's type."""
        return tl.block_type(element, list(shape))

    def _constant(self, value: Any, type_: Any) -> Value:
        dtype = numpy_type(type_)
        if dtype.kind == "i":
            bits = dtype.itemsize * 8
            value = (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
        data = np.array([value], dtype)
        number = expression("constant", repr(data[0]), type_.scalar.name)
        return Value(round_bf16(data) if is_bf16(type_) else data, type_, number=number)

    def get_null_value(self, type_: Any) -> Value:
        """A zero of any type."""
        shape = tuple(type_.shape) if type_.is_block() else ()
        data = np.zeros((1,) * (1 + len(shape)), numpy_type(type_))
        return Value(data, type_.scalar, shape, expression("zeros", repr(type_)))

    def get_all_ones_value(self, type_: Any) -> Value:
        """Every bit set."""
        shape = tuple(type_.shape) if type_.is_block() else ()
        dtype = numpy_type(type_)
        one = True if dtype.kind == "b" else -1
        return Value(np.full((1,) * (1 + len(shape)), one, dtype), type_.scalar, shape)

    create_poison = get_null_value

    # ------------------------------------------------------------ the grid

    def create_get_program_id(self, axis: int) -> Value:
        """Each program's place along one axis of the grid."""
        return Value(self.run.program_id(axis), tl.int32)

    def create_get_num_programs(self, axis: int) -> Value:
        """The grid's length along one axis."""
        return Value(np.array([self.run.grid[axis]], np.int32), tl.int32)

    # ------------------------------------------------------------ shapes

    def create_make_range(self, type_: Any, start: int, stop: int) -> Value:
        """start, start + 1, ..."""
        self.run.note_size(stop - start)
        return Value(np.arange(start, stop, dtype=np.int32)[None], tl.int32, (stop - start,))

    def create_splat(self, type_: Any, arg: Value) -> Value:
        """One element all over a block."""
        shape = tuple(type_.shape)
        return _in_shape(arg, shape, lambda data: data.reshape(data.shape[0], *(1,) * len(shape)))

    def create_unsplat(self, arg: Value) -> Value:
        """The one element of a block of one."""
        return Value(arg.whole().reshape(arg.data.shape[0], -1)[:, 0], arg.type)

    def create_broadcast(self, arg: Value, shape: list[int]) -> Value:
        """Axes of 1 at full length: the data stays as it is."""
        # A `tl.tuple`, now and then: in Triton 3.6 NumPy trips over its attributes.
        shape = list(shape)
        self.run.note_size(math.prod(shape))
        return _in_shape(arg, shape, lambda data: data)

    def create_expand_dims(self, arg: Value, axis: int) -> Value:
        """A new axis of 1."""
        shape = (*arg.shape[:axis], 1, *arg.shape[axis:])
        return _in_shape(arg, shape, lambda data: np.expand_dims(data, axis + 1))

    def create_reshape(self, arg: Value, shape: list[int], allow_reorder: bool = False) -> Value:
        """The same elements, row after row, in another shape."""
        if arg.data.size == len(arg.data):
            return _in_shape(arg, shape, lambda data: data.reshape(len(data), *(1,) * len(shape)))

        def whole(data: np.ndarray) -> np.ndarray:
            rows = len(data)
            return np.broadcast_to(data, (rows, *arg.shape)).reshape(rows, *shape)

        return _in_shape(arg, shape, whole)

    def create_trans(self, arg: Value, order: list[int]) -> Value:
        """Axes in another order."""
        data = arg.data.transpose(0, *(axis + 1 for axis in order))
        return Value(data, arg.type, tuple(arg.shape[axis] for axis in order))

    def create_cat(self, lhs: Value, rhs: Value) -> Value:
        """One block after the other."""
        a, b = self._together(lhs, rhs)
        return Value(
            np.concatenate([a, b], axis=1), lhs.type, (lhs.shape[0] + rhs.shape[0], *lhs.shape[1:])
        )

    def create_join(self, lhs: Value, rhs: Value) -> Value:
        """Two blocks side by side along a new last axis."""
        a, b = self._together(lhs, rhs)
        return Value(np.stack([a, b], axis=-1), lhs.type, (*lhs.shape, 2))

    def create_split(self, arg: Value) -> tuple[Value, Value]:
        """The two halves of a last axis of 2."""
        data = arg.whole()
        return tuple(Value(data[..., n], arg.type, arg.shape[:-1]) for n in (0, 1))  # type: ignore[return-value]

    def _together(self, lhs: Value, rhs: Value) -> tuple[np.ndarray, np.ndarray]:
        a, b = lhs.whole(), rhs.whole()
        count = max(a.shape[0], b.shape[0])
        return (
            np.broadcast_to(a, (count, *a.shape[1:])),
            np.broadcast_to(b, (count, *b.shape[1:])),
        )

    def create_gather(self, src: Value, indices: Value, axis: int) -> Value:
        """Elements picked along one axis."""
        values, picks = self._together(src, indices)
        length = src.shape[axis]
        if picks.size and (int(picks.min()) < 0 or int(picks.max()) >= length):
            raise Unsupported(f"tl.gather with an index outside 0 to {length - 1}")
        data = np.take_along_axis(values, picks.astype(np.int64), axis=axis + 1)
        return Value(data, src.type, indices.shape)

    def create_histogram(self, arg: Value, bins: int, mask: Value | None) -> Value:
        """How often each number from 0 to bins - 1 occurs."""
        rows = self.run.count if mask is not None else arg.data.shape[0]
        data = np.broadcast_to(arg.whole(), (rows, *arg.shape)).astype(np.int64)
        counted = (data >= 0) & (data < bins)
        if mask is not None:
            counted = counted & mask.data
        keys = (np.arange(rows)[:, None] * bins + data)[counted]
        counts = np.bincount(keys, minlength=rows * bins).reshape(rows, bins)
        return Value(counts.astype(np.int32), tl.int32, (bins,))

    # ------------------------------------------------------------ products

    def create_dot(self, a: Value, b: Value, acc: Value, precision: Any, *_: Any) -> Value:
        """A product of matrices plus `acc`."""
        product = dot(a, b, acc, precision.name)
        product.starts_empty = not acc.data.any()
        self.run.note_size(int(np.prod(product.shape)))
        return product

    # ------------------------------------------------------------ the rest

    def create_print(self, prefix: str, hex_: bool, values: list[Value], is_signed: Any) -> None:
        """`tl.device_print`."""
        self.run.memory.writes += 1  # as if it wrote: no load is moved across it
        if self.run.turns is None:
            self.run.print_values(prefix, hex_, values)
        else:
            self.run.turns.once(lambda: self.run.print_values(prefix, hex_, values))

    def create_assert(self, condition: Value, message: str) -> None:
        """`tl.device_assert`."""
        self.run.check_assertion(condition, message)

    def get_cache_policy(self, *_: Any) -> None:
        """How long caches keep what is loaded: nothing that is counted depends on it."""

    create_grid_dependency_wait = create_grid_dependency_launch_dependents = get_cache_policy

    def create_assume(self, condition: Value) -> None:
        """A hint to the compiler."""

    def create_barrier(self, *_: Any) -> None:
        """Orders the threads of one program; here they have none, and no load is moved across."""
        self.run.memory.writes += 1

    def create_loc(self, *_: Any) -> None:
        """Places in the source are kept by the walker."""

    get_loc = set_loc = create_name_loc = create_loc
