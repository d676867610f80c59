"""One tree from a cell's text to the compiler: a `def` of the cell as a `@triton.jit` function.

Triton makes its tree of a function from text that it looks for in a file: lines that `inspect`
finds, a regular expression, a parser. Text can be written so that these find another function than
the one that was read. So they get text that was made from the tree; what they make of it is held
against the tree; and the tree itself is what the engine walks and Triton's compiler gets.
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import triton
from triton.runtime.jit import JITFunction

from course.engine.faults import does_not_compile, rejected
from course.engine.triton.compiling.functions import keep_code

#: How a kernel's module is called: not Triton's own (`course.engine.triton.compiling.functions`).
MODULE = "solution_cell"


def bare(node: ast.FunctionDef) -> ast.FunctionDef:
    """The definition without what runs when Python makes it; the body is the same tree."""
    plain = copy.copy(node)
    plain.args = ast.arguments(
        posonlyargs=[],
        args=[ast.copy_location(ast.arg(argument.arg), argument) for argument in node.args.args],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    plain.decorator_list, plain.returns, plain.type_comment = [], None, None
    return plain


def jitted(
    node: ast.FunctionDef,
    filename: str,
    scope: dict[str, Any],
    defaults: tuple[Any, ...],
    annotations: Mapping[str, Any],
    options: Mapping[str, Any],
    jit: Callable[..., Any] = triton.jit,
) -> JITFunction[Any]:
    """The `@triton.jit` function whose body is this tree.

    Args:
        node: a definition with plain parameters, at its place in the cell.
        filename: under which `linecache` knows the cell's text.
        scope: what the function's names mean.
        jit: `triton.jit` or `gluon.jit`.

    Raises:
        KernelFault: REJECTED where Triton would read another tree, DOES_NOT_COMPILE where it
            refuses the function.
    """

    def making(function: FunctionType) -> JITFunction[Any]:
        function.__defaults__ = defaults or None
        function.__annotations__ = dict(annotations)
        made: JITFunction[Any] = jit(function, **options)
        return made

    made: JITFunction[Any] = from_tree(node, filename, scope, making)
    keep_code(made, made.parse(), filename)
    return made


def from_tree(
    node: ast.FunctionDef,
    filename: str,
    scope: dict[str, Any],
    making: Callable[[FunctionType], Any],
) -> Any:
    """What Triton makes of a function, whose tree is this one and no other.

    Args:
        making: Triton's own; it looks for the function's text, and finds it made from the tree.

    Raises:
        KernelFault: REJECTED where Triton would read another tree, DOES_NOT_COMPILE where it
            refuses the function.
    """
    tree = ast.Module([bare(node)], [])
    try:
        text = ast.unparse(tree) + "\n"
        made = _found_by_triton(text, node.name, f"{filename} {node.name}", scope, making)
        equal = same(made.parse(), tree)
    except (SyntaxError, ValueError, RecursionError):
        equal = False
    except Exception as error:
        raise does_not_compile(node, "triton_refuses", detail=str(error)[:200]) from None
    if not equal:
        raise rejected(node, "tile_two_readings", name=node.name)
    made.__dict__["parse"] = lambda: tree
    return made


def _found_by_triton(
    text: str,
    name: str,
    own_file: str,
    scope: dict[str, Any],
    making: Callable[[FunctionType], Any],
) -> Any:
    """What Triton makes of a function's text, found in a file of its own."""
    code = compile(text, own_file, "exec", dont_inherit=True)
    inner = next(c for c in code.co_consts if hasattr(c, "co_code") and c.co_name == name)
    function = FunctionType(inner, scope, name)
    function.__module__ = MODULE
    linecache.cache[own_file] = (len(text), None, text.splitlines(keepends=True), own_file)
    try:
        return making(function)
    finally:
        linecache.cache.pop(own_file, None)


def same(one: Any, other: Any) -> bool:
    """Whether two trees are the same but for where they stand."""
    if isinstance(one, ast.AST):
        return type(one) is type(other) and all(
            same(getattr(one, name, None), getattr(other, name, None)) for name in one._fields
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)
