"""A solution cell as a check sees it, whichever dialect it is written in."""

from __future__ import annotations

from course.engine.cell.numba import read_cell
from course.engine.cell.solution import Solution, found, missing
from course.engine.faults import KernelFault, Outcome
from course.engine.triton.available import require_triton
from course.spec.exercise import KernelExercise


def read_solution(source: str, exercise: KernelExercise) -> Solution:
    """Admits a cell and finds the exercise's function in it.

    Raises:
        KernelFault: REJECTED or DOES_NOT_COMPILE, with the line.
    """
    if exercise.dialect == "numba":
        return _numba(source, exercise.name)
    require_triton()
    from course.engine.cell import triton as cell

    return cell.read_solution(source, exercise.name, launcher=bool(exercise.returned))


def _numba(source: str, name: str) -> Solution:
    cell = read_cell(source)
    kernel = cell.kernels.get(name)
    if kernel is None:
        raise missing(name, cell.kernels)
    if kernel.device:
        raise KernelFault(Outcome.REJECTED, "device_function", kernel.node.lineno, name=name)
    return found(cell.tree, kernel.node, cell.constants)
