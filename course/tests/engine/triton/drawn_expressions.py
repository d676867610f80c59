"""Expressions of drawn kernels: values of five types, from loads, arithmetic and reductions.

What is added up in an order of its own (a dot, an atomic on floats, a sum of float32) is drawn from
small whole numbers, whose sums are exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

Choose = Callable[[Sequence[Any]], Any]
#: Blocks that may be drawn; `tl.dot` needs the square one, which comes oftener.
SHAPES = [(1,), (8,), (32,), (4, 8), (16, 2), (8, 8), (16, 16), (16, 16)]
SQUARE = (16, 16)
NEEDED_COLUMNS = 4  # a row of a descriptor has 16 bytes at least


class Expressions:
    """Draws values of the five types; a deeper one holds more operations.

    Attributes:
        choose: takes one of several things.
        exact: nothing that a GPU only approximates, so that results can be compared to the bit:
            no product that a sum may take in, unrounded, and nothing that hangs on the order in
            which elements of a block are combined.
    """

    def __init__(self, choose: Choose, shape: tuple[int, ...], exact: bool) -> None:
        self.choose = choose
        self.shape = shape
        self.exact = exact
        self.size = math.prod(shape)
        self.counters: list[str] = []

    def one_of(self, *options: Any) -> Any:
        return self.choose(options)

    def number(self, low: int, high: int) -> int:
        return self.choose(range(low, high + 1))

    def near(self, *options: Any) -> tuple[Any, ...]:
        """What a GPU may round, or combine, in a way of its own, where such is drawn."""
        return () if self.exact else options

    def chance(self) -> bool:
        return self.choose((False, True))

    @property
    def flat(self) -> bool:
        return len(self.shape) == 1

    @property
    def describable(self) -> bool:
        return not (self.exact or self.flat) and self.shape[1] >= NEEDED_COLUMNS

    @property
    def axis(self) -> int:
        return 0 if self.flat else self.number(0, 1)

    def along(self, name: str, block: str, more: str = "") -> str:
        """A reduction along an axis, to be spread over the block again."""
        axis = self.axis
        spread = "" if self.flat else ("[None, :]", "[:, None]")[axis]
        return f"{name}({block}, {axis}{more}){spread}"

    def folded(self, block: str) -> tuple[str, str]:
        """A function that reduces, and what of a float32 block to give it."""
        return self.one_of(("tl.max", block), ("tl.min", block), ("tl.sum", f"small({block})"))

    def turned(self, block: str) -> str:
        """The same elements in other places."""
        if self.flat:  # of one element Triton flips nothing
            return f"tl.flip({block}, 0)" if self.size > 1 else block
        return f"tl.reshape(tl.trans({block}), {list(self.shape)})"

    def loaded(self, pointer: str, other: str) -> str:
        """A block from anywhere in the n elements of an input."""
        k = self.number(1, 9)
        place = self.one_of(
            "lanes", f"(pid * {k} + lanes)", f"(lanes * {k} + (s & 63))", "(c & 1023)",
            "(lanes // 2)", "(lanes * 0 + pid)",
        )  # fmt: skip
        mask = f", mask={self.mask()}" if self.chance() else ""
        other = f", other={other}" if mask and self.chance() else ""
        return f"tl.load({pointer} + {place} % n{mask}{other})"

    def mask(self) -> str:
        k = self.number(1, 12)
        return self.one_of(
            lambda: f"lanes < {k}",
            lambda: "lanes < s",
            lambda: "c > 0",
            lambda: f"a < {k}.5",
            lambda: f"(lanes + pid) % {k} == 0",
            lambda: f"(c == c) & ({self.condition(0)})",
        )()

    def fused(self, value: Callable[[int], str]) -> str:
        """A sum that may take a product in: one instruction, rounded once."""
        x, y, z, w = (value(0) for _ in range(4))
        sign = self.one_of("+", "-")
        return self.one_of(
            f"({x} * {y} {sign} {z})", f"({z} {sign} {x} * {y})", f"({x} * {y} {sign} {z} * {w})"
        )

    def a(self, depth: int) -> str:
        """A float32 block."""
        if not depth:
            return self.one_of("a", "a", "b.to(tl.float32)", "c.to(tl.float32)", "(a + 0.5)")
        one = self.a(depth - 1)
        options = [
            lambda: f"({one} {self.one_of('+', '-', *self.near('*', '/'))} {self.a(depth - 1)})",
            lambda: f"({one} {self.one_of('+', '-', *self.near('*'))} {self.t(depth - 1)})",
            lambda: f"({one} * {self.one_of('-2.0', '0.25')})",
            *self.near(lambda: self.fused(self.a), lambda: f"({one} * {self.t(0)} + {self.a(0)})"),
            lambda: f"tl.where({self.mask()}, {one}, {self.a(depth - 1)})",
            lambda: f"tl.{self.one_of('maximum', 'minimum')}({one}, {self.a(0)})",
            lambda: (
                f"tl.{self.one_of('floor', *self.near('exp', 'sqrt', 'log', 'sin'))}"
                f"(tl.abs({one}) * 0.25)"
            ),
            lambda: self.loaded("f_ptr", "2.5"),
            lambda: f"({one} - {self.along(*self.folded(one))})",
            lambda: f"tl.cumsum(small({one}), {self.axis})",
            lambda: f"tl.full({list(self.shape)}, {self.number(-9, 9)}.25, tl.float32)",
            lambda: (
                f"({one}.to(tl.bfloat16) {self.one_of('+', *self.near('*'))} b.to(tl.bfloat16))"
                ".to(a.dtype)"
            ),
            lambda: f"tl.min(tl.join({one}, {self.a(0)}), {len(self.shape)})",
            lambda: self.turned(one),
        ]
        if self.shape == SQUARE:
            options += [lambda: self.dot(depth)] * 4
        if self.describable:
            options.append(self.described)
        return self.one_of(*options)()

    def dot(self, depth: int) -> str:
        left, right = (f"small({self.a(depth - 1)}).to(tl.float16)" for _ in range(2))
        right = f"tl.trans({right})" if self.chance() else right
        start = ", small(a)" if self.exact else ", a"
        product = f"tl.dot({left}, {right}{self.one_of('', start)})"
        # of an addition behind it the compiler makes the product's own, which rounds otherwise
        return f"tl.minimum({product}, 50.0)" if self.exact else product

    def described(self) -> str:
        rows, columns = self.shape
        start = self.one_of(f"pid * {rows}", "x", "s & 15")
        return (
            f"tl.make_tensor_descriptor(f_ptr, [n // {columns}, {columns}], [{columns}, 1], "
            f"[{rows}, {columns}]).load([{start}, 0])"
        )

    def b(self, depth: int) -> str:
        """A float16 block."""
        if not depth:
            return self.one_of("b", "(b * 0.5)", "a.to(tl.float16)")
        one = self.b(depth - 1)
        return self.one_of(
            lambda: f"({one} {self.one_of('+', '-', *self.near('*'))} {self.b(depth - 1)})",
            *self.near(lambda: self.fused(self.b)),
            lambda: f"({self.a(depth - 1)}).to(tl.float16)",
            lambda: self.loaded("h_ptr", "0.5"),
            lambda: (
                f"({one} + {self.along(self.one_of('tl.max', *self.near('tl.sum')), one)})"
                ".to(tl.float16)"
            ),
            lambda: self.turned(one),
        )()

    def c(self, depth: int) -> str:
        """An int32 block."""
        if not depth:
            return self.one_of("c", "c", "lanes", "(c ^ 5)", "(c + pid)")
        one = self.c(depth - 1)
        return self.one_of(
            lambda: f"({one} {self.one_of('+', '-', '*', '&', '|', '^')} {self.c(depth - 1)})",
            lambda: f"({one} {self.one_of('//', '%')} ({self.s(depth - 1)} | 1))",
            lambda: f"({one} {self.one_of('<<', '>>')} ({self.s(0)} & 7))",
            lambda: f"tl.where({self.mask()}, {one}, {self.c(0)})",
            lambda: f"small({self.a(depth - 1)}).to(tl.int32)",
            lambda: self.loaded("i_ptr", "7"),
            lambda: f"({one} + {self.along(self.one_of('tl.max', 'tl.sum', 'tl.argmax'), one)})",
            *self.near(
                lambda: f"({one} - {self.along('tl.reduce', one, ', larger')})",
                lambda: f"tl.associative_scan({one}, {self.axis}, wrapped)",
            ),
            lambda: f"tl.sort({one})",
            lambda: self.gathered(one),
            lambda: f"({one}.to(tl.int64) * {self.s(0)} >> 3).to(tl.int32)",
            lambda: self.turned(one),
        )()

    def gathered(self, block: str) -> str:
        axis = self.axis
        return f"tl.gather({block}, {self.c(0)} & {self.shape[axis] - 1}, {axis})"

    def s(self, depth: int) -> str:
        """An int32 scalar."""
        if not depth:
            return self.one_of("s", "pid", "x", "y", "n", str(self.number(0, 9)), *self.counters)
        one = self.s(depth - 1)
        return self.one_of(
            lambda: f"({one} {self.one_of('+', '-', '*', '^')} {self.s(depth - 1)})",
            lambda: f"tl.{self.one_of('sum', 'max', 'min')}({self.c(depth - 1)})",
            lambda: f"tl.load(i_ptr + ({one} & 1023) % n)",
            lambda: f"tl.{self.one_of('maximum', 'minimum')}({one}, s)",
        )()

    def t(self, depth: int) -> str:
        """A float32 scalar."""
        if not depth:
            return self.one_of("t", "t", f"{self.number(0, 3)}.5", "s.to(tl.float32)")
        one = self.t(depth - 1)
        return self.one_of(
            lambda: f"({one} {self.one_of('+', '-', *self.near('*'))} {self.t(depth - 1)})",
            *self.near(lambda: self.fused(self.t)),
            lambda: "{}({})".format(*self.folded(self.a(depth - 1))),
            lambda: f"tl.load(f_ptr + ({self.s(depth - 1)} & 1023) % n)",
            lambda: f"tl.{'max' if self.exact else 'sum'}({self.b(depth - 1)}).to(tl.float32)",
        )()

    def condition(self, depth: int) -> str:
        """What programs may disagree about."""
        k = self.number(0, 3)
        options = [
            lambda: f"pid % {k + 1} == 0",
            lambda: f"x {self.one_of('<', '>', '==', '!=')} {k}",
            lambda: f"y {self.one_of('<', '>=')} {k}",
            lambda: f"s > {self.number(-20, 20)}",
            lambda: f"t < {k}.5",
        ]
        if depth:
            options += [
                lambda: f"({self.s(depth - 1)} + s) % {k + 2} == 1",
                lambda: f"{self.t(depth - 1)} > t + {k}",
                lambda: f"tl.load(i_ptr + (pid * {k} + 1) % n) > 0",
                lambda: f"({self.condition(0)}) {self.one_of('and', 'or')} ({self.condition(0)})",
                lambda: f"not ({self.condition(0)})",
            ]
        return self.one_of(*options)()
