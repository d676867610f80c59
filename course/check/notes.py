"""What passes, and a tutor would still mention: precision lost or paid for, work done for nothing.

Only what text and counts show for certain. A note costs no points and changes no verdict.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from course.check.accesses import NEARLY
from course.check.bindings import Bindings, called, function_at, loops_of, value_of
from course.check.fences import unfenced
from course.check.kernel_text import Cause, calls_of, path_of, shown
from course.check.loose_ends import defined_twice
from course.engine.traffic import Traffic
from course.plain.trees import nodes, walk

#: Turns of a loop that move nothing are worth a word from so many for each that does.
IDLE_WORTH_A_WORD = 0.5
#: Ends of the names of what allocates and fills.
_FILLING = ("zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros")
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)


def numba_notes(
    tree: ast.Module, line: int, float32: Collection[str], constants: Mapping[str, int | float]
) -> list[Cause]:
    """The notes on a Numba kernel, at most one of each kind.

    Args:
        line: of its `def`.
        float32: its parameters that are float32 arrays in every case.
        constants: numbers that the cell assigns at its top level.
    """
    function = function_at(tree, line)
    if function is None:
        return []
    names = Bindings(function)
    kernels = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = [
        _replaced(tree),
        next(_creeping(function, names, float32, constants), None),
        next(_both_sides(function, names, kernels), None),
    ]
    return [note for note in found if note is not None]


def triton_notes(
    tree: ast.Module, graded: Sequence[Traffic], inputs: Collection[str]
) -> list[Cause]:
    """The notes on a cell of Triton kernels, at most one of each kind.

    Args:
        graded: what was measured on the cases whose traffic is graded.
        inputs: arrays that the launcher is given.
    """
    found = [
        _replaced(tree),
        next(_of_float32(tree), None),
        next(_masked_turns(tree, graded), None),
        next(_filled_for_nothing(tree, graded, inputs), None),
        next(unfenced(tree), None),
    ]
    return [note for note in found if note is not None]


def _replaced(tree: ast.Module) -> Cause | None:
    """A function that a later one of its name takes the place of."""
    found = defined_twice(tree)
    return None if found is None else ("note_twice", found[1])


def _of_float32(tree: ast.Module) -> Iterator[Cause]:
    """A product of what was turned to float32: cut to TF32, or made without tensor cores."""
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            names = Bindings(function)
            for node in calls_of(function, "tl.dot"):
                told = {keyword.arg: keyword.value for keyword in node.keywords}
                turned = [_as_float32(operand, names) for operand in node.args[:2]]
                if any(turned) and not told.keys() & {"input_precision", "allow_tf32"}:
                    yield "note_tf32", {"line": node.lineno}
                precision = told.get("input_precision")
                if all(turned) and isinstance(precision, ast.Constant):
                    if precision.value == "ieee":
                        yield "note_ieee", {"line": node.lineno}


def _masked_turns(tree: ast.Module, graded: Sequence[Traffic]) -> Iterator[Cause]:
    """A loop with loads, many of whose turns load nothing: their masks are false everywhere."""
    loading = {
        loop.lineno
        for loop in loops_of(tree)
        if any(
            calls_of(statement, "tl.load")
            for statement in loop.body
            if not isinstance(statement, ast.If)  # which may skip the rest of a turn, too
        )
    }
    for traffic in graded:
        for line, idle in traffic.idle_turn_sites.items():
            if line in loading and idle >= IDLE_WORTH_A_WORD * traffic.busy_turns:
                yield "note_masked_turns", {"line": line, "idle": idle}


def _filled_for_nothing(
    tree: ast.Module, graded: Sequence[Traffic], inputs: Collection[str]
) -> Iterator[Cause]:
    """A launcher that fills what its kernels store over, and never read or add to."""
    lines = [node.lineno for node in walk(tree) if called(node, *_FILLING)]
    for traffic in graded:
        only_stored = all(
            site.direction == "store" or (site.direction == "load" and site.array in inputs)
            for site in traffic.sites
        )
        stored = traffic.totals("store").footprint_bytes
        if lines and only_stored and NEARLY * stored <= traffic.filled_bytes <= stored > 0:
            yield "note_filled", {"line": lines[0], "bytes": traffic.filled_bytes}


def _as_float32(node: ast.expr, names: Bindings) -> bool:
    """Whether an operand has been turned to float32 by `.to(tl.float32)`."""
    made = names.fixed(node)
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
        return False
    return made.func.attr == "to" and _named(made.args[:1], "float32")


def _named(nodes: list[ast.expr], name: str) -> bool:
    return any(path_of(node).rpartition(".")[2] == name for node in nodes)


# ---------------------------------------------------------------- float64 on the way


def _creeping(
    function: ast.FunctionDef,
    names: Bindings,
    arrays: Collection[str],
    constants: Mapping[str, int | float],
) -> Iterator[Cause]:
    """A float32 that meets a number with a point, which is a float64 in Numba."""

    def number(node: ast.expr) -> str | None:
        bare = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(bare, ast.Constant) and type(bare.value) is float:
            return shown(node)
        if isinstance(bare, ast.Name) and type(constants.get(bare.id)) is float:
            return None if names.origin(bare.id, bare).statement else shown(node)
        return None

    def single(node: ast.expr, depth: int = 0) -> bool:
        if isinstance(node, ast.BinOp):
            return single(node.left, depth) and single(node.right, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return node.value.id in arrays or _made_float32(node.value, names)
        if isinstance(node, ast.Name) and depth < 8:
            made = names.origin(node.id, node)
            value = None if made.statement is None else value_of(made.statement, node)
            return value is not None and not made.carried and single(value, depth + 1)
        return isinstance(node, ast.Call) and path_of(node.func).endswith("float32")

    starts: dict[str, str] = {}
    for made in nodes(function, ast.Assign):
        said = number(made.value)
        if said is not None:
            starts |= {one.id: said for one in made.targets if isinstance(one, ast.Name)}
    for node in walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, _ARITHMETIC):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                said = number(one)
                if said is not None and single(other):
                    fields = {"number": said, "line": node.lineno, "written": shown(node)}
                    yield "note_float64", fields
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if name in starts and single(node.value):
                fields = {"number": starts[name], "line": node.lineno, "name": name}
                yield "note_float64_sum", fields


def _made_float32(array: ast.Name, names: Bindings) -> bool:
    """Whether it is a shared or a local array of float32."""
    value = names.assigned(array)
    arrays = ("shared.array", "local.array")
    if not isinstance(value, ast.Call) or path_of(value.func) not in arrays:
        return False
    return _named([*value.args, *(keyword.value for keyword in value.keywords)], "float32")


# ---------------------------------------------------------------- both sides worked out


def _both_sides(
    function: ast.FunctionDef, names: Bindings, kernels: Collection[str]
) -> Iterator[Cause]:
    """A choice between two values that every thread has worked out, each by a function."""

    def call(node: ast.expr) -> str | None:
        value = names.assigned(node) if isinstance(node, ast.Name) else None
        of = path_of(value.func) if isinstance(value, ast.Call) else ""
        return of if of in kernels else None

    for node in nodes(function, ast.IfExp):
        one, two = call(node.body), call(node.orelse)
        if one and two and one != two:
            yield "note_both_sides", {"line": node.lineno, "one": one, "two": two}
