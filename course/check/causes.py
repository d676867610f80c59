"""Why a Numba kernel races or leaves its arrays: told where its text and the fault agree.

A cause is an id of `course.words.causes` with its values. What the text does not show has none,
and keeps the sentence that is true of every such fault.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping

from course.check.bindings import Bindings
from course.check.block_cells import missed_barrier, unwritten_cause
from course.check.bounds import OutOfBounds
from course.check.kernel_text import Cause, KernelText, Launched, path_of, shown
from course.check.races import GlobalRace, shared_race
from course.engine.faults import KernelFault, Outcome
from course.plain.trees import walk
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
    loop = isinstance(around, ast.For | ast.While)
    for condition in text.conditions(around):
        for one in condition.comparisons():
            counts = text.counts(one.left) | text.counts(one.right)
            if one.is_equality and any(place.startswith("thread") for place in counts):
                where = {"loop" if loop else "line": around.lineno}
                return around.lineno, (
                    "serial_one_thread",
                    {**where, "test": shown(condition.test)},
                )
    return around.lineno if loops else None, None


def mask_cause(fault: KernelFault, tree: ast.Module) -> Cause | None:
    """What lets an element that does not exist through: a mask's `<=`, or axes left unchecked."""
    shape, doing = fault.fields.get("shape"), str(fault.fields.get("doing"))
    outside = fault.message_id in ("tile_out_of_bounds", "tile_gap")
    if not outside or not isinstance(shape, tuple) or fault.line is None:
        return None
    text = KernelText(tree, fault.line, Launched((), ()))
    for call in walk(text.statement() or tree):
        if not isinstance(call, ast.Call):
            continue
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        does_it = path_of(call.func) == ("tl.load" if doing.startswith("load") else "tl.store")
        if does_it and call.args and _is_block_pointer(text, call.args[0]):
            checked = named.get("boundary_check")
            return "block_axes", {"checked": None if checked is None else shown(checked)}
        if fault.message_id == "tile_gap" or fault.fields.get("index") != math.prod(shape):
            continue
        for test in text.expanded(named["mask"]) if "mask" in named else ():
            if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.LtE):
                return "mask_equal", {**fault.fields, "test": shown(test)}
    for call in walk(text.statement() or tree):
        if isinstance(call, ast.Call) and (free := _left_free(text, call, doing)):
            return free
    return _neutral(text) if "unmasked" in fault.fields and doing.startswith("load") else None


def _left_free(text: KernelText, call: ast.Call, doing: str) -> Cause | None:
    """The one block of numbers that moves on in an address, and that its mask does not test."""
    name, place = ("tl.load", 1) if doing.startswith("load") else ("tl.store", 2)
    if path_of(call.func) != name or not call.args:
        return None
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    mask = named.get("mask", call.args[place] if len(call.args) > place else None)
    if mask is None:
        return None
    assert text.function is not None
    names = Bindings(text.function)
    tested = set(_made_of(names, mask))
    moving = {
        name
        for name, value in _made_of(names, call.args[0]).items()
        if isinstance(value, ast.BinOp) and any(_is_range(side) for side in walk(value))
    }
    free = sorted(moving - tested)
    if len(free) != 1 or not moving & tested:
        return None
    return "mask_free", {"mask": shown(mask), "free": free[0], "tested": min(moving & tested)}


def _made_of(names: Bindings, node: ast.expr) -> dict[str, ast.expr | None]:
    """The names in an expression, and in what was assigned to them, each with that."""
    found: dict[str, ast.expr | None] = {}
    waiting = [node]
    while waiting:
        for one in walk(waiting.pop()):
            if isinstance(one, ast.Name) and one.id not in found:
                value = found[one.id] = names.assigned(one)
                waiting += [] if value is None else [value]
    return found


def _is_range(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and path_of(node.func) == "tl.arange"


#: What leaves a result of these as it is.
_NEUTRAL = {"tl.max": '-float("inf")', "tl.min": 'float("inf")', "tl.sum": "0.0", "tl.dot": "0.0"}


def _neutral(text: KernelText) -> Cause | None:
    """What has to stand for the elements that a load without a mask should leave out."""
    statement = text.statement()
    if statement is None or text.function is None:
        return None
    here = {one for one in walk(statement) if isinstance(one, ast.Call)}
    here = {call for call in here if path_of(call.func) == "tl.load"}
    names = set[str]()
    if isinstance(statement, ast.Assign) and _scaled(statement.value, here.__contains__):
        names = {one.id for one in statement.targets if isinstance(one, ast.Name)}

    def loaded(node: ast.expr) -> bool:
        return node in here or (isinstance(node, ast.Name) and node.id in names)

    calls = [one for one in walk(text.function) if isinstance(one, ast.Call)]
    used = [
        (call.lineno, path_of(call.func))
        for call in calls
        if path_of(call.func) in _NEUTRAL and any(_scaled(one, loaded) for one in call.args)
    ]
    others = {_NEUTRAL[call] for _, call in used}
    if len(others) != 1:
        return None
    return "mask_missing", {"other": others.pop(), "used": used[0][0], "call": used[0][1]}


def _scaled(node: ast.expr, is_it: Callable[[ast.expr], bool]) -> bool:
    """Whether it is that, converted or turned, or times others: 0 and infinity stay as they are."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _scaled(node.left, is_it) or _scaled(node.right, is_it)
    if isinstance(node, ast.Call) and path_of(node.func) == "tl.trans":
        return any(_scaled(given, is_it) for given in node.args)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "to":
            return _scaled(node.func.value, is_it)
    return is_it(node)


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
        for call in walk(other)
        if isinstance(call, ast.Call) and path_of(call.func).startswith(("tl.store", "tl.atomic"))
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


def _is_block_pointer(text: KernelText, pointer: ast.expr) -> bool:
    """Whether it is what `tl.make_block_ptr` or `tl.advance` gives."""
    return any(
        isinstance(one, ast.Call) and path_of(one.func) in ("tl.make_block_ptr", "tl.advance")
        for one in text.expanded(pointer)
    )
