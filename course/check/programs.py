"""Why the programs of a Triton kernel ask for too much: what a block's address goes with."""

from __future__ import annotations

import ast
import copy

from course.check.accesses import AGAIN, Access
from course.check.bindings import Loop, called, program_axis
from course.check.conditions import Condition
from course.check.kernel_text import AXES, MOST_TESTS, Cause, range_of, shown
from course.check.waste import SCATTERED_BELOW
from course.plain.trees import nodes, walk
from course.words.verdict import ratio_text


def program_cause(worst: Access) -> Cause | None:
    """Why the worst access of a row asks for too much, or None."""
    site = worst.site
    fields: dict[str, object] = {"array": site.array, "line": worst.line, "written": worst.written}
    if site.reuse < SCATTERED_BELOW:
        return _scattered(worst, fields)
    again = site.lane_bytes / site.footprint_bytes if site.footprint_bytes else 0.0
    if again < AGAIN:
        return None
    future = _future(worst)
    if future is not None:
        found, beyond = future
        return found, {**fields, **beyond, "times": ratio_text(again)}
    loop = worst.same_in
    if loop is not None:
        return f"tile_{site.direction}_in_a_loop", {**fields, "loop": loop.lineno}
    out = worst.bindings.written_out(worst.address, first_turn=True)
    if site.direction != "load" or out is None:
        return None
    axes = _program_axes(out)
    others = [k for k in _program_axes(worst.bindings.function) if k not in axes]
    if not axes or len(others) != 1:
        return None
    return "tile_of_all_programs", {**fields, "axis": others[0], "times": ratio_text(again)}


def _scattered(worst: Access, fields: dict[str, object]) -> Cause | None:
    """One number at a time, or a block whose neighbours lie apart."""
    out = worst.bindings.written_out(worst.address, first_turn=True)
    if out is None:
        return None
    blocks = sum(called(node, "arange") for node in walk(out))
    if not blocks:
        loop = {"loop": worst.loops[0].lineno} if worst.loops else {}
        return "tile_one_number", {**fields, **loop}
    places = [_place(worst, out, number) for number in range(-1, blocks)]
    steps = [abs(p - places[0]) for p in places[1:] if p is not None and places[0] is not None]
    if len(steps) < blocks or min(steps) < 2:
        return None
    return "tile_block_apart", {**fields, "by": min(steps)}


def _place(worst: Access, out: ast.expr, block: int) -> int | None:
    """An address of the first program, in elements, where one `tl.arange` of all is at 1."""
    launched = worst.text.launched

    class First(ast.NodeTransformer):
        seen = -1

        def visit_Call(self, node: ast.Call) -> ast.expr:
            if called(node, "arange"):
                self.seen += 1
                return ast.Constant(int(self.seen == block))
            if called(node, "program_id"):
                return ast.Constant(0)
            if called(node, "cdiv") and len(node.args) == 2:
                sizes = [worst.text.number(self.visit(given)) for given in node.args]
                if sizes[0] is not None and sizes[1]:
                    return ast.Constant(-(-sizes[0] // sizes[1]))
            if called(node, "num_programs") and node.args:
                axis = node.args[0]
                if isinstance(axis, ast.Constant) and isinstance(axis.value, int):
                    return ast.Constant(launched.extent("grid", AXES[axis.value]))
            return node

        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            found: ast.AST = self.visit(node.value)
            return found

        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.Constant(0) if node.id in launched.shapes else node

    first = First().visit(copy.deepcopy(out))
    return worst.text.number(ast.fix_missing_locations(first))


def _program_axes(node: ast.AST) -> list[int]:
    """The axes of the grid whose program_id stands in it."""
    return sorted({axis for one in walk(node) if (axis := program_axis(one)) is not None})


def _future(worst: Access) -> tuple[str, dict[str, object]] | None:
    """A loop over tiles of which a comparison of places then switches off those beyond."""
    for loop in worst.loops:
        if not isinstance(loop, ast.For) or not worst.bindings.changes(worst.address, loop):
            continue
        span = range_of(loop)
        if span is None:
            return None
        near = any(_of_program(worst, end) for end in span[:2])
        for node in nodes(loop, ast.Compare)[:MOST_TESTS]:
            if len(node.ops) == 1:
                sides = (node.left, node.comparators[0])
                moving = [worst.bindings.changes(side, loop) for side in sides]
                own = [_of_program(worst, side) for side in sides]
                if moving not in ([True, False], [False, True]) or own != [not m for m in moving]:
                    continue
                if not near:
                    return "traffic_future", {"test": shown(node), "loop": loop.lineno}
                out = worst.bindings.written_out(sides[own.index(True)], first_turn=True)
                if out is not None and any(called(one, "arange") for one in walk(out)):
                    return "traffic_near_diagonal", {"test": shown(node), "loop": loop.lineno}
    return None


def _of_program(worst: Access, node: ast.expr) -> bool:
    out = worst.bindings.written_out(node, first_turn=True)
    return out is not None and any(called(one, "program_id") for one in walk(out))


def busy_loop(access: Access) -> tuple[Loop, Condition | None] | None:
    """(outermost loop around the busiest access that moves it, a test that one program passes)."""
    moving = [one for one in access.loops if access.bindings.changes(access.address, one)]
    if not moving:
        return None
    for condition in access.text.conditions(access.node):
        for one in condition.comparisons():
            if one.is_equality and (
                _of_program(access, one.left) or _of_program(access, one.right)
            ):
                return moving[-1], condition
    return moving[-1], None
