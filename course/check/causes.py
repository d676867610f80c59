"""Why a Numba kernel races or leaves its arrays: told where its text and the fault agree.

A cause is an id of `course.words.causes` with its values. What the text does not show has none,
and keeps the sentence that is true of every such fault.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from course.check.bounds import OutOfBounds
from course.check.kernel_text import Cause, KernelText, Launched, shown
from course.check.races import GlobalRace, shared_race
from course.engine.faults import KernelFault, Outcome
from course.spec.exercise import Array, Case, KernelExercise, Parameter, Role, Scalar


def cause_of(
    fault: KernelFault, tree: ast.Module, launched: Launched, roles: Mapping[str, Role]
) -> Cause | None:
    """The cause of a fault, or None where the text does not show one.

    Args:
        tree: of the cell.
        launched: the launch in which it happened.
        roles: of the arrays that the kernel gets, as the kernel names them.
    """
    if fault.line is None or "thread" not in fault.fields:
        return None
    text = KernelText(tree, fault.line, launched)
    if text.function is None:
        return None
    if fault.outcome is Outcome.OUT_OF_BOUNDS and "axis" in fault.fields:
        return OutOfBounds(fault.fields, text).cause()
    if fault.message_id.startswith("race_global"):
        return GlobalRace(fault, text, roles).cause()
    if fault.message_id.startswith("race_shared"):
        return shared_race(fault, text)
    return None


def launched_in(
    exercise: KernelExercise,
    case: Case,
    constants: Mapping[str, int],
    known: Mapping[str, Parameter],
    of_cell: Mapping[str, int | float],
) -> Launched:
    """The numbers of a case's launch.

    Args:
        constants: those that the exercise names; `of_cell` those that the cell does.
        known: the parameters by the kernel's names for them.
    """
    names = exercise.names(case, constants)
    grid, block, _ = exercise.launch.values(names)
    numbers = {name: value for name, value in of_cell.items() if type(value) is int}
    shapes = {}
    for name, one in known.items():
        if isinstance(one, Array):
            shapes[name] = exercise.shape(one, names)
        elif isinstance(one, Scalar):
            value = exercise.number(one, case, names).item()
            numbers |= {name: value} if type(value) is int else {}
    return Launched(grid, block, shapes, numbers)


def serial_cause(
    tree: ast.Module, line: int, launched: Launched
) -> tuple[int | None, Cause | None]:
    """(line of the loop around the busiest line, what keeps other threads from it)."""
    text = KernelText(tree, line, launched)
    loops = text.loops()
    if not loops:
        return None, None
    loop = loops[-1]
    for condition in text.conditions(loop):
        for one in condition.comparisons():
            counts = text.counts(one.left) | text.counts(one.right)
            equal = isinstance(one.op, ast.Eq) if one.holds else isinstance(one.op, ast.NotEq)
            if equal and any(place.startswith("thread") for place in counts):
                fields = {"test": shown(condition.test), "loop": loop.lineno}
                return loop.lineno, ("serial_one_thread", fields)
    return loop.lineno, None


def mask_cause(fault: KernelFault, tree: ast.Module) -> Cause | None:
    """A Triton mask that lets one element too many through: `<=` where `<` is meant."""
    index, shape = fault.fields.get("index"), fault.fields.get("shape")
    if fault.message_id != "tile_out_of_bounds" or not isinstance(shape, tuple):
        return None
    if fault.line is None or index != math.prod(shape):
        return None
    text = KernelText(tree, fault.line, Launched((), ()))
    for call in ast.walk(text.statement() or tree):
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            if keyword.arg == "mask":
                for test in text.expanded(keyword.value):
                    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.LtE):
                        return "mask_equal", {**fault.fields, "test": shown(test)}
    return None
