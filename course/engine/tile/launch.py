"""One launch of a Triton kernel: its arguments, its grid, and the programs in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
import triton

from course.engine.faults import KernelFault, Outcome
from course.engine.tile.arguments import Passed, bound
from course.engine.tile.expressions import Frame
from course.engine.tile.memory import Memory
from course.engine.tile.meter import Meter
from course.engine.tile.programs import in_batches, in_turns, takes_turns
from course.engine.tile.run import Run
from course.engine.tile.sites import Listener
from course.engine.tile.values import Unsupported
from course.engine.tile.walker import Walker
from course.engine.traffic import Traffic
from course.engine.triton.complaints import refusal
from course.engine.triton.functions import base_function, code_of

#: Elements of a block of which nothing is known.
LARGEST_GUESS = 1 << 17
#: Statements that one batch may execute before its kernel counts as endless, where nobody says:
#: a second's worth, and more for large tensors, which one program may walk through block by block.
FEWEST_STEPS, MOST_STEPS = 20_000, 200_000
ELEMENTS_A_STEP = 16
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_PROGRAMS = 1 << 24  # beyond this the engine would run for hours

Grid = int | Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]


class Watcher(Protocol):
    """What follows a launch, statement by statement."""

    def step(self, run: Run, frame: Frame) -> None:
        """Before each statement of a group of programs."""

    def end(self, run: Run) -> None:
        """A batch of programs has ended."""


def launch(
    kernel: Any,
    args: Sequence[Any],
    grid: Grid,
    named: dict[str, Any] | None = None,
    *,
    step_limit: int | None = None,
    together: int | None = None,
    printing: bool = True,
    listener: Listener | None = None,
    watcher: Watcher | None = None,
) -> Traffic:
    """Runs a kernel on every program of a grid; tensors are changed in place.

    Args:
        kernel: a `@triton.jit` function.
        args: CPU tensors, numbers, host tensor descriptors.
        grid: programs along x, y, z, or a function of the arguments that gives them.
        named: arguments by name, constants and launch options among them.
        step_limit: statements that one batch of programs may execute; by the tensors' size
            unless told.
        together: how many programs run at once; 1 is the slow path that the fast one is
            held to. By default as many as memory allows.
        printing: whether what the kernel prints is printed here when it ends.
        listener: hears of every access, in order (see `course.engine.tile.cache`).
        watcher: sees every statement before it runs (see `course.notebook.triton_trace`).

    Raises:
        KernelFault: what the launch or the kernel did wrong; its `traffic` holds the counts.
    """
    function, passed, run = begun(kernel, args, grid, named or {}, step_limit)
    meter = Meter(listener)
    run.memory = Memory(run, passed.views, meter)
    sizes = function.__dict__.setdefault("_course_sizes", {})
    key = repr(sorted(passed.constants.items(), key=lambda item: item[0]))
    expected = sizes.get(key) or _guess(passed.constants)

    def begin(one: Run) -> Callable[[], None]:
        walker = Walker(one)
        passed.make_descriptors(walker.semantic)
        watched = watcher if one is run else None  # a second run leaves no trace
        if watched is not None:
            run.watch = lambda: watched.step(run, walker.frame)

        def execute() -> None:
            walker.kernel(function, passed.values)
            if watched is not None:
                watched.end(run)

        return execute

    try:
        if takes_turns(function, run.size):
            in_turns(run, begin, passed)
        else:
            in_batches(run, begin, together, expected)
    except KernelFault as fault:
        told = _as_compiled(fault, kernel, args, named)
        told.traffic = meter.traffic()
        if told is fault:
            raise
        raise told from None
    except Unsupported as what:
        refused = run.fault(Outcome.NOT_MEASURED, "tile_unsupported", detail=str(what))
        refused.traffic = meter.traffic()
        raise refused from None
    except (TypeError, ValueError, AssertionError) as error:
        message_id, fields = refusal(str(error), run.code)
        refused = run.fault(Outcome.DOES_NOT_COMPILE, message_id, **fields)
        refused = _as_compiled(refused, kernel, args, named)
        refused.traffic = meter.traffic()
        raise refused from error
    finally:
        if printing and run.printed:
            print("\n".join(run.printed))
    sizes[key] = run.largest
    run.end()
    return run.noted(meter.traffic())


def begun(
    kernel: Any,
    args: Sequence[Any],
    grid: Grid,
    named: dict[str, Any],
    step_limit: int | None,
) -> tuple[Any, Passed, Run]:
    """(the function, what it is given, the run) of a launch that may begin.

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
    extent = _extent(grid, given)
    passed = Passed(function, given)
    # assertions are held where the launch says so, `@triton.jit`, or TRITON_DEBUG=1
    debug = bool(named.get("debug", function.debug) or triton.knobs.runtime.debug)
    return function, passed, Run(extent, step_limit or _step_limit(passed), debug)


def _as_compiled(
    fault: KernelFault, kernel: Any, args: Sequence[Any], named: dict[str, Any] | None
) -> KernelFault:
    """What a refusal of the engine's is: the compiler's, too, or the engine's alone."""
    if fault.outcome is not Outcome.DOES_NOT_COMPILE:
        return fault
    # Triton's import installs the engine, and may come from within the gate's own.
    from course.engine.triton import gate

    try:
        gate.compile_for(kernel, args, named, binary=False)
    except KernelFault as refused:
        if refused.outcome is Outcome.DOES_NOT_COMPILE:
            return fault
        if refused.outcome in (Outcome.TIMED_OUT, Outcome.REJECTED):
            return refused
    # where the engine has no words of Triton's, its own message stands for them
    fields = {"detail_id": fault.message_id, **fault.fields}
    alone = KernelFault(Outcome.NOT_MEASURED, "tile_not_followed", fault.line, **fields)
    alone.__dict__.update({**fault.__dict__, **alone.__dict__})
    return alone


def _debugged(function: Any, named: dict[str, Any]) -> bool:
    """Whether assertions are held: the launch says so, `@triton.jit`, or TRITON_DEBUG=1."""
    return bool(named.get("debug", function.debug) or triton.knobs.runtime.debug)


def _step_limit(passed: Passed) -> int:
    elements = sum(view.elements for view in passed.views)
    return min(MOST_STEPS, FEWEST_STEPS + elements // ELEMENTS_A_STEP)


def _guess(constants: dict[str, Any]) -> int:
    """Elements of the largest block, before the kernel has run once: two constants multiplied.

    A kernel without constants has its sizes elsewhere: it begins with a few programs.
    """
    sizes = sorted(
        (v for v in constants.values() if isinstance(v, int) and not isinstance(v, bool) and v > 1),
        reverse=True,
    )
    return min(int(np.prod(sizes[:2], dtype=np.int64)), LARGEST_GUESS) if sizes else LARGEST_GUESS


def _check_jitted(function: Any, kernel: Any) -> None:
    if not hasattr(function, "params") or not hasattr(function, "parse"):
        raise KernelFault(
            Outcome.REJECTED,
            "tile_not_jitted",
            None,
            name=getattr(kernel, "__name__", str(kernel)),
        )
    if os.environ.get("TRITON_INTERPRET") == "1" or triton.knobs.runtime.interpret:
        raise KernelFault(Outcome.NOT_MEASURED, "tile_interpreter", None)


def _extent(grid: Grid, given: dict[str, Any]) -> tuple[int, int, int]:
    if callable(grid):
        grid = _asked(grid, given)
    if isinstance(grid, int | np.integer):  # Triton takes its length
        raise KernelFault(Outcome.REJECTED, "tile_grid_number", None, grid=str(grid))
    shape = tuple(grid) if isinstance(grid, tuple | list) else ()
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in shape)
    if not 1 <= len(shape) <= 3 or not whole:
        raise KernelFault(Outcome.REJECTED, "tile_grid", None, grid=_shown(grid))
    shown = str(tuple(map(int, shape)))
    x, y, z = (*map(int, shape), 1, 1)[:3]
    if min(x, y, z) < 1:
        raise KernelFault(Outcome.REJECTED, "tile_zero_grid", None, grid=shown)
    if any(n > most for n, most in zip((x, y, z), MAX_GRID, strict=True)):
        raise KernelFault(Outcome.REJECTED, "tile_grid", None, grid=shown, limit=MAX_GRID)
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
        raise KernelFault(Outcome.REJECTED, "tile_grid_name", None, name=name) from None
    except Exception as error:  # whatever a learner's function raises
        detail = f"{type(error).__name__}: {error}"[:200].rstrip(".")
        raise KernelFault(Outcome.REJECTED, "tile_grid_function", None, detail=detail) from None


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
