"""What a statement costs: operations of a lane, and choices that the compiler makes branches of."""

from __future__ import annotations

import ast

_OPERATIONS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.IfExp,
    ast.Call,
    ast.Subscript,
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
    found = sum(isinstance(part, _OPERATIONS) for part in ast.walk(head))
    return max(1, found + isinstance(node, ast.AugAssign))


#: Operators up to which NVVM computes an arm of a choice for every lane, in one arm and in both:
#: with more it branches. Counted in the PTX that NVVM 12.9 makes of `a if condition else b`, where
#: the PTX has a `bra` or a `selp`; what else makes it branch are loads, divisions and calls.
MOST_OF_AN_ARM, MOST_OF_BOTH = 5, 6
_DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
#: Calls that are an instruction or none.
_CHEAP_CALLS = (
    *("bool", "int32", "int64", "uint32", "uint64", "float32", "float64"),
    *("min", "max", "grid", "gridsize"),
)


def branches(*arms: ast.expr) -> bool:
    """Whether the compiler makes a branch of the choice between these expressions."""
    counts = []
    for arm in arms:
        parts = list(ast.walk(arm))
        if any(_is_dear(part) for part in parts):
            return True
        counts.append(sum(isinstance(p, ast.BinOp | ast.UnaryOp | ast.Compare) for p in parts))
    return max(counts) > MOST_OF_AN_ARM or sum(counts) > MOST_OF_BOTH


def _is_dear(node: ast.AST) -> bool:
    """A load, a division, a power of another number than a small one, or a call."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] not in _CHEAP_CALLS
    if not isinstance(node, ast.BinOp):
        return isinstance(node, ast.Subscript)
    if isinstance(node.op, ast.Pow):
        power = node.right.value if isinstance(node.right, ast.Constant) else None
        return power not in (1, 2, 3)
    return isinstance(node.op, _DIVISIONS)
