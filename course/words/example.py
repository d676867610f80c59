"""What an exercise makes of four elements: drawn and worked out by its own spec."""

from __future__ import annotations

import ast
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from course.plain.trees import nodes
from course.spec.draws import Draw
from course.spec.exercise import Array, Case, KernelExercise, Role, Scalar
from course.spec.inputs import drawn, given_to_reference

#: Elements of a vector, and the side of a matrix, which then has as many.
_LONGEST, _SIDE = 4, 2
#: A vector of up to so many is shown whole; of a longer one so many, and the last.
_WHOLE, _FIRST = 8, 4
#: Of a drawn number, of an input as it is shown (what float16 makes of one), and of a result.
_DRAWN_DIGITS, _SHOWN_DIGITS = 2, {"in": 3, "out": 4}

#: (in or out, name and shape, values)
Line = tuple[str, str, str]


def example(exercise: KernelExercise) -> list[Line]:
    """Inputs and what becomes of them, a line each."""
    case = _case(exercise)
    rng = np.random.default_rng(zlib.crc32(exercise.name.encode()))
    arguments = drawn(exercise, case, rng)
    given = given_to_reference(exercise, arguments)
    made = exercise.reference(**given)
    lengths = {
        node.id
        for array in exercise.arrays
        for axis in array.axes
        for node in nodes(ast.parse(axis), ast.Name)
    }
    shown = [
        one
        for one in exercise.passed
        if (isinstance(one, Array) and one.role in (Role.IN, Role.INOUT))
        or (isinstance(one, Scalar) and one.name not in lengths)
    ]
    return [
        *(_line("in", one.name, arguments[one.name]) for one in shown),
        *(_line("out", name, values) for name, values in made.items()),
    ]


def _case(exercise: KernelExercise) -> Case:
    """The spec's own, or its small case cut to four elements."""
    case = exercise.example
    if case is None:
        small = exercise.small or exercise.cases[0]
        flat = all(len(array.axes) == 1 for array in exercise.arrays)
        most = _LONGEST if flat else _SIDE
        case = replace(small, sizes={name: min(n, most) for name, n in small.sizes.items()})
    draws = {
        array.name: _short(case.draws.get(array.name, array.draw)) for array in exercise.arrays
    }
    return replace(case, draws=draws)


def _short(draw: Draw) -> Draw:
    """The same numbers with few digits."""

    def shorter(
        rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> np.ndarray:
        values = draw(rng, shape, dtype)
        if values.dtype.kind != "f":
            return values
        cut = [float(f"{value:.{_DRAWN_DIGITS}g}") for value in values.ravel().tolist()]
        return np.array(cut, values.dtype).reshape(values.shape)

    return shorter


def _line(direction: str, name: str, values: Any) -> Line:
    array = np.asarray(values)
    shape = "" if array.ndim < 2 and array.size <= _WHOLE else f" {array.shape}"
    return direction, f"{name}{shape}", _listed(array, _SHOWN_DIGITS[direction])


def _listed(array: np.ndarray, digits: int) -> str:
    """`[0.5, -1.2]`; of a long vector its beginning and its end."""
    if array.ndim == 0:
        value = array.item()
        return f"{value:.{digits}g}" if isinstance(value, float) else str(value)
    parts = [_listed(one, digits) for one in array]
    if len(parts) > _WHOLE:
        parts[_FIRST:-1] = ["..."]
    return f"[{', '.join(parts)}]"
