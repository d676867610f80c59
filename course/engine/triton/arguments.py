"""What the parameters of a compiled kernel are given."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.tools.tensor_descriptor import TensorDescriptor

from course.engine.triton.ir import Module, Type
from course.engine.triton.passed import Passed
from course.engine.triton.running.addresses import address_of
from course.engine.triton.running.bulk import Descriptor
from course.engine.triton.running.operations import dtype_of, rounded
from course.engine.triton.running.tensors import View
from course.engine.triton.running.values import Unsupported


def arguments_of(module: Module, passed: Passed) -> list[Any]:
    """What the parameters of the compiled kernel hold: those that are no constants.

    A host's descriptor is several parameters: as the hardware knows it, or a pointer, with sizes
    and strides either way.
    """
    types = module.entry.regions[0][0].types
    found: list[Any] = []
    for value in passed.values:
        left = types[len(found) :]
        if isinstance(value, tuple):
            found += _described(left, *value)
        else:
            number = address_of(value) if isinstance(value, View) else value
            found.append(_number(number, left[0]) if left else number)
    if len(found) != len(types):
        raise Unsupported(f"a kernel of {len(types)} parameters, launched with {len(found)}")
    return found


def _number(value: float, type_: Type) -> np.ndarray:
    """A number as a parameter of a type holds it."""
    dtype = dtype_of(type_)
    if dtype.kind == "i":
        bits = dtype.itemsize * 8
        value = (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    data = np.array([value], dtype)
    return data if type_.pointers else rounded(data, type_)


def _described(
    types: Sequence[Type], view: View, host: TensorDescriptor | GluonDescriptor
) -> list[Any]:
    base = np.array([address_of(view)], np.int64)
    nan = getattr(host, "padding", "zero") == "nan"
    extent, strides = (
        tuple(np.array([int(n)], np.int64) for n in numbers)
        for numbers in (host.shape, host.strides)
    )
    found: list[Any]
    sizes = [*extent, *strides]
    if types[0].kind == "pointer":
        # as a pointer: sizes, strides, whether NaN stands outside, and what else has an answer
        sizes = [base, *sizes]
        answers = len(list(takewhile(lambda t: t.text == "i1", types[len(sizes) :])))
        flags = [np.array([nan and at == 0]) for at in range(answers)]
        found = [*sizes, *flags, *extent, *strides]
    else:
        found = [Descriptor(base, view.scalar, extent, strides, nan)]
        found += sizes
    return [
        value.astype(dtype_of(type_)) if isinstance(value, np.ndarray) else value
        for value, type_ in zip(found, types, strict=False)
    ]
