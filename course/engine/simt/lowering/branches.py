"""`if`, and the joining of variables where several paths meet."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import KernelFault, does_not_compile, not_measured
from course.engine.simt.lowering.address_choices import as_assignments
from course.engine.simt.lowering.expr import Expr, Names, nothing, variable
from course.engine.simt.lowering.types import ArrayType, Type, TypingError, unify
from course.engine.simt.nvvm.chosen_stores import (
    is_made_by_all,
    is_worth_it,
    joins,
    lone_store,
    sinks,
)
from course.engine.simt.nvvm.merging import AccessSite, Arm, Count, Held, Straight, Under
from course.engine.simt.nvvm.ranges import Fact, fact_of, is_switch
from course.engine.simt.nvvm.unrolling import leaves_late
from course.engine.simt.running import control
from course.engine.simt.running.control import Casts
from course.engine.simt.running.lanes import Lanes, Statement
from course.plain.trees import nodes, stored_names

if TYPE_CHECKING:
    from course.engine.simt.lowering.lower import Lowering


@dataclass
class Branch:
    """One side of an `if`, lowered."""

    statements: list[Statement]
    env: dict[str, Expr]
    reachable: bool
    held: dict[Any, Held]
    arm: Arm
    straight: Straight
    casts: Casts = field(default_factory=Casts)


def if_else(low: Lowering, node: ast.If) -> Statement:
    """``if``: each side on its own copy of what is known, then joined."""
    if chosen := as_assignments(low, node):
        statements = low.block(chosen)
        return lambda lanes: lanes.run(statements)
    condition = low.condition(node.test)
    entry = dict(low.frame.env)
    held, where = low.registers.snapshot(), low.held_where
    before, one_question = low.registers.straight, low.one_question
    known = low.outcome(condition)
    if known is not None:
        return _foregone(low, node, condition, entry, known)
    low.registers.step(None)  # code that both ways around begin with ends here
    low.registers.depth += 1
    facts = fact_of(condition.key, True), fact_of(condition.key, False)
    outcomes = low.outcomes
    low.outcomes = {**outcomes, condition.key: True}
    then = _branch(low, node, True, entry, where.get(True, held), facts[0])
    low.outcomes = {**outcomes, condition.key: False}
    other = _branch(low, node, False, entry, where.get(False, held), facts[1])
    low.outcomes = outcomes
    low.registers.depth -= 1
    low.registers.straight = Straight()
    low.reachable = then.reachable or other.reachable
    head: list[Any] = []
    stores: list[Statement] = []
    if then.reachable and other.reachable:
        low.frame.env = join(low, node, [(then.env, then.casts), (other.env, other.casts)])
        goes_on = id(node) in low.frame.function.joined
        low.registers.meet(held, (then.arm, other.arm), (then.held, other.held), head, goes_on)
        if one_question:
            condition, stores = _chosen_store(low, node, condition, before, then, other)
    else:
        low.registers.meet({}, (then.arm, other.arm), ({}, {}), head)
        kept = then if then.reachable else other
        low.fact = facts[1] if kept is other and not node.orelse else None
        low.outcomes = {**outcomes, condition.key: kept is then}
        # the function's caller goes on with the lanes that have returned
        low.registers.depth += low.frame.device and bool(nodes(node, ast.Return))
        low.frame.env, low.registers.held = kept.env, kept.held
    for side in (then, other):
        if any(one.lost is side.arm.tail for one in low.registers.held.values()):
            names = Names(side.env, low.frame.instance)
            side.statements.append(loads_made(side.arm.tail, names))
    loop = low.loop_nodes[-1] if low.loop_nodes else None
    if leaves_late(node, loop, low.frame.function) and not low.frame.device:
        low.instances += 1
        then.statements[:] = [control.leave_late(low.instances, list(then.statements))]
    made = loads_made(head, Names(entry, low.frame.instance))
    return _joined(low, node, condition, then, other, [made, *stores])


def _chosen_store(
    low: Lowering, node: ast.If, condition: Expr, before: Straight, then: Branch, other: Branch
) -> tuple[Expr, list[Statement]]:
    """The condition, whose outcome is kept where need be, and a store that is made in front."""
    registers, function = low.registers, low.frame.function
    taken = lone_store(then.arm, then.straight, other.arm)
    stored = taken or lone_store(other.arm, other.straight, then.arm)
    if stored is None or is_switch(condition.key):
        return condition, []
    way_in, body = (then, node.body) if taken else (other, node.orelse)
    beside = [step for step in way_in.arm.steps if step is not stored]
    low.instances += 1
    way, here = low.instances, low.names()
    made: list[Statement] = []
    under = Under(stored, stored.site, (way,), before.front(stored.key))
    joined = before.under and joins(before.under, stored, beside, registers)
    by_all = not joined and is_made_by_all(before, stored, beside, condition.key, bool(taken))
    by_all = by_all and not sinks(body, function)
    if joined:
        assert before.under
        under = before.under.with_another(stored, way)
        made = [_under(under, here)]
    final = by_all and not before.of_branch
    if by_all or (under.front and function.has_code_behind(node)):
        if not joined:
            registers.straight = before
        under.by_all(registers)
        made = [_by_all(under.site, stored.count, here)]
    if final or not is_worth_it(stored, beside):
        return condition, made
    registers.straight.under = under
    test = condition.run

    def kept(lanes: Lanes) -> Any:
        chosen = test(lanes)
        lanes.storing[way] = chosen if taken else ~chosen
        return chosen

    return replace(condition, run=kept), made


def _by_all(site: AccessSite, count: Count, here: Names) -> Statement:
    def run(lanes: Lanes) -> None:
        asking = site.counts(lanes)
        if asking is not False:
            count(lanes, here, asking)

    return run


def _under(under: Under, here: Names) -> Statement:
    """A store that is made where one of several conditions holds."""

    def run(lanes: Lanes) -> None:
        if not under.site.merged:
            chosen = functools.reduce(np.logical_or, [lanes.storing[way] for way in under.ways])
            asking = lanes.full(lanes.both(lanes.mask, chosen))
            if asking.any():
                under.stored.count(lanes, here, asking)

    return run


def _foregone(
    low: Lowering, node: ast.If, condition: Expr, entry: dict[str, Expr], holds: bool
) -> Statement:
    """An `if` in a branch that says how it ends: one way is left, and it is no branch."""
    with low.never_reached():
        never = _branch(low, node, not holds, entry, {}, None)
    low.frame.env, low.reachable = dict(entry), True
    statements = [*_made_here(low, node, holds), *low.block(node.body if holds else node.orelse)]
    live = Branch(statements, low.frame.env, low.reachable, {}, never.arm, never.straight)
    low.reachable = live.reachable or never.reachable
    if live.reachable and never.reachable:
        ways = [(live.env, live.casts), (never.env, never.casts)]
        low.frame.env = join(low, node, ways)
    elif never.reachable:
        low.frame.env = never.env
    then, other = (live, never) if holds else (never, live)
    return _joined(low, node, condition, then, other, [])


def _joined(
    low: Lowering, node: ast.If, condition: Expr, then: Branch, other: Branch, head: list[Any]
) -> Statement:
    stored = stored_names(node.body) | stored_names(node.orelse)
    names = sorted(n for n in stored if n not in low.frame.env or low.frame.env[n].conflict is None)
    return control.if_statement(
        node.lineno,
        told(node.lineno, condition.run),
        then.statements,
        other.statements,
        names,
        then.casts,
        other.casts,
        head,
    )


def loads_made(counts: list[Count], here: Names) -> Statement:
    """Accesses that stand elsewhere and are made here, where the variables are these."""

    def run(lanes: Lanes) -> None:
        for count in counts:
            count(lanes, here)

    return run


def told(line: int, test: Callable[[Lanes], Any]) -> Callable[[Lanes], Any]:
    """A test, whose outcome whoever follows a thread hears of."""

    def run(lanes: Lanes) -> Any:
        found = test(lanes)
        if lanes.told is not None:
            lanes.told(lanes, line, "", (), np.asarray(found))
        return found

    return run


def _made_here(low: Lowering, node: ast.If, holds: bool) -> list[Statement]:
    """The loads of values from in front of a branch that this way alone uses."""
    loads = low.frame.later.get((id(node), holds), {}).values()
    return [_made(low, *load) for of_one in loads for load in of_one]


def _made(low: Lowering, key: Hashable, since: int, count: Count) -> Statement:
    site, _ = low.registers.load(key, since, count)
    return _by_all(site, count, low.names())


def _branch(
    low: Lowering,
    node: ast.If,
    holds: bool,
    entry: dict[str, Expr],
    held: dict[Any, Held],
    fact: Fact | None,
) -> Branch:
    body = node.body if holds else node.orelse
    low.spend((len(entry) + len(held)) // 8)
    low.frame.env, low.registers.held, low.reachable = dict(entry), dict(held), True
    low.registers.straight = Straight()
    arm = Arm(low.registers.version + 1, low.registers.depth)
    if nodes(body, ast.For, ast.While):
        arm.closed.append(True)
    low.registers.arms.append(arm)
    statements = [*_made_here(low, node, holds), *low.straight_block(body, fact)]
    low.registers.arms.pop()
    registers = low.registers
    return Branch(
        statements, low.frame.env, low.reachable, registers.snapshot(), arm, registers.straight
    )


def join(
    low: Lowering, node: ast.AST, paths: list[tuple[dict[str, Expr], Casts]]
) -> dict[str, Expr]:
    """The variables where several paths meet: one type each, a new version if they differ."""
    joined: dict[str, Expr] = {}
    low.spend(sum(len(env) for env, _ in paths) // 8)
    for name in sorted(set().union(*[env.keys() for env, _ in paths])):
        bindings = [(env[name], casts) for env, casts in paths if name in env]
        first = bindings[0][0]
        if len(bindings) == len(paths) and all(b is first for b, _ in bindings):
            joined[name] = first
            continue
        conflict = next((b.conflict for b, _ in bindings if b.conflict is not None), None)
        try:
            type_ = common(low, node, name, [binding for binding, _ in bindings])
        except KernelFault as fault:
            conflict = conflict or fault
        if conflict is not None:  # each path has its own; whoever reads it behind them is told
            joined[name] = Expr(None, nothing, conflict=conflict)
            continue
        if type_ is None:
            joined[name] = first
            continue
        for binding, casts in bindings:
            assert binding.type is not None
            casts.add(name, binding.type, type_)
        version = low.registers.new_version()
        partly = len(bindings) < len(paths) or any(binding.partly for binding, _ in bindings)
        joined[name] = Expr(
            type_,
            variable(name),
            ("variable", version),
            version,
            masked=partly,
            partly=partly,
            origin=tuple(sorted({one for binding, _ in bindings for one in binding.origin})),
        )
    return joined


def common(low: Lowering, node: ast.AST, name: str, bindings: list[Expr]) -> Type | None:
    """The unified type of a variable, or None for one that has no lanes."""
    if any(binding.type is None for binding in bindings):
        if all(binding.const == bindings[0].const for binding in bindings):
            return None
        raise low.untyped(node, f"{name} is different things on different paths")
    kinds = {(b.type.dtype, b.type.ndim) for b in bindings if isinstance(b.type, ArrayType)}
    memories = {b.type.memory for b in bindings if isinstance(b.type, ArrayType)}
    if len(kinds) == 1 and len(memories) > 1:
        raise not_measured(
            getattr(node, "lineno", None),
            "array_choice",
            what=f"{name} is in {' or in '.join(sorted(memories))} memory",
        )
    type_ = bindings[0].type
    assert type_ is not None
    for binding in bindings[1:]:
        assert binding.type is not None
        try:
            type_ = unify(type_, binding.type)
        except TypingError as error:
            raise does_not_compile(
                node,
                "type_unification",
                name=name,
                detail=str(error),
                first=str(type_),
                second=str(binding.type),
            ) from None
    return type_
