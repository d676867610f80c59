"""What the names in a kernel are, and questions that the rules of mutation ask of a tree."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from course.plain.trees import nodes

#: What is added, and the step of a range without one.
ONE = ast.Constant(1)
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Scope:
    """What the names in a function are.

    Attributes:
        parameters: of the function, in order.
        on_chip: names of shared and local arrays.
        fixed: names that no edit touches: imports, functions, `cuda`.
        constants: numbers at the cell's top level.
        kernel: whether the function is a kernel: a device function stores nothing.
    """

    parameters: tuple[str, ...]
    on_chip: frozenset[str]
    fixed: frozenset[str]
    constants: frozenset[str]
    kernel: bool

    @classmethod
    def of(cls, tree: ast.Module, function: ast.FunctionDef | None) -> Scope:
        """The scope of one function of a cell, or of its top level."""
        fixed = {"np", "range", "min", "max", "abs", "int", "float"}
        constants = set()
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                fixed |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef):
                fixed.add(node.name)
            elif isinstance(node, ast.Assign):
                constants |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        if function is None:
            none: frozenset[str] = frozenset()
            return cls((), none, frozenset(fixed), frozenset(constants), False)
        on_chip = {
            target.id
            for node in nodes(function, ast.Assign)
            if is_array(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        decorators = " ".join(ast.unparse(d) for d in function.decorator_list)
        return cls(
            tuple(argument.arg for argument in function.args.args),
            frozenset(on_chip),
            frozenset(fixed),
            frozenset(constants),
            "device" not in decorators,
        )

    def global_load(self, node: ast.AST) -> bool:
        """Whether something in `node` reads an element of a parameter."""
        return any(
            isinstance(part.value, ast.Name)
            and part.value.id in self.parameters
            and isinstance(part.ctx, ast.Load)
            for part in nodes(node, ast.Subscript)
        )

    def global_store(self, node: ast.stmt) -> ast.Subscript | None:
        """The element of a parameter that a statement assigns."""
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                if target.value.id in self.parameters:
                    return target
        return None


def is_array(node: ast.AST) -> TypeGuard[ast.Call]:
    """Whether this makes a shared or local array."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        ("shared.array", "local.array")
    )


def is_call(node: ast.AST, *names: str) -> TypeGuard[ast.Call]:
    """Whether this calls one of `names`, the last parts of the function's name."""
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names


def range_parts(call: ast.Call) -> tuple[ast.expr, ast.expr, ast.expr]:
    """(begin, end, step) of `range(...)`."""
    begin, end = call.args[:2] if len(call.args) > 1 else (ast.Constant(0), call.args[0])
    return begin, end, call.args[2] if len(call.args) > 2 else ONE


def same(a: ast.AST, b: ast.AST) -> bool:
    """Whether two expressions differ in nothing but the order of sums and products."""
    return _canonical(a) == _canonical(b)


def _canonical(node: ast.AST) -> str:
    if isinstance(node, ast.BinOp):
        sides = [_canonical(node.left), _canonical(node.right)]
        if isinstance(node.op, ast.Add | ast.Mult):
            sides.sort()
        return f"({sides[0]} {type(node.op).__name__} {sides[1]})"
    parts = []
    for field, value in ast.iter_fields(node):
        items = value if isinstance(value, list) else [value]
        parts += [_canonical(i) if isinstance(i, ast.AST) else f"{field}={i!r}" for i in items]
    return f"{type(node).__name__}[{' '.join(parts)}]"


def numpy_type(name: str) -> ast.expr:
    """`np.float16`: every type has its name there."""
    return ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())


def parsed(text: str) -> list[ast.stmt]:
    """Statements from text."""
    return ast.parse(text).body


def parsed_expression(text: str) -> ast.expr:
    """An expression from text."""
    return ast.parse(text, mode="eval").body


def named(*rules: Any) -> dict[str, Any]:
    """Rules of mutation, each by its function's name in words, in their order."""
    return {rule.__name__.replace("_", " "): rule for rule in rules}


def is_read(node: ast.Name) -> bool:
    """Whether a name is read here."""
    return isinstance(node.ctx, ast.Load)


def pairs(node: ast.AST, scope: Scope) -> Iterator[tuple[str, str]]:
    """Pairs of names of one kind that `node` reads: two arrays, or two numbers."""
    arrays: list[str] = []
    numbers: list[str] = []
    indexed = {
        part.value.id
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript | ast.Attribute) and isinstance(part.value, ast.Name)
    }
    for part in nodes(node, ast.Name):
        if is_read(part) and part.id not in scope.fixed:
            kind = arrays if part.id in indexed else numbers
            if part.id not in kind:
                kind.append(part.id)
    for names in (arrays, numbers):
        for first, second in itertools.combinations(names, 2):
            if not same(node, renamed(node, {first: second, second: first})):
                yield first, second


def renamed(node: Node, names: dict[str, str]) -> Node:
    """A copy in which the names that are read are others."""
    changed = copy.deepcopy(node)
    for part in nodes(changed, ast.Name):
        if is_read(part):
            part.id = names.get(part.id, part.id)
    return changed
