"""Loads that the compiler merges: written alike, of the same values, with no write between.

Triton's compiler computes equal expressions of a straight line of code once, and a load is
such an expression as long as nothing is written between. Two loads are taken for equal here
where their text is the same and every name in it still holds the very value it held before.
The compiler finds a few more (other names for the same offsets, a load that no iteration of a
loop changes); those are counted each time.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

#: functions of `tl` that may stand in the arguments: they write nothing
_PURE = frozenset({"arange", "cdiv", "load", "num_programs", "program_id"})
#: the arguments of a load that make it one of a kind
_KEPT_APART = frozenset({"volatile"})


@dataclass(frozen=True)
class Made:
    """A load that was made: what it saw, and what it gave."""

    seen: tuple[Any, ...]
    writes: int
    result: Any


class Merging:
    """The loads of the straight line of code that is being walked."""

    def __init__(self) -> None:
        #: by text; each line of code has a dictionary of its own
        self.made: dict[str, Made] = {}
        self._read: dict[ast.Call, tuple[str, tuple[str, ...]] | None] = {}

    def forget(self) -> None:
        """The straight line ends: programs may come from several sides to what follows."""
        self.made.clear()

    def text_and_names(self, node: ast.Call) -> tuple[str, tuple[str, ...]] | None:
        """The load's text and the names in it, or None for one that is never merged."""
        if node not in self._read:
            self._read[node] = _text_and_names(node)
        return self._read[node]

    def known(self, text: str, seen: tuple[Any, ...], writes: int) -> Made | None:
        """The equal load that was made before, if nothing has been written since."""
        made = self.made.get(text)
        if made is None or made.writes != writes or len(made.seen) != len(seen):
            return None
        same = all(a is b for a, b in zip(made.seen, seen, strict=True))
        return made if same else None


def _text_and_names(node: ast.Call) -> tuple[str, tuple[str, ...]] | None:
    if any(keyword.arg is None or keyword.arg in _KEPT_APART for keyword in node.keywords):
        return None
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    inside = [inner for argument in arguments for inner in ast.walk(argument)]
    for inner in inside:
        if isinstance(inner, ast.Call):
            function = inner.func
            if not isinstance(function, ast.Attribute) or function.attr not in _PURE:
                return None
        if isinstance(inner, ast.IfExp | ast.ListComp | ast.Starred):
            return None
    names = sorted({inner.id for inner in inside if isinstance(inner, ast.Name)})
    return ast.unparse(node), tuple(names)
