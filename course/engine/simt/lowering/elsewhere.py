"""Accesses that are counted elsewhere than they stand: what their index is made of, read there.

The compiler makes a load in front of a branch that both ways through it begin with, or at the end
of a way, or in another function's text. A variable of the index may have no value there yet, or
another one: where it stands for something else than in the access's own place, what it was given
is worked out anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course.engine.simt.lowering.expr import Names
from course.engine.simt.running.lanes import PARTLY, Lanes


def counted(made: Callable[..., None], there: Names) -> Callable[..., None]:
    """An access's count: `made` counts it where it stands, which is at `there`."""

    def count(lanes: Lanes, here: Names, asking: bool | np.ndarray = True) -> None:
        outer = lanes.vars
        lanes.vars = _Variables(lanes, outer, here, there)
        try:
            made(lanes, asking)
        finally:
            lanes.vars = outer

    return count


class _Variables(dict[str, Any]):
    """The variables of one place, worked out at another one when they are asked for."""

    def __init__(self, lanes: Lanes, current: dict[str, Any], here: Names, there: Names) -> None:
        super().__init__()
        self._lanes, self._current, self._here, self._there = lanes, current, here, there
        found = current if lanes.frame == there.frame else None
        for number, variables in reversed(lanes.callers):
            if found is None and number == there.frame:
                found = variables
        self._known = {} if found is None else found

    def __missing__(self, name: str) -> Any:
        binding = self._there.env.get(name)
        if binding is None or binding.given is None or self._here.env.get(name) is binding:
            return self._known[name]
        run, names = binding.given
        lanes, outer = self._lanes, self._lanes.vars
        lanes.vars = _Variables(lanes, self._current, self._here, names)
        try:
            self[name] = run(lanes)
        finally:
            lanes.vars = outer
        return self[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._there.env

    def get(self, name: str, default: Any = None) -> Any:
        """Of what stands beside the variables: in which lanes they have a value."""
        return self._known.get(name, default) if name == PARTLY else super().get(name, default)
