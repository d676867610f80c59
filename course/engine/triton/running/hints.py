"""What a kernel tells the compiler of its numbers: a GPU takes it at its word.

`tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` let a lane take several elements at
once, from the first one's address and by the first one's mask. Where they are no neighbours, it
gets what lies there. Of what `tl.assume` says the compiler may draw any conclusion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from course.engine.faults import Outcome
from course.engine.triton.ir import Operation
from course.engine.triton.running.frames import Array, Frame
from course.engine.triton.running.sites import Access
from course.engine.triton.running.values import Value

if TYPE_CHECKING:
    from course.engine.triton.running.machine import Machine


def assume(machine: Machine, frame: Frame, operation: Operation) -> None:
    """`tl.assume`.

    Raises:
        KernelFault: WRONG_ANSWER, where it does not hold.
    """
    found = np.broadcast_to(frame[operation.operands[0]], (frame.count,))
    if not found.all():
        program = machine.run.shown_program(machine.run.programs[found.argmin()])
        machine.run.fail(Outcome.WRONG_ANSWER, "tile_assumption", program=program)


def as_taken(value: Value, axis: int, width: int, step: int) -> Value:
    """Addresses or a mask as lanes have them that take `width` elements along an axis at once.

    Args:
        step: from each of them to the next, in bytes; 0 for a mask.
    """
    shape = value.shape
    whole = np.broadcast_to(value.data, (len(value.data), *shape))
    groups = whole.reshape(-1, *shape[:axis], shape[axis] // width, width, *shape[axis + 1 :])
    first = groups.take([0], axis + 2)
    beside = np.arange(width).reshape(-1, *(1,) * (len(shape) - axis - 1))
    data = np.broadcast_to(first, groups.shape) if step == 0 else first + beside * step
    taken = Value(data.reshape(whole.shape), value.scalar, shape)
    taken.heard = value.heard
    return taken


def require_aligned(access: Access, elements: Array, size: int) -> None:
    """Holds the first element that each lane takes to a multiple of the `size` bytes it takes.

    Raises:
        KernelFault: OUT_OF_BOUNDS, where it is none.
    """
    offsets, active = access.spread

    def firsts(array: Array) -> Array:
        whole = np.broadcast_to(array, (len(array), *access.shape))
        return whole.reshape(len(array), -1)[:, elements]

    askew = firsts(offsets) % size != 0
    if active is not None:
        askew &= firsts(active)
    if askew.any():
        at = np.unravel_index(int(askew.argmax()), askew.shape)
        row = int(at[0]) if len(askew) > 1 else 0
        access.run.fail(
            Outcome.OUT_OF_BOUNDS,
            "tile_hint",
            array=access.view.name,
            index=access.view.index_of(int(firsts(offsets)[at])),
            count=size // access.view.itemsize,
            program=access.run.shown_program(access.run.programs[row]),
        )


OPERATIONS = {"llvm.intr.assume": assume, "tt.assume": assume}
