"""An address of a Triton kernel, read as a sum.

Each part is a number, or a block of numbers made by `tl.arange`, times a distance in elements; what
they are made of is worked out with the numbers that the launch passes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from course.check.bindings import Bindings, called, program_axis
from course.check.kernel_text import KernelText, Launched, path_of, place_said, range_of, shown
from course.engine.faults import KernelFault
from course.plain.evaluator import is_name
from course.plain.trees import nodes

#: Parts of an address that are looked at: no honest kernel has more.
MOST_PARTS = 40


class ProgramText(KernelText):
    """A kernel's text with the numbers of the program that left the tensor."""

    def __init__(self, tree: ast.Module, fault: KernelFault) -> None:
        passed: Any = fault.fields.get("numbers", ())
        super().__init__(tree, fault.line or 0, Launched((), (), numbers=dict(passed)))
        given = self.function.args.args if self.function is not None else []
        if not {name for name, _ in passed} <= {one.arg for one in given}:
            self.launched = Launched((), ())  # a function that the kernel calls has other names
        self.program = place_said(fault.fields["program"])

    def _built_in(self, node: ast.expr, thread: object = None) -> int | None:
        axis = program_axis(node)
        if axis is None:
            return None
        return self.program[axis] if axis < len(self.program) else 0


@dataclass(frozen=True)
class Part:
    """A part of an address: what stands there, and the factors that it is multiplied by."""

    what: ast.expr
    factors: tuple[ast.expr, ...]
    moves: bool

    def times(self) -> str:
        return " * ".join(shown(one) for one in self.factors)

    def is_made_of(self, node: ast.expr) -> bool:
        return ast.dump(bare(node)) == ast.dump(bare(self.what))


class Address:
    """The parts of an address, without the pointer.

    Args:
        array: the pointer's name.
    """

    def __init__(self, text: ProgramText, names: Bindings, node: ast.expr, array: str) -> None:
        self.text, self.names, self.array = text, names, array
        found = islice(self._parts(node, ()), MOST_PARTS)
        self.parts = [part for part in found if not is_name(part.what, array)]

    def distance(self, part: Part) -> int | None:
        """What a part is multiplied by, where all of it is known."""
        factors = [self.text.number(one) for one in part.factors]
        known = [one for one in factors if one is not None]
        return math.prod(known) if len(known) == len(factors) else None

    def made(self, part: Part) -> ast.expr | None:
        """What a part's name was assigned, where it is one."""
        what = bare(part.what)
        return self.names.assigned(what) if isinstance(what, ast.Name) else what

    def tests_of(self, part: Part, mask: ast.expr) -> list[ast.Compare]:
        """The comparisons of a mask that set an end to a part."""
        return [
            test
            for test in self.text.expanded(mask)
            if isinstance(test, ast.Compare)
            and len(test.ops) == 1
            and isinstance(test.ops[0], ast.Lt)
            and part.is_made_of(test.left)
        ]

    def length(self, part: Part) -> int | None:
        """How many numbers a block has that moves on in an address."""
        for one in self.text.expanded(self.made(part) or part.what):
            if called(one, "arange") and len(one.args) == 2:
                first, end = map(self.text.number, one.args)
                return None if first is None or end is None else end - first
        return None

    def span(self, part: Part) -> tuple[ast.expr, ast.expr, ast.expr] | None:
        """The range of the loop that moves a block on."""
        for one in nodes(self.made(part) or part.what, ast.Name):
            if (loop := self.text.loop_of(one.id)) is not None:
                return range_of(loop)
        return None

    def _parts(self, node: ast.expr, factors: tuple[ast.expr, ...]) -> Iterator[Part]:
        inner = bare(node)
        value = self.names.assigned(inner) if isinstance(inner, ast.Name) else inner
        moves = any(called(one, "arange") for one in self.text.expanded(node))
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            if not self._is_one_block(value) and not (
                isinstance(inner, ast.Name) and not moves and inner.id != self.array
            ):
                yield from self._parts(value.left, factors)
                yield from self._parts(value.right, factors)
                return
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            sides = (value.left, value.right), (value.right, value.left)
            goes = [(one, by) for one, by in sides if self._follows(one) and not self._follows(by)]
            if goes:
                one, by = goes[0]
                yield from self._parts(one, (by, *factors))
                return
        yield Part(node, factors, moves)

    def _follows(self, node: ast.expr) -> bool:
        """Whether it differs within a launch: with the program, in a loop, or within a block."""
        made = self.text.expanded(node)
        return any(
            called(one, "arange", "program_id", "load")
            or (isinstance(one, ast.Name) and one.id in self.text.steps)
            for one in made
        )

    def _is_one_block(self, value: ast.BinOp) -> bool:
        """``first + tl.arange(0, B)``, where the first is a loop's count or a multiple of B."""
        for one, other in ((value.left, value.right), (value.right, value.left)):
            if called(one, "arange") and len(one.args) == 2:
                made = self.names.assigned(other) if isinstance(other, ast.Name) else other
                if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Mult):
                    return not is_name(other, self.array)
                length = ast.dump(one.args[1])
                return length in (ast.dump(made.left), ast.dump(made.right))
        return False


def apart_of(strides: Sequence[int]) -> str:
    """How far apart a tensor's elements lie, axis by axis."""
    *outer, last = map(str, strides)
    return f"{', '.join(outer)} and {last}" if outer else last


def bare(node: ast.expr) -> ast.expr:
    """`rows` of ``rows[:, None]`` and of ``rows.to(tl.int64)``."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr != "to" or path_of(node.func).startswith("tl."):
                return node
            node = node.func.value
        else:
            return node
