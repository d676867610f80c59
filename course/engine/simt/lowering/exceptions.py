"""`raise` and `assert`: without `debug=True` Numba ends the thread there, and tells nobody."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from course.engine.faults import not_measured
from course.engine.simt.lowering.branches import if_else
from course.engine.simt.running import control
from course.engine.simt.running.lanes import Lanes, Statement

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


def assertion(low: Lowering, node: ast.Assert) -> Statement:
    """``assert test, message``: a branch with a ``raise``."""
    said = [] if node.msg is None else [node.msg]
    failure = ast.Raise(ast.Call(ast.Name("AssertionError", ast.Load()), said, []))
    branch = ast.If(ast.UnaryOp(ast.Not(), node.test), [failure], [])
    return if_else(low, ast.fix_missing_locations(ast.copy_location(branch, node)))


def raise_statement(low: Lowering, node: ast.Raise) -> Statement:
    """``raise ValueError("why")``: in a kernel as ``return``."""
    low.reachable = False
    exception = node.exc
    if isinstance(exception, ast.Call):
        said = [*exception.args, *[keyword.value for keyword in exception.keywords]]
        if not all(isinstance(part, ast.Constant) for part in said):
            raise low.untyped(node, "an exception's message in a kernel is plain text")
        exception = exception.func
    if node.cause is not None:
        raise low.untyped(node, "`raise ... from ...` has no meaning in a kernel")
    if exception is not None and not _is_pythons(exception):
        raise low.untyped(node, f"`{ast.unparse(exception)}` is no exception of Python's")
    if not low.frame.device:
        return control.return_statement(node.lineno)
    return _not_run(low, node)


def _is_pythons(exception: ast.expr) -> bool:
    found = getattr(builtins, exception.id, None) if isinstance(exception, ast.Name) else None
    return isinstance(found, type) and issubclass(found, Exception)


def _not_run(low: Lowering, node: ast.Raise) -> Statement:
    """In a device function, where the thread would leave all functions that it is in."""
    name = low.frame.function.name

    def execute(lanes: Lanes) -> None:
        here = lanes.place(*lanes.first_lane(lanes.full(lanes.mask)))
        raise not_measured(node, "raised", name=name, **here)

    return execute
