"""One launch of a checked kernel: what goes in, and what comes out.

A check asks a runner for each case. `course.engine.runner` is the one in the same process; a
grader's makes the same `Run` elsewhere and answers with the same `Ran`, or raises the same
`KernelFault`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course.engine.faults import KernelFault
from course.engine.traffic import Traffic


@dataclass(frozen=True)
class Output:
    """What a launcher has to return."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    contiguous: bool = False


@dataclass(frozen=True)
class Form:
    """An array without its contents: a view of so many bytes, with strides in bytes, too."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    bytes: int


@dataclass(frozen=True)
class Run:
    """One launch to make: the cell's text, the kernel's name, and fresh arguments in order.

    With `outputs`, `kernel` names a launcher of the cell: it is called with the arguments, and
    returns the outputs.
    """

    source: str
    kernel: str
    arguments: Mapping[str, Any]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    #: statements that one batch of blocks may execute before the kernel counts as endless
    step_limit: int
    #: `numba` or `triton`; what follows is Triton's
    dialect: str = "numba"
    #: the compute capability for which it is compiled; 0: the stated GPU's
    target: int = 0
    #: whether the cell's kernels have to be Gluon's
    gluon: bool = False
    outputs: tuple[Output, ...] = ()
    #: arguments that nothing has initialised: a kernel has to write before it reads
    unwritten: tuple[str, ...] = ()
    #: whether the L2 cache's model is asked what DRAM delivers
    cache: bool = False
    #: whether a grader asks the compilers for other GPUs, too, what they say against it
    elsewhere: bool = False
    #: whether registers and spills are asked for: they cost a run of the assembler
    binary: bool = False
    #: which of autotune's configurations is taken, counted round: 0 is the first
    tuned: int = 0
    #: properties of a GPU, by torch's names: the run is planned for it, and not made
    planned_for: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ran:
    """What a launch left: every array by parameter name, and what it asked of memory.

    A launcher's outputs are among the arrays.
    """

    arrays: Mapping[str, np.ndarray]
    traffic: Traffic
    #: what the compiler says against it for a GPU that it did not run on, where a grader asks
    elsewhere: KernelFault | None = None
    #: what autotune's configuration sets, where it was not the first
    tuned: str = ""


Runner = Callable[[Run], Ran]
