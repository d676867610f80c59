"""`for` and `while`: lowered until the types and held values at the head are stable."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import KernelFault, Outcome, not_measured, rejected_syntax
from course.engine.simt.lowering.branches import common, join, loads_made, told
from course.engine.simt.lowering.expr import (
    UNKNOWN,
    Expr,
    Names,
    converted,
    nothing,
    number,
    variable,
)
from course.engine.simt.lowering.frames import LoopTargets
from course.engine.simt.lowering.iteration import by_name, counted, unpacked, with_else
from course.engine.simt.lowering.types import (
    INT,
    ArrayType,
    IteratorType,
    Several,
    TupleType,
    is_integer,
    unify,
)
from course.engine.simt.nvvm.merging import (
    Held,
    LoopScope,
    Straight,
    available,
    move_out,
    old_enough,
    one_for_all,
)
from course.engine.simt.nvvm.unrolling import (
    Counting,
    counting,
    full_turns,
    has_own_exit,
    is_asked_first,
    unroll_mode,
)
from course.engine.simt.running import control, turns
from course.engine.simt.running.control import Casts
from course.engine.simt.running.lanes import Lanes, Statement
from course.plain.trees import nodes, stored_names

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


MAX_LOOP_PASSES = 8
#: A lane that has waited for another one so many steps waits for ever: all go in step, and those
#: that have what it waits for stand behind the loop.
STEPS_OF_WAITING = 10_000
#: An innermost loop of so many known turns is written out: what one of its turns loads from shared
#: memory is in a register for the next. NVVM writes out nests of loops as well, and joins loops
#: that follow each other, while they are small: that is its choice, and not the kernel's, and what
#: they load is loaded anew in each turn.
MOST_TURNS_IN_REGISTERS = 16


def forget_shared(lanes: Lanes) -> None:
    """A loop, or a turn of one: registers hold nothing of what was loaded before."""
    lanes.turn += 1


@dataclass
class LoopEntry:
    """What is known at a loop's head; it grows until a turn changes nothing."""

    number: int
    env: dict[str, Expr]
    held: dict[Any, Held]
    version: int
    unrolled: bool
    types: dict[str, Any] = field(default_factory=dict)
    #: held at the end of every turn
    known: dict[Any, Held] = field(default_factory=dict)
    clobbers: bool = False


@dataclass
class Turn:
    """One turn of a loop, lowered."""

    scope: LoopScope
    targets: LoopTargets
    version: int
    test: Any
    statements: list[Statement]
    exit_env: dict[str, Expr]
    end_casts: Casts = field(default_factory=Casts)
    latch: list[tuple[dict[str, Expr], Casts]] = field(default_factory=list)
    held: dict[Any, Held] = field(default_factory=dict)
    clobbers: bool = False


def for_range(low: Lowering, node: ast.For) -> Statement:
    """A loop over a range, a tuple, an array, or an iterator over several of these."""
    if node.orelse:
        return _in_order(low, with_else(low, node))
    over = low.value(node.iter)
    if isinstance(over.type, ArrayType | IteratorType):
        return _in_order(low, counted(low, node, over))
    if not isinstance(over.type, Several):
        raise rejected_syntax(
            node, f"a loop over `{ast.unparse(node.iter)[:40]}`", "for i in range(...)"
        )
    if not isinstance(node.target, ast.Name):
        node = by_name(low, node)
    assert isinstance(node.target, ast.Name)
    name = node.target.id
    items = unpacked(low, over)
    if isinstance(over.type, TupleType):
        return _over_tuple(low, node, name, items)
    return _over_range(low, node, name, items)


def _over_range(low: Lowering, node: ast.For, name: str, bounds: list[Expr]) -> Statement:
    """A loop over a range, whose start, stop and step these are."""
    start, type_ = bounds[0], bounds[0].type
    constant = all(isinstance(b.const, int) for b in bounds)
    known_turns = range(*[int(b.const) for b in bounds]) if constant and bounds[-1].const else None
    if known_turns is not None and full_turns(
        node, turns.length(known_turns), low.frame.function, low.frame.env
    ):
        return _turn_by_turn(low, node, name, [converted(number(v), type_) for v in known_turns])
    runs = [bound.run for bound in bounds]
    unroll = unroll_mode(node, low.frame.function, low.frame.env, isinstance(start.const, int))

    def head(low: Lowering) -> Callable[[Lanes], Any] | None:
        low.bind(name, Expr(type_, nothing))
        return None

    length = math.inf if known_turns is None else turns.length(known_turns)
    short = length <= MOST_TURNS_IN_REGISTERS and not nodes(node.body, ast.For, ast.While)

    loop = _loop(
        low,
        node,
        head,
        stored_names(node.body) | {name},
        bool(known_turns),
        turns.Unroll() if known_turns is not None else unroll,
        lambda _, code: turns.for_loop(code, name, type_, runs),
        keeps_registers=short,
        even=all(one_for_all(bound.key) for bound in bounds),
        loads_ahead=not is_asked_first(node) or (bool(known_turns) and has_own_exit(node)),
    )
    if not short or length <= turns.UNROLLED_TURNS:
        return loop

    def execute(lanes: Lanes) -> None:
        forget_shared(lanes)
        loop(lanes)

    return execute


def _in_order(low: Lowering, nodes: list[ast.stmt]) -> Statement:
    """Several statements that one was written as."""
    statements = low.block(nodes)
    return lambda lanes: lanes.run(statements)


def _over_tuple(low: Lowering, node: ast.For, name: str, elements: list[Expr]) -> Statement:
    """A loop over a tuple written out: every element is evaluated once, before the first turn."""
    fault = low.untyped(node, f"the items of `{ast.unparse(node.iter)}` have several types")
    if len({e.type for e in elements}) > 1:
        raise fault
    low.doubts_tuple(TupleType(tuple(e.type for e in elements)), fault)
    low.instances += 1
    kept: list[tuple[str, Expr]] = []
    values: list[Expr] = []
    for position, element in enumerate(elements):
        place = f"%element{low.instances}.{position}"
        if element.const is UNKNOWN:
            kept.append((place, element))
        value = low.versioned(element, variable(place))
        if isinstance(element.type, ArrayType):  # it comes out of memory, by the turn's number
            value = replace(value, key=("turn's item", low.instances, position))
        values.append(value)
    if nodes(node.body, ast.Break, ast.Continue):
        each_turn = _one_by_one(low, node, name, values)
    else:
        each_turn = _turn_by_turn(low, node, name, values)

    def execute(lanes: Lanes) -> None:
        for place, element in kept:
            lanes.vars[place] = element.run(lanes)
        each_turn(lanes)

    return execute


def _one_by_one(low: Lowering, node: ast.For, name: str, values: list[Expr]) -> Statement:
    """A loop over a tuple that a `break` or `continue` leaves: one body for all its turns."""
    type_: Any = values[0].type if values else INT
    for value in values:
        type_ = unify(type_, value.type)
    runs = [converted(value, type_).run for value in values]
    origin = tuple(sorted({one for value in values for one in value.origin}))

    def head(low: Lowering) -> Callable[[Lanes], Any] | None:
        low.bind(name, Expr(type_, nothing, origin=origin))
        return None

    return _loop(
        low,
        node,
        head,
        stored_names(node.body) | {name},
        bool(values),
        turns.Unroll(),
        lambda _, code: turns.for_each(code, name, runs),
        keeps_registers=True,
    )


def _turn_by_turn(low: Lowering, node: ast.For, name: str, values: list[Expr]) -> Statement:
    """A loop of few known turns, written out, as the compiler writes it."""
    statements: list[Statement] = []
    around = low.written_out
    low.written_out = around or low.registers.new_version()
    inner, low.registers.inner = low.registers.inner, bool(low.registers.loops)
    for value in values:
        if not low.reachable:
            break
        low.frame.env[name] = value

        def begin(lanes: Lanes, value: Expr = value) -> None:
            lanes.assign(name, value.run(lanes))

        statements += [begin, *low.block(node.body)]
    low.written_out, low.registers.inner = around, inner
    line = node.lineno

    def execute(lanes: Lanes) -> None:
        lanes.step(line)
        lanes.run(statements)

    return execute


def while_loop(low: Lowering, node: ast.While) -> Statement:
    """``while``; one that counts is given its number of turns."""
    if node.orelse:
        return _in_order(low, with_else(low, node))
    counts = counting(node)
    names = stored_names(node.body)
    unroll = turns.Unroll()
    if counts is not None:
        start = low.frame.env.get(counts.name)
        unroll = unroll_mode(
            node,
            low.frame.function,
            low.frame.env,
            start is not None and isinstance(start.const, int),
        )

    def head(low: Lowering) -> Callable[[Lanes], Any] | None:
        before = dict(low.registers.held)
        low.turn_test = node.test
        test = told(node.lineno, low.condition(node.test).run)
        low.turn_test = None
        # The test stands at the end of a turn in the compiled loop: what it loads in
        # one turn is not at hand in the next, but for what no turn changes.
        first = low.held_first if isinstance(node.test, ast.BoolOp) else low.registers.held
        rotated = {k for k in first if k not in before and not old_enough(k, low.loop_version)}
        low.held_where[True] = {
            k: h
            for k, h in low.held_where.get(True, low.registers.held).items()
            if k not in rotated
        }
        return test

    loop = _loop(
        low,
        node,
        head,
        names,
        False,
        unroll,
        lambda test, code: turns.while_loop(
            code, test, None if counts is None else _counter(low, counts)
        ),
        even=counts is not None
        and all(one_for_all(low.value(n).key) for n in (counts.left, counts.right, counts.step)),
    )
    if not all(
        isinstance(statement, ast.Pass | ast.Continue | ast.Expr) for statement in node.body
    ):
        return loop
    asked = [ast.unparse(n.func) for n in nodes(node.test, ast.Call)]
    if any(name.endswith(("atomic.cas", "compare_and_swap", "exch")) for name in asked):
        low.one_by_one = True
    return _waiting(node, loop) if any("atomic." in name for name in asked) else loop


def _waiting(node: ast.While, loop: Statement) -> Statement:
    """``while cuda.atomic.cas(lock, 0, 0, 1) != 0: pass``: threads go in step here, so that the one
    that has the lock waits for those that wait for it.
    """

    def execute(lanes: Lanes) -> None:
        launch = lanes.launch
        limit = launch.step_limit
        launch.step_limit = min(limit, lanes.steps + STEPS_OF_WAITING)
        try:
            loop(lanes)
        except KernelFault as fault:
            if fault.outcome == Outcome.TIMED_OUT and fault.line == node.lineno:
                raise not_measured(node.lineno, "lock") from None
            raise
        finally:
            launch.step_limit = limit

    return execute


def _counter(low: Lowering, counts: Counting) -> Callable[[Lanes], np.ndarray | None] | None:
    """The turns of ``while i < n: ...; i += step``, from the values at its head."""
    parts = [low.value(node) for node in (counts.left, counts.right, counts.step)]
    if not all(is_integer(part.type) for part in parts) or any(p.masked for p in parts):
        return None
    left, right, step = [converted(part, INT).run for part in parts]
    sign = np.int64(-1 if counts.down else 1)

    def count(lanes: Lanes) -> np.ndarray | None:
        found: np.ndarray | None = turns.turns_of(
            left(lanes), right(lanes), sign * step(lanes), counts.up, counts.equal
        )
        return found

    return count


def _loop(
    low: Lowering,
    node: ast.For | ast.While,
    head: Callable[[Lowering], Callable[[Lanes], Any] | None],
    names: set[str],
    sure: bool,
    unroll: turns.Unroll,
    make: Callable[[Any, turns.LoopCode], Statement],
    keeps_registers: bool = False,
    even: bool = False,
    loads_ahead: bool = True,
) -> Statement:
    """Lowers a loop until the types and the held values at its head are stable.

    `head` lowers what each turn starts with; `sure` says that there is a first turn, and `even`
    that all threads make equally many; `unroll` how the compiler unrolls the loop;
    `keeps_registers` that a turn finds in registers what the one before has loaded from shared
    memory, and `loads_ahead` that what no turn changes is loaded in front of the first. `make`
    gets the last turn's test.
    """
    registers = low.registers
    low.loop_numbers += 1
    entry = LoopEntry(
        low.loop_numbers,
        dict(low.frame.env),
        {k: h for k, h in registers.held.items() if h.loop is None and h.half is None},
        registers.version,
        unroll.by > 1,
    )
    entry.types = {n: entry.env[n].type for n in names if n in entry.env}
    low.registers.depth += not sure
    for _ in range(MAX_LOOP_PASSES):
        turn = _turn(low, entry, head, node, names)
        types_now = _head_types(low, node, names, entry, turn)
        fresh = {
            key: held
            for key, held in turn.held.items()
            if (turn.clobbers if key in entry.held else loads_ahead)
        }
        stable = (
            types_now == entry.types
            and turn.clobbers == entry.clobbers
            and fresh.keys() <= entry.known.keys()
        )
        entry.types, entry.clobbers, entry.known = types_now, turn.clobbers, fresh
        if stable:
            break
    if loads_ahead:
        registers.keep_in_register(turn.scope, turn.version)
    low.registers.depth -= not sure
    around = registers.loops[-1] if registers.loops else None
    whole = even and not turn.targets.breaks and around and around.depth == registers.depth
    move_out(turn.scope, turn.version, around if whole else None)
    casts = _after_loop(low, node, names, entry, turn, sure)
    body = turn.statements if keeps_registers else [forget_shared, *turn.statements]
    code = turns.LoopCode(node.lineno, entry.number, body, sorted(names), casts, unroll)
    in_front_of_it = Names(entry.env, low.frame.instance)
    loop, in_front = make(turn.test, code), loads_made(turn.scope.head, in_front_of_it)

    def execute(lanes: Lanes) -> None:
        in_front(lanes)
        loop(lanes)

    return execute


def _turn(
    low: Lowering,
    entry: LoopEntry,
    head: Callable[[Lowering], Callable[[Lanes], Any] | None],
    node: ast.For | ast.While,
    names: set[str],
) -> Turn:
    """Lowers one turn with what is known about the loop's head so far."""
    registers = low.registers
    low.spend(10 + (len(entry.env) + len(entry.held) + len(entry.known)) // 8)
    registers.version, registers.straight = entry.version, Straight()
    scope, targets = LoopScope(entry.number, registers.depth), LoopTargets()
    registers.loops.append(scope)
    low.loops.append(targets)
    low.loop_nodes.append(node)
    low.frame.env = dict(entry.env)
    outcomes = low.outcomes
    # what no turn changes is older than the loop, and so is an address that it is part of
    tokens = {key: registers.new_version() for key in entry.known if not entry.clobbers}
    version = low.loop_version = registers.new_version()
    for name in sorted(names & entry.env.keys()):
        type_ = entry.types[name]
        if type_ is not None:
            fresh = registers.new_version()
            partly = entry.env[name].partly
            low.frame.env[name] = Expr(
                type_,
                variable(name),
                ("variable", fresh),
                fresh,
                masked=partly,
                origin=low.array_parameters if isinstance(type_, ArrayType) else (),
                partly=partly,
            )
    low.registers.held = {
        key: held for key, held in entry.held.items() if not entry.clobbers or key in entry.known
    }
    for key, held in entry.known.items():
        if key not in low.registers.held:
            since = registers.new_version() if entry.clobbers else entry.version
            # unrolled before the loop inside it is gone, each part loads for itself
            part = entry.unrolled and (entry.clobbers or held.inner)
            low.registers.held[key] = Held(
                tokens.get(key, held.token), since, low.registers.depth, (entry.number, part)
            )
    low.held_where = {}
    test = head(low)
    low.registers.held = dict(low.held_where.get(True, low.registers.held))
    exit_env = dict(low.frame.env)
    low.reachable = True
    statements = low.straight_block(node.body)
    turn = Turn(scope, targets, version, test, statements, exit_env)
    turn.latch = list(targets.continues)
    if low.reachable:
        turn.latch.append((low.frame.env, turn.end_casts))
        turn.held = available(registers, version, scope)
    turn.clobbers = scope.clobbers
    low.outcomes = outcomes
    registers.loops.pop()
    low.loops.pop()
    low.loop_nodes.pop()
    return turn


def _head_types(
    low: Lowering, node: ast.AST, names: set[str], entry: LoopEntry, turn: Turn
) -> dict[str, Any]:
    return {
        name: common(
            low,
            node,
            name,
            [entry.env[name], *[env[name] for env, _ in turn.latch if name in env]],
        )
        for name in names & entry.env.keys()
    }


def _after_loop(
    low: Lowering,
    node: ast.AST,
    names: set[str],
    entry: LoopEntry,
    turn: Turn,
    sure: bool,
) -> control.LoopCasts:
    """Joins the ways out of a loop; returns the changes of types on its ways."""
    entry_casts, exit_casts = Casts(), Casts()
    for name, type_ in entry.types.items():
        if type_ is None:
            continue
        for env, casts in ((entry.env, entry_casts), *turn.latch):
            source = env[name].type if name in env else None
            if source is not None:
                casts.add(name, source, type_)
    # A variable that is born in the loop leaves it with the type of its last turn.
    head = dict(turn.exit_env)
    born = {name for env, _ in turn.latch for name in names & env.keys()} - head.keys()
    for name in sorted(born):
        found = [env[name] for env, _ in turn.latch if name in env]
        partly = len(found) < len(turn.latch) or any(binding.partly for binding in found)
        head[name] = replace(found[0], partly=partly, product=None)
    low.frame.env = join(low, node, [(head, exit_casts), *turn.targets.breaks])
    for name in (names & low.frame.env.keys()) - entry.env.keys():
        binding = low.frame.env[name]
        if binding.type is not None:
            fresh = low.registers.new_version()
            low.frame.env[name] = replace(
                binding,
                key=("variable", fresh),
                since=fresh,
                const=UNKNOWN,
                items=None,
                masked=not sure or binding.partly,
                partly=not sure or binding.partly,
                product=None,
            )
    low.registers.held = {
        key: held for key, held in entry.held.items() if not turn.clobbers or key in turn.held
    }
    if sure and not turn.targets.breaks:
        for key, held in turn.held.items():
            low.registers.held.setdefault(key, Held(held.token, low.registers.new_version()))
    first = turn.scope.first
    if first and first[0] in turn.held and not (turn.clobbers or turn.scope.divides):
        version, half = low.registers.new_version(), (*first[1:], turn.scope.head)
        held = Held(version, version, low.registers.depth, half=half)
        low.registers.held.setdefault(first[0], held)
    low.registers.straight = Straight()
    low.reachable = True
    return control.LoopCasts(entry_casts, turn.end_casts, exit_casts)


def break_out(low: Lowering, node: ast.Break) -> Statement:
    """``break``."""
    casts = Casts()
    low.loops[-1].breaks.append((dict(low.frame.env), casts))
    low.reachable = False
    return control.leave_turn(node.lineno, casts, "breaks")


def continue_on(low: Lowering, node: ast.Continue) -> Statement:
    """``continue``."""
    casts = Casts()
    low.loops[-1].continues.append((dict(low.frame.env), casts))
    low.registers.loops[-1].continue_held.append(set(low.registers.held))
    low.reachable = False
    return control.leave_turn(node.lineno, casts, "continues")
