"""The arguments of one case: inputs drawn, outputs poisoned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course.spec.exercise import Array, Case, KernelExercise, Meta, Role, Scalar, Stride
from course.spec.formula import Number

#: Both by an output's name.
Answer = tuple[Mapping[str, Any], Mapping[str, Any]]


def in_order(
    exercise: KernelExercise,
    case: Case,
    names: Mapping[str, Number],
    array_of: Callable[[Array, Mapping[str, Any]], np.ndarray],
) -> dict[str, Any]:
    """The kernel's arguments by parameter name, in order.

    Args:
        array_of: makes an array, from the arguments before it.
    """
    arguments: dict[str, Any] = {}
    for parameter in exercise.passed:
        if isinstance(parameter, Meta):
            arguments[parameter.name] = int(names[parameter.name])
        elif isinstance(parameter, Stride):
            strided = arguments[parameter.array]
            arguments[parameter.name] = strided.strides[parameter.axis] // strided.itemsize
        elif isinstance(parameter, Scalar):
            arguments[parameter.name] = exercise.number(parameter, case, names)
        else:
            arguments[parameter.name] = array_of(parameter, arguments)
    return arguments


def drawn(
    exercise: KernelExercise,
    case: Case,
    rng: np.random.Generator,
    constants: Mapping[str, int] | None = None,
    known: Mapping[str, np.ndarray] | None = None,
) -> dict[str, Any]:
    """The kernel's arguments by parameter name, in order: fresh inputs, poisoned outputs.

    Args:
        known: the inputs, where they have been drawn before.
    """
    names = exercise.names(case, constants)
    wide: dict[str, np.ndarray] = {}

    def array_of(array: Array, before: Mapping[str, Any]) -> np.ndarray:
        dtype, shape = exercise.dtype(array, case), exercise.shape(array, names)
        if array.role is Role.OUT:
            values = np.full(shape, poison(dtype), dtype)
        elif array.role is Role.ACCUMULATE:
            values = np.full(shape, array.start, dtype)
        elif known is not None:
            values = known[array.name].copy()
        elif array.computed is not None:
            so_far = _so_far(exercise, case, names, before, wide)
            values = array.computed(**so_far).astype(dtype)
        else:
            values = case.draws.get(array.name, array.draw)(rng, shape, dtype)
        if array.name in case.transposed:
            return np.asfortranarray(values)
        return _stored(values, exercise.stored_shape(array, names))

    return in_order(exercise, case, names, array_of)


def _so_far(
    exercise: KernelExercise,
    case: Case,
    names: Mapping[str, Number],
    arguments: Mapping[str, Any],
    wide: dict[str, np.ndarray],
) -> dict[str, Any]:
    """What an array may be computed of: the arrays so far, in float64, and every scalar.

    `wide` keeps the arrays in float64 for the next one that is computed.
    """
    for name, value in arguments.items():
        if isinstance(value, np.ndarray) and name not in wide:
            wide[name] = value.astype(np.float64)
    known: dict[str, Any] = dict(wide)
    for parameter in exercise.passed:
        if isinstance(parameter, Scalar):
            known[parameter.name] = exercise.number(parameter, case, names).item()
    return known


def _stored(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`values` as the first corner of an array of that shape."""
    if shape == values.shape:
        return values
    view = corner(np.full(shape, poison(values.dtype), values.dtype), values.shape)
    view[...] = values
    return view


def corner(array: Any, shape: tuple[int, ...]) -> Any:
    """The first `shape` of a larger array or tensor, a view."""
    return array[tuple(slice(extent) for extent in shape)]


#: NaNs that no arithmetic makes: the payload tells an element that was never written.
_POISON_BITS = {"float16": 0x7E15, "float32": 0x7FC0_0D1E, "float64": 0x7FF8_0D1E_0D1E_0D1E}


def poison(dtype: np.dtype[Any]) -> Any:
    """What an output holds before it is written: NaN, or a sentinel for whole numbers."""
    if dtype.kind == "f":
        bits = np.array(_POISON_BITS[dtype.name], f"uint{8 * dtype.itemsize}")
        return bits.view(dtype)[()]
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).max - 41)
    return dtype.type(False)


def poisoned(values: np.ndarray) -> np.ndarray:
    """Element by element: still what `poison` left there. Never so for a bool."""
    if values.dtype.kind == "f":
        bits = np.ascontiguousarray(values).view(f"uint{8 * values.dtype.itemsize}")
        return (bits == _POISON_BITS[values.dtype.name]).reshape(values.shape)
    if values.dtype.kind in "iu":
        return values == poison(values.dtype)
    return np.zeros(values.shape, bool)


def given_to_reference(exercise: KernelExercise, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the reference takes of a launch's arguments: copies in float64 or int64, numbers."""
    return {
        p.name: _wide(values[p.name])
        for p in exercise.passed
        if isinstance(p, Scalar) or (isinstance(p, Array) and p.role is not Role.OUT)
    }


def answer(exercise: KernelExercise, given: Mapping[str, Any]) -> Answer:
    """What is right for what the reference is given, and how large the terms of it are."""
    with np.errstate(all="ignore"):
        expected = exercise.reference(**given)
        sizes = expected if exercise.magnitude is None else exercise.magnitude(**given)
    return expected, sizes


def _wide(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value.item()
    if value.dtype.kind == "f":
        return value.astype(np.float64)
    return value.astype(np.int64) if value.dtype.kind in "iu" else value.copy()
