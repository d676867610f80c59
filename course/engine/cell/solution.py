"""What a check asks of a cell, whichever dialect it is written in."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from course.engine.faults import KernelFault, rejected


@dataclass(frozen=True)
class Solution:
    """What a check asks of a cell: the function that is named like the exercise, its constants.

    Attributes:
        parameters: the function's, as the learner calls them.
        spare: how many of the last ones a call may leave out: they have values of their own.
        line: of its `def`.
        span: first and last line of the function, decorators included.
        constants: numbers assigned at the cell's top level.
    """

    tree: ast.Module
    parameters: tuple[str, ...]
    line: int
    span: tuple[int, int]
    constants: Mapping[str, int | float]
    spare: int = 0


def missing(name: str, others: Mapping[str, Any]) -> KernelFault:
    """The cell has no function of the exercise's name."""
    listed = tuple(f"`{other}`" for other in others) or None
    return rejected(None, "no_such_kernel", name=name, found=listed)


def found(
    tree: ast.Module,
    node: ast.FunctionDef,
    constants: Mapping[str, int | float],
    worked_out: Collection[str] = (),
) -> Solution:
    """The solution whose function is `node`; its decorators work out the parameters named."""
    line = node.lineno
    named = _named(node.args)
    valued = _with_defaults(node.args)
    spare = takewhile(lambda one: one in valued or one.arg in worked_out, reversed(named))
    return Solution(
        tree,
        tuple(argument.arg for argument in named),
        line,
        (min([line, *(d.lineno for d in node.decorator_list)]), node.end_lineno or line),
        constants,
        len(list(spare)),
    )


def _named(arguments: ast.arguments) -> list[ast.arg]:
    """Every parameter: which of them a kernel may have, its dialect says."""
    starred = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def _with_defaults(arguments: ast.arguments) -> list[ast.arg]:
    """The parameters that `def` gives a value."""
    placed = [*arguments.posonlyargs, *arguments.args]
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [
        *placed[len(placed) - len(arguments.defaults) :],
        *(one for one, default in by_name if default is not None),
    ]
