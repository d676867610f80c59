"""Floats as integers, the way the GPU's own instruction makes them; both engines use it."""

from __future__ import annotations

from typing import Any

import numpy as np


def float_to_integer(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Truncates and saturates as PTX `cvt.rzi` does (PTX ISA, "cvt").

    There is no 8-bit conversion: 16 bits are converted and the low 8 kept. A NaN becomes 0,
    or the lone top bit where the source or the result has 64 bits.

    Args:
        values: floats of any shape and 16, 32 or 64 bits.
        dtype: the integers, signed or unsigned.
    """
    wide = np.dtype(f"{dtype.kind}{max(2, dtype.itemsize)}")
    limits = np.iinfo(wide)
    numbers = values.astype(np.float32) if values.dtype == np.float16 else values
    with np.errstate(all="ignore"):
        low, high = numbers < float(limits.min), numbers >= float(limits.max)
        nan = np.isnan(numbers)
        odd = low | high | nan
        if not odd.any():
            return numbers.astype(wide).astype(dtype)
        result = np.where(odd, 0, numbers).astype(wide)
    top_bit = wide.itemsize == 8 or values.dtype == np.float64
    of_nan = wide.type(1 << (8 * wide.itemsize - 1)) if wide.kind == "u" else wide.type(limits.min)
    result[low] = limits.min
    result[high] = limits.max
    result[nan] = of_nan if top_bit else 0
    return result.astype(dtype)
