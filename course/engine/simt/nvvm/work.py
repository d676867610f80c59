"""What a statement costs: operations of a lane, and choices that the compiler makes branches of."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from course.plain.trees import nodes, walk

_OPERATIONS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.IfExp,
    ast.Call,
    ast.Subscript,
)
#: Functions of `math` that are a polynomial or more, and how many operations one of them is:
#: `exp` of a float32, the shortest, is 18 instructions of the PTX that NVVM 12.9 makes, `log` 40,
#: `sin` 115.
OPERATIONS_OF_A_FUNCTION = 20
_FUNCTIONS = frozenset(
    {
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
        *("asinh", "acosh", "atanh", "exp", "expm1", "log", "log2", "log10", "log1p", "pow"),
        *("erf", "erfc", "gamma", "lgamma", "hypot", "fmod", "remainder"),
    }
)


def work_of(node: ast.stmt) -> int:
    """Operators, calls and elements in a statement's own expressions; at least 1.

    What stands under an `if` or in a loop is counted by its own statements, each time it runs,
    and so is the body of a function that is called. So a long statement counts for as much as
    the short ones that it could be written as.
    """
    head: ast.AST = node
    if isinstance(node, ast.If | ast.While):
        head = node.test
    elif isinstance(node, ast.For):
        head = node.iter
    found = sum(map(_operations, walk(head)))
    return max(1, found + isinstance(node, ast.AugAssign))


def _operations(node: ast.AST) -> int:
    if isinstance(node, ast.Call) and _name(node) in _FUNCTIONS:
        return OPERATIONS_OF_A_FUNCTION
    return int(isinstance(node, _OPERATIONS))


def _name(call: ast.Call) -> str:
    """What a call calls, without the module."""
    return ast.unparse(call.func).rpartition(".")[2]


#: Operators up to which NVVM computes an arm of a choice for every lane, in one arm and in both:
#: with more it branches. Counted in the PTX that NVVM 12.9 makes of `a if condition else b`, where
#: the PTX has a `bra` or a `selp`; what else makes it branch are loads, divisions and calls.
MOST_OF_AN_ARM, MOST_OF_BOTH = 5, 6
#: Instructions up to which the second side of an `and` or `or` is worked out in any case.
MOST_OF_A_SIDE = 2
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
#: Calls that are an instruction or none.
_CHEAP_CALLS = (
    *("bool", "int32", "int64", "uint32", "uint64", "float32", "float64"),
    *("min", "max", "grid", "gridsize"),
)
#: Calls that give a number and do nothing else, beside those of `math`.
_NUMBERS = (*_CHEAP_CALLS, "abs", "int", "float", "round", "len")
_OPERATORS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)


def branches(*arms: ast.expr | list[ast.stmt]) -> bool:
    """Whether the compiler makes a branch of the choice between these expressions, or blocks."""
    counts = []
    for arm in arms:
        parts = nodes(arm, ast.AST)
        if any(is_dear(part) for part in parts):
            return True
        counts.append(sum(isinstance(part, _OPERATORS) for part in parts))
    return max(counts) > MOST_OF_AN_ARM or sum(counts) > MOST_OF_BOTH


def choice_of_elements(test: ast.expr, one: ast.expr, other: ast.expr) -> ast.expr | None:
    """A value of which `test` chooses the elements alone: two that are alike otherwise, as one."""
    if type(one) is not type(other) or any(map(_stays, nodes([one], ast.AST))):
        return None
    if ast.dump(one) == ast.dump(other):
        return one
    if isinstance(one, ast.Subscript):
        return ast.copy_location(ast.IfExp(test, one, other), one)
    made = copy.copy(one)
    for name, part in ast.iter_fields(one):
        rest = getattr(other, name)
        if isinstance(part, ast.expr):
            if (chosen := choice_of_elements(test, part, rest)) is None:
                return None
            setattr(made, name, chosen)
        elif _text(part) != _text(rest):
            return None
    return made


def _text(part: object) -> str:
    return ast.dump(part) if isinstance(part, ast.AST) else repr(part)


def as_choices(node: ast.If) -> list[ast.Assign | ast.AugAssign]:
    """An `if` that sets the same names in both ways, to values that elements alone tell apart."""
    ways = [*zip(node.body, node.orelse, strict=False)]
    if len(node.body) != len(node.orelse) or nodes([node.test], ast.Call):
        return []
    made: list[ast.Assign | ast.AugAssign] = []
    names: list[str] = []
    for one, other in ways:
        if not (isinstance(one, ast.Assign | ast.AugAssign) and type(one) is type(other)):
            return []
        assert isinstance(other, ast.Assign | ast.AugAssign)
        value = choice_of_elements(node.test, one.value, other.value)
        if isinstance(one.value, ast.Constant) and isinstance(other.value, ast.Constant):
            value = ast.copy_location(ast.IfExp(node.test, one.value, other.value), one)
        joined = copy.copy(other)
        joined.value = one.value
        target = one.targets[0] if isinstance(one, ast.Assign) else one.target
        if value is None or not isinstance(target, ast.Name) or _text(joined) != _text(one):
            return []
        joined.value = value
        names.append(target.id)
        made.append(ast.copy_location(joined, node))
    asked = {name.id for name in nodes([node.test], ast.Name)}
    return made if are_chosen(made) and asked.isdisjoint(names[:-1]) else []


def are_chosen(made: Sequence[ast.AST]) -> bool:
    """Whether LLVM makes choices of these: of one element, or of several in the same arrays."""
    pairs = [
        (one.body, one.orelse)
        for one in nodes(made, ast.IfExp)
        if isinstance(one.body, ast.Subscript) and isinstance(one.orelse, ast.Subscript)
    ]
    alike = all(_text(one.value) == _text(other.value) for one, other in pairs)
    return len(pairs) == 1 or (bool(pairs) and alike)


def acts(call: ast.Call) -> bool:
    """Whether a call may do more than compute a number."""
    text = ast.unparse(call.func)
    return "atomic" in text.split(".") or not (text.startswith("math.") or _name(call) in _NUMBERS)


def _stays(node: ast.AST) -> bool:
    """Whether the compiler leaves it in its way: what is more than an operator or a load."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _DIVISIONS):
        return not isinstance(node.right, ast.Constant)
    return isinstance(node, ast.BoolOp | ast.IfExp | ast.Compare | ast.Call) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
    )


def is_dear(node: ast.AST) -> bool:
    """A load, a division, a power of another number than a small one, or a call."""
    if isinstance(node, ast.Call):
        return _name(node) not in _CHEAP_CALLS
    if not isinstance(node, ast.BinOp):
        return isinstance(node, ast.Subscript)
    if isinstance(node.op, ast.Pow):
        power = node.right.value if isinstance(node.right, ast.Constant) else None
        return power not in (1, 2, 3)
    return isinstance(node.op, _DIVISIONS)
