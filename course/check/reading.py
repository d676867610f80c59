"""A solution cell as a check sees it, whichever dialect it is written in."""

from __future__ import annotations

import ast
from functools import lru_cache

from course.engine.cell.numba import read_cell
from course.engine.cell.solution import Solution, found, missing
from course.engine.faults import does_not_compile, rejected
from course.engine.triton.compiling.available import require_triton
from course.plain.trees import nodes
from course.spec.exercise import KernelExercise, Meta, Parameter


def read_solution(source: str, exercise: KernelExercise) -> Solution:
    """Admits a cell and finds the exercise's function in it.

    Raises:
        KernelFault: REJECTED or DOES_NOT_COMPILE, with the line.
    """
    if exercise.dialect == "numba":
        return _numba(source, exercise.name)
    require_triton()
    return _triton(source, exercise.name, bool(exercise.returned))


@lru_cache(maxsize=1)  # a cell's held-out cases follow its visible ones
def _triton(source: str, name: str, launcher: bool) -> Solution:
    from course.engine.cell import triton as cell

    return cell.read_solution(source, name, launcher)


@lru_cache(maxsize=1)
def _numba(source: str, name: str) -> Solution:
    cell = read_cell(source)
    kernel = cell.kernels.get(name)
    if kernel is None:
        raise missing(name, cell.kernels)
    if kernel.device:
        raise rejected(kernel.node, "device_function", name=name)
    return found(cell.tree, kernel.node, cell.constants)


def takes_what_is_passed(cell: Solution, exercise: KernelExercise) -> None:
    """Raises DOES_NOT_COMPILE where the cell's function has too many parameters or too few."""
    expected = tuple(parameter.name for parameter in exercise.passed)
    got = len(cell.parameters)
    if not got - cell.spare <= len(expected) <= got:
        raise does_not_compile(
            cell.line,
            "parameter_count",
            name=exercise.name,
            expected=len(expected),
            got=got,
            names=expected,
            signature=", ".join(map(_declared, exercise.passed)),
        )


def chosen(cell: Solution, exercise: KernelExercise) -> dict[str, int]:
    """The exercise's constants, as the cell has them.

    Raises:
        KernelFault: REJECTED, where one is none of its choices.
    """
    constants: dict[str, int] = {}
    for constant, choice in exercise.constants.items():
        line = _line_of(cell.tree, constant)
        missing = choice.default if line is None else "no number"
        value = cell.constants.get(constant, missing)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value not in choice.choices:
            raise rejected(
                line,
                "constant_choice" if whole else "constant_not_whole",
                name=constant,
                got=value,
                choices=choice.choices,
            )
        constants[constant] = int(value)
    return constants


def _declared(parameter: Parameter) -> str:
    """A parameter as a kernel's `def` has it."""
    return f"{parameter.name}: tl.constexpr" if isinstance(parameter, Meta) else parameter.name


def _line_of(tree: ast.Module, name: str) -> int | None:
    """The line that assigns a constant last, as Python reads it."""
    for node in reversed(tree.body):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = nodes(node, ast.Name)
            if any(n.id == name and isinstance(n.ctx, ast.Store) for n in names):
                return node.lineno
    return None
