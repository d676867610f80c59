"""What the walker of a launcher keeps of a call, and its values that are no numbers or tensors."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import torch
import triton.language as tl

from course.tile.launcher.names import is_kernel
from course.tile.launcher.numbers import MOST_ITEMS, is_number, kind
from course.tile.launcher.tensors import is_descriptor

MESSAGE_CHARACTERS = 200


@dataclass
class Frame:
    """One call: the names that its function binds, and the values they have by now."""

    names: frozenset[str]
    variables: dict[str, Any]
    outer: Frame | None = None


@dataclass(frozen=True, eq=False)
class Closure:
    """A lambda or a nested function, with the frame that it was made in."""

    node: ast.Lambda | ast.FunctionDef
    frame: Frame = field(repr=False)


@dataclass(frozen=True, eq=False)
class Configured:
    """A kernel with its grid: ``kernel[grid]``."""

    kernel: Any
    grid: Any


@dataclass(frozen=True, eq=False)
class Meta:
    """What a grid's function gets, and a heuristic's: the launch's arguments by name.

    Attributes:
        lacking: the message where one is asked for that is not there.
    """

    values: dict[str, Any]
    lacking: str


@dataclass
class Loop:
    """A loop that is being walked, and how many turns it has made."""

    line: int
    turn: int = 0


class Return(Exception):
    """Leaves a function with its value, on a line."""

    def __init__(self, value: Any, line: int) -> None:
        self.value = value
        self.line = line


class Break(Exception):
    """Leaves a loop."""


class Continue(Exception):
    """Leaves one turn of a loop."""


def passable(value: Any) -> bool:
    """Whether a value may be an argument of a kernel."""
    if isinstance(value, tuple):
        return len(value) <= MOST_ITEMS and all(map(passable, value))
    if value is None or is_kernel(value) or is_descriptor(value):
        return True
    return is_number(value) or isinstance(value, str | torch.Tensor | tl.dtype)


def shown(value: Any) -> str:
    """A value in a message: numbers and text as they are, tensors by their shape."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(shown, value[:8]))}{',' if len(value) == 1 else ''})"
    if value is None or is_number(value) or isinstance(value, str | torch.dtype | torch.device):
        return str(value)[:MESSAGE_CHARACTERS]
    return kind(value)
