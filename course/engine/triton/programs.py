"""All programs of a launch: what they are given, and which of them run together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from course.engine.tile.arguments import Passed
from course.engine.tile.launch import UNDER_WAY
from course.engine.tile.locks import Order
from course.engine.tile.memory import Memory, address_of
from course.engine.tile.run import Run
from course.engine.tile.values import Unsupported
from course.engine.triton.bulk import Descriptor
from course.engine.triton.counts import Uncounted
from course.engine.triton.ir import Module, Type
from course.engine.triton.machine import Machine
from course.engine.triton.operations import dtype_of


def arguments_of(module: Module, passed: Passed) -> list[Any]:
    """What the parameters of the compiled kernel hold: those that are no constants.

    A host's descriptor is several parameters: as the hardware knows it, or a pointer, with sizes
    and strides either way.
    """
    types = module.entry.regions[0][0].types
    found: list[Any] = []
    for name, value in passed.values.items():
        if isinstance(value, TensorDescriptor):
            found += _described(types[len(found) :], passed, name, value)
        elif isinstance(value, tl.tensor):
            found.append(value.handle.data)
        elif isinstance(value, tl.tuple):
            found += _inside(value)
    if len(found) != len(types):
        raise Unsupported(f"a kernel of {len(types)} parameters, launched with {len(found)}")
    return found


def _inside(values: tl.tuple) -> list[Any]:
    """The tensors and numbers of a tuple, and of tuples in it."""
    found: list[Any] = []
    for value in values.values:
        if isinstance(value, tl.tuple):
            found += _inside(value)
        elif isinstance(value, tl.tensor):
            found.append(value.handle.data)
    return found


def _described(
    types: Sequence[Type], passed: Passed, name: str, host: TensorDescriptor
) -> list[Any]:
    view = next(view for view in passed.views if view.name == name)
    base = np.array([address_of(view)], np.int64)
    nan = getattr(host, "padding", "zero") == "nan"
    extent, strides = (
        tuple(np.array([int(n)], np.int64) for n in numbers)
        for numbers in (host.shape, host.strides)
    )
    found: list[Any]
    sizes = [*extent, *strides]
    if types[0].kind == "pointer":
        # as a pointer: sizes, strides, whether NaN stands outside, and what else has an answer
        sizes = [base, *sizes]
        answers = len(list(takewhile(lambda t: t.text == "i1", types[len(sizes) :])))
        flags = [np.array([nan and at == 0]) for at in range(answers)]
        found = [*sizes, *flags, *extent, *strides]
    else:
        type_ = tl.pointer_type(view.element)
        found = [Descriptor(base, type_, extent, strides, nan)]
        found += sizes
    return [
        value.astype(dtype_of(type_)) if isinstance(value, np.ndarray) else value
        for value, type_ in zip(found, types, strict=False)
    ]


def in_batches(machine: Machine, arguments: Sequence[Any], together: int) -> None:
    """Runs all programs, so many at once."""
    run = machine.run
    with np.errstate(all="ignore"), machine.memory.settled():
        for first in range(0, run.size, together):
            run.start(np.arange(first, min(run.size, first + together)))
            machine.start(arguments)


def in_turns(machine: Machine, arguments: Sequence[Any], passed: Passed) -> None:
    """Runs one program after the other, as atomics order them.

    An order may hide a race. So where one has made a difference, the last programs come first in
    a second run that leaves no trace, a few of them at once: what is right is so in both.

    Raises:
        KernelFault: what either run found; RACE, too, where they store different results.
    """
    run = machine.run
    before = {allocation: allocation.kept() for allocation in passed.allocations}
    order = _one_by_one(machine, arguments, range(run.size), 1)
    if not order.relied:
        return
    after = {allocation: allocation.kept() for allocation in passed.allocations}
    again = Run(run.grid, run.step_limit, run.debug)
    again.filename, again.line = run.filename, run.line
    meter = Uncounted()
    again.memory = Memory(again, passed.views, meter)
    another = Machine(machine.module, again, again.memory, meter, machine.files)
    try:
        for allocation, content in before.items():
            allocation.put_back(content)
        _one_by_one(another, arguments, reversed(range(run.size)), UNDER_WAY)
        for view in passed.views:
            for memory in (machine.memory, another.memory):
                memory.same(view, after[view.allocation])
    finally:
        for allocation, content in after.items():
            allocation.put_back(content)


def _one_by_one(
    machine: Machine, arguments: Sequence[Any], programs: Iterable[int], together: int
) -> Order:
    turns = machine.run.in_turns(together)
    with np.errstate(all="ignore"), machine.memory.settled():
        turns.all(programs, lambda: machine.start(arguments))
    return turns.order
