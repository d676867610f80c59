"""One launch: the limits that a GPU sets, the arguments, and the blocks in batches."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numba.core import types
from numba.np.numpy_support import map_layout

from course.engine import sampling, stated_gpu
from course.engine.faults import (
    KernelFault,
    Outcome,
    does_not_compile,
    not_measured,
    rejected,
    too_many_resources,
)
from course.engine.printed import Printed
from course.engine.requests import Requests
from course.engine.simt import numbas_word
from course.engine.simt.lowering.calls import check_parameters
from course.engine.simt.lowering.expr import number
from course.engine.simt.lowering.lower import Lowering, Program
from course.engine.simt.lowering.signatures import Function, chosen
from course.engine.simt.lowering.types import (
    NamedTupleType,
    NotHeld,
    RecordsType,
    TupleType,
    Type,
    TypingError,
    complex_type,
    is_scalar,
    numba_type,
)
from course.engine.simt.running import arith
from course.engine.simt.running.fences import Fences
from course.engine.simt.running.lanes import Geometry, Lanes
from course.engine.simt.running.memory import (
    Allocation,
    GlobalView,
    by_field,
    owner_of,
    without_fields,
)
from course.engine.simt.running.meter import Meter
from course.engine.simt.running.races import History
from course.engine.traffic import Traffic
from course.plain import patience
from course.plain.sectors import WARP_LANES

#: Lanes that run in lockstep at once: large enough that NumPy works on long rows, small
#: enough that a value stays in the processor's cache and a batch within tens of megabytes.
BATCH_LANES = 1 << 17
#: Statements that one batch may execute before its kernel counts as endless.
STEP_LIMIT = 200_000
#: CUDA C++ Programming Guide, "Technical specifications per compute capability" (7.5 to 9.0)
MAX_BLOCK_THREADS = 1024
MAX_BLOCK_Z = 64  # x and y may be as long as the block has threads
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = 48 * 1024
MAX_LAUNCH_THREADS = 1 << 31  # beyond this the engine would run for hours


class Launch:
    """What one launch has and counts; the lanes of every batch refer to it."""

    def __init__(
        self,
        program: Program,
        step_limit: int,
        dynamic_shared_bytes: int,
        printed: Printed,
        requests: Requests | None = None,
    ) -> None:
        self.program = program
        self.step_limit = step_limit
        self.dynamic_shared_bytes = dynamic_shared_bytes
        self.meter = Meter(requests)
        self.printed = printed
        #: from the first `cuda.threadfence` on: what its blocks know of each other
        self.fences: Fences | None = None


def launch(
    function: Function,
    args: Sequence[Any],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    shared_bytes: int = 0,
    step_limit: int = STEP_LIMIT,
    *,
    printing: bool | Printed = True,
    watch: Any = None,
    requests: Requests | None = None,
) -> Traffic:
    """Runs a kernel on every thread of a grid; arrays are changed in place.

    Args:
        args: NumPy arrays, CPU torch tensors, numbers, or tuples of these.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        shared_bytes: dynamic shared memory, in bytes.
        step_limit: statements that one batch of blocks may execute.
        printing: whether what the kernel prints is printed here when it ends, or where it is kept.
        watch: called as ``watch(lanes, line)`` before each statement (see `course.trace`); its
            ``told``, where it has one, hears of stores and tests (see `Lanes.told`).
        requests: keeps the first requests of each access.

    Raises:
        KernelFault: what the kernel did wrong; its `traffic` holds the counts so far.
    """
    geometry = _geometry(grid, block)
    views, parameters, argument_types = _arguments(function, args)
    program = _program(function, argument_types)
    _check_shared(program, shared_bytes, function)
    if program.whole_grid:
        _check_together(geometry, program.shared_bytes + shared_bytes, function)
    for name in program.stored:
        if not views[name].writeable:
            raise does_not_compile(
                None,
                "launch_argument",
                name=name,
                detail="it is read-only, and the kernel writes it",
            )
        views[name].allocation.written = True
    for view in views.values():
        view.tracked = view.allocation.written
    printed = printing if isinstance(printing, Printed) else Printed()
    state = Launch(program, step_limit, shared_bytes, printed, requests)
    state.meter.shared_bytes = program.shared_bytes + shared_bytes
    threads = _of_warps(geometry.threads)
    together = 1 if program.one_by_one else max(1, BATCH_LANES // threads)
    batch = geometry.blocks if program.whole_grid else together
    few = _few(function, geometry, views)
    stored = [views[name] for name in program.stored]
    before = [view.flat.copy() for view in stored if program.fenced]
    try:
        with np.errstate(all="ignore"):
            for first, count in _batches(geometry, batch, few):
                lanes = _run(state, geometry, first, count, parameters, watch)
                if few is not None:
                    few.saw(state.meter.touched(), lanes.steps)
                    few.detail["turns"] += lanes.turn
                    few.detail["private_bytes"] = sum(a.bytes for a in lanes.local.values())
            if state.fences is not None and few is None and watch is None:
                _require_any_order(state, geometry, parameters, stored, before)
    except KernelFault as fault:
        fault.traffic = state.meter.traffic()
        raise
    except RecursionError:
        raise _nested(function) from None
    finally:
        if printing is True:
            printed.show()
    traffic = state.meter.traffic()
    if few is not None:
        few.detail["axes"] = sum(
            (site.requests or 0) * len(views[site.array].shape) for site in traffic.sites
        )
        few.end(traffic, {name: view.allocation.size_bytes for name, view in views.items()})
    return traffic


def _run(
    state: Launch,
    geometry: Geometry,
    first: int,
    count: int,
    parameters: Mapping[str, Any],
    watch: Any = None,
) -> Lanes:
    """Runs so many blocks from the first on, in lockstep."""
    lanes = Lanes(geometry, first, count, state)
    lanes.vars = dict(parameters)
    lanes.watch = watch
    lanes.told = getattr(watch, "told", None)
    lanes.run(state.program.statements)
    state.meter.batch_has_run(*lanes.longest_warp(), lanes.lane_work)
    return lanes


def _require_any_order(
    state: Launch,
    geometry: Geometry,
    parameters: Mapping[str, Any],
    stored: Sequence[GlobalView],
    before: Sequence[np.ndarray],
) -> None:
    """Holds what a launch with fences left to what it leaves where the last block comes first: what
    a block finds of an earlier one may be there by their order alone.

    Raises:
        KernelFault: RACE, or what happens in that order. One that waits for an earlier block is
            not run so.
    """
    after = [view.flat.copy() for view in stored]
    for view, memory in zip(stored, before, strict=True):
        view.flat[...] = memory
        view.allocation.history = None
    again = Launch(state.program, state.step_limit, state.dynamic_shared_bytes, Printed())
    try:
        for block in reversed(range(geometry.blocks)):
            _run(again, geometry, block, 1, parameters)
        for view, memory in zip(stored, after, strict=True):
            view.require_alike(memory)
    except KernelFault as fault:
        if fault.outcome not in (Outcome.NOT_MEASURED, Outcome.TIMED_OUT):
            raise
    finally:
        for view, memory in zip(stored, after, strict=True):
            view.flat[...] = memory


def _few(
    function: Function, geometry: Geometry, views: Mapping[str, GlobalView]
) -> sampling.Launched | None:
    """What hears of the few blocks that run, where not all of them do."""
    if (among := sampling.current()) is None:
        return None
    for view in views.values():
        view.allocation.history = cast("History", sampling.Unwatched())
        view.allocation.unwritten = None
    few = among.begin(function.name, geometry.grid, -(-geometry.threads // WARP_LANES))
    few.detail["turns"] = 0
    return few


def _batches(
    geometry: Geometry, together: int, few: sampling.Launched | None
) -> Iterator[tuple[int, int]]:
    """(first block, how many) that run in lockstep."""
    if few is not None:
        yield from ((block, 1) for block in few.wanted())
        return
    for first in patience.each(range(0, geometry.blocks, together), geometry.blocks):
        yield first, min(together, geometry.blocks - first)


def _extent(value: int | Sequence[int], what: str) -> tuple[int, int, int]:
    items = (value,) if isinstance(value, int | np.integer) else value
    shape = tuple(items) if isinstance(items, tuple | list) else ()
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in shape)
    if not 1 <= len(shape) <= 3 or not whole:
        raise rejected(None, f"{what}_shape", **{what: value})
    x, y, z = (*map(int, shape), 1, 1)[:3]
    return x, y, z


def _geometry(grid: int | Sequence[int], block: int | Sequence[int]) -> Geometry:
    geometry = Geometry(_extent(grid, "grid"), _extent(block, "block"))
    if min(geometry.grid) < 1:
        raise rejected(None, "zero_grid", grid=_shown(geometry.grid))
    if min(geometry.block) < 1:
        raise rejected(None, "block_shape", block=_shown(geometry.block))
    if geometry.threads > MAX_BLOCK_THREADS:
        raise too_many_resources(
            None,
            "too_many_threads",
            threads=geometry.threads,
            limit=MAX_BLOCK_THREADS,
            block=_shown(geometry.block),
        )
    if geometry.block[2] > MAX_BLOCK_Z:
        raise too_many_resources(
            None, "block_shape", block=_shown(geometry.block), limit=MAX_BLOCK_Z
        )
    if any(n > most for n, most in zip(geometry.grid, MAX_GRID, strict=True)):
        raise rejected(None, "grid_shape", grid=_shown(geometry.grid))
    if geometry.blocks * geometry.threads > MAX_LAUNCH_THREADS:
        raise KernelFault(
            Outcome.TIMED_OUT, "too_large_to_run", threads=geometry.blocks * geometry.threads,
            limit=MAX_LAUNCH_THREADS,
        )  # fmt: skip
    return geometry


def _shown(extent: tuple[int, int, int]) -> str:
    x, y, z = extent
    return f"({x}, {y}, {z})" if z != 1 else f"({x}, {y})" if y != 1 else str(x)


def _check_shared(program: Program, dynamic_bytes: int, function: Function) -> None:
    total = program.shared_bytes + dynamic_bytes
    if total > MAX_SHARED_BYTES:
        raise too_many_resources(
            function.node.lineno, "too_much_shared", bytes=total, limit=MAX_SHARED_BYTES
        )


def _of_warps(threads: int) -> int:
    """Threads of a block's warps: the last one may be partly idle."""
    return -(-threads // WARP_LANES) * WARP_LANES


def most_together(threads: int, shared: int) -> int:
    """How many blocks run at once, each of so many threads and bytes of shared memory."""
    each = min(
        stated_gpu.BLOCKS_OF_A_MULTIPROCESSOR,
        stated_gpu.THREADS_OF_A_MULTIPROCESSOR // _of_warps(threads),
        stated_gpu.SHARED_BYTES_OF_A_MULTIPROCESSOR // (shared + stated_gpu.SHARED_BYTES_KEPT),
    )
    return each * stated_gpu.MULTIPROCESSORS


def _check_together(geometry: Geometry, shared: int, function: Function) -> None:
    """Blocks that wait for each other all run at once, or no launch begins."""
    limit = most_together(geometry.threads, shared)
    if geometry.blocks > limit:
        raise too_many_resources(
            function.node.lineno,
            "too_many_together",
            blocks=geometry.blocks,
            threads=geometry.threads,
            limit=limit,
            gpu=stated_gpu.NAME,
        )


def _program(function: Function, argument_types: tuple[Type, ...]) -> Program:
    layouts_too = tuple(map(repr, argument_types))  # they are equal whatever their layout
    program = function.programs.get(layouts_too)
    if program is None:
        try:
            program = Lowering(function).kernel(argument_types)
        except RecursionError:
            raise _nested(function) from None
        except KernelFault as fault:
            raise _confirmed(fault, function, argument_types) from None
        if program.doubt and numbas_word.takes(function, argument_types) is False:
            raise program.doubt
        function.programs[layouts_too] = program
    return program


def _confirmed(
    fault: KernelFault, function: Function, argument_types: tuple[Type, ...]
) -> KernelFault:
    """A kernel does not compile where Numba says so; where it does, it is not run here."""
    if fault.outcome != Outcome.DOES_NOT_COMPILE:
        return fault
    taken = numbas_word.takes(function, argument_types)
    if taken is False:
        return fault
    not_run = not_measured(
        fault.line,
        "numba_compiles" if taken else "numba_not_asked",
        **fault.fields,
        detail_id=fault.message_id,
    )
    not_run.filename, not_run.function = fault.filename, fault.function
    return not_run


def _nested(function: Function) -> KernelFault:
    """A long chain of operands or calls, each inside the other."""
    detail = "calls or operands are nested too deeply"
    return rejected(function.node, "source_not_text", detail=detail)


# ---------------------------------------------------------------- arguments


def _arguments(
    function: Function, args: Sequence[Any]
) -> tuple[dict[str, GlobalView], dict[str, Any], tuple[Type, ...]]:
    """(array views, every parameter's value, every parameter's type)."""
    check_parameters(function)
    names = function.parameters
    if len(args) != len(names):
        raise does_not_compile(
            function.node,
            "argument_count",
            expected=len(args),
            got=len(names),
            names=", ".join(names),
        )
    views: dict[str, GlobalView] = {}
    parameters: dict[str, Any] = {}
    argument_types: list[Type] = []
    allocations: dict[tuple[int, int], Allocation] = {}
    for name, argument in zip(names, args, strict=True):
        try:
            parameters[name], type_ = _argument(name, argument, allocations, views)
            argument_types.append(type_)
        except NotHeld as error:
            raise not_measured(None, "launch_element", name=name, detail=str(error)) from None
        except TypingError as error:
            raise does_not_compile(None, "launch_argument", name=name, detail=str(error)) from None
    declared_numbers(function, parameters, argument_types)
    return views, parameters, tuple(argument_types)


def declared_numbers(
    function: Function, parameters: dict[str, Any], argument_types: list[Type]
) -> None:
    """Brings the numbers among the arguments to the types that the decorator declares."""
    try:
        signature = chosen(function.signatures, argument_types, calling=False)
    except TypingError as error:
        raise does_not_compile(
            function.node, "launch_signature", name=function.name, detail=str(error)
        ) from None
    if signature is None:
        return
    for at, (name, wanted) in enumerate(zip(function.parameters, signature.arguments, strict=True)):
        if is_scalar(wanted):
            source: Any = argument_types[at]
            parameters[name] = arith.cast(parameters[name], source, wanted)  # type: ignore[arg-type]
            argument_types[at] = wanted


def as_array(argument: Any) -> np.ndarray | None:
    """The NumPy array behind an argument, or None for a number.

    Raises:
        TypingError: for an array that is not in this machine's memory.
    """
    if isinstance(argument, np.ndarray):
        return argument
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(argument, torch.Tensor):
        if argument.device.type != "cpu":
            raise TypingError(f"the tensor lies on {argument.device}: here it must be on the CPU")
        if argument.dtype == torch.bfloat16:
            raise TypingError("Numba has no bfloat16: use float16 or float32")
        if argument.layout != torch.strided:
            raise TypingError("the tensor is sparse: pass tensor.to_dense()")
        if argument.is_neg() or argument.is_conj():
            raise TypingError("the tensor is a lazy view: pass tensor.resolve_neg().resolve_conj()")
        return argument.detach().numpy()
    if hasattr(argument, "__cuda_array_interface__"):
        raise TypingError("the array lies on a GPU: copy it to the host first")
    return None


def _argument(
    name: str,
    argument: Any,
    allocations: dict[tuple[int, int], Allocation],
    views: dict[str, GlobalView],
) -> tuple[Any, Type]:
    """(value, type) of an argument; `views` gets its arrays, as ``name[0]`` of a tuple."""
    array = as_array(argument)
    if array is not None:
        fields = by_field(array)
        made = [_of_field(name, one, part, array, allocations) for one, part in fields.items()]
        made = made or [_view(name, array, allocations)]
        views |= {view.name: view for view in made}
        if not fields:
            return made[0], made[0].type
        return tuple(made), RecordsType(tuple(view.type for view in made))
    if isinstance(argument, tuple):
        for at, item in enumerate(argument):
            if not isinstance(item, np.ndarray) and as_array(item) is not None:
                words = f"item {at} of it is a tensor, and in a tuple Numba takes none"
                raise TypingError(f"{words}: pass cuda.as_cuda_array(...) of it")
        parts = [
            _argument(f"{name}[{at}]", item, allocations, views) for at, item in enumerate(argument)
        ]
        values, items = tuple(value for value, _ in parts), tuple(type_ for _, type_ in parts)
        names = getattr(argument, "_fields", None)
        return values, TupleType(items) if names is None else NamedTupleType(items, names)
    return scalar(argument)


def scalar(argument: Any) -> tuple[Any, Type]:
    """(value, type) of a number that is passed.

    Raises:
        TypingError: for what is none.
    """
    if isinstance(argument, complex | np.complex64):
        return _complex(argument)
    if isinstance(argument, np.generic):
        type_ = numba_type(argument.dtype)
        return arith.constant(argument.item(), type_), type_
    if isinstance(argument, bool | int | float):
        expression = number(argument)
        assert expression.type is not None
        return expression.run(None), expression.type  # type: ignore[arg-type]  # a constant
    words = {list: "a list: make it a NumPy array", type(None): "None"}
    got = words.get(type(argument), f"an object of type {type(argument).__name__}")
    raise TypingError(f"a kernel takes arrays and numbers, and this is {got}")


def _complex(argument: complex | np.complex64) -> tuple[Any, Type]:
    type_ = complex_type(
        types.complex64 if isinstance(argument, np.complex64) else types.complex128
    )
    parts = (argument.real, argument.imag)
    return tuple(arith.constant(part, type_.items[0]) for part in parts), type_


def _view(
    name: str, array: np.ndarray, allocations: dict[tuple[int, int], Allocation]
) -> GlobalView:
    if array.ndim == 0:
        raise NotHeld("an array without axes is compiled by Numba, and not run here")
    plain, fields = without_fields(array)
    numba_type(plain.dtype)
    view = GlobalView(name, plain, _allocated(plain, allocations), fields)
    view.by_bytes, view.layout = _by_bytes(array), map_layout(array)
    return view


def _of_field(
    name: str,
    field: str,
    part: np.ndarray,
    records: np.ndarray,
    allocations: dict[tuple[int, int], Allocation],
) -> GlobalView:
    """One field of records."""
    view = GlobalView(f"{name}.{field}", part, _allocated(records, allocations), (field,))
    view.by_bytes = _by_bytes(records)
    return view


def _by_bytes(array: np.ndarray) -> bool:
    """Whether Numba takes it for records that may lie anywhere."""
    return array.dtype.names is not None and not array.dtype.isalignedstruct


def _allocated(array: np.ndarray, allocations: dict[tuple[int, int], Allocation]) -> Allocation:
    owner = owner_of(array)
    if owner.dtype != array.dtype and owner.dtype.kind not in "biufcV":
        owner = array
    low, high = np.lib.array_utils.byte_bounds(owner) if owner.size else (id(owner), 0)
    allocation = allocations.get((low, high))
    if allocation is None:
        allocation = allocations[low, high] = Allocation(len(allocations), owner)
    return allocation
