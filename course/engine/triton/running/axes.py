"""How wide a lane's loads and stores are: what can be known of a block before it runs.

Of each axis of a block the compiler keeps three numbers: neighbours that follow each other by one
(contiguity), what divides the first of such a run (divisibility, in bytes for pointers), and
neighbours that are equal (constancy). An access is as wide as its layout, its pointers' alignment
and its mask allow. The rules are those of Triton's own analysis (`lib/Analysis/AxisInfo.cpp`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from course.engine.triton.compiling.lowering import MOST_KEPT, Layout
from course.engine.triton.ir import Block, Module, Operation, Type, parts
from course.engine.triton.running.values import item_bytes

#: What divides zero.
_ANYTHING = 1 << 62
_WIDEST_BITS = 128
_SAME = frozenset(
    {
        "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "tt.bitcast",
        "ttg.convert_layout", "arith.index_castui",
    }
)  # fmt: skip
_CONSTANT = re.compile(r"(?:dense<)?(-?\d+|true|false)>?(?: : .*)?")
#: Their regions begin with their operands, or see what is around them.
_SPECIALISED = ("ttg.warp_specialize", "ttg.warp_specialize.partitions")
_HINTS = ("contiguity", "divisibility", "constancy")


@dataclass(frozen=True)
class Axes:
    """What is known of a value: a number an axis (one for a scalar), and its value if constant."""

    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    constant: int | None = None

    @property
    def rank(self) -> int:
        return len(self.contiguity)

    def steps(self, axis: int) -> int:
        """What divides every element along an axis: in a run of neighbours only 1 does."""
        return 1 if self.contiguity[axis] > 1 else self.divisibility[axis]


def _rank(type_: Type) -> int:
    return max(1, len(type_.shape))


def _unknown(type_: Type) -> Axes:
    ones = (1,) * _rank(type_)
    return Axes(ones, ones, ones)


def _power_in(value: int) -> int:
    """The largest power of two that divides a number."""
    return value & -value if value else _ANYTHING


def _constant(value: int, type_: Type) -> Axes:
    rank = _rank(type_)
    return Axes((1,) * rank, (_power_in(value),) * rank, type_.shape or (1,), value)


def _joined(left: Axes, right: Axes, runs: Sequence[int] = ()) -> Axes:
    """What holds of either value; with `runs`, of as many neighbours from the one or the other."""
    runs = runs or (0,) * left.rank
    return Axes(
        tuple(map(math.gcd, left.contiguity, right.contiguity, runs)),
        tuple(_divides_both(left, right, axis) for axis in range(left.rank)),
        tuple(map(math.gcd, left.constancy, right.constancy, runs)),
        left.constant if left.constant == right.constant else None,
    )


def _divides_both(left: Axes, right: Axes, axis: int) -> int:
    """What divides the first of each run; of 16 to 19, cut in half, 2 divides 18."""
    divides = math.gcd(left.divisibility[axis], right.divisibility[axis])
    first, second = left.contiguity[axis], right.contiguity[axis]
    return divides if first == second else math.gcd(divides, first, second)


def _product(left: int, right: int) -> int:
    return min(left * right, _ANYTHING)


# ---------------------------------------------------------------- two operands, an axis at a time

#: (operation, left, right, axis) to (contiguity, divisibility, constancy)
_Rule = Callable[[Operation, Axes, Axes, int], tuple[int, int, int]]


def _sum(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    contiguity = math.gcd(a.contiguity[axis], b.constancy[axis])
    if operation.name != "arith.subi":
        contiguity = max(contiguity, math.gcd(a.constancy[axis], b.contiguity[axis]))
    step = b.divisibility[axis]
    if operation.name == "tt.addptr":
        step = _product(step, item_bytes(operation.operand_types[0].scalar))
    return (
        contiguity,
        math.gcd(a.divisibility[axis], step),
        math.gcd(a.constancy[axis], b.constancy[axis]),
    )


def _times(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    left = a.divisibility[axis] if b.constant == 1 else a.steps(axis)
    right = b.divisibility[axis] if a.constant == 1 else b.steps(axis)
    contiguity = max(
        a.contiguity[axis] if b.constant == 1 else 1, b.contiguity[axis] if a.constant == 1 else 1
    )
    return contiguity, _product(left, right), math.gcd(a.constancy[axis], b.constancy[axis])


def _run_over_constant(operation: Operation, a: Axes, b: Axes, axis: int) -> int:
    """How long runs are in which a / b stays the same, and a % b goes up by one."""
    shape = operation.result_types[0].shape
    if not shape or a.contiguity[axis] != shape[axis] or b.constancy[axis] != shape[axis]:
        return 1
    return math.gcd(a.contiguity[axis], a.divisibility[axis], b.divisibility[axis])


def _quotient(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    constancy = max(
        math.gcd(a.constancy[axis], b.constancy[axis]), _run_over_constant(operation, a, b, axis)
    )
    if a.constant == 0 or b.constant == 1:
        divisibility = a.divisibility[axis]
    elif b.constant and a.contiguity[axis] == 1 and _power_in(b.constant) == abs(b.constant):
        divisibility = max(1, a.divisibility[axis] // abs(b.constant))
    else:
        divisibility = 1
    return a.contiguity[axis] if b.constant == 1 else 1, divisibility, constancy


def _remainder(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    # nothing divides what is left of a single number, though 16 divides it and the divisor
    divides = math.gcd(a.divisibility[axis], b.divisibility[axis]) if b.constancy[axis] > 1 else 1
    constancy = math.gcd(a.constancy[axis], b.constancy[axis])
    return _run_over_constant(operation, a, b, axis), divides, constancy


def _left_shift(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    shift = b.constant or 0
    divisibility = _product(a.steps(axis) if shift else a.divisibility[axis], 1 << shift)
    constancy = math.gcd(a.constancy[axis], b.constancy[axis])
    return a.contiguity[axis] if b.constant == 0 else 1, divisibility, constancy


def _right_shift(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    constancy = math.gcd(a.constancy[axis], b.constancy[axis])
    if b.constant is None:
        return 1, 1, constancy
    if b.constant == 0:
        return a.contiguity[axis], a.divisibility[axis], constancy
    return 1, max(1, a.steps(axis) >> b.constant), constancy


def _bits(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    return 1, 1, math.gcd(a.constancy[axis], b.constancy[axis])


def _extreme(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    either = _joined(a, b)
    return either.contiguity[axis], either.divisibility[axis], either.constancy[axis]


#: predicates of `arith.cmpi`: eq ne slt sle sgt sge ult ule ugt uge
_CONSTANT_FIRST, _CONSTANT_LAST = frozenset({3, 4, 7, 8}), frozenset({2, 5, 6, 9})


def _comparison(operation: Operation, a: Axes, b: Axes, axis: int) -> tuple[int, int, int]:
    """4 < 4, 5, 6, 7 differs within a run and 4 > 4, 5, 6, 7 does not."""
    constancy = math.gcd(a.constancy[axis], b.constancy[axis])
    shape = operation.result_types[0].shape or (1,)
    common = math.gcd(a.divisibility[axis], b.divisibility[axis])
    predicate = operation.integer("predicate")
    if predicate in _CONSTANT_FIRST and a.constancy[axis] == shape[axis]:
        constancy = max(constancy, math.gcd(b.contiguity[axis], common))
    elif predicate in _CONSTANT_LAST and b.constancy[axis] == shape[axis]:
        constancy = max(constancy, math.gcd(a.contiguity[axis], common))
    return 1, 1, constancy


_RULES: dict[str, _Rule] = {
    "arith.addi": _sum, "arith.subi": _sum, "tt.addptr": _sum, "arith.muli": _times,
    "arith.divsi": _quotient, "arith.divui": _quotient,
    "arith.remsi": _remainder, "arith.remui": _remainder,
    "arith.shli": _left_shift, "arith.shrsi": _right_shift, "arith.shrui": _right_shift,
    "arith.andi": _bits, "arith.ori": _bits, "arith.xori": _bits,
    "arith.minsi": _extreme, "arith.maxsi": _extreme,
    "arith.minui": _extreme, "arith.maxui": _extreme, "arith.cmpi": _comparison,
}  # fmt: skip


def _quotient_of(a: int, b: int) -> int | None:
    return None if b == 0 else int(math.copysign(1, a * b)) * (abs(a) // abs(b))


_FOLDED: dict[str, Callable[[int, int], int | None]] = {
    "arith.addi": int.__add__, "arith.subi": int.__sub__, "arith.muli": int.__mul__,
    "arith.divsi": _quotient_of,
    "arith.remsi": lambda a, b: None if b == 0 else int(math.fmod(a, b)),
    "arith.andi": int.__and__, "arith.ori": int.__or__, "arith.xori": int.__xor__,
    "arith.minsi": min, "arith.maxsi": max,
}  # fmt: skip


# ---------------------------------------------------------------- the module


class Analysis:
    """What is known of every value of a module; `of` gives it by name.

    `told` says whether the kernel itself tells some of it. Of a function that stays a call the
    compiler has written down what holds of its arguments wherever it is called.
    """

    def __init__(self, module: Module) -> None:
        self._known: dict[str, Axes] = {}
        self.told = False
        self._captured: tuple[str, ...] = ()
        for function in module.functions.values():
            self._function(function)

    def _function(self, function: Operation) -> None:
        block = function.regions[0][0]
        given = parts(function.attributes.get("arg_attrs", "[]")[1:-1])
        for at, (name, type_) in enumerate(zip(block.arguments, block.types, strict=True)):
            hints = given[at] if at < len(given) else "{}"
            self._set(name, _hinted(_unknown(type_), _pairs(hints[1:-1])))
        before = None
        while before != self._known:  # loops: until nothing more is given up
            before = dict(self._known)
            for block in function.regions[0]:
                self._block(block)

    def of(self, name: str) -> Axes | None:
        """What is known of a value; None for one that is no number and no pointer."""
        return self._known.get(name)

    def known(self, name: str, type_: Type) -> Axes:
        """What is known of a value, or what holds of any value of its type."""
        return self._known.get(name) or _unknown(type_)

    def of_operand(self, operation: Operation, at: int) -> Axes:
        """What is known of an operand."""
        return self.known(operation.operands[at], operation.operand_types[at])

    def _set(self, name: str, axes: Axes) -> None:
        """Takes in what holds of a value too; in a loop it once seemed to be more."""
        old = self._known.get(name)
        self._known[name] = axes if old is None else _joined(old, axes)

    def _meet(self, names: Iterable[str], sources: Iterable[str]) -> None:
        for name, source in zip(names, sources, strict=True):
            if (axes := self._known.get(source)) is not None:
                self._set(name, axes)

    def _block(self, block: Block) -> None:
        for operation in block.operations:
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        if operation.regions:
            self._regions(operation)
            return
        if len(operation.results) != 1 or operation.result_types[0].kind in ("memdesc", "other"):
            return
        axes = self._made(operation) or _unknown(operation.result_types[0])
        if hints := {n: text for n in _HINTS if (text := operation.attributes.get(f"tt.{n}"))}:
            self.told, axes = True, _hinted(axes, hints)
        self._set(operation.results[0], axes)

    def _regions(self, operation: Operation) -> None:
        if operation.name == "scf.for":
            body = operation.regions[0][0]
            low, step = (self.of_operand(operation, at) for at in (0, 2))
            divisibility = math.gcd(low.divisibility[0], step.divisibility[0])
            self._set(body.arguments[0], Axes((1,), (divisibility,), (1,)))
            self._meet(body.arguments[1:], operation.operands[3:])
            self._meet(operation.results, body.arguments[1:])
            self._block(body)
            self._meet(body.arguments[1:], body.operations[-1].operands)
        elif operation.name == "scf.while":
            before, after = operation.regions[0][0], operation.regions[1][0]
            self._meet(before.arguments, operation.operands)
            self._block(before)
            passed = before.operations[-1].operands[1:]
            self._meet(after.arguments, passed)
            self._meet(operation.results, passed)
            self._block(after)
            self._meet(before.arguments, after.operations[-1].operands)
        elif operation.name == "scf.if":
            for region in operation.regions:
                for block in region:
                    self._block(block)
                    if block.operations and operation.results:
                        self._meet(operation.results, block.operations[-1].operands)
        elif operation.name in _SPECIALISED:
            # until Triton 3.6 the outer one has the operands
            captured = self._captured = operation.operands or self._captured
            for (block,) in operation.regions:
                self._meet(block.arguments, captured if block.arguments else ())
                self._block(block)
            self._captured = ()
        else:
            for name, type_ in zip(operation.results, operation.result_types, strict=True):
                self._set(name, _unknown(type_))

    def _made(self, operation: Operation) -> Axes | None:
        """What an operation makes of what is known of its operands; None: nothing is known."""
        name, result = operation.name, operation.result_types[0]
        if name == "arith.constant":
            found = _CONSTANT.fullmatch(operation.attributes["value"])
            if found is None or result.scalar[0] not in "i":
                return None
            text = found[1]
            return _constant(int(text) if text[-1].isdigit() else int(text == "true"), result)
        if name == "tt.make_range":
            start, end = operation.integer("start"), operation.integer("end")
            return Axes((end - start,), (_power_in(start),), (1,))
        given = [self._known.get(operand) for operand in operation.operands]
        if not given or given[0] is None:
            return None
        first = given[0]
        if name in _SAME:
            return first
        if name in _RULES and given[1] is not None:
            return self._paired(operation, first, given[1])
        if name == "tt.splat":
            rank = len(result.shape)
            return Axes((1,) * rank, first.divisibility[:1] * rank, result.shape, first.constant)
        if name == "tt.expand_dims":
            return _expanded(first, operation.integer("axis"))
        if name == "tt.broadcast":
            return _broadcast(first, operation.operand_types[0].shape, result.shape)
        if name == "tt.trans":
            order = operation.integers("order")
            return _each(first, lambda numbers: tuple(numbers[axis] for axis in order))
        if name == "tt.load":
            constancy = first.constancy
            if len(given) > 1 and given[1] is not None and given[1].rank == first.rank:
                constancy = tuple(map(math.gcd, constancy, given[1].constancy))
            return Axes((1,) * first.rank, (1,) * first.rank, constancy)
        if name == "arith.select" and given[1] is not None and given[2] is not None:
            if first.constant is not None:
                return given[1] if first.constant else given[2]
            apart = operation.operand_types[0].shape
            return _joined(given[1], given[2], first.constancy if apart else ())
        return None

    def _paired(self, operation: Operation, a: Axes, b: Axes) -> Axes:
        result = operation.result_types[0]
        if a.constant is not None and b.constant is not None and operation.name in _FOLDED:
            value = _FOLDED[operation.name](a.constant, b.constant)
            if value is not None:
                return _constant(value, result)
        rule = _RULES[operation.name]
        numbers = [rule(operation, a, b, axis) for axis in range(_rank(result))]
        contiguity, divisibility, constancy = zip(*numbers, strict=True)
        return Axes(contiguity, divisibility, constancy)


def _each(axes: Axes, change: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Axes:
    """The same change of each of the three."""
    return Axes(
        change(axes.contiguity), change(axes.divisibility), change(axes.constancy), axes.constant
    )


def _pairs(text: str) -> dict[str, str]:
    found = (part.partition(" = ") for part in parts(text))
    return {name.strip().removeprefix("tt."): value for name, _, value in found}


def _hinted(axes: Axes, hints: dict[str, str]) -> Axes:
    """With what an argument's or an operation's attributes say."""

    def known(name: str, before: tuple[int, ...]) -> tuple[int, ...]:
        text = re.sub(r": (tensor<.*>|i\d+)", "", hints.get(name, ""))
        values = tuple(int(number) for number in re.findall(r"-?\d+", text))
        if not values:
            return before
        return values if len(values) == axes.rank else values[:1] * axes.rank

    return Axes(
        known("contiguity", axes.contiguity),
        known("divisibility", axes.divisibility),
        known("constancy", axes.constancy),
        axes.constant,
    )


def _expanded(axes: Axes, axis: int) -> Axes:
    if axes.constant is not None:
        divisibility = _power_in(axes.constant)
    else:
        divisibility = math.gcd(*(axes.steps(n) for n in range(axes.rank)))
    made = _each(axes, lambda numbers: (*numbers[:axis], 1, *numbers[axis:]))
    known = (*axes.divisibility[:axis], divisibility, *axes.divisibility[axis:])
    return replace(made, divisibility=known)


def _broadcast(axes: Axes, before: tuple[int, ...], after: tuple[int, ...]) -> Axes:
    constancy = [
        length if old == 1 else known
        for old, length, known in zip(before, after, axes.constancy, strict=True)
    ]
    return replace(axes, constancy=tuple(constancy))


@lru_cache(MOST_KEPT)
def analysis_of(module: Module) -> Analysis:
    """What is known of a module's values."""
    return Analysis(module)


# ---------------------------------------------------------------- the width of an access


def width_of(layout: Layout, pointers: Axes, mask: Axes | None, itemsize: int) -> int:
    """Elements that one instruction of a lane takes: 1, 2, 4, ... up to 16 bytes.

    Args:
        pointers: what is known of the pointers, `mask` of the mask.
        itemsize: bytes an element.
    """
    axis = order_of(layout)[0]
    aligned = min(max(pointers.divisibility[axis] // itemsize, 1), pointers.contiguity[axis])
    width = min(aligned, _neighbours(layout, axis), _WIDEST_BITS // (8 * itemsize))
    return width if mask is None else min(width, max(mask.constancy[axis], 1))


def order_of(layout: Layout) -> list[int]:
    """Axes of a block, the one whose neighbours a lane holds first."""
    rank = len(layout.shape)
    moved = [
        next(n for n, step in enumerate(basis) if step) for basis in layout.register if any(basis)
    ]
    return list(dict.fromkeys([*moved, *reversed(range(rank))]))


def _neighbours(layout: Layout, axis: int) -> int:
    """How many elements side by side along an axis a lane's first registers hold."""
    count = 1
    for basis in layout.register:
        if basis != tuple(count if n == axis else 0 for n in range(len(layout.shape))):
            break
        count *= 2
    return count
