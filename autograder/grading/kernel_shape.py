"""What a solution cell is made of, spelling aside: a mark for each statement.

Two statements have the same mark where they differ in names, comments, types, in their numbers,
however these are written (`0x100`, `2 * THREADS`), or in the order of what is added, multiplied or
compared: another size of a block makes no other kernel. Where a statement stands is not in its
mark. What it hangs on is: the loop or condition around it, and the statements whose values it
reads. So independent statements may change places. Nothing here executes anything.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from course.engine.cell.source import parse
from course.engine.faults import KernelFault
from course.plain.arithmetic import NoValue, binary, is_number, unary

#: The longest solution of the course has some 60.
MOST_STATEMENTS = 1000
_COMMUTE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_TURNED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_EITHER_WAY = (ast.Eq, ast.NotEq)
_LOCAL, _NUMBER = "_", "0"
#: `triton.language.extra.libdevice.fast_expf` has 42 characters.
_LONGEST_PATH = 80
_DIGEST_BYTES = 7


@dataclass(frozen=True)
class Statement:
    """One statement's mark, and its line."""

    mark: int
    line: int


def statements_of(source: str) -> list[Statement]:
    """The statements of a cell's functions; none of what is no cell by the course's own bounds."""
    try:
        return _Cell(parse(source)).statements
    except KernelFault:
        return []


def shape_and_mark(source: str, line: int | None) -> tuple[str, str]:
    """(a digest of all marks of a cell, the mark of its statement at a line), "" for none.

    Args:
        line: counts from 1.
    """
    statements = statements_of(source) if source else []
    before = [one for one in statements if one.line <= (line or 0)]
    mark = f"{max(before, key=lambda one: one.line).mark:x}" if before else ""
    shape = f"{_digest(*sorted(one.mark for one in statements)):x}" if statements else ""
    return shape, mark


def _digest(*parts: object) -> int:
    made = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        made.update(str(part).encode("utf-8", "backslashreplace") + b"\0")
    return int.from_bytes(made.digest(), "big")


@dataclass
class _Cell:
    """One cell on its way to marks.

    Attributes:
        known: what names of the cell's top level mean: paths of modules, numbers, functions.
        local: in a function, its parameters by place.
        made_by: by variable, the digest of the statement that gave it its value.
        reads, writes: variables of the statement at hand; of an array, elements count, too.
    """

    tree: ast.Module
    known: dict[str, Any] = field(default_factory=dict)
    local: Mapping[str, str] = field(default_factory=dict)
    made_by: dict[str, int] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    statements: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        functions = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        self.known |= {node.name: "own function" for node in functions}
        for node in self.tree.body:
            self._learn(node)
        for node in functions:
            self._function(node)

    def _learn(self, node: ast.stmt) -> None:
        """What an import or a constant at the top of the cell makes of a name."""
        if isinstance(node, ast.Import):
            for one in node.names:
                root = one.name.partition(".")[0]
                self.known[one.asname or root] = one.name if one.asname else root
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                self.known[one.asname or one.name] = f"{node.module}.{one.name}"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = self._value(node.value)
            if isinstance(value, str) and len(value) > _LONGEST_PATH:
                value = f"constant {_digest(value)}"  # else each could be twice the one before it
            self.known |= {t.id: value for t in targets if isinstance(t, ast.Name)}

    def _function(self, node: ast.FunctionDef) -> None:
        self.local = {a.arg: f"parameter {n}" for n, a in enumerate(node.args.args)}
        self.made_by = {}
        for decorator in node.decorator_list:
            self._add(decorator, "decorator", self._text(decorator))
        self._block(node.body, "")

    def _block(self, body: Iterable[ast.stmt], around: str) -> None:
        for node in body:
            self.reads, self.writes = set(), set()
            text = self._header(node)
            if text:
                self._add(node, around, text)
            for name, inner in ast.iter_fields(node):
                if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                    self._block(inner, f"{name} of {text}")

    def _header(self, node: ast.stmt) -> str:
        """A statement without the blocks in it; "" where it does nothing."""
        if isinstance(node, ast.Pass):
            return ""
        if isinstance(node, ast.Expr):
            return "" if isinstance(node.value, ast.Constant) else self._text(node.value)
        if isinstance(node, ast.AugAssign):
            target = ast.copy_location(_read(node.target), node)
            made = ast.copy_location(ast.BinOp(target, node.op, node.value), node)
            return f"{self._text(node.target)} = {self._text(made)}"
        if isinstance(node, ast.Assign):
            targets = " = ".join(self._text(target) for target in node.targets)
            return f"{targets} = {self._text(node.value)}"
        if isinstance(node, ast.AnnAssign):
            value = self._text(node.value) if node.value else ""
            return f"{self._text(node.target)} = {value}"
        parts = [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt)]
        return " ".join([type(node).__name__, *map(self._text, parts)])

    def _add(self, node: ast.stmt | ast.expr, around: str, text: str) -> None:
        if len(self.statements) >= MOST_STATEMENTS:
            return
        own = _digest(text)
        sources = sorted({self.made_by[name] for name in self.reads if name in self.made_by})
        self.statements.append(Statement(_digest(own, around, *sources), node.lineno))
        self.made_by |= dict.fromkeys(self.writes - self.known.keys(), own)

    # ------------------------------------------------------------ expressions

    def _named(self, node: ast.Name, context: ast.expr_context) -> None:
        (self.reads if isinstance(context, ast.Load) else self.writes).add(node.id)

    def _text(self, node: ast.AST) -> str:
        return _without_number(self._value(node))

    def _value(self, node: ast.AST) -> Any:
        """A number where the expression is one, else its text."""
        if isinstance(node, ast.Constant):
            return node.value if is_number(node.value) else repr(node.value)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            self._named(node.value, node.ctx)
        if isinstance(node, ast.Name):
            self._named(node, node.ctx)
            return self.local.get(node.id) or self.known.get(node.id, _LOCAL)
        if isinstance(node, ast.Attribute):
            return f"{self._text(node.value)}.{node.attr}"
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand)
            if is_number(value):
                try:
                    return unary(node.op, value)
                except NoValue:
                    pass
            return _joined(node.op, [_without_number(value)])
        if isinstance(node, ast.BoolOp):
            return _joined(node.op, sorted(map(self._text, node.values)))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node.ops[0], node.left, node.comparators[0])
        if isinstance(node, ast.Call):
            named = sorted(f"{one.arg}={self._text(one.value)}" for one in node.keywords)
            return f"{self._text(node.func)}({', '.join([*map(self._text, node.args), *named])})"
        parts = (c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr_context))
        return f"{type(node).__name__}({', '.join(map(self._text, parts))})"

    def _binary(self, node: ast.BinOp) -> Any:
        if isinstance(node.op, _COMMUTE):
            operands = [self._value(one) for one in _chain(node, type(node.op))]
        else:
            operands = [self._value(node.left), self._value(node.right)]
        if all(map(is_number, operands)):
            try:
                return functools.reduce(functools.partial(binary, node.op), operands)
            except NoValue:
                pass
        texts = [_without_number(one) for one in operands]
        return _joined(node.op, sorted(texts) if isinstance(node.op, _COMMUTE) else texts)

    def _compared(self, sign: ast.cmpop, left: ast.expr, right: ast.expr) -> str:
        turned = _TURNED.get(type(sign))
        texts = [self._text(left), self._text(right)]
        if turned is not None:
            sign, texts = turned(), texts[::-1]
        return _joined(sign, sorted(texts) if isinstance(sign, _EITHER_WAY) else texts)


def _without_number(value: Any) -> str:
    return _NUMBER if is_number(value) else str(value)


def _joined(sign: ast.AST, operands: Iterable[str]) -> str:
    return f"{type(sign).__name__}({', '.join(operands)})"


def _chain(node: ast.expr, sign: type[ast.operator]) -> Iterator[ast.expr]:
    """The operands of `a + b + c`, however they are bracketed."""
    if isinstance(node, ast.BinOp) and type(node.op) is sign:
        yield from _chain(node.left, sign)
        yield from _chain(node.right, sign)
    else:
        yield node


def _read(target: ast.expr) -> Any:
    """What is changed in place, as it is read."""
    match target:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Subscript(value=value, slice=index):
            return ast.Subscript(value, index, ast.Load())
        case _:
            return target
