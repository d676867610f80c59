"""What a statement costs: operations of a lane, and choices that the compiler makes branches of."""

from __future__ import annotations

import ast

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


def is_choice(node: ast.If) -> bool:
    """Whether an `if` gives one name an element in both ways, and does nothing else."""
    names = []
    for way in (node.body, node.orelse):
        only = way[0] if len(way) == 1 else None
        if not (isinstance(only, ast.Assign) and isinstance(only.value, ast.Subscript)):
            return False
        target = only.targets[0]
        if len(only.targets) > 1 or not isinstance(target, ast.Name):
            return False
        names.append(target.id)
    return names[0] == names[1]


def acts(call: ast.Call) -> bool:
    """Whether a call may do more than compute a number."""
    text = ast.unparse(call.func)
    return "atomic" in text.split(".") or not (text.startswith("math.") or _name(call) in _NUMBERS)


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
