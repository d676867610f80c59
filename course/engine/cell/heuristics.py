"""`@triton.heuristics` above a cell's kernel: constants that Triton works out at each launch.

Triton calls a function for each, with the launch's arguments by name. A check executes none: it
takes a dict of lambdas, written out, or of functions of the cell, and walks each as a launcher.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course.engine.cell.tuning import no_parameter, tuned_twice, with_tuned
from course.engine.faults import KernelFault, Outcome, rejected
from course.engine.launcher import admit_value, value_of
from course.engine.launcher.calls import OPTIONS
from course.engine.launcher.frames import Closure, is_constant
from course.engine.launcher.names import text
from course.plain.arithmetic import kind

#: Where a kernel of a cell keeps what is worked out for it.
COMPUTED = "_course_computed"
#: What says of a lambda more than that it cannot be read.
_CLEAR = ("missing_import", "undefined_name")


@dataclass(frozen=True)
class Heuristics:
    """An expression for each name, in order, and the names of the cell that they stand in."""

    values: Mapping[str, ast.Lambda | ast.FunctionDef]
    names: Mapping[str, Any]

    @classmethod
    def read(
        cls, kernel: ast.FunctionDef, decorator: ast.Call, names: Mapping[str, Any]
    ) -> Heuristics:
        """What the decorator says.

        Raises:
            KernelFault: REJECTED, where it is no dict of lambdas; DOES_NOT_COMPILE, where the
                kernel has no such parameter.
        """
        given = [*decorator.args, *(k.value for k in decorator.keywords if k.arg == "values")]
        if len(given) != 1 or len(decorator.keywords) > 1 - len(decorator.args):
            raise _refused(decorator, decorator)
        if not isinstance(given[0], ast.Dict):
            raise _refused(given[0], given[0])
        values: dict[str, ast.Lambda | ast.FunctionDef] = {}
        parameters = [parameter.arg for parameter in kernel.args.args]
        for key, value in zip(given[0].keys, given[0].values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise _refused(key or value, key or value)
            if key.value not in parameters and key.value not in OPTIONS:
                raise no_parameter(key, kernel, key.value)
            function = names.get(value.id) if isinstance(value, ast.Name) else value
            function = function.node if isinstance(function, Closure) else function
            if not isinstance(function, ast.Lambda | ast.FunctionDef):
                raise _refused(value, value)
            values[key.value] = function
        return cls(values, names)

    def admit(self) -> None:
        """Holds every expression against the launcher's positive list.

        Raises:
            KernelFault: REJECTED, with the line.
        """
        for value in self.values.values():
            if isinstance(value, ast.FunctionDef):
                continue  # one of the cell's, which are all admitted
            try:
                admit_value(value, self.names)
            except KernelFault as fault:
                if fault.message_id in _CLEAR:
                    raise
                refused = _refused(value, value)
                refused.line = fault.line or refused.line
                raise refused from None


def heuristics_of(kernel: Any) -> Heuristics | None:
    """What was read above a cell's kernel."""
    found: Heuristics | None = kernel.__dict__.get(COMPUTED)
    return found


def each_with_computed(
    kernel: Any, args: Sequence[Any], named: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """A launch's arguments by name, with those of a configuration of autotune's and what the
    heuristics work out from all: for each configuration, in order.

    Raises:
        KernelFault: DOES_NOT_COMPILE, where the launch gives one of these, too; WRONG_ANSWER,
            where an expression has no value; REJECTED, where it asks for what the launch does not
            pass, or as `with_tuned` does.
    """
    return (_computed(kernel, args, every) for every in with_tuned(kernel, args, named))


def _computed(kernel: Any, args: Sequence[Any], every: dict[str, Any]) -> dict[str, Any]:
    found = heuristics_of(kernel)
    if found is None:
        return every
    placed = dict(zip(kernel.arg_names, args, strict=False))
    for name, expression in found.values.items():
        if name in placed or name in every:
            by = {"wrapper": "@triton.heuristics", "other": "@triton.autotune"}
            raise tuned_twice(kernel, name, **by)
        every[name] = _constant(expression, value_of(expression, found.names, placed | every))
    return every


def _constant(expression: ast.Lambda | ast.FunctionDef, value: Any) -> Any:
    if is_constant(value):
        return value
    raise KernelFault(
        Outcome.WRONG_ANSWER, "launcher_value", expression.lineno, construct=text(expression),
        detail=f"{kind(value)} is no constant",
    )  # fmt: skip


def _refused(node: ast.AST, construct: ast.AST) -> KernelFault:
    return rejected(node, "tile_heuristics", construct=text(construct))
