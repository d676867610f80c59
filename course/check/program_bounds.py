"""Why a Triton kernel leaves a tensor: its mask, none, or its address."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from course.check.bindings import Bindings, called
from course.check.kernel_text import Cause, KernelText, calls_of, path_of, place_said, shown
from course.check.program_addresses import Address, Part, ProgramText, apart_of, bare
from course.engine.faults import KernelFault
from course.plain.trees import nodes, walk
from course.spec.exercise import Array, Parameter, Scalar

#: What leaves a result of these as it is.
_NEUTRAL = {"tl.max": '-float("inf")', "tl.min": 'float("inf")', "tl.sum": "0.0", "tl.dot": "0.0"}


def mask_cause(
    fault: KernelFault, tree: ast.Module, known: Mapping[str, Parameter]
) -> Cause | None:
    """What lets an element that does not exist through, or which part of an address leads there.

    Args:
        known: the exercise's parameters by the kernel's names for them, where the check launches.
    """
    shape, doing = fault.fields.get("shape"), str(fault.fields.get("doing"))
    outside = fault.message_id in ("tile_out_of_bounds", "tile_gap")
    if not outside or "wrapped" in fault.fields:
        return None
    if not isinstance(shape, tuple) or fault.line is None:
        return None
    text = ProgramText(tree, fault)
    statement = text.statement()
    if statement is None or text.function is None:
        return None
    name = "tl.load" if doing.startswith("load") else "tl.store"
    calls = [one for one in calls_of(statement, name) if one.args]
    names = Bindings(text.function)
    array = fault.fields["array"]
    own = [one for one in calls if array in _made_of(names, [one.args[0]])]
    for call in own or (calls if len(calls) == 1 else ()):
        if (found := _Access(text, names, fault, call, known).cause()) is not None:
            return found
    return None


class _Access:
    """The load or store that left a tensor."""

    def __init__(
        self,
        text: ProgramText,
        names: Bindings,
        fault: KernelFault,
        call: ast.Call,
        known: Mapping[str, Parameter],
    ) -> None:
        self.text, self.names, self.fault, self.call, self.known = text, names, fault, call, known
        self.fields = fields = cast(Mapping[str, Any], fault.fields)
        self.shape: tuple[int, ...] = fields["shape"]
        self.load = path_of(call.func) == "tl.load"
        self.array = str(fields["array"])
        place = 1 if self.load else 2
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        self.mask = named.get("mask", call.args[place] if len(call.args) > place else None)
        self.checked = named.get("boundary_check")
        given = place_said(fields.get("strides") or "")
        inner = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        self.strides = given if len(given) == len(inner) else tuple(inner)
        self.address = Address(text, names, call.args[0], self.array)

    def cause(self) -> Cause | None:
        if self._is_block_pointer():
            checked = None if self.checked is None else shown(self.checked)
            return "block_axes", {"checked": checked}
        if "unmasked" in self.fields:
            return self._loaded() or self._leads_away() or self._unmasked()
        if self.mask is None:
            return None
        found = self._loaded() or self._equal(self.mask) or self._left_free(self.mask)
        found = found or self._leads_away() or self._wide(self.mask)
        return found or self._looped() or self._untested(self.mask)

    def _is_block_pointer(self) -> bool:
        """Whether the address is what `tl.make_block_ptr` or `tl.advance` gives."""
        made = self.text.expanded(self.call.args[0])
        return any(called(one, "make_block_ptr", "advance") for one in made)

    # ------------------------------------------------------------ the mask

    def _equal(self, mask: ast.expr) -> Cause | None:
        if self.fault.message_id == "tile_gap":
            return None
        if self.fields.get("index") != math.prod(self.shape):
            return None
        for test in self.text.expanded(mask):
            if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.LtE):
                if any(part.is_made_of(test.left) for part in self.address.parts):
                    return "mask_equal", {**self.fields, "test": shown(test)}
        return None

    def _left_free(self, mask: ast.expr) -> Cause | None:
        """The one block that moves on in an address, and to which its mask sets no end."""
        ends = _ends(self.names, mask)
        tested = _made_of(self.names, ends)
        named = {one.id for one in nodes(ends, ast.Name)}
        ranges = {
            name: value
            for name, value in _made_of(self.names, [self.call.args[0]]).items()
            if value is not None and any(called(side, "arange") for side in walk(value))
        }
        moving = {name for name, value in ranges.items() if isinstance(value, ast.BinOp)}
        free, also = moving - tested.keys(), ranges.keys() & named or ranges.keys() & tested
        if len(free) != 1:
            return None
        return "mask_free", {
            "mask": shown(mask),
            "free": min(free),
            "tested": min(also, default=None),
        }

    def _wide(self, mask: ast.expr) -> Cause | None:
        """A block that its mask lets run further than the axis that it is multiplied for.

        Or further than any: as far as a number from memory says.
        """
        for part in self.address.parts:
            distance, axes = self.address.distance(part), self._axes_of(part)
            for test in self.address.tests_of(part, mask):
                limit, reach = self.text.number(test.comparators[0]), self._reach()
                fields: dict[str, object] = {"array": self.array, "test": shown(test)}
                fields |= {"name": shown(bare(part.what)), "times": part.times() or None}
                if limit is None and axes and self.fields.get("index", -1) >= 0:
                    end = self.names.followed(test.comparators[0])
                    if called(end, "load"):
                        have = self._have(self.shape[axes[-1]])
                        fields |= {"limit": shown(test.comparators[0]), "line": end.lineno}
                        return "mask_loaded", {**fields, "have": have}
                if limit and len(axes) == 1 and limit > (size := self.shape[axes[0]]):
                    return "mask_wide", {**fields, "have": self._have(size), "last": limit - 1}
                if limit and distance and not axes and (limit - 1) * distance >= reach:
                    value = (limit - 1) * distance
                    apart = {"apart": apart_of(self.strides), "value": value, "last": limit - 1}
                    return "offset_part", {**fields, **apart}
        return None

    def _untested(self, mask: ast.expr) -> Cause | None:
        """The one part of an address that nothing sets an end to, neither mask nor launch."""
        free = [
            part
            for part in self.address.parts
            if not (part.moves and self._fits(part))
            and self.text.number(bare(part.what)) is None
            and not self.address.tests_of(part, mask)
        ]
        axes = self._axes_of(free[0]) if len(free) == 1 else []
        if len(axes) != 1:
            return None
        size, name = self.shape[axes[0]], _said(free[0].what)
        fields = {"array": self.array, "size": size, "have": self._have(size), "name": name}
        return "mask_untested", {**fields, "mask": shown(mask), "times": free[0].times() or None}

    def _axes_of(self, part: Part) -> list[int]:
        """The axes along which elements lie as far apart as a part is multiplied by."""
        distance = self.address.distance(part)
        return [axis for axis, stride in enumerate(self.strides) if stride == distance]

    def _reach(self) -> int:
        """An offset from which on nothing is left of the tensor."""
        return max(a * b for a, b in zip(self.strides, self.shape, strict=True))

    def _have(self, size: int) -> str:
        """How many places an axis has."""
        what = "element" if len(self.shape) == 1 else "place"
        return f"{size} {what}{'' if size == 1 else 's'}"

    def _unmasked(self) -> Cause | None:
        """A load or store of all elements of a block: which test would leave out the rest."""
        doing = "load" if self.load else "store"
        fields: dict[str, object] = {"doing": doing, "line": self.call.lineno}
        fields["pointer"] = shown(self.call.args[0])
        blocks = [part for part in self.address.parts if part.moves and not self._fits(part)]
        tests = [self._test_of(part) for part in blocks]
        known = [one for one in tests if one is not None]
        if known and len(known) == len(tests):
            texts = [text for text, _ in known]
            joined = " & ".join(f"({one})" for one in texts) if len(texts) > 1 else texts[0]
            lines = {line for _, line in known if line}
            fields |= {"test": joined, "tested": min(lines) if len(lines) == 1 else None}
        elif len(blocks) == 1:
            fields["blocks"] = f"`{_said(blocks[0].what)}`"
        else:
            fields["blocks"] = " and ".join(f"`{_said(one.what)}`" for one in blocks) or None
        neutral = _neutral(self.text) if self.load else None
        if neutral is not None:
            return "mask_missing", {**fields, **neutral}
        return ("mask_absent", fields) if blocks and len(fields) > 3 else None

    def _fits(self, part: Part) -> bool:
        """Whether it ends with an axis, as `tl.arange(0, D)` does for D places."""
        if (span := self.address.span(part)) is not None:
            start, end, step = (self.text.number(one) for one in span)
            whole = start == 0 and end and step and end % step == 0
            return bool(whole) and self._is_length(part, end)
        made = self.address.made(part)
        if made is None or not called(made, "arange") or len(made.args) != 2:
            return False
        return self._is_length(part, self.text.number(made.args[1]))

    def _is_length(self, part: Part, end: int | None) -> bool:
        distance, pairs = self.address.distance(part), zip(self.strides, self.shape, strict=True)
        return any(stride == distance and size == end for stride, size in pairs)

    def _test_of(self, part: Part) -> tuple[str, int | None] | None:
        """The test that a block needs, and the line where another access has it."""
        assert self.text.function is not None
        for one in nodes(self.text.function, ast.Compare):
            if len(one.ops) == 1 and isinstance(one.ops[0], ast.Lt):
                if part.is_made_of(one.left):
                    return f"{_said(part.what)} < {shown(one.comparators[0])}", one.lineno
        if (span := self.address.span(part)) is not None:
            return f"{_said(part.what)} < {shown(span[1])}", None
        limit = None if part.factors else self._row_length()
        return None if limit is None else (f"{_said(part.what)} < {limit}", None)

    def _row_length(self) -> str | None:
        """The kernel's name for the number of places along the last axis."""
        array = self.known.get(self.array)
        if not isinstance(array, Array):
            return None
        scalars = ((n, one.value) for n, one in self.known.items() if isinstance(one, Scalar))
        return next((name for name, formula in scalars if formula == array.axes[-1]), None)

    # ------------------------------------------------------------ the offsets

    def _leads_away(self) -> Cause | None:
        """A part of the address whose distance is none of this tensor, or that is outside alone."""
        for part in self.address.parts:
            distance = self.address.distance(part)
            value = None if part.moves else self.text.number(bare(part.what))
            if distance is None or not part.factors or value == 0:
                continue
            fields: dict[str, object] = {"array": self.array, "distance": distance}
            fields |= {
                "apart": apart_of(self.strides),
                "name": shown(bare(part.what)),
                "times": part.times(),
            }
            if len(self.shape) > 1 and not self._is_distance(distance):
                return "offset_distance", fields
            if value is not None and value * distance >= self._reach():
                return "offset_part", {**fields, "value": value * distance, "number": value}
        return None

    def _loaded(self) -> Cause | None:
        """A number from memory that leads below the first element."""
        index = self.fields["index"]
        loaded = [
            (part, load)
            for part in self.address.parts
            for load in [one for one in self.text.expanded(part.what) if called(one, "load")][:1]
        ]
        if not isinstance(index, int) or index >= 0 or len(loaded) != 1:
            return None
        part, load = loaded[0]
        name = _said(part.what)
        fields: dict[str, object] = {"name": name, "place": None, "loaded": None}
        if isinstance(load, ast.Call) and load.args and name != shown(load):
            fields |= {"place": shown(load.args[0]), "loaded": load.lineno}
        return "offset_loaded", fields

    def _looped(self) -> Cause | None:
        """The one part that a loop counts, where the mask sets an end to all the others."""
        counted = [
            (shown(part.what), loop)
            for part in self.address.parts
            if isinstance(part.what, ast.Name)
            and (loop := self.text.loop_of(part.what.id)) is not None
        ]
        if len(counted) != 1:
            return None
        name, loop = counted[0]
        fields = {"name": name, "loop": loop.lineno, "over": shown(loop.iter)}
        return "bounds_loop", {**fields, "array": self.array, "have": self.fields["held"]}

    def _is_distance(self, distance: int) -> bool:
        """Whether it leads from one place along an axis to another one of it."""
        pairs = zip(self.strides, self.shape, strict=True)
        return distance % max(self.strides) == 0 or any(
            stride and distance % stride == 0 and distance // stride < size
            for stride, size in pairs
        )


def _said(node: ast.expr) -> str:
    """As it stands in the source, without a change of its type."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return shown(node.func.value if node.func.attr == "to" else node)
    return shown(node)


def _made_of(names: Bindings, expressions: Sequence[ast.expr]) -> dict[str, ast.expr | None]:
    """The names in expressions, and in what was assigned to them, each with that."""
    found: dict[str, ast.expr | None] = {}
    waiting = [*expressions]
    while waiting:
        for one in nodes(waiting.pop(), ast.Name):
            if one.id not in found:
                value = found[one.id] = names.assigned(one)
                waiting += [] if value is None else [value]
    return found


def _ends(names: Bindings, mask: ast.expr) -> list[ast.expr]:
    """The parts of a mask that may set an end to what they name: not `x` of ``x >= 0``."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = [mask]
    seen: set[ast.AST] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if isinstance(one, ast.Compare):
            operator = one.ops[0]
            found += [] if isinstance(operator, ast.Gt | ast.GtE) else [one.left]
            found += [] if isinstance(operator, ast.Lt | ast.LtE) else one.comparators
        elif isinstance(one, ast.Name):
            value = names.assigned(one)
            found += [one] if value is None else []
            waiting += [] if value is None else [value]
        else:
            waiting += [child for child in ast.iter_child_nodes(one) if isinstance(child, ast.expr)]
    return found


def _neutral(text: KernelText) -> dict[str, object] | None:
    """What has to stand for the elements that a load without a mask should leave out."""
    statement = text.statement()
    if statement is None or text.function is None:
        return None
    here: set[ast.AST] = {*calls_of(statement, "tl.load")}
    names = set[str]()
    if isinstance(statement, ast.Assign) and _scaled(statement.value, here.__contains__):
        names = {one.id for one in statement.targets if isinstance(one, ast.Name)}

    def loaded(node: ast.expr) -> bool:
        return node in here or (isinstance(node, ast.Name) and node.id in names)

    used = [
        (call.lineno, path_of(call.func))
        for call in calls_of(text.function, *_NEUTRAL)
        if any(_scaled(one, loaded) for one in call.args)
    ]
    others = {_NEUTRAL[call] for _, call in used}
    if len(others) != 1:
        return None
    return {"other": others.pop(), "used": used[0][0], "call": used[0][1]}


def _scaled(node: ast.expr, is_it: Callable[[ast.expr], bool]) -> bool:
    """Whether it is that, converted or turned, or times others: 0 and infinity stay as they are."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _scaled(node.left, is_it) or _scaled(node.right, is_it)
    if isinstance(node, ast.Call) and path_of(node.func) == "tl.trans":
        return any(_scaled(given, is_it) for given in node.args)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "to":
            return _scaled(node.func.value, is_it)
    return is_it(node)
