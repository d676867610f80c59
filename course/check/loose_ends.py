"""What a cell's text leaves loose: sums that each turn begins anew, values that no turn changes,
and what is worked out for nothing.

The text is read and nothing of it executed. It is asked only where a result is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from course.check.bindings import Bindings, Loop, called, value_of
from course.check.kernel_text import Cause, path_of, shown

#: Gluon's copies of a buffer to a box of a matrix.
_COPIES_OUT = ("async_copy_shared_to_global", "async_store")
#: What makes a value that a loop starts from.
_STARTS = ("zeros", "full", "float", "float32", "float64", "int32", "int64")


def begun_anew(tree: ast.Module) -> Cause | None:
    """A sum that is lost in each turn of a loop, or a first value that stays to the end."""
    return next((found for one in _functions(tree) for found in _in_loops(one)), None)


def defined_twice(tree: ast.Module) -> Cause | None:
    """A function of the cell that a later one of its name takes the place of."""
    lines: dict[str, list[int]] = {}
    for one in _functions(tree):
        lines.setdefault(one.name, []).append(one.lineno)
    for name, found in lines.items():
        if len(found) > 1:
            return "text_twice", {"name": name, "line": found[-2], "last": found[-1]}
    return None


def of_maximum(tree: ast.Module) -> Cause | None:
    """A running maximum by which sums are rescaled the wrong way round, or not at all."""
    for function in _functions(tree):
        names = Bindings(function)
        for node in ast.walk(function):
            found = _growing(names, node)
            if found is not None:
                return found
        for loop in (one for one in ast.walk(function) if isinstance(one, Loop)):
            found = _not_rescaled(names, loop)
            if found is not None:
                return found
    return None


def left_early(tree: ast.Module) -> Cause | None:
    """Threads that leave a Numba kernel before a barrier, behind which others' numbers wait."""
    for function in _functions(tree):
        arrays = {one.arg for one in function.args.args}
        for number, one in enumerate(function.body):
            leaves = isinstance(one, ast.If) and isinstance(one.body[-1], ast.Return)
            rest = function.body[number + 1 :]
            waits = [
                node
                for node in rest
                if isinstance(node, ast.Expr) and called(node.value, "syncthreads")
            ]
            stores = [
                node
                for after in rest
                for node in ast.walk(after)
                if isinstance(node, ast.Subscript)
                and isinstance(node.ctx, ast.Store)
                and path_of(node.value) in arrays
            ]
            if isinstance(one, ast.If) and leaves and waits and stores:
                fields = {"test": shown(one.test), "line": one.lineno, "waits": waits[0].lineno}
                last = stores[-1]
                return "text_left", {**fields, "store": last.lineno, "stored": shown(last)}
    return None


def in_vain(tree: ast.Module) -> Cause | None:
    """A name that a function gives a value, and no line of it uses."""
    for function in _functions(tree):
        names = Bindings(function)
        used = {one.id for one in _names(function, ast.Load)}
        made = {
            one.id: names.statement_of(one)
            for one in _names(function, ast.Store)
            if one.id not in used and not one.id.startswith("_")
        }
        for name, last in made.items():
            unpacked = isinstance(_target(last), ast.Tuple)
            if isinstance(last, ast.Assign | ast.AugAssign) and not unpacked:
                return "text_in_vain", {"name": name, "line": last.lineno}
    return None


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [one for one in tree.body if isinstance(one, ast.FunctionDef)]


def _names(node: ast.AST, context: type[ast.expr_context]) -> list[ast.Name]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Name) and type(one.ctx) is context]


def _target(made: ast.stmt) -> ast.expr | None:
    return made.targets[0] if isinstance(made, ast.Assign) else None


def _in_loops(function: ast.FunctionDef) -> Iterator[Cause]:
    names = Bindings(function)
    loads = _names(function, ast.Load)
    for loop in (one for one in ast.walk(function) if isinstance(one, Loop)):
        for made in loop.body:
            target = _target(made)
            if isinstance(target, ast.Name) and _lost(names, loads, loop, made, target):
                yield "text_anew", {"name": target.id, "line": made.lineno, "loop": loop.lineno}
        for made in _each_turn(loop):
            stored = _stored(made)
            if stored is not None and _overwritten(names, loop, *stored):
                fields = {"name": shown(stored[0]), "line": made.lineno, "loop": loop.lineno}
                yield "text_stored_anew", fields
        for name in (one for one in loads if _within(loop, one)):
            made_by = names.origin(name.id, name).statement
            value = None if made_by is None else value_of(made_by, name)
            once = sum(one.id == name.id for one in _names(function, ast.Store)) == 1
            if once and made_by and value and made_by.lineno < loop.lineno and _is_start(value):
                fields = {"name": name.id, "line": made_by.lineno, "value": shown(value)}
                yield "text_unchanged", {**fields, "loop": loop.lineno}


def _each_turn(loop: Loop) -> Iterator[ast.stmt]:
    """The statements that a loop comes to in each turn, in loops within it, too."""
    for one in loop.body:
        yield one
        if isinstance(one, Loop):
            yield from _each_turn(one)


def _stored(made: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Where a statement stores, and what."""
    target = _target(made)
    if isinstance(made, ast.Assign) and isinstance(target, ast.Subscript):
        return target, made.value
    call = made.value if isinstance(made, ast.Expr) else None
    if isinstance(call, ast.Call) and path_of(call.func) == "tl.store" and len(call.args) > 1:
        return call.args[0], call.args[1]
    if isinstance(call, ast.Call) and called(call, *_COPIES_OUT) and len(call.args) > 2:
        return call.args[1], call.args[2]  # a box's place, and a buffer that each turn fills
    return None


def _within(node: ast.stmt, other: ast.AST) -> bool:
    line = getattr(other, "lineno", 0)
    return node.lineno < line <= (node.end_lineno or 0)


def _lost(
    names: Bindings, loads: list[ast.Name], loop: Loop, made: ast.stmt, target: ast.Name
) -> bool:
    """Whether a name that starts before a loop gets another value in each turn, of which only the
    last one's is used, behind the loop."""
    uses = [one for one in loads if one.id == target.id]
    before = any(
        one.id == target.id and one.lineno < loop.lineno
        for one in _names(names.function, ast.Store)
    )
    behind = any(
        one.lineno > (loop.end_lineno or 0) and names.origin(one.id, one).carried for one in uses
    )
    kept = any(_within(loop, one) and one.lineno <= (made.end_lineno or 0) for one in uses)
    value = value_of(made, target)
    return before and behind and not kept and value is not None and names.changes(value, loop)


def _overwritten(names: Bindings, loop: Loop, place: ast.expr, value: ast.expr) -> bool:
    """Whether each turn of a loop stores into the same place what the turn alone has made, and
    none reads it."""
    array = path_of(place.value) if isinstance(place, ast.Subscript) else ""
    read = sum(one.id == array for one in _names(loop, ast.Load)) > 1
    carried = any(names.origin(one.id, one).carried for one in _names(value, ast.Load))
    stored = [_stored(one) for one in _each_turn(loop)]
    filled = {path_of(one[0].value) for one in stored if one and isinstance(one[0], ast.Subscript)}
    buffer = isinstance(place, ast.List)
    made = buffer or names.changes(value, loop) or any(one.id in filled for one in _names(value, ast.Load))
    return made and not read and not carried and not names.changes(place, loop)


def _value(names: Bindings, node: ast.expr) -> ast.expr:
    """What a name was assigned, where it is one; an index that adds an axis is left out."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if not isinstance(node, ast.Name):
        return node
    made = names.origin(node.id, node).statement
    return (None if made is None else value_of(made, node)) or node


def _growing(names: Bindings, node: ast.AST) -> Cause | None:
    """``exp(m_new - m)``, where m_new is the larger of m and others."""
    if not (called(node, "exp", "exp2") and isinstance(node, ast.Call) and node.args):
        return None
    written = node.args[0]
    if not isinstance(written, ast.BinOp) or not isinstance(written.op, ast.Sub):
        return None
    larger, smaller = _value(names, written.left), written.right
    if called(larger, "max", "maximum") and isinstance(larger, ast.Call):
        if any(ast.dump(one) == ast.dump(smaller) for one in larger.args):
            fields = {"line": node.lineno, "written": shown(written)}
            return "text_exponent", {
                **fields,
                "larger": shown(written.left),
                "smaller": shown(smaller),
            }
    return None


def _not_rescaled(names: Bindings, loop: Loop) -> Cause | None:
    """A sum of exponentials that grows in a loop with a running maximum, and is never multiplied."""
    newer = next(
        (
            made
            for made in loop.body
            if isinstance(made, ast.Assign)
            and called(made.value, "maximum", "max")
            and any(names.origin(one.id, one).carried for one in _names(made.value, ast.Load))
        ),
        None,
    )
    if newer is None:
        return None
    for made in loop.body:
        target = made.target if isinstance(made, ast.AugAssign) else _target(made)
        if not isinstance(target, ast.Name):
            continue
        changed = [
            value_of(one, target)
            for one in loop.body
            if any(name.id == target.id for name in _names(one, ast.Store))
        ]
        own = [
            node
            for value in changed
            if value is not None
            for node in ast.walk(value)
            if isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mult)
            and any(
                isinstance(side, ast.Name) and side.id == target.id
                for side in (node.left, node.right)
            )
        ]
        grown = value_of(made, target)
        adds = grown is not None and any(
            isinstance(one, ast.Name) and one.id == target.id for one in ast.walk(grown)
        )
        if adds and not own and grown is not None and _of_exp(names, grown, loop):
            fields = {"line": made.lineno, "name": target.id, "newer": newer.lineno}
            return "text_not_rescaled", fields
    return None


def _of_exp(names: Bindings, value: ast.expr, loop: Loop) -> bool:
    """Whether an exponential of this turn is in it."""
    parts = [_value(names, one) for one in ast.walk(value) if isinstance(one, ast.expr)]
    return any(called(one, "exp", "exp2") for part in parts for one in ast.walk(part))


def _is_start(value: ast.expr) -> bool:
    """``-float("inf")``, ``tl.zeros(...)``, 0."""
    if isinstance(value, ast.UnaryOp):
        return _is_start(value.operand)
    if isinstance(value, ast.Constant):
        return value.value == 0
    return isinstance(value, ast.Call) and path_of(value.func).rpartition(".")[2] in _STARTS
