"""8-bit floats, kept in float32 arrays, and conversions that round towards zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from course.engine.triton.running.values import Unsupported

Array = np.ndarray[Any, Any]
#: MLIR's names of the 8-bit formats that NVIDIA's GPUs convert.
EIGHT_BITS = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2}
#: From this compute capability on they have an instruction (PTX ISA, "cvt").
CONVERTS_EIGHT_BITS = 89


def nearest(values: Array, scalar: str) -> Array:
    """The nearest 8-bit float; what is too large becomes the largest (`cvt.rn.satfinite`)."""
    most = torch.finfo(EIGHT_BITS[scalar]).max
    return from_bits(to_bits(np.clip(values.astype(np.float32), -most, most), scalar), scalar)


def to_bits(values: Array, scalar: str) -> Array:
    """The bits of values that are 8-bit floats, as int8."""
    wide = torch.from_numpy(np.array(values, np.float32))
    bits: Array = wide.to(EIGHT_BITS[scalar]).view(torch.int8).numpy()
    return bits


def from_bits(bits: Array, scalar: str) -> Array:
    """The values of 8-bit patterns."""
    narrow = torch.from_numpy(np.array(bits, np.int8)).view(EIGHT_BITS[scalar])
    values: Array = narrow.float().numpy()
    return values


def towards_zero(values: Array, scalar: str) -> Array:
    """float32 values as 16-bit ones that are no larger."""
    if scalar == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        cut = (bits & np.uint32(0xFFFF0000)).view(np.float32)
        return np.where(np.isnan(values), np.float32(np.nan), cut)
    if scalar != "f16":
        raise Unsupported(f"a conversion to {scalar} that rounds towards zero")
    near = values.astype(np.float16)
    beyond = np.abs(near.astype(values.dtype)) > np.abs(values)
    return np.where(beyond, np.nextafter(near, np.float16(0)), near)
