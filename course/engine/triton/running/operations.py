"""What the element-wise and shape operations of the IR compute, on NumPy arrays.

A value is an array whose first axis counts programs and whose others are the block's; each axis
is whole, or 1 where the value does not vary along it. Integers are stored signed; an operation
says how it reads them. bfloat16 is kept in float32 arrays and rounded after each operation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from course.engine import libdevice
from course.engine.conversion import float_to_integer
from course.engine.triton.ir import Operation, Type
from course.engine.triton.running import assembly, narrow
from course.engine.triton.running.elements import fused, remainder, truncated_division
from course.engine.triton.running.values import (
    Unsupported,
    bf16_from_bits,
    bf16_to_bits,
    numpy_type,
    round_bf16,
    signed,
    unsigned,
)

Array = np.ndarray[Any, Any]
#: its operands' arrays to its result's
Rule = Callable[..., Any]


@lru_cache(1 << 10)
def dtype_of(type_: Type) -> np.dtype:
    """How a value's elements are held; a pointer is a 64-bit address."""
    return np.dtype(np.int64) if type_.pointers else numpy_type(type_.scalar)


@lru_cache(1 << 10)
def rounding(type_: Type) -> Callable[[Array], Array]:
    """What makes values such as a type holds."""
    scalar = type_.scalar
    if scalar == "bf16":
        return round_bf16
    if scalar in narrow.EIGHT_BITS:
        return lambda data: narrow.nearest(data, scalar)
    dtype = dtype_of(type_)
    return lambda data: data if data.dtype is dtype else data.astype(dtype, copy=False)


def rounded(data: Array, type_: Type) -> Array:
    """Values as their type holds them."""
    return rounding(type_)(data)


def _unsigned(rule: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *given: signed(rule(*map(unsigned, given)))


def _single_bits(rule: Callable[..., Array], of_bits: Callable[..., Array]) -> Callable[..., Array]:
    return lambda a, b: of_bits(a, b) if a.dtype.kind == "b" else rule(a, b)


def _unshifted(a: Array, b: Array) -> Array:
    """A single bit, which can be shifted by 0 alone."""
    return a | np.zeros_like(b)


_ARITHMETIC: dict[str, Callable[..., Array]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply,
    "arith.divf": np.divide, "arith.remf": np.fmod, "arith.negf": np.negative,
    "tt.precise_divf": np.divide, "tt.approx_divf": np.divide,
    "arith.addi": _single_bits(np.add, np.logical_xor),
    "arith.subi": _single_bits(np.subtract, np.logical_xor),
    "arith.muli": _single_bits(np.multiply, np.logical_and),
    "arith.divsi": truncated_division, "arith.remsi": remainder,
    "arith.divui": _unsigned(truncated_division), "arith.remui": _unsigned(remainder),
    "arith.floordivsi": np.floor_divide, "arith.ceildivsi": lambda a, b: -np.floor_divide(-a, b),
    "tt.mulhiui": _unsigned(libdevice.high_product),
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.shli": _single_bits(np.left_shift, _unshifted),
    "arith.shrsi": _single_bits(np.right_shift, _unshifted),
    "arith.shrui": _single_bits(_unsigned(np.right_shift), _unshifted),
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maxui": _unsigned(np.maximum), "arith.minui": _unsigned(np.minimum),
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "math.exp": np.exp, "math.exp2": np.exp2, "math.log": np.log, "math.log2": np.log2,
    "math.sqrt": np.sqrt, "tt.precise_sqrt": np.sqrt, "math.rsqrt": libdevice.rsqrt,
    "math.sin": np.sin, "math.cos": np.cos, "math.tanh": np.tanh, "math.powf": np.power,
    "math.absf": np.abs, "math.absi": np.abs, "math.floor": np.floor, "math.ceil": np.ceil,
    "math.erf": libdevice.FUNCTIONS_HERE["erf"],
    "tt.clampf": lambda x, low, high: np.fmin(np.fmax(x, low), high),
}  # fmt: skip


# ---------------------------------------------------------------- comparisons

_INTEGERS = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    *(lambda a, b, rule=rule: rule(unsigned(a), unsigned(b))
      for rule in (np.less, np.less_equal, np.greater, np.greater_equal)),
)  # fmt: skip


def _no_number(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


_FLOATS = (
    lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_),
    np.equal, np.greater, np.greater_equal, np.less, np.less_equal,
    lambda a, b: (a < b) | (a > b),
    lambda a, b: ~_no_number(a, b),
    *(lambda a, b, rule=rule: rule(a, b) | _no_number(a, b)
      for rule in (np.equal, np.greater, np.greater_equal, np.less, np.less_equal)),
    np.not_equal, _no_number,
    lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_),
)  # fmt: skip


def _select(operation: Operation, condition: Array, a: Any, b: Any) -> Any:
    if not isinstance(a, np.ndarray):
        return a  # tokens
    if operation.result_types[0].shape and not operation.operand_types[0].shape:
        condition = condition.reshape(-1, *(1,) * len(operation.result_types[0].shape))
    return np.where(condition, a, b)


# ---------------------------------------------------------------- conversions


def converted(operation: Operation, data: Array) -> Array:
    """Values in another type, as the GPU's instruction makes them."""
    result, name = operation.result_types[0], operation.name
    dtype = dtype_of(result)
    if name in ("arith.fptosi", "arith.fptoui"):
        if name == "arith.fptosi":
            return float_to_integer(data, dtype)
        return signed(float_to_integer(data, np.dtype(f"u{dtype.itemsize}")))
    if dtype.kind == "b":
        return (data & 1).astype(np.bool_)
    if name in ("arith.extui", "arith.uitofp", "arith.index_castui"):
        data = unsigned(data)
    elif name == "arith.extsi" and data.dtype.kind == "b":
        data = -data.astype(np.int8)
    if "rounding" in operation.attributes and operation.integer("rounding") == 0:
        return narrow.towards_zero(data, result.scalar)
    return rounded(data, result)


def _bitcast(operation: Operation, data: Array) -> Array:
    source, result = operation.operand_types[0], operation.result_types[0]
    if source.pointers or result.pointers:
        return data
    if source.scalar == "bf16":
        data = bf16_to_bits(data)
    elif source.scalar in narrow.EIGHT_BITS:
        data = narrow.to_bits(data, source.scalar)
    if result.scalar in narrow.EIGHT_BITS:
        return narrow.from_bits(data, result.scalar)
    if result.scalar == "bf16":
        return bf16_from_bits(np.ascontiguousarray(data).view(np.int16))
    return np.ascontiguousarray(data).view(dtype_of(result))


def constant_of(operation: Operation) -> Array:
    """The array of an `arith.constant`, of length 1 along every axis."""
    type_ = operation.result_types[0]
    text = operation.attributes["value"]
    text = text.rpartition(" : ")[0] or text
    if text.startswith("dense<"):
        text = text[len("dense<") : -1]
        if text[:1] in '["':
            raise Unsupported("a constant block of several values")
    dtype = dtype_of(type_)
    value: Any
    if text in ("true", "false"):
        value = text == "true"
    elif dtype.kind == "f" and text.startswith("0x"):
        value = _float_of_bits(int(text, 16), type_.scalar)
    else:
        value = float(text) if dtype.kind == "f" else int(text, 0)
    return np.full((1,) * (1 + len(type_.shape)), value, dtype)


def _float_of_bits(bits: int, scalar: str) -> float:
    if scalar in narrow.EIGHT_BITS:
        return float(narrow.from_bits(np.array([bits], np.uint8).view(np.int8), scalar)[0])
    code, whole = {"f16": ("e", "H"), "f32": ("f", "I"), "f64": ("d", "Q"), "bf16": ("f", "I")}[
        scalar
    ]
    return float(
        struct.unpack(code, struct.pack(whole, bits << (16 if scalar == "bf16" else 0)))[0]
    )


# ---------------------------------------------------------------- shapes


def whole(data: Array, shape: tuple[int, ...]) -> Array:
    """The array with every block axis at its full length (a view)."""
    if data.shape[1:] == shape:
        return data
    return np.broadcast_to(data, (data.shape[0], *shape))


def _alike(*values: Array) -> list[Array]:
    count = max(value.shape[0] for value in values)
    return [np.broadcast_to(value, (count, *value.shape[1:])) for value in values]


def in_any_order(data: Array) -> Array:
    """Elements (programs, n) where the compiler may choose their order: backwards.

    A GPU's order follows from layouts. What is right in this one does not hang on it.
    """
    return data[:, ::-1]


def _reshape(operation: Operation, data: Array) -> Array:
    shape = operation.result_types[0].shape
    if data.size == data.shape[0]:
        return data.reshape(data.shape[0], *(1,) * len(shape))
    before = operation.operand_types[0].shape
    data = whole(data, before).reshape(data.shape[0], -1)
    return data.reshape(data.shape[0], *shape)


def reshaped_in_any_order(operation: Operation, data: Array) -> Array:
    """`tt.reshape` to another shape, whose elements come in the compiler's order."""
    before = operation.operand_types[0].shape
    data = in_any_order(whole(data, before).reshape(data.shape[0], -1))
    return data.reshape(data.shape[0], *operation.result_types[0].shape)


def _transpose(operation: Operation, data: Array) -> Array:
    return data.transpose(0, *(axis + 1 for axis in operation.integers("order")))


def _range(operation: Operation) -> Rule:
    made = np.arange(operation.integer("start"), operation.integer("end"), dtype=np.int32)[None]
    return lambda: made


def _splat(operation: Operation) -> Rule:
    block = (1,) * len(operation.result_types[0].shape)
    return lambda data: data.reshape(-1, *block)


def _new_axis(operation: Operation) -> Rule:
    place = (slice(None),) * (operation.integer("axis") + 1) + (None,)
    return lambda data: data[place]


def _join(operation: Operation, *given: Array) -> Array:
    shape = operation.operand_types[0].shape
    return np.stack(_alike(*(whole(data, shape) for data in given)), axis=-1)


def _split(operation: Operation, data: Array) -> tuple[Array, Array]:
    data = whole(data, operation.operand_types[0].shape)
    return data[..., 0], data[..., 1]


def _cat(operation: Operation, *given: Array) -> Array:
    types = operation.operand_types
    parts = [whole(data, type_.shape) for data, type_ in zip(given, types, strict=True)]
    return in_any_order(np.concatenate(_alike(*parts), axis=1))


def _gather(operation: Operation, source: Array, picks: Array) -> Array:
    types = operation.operand_types
    values, places = _alike(whole(source, types[0].shape), whole(picks, types[1].shape))
    axis = operation.integer("axis") + 1
    astray = places[(places < 0) | (places >= values.shape[axis])]
    if astray.size:
        raise Unsupported(
            f"a gather of element {astray[0]} of {values.shape[axis]}, which does not exist"
        )
    return np.take_along_axis(values, places.astype(np.int64), axis)


def _histogram(operation: Operation, data: Array, *mask: Array) -> Array:
    (bins,) = operation.result_types[0].shape
    types = operation.operand_types
    given = [whole(one, type_.shape) for one, type_ in zip((data, *mask), types, strict=True)]
    rows, *masks = _alike(*given)
    counted = (rows >= 0) & (rows < bins) & (masks[0] if masks else True)
    return np.stack(
        [np.bincount(row[one], minlength=bins) for row, one in zip(rows, counted, strict=True)]
    ).astype(np.int32)


def _library(operation: Operation, *given: Array) -> Array:
    symbol = operation.string("symbol")
    function = libdevice.function(symbol.removeprefix("__nv_"))
    if function is None:
        raise Unsupported(f"the library function {symbol}")
    return rounded(function(*given), operation.result_types[0])


def _element_wise(rule: Callable[..., Array], operation: Operation) -> Rule:
    as_held = rounding(operation.result_types[0])
    return lambda *given: as_held(rule(*given))


#: what makes an operation's rule
_Maker = Callable[[Operation], Rule]


def _table() -> dict[str, _Maker]:
    rules: dict[str, _Maker] = {
        name: partial(_element_wise, rule) for name, rule in _ARITHMETIC.items()
    }
    of_operations: dict[str, Rule] = {
        "math.fma": lambda op, x, y, z: fused(x, y, z, op.result_types[0].scalar == "bf16"),
        "arith.select": _select,
        "arith.bitcast": _bitcast, "tt.bitcast": _bitcast,
        "tt.reshape": _reshape,
        "tt.trans": _transpose, "tt.join": _join, "tt.split": _split, "tt.cat": _cat,
        "tt.gather": _gather, "tt.histogram": _histogram, "tt.extern_elementwise": _library,
        "tt.elementwise_inline_asm": assembly.run,
    }  # fmt: skip
    for name in (
        "arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci",
        "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.index_cast",
        "arith.index_castui",
    ):  # fmt: skip
        of_operations[name] = converted
    rules |= {name: partial(partial, rule) for name, rule in of_operations.items()}
    for name in ("tt.broadcast", "ttg.convert_layout"):
        rules[name] = lambda op: lambda data: data
    return rules | {
        "arith.cmpi": lambda op: _INTEGERS[op.integer("predicate")],
        "arith.cmpf": lambda op: _FLOATS[op.integer("predicate")],
        "tt.unsplat": lambda op: lambda data: data.reshape(data.shape[0], -1)[:, 0],
        "tt.make_range": _range,
        "tt.splat": _splat,
        "tt.expand_dims": _new_axis,
    }


#: by an operation's name
RULES = _table()
