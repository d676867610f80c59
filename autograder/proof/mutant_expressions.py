"""The edits that make a wrong kernel of a right one: those of expressions.

A rule takes an expression and the node that it hangs in, and yields what to put in its place.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence

from autograder.proof.mutant_scope import (
    ONE,
    Scope,
    is_array,
    is_call,
    is_read,
    named,
    numpy_type,
    pairs,
    parsed_expression,
    range_parts,
    renamed,
)

ExpressionRule = Callable[[ast.expr, Scope, ast.AST], Iterator[ast.expr]]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
}
_AXES = {"x": "y", "y": "x"}
_INDICES = {"threadIdx": "blockIdx", "blockIdx": "threadIdx", "blockDim": "gridDim"}
_FUNCTIONS = {
    "max": "min",
    "min": "max",
    "shfl_down_sync": "shfl_up_sync",
    "gridsize": "grid",
}


def comparison(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """< becomes <=, or turns round."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)


def drop_condition(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """One part of an `and` is missing, or the condition of `a if c else b`."""
    if isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse


def operator(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """+ becomes -, * becomes +, // becomes *, and a side is missing."""
    if isinstance(node, ast.BinOp):
        for other in _OPERATORS.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
        yield node.left
        yield node.right


def constant(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A number is off by one or by a factor of two."""
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool | str):
        return
    if is_call(parent, "grid", "gridsize") or not isinstance(node.value, int | float):
        return
    value = node.value
    others: list[int | float] = [value + 1, value - 1]
    if isinstance(parent, ast.Subscript) and ast.unparse(parent.value).endswith(".shape"):
        others = [1 - value]
    elif value not in (0, 1, 2):
        others += [2 * value, value // 2 if isinstance(value, int) else value / 2]
    elif value == 2:
        others.append(4)
    for other in others:
        yield ast.Constant(other)


def shift_name(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A named constant is off by one; an array on the chip is too small, never too large."""
    if isinstance(node, ast.Name) and node.id in scope.constants and is_read(node):
        yield ast.BinOp(node, ast.Sub(), ast.Constant(1))
        if not (is_array(parent) or isinstance(parent, ast.Tuple)):
            yield ast.BinOp(node, ast.Add(), ast.Constant(1))


def shift_index(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """An index of an element is off by one, or two of them change places."""
    arrays = {*scope.parameters, *scope.on_chip}
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
        return
    if node.value.id not in arrays:
        return
    index = node.slice
    axes = index.elts if isinstance(index, ast.Tuple) else [index]
    for axis, place in enumerate(axes):
        if not isinstance(place, ast.Constant):
            for step in (ast.Add(), ast.Sub()):
                moved = [*axes]
                moved[axis] = ast.BinOp(place, step, ast.Constant(1))
                yield ast.Subscript(node.value, _index(moved), node.ctx)
    for a, b in itertools.combinations(range(len(axes)), 2):
        swapped = [*axes]
        swapped[a], swapped[b] = swapped[b], swapped[a]
        yield ast.Subscript(node.value, _index(swapped), node.ctx)


def stride(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A `range` begins or ends one off, or has another step."""
    if not is_call(node, "range"):
        return
    begin, end, step = range_parts(node)
    for begins in (begin, ast.BinOp(begin, ast.Add(), ONE)):
        for ends in (end, ast.BinOp(end, ast.Sub(), ONE), ast.BinOp(end, ast.Add(), ONE)):
            for steps in (step, ast.BinOp(step, ast.Mult(), ast.Constant(2)), ONE):
                changed = (begins is not begin) + (ends is not end) + (steps is not step)
                if changed == 1:
                    yield ast.Call(node.func, [begins, ends, steps], [])
    if len(node.args) > 1:
        yield ast.Call(node.func, [ast.Constant(0), end, step], [])


def dtype(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """An array on the chip or a conversion has a type too small, or a conversion is missing."""
    smaller = {"float32": ("float16", "int32"), "int32": ("int8",)}
    if is_array(node):
        given = dict(zip(("shape", "dtype"), node.args, strict=False))
        given |= {keyword.arg or "": keyword.value for keyword in node.keywords}
        for other in smaller.get(ast.unparse(given["dtype"]), ()):
            yield ast.Call(node.func, [given["shape"], numpy_type(other)], [])
    elif is_call(node, "float32"):
        if not isinstance(node.args[0], ast.Constant):
            yield node.args[0]
            yield ast.Call(numpy_type("float16"), node.args, [])


def thread(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """x for y, the thread for the block, the grid for the block."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
        of = node.value
        if node.attr in _AXES:
            yield ast.Attribute(of, _AXES[node.attr], ast.Load())
        if of.attr in _INDICES:
            yield ast.Attribute(
                ast.Attribute(of.value, _INDICES[of.attr], ast.Load()), node.attr, ast.Load()
            )


def function(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """max for min, one argument of it alone, a shuffle the other way or of nothing."""
    if not isinstance(node, ast.Call):
        return
    first, dot, name = ast.unparse(node.func).rpartition(".")
    if name in _FUNCTIONS:
        other = parsed_expression(f"{first}{dot}{_FUNCTIONS[name]}")
        yield ast.Call(other, node.args, [])
    if name in ("min", "max"):
        yield from node.args
    if name == "shfl_down_sync":
        yield node.args[1]
        half = ast.BinOp(node.args[2], ast.FloorDiv(), ast.Constant(2))
        yield ast.Call(node.func, [*node.args[:2], half], [])


def swap_in_test(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """Two names of a condition, or of a loop's range, change places."""
    if isinstance(parent, ast.If | ast.While | ast.For) and isinstance(
        node, ast.Compare | ast.BoolOp | ast.Call
    ):
        for first, second in pairs(node, scope):
            yield renamed(node, {first: second, second: first})


def _index(axes: Sequence[ast.expr]) -> ast.expr:
    return axes[0] if len(axes) == 1 else ast.Tuple(list(axes), ast.Load())


EXPRESSION_RULES: dict[str, ExpressionRule] = named(
    *(comparison, drop_condition, operator, constant, shift_name, shift_index, stride, dtype),
    *(thread, function, swap_in_test),
)
