"""The arguments of a listed function, by position or by name."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from course.engine.simt.lowering.expr import Expr, describe
from course.engine.simt.lowering.types import is_scalar

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


def arguments(low: Lowering, node: ast.Call, names: tuple[str, ...], least: int) -> list[Expr]:
    """Positional or keyword arguments of a listed function."""
    given: dict[str, ast.expr] = {}
    if len(node.args) > len(names):
        raise low.untyped(
            node, f"`{ast.unparse(node.func)}` takes {len(names)} arguments, got {len(node.args)}"
        )
    for name, argument in zip(names, node.args, strict=False):
        given[name] = argument
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise low.untyped(
                node, f"`{ast.unparse(node.func)}` has no free argument {keyword.arg!r}"
            )
        given[keyword.arg] = keyword.value
    missing = [name for name in names[:least] if name not in given]
    if missing:
        raise low.untyped(node, f"`{ast.unparse(node)}` lacks {' and '.join(missing)}")
    return [low.expression(given[name]) for name in names if name in given]


def numbers(low: Lowering, node: ast.Call, names: tuple[str, ...]) -> list[Expr]:
    """All of the named arguments, each a number in every thread."""
    values = arguments(low, node, names, len(names))
    only_numbers(low, node, names, values)
    return values


def only_numbers(
    low: Lowering, node: ast.Call, names: tuple[str, ...], values: Sequence[Expr]
) -> None:
    """Refuses an argument that is no number in every thread, by its name."""
    for value, argument in zip(values, names, strict=True):
        if not is_scalar(value.type):
            raise low.untyped(node, f"{argument} of `{ast.unparse(node)}` is {describe(value)}")
