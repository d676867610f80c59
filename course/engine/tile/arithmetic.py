"""The builder's element-wise operations: one NumPy call for all programs of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl

from course.engine.conversion import float_to_integer
from course.engine.tile import contraction
from course.engine.tile.elements import (
    erf,
    fused,
    high_product,
    library_function,
    remainder,
    truncated_division,
)
from course.engine.tile.values import (
    Value,
    bf16_from_bits,
    bf16_to_bits,
    is_bf16,
    larger,
    numpy_type,
    rounded,
    signed,
    unsigned,
)


def _binary(op: Callable[..., np.ndarray]) -> Callable[..., Value]:
    def run(self: Any, lhs: Value, rhs: Value) -> Value:
        return Value(rounded(op(lhs.data, rhs.data), lhs.type), lhs.type, larger(lhs, rhs))

    return run


def _unsigned_binary(op: Callable[..., np.ndarray]) -> Callable[..., Value]:
    def run(self: Any, lhs: Value, rhs: Value) -> Value:
        data = signed(op(unsigned(lhs.data), unsigned(rhs.data)))
        return Value(rounded(data, lhs.type), lhs.type, larger(lhs, rhs))

    return run


def _comparison(op: Callable[..., np.ndarray]) -> Callable[..., Value]:
    def run(self: Any, lhs: Value, rhs: Value) -> Value:
        return Value(op(lhs.data, rhs.data), tl.int1, larger(lhs, rhs))

    return run


def _unordered(op: Callable[..., np.ndarray]) -> Callable[..., Value]:
    def run(self: Any, lhs: Value, rhs: Value) -> Value:
        nan = np.isnan(lhs.data) | np.isnan(rhs.data)
        return Value(op(lhs.data, rhs.data) | nan, tl.int1, larger(lhs, rhs))

    return run


def _unsigned_comparison(op: Callable[..., np.ndarray]) -> Callable[..., Value]:
    def run(self: Any, lhs: Value, rhs: Value) -> Value:
        return Value(op(unsigned(lhs.data), unsigned(rhs.data)), tl.int1, larger(lhs, rhs))

    return run


def _unary(op: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Value]:
    def run(self: Any, arg: Value) -> Value:
        return Value(rounded(op(arg.data), arg.type), arg.type, arg.shape)

    return run


def _with_bits(op: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A sum or difference; of single bits it is the lowest bit, as of wider integers."""

    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.bitwise_xor(a, b) if a.dtype.kind == "b" else op(a, b)

    return run


def _shift(op: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A shift; a single bit stays as it is, since it can be shifted by 0 alone."""

    def run(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a | np.zeros_like(b) if a.dtype.kind == "b" else op(a, b)

    return run


class Arithmetic:
    """Operations on elements; the builder inherits them."""

    create_fadd = contraction.add
    create_fsub = contraction.subtract
    create_fmul = contraction.multiply
    create_fdiv = _binary(np.divide)
    create_precise_divf = _binary(np.divide)
    create_approx_divf = _binary(np.divide)
    create_frem = _binary(np.fmod)
    create_add = _binary(_with_bits(np.add))
    create_sub = _binary(_with_bits(np.subtract))
    create_mul = _binary(np.multiply)
    create_sdiv = _binary(truncated_division)
    create_udiv = _unsigned_binary(truncated_division)
    create_srem = _binary(remainder)
    create_urem = _unsigned_binary(remainder)
    create_umulhi = _unsigned_binary(high_product)
    create_and = _binary(np.bitwise_and)
    create_or = _binary(np.bitwise_or)
    create_xor = _binary(np.bitwise_xor)
    create_shl = _binary(_shift(np.left_shift))
    create_ashr = _binary(_shift(np.right_shift))
    create_lshr = _unsigned_binary(_shift(np.right_shift))
    create_minsi = _binary(np.minimum)
    create_maxsi = _binary(np.maximum)
    create_minui = _unsigned_binary(np.minimum)
    create_maxui = _unsigned_binary(np.maximum)
    create_minimumf = _binary(np.minimum)
    create_maximumf = _binary(np.maximum)
    create_minnumf = _binary(np.fmin)
    create_maxnumf = _binary(np.fmax)

    create_icmpEQ = _comparison(np.equal)
    create_icmpNE = _comparison(np.not_equal)
    create_icmpSLT = _comparison(np.less)
    create_icmpSLE = _comparison(np.less_equal)
    create_icmpSGT = _comparison(np.greater)
    create_icmpSGE = _comparison(np.greater_equal)
    create_icmpULT = _unsigned_comparison(np.less)
    create_icmpULE = _unsigned_comparison(np.less_equal)
    create_icmpUGT = _unsigned_comparison(np.greater)
    create_icmpUGE = _unsigned_comparison(np.greater_equal)
    create_fcmpOEQ = _comparison(np.equal)
    create_fcmpOLT = _comparison(np.less)
    create_fcmpOLE = _comparison(np.less_equal)
    create_fcmpOGT = _comparison(np.greater)
    create_fcmpOGE = _comparison(np.greater_equal)
    create_fcmpUNE = _comparison(np.not_equal)
    create_fcmpUEQ = _unordered(np.equal)
    create_fcmpULT = _unordered(np.less)
    create_fcmpULE = _unordered(np.less_equal)
    create_fcmpUGT = _unordered(np.greater)
    create_fcmpUGE = _unordered(np.greater_equal)

    create_cos = _unary(np.cos)
    create_sin = _unary(np.sin)
    create_exp = _unary(np.exp)
    create_exp2 = _unary(np.exp2)
    create_log = _unary(np.log)
    create_log2 = _unary(np.log2)
    create_sqrt = _unary(np.sqrt)
    create_precise_sqrt = _unary(np.sqrt)
    create_rsqrt = _unary(lambda x: 1 / np.sqrt(x))
    create_floor = _unary(np.floor)
    create_ceil = _unary(np.ceil)
    create_fabs = _unary(np.abs)
    create_fneg = _unary(np.negative)
    create_iabs = _unary(np.abs)
    create_erf = _unary(erf)

    def create_fcmpONE(self, lhs: Value, rhs: Value) -> Value:
        """Ordered and not equal."""
        data = (lhs.data < rhs.data) | (lhs.data > rhs.data)
        return Value(data, tl.int1, larger(lhs, rhs))

    def create_fma(self, x: Value, y: Value, z: Value) -> Value:
        """x * y + z, rounded once."""
        data = fused(x.data, y.data, z.data, is_bf16(z.type))
        return Value(data, z.type, larger(_shaped(x, y), z))

    def create_clampf(self, x: Value, low: Value, high: Value, propagate_nans: Any) -> Value:
        """x between two limits."""
        data = np.fmin(np.fmax(x.data, low.data), high.data)
        if propagate_nans == tl.PropagateNan.ALL:
            data = np.where(np.isnan(x.data), x.data, data)
        return Value(data, x.type, x.shape)

    def create_select(self, condition: Value, lhs: Value, rhs: Value) -> Value:
        """Element by element, one of two."""
        data = np.where(condition.data, lhs.data, rhs.data)
        return Value(data, lhs.type, larger(condition, _shaped(lhs, rhs)))

    # ------------------------------------------------------------ conversions

    def create_int_cast(self, src: Value, type_: Any, is_signed: bool) -> Value:
        """Integers to another width: cut, extended by the sign, or by zeros."""
        dtype = numpy_type(type_)
        data = src.data
        if dtype.kind == "b":
            return Value((data & 1).astype(np.bool_), type_.scalar, src.shape)
        if not is_signed:
            data = unsigned(data)
        elif data.dtype.kind == "b":
            data = -data.astype(np.int8)
        return Value(data.astype(dtype, copy=False), type_.scalar, src.shape)

    def create_si_to_fp(self, src: Value, type_: Any) -> Value:
        """Signed integers to floats."""
        return Value(rounded(src.data, type_), type_.scalar, src.shape)

    def create_ui_to_fp(self, src: Value, type_: Any) -> Value:
        """Unsigned integers to floats."""
        return Value(rounded(unsigned(src.data), type_), type_.scalar, src.shape)

    def create_fp_to_si(self, src: Value, type_: Any) -> Value:
        """Floats to signed integers."""
        return Value(float_to_integer(src.data, numpy_type(type_)), type_.scalar, src.shape)

    def create_fp_to_ui(self, src: Value, type_: Any) -> Value:
        """Floats to unsigned integers."""
        whole = float_to_integer(src.data, np.dtype(f"u{numpy_type(type_).itemsize}"))
        return Value(signed(whole), type_.scalar, src.shape)

    def create_fp_ext(self, src: Value, type_: Any) -> Value:
        """Floats to a wider type."""
        return Value(src.data.astype(numpy_type(type_), copy=False), type_.scalar, src.shape)

    def create_fp_trunc(self, src: Value, type_: Any) -> Value:
        """Floats to a narrower type, to nearest."""
        return Value(rounded(src.data, type_), type_.scalar, src.shape)

    def create_fp_to_fp(self, src: Value, type_: Any, rounding: Any) -> Value:
        """Floats to a narrower type with a chosen rounding."""
        if rounding is not None and "RTZ" in str(rounding):
            return Value(_towards_zero(src.data, type_), type_.scalar, src.shape)
        return self.create_fp_trunc(src, type_)

    def create_bitcast(self, src: Value, type_: Any) -> Value:
        """The same bits as another type."""
        target, source = type_.scalar, src.type.scalar
        if target.is_ptr() or source.is_ptr():
            return Value(src.data, target, src.shape)
        data = bf16_to_bits(src.data) if is_bf16(source) else src.data
        if is_bf16(target):
            data = bf16_from_bits(np.ascontiguousarray(data).view(np.int16))
        elif data.dtype != numpy_type(target):
            data = np.ascontiguousarray(data).view(numpy_type(target))
        return Value(data, target, src.shape)

    create_int_to_ptr = create_bitcast
    create_ptr_to_int = create_bitcast

    def create_extern_elementwise(
        self, library: str, path: str, symbol: str, args: list[Value], type_: Any, pure: bool
    ) -> Value:
        """A function of NVIDIA's libdevice, where NumPy has one too."""
        op = library_function(symbol)
        data = op(*(arg.data for arg in args))
        return Value(rounded(data, type_), type_.scalar, max((a.shape for a in args), key=len))


def _shaped(a: Value, b: Value) -> Value:
    return a if len(a.shape) >= len(b.shape) else b


def _towards_zero(data: np.ndarray, type_: Any) -> np.ndarray:
    if is_bf16(type_):
        bits = np.ascontiguousarray(data, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return bits.view(np.float32)
    dtype = numpy_type(type_)
    near = data.astype(dtype)
    beyond = np.abs(near.astype(np.float64)) > np.abs(data.astype(np.float64))
    return np.where(beyond, np.nextafter(near, dtype.type(0)), near)
