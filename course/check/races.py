"""Why two threads of a Numba kernel meet at one element."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from itertools import zip_longest

from course.check.kernel_text import (
    AXES,
    Cause,
    KernelText,
    Thread,
    calls_of,
    path_of,
    place_said,
    shown,
)
from course.engine.faults import KernelFault
from course.plain.sectors import WARP_LANES
from course.plain.trees import nodes, walk
from course.spec.exercise import Role


def _with_value(node: ast.expr, value: int) -> str:
    """`cuda.gridDim.x` (here 4); of a number the number alone."""
    return str(value) if isinstance(node, ast.Constant) else f"`{shown(node)}` (here {value})"


def _adds_up(statement: ast.stmt | None) -> bool:
    """`out[i] += x`, or written out, `out[i] = out[i] + x`."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.target, ast.Subscript)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Subscript):
        return False
    written = ast.unparse(statement.targets[0])
    return isinstance(statement.value, ast.BinOp) and any(
        isinstance(one, ast.Subscript) and ast.unparse(one) == written
        for one in (statement.value.left, statement.value.right)
    )


def _differ_in(one: ast.AST, other: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The only factors in which two indices differ: how far apart rows are taken to be."""
    mine, its = list(ast.iter_child_nodes(one)), list(ast.iter_child_nodes(other))
    if type(one) is not type(other) or len(mine) != len(its):
        return None
    pairs = [(a, b) for a, b in zip(mine, its, strict=True) if ast.dump(a) != ast.dump(b)]
    if len(pairs) != 1:
        return None
    this, that = pairs[0]
    if isinstance(this, ast.Name | ast.Attribute) and isinstance(that, ast.Name | ast.Attribute):
        factors = isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult)
        return (this, that) if factors else None
    return _differ_in(this, that)


class GlobalRace:
    """Two threads at one element of an array in global memory."""

    def __init__(self, fault: KernelFault, text: KernelText, roles: Mapping[str, Role]) -> None:
        fields = fault.fields
        self.text, self.array = text, str(fields["array"])
        self.role = roles.get(self.array)
        self.kind = fields.get("kind")
        self.same_value = fault.message_id.endswith("same_value")
        self.thread, self.block = fields["thread"], fields["block"]
        self.other_thread = fields.get("other_thread")
        self.other_block = fields.get("other_block", self.block)
        self.index = str(fields["index"]).strip("(),")
        self.lines = {fault.line or 0, int(str(fields.get("other_line") or fault.line))}
        self.known: dict[str, object] = {"array": self.array, "index": self.index}

    @property
    def same_block(self) -> bool:
        return self.block == self.other_block

    def cause(self) -> Cause | None:
        written = {
            ast.dump(one): one
            for line in sorted(self.lines)
            for one in self.text.indices(self.array, line)
        }
        if len(written) > 1:
            indices = list(written.values())
            return self._two_indices(indices) or self._more_each(indices[0])
        if not written:
            return None
        if self.kind == "atomic/plain" and self.role is not Role.ACCUMULATE:
            return "race_among_atomics", self.known
        index = next(iter(written.values()))
        self.known["written"] = shown(index)
        counts = self.text.counts(index)
        found = self._same_for_all(index, counts) or self._clamped(index) or self._apart(index)
        found = found or self._more_each(index)
        if self.role is not Role.ACCUMULATE:
            return found
        if _adds_up(self.text.statement()):
            return "race_adds_up", self.known
        meant_for_all = found is None or found[0] in ("race_repeats", "race_one_cell")
        return ("race_of_all_blocks", self.known) if meant_for_all else found

    def _two_indices(self, written: list[ast.expr]) -> Cause | None:
        """One thread changes in place what another one still has to read."""
        if self.kind not in ("write/read", "read/write") or self.role is not Role.INOUT:
            return None
        fields = {**self.known, "one": shown(written[0]), "two": shown(written[1])}
        apart = _differ_in(*written[:2])
        if apart is not None:
            this, that = map(shown, apart)
            return "race_two_lengths", {**fields, "this": this, "that": that}
        return "race_in_place" if self.same_block else "race_in_place_blocks", fields

    def _same_for_all(self, index: ast.expr, counts: set[str]) -> Cause | None:
        """An index without the thread, without the block, or without one of their axes."""
        if "data" in counts:
            return None
        threads = {one for one in counts if one.startswith("thread")}
        blocks = {one for one in counts if one.startswith("block")}
        if not counts:
            names = [n.id for n in nodes(index, ast.Name)]
            loop = next((self.text.loop_of(n) for n in names if self.text.loop_of(n)), None)
            if loop is not None:
                return "race_all_loop", {**self.known, "loop": loop.lineno}
            return "race_one_cell", self.known
        if self.same_block and not threads:
            return self._one_a_block(index)
        if not self.same_block and not blocks and threads:
            return "race_repeats", self.known
        return self._axis_missing(counts)

    def _one_a_block(self, index: ast.expr) -> Cause | None:
        shape = self.text.launched.shapes.get(self.array, ())
        first, second = (self.text.number(index, Thread((0,), (block,))) for block in (0, 1))
        by_blocks = None not in (first, second) and (second or 0) - (first or 0) > 1
        if by_blocks or math.prod(shape) > math.prod(self.text.launched.grid):
            return "race_no_thread", self.known
        if not self.same_value:
            return "race_values_of_block", self.known
        for condition in self.text.conditions(index):
            if any(one.startswith("thread") for one in self.text.counts(condition.test)):
                return "race_some_of_block", {**self.known, "test": shown(condition.test)}
        return "race_one_a_block", self.known

    def _axis_missing(self, counts: set[str]) -> Cause | None:
        """Threads that differ along an axis alone that the index does not have."""
        threads = (place_said(self.thread), place_said(self.other_thread))
        blocks = (place_said(self.block), place_said(self.other_block))
        for of, (one, other) in (("thread", threads), ("block", blocks)):
            pairs = zip_longest(one, other, fillvalue=0) if other else ()
            differs = [AXES[k] for k, (a, b) in enumerate(pairs) if a != b]
            missing = [axis for axis in differs if f"{of} {axis}" not in counts]
            if missing and len(missing) == len(differs) and (of == "block" or self.same_block):
                found = "race_parts" if self.role is Role.ACCUMULATE else "race_axis"
                return found, {**self.known, "axis": missing[0], "of": of}
        return None

    def _clamped(self, index: ast.expr) -> Cause | None:
        """`min(i, n - 1)` sends all threads past the end to the last element."""
        shape = self.text.launched.shapes.get(self.array, ())
        last = ", ".join(str(side - 1) for side in shape)
        if self.text.calls(index, "min") and self.index == last:
            return "race_clamped", self.known
        return None

    def _apart(self, index: ast.expr) -> Cause | None:
        """Starts or steps that are too short, or a number that several threads share."""
        launched = self.text.launched
        for node in self.text.expanded(index):
            if not isinstance(node, ast.BinOp):
                continue
            if isinstance(node.op, ast.Add) and (rows := self._rows_overlap(node)) is not None:
                return rows
            if isinstance(node.op, ast.Mult) and not self.same_block:
                for of, by in ((node.left, node.right), (node.right, node.left)):
                    axes = [c[-1] for c in self.text.counts(of) if c.startswith("block")]
                    bare = any(path_of(n).startswith("blockIdx.") for n in walk(of))
                    apart = self.text.number(by)
                    if not axes or not bare or apart is None or self.text.counts(by):
                        continue
                    threads = launched.extent("block", axes[0])
                    if 0 < apart < threads:
                        fields = {**self.known, "by": _with_value(by, apart)}
                        grid = "gridDim" in ast.unparse(by)
                        found = "race_grid_for_block" if grid else "race_overlap"
                        return found, {**fields, "threads": threads, "axis": axes[0]}
            if isinstance(node.op, ast.FloorDiv) and self.same_block:
                shared_by = self.text.number(node.right) or 0
                alone = not isinstance(index, ast.Tuple)  # another axis may tell them apart
                if alone and shared_by > 1 and "thread x" in self.text.counts(node.left):
                    fields = {**self.known, "part": shown(node), "by": shared_by}
                    return "race_shared_number", fields
        return self._short_step(index)

    def _more_each(self, index: ast.expr) -> Cause | None:
        """A thread stores several elements, and its block's later ones are the next one's first."""
        if self.same_block or self.thread != self.other_thread:
            return None
        pairs = zip(place_said(self.block), place_said(self.other_block), strict=False)
        differs = [AXES[k] for k, (mine, its) in enumerate(pairs) if mine != its]
        for node in self.text.expanded(index):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for of, by in ((node.left, node.right), (node.right, node.left)):
                    apart, path = self.text.number(by), path_of(of)
                    if path.startswith("blockIdx.") and path[-1] in differs and apart:
                        if apart >= self.text.launched.extent("block", path[-1]):
                            fields = {**self.known, "by": _with_value(by, apart)}
                            return "race_more_each", {**fields, "axis": path[-1]}
        return None

    def _rows_overlap(self, node: ast.BinOp) -> Cause | None:
        """`row * length + column`, where rows and columns make up for each other."""
        mine = self._place(self.thread, self.block)
        its = self._place(self.other_thread, self.other_block)
        for rows, column in ((node.left, node.right), (node.right, node.left)):
            if not isinstance(rows, ast.BinOp) or not isinstance(rows.op, ast.Mult):
                continue
            for row, by in ((rows.left, rows.right), (rows.right, rows.left)):
                along = [{one[-1] for one in self.text.counts(part)} for part in (row, column)]
                apart = self.text.number(by)
                if along != [{"y"}, {"x"}] or apart is None or mine[1] == its[1]:
                    continue
                if its[0] - mine[0] == apart * (mine[1] - its[1]):
                    wide = 1 + max(mine[0], its[0])
                    return "race_rows_overlap", {
                        **self.known, "by": _with_value(by, apart), "wide": wide,
                    }  # fmt: skip
        return None

    def _place(self, thread: object, block: object) -> tuple[int, int]:
        """A thread's number along x and along y of the whole grid."""
        pairs = zip_longest(place_said(thread), place_said(block), fillvalue=0)
        sizes = (self.text.launched.extent("block", axis) for axis in AXES)
        x, y, *_ = [*(t + b * n for (t, b), n in zip(pairs, sizes, strict=False)), 0, 0]
        return x, y

    def _short_step(self, index: ast.expr) -> Cause | None:
        launched = self.text.launched
        total = launched.extent("grid", "x") * launched.extent("block", "x")
        for name in [n.id for n in nodes(index, ast.Name)]:
            whole = self.text.made.get(name, [])
            if not any("block x" in self.text.counts(one) for one in whole):
                continue
            for step in self.text.steps.get(name, []):
                by = self.text.number(step)
                if by is not None and 0 < by < total:
                    fields = {**self.known, "by": _with_value(step, by), "threads": total}
                    return "race_step", fields
        return None


def shared_race(fault: KernelFault, text: KernelText) -> Cause | None:
    """Two threads of a block at one cell of a shared array."""
    fields, line = fault.fields, fault.line or 0
    array, kind, other_line = str(fields["array"]), fields.get("kind"), fields.get("other_line")
    if kind in ("same_value", "write/write") and _as_if_own(text, array):
        return "race_shared_as_own", fields
    if kind == "same_value":
        written = text.indices(array)
        own = any(c.startswith("thread") for one in written for c in text.counts(one))
        return ("race_shared_fewer", {**fields, "written": shown(written[0])}) if own else None
    if not isinstance(other_line, int) or kind not in ("write/write", "read/write", "write/read"):
        return None
    known: dict[str, object] = {**fields, "line": line}
    together = [loop for loop in text.loops(line) if loop in text.loops(other_line)]
    if together:
        known["loop"] = together[0].lineno
    if line == other_line:
        return _on_one_line(array, str(kind), text, known, together)
    if kind == "write/write":
        return "race_shared_two_lines", known
    if kind == "read/write" and line < other_line and together:
        return "race_next_turn", known
    return _only_the_warp_waits(text, known)


def _as_if_own(text: KernelText, array: str) -> bool:
    """Whether no index of a shared array says which thread it is, and a thread reads it back."""
    found = [
        node
        for node in text.nodes
        if isinstance(node, ast.Subscript) and path_of(node.value) == array
    ]
    looped = nodes((node.slice for node in found), ast.Name)
    plain = not any(text.counts(node.slice) for node in found)
    return plain and bool(looped) and any(isinstance(node.ctx, ast.Load) for node in found)


def _on_one_line(
    array: str,
    kind: str,
    text: KernelText,
    known: dict[str, object],
    together: list[ast.For | ast.While],
) -> Cause | None:
    written = text.indices(array)
    statement = text.statement()
    if _adds_up(statement) and all("data" in text.counts(one) for one in written):
        return "race_shared_adds_up", {**known, "written": shown(written[0])}
    if kind == "write/write" and len(written) == 1:
        return "race_shared_cell", {**known, "written": shown(written[0])}
    if together and not _waits(together[0], "syncthreads"):
        for_a_warp = _waits(together[0], "syncwarp")
        if not for_a_warp:
            return "race_no_barrier_in_loop", known
        if _in_one_warp(known, text) is False:
            return "race_only_a_warp", {**known, "waits": for_a_warp[0]}
    found = _sometimes(text, together[0], known) if together else None
    if found is None and isinstance(statement, ast.AugAssign) and kind != "write/write":
        sides = {"written": shown(statement.target), "read": shown(statement.value)}
        return "race_read_and_written", {**known, **sides}
    return found


def _sometimes(
    text: KernelText, loop: ast.For | ast.While, known: dict[str, object]
) -> Cause | None:
    """All barriers of a loop stand under a test inside of it."""
    waits = calls_of(loop, "syncthreads")
    tests = [
        [one.test for one in text.conditions(call) if one.test.lineno > loop.lineno]
        for call in waits
    ]
    if not waits or not all(tests):
        return None
    found = {"waits": waits[0].lineno, "test": shown(tests[0][0])}
    return "race_barrier_sometimes", {**known, **found}


def _waits(node: ast.AST, by: str) -> list[int]:
    """The lines below a node that call a barrier."""
    return [one.lineno for one in calls_of(node, by)]


def _only_the_warp_waits(text: KernelText, known: dict[str, object]) -> Cause | None:
    """A `syncwarp` stands where the block has to wait, or would be enough."""
    assert text.function is not None
    first, last = sorted((int(str(known["line"])), int(str(known["other_line"]))))
    waits = [line for line in _waits(text.function, "syncwarp") if first <= line <= last]
    in_one = _in_one_warp(known, text)
    if waits and in_one is False:
        return "race_only_a_warp", {**known, "waits": waits[0]}
    if not waits and in_one and _by_warps(text.function):
        return "race_in_a_warp", known
    return None


def _in_one_warp(fields: Mapping[str, object], text: KernelText) -> bool | None:
    """Whether the two threads of a fault are of one warp; None where it names one alone."""
    warps = set()
    for name in ("thread", "other_thread"):
        place = place_said(fields.get(name))
        if not place:
            return None
        number, apart = 0, 1
        for axis, at in zip(AXES, place, strict=False):
            number += at * apart
            apart *= text.launched.extent("block", axis)
        warps.add(number // WARP_LANES)
    return len(warps) == 1


def _by_warps(function: ast.FunctionDef) -> bool:
    """Whether a kernel counts its warps or its lanes: `t // 32`, `t < 32`, `cuda.laneid`."""
    return any(
        (isinstance(one, ast.Attribute) and one.attr in ("laneid", "warpsize"))
        or (
            isinstance(one, ast.BinOp | ast.Compare)
            and any(
                isinstance(side, ast.Constant) and side.value == WARP_LANES
                for side in ast.iter_child_nodes(one)
            )
        )
        for one in walk(function)
    )
