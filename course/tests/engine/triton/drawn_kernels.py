"""Kernels drawn at random, as source: hypothesis writes a program.

A drawn kernel keeps five variables of fixed types: blocks `a` (float32), `b` (float16) and `c`
(int32), scalars `s` (int32) and `t` (float32). Each statement gives one of them a new value of
its type, stores one, or is control flow around such statements, so that whatever is drawn is
Triton. `x`, `y` and `pid` are the program's place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st

from course.tests.engine.triton.drawn_expressions import SHAPES, Choose, Expressions
from course.tests.written import module_of

SUMS = 8
MOST_DEPTH = 3
#: What may be wrong with a kernel, in one statement of it at most.
HAZARDS = ("load", "store", "same place", "same lane", "neighbour")

HEAD = '''\
import triton
import triton.language as tl


@triton.jit
def small(x):
    """Whole numbers from -4 to 4, whatever x holds."""
    return tl.minimum(tl.maximum(tl.floor(x.to(tl.float32)), -4.0), 4.0)


@triton.jit
def larger(x, y):
    if x % 16 > y % 16:
        return x
    return y


@triton.jit
def wrapped(x, y):
    return x * 3 + y
'''
PARAMETERS = "f_ptr, h_ptr, i_ptr, f_out, h_out, i_out, sums_ptr, weights_ptr, n"
OF_A_HELPER = "f_ptr, h_ptr, i_ptr, n, x, y, pid, lanes, a, b, c"


@dataclass(frozen=True)
class Drawn:
    """A kernel's source, and how it is launched.

    Attributes:
        slots: blocks that a program may store to each output.
        hazard: what one statement may do wrong; "" where none does.
    """

    source: str
    shape: tuple[int, ...]
    grid: tuple[int, int]
    n: int
    seed: int
    slots: int
    hazard: str

    def arguments(self) -> list[Any]:
        """Tensors and numbers for one launch, in the order of the kernel's parameters."""
        generator = torch.Generator().manual_seed(self.seed)
        programs = self.grid[0] * self.grid[1]
        stored = self.slots * programs * math.prod(self.shape)
        floats = torch.randn(self.n, generator=generator) * 3
        whole = torch.randint(-40, 40, (self.n,), generator=generator, dtype=torch.int32)
        outputs = [torch.zeros(stored, dtype=t) for t in (torch.float32, torch.float16)]
        return [
            floats, floats.flip(0).half(), whole, *outputs,
            torch.zeros(stored, dtype=torch.int32), torch.zeros(SUMS, dtype=torch.int32),
            torch.zeros(SUMS), self.n,
        ]  # fmt: skip

    def kernel(self) -> Any:
        """The kernel, in a module of its own."""
        return module_of("drawn", self.source).kernel


class _Statements(Expressions):
    """Draws statements: of a function, or of the kernel, which may write."""

    def __init__(self, choose: Choose, shape: tuple[int, ...], exact: bool, hazard: str) -> None:
        super().__init__(choose, shape, exact)
        self.hazard = hazard
        self.slots = 1  # where each program ends by storing
        self.helpers: list[str] = []
        self.loops = 0
        self.in_helper = False

    def body(self, depth: int, most: int = 3, loop: bool = False) -> list[str]:
        """Statements of one block."""
        several = (self.statement(depth, loop) for _ in range(self.number(1, most)))
        return [line for lines in several for line in lines]

    def statement(self, depth: int, loop: bool) -> list[str]:
        options = [*[self.assigned] * 3, self.chosen]
        if depth:
            options += [lambda: self.branched(depth, loop)] * 2
            options += [lambda: self.counted(depth)] * 2
            options.append(lambda: self.repeated(depth))
            if not loop:
                options.append(lambda: self.returned(depth))
        if self.helpers:
            options += [self.called] * 2
        if not self.in_helper:
            options += [self.stored, self.added, *[self.wrong] * (4 if self.hazard else 0)]
        return self.one_of(*options)()

    def assigned(self) -> list[str]:
        name = self.one_of("a", "b", "c", "s", "t", "several")
        if name == "several":
            return [f"s, t, c = ({self.s(1)} + s, {self.t(1)} - t, {self.c(1)})"]
        return [f"{name} = {getattr(self, name)(self.number(1, 2))}"]

    def chosen(self) -> list[str]:
        name = self.one_of("a", "s", "t")
        one, other = (getattr(self, name)(1) for _ in range(2))
        return [f"{name} = {one} if {self.condition(1)} else {other}"]

    def called(self) -> list[str]:
        value = f"{self.one_of(*self.helpers)}({OF_A_HELPER}, s + {self.s(1)}, t - {self.t(1)})"
        return [self.one_of(f"a = {value}", f"t = tl.max({value})")]

    # ------------------------------------------------------------ control flow

    def branched(self, depth: int, loop: bool) -> list[str]:
        found = [f"if {self.condition(2)}:", *_inside(self.body(depth - 1, loop=loop))]
        if self.chance():
            middle = self.body(depth - 1, 2, loop)
            found += [f"elif {self.condition(1)}:", *_inside(middle)]
        if self.chance():
            found += ["else:", *_inside(self.body(depth - 1, loop=loop))]
        return found

    def counted(self, depth: int) -> list[str]:
        bounds = self.one_of(
            "range(s & 3)", "range(pid % 3)", "range(3)", "tl.range(x, x + 2)", "range(y, 3)",
            "range(0, (s * 5) & 7, 3)", "range(4, s & 3, -2)", "tl.static_range(2)",
            "range(tl.load(i_ptr + pid % n) & 3)",
        )  # fmt: skip
        name, inner = self._loop("i", depth)
        return [f"for {name} in {bounds}:", *_inside(inner)]

    def repeated(self, depth: int) -> list[str]:
        first = self.one_of("s & 3", "pid % 3", "(x + y) & 3", f"({self.s(1)} + pid) & 3")
        test = f" and ({self.condition(1)})" if self.chance() else ""
        name, inner = self._loop("k", depth)
        inner = [f"{name} -= 1", *inner]
        return [f"{name} = {first}", f"while ({name} > 0){test}:", *_inside(inner)]

    def _loop(self, letter: str, depth: int) -> tuple[str, list[str]]:
        """A new counter, and statements that know it."""
        name = f"{letter}{self.loops}"
        self.loops += 1
        self.counters.append(name)
        inner = self.body(depth - 1, loop=True)
        self.counters.pop()
        return name, inner

    def returned(self, depth: int) -> list[str]:
        before = self.body(depth - 1, 2, loop=True)
        value = f" {self.a(1)}" if self.in_helper else ""
        return [f"if {self.condition(1)}:", *_inside([*before, f"return{value}"])]

    # ------------------------------------------------------------ writes

    def slot(self) -> int:
        """Room that nothing else of the kernel stores to: a block a program."""
        self.slots += 1
        return self.slots - 1

    def stored(self) -> list[str]:
        name, pointer = self.one_of(("a", "f_out"), ("b", "h_out"), ("c", "i_out"))
        place = f"({self.slot()} * programs + pid)"
        if name == "a" and self.describable and self.chance():
            rows, columns = self.shape
            extent = f"[({place} + 1) * {rows}, {columns}], [{columns}, 1], [{rows}, {columns}]"
            made = f"tl.make_tensor_descriptor(f_out, {extent})"
            return [f"{made}.store([{place} * {rows}, 0], a)"]
        mask = f", mask={self.mask()}" if self.chance() else ""
        return [f"tl.store({pointer} + {place} * {self.size} + lanes, {name}{mask})"]

    def added(self) -> list[str]:
        mask = f", mask={self.mask()}" if self.chance() else ""
        return [
            self.one_of(
                f"tl.atomic_add(sums_ptr + (c & {SUMS - 1}), c{mask})",
                f"tl.atomic_add(sums_ptr + (s & {SUMS - 1}), 1)",
                f"tl.atomic_add(weights_ptr + (c & {SUMS - 1}), small(a){mask})",
            )
        ]

    def wrong(self) -> list[str]:
        """The one statement that may be out of bounds, or a race."""
        hazard, self.hazard = self.hazard, ""
        block = self.size * self.number(1, 3)
        room = f"i_out + {self.slot()} * programs * {self.size}"
        return {
            "load": [f"a = tl.load(f_ptr + pid * {block} + lanes)"],
            "store": [f"tl.store(h_out - (pid + 1) * {self.size} + lanes, b, mask=c > 9)"],
            "same place": [f"tl.store({room} + lanes, c)"],
            "same lane": [f"tl.store({room} + pid * {self.size} + (lanes & (s & 15)), c)"],
            "neighbour": [f"c = tl.load(i_out + pid // 2 * {self.size} + lanes)"],
        }[hazard]

    # ------------------------------------------------------------ functions

    def helper(self) -> str:
        """A function that gives a block of float32; it may load, and call those before it."""
        self.in_helper = True
        lines = [*self.body(2), f"return {self.a(1)}"]
        self.in_helper = False
        self.helpers.append(f"helper{len(self.helpers)}")
        return _function(self.helpers[-1], f"{OF_A_HELPER}, s, t", lines)

    def kernel(self) -> str:
        if self.flat:
            lanes = f"tl.arange(0, {self.size})"
        else:
            rows, columns = self.shape
            lanes = f"tl.arange(0, {rows})[:, None] * {columns} + tl.arange(0, {columns})[None, :]"
        lines = [
            "x, y = tl.program_id(0), tl.program_id(1)",
            "programs = tl.num_programs(0) * tl.num_programs(1)",
            "pid = y * tl.num_programs(0) + x",
            f"lanes = {lanes}",
            f"at = pid * {self.size} + lanes",
            "a = tl.load(f_ptr + at, mask=at < n, other=1.0)",
            "b = tl.load(h_ptr + at, mask=at < n, other=0.5)",
            "c = tl.load(i_ptr + at, mask=at < n, other=3)",
            "s = tl.load(i_ptr + pid % n)",
            "t = tl.load(f_ptr + pid % n)",
            *self.body(MOST_DEPTH, 5),
            *(self.wrong() if self.hazard else []),
            "tl.store(f_out + at, a + t)",
            "tl.store(h_out + at, b)",
            "tl.store(i_out + at, c + s)",
        ]
        return _function("kernel", PARAMETERS, lines)


def _function(name: str, parameters: str, lines: list[str]) -> str:
    return "\n".join(["", "", "@triton.jit", f"def {name}({parameters}):", *_inside(lines), ""])


def _inside(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def drawn(choose: Choose, exact: bool = False, hazards: bool = False) -> Drawn:
    """A kernel of which `choose` takes every part; with `hazards`, it may have one fault."""
    shape = choose(SHAPES)
    hazard = choose(HAZARDS) if hazards else ""
    writer = _Statements(choose, shape, exact, hazard)
    helpers = [writer.helper() for _ in range(choose(range(3)))]
    source = HEAD + "".join([*helpers, writer.kernel()])
    grid = choose([(1, 1), (3, 1), (5, 1), (2, 2), (4, 2), (7, 1)])
    n = choose(range(1, grid[0] * grid[1] * math.prod(shape) + 6))
    return Drawn(source, shape, grid, n, choose(range(100)), writer.slots, hazard)


@st.composite
def drawn_kernels(draw: Any, hazards: bool = False) -> Drawn:
    """Kernels that hypothesis draws, and makes smaller where one fails."""
    return drawn(lambda options: draw(st.sampled_from(options)), hazards=hazards)
