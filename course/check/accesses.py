"""Where a measured access stands in the text of its cell, and what its address is made of."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from course.check.bindings import Bindings, Loop, called, function_at
from course.check.kernel_text import KernelText, Launched, Thread, path_of, shown
from course.engine.traffic import Site
from course.plain.trees import covers, nodes

#: From this many readings of each sector on, reading again is what costs.
AGAIN = 1.5
#: How far two counts of one thing may lie apart: guards at the ends of arrays.
NEARLY = 0.9
_CALLS = {"load": ("load",), "store": ("store",), "atomic": ("atomic_add", "atomic_max")}


@dataclass(frozen=True)
class Access:
    """One site, and the node of the tree that makes it.

    Attributes:
        node: a subscript or an atomic (Numba), a `tl.load` or its like (Triton).
        address: the index, or the pointer with its offsets.
    """

    site: Site
    node: ast.expr
    address: ast.expr
    bindings: Bindings
    tree: ast.Module
    launched: Launched

    @cached_property
    def text(self) -> KernelText:
        return KernelText(self.tree, self.line, self.launched)

    @property
    def line(self) -> int:
        return self.site.line

    @property
    def written(self) -> str:
        """As a sentence quotes it: with its index (Numba), or the array alone."""
        if isinstance(self.node, ast.Subscript):
            return shown(self.node)
        return f"{self.array}[{shown(self.address).strip('()')}]" if self.array else self.site.array

    @cached_property
    def elements(self) -> str | None:
        """Which elements it takes, over all turns of its loops: equal texts are equal elements."""
        found = self.bindings.written_out(self.address)
        return None if found is None else ast.unparse(found)

    @property
    def loops(self) -> list[Loop]:
        return self.bindings.loops(self.node)

    @cached_property
    def same_in(self) -> Loop | None:
        """The outermost of the loops around it in whose turns its address does not change."""
        same = [one for one in self.loops if not self.bindings.changes(self.address, one)]
        return same[-1] if same else None

    def at_first(self, axes: Sequence[ast.expr], thread: Thread) -> list[int] | None:
        """Numbers of an index for a thread, in the first turn of every loop."""
        found = []
        for axis in axes:
            out = self.bindings.written_out(axis, first_turn=True)
            number = None if out is None else self.text.number(out, thread)
            if number is None:
                return None
            found.append(number)
        return found

    @property
    def axes(self) -> list[ast.expr]:
        """The index, an axis at a time."""
        index = self.address
        if isinstance(index, ast.Name):
            made = self.bindings.written_out(index, first_turn=True)
            index = made if isinstance(made, ast.Tuple) else index
        return list(index.elts) if isinstance(index, ast.Tuple) else [index]

    @property
    def array(self) -> str:
        """What the kernel calls the array (Numba)."""
        of = self.node.value if isinstance(self.node, ast.Subscript) else None
        if isinstance(self.node, ast.Call) and path_of(self.node.func).startswith("atomic."):
            of = self.node.args[0]
        return of.id if isinstance(of, ast.Name) else ""


def access_of(site: Site, tree: ast.Module, launched: Launched) -> Access | None:
    """The one access of a site's line and direction that can be meant, or None."""
    function = function_at(tree, site.line)
    if function is None:
        return None
    found = [
        (node, address)
        for node in nodes(function, ast.expr)
        if covers(node, site.line)
        for address in [_address(node, site.direction)]
        if address is not None
    ]
    calls = [one for one in found if isinstance(one[0], ast.Call)]
    there = calls or [one for one in found if one[0].lineno == site.line]
    at = site.line, site.column
    # of a Triton access the compiler keeps the place of an argument
    around = [one for one in there if at <= (one[0].end_lineno or 0, one[0].end_col_offset or 0)]
    around = [one for one in around if (one[0].lineno, one[0].col_offset) <= at]
    exact = [one for one in there if (one[0].lineno, one[0].col_offset) == at]
    there = exact or around or there
    if len({ast.dump(node) for node, _ in there}) != 1:
        return None
    node, address = there[0]
    return Access(site, node, address, Bindings(function), tree, launched)


def _address(node: ast.expr, direction: str) -> ast.expr | None:
    """What says where an access is made, if a node is one of this direction."""
    if isinstance(node, ast.Call):
        if path_of(node.func).startswith("atomic.") and direction == "atomic":
            return node.args[1] if len(node.args) > 1 else None
        return node.args[0] if called(node, *_CALLS[direction]) and node.args else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return None if direction == "atomic" else node.slice
    return None
