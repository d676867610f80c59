"""Blocks of specialised warps: of one program, step by step, so that other warps may go on between.

What a barrier has not let through yet yields; all else is done as the machine does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from course.engine.triton.ir import Block, Operation
from course.engine.triton.running import barriers
from course.engine.triton.running.agents import Work
from course.engine.triton.running.control import turns_of
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.values import Unsupported

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine


def _block(machine: Machine, frame: Frame, block: Block) -> Work:
    """Runs a block; returns what its last operation hands on."""
    for operation, work, names in machine.entered(block):
        inside = _INSIDE.get(operation.name)
        if inside is None:
            result = work(frame)
        else:
            machine.here(operation)
            result = yield from inside(machine, frame, operation)
            result = result[0] if result and len(result) == 1 else result
        if type(names) is str:
            frame[names] = result
        elif names and result is not None:
            frame.update(zip(names, result, strict=True))
    return [frame[name] for name in block.operations[-1].operands]


def _if(machine: Machine, frame: Frame, operation: Operation) -> Work:
    side = 0 if frame[operation.operands[0]].all() else 1
    region = operation.regions[side] if side < len(operation.regions) else ()
    return (yield from _block(machine, frame, region[0])) if region else []


def _for(machine: Machine, frame: Frame, operation: Operation) -> Work:
    low, high, step = (frame[name] for name in operation.operands[:3])
    body, carried = operation.regions[0][0], [frame[name] for name in operation.operands[3:]]
    turns = int(turns_of(machine, low, high, step).max())
    with machine.run.loop(turns) as place:
        for turn in range(turns):
            place.turn += 1
            given = [(low + step * turn).astype(low.dtype), *carried]
            carried = yield from _turn(machine, frame, body, given)
    return carried


def _while(machine: Machine, frame: Frame, operation: Operation) -> Work:
    test, body = operation.regions[0][0], operation.regions[1][0]
    carried = [frame[name] for name in operation.operands]
    with machine.run.loop(None) as place:
        while True:
            frame.update(zip(test.arguments, carried, strict=True))
            condition, *carried = yield from _block(machine, frame, test)
            if not condition.all():
                return carried
            place.turn += 1
            carried = yield from _turn(machine, frame, body, carried)


def _turn(machine: Machine, frame: Frame, body: Block, given: list[Any]) -> Work:
    frame.update(zip(body.arguments, given, strict=True))
    with machine.run.a_turn():
        return (yield from _block(machine, frame, body))


_INSIDE: dict[str, Callable[[Machine, Frame, Operation], Work]] = {
    "scf.if": _if, "scf.for": _for, "scf.while": _while,
    "ttng.wait_barrier": barriers.waiting,
}  # fmt: skip


def specialise(machine: Machine, frame: Frame, operation: Operation) -> Any:
    """`ttg.warp_specialize`: a region goes on as the others begin, with values of their own."""
    own, holder = operation.regions
    partitions = holder[0].operations[0]
    given: list[Array] = [frame[name] for name in partitions.operands or operation.operands]
    blocks = [region[0] for region in partitions.regions]
    if any(len(region) > 1 for region in (own, *partitions.regions)):
        raise Unsupported("specialised warps that leave a loop or a function early")
    assert machine.agents is not None
    works = [_block(machine, frame, own[0])]
    for block in blocks:
        inside = Frame(frame.count)
        inside.update(zip(block.arguments, given, strict=True))
        works.append(_block(machine, inside, block))
    values = machine.agents.specialise(works)
    return values[0] if len(values) == 1 else values


OPERATIONS = {"ttg.warp_specialize": specialise}
