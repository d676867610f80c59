"""What PTX's types make of a register's bits, and `cvt` between them (PTX ISA, "cvt").

A register is an array of uint64, of which an instruction reads as many bits as its type has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course.engine.conversion import float_to_integer
from course.engine.triton.running import narrow
from course.engine.triton.running.values import (
    Unsupported,
    bf16_from_bits,
    bf16_to_bits,
    round_bf16,
)

Array = np.ndarray[Any, Any]
Name = tuple[str, ...]
U64 = np.uint64
_PIECE = re.compile(r"^([a-z]+[0-9a-z]*?)x([248])$")
_NARROW = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
#: the magnitudes of a 4-bit float, by its lower three bits
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


def width_of(type_: str) -> int:
    """Bits of a type: `f16x2` has 32."""
    piece = _PIECE.match(type_)
    if piece is not None:
        return width_of(piece[1]) * int(piece[2])
    special = {"pred": 1, "e4m3": 8, "e5m2": 8, "e2m1": 4, "ue8m0": 8}
    return special.get(type_) or int(re.sub(r"\D", "", type_))


def cut(register: Array, width: int) -> Array:
    """The lower bits of a register."""
    return register if width == 64 else register & U64((1 << width) - 1)


def read(register: Array, type_: str) -> Array:
    """The values that the lower bits of a register are."""
    low = cut(register, width_of(type_))
    if type_ == "pred":
        return low != 0
    if type_ in _NARROW:
        return narrow.from_bits(low.astype(np.uint8).view(np.int8), _NARROW[type_])
    if type_ == "e2m1":
        sign = np.where(low & U64(8) != 0, np.float32(-1), np.float32(1))
        return sign * _E2M1[(low & U64(7)).astype(np.int64)]
    if type_ == "ue8m0":
        return np.where(low == 255, np.float64("nan"), np.ldexp(1.0, low.astype(np.int32) - 127))
    if type_ == "bf16":
        return bf16_from_bits(low.astype(np.uint16).view(np.int16))
    return low.astype(f"u{width_of(type_) // 8}").view(_numpy_type(type_))


def _numpy_type(type_: str) -> np.dtype[Any]:
    """NumPy's of the same bits; those of `b32` and the like are a whole number's."""
    kind = {"f": "f", "t": "f", "s": "i"}.get(type_[0], "u")
    return np.dtype(f"{kind}{width_of(type_) // 8}")


def written(values: Array, type_: str) -> Array:
    """A register that holds values of a type."""
    if type_ == "pred":
        return values.astype(U64)
    if type_ in _NARROW:
        return narrow.to_bits(values, _NARROW[type_]).view(np.uint8).astype(U64)
    if type_ == "e2m1":
        size = np.minimum(np.abs(np.nan_to_num(values, nan=6.0)), 6)
        middles = (_E2M1[1:] + _E2M1[:-1]) / 2
        up = np.searchsorted(middles, size, side="left")
        tied = np.isin(size, middles) & (up % 2 == 1)  # ties go to the even of two
        return (up + tied + np.where(np.signbit(values), 8, 0)).astype(U64)
    if type_ == "ue8m0":
        return np.where(np.isnan(values), 255, np.frexp(values)[1] + 126).astype(U64)
    if type_ == "bf16":
        return bf16_to_bits(round_bf16(values)).view(np.uint16).astype(U64)
    size = width_of(type_) // 8
    if type_[0] in "ft":
        return values.astype(f"f{size}").view(f"u{size}").astype(U64)
    return (
        values.astype(np.int64 if values.dtype.kind == "i" else U64).astype(f"u{size}").astype(U64)
    )


def parts_of(type_: str) -> tuple[str, int]:
    """(a piece's type, how many a register holds): `f16x2` is two of `f16`."""
    piece = _PIECE.match(type_)
    return (piece[1], int(piece[2])) if piece is not None else (type_, 1)


def each(compute: Callable[..., Array], type_: str, *registers: Array) -> Array:
    """What an instruction makes of registers, piece by piece."""
    piece, count = parts_of(type_)
    width, made = width_of(piece), np.zeros(1, U64)
    for at in range(count):
        shift = U64(at * width)
        found = compute(*(read(register >> shift, piece) for register in registers))
        made = made | written(found, piece) << shift
    return made


def _to_type(values: Array, name: Name, target: str) -> Array:
    """`cvt`'s values, ready to be kept as the target."""
    if target in _NARROW:
        most = np.float32(448 if target == "e4m3" else 57344)
        return np.clip(values.astype(np.float32), -most, most)
    if target in ("e2m1", "bf16"):
        if "rz" in name:
            return narrow.towards_zero(values.astype(np.float32), "bf16")
        return values.astype(np.float32)
    if target == "ue8m0":
        size = np.abs(values.astype(np.float64))
        fraction, exponent = np.frexp(size)
        up = fraction > 0.5 if "rp" in name else np.zeros(1, np.bool_)
        power = np.where(size == 0, -127, np.where(np.isinf(size), 128, exponent - 1 + up))
        made = np.ldexp(1.0, np.clip(power, -127, 127))
        too_large = np.isnan(size) | ((power > 127) & ("satfinite" not in name))
        return np.where(too_large, np.nan, made)
    if target == "tf32":
        low = np.ascontiguousarray(values).view(np.uint32)
        if "rn" in name:
            low = low + (np.uint32(0xFFF) + (low >> np.uint32(13) & np.uint32(1)))
        elif "rna" in name:
            low = low + np.uint32(0x1000)
        return (low & np.uint32(0xFFFFE000)).view(np.float32)
    wanted = _numpy_type(target)
    if wanted.kind == "f":
        if values.dtype.kind == "f" and any(mode in name for mode in ("rni", "rzi", "rmi", "rpi")):
            rounding = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
            values = next(rule for mode, rule in rounding.items() if mode in name)(values)
        if "rz" in name and wanted == np.float16 and values.dtype == np.float32:
            return narrow.towards_zero(values, "f16")
        made = values.astype(wanted)
        return np.fmin(np.fmax(made, wanted.type(0)), wanted.type(1)) if "sat" in name else made
    if values.dtype.kind == "f":
        rounding = {"rni": np.rint, "rmi": np.floor, "rpi": np.ceil}
        rule = next((rule for mode, rule in rounding.items() if mode in name), np.trunc)
        return float_to_integer(rule(values), wanted)
    if "sat" in name:
        limits = np.iinfo(wanted)
        values = (
            np.clip(values, limits.min, limits.max)
            if wanted.itemsize < values.dtype.itemsize
            else values
        )
    return values.astype(wanted)


def convert(name: Name, given: Sequence[Array]) -> Array:
    """`cvt`, also of two numbers into one register, the first into its upper half."""
    target, source = name[-2:]
    piece, count = parts_of(target)
    from_piece, from_count = parts_of(source)
    values = (
        list(given)[::-1]
        if len(given) == count
        else [given[0] >> U64(at * width_of(from_piece)) for at in range(from_count)]
    )
    if len(values) != count:
        raise Unsupported(f"inline assembly with {'.'.join(name)}")
    made = np.zeros(1, U64)
    for at, value in enumerate(values):
        found = _to_type(read(value, from_piece), name, piece)
        if "relu" in name:
            found = np.fmax(found, found.dtype.type(0))
        made = made | written(found, piece) << U64(at * width_of(piece))
    return made
