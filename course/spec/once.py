"""Work done once: what a reference, its magnitude and what is computed of inputs have in common,
and what follows from a case alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import numpy as np

_Result = TypeVar("_Result")
#: A lesson has some hundred cases, held-out ones included.
_MOST_KEPT = 1 << 12


def once(of: Callable[..., _Result]) -> Callable[..., _Result]:
    """`of`, which gives its last result again where it is asked of the same memory.

    It takes positions alone: arrays that nobody changes between two calls, and numbers. Nobody
    changes its result either.
    """
    kept: tuple[list[object], tuple[Any, ...], _Result] | None = None

    @wraps(of)
    def shared(*given: Any) -> _Result:
        nonlocal kept
        asked, last = [_identity(value) for value in given], kept
        if last is None or last[0] != asked:
            # with the arrays, whose place in memory is nobody else's as long as they are held
            last = kept = asked, given, of(*given)
        return last[2]

    return shared


def of_case(of: Callable[..., _Result]) -> Callable[..., _Result]:
    """`of` an exercise, a case and constants, worked out once for each.

    Exercise and case are held and never changed; nobody changes the result either.
    """
    kept: dict[object, tuple[object, object, _Result]] = {}

    @wraps(of)
    def known(exercise: Any, case: Any, constants: Mapping[str, int] | None = None) -> _Result:
        asked = identity(exercise, case, constants)
        found = kept.get(asked)
        if found is None:
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            found = kept[asked] = exercise, case, of(exercise, case, constants)
        return found[2]

    return known


def identity(exercise: Any, case: Any, constants: Mapping[str, int] | None) -> object:
    """What tells a case from all others, as long as somebody holds it and the exercise: their
    places in memory.
    """
    return id(exercise), id(case), tuple((constants or {}).items())


def _identity(value: Any) -> object:
    """Two arrays are the same where they lie at one place, in one order, in one type."""
    if not isinstance(value, np.ndarray):
        return type(value), value
    return value.__array_interface__["data"], value.shape, value.strides, value.dtype
