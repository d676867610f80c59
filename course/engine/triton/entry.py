"""What a launch begins with: its kernel, its arguments, its grid, how long it may run."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import triton

from course.engine.faults import KernelFault, Outcome, not_measured, rejected
from course.engine.triton.compiling.functions import base_function, code_of
from course.engine.triton.compiling.specialisation import debugs
from course.engine.triton.passed import Passed, bound
from course.engine.triton.running.run import Run
from course.engine.triton.running.space import Space

#: Statements that one batch may execute before its kernel counts as endless, where nobody says:
#: a second's worth, and more for large tensors, which one program may walk through block by block;
#: all in a program of somebody's own, whose loops are longer and who can stop it.
FEWEST_STEPS, MOST_STEPS = 20_000, 200_000
ELEMENTS_A_STEP = 16
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_PROGRAMS = 1 << 24  # beyond this the engine would run for hours
#: Programs of a check's launch that are let run, whatever its tensors hold: a second's worth.
#: With more than its tensors have elements, some program has none; honest designs have a
#: sixteenth of that, and 768 at most.
LET_RUN = 4096

Grid = int | Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]


def begun(
    kernel: Any,
    args: Sequence[Any],
    grid: Grid,
    named: dict[str, Any],
    step_limit: int | None,
    whole: bool = False,
    space: Space | None = None,
) -> tuple[Any, Passed, Run]:
    """(the function, what it is given, the run) of a launch that may begin.

    `whole`: whether a view reaches as far as its allocation. `space`: of a program that may know
    addresses.

    Raises:
        KernelFault: what is wrong with the launch.
    """
    function = base_function(kernel)
    _check_jitted(function, kernel)
    try:
        given = bound(function, tuple(args), named)
    except KernelFault as fault:  # of a launch from anywhere the kernel's `def` is shown
        fault.line = code_of(function).first_line
        raise
    size = extent(grid, given)
    passed = Passed(function, given, space, whole)
    asked = () if space is None else space.asked()
    elements = sum(view.elements for view in passed.views) + sum(one.numel() for one in asked)
    if step_limit is not None and math.prod(size) > max(LET_RUN, elements):
        raise KernelFault(
            Outcome.TIMED_OUT, "tile_idle_programs", None, programs=math.prod(size),
            elements=elements,
        )  # fmt: skip
    if step_limit is None:
        by_size = min(MOST_STEPS, FEWEST_STEPS + elements // ELEMENTS_A_STEP)
        step_limit = by_size if space is None else MOST_STEPS
    return function, passed, Run(size, step_limit, debugs(function, named))


def _check_jitted(function: Any, kernel: Any) -> None:
    if not hasattr(function, "params") or not hasattr(function, "parse"):
        raise rejected(None, "tile_not_jitted", name=getattr(kernel, "__name__", str(kernel)))
    if os.environ.get("TRITON_INTERPRET") == "1" or triton.knobs.runtime.interpret:
        raise not_measured(None, "tile_interpreter")


def extent(grid: Grid, given: dict[str, Any]) -> tuple[int, int, int]:
    """Programs along x, y and z.

    Raises:
        KernelFault: where a grid is none, or too large.
    """
    if callable(grid):
        grid = _asked(grid, given)
    if isinstance(grid, int | np.integer):  # Triton takes its length
        raise rejected(None, "tile_grid_number", grid=str(grid))
    shape = tuple(grid) if isinstance(grid, tuple | list) else ()
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in shape)
    if not 1 <= len(shape) <= 3 or not whole:
        raise rejected(None, "tile_grid", grid=_shown(grid))
    shown = str(tuple(map(int, shape)))
    x, y, z = (*map(int, shape), 1, 1)[:3]
    if min(x, y, z) < 1:
        raise rejected(None, "tile_zero_grid", grid=shown)
    if any(n > most for n, most in zip((x, y, z), MAX_GRID, strict=True)):
        raise rejected(None, "tile_grid", grid=shown, limit=MAX_GRID)
    if x * y * z > MAX_PROGRAMS:
        raise KernelFault(
            Outcome.TIMED_OUT, "tile_too_large", None, programs=x * y * z, limit=MAX_PROGRAMS
        )
    return x, y, z


def _asked(grid: Callable[[dict[str, Any]], Any], given: dict[str, Any]) -> Any:
    """What a grid's own function says."""
    try:
        return grid(given)
    except KernelFault:
        raise
    except KeyError as error:
        name = str(error.args[0]) if error.args else "?"
        raise rejected(None, "tile_grid_name", name=name) from None
    except Exception as error:  # whatever a learner's function raises
        detail = f"{type(error).__name__}: {error}"[:200].rstrip(".")
        raise rejected(None, "tile_grid_function", detail=detail) from None


def _shown(grid: Any) -> str:
    if isinstance(grid, torch.Tensor):
        return "a tensor"
    if isinstance(grid, tuple | list):
        items = ", ".join(_shown(item) for item in grid[:4])
        return f"({items}{',' if len(grid) == 1 else ''})"
    return repr(grid)[:60]


def first_line(kernel: Any) -> int:
    """The line of a kernel's `def`."""
    return code_of(base_function(kernel)).first_line
