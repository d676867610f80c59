"""Types that a cell's decorator declares: ``@cuda.jit("void(float32[:], int32)")``.

They are read off the tree; the text of a signature is a tree of its own, and never evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from numba.core import types

from course.engine.simt.lowering.signatures import Signature, engine_type
from course.engine.simt.lowering.types import Scalar, Type, is_scalar

#: What a type may be called in a signature's text beside its own name.
_SHORT: dict[str, Scalar] = {
    **{f"i{size}": getattr(types, f"int{8 * size}") for size in (1, 2, 4, 8)},
    **{f"u{size}": getattr(types, f"uint{8 * size}") for size in (1, 2, 4, 8)},
    **{f"f{size}": getattr(types, f"float{8 * size}") for size in (2, 4, 8)},
    "b1": types.boolean,
}
VOID = ("void", "none")
#: Of a signature's text, and of the signatures of one function.
_MOST_CHARACTERS, _MOST_SIGNATURES = 500, 16


class NoSignature(Exception):
    """What stands there declares no types that the course knows; the text is that part."""


def signatures(
    node: ast.expr, known: Callable[[ast.expr], Any], scalars: dict[str, Scalar]
) -> tuple[Signature, ...]:
    """What the first argument of `cuda.jit` declares: one signature, or a list of them.

    Args:
        known: what a name of the cell stands for.
        scalars: types by the names that a signature's text may use.

    Raises:
        NoSignature: where it declares nothing that a kernel can have.
    """
    if isinstance(node, ast.List) and 0 < len(node.elts) <= _MOST_SIGNATURES:
        return tuple(_signature(one, known, scalars) for one in node.elts)
    return (_signature(node, known, scalars),)


def _signature(
    node: ast.expr, known: Callable[[ast.expr], Any], scalars: dict[str, Scalar]
) -> Signature:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        named: dict[str, Any] = {**_SHORT, **scalars, **dict.fromkeys(VOID, types.none)}
        if len(node.value) > _MOST_CHARACTERS:
            raise NoSignature(repr(node.value[:40]))
        try:
            tree = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NoSignature(repr(node.value)) from None
        return _read(tree, lambda part: named.get(part.id) if isinstance(part, ast.Name) else None)
    return _read(node, known)


def _read(node: ast.expr, known: Callable[[ast.expr], Any]) -> Signature:
    """``void(float32[:], int32)`` or ``(float32[:], int32)``"""
    if isinstance(node, ast.Call) and not node.keywords:
        result = known(node.func)
        if result != types.none and not is_scalar(result):
            raise NoSignature(ast.unparse(node.func))
        arguments = tuple(_type(part, known) for part in node.args)
        return Signature(arguments, result if is_scalar(result) else None)
    if isinstance(node, ast.Tuple):
        return Signature(tuple(_type(part, known) for part in node.elts))
    raise NoSignature(ast.unparse(node))


def _type(node: ast.expr, known: Callable[[ast.expr], Any]) -> Type:
    found = known(node.value if isinstance(node, ast.Subscript) else node)
    if not is_scalar(found):
        raise NoSignature(ast.unparse(node))
    if not isinstance(node, ast.Subscript):
        scalar: Type = found
        return scalar
    axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    spans = [slice(None, None, _step(axis)) for axis in axes]
    if not spans:
        raise NoSignature(ast.unparse(node))
    return engine_type(found[tuple(spans) if len(spans) > 1 else spans[0]])


def _step(axis: ast.expr) -> int | None:
    """None of ``:``, 1 of ``::1``."""
    if isinstance(axis, ast.Slice) and not (axis.lower or axis.upper):
        if axis.step is None or (isinstance(axis.step, ast.Constant) and axis.step.value == 1):
            return None if axis.step is None else 1
    raise NoSignature(ast.unparse(axis))
