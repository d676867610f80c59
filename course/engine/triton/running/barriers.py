"""What orders the warps of a program, where the kernel says so itself: in Gluon, or specialised.

Each of these stands before what the operation does anyway. Elsewhere the compiler has put a wait
before each use, and no operation here is looked at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from course.engine.faults import Outcome
from course.engine.triton.ir import Operation, Type
from course.engine.triton.running.agents import (
    ARRIVES,
    COPIES,
    TCGEN05,
    WGMMA,
    Agents,
    Barrier,
    Event,
    Work,
)
from course.engine.triton.running.frames import Frame
from course.engine.triton.running.shared import Buffer, Folded
from course.engine.triton.running.values import Unsupported

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine

#: What a guard gives where there is nothing to be done behind it: a predicate is false.
NOT_MADE = False

Guard = Callable[["Machine", Frame, Operation], Any]


def _agents(machine: Machine) -> Agents:
    assert machine.agents is not None
    return machine.agents


def _touch(machine: Machine, buffer: Any, event: Event, writes: bool = False) -> None:
    if isinstance(buffer, Buffer):
        if isinstance(buffer.content.flat[0], Barrier):
            raise Unsupported("a barrier that is read or written as numbers are")
        content = buffer.content if isinstance(buffer, Folded) else buffer.same()
        _agents(machine).touch(content, event, writes)


# ---------------------------------------------------------------- barriers


def allocate(machine: Machine, frame: Frame, operation: Operation) -> Buffer | None:
    """`ttg.local_alloc`: what looks like barriers is some; None for other buffers."""
    type_ = operation.result_types[0]
    if type_.scalar != "i64" or type_.shape[-1] != 1 or operation.operands:
        return None
    if operation.number in machine.of_numbers:
        return None
    content = np.empty((1, *type_.shape), object)
    for place in np.ndindex(content.shape):
        content[place] = Barrier()
    return Buffer(content, np.zeros((1, 1)))


def _allocated(frame: Frame, operation: Operation, at: int = 0) -> Barrier:
    buffer = frame[operation.operands[at]]
    found: list[Any] = buffer.same().ravel().tolist() if isinstance(buffer, Buffer) else []
    if len(found) != 1 or not isinstance(found[0], Barrier):
        raise Unsupported("a barrier of several blocks")
    return found[0]


def _barrier(machine: Machine, frame: Frame, operation: Operation, at: int = 0) -> Barrier:
    barrier = _allocated(frame, operation, at)
    if not barrier.count:
        program = machine.run.shown_program()
        machine.run.fail(Outcome.UNINITIALISED, "tile_barrier_uninitialised", program=program)
    return barrier


def _allowed(frame: Frame, operation: Operation, at: int) -> bool:
    """A predicate, where there is one."""
    return len(operation.operands) <= at or bool(frame[operation.operands[at]].all())


def begin(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.init_barrier`."""
    barrier = _allocated(frame, operation)
    barrier.count = barrier.left = operation.integer("count")
    barrier.bytes = barrier.phase = 0
    barrier.line = machine.run.line


def _arrives(machine: Machine, barrier: Barrier, count: int, copied: int) -> None:
    agents = _agents(machine)
    agents.arrive(barrier, count, copied, agents.event(ARRIVES))


def expect(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.barrier_expect`: one arrives, and so many bytes will."""
    if _allowed(frame, operation, 1):
        _arrives(machine, _barrier(machine, frame, operation), 1, -operation.integer("size"))


def arrive(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.arrive_barrier`."""
    if _allowed(frame, operation, 1):
        _arrives(machine, _barrier(machine, frame, operation), operation.integer("count"), 0)


def _awaited(machine: Machine, frame: Frame, operation: Operation) -> tuple[Barrier, int] | None:
    """`ttng.wait_barrier`: the barrier, a parity, a predicate or none, buffers."""
    predicated = operation.integers("operandSegmentSizes")[2]
    if predicated and not _allowed(frame, operation, 2):
        return None
    # the last bit alone counts: Triton's own compiler has -1 for 1 there
    return _barrier(machine, frame, operation), int(frame[operation.operands[1]].flat[0]) & 1


def wait(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.wait_barrier`, where no other warps go on meanwhile."""
    if (awaited := _awaited(machine, frame, operation)) is not None:
        _agents(machine).until(*awaited)


def waiting(machine: Machine, frame: Frame, operation: Operation) -> Work:
    """The same, where others do."""
    machine.here(operation)
    if (awaited := _awaited(machine, frame, operation)) is not None:
        yield from _agents(machine).waiting(*awaited)


# ---------------------------------------------------------------- copies


def _bytes(type_: Type) -> int:
    bits = re.match(r"[a-z]+(\d+)", type_.scalar)
    assert bits is not None, type_.scalar
    return math.prod(type_.shape) * int(bits[1]) // 8


def brought(machine: Machine, frame: Frame, operation: Operation) -> bool | None:
    """A TMA load: its last operands are a barrier, the buffer, and whether to copy at all."""
    if not _allowed(frame, operation, len(operation.operands) - 1):
        return NOT_MADE
    agents = _agents(machine)
    event = agents.event(COPIES, issued=True)
    _touch(machine, frame[operation.operands[-2]], event, writes=True)
    barrier = _barrier(machine, frame, operation, len(operation.operands) - 3)
    agents.arrive(barrier, 0, _bytes(operation.operand_types[-2]), event)
    return None


def taken(machine: Machine, frame: Frame, operation: Operation) -> None:
    """A TMA store, or an update."""
    event = _agents(machine).event("a TMA store reads", issued=True)
    _touch(machine, frame[operation.operands[-1]], event)
    _agents(machine).now.stores.append(event)


def copied(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttg.async_copy_global_to_local`."""
    event = _agents(machine).event("an asynchronous copy writes", issued=True)
    _touch(machine, frame[operation.operands[1]], event, writes=True)
    _agents(machine).now.open.append(event)


def committed(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttg.async_commit_group`."""
    me = _agents(machine).now
    me.groups.append(me.open)
    me.open = []


def arrive_behind_copies(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.async_copy_mbarrier_arrive`: a phase ends behind the copies that were issued so far."""
    if "noIncrement" in operation.attributes:
        raise Unsupported("a barrier that counts the threads whose copies have been made")
    me = _agents(machine).now
    events = [*me.open, *chain.from_iterable(me.groups)]
    _agents(machine).arrive(_barrier(machine, frame, operation), 0, 0, *events)


def _waits(kind: str, attribute: str, machine: Machine, frame: Frame, operation: Operation) -> None:
    me = _agents(machine).now
    me.wait_for(getattr(me, kind), operation.integer(attribute))


# ---------------------------------------------------------------- warps' own accesses, products


def _plain(at: int, writes: bool, machine: Machine, frame: Frame, operation: Operation) -> None:
    event = _agents(machine).event(f"a {'store writes' if writes else 'load reads'}")
    _touch(machine, frame[operation.operands[at]], event, writes)


def multiplied(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.warp_group_dot`."""
    agents = _agents(machine)
    issued = operation.attributes.get("isAsync", "false").startswith("true")
    event = agents.event(WGMMA, issued)
    for name in operation.operands[:2]:
        _touch(machine, frame[name], event)
    if issued:
        agents.now.products.append(event)


def in_tensor_memory(machine: Machine, frame: Frame, operation: Operation) -> bool | None:
    """`ttng.tc_gen5_mma` and its scaled form, which end with barriers and whether to tell each."""
    agents, counts = _agents(machine), operation.integers("operandSegmentSizes")
    first = sum(counts[:-2])
    if not _allowed(frame, operation, first - 1):
        return NOT_MADE
    reads = agents.event(TCGEN05, issued=True, pipe=True)
    writes = agents.event("a product (tcgen05) writes", issued=True, pipe=True)
    scales = operation.operands[3 + counts[3] : first - 2]
    for name in (*operation.operands[:2], *scales):
        _touch(machine, frame[name], reads)
    sums = frame[operation.operands[2]]
    if _allowed(frame, operation, first - 2):
        agents.reads(sums.same(), "a product (tcgen05) adds to")
    _touch(machine, sums, writes, writes=True)
    agents.now.tensor += [reads, writes]
    for at in range(first, first + counts[-2]):
        if not counts[-1] or _allowed(frame, operation, at + counts[-2]):
            _told(agents, _barrier(machine, frame, operation, at))
    return None


def to_tensor_memory(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.tmem_copy`: products behind it find what it brings."""
    agents = _agents(machine)
    reads, writes = (
        agents.event(f"a copy (tcgen05) {does}", issued=True, pipe=True)
        for does in ("reads", "writes")
    )
    source, target = (frame[name] for name in operation.operands[:2])
    _touch(machine, source, reads)
    _touch(machine, target, writes, writes=True)
    agents.now.tensor += [reads, writes]
    if len(operation.operands) > 2:
        _told(agents, _barrier(machine, frame, operation, 2))


def _told(agents: Agents, barrier: Barrier) -> None:
    agents.arrive(barrier, 1, 0, *agents.now.tensor)


def commit(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`ttng.tc_gen5_commit`: arrives when the products so far have been made."""
    several = "operandSegmentSizes" in operation.attributes  # from Triton 3.7 on, buffers behind
    predicated = operation.integers("operandSegmentSizes")[1] if several else True
    if not predicated or _allowed(frame, operation, 1):
        _told(_agents(machine), _barrier(machine, frame, operation))


#: what stands before an operation; a buffer of barriers is all that one of them makes
GUARDS: dict[str, Guard] = {
    "ttg.local_alloc": allocate,
    "ttng.init_barrier": begin, "ttng.barrier_expect": expect, "ttng.arrive_barrier": arrive,
    "ttng.wait_barrier": wait,
    "ttng.async_tma_copy_global_to_local": brought, "ttng.async_tma_gather": brought,
    "ttng.async_tma_copy_local_to_global": taken, "ttng.async_tma_scatter": taken,
    "ttng.async_tma_reduce": taken,
    "ttng.async_tma_store_wait": partial(_waits, "stores", "pendings"),
    "ttg.async_copy_global_to_local": copied, "ttg.async_commit_group": committed,
    "ttg.async_wait": partial(_waits, "groups", "num"),
    "ttg.local_load": partial(_plain, 0, False), "ttg.local_store": partial(_plain, 1, True),
    "ttng.tmem_load": partial(_plain, 0, False), "ttng.tmem_store": partial(_plain, 0, True),
    "ttng.warp_group_dot": multiplied,
    "ttng.warp_group_dot_wait": partial(_waits, "products", "pendings"),
    "ttng.tc_gen5_mma": in_tensor_memory, "ttng.tc_gen5_mma_scaled": in_tensor_memory,
    "ttng.tc_gen5_commit": commit, "ttng.tmem_copy": to_tensor_memory,
    "ttng.async_copy_mbarrier_arrive": arrive_behind_copies,
}  # fmt: skip
