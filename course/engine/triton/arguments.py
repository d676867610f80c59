"""What the parameters of a compiled kernel are given."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import triton.language as tl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.tools.tensor_descriptor import TensorDescriptor

from course.engine.triton.ir import Module, Type
from course.engine.triton.passed import Passed
from course.engine.triton.running.addresses import address_of
from course.engine.triton.running.bulk import Descriptor
from course.engine.triton.running.operations import dtype_of
from course.engine.triton.running.values import Unsupported


def arguments_of(module: Module, passed: Passed) -> list[Any]:
    """What the parameters of the compiled kernel hold: those that are no constants.

    A host's descriptor is several parameters: as the hardware knows it, or a pointer, with sizes
    and strides either way.
    """
    types = module.entry.regions[0][0].types
    found: list[Any] = []
    for name, value in passed.values.items():
        if isinstance(value, TensorDescriptor | GluonDescriptor):
            found += _described(types[len(found) :], passed, name, value)
        elif isinstance(value, tl.tensor):
            found.append(value.handle.data)
        elif isinstance(value, tl.tuple):
            found += _inside(value)
    if len(found) != len(types):
        raise Unsupported(f"a kernel of {len(types)} parameters, launched with {len(found)}")
    return found


def _inside(values: tl.tuple) -> list[Any]:
    """The tensors and numbers of a tuple, and of tuples in it."""
    found: list[Any] = []
    for value in values.values:
        if isinstance(value, tl.tuple):
            found += _inside(value)
        elif isinstance(value, tl.tensor):
            found.append(value.handle.data)
    return found


def _described(
    types: Sequence[Type], passed: Passed, name: str, host: TensorDescriptor | GluonDescriptor
) -> list[Any]:
    view = next(view for view in passed.views if view.name == name)
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
        type_ = tl.pointer_type(view.element)
        found = [Descriptor(base, type_, extent, strides, nan)]
        found += sizes
    return [
        value.astype(dtype_of(type_)) if isinstance(value, np.ndarray) else value
        for value, type_ in zip(found, types, strict=False)
    ]
