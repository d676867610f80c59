"""What a kernel's text says of a line: what an index is made of, and what guards the line.

The text is read, with the numbers of one launch at hand; nothing of it is executed. What cannot
be told from the text has no answer, and no advice is made of it.
"""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from course.check.conditions import Condition
from course.plain.arithmetic import BINARY
from course.plain.evaluator import is_name
from course.plain.evaluator import text as short_text
from course.plain.trees import covers, nodes, walk

#: Names that are followed to what they were assigned, one within the other.
DEEPEST = 12
#: Parts of an expression, and tests around a line, that are looked at: no honest kernel has more.
MOST_PARTS = 2_000
MOST_TESTS = 40
AXES = "xyz"
#: Marks what a name was before an assignment that uses it: no name in a source ends so.
EARLIER = "\N{PRIME}"
#: What a loop counts by, in both dialects.
RANGES = ("range", "prange", "static_range")

Place = tuple[int, ...]
#: The id of a sentence in `course.words.causes`, and its values.
Cause = tuple[str, dict[str, object]]
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True)
class Launched:
    """The numbers of one launch: its grid and block, arrays' shapes and whole numbers by name."""

    grid: Place
    block: Place
    shapes: Mapping[str, Place] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)

    def extent(self, of: str, axis: str) -> int:
        """Of a block or of the grid along x, y or z."""
        sides = self.grid if of == "grid" else self.block
        number = AXES.index(axis)
        return sides[number] if number < len(sides) else 1


@dataclass(frozen=True)
class Thread:
    """One thread of the launch: its place in its block, and the block's in the grid, x first."""

    thread: Place
    block: Place

    def at(self, of: str, axis: str) -> int:
        place = self.thread if of == "thread" else self.block
        number = AXES.index(axis)
        return place[number] if number < len(place) else 0


def path_of(node: ast.AST) -> str:
    """`threadIdx.x` of `cuda.threadIdx.x`; '' of what is no path of names."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([*([] if node.id == "cuda" else [node.id]), *names])


def calls_of(tree: ast.AST, *paths: str) -> list[ast.Call]:
    """The calls, in a node and below, of what has one of these paths."""
    return [one for one in nodes(tree, ast.Call) if path_of(one.func) in paths]


def place_said(value: object) -> Place:
    """A place as a fault tells it: `3` or `(3, 1)`, x first."""
    return tuple(int(number) for number in re.findall(r"\d+", str(value)))


def shown(node: ast.expr) -> str:
    """As it stands in the source, short enough for a sentence."""
    return short_text(node).replace(EARLIER, "")


class KernelText:
    """The function around a line of a cell."""

    def __init__(self, tree: ast.Module, line: int, launched: Launched) -> None:
        self.launched = launched
        self.line = line
        around = [node for node in nodes(tree, ast.FunctionDef) if covers(node, line)]
        self.function = around[-1] if around else None
        self._parents: dict[ast.AST, ast.AST] = {}
        #: what each name may be where the line is reached, and what a loop adds to it
        self.made: dict[str, list[ast.expr]] = {}
        self.steps: dict[str, list[ast.expr]] = {}
        #: all of the function
        self.nodes = [] if self.function is None else walk(self.function)
        for node in self.nodes:
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
        before = self._blocks_around(self.statement())
        made = (n for n in self.nodes if isinstance(n, ast.Assign | ast.AugAssign | ast.For))
        for one in sorted(made, key=lambda node: node.lineno):
            self._remember(one, one in before)

    def _around(self, node: ast.AST | None) -> Iterator[ast.AST]:
        """What a node stands in, from the inside."""
        while node is not None and (node := self._parents.get(node)) is not None:
            yield node

    def _blocks_around(self, node: ast.AST | None) -> set[ast.stmt]:
        """The statements of each block that a node stands in: who comes to it passes them."""
        found: set[ast.stmt] = set()
        while node is not None and (parent := self._parents.get(node)) is not None:
            found.update(_block_of(parent, node))
            node = parent
        return found

    def _remember(self, node: ast.Assign | ast.AugAssign | ast.For, on_the_way: bool) -> None:
        """What a statement gives a name: a value, a loop's start, and apart what is added.

        Args:
            on_the_way: whether who comes to the line has come past the statement, or passes it
                in the next turn of a loop.
        """
        again = any(isinstance(one, ast.For | ast.While) for one in self._around(node))
        if on_the_way and node.lineno >= self.line and not again:
            return
        passed = on_the_way and node.lineno < self.line
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self._make(target.id, node.value, passed, again)
                elif isinstance(target, ast.Tuple):
                    for number, one in enumerate(target.elts):
                        if isinstance(one, ast.Name):
                            self._make(one.id, item_of(node.value, number), passed, again)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if passed and not again:
                before = ast.Name(name, ast.Load())
                whole = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
                self._make(name, ast.fix_missing_locations(whole), passed, again)
            else:
                self.steps.setdefault(name, []).append(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            span = range_of(node)
            if span is None:
                self._make(node.target.id, node.iter, False, again)
                return
            self._make(node.target.id, span[0], False, again)
            self.steps.setdefault(node.target.id, []).append(span[2])

    def _make(self, name: str, value: ast.expr, passed: bool, again: bool) -> None:
        """A name's value: in the place of those before it, where the line is reached past it.

        One that it is made of keeps its own; in a loop that is another one in each turn.
        """
        own = any(is_name(one, name) for one in walk(value))
        if not passed or (own and again):
            self.made.setdefault(name, []).append(value)
            return
        before, steps = self.made.pop(name, []), self.steps.pop(name, [])
        if own:
            earlier = name + EARLIER
            while earlier in self.made:
                earlier += EARLIER
            value = _renamed(value, name, earlier)
            self.made[earlier] = before
            self.steps |= {earlier: steps} if steps else {}
        self.made[name] = [value]

    # ------------------------------------------------------------ accesses

    def indices(self, array: str, line: int | None = None) -> list[ast.expr]:
        """The index of each access to `array` on a line, as it is written."""
        found = []
        for node in self.nodes:
            if getattr(node, "lineno", None) != (line or self.line):
                continue
            if isinstance(node, ast.Subscript) and is_name(node.value, array):
                found.append(node.slice)
            elif isinstance(node, ast.Call) and path_of(node.func).startswith("atomic."):
                if len(node.args) > 1 and is_name(node.args[0], array):
                    found.append(node.args[1])
        return found

    def axis_of(self, index: ast.expr, axis: int) -> ast.expr:
        """One axis of an index, which may stand in a name."""
        if isinstance(index, ast.Name) and len(self.made.get(index.id, ())) == 1:
            whole = self.made[index.id][0]
            several = isinstance(whole, ast.Call) and [ast.unparse(a) for a in whole.args] != ["1"]
            if isinstance(whole, ast.Call) and path_of(whole.func) == "grid" and several:
                return item_of(whole, axis)
            index = whole if isinstance(whole, ast.Tuple) else index
        if isinstance(index, ast.Tuple):
            return index.elts[axis] if axis < len(index.elts) else index
        return index

    # ------------------------------------------------------------ what it is made of

    def expanded(self, node: ast.expr) -> Iterator[ast.AST]:
        """All that an expression is made of, names followed to what was assigned to them."""
        waiting: list[ast.AST] = [node]
        seen: set[str] = set()
        parts = 0
        while waiting and parts < MOST_PARTS:
            one = waiting.pop()
            parts += 1
            yield one
            if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Call | ast.Attribute):
                if path_of(one.value).endswith(".shape") or path_of(
                    getattr(one.value, "func", one)
                ) in ("grid", "gridsize"):
                    continue
            if path_of(one).count(".") == 1 and path_of(one)[-1] in AXES:
                continue
            if isinstance(one, ast.Name):
                if one.id not in seen:
                    seen.add(one.id)
                    waiting += self.made.get(one.id, ())
                continue
            waiting += [n for n in ast.iter_child_nodes(one) if isinstance(n, ast.expr)]

    def counts(self, node: ast.expr) -> set[str]:
        """What of a thread's place an expression holds: `thread x`, `block y`; `data`."""
        found: set[str] = set()
        for one in self.expanded(node):
            path = path_of(one)
            if path.startswith(("threadIdx.", "blockIdx.")):
                found.add(f"{path[:-5]} {path[-1]}")
            elif path == "laneid":
                found.add("thread x")
            elif isinstance(one, ast.Subscript):
                of = one.value
                if isinstance(of, ast.Call) and path_of(of.func) == "grid":
                    axis = one.slice.value if isinstance(one.slice, ast.Constant) else None
                    found |= _grid_axes([axis] if isinstance(axis, int) else [0, 1, 2])
                elif isinstance(of, ast.Name) and of.id not in self.made:
                    found.add("data")
            elif isinstance(one, ast.Call) and path_of(one.func) == "grid":
                count = (
                    one.args[0].value if one.args and isinstance(one.args[0], ast.Constant) else 3
                )
                found |= _grid_axes(list(range(count if isinstance(count, int) else 3)))
        return found

    def names(self, node: ast.expr) -> set[str]:
        """The names in an expression, and in what was assigned to them."""
        return {n.id for n in self.expanded(node) if isinstance(n, ast.Name) and n.id in self.made}

    def calls(self, node: ast.expr, name: str) -> bool:
        """Whether a function of this name is called on the way to the expression."""
        return any(isinstance(n, ast.Call) and path_of(n.func) == name for n in self.expanded(node))

    def number(self, node: ast.expr, thread: Thread | None = None, depth: int = 0) -> int | None:
        """What an expression is in this launch, for a thread; None where the text does not say."""
        if depth > DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        if isinstance(node, ast.BinOp):
            work = BINARY[type(node.op)] if isinstance(node.op, _ARITHMETIC) else None
            left = self.number(node.left, thread, depth + 1)
            right = self.number(node.right, thread, depth + 1)
            if work is None or left is None or right is None:
                return None
            divides = isinstance(node.op, ast.FloorDiv | ast.Mod)
            return None if divides and not right else int(work(left, right))
        if isinstance(node, ast.Name):
            return self._named(node.id, thread, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self._item_of(node, thread)
        if isinstance(node, ast.Call) and path_of(node.func) in ("min", "max") and node.args:
            values = [self.number(one, thread, depth + 1) for one in node.args]
            known = [value for value in values if value is not None]
            work_of = min if path_of(node.func) == "min" else max
            return work_of(known) if len(known) == len(values) else None
        return self._built_in(node, thread)

    def _named(self, name: str, thread: Thread | None, depth: int) -> int | None:
        if name in self.made or name in self.steps:
            made = self.made.get(name, [])
            if len(made) != 1 or name in self.steps:
                return None
            return self.number(made[0], thread, depth + 1)
        return self.launched.numbers.get(name)

    def _item_of(self, node: ast.Subscript, thread: Thread | None) -> int | None:
        axis = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(axis, int) or not 0 <= axis < len(AXES):
            return None
        of = node.value
        if isinstance(of, ast.Call) and path_of(of.func) == "grid" and thread is not None:
            return self._grid(thread, AXES[axis])
        if isinstance(of, ast.Attribute) and of.attr == "shape" and isinstance(of.value, ast.Name):
            shape = self.launched.shapes.get(of.value.id, ())
            return shape[axis] if axis < len(shape) else None
        return None

    def _built_in(self, node: ast.expr, thread: Thread | None) -> int | None:
        path = path_of(node)
        base, _, last = path.rpartition(".")
        if base in ("blockDim", "gridDim"):
            return self.launched.extent(base[:-3], last)
        if base in ("threadIdx", "blockIdx"):
            return None if thread is None else thread.at(base[:-3], last)
        shapes = self.launched.shapes
        if last == "size" and base in shapes:
            return math.prod(shapes[base])
        if not isinstance(node, ast.Call) or len(node.args) != 1:
            return None
        called, argument = path_of(node.func), node.args[0]
        if called == "len" and isinstance(argument, ast.Name) and argument.id in shapes:
            return shapes[argument.id][0]
        first_axis = isinstance(argument, ast.Constant) and argument.value == 1
        if called == "grid" and first_axis and thread is not None:
            return self._grid(thread, "x")
        if called == "gridsize" and first_axis:
            return self.launched.extent("grid", "x") * self.launched.extent("block", "x")
        return None

    def _grid(self, thread: Thread, axis: str) -> int:
        block = self.launched.extent("block", axis)
        return thread.at("block", axis) * block + thread.at("thread", axis)

    # ------------------------------------------------------------ what stands around it

    def statement(self, line: int | None = None) -> ast.stmt | None:
        """The innermost statement that begins on a line, or holds it."""
        statements = (node for node in self.nodes if isinstance(node, ast.stmt))
        found = (node for node in statements if covers(node, line or self.line))
        return max(found, key=lambda node: node.lineno, default=None)

    def loops(self, line: int | None = None) -> list[ast.For | ast.While]:
        """The loops around a line, the innermost first."""
        found = []
        node: ast.AST | None = self.statement(line)
        while node is not None:
            if isinstance(node, ast.For | ast.While) and node.lineno < (line or self.line):
                found.append(node)
            node = self._parents.get(node)
        return found

    def conditions(self, access: ast.AST) -> list[Condition]:
        """What decides whether an access is made, the innermost first."""
        found = []
        child, node = access, self._parents.get(access)
        while node is not None:
            if isinstance(node, ast.If | ast.IfExp | ast.While) and child is not node.test:
                body = node.body if isinstance(node.body, list) else [node.body]
                found.append(Condition(node.test, child in body))
            if isinstance(child, ast.stmt):
                found += [Condition(test, False) for test in _left_before(node, child)]
            child, node = node, self._parents.get(node)
        return found[:MOST_TESTS]

    def of_one_thread(self, node: ast.AST) -> Condition | None:
        """What lets one thread alone, or one in each row, come to a node."""
        for condition in self.conditions(node):
            for one in condition.comparisons():
                counts = self.counts(one.left) | self.counts(one.right)
                if one.is_equality and any(place.startswith("thread") for place in counts):
                    return condition
        return None

    def leaves_at(self, test: ast.expr) -> ast.Return | ast.Continue | ast.Break | None:
        """The statement by which a thread leaves where a test holds, if it is one for that."""
        return _leaving(self._parents.get(test))

    def loop_of(self, name: str) -> ast.For | None:
        """The loop that counts a name, where it is one."""
        for node in self.nodes:
            if isinstance(node, ast.For) and is_name(node.target, name):
                return node
        return None


def _renamed(value: ast.expr, name: str, to: str) -> ast.expr:
    """A copy in which a name stands under another one."""
    value = copy.deepcopy(value)
    for one in nodes(value, ast.Name):
        if one.id == name:
            one.id = to
    return value


def _left_before(parent: ast.AST, child: ast.stmt) -> Iterator[ast.expr]:
    """The tests above a statement, in its block, that leave where they hold."""
    block = _block_of(parent, child)
    for one in block[: block.index(child)] if block else ():
        if isinstance(one, ast.If) and not one.orelse and _leaving(one) is not None:
            yield one.test


def _block_of(parent: ast.AST, child: ast.AST) -> list[ast.stmt]:
    """The statements among which a node stands; none where it is part of one."""
    blocks = (getattr(parent, "body", None), getattr(parent, "orelse", None))
    return next((one for one in blocks if isinstance(one, list) and child in one), [])


def _leaving(node: ast.AST | None) -> ast.Return | ast.Continue | ast.Break | None:
    """What an `if` ends with, where its threads leave by that."""
    last = node.body[-1] if isinstance(node, ast.If) else None
    return last if isinstance(last, ast.Return | ast.Continue | ast.Break) else None


def item_of(value: ast.expr, number: int) -> ast.expr:
    """One of the values that are assigned to several names."""
    if isinstance(value, ast.Tuple) and number < len(value.elts):
        return value.elts[number]
    part = ast.Subscript(value, ast.Constant(number), ast.Load())
    return ast.copy_location(ast.fix_missing_locations(part), value)


def range_of(loop: ast.For) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """(start, stop, step) of a loop over a range."""
    call = loop.iter
    if not isinstance(call, ast.Call) or path_of(call.func).split(".")[-1] not in RANGES:
        return None
    one, given = ast.Constant(1), call.args
    if len(given) == 1:
        return ast.Constant(0), given[0], one
    return (given[0], given[1], given[2] if len(given) > 2 else one) if len(given) > 1 else None


def _grid_axes(axes: list[int]) -> set[str]:
    return {f"{of} {AXES[k]}" for k in axes if k < len(AXES) for of in ("thread", "block")}
