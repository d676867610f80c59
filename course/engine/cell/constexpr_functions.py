"""`@triton.constexpr_function` of a cell: what a kernel works out while it is compiled.

Triton calls such a function, in Python, with constants. Nothing of a learner's is executed, so
what it calls is a walk over the function's tree: arithmetic on plain values, as in a launcher.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

import triton.language as tl
from triton.runtime import jit

from course.engine.cell.definition import from_tree
from course.engine.faults import Outcome
from course.engine.launcher import applied
from course.engine.launcher.names import Own

#: Triton's class of them; what lacks it takes no such function of a cell.
_BASE: Any = getattr(jit, "ConstexprFunction", None)


def takes_them() -> bool:
    """Whether this Triton has what stands in for such a function here."""
    return _BASE is not None


class Walked(*((Own,) if _BASE is None else (_BASE, Own))):  # type: ignore[misc]  # a private class of Triton's
    """A function whose calls are walked."""

    node: ast.FunctionDef
    outside: Mapping[str, Any]

    def __call__(self, *args: Any, _semantic: Any = None, **named: Any) -> Any:
        found = applied(
            self.node,
            self.outside,
            [_plain(argument) for argument in args],
            {name: _plain(argument) for name, argument in named.items()},
            Outcome.DOES_NOT_COMPILE,  # it is the compiler that calls it
        )
        return found if _semantic is None else tl.constexpr(found)


def walked(node: ast.FunctionDef, filename: str, names: Mapping[str, Any]) -> Walked:
    """What stands for a function of a cell; Triton hashes its text, and nobody executes it.

    Args:
        names: of the cell, by which the walk finds constants and other functions.
    """
    made: Walked = from_tree(node, filename, {}, Walked)
    made.node, made.outside = copy.copy(node), names
    made.node.decorator_list = []
    return made


def _plain(value: Any) -> Any:
    value = value.value if isinstance(value, tl.constexpr) else value
    return tuple(_plain(item) for item in value.values) if isinstance(value, tl.tuple) else value
