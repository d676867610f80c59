"""Families: tests of one shape, of which every run takes the first of each kind.

The others are slow, and `make test-slow` draws from them (`conftest.py`). Where the test itself is
marked a family, or has quick members alone, `make test` draws from what is not slow.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest


def few_or_many(few: int, many: int) -> pytest.MarkDecorator:
    """How many `examples` a test draws: few in every run, and many where slow tests run."""
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=pytest.mark.slow)])


def family(
    members: Iterable[Any], kind: Callable[[Any], Hashable], name: Callable[[Any], str] = str
) -> list[Any]:
    """The members as parameters of one test: a tuple is several of them."""
    known = set()
    found = []
    for one in members:
        marks = [pytest.mark.slow, pytest.mark.family] if kind(one) in known else []
        known.add(kind(one))
        values = one if isinstance(one, tuple) else (one,)
        found.append(pytest.param(*values, id=name(one), marks=marks))
    return found
