"""Expressions on plain values, walked over their syntax tree and never executed.

The one evaluator behind constants of a cell, numeric answers, formulas, launchers, grids and
configurations of autotune. What stands outside the arithmetic of `course.plain.arithmetic`
(modules, tensors, kernels, functions of the learner's) a subclass adds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from course.plain.arithmetic import (
    CONSTANTS,
    FUNCTIONS,
    METHODS,
    MOST_ITEMS,
    Facts,
    NotHere,
    NoValue,
    binary,
    bounded,
    by_position,
    compare,
    dict_of,
    is_number,
    item_of,
    items_of,
    kind,
    size_of,
    tried,
    truth,
    unary,
)
from course.plain.text import shortened

#: Expressions, and turns of comprehensions, after which a formula counts as endless.
STEP_LIMIT = 4_000
#: A function looks at so many items of a tuple in the time of a step.
ITEMS_A_STEP = 2


@dataclass(frozen=True)
class Ref:
    """A listed module or function, by its path: ``math.sqrt``."""

    path: str


@dataclass(frozen=True)
class OfNumber:
    """A listed method, looked up on a number."""

    number: Any
    name: str


@dataclass
class Frame:
    """One call: the names that its function binds, and the values they have by now."""

    names: frozenset[str]
    variables: dict[str, Any]
    outer: Frame | None = None


def text(node: ast.AST) -> str:
    """A construct as it stands in the source, cut to a length that a sentence bears."""
    return shortened(ast.unparse(node).splitlines()[0], 60)


def is_name(node: ast.AST, name: str) -> bool:
    """Whether an expression is this name and nothing more."""
    return isinstance(node, ast.Name) and node.id == name


class Evaluator:
    """Walks expressions.

    Attributes:
        names: what names of the outside stand for: plain values and `Ref`.
        frame: the innermost names that a function or a comprehension binds.
    """

    def __init__(self, names: Mapping[str, Any], step_limit: int = STEP_LIMIT) -> None:
        self.names = names
        self.steps = 0
        self.step_limit = step_limit
        self.frame = Frame(frozenset(), {})

    # ------------------------------------------------------------ what a subclass changes

    def late(self, node: ast.AST) -> Exception:
        """What is raised where the steps are used up."""
        return NoValue("it takes too long to work out")

    def broken(self, node: ast.AST, detail: str) -> Exception:
        """What is raised where an expression has no value."""
        return NoValue(detail)

    def beyond(self, node: ast.AST, detail: str) -> Exception:
        """What is raised where Python may have a value, and there is none here."""
        return self.broken(node, detail)

    def foreign(self, node: ast.AST, construct: str) -> Exception:
        """What is raised for syntax that is no arithmetic."""
        return NoValue(f"{construct} is not arithmetic")

    def unassigned(self, node: ast.Name) -> Exception:
        """What is raised for a name that gets its value only later."""
        return NoValue(f"the name {node.id!r} has no value here")

    def outside(self, node: ast.Name) -> Any:
        """What a name means that no function binds."""
        if node.id in self.names:
            return self.names[node.id]
        if node.id in FUNCTIONS:
            return Ref(node.id)
        raise NoValue(f"the name {node.id!r} has no value here")

    def member(self, node: ast.Attribute, owner: Any) -> Any:
        """``owner.name`` of a listed module."""
        if isinstance(owner, Ref):
            found = path_of(f"{owner.path}.{node.attr}")
            if found is not None:
                return found
        raise self.foreign(node, f"`{text(node)}`")

    def called(
        self, node: ast.Call, function: Any, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        """A call of what no table of functions holds."""
        raise self.foreign(node, f"`{text(node)}`")

    def same(self, left: Any, right: Any) -> bool:
        """Whether two values that are no plain ones are equal."""
        return left is right

    # ------------------------------------------------------------ the walk

    def step(self, node: ast.AST, steps: int = 1) -> None:
        """Counts what is done, so that nothing goes on for ever."""
        self.steps += steps
        if self.steps > self.step_limit:
            raise self.late(node)

    def value(self, node: ast.expr | ast.stmt) -> Any:
        """What a node's own method makes of it: the value of an expression."""
        self.step(node)
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None:
            raise self.foreign(node, f"`{text(node)}`")
        return method(node)

    def tried(self, node: ast.AST, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function of the course; what it cannot do becomes a fault at the node."""
        self.step(node, size_of(arguments) // ITEMS_A_STEP)
        try:
            result = function(*arguments)
        except NotHere as why:
            raise self.beyond(node, str(why)) from None
        except NoValue as why:
            raise self.broken(node, str(why)) from None
        self.step(node, size_of([result]) // ITEMS_A_STEP)
        return result

    def truth(self, node: ast.expr) -> bool:
        """The truth of a condition."""
        return self.true(node, self.value(node))

    def true(self, node: ast.expr, value: Any) -> bool:
        """The truth of a value that stands at a node."""
        return bool(self.tried(node, truth, value))

    # ------------------------------------------------------------ names and constants

    def visit_Constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, bytes | complex):
            raise self.foreign(node, f"`{text(node)}`")
        return self.tried(node, bounded, node.value)

    def visit_Name(self, node: ast.Name) -> Any:
        frame: Frame | None = self.frame
        while frame is not None:
            if node.id in frame.variables:
                return frame.variables[node.id]
            if node.id in frame.names:
                raise self.unassigned(node)
            frame = frame.outer
        return self.outside(node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, Facts) and node.attr in owner.values:
            return owner.values[node.attr]
        if is_number(owner) and node.attr in METHODS:
            return OfNumber(owner, node.attr)
        return self.member(node, owner)

    # ------------------------------------------------------------ collections

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self.item(node, self.value(node.value), self.value(node.slice))

    def item(self, node: ast.Subscript, owner: Any, index: Any) -> Any:
        """``owner[index]``."""
        return self.tried(node, item_of, owner, index)

    def visit_Slice(self, node: ast.Slice) -> slice:
        ends = (node.lower, node.upper, node.step)
        return slice(*(None if end is None else self.value(end) for end in ends))

    def spread(self, parts: list[ast.expr]) -> list[tuple[ast.expr, Any]]:
        """Values with their places: `*xs` is one for each item."""
        found: list[tuple[ast.expr, Any]] = []
        for part in parts:
            if not isinstance(part, ast.Starred):
                found.append((part, self.value(part)))
                continue
            values = self.iterated(part.value, self.value(part.value))
            found += [(part, value) for value in self.tried(part, items_of, values)]
            if len(found) > MOST_ITEMS:
                raise self.beyond(part, f"there are more than {MOST_ITEMS} items")
        return found

    def visit_List(self, node: ast.List | ast.Tuple) -> list[Any]:
        items = [value for _, value in self.spread(node.elts)]
        self.tried(node, bounded, items)
        return items

    def visit_Tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self.visit_List(node))

    def visit_Dict(self, node: ast.Dict) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                found |= self.tried(node, dict_of, [self.value(key)], [self.value(value)])
                continue
            more = self.value(value)
            if not isinstance(more, dict):
                raise self.broken(node, f"{kind(more)} cannot be written out by `**`")
            found |= more
        return dict(self.tried(node, bounded, found))

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        found: list[Any] = []
        self._turns(node.generators, lambda: found.append(self.value(node.elt)), node)
        self.tried(node, bounded, found)
        return found

    visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> dict[Any, Any]:
        keys: list[Any] = []
        values: list[Any] = []

        def turn() -> None:
            keys.append(self.value(node.key))
            values.append(self.value(node.value))

        self._turns(node.generators, turn, node)
        return dict(self.tried(node, dict_of, keys, values))

    def _turns(
        self,
        generators: list[ast.comprehension],
        turn: Callable[[], None],
        node: ast.expr,
        turns: int = 0,
    ) -> int:
        """Makes a turn for each item that the generators let through; how many there were."""
        if not generators:
            turn()
            if turns >= MOST_ITEMS:
                raise self.beyond(node, f"it has more than {MOST_ITEMS} items")
            return turns + 1
        first, before = generators[0], self.frame
        if first.is_async:
            raise self.foreign(node, f"`{text(node)}`")
        items = self.iterated(first.iter, self.value(first.iter))
        self.frame = Frame(frozenset(), {}, before)
        try:
            for item in items:
                self.step(first.iter)
                self.store(first.target, item)
                if all(self.truth(condition) for condition in first.ifs):
                    turns = self._turns(generators[1:], turn, node, turns)
        finally:
            self.frame = before
        return turns

    def iterated(self, node: ast.expr, items: Any) -> Any:
        """What a loop goes over, as Python takes it."""
        if not isinstance(items, range | tuple | list | dict):
            raise self.broken(node, f"it takes a range or a tuple, and gets {kind(items)}")
        return tuple(items) if isinstance(items, list | dict) else items

    def store(self, target: ast.expr, value: Any) -> None:
        """Binds names; nothing else is assigned to."""
        if isinstance(target, ast.Name):
            self.frame.variables[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            if not isinstance(value, tuple | list):
                raise self.broken(target, f"{kind(value)} cannot be unpacked")
            for part, item in zip(*self._unpacked(target, value), strict=True):
                self.store(part, item)
        else:
            raise self.foreign(target, f"`{text(target)} = ...`")

    def _unpacked(
        self, target: ast.Tuple | ast.List, value: tuple[Any, ...] | list[Any]
    ) -> tuple[list[ast.expr], list[Any]]:
        """Names and the value of each; a starred one takes what the others leave, as a list."""
        parts, items = list(target.elts), list(value)
        starred = [place for place, part in enumerate(parts) if isinstance(part, ast.Starred)]
        if len(items) < len(parts) - len(starred) or (not starred and len(items) > len(parts)):
            raise self.uneven(target, len(items))
        for place in starred:  # Python's grammar has at most one
            taken = len(items) - len(parts) + 1
            items[place : place + taken] = [items[place : place + taken]]
            parts[place] = parts[place].value  # type: ignore[attr-defined]  # starred
        return parts, items

    def uneven(self, target: ast.Tuple | ast.List, got: int) -> Exception:
        """What is raised where the names and the values differ in number."""
        return self.broken(target, f"there are {got} values for {len(target.elts)} names")

    # ------------------------------------------------------------ operators

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self.tried(node, binary, node.op, self.value(node.left), self.value(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return not self.truth(node.operand)
        return self.tried(node, unary, node.op, self.value(node.operand))

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for item in node.values:
            value = self.value(item)
            if self.true(item, value) == isinstance(node.op, ast.Or):
                break
        return value

    def visit_Compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.right_side(op, right_node)
            if not self.compared(node, op, left, right):
                return False
            left = right
        return True

    def right_side(self, op: ast.cmpop, node: ast.expr) -> Any:
        """What stands behind a comparison."""
        return self.value(node)

    def compared(self, node: ast.AST, op: ast.cmpop, left: Any, right: Any) -> bool:
        """One comparison."""
        return bool(self.tried(node, compare, op, left, right, self.same))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if self.truth(node.test) else node.orelse)

    # ------------------------------------------------------------ calls

    def visit_Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        arguments = [value for _, value in self.spread(node.args)]
        named = self.keywords(node)
        if isinstance(function, Ref) and function.path in FUNCTIONS:
            return self.listed(node, function.path, arguments, named)
        if isinstance(function, OfNumber):
            return self.of_number(node, function, arguments, named)
        return self.called(node, function, arguments, named)

    def listed(self, node: ast.Call, path: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """A call of a function of the closed table."""
        placed = self.tried(node, by_position, path, arguments, named)
        return self.tried(node, FUNCTIONS[path], placed)

    def of_number(
        self, node: ast.Call, method: OfNumber, arguments: list[Any], named: dict[str, Any]
    ) -> Any:
        """``(256).bit_length()``."""
        if arguments or named:
            raise self.broken(node, f"`.{method.name}` takes no arguments")
        return self.tried(node, tried, METHODS[method.name], method.number)

    def keywords(self, node: ast.Call) -> dict[str, Any]:
        """A call's arguments by name; `**xs` is one for each item of a dict."""
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            more = {keyword.arg: value} if keyword.arg is not None else value
            if not isinstance(more, dict) or not all(isinstance(name, str) for name in more):
                raise self.broken(node, f"{kind(value)} cannot be written out by `**`")
            if named.keys() & more.keys():
                raise self.broken(node, f"it gets `{min(named.keys() & more.keys())}` twice")
            named |= more
        return named


def path_of(path: str) -> Any:
    """What a dotted name is: a number, a `Ref` to a module or a function; None if not listed."""
    if path in CONSTANTS:
        return CONSTANTS[path]
    within = any(name.startswith(f"{path}.") for name in FUNCTIONS)
    return Ref(path) if path in FUNCTIONS or within else None
