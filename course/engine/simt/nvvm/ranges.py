"""What a branch tells the compiler of an index, and which address becomes another by it.

Numba tests each signed index, and takes ``i + n`` where ``i < 0``. In the block right behind a
branch on ``i > 40`` LLVM folds that test (InstCombine: a comparison under one that dominates it),
and the address there is another expression than outside: ``x[i]`` in the branch is a load of its
own, whatever was loaded before it or is loaded behind. Blocks further in keep the test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

_OTHERWISE = {"gt": "le", "le": "gt", "ge": "lt", "lt": "ge", "eq": "ne", "ne": "eq"}
_WHOLE = ("int", "uint", "bool")  # a comparison of floats has an outcome more: NaN
_TURNED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge", "eq": "eq", "ne": "ne"}


@dataclass(frozen=True)
class Fact:
    """`terms` add up to a number from `low` to `high`."""

    terms: tuple[Any, ...]
    low: float = -math.inf
    high: float = math.inf


def fact_of(key: Any, holds: bool) -> Fact | None:
    """What the outcome of the last test in a condition's key says, if it has a constant."""
    if not isinstance(key, tuple):
        return None
    if key[0] == "not":
        return fact_of(key[1], not holds)
    if key[0] in ("and", "or"):
        return fact_of(key[-1], holds) if holds == (key[0] == "and") else None
    if not (isinstance(key[0], tuple) and key[0][0] in _TURNED):
        return None
    test, left, right = key[0][0], key[1], key[2]
    if (bound := _constant(right)) is None:
        test, left, bound = _TURNED[test], right, _constant(left)
    terms, offset = linear(left)
    if bound is None or not terms or not math.isfinite(bound):
        return None
    test, bound = test if holds else _OTHERWISE[test], bound - offset
    if test == "eq":
        return Fact(terms, bound, bound)
    if test in ("gt", "ge"):
        return Fact(terms, low=math.floor(bound) + 1 if test == "gt" else math.ceil(bound))
    if test in ("lt", "le"):
        return Fact(terms, high=math.ceil(bound) - 1 if test == "lt" else math.floor(bound))
    return None


def opposite(key: Any) -> Any:
    """The key of the condition that holds where this one does not."""
    if not isinstance(key, tuple):
        return None
    if key[0] == "not":
        return key[1]
    if isinstance(key[0], tuple) and key[0][0] in _OTHERWISE and key[0][-1].startswith(_WHOLE):
        return ((_OTHERWISE[key[0][0]], *key[0][1:]), *key[1:])
    return ("not", key)


def compares_floats(key: Any) -> bool:
    """Whether a condition is one comparison of floats, or may be."""
    while isinstance(key, tuple) and key[0] == "not":
        key = key[1]
    if not isinstance(key, tuple):
        return True
    asked = key[0]
    return isinstance(asked, tuple) and not asked[-1].startswith(_WHOLE)


def is_switch(key: Any) -> bool:
    """Whether a condition asks which of several constants a number is."""
    asked = []
    while isinstance(key, tuple) and key[0] == "or":
        asked.append(key[2])
        key = key[1]
    values = [
        one[1]
        for one in (key, *asked)
        if isinstance(one, tuple) and one[0][0] == "eq" and _constant(one[2]) is not None
    ]
    return len(set(values)) < len(values)


def renames(key: Any, holds: bool, place: Any) -> bool:
    """Whether a condition's last test says that a number in an element's place is another one.

    GVN takes an argument for it, or else the older of the two.
    """
    if not isinstance(key, tuple):
        return False
    if key[0] == "not":
        return renames(key[1], not holds, place)
    if key[0] in ("and", "or"):
        return holds == (key[0] == "and") and renames(key[-1], holds, place)
    if not (isinstance(key[0], tuple) and key[0][0] == ("eq" if holds else "ne")):
        return False
    known = [one in place or one[0] == "argument" for one in key[1:]]
    return all(known) and any(one in place for one in key[1:])


def under(fact: Fact | None, key: Any) -> Any:
    """An index's key, marked where the fact changes how it is tested."""
    terms, offset = linear(key)
    if fact is None or fact.terms != terms:
        return key
    negative = min(fact.high, -offset - 1) - fact.low + 1
    rest = fact.high - max(fact.low, -offset) + 1
    for count, mark in ((negative, "never negative"), (rest, "always negative")):
        if count <= 0:
            return mark, key
    return ("tested for one", key) if 1 in (negative, rest) else key


def linear(key: Any) -> tuple[tuple[Any, ...], int]:
    """A number's key as (the terms of a sum, its constant)."""
    while key[0] in (("as", "int64"), ("as", "float64")):
        key = key[1]  # it keeps the value
    if key[0] == "linear":
        return key[1], key[2]
    return ((), 0) if key[0] == "number" else (((key, 1),), 0)


def _constant(key: Any) -> float | None:
    if key[0] == ("as", "float64"):
        key = key[1]
    return float(key[2]) if key[0] == "number" and key[1] in ("int64", "float64") else None
