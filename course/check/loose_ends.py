"""What a cell's text leaves loose: sums that each turn begins anew, values that no turn changes,
and what is worked out for nothing.

The text is read and nothing of it executed. It is asked only where a result is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from course.check.bindings import Bindings, Loop, called, loops_of, value_of
from course.check.kernel_text import Cause, calls_of, path_of, range_of, shown
from course.plain.evaluator import is_name
from course.plain.trees import nodes, walk

#: Gluon's copies of a buffer to a box of a matrix.
_COPIES_OUT = ("async_copy_shared_to_global", "async_store")
#: Blocks of one axis made those of two.
_AXES = "[:, None]", "[None, :]"
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


def compared_alone(tree: ast.Module) -> Cause | None:
    """``c[i] == a[i] + b[i]`` on a line of its own, which stores nothing."""
    for made in nodes(_functions(tree), ast.Expr):
        if isinstance(made.value, ast.Compare) and isinstance(made.value.ops[0], ast.Eq):
            fields = {"line": made.lineno, "written": shown(made.value)}
            return "text_compared", {**fields, "target": shown(made.value.left)}
    return None


def of_maximum(tree: ast.Module) -> Cause | None:
    """A maximum that is added in an exponent, or by which sums are rescaled in a wrong way."""
    for function in _functions(tree):
        names = Bindings(function)
        for node in walk(function):
            if called(node, "exp", "exp2") and node.args and isinstance(node.args[0], ast.BinOp):
                exponent = node.lineno, node.args[0]
                found = _growing(names, *exponent) or _added(names, *exponent)
                if found is not None:
                    return found
        for loop in loops_of(function):
            found = _not_rescaled(names, loop)
            if found is not None:
                return found
    return None


def by_ones(tree: ast.Module) -> Cause | None:
    """A block that a loop moves on by one element, ``k + tl.arange(0, B)`` in ``range(n)``."""
    for function in _functions(tree):
        for loop in loops_of(function):
            if not isinstance(loop, ast.For) or (span := range_of(loop)) is None:
                continue
            if not isinstance(span[2], ast.Constant) or span[2].value != 1:
                continue
            for one in nodes(loop, ast.BinOp):
                sides = (one.left, one.right), (one.right, one.left)
                for count, block in sides if isinstance(one.op, ast.Add) else ():
                    if is_name(count, path_of(loop.target)) and called(block, "arange"):
                        fields = {"name": shown(count), "loop": loop.lineno, "line": one.lineno}
                        return "text_by_ones", {**fields, "block": shown(block)}
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
                for node in nodes(rest, ast.Subscript)
                if isinstance(node.ctx, ast.Store) and path_of(node.value) in arrays
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


def alike(tree: ast.Module) -> Cause | None:
    """A loop that loads the same in each of its turns, since no line uses what it counts."""
    for function in _functions(tree):
        names = Bindings(function)
        used = {one.id for one in _names(function, ast.Load)}
        arrays = {one.arg for one in function.args.args}
        for loop in loops_of(function):
            counted = loop.target if isinstance(loop, ast.For) else None
            if not isinstance(counted, ast.Name) or counted.id in used:
                continue
            places = [one.args[0] for one in calls_of(loop, "tl.load") if one.args]
            places += [
                one.slice
                for one in nodes(loop, ast.Subscript)
                if isinstance(one.ctx, ast.Load) and path_of(one.value) in arrays
            ]
            if places and not any(names.changes(place, loop) for place in places):
                return "text_alike", {"name": counted.id, "line": loop.lineno}
    return None


def begins_late(tree: ast.Module) -> Cause | None:
    """``range(B, N, B)`` or ``range(first + B, end, B)``: what lies before gets no turn."""
    for function in _functions(tree):
        for loop in loops_of(function):
            span = range_of(loop) if isinstance(loop, ast.For) else None
            if span is None or ast.dump(span[2]) == ast.dump(ast.Constant(1)):
                continue
            begin, step = span[0], ast.dump(span[2])
            added = isinstance(begin, ast.BinOp) and isinstance(begin.op, ast.Add)
            parts = [begin.left, begin.right] if isinstance(begin, ast.BinOp) and added else [begin]
            if step in map(ast.dump, parts):
                return "text_late", {"line": loop.lineno, "begin": shown(begin)}
    return None


def x_for_rows(tree: ast.Module) -> Cause | None:
    """``row, col = cuda.grid(2)`` and an index ``row * LD + col``."""
    for function in _functions(tree):
        for made in nodes(function, ast.Assign):
            target = made.targets[0]
            if not (called(made.value, "grid") and isinstance(target, ast.Tuple)):
                continue
            x, *others = [path_of(one) for one in target.elts]
            for index in (one.slice for one in nodes(function, ast.Subscript)):
                sides = (index.left, index.right) if isinstance(index, ast.BinOp) else ()
                for product, rest in (sides, sides[::-1]) if sides else ():
                    if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
                        continue
                    factors = [path_of(product.left), path_of(product.right)]
                    if x in factors and path_of(rest) in others:
                        fields = {"name": x, "line": made.lineno, "index": shown(index)}
                        return "text_x_for_rows", {**fields, "other": path_of(rest)}
    return None


def one_apart(tree: ast.Module) -> Cause | None:
    """``rows[:, None] + columns[None, :]``: neither is multiplied by a distance in memory."""
    for function in _functions(tree):
        names = Bindings(function)
        for made in nodes(function, ast.BinOp):
            if isinstance(made.op, ast.Add):
                turned = [one for one in _terms(made) if isinstance(one, ast.Subscript)]
                along = [shown(one) for one in turned if _by_one(names, one.value)]
                if all(any(one.endswith(axis) for one in along) for axis in _AXES):
                    return "text_one_apart", {"line": made.lineno, "written": shown(made)}
    return None


def _terms(node: ast.expr) -> list[ast.expr]:
    """What is added up."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _terms(node.left) + _terms(node.right)
    return [node]


def _by_one(names: Bindings, node: ast.expr) -> bool:
    """Whether a block goes on by one, as `tl.arange` does, and what is added to it."""
    return any(called(one, "arange") for one in _terms(names.followed(node)))


def unused(tree: ast.Module) -> Cause | None:
    """The one parameter of a kernel that no line of it uses."""
    for function in _functions(tree):
        used = {one.id for one in _names(function, ast.Load)}
        free = [one.arg for one in function.args.args if one.arg not in used]
        if function.decorator_list and len(free) == 1:
            return "text_unused", {"name": free[0], "kernel": function.name}
    return None


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [one for one in tree.body if isinstance(one, ast.FunctionDef)]


def _names(node: ast.AST, context: type[ast.expr_context]) -> list[ast.Name]:
    return [one for one in nodes(node, ast.Name) if type(one.ctx) is context]


def _target(made: ast.stmt) -> ast.expr | None:
    return made.targets[0] if isinstance(made, ast.Assign) else None


def _in_loops(function: ast.FunctionDef) -> Iterator[Cause]:
    names = Bindings(function)
    loads = _names(function, ast.Load)
    for loop in loops_of(function):
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
    if call is not None and called(call, *_COPIES_OUT) and len(call.args) > 2:
        return call.args[1], call.args[2]  # a box's place, and a buffer that each turn fills
    return None


def _within(node: ast.stmt, other: ast.AST) -> bool:
    line = getattr(other, "lineno", 0)
    return node.lineno < line <= (node.end_lineno or 0)


def _lost(
    names: Bindings, loads: list[ast.Name], loop: Loop, made: ast.stmt, target: ast.Name
) -> bool:
    """Whether of what each turn gives a name that starts before a loop the last one alone is used.

    It is used behind the loop.
    """
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
    """Whether each turn stores into the same place what the turn alone has made, unread."""
    array = path_of(place.value) if isinstance(place, ast.Subscript) else ""
    read = sum(one.id == array for one in _names(loop, ast.Load)) > 1
    stored = [_stored(one) for one in _each_turn(loop)]
    filled = {path_of(one[0].value) for one in stored if one and isinstance(one[0], ast.Subscript)}
    filled_now = any(one.id in filled for one in _names(value, ast.Load))
    made = isinstance(place, ast.List) or filled_now or names.changes(value, loop)
    return made and not read and not _carries(names, value) and not names.changes(place, loop)


def _carries(names: Bindings, value: ast.expr) -> bool:
    """Whether what a loop has kept from its turns before is in an expression."""
    waiting, seen = [value], set[ast.stmt]()
    while waiting:
        for one in _names(waiting.pop(), ast.Load):
            origin = names.origin(one.id, one)
            made = origin.statement
            if origin.carried or isinstance(made, ast.AugAssign):
                return True
            if made is not None and made not in seen:
                seen.add(made)
                more = value_of(made, one)
                waiting += [] if more is None else [more]
    return False


def _value(names: Bindings, node: ast.expr) -> ast.expr:
    """What a name was assigned, where it is one; an index that adds an axis is left out."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return names.followed(node)


def _growing(names: Bindings, line: int, written: ast.BinOp) -> Cause | None:
    """``exp(m_new - m)``, where m_new is the larger of m and others."""
    larger, smaller = _value(names, written.left), written.right
    if isinstance(written.op, ast.Sub) and called(larger, "max", "maximum"):
        if any(ast.dump(one) == ast.dump(smaller) for one in larger.args):
            fields = {"line": line, "written": shown(written)}
            return "text_exponent", {
                **fields,
                "larger": shown(written.left),
                "smaller": shown(smaller),
            }
    return None


def _added(names: Bindings, line: int, written: ast.BinOp) -> Cause | None:
    """``exp(s + m)``, where m is a largest number, and not ``max(x, 0)``."""
    for side in (written.left, written.right) if isinstance(written.op, ast.Add) else ():
        largest = _value(names, side)
        if not called(largest, "max", "maximum"):
            continue
        reduced = called(largest, "max") and path_of(largest.func) == "tl.max"  # an axis follows
        if reduced or not any(isinstance(one, ast.Constant) for one in largest.args):
            fields = {"line": line, "written": shown(written), "largest": shown(side)}
            return "text_maximum_added", fields
    return None


def _not_rescaled(names: Bindings, loop: Loop) -> Cause | None:
    """A sum of exponentials in a loop with a running maximum, which nothing multiplies."""
    newer = next((one.lineno for one in loop.body if _runs(names, one)), None)
    for made in loop.body if newer is not None else ():
        target = made.target if isinstance(made, ast.AugAssign) else _target(made)
        grown = value_of(made, target) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name) or grown is None:
            continue
        factors = {
            side.id
            for one in loop.body
            for product in nodes(value_of(one, target) or ast.Constant(0), ast.BinOp)
            if isinstance(product.op, ast.Mult)
            for side in (product.left, product.right)
            if isinstance(side, ast.Name)
        }
        kept = any(
            one.id == target.id and names.origin(one.id, one).carried
            for one in nodes(grown, ast.Name)
        )
        if kept and target.id not in factors and _of_exp(names, grown):
            return "text_not_rescaled", {"line": made.lineno, "name": target.id, "newer": newer}
    return None


def _runs(names: Bindings, made: ast.stmt) -> bool:
    """``m_new = tl.maximum(m, ...)``, with the m of the turn before."""
    value = made.value if isinstance(made, ast.Assign) else None
    if value is None or not called(value, "maximum", "max"):
        return False
    return any(names.origin(one.id, one).carried for one in _names(value, ast.Load))


def _of_exp(names: Bindings, value: ast.expr) -> bool:
    """Whether an exponential of this turn is in it."""
    parts = [_value(names, one) for one in nodes(value, ast.expr)]
    return any(called(one, "exp", "exp2") for part in parts for one in walk(part))


def _is_start(value: ast.expr) -> bool:
    """``-float("inf")``, ``tl.zeros(...)``, 0."""
    if isinstance(value, ast.UnaryOp):
        return _is_start(value.operand)
    if isinstance(value, ast.Constant):
        return value.value == 0
    return isinstance(value, ast.Call) and path_of(value.func).rpartition(".")[2] in _STARTS
