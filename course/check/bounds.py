"""Why a Numba kernel leaves an array: its guard, its index, or neither's fault but the array's."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from course.check.conditions import Condition
from course.check.kernel_text import AXES, Cause, KernelText, Thread, place_said, shown
from course.plain.evaluator import is_name
from course.plain.trees import nodes, walk


@dataclass(frozen=True)
class _Bound:
    """What a number stays below, or may equal."""

    limit: ast.expr
    equal: bool


def _bounds_of(condition: Condition, name: str) -> Iterator[_Bound]:
    """The limits that a condition sets to a name where the line runs."""
    for one in condition.comparisons():
        bound = one.bounds(name)
        if bound is not None:
            yield _Bound(*bound)


def _joined_first(test: ast.expr) -> ast.BinOp | None:
    """Of `a < b & c < d` the `b & c`: it binds tighter than a comparison."""
    for compared in nodes(test, ast.Compare):
        for side in compared.comparators[:-1]:
            if isinstance(side, ast.BinOp) and isinstance(side.op, ast.BitAnd | ast.BitOr):
                return side
    return None


class OutOfBounds:
    """An index outside of its array."""

    def __init__(self, fields: Mapping[str, Any], text: KernelText) -> None:
        self.text = text
        self.array, self.axis, self.size = fields["array"], fields["axis"], fields["size"]
        self.value = int(str(fields["index"]).split(",")[self.axis])
        self.ndim = str(fields["shape"]).count(",") + 1
        self.thread = Thread(place_said(fields["thread"]), place_said(fields["block"]))
        self.of_launch = self.array in text.launched.shapes
        self.known: dict[str, object] = {
            "array": self.array,
            "size": self.size,
            "value": self.value,
            "have": self._have(),
            "cell": self._filled(),
        }

    def _filled(self) -> str | None:
        """The cell of a block's own array that the line fills."""
        statement = self.text.statement()
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                if target.value.id not in self.text.launched.shapes:
                    return shown(target)
        return None

    def _what(self) -> str:
        """What a place along the axis is called."""
        words = ("row", "column") if self.ndim == 2 else ("element",)
        if not self.of_launch and self.ndim == 1:
            words = ("cell",)
        return words[self.axis] if self.axis < len(words) else "place"

    def _have(self) -> str:
        """`5 rows`, `1 element`: how many places the axis has."""
        return f"{self.size} {self._what()}{'' if self.size == 1 else 's'}"

    def cause(self) -> Cause | None:
        accesses = self.text.indices(self.array)
        whole = [self.text.axis_of(one, self.axis) for one in accesses]
        values = [self.text.number(one, self.thread) for one in whole]
        outside = [
            k for k, value in enumerate(values) if value is None or not 0 <= value < self.size
        ]
        if len({ast.dump(whole[k]) for k in outside}) != 1:
            return None
        access, index = accesses[outside[0]], whole[outside[0]]
        self.known["written"] = shown(index)
        if self.value < 0:
            return "bounds_negative", self.known
        conditions = self.text.conditions(access)
        found = self._let_through(index, conditions)
        if found is not None:
            return found
        if not self.of_launch:
            return self._block_array(index)
        if "data" in self.text.counts(index):
            return None
        return (
            self._looped(index, conditions)
            or self._beside_guard(index, conditions)
            or self._half_guarded(access, index, conditions)
            or self._unguarded(access, index, conditions)
        )

    def _let_through(self, index: ast.expr, conditions: list[Condition]) -> Cause | None:
        """A guard of this very index that is wider than the array."""
        if not isinstance(index, ast.Name):
            return None
        for condition in conditions:
            for bound in _bounds_of(condition, index.id):
                most = self.text.number(bound.limit)
                if most is None:
                    continue
                fields = {**self.known, "name": index.id, "limit": shown(bound.limit)}
                if most == self.size and bound.equal and self.value == most:
                    return "bounds_equal", {**fields, "last": self.size - 1}
                if most > self.size:
                    through = most if bound.equal else most - 1
                    side = "bounds_side" if self.ndim > 1 else "bounds_wide"
                    return side, {**fields, "most": through}
            if index.id in self.text.names(condition.test):
                fields = {**self.known, "test": shown(condition.test)}
                if (joined := _joined_first(condition.test)) is not None:
                    return "bounds_bitwise", {**fields, "joined": shown(joined)}
                if condition.loose:
                    return "bounds_or", fields
        return None

    def _looped(self, index: ast.expr, conditions: list[Condition]) -> Cause | None:
        """The index counts a loop, which runs too far."""
        loop = self.text.loop_of(index.id) if isinstance(index, ast.Name) else None
        name = shown(index)
        if loop is None or any(is_name(n, name) for c in conditions for n in walk(c.test)):
            return None
        fields = {"name": name, "loop": loop.lineno, "over": shown(loop.iter)}
        return "bounds_loop", {**self.known, **fields}

    def _beside_guard(self, index: ast.expr, conditions: list[Condition]) -> Cause | None:
        """The guards are about numbers that the index is made of, and not about the index."""
        if isinstance(index, ast.Name):
            return None
        names = [n.id for n in nodes(index, ast.Name)]
        guarded = [n for n in names if any(True for c in conditions for _ in _bounds_of(c, n))]
        if not guarded:
            return None
        free = [n for n in names if n not in guarded and self.text.counts(ast.Name(n, ast.Load()))]
        fields = {**self.known, "name": "` and `".join(dict.fromkeys(guarded))}
        if free:
            return "bounds_free_part", {**fields, "free": free[0]}
        return "bounds_beside_guard", fields

    def _half_guarded(
        self, access: ast.expr, index: ast.expr, conditions: list[Condition]
    ) -> Cause | None:
        """The line has a guard, and it says nothing of this axis."""
        if self._tested(index, conditions):
            return None
        for other in range(self.ndim):
            side = self.text.axis_of(access, other)
            if other == self.axis or not isinstance(side, ast.Name):
                continue
            if any(True for c in conditions for _ in _bounds_of(c, side.id)):
                return "bounds_one_side", {**self.known, "guarded": side.id}
        return None

    def _unguarded(
        self, access: ast.expr, index: ast.expr, conditions: list[Condition]
    ) -> Cause | None:
        axes = {one[-1] for one in self.text.counts(index) if one.startswith("thread")}
        tested = self._tested(index, conditions)
        if len(axes) != 1:
            return None
        if tested is not None:
            made = self.text.made.get(tested.id, []) if isinstance(tested, ast.Name) else []
            test = made[0] if len(made) == 1 else tested
            return "bounds_test", {**self.known, "test": shown(test)}
        axis = axes.pop()
        launched = self.text.launched
        block = launched.extent("block", axis)
        grid_number = self.thread.at("block", axis) * block + self.thread.at("thread", axis)
        number = self.text.number(index, self.thread)
        if number == self.value and grid_number == self.value:
            blocks = launched.extent("grid", axis)
            if self.ndim > 1 and self.size == blocks > 1:
                fields = {**self.known, "blocks": blocks, "axis": axis, "whats": f"{self._what()}s"}
                return "bounds_block_each", fields
            threads = launched.extent("grid", axis) * block
            fields = {**self.known, "also": self._also(access, conditions)}
            return "bounds_no_guard", {**fields, "threads": threads, "axis": axis}
        if number == self.value and grid_number < self.size:
            return "bounds_index", self.known
        return "bounds_no_test", self.known

    def _also(self, access: ast.expr, conditions: list[Condition]) -> str | None:
        """The other indices of the access that run too far in this launch, and have no guard."""
        launched = self.text.launched
        last = Thread(
            tuple(launched.extent("block", axis) - 1 for axis in AXES),
            tuple(launched.extent("grid", axis) - 1 for axis in AXES),
        )
        found = []
        for axis, size in enumerate(launched.shapes[self.array]):
            side = self.text.axis_of(access, axis)
            most = self.text.number(side, last)
            if axis != self.axis and most is not None and most >= size:
                if self._tested(side, conditions) is None:
                    found.append(f"`{shown(side)}`")
        return " and on ".join(found) or None

    def _tested(self, index: ast.expr, conditions: list[Condition]) -> ast.expr | None:
        """A test on the way to the line that has to do with the index."""
        names = self.text.names(index)
        places = {one for one in self.text.counts(index) if one.startswith("thread")}
        for condition in conditions:
            about = self.text.counts(condition.test) & places
            if about or names & self.text.names(condition.test):
                return condition.test
        return None

    def _block_array(self, index: ast.expr) -> Cause | None:
        """A shared or local array: each block, or thread, has one of its own."""
        counts = self.text.counts(index)
        number = self.text.number(index, self.thread)
        if number == self.value and any(one.startswith("block ") for one in counts):
            return "bounds_own_array", self.known
        for axis in (axis for axis in AXES if f"thread {axis}" in counts):
            if number == self.value == self.thread.at("thread", axis):
                extent = self.text.launched.extent("block", axis)
                return "bounds_small_array", {**self.known, "threads": extent, "axis": axis}
        return "bounds_cell", self.known
