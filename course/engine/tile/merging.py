"""Loads that the compiler makes once: equal ones of one block, and those that a loop repeats.

Triton's compiler does two things to loads, and the count follows both (`tests/tile/test_merging.py`
holds it to compiled code, and `tests/tile/hardware` to a GPU's counters):

- Of equal loads in one straight block of code it keeps the first, if nothing is written between.
  Equal are loads of the same pointers under the same mask: values with one number
  (`course.engine.tile.numbering`).
- A load that stands directly in the body of a `for`, and whose pointers and mask are the same in
  each turn, it moves out of the loop, if nothing in the loop writes. Not from a `while`, nor from
  under an `if`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from triton.runtime.jit import JITFunction

from course.engine.triton.functions import names_used, stays_a_call, writes

#: calls over which the compiler moves no load, though they write to no tensor
_ORDERED = frozenset({"debug_barrier", "device_print", "print"})


@dataclass
class Region:
    """A straight block of code: the loads made in it, and the loops in it that only read."""

    #: by the load's number: (writes before it, the number of what it gave)
    loads: dict[int, tuple[int, int]] = field(default_factory=dict)
    loops: dict[tuple[int, ...], Region] = field(default_factory=dict)

    def forget(self) -> None:
        """Nothing from here on equals what was loaded before."""
        self.loads.clear()
        self.loops.clear()


class Merging:
    """The loads of the code that is being walked."""

    def __init__(self) -> None:
        self.region = Region()
        #: stands for the straight block of code that is being walked
        self.block = object()
        self._quiet: dict[ast.AST, bool] = {}

    @contextmanager
    def within(self, region: Region | None = None) -> Iterator[None]:
        """A block of code of its own; `region` holds what was loaded in it before."""
        outer, self.region = self.region, region or Region()
        self.block = object()
        try:
            yield
        finally:
            self.region = outer
            self.block = object()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """The code of a function that the compiler calls: no load is moved across the call."""
        self.region.forget()
        with self.within():
            yield
        self.region.forget()

    def known(self, number: int, writes_before: int) -> int | None:
        """The number of what an equal load gave, if the compiler makes one of the two."""
        found = self.region.loads.get(number)
        return None if found is None or found[0] != writes_before else found[1]

    def made(self, number: int, writes_before: int, result: int) -> None:
        """A load was made."""
        self.region.loads[number] = (writes_before, result)

    def of_loop(self, node: ast.For, bounds: Iterable[int]) -> Region:
        """Where the loads of a loop's turns are kept together, if nothing in the loop writes."""
        return self.region.loops.setdefault((id(node), *bounds), Region())

    def quiet(self, node: ast.stmt, scope: dict[str, Any]) -> bool:
        """Whether nothing under a statement writes."""
        found = self._quiet.get(node)
        if found is None:
            found = self._quiet[node] = not _writes_in([node], scope)
        return found


def _writes_in(statements: Sequence[ast.stmt], scope: dict[str, Any]) -> bool:
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and _writes(node, scope):
                return True
    return False


def _writes(call: ast.Call, scope: dict[str, Any]) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else ""
    if isinstance(function, ast.Name):
        found = scope.get(function.id, getattr(builtins, function.id, None))
        if found is None:  # a parameter: whatever was passed
            return True
        name = str(getattr(found, "__name__", function.id))
        if isinstance(found, JITFunction):
            used = names_used(found)
            called = [one for n in used if isinstance(one := scope.get(n), JITFunction)]
            if any(map(writes, used)) or any(map(stays_a_call, [found, *called])):
                return True
    return writes(name) or name in _ORDERED or any(k.arg == "volatile" for k in call.keywords)
