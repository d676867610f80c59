"""What the walker of a launcher keeps of a call, and its values that are no numbers or tensors."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import triton.language as tl

from course.engine.launcher.names import CONFIG_OPTIONS, Own, is_kernel
from course.engine.launcher.tensors import is_descriptor
from course.plain.arithmetic import MOST_ITEMS, NotHere, NoValue, bounded, is_number, kind
from course.plain.evaluator import Frame

MESSAGE_CHARACTERS = 200


@dataclass(frozen=True, eq=False)
class Closure(Own):
    """A lambda or a nested function, with the frame that it was made in."""

    node: ast.Lambda | ast.FunctionDef
    frame: Frame = field(repr=False)


@dataclass(frozen=True, eq=False)
class Partial(Own):
    """A function with some of its arguments: `functools.partial`."""

    function: Any
    arguments: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Config(Own):
    """`triton.Config(kwargs, num_warps=...)`: constants of the kernel, and launch options."""

    kwargs: dict[str, Any]
    options: dict[str, Any]

    @classmethod
    def of(cls, arguments: Sequence[Any], named: Mapping[str, Any]) -> Config:
        """What a call makes.

        Raises:
            NoValue: for what is no dict of constants, or an option that a check does not take.
        """
        given = dict(named)
        constants = arguments[0] if arguments else given.pop("kwargs", None)
        if len(arguments) > 1 or not isinstance(constants, dict) or "kwargs" in given:
            raise NoValue("`triton.Config` takes a dict of the kernel's constants")
        if not all(isinstance(name, str) for name in constants):
            raise NoValue("the names of the constants are texts")
        options = {name: value for name, value in given.items() if value is not None}
        for name, value in options.items():
            if name not in CONFIG_OPTIONS:
                raise NotHere(f"a configuration cannot set `{name}` here")
            if not is_number(value):
                raise NoValue(f"`{name}` is a number, not {kind(value)}")
        for value in constants.values():
            if not is_constant(value):
                raise NoValue(f"{kind(value)} is no constant of a kernel")
        return cls(dict(constants), options)

    def member(self, name: str) -> Any:
        """``config.kwargs``, ``config.num_warps``."""
        return self.kwargs if name == "kwargs" else self.options.get(name, _DEFAULTS.get(name))


#: What Triton takes where a configuration says nothing.
_DEFAULTS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}


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


def is_constant(value: Any) -> bool:
    """Whether a kernel may get it as a constant of a configuration or a heuristic."""
    return value is None or is_number(value) or isinstance(value, str | tl.dtype)


def passable(value: Any) -> bool:
    """Whether a value may be an argument of a kernel."""
    if isinstance(value, tuple):
        return len(value) <= MOST_ITEMS and all(map(passable, value))
    if value is None or is_kernel(value) or is_descriptor(value):
        return True
    return is_number(value) or isinstance(value, str | torch.Tensor | tl.dtype)


def shown(value: Any) -> str:
    """A value in a message: numbers and text as they are, tensors by their shape."""
    try:
        bounded(value)
    except NoValue:
        return kind(value)
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(shown, value[:8]))}{',' if len(value) == 1 else ''})"
    plain = str | torch.dtype | torch.device | tl.dtype
    if value is None or is_number(value) or isinstance(value, plain):
        return str(value)[:MESSAGE_CHARACTERS]
    return kind(value)
