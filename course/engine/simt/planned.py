"""A kernel's launch, for a GPU elsewhere: its code, and what it is given; nothing runs.

NVVM compiles the kernel to PTX (`course.engine.simt.numbas_word` has it from its tree), which a
GPU's driver assembles, as when Numba launches. Parameters lie as Numba's own launcher has them.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import map_layout

from course.engine.cell.numba import read_cell
from course.engine.faults import does_not_compile, not_measured
from course.engine.job import Form, Run
from course.engine.simt import numbas_word
from course.engine.simt.compiled import has_nvvm, ptx_of
from course.engine.simt.launch import declared_numbers, scalar
from course.engine.simt.lowering.signatures import Function, engine_type
from course.engine.simt.lowering.types import numba_type, numpy_dtype
from course.engine.stated_gpu import target_of

#: Options of `cuda.jit` that change what NVVM makes.
_OF_NVVM = ("fastmath", "opt")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\([^)]*\)")


def planned(run: Run) -> dict[str, Any]:
    """The launch of a run, as plain data: as `course.engine.triton.planned` has it.

    Raises:
        KernelFault: where Numba or NVVM does not compile it here.
    """
    function = read_cell(run.source).kernels[run.kernel]
    numbers, argument_types = _given(function, run)
    buffers: list[list[Any]] = []
    arrays: list[list[Any]] = []
    parameters: list[list[Any]] = []
    compiled_for: list[Any] = []
    given = zip(function.parameters, argument_types, run.arguments.items(), strict=True)
    for own, type_, (name, value) in given:
        if isinstance(value, Form):
            compiled_for.append(_array_type(value))
            parameters += _of_an_array(len(buffers), value)
            shape, strides = list(value.shape), list(value.strides)
            dtype = np.dtype(value.dtype).name
            arrays.append([name, len(buffers), value.offset, shape, strides, dtype])
            buffers.append([value.bytes, name])
        else:
            compiled_for.append(type_)
            number = np.asarray(numbers[own]).astype(numpy_dtype(type_))
            parameters.append(["value", number.tobytes()])
    code = _code(function, tuple(compiled_for), target_of(run.planned_for))
    block, grid = ([*sides, 1, 1][:3] for sides in (run.block, run.grid))
    return {
        "buffers": buffers,
        "codes": [{**code, "block": block, "shared": run.shared_bytes, "scratch": []}],
        "steps": [["launch", 0, grid, parameters]],
        "arrays": arrays,
    }


def _given(function: Function, run: Run) -> tuple[dict[str, Any], list[Any]]:
    """The numbers that a kernel is given, by its own names, and every argument's type."""
    numbers: dict[str, Any] = {}
    types_: list[Any] = []
    for name, value in zip(function.parameters, run.arguments.values(), strict=True):
        if isinstance(value, Form):
            types_.append(engine_type(_array_type(value)))
        else:
            numbers[name], type_ = scalar(value)
            types_.append(type_)
    declared_numbers(function, numbers, types_)
    return numbers, types_


def _array_type(form: Form) -> Any:
    """The type that Numba gives an array at a launch."""
    dtype = np.dtype(form.dtype)
    lies = np.lib.stride_tricks.as_strided(np.empty((), dtype), form.shape, form.strides)
    kind: Any = numba_type(dtype)
    return types.Array(kind, len(form.shape), map_layout(lies))


def _of_an_array(buffer: int, form: Form) -> list[list[Any]]:
    """An array as a kernel gets it: no owners, its size, an item's, its data, shape and strides."""
    item = np.dtype(form.dtype).itemsize
    size = math.prod(form.shape)
    around = [*form.shape, *form.strides]
    return [
        *(["value", struct.pack("<q", n)] for n in (0, 0, size, item)),
        ["pointer", buffer, form.offset],
        *(["value", struct.pack("<q", n)] for n in around),
    ]


def _code(function: Function, argument_types: tuple[Any, ...], target: int) -> dict[str, Any]:
    """The kernel's PTX, and its name there.

    Raises:
        KernelFault: NOT_MEASURED, with what is missing; DOES_NOT_COMPILE where Numba says so.
    """
    if not has_nvvm():
        raise not_measured(None, "no_nvvm")
    kernel = numbas_word.python_function(function)
    if kernel is None:
        raise not_measured(function.node, "numba_not_made", name=function.name)
    options = {key: value for key, value in function.options.items() if key in _OF_NVVM}
    try:
        ptx = ptx_of(kernel, argument_types, target, **options)
    except NumbaError as error:
        detail = (str(error).strip().splitlines() or [""])[-1]
        raise does_not_compile(function.node, "type_error", detail=detail) from None
    found = _ENTRY.search(ptx)
    assert found is not None
    registers = function.options.get("max_registers")
    if registers:
        ptx = ptx[: found.end()] + f" .maxnreg {registers}" + ptx[found.end() :]
    return {"binary": ptx.encode() + b"\0", "name": found[1]}
