"""Why a kernel asks for too much: told where its text and the measured accesses agree.

A cause is an id of `course.words.traffic` with its values. Where the two do not agree there is
none, and the question of `course.check.waste` stands.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeGuard

from course.check.accesses import AGAIN, NEARLY, Access, access_of
from course.check.bindings import called
from course.check.kernel_text import AXES, Cause, KernelText, Launched, Thread, range_of, shown
from course.check.launches import launches_cause
from course.check.outputs import SHORTEST
from course.check.programs import busy_loop, program_cause
from course.check.waste import SCATTERED_BELOW, sites_of
from course.engine.traffic import Traffic
from course.plain.sectors import SECTOR_BYTES
from course.plain.trees import walk
from course.words.verdict import Row, ratio_text

#: Accesses to one array that are looked at: no honest kernel has more.
MOST_SITES = 24


def traffic_cause(
    row: Row,
    traffic: Traffic,
    tree: ast.Module,
    launched: Launched,
    item_bytes: Mapping[str, int],
    dialect: str,
) -> Cause | None:
    """Why a row is over its budget, or None.

    Args:
        row: the one that a verdict names.
        launched: the launch that was measured.
        item_bytes: of an element of each array that the exercise names.
    """
    sites = sorted(sites_of(traffic, row), key=lambda site: -site.sectors)[:MOST_SITES]
    found = [access_of(site, tree, launched) for site in sites]
    accesses = [one for one in found if one is not None]
    if not accesses or accesses[0].site is not sites[0]:
        return None
    worst = accesses[0]
    if dialect == "numba" and _is_again(worst):
        how = _clamp(worst, item_bytes.get(worst.site.array, 0))
        if how:
            return "traffic_clamped", {"line": worst.line, "how": how}
    if dialect == "numba" and row.direction != "total":
        cause = _lanes(worst, item_bytes.get(row.array, 0))
        if cause is not None and cause[0] == "traffic_rows_apart":
            return _turned(worst, traffic, cause[1]) or cause
        if cause is not None:
            return cause
        cause = _in_a_loop(worst, launched, item_bytes.get(row.array, 0))
        if cause is not None:
            return cause
    if dialect == "triton" and worst.site.reuse < SCATTERED_BELOW and row.direction != "total":
        return program_cause(worst)
    again = _again(accesses, _of(traffic, tree, launched, row.array))
    if again is not None or row.direction == "total":
        return again
    if dialect == "triton":
        cause = _between(accesses, traffic, tree) or program_cause(worst)
        return cause or _short_tiles(worst, row, launched)
    return _shared(worst, launched)


def _between(accesses: Sequence[Access], traffic: Traffic, tree: ast.Module) -> Cause | None:
    """What launches have to do with the worst access, or with one that asks for nearly as much."""
    least = NEARLY * accesses[0].site.sectors
    causes = (launches_cause(one, traffic, tree) for one in accesses if one.site.sectors >= least)
    return next((cause for cause in causes if cause is not None), None)


def _short_tiles(worst: Access, row: Row, launched: Launched) -> Cause | None:
    """Loads that come again as often as an axis has tiles of a length that the cell names."""
    times = row.requested_bytes / max(worst.site.footprint_bytes, 1)
    again = round(times)
    if row.direction != "load" or again < AGAIN or abs(times - again) > 0.01:
        return None
    sides = {side for shape in launched.shapes.values() for side in shape}
    named = {long for name, long in launched.numbers.items() if name.isupper()}
    found = {
        (side, long)
        for side in sides
        for long in named
        if SHORTEST <= long < side and -(side // -long) == again
    }
    if len(found) != 1:
        return None
    ((side, long),) = found
    return "tile_short", {"array": row.array, "times": again, "side": side, "tile": long}


def _of(traffic: Traffic, tree: ast.Module, launched: Launched, array: str) -> list[Access]:
    """All accesses to an array, in the order of their lines."""
    sites = sorted((s for s in traffic.sites if s.array == array), key=lambda s: -s.sectors)
    sites = sorted(sites[:MOST_SITES], key=lambda site: site.line)
    return [one for s in sites if (one := access_of(s, tree, launched)) is not None]


# ---------------------------------------------------------------- lanes of a warp


def _lanes(worst: Access, item_bytes: int) -> Cause | None:
    """Lanes that do not ask side by side."""
    site = worst.site
    if not item_bytes or not site.requests:
        return None
    lanes = site.lane_bytes / item_bytes / site.requests
    if lanes == 1:
        return _one_lane(worst)
    if site.reuse >= SCATTERED_BELOW or site.direction == "atomic":
        return None
    return _apart(worst, item_bytes)


def _one_lane(worst: Access) -> Cause | None:
    condition = worst.text.of_one_thread(worst.node)
    if condition is None:
        return None
    return "traffic_one_lane", {"test": shown(condition.test), "line": worst.line}


def _apart(worst: Access, item_bytes: int) -> Cause | None:
    launched = worst.text.launched
    shape = launched.shapes.get(worst.array)
    axes = worst.axes
    if shape is None or len(shape) != len(axes) or launched.extent("block", "x") < 4:
        return None
    weights = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    places = [_place(worst, axes, lane) for lane in range(4)]
    if any(place is None for place in places):
        return None
    flat = [sum(n * w for n, w in zip(p, weights, strict=True)) for p in places if p is not None]
    steps = {b - a for a, b in pairwise(flat)}
    if len(steps) != 1:
        return None
    step = abs(steps.pop())
    fields: dict[str, object] = {
        "line": worst.line,
        "written": worst.written,
        "by": step,
        "bytes": step * item_bytes,
        "used": ratio_text(worst.site.reuse * SECTOR_BYTES),
        "doing": {"load": "loads", "store": "stores"}[worst.site.direction],
    }
    if step > 1:
        first, second = places[0] or [], places[1] or []
        moved = [k for k in range(len(axes)) if first[k] != second[k]]
        if len(axes) > 1 and moved == [0] and isinstance(worst.node, ast.Subscript):
            return "traffic_rows_apart", {**fields, "part": shown(_index(worst, 0))}
        return "traffic_lanes_apart", fields
    return _straddles(worst, axes, weights, item_bytes) if step == 1 else None


def _turned(worst: Access, traffic: Traffic, fields: dict[str, object]) -> Cause | None:
    """Another array that is taken by the same two numbers the other way round, with no tile."""
    shared = any(called(node, "array") for node in walk(worst.bindings.function))
    for array in {site.array for site in traffic.sites} - {worst.site.array}:
        for one in () if shared else _of(traffic, worst.tree, worst.launched, array):
            if len(one.axes) == 2 and one.site.direction != worst.site.direction:
                probes = [(_place(one, one.axes, *at), _place(worst, worst.axes, *at))
                          for at in ((1, 0), (0, 1), (3, 2))]  # fmt: skip
                if all(its and mine and its == mine[::-1] for its, mine in probes):
                    return "traffic_turned", {**fields, "other": one.written}
    return None


def _straddles(
    worst: Access, axes: Sequence[ast.expr], weights: Sequence[int], item_bytes: int
) -> Cause | None:
    """Rows that begin inside of sectors, in an array of one axis: only there are they chosen."""
    rows = len(axes) == 1 and len(worst.text.launched.block) > 1
    one, other = _place(worst, axes, 0), _place(worst, axes, 0, 1) if rows else None
    if one is None or other is None:
        return None
    step = sum((b - a) * w for a, b, w in zip(one, other, weights, strict=True))
    if not step or step * item_bytes % SECTOR_BYTES == 0:
        return None
    fields: dict[str, object] = {
        "written": worst.written,
        "by": step,
        "bytes": step * item_bytes,
    }
    return "traffic_straddles", fields


def _place(worst: Access, axes: Sequence[ast.expr], x: int, y: int = 0) -> list[int] | None:
    return worst.at_first(axes, Thread((x, y, 0), (0, 0, 0)))


def _index(worst: Access, axis: int) -> ast.expr:
    """One axis of the index as it is written, where it is a tuple."""
    index = worst.address
    return index.elts[axis] if isinstance(index, ast.Tuple) else worst.axes[axis]


# ---------------------------------------------------------------- again


def _again(accesses: Sequence[Access], all_of_it: Sequence[Access]) -> Cause | None:
    """Two lines that take the same elements of an array, rather of one loop than of two."""
    found = []
    ordered = sorted(accesses, key=lambda one: one.line)
    for number, second in enumerate(ordered):
        for first in ordered[:number]:
            one, other = first.site, second.site
            alike = (one.array, one.direction) == (other.array, other.direction)
            if not alike or first.line == second.line:
                continue
            as_much = min(one.footprint_bytes, other.footprint_bytes) >= NEARLY * max(
                one.footprint_bytes, other.footprint_bytes
            )
            if as_much and one.footprint_bytes:
                found.append(_twice(first, second, all_of_it))
    causes = [cause for cause in found if cause is not None]
    return min(causes, key=lambda cause: cause[0] == "traffic_again_in_a_loop", default=None)


def _twice(first: Access, second: Access, all_of_it: Sequence[Access]) -> Cause | None:
    fields: dict[str, object] = {
        "array": first.site.array,
        "written": second.written,
        "first": first.line,
        "second": second.line,
    }
    if first.bindings.function.lineno != second.bindings.function.lineno:
        return None
    if first.elements is None or first.elements != second.elements:
        return None
    parting = first.bindings.parting(first.node, second.node)
    if parting is not None:
        ways = fields | {"parting": parting.lineno}
        numba = isinstance(first.node, ast.Subscript)  # a program takes one way with all its lanes
        return (f"traffic_{first.site.direction}_both_ways", ways) if numba else None
    turns = [[loop.lineno for loop in one.loops[:1]] for one in (first, second)]
    apart = turns[0] != turns[1]
    if first.site.direction == "load":
        return ("traffic_again_in_a_loop" if apart else "traffic_again"), fields
    if first.site.direction != "store":
        return None
    back = [
        one.line
        for one in all_of_it
        if one.site.direction == "load" and one.elements == first.elements and one.line > first.line
    ]
    fields |= {"apart": second.line} if apart and all(turns) else {"near": ""}
    return "traffic_stored_again", fields | ({"back": back[0]} if back else {})


# ---------------------------------------------------------------- loops and other threads


def _in_a_loop(worst: Access, launched: Launched, item_bytes: int) -> Cause | None:
    """An access that a loop repeats, and measured more often than once a thread."""
    loop, site = worst.same_in, worst.site
    threads = math.prod(launched.grid) * math.prod(launched.block)
    if loop is None or not item_bytes or not threads:
        return None
    turning = [one for one in worst.loops if worst.bindings.changes(worst.address, one)]
    each = site.lane_bytes / item_bytes / threads
    if turning and site.requested_bytes < AGAIN * site.footprint_bytes:
        return None
    if not turning and each < AGAIN:
        return None
    fields: dict[str, object] = {"written": worst.written, "loop": loop.lineno, "line": worst.line}
    return f"traffic_{site.direction}_in_a_loop", fields


def _is_again(worst: Access) -> bool:
    """Whether what it loads it loads several times."""
    site = worst.site
    return site.direction == "load" and site.requested_bytes >= AGAIN * site.footprint_bytes


def _clamp(worst: Access, item_bytes: int) -> str:
    """What gives a thread that has no element another one's, or ''."""
    if worst.text.calls(worst.address, "min"):
        return "min"
    launched = worst.text.launched
    threads = math.prod(launched.grid) * math.prod(launched.block)
    elements = math.prod(launched.shapes.get(worst.array, ()))
    if worst.loops or worst.site.lane_bytes != threads * item_bytes or threads <= elements:
        return ""
    return next((shown(one) for one in worst.text.expanded(worst.address) if _bends(one)), "")


def _bends(node: ast.AST) -> TypeGuard[ast.IfExp | ast.BinOp]:
    """``i if i < last else last`` or ``i % n``."""
    return isinstance(node, ast.IfExp) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
    )


def _of_a_thread(worst: Access) -> bool:
    """Whether the turns of a loop around it are others for other threads."""
    spans = [range_of(loop) for loop in worst.loops if isinstance(loop, ast.For)]
    return any(
        place.startswith("thread")
        for span in spans
        for end in span or ()
        for place in worst.text.counts(end)
    )


def _shared(worst: Access, launched: Launched) -> Cause | None:
    """Threads or blocks that take the same elements, or an element that is one thread's own."""
    site = worst.site
    out = worst.bindings.written_out(worst.address, first_turn=True)
    if out is None:
        return None
    counts = worst.text.counts(out)
    fields: dict[str, object] = {"written": worst.written, "line": worst.line}
    inside = {axis: n for axis in AXES if (n := launched.extent("block", axis)) > 1}
    across = {axis: n for axis in AXES if (n := launched.extent("grid", axis)) > 1}
    free = [axis for axis in inside if f"thread {axis}" not in counts]
    if "data" in counts or _of_a_thread(worst):
        return None
    if site.direction == "atomic":
        own = not free and all(f"block {axis}" in counts for axis in across)
        once = NEARLY * site.footprint_bytes <= site.lane_bytes <= site.footprint_bytes
        if own and once and not worst.loops:
            return "traffic_own_atomic", fields
        if list(inside) == free:
            return "traffic_atomics_of_block", {**fields, "threads": math.prod(inside.values())}
        return None
    if not _is_again(worst):
        return None
    if free:
        return "traffic_of_all_threads", {**fields, "axis": free[0], "threads": inside[free[0]]}
    others = [axis for axis in across if f"block {axis}" not in counts]
    if others:
        return "traffic_of_all_blocks", {**fields, "axis": others[0], "blocks": across[others[0]]}
    if len(worst.loops) == 1 and worst.same_in is None:
        times = ratio_text(site.requested_bytes / site.footprint_bytes)
        return "traffic_window", {**fields, "loop": worst.loops[0].lineno, "times": times}
    return None


def busy_cause(
    traffic: Traffic, tree: ast.Module, launched: Launched
) -> tuple[int | None, Cause | None]:
    """(line of the loop in which one program of a Triton kernel does too much, what to say)."""
    line = traffic.busiest_lines["program_bytes"]
    there = [site for site in traffic.sites if site.line == line]
    worst = max(there, key=lambda site: site.sectors, default=None)
    access = None if worst is None else access_of(worst, tree, launched)
    found = None if access is None else busy_loop(access)
    if found is None:
        return None, None
    loop, condition = found
    fields: dict[str, object] = {"loop": loop.lineno}
    if condition is None:
        span = range_of(loop) if isinstance(loop, ast.For) else None
        text = KernelText(tree, loop.lineno, launched)
        end = [] if span is None else list(text.expanded(span[1]))
        chosen = any(isinstance(one, ast.Compare) for one in end)  # all of it, or nothing
        part = not chosen and any(called(one, "program_id") for one in end)
        return loop.lineno, ("serial_part" if part else "serial_loop", fields)
    return loop.lineno, ("serial_one_program", {**fields, "test": shown(condition.test)})
