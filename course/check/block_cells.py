"""Why a block's shared memory is read before it is written, and why a barrier is passed by."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from course.check.kernel_text import Cause, KernelText, path_of, range_of, shown
from course.engine.faults import KernelFault
from course.plain.evaluator import is_name
from course.plain.trees import nodes


def unwritten_cause(fault: KernelFault, text: KernelText) -> Cause | None:
    """What keeps the cell of a shared array from being written."""
    array = str(fault.fields["array"])
    known: dict[str, object] = dict(fault.fields)
    assert text.function is not None
    stores = _stores(text, array)
    statement = text.statement()
    if not stores and isinstance(statement, ast.AugAssign):
        if isinstance(statement.target, ast.Subscript) and is_name(statement.target.value, array):
            return "cell_adds_up", {**known, "written": shown(statement.target)}
    calls = () if statement is None else nodes(statement, ast.Call)
    if not stores and any(_is_atomic_on(array, call) for call in calls):
        return "cell_never_cleared", known
    if len(stores) != 1:
        return None
    (store,) = stores
    known |= {"store": store.lineno, "written": shown(store)}
    index = str(fault.fields["index"]).strip("(),")
    once = text.counts(store.slice) == {"thread x"} and not text.loops(store.lineno)
    if once and index.isdigit() and int(index) >= text.launched.extent("block", "x"):
        return "cell_of_no_thread", {**known, "threads": text.launched.extent("block", "x")}
    for condition in text.conditions(store):
        if _is_own(text, condition.test):
            test = shown(condition.test)
            return "cell_guarded" if condition.holds else "cell_left", {**known, "test": test}
    return None


def own_array(fault: KernelFault, text: KernelText) -> Cause | None:
    """A local array whose elements are dealt out to threads, as a shared one's are."""
    for store in _stores(text, str(fault.fields["array"])):
        if any(one.startswith("thread") for one in text.counts(store.slice)):
            return "own_array", {**fault.fields, "store": store.lineno, "written": shown(store)}
    return None


def _stores(text: KernelText, array: str) -> list[ast.Subscript]:
    """Where a kernel assigns to elements of an array."""
    return [
        target
        for node in text.nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript) and is_name(target.value, array)
    ]


def _is_atomic_on(array: str, call: ast.Call) -> bool:
    """Whether it is like `cuda.atomic.add(array, ...)`."""
    on = call.args and is_name(call.args[0], array)
    return bool(on) and path_of(call.func).startswith("atomic.")


def missed_barrier(fields: Mapping[str, object], text: KernelText) -> Cause | None:
    """A barrier that some threads of a block never come to, or not as often as the others."""
    barrier = text.statement()
    for condition in text.conditions(barrier) if barrier is not None else ():
        leaves = None if condition.holds else text.leaves_at(condition.test)
        if leaves is not None and _is_own(text, condition.test):
            word = ast.unparse(leaves).partition(" ")[0]
            known = {**fields, "word": word, "line": leaves.lineno, "test": shown(condition.test)}
            return "barrier_left", known
    for loop in text.loops():
        span = range_of(loop) if isinstance(loop, ast.For) else None
        parts = (loop.test,) if isinstance(loop, ast.While) else span or (loop.iter,)
        for part in parts:
            if _is_own(text, part):
                whole = loop.test if isinstance(loop, ast.While) else loop.iter
                known = {**fields, "loop": loop.lineno, "test": shown(whole)}
                return "barrier_in_own_loop", known
    return None


def _is_own(text: KernelText, test: ast.expr) -> bool:
    """Whether it is not the same for all threads of a block."""
    return any(one.startswith("thread") for one in text.counts(test))
