"""Has Triton's front end leave a step in the IR before each statement, for `course.trace`.

A step is a `tt.print` of every variable that there is: so no pass moves it, merges what it shows,
or leaves a statement out that makes no operation. Its prefix says the rest, in hexadecimal digits.
"""

from __future__ import annotations

import ast
import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import triton.language as tl
from triton.compiler import code_generator

from course.engine.triton.compiling.functions import code_of
from course.engine.triton.ir import Operation

_PREFIX = "course.step:"
_LONGEST = 100

#: What a variable is: a text, the place of its value among the operands, or a tuple of these.
Shape: TypeAlias = "str | int | list[Shape]"


@dataclass(frozen=True)
class Step:
    """A statement that comes next.

    Attributes:
        kind: `call`: the first one of a function; `end`: none comes any more.
        frame: the function's name, and from where it was called, innermost first.
        variables: by name.
    """

    kind: str
    frame: tuple[object, ...]
    variables: dict[str, Shape]


def is_step(operation: Operation) -> bool:
    """Whether a `tt.print` is none of the learner's."""
    return _PREFIX in operation.string("prefix")


def step_of(operation: Operation) -> Step:
    """What a step says."""
    digits = operation.string("prefix").partition(_PREFIX)[2].rstrip(": ")
    kind, function, variables = json.loads(bytes.fromhex(digits))
    return Step(kind, (function, *operation.place.files[1:]), variables)


@contextlib.contextmanager
def left_in_the_code() -> Iterator[None]:
    """What is compiled inside has steps."""
    before = code_generator.CodeGenerator
    code_generator.CodeGenerator = _Stepping
    try:
        yield
    finally:
        code_generator.CodeGenerator = before


class _Stepping(code_generator.CodeGenerator):
    """Triton's front end, of one function."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        #: whose body a list of statements is
        self._owners: dict[int, ast.FunctionDef | ast.For] = {}
        self._tests: set[ast.expr] = set()
        #: what a loop has left in its variable, which nothing can read
        self._left: list[Any] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._owners[id(node.body)] = node
        return super().visit_FunctionDef(node)

    def visit_For(self, node: ast.For) -> Any:
        self._owners[id(node.body)] = node
        found = super().visit_For(node)
        if isinstance(node.target, ast.Name):
            self._left.append(getattr(self.lscope.get(node.target.id), "handle", None))
        return found

    def visit_While(self, node: ast.While) -> Any:
        self._tests.add(node.test)
        return super().visit_While(node)

    def visit(self, node: ast.AST) -> Any:
        if node in self._tests:
            self._step(node)
        return super().visit(node)

    def visit_compound_statement(self, stmts: Any) -> None:
        owner = self._owners.get(id(stmts))
        if isinstance(owner, ast.For) and isinstance(owner.target, ast.Name):
            self._step(owner, without=owner.target.id)  # its next turn
        kind = "call" if isinstance(owner, ast.FunctionDef) else ""
        for statement in stmts if isinstance(stmts, list) else [stmts]:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            self._step(statement, kind)
            kind = ""
            super().visit_compound_statement([statement])
            if isinstance(statement, ast.Return):
                return
        if isinstance(owner, ast.FunctionDef):
            self._step(owner, "end")

    def _step(self, node: ast.AST, kind: str = "", without: str = "") -> None:
        if not code_of(self.jit_fn).own:
            return
        tensors: list[Any] = []
        variables = {
            name: self._shape(value, tensors)
            for name, value in self.lscope.items()
            if name != without and not (isinstance(value, tl.tensor) and value.handle in self._left)
        }
        said = json.dumps([kind, self.jit_fn.__name__, variables]).encode().hex()
        before = self.builder.get_loc()
        self.builder.set_loc(self.file_name, self.begin_line + node.lineno, node.col_offset)  # type: ignore[attr-defined]
        self.semantic.device_print(_PREFIX + said, tensors, False)
        self.builder.set_loc(before)

    def _shape(self, value: Any, tensors: list[Any]) -> Shape:
        if isinstance(value, tl.constexpr):
            return str(value.value)[:_LONGEST]
        if isinstance(value, tl.tuple):
            return [self._shape(item, tensors) for item in value.values]
        if not isinstance(value, tl.tensor):
            return (
                f"a {type(value).__name__.strip('_').replace('_', ' ').replace('ptr', 'pointer')}"
            )
        if value.type.is_ptr() and value.type.element_ty.is_block():
            return "a block pointer"
        tensors.append(value)
        return len(tensors) - 1


def text_of(shape: Shape, values: Sequence[str]) -> str:
    """A variable as a text; `values` are those of the operands."""
    if isinstance(shape, list):
        return f"({', '.join(text_of(item, values) for item in shape)})"[:_LONGEST]
    return values[shape] if isinstance(shape, int) else shape
