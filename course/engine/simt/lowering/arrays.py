"""Arrays that a kernel declares: shared by a block, private to a thread, constant."""

from __future__ import annotations

import ast
import math
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype

from course.engine.faults import does_not_compile, too_many_resources
from course.engine.simt.lowering.arguments import arguments
from course.engine.simt.lowering.expr import Expr, describe
from course.engine.simt.lowering.types import (
    COMPLEX_FIELDS,
    ArrayType,
    Scalar,
    numba_type,
    numpy_dtype,
)
from course.engine.simt.running.lanes import Lanes
from course.engine.simt.running.local import LocalArray
from course.engine.simt.running.memory import without_fields
from course.engine.simt.running.shared import SharedArray

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

STATIC_SHARED_LIMIT_BYTES = 48 * 1024
LOCAL_LIMIT_ELEMENTS = 4096


def _constant_shape(low: Lowering, node: ast.Call, shape: Expr, what: str) -> tuple[int, ...]:
    value = shape.const
    items = value if isinstance(value, tuple) else (value,)
    if not items or not all(isinstance(i, int) and not isinstance(i, bool) for i in items):
        raise does_not_compile(
            node,
            f"{what}_shape_not_constant",
            array=low.target or "the array",
            shape=ast.unparse(node.args[0]) if node.args else "shape",
        )
    parts = shape.items if isinstance(value, tuple) else (shape,)
    for number, part in enumerate(parts or ()):
        written = node.args[0] if node.args else node.keywords[0].value
        if isinstance(written, ast.Tuple):
            written = written.elts[number]
        if not part.literal:
            raise does_not_compile(
                node,
                "shape_computed",
                array=low.target or "the array",
                shape=ast.unparse(written),
                value=part.const,
            )
    if min(items) < 1 and (what, items) != ("shared", (0,)):
        raise low.untyped(node, f"an array of the shape {items} has no elements")
    return tuple(items)


def _elements(
    low: Lowering, node: ast.Call, dtype: Expr, extents: tuple[int, ...]
) -> tuple[Scalar, tuple[int, ...], tuple[str, ...]]:
    """(type, shape, fields) of what an array holds: of complex numbers two floats each, of records
    their fields, which are of one type.
    """
    if isinstance(dtype.const, types.Complex):
        return dtype.const.underlying_float, (*extents, 2), COMPLEX_FIELDS
    if isinstance(dtype.const, types.Number | types.Boolean):
        return dtype.const, extents, ()
    if isinstance(dtype.const, types.Record):
        parts, fields = without_fields(np.empty(1, as_dtype(dtype.const)))
        if not fields:
            raise low.untyped(node, "its records have fields of several types")
        return numba_type(parts.dtype), (*extents, len(fields)), fields
    if isinstance(dtype.const, str):  # a dtype's name, as NumPy has it
        with suppress(TypeError):
            return numba_type(np.dtype(dtype.const)), extents, ()
    raise low.untyped(node, f"{describe(dtype)} is not a type: use float32, int32, ...")


def shared_array(low: Lowering, node: ast.Call) -> Expr:
    """``cuda.shared.array(shape, dtype)``; shape 0 is the dynamic shared memory."""
    shape, dtype = arguments(low, node, ("shape", "dtype"), 2)
    given = _constant_shape(low, node, shape, "shared")
    element, extents, fields = _elements(low, node, dtype, given)
    name = low.target or "shared"
    if given == (0,):
        low.uses_dynamic_shared = True
        return _dynamic_shared(low, name, element, fields)
    place = (low.frame.function.name, node.lineno, node.col_offset)
    size = math.prod(extents) * numpy_dtype(element).itemsize
    base = low.reserve_shared(place, size, numpy_dtype(element).itemsize)
    if low.shared_bytes > STATIC_SHARED_LIMIT_BYTES:
        raise too_many_resources(
            node.lineno, "too_much_shared", bytes=low.shared_bytes, limit=STATIC_SHARED_LIMIT_BYTES
        )

    def run(lanes: Lanes) -> SharedArray:
        array = lanes.shared.get(place)
        if array is None:
            array = lanes.shared[place] = SharedArray(name, extents, element, lanes, base)
        return array

    type_ = ArrayType(element, len(extents), "shared", fields)
    return Expr(type_, run, ("shared", place))


def _dynamic_shared(low: Lowering, name: str, element: Scalar, fields: tuple[str, ...]) -> Expr:
    shape = (len(fields),) if fields else ()
    itemsize = numpy_dtype(element).itemsize * math.prod(shape)

    def run(lanes: Lanes) -> SharedArray:
        array = lanes.shared.get((element, shape))
        if array is None:
            extent = lanes.launch.dynamic_shared_bytes // itemsize
            base = lanes.launch.program.shared_bytes
            array = SharedArray(name, (extent, *shape), element, lanes, base)
            lanes.shared[element, shape] = array
        return array

    type_ = ArrayType(element, 1 + len(shape), "shared", fields)
    return Expr(type_, run, ("shared", "dynamic"))


def local_array(low: Lowering, node: ast.Call) -> Expr:
    """``cuda.local.array(shape, dtype)``."""
    shape, dtype = arguments(low, node, ("shape", "dtype"), 2)
    given = _constant_shape(low, node, shape, "local")
    element, extents, fields = _elements(low, node, dtype, given)
    name = low.target or "local"
    if math.prod(extents) > LOCAL_LIMIT_ELEMENTS:
        raise too_many_resources(
            node.lineno,
            "too_much_local",
            array=name,
            elements=math.prod(extents),
            limit=LOCAL_LIMIT_ELEMENTS,
        )
    place = (low.frame.instance, node.lineno, node.col_offset)

    def run(lanes: Lanes) -> LocalArray:
        array = lanes.local.get(place)
        if array is None:
            array = lanes.local[place] = LocalArray(name, extents, element)
        return array

    type_ = ArrayType(element, len(extents), "local", fields)
    return Expr(type_, run, ("local", place))


def constant_array(low: Lowering, node: ast.Call) -> Expr:
    """``cuda.const.array_like(ARRAY)``."""
    (array,) = arguments(low, node, ("array_like",), 1)
    if not isinstance(array.type, ArrayType) or array.type.memory != "constant":
        raise low.untyped(
            node, f"cuda.const.array_like takes a NumPy array of constants, not {describe(array)}"
        )
    return array
