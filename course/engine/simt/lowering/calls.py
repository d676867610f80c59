"""Calls: of what a kernel may call by path, and of `@cuda.jit(device=True)` functions."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from numba.core import types

from course.engine.cell.numba import unlisted
from course.engine.faults import KernelFault, rejected, rejected_syntax
from course.engine.simt.lowering.arguments import arguments
from course.engine.simt.lowering.complex_numbers import cast, conjugate
from course.engine.simt.lowering.elements import read
from course.engine.simt.lowering.expr import Expr, converted, variable
from course.engine.simt.lowering.frames import Frame
from course.engine.simt.lowering.intrinsics import CALLS
from course.engine.simt.lowering.signatures import Function, chosen
from course.engine.simt.lowering.types import (
    NONE,
    ArrayType,
    GridType,
    Type,
    TypingError,
    is_scalar,
    unify,
)
from course.engine.simt.nvvm import contraction
from course.engine.simt.running import control
from course.engine.simt.running.barriers import sync_grid
from course.engine.simt.running.lanes import Lanes, Statement
from course.plain.evaluator import Ref
from course.plain.trees import stored_names

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


def check_parameters(function: Function) -> None:
    """Parameters are plain and positional, and defaults are numbers; of a kernel they count for
    nothing, since a launch passes all of its arguments.

    Raises:
        KernelFault: REJECTED for other defaults, for stars and keywords.
    """
    arguments = function.node.args
    if (
        arguments.vararg
        or arguments.kwarg
        or arguments.kwonlyargs
        or arguments.posonlyargs
        or not all(map(_is_number, arguments.defaults))
    ):
        raise rejected(function.node, "rejected_parameter", name=function.name)


def _is_number(node: ast.expr) -> bool:
    plain = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(plain, ast.Constant) and isinstance(plain.value, bool | int | float)


def call_expression(low: Lowering, node: ast.Call) -> Expr:
    """A call: of something listed by path, a device function, or a type (a cast)."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "conjugate" and not node.args:
        return conjugate(low, node, low.operand(node.func.value))
    if isinstance(node.func, ast.Attribute) and node.func.attr == "sync":
        if isinstance(low.expression(node.func.value).type, GridType):
            return _synced(low, node)
    target = low.expression(node.func)
    if isinstance(target.const, Ref):
        path = target.const.path
        lower = CALLS.get(path)
        if lower is None:
            raise unlisted(node, path)
        return lower(low, node)
    if isinstance(target.const, Function):
        return call_function(low, node, target.const)
    if isinstance(target.type, ArrayType):
        raise rejected_syntax(
            node,
            f"the call `{ast.unparse(node)[:60]}` of an array",
            f"index with square brackets: {ast.unparse(node.func)}[...]",
        )
    if isinstance(target.const, types.Number | types.Boolean):
        if len(node.args) != 1 or node.keywords:
            raise low.untyped(node, f"{target.const}() takes one number")
        if isinstance(target.const, types.Complex):
            return cast(low, low.value(node.args[0]), target.const)
        return converted(low.scalar(node.args[0]), target.const)
    if is_scalar(target.type):
        value = ast.unparse(node.func)[:60]
        raise rejected_syntax(
            node,
            f"the call `{ast.unparse(node)[:60]}` of a number",
            f"{value} is the value itself: leave out the brackets",
        )
    raise rejected_syntax(
        node,
        f"the call `{ast.unparse(node)[:60]}`",
        "call cuda.*, math.* or a @cuda.jit(device=True) function",
    )


def _synced(low: Lowering, node: ast.Call) -> Expr:
    """``grid.sync()``."""
    arguments(low, node, (), 0)
    low.registers.clobber()
    name, line = ast.unparse(node), node.lineno
    return Expr(NONE, lambda lanes: sync_grid(lanes, name, line))


def call_function(low: Lowering, node: ast.Call, function: Function) -> Expr:
    """A call of a `@cuda.jit(device=True)` function: lowered in place."""
    if function.filename != low.calls[0].filename:
        function = function.elsewhere
    if function in low.calls:
        raise rejected(node, "rejected_recursion", name=function.name)
    if not function.device:
        raise rejected(node, "kernel_called", name=function.name)
    check_parameters(function)
    arguments = _call_arguments(low, node, function)
    try:
        signature = chosen(
            function.signatures, [argument.type for argument in arguments.values()], calling=True
        )
    except TypingError as error:
        raise low.untyped(node, f"{function.name}: {error}") from None
    if signature is not None:
        arguments = {
            name: converted(argument, type_) if is_scalar(type_) else argument
            for (name, argument), type_ in zip(arguments.items(), signature.arguments, strict=True)
        }
    arguments = {name: contraction.kept(low, argument) for name, argument in arguments.items()}
    low.instances += 1
    outer, outer_loops, outer_reachable = low.frame, low.loops, low.reachable
    outcomes, depth = low.outcomes, low.registers.depth
    assigned = set(function.parameters) | stored_names(function.body)
    names = low.names()
    low.frame = Frame(function, assigned, {}, True, low.instances, low.flow_of(function))
    low.loops, low.reachable = [], True
    for name, argument in arguments.items():
        low.frame.env[name] = replace(
            low.versioned(argument, variable(name), names), const=argument.const
        )
    low.calls.append(function)
    with _lines_of(function, outer.function):
        statements = low.block(function.body)
    low.outcomes, low.registers.depth = outcomes, depth
    low.calls.pop()
    frame, falls_through = low.frame, low.reachable
    low.frame, low.loops, low.reachable = outer, outer_loops, outer_reachable
    result = _returned(low, node, frame, falls_through)
    runs = {name: argument.run for name, argument in arguments.items()}
    for argument in arguments.values():
        if argument.product is not None:
            holder = argument.product.holder
            runs[holder] = contraction.handed_on(holder)
    body = _called(statements, function, outer.function)
    values = [value for value, _ in frame.returns]
    holders = [value.product.holder for value in values if value is not None and value.product]
    value = Expr(result, control.device_call(frame.instance, runs, body, holders), masked=True)
    value = contraction.returned(low, node, value, values)
    if signature is not None and signature.result is not None and is_scalar(result):
        value = converted(value, signature.result)
    return value


@contextlib.contextmanager
def _lines_of(function: Function, caller: Function) -> Iterator[None]:
    """A fault inside names the function, where its lines are not those of the caller's file."""
    try:
        yield
    except KernelFault as fault:
        if function.filename != caller.filename:
            fault.happened_in(function.name, function.filename)
        raise


def _called(body: list[Statement], function: Function, caller: Function) -> list[Statement]:
    if function.filename == caller.filename:
        return body

    def run(lanes: Lanes) -> None:
        with _lines_of(function, caller):
            lanes.run(body)

    return [run]


def _call_arguments(low: Lowering, node: ast.Call, function: Function) -> dict[str, Expr]:
    names = function.parameters
    given: dict[str, Expr] = {}
    for name, argument in zip(names, node.args, strict=False):
        given[name] = read(low, argument, low.expression(argument))
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in names or keyword.arg in given:
            raise low.untyped(node, f"{function.name} has no free parameter {keyword.arg}")
        given[keyword.arg] = read(low, keyword.value, low.expression(keyword.value))
    for name, default in zip(names[::-1], function.node.args.defaults[::-1], strict=False):
        given.setdefault(name, low.expression(default))
    if len(node.args) > len(names) or len(given) != len(names):
        raise low.untyped(
            node,
            f"{function.name} takes {len(names)} arguments ({', '.join(names)}), "
            f"got {len(node.args) + len(node.keywords)}",
        )
    return {name: given[name] for name in names}


def _returned(low: Lowering, node: ast.Call, frame: Frame, falls_through: bool) -> Type:
    values = [value for value, _ in frame.returns]
    if not values or all(value is None for value in values):
        return NONE
    if falls_through or any(value is None for value in values):
        raise low.untyped(
            frame.function.node,
            f"{frame.function.name} returns a value on one path and nothing on another",
        )
    try:
        result: Type | None = None
        for value in values:
            assert value is not None
            assert value.type is not None
            result = value.type if result is None else unify(result, value.type)
    except TypingError as error:
        raise low.untyped(node, f"what {frame.function.name} returns: {error}") from None
    assert result is not None
    for value, casts in frame.returns:
        assert value is not None
        assert value.type is not None
        casts.add("return", value.type, result)
    return result
