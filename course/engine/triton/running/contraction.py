"""Sums that take a product in: which the compiler makes one instruction of, with one rounding.

LLVM fuses what stands in one straight block of code; the assembler fuses across blocks, too, where
nothing else reads the product, and into a loop where a factor needs no register: a number that is
written in the kernel or passed to it (`nvdisasm` shows FFMA there, FMUL and FADD for a number that
is loaded). Of two products that is the one with fewer uses, and else the left one
(`lib/CodeGen/SelectionDAG/DAGCombiner.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from course.engine.triton.compiling.lowering import MOST_KEPT
from course.engine.triton.ir import Block, Module, Operation
from course.engine.triton.running.elements import fused
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.operations import RULES

#: Operations that move no element from one register to another.
_SHAPES = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans"})
#: Until Triton 3.7 it is 0 minus a value, which takes a product in itself.
_NEGATION = "arith.negf"
#: What a product may go through on its way to a sum.
_WAY = _SHAPES | {_NEGATION}
_SUMS = frozenset({"arith.addf", "arith.subf"})
_LOOPS = frozenset({"scf.for", "scf.while"})
#: What ends a straight block of code; a reduction's function is part of it.
_BRANCHES = _LOOPS | {"scf.if"}


@dataclass(frozen=True)
class _Product:
    """A product, and where it stands: a straight block of code, and how many loops are around it.

    Attributes:
        way: the operations that gave it another shape or sign, the first one first.
    """

    operation: Operation
    block: int
    depth: int
    way: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class Fused:
    """A sum with the product that it takes in, as its operand number `at`."""

    operation: Operation
    product: _Product
    at: int

    def result(self, frame: Frame) -> Array:
        """Factors times each other plus the other operand, rounded once."""
        x, y = (frame[name] for name in self.product.operation.operands)
        for operation in self.product.way:
            rule = RULES[operation.name](operation)
            x, y = rule(x), y if operation.name == _NEGATION else rule(y)
        other: Array = frame[self.operation.operands[1 - self.at]]
        if self.operation.name == "arith.subf":
            x, other = (x, -other) if self.at == 0 else (-x, other)
        return fused(x, y, other, self.operation.result_types[0].scalar == "bf16")


@lru_cache(MOST_KEPT)
def fused_of(module: Module) -> dict[int, Fused]:
    """The sums of a module that take a product in, by their number."""
    found: dict[int, Fused] = {}
    for function in module.functions.values():
        found |= _Function(function).fused
    return found


class _Function:
    def __init__(self, function: Operation) -> None:
        self.fused: dict[int, Fused] = {}
        self._products: dict[str, _Product] = {}
        self._makers: dict[str, Operation] = {}
        self._users: dict[str, list[Operation]] = {}
        self._parameters = frozenset(function.regions[0][0].arguments)
        self._blocks = 0
        sums: list[tuple[Operation, int, int]] = []
        self._read(function.regions[0], 0, sums)
        for operation, block, depth in sums:
            at = self._taken_in(operation, block, depth)
            if at is not None:
                product = self._products[operation.operands[at]]
                self.fused[operation.number] = Fused(operation, product, at)

    def _read(
        self, blocks: Sequence[Block], depth: int, sums: list[tuple[Operation, int, int]]
    ) -> None:
        for block in blocks:
            self._blocks += 1
            here = self._blocks
            for operation in block.operations:
                for name in operation.operands:
                    self._users.setdefault(name, []).append(operation)
                for name in operation.results:
                    self._makers[name] = operation
                if operation.name == "arith.mulf":
                    made = _Product(operation, here, depth)
                    self._products[operation.results[0]] = made
                elif operation.name in _WAY and operation.operands[0] in self._products:
                    before = self._products[operation.operands[0]]
                    way = (*before.way, operation)
                    made = _Product(before.operation, before.block, before.depth, way)
                    self._products[operation.results[0]] = made
                elif operation.name in _SUMS:
                    sums.append((operation, here, depth))
                for region in operation.regions:
                    self._read(region, depth + (operation.name in _LOOPS), sums)
                if operation.name in _BRANCHES:
                    self._blocks += 1
                    here = self._blocks

    def _taken_in(self, operation: Operation, block: int, depth: int) -> int | None:
        """Which operand's factors a sum takes in, if any."""
        left, right = (self._at_hand(name, block, depth) for name in operation.operands)
        if left and right:
            more = self._count(operation.operands[0]) > self._count(operation.operands[1])
            return 1 if more else 0
        return 0 if left else 1 if right else None

    def _at_hand(self, name: str, block: int, depth: int) -> bool:
        """Whether an operand is a product that stands where it can be taken in."""
        product = self._products.get(name)
        if product is None or product.block == block:
            return product is not None
        if self._count(product.operation.results[0]) > 1:
            return False
        return product.depth == depth or any(
            map(self._without_register, product.operation.operands)
        )

    def _count(self, name: str) -> int:
        """How often a value is read, in whatever shape and with whatever sign."""
        return sum(
            self._count(user.results[0]) if user.name in _WAY else 1
            for user in self._users.get(name, ())
        )

    def _without_register(self, name: str) -> bool:
        """Whether a factor is, in each of its elements, a constant or a parameter of the kernel."""
        maker = self._makers.get(name)
        while maker is not None and maker.name in _SHAPES:
            name = maker.operands[0]
            maker = self._makers.get(name)
        return name in self._parameters if maker is None else maker.name == "arith.constant"
