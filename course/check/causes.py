"""Why a Numba kernel races or leaves its arrays: told where its text and the fault agree.

A cause is an id of `course.words.causes` with its values. What the text does not show has none,
and keeps the sentence that is true of every such fault.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from course.check.block_cells import missed_barrier, own_array, unwritten_cause
from course.check.bounds import OutOfBounds
from course.check.kernel_text import Cause, KernelText, Launched, Thread, path_of, shown
from course.check.races import GlobalRace, shared_race
from course.engine.faults import KernelFault, Outcome
from course.plain.evaluator import is_name
from course.plain.text import counted
from course.plain.trees import nodes
from course.spec.exercise import Array, Case, KernelExercise, Meta, Parameter, Role, Scalar, Stride


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
    if fault.message_id == "uninitialised_shared":
        return unwritten_cause(fault, text)
    if fault.message_id == "uninitialised_local":
        return own_array(fault, text)
    if fault.message_id == "barrier_divergence":
        return missed_barrier(fault.fields, text)
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
        elif isinstance(one, Meta):
            numbers[name] = int(names[one.name])
        elif isinstance(one, Stride) and one.array not in case.transposed:
            array = next(array for array in exercise.arrays if array.name == one.array)
            if not array.within:
                numbers[name] = math.prod(exercise.shape(array, names)[one.axis + 1 :])
    return Launched(grid, block, shapes, numbers)


def serial_cause(
    tree: ast.Module, line: int, launched: Launched
) -> tuple[int | None, Cause | None]:
    """(line of the loop around the busiest line, or its own, what keeps other threads from it)."""
    text = KernelText(tree, line, launched)
    loops = text.loops()
    around = loops[-1] if loops else text.statement()
    if around is None:
        return None, None
    condition = text.of_one_thread(around)
    if condition is None:
        return around.lineno if loops else None, None
    where = "loop" if isinstance(around, ast.For | ast.While) else "line"
    fields: dict[str, object] = {where: around.lineno, "test": shown(condition.test)}
    return around.lineno, ("serial_one_thread", fields)


def stepped_over(tree: ast.Module, array: str, launched: Launched) -> Cause | None:
    """The one store to an output, where its index leaves elements out from thread to thread."""
    stores = [
        node
        for node in nodes(tree, ast.Subscript)
        if isinstance(node.ctx, ast.Store) and is_name(node.value, array)
    ]
    if len(stores) != 1:
        return None
    (store,) = stores
    text = KernelText(tree, store.lineno, launched)
    index = store.slice.elts[-1] if isinstance(store.slice, ast.Tuple) else store.slice
    first, second = (text.number(index, Thread((thread,), (0,))) for thread in (0, 1))
    if first is None or second is None or second - first <= 1:
        return None
    by = counted(second - first, "element")
    return "steps_over", {"line": store.lineno, "written": shown(store), "by": by}


def launch_before_cause(fault: KernelFault, tree: ast.Module) -> Cause | None:
    """A tensor that this kernel only loads has to be stored by a launch before it."""
    if fault.message_id != "tile_uninitialised" or fault.line is None:
        return None
    here, array = KernelText(tree, fault.line, Launched((), ())).function, fault.fields["array"]
    if here is None or not _mentions(here, array) or _mentions(here, array, but="tl.load"):
        return None
    stores = [
        call.lineno
        for other in tree.body
        if isinstance(other, ast.FunctionDef) and other is not here
        for call in nodes(other, ast.Call)
        if path_of(call.func).startswith(("tl.store", "tl.atomic"))
        if call.args and _mentions(call.args[0], array)
    ]
    return "launch_before", {"array": array, "store": stores[0] if len(stores) == 1 else None}


def _mentions(node: ast.AST, name: object, but: str = "") -> bool:
    """Whether a name stands in a node, in other places than the addresses of a call."""
    if isinstance(node, ast.Call) and path_of(node.func) == but:
        return any(_mentions(part, name, but) for part in (*node.args[1:], *node.keywords))
    if isinstance(node, ast.Name):
        return node.id == name
    return any(_mentions(child, name, but) for child in ast.iter_child_nodes(node))
