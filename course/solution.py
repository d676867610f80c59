"""A solution cell as a check sees it, whichever dialect it is written in."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course.exercise import KernelExercise
from course.faults import KernelFault, Outcome


@dataclass(frozen=True)
class Solution:
    """What a check asks of a cell: the function that is named like the exercise, its constants.

    Attributes:
        parameters: the function's, as the learner calls them.
        line: of its `def`.
        span: first and last line of the function, decorators included.
        constants: numbers assigned at the cell's top level.
    """

    tree: ast.Module
    parameters: tuple[str, ...]
    line: int
    span: tuple[int, int]
    constants: Mapping[str, int | float]


def read_solution(source: str, exercise: KernelExercise) -> Solution:
    """Admits a cell and finds the exercise's function in it.

    Raises:
        KernelFault: REJECTED or DOES_NOT_COMPILE, with the line.
    """
    if exercise.dialect == "numba":
        return _numba(source, exercise.name)
    from course.tile.available import require_triton

    require_triton()
    from course.tile import cell

    return cell.read_solution(source, exercise.name, launcher=bool(exercise.returned))


def _numba(source: str, name: str) -> Solution:
    from course.simt.cell import read_cell

    cell = read_cell(source)
    kernel = cell.kernels.get(name)
    if kernel is None:
        raise missing(name, cell.kernels)
    if kernel.device:
        raise KernelFault(Outcome.REJECTED, "device_function", kernel.node.lineno, name=name)
    return found(cell.tree, kernel.node, cell.constants)


def missing(name: str, others: Mapping[str, Any]) -> KernelFault:
    """The cell has no function of the exercise's name."""
    listed = tuple(f"`{other}`" for other in others) or None
    return KernelFault(Outcome.REJECTED, "no_such_kernel", name=name, found=listed)


def found(
    tree: ast.Module, node: ast.FunctionDef, constants: Mapping[str, int | float]
) -> Solution:
    """The solution whose function is `node`."""
    line = node.lineno
    return Solution(
        tree,
        tuple(argument.arg for argument in node.args.args),
        line,
        (min([line, *(d.lineno for d in node.decorator_list)]), node.end_lineno or line),
        constants,
    )
