"""Operators: arithmetic, comparisons, short circuits and the choice ``a if c else b``."""

from __future__ import annotations

import ast
import dis
import operator
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import rejected_syntax
from course.engine.simt.lowering.address_choices import as_one_value, one_load
from course.engine.simt.lowering.branches import common, loads_made
from course.engine.simt.lowering.complex_numbers import is_complex, operate
from course.engine.simt.lowering.expr import (
    UNKNOWN,
    Expr,
    Run,
    apply,
    combined,
    converted,
    describe,
    joined,
    no_number,
    number,
    tuple_items,
    tuple_of,
)
from course.engine.simt.lowering.iteration import as_written_in_python, once, unpacked
from course.engine.simt.lowering.types import (
    BOOL,
    FLOAT,
    INT,
    ArrayType,
    RangeType,
    TupleType,
    TypingError,
    is_integer,
    is_scalar,
    resolve,
    unify,
)
from course.engine.simt.nvvm import contraction
from course.engine.simt.nvvm.merging import Arm, Count, Held, Straight, instructions
from course.engine.simt.nvvm.ranges import fact_of
from course.engine.simt.nvvm.work import MOST_OF_A_SIDE, branches
from course.engine.simt.running import arith
from course.engine.simt.running.lanes import Lanes, select
from course.plain.arithmetic import BINARY, ORDER, UNARY
from course.plain.trees import walk

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


COMPARISONS: dict[type[ast.cmpop], Any] = {ast.Eq: operator.eq, ast.NotEq: operator.ne, **ORDER}


def _under(lanes: Lanes, condition: np.ndarray, run: Run, otherwise: Any) -> Any:
    """Evaluates `run` for the active lanes for which `condition` holds."""
    outer = lanes.mask
    inner = lanes.both(outer, condition)
    if not inner.any():
        return otherwise
    lanes.mask = inner
    try:
        return run(lanes)
    finally:
        lanes.mask = outer


def _torn(lanes: Lanes, line: int, chosen: np.ndarray) -> None:
    """Counts the warps whose active lanes disagree about a choice that is a branch."""
    if chosen.size > 1:
        taken, passed = lanes.both(lanes.mask, chosen), lanes.both(lanes.mask, ~chosen)
        lanes.launch.meter.branch(lanes, line, taken, passed)


def binary(low: Lowering, node: ast.expr, operation: ast.operator, left: Expr, right: Expr) -> Expr:
    """`left op right` as Numba types it; `node` is where it stands."""
    function = BINARY.get(type(operation))
    if function is None:
        raise TypingError("the operator @ has no meaning in a kernel: write the loop")
    if is_complex(left) or is_complex(right):
        return operate(low, node, function, [left, right])
    if function is operator.add and isinstance(left.type, TupleType):
        if isinstance(right.type, TupleType):
            sides = (left.items or tuple_items(low, left), right.items or tuple_items(low, right))
            return tuple_of(low, [*sides[0], *sides[1]])
    if isinstance(left.type, TupleType) or isinstance(right.type, TupleType):
        raise TypingError("tuples have no arithmetic in a kernel: index them first")
    for side in (left, right):
        if isinstance(side.type, ArrayType):
            raise TypingError(
                "a whole array has no arithmetic in a kernel: each thread indexes one element"
            )
    if (
        function is operator.pow
        and isinstance(right.const, int)
        and is_integer(right.type)
        and 0 <= right.const <= 64
        and is_scalar(left.type)
    ):
        return _small_power(low, node, left, right)
    value = apply(function, arith.BINARY[function], [left, right], function.__name__)
    if function is operator.mul:
        return contraction.of_product(low, node, value, left, right)
    if function is operator.add or function is operator.sub:
        return contraction.of_sum(low, function, value, left, right)
    if function in _QUOTIENTS and is_integer(value.type) and right.const is UNKNOWN:
        return _quotient(low, value)
    return value


def _quotient(low: Lowering, value: Expr) -> Expr:
    """A quotient or remainder, of which NVVM sees no other that is the same.

    Each asks first whether its divisor is 0. In a loop NVVM may ask that once, in front, which
    depends on the loop's size: there all that are alike pass as one value.
    """
    if low.registers.loops:
        low.registers.loops[-1].divides = True
        return value
    version = low.written_out or low.registers.new_version()
    return replace(value, key=(value.key, ("value", version)), since=version)


_QUOTIENTS = (operator.floordiv, operator.mod)
#: To load it, and to return it.
_STEPS_OF_A_CONSTANT = 2
#: What a number that Python works out consists of, and how much of it.
_MOST_PARTS = 64
_OF_NUMBERS = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)


def constant_of(node: ast.BinOp | ast.UnaryOp) -> int | float | None:
    """What Python's own compiler makes of literals: Numba gets ``2**64`` as one number."""
    parts = list(islice(walk(node), _MOST_PARTS + 1))
    if len(parts) > _MOST_PARTS or not all(isinstance(part, _OF_NUMBERS) for part in parts):
        return None
    code = compile(ast.Expression(node), "<constant>", "eval", dont_inherit=True)
    steps = [step for step in dis.get_instructions(code) if step.opname != "RESUME"]
    made = steps[0].argval if len(steps) <= _STEPS_OF_A_CONSTANT else None
    return made if isinstance(made, int | float) else None


def _small_power(low: Lowering, node: ast.expr, base: Expr, exponent: Expr) -> Expr:
    """A literal power is a chain of multiplications, as the compiler writes it."""
    assert is_scalar(base.type)
    assert base.type is not None
    result, wanted = resolve(operator.pow, base.type, exponent.type)
    part = converted(base, wanted[0])
    times = int(exponent.const)

    run = part.run

    def factors(lanes: Lanes) -> tuple[np.ndarray, np.ndarray]:
        """What the last multiplication of the chain has on its two sides."""
        half = square = run(lanes)
        power, left = None, times
        while left > 1:
            if left & 1:
                power = square if power is None else power * square
            half, square, left = square, square * square, left >> 1
        return (half, half) if power is None else (power, square)

    def multiply(lanes: Lanes) -> np.ndarray:
        x, y = factors(lanes)
        return x * y if times > 1 else np.ones_like(x) if not times else x

    key, since = joined(("power", times), [part])
    if result == INT and isinstance(part.const, int) and abs(part.const) ** times < 2**63:
        return replace(number(part.const**times), key=key, since=since, literal=False)
    power = Expr(result, multiply, key, since, masked=part.masked)
    return contraction.with_factors(low, node, power, factors) if times > 1 else power


def binop(low: Lowering, node: ast.BinOp) -> Expr:
    """``a op b``."""
    if (folded := constant_of(node)) is not None:
        return number(folded)
    return binary(low, node, node.op, low.value(node.left), low.value(node.right))


def unaryop(low: Lowering, node: ast.UnaryOp) -> Expr:
    """``-a``, ``+a``, ``~a``, ``not a``."""
    if (folded := constant_of(node)) is not None:
        return number(folded)
    if isinstance(node.op, ast.Not):
        part = low.condition(node.operand)
        run = part.run
        low.held_where = {not outcome: held for outcome, held in low.held_where.items()}
        return combined("not", BOOL, lambda lanes: ~run(lanes), [part])
    operand, function = low.operand(node.operand), UNARY[type(node.op)]
    if is_complex(operand):
        return operate(low, node, function, [operand])
    if isinstance(operand.const, int | float) and function is not operator.invert:
        if operand.type in (INT, FLOAT):
            return number(function(operand.const))
    if operand.type == BOOL and function is not operator.invert:
        operand = converted(operand, INT)
    value = apply(function, arith.UNARY[function], [operand], function.__name__)
    if operand.product is not None and function is operator.neg:
        return replace(value, product=operand.product.negated())
    return value


def compare(low: Lowering, node: ast.Compare) -> Expr:
    """``a < b < c``: each operand computed once, the chain cut short."""
    left = low.value(node.left)
    result: Expr | None = None
    held, last = low.registers.held, len(node.ops) - 1
    for number_, (operation, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
        function = COMPARISONS.get(type(operation))
        if function is None and isinstance(operation, ast.In | ast.NotIn) and last == 0:
            return _within(low, node, left, operation)
        if function is None:
            _only_number(low, node.left, left)
            raise rejected_syntax(node, f"`{ast.unparse(node)}`", "use == != < <= > >=")
        right = again = low.value(comparator)
        if number_ == 0:
            held = dict(low.registers.held)
            low.registers.depth += 1
        if number_ < last:
            right, again = once(low, right)
        link = _compared(low, function, left, right, (node.left, *node.comparators)[number_:])
        result = link if result is None else _and(low, result, link)
        left = again
    low.registers.depth -= 1
    low.registers.held = held
    assert result is not None
    return result


def _compared(
    low: Lowering, function: Any, left: Expr, right: Expr, nodes: Sequence[ast.expr]
) -> Expr:
    """One comparison, of two numbers or of two tuples; `nodes` are those of the two, for words."""
    sides = (left, right)
    if all(isinstance(side.type, TupleType) for side in sides):
        return _compared_tuples(low, function, left, right)
    if any(is_complex(side) for side in sides):
        return operate(low, nodes[0], function, sides)
    for side, node in zip(sides, nodes, strict=False):
        _only_number(low, node, side)
    return apply(function, arith.BINARY[function], [left, right], function.__name__)


def _only_number(low: Lowering, node: ast.expr, value: Expr) -> None:
    if not is_scalar(value.type):
        raise low.untyped(node, no_number(ast.unparse(node), value.type))


def _compared_tuples(low: Lowering, function: Any, left: Expr, right: Expr) -> Expr:
    """The first items that differ decide, or else the lengths; every item is computed.

    `==` of different lengths is False, whatever stands in them.
    """
    if function is operator.ne:
        return _negated(_compared_tuples(low, operator.eq, left, right))
    ones, others = unpacked(low, left), unpacked(low, right)
    pairs = list(zip(ones, others, strict=False))
    rest = number(function(len(ones), len(others)))
    strict = {operator.le: operator.lt, operator.ge: operator.gt}.get(function, function)
    links = []
    for pair in pairs:
        (one, one_again), (other, other_again) = (once(low, side) for side in pair)
        decides = None if strict is operator.eq else _compared(low, strict, one, other, ())
        if decides is not None:
            one, other = one_again, other_again
        links.append((decides, _compared(low, operator.eq, one, other, ())))
    for decides, equal in reversed(links):
        rest = apply(operator.and_, np.bitwise_and, [equal, rest], "and_")
        if decides is not None:
            rest = apply(operator.or_, np.bitwise_or, [decides, rest], "or_")
    return rest


def _within(low: Lowering, node: ast.Compare, left: Expr, operation: ast.cmpop) -> Expr:
    """``x in (a, b)`` and ``x not in range(a, b)``: is it one of these numbers?"""
    several_of = node.comparators[0]
    several = low.value(several_of)
    if isinstance(several.type, RangeType):
        _only_number(low, node.left, left)
        found = as_written_in_python(low, node, _IN_RANGE, [left, *unpacked(low, several)])
        return found if isinstance(operation, ast.In) else _negated(found)
    if not isinstance(several.type, TupleType):
        raise low.untyped(
            node, f"`in` looks into a tuple or a range, and this is {describe(several)}"
        )
    left, left_again = once(low, left)
    found = number(False)
    for place, item in enumerate(unpacked(low, several)):
        asked = left if not place else left_again
        one = _compared(low, operator.eq, asked, item, (node.left, several_of))
        found = one if not place else apply(operator.or_, np.bitwise_or, [found, one], "or_")
    return found if isinstance(operation, ast.In) else _negated(found)


#: Whether a range has a number; `&`, since nothing here is worth a branch.
_IN_RANGE = """
def within(x, start, stop, step):
    between = start <= x < stop if step > 0 else stop < x <= start
    return between & ((x - start) % step == 0)
"""


def _negated(test: Expr) -> Expr:
    return apply(operator.xor, np.bitwise_xor, [test, number(True)], "xor")


def _and(low: Lowering, left: Expr, right: Expr) -> Expr:
    """Short circuit: `right` is evaluated only by lanes for which `left` holds."""
    first, second = left.run, right.run
    if not right.masked:
        return combined("and", BOOL, lambda lanes: first(lanes) & second(lanes), [left, right])

    def run(lanes: Lanes) -> np.ndarray:
        holds = first(lanes)
        return holds & _under(lanes, holds, second, holds)

    return combined("and", BOOL, run, [left, right], masked=True)


def boolop(low: Lowering, node: ast.BoolOp) -> Expr:
    """``and`` and ``or``: a load behind a short circuit is made by the lanes that get there.

    Which loads a lane has made is known by the outcome: one that passes every operand of an
    `and` has made them all, one that fails has made those that every way to fail makes.
    """
    both = isinstance(node.op, ast.And)
    # a turn is made where all of an `and` hold: what it loads is at hand in the next one
    plain = not any(isinstance(operand, ast.BoolOp) for operand in node.values)
    deeper = not (both and plain and node is low.turn_test)
    first: Any = None
    result: Expr | None = None
    stopped: list[dict[Any, Held]] = []
    always, fact = low.registers.held, None
    head: list[Count] = []
    for operand in node.values:
        low.held_where = {}
        if result is not None:
            low.enter(fact)
            low.registers.arms.append(Arm(low.registers.version + 1, low.registers.depth))
        part = low.scalar(operand)
        fact = fact_of(part.key, both)
        going_on = low.held_where.get(both, low.registers.held)
        stopped.append(dict(low.held_where.get(not both, low.registers.held)))
        if result is None:
            always = dict(low.registers.held)
            low.held_first = always
            low.registers.depth += deeper
            result = _counted_behind(low, part, head)
            if not deeper:
                first = low.registers.loops[-1].first
        else:
            arm = _leave_arm(low)
            second = arm.loads
            low.one_question &= not second and sum(map(instructions, arm.steps)) <= MOST_OF_A_SIDE
            line = node.lineno if branches(operand) else 0
            result = _either(low, both, result, part, line)
            if not deeper:  # a turn does not begin with what only some of its lanes get to
                low.registers.loops[-1].first = first
        low.registers.held = dict(going_on)
    low.registers.depth -= deeper
    assert result is not None
    shared = {key: held for key, held in stopped[0].items() if all(key in s for s in stopped)}
    if len(node.values) == 2:  # what the second begins with may move up in front of it
        for key, load in islice(second.items(), 1):
            version = low.registers.new_version()
            half = (*load, head)
            shared.setdefault(key, Held(version, version, low.registers.depth + 1, half=half))
    low.held_where = {both: dict(low.registers.held), not both: shared}
    low.registers.held = always
    return result


def _counted_behind(low: Lowering, value: Expr, head: list[Count]) -> Expr:
    """A value, behind which loads are counted that move up to there."""
    work_out, behind = value.run, loads_made(head, low.names())

    def run(lanes: Lanes) -> Any:
        found = work_out(lanes)
        behind(lanes)
        return found

    return replace(value, run=run)


def _either(low: Lowering, both: bool, left: Expr, right: Expr, line: int) -> Expr:
    """`and` or `or`; `line` is where the compiler branches round the right side, or 0."""
    if both and left.type == BOOL and right.type == BOOL and not line:
        return _and(low, left, right)
    type_ = unify(left.type, right.type)
    first, second = converted(left, type_), converted(right, type_)

    def run(lanes: Lanes) -> np.ndarray:
        value = first.run(lanes)
        holds = arith.truth(value)
        needed = holds if both else ~holds
        if line:
            _torn(lanes, line, needed)
        other = _under(lanes, needed, second.run, value) if second.masked else second.run(lanes)
        return np.where(needed, other, value)

    return combined("and" if both else "or", type_, run, [first, second])


def _leave_arm(low: Lowering) -> Arm:
    """Ends an arm of an expression; what a function stored in it is behind a branch."""
    arm = low.registers.arms.pop()
    if arm.closed:
        low.registers.straight = Straight()
    return arm


def _both_sides(low: Lowering, node: ast.IfExp, condition: Expr, head: list[Count]) -> list[Expr]:
    """The two values, each in a way of its own; `head` is counted in front of both."""
    where, before = low.held_where, dict(low.registers.held)
    arms, sides, after = [], [], []
    low.registers.depth += 1
    for side, holds in ((node.body, True), (node.orelse, False)):
        low.registers.held = dict(where.get(holds, before))
        arms.append(Arm(low.registers.version + 1, low.registers.depth))
        low.registers.arms.append(arms[-1])
        low.enter(fact_of(condition.key, holds))
        sides.append(low.value(side))
        _leave_arm(low)
        after.append(dict(low.registers.held))
    low.registers.depth -= 1
    low.enter()
    low.registers.meet(before, (arms[0], arms[1]), (after[0], after[1]), head)
    return sides


def ifexp(low: Lowering, node: ast.IfExp) -> Expr:
    """``a if condition else b``."""
    if (one := as_one_value(low, node)) is not None:
        return low.value(one)
    condition = low.condition(node.test)
    head: list[Count] = []
    known = low.outcome(condition)
    if known is None and (loaded := one_load(low, node, condition)) is not None:
        return loaded
    if known is None:
        yes, no = _both_sides(low, node, condition, head)
    elif known:
        yes = low.value(node.body)
        with low.never_reached():
            no = low.value(node.orelse)
    else:
        with low.never_reached():
            yes = low.value(node.body)
        no = low.value(node.orelse)
    type_: Any
    if isinstance(yes.type, ArrayType) and isinstance(no.type, ArrayType):
        type_ = common(low, node, f"`{ast.unparse(node)[:60]}`", [yes, no])
    else:
        type_ = unify(yes.type, no.type)
    first, second = converted(yes, type_), converted(no, type_)
    test, in_front = condition.run, loads_made(head, low.names())
    line = node.lineno if branches(node.body, node.orelse) else 0
    # Two loads and nothing else: the compiler chooses the address and loads once.
    two_loads = isinstance(node.body, ast.Subscript) and isinstance(node.orelse, ast.Subscript)
    alike = two_loads and yes.type == no.type
    place = (node.orelse.lineno, node.orelse.col_offset)

    def run(lanes: Lanes) -> Any:
        chosen = test(lanes)
        in_front(lanes)
        if chosen.size == 1:
            return first.run(lanes) if chosen[0, 0] else second.run(lanes)
        if line:
            _torn(lanes, line, chosen)
        one = _under(lanes, chosen, first.run, None) if first.masked else first.run(lanes)
        two = _under(lanes, ~chosen, second.run, None) if second.masked else second.run(lanes)
        if one is None or two is None:
            return two if one is None else one
        if alike:
            lanes.launch.meter.one_request(lanes, ("load", place), lanes.mask, chosen)
        return select(chosen, one, two)

    origin = tuple(sorted({*yes.origin, *no.origin}))
    return combined("if", type_, run, [condition, first, second], origin=origin)
