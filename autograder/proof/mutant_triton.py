"""The edits that make a wrong Triton kernel, or a wrong launcher, of a right one.

The rules have the forms of `autograder.proof.mutant_statements` and
`autograder.proof.mutant_expressions`.
The constants at a cell's top level are left alone: another allowed choice is no mistake, and one
that is not allowed is refused before anything runs.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from autograder.proof.mutant_expressions import ExpressionRule, drop_condition
from autograder.proof.mutant_scope import ONE, Scope, is_call, named, parsed_expression, range_parts
from autograder.proof.mutant_statements import (
    Body,
    BodyRule,
    StatementRule,
    drop_guard,
    swap_targets,
    update_to_assignment,
)
from course.plain.trees import nodes

#: What stands where in an access, if it has no name.
_ACCESSES = {
    "load": ("pointer", "mask", "other"),
    "store": ("pointer", "value", "mask"),
    "atomic_add": ("pointer", "value", "mask"),
}
_FUNCTIONS = {
    "tl.maximum": "tl.minimum",
    "tl.minimum": "tl.maximum",
    "tl.sum": "tl.max",
    "tl.max": "tl.sum",
    "tl.exp": "tl.exp2",
    "tl.log": "tl.log2",
    "tl.sin": "tl.cos",
    "tl.cos": "tl.sin",
    "tl.rsqrt": "tl.sqrt",
    "tl.atomic_add": "tl.atomic_max",
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.GtE: ast.Gt,
    ast.Gt: ast.GtE,
    ast.Eq: ast.NotEq,
}
_MINUS_INFINITY = ("-float('inf')", "float('-inf')")


def _access(node: ast.AST, *kinds: str) -> ast.Call | None:
    """`node`, where it is an access of one of these kinds."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"tl.{kind}" for kind in kinds}:
        return node
    return None


def _kind(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _argument(call: ast.Call, name: str) -> ast.expr | None:
    """What an access is given as `name`, by its place or by its name."""
    at = _ACCESSES[_kind(call)].index(name)
    if at < len(call.args):
        return call.args[at]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _cut(call: ast.Call, name: str) -> ast.Call:
    """An access without its argument `name`, and without what has no sense then."""
    names = _ACCESSES[_kind(call)]
    at = names.index(name)
    kept = [keyword for keyword in call.keywords if keyword.arg not in names[at:]]
    return ast.Call(call.func, call.args[:at], kept)


def _with(call: ast.Call, name: str, value: ast.expr) -> ast.Call:
    """An access with another argument `name`."""
    at = _ACCESSES[_kind(call)].index(name)
    if at < len(call.args):
        return ast.Call(call.func, [*call.args[:at], value, *call.args[at + 1 :]], call.keywords)
    others = [keyword for keyword in call.keywords if keyword.arg != name]
    return ast.Call(call.func, call.args, [ast.keyword(name, value), *others])


# ------------------------------------------------------------------ accesses


def drop_mask(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """An access of elements behind the end."""
    call = _access(node, *_ACCESSES)
    if call is not None and _argument(call, "mask") is not None:
        yield _cut(call, "mask")


def drop_other(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """What a masked load gives behind the end is left open: Triton's compiler makes it 0."""
    call = _access(node, "load")
    other = None if call is None else _argument(call, "other")
    if call is not None and other is not None and ast.unparse(other) in _MINUS_INFINITY:
        yield _cut(call, "other")


def other_padding(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """0 behind the end becomes minus infinity, and the other way round."""
    call = _access(node, "load")
    other = None if call is None else _argument(call, "other")
    if call is not None and other is not None:
        empty = ast.unparse(other) in _MINUS_INFINITY
        yield _with(call, "other", parsed_expression("0.0" if empty else "-float('inf')"))


def leave_program_out(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """The first program, or the last, stores nothing."""
    call = _access(node, "store", "atomic_add")
    if call is None:
        return
    mask = _argument(call, "mask")
    for text in ("tl.program_id(0) > 0", "tl.program_id(0) < tl.num_programs(0) - 1"):
        test = parsed_expression(text)
        yield _with(call, "mask", test if mask is None else ast.BinOp(mask, ast.BitAnd(), test))


def load_twice(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """A block is loaded twice over, in a way that the compiler may not merge."""
    for call in ast.walk(node) if isinstance(node, ast.Assign) else ():
        found = _access(call, "load")
        if found is not None:
            again = copy.deepcopy(found)
            again.keywords.append(ast.keyword("volatile", ast.Constant(True)))
            yield [ast.Assign([ast.Name("again", ast.Store())], again), node]


def store_twice(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """A store, or an atomic, is made twice."""
    if isinstance(node, ast.Expr) and _access(node.value, "store", "atomic_add"):
        yield [node, node]


# ------------------------------------------------------------------ masks, indices, axes


def comparison(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """< becomes <=, and one element less is taken in."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind = type(node.ops[0])
        if kind in _COMPARISONS:
            yield ast.Compare(node.left, [_COMPARISONS[kind]()], node.comparators)
        if kind is ast.Lt:
            less = ast.BinOp(node.comparators[0], ast.Sub(), ONE)
            yield ast.Compare(node.left, node.ops, [less])


def part_of_mask(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """One side of `a & b` is missing."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        yield node.left
        yield node.right


def drop_choice(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """`tl.where(c, a, b)` becomes one of the two."""
    if is_call(node, "where"):
        yield from node.args[1:]


def program_axis(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """The programs of another axis."""
    if is_call(node, "program_id", "num_programs"):
        yield from _other_axis(node, 0)


def reduced_axis(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A reduction along another axis."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("tl.sum", "tl.max", "tl.min"):
        yield from _other_axis(node, 1)


def _other_axis(call: ast.Call, at: int) -> Iterator[ast.expr]:
    changed = copy.deepcopy(call)
    named = [k.value for k in changed.keywords if k.arg == "axis"]
    for axis in [*changed.args[at : at + 1], *named]:
        if isinstance(axis, ast.Constant) and axis.value in (0, 1):
            axis.value = 1 - axis.value
            yield changed


def turn_block(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A column of numbers becomes a row: `rows[:, None]`, `rows[None, :]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        elements = node.slice.elts
        if any(isinstance(element, ast.Slice) for element in elements):
            yield ast.Subscript(node.value, ast.Tuple(elements[::-1], ast.Load()), node.ctx)


def half_block(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """`tl.arange` covers half of its block."""
    if is_call(node, "arange"):
        begin, end = node.args
        yield ast.Call(node.func, [begin, ast.BinOp(end, ast.FloorDiv(), ast.Constant(2))], [])


def bounds(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A loop leaves out its first block or its last element, ends at once, skips every other."""
    if not is_call(node, "range"):
        return
    begin, end, step = range_parts(node)
    later = ast.BinOp(begin, ast.Add(), step)
    for arguments in (
        (later, end, step),
        (begin, ast.BinOp(end, ast.Sub(), ONE), step),
        (begin, later, step),
        (begin, end, ast.BinOp(step, ast.Mult(), ast.Constant(2))),
    ):
        yield ast.Call(node.func, list(arguments), [])


# ------------------------------------------------------------------ arithmetic and types


def other_function(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A maximum for a minimum, a sum for a maximum, a power of 2 for one of e."""
    if isinstance(node, ast.Call):
        other = _FUNCTIONS.get(ast.unparse(node.func))
        if other is not None:
            yield ast.Call(parsed_expression(other), node.args, node.keywords)


def drop_operand(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A factor, a stride, a rescale, an offset, a divisor is missing."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitAnd):
        yield node.left
        if isinstance(node.op, ast.Add):
            yield node.right


def sign(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """- becomes +."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield ast.BinOp(node.left, ast.Add(), node.right)


def number(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A number is one more; minus infinity is 0."""
    if ast.unparse(node) in _MINUS_INFINITY:
        yield ast.Constant(0.0)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        if isinstance(parent, ast.BinOp) or is_call(parent, "maximum", "where"):
            yield ast.Constant(node.value + 1)


def conversion(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A conversion is missing; sums and outputs have another type."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        alone = isinstance(parent, ast.Assign)  # `x = x.to(...)`: see drop_statement
        if node.func.attr == "to" and not (alone and isinstance(node.func.value, ast.Name)):
            yield node.func.value
    name = ast.unparse(node)
    if name == "tl.float32" and is_call(parent, "zeros", "full"):
        yield parsed_expression("tl.float16")
    elif isinstance(parent, ast.keyword) and parent.arg == "dtype":
        yield parsed_expression("torch.float16" if name == "torch.float32" else "torch.float32")


def product(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """`tl.dot` has its operands swapped, forgets the sum so far, or multiplies rounded values."""
    if is_call(node, "trans"):
        yield node.args[0]
    elif is_call(node, "dot"):
        first, second, *others = node.args
        yield ast.Call(node.func, [second, first, *others], node.keywords)
        if others:
            yield ast.Call(node.func, [first, second], node.keywords)
        for keyword in node.keywords:
            # without it float32 is exact here and on a T4, and a check names the GPUs that cut it
            kept = [other for other in node.keywords if other is not keyword]
            if keyword.arg == "input_precision":
                kept.append(ast.keyword("input_precision", ast.Constant("tf32")))
            yield ast.Call(node.func, node.args, kept)


# ------------------------------------------------------------------ statements and bodies


def drop_statement(node: ast.stmt, scope: Scope) -> Iterator[list[ast.stmt]]:
    """A store, an update, a branch is missing."""
    again = False
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        names = {part.id for part in nodes(node.value, ast.Name)}
        again = node.targets[0].id in names or isinstance(node.value, ast.Name)
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if again or called or isinstance(node, ast.AugAssign | ast.If):
        yield []


def second_pass(body: Body, scope: Scope) -> Iterator[list[ast.stmt]]:
    """Everything is done twice over."""
    stores = [s for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    if stores and not any(isinstance(statement, ast.Return) for statement in body):
        loop = ast.parse("for again in range(2):\n    pass").body[0]
        assert isinstance(loop, ast.For)
        loop.body = list(body)
        yield [loop]


def store_every_turn(body: Body, scope: Scope) -> Iterator[list[ast.stmt]]:
    """What is stored behind a loop is stored at the end of its every turn, too."""
    for at, loop in enumerate(body):
        if isinstance(loop, ast.For):
            for last in body[at + 1 :]:
                if isinstance(last, ast.Expr) and _access(last.value, "store"):
                    every = ast.For(loop.target, loop.iter, [*loop.body, last], [])
                    yield [*body[:at], every, *body[at + 1 :]]


# ------------------------------------------------------------------ launchers


def grid(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """A quotient is rounded down, or there is one program less."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "triton.cdiv":
        yield ast.BinOp(node.args[0], ast.FloorDiv(), node.args[1])
        yield ast.BinOp(node, ast.Sub(), ONE)


def swap_axes(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """Axes of a grid or a shape, or two results, change places; a stride is another axis's."""
    if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        block = isinstance(parent, ast.Call) and ast.unparse(parent.func).startswith("tl.")
        # another shape of a block does not compile, or is the same
        if not block and not any(isinstance(e, ast.Slice | ast.Constant) for e in node.elts):
            yield ast.Tuple(node.elts[::-1], ast.Load())
    elif is_call(node, "stride"):
        yield from _other_axis(node, 0)


def swap_arguments(node: ast.expr, scope: Scope, parent: ast.AST) -> Iterator[ast.expr]:
    """Two neighbours among a launch's arguments change places."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
        for at in range(len(node.args) - 1):
            swapped = [*node.args]
            swapped[at : at + 2] = swapped[at + 1], swapped[at]
            yield ast.Call(node.func, swapped, node.keywords)


TRITON_BODY_RULES: dict[str, BodyRule] = named(second_pass, store_every_turn)
TRITON_STATEMENT_RULES: dict[str, StatementRule] = named(
    *(drop_guard, drop_statement, update_to_assignment, load_twice, store_twice, swap_targets)
)
TRITON_EXPRESSION_RULES: dict[str, ExpressionRule] = named(
    *(drop_mask, drop_other, other_padding, leave_program_out, comparison, part_of_mask),
    *(drop_choice, drop_condition, program_axis, reduced_axis, turn_block, half_block, bounds),
    *(other_function, drop_operand, sign, number, conversion, product, grid, swap_axes),
    swap_arguments,
)
