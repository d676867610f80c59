"""Arithmetic on a kernel's constants, held to a size: it happens while the kernel is read.

The engine asks before it works something out, and so does Triton's compiler while it is held here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import triton.language as tl

from course.plain.arithmetic import MOST_BITS

MOST_ITEMS = 1024  # of a tuple
_TOO_MANY = f"the tuple would have more than {MOST_ITEMS} items"


class TooLargeError(ValueError):
    """A constant would be larger than a kernel's may be. The text says what of it."""


def require_small(operation: str, left: Any, right: Any) -> None:
    """Holds ``left operation right`` to a size before it is worked out.

    Raises:
        TooLargeError: for a result of thousands of digits or items.
        ValueError: for arithmetic on text.
    """
    if isinstance(left, str) or isinstance(right, str):
        if operation not in ("__eq__", "__ne__"):
            raise ValueError("text can be passed on and compared, nothing else")
    sizes = [len(v) for v in (left, right) if hasattr(v, "__len__") and not isinstance(v, str)]
    if sizes and operation in ("__mul__", "__add__"):
        times = [v for v in (left, right) if isinstance(v, int)] if operation == "__mul__" else [1]
        if sum(sizes) * max(times, default=1) > MOST_ITEMS:
            raise TooLargeError(_TOO_MANY)
    if not (isinstance(left, int) and isinstance(right, int)):
        return
    bits = {
        "__pow__": left.bit_length() * right,
        "__lshift__": left.bit_length() + right,
        "__mul__": left.bit_length() + right.bit_length(),
    }.get(operation, 0)
    if bits > MOST_BITS:
        raise TooLargeError("the number would have more than a thousand digits")


# ---------------------------------------------------------------- in Triton's compiler

#: What makes a constant longer than what it is made of, as `tl.constexpr` and `tl.tuple` call it.
_GROWING = ("__mul__", "__pow__", "__lshift__", "__add__")
_REFLECTED = {"__rmul__": "__mul__", "__rpow__": "__pow__", "__rlshift__": "__lshift__"}


@contextlib.contextmanager
def held_small() -> Iterator[list[str]]:
    """Holds the constants of Triton's compiler to the engine's sizes.

    Yields:
        What was refused, a sentence each: of an exception Triton keeps the text alone.
    """
    refused: list[str] = []

    def asking(operation: str, turned: bool, own: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, other: Any, *more: Any, **named: Any) -> Any:
            left, right = (_plain(other), _plain(self)) if turned else (_plain(self), _plain(other))
            with _noting(refused):
                require_small(operation, left, right)
            return own(self, other, *more, **named)

        return method

    def counting(own: Callable[..., None]) -> Callable[..., None]:
        def made(self: Any, args: Any, *more: Any, **named: Any) -> None:
            items, count = list(args), 1
            for item in items:  # a tuple is made for each type of the kernel's: without a call
                count += item.__dict__.get("_course_items", 1) if isinstance(item, tl.tuple) else 1
            if count > MOST_ITEMS:
                with _noting(refused):
                    raise TooLargeError(_TOO_MANY)
            self.__dict__["_course_items"] = count
            own(self, items, *more, **named)

        return made

    with contextlib.ExitStack() as stack:
        for kind in (tl.constexpr, tl.tuple):
            for name in (*_GROWING, *_REFLECTED):
                if name in vars(kind):
                    operation = _REFLECTED.get(name, name)
                    method = asking(operation, name in _REFLECTED, vars(kind)[name])
                    stack.enter_context(replaced(kind, name, method))
        stack.enter_context(replaced(tl.tuple, "__init__", counting(tl.tuple.__init__)))
        yield refused


@contextlib.contextmanager
def replaced(kind: type, name: str, method: Callable[..., Any]) -> Iterator[None]:
    """A class has another method inside."""
    own = vars(kind)[name]
    setattr(kind, name, method)
    try:
        yield
    finally:
        setattr(kind, name, own)


@contextlib.contextmanager
def _noting(refused: list[str]) -> Iterator[None]:
    try:
        yield
    except TooLargeError as error:
        refused.append(str(error))
        raise


def _plain(value: Any) -> Any:
    if isinstance(value, tl.tuple):
        return value.values
    return value.value if isinstance(value, tl.constexpr) else value
