"""A cell's text as a syntax tree of bounded size, and what both dialects read of it alike."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from course.engine.faults import KernelFault, does_not_compile, rejected, rejected_syntax
from course.plain.text import OddCharacter, odd_character, unseen_in
from course.plain.trees import walk

MAX_SOURCE_CHARACTERS = 200_000
MAX_TREE_DEPTH = 100
MAX_TREE_NODES = 20_000  # the longest kernel of the course has some 600
MAX_LITERAL_BITS = 1100  # any float written as a whole number

_ANNOTATION = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Slice, ast.Tuple, ast.BinOp),
    *(ast.BitOr, ast.expr_context),
)

_ANNOTATED = (ast.AnnAssign, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef)


def parse(source: str) -> ast.Module:
    """The syntax tree of a cell.

    Raises:
        KernelFault: DOES_NOT_COMPILE for a syntax error, REJECTED for a source that is too
            long or nested too deeply to be a kernel, or has characters that nobody sees.
    """
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise rejected(None, "source_too_long", characters=len(source), limit=MAX_SOURCE_CHARACTERS)
    _check_character(odd_character(source))
    try:
        tree = ast.parse(source)
    except _UNREADABLE as error:
        raise _unreadable(error) from None
    _check_size(tree)
    if not source.isascii():
        for node in walk(tree):
            for name in map(vars(node).get, _NAMES):
                if isinstance(name, str):
                    _check_character(unseen_in(source, name, getattr(node, "lineno", 1)))
    return tree


@lru_cache(maxsize=1)  # of a cell ask a check, its dialect's reader and, at home, the engine
def tree_of(cell: str) -> ast.Module:
    """The same, once for all who read a cell: nobody changes it.

    Raises:
        KernelFault: as `parse` does.
    """
    return parse(cell)


#: Fields of a tree's nodes that hold a name.
_NAMES = ("id", "name", "arg", "attr", "asname")


def _check_character(odd: OddCharacter | None) -> None:
    if odd is not None:
        raise rejected(
            odd.line, "odd_character", character=odd.name, code=odd.code, column=odd.column
        )


def _check_size(tree: ast.AST) -> None:
    """No kernel is nested so deeply, or so long; what reads the tree may take its time."""
    nodes = 0
    stack: list[tuple[ast.AST, int]] = [(tree, 1)]
    while stack:
        node, level = stack.pop()
        if level > MAX_TREE_DEPTH:
            raise rejected(None, "source_not_text", detail="nested too deeply")
        if isinstance(node, ast.expr_context):
            continue  # every second node; nothing is in it
        nodes += 1
        if nodes > MAX_TREE_NODES:
            raise rejected(None, "too_much_code", limit=MAX_TREE_NODES)
        value = getattr(node, "value", None)
        if isinstance(value, int) and value.bit_length() > MAX_LITERAL_BITS:
            raise rejected(node, "source_not_text", detail="a number is too long")
        stack.extend((child, level + 1) for child in ast.iter_child_nodes(node))


def check_compiles(tree: ast.Module) -> None:
    """Python refuses more than its grammar does: a `break` outside a loop, a name given twice."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(tree, "<cell>", "exec", dont_inherit=True)
    except _UNREADABLE as error:
        raise _unreadable(error) from None


#: What Python's parser and compiler raise about a text.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
#: Python's words for a decimal number of more than 4,300 digits begin so.
_DIGITS = "Exceeds the limit"


def _unreadable(error: Exception) -> KernelFault:
    line = error.lineno if isinstance(error, SyntaxError) else None
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    if said.startswith(_DIGITS):
        return rejected(line, "source_not_text", detail="a number is too long")
    if isinstance(error, SyntaxError):
        return does_not_compile(line, "syntax_error", detail=said.rstrip(".?"))
    depth = isinstance(error, RecursionError | MemoryError)
    return rejected(line, "source_not_text", detail="nested too deeply" if depth else said)


def names_a_type(annotation: ast.expr) -> bool:
    """Whether that is all that it does: it is not used, and Python would run what stands in it."""
    return all(isinstance(node, _ANNOTATION) for node in walk(annotation))


def check_annotations(statement: ast.stmt) -> None:
    """Holds the annotations in a statement to that."""
    for node in walk(statement):
        if not isinstance(node, _ANNOTATED):
            continue
        held = (getattr(node, "annotation", None), getattr(node, "returns", None))
        for annotation in filter(None, held):
            if not names_a_type(annotation):
                raise rejected_syntax(
                    annotation,
                    f"the annotation `{ast.unparse(annotation)[:60]}`",
                    "name a type, or leave it out",
                )


def spelled_out(statement: ast.stmt) -> ast.stmt:
    """``N += 1`` as ``N = N + 1``; any other statement as it is."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
        return statement
    before = ast.copy_location(ast.Name(statement.target.id, ast.Load()), statement.target)
    value = ast.BinOp(before, statement.op, statement.value)
    spelled = ast.Assign([statement.target], ast.copy_location(value, statement))
    return ast.copy_location(spelled, statement)


def check_assertion(statement: ast.Assert, value_of: Callable[[ast.expr], Any]) -> None:
    """Holds an `assert` at a cell's top level to arithmetic, its message too, and to be true.

    Raises:
        KernelFault: REJECTED where it is neither; and what `value_of` raises.
    """
    message = statement.msg
    for part in message.values if isinstance(message, ast.JoinedStr) else filter(None, [message]):
        value_of(part.value if isinstance(part, ast.FormattedValue) else part)
    if not value_of(statement.test):
        raise rejected(statement, "false_assertion", construct=ast.unparse(statement.test)[:60])


def assigned(statement: ast.Assign | ast.AnnAssign, value: Any) -> Iterator[tuple[str, Any]]:
    """(name, value) of each name that an assignment of a constant gives a value; tuples unpack.

    Raises:
        KernelFault: REJECTED for any other target.
    """
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    waiting = [(target, value) for target in targets]
    while waiting:
        target, held = waiting.pop(0)
        if isinstance(target, ast.Name):
            yield target.id, held
            continue
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if not parts or not isinstance(held, tuple | list) or len(parts) != len(held):
            raise rejected(statement, "rejected_constant", construct=ast.unparse(statement)[:60])
        waiting[:0] = zip(parts, held, strict=True)
