"""Functions that give several numbers at once: pairs, votes of a warp, and CUDA's vectors."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda
from numba.core import types

from course.engine.simt.lowering.arguments import arguments, numbers
from course.engine.simt.lowering.expr import UNKNOWN, Expr, converted, tuple_of
from course.engine.simt.lowering.iteration import as_written_in_python, unpacked
from course.engine.simt.lowering.types import (
    TupleType,
    VectorType,
    is_scalar,
    numpy_dtype,
    resolve_several,
)
from course.plain.evaluator import Ref

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering

Lower = Callable[["Lowering", ast.Call], Expr]

_PARTS = "xyzw"


def _pair(function: Any, compute: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Lower:
    """A function of one number that gives two."""

    def lower(low: Lowering, node: ast.Call) -> Expr:
        (value,) = numbers(low, node, ("x",))
        assert value.type is not None
        kinds, (wanted,) = resolve_several(function, value.type)
        run, dtypes = converted(value, wanted).run, [numpy_dtype(kind) for kind in kinds]
        return Expr(
            TupleType(kinds),
            lambda lanes: tuple(
                part.astype(dtype) for part, dtype in zip(compute(run(lanes)), dtypes, strict=True)
            ),
            masked=True,
        )

    return lower


_ALL_AGREE = """
def all_agree(mask, value):
    same = same_as(mask, value)
    agree = same == whole(mask)
    return (same if agree else whole(0)), agree
"""


def _all_agree(low: Lowering, node: ast.Call) -> Expr:
    """``cuda.match_all_sync``: the mask and True where all in it have one value, else 0, False."""
    given = numbers(low, node, ("mask", "value"))
    known = {"same_as": Ref("cuda.match_any_sync"), "whole": types.int32}
    return as_written_in_python(low, node, _ALL_AGREE, given, known.__getitem__)


def _vector(kind: Any, length: int) -> Lower:
    """``cuda.float32x4(a, b, c, d)``, of numbers and of shorter vectors."""

    def lower(low: Lowering, node: ast.Call) -> Expr:
        names = tuple(f"part {n + 1}" for n in range(length))
        parts: list[Expr] = []
        for one in arguments(low, node, names, 1):
            parts += unpacked(low, one) if isinstance(one.type, VectorType) else [one]
        if len(parts) != length or not all(is_scalar(part.type) for part in parts):
            said = f"`{ast.unparse(node.func)}` is made of {length} numbers"
            raise low.untyped(node, f"{said}, or of vectors that have so many together")
        return _made(low, [converted(part, kind) for part in parts])

    return lower


def _made(low: Lowering, parts: Sequence[Expr]) -> Expr:
    made = tuple_of(low, list(parts))
    type_ = VectorType(made.type.items, tuple(_PARTS[: len(parts)]))
    return replace(made, type=type_, const=UNKNOWN)


def _vectors() -> dict[str, Lower]:
    """CUDA's vectors by each of their paths: ``cuda.float32x4``, ``cuda.float4``."""
    found: dict[str, Lower] = {}
    for name in [one for one in dir(cuda) if hasattr(getattr(cuda, one), "aliases")]:
        kind, _, length = name.rpartition("x")
        if hasattr(types, kind) and length.isdigit():
            lower = _vector(getattr(types, kind), int(length))
            for path in (name, *getattr(cuda, name).aliases):
                found[f"cuda.{path}"] = lower
    return found


VECTORS = _vectors()
#: by path
FUNCTIONS: dict[str, Lower] = {
    "math.frexp": _pair(math.frexp, np.frexp),
    "math.modf": _pair(math.modf, np.modf),
    "cuda.match_all_sync": _all_agree,
    **VECTORS,
}
